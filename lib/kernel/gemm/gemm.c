/*
 * gemm.c -- matrix products: which way a product is best computed.
 *
 *   dot     few rows times rows of k numbers side by side: nothing is packed
 *   axpy    one row times a matrix whose columns lie side by side
 *   packed  everything else in floats: gemm_core.c, possibly of the transposed
 *           product where that takes fewer transpositions
 *   int     integers: gemm_int.c
 *   blas    complex numbers, and floats where the BLAS is faster: gemm_blas.c
 *
 * A batch is folded into the rows where the layout allows that; else its
 * matrices are done one after another, or each by one thread where there are
 * many.
 */
#include "kernel/gemm/gemm.h"

#include <string.h>

#include "base/context_impl.h"
#include "base/stop.h"
#include "kernel/gemm/gemm_blas.h"
#include "kernel/gemm/gemm_core.h"
#include "kernel/gemm/gemm_int.h"
#include "kernel/int64.h"
#include "kernel/partition.h"
#include "kernel/pointwise/pointwise_kernel.h"

enum method { DOT, AXPY, PACKED, INTEGER, BLAS };

/* Batches of at least this many matrices give each thread whole ones. */
enum { BATCH_SPLIT = 4 };

typedef struct product {
    const cfx_context *ctx;
    cfx_gemm g; /* without its batch */
    enum method method;
    bool swapped; /* the transposed product is computed */
    const cfx_kernels *kernels;
    const cfx_gemm_type *type;
    cfx_transpose_fn *transpose;
    cfx_convert_fn *load, *save; /* of 16-bit floats; else NULL */
    size_t size;                 /* of an element in memory */
    cfx_gemm_core core;          /* of PACKED */
    int64_t grain;               /* of DOT and AXPY: columns in a piece */
    char *work;
} product;

static const char *at(const void *p, int64_t i, size_t size)
{
    return (const char *)p + i * (int64_t)size;
}

/* ---- Packing matrices of any strides ---- */

/* dst[i * dst_row + k] = src[i * row + k * col] for i < in, k < kn. */
static void pack_rows(const product *p, char *dst, int64_t dst_row,
                      const char *src, int64_t row, int64_t col, int64_t in,
                      int64_t kn)
{
    size_t size = p->core.size;

    if (p->load) {
        for (int64_t i = 0; i < in; i++)
            p->load(dst + (size_t)(i * dst_row) * size, 1,
                    at(src, i * row, p->size), col, kn);
    } else if (col == 1) {
        p->type->copy(dst, dst_row, src, row, in, kn);
    } else if (row == 1) {
        p->transpose(dst, dst_row, src, col, kn, in);
    } else {
        cfx_convert_fn *copy =
            p->kernels->pointwise->convert[p->g.dtype][p->g.dtype];
        for (int64_t i = 0; i < in; i++)
            copy(dst + (size_t)(i * dst_row) * size, 1, at(src, i * row, size),
                 col, kn);
    }
}

static void pack_a(const cfx_gemm_core *core, void *panel, int64_t k0,
                   int64_t kn, int64_t i0, int64_t in)
{
    const product *p = core->user;
    const cfx_gemm *g = &p->g;

    pack_rows(p, panel, CFX_GEMM_A_ROW,
              at(g->a, i0 * g->a_row + k0 * g->a_col, p->size), g->a_row,
              g->a_col, in, kn);
}

static void pack_b(const cfx_gemm_core *core, void *panels, int64_t k0,
                   int64_t kn, int64_t j0, int64_t jn)
{
    const product *p = core->user;
    const cfx_gemm *g = &p->g;
    const int64_t nr = cfx_gemm_core_nr(core);
    char *panel = panels;

    for (; jn > 0; jn -= nr, j0 += nr) {
        int64_t n = cfx_min64(jn, nr);
        const char *src = at(g->b, k0 * g->b_row + j0 * g->b_col, p->size);

        /* Columns past the matrix are multiplied too, though not kept. */
        if (n < nr)
            memset(panel, 0, (size_t)(kn * nr) * core->size);
        pack_rows(p, panel, nr, src, g->b_row, g->b_col, kn, n);
        panel += (size_t)(kn * nr) * core->size;
    }
}

