/*
 * attention_packed.c -- products of rows with packed keys and values.
 */
#include "kernel/attention_packed.h"

#include <math.h>
#include <string.h>

#include "kernel/blocked/quantized.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"
#include "kernel/norm/norm_kernel.h"
#include "kernel/partition.h"
#include "kernel/pointwise/pointwise_kernel.h"

/* Fewer rows do not pay for packing. */
enum { ROWS_LEAST = 16 };

static int64_t blocks_of(int64_t n)
{
    return cfx_ceil_div(n, CFX_BLOCK);
}

bool cfx_attention_packs(const cfx_attention *a)
{
    return a->bytes || (a->dtype != CFX_F64 && a->l >= ROWS_LEAST &&
                        a->e > 0 && a->s > 0 && a->ev > 0);
}

cfx_attention_packing cfx_attention_packing_of(const cfx_context *ctx,
                                               const cfx_attention *a)
{
    int64_t row = cfx_max64(blocks_of(a->s), 1) * CFX_BLOCK;

    /* Rows that lie a multiple of 4096 bytes apart share a few lines of the first
     * cache. */
    if (row % 1024 == 0)
        row += CFX_BLOCK;
    return (cfx_attention_packing){.ctx = ctx,
                                   .kernels = cfx_context_kernels(ctx),
                                   .s = a->s,
                                   .e = a->e,
                                   .ev = a->ev,
                                   .row = row,
                                   .scale = a->scale,
                                   .bytes = a->bytes,
                                   .q_zero = a->q_zero,
                                   .v_zero = a->v_zero,
                                   .v_scale = a->v_scale};
}

/* In floats; bytes are followed by an offset and a scale for each column. */
static int64_t keys_len(const cfx_attention_packing *p)
{
    return blocks_of(p->s) * CFX_BLOCK *
           (p->bytes ? p->e / CFX_QUAD + 2 : p->e);
}

static int64_t values_len(const cfx_attention_packing *p)
{
    return blocks_of(p->ev) * CFX_BLOCK * p->s;
}

size_t cfx_attention_packed_size(const cfx_attention_packing *p)
{
    int64_t n = keys_len(p) + values_len(p) + CFX_WHOLE * CFX_BLOCK;

    return (size_t)n * sizeof(float);
}

/* (s, n) of elements of 4 bytes to (s / 16, n, 16). */
static void interleave_keys(const cfx_attention_packing *p, float *to,
                            const float *k, int64_t k_row, int64_t n)
{
    cfx_transpose_fn *transpose = p->kernels->pointwise->transpose[2];

    for (int64_t i = 0; i < p->s; i += CFX_BLOCK) {
        int64_t columns = cfx_min64(p->s - i, CFX_BLOCK);
        if (columns < CFX_BLOCK)
            memset(to + i * n, 0, (size_t)(CFX_BLOCK * n) * sizeof(float));
        transpose(to + i * n, CFX_BLOCK, k + i * k_row, k_row, columns, n);
    }
}

static void pack_keys(const cfx_attention_packing *p, float *to,
                      const float *k, int64_t k_row)
{
    interleave_keys(p, to, k, k_row, p->e);
    if (p->scale != 1)
        p->kernels->norm->f32.linear(to, to, keys_len(p), p->scale, 0);
}

/* The packed bytes of all keys, their offsets and their scales. */
typedef struct key_bytes {
    uint8_t *w;
    int32_t *offset;
    float *scale;
} key_bytes;

static key_bytes key_bytes_of(const cfx_attention_packing *p, float *packed)
{
    int64_t columns = blocks_of(p->s) * CFX_BLOCK;
    float *offset = packed + columns * (p->e / CFX_QUAD);

    return (key_bytes){(uint8_t *)packed, (int32_t *)(void *)offset,
                       offset + columns};
}

/* Fours of bytes are moved as floats are. */
static void pack_key_bytes(const cfx_attention_packing *p, float *packed,
                           const uint8_t *k, int64_t k_row)
{
    int64_t quads = p->e / CFX_QUAD, columns = blocks_of(p->s) * CFX_BLOCK;
    key_bytes to = key_bytes_of(p, packed);

    interleave_keys(p, packed, (const float *)(const void *)k,
                    k_row / CFX_QUAD, quads);
    for (int64_t i = 0; i < columns; i += CFX_BLOCK)
        p->kernels->quantized->elements->center(to.w + i * p->e, quads,
                                                -p->q_zero, to.offset + i);
    for (int64_t i = 0; i < columns; i++)
        to.scale[i] = (float)p->scale;
}

static void pack_values(const cfx_attention_packing *p, float *to,
                        const float *v, int64_t v_row)
{
    int64_t whole = p->ev / CFX_BLOCK;
    size_t rest = (size_t)(p->ev % CFX_BLOCK);

    for (int64_t b = 0; b < whole; b++, v += CFX_BLOCK)
        for (int64_t i = 0; i < p->s; i++, to += CFX_BLOCK)
            memcpy(to, v + i * v_row, CFX_BLOCK * sizeof(float));
    for (int64_t i = 0; i < p->s && rest; i++, to += CFX_BLOCK) {
        memcpy(to, v + i * v_row, rest * sizeof(float));
        memset(to + rest, 0, (CFX_BLOCK - rest) * sizeof(float));
    }
}

