/*
 * fft.c -- discrete Fourier transforms by factors of the length.
 */
#include "kernel/fft_kernel.h"

#include <math.h>

#include "base/stop.h"

enum { LARGEST = 31 }; /* factor of a length that is not a convolution */

typedef struct number {
    double re, im;
} number;

static number add(number a, number b)
{
    return (number){a.re + b.re, a.im + b.im};
}

static number mul(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static number conjugate(number a)
{
    return (number){a.re, -a.im};
}

/* exp(-2 pi i k / n) for 0 <= k < n. */
static number root(int64_t k, int64_t n)
{
    double angle = -6.283185307179586476925 * (double)k / (double)n;
    return (number){cos(angle), sin(angle)};
}

/* ---- Lengths ---- */

/* A factor of n: 4, or the least prime. */
static int64_t factor_of(int64_t n)
{
    if (n % 4 == 0)
        return 4;
    for (int64_t p = 2; p <= LARGEST; p++)
        if (n % p == 0)
            return p;
    return n;
}

static bool is_smooth(int64_t n)
{
    while (n > 1) {
        int64_t p = factor_of(n);
        if (p > LARGEST)
            return false;
        n /= p;
    }
    return true;
}

/* The power of two for a convolution of n; 0 if there is none. */
static int64_t padded(int64_t n)
{
    int64_t m = 1;
    while (m < 2 * n - 1)
        m *= 2;
    return m;
}

size_t cfx_fft_workspace(int64_t n)
{
    int64_t most = (int64_t)1 << 50;
    if (n > most)
        return 0;
    int64_t count = is_smooth(n) ? 3 * n : 2 * n + 4 * padded(n);
    return (size_t)count * sizeof(number);
}

/* ---- By factors ---- */

/* The transforms of the p parts of out, of m each, become one: `table` holds
 * the roots of `all`, of which one of p * m is every all / (p * m)-th. */
static void join_parts(number *out, int64_t p, int64_t m, const number *table,
                       int64_t all)
{
    int64_t step = all / (p * m);
    for (int64_t u = 0; u < m; u++) {
        number part[LARGEST];
        for (int64_t k = 0; k < p; k++)
            part[k] = out[k * m + u];
        for (int64_t q = 0; q < p; q++) {
            int64_t turn = step * (q * m + u), at = 0;
            number sum = part[0];
            for (int64_t k = 1; k < p; k++) {
                at += turn;
                at -= at >= all ? all : 0;
                sum = add(sum, mul(part[k], table[at]));
            }
            out[q * m + u] = sum;
        }
    }
}

/* out(n) = the transform of every `stride`-th number of in. The depth is the
 * number of factors. */
static void by_factors(number *out, const number *in, int64_t n,
                       int64_t stride, const number *table, int64_t all)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    int64_t p = factor_of(n), m = n / p;
    for (int64_t k = 0; k < p; k++)
        by_factors(out + k * m, in + k * stride, m, stride * p, table, all);
    join_parts(out, p, m, table, all);
}

static void fill_table(number *table, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        table[k] = root(k, n);
}

/* ---- As a convolution ---- */

typedef struct convolution {
    int64_t n, m;
    number *chirp;  /* exp(-pi i k * k / n) for k < n */
    number *table;  /* the roots of m */
    number *filter; /* the transform of the chirp's conjugate */
    number *a, *b;  /* of m */
} convolution;

static void plan_convolution(convolution *c, int64_t n, number *work)
{
    *c = (convolution){.n = n, .m = padded(n), .chirp = work};
    c->table = work + n;
    c->filter = c->table + c->m;
    c->a = c->filter + c->m;
    c->b = c->a + c->m;
    fill_table(c->table, c->m);
    /* k * k modulo 2 n, one after the other, since a square may not fit. */
    for (int64_t k = 0, square = 0; k < n; k++) {
        c->chirp[k] = root(square, 2 * n);
        square = (square + 2 * k + 1) % (2 * n);
    }
    for (int64_t k = 0; k < c->m; k++)
        c->a[k] = (number){0, 0};
    c->a[0] = conjugate(c->chirp[0]);
    for (int64_t k = 1; k < n; k++)
        c->a[k] = c->a[c->m - k] = conjugate(c->chirp[k]);
    by_factors(c->filter, c->a, c->m, 1, c->table, c->m);
}

/* row becomes its transform. The inverse of m is the transform of the
 * conjugate, conjugated, over m. */
static void convolve(const convolution *c, number *row)
{
    double scale = 1 / (double)c->m;
    for (int64_t k = 0; k < c->m; k++)
        c->a[k] = k < c->n ? mul(row[k], c->chirp[k]) : (number){0, 0};
    by_factors(c->b, c->a, c->m, 1, c->table, c->m);
    for (int64_t k = 0; k < c->m; k++)
        c->b[k] = conjugate(mul(c->b[k], c->filter[k]));
    by_factors(c->a, c->b, c->m, 1, c->table, c->m);
    for (int64_t k = 0; k < c->n; k++) {
        number v = mul(conjugate(c->a[k]), c->chirp[k]);
        row[k] = (number){v.re * scale, v.im * scale};
    }
}

/* ---- Rows ---- */

/* Copy a row out of or into its place; the inverse transform is that of the
 * conjugate, conjugated. */
static void move(number *to, int64_t to_step, const number *from,
                 int64_t from_step, int64_t n, bool forward)
{
    for (int64_t k = 0; k < n; k++) {
        number v = from[k * from_step];
        to[k * to_step] = forward ? v : conjugate(v);
    }
}

void cfx_fft(cfx_context *ctx, double *x, int64_t outer, int64_t n,
             int64_t inner, bool forward, void *work)
{
    number *data = (number *)(void *)x, *row = work, *out = row + n;
    bool smooth = is_smooth(n);
    number *table = out + n;
    convolution c = {0};

    if (smooth)
        fill_table(table, n);
    else
        plan_convolution(&c, n, out);
    for (int64_t i = 0; i < outer * inner && !cfx_context_stops(ctx); i++) {
        number *at = data + i / inner * n * inner + i % inner;
        move(row, 1, at, inner, n, forward);
        if (smooth)
            by_factors(out, row, n, 1, table, n);
        else
            convolve(&c, row);
        move(at, inner, smooth ? out : row, 1, n, forward);
    }
}
