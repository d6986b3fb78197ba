/*
 * cfx/op.h -- operators: one constant descriptor each.
 *
 * A descriptor says what an operator is called (aliases), what it takes
 * (its schema, in ATen's language), what comes out (`infer`), what that costs
 * (`cost`) and how it is computed (`run`). Everything else that needs to know
 * an operator reads it here: binding, messages, effects, documentation, the C
 * functions for callers. An operator with overloads is a chain of descriptors;
 * a call takes the first that binds.
 *
 *     CFX_PARAMS(params, SELF, FACTOR);
 *
 *     struct scale {
 *         double factor;
 *     };
 *
 *     static cfx_status scale_infer(cfx_call *call)
 *     {
 *         struct scale *s = call->state;
 *         s->factor = cfx_call_double(call, FACTOR);
 *         return cfx_call_out_like(call, cfx_call_tensor(call, SELF));
 *     }
 *
 *     static cfx_status scale_run(cfx_call *call)
 *     {
 *         const struct scale *s = call->state;
 *         const cfx_tensor *x = cfx_call_tensor(call, SELF);
 *         float *y = call->out[0]->data;
 *         for (int64_t i = 0, n = cfx_tensor_numel(x); i < n; i++)
 *             y[i] = (float)(s->factor * ((const float *)x->data)[i]);
 *         return CFX_OK;
 *     }
 *
 *     const cfx_op scale = {
 *         .abi = CFX_ABI(cfx_op),
 *         .schema = "scale(Tensor self, float factor=2) -> Tensor",
 *         .params = params,
 *         .aliases = "my.scale Tensor.scale",
 *         .doc = "Each element times a factor.",
 *         .state_size = sizeof(struct scale),
 *         .infer = scale_infer,
 *         .run = scale_run,
 *     };
 *     ...
 *     cfx_register_op(ctx, &scale, &err);
 *
 * Rules read parameters by the enumerators of CFX_PARAMS, which are the
 * schemas' names in capitals, and not by their places: overloads that share a
 * rule may have them in other orders, or lack some. What infer derives from
 * the arguments it keeps in the call's state.
 */
#ifndef CFX_OP_H
#define CFX_OP_H

#include <cfx/value.h>

struct cfx_node;
struct cfx_scope;

/* The type of a parameter. */
typedef enum cfx_type_base {
    CFX_T_TENSOR, CFX_T_INT, CFX_T_FLOAT, CFX_T_BOOL, CFX_T_STR,
    CFX_T_SCALAR, CFX_T_DTYPE, CFX_T_DEVICE, CFX_T_LAYOUT, CFX_T_FORMAT,
    CFX_T_GENERATOR, CFX_T_ANY
} cfx_type_base;

typedef struct cfx_param {
    const char *name;
    uint8_t base;          /* cfx_type_base */
    bool optional;         /* Tensor?: None is accepted */
    bool list;             /* int[] */
    bool rest;             /* Tensor[*]: a list, or the arguments from there */
    bool item_optional;    /* Tensor?[] */
    uint8_t list_size;     /* 2 of int[2]: one number stands for all; or 0 */
    bool kwarg_only;
    bool required;         /* has no default */
    bool alias;            /* Tensor(a): the result may share its memory */
    bool writes;           /* Tensor(a!): it is written to */
    uint32_t kinds;        /* 1 << cfx_kind that it accepts */
    uint32_t item_kinds;   /* the same of one item of a list */
    cfx_value init;        /* the default, where not required */
} cfx_param;

enum { CFX_MAX_PARAMS = 26, CFX_MAX_OUTS = 6 };

/* A schema as it was read; belongs to the context. */
typedef struct cfx_schema {
    const char *text;
    const char *name;      /* "max" */
    const char *overload;  /* "dim", or "" */
    int nparams;
    int npositional;       /* those before `*` */
    const cfx_param *params;
    int nreturns;          /* -1: a list (Tensor[]) */
    bool returns_alias, returns_written;
    /* The places of the parameters `training`, `train` or `use_input_stats`,
     * and of `dropout_p`, by which effects are told; or -1. */
    int training, dropout_p;
    const cfx_named_tuple *result; /* of several returns; else NULL */
    /* The place in `params` of each name of the operator's list of parameters,
     * -1 for those that this overload lacks; NULL: it has no list. */
    const int8_t *place;
} cfx_schema;

