/*
 * math_f32.h -- functions of float, written for vectors.
 *
 * Functions up to gelu have no branches and call nothing, so that loops over them
 * become vectors. They are within about 2 units in the last place (tan: 4), and right
 * for NaN, infinities, signed zeros and subnormals. The rest is the C
 * library's. Names are as in math.h with the suffix _f32.
 *
 * Polynomials were fitted to the smallest greatest error that their callers
 * see (relative, over the interval that the reduction leaves).
 */
#ifndef CFX_MATH_F32_H
#define CFX_MATH_F32_H

#include <math.h>
#include <stdint.h>

#include <cfx/compiler.h>

#include "kernel/vec/simd.h"
#include "base/convert.h"

typedef union cfx_word32 {
    float f;
    uint32_t u;
} cfx_word32;

CFX_INLINE uint32_t bits_f32(float x)
{
    return (cfx_word32){.f = x}.u;
}
CFX_INLINE float float_of_bits(uint32_t u)
{
    return (cfx_word32){.u = u}.f;
}

/* 2^n for -126 <= n <= 127. */
CFX_INLINE float power_of_2(int32_t n)
{
    return float_of_bits((uint32_t)(n + 127) << 23);
}

/* clang-format off */
CFX_INLINE float abs_f32(float x) { return fabsf(x); }
CFX_INLINE float sqrt_f32(float x) { return sqrtf(x); }
CFX_INLINE int isnan_f32(float x) { return x != x; }
CFX_INLINE int isinf_f32(float x) { return fabsf(x) == INFINITY; }
CFX_INLINE int isfinite_f32(float x) { return fabsf(x) < INFINITY; }
CFX_INLINE int signbit_f32(float x) { return bits_f32(x) >> 31 != 0; }
/* clang-format on */
CFX_INLINE float copysign_f32(float x, float y)
{
    return float_of_bits((bits_f32(x) & 0x7fffffff) |
                         (bits_f32(y) & 0x80000000));
}

/*
 * Rounding. Adding 1.5 * 2^23 leaves the nearest integer in the last bits. Not
 * all levels have an instruction for each, and a call would end the vectors.
 */
static const float round_magic = 0x1.8p23f;

CFX_INLINE float rint_f32(float x)
{
    float y = x + copysign_f32(0x1p23f, x) - copysign_f32(0x1p23f, x);

    return fabsf(x) < 0x1p23f ? copysign_f32(y, x) : x;
}
CFX_INLINE float floor_f32(float x)
{
    float y = rint_f32(x);

    return y > x ? y - 1 : y;
}
CFX_INLINE float ceil_f32(float x)
{
    float y = rint_f32(x);

    return y < x ? copysign_f32(y + 1, x) : y;
}
CFX_INLINE float trunc_f32(float x)
{
    return copysign_f32(floor_f32(fabsf(x)), x);
}

/* ---- Exponentials ---- */

/*
 * x with a magnitude of at most `most`; NaN too becomes a number. This is done
 * on the bits: comparisons of floats the compiler turns into branches, on which
 * it computes everything after them twice.
 */
CFX_INLINE float limit_f32(float x, float most)
{
    uint32_t m = bits_f32(x) & 0x7fffffff, limit = bits_f32(most);

    m = m < limit ? m : limit;
    return float_of_bits(m | (bits_f32(x) & 0x80000000));
}

/* |x|, but at most `most`, which also NaN becomes. */
CFX_INLINE float magnitude_f32(float x, float most)
{
    uint32_t m = bits_f32(x) & 0x7fffffff, limit = bits_f32(most);

    return float_of_bits(m < limit ? m : limit);
}

/* ln 2 in two parts; the first has 16 bits, so that its product with a small
 * integer is exact. */
static const float ln2_hi = 0x1.62e4p-1f, ln2_lo = 0x1.7f7d1cp-20f;
static const float log2_e = 0x1.715476p0f;

