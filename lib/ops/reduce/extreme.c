/*
 * extreme -- largest and smallest elements, and where they are; running sums.
 *
 * shape   along an axis: the argument's without it; scans: the argument's.
 * cost    comparisons are free; scans of n elements n - 1 steps.
 *
 * NaN is larger and smaller than all else; of equal elements the first counts.
 */
#include "kernel/move/index_kernel.h"
#include "kernel/reduce/reduce_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

enum { MAX, MIN, ARG = 2 };

CFX_PARAMS(params, SELF, OTHER, DIM, KEEPDIM, DTYPE, K, LARGEST, SORTED,
           DESCENDING, STABLE);

/* The state of a call that goes along one axis. */
struct along {
    int axis;
};

static cfx_status read_axis(cfx_call *call)
{
    struct along *a = call->state;
    return cfx_call_axis(call, cfx_call_int(call, DIM),
                         cfx_call_tensor(call, SELF)->rank, &a->axis);
}

/* A row-major tensor of the call's shape as rows along the axis. */
static cfx_axis_split split(const cfx_call *call, const cfx_tensor *t)
{
    const struct along *a = call->state;
    return cfx_loop_split(t, a->axis);
}

static cfx_status check_extent(cfx_call *call, const cfx_tensor *x, int axis)
{
    if (x->rank && cfx_dim_is(x->shape[axis], 0))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected reduction dim %d to have non-zero size.", axis);
    return CFX_OK;
}

/* ---- max and min of everything ---- */

static cfx_status all_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    for (int i = 0; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected reduction dim to be specified for input.numel() == 0.");
    return cfx_call_out(call, (cfx_dtype)x->dtype, 0, NULL);
}

static cfx_status all_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    int64_t shape[CFX_MAX_RANK];
    cfx_iter it;
    cfx_loop_shape(shape, x);
    cfx_iter_begin(&it, x->rank, shape);
    int64_t *stride = cfx_iter_add(&it, y->data, (cfx_dtype)y->dtype);
    for (int i = 0; i < x->rank; i++)
        stride[i] = 0;
    cfx_loop_in(&it, x);
    cfx_reduce(call->ctx, call->op->code == MAX ? CFX_RED_MAX : CFX_RED_MIN,
               (cfx_dtype)x->dtype, &it, 0);
    return CFX_OK;
}

/* ---- Along an axis, with places ---- */

static cfx_status dim_shape(cfx_call *call, int *rank, cfx_dim *shape)
{
    const struct along *a = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = read_axis(call);
    if (!st)
        st = check_extent(call, x, a->axis);
    if (!st)
        *rank = cfx_infer_reduced(x, 1u << a->axis,
                                  cfx_call_bool(call, KEEPDIM), shape);
    return st;
}

static cfx_status dim_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_status st = dim_shape(call, &rank, shape);
    if (!st)
        st = cfx_call_out(call, (cfx_dtype)cfx_call_tensor(call, SELF)->dtype,
                          rank, shape);
    return st ? st : cfx_call_out(call, CFX_I64, rank, shape);
}

static cfx_status dim_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_tensor *in = cfx_loop_contiguous(call, x);
    bool arg = call->op->code & ARG;
    if (!in)
        return CFX_ENOMEM;
    cfx_axis_split s = split(call, in);
    cfx_kernel_argmax(call->ctx, (cfx_dtype)x->dtype, call->op->code & MIN,
                      call->out[arg ? 0 : 1]->data,
                      arg ? NULL : call->out[0]->data, in->data, s.outer, s.n,
                      s.inner);
    cfx_tensor_unref(in);
    return CFX_OK;
}

