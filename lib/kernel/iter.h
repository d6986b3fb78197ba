/*
 * iter.h -- walk one output and up to four inputs of any strides together.
 *
 * An iterator is filled by the caller, on the stack: the extents of the output,
 * the output itself, then the inputs, each with its own strides. Inputs are
 * broadcast to the extents of the output as in PyTorch. Then it is handed,
 * once, to the functions of pointwise.h and reduce.h, which may change it.
 *
 *     cfx_iter it;
 *     cfx_iter_begin(&it, 2, shape);
 *     cfx_iter_out(&it, y, CFX_F32, y_stride);
 *     cfx_iter_in(&it, x, CFX_F32, 2, shape, x_stride);
 *     cfx_iter_number(&it, 0.5);
 *     cfx_pointwise(ctx, CFX_PW_MUL, CFX_F32, &it, NULL);
 *
 * Strides count elements. An operand may have any dtype: what a loop computes
 * in is chosen apart, and elements are converted on the way in and out. Strides
 * of inputs may be negative (`data` is then the first element in the order of
 * the walk). The output may be one of the inputs, element by element; it must
 * not overlap one in any other way.
 */
#ifndef CFX_ITER_H
#define CFX_ITER_H

#include <cfx/context.h>
#include <cfx/dtype.h>

enum { CFX_ITER_RANK = 16, CFX_ITER_OPERANDS = 5 };

typedef struct cfx_operand {
    char *data; /* NULL: the number below */
    cfx_dtype dtype;
    bool single; /* it has one element, whatever the iterator's extents */
    union {
        double d;
        int64_t i;
        double part[2]; /* of a complex number */
    } number;
    int64_t stride[CFX_ITER_RANK]; /* in elements, 0 where it is broadcast */
} cfx_operand;

typedef struct cfx_iter {
    int rank;
    int count; /* operands so far; operand 0 is the output */
    int64_t shape[CFX_ITER_RANK];
    cfx_operand op[CFX_ITER_OPERANDS];
} cfx_iter;

/* Begin with the extents of the output (for reductions, see reduce.h: of the
 * input). `shape` may be NULL for rank 0. */
CFX_INLINE void cfx_iter_begin(cfx_iter *it, int rank, const int64_t *shape)
{
    it->rank = rank;
    it->count = 0;
    for (int i = 0; i < rank; i++)
        it->shape[i] = shape[i];
}

/* Add an operand and give the place for its strides, one for each axis of the
 * iterator, which the caller fills. It counts as one of several elements until
 * the caller sets `single`. For those who keep extents in another form; others
 * use the functions below. */
CFX_INLINE int64_t *cfx_iter_add(cfx_iter *it, const void *data,
                                 cfx_dtype dtype)
{
    cfx_operand *op = &it->op[it->count++];

    op->data = (char *)(uintptr_t)data;
    op->dtype = dtype;
    op->single = !data;
    return op->stride;
}

/* The output; `stride` NULL: row-major. Must be added first. */
void cfx_iter_out(cfx_iter *it, void *data, cfx_dtype dtype,
                  const int64_t *stride);

/* An input of its own rank and extents, broadcast to those of the iterator,
 * with which they must agree; `stride` NULL: row-major. */
void cfx_iter_in(cfx_iter *it, const void *data, cfx_dtype dtype, int rank,
                 const int64_t *shape, const int64_t *stride);

/* An input that is one number, of type f64, i64 or c128; converted like
 * others. */
void cfx_iter_number(cfx_iter *it, double v);
void cfx_iter_integer(cfx_iter *it, int64_t v);
void cfx_iter_complex(cfx_iter *it, double re, double im);

/* The product of the extents. */
CFX_INLINE int64_t cfx_iter_numel(const cfx_iter *it)
{
    int64_t n = 1;

    for (int i = 0; i < it->rank; i++)
        n *= it->shape[i];
    return n;
}

/* ---- For the drivers in this folder ---- */

/*
 * Drop axes of extent 1, order axes by the strides of operand `key` (0: the
 * output; ties by those of the others), and join neighbours that every operand
 * walks in one go. Axis 0 is then the *innermost*. What is left is at least
 * one axis; operands that are numbers have a place in memory.
 */
void cfx_iter_coalesce(cfx_iter *it, int key);

/* A place in a coalesced iterator. */
typedef struct cfx_place {
    int64_t at[CFX_ITER_RANK];
} cfx_place;

/* `n` elements on, in the order of the walk. */
CFX_INLINE void cfx_place_advance(cfx_place *p, const cfx_iter *it, int64_t n)
{
    p->at[0] += n;
    for (int i = 0; p->at[i] >= it->shape[i] && i + 1 < it->rank; i++) {
        int64_t carry = p->at[i] / it->shape[i];

        p->at[i] -= carry * it->shape[i];
        p->at[i + 1] += carry;
    }
}

/* The place of element `n` in the order of the walk. */
CFX_INLINE void cfx_place_seek(cfx_place *p, const cfx_iter *it, int64_t n)
{
    p->at[0] = 0;
    for (int i = 1; i < it->rank; i++)
        p->at[i] = 0;
    if (n)
        cfx_place_advance(p, it, n);
}

CFX_INLINE char *cfx_operand_at(const cfx_operand *op, const cfx_iter *it,
                                const cfx_place *p)
{
    int64_t offset = 0;

    for (int i = 0; i < it->rank; i++)
        offset += p->at[i] * op->stride[i];
    return op->data + offset * (int64_t)cfx_dtype_size(op->dtype);
}

#endif
