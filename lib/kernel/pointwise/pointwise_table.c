/*
 * pointwise_table.c -- what pointwise.h offers at this level.
 */
#include "kernel/pointwise/pointwise_table.h"

#include "kernel/move/convert_level.h"

const struct cfx_pointwise_kernels CFX_LEVEL_NAME(cfx_pointwise_kernels) = {
    .loop =
        {
            [CFX_C_F32] = CFX_PW_TABLE(f32),
            [CFX_C_F64] = CFX_PW_TABLE(f64),
            [CFX_C_I64] = CFX_PW_TABLE(i64),
            [CFX_C_I32] = CFX_PW_TABLE(i32),
            [CFX_C_I16] = CFX_PW_TABLE(i16),
            [CFX_C_I8] = CFX_PW_TABLE(i8),
            [CFX_C_U8] = CFX_PW_TABLE(u8),
            [CFX_C_BOOL] = CFX_PW_TABLE(bool),
            [CFX_C_C64] = CFX_PW_TABLE(c64),
            [CFX_C_C128] = CFX_PW_TABLE(c128),
        },
    .convert = CFX_CONVERT_TABLE,
    .transpose = CFX_TRANSPOSE_TABLE,
    .stream = CFX_STREAM,
};