/* e^r - 1 - r for |r| <= ln(2) / 2. */
CFX_INLINE float exp_rest(float r)
{
    float q = 0x1.6a2156p-10f;

    q = q * r + 0x1.123b9cp-7f;
    q = q * r + 0x1.5558fcp-5f;
    q = q * r + 0x1.555490p-3f;
    q = q * r + 0x1.fffffcp-2f;
    return q * (r * r);
}

/* Adding this rounds as round_magic does, and leaves n + 254 in the last bits:
 * twice the exponent's bias, since 2^n is made of two factors. */
static const float power_magic = 0x1.8p23f + 254;

/* y * 2^n for -254 <= n <= 254, where t = n + power_magic. */
CFX_INLINE float scale_f32(float y, float t)
{
    uint32_t n = bits_f32(t), half = n >> 1;

    return y * float_of_bits(half << 23) * float_of_bits((n - half) << 23);
}

/* e^x for |x| <= 104; beyond, the result is infinite or 0. */
CFX_INLINE float exp_within(float x)
{
    float t = x * log2_e + power_magic, n = t - power_magic;
    float r = x - n * ln2_hi - n * ln2_lo;

    return scale_f32(exp_rest(r) + r + 1, t);
}

/* r and n of x = r + n ln 2, and 2^n, for |x| <= 87. */
CFX_INLINE float exp_split(float x, float *power)
{
    const float magic = 0x1.8p23f + 127;
    float t = x * log2_e + magic, n = t - magic;

    *power = float_of_bits(bits_f32(t) << 23);
    return x - n * ln2_hi - n * ln2_lo;
}

CFX_INLINE float exp_f32(float x)
{
    float y = exp_within(limit_f32(x, 104));

    return x != x ? x : y;
}

/* e^x for x <= 0; 0 below -80, where it is less than 2^-115: shares of a sum of these
 * are no subnormal numbers, which make products of them slow. */
CFX_INLINE float exp_negative_f32(float x)
{
    float power, r = exp_split(x, &power);
    float y = (exp_rest(r) + r + 1) * power;

    return x < -80 ? 0 : y;
}

CFX_INLINE float exp2_f32(float x)
{
    float c = limit_f32(x, 151);
    float t = c + power_magic, n = t - power_magic;
    float r = (c - n) * 0x1.62e43p-1f;
    float y = scale_f32(exp_rest(r) + r + 1, t);

    return x != x ? x : y;
}

/* e^x - 1 for |x| <= 89. */
CFX_INLINE float expm1_within(float x)
{
    float t = x * log2_e + round_magic, n = t - round_magic;
    float r = x - n * ln2_hi - n * ln2_lo, s;
    int32_t k = (int32_t)(bits_f32(t) - bits_f32(round_magic));

    /* Half of 2^n, since 2^128 is too large; the least do not count. */
    s = power_of_2((k < -125 ? -125 : k) - 1);
    return ((exp_rest(r) + r) * s + (s - 0.5f)) * 2;
}

CFX_INLINE float expm1_f32(float x)
{
    float y = expm1_within(limit_f32(x, 89));

    /* Nothing is lost of the smallest numbers; NaN stays. */
    return fabsf(x) >= 0x1p-30f ? y : x;
}

/* ---- Logarithms ---- */

/* log(1 + f) - f for -1/3 <= f <= 1/3; its terms in pairs. */
CFX_INLINE float log_rest(float f)
{
    float f2 = f * f, f4 = f2 * f2;
    float a = 0x1.555558p-2f - 0x1.ffff08p-3f * f;
    float b = 0x1.999770p-3f - 0x1.559a5ep-3f * f;
    float c = 0x1.24f680p-3f - 0x1.f35ed8p-4f * f;
    float d = 0x1.b84b88p-4f - 0x1.077b5ap-3f * f;
    float q = (a + b * f2) + ((c + d * f2) + 0x1.ecabbep-4f * f4) * f4;

    return f2 * (q * f - 0.5f);
}

