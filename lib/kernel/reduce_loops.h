/*
 * reduce_loops.h -- accumulation in one type: included once for each, with T,
 * the type of elements, W, that of accumulators, M(f), EXP(x), POW(x, p) and
 * LOW, HIGH, the least and the greatest number, defined.
 *
 * Every loop runs over lanes, which the compiler makes vectors of; four rows go
 * into one step, since the accumulators in between cost a load and a store.
 * Sums of one block of rows are of type T; then they go into the wide ones.
 */

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define GREATER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define ABS(v) ((v) < 0 ? -(v) : (v))
#define IS_NAN(v) ((v) != (v))

#define ACC(name, combine, first, map) \
    CFX_INLINE T M(name##_map)(T v, T shift, T param) \
    { \
        (void)shift, (void)param; \
        return map; \
    } \
    static void M(name)(void *acc_, const void *x_, int64_t stride, \
                        int64_t rows, int64_t lanes, const void *shift_, \
                        double param_) \
    { \
        static const T none[CFX_ACC_LANES]; \
        W *acc = acc_; \
        const T *x = x_, *shift = shift_ ? shift_ : none; \
        const T param = (T)param_; \
        T part[CFX_ACC_LANES]; \
        while (rows > 0) { \
            int64_t block = rows < BLOCK_ROWS ? rows : BLOCK_ROWS; \
            rows -= block; \
            for (int64_t j = 0; j < lanes; j++) \
                part[j] = first; \
            for (; block >= 4; block -= 4, x += 4 * stride) { \
                const T *x1 = x + stride, *x2 = x1 + stride; \
                const T *x3 = x2 + stride; \
                CFX_SIMD \
                for (int64_t j = 0; j < lanes; j++) { \
                    const T s = shift[j]; \
                    const T v0 = M(name##_map)(x[j], s, param); \
                    const T v1 = M(name##_map)(x1[j], s, param); \
                    const T v2 = M(name##_map)(x2[j], s, param); \
                    const T v3 = M(name##_map)(x3[j], s, param); \
                    const T v = combine(combine(v0, v1), combine(v2, v3)); \
                    part[j] = combine(part[j], v); \
                } \
            } \
            for (; block; block--, x += stride) { \
                CFX_SIMD \
                for (int64_t j = 0; j < lanes; j++) { \
                    const T v = M(name##_map)(x[j], shift[j], param); \
                    part[j] = combine(part[j], v); \
                } \
            } \
            CFX_SIMD \
            for (int64_t j = 0; j < lanes; j++) \
                acc[j] = combine(acc[j], (W)part[j]); \
        } \
    } \
    static void M(name##_fold)(void *acc_, int64_t lanes, int64_t to) \
    { \
        W *acc = acc_; \
        while (lanes > to) { \
            int64_t half = (lanes / to + 1) / 2 * to; \
            const W *upper = acc + half; \
            CFX_SIMD \
            for (int64_t j = 0; j < lanes - half; j++) \
                acc[j] = combine(acc[j], upper[j]); \
            lanes = half; \
        } \
    }

/* name, how two are combined, what to begin with, what an element counts. */
#define EACH_ACC(F) \
    F(SUM, ADD, 0, v) \
    F(PROD, MUL, 1, v) \
    F(MAX, GREATER, LOW, v) \
    F(MIN, LESS, HIGH, v) \
    F(NONZERO, ADD, 0, v != 0) \
    F(SUMSQ, ADD, 0, v * v) \
    F(SUMABS, ADD, 0, ABS(v)) \
    F(MAXABS, GREATER, 0, ABS(v)) \
    F(MINABS, LESS, HIGH, ABS(v)) \
    F(SQDIFF, ADD, 0, (v - shift) * (v - shift)) \
    F(SUMPOW, ADD, 0, POW(ABS(v), param)) \
    F(SUMEXP, ADD, 0, EXP(v - shift))

EACH_ACC(ACC)

static void M(better)(void *best_, int64_t *index, const void *x_, int64_t r,
                      int64_t lanes, bool smallest)
{
    T *best = best_;
    const T *x = x_;

    if (smallest) {
        CFX_SIMD
        for (int64_t j = 0; j < lanes; j++) {
            bool take = x[j] < best[j] ||
                        (IS_NAN(x[j]) && !IS_NAN(best[j]));

            best[j] = take ? x[j] : best[j];
            index[j] = take ? r : index[j];
        }
    } else {
        CFX_SIMD
        for (int64_t j = 0; j < lanes; j++) {
            bool take = x[j] > best[j] ||
                        (IS_NAN(x[j]) && !IS_NAN(best[j]));

            best[j] = take ? x[j] : best[j];
            index[j] = take ? r : index[j];
        }
    }
}

#undef ADD
#undef MUL
#undef GREATER
#undef LESS
#undef ABS
#undef IS_NAN
#undef ACC
#undef EACH_ACC
#undef T
#undef W
#undef M
#undef EXP
#undef POW
#undef LOW
#undef HIGH
