/*
 * packed.c -- products with packed weights, cut into the tiles of
 * kernel/blocked.
 *
 * A task is a chunk of rows times a group of blocks of 16 columns. The depth
 * is cut into slices, so that the task's part of x stays in L2 while the weights
 * stream through; partial sums are kept in y. The order of a sum does not depend on
 * the tasks.
 */
#include "kernel/blocked/packed.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "base/util.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* The most rows of w in a slice, and rows of x in a chunk if weights have scales. They
 * decide which sums have two accumulators, so they are the same for all caches. */
enum { SLICE = 768, SCALED_CHUNK = 200 };
/* Multiply-adds in a task, at least and at most: 30 to 300 us. */
enum { TASK_MIN = 2 << 20, TASK_MAX = 24 << 20 };
/* Products of at most so many rows are bound by weight bandwidth. */
enum { FEW_ROWS = 16 };
/* Weights from memory that are prefetched, in cache lines of all streams of a tile: 16
 * KiB. AVX2 has half as many streams as AVX-512, and needs twice the distance. */
enum { FAR_AHEAD = 256 };

typedef struct packed {
    const cfx_context *ctx;
    const struct cfx_blocked_kernels *k;
    cfx_packed_product p;
    const float *x_sums;   /* negative, of each row and group; or NULL */
    int64_t depth;         /* floats, or what 4 bytes hold, of a column of w */
    int64_t x_step;        /* elements of x for each of them */
    int64_t blocks;        /* of y, whole or not */
    int64_t slice;         /* of the depth */
    int64_t chunks;        /* of the rows */
    int64_t group, groups; /* blocks in a group, groups */
    int unit;              /* blocks of a tile */
} packed;

/* ---- Tiles ---- */

/* The most blocks that a tile can have. It then has few rows, so that rows of x that lie
 * 4096 bytes apart, and alias in L1, do not evict each other. */
static int tile_blocks(const struct cfx_blocked_kernels *k)
{
    return k->pixels[4] ? 4 : k->pixels[2] ? 2 : 1;
}

/* Compute a last block of less than 16 columns in a buffer, and copy its columns. */
static void run_last(const struct cfx_blocked_kernels *k, cfx_blocked_tile t,
                     int64_t rows, int64_t columns)
{
    enum { MOST = 16 };
    float y[MOST][CFX_BLOCK], add[MOST][CFX_BLOCK] = {{0}};
    float bias[CFX_BLOCK] = {0};
    size_t bytes = (size_t)columns * sizeof(float);
    cfx_blocked_tile beside = t;

    if (t.end.bias)
        memcpy(bias, t.end.bias, bytes);
    beside.split = t.split && rows == 1;
    beside.end.bias = bias;
    beside.end.add = add[0];
    beside.y = y[0];
    beside.add_pixel = beside.y_pixel = CFX_BLOCK;
    for (int64_t i = 0, n; i < rows; i += n) {
        n = cfx_min64(rows - i, cfx_min64(k->pixels[1], MOST));
        for (int64_t p = 0; p < n && t.end.add; p++)
            memcpy(add[p], t.end.add + (i + p) * t.add_pixel, bytes);
        beside.pixels = n;
        k->tile(&beside);
        if (t.x_sums)
            beside.x_sums += n * t.x_sums_pixel;
        for (int64_t p = 0; p < n; p++)
            memcpy(t.y + (i + p) * t.y_pixel, y[p], bytes);
        beside.x += n * t.x_pixel;
    }
}

/* ---- Tasks ---- */

/* Some rows of some blocks of y. */
typedef struct part {
    int64_t row, rows, block, blocks;
} part;

/* Into how many parts a sum is cut, between which the next weights are prefetched. */
static int64_t cuts_of(int64_t steps)
{
    enum { PART = 64 };

    return steps % PART ? 1 : cfx_max64(steps / PART, 1);
}

