/*
 * comm_combine -- the arithmetic of reductions over ranks.
 *
 * One loop for each type and reduction, which compilers vectorize. Integers
 * wrap, as PyTorch's do; NaN is the minimum and the maximum of itself and any
 * number.
 */
#include <cfx/comm.h>

#include "base/convert.h"

#define LOOP(type, expression)                                                \
    for (int64_t i = 0; i < n; i++) {                                         \
        const type x = a[i], y = b[i];                                        \
        a[i] = (type)(expression);                                            \
    }                                                                         \
    break

/* Integers are computed without a sign, which wraps. */
#define INTEGERS(name, type, wide)                                            \
    static void combine_##name(cfx_reduction how, void *acc, const void *in,  \
                               int64_t n)                                     \
    {                                                                         \
        type *a = acc;                                                        \
        const type *b = in;                                                   \
        switch (how) {                                                        \
        case CFX_REDUCE_SUM: LOOP(type, (wide)x + (wide)y);                   \
        case CFX_REDUCE_PRODUCT: LOOP(type, (wide)x *(wide)y);                \
        case CFX_REDUCE_MIN: LOOP(type, x < y ? x : y);                       \
        case CFX_REDUCE_MAX: LOOP(type, x > y ? x : y);                       \
        case CFX_REDUCE_BAND: LOOP(type, x &y);                               \
        case CFX_REDUCE_BOR: LOOP(type, x | y);                               \
        case CFX_REDUCE_BXOR: LOOP(type, x ^ y);                              \
        }                                                                     \
    }

INTEGERS(u8, uint8_t, uint32_t)
INTEGERS(i8, int8_t, uint32_t)
INTEGERS(i16, int16_t, uint32_t)
INTEGERS(i32, int32_t, uint32_t)
INTEGERS(i64, int64_t, uint64_t)

#define READ(x) (x)
#define FLOATS(name, type, number, read, write)                               \
    static void combine_##name(cfx_reduction how, void *acc, const void *in,  \
                               int64_t n)                                     \
    {                                                                         \
        type *a = acc;                                                        \
        const type *b = in;                                                   \
        for (int64_t i = 0; i < n; i++) {                                     \
            const number x = read(a[i]), y = read(b[i]);                      \
            const number less = x < y || x != x ? x : y;                      \
            const number more = x > y || x != x ? x : y;                      \
            a[i] = write(how == CFX_REDUCE_SUM       ? x + y                  \
                         : how == CFX_REDUCE_PRODUCT ? x * y                  \
                         : how == CFX_REDUCE_MIN     ? less                   \
                                                     : more);                     \
        }                                                                     \
    }

FLOATS(f32, float, float, READ, READ)
FLOATS(f64, double, double, READ, READ)
FLOATS(f16, uint16_t, float, cfx_half_to_float, cfx_float_to_half)
FLOATS(bf16, uint16_t, float, cfx_bf16_to_f32, cfx_float_to_bfloat)

void cfx_comm_combine(cfx_reduction how, cfx_dtype type, void *acc,
                      const void *in, int64_t n)
{
    switch (type) {
    case CFX_U8: combine_u8(how, acc, in, n); break;
    case CFX_I8: combine_i8(how, acc, in, n); break;
    case CFX_I16: combine_i16(how, acc, in, n); break;
    case CFX_I32: combine_i32(how, acc, in, n); break;
    case CFX_I64: combine_i64(how, acc, in, n); break;
    case CFX_F16: combine_f16(how, acc, in, n); break;
    case CFX_BF16: combine_bf16(how, acc, in, n); break;
    case CFX_F64: combine_f64(how, acc, in, n); break;
    default: combine_f32(how, acc, in, n);
    }
}