#define EXTREME(name, code_, doc_)                                            \
    static cfx_status name##_other_infer(cfx_call *call)                      \
    {                                                                         \
        return cfx_infer_pointwise(call, 0, 2, cfx_infer_type(call, 0, 2));   \
    }                                                                         \
    static cfx_status name##_other_run(cfx_call *call)                        \
    {                                                                         \
        cfx_iter it;                                                          \
        cfx_loop_out(&it, call->out[0]);                                      \
        cfx_loop_in(&it, cfx_call_tensor(call, SELF));                        \
        cfx_loop_in(&it, cfx_call_tensor(call, OTHER));                       \
        cfx_pointwise(call->ctx,                                              \
                      code_ == MAX ? CFX_PW_MAXIMUM : CFX_PW_MINIMUM,         \
                      (cfx_dtype)call->out[0]->dtype, &it, NULL);             \
        return CFX_OK;                                                        \
    }                                                                         \
    static const cfx_op name##_other = {                                      \
        .schema = #name ".other(Tensor self, Tensor other) -> Tensor",        \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_ " of each pair.",                                         \
        .flags = CFX_OP_POINTWISE | CFX_OP_COMMUTES,                          \
        .infer = name##_other_infer,                                          \
        .run = name##_other_run,                                              \
    };                                                                        \
    static const cfx_op name##_dim = {                                        \
        .schema = #name ".dim(Tensor self, int dim, bool keepdim=False) -> "  \
                        "(Tensor values, Tensor indices)",                    \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_ " along an axis, and where it is.",                       \
        .code = code_,                                                        \
        .state_size = sizeof(struct along),                                   \
        .infer = dim_infer,                                                   \
        .run = dim_run,                                                       \
        .next = &name##_other,                                                \
    };                                                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_ " of all.",                                               \
        .code = code_,                                                        \
        .infer = all_infer,                                                   \
        .run = all_run,                                                       \
        .next = &name##_dim,                                                  \
    };

EXTREME(max, MAX, "The largest element")
EXTREME(min, MIN, "The smallest element")

/* ---- argmax ---- */

/* dim=None takes the tensor as one row. */
static cfx_status arg_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    int rank = 0;
    if (x->dtype == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    if (cfx_call_has(call, DIM)) {
        cfx_status st = dim_shape(call, &rank, shape);
        return st ? st : cfx_call_out(call, CFX_I64, rank, shape);
    }
    for (int i = 0; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected reduction dim to be specified for input.numel() == 0.");
    for (int i = 0; cfx_call_bool(call, KEEPDIM) && i < x->rank; i++)
        shape[rank++] = cfx_dim_int(1);
    return cfx_call_out(call, CFX_I64, rank, shape);
}

static cfx_status arg_run(cfx_call *call)
{
    if (cfx_call_has(call, DIM))
        return dim_run(call);
    cfx_tensor *in = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!in)
        return CFX_ENOMEM;
    cfx_kernel_argmax(call->ctx, (cfx_dtype)in->dtype, call->op->code & MIN,
                      call->out[0]->data, NULL, in->data, 1,
                      cfx_tensor_numel(in), 1);
    cfx_tensor_unref(in);
    return CFX_OK;
}

#define ARG_EXTREME(name, code_, doc_)                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, int? dim=None, bool keepdim=False) "   \
                        "-> Tensor",                                          \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .code = code_ | ARG,                                                  \
        .state_size = sizeof(struct along),                                   \
        .infer = arg_infer,                                                   \
        .run = arg_run,                                                       \
    };

ARG_EXTREME(argmax, MAX, "Where the largest element is.")
ARG_EXTREME(argmin, MIN, "Where the smallest element is.")

/* ---- Scans ---- */

static cfx_status scan_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype own = cfx_dtypes[x->dtype].category >= CFX_CAT_FLOAT
                        ? (cfx_dtype)x->dtype
                        : CFX_I64;
    cfx_dtype type = cfx_call_dtype(call, DTYPE, own);
    cfx_status st = read_axis(call);
    return st ? st : cfx_call_out(call, type, x->rank, x->shape);
}

static void scan_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *y = call->out[0];
    const struct along *a = call->state;
    uint32_t mask = y->rank ? 1u << a->axis : 0;
    cost->ops = cfx_cost_linear(call, 1, cfx_cost_numel(call, y), -1,
                                cfx_cost_rows(call, y, mask));
}

