/*
 * conv_winograd.c -- 3x3 convolutions by Winograd's F(4x4, 3x3).
 *
 * Tiles are done a chunk at a time, as many as let the transformed inputs stay
 * in the second cache. First all threads transform the inputs of the chunk, a
 * channel each. Then each takes a panel of output channels, with which it goes
 * through all the rest: transformed weights, 36 products, outputs; what is in
 * between stays in its cache. Weights are transformed for each chunk anew where
 * there are few chunks (writing them to memory takes longer), else once.
 *
 * The transformations take differences, so that one infinite input would make
 * NaN of a whole tile. When an output is not finite everything is done again
 * the plain way (conv_windows.c), which is rare and right.
 */
#include "kernel/conv/conv_winograd.h"

#include <stdatomic.h>
#include <string.h>

#include "kernel/conv/conv_core.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

enum { N = CFX_WINO_NUMBERS, TILE = CFX_WINO_TILE, EDGE = CFX_WINO_EDGE };
enum { MAX_LANES = 16 };
/* From so many chunks on, all transformed weights are kept. */
enum { KEEP_WEIGHTS = 4 };

/* The input and output of a tile, and their sizes. */
typedef struct tile {
    int64_t in;  /* in a padded plane */
    int64_t out; /* in channel 0 of y */
    int64_t image;
    int8_t rows, cols; /* of outputs */
} tile;

typedef struct wino {
    const cfx_conv3 *c;
    const struct cfx_winograd_kernels *k;
    const cfx_gemm_type *type;
    int64_t nr;                      /* columns of a panel of tiles */
    int64_t tiles_h, tiles_w, tiles; /* of a plane; of all planes */
    int64_t kc, blocks;              /* steps in a block of channels, blocks */
    int64_t panels;                  /* of output channels */
    int64_t chunk;                   /* tiles at a time, whole panels */
    bool keep;                       /* the weights */
    int64_t at, len;                 /* the tiles being worked on */
    int64_t row;                     /* of a padded plane */
    int64_t u_step, v_step, m_step;  /* from one of the 36 to the next */
    int64_t u_panel; /* from one panel of weights to the next */
    size_t priv;     /* bytes for each worker */
    tile *tile;      /* of the chunk, filled up with its last one */
    float *u, *v;
    char *work; /* of the workers: a padded plane, or u and m */
    atomic_bool infinite;
} wino;

static int64_t tiles_of(const cfx_conv3 *c)
{
    return c->c.batch * cfx_ceil_div(c->c.out[1], TILE) *
           cfx_ceil_div(c->c.out[2], TILE);
}

bool cfx_conv_is_winograd(const cfx_conv3 *c)
{
    const cfx_conv *v = &c->c;
    int64_t tiles;

    if (v->dtype != CFX_F32 || v->groups != 1 || v->kernel[0] != 1 ||
        v->in[0] != 1 || v->out[0] != 1 || v->pad[0] != 0)
        return false;
    for (int a = 1; a < 3; a++)
        if (v->kernel[a] != 3 || v->stride[a] != 1 || v->dilation[a] != 1 ||
            v->pad[a] > 2)
            return false;
    if (v->in_channels < 16 || v->out_channels < 24)
        return false;
    /* In cycles for each pair of channels, with 32 products in a cycle: what
     * the plain way takes, against the products and the weights here. */
    tiles = cfx_round_up(tiles_of(c), 16);
    return (double)v->batch * (double)c->out_len * 9 / 32 >
           1.3 * (36.0 / 32 * (double)tiles + 12);
}

static size_t floats(int64_t n)
{
    return cfx_gemm_align((size_t)n * sizeof(float));
}

