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
 *         .schema = "Scale(int features)",
 *         .repr = "features",
 *         .doc = "Multiply by a learned factor per feature.",
 *         .init = scale_init,
 *         .forward_schema = "forward(Tensor input) -> Tensor",
 *         .forward = scale_forward,
 *     };
 *
 * A module has one parent at most, which holds a reference to it. Who holds
 * another keeps the module and all below it, also when it is taken out of its
 * tree or the tree goes. A GraphModule is a module that has a graph.
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
     * What repr shows of the arguments, in order, separated by spaces: `$x`
     * the value alone, `x` as x=value, `?x` as x=value where it is not the
     * default, `=x` as x with strings unquoted. Arguments that do not occur
     * are hidden: PyTorch's text leaves them undecided (see below).
     */
    const char *repr;
    /* Hidden arguments that the superset writes even if they are the
     * default. */
    const char *must_give;
    /* Hidden arguments that a child's tell, "embed_dim=out_proj.out_features",
     * separated by spaces. */
    const char *derive;
    const char *doc;
    /* Check the arguments, declare parameters, buffers and children. */
    cfx_status (*init)(cfx_module *self, cfx_error *err);
    const char *forward_schema;
    /* `in` is bound by forward_schema. */
    cfx_value (*forward)(cfx_scope *s, cfx_module *self, const cfx_value *in);
    /* Containers: children are listed; there is no forward. */
    bool container;

    /*
     * Which hidden arguments matter when; each is a list of names, separated
     * by spaces. One that is in no list must be decided before any forward.
     */
    /* `forward` asks for it with cfx_attr_of, in the cases where it matters. */
    const char *lazy;
    /* It changes numbers, but no shape. */
    const char *numeric;
    /* It counts as its default in PyTorch's text: no forward depends on it,
     * or nothing could ever decide it. */
    const char *implied;
    /* Parameters that are there, and their shapes, decide it: it is decided
     * when a weights file fits the module. */
    const char *by_state;
    /* A flag with which the result is a tuple, not a tensor: the graph decides
     * that it is False where the result is used as a tensor. */
    const char *tuple_flag;
    /* A flag with which the input is written to: the graph decides that it is
     * False where nothing else reads that input. */
    const char *inplace_flag;
    /* Decide, by cfx_module_decide, hidden arguments that make no difference
     * beside the others. */
    void (*settle)(cfx_module *self);
};

/* A parameter or buffer. `tensor` is a meta until its numbers are loaded, NULL
 * where it is None. */
typedef struct cfx_state {
    const char *name;
    cfx_tensor *tensor;
    bool is_buffer;
    bool persistent;
} cfx_state;

CFX_BEGIN_DECLS

/* Make a module from its constructor's arguments. `class_name` is what it
 * prints as, NULL: the type's own name. */
CFX_API cfx_status cfx_module_new(cfx_module **out, cfx_context *ctx,
                                  const cfx_module_type *type,
                                  const char *class_name, cfx_args args,
                                  cfx_error *err);
/* An empty container that prints as `class_name`. */
CFX_API cfx_status cfx_module_new_container(cfx_module **out,
                                            cfx_context *ctx,
                                            const char *class_name,
                                            cfx_error *err);
CFX_API cfx_module *cfx_module_ref(cfx_module *m);
CFX_API void cfx_module_unref(cfx_module *m);

CFX_API cfx_context *cfx_module_context(const cfx_module *m);
CFX_API const cfx_module_type *cfx_module_type_of(const cfx_module *m);
CFX_API const char *cfx_module_class_name(const cfx_module *m);
/* The key under which the parent holds it; "" for a root. */
CFX_API const char *cfx_module_name(const cfx_module *m);
CFX_API cfx_module *cfx_module_parent(const cfx_module *m);
CFX_API bool cfx_module_training(const cfx_module *m);
/* Sets the flag of a module and all below it. */
CFX_API void cfx_module_train(cfx_module *m, bool training);

/* ---- The tree ---- */

/* Add a child at the end, or replace the one of that name in its place; takes
 * the reference, also on failure. Fails with CFX_EINVAL for a name that is
 * empty or has a dot, for a child that has a parent (cfx_module_copy makes
 * another of it: torch.fx shares modules) or that m is part of; CFX_ENOMEM. */
CFX_API cfx_status cfx_module_add_take(cfx_module *m, const char *name,
                                       cfx_module *child, cfx_error *err);
