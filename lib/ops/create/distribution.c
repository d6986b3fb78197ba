/*
 * distribution -- random numbers of other distributions, made of uniform ones
 * and normal ones: exponential, cauchy, geometric, log_normal, multinomial.
 *
 * shape   the argument's; multinomial: so many samples of each row.
 * cost    not counted; writes the result.
 */
#include <float.h>
#include <math.h>

#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, LAMBD, MEDIAN, SIGMA, P, MEAN, STD, GENERATOR,
           NUM_SAMPLES, REPLACEMENT);

#define IN(k) cfx_call_value(call, k)

/* ---- Elements replaced by random numbers ---- */

/* Numbers from 0 to 1, or normal ones, for each element; of 64 bits where the
 * result has as many. */
static cfx_value random_like(cfx_scope *s, const cfx_call *call,
                             const char *name)
{
    cfx_value x = IN(SELF);
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_value key[] = {
        cfx_str(s, "dtype"),
        cfx_value_of_dtype(cfx_dtype_size(type) == 8 ? CFX_F64 : CFX_F32)};
    return cfx_call_function(s, name, (cfx_args){&x, 1, key, 1});
}

/* log(1 - u), which is never 0. */
static cfx_value log_of_rest(cfx_scope *s, const cfx_call *call)
{
    cfx_value u = random_like(s, call, "torch.rand_like");
    u = CFX_CALL(s, "torch.log1p", CFX_CALL(s, "torch.neg", u));
    return CFX_CALL(s, "torch.clamp", u, cfx_none(), cfx_float(-FLT_MIN));
}

static cfx_value exponential_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.div", log_of_rest(s, call),
                    cfx_float(-cfx_call_double(call, LAMBD)));
}

static cfx_value cauchy_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value u = random_like(s, call, "torch.rand_like");
    u = CFX_CALL(s, "torch.mul", CFX_CALL(s, "torch.sub", u, cfx_float(0.5)),
                 cfx_float(M_PI));
    u = CFX_CALL(s, "torch.mul", CFX_CALL(s, "torch.tan", u), IN(SIGMA));
    return CFX_CALL(s, "torch.add", u, IN(MEDIAN));
}

static cfx_value geometric_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value u = log_of_rest(s, call);
    u = CFX_CALL(s, "torch.div", u,
                 cfx_float(log1p(-cfx_call_double(call, P))));
    return CFX_CALL(s, "torch.ceil", u);
}

static cfx_value log_normal_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = random_like(s, call, "torch.randn_like");
    x = CFX_CALL(s, "torch.add", CFX_CALL(s, "torch.mul", x, IN(STD)),
                 IN(MEAN));
    return CFX_CALL(s, "torch.exp", x);
}

/* A parameter within (0, most). */
static cfx_status check(cfx_call *call, int k, double most)
{
    double v = cfx_call_double(call, k);
    const char *name = call->schema->params[cfx_call_place(call, k)].name;
    if ((v > 0 && v < most) || cfx_infer_is_unknown(call, v))
        return CFX_OK;
    return cfx_call_fail(call, CFX_EINVAL, "expects %s %s, but found %g", name,
                         most == 1 ? "in (0, 1)" : "> 0", v);
}

static cfx_status like_infer(cfx_call *call, bool floats)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_status st = CFX_OK;
    if (floats)
        st = cfx_infer_need_float(call, type);
    else if (type == CFX_BOOL)
        st = cfx_infer_refuse(call, type);
    return st ? st : cfx_infer_like(call, x, type);
}

#define DISTRIBUTION(name, list, checked, most, floats, doc_)                 \
    static cfx_status name##_infer(cfx_call *call)                            \
    {                                                                         \
        cfx_status st = check(call, checked, most);                           \
        return st ? st : like_infer(call, floats);                            \
    }                                                                         \
    static cfx_status name##_run(cfx_call *call)                              \
    {                                                                         \
        return cfx_composite_run(call, name##_build);                         \
    }                                                                         \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, " list ", *, Generator? "              \
                        "generator=None) -> Tensor",                          \
        .params = params,                                                     \
        .aliases = "aten.",                                                   \
        .inplace_aliases = "Tensor. aten.",                                   \
        .doc = doc_,                                                          \
        .flags = CFX_OP_RANDOM | CFX_OP_INPLACE,                              \
        .infer = name##_infer,                                                \
        .cost = cfx_cost_created,                                             \
        .run = name##_run,                                                    \
    };

