/*
 * op_impl.h -- internals shared in lib/op. Not installed.
 */
#ifndef CFX_OP_IMPL_H
#define CFX_OP_IMPL_H

#include <cfx/nearest.h>
#include <cfx/op.h>

#include "base/util.h"

/* ---- Schemas ---- */

/* Parse a schema into an arena. Names end at the first '.' unless
 * `full_name`. */
cfx_status cfx_schema__read(cfx_schema **out, cfx_arena *arena,
                            const char *text, bool full_name, cfx_error *err);

/* A copy of a schema whose first parameters accept only `types` of what they
 * did, as "(Tensor,Scalar)". */
cfx_status cfx_schema__limit(cfx_schema **out, cfx_arena *arena,
                             const cfx_schema *of, const char *types,
                             cfx_error *err);

/* Does a variant, whose arguments are mapped by name, have tensors or numbers
 * only where the operator takes both? */
bool cfx_schema__is_limited(const cfx_schema *of, const cfx_schema *variant);
/* A copy of the operator's schema that takes only these, too. */
cfx_status cfx_schema__limit_to(cfx_schema **out, cfx_arena *arena,
                                const cfx_schema *of,
                                const cfx_schema *variant, cfx_error *err);

/* The position of a parameter in a schema, or -1. */
int cfx_param_find(const cfx_schema *schema, const char *name, size_t len);

/* The position of the parameter for a keyword, with synonyms; or -1. */
int cfx_param__named(const cfx_schema *schema, const char *name);

/* Map an operator's CFX_PARAMS to positions in the schema. Fails with
 * CFX_EINVAL for a parameter that is not in CFX_PARAMS. */
cfx_status cfx_schema__place(cfx_schema *schema, cfx_arena *arena,
                             const char *params, cfx_error *err);

/* The name of a parameter's type in messages ("Tensor", "int"). */
void cfx_param__type_name(const cfx_param *p, char *buf, size_t size);

/* ---- The registry ---- */

/* cfx_find_function and cfx_find_method with a status: CFX_ENAME or
 * CFX_ENOMEM. */
cfx_status cfx_target__find(const cfx_target **out, cfx_context *ctx,
                            const char *name, bool method, cfx_error *err);

/* Try the names of all known functions, or of all methods. */
void cfx_target__nearest(cfx_nearest *near, cfx_context *ctx, bool method);

/* The qualified name of the function that code calls by an identifier, in
 * which dots are underscores (my_ops_f of my.ops.f); NULL if none or several
 * are registered. */
const char *cfx_target__of_identifier(cfx_context *ctx, const char *s);

/* The cost rule of an operator in this context, or NULL. */
cfx_cost_rule *cfx_op__cost(cfx_context *ctx, const cfx_op *op);

/* Is `overload` the operator or in its chain? */
bool cfx_op__has_overload(const cfx_op *op, const cfx_op *overload);

/* ---- Binding ---- */

/* The kinds of numbers, as 1 << cfx_kind. */
enum {
    CFX_NUMBER_KINDS = 1u << CFX_BOOL_VALUE | 1u << CFX_INT |
                       1u << CFX_SYMINT | 1u << CFX_FLOAT | 1u << CFX_COMPLEX
};

/* The kinds that parameter k of the operator accepts. Numbers have no methods
 * of Tensor, and nothing is written to them in place. */
CFX_INLINE uint32_t cfx_target__kinds(const cfx_target *t, int k)
{
    const cfx_param *p = &t->schema->params[k];
    bool self = !k && (t->inplace ||
                       (t->method && !t->how && p->base == CFX_T_TENSOR));
    return self ? p->kinds & ~(uint32_t)CFX_NUMBER_KINDS : p->kinds;
}

/* Are all operands numbers, where one must be a tensor? A node may be one. */
CFX_INLINE bool cfx_schema__lacks_tensor(const cfx_schema *s,
                                         const cfx_value *in)
{
    if (CFX_LIKELY(!s->operands))
        return false;
    for (int k = 0; k < s->nparams; k++)
        if (s->operands >> k & 1 &&
            (in[k].kind == CFX_TENSOR || in[k].kind == CFX_NODE))
            return false;
    return true;
}

