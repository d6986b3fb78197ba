/*
 * triangle -- diagonals and what lies on either side of them.
 *
 * shape   tril, triu: that of the argument. diag and its kin: a matrix for a
 *         vector, and the other way.
 * cost    no arithmetic.
 */
#include "base/stop.h"
#include "kernel/move/index_kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/infer.h"
#include "op/loop.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, DIAGONAL, OFFSET, ROW, COL, DIM1, DIM2, DTYPE, LAYOUT,
           DEVICE, PIN_MEMORY);

/* ---- tril, triu ---- */

static cfx_status triangle_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (x->rank < 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input tensor must have at least 2 dimensions");
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

static cfx_status triangle_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t rows = cfx_tensor_size(y, y->rank - 2);
    int64_t cols = cfx_tensor_size(y, y->rank - 1);
    int64_t n = cfx_tensor_numel(y), k = cfx_call_int(call, DIAGONAL);
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!x)
        return CFX_ENOMEM;
    /* Far from the matrix one diagonal is as good as another. */
    k = k > cols ? cols : k < -rows ? -rows : k;
    if (n)
        cfx_triangle(call->ctx, cfx_dtype_size((cfx_dtype)y->dtype),
                     call->op->code, y->data, x->data, n / rows / cols, rows,
                     cols, k);
    cfx_tensor_unref(x);
    return CFX_OK;
}

#define TRIANGLE(name, code_, doc_)                                           \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, SymInt diagonal=0) -> Tensor",         \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_INPLACE | CFX_OP_COMPLEX,                             \
        .code = code_,                                                        \
        .infer = triangle_infer,                                              \
        .run = triangle_run,                                                  \
    };

TRIANGLE(tril, 0, "What lies on and below a diagonal, 0 elsewhere.")
TRIANGLE(triu, 1, "What lies on and above a diagonal, 0 elsewhere.")

/* ---- The places of a triangle ---- */

static cfx_status check_area(cfx_call *call, int64_t rows, int64_t cols)
{
    if (rows < 0 || cols < 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "row and col must be non-negative, got %lld and %lld",
            (long long)rows, (long long)cols);
    if (rows > INT32_MAX || cols > INT32_MAX)
        return cfx_call_fail(call, CFX_EINVAL,
                             "%lld rows and %lld columns are too many",
                             (long long)rows, (long long)cols);
    return CFX_OK;
}

/* The columns of a row that belong to it. */
static void row_range(bool upper, int64_t row, int64_t cols, int64_t offset,
                      int64_t *from, int64_t *to)
{
    int64_t limit = row + offset + !upper;
    limit = limit < 0 ? 0 : limit > cols ? cols : limit;
    *from = upper ? limit : 0;
    *to = upper ? cols : limit;
}

/* Far from the matrix one diagonal is as good as another. */
static int64_t near_offset(int64_t offset, int64_t rows, int64_t cols)
{
    return offset > cols ? cols : offset < -rows - 1 ? -rows - 1 : offset;
}

static int64_t within(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Places on and below a diagonal: rows without any, rows of 1, 2, ... more than
 * the one before, rows that are full. All are less than 2^62. */
static int64_t count_lower(int64_t rows, int64_t cols, int64_t offset)
{
    int64_t first = within(-offset, 0, rows);
    int64_t full = within(cols - offset - 1, first, rows);
    int64_t n = full - first;
    return n * (first + offset + 1) + n * (n - 1) / 2 + (rows - full) * cols;
}

static cfx_status indices_infer(cfx_call *call)
{
    int64_t rows = cfx_call_int(call, ROW), cols = cfx_call_int(call, COL);
    cfx_status st = check_area(call, rows, cols);
    if (st)
        return st;
    int64_t offset = near_offset(cfx_call_int(call, OFFSET), rows, cols);
    bool upper = call->op->code;
    int64_t count = count_lower(rows, cols, offset - upper);
    count = upper ? rows * cols - count : count;
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(count)};
    return cfx_call_out(call, cfx_call_dtype(call, DTYPE, CFX_I64), 2, shape);
}

static cfx_status indices_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t rows = cfx_call_int(call, ROW), cols = cfx_call_int(call, COL);
    int64_t offset = near_offset(cfx_call_int(call, OFFSET), rows, cols);
    int64_t n = cfx_tensor_size(y, 1), at = 0, from, to;
    cfx_dtype type = (cfx_dtype)y->dtype;
    size_t size = cfx_dtype_size(type);
    char *p = y->data;
    int64_t first = call->op->code ? 0 : within(-offset, 0, rows);
    for (int64_t i = first; at < n && !cfx_context_stops(call->ctx); i++) {
        row_range(call->op->code, i, cols, offset, &from, &to);
        for (int64_t j = from; j < to; j++, at++) {
            cfx_element_set_int(type, p + (size_t)at * size, i);
            cfx_element_set_int(type, p + (size_t)(n + at) * size, j);
        }
    }
    return CFX_OK;
}

#define INDICES(name, code_, doc_)                                            \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name                                                       \
        "(int row, int col, int offset=0, *, ScalarType? "                    \
        "dtype=None, Layout? layout=None, Device? device=None, "              \
        "bool? pin_memory=None) -> Tensor",                                   \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = indices_infer,                                               \
        .run = indices_run,                                                   \
    };

INDICES(tril_indices, 0, "The places on and below a diagonal.")
INDICES(triu_indices, 1, "The places on and above a diagonal.")

/* ---- From vectors to matrices and back ---- */

/* A matrix of rows and columns `n` more than the last extent, in place of
 * which two axes come. */
