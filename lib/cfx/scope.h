/*
 * cfx/scope.h -- execution of calls: eagerly, on metas, or by tracing.
 *
 * Code that calls operators is written once, over values and a scope: in an
 * eager scope the calls compute, in a meta scope they propagate shapes, in a
 * tracing scope they are recorded in a graph.
 *
 *     cfx_value mlp(cfx_scope *s, cfx_module *self, cfx_value x)
 *     {
 *         cfx_value h = cfx_relu(s, cfx_call_module(s, self, "fc1", x));
 *         return cfx_clamp(s, cfx_call_module(s, self, "fc2", h),
 *                          .min = cfx_float(0), .max = cfx_float(1));
 *     }
 *
 * A scope owns the values created in it until their frame is left. It keeps
 * the first error: later calls do nothing and return None, so that code needs
 * no check after each call. The owner of the scope calls cfx_scope_status at
 * the end. A scope is used by one thread at a time.
 */
#ifndef CFX_SCOPE_H
#define CFX_SCOPE_H

#include <cfx/op.h>

typedef struct cfx_scope cfx_scope;

/* A call before its arguments are bound. */
typedef struct cfx_unbound_call {
    const char *name; /* "torch.cat"; "view" for a method */
    bool method;
    const cfx_target *target; /* the registered target; NULL for modules */
    const cfx_value *args;
    const cfx_value *kwargs; /* key and value in turn */
    size_t nargs, nkwargs;
} cfx_unbound_call;

/* Queries about a value that stands for another (a proxy). */
typedef enum cfx_question {
    CFX_ASK_META,  /* a tensor of its type and shape; absent: unknown */
    CFX_ASK_TRUTH, /* a bool */
    CFX_ASK_LEN,   /* an int */
    CFX_ASK_ITEMS  /* a tuple of the items of its iteration */
} cfx_question;

/*
 * A class defines how calls execute: a constant table of hooks. A NULL hook is
 * inherited from `super`. A derived struct begins with the super's struct; a
 * hook calls the super's hook by CFX_SCOPE_SUPER, with the class that it was
 * written for.
 *
 *     static cfx_status count_op(cfx_scope *s, cfx_call *call, cfx_value *out)
 *     {
 *         ((struct count *)s)->n++;
 *         return CFX_SCOPE_SUPER(&count_class, call_op)(s, call, out);
 *     }
 *
 *     const cfx_scope_class count_class = {
 *         .size = sizeof(cfx_scope_class),
 *         .name = "count",
 *         .super = &cfx_eager_class,
 *         .call_op = count_op,
 *     };
 *
 * cfx_scope_base implements modules, parameters and calls of graphs; it
 * refuses calls of other operators. cfx_eager_class computes them,
 * cfx_meta_class propagates their shapes. Every class derives from one of the
 * three.
 *
 * A hook sets *out to a new reference, unless noted. One that fails returns a
 * status, sets s->error, which is call->err, and leaves *out without a value.
 */
typedef struct cfx_scope_class cfx_scope_class;

/* Execute the call of an operator, whose op, schema and in are bound. */
typedef cfx_status cfx_op_hook(cfx_scope *s, cfx_call *call, cfx_value *out);

/* Execute a call of a target with bound arguments in the types of autocast. False,
 * without effect, if autocast has none for this call. */
typedef bool cfx_autocast_hook(cfx_scope *s, const cfx_target *t,
                               const cfx_value *in, bool inplace,
                               cfx_value *out, cfx_status *st);

struct cfx_scope_class {
    size_t size; /* sizeof(cfx_scope_class) */
    const char *name;
    const cfx_scope_class *super;
    /* Calls compute data, so parameters must have data. Inherited if true. */
    bool computes;

    /* Call an operator that is not of higher order. */
    cfx_op_hook *call_op;
    /* Call an operator of higher order, which calls graphs (cond, map). The
     * base runs its call_graphs (cfx/op.h), whose calls reach the other
     * hooks. */
    cfx_op_hook *call_higher_order;
    /* Call a module; `path` is its path in the module whose forward runs
     * ("fc1"), or NULL. `in` is bound to the forward's schema; for a
     * GraphModule it has one value for each placeholder: absent for its
     * default, a tuple for `*args`, a dict for `**kwargs`. The base runs the
     * forward. */
    cfx_status (*call_module)(cfx_scope *s, struct cfx_module *m,
                              const char *path, const cfx_value *in,
                              cfx_value *out);
    /* Call a GraphModule, as a module or from an operator of higher order. `c`
     * is the unbound call; if it is NULL, `in` is bound as for call_module.
     * The base passes an unbound call to the class's call_module, if it has
     * one; else it runs the graph in this scope. */
    cfx_status (*call_graph)(cfx_scope *s, struct cfx_module *m,
                             const char *path, const cfx_unbound_call *c,
                             const cfx_value *in, cfx_value *out);
    /* Read a parameter or buffer, for a forward or a get_attr node. *out is
     * borrowed from the module or the scope (cfx_scope_take). */
    cfx_status (*get_attr)(cfx_scope *s, struct cfx_module *m,
                           const char *name, cfx_value *out);

