/*
 * attention.c -- scaled dot product attention, a block of query rows at a time.
 *
 * A piece of work is one block of rows of one head: their products with all
 * keys that they may see, the softmax of each row, the product with the values.
 * All of it stays in the scratch memory of one thread. 16-bit floats are
 * converted on the way in and out.
 *
 * For many rows of floats, keys and values are packed as weights are, once for
 * all blocks of a head that a thread computes in turn (attention_packed.h). A mask
 * that hides nothing, as that of a batch without padding, is not read again.
 *
 * Queries and keys of uint8 are multiplied as integers; values of uint8 become floats,
 * since the weights are.
 */
#include "kernel/attention_packed.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/blocked/quantized.h"
#include "kernel/gemm/gemm.h"
#include "kernel/gemm/gemm_core.h"
#include "kernel/int64.h"
#include "kernel/norm/norm_kernel.h"
#include "kernel/partition.h"
#include "kernel/pointwise/pointwise_kernel.h"

/* Rows in a block: all of short sequences, else this many. On them depends which way
 * products are computed. */
enum { ROWS = 128, ALL_ROWS = 256 };
/* Packed and causal: scores of a block. A block multiplies hidden values by 0, up to
 * the last that it sees, so that infinite ones become NaN. */
enum { CAUSAL_SCORES = 64 << 10 };

/* The rows of the mask and the keys that a thread's memory holds from its last
 * block. */
typedef struct cache {
    int64_t from, rows; /* rows of the mask, from an element on; 0: none */
    int64_t head;       /* whose keys are packed; -1: none */
} cache;

typedef struct attention {
    const cfx_attention *a;
    const cfx_context *ctx;
    const cfx_kernels *kernels;
    cfx_dtype dtype;      /* that is computed in */
    size_t size;          /* of its elements */
    size_t in_size;       /* of an element of q, k and v */
    int64_t rows, blocks; /* of one head */
    /* Parts of a thread's scratch memory, in bytes from its beginning: q, k, v
     * and y where they are converted, the scores, rows of the mask. */
    size_t q, k, v, y, scores, mask, factors, gemm, packed, cached, priv;
    int64_t row; /* elements from row to row of the scores */
    bool is_packed;
    cfx_attention_packing packing;
    char *work;
} attention;

static cache *cache_of(const attention *s, char *work)
{
    return (cache *)(void *)(work + s->cached);
}

static const char *at(const void *p, int64_t i, size_t size)
{
    return (const char *)p + i * (int64_t)size;
}

/* The columns that rows before `end` may see. */
static int64_t columns_seen(const cfx_attention *a, int64_t end)
{
    return a->causal ? cfx_min64(a->s, end) : a->s;
}

/* Are the weights divided by their sums after the product with the values, which
 * has fewer columns? The product of bytes adds no mask, as the other way does. */
static bool divides_last(const attention *s)
{
    return s->is_packed && !s->a->weights && s->a->s <= CFX_STOP_BLOCK &&
           !(s->a->bytes && s->a->mask);
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
                      .c_row = s->row};
}