/* Write or add n floats as numbers of 16 bits, row i of c from column j on,
 * with the biases, which have 16 bits too. */
static void save_row(const product *p, int64_t i, int64_t j, const float *x,
                     int64_t n)
{
    const cfx_gemm *g = &p->g;
    char *c = (char *)g->c + (i * g->c_row + j) * 2;
    float row = 0, sum[64], more[64];

    if (g->row_bias)
        p->load(&row, 1, at(g->row_bias, i, 2), 1, 1);
    for (; n > 0; n -= 64, x += 64, c += 128, j += 64) {
        int64_t len = cfx_min64(64, n);

        for (int64_t q = 0; q < len; q++)
            sum[q] = x[q] + row;
        if (g->accumulate || g->bias) {
            p->load(more, 1, g->accumulate ? c : at(g->bias, j, 2), 1, len);
            for (int64_t q = 0; q < len; q++)
                sum[q] += more[q];
        }
        p->save(c, 1, sum, 1, len);
    }
}

/* Write or add one finished block of a product that is transposed or has
 * 16 bits. */
static void emit(const cfx_gemm_core *core, const void *x, int64_t x_row,
                 int64_t i0, int64_t in, int64_t j0, int64_t jn)
{
    const product *p = core->user;
    const cfx_gemm *g = &p->g;
    int64_t step = p->swapped ? g->c_row : 1;
    int64_t row = p->swapped ? 1 : g->c_row;
    char *c = (char *)g->c + (i0 * row + j0 * step) * (int64_t)p->size;

    if (p->save) {
        for (int64_t i = 0; i < in; i++)
            save_row(p, i0 + i, j0, (const float *)x + i * x_row, jn);
    } else if (!g->accumulate) {
        p->transpose(c, step, x, x_row, in, jn);
    } else if (p->size == 4) {
        for (int64_t j = 0; j < jn; j++)
            for (int64_t i = 0; i < in; i++)
                ((float *)c)[j * step + i] += ((
                    const float *)x)[i * x_row + j];
    } else {
        for (int64_t j = 0; j < jn; j++)
            for (int64_t i = 0; i < in; i++)
                ((double *)c)[j * step + i] += ((
                    const double *)x)[i * x_row + j];
    }
}

/* ---- The choice ---- */

/* (a b)^T = b^T a^T. c_row stays what it was: from a row of c to the next. */
static void swap(cfx_gemm *g)
{
    cfx_gemm t = *g;

    g->m = t.n;
    g->n = t.m;
    g->a = t.b;
    g->a_row = t.b_col;
    g->a_col = t.b_row;
    g->b = t.a;
    g->b_row = t.a_col;
    g->b_col = t.a_row;
    g->bias = t.row_bias;
    g->row_bias = t.bias;
}

/* Columns past the matrix are multiplied as well: a panel of the few that there
 * are. 0: there are enough. */
static int64_t narrow_panel(const cfx_gemm_type *t, int64_t n)
{
    int64_t whole = cfx_round_up(cfx_max64(n, 1), t->lanes);

    return whole < t->nr ? whole : 0;
}

/* Few rows do not pay for packing b, if it can be read as it is. */
static bool reads_b(const product *p)
{
    enum { PANELS = 3 };
    const cfx_gemm *g = &p->g;

    return !p->load && !g->packed && g->b_col == 1 && g->n <= g->m &&
           g->n % p->type->lanes == 0 && g->m <= PANELS * p->type->mr;
}

