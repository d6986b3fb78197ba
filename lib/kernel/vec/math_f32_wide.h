/*
 * math_f32_wide.h -- functions of float that are computed in double, for vectors.
 *
 * As those of math_f32.h they have no branches and call nothing. Intermediate results
 * are good to 1e-9, so that what is left is the rounding to float, which also
 * makes infinities and subnormals. Integers of 64 bits are only shifted to the
 * left or as numbers without a sign: AVX2 has nothing else.
 */
#ifndef CFX_MATH_F32_WIDE_H
#define CFX_MATH_F32_WIDE_H

#include <math.h>
#include <stdint.h>

#include <cfx/compiler.h>

#include "kernel/vec/math_f32.h"

typedef union cfx_word64 {
    double d;
    uint64_t u;
} cfx_word64;

/* ---- Exponentials ---- */

/* 2^r - 1 for |r| <= 1/2. */
CFX_INLINE double exp2m1_rest(double r)
{
    double q = 0x1.fde5c72fe9b9dp-17;

    q = q * r + 0x1.445ca6eea2f7bp-13;
    q = q * r + 0x1.5d8a868806e48p-10;
    q = q * r + 0x1.3b29f37512761p-7;
    q = q * r + 0x1.c6b08abf936cap-5;
    q = q * r + 0x1.ebfbe077ae976p-3;
    q = q * r + 0x1.62e42ff0e2171p-1;
    return q * r;
}

/* The nearest integer n of |x| <= 1000; gives 2^n, and x - n. */
CFX_INLINE double exp2_split(double x, double *power)
{
    const double magic = 0x1.8p52 + 1023;
    cfx_word64 t = {.d = x + magic}, two = {.u = t.u << 52};

    *power = two.d;
    return x - (t.d - magic);
}

/* 2^x for |x| <= 1000. */
CFX_INLINE double exp2_wide(double x)
{
    double power, r = exp2_split(x, &power);

    return exp2m1_rest(r) * power + power;
}

/* e^x - 1 for |x| <= 500. */
CFX_INLINE double expm1_wide(double x)
{
    double power, r = exp2_split(x * 0x1.71547652b82fep0, &power);

    return exp2m1_rest(r) * power + (power - 1);
}

/* ---- Logarithms ---- */

/*
 * log(x) for x >= 2^-1022: of m with x = m 2^e, 2/3 < m <= 4/3, it is
 * 2 artanh(s), s = (m - 1) / (m + 1).
 */
CFX_INLINE double log_wide(double x)
{
    cfx_word64 w = {.d = x}, e, m;
    double s, z, q, n;

    e.u = w.u >> 52 | 0x4330000000000000; /* 2^52 + the biased exponent */
    m.u = (w.u & 0xfffffffffffff) | 0x3ff0000000000000;
    n = e.d - (0x1p52 + 1023);
    n = m.d > 4.0 / 3 ? n + 1 : n;
    m.d = m.d > 4.0 / 3 ? m.d * 0.5 : m.d;
    s = (m.d - 1) / (m.d + 1);
    z = s * s;
    q = 0x1.9c3380d1222b3p-3;
    q = q * z + 0x1.c551a7ff2ba71p-3;
    q = q * z + 0x1.2496eb9e367a2p-2;
    q = q * z + 0x1.99998f2e3d0c7p-2;
    q = q * z + 0x1.55555559215b5p-1;
    q = n * 0x1.62e42fefa39efp-1 + (q * z + 2) * s;
    q = x == (double)INFINITY ? x : q;
    q = x == 0 ? -(double)INFINITY : q;
    return x >= 0 ? q : (double)NAN;
}

/* ---- Functions of float ---- */

CFX_INLINE float sinh_f32(float x)
{
    double a = fabsf(x), m = expm1_wide(a < 100 ? a : 100);
    float y = (float)((m + m / (m + 1)) * 0.5);

    return x != x ? x : copysign_f32(y, x);
}

