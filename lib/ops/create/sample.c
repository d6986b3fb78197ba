/*
 * sample -- random numbers: rand, randn, randint, randperm, bernoulli, ...
 *
 * shape   the given extents, or those of another tensor.
 * cost    not counted; writes the result.
 *
 * The numbers come from the context's generator. They are not PyTorch's, but
 * are distributed alike, and the same for the same seed and any threads.
 */
#include <math.h>

#include "kernel/pointwise/pointwise_kernel.h"
#include "kernel/random_kernel.h"
#include "op/composite.h"
#include "ops/create/create.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

#define OPTIONS                                                               \
    "Generator? generator=None, ScalarType? dtype=None, Layout? "             \
    "layout=None, Device? device=None, bool? pin_memory=None, "               \
    "bool requires_grad=False"
#define LIKE_OPTIONS OPTIONS ", MemoryFormat? memory_format=None"

enum { UNIFORM, NORMAL };

/* Results are made in memory order, whatever their strides are. The parts of
 * complex numbers share the variance, and each has the mean. */
static cfx_status fill_floats(cfx_call *call, int code, double a, double b)
{
    const cfx_tensor *y = call->out[0];
    cfx_dtype type = cfx_dtype_real((cfx_dtype)y->dtype);
    bool normal = code == NORMAL, complex = type != y->dtype;
    int64_t n = cfx_tensor_numel(y) * (complex ? 2 : 1);
    cfx_random r = cfx_context_random(call->ctx, (uint64_t)n * (normal + 1u));
    if (normal)
        cfx_random_normals(call->ctx, type, y->data, n, r, a,
                           complex ? b * sqrt(0.5) : b);
    else
        cfx_random_uniforms(call->ctx, type, y->data, n, r, a, b);
    return CFX_OK;
}

/* ---- rand and randn ---- */

static cfx_status sized_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_dtype dtype = cfx_call_dtype(call, 2, CFX_F32);
    cfx_status st = cfx_create_check(call, 2);
    if (!st)
        st = cfx_infer_need_inexact(call, dtype);
    if (!st)
        st = cfx_create_size(call, 0, &rank, shape);
    return st ? st : cfx_call_out(call, dtype, rank, shape);
}

static cfx_status like_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    cfx_dtype dtype = cfx_call_dtype(call, 2, own);
    cfx_status st = cfx_create_check(call, 2);
    if (!st)
        st = cfx_infer_need_inexact(call, dtype);
    return st ? st : cfx_create_like(call, dtype, 7);
}

static cfx_status standard_run(cfx_call *call)
{
    return fill_floats(call, call->op->code, 0, 1);
}

#define SAMPLE(name, code_, doc_)                                             \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(SymInt[] size, *, " OPTIONS ") -> Tensor",          \
        .aliases = "torch. aten. .generator",                                 \
        .doc = doc_,                                                          \
        .flags = CFX_OP_RANDOM | CFX_OP_COMPLEX,                              \
        .code = code_,                                                        \
        .infer = sized_infer,                                                 \
        .cost = cfx_cost_created,                                             \
        .run = standard_run,                                                  \
    };                                                                        \
    const cfx_op cfx_op__##name##_like = {                                    \
        .schema = #name "_like(Tensor self, *, " LIKE_OPTIONS ") -> Tensor",  \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .flags = CFX_OP_RANDOM | CFX_OP_COMPLEX,                              \
        .code = code_,                                                        \
        .infer = like_infer,                                                  \
        .cost = cfx_cost_created,                                             \
        .run = standard_run,                                                  \
    };

SAMPLE(rand, UNIFORM, "Numbers of equal probability from 0 to 1.")
SAMPLE(randn, NORMAL, "Normally distributed numbers.")

/* ---- uniform_ and normal_, which write ---- */

