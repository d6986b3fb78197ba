/*
 * reduce -- many elements to one: sums, means, extremes, norms.
 *
 * shape   the argument's without the reduced axes (of extent 1 with keepdim).
 * cost    a reduction of n elements n - 1 operations; extremes none; variances
 *         and norms what their formulas add.
 */
#include <math.h>
#include <string.h>

#include "kernel/reduce/reduce_kernel.h"
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/reduce/empty.h"

/* The result's type: sums of integers are int64; means need floats, and
 * logsumexp converts to floats. */
enum { SAME, SUM, FLOAT, BOOL, COUNT, TO_FLOAT, TYPES = 7 };

/* cfx_op.code: a cfx_red and the rule of types. */
#define CODE(red, types) ((red) | (types) << 8)
#define RED_OF(code) ((cfx_red)((code)&255))
#define TYPES_OF(code) ((code) >> 8 & TYPES)

CFX_PARAMS(params, SELF, DIM, KEEPDIM, DTYPE, UNBIASED, CORRECTION, ORD, P);

/* The state of a call. */
struct reduction {
    uint32_t mask; /* the axes that are reduced */
    bool keep;
    double number; /* of variances their correction, of norms their order */
};

static cfx_status type_of(cfx_call *call, cfx_dtype *type)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int rule = TYPES_OF(call->op->code);
    bool given = cfx_call_has(call, DTYPE);
    *type = cfx_call_dtype(call, DTYPE, (cfx_dtype)x->dtype);
    if (rule == BOOL)
        *type = x->dtype == CFX_U8 ? CFX_U8 : CFX_BOOL;
    else if (rule == COUNT || (rule == SUM && !given &&
                               cfx_dtypes[*type].category < CFX_CAT_FLOAT))
        *type = CFX_I64;
    else if (rule == TO_FLOAT && !cfx_dtype_is_float(*type))
        *type = CFX_F32;
    else if (rule == FLOAT && cfx_dtypes[*type].category < CFX_CAT_FLOAT)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: %s",
            cfx_dtypes[*type].name);
    return CFX_OK;
}

cfx_status cfx_reduce__check_axes(const cfx_call *call, const cfx_tensor *x,
                                  uint32_t mask)
{
    for (int i = 0; i < x->rank; i++)
        if (mask >> i & 1 && cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected reduction dim %d to have non-zero size.", i);
    return CFX_OK;
}

/* Extremes of nothing are refused. */
static cfx_status check_empty(cfx_call *call, uint32_t mask)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_red red = RED_OF(call->op->code);
    return red == CFX_RED_MAX || red == CFX_RED_MIN
               ? cfx_reduce__check_axes(call, x, mask)
               : CFX_OK;
}

static cfx_status reduce_infer(cfx_call *call)
{
    struct reduction *r = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_dtype type;
    r->keep = cfx_call_bool(call, KEEPDIM);
    cfx_status st = cfx_infer_axes(call, DIM, x->rank, &r->mask);
    if (!st)
        st = type_of(call, &type);
    if (!st)
        st = check_empty(call, r->mask);
    if (st)
        return st;
    int rank = cfx_infer_reduced(x, r->mask, r->keep, shape);
    return cfx_call_out(call, type, rank, shape);
}

static cfx_dim added(const cfx_call *call)
{
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    return cfx_dim_sub(call->env, n, cfx_cost_numel(call, call->out[0]));
}

static void sum_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->ops = added(call);
}

static void mean_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->transcendental = cfx_cost_numel(call, call->out[0]);
    cost->ops = cfx_dim_add(call->env, added(call), cost->transcendental);
}

/* A group of n costs n - 1 sums, a division, n differences, n squares, n - 1
 * sums and a division; a deviation adds a square root. */
