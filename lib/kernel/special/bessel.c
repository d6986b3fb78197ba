/*
 * bessel -- Bessel functions of orders 0 and 1, and Airy's.
 *
 * Small arguments go through power series, large ones through asymptotic
 * expansions, whose terms shrink until exp(-2 x), and those of the second kind
 * in between through the integral of exp(-x cosh t).
 */
#include <float.h>
#include <math.h>

#include "kernel/special/special.h"

/* Series and expansions are both accurate there. */
enum { LARGE = 20 };

/* The sum of a_k / x^k, with the signs (+, s, +, s, ...), of the expansions of
 * Hankel's kind: DLMF 10.17.1. `order` is 4 times the order's square. */
static double expansion(double order, double x, double s)
{
    double t = 1, sum = 1;

    for (int k = 1; k <= 60; k++) {
        double odd = 2 * k - 1,
               next = s * t * (order - odd * odd) / (8 * k * x);

        if (!(fabs(next) < fabs(t)) || next == 0)
            break;
        t = next;
        sum += t;
    }
    return sum;
}

/* ---- Modified, of the first kind ---- */

/* DLMF 10.25.2 without (x / 2)^order: all terms are positive. */
static double i_series(int order, double x)
{
    double q = x * x / 4, t = 1, sum = 1;

    for (int k = 1; t > DBL_EPSILON / 4 * sum; k++) {
        t *= q / ((double)k * (k + order));
        sum += t;
    }
    return sum;
}

/* Times exp(-x); DLMF 10.40.1 for large x. */
static double i_scaled(int order, double x)
{
    if (x > LARGE)
        return expansion(4. * order, x, -1) / sqrt(2 * M_PI * x);
    return exp(-x) * i_series(order, x) * (order ? x / 2 : 1);
}

static double i_plain(int order, double x)
{
    if (x > LARGE)
        return exp(x) * i_scaled(order, x);
    return i_series(order, x) * (order ? x / 2 : 1);
}

double cfx_kernel_i0(double x)
{
    return x != x ? x : i_plain(0, fabs(x));
}

double cfx_kernel_i0e(double x)
{
    return x != x ? x : i_scaled(0, fabs(x));
}

double cfx_kernel_i1(double x)
{
    return x != x ? x : copysign(i_plain(1, fabs(x)), x);
}

double cfx_kernel_i1e(double x)
{
    return x != x ? x : copysign(i_scaled(1, fabs(x)), x);
}

/* ---- Modified, of the second kind ---- */

static const double euler = 0.57721566490153286061;

/* DLMF 10.31.1 and 10.31.2, for 0 < x <= 1; `h` are the harmonic numbers. */
static double k_series(int order, double x)
{
    double q = x * x / 4, t = 1, h = 0, sum = 0, l = log(x / 2) + euler;

    for (int k = 0; k < 20; k++) {
        double more = order ? 2 * h + 1. / (k + 1) : h;

        sum += t * more;
        h += 1. / (k + 1);
        t *= q / ((k + 1.) * (k + 1 + order));
    }
    if (order)
        return 1 / x + l * x / 2 * i_series(1, x) - x / 4 * sum;
    return sum - l * i_series(0, x);
}

/* exp(x) K(x), of any order below 2, for 0.6 < x: DLMF 10.32.9 by the rule of
 * trapezoids, which converges exponentially, 10.40.2 for large x. */
static double k_scaled(double order, double x)
{
    static const double step = 1. / 8;
    double sum = 0.5;

    if (x > LARGE)
        return sqrt(M_PI / (2 * x)) * expansion(4 * order * order, x, 1);
    for (int j = 1; j < 64; j++) {
        double t = j * step, s = sinh(t / 2);

        sum += exp(-2 * x * s * s) * cosh(order * t);
    }
    return sum * step;
}

/* K of order 0 or 1, times exp(x) or not. */
static double k_of(int order, double x, int scaled)
{
    if (!(x >= 0))
        return NAN;
    if (x == 0)
        return INFINITY;
    if (x <= 1)
        return k_series(order, x) * (scaled ? exp(x) : 1);
    return k_scaled(order, x) * (scaled ? 1 : exp(-x));
}

double cfx_kernel_k0(double x)
{
    return k_of(0, x, 0);
}

double cfx_kernel_k0e(double x)
{
    return k_of(0, x, 1);
}

double cfx_kernel_k1(double x)
{
    return k_of(1, x, 0);
}

double cfx_kernel_k1e(double x)
{
    return k_of(1, x, 1);
}

/* ---- The others ---- */

double cfx_kernel_j0(double x)
{
    return isinf(x) ? NAN : j0(x);
}

double cfx_kernel_j1(double x)
{
    return isinf(x) ? NAN : j1(x);
}

double cfx_kernel_y0(double x)
{
    return isinf(x) || x < 0 ? NAN : y0(x);
}

double cfx_kernel_y1(double x)
{
    return isinf(x) || x < 0 ? NAN : y1(x);
}

double cfx_kernel_spherical_j0(double x)
{
    if (isinf(x))
        return 0;
    return x == 0 ? 1 : sin(x) / x;
}

/* ---- Airy ---- */

/* DLMF 9.4.1, whose terms alternate for x < 0. */
static double airy_series(double x)
{
    double cube = x * x * x, f = 1, g = x, y;

    y = 0.355028053887817239260 - 0.258819403792806798405 * x;
    for (int k = 1; k < 60; k++) {
        f *= cube / ((3. * k - 1) * (3 * k));
        g *= cube / (3. * k * (3 * k + 1));
        y += 0.355028053887817239260 * f - 0.258819403792806798405 * g;
    }
    return y;
}

/* DLMF 9.7.9, at -x. */
static double airy_waves(double x)
{
    double zeta = 2. / 3 * x * sqrt(x), t = 1, even = 1, odd = 0;

    for (int k = 1; k < 60; k++) {
        double next = t * (6. * k - 5) * (6 * k - 3) * (6 * k - 1) /
                      (216. * k * (2 * k - 1) * zeta);

        if (!(next < t))
            break;
        t = next;
        if (k % 2)
            odd += k % 4 == 1 ? t : -t;
        else
            even += k % 4 == 0 ? t : -t;
    }
    return (cos(zeta - M_PI_4) * even + sin(zeta - M_PI_4) * odd) /
           (sqrt(M_PI) * sqrt(sqrt(x)));
}

/* For positive x DLMF 9.6.2, by a modified Bessel function. */
double cfx_kernel_airy_ai(double x)
{
    double zeta;

    if (isinf(x))
        return NAN;
    if (x < -7)
        return airy_waves(-x);
    if (!(x > 1))
        return airy_series(x);
    zeta = 2. / 3 * x * sqrt(x);
    return sqrt(x / 3) / M_PI * k_scaled(1. / 3, zeta) * exp(-zeta);
}
