/*
 * fft -- the three transforms of ATen: complex to complex, real to complex,
 * complex to real.
 *
 * shape   that of the argument; of real numbers half of the last axis, n / 2 +
 *         1, may do, from which a real result is made again.
 * cost    5 n log2(n) steps for each row of n numbers along each axis, n being
 *         a number; rows whose length is a symbol are not counted.
 *
 * Strides are those of PyTorch's MKL.
 */
#include <math.h>
#include <string.h>

#include "kernel/fft/fft_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"

CFX_PARAMS(params, SELF, DIM, NORMALIZATION, FORWARD, ONESIDED, LAST_DIM_SIZE);

enum { C2C, R2C, C2R };

/* The state of a call. */
struct transform {
    int n; /* axes that are transformed */
    int axis[CFX_MAX_RANK];
    cfx_dim shape[CFX_MAX_RANK]; /* of the result */
    cfx_dim whole;               /* extent of the last axis when complete */
};

/* ---- Strides ---- */

/* By the strides, the largest first; equal ones stay in order. */
static void sort_axes(cfx_shape_env *env, int *axis, int n,
                      const cfx_dim *stride)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0; k--) {
            cfx_dim a = stride[axis[k - 1]], b = stride[axis[k]];
            if (cfx_dim_same(a, b) || !cfx_dim_known_le(env, a, b))
                break;
            int t = axis[k];
            axis[k] = axis[k - 1];
            axis[k - 1] = t;
        }
}

/* The axes of the batch, sorted, and then those of the transform, in order, are
 * those of the result from the outermost to the innermost. */
static void result_strides(cfx_shape_env *env, int rank, const int *axis,
                           int n, const cfx_dim *shape, cfx_dim *stride)
{
    int order[CFX_MAX_RANK], batch = 0;
    cfx_dim step = cfx_dim_int(1);
    for (int i = 0; i < rank; i++) {
        bool transformed = false;
        for (int k = 0; k < n; k++)
            transformed |= axis[k] == i;
        if (!transformed)
            order[batch++] = i;
    }
    sort_axes(env, order, batch, stride);
    memcpy(order + batch, axis, (size_t)n * sizeof(*order));
    for (int i = rank - 1; i >= 0; i--) {
        stride[order[i]] = step;
        step = cfx_dim_mul(env, step, shape[order[i]]);
    }
}

/* A real result is made along the last axis alone, after complex ones along
 * the others. */
static void find_strides(cfx_call *call, struct transform *f, cfx_dim *stride)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int code = call->op->code, sorted[CFX_MAX_RANK], n = f->n;
    memcpy(stride, x->stride, (size_t)x->rank * sizeof(*stride));
    memcpy(sorted, f->axis, (size_t)n * sizeof(*sorted));
    sort_axes(call->env, sorted, code == C2C ? n : n - 1, stride);
    if (code != C2R) {
        result_strides(call->env, x->rank, sorted, n, f->shape, stride);
        return;
    }
    if (n > 1)
        result_strides(call->env, x->rank, sorted, n - 1, x->shape, stride);
    result_strides(call->env, x->rank, sorted + n - 1, 1, f->shape, stride);
}

/* ---- Shape ---- */

static cfx_status read_axes(cfx_call *call, struct transform *f)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    uint32_t seen = 0;
    f->n = cfx_call_len(call, DIM);
    if (f->n > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_EINVAL, "%d axes are too many", f->n);
    for (int i = 0; i < f->n; i++) {
        cfx_status st = cfx_call_axis(call, cfx_call_item(call, DIM, i).u.i,
                                      x->rank, &f->axis[i]);
        if (!st && (!x->rank || seen >> f->axis[i] & 1))
            st = cfx_call_fail(call, CFX_EINVAL, "FFT dims must be unique");
        if (st)
            return st;
        seen |= 1u << f->axis[i];
    }
    return CFX_OK;
}

static cfx_status check_type(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    bool fits = call->op->code == R2C ? type == CFX_F32 || type == CFX_F64
                                      : cfx_dtype_is_complex(type);
    return fits ? CFX_OK : cfx_infer_refuse(call, type);
}

static cfx_status check_extents(cfx_call *call, const struct transform *f)
{
    for (int i = 0; i < f->n; i++)
        if (!cfx_dim_le(call->env, cfx_dim_int(1), f->shape[f->axis[i]]) ||
            !cfx_dim_le(call->env, cfx_dim_int(1), f->whole))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "axis %d has no number of data points that can be transformed",
                f->axis[i]);
    return CFX_OK;
}

static cfx_dtype result_type(const cfx_call *call, cfx_dtype own)
{
    return call->op->code == C2C   ? own
           : call->op->code == C2R ? cfx_dtype_real(own)
           : own == CFX_F64        ? CFX_C128
                                   : CFX_C64;
}

/* The half of a spectrum that the rest follows from. */
static cfx_dim half(cfx_shape_env *env, cfx_dim n)
{
    return cfx_dim_add(env, cfx_dim_floordiv(env, n, cfx_dim_int(2)),
                       cfx_dim_int(1));
}

static cfx_status transform_infer(cfx_call *call)
{
    struct transform *f = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim stride[CFX_MAX_RANK];
    int code = call->op->code;
    cfx_status st = check_type(call);
    if (!st)
        st = read_axes(call, f);
    if (!st && !f->n && code != C2C)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "must transform at least one axis");
    if (st)
        return st;
    int last = f->n ? f->axis[f->n - 1] : 0;
    memcpy(f->shape, x->shape, (size_t)x->rank * sizeof(*f->shape));
    f->whole = f->n ? x->shape[last] : cfx_dim_int(1);
    if (code == C2R)
        f->whole = f->shape[last] = cfx_value_dim(
            cfx_call_value(call, LAST_DIM_SIZE));
    if (code == R2C && cfx_call_bool(call, ONESIDED))
        f->shape[last] = half(call->env, f->whole);
    st = check_extents(call, f);
    if (!st && code == C2R &&
        !cfx_dim_le(call->env, half(call->env, f->whole), x->shape[last]))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "axis %d has too few numbers for the result", last);
    if (st)
        return st;
    find_strides(call, f, stride);
    return cfx_call_out_strided(call, result_type(call, (cfx_dtype)x->dtype),
                                x->rank, f->shape, stride);
}

