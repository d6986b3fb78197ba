/*
 * rnn.c -- one direction of one recurrent layer.
 *
 * `gates` holds x w_ih^T + b_ih for all times; a step adds h w_hh^T + b_hh and
 * computes the next state. The GRU keeps the two sums separate, since its
 * reset gate is between them. With several rows and steps, w_hh is packed
 * once.
 */
#include "kernel/rnn_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/gemm/gemm.h"
#include "kernel/gemm/gemm_core.h"

typedef struct recurrence {
    const cfx_rnn *r;
    size_t size;
    int64_t width, out; /* gates * hidden; of h */
    cfx_rnn_cell_fn *cell_fn;
    char *gates, *step, *cell, *packed, *gemm;
    const void *x, *h; /* what is multiplied */
    char *at;          /* the gates of this step */
} recurrence;

/* ---- The products ---- */

/* All times at once; whichever of time and batch is longer is the rows. */
static cfx_gemm input_product(const recurrence *s)
{
    const cfx_rnn *r = s->r;

    return (cfx_gemm){.dtype = r->dtype,
                      .m = r->batch,
                      .n = s->width,
                      .k = r->input,
                      .a = s->x,
                      .a_row = r->x_stride[1],
                      .a_col = 1,
                      .b = r->w_ih,
                      .b_row = 1,
                      .b_col = r->input,
                      .c = s->gates,
                      .c_row = s->width,
                      .bias = r->b_ih};
}

typedef struct all_times {
    cfx_gemm g;
    int64_t count, a, b, c; /* of the batch, and its strides */
} all_times;

static all_times input_products(const recurrence *s)
{
    const cfx_rnn *r = s->r;
    all_times t = {.g = input_product(s),
                   .count = r->time,
                   .a = r->x_stride[0],
                   .c = r->batch * s->width};

    if (r->time > r->batch && r->x_stride[0] != r->batch * r->x_stride[1]) {
        t.g.m = r->time;
        t.g.a_row = r->x_stride[0];
        t.g.c_row = r->batch * s->width;
        t.count = r->batch;
        t.a = r->x_stride[1];
        t.c = s->width;
    }
    return t;
}

static cfx_gemm step_product(const recurrence *s)
{
    const cfx_rnn *r = s->r;

    return (cfx_gemm){.dtype = r->dtype,
                      .m = r->batch,
                      .n = s->width,
                      .k = s->out,
                      .a = s->h,
                      .a_row = s->out,
                      .a_col = 1,
                      .b = r->w_hh,
                      .b_row = 1,
                      .b_col = s->out,
                      .c = s->step,
                      .c_row = s->width,
                      .bias = r->b_hh};
}

/* Few rows are multiplied with w_hh as it lies. */
static bool packs(const recurrence *s)
{
    return s->r->batch > 4 && s->r->time > 2;
}

/* Bytes of w_hh, packed. */
static size_t packed_size(const cfx_context *ctx, const recurrence *s)
{
    cfx_gemm g = step_product(s);

    return packs(s) ? cfx_gemm_packed_size(ctx, &g) : 0;
}

static cfx_gemm projection(const recurrence *s)
{
    const cfx_rnn *r = s->r;

    return cfx_gemm_linear(r->dtype, r->batch, r->proj, r->hidden, s->cell,
                           r->w_hr, NULL, r->h);
}

static recurrence make_recurrence(const cfx_context *ctx, const cfx_rnn *r)
{
    const struct cfx_rnn_kernels *k = cfx_context_kernels(ctx)->rnn;
    recurrence s = {
        .r = r, .size = cfx_dtype_size(r->dtype), .x = r->x, .h = r->h};

    s.width = cfx_rnn_gates(r->mode) * r->hidden;
    s.out = r->proj ? r->proj : r->hidden;
    s.cell_fn = r->dtype == CFX_F64 ? k->f64[r->mode] : k->f32[r->mode];
    return s;
}

static size_t bytes(const recurrence *s, int64_t n)
{
    return cfx_gemm_align((size_t)n * s->size);
}

/* Bytes of x and h, quantized and back. */
static size_t dynamic_size(const recurrence *s)
{
    const cfx_rnn *r = s->r;

    return r->dynamic ? bytes(s, r->time * r->batch * r->input) +
                            bytes(s, r->batch * s->out)
                      : 0;
}

size_t cfx_rnn_workspace(const cfx_context *ctx, const cfx_rnn *r)
{
    recurrence s = make_recurrence(ctx, r);
    all_times all = input_products(&s);
    cfx_gemm g[3] = {all.g, step_product(&s), projection(&s)};
    size_t most = 0;

    if (packs(&s))
        g[1].packed = &s; /* not NULL is all that matters here */
    g[0].batch_rank = 1;
    g[0].batch = &all.count;
    g[0].a_batch = &all.a;
    g[0].b_batch = &all.b;
    g[0].c_batch = &all.c;
    for (int i = 0; i < (r->proj ? 3 : 2); i++) {
        size_t size = cfx_gemm_workspace(ctx, &g[i]);
        most = size > most ? size : most;
    }
    return bytes(&s, r->time * r->batch * s.width) +
           bytes(&s, r->batch * s.width) + bytes(&s, r->batch * r->hidden) +
           dynamic_size(&s) + packed_size(ctx, &s) + most;
}

