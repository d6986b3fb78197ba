/*
 * kernel_pointwise_test.c -- pointwise operations, copies and fills: against
 * the C library, against the plain level, and over any strides and types.
 */
#include "kernel/pointwise/pointwise_kernel.h"

#include <float.h>

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

static const struct {
    const char *name;
    int inputs;
} operations[CFX_PW_COUNT] = {
#define PW(name, inputs, types, result, expr)                                 \
    [CFX_PW_##name] = {#name, inputs},
#include "kernel/pointwise/pointwise.def"
#undef PW
};

/* Call a kernel on contiguous arrays of one type. */
static bool apply(cfx_context *ctx, cfx_pw op, cfx_dtype t, void *y,
                  cfx_dtype ty, const void *const *in, int64_t n,
                  const double *params)
{
    cfx_iter it;

    cfx_iter_begin(&it, 1, &n);
    cfx_iter_out(&it, y, ty, NULL);
    for (int k = 0; k < operations[op].inputs; k++)
        cfx_iter_in(&it, in[k], op == CFX_PW_WHERE && k == 0 ? CFX_BOOL : t, 1,
                    &n, NULL);
    return cfx_pointwise(ctx, op, t, &it, params);
}

/* ---- Functions of float ---- */

/* clang-format off */
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double gelu(double x) { return x / 2 * erfc(-x * sqrt(0.5)); }
static double mish(double x) { return x * tanh(log1p(exp(x))); }
static double softplus(double x) { return x > 20 ? x : log1p(exp(x)); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double frac(double x) { return x - trunc(x); }
static double logsigmoid(double x) { return -softplus(-x); }
/* clang-format on */

static const struct {
    cfx_pw op;
    double (*exact)(double);
    double ulps;  /* in units of the last place of a float */
    double small; /* and this much, absolutely */
} functions[] = {
    {CFX_PW_EXP, exp, 1, 0},
    {CFX_PW_EXP2, exp2, 1.5, 0},
    {CFX_PW_EXPM1, expm1, 2, 0},
    {CFX_PW_LOG, log, 1, 0},
    {CFX_PW_LOG2, log2, 2.5, 0},
    {CFX_PW_LOG10, log10, 2.5, 0},
    {CFX_PW_LOG1P, log1p, 1.5, 0},
    {CFX_PW_SIN, sin, 2.5, 0},
    {CFX_PW_COS, cos, 2.5, 0},
    {CFX_PW_TAN, tan, 4.5, 0},
    {CFX_PW_TANH, tanh, 3, 0},
    {CFX_PW_ERF, erf, 3, 0},
    {CFX_PW_ERFC, erfc, 0.6, 0},
    {CFX_PW_SINH, sinh, 0.6, 0},
    {CFX_PW_COSH, cosh, 0.6, 0},
    {CFX_PW_ASIN, asin, 2.5, 0},
    {CFX_PW_ACOS, acos, 2, 0},
    {CFX_PW_ATAN, atan, 2, 0},
    {CFX_PW_ASINH, asinh, 0.6, 0},
    {CFX_PW_ACOSH, acosh, 0.6, 0},
    {CFX_PW_ATANH, atanh, 0.6, 0},
    {CFX_PW_SIGMOID, sigmoid, 3, 1e-37},
    {CFX_PW_SILU, silu, 4, 1e-35},
    {CFX_PW_GELU, gelu, 30, 1e-8},
    {CFX_PW_MISH, mish, 6, 1e-35},
    {CFX_PW_SOFTPLUS, softplus, 2, 0},
    {CFX_PW_LOGSIGMOID, logsigmoid, 3, 3e-9},
    {CFX_PW_RSQRT, rsqrt, 2, 0},
    {CFX_PW_SQRT, sqrt, 0.51, 0},
    {CFX_PW_FLOOR, floor, 0, 0},
    {CFX_PW_CEIL, ceil, 0, 0},
    {CFX_PW_TRUNC, trunc, 0, 0},
    {CFX_PW_ROUND, rint, 0, 0},
    {CFX_PW_FRAC, frac, 0, 0},
    {CFX_PW_LGAMMA, lgamma, 8, 1e-6},
};

static double last_place(double v)
{
    int e;

    frexp(v, &e);
    return fabs(v) < FLT_MIN ? 0x1p-149 : ldexp(1, e - 24);
}

/* Is y, to so many units in the last place and `small`, what it is to be? */
static void check_value(cfx_pw op, float a, float b, float y, double want,
                        double ulps, double small)
{
    const char *name = operations[op].name;

    if (isnan(want)) {
        assert_each_msg(isnan(y), "%s(%a, %a) is %a, not NaN", name, (double)a,
                        (double)b, (double)y);
    } else if (fabs(want) > FLT_MAX) {
        assert_each_msg(fabsf(y) >= FLT_MAX && !signbit(y) == !signbit(want),
                        "%s(%a, %a) is %a, not %g", name, (double)a, (double)b,
                        (double)y, want);
    } else {
        double off = fabs((double)y - want);
        assert_each_msg(off <= ulps * last_place(want) + small,
                        "%s(%a, %a) is %a, not %a (%g ulp)", name, (double)a,
                        (double)b, (double)y, want, off / last_place(want));
        if (want == 0 && small == 0)
            assert_each_msg(!signbit(y) == !signbit(want),
                            "%s(%a, %a) has the wrong sign of 0", name,
                            (double)a, (double)b);
    }
}

static void check_function(size_t k, float x, float y)
{
    check_value(functions[k].op, x, 0, y, functions[k].exact((double)x),
                functions[k].ulps, functions[k].small);
}

TEST_CASE(functions_of_float_are_within_ulps_of_the_c_library)
{
    static const double params[] = {1, 20, 1};
    enum { N = 4099 };
    static float x[N], y[N];

    for (uint32_t begin = 0; begin < 6; begin++) {
        for (int i = 0; i < N; i++) {
            /* All exponents and both signs, and zeros, NaN, infinities. */
            uint32_t u = (uint32_t)(begin * N + (uint32_t)i) * 65479u;
            memcpy(&x[i], &u, sizeof(u));
        }
        x[0] = begin % 2 ? INFINITY : -INFINITY;
        x[1] = begin % 2 ? 0.0f : -0.0f;
        for (int c = 0; c < all.count; c += 3)
            for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
                const void *in[] = {x};

                apply(all.ctx[c], functions[k].op, CFX_F32, y, CFX_F32, in, N,
                      params);
                for (int i = 0; i < N; i++)
                    check_function(k, x[i], y[i]);
            }
    }
}

static const struct {
    cfx_pw op;
    double (*exact)(double, double);
    double ulps;
} of_two[] = {
    {CFX_PW_ATAN2, atan2, 2},
    {CFX_PW_HYPOT, hypot, 0.6},
    {CFX_PW_POW, pow, 0.6},
    {CFX_PW_FMOD, fmod, 0},
};

/* Each special value with each, then numbers of similar magnitude, then any bits. */
static void fill_pairs(dice *d, float *a, float *b, int n)
{
    static const float special[] = {
        0,       -0.0f,    1,       -1,      INFINITY, -INFINITY, NAN,
        2,       -2,       3,       -3,      0.5f,     1e-45f,    -1e-45f,
        FLT_MAX, -FLT_MAX, 0x1p24f, 0x1p23f, -0x1p28f, 0x1p-126f, 8388609.0f};
    enum { S = sizeof(special) / sizeof(*special) };

    for (int i = 0; i < n; i++) {
        uint32_t bits[2];

        for (int k = 0; k < 2; k++)
            bits[k] = (uint32_t)dice_throw(d, 0, UINT32_MAX);
        memcpy(&a[i], &bits[0], sizeof(*a));
        memcpy(&b[i], &bits[1], sizeof(*b));
        if (i < S * S) {
            a[i] = special[i / S];
            b[i] = special[i % S];
        } else if (i < n / 2) {
            a[i] = (float)dice_throw(d, -99999, 99999) / 256;
            b[i] = (float)dice_throw(d, -999, 999) / (i % 2 ? 1 : 64);
        }
    }
}

TEST_CASE(functions_of_two_floats_are_within_ulps_of_the_c_library)
{
    enum { N = 4099 };
    static float a[N], b[N], y[N];
    dice d = {.key = 1};

    fill_pairs(&d, a, b, N);
    for (int c = 0; c < all.count; c += 3)
        for (size_t k = 0; k < sizeof of_two / sizeof *of_two; k++) {
            const void *in[] = {a, b};

            apply(all.ctx[c], of_two[k].op, CFX_F32, y, CFX_F32, in, N, NULL);
            for (int i = 0; i < N; i++)
                check_value(of_two[k].op, a[i], b[i], y[i],
                            of_two[k].exact((double)a[i], (double)b[i]),
                            of_two[k].ulps, 0);
        }
}

TEST_CASE(sine_and_cosine_of_large_and_subnormal_numbers_are_right)
{
    static const float x[] = {1e10f,  3.4e38f, 4.2e6f,    4194304.0f,
                              1e-40f, -1e-40f, 0.0f,      -0.0f,
                              22.0f,  -22.0f,  3.1415927f};
    enum { N = sizeof(x) / sizeof(*x) };
    float y[N];
    const void *in[] = {x};

    for (int c = 0; c < all.count; c += 3) {
        apply(all.ctx[c], CFX_PW_SIN, CFX_F32, y, CFX_F32, in, N, NULL);
        for (int i = 0; i < N; i++)
            ck_assert_double_le(fabs((double)y[i] - sin((double)x[i])),
                                3 * last_place(sin((double)x[i])));
        apply(all.ctx[c], CFX_PW_COS, CFX_F32, y, CFX_F32, in, N, NULL);
        for (int i = 0; i < N; i++)
            ck_assert_double_le(fabs((double)y[i] - cos((double)x[i])),
                                3 * last_place(cos((double)x[i])));
    }
}

/* ---- Every operation and type, at every level ---- */

static void fill_random(dice *d, cfx_dtype t, void *p, int64_t n)
{
    static const double special[] = {0,         -0.0,   1,   -1,  INFINITY,
                                     -INFINITY, NAN,    0.5, 2.5, -1.5,
                                     1e12,      -1e-30, 3e9};
    size_t size = cfx_dtype_size(t);

    for (int64_t i = 0; i < n; i++) {
        char *e = (char *)p + (size_t)i * size;
        double v = (double)dice_throw(d, -4000, 4000) / 1000;

        if (!cfx_dtype_is_float(t))
            cfx_element_set_int(
                t, e,
                dice_throw(d, 0, 3)
                    ? dice_throw(d, -9, 9)
                    : (int64_t)cfx_random_bits(d->key, d->at) >> 1);
        else
            cfx_element_set_double(
                t, e, dice_throw(d, 0, 9) ? v : special[dice_throw(d, 0, 12)]);
    }
}

static void assert_close(cfx_pw op, cfx_dtype t, const void *got,
                         const void *want, int64_t n, const char *level)
{
    double tol = t == CFX_F64 ? 1e-12 : t == CFX_F32 ? 1e-5 : 0.02;

    for (int64_t i = 0; i < n; i++) {
        double a = array_at(t, got, i), b = array_at(t, want, i);

        if (a == b || (isnan(a) && isnan(b)))
            continue;
        ck_assert_msg(cfx_dtype_is_float(t) &&
                          fabs(a - b) <= tol * (fabs(b) + 1e-2),
                      "%s of %s at level %s: element %lld of %lld is %.9g, "
                      "not %.9g",
                      operations[op].name, cfx_dtypes[t].name, level,
                      (long long)i, (long long)n, a, b);
    }
}

TEST_EACH(every_operation_is_the_same_at_every_level, CFX_PW_COUNT)
{
    static const int64_t sizes[] = {1, 7, 64, 131, 1000};
    static const double params[] = {0.5, 1.25, 0.75};
    cfx_pw op = (cfx_pw)_i;
    dice d = {.key = (uint64_t)_i};

    for (int t = 0; t < CFX_NDTYPES; t++) {
        cfx_dtype ty = cfx_pointwise_is_bool(op) ? CFX_BOOL : (cfx_dtype)t;

        if (!is_computed((cfx_dtype)t) || !cfx_pointwise_has(op, (cfx_dtype)t))
            continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int64_t n = sizes[s];
            void *want = array_new(ty, n), *got = array_new(ty, n);
            void *in[4];
            bool ok = true;

            for (int k = 0; k < 4; k++) {
                cfx_dtype tk = op == CFX_PW_WHERE && k == 0 ? CFX_BOOL
                                                            : (cfx_dtype)t;
                in[k] = array_new(tk, n);
                fill_random(&d, tk, in[k], n);
            }
            for (int c = 0; c < all.count; c += 3) {
                bool r = apply(all.ctx[c], op, (cfx_dtype)t, c ? got : want,
                               ty, (const void *const *)in, n, params);
                if (c == 0) {
                    ok = r;
                    continue;
                }
                ck_assert_int_eq(ok, r);
                assert_close(op, ty, got, want, n,
                             cfx_cpu_name(cfx_context_cpu(all.ctx[c])));
            }
            for (int k = 0; k < 4; k++)
                free(in[k]);
            free(want);
            free(got);
        }
    }
}

