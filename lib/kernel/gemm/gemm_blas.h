/*
 * gemm_blas.h -- matrix products by cblas_?gemm.
 */
#ifndef CFX_KERNEL_GEMM_BLAS_H
#define CFX_KERNEL_GEMM_BLAS_H

#include "kernel/gemm/gemm.h"

/* Can the BLAS compute g, of a float32, float64 or complex dtype, in place? Each
 * operand needs an axis without gaps. False if the build has no BLAS. */
bool cfx_gemm_blas_takes(const cfx_gemm *g);

/* Compute g without its batch, adding to c if `add`; otherwise c is not read.
 * The biases are not looked at. ctx is asked whether to stop; the work is done
 * on the threads of `pool`, or on this one if that is NULL. */
void cfx_gemm_blas_run(const cfx_context *ctx, cfx_context *pool,
                       const cfx_gemm *g, bool add);

#endif
