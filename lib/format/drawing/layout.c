/*
 * layout -- the positions of nodes in a drawing.
 *
 * A node's layer is the length of the longest way to it. An edge that passes
 * layers is a box of its own in each of them, one chain for all users of a
 * node, so that nothing else is put in its way; one that would pass more than
 * MAX_CHAIN goes down in a lane beside all boxes instead, which bounds the
 * number of boxes. Sweeps sort each layer by the mean place of its neighbours
 * (barycentres), then others move boxes towards them: the nearest places that
 * keep order and distance come from pooling those that would overlap. Each
 * step takes time in proportion to boxes and links, but for sorting.
 */
#include <stdlib.h>

#include "format/drawing/drawing.h"

enum { MAX_CHAIN = 32, SORT_SWEEPS = 8, MOVE_SWEEPS = 9 };
static const double margin = 24, space = 20, lane_space = 8;

static void *alloc(cfx_layout *l, size_t n, size_t size)
{
    void *p = n < SIZE_MAX / size - 1
                  ? cfx_arena_alloc(&l->d->arena, (n + 1) * size)
                  : NULL;
    if (p)
        memset(p, 0, (n + 1) * size);
    return p;
}

/* ---- Layers ---- */

static void find_layers(cfx_layout *l)
{
    const cfx_drawing *d = l->d;
    for (uint32_t i = 0; i < d->n; i++) {
        const cfx_node *n = d->node[i];
        l->box[i].node = i;
        l->box[i].layer = 0;
        for (uint32_t k = 0; k < n->ninputs; k++) {
            uint32_t j = d->index[cfx_node_input(n, k)->id];
            if (j < i && l->box[j].layer >= l->box[i].layer)
                l->box[i].layer = l->box[j].layer + 1;
        }
    }
    /* A node without inputs is directly above its first user. */
    for (uint32_t i = (uint32_t)d->n; i-- > 0;) {
        const cfx_node *n = d->node[i];
        uint32_t least = UINT32_MAX;
        if (n->ninputs || n->op == CFX_PLACEHOLDER)
            continue;
        for (const cfx_use *u = n->first_user; u; u = u->next) {
            uint32_t j = d->index[u->user->id];
            if (j != CFX_NO_INDEX && j > i && l->box[j].layer < least)
                least = l->box[j].layer;
        }
        if (least != UINT32_MAX && least)
            l->box[i].layer = least - 1;
    }
}

/* The number of layers that an edge spans; 0: it is not drawn, since its node
 * is used before it is defined, or not shown. */
static uint32_t span(const cfx_layout *l, uint32_t from, const cfx_node *user)
{
    uint32_t to = l->d->index[user->id];
    if (to == CFX_NO_INDEX || l->box[to].layer <= l->box[from].layer)
        return 0;
    return l->box[to].layer - l->box[from].layer;
}

static void count_edges(cfx_layout *l)
{
    l->nboxes = l->d->n;
    for (uint32_t i = 0; i < l->d->n; i++) {
        uint32_t chain = 1;
        for (const cfx_use *u = l->d->node[i]->first_user; u; u = u->next) {
            uint32_t n = span(l, i, u->user);
            l->nlinks += n && n <= MAX_CHAIN;
            l->nlanes += n > MAX_CHAIN;
            if (n <= MAX_CHAIN && n > chain)
                chain = n;
        }
        l->nboxes += chain - 1;
        l->nlinks += chain - 1;
        if (l->box[i].layer >= l->nlayers)
            l->nlayers = l->box[i].layer + 1;
    }
}

/* The box of i's chain in the layer `below` its own. */
static uint32_t chain_at(uint32_t i, uint32_t first, uint32_t below)
{
    return below ? first + below - 1 : i;
}

static void make_edges(cfx_layout *l)
{
    uint32_t boxes = (uint32_t)l->d->n, links = 0, lanes = 0;
    for (uint32_t i = 0; i < l->d->n; i++) {
        uint32_t first = boxes, chain = 1;
        for (const cfx_use *u = l->d->node[i]->first_user; u; u = u->next) {
            uint32_t n = span(l, i, u->user), to = l->d->index[u->user->id];
            if (n > MAX_CHAIN)
                l->lane[lanes++] = (cfx_lane){.from = i, .to = to};
            else if (n)
                l->link[links++] = (cfx_link){chain_at(i, first, n - 1), to};
            if (n <= MAX_CHAIN && n > chain)
                chain = n;
        }
        for (uint32_t k = 1; k < chain; k++) {
            l->link[links++] = (cfx_link){chain_at(i, first, k - 1), boxes};
            l->box[boxes++] = (cfx_box){.node = CFX_NO_INDEX,
                                        .layer = l->box[i].layer + k,
                                        .width = 2};
        }
    }
}

