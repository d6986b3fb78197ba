/*
 * cfx/module.h -- modules: types with a constructor, state and a forward.
 *
 * A module type is a constant descriptor: its constructor's signature as
 * PyTorch prints it, how its repr is written, what parameters and buffers it
 * has, and `forward`, written once over values. A module is an instance: the
 * constructor's arguments, tensors by name, and children by name.
 *
 *     static cfx_status scale_init(cfx_module *self, cfx_error *err)
 *     {
 *         cfx_dim n = cfx_attr_dim(self, "features");
 *         return cfx_module_param(self, "weight", CFX_F32, 1, &n, err);
 *     }
 *
 *     static cfx_value scale_forward(cfx_scope *s, cfx_module *self,
 *                                    const cfx_value *in)
 *     {
 *         return cfx_mul(s, in[0], cfx_param_of(s, self, "weight"));
 *     }
 *
 *     const cfx_module_type scale = {
 *         .abi = CFX_ABI(cfx_module_type),
 *         .schema = "Scale(int features)",
 *         .repr = "features",
 *         .doc = "Multiply by a learned factor per feature.",
 *         .init = scale_init,
 *         .forward_schema = "forward(Tensor input) -> Tensor",
 *         .forward = scale_forward,
 *     };
 *
 * A module has at most one parent, which holds a reference to it. Any other
 * reference keeps the module and its descendants alive after it leaves the
 * tree. A GraphModule is a module that has a graph.
 */
#ifndef CFX_MODULE_H
#define CFX_MODULE_H

#include <cfx/scope.h>

typedef struct cfx_module cfx_module;
typedef struct cfx_module_type cfx_module_type;
struct cfx_graph;

struct cfx_module_type {
    cfx_abi abi; /* CFX_ABI(cfx_module_type) */
    /* "Conv2d(int in_channels, ..., bool bias=True)", in ATen's language. */
    const char *schema;
    /* Other names under which it is printed, separated by spaces. */
    const char *aliases;
    /*
     * The arguments in repr, in order, separated by spaces: `$x` the value
     * alone, `x` as x=value, `?x` as x=value where it is not the default, `=x`
     * as x with strings unquoted. Others are hidden, and undecided (see below)
     * in a model read from PyTorch's text.
     */
    const char *repr;
    /* Hidden arguments that the superset always writes, even the default. */
    const char *must_give;
    /* Hidden arguments that equal a child's,
     * "embed_dim=out_proj.out_features", separated by spaces. */
    const char *derive;
    const char *doc;
    /* Check the arguments, declare parameters, buffers and children. */
    cfx_status (*init)(cfx_module *self, cfx_error *err);
    const char *forward_schema;
    /* `in` is bound by forward_schema. */
    cfx_value (*forward)(cfx_scope *s, cfx_module *self, const cfx_value *in);
    /* The operator that the module stands for, "aten.relu.default", whose
     * parameters have the names of the module's arguments; NULL: none.
     * cfx_forward_operator calls it. */
    const char *op;
    /* For containers: repr lists the children; there is no forward. */
    bool container;

    /*
     * Classes of hidden arguments, each a list of names separated by spaces.
     * An argument in no list must be decided before any forward.
     */
    /* Checked only when `forward` reads it with cfx_attr_of. */
    const char *lazy;
    /* It changes values, but no shape. */
    const char *numeric;
    /* It takes its default in PyTorch's text: forward does not depend on it,
     * or nothing in the file could decide it. */
    const char *implied;
    /* The parameters and their shapes decide it, once a weights file matches
     * the module. */
    const char *by_state;
    /* A flag that makes the result a tuple. It is False if the graph uses the
     * result as a tensor. */
    const char *tuple_flag;
    /* A flag that makes the module write to its input. It counts as False if
     * nothing else reads that input. */
    const char *inplace_flag;
    /* Call cfx_module_decide for hidden arguments that the other arguments
     * make irrelevant. */
    void (*decide)(cfx_module *self);

    /* State of one number that repr shows after the arguments, as name=value,
     * in PyTorch's text; names separated by spaces. A weights file outranks
     * what is read there. */
    const char *repr_state;
    /* State whose extents a run or a weights file decides: any tensor of the
     * same rank replaces it. */
    const char *resized;
    /* For observers (cfx/observer.h): scale and zero point for what was
     * observed, as new references to tensors f32[n] and i64[n]. */
    cfx_status (*calculate_qparams)(cfx_module *self, cfx_tensor **scale,
                                    cfx_tensor **zero_point, cfx_error *err);
};

/* A parameter or buffer. `tensor` is a meta until its data is loaded, NULL for
 * None. */
