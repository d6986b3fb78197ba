/*
 * blocked.c -- convolutions of blocked images, cut into tiles.
 *
 * A task is some rows of y of one group of blocks: the weights of the group
 * stay in L2 while x streams through. The order of each sum does not depend on the
 * tiles.
 */
#include "kernel/blocked/blocked.h"

#include <math.h>
#include <string.h>

#include "base/context_impl.h"
#include "base/stop.h"
#include "kernel/blocked/geometry.h"
#include "kernel/blocked/parts.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"

/* Multiply-adds of a task: 1 to 2 us, and 0.5 ms. */
enum { TASK_MIN = 64 << 10, TASK_MAX = 16 << 20 };
/* The time to load weights from L3, in pixels computed with them. */
enum { LOAD_PIXELS = 4 };
/* The fewest floats that a task of a copy has. */
enum { COPIED_FLOATS = 32 << 10 };

static const struct cfx_blocked_kernels *kernels_of(const cfx_context *ctx)
{
    return cfx_context_kernels(ctx)->blocked;
}

/* ---- The geometry of a convolution ---- */

/* Columns of x, with padding, that the windows of a row of y cover. */
static int64_t row_reach(const cfx_blocked_conv *c)
{
    return (c->out[1] - 1) * c->stride[1] +
           (c->kernel[1] - 1) * c->dilation[1] + 1;
}

static bool needs_padding(const cfx_blocked_conv *c)
{
    return c->pad[1] > 0 || row_reach(c) > c->in[1];
}

cfx_blocked_type cfx_blocked_bfloat16(const cfx_context *ctx)
{
    const struct cfx_blocked_kernels *k = kernels_of(ctx);

    return cfx_context_has(ctx, k->pairs) ? CFX_BLOCKED_PAIRS
                                          : CFX_BLOCKED_MIXED;
}

/* Is x row-major and multiplied by pairs of bfloat16 weights? */
static bool pairs_rows(const cfx_blocked_conv *c)
{
    return c->in_channels && c->type != CFX_BLOCKED_FLOAT;
}

/* Units of 4 bytes in a pixel of a block of x, as the kernel reads it. */
static int64_t lanes_of(const cfx_blocked_conv *c)
{
    if (c->in_channels)
        return c->type == CFX_BLOCKED_MIXED ? 2 : 1;
    return c->type == CFX_BLOCKED_PAIRS ? CFX_BLOCK / 2 : CFX_BLOCK;
}

/* Units of 4 bytes in a pixel of the caller's x. */
static int64_t given_lanes_of(const cfx_blocked_conv *c)
{
    return c->in_channels ? 1 : cfx_blocked_lanes(c->narrow_x);
}

static int64_t filter_lanes_of(const cfx_blocked_conv *c)
{
    return c->type == CFX_BLOCKED_MIXED ? lanes_of(c) / 2 : lanes_of(c);
}

static int64_t planes_of(const cfx_blocked_conv *c)
{
    if (pairs_rows(c))
        return (c->in_channels + 1) / 2;
    return c->in_channels ? c->in_channels : c->in_blocks;
}

/* Is `scale` multiplied into the weights, not into x? bfloat16 weights would be rounded
 * a second time. */
static bool scales_weights(const cfx_blocked_conv *c)
{
    return c->has_scale && c->type == CFX_BLOCKED_FLOAT;
}

/* Does the copy of x have another type or scale? */
static bool converts(const cfx_blocked_conv *c)
{
    return pairs_rows(c) || given_lanes_of(c) != lanes_of(c) ||
           (c->has_scale && !scales_weights(c));
}

/* Is it a 1x1 convolution with a stride? A copy of x without the skipped pixels makes the
 * image one long row. */
static bool leaves_out(const cfx_blocked_conv *c)
{
    return c->kernel[0] * c->kernel[1] == 1 &&
           c->stride[0] * c->stride[1] > 1 && c->pad[0] == 0 &&
           (c->out[0] - 1) * c->stride[0] < c->in[0] && !needs_padding(c) &&
           !c->in_channels && !converts(c);
}

/* Is x copied? */
static bool copies(const cfx_blocked_conv *c)
{
    return needs_padding(c) || converts(c) || leaves_out(c);
}

static size_t copy_bytes(const cfx_blocked_conv *c)
{
    bool less = leaves_out(c);
    const int64_t bytes[] = {c->batch,
                             planes_of(c),
                             less ? c->out[0] : c->in[0],
                             less ? c->out[1] : row_reach(c),
                             lanes_of(c),
                             sizeof(float)};

    return copies(c) ? (size_t)cfx_product64(6, bytes) : 0;
}