/* Lists of equal keys, by counting: start[k] .. start[k + 1] in `list`. */
static void sort_by(uint32_t *start, size_t nkeys, uint32_t *list, size_t n,
                    uint32_t (*key)(const cfx_layout *, size_t),
                    const cfx_layout *l)
{
    for (size_t i = 0; i < n; i++)
        start[key(l, i)]++;
    uint32_t sum = 0;
    for (size_t k = 0; k <= nkeys; k++) {
        uint32_t count = start[k];
        start[k] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        list[start[key(l, i)]++] = (uint32_t)i;
    for (size_t k = nkeys; k > 0; k--)
        start[k] = start[k - 1];
    start[0] = 0;
}

static uint32_t layer_of(const cfx_layout *l, size_t i)
{
    return l->box[i].layer;
}

static uint32_t from_of(const cfx_layout *l, size_t i)
{
    return l->link[i].from;
}

static uint32_t to_of(const cfx_layout *l, size_t i)
{
    return l->link[i].to;
}

/* Give each source one lane, free again behind its last user. */
static bool choose_lanes(cfx_layout *l)
{
    uint32_t *last = alloc(l, l->d->n, sizeof(*last));
    uint32_t *lane = alloc(l, l->d->n, sizeof(*lane));
    uint32_t *ends = alloc(l, l->nlayers, sizeof(*ends)); /* list heads */
    uint32_t *next = alloc(l, l->d->n, sizeof(*next));
    uint32_t *unused = alloc(l, l->d->n, sizeof(*unused));
    size_t nunused = 0;
    if (!last || !lane || !ends || !next || !unused)
        return false;
    for (size_t i = 0; i < l->nlanes; i++)
        if (l->box[l->lane[i].to].layer > last[l->lane[i].from])
            last[l->lane[i].from] = l->box[l->lane[i].to].layer;
    for (size_t y = 0; y < l->nlayers; y++) {
        for (uint32_t i = ends[y]; i; i = next[i - 1])
            unused[nunused++] = lane[i - 1];
        for (uint32_t k = 0; k < l->layer[y].count; k++) {
            uint32_t i = l->order[l->layer[y].first + k];
            if (i >= l->d->n || !last[i])
                continue;
            lane[i] = nunused ? unused[--nunused] : (uint32_t)l->nlane++;
            next[i] = ends[last[i]];
            ends[last[i]] = i + 1;
        }
    }
    for (size_t i = 0; i < l->nlanes; i++)
        l->lane[i].lane = lane[l->lane[i].from];
    return true;
}

bool cfx_layout_layers(cfx_layout *l)
{
    find_layers(l);
    count_edges(l);
    cfx_box *box = alloc(l, l->nboxes, sizeof(*box));
    uint32_t *start = alloc(l, l->nlayers + 1, sizeof(*start));
    l->link = alloc(l, l->nlinks, sizeof(*l->link));
    l->lane = alloc(l, l->nlanes, sizeof(*l->lane));
    l->layer = alloc(l, l->nlayers, sizeof(*l->layer));
    l->order = alloc(l, l->nboxes, sizeof(*l->order));
    l->down = alloc(l, l->nboxes + 1, sizeof(*l->down));
    l->up = alloc(l, l->nboxes + 1, sizeof(*l->up));
    l->down_link = alloc(l, l->nlinks, sizeof(*l->down_link));
    l->up_link = alloc(l, l->nlinks, sizeof(*l->up_link));
    if (!box || !start || !l->link || !l->lane || !l->layer || !l->order ||
        !l->down || !l->up || !l->down_link || !l->up_link)
        return false;
    memcpy(box, l->box, l->d->n * sizeof(*box));
    l->box = box;
    make_edges(l);
    sort_by(start, l->nlayers, l->order, l->nboxes, layer_of, l);
    for (size_t y = 0; y < l->nlayers; y++)
        l->layer[y] = (cfx_layer){.first = start[y],
                                  .count = start[y + 1] - start[y]};
    sort_by(l->down, l->nboxes, l->down_link, l->nlinks, from_of, l);
    sort_by(l->up, l->nboxes, l->up_link, l->nlinks, to_of, l);
    return choose_lanes(l);
}

/* ---- Order ---- */

/* The mean place of a box's neighbours above and below. */
static void look(cfx_layout *l, uint32_t i, bool above, bool below)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t k = l->up[i]; above && k < l->up[i + 1]; k++, n++)
        sum += l->box[l->link[l->up_link[k]].from].x;
    for (uint32_t k = l->down[i]; below && k < l->down[i + 1]; k++, n++)
        sum += l->box[l->link[l->down_link[k]].to].x;
    l->box[i].want = n ? sum / n : l->box[i].x;
}

typedef struct ranked {
    double want;
    uint32_t box, at;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->want < y->want || x->want > y->want)
        return x->want < y->want ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double distance(const cfx_layout *l, uint32_t a, uint32_t b)
{
    return (l->box[a].width + l->box[b].width) / 2 + space;
}

