/*
 * lint -- check that a graph is well-formed, with torch.fx's messages.
 */
#include "graph/graph_impl.h"

#include <cfx/module.h>

/* ---- The graph by itself ---- */

static cfx_status fail_input(const cfx_graph *g, const cfx_node *input,
                             const cfx_node *n, cfx_error *err)
{
    cfx_status st = cfx_graph__check_input(g, input, n->name, err);

    return st ? st
              : cfx_fail(
                    err, CFX_EGRAPH,
                    "Argument '%s' of Node '%s' was used before it has been defined! Please check that Nodes in the graph are topologically ordered",
                    input->name, n->name);
}

static cfx_status check_inputs(const cfx_graph *g, const cfx_node *n,
                               cfx_error *err)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *input = cfx_node_input(n, i);
        if (input->graph != g || input->erased || !cfx_node_before(input, n))
            return fail_input(g, input, n, err);
    }
    return CFX_OK;
}

static cfx_status check_node(const cfx_graph *g, const cfx_node *n,
                             cfx_error *err)
{
    if (n->op >= CFX_NOPCODES)
        return cfx_fail(err, CFX_EGRAPH, "Node %s had unknown opcode %d!",
                        n->name, n->op);
    if (n->graph != g)
        return cfx_fail(err, CFX_EGRAPH,
                        "Node '%s' does not belong to this Graph!", n->name);
    cfx_status st = check_inputs(g, n, err);
    if (!st && *cfx_names_user(n->name) != n)
        st = cfx_fail(err, CFX_EGRAPH, "Node redefined name %s!", n->name);
    return st;
}

/* ---- The targets in the owning module ---- */

/* A target path during lookup, up to its atom at `at`. */
typedef struct lookup {
    const cfx_node *n;
    const char *path, *at;
    cfx_module *module; /* the module with the atom; may be NULL */
} lookup;

/* The length of the path before the atom, without the dot. */
static int seen_len(const lookup *l)
{
    return l->at == l->path ? 0 : (int)(l->at - l->path) - 1;
}

/* Go from the module to its attribute `atom`. */
static cfx_status follow(lookup *l, const char *atom, cfx_error *err)
{
    cfx_module *child = l->module ? cfx_module_child(l->module, atom) : NULL;
    const cfx_state *state = NULL;
    if (l->module && !child)
        state = cfx_module_state(l->module, atom);
    if (!child && (!state || !state->tensor))
        return cfx_fail(
            err, l->n->op == CFX_GET_ATTR ? CFX_EATTR : CFX_EGRAPH,
            "Node %s target %s references nonexistent attribute %s of %.*s",
            l->n->name, l->path, atom, seen_len(l), l->path);
    if (!child && l->n->op == CFX_CALL_MODULE)
        return cfx_fail(
            err, CFX_EGRAPH,
            "Node %s target %s %s of %.*s does not reference an nn.Module",
            l->n->name, l->path, atom, seen_len(l), l->path);
    l->module = child;
    return CFX_OK;
}

static cfx_status check_target(const cfx_graph *g, const cfx_node *n,
                               cfx_buf *atom, cfx_error *err)
{
    const char *path = n->target->text;
    lookup l = {.n = n, .path = path, .at = path, .module = g->owner};
    for (;;) {
        size_t len = strcspn(l.at, ".");
        cfx_buf_clear(atom);
        cfx_buf_add(atom, l.at, len);
        if (atom->failed)
            return cfx_no_memory(err);
        cfx_status st = follow(&l, len ? atom->s : "", err);
        if (st || !l.at[len])
            return st;
        l.at += len + 1;
    }
}

static cfx_status check_targets(const cfx_graph *g, cfx_error *err)
{
    cfx_buf atom;
    cfx_status st = CFX_OK;
    cfx_buf_init(&atom, g->ctx);
    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR || n->op == CFX_CALL_MODULE)
            st = check_target(g, n, &atom, err);
    cfx_buf_release(&atom);
    return st;
}

cfx_status cfx_graph_lint(const cfx_graph *g, cfx_error *err)
{
    cfx_status st = CFX_OK;
    const cfx_node *ahead = g->first;
    for (int i = 0; i < CFX_NODES_AHEAD && ahead; i++)
        ahead = ahead->next;
    for (const cfx_node *n = g->first; n && !st; n = n->next) {
        if (ahead) {
            cfx_node__prefetch(ahead, CFX_NODES_FOLLOW);
            ahead = ahead->next;
        }
        st = check_node(g, n, err);
    }
    return st || !g->owner ? st : check_targets(g, err);
}
