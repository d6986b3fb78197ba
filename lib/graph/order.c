/*
 * order -- the list of nodes, with labels for O(1) order queries.
 *
 * Labels are 64 bits, grow along the list, and leave gaps. When a gap is used
 * up, the smallest aligned range of labels around it that is sparse enough is
 * relabelled evenly. A range of 2^i labels is sparse while it holds fewer than
 * (2/T)^i nodes; T > 1 makes larger ranges sparser, so that an insertion costs
 * O(log n) on the average, whatever the pattern (Bender, Cole, Demaine,
 * Farach-Colton, Zito: Two Simplified Algorithms for Maintaining Order in a
 * List, 2002). With T = 1.4 there is room for 2^32 nodes.
 */
#include "graph/graph_impl.h"

#define MIDDLE ((uint64_t)1 << 63)

/*
 * The distance of a new node's label from its neighbour's. At the ends it
 * leaves labels for the maximum number of nodes. In between, nodes are mostly
 * inserted in runs, so each takes little of the gap on the side of the next:
 * two million fit before the first relabelling.
 */
#define END_STEP ((uint64_t)1 << 32)
#define STEP ((uint64_t)1 << 10)

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Label `count` nodes from `first` evenly over `size` labels. */
static void spread(cfx_node *first, uint64_t count, uint64_t low,
                   uint64_t size)
{
    uint64_t gap = size / count, label = low + gap / 2;
    for (; count--; first = first->next, label += gap)
        first->order = label;
}

/* Make a gap beside n, whose own label is ignored. */
static void relabel(cfx_node *n)
{
    const double shrink = 2 / 1.4;
    cfx_node *first = n, *last = n;
    uint64_t at = (n->prev ? n->prev : n->next)->order;
    uint64_t count = 1, low = 0, size = 2;
    double limit = shrink;
    for (int bits = 1; bits < 64; bits++, size *= 2, limit *= shrink) {
        cfx_node *beside;
        low = at & ~(size - 1);
        while ((beside = first->prev) && beside->order >= low) {
            first = beside;
            count++;
        }
        while ((beside = last->next) && beside->order - low < size) {
            last = beside;
            count++;
        }
        if ((double)count < limit && size / count >= 4)
            break;
    }
    spread(first, count, low, size);
}

/* Give n, which is in the list, a label between those of its neighbours. */
static void label(cfx_node *n, bool after)
{
    const cfx_node *prev = n->prev, *next = n->next;
    uint64_t low = prev ? prev->order : 0;
    uint64_t high = next ? next->order : UINT64_MAX;
    uint64_t half = (high - low) / 2;
    if (!prev && !next)
        n->order = MIDDLE;
    else if (!half)
        relabel(n);
    else if (!next)
        n->order = low + least(half, END_STEP);
    else if (!prev)
        n->order = high - least(half, END_STEP);
    else if (after)
        n->order = high - least(half, STEP);
    else
        n->order = low + least(half, STEP);
}

/* The link that leads forwards past `prev`, and backwards past `next`; NULL
 * stands for the ends of the graph. */
static cfx_node **link_behind(cfx_graph *g, cfx_node *prev)
{
    return prev ? &prev->next : &g->first;
}

static cfx_node **link_before(cfx_graph *g, cfx_node *next)
{
    return next ? &next->prev : &g->last;
}

void cfx_graph__link(cfx_node *n, cfx_node *at, bool after)
{
    cfx_graph *g = n->graph;
    n->prev = after ? at : *link_before(g, at);
    n->next = after ? *link_behind(g, at) : at;
    *link_behind(g, n->prev) = n;
    *link_before(g, n->next) = n;
    label(n, after);
}

void cfx_graph__unlink(cfx_node *n)
{
    *link_behind(n->graph, n->prev) = n->next;
    *link_before(n->graph, n->next) = n->prev;
}