/* Side by side, the middle at 0. */
static void pack(cfx_layout *l, const cfx_layer *y)
{
    double x = 0;
    for (uint32_t k = 0; k < y->count; k++) {
        uint32_t i = l->order[y->first + k];
        if (k)
            x += distance(l, l->order[y->first + k - 1], i);
        l->box[i].x = x;
    }
    for (uint32_t k = 0; k < y->count; k++)
        l->box[l->order[y->first + k]].x -= x / 2;
}

static void sort_layer(cfx_layout *l, const cfx_layer *y, ranked *tmp,
                       bool downwards)
{
    for (uint32_t k = 0; k < y->count; k++) {
        uint32_t i = l->order[y->first + k];
        look(l, i, downwards, !downwards);
        tmp[k] = (ranked){l->box[i].want, i, k};
    }
    qsort(tmp, y->count, sizeof(*tmp), compare);
    for (uint32_t k = 0; k < y->count; k++)
        l->order[y->first + k] = tmp[k].box;
    pack(l, y);
}

/* ---- Places ---- */

/* Boxes that would overlap and stand side by side: their common place. */
typedef struct pool {
    double sum, weight;
    uint32_t count;
} pool;

static void move_layer(cfx_layout *l, const cfx_layer *y, pool *p, bool above,
                       bool below)
{
    uint32_t n = 0;
    double offset = 0;
    for (uint32_t k = 0; k < y->count; k++) {
        uint32_t i = l->order[y->first + k];
        look(l, i, above, below);
        if (k)
            offset += distance(l, l->order[y->first + k - 1], i);
        /* All weigh the same: then a node and the edge that goes around it
         * make way for each other alike, and the picture does not drift. */
        p[n++] = (pool){l->box[i].want - offset, 1, 1};
        while (n > 1 && p[n - 2].sum * p[n - 1].weight >
                            p[n - 1].sum * p[n - 2].weight) {
            p[n - 2].sum += p[n - 1].sum;
            p[n - 2].weight += p[n - 1].weight;
            p[n - 2].count += p[n - 1].count;
            n--;
        }
    }
    offset = 0;
    for (uint32_t b = 0, k = 0; b < n; b++)
        for (uint32_t end = k + p[b].count; k < end; k++) {
            uint32_t i = l->order[y->first + k];
            if (k)
                offset += distance(l, l->order[y->first + k - 1], i);
            l->box[i].x = p[b].sum / p[b].weight + offset;
        }
}

static void place_rows(cfx_layout *l)
{
    double at = margin;
    for (size_t y = 0; y < l->nlayers; y++) {
        cfx_layer *row = &l->layer[y];
        for (uint32_t k = 0; k < row->count; k++) {
            const cfx_box *b = &l->box[l->order[row->first + k]];
            if (b->height > row->height)
                row->height = b->height;
        }
        row->y = at + row->gap;
        at = row->y + row->height;
        for (uint32_t k = 0; k < row->count; k++) {
            cfx_box *b = &l->box[l->order[row->first + k]];
            b->y = row->y;
            if (b->node == CFX_NO_INDEX)
                b->height = row->height;
        }
    }
    l->height = at + 2 * margin;
}

static void shift(cfx_layout *l)
{
    double left = 0, right = 0;
    for (size_t i = 0; i < l->nboxes; i++) {
        double half = l->box[i].width / 2;
        if (l->box[i].x - half < left)
            left = l->box[i].x - half;
        if (l->box[i].x + half > right)
            right = l->box[i].x + half;
    }
    for (size_t i = 0; i < l->nboxes; i++)
        l->box[i].x += 3 * margin - left;
    l->width = right - left + 6 * margin + (double)l->nlane * lane_space;
}

bool cfx_layout_place(cfx_layout *l)
{
    uint32_t most = 0;
    for (size_t y = 0; y < l->nlayers; y++) {
        pack(l, &l->layer[y]);
        if (l->layer[y].count > most)
            most = l->layer[y].count;
    }
    ranked *tmp = alloc(l, most, sizeof(*tmp));
    pool *pools = alloc(l, most, sizeof(*pools));
    if (!tmp || !pools)
        return false;
    for (int i = 0; i < SORT_SWEEPS; i++)
        for (size_t y = 0; y < l->nlayers; y++)
            sort_layer(l, &l->layer[i % 2 ? l->nlayers - 1 - y : y], tmp,
                       i % 2 == 0);
    for (int i = 0; i < MOVE_SWEEPS; i++)
        for (size_t y = 0; y < l->nlayers; y++)
            move_layer(l, &l->layer[i % 2 ? l->nlayers - 1 - y : y], pools,
                       i % 2 == 0, i % 2 == 1);
    place_rows(l);
    shift(l);
    return true;
}
