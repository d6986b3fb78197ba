/*
 * windows.c -- depthwise convolutions and pooling of blocked images. A task is
 * some rows of y.
 */
#include <string.h>

#include "kernel/blocked/geometry.h"
#include "kernel/blocked/parts.h"

/* The most columns of a padded plane that is copied to L1, so that no window extends past
 * an edge. */
enum { COPIED = 512 };

/* The extent along an axis of the divisor of output o; `inside` is the number of elements
 * in x. A window that extends past the padding counts only up to its end. */
static int64_t counted(const cfx_windows_work *v, int axis, int64_t o,
                       int64_t inside)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t end = c->in[axis] + 2 * c->pad[axis] - o * c->stride[axis];

    return v->count_padding ? cfx_min64(c->kernel[axis], end) : inside;
}

static float scale_of(const cfx_windows_work *v, int64_t o, int64_t p,
                      int64_t rows, int64_t columns)
{
    int64_t n = v->divisor;

    if (!n)
        n = counted(v, 0, o, rows) * counted(v, 1, p, columns);
    return (float)(1.0 / (double)n);
}

/* Outputs p..p+n of row o of a plane, whose windows have columns k0..k0+kn in
 * x. */
static void part(const cfx_windows_work *v, const cfx_windows_plane *in,
                 int64_t o, int64_t p, int64_t n, int64_t k0, int64_t kn)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t plane = in->plane, block = plane % c->out_blocks, first;
    int64_t row = in->width * v->x_lanes;
    int64_t rows = kn > 0 ? cfx_blocked__taps(c, 0, o, &first) : 0;
    int64_t y = (plane * c->out[0] + o) * c->out[1] + p;
    cfx_blocked_row r = {
        .pixels = n,
        .n = {rows, kn},
        .x = in->x,
        .x_pixel = c->stride[1] * v->x_lanes,
        .x_at = {c->dilation[0] * row, c->dilation[1] * v->x_lanes},
        .w_row = c->kernel[1] * CFX_BLOCK,
        .end = c->end,
        .y = c->y + y * v->y_lanes};

    if (n <= 0)
        return;
    if (rows) {
        int64_t top = o * c->stride[0] - c->pad[0] + first * c->dilation[0];
        int64_t left = p * c->stride[1] - c->pad[1] + k0 * c->dilation[1];
        r.x += (top - in->top) * row + (left + in->left) * v->x_lanes;
    }
    if (c->w && rows) {
        int64_t filter = c->filter_per_image ? plane : block;
        r.w = c->w + ((filter * c->kernel[0] + first) * c->kernel[1] + k0) *
                         CFX_BLOCK;
    }
    if (v->mean)
        r.scale = scale_of(v, o, p, rows, kn);
    if (r.end.bias)
        r.end.bias += block * CFX_BLOCK;
    if (r.end.add)
        r.end.add += y * v->add_lanes;
    v->row[c->narrow_x](&r);
}

/* Rows o..end of a plane, by kernels whose windows may extend past the edges. */
static void spans(const cfx_windows_work *v, const cfx_windows_plane *in,
                  int64_t o, int64_t end)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t block = in->plane % c->out_blocks, first;
    int64_t filter = c->filter_per_image ? in->plane : block;
    int64_t row = in->width * v->x_lanes;
    int64_t y = (in->plane * c->out[0] + o) * c->out[1];
    cfx_blocked_row r = {.pixels = c->out[1],
                         .left = -c->pad[1],
                         .width = c->in[1],
                         .n = {0, c->kernel[1]},
                         .x_at = {c->dilation[0] * row, v->x_lanes},
                         .w_row = c->kernel[1] * CFX_BLOCK,
                         .end = c->end};

    if (r.end.bias)
        r.end.bias += block * CFX_BLOCK;
    for (; o < end; o++, y += c->out[1]) {
        int64_t top = o * c->stride[0] - c->pad[0];
        r.n[0] = cfx_blocked__taps(c, 0, o, &first);
        r.x = in->x;
        if (r.n[0])
            r.x += (top + first * c->dilation[0] - in->top) * row;
        if (c->w)
            r.w = c->w + (filter * c->kernel[0] + first) * r.w_row;
        if (c->end.add)
            r.end.add = c->end.add + y * v->add_lanes;
        r.y = c->y + y * v->y_lanes;
        v->span(&r);
    }
}

/* Outputs p..end of a row, one by one: their windows extend past the edges. */
static void edge(const cfx_windows_work *v, const cfx_windows_plane *in,
                 int64_t o, int64_t p, int64_t end)
{
    for (; p < end; p++) {
        int64_t first, n = cfx_blocked__taps(&v->c, 1, p, &first);
        part(v, in, o, p, 1, first, n);
    }
}

/* Copy a plane with its padding. */
static void copy_padded(const cfx_windows_work *v, float *to, const float *x)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t front = cfx_min64(c->pad[1], v->width);
    int64_t n = cfx_min64(c->in[1], v->width - front);
    int64_t behind = v->width - front - n, lanes = v->x_lanes;
    size_t unit = (size_t)lanes * sizeof(float);

    for (int64_t i = 0; i < c->in[0]; i++, to += v->width * lanes) {
        memset(to, 0, (size_t)front * unit);
        memcpy(to + front * lanes, x + i * c->in[1] * lanes, (size_t)n * unit);
        memset(to + (front + n) * lanes, 0, (size_t)behind * unit);
    }
}

