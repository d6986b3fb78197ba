/*
 * winograd.c -- Winograd's F(4x4, 3x3) for blocked images.
 *
 * Tiles are computed in chunks: transform the inputs of a chunk, multiply for each of
 * the 36 elements, transform the outputs, each step on all threads. A chunk reads all
 * weights, so larger weights need larger chunks; with small ones the intermediate
 * results stay in L2. If the weights stay there too, each thread computes whole chunks
 * alone, without barriers.
 */
#include "kernel/blocked/winograd.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* Tiles in a chunk: at least LEAST, at most MOST, and one for each CHANNELS channels;
 * SMALLER times as many of F(2x2, 3x3). */
enum { LEAST = 28, CHANNELS = 4, MOST = 256, SMALLER = 2 };
/* The fewest tiles of a chunk that one thread computes. */
enum { LEAST_CUT = 14 };
/* Tiles of a task of a transformation; multiply-adds of a task of products. */
enum { TRANSFORMS = 64, TASK = 1 << 20 };

typedef struct winograd {
    const cfx_context *ctx;
    const struct cfx_blocked_kernels *k;
    const cfx_blocked_winograd *c;
    int tile, edge, elements; /* of outputs, of inputs, of a transform */
    int64_t lanes, filter;    /* of a block in v, and in w */
    int64_t tiles_h, tiles_w, tiles; /* of an image; of all */
    int64_t chunk;                   /* tiles at a time */
    bool own;                        /* chunks belong to threads */
    int64_t at, len;                 /* the tiles that are being computed */
    int64_t v_step, m_step;          /* from element to element */
    int64_t group, groups;           /* blocks of y in a task, tasks */
    float *v, *m;
} winograd;

/* If the weights fit into L2, give each thread the same number of chunks, unless these
 * become too small. */
static void own_chunks(winograd *w)
{
    const cfx_blocked_winograd *c = w->c;
    int64_t threads = cfx_context_threads(w->ctx);
    const int64_t bytes[] = {c->in_blocks, c->out_blocks, w->elements,
                             CFX_BLOCK,    w->filter,     sizeof(float)};
    int64_t chunks = cfx_ceil_div(w->tiles, cfx_max64(w->chunk, 1));

    chunks = cfx_round_up(cfx_max64(chunks, 1), threads);
    w->own = threads > 1 && cfx_product64(6, bytes) <= w->ctx->caches.l2 &&
             w->tiles >= chunks * LEAST_CUT;
    if (w->own)
        w->chunk = cfx_ceil_div(w->tiles, chunks);
}

static winograd make_winograd(const cfx_context *ctx,
                              const cfx_blocked_winograd *c)
{
    bool large = c->type == CFX_BLOCKED_FLOAT;
    winograd w = {.ctx = ctx,
                  .c = c,
                  .tile = large ? CFX_F4_TILE : CFX_F2_TILE,
                  .edge = large ? CFX_F4_EDGE : CFX_F2_EDGE,
                  .elements = large ? CFX_F4_ELEMENTS : CFX_F2_ELEMENTS,
                  .lanes = cfx_blocked_lanes(c->type == CFX_BLOCKED_PAIRS),
                  .filter = cfx_blocked_lanes(!large)};
    int64_t channels = (c->in_blocks + c->out_blocks) * CFX_BLOCK;

    w.tiles_h = cfx_ceil_div(c->out[0], w.tile);
    w.tiles_w = cfx_ceil_div(c->out[1], w.tile);
    w.tiles = c->batch * w.tiles_h * w.tiles_w;
    w.chunk = cfx_min64(cfx_max64(channels / CHANNELS, LEAST), MOST);
    if (!large)
        w.chunk *= SMALLER;
    w.chunk = cfx_ceil_div(w.tiles,
                           cfx_max64(cfx_ceil_div(w.tiles, w.chunk), 1));
    own_chunks(&w);
    /* Not a multiple of the page size, which would alias in the caches. */
    w.v_step = c->in_blocks * w.chunk * w.lanes + CFX_BLOCK;
    w.m_step = c->out_blocks * w.chunk * CFX_BLOCK + CFX_BLOCK;
    return w;
}

/* Floats of the intermediate results of a chunk. */
static int64_t between(const winograd *w)
{
    return w->elements * (w->v_step + w->m_step);
}

size_t cfx_blocked_winograd_workspace(const cfx_context *ctx,
                                      const cfx_blocked_winograd *c)
{
    winograd w = make_winograd(ctx, c);
    int64_t chunks = w.own ? cfx_context_threads(ctx) : 1;

    return (size_t)(chunks * between(&w)) * sizeof(float);
}

