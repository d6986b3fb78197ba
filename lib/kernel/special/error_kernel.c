/*
 * error_kernel -- functions about the error function: inverses, scaled, logarithms.
 */
#include <math.h>

#include "kernel/special/special.h"

/* Winitzki's approximation to the inverse of erf, to 2e-3, from
 * l = log(1 - x^2). */
static double first_guess(double l)
{
    double a = 0.147, b = 2 / (M_PI * a) + l / 2;

    return sqrt(sqrt(b * b - l / a) - b);
}

/* The y >= 0 with erfc(y) = q, 0 < q <= 0.5: Newton's method on the logarithm,
 * which is nearly a parabola. */
static double inverse_of_tail(double q)
{
    double y = first_guess(log(q) + log(2 - q));

    for (int i = 0; i < 4; i++) {
        double e = erfc(y);

        y += log(e / q) * e / (M_2_SQRTPI * exp(-y * y));
    }
    return y;
}

/* Halley's method in the middle. */
double cfx_kernel_erfinv(double x)
{
    double y;

    if (!(fabs(x) <= 1))
        return NAN;
    if (fabs(x) == 1)
        return copysign(INFINITY, x);
    if (fabs(x) > 0.5)
        return copysign(inverse_of_tail(1 - fabs(x)), x);
    y = copysign(first_guess(log1p(-x * x)), x);
    for (int i = 0; i < 3; i++) {
        double u = (erf(y) - x) / (M_2_SQRTPI * exp(-y * y));

        y -= u / (1 + y * u);
    }
    return y;
}

double cfx_kernel_ndtri(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p ? INFINITY : -INFINITY;
    if (p < 0.25)
        return -M_SQRT2 * inverse_of_tail(2 * p);
    if (p > 0.75)
        return M_SQRT2 * inverse_of_tail(2 - 2 * p);
    return M_SQRT2 * cfx_kernel_erfinv(2 * p - 1);
}

/* exp(x^2) erfc(x), where exp has the bits that rounding x^2 loses; where erfc
 * becomes small the asymptotic expansion DLMF 7.12.1. */
double cfx_kernel_erfcx(double x)
{
    double square = x * x, lost = fma(x, x, -square), t = 1 / (2 * square);

    if (x < 25)
        return exp(square) * (isinf(square) ? 1 : 1 + lost) * erfc(x);
    return 0.5 * M_2_SQRTPI / x *
           (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t)))));
}

double cfx_kernel_log_ndtr(double x)
{
    double t = x * M_SQRT1_2;

    if (x < -1)
        return log(cfx_kernel_erfcx(-t) / 2) - t * t;
    return log1p(-erfc(t) / 2);
}
