/*
 * gemm_core.h -- blocked matrix products, for gemm, convolutions and
 * attention.
 *
 * A product is cut into blocks of at most CFX_GEMM_KC steps of k. Within one,
 * the operand a is packed as panels of `mr` rows and b as panels of `nr`
 * columns:
 *
 *     a panel   [mr][CFX_GEMM_A_ROW], each row its k numbers side by side; the
 *               rows are that far apart so that they begin in different sets
 *               of the first cache, and so that the distance is a constant
 *     b panel   [k][nr], columns past the matrix 0
 *
 * A panel of one of them stays in a cache while panels of the other pass by.
 */
#ifndef CFX_KERNEL_GEMM_CORE_H
#define CFX_KERNEL_GEMM_CORE_H

#include "kernel/kernel.h"

enum { CFX_GEMM_KC = 256, CFX_GEMM_A_ROW = CFX_GEMM_KC + 16 };

/* One panel of a times several panels of b: m <= mr rows, any n columns. */
typedef struct cfx_gemm_rows {
    int64_t m, n, k;
    const void *a;
    const void *b;   /* the first panel */
    int64_t b_row;   /* from one step of k to the next: nr if packed */
    int64_t b_panel; /* from one panel to the next: k * nr if packed */
    void *c;
    int64_t c_row;
    bool add;             /* to what c holds; else begin with the biases */
    const void *row_bias; /* m values or NULL */
    const void *bias;     /* n values or NULL */
} cfx_gemm_rows;

/* Products of rows: c[i * c_row + j * c_col] (+)= x row i . w row j, for
 * i < m <= CFX_GEMM_DOT and all j < n, where all rows are without gaps. */
enum { CFX_GEMM_DOT = 8 };

typedef struct cfx_gemm_dot {
    int64_t m, n, k;
    const void *x;
    int64_t x_row;
    const void *w;
    int64_t w_row;
    void *c;
    int64_t c_row, c_col;
    bool add;
} cfx_gemm_dot;

/* The kernels of one type. */
typedef struct cfx_gemm_type {
    int mr, nr, lanes;
    int dot;  /* the most rows x that `dot` takes well */
    int blas; /* rows and columns of c from which it is the BLAS's; 0: never */
    void (*rows)(const cfx_gemm_rows *r);
    void (*dot_rows)(const cfx_gemm_dot *d);
    /* y[j] (+)= sum of x[i * x_stride] b[i * b_row + j]; j < n, any n. */
    void (*axpy_rows)(int64_t k, int64_t n, const void *x, int64_t x_stride,
                      const void *b, int64_t b_row, void *y, bool add);
    /* dst[i * dst_row + j] = src[i * src_row + j], i < rows, j < cols; asks
     * for the next rows of src to be brought near. */
    void (*copy)(void *dst, int64_t dst_row, const void *src, int64_t src_row,
                 int64_t rows, int64_t cols);
} cfx_gemm_type;

struct cfx_gemm_kernels {
    cfx_gemm_type f32, f64;
};

/* ---- The blocked product ---- */

typedef struct cfx_gemm_core cfx_gemm_core;

/*
 * c(m, n) = a b, the operands being whatever the pack functions make of
 * `user`: pack_a writes rows i0..i0+in (at most mr) of steps k0..k0+kn as one
 * panel of a, pack_b columns j0..j0+jn as panels of b, which it fills up with
 * zeros. They are called from several threads.
 */
struct cfx_gemm_core {
    const cfx_context *ctx; /* asked whether to stop */
    const cfx_gemm_type *type;
    size_t size; /* of an element: 4 or 8 */
    int64_t m, n, k;
    int64_t nr; /* columns of a panel of b, whole vectors; 0: as of the type */
    void (*pack_a)(const cfx_gemm_core *g, void *panel, int64_t k0, int64_t kn,
                   int64_t i0, int64_t in);
    void (*pack_b)(const cfx_gemm_core *g, void *panels, int64_t k0,
                   int64_t kn, int64_t j0, int64_t jn);
    const void *packed; /* b, all of it, by cfx_gemm_core_pack; or NULL */
    const void *b; /* or b as it is, whole vectors of columns side by side,
                           for n <= m; or NULL */
    int64_t b_row; /* from one row of it to the next */
    const void *user;
    const void *row_bias, *bias; /* m and n values, or NULL */
    void *c;
    int64_t c_row;
    bool add; /* to what c holds; there are no biases then */
    /* If not NULL, c is not written; this receives each finished block: x[i *
     * x_row + j] is c[i0 + i][j0 + j]. */
    void (*emit)(const cfx_gemm_core *g, const void *x, int64_t x_row,
                 int64_t i0, int64_t in, int64_t j0, int64_t jn);
};

CFX_INLINE int64_t cfx_gemm_core_nr(const cfx_gemm_core *g)
{
    return g->nr ? g->nr : g->type->nr;
}

/* Scratch bytes for a product done by `threads` threads; of `g` only ctx,
 * type, size, m, n, k, nr and whether packed and emit are NULL are looked at. */
size_t cfx_gemm_core_workspace(const cfx_gemm_core *g, int threads);

/* For products that share b: all of it as panels, for `packed` of each. It goes
 * with any m; there must be no emit then. */
size_t cfx_gemm_core_packed_size(const cfx_gemm_core *g);
void cfx_gemm_core_pack(cfx_context *ctx, const cfx_gemm_core *g,
                        void *packed);

/* Compute the product on the threads of the context, or, if ctx is NULL, on
 * this one, with as many workspaces in `work`. */
void cfx_gemm_core_run(cfx_context *ctx, const cfx_gemm_core *g, void *work);

/* Round up to what keeps the parts of a workspace apart in the caches. */
CFX_INLINE size_t cfx_gemm_align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

#endif