/* ---- The gates ---- */

/* Rows begin..end of the batch. */
static void run_cells(void *arg, int64_t begin, int64_t end, int worker)
{
    const recurrence *s = arg;
    const cfx_rnn *r = s->r;
    int64_t size = (int64_t)s->size;

    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        char *h = (char *)r->h + b * s->out * size;
        const cfx_rnn_cell cell = {
            .n = r->hidden,
            .gate = r->hidden,
            .x = s->at + b * s->width * size,
            .u = s->step + b * s->width * size,
            .from = h,
            .h = r->proj ? s->cell + b * r->hidden * size : h,
            .c = r->c ? (char *)r->c + b * r->hidden * size : NULL,
        };
        s->cell_fn(&cell);
    }
}

/* ---- Dynamic quantization ---- */

/* n numbers, quantized to 0..127 and back: the steps and their order are those of
 * choose_qparams, quantize_per_tensor and dequantize_per_tensor. */
static void round_by_range(float *to, const float *from, int64_t n)
{
    float least = 0, most = 0;

    for (int64_t i = 0; i < n; i++) {
        least = from[i] < least ? from[i] : least;
        most = from[i] > most ? from[i] : most;
    }
    float scale = (most - least) / 127;
    scale = scale > FLT_EPSILON ? scale : FLT_EPSILON;
    float zero = -rintf(least / scale);
    float inverse = (float)(1 / (double)scale);
    for (int64_t i = 0; i < n; i++) {
        float q = rintf(from[i] * inverse) + zero;
        q = q < 0 ? 0 : q > 127 ? 127 : q;
        to[i] = (q - zero) * scale;
    }
}

/* ---- The sequence ---- */

static void begin_state(const recurrence *s, void *to, const void *from,
                        int64_t n)
{
    if (from)
        memcpy(to, from, (size_t)n * s->size);
    else
        memset(to, 0, (size_t)n * s->size);
}

static void write_output(const recurrence *s, int64_t t)
{
    const cfx_rnn *r = s->r;
    size_t row = (size_t)s->out * s->size;

    for (int64_t b = 0; b < r->batch && r->y; b++)
        memcpy((char *)r->y + (t * r->y_stride[0] + b * r->y_stride[1]) *
                                  (int64_t)s->size,
               (const char *)r->h + (size_t)b * row, row);
}

static void run_inputs(cfx_context *ctx, const recurrence *s)
{
    all_times all = input_products(s);

    all.g.batch_rank = 1;
    all.g.batch = &all.count;
    all.g.a_batch = &all.a;
    all.g.b_batch = &all.b;
    all.g.c_batch = &all.c;
    cfx_gemm_run(ctx, &all.g, s->gemm);
}

void cfx_rnn_run(cfx_context *ctx, const cfx_rnn *r, void *workspace)
{
    recurrence s = make_recurrence(ctx, r);
    cfx_gemm step, proj;
    int64_t grain = 8192 / (s.width + 1) + 1;

    s.gates = workspace;
    s.step = s.gates + bytes(&s, r->time * r->batch * s.width);
    s.cell = s.step + bytes(&s, r->batch * s.width);
    s.packed = s.cell + bytes(&s, r->batch * r->hidden);
    float *rounded = (void *)(s.packed + packed_size(ctx, &s));
    s.gemm = (char *)rounded + dynamic_size(&s);
    if (r->dynamic) {
        int64_t n = r->time * r->batch * r->input;

        round_by_range(rounded, r->x, n);
        s.x = rounded;
        s.h = rounded = (void *)((char *)rounded + bytes(&s, n));
    }
    step = step_product(&s);
    if (packs(&s)) {
        cfx_gemm_pack(ctx, &step, s.packed);
        step.packed = s.packed;
    }
    proj = projection(&s);
    begin_state(&s, r->h, r->h0, r->batch * s.out);
    if (r->mode == CFX_RNN_LSTM)
        begin_state(&s, r->c, r->c0, r->batch * r->hidden);
    run_inputs(ctx, &s);
    for (int64_t i = 0; i < r->time; i++) {
        int64_t t = r->reverse ? r->time - 1 - i : i;

        s.at = s.gates + (size_t)(t * r->batch * s.width) * s.size;
        if (r->dynamic)
            round_by_range(rounded, r->h, r->batch * s.out);
        cfx_gemm_run(ctx, &step, s.gemm);
        cfx_parallel_for(ctx, r->batch, grain, run_cells, &s);
        if (r->proj)
            cfx_gemm_run(ctx, &proj, s.gemm);
        write_output(&s, t);
    }
}
