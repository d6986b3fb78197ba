/*
 * quantized.c -- products of uint8 with int8, cut into tiles.
 *
 * A task is some rows of y of some blocks of an image. It computes all rows
 * for one unit of blocks, whose weights stay in L2, and meanwhile prefetches those of
 * the next unit. A convolution with padding reads a copy of x with a border. On a
 * processor without products of bytes, x is copied to 16 bits if it is read often.
 */
#include "kernel/blocked/quantized.h"

#include <math.h>
#include <string.h>

#include "base/context_impl.h"
#include "base/stop.h"
#include "base/util.h"
#include "kernel/blocked/geometry.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* Multiply-adds of a task: with dot-product instructions 2 to 4 us, and 1 ms. */
enum { TASK_MIN = 512 << 10, TASK_MAX = 128 << 20 };
/* The most bytes that a step of a sum prefetches. */
enum { AHEAD = 2 * CFX_LINE };
/* The fewest bytes of a task of a copy. */
enum { COPIED_BYTES = 32 << 10 };
/* Widen x in advance if tiles read each byte at least this often. */
enum { WIDE_READS = 4 };

typedef struct work {
    const cfx_context *ctx;
    const int *most; /* pixels of tiles, by blocks */
    void (*tile)(const cfx_quantized_tile *t);
    cfx_quantized_tile first; /* of the first row of the first image */
    int64_t blocks;           /* of y of an image */
    int64_t parts;            /* image i has the weights of number i % parts */
    int64_t row, pixels;      /* pixels of a row, and of all rows */
    bool flat;                /* an image is one long row */
    int64_t x_image, x_row, y_image, y_row;
    int64_t steps; /* of the sums of a tile */
    int64_t unit;  /* blocks of a tile */
    cfx_partition p;
} work;

/* ---- Tiles ---- */

/* The tile of row 0 with the blocks from `block` on. */
static cfx_quantized_tile tile_at(const work *v, int64_t n, int64_t block,
                                  int64_t blocks)
{
    cfx_quantized_tile t = v->first;
    int64_t filter = n % v->parts * v->blocks + block;
    int64_t at = filter * CFX_BLOCK;

    t.blocks = blocks;
    t.columns -= block * CFX_BLOCK;
    t.x += n * v->x_image;
    t.w += filter * t.w_block;
    t.y += n * v->y_image + block * t.y_block;
    t.end.offset += at;
    t.end.scale += at;
    if (t.end.bias)
        t.end.bias += at;
    return t;
}

/* Compute the tiles of a row, which begins with t. */
static void run_row(const work *v, cfx_quantized_tile *t, int64_t pixels)
{
    int64_t n = cfx_ceil_div(pixels, v->most[t->blocks]);
    int64_t least = pixels / n, more = pixels % n;

    for (int64_t i = 0; i < n; i++) {
        t->pixels = least + (i < more);
        v->tile(t);
        t->x += t->pixels * t->x_pixel;
        t->y += t->pixels * t->y_pixel;
        t->next += v->steps * t->next_step;
    }
}

/* Meanwhile prefetch the weights of the following `next` blocks. The tile is updated in
 * place: copying it for each row stalls on store forwarding. */
static void run_unit(const work *v, int64_t n, int64_t block, int64_t blocks,
                     int64_t from, int64_t to, int64_t next)
{
    cfx_quantized_tile t = tile_at(v, n, block, blocks);
    const uint8_t *x = t.x;
    char *y = t.y;
    int64_t rows = v->flat ? to - from : 1; /* at a time */
    int64_t tiles = cfx_ceil_div(v->row * rows, v->most[blocks]) *
                    ((to - from) / rows);
    int64_t each = cfx_ceil_div(next * t.w_block, tiles * v->steps);

    t.next = t.w + blocks * t.w_block;
    t.next_step = cfx_min64(cfx_round_up(each, CFX_LINE), AHEAD);
    for (int64_t i = from; i < to; i += rows) {
        t.x = x + i * v->x_row;
        t.y = y + i * v->y_row;
        run_row(v, &t, cfx_min64(v->row * rows, v->pixels - i * v->row));
    }
}

