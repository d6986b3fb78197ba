/*
 * pointwise_loops.h -- the loops of pointwise.def for one type: included once
 * for each, with these defined:
 *
 *     T      the type of elements, C the type that formulas are computed in
 *     M(f)   function f of this type; loops are called by the same names in
 *            capitals
 *     TABLE  the name of the table that is defined here
 *     PW_FLOAT, PW_NUM, ...   LOOP for the operations that the type has,
 *            else SKIP
 *     PUT(v) the element of a result v
 *     LIST   the file of operations, if it is not pointwise.def
 *     TABLE_MORE  entries of the table that the includer has loops for
 *
 * Undefines them all at the end.
 */

#ifndef LIST
#define LIST "kernel/pointwise/pointwise.def"
#endif
#define K(x) ((C)(x))
#define READ_1(A) const A a = x0[i];
#define READ_2(A) READ_1(A) const C b = x1[i];
#define READ_3(A) READ_2(A) const C c = x2[i];
#define READ_4(A) READ_3(A) const C d = x3[i];
#define ARRAYS_1(A) const A *x0 = in[0];
#define ARRAYS_2(A) ARRAYS_1(A) const T *x1 = in[1];
#define ARRAYS_3(A) ARRAYS_2(A) const T *x2 = in[2];
#define ARRAYS_4(A) ARRAYS_3(A) const T *x3 = in[3];
#define TYPE_SAME T
#define TYPE_BOOL uint8_t
#define PUT_SAME(v) PUT(v)
#define PUT_BOOL(v) ((uint8_t)((v) != 0))

/* A is what input a has in memory, AC what it is read as. */
#define LOOP_OF(A, AC, name, inputs, result, expr)                            \
    static unsigned M(name)(void *y_, const void *const *in, int64_t n,       \
                            const double *params)                             \
    {                                                                         \
        TYPE_##result *y = y_;                                                \
        ARRAYS_##inputs(A) const C p0 = (C)params[0], p1 = (C)params[1],      \
                                   p2 = (C)params[2];                         \
        unsigned zero = 0;                                                    \
        (void)p0, (void)p1, (void)p2;                                         \
        CFX_SIMD                                                              \
        for (int64_t i = 0; i < n; i++) {                                     \
            READ_##inputs(AC) y[i] = PUT_##result(expr);                      \
        }                                                                     \
        return zero;                                                          \
    }
#define LOOP(name, inputs, result, expr)                                      \
    LOOP_OF(T, C, name, inputs, result, expr)
#define SKIP(name, inputs, result, expr)
#define PW_MASK(name, inputs, result, expr)                                   \
    LOOP_OF(uint8_t, uint8_t, name, inputs, result, expr)
#define PW_COMPLEX SKIP
#define R(x) M(half)(x, p2)
#define D(f) (C) cfx_kernel_##f

#define PW(name, inputs, types, result, expr)                                 \
    PW_##types(name, inputs, result, expr)
#include LIST
#undef PW

#undef LOOP
#undef PW_MASK
#define LOOP(name, inputs, result, expr) [CFX_PW_##name] = M(name),
#define PW_MASK LOOP
#define PW(name, inputs, types, result, expr)                                 \
    PW_##types(name, inputs, result, expr)
cfx_loop_fn *const TABLE[CFX_PW_COUNT] = {
#include LIST
    TABLE_MORE};
#undef PW

#undef K
#undef R
#undef D
#undef READ_1
#undef READ_2
#undef READ_3
#undef READ_4
#undef ARRAYS_1
#undef ARRAYS_2
#undef ARRAYS_3
#undef ARRAYS_4
#undef TYPE_SAME
#undef TYPE_BOOL
#undef PUT_SAME
#undef PUT_BOOL
#undef LOOP_OF
#undef LOOP
#undef SKIP
#undef PW_FLOAT
#undef PW_OWN
#undef PW_OWN_NUM
#undef PW_NUM
#undef PW_INT
#undef PW_BITS
#undef PW_ALL
#undef PW_MASK
#undef PW_HALF
#undef PW_COMPLEX
#undef LIST
#undef PUT
#undef TABLE
#undef TABLE_MORE
#undef T
#undef C
#undef M
