/*
 * pointwise_int.c -- the loops of pointwise.def in the integer types and bool.
 * Types below 32 bits are computed in int and truncated when they are stored.
 */
#include "kernel/pointwise/pointwise_table.h"

#include "kernel/vec/simd.h"

#define T int64_t
#define C int64_t
#define BITS 64
#define M(f) f##_i64
#define TABLE CFX_PW_TABLE(i64)
#define TABLE_MORE
#define PUT(v) ((T)(v))
#define PW_FLOAT SKIP
#define PW_OWN SKIP
#define PW_OWN_NUM LOOP
#define PW_NUM LOOP
#define PW_INT LOOP
#define PW_BITS LOOP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/vec/math_int.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef BITS

#define T int32_t
#define C int32_t
#define BITS 32
#define M(f) f##_i32
#define TABLE CFX_PW_TABLE(i32)
#define TABLE_MORE
#define PUT(v) ((T)(v))
#define PW_FLOAT SKIP
#define PW_OWN SKIP
#define PW_OWN_NUM LOOP
#define PW_NUM LOOP
#define PW_INT LOOP
#define PW_BITS LOOP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/vec/math_int.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef BITS

#define T int16_t
#define C int
#define BITS 16
#define M(f) f##_i16
#define TABLE CFX_PW_TABLE(i16)
#define TABLE_MORE
#define PUT(v) ((T)(v))
#define PW_FLOAT SKIP
#define PW_OWN SKIP
#define PW_OWN_NUM LOOP
#define PW_NUM LOOP
#define PW_INT LOOP
#define PW_BITS LOOP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/vec/math_int.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef BITS

#define T int8_t
#define C int
#define BITS 8
#define M(f) f##_i8
#define TABLE CFX_PW_TABLE(i8)
#define TABLE_MORE
#define PUT(v) ((T)(v))
#define PW_FLOAT SKIP
#define PW_OWN SKIP
#define PW_OWN_NUM LOOP
#define PW_NUM LOOP
#define PW_INT LOOP
#define PW_BITS LOOP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/vec/math_int.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef BITS

#define T uint8_t
#define C int
#define BITS 8
#define M(f) f##_u8
#define TABLE CFX_PW_TABLE(u8)
#define TABLE_MORE
#define PUT(v) ((T)(v))
#define PW_FLOAT SKIP
#define PW_OWN SKIP
#define PW_OWN_NUM LOOP
#define PW_NUM LOOP
#define PW_INT LOOP
#define PW_BITS LOOP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/vec/math_int.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef BITS

#define T uint8_t
#define C int
#define BITS 1
#define M(f) f##_bool
#define TABLE CFX_PW_TABLE(bool)
#define TABLE_MORE
#define PUT(v) ((T)((v) != 0))
#define PW_FLOAT SKIP
#define PW_OWN SKIP
#define PW_OWN_NUM SKIP
#define PW_NUM SKIP
#define PW_INT SKIP
#define PW_BITS LOOP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/vec/math_int.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef BITS
