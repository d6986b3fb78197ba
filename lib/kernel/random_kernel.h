/*
 * random_kernel.h -- arrays of random numbers.
 *
 * Number i of an array follows from the key and i alone, so that the numbers do
 * not depend on the threads. Arrays are row-major without gaps.
 */
#ifndef CFX_KERNEL_RANDOM_H
#define CFX_KERNEL_RANDOM_H

#include "kernel/kernel.h"

/* y[i] = yes with probability `share`, else no. */
void cfx_random_choice(cfx_context *ctx, float *y, int64_t n, cfx_random r,
                       double share, float yes, float no);

/* Uniform in [low, high). */
void cfx_random_uniforms(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t n,
                         cfx_random r, double low, double high);

/* Normally distributed. Takes bits 0 to 2 * n - 1. */
void cfx_random_normals(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t n,
                        cfx_random r, double mean, double deviation);

/* Ints in [low, high), with equal probabilities. */
void cfx_random_ints(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t n,
                     cfx_random r, int64_t low, int64_t high);

/* 0 to n - 1 in a random order; on one thread. */
void cfx_random_order(cfx_context *ctx, int64_t *y, int64_t n, cfx_random r);

#endif
