/*
 * convert_level.c -- loops that copy and convert between any two types that
 * have arithmetic. cfx_tensor_copy converts the others.
 */
#include "kernel/move/convert_level.h"

#include "kernel/vec/simd.h"

#include "base/convert.h"

#define DTYPE(c, name, other, abbr, ctype, ...) typedef ctype type_##c;
#include <cfx/dtype.def>
#undef DTYPE

/* The three ways in which inputs are walked: row by row, one number for all
 * (broadcast), and with any strides. */
#define LOOP(name, TO, FROM, value)                                           \
    static void name(void *y_, int64_t sy, const void *x_, int64_t sx,        \
                     int64_t n)                                               \
    {                                                                         \
        TO *y = y_;                                                           \
        const FROM *x = x_;                                                   \
        if (sy == 1 && sx == 1) {                                             \
            CFX_SIMD                                                          \
            for (int64_t i = 0; i < n; i++) {                                 \
                const FROM e = x[i];                                          \
                y[i] = value;                                                 \
            }                                                                 \
        } else if (sy == 1 && sx == 0 && n > 0) {                             \
            const FROM e = x[0];                                              \
            const TO v = value;                                               \
            for (int64_t i = 0; i < n; i++)                                   \
                y[i] = v;                                                     \
        } else {                                                              \
            for (int64_t i = 0; i < n; i++) {                                 \
                const FROM e = x[i * sx];                                     \
                y[i * sy] = value;                                            \
            }                                                                 \
        }                                                                     \
    }

LOOP(copy_1, uint8_t, uint8_t, e)
LOOP(copy_2, uint16_t, uint16_t, e)
LOOP(copy_4, uint32_t, uint32_t, e)
LOOP(copy_8, uint64_t, uint64_t, e)
LOOP(copy_16, double _Complex, double _Complex, e)
/* Nonzero is true, and true is stored as 1. */
LOOP(copy_bool, uint8_t, uint8_t, e != 0)

#define CONVERT(to, from)                                                     \
    LOOP(from##_to_##to, type_##to, type_##from,                              \
         CFX_WRITE_##to(CFX_READ_##from(e)))

/* A row for each type that is converted to, without the type itself. */
/* clang-format off */
#define TO_BOOL(F) F(BOOL, U8) F(BOOL, I8) F(BOOL, I16) F(BOOL, I32) \
    F(BOOL, I64) F(BOOL, F16) F(BOOL, BF16) F(BOOL, F32) F(BOOL, F64) \
    F(BOOL, C64) F(BOOL, C128)
#define TO_U8(F) F(U8, BOOL) F(U8, I8) F(U8, I16) F(U8, I32) F(U8, I64) \
    F(U8, F16) F(U8, BF16) F(U8, F32) F(U8, F64) F(U8, C64) F(U8, C128)
#define TO_I8(F) F(I8, BOOL) F(I8, U8) F(I8, I16) F(I8, I32) F(I8, I64) \
    F(I8, F16) F(I8, BF16) F(I8, F32) F(I8, F64) F(I8, C64) F(I8, C128)
#define TO_I16(F) F(I16, BOOL) F(I16, U8) F(I16, I8) F(I16, I32) F(I16, I64) \
    F(I16, F16) F(I16, BF16) F(I16, F32) F(I16, F64) F(I16, C64) \
    F(I16, C128)
#define TO_I32(F) F(I32, BOOL) F(I32, U8) F(I32, I8) F(I32, I16) F(I32, I64) \
    F(I32, F16) F(I32, BF16) F(I32, F32) F(I32, F64) F(I32, C64) \
    F(I32, C128)
#define TO_I64(F) F(I64, BOOL) F(I64, U8) F(I64, I8) F(I64, I16) F(I64, I32) \
    F(I64, F16) F(I64, BF16) F(I64, F32) F(I64, F64) F(I64, C64) \
    F(I64, C128)
#define TO_F16(F) F(F16, BOOL) F(F16, U8) F(F16, I8) F(F16, I16) F(F16, I32) \
    F(F16, I64) F(F16, BF16) F(F16, F32) F(F16, F64) F(F16, C64) \
    F(F16, C128)
#define TO_BF16(F) F(BF16, BOOL) F(BF16, U8) F(BF16, I8) F(BF16, I16) \
    F(BF16, I32) F(BF16, I64) F(BF16, F16) F(BF16, F32) F(BF16, F64) \
    F(BF16, C64) F(BF16, C128)
#define TO_F32(F) F(F32, BOOL) F(F32, U8) F(F32, I8) F(F32, I16) F(F32, I32) \
    F(F32, I64) F(F32, F16) F(F32, BF16) F(F32, F64) F(F32, C64) \
    F(F32, C128)
#define TO_F64(F) F(F64, BOOL) F(F64, U8) F(F64, I8) F(F64, I16) F(F64, I32) \
    F(F64, I64) F(F64, F16) F(F64, BF16) F(F64, F32) F(F64, C64) \
    F(F64, C128)
#define TO_C64(F) F(C64, BOOL) F(C64, U8) F(C64, I8) F(C64, I16) F(C64, I32) \
    F(C64, I64) F(C64, F16) F(C64, BF16) F(C64, F32) F(C64, F64) \
    F(C64, C128)
#define TO_C128(F) F(C128, BOOL) F(C128, U8) F(C128, I8) F(C128, I16) \
    F(C128, I32) F(C128, I64) F(C128, F16) F(C128, BF16) F(C128, F32) \
    F(C128, F64) F(C128, C64)

#define EACH(F) TO_BOOL(F) TO_U8(F) TO_I8(F) TO_I16(F) TO_I32(F) TO_I64(F) \
    TO_F16(F) TO_BF16(F) TO_F32(F) TO_F64(F) TO_C64(F) TO_C128(F)
/* clang-format on */

EACH(CONVERT)

#define ENTRY(to, from) [CFX_##to][CFX_##from] = from##_to_##to,
#define SAME(type, loop) [CFX_##type][CFX_##type] = loop,

/* clang-format off */
cfx_convert_fn *const CFX_CONVERT_TABLE[CFX_NDTYPES][CFX_NDTYPES] = {
    EACH(ENTRY)
    SAME(BOOL, copy_bool) SAME(U8, copy_1) SAME(I8, copy_1)
    SAME(I16, copy_2) SAME(F16, copy_2) SAME(BF16, copy_2)
    SAME(I32, copy_4) SAME(F32, copy_4) SAME(I64, copy_8) SAME(F64, copy_8)
    SAME(C64, copy_8) SAME(C128, copy_16)
};
/* clang-format on */
