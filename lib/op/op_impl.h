/*
 * op_impl.h -- what the files of lib/op share. Not installed.
 */
#ifndef CFX_OP_IMPL_H
#define CFX_OP_IMPL_H

#include <cfx/op.h>

#include "base/util.h"

/* ---- Schemas ---- */

/* Read a schema into an arena. With `numbers`, a number may stand for a
 * Tensor. Names are cut at the first '.' unless `full_name`. */
cfx_status cfx_schema__read(cfx_schema **out, cfx_arena *arena,
                            const char *text, bool full_name, bool numbers,
                            cfx_error *err);

/* A parameter's place in a schema, or -1. */
int cfx_param_find(const cfx_schema *schema, const char *name, size_t len);

/* The place of the parameter that a keyword argument is for, by synonyms too;
 * or -1. */
int cfx_param__named(const cfx_schema *schema, const char *name);

/* Find the places of the names in an operator's list of parameters. Fails with
 * CFX_EINVAL for a parameter that is not in the list. */
cfx_status cfx_schema__place(cfx_schema *schema, cfx_arena *arena,
                             const char *params, cfx_error *err);

/* A short name of a parameter's type for messages ("Tensor", "int"). */
void cfx_param__type_name(const cfx_param *p, char *buf, size_t size);

/* ---- The registry ---- */

/* cfx_find_function and cfx_find_method, which tell why: CFX_ENAME or
 * CFX_ENOMEM. */
cfx_status cfx_target__find(const cfx_target **out, cfx_context *ctx,
                            const char *name, bool method, cfx_error *err);

/* The rule that counts calls of an operator, or NULL. */
cfx_cost_rule *cfx_op__cost(cfx_context *ctx, const cfx_op *op);

/* Is it the operator's first overload, or one behind it? */
bool cfx_op__has_overload(const cfx_op *op, const cfx_op *overload);

/* ---- Binding ---- */

/* Check that bound values fit their parameters, where nodes stood at binding
 * time and values stand now. Gives the first that does not, or -1. */
int cfx_bound__mismatch(const cfx_schema *schema, const cfx_value *in);

/* Bind arguments that stand in the schema's order, absent ones taking their
 * defaults; *st and b as of cfx_bind. False, and nothing done, where cfx_bind
 * has to look at what they are. */
bool cfx_bind__ordered(cfx_bound *b, cfx_context *ctx, const cfx_schema *schema,
                       const cfx_value *args, size_t n, cfx_error *err,
                       cfx_status *st);

/* Does the target take `out`, which the call does not give? Then it is not what
 * is called. */
bool cfx_target__misses_out(const cfx_target *t, const cfx_value *kwargs,
                            size_t nkwargs);

/* ---- Calls ---- */

/* What messages call an operator: the name of its schema, or, where no call has
 * that name (py_add), the first that calls have ("operator.add"). */
const char *cfx_op__shown_name(const cfx_op *op, const cfx_schema *schema,
                               char *buf, size_t size);

/* What a schema calls a parameter that it has. */
CFX_INLINE const char *cfx_call__param_name(const cfx_call *call, int k)
{
    return call->schema->params[cfx_call_place(call, k)].name;
}

/* The argument at a place of the schema, if it is a tensor; else NULL. Rules of
 * operators ask by parameter instead (cfx_call_tensor). */