/* Sums of complex numbers are those of their parts. */
static cfx_status scan_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_dtype type = (cfx_dtype)y->dtype, real = cfx_dtype_real(type);
    cfx_scan scan = (cfx_scan)call->op->code;
    cfx_tensor *in = cfx_loop_contiguous_as(call, cfx_call_tensor(call, SELF),
                                            type);
    if (!in)
        return CFX_ENOMEM;
    cfx_axis_split s = split(call, in);
    if (real != type && scan != CFX_SCAN_SUM)
        cfx_cumulate_complex(call->ctx, scan, type, y->data, in->data, s.outer,
                             s.n, s.inner);
    else
        cfx_cumulate(call->ctx, scan, real, y->data, NULL, in->data, s.outer,
                     s.n, s.inner * (real == type ? 1 : 2));
    cfx_tensor_unref(in);
    return CFX_OK;
}

#define SCAN(name, code_, doc_)                                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, int dim, *, ScalarType? dtype=None) "  \
                        "-> Tensor",                                          \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_INPLACE | CFX_OP_COMPLEX,                             \
        .code = code_,                                                        \
        .state_size = sizeof(struct along),                                   \
        .infer = scan_infer,                                                  \
        .cost = scan_cost,                                                    \
        .run = scan_run,                                                      \
    };

SCAN(cumsum, CFX_SCAN_SUM, "Running sums along an axis.")
SCAN(cumprod, CFX_SCAN_PROD, "Running products along an axis.")

/* Of floats and complex numbers, in their own type. */
static cfx_status logcumsumexp_infer(cfx_call *call)
{
    cfx_status st = cfx_infer_need_inexact(
        call, (cfx_dtype)cfx_call_tensor(call, SELF)->dtype);
    return st ? st : scan_infer(call);
}

/* An exponential, a logarithm and two sums for each step. */
static void logcumsumexp_cost(const cfx_call *call, cfx_cost *cost)
{
    scan_cost(call, cost);
    cost->transcendental = cfx_dim_mul(call->env, cost->ops, cfx_dim_int(2));
    cost->ops = cfx_dim_mul(call->env, cost->ops, cfx_dim_int(4));
}

const cfx_op cfx_op__logcumsumexp = {
    .schema = "logcumsumexp(Tensor self, int dim) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Logarithms of running sums of exponentials along an axis.",
    .flags = CFX_OP_COMPLEX,
    .code = CFX_SCAN_LOGSUMEXP,
    .state_size = sizeof(struct along),
    .infer = logcumsumexp_infer,
    .cost = logcumsumexp_cost,
    .run = scan_run,
};

/* ---- cummax, cummin ---- */

static cfx_status cummax_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = read_axis(call);
    if (!st)
        st = cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
    return st ? st : cfx_call_out(call, CFX_I64, x->rank, x->shape);
}

static cfx_status cummax_run(cfx_call *call)
{
    cfx_tensor *in = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!in)
        return CFX_ENOMEM;
    cfx_axis_split s = split(call, in);
    cfx_cumulate(call->ctx, (cfx_scan)call->op->code, (cfx_dtype)in->dtype,
                 call->out[0]->data, call->out[1]->data, in->data, s.outer,
                 s.n, s.inner);
    cfx_tensor_unref(in);
    return CFX_OK;
}

#define RUNNING(name, code_, doc_)                                            \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, int dim) -> (Tensor values, Tensor "   \
                        "indices)",                                           \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .state_size = sizeof(struct along),                                   \
        .infer = cummax_infer,                                                \
        .run = cummax_run,                                                    \
    };

RUNNING(cummax, CFX_SCAN_MAX,
        "The largest elements so far along an axis, and where they are.")
RUNNING(cummin, CFX_SCAN_MIN,
        "The smallest elements so far along an axis, and where they are.")

/* ---- topk and sort ---- */

static cfx_status topk_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const struct along *a = call->state;
    cfx_dim shape[CFX_MAX_RANK], k = cfx_value_dim(cfx_call_value(call, K));
    cfx_dim zero = cfx_dim_int(0);
    cfx_status st = read_axis(call);
    if (!st && x->dtype == CFX_BOOL)
        st = cfx_infer_refuse(call, CFX_BOOL);
    if (st)
        return st;
    cfx_dim n = x->rank ? x->shape[a->axis] : cfx_dim_int(1);
    if (!cfx_dim_le(call->env, zero, k) || !cfx_dim_le(call->env, k, n))
        return cfx_call_fail(call, CFX_EINVAL,
                             "selected index k out of range");
    for (int i = 0; i < x->rank; i++)
        shape[i] = i == a->axis ? k : x->shape[i];
    st = cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, shape);
    return st ? st : cfx_call_out(call, CFX_I64, x->rank, shape);
}