/* x = (1 + f) * 2^e with 2/3 <= 1 + f < 4/3, for normal and subnormal x > 0. */
CFX_INLINE float log_split(float x, float *e)
{
    float small = x < 0x1p-126f ? 1.0f : 0.0f;
    uint32_t u = bits_f32(x < 0x1p-126f ? x * 0x1p23f : x);
    int32_t k = (int32_t)(u - 0x3f2aaaab) >> 23;

    *e = (float)k - small * 23;
    return float_of_bits(u - ((uint32_t)k << 23)) - 1;
}

/* Logarithms of arguments that are not positive. */
CFX_INLINE float log_special(float x, float y)
{
    y = x == INFINITY ? x : y;
    y = x == 0 ? -INFINITY : y;
    return x >= 0 ? y : NAN;
}

CFX_INLINE float log_f32(float x)
{
    float e, f = log_split(x, &e);
    float y = log_rest(f) + e * ln2_lo + f + e * ln2_hi;

    return log_special(x, y);
}

CFX_INLINE float log2_f32(float x)
{
    float e, f = log_split(x, &e);
    /* 1 / ln 2 is 1 and a rest, so that f need not be rounded. */
    float y = (log_rest(f) * log2_e + f * 0x1.c551dap-2f) + f + e;

    return log_special(x, y);
}

CFX_INLINE float log10_f32(float x)
{
    float e, f = log_split(x, &e);
    /* log10(2) in two parts, the first of 12 bits. */
    float y = (log_rest(f) + f) * 0x1.bcb7b2p-2f + e * 0x1.3509f8p-18f +
              e * 0x1.344p-2f;

    return log_special(x, y);
}

CFX_INLINE float log1p_f32(float x)
{
    float u = 1 + x;
    /* The rounding error of the addition. */
    float lost = x > 1 ? 1 - (u - x) : x - (u - 1);
    float e, f = log_split(u, &e);
    float y = log_rest(f) + e * ln2_lo + lost / u + f + e * ln2_hi;

    y = log_special(u, y);
    return fabsf(x) < 0x1p-25f ? x : y;
}

/* ---- Trigonometry ---- */

/*
 * The multiple of pi/2 is taken off in double, which is exact enough for |x| <
 * trig_limit; loops leave larger arguments to the C library.
 */
static const float trig_limit = 0x1p22f;

/* x = r + n pi/2 with |r| <= pi/4; gives n. */
CFX_INLINE float trig_split(float x, uint32_t *n)
{
    union {
        double d;
        uint64_t u;
    } t = {.d = (double)x * 0x1.45f306dc9c883p-1 + 0x1.8p52};
    double m = t.d - 0x1.8p52;

    *n = (uint32_t)t.u;
    return (float)((double)x - m * 0x1.921fb544p+0 -
                   m * 0x1.0b4611a626331p-34);
}

/* The sine and cosine of |r| <= pi/4, with z = r^2. */
CFX_INLINE float sine_within(float r, float z)
{
    return r + r * z *
                   (-0x1.555556p-3f +
                    z * (0x1.111108p-7f +
                         z * (-0x1.a00f7ep-13f + z * 0x1.6cd0cap-19f)));
}
CFX_INLINE float cosine_within(float z)
{
    return 1 - 0.5f * z +
           z * z *
               (0x1.555556p-5f + z * (-0x1.6c16b8p-10f + z * 0x1.a010c2p-16f));
}

CFX_INLINE float trig_f32(float x, uint32_t quarter)
{
    uint32_t n;
    float r = trig_split(x, &n), z = r * r;
    float sine = sine_within(r, z), cosine = cosine_within(z);
    uint32_t q = n + quarter;
    float y = q & 1 ? cosine : sine;

    return float_of_bits(bits_f32(y) ^ (q & 2) << 30);
}

CFX_INLINE float sin_f32(float x)
{
    return x == 0 ? x : trig_f32(x, 0);
}
CFX_INLINE float cos_f32(float x)
{
    return trig_f32(x, 1);
}

CFX_INLINE float tan_f32(float x)
{
    uint32_t n;
    float r = trig_split(x, &n), z = r * r;
    float sine = sine_within(r, z), cosine = cosine_within(z);
    float y = (n & 1 ? -cosine : sine) / (n & 1 ? sine : cosine);

    return x == 0 ? x : y;
}

