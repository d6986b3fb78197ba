/*
 * vec.h -- vectors of float and double, by the level that is compiled.
 *
 * For the files that are compiled once a level. A vector of float is a vf of VF
 * lanes, one of double a vd of VD; each function exists as vf_ and as vd_:
 *
 *     load(p), store(p, v)            all lanes, from any address
 *     load_n(p, n), store_n(p, n, v)  the first n lanes, 0 <= n <= lanes; the
 *                                     others are 0, and no memory of theirs is
 *                                     touched
 *     load_mask(p, bits)              the lanes whose bits are set, else 0
 *     load_step(p, step)              p[0], p[step], ... (float only)
 *     max_nan(a, b)                   the greater, NaN if one is NaN (float only)
 *     max_number(a, b)                the greater, b if a is NaN (float only)
 *     low_bf16(v), high_bf16(v)       the lower and the upper halves of the lanes,
 *                                     which are bfloat16 (float only)
 *     load_bf16(p), store_bf16(p, v)  VF numbers of bfloat16, rounded to the nearest
 *                                     as in base/convert.h (float only)
 *     of_int8(v, k)                   byte k of each lane, an int8 (float only)
 *     of_int4(v, k)                   half k of the bytes of each lane, the lower
 *                                     first, less 8: -8..7 (float only)
 *     scale(v, n)                     v * 2^n for integers -254 <= n <= 254
 *                                     (float only)
 *     set1(x), zero(), add, sub, mul, div, max, min, fma(a, b, c) = a * b + c,
 *     sum(v)                          of all lanes, in a fixed order
 *
 * The plain level has vectors of one lane, so that the same text is the
 * reference.
 */
#ifndef CFX_KERNEL_VEC_H
#define CFX_KERNEL_VEC_H

#include <stdint.h>
#include <string.h>

#include "base/convert.h"
#include "base/util.h"
#include "kernel/kernel.h"

/* CFX_LEVEL for the preprocessor: CFX_LEVEL_IS(avx2). */
#define CFX_LEVEL_NUMBER_plain 1
#define CFX_LEVEL_NUMBER_neon 2
#define CFX_LEVEL_NUMBER_avx2 3
#define CFX_LEVEL_NUMBER_avx512 4
#define CFX_LEVEL_NUMBER_(level) CFX_LEVEL_NUMBER_##level
#define CFX_LEVEL_NUMBER(level) CFX_LEVEL_NUMBER_(level)
#define CFX_LEVEL_IS(l) (CFX_LEVEL_NUMBER(CFX_LEVEL) == CFX_LEVEL_NUMBER_##l)

/* Before a loop of few turns, whose number is a constant. Sanitizers check each
 * turn, and compiling that takes minutes. */
#if defined(CFX_SANITIZED)
#define CFX_UNROLL
#elif defined(__clang__)
#define CFX_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define CFX_UNROLL _Pragma("GCC unroll 32")
#else
#define CFX_UNROLL
#endif

#if CFX_LEVEL_IS(avx512)
#include "kernel/vec/vec_avx512.h"
#elif CFX_LEVEL_IS(avx2)
#include "kernel/vec/vec_avx2.h"
#elif CFX_LEVEL_IS(neon)
#include "kernel/vec/vec_neon.h"
#else
#include "kernel/vec/vec_plain.h"
#endif

#endif
