/*
 * special -- special functions: of gamma's and the error function's family,
 * Bessel functions, orthogonal polynomials; and functions of the digits of
 * numbers: gcd, nextafter, frexp.
 *
 * shape   that of the arguments, broadcast.
 * type    floating, which of integers is float32, unless noted.
 * cost    one step, transcendental, for each element.
 */
#include <math.h>

#include "op/composite.h"
#include "op/rules.h"

CFX_PARAMS(params, SELF, OTHER, X, N, P);

/* ---- infer ---- */

static cfx_status refuse_halves(const cfx_call *call, cfx_dtype type)
{
    return cfx_dtype_is_reduced(type) ? cfx_infer_refuse(call, type) : CFX_OK;
}

/* PyTorch has no kernel for f16 and bf16. */
static cfx_status wide_unary(cfx_call *call)
{
    cfx_status st = refuse_halves(call, cfx_infer_float_type(call, 0, 1));
    return st ? st : cfx_unary_float(call);
}

static cfx_status wide_binary(cfx_call *call)
{
    cfx_status st = refuse_halves(call, cfx_infer_float_type(call, 0, 2));
    return st ? st : cfx_binary_float(call);
}

/* ---- One argument ---- */

#define SPECIAL(name, code_, infer_, flags_, aliases_, doc_)                  \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | flags_,                                   \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cfx_cost_1_1,                                                 \
        .loop = cfx_unary_loop,                                               \
        .run = cfx_loop_call,                                                 \
    };