static void run_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const work *v = arg;

    (void)worker;
    for (int64_t i = begin; i < end && !cfx_context_stops(v->ctx); i++) {
        cfx_task a = cfx_task_at(&v->p, i);
        int64_t block = a.unit * v->unit;
        int64_t last = cfx_min64(block + a.units * v->unit, v->blocks);
        for (int64_t unit = v->unit; block < last; block += unit) {
            while (unit > last - block)
                unit /= 2;
            run_unit(v, a.image, block, unit, a.from, a.to,
                     cfx_min64(unit, v->blocks - block - unit));
        }
    }
}

cfx_quantized_range cfx_quantized__range_of(float lo, float hi, int zero_point)
{
    return (cfx_quantized_range){(int)rintf(lo) + zero_point,
                                 (int)rintf(hi) + zero_point};
}

bool cfx_quantized__sum_fits(const cfx_quantized_sum *s)
{
    float most = UINT8_MAX * (fabsf(s->scale[0]) + fabsf(s->scale[1]));

    return most + fabsf(s->bias) < 0x1p30F;
}

void cfx_quantized__prepare_end(const cfx_context *ctx, cfx_quantized_end *end,
                                int64_t blocks)
{
    const struct cfx_quantized_elements *k =
        cfx_context_kernels(ctx)->quantized->elements;
    const cfx_quantized_sum *s = end->sum;
    int64_t n = blocks * CFX_BLOCK;

    if (!end->rounds)
        return;
    /* Any int32 is scaled to half of the largest. */
    end->fits = k->are_below(end->scale, 0.5F, n) &&
                (!end->bias || k->are_below(end->bias, 0x1p29F, n));
    end->y_range = cfx_quantized__range_of(end->lo, end->hi, end->zero_point);
    if (s) {
        end->fits = end->fits && cfx_quantized__sum_fits(s);
        end->a_range = end->y_range;
        end->y_range = cfx_quantized__range_of(s->lo, s->hi, s->zero_point);
    }
    end->full = (s ? s->zero_point : end->zero_point) == 0 &&
                end->y_range.lo == 0 && end->y_range.hi == UINT8_MAX;
}

/* Let a tile's pixels count as a row, so that chunks consist of whole tiles. */
static void cut_rows(work *v)
{
    v->row = v->most[v->unit];
    v->p.rows = cfx_ceil_div(v->pixels, v->row);
    v->x_row = v->row * v->first.x_pixel;
    v->y_row = v->row * v->first.y_pixel;
}

/* Cut y into groups of units and chunks of rows. */
static void cut(work *v)
{
    const cfx_quantized_tile *t = &v->first;
    double depth = (double)(t->n[0] * t->n[1] * t->n[2]) *
                   (double)cfx_max64(t->quads * CFX_QUAD, 1);

    v->steps = cfx_max64(t->n[0] * t->n[1] * t->n[2], 1);
    v->unit = cfx_blocked_tile_blocks(
        v->most, v->flat ? cfx_min64(CFX_WHOLE, v->pixels) : v->row, v->blocks,
        false);
    if (v->flat)
        cut_rows(v);
    v->p.units = cfx_ceil_div(v->blocks, v->unit);
    double cost = fmax(depth, 1) * (double)(v->row * v->unit * CFX_BLOCK);
    double all = cost * (double)(v->p.units * v->p.rows) * (double)v->p.images;
    v->p.by_rows = depth * (double)(v->blocks * CFX_BLOCK) <=
                   (double)cfx_near_bytes(v->ctx);
    cfx_partition_cut(&v->p, v->ctx,
                      cfx_units_of_task(v->ctx, all, cost, TASK_MIN, TASK_MAX),
                      1, v->p.units);
}

static const struct cfx_quantized_kernels *kernels_of(const cfx_context *ctx)
{
    return cfx_context_kernels(ctx)->quantized;
}