    /* For classes that record calls: if `record_call` is set, it receives all
     * calls unbound, in place of call_op and call_module. The three are set
     * together. */
    cfx_status (*record_call)(cfx_scope *s, const cfx_unbound_call *c,
                              cfx_value *out);
    cfx_status (*record_module)(cfx_scope *s, struct cfx_module *m,
                                const char *path, const cfx_unbound_call *c,
                                cfx_value *out);
    /* Answer a query, or fail the scope. */
    cfx_status (*ask)(cfx_scope *s, cfx_question question, cfx_value v,
                      cfx_value *out);
};

/* Scopes of a class begin with this struct. */
struct cfx_scope {
    const cfx_scope_class *cls;
    cfx_scope_class hook; /* private: cls with inherited hooks */
    cfx_context *ctx;
    cfx_shape_env *env;          /* NULL in an eager scope */
    const struct cfx_node *node; /* the node being run; may be NULL */
    cfx_error error;             /* the first */
    cfx_value *values;           /* owned, frames on end */
    size_t nvalues, cap;
    int depth;
    /* The source location of the last call; NULL if unknown. */
    const char *file, *function;
    int line;
    /* Undecided arguments of modules (cfx/module.h) take their default: for
     * scopes whose results do not depend on them. */
    bool any_arguments;
    struct cfx_walks *walks;     /* private: graphs that were called here */
    cfx_autocast_hook *autocast; /* private; NULL: it is off */
    cfx_dtype autocast_type;
};

CFX_BEGIN_DECLS

/*
 * Source locations. In C, the functions of operators and modules are also
 * macros, which store file and line in the scope; a tracing scope keeps them
 * with each node. CFX_AT(s) does so for other calls, and is `s`. C++, and
 * programs that define CFX_NO_PLACES, do without.
 */
CFX_INLINE cfx_scope *cfx_scope_at(cfx_scope *s, const char *file, int line,
                                   const char *function)
{
    s->file = file;
    s->line = line;
    s->function = function;
    return s;
}
#if defined(__cplusplus) || defined(CFX_NO_PLACES)
#define CFX_AT(s) (s)
#else
#define CFX_AT(s) cfx_scope_at((s), __FILE__, __LINE__, __func__)
#endif

CFX_API extern const cfx_scope_class cfx_scope_base;
CFX_API extern const cfx_scope_class cfx_eager_class;
CFX_API extern const cfx_scope_class cfx_meta_class;

/* The super's hook of class `class_`, its own or inherited. */
#define CFX_SCOPE_SUPER(class_, hook)                                         \
    (cfx_scope_class_with((class_)->super, offsetof(cfx_scope_class, hook))   \
         ->hook)
/* The nearest class, from cls upwards, whose hook at that offset is set. */
CFX_API const cfx_scope_class *cfx_scope_class_with(const cfx_scope_class *cls,
                                                    size_t offset);

/* Initialize a scope in the caller's memory. A zeroed one may be released.
 * `env` is borrowed, and required if extents may be symbols. */
CFX_API void cfx_scope_init(cfx_scope *s, const cfx_scope_class *cls,
                            cfx_context *ctx, cfx_shape_env *env);
CFX_API void cfx_scope_release(cfx_scope *s);

/* CFX_OK, or the first error, which is copied to err. */
CFX_API cfx_status cfx_scope_status(const cfx_scope *s, cfx_error *err);
CFX_INLINE bool cfx_scope_failed(const cfx_scope *s)
{
    return s->error.code != CFX_OK;
}

/* Make the scope fail, unless it has already. Returns None. */
CFX_API cfx_value cfx_scope_fail(cfx_scope *s, cfx_status code,
                                 const char *fmt, ...) CFX_PRINTF(3, 4);

/* Give a value to the scope (takes the reference). Returns the value, or None
 * when out of memory. */
CFX_API cfx_value cfx_scope_take(cfx_scope *s, cfx_value v);

/* Frames: cfx_scope_leave releases the values created since cfx_scope_enter,
 * except `result`, which passes to the outer frame. */
CFX_API size_t cfx_scope_enter(cfx_scope *s);
CFX_API cfx_value cfx_scope_leave(cfx_scope *s, size_t frame,
                                  cfx_value result);

/* Release a value of this frame early, and set *v to None. Other values are
 * not released. */
CFX_API void cfx_scope_drop(cfx_scope *s, cfx_value *v);

/* A new reference to a value, which outlives the scope. */
CFX_INLINE cfx_value cfx_keep(cfx_value v)
{
    return cfx_value_ref(v);
}