static void plan_packed(product *p)
{
    cfx_gemm *g = &p->g;
    /* The number of elements of operands that need a transpose. */
    int64_t straight = (g->a_col == 1 ? 0 : g->m) + (g->b_col == 1 ? 0 : g->n);
    int64_t swapped = (g->b_row == 1 ? 0 : g->n) + (g->a_row == 1 ? 0 : g->m);
    bool narrow = cfx_dtype_is_reduced(g->dtype);

    p->method = PACKED;
    if (!narrow && !g->packed &&
        (double)swapped * (double)g->k + (double)g->m * (double)g->n <
            (double)straight * (double)g->k) {
        swap(g);
        p->swapped = true;
    }
    if (narrow) {
        p->load = p->kernels->pointwise->convert[CFX_F32][g->dtype];
        p->save = p->kernels->pointwise->convert[g->dtype][CFX_F32];
    }
    p->core = (cfx_gemm_core){.ctx = p->ctx,
                              .type = p->type,
                              .size = narrow ? 4 : p->size,
                              .m = g->m,
                              .n = g->n,
                              .k = g->k,
                              .nr = narrow_panel(p->type, g->n),
                              .pack_a = pack_a,
                              .pack_b = pack_b,
                              .packed = g->packed,
                              .b = reads_b(p) ? g->b : NULL,
                              .b_row = g->b_row,
                              .row_bias = narrow ? NULL : g->row_bias,
                              .bias = narrow ? NULL : g->bias,
                              .c = g->c,
                              .c_row = g->c_row,
                              .add = g->accumulate,
                              .emit = p->swapped || narrow ? emit : NULL};
}

static bool plan_dot(product *p)
{
    cfx_gemm *g = &p->g;
    int64_t most = p->type->dot;

    if (g->a_col != 1 || g->b_row != 1 || g->k < 4 * p->type->lanes)
        return false;
    if (g->m > most && g->n > most)
        return false;
    if (g->m > g->n) {
        swap(g);
        p->swapped = true;
    }
    p->method = DOT;
    /* Rows of b that stay in a part of L2; a multiple of all tiles. */
    p->grain = 24 * cfx_max64(1, p->ctx->caches.l2 / 16 /
                                     ((int64_t)p->size * g->k * 24));
    return true;
}

static bool plan_axpy(product *p)
{
    cfx_gemm *g = &p->g;

    if (g->n == 1 && g->a_row == 1 && g->c_row == 1 && g->m > 1) {
        swap(g);
        p->swapped = true;
    }
    if (g->m != 1 || g->b_col != 1)
        return false;
    p->method = AXPY;
    p->grain = 512;
    return true;
}

static bool plan_blas(product *p)
{
    const cfx_gemm *g = &p->g;
    const int least = p->type->blas;

    if (!p->ctx->blas || !least || cfx_min64(g->m, g->n) < least ||
        !cfx_gemm_blas_takes(g))
        return false;
    p->method = BLAS;
    return true;
}

static product make_product(const cfx_context *ctx, const cfx_gemm *g)
{
    product p = {.ctx = ctx, .g = *g, .kernels = cfx_context_kernels(ctx)};

    p.size = cfx_dtype_size(g->dtype);
    if (!cfx_dtype_is_float(g->dtype)) {
        p.method = cfx_dtype_is_complex(g->dtype) ? BLAS : INTEGER;
        return p;
    }
    p.type = g->dtype == CFX_F64 ? &p.kernels->gemm->f64
                                 : &p.kernels->gemm->f32;
    p.transpose = p.kernels->pointwise->transpose[p.size == 8 ? 3 : 2];
    if (cfx_dtype_is_reduced(g->dtype) || g->packed ||
        (!plan_blas(&p) && !plan_dot(&p) && !plan_axpy(&p)))
        plan_packed(&p);
    return p;
}

static size_t product_workspace(const product *p, int threads)
{
    if (p->method == PACKED)
        return cfx_gemm_align(cfx_gemm_core_workspace(&p->core, threads));
    return 0;
}

/* ---- Running ---- */