/* Check the types of values that replaced nodes after binding. Returns the
 * first parameter with a mismatch, or -1. */
int cfx_bound__mismatch(const cfx_target *t, const cfx_value *in);

/* Bind arguments in the order of t's schema that match it without conversion,
 * except of integers to floats; absent ones take their defaults. False if
 * cfx_bind must convert or refuse some. */
bool cfx_bind__ordered(const cfx_target *t, const cfx_value *args, size_t n,
                       cfx_value in[CFX_MAX_PARAMS]);

/* Does t's refusal of a call tell more than that of `of`, which has too few
 * parameters? */
CFX_INLINE bool cfx_target__tells_more(const cfx_target *t,
                                       const cfx_target *of, size_t nargs)
{
    return nargs > (size_t)of->variant->npositional &&
           nargs <= (size_t)t->variant->npositional;
}

/* Does the target require `out`, which the call lacks? Then it does not
 * match. */
bool cfx_target__misses_out(const cfx_target *t, const cfx_value *kwargs,
                            size_t nkwargs);

/* ---- Calls ---- */

/* The name of an operator in messages: the schema's, or, if that is internal
 * (py_add), the first alias ("operator.add"). */
const char *cfx_op__shown_name(const cfx_op *op, const cfx_schema *schema,
                               char *buf, size_t size);

/* The name of a parameter in the call's schema. */
CFX_INLINE const char *cfx_call__param_name(const cfx_call *call, int k)
{
    return call->schema->params[cfx_call_place(call, k)].name;
}

/* The argument at a position of the schema, if it is a tensor; else NULL.
 * Rules of operators use cfx_call_tensor. */
