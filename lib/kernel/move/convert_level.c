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

/* To or from complex numbers: one loop for all strides, since few are converted. */
#define CONVERT_COMPLEX(to, from)                                             \
    static void from##_to_##to(void *y_, int64_t sy, const void *x_,          \
                               int64_t sx, int64_t n)                         \
    {                                                                         \
        type_##to *y = y_;                                                    \
        const type_##from *x = x_;                                            \
        for (int64_t i = 0; i < n; i++) {                                     \
            const type_##from e = x[i * sx];                                  \
            y[i * sy] = CFX_WRITE_##to(CFX_READ_##from(e));                   \
        }                                                                     \
    }

/* A row for each real type that is converted to, without the type itself. */
/* clang-format off */
#define TO_BOOL(F) F(BOOL, U8) F(BOOL, I8) F(BOOL, I16) F(BOOL, I32) \
    F(BOOL, I64) F(BOOL, F16) F(BOOL, BF16) F(BOOL, F32) F(BOOL, F64)
#define TO_U8(F) F(U8, BOOL) F(U8, I8) F(U8, I16) F(U8, I32) \
    F(U8, I64) F(U8, F16) F(U8, BF16) F(U8, F32) F(U8, F64)
#define TO_I8(F) F(I8, BOOL) F(I8, U8) F(I8, I16) F(I8, I32) \
    F(I8, I64) F(I8, F16) F(I8, BF16) F(I8, F32) F(I8, F64)
#define TO_I16(F) F(I16, BOOL) F(I16, U8) F(I16, I8) F(I16, I32) \
    F(I16, I64) F(I16, F16) F(I16, BF16) F(I16, F32) F(I16, F64)
#define TO_I32(F) F(I32, BOOL) F(I32, U8) F(I32, I8) F(I32, I16) \
    F(I32, I64) F(I32, F16) F(I32, BF16) F(I32, F32) F(I32, F64)
#define TO_I64(F) F(I64, BOOL) F(I64, U8) F(I64, I8) F(I64, I16) \
    F(I64, I32) F(I64, F16) F(I64, BF16) F(I64, F32) F(I64, F64)
#define TO_F16(F) F(F16, BOOL) F(F16, U8) F(F16, I8) F(F16, I16) \
    F(F16, I32) F(F16, I64) F(F16, BF16) F(F16, F32) F(F16, F64)
#define TO_BF16(F) F(BF16, BOOL) F(BF16, U8) F(BF16, I8) F(BF16, I16) \
    F(BF16, I32) F(BF16, I64) F(BF16, F16) F(BF16, F32) F(BF16, F64)
#define TO_F32(F) F(F32, BOOL) F(F32, U8) F(F32, I8) F(F32, I16) \
    F(F32, I32) F(F32, I64) F(F32, F16) F(F32, BF16) F(F32, F64)
#define TO_F64(F) F(F64, BOOL) F(F64, U8) F(F64, I8) F(F64, I16) \
    F(F64, I32) F(F64, I64) F(F64, F16) F(F64, BF16) F(F64, F32)

#define EACH(F) TO_BOOL(F) TO_U8(F) TO_I8(F) TO_I16(F) TO_I32(F) TO_I64(F) \
    TO_F16(F) TO_BF16(F) TO_F32(F) TO_F64(F)

#define TO_COMPLEX(F, to) F(to, BOOL) F(to, U8) F(to, I8) F(to, I16) \
    F(to, I32) F(to, I64) F(to, F16) F(to, BF16) F(to, F32) F(to, F64)
#define FROM_COMPLEX(F, from) F(BOOL, from) F(U8, from) F(I8, from) \
    F(I16, from) F(I32, from) F(I64, from) F(F16, from) F(BF16, from) \
    F(F32, from) F(F64, from)
#define EACH_COMPLEX(F) TO_COMPLEX(F, C64) TO_COMPLEX(F, C128) \
    FROM_COMPLEX(F, C64) FROM_COMPLEX(F, C128) F(C64, C128) F(C128, C64)
/* clang-format on */

EACH(CONVERT)
EACH_COMPLEX(CONVERT_COMPLEX)

#define ENTRY(to, from) [CFX_##to][CFX_##from] = from##_to_##to,
#define SAME(type, loop) [CFX_##type][CFX_##type] = loop,

/* clang-format off */
cfx_convert_fn *const CFX_CONVERT_TABLE[CFX_NDTYPES][CFX_NDTYPES] = {
    EACH(ENTRY) EACH_COMPLEX(ENTRY)
    SAME(BOOL, copy_bool) SAME(U8, copy_1) SAME(I8, copy_1)
    SAME(I16, copy_2) SAME(F16, copy_2) SAME(BF16, copy_2)
    SAME(I32, copy_4) SAME(F32, copy_4) SAME(I64, copy_8) SAME(F64, copy_8)
    SAME(C64, copy_8) SAME(C128, copy_16)
};
/* clang-format on */
