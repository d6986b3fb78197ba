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

/* A call as it is written, before it is bound. */
typedef struct cfx_spelling {
    const char *name;         /* "torch.cat"; of a method "view" */
    bool method;
    const cfx_target *target; /* what the name stands for; of modules NULL */
    const cfx_value *args;
    const cfx_value *kwargs;  /* key and value in turn */
    size_t nargs, nkwargs;
} cfx_spelling;

/* What code may ask of a value that stands for another (a proxy). */
typedef enum cfx_question {
    CFX_ASK_META,  /* a tensor of its type and shape; absent: nobody knows */
    CFX_ASK_TRUTH, /* a bool */
    CFX_ASK_LEN,   /* an int */
    CFX_ASK_ITEMS  /* a tuple of what it iterates over */
} cfx_question;

/*
 * A class says what a call means. It is a constant table of hooks; an empty
 * hook is inherited from `super`. A derived struct has the super's struct
 * first; a hook chains up with CFX_SCOPE_SUPER, which names the class the hook
 * was written for.
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
 * cfx_scope_base knows modules, their parameters, and the graphs that modules
 * and operators call; it refuses calls of other operators. cfx_eager_class
 * computes them, cfx_meta_class propagates their shapes. Every class derives
 * from one of the three.
 *
 * A hook gives a new reference in *out, unless it says otherwise. One that
 * fails returns a status and leaves the message in s->error, which is
 * call->err.
 */
typedef struct cfx_scope_class cfx_scope_class;

/* The call of an operator whose op, schema and in are bound; the hook fills in
 * nothing else. */
typedef cfx_status cfx_op_hook(cfx_scope *s, cfx_call *call, cfx_value *out);

struct cfx_scope_class {
    size_t size; /* sizeof(cfx_scope_class) */
    const char *name;
    const cfx_scope_class *super;
    /* Calls give numbers, so parameters must have theirs. Inherited: true
     * where the super's is. */
    bool computes;

    /* The call of an operator, unless it is of higher order. */
    cfx_op_hook *call_op;
    /* The call of an operator of higher order, one that calls graphs (cond,
     * map). The base runs its call_graphs (cfx/op.h), and what that calls comes
     * to the other hooks. */
    cfx_op_hook *call_higher_order;
    /* The call of a module; `path` is its place below the module whose
     * forward runs ("fc1"), or NULL. `in` is bound by the forward's schema; of
     * a GraphModule it has one value a placeholder, absent for its default,
     * a tuple for `*args`, a dict for `**kwargs`. The base runs the forward. */
    cfx_status (*call_module)(cfx_scope *s, struct cfx_module *m,
                              const char *path, const cfx_value *in,
                              cfx_value *out);
    /* The call of a GraphModule, as a module or by an operator of higher
     * order: as it is written in `c`, or, where `c` is NULL, bound in `in` as
     * for call_module. The base hands the former to a class that has a
     * call_module of its own; else it walks the graph in this scope. */
    cfx_status (*call_graph)(cfx_scope *s, struct cfx_module *m,
                             const char *path, const cfx_spelling *c,
                             const cfx_value *in, cfx_value *out);
    /* A parameter or buffer of a module: for its forward, and for get_attr
     * nodes. *out is borrowed, from the module or from the scope
     * (cfx_scope_take). */
    cfx_status (*get_attr)(cfx_scope *s, struct cfx_module *m,
                           const char *name, cfx_value *out);

    /* For classes that write calls down. Where `spelled` is set, calls come
     * there as they are written, and neither call_op nor call_module sees
     * them; the three are set together. */
    cfx_status (*spelled)(cfx_scope *s, const cfx_spelling *c,
                          cfx_value *out);
    cfx_status (*spelled_module)(cfx_scope *s, struct cfx_module *m,
                                 const char *path, const cfx_spelling *c,
                                 cfx_value *out);
    /* Answer, or fail the scope. */
    cfx_status (*ask)(cfx_scope *s, cfx_question question, cfx_value v,
                      cfx_value *out);
};

/* Scopes of a class begin with this struct. */
struct cfx_scope {
    const cfx_scope_class *cls;
    cfx_scope_class hook;        /* private: cls, with what it inherits */
    cfx_context *ctx;
    cfx_shape_env *env;          /* NULL in an eager scope */
    const struct cfx_node *node; /* being run; may be NULL */
    cfx_error error;             /* the first */
    cfx_value *values;           /* owned, frames on end */
    size_t nvalues, cap;
    int depth;
    /* The place in the program of the last call; NULL if none was given. */
    const char *file, *function;
    int line;
    /* Undecided arguments of modules (cfx/module.h) count as their default:
     * for scopes whose results do not depend on them. */
    bool any_arguments;
    struct cfx_walks *walks;     /* private: graphs that were called here */
};

CFX_BEGIN_DECLS