static cfx_status embed_out(cfx_call *call, const cfx_view *rest, int64_t n,
                            cfx_dim length, int a, int b)
{
    cfx_dim shape[CFX_MAX_RANK];
    cfx_dim side = cfx_dim_add(call->env, length, cfx_dim_int(n < 0 ? -n : n));
    int rank = rest->rank + 2, at = 0;
    for (int i = 0; i < rank; i++)
        shape[i] = i == a || i == b ? side : rest->shape[at++];
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    return cfx_call_out(call, type, rank, shape);
}

static cfx_status check_offset(cfx_call *call, int64_t offset)
{
    return offset > CFX_DIM_MAX || offset < -CFX_DIM_MAX
               ? cfx_call_fail(call, CFX_EINVAL, "offset %lld is too large",
                               (long long)offset)
               : CFX_OK;
}

static cfx_status diag_embed_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int a, b;
    cfx_view v;
    cfx_status st = check_offset(call, cfx_call_int(call, OFFSET));
    if (!st && (!x->rank || x->rank == CFX_MAX_RANK))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "input must have 1 to %d dimensions",
                           CFX_MAX_RANK - 1);
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, DIM1), x->rank + 1, &a);
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, DIM2), x->rank + 1, &b);
    if (!st && a == b)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "diagonal dimensions cannot be identical %d, %d", a,
                           b);
    if (st)
        return st;
    cfx_view_begin(&v, x);
    v.rank--;
    return embed_out(call, &v, cfx_call_int(call, OFFSET),
                     x->shape[x->rank - 1], a, b);
}

/* Zeros, and x along a diagonal of two axes. */
static cfx_status put_diagonal(cfx_call *call, const cfx_view *from,
                               int64_t dim1, int64_t dim2)
{
    const cfx_tensor *y = call->out[0];
    cfx_view to;
    cfx_iter it;
    cfx_loop_out(&it, y);
    cfx_iter_integer(&it, 0);
    cfx_copy(call->ctx, &it);
    cfx_view_begin(&to, y);
    int k = cfx_call_place(call, OFFSET) >= 0 ? OFFSET : DIAGONAL;
    cfx_dim offset = cfx_value_dim(cfx_call_value(call, k));
    cfx_status st = cfx_view_diagonal(call, &to, offset, dim1, dim2);
    if (!st)
        cfx_view_assign(call->ctx, y, &to, cfx_call_tensor(call, SELF), from);
    return st;
}

static cfx_status diag_embed_run(cfx_call *call)
{
    cfx_view from;
    cfx_view_begin(&from, cfx_call_tensor(call, SELF));
    return put_diagonal(call, &from, cfx_call_int(call, DIM1),
                        cfx_call_int(call, DIM2));
}

const cfx_op cfx_op__diag_embed = {
    .schema =
        "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Matrices with the last axis on a diagonal, 0 elsewhere.",
    .flags = CFX_OP_COMPLEX,
    .infer = diag_embed_infer,
    .run = diag_embed_run,
};

/* The diagonal of a matrix, copied. */
static cfx_status diag_view(cfx_call *call, cfx_view *v)
{
    cfx_view_begin(v, cfx_call_tensor(call, SELF));
    cfx_dim offset = cfx_value_dim(cfx_call_value(call, DIAGONAL));
    return cfx_view_diagonal(call, v, offset, 0, 1);
}

static cfx_status diag_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_view v = {0};
    cfx_status st = check_offset(call, cfx_call_int(call, DIAGONAL));
    if (st)
        return st;
    if (x->rank == 1)
        return embed_out(call, &v, cfx_call_int(call, DIAGONAL), x->shape[0],
                         0, 1);
    if (x->rank != 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Supports 1D or 2D tensors. Got %dD", x->rank);
    st = diag_view(call, &v);
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, 1, v.shape);
}

static cfx_status diag_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_view from, to;
    cfx_view_begin(&from, x);
    if (x->rank == 1)
        return put_diagonal(call, &from, 0, 1);
    cfx_view_begin(&to, call->out[0]);
    cfx_status st = diag_view(call, &from);
    if (!st)
        cfx_view_assign(call->ctx, call->out[0], &to, x, &from);
    return st;
}

const cfx_op cfx_op__diag = {
    .schema = "diag(Tensor self, int diagonal=0) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "A matrix with a vector on a diagonal, or the diagonal of one.",
    .flags = CFX_OP_COMPLEX,
    .infer = diag_infer,
    .run = diag_run,
};

static cfx_status diagflat_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_view none = {0};
    cfx_status st = check_offset(call, cfx_call_int(call, OFFSET));
    return st ? st
              : embed_out(call, &none, cfx_call_int(call, OFFSET),
                          cfx_infer_numel(call->env, x->rank, x->shape), 0, 1);
}

static cfx_status diagflat_run(cfx_call *call)
{
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!x)
        return CFX_ENOMEM;
    cfx_view from = {.rank = 1, .offset = x->offset};
    from.shape[0] = cfx_dim_int(cfx_tensor_numel(x));
    from.stride[0] = cfx_dim_int(1);
    const cfx_value *own = call->in;
    cfx_value in[] = {cfx_value_of_tensor(x), own[1]};
    call->in = in;
    cfx_status st = put_diagonal(call, &from, 0, 1);
    call->in = own;
    cfx_tensor_unref(x);
    return st;
}

const cfx_op cfx_op__diagflat = {
    .schema = "diagflat(Tensor self, int offset=0) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "A matrix with all elements on a diagonal.",
    .flags = CFX_OP_COMPLEX,
    .infer = diagflat_infer,
    .run = diagflat_run,
};