/* Those that only torch.special has. */
#define ONLY_SPECIAL(name, code_, infer_, doc_)                               \
    SPECIAL(special_##name, code_, infer_, 0, "torch.special. aten.", doc_)

SPECIAL(digamma, DIGAMMA, cfx_unary_float, CFX_OP_INPLACE,
        "torch. torch.special.psi Tensor. aten.",
        "The derivative of the gamma function's logarithm.")
SPECIAL(erfinv, ERFINV, cfx_unary_float, CFX_OP_INPLACE,
        "torch. Tensor. aten.", "The inverse of the error function.")
SPECIAL(i0, I0, cfx_unary_float, CFX_OP_INPLACE, "torch. Tensor. aten.",
        "The modified Bessel function of the first kind, of order 0.")
ONLY_SPECIAL(i0e, I0E, cfx_unary_float, "i0(x) exp(-|x|).")
ONLY_SPECIAL(i1, I1, cfx_unary_float,
             "The modified Bessel function of the first kind, of order 1.")
ONLY_SPECIAL(i1e, I1E, cfx_unary_float, "i1(x) exp(-|x|).")
ONLY_SPECIAL(ndtri, NDTRI, wide_unary, "The normal distribution's quantiles.")
ONLY_SPECIAL(
    log_ndtr, LOG_NDTR, wide_unary,
    "The logarithm of the normal distribution's cumulative probability.")
ONLY_SPECIAL(erfcx, ERFCX, wide_unary, "exp(x^2) erfc(x).")
ONLY_SPECIAL(airy_ai, AIRY_AI, wide_unary, "Airy's function Ai.")
ONLY_SPECIAL(bessel_j0, J0, wide_unary,
             "The Bessel function of the first kind, of order 0.")
ONLY_SPECIAL(bessel_j1, J1, wide_unary,
             "The Bessel function of the first kind, of order 1.")
ONLY_SPECIAL(bessel_y0, Y0, wide_unary,
             "The Bessel function of the second kind, of order 0.")
ONLY_SPECIAL(bessel_y1, Y1, wide_unary,
             "The Bessel function of the second kind, of order 1.")
ONLY_SPECIAL(modified_bessel_i0, I0, wide_unary,
             "The modified Bessel function of the first kind, of order 0.")
ONLY_SPECIAL(modified_bessel_i1, I1, wide_unary,
             "The modified Bessel function of the first kind, of order 1.")
ONLY_SPECIAL(modified_bessel_k0, K0, wide_unary,
             "The modified Bessel function of the second kind, of order 0.")
ONLY_SPECIAL(modified_bessel_k1, K1, wide_unary,
             "The modified Bessel function of the second kind, of order 1.")
ONLY_SPECIAL(spherical_bessel_j0, SPHERICAL_J0, wide_unary, "sin(x) / x.")
/* Their parameter has another name. */
#define SCALED(name, code_, doc_)                                             \
    const cfx_op cfx_op__special_##name = {                                   \
        .schema = "special_" #name "(Tensor x) -> Tensor",                    \
        .params = params,                                                     \
        .aliases = "torch.special. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE,                                            \
        .code = CFX_PW_##code_,                                               \
        .infer = wide_unary,                                                  \
        .cost = cfx_cost_1_1,                                                 \
        .loop = cfx_unary_loop,                                               \
        .run = cfx_loop_call,                                                 \
    };
SCALED(scaled_modified_bessel_k0, K0E, "modified_bessel_k0(x) exp(x).")
SCALED(scaled_modified_bessel_k1, K1E, "modified_bessel_k1(x) exp(x).")

/* ---- polygamma ---- */

static cfx_status polygamma_infer(cfx_call *call)
{
    if (cfx_call_int(call, N) < 0)
        return cfx_call_fail(call, CFX_EINVAL,
                             "polygamma(n, x) does not support negative n.");
    return cfx_unary_float(call);
}

static cfx_status polygamma_run(cfx_call *call)
{
    double param[3] = {(double)cfx_call_int(call, N)};
    return cfx_unary_params(call, param);
}

const cfx_op cfx_op__polygamma = {
    .schema = "polygamma(Tensor self, int n) -> Tensor",
    .params = params,
    .aliases = "Tensor.",
    .inplace_aliases = "aten.",
    .variants =
        (const cfx_variant[]){
            {"torch.polygamma(int n, Tensor self) -> Tensor", NULL},
            {"aten.polygamma.default(int n, Tensor self) -> Tensor", NULL},
            {NULL, NULL}},
    .doc = "The n-th derivative of digamma.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .code = CFX_PW_POLYGAMMA,
    .infer = polygamma_infer,
    .cost = cfx_cost_1_1,
    .run = polygamma_run,
};

/* ---- mvlgamma: the sum of lgamma(x - j / 2), j < p, and a constant ---- */

static cfx_value mvlgamma_build(cfx_scope *s, const cfx_call *call)
{
    int64_t p = cfx_call_int(call, P);
    if (p < 1)
        return cfx_scope_fail(
            s, CFX_EINVAL, "mvlgamma: p has to be greater than or equal to 1");
    cfx_dtype type = cfx_infer_float_type(call, 0, 1);
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(type)};
    cfx_value range[] = {cfx_float(0.5 - (double)p / 2), cfx_float(0.5),
                         cfx_float(0.5)};
    cfx_value half = cfx_call_function(s, "torch.arange",
                                       (cfx_args){range, 3, key, 1});
    cfx_value x = CFX_CALL(s, "torch.unsqueeze", cfx_call_value(call, SELF),
                           cfx_int(-1));
    x = CFX_CALL(s, "torch.lgamma", CFX_CALL(s, "torch.add", x, half));
    x = CFX_CALL(s, "torch.sum", x, cfx_tuple(s, cfx_int(-1)));
    double constant = (double)p * ((double)p - 1) * log(M_PI) / 4;
    return CFX_CALL(s, "torch.add", x, cfx_float(constant));
}

CFX_COMPOSITE(mvlgamma)

const cfx_op cfx_op__mvlgamma = {
    .schema = "mvlgamma(Tensor self, int p) -> Tensor",
    .params = params,
    .aliases = "torch. torch.special.multigammaln Tensor. aten.",
    .doc = "The logarithm of the multivariate gamma function.",
    .flags = CFX_OP_INPLACE,
    .infer = mvlgamma_infer,
    .cost = mvlgamma_cost,
    .run = mvlgamma_run,
};

/* ---- Two arguments ---- */

#define PAIRED(name, list, code_, infer_, cost_, flags_, aliases_, doc_)      \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> Tensor",                               \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | flags_,                                   \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cost_,                                                        \
        .run = cfx_binary_run,                                                \
    };
PAIRED(igamma, CFX_TWO_TENSORS, IGAMMA, cfx_binary_only_float, cfx_cost_1_1,
       CFX_OP_INPLACE, "torch. torch.special.gammainc Tensor. aten.",
       "The regularized lower incomplete gamma function.")
