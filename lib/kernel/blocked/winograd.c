/*
 * winograd.c -- Winograd's F(4x4, 3x3) for blocked images.
 *
 * Tiles are computed in chunks. All threads transform the inputs of a chunk, then
 * multiply, one of the 36 numbers after the other, then transform the outputs.
 * The larger the weights, the more tiles are in a chunk, since each chunk reads
 * all weights; otherwise what lies between the steps stays in the second cache.
 */
#include "kernel/blocked/winograd.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"

enum { N = CFX_F4_NUMBERS, TILE = CFX_F4_TILE, EDGE = CFX_F4_EDGE };
/* Tiles in a chunk: at least these, and one for each CHANNELS channels. */
enum { LEAST = 28, CHANNELS = 4, MOST = 256 };
/* Tiles of a piece of a transformation; multiply-adds of a piece of products. */
enum { TRANSFORMS = 64, PIECE = 1 << 20 };

typedef struct winograd {
    const cfx_context *ctx;
    const struct cfx_blocked_kernels *k;
    const cfx_blocked_winograd *c;
    int64_t tiles_h, tiles_w, tiles; /* of an image; of all */
    int64_t chunk;                   /* tiles at a time */
    int64_t at, len;                 /* the tiles that are being computed */
    int64_t v_step, m_step;          /* from one of the 36 to the next */
    int64_t group, groups;           /* blocks of y in a piece, pieces */
    float *v, *m;
} winograd;

static winograd make_winograd(const cfx_blocked_winograd *c)
{
    winograd w = {.c = c};
    int64_t channels = (c->in_blocks + c->out_blocks) * CFX_BLOCK;

    w.tiles_h = cfx_ceil_div(c->out[0], TILE);
    w.tiles_w = cfx_ceil_div(c->out[1], TILE);
    w.tiles = c->batch * w.tiles_h * w.tiles_w;
    w.chunk = cfx_min64(cfx_max64(channels / CHANNELS, LEAST), MOST);
    w.chunk = cfx_ceil_div(w.tiles,
                           cfx_max64(cfx_ceil_div(w.tiles, w.chunk), 1));
    /* Off the multiples of a page, which would share sets of the caches. */
    w.v_step = c->in_blocks * w.chunk * CFX_BLOCK + CFX_BLOCK;
    w.m_step = c->out_blocks * w.chunk * CFX_BLOCK + CFX_BLOCK;
    return w;
}

size_t cfx_blocked_winograd_workspace(const cfx_blocked_winograd *c)
{
    winograd w = make_winograd(c);

    return (size_t)(N * (w.v_step + w.m_step)) * sizeof(float);
}

/* ---- Tiles ---- */

typedef struct place {
    int64_t image, row, col; /* of the first output */
} place;

static place place_of(const winograd *w, int64_t tile)
{
    int64_t in_image = tile % (w->tiles_h * w->tiles_w);

    return (place){tile / (w->tiles_h * w->tiles_w),
                   in_image / w->tiles_w * TILE, in_image % w->tiles_w * TILE};
}

/* ---- Inputs ---- */

/* The inputs of a tile that reaches over the edges, with zeros outside. */
static void pad_tile(const cfx_blocked_winograd *c, const float *plane,
                     int64_t top, int64_t left, float *to)
{
    int64_t from = cfx_max64(-left, 0), lanes = cfx_blocked_lanes(c->narrow_x);
    int64_t n = cfx_min64(c->in[1] - left, EDGE) - from;
    size_t unit = (size_t)lanes * sizeof(float);

    memset(to, 0, EDGE * EDGE * unit);
    for (int64_t i = 0; i < EDGE && n > 0; i++)
        if (top + i >= 0 && top + i < c->in[0])
            memcpy(to + (i * EDGE + from) * lanes,
                   plane + ((top + i) * c->in[1] + left + from) * lanes,
                   (size_t)n * unit);
}

/* Tile i % len of the chunk, block i / len. */
static void transform_inputs(void *arg, int64_t begin, int64_t end, int worker)
{
    const winograd *w = arg;
    const cfx_blocked_winograd *c = w->c;
    int64_t lanes = cfx_blocked_lanes(c->narrow_x), row = c->in[1] * lanes;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        place p = place_of(w, w->at + i % w->len);
        int64_t b = i / w->len, top = p.row - c->pad[0];
        int64_t left = p.col - c->pad[1];
        const float *plane = c->x +
                             (p.image * c->in_blocks + b) * c->in[0] * row;
        float *v = w->v + (b * w->len + i % w->len) * CFX_BLOCK;

        if (top >= 0 && left >= 0 && top + EDGE <= c->in[0] &&
            left + EDGE <= c->in[1]) {
            w->k->winograd->inputs[c->narrow_x](
                v, w->v_step, plane + top * row + left * lanes, row);
        } else {
            float padded[EDGE * EDGE * CFX_BLOCK];
            pad_tile(c, plane, top, left, padded);
            w->k->winograd->inputs[c->narrow_x](v, w->v_step, padded,
                                                EDGE * lanes);
        }
    }
}