/* Elements of w for one block of y. */
static int64_t filters_of(const cfx_blocked_conv *c)
{
    const int64_t n[] = {planes_of(c), c->kernel[0], c->kernel[1],
                         filter_lanes_of(c), CFX_BLOCK};

    return cfx_product64(5, n);
}

static size_t scaled_bytes(const cfx_blocked_conv *c)
{
    const int64_t bytes[] = {c->batch, c->out_blocks, filters_of(c),
                             sizeof(float)};

    return scales_weights(c) ? (size_t)cfx_product64(4, bytes) : 0;
}

size_t cfx_blocked_conv_workspace(const cfx_blocked_conv *c)
{
    return copy_bytes(c) + scaled_bytes(c);
}

/* ---- Copies of x ---- */

typedef struct padding {
    const cfx_blocked_conv *c;
    const struct cfx_blocked_kernels *k;
    cfx_convert_fn *narrow, *widen; /* to bfloat16, and from it */
    float *to;
} padding;

/* Write n pixels of a row of x, times `scale` if it is not NULL. */
static void copy_pixels(const padding *p, float *to, const float *x, int64_t n,
                        const float *scale)
{
    enum { PIECE = 32 };
    const cfx_blocked_conv *c = p->c;
    int64_t lanes = c->in_channels ? 1 : CFX_BLOCK, m;
    bool pairs = c->type == CFX_BLOCKED_PAIRS;
    bool widens = c->narrow_x && (scale || !pairs);
    float floats[PIECE * CFX_BLOCK];

    for (; n > 0; n -= m, x += m * given_lanes_of(c), to += m * lanes_of(c)) {
        const float *from = scale || widens ? floats : x;
        m = scale || widens ? cfx_min64(n, PIECE) : n;
        if (widens)
            p->widen(floats, 1, x, 1, m * lanes);
        if (scale)
            p->k->scale_channels(floats, widens ? floats : x, scale, m);
        if (pairs && (widens || !c->narrow_x))
            p->narrow(to, 1, from, 1, m * lanes);
        else
            memcpy(to, from, (size_t)(m * lanes_of(c)) * sizeof(float));
    }
}

/* Write n pixels of row i, with pairs of row-major channels interleaved. */
static void pair_pixels(const padding *p, float *to, int64_t i, int64_t n)
{
    enum { PIECE = 512 };
    static const float zeros[PIECE] = {0};
    const cfx_blocked_conv *c = p->c;
    int64_t plane = i / c->in[0], planes = planes_of(c), m;
    int64_t channel = plane % planes * 2, size = c->in[0] * c->in[1];
    const float *a = c->x + i % c->in[0] * c->in[1] +
                     (plane / planes * c->in_channels + channel) * size;
    bool alone = channel + 1 == c->in_channels;

    for (int64_t at = 0; at < n; at += m, to += m * lanes_of(c)) {
        const float *b = alone ? zeros : a + size + at;
        m = cfx_min64(n - at, PIECE);
        if (c->type == CFX_BLOCKED_PAIRS) {
            p->k->pair_rows(to, a + at, b, m);
            continue;
        }
        for (int64_t k = 0; k < m; k++) {
            to[2 * k] = a[at + k];
            to[2 * k + 1] = b[k];
        }
    }
}

static void pad_rows(void *arg, int64_t plane, int64_t begin, int64_t end,
                     int worker)
{
    const padding *p = arg;
    const cfx_blocked_conv *c = p->c;
    int64_t lanes = lanes_of(c), reach = row_reach(c);
    int64_t front = cfx_min64(c->pad[1], reach);
    int64_t n = cfx_min64(c->in[1], reach - front), first = plane * c->in[0];

    (void)worker;
    for (int64_t i = first + begin; i < first + end; i++) {
        float *to = p->to + i * reach * lanes, *inner = to + front * lanes;
        size_t unit = (size_t)lanes * sizeof(float);

        memset(to, 0, (size_t)front * unit);
        if (pairs_rows(c))
            pair_pixels(p, inner, i, n);
        else
            copy_pixels(p, inner, c->x + i * c->in[1] * given_lanes_of(c), n,
                        c->scale && !scales_weights(c)
                            ? c->scale + plane * CFX_BLOCK
                            : NULL);
        memset(inner + n * lanes, 0, (size_t)(reach - front - n) * unit);
    }
}