static void make_wino(wino *w, const cfx_context *ctx, const cfx_conv3 *c)
{
    const cfx_conv *v = &c->c;
    int64_t chunks, tile_rows;
    size_t plane, panel;

    memset(w, 0, sizeof(*w));
    w->c = c;
    w->k = cfx_context_kernels(ctx)->conv->winograd;
    w->type = cfx_gemm_type_of(ctx, sizeof(float));
    w->tiles_h = cfx_ceil_div(v->out[1], TILE);
    w->tiles_w = cfx_ceil_div(v->out[2], TILE);
    w->tiles = tiles_of(c);
    w->blocks = cfx_ceil_div(v->in_channels, CFX_GEMM_KC);
    w->kc = cfx_round_up(cfx_ceil_div(v->in_channels, w->blocks), 8);
    w->blocks = cfx_ceil_div(v->in_channels, w->kc);
    w->panels = cfx_ceil_div(v->out_channels, w->type->mr);

    /* Chunks of about the same size, whole vectors but the last. */
    chunks = cfx_ceil_div(w->tiles * N * v->in_channels * 4,
                          ctx->caches.l2 / 16 * 7);
    chunks = cfx_min64(chunks, cfx_ceil_div(w->tiles, MAX_LANES));
    w->chunk = cfx_round_up(cfx_ceil_div(w->tiles, chunks), MAX_LANES);
    w->nr = cfx_min64(w->type->nr, w->chunk);
    w->keep = cfx_ceil_div(w->tiles, w->chunk) >= KEEP_WEIGHTS;

    w->row = w->tiles_w * TILE + 4;
    w->u_step = w->type->mr * CFX_GEMM_A_ROW;
    w->u_panel = N * w->blocks * w->u_step;
    /* Off the multiples of a page, which would share sets of the caches. */
    w->v_step = v->in_channels * cfx_round_up(w->chunk, w->nr) + 16;
    w->m_step = w->type->mr * w->chunk + 16;
    tile_rows = cfx_min64(w->tiles_h,
                          (w->chunk + w->tiles_w - 2) / w->tiles_w + 1);
    plane = floats(w->row * (tile_rows * TILE + 2));
    panel = floats(N * w->m_step) + (w->keep ? 0 : floats(w->u_panel));
    w->priv = (plane > panel ? plane : panel) + 64;
}

static size_t table_size(const wino *w)
{
    return cfx_gemm_align((size_t)(w->chunk + MAX_LANES) * sizeof(tile));
}

static size_t kept_size(const wino *w)
{
    return w->keep ? floats(w->panels * w->u_panel) : 0;
}

size_t cfx_conv_winograd_workspace(const cfx_context *ctx, const cfx_conv3 *c)
{
    wino w;
    size_t plain = cfx_conv_windows_workspace(ctx, c), size;

    make_wino(&w, ctx, c);
    size = table_size(&w) + kept_size(&w) + floats(N * w.v_step) +
           w.priv * (size_t)cfx_context_threads(ctx);
    return size > plain ? size : plain;
}

/* ---- The chunk ---- */

static void make_table(wino *w)
{
    const cfx_conv *v = &w->c->c;

    for (int64_t i = 0; i < w->len + MAX_LANES; i++) {
        int64_t t = w->at + cfx_min64(i, w->len - 1);
        int64_t x = t % w->tiles_w, y = t / w->tiles_w % w->tiles_h;
        int64_t image = t / w->tiles_w / w->tiles_h;

        w->tile[i] = (tile){(y * w->row + x) * TILE,
                            image * v->out_channels * w->c->out_len +
                                (y * v->out[2] + x) * TILE,
                            image,
                            (int8_t)cfx_min64(TILE, v->out[1] - y * TILE),
                            (int8_t)cfx_min64(TILE, v->out[2] - x * TILE)};
    }
}

/* ---- Inputs: one input channel ---- */

/* The row of tiles of the chunk's tile t in its image. */
static int64_t row_of(const wino *w, int64_t t)
{
    return (w->at + t) / w->tiles_w % w->tiles_h;
}

/* Rows of the plane from `first` on, with their padding, and zeros up to whole
 * tiles. */
