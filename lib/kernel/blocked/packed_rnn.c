/*
 * packed_rnn.c -- recurrent layers with packed weights.
 *
 * The inputs of all steps are multiplied at once. Then, in each step, a task is
 * some blocks of units of one direction: multiply the previous state by their columns of
 * w_hh, compute their gates, and write their part of the next state. So a step has one
 * barrier, and a thread, which has the same task in each step, finds its weights in its
 * cache if they fit.
 */
#include "kernel/blocked/packed_rnn.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "base/util.h"
#include "kernel/blocked/tiles.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* The fewest weights of a task. */
enum { TASK_LEAST = 16 << 10 };

/* One direction. Rows of states are padded to whole blocks. */
typedef struct direction {
    const cfx_rnn *r;
    float *x;       /* products of the inputs: gates of all steps */
    float *u;       /* products of the last state */
    float *h[2];    /* the previous and the next state, alternately */
    void *pairs[2]; /* the same in bfloat16, if its weights are pairs */
    float *c;
} direction;

typedef struct sequence {
    const cfx_packed_rnn *p;
    const struct cfx_blocked_kernels *k;
    cfx_convert_fn *to_bfloat16;
    cfx_rnn_cell_fn *cell;
    int64_t units, blocks; /* units of whole blocks */
    int64_t width;         /* units of all gates */
    int64_t unit;          /* blocks of a tile */
    int64_t group, groups; /* blocks in a task, tasks of a direction */
    int first;             /* of the directions of this step */
    int64_t i;             /* the step */
    direction of[2];
    void *work; /* of the products of the inputs */
    char *memory;
    int64_t taken; /* bytes of it */
} sequence;

/* ---- Memory ---- */

/* Allocate n elements of s->memory; NULL while bytes are only counted. */
static void *take(sequence *s, int64_t n, size_t size)
{
    void *p = s->memory ? s->memory + s->taken : NULL;

    s->taken += cfx_round_up(n * (int64_t)size, CFX_LINE);
    return p;
}

static cfx_packed_product input_product(const sequence *s, int i)
{
    const cfx_rnn *r = &s->p->of[i];

    return (cfx_packed_product){
        .rows = r->time * r->batch,
        .columns = s->width,
        .depth = r->input,
        .groups = 1,
        .type = s->p->input,
        .x = r->x,
        .w = r->w_ih,
        .end = {.bias = r->b_ih, .lo = -INFINITY, .hi = INFINITY},
        .y = s->of[i].x};
}

/* Describe the layer and lay out its memory; NULL: only count the bytes. */
static void lay_out(sequence *s, const cfx_packed_rnn *p, char *memory)
{
    const cfx_rnn *r = p->of;
    int64_t state;
    cfx_packed_product product;

    *s = (sequence){.p = p,
                    .memory = memory,
                    .blocks = cfx_ceil_div(r->hidden, CFX_BLOCK)};
    s->units = s->blocks * CFX_BLOCK;
    s->width = cfx_rnn_gates(r->mode) * s->units;
    state = r->batch * s->units;
    for (int i = 0; i < p->directions; i++) {
        direction *d = &s->of[i];
        d->r = &p->of[i];
        d->x = take(s, r->time * r->batch * s->width, sizeof(float));
        d->u = take(s, r->batch * s->width, sizeof(float));
        d->c = take(s, state, sizeof(float));
        for (int j = 0; j < 2; j++) {
            d->h[j] = take(s, state, sizeof(float));
            d->pairs[j] = take(s, p->state == CFX_BLOCKED_PAIRS ? state : 0,
                               sizeof(uint16_t));
        }
    }
    product = input_product(s, 0);
    s->work = take(s, (int64_t)cfx_packed_workspace(&product), 1);
}

size_t cfx_packed_rnn_workspace(const cfx_packed_rnn *p)
{
    sequence s;

    lay_out(&s, p, NULL);
    return (size_t)s.taken;
}

/* ---- A task ---- */