/* Begin with the biases, where the kernels only add. */
static void begin_with_bias(const product *p)
{
    const cfx_gemm *g = &p->g;
    bool f32 = p->size == 4;
    const float *bf = g->bias, *rf = g->row_bias;
    const double *bd = g->bias, *rd = g->row_bias;
    int64_t row = p->swapped ? 1 : g->c_row, col = p->swapped ? g->c_row : 1;

    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            int64_t c = i * row + j * col;
            if (f32)
                ((float *)g->c)[c] = (bf ? bf[j] : 0) + (rf ? rf[i] : 0);
            else
                ((double *)g->c)[c] = (bd ? bd[j] : 0) + (rd ? rd[i] : 0);
        }
    }
}

static void dot_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const product *p = arg;
    const cfx_gemm *g = &p->g;
    int64_t row = p->swapped ? 1 : g->c_row, col = p->swapped ? g->c_row : 1;

    (void)worker;
    for (int64_t i = 0; i < g->m && !cfx_context_stops(p->ctx);
         i += p->type->dot) {
        cfx_gemm_dot d = {.m = cfx_min64(p->type->dot, g->m - i),
                          .n = end - begin,
                          .k = g->k,
                          .x = at(g->a, i * g->a_row, p->size),
                          .x_row = g->a_row,
                          .w = at(g->b, begin * g->b_col, p->size),
                          .w_row = g->b_col,
                          .c = (char *)g->c +
                               (i * row + begin * col) * (int64_t)p->size,
                          .c_row = row,
                          .c_col = col,
                          .add = g->accumulate || g->bias || g->row_bias};
        p->type->dot_rows(&d);
    }
}

static void axpy_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const product *p = arg;
    const cfx_gemm *g = &p->g;

    (void)worker;
    p->type->axpy_rows(g->k, end - begin, g->a, g->a_col,
                       at(g->b, begin, p->size), g->b_row,
                       (char *)g->c + begin * (int64_t)p->size,
                       g->accumulate || g->bias || g->row_bias);
}

/* On the threads of the context, or on this one where ctx is NULL. */
static void run_product(cfx_context *ctx, product *p)
{
    const cfx_gemm *g = &p->g;

    if (g->m == 0 || g->n == 0)
        return;
    if (p->method == INTEGER) {
        cfx_gemm_int(p->ctx, ctx, g);
        return;
    }
    if (p->method == PACKED) {
        p->core.user = p;
        cfx_gemm_core_run(ctx, &p->core, p->work);
        return;
    }
    if (g->bias || g->row_bias)
        begin_with_bias(p);
    if (p->method == BLAS)
        cfx_gemm_blas_run(p->ctx, ctx, g,
                          g->accumulate || g->bias || g->row_bias);
    else if (ctx)
        cfx_parallel_for(ctx, g->n, p->grain,
                         p->method == DOT ? dot_piece : axpy_piece, p);
    else if (p->method == DOT)
        dot_piece(p, 0, g->n, 0);
    else
        axpy_piece(p, 0, g->n, 0);
}

/* ---- Batches ---- */

/* Make rows of what is the innermost axis of the batch, where the layout is
 * that of one taller matrix. */
static void fold(cfx_gemm *g)
{
    while (g->batch_rank > 0) {
        int i = g->batch_rank - 1;

        if (g->batch[i] != 1) {
            if (g->b_batch[i] != 0 || g->row_bias)
                return;
            if (g->m == 1) {
                g->a_row = g->a_batch[i];
                g->c_row = g->c_batch[i];
            } else if (g->a_batch[i] != g->m * g->a_row ||
                       g->c_batch[i] != g->m * g->c_row) {
                return;
            }
        }
        g->m *= g->batch[i];
        g->batch_rank--;
    }
}

static int64_t batch_count(const cfx_gemm *g)
{
    int64_t n = 1;

    for (int i = 0; i < g->batch_rank; i++)
        n *= g->batch[i];
    return n;
}

