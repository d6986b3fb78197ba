/*
 * quantized_elements.c -- sums, rounding, means and functions of uint8 on the
 * threads of a context.
 */
#include "kernel/blocked/quantized.h"

#include "base/context_impl.h"
#include "kernel/int64.h"

/* Elements in a task, 2 to 10 us. */
enum { TASK = 32 << 10 };

static const struct cfx_quantized_elements *kernels_of(const cfx_context *ctx)
{
    return cfx_context_kernels(ctx)->quantized->elements;
}

/* ---- Sums ---- */

typedef struct sum {
    const struct cfx_quantized_elements *k;
    const cfx_quantized_sum *s;
} sum;

static void add_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const sum *v = arg;

    (void)worker;
    v->k->add(v->s, begin, end);
}

void cfx_quantized_add_run(cfx_context *ctx, const cfx_quantized_sum *s,
                           int64_t n)
{
    sum v = {kernels_of(ctx), s};

    if (n > 0)
        cfx_parallel_for(ctx, n, TASK, add_task, &v);
}

/* ---- Rows ---- */

void cfx_quantized_scale_row(const cfx_context *ctx,
                             const cfx_quantized_row_end *end, float x_scale,
                             int zero_point, float *y)
{
    kernels_of(ctx)->scale_row(end, x_scale, zero_point, y);
}

/* ---- Floats ---- */

typedef struct floats {
    const struct cfx_quantized_elements *k;
    const cfx_quantized_floats *f;
    const float *from;
    uint8_t *bytes;
    float *to; /* NULL: `bytes` are computed */
} floats;

static void floats_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const floats *v = arg;

    (void)worker;
    if (v->to)
        v->k->dequantize(v->f, v->bytes + begin, v->to + begin, end - begin);
    else
        v->k->quantize(v->f, v->from + begin, v->bytes + begin, end - begin);
}

void cfx_quantized_of_floats(cfx_context *ctx, const cfx_quantized_floats *f,
                             const float *x, uint8_t *y, int64_t n)
{
    floats v = {kernels_of(ctx), f, x, y, NULL};

    if (n > 0)
        cfx_parallel_for(ctx, n, TASK, floats_task, &v);
}

void cfx_quantized_to_floats(cfx_context *ctx, const cfx_quantized_floats *f,
                             const uint8_t *y, float *x, int64_t n)
{
    floats v = {kernels_of(ctx), f, NULL, (uint8_t *)(uintptr_t)y, x};

    if (n > 0)
        cfx_parallel_for(ctx, n, TASK, floats_task, &v);
}

/* Pixels that are rounded before they are put side by side. */
enum { ROW = 256 };

typedef struct image {
    const struct cfx_quantized_elements *k;
    const cfx_quantized_image *m;
    int64_t blocks, rows; /* of an image, of a plane */
} image;

/* Row `row` of a block: ROW pixels, or the rest of them. */
static void put_row(const image *v, int64_t n, int64_t block, int64_t row)
{
    const cfx_quantized_image *m = v->m;
    int64_t first = block * m->block, from = row * ROW;
    int64_t channels = cfx_min64(m->block, m->channels - first);
    int64_t pixels = cfx_min64(ROW, m->pixels - from);
    const float *x = m->x + (n * m->channels + first) * m->pixels + from;
    uint8_t *y = m->y +
                 ((n * v->blocks + block) * m->pixels + from) * m->block;
    uint8_t rows[CFX_BLOCK][ROW] = {{0}};

    for (int64_t c = 0; c < channels; c++)
        v->k->quantize(&m->floats, x + c * m->pixels, rows[c], pixels);
    int64_t c = 0;
    for (; c + CFX_QUAD <= m->block; c += CFX_QUAD)
        v->k->interleave(rows[c], ROW, y + c, m->block, pixels);
    for (; c < m->block; c++)
        for (int64_t p = 0; p < pixels; p++)
            y[p * m->block + c] = rows[c][p];
}

static void image_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const image *v = arg;

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        put_row(v, i / v->rows / v->blocks, i / v->rows % v->blocks,
                i % v->rows);
}

void cfx_quantized_to_blocked(cfx_context *ctx, const cfx_quantized_image *m)
{
    image v = {kernels_of(ctx), m, cfx_ceil_div(m->channels, m->block),
               cfx_ceil_div(m->pixels, ROW)};

    cfx_parallel_for(ctx, m->images * v.blocks * v.rows,
                     TASK / ROW / m->block + 1, image_task, &v);
}

/* ---- Means ---- */

typedef struct means {
    const struct cfx_quantized_elements *k;
    const cfx_quantized_mean *m;
} means;

static void mean_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const means *v = arg;

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        v->k->mean(v->m, i);
}

void cfx_quantized_mean_run(cfx_context *ctx, const cfx_quantized_mean *m)
{
    means v = {kernels_of(ctx), m};

    cfx_parallel_for(ctx, m->planes,
                     TASK / (cfx_max64(m->pixels, 1) * CFX_BLOCK) + 1,
                     mean_task, &v);
}

/* ---- Functions ---- */

typedef struct table {
    void (*lookup)(const uint8_t *table, const uint8_t *x, uint8_t *y,
                   int64_t n);
    const uint8_t *table, *x;
    uint8_t *y;
} table;

static void lookup_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const table *v = arg;

    (void)worker;
    v->lookup(v->table, v->x + begin, v->y + begin, end - begin);
}

void cfx_quantized_lookup_run(cfx_context *ctx, const uint8_t *from,
                              const uint8_t *x, uint8_t *y, int64_t n)
{
    const struct cfx_quantized_elements *k = kernels_of(ctx);
    table v = {k->lookup[cfx_context_has(ctx, k->moves)], from, x, y};

    if (n > 0)
        cfx_parallel_for(ctx, n, TASK, lookup_task, &v);
}

typedef struct norms {
    const struct cfx_quantized_elements *k;
    const cfx_quantized_norm *m;
} norms;

static void norm_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const norms *v = arg;

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        v->k->norm(v->m, i);
}

void cfx_quantized_norm_run(cfx_context *ctx, const cfx_quantized_norm *m)
{
    const struct cfx_quantized_elements *k = kernels_of(ctx);
    cfx_quantized_norm prepared = *m;
    norms v = {k, &prepared};

    if (m->rows == 0 || m->columns == 0)
        return;
    /* A number is at most the root of the columns, so many deviations. */
    prepared.fits = k->are_below(m->weight, 0x1p20F, m->columns) &&
                    k->are_below(m->bias, 0x1p29F, m->columns);
    prepared.range = cfx_quantized__range_of(m->lo, m->hi, m->zero_point);
    cfx_parallel_for(ctx, m->rows, TASK / m->columns + 1, norm_task, &v);
}
