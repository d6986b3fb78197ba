/*
 * quantized_windows.c -- windows of each channel of uint8: maxima, and products with
 * filters of one channel.
 *
 * A piece of work is some rows of y. A row is cut into runs of pixels whose windows
 * have the same columns inside of x. Outside of x is its zero point: products with
 * that are added to the offset.
 */
#include "kernel/blocked/geometry.h"
#include "kernel/blocked/quantized.h"
#include "kernel/int64.h"

/* Products of a piece, at least: 5 to 10 us. */
enum { PIECE = 128 << 10 };

typedef struct windows {
    const struct cfx_quantized_windows *k;
    cfx_blocked_conv c;          /* the geometry */
    const cfx_quantized_conv *q; /* NULL: maxima */
    const uint8_t *x;
    char *y;
    int64_t y_pixel; /* bytes */
} windows;

/* A filter, and the offset of windows that reach over the edges of x. */
typedef struct filter {
    int64_t block; /* that it is of; -1: none yet */
    float w[CFX_QUANTIZED_TAPS * CFX_BLOCK];
    int32_t offset[CFX_BLOCK];
} filter;

/* Some pixels whose windows have n[a] rows and columns inside of x, the first of
 * which is `first`. */
typedef struct run {
    int64_t plane, o, from, to;
    int64_t first[2], n[2];
} run;

static void load_filter(const windows *v, filter *f, int64_t block)
{
    const cfx_quantized_conv *q = v->q;
    int64_t n = q->kernel[0] * q->kernel[1] * CFX_BLOCK;

    for (int64_t i = 0; i < n && f->block != block; i++)
        f->w[i] = q->w[block * n + i];
    f->block = block;
}

static bool is_inside(const run *r, int64_t i, int64_t k)
{
    return i >= r->first[0] && i < r->first[0] + r->n[0] && k >= r->first[1] &&
           k < r->first[1] + r->n[1];
}

/* The offset with the products of the zero point outside of x. */
static void set_offset(const windows *v, filter *f, const run *r)
{
    const cfx_quantized_conv *q = v->q;
    const int8_t *w = q->w +
                      f->block * q->kernel[0] * q->kernel[1] * CFX_BLOCK;

    for (int c = 0; c < CFX_BLOCK; c++)
        f->offset[c] = q->end.offset[f->block * CFX_BLOCK + c];
    if (!q->x_zero_point ||
        (r->n[0] == q->kernel[0] && r->n[1] == q->kernel[1]))
        return;
    for (int64_t i = 0; i < q->kernel[0]; i++)
        for (int64_t k = 0; k < q->kernel[1]; k++, w += CFX_BLOCK)
            if (!is_inside(r, i, k))
                for (int c = 0; c < CFX_BLOCK; c++)
                    f->offset[c] = (int32_t)((uint32_t)f->offset[c] +
                                             (uint32_t)(w[c] *
                                                        q->x_zero_point));
}

static void run_part(const windows *v, filter *f, const run *at)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t width = c->in[1] * CFX_BLOCK;
    int64_t y = at->o * c->stride[0] - c->pad[0] +
                at->first[0] * c->dilation[0];
    int64_t x = at->from * c->stride[1] - c->pad[1] +
                at->first[1] * c->dilation[1];
    cfx_quantized_row r = {
        .pixels = at->to - at->from,
        .n = {at->n[0], at->n[1]},
        .x_pixel = c->stride[1] * CFX_BLOCK,
        .x_at = {c->dilation[0] * width, c->dilation[1] * CFX_BLOCK},
        .x = v->x,
        .y = v->y + ((at->plane * c->out[0] + at->o) * c->out[1] + at->from) *
                        v->y_pixel,
        .y_pixel = v->y_pixel,
    };

    if (r.n[0] && r.n[1])
        r.x += (at->plane * c->in[0] + y) * width + x * CFX_BLOCK;
    if (!v->q) {
        v->k->max(&r);
        return;
    }
    set_offset(v, f, at);
    r.w = f->w + (at->first[0] * c->kernel[1] + at->first[1]) * CFX_BLOCK;
    r.w_row = c->kernel[1] * CFX_BLOCK;
    r.end = v->q->end;
    r.end.offset = f->offset;
    r.end.scale += f->block * CFX_BLOCK;
    if (r.end.bias)
        r.end.bias += f->block * CFX_BLOCK;
    v->k->depthwise(&r);
}

static void run_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const windows *v = arg;
    const cfx_blocked_conv *c = &v->c;
    filter f;

    (void)worker;
    f.block = -1;
    for (int64_t i = begin; i < end; i++) {
        run r = {.plane = i / c->out[0], .o = i % c->out[0]};
        r.n[0] = cfx_blocked__taps(c, 0, r.o, &r.first[0]);
        if (v->q)
            load_filter(v, &f, r.plane % c->out_blocks);
        for (; r.from < c->out[1]; r.from = r.to) {
            int64_t n, first;
            r.n[1] = cfx_blocked__taps(c, 1, r.from, &r.first[1]);
            r.to = r.from;
            do
                n = cfx_blocked__taps(c, 1, ++r.to, &first);
            while (r.to < c->out[1] && n == r.n[1] && first == r.first[1]);
            run_part(v, &f, &r);
        }
    }
}

static void run_all(cfx_context *ctx, windows *v)
{
    const cfx_blocked_conv *c = &v->c;
    const int64_t row[] = {c->out[1], c->kernel[0], c->kernel[1], CFX_BLOCK};

    v->k = cfx_context_kernels(ctx)->quantized->windows;
    if (c->batch * c->out_blocks * c->out[0] * c->out[1] > 0)
        cfx_parallel_for(ctx, c->batch * c->out_blocks * c->out[0],
                         PIECE / cfx_product64(4, row) + 1, run_piece, v);
}

void cfx_quantized_max_pool(cfx_context *ctx, const cfx_blocked_conv *c,
                            const uint8_t *x, uint8_t *y)
{
    windows v = {.c = *c, .x = x, .y = (char *)y, .y_pixel = CFX_BLOCK};

    run_all(ctx, &v);
}

void cfx_quantized_depthwise(cfx_context *ctx, const cfx_quantized_conv *c)
{
    windows v = {.c = {.batch = c->batch, .out_blocks = c->out_blocks},
                 .q = c,
                 .x = c->x,
                 .y = c->y,
                 .y_pixel = CFX_BLOCK *
                            (c->end.rounds ? 1 : (int64_t)sizeof(float))};

    for (int i = 0; i < 2; i++) {
        v.c.in[i] = c->in[i];
        v.c.out[i] = c->out[i];
        v.c.kernel[i] = c->kernel[i];
        v.c.stride[i] = c->stride[i];
        v.c.pad[i] = c->pad[i];
        v.c.dilation[i] = c->dilation[i];
    }
    run_all(ctx, &v);
}
