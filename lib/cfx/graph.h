/*
 * cfx/graph.h -- Node and Graph, as torch.fx has them.
 *
 * A graph is an ordered list of nodes of six opcodes. A node has a unique
 * name, a target, args and kwargs (nested values in which nodes may stand), an
 * ordered set of users, and meta. The graph owns its nodes and all values in
 * their arguments; pointers to nodes stay valid until the graph is freed, also
 * after a node is erased. Every edit is O(1) in the number of nodes.
 *
 *     cfx_graph *g;
 *     cfx_graph_new(&g, ctx, &err);
 *     cfx_node *x = cfx_graph_placeholder(g, "x", &err);
 *     cfx_value args[] = {cfx_value_of_node(x)};
 *     cfx_node *y = cfx_graph_call_function(g, "torch.relu", args, 1, NULL, 0,
 *                                           &err);
 *     cfx_graph_output(g, cfx_value_of_node(y), &err);
 *
 * Functions that make nodes give NULL when they fail, and say why in err.
 * Values given to a graph are copied into it.
 */
#ifndef CFX_GRAPH_H
#define CFX_GRAPH_H

#include <cfx/value.h>

typedef enum cfx_opcode {
    CFX_PLACEHOLDER, CFX_GET_ATTR, CFX_CALL_FUNCTION, CFX_CALL_METHOD,
    CFX_CALL_MODULE, CFX_OUTPUT,
    CFX_NOPCODES
} cfx_opcode;

typedef struct cfx_graph cfx_graph;
typedef struct cfx_node cfx_node;
struct cfx_module;

/* One use of a node by another; private but for the iterators below. */
typedef struct cfx_use {
    cfx_node *input, *user;
    struct cfx_use *prev, *next; /* of the input's users */
} cfx_use;

/*
 * Read it freely; write it through functions only. What a walk needs comes
 * first, in one cache line. Pointers to arguments are good until the node is
 * edited.
 */
struct cfx_node {
    cfx_graph *graph;
    cfx_node *prev, *next;   /* private: use cfx_node_next */
    uint64_t order;          /* label: smaller comes earlier */
    const char *name;
    cfx_value target;        /* a str */
    uint32_t id;             /* below cfx_graph_ids(), unique in the graph */
    uint8_t op;              /* cfx_opcode */
    bool erased;
    cfx_value *args;
    cfx_value *kwargs;       /* key and value in turn */
    uint32_t nargs, nkwargs; /* a key and its value count as one */
    uint32_t ninputs, nusers;
    cfx_use *inputs;         /* distinct nodes in args, then kwargs */
    cfx_use *first_user, *last_user;
    cfx_value type;          /* type expression, a str; or absent */
    cfx_value meta;          /* a dict; or absent */
    uint32_t slot, room;     /* private */
};

CFX_BEGIN_DECLS

CFX_API extern const char *const cfx_opcode_names[CFX_NOPCODES];

/* ---- Graph ---- */

CFX_API cfx_status cfx_graph_new(cfx_graph **out, cfx_context *ctx,
                                 cfx_error *err);
CFX_API void cfx_graph_free(cfx_graph *g);
CFX_API cfx_context *cfx_graph_context(const cfx_graph *g);

/* The module that targets refer to; borrowed; may be NULL. */
CFX_API struct cfx_module *cfx_graph_owning_module(const cfx_graph *g);
CFX_API void cfx_graph_set_owning_module(cfx_graph *g, struct cfx_module *m);

/* Number of nodes; one more than the greatest id ever given. */
CFX_API size_t cfx_graph_len(const cfx_graph *g);
CFX_API uint32_t cfx_graph_ids(const cfx_graph *g);

/* First and last, then onwards; NULL at the end. A node may be erased, and
 * others inserted, while one walks: an erased node keeps its links. */
CFX_API cfx_node *cfx_graph_first(const cfx_graph *g);
CFX_API cfx_node *cfx_graph_last(const cfx_graph *g);
CFX_API cfx_node *cfx_node_next_(const cfx_node *n);
CFX_API cfx_node *cfx_node_prev_(const cfx_node *n);

