/*
 * gemm.h -- matrix products, of every dtype and layout.
 *
 * c(m, n) = a(m, k) b(k, n), for each matrix of a batch. The columns of c are
 * contiguous; a and b have any strides, so that transposed and broadcast
 * operands need no copy. 16-bit floats are summed in float, integers wrap
 * around. A sum over k = 0 elements is 0.
 *
 *     cfx_gemm g = {.dtype = CFX_F32, .m = 2, .n = 3, .k = 4,
 *                   .a = a, .a_row = 4, .a_col = 1,
 *                   .b = b, .b_row = 3, .b_col = 1, .c = c, .c_row = 3};
 *     void *work = ...cfx_gemm_workspace(ctx, &g) bytes, aligned to 64...
 *     cfx_gemm_run(ctx, &g, work);
 */
#ifndef CFX_KERNEL_GEMM_H
#define CFX_KERNEL_GEMM_H

#include "kernel/kernel.h"

/* Strides are in elements. Zeroed members mean: no batch, no bias. */
typedef struct cfx_gemm {
    cfx_dtype dtype; /* of a, b, c and the biases; any but bool, and complex
                        only as cfx_gemm_takes_complex says */
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_col;
    const void *b;
    int64_t b_row, b_col;
    void *c; /* overlaps neither a nor b */
    int64_t c_row;
    const void *bias;     /* n values, one for each column of c; or NULL */
    const void *row_bias; /* m values, one for each row of c; or NULL */
    const void *packed;   /* b, by cfx_gemm_pack, which is then not read; or
                             NULL */
    bool accumulate;      /* add to what c holds; there are no biases then */
    /* The axes of the batch, outermost first; a stride of 0 broadcasts. */
    int batch_rank;
    const int64_t *batch, *a_batch, *b_batch, *c_batch;
} cfx_gemm;

/* Can this product, of a complex dtype, be computed? It needs a BLAS, operands
 * that have an axis without gaps, and no biases. */
bool cfx_gemm_takes_complex(const cfx_context *ctx, const cfx_gemm *g);

/* Scratch bytes that cfx_gemm_run needs; may be 0. Never fails. */
size_t cfx_gemm_workspace(const cfx_context *ctx, const cfx_gemm *g);

/* Compute it on the threads of the context. Never fails. */
void cfx_gemm_run(cfx_context *ctx, const cfx_gemm *g, void *workspace);

/* For several products of one b, of float or double and without a batch: its
 * packed form, which serves any m. */
size_t cfx_gemm_packed_size(const cfx_context *ctx, const cfx_gemm *g);
void cfx_gemm_pack(cfx_context *ctx, const cfx_gemm *g, void *packed);

/* Matrix products on the calling thread, as parts of other work. */
size_t cfx_gemm_serial_workspace(const cfx_context *ctx, const cfx_gemm *g);
void cfx_gemm_run_serial(const cfx_context *ctx, const cfx_gemm *g,
                         void *workspace);

/* y(m, n) = x(m, k) w(n, k)^T + bias(n), everything row-major: the product
 * that a linear layer is. `bias` may be NULL. */
CFX_INLINE cfx_gemm cfx_gemm_linear(cfx_dtype dtype, int64_t m, int64_t n,
                                    int64_t k, const void *x, const void *w,
                                    const void *bias, void *y)
{
    return (cfx_gemm){.dtype = dtype,
                      .m = m,
                      .n = n,
                      .k = k,
                      .a = x,
                      .a_row = k,
                      .a_col = 1,
                      .b = w,
                      .b_row = 1,
                      .b_col = k,
                      .c = y,
                      .c_row = n,
                      .bias = bias};
}

#endif