PAIRED(igammac, CFX_TWO_TENSORS, IGAMMAC, cfx_binary_only_float, cfx_cost_1_1,
       CFX_OP_INPLACE, "torch. torch.special.gammaincc Tensor. aten.",
       "The regularized upper incomplete gamma function.")
PAIRED(nextafter, CFX_TWO_TENSORS, NEXTAFTER, cfx_binary_only_float,
       cfx_cost_0_0, CFX_OP_INPLACE, "torch. Tensor. aten.",
       "The next number that the type has, towards another.")
PAIRED(gcd, CFX_TWO_TENSORS, GCD, cfx_binary_same, cfx_cost_1_0,
       CFX_OP_INPLACE | CFX_OP_COMMUTES, "torch. Tensor. aten.",
       "The greatest common divisor.")
PAIRED(lcm, CFX_TWO_TENSORS, LCM, cfx_binary_same, cfx_cost_1_0,
       CFX_OP_INPLACE | CFX_OP_COMMUTES, "torch. Tensor. aten.",
       "The least common multiple.")
PAIRED(special_zeta, CFX_ONE_NUMBER, ZETA, wide_binary, cfx_cost_1_1, 0,
       "torch.special. aten." CFX_TT " .other_scalar" CFX_TS
       " .self_scalar" CFX_ST,
       "Hurwitz's zeta function: the sum of (y + k) to -x.")

#define POLYNOMIAL(name, code_, doc_)                                         \
    PAIRED(special_##name, "Tensor/Scalar x, Tensor/Scalar n", code_,         \
           wide_binary, cfx_cost_1_1, 0,                                      \
           "torch.special. aten." CFX_TT " .n_scalar" CFX_TS                  \
           " .x_scalar" CFX_ST,                                               \
           doc_)

POLYNOMIAL(chebyshev_polynomial_t, CHEBYSHEV_T,
           "Chebyshev's polynomials of the first kind.")
POLYNOMIAL(chebyshev_polynomial_u, CHEBYSHEV_U,
           "Chebyshev's polynomials of the second kind.")
POLYNOMIAL(chebyshev_polynomial_v, CHEBYSHEV_V,
           "Chebyshev's polynomials of the third kind.")
POLYNOMIAL(chebyshev_polynomial_w, CHEBYSHEV_W,
           "Chebyshev's polynomials of the fourth kind.")
POLYNOMIAL(shifted_chebyshev_polynomial_t, SHIFTED_T,
           "Chebyshev's polynomials of the first kind, of 2 x - 1.")
POLYNOMIAL(shifted_chebyshev_polynomial_u, SHIFTED_U,
           "Chebyshev's polynomials of the second kind, of 2 x - 1.")
POLYNOMIAL(shifted_chebyshev_polynomial_v, SHIFTED_V,
           "Chebyshev's polynomials of the third kind, of 2 x - 1.")
POLYNOMIAL(shifted_chebyshev_polynomial_w, SHIFTED_W,
           "Chebyshev's polynomials of the fourth kind, of 2 x - 1.")
POLYNOMIAL(hermite_polynomial_h, HERMITE_H,
           "Hermite's polynomials, as physicists have them.")
POLYNOMIAL(hermite_polynomial_he, HERMITE_HE,
           "Hermite's polynomials, as probabilists have them.")
POLYNOMIAL(laguerre_polynomial_l, LAGUERRE_L, "Laguerre's polynomials.")
POLYNOMIAL(legendre_polynomial_p, LEGENDRE_P, "Legendre's polynomials.")

/* ---- frexp ---- */

static cfx_status frexp_infer(cfx_call *call)
{
    cfx_status st = cfx_unary_only_float(call);
    return st ? st : cfx_infer_pointwise(call, 0, 1, CFX_I32);
}

static cfx_status frexp_run(cfx_call *call)
{
    static const cfx_pw parts[] = {CFX_PW_MANTISSA, CFX_PW_EXPONENT};
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    for (int i = 0; i < 2; i++) {
        cfx_iter it;
        cfx_loop_out(&it, call->out[i]);
        cfx_loop_in(&it, x);
        cfx_pointwise(call->ctx, parts[i], (cfx_dtype)x->dtype, &it, NULL);
    }
    return CFX_OK;
}

const cfx_op cfx_op__frexp = {
    .schema =
        "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Each number as a fraction from 0.5 to 1 and a power of 2.",
    .infer = frexp_infer,
    .run = frexp_run,
};
