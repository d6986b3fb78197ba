/*
 * fft_loops.h -- Fourier transforms of type T; included by fft_level.c for each.
 *
 * Number k of a buffer is the real parts of all lanes, then the imaginary ones,
 * where a lane is a line that is transformed: T x[n][2][lanes]. With one lane
 * that is an array of complex numbers. An inverse transform is the forward one
 * of the numbers whose real and imaginary parts are exchanged: `swap` is the
 * lanes, else 0.
 */

typedef struct NAME(number) {
    V re, im;
} NAME(number);
#define number NAME(number)

CFX_FORCE_INLINE number NAME(get)(const T *x, int64_t k, int64_t swap)
{
    x += 2 * LANES * k;
    return (number){VEC(load)(x + swap), VEC(load)(x + LANES - swap)};
}

CFX_FORCE_INLINE void NAME(put)(T *x, int64_t k, int64_t swap, number a)
{
    x += 2 * LANES * k;
    VEC(store)(x + swap, a.re);
    VEC(store)(x + LANES - swap, a.im);
}

CFX_FORCE_INLINE number NAME(add)(number a, number b)
{
    return (number){a.re + b.re, a.im + b.im};
}

CFX_FORCE_INLINE number NAME(sub)(number a, number b)
{
    return (number){a.re - b.re, a.im - b.im};
}

CFX_FORCE_INLINE number NAME(mul)(number a, T re, T im)
{
    V c = VEC(set1)(re), s = VEC(set1)(im);
    return (number){a.re * c - a.im * s, a.re * s + a.im * c};
}

/* a + r b */
CFX_FORCE_INLINE number NAME(plus)(number a, T r, number b)
{
    V v = VEC(set1)(r);
    return (number){a.re + v * b.re, a.im + v * b.im};
}

/* -i r a */
CFX_FORCE_INLINE number NAME(turn)(number a, T r)
{
    V v = VEC(set1)(r);
    return (number){v * a.im, VEC(zero)() - v * a.re};
}

/* ---- Transforms of p numbers ---- */

CFX_FORCE_INLINE void NAME(dft_2)(number a[2])
{
    number b = NAME(sub)(a[0], a[1]);
    a[0] = NAME(add)(a[0], a[1]);
    a[1] = b;
}

CFX_FORCE_INLINE void NAME(dft_3)(number a[3])
{
    number sum = NAME(add)(a[1], a[2]);
    number b = NAME(plus)(a[0], (T)-0.5, sum);
    number c = NAME(turn)(NAME(sub)(a[1], a[2]),
                          (T)0.86602540378443864676); /* sin(pi / 3) */
    a[0] = NAME(add)(a[0], sum);
    a[1] = NAME(add)(b, c);
    a[2] = NAME(sub)(b, c);
}

CFX_FORCE_INLINE void NAME(dft_4)(number a[4])
{
    number b = NAME(add)(a[0], a[2]), c = NAME(sub)(a[0], a[2]);
    number d = NAME(add)(a[1], a[3]), e = NAME(sub)(a[1], a[3]);
    number turned = {e.im, VEC(zero)() - e.re};
    a[0] = NAME(add)(b, d);
    a[1] = NAME(add)(c, turned);
    a[2] = NAME(sub)(b, d);
    a[3] = NAME(sub)(c, turned);
}

CFX_FORCE_INLINE void NAME(dft_5)(number a[5])
{
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410;
    const T s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
    number b = NAME(add)(a[1], a[4]), c = NAME(add)(a[2], a[3]);
    number d = NAME(sub)(a[1], a[4]), e = NAME(sub)(a[2], a[3]);
    number f = NAME(plus)(NAME(plus)(a[0], c1, b), c2, c);
    number g = NAME(plus)(NAME(plus)(a[0], c2, b), c1, c);
    number h = NAME(plus)(NAME(turn)(d, s1), 1, NAME(turn)(e, s2));
    number k = NAME(plus)(NAME(turn)(d, s2), -1, NAME(turn)(e, s1));
    a[0] = NAME(add)(a[0], NAME(add)(b, c));
    a[1] = NAME(add)(f, h);
    a[2] = NAME(add)(g, k);
    a[3] = NAME(sub)(g, k);
    a[4] = NAME(sub)(f, h);
}