/* atan(r) for 0 <= r <= 1. */
CFX_INLINE float atan_within(float r)
{
    float z = r * r, q = 0x1.7ed09ep-9f;

    q = q * z - 0x1.0c2b4cp-6f;
    q = q * z + 0x1.61fd38p-5f;
    q = q * z - 0x1.355672p-4f;
    q = q * z + 0x1.b4e10cp-4f;
    q = q * z - 0x1.230ad8p-3f;
    q = q * z + 0x1.9978f4p-3f;
    q = q * z - 0x1.5554dcp-2f;
    return r + r * (z * q);
}

/* pi / 2 in two parts. */
static const float half_pi_hi = 0x1.921fb6p0f, half_pi_lo = -0x1.777a5cp-25f;

CFX_INLINE float atan_f32(float x)
{
    float a = fabsf(x), y = atan_within(a > 1 ? 1 / a : a);

    y = a > 1 ? half_pi_hi - (y - half_pi_lo) : y;
    return copysign_f32(y, x);
}

/* The angle of the point (x, y). */
CFX_INLINE float atan2_f32(float y, float x)
{
    float a = fabsf(x), b = fabsf(y);
    float small = a < b ? a : b, large = a < b ? b : a;
    float r = small / large, t;

    r = small == large ? 1 : r; /* also infinities */
    r = large == 0 ? 0 : r;
    t = atan_within(r);
    t = a < b ? half_pi_hi - (t - half_pi_lo) : t;
    t = signbit_f32(x) ? 2 * half_pi_hi - (t - 2 * half_pi_lo) : t;
    return x != x || y != y ? NAN : copysign_f32(t, y);
}

/* asin(s) for |s| <= 1/2, with z = s^2. */
CFX_INLINE float asin_within(float s, float z)
{
    float q = 0x1.59861cp-5f;

    q = q * z + 0x1.8c0cc2p-6f;
    q = q * z + 0x1.7480dep-5f;
    q = q * z + 0x1.3301ccp-4f;
    q = q * z + 0x1.5555c8p-3f;
    return s + s * (z * q);
}

/* Beyond 1/2 by half of the angle; a square root makes NaN beyond 1. */
CFX_INLINE float asin_f32(float x)
{
    float a = fabsf(x), z = a > 0.5f ? (1 - a) * 0.5f : a * a;
    float y = asin_within(a > 0.5f ? sqrtf(z) : a, z);

    y = a > 0.5f ? half_pi_hi - (2 * y - half_pi_lo) : y;
    return copysign_f32(y, x);
}

CFX_INLINE float acos_f32(float x)
{
    float a = fabsf(x), z = a > 0.5f ? (1 - a) * 0.5f : a * a;
    float y = asin_within(a > 0.5f ? sqrtf(z) : x, z);
    float far = x < 0 ? 2 * half_pi_hi - (2 * y - 2 * half_pi_lo) : 2 * y;

    return a > 0.5f ? far : half_pi_hi - (y - half_pi_lo);
}

/* ---- Functions of networks ---- */

/* m / (m + 2) with m = e^2x - 1. */
CFX_INLINE float tanh_f32(float x)
{
    float power, r = exp_split(2 * magnitude_f32(x, 10), &power);
    float m = (exp_rest(r) + r) * power + (power - 1);

    return x != x ? x : copysign_f32(m / (m + 2), x);
}

/* A polynomial of degree 10 without a constant term. Its terms are paired but for
 * the first, which makes the longest chain of them short. */
CFX_INLINE float polynomial_10(float x, const float *c)
{
    float x2 = x * x, x4 = x2 * x2;
    float q = ((c[1] + c[2] * x) + (c[3] + c[4] * x) * x2) +
              (((c[5] + c[6] * x) + (c[7] + c[8] * x) * x2) + c[9] * x4) * x4;

    return (q * x + c[0]) * x;
}

