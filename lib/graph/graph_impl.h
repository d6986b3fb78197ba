/*
 * graph_impl.h -- internals shared in this folder. Not installed.
 *
 * Nodes lie in blocks and are never freed one by one. The store holds all that
 * a node points to, except the name, which belongs to the namespace.
 *
 * An edit first allocates all its memory, and then cannot fail.
 */
#ifndef CFX_GRAPH_IMPL_H
#define CFX_GRAPH_IMPL_H

#include <assert.h>
#include <stddef.h>

#include <cfx/graph.h>

#include "base/util.h"
#include "graph/names.h"
#include "graph/store.h"
#include "nn/module_impl.h"

typedef struct cfx_node_block cfx_node_block;
typedef struct cfx_hooks cfx_hooks;

struct cfx_graph {
    cfx_context *ctx;
    struct cfx_module *owner;
    cfx_node *first, *last;
    size_t len;
    uint32_t ids;
    cfx_insert_point point;
    cfx_node_block *blocks; /* the newest first */
    cfx_names names;        /* the user pointer of a name is its node, or
                                NULL */
    cfx_store store;
    cfx_node **seen; /* scratch of cfx_graph__find_inputs */
    size_t seen_len, seen_cap;
    cfx_hooks *hooks;   /* the first that was added */
    unsigned calling;   /* hooks are being called */
    bool hooks_removed; /* some were removed meanwhile */
    cfx_graph *queue;   /* the next in a list of graphs to visit */
    bool queued;
};

/* The contents of a new node. */
typedef struct cfx_node_spec {
    cfx_opcode op;
    const char *target;
    const cfx_value *args, *kwargs;
    size_t nargs, nkwargs;
    const char *name, *type; /* may be NULL */
    cfx_value meta;          /* a dict or absent */
    /* Maps nodes in arguments; absent fails. NULL: nodes are kept. */
    cfx_value (*map)(void *user, cfx_node *n);
    void *user;
    bool map_is_pure;      /* no side effects; deterministic */
    bool from_other_graph; /* `name` comes from another graph */
} cfx_node_spec;

/* Create a node at the insert point; NULL on failure. */
cfx_node *cfx_graph__make(cfx_graph *g, const cfx_node_spec *spec,
                          cfx_error *err);

/* ---- Walks over all nodes ---- */

/*
 * A walk that does little with a node waits for memory, unless it prefetches
 * what nodes further on point to. A second walk finds those nodes,
 * CFX_NODES_AHEAD nodes ahead. It must not wait either, so it prefetches nodes
 * further on by their address: most nodes follow each other in a block. A wrong
 * guess costs time only.
 */
enum { CFX_NODES_AHEAD = 32, CFX_NODES_FOLLOW = 32 };

/* Prefetch a node that likely comes `distance` nodes after n (negative: before
 * it). */
CFX_INLINE void cfx_node__prefetch_near(const cfx_node *n, ptrdiff_t distance)
{
    CFX_PREFETCH(
        (const char *)((uintptr_t)n + (uintptr_t)distance * sizeof(*n)));
}

/* Prefetch what n points to, too. */
CFX_INLINE void cfx_node__prefetch(const cfx_node *n, ptrdiff_t distance)
{
    CFX_PREFETCH(n->name - sizeof(void *));
    CFX_PREFETCH(n->inputs);
    cfx_node__prefetch_near(n, distance);
}

/* ---- order.c ---- */

/* Insert n, which is unlinked, before or after `at`: before NULL is the end,
 * after NULL the start. */
void cfx_graph__link(cfx_node *n, cfx_node *at, bool after);
/* Unlink n. It keeps its own links. */
void cfx_graph__unlink(cfx_node *n);

/* ---- args.c ---- */

/* The parameters of copying arguments into a node. */
typedef struct cfx_args_copy {
    cfx_graph *g;
    const char *of; /* the node's name in messages */
    cfx_value (*map)(void *user, cfx_node *n);
    void *user;
    bool map_is_pure;
} cfx_args_copy;

cfx_status cfx_graph__copy_args(cfx_args_copy *to, cfx_value **out,
                                const cfx_value *v, size_t n, cfx_error *err);
/* Fail with CFX_EINVAL if a node cannot have n keywords. */
cfx_status cfx_graph__check_nkwargs(size_t n, cfx_error *err);
/* Keys become strings of the store and must differ. n counts pairs. */
cfx_status cfx_graph__copy_kwargs(cfx_args_copy *to, cfx_value **out,
                                  const cfx_value *v, size_t n,
                                  cfx_error *err);
/* Copy a value that may hold no nodes. */
cfx_status cfx_graph__copy_meta(cfx_args_copy *to, cfx_value *out, cfx_value v,
                                cfx_error *err);

/* Fail with CFX_EGRAPH unless `n` is a node of g; the message names the node
 * `of` that uses it. */