/* Copy the pixels that rows of y read, where leaves_out. */
static void used_rows(void *arg, int64_t plane, int64_t begin, int64_t end,
                      int worker)
{
    const padding *p = arg;
    const cfx_blocked_conv *c = p->c;
    int64_t lanes = lanes_of(c);

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = plane * c->in[0] + i * c->stride[0];
        cfx_blocked__pick(p->to + (plane * c->out[0] + i) * c->out[1] * lanes,
                          c->x + row * c->in[1] * lanes, c->out[1],
                          lanes * (int64_t)sizeof(float),
                          c->stride[1] * lanes * (int64_t)sizeof(float));
    }
}

/* ---- Scaled weights ---- */

typedef struct scaling {
    const cfx_blocked_conv *c;
    const struct cfx_blocked_kernels *k;
    float *to; /* (batch, out_blocks, filters) */
} scaling;

/* A task is one block of y of one image. */
static void scale_weights(void *arg, int64_t begin, int64_t end, int worker)
{
    const scaling *s = arg;
    const cfx_blocked_conv *c = s->c;
    int64_t taps = c->kernel[0] * c->kernel[1], filters = filters_of(c);

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const float *w = c->w + i % c->out_blocks * filters;
        const float *factor = c->scale +
                              i / c->out_blocks * c->in_blocks * CFX_BLOCK;
        float *to = s->to + i * filters;
        for (int64_t k = 0; k < c->in_blocks * taps; k++) {
            int64_t at = k * CFX_BLOCK * CFX_BLOCK;
            s->k->scale(to + at, w + at, factor + k / taps * CFX_BLOCK,
                        CFX_BLOCK);
        }
    }
}

/* ---- Convolutions ---- */

typedef cfx_blocked_work work;

/* The rows of a part. */
typedef struct part_rows {
    const work *v;
    const cfx_blocked_part *part;
    int64_t row, column;      /* of the first pixel */
    cfx_blocked_place corner; /* row 0, without padding; y: pixel `from` */
    int64_t x_row, w_row;     /* from row to row */
    int64_t y_pixel, add_pixel, x_pixel;
} part_rows;

/* The first block of the part, counted over all groups: that of its bias and weights. */
static int64_t filter_block(const work *v, const cfx_blocked_part *part)
{
    return part->image % v->c.groups * v->c.out_blocks + part->block;
}

/* The fields of the tile at pixel 0 of the part's image and blocks. */
static cfx_blocked_place corner_of(const part_rows *r)
{
    const cfx_blocked_part *part = r->part;
    const work *v = r->v;
    const cfx_blocked_conv *c = &v->c;
    int64_t out = c->out[0] * c->out[1], planes = planes_of(c);
    int64_t y = (part->image * c->out_blocks + part->block) * out;

    return (cfx_blocked_place){
        .x = c->x + part->image * planes * c->in[0] * r->x_row,
        .w = c->w + part->image * v->w_image +
             filter_block(v, part) * planes * c->kernel[0] * r->w_row,
        .add = c->end.add ? c->end.add + y * r->add_pixel : NULL,
        .y = part->y};
}

static part_rows rows_of(const work *v, const cfx_blocked_part *part)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t lanes = lanes_of(c);
    part_rows r = {.v = v,
                   .part = part,
                   .row = part->from / c->out[1],
                   .column = part->from % c->out[1],
                   .x_row = v->width * lanes,
                   .w_row = c->kernel[1] * filter_lanes_of(c) * CFX_BLOCK,
                   .y_pixel = cfx_blocked_lanes(c->end.narrow),
                   .add_pixel = cfx_blocked_lanes(c->end.add_narrow),
                   .x_pixel = c->stride[1] * lanes};

    r.corner = corner_of(&r);
    return r;
}

/* The first tile in row i of the part. */
static void row_at(const void *arg, int64_t i, cfx_blocked_place *to)
{
    const part_rows *r = arg;
    const cfx_blocked_conv *c = &r->v->c;
    int64_t width = c->out[1], o = r->row + i, q = i ? 0 : r->column, first;
    int64_t taps = cfx_blocked__taps(c, 0, o, &first);
    int64_t top = o * c->stride[0] - c->pad[0] + first * c->dilation[0];
    int64_t pixel = o * width + q;

    *to = r->corner;
    to->taps = taps;
    to->pixels = cfx_min64(width, r->part->to - o * width) - q;
    if (taps > 0) {
        to->x += top * r->x_row;
        to->w += first * r->w_row;
    }
    to->x += q * r->x_pixel;
    to->y += (pixel - r->part->from) * r->y_pixel;
    if (to->add)
        to->add += pixel * r->add_pixel;
}