/* Make of `p`, the product of a matrix of the batch `all`, that of matrix i. */
static void select_matrix(product *p, const cfx_gemm *all, int64_t i)
{
    int64_t a = 0, b = 0, c = 0;

    for (int r = all->batch_rank - 1; r >= 0; r--) {
        int64_t x = i % all->batch[r];

        i /= all->batch[r];
        a += x * all->a_batch[r];
        b += x * all->b_batch[r];
        c += x * all->c_batch[r];
    }
    p->g.a = p->swapped ? at(all->b, b, p->size) : at(all->a, a, p->size);
    p->g.b = p->swapped ? at(all->a, a, p->size) : at(all->b, b, p->size);
    p->core.c = p->g.c = (char *)all->c + c * (int64_t)p->size;
    p->core.b = p->core.b ? p->g.b : NULL;
}

typedef struct batch {
    const cfx_context *ctx;
    const cfx_gemm *g;
    char *work;
    size_t size; /* for each worker */
} batch;

static void batch_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const batch *b = arg;
    product p = make_product(b->ctx, b->g);

    p.work = b->work ? b->work + b->size * (size_t)worker : NULL;
    for (int64_t i = begin; i < end && !cfx_context_stops(b->ctx); i++) {
        select_matrix(&p, b->g, i);
        run_product(NULL, &p);
    }
}

bool cfx_gemm_takes_complex(const cfx_context *ctx, const cfx_gemm *g)
{
    cfx_gemm t = *g;

    fold(&t);
    return ctx->blas && cfx_gemm_blas_takes(&t);
}

size_t cfx_gemm_workspace(const cfx_context *ctx, const cfx_gemm *g)
{
    cfx_gemm t = *g;
    product p;
    int threads = cfx_context_threads(ctx);

    fold(&t);
    p = make_product(ctx, &t);
    if (batch_count(&t) >= BATCH_SPLIT)
        return product_workspace(&p, 1) * (size_t)threads;
    return product_workspace(&p, threads);
}

void cfx_gemm_run(cfx_context *ctx, const cfx_gemm *g, void *workspace)
{
    cfx_gemm t = *g;
    int64_t n;
    product p;

    fold(&t);
    n = batch_count(&t);
    if (t.m == 0 || t.n == 0)
        return;
    p = make_product(ctx, &t);
    if (n >= BATCH_SPLIT) {
        batch b = {ctx, &t, workspace, product_workspace(&p, 1)};
        double work = (double)t.m * (double)t.n * (double)t.k;

        cfx_parallel_for(ctx, n, work < 65536 ? 16 : 1, batch_piece, &b);
        return;
    }
    p.work = workspace;
    for (int64_t i = 0; i < n; i++) {
        select_matrix(&p, &t, i);
        run_product(ctx, &p);
    }
}

/* The product as if b had been packed. */
static product packed_product(const cfx_context *ctx, const cfx_gemm *g)
{
    cfx_gemm t = *g;

    t.packed = &t; /* not NULL is all that matters */
    return make_product(ctx, &t);
}

size_t cfx_gemm_packed_size(const cfx_context *ctx, const cfx_gemm *g)
{
    product p = packed_product(ctx, g);

    return cfx_gemm_core_packed_size(&p.core);
}

void cfx_gemm_pack(cfx_context *ctx, const cfx_gemm *g, void *packed)
{
    product p = packed_product(ctx, g);

    p.core.user = &p;
    cfx_gemm_core_pack(ctx, &p.core, packed);
}

size_t cfx_gemm_serial_workspace(const cfx_context *ctx, const cfx_gemm *g)
{
    cfx_gemm t = *g;
    product p;

    fold(&t);
    p = make_product(ctx, &t);
    return product_workspace(&p, 1);
}

void cfx_gemm_run_serial(const cfx_context *ctx, const cfx_gemm *g,
                         void *workspace)
{
    cfx_gemm t = *g;
    batch b = {.ctx = ctx, .g = &t, .work = workspace};

    fold(&t);
    if (t.m > 0 && t.n > 0)
        batch_piece(&b, 0, batch_count(&t), 0);
}
