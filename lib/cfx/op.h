/*
 * cfx/op.h -- operators: one constant descriptor each.
 *
 * A descriptor holds the names of an operator (aliases), its schema in ATen's
 * language, its shape rule (`infer`), its cost rule (`cost`) and its kernel
 * (`run`). Binding, messages, effects, documentation and the C functions for
 * callers are all derived from it. An operator with overloads is a chain of
 * descriptors; a call uses the first that binds.
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
 * Rules read parameters by the enumerators of CFX_PARAMS (the schema's names
 * in capitals), not by position: overloads that share a rule may order them
 * differently, or lack some. `infer` stores the values that it derives from
 * the arguments in the call's state.
 */
#ifndef CFX_OP_H
#define CFX_OP_H

#include <cfx/value.h>

struct cfx_loop;
struct cfx_node;
struct cfx_scope;

/* The type of a parameter. */
typedef enum cfx_type_base {
    CFX_T_TENSOR,
    CFX_T_INT,
    CFX_T_FLOAT,
    CFX_T_BOOL,
    CFX_T_STR,
    CFX_T_SCALAR,
    CFX_T_DTYPE,
    CFX_T_DEVICE,
    CFX_T_LAYOUT,
    CFX_T_FORMAT,
    CFX_T_GENERATOR,
    CFX_T_ANY
} cfx_type_base;

typedef struct cfx_param {
    const char *name;
    uint8_t base;       /* cfx_type_base */
    bool optional;      /* Tensor?: None is accepted */
    bool list;          /* int[] */
    bool rest;          /* Tensor[*]: a list, or all remaining arguments */
    bool item_optional; /* Tensor?[] */
    uint8_t list_size;  /* 2 of int[2]: one number is repeated; or 0 */
    bool kwarg_only;
    bool required;       /* has no default */
    bool alias;          /* Tensor(a): the result may share its memory */
    bool writes;         /* Tensor(a!): it is written to */
    uint32_t kinds;      /* accepted kinds, as 1 << cfx_kind */
    uint32_t item_kinds; /* accepted kinds of a list's items */
    cfx_value init;      /* the default, if not required */
} cfx_param;

enum { CFX_MAX_PARAMS = 26, CFX_MAX_OUTS = 6 };

/* A parsed schema; the context owns it. */
typedef struct cfx_schema {
    const char *text;
    const char *name;     /* "max" */
    const char *overload; /* "dim", or "" */
    int nparams;
    int npositional; /* number of parameters before `*` */
    const cfx_param *params;
    uint32_t tensors;  /* the parameters that accept tensors, one bit each */
    uint32_t operands; /* those with the type Tensor/Scalar, likewise: one of
                          them at least must be a tensor */
    int nreturns;      /* -1: a list (Tensor[]) */
    bool returns_alias, returns_written;
    /* The positions of the parameters `training`, `train` or
     * `use_input_stats`, and of `dropout_p`, on which effects depend; or
     * -1. */
    int training, dropout_p;
    const cfx_named_tuple *result; /* for several results; else NULL */
    /* The position in `params` of each name in the operator's CFX_PARAMS, -1
     * if this overload lacks it; NULL: the operator has no CFX_PARAMS. */
    const int8_t *place;
} cfx_schema;

/*
 * Define an enumerator for each parameter of an operator, and their list for
 * the descriptor.
 *
 *     CFX_PARAMS(params, SELF, DIM, KEEPDIM);
 *     ...
 *     bool keep = cfx_call_bool(call, KEEPDIM);
 *
 * One list serves all operators and overloads of a file: parameters are
 * matched by name. A parameter that a schema lacks reads as None. SELF also
 * matches `input`, as keyword arguments do. Registering an operator with a
 * parameter that is not in its list fails.
 */
#define CFX_PARAMS(list, ...)                                                 \
    enum { __VA_ARGS__ };                                                     \
    static const char list[] = #__VA_ARGS__

typedef struct cfx_op cfx_op;
typedef struct cfx_call cfx_call;
typedef struct cfx_cost cfx_cost;