/*
 * The names of an operator's parameters, for its rules: an enumerator for each,
 * and their list for the descriptor.
 *
 *     CFX_PARAMS(params, SELF, DIM, KEEPDIM);
 *     ...
 *         .schema = "sum(Tensor self, int[] dim, bool keepdim=False) "
 *                   "-> Tensor",
 *         .params = params,
 *     ...
 *     bool keep = cfx_call_bool(call, KEEPDIM);
 *
 * One list serves all operators and overloads of a file: each schema finds its
 * parameters by their names, whatever their order. What a schema lacks reads
 * as None does. SELF finds a parameter `input`, and the like, as keyword
 * arguments do. An operator with a parameter that is not in its list is not
 * registered.
 */
#define CFX_PARAMS(list, ...)                                                \
    enum { __VA_ARGS__ };                                                    \
    static const char list[] = #__VA_ARGS__

typedef struct cfx_op cfx_op;
typedef struct cfx_call cfx_call;
typedef struct cfx_cost cfx_cost;

/* What a call costs; see cost rules. All counts over the same extents. */
struct cfx_cost {
    cfx_dim macs;           /* multiply-adds of contractions */
    cfx_dim ops;            /* other arithmetic, one a step and element */
    cfx_dim transcendental; /* those of ops that are exp, sqrt, division */
    cfx_dim bytes_read, bytes_written;
    /* A constant name where `run` takes a way that needs fewer operations than
     * are counted ("winograd"); NULL: the direct one. */
    const char *algorithm;
};

enum {
    CFX_OP_POINTWISE = 1,   /* element i of the result needs only elements i of
                               the arguments: the result may be an argument */
    CFX_OP_NUMBERS = 2,     /* a number may stand for a Tensor */
    CFX_OP_RANDOM = 4,      /* two equal calls differ */
    CFX_OP_EFFECT = 8,      /* must not be dropped (assert) */
    CFX_OP_OWN_RESULT = 16, /* the result's shape or value depends on data:
                               `run` makes it (cfx_call_out again) */
    CFX_OP_INPLACE = 32,    /* has a spelling with `_` that writes to self */
    CFX_OP_COMMUTES = 64,   /* the first two arguments may change places where
                               all others have their defaults */
    /* `run` is given contiguous copies of all tensors among its arguments that
     * are not contiguous; or of the first argument only; and computes a result
     * that is not in one that is, from which it is copied. */
    CFX_OP_COPIES_TO_CONTIGUOUS = 128,
    CFX_OP_COPIES_FROM_CONTIGUOUS = 256,
    CFX_OP_COPIES_FIRST_TO_CONTIGUOUS = 1024,
    CFX_OP_ANY_DEVICES = 512, /* its tensors may be on different devices; the
                                 result is where the first is */
    CFX_OP_ONE_GRAPH = 2048, /* of higher order: calls one of its graphs only.
                               Where it is not known which, the dearest is
                               counted */
    CFX_OP_STORED_TYPES = 4096 /* takes types without arithmetic (CFX_STORED),
                                  as operators that only make views do */
};

/*
 * Counts what a call costs, after infer, by arithmetic of extents. All counts
 * are 0 at first, but bytes are CFX_DIM_BAD: where a rule leaves them so, they
 * are those of all tensors that are read, or of all results, once each; none
 * where the results are views. shapeprop/COSTS.md tells what counts as what.
 */
typedef void cfx_cost_rule(const cfx_call *call, cfx_cost *cost);

/* Another signature under which the operator is called. */
typedef struct cfx_variant {
    /* With a full name: "torch.nn.functional.embedding(Tensor input, ...)". */
    const char *schema;
    /* Make the operator's bound arguments from the variant's; NULL: by name.
     * A parameter `inplace` that the operator lacks asks for the spelling
     * that writes; any other that it lacks must have its default. */
    cfx_status (*lower)(cfx_call *call, const cfx_value *in, cfx_value *out);
} cfx_variant;

