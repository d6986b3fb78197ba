/*
 * math_complex.h -- functions of complex numbers, for one type: included once
 * for each, with these defined:
 *
 *     T      the complex type, P the type of its parts
 *     M(f)   the name of function f of T
 *     X(f)   function f of P in the C library: sqrtf, or sqrt
 *     CX(f)  function f of T in the C library: csqrtf, or csqrt
 *
 * Products and quotients are plain formulas, as PyTorch's are: those of C
 * repair infinities, by branches that are not vectorized.
 */

static inline T M(make)(P re, P im)
{
    union {
        P part[2];
        T whole;
    } u = {{re, im}};
    return u.whole;
}

static inline P M(re)(T a)
{
    union {
        T whole;
        P part[2];
    } u = {a};
    return u.part[0];
}

static inline P M(im)(T a)
{
    union {
        T whole;
        P part[2];
    } u = {a};
    return u.part[1];
}

static inline P M(abs)(T a)
{
    return X(hypot)(M(re)(a), M(im)(a));
}

static inline P M(arg)(T a)
{
    return X(atan2)(M(im)(a), M(re)(a));
}

static inline T M(conj)(T a)
{
    return M(make)(M(re)(a), -M(im)(a));
}

static inline T M(scale)(T a, double by)
{
    return M(make)(M(re)(a) * (P)by, M(im)(a) * (P)by);
}

static inline T M(mul)(T a, T b)
{
    return M(make)(M(re)(a) * M(re)(b) - M(im)(a) * M(im)(b),
                   M(re)(a) * M(im)(b) + M(im)(a) * M(re)(b));
}

/* Both are scaled by the divisor's larger part, so that squares cannot
 * overflow. */
static inline T M(div)(T a, T b)
{
    P re = X(fabs)(M(re)(b)), im = X(fabs)(M(im)(b));
    P scale = re > im ? re : im;
    if (scale == 0 || isnan(scale))
        return M(make)(M(re)(a) / re, M(im)(a) / re);
    P c = M(re)(b) / scale, d = M(im)(b) / scale, x = M(re)(a) / scale,
      y = M(im)(a) / scale, square = c * c + d * d;
    return M(make)((x * c + y * d) / square, (y * c - x * d) / square);
}

/* The point of the unit circle in the same direction; 0 of 0. */
static inline T M(sgn)(T a)
{
    P size = M(abs)(a);
    return size == 0 ? (T)0 : M(make)(M(re)(a) / size, M(im)(a) / size);
}

static inline T M(polar)(P size, P angle)
{
    return M(make)(size * X(cos)(angle), size * X(sin)(angle));
}

static inline bool M(isnan)(T a)
{
    return isnan(M(re)(a)) || isnan(M(im)(a));
}

static inline bool M(isinf)(T a)
{
    return isinf(M(re)(a)) || isinf(M(im)(a));
}

static inline bool M(isfinite)(T a)
{
    return isfinite(M(re)(a)) && isfinite(M(im)(a));
}

/* exp(x) cos(y) - 1 without cancelling: expm1(x) cos(y) - 2 sin(y / 2)^2. */
static inline T M(expm1)(T a)
{
    P x = M(re)(a), y = M(im)(a), half = X(sin)(y / 2);
    return M(make)(X(expm1)(x) * X(cos)(y) - 2 * half * half,
                   X(exp)(x) * X(sin)(y));
}

/* Near 0, |1 + a|^2 - 1 is computed from a. */
static inline T M(log1p)(T a)
{
    P x = M(re)(a), y = M(im)(a), size = X(hypot)(x + 1, y);
    P re = size > (P)0.5 && size < 2 ? X(log1p)(x * (2 + x) + y * y) / 2
                                     : X(log)(size);
    return M(make)(re, X(atan2)(y, x + 1));
}

static inline T M(pow)(T a, T b)
{
    return CX(pow)(a, b);
}

static inline T M(lerp)(T a, T b, T weight)
{
    return M(abs)(weight) < (P)0.5 ? a + M(mul)(weight, b - a)
                                   : b - M(mul)(b - a, (T)1 - weight);
}

#define CFX_SAME(f)                                                           \
    static inline T M(f)(T a)                                                 \
    {                                                                         \
        return CX(f)(a);                                                      \
    }
CFX_SAME(sqrt)
CFX_SAME(exp)
CFX_SAME(log)
CFX_SAME(sin)
CFX_SAME(cos)
CFX_SAME(tan)
CFX_SAME(asin)
CFX_SAME(acos)
CFX_SAME(atan)
CFX_SAME(sinh)
CFX_SAME(cosh)
CFX_SAME(tanh)
CFX_SAME(asinh)
CFX_SAME(acosh)
CFX_SAME(atanh)
#undef CFX_SAME

/* log(exp(a) + exp(b)): the number of the larger real part, and what the other
 * adds to it. NaN in any part makes the result NaN, as in PyTorch. */
static inline T M(logaddexp)(T a, T b)
{
    bool less = M(re)(a) < M(re)(b);
    T top = less ? b : a, low = less ? a : b;
    if (M(isnan)(a) || M(isnan)(b))
        return M(make)(NAN, NAN);
    if (isinf(M(re)(top)) && M(re)(top) == M(re)(low))
        return M(re)(top) < 0 ? low : M(log)(M(exp)(a) + M(exp)(b));
    return top + M(log1p)(M(exp)(low - top));
}
