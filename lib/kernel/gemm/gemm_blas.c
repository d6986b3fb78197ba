/*
 * gemm_blas.c -- matrix products by cblas_?gemm.
 *
 * The longer side of c is cut into pieces, one for a thread at a time, and the BLAS
 * runs on the thread that calls it. How a BLAS rounds an element may depend on
 * the element's place in the call, so the cut depends on the extents only, and the
 * result not on the number of threads.
 */
#include "kernel/gemm/gemm_blas.h"

#ifdef HAVE_CBLAS

#include <cblas.h>
#include <limits.h>

#include "base/stop.h"
#include "kernel/int64.h"

/* A call multiplies at most this much, so that a run stops soon. */
enum { PIECE_MAX = 512, ACROSS_MAX = 1024, STEPS_MAX = 1024 };
/* A thinner piece packs the operand that pieces share too often. */
enum { PIECE_MIN = 192 };

/* An operand as CBLAS describes it, in rows. */
typedef struct operand {
    CBLAS_TRANSPOSE trans;
    int ld;
} operand;

static bool describe(operand *out, int64_t rows, int64_t cols, int64_t row,
                     int64_t col)
{
    int64_t ld;

    if ((col == 1 || cols == 1) && (row >= cols || rows == 1)) {
        out->trans = CblasNoTrans;
        ld = rows == 1 ? cols : row;
    } else if ((row == 1 || rows == 1) && (col >= rows || cols == 1)) {
        out->trans = CblasTrans;
        ld = cols == 1 ? rows : col;
    } else {
        return false;
    }
    out->ld = (int)ld;
    return ld <= INT_MAX;
}

bool cfx_gemm_blas_takes(const cfx_gemm *g)
{
    operand x;

    return g->m > 0 && g->n > 0 && g->k > 0 && g->m <= INT_MAX &&
           g->n <= INT_MAX && g->k <= INT_MAX && g->c_row >= g->n &&
           g->c_row <= INT_MAX &&
           describe(&x, g->m, g->k, g->a_row, g->a_col) &&
           describe(&x, g->k, g->n, g->b_row, g->b_col);
}

typedef struct blas_product {
    const cfx_context *ctx;
    const cfx_gemm *g;
    operand a, b;
    bool add;
    int64_t rows, cols, steps; /* of c, and of the sums, in one call */
} blas_product;

#define OPERANDS CblasRowMajor, p->a.trans, p->b.trans, (int)m, (int)n, (int)k
#define MULTIPLY(gemm, T)                                                     \
    gemm(OPERANDS, 1, (const T *)g->a + a, p->a.ld, (const T *)g->b + b,      \
         p->b.ld, add, (T *)g->c + c, (int)g->c_row)
#define MULTIPLY_COMPLEX(gemm, T)                                             \
    gemm(OPERANDS, (const T[]){1, 0}, (const T *)g->a + 2 * a, p->a.ld,       \
         (const T *)g->b + 2 * b, p->b.ld, (const T[]){add, 0},               \
         (T *)g->c + 2 * c, (int)g->c_row)

/* Steps k0.. of the sums of the block at i0, j0. */
static void multiply(const blas_product *p, int64_t i0, int64_t m, int64_t j0,
                     int64_t n, int64_t k0)
{
    const cfx_gemm *g = p->g;
    const int64_t k = cfx_min64(p->steps, g->k - k0);
    const int64_t a = i0 * g->a_row + k0 * g->a_col;
    const int64_t b = k0 * g->b_row + j0 * g->b_col;
    const int64_t c = i0 * g->c_row + j0;
    const bool add = p->add || k0 > 0;

    switch (g->dtype) {
    case CFX_F32: MULTIPLY(cblas_sgemm, float); break;
    case CFX_F64: MULTIPLY(cblas_dgemm, double); break;
    case CFX_C64: MULTIPLY_COMPLEX(cblas_cgemm, float); break;
    default: MULTIPLY_COMPLEX(cblas_zgemm, double); break;
    }
}

static void multiply_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    const blas_product *p = arg;
    const cfx_gemm *g = p->g;
    const int64_t across = cfx_ceil_div(g->n, p->cols);

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const int64_t i0 = i / across * p->rows, j0 = i % across * p->cols;

        for (int64_t k0 = 0; k0 < g->k && !cfx_context_stops(p->ctx);
             k0 += p->steps)
            multiply(p, i0, cfx_min64(p->rows, g->m - i0), j0,
                     cfx_min64(p->cols, g->n - j0), k0);
    }
}

/* Equal parts of n of at most `most`. */
static int64_t part_of(int64_t n, int64_t most)
{
    return cfx_round_up(cfx_ceil_div(n, cfx_ceil_div(n, most)), 8);
}

/* An even number of pieces, about eight. */
static int64_t piece_of(int64_t n)
{
    int64_t count = cfx_min64(n / PIECE_MIN, 8);

    return count < 2 ? n
                     : cfx_min64(part_of(n, PIECE_MAX),
                                 part_of(n, cfx_ceil_div(n, count & ~1)));
}

void cfx_gemm_blas_run(const cfx_context *ctx, cfx_context *pool,
                       const cfx_gemm *g, bool add)
{
    blas_product p = {.ctx = ctx, .g = g, .add = add};
    const bool tall = g->m >= g->n;

    describe(&p.a, g->m, g->k, g->a_row, g->a_col);
    describe(&p.b, g->k, g->n, g->b_row, g->b_col);
    p.rows = tall ? piece_of(g->m) : part_of(g->m, ACROSS_MAX);
    p.cols = tall ? part_of(g->n, ACROSS_MAX) : piece_of(g->n);
    p.steps = part_of(g->k, STEPS_MAX);
    const int64_t count = cfx_ceil_div(g->m, p.rows) *
                          cfx_ceil_div(g->n, p.cols);
    if (pool)
        cfx_parallel_for(pool, count, 1, multiply_blocks, &p);
    else
        multiply_blocks(&p, 0, count, 0);
}

#else

bool cfx_gemm_blas_takes(const cfx_gemm *g)
{
    (void)g;
    return false;
}

void cfx_gemm_blas_run(const cfx_context *ctx, cfx_context *pool,
                       const cfx_gemm *g, bool add)
{
    (void)ctx;
    (void)pool;
    (void)g;
    (void)add;
}

#endif