DISTRIBUTION(exponential, "float lambd=1.0", LAMBD, INFINITY, true,
             "Every element replaced by an exponentially distributed number.")
DISTRIBUTION(cauchy, "float median=0.0, float sigma=1.0", SIGMA, INFINITY,
             true,
             "Every element replaced by a number of Cauchy's distribution.")
DISTRIBUTION(geometric, "float p", P, 1, false,
             "Every element replaced by the number of trials until success.")
DISTRIBUTION(
    log_normal, "float mean=1.0, float std=2.0", STD, INFINITY, true,
    "Every element replaced by the exponential of a normally distributed number.")

/* ---- multinomial ---- */

static cfx_status multinomial_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim count = cfx_value_dim(IN(NUM_SAMPLES)), shape[2];
    cfx_status st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (!st && (x->rank < 1 || x->rank > 2))
        st = cfx_call_fail(call, CFX_ESHAPE, "prob_dist must be 1 or 2 dim");
    if (!st && !cfx_dim_lt(call->env, cfx_dim_int(0), count))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "cannot sample n_sample <= 0 samples");
    if (!st && !cfx_call_bool(call, REPLACEMENT) &&
        !cfx_dim_le(call->env, count, x->shape[x->rank - 1]))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    if (st)
        return st;
    shape[0] = x->shape[0];
    shape[x->rank - 1] = count;
    return cfx_call_out(call, CFX_I64, x->rank, shape);
}

/* The greatest quotients by exponential numbers are samples without
 * replacement; with it, uniform numbers are looked up in running sums. */
static cfx_value multinomial_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_value x = CFX_CALL(s, "Tensor.to", IN(SELF),
                           cfx_value_of_dtype(CFX_F64));
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_F64)};
    cfx_value last = cfx_int(-1), n = cfx_size(s, x, -1), extents[2];
    if (!cfx_call_bool(call, REPLACEMENT)) {
        cfx_value q = CFX_CALL(s, "Tensor.exponential_",
                               CFX_CALL(s, "torch.empty_like", x));
        q = CFX_CALL(s, "torch.div", x, q);
        return cfx_nth(s, CFX_CALL(s, "torch.topk", q, IN(NUM_SAMPLES)), 1);
    }
    x = CFX_CALL(s, "torch.cumsum", x, last);
    for (int i = 0; i < y->rank; i++)
        extents[i] = cfx_value_of_dim(y->shape[i]);
    cfx_value size = cfx_list_of(s, CFX_TUPLE, (size_t)y->rank, extents);
    cfx_value u = cfx_call_function(s, "torch.rand",
                                    (cfx_args){&size, 1, key, 1});
    u = CFX_CALL(s, "torch.mul", u,
                 CFX_CALL(s, "torch.narrow", x, last,
                          cfx_int_add(s, n, cfx_int(-1)), cfx_int(1)));
    cfx_value right[] = {cfx_str(s, "right"), cfx_bool(true)};
    return cfx_call_function(s, "torch.searchsorted",
                             (cfx_args){(cfx_value[]){x, u}, 2, right, 1});
}

static cfx_status multinomial_run(cfx_call *call)
{
    cfx_scope s;
    cfx_value x = IN(SELF);
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value good = CFX_CALL(&s, "torch.logical_and",
                              CFX_CALL(&s, "torch.isfinite", x),
                              CFX_CALL(&s, "torch.ge", x, cfx_int(0)));
    cfx_value some = CFX_CALL(
        &s, "torch.gt",
        CFX_CALL(&s, "torch.amax", x, cfx_tuple(&s, cfx_int(-1))), cfx_int(0));
    bool ok = cfx_truth(&s, CFX_CALL(&s, "torch.all", good)),
         sum = cfx_truth(&s, CFX_CALL(&s, "torch.all", some));
    cfx_status st = cfx_scope_status(&s, call->err);
    cfx_scope_release(&s);
    if (!st && !ok)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "probability tensor contains either `inf`, `nan` or element < 0");
    if (!st && !sum)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "invalid multinomial distribution (sum of probabilities <= 0)");
    return st ? st : cfx_composite_run(call, multinomial_build);
}

const cfx_op cfx_op__multinomial = {
    .schema =
        "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Places in each row, with the probabilities that are there.",
    .flags = CFX_OP_RANDOM,
    .infer = multinomial_infer,
    .cost = cfx_cost_first,
    .run = multinomial_run,
};