CFX_INLINE cfx_node *cfx_node_next(const cfx_node *n)
{
    if (CFX_UNLIKELY(n->erased))
        return cfx_node_next_(n);
    return n->next->op < CFX_NOPCODES ? n->next : NULL;
}

CFX_INLINE cfx_node *cfx_node_prev(const cfx_node *n)
{
    if (CFX_UNLIKELY(n->erased))
        return cfx_node_prev_(n);
    return n->prev->op < CFX_NOPCODES ? n->prev : NULL;
}

/* The output node, or NULL. */
CFX_API cfx_node *cfx_graph_output_node(const cfx_graph *g);
/* By name, or NULL. O(1). */
CFX_API cfx_node *cfx_graph_find(const cfx_graph *g, const char *name);

/*
 * Where new nodes go; the previous insert point is returned, to restore. NULL
 * for `before`: the start of the graph; for `after`: its end. Each new node
 * goes directly before (after) n, so that several come out in order (in
 * reverse). If n is erased, its neighbour takes its place.
 */
typedef struct cfx_insert_point {
    cfx_node *node;          /* private */
    bool after;
} cfx_insert_point;
CFX_API cfx_insert_point cfx_graph_inserting_before(cfx_graph *g,
                                                    cfx_node *n);
CFX_API cfx_insert_point cfx_graph_inserting_after(cfx_graph *g, cfx_node *n);
CFX_API void cfx_graph_restore(cfx_graph *g, cfx_insert_point at);

/*
 * Make a node at the insert point. `name` NULL: made from the target by
 * torch.fx's rules; else the candidate, made unique. `type` NULL: none. Fails
 * with CFX_EGRAPH (a node of another graph among the arguments, an erased
 * one), CFX_EINVAL (empty target; absent values, keywords given twice, nodes
 * in the keys of dicts, more than CFX_MAX_DEPTH levels), CFX_ENOMEM.
 */
CFX_API cfx_node *cfx_graph_create_node(cfx_graph *g, cfx_opcode op,
                                        const char *target,
                                        const cfx_value *args, size_t nargs,
                                        const cfx_value *kwargs,
                                        size_t nkwargs, const char *name,
                                        const char *type, cfx_error *err);
CFX_API cfx_node *cfx_graph_placeholder(cfx_graph *g, const char *name,
                                        cfx_error *err);
CFX_API cfx_node *cfx_graph_get_attr(cfx_graph *g, const char *path,
                                     cfx_error *err);
CFX_API cfx_node *cfx_graph_call_function(cfx_graph *g, const char *target,
                                          const cfx_value *args, size_t nargs,
                                          const cfx_value *kwargs,
                                          size_t nkwargs, cfx_error *err);
CFX_API cfx_node *cfx_graph_call_method(cfx_graph *g, const char *method,
                                        const cfx_value *args, size_t nargs,
                                        const cfx_value *kwargs,
                                        size_t nkwargs, cfx_error *err);
CFX_API cfx_node *cfx_graph_call_module(cfx_graph *g, const char *path,
                                        const cfx_value *args, size_t nargs,
                                        const cfx_value *kwargs,
                                        size_t nkwargs, cfx_error *err);
CFX_API cfx_node *cfx_graph_output(cfx_graph *g, cfx_value result,
                                   cfx_error *err);

/* Copy a node, with its meta, to the insert point; map(user, n) gives the node
 * that stands for n there. `map` NULL: n itself does. NULL on failure, or when
 * map gives NULL (CFX_EGRAPH). */
CFX_API cfx_node *cfx_graph_node_copy(cfx_graph *g, const cfx_node *n,
                                      cfx_node *(*map)(void *user,
                                                       cfx_node *n),
                                      void *user, cfx_error *err);

/* A copy of a graph with the same names and no owning module. Fails with
 * CFX_EGRAPH for a node that is used before it is defined. */
CFX_API cfx_status cfx_graph_copy(cfx_graph **out, const cfx_graph *g,
                                  cfx_error *err);

