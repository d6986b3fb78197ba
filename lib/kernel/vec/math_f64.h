/*
 * math_f64.h -- functions of double: the C library's, and what it lacks. The
 * same names as in math_f32.h, with the suffix _f64.
 */
#ifndef CFX_MATH_F64_H
#define CFX_MATH_F64_H

#include <math.h>

#include <cfx/compiler.h>

#include "kernel/vec/simd.h"

/* clang-format off */
CFX_INLINE double abs_f64(double x) { return fabs(x); }
CFX_INLINE double sqrt_f64(double x) { return sqrt(x); }
CFX_INLINE int isnan_f64(double x) { return x != x; }
CFX_INLINE int isinf_f64(double x) { return fabs(x) == INFINITY; }
CFX_INLINE int isfinite_f64(double x) { return fabs(x) < INFINITY; }
CFX_INLINE int signbit_f64(double x) { return signbit(x) != 0; }
CFX_INLINE double copysign_f64(double x, double y) { return copysign(x, y); }
CFX_INLINE double rint_f64(double x) { return rint(x); }
CFX_INLINE double floor_f64(double x) { return floor(x); }
CFX_INLINE double ceil_f64(double x) { return ceil(x); }
CFX_INLINE double trunc_f64(double x) { return trunc(x); }

CFX_INLINE double exp_f64(double x) { return exp(x); }
CFX_INLINE double exp2_f64(double x) { return exp2(x); }
CFX_INLINE double expm1_f64(double x) { return expm1(x); }
CFX_INLINE double log_f64(double x) { return log(x); }
CFX_INLINE double log2_f64(double x) { return log2(x); }
CFX_INLINE double log10_f64(double x) { return log10(x); }
CFX_INLINE double log1p_f64(double x) { return log1p(x); }
CFX_INLINE double sin_f64(double x) { return sin(x); }
CFX_INLINE double cos_f64(double x) { return cos(x); }
CFX_INLINE double tan_f64(double x) { return tan(x); }
CFX_INLINE double asin_f64(double x) { return asin(x); }
CFX_INLINE double acos_f64(double x) { return acos(x); }
CFX_INLINE double atan_f64(double x) { return atan(x); }
CFX_INLINE double sinh_f64(double x) { return sinh(x); }
CFX_INLINE double cosh_f64(double x) { return cosh(x); }
CFX_INLINE double tanh_f64(double x) { return tanh(x); }
CFX_INLINE double asinh_f64(double x) { return asinh(x); }
CFX_INLINE double acosh_f64(double x) { return acosh(x); }
CFX_INLINE double atanh_f64(double x) { return atanh(x); }
CFX_INLINE double erf_f64(double x) { return erf(x); }
CFX_INLINE double erfc_f64(double x) { return erfc(x); }
CFX_INLINE double lgamma_f64(double x) { return lgamma(x); }
CFX_INLINE double atan2_f64(double x, double y) { return atan2(x, y); }
CFX_INLINE double hypot_f64(double x, double y) { return hypot(x, y); }
CFX_INLINE double pow_f64(double x, double y) { return pow(x, y); }
CFX_INLINE double nextafter_f64(double x, double y) { return nextafter(x, y); }
/* clang-format on */

/* x = mantissa 2^exponent; what is not finite has an exponent of 0. */
CFX_INLINE double mantissa_f64(double x)
{
    int n;

    return frexp(x, &n);
}
CFX_INLINE double exponent_f64(double x)
{
    int n = 0;

    if (isfinite_f64(x))
        frexp(x, &n);
    return n;
}

CFX_INLINE double gelu_f64(double x)
{
    return x * 0.5 * erfc(-x * 0x1.6a09e667f3bcdp-1);
}

CFX_INLINE double gelu_tanh_f64(double x)
{
    double z = 0x1.9884533d43651p-1 * (x + 0.044715 * x * x * x);

    return 0.5 * x * (1 + tanh(z));
}

CFX_INLINE double mish_f64(double x)
{
    double e = exp(x > 40 ? 40 : x), n = e * (e + 2);

    return x > 40 ? x : x * (n / (n + 2));
}

CFX_INLINE double clamp_f64(double x, double lo, double hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}
CFX_INLINE double clamp3_f64(double x, double lo, double hi)
{
    x = x < lo || lo != lo ? lo : x;
    return x > hi || hi != hi ? hi : x;
}

CFX_INLINE double logit_f64(double x, double eps)
{
    x = eps < 0 ? x : clamp_f64(x, eps, 1 - eps);
    return log(x / (1 - x));
}

CFX_INLINE double logaddexp_f64(double x, double y)
{
    double m = x > y || x != x ? x : y;

    return x == y && isinf_f64(x) ? x : m + log1p(exp(-fabs(x - y)));
}

CFX_INLINE double lerp_f64(double x, double y, double w)
{
    return fabs(w) < 0.5 ? x + w * (y - x) : y - (y - x) * (1 - w);
}

CFX_INLINE double fmod_f64(double x, double y, unsigned *zero)
{
    (void)zero;
    return fmod(x, y);
}
CFX_INLINE double remainder_f64(double x, double y, unsigned *zero)
{
    double r = fmod(x, y);

    (void)zero;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
CFX_INLINE double div_trunc_f64(double x, double y, unsigned *zero)
{
    (void)zero;
    return trunc(x / y);
}
CFX_INLINE double div_floor_f64(double x, double y, unsigned *zero)
{
    double r = fmod(x, y), q = (x - r) / y, f;

    (void)zero;
    if (y == 0)
        return x / y;
    if (r != 0 && (y < 0) != (r < 0))
        q -= 1;
    if (q == 0)
        return copysign(0, x / y);
    f = floor(q);
    return q - f > 0.5 ? f + 1 : f;
}

#endif
