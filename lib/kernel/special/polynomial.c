/*
 * polynomial -- orthogonal polynomials, by their recurrences (DLMF 18.9).
 */
#include <math.h>

#include "kernel/special/special.h"

enum { MOST = 65536 };

/* Degrees are truncated; of NaN, 0. */
static double degree(double n)
{
    return n != n ? 0 : trunc(n);
}

static int is_odd(double n)
{
    return fmod(n, 2) != 0;
}

/* Chebyshev's four kinds differ in what degree 1 is. */
static double chebyshev(double x, double n, double first)
{
    double p = 1, q = first;

    if (n == 0)
        return 1;
    if (n > MOST)
        return NAN;
    for (double k = 2; k <= n && q == q; k++) {
        double r = 2 * x * q - p;

        p = q;
        q = r;
    }
    return q;
}

/* At the ends of the interval, and within it for large degrees, DLMF 18.5. */
double cfx_kernel_chebyshev_t(double x, double n)
{
    n = degree(n);
    if (n < 0)
        return 0;
    if (fabs(x) == 1)
        return x < 0 && is_odd(n) ? -1 : 1;
    if (n > 6 && fabs(x) < 1)
        return cos(n * acos(x));
    return chebyshev(x, n, x);
}

double cfx_kernel_chebyshev_u(double x, double n)
{
    n = degree(n);
    if (n < 0)
        return 0;
    if (fabs(x) == 1)
        return x < 0 && is_odd(n) ? -(n + 1) : n + 1;
    if (n > 8 && fabs(x) < 1)
        return sin((n + 1) * acos(x)) / sin(acos(x));
    return chebyshev(x, n, 2 * x);
}

double cfx_kernel_chebyshev_v(double x, double n)
{
    n = degree(n);
    if (n < 0)
        return 0;
    if (x == 1)
        return 1;
    if (x == -1)
        return is_odd(n) ? -(2 * n + 1) : 2 * n + 1;
    if (n > 8 && fabs(x) < 1)
        return cos((n + 0.5) * acos(x)) / cos(acos(x) / 2);
    return chebyshev(x, n, 2 * x - 1);
}

double cfx_kernel_chebyshev_w(double x, double n)
{
    n = degree(n);
    if (n < 0)
        return 0;
    if (x == 1)
        return 2 * n + 1;
    if (x == -1)
        return is_odd(n) ? -1 : 1;
    if (n > 8 && fabs(x) < 1)
        return sin((n + 0.5) * acos(x)) / sin(acos(x) / 2);
    return chebyshev(x, n, 2 * x + 1);
}

double cfx_kernel_hermite_h(double x, double n, double limit)
{
    double p = 1, q = 2 * x;

    n = degree(n);
    if (n <= 0)
        return n == 0;
    if (n > limit)
        return NAN;
    for (double k = 1; k < n && q == q; k++) {
        double r = 2 * x * q - 2 * k * p;

        p = q;
        q = r;
    }
    return q;
}

double cfx_kernel_hermite_he(double x, double n, double limit)
{
    double p = 1, q = x;

    n = degree(n);
    if (n <= 0)
        return n == 0;
    if (n > limit)
        return NAN;
    for (double k = 1; k < n && q == q; k++) {
        double r = x * q - k * p;

        p = q;
        q = r;
    }
    return q;
}

double cfx_kernel_laguerre_l(double x, double n)
{
    double p = 1, q = 1 - x;

    n = degree(n);
    if (n <= 0)
        return n == 0;
    if (x == 0)
        return 1;
    if (n > MOST)
        return NAN;
    for (double k = 1; k < n && q == q; k++) {
        double r = ((2 * k + 1 - x) * q - k * p) / (k + 1);

        p = q;
        q = r;
    }
    return q;
}

double cfx_kernel_legendre_p(double x, double n)
{
    double p = 1, q = x;

    n = degree(n);
    if (n <= 0)
        return n == 0;
    if (fabs(x) == 1)
        return x < 0 && is_odd(n) ? -1 : 1;
    if (n > MOST)
        return NAN;
    for (double k = 1; k < n && q == q; k++) {
        double r = ((2 * k + 1) * x * q - k * p) / (k + 1);

        p = q;
        q = r;
    }
    return q;
}