CFX_API size_t cfx_module_nchildren(const cfx_module *m);
CFX_API cfx_module *cfx_module_child_at(const cfx_module *m, size_t i);
/* By key, or NULL; of a dotted path ("layer1.0.conv1"; "": m itself). */
CFX_API cfx_module *cfx_module_child(const cfx_module *m, const char *name);
CFX_API cfx_module *cfx_module_at(const cfx_module *m, const char *path);
/* The path of a module from its root, into buf; as snprintf. */
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
/* All, in the order of the constructor's schema. */
CFX_API const cfx_schema *cfx_module_schema(const cfx_module *m);
CFX_API const cfx_value *cfx_module_attrs(const cfx_module *m);

/*
 * Undecided arguments. PyTorch's text hides arguments of some modules. Those
 * hold their default, but are undecided: what depends on one fails with
 * CFX_EUNDECIDED, and names the argument and the line to write.
 */
CFX_API bool cfx_attr_is_undecided(const cfx_module *m, const char *name);
/* Fails with CFX_ENAME for an argument that the constructor does not have. */
CFX_API cfx_status cfx_module_undecide(cfx_module *m, const char *name,
                                       cfx_error *err);
/* The value that an argument holds is the right one. Never fails. */
CFX_API void cfx_module_decide(cfx_module *m, const char *name);
/* Decide every argument of a module and of all below it: defaults are right. */
CFX_API void cfx_module_assume_defaults(cfx_module *m);
/* Fails with CFX_EUNDECIDED where the module itself has an undecided argument:
 * for what cannot be written down without it. */
CFX_API cfx_status cfx_module_check_decided(const cfx_module *m,
                                            cfx_error *err);

/* ---- State ---- */

/* Declare, for `init`: a meta of that shape. */
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
/* Set a parameter or buffer, declaring it (as a buffer) where it is new; the
 * tensor is shared. The shape must be the declared one (CFX_ESHAPE). */
CFX_API cfx_status cfx_module_set(cfx_module *m, const char *name,
                                  cfx_tensor *t, cfx_error *err);

/* ---- For `forward` ---- */

/* An argument by name. Fails the scope, and gives None, where it is undecided
 * and its value matters there. */
CFX_API cfx_value cfx_attr_of(cfx_scope *s, const cfx_module *m,
                              const char *name);

/* A parameter or buffer as a value of the scope; None where it is None. */
CFX_API cfx_value cfx_param_of(cfx_scope *s, cfx_module *m, const char *name);

/* Call a child with one argument, or with several. */
CFX_API cfx_value cfx_call_module(cfx_scope *s, cfx_module *self,
                                  const char *name, cfx_value x);
CFX_API cfx_value cfx_call_module_with(cfx_scope *s, cfx_module *self,
                                       const char *name, cfx_args args);
#if !defined(__cplusplus) && !defined(CFX_NO_PLACES)
#define cfx_call_module(s, ...) cfx_call_module(CFX_AT(s), __VA_ARGS__)
#define cfx_call_module_with(s, ...)                                         \
    cfx_call_module_with(CFX_AT(s), __VA_ARGS__)
#endif
/* Call a module itself, in a frame of its own, its arguments unbound. *out is
 * a new reference. What interpreters use. */
CFX_API cfx_status cfx_scope_call_module(cfx_scope *s, cfx_module *m,
                                         const char *path, cfx_args args,
                                         cfx_value *out);

/* The forward itself, with bound arguments, in a frame of its own: what a
 * class's call_module does for modules that it does not stop at. *out is a new
 * reference. */
CFX_API cfx_status cfx_module_forward(cfx_scope *s, cfx_module *m,
                                      const cfx_value *in, cfx_value *out);

/* ---- The registry ---- */

CFX_API const cfx_module_type *cfx_find_module_type(cfx_context *ctx,
                                                    const char *name);
/* Add a module type, which must outlive the context. Fails with CFX_EINVAL for
 * a descriptor of another ABI, CFX_EPARSE for a schema that does not read,
 * CFX_ENOMEM. */
CFX_API cfx_status cfx_register_module_type(cfx_context *ctx,
                                            const cfx_module_type *type,
                                            cfx_error *err);
CFX_API const cfx_module_type *cfx_module_type_at(cfx_context *ctx, size_t i);

CFX_END_DECLS

#endif
