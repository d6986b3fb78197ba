/*
 * uses -- inputs and users of nodes.
 *
 * Both follow from the arguments. A node has an array of its inputs; each
 * element is also a link in the list of that input's users. `slot` of a node
 * is its index in the array that is being built: the node was seen if the
 * element at that index is the node, so that `slot` needs no reset.
 */
#include "graph/graph_impl.h"

#include <stddef.h>

/* ---- Arrays of inputs, with their capacity before them ---- */

typedef union uses_header {
    size_t cap;
    max_align_t align;
} uses_header;

static size_t uses_size(size_t cap)
{
    return sizeof(uses_header) + cap * sizeof(cfx_use);
}

static size_t cap_of(const cfx_use *uses)
{
    return uses ? ((const uses_header *)(const void *)uses - 1)->cap : 0;
}

static cfx_use *alloc_uses(cfx_graph *g, size_t cap)
{
    uses_header *header = cfx_store_alloc(&g->store, uses_size(cap));
    if (!header)
        return NULL;
    header->cap = cap;
    return (cfx_use *)(void *)(header + 1);
}

void cfx_graph__free_uses(cfx_graph *g, cfx_use *uses)
{
    if (uses)
        cfx_store_free(&g->store, (uses_header *)(void *)uses - 1,
                       uses_size(cap_of(uses)));
}

/* ---- Finding ---- */

static bool see(cfx_graph *g, cfx_node *n)
{
    if (n->slot < g->seen_len && g->seen[n->slot] == n)
        return true;
    if (cfx_grow(g->ctx, g->seen, g->seen_cap, g->seen_len + 1, NULL))
        return false;
    n->slot = (uint32_t)g->seen_len;
    g->seen[g->seen_len++] = n;
    return true;
}

/* Values in a store have bounded depth. */
static bool see_values(cfx_graph *g, const cfx_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cfx_value *item = NULL;
        size_t items = cfx_store_items(v[i], &item);
        if (items ? !see_values(g, item, items)
                  : v[i].kind == CFX_NODE && !see(g, v[i].u.node))
            return false;
    }
    return true;
}

cfx_status cfx_graph__find_inputs(cfx_node *n, bool fresh, cfx_use **inputs,
                                  cfx_error *err)
{
    cfx_graph *g = n->graph;
    g->seen_len = 0;
    if (!see_values(g, n->args, n->nargs) ||
        !see_values(g, n->kwargs, 2 * (size_t)n->nkwargs))
        return cfx_no_memory(err);
    *inputs = fresh ? NULL : n->inputs;
    if (g->seen_len <= cap_of(*inputs))
        return CFX_OK;
    *inputs = alloc_uses(g, g->seen_len);
    return *inputs ? CFX_OK : cfx_no_memory(err);
}

/* ---- Linking ---- */

/* The last user is found from the first. */
static void link_use(cfx_use *use)
{
    cfx_node *input = use->input;
    cfx_use *first = input->first_user;
    use->next = NULL;
    if (first) {
        use->prev = first->prev;
        use->prev->next = use;
        first->prev = use;
    } else {
        input->first_user = use->prev = use;
    }
    input->nusers++;
}

static void unlink_use(cfx_use *use)
{
    cfx_node *input = use->input;
    if (use == input->first_user)
        input->first_user = use->next;
    else
        use->prev->next = use->next;
    if (use->next)
        use->next->prev = use->prev;
    else if (input->first_user)
        input->first_user->prev = use->prev;
    input->nusers--;
}

static void unlink_inputs(cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        unlink_use(&n->inputs[i]);
    n->ninputs = 0;
}

void cfx_graph__take_inputs(cfx_node *n, cfx_use *inputs)
{
    cfx_graph *g = n->graph;
    cfx_graph__forget_effects(g);
    unlink_inputs(n);
    if (inputs != n->inputs)
        cfx_graph__free_uses(g, n->inputs);
    n->inputs = inputs;
    n->ninputs = (uint32_t)g->seen_len;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        inputs[i] = (cfx_use){.input = g->seen[i], .user = n};
        link_use(&inputs[i]);
    }
}

/* Put `to`, which is in no list, in the place of `from`. */
static void replace_use(cfx_use *to, const cfx_use *from)
{
    cfx_use **first = &to->input->first_user;
    to->prev = from->prev == from ? to : from->prev;
    to->next = from->next;
    if (*first == from)
        *first = to;
    else
        to->prev->next = to;
    (to->next ? to->next : *first)->prev = to;
}

void cfx_graph__add_inputs(cfx_node *n, cfx_use *inputs)
{
    cfx_graph *g = n->graph;
    cfx_graph__forget_effects(g);
    for (size_t i = 0; i < g->seen_len; i++)
        inputs[i] = (cfx_use){.user = n};
    for (uint32_t i = 0; i < n->ninputs; i++) {
        cfx_use *to = &inputs[n->inputs[i].input->slot];
        to->input = n->inputs[i].input;
        replace_use(to, &n->inputs[i]);
    }
    for (size_t i = 0; i < g->seen_len; i++)
        if (!inputs[i].input) {
            inputs[i].input = g->seen[i];
            link_use(&inputs[i]);
        }
    cfx_graph__free_uses(g, n->inputs);
    n->inputs = inputs;
    n->ninputs = (uint32_t)g->seen_len;
}

void cfx_graph__drop_inputs(cfx_node *n)
{
    cfx_graph__forget_effects(n->graph);
    unlink_inputs(n);
    cfx_graph__free_uses(n->graph, n->inputs);
    n->inputs = NULL;
}

/* ---- Replacing one ---- */

static void substitute(cfx_value *v, size_t n, const cfx_node *old,
                       cfx_node *with)
{
    for (size_t i = 0; i < n; i++) {
        cfx_value *item = NULL;
        size_t items = cfx_store_items(v[i], &item);
        if (items)
            substitute(item, items, old, with);
        else if (v[i].kind == CFX_NODE && v[i].u.node == old)
            v[i].u.node = with;
    }
}

void cfx_graph__swap_input(cfx_node *n, cfx_node *old, cfx_node *with)
{
    cfx_graph__forget_effects(n->graph);
    substitute(n->args, n->nargs, old, with);
    substitute(n->kwargs, 2 * (size_t)n->nkwargs, old, with);
    uint32_t count = n->ninputs, kept = 0;
    unlink_inputs(n);
    bool done = false;
    for (uint32_t i = 0; i < count; i++) {
        cfx_node *input = n->inputs[i].input;
        if (input == old || input == with) {
            if (done)
                continue;
            done = true;
            input = with;
        }
        n->inputs[kept] = (cfx_use){.input = input, .user = n};
        link_use(&n->inputs[kept++]);
    }
    n->ninputs = kept;
}