static void var_cost(const cfx_call *call, cfx_cost *cost)
{
    bool root = RED_OF(call->op->code) == CFX_RED_STD;
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    cfx_dim groups = cfx_cost_numel(call, call->out[0]);
    cost->ops = cfx_cost_linear(call, 4, n, root, groups);
    cost->transcendental = cfx_dim_mul(call->env, groups,
                                       cfx_dim_int(2 + root));
}

/* ---- Running ---- */

/* The extents that are reduced, in one row. */
static cfx_axis_split split(const cfx_call *call)
{
    const struct reduction *r = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_axis_split s = {1, cfx_tensor_numel(x), 1};
    for (int i = 0; i < x->rank; i++)
        if (r->mask == 1u << i)
            s = cfx_loop_split(x, i);
    return s;
}

/* The iterator over the input, whose output stands still along the reduced
 * axes. */
static void begin(cfx_call *call, cfx_iter *it, const cfx_tensor *x)
{
    const struct reduction *r = call->state;
    const cfx_tensor *y = call->out[0];
    int64_t shape[CFX_MAX_RANK];
    cfx_loop_shape(shape, x);
    cfx_iter_begin(it, x->rank, shape);
    int64_t *stride = cfx_iter_add(it, y->data, (cfx_dtype)y->dtype);
    for (int i = 0, at = 0; i < x->rank; i++) {
        bool gone = r->mask >> i & 1;
        stride[i] = gone ? 0 : cfx_tensor_stride(y, at);
        at += !gone || r->keep;
    }
    cfx_loop_in(it, x);
}

/* count_nonzero and similar test the input before any rounding. */
static cfx_dtype compute_type(const cfx_call *call)
{
    int rule = TYPES_OF(call->op->code);
    const cfx_tensor *of = rule == BOOL || rule == COUNT
                               ? cfx_call_tensor(call, SELF)
                               : call->out[0];
    return (cfx_dtype)of->dtype;
}

/* Add the last axis, of the two parts of complex numbers. */
static void add_parts(cfx_iter *it, cfx_dtype real)
{
    int last = it->rank++;
    it->shape[last] = 2;
    for (int k = 0; k < it->count; k++) {
        for (int i = 0; i < last; i++)
            it->op[k].stride[i] *= 2;
        it->op[k].stride[last] = 1;
        it->op[k].dtype = real;
    }
}

static cfx_status sum_complex(cfx_call *call, cfx_red red, const cfx_tensor *x)
{
    const cfx_tensor *y = call->out[0];
    cfx_axis_split n = split(call);
    cfx_iter it;
    if (red == CFX_RED_PROD) {
        cfx_reduce_complex_prod(call->ctx, (cfx_dtype)y->dtype, y->data,
                                x->data, n.outer, n.n, n.inner);
        return CFX_OK;
    }
    begin(call, &it, x);
    if (it.rank == CFX_ITER_RANK)
        return cfx_infer_refuse(call, (cfx_dtype)y->dtype);
    add_parts(&it, cfx_dtype_real((cfx_dtype)y->dtype));
    cfx_reduce(call->ctx, red, it.op[0].dtype, &it, 0);
    return CFX_OK;
}

/* The argument is converted first: to bool, to test it, else to the result's
 * type. */
static cfx_status run_complex(cfx_call *call, cfx_red red)
{
    int rule = TYPES_OF(call->op->code);
    cfx_dtype type = rule == BOOL || rule == COUNT
                         ? CFX_BOOL
                         : (cfx_dtype)call->out[0]->dtype;
    cfx_tensor *x = cfx_loop_contiguous_as(call, cfx_call_tensor(call, SELF),
                                           type);
    cfx_status st = CFX_OK;
    cfx_iter it;
    if (!x)
        return CFX_ENOMEM;
    if (cfx_dtype_is_complex(type)) {
        st = sum_complex(call, red, x);
    } else {
        begin(call, &it, x);
        cfx_reduce(call->ctx, red, type, &it, 0);
    }
    cfx_tensor_unref(x);
    return st;
}