/* The part's first tile in the slice of the depth that begins at k. */
static cfx_blocked_tile tile_at(const packed *v, const part *a, int64_t k)
{
    const cfx_packed_product *p = &v->p;
    int64_t y = a->row * p->columns + a->block * CFX_BLOCK;
    int64_t row = v->depth * v->x_step;
    int64_t steps = cfx_min64(v->slice, v->depth - k);
    int64_t groups = p->end.scale ? p->groups : cuts_of(steps);
    cfx_blocked_tile t = {.type = p->type,
                          .blocks = v->unit,
                          .n = {1, 1, groups},
                          .steps = steps / groups,
                          .x = p->x + a->row * row + k * v->x_step,
                          .x_pixel = row,
                          .x_at = {0, 0, steps / groups * v->x_step},
                          .x_step = v->x_step,
                          .x_sums_pixel = p->groups,
                          .w = p->w + (a->block * v->depth + k) * CFX_BLOCK,
                          .w_block = v->depth * CFX_BLOCK,
                          .split = v->slice >= v->depth,
                          .end = {.lo = -INFINITY, .hi = INFINITY},
                          .bias_block = CFX_BLOCK,
                          .scale_block = p->groups * CFX_BLOCK,
                          .zero_block = cfx_ceil_div(p->groups, v->x_step) *
                                        CFX_BLOCK,
                          .add_pixel = p->columns,
                          .add_block = CFX_BLOCK,
                          .y = p->y + y,
                          .y_pixel = p->columns,
                          .y_block = CFX_BLOCK};

    if (k > 0)
        t.end.add = t.y;
    else if (p->end.add)
        t.end.add = p->end.add + y;
    if (k == 0 && p->end.bias)
        t.end.bias = p->end.bias + a->block * CFX_BLOCK;
    if (p->end.scale)
        t.end.scale = p->end.scale + a->block * t.scale_block;
    if (v->x_sums) {
        t.end.zero = p->end.zero + a->block * t.zero_block;
        t.x_sums = v->x_sums + a->row * p->groups;
    }
    if (k + v->slice >= v->depth) {
        t.end.lo = p->end.lo;
        t.end.hi = p->end.hi;
    }
    return t;
}

/* Advance t by blocks, with the strides of `of`. */
static void move(cfx_blocked_tile *t, const cfx_blocked_tile *of,
                 int64_t blocks)
{
    t->w += blocks * of->w_block;
    t->y += blocks * CFX_BLOCK;
    if (t->end.add)
        t->end.add += blocks * CFX_BLOCK;
    if (t->end.bias)
        t->end.bias += blocks * CFX_BLOCK;
    if (t->end.scale)
        t->end.scale += blocks * of->scale_block;
    if (t->end.zero)
        t->end.zero += blocks * of->zero_block;
}

/* Small batches are bound by weight bandwidth. Give a tile blocks that are far apart, so
 * that consecutive tiles read consecutive memory: a few long streams. Returns the number
 * of blocks done; all have 16 columns. */
static int64_t run_streams(const packed *v, const part *a,
                           const cfx_blocked_tile *first, int64_t blocks)
{
    cfx_blocked_tile t = *first;
    int64_t n = blocks / t.blocks;

    t.ahead = FAR_AHEAD / t.blocks * CFX_BLOCK;
    t.w_block *= n;
    t.scale_block *= n;
    t.zero_block *= n;
    t.bias_block *= n;
    t.add_block *= n;
    t.y_block *= n;
    for (int64_t i = 0; i < n; i++) {
        cfx_blocked_run_row(v->k, t, a->rows, t.w, 0);
        move(&t, first, 1);
    }
    return n * t.blocks;
}

/* The weights that are read after the slice that begins at k. */
static const float *behind(const packed *v, const part *a, int64_t k)
{
    k += v->slice;
    return v->p.w + (k < v->depth ? a->block * v->depth + k
                                  : (a->block + a->blocks) * v->depth) *
                        CFX_BLOCK;
}

static void run_slice(const packed *v, const part *a, int64_t k)
{
    cfx_blocked_tile t = tile_at(v, a, k);
    int64_t columns = v->p.columns - a->block * CFX_BLOCK, left = a->blocks;
    int64_t bytes = t.n[2] * t.steps * CFX_BLOCK * (int64_t)sizeof(float);
    int64_t lines = a->rows <= FEW_ROWS ? 0 : bytes / CFX_LINE;

    if (a->rows <= FEW_ROWS) {
        left -= run_streams(v, a, &t, cfx_min64(left, columns / CFX_BLOCK));
        move(&t, &t, a->blocks - left);
        columns -= (a->blocks - left) * CFX_BLOCK;
    }
    t.ahead = CFX_AHEAD * CFX_BLOCK;
    for (; left > 0; left -= t.blocks) {
        while (t.blocks > 1 &&
               (t.blocks > left || columns < t.blocks * CFX_BLOCK))
            t.blocks /= 2;
        if (columns < CFX_BLOCK)
            run_last(v->k, t, a->rows, columns);
        else
            cfx_blocked_run_row(v->k, t, a->rows,
                                left > t.blocks ? t.w + t.blocks * t.w_block
                                                : behind(v, a, k),
                                lines);
        move(&t, &t, t.blocks);
        columns -= t.blocks * CFX_BLOCK;
    }
}

