/*
 * fft_kernel.h -- discrete Fourier transforms of rows, in double.
 *
 * A length whose prime factors are small takes n log n steps for each of them;
 * any other becomes a convolution of a power of two (Bluestein), so that no
 * length takes n * n.
 */
#ifndef CFX_FFT_H
#define CFX_FFT_H

#include <cfx/context.h>

/* The bytes that a transform of n needs; 0 if they are not a size_t. */
size_t cfx_fft_workspace(int64_t n);

/* Transform x(outer, n, inner), complex128, along its middle axis, in place;
 * `forward` with exp(-2 pi i j k / n), else with exp(2 pi i j k / n). */
void cfx_fft(cfx_context *ctx, double *x, int64_t outer, int64_t n,
             int64_t inner, bool forward, void *work);

#endif
