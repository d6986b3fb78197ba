/*
 * distance_level.c -- sums over the differences of rows, for one level.
 *
 * Rows of x2 are packed as (m, width), so that a vector holds one element of
 * each; four rows of x1 are compared with them at once.
 */
#include "kernel/distance_kernel.h"

#include <math.h>

#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

enum { ROWS = 4, VECTORS = 2 };

/* Sums that stay in registers: `term` is that of a difference d, a vector. */
#define VECTOR_SUMS(name, T, v, V, LANES, term)                               \
    static void name##_##T(void *sum_, const void *a_, int64_t step,          \
                           int64_t rows, const void *b_, int64_t m, double p) \
    {                                                                         \
        enum { WIDTH = VECTORS * LANES };                                     \
        T *sum = sum_;                                                        \
        const T *a = a_, *b = b_;                                             \
        (void)p;                                                              \
        for (int64_t i = 0; i < rows; i += ROWS) {                            \
            const T *row[ROWS];                                               \
            v s[ROWS][VECTORS];                                               \
            CFX_UNROLL                                                        \
            for (int r = 0; r < ROWS; r++) {                                  \
                int64_t at = i + r < rows ? i + r : rows - 1;                 \
                row[r] = a + at * step;                                       \
                CFX_UNROLL                                                    \
                for (int k = 0; k < VECTORS; k++)                             \
                    s[r][k] = V##_zero();                                     \
            }                                                                 \
            for (int64_t e = 0; e < m; e++) {                                 \
                CFX_UNROLL                                                    \
                for (int k = 0; k < VECTORS; k++) {                           \
                    v x = V##_load(b + e * WIDTH + k * LANES);                \
                    CFX_UNROLL                                                \
                    for (int r = 0; r < ROWS; r++) {                          \
                        v d = V##_sub(x, V##_set1(row[r][e]));                \
                        s[r][k] = term;                                       \
                    }                                                         \
                }                                                             \
            }                                                                 \
            for (int r = 0; r < ROWS && i + r < rows; r++)                    \
                for (int k = 0; k < VECTORS; k++) {                           \
                    T *to = sum + (i + r) * WIDTH + k * LANES;                \
                    V##_store(to, V##_add(V##_load(to), s[r][k]));            \
                }                                                             \
        }                                                                     \
    }

/* Sums of any kind: `next` is that after s with the absolute difference d. */
#define SUMS(name, T, LANES, next)                                            \
    static void name##_##T(void *sum_, const void *a_, int64_t step,          \
                           int64_t rows, const void *b_, int64_t m, double p) \
    {                                                                         \
        enum { WIDTH = VECTORS * LANES };                                     \
        const T *a = a_, *b = b_;                                             \
        (void)p;                                                              \
        for (int64_t i = 0; i < rows; i++) {                                  \
            T *sum = (T *)sum_ + i * WIDTH;                                   \
            for (int64_t e = 0; e < m; e++) {                                 \
                const T x = a[i * step + e];                                  \
                CFX_SIMD                                                      \
                for (int k = 0; k < WIDTH; k++) {                             \
                    const T d = (T)fabs(x - b[e * WIDTH + k]), s = sum[k];    \
                    sum[k] = next;                                            \
                }                                                             \
            }                                                                 \
        }                                                                     \
    }

#define TYPE(T, v, V, LANES)                                                  \
    SUMS(unequal, T, LANES, s + (d != 0))                                     \
    VECTOR_SUMS(absolute, T, v, V, LANES,                                     \
                V##_add(s[r][k], V##_max(d, V##_sub(V##_zero(), d))))         \
    VECTOR_SUMS(squares, T, v, V, LANES, V##_fma(d, d, s[r][k]))              \
    SUMS(greatest, T, LANES, d > s ? d : s)                                   \
    SUMS(powers, T, LANES, s + (T)pow(d, p))

TYPE(float, vf, vf, VF)
TYPE(double, vd, vd, VD)

#define TABLE(T, LANES)                                                       \
    {                                                                         \
        .width = VECTORS * LANES, .sums = {                                   \
            unequal_##T,                                                      \
            absolute_##T,                                                     \
            squares_##T,                                                      \
            greatest_##T,                                                     \
            powers_##T                                                        \
        }                                                                     \
    }

extern const struct cfx_distance_kernels CFX_LEVEL_NAME(cfx_distance_kernels);

const struct cfx_distance_kernels CFX_LEVEL_NAME(cfx_distance_kernels) = {
    .f32 = TABLE(float, VF),
    .f64 = TABLE(double, VD),
};
