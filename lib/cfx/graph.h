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
 *     cfx_node *y = cfx_graph_call_function(
 *         g, "torch.relu", CFX_ARGS(cfx_value_of_node(x)), &err);
 *     cfx_graph_output(g, cfx_value_of_node(y), &err);
 *
 * Functions that make nodes give NULL when they fail, and say why in err.
 * Values given to a graph are copied into it.
 */
#ifndef CFX_GRAPH_H
#define CFX_GRAPH_H

#include <cfx/effects.h>
#include <cfx/value.h>

typedef enum cfx_opcode {
    CFX_PLACEHOLDER, CFX_GET_ATTR, CFX_CALL_FUNCTION, CFX_CALL_METHOD,
    CFX_CALL_MODULE, CFX_OUTPUT,
    CFX_NOPCODES
} cfx_opcode;

typedef struct cfx_graph cfx_graph;
typedef struct cfx_node cfx_node;
struct cfx_call;
struct cfx_module;

/* One use of a node by another; private but for the iterators below. Of the
 * first user of a node, prev is the last. */
typedef struct cfx_use {
    cfx_node *input, *user;
    struct cfx_use *prev, *next; /* of the input's users */
} cfx_use;

/*
 * Read it freely; write it through functions only. Pointers to arguments are
 * good until the node is edited. Walk with cfx_node_next and cfx_node_prev:
 * `next` and `prev` may lead to erased nodes.
 */
struct cfx_node {
    uint32_t id;             /* below cfx_graph_ids(), unique in the graph */
    uint8_t op;              /* cfx_opcode */
    bool erased;
    cfx_node *next, *prev;   /* private */
    uint64_t order;          /* label: smaller comes earlier */
    cfx_graph *graph;
    const char *name;
    cfx_value target;        /* a str */
    cfx_use *inputs;         /* distinct nodes in args, then kwargs */
    uint32_t ninputs, nusers;
    cfx_value *args;
    cfx_value *kwargs;       /* key and value in turn */
    uint32_t nargs, nkwargs; /* a key and its value count as one */
    cfx_use *first_user;
    cfx_string *type;        /* type expression, or NULL */
    cfx_value meta;          /* a dict; or absent */
    uint32_t slot, room;     /* private */
};

CFX_BEGIN_DECLS

CFX_API extern const char *const cfx_opcode_names[CFX_NOPCODES];

/* Does it call a function, a method or a module? */
CFX_INLINE bool cfx_node_is_call(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD ||
           n->op == CFX_CALL_MODULE;
}

/*
 * Is the node a call of an operator, as function or method, whatever spelling
 * of torch, operator or ATen it has? `name` is the operator's in ATen ("relu",
 * "add", "conv2d"), or any of its names ("torch.relu", "operator.add",
 * "aten.relu.default"). The spelling that writes is another: "relu_". Of a name
 * with several operators (operator.add of tensors, of numbers, of lists) any
 * will do. A target that is not registered has its own name alone. A module is
 * not an operator: false.
 *
 *     if (cfx_node_is(n, "relu")) ...
 */
CFX_API bool cfx_node_is(const cfx_node *n, const char *name);
/* Is the call that a hook was given one of that operator? Names are those of
 * cfx_node_is. The call's target may be another than its node's. */
CFX_API bool cfx_call_is(const struct cfx_call *call, const char *name);

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

/*
 * First and last, then onwards; NULL at the end. A node may be erased, and
 * others inserted, while one walks: an erased node keeps its links, and leads
 * to the neighbours it had, wherever these have been moved since.
 *
 *     for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
 */
