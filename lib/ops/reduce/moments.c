/*
 * moments -- several sums at once, and sums that pass over NaN: var_mean,
 * std_mean, aminmax, nansum, nanmean, dist; products of rows and of chains.
 *
 * shape   the argument's without the reduced axes (of extent 1 with keepdim).
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

#define IN(k) cfx_call_value(call, k)

static cfx_value pair(cfx_scope *s, cfx_value a, cfx_value b)
{
    return cfx_tuple(s, a, b);
}

/* ---- var_mean, std_mean ---- */

CFX_PARAMS(params, SELF, OTHER, X, Y, P, DIM, CORRECTION, KEEPDIM, DTYPE);

static cfx_value spread_and_mean(cfx_scope *s, const cfx_call *call,
                                 const char *spread)
{
    cfx_value args[] = {IN(SELF), IN(DIM)};
    cfx_value named[] = {
        cfx_str(s, "keepdim"),
        IN(KEEPDIM),
        cfx_str(s, "correction"),
        IN(CORRECTION),
    };
    cfx_value v = cfx_call_function(s, spread, (cfx_args){args, 2, named, 2});
    return pair(
        s, v,
        cfx_call_function(s, "torch.mean", (cfx_args){args, 2, named, 1}));
}

static cfx_value var_mean_build(cfx_scope *s, const cfx_call *call)
{
    return spread_and_mean(s, call, "torch.var");
}

static cfx_value std_mean_build(cfx_scope *s, const cfx_call *call)
{
    return spread_and_mean(s, call, "torch.std");
}

/* unbiased=False is a correction of 0. */
static cfx_status unbiased_lower(cfx_call *call, const cfx_value *in,
                                 cfx_value *out)
{
    enum { B_SELF, B_UNBIASED };
    cfx_value unbiased = in[B_UNBIASED];
    out[cfx_call_place(call, SELF)] = in[B_SELF];
    out[cfx_call_place(call, CORRECTION)] = cfx_int(
        unbiased.kind == CFX_BOOL_VALUE && unbiased.u.i);
    return CFX_OK;
}

static cfx_status dim_lower(cfx_call *call, const cfx_value *in,
                            cfx_value *out)
{
    enum { D_SELF, D_DIM, D_UNBIASED, D_KEEPDIM };
    cfx_value unbiased = in[D_UNBIASED];
    out[cfx_call_place(call, SELF)] = in[D_SELF];
    out[cfx_call_place(call, DIM)] = in[D_DIM];
    out[cfx_call_place(call, CORRECTION)] = cfx_int(
        unbiased.kind == CFX_BOOL_VALUE && unbiased.u.i);
    out[cfx_call_place(call, KEEPDIM)] = in[D_KEEPDIM];
    return CFX_OK;
}

#define PAIR " -> (Tensor, Tensor)"
#define MOMENTS(name, doc_)                                                   \
    CFX_COMPOSITE(name)                                                       \
    static const cfx_variant name##_variants[] = {                            \
        {"torch." #name "(Tensor self, bool unbiased)" PAIR, unbiased_lower}, \
        {"torch." #name "(Tensor self, int[1]? dim, bool unbiased, bool "     \
         "keepdim=False)" PAIR,                                               \
         dim_lower},                                                          \
        {"aten." #name ".default(Tensor self, bool unbiased=True)" PAIR,      \
         unbiased_lower},                                                     \
        {"aten." #name ".dim(Tensor self, int[1]? dim, bool unbiased=True, "  \
         "bool keepdim=False)" PAIR,                                          \
         dim_lower},                                                          \
        {NULL, NULL},                                                         \
    };                                                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name ".correction(Tensor self, int[1]? dim=None, *, "      \
                        "Scalar? correction=None, bool keepdim=False)" PAIR,  \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .variants = name##_variants,                                          \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };

MOMENTS(var_mean, "The variance and the mean.")
MOMENTS(std_mean, "The standard deviation and the mean.")

/* ---- aminmax ---- */

static cfx_value aminmax_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value dim = cfx_call_has(call, DIM)
                        ? cfx_tuple(s, IN(DIM))
                        : cfx_list_of(s, CFX_TUPLE, 0, NULL);
    return pair(s, CFX_CALL(s, "torch.amin", IN(SELF), dim, IN(KEEPDIM)),
                CFX_CALL(s, "torch.amax", IN(SELF), dim, IN(KEEPDIM)));
}