static size_t topk_workspace(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_axis_split s = split(call, x);
    return cfx_topk_work(call->ctx, (cfx_dtype)x->dtype, s.outer, s.n, s.inner,
                         cfx_call_int(call, K));
}

/* sorted=False leaves the order open: sorted is one of them. */
static cfx_status topk_run(cfx_call *call)
{
    cfx_tensor *in = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!in)
        return CFX_ENOMEM;
    cfx_axis_split s = split(call, in);
    cfx_kernel_topk(call->ctx, (cfx_dtype)in->dtype,
                    cfx_call_bool(call, LARGEST), call->out[0]->data,
                    call->out[1]->data, in->data, s.outer, s.n, s.inner,
                    cfx_call_int(call, K), call->work);
    cfx_tensor_unref(in);
    return CFX_OK;
}

const cfx_op cfx_op__topk = {
    .schema =
        "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The k largest (or smallest) elements along an axis.",
    .state_size = sizeof(struct along),
    .infer = topk_infer,
    .workspace = topk_workspace,
    .run = topk_run,
};

static cfx_status sort_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = read_axis(call);
    if (!st && call->schema->nreturns == 2)
        st = cfx_infer_like(call, x, (cfx_dtype)x->dtype);
    return st ? st : cfx_infer_like(call, x, CFX_I64);
}

static size_t sort_workspace(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_axis_split s = split(call, x);
    return cfx_sort_work(call->ctx, (cfx_dtype)x->dtype, s.outer, s.n,
                         s.inner);
}

/* Results that are not row-major are sorted apart. */
static cfx_status row_major_twin(cfx_call *call, cfx_tensor *y,
                                 cfx_tensor **out)
{
    if (cfx_tensor_is_contiguous(y)) {
        *out = cfx_tensor_ref(y);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor_meta(out, call->ctx, (cfx_dtype)y->dtype,
                                    y->rank, y->shape, NULL, call->err);
    return st ? st : cfx_tensor_alloc(*out, call->err);
}

static bool is_stable(const cfx_call *call)
{
    return cfx_call_has(call, STABLE) && cfx_call_bool(call, STABLE);
}

static cfx_status sort_run(cfx_call *call)
{
    cfx_tensor *in = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    cfx_tensor *made[2] = {NULL};
    cfx_status st = in ? CFX_OK : CFX_ENOMEM;
    for (int i = 0; i < call->nout && !st; i++)
        st = row_major_twin(call, call->out[i], &made[i]);
    if (!st) {
        cfx_axis_split s = split(call, in);
        cfx_kernel_sort(call->ctx, (cfx_dtype)in->dtype,
                        cfx_call_bool(call, DESCENDING), is_stable(call),
                        call->nout == 2 ? made[0]->data : NULL,
                        made[call->nout - 1]->data, in->data, s.outer, s.n,
                        s.inner, call->work);
    }
    for (int i = 0; i < 2; i++) {
        if (!st && made[i] && made[i] != call->out[i])
            st = cfx_tensor_copy(call->out[i], made[i], call->err);
        cfx_tensor_unref(made[i]);
    }
    cfx_tensor_unref(in);
    return st;
}

#define SORT_RULES                                                            \
    .params = params, .aliases = "torch. Tensor. aten.",                      \
    .state_size = sizeof(struct along), .infer = sort_infer,                  \
    .workspace = sort_workspace, .run = sort_run

static const cfx_op sort_stable = {
    .schema =
        "sort.stable(Tensor self, int dim=-1, bool descending=False, *, bool? stable=False) -> (Tensor values, Tensor indices)",
    .doc = "The elements in order along an axis, and where they were.",
    SORT_RULES,
};

const cfx_op cfx_op__sort = {
    .schema =
        "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    .doc = "The elements in order along an axis, and where they were.",
    SORT_RULES,
    .next = &sort_stable,
};

static const cfx_variant argsort_variants[] = {
    {"aten.argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__argsort = {
    .schema =
        "argsort(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> Tensor",
    .variants = argsort_variants,
    .doc = "Where the elements in order along an axis are.",
    SORT_RULES,
};