/* log(1 - erf(x)) for x >= 0: smooth, about -x^2 where x is large. */
static const float erf_exponent[10] = {
    -0x1.20dd76p+0f, -0x1.45f308p-1f,  -0x1.a4f37ep-4f, 0x1.39396cp-6f,
    0x1.095a7ep-12f, -0x1.d7b098p-10f, 0x1.845534p-11f, -0x1.5f3bbcp-13f,
    0x1.664582p-16f, -0x1.40534ep-20f,
};
/* log2((1 - erf(x / sqrt 2)) / 2) + 1 for 0 <= x <= 6.5, relative to it; the sum
 * goes on to about -126 at 11.9. */
static const float tail_exponent[10] = {
    -0x1.26af0ap+0f,  -0x1.d632c0p-2f,  -0x1.aec148p-5f, 0x1.d56f22p-8f,
    -0x1.779214p-13f, -0x1.953f1ap-13f, 0x1.b017d6p-15f, -0x1.c3b34ap-18f,
    0x1.f79858p-22f,  -0x1.dbfd60p-27f,
};

CFX_INLINE float erf_f32(float x)
{
    float y = expm1_within(polynomial_10(magnitude_f32(x, 4), erf_exponent));

    return fabsf(x) >= 0x1p-30f ? copysign_f32(y, x) : x * 0x1.20dd76p+0f;
}

/* 2^g for -127 <= g <= 0, where it is 0 at -127. */
CFX_INLINE float exp2_down(float g)
{
    const float magic = 0x1.8p23f + 127;
    float t = g + magic, r = g - (t - magic), q = 0x1.5bba0ep-10f;

    q = q * r + 0x1.3cea88p-7f;
    q = q * r + 0x1.c6b752p-5f;
    q = q * r + 0x1.ebf9bcp-3f;
    q = q * r + 0x1.62e42ap-1f;
    return (q * r + 1) * float_of_bits(bits_f32(t) << 23);
}

/*
 * x times the normal distribution: (1 + erf(x / sqrt 2)) / 2, from its tail, so
 * that nothing cancels where x < 0. Units in the last place: 4 for x > 0, 25 down
 * to -3, 130 down to -6.5; then 1e-14, and 0 from -11.9 on.
 */
CFX_INLINE float gelu_f32(float x)
{
    float a = magnitude_f32(x, 11.907f);
    float tail = exp2_down(polynomial_10(a, tail_exponent) - 1);

    return x * (x < 0 ? tail : 1 - tail);
}

/* x / (1 + exp(-2 z)), the same as x * (1 + tanh(z)) / 2. */
CFX_INLINE float gelu_tanh_f32(float x)
{
    float z = x * (0x1.988454p0f + 0x1.2444f2p-4f * x * x);

    return x / (1 + exp_f32(-z));
}

/* tanh(log(1 + e^x)) is n / (n + 2) with n = e^2x + 2 e^x. */
CFX_INLINE float mish_f32(float x)
{
    float e = exp_f32(x > 20 ? 20 : x), n = e * (e + 2);

    return x > 20 ? x : x * (n / (n + 2));
}

CFX_INLINE float clamp_f32(float x, float lo, float hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}
/* NaN if any argument is NaN. */
CFX_INLINE float clamp3_f32(float x, float lo, float hi)
{
    x = x < lo || lo != lo ? lo : x;
    return x > hi || hi != hi ? hi : x;
}

CFX_INLINE float logit_f32(float x, float eps)
{
    x = eps < 0 ? x : clamp_f32(x, eps, 1 - eps);
    return log_f32(x / (1 - x));
}

CFX_INLINE float logaddexp_f32(float x, float y)
{
    float m = x > y || x != x ? x : y;

    return x == y && isinf_f32(x) ? x : m + log1p_f32(exp_f32(-fabsf(x - y)));
}

CFX_INLINE float lerp_f32(float x, float y, float w)
{
    return fabsf(w) < 0.5f ? x + w * (y - x) : y - (y - x) * (1 - w);
}