CFX_INLINE cfx_tensor *cfx_call__tensor_at(const cfx_call *call, int place)
{
    cfx_value v = call->in[place];
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

/* Does the call label its results with devices? */
CFX_INLINE bool cfx_call__is_labelled(const cfx_call *call)
{
    return call->meta || call->known;
}

/* Find where the tensors of a labelled call are, which is where new results go.
 * Fails with CFX_EINVAL for tensors on two devices. */
cfx_status cfx_call__find_device(cfx_call *call);
/* Is a tensor on another device than the result is to be on? */
bool cfx_call__moves(const cfx_call *call, const cfx_tensor *x);

/* Take the device that parameter k is, unless it is None, for new results.
 * Where numbers are computed that is the CPU, whatever the name, which the
 * context is told once, or, with strict devices, the call refused. */
cfx_status cfx_call__take_device(cfx_call *call, int k);

/* cfx_call_out with the extents of `like`, faster where it is row-major. */
cfx_status cfx_call__out_rows(cfx_call *call, cfx_dtype dtype,
                              const cfx_tensor *like);

/* As cfx_call_meta; `look` sees the results as infer left them, before they are
 * wrapped, or given up for the argument that they are written to. */
typedef cfx_status cfx_outs_visitor(cfx_call *call, void *user);
cfx_status cfx_call__visit_outs(cfx_call *call, cfx_outs_visitor *look,
                                void *user, cfx_value *out);

/* Is the result of a call, after infer, computed straight into the tensor that
 * it is written to? */
bool cfx_call__writes_straight(const cfx_call *call);

/* Memory that a call needs. */
typedef enum cfx_request_kind {
    CFX_REQUEST_RESULT,   /* for a new result */
    CFX_REQUEST_APART,    /* for a result that is copied to where the call
                             writes */
    CFX_REQUEST_ARGUMENT, /* for a row-major copy of an argument, while `run`
                             runs */
    CFX_REQUEST_TWIN,     /* for a row-major tensor that `run` computes, and
                             that is copied to a result */
    CFX_REQUEST_WORK      /* for the workspace */
} cfx_request_kind;

typedef struct cfx_request {
    cfx_request_kind kind;
    int at;               /* the number of the result, or of the argument */
    cfx_tensor *t;        /* it; NULL of a workspace */
    size_t bytes;         /* of a workspace */
} cfx_request;

/*
 * After infer: ask `give` for all memory that the call needs, in order, until
 * it fails. An eager call gets its memory so; in a meta call `give` is asked
 * for the same, but for workspaces whose size depends on symbols. The results
 * of CFX_OP_OWN_RESULT are not asked for in an eager call, since `run` makes
 * them.
 */
typedef cfx_status cfx_call_giver(cfx_call *call, const cfx_request *r,
                                  void *user);
cfx_status cfx_call__request_memory(cfx_call *call, cfx_call_giver *give,
                                    void *user);

/* Does an extent or a stride in the value depend on symbols? */
bool cfx_value__has_symbols(cfx_value v);

/* Give back what infer left in a call that failed or was not wrapped. */
void cfx_call__clear(cfx_call *call);

/* ---- out= ---- */

/* In an operator's flags: it is a cfx_out_op. */
enum { CFX_OP__OUT = 1 << 20 };

/* An operator that writes its results to `out`, its last parameter. */
typedef struct cfx_out_op {
    cfx_op op;
    const cfx_op *of;          /* the operator that gives new results */
    const cfx_schema *schema;  /* of that */
} cfx_out_op;

/* Can the results of an operator be written to `out`? */
bool cfx_out__is_offered(const cfx_op *op);
/* Make the operator that does it; NULL on lack of memory. */
const cfx_out_op *cfx_out__new(cfx_arena *arena, const cfx_op *op,
                               const cfx_schema *schema);
/* A signature of op, `text`, which reads as `read`, with `out` behind it. */
const char *cfx_out__signature(cfx_arena *arena, const char *text,
                               const cfx_schema *read, const cfx_op *op);

/* The arguments of a call as they were bound, while rules see the operator's
 * own. */
typedef struct cfx_out_taken {
    const cfx_schema *schema;
    const cfx_value *in;
    cfx_value own[CFX_MAX_PARAMS];
} cfx_out_taken;

/* Move `out`, where the call has it, from call->in to call->into; and back. */
cfx_status cfx_call__take_out(cfx_call *call, cfx_out_taken *taken);
void cfx_call__put_out(cfx_call *call, const cfx_out_taken *taken);

/* The tensor that result i is written to; NULL: a new one. */
cfx_tensor *cfx_call__target(const cfx_call *call, int i);
/* Refuse to write the result r to t as PyTorch does. */
cfx_status cfx_call__check_out(cfx_call *call, const cfx_tensor *r,
                               const cfx_tensor *t, bool same_shape);

#endif