static cfx_status spread_infer(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    double a = cfx_call_double(call, 1), b = cfx_call_double(call, 2);
    bool normal = call->op->code == NORMAL;
    cfx_status st = cfx_infer_need_inexact(call, type);
    bool unknown = cfx_infer_is_unknown(call, b) ||
                   (!normal && cfx_infer_is_unknown(call, a));
    if (!st && !unknown && (normal ? !(b >= 0) : !(a <= b)))
        st = cfx_call_fail(call, CFX_EINVAL,
                           normal
                               ? "expects std >= 0.0, but found std %g"
                               : "expects a range that is not empty, up to %g",
                           b);
    return st ? st : cfx_infer_like(call, cfx_call_tensor(call, 0), type);
}

static cfx_status spread_run(cfx_call *call)
{
    return fill_floats(call, call->op->code, cfx_call_double(call, 1),
                       cfx_call_double(call, 2));
}

#define SPREAD(symbol, name, params, code_, doc_)                             \
    const cfx_op cfx_op__##symbol = {                                         \
        .schema = #symbol "(Tensor self, " params ", *, Generator? "          \
                          "generator=None) -> Tensor",                        \
        .aliases = "aten." #symbol ".default",                                \
        .inplace_aliases = "Tensor." name "_ aten." name "_.default",         \
        .doc = doc_,                                                          \
        .flags = CFX_OP_RANDOM | CFX_OP_INPLACE | CFX_OP_COMPLEX,             \
        .code = code_,                                                        \
        .infer = spread_infer,                                                \
        .cost = cfx_cost_created,                                             \
        .run = spread_run,                                                    \
    };

SPREAD(uniform, "uniform", "float from=0.0, float to=1.0", UNIFORM,
       "Every element replaced by a number between two.")
SPREAD(normal_functional, "normal", "float mean=0.0, float std=1.0", NORMAL,
       "Every element replaced by a normally distributed number.")

static cfx_status normal_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_dtype dtype = cfx_call_dtype(call, 4, CFX_F32);
    cfx_status st = cfx_create_check(call, 4);
    if (!st)
        st = cfx_infer_need_inexact(call, dtype);
    double std = cfx_call_double(call, 1);
    if (!st && !(std >= 0) && !cfx_infer_is_unknown(call, std))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "expects std >= 0.0, but found std %g", std);
    if (!st)
        st = cfx_create_size(call, 2, &rank, shape);
    return st ? st : cfx_call_out(call, dtype, rank, shape);
}

static cfx_status normal_run(cfx_call *call)
{
    return fill_floats(call, NORMAL, cfx_call_double(call, 0),
                       cfx_call_double(call, 1));
}

/* ---- normal, of tensors ---- */

/* The result has the type of the mean, where that is a tensor. */
static cfx_value normals_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value mean = call->in[0], std = call->in[1], extents[CFX_MAX_RANK];
    cfx_value like = mean.kind == CFX_TENSOR ? mean : std;
    if (like.kind != CFX_TENSOR)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "normal: of two numbers needs a size");
    if (mean.kind == CFX_TENSOR && std.kind == CFX_TENSOR)
        like = cfx_nth(s, CFX_CALL(s, "torch.broadcast_tensors", mean, std),
                       0);
    const cfx_tensor *t = cfx_meta_of(s, like);
    if (!t)
        return cfx_none();
    if (std.kind != CFX_TENSOR && !(cfx_value_number(std) >= 0) &&
        !cfx_infer_is_unknown(call, cfx_value_number(std)))
        return cfx_scope_fail(s, CFX_EINVAL,
                              "normal: expects std >= 0.0, but found std %g",
                              cfx_value_number(std));
    for (int i = 0; i < t->rank; i++)
        extents[i] = cfx_value_of_dim(t->shape[i]);
    cfx_value size = cfx_list_of(s, CFX_TUPLE, (size_t)t->rank, extents);
    cfx_value keys[] = {cfx_str(s, "dtype"),
                        cfx_value_of_dtype((cfx_dtype)t->dtype)};
    cfx_value y = cfx_call_function(s, "torch.randn",
                                    (cfx_args){&size, 1, keys, 1});
    y = CFX_CALL(s, "Tensor.mul_", y, std);
    return CFX_CALL(s, "Tensor.add_", y, mean);
}

static cfx_status normals_infer(cfx_call *call)
{
    return cfx_composite_infer(call, normals_build);
}

static void normals_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, normals_build);
}