cfx_status cfx_graph__check_input(const cfx_graph *g, const cfx_node *n,
                                  const char *of, cfx_error *err);

/* ---- uses.c ---- */

/* Collect the distinct nodes in n's arguments into an array: the present one,
 * or a new one if that is too small or `fresh` is set. */
cfx_status cfx_graph__find_inputs(cfx_node *n, bool fresh, cfx_use **inputs,
                                  cfx_error *err);
/* Make them n's inputs, each with n as its last user. */
void cfx_graph__take_inputs(cfx_node *n, cfx_use *inputs);
/* Like cfx_graph__take_inputs, for a superset of the inputs, in a fresh array:
 * n keeps its position among the users of old inputs. */
void cfx_graph__add_inputs(cfx_node *n, cfx_use *inputs);
/* Free an array from cfx_graph__find_inputs; NULL is allowed. */
void cfx_graph__free_uses(cfx_graph *g, cfx_use *uses);
/* Clear the inputs of n. */
void cfx_graph__drop_inputs(cfx_node *n);
/* Replace one input by another, in the arguments, too. Does not allocate. */
void cfx_graph__swap_input(cfx_node *n, cfx_node *old, cfx_node *with);

/* ---- node_map.c ---- */

/* Reserve space for a node of the map's graph, so that setting it cannot
 * fail. */
cfx_status cfx_node_map__reserve(cfx_node_map *map, const cfx_node *n,
                                 cfx_error *err);

/* ---- same.c ---- */

/* Are two nodes equal, where `same` compares the nodes in their arguments?
 * Names and meta are not compared. */
typedef bool cfx_same_nodes(const void *user, const cfx_node *m,
                            const cfx_node *n);
bool cfx_node__same(const cfx_node *m, const cfx_node *n, cfx_same_nodes *same,
                    const void *user);

/* ---- hooks.c ---- */

typedef enum cfx_event { CFX_CREATED, CFX_ERASED, CFX_REPLACED } cfx_event;

/* Call the hooks. For CFX_REPLACED: the replacement of n (NULL: it is
 * renamed), the name and the user. */
void cfx_graph__call_hooks(cfx_event event, cfx_node *n, cfx_node *with,
                           const char *name, cfx_node *user);
CFX_INLINE void cfx_graph__tell(cfx_event event, cfx_node *n)
{
    if (CFX_UNLIKELY(n->graph->hooks != NULL))
        cfx_graph__call_hooks(event, n, NULL, NULL, NULL);
}
CFX_INLINE void cfx_graph__tell_replaced(cfx_node *old, cfx_node *with,
                                         cfx_node *user)
{
    if (CFX_UNLIKELY(old->graph->hooks != NULL))
        cfx_graph__call_hooks(CFX_REPLACED, old, with, with->name, user);
}
void cfx_graph__free_hooks(cfx_graph *g);

/* ---- effects.c ---- */

/* Invalidate the cached effects of a graph. */
CFX_INLINE void cfx_graph__forget_effects(cfx_graph *g)
{
    cfx_module__forget_effects(g->owner);
}

/* ---- node.c ---- */

/* Release args, kwargs and inputs. */
void cfx_node__drop_args(cfx_node *n);

/* Rename a node. If it is the newest, its old name becomes free again. */
cfx_status cfx_graph__rename_new(cfx_node *n, const char *candidate,
                                 cfx_error *err);

/* Give n a name that an erased node had; does nothing if it is not free. */
void cfx_node__take_free_name(cfx_node *n, const char *name);

/* ---- What passes ask of nodes ---- */

CFX_INLINE cfx_node *cfx_value__node(cfx_value v)
{
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* Argument i, if it is a node. */
CFX_INLINE cfx_node *cfx_node__arg(const cfx_node *n, uint32_t i)
{
    return i < n->nargs ? cfx_value__node(n->args[i]) : NULL;
}

/* The registered overloads of a call of a function or method; NULL: there is none. */
const cfx_target *cfx_node__targets(const cfx_node *n);

/* Has one of these overloads a flag of CFX_OP_*? */
bool cfx_node__has_flag(const cfx_node *n, uint32_t flag);

/* Return what shape propagation or a tracer recorded about a node's value: meta
 * "val", "tensor_meta" or "example_value"; absent or NULL if there is none. */
cfx_value cfx_node__known(const cfx_node *n);
const cfx_tensor *cfx_node__known_tensor(const cfx_node *n);
/* Remove it, since the value is another one. Fails with CFX_ENOMEM. */
cfx_status cfx_node__forget_known(cfx_node *n, cfx_error *err);

/* Copy provenance, type and facts about the value (tensor_meta, val) to the node that
 * replaces `from`. */
cfx_status cfx_node__keep_meta(cfx_node *to, const cfx_node *from,
                               cfx_error *err);

#endif