static void copied_task(void *arg, int64_t plane, int64_t from, int64_t to,
                        int worker)
{
    const cfx_windows_work *v = arg;
    const cfx_blocked_conv *c = &v->c;
    float copy[COPIED * CFX_BLOCK];
    cfx_windows_plane in = {copy, plane, v->width, c->pad[1], 0};

    (void)worker;
    copy_padded(v, copy, c->x + plane * c->in[0] * c->in[1] * v->x_lanes);
    for (int64_t i = from; i < to; i++)
        part(v, &in, i, 0, c->out[1], 0, c->kernel[1]);
}

static void rows(const cfx_windows_work *v, const cfx_windows_plane *in,
                 int64_t o, int64_t end)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t reach = (c->kernel[1] - 1) * c->dilation[1];
    int64_t inside = c->in[1] - 1 - reach + c->pad[1]; /* of the left column */
    int64_t from = cfx_min64(cfx_ceil_div(c->pad[1], c->stride[1]), c->out[1]);
    int64_t to = inside < 0 ? from : inside / c->stride[1] + 1;

    to = cfx_max64(cfx_min64(to, c->out[1]), from);
    for (; o < end; o++) {
        edge(v, in, o, 0, from);
        part(v, in, o, from, to - from, 0, c->kernel[1]);
        edge(v, in, o, to, c->out[1]);
    }
}

void cfx_windows_compute(const cfx_windows_work *v,
                         const cfx_windows_plane *in, int64_t o, int64_t end)
{
    if (v->span)
        spans(v, in, o, end);
    else
        rows(v, in, o, end);
}

static void rows_task(void *arg, int64_t plane, int64_t from, int64_t to,
                      int worker)
{
    const cfx_windows_work *v = arg;
    const cfx_blocked_conv *c = &v->c;
    int64_t size = c->in[0] * c->in[1] * v->x_lanes;
    cfx_windows_plane in = {c->x + plane * size, plane, c->in[1], 0, 0};

    (void)worker;
    cfx_windows_compute(v, &in, from, to);
}

static const struct cfx_windows_kernels *kernels_of(const cfx_context *ctx)
{
    return cfx_context_kernels(ctx)->windows;
}

static void begin(const cfx_context *ctx, cfx_windows_work *v)
{
    const cfx_blocked_conv *c = &v->c;

    v->ctx = ctx;
    if (c->dilation[1] == 1 && !v->mean)
        v->span = kernels_of(ctx)->span(c->w, c->kernel[1], c->stride[1],
                                        c->narrow_x);
    v->x_lanes = cfx_blocked_lanes(c->narrow_x);
    v->y_lanes = cfx_blocked_lanes(c->end.narrow);
    v->add_lanes = cfx_blocked_lanes(c->end.add_narrow);
}

static void run(cfx_context *ctx, cfx_windows_work *v)
{
    const cfx_blocked_conv *c = &v->c;
    const int64_t window[] = {c->kernel[0], c->kernel[1]};
    double cost = (double)c->out[1] * ((double)cfx_product64(2, window) + 4);

    if (c->batch * c->out_blocks * c->out[0] * c->out[1] == 0)
        return;
    begin(ctx, v);
    cfx_blocked_for_rows(
        ctx, (cfx_blocked_planes){c->batch, c->out_blocks, c->out[0]},
        (int64_t)(65536 / (8 * cost)) + 1,
        v->width && !v->span ? copied_task : rows_task, v);
}

void cfx_depthwise_begin(const cfx_context *ctx, const cfx_blocked_conv *c,
                         cfx_windows_work *work)
{
    *work = (cfx_windows_work){.row = kernels_of(ctx)->depthwise, .c = *c};
    begin(ctx, work);
}

void cfx_blocked_depthwise(cfx_context *ctx, const cfx_blocked_conv *c)
{
    cfx_windows_work v = {.row = kernels_of(ctx)->depthwise, .c = *c};
    int64_t width = (c->out[1] - 1) * c->stride[1] +
                    (c->kernel[1] - 1) * c->dilation[1] + 1;

    if (cfx_blocked__is_flat(c)) {
        v.c.in[1] = v.c.out[1] = c->in[0] * c->in[1];
        v.c.in[0] = v.c.out[0] = 1;
    } else if ((c->pad[1] > 0 || width > c->in[1]) &&
               c->in[0] * width <= COPIED) {
        v.width = width;
    }
    run(ctx, &v);
}

/* No post-operations: only the type of y. */
static cfx_blocked_epilogue end_of_pool(const cfx_blocked_epilogue *e)
{
    return (cfx_blocked_epilogue){.narrow = e->narrow,
                                  .converts = e->converts};
}

void cfx_blocked_max_pool(cfx_context *ctx, const cfx_blocked_conv *c)
{
    cfx_windows_work v = {.row = kernels_of(ctx)->max, .c = *c};

    v.c.w = NULL;
    v.c.end = end_of_pool(&v.c.end);
    run(ctx, &v);
}

void cfx_blocked_avg_pool(cfx_context *ctx, const cfx_blocked_conv *c,
                          bool count_include_pad, int64_t divisor)
{
    cfx_windows_work v = {.row = kernels_of(ctx)->mean,
                          .c = *c,
                          .mean = true,
                          .count_padding = count_include_pad,
                          .divisor = divisor};

    v.c.w = NULL;
    v.c.end = end_of_pool(&v.c.end);
    run(ctx, &v);
}
