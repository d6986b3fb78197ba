/*
 * gemm_int.h -- matrix products of integers, which wrap around. For gemm.c.
 */
#ifndef CFX_KERNEL_GEMM_INT_H
#define CFX_KERNEL_GEMM_INT_H

#include "kernel/gemm/gemm.h"

/* One product, its batch left aside; on the threads of the context `pool`, or
 * on this one where that is NULL. */
void cfx_gemm_int(const cfx_context *ctx, cfx_context *pool,
                  const cfx_gemm *g);

#endif