/*
 * Call an operator by descriptor with `n` arguments in the schema's order;
 * absent ones take their defaults. The functions of cfx/ops.h use it.
 */
CFX_API cfx_value cfx_scope_call(cfx_scope *s, const cfx_op *op,
                                 const cfx_value *args, size_t n,
                                 bool inplace);

/*
 * The target under which a tracer records that call, into buf (like snprintf;
 * 0: none), and whether it is a method. It is the first alias that begins with
 * "torch.", else the first alias; "Tensor.x" is the method x. An operator
 * without aliases uses those of its variants. In place it is the method "x_"
 * of the first "Tensor.x", else the first in-place name in torch. Required
 * arguments are recorded as positional, others as keywords in the schema's
 * order, absent ones not at all.
 */
CFX_API size_t cfx_op_call_name(const cfx_op *op, bool inplace, bool *method,
                                char *buf, size_t size);

/* Call a function or method by name, as a node would. */
CFX_API cfx_value cfx_call_function(cfx_scope *s, const char *target,
                                    cfx_args args);
CFX_API cfx_value cfx_call_method(cfx_scope *s, const char *name,
                                  cfx_args args);

/* Bind and call a target that was looked up; for interpreters. Status and out
 * are those of hooks. */
CFX_API cfx_status cfx_scope_call_target(cfx_scope *s,
                                         const cfx_target *target,
                                         cfx_args args, cfx_value *out);

/* For operators of higher order: call the graph in parameter k of `call` with
 * `n` positional arguments. Status and out are those of hooks. */
CFX_API cfx_status cfx_scope_call_graph(cfx_scope *s, cfx_call *call, int k,
                                        const cfx_value *args, size_t n,
                                        cfx_value *out);

/* Lists and tuples owned by the scope: cfx_list(s, a, b, c). */
CFX_API cfx_value cfx_list_of(cfx_scope *s, cfx_kind kind, size_t n,
                              const cfx_value *items);
#define cfx_list(s, ...)                                                      \
    cfx_list_of((s), CFX_LIST, CFX_COUNT_(__VA_ARGS__),                       \
                CFX_VALUES_(__VA_ARGS__))
#define cfx_tuple(s, ...)                                                     \
    cfx_list_of((s), CFX_TUPLE, CFX_COUNT_(__VA_ARGS__),                      \
                CFX_VALUES_(__VA_ARGS__))
CFX_API cfx_value cfx_str(cfx_scope *s, const char *text);

/* Item i of a tuple or list (negative from its end); borrowed. In a tracing
 * scope a getitem is recorded. */
CFX_API cfx_value cfx_nth(cfx_scope *s, cfx_value v, int64_t i);

/* Extent `axis` of a tensor (negative from the end) as an int value; for a
 * proxy, a recorded call of `size`. */
CFX_API cfx_value cfx_size(cfx_scope *s, cfx_value x, int64_t axis);
/* The rank. Fails the scope if it is unknown (a bare proxy). */
CFX_API int cfx_rank(cfx_scope *s, cfx_value x);

/* The tensor x, or a meta of its type and shape; NULL without failure if that
 * is unknown (a bare proxy) or x is not a tensor. Borrowed. For optional
 * checks, and rules that depend on the dtype. */
CFX_API const cfx_tensor *cfx_meta_of(cfx_scope *s, cfx_value x);

/* Python's bool(v), len(v) and iteration, for numbers, strings, tuples, lists
 * and dicts. They fail the scope for a proxy, whose value is unknown, with
 * torch.fx's message. A tensor has a length, and a truth value if it has one
 * element. cfx_items returns the number of items; *items is borrowed. */
CFX_API bool cfx_truth(cfx_scope *s, cfx_value v);
CFX_API int64_t cfx_len(cfx_scope *s, cfx_value v);
CFX_API size_t cfx_items(cfx_scope *s, cfx_value v, const cfx_value **items);
/* Python's `a, b = v`: n items into out. A proxy records n getitem calls. */
CFX_API void cfx_unpack(cfx_scope *s, cfx_value v, size_t n, cfx_value *out);

/* Arithmetic on int values, which may be symbolic. */
CFX_API cfx_value cfx_int_add(cfx_scope *s, cfx_value a, cfx_value b);
CFX_API cfx_value cfx_int_mul(cfx_scope *s, cfx_value a, cfx_value b);
CFX_API cfx_value cfx_int_floordiv(cfx_scope *s, cfx_value a, cfx_value b);

#if !defined(__cplusplus) && !defined(CFX_NO_PLACES)
#define cfx_call_function(s, ...) cfx_call_function(CFX_AT(s), __VA_ARGS__)
#define cfx_call_method(s, ...) cfx_call_method(CFX_AT(s), __VA_ARGS__)
#endif

CFX_END_DECLS

#endif