/* The tile of u = h w_hh^T + b_hh that begins at a block of the gates. */
static cfx_blocked_tile tile_at(const sequence *s, const direction *d,
                                int64_t at)
{
    const cfx_rnn *r = d->r;
    bool pairs = s->p->state == CFX_BLOCKED_PAIRS;
    int64_t two = s->p->state == CFX_BLOCKED_FLOAT ? 1 : 2;
    int64_t depth = r->hidden / two;
    const float *b_hh = r->b_hh, *w_hh = r->w_hh;

    return (cfx_blocked_tile){
        .type = s->p->state,
        .pixels = r->batch,
        .n = {1, 1, 1},
        .steps = depth,
        .x = pairs ? d->pairs[s->i % 2] : d->h[s->i % 2],
        .x_pixel = pairs ? s->units / 2 : s->units,
        .x_step = pairs ? 1 : two,
        .w = w_hh + at * depth * CFX_BLOCK,
        .w_block = depth * CFX_BLOCK,
        .ahead = CFX_AHEAD * CFX_BLOCK,
        .split = true,
        .end = {.bias = b_hh ? b_hh + at * CFX_BLOCK : NULL,
                .lo = -INFINITY,
                .hi = INFINITY},
        .bias_block = CFX_BLOCK,
        .y = d->u + at * CFX_BLOCK,
        .y_pixel = s->width,
        .y_block = CFX_BLOCK,
    };
}

/* Advance t to so many blocks after the first tile. */
static void place(cfx_blocked_tile *t, const cfx_blocked_tile *first,
                  int64_t blocks)
{
    t->w = first->w + blocks * first->w_block;
    t->y = first->y + blocks * CFX_BLOCK;
    if (t->end.bias)
        t->end.bias = first->end.bias + blocks * CFX_BLOCK;
}

/* Tiles of few rows run in place: a copy would cost 5 % of a step of 256 units. */
static void run_tile(const sequence *s, const cfx_blocked_tile *t)
{
    if (t->pixels <= s->k->pixels[t->blocks])
        s->k->tile(t);
    else
        cfx_blocked_run_row(s->k, *t, t->pixels, t->w, 0);
}

/* Multiply for some blocks of all gates, in reverse order in every second step, which
 * starts with the weights that are still in cache. */
static void multiply(const sequence *s, const direction *d, int64_t block,
                     int64_t blocks)
{
    const cfx_blocked_tile first = tile_at(s, d, block);
    int64_t unit = s->unit, tiles = cfx_ceil_div(blocks, unit);
    int64_t n = tiles * cfx_rnn_gates(d->r->mode);
    cfx_blocked_tile t = first;

    for (int64_t i = 0; i < n; i++) {
        int64_t tile = s->i % 2 ? n - 1 - i : i, from = tile % tiles * unit;
        int64_t to = cfx_min64(from + unit, blocks);
        for (t.blocks = unit; from < to; from += t.blocks) {
            while (t.blocks > to - from)
                t.blocks /= 2;
            place(&t, &first, tile / tiles * s->blocks + from);
            run_tile(s, &t);
        }
    }
}

/* The next state of some blocks of a row. */
static void step_row(const sequence *s, const direction *d, int64_t time,
                     int64_t row, int64_t block, int64_t blocks)
{
    const cfx_rnn *r = d->r;
    bool batch_first = r->x_stride[0] < r->x_stride[1];
    int64_t unit = block * CFX_BLOCK, at = row * s->units + unit;
    int64_t x = batch_first ? row * r->time + time : time * r->batch + row;
    int64_t n = cfx_min64(blocks * CFX_BLOCK, r->hidden - unit);
    float *h = d->h[(s->i + 1) % 2] + at, *y = r->y;
    const cfx_rnn_cell cell = {
        .n = blocks * CFX_BLOCK,
        .gate = s->units,
        .x = d->x + x * s->width + unit,
        .u = d->u + row * s->width + unit,
        .from = d->h[s->i % 2] + at,
        .h = h,
        .c = d->c + at,
    };

    s->cell(&cell);
    memcpy(y + time * r->y_stride[0] + row * r->y_stride[1] + unit, h,
           (size_t)n * sizeof(*y));
    if (s->p->state == CFX_BLOCKED_PAIRS)
        s->to_bfloat16((uint16_t *)d->pairs[(s->i + 1) % 2] + at, 1, h, 1, n);
}