/* The length of transform i. */
static cfx_dim length_of(const cfx_call *call, int i)
{
    const struct transform *f = call->state;
    return i == f->n - 1 ? f->whole
                         : cfx_call_tensor(call, SELF)->shape[f->axis[i]];
}

static void transform_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct transform *f = call->state;
    cfx_dim all = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    for (int i = 0; i < f->n; i++) {
        cfx_dim n = length_of(call, i);
        double steps = cfx_dim_is_int(n)
                           ? ceil(5 * log2((double)cfx_dim_value(n)))
                           : 0;
        cost->ops = cfx_dim_add(
            call->env, cost->ops,
            cfx_dim_mul(call->env, all, cfx_dim_int((int64_t)steps)));
    }
}

/* ---- Running ---- */

/* Transform k of n, in the order in which they are computed: along the last axis
 * first if the argument is real, along the others first if the result is. */
static cfx_fft transform_at(const cfx_call *call, int k, const cfx_tensor *x,
                            const cfx_tensor *y)
{
    const struct transform *f = call->state;
    int code = call->op->code, last = f->n - 1;
    int i = code != R2C ? k : k ? k - 1 : last;
    cfx_axis_split in = cfx_loop_split(x, f->axis[i]);
    return (cfx_fft){
        .dtype = cfx_dtype_real((cfx_dtype)x->dtype),
        .kind = code == R2C && i == last   ? CFX_FFT_FROM_REAL
                : code == C2R && i == last ? CFX_FFT_TO_REAL
                                           : CFX_FFT_COMPLEX,
        .forward = code == R2C ||
                   (code == C2C && cfx_call_bool(call, FORWARD)),
        .n = cfx_dim_value(length_of(call, i)),
        .outer = in.outer,
        .inner = in.inner,
        .from = in.n,
        .to = cfx_loop_split(y, f->axis[i]).n,
        .x = x->data,
        .y = y->data,
        .scale = 1,
    };
}

/* The tensors of transform k: results of one are the argument of the next, and
 * all but real ones have the result's place. */
static cfx_fft between(const cfx_call *call, int k, const cfx_tensor *x,
                       const cfx_tensor *part, const cfx_tensor *y)
{
    const struct transform *f = call->state;
    bool real = call->op->code == C2R;
    const cfx_tensor *own = real && f->n > 1 ? part : y;
    return transform_at(call, k, k ? own : x, real && k == f->n - 1 ? y : own);
}

static size_t transform_workspace(const cfx_call *call)
{
    const struct transform *f = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    size_t most = 0;
    for (int k = 0; k < f->n; k++) {
        cfx_fft t = between(call, k, x, x, call->out[0]);
        size_t one = cfx_fft_workspace(call->ctx, &t);
        most = one > most ? one : most;
    }
    return most;
}

static double scale_of(const cfx_call *call)
{
    const struct transform *f = call->state;
    int64_t mode = cfx_call_int(call, NORMALIZATION);
    double all = 1;
    for (int i = 0; i < f->n; i++)
        all *= (double)cfx_dim_value(length_of(call, i));
    /* As in PyTorch, any mode but 0 and 1 is 2. */
    return mode == 0 ? 1 : mode == 1 ? 1 / sqrt(all) : 1 / all;
}

static cfx_status transform_run(cfx_call *call)
{
    const struct transform *f = call->state;
    cfx_tensor *out = call->out[0], *y = NULL, *part = NULL;
    if (cfx_infer_is_empty(out))
        return CFX_OK;
    if (!f->n)
        return cfx_tensor_copy(out, cfx_call_tensor(call, SELF), call->err);
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    cfx_status st = x ? CFX_OK : CFX_ENOMEM;
    if (!st && cfx_tensor_is_contiguous(out))
        y = cfx_tensor_ref(out);
    else if (!st)
        st = cfx_loop_like(call, out, &y);
    if (!st && call->op->code == C2R && f->n > 1)
        st = cfx_loop_like(call, x, &part);
    for (int k = 0; !st && k < f->n; k++) {
        cfx_fft t = between(call, k, x, part, y);
        if (k == f->n - 1)
            t.scale = scale_of(call);
        cfx_fft_run(call->ctx, &t, call->work);
    }
    if (!st && y != out)
        st = cfx_tensor_copy(out, y, call->err);
    cfx_tensor_unref(part);
    cfx_tensor_unref(y);
    cfx_tensor_unref(x);
    return st;
}

#define TRANSFORM(name, code_, rest, doc_)                                    \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, int[] dim, int normalization, " rest   \
                        ") -> Tensor",                                        \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .code = code_,                                                        \
        .state_size = sizeof(struct transform),                               \
        .infer = transform_infer,                                             \
        .cost = transform_cost,                                               \
        .workspace = transform_workspace,                                     \
        .run = transform_run,                                                 \
    };

TRANSFORM(_fft_c2c, C2C, "bool forward",
          "The Fourier transform of complex numbers.")
TRANSFORM(_fft_r2c, R2C, "bool onesided",
          "The Fourier transform of real numbers.")
TRANSFORM(_fft_c2r, C2R, "SymInt last_dim_size",
          "The real numbers whose Fourier transform is given.")