/* Is x widened before, if tiles read each byte so often? */
static bool is_wide(const cfx_context *ctx, int64_t reads)
{
    const struct cfx_quantized_kernels *k = kernels_of(ctx);

    return k->wide_tile && !cfx_context_has(ctx, k->dots) &&
           reads >= WIDE_READS;
}

static void run(cfx_context *ctx, work *v, bool wide)
{
    const struct cfx_quantized_kernels *k = kernels_of(ctx);

    cfx_quantized__prepare_end(ctx, &v->first.end, v->parts * v->blocks);
    v->ctx = ctx;
    v->most = k->pixels;
    v->tile = wide ? k->wide_tile : k->tile[cfx_context_has(ctx, k->dots)];
    cut(v);
    cfx_parallel_for(ctx, cfx_partition_tasks(&v->p), 1, run_task, v);
}

static int64_t result_bytes(const cfx_quantized_end *e)
{
    return e->rounds ? 1 : (int64_t)sizeof(float);
}

/* ---- Convolutions ---- */

int64_t cfx_quantized_reach(const cfx_quantized_conv *c, int axis)
{
    return (c->out[axis] - 1) * c->stride[axis] +
           (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}

bool cfx_quantized_needs_border(const cfx_quantized_conv *c)
{
    return c->pad[0] > 0 || c->pad[1] > 0 ||
           cfx_quantized_reach(c, 0) > c->in[0] ||
           cfx_quantized_reach(c, 1) > c->in[1];
}

/* Write n pixels of padding: mostly too few for memset to pay. */
static void fill(const cfx_quantized_conv *c, uint8_t *to, int64_t n)
{
    const uint32_t four = c->x_zero_point * 0x01010101U;

    for (int64_t i = 0; i < n * c->channels; i += CFX_QUAD)
        memcpy(to + i, &four, sizeof(four));
}

void cfx_quantized_border_row(const cfx_quantized_conv *c, int64_t plane,
                              int64_t row, uint8_t *to)
{
    int64_t width = cfx_quantized_reach(c, 1), unit = c->channels;
    int64_t front = cfx_min64(c->pad[1], width);
    int64_t n = cfx_min64(c->in[1], width - front);

    row -= c->pad[0];
    if (row < 0 || row >= c->in[0]) {
        memset(to, c->x_zero_point, (size_t)(width * unit));
        return;
    }
    row += plane * c->in[0];
    fill(c, to, front);
    memcpy(to + front * unit, c->x + row * c->in[1] * unit,
           (size_t)(n * unit));
    fill(c, to + (front + n) * unit, width - front - n);
}

/* Is it a 1x1 convolution with a stride? The skipped pixels are not copied. */
static bool leaves_out(const cfx_quantized_conv *c)
{
    return c->kernel[0] * c->kernel[1] == 1 &&
           c->stride[0] * c->stride[1] > 1 && !cfx_quantized_needs_border(c);
}

/* The extent of x in the copy, if there is one. */
static int64_t copied(const cfx_quantized_conv *c, int axis)
{
    return leaves_out(c) ? c->out[axis] : cfx_quantized_reach(c, axis);
}

static int64_t parts_of(const cfx_quantized_conv *c)
{
    return cfx_max64(c->groups, 1);
}

static bool is_wide_conv(const cfx_context *ctx, const cfx_quantized_conv *c)
{
    return is_wide(ctx,
                   c->out_blocks / parts_of(c) * c->kernel[0] * c->kernel[1]);
}

static bool is_copied(const cfx_context *ctx, const cfx_quantized_conv *c)
{
    return cfx_quantized_needs_border(c) || leaves_out(c) ||
           is_wide_conv(ctx, c);
}

size_t cfx_quantized_conv_workspace(const cfx_context *ctx,
                                    const cfx_quantized_conv *c)
{
    const int64_t extents[] = {1 + is_wide_conv(ctx, c),
                               c->batch,
                               c->in_blocks,
                               copied(c, 0),
                               copied(c, 1),
                               c->channels};

    return is_copied(ctx, c) ? (size_t)cfx_product64(6, extents) : 0;
}

typedef struct copy {
    const cfx_quantized_conv *c;
    /* NULL: bytes stay bytes. */
    void (*widen)(const uint8_t *x, uint8_t *y, int64_t n);
    uint8_t *to;
} copy;

/* Copy the bytes of a row that are read. */
static void copy_row(const cfx_quantized_conv *c, int64_t plane, int64_t row,
                     uint8_t *to)
{
    const int64_t unit = c->channels;

    if (!leaves_out(c)) {
        cfx_quantized_border_row(c, plane, row, to);
        return;
    }
    int64_t from = plane * c->in[0] + row * c->stride[0];
    cfx_blocked__pick(to, c->x + from * c->in[1] * unit, c->out[1], unit,
                      c->stride[1] * unit);
}

/* Rows begin..end of a plane of the copy. A row that is widened is first copied to the
 * second half of its place. */
static void copy_rows(void *arg, int64_t plane, int64_t begin, int64_t end,
                      int worker)
{
    const copy *b = arg;
    int64_t n = copied(b->c, 1) * b->c->channels, row = b->widen ? 2 * n : n;
    uint8_t *to = b->to + (plane * copied(b->c, 0) + begin) * row;

    (void)worker;
    for (int64_t i = begin; i < end; i++, to += row) {
        copy_row(b->c, plane, i, to + row - n);
        if (b->widen)
            b->widen(to + n, to, n);
    }
}

/* Is it a 1x1 convolution of stride 1, so that an image is one long row? */
static bool is_flat(const cfx_quantized_conv *c)
{
    return c->kernel[0] * c->kernel[1] == 1 &&
           c->stride[0] * c->stride[1] == 1 && c->in[0] == c->out[0] &&
           c->in[1] == c->out[1];
}

/* Each group of an image counts as an image. */
static work work_of(const cfx_quantized_conv *c, bool wide)
{
    int64_t parts = parts_of(c);
    int64_t in = c->in_blocks / parts, out = c->out_blocks / parts;
    int64_t pixel = CFX_BLOCK * result_bytes(&c->end);
    int64_t unit = c->channels * (1 + wide); /* bytes */
    int64_t width = c->in[1] * unit, plane = c->in[0] * width;
    int64_t taps = c->kernel[0] * c->kernel[1];
    int64_t pixels = c->out[0] * c->out[1];
    bool flat = is_flat(c);
    work v = {
        .flat = flat,
        .p = {.images = c->batch * parts, .rows = c->out[0]},
        .parts = parts,
        .blocks = out,
        .row = c->out[1],
        .pixels = pixels,
        .x_image = in * plane,
        .x_row = c->stride[0] * width,
        .y_image = out * pixels * pixel,
        .y_row = c->out[1] * pixel,
        .first = {.columns = out * CFX_BLOCK,
                  .n = {in, c->kernel[0], c->kernel[1]},
                  .quads = c->channels / CFX_QUAD,
                  .x = c->x,
                  .w = c->w,
                  .x_pixel = c->stride[1] * unit,
                  .x_at = {plane, c->dilation[0] * width,
                           c->dilation[1] * unit},
                  .w_block = in * taps * c->channels * CFX_BLOCK,
                  .end = c->end,
                  .y = c->y,
                  .y_pixel = pixel,
                  .y_block = pixels * pixel},
    };
    return v;
}

/* `c` with a copy of x, if it needs one. */
static cfx_quantized_conv with_copy(cfx_context *ctx,
                                    const cfx_quantized_conv *c,
                                    void *workspace)
{
    cfx_quantized_conv inner = *c;
    copy b = {c, is_wide_conv(ctx, c) ? kernels_of(ctx)->widen : NULL,
              workspace};

    if (!is_copied(ctx, c))
        return inner;
    inner.x = workspace;
    for (int i = 0; i < 2; i++) {
        inner.in[i] = copied(c, i);
        inner.pad[i] = 0;
        inner.stride[i] = leaves_out(c) ? 1 : c->stride[i];
    }
    cfx_blocked_for_rows(
        ctx, (cfx_blocked_planes){c->batch, c->in_blocks, inner.in[0]},
        COPIED_BYTES / cfx_max64(inner.in[1] * c->channels, 1) + 1, copy_rows,
        &b);
    return inner;
}

void cfx_quantized_conv_run(cfx_context *ctx, const cfx_quantized_conv *c,
                            void *workspace)
{
    if (c->batch * c->out_blocks * c->out[0] * c->out[1] == 0)
        return;
    const cfx_quantized_conv inner = with_copy(ctx, c, workspace);
    bool wide = is_wide_conv(ctx, c);
    work v = work_of(&inner, wide);
    run(ctx, &v, wide);
}

/* ---- Products of matrices ---- */

/* The depth is cut into steps; rows of x and y lie x_row and y_row bytes apart. */
static work product_work(const cfx_quantized_product *p, int64_t step,
                         int64_t x_row, int64_t y_row)
{
    int64_t bytes = result_bytes(&p->end);

    return (work){
        .p = {.images = 1},
        .parts = 1,
        .blocks = cfx_ceil_div(p->columns, CFX_BLOCK),
        .flat = true,
        .pixels = p->rows,
        .first = {.columns = p->columns,
                  .n = {step ? p->depth / step : 0, 1, 1},
                  .quads = step / CFX_QUAD,
                  .x_at = {step},
                  .x = p->x,
                  .w = p->w,
                  .x_pixel = x_row,
                  .w_block = p->depth * CFX_BLOCK,
                  .end = p->end,
                  .y = p->y,
                  .y_pixel = y_row,
                  .y_block = CFX_BLOCK * bytes},
    };
}

static bool is_wide_product(const cfx_context *ctx,
                            const cfx_quantized_product *p)
{
    return is_wide(ctx, cfx_ceil_div(p->columns, CFX_BLOCK));
}

size_t cfx_quantized_product_workspace(const cfx_context *ctx,
                                       const cfx_quantized_product *p)
{
    return is_wide_product(ctx, p) ? 2 * (size_t)(p->rows * p->depth) : 0;
}

typedef struct widening {
    const struct cfx_quantized_kernels *k;
    const uint8_t *x;
    uint8_t *y;
} widening;

static void widen_fours(void *arg, int64_t begin, int64_t end, int worker)
{
    const widening *w = arg;

    (void)worker;
    w->k->widen(w->x + begin * CFX_QUAD, w->y + 2 * begin * CFX_QUAD,
                (end - begin) * CFX_QUAD);
}

void cfx_quantized_product_run(cfx_context *ctx,
                               const cfx_quantized_product *p, void *workspace)
{
    int64_t step = p->depth % CFX_BLOCK ? p->depth : CFX_BLOCK;

    if (p->rows == 0 || p->columns == 0)
        return;
    work v = product_work(p, step, p->depth,
                          p->columns * result_bytes(&p->end));
    if (is_wide_product(ctx, p) && p->depth > 0) {
        widening w = {kernels_of(ctx), p->x, workspace};
        cfx_parallel_for(ctx, p->rows * p->depth / CFX_QUAD,
                         COPIED_BYTES / CFX_QUAD, widen_fours, &w);
        v.first.x = workspace;
        v.first.x_pixel *= 2;
        v.first.x_at[0] *= 2;
    }
    run(ctx, &v, is_wide_product(ctx, p));
}

void cfx_quantized_product_run_serial(const cfx_context *ctx,
                                      const cfx_quantized_product *p,
                                      int64_t x_row, int64_t y_row)
{
    const struct cfx_quantized_kernels *k = kernels_of(ctx);

    if (p->rows == 0 || p->columns == 0)
        return;
    work v = product_work(p, p->depth, x_row, y_row);
    v.steps = 1;
    v.row = p->rows;
    v.most = k->pixels;
    v.tile = k->tile[cfx_context_has(ctx, k->dots)];
    for (int64_t block = 0, n; block < v.blocks; block += n) {
        n = cfx_blocked_tile_blocks(v.most, v.row, v.blocks - block, false);
        run_unit(&v, 0, block, n, 0, 1, 0);
    }
}