struct cfx_op {
    cfx_abi abi;                 /* CFX_ABI(cfx_op) */
    const char *schema;
    /* The names by which rules read the parameters (CFX_PARAMS). NULL: they
     * read them by their places in the schema. */
    const char *params;
    /* Full names, separated by spaces: "torch.cat", "Tensor.relu" (a method),
     * "operator.add", "aten.cat.default". */
    const char *aliases;
    /* Those of the spelling that writes; "torch.x_ Tensor.x_ aten.x_.o" follow
     * from `aliases` where flags has CFX_OP_INPLACE, others stand here. */
    const char *inplace_aliases;
    const cfx_variant *variants; /* ends with a NULL schema */
    const char *doc;             /* one sentence */
    uint32_t flags;
    int code;                    /* for rules that several operators share */
    const void *data;            /* for them, too */
    /* Bytes of call->state, which are zeroed before infer. */
    size_t state_size;
    /* Metas in, metas out. Sets the results, by cfx_call_out and its kin, and
     * the state. */
    cfx_status (*infer)(cfx_call *call);
    /* NULL: no arithmetic. */
    cfx_cost_rule *cost;
    /* Scratch bytes that `run` is given in call->work. NULL: none. */
    size_t (*workspace)(const cfx_call *call);
    /* Computes call->out from the arguments; trusts infer. NULL: the results
     * are views or no tensors. */
    cfx_status (*run)(cfx_call *call);
    /* Operators of higher order, whose arguments are graphs, have this instead
     * of infer, cost, workspace and run: make the result by calling the graphs
     * in the scope, with cfx_scope_call_graph (cfx/scope.h). So they compute,
     * propagate shapes and count as their graphs do. *out is a new
     * reference. */
    cfx_status (*call_graphs)(struct cfx_scope *s, cfx_call *call,
                              cfx_value *out);
    /* How often such an operator calls each graph, for costs: map once for each
     * slice. NULL: once. */
    cfx_dim (*rounds)(const cfx_call *call);
    const cfx_op *next;          /* the next overload */
};

/*
 * One call. Rules of operators see their arguments bound, the default where one
 * was not given, of a kind that the parameter's type accepts; int[2] is always
 * a list or tuple of 2. They read them by cfx_call_tensor and its kin. Whoever
 * looks at calls of any operator goes by the schema: in[i] is of params[i].
 *
 * Hooks of interpreters see the call as the node spells it: target, args,
 * kwargs. An override may chain up with a copy in which these differ.
 */
struct cfx_call {
    cfx_context *ctx;
    cfx_shape_env *env;      /* NULL where all extents are integers */
    cfx_error *err;
    const struct cfx_node *node;  /* may be NULL */

    /* As spelled. */
    cfx_value target;        /* a str */
    const cfx_value *args;
    const cfx_value *kwargs; /* key and value in turn */
    uint32_t nargs, nkwargs;

    /* As bound. */
    const cfx_op *op;
    const cfx_schema *schema;
    const cfx_value *in;
    bool inplace;            /* in[0] takes the result */
    bool meta;               /* nothing is to be computed */
    bool known;              /* shapes are propagated: the data that tensors
                                have are theirs, and rules may go by them */
    cfx_device_label device; /* where new results of a meta or known call are */
    uint8_t nout;
    uint8_t alias[CFX_MAX_OUTS]; /* 1 + the parameter that out[i] views, or 0 */
    cfx_tensor *out[CFX_MAX_OUTS];
    cfx_value result;        /* of rules whose result is no tensor */
    void *work;
    size_t work_size;
    cfx_context *work_ctx;   /* where it comes from; NULL: ctx */
    const cfx_value *into;   /* of out=: the tensor, or list of tensors, that
                                takes the results; NULL: there is none */
    void *state;             /* op->state_size bytes of this call, from infer on
                                to its end; NULL without */
};

CFX_BEGIN_DECLS

/*
 * ---- For rules: arguments ----
 *
 * `k` is an enumerator of the operator's CFX_PARAMS, or, without such a list,
 * the place of the parameter in the schema.
 */