CFX_API cfx_node *cfx_graph_first(const cfx_graph *g);
CFX_API cfx_node *cfx_graph_last(const cfx_graph *g);
CFX_INLINE cfx_node *cfx_node_next(const cfx_node *n)
{
    cfx_node *next = n->next;
    while (next && next->erased)
        next = next->next;
    return next;
}
CFX_INLINE cfx_node *cfx_node_prev(const cfx_node *n)
{
    cfx_node *prev = n->prev;
    while (prev && prev->erased)
        prev = prev->prev;
    return prev;
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
 * cfx_graph_get_attr and cfx_graph_call_module warn where the owning module
 * lacks the target.
 */
CFX_API cfx_node *cfx_graph_create_node(cfx_graph *g, cfx_opcode op,
                                        const char *target, cfx_args args,
                                        const char *name, const char *type,
                                        cfx_error *err);
CFX_API cfx_node *cfx_graph_placeholder(cfx_graph *g, const char *name,
                                        cfx_error *err);
CFX_API cfx_node *cfx_graph_get_attr(cfx_graph *g, const char *path,
                                     cfx_error *err);
CFX_API cfx_node *cfx_graph_call_function(cfx_graph *g, const char *target,
                                          cfx_args args, cfx_error *err);
CFX_API cfx_node *cfx_graph_call_method(cfx_graph *g, const char *method,
                                        cfx_args args, cfx_error *err);
CFX_API cfx_node *cfx_graph_call_module(cfx_graph *g, const char *path,
                                        cfx_args args, cfx_error *err);
CFX_API cfx_node *cfx_graph_output(cfx_graph *g, cfx_value result,
                                   cfx_error *err);

/* Copy a node, with its meta, to the insert point; map(user, n) gives the node
 * that stands for n there. `map` NULL: n itself does. NULL on failure, or when
 * map gives NULL (CFX_EGRAPH). */
CFX_API cfx_node *cfx_graph_node_copy(cfx_graph *g, const cfx_node *n,
                                      cfx_node *(*map)(void *user,
                                                       cfx_node *n),
                                      void *user, cfx_error *err);

/* A copy of a graph, with the same names, ids and meta, and no owning module;
 * it is not watched by hooks. Fails with CFX_EGRAPH for a node that is used
 * before it is defined. */
CFX_API cfx_status cfx_graph_copy(cfx_graph **out, const cfx_graph *g,
                                  cfx_error *err);

/*
 * Copy the nodes of another graph to the insert point, as torch.fx's
 * graph_copy: all in their order, but those that `map` already has a value
 * for, which stands in their place (a placeholder is thus bound to what it is
 * called with: a node, a literal, a tuple of both), and but the output. `map`
 * gets the copies; NULL where nobody wants them. *output is what the output
 * node gives, in terms of `to`: a new reference, good while both graphs live;
 * absent where there is none; `output` may be NULL. It need not be the last
 * node (torch.fx leaves out what comes after it). Behind an insert point of
 * cfx_graph_inserting_after, too, the nodes come in their order (in torch.fx:
 * reversed). `to` and `from` may be one graph: what it had is copied. On
 * failure neither `to` nor `map` has changed. Fails as create_node does, and
 * with CFX_EGRAPH for a node that is used before it is defined.
 */
typedef struct cfx_node_map cfx_node_map;
CFX_API cfx_status cfx_graph_insert_graph(cfx_graph *to,
                                          const cfx_graph *from,
                                          cfx_node_map *map,
                                          cfx_value *output, cfx_error *err);

/* Copy one node in that way: its inputs must be in the map, which gets it. */
CFX_API cfx_node *cfx_graph_node_copy_mapped(cfx_graph *g, const cfx_node *n,
                                             cfx_node_map *map,
                                             cfx_error *err);

/* Take a node out. Fails with CFX_EGRAPH and torch.fx's sentence while it has
 * users; erasing twice only warns. The node loses its arguments, and keeps
 * its name (which is not given to another), target, type and meta. */
CFX_API cfx_status cfx_graph_erase_node(cfx_graph *g, cfx_node *n,
                                        cfx_error *err);

/* Check that the graph is well-formed, with torch.fx's sentences; with an
 * owning module also that targets exist. Fails with CFX_EGRAPH. */
CFX_API cfx_status cfx_graph_lint(const cfx_graph *g, cfx_error *err);

/*
 * Find nodes by opcode and target (NULL: any), one after the other: the first
 * in the order of the graph that comes after `after` (NULL: from the start), or
 * NULL. To visit all of them takes one walk; where no node has the target, no
 * time. The node found may be erased, or others inserted, before going on.
 *
 *     for (n = NULL; (n = cfx_graph_find_nodes(g, CFX_CALL_FUNCTION,
 *                                              "torch.relu", n));)
 */
CFX_API cfx_node *cfx_graph_find_nodes(const cfx_graph *g, cfx_opcode op,
                                       const char *target,
                                       const cfx_node *after);

/*
 * Erase what nobody uses and what has no effect, as torch.fx's
 * eliminate_dead_code: lint, then one sweep from the end. Placeholders and
 * outputs stay, also where `is_impure` says otherwise. Unlike torch.fx's,
 * which does not look at them, methods that write (x.relu_()) and modules that
 * change their state, draw random numbers or write to their input stay; so do
 * calls that fit no signature of their operator. Functions that are not
 * registered are dropped, as in torch.fx, unless they are spelled as those that
 * write (`f_`, out=). Graphs that get_attr and call_module nodes name, at
 * whatever path (torch.fx: direct children that get_attr nodes name), are swept
 * too, each once. *nerased, if not NULL, is the number of nodes erased. Fails
 * with CFX_EGRAPH as cfx_graph_lint, CFX_ENOMEM; what was erased before stays
 * so.
 */
typedef struct cfx_dce_options {
    size_t size;             /* sizeof(cfx_dce_options) */
    /* In place of cfx_node_is_impure; not asked of nodes with users. */
    bool (*is_impure)(void *user, const cfx_node *n);
    void *user;
    bool drop_random;        /* torch.fx's impure_random=False */
    bool keep_children;      /* this graph alone */
} cfx_dce_options;
CFX_API cfx_status cfx_graph_eliminate_dead_code(cfx_graph *g,
                                                 const cfx_dce_options *o,
                                                 size_t *nerased,
                                                 cfx_error *err);

/*
 * Hooks: told of what happens to a graph. `created` comes after the node is in
 * its place, `erased` before the node is taken out, `replaced` before `user`
 * has `with` in place of `old`, and, as in torch.fx, for each user of a node
 * that is renamed, with the new name and `with` NULL. They may read the graph
 * and add or remove hooks, but not edit it. Several may watch one graph, and
 * are called in the order they came. Copies of the graph are not watched:
 * torch.fx's deep copy of a GraphModule takes the hooks along, which then share
 * their data with the original; who wants that adds them to the copy.
 */
typedef struct cfx_graph_hooks {
    size_t size;             /* sizeof(cfx_graph_hooks) */
    void (*created)(void *data, cfx_node *n);
    void (*erased)(void *data, cfx_node *n);
    void (*replaced)(void *data, cfx_node *old, cfx_node *with,
                     const char *name, cfx_node *user);
} cfx_graph_hooks;
/* `hooks` must stay as long as it watches. */
CFX_API cfx_status cfx_graph_add_hooks(cfx_graph *g,
                                       const cfx_graph_hooks *hooks,
                                       void *data, cfx_error *err);
/* The last pair of these that was added, if any. */
CFX_API void cfx_graph_remove_hooks(cfx_graph *g, const cfx_graph_hooks *hooks,
                                    void *data);

/*
 * Are two graphs the same program? As many nodes, in the same order, of the
 * same opcodes, targets and types, with equal arguments (cfx_value_equal), in
 * which the i-th node of one stands for the i-th of the other. Names and meta
 * do not count. Tensors among the arguments are compared by identity. Fails
 * with CFX_ENOMEM, and with CFX_EGRAPH where a node is used before it is
 * defined.
 */
CFX_API cfx_status cfx_graph_equal(bool *equal, const cfx_graph *a,
                                   const cfx_graph *b, cfx_error *err);

/* ---- A map from the nodes of one graph to values ---- */

/*
 * Dense by id: asking is an array access, and memory is 16 bytes for each id of
 * the graph. Values are counted (cfx_value_ref), nodes borrowed. A map may be
 * used while the graph gets new nodes.
 *
 *     cfx_node_map map;
 *     cfx_node_map_init(&map, from);
 *     cfx_node_map_set(&map, x, cfx_value_of_node(y), &err);
 *     cfx_graph_insert_graph(to, from, &map, &out, &err);
 *     cfx_node_map_release(&map);
 */
struct cfx_node_map {
    const cfx_graph *graph;
    cfx_value *value;        /* private */
    uint32_t room;
};

CFX_API void cfx_node_map_init(cfx_node_map *map, const cfx_graph *g);
/* A zeroed or released one is allowed. */
CFX_API void cfx_node_map_release(cfx_node_map *map);
/* Absent: take the node out, which never fails. Else fails with CFX_EGRAPH for
 * a node of another graph, CFX_ENOMEM. */
CFX_API cfx_status cfx_node_map_set(cfx_node_map *map, const cfx_node *n,
                                    cfx_value v, cfx_error *err);
/* Absent where there is none; of another graph, too. Borrowed. */
CFX_INLINE cfx_value cfx_node_map_get(const cfx_node_map *map,
                                      const cfx_node *n)
{
    return n->graph == map->graph && n->id < map->room ? map->value[n->id]
                                                       : CFX_NOTHING;
}
/* The node that stands for n, or NULL. */
CFX_INLINE cfx_node *cfx_node_map_node(const cfx_node_map *map,
                                       const cfx_node *n)
{
    cfx_value v = cfx_node_map_get(map, n);
    return v.kind == CFX_NODE ? v.u.node : NULL;
}
/* A copy of v with what stands for the nodes in it: a new reference. Fails with
 * CFX_EGRAPH for a node that is not in the map, CFX_ENOMEM. */
CFX_API cfx_status cfx_node_map_value(cfx_value *out, const cfx_node_map *map,
                                      cfx_value v, cfx_error *err);

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

/* The same, with what torch.fx's takes and gives besides: `changed` is called
 * for each user when it was rewritten, and must not edit either;
 * propagate_meta copies n's meta to `with`, which may have none (CFX_EINVAL).
 * *nchanged is the number of users rewritten. NULL and false: without. */
typedef struct cfx_replace_options {
    size_t size;             /* sizeof(cfx_replace_options) */
    bool (*keep)(void *data, cfx_node *user);
    void (*changed)(void *data, cfx_node *user);
    void *data;
    bool propagate_meta;
} cfx_replace_options;
CFX_API cfx_status cfx_node_replace_all_uses(cfx_node *n, cfx_node *with,
                                             const cfx_replace_options *o,
                                             size_t *nchanged,
                                             cfx_error *err);

/* Move x directly before or after n. Fails with CFX_EGRAPH for nodes of
 * two graphs, or an erased one. */
CFX_API cfx_status cfx_node_prepend(cfx_node *n, cfx_node *x, cfx_error *err);
CFX_API cfx_status cfx_node_append(cfx_node *n, cfx_node *x, cfx_error *err);

/*
 * What the node does besides computing its result. A call is bound by its
 * schema, a method as a method of Tensor; where several signatures take it
 * (nodes may be numbers or tensors), it is what any of them does. Of a module
 * it follows from its `forward`, and is found once for its configuration; of a
 * GraphModule from the nodes of its graph, as it is of graphs that a call is
 * given (cond). An operator that is not registered is taken for a function
 * whose result may be a view of any argument, which writes to `out`, and, if
 * its name ends in one `_`, to the first; where arguments fit no signature, and
 * where a forward cannot be followed, the worst is assumed. Placeholders,
 * get_attr and output nodes do nothing. Fails with CFX_ENAME for a module that
 * is not there, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_node_effects(const cfx_node *n, cfx_effects *out,
                                    cfx_error *err);

/* May it not be erased although it has no users? Placeholders, outputs, and
 * what writes, is random or has an effect. */
CFX_API cfx_status cfx_node_is_impure(const cfx_node *n, bool *out,
                                      cfx_error *err);

/*
 * The arguments by the signature of what is called, with defaults filled in: a
 * tuple of as many as the node has positional ones, and a dict of the others,
 * by the names they have in Python; with only_kwargs, all of them. Both are new
 * references, good until the node is edited, and absent (torch.fx's None) where
 * no signature takes the call. Of several signatures it is the first that does;
 * torch.fx's fails there, and knows no methods. A number that stands for a
 * list (int[2]) is written as a tuple.
 * Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_node_normalized_arguments(const cfx_node *n,
                                                 bool only_kwargs,
                                                 cfx_value *args,
                                                 cfx_value *kwargs,
                                                 cfx_error *err);

/*
 * n takes the place of `from`, perhaps of several in turn: give it what meta
 * knows of where `from` came from. Keys that n has already stay as they are:
 * stack_trace, nn_module_stack, source_fn_stack, torch_fn, original_aten,
 * recompute, ac_graph_id, seq_nr, custom, quantization_tag, partitioner_tag.
 * `from_node`, a list of names, gets those of `from`'s, or the name of `from`
 * where it has none: the nodes of the first graph that n stands for. What
 * belongs to a value (tensor_meta, val, ...) is not inherited. Fails with
 * CFX_ENOMEM; then n has inherited some keys.
 */
CFX_API cfx_status cfx_node_inherit(cfx_node *n, const cfx_node *from,
                                    cfx_error *err);

/* Meta by key: a value copied into the graph; tensors are counted. An absent
 * value is what a missing key has, and what removes one. Meta holds no nodes
 * (CFX_EINVAL): nothing would keep them up to date. */
CFX_API cfx_value cfx_node_meta(const cfx_node *n, const char *key);
CFX_API cfx_status cfx_node_set_meta(cfx_node *n, const char *key,
                                     cfx_value v, cfx_error *err);

CFX_END_DECLS

#endif