/* ---- Products ---- */

/* Group i % groups of the blocks of y, number i / groups of the 36. */
static void multiply(void *arg, int64_t begin, int64_t end, int worker)
{
    const winograd *w = arg;
    const cfx_blocked_winograd *c = w->c;
    int64_t block = c->in_blocks * CFX_BLOCK * CFX_BLOCK;

    (void)worker;
    for (int64_t i = begin; i < end && !cfx_context_stops(w->ctx); i++) {
        int64_t e = i / w->groups, b = i % w->groups * w->group;
        cfx_blocked_tile t = {.n = {c->in_blocks, 1, 1},
                              .steps = CFX_BLOCK,
                              .x = w->v + e * w->v_step,
                              .x_pixel = CFX_BLOCK,
                              .x_at = {w->len * CFX_BLOCK, 0, 0},
                              .x_step = 1,
                              .w = c->w + (e * c->out_blocks + b) * block,
                              .w_block = block,
                              .w_at = {CFX_BLOCK * CFX_BLOCK, 0},
                              .end = {.lo = -INFINITY, .hi = INFINITY},
                              .y = w->m + e * w->m_step +
                                   b * w->len * CFX_BLOCK,
                              .y_pixel = CFX_BLOCK,
                              .y_block = w->len * CFX_BLOCK};

        cfx_blocked_run_tiles(w->k, t, w->len,
                              cfx_min64(w->group, c->out_blocks - b));
    }
}

/* ---- Outputs ---- */

/* Tile i % len of the chunk, block i / len. */
static void transform_outputs(void *arg, int64_t begin, int64_t end,
                              int worker)
{
    const winograd *w = arg;
    const cfx_blocked_winograd *c = w->c;
    int64_t y = cfx_blocked_lanes(c->end.narrow);
    int64_t add = cfx_blocked_lanes(c->end.add_narrow);

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        place p = place_of(w, w->at + i % w->len);
        int64_t b = i / w->len;
        int64_t at = ((p.image * c->out_blocks + b) * c->out[0] + p.row) *
                         c->out[1] +
                     p.col;
        cfx_winograd_outputs t = {
            .m = w->m + (b * w->len + i % w->len) * CFX_BLOCK,
            .step = w->m_step,
            .rows = (int)cfx_min64(TILE, c->out[0] - p.row),
            .cols = (int)cfx_min64(TILE, c->out[1] - p.col),
            .end = c->end,
            .y = c->y + at * y,
            .row = c->out[1] * y,
            .add_row = c->out[1] * add};

        if (t.end.bias)
            t.end.bias += b * CFX_BLOCK;
        if (t.end.add)
            t.end.add += at * add;
        w->k->winograd->outputs(&t);
    }
}

void cfx_blocked_winograd_run(cfx_context *ctx, const cfx_blocked_winograd *c,
                              void *workspace)
{
    winograd w = make_winograd(c);
    int64_t cost = c->in_blocks * CFX_BLOCK * CFX_BLOCK * w.chunk;

    if (w.tiles * c->out_blocks == 0)
        return;
    w.ctx = ctx;
    w.k = cfx_context_kernels(ctx)->blocked;
    w.v = workspace;
    w.m = w.v + N * w.v_step;
    w.group = cfx_round_up(cfx_max64(PIECE / cfx_max64(cost, 1), 1), 4);
    w.group = cfx_min64(w.group, c->out_blocks);
    w.groups = cfx_ceil_div(c->out_blocks, w.group);
    for (w.at = 0; w.at < w.tiles && !cfx_context_stops(ctx); w.at += w.len) {
        w.len = cfx_min64(w.chunk, w.tiles - w.at);
        cfx_parallel_for(ctx, c->in_blocks * w.len, TRANSFORMS,
                         transform_inputs, &w);
        cfx_parallel_for(ctx, N * w.groups, 1, multiply, &w);
        cfx_parallel_for(ctx, c->out_blocks * w.len, TRANSFORMS,
                         transform_outputs, &w);
    }
}