static void run_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const sequence *s = arg;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const direction *d = &s->of[s->first + i / s->groups];
        const cfx_rnn *r = d->r;
        int64_t block = i % s->groups * s->group;
        int64_t blocks = cfx_min64(s->group, s->blocks - block);
        int64_t time = r->reverse ? r->time - 1 - s->i : s->i;

        multiply(s, d, block, blocks);
        for (int64_t row = 0; row < r->batch; row++)
            step_row(s, d, time, row, block, blocks);
    }
}

/* ---- The sequence ---- */

/* Rows of `hidden` units to rows of whole blocks. */
static void widen(const sequence *s, float *to, const float *from)
{
    const cfx_rnn *r = s->p->of;
    size_t bytes = (size_t)r->hidden * sizeof(float);

    memset(to, 0, (size_t)(r->batch * s->units) * sizeof(float));
    for (int64_t i = 0; i < r->batch && from; i++)
        memcpy(to + i * s->units, from + i * r->hidden, bytes);
}

static void narrow(const sequence *s, float *to, const float *from)
{
    const cfx_rnn *r = s->p->of;
    size_t bytes = (size_t)r->hidden * sizeof(float);

    for (int64_t i = 0; i < r->batch; i++)
        memcpy(to + i * r->hidden, from + i * s->units, bytes);
}

static void begin(const sequence *s, const direction *d)
{
    widen(s, d->h[0], d->r->h0);
    if (s->p->state == CFX_BLOCKED_PAIRS)
        s->to_bfloat16(d->pairs[0], 1, d->h[0], 1, d->r->batch * s->units);
    if (d->r->mode == CFX_RNN_LSTM)
        widen(s, d->c, d->r->c0);
}

static void end(const sequence *s, const direction *d)
{
    narrow(s, d->r->h, d->h[d->r->time % 2]);
    if (d->r->mode == CFX_RNN_LSTM)
        narrow(s, d->r->c, d->c);
}

/* Cut the units of each of so many directions into tasks, one for each thread. */
static void cut(sequence *s, int directions, int threads)
{
    const cfx_rnn *r = s->p->of;
    int64_t weights = r->hidden * s->width;
    int64_t groups = cfx_ceil_div(threads, directions);

    s->unit = cfx_blocked_tile_blocks(s->k->pixels, r->batch, s->blocks,
                                      false);
    groups = cfx_min64(groups,
                       cfx_min64(weights / TASK_LEAST, s->blocks / s->unit));
    s->group = cfx_round_up(cfx_ceil_div(s->blocks, cfx_max64(groups, 1)),
                            s->unit);
    s->groups = cfx_ceil_div(s->blocks, s->group);
}

/* Run the steps of some directions. */
static void run_steps(cfx_context *ctx, sequence *s, int directions)
{
    for (s->i = 0; s->i < s->p->of->time && !cfx_context_stops(ctx); s->i++)
        cfx_parallel_for(ctx, directions * s->groups, 1, run_task, s);
}

void cfx_packed_rnn_run(cfx_context *ctx, const cfx_packed_rnn *p,
                        void *workspace)
{
    const cfx_kernels *k = cfx_context_kernels(ctx);
    int threads = cfx_context_threads(ctx);
    /* The weights of one direction may fit into a cache. */
    int directions = threads > 1 ? p->directions : 1;
    sequence s;

    if (p->of->batch == 0 || p->of->hidden == 0)
        return;
    lay_out(&s, p, workspace);
    s.k = k->blocked;
    s.cell = k->rnn->f32[p->of->mode];
    s.to_bfloat16 = k->pointwise->convert[CFX_BF16][CFX_F32];
    cut(&s, directions, threads);
    for (int i = 0; i < p->directions; i++) {
        cfx_packed_product product = input_product(&s, i);
        cfx_packed_run(ctx, &product, s.work);
        begin(&s, &s.of[i]);
    }
    for (s.first = 0; s.first < p->directions; s.first += directions)
        run_steps(ctx, &s, directions);
    for (int i = 0; i < p->directions; i++)
        end(&s, &s.of[i]);
}