/* ---- Tiles ---- */

/* Adjacent tiles of a block in the chunk. */
typedef struct span {
    int64_t block, tile;     /* the first one */
    int64_t image, row, col; /* its first output */
    int64_t n;
} span;

/* The tiles from i on, but not `end`: tile i % len of block i / len. */
static span span_at(const winograd *w, int64_t i, int64_t end)
{
    int64_t tile = i % w->len, of_image = w->tiles_h * w->tiles_w;
    int64_t at = (w->at + tile) % of_image, col = at % w->tiles_w;
    int64_t n = cfx_min64(end - i, w->len - tile);

    return (span){i / w->len,
                  tile,
                  (w->at + tile) / of_image,
                  at / w->tiles_w * w->tile,
                  col * w->tile,
                  cfx_min64(n, w->tiles_w - col)};
}

/* ---- Inputs ---- */

/* Copy the inputs of a tile at the edge, with zeros outside of x. */
static void pad_tile(const winograd *w, const float *plane, int64_t top,
                     int64_t left, float *to)
{
    const cfx_blocked_winograd *c = w->c;
    int64_t from = cfx_max64(-left, 0), lanes = cfx_blocked_lanes(c->narrow_x);
    int64_t n = cfx_min64(c->in[1] - left, w->edge) - from;
    size_t unit = (size_t)lanes * sizeof(float);

    memset(to, 0, (size_t)(w->edge * w->edge) * unit);
    for (int64_t i = 0; i < w->edge && n > 0; i++)
        if (top + i >= 0 && top + i < c->in[0])
            memcpy(to + (i * w->edge + from) * lanes,
                   plane + ((top + i) * c->in[1] + left + from) * lanes,
                   (size_t)n * unit);
}

/* How many of the span's tiles from `left` on lie inside of x. */
static int64_t inner_tiles(const winograd *w, int64_t top, int64_t left,
                           int64_t n)
{
    const cfx_blocked_winograd *c = w->c;
    int64_t room = c->in[1] - w->edge - left;

    if (top < 0 || left < 0 || top + w->edge > c->in[0] || room < 0)
        return 0;
    return cfx_min64(n, room / w->tile + 1);
}

static void transform_span(const winograd *w, const span *s)
{
    enum { EDGE = CFX_F4_EDGE };
    const cfx_blocked_winograd *c = w->c;
    int64_t lanes = cfx_blocked_lanes(c->narrow_x), row = c->in[1] * lanes;
    int64_t top = s->row - c->pad[0], left = s->col - c->pad[1], m;
    const float *plane = c->x +
                         (s->image * c->in_blocks + s->block) * c->in[0] * row;
    float *v = w->v + (s->block * w->len + s->tile) * w->lanes;
    cfx_winograd_inputs_fn *run = w->k->winograd->inputs[c->type][c->narrow_x];

    for (int64_t n = s->n; n > 0; n -= m) {
        m = inner_tiles(w, top, left, n);
        if (m > 0) {
            run(v, w->v_step, plane + top * row + left * lanes, row, m);
        } else {
            float padded[EDGE * EDGE * CFX_BLOCK];
            m = 1;
            pad_tile(w, plane, top, left, padded);
            run(v, w->v_step, padded, w->edge * lanes, m);
        }
        v += m * w->lanes;
        left += m * w->tile;
    }
}

static void transform_inputs(void *arg, int64_t begin, int64_t end, int worker)
{
    const winograd *w = arg;
    span s;

    (void)worker;
    for (int64_t i = begin; i < end; i += s.n) {
        s = span_at(w, i, end);
        transform_span(w, &s);
    }
}

/* ---- Products ---- */

/* Piece i: element i / groups, group i % groups of the blocks of y. */
static void multiply(void *arg, int64_t begin, int64_t end, int worker)
{
    const winograd *w = arg;
    const cfx_blocked_winograd *c = w->c;
    int64_t filter = w->filter * CFX_BLOCK, block = c->in_blocks * filter;

    (void)worker;
    for (int64_t i = begin; i < end && !cfx_context_stops(w->ctx); i++) {
        int64_t e = i / w->groups, b = i % w->groups * w->group;
        cfx_blocked_tile t = {.type = c->type,
                              .n = {c->in_blocks, 1, 1},
                              .steps = w->filter,
                              .x = w->v + e * w->v_step,
                              .x_pixel = w->lanes,
                              .x_at = {w->len * w->lanes, 0, 0},
                              .x_step = w->lanes / w->filter,
                              .w = c->w + (e * c->out_blocks + b) * block,
                              .w_block = block,
                              .w_at = {filter, 0},
                              .end = {.lo = -INFINITY, .hi = INFINITY},
                              .y = w->m + e * w->m_step +
                                   b * w->len * CFX_BLOCK,
                              .y_pixel = CFX_BLOCK,
                              .y_block = w->len * CFX_BLOCK};

        cfx_blocked_run_tiles(w->ctx, t, w->len,
                              cfx_min64(w->group, c->out_blocks - b));
    }
}

