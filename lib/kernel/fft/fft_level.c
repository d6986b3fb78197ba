/*
 * fft_level.c -- Fourier transforms in vectors of the level.
 *
 * fft_loops.h is the text for both types.
 */
#include "kernel/fft/fft_kernel.h"

#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

/* ZIP: the lower (n = 0) or the upper halves of two vectors, their elements in
 * turn. UNZIP: the even (n = 0) or the odd elements of both. */
#ifdef CFX_SHUFFLE
#define ZIP_2(a, b, n) CFX_SHUFFLE(a, b, 0 + n, 2 + n)
#define ZIP_4(a, b, n) CFX_SHUFFLE(a, b, 0 + n, 4 + n, 1 + n, 5 + n)
#define ZIP_8(a, b, n)                                                        \
    CFX_SHUFFLE(a, b, 0 + n, 8 + n, 1 + n, 9 + n, 2 + n, 10 + n, 3 + n, 11 + n)
#define ZIP_16(a, b, n)                                                       \
    CFX_SHUFFLE(a, b, 0 + n, 16 + n, 1 + n, 17 + n, 2 + n, 18 + n, 3 + n,     \
                19 + n, 4 + n, 20 + n, 5 + n, 21 + n, 6 + n, 22 + n, 7 + n,   \
                23 + n)
#define UNZIP_2(a, b, n) CFX_SHUFFLE(a, b, 0 + n, 2 + n)
#define UNZIP_4(a, b, n) CFX_SHUFFLE(a, b, 0 + n, 2 + n, 4 + n, 6 + n)
#define UNZIP_8(a, b, n)                                                      \
    CFX_SHUFFLE(a, b, 0 + n, 2 + n, 4 + n, 6 + n, 8 + n, 10 + n, 12 + n,      \
                14 + n)
#define UNZIP_16(a, b, n)                                                     \
    CFX_SHUFFLE(a, b, 0 + n, 2 + n, 4 + n, 6 + n, 8 + n, 10 + n, 12 + n,      \
                14 + n, 16 + n, 18 + n, 20 + n, 22 + n, 24 + n, 26 + n,       \
                28 + n, 30 + n)
#if CFX_LEVEL_IS(avx512)
#define ZIP_F32 ZIP_16
#define ZIP_F64 ZIP_8
#define UNZIP_F32 UNZIP_16
#define UNZIP_F64 UNZIP_8
#elif CFX_LEVEL_IS(avx2)
#define ZIP_F32 ZIP_8
#define ZIP_F64 ZIP_4
#define UNZIP_F32 UNZIP_8
#define UNZIP_F64 UNZIP_4
#elif CFX_LEVEL_IS(neon)
#define ZIP_F32 ZIP_4
#define ZIP_F64 ZIP_2
#define UNZIP_F32 UNZIP_4
#define UNZIP_F64 UNZIP_2
#endif
#endif

#if defined(CFX_SHUFFLE) && !CFX_LEVEL_IS(plain)
#define SHUFFLES 1
#else
#define SHUFFLES 0
#endif

#define T float
#define V vf
#define LANES VF
#define ZIP ZIP_F32
#define UNZIP UNZIP_F32
#define NAME(f) f##_f32
#define VEC(f) vf_##f
#include "kernel/fft/fft_loops.h"
#undef T
#undef V
#undef LANES
#undef ZIP
#undef UNZIP
#undef NAME
#undef VEC

#define T double
#define V vd
#define LANES VD
#define ZIP ZIP_F64
#define UNZIP UNZIP_F64
#define NAME(f) f##_f64
#define VEC(f) vd_##f
#include "kernel/fft/fft_loops.h"

extern const struct cfx_fft_kernels CFX_LEVEL_NAME(cfx_fft_kernels);

const struct cfx_fft_kernels CFX_LEVEL_NAME(cfx_fft_kernels) = {
    .f32 = {VF, transform_f32, filter_f32},
    .f64 = {VD, transform_f64, filter_f64},
};