/* The place of a parameter in the schema; -1 where the schema lacks it. */
CFX_INLINE int cfx_call_place(const cfx_call *call, int k)
{
    return call->schema->place ? call->schema->place[k] : k;
}
CFX_INLINE cfx_value cfx_call_value(const cfx_call *call, int k)
{
    int i = cfx_call_place(call, k);
    return CFX_LIKELY(i >= 0) ? call->in[i] : cfx_none();
}
CFX_INLINE cfx_tensor *cfx_call_tensor(const cfx_call *call, int k)
{
    cfx_value v = cfx_call_value(call, k);
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}
CFX_INLINE bool cfx_call_has(const cfx_call *call, int k)
{
    return !cfx_value_is_none(cfx_call_value(call, k));
}
CFX_INLINE int64_t cfx_call_int(const cfx_call *call, int k)
{
    return cfx_call_value(call, k).u.i;
}
CFX_INLINE bool cfx_call_bool(const cfx_call *call, int k)
{
    return cfx_call_value(call, k).u.i != 0;
}
CFX_INLINE double cfx_call_double(const cfx_call *call, int k)
{
    return cfx_value_number(cfx_call_value(call, k));
}
CFX_INLINE const char *cfx_call_str(const cfx_call *call, int k)
{
    cfx_value v = cfx_call_value(call, k);
    return v.kind == CFX_STR ? v.u.str->text : NULL;
}
/* The dtype argument, or `otherwise` where it is None. */
CFX_INLINE cfx_dtype cfx_call_dtype(const cfx_call *call, int k,
                                    cfx_dtype otherwise)
{
    cfx_value v = cfx_call_value(call, k);
    return v.kind == CFX_DTYPE ? v.u.dtype : otherwise;
}
/* Length of a list argument (0 for None), and its items. */
CFX_INLINE int cfx_call_len(const cfx_call *call, int k)
{
    cfx_value v = cfx_call_value(call, k);
    return cfx_value_is_seq(v) ? (int)v.u.seq->len : 0;
}
CFX_INLINE cfx_value cfx_call_item(const cfx_call *call, int k, int i)
{
    return cfx_call_value(call, k).u.seq->item[i];
}
CFX_INLINE cfx_dim cfx_call_dim(const cfx_call *call, int k, int i)
{
    return cfx_value_dim(cfx_call_item(call, k, i));
}

/* An axis argument made non-negative and checked against `rank` (a tensor of
 * rank 0 has one axis for this purpose): PyTorch's sentence on failure. */
CFX_API cfx_status cfx_call_axis(const cfx_call *call, int64_t axis, int rank,
                                 int *out);

/* Fail from within a rule: writes call->err. The text is PyTorch's where it has
 * a good one. */
CFX_API cfx_status cfx_call_fail(const cfx_call *call, cfx_status code,
                                 const char *fmt, ...) CFX_PRINTF(3, 4);

/* ---- For `infer`: results ---- */

/* Result number call->nout: a new tensor, row-major. */
CFX_API cfx_status cfx_call_out(cfx_call *call, cfx_dtype dtype, int rank,
                                const cfx_dim *shape);
CFX_API cfx_status cfx_call_out_strided(cfx_call *call, cfx_dtype dtype,
                                        int rank, const cfx_dim *shape,
                                        const cfx_dim *stride);
/* Of the shape and, where it is dense, the strides of another. */
CFX_API cfx_status cfx_call_out_like(cfx_call *call, const cfx_tensor *like);
CFX_API cfx_status cfx_call_out_like_as(cfx_call *call, const cfx_tensor *like,
                                        cfx_dtype dtype);
/* A view of the tensor that parameter k is. */
CFX_API cfx_status cfx_call_out_view(cfx_call *call, int k, int rank,
                                     const cfx_dim *shape,
                                     const cfx_dim *stride, cfx_dim offset);
/* Parameter k itself. */
CFX_API cfx_status cfx_call_out_same(cfx_call *call, int k);
/* A result that is no tensor, or a list of tensors; takes the reference. */
CFX_API cfx_status cfx_call_return_take(cfx_call *call, cfx_value v);

/* A counted meta that rules of `Tensor[]` results put into their list. */
CFX_API cfx_status cfx_call_new(cfx_call *call, cfx_tensor **out,
                                cfx_dtype dtype, int rank,
                                const cfx_dim *shape);
CFX_API cfx_status cfx_call_new_view(cfx_call *call, cfx_tensor **out, int k,
                                     int rank, const cfx_dim *shape,
                                     const cfx_dim *stride, cfx_dim offset);

/* ---- Running calls ---- */

/* infer, and nothing else: *out is a meta (or a view of one, or a number). */
CFX_API cfx_status cfx_call_meta(cfx_call *call, cfx_value *out);

