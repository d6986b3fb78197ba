/*
 * memory_place -- choose offsets for blocks with lifetimes, so that no two live
 * blocks overlap.
 *
 * Finding the smallest arena is NP-hard, but graphs of models are benign.
 * Blocks are placed one by one, each in the smallest sufficient gap between
 * placed blocks with overlapping lifetimes. Several orders are tried; then
 * blocks beyond the lower bound are repeatedly moved to the front of the order,
 * until none is beyond the largest live set, which no plan can beat. A pass
 * that visits too many pairs of blocks is abandoned; the result of
 * memory_sweep, which takes no longer than sorting, is always available.
 */
#include "shapeprop/memory/memory_impl.h"

#include <stdlib.h>

/* Limit on the pairs of blocks that all passes may visit, and an addition for
 * each block. A pair takes some nanoseconds; counting them instead makes a plan
 * independent of the machine. */
enum { MOST_PAIRS = 4000000, MORE_PAIRS = 64, MOST_ROUNDS = 100 };

/* ---- The largest live set ---- */

cfx_status cfx_memory__bound(int64_t *bound, cfx_context *ctx,
                             const cfx_memory_span *span, size_t n,
                             uint32_t end, cfx_error *err)
{
    size_t size = ((size_t)end + 1) * sizeof(int64_t);
    int64_t *step = cfx_calloc(ctx, (size_t)end + 1, sizeof(*step)), now = 0;
    *bound = 0;
    if (!step)
        return cfx_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        step[span[i].first] += span[i].bytes;
        step[span[i].last + 1] -= span[i].bytes;
    }
    for (uint32_t t = 0; t < end; t++) {
        now += step[t];
        if (now > *bound)
            *bound = now;
    }
    cfx_free(ctx, step, size);
    return CFX_OK;
}

/* ---- Placed blocks with overlapping lifetimes ---- */

typedef struct gap {
    int64_t from, to; /* the occupied range */
} gap;

/* Sort key of a block; the first is placed first. */
typedef struct rank {
    int64_t key;
    uint32_t at; /* index into `span` */
} rank;

typedef struct placing {
    cfx_context *ctx;
    cfx_memory_span *span; /* sorted by `first` */
    size_t n;
    uint32_t *place; /* index in the caller's array */
    /* A segment tree over `span`: the latest `last` + 1 of the placed blocks
     * below; leaves begin at `width`, the root is 1. */
    uint32_t *latest, width;
    gap *taken; /* ranges of blocks that live at the same time */
    size_t ntaken;
    rank *order;
    int64_t *best;   /* offsets of the best pass */
    int64_t height;  /* its height */
    int64_t pairs;   /* budget of pairs */
    int64_t ceiling; /* the highest gap ends here and is filled from its
                                top; 0: there is none */
} placing;

static void set_placed(placing *p, uint32_t i, bool placed)
{
    uint32_t at = p->width + i;
    p->latest[at] = placed ? p->span[i].last + 1 : 0;
    while (at >>= 1) {
        uint32_t a = p->latest[2 * at], b = p->latest[2 * at + 1];
        p->latest[at] = a > b ? a : b;
    }
}

/* Return the number of blocks that begin at or before a time. */
static uint32_t begun_by(const placing *p, uint32_t time)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p->span[mid].first <= time)
            low = mid + 1;
        else
            high = mid;
    }
    return (uint32_t)low;
}

/* Collect the placed blocks of span[from..], before `limit`, that live at
 * `time` or later. The recursion depth is that of the tree. */
static void find_living(placing *p, uint32_t at, uint32_t from, uint32_t width,
                        uint32_t limit, uint32_t time)
{
    if (from >= limit || p->latest[at] <= time)
        return;
    if (width > 1) {
        find_living(p, 2 * at, from, width / 2, limit, time);
        find_living(p, 2 * at + 1, from + width / 2, width / 2, limit, time);
        return;
    }
    const cfx_memory_span *s = &p->span[from];
    p->taken[p->ntaken++] = (gap){s->offset, s->offset + s->bytes};
}