/* The fields that all tiles of the part share. */
static cfx_blocked_tile tile_of(const part_rows *r)
{
    const work *v = r->v;
    const cfx_blocked_conv *c = &v->c;
    int64_t lanes = lanes_of(c), out = c->out[0] * c->out[1];
    int64_t filter = filter_lanes_of(c);
    int64_t plane = c->kernel[0] * r->w_row; /* of w */
    cfx_blocked_tile t = {.type = c->type,
                          .n = {planes_of(c), 0, c->kernel[1]},
                          .steps = filter,
                          .skip = c->filling * filter / CFX_BLOCK,
                          .x_pixel = r->x_pixel,
                          .x_at = {c->in[0] * r->x_row,
                                   c->dilation[0] * r->x_row,
                                   c->dilation[1] * lanes},
                          .x_step = lanes / filter,
                          .w_block = planes_of(c) * plane,
                          .w_at = {plane, r->w_row},
                          .end = c->end,
                          .bias_block = CFX_BLOCK,
                          .add_pixel = r->add_pixel,
                          .add_block = out * r->add_pixel,
                          .y_pixel = r->y_pixel,
                          .y_block = r->part->y_block};

    if (c->in_channels) { /* the steps are the columns of the window */
        t.n[2] = 1;
        t.steps = c->kernel[1];
        t.x_step = c->dilation[1] * lanes;
    }
    if (t.end.bias)
        t.end.bias += filter_block(v, r->part) * CFX_BLOCK;
    return t;
}

void cfx_blocked_compute(const cfx_blocked_work *v,
                         const cfx_blocked_part *part)
{
    const cfx_blocked_conv *c = &v->c;
    part_rows r = rows_of(v, part);
    cfx_blocked_rows all = {(part->to - 1) / c->out[1] - r.row + 1,
                            tile_of(&r), row_at, &r};

    cfx_blocked_run_rows(v->ctx, &all, part->blocks);
}

/* ---- Tasks ---- */

typedef struct tasks {
    const work *v;
    int64_t unit; /* blocks of a tile */
    int64_t row;  /* pixels of a row */
    cfx_partition p;
} tasks;

bool cfx_blocked_by_rows(const cfx_blocked_work *v)
{
    int64_t weights = cfx_blocked_depth(v) * v->c.out_blocks;

    return weights * (int64_t)sizeof(float) <= cfx_near_bytes(v->ctx);
}

static void conv_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const tasks *p = arg;
    const cfx_blocked_conv *c = &p->v->c;
    int64_t pixels = c->out[0] * c->out[1];
    int64_t y_pixel = cfx_blocked_lanes(c->end.narrow);

    (void)worker;
    for (int64_t i = begin; i < end && !cfx_context_stops(p->v->ctx); i++) {
        cfx_task a = cfx_task_at(&p->p, i);
        int64_t from = a.from * p->row, block = a.unit * p->unit;
        int64_t y = (a.image * c->out_blocks + block) * pixels + from;
        cfx_blocked_part part = {
            a.image,
            block,
            cfx_min64(a.units * p->unit, c->out_blocks - block),
            from,
            cfx_min64(a.to * p->row, pixels),
            c->y + y * y_pixel,
            pixels * y_pixel};
        cfx_blocked_compute(p->v, &part);
    }
}

/* Is an image one long row, which may be cut anywhere? */
static bool is_one_row(const cfx_blocked_conv *c)
{
    return c->out[0] == 1;
}

static int64_t depth_of(const cfx_blocked_conv *c)
{
    return cfx_max64(planes_of(c) * filter_lanes_of(c), 1);
}

int64_t cfx_blocked_unit(const cfx_blocked_work *v)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t most = is_one_row(c) ? CFX_WHOLE : c->out[1];
    bool pointwise = c->kernel[0] * c->kernel[1] == 1 && !c->in_channels &&
                     c->type == CFX_BLOCKED_FLOAT;

    return cfx_blocked_tile_blocks(v->k->pixels, cfx_min64(c->out[1], most),
                                   c->out_blocks, pointwise);
}

int64_t cfx_blocked_depth(const cfx_blocked_work *v)
{
    const cfx_blocked_conv *c = &v->c;

    return depth_of(c) * c->kernel[0] * c->kernel[1] * CFX_BLOCK;
}

/* Choose groups, whose weights leave room for x in L2, and chunks. Weights are loaded
 * into L2 once for each chunk, and the image once for each group unless it stays there:
 * take the cut that loads the least. As each task reads all weights of its blocks, those
 * of one long row have at least CFX_WHOLE pixels, unless the threads would get uneven
 * numbers of tasks. */