static cfx_status run_as(cfx_call *call, cfx_red red)
{
    const struct reduction *r = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_iter it;
    if (cfx_dtype_is_complex((cfx_dtype)x->dtype) ||
        cfx_dtype_is_complex((cfx_dtype)call->out[0]->dtype))
        return run_complex(call, red);
    begin(call, &it, x);
    cfx_reduce(call->ctx, red, compute_type(call), &it, r->number);
    return CFX_OK;
}

static cfx_status reduce_run(cfx_call *call)
{
    return run_as(call, RED_OF(call->op->code));
}

#define REDUCE(symbol, schema_, red, types, aliases_, cost_, doc_, next_)     \
    const cfx_op symbol = {                                                   \
        .schema = schema_,                                                    \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = (types) == SUM || (types) == BOOL || (types) == COUNT ||     \
                         CFX_RED_##red == CFX_RED_MEAN                        \
                     ? CFX_OP_COMPLEX                                         \
                     : 0,                                                     \
        .code = CODE(CFX_RED_##red, types),                                   \
        .state_size = sizeof(struct reduction),                               \
        .infer = reduce_infer,                                                \
        .cost = cost_,                                                        \
        .run = reduce_run,                                                    \
        .next = next_,                                                        \
    };

/* ---- sum, mean, prod ---- */

/* clang-format off */
static REDUCE(sum_dim, "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", SUM, SUM,
              "torch. Tensor. .dim_IntList", sum_cost,
              "The sum along axes.", NULL)
REDUCE(cfx_op__sum, "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       SUM, SUM, "torch. Tensor. aten.", sum_cost,
       "The sum of all elements.", &sum_dim)

static REDUCE(mean_dim, "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", MEAN,
              FLOAT, "torch. Tensor. .dim", mean_cost,
              "The mean along axes.", NULL)
REDUCE(cfx_op__mean, "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       MEAN, FLOAT, "torch. Tensor. aten.", mean_cost,
       "The mean of all elements.", &mean_dim)

static REDUCE(prod_dim, "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", PROD, SUM,
              "torch. Tensor. .dim_int", sum_cost,
              "The product along an axis.", NULL)
REDUCE(cfx_op__prod, "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       PROD, SUM, "torch. Tensor. aten.", sum_cost,
       "The product of all elements.", &prod_dim)

/* ---- any, all, count_nonzero ---- */

#define LOGIC(name, red)                                                      \
    static REDUCE(name##_dims, #name ".dims(Tensor self, int[]? dim=None, "   \
                  "bool keepdim=False) -> Tensor", red, BOOL,                 \
                  "torch. Tensor. aten.",     \
                  NULL, "Along axes.", NULL)                                  \
    static REDUCE(name##_dim, #name ".dim(Tensor self, int dim, bool "        \
                  "keepdim=False) -> Tensor", red, BOOL,                      \
                  "torch. Tensor. aten.",      \
                  NULL, "Along an axis.", &name##_dims)                       \
    REDUCE(cfx_op__##name, #name "(Tensor self) -> Tensor", red, BOOL,        \
           "torch. Tensor. aten.", NULL,   \
           "Of the elements, is " #name " nonzero?", &name##_dim)

LOGIC(any, ANY)
LOGIC(all, ALL)

REDUCE(cfx_op__count_nonzero, "count_nonzero.dim_IntList(Tensor self, int[1]? dim=None) -> Tensor", COUNT_NONZERO, COUNT,
       "torch. Tensor. .default .dim_IntList", NULL,
       "How many elements are not zero.", NULL)

/* ---- Extremes without their places ---- */

REDUCE(cfx_op__amax, "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", MAX, SAME, "torch. Tensor. aten.", NULL,
       "The largest element along axes.", NULL)
REDUCE(cfx_op__amin, "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", MIN, SAME, "torch. Tensor. aten.", NULL,
       "The smallest element along axes.", NULL)
    /* clang-format on */

    /* ---- logsumexp ---- */

    /* n differences to the largest, n exp, a sum of n - 1, a logarithm, a
     * sum. */
    static void logsumexp_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    cfx_dim groups = cfx_cost_numel(call, call->out[0]);
    cost->ops = cfx_cost_linear(call, 3, n, 1, groups);
    cost->transcendental = cfx_dim_add(call->env, n, groups);
}

#define logsumexp_infer reduce_infer
#define logsumexp_run reduce_run

/* As PyTorch has it: the largest real part, where it is finite, is subtracted
 * first. */
static cfx_value complex_logsumexp_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *t = cfx_call_tensor(call, SELF);
    cfx_value x = cfx_call_value(call, SELF);
    cfx_value dim = cfx_call_value(call, DIM), zero = cfx_float(0);
    cfx_value keep = cfx_bool(cfx_call_bool(call, KEEPDIM));
    if (cfx_infer_is_empty(t)) {
        x = CFX_CALL(s, "torch.exp", x);
        return CFX_CALL(s, "torch.log",
                        CFX_CALL(s, "torch.sum", x, dim, keep));
    }
    cfx_value most = CFX_CALL(s, "torch.amax", CFX_CALL(s, "torch.real", x),
                              dim, cfx_bool(true));
    most = CFX_CALL(s, "torch.where", CFX_CALL(s, "torch.isinf", most), zero,
                    most);
    x = CFX_CALL(s, "torch.exp", CFX_CALL(s, "torch.sub", x, most));
    x = CFX_CALL(s, "torch.log", CFX_CALL(s, "torch.sum", x, dim, keep));
    if (!cfx_call_bool(call, KEEPDIM))
        most = CFX_CALL(s, "torch.amax", most, dim);
    return CFX_CALL(s, "torch.add", x, most);
}

CFX_COMPLEX_COMPOSITE(logsumexp)

const cfx_op cfx_op__logsumexp = {
    .schema =
        "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The logarithm of the sum of exp along axes.",
    .flags = CFX_OP_COMPLEX,
    .code = CODE(CFX_RED_LOGSUMEXP, TO_FLOAT),
    .state_size = sizeof(struct reduction),
    .infer = any_logsumexp_infer,
    .cost = any_logsumexp_cost,
    .run = any_logsumexp_run,
};

/* ---- Variances ---- */

/* The variance of a complex tensor is the sum of those of its parts. */
static cfx_value complex_variance_build(cfx_scope *s, const cfx_call *call)
{
    const struct reduction *r = call->state;
    cfx_value x = cfx_call_value(call, SELF), part[2];
    cfx_value keys[] = {
        cfx_str(s, "correction"), cfx_float(r->number), cfx_str(s, "keepdim"),
        cfx_bool(cfx_call_has(call, KEEPDIM) && cfx_call_bool(call, KEEPDIM))};
    for (int i = 0; i < 2; i++) {
        cfx_value args[] = {CFX_CALL(s, i ? "torch.imag" : "torch.real", x),
                            cfx_call_value(call, DIM)};
        part[i] = cfx_call_function(s, "torch.var",
                                    (cfx_args){args, 2, keys, 2});
    }
    cfx_value sum = CFX_CALL(s, "torch.add", part[0], part[1]);
    return call->op->code == CODE(CFX_RED_STD, FLOAT)
               ? CFX_CALL(s, "torch.sqrt", sum)
               : sum;
}

static cfx_status var_infer(cfx_call *call)
{
    struct reduction *r = call->state;
    bool biased = cfx_call_has(call, UNBIASED) &&
                  !cfx_call_bool(call, UNBIASED);
    r->number = cfx_call_has(call, CORRECTION)
                    ? cfx_call_double(call, CORRECTION)
                    : !biased;
    return cfx_call_is_complex(call)
               ? cfx_composite_infer(call, complex_variance_build)
               : reduce_infer(call);
}

static void any_var_cost(const cfx_call *call, cfx_cost *cost)
{
    if (cfx_call_is_complex(call))
        cfx_composite_cost(call, cost, complex_variance_build);
    else
        var_cost(call, cost);
}

static cfx_status var_run(cfx_call *call)
{
    return cfx_call_is_complex(call)
               ? cfx_composite_run(call, complex_variance_build)
               : reduce_run(call);
}

#define VARIANCE_RULES(red, doc_)                                             \
    .params = params, .aliases = "torch. Tensor. aten.", .doc = doc_,         \
    .code = CODE(CFX_RED_##red, FLOAT),                                       \
    .state_size = sizeof(struct reduction), .flags = CFX_OP_COMPLEX,          \
    .infer = var_infer, .cost = any_var_cost, .run = var_run

#define VARIANCE(name, red, doc_)                                             \
    static const cfx_op name##_dim = {                                        \
        .schema = #name ".dim(Tensor self, int[1]? dim, bool unbiased=True, " \
                        "bool keepdim=False) -> Tensor",                      \
        VARIANCE_RULES(red, doc_),                                            \
    };                                                                        \
    static const cfx_op name##_correction = {                                 \
        .schema = #name                                                       \
        ".correction(Tensor self, int[1]? dim=None, *, "                      \
        "Scalar? correction=None, bool keepdim=False) -> Tensor",             \
        VARIANCE_RULES(red, doc_),                                            \
        .next = &name##_dim,                                                  \
    };                                                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, bool unbiased=True) -> Tensor",        \
        VARIANCE_RULES(red, doc_),                                            \
        .next = &name##_correction,                                           \
    };

