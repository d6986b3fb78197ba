/*
 * graph_copy -- copy nodes and graphs.
 */
#include "graph/graph_impl.h"

/* The specification of a copy of n for another graph. */
static cfx_node_spec spec_of(const cfx_node *n)
{
    return (cfx_node_spec){
        .op = (cfx_opcode)n->op,
        .target = n->target->text,
        .args = n->args,
        .kwargs = n->kwargs,
        .nargs = n->nargs,
        .nkwargs = n->nkwargs,
        .name = n->name,
        .type = n->type ? n->type->text : NULL,
        .meta = n->meta,
    };
}

/* A function from nodes to nodes, as one from nodes to values. */
typedef struct node_function {
    cfx_node *(*map)(void *user, cfx_node *n);
    void *user;
} node_function;

static cfx_value call_function(void *user, cfx_node *n)
{
    const node_function *f = user;
    cfx_node *mapped = f->map(f->user, n);
    return mapped ? cfx_value_of_node(mapped) : CFX_NOTHING;
}

cfx_node *cfx_graph_node_copy(cfx_graph *g, const cfx_node *n,
                              cfx_node *(*map)(void *user, cfx_node *n),
                              void *user, cfx_error *err)
{
    node_function f = {map, user};
    cfx_node_spec spec = spec_of(n);
    spec.map = map ? call_function : NULL;
    spec.user = &f;
    return cfx_graph__make(g, &spec, err);
}

static cfx_value look_up(void *user, cfx_node *n)
{
    return cfx_node_map_get(user, n);
}

/* Copy a node by a map, without adding it to the map. */
static cfx_node *copy_by(cfx_graph *g, const cfx_node *n, cfx_node_map *map,
                         cfx_error *err)
{
    cfx_node_spec spec = spec_of(n);
    spec.map = look_up;
    spec.user = map;
    spec.map_is_pure = true;
    return cfx_graph__make(g, &spec, err);
}

/* Reserve space in the map first, so that setting it cannot fail. */
cfx_node *cfx_graph_node_copy_mapped(cfx_graph *g, const cfx_node *n,
                                     cfx_node_map *map, cfx_error *err)
{
    if (cfx_node_map__reserve(map, n, err))
        return NULL;
    cfx_node *copy = copy_by(g, n, map, err);
    if (copy)
        cfx_node_map_set(map, n, cfx_value_of_node(copy), NULL);
    return copy;
}

/* ---- A graph ---- */

static cfx_status used_too_early(const cfx_node *n, uint32_t i, cfx_error *err)
{
    return cfx_fail(
        err, CFX_EGRAPH,
        "Argument '%s' of Node '%s' was used before it has been defined! Please check that Nodes in the graph are topologically ordered",
        n->inputs[i].input->name, n->name);
}

static cfx_value copy_of(void *user, cfx_node *n)
{
    cfx_node *const *copy = user;
    return copy[n->id] ? cfx_value_of_node(copy[n->id]) : CFX_NOTHING;
}

static cfx_status check_order(const cfx_node *n, cfx_node *const *copy,
                              cfx_error *err)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (!copy[n->inputs[i].input->id])
            return used_too_early(n, i, err);
    return CFX_OK;
}

/* Names are unique, so that the new namespace returns equal ones. copy[id]
 * becomes the copy of the node with that id. */
static cfx_status copy_nodes(cfx_graph *to, const cfx_graph *g,
                             cfx_node **copy, cfx_error *err)
{
    cfx_error why;
    why.code = CFX_OK;
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        cfx_status st = check_order(n, copy, err);
        if (st)
            return st;
        cfx_node_spec spec = spec_of(n);
        spec.map = copy_of;
        spec.user = copy;
        spec.map_is_pure = spec.from_other_graph = true;
        cfx_node *made = cfx_graph__make(to, &spec, &why);
        if (!made)
            return cfx_fail_from(err, &why);
        made->id = n->id;
        copy[n->id] = made;
    }
    to->ids = g->ids;
    return CFX_OK;
}