/* The cost of a call; see cost rules. Counts are over the same symbols as
 * extents. */
struct cfx_cost {
    cfx_dim macs;           /* multiply-adds of contractions */
    cfx_dim ops;            /* other arithmetic, one for each step and
                               element */
    cfx_dim transcendental; /* those of ops that are exp, sqrt, division */
    cfx_dim bytes_read, bytes_written;
    /* The name of the algorithm if `run` uses one that needs fewer operations
     * than are counted ("winograd"); NULL: the direct one. */
    const char *algorithm;
    /* The type whose arithmetic it is. Before the rule: that of the first float
     * tensor among the arguments, else of the first tensor. */
    cfx_dtype dtype;
};

enum {
    CFX_OP_POINTWISE = 1,   /* element i of the result needs only elements i of
                               the arguments: the result may be an argument */
    CFX_OP_MOVES = 2,       /* each element of the result is one of the first
                               argument's, or of its tensors', elsewhere */
    CFX_OP_RANDOM = 4,      /* two equal calls may differ */
    CFX_OP_EFFECT = 8,      /* must not be dropped (assert) */
    CFX_OP_OWN_RESULT = 16, /* the result's shape or value depends on data:
                               `run` creates it (cfx_call_out again) */
    CFX_OP_INPLACE = 32,    /* has a spelling with `_` that writes to self */
    CFX_OP_COMMUTES = 64,   /* the first two arguments may be swapped if all
                               others have their defaults */
    /* `run` receives contiguous copies of non-contiguous tensor arguments (of
     * all, or of the first only), and computes a non-contiguous result in a
     * contiguous buffer, which is then copied. */
    CFX_OP_COPIES_TO_CONTIGUOUS = 128,
    CFX_OP_COPIES_FROM_CONTIGUOUS = 256,
    CFX_OP_COPIES_FIRST_TO_CONTIGUOUS = 1024,
    CFX_OP_ANY_DEVICES = 512, /* its tensors may be on different devices; the
                                  result is on the first one's */
    CFX_OP_ONE_GRAPH =
        2048, /* calls only one of its graphs; if it is not known
                                which, the most expensive is counted */
    CFX_OP_STORED_TYPES = 4096, /* takes types without arithmetic (CFX_STORED),
                                   as operators do that make
                                   views or move elements */
    /* The result is a copy of the first argument, made by cfx_tensor_copy, of
     * which `run` then writes elements: the result may be that argument. */
    CFX_OP_EDITS = 8192,
    /* Takes complex tensors and numbers, which other operators refuse; implied
     * by CFX_OP_STORED_TYPES. */
    CFX_OP_COMPLEX = 16384,
    /* A view of the first argument, whose own shape PyTorch changes too
     * (squeeze_): no later node may use that argument. */
    CFX_OP_SHAPES_SELF = 32768,
    /* Within torch.vmap tensors have axes that the code does not see. Operators
     * that are pointwise, or have a `loop`, broadcast them; so do those with
     * CFX_OP_BROADCASTS. CFX_OP_INDEXES: the tensors in the second argument are
     * indices into the first axes of the first. CFX_OP_SEES_BATCHES: the rules
     * take such tensors as they are. Others are called for each slice. */
    CFX_OP_BROADCASTS = 65536,
    CFX_OP_INDEXES = 131072,
    CFX_OP_SEES_BATCHES = 262144,
    CFX_OP_UNWRITTEN = 524288, /* its result has no numbers until another call
                                  writes them */
    CFX_OP_WRAPS = 1048576,    /* calls its graph once and returns what that
                                  returns: the graph's nodes may stand in its
                                  place */
    /* The result depends on the strides or the address of an argument. */
    CFX_OP_READS_STRIDES = 2097152,
    /* A pointwise function of one tensor and up to three numbers, which other
     * operators may apply to their results. */
    CFX_OP_ACTIVATION = 4194304,
    /* Makes floats of integers. Of constants it is not computed ahead: they stay
     * integers, which passes pack. */
    CFX_OP_DEQUANTIZES = 8388608
};