static cfx_status normals_run(cfx_call *call)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    bool ok = cfx_call_tensor(call, 1) == NULL ||
              cfx_truth(&s, CFX_CALL(&s, "torch.all",
                                     CFX_CALL(&s, "torch.ge", call->in[1],
                                              cfx_int(0))));
    cfx_status st = cfx_scope_status(&s, call->err);
    cfx_scope_release(&s);
    if (!st && !ok)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "expects all elements of std >= 0.0");
    return st ? st : cfx_composite_run(call, normals_build);
}

static const cfx_op normals = {
    .schema =
        "normal.Tensor_Tensor(Tensor/Scalar mean, Tensor/Scalar std=1.0, *, Generator? generator=None) -> Tensor",
    .aliases =
        "torch. aten.(Tensor,Tensor) .Tensor_float(Tensor,float) .float_Tensor(float,Tensor)",
    .doc = "Normally distributed numbers, each of its own mean and deviation.",
    .flags = CFX_OP_RANDOM,
    .infer = normals_infer,
    .cost = normals_cost,
    .run = normals_run,
};

const cfx_op cfx_op__normal = {
    .schema =
        "normal.float_float(float mean, float std, SymInt[] size, *, " OPTIONS
        ") -> Tensor",
    .aliases = "torch. aten.",
    .doc = "Normally distributed numbers of a mean and deviation.",
    .flags = CFX_OP_RANDOM | CFX_OP_COMPLEX,
    .infer = normal_infer,
    .run = normal_run,
    .next = &normals,
};

/* ---- randint ---- */

enum { SIZED_HIGH, SIZED_LOW, LIKE_HIGH, LIKE_LOW };

/* The positions of the bounds and the options. */
static void bounds_of(const cfx_call *call, cfx_value *low, cfx_value *high,
                      int *size, int *options)
{
    int code = call->op->code, like = code >= LIKE_HIGH;
    bool both = code == SIZED_LOW || code == LIKE_LOW;
    *low = both ? call->in[like] : cfx_int(0);
    *high = call->in[like + both];
    *size = 1 + both;
    *options = 2 + both;
}

static cfx_status randint_infer(cfx_call *call)
{
    cfx_value low, high;
    cfx_dim shape[CFX_MAX_RANK];
    int size, options, rank;
    bool like = call->op->code >= LIKE_HIGH;
    bounds_of(call, &low, &high, &size, &options);
    cfx_dtype own = like ? (cfx_dtype)cfx_call_tensor(call, 0)->dtype
                         : CFX_I64;
    cfx_dtype dtype = cfx_call_dtype(call, options + 1, own);
    cfx_status st = cfx_create_check(call, options + 1);
    if (!st && !cfx_dim_lt(call->env, cfx_value_dim(low), cfx_value_dim(high)))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "random_ expects 'from' to be less than 'to'");
    if (st)
        return st;
    if (like)
        return cfx_create_like(call, dtype, options + 6);
    st = cfx_create_size(call, size, &rank, shape);
    return st ? st : cfx_call_out(call, dtype, rank, shape);
}

static cfx_status randint_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t n = cfx_tensor_numel(y);
    cfx_value low, high;
    int size, options;
    bounds_of(call, &low, &high, &size, &options);
    cfx_random r = cfx_context_random(call->ctx, (uint64_t)n);
    cfx_random_ints(call->ctx, (cfx_dtype)y->dtype, y->data, n, r, low.u.i,
                    high.u.i);
    return CFX_OK;
}

#define RANDINT(symbol, schema_, aliases_, code_, next_)                      \
    symbol = {                                                                \
        .schema = schema_,                                                    \
        .aliases = aliases_,                                                  \
        .doc = "Ints of equal probability from low up to high.",              \
        .flags = CFX_OP_RANDOM,                                               \
        .code = code_,                                                        \
        .infer = randint_infer,                                               \
        .cost = cfx_cost_created,                                             \
        .run = randint_run,                                                   \
        .next = next_,                                                        \
    };

RANDINT(static const cfx_op randint_low,
        "randint.low(SymInt low, SymInt high, SymInt[] size, *, " OPTIONS
        ") -> Tensor",
        "torch. .low", SIZED_LOW, NULL)