/* Apply the activation to whole rows of a part, while they are in cache. */
static void activate(const packed *v, const part *a)
{
    const cfx_packed_product *p = &v->p;
    int64_t from = a->block * CFX_BLOCK;
    int64_t n = cfx_min64(a->blocks * CFX_BLOCK, p->columns - from);

    for (int64_t i = a->row; i < a->row + a->rows; i++) {
        float *y = p->y + i * p->columns + from;
        const void *in[] = {y};
        p->end.activation(y, in, n, p->end.params);
    }
}

static void run_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const packed *v = arg;

    (void)worker;
    for (int64_t i = begin; i < end && !cfx_context_stops(v->ctx); i++) {
        int64_t c = i % v->chunks, block = i / v->chunks * v->group;
        int64_t row = c * v->p.rows / v->chunks;
        part a = {row, (c + 1) * v->p.rows / v->chunks - row, block,
                  cfx_min64(v->group, v->blocks - block)};

        run_slice(v, &a, 0);
        for (int64_t k = v->slice; k < v->depth; k += v->slice)
            run_slice(v, &a, k);
        if (v->p.end.activation)
            activate(v, &a);
    }
}

/* The rows of x in a chunk: their slices leave room for weights in L2. Each chunk reads
 * all weights. */
static int64_t most_rows(const packed *v)
{
    return v->p.end.scale ? SCALED_CHUNK
                          : v->ctx->caches.l2 / 128 * 75 /
                                (SLICE * (int64_t)sizeof(float));
}

/* Choose chunks, groups, and slices; sums with scales are not sliced. */
static void cut(packed *v)
{
    const cfx_packed_product *p = &v->p;
    bool whole = p->rows <= FEW_ROWS || p->end.scale;
    int64_t most = whole ? v->depth : SLICE;
    int64_t slices = cfx_max64(cfx_ceil_div(v->depth, cfx_max64(most, 1)), 1);
    int64_t rows, groups;
    double block, all;

    v->slice = cfx_max64(cfx_ceil_div(v->depth, slices), 1);
    v->blocks = cfx_ceil_div(p->columns, CFX_BLOCK);
    v->chunks = cfx_ceil_div(p->rows, most_rows(v));
    rows = cfx_max64(p->rows / v->chunks, FEW_ROWS);
    block = (double)rows * (double)cfx_max64(v->depth, 1) * CFX_BLOCK;
    all = block * (double)v->blocks * (double)v->chunks;
    v->group = cfx_units_of_task(v->ctx, all, block * v->unit, TASK_MIN,
                                 TASK_MAX) *
               v->unit;
    groups = cfx_ceil_div(v->blocks, v->group);
    /* Groups of about the same size. */
    v->group = cfx_round_up(cfx_ceil_div(v->blocks, groups), v->unit);
    v->groups = cfx_ceil_div(v->blocks, v->group);
}

/* ---- Pairs ---- */


/* y[0..n), of bfloat16, = x[0..n) */
static void to_bfloat16(cfx_context *ctx, void *y, const float *x, int64_t n)
{
    cfx_iter it;

    if (n == 0)
        return;
    cfx_iter_begin(&it, 1, &n);
    cfx_iter_add(&it, y, CFX_BF16)[0] = 1;
    cfx_iter_add(&it, (void *)(uintptr_t)x, CFX_F32)[0] = 1;
    cfx_copy(ctx, &it);
}

/* ---- Sums of groups ---- */

typedef struct sums_job {
    const float *x;
    int64_t n; /* elements of a group, a multiple of 4 */
    float *sum;
} sums_job;

static void run_sums(void *arg, int64_t begin, int64_t end, int worker)
{
    enum { LANES = 4 };
    const sums_job *j = arg;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        float s[LANES] = {0};
        for (int64_t k = i * j->n; k < (i + 1) * j->n; k += LANES)
            for (int lane = 0; lane < LANES; lane++)
                s[lane] += j->x[k + lane];
        j->sum[i] = -((s[0] + s[1]) + (s[2] + s[3]));
    }
}

static void sum_groups(cfx_context *ctx, const cfx_packed_product *p,
                       float *sum)
{
    enum { GRAIN = 1 << 16 };
    sums_job j = {p->x, p->depth / p->groups, sum};

    cfx_parallel_for(ctx, p->rows * p->groups,
                     cfx_ceil_div(GRAIN, cfx_max64(j.n, 1)), run_sums, &j);
}

