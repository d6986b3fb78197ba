/*
 * gamma -- functions about gamma: its derivatives, zeta, incomplete gamma.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "kernel/special/special.h"

static double fraction(double x)
{
    double whole;

    return modf(x, &whole);
}

/* Reflection (DLMF 5.5.4) and recurrence (5.5.2) lead to x >= 10, where the
 * asymptotic expansion 5.11.2 holds. */
double cfx_kernel_digamma(double x)
{
    double y = 0, t;

    if (x == 0)
        return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x))
            return NAN;
        y = -M_PI / tan(M_PI * fraction(x));
        x = 1 - x;
    }
    for (; x < 10; x++)
        y -= 1 / x;
    t = 1 / (x * x);
    y -= t * (1. / 12 -
              t * (1. / 120 -
                   t * (1. / 252 -
                        t * (1. / 240 -
                             t * (1. / 132 - t * (691. / 32760 - t / 12))))));
    return y + log(x) - 0.5 / x;
}

/* ---- Zeta ---- */

/* Bernoulli's numbers B2, B4, ... */
static const double bernoulli[] = {
    1. / 6,       -1. / 30, 1. / 42,      -1. / 30,     5. / 66,
    -691. / 2730, 7. / 6,   -3617. / 510, 43867. / 798, -174611. / 330,
};

/* q > 0: Euler's summation of (q + k)^-x, DLMF 25.11.5, begun where q + k is
 * large compared to x. */
static double zeta_of_positive(double x, double q)
{
    double sum = 0, power, t;

    for (; q < 10 + x; q++) {
        power = pow(q, -x);
        sum += power;
        if (power <= DBL_EPSILON / 4 * sum)
            return sum;
    }
    power = pow(q, -x);
    sum += power * q / (x - 1) + power / 2;
    t = x * power / q / 2;
    for (int j = 1; j <= 10; j++) {
        double step = bernoulli[j - 1] * t;

        sum += step;
        if (fabs(step) < DBL_EPSILON / 4 * sum)
            break;
        t *= (x + 2 * j - 1) * (x + 2 * j) /
             ((2 * j + 1) * (2 * j + 2) * q * q);
    }
    return sum;
}

/* The terms of a negative q = r - m, 0 < r < 1, are those of r and, with the
 * sign of (-1)^x, m more of 1 - r. */
double cfx_kernel_zeta(double x, double q)
{
    double m, r, sign;

    if (x == 1)
        return INFINITY;
    if (x < 1 || isnan(q))
        return NAN;
    if (q > 0)
        return isnan(x) ? NAN : zeta_of_positive(x, q);
    if (q == floor(q) || isinf(x))
        return INFINITY;
    if (x != floor(x))
        return NAN;
    m = ceil(-q);
    r = q + m;
    sign = fmod(x, 2) != 0 ? -1 : 1;
    return zeta_of_positive(x, r) + sign * (zeta_of_positive(x, 1 - r) -
                                            zeta_of_positive(x, 1 - r + m));
}

/* DLMF 5.15.1; 5.15.6 reflects the first derivative. */
double cfx_kernel_polygamma(double n, double x)
{
    double s;

    if (n == 0)
        return cfx_kernel_digamma(x);
    if (n == 1 && x == INFINITY)
        return 0;
    if (n == 1 && x < 0.5) {
        s = sin(M_PI * fraction(x));
        return M_PI * M_PI / (s * s) - cfx_kernel_zeta(2, 1 - x);
    }
    return (fmod(n, 2) != 0 ? 1 : -1) * tgamma(n + 1) *
           cfx_kernel_zeta(n + 1, x);
}

/* ---- Incomplete gamma ---- */

enum { MOST_TERMS = 20000 };

/* log(1 + t) - t: with u = t / (2 + t), the logarithm is 2 atanh(u). */
static double log1p_rest(double t)
{
    double u = t / (2 + t), power = u * u * u, sum = 0;

    if (fabs(t) > 0.5)
        return log1p(t) - t;
    for (int k = 3; k < 40; k += 2, power *= u * u)
        sum += power / k;
    return 2 * sum - t * u;
}

/* x^a e^-x / gamma(a + 1), from a = 10 on by Stirling's formula, DLMF
 * 5.11.1. */
static double prefactor(double a, double x)
{
    double t = 1 / (a * a), rest;

    if (a < 10)
        return exp(a * log(x) - x - lgamma(a + 1));
    rest = (1. / 12 -
            t * (1. / 360 - t * (1. / 1260 - t * (1. / 1680 - t / 1188)))) /
           a;
    return exp(a * log1p_rest((x - a) / a) - rest) / sqrt(2 * M_PI * a);
}

/* The lower function, for x < a + 1: DLMF 8.7.1. */
static double lower_series(double a, double x)
{
    double term = 1, sum = 1;

    for (int k = 1; k < MOST_TERMS && term > DBL_EPSILON / 4 * sum; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return prefactor(a, x) * sum;
}

/* The upper function, for x > a + 1: the continued fraction DLMF 8.9.2, by
 * Lentz's method. */
static double upper_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, y = d, step = 0;

    for (int k = 1; k < MOST_TERMS && fabs(step - 1) > DBL_EPSILON; k++) {
        double numerator = k * (a - k);

        b += 2;
        d = 1 / (numerator * d + b);
        c = b + numerator / c;
        step = c * d;
        y *= step;
    }
    return prefactor(a, x) * a * y;
}

/* For large a the uniform expansion DLMF 8.12.3, of which one term is left out
 * only where it is below 1e-11; `sign` is 1 for the upper function. */
static double uniform(double a, double x, double sign)
{
    double t = (x - a) / a, rest = log1p_rest(t);
    double eta = copysign(sqrt(-2 * rest), t), c;

    c = fabs(eta) > 0.05
            ? 1 / t - 1 / eta
            : -1. / 3 + eta * (1. / 12 - eta * (2. / 135 - eta / 864));
    return 0.5 * erfc(sign * eta * sqrt(a / 2)) +
           sign * exp(a * rest) / sqrt(2 * M_PI * a) * c;
}

static double incomplete(double a, double x, bool upper)
{
    /* PyTorch checks for NaN last, so that igamma(nan, 0) is 0. */
    if (a < 0 || x < 0 || (a == 0 && !(x > 0)) || (isinf(a) && isinf(x)))
        return NAN;
    if (a != 0 && (x == 0 || isinf(a)))
        return upper;
    if (a == 0 || isinf(x))
        return !upper;
    if (isnan(a) || isnan(x))
        return NAN;
    if (a > 1e5)
        return uniform(a, x, upper ? 1 : -1);
    if (x < a + 1)
        return upper ? 1 - lower_series(a, x) : lower_series(a, x);
    return upper ? upper_fraction(a, x) : 1 - upper_fraction(a, x);
}

double cfx_kernel_igamma(double a, double x)
{
    return incomplete(a, x, false);
}

double cfx_kernel_igammac(double a, double x)
{
    return incomplete(a, x, true);
}
