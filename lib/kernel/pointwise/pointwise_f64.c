/*
 * pointwise_f64.c -- the loops of pointwise.def in double.
 */
#include "kernel/pointwise/pointwise_table.h"

#include "kernel/special/special.h"
#include "kernel/vec/math_f64.h"
#include "kernel/vec/simd.h"

#define T double
#define C double
#define M(f) f##_f64
#define TABLE CFX_PW_TABLE(f64)
#define TABLE_MORE
#define PUT(v) (v)
#define PW_FLOAT LOOP
#define PW_OWN LOOP
#define PW_OWN_NUM LOOP
#define PW_NUM LOOP
#define PW_INT SKIP
#define PW_BITS SKIP
#define PW_ALL LOOP
#define PW_HALF SKIP
#include "kernel/pointwise/pointwise_loops.h"
