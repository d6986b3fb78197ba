/*
 * kernel.c -- the kernel tables of each CPU level.
 *
 * Every family defines, in the files that are compiled once for each level,
 * one table named cfx_FAMILY_kernels_LEVEL (by CFX_LEVEL_NAME). This file
 * collects them.
 */
#include "kernel/kernel.h"

#define DECLARE(family, level)                                                \
    extern const struct cfx_##family##_kernels cfx_##family##_kernels_##level;
/* clang-format off */
#define DECLARE_LEVEL(level) \
    DECLARE(pointwise, level) DECLARE(reduce, level) DECLARE(norm, level) \
    DECLARE(gemm, level) DECLARE(conv, level) DECLARE(pool, level) \
    DECLARE(blocked, level) DECLARE(windows, level) DECLARE(quantized, level) \
    DECLARE(rnn, level) DECLARE(fft, level) \
    DECLARE(distance, level)
/* clang-format on */

#define TABLE(level_, cpu)                                                    \
    static const cfx_kernels level_##_kernels = {                             \
        .level = cpu,                                                         \
        .pointwise = &cfx_pointwise_kernels_##level_,                         \
        .reduce = &cfx_reduce_kernels_##level_,                               \
        .norm = &cfx_norm_kernels_##level_,                                   \
        .gemm = &cfx_gemm_kernels_##level_,                                   \
        .conv = &cfx_conv_kernels_##level_,                                   \
        .pool = &cfx_pool_kernels_##level_,                                   \
        .blocked = &cfx_blocked_kernels_##level_,                             \
        .windows = &cfx_windows_kernels_##level_,                             \
        .quantized = &cfx_quantized_kernels_##level_,                         \
        .rnn = &cfx_rnn_kernels_##level_,                                     \
        .fft = &cfx_fft_kernels_##level_,                                     \
        .distance = &cfx_distance_kernels_##level_,                           \
    };

DECLARE_LEVEL(plain)
TABLE(plain, CFX_CPU_PLAIN)
#if defined(__x86_64__)
DECLARE_LEVEL(avx2)
DECLARE_LEVEL(avx512)
TABLE(avx2, CFX_CPU_AVX2)
TABLE(avx512, CFX_CPU_AVX512)
#elif defined(__aarch64__)
DECLARE_LEVEL(neon)
TABLE(neon, CFX_CPU_NEON)
#endif

const cfx_kernels *cfx_context_kernels(const cfx_context *ctx)
{
    switch (cfx_context_cpu(ctx)) {
#if defined(__x86_64__)
    case CFX_CPU_AVX512: return &avx512_kernels;
    case CFX_CPU_AVX2: return &avx2_kernels;
#elif defined(__aarch64__)
    case CFX_CPU_NEON: return &neon_kernels;
#endif
    default: return &plain_kernels;
    }
}