/* ---- What single operations mean ---- */

static double two(cfx_pw op, double a, double b)
{
    const void *in[] = {&a, &b};
    double y = 0;

    apply(all.ctx[0], op, CFX_F64, &y, CFX_F64, in, 1, NULL);
    return y;
}

static int64_t two_int(cfx_pw op, cfx_dtype t, int64_t a, int64_t b)
{
    int64_t ea, eb, y;
    const void *in[] = {&ea, &eb};

    cfx_element_set_int(t, &ea, a);
    cfx_element_set_int(t, &eb, b);
    apply(all.ctx[all.count - 1], op, t, &y, t, in, 1, NULL);
    return cfx_element_int(t, &y);
}

TEST_CASE(nan_comes_through_extremes_but_not_through_fmax)
{
    ck_assert_double_nan(two(CFX_PW_MAXIMUM, NAN, 1));
    ck_assert_double_nan(two(CFX_PW_MAXIMUM, 1, NAN));
    ck_assert_double_nan(two(CFX_PW_MINIMUM, NAN, 1));
    ck_assert_double_nan(two(CFX_PW_MINIMUM, 1, NAN));
    ck_assert_double_eq(two(CFX_PW_FMAX, NAN, 1), 1);
    ck_assert_double_eq(two(CFX_PW_FMAX, 1, NAN), 1);
    ck_assert_double_eq(two(CFX_PW_FMIN, 1, NAN), 1);
}

