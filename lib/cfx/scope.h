/*
 * cfx/scope.h -- where calls are made, and what a call means.
 *
 * Code that calls operators is written once, over values and a scope: in an
 * eager scope the calls compute, in a meta scope they propagate shapes, in a
 * tracing scope they are recorded in a graph.
 *
 *     cfx_value mlp(cfx_scope *s, cfx_module *self, cfx_value x)
 *     {
 *         cfx_value h = cfx_relu(s, cfx_call_module(s, self, "fc1", x));
 *         return cfx_clamp(s, cfx_call_module(s, self, "fc2", h),
 *                          .min = cfx_num(0), .max = cfx_num(1));
 *     }
 *
 * A scope owns the values made in it, until its frame is left, and holds the
 * first error: after that, calls in it do nothing and give None, so that the
 * code needs no checks between its lines. Whoever made the scope asks
 * cfx_scope_status at the end. A scope is used by one thread at a time.
 */
#ifndef CFX_SCOPE_H
#define CFX_SCOPE_H

#include <cfx/op.h>

typedef struct cfx_scope cfx_scope;

/* What a call means. Hooks give a new reference in *out. */
typedef struct cfx_scope_class {
    size_t size;
    const char *name;
    /* A call whose op, schema and in are bound; fills in nothing else. */
    cfx_status (*call_op)(cfx_scope *s, cfx_call *call, cfx_value *out);
    /* The call of a module; `path` is its place below the module whose
     * forward runs ("fc1"), or NULL. `in` is bound by the forward's schema; of
     * a GraphModule it has one value a placeholder, absent for its default,
     * a tuple for `*args`, a dict for `**kwargs`. */
    cfx_status (*call_module)(cfx_scope *s, struct cfx_module *m,
                              const char *path, const cfx_value *in,
                              cfx_value *out);
    /* A parameter or buffer of a module. */
    cfx_status (*get_attr)(cfx_scope *s, struct cfx_module *m,
                           const char *name, cfx_value *out);
} cfx_scope_class;

/* Scopes of a class begin with this struct. */
struct cfx_scope {
    const cfx_scope_class *cls;
    cfx_context *ctx;
    cfx_shape_env *env;          /* NULL in an eager scope */
    const struct cfx_node *node; /* being run; may be NULL */
    cfx_error error;             /* the first */
    cfx_value *values;           /* owned, frames on end */
    size_t nvalues, cap;
    int depth;
    struct cfx_walks *walks;     /* private: graphs that were called here */
};

CFX_BEGIN_DECLS

CFX_API extern const cfx_scope_class cfx_eager_class;
CFX_API extern const cfx_scope_class cfx_meta_class;

/* Place a scope yourself and release it; releasing a zeroed one is allowed.
 * `env` is needed where extents may be symbols; it is borrowed. */
CFX_API void cfx_scope_init(cfx_scope *s, const cfx_scope_class *cls,
                            cfx_context *ctx, cfx_shape_env *env);
CFX_API void cfx_scope_release(cfx_scope *s);

/* CFX_OK, or the first error, copied into err. */
CFX_API cfx_status cfx_scope_status(const cfx_scope *s, cfx_error *err);
CFX_INLINE bool cfx_scope_failed(const cfx_scope *s)
{
    return s->error.code != CFX_OK;
}

/* Make the scope fail, unless it has already. Gives None, for `return`. */
CFX_API cfx_value cfx_scope_fail(cfx_scope *s, cfx_status code,
                                 const char *fmt, ...) CFX_PRINTF(3, 4);

/* Let the scope own a value (takes the reference); gives the value, or None
 * if there was no memory. */
CFX_API cfx_value cfx_own(cfx_scope *s, cfx_value v);

/* Frames: what was made since cfx_scope_enter is given back, but for
 * `result`, which the frame around it then owns. */
CFX_API size_t cfx_scope_enter(cfx_scope *s);
CFX_API cfx_value cfx_scope_leave(cfx_scope *s, size_t frame,
                                  cfx_value result);

/* End the life of a value early; sets *v to None. Does nothing to a value
 * that this frame does not own. */
CFX_API void cfx_drop(cfx_scope *s, cfx_value *v);

/* A reference of your own to a value, that outlives the scope. */
CFX_INLINE cfx_value cfx_keep(cfx_value v) { return cfx_value_ref(v); }

/*
 * Call an operator by descriptor with `n` arguments in the schema's order,
 * absent ones taking their defaults. The functions of cfx/ops.h are made of
 * this.
 */
CFX_API cfx_value cfx_scope_call(cfx_scope *s, const cfx_op *op,
                                 const cfx_value *args, size_t n,
                                 bool inplace);

/* Call a function or method by name, as a graph would. */
CFX_API cfx_value cfx_call_function(cfx_scope *s, const char *target,
                                    const cfx_value *args, size_t nargs,
                                    const cfx_value *kwargs, size_t nkwargs);
CFX_API cfx_value cfx_call_method(cfx_scope *s, const char *name,
                                  const cfx_value *args, size_t nargs,
                                  const cfx_value *kwargs, size_t nkwargs);

/* The same with a target that was looked up; status and out as in hooks, for
 * interpreters. Unbound: binds first. */
CFX_API cfx_status cfx_scope_call_target(cfx_scope *s,
                                         const cfx_target *target,
                                         const cfx_value *args, size_t nargs,
                                         const cfx_value *kwargs,
                                         size_t nkwargs, cfx_value *out);

/*
 * Operators whose arguments are graphs (cond, while_loop, ...), and what the
 * eager and the meta class do with them: call those graphs in this scope. For
 * classes with a call_op of their own that compute or propagate.
 */
CFX_API bool cfx_op_takes_graphs(const cfx_op *op);
CFX_API cfx_status cfx_scope_call_control(cfx_scope *s, cfx_call *call,
                                          cfx_value *out);

/* Lists and tuples that the scope owns: in C, cfx_list(s, a, b, c). */
CFX_API cfx_value cfx_list_of(cfx_scope *s, cfx_kind kind, size_t n,
                              const cfx_value *items);
#ifndef __cplusplus
#define CFX_COUNT_(...) \
    (sizeof((cfx_value[]){__VA_ARGS__}) / sizeof(cfx_value))
#define cfx_list(s, ...)                                   \
    cfx_list_of((s), CFX_LIST, CFX_COUNT_(__VA_ARGS__),    \
                (cfx_value[]){__VA_ARGS__})
#define cfx_tuple(s, ...)                                  \
    cfx_list_of((s), CFX_TUPLE, CFX_COUNT_(__VA_ARGS__),   \
                (cfx_value[]){__VA_ARGS__})
#endif
CFX_API cfx_value cfx_str(cfx_scope *s, const char *text);

/* Item i of a tuple or list (negative from its end); borrowed. In a tracing
 * scope a getitem is recorded. */
CFX_API cfx_value cfx_nth(cfx_scope *s, cfx_value v, int64_t i);

/* Extent `axis` of a tensor (negative from the end) as an int value. */
CFX_API cfx_value cfx_size(cfx_scope *s, cfx_value x, int64_t axis);
/* Its rank. Fails the scope where that is not known (a bare proxy). */
CFX_API int cfx_rank(cfx_scope *s, cfx_value x);

/* Arithmetic on int values that may be symbolic. */
CFX_API cfx_value cfx_int_add(cfx_scope *s, cfx_value a, cfx_value b);
CFX_API cfx_value cfx_int_mul(cfx_scope *s, cfx_value a, cfx_value b);
CFX_API cfx_value cfx_int_floordiv(cfx_scope *s, cfx_value a, cfx_value b);

CFX_END_DECLS

#endif
