/*
 * graph_impl.h -- what the files of this folder share. Not installed.
 *
 * Nodes lie in blocks and are never freed one by one. Everything that a node
 * points to is in the store, but its name, which belongs to the namespace.
 *
 * An edit first gets all the memory it needs, then changes what can no longer
 * fail.
 */
#ifndef CFX_GRAPH_IMPL_H
#define CFX_GRAPH_IMPL_H

#include <assert.h>
#include <stddef.h>

#include <cfx/graph.h>

#include "graph/names.h"
#include "graph/store.h"

typedef struct cfx_node_block cfx_node_block;
typedef struct cfx_hooks cfx_hooks;

struct cfx_graph {
    cfx_context *ctx;
    struct cfx_module *owner;
    cfx_node *first, *last;
    size_t len;
    uint32_t ids;
    cfx_insert_point point;
    cfx_node_block *blocks;  /* the newest first */
    cfx_names names;         /* with each its node, or NULL */
    cfx_store store;
    cfx_node **seen;         /* scratch of cfx_graph__find_inputs */
    size_t seen_len, seen_room;
    cfx_hooks *hooks;        /* the first that was added */
    unsigned calling;        /* hooks are being called */
    bool torn;               /* some were removed meanwhile */
    cfx_graph *queue;        /* the next of a list of graphs to look at */
    bool queued;
};

/* All that makes a node. */
typedef struct cfx_node_spec {
    cfx_opcode op;
    const char *target;
    const cfx_value *args, *kwargs;
    size_t nargs, nkwargs;
    const char *name, *type; /* may be NULL */
    cfx_value meta;          /* a dict or absent */
    /* What stands for a node: absent fails. NULL: nodes stay. */
    cfx_value (*map)(void *user, cfx_node *n);
    void *user;
    bool steady;             /* it edits nothing and gives the same again */
    bool again;              /* `name` is that of a node of another graph */
} cfx_node_spec;

/* Make one at the insert point; NULL on failure. */
cfx_node *cfx_graph__make(cfx_graph *g, const cfx_node_spec *spec,
                          cfx_error *err);

/* ---- order.c ---- */

/* Put n, which is in no list, before or after `at`; of NULL, the end is before
 * it, and the start after it. */
void cfx_graph__link(cfx_node *n, cfx_node *at, bool after);
/* Take n out of the list. It keeps its links. */
void cfx_graph__unlink(cfx_node *n);

/* ---- args.c ---- */

/* Copying arguments in: how nodes are translated, and for whom. */
typedef struct cfx_args_copy {
    cfx_graph *g;
    const char *of;          /* the node's name in messages */
    cfx_value (*map)(void *user, cfx_node *n);
    void *user;
    bool steady;
} cfx_args_copy;

cfx_status cfx_graph__copy_args(cfx_args_copy *to, cfx_value **out,
                                const cfx_value *v, size_t n, cfx_error *err);
/* Keys become strings of the store and must differ. n counts pairs. */
cfx_status cfx_graph__copy_kwargs(cfx_args_copy *to, cfx_value **out,
                                  const cfx_value *v, size_t n,
                                  cfx_error *err);
/* Copy what may hold no nodes. */
cfx_status cfx_graph__copy_meta(cfx_args_copy *to, cfx_value *out,
                                cfx_value v, cfx_error *err);

/* Is `n` an ordinary member of g? Else CFX_EGRAPH, in words about the
 * arguments of the node called `of`. */
cfx_status cfx_graph__check_input(const cfx_graph *g, const cfx_node *n,
                                  const char *of, cfx_error *err);

/* ---- uses.c ---- */

/* Find the distinct nodes in n's arguments, and room for them: in the array it
 * has, or in a new one if that is too small or a `fresh` one is asked for. */
cfx_status cfx_graph__find_inputs(cfx_node *n, bool fresh, cfx_use **room,
                                  cfx_error *err);
/* Make them n's inputs, each with n as its last user. */
void cfx_graph__take_inputs(cfx_node *n, cfx_use *room);
/* The same for a superset of its inputs, in a fresh array: n keeps its place
 * among the users of those it had. */
void cfx_graph__add_inputs(cfx_node *n, cfx_use *room);
/* n uses nothing any more, and has no array of inputs. */
void cfx_graph__drop_inputs(cfx_node *n);
/* Replace one input by another, in the arguments too. Needs no memory. */
void cfx_graph__swap_input(cfx_node *n, cfx_node *old, cfx_node *with);

/* ---- node_map.c ---- */

/* Give the map room for a node of its graph, so that setting it cannot fail. */
cfx_status cfx_node_map__reserve(cfx_node_map *map, const cfx_node *n,
                                 cfx_error *err);

/* ---- same.c ---- */

/* Do two nodes do the same, where `same` tells which nodes in the arguments
 * stand for each other? Names and meta do not count. */
typedef bool cfx_same_nodes(const void *user, const cfx_node *m,
                            const cfx_node *n);
bool cfx_node__same(const cfx_node *m, const cfx_node *n, cfx_same_nodes *same,
                    const void *user);

/* ---- hooks.c ---- */

typedef enum cfx_event {
    CFX_CREATED, CFX_ERASED, CFX_REPLACED
} cfx_event;

/* Tell those who watch. For CFX_REPLACED: what takes the place of n (NULL: it
 * is renamed), the name, and the user. */
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

/* What a graph does has changed: forget what was found. */
void cfx_graph__effects_changed(cfx_graph *g);
CFX_INLINE void cfx_graph__forget_effects(cfx_graph *g)
{
    if (g->owner)
        cfx_graph__effects_changed(g);
}

/* ---- node.c ---- */

/* Give back args, kwargs and inputs. */
void cfx_node__drop_args(cfx_node *n);

/* Rename a node; if it is the one made last, as if it had been made with that
 * name: the one it had is free again. */
cfx_status cfx_graph__rename_new(cfx_node *n, const char *candidate,
                                 cfx_error *err);

#endif