TEST_CASE(division_rounds_as_python_does)
{
    ck_assert_double_eq(two(CFX_PW_DIV_FLOOR, -7, 2), -4);
    ck_assert_double_eq(two(CFX_PW_DIV_TRUNC, -7, 2), -3);
    ck_assert_double_eq(two(CFX_PW_REMAINDER, -7, 3), 2);
    ck_assert_double_eq(two(CFX_PW_REMAINDER, 7, -3), -2);
    ck_assert_double_eq(two(CFX_PW_FMOD, -7, 3), -1);
    ck_assert_double_infinite(two(CFX_PW_DIV_FLOOR, 1, 0));
    for (int t = CFX_I8; t <= CFX_I64; t++) {
        ck_assert_int_eq(two_int(CFX_PW_DIV_FLOOR, (cfx_dtype)t, -7, 2), -4);
        ck_assert_int_eq(two_int(CFX_PW_DIV_TRUNC, (cfx_dtype)t, -7, 2), -3);
        ck_assert_int_eq(two_int(CFX_PW_REMAINDER, (cfx_dtype)t, -7, 3), 2);
        ck_assert_int_eq(two_int(CFX_PW_FMOD, (cfx_dtype)t, -7, 3), -1);
        ck_assert_int_eq(two_int(CFX_PW_REMAINDER, (cfx_dtype)t, -7, -1), 0);
    }
    ck_assert_int_eq(two_int(CFX_PW_DIV_FLOOR, CFX_I64, INT64_MIN, -1),
                     INT64_MIN);
    ck_assert_int_eq(two_int(CFX_PW_REMAINDER, CFX_I32, INT32_MIN, -1), 0);
    ck_assert_int_eq(two_int(CFX_PW_DIV_TRUNC, CFX_I8, -128, -1), -128);
}