VARIANCE(var, VAR, "The variance, divided by n - 1 unless told otherwise.")
VARIANCE(std, STD, "The standard deviation.")

/* ---- Norms ---- */

/* Called ord or p; a word is that of the Frobenius norm. */
static double order_of(const cfx_call *call)
{
    cfx_value ord = cfx_call_value(call, cfx_call_has(call, ORD) ? ORD : P);
    return ord.kind == CFX_STR || ord.kind == CFX_NONE ? 2
                                                       : cfx_value_number(ord);
}

/* The norm of a complex vector is that of its absolute values. */
static cfx_value complex_norm_build(cfx_scope *s, const cfx_call *call)
{
    const struct reduction *r = call->state;
    cfx_value x = cfx_call_value(call, SELF), dim = cfx_call_value(call, DIM);
    cfx_value type = cfx_call_value(call, DTYPE);
    bool keep = cfx_call_has(call, KEEPDIM) && cfx_call_bool(call, KEEPDIM);
    if (!cfx_value_is_none(type))
        x = CFX_CALL(s, "Tensor.to", x, type);
    return CFX_CALL(s, "torch.linalg.vector_norm", CFX_CALL(s, "torch.abs", x),
                    cfx_float(r->number), dim, cfx_bool(keep));
}

/* A step for each element (a square, an absolute value), of other orders two,
 * of which one is a power; a sum of n - 1, and a root where there is one. */