static cfx_gemm value_product(const attention *s, int64_t rows, int64_t seen)
{
    bool narrow = cfx_dtype_is_reduced(s->a->dtype);

    return (cfx_gemm){.dtype = s->dtype,
                      .m = rows,
                      .n = s->a->ev,
                      .k = seen,
                      .a_row = s->row,
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

/* Rows of a block for packed products, whose scores stay in L2: all, or what all levels
 * cut into whole tiles. */
static int64_t packed_rows(const attention *s)
{
    const int64_t unit = CFX_WHOLE / 2;
    int64_t scores = s->a->causal
                         ? CAUSAL_SCORES
                         : s->ctx->caches.l2 / 4 / (int64_t)sizeof(float);

    return s->a->l * s->row <= scores
               ? s->a->l
               : cfx_max64(scores / s->row / unit, 1) * unit;
}

/* The rows of the mask that are read at a time: those of a block, if the products are
 * packed, or one. */
static size_t mask_size(const attention *s)
{
    int64_t rows = s->is_packed && s->a->mask_stride[2] ? s->rows : 1;

    return s->a->has_mask ? (size_t)(rows * s->row) * s->size : 0;
}

static attention make_attention(const cfx_context *ctx, const cfx_attention *a)
{
    attention s = {.a = a, .ctx = ctx, .kernels = cfx_context_kernels(ctx)};
    bool narrow = cfx_dtype_is_reduced(a->dtype);

    s.dtype = narrow ? CFX_F32 : a->dtype;
    s.size = cfx_dtype_size(s.dtype);
    s.in_size = a->bytes ? 1 : cfx_dtype_size(a->dtype);
    s.packing = cfx_attention_packing_of(s.ctx, a);
    s.is_packed = cfx_attention_packs(a);
    s.row = s.is_packed ? s.packing.row : a->s;
    s.rows = s.is_packed ? packed_rows(&s) : a->l <= ALL_ROWS ? a->l : ROWS;
    s.blocks = s.rows ? cfx_ceil_div(a->l, s.rows) : 0;
    s.k = narrow ? cfx_gemm_align((size_t)(s.rows * a->e) * 4) : 0;
    s.v = s.k + (narrow ? cfx_gemm_align((size_t)(a->s * a->e) * 4) : 0);
    s.y = s.v + (narrow ? cfx_gemm_align((size_t)(a->s * a->ev) * 4) : 0);
    s.scores = s.y +
               (narrow ? cfx_gemm_align((size_t)(s.rows * a->ev) * 4) : 0);
    s.mask = s.scores + cfx_gemm_align((size_t)(s.rows * s.row) * s.size);
    s.factors = s.mask + cfx_gemm_align(mask_size(&s));
    s.gemm = s.factors + cfx_gemm_align((size_t)s.rows * sizeof(float));
    s.packed = s.gemm + (s.is_packed ? 0 : products_size(&s));
    s.cached = s.packed +
               (s.is_packed
                    ? cfx_gemm_align(cfx_attention_packed_size(&s.packing))
                    : 0);
    s.priv = s.cached + cfx_gemm_align(sizeof(cache)) + 64;
    return s;
}

size_t cfx_attention_workspace(const cfx_context *ctx, const cfx_attention *a)
{
    return make_attention(ctx, a).priv * (size_t)cfx_context_threads(ctx);
}

/* ---- The mask ---- */

/* Is a row of the mask what is added to scores? */
static bool is_added(const attention *s)
{
    return !s->a->mask_bool && s->a->mask_stride[3] == 1 &&
           s->a->dtype == s->dtype;
}

static const char *mask_at(const attention *s, int64_t i)
{
    size_t size = s->a->mask_bool ? 1 : cfx_dtype_size(s->a->dtype);
    return at(s->a->mask, i, size);
}

/* Write what a row of the mask adds. */
static void read_mask(const attention *s, void *to, const char *row)
{
    const cfx_attention *a = s->a;
    const uint8_t *see = (const uint8_t *)row;
    int64_t step = a->mask_stride[3];

    if (!a->mask_bool)
        s->kernels->pointwise->convert[s->dtype][a->dtype](to, 1, row, step,
                                                           a->s);
    else if (s->size == 4)
        for (int64_t j = 0; j < a->s; j++)
            ((float *)to)[j] = see[j * step] ? 0 : -INFINITY;
    else
        for (int64_t j = 0; j < a->s; j++)
            ((double *)to)[j] = see[j * step] ? 0 : -(double)INFINITY;
}

/* The first element of a row of the mask. */
static int64_t mask_place(const attention *s, int64_t n, int64_t h, int64_t i)
{
    const int64_t *t = s->a->mask_stride;
    return n * t[0] + h * t[1] + i * t[2];
}

/* The mask added to row i of the scores; NULL: none. */
static const void *mask_row(const attention *s, char *work, int64_t n,
                            int64_t h, int64_t i)
{
    if (!s->a->mask)
        return NULL;
    const char *row = mask_at(s, mask_place(s, n, h, i));
    if (is_added(s))
        return row;
    read_mask(s, work + s->mask, row);
    return work + s->mask;
}

/* Rows of the mask as numbers that are added. */
static cfx_attention_mask mask_of(const attention *s, char *work, int64_t from,
                                  int64_t rows)
{
    cache *last = cache_of(s, work);
    int64_t step = s->a->mask_stride[2];
    float *to = (float *)(void *)(work + s->mask);

    if (!s->a->mask)
        return (cfx_attention_mask){NULL, 0};
    /* Tiles read whole blocks. */
    if (is_added(s) && s->a->s % CFX_EXP_LANES == 0)
        return (cfx_attention_mask){
            (const float *)(const void *)mask_at(s, from), step};
    rows = step ? rows : 1;
    if (last->from != from || last->rows < rows) {
        for (int64_t i = 0; i < rows; i++)
            read_mask(s, to + i * s->row, mask_at(s, from + i * step));
        last->from = from;
        last->rows = rows;
    }
    return (cfx_attention_mask){to, step ? s->row : 0};
}

static const cfx_norm_rows *norm_of(const attention *s)
{
    return s->size == 4 ? &s->kernels->norm->f32 : &s->kernels->norm->f64;
}

static void softmax_rows(const attention *s, char *work, int64_t n, int64_t h,
                         int64_t i0, int64_t rows)
{
    const cfx_attention *a = s->a;
    const cfx_norm_rows *k = norm_of(s);
    cfx_dtype t = a->dtype;

    for (int64_t i = 0; i < rows; i++) {
        char *row = work + s->scores + (size_t)(i * s->row) * s->size;
        cfx_softmax_row r = {.ctx = s->ctx,
                             .n = a->s,
                             .seen = columns_seen(a, i0 + i + 1),
                             .scale = s->is_packed ? 1 : a->scale,
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

static float *factors_of(const attention *s, char *work)
{
    return (float *)(void *)(work + s->factors);
}

/* The exponentials of rows of scores, and 1 / their sums. */
static void exp_rows(const attention *s, char *work, int64_t i0, int64_t rows)
{
    s->kernels->norm->exp_rows((float *)(void *)(work + s->scores), s->row,
                               rows, columns_seen(s->a, i0 + 1),
                               columns_seen(s->a, i0 + rows),
                               factors_of(s, work));
}

static void scale_rows(const attention *s, char *work, float *y, int64_t y_row,
                       int64_t rows)
{
    const cfx_norm_rows *k = norm_of(s);
    const float *factor = factors_of(s, work);

    for (int64_t i = 0; i < rows; i++)
        k->linear(y + i * y_row, y + i * y_row, s->a->ev, (double)factor[i],
                  0);
}

/* ---- Blocks ---- */

static int64_t key_head(const cfx_attention *a, int64_t h)
{
    return h / (a->kv_group ? a->kv_group : 1);
}

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

/* A block of rows of a head; its pointers are in the type that is computed in. */
typedef struct block {
    int64_t rows, seen;
    const void *q, *k, *v;
    int64_t q_row, k_row, v_row, y_row;
    void *y;
} block;

static void score_rows(const attention *s, char *work, const block *b,
                       cfx_attention_mask mask)
{
    if (s->is_packed) {
        cfx_attention_scores(&s->packing, (float *)(void *)(work + s->packed),
                             b->rows, b->seen, b->q, b->q_row, mask,
                             (float *)(void *)(work + s->scores));
        return;
    }
    cfx_gemm g = score_product(s, b->rows, b->seen);
    g.a = b->q;
    g.b = b->k;
    g.c = work + s->scores;
    cfx_gemm_run_serial(s->ctx, &g, work + s->gemm);
}

static void value_rows(const attention *s, char *work, const block *b)
{
    if (s->is_packed) {
        cfx_attention_values(
            &s->packing, (float *)(void *)(work + s->packed), b->rows, b->seen,
            (float *)(void *)(work + s->scores), b->y, b->y_row);
        return;
    }
    cfx_gemm g = value_product(s, b->rows, b->seen);
    g.a = work + s->scores;
    g.b = b->v;
    g.c = b->y;
    cfx_gemm_run_serial(s->ctx, &g, work + s->gemm);
}

/* Compute the block of rows from i0 on. The keys and values are packed unless they are
 * those of the last block, of which all has been packed. */
static void run_block(const attention *s, char *work, int64_t n, int64_t h,
                      int64_t i0)
{
    const cfx_attention *a = s->a;
    cache *last = cache_of(s, work);
    int64_t keys = n * a->heads + key_head(a, h);
    bool fresh = !s->is_packed || keys != last->head;
    size_t size = cfx_dtype_size(a->dtype);
    bool narrow = cfx_dtype_is_reduced(a->dtype);
    int64_t rows = cfx_min64(s->rows, a->l - i0), kh = key_head(a, h);
    int64_t seen = columns_seen(a, i0 + rows);
    int64_t nkeys = s->is_packed ? a->s : seen; /* keys that are read */
    const char *q = at(
        a->q, n * a->q_stride[0] + h * a->q_stride[1] + i0 * a->q_stride[2],
        s->in_size);
    const char *k = at(a->k, n * a->k_stride[0] + kh * a->k_stride[1],
                       s->in_size);
    const char *v = at(a->v, n * a->v_stride[0] + kh * a->v_stride[1],
                       s->in_size);
    char *y = (char *)a->y +
              (n * a->y_stride[0] + h * a->y_stride[1] + i0 * a->y_stride[2]) *
                  (int64_t)size;
    block b = {rows,
               seen,
               q,
               k,
               v,
               a->q_stride[2],
               a->k_stride[2],
               a->v_stride[2],
               a->y_stride[2],
               y};

    if (narrow) {
        b.q = widen(s, work, q, rows, a->e, a->q_stride[2]);
        if (fresh) {
            b.k = widen(s, work + s->k, k, nkeys, a->e, a->k_stride[2]);
            b.v = widen(s, work + s->v, v, nkeys, a->ev, a->v_stride[2]);
        }
        b.q_row = b.k_row = a->e;
        b.v_row = b.y_row = a->ev;
        b.y = work + s->y;
    }
    last->head = keys;
    if (s->is_packed && fresh)
        cfx_attention_pack(&s->packing, (float *)(void *)(work + s->packed),
                           b.k, b.k_row, b.v, b.v_row);
    if (divides_last(s)) {
        score_rows(s, work, &b,
                   mask_of(s, work, mask_place(s, n, h, i0), rows));
        exp_rows(s, work, i0, rows);
        value_rows(s, work, &b);
        scale_rows(s, work, b.y, b.y_row, rows);
    } else {
        score_rows(s, work, &b, (cfx_attention_mask){NULL, 0});
        softmax_rows(s, work, n, h, i0, rows);
        value_rows(s, work, &b);
    }
    for (int64_t i = 0; i < rows && narrow; i++)
        s->kernels->pointwise->convert[a->dtype][CFX_F32](
            y + i * a->y_stride[2] * 2, 1,
            work + s->y + (size_t)(i * a->ev) * 4, 1, a->ev);
}

static void blocks_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const attention *s = arg;
    char *work = s->work + s->priv * (size_t)worker;

    for (int64_t i = begin; i < end && !cfx_context_stops(s->ctx); i++) {
        int64_t head = i / s->blocks, n = head / s->a->heads;
        run_block(s, work, n, head % s->a->heads, i % s->blocks * s->rows);
    }
}

/* Are all of n bytes, which lie `stride` apart, nonzero? */
static bool all_set(const uint8_t *p, int64_t n, int64_t stride)
{
    if (stride == 1)
        return memchr(p, 0, (size_t)n) == NULL;
    for (int64_t i = 0; i < n; i++)
        if (p[i * stride] == 0)
            return false;
    return true;
}

/* Does the mask hide nothing? An axis of stride 0 is looked at once. */
static bool sees_all(const cfx_attention *a)
{
    const int64_t *t = a->mask_stride;
    const int64_t extents[] = {a->batch, a->heads, a->l, a->s};
    int64_t n[4];

    for (int i = 0; i < 4; i++)
        n[i] = t[i] == 0 ? cfx_min64(extents[i], 1) : extents[i];
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        int64_t at = i / n[2] / n[1] * t[0] + i / n[2] % n[1] * t[1] +
                     i % n[2] * t[2];
        if (!all_set((const uint8_t *)a->mask + at, n[3], t[3]))
            return false;
    }
    return true;
}

/* Is one of n bytes nonzero? */
static bool any_set(const uint8_t *p, int64_t n)
{
    uint64_t eight;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8) {
        memcpy(&eight, p + i, sizeof(eight));
        if (eight)
            return true;
    }
    for (; i < n; i++)
        if (p[i])
            return true;
    return false;
}

/* The columns up to the last that a row sees, at least one. The last rows see most,
 * if the mask is causal. */
static int64_t columns_shown(const cfx_attention *a)
{
    const int64_t *t = a->mask_stride;
    const int64_t extents[] = {a->batch, a->heads, a->l};
    int64_t n[3], shown = cfx_min64(a->s, 1);

    for (int i = 0; i < 3; i++)
        n[i] = t[i] == 0 ? cfx_min64(extents[i], 1) : extents[i];
    for (int64_t i = n[0] * n[1] * n[2]; i-- > 0;) {
        const uint8_t *row = (const uint8_t *)a->mask +
                             i / n[2] / n[1] * t[0] + i / n[2] % n[1] * t[1] +
                             i % n[2] * t[2];
        if (!any_set(row + shown, a->s - shown))
            continue;
        int64_t last = a->s;
        while (!row[last - 1])
            last--;
        shown = last;
    }
    return shown;
}

/* The attention without the columns behind those that any row sees, as in a cache that
 * is not full, if it needs no more memory. */
static cfx_attention without_hidden(const cfx_context *ctx,
                                    const cfx_attention *a)
{
    cfx_attention seen = *a;

    if (!a->mask || !a->mask_bool)
        return seen;
    if (a->mask_stride[3] == 1 && !a->weights)
        seen.s = columns_shown(a);
    if (seen.s < a->s &&
        make_attention(ctx, &seen).priv > make_attention(ctx, a).priv)
        seen.s = a->s;
    if (sees_all(&seen))
        seen.mask = NULL;
    return seen;
}

void cfx_attention_run(cfx_context *ctx, const cfx_attention *a,
                       void *workspace)
{
    const cfx_attention seen = without_hidden(ctx, a);
    attention s = make_attention(ctx, &seen);

    s.work = workspace;
    for (int i = 0; i < cfx_context_threads(ctx); i++)
        *cache_of(&s, s.work + s.priv * (size_t)i) = (cache){.head = -1};
    /* Pieces are whole heads, unless there are too few. */
    int64_t heads = a->batch * a->heads;
    int64_t grain = heads >= 4 * cfx_context_threads(ctx) ? s.blocks : 1;
    cfx_parallel_for(ctx, heads * s.blocks, s.is_packed ? grain : 1,
                     blocks_piece, &s);
}