/* ---- Outputs ---- */

static void transform_outputs(void *arg, int64_t begin, int64_t end,
                              int worker)
{
    const winograd *w = arg;
    const cfx_blocked_winograd *c = w->c;
    int64_t y = cfx_blocked_lanes(c->end.narrow);
    int64_t add = cfx_blocked_lanes(c->end.add_narrow);
    cfx_winograd_outputs t = {.step = w->m_step,
                              .end = c->end,
                              .row = c->out[1] * y,
                              .add_row = c->out[1] * add};
    span s;

    (void)worker;
    for (int64_t i = begin; i < end; i += t.n) {
        s = span_at(w, i, end);
        int64_t row = (s.image * c->out_blocks + s.block) * c->out[0] + s.row;
        int64_t at = row * c->out[1] + s.col;
        int64_t last = s.col + (s.n - 1) * w->tile;
        t.n = s.n;
        t.m = w->m + (s.block * w->len + s.tile) * CFX_BLOCK;
        t.rows = (int)cfx_min64(w->tile, c->out[0] - s.row);
        t.cols = (int)cfx_min64(w->tile, c->out[1] - last);
        t.y = c->y + at * y;
        if (c->end.bias)
            t.end.bias = c->end.bias + s.block * CFX_BLOCK;
        if (c->end.add)
            t.end.add = c->end.add + at * add;
        w->k->winograd->outputs[c->type](&t);
    }
}

/* ---- Chunks ---- */

/* Set w to chunk i. */
static void go_to(winograd *w, int64_t i)
{
    w->at = i * w->chunk;
    w->len = cfx_min64(w->chunk, w->tiles - w->at);
}

/* Compute chunks on this thread. */
static void run_own(void *arg, int64_t begin, int64_t end, int worker)
{
    winograd w = *(const winograd *)arg;

    w.v += worker * between(&w);
    w.m += worker * between(&w);
    for (int64_t i = begin; i < end && !cfx_context_stops(w.ctx); i++) {
        go_to(&w, i);
        transform_inputs(&w, 0, w.c->in_blocks * w.len, worker);
        multiply(&w, 0, w.elements * w.groups, worker);
        transform_outputs(&w, 0, w.c->out_blocks * w.len, worker);
    }
}

/* Compute a chunk on all threads. */
static void run_together(cfx_context *ctx, winograd *w)
{
    const cfx_blocked_winograd *c = w->c;

    cfx_parallel_for(ctx, c->in_blocks * w->len, TRANSFORMS, transform_inputs,
                     w);
    cfx_parallel_for(ctx, w->elements * w->groups, 1, multiply, w);
    cfx_parallel_for(ctx, c->out_blocks * w->len, TRANSFORMS,
                     transform_outputs, w);
}

void cfx_blocked_winograd_run(cfx_context *ctx, const cfx_blocked_winograd *c,
                              void *workspace)
{
    winograd w = make_winograd(ctx, c);
    int64_t cost = c->in_blocks * CFX_BLOCK * CFX_BLOCK * w.chunk;
    int64_t chunks;

    if (w.tiles * c->out_blocks == 0)
        return;
    w.k = cfx_context_kernels(ctx)->blocked;
    w.v = workspace;
    w.m = w.v + w.elements * w.v_step;
    w.group = cfx_round_up(cfx_max64(TASK / cfx_max64(cost, 1), 1), 4);
    w.group = cfx_min64(w.group, c->out_blocks);
    w.groups = cfx_ceil_div(c->out_blocks, w.group);
    chunks = cfx_ceil_div(w.tiles, w.chunk);
    if (w.own) {
        cfx_parallel_for(ctx, chunks, 1, run_own, &w);
        return;
    }
    for (int64_t i = 0; i < chunks && !cfx_context_stops(ctx); i++) {
        go_to(&w, i);
        run_together(ctx, &w);
    }
}