TEST_CASE(integer_division_by_zero_is_told)
{
    int32_t a[100], b[100], y[100];
    const void *in[] = {a, b};

    for (int i = 0; i < 100; i++)
        a[i] = b[i] = i + 1;
    for (int c = 0; c < all.count; c++) {
        b[77] = 78;
        ck_assert(apply(all.ctx[c], CFX_PW_DIV_FLOOR, CFX_I32, y, CFX_I32, in,
                        100, NULL));
        b[77] = 0;
        ck_assert(!apply(all.ctx[c], CFX_PW_DIV_FLOOR, CFX_I32, y, CFX_I32, in,
                         100, NULL));
        ck_assert(!apply(all.ctx[c], CFX_PW_REMAINDER, CFX_I32, y, CFX_I32, in,
                         100, NULL));
        ck_assert_int_eq(y[77], 0);
        ck_assert_int_eq(y[76], 0);
    }
}

TEST_CASE(integer_powers_and_shifts_stay_within_their_type)
{
    ck_assert_int_eq(two_int(CFX_PW_POW, CFX_I32, 3, 4), 81);
    ck_assert_int_eq(two_int(CFX_PW_POW, CFX_I32, 2, -1), 0);
    ck_assert_int_eq(two_int(CFX_PW_POW, CFX_I32, -1, -3), -1);
    ck_assert_int_eq(two_int(CFX_PW_POW, CFX_I8, 2, 7), -128);
    ck_assert_int_eq(two_int(CFX_PW_POW, CFX_U8, 2, 8), 0);
    ck_assert_int_eq(two_int(CFX_PW_SHIFT_LEFT, CFX_I32, 1, 31), INT32_MIN);
    ck_assert_int_eq(two_int(CFX_PW_SHIFT_LEFT, CFX_I32, 1, 32), 0);
    ck_assert_int_eq(two_int(CFX_PW_SHIFT_LEFT, CFX_I8, 1, -1), 0);
    ck_assert_int_eq(two_int(CFX_PW_SHIFT_RIGHT, CFX_I8, -128, 9), -1);
    ck_assert_int_eq(two_int(CFX_PW_SHIFT_RIGHT, CFX_I64, 64, 3), 8);
    ck_assert_int_eq(two_int(CFX_PW_ADD, CFX_I8, 127, 1), -128);
    ck_assert_int_eq(two_int(CFX_PW_ADD, CFX_BOOL, 1, 1), 1);
}

