/*
 * pointwise_complex.c -- the loops of pointwise_complex.def.
 */
#include "kernel/pointwise/pointwise_table.h"

#include <complex.h>
#include <math.h>

#include "kernel/vec/simd.h"

/* <complex.h> would take the name of the unit. */
#undef I

#define LIST "kernel/pointwise/pointwise_complex.def"
#define T float _Complex
#define P float
#define C float _Complex
#define M(f) f##_c64
#define X(name) name##f
#define CX(name) c##name##f
#define TABLE CFX_PW_TABLE(c64)
#define TABLE_MORE
#define PUT(v) (v)
#define PW_ALL LOOP
#include "kernel/vec/math_complex.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef P
#undef X
#undef CX

#define LIST "kernel/pointwise/pointwise_complex.def"
#define T double _Complex
#define P double
#define C double _Complex
#define M(f) f##_c128
#define X(f) f
#define CX(f) c##f
#define TABLE CFX_PW_TABLE(c128)
#define TABLE_MORE
#define PUT(v) (v)
#define PW_ALL LOOP
#include "kernel/vec/math_complex.h"
#include "kernel/pointwise/pointwise_loops.h"
#undef P
#undef X
#undef CX
