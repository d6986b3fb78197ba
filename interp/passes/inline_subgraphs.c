/*
 * inline_subgraphs -- replace calls of graphs that are only wrapped by their nodes.
 *
 * torch.export keeps what stands under torch.no_grad() as a graph of its own, which
 * other passes do not look into. A graph within autocast stays, since its calls get
 * arguments of other types.
 */
#include "interp/rewrite/binding.h"
#include "interp/rewrite/retrace.h"
#include "ops/control/control.h"

typedef struct wrapped {
    const char *path;
    const cfx_graph *graph;
    const cfx_value *operands;
    size_t noperands;
} wrapped;

/* The operands are the last parameter; the graph is among those before. */
static bool find_wrapped(wrapped *w, const cfx_pass_call *p, const cfx_node *n)
{
    const cfx_target *t = n->op == CFX_CALL_FUNCTION ? cfx_node__target(n)
                                                     : NULL;
    *w = (wrapped){.path = NULL};
    if (!t || n->nkwargs || !cfx_control__may_inline(t, n->args, n->nargs))
        return false;
    uint32_t first = (uint32_t)t->schema->npositional - 1;
    if (n->nargs < first)
        return false;
    for (uint32_t i = 0; i < first; i++) {
        const cfx_node *a = n->args[i].kind == CFX_NODE ? n->args[i].u.node
                                                        : NULL;
        if (!a || a->op != CFX_GET_ATTR)
            continue;
        cfx_module *m = cfx_module_at(p->gm, a->target->text);
        w->path = a->target->text;
        w->graph = m ? cfx_graph_module_graph(m) : NULL;
    }
    w->operands = n->args + first;
    w->noperands = n->nargs - first;
    return w->graph;
}

/* Placeholders stand for the operands, in order. False if these are not as many. */
static bool bind_operands(cfx_node_map *map, const wrapped *w, cfx_status *st,
                          cfx_error *err)
{
    size_t i = 0;
    for (cfx_node *n = cfx_graph_first(w->graph); n && !*st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        if (i == w->noperands)
            return false;
        *st = cfx_node_map_set(map, n, w->operands[i++], err);
    }
    return !*st && i == w->noperands;
}

/* Paths of state and modules begin at the root. */
static cfx_status move_paths(const cfx_node_map *map, const wrapped *w,
                             cfx_context *ctx, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(w->graph); n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_GET_ATTR && n->op != CFX_CALL_MODULE)
            continue;
        cfx_buf path;
        cfx_buf_init(&path, ctx);
        cfx_buf_printf(&path, "%s.%s", w->path, n->target->text);
        st = path.failed ? cfx_no_memory(err)
                         : cfx_node_set_op(cfx_node_map_node(map, n), n->op,
                                           path.s, err);
        cfx_buf_release(&path);
    }
    return st;
}

/* Let the nodes stand in place of n. */
static cfx_status insert_nodes(cfx_pass_call *p, cfx_node *n, const wrapped *w,
                               cfx_node_map *map)
{
    cfx_value out = CFX_NOTHING;
    size_t before = cfx_graph_len(p->graph);
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_status st = cfx_graph_insert_graph(p->graph, w->graph, map, &out,
                                           p->err);
    cfx_graph_restore(p->graph, at);
    p->changed += cfx_graph_len(p->graph) - before;
    if (!st)
        st = move_paths(map, w, p->ctx, p->err);
    if (!st && out.kind == CFX_NODE)
        st = cfx_node_replace_all_uses_with(n, out.u.node, NULL, NULL, p->err);
    else if (!st)
        st = cfx_node__substitute(p, n, out);
    if (!st)
        st = cfx_graph_erase_node(p->graph, n, p->err);
    p->changed += !st;
    cfx_value_unref(out);
    return st;
}

static cfx_status inline_call(cfx_pass_call *p, cfx_node *n, const wrapped *w,
                              bool *done)
{
    cfx_status st = CFX_OK;
    cfx_node_map map;
    cfx_node_map_init(&map, w->graph);
    *done = bind_operands(&map, w, &st, p->err);
    if (*done)
        st = insert_nodes(p, n, w, &map);
    cfx_node_map_release(&map);
    return st;
}

/* A graph may wrap others: what was put in place of a node is visited, too. */
static cfx_status inline_subgraphs_run(cfx_pass_call *p)
{
    cfx_status st = CFX_OK;
    cfx_node *n = cfx_graph_first(p->graph);
    size_t dead = 0;
    wrapped w;
    while (n && !st) {
        cfx_node *before = cfx_node_prev(n), *after = cfx_node_next(n);
        bool done = false;
        if (find_wrapped(&w, p, n))
            st = inline_call(p, n, &w, &done);
        n = !done    ? after
            : before ? cfx_node_next(before)
                     : cfx_graph_first(p->graph);
    }
    if (!st && p->changed)
        st = cfx_graph_eliminate_dead_code(p->graph, NULL, &dead, p->err);
    p->changed += dead;
    return st;
}

const cfx_pass cfx_pass__inline_subgraphs = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "inline_subgraphs()",
    .doc =
        "Replace calls of graphs that are only wrapped, as by torch.no_grad(), by their nodes.",
    .run = inline_subgraphs_run,
};