/*
 * Computes the cost of a call from its extents, after infer. Counts are
 * initially 0. Bytes are initially CFX_DIM_BAD: if the rule does not set them,
 * every tensor argument is read once and every result written once; views cost
 * no bytes. shapeprop/COSTS.md defines the counts.
 */
typedef void cfx_cost_rule(const cfx_call *call, cfx_cost *cost);

/* Another signature of the operator. */
typedef struct cfx_variant {
    /* With a full name: "torch.nn.functional.embedding(Tensor input, ...)". */
    const char *schema;
    /* Convert the variant's arguments to the operator's; NULL: by name. A
     * parameter `inplace` that the operator lacks selects the in-place
     * operator; any other must have its default. */
    cfx_status (*lower)(cfx_call *call, const cfx_value *in, cfx_value *out);
} cfx_variant;

struct cfx_op {
    cfx_abi abi; /* CFX_ABI(cfx_op) */
    const char *schema;
    /* The parameters by name (CFX_PARAMS). NULL: rules read them by
     * position. */
    const char *params;
    /* Names, separated by spaces: full ones, "torch.cat", "Tensor.relu" (a
     * method), or "torch. Tensor. aten. .Scalar": the schema's name there.
     * ".Scalar(Tensor,Scalar)" accepts only these of the types that the first
     * parameters have in the schema. */
    const char *aliases;
    /* Aliases of the in-place operator, besides those that CFX_OP_INPLACE
     * derives from `aliases` ("torch.x_ Tensor.x_ aten.x_.o"). */
    const char *inplace_aliases;
    const cfx_variant *variants; /* ends with a NULL schema */
    const char *doc;             /* one sentence */
    uint32_t flags;
    int code;         /* distinguishes operators that share a
                                    rule */
    const void *data; /* likewise */
    /* The size of call->state, which is zeroed before infer. */
    size_t state_size;
    /* The shape rule: reads metas; sets the results by cfx_call_out and
     * similar functions, and the state. */
    cfx_status (*infer)(cfx_call *call);
    /* NULL: no arithmetic. */
    cfx_cost_rule *cost;
    /* The size of the scratch memory call->work. NULL: none. */
    size_t (*workspace)(const cfx_call *call);
    /* Computes call->out from the arguments, which infer has checked. NULL:
     * the results are views or not tensors. */
    cfx_status (*run)(cfx_call *call);
    /* The computation as one loop over elements, for operators that can share a
     * pass over memory with others; false if this call is not one. NULL: it
     * never is. Private to the library. */
    bool (*loop)(const cfx_call *call, struct cfx_loop *out);
    /* For operators of higher order, whose arguments are graphs, in place of
     * infer, cost, workspace and run: computes the result by calling the
     * graphs in the scope with cfx_scope_call_graph (cfx/scope.h), which
     * serves execution, shapes and costs. *out is a new reference. */
    cfx_status (*call_graphs)(struct cfx_scope *s, cfx_call *call,
                              cfx_value *out);
    /* The number of calls of each graph, for costs: map calls its graph once
     * for each slice. NULL: one. */
    cfx_dim (*rounds)(const cfx_call *call);
    const cfx_op *next; /* the next overload */
};

/*
 * One call. Rules see bound arguments: defaults are filled in, kinds match the
 * parameter's type, and int[2] is always a list or tuple of 2. Rules read them
 * by cfx_call_tensor and similar functions. Code for any operator reads the
 * schema: in[i] belongs to params[i].
 *
 * Hooks of interpreters see the unbound call of the node: target, args,
 * kwargs. They may call the super's hook with a modified copy.
 */
struct cfx_call {
    cfx_context *ctx;
    cfx_shape_env *env; /* NULL where all extents are integers */
    cfx_error *err;
    const struct cfx_node *node; /* may be NULL */

    /* Unbound. */
    cfx_value target; /* a str */
    const cfx_value *args;
    const cfx_value *kwargs; /* key and value in turn */
    uint32_t nargs, nkwargs;

