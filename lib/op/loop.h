/*
 * loop.h -- build the kernels' iterators from tensors and values. Not
 * installed.
 */
#ifndef CFX_LOOP_H
#define CFX_LOOP_H

#include <cfx/op.h>

#include "kernel/pointwise/pointwise_kernel.h"

/* Extents or strides of a tensor as integers. */
void cfx_loop_shape(int64_t *out, const cfx_tensor *t);
void cfx_loop_strides(int64_t *out, const cfx_tensor *t);

/* Start an iterator over the extents of the output. */
void cfx_loop_out(cfx_iter *it, const cfx_tensor *out);
/* Add an input, broadcast. */
void cfx_loop_in(cfx_iter *it, const cfx_tensor *t);
/* Add an input that is a tensor or a number. */
void cfx_loop_value(cfx_iter *it, cfx_value v);

/*
 * One loop over elements, which is all that a call computes: `code` in `type` of
 * n tensors or numbers. CFX_LOOP_COPY converts one tensor.
 */
enum { CFX_LOOP_COPY = CFX_PW_COUNT };
typedef struct cfx_loop {
    int code; /* cfx_pw, or CFX_LOOP_COPY */
    cfx_dtype type;
    int n;
    cfx_value in[CFX_ITER_OPERANDS - 1];
    double params[3]; /* kernel/pointwise/pointwise_kernel.h describes them */
} cfx_loop;

/* Set the code, the type and the first n arguments, and all parameters to 0. A
 * `loop` begins with it. */
CFX_INLINE bool cfx_loop_of(const cfx_call *call, cfx_loop *out, int code,
                            cfx_dtype type, int n)
{
    out->code = code;
    out->type = type;
    out->n = n;
    out->params[0] = out->params[1] = out->params[2] = 0;
    for (int i = 0; i < n; i++)
        out->in[i] = call->in[i];
    return true;
}

/* `run` of an operator with `loop`, whose calls are all one loop. */
cfx_status cfx_loop_call(cfx_call *call);

/* Compute `code` in `type` of the first n values of `in` (tensors or numbers)
 * into the call's result. kernel/pointwise/pointwise_kernel.h describes `params`.
 * Fails for an integer division by 0. */
cfx_status cfx_loop_run(cfx_call *call, cfx_pw code, cfx_dtype type,
                        const cfx_value *in, int n, const double *params);

/* Write a number, or the elements of a tensor, to the call's result. */
cfx_status cfx_loop_fill(cfx_call *call, cfx_value v);

/* Extents as (outer, n, inner) around an axis; a tensor of rank 0 is (1, 1,
 * 1). */
typedef struct cfx_axis_split {
    int64_t outer, n, inner;
} cfx_axis_split;
cfx_axis_split cfx_loop_split(const cfx_tensor *t, int axis);

/* A contiguous temporary for a result with other strides. */
cfx_status cfx_loop_like(cfx_call *call, const cfx_tensor *y,
                         cfx_tensor **out);

/* A contiguous version of an argument, to be unref'ed; NULL after failing the
 * call. */
cfx_tensor *cfx_loop_contiguous(cfx_call *call, const cfx_tensor *t);
/* Like cfx_loop_contiguous, converted to a type. */
cfx_tensor *cfx_loop_contiguous_as(cfx_call *call, const cfx_tensor *t,
                                   cfx_dtype dtype);

#endif
