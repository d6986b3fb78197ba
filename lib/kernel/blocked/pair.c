/*
 * pair.c -- a convolution fused with the depthwise one that reads its result.
 *
 * A task is some rows of y of a few blocks. It alternates: compute a band of
 * rows of the intermediate image, then the rows of y that read it, so that the band
 * stays in L2. Rows that the next band needs, too, are kept.
 */
#include <string.h>

#include "base/stop.h"
#include "base/util.h"
#include "kernel/blocked/parts.h"
#include "kernel/int64.h"

/* Multiply-adds of a task, at least: some microseconds. */
enum { TASK_MIN = 256 << 10 };

typedef struct pair {
    const cfx_blocked_conv *first, *second;
    cfx_blocked_work conv;
    cfx_windows_work window;
    cfx_partition p; /* of y: a group is one unit */
    int64_t unit;    /* blocks of a task */
    int64_t rows;    /* of a band */
    int64_t row;     /* elements in a row of a block */
    float *bands;    /* of each thread */
    size_t band_bytes;
} pair;

/* The blocks of a band: at most those of the largest tile. */
static int64_t most_blocks(const cfx_blocked_conv *first)
{
    return cfx_min64(first->out_blocks, 4);
}

static int64_t row_bytes(const cfx_blocked_conv *first)
{
    const int64_t bytes[] = {
        first->out[1], cfx_blocked_lanes(first->end.narrow), sizeof(float)};

    return cfx_product64(3, bytes);
}

/* Rows of x that a window covers. */
static int64_t reach_of(const cfx_blocked_conv *second)
{
    return (second->kernel[0] - 1) * second->dilation[0] + 1;
}

/* Rows of a band, which shares L2 with weights and x: at least those of a window, at
 * most those of x. */
static int64_t band_rows(const cfx_context *ctx, const cfx_blocked_conv *first,
                         const cfx_blocked_conv *second, int64_t blocks)
{
    int64_t fit = ctx->caches.l2 / 4 / cfx_max64(blocks * row_bytes(first), 1);
    int64_t rows = cfx_max64(fit, reach_of(second) + second->stride[0]);

    return cfx_min64(rows, first->out[0]);
}

static size_t band_bytes(const cfx_context *ctx, const cfx_blocked_conv *first,
                         const cfx_blocked_conv *second)
{
    size_t most = 0;

    for (int64_t n = 1; n <= most_blocks(first); n++) {
        const int64_t bytes[] = {n, band_rows(ctx, first, second, n),
                                 row_bytes(first)};
        size_t all = (size_t)cfx_product64(3, bytes);
        if (all > most)
            most = all;
    }
    return most;
}

/* Bytes of the first convolution's copies, rounded up to whole cache lines. */
static size_t copies_bytes(const cfx_blocked_conv *first)
{
    return (cfx_blocked_conv_workspace(first) + CFX_LINE - 1) / CFX_LINE *
           CFX_LINE;
}

size_t cfx_blocked_pair_workspace(const cfx_context *ctx,
                                  const cfx_blocked_conv *first,
                                  const cfx_blocked_conv *second)
{
    return copies_bytes(first) +
           band_bytes(ctx, first, second) * (size_t)cfx_context_threads(ctx);
}

/* Rows from..to of x, of some blocks of an image, in the memory of a thread. */
typedef struct band {
    float *x;
    int64_t from, to;
} band;

/* Move b to rows from..to: keep those that it has, compute the others. */
static void move_band(const pair *p, band *b, cfx_blocked_part *part,
                      int64_t from, int64_t to)
{
    int64_t plane = p->rows * p->row;
    int64_t kept = cfx_max64(b->to - from, 0), width = p->first->out[1];

    for (int64_t i = 0; i < part->blocks && kept; i++)
        memmove(b->x + i * plane, b->x + i * plane + (from - b->from) * p->row,
                (size_t)(kept * p->row) * sizeof(float));
    part->from = (from + kept) * width;
    part->to = to * width;
    part->y = b->x + kept * p->row;
    part->y_block = plane;
    if (part->to > part->from)
        cfx_blocked_compute(&p->conv, part);
    b->from = from;
    b->to = to;
}

