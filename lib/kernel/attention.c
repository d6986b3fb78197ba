/*
 * attention.c -- scaled dot product attention, a block of query rows at a time.
 *
 * A piece of work is one block of rows of one head: their products with all
 * keys that they may see, the softmax of each row, the product with the values.
 * All of it stays in the scratch memory of one thread. 16-bit floats are
 * converted on the way in and out.
 */
#include "kernel/attention.h"

#include <math.h>
#include <string.h>

#include "kernel/gemm/gemm.h"
#include "kernel/gemm/gemm_core.h"
#include "kernel/int64.h"
#include "kernel/norm/norm.h"
#include "kernel/pointwise/pointwise.h"

/* Rows in a block: all of short sequences, else this many. */
enum { ROWS = 128, ALL_ROWS = 256 };

typedef struct attention {
    const cfx_attention *a;
    const cfx_context *ctx;
    const cfx_kernels *kernels;
    cfx_dtype dtype;      /* that is computed in */
    size_t size;          /* of its elements */
    int64_t rows, blocks; /* of one head */
    /* Parts of a thread's scratch memory, in bytes from its beginning: q, k, v
     * and y where they are converted, the scores, a row of the mask. */
    size_t q, k, v, y, scores, mask, gemm, priv;
    char *work;
} attention;

static const char *at(const void *p, int64_t i, size_t size)
{
    return (const char *)p + i * (int64_t)size;
}

/* The columns that rows before `end` may see. */
static int64_t columns_seen(const cfx_attention *a, int64_t end)
{
    return a->causal ? cfx_min64(a->s, end) : a->s;
}

/* ---- The two products ---- */

static cfx_gemm score_product(const attention *s, int64_t rows, int64_t seen)
{
    bool narrow = cfx_dtype_is_reduced(s->a->dtype);

    return (cfx_gemm){.dtype = s->dtype,
                      .m = rows,
                      .n = seen,
                      .k = s->a->e,
                      .a_row = narrow ? s->a->e : s->a->q_stride[2],
                      .a_col = 1,
                      .b_row = 1,
                      .b_col = narrow ? s->a->e : s->a->k_stride[2],
                      .c_row = s->a->s};
}

static cfx_gemm value_product(const attention *s, int64_t rows, int64_t seen)
{
    bool narrow = cfx_dtype_is_reduced(s->a->dtype);

    return (cfx_gemm){.dtype = s->dtype,
                      .m = rows,
                      .n = s->a->ev,
                      .k = seen,
                      .a_row = s->a->s,
                      .a_col = 1,
                      .b_row = narrow ? s->a->ev : s->a->v_stride[2],
                      .b_col = 1,
                      .c_row = narrow ? s->a->ev : s->a->y_stride[2]};
}

/* The workspace of a block's products. */
static size_t products_size(const attention *s)
{
    size_t most = 0;

    for (int64_t i = 0; i < s->blocks; i++) {
        int64_t rows = cfx_min64(s->rows, s->a->l - i * s->rows);
        int64_t seen = columns_seen(s->a, i * s->rows + rows);
        cfx_gemm g[2] = {score_product(s, rows, seen),
                         value_product(s, rows, seen)};

        for (int p = 0; p < 2; p++) {
            size_t size = cfx_gemm_serial_workspace(s->ctx, &g[p]);
            most = size > most ? size : most;
        }
    }
    return cfx_gemm_align(most);
}

static attention make_attention(const cfx_context *ctx, const cfx_attention *a)
{
    attention s = {.a = a, .ctx = ctx, .kernels = cfx_context_kernels(ctx)};
    bool narrow = cfx_dtype_is_reduced(a->dtype);

    s.dtype = narrow ? CFX_F32 : a->dtype;
    s.size = cfx_dtype_size(s.dtype);
    s.rows = a->l <= ALL_ROWS ? a->l : ROWS;
    s.blocks = s.rows ? (a->l + s.rows - 1) / s.rows : 0;
    s.k = narrow ? cfx_gemm_align((size_t)(s.rows * a->e) * 4) : 0;
    s.v = s.k + (narrow ? cfx_gemm_align((size_t)(a->s * a->e) * 4) : 0);
    s.y = s.v + (narrow ? cfx_gemm_align((size_t)(a->s * a->ev) * 4) : 0);
    s.scores = s.y +
               (narrow ? cfx_gemm_align((size_t)(s.rows * a->ev) * 4) : 0);
    s.mask = s.scores + cfx_gemm_align((size_t)(s.rows * a->s) * s.size);
    s.gemm = s.mask + cfx_gemm_align((size_t)a->s * s.size);
    s.priv = s.gemm + products_size(&s) + 64;
    return s;
}

size_t cfx_attention_workspace(const cfx_context *ctx, const cfx_attention *a)
{
    return make_attention(ctx, a).priv * (size_t)cfx_context_threads(ctx);
}

/* ---- The mask ---- */