CFX_COMPOSITE(aminmax)

const cfx_op cfx_op__aminmax = {
    .schema =
        "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The least and the greatest element.",
    .infer = aminmax_infer,
    .cost = aminmax_cost,
    .run = aminmax_run,
};

/* ---- nansum, nanmean ---- */

static cfx_value nansum_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(SELF), dtype[] = {cfx_str(s, "dtype"), IN(DTYPE)};
    if (cfx_dtype_is_float((cfx_dtype)x.u.tensor->dtype))
        x = CFX_CALL(s, "torch.masked_fill", x, CFX_CALL(s, "torch.isnan", x),
                     cfx_int(0));
    return cfx_call_function(
        s, "torch.sum",
        (cfx_args){(cfx_value[]){x, IN(DIM), IN(KEEPDIM)}, 3, dtype, 1});
}

static cfx_value nanmean_build(cfx_scope *s, const cfx_call *call)
{
    if (!cfx_dtype_is_float((cfx_dtype)IN(SELF).u.tensor->dtype))
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "nanmean: expected input to have floating point dtype");
    cfx_value some = CFX_CALL(s, "torch.logical_not",
                              CFX_CALL(s, "torch.isnan", IN(SELF)));
    return CFX_CALL(s, "torch.div", nansum_build(s, call),
                    CFX_CALL(s, "torch.sum", some, IN(DIM), IN(KEEPDIM)));
}

#define NAN_SUM(name, doc_)                                                   \
    CFX_COMPOSITE(name)                                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name                                                       \
        "(Tensor self, int[1]? dim=None, bool keepdim=False, "                \
        "*, ScalarType? dtype=None) -> Tensor",                               \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };

NAN_SUM(nansum, "The sum of what is a number.")
NAN_SUM(nanmean, "The mean of what is a number.")

/* ---- Products and differences ---- */

static cfx_value dist_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.norm",
                    CFX_CALL(s, "torch.sub", IN(SELF), IN(OTHER)), IN(P));
}

CFX_COMPOSITE(dist)

const cfx_op cfx_op__dist = {
    .schema = "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The p-norm of the difference.",
    .flags = CFX_OP_COMPLEX,
    .infer = dist_infer,
    .cost = dist_cost,
    .run = dist_run,
};

static cfx_value linalg_vecdot_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(X);
    if (cfx_dtype_is_complex((cfx_dtype)x.u.tensor->dtype))
        x = CFX_CALL(s, "torch.conj", x);
    cfx_value product = CFX_CALL(s, "torch.mul", x, IN(Y));
    return CFX_CALL(s, "torch.sum", product, cfx_tuple(s, IN(DIM)));
}

CFX_COMPOSITE(linalg_vecdot)

const cfx_op cfx_op__linalg_vecdot = {
    .schema = "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The products of vectors along an axis.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_vecdot_infer,
    .cost = linalg_vecdot_cost,
    .run = linalg_vecdot_run,
};

static cfx_value msort_build(cfx_scope *s, const cfx_call *call)
{
    return cfx_nth(s, CFX_CALL(s, "torch.sort", IN(SELF), cfx_int(0)), 0);
}

CFX_COMPOSITE(msort)

const cfx_op cfx_op__msort = {
    .schema = "msort(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements sorted along the first axis.",
    .infer = msort_infer,
    .cost = msort_cost,
    .run = msort_run,
};

static cfx_value softmin_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = CFX_CALL(s, "torch.neg", IN(SELF));
    cfx_value dtype[] = {cfx_str(s, "dtype"), IN(DTYPE)};
    return cfx_call_function(
        s, "torch.softmax",
        (cfx_args){(cfx_value[]){x, IN(DIM)}, 2, dtype, 1});
}

CFX_COMPOSITE(softmin)

const cfx_op cfx_op__softmin = {
    .schema =
        "softmin(Tensor input, int dim, ScalarType? dtype=None) -> Tensor",
    .params = params,
    .variants =
        (const cfx_variant[]){
            {"torch.nn.functional.softmin(Tensor input, int dim, int _stacklevel=3, ScalarType? dtype=None) -> Tensor",
             NULL},
            {NULL, NULL}},
    .doc = "The softmax of the negative.",
    .flags = CFX_OP_COMPLEX,
    .infer = softmin_infer,
    .cost = softmin_cost,
    .run = softmin_run,
};