static void pad_rows(const wino *w, float *to, const float *from,
                     int64_t first, int64_t rows)
{
    const cfx_conv *v = &w->c->c;
    int64_t n = cfx_min64(v->in[2], w->row - v->pad[2]);

    for (int64_t i = 0; i < rows; i++, to += w->row) {
        int64_t h = first + i - v->pad[1];

        memset(to, 0, (size_t)w->row * sizeof(*to));
        if (h >= 0 && h < v->in[1])
            memcpy(to + v->pad[2], from + h * v->in[2],
                   (size_t)n * sizeof(*to));
    }
}

/* Tiles t..stop, all of one image, whose rows `padded` holds; those of a vector may
 * be of several. */
static void transform_tiles(const wino *w, const float *padded, float *block,
                            int64_t kn, int64_t t, int64_t stop)
{
    int64_t lanes = w->k->lanes, nr = w->nr;
    int64_t first = row_of(w, t) * TILE * w->row;

    while (t < stop) {
        int64_t lane = t % lanes, places[MAX_LANES];
        /* Fill up the last vector. */
        int64_t n = stop == w->len ? lanes - lane
                                   : cfx_min64(lanes - lane, stop - t);
        float *to = block + t / nr * kn * nr + (t - lane) % nr;

        for (int64_t i = 0; i < lanes; i++)
            places[i] = w->tile[i < n ? t + i : t].in - first;
        if (n == lanes) {
            w->k->inputs(to, w->v_step, padded, places, w->row);
        } else {
            float part[N * MAX_LANES];
            w->k->inputs(part, lanes, padded, places, w->row);
            for (int64_t e = 0; e < N; e++)
                memcpy(to + e * w->v_step + lane, part + e * lanes,
                       (size_t)n * sizeof(float));
        }
        t += n;
    }
}

static void inputs_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const wino *w = arg;
    const cfx_conv *v = &w->c->c;
    float *padded = (float *)(void *)(w->work + w->priv * (size_t)worker);

    for (int64_t ch = begin; ch < end; ch++) {
        int64_t k0 = ch / w->kc * w->kc;
        int64_t kn = cfx_min64(w->kc, v->in_channels - k0);
        float *block = w->v + k0 * cfx_round_up(w->chunk, w->nr) +
                       (ch - k0) * w->nr;
        int64_t t = 0, stop;

        for (; t < w->len; t = stop) {
            int64_t image = w->tile[t].image, first = row_of(w, t);

            for (stop = t + 1; stop < w->len && w->tile[stop].image == image;
                 stop++)
                ;
            pad_rows(w, padded,
                     (const float *)v->x +
                         (image * v->in_channels + ch) * w->c->in_len,
                     first * TILE,
                     (row_of(w, stop - 1) - first + 1) * TILE + 2);
            transform_tiles(w, padded, block, kn, t, stop);
        }
    }
}

/* ---- Weights: one panel of output channels ---- */

static void transform_weights(const wino *w, float *u, int64_t panel)
{
    const cfx_conv *v = &w->c->c;
    int64_t mr = w->type->mr, o = panel * mr;

    for (int64_t r = 0; r < mr && o + r < v->out_channels; r++) {
        const float *from = (const float *)v->w + (o + r) * v->in_channels * 9;

        for (int64_t b = 0; b < w->blocks; b++) {
            int64_t k0 = b * w->kc;
            w->k->weights(u + b * N * w->u_step + r * CFX_GEMM_A_ROW,
                          w->u_step, from + k0 * 9,
                          cfx_min64(w->kc, v->in_channels - k0));
        }
    }
}

static void weights_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const wino *w = arg;

    (void)worker;
    for (int64_t p = begin; p < end; p++)
        transform_weights(w, w->u + p * w->u_panel, p);
}

/* ---- Products and outputs: one panel of output channels ---- */