CFX_INLINE cfx_tensor *cfx_call__tensor_at(const cfx_call *call, int place)
{
    cfx_value v = call->in[place];
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

/* Do the call's results get device labels? */
CFX_INLINE bool cfx_call__is_labelled(const cfx_call *call)
{
    return call->meta || call->known;
}

/* Find the device of a labelled call's tensors, which new results get. Fails
 * with CFX_EINVAL for tensors on two devices. */
cfx_status cfx_call__find_device(cfx_call *call);
/* Is a tensor on another device than the result? */
bool cfx_call__moves(const cfx_call *call, const cfx_tensor *x);

/* Use the device in parameter k, unless it is None, for new results. Eager
 * calls use the CPU for any device, and note that once per context, or, with
 * strict devices, fail. */
cfx_status cfx_call__take_device(cfx_call *call, int k);

/* cfx_call_out with the extents of `like`, faster where it is row-major. */
cfx_status cfx_call__out_rows(cfx_call *call, cfx_dtype dtype,
                              const cfx_tensor *like);

/* Like cfx_call_meta; `look` sees the results of infer, before they are
 * wrapped, or replaced by the argument that they are written to. */
typedef cfx_status cfx_outs_visitor(cfx_call *call, void *user);
cfx_status cfx_call__visit_outs(cfx_call *call, cfx_outs_visitor *look,
                                void *user, cfx_value *out);

/* Flags of operators that may need a contiguous copy of a tensor. */
enum {
    CFX_OP_COPIES = CFX_OP_COPIES_TO_CONTIGUOUS |
                    CFX_OP_COPIES_FIRST_TO_CONTIGUOUS |
                    CFX_OP_COPIES_FROM_CONTIGUOUS
};

/* Kinds of memory requests. */
typedef enum cfx_request_kind {
    CFX_REQUEST_RESULT,   /* for a new result */
    CFX_REQUEST_APART,    /* a temporary that is copied to the written
                             tensor */
    CFX_REQUEST_ARGUMENT, /* a contiguous copy of an argument during `run` */
    CFX_REQUEST_TEMP,     /* a contiguous temporary that `run` computes, and
                             that is copied to a result */
    CFX_REQUEST_WORK      /* for the workspace */
} cfx_request_kind;

typedef struct cfx_request {
    cfx_request_kind kind;
    int at;        /* index of the result or argument */
    cfx_tensor *t; /* the tensor; NULL for a workspace */
    size_t bytes;  /* of a workspace */
} cfx_request;

/*
 * After infer: call `give` for each memory request of the call, in order,
 * until it fails. Meta calls make the same requests as eager ones, except for
 * workspaces whose size depends on symbols. Eager calls do not request results
 * of CFX_OP_OWN_RESULT, which `run` creates.
 */
typedef cfx_status cfx_call_giver(cfx_call *call, const cfx_request *r,
                                  void *user);
cfx_status cfx_call__request_memory(cfx_call *call, cfx_call_giver *give,
                                    void *user);

/* Does a value contain symbols in extents or strides? */
bool cfx_value__has_symbols(cfx_value v);

/* Release the results of infer in a call that failed or was not wrapped. */
void cfx_call__clear(cfx_call *call);

/* ---- Calls within torch.vmap ---- */

/* How to run a call: eagerly, or on metas with a visitor (may be NULL), or with
 * its cost. */
typedef struct cfx_batched {
    bool eager;
    cfx_outs_visitor *at;
    void *user;
    cfx_cost *cost;
} cfx_batched;

/* Do tensors among the arguments have batches that the operator does not see? */
bool cfx_call__is_batched(const cfx_call *call);

/* Run such a call; tensors of the result have the batches of the arguments.
 * Fails with CFX_EUNSUPPORTED. */
cfx_status cfx_call__run_batched(cfx_call *call, const cfx_batched *how,
                                 cfx_value *out);

/* ---- out= ---- */

/* Operator flag: the descriptor is a cfx_out_op. */
enum { CFX_OP__OUT = 1 << 20 };

/* An operator with results written to `out`, its last parameter. */
typedef struct cfx_out_op {
    cfx_op op;
    const cfx_op *of;         /* the operator that returns new results */
    const cfx_schema *schema; /* of `of` */
} cfx_out_op;

/* Can the operator have an `out` parameter? */
bool cfx_out__is_offered(const cfx_op *op);
/* Create its `out` variant; NULL when out of memory. */
const cfx_out_op *cfx_out__new(cfx_arena *arena, const cfx_op *op,
                               const cfx_schema *schema);
/* The signature `text` of op, parsed as `read`, with `out` appended. */
const char *cfx_out__signature(cfx_arena *arena, const char *text,
                               const cfx_schema *read, const cfx_op *op);

/* The bound arguments while rules see the operator's own. */
typedef struct cfx_out_taken {
    const cfx_schema *schema;
    const cfx_value *in;
    cfx_value own[CFX_MAX_PARAMS];
} cfx_out_taken;

/* Move `out`, if given, from call->in to call->into; and back. */
cfx_status cfx_call__take_out(cfx_call *call, cfx_out_taken *taken);
void cfx_call__put_out(cfx_call *call, const cfx_out_taken *taken);

/* ---- Calls that write, in place or to `out` ---- */

/* The tensor that receives result i; NULL: a new one. */
cfx_tensor *cfx_call__target(const cfx_call *call, int i);

/* After infer: can the results be written to their targets? Fails with
 * PyTorch's messages. */
cfx_status cfx_call__check_targets(cfx_call *call);

/* After infer: is each element of the result computed directly in the target?
 * Not if an argument is another view of the same memory. */
bool cfx_call__writes_straight(const cfx_call *call);

/* Copy results that were computed apart to their targets. */
cfx_status cfx_call__copy_outs(cfx_call *call);

/* Let `run` write the results to their targets. */
void cfx_call__aim_outs(cfx_call *call);
/* Replace the results by the tensors that they were written to, of which they are
 * aliases. */
void cfx_call__replace_outs(cfx_call *call);

#endif