typedef struct cfx_state {
    const char *name;
    cfx_tensor *tensor;
    bool is_buffer;
    bool persistent;
} cfx_state;

CFX_BEGIN_DECLS

/* Create a module from constructor arguments. It prints as `class_name`, or,
 * if that is NULL, as the type. */
CFX_API cfx_status cfx_module_new(cfx_module **out, cfx_context *ctx,
                                  const cfx_module_type *type,
                                  const char *class_name, cfx_args args,
                                  cfx_error *err);
/* An empty container that prints as `class_name`. */
CFX_API cfx_status cfx_module_new_container(cfx_module **out, cfx_context *ctx,
                                            const char *class_name,
                                            cfx_error *err);
CFX_API cfx_module *cfx_module_ref(cfx_module *m);
CFX_API void cfx_module_unref(cfx_module *m);

CFX_API cfx_context *cfx_module_context(const cfx_module *m);
CFX_API const cfx_module_type *cfx_module_type_of(const cfx_module *m);
CFX_API const char *cfx_module_class_name(const cfx_module *m);
/* The name of the module in its parent; "" for a root. */
CFX_API const char *cfx_module_name(const cfx_module *m);
CFX_API cfx_module *cfx_module_parent(const cfx_module *m);
CFX_API bool cfx_module_training(const cfx_module *m);
/* Sets the flag of a module and all below it. */
CFX_API void cfx_module_train(cfx_module *m, bool training);

/* ---- The tree ---- */

/*
 * Create a child of a registered type from constructor arguments, and append it
 * or replace the child of that name:
 *
 *     cfx_module_add(m, "fc", "Linear", CFX_ARGS(cfx_int(4), cfx_int(5)),
 *                    &err);
 *
 * Fails with CFX_ENAME for an unknown type, else like cfx_module_new and
 * cfx_module_add_take.
 */
CFX_API cfx_status cfx_module_add(cfx_module *m, const char *name,
                                  const char *type, cfx_args args,
                                  cfx_error *err);
/* Append a child, or replace the child of that name. Takes the reference, also
 * on failure. Fails with CFX_EINVAL for a name that is empty or has a dot, for
 * a child that has a parent (unlike in torch.fx modules are not shared; use
 * cfx_module_copy) or that contains m; CFX_ENOMEM. */
CFX_API cfx_status cfx_module_add_take(cfx_module *m, const char *name,
                                       cfx_module *child, cfx_error *err);
CFX_API size_t cfx_module_nchildren(const cfx_module *m);
CFX_API cfx_module *cfx_module_child_at(const cfx_module *m, size_t i);
/* The child by its name, or the descendant at a dotted path ("layer1.0.conv1";
 * "": m itself); else NULL. */
CFX_API cfx_module *cfx_module_child(const cfx_module *m, const char *name);
CFX_API cfx_module *cfx_module_at(const cfx_module *m, const char *path);
/* The path of a module from its root, into buf, like snprintf. */
CFX_API size_t cfx_module_path(const cfx_module *m, char *buf, size_t size);

/* Visit a tree, parents first, in order, without recursion: the module after
 * m in the tree of `root`, or NULL. */
CFX_API cfx_module *cfx_module_next(const cfx_module *m,
                                    const cfx_module *root);

/* ---- Constructor arguments ---- */

/* An argument by name; absent if there is none of that name. */
CFX_API cfx_value cfx_attr(const cfx_module *m, const char *name);
CFX_API cfx_dim cfx_attr_dim(const cfx_module *m, const char *name);
CFX_API int64_t cfx_attr_int(const cfx_module *m, const char *name);
CFX_API double cfx_attr_double(const cfx_module *m, const char *name);
CFX_API bool cfx_attr_bool(const cfx_module *m, const char *name);
/* NULL if it is no string. */
CFX_API const char *cfx_attr_str(const cfx_module *m, const char *name);
/* All arguments, in the order of the constructor's schema. */
CFX_API const cfx_schema *cfx_module_schema(const cfx_module *m);
CFX_API const cfx_value *cfx_module_attrs(const cfx_module *m);

/*
 * Undecided arguments. PyTorch's text hides some arguments of modules. They
 * hold their default, but are undecided: an operation that depends on one
 * fails with CFX_EUNDECIDED and a message with the line to write.
 */
CFX_API bool cfx_attr_is_undecided(const cfx_module *m, const char *name);
/* Mark undecided. Fails with CFX_ENAME for an unknown argument. */
CFX_API cfx_status cfx_module_undecide(cfx_module *m, const char *name,
                                       cfx_error *err);
