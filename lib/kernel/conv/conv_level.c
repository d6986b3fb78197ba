/*
 * conv_level.c -- the inner loops of convolutions, for one level.
 */
#include <string.h>

#include "kernel/conv/conv_core.h"
#include "kernel/vec/vec.h"

/* Vectors in a row of a panel of b, as in gemm_level.c. */
#if CFX_LEVEL_IS(avx512)
enum { NV = 3 };
#else
enum { NV = 2 };
#endif

extern const struct cfx_winograd_kernels CFX_LEVEL_NAME(cfx_winograd_kernels);

#define T float
#define VL VF
#define VEC vf
#define V(name) vf_##name
#define NAME(name) name##_f32
#include "kernel/conv/conv_level.h"
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
#include "kernel/conv/conv_level.h"

extern const struct cfx_conv_kernels CFX_LEVEL_NAME(cfx_conv_kernels);

const struct cfx_conv_kernels CFX_LEVEL_NAME(cfx_conv_kernels) = {
    .f32 = {.columns = columns_f32,
            .depthwise = depthwise_f32,
            .split = split_f32,
            .lanes = VF},
    .f64 = {.columns = columns_f64,
            .depthwise = depthwise_f64,
            .split = split_f64,
            .lanes = VD},
    .winograd = &CFX_LEVEL_NAME(cfx_winograd_kernels),
};