TEST_CASE(powers_by_a_number_are_powers)
{
    static const double exponents[] = {0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5};
    float x[200], y[200];

    for (int i = 0; i < 200; i++)
        x[i] = (float)i / 16;
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++)
        for (int c = 0; c < all.count; c++) {
            int64_t n = 200;
            cfx_iter it;

            cfx_iter_begin(&it, 1, &n);
            cfx_iter_out(&it, y, CFX_F32, NULL);
            cfx_iter_in(&it, x, CFX_F32, 1, &n, NULL);
            cfx_iter_number(&it, exponents[e]);
            cfx_pointwise(all.ctx[c], CFX_PW_POW, CFX_F32, &it, NULL);
            for (int i = 0; i < 200; i++) {
                double want = pow((double)x[i], exponents[e]);
                ck_assert(want == (double)y[i] ||
                          fabs((double)y[i] / want - 1) < 3e-7);
            }
        }
}

/* ---- Strides, broadcasting, types ---- */

/* An operand of random strides over `shape`: some axes broadcast (not of an
 * output), in any order, with gaps, some backwards. */
typedef struct operand {
    cfx_dtype t;
    char *memory, *first;
    int64_t stride[4];
} operand;

static void operand_init(operand *o, dice *d, cfx_dtype t, int rank,
                         const int64_t *shape, bool input)
{
    int order[4] = {0, 1, 2, 3};
    int64_t step = dice_throw(d, 0, 2) ? 1 : 2, before = 0;

    for (int i = rank - 1; i > 0; i--) {
        int k = dice_throw(d, 0, 1) ? (int)dice_throw(d, 0, i) : i;
        int s = order[i];
        order[i] = order[k];
        order[k] = s;
    }
    o->t = t;
    for (int i = rank - 1; i >= 0; i--) {
        int axis = order[i];

        o->stride[axis] = step;
        if (input && dice_throw(d, 0, 4) == 0) {
            o->stride[axis] = 0;
        } else {
            step *= shape[axis] + (dice_throw(d, 0, 4) == 0);
            if (input && dice_throw(d, 0, 5) == 0) {
                before += (shape[axis] - 1) * o->stride[axis];
                o->stride[axis] = -o->stride[axis];
            }
        }
    }
    o->memory = array_random(d, t, step + 1);
    o->first = o->memory + (size_t)before * cfx_dtype_size(t);
}

