/*
 * kernel.h -- inner loops: pointers and integers in, numbers out.
 *
 * Kernels allocate nothing and cannot fail. The files listed in KERNEL_LEVEL
 * are compiled once for each level of instructions the processor may have;
 * each family of them fills one table of functions, and a level is a set of
 * tables. The plain level is the reference. What drives them over the threads
 * of a context is compiled once, and takes the level from the context.
 */
#ifndef CFX_KERNEL_H
#define CFX_KERNEL_H

#include <cfx/context.h>
#include <cfx/dtype.h>

struct cfx_pointwise_kernels; /* kernel/pointwise/pointwise_kernel.h */
struct cfx_reduce_kernels;    /* kernel/reduce/reduce_kernel.h */
struct cfx_norm_kernels;      /* kernel/norm/norm_kernel.h */
struct cfx_gemm_kernels;      /* kernel/gemm/gemm.h */
struct cfx_conv_kernels;      /* kernel/conv/conv_kernel.h */
struct cfx_pool_kernels;      /* kernel/pool/pool_kernel.h */
struct cfx_blocked_kernels;   /* kernel/blocked/blocked.h */
struct cfx_windows_kernels;   /* kernel/blocked/blocked.h */
struct cfx_quantized_kernels; /* kernel/blocked/quantized.h */
struct cfx_rnn_kernels;       /* kernel/rnn_kernel.h */
struct cfx_fft_kernels;       /* kernel/fft/fft_kernel.h */
struct cfx_distance_kernels;  /* kernel/distance_kernel.h */

typedef struct cfx_kernels {
    cfx_cpu level;
    const struct cfx_pointwise_kernels *pointwise;
    const struct cfx_reduce_kernels *reduce;
    const struct cfx_norm_kernels *norm;
    const struct cfx_gemm_kernels *gemm;
    const struct cfx_conv_kernels *conv;
    const struct cfx_pool_kernels *pool;
    const struct cfx_blocked_kernels *blocked;
    const struct cfx_windows_kernels *windows;
    const struct cfx_quantized_kernels *quantized;
    const struct cfx_rnn_kernels *rnn;
    const struct cfx_fft_kernels *fft;
    const struct cfx_distance_kernels *distance;
} cfx_kernels;

/* The kernels of the context's level. Never fails. */
const cfx_kernels *cfx_context_kernels(const cfx_context *ctx);

/* In the files that are compiled for each level: the name of a symbol of this
 * level. CFX_LEVEL is plain, neon, avx2 or avx512. */
#ifdef CFX_LEVEL
#define CFX_LEVEL_PASTE_(name, level) name##_##level
#define CFX_LEVEL_PASTE(name, level) CFX_LEVEL_PASTE_(name, level)
#define CFX_LEVEL_NAME(name) CFX_LEVEL_PASTE(name, CFX_LEVEL)
#endif

#endif