/* ---- Running ---- */

size_t cfx_packed_workspace(const cfx_packed_product *p)
{
    if (p->has_zero)
        return (size_t)(p->rows * p->groups) * sizeof(float);
    return p->type == CFX_BLOCKED_PAIRS
               ? (size_t)(p->rows * p->depth) * sizeof(uint16_t)
               : 0;
}

/* How many elements of x belong to 4 bytes of w; two bfloat16 of x count as one. */
static int64_t step_of(cfx_blocked_type type)
{
    return type == CFX_BLOCKED_INT4    ? 8
           : type == CFX_BLOCKED_INT8  ? 4
           : type == CFX_BLOCKED_MIXED ? 2
                                       : 1;
}

void cfx_packed_run(cfx_context *ctx, const cfx_packed_product *p,
                    void *workspace)
{
    packed v = {.ctx = ctx, .k = cfx_context_kernels(ctx)->blocked, .p = *p};
    bool copies = p->type == CFX_BLOCKED_PAIRS;

    if (p->rows == 0 || p->columns == 0)
        return;
    if (copies && p->depth > 0) {
        to_bfloat16(ctx, workspace, p->x, p->rows * p->depth);
        v.p.x = workspace;
    }
    if (p->end.zero) {
        sum_groups(ctx, p, workspace);
        v.x_sums = workspace;
    }
    v.x_step = step_of(p->type);
    v.depth = p->depth / (copies ? 2 : v.x_step);
    v.unit = tile_blocks(v.k);
    cut(&v);
    cfx_parallel_for(ctx, v.groups * v.chunks, 1, run_task, &v);
}

/* ---- Rows of tables ---- */

/* A row of the table is one column of a block: each cache line has one word of it. So
 * loads dominate, and words are unpacked without vectors. */
typedef struct rows_job {
    const cfx_packed_table *t;
    float *y;
    cfx_dtype type;
    const void *index;
} rows_job;

static int64_t index_at(cfx_dtype type, const void *index, int64_t i)
{
    return type == CFX_I32 ? ((const int32_t *)index)[i]
                           : ((const int64_t *)index)[i];
}

/* Number k of a word. */
static float unpack(cfx_blocked_type type, const uint8_t *word, int k)
{
    return type == CFX_BLOCKED_INT4
               ? (float)((word[k / 2] >> 4 * (k % 2) & 15) - 8)
               : (float)(int8_t)word[k];
}

static void unpack_row(const cfx_packed_table *t, int64_t row, float *y)
{
    enum { WORD = 4 };
    int64_t parts = step_of(t->type), words = t->depth / parts;
    int64_t each = t->depth / t->groups, block = row / CFX_BLOCK;
    int64_t zero_words = cfx_ceil_div(t->groups, parts);
    const uint8_t *w = t->w, *zero = t->zero;
    const float *scale = t->scale + block * t->groups * CFX_BLOCK +
                         row % CFX_BLOCK;

    w += (block * words * CFX_BLOCK + row % CFX_BLOCK) * WORD;
    if (zero)
        zero += (block * zero_words * CFX_BLOCK + row % CFX_BLOCK) * WORD;
    for (int64_t k = 0; k < t->depth; k += parts, w += WORD * CFX_BLOCK) {
        int64_t group = k / each, at = group / parts * WORD * CFX_BLOCK;
        float z = zero ? unpack(t->type, zero + at, (int)(group % parts)) : 0;
        for (int i = 0; i < parts; i++)
            y[k + i] = (unpack(t->type, w, i) - z) * scale[group * CFX_BLOCK];
    }
}

static void run_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const rows_job *j = arg;

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        unpack_row(j->t, index_at(j->type, j->index, i),
                   j->y + i * j->t->depth);
}

bool cfx_packed_rows(cfx_context *ctx, const cfx_packed_table *t, float *y,
                     cfx_dtype type, const void *index, int64_t n,
                     int64_t *bad)
{
    enum { GRAIN = 4096 };
    rows_job j = {t, y, type, index};

    for (int64_t i = 0; i < n; i++) {
        *bad = index_at(type, index, i);
        if (*bad < 0 || *bad >= t->rows)
            return false;
    }
    if (t->depth > 0)
        cfx_parallel_for(ctx, n, cfx_ceil_div(GRAIN, t->depth), run_rows, &j);
    return true;
}
