/*
 * reduce_loops.h -- accumulation in one type: included once for each, with T,
 * the type of elements, W, that of accumulators, M(f) and MW(f), functions of
 * these, EXP(x), POW(x, p) and LOW, HIGH, the least and the greatest number,
 * defined.
 *
 * Every loop runs over lanes, which the compiler makes vectors of; four rows go
 * into one step, since the accumulators in between cost a load and a store.
 * Sums of one block of rows are of type T; then they go into the wide ones.
 */

#define ABS(v) ((v) < 0 ? -(v) : (v))
#define IS_NAN(v) ((v) != (v))

#define ACC(name, combine, first, map)                                        \
    CFX_INLINE T M(name##_map)(T v, T shift, T param)                         \
    {                                                                         \
        (void)shift, (void)param;                                             \
        return map;                                                           \
    }                                                                         \
    static void M(name)(void *acc_, const void *x_, int64_t stride,           \
                        int64_t rows, int64_t lanes, const void *shift_,      \
                        double param_, bool fresh)                            \
    {                                                                         \
        static const T none[CFX_ACC_LANES];                                   \
        W *acc = acc_;                                                        \
        const T *x = x_, *shift = shift_ ? shift_ : none;                     \
        const T param = (T)param_;                                            \
        T part[CFX_ACC_LANES];                                                \
        while (rows > 0) {                                                    \
            int64_t block = rows < BLOCK_ROWS ? rows : BLOCK_ROWS;            \
            rows -= block;                                                    \
            for (int64_t j = 0; j < lanes; j++)                               \
                part[j] = first;                                              \
            for (; block >= 4; block -= 4, x += 4 * stride) {                 \
                const T *x1 = x + stride, *x2 = x1 + stride;                  \
                const T *x3 = x2 + stride;                                    \
                CFX_SIMD                                                      \
                for (int64_t j = 0; j < lanes; j++) {                         \
                    const T s = shift[j];                                     \
                    const T v0 = M(name##_map)(x[j], s, param);               \
                    const T v1 = M(name##_map)(x1[j], s, param);              \
                    const T v2 = M(name##_map)(x2[j], s, param);              \
                    const T v3 = M(name##_map)(x3[j], s, param);              \
                    const T v = M(combine)(M(combine)(v0, v1),                \
                                           M(combine)(v2, v3));               \
                    part[j] = M(combine)(part[j], v);                         \
                }                                                             \
            }                                                                 \
            for (; block; block--, x += stride) {                             \
                CFX_SIMD                                                      \
                for (int64_t j = 0; j < lanes; j++) {                         \
                    const T v = M(name##_map)(x[j], shift[j], param);         \
                    part[j] = M(combine)(part[j], v);                         \
                }                                                             \
            }                                                                 \
            if (fresh) {                                                      \
                for (int64_t j = 0; j < lanes; j++)                           \
                    acc[j] = (W)part[j];                                      \
            } else {                                                          \
                CFX_SIMD                                                      \
                for (int64_t j = 0; j < lanes; j++)                           \
                    acc[j] = MW(combine)(acc[j], (W)part[j]);                 \
            }                                                                 \
            fresh = false;                                                    \
        }                                                                     \
    }                                                                         \
    static void M(name##_fold)(void *acc_, int64_t lanes, int64_t to)         \
    {                                                                         \
        W *acc = acc_;                                                        \
        int64_t times = to == 1 ? lanes : lanes / to;                         \
        while (times > 1) {                                                   \
            int64_t half = (times + 1) / 2;                                   \
            const W *upper = acc + half * to;                                 \
            CFX_SIMD                                                          \
            for (int64_t j = 0; j < (times - half) * to; j++)                 \
                acc[j] = MW(combine)(acc[j], upper[j]);                       \
            times = half;                                                     \
        }                                                                     \
    }                                                                         \
    CFX_FORCE_INLINE W *M(name##_beside)(W * out, const T *x, int64_t stride, \
                                         int rows, int64_t n, T param)        \
    {                                                                         \
        T part[ROWS_BESIDE];                                                  \
        for (int j = 0; j < rows; j++)                                        \
            part[j] = first;                                                  \
        for (int64_t i = 0; i < n; i++) {                                     \
            CFX_SIMD                                                          \
            for (int j = 0; j < rows; j++)                                    \
                part[j] = M(combine)(                                         \
                    part[j], M(name##_map)(x[j * stride + i], 0, param));     \
        }                                                                     \
        for (int j = 0; j < rows; j++)                                        \
            out[j] = (W)part[j];                                              \
        return out + rows;                                                    \
    }                                                                         \
    static void M(name##_rows)(void *out_, const void *x_, int64_t stride,    \
                               int64_t rows, int64_t n, double param_)        \
    {                                                                         \
        W *out = out_;                                                        \
        const T *x = x_;                                                      \
        const T param = (T)param_;                                            \
        for (; n <= SHORT_ROW && rows >= ROWS_BESIDE;                         \
             rows -= ROWS_BESIDE, x += ROWS_BESIDE * stride)                  \
            out = M(name##_beside)(out, x, stride, ROWS_BESIDE, n, param);    \
        for (; n <= SHORT_ROW && rows; rows--, x += stride)                   \
            out = M(name##_beside)(out, x, stride, 1, n, param);              \
        for (; rows; rows--, x += stride) {                                   \
            T part[ROW_LANES];                                                \
            int64_t i, left;                                                  \
            for (int j = 0; j < ROW_LANES; j++)                               \
                part[j] = first;                                              \
            for (i = 0; i + ROW_LANES <= n; i += ROW_LANES)                   \
                for (int j = 0; j < ROW_LANES; j++)                           \
                    part[j] = M(combine)(part[j],                             \
                                         M(name##_map)(x[i + j], 0, param));  \
            left = n - i;                                                     \
            for (int64_t j = 0; j < left; j++)                                \
                part[j] = M(combine)(part[j],                                 \
                                     M(name##_map)(x[i + j], 0, param));      \
            for (int half = ROW_LANES / 2; half; half /= 2)                   \
                for (int j = 0; j < half; j++)                                \
                    part[j] = M(combine)(part[j], part[j + half]);            \
            *out++ = (W)part[0];                                              \
        }                                                                     \
    }

/* name, how two are combined, what to begin with, what an element counts. */
#define EACH_ACC(F)                                                           \
    F(SUM, add, 0, v)                                                         \
    F(PROD, mul, 1, v)                                                        \
    F(MAX, greater, LOW, v)                                                   \
    F(MIN, less, HIGH, v)                                                     \
    F(NONZERO, add, 0, v != 0)                                                \
    F(SUMSQ, add, 0, v *v)                                                    \
    F(SUMABS, add, 0, ABS(v))                                                 \
    F(MAXABS, greater, 0, ABS(v))                                             \
    F(MINABS, less, HIGH, ABS(v))                                             \
    F(SQDIFF, add, 0, (v - shift) * (v - shift))                              \
    F(SUMPOW, add, 0, POW(ABS(v), param))                                     \
    F(SUMEXP, add, 0, EXP(v - shift))

EACH_ACC(ACC)

static void M(better)(void *best_, int64_t *index, const void *x_, int64_t r,
                      int64_t lanes, bool smallest)
{
    T *best = best_;
    const T *x = x_;

    if (smallest) {
        CFX_SIMD
        for (int64_t j = 0; j < lanes; j++) {
            bool take = x[j] < best[j] || (IS_NAN(x[j]) && !IS_NAN(best[j]));

            best[j] = take ? x[j] : best[j];
            index[j] = take ? r : index[j];
        }
    } else {
        CFX_SIMD
        for (int64_t j = 0; j < lanes; j++) {
            bool take = x[j] > best[j] || (IS_NAN(x[j]) && !IS_NAN(best[j]));

            best[j] = take ? x[j] : best[j];
            index[j] = take ? r : index[j];
        }
    }
}

#undef ABS
#undef IS_NAN
#undef ACC
#undef EACH_ACC
#undef T
#undef W
#undef M
#undef MW
#undef EXP
#undef POW
#undef LOW
#undef HIGH