    /* Bound. */
    const cfx_op *op;
    const cfx_schema *schema;
    const cfx_value *in;
    bool inplace;            /* the result is written to in[0] */
    bool meta;               /* propagate shapes only */
    bool known;              /* shape propagation with known data: rules may
                                read the data that tensors have */
    cfx_device_label device; /* the device of new results of a meta or known
                                call */
    uint8_t nout;
    uint8_t alias[CFX_MAX_OUTS]; /* 1 + the parameter that out[i] is a view of,
                                    or 0 */
    cfx_tensor *out[CFX_MAX_OUTS];
    cfx_value result; /* for rules whose result is not a tensor */
    void *work;
    size_t work_size;
    cfx_context *work_ctx; /* the owner of `work`; NULL: ctx */
    const cfx_value *into; /* out=: the tensor, or list of tensors, that
                                receives the results; NULL: none */
    void *state;           /* op->state_size bytes, valid from infer to the
                                end of the call; or NULL */
    /* Private: a scope that gets the calls of which a composite infers its
     * result; NULL: one of their own. */
    struct cfx_scope *inner;
};

CFX_BEGIN_DECLS

/*
 * ---- For rules: arguments ----
 *
 * `k` is an enumerator of the operator's CFX_PARAMS, or, without such a list,
 * the position in the schema.
 */

/* The position of a parameter in the schema; -1 if the schema lacks it. */
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
/* The dtype argument, or `otherwise` if it is None. */
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

/* Normalize an axis to 0..rank-1; rank 0 counts as one axis. Fails with
 * PyTorch's message. */
CFX_API cfx_status cfx_call_axis(const cfx_call *call, int64_t axis, int rank,
                                 int *out);

/* Fail from a rule: sets call->err. Use PyTorch's message if it has a good
 * one. */
CFX_API cfx_status cfx_call_fail(const cfx_call *call, cfx_status code,
                                 const char *fmt, ...) CFX_PRINTF(3, 4);

/* ---- For `infer`: results ---- */

/* Append a result: a new tensor, row-major. */
CFX_API cfx_status cfx_call_out(cfx_call *call, cfx_dtype dtype, int rank,
                                const cfx_dim *shape);
CFX_API cfx_status cfx_call_out_strided(cfx_call *call, cfx_dtype dtype,
                                        int rank, const cfx_dim *shape,
                                        const cfx_dim *stride);
/* Append a result like another tensor: its shape and, if it is dense, its
 * strides. */
CFX_API cfx_status cfx_call_out_like(cfx_call *call, const cfx_tensor *like);
CFX_API cfx_status cfx_call_out_like_as(cfx_call *call, const cfx_tensor *like,
                                        cfx_dtype dtype);
/* Append a view of the tensor argument k. */
CFX_API cfx_status cfx_call_out_view(cfx_call *call, int k, int rank,
                                     const cfx_dim *shape,
                                     const cfx_dim *stride, cfx_dim offset);
/* Append argument k itself. */
CFX_API cfx_status cfx_call_out_same(cfx_call *call, int k);
/* Return a list of tensors or a non-tensor; takes the reference. */
CFX_API cfx_status cfx_call_return_take(cfx_call *call, cfx_value v);

/* A new meta for the list of a `Tensor[]` result, with one reference. */
CFX_API cfx_status cfx_call_new(cfx_call *call, cfx_tensor **out,
                                cfx_dtype dtype, int rank,
                                const cfx_dim *shape);
CFX_API cfx_status cfx_call_new_view(cfx_call *call, cfx_tensor **out, int k,
                                     int rank, const cfx_dim *shape,
                                     const cfx_dim *stride, cfx_dim offset);

/* ---- Running calls ---- */

/* Run infer only: *out is a meta, a view of one, or a number. */
CFX_API cfx_status cfx_call_meta(cfx_call *call, cfx_value *out);

/* Run infer, allocate and run. For both, call->op, schema and in must be
 * bound, *out is a new reference, and errors are in call->err. */
CFX_API cfx_status cfx_call_eager(cfx_call *call, cfx_value *out);