/* ---- Division and powers ---- */

/* Python's %, where r is fmod(x, y). */
CFX_INLINE float remainder_of_f32(float x, float y, float r)
{
    (void)x;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
CFX_INLINE float div_trunc_f32(float x, float y, unsigned *zero)
{
    (void)zero;
    return trunc_f32(x / y);
}
/* Python's //, where r is fmod(x, y): rounds the quotient after subtracting it. */
CFX_INLINE float div_floor_of_f32(float x, float y, float r)
{
    float q = (x - r) / y, f;

    q = r != 0 && (y < 0) != (r < 0) ? q - 1 : q;
    f = floor_f32(q);
    f = q - f > 0.5f ? f + 1 : f;
    f = q == 0 ? copysign_f32(0, x / y) : f;
    return y == 0 ? x / y : f;
}

/* ---- For f16 and bf16, with PyTorch's steps and roundings ---- */

/* x rounded to f16, or to bf16. */
CFX_INLINE float half_f32(float x, float to_f16)
{
    return to_f16 != 0 ? cfx_half_to_float(cfx_float_to_half(x))
                       : cfx_bf16_to_f32(cfx_float_to_bfloat(x));
}

/* A remainder is exact. */
CFX_INLINE float div_floor_half_f32(float x, float y, float to_f16)
{
    float q = half_f32(x / y, to_f16), r = fmodf(x, y), d, f;
    float whole = isinf_f32(q) && !isinf_f32(x) ? x : half_f32(x - r, to_f16);

    if (y == 0)
        return q;
    d = half_f32(whole / y, to_f16);
    if (r != 0 && (y < 0) != (r < 0))
        d = half_f32(d - 1, to_f16);
    if (d == 0)
        return copysign_f32(0, q);
    f = floor_f32(d);
    return d - f > 0.5f ? f + 1 : f;
}

CFX_INLINE float logit_half_f32(float x, float eps, float to_f16)
{
    float lo = half_f32(eps, to_f16), hi = half_f32(1 - lo, to_f16);

    x = eps < 0 ? x : clamp_f32(x, lo, hi);
    return log_f32(half_f32(x / half_f32(1 - x, to_f16), to_f16));
}

/* The neighbour of x on the side of y. */
CFX_INLINE float nextafter_f32(float x, float y)
{
    uint32_t up = (x < y) == (x > 0) ? 1 : -1u;
    uint32_t least = (bits_f32(y) & 0x80000000) | 1;
    float next = float_of_bits(x == 0 ? least : bits_f32(x) + up);

    next = x == y ? y : next;
    return x != x || y != y ? x + y : next;
}

/* The neighbour of x on the side of y, in a type of half the width. */
CFX_INLINE float next_half_f32(float x, float y, float to_f16)
{
    uint32_t bits = to_f16 != 0 ? cfx_float_to_half(x)
                                : cfx_float_to_bfloat(x);

    if (x != x || y != y)
        return x + y;
    if (x == y)
        return y;
    if (x == 0)
        bits = y < 0 ? 0x8001 : 1;
    else
        bits += (x < y) == (x > 0) ? 1 : -1u;
    return to_f16 != 0 ? cfx_half_to_float((uint16_t)bits)
                       : cfx_bf16_to_f32((uint16_t)bits);
}

/* The argument of tanh in gelu_tanh. */
CFX_INLINE float gelu_inner_f32(float x)
{
    return 0x1.988454p-1f * (x + 0x1.6e4e26p-5f * (x * x * x));
}

/* ---- The C library's ---- */

/* clang-format off */
CFX_INLINE float lgamma_f32(float x) { return lgammaf(x); }
/* clang-format on */

/* x = mantissa 2^exponent; what is not finite has an exponent of 0. */
CFX_INLINE float mantissa_f32(float x)
{
    int n;

    return frexpf(x, &n);
}
CFX_INLINE float exponent_f32(float x)
{
    int n = 0;

    if (isfinite_f32(x))
        frexpf(x, &n);
    return (float)n;
}

#endif
