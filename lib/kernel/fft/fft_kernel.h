/*
 * fft_kernel.h -- discrete Fourier transforms along one axis.
 *
 * A length whose prime factors are small takes n log n steps; any other becomes
 * a convolution of a power of two (Bluestein), so that no length takes n * n.
 */
#ifndef CFX_FFT_H
#define CFX_FFT_H

#include "kernel/kernel.h"

/* Complex numbers to complex ones; real ones to their spectrum, forward; a
 * spectrum, of which n / 2 + 1 numbers are read, to real ones, backward. */
typedef enum cfx_fft_kind {
    CFX_FFT_COMPLEX,
    CFX_FFT_FROM_REAL,
    CFX_FFT_TO_REAL
} cfx_fft_kind;

/*
 * y(outer, to, inner) is the transform of x(outer, from, inner) along its
 * middle axis, times `scale`. It may be x if both are complex.
 */
typedef struct cfx_fft {
    cfx_dtype dtype; /* of the real parts: f32, f64 */
    cfx_fft_kind kind;
    bool forward; /* with exp(-2 pi i j k / n), else exp(2 pi i j k / n) */
    int64_t n;    /* the length of the transform */
    int64_t outer, inner, from, to;
    const void *x;
    void *y;
    double scale;
} cfx_fft;

/* The bytes that a transform needs; 0 if they are not a size_t. The pointers
 * are not read. */
size_t cfx_fft_workspace(const cfx_context *ctx, const cfx_fft *f);
void cfx_fft_run(cfx_context *ctx, const cfx_fft *f, void *work);

/* ---- Levels ---- */

enum {
    CFX_FFT_LARGEST = 31, /* factor of a length that is not a convolution */
    CFX_FFT_PASSES = 64
};

/* A transform by passes, one a factor. `roots` has for each pass of factor p,
 * which makes transforms of n numbers from those of m = n / p, the powers 1 to
 * p - 1 of exp(-2 pi i j / n) for each j < m, before them, if p is none of 2, 3,
 * 4, 5, 8, the p roots of p. */
typedef struct cfx_fft_passes {
    int64_t n;
    int count;
    int64_t factor[CFX_FFT_PASSES];
    const void *roots;
} cfx_fft_passes;

/*
 * How lines are transformed: as many at a time as a vector has lanes, or one
 * line, as a matrix (n1, n2) whose columns are transformed, multiplied by
 * powers of the root of n, transposed, and transformed again.
 */
typedef struct cfx_fft_plan {
    const cfx_fft *f;
    bool line;
    int64_t length; /* of the complex transforms that are computed */
    int64_t buffer; /* elements of the first buffer of a thread */
    cfx_fft_passes first, second; /* of n1, n2; of length, none */
    /* exp(-2 pi i a b / length): [vectors of n2][n1] with the first column of
     * the vector as b, [n1][lanes] with the lane as b. */
    const void *by_vector, *by_lane;
    const void *half;   /* exp(-2 pi i k / n), k <= n / 4; n is even */
    const void *chirp;  /* exp(-pi i k k / n), k < n; NULL: no convolution */
    const void *filter; /* the transform of its conjugate, over length */
} cfx_fft_plan;

struct cfx_fft_kernels {
    struct cfx_fft_type {
        int64_t lanes;
        /* Transform one block of lines: a line, or as many as lanes. */
        void (*transform)(const cfx_fft_plan *p, int64_t block, void *work);
        void (*filter)(const cfx_fft_plan *p, void *filter, void *work);
    } f32, f64;
};

#endif