/*
 * Places. In C, the functions of operators and modules are macros around
 * themselves that leave in the scope where they stand; a tracing scope keeps
 * that with each node. CFX_AT(s) is `s`, and does the same for other calls.
 * Programs that define CFX_NO_PLACES, and C++, do without.
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

/* The hook that `CLASS`'s super has, its own or inherited. */
#define CFX_SCOPE_SUPER(class_, hook) \
    (cfx_scope_class_with((class_)->super, \
        offsetof(cfx_scope_class, hook))->hook)
/* The nearest class, from cls upwards, whose hook at that offset is set. */
CFX_API const cfx_scope_class *cfx_scope_class_with(
    const cfx_scope_class *cls, size_t offset);

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
CFX_API cfx_value cfx_scope_take(cfx_scope *s, cfx_value v);

/* Frames: what was made since cfx_scope_enter is given back, but for
 * `result`, which the frame around it then owns. */
CFX_API size_t cfx_scope_enter(cfx_scope *s);
CFX_API cfx_value cfx_scope_leave(cfx_scope *s, size_t frame,
                                  cfx_value result);

/* End the life of a value early; sets *v to None. Does nothing to a value
 * that this frame does not own. */
CFX_API void cfx_scope_drop(cfx_scope *s, cfx_value *v);

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

/*
 * How that call is written, where it is written down: the name into buf (as
 * snprintf; 0: it has none), and whether it is a method's. It is the first of
 * the operator's aliases that begins with "torch.", else the first of all;
 * "Tensor.x" is the method x. An operator without aliases has the names of its
 * variants. In place it is the method "x_" of the first "Tensor.x" among the
 * aliases, else the first "torch." name that writes. Required arguments are
 * positional, others that are given are keywords by the schema's names, in its
 * order, and absent ones do not appear.
 */
CFX_API size_t cfx_op_spelling(const cfx_op *op, bool inplace, bool *method,
                               char *buf, size_t size);

/* Call a function or method by name, as a graph would. */
CFX_API cfx_value cfx_call_function(cfx_scope *s, const char *target,
                                    cfx_args args);
CFX_API cfx_value cfx_call_method(cfx_scope *s, const char *name,
                                  cfx_args args);

/* The same with a target that was looked up; status and out as in hooks, for
 * interpreters. Unbound: binds first. */
CFX_API cfx_status cfx_scope_call_target(cfx_scope *s,
                                         const cfx_target *target,
                                         cfx_args args, cfx_value *out);

/* For operators of higher order: call the graph that is parameter k of `call`,
 * with `n` positional arguments. Status and out as in hooks. */
CFX_API cfx_status cfx_scope_call_graph(cfx_scope *s, cfx_call *call, int k,
                                        const cfx_value *args, size_t n,
                                        cfx_value *out);

/* Lists and tuples that the scope owns: in C, cfx_list(s, a, b, c). */
CFX_API cfx_value cfx_list_of(cfx_scope *s, cfx_kind kind, size_t n,
                              const cfx_value *items);
#ifndef __cplusplus
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

/* Extent `axis` of a tensor (negative from the end) as an int value; of a
 * proxy the call of `size`. */
CFX_API cfx_value cfx_size(cfx_scope *s, cfx_value x, int64_t axis);
/* Its rank. Fails the scope where that is not known (a bare proxy). */
CFX_API int cfx_rank(cfx_scope *s, cfx_value x);

/* The tensor that x is, or a meta of its type and shape; NULL, and no failure,
 * where that is not known (a bare proxy, no tensor). Borrowed. For checks that
 * may be left out, and for rules that go by the dtype. */
CFX_API const cfx_tensor *cfx_meta_of(cfx_scope *s, cfx_value x);

/* Python's bool(v), len(v) and iteration, for numbers, strings, tuples, lists
 * and dicts. They fail the scope for a proxy, of which only a run could tell,
 * in torch.fx's words; of a tensor only the length is told, and the truth of
 * one number. cfx_items gives how many there are, and *items is borrowed. */
CFX_API bool cfx_truth(cfx_scope *s, cfx_value v);
CFX_API int64_t cfx_len(cfx_scope *s, cfx_value v);
CFX_API size_t cfx_items(cfx_scope *s, cfx_value v, const cfx_value **items);
/* Python's `a, b = v`: n items into out. Of a proxy, n times getitem. */
CFX_API void cfx_unpack(cfx_scope *s, cfx_value v, size_t n, cfx_value *out);

/* Arithmetic on int values that may be symbolic. */
CFX_API cfx_value cfx_int_add(cfx_scope *s, cfx_value a, cfx_value b);
CFX_API cfx_value cfx_int_mul(cfx_scope *s, cfx_value a, cfx_value b);
CFX_API cfx_value cfx_int_floordiv(cfx_scope *s, cfx_value a, cfx_value b);

#if !defined(__cplusplus) && !defined(CFX_NO_PLACES)
#define cfx_call_function(s, ...) cfx_call_function(CFX_AT(s), __VA_ARGS__)
#define cfx_call_method(s, ...) cfx_call_method(CFX_AT(s), __VA_ARGS__)
#endif

CFX_END_DECLS

#endif
