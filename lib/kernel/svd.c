/*
 * svd -- singular values by one-sided Jacobi rotations (Hestenes 1958).
 *
 * Pairs of vectors are rotated until all are orthogonal; their lengths are the
 * singular values. It finds small ones more precisely than a reduction to two
 * diagonals, and takes some more time. LAPACK has both, but a static program
 * would have to link the Fortran library with it.
 */
#include "kernel/svd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/stop.h"

/* Convergence is quadratic in the end: ten sweeps are many. */
enum { MOST_SWEEPS = 60 };

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Make two vectors orthogonal; `square` has their squared lengths. False where
 * they are that already. */
static bool rotate(double *x, double *y, int64_t n, double *square_x,
                   double *square_y)
{
    double both = dot(x, y, n);
    if (fabs(both) <=
        DBL_EPSILON * sqrt((double)n) * (sqrt(*square_x) * sqrt(*square_y)))
        return false;
    double z = (*square_y - *square_x) / (2 * both);
    double t = copysign(1 / (fabs(z) + hypot(1, z)), z);
    double c = 1 / hypot(1, t), s = c * t;
    for (int64_t i = 0; i < n; i++) {
        double a = x[i], b = y[i];
        x[i] = c * a - s * b;
        y[i] = s * a + c * b;
    }
    *square_x -= t * both;
    *square_y += t * both;
    return true;
}

static bool sweep(const cfx_context *ctx, double *a, int64_t k, int64_t n,
                  double *square)
{
    bool rotated = false;
    for (int64_t i = 0; i < k; i++)
        square[i] = dot(a + i * n, a + i * n, n);
    for (int64_t i = 0; i + 1 < k && !cfx_context_stops(ctx); i++)
        for (int64_t j = i + 1; j < k; j++)
            rotated |= rotate(a + i * n, a + j * n, n, &square[i], &square[j]);
    return rotated && !cfx_context_stops(ctx);
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The greatest magnitude becomes 1, lest squares overflow or vanish. */
bool cfx_singular_values(const cfx_context *ctx, double *a, int64_t k,
                         int64_t n, double *values)
{
    double most = 0;
    for (int64_t i = 0; i < k * n; i++) {
        if (isnan(a[i]))
            return false;
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
    }
    if (isinf(most)) {
        for (int64_t i = 0; i < k; i++)
            values[i] = NAN;
        return true;
    }
    for (int64_t i = 0; i < k * n && most > 0; i++)
        a[i] /= most;
    for (int i = 0; i < MOST_SWEEPS && sweep(ctx, a, k, n, values); i++)
        ;
    for (int64_t i = 0; i < k; i++)
        values[i] = most * sqrt(dot(a + i * n, a + i * n, n));
    qsort(values, (size_t)k, sizeof(*values), falling);
    return true;
}