static const char *element(const operand *o, int rank, const int64_t *at)
{
    int64_t offset = 0;

    for (int i = 0; i < rank; i++)
        offset += at[i] * o->stride[i];
    return o->first + offset * (int64_t)cfx_dtype_size(o->t);
}

static bool next_index(int rank, const int64_t *shape, int64_t *at)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++at[i] < shape[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static int64_t random_shape(dice *d, int *rank, int64_t *shape)
{
    int64_t n = 1;

    *rank = (int)dice_throw(d, 0, 4);
    for (int i = 0; i < *rank; i++) {
        shape[i] = dice_throw(d, 0, 3)   ? dice_throw(d, 1, 6)
                   : dice_throw(d, 0, 2) ? 1
                                         : dice_throw(d, 100, 300);
        n *= shape[i];
    }
    return n;
}

TEST_CASE(operands_of_any_strides_and_types_are_added)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_F16, CFX_BF16,
                                      CFX_I64, CFX_I32, CFX_U8};
    dice d = {.key = 7};

    for (int round = 0; round < 400; round++) {
        int64_t shape[4], at[4] = {0};
        int rank;
        operand y, a, b;
        cfx_iter it;

        if (random_shape(&d, &rank, shape) > 200000)
            continue;
        operand_init(&y, &d, types[dice_throw(&d, 0, 3)], rank, shape, false);
        operand_init(&a, &d, types[dice_throw(&d, 0, 6)], rank, shape, true);
        operand_init(&b, &d, types[dice_throw(&d, 0, 6)], rank, shape, true);
        cfx_iter_begin(&it, rank, shape);
        cfx_iter_out(&it, y.first, y.t, y.stride);
        cfx_iter_in(&it, a.first, a.t, rank, shape, a.stride);
        cfx_iter_in(&it, b.first, b.t, rank, shape, b.stride);
        cfx_pointwise(all.ctx[round % all.count], CFX_PW_ADD, CFX_F32, &it,
                      NULL);
        do {
            double want = array_at(a.t, element(&a, rank, at), 0) +
                          array_at(b.t, element(&b, rank, at), 0);
            double got = array_at(y.t, element(&y, rank, at), 0);
            assert_each_eq(got, want);
        } while (next_index(rank, shape, at));
        free(y.memory);
        free(a.memory);
        free(b.memory);
    }
}

TEST_CASE(copies_between_any_strides_and_types_are_exact)
{
    dice d = {.key = 8};

    for (int round = 0; round < 600; round++) {
        int64_t shape[4], at[4] = {0};
        cfx_dtype to = computed_type((int)dice_throw(&d, 0, 1000));
        cfx_dtype from = dice_throw(&d, 0, 1)
                             ? to
                             : computed_type((int)dice_throw(&d, 0, 1000));
        int rank;
        operand y, x;
        cfx_iter it;

        if (random_shape(&d, &rank, shape) > 200000)
            continue;
        operand_init(&y, &d, to, rank, shape, false);
        operand_init(&x, &d, from, rank, shape, true);
        cfx_iter_begin(&it, rank, shape);
        cfx_iter_out(&it, y.first, to, y.stride);
        cfx_iter_in(&it, x.first, from, rank, shape, x.stride);
        cfx_copy(all.ctx[round % all.count], &it);
        do {
            double v = array_at(from, element(&x, rank, at), 0);
            char want[8];

            if (cfx_dtypes[to].category == CFX_CAT_BOOL)
                v = v != 0;
            else if (!cfx_dtype_is_float(to))
                v = trunc(v);
            if (to == CFX_U8 && v < 0)
                v += 256;
            cfx_element_set_double(to, want, v);
            assert_each_eq(array_at(to, element(&y, rank, at), 0),
                           array_at(to, want, 0));
        } while (next_index(rank, shape, at));
        free(y.memory);
        free(x.memory);
    }
}