cfx_status cfx_graph_copy(cfx_graph **out, const cfx_graph *g, cfx_error *err)
{
    cfx_graph *to;
    cfx_status st = cfx_graph_new(&to, g->ctx, err);
    if (st)
        return st;
    size_t ids = (size_t)g->ids + 1;
    cfx_node **copy = cfx_calloc(g->ctx, ids, sizeof(*copy));
    st = copy && cfx_names_reserve(&to->names, &g->names)
             ? copy_nodes(to, g, copy, err)
             : cfx_no_memory(err);
    cfx_free(g->ctx, copy, ids * sizeof(*copy));
    if (st)
        cfx_graph_free(to);
    else
        *out = to;
    return st;
}

/* ---- A graph into another ---- */

/* An insertion in progress: the nodes to copy, the number copied, and the
 * output node, which need not be the last. */
typedef struct inserting {
    const cfx_graph *from;
    const cfx_node *output;
    cfx_node_map *map;
    cfx_node **node;
    size_t cap, len, done;
} inserting;

static cfx_status check_inputs(const cfx_node *n, const cfx_node_map *map,
                               cfx_error *err)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_node_map_get(map, n->inputs[i].input).kind == CFX_ABSENT)
            return used_too_early(n, i, err);
    return CFX_OK;
}

/* List the nodes first, since the two graphs may be one. */
static cfx_status list_nodes(inserting *in, cfx_error *err)
{
    in->cap = in->from->len + 1;
    in->node = cfx_calloc(in->from->ctx, in->cap, sizeof(*in->node));
    if (!in->node)
        return cfx_no_memory(err);
    for (cfx_node *n = cfx_graph_first(in->from); n; n = cfx_node_next(n))
        if (n->op == CFX_OUTPUT)
            in->output = in->output ? in->output : n;
        else if (cfx_node_map_get(in->map, n).kind == CFX_ABSENT)
            in->node[in->len++] = n;
    return CFX_OK;
}

/* Each node is inserted after the previous one, so that their order does not
 * depend on the insert point. */
static cfx_status insert_nodes(inserting *in, cfx_graph *to, cfx_error *err)
{
    cfx_insert_point was = to->point;
    cfx_status st = CFX_OK;
    cfx_error why = {.code = CFX_OK};
    for (; in->done < in->len && !st; in->done += !st) {
        cfx_node *n = in->node[in->done];
        st = check_inputs(n, in->map, err);
        if (st)
            break;
        cfx_node *copy = cfx_graph_node_copy_mapped(to, n, in->map, &why);
        if (!copy)
            st = cfx_fail_from(err, &why);
        else if (was.after)
            cfx_graph_inserting_after(to, copy);
    }
    to->point = was;
    return st;
}

static void undo_insert(inserting *in, cfx_graph *to)
{
    while (in->done--) {
        cfx_node *n = in->node[in->done];
        cfx_graph_erase_node(to, cfx_node_map_node(in->map, n), NULL);
        cfx_node_map_set(in->map, n, CFX_NOTHING, NULL);
    }
}

cfx_status cfx_graph_insert_graph(cfx_graph *to, const cfx_graph *from,
                                  cfx_node_map *map, cfx_value *output,
                                  cfx_error *err)
{
    cfx_node_map own;
    cfx_node_map_init(&own, from);
    inserting in = {.from = from, .map = map ? map : &own};
    cfx_value out = CFX_NOTHING;
    cfx_status st = list_nodes(&in, err);
    if (!st)
        st = insert_nodes(&in, to, err);
    if (!st && output && in.output && in.output->nargs)
        st = cfx_node_map_value(&out, in.map, in.output->args[0], err);
    if (st)
        undo_insert(&in, to);
    else if (output)
        *output = out;
    cfx_free(from->ctx, in.node, in.cap * sizeof(*in.node));
    cfx_node_map_release(&own);
    return st;
}