static void multiply(const wino *w, float *m, const float *u, int64_t rows)
{
    const cfx_conv *v = &w->c->c;
    int64_t nr = w->nr;

    for (int64_t e = 0; e < N; e++) {
        for (int64_t b = 0; b < w->blocks; b++) {
            int64_t k0 = b * w->kc, kn = cfx_min64(w->kc, v->in_channels - k0);
            cfx_gemm_rows r = {.m = rows,
                               .n = cfx_round_up(w->len, w->k->lanes),
                               .k = kn,
                               .a = u + (b * N + e) * w->u_step,
                               .b = w->v + e * w->v_step +
                                    k0 * cfx_round_up(w->chunk, nr),
                               .b_row = nr,
                               .b_panel = kn * nr,
                               .c = m + e * w->m_step,
                               .c_row = w->chunk,
                               .add = b > 0};
            w->type->rows(&r);
        }
    }
}

/* Transform a channel: m holds 36 numbers for each of its tiles. */
static bool transform_outputs(const wino *w, float *y, const float *m,
                              float bias)
{
    int64_t lanes = w->k->lanes, row = w->c->c.out[2];
    float out[MAX_LANES * TILE * TILE];
    bool finite = true;

    for (int64_t t = 0; t < w->len; t += lanes) {
        int64_t n = cfx_min64(lanes, w->len - t);
        const float *from = out;

        finite &= w->k->outputs(out, m + t, w->m_step, bias);
        for (int64_t i = 0; i < n; i++, from += TILE * TILE) {
            const tile *p = &w->tile[t + i];
            float *to = y + p->out;

            for (int64_t r = 0; r < p->rows; r++, to += row) {
                if (p->cols == TILE)
                    memcpy(to, from + r * TILE, TILE * sizeof(float));
                else
                    memcpy(to, from + r * TILE,
                           (size_t)p->cols * sizeof(float));
            }
        }
    }
    return finite;
}

static void outputs_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    wino *w = arg;
    const cfx_conv *v = &w->c->c;
    int64_t mr = w->type->mr;
    float *m = (float *)(void *)(w->work + w->priv * (size_t)worker);
    float *own = (float *)(void *)((char *)m + floats(N * w->m_step));
    bool finite = true;

    for (int64_t p = begin; p < end; p++) {
        int64_t o = p * mr, rows = cfx_min64(mr, v->out_channels - o);
        float *u = w->keep ? w->u + p * w->u_panel : own;

        if (!w->keep)
            transform_weights(w, u, p);
        multiply(w, m, u, rows);
        for (int64_t r = 0; r < rows; r++)
            finite &= transform_outputs(
                w, (float *)v->y + (o + r) * w->c->out_len, m + r * w->chunk,
                v->bias ? ((const float *)v->bias)[o + r] : 0);
    }
    if (!finite)
        atomic_store_explicit(&w->infinite, true, memory_order_relaxed);
}

void cfx_conv_winograd(cfx_context *ctx, const cfx_conv3 *c, void *work)
{
    wino w;

    make_wino(&w, ctx, c);
    w.tile = work;
    w.u = (float *)(void *)((char *)work + table_size(&w));
    w.v = (float *)(void *)((char *)w.u + kept_size(&w));
    w.work = (char *)w.v + floats(N * w.v_step);
    if (w.keep)
        cfx_parallel_for(ctx, w.panels, 1, weights_piece, &w);
    for (w.at = 0; w.at < w.tiles; w.at += w.chunk) {
        w.len = cfx_min64(w.chunk, w.tiles - w.at);
        make_table(&w);
        cfx_parallel_for(ctx, c->c.in_channels, 4, inputs_piece, &w);
        cfx_parallel_for(ctx, w.panels, 1, outputs_piece, &w);
    }
    if (atomic_load_explicit(&w.infinite, memory_order_relaxed))
        cfx_conv_windows(ctx, c, work);
}