CFX_FORCE_INLINE void NAME(dft_8)(number a[8])
{
    const T r = (T)0.70710678118654752440;
    number b[4] = {a[0], a[2], a[4], a[6]}, c[4] = {a[1], a[3], a[5], a[7]};
    V v = VEC(set1)(r);
    NAME(dft_4)(b);
    NAME(dft_4)(c);
    c[1] = (number){v * (c[1].re + c[1].im), v * (c[1].im - c[1].re)};
    c[2] = (number){c[2].im, VEC(zero)() - c[2].re};
    c[3] = (number){v * (c[3].im - c[3].re),
                    VEC(zero)() - v * (c[3].re + c[3].im)};
    CFX_UNROLL
    for (int k = 0; k < 4; k++) {
        a[k] = NAME(add)(b[k], c[k]);
        a[k + 4] = NAME(sub)(b[k], c[k]);
    }
}

/* ---- Passes ---- */

/* Number q + s * (j + m * k) of x, 0 <= k < p, becomes q + s * (p * j + k) of
 * y: the transform over k, times the powers of the root of p * m. */
#define PASS(p)                                                               \
    CFX_FORCE_INLINE void NAME(pass_rows_##p)(T * y, const T *x, int64_t m,   \
                                              int64_t s, const T *roots,      \
                                              int64_t swap)                   \
    {                                                                         \
        for (int64_t j = 0; j < m; j++, roots += 2 * (p - 1))                 \
            for (int64_t q = 0; q < s; q++) {                                 \
                number a[p];                                                  \
                CFX_UNROLL                                                    \
                for (int k = 0; k < p; k++)                                   \
                    a[k] = NAME(get)(x, q + s * (j + m * k), swap);           \
                NAME(dft_##p)(a);                                             \
                NAME(put)(y, q + s * p * j, swap, a[0]);                      \
                CFX_UNROLL                                                    \
                for (int k = 1; k < p; k++)                                   \
                    NAME(put)                                                 \
                (y, q + s * (p * j + k), swap,                                \
                 m == 1                                                       \
                     ? a[k]                                                   \
                     : NAME(mul)(a[k], roots[2 * k - 2], roots[2 * k - 1]));  \
            }                                                                 \
    }                                                                         \
    static void NAME(pass_##p)(T * y, const T *x, int64_t m, int64_t s,       \
                               const T *roots, int64_t swap)                  \
    {                                                                         \
        if (m == 1)                                                           \
            NAME(pass_rows_##p)(y, x, 1, s, roots, swap);                     \
        else                                                                  \
            NAME(pass_rows_##p)(y, x, m, s, roots, swap);                     \
    }

PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)
#undef PASS

/* A pass of any factor; its roots precede those of p * m. */
static void NAME(pass_any)(T *y, const T *x, int64_t p, int64_t m, int64_t s,
                           const T *roots, int64_t swap)
{
    const T *own = roots;
    number a[CFX_FFT_LARGEST];

    roots += 2 * p;
    for (int64_t j = 0; j < m; j++, roots += 2 * (p - 1))
        for (int64_t q = 0; q < s; q++) {
            for (int64_t k = 0; k < p; k++)
                a[k] = NAME(get)(x, q + s * (j + m * k), swap);
            for (int64_t r = 0; r < p; r++) {
                number sum = a[0];
                for (int64_t k = 1, at = r; k < p; k++) {
                    number b = NAME(mul)(a[k], own[2 * at], own[2 * at + 1]);
                    sum = NAME(add)(sum, b);
                    at += r;
                    at -= at >= p ? p : 0;
                }
                if (r && m > 1)
                    sum = NAME(mul)(sum, roots[2 * r - 2], roots[2 * r - 1]);
                NAME(put)(y, q + s * (p * j + r), swap, sum);
            }
        }
}

/* The transform of a, by way of b; returns that of them which has it. */
static T *NAME(run_passes)(const cfx_fft_passes *p, T *a, T *b, int64_t swap)
{
    const T *roots = p->roots;
    int64_t m = p->n, s = 1;

    for (int i = 0; i < p->count; i++) {
        int64_t f = p->factor[i];
        m /= f;
        switch (f) {
        case 2: NAME(pass_2)(b, a, m, s, roots, swap); break;
        case 3: NAME(pass_3)(b, a, m, s, roots, swap); break;
        case 4: NAME(pass_4)(b, a, m, s, roots, swap); break;
        case 5: NAME(pass_5)(b, a, m, s, roots, swap); break;
        case 8: NAME(pass_8)(b, a, m, s, roots, swap); break;
        default: NAME(pass_any)(b, a, f, m, s, roots, swap); roots += 2 * f;
        }
        roots += 2 * m * (f - 1);
        s *= f;
        T *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* ---- Moving ---- */

/* Rows become columns: log2(LANES) times, the first half of the rows is merged
 * with the second, element by element. */
CFX_FORCE_INLINE void NAME(transpose)(V v[LANES])
{
#if CFX_LEVEL_IS(plain)
    (void)v;
#elif SHUFFLES
    CFX_UNROLL
    for (int i = 1; i < LANES; i *= 2) {
        V t[LANES];
        CFX_UNROLL
        for (int k = 0; k < LANES / 2; k++) {
            t[2 * k] = ZIP(v[k], v[k + LANES / 2], 0);
            t[2 * k + 1] = ZIP(v[k], v[k + LANES / 2], LANES / 2);
        }
        CFX_UNROLL
        for (int k = 0; k < LANES; k++)
            v[k] = t[k];
    }
#else
    T t[LANES * LANES], r[LANES];
    for (int k = 0; k < LANES; k++)
        VEC(store)(t + k * LANES, v[k]);
    for (int k = 0; k < LANES; k++) {
        for (int i = 0; i < LANES; i++)
            r[i] = t[i * LANES + k];
        v[k] = VEC(load)(r);
    }
#endif
}

/* to(count, LANES) from `rows` rows of `count` elements. */
static void NAME(load_rows)(T *to, const T *from, int64_t step, int64_t rows,
                            int64_t count)
{
    for (int64_t k = 0; k < count; k += LANES) {
        int64_t n = count - k < LANES ? count - k : LANES;
        V v[LANES];
        if (n == LANES && rows == LANES) {
            CFX_UNROLL
            for (int r = 0; r < LANES; r++)
                v[r] = VEC(load)(from + r * step + k);
        } else {
            for (int r = 0; r < LANES; r++)
                v[r] = r < rows ? VEC(load_n)(from + r * step + k, n)
                                : VEC(zero)();
        }
        NAME(transpose)(v);
        for (int r = 0; r < n; r++)
            VEC(store)(to + (k + r) * LANES, v[r]);
    }
}

/* The reverse, times `scale`. */
static void NAME(store_rows)(T *to, int64_t step, int64_t rows, const T *from,
                             int64_t count, T scale)
{
    const V by = VEC(set1)(scale);

    for (int64_t k = 0; k < count; k += LANES) {
        int64_t n = count - k < LANES ? count - k : LANES;
        V v[LANES];
        if (n == LANES) {
            CFX_UNROLL
            for (int r = 0; r < LANES; r++)
                v[r] = VEC(mul)(VEC(load)(from + (k + r) * LANES), by);
        } else {
            for (int r = 0; r < LANES; r++)
                v[r] = r < n ? VEC(mul)(VEC(load)(from + (k + r) * LANES), by)
                             : VEC(zero)();
        }
        NAME(transpose)(v);
        if (n == LANES && rows == LANES) {
            CFX_UNROLL
            for (int r = 0; r < LANES; r++)
                VEC(store)(to + r * step + k, v[r]);
        } else {
            for (int r = 0; r < rows; r++)
                VEC(store_n)(to + r * step + k, n, v[r]);
        }
    }
}

/* The parts of LANES complex numbers. */
CFX_FORCE_INLINE void NAME(load_numbers)(T *to, const T *x)
{
#if SHUFFLES
    V a = VEC(load)(x), b = VEC(load)(x + LANES);
    VEC(store)(to, UNZIP(a, b, 0));
    VEC(store)(to + LANES, UNZIP(a, b, 1));
#else
    for (int i = 0; i < LANES; i++) {
        to[i] = x[2 * i];
        to[LANES + i] = x[2 * i + 1];
    }
#endif
}

/* The reverse, times `scale`. */
CFX_FORCE_INLINE void NAME(store_numbers)(T *y, const T *from, T scale)
{
    const V by = VEC(set1)(scale);
    V re = VEC(mul)(VEC(load)(from), by);
    V im = VEC(mul)(VEC(load)(from + LANES), by);
#if SHUFFLES
    VEC(store)(y, ZIP(re, im, 0));
    VEC(store)(y + LANES, ZIP(re, im, LANES / 2));
#else
    T part[2 * LANES];
    VEC(store)(part, re);
    VEC(store)(part + LANES, im);
    for (int i = 0; i < LANES; i++) {
        y[2 * i] = part[i];
        y[2 * i + 1] = part[LANES + i];
    }
#endif
}

/* Numbers of `columns` adjacent lines: to(count, parts, LANES) from(count,
 * step), in numbers of `parts` elements. */
static void NAME(load_columns)(T *to, const T *from, int64_t step,
                               int64_t columns, int64_t count, int64_t parts)
{
    for (int64_t k = 0; k < count; k++, to += parts * LANES) {
        const T *x = from + parts * step * k;
        if (parts == 1) {
            VEC(store)(to, VEC(load_n)(x, columns));
        } else if (columns == LANES) {
            NAME(load_numbers)(to, x);
        } else {
            for (int i = 0; i < LANES; i++) {
                to[i] = i < columns ? x[2 * i] : 0;
                to[LANES + i] = i < columns ? x[2 * i + 1] : 0;
            }
        }
    }
}

static void NAME(store_columns)(T *to, int64_t step, int64_t columns,
                                const T *from, int64_t count, int64_t parts,
                                T scale)
{
    for (int64_t k = 0; k < count; k++, from += parts * LANES) {
        T *y = to + parts * step * k;
        if (parts == 1) {
            V v = VEC(mul)(VEC(load)(from), VEC(set1)(scale));
            VEC(store_n)(y, columns, v);
        } else if (columns == LANES) {
            NAME(store_numbers)(y, from, scale);
        } else {
            for (int64_t i = 0; i < columns; i++) {
                y[2 * i] = from[i] * scale;
                y[2 * i + 1] = from[LANES + i] * scale;
            }
        }
    }
}

/* ---- One line ---- */

/* Columns `at` and those behind it of a, as the matrix (n1, n2), become rows of
 * b(n1 / LANES, n2, 2, LANES). */
static void NAME(first_columns)(const cfx_fft_plan *p, T *b, const T *a,
                                int64_t at, T *work, int64_t swap)
{
    const int64_t n1 = p->first.n, n2 = p->second.n;
    const int64_t columns = n2 - at < LANES ? n2 - at : LANES;
    const T *step = (const T *)p->by_vector + at / LANES * 2 * n1;
    const T *lane = p->by_lane;

    NAME(load_columns)(work, a + 2 * at, n2, columns, n1, 2);
    T *z = NAME(run_passes)(&p->first, work, work + 2 * LANES * n1, swap);
    for (int64_t k = 0; k < n1; k++) {
        number v = NAME(mul)(NAME(get)(z, k, swap), step[2 * k],
                             step[2 * k + 1]);
        number w = NAME(get)(lane, k, 0);
        NAME(put)
        (z, k, swap,
         (number){v.re * w.re - v.im * w.im, v.re * w.im + v.im * w.re});
    }
    for (int64_t k = 0; k < n1; k += LANES)
        for (int part = 0; part < 2; part++) {
            T *to = b + 2 * (k * n2 + LANES * at) + part * LANES;
            V v[LANES];
            for (int r = 0; r < LANES; r++)
                v[r] = k + r < n1
                           ? VEC(load)(z + 2 * LANES * (k + r) + part * LANES)
                           : VEC(zero)();
            NAME(transpose)(v);
            for (int r = 0; r < columns; r++)
                VEC(store)(to + 2 * LANES * r, v[r]);
        }
}

/* The transform of the complex numbers a, in place. */
static void NAME(run_line)(const cfx_fft_plan *p, T *a, T *b, int64_t swap)
{
    const int64_t n1 = p->first.n, n2 = p->second.n;
    T *work = b + 2 * (n1 + LANES) * n2;

    for (int64_t at = 0; at < n2; at += LANES)
        NAME(first_columns)(p, b, a, at, work, swap ? LANES : 0);
    for (int64_t at = 0; at < n1; at += LANES) {
        T *z = NAME(run_passes)(&p->second, b + 2 * at * n2, work,
                                swap ? LANES : 0);
        NAME(store_columns)
        (a + 2 * at, n1, n1 - at < LANES ? n1 - at : LANES, z, n2, 2, 1);
    }
}

/* ---- Numbers of one line or of all lanes ---- */

#define EACH_LANE CFX_SIMD for (int64_t i = 0; i < lanes; i++)

/* y[k] = x[k] * w[k], and 0 behind n. */
CFX_FORCE_INLINE void NAME(product)(T *x, const T *w, int64_t n, int64_t all,
                                    int64_t swap, const int64_t lanes)
{
    for (int64_t k = 0; k < all; k++, x += 2 * lanes) {
        const T c = k < n ? w[2 * k] : 0, s = k < n ? w[2 * k + 1] : 0;
        T *re = x + swap, *im = x + lanes - swap;
        EACH_LANE
        {
            T a = k < n ? re[i] : 0, b = k < n ? im[i] : 0;
            re[i] = a * c - b * s;
            im[i] = a * s + b * c;
        }
    }
}

CFX_FORCE_INLINE T *NAME(smooth)(const cfx_fft_plan *p, T *a, T *b,
                                 int64_t swap, const bool line)
{
    if (!line)
        return NAME(run_passes)(&p->first, a, b, swap);
    NAME(run_line)(p, a, b, swap);
    return a;
}

/* The transform of a, in a or b. */
CFX_FORCE_INLINE T *NAME(complete)(const cfx_fft_plan *p, T *a, T *b,
                                   int64_t n, int64_t swap, const bool line)
{
    const int64_t lanes = line ? 1 : LANES;

    if (!p->chirp)
        return NAME(smooth)(p, a, b, swap, line);
    NAME(product)(a, p->chirp, n, p->length, swap, lanes);
    T *z = NAME(smooth)(p, a, b, swap, line);
    NAME(product)(z, p->filter, p->length, p->length, swap, lanes);
    z = NAME(smooth)(p, z, z == a ? b : a, lanes - swap, line);
    NAME(product)(z, p->chirp, n, n, swap, lanes);
    return z;
}

/* Numbers of transforms and those at as many places from the end, in parts. */
typedef struct NAME(pairs) {
    T *re, *im, *end_re, *end_im;
} NAME(pairs);

/* The sums of the transforms of even and of odd numbers from the transform of
 * those that have them as parts, or, `joined`, the reverse. `w` has the roots,
 * `turn` elements apart. */
CFX_FORCE_INLINE void NAME(pass_pairs)(NAME(pairs) p, const T *w,
                                       const int64_t turn, const int64_t n,
                                       const bool joined)
{
    const T by = joined ? 1 : (T)0.5, sign = joined ? 1 : -1;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++) {
        const T c = w[turn * i], s = -sign * w[turn * i + 1];
        T re = (p.re[i] + p.end_re[i]) * by, im = (p.im[i] - p.end_im[i]) * by;
        /* i times the odd ones of the reverse, -i times those of the forward. */
        T u = (p.re[i] - p.end_re[i]) * by, v = (p.im[i] + p.end_im[i]) * by;
        T odd_re = -sign * (u * s + v * c), odd_im = sign * (u * c - v * s);
        p.re[i] = re + odd_re;
        p.im[i] = im + odd_im;
        p.end_re[i] = re - odd_re;
        p.end_im[i] = odd_im - im;
    }
}

/* Those of one line go through copies, vector by vector. */
static void NAME(pairs_of_line)(T *z, int64_t h, const T *w, bool joined)
{
    T c[4][LANES];

    for (int64_t k = 1; k <= h / 2; k += LANES) {
        int64_t n = h / 2 - k + 1 < LANES ? h / 2 - k + 1 : LANES;
        T *a = z + 2 * k, *b = z + 2 * (h - k);
        for (int64_t i = 0; i < n; i++) {
            c[0][i] = a[2 * i];
            c[1][i] = a[2 * i + 1];
            c[2][i] = b[-2 * i];
            c[3][i] = b[-2 * i + 1];
        }
        NAME(pairs) p = {c[0], c[1], c[2], c[3]};
        if (joined)
            NAME(pass_pairs)(p, w + 2 * k, 2, n, true);
        else
            NAME(pass_pairs)(p, w + 2 * k, 2, n, false);
        for (int64_t i = 0; i < n; i++) {
            a[2 * i] = c[0][i];
            a[2 * i + 1] = c[1][i];
            b[-2 * i] = c[2][i];
            b[-2 * i + 1] = c[3][i];
        }
    }
}

CFX_FORCE_INLINE void NAME(all_pairs)(const cfx_fft_plan *plan, T *z,
                                      int64_t h, const bool joined,
                                      const bool line)
{
    const int64_t lanes = line ? 1 : LANES;
    const T *w = plan->half;

    if (line) {
        NAME(pairs_of_line)(z, h, w, joined);
        return;
    }
    for (int64_t k = 1; k <= h / 2; k++) {
        T *a = z + 2 * lanes * k, *b = z + 2 * lanes * (h - k);
        NAME(pass_pairs)
        ((NAME(pairs)){a, a + lanes, b, b + lanes}, w + 2 * k, 0, lanes,
         joined);
    }
}

/* The transform of n = 2 h real numbers from that, z, of the h complex ones
 * which they are in pairs. */
CFX_FORCE_INLINE void NAME(split_pairs)(const cfx_fft_plan *p, T *z, int64_t h,
                                        const bool line)
{
    const int64_t lanes = line ? 1 : LANES;
    T *end = z + 2 * lanes * h;

    EACH_LANE
    {
        T re = z[i], im = z[lanes + i];
        z[i] = re + im;
        end[i] = re - im;
        z[lanes + i] = end[lanes + i] = 0;
    }
    NAME(all_pairs)(p, z, h, false, line);
}

/* The reverse. */
CFX_FORCE_INLINE void NAME(join_pairs)(const cfx_fft_plan *p, T *z, int64_t h,
                                       const bool line)
{
    const int64_t lanes = line ? 1 : LANES;
    const T *end = z + 2 * lanes * h;

    EACH_LANE
    {
        T re = z[i];
        z[i] = re + end[i];
        z[lanes + i] = re - end[i];
    }
    NAME(all_pairs)(p, z, h, true, line);
}

/* Numbers behind n / 2 are the conjugates of those before. */
CFX_FORCE_INLINE void NAME(mirror)(T *z, int64_t n, const int64_t lanes)
{
    for (int64_t k = n / 2 + 1; k < n; k++) {
        T *a = z + 2 * lanes * k;
        const T *b = z + 2 * lanes * (n - k);
        EACH_LANE
        {
            a[i] = b[i];
            a[lanes + i] = -b[lanes + i];
        }
    }
}

/* ---- Blocks of lines ---- */

/* The element of t(outer, n, inner) that a block begins with, and its lines. */
static int64_t NAME(place)(const cfx_fft *f, int64_t block, int64_t n,
                           bool line, int64_t *lines)
{
    int64_t lanes = line ? 1 : LANES, each = (f->inner + lanes - 1) / lanes;
    if (f->inner == 1 && !line) {
        int64_t left = f->outer - block * lanes;
        *lines = left < lanes ? left : lanes;
        return block * lanes * n;
    }
    int64_t i = block % each * lanes;
    *lines = f->inner - i < lanes ? f->inner - i : lanes;
    return block / each * n * f->inner + i;
}

/* The first `count` numbers of `parts` elements. */
static void NAME(read)(const cfx_fft *f, T *to, int64_t block, int64_t count,
                       int64_t parts, bool line)
{
    int64_t lines;
    const T *x = (const T *)f->x +
                 parts * NAME(place)(f, block, f->from, line, &lines);

    if (line && f->inner == 1)
        memcpy(to, x, (size_t)(parts * count) * sizeof(T));
    else if (line)
        for (int64_t k = 0; k < count; k++)
            for (int64_t part = 0; part < parts; part++)
                to[parts * k + part] = x[parts * k * f->inner + part];
    else if (f->inner == 1)
        NAME(load_rows)(to, x, parts * f->from, lines, parts * count);
    else
        NAME(load_columns)(to, x, f->inner, lines, count, parts);
}

static void NAME(write)(const cfx_fft *f, const T *from, int64_t block,
                        int64_t parts, bool line)
{
    int64_t lines;
    T *y = (T *)f->y + parts * NAME(place)(f, block, f->to, line, &lines);
    const T scale = (T)f->scale;

    if (line && f->inner == 1)
        CFX_SIMD
    for (int64_t k = 0; k < parts * f->to; k++)
        y[k] = from[k] * scale;
    else if (line) for (int64_t k = 0; k < f->to;
                        k++) for (int64_t part = 0; part < parts; part++)
        y[parts * k * f->inner + part] = from[parts * k + part] * scale;
    else if (f->inner == 1)
        NAME(store_rows)(y, parts * f->to, lines, from, parts * f->to, scale);
    else NAME(store_columns)(y, f->inner, lines, from, f->to, parts, scale);
}

CFX_FORCE_INLINE void NAME(from_real)(const cfx_fft_plan *p, int64_t block,
                                      T *a, T *b, const bool line)
{
    const int64_t lanes = line ? 1 : LANES, n = p->f->n;
    T *z;

    if (n % 2 == 0) {
        NAME(read)(p->f, a, block, n, 1, line);
        z = NAME(complete)(p, a, b, n / 2, 0, line);
        NAME(split_pairs)(p, z, n / 2, line);
    } else {
        NAME(read)(p->f, b, block, n, 1, line);
        for (int64_t k = 0; k < n; k++)
            EACH_LANE
            {
                a[2 * lanes * k + i] = b[lanes * k + i];
                a[2 * lanes * k + lanes + i] = 0;
            }
        z = NAME(complete)(p, a, b, n, 0, line);
    }
    if (p->f->to == n)
        NAME(mirror)(z, n, lanes);
    NAME(write)(p->f, z, block, 2, line);
}

CFX_FORCE_INLINE void NAME(to_real)(const cfx_fft_plan *p, int64_t block, T *a,
                                    T *b, const bool line)
{
    const int64_t lanes = line ? 1 : LANES, n = p->f->n;
    T *z;

    NAME(read)(p->f, a, block, n / 2 + 1, 2, line);
    if (n % 2 == 0) {
        NAME(join_pairs)(p, a, n / 2, line);
        z = NAME(complete)(p, a, b, n / 2, lanes, line);
    } else {
        EACH_LANE a[lanes + i] = 0;
        NAME(mirror)(a, n, lanes);
        z = NAME(complete)(p, a, b, n, lanes, line);
        for (int64_t k = 0; k < n; k++)
            EACH_LANE z[lanes * k + i] = z[2 * lanes * k + i];
    }
    NAME(write)(p->f, z, block, 1, line);
}

CFX_FORCE_INLINE void NAME(transform_block)(const cfx_fft_plan *p,
                                            int64_t block, T *a,
                                            const bool line)
{
    const int64_t lanes = line ? 1 : LANES;
    T *b = a + p->buffer;

    switch (p->f->kind) {
    case CFX_FFT_FROM_REAL: NAME(from_real)(p, block, a, b, line); break;
    case CFX_FFT_TO_REAL: NAME(to_real)(p, block, a, b, line); break;
    default:
        NAME(read)(p->f, a, block, p->f->n, 2, line);
        NAME(write)
        (p->f,
         NAME(complete)(p, a, b, p->f->n, p->f->forward ? 0 : lanes, line),
         block, 2, line);
    }
}

static void NAME(transform)(const cfx_fft_plan *p, int64_t block, void *work)
{
    if (p->line)
        NAME(transform_block)(p, block, work, true);
    else
        NAME(transform_block)(p, block, work, false);
}

/* The filter of a convolution of n, from the chirp. */
static void NAME(filter)(const cfx_fft_plan *p, void *filter, void *work)
{
    const int64_t lanes = p->line ? 1 : LANES, m = p->length;
    const int64_t n = p->f->kind != CFX_FFT_COMPLEX && p->f->n % 2 == 0
                          ? p->f->n / 2
                          : p->f->n;
    const T *chirp = p->chirp;
    T *a = work, *b = a + p->buffer, *out = filter;

    memset(a, 0, (size_t)(2 * lanes * m) * sizeof(T));
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 2 * lanes * k, back = 2 * lanes * (m - k);
        a[at] = chirp[2 * k];
        a[at + lanes] = -chirp[2 * k + 1];
        if (k) {
            a[back] = a[at];
            a[back + lanes] = a[at + lanes];
        }
    }
    T *z = p->line ? NAME(smooth)(p, a, b, 0, true)
                   : NAME(smooth)(p, a, b, 0, false);
    for (int64_t k = 0; k < m; k++) {
        out[2 * k] = z[2 * lanes * k] / (T)m;
        out[2 * k + 1] = z[2 * lanes * k + lanes] / (T)m;
    }
}

#undef EACH_LANE
#undef number