static void norm_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct reduction *r = call->state;
    if (cfx_call_is_complex(call)) {
        cfx_composite_cost(call, cost, complex_norm_build);
        return;
    }
    double p = r->number;
    bool power = p != 0 && p != 1 && p != 2 && !isinf(p);
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    cfx_dim groups = cfx_cost_numel(call, call->out[0]);
    bool root = power || p == 2;
    if (isinf(p)) {
        cost->ops = n;
        return;
    }
    cost->ops = cfx_cost_linear(call, 2 + power - (p == 0), n, root - 1,
                                groups);
    cost->transcendental = cfx_cost_linear(call, power, n, root, groups);
}

static cfx_status norm_run(cfx_call *call)
{
    const struct reduction *r = call->state;
    if (cfx_call_is_complex(call))
        return cfx_composite_run(call, complex_norm_build);
    double p = r->number;
    cfx_red red = p == 1           ? CFX_RED_NORM1
                  : p == 2         ? CFX_RED_NORM2
                  : p == INFINITY  ? CFX_RED_NORMINF
                  : p == -INFINITY ? CFX_RED_NORMNINF
                                   : CFX_RED_NORM;
    return run_as(call, red);
}

/* The least and the greatest of nothing are not defined. */
static cfx_status check_identity(cfx_call *call, double p)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    uint32_t mask;
    if (!(p < 0 || p == INFINITY))
        return CFX_OK;
    cfx_status st = cfx_infer_axes(call, DIM, x->rank, &mask);
    for (int i = 0; i < x->rank && !st; i++)
        if (mask >> i & 1 &&
            !cfx_dim_ne(call->env, x->shape[i], cfx_dim_int(0)))
            st = cfx_call_fail(
                call, CFX_ESHAPE,
                "cannot compute the %g norm on dimension %d, which is empty: the operation does not have an identity",
                p, i);
    return st;
}

