/*
 * gemm_int.h -- matrix products of integers, which wrap around. For gemm.c.
 */
#ifndef CFX_KERNEL_GEMM_INT_H
#define CFX_KERNEL_GEMM_INT_H

#include "kernel/gemm.h"

/* One product, its batch left aside; on the threads of the context, or on this
 * one where ctx is NULL. */
void cfx_gemm_int(cfx_context *ctx, const cfx_gemm *g);

#endif