/* Like cfx_call_meta; also computes the cost. */
CFX_API cfx_status cfx_call_cost(cfx_call *call, cfx_cost *cost,
                                 cfx_value *out);

/* ---- The registry ---- */

/* A target of calls: an operator, perhaps with a variant's signature or in
 * place. Targets of one name form a chain. */
typedef struct cfx_target {
    const char *name;
    const cfx_op *op;
    const cfx_schema *schema;  /* of the operator, limited to `types` */
    const cfx_schema *variant; /* the signature to bind to; may differ */
    const cfx_variant *how;    /* NULL unless it is a variant */
    const char *types;         /* "(Tensor,Scalar)" after an alias; or NULL */
    bool inplace, method;
    const struct cfx_target *next; /* tried after this one */
} cfx_target;

/* The target of a function name ("torch.cat", "operator.add", also
 * "_operator.add", "torch.ops.aten.cat.default"), or NULL. The first lookup
 * also returns NULL when out of memory. */
CFX_API const cfx_target *cfx_find_function(cfx_context *ctx,
                                            const char *name);
/* The target of a method of Tensor, or NULL. */
CFX_API const cfx_target *cfx_find_method(cfx_context *ctx, const char *name);

/* Register an operator and its overloads, which must outlive the context. It
 * precedes others of the same name. Fails with CFX_EINVAL for a descriptor of
 * another ABI or a parameter that CFX_PARAMS lacks, CFX_EPARSE for a malformed
 * schema, CFX_ENOMEM. */
CFX_API cfx_status cfx_register_op(cfx_context *ctx, const cfx_op *op,
                                   cfx_error *err);

/*
 * Replace an operator's cost rule in this context; NULL restores its own. The
 * new rule may call it:
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
 * Each overload has its own rule. Must not run while another thread computes
 * costs in the same context. Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_set_cost(cfx_context *ctx, const cfx_op *op,
                                cfx_cost_rule *rule, cfx_error *err);

/* The i-th operator (the first overload), or NULL after the last. */
CFX_API const cfx_op *cfx_op_at(cfx_context *ctx, size_t i);

/* Call `fn` for each name under which code calls an overload, until it fails:
 * aliases, those in place, and those of variants, `how`. A name has `len`
 * bytes and is valid during the call. Returns the status of `fn`. */
typedef cfx_status cfx_op_name_fn(void *user, const char *name, size_t len,
                                  bool inplace, const cfx_variant *how);
CFX_API cfx_status cfx_op_names(const cfx_op *op, cfx_op_name_fn *fn,
                                void *user);

/* The parsed schema of a registered operator. */
CFX_API const cfx_schema *cfx_op_schema(cfx_context *ctx, const cfx_op *op);

/* ---- Binding ---- */

/* Owns the values created by binding until it is released. */
typedef struct cfx_bound {
    cfx_context *ctx;
    const cfx_target *target;
    bool inplace; /* the call writes to in[0] */
    cfx_value in[CFX_MAX_PARAMS];
    uint32_t nowned, cap;
    cfx_value *owned;
    cfx_value first[4];
} cfx_bound;

/*
 * Bind arguments to the first signature of the chain that matches; a node
 * matches any type. `b` must be zeroed or released; release it after use.
 * Fails with CFX_EINVAL and the message of the closest signature.
 */
CFX_API cfx_status cfx_bind(cfx_bound *b, cfx_context *ctx,
                            const cfx_target *chain, cfx_args args,
                            cfx_error *err);
CFX_API void cfx_bound_release(cfx_bound *b);

/* Bind to the schema of a module or constructor: `in` holds schema->nparams
 * values. */
CFX_API cfx_status cfx_bind_schema(cfx_bound *b, cfx_context *ctx,
                                   const cfx_schema *schema, cfx_args args,
                                   cfx_error *err);

/* Parse a schema; the context owns it. */
CFX_API cfx_status cfx_schema_parse(const cfx_schema **out, cfx_context *ctx,
                                    const char *text, cfx_error *err);

CFX_END_DECLS

#endif
