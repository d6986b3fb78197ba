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
 * Functions that create nodes return NULL on failure and set err. Values given
 * to a graph are copied into it.
 */
#ifndef CFX_GRAPH_H
#define CFX_GRAPH_H

#include <cfx/effects.h>
#include <cfx/value.h>

typedef enum cfx_opcode {
    CFX_PLACEHOLDER,
    CFX_GET_ATTR,
    CFX_CALL_FUNCTION,
    CFX_CALL_METHOD,
    CFX_CALL_MODULE,
    CFX_OUTPUT,
    CFX_NOPCODES
} cfx_opcode;

typedef struct cfx_graph cfx_graph;
typedef struct cfx_node cfx_node;
struct cfx_call;
struct cfx_module;

/* One use of a node by another; for the iterators below. The list of users is
 * circular towards the front: the first one's prev is the last. */
typedef struct cfx_use {
    cfx_node *input, *user;
    struct cfx_use *prev, *next; /* of the input's users */
} cfx_use;

/*
 * Members may be read; only functions write them. Pointers to arguments are
 * valid until the node is edited. Walk with cfx_node_next and cfx_node_prev:
 * `next` and `prev` may lead to erased nodes. A node has two cache lines; most
 * walks read the first one only.
 */
struct cfx_node {
    uint32_t id; /* below cfx_graph_ids(), unique in the graph */
    uint8_t op;  /* cfx_opcode */
    bool erased;
    uint16_t nkwargs; /* a key and its value count as one */
    cfx_node *next;   /* private */
    cfx_graph *graph;
    const char *name;
    uint64_t order;  /* order label: smaller is earlier */
    cfx_use *inputs; /* distinct nodes in args, then kwargs */
    uint32_t ninputs, nusers;
    cfx_use *first_user;
    cfx_node *prev; /* private */
    cfx_string *target;
    cfx_string *type; /* type expression, or NULL */
    cfx_value *args;
    cfx_value *kwargs; /* key and value in turn */
    uint32_t nargs;
    uint32_t slot;  /* private */
    cfx_value meta; /* a dict; or absent */
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
 * Does the node call this operator, as a function or method, by any of its
 * torch, operator or ATen names? `name` is the ATen name ("relu", "add",
 * "conv2d"), or any of its names ("torch.relu", "operator.add",
 * "aten.relu.default"). In-place operators have names of their own: "relu_". A
 * name that several operators share (operator.add of tensors, numbers, lists)
 * matches all of them. An unregistered target matches its own name only; a
 * module matches none.
 *
 *     if (cfx_node_is(n, "relu"))
 *         puts(n->name);
 */
CFX_API bool cfx_node_is(const cfx_node *n, const char *name);
/* Like cfx_node_is, for the call that a hook receives: its target may differ
 * from its node's. */
CFX_API bool cfx_call_is(const struct cfx_call *call, const char *name);

/* ---- Graph ---- */

CFX_API cfx_status cfx_graph_new(cfx_graph **out, cfx_context *ctx,
                                 cfx_error *err);
CFX_API void cfx_graph_free(cfx_graph *g);
CFX_API cfx_context *cfx_graph_context(const cfx_graph *g);

/* The module that targets refer to; borrowed; may be NULL. */
CFX_API struct cfx_module *cfx_graph_owning_module(const cfx_graph *g);
CFX_API void cfx_graph_set_owning_module(cfx_graph *g, struct cfx_module *m);

/* Number of nodes; and the greatest id so far plus one. */
CFX_API size_t cfx_graph_len(const cfx_graph *g);
CFX_API uint32_t cfx_graph_ids(const cfx_graph *g);

/*
 * First and last, then onwards; NULL at the end. Nodes may be erased and
 * inserted during the walk: an erased node keeps the links to its former
 * neighbours.
 *
 *     for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
 *         puts(n->name);
 */
CFX_API cfx_node *cfx_graph_first(const cfx_graph *g);
CFX_API cfx_node *cfx_graph_last(const cfx_graph *g);
CFX_INLINE cfx_node *cfx_node_next(const cfx_node *n)
{
    cfx_node *next = n->next;
    if (CFX_UNLIKELY(n->erased))
        while (next && next->erased)
            next = next->next;
    return next;
}
CFX_INLINE cfx_node *cfx_node_prev(const cfx_node *n)
{
    cfx_node *prev = n->prev;
    if (CFX_UNLIKELY(n->erased))
        while (prev && prev->erased)
            prev = prev->prev;
    return prev;
}

/* The output node, or NULL. */
CFX_API cfx_node *cfx_graph_output_node(const cfx_graph *g);
/* By name, or NULL. O(1). */
CFX_API cfx_node *cfx_graph_find(const cfx_graph *g, const char *name);

/*
 * Set where new nodes go; returns the previous insert point. Before NULL is
 * the start of the graph, after NULL its end. Each new node goes directly
 * before (after) n, so that several are in order (in reverse order). If n is
 * erased, its neighbour replaces it.
 */
typedef struct cfx_insert_point {
    cfx_node *node; /* private */
    bool after;
} cfx_insert_point;
CFX_API cfx_insert_point cfx_graph_inserting_before(cfx_graph *g, cfx_node *n);
CFX_API cfx_insert_point cfx_graph_inserting_after(cfx_graph *g, cfx_node *n);
CFX_API void cfx_graph_restore(cfx_graph *g, cfx_insert_point at);

/*
 * Create a node at the insert point. `name` is made unique; NULL: derived from
 * the target by torch.fx's rules. `type` may be NULL. Fails with CFX_EGRAPH (a
 * node of another graph among the arguments, an erased one), CFX_EINVAL (empty
 * target; absent values, keywords given twice, nodes in the keys of dicts,
 * more than CFX_MAX_DEPTH levels), CFX_ENOMEM. cfx_graph_get_attr and
 * cfx_graph_call_module warn where the owning module lacks the target.
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

/* Copy a node, with its meta, to the insert point; map(user, n) returns the
 * replacement of each input; `map` NULL keeps the inputs. Returns NULL on
 * failure, or if map does (CFX_EGRAPH). */
CFX_API cfx_node *cfx_graph_node_copy(cfx_graph *g, const cfx_node *n,
                                      cfx_node *(*map)(void *user,
                                                       cfx_node *n),
                                      void *user, cfx_error *err);

/* A copy of a graph, with the same names, ids and meta, and no owning module;
 * hooks are not copied. Fails with CFX_EGRAPH for a node that is used before
 * it is defined. */
CFX_API cfx_status cfx_graph_copy(cfx_graph **out, const cfx_graph *g,
                                  cfx_error *err);

/*
 * Copy the nodes of another graph to the insert point, as torch.fx's
 * graph_copy: all in order, except the output and the nodes that `map` has a
 * value for, which replaces them: it binds a placeholder to a node, a literal
 * or a tuple of both. `map` (may be NULL) receives the copies. *output (may be
 * NULL) receives the output node's value, mapped to `to`: a new reference,
 * valid while both graphs exist; absent without an output node. Nodes after
 * the output are copied, too (in torch.fx: left out), and after
 * cfx_graph_inserting_after the nodes keep their order (in torch.fx:
 * reversed). `to` and `from` may be one graph. On failure neither `to` nor
 * `map` has changed. Fails as create_node does, and with CFX_EGRAPH for a node
 * that is used before it is defined.
 */
typedef struct cfx_node_map cfx_node_map;
CFX_API cfx_status cfx_graph_insert_graph(cfx_graph *to, const cfx_graph *from,
                                          cfx_node_map *map, cfx_value *output,
                                          cfx_error *err);

/* Copy one node like cfx_graph_insert_graph: the map must have its inputs and
 * receives the copy. */
CFX_API cfx_node *cfx_graph_node_copy_mapped(cfx_graph *g, const cfx_node *n,
                                             cfx_node_map *map,
                                             cfx_error *err);

/* Erase a node. Fails with CFX_EGRAPH and torch.fx's message if it has users;
 * erasing twice only warns. The node keeps its target, type, meta and name
 * (which stays reserved), but not its arguments. */
CFX_API cfx_status cfx_graph_erase_node(cfx_graph *g, cfx_node *n,
                                        cfx_error *err);

/* Check that the graph is well-formed, with torch.fx's messages, and, with an
 * owning module, that targets exist. Fails with CFX_EGRAPH. */
CFX_API cfx_status cfx_graph_lint(const cfx_graph *g, cfx_error *err);

/*
 * Find the next node with this opcode and target (NULL: any) after `after`
 * (NULL: from the start), or NULL. Visiting all takes one walk; a target that
 * no node has takes no time. The node may be erased, and others inserted,
 * before the next call.
 *
 *     for (n = NULL; (n = cfx_graph_find_nodes(g, CFX_CALL_FUNCTION,
 *                                              "torch.relu", n));)
 *         puts(n->name);
 */
CFX_API cfx_node *cfx_graph_find_nodes(const cfx_graph *g, cfx_opcode op,
                                       const char *target,
                                       const cfx_node *after);

/*
 * Erase nodes without users or effects, like torch.fx's eliminate_dead_code:
 * lint, then one sweep from the end. Placeholders and outputs stay whatever
 * `is_impure` returns. Unlike in torch.fx, methods that write (x.relu_())
 * stay, and modules that change their state, draw random numbers or write to
 * their input; so do calls that match no signature of their operator.
 * Unregistered functions are erased, as in torch.fx, unless their name or
 * arguments say that they write (`f_`, out=). The graphs of all modules that
 * get_attr and call_module nodes name are swept, too (torch.fx: of direct
 * children that get_attr nodes name). *nerased (may be NULL) receives the
 * number of erased nodes. Fails with CFX_EGRAPH like cfx_graph_lint,
 * CFX_ENOMEM; nodes erased before stay erased.
 */
typedef struct cfx_dce_options {
    size_t size; /* sizeof(cfx_dce_options) */
    /* replaces cfx_node_is_impure for nodes without users */
    bool (*is_impure)(void *user, const cfx_node *n);
    void *user;
    bool drop_random;   /* torch.fx's impure_random=False */
    bool keep_children; /* sweep this graph only */
} cfx_dce_options;
CFX_API cfx_status cfx_graph_eliminate_dead_code(cfx_graph *g,
                                                 const cfx_dce_options *o,
                                                 size_t *nerased,
                                                 cfx_error *err);

/*
 * Hooks called on edits of a graph. `created` is called after a node is
 * inserted, `erased` before it is unlinked, `replaced` before `user` gets
 * `with` in place of `old`, and, as in torch.fx, for each user of a renamed
 * node, with the new name and `with` NULL. A hook may read the graph and add
 * or remove hooks, but not edit the graph. Several sets of hooks are called in
 * the order of their addition. Unlike torch.fx's deep copy of a GraphModule,
 * copies of a graph have no hooks.
 */
typedef struct cfx_graph_hooks {
    size_t size; /* sizeof(cfx_graph_hooks) */
    void (*created)(void *data, cfx_node *n);
    void (*erased)(void *data, cfx_node *n);
    void (*replaced)(void *data, cfx_node *old, cfx_node *with,
                     const char *name, cfx_node *user);
} cfx_graph_hooks;
/* `hooks` must stay valid until it is removed. */
CFX_API cfx_status cfx_graph_add_hooks(cfx_graph *g,
                                       const cfx_graph_hooks *hooks,
                                       void *data, cfx_error *err);
/* Remove the last added set with these arguments, if any. */
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

/* ---- Maps from the nodes of one graph to values ---- */

/*
 * An array by id: 16 bytes for each id of the graph. Values are counted
 * (cfx_value_ref), nodes borrowed. The graph may get new nodes while a map is
 * in use.
 *
 *     cfx_node_map map;
 *     cfx_node_map_init(&map, from);
 *     cfx_node_map_set(&map, x, cfx_value_of_node(y), &err);
 *     cfx_graph_insert_graph(to, from, &map, &out, &err);
 *     cfx_node_map_release(&map);
 */
struct cfx_node_map {
    const cfx_graph *graph;
    cfx_value *value; /* private */
    uint32_t cap;
};

CFX_API void cfx_node_map_init(cfx_node_map *map, const cfx_graph *g);
/* A zeroed or released one is allowed. */
CFX_API void cfx_node_map_release(cfx_node_map *map);
/* An absent value removes the node, which never fails. Else fails with
 * CFX_EGRAPH for a node of another graph, CFX_ENOMEM. */
CFX_API cfx_status cfx_node_map_set(cfx_node_map *map, const cfx_node *n,
                                    cfx_value v, cfx_error *err);
/* The value of a node, borrowed; absent if there is none, or for a node of
 * another graph. */
CFX_INLINE cfx_value cfx_node_map_get(const cfx_node_map *map,
                                      const cfx_node *n)
{
    return n->graph == map->graph && n->id < map->cap ? map->value[n->id]
                                                      : CFX_NOTHING;
}
/* The node that n maps to, or NULL. */
CFX_INLINE cfx_node *cfx_node_map_node(const cfx_node_map *map,
                                       const cfx_node *n)
{
    cfx_value v = cfx_node_map_get(map, n);
    return v.kind == CFX_NODE ? v.u.node : NULL;
}
/* A copy of v in which mapped values replace the nodes: a new reference. Fails
 * with CFX_EGRAPH for a node that is not in the map, CFX_ENOMEM. */
CFX_API cfx_status cfx_node_map_value(cfx_value *out, const cfx_node_map *map,
                                      cfx_value v, cfx_error *err);

/* ---- Node ---- */

/* The i-th distinct input, in the order of args, then kwargs. */
CFX_INLINE cfx_node *cfx_node_input(const cfx_node *n, uint32_t i)
{
    return n->inputs[i].input;
}
/* Users in the order of addition: for (u = n->first_user; u; u = u->next)
 * u->user. */

/* Does a come before b? O(1). */
CFX_INLINE bool cfx_node_before(const cfx_node *a, const cfx_node *b)
{
    return a->order < b->order;
}

/*
 * Edits. One that fails changes nothing. They fail as create_node does, and
 * with CFX_EGRAPH for an erased node. Their time is linear in the arguments of
 * the rewritten nodes. As in torch.fx, a node whose arguments are rewritten
 * becomes the last user of all its inputs; insert_arg is the exception.
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

/* replace_input_with rewrites the uses of `old` in n. replace_all_uses_with
 * rewrites the uses of n in all users, or in those for which keep(data, user)
 * is true; `keep` must not edit. Neither allocates. Fails with CFX_EGRAPH if
 * `with` is erased or of another graph. */
CFX_API cfx_status cfx_node_replace_input_with(cfx_node *n, cfx_node *old,
                                               cfx_node *with, cfx_error *err);
CFX_API cfx_status cfx_node_replace_all_uses_with(cfx_node *n, cfx_node *with,
                                                  bool (*keep)(void *data,
                                                               cfx_node *user),
                                                  void *data, cfx_error *err);

/* replace_all_uses_with with the options of torch.fx: `changed` is called for
 * each rewritten user and must not edit; propagate_meta copies n's meta to
 * `with`, which must have none (CFX_EINVAL). *nchanged (may be NULL) receives
 * the number of rewritten users. */
typedef struct cfx_replace_options {
    size_t size; /* sizeof(cfx_replace_options) */
    bool (*keep)(void *data, cfx_node *user);
    void (*changed)(void *data, cfx_node *user);
    void *data;
    bool propagate_meta;
} cfx_replace_options;
CFX_API cfx_status cfx_node_replace_all_uses(cfx_node *n, cfx_node *with,
                                             const cfx_replace_options *o,
                                             size_t *nchanged, cfx_error *err);

/* Move x directly before or after n. Fails with CFX_EGRAPH for nodes of
 * two graphs, or an erased one. */
CFX_API cfx_status cfx_node_prepend(cfx_node *n, cfx_node *x, cfx_error *err);
CFX_API cfx_status cfx_node_append(cfx_node *n, cfx_node *x, cfx_error *err);

/*
 * The side effects of a node. A call is bound to the operator's schema; if
 * several signatures match (a node may be a number or a tensor), their effects
 * are united. The effects of a module follow from its `forward` and are
 * cached; those of a GraphModule, and of graphs passed to a call (cond), from
 * their nodes. The result of an unregistered operator may be a view of any
 * argument, and the operator writes to `out`, and, if its name ends in one
 * `_`, to the first argument. Arguments that match no signature, and a forward
 * that cannot be followed, have every effect. Placeholders, get_attr and
 * output nodes have none. Fails with CFX_ENAME for a missing module,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_node_effects(const cfx_node *n, cfx_effects *out,
                                    cfx_error *err);

/* Must the node stay although it has no users? True of placeholders, outputs
 * and nodes that write, are random or have an effect. */
CFX_API cfx_status cfx_node_is_impure(const cfx_node *n, bool *out,
                                      cfx_error *err);

/*
 * The arguments bound to the callee's signature, with defaults: a tuple of the
 * node's positional ones, and a dict of the others by their Python names; with
 * only_kwargs, a dict of all. Both are new references, valid until the node is
 * edited, and absent (torch.fx's None) if no signature matches. The first
 * signature that matches is taken; torch.fx fails on several, and on methods.
 * A number that stands for a list (int[2]) is written as a tuple. Fails with
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_node_normalized_arguments(const cfx_node *n,
                                                 bool only_kwargs,
                                                 cfx_value *args,
                                                 cfx_value *kwargs,
                                                 cfx_error *err);

/*
 * Copy the provenance of `from` to n, which replaces it, to the keys that n
 * lacks: stack_trace, nn_module_stack, source_fn_stack, torch_fn,
 * original_aten, recompute, ac_graph_id, seq_nr, custom, quantization_tag,
 * partitioner_tag. `from_node`, a list of names, gets those of `from`, or its
 * name if it has none; n may replace several nodes in turn. Meta of the value
 * (tensor_meta, val, ...) is not copied. Fails with CFX_ENOMEM; some keys may
 * then be copied.
 */
CFX_API cfx_status cfx_node_inherit(cfx_node *n, const cfx_node *from,
                                    cfx_error *err);

/* Meta by key. set copies the value into the graph; an absent value removes
 * the key. get returns absent for a missing key. A value with nodes is refused
 * (CFX_EINVAL), since edits would not update it. */
CFX_API cfx_value cfx_node_meta(const cfx_node *n, const char *key);
CFX_API cfx_status cfx_node_set_meta(cfx_node *n, const char *key, cfx_value v,
                                     cfx_error *err);

/* The declaration of a placeholder in the model's file, borrowed: its meta "val",
 * which is a tensor without data, a symbolic int, or the only value that is
 * accepted. Absent for other nodes and for undeclared placeholders. */
CFX_API cfx_value cfx_node_declared(const cfx_node *n);

CFX_END_DECLS

#endif