static void cut(tasks *p, const work *v)
{
    const cfx_blocked_conv *c = &v->c;
    int64_t pixels = c->out[0] * c->out[1], unit = cfx_blocked_unit(v);
    int64_t most_pixels = is_one_row(c) ? v->k->pixels[unit] : c->out[1];
    int64_t row = cfx_min64(c->out[1], most_pixels);
    int64_t least = is_one_row(c) ? CFX_WHOLE / row : 1;
    int64_t rows = cfx_ceil_div(pixels, row);
    int64_t units = cfx_ceil_div(c->out_blocks, unit);
    int64_t weights = cfx_blocked_depth(v) * unit;
    double image = (double)depth_of(c) * (double)c->in[0] * (double)v->width;
    /* Multiply-adds of a row; fewer than LOAD_PIXELS pixels are bound by loads. */
    double cost = (double)weights * (double)cfx_max64(row, LOAD_PIXELS);
    double all = cost * (double)(units * rows) * (double)c->batch;
    int64_t n = cfx_max64(
        cfx_units_of_task(v->ctx, all, cost, TASK_MIN, TASK_MAX), least);
    int64_t near = v->ctx->caches.l2 / 2 / (int64_t)sizeof(float), group = 1;

    if (image > (double)near)
        group = (int64_t)sqrt(image * (double)n /
                              ((double)weights * (double)rows));
    group = cfx_min64(cfx_min64(group, n), cfx_min64(units, near / weights));
    *p = (tasks){.v = v,
                 .unit = unit,
                 .row = row,
                 .p = {.images = c->batch,
                       .rows = rows,
                       .units = units,
                       .by_rows = cfx_blocked_by_rows(v)}};
    cfx_partition_cut(&p->p, v->ctx, n, group, cfx_max64(near / weights, 1));
}

/* Let each group of an image count as an image, with the group's weights. */
static void separate_groups(cfx_blocked_conv *c)
{
    c->groups = cfx_max64(c->groups, 1);
    c->batch *= c->groups;
    c->in_blocks /= c->groups;
    c->out_blocks /= c->groups;
}

/* Copy x to the workspace. */
static void copy_x(cfx_context *ctx, work *v, const cfx_blocked_conv *c,
                   void *workspace)
{
    const struct cfx_pointwise_kernels *k =
        cfx_context_kernels(ctx)->pointwise;
    padding p = {c, v->k, k->convert[CFX_BF16][CFX_F32],
                 k->convert[CFX_F32][CFX_BF16], workspace};
    bool less = leaves_out(c);

    for (int i = 0; i < 2 && less; i++) {
        v->c.in[i] = c->out[i];
        v->c.stride[i] = 1;
    }
    v->c.x = workspace;
    v->width = less ? c->out[1] : row_reach(c);
    cfx_blocked_for_rows(
        ctx, (cfx_blocked_planes){c->batch, planes_of(c), v->c.in[0]},
        COPIED_FLOATS / (v->width * lanes_of(c)) + 1,
        less ? used_rows : pad_rows, &p);
}

void cfx_blocked_begin(cfx_context *ctx, const cfx_blocked_conv *c,
                       void *workspace, cfx_blocked_work *v)
{
    *v = (cfx_blocked_work){ctx, kernels_of(ctx), *c, c->in[1], 0};
    separate_groups(&v->c);
    if (copy_bytes(c) > 0)
        copy_x(ctx, v, c, workspace);
    if (scales_weights(c)) {
        scaling s = {c, v->k, (float *)((char *)workspace + copy_bytes(c))};
        int64_t filters = filters_of(c);
        v->c.w = s.to;
        v->w_image = c->out_blocks * filters;
        cfx_parallel_for(ctx, c->batch * c->out_blocks, 65536 / filters + 1,
                         scale_weights, &s);
    }
    if (cfx_blocked__is_flat(&v->c)) {
        v->c.in[1] = v->c.out[1] = v->width = v->c.in[0] * v->c.in[1];
        v->c.in[0] = v->c.out[0] = 1;
    }
}

void cfx_blocked_conv_run(cfx_context *ctx, const cfx_blocked_conv *c,
                          void *workspace)
{
    work v;
    tasks p;

    if (c->batch * c->out_blocks * c->out[0] * c->out[1] == 0)
        return;
    cfx_blocked_begin(ctx, c, workspace, &v);
    cut(&p, &v);
    cfx_parallel_for(ctx, cfx_partition_tasks(&p.p), 1, conv_task, &p);
}