static cfx_status norm_infer(cfx_call *call)
{
    struct reduction *r = call->state;
    r->number = order_of(call);
    if (cfx_call_is_complex(call))
        return cfx_composite_infer(call, complex_norm_build);
    cfx_status st = check_identity(call, r->number);
    return st ? st : reduce_infer(call);
}

const cfx_op cfx_op__linalg_vector_norm = {
    .schema =
        "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. torch._C._linalg.linalg_vector_norm aten.",
    .doc = "The p-norm of a tensor taken as a vector.",
    .code = CODE(CFX_RED_NORM, FLOAT),
    .state_size = sizeof(struct reduction),
    .flags = CFX_OP_COMPLEX,
    .infer = norm_infer,
    .cost = norm_cost,
    .run = norm_run,
};

/* All words but 'fro' are norms of matrices, by default of all axes. */
static bool is_of_matrix(const cfx_call *call)
{
    const char *word = cfx_call_str(call, P);
    return word && strcmp(word, "fro");
}

static cfx_value matrix_norm_build(cfx_scope *s, const cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    cfx_value axis[CFX_MAX_RANK];
    cfx_value args[] = {cfx_call_value(call, SELF), cfx_call_value(call, P),
                        cfx_call_value(call, DIM),
                        cfx_call_value(call, KEEPDIM)};
    cfx_value dtype[] = {cfx_str(s, "dtype"), cfx_call_value(call, DTYPE)};
    for (int i = 0; i < rank; i++)
        axis[i] = cfx_int(i);
    if (!cfx_call_has(call, DIM))
        args[2] = cfx_list_of(s, CFX_TUPLE, (size_t)rank, axis);
    return cfx_call_function(s, "torch.linalg.matrix_norm",
                             (cfx_args){args, 4, dtype, 1});
}

static cfx_status any_norm_infer(cfx_call *call)
{
    return is_of_matrix(call) ? cfx_composite_infer(call, matrix_norm_build)
                              : norm_infer(call);
}

static void any_norm_cost(const cfx_call *call, cfx_cost *cost)
{
    if (is_of_matrix(call))
        cfx_composite_cost(call, cost, matrix_norm_build);
    else
        norm_cost(call, cost);
}

static cfx_status any_norm_run(cfx_call *call)
{
    return is_of_matrix(call) ? cfx_composite_run(call, matrix_norm_build)
                              : norm_run(call);
}

const cfx_op cfx_op__norm = {
    .schema =
        "norm(Tensor self, any p='fro', int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .params = params,
    .aliases =
        "torch. torch.functional.norm Tensor. .ScalarOpt_dim .Scalar .ScalarOpt_dtype .ScalarOpt_dim_dtype",
    .doc = "The p-norm along axes; by default the Frobenius norm.",
    .code = CODE(CFX_RED_NORM, FLOAT),
    .state_size = sizeof(struct reduction),
    .flags = CFX_OP_COMPLEX,
    .infer = any_norm_infer,
    .cost = any_norm_cost,
    .run = any_norm_run,
};