TEST_CASE(planes_of_any_size_are_transposed)
{
    static const cfx_dtype types[] = {CFX_U8, CFX_F16, CFX_F32, CFX_F64};
    dice d = {.key = 9};

    for (int round = 0; round < 200; round++) {
        int64_t r = dice_throw(&d, 1, 150), c = dice_throw(&d, 1, 150);
        int64_t batch = dice_throw(&d, 1, 3), shape[] = {batch, c, r};
        int64_t stride[] = {r * c, 1, c};
        cfx_dtype t = types[dice_throw(&d, 0, 3)];
        void *x = array_random(&d, t, batch * r * c);
        void *y = array_new(t, batch * r * c);
        cfx_iter it;

        cfx_iter_begin(&it, 3, shape);
        cfx_iter_out(&it, y, t, NULL);
        cfx_iter_in(&it, x, t, 3, shape, stride);
        cfx_copy(all.ctx[round % all.count], &it);
        for (int64_t b = 0; b < batch; b++)
            for (int64_t i = 0; i < r * c; i++)
                assert_each_eq(array_at(t, y, b * r * c + i),
                               array_at(t, x, b * r * c + i % r * c + i / r));
        free(x);
        free(y);
    }
}

TEST_CASE(an_output_may_be_one_of_the_inputs)
{
    for (int c = 0; c < all.count; c++) {
        enum { N = 100003 };
        float *x = array_new(CFX_F32, N);
        const void *in[] = {x, x};

        for (int i = 0; i < N; i++)
            x[i] = (float)(i % 1000);
        apply(all.ctx[c], CFX_PW_MUL, CFX_F32, x, CFX_F32, in, N, NULL);
        for (int i = 0; i < N; i++)
            assert_each_eq((double)x[i], (i % 1000) * (i % 1000));
        free(x);
    }
}

TEST_CASE(arrays_larger_than_the_caches_are_stored_past_them)
{
    enum { N = (8 << 20) + 12345 };
    float *x = array_new(CFX_F32, N), *y = array_new(CFX_F32, N + 3);
    const void *in[] = {x, x};

    for (int i = 0; i < N; i++)
        x[i] = (float)(i & 0xffff);
    for (int c = 1; c < all.count; c += 3) {
        int64_t n = N;
        cfx_iter it;

        apply(all.ctx[c], CFX_PW_ADD, CFX_F32, y + c % 3, CFX_F32, in, N,
              NULL);
        for (int i = 0; i < N; i += 7)
            assert_each(y[i + c % 3] == 2 * x[i]);
        cfx_iter_begin(&it, 1, &n);
        cfx_iter_out(&it, y + c % 3, CFX_F32, NULL);
        cfx_iter_in(&it, x, CFX_F32, 1, &n, NULL);
        cfx_copy(all.ctx[c], &it);
        ck_assert(memcmp(x, y + c % 3, sizeof(float) * N) == 0);
    }
    free(x);
    free(y);
}

/* ---- Conversions and fills ---- */

TEST_CASE(every_half_becomes_a_float_and_back)
{
    static const cfx_dtype types[] = {CFX_F16, CFX_BF16};
    static uint16_t h[65536], back[65536];
    static float f[65536];

    for (int i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    for (int c = 0; c < all.count; c += 3)
        for (int k = 0; k < 2; k++) {
            int64_t n = 65536;
            cfx_iter it;

            cfx_iter_begin(&it, 1, &n);
            cfx_iter_out(&it, f, CFX_F32, NULL);
            cfx_iter_in(&it, h, types[k], 1, &n, NULL);
            cfx_copy(all.ctx[c], &it);
            cfx_iter_begin(&it, 1, &n);
            cfx_iter_out(&it, back, types[k], NULL);
            cfx_iter_in(&it, f, CFX_F32, 1, &n, NULL);
            cfx_copy(all.ctx[c], &it);
            for (int i = 0; i < 65536; i++) {
                float want = k ? cfx_bf16_to_f32(h[i]) : cfx_f16_to_f32(h[i]);

                if (isnan(want)) {
                    assert_each(isnan(f[i]));
                    continue;
                }
                assert_each(memcmp(&want, &f[i], 4) == 0);
                ck_assert_int_eq(back[i], h[i]);
            }
        }
}

TEST_CASE(floats_are_rounded_to_halves_as_elsewhere)
{
    enum { N = 65536 };
    static float f[N];
    static uint16_t h[N];

    for (int round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < N; i++) {
            uint32_t u = (i + (uint32_t)round * N) * 16381u;
            memcpy(&f[i], &u, 4);
        }
        for (int c = 0; c < all.count; c += 3)
            for (int k = 0; k < 2; k++) {
                int64_t n = N;
                cfx_iter it;

                cfx_iter_begin(&it, 1, &n);
                cfx_iter_out(&it, h, k ? CFX_BF16 : CFX_F16, NULL);
                cfx_iter_in(&it, f, CFX_F32, 1, &n, NULL);
                cfx_copy(all.ctx[c], &it);
                for (int i = 0; i < N; i++)
                    if (!isnan(f[i]))
                        assert_each_eq(h[i], k ? cfx_f32_to_bf16(f[i])
                                               : cfx_f32_to_f16(f[i]));
            }
    }
}