/* The mask added to row i of the scores; NULL: none. */
static const void *mask_row(const attention *s, char *work, int64_t n,
                            int64_t h, int64_t i)
{
    const cfx_attention *a = s->a;
    const int64_t *t = a->mask_stride;
    int64_t from = n * t[0] + h * t[1] + i * t[2];
    const uint8_t *see = a->mask;

    if (a->mask == NULL)
        return NULL;
    if (!a->mask_bool) {
        cfx_convert_fn *convert =
            s->kernels->pointwise->convert[s->dtype][a->dtype];
        const char *row = at(a->mask, from, cfx_dtype_size(a->dtype));

        if (t[3] == 1 && a->dtype == s->dtype)
            return row;
        convert(work + s->mask, 1, row, t[3], a->s);
        return work + s->mask;
    }
    see += from;
    if (s->size == 4)
        for (int64_t j = 0; j < a->s; j++)
            ((float *)(void *)(work + s->mask))[j] = see[j * t[3]] ? 0
                                                                   : -INFINITY;
    else
        for (int64_t j = 0; j < a->s; j++)
            ((double *)(void *)(work + s->mask))[j] = see[j * t[3]]
                                                          ? 0
                                                          : -(double)INFINITY;
    return work + s->mask;
}

static void softmax_rows(const attention *s, char *work, int64_t n, int64_t h,
                         int64_t i0, int64_t rows)
{
    const cfx_attention *a = s->a;
    const cfx_norm_rows *k = s->size == 4 ? &s->kernels->norm->f32
                                          : &s->kernels->norm->f64;
    cfx_dtype t = a->dtype;

    for (int64_t i = 0; i < rows; i++) {
        char *row = work + s->scores + (size_t)(i * a->s) * s->size;
        cfx_softmax_row r = {.ctx = s->ctx,
                             .n = a->s,
                             .seen = columns_seen(a, i0 + i + 1),
                             .scale = a->scale,
                             .mask = mask_row(s, work, n, h, i0 + i),
                             .empty_is_0 = true};

        k->softmax(row, row, &r);
        if (a->weights)
            s->kernels->pointwise->convert[t][s->dtype](
                (char *)a->weights +
                    (size_t)(((n * a->heads + h) * a->l + i0 + i) * a->s) *
                        cfx_dtype_size(t),
                1, row, 1, a->s);
    }
}

/* ---- Blocks ---- */

/* A matrix of 16-bit floats as floats side by side, in scratch memory. */
static const void *widen(const attention *s, void *to, const char *from,
                         int64_t rows, int64_t cols, int64_t stride)
{
    cfx_convert_fn *convert =
        s->kernels->pointwise->convert[CFX_F32][s->a->dtype];

    for (int64_t i = 0; i < rows; i++)
        convert((float *)to + i * cols, 1, from + i * stride * 2, 1, cols);
    return to;
}

static void block(const attention *s, char *work, int64_t n, int64_t h,
                  int64_t i0)
{
    const cfx_attention *a = s->a;
    size_t size = cfx_dtype_size(a->dtype);
    int64_t rows = cfx_min64(s->rows, a->l - i0);
    int64_t seen = columns_seen(a, i0 + rows);
    int64_t kh = h / (a->kv_group ? a->kv_group : 1);
    const char *q = at(
        a->q, n * a->q_stride[0] + h * a->q_stride[1] + i0 * a->q_stride[2],
        size);
    const char *k = at(a->k, n * a->k_stride[0] + kh * a->k_stride[1], size);
    const char *v = at(a->v, n * a->v_stride[0] + kh * a->v_stride[1], size);
    char *y = (char *)a->y +
              (n * a->y_stride[0] + h * a->y_stride[1] + i0 * a->y_stride[2]) *
                  (int64_t)size;
    bool narrow = cfx_dtype_is_reduced(a->dtype);
    cfx_gemm g = score_product(s, rows, seen);

    g.a = narrow ? widen(s, work, q, rows, a->e, a->q_stride[2]) : q;
    g.b = narrow ? widen(s, work + s->k, k, seen, a->e, a->k_stride[2]) : k;
    g.c = work + s->scores;
    cfx_gemm_run_serial(s->ctx, &g, work + s->gemm);
    softmax_rows(s, work, n, h, i0, rows);
    g = value_product(s, rows, seen);
    g.a = work + s->scores;
    g.b = narrow ? widen(s, work + s->v, v, seen, a->ev, a->v_stride[2]) : v;
    g.c = narrow ? work + s->y : y;
    cfx_gemm_run_serial(s->ctx, &g, work + s->gemm);
    for (int64_t i = 0; i < rows && narrow; i++)
        s->kernels->pointwise->convert[a->dtype][CFX_F32](
            y + i * a->y_stride[2] * 2, 1,
            work + s->y + (size_t)(i * a->ev) * 4, 1, a->ev);
}

static void blocks_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const attention *s = arg;

    for (int64_t i = begin; i < end; i++) {
        int64_t head = i / s->blocks;
        block(s, s->work + s->priv * (size_t)worker, head / s->a->heads,
              head % s->a->heads, i % s->blocks * s->rows);
    }
}

void cfx_attention_run(cfx_context *ctx, const cfx_attention *a,
                       void *workspace)
{
    attention s = make_attention(ctx, a);

    s.work = workspace;
    cfx_parallel_for(ctx, a->batch * a->heads * s.blocks, 1, blocks_piece, &s);
}
