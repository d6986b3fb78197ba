/*
 * pointwise_table.h -- the tables of loops of this level, one for each type
 * that is computed in.
 */
#ifndef CFX_POINTWISE_TABLE_H
#define CFX_POINTWISE_TABLE_H

#include "kernel/pointwise/pointwise_kernel.h"

#define CFX_PW_TABLE(type) CFX_LEVEL_NAME(cfx_pointwise_##type)

typedef cfx_loop_fn *const cfx_pw_table[CFX_PW_COUNT];
extern cfx_pw_table CFX_PW_TABLE(f32), CFX_PW_TABLE(f64), CFX_PW_TABLE(i64),
    CFX_PW_TABLE(i32), CFX_PW_TABLE(i16), CFX_PW_TABLE(i8), CFX_PW_TABLE(u8),
    CFX_PW_TABLE(bool), CFX_PW_TABLE(c64), CFX_PW_TABLE(c128);

extern const struct cfx_pointwise_kernels CFX_LEVEL_NAME(
    cfx_pointwise_kernels);

#endif