TEST_CASE(floats_without_a_place_among_integers_are_defined)
{
    static const double x[] = {NAN,   INFINITY, -INFINITY, 1e30,
                               -1e30, 2.9,      -2.9};
    int64_t n = 7;

    for (int c = 0; c < all.count; c++) {
        int64_t y[7];
        int32_t z[7];
        cfx_iter it;

        cfx_iter_begin(&it, 1, &n);
        cfx_iter_out(&it, y, CFX_I64, NULL);
        cfx_iter_in(&it, x, CFX_F64, 1, &n, NULL);
        cfx_copy(all.ctx[c], &it);
        cfx_iter_begin(&it, 1, &n);
        cfx_iter_out(&it, z, CFX_I32, NULL);
        cfx_iter_in(&it, x, CFX_F64, 1, &n, NULL);
        cfx_copy(all.ctx[c], &it);
        for (int i = 0; i < 5; i++) {
            ck_assert_int_eq(y[i], INT64_MIN);
            ck_assert_int_eq(z[i], INT32_MIN);
        }
        ck_assert_int_eq(y[5], 2);
        ck_assert_int_eq(z[6], -2);
    }
}

TEST_CASE(ranges_hit_both_ends)
{
    for (int c = 0; c < all.count; c++) {
        double y[1001];
        int64_t z[1001];
        float one;

        cfx_fill_linspace(all.ctx[c], y, CFX_F64, 1001, -3, 7);
        ck_assert_double_eq(y[0], -3);
        ck_assert_double_eq(y[1000], 7);
        ck_assert_double_eq_tol(y[500], 2, 1e-12);
        cfx_fill_linspace(all.ctx[c], &one, CFX_F32, 1, 5, 7);
        ck_assert(one == 5);
        cfx_fill_arange_int(all.ctx[c], z, CFX_I64, 1001, INT64_C(1) << 60,
                            -3);
        ck_assert_int_eq(z[1000], (INT64_C(1) << 60) - 3000);
        cfx_fill_arange(all.ctx[c], y, CFX_F64, 10, 0.5, 0.25);
        ck_assert_double_eq(y[9], 2.75);
    }
}

TEST_CASE(nothing_is_done_to_empty_tensors)
{
    int64_t shape[] = {3, 0, 5};
    cfx_iter it;

    cfx_iter_begin(&it, 3, shape);
    cfx_iter_out(&it, NULL, CFX_F32, NULL);
    cfx_iter_in(&it, NULL, CFX_F32, 3, shape, NULL);
    ck_assert(cfx_pointwise(all.ctx[0], CFX_PW_EXP, CFX_F32, &it, NULL));
    cfx_iter_begin(&it, 3, shape);
    cfx_iter_out(&it, NULL, CFX_F32, NULL);
    cfx_iter_in(&it, NULL, CFX_F32, 3, shape, NULL);
    cfx_copy(all.ctx[0], &it);
}

static void setup(void)
{
    contexts_init(&all);
}
static void teardown(void)
{
    contexts_release(&all);
}

TEST_SUITE(kernel_pointwise, .setup_once = setup, .teardown_once = teardown,
           .timeout = 300)