RANDINT(const cfx_op cfx_op__randint,
        "randint(SymInt high, SymInt[] size, *, " OPTIONS ") -> Tensor",
        "torch. aten.", SIZED_HIGH, &randint_low)
RANDINT(
    static const cfx_op randint_like_low,
    "randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " LIKE_OPTIONS
    ") -> Tensor",
    "torch. .low_dtype", LIKE_LOW, NULL)
RANDINT(const cfx_op cfx_op__randint_like,
        "randint_like(Tensor self, SymInt high, *, " LIKE_OPTIONS
        ") -> Tensor",
        "torch. aten.", LIKE_HIGH, &randint_like_low)

/* ---- randperm ---- */

static cfx_status randperm_infer(cfx_call *call)
{
    cfx_dim n = cfx_value_dim(call->in[0]);
    cfx_status st = cfx_create_check(call, 2);
    if (!st && !cfx_dim_le(call->env, cfx_dim_int(0), n))
        st = cfx_call_fail(call, CFX_EINVAL, "n must be non-negative");
    return st ? st
              : cfx_call_out(call, cfx_call_dtype(call, 2, CFX_I64), 1, &n);
}

static size_t randperm_workspace(const cfx_call *call)
{
    return (size_t)cfx_tensor_numel(call->out[0]) * sizeof(int64_t);
}

static cfx_status randperm_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t n = cfx_tensor_numel(y);
    cfx_iter it;
    if (!n)
        return CFX_OK;
    cfx_random_order(call->ctx, call->work, n,
                     cfx_context_random(call->ctx, (uint64_t)n));
    cfx_loop_out(&it, y);
    *cfx_iter_add(&it, call->work, CFX_I64) = 1;
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

const cfx_op cfx_op__randperm = {
    .schema = "randperm(SymInt n, *, " OPTIONS ") -> Tensor",
    .aliases = "torch. aten. .generator",
    .doc = "0 to n - 1 in a random order.",
    .flags = CFX_OP_RANDOM,
    .infer = randperm_infer,
    .workspace = randperm_workspace,
    .run = randperm_run,
};

/* ---- bernoulli ---- */

static cfx_status bernoulli_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_status st = CFX_OK;
    double p = call->op->code ? cfx_call_double(call, 1) : 0;
    if (!(p >= 0 && p <= 1) && !cfx_infer_is_unknown(call, p))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    else if (!call->op->code)
        st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

static size_t bernoulli_workspace(const cfx_call *call)
{
    return (size_t)cfx_tensor_numel(call->out[0]) * sizeof(float);
}

/* 1 where a number from 0 to 1 is less than the probability. */
static cfx_status bernoulli_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t n = cfx_tensor_numel(y), at = 1;
    cfx_iter it;
    if (!n)
        return CFX_OK;
    cfx_random_uniforms(call->ctx, CFX_F32, call->work, n,
                        cfx_context_random(call->ctx, (uint64_t)n), 0, 1);
    cfx_loop_out(&it, y);
    int64_t *step = cfx_iter_add(&it, call->work, CFX_F32);
    for (int i = y->rank - 1; i >= 0; i--) {
        step[i] = at;
        at *= cfx_tensor_size(y, i);
    }
    cfx_loop_value(&it, call->in[call->op->code]);
    cfx_pointwise(call->ctx, CFX_PW_LT, CFX_F32, &it, NULL);
    return CFX_OK;
}

static const cfx_op bernoulli_p = {
    .schema =
        "bernoulli.p(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .inplace_aliases = "Tensor. .float",
    .doc = "1 with one probability, else 0.",
    .flags = CFX_OP_RANDOM,
    .code = 1,
    .infer = bernoulli_infer,
    .workspace = bernoulli_workspace,
    .run = bernoulli_run,
};

const cfx_op cfx_op__bernoulli = {
    .schema = "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "1 with the probability that each element is, else 0.",
    .flags = CFX_OP_RANDOM,
    .infer = bernoulli_infer,
    .workspace = bernoulli_workspace,
    .run = bernoulli_run,
    .next = &bernoulli_p,
};