/* infer, allocate, run. In both, *out is a new reference, call->err tells of
 * failures, and call->op, schema and in must be bound. */
CFX_API cfx_status cfx_call_eager(cfx_call *call, cfx_value *out);

/* As cfx_call_meta, and what the call costs. */
CFX_API cfx_status cfx_call_cost(cfx_call *call, cfx_cost *cost,
                                 cfx_value *out);

/* ---- The registry ---- */

/* A name that calls can have: an operator, perhaps with a variant's signature
 * or the spelling that writes. Several may share a name: a chain. */
typedef struct cfx_target {
    const char *name;
    const cfx_op *op;
    const cfx_schema *schema;      /* of the operator */
    const cfx_schema *variant;     /* the signature to bind by; may differ */
    const cfx_variant *how;        /* NULL unless a variant */
    bool inplace, method;
    const struct cfx_target *next; /* tried after this one */
} cfx_target;

/* The target of a function name ("torch.cat", "operator.add", also in the
 * spellings "_operator.add", "torch.ops.aten.cat.default"), or NULL, also for
 * lack of memory when it is asked for the first time. */
CFX_API const cfx_target *cfx_find_function(cfx_context *ctx,
                                            const char *name);
/* The target of a method of Tensor, or NULL. */
CFX_API const cfx_target *cfx_find_method(cfx_context *ctx, const char *name);

/* Add an operator and its overloads; it must outlive the context. Names it
 * shares with others are tried first. Fails with CFX_EINVAL for a descriptor of
 * another ABI or a parameter that its list of them lacks, CFX_EPARSE for a
 * schema that does not read, CFX_ENOMEM. */
CFX_API cfx_status cfx_register_op(cfx_context *ctx, const cfx_op *op,
                                   cfx_error *err);

/*
 * Count calls of an operator by another rule in this context; NULL: by its own
 * again. The rule may build on the operator's:
 *
 *     static void sparse_cost(const cfx_call *call, cfx_cost *cost)
 *     {
 *         call->op->cost(call, cost);
 *         cost->macs = cfx_dim_floordiv(call->env, cost->macs,
 *                                       cfx_dim_int(2));
 *     }
 *     ...
 *     cfx_set_cost(ctx, cfx_find_function(ctx, "torch.mm")->op, sparse_cost,
 *                  &err);
 *
 * Overloads are operators of their own. Not while another thread asks for
 * costs in the same context. Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_set_cost(cfx_context *ctx, const cfx_op *op,
                                cfx_cost_rule *rule, cfx_error *err);

/* The i-th operator (first of its chain), or NULL after the last. */
CFX_API const cfx_op *cfx_op_at(cfx_context *ctx, size_t i);

/* The parsed schema of an operator that is registered. */
CFX_API const cfx_schema *cfx_op_schema(cfx_context *ctx, const cfx_op *op);

/* ---- Binding ---- */

/* Where values made while binding are kept until it is released. */
typedef struct cfx_bound {
    cfx_context *ctx;
    const cfx_target *target;
    bool inplace;            /* the call writes to in[0] */
    cfx_value in[CFX_MAX_PARAMS];
    uint32_t nowned, cap;
    cfx_value *owned;
    cfx_value first[4];
} cfx_bound;

/*
 * Bind arguments to the first signature of the chain that takes them; nodes
 * stand for anything. `b` must be zeroed or released; release it after use.
 * Fails with CFX_EINVAL and the sentence of the first signature that came
 * closest.
 */
CFX_API cfx_status cfx_bind(cfx_bound *b, cfx_context *ctx,
                            const cfx_target *chain, cfx_args args,
                            cfx_error *err);
CFX_API void cfx_bound_release(cfx_bound *b);

/* Bind to a schema that is not an operator's (modules, constructors): `in` has
 * room for schema->nparams. */
CFX_API cfx_status cfx_bind_schema(cfx_bound *b, cfx_context *ctx,
                                   const cfx_schema *schema, cfx_args args,
                                   cfx_error *err);

/* Read a schema; it is freed with the context. */
CFX_API cfx_status cfx_schema_parse(const cfx_schema **out, cfx_context *ctx,
                                    const char *text, cfx_error *err);

CFX_END_DECLS

#endif