/* Take a node out. Fails with CFX_EGRAPH and torch.fx's sentence while it has
 * users; erasing twice does nothing. The node loses its arguments, and keeps
 * its name (which is not given to another), target, type and meta. */
CFX_API cfx_status cfx_graph_erase_node(cfx_graph *g, cfx_node *n,
                                        cfx_error *err);

/* Check that the graph is well-formed, with torch.fx's sentences; with an
 * owning module also that targets exist. Fails with CFX_EGRAPH. */
CFX_API cfx_status cfx_graph_lint(const cfx_graph *g, cfx_error *err);

/* ---- Node ---- */

/* The i-th distinct input, in the order of args, then kwargs. */
CFX_INLINE cfx_node *cfx_node_input(const cfx_node *n, uint32_t i)
{
    return n->inputs[i].input;
}
/* Users in the order they came: for (u = n->first_user; u; u = u->next)
 * u->user. */

/* Does a come before b? O(1). */
CFX_INLINE bool cfx_node_before(const cfx_node *a, const cfx_node *b)
{
    return a->order < b->order;
}

/*
 * Edits. One that fails changes nothing. They fail as create_node does, and
 * with CFX_EGRAPH for an erased node. The time they take grows with the
 * arguments of the nodes they rewrite, and with nothing else. As in torch.fx,
 * a node whose arguments are rewritten becomes the last user of all its
 * inputs; insert_arg alone leaves it where it is.
 */
CFX_API cfx_status cfx_node_set_args(cfx_node *n, const cfx_value *args,
                                     size_t nargs, cfx_error *err);
CFX_API cfx_status cfx_node_set_kwargs(cfx_node *n, const cfx_value *kwargs,
                                       size_t nkwargs, cfx_error *err);
CFX_API cfx_status cfx_node_update_arg(cfx_node *n, size_t i, cfx_value v,
                                       cfx_error *err);
CFX_API cfx_status cfx_node_insert_arg(cfx_node *n, size_t i, cfx_value v,
                                       cfx_error *err);
CFX_API cfx_status cfx_node_update_kwarg(cfx_node *n, const char *key,
                                         cfx_value v, cfx_error *err);
CFX_API cfx_status cfx_node_set_target(cfx_node *n, const char *target,
                                       cfx_error *err);
CFX_API cfx_status cfx_node_set_type(cfx_node *n, const char *type,
                                     cfx_error *err);
CFX_API cfx_status cfx_node_set_op(cfx_node *n, cfx_opcode op,
                                   const char *target, cfx_error *err);
CFX_API cfx_status cfx_node_rename(cfx_node *n, const char *candidate,
                                   cfx_error *err);

/* Rewrite the uses of `old` in n; of n in all its users (or in those for
 * which keep(data, user) is true; it must not edit; NULL: all). Neither needs
 * memory. Fails with CFX_EGRAPH where `with` is erased or of another graph. */
CFX_API cfx_status cfx_node_replace_input_with(cfx_node *n, cfx_node *old,
                                               cfx_node *with,
                                               cfx_error *err);
CFX_API cfx_status cfx_node_replace_all_uses_with(
    cfx_node *n, cfx_node *with, bool (*keep)(void *data, cfx_node *user),
    void *data, cfx_error *err);

/* Move x directly before or after n. Fails with CFX_EGRAPH for nodes of
 * two graphs, or an erased one. */
CFX_API cfx_status cfx_node_prepend(cfx_node *n, cfx_node *x, cfx_error *err);
CFX_API cfx_status cfx_node_append(cfx_node *n, cfx_node *x, cfx_error *err);

/* Meta by key: a value copied into the graph; tensors are counted. An absent
 * value is what a missing key has, and what removes one. Meta holds no nodes
 * (CFX_EINVAL): nothing would keep them up to date. */
CFX_API cfx_value cfx_node_meta(const cfx_node *n, const char *key);
CFX_API cfx_status cfx_node_set_meta(cfx_node *n, const char *key,
                                     cfx_value v, cfx_error *err);

CFX_END_DECLS

#endif
