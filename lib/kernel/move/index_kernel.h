/*
 * index_kernel.h -- kernels that move elements by index, sort and search.
 *
 * Kernels that only move take the size of an element in bytes (1, 2, 4, 8 or 16);
 * kernels that compute take a dtype. Indices are i64 or i32 (`itype`); negative
 * ones count from the end where PyTorch lets them. An index out of range makes
 * the function return false and `*bad` the index (where not NULL); the output
 * is then undefined, but nothing outside of it was touched.
 *
 * Unless strides are given, arrays are row-major without gaps.
 */
#ifndef CFX_INDEX_H
#define CFX_INDEX_H

#include "kernel/iter.h"
#include "kernel/kernel.h"

/* y(outer, count, inner) = x(outer, n, inner) at index(count). Also the rows of
 * an embedding (outer == 1). No negative indices. */
bool cfx_kernel_index_select(cfx_context *ctx, size_t size, void *y,
                             const void *x, cfx_dtype itype, const void *index,
                             int64_t outer, int64_t n, int64_t inner,
                             int64_t count, int64_t *bad);

/*
 * gather and scatter along axis `dim`. `shape` is that of the index; y, x,
 * index and src have strides of their own over these axes. `n` is the extent
 * of the indexed tensor (x of gather, y of scatter) along dim.
 */
bool cfx_kernel_gather(cfx_context *ctx, size_t size, int rank,
                       const int64_t *shape, int dim, int64_t n, void *y,
                       const int64_t *y_stride, const void *x,
                       const int64_t *x_stride, cfx_dtype itype,
                       const void *index, const int64_t *index_stride,
                       int64_t *bad);

typedef enum cfx_scatter_op {
    CFX_SCATTER_SET,
    CFX_SCATTER_ADD,
    CFX_SCATTER_MUL,
    CFX_SCATTER_MAX,
    CFX_SCATTER_MIN
} cfx_scatter_op;

/* In the order of the index, so that the last SET wins. The caller has put the
 * old values into y. For "mean", ADD and divide by the counts (ADD of ones). A
 * src of one value has strides of 0. */
bool cfx_kernel_scatter(cfx_context *ctx, cfx_scatter_op op, cfx_dtype dtype,
                        int rank, const int64_t *shape, int dim, int64_t n,
                        void *y, const int64_t *y_stride, const void *src,
                        const int64_t *src_stride, cfx_dtype itype,
                        const void *index, const int64_t *index_stride,
                        int64_t *bad);

/*
 * x[i0, i1, ...] with several index tensors (index.Tensor, index_put). `shape`
 * is the shape of the result, in which the indices are broadcast already:
 * index k has stride 0 along axes that it does not take part in. `value` is the
 * tensor of the result (index) or the values (index_put); `base` is the indexed
 * tensor, with `base_stride` along the axes of the result that stand for axes
 * without an index, 0 along the others. Negative indices count from the end.
 */
enum { CFX_INDEX_MAX = 16 };
typedef struct cfx_indexing {
    int rank;
    int64_t shape[CFX_ITER_RANK];
    void *value;
    int64_t value_stride[CFX_ITER_RANK];
    void *base;
    int64_t base_stride[CFX_ITER_RANK];
    int count; /* of index tensors */
    struct {
        const void *data;
        cfx_dtype type;                /* CFX_I64 or CFX_I32 */
        int64_t stride[CFX_ITER_RANK]; /* over the axes of the result */
        int64_t base_stride;           /* of the axis that it indexes */
        int64_t n;                     /* its extent */
    } index[CFX_INDEX_MAX];
} cfx_indexing;

/* value = base[...] */
bool cfx_index_get(cfx_context *ctx, size_t size, const cfx_indexing *ix,
                   int64_t *bad);
/* base[...] = value, or += with `add`; in the order of the result. */
bool cfx_kernel_index_put(cfx_context *ctx, cfx_dtype dtype, bool add,
                          const cfx_indexing *ix, int64_t *bad);

/* ---- Rearranging ---- */

/* Copy the part of (batch, rows, cols) on and below (`upper`: above) the
 * diagonal number `diagonal`, with 0 elsewhere. y may be x. */
void cfx_triangle(cfx_context *ctx, size_t size, bool upper, void *y,
                  const void *x, int64_t batch, int64_t rows, int64_t cols,
                  int64_t diagonal);

/* y(n, classes), i64: 1 at index, 0 elsewhere. */
bool cfx_kernel_one_hot(cfx_context *ctx, int64_t *y, cfx_dtype itype,
                        const void *index, int64_t n, int64_t classes,
                        int64_t *bad);

/* Count the elements that are not 0, of n; and write their indices, in order,
 * to y(count, rank), i64. If the context stops, the count may be too low, and
 * nothing is written. */
int64_t cfx_nonzero_count(cfx_context *ctx, cfx_dtype dtype, const void *x,
                          int64_t n);
void cfx_kernel_nonzero(cfx_context *ctx, cfx_dtype dtype, int64_t *y,
                        const void *x, int rank, const int64_t *shape);

/* Elements of x whose mask (bool) is set, in order; how many there are is
 * cfx_nonzero_count of the mask. */
void cfx_kernel_masked_select(cfx_context *ctx, size_t size, void *y,
                              const void *x, const uint8_t *mask, int64_t n);
/* y where the mask is set = the next element of src, of which there are
 * `nsrc`. Returns false if they do not suffice. */
bool cfx_kernel_masked_scatter(cfx_context *ctx, size_t size, void *y,
                               const uint8_t *mask, const void *src,
                               int64_t nsrc, int64_t n);

/* Indices where sorted(outer, n) would take each value(outer, count), first
 * (`right`: last) of equal ones. sorted is one row for all where `shared`. */
void cfx_kernel_searchsorted(cfx_context *ctx, cfx_dtype dtype, int64_t *y,
                             const void *sorted, const void *value,
                             int64_t outer, int64_t n, int64_t count,
                             bool shared, bool right);

/* ---- Order ---- */

/*
 * Sort along the middle axis of x(outer, n, inner); equal elements stay in
 * order if `stable`, or have that of PyTorch's CPU. NaN is larger than all
 * numbers. y receives the values, index (i64) their original positions;
 * either may be NULL; y may be x. `work` has the size of cfx_sort_work.
 */
size_t cfx_sort_work(const cfx_context *ctx, cfx_dtype dtype, int64_t outer,
                     int64_t n, int64_t inner);
void cfx_kernel_sort(cfx_context *ctx, cfx_dtype dtype, bool descending,
                     bool stable, void *y, int64_t *index, const void *x,
                     int64_t outer, int64_t n, int64_t inner, void *work);

/*
 * The k largest (or smallest) along the middle axis of x(outer, n, inner), in
 * order, with their places; 0 <= k <= n. Outputs are (outer, k, inner). Equal
 * elements are taken, and ordered, as PyTorch's CPU does. `work` as above.
 */
size_t cfx_topk_work(const cfx_context *ctx, cfx_dtype dtype, int64_t outer,
                     int64_t n, int64_t inner, int64_t k);
void cfx_kernel_topk(cfx_context *ctx, cfx_dtype dtype, bool largest, void *y,
                     int64_t *index, const void *x, int64_t outer, int64_t n,
                     int64_t inner, int64_t k, void *work);

#endif
