/*
 * gemm_level.c -- the inner loops of matrix products, for one level.
 */
#include "kernel/gemm/gemm_core.h"
#include "kernel/partition.h"
#include "kernel/vec/vec.h"

/* Rows and vectors of the tile of c that is held in registers. With
 * BLAS_MIN or more rows and columns OpenBLAS is faster; 0: never (bench/README.md). */
#if CFX_LEVEL_IS(avx512)
enum { MR = 8, NV = 3, DOT_MAX = 8, DOT_SUMS = 24, BLAS_MIN = 0 };
#elif CFX_LEVEL_IS(neon)
enum { MR = 12, NV = 2, DOT_MAX = 8, DOT_SUMS = 24, BLAS_MIN = 0 };
#elif CFX_LEVEL_IS(avx2)
enum { MR = 6, NV = 2, DOT_MAX = 4, DOT_SUMS = 12, BLAS_MIN = 0 };
#else
enum { MR = 4, NV = 2, DOT_MAX = 4, DOT_SUMS = 8, BLAS_MIN = 4 };
#endif

#define T float
#define VL VF
#define VEC vf
#define V(name) vf_##name
#define NAME(name) name##_f32
#include "kernel/gemm/gemm_level.h"
#undef T
#undef VL
#undef VEC
#undef V
#undef NAME

#define T double
#define VL VD
#define VEC vd
#define V(name) vd_##name
#define NAME(name) name##_f64
#include "kernel/gemm/gemm_level.h"

extern const struct cfx_gemm_kernels CFX_LEVEL_NAME(cfx_gemm_kernels);

/* clang-format off */
const struct cfx_gemm_kernels CFX_LEVEL_NAME(cfx_gemm_kernels) = {
    .f32 = {.mr = MR, .nr = NV * VF, .lanes = VF, .dot = DOT_MAX, .blas = BLAS_MIN,
            .rows = rows_f32, .dot_rows = dot_rows_f32,
            .axpy_rows = axpy_rows_f32, .copy = copy_f32},
    .f64 = {.mr = MR, .nr = NV * VD, .lanes = VD, .dot = DOT_MAX, .blas = BLAS_MIN,
            .rows = rows_f64, .dot_rows = dot_rows_f64,
            .axpy_rows = axpy_rows_f64, .copy = copy_f64},
};
/* clang-format on */