/* Mark the value that an argument holds as decided. Never fails. */
CFX_API void cfx_module_decide(cfx_module *m, const char *name);
/* Decide all arguments of a module and its descendants. */
CFX_API void cfx_module_assume_defaults(cfx_module *m);
/* Fails with CFX_EUNDECIDED if the module itself has an undecided argument;
 * for printers that must write all of them. */
CFX_API cfx_status cfx_module_check_decided(const cfx_module *m,
                                            cfx_error *err);

/* ---- State ---- */

/* Declare a parameter or buffer, for `init`: a meta of that shape. */
CFX_API cfx_status cfx_module_param(cfx_module *m, const char *name,
                                    cfx_dtype dtype, int rank,
                                    const cfx_dim *shape, cfx_error *err);
CFX_API cfx_status cfx_module_buffer(cfx_module *m, const char *name,
                                     cfx_dtype dtype, int rank,
                                     const cfx_dim *shape, cfx_error *err);
/* Declare that a parameter is None (Linear(bias=False)). */
CFX_API cfx_status cfx_module_no_param(cfx_module *m, const char *name,
                                       cfx_error *err);

CFX_API size_t cfx_module_nstate(const cfx_module *m);
CFX_API const cfx_state *cfx_module_state_at(const cfx_module *m, size_t i);
CFX_API const cfx_state *cfx_module_state(const cfx_module *m,
                                          const char *name);

/* The value of a get_attr target: a tensor (maybe a meta) or a module,
 * borrowed. Fails with CFX_EATTR and torch.fx's message. */
CFX_API cfx_status cfx_module_fetch_attr(cfx_value *out, const cfx_module *m,
                                         const char *path, cfx_error *err);

/* Set a parameter or buffer; a new name becomes a buffer. The tensor is
 * shared. The shape must be the declared one (CFX_ESHAPE). */
CFX_API cfx_status cfx_module_set(cfx_module *m, const char *name,
                                  cfx_tensor *t, cfx_error *err);

/* ---- For `forward` ---- */

/* An argument by name. If it is undecided and its value matters in this scope,
 * the scope fails and the result is None. */
CFX_API cfx_value cfx_attr_of(cfx_scope *s, const cfx_module *m,
                              const char *name);

/*
 * The `forward` of a type that calls one operator, its `op`. Each parameter of
 * the operator takes the module's state or argument of that name, `training` its
 * mode; the others take the inputs, in order, then their defaults. The call is in
 * place if the argument `inplace_flag` is True.
 */
CFX_API cfx_value cfx_forward_operator(cfx_scope *s, cfx_module *self,
                                       const cfx_value *in);

/* A parameter or buffer as a value of the scope; may be None. */
CFX_API cfx_value cfx_param_of(cfx_scope *s, cfx_module *m, const char *name);

/* Call a child with one argument, or with several. */
CFX_API cfx_value cfx_call_module(cfx_scope *s, cfx_module *self,
                                  const char *name, cfx_value x);
CFX_API cfx_value cfx_call_module_with(cfx_scope *s, cfx_module *self,
                                       const char *name, cfx_args args);
#if !defined(__cplusplus) && !defined(CFX_NO_PLACES)
#define cfx_call_module(s, ...) cfx_call_module(CFX_AT(s), __VA_ARGS__)
#define cfx_call_module_with(s, ...)                                          \
    cfx_call_module_with(CFX_AT(s), __VA_ARGS__)
#endif
/* Call a module with unbound arguments, in a frame of its own; for
 * interpreters. *out is a new reference. */
CFX_API cfx_status cfx_scope_call_module(cfx_scope *s, cfx_module *m,
                                         const char *path, cfx_args args,
                                         cfx_value *out);

/* Run the forward with bound arguments, in a frame of its own; for hooks that
 * step into a module. *out is a new reference. */
CFX_API cfx_status cfx_module_forward(cfx_scope *s, cfx_module *m,
                                      const cfx_value *in, cfx_value *out);

/* ---- The registry ---- */

CFX_API const cfx_module_type *cfx_find_module_type(cfx_context *ctx,
                                                    const char *name);
/* Register a module type, which must outlive the context. Fails with
 * CFX_EINVAL for a descriptor of another ABI, CFX_EPARSE for a malformed
 * schema, CFX_ENOMEM. */
CFX_API cfx_status cfx_register_module_type(cfx_context *ctx,
                                            const cfx_module_type *type,
                                            cfx_error *err);
CFX_API const cfx_module_type *cfx_module_type_at(cfx_context *ctx, size_t i);

CFX_END_DECLS

#endif
