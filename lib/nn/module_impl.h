/*
 * module_impl.h -- the struct of a module. Not installed.
 */
#ifndef CFX_MODULE_IMPL_H
#define CFX_MODULE_IMPL_H

#include <cfx/module.h>

#include "base/util.h"

_Static_assert(CFX_MAX_PARAMS <= 32, "cfx_module.undecided has 32 bits");

struct cfx_module {
    int refs; /* one of them by the parent */
    bool training;
    bool bound;         /* attrs holds references */
    uint32_t undecided; /* a bit for each argument */
    cfx_context *ctx;
    const cfx_module_type *type;
    const cfx_schema *schema; /* of the constructor; NULL: a container */
    const cfx_schema *forward;
    const cfx_target *op; /* the operator type->op; or NULL */
    cfx_bound attrs;      /* the constructor's arguments */
    char *class_name, *name;
    size_t class_name_size, name_size;
    cfx_module *parent;
    size_t index; /* among the parent's children */
    cfx_module **child;
    size_t nchildren, child_cap;
    cfx_map children; /* once there are many */
    cfx_state *state;
    size_t nstate, state_cap;
    cfx_map states;          /* name -> index, once there are many */
    struct cfx_graph *graph; /* of a GraphModule */
    void (*free_graph)(struct cfx_graph *g);
    uint64_t effects;    /* cached for lib/graph; or 0 */
    bool used, all_used; /* marks of a sweep */
};

/* The type of containers. */
extern const cfx_module_type cfx_module__Module;

extern const cfx_module_type cfx_module__ParametrizationList;

/* Are parameters of the module computed from others? */
bool cfx_module__is_parametrized(const cfx_module *m);
/* The module that computes a parameter, or NULL. */
cfx_module *cfx_module__parametrization(const cfx_module *m, const char *name);
/* After the children are created: set the parameters that they compute to
 * None, and declare the tensors that they compute them from. */
cfx_status cfx_module__parametrize(cfx_module *m, cfx_error *err);
/* The X of ParametrizedX, a class that torch.nn.utils.parametrize derives from
 * X; any other name itself. */
const char *cfx_module__unparametrized(const char *name);
/* Is m the list of a parametrization, and `name` a tensor that it computes
 * from? */
bool cfx_module__takes_original(const cfx_module *m, const char *name);

/* For `init`: change a constructor argument; takes the value. */
void cfx_module__set_attr_take(cfx_module *m, const char *name, cfx_value v);

/* cfx_find_module_type with a status: CFX_ENAME or CFX_ENOMEM. */
cfx_status cfx_module_type__find(const cfx_module_type **out, cfx_context *ctx,
                                 const char *name, cfx_error *err);

/* Is it a built-in type? */
bool cfx_module_type__is_builtin(const cfx_module_type *type);

/* Bind the arguments of a call, and run the forward or the graph in a frame of
 * its own. *out is a new reference. */
cfx_status cfx_module__forward_unbound(cfx_scope *s, cfx_module *m,
                                       const cfx_unbound_call *c,
                                       cfx_value *out);

/* The call_module and get_attr of cfx_scope_base. */
cfx_status cfx_module__base_call(cfx_scope *s, cfx_module *m, const char *path,
                                 const cfx_value *in, cfx_value *out);
cfx_status cfx_module__get_attr(cfx_scope *s, cfx_module *m, const char *name,
                                cfx_value *out);
/* get_attr of a state of m. */
cfx_status cfx_module__fetch_state(cfx_scope *s, const cfx_module *m,
                                   const cfx_state *state, cfx_value *out);

/* Fail the scope if an undecided argument matters that the forward does not
 * check itself. */
bool cfx_module__is_decided_for(cfx_scope *s, const cfx_module *m);
/* Copy the decided arguments of `like`, of the same type. */
void cfx_module__decide_as(cfx_module *m, const cfx_module *like);
/* Decide arguments from weights, if all parameters of the module are
 * loaded. */
void cfx_module__decide_by_state(cfx_module *m);
/* Print the arguments with these bits as `name=default`, or `name=...` without
 * a default, separated by ", ". */
void cfx_module__put_defaults(cfx_buf *b, const cfx_schema *schema,
                              uint32_t bits);
/* Is the name in a space-separated list? NULL is an empty list. */
bool cfx_module__lists(const char *names, const char *name);

/* A copy of m without children, state and graph. */
cfx_status cfx_module__clone(cfx_module **out, const cfx_module *m,
                             cfx_error *err);
/* Add a parameter or buffer of another module, sharing its tensor; replaces
 * one of that name. */
cfx_status cfx_module__add_state(cfx_module *m, const cfx_state *s,
                                 cfx_error *err);

/* Remove the parameters and buffers for which `keeps` is false; returns their
 * number. */
size_t cfx_module__filter_state(cfx_module *m,
                                bool (*keeps)(void *user, const cfx_state *s),
                                void *user);

/* A child by the first `len` bytes of a name, or NULL. */
cfx_module *cfx_module__child_named(const cfx_module *m, const char *name,
                                    size_t len);
/* The parent module of a dotted path, and the last name; NULL if there is no
 * such module. */
cfx_module *cfx_module__owner(const cfx_module *m, const char *path,
                              const char **name);
/* Remove a module from its parent, and drop the parent's reference. */
void cfx_module__remove(cfx_module *m);
/* Move a child to another index. */
void cfx_module__place(cfx_module *m, size_t index);
/* Remove all children that are not marked `used`. */
void cfx_module__remove_unused(cfx_module *m);

/*
 * The cached effects of a call of the module, for lib/graph; 0: none, nor of
 * any ancestor. Before they are set, all descendants are marked as watched. An
 * edit of one clears the cache of its ancestors, up to the first without.
 * Setting the cache counts as reading: several threads may.
 */
#define CFX_MODULE_WATCHED ((uint64_t)1 << 63)
CFX_INLINE uint64_t cfx_module__effects(const cfx_module *m)
{
    return __atomic_load_n(&m->effects, __ATOMIC_RELAXED);
}
CFX_INLINE void cfx_module__watch(cfx_module *m)
{
    for (cfx_module *at = m; at; at = cfx_module_next(at, m))
        if (!cfx_module__effects(at))
            __atomic_fetch_or(&at->effects, CFX_MODULE_WATCHED,
                              __ATOMIC_RELAXED);
}
CFX_INLINE void cfx_module__keep_effects(cfx_module *m, uint64_t found)
{
    __atomic_store_n(&m->effects, found | CFX_MODULE_WATCHED,
                     __ATOMIC_RELAXED);
}
CFX_INLINE void cfx_module__forget_effects(cfx_module *m)
{
    for (; m && cfx_module__effects(m); m = m->parent)
        __atomic_store_n(&m->effects, 0, __ATOMIC_RELAXED);
}

/* The parsed schemas of a type. */
cfx_status cfx_module_type__schemas(cfx_context *ctx,
                                    const cfx_module_type *type,
                                    const cfx_schema **constructor,
                                    const cfx_schema **forward,
                                    cfx_error *err);

#endif