CFX_INLINE float cosh_f32(float x)
{
    double a = fabsf(x), e = expm1_wide(a < 100 ? a : 100) + 1;
    float y = (float)((e + 1 / e) * 0.5);

    return x != x ? x : y;
}

/* Below 2^-12 the next term of the series is less than 2^-50 of the result. */
CFX_INLINE float asinh_f32(float x)
{
    double a = fabsf(x);
    double y = log_wide(a + sqrt(a * a + 1));

    y = a < 0x1p-12 ? a - a * a * a * (1.0 / 6) : y;
    return copysign_f32((float)y, x);
}

CFX_INLINE float acosh_f32(float x)
{
    double a = x;

    return x >= 1 ? (float)log_wide(a + sqrt(a * a - 1)) : NAN;
}

CFX_INLINE float atanh_f32(float x)
{
    double a = fabsf(x);
    double y = 0.5 * log_wide((1 + a) / (1 - a));

    y = a < 0x1p-12 ? a + a * a * a * (1.0 / 3) : y;
    return copysign_f32((float)y, x);
}

/* For x >= 0, e^(-x^2) times a polynomial of t = 1 / (1 + x / 2). */
CFX_INLINE float erfc_f32(float x)
{
    double a = fabsf(x) < 10.2f ? fabsf(x) : 10.2f;
    double t = 1 / (1 + a * 0.5), q = -0x1.da628d24afa7cp-6;

    q = q * t + 0x1.bef79a061a791p-3;
    q = q * t - 0x1.665e1da6474d7p-1;
    q = q * t + 0x1.356bd19d57fb6p+0;
    q = q * t - 0x1.2898f98152c94p+0;
    q = q * t + 0x1.3123feb840762p-1;
    q = q * t - 0x1.11d4b6c78d492p-2;
    q = q * t + 0x1.415a60cc4e792p-3;
    q = q * t + 0x1.4cc136e1608d1p-3;
    q = q * t + 0x1.fcfbed14a1babp-3;
    q = q * t + 0x1.20bdb8386fb1ep-2;
    q = q * t + 0x1.20de756e66e79p-2;
    q = q * t * exp2_wide(a * a * -0x1.71547652b82fep0);
    q = x < 0 ? 2 - q : q;
    return x != x ? x : (float)q;
}

CFX_INLINE float hypot_f32(float x, float y)
{
    double a = x, b = y;
    float h = (float)sqrt(a * a + b * b);

    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : h;
}

/* Is y, which is finite, an odd integer? */
CFX_INLINE int is_odd_f32(float y)
{
    return y == rint_f32(y) && y * 0.5f != rint_f32(y * 0.5f);
}

CFX_INLINE float pow_f32(float x, float y)
{
    float a = fabsf(x), p;
    double t = (double)y * (log_wide(a) * 0x1.71547652b82fep0);

    t = a == 1 ? 0 : t; /* also where y is infinite */
    t = t < 300 ? t : 300;
    t = t > -300 ? t : -300;
    p = (float)exp2_wide(t);
    p = is_odd_f32(y) ? copysign_f32(p, x) : p;
    p = x < 0 && a < INFINITY && y != rint_f32(y) ? NAN : p;
    p = x != x || y != y ? NAN : p;
    return y == 0 || x == 1 ? 1 : p;
}

/*
 * fmod: the quotient, below 2^28, has an exact product with y, and the difference
 * is exact, too. Other arguments are for the C library (is_hard_fmod).
 */
CFX_INLINE float fmod_within(float x, float y)
{
    double a = fabsf(x), c = fabsf(y), b = c < 0x1p200 ? c : 0x1p200;
    double q = a / b, n = q + 0x1p52 - 0x1p52, over = n > q ? 1 : 0;

    return copysign_f32((float)(a - (n - over) * b), x);
}

CFX_INLINE int is_hard_fmod(float x, float y)
{
    return !(fabsf(x) < 0x1p28f * fabsf(y));
}

#endif
