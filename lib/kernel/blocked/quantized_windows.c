/*
 * quantized_windows.c -- maximum pooling and depthwise convolutions of uint8.
 *
 * A task is some rows of y. Maxima ignore the padding: the pixels of a row whose
 * windows lie inside of x are computed together, the others one by one. Depthwise
 * convolutions copy a few rows with a border to L1, unless the kernel handles padding
 * itself.
 */
#include "kernel/blocked/quantized.h"

#include <string.h>

#include "base/context_impl.h"
#include "kernel/blocked/geometry.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* The fewest products of a task, 5 to 10 us. */
enum { TASK = 128 << 10 };

static const struct cfx_quantized_kernels *kernels_of(const cfx_context *ctx)
{
    return cfx_context_kernels(ctx)->quantized;
}

/* How many rows of y a task has. */
static int64_t rows_of_task(int64_t out, const int64_t *kernel)
{
    const int64_t row[] = {out, kernel[0], kernel[1], CFX_BLOCK};

    return TASK / cfx_product64(4, row) + 1;
}

/* ---- Maxima ---- */

typedef struct maxima {
    const struct cfx_quantized_windows *k;
    const cfx_blocked_conv *c; /* the geometry */
    const uint8_t *x;
    uint8_t *y;
} maxima;

/* The outputs from o on whose windows lie inside of x along a row: none, or up to
 * the one that is returned. */
static int64_t whole_end(const cfx_blocked_conv *c, int64_t o)
{
    int64_t reach = (c->kernel[1] - 1) * c->dilation[1];
    int64_t last = c->in[1] - 1 + c->pad[1] - reach;

    return o * c->stride[1] < c->pad[1] || last < 0
               ? o
               : cfx_min64(last / c->stride[1] + 1, c->out[1]);
}

/* Row o of a plane. */
static void max_row(const maxima *v, int64_t plane, int64_t o)
{
    const cfx_blocked_conv *c = v->c;
    int64_t width = c->in[1] * CFX_BLOCK, first[2];
    int64_t n = cfx_blocked__taps(c, 0, o, &first[0]);
    int64_t top = o * c->stride[0] - c->pad[0] + first[0] * c->dilation[0];
    cfx_quantized_rows r = {
        .rows = 1,
        .n = {n},
        .x_pixel = c->stride[1] * CFX_BLOCK,
        .x_at = {c->dilation[0] * width, c->dilation[1] * CFX_BLOCK},
        .y = (char *)v->y + (plane * c->out[0] + o) * c->out[1] * CFX_BLOCK,
        .y_pixel = CFX_BLOCK,
    };

    for (int64_t from = 0; from < c->out[1]; from += r.pixels) {
        r.n[1] = cfx_blocked__taps(c, 1, from, &first[1]);
        r.pixels = cfx_max64(whole_end(c, from) - from, 1);
        int64_t left = from * c->stride[1] - c->pad[1] +
                       first[1] * c->dilation[1];
        r.x = v->x;
        if (r.n[0] && r.n[1])
            r.x += (plane * c->in[0] + top) * width + left * CFX_BLOCK;
        v->k->max(&r);
        r.y += r.pixels * r.y_pixel;
    }
}

static void max_task(void *arg, int64_t plane, int64_t from, int64_t to,
                     int worker)
{
    (void)worker;
    for (int64_t i = from; i < to; i++)
        max_row(arg, plane, i);
}

void cfx_quantized_max_pool(cfx_context *ctx, const cfx_blocked_conv *c,
                            const uint8_t *x, uint8_t *y)
{
    maxima v = {kernels_of(ctx)->windows, c, x, y};

    if (c->batch * c->out_blocks * c->out[0] * c->out[1] > 0)
        cfx_blocked_for_rows(
            ctx, (cfx_blocked_planes){c->batch, c->out_blocks, c->out[0]},
            rows_of_task(c->out[1], c->kernel), max_task, &v);
}

/* ---- Depthwise convolutions ---- */

typedef struct filters {
    const cfx_quantized_conv *c;
    void (*multiply)(const cfx_quantized_rows *r);
    bool floats;          /* which it multiplies */
    int64_t width;        /* bytes of a row of x, as it is read */
    int64_t rows, x_rows; /* of y at a time, and of x that they need */
    uint8_t *copies;      /* of each thread; NULL: x is read */
    uint8_t *outside;     /* a row of x that is outside; NULL: in the copies */
} filters;

/* Columns of the last window that are to the right of x. */
static int64_t right_border(const cfx_quantized_conv *c)
{
    return cfx_max64(cfx_quantized_reach(c, 1) - c->pad[1] - c->in[1], 0);
}

/* Does the kernel for three rows and columns compute this? */
static bool has_three(const cfx_context *ctx, const cfx_quantized_conv *c)
{
    const struct cfx_quantized_windows *k = kernels_of(ctx)->windows;

    return c->kernel[0] == 3 && c->kernel[1] == 3 && c->dilation[1] == 1 &&
           c->pad[1] <= 1 && right_border(c) <= 1 && k->depthwise_three &&
           cfx_context_has(ctx, k->dots);
}

/* Bytes of a row of padding, at least the four pixels that are always read. */
static int64_t outside_row(const cfx_quantized_conv *c)
{
    return cfx_max64(c->in[1], CFX_QUAD) * CFX_BLOCK;
}

