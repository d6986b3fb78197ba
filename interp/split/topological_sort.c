/*
 * topological_sort -- as torch.fx's stable_topological_sort.
 *
 * Among the nodes whose inputs are all placed, the first in the graph comes
 * next, so a sorted graph stays as it is. The output comes last.
 */
#include "interp/split/split_order.h"

#include <stdio.h>

#include "base/util.h"

typedef struct sorter {
    cfx_node **node;    /* by position in the graph */
    uint32_t *position; /* by node id */
    uint32_t *waits;    /* by node id: inputs not placed yet */
    uint32_t *heap;     /* positions of ready nodes, smallest first */
    size_t nheap, n, ids;
    const cfx_order_pairs *pairs;
    uint32_t *first; /* by node id: its first pair, index + 1 */
    uint32_t *next;  /* by pair: the next one of the same node */
} sorter;

static void sorter_release(sorter *s, cfx_context *ctx)
{
    cfx_free(ctx, s->node, s->n * sizeof(cfx_node *));
    cfx_free(ctx, s->position, s->ids * sizeof(*s->position));
    cfx_free(ctx, s->waits, s->ids * sizeof(*s->waits));
    cfx_free(ctx, s->heap, s->n * sizeof(*s->heap));
    cfx_free(ctx, s->first, s->ids * sizeof(*s->first));
    cfx_free(ctx, s->next, (s->pairs->n + 1) * sizeof(*s->next));
}

static cfx_status sorter_init(sorter *s, cfx_graph *g, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    s->n = cfx_graph_len(g);
    s->ids = cfx_graph_ids(g);
    s->node = cfx_calloc(ctx, s->n, sizeof(cfx_node *));
    s->position = cfx_calloc(ctx, s->ids, sizeof(*s->position));
    s->waits = cfx_calloc(ctx, s->ids, sizeof(*s->waits));
    s->heap = cfx_calloc(ctx, s->n, sizeof(*s->heap));
    s->first = cfx_calloc(ctx, s->ids, sizeof(*s->first));
    s->next = cfx_calloc(ctx, s->pairs->n + 1, sizeof(*s->next));
    if (!s->node || !s->position || !s->waits || !s->heap || !s->first ||
        !s->next)
        return cfx_no_memory(err);
    for (uint32_t i = 0; i < s->pairs->n; i++) {
        uint32_t id = s->pairs->item[i].before->id;
        s->next[i] = s->first[id];
        s->first[id] = i + 1;
    }
    return CFX_OK;
}

static void push(sorter *s, uint32_t position)
{
    size_t i = s->nheap++;
    for (; i && s->heap[(i - 1) / 2] > position; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = position;
}

static uint32_t pop(sorter *s)
{
    uint32_t top = s->heap[0], last = s->heap[--s->nheap];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < s->nheap) {
        if (child + 1 < s->nheap && s->heap[child + 1] < s->heap[child])
            child++;
        if (s->heap[child] >= last)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* The output's position is after all others. */
static void number_nodes(sorter *s, const cfx_graph *g)
{
    const cfx_node *output = cfx_graph_last(g);
    uint32_t at = 0;
    while (output && output->op != CFX_OUTPUT)
        output = cfx_node_prev(output);
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        uint32_t i = n == output ? (uint32_t)s->n - 1 : at++;
        s->position[n->id] = i;
        s->waits[n->id] = n->ninputs;
        s->node[i] = n;
    }
    for (size_t i = 0; i < s->pairs->n; i++)
        s->waits[s->pairs->item[i].after->id]++;
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->waits[s->node[i]->id])
            push(s, i);
}

static void tell(sorter *s, const cfx_node *n,
                 void (*ready)(sorter *s, uint32_t position))
{
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (--s->waits[u->user->id] == 0)
            ready(s, s->position[u->user->id]);
    for (uint32_t i = s->first[n->id]; i; i = s->next[i - 1]) {
        uint32_t id = s->pairs->item[i - 1].after->id;
        if (--s->waits[id] == 0)
            ready(s, s->position[id]);
    }
}

static cfx_status refuse_cycle(const sorter *s, cfx_error *err)
{
    char text[512];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < s->n && len < sizeof(text); i++)
        if (s->waits[s->node[i]->id])
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                    len ? ", " : "", s->node[i]->name);
    return cfx_fail(err, CFX_EGRAPH,
                    "Input graph has cycles, unable to add [%s%s]", text,
                    len < sizeof(text) ? "" : "...");
}

/* `cursor` is the first node that is not placed yet. */
static cfx_status place_all(sorter *s, cfx_graph *g, size_t *moved,
                            cfx_error *err)
{
    cfx_node *cursor = cfx_graph_first(g);
    size_t placed = 0;
    cfx_status st = CFX_OK;
    for (; s->nheap && !st; placed++) {
        cfx_node *n = s->node[pop(s)];
        if (n == cursor) {
            cursor = cfx_node_next(cursor);
        } else {
            st = cfx_node_prepend(cursor, n, err);
            ++*moved;
        }
        tell(s, n, push);
    }
    return st;
}

/* check_cycles needs no order. */
static void append(sorter *s, uint32_t position)
{
    s->heap[s->nheap++] = position;
}

/* Sort without moving anything, to find cycles. */
static cfx_status check_cycles(sorter *s, cfx_error *err)
{
    size_t placed = 0;
    for (; placed < s->nheap; placed++)
        tell(s, s->node[s->heap[placed]], append);
    return placed == s->n ? CFX_OK : refuse_cycle(s, err);
}

cfx_status cfx_graph__sort(cfx_graph *g, const cfx_order_pairs *pairs,
                           size_t *moved, cfx_error *err)
{
    sorter s = {.pairs = pairs};
    cfx_status st = sorter_init(&s, g, err);
    if (!st) {
        number_nodes(&s, g);
        st = check_cycles(&s, err);
    }
    if (!st) {
        s.nheap = 0;
        number_nodes(&s, g);
        st = place_all(&s, g, moved, err);
    }
    sorter_release(&s, cfx_graph_context(g));
    return st;
}