/* The first row of x that row o of y reads, and one past the last. */
static int64_t first_row(const pair *p, int64_t o)
{
    const cfx_blocked_conv *c = p->second;

    return cfx_min64(cfx_max64(o * c->stride[0] - c->pad[0], 0), c->in[0]);
}

static int64_t end_row(const pair *p, int64_t o)
{
    const cfx_blocked_conv *c = p->second;
    int64_t end = o * c->stride[0] - c->pad[0] + reach_of(c);

    return cfx_min64(cfx_max64(end, 0), c->in[0]);
}

/* How many rows of y from row o on a band suffices for, at least 1. */
static int64_t rows_of_band(const pair *p, int64_t o, int64_t end)
{
    int64_t from = first_row(p, o), n = 1;

    while (o + n < end && end_row(p, o + n) - from <= p->rows)
        n++;
    return n;
}

/* Rows o..end of y of the blocks of `part`. */
static void run_rows(const pair *p, cfx_blocked_part *part, float *memory,
                     int64_t o, int64_t end)
{
    int64_t plane = part->image * p->conv.c.out_blocks + part->block;
    band b = {memory, 0, 0};

    for (int64_t n; o < end && !cfx_context_stops(p->conv.ctx); o += n) {
        int64_t from = first_row(p, o);
        n = rows_of_band(p, o, end);
        move_band(p, &b, part, from, cfx_max64(end_row(p, o + n - 1), from));
        for (int64_t i = 0; i < part->blocks; i++) {
            cfx_windows_plane in = {b.x + i * p->rows * p->row, plane + i,
                                    p->first->out[1], 0, from};
            cfx_windows_compute(&p->window, &in, o, o + n);
        }
    }
}

static void pair_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const pair *p = arg;
    float *memory = (float *)((char *)p->bands +
                              p->band_bytes * (size_t)worker);

    for (int64_t i = begin; i < end; i++) {
        cfx_task a = cfx_task_at(&p->p, i);
        int64_t block = a.unit * p->unit;
        cfx_blocked_part part = {
            .image = a.image,
            .block = block,
            .blocks = cfx_min64(p->unit, p->conv.c.out_blocks - block)};
        run_rows(p, &part, memory, a.from, a.to);
    }
}

/* Cut y into some tasks for each thread: half as many as usual, as rows that two
 * tasks read are computed twice. */
static void cut(pair *p)
{
    const cfx_blocked_conv *first = p->first, *second = p->second;
    double pixels = (double)first->out[0] * (double)first->out[1];
    double cost = pixels * (double)p->unit *
                  (double)cfx_blocked_depth(&p->conv);
    int threads = cfx_context_threads(p->conv.ctx);
    int64_t wanted = threads > 1 ? CFX_TASKS / 2 * threads : 1;
    int64_t least = 4 * cfx_ceil_div(reach_of(second), second->stride[0]);
    int64_t most = cfx_min64((int64_t)(cost / TASK_MIN),
                             second->out[0] / least);

    int64_t units = cfx_ceil_div(p->conv.c.out_blocks, p->unit);
    int64_t planes = units * p->conv.c.batch;
    p->p = (cfx_partition){
        .images = p->conv.c.batch,
        .rows = second->out[0],
        .units = units,
        .group = 1,
        .groups = units,
        .chunks = cfx_even_chunks(cfx_ceil_div(wanted, planes),
                                  cfx_max64(most, 1), planes, threads),
        .by_rows = cfx_blocked_by_rows(&p->conv)};
}

void cfx_blocked_pair(cfx_context *ctx, const cfx_blocked_conv *first,
                      const cfx_blocked_conv *second, void *workspace)
{
    pair p = {.first = first,
              .second = second,
              .row = row_bytes(first) / (int64_t)sizeof(float),
              .bands = (float *)((char *)workspace + copies_bytes(first)),
              .band_bytes = band_bytes(ctx, first, second)};

    if (second->batch * second->out_blocks * second->out[0] * second->out[1] ==
        0)
        return;
    cfx_blocked_begin(ctx, first, workspace, &p.conv);
    cfx_depthwise_begin(ctx, second, &p.window);
    p.unit = cfx_min64(cfx_blocked_unit(&p.conv), most_blocks(first));
    p.rows = band_rows(ctx, first, second, p.unit);
    cut(&p);
    cfx_parallel_for(ctx, cfx_partition_tasks(&p.p), 1, pair_task, &p);
}