/* The rows of a copy: those that stay in L1, but at least those of a window. */
static int64_t copied_rows(const cfx_context *ctx, const cfx_quantized_conv *c)
{
    int64_t window = (c->kernel[0] - 1) * c->dilation[0] + 1;
    int64_t width = cfx_quantized_reach(c, 1) * CFX_BLOCK;

    return cfx_min64(cfx_max64(ctx->caches.l1 / 2 / width, window),
                     cfx_quantized_reach(c, 0));
}

size_t cfx_quantized_depthwise_workspace(const cfx_context *ctx,
                                         const cfx_quantized_conv *c)
{
    const int64_t bytes[] = {cfx_context_threads(ctx), copied_rows(ctx, c),
                             cfx_quantized_reach(c, 1), CFX_BLOCK};

    if (has_three(ctx, c))
        return (size_t)outside_row(c);
    return cfx_quantized_needs_border(c) ? (size_t)cfx_product64(4, bytes) : 0;
}

/* The first row of a plane of y, whose filter is that of `block`. */
static cfx_quantized_rows first_row(const filters *v, int64_t plane,
                                    int64_t block)
{
    const cfx_quantized_conv *c = v->c;
    int64_t pixel = CFX_BLOCK * (c->end.rounds ? 1 : (int64_t)sizeof(float));
    cfx_quantized_rows r = {
        .pixels = c->out[1],
        .n = {c->kernel[0], c->kernel[1]},
        .x_row = c->stride[0] * v->width,
        .x_pixel = c->stride[1] * CFX_BLOCK,
        .x_at = {c->dilation[0] * v->width, c->dilation[1] * CFX_BLOCK},
        .w = c->w + block * c->kernel[0] * c->kernel[1] * CFX_BLOCK,
        .w_row = c->kernel[1] * CFX_BLOCK,
        .end = c->end,
        .y = (char *)c->y + plane * c->out[0] * c->out[1] * pixel,
        .y_row = c->out[1] * pixel,
        .y_pixel = pixel,
        .plane = c->in[0] * v->width,
        .left = c->pad[1],
        .right = right_border(c),
        .outside = v->outside,
    };

    r.end.offset += block * CFX_BLOCK;
    r.end.scale += block * CFX_BLOCK;
    if (r.end.bias)
        r.end.bias += block * CFX_BLOCK;
    return r;
}

/* The rows of x for `n` rows of y from o on. */
static const uint8_t *rows_of_x(const filters *v, int64_t plane, int64_t o,
                                int64_t n, int worker)
{
    const cfx_quantized_conv *c = v->c;
    int64_t first = o * c->stride[0];
    int64_t window = (c->kernel[0] - 1) * c->dilation[0] + 1;

    if (v->outside)
        return c->x + plane * c->in[0] * v->width;
    if (!v->copies)
        return c->x + (plane * c->in[0] + first) * v->width;
    uint8_t *to = v->copies + worker * v->x_rows * v->width;
    for (int64_t i = 0; i < (n - 1) * c->stride[0] + window; i++)
        cfx_quantized_border_row(c, plane, first + i, to + i * v->width);
    return to;
}

static void filters_task(void *arg, int64_t plane, int64_t from, int64_t to,
                         int worker)
{
    const filters *v = arg;
    const cfx_quantized_conv *c = v->c;
    float w[CFX_QUANTIZED_TAPS * CFX_BLOCK];
    cfx_quantized_rows r = first_row(v, plane, plane % c->out_blocks);
    char *y = r.y;

    for (int64_t k = 0; v->floats && k < r.n[0] * r.w_row; k++)
        w[k] = r.w[k];
    r.w_float = w;
    for (int64_t o = from; o < to; o += r.rows) {
        r.rows = cfx_min64(v->rows, to - o);
        r.x = rows_of_x(v, plane, o, r.rows, worker);
        r.top = (o * c->stride[0] - c->pad[0]) * v->width;
        r.y = y + o * r.y_row;
        v->multiply(&r);
    }
}

void cfx_quantized_depthwise(cfx_context *ctx, const cfx_quantized_conv *c,
                             void *workspace)
{
    const struct cfx_quantized_windows *k = kernels_of(ctx)->windows;
    bool dots = c->dilation[1] == 1 && k->depthwise_dots &&
                cfx_context_has(ctx, k->dots);
    bool three = has_three(ctx, c);
    cfx_quantized_conv inner = *c;
    filters v = {
        .c = &inner,
        .multiply = three  ? k->depthwise_three
                    : dots ? k->depthwise_dots
                           : k->depthwise,
        .floats = !dots,
        .width = c->in[1] * CFX_BLOCK,
        .rows = c->out[0],
    };

    if (c->batch * c->out_blocks * c->out[0] * c->out[1] == 0)
        return;
    cfx_quantized__prepare_end(ctx, &inner.end, c->out_blocks);
    if (three) {
        v.outside = workspace;
        memset(v.outside, c->x_zero_point, (size_t)outside_row(c));
    } else if (cfx_quantized_needs_border(c)) {
        v.copies = workspace;
        v.width = cfx_quantized_reach(c, 1) * CFX_BLOCK;
        v.x_rows = copied_rows(ctx, c);
        v.rows = (v.x_rows - (c->kernel[0] - 1) * c->dilation[0] - 1) /
                     c->stride[0] +
                 1;
    }
    cfx_blocked_for_rows(
        ctx, (cfx_blocked_planes){c->batch, c->out_blocks, c->out[0]},
        rows_of_task(c->out[1], c->kernel), filters_task, &v);
}