static void pack_value_bytes(const cfx_attention_packing *p, float *to,
                             const uint8_t *v, int64_t v_row)
{
    const cfx_quantized_floats f = {.scale = p->v_scale,
                                    .zero_point = p->v_zero};

    for (int64_t i = 0; i < p->ev; i += CFX_BLOCK, to += p->s * CFX_BLOCK)
        p->kernels->quantized->elements->dequantize_block(
            &f, v + i, v_row, to, p->s, cfx_min64(p->ev - i, CFX_BLOCK));
}

void cfx_attention_pack(const cfx_attention_packing *p, float *packed,
                        const void *k, int64_t k_row, const void *v,
                        int64_t v_row)
{
    float *values = packed + keys_len(p);

    if (p->bytes) {
        pack_key_bytes(p, packed, k, k_row);
        pack_value_bytes(p, values, v, v_row);
    } else {
        pack_keys(p, packed, k, k_row);
        pack_values(p, values, v, v_row);
    }
}

/* A product of rows with a packed matrix of `depth` rows, up to `steps`. */
static cfx_blocked_tile product(const float *x, int64_t x_row, const float *w,
                                int64_t depth, int64_t steps, float *y,
                                int64_t y_row)
{
    return (cfx_blocked_tile){.n = {1, 1, 1},
                              .steps = steps,
                              .x = x,
                              .x_pixel = x_row,
                              .x_step = 1,
                              .w = w,
                              .w_block = depth * CFX_BLOCK,
                              .end = {.lo = -INFINITY, .hi = INFINITY},
                              .y = y,
                              .y_pixel = y_row,
                              .y_block = CFX_BLOCK};
}

static void byte_scores(const cfx_attention_packing *p, float *packed,
                        int64_t rows, int64_t seen, const uint8_t *q,
                        int64_t q_row, float *scores)
{
    const key_bytes k = key_bytes_of(p, packed);
    const cfx_quantized_product g = {
        .rows = rows,
        .columns = blocks_of(seen) * CFX_BLOCK,
        .depth = p->e,
        .x = q,
        .w = (const int8_t *)k.w,
        .end = {.offset = k.offset,
                .scale = k.scale,
                .lo = -INFINITY,
                .hi = INFINITY},
        .y = scores,
    };

    cfx_quantized_product_run_serial(p->ctx, &g, q_row,
                                     p->row * (int64_t)sizeof(float));
}

void cfx_attention_scores(const cfx_attention_packing *p, float *packed,
                          int64_t rows, int64_t seen, const void *q,
                          int64_t q_row, cfx_attention_mask mask,
                          float *scores)
{
    if (p->bytes) {
        byte_scores(p, packed, rows, seen, q, q_row, scores);
        return;
    }
    cfx_blocked_tile t = product(q, q_row, packed, p->e, p->e, scores, p->row);

    t.end.add = mask.data;
    t.add_pixel = mask.row;
    t.add_block = CFX_BLOCK;
    cfx_blocked_run_tiles(p->ctx, t, rows, blocks_of(seen));
}

/* The last columns of y, fewer than a block: CFX_WHOLE rows at a time are computed
 * beside it. */
static void last_values(const cfx_attention_packing *p, cfx_blocked_tile t,
                        float *beside, int64_t rows, int64_t n, float *y,
                        int64_t y_row)
{
    t.y = beside;
    t.y_pixel = CFX_BLOCK;
    for (int64_t i = 0; i < rows; i += CFX_WHOLE) {
        int64_t m = cfx_min64(rows - i, CFX_WHOLE);
        cfx_blocked_run_tiles(p->ctx, t, m, 1);
        for (int64_t r = 0; r < m; r++)
            memcpy(y + (i + r) * y_row, beside + r * CFX_BLOCK,
                   (size_t)n * sizeof(float));
        t.x += m * t.x_pixel;
    }
}

void cfx_attention_values(const cfx_attention_packing *p, float *packed,
                          int64_t rows, int64_t seen, const float *weights,
                          float *y, int64_t y_row)
{
    int64_t whole = p->ev / CFX_BLOCK, rest = p->ev % CFX_BLOCK;
    float *values = packed + keys_len(p), *beside = values + values_len(p);
    cfx_blocked_tile t = product(weights, p->row, values, p->s, seen, y,
                                 y_row);

    if (whole)
        cfx_blocked_run_tiles(p->ctx, t, rows, whole);
    if (rest) {
        t.w += whole * t.w_block;
        last_values(p, t, beside, rows, rest, y + whole * CFX_BLOCK, y_row);
    }
}