static int by_from(const void *a, const void *b)
{
    const gap *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static void sort_taken(placing *p)
{
    if (p->ntaken > 16) {
        qsort(p->taken, p->ntaken, sizeof(*p->taken), by_from);
        return;
    }
    for (size_t i = 1; i < p->ntaken; i++) {
        gap g = p->taken[i];
        size_t k = i;
        for (; k && p->taken[k - 1].from > g.from; k--)
            p->taken[k] = p->taken[k - 1];
        p->taken[k] = g;
    }
}

/* Return the start of the smallest sufficient gap, or the end of all blocks. */
static int64_t best_gap(const placing *p, int64_t bytes)
{
    int64_t end = 0, best = -1, least = INT64_MAX;
    for (size_t i = 0; i < p->ntaken; i++) {
        int64_t room = p->taken[i].from - end;
        if (room >= bytes && room < least) {
            least = room;
            best = end;
        }
        if (p->taken[i].to > end)
            end = p->taken[i].to;
    }
    int64_t room = p->ceiling - end;
    if (end && room >= bytes && room < least)
        return p->ceiling - bytes;
    return best < 0 ? end : best;
}

/* ---- One pass ---- */

static int by_key(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static void keep_best(placing *p, int64_t height)
{
    if (height >= p->height)
        return;
    p->height = height;
    for (size_t i = 0; i < p->n; i++)
        p->best[i] = p->span[i].offset;
}

/* Place all blocks in order. Returns the height, or -1 if abandoned. */
static int64_t place_all(placing *p)
{
    int64_t height = 0;
    memset(p->latest, 0, 2 * (size_t)p->width * sizeof(*p->latest));
    qsort(p->order, p->n, sizeof(*p->order), by_key);
    for (size_t i = 0; i < p->n; i++) {
        cfx_memory_span *s = &p->span[p->order[i].at];
        p->ntaken = 0;
        find_living(p, 1, 0, p->width, begun_by(p, s->last), s->first);
        p->pairs -= (int64_t)p->ntaken + 8;
        if (p->pairs < 0)
            return -1;
        sort_taken(p);
        s->offset = best_gap(p, s->bytes);
        if (s->offset + s->bytes > height)
            height = s->offset + s->bytes;
        set_placed(p, p->order[i].at, true);
    }
    keep_best(p, height);
    return height;
}

/* ---- Orders ---- */

static int64_t length(const cfx_memory_span *s)
{
    return (int64_t)s->last - s->first + 1;
}

static int64_t by_time(const cfx_memory_span *s)
{
    return -(int64_t)s->first;
}

static int64_t by_size(const cfx_memory_span *s)
{
    return s->bytes;
}

static int64_t by_length(const cfx_memory_span *s)
{
    return length(s);
}

/* Sizes without a number compare equal. */
static int64_t by_area(const cfx_memory_span *s)
{
    const int64_t most = INT64_MAX / 2;
    int64_t units = s->bytes / CFX_MEMORY_ALIGN;
    return units > most / length(s) ? most : units * length(s);
}

/* With a ceiling, chains of blocks fill both ends of the arena in turn. */
typedef struct pass {
    int64_t (*key)(const cfx_memory_span *s);
    bool ceiling;
} pass;

static bool try_order(placing *p, const pass *how, int64_t bound)
{
    p->ceiling = how->ceiling ? bound : 0;
    for (size_t i = 0; i < p->n; i++)
        p->order[i] = (rank){how->key(&p->span[i]), (uint32_t)i};
    return place_all(p) >= 0;
}

/* Repeatedly move blocks beyond the bound to the front of the order. */
static void improve(placing *p, int64_t bound)
{
    for (int round = 1; round <= MOST_ROUNDS && p->height > bound; round++) {
        for (size_t i = 0; i < p->n; i++) {
            const cfx_memory_span *s = &p->span[p->order[i].at];
            if (s->offset + s->bytes > bound)
                p->order[i].key = INT64_MAX / 2 + round;
        }
        if (place_all(p) < 0)
            return;
    }
}

static void try_orders(placing *p, int64_t bound)
{
    static const pass passes[] = {
        {by_time, true},  {by_size, false},  {by_size, true},
        {by_area, false}, {by_length, true},
    };
    size_t n = sizeof(passes) / sizeof(*passes);
    for (size_t i = 0; i < n && p->height > bound; i++)
        if (!try_order(p, &passes[i], bound))
            return;
    for (size_t i = 0; i < n && p->height > bound; i++) {
        if (!try_order(p, &passes[i], bound))
            return;
        improve(p, bound);
    }
}

/* ---- The plan ---- */

static int by_first(const void *a, const void *b)
{
    const cfx_memory_span *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    /* `offset` still holds the original index. */
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void *list(placing *p, size_t n, size_t size, bool *ok)
{
    void *made = cfx_calloc(p->ctx, n + 1, size);
    *ok = *ok && made;
    return made;
}

static bool init(placing *p, const cfx_memory_span *span)
{
    bool ok = true;
    p->width = 1;
    while (p->width < p->n)
        p->width *= 2;
    p->span = list(p, p->n, sizeof(*p->span), &ok);
    p->place = list(p, p->n, sizeof(*p->place), &ok);
    p->latest = list(p, 2 * (size_t)p->width, sizeof(*p->latest), &ok);
    p->taken = list(p, p->n, sizeof(*p->taken), &ok);
    p->order = list(p, p->n, sizeof(*p->order), &ok);
    p->best = list(p, p->n, sizeof(*p->best), &ok);
    for (size_t i = 0; ok && i < p->n; i++) {
        p->span[i] = span[i];
        p->span[i].offset = (int64_t)i;
    }
    if (ok)
        qsort(p->span, p->n, sizeof(*p->span), by_first);
    for (size_t i = 0; ok && i < p->n; i++)
        p->place[i] = (uint32_t)p->span[i].offset;
    return ok;
}

static void release(placing *p)
{
    cfx_context *ctx = p->ctx;
    size_t n = p->n + 1;
    cfx_free(ctx, p->span, n * sizeof(*p->span));
    cfx_free(ctx, p->place, n * sizeof(*p->place));
    cfx_free(ctx, p->latest, (2 * (size_t)p->width + 1) * sizeof(*p->latest));
    cfx_free(ctx, p->taken, n * sizeof(*p->taken));
    cfx_free(ctx, p->order, n * sizeof(*p->order));
    cfx_free(ctx, p->best, n * sizeof(*p->best));
}

cfx_status cfx_memory__place(cfx_memory_span *span, size_t n, uint32_t end,
                             int64_t bound, int64_t *size, cfx_context *ctx,
                             cfx_error *err)
{
    placing p = {.ctx = ctx,
                 .n = n,
                 .height = INT64_MAX,
                 .pairs = MOST_PAIRS + MORE_PAIRS * (int64_t)n};
    cfx_status st = init(&p, span) ? CFX_OK : cfx_no_memory(err);
    *size = 0;
    if (!st)
        st = cfx_memory__sweep(p.span, n, end, &p.height, ctx, err);
    if (!st && n) {
        for (size_t i = 0; i < n; i++)
            p.best[i] = p.span[i].offset;
        try_orders(&p, bound);
        for (size_t i = 0; i < n; i++)
            span[p.place[i]].offset = p.best[i];
        *size = p.height;
    }
    release(&p);
    return st;
}
