/*
 * order -- the list of nodes, and labels that tell which of two is earlier.
 *
 * Labels are 64 bits, grow along the list, and leave gaps. Where a gap is used
 * up, the smallest aligned range of labels around it that is sparse enough is
 * numbered anew, evenly. A range of 2^i labels is sparse while it holds fewer
 * than (2/T)^i nodes; T > 1 makes larger ranges sparser, so that an insertion
 * costs O(log n) on the average, whatever the pattern (Bender, Cole, Demaine,
 * Farach-Colton, Zito: Two Simplified Algorithms for Maintaining Order in a
 * List, 2002). With T = 1.4 there is room for 2^32 nodes.
 */
#include "graph/graph_impl.h"

#define MIDDLE ((uint64_t)1 << 63)

/*
 * How far from its neighbour a node is put. At the ends it leaves room for as
 * many more as there can be nodes. In between, nodes are mostly made many at
 * one point, so one of them takes little of the gap on the side where the next
 * will come: two million fit before the first range must be numbered anew.
 */
#define END_STEP ((uint64_t)1 << 32)
#define STEP ((uint64_t)1 << 10)

static cfx_node *next_of(const cfx_node *n)
{
    return (cfx_node *)cfx_node_links_of(n)->next;
}

static cfx_node *prev_of(const cfx_node *n)
{
    return (cfx_node *)cfx_node_links_of(n)->prev;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Number `count` nodes from `first` on evenly over `size` labels. */
static void spread(cfx_node *first, uint64_t count, uint64_t low,
                   uint64_t size)
{
    uint64_t gap = size / count, label = low + gap / 2;
    for (; count--; first = next_of(first), label += gap)
        first->order = label;
}

/* Make room beside n, whose own label does not count. */
static void relabel(cfx_node *n)
{
    const double shrink = 2 / 1.4;
    cfx_node *first = n, *last = n;
    uint64_t at = (prev_of(n) ? prev_of(n) : next_of(n))->order;
    uint64_t count = 1, low = 0, size = 2;
    double limit = shrink;
    for (int bits = 1; bits < 64; bits++, size *= 2, limit *= shrink) {
        cfx_node *beside;
        low = at & ~(size - 1);
        while ((beside = prev_of(first)) && beside->order >= low) {
            first = beside;
            count++;
        }
        while ((beside = next_of(last)) && beside->order - low < size) {
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
    const cfx_node *prev = prev_of(n), *next = next_of(n);
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

/* The links that say what comes behind n, or, for NULL, first; before n, or
 * last. */
static cfx_node_links *links_of(cfx_graph *g, uintptr_t n)
{
    return n ? cfx_node_links_of((const cfx_node *)n) : &g->ends;
}

void cfx_graph__link(cfx_node *n, cfx_node *at, bool after)
{
    cfx_graph *g = n->graph;
    cfx_node_links *links = cfx_node_links_of(n);
    links->prev = after ? (uintptr_t)at : links_of(g, (uintptr_t)at)->prev;
    links->next = after ? links_of(g, (uintptr_t)at)->next : (uintptr_t)at;
    links_of(g, links->prev)->next = (uintptr_t)n;
    links_of(g, links->next)->prev = (uintptr_t)n;
    label(n, after);
}

void cfx_graph__unlink(cfx_node *n)
{
    const cfx_node_links *links = cfx_node_links_of(n);
    links_of(n->graph, links->prev)->next = links->next;
    links_of(n->graph, links->next)->prev = links->prev;
}

void cfx_graph__mark_erased(cfx_node *n)
{
    cfx_node_links *links = cfx_node_links_of(n);
    links->prev |= CFX_NODE_ERASED;
    links->next |= CFX_NODE_ERASED;
    n->erased = true;
}
