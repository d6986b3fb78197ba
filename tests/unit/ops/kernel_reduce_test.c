/*
 * kernel_reduce_test.c -- reductions, places of extremes and scans against
 * plain loops in double.
 */
#include "kernel/reduce/reduce_kernel.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

/* ---- Reductions over any axes ---- */

typedef struct sums {
    int64_t n, nonzero;
    double sum, product, max, min, sumsq, sumabs, cubes, mean, m2, exps;
    bool nan;
} sums;

static void add_first(sums *s, double v)
{
    s->max = s->n++ && s->max > v ? s->max : v;
    s->min = s->n > 1 && s->min < v ? s->min : v;
    s->nonzero += v != 0;
    s->sum += v;
    s->sumsq += v * v;
    s->sumabs += fabs(v);
    s->cubes += pow(fabs(v), 3);
    s->nan |= isnan(v);
}

static void add_second(sums *s, double v)
{
    s->mean = s->sum / (double)s->n;
    s->m2 += (v - s->mean) * (v - s->mean);
    s->exps += exp(v - s->max);
}

static double expected(cfx_red op, const sums *s)
{
    double n = (double)s->n;

    switch (op) {
    case CFX_RED_SUM: return s->sum;
    case CFX_RED_PROD: return s->product;
    case CFX_RED_MEAN: return s->sum / n;
    case CFX_RED_MAX: return s->nan ? NAN : s->max;
    case CFX_RED_MIN: return s->nan ? NAN : s->min;
    case CFX_RED_ANY: return s->nonzero > 0;
    case CFX_RED_ALL: return s->nonzero == s->n;
    case CFX_RED_COUNT_NONZERO: return (double)s->nonzero;
    case CFX_RED_VAR: return s->n > 1 ? s->m2 / (n - 1) : NAN;
    case CFX_RED_STD: return s->n > 1 ? sqrt(s->m2 / (n - 1)) : NAN;
    case CFX_RED_SUMSQ: return s->sumsq;
    case CFX_RED_NORM1: return s->sumabs;
    case CFX_RED_NORM2: return sqrt(s->sumsq);
    case CFX_RED_NORMINF:
        return s->nan ? NAN : fmax(fabs(s->max), fabs(s->min));
    case CFX_RED_NORM: return cbrt(s->cubes);
    case CFX_RED_LOGSUMEXP: return log(s->exps) + s->max;
    default: return 0;
    }
}

/* The output element that input element i of `shape` goes into. */
static int64_t output_of(int rank, const int64_t *shape, const int64_t *stride,
                         int64_t i)
{
    int64_t at = 0;

    for (int a = rank - 1; a >= 0; a--) {
        at += i % shape[a] * stride[a];
        i /= shape[a];
    }
    return at;
}

/* A random case: a shape with some reduced axes, and strides. */
typedef struct reduction {
    int rank;
    int64_t shape[4], out_stride[4], in_stride[4], n, outputs;
} reduction;

static void reduction_init(reduction *r, dice *d, int64_t most)
{
    do {
        r->n = 1;
        r->rank = (int)dice_throw(d, 1, 4);
        for (int i = 0; i < r->rank; i++) {
            r->shape[i] = dice_throw(d, 0, 1) ? dice_throw(d, 1, 9)
                                              : dice_throw(d, 1, 400);
            r->n *= r->shape[i];
        }
    } while (r->n > most);
    r->outputs = 1;
    for (int i = r->rank - 1; i >= 0; i--) {
        r->out_stride[i] = 0;
        if (dice_throw(d, 0, 1)) {
            r->out_stride[i] = r->outputs;
            r->outputs *= r->shape[i];
        }
    }
}

/* Row-major, or with two axes exchanged in memory. */
static void input_strides(reduction *r, dice *d)
{
    int a = (int)dice_throw(d, 0, r->rank - 1);
    int b = (int)dice_throw(d, 0, r->rank - 1);
    int order[4] = {0, 1, 2, 3};
    int64_t s = 1;

    if (dice_throw(d, 0, 1)) {
        order[a] = b;
        order[b] = a;
    }
    for (int i = r->rank - 1; i >= 0; i--) {
        r->in_stride[order[i]] = s;
        s *= r->shape[order[i]];
    }
}

static void check_reduction(cfx_context *ctx, const reduction *r, cfx_red op,
                            cfx_dtype t, const void *x)
{
    bool floats = cfx_dtype_is_float(t);
    cfx_dtype ty = floats ? t : CFX_I64;
    sums *s = calloc((size_t)r->outputs, sizeof(*s));
    double *want = malloc((size_t)r->outputs * sizeof(*want));
    void *y = array_new(ty, r->outputs);
    cfx_iter it;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < r->n; i++) {
            double v = array_at(t, x,
                                output_of(r->rank, r->shape, r->in_stride, i));
            sums *to = &s[output_of(r->rank, r->shape, r->out_stride, i)];

            (pass ? add_second : add_first)(to, v);
        }
    for (int64_t i = 0; i < r->outputs; i++)
        want[i] = expected(op, &s[i]);
    cfx_iter_begin(&it, r->rank, r->shape);
    cfx_iter_out(&it, y, ty, r->out_stride);
    cfx_iter_in(&it, x, t, r->rank, r->shape, r->in_stride);
    cfx_reduce(ctx, op, ty, &it, op == CFX_RED_NORM ? 3 : 1);
    assert_array(ty, y, want, r->outputs, 4 * rounding(ty) + 1e-13, "reduce");
    free(s);
    free(want);
    free(y);
}

TEST_EACH(reductions_over_any_axes_agree_with_plain_loops, CFX_RED_COUNT)
{
    static const cfx_dtype types[] = {CFX_F32,  CFX_F32, CFX_F64, CFX_F16,
                                      CFX_BF16, CFX_I64, CFX_I32, CFX_U8};
    cfx_red op = (cfx_red)_i;
    dice d = {.key = (uint64_t)_i + 100};

    if (op == CFX_RED_PROD || op == CFX_RED_NORMNINF)
        return;
    for (int round = 0; round < 60; round++) {
        cfx_dtype t = types[dice_throw(&d, 0, 7)];
        reduction r;
        void *x;

        if (!cfx_dtype_is_float(t) &&
            (op == CFX_RED_MEAN || (op >= CFX_RED_VAR && op != CFX_RED_SUMSQ)))
            continue;
        reduction_init(&r, &d, round % 10 ? 20000 : 300000);
        input_strides(&r, &d);
        x = array_random(&d, t, r.n);
        check_reduction(all.ctx[round % all.count], &r, op, t, x);
        free(x);
    }
}

static double reduce_all(cfx_context *ctx, cfx_red op, cfx_dtype t,
                         const void *x, int64_t n, double param)
{
    int64_t zero = 0;
    double y = 0;
    cfx_iter it;

    cfx_iter_begin(&it, 1, &n);
    cfx_iter_out(&it, &y, CFX_F64, &zero);
    cfx_iter_in(&it, x, t, 1, &n, NULL);
    cfx_reduce(ctx, op, t, &it, param);
    return y;
}

TEST_CASE(results_do_not_depend_on_the_number_of_threads)
{
    enum { ROWS = 700, COLS = 1100 };
    int64_t shape[] = {ROWS, COLS};
    int64_t strides[][2] = {{0, 0}, {1, 0}, {0, 1}};
    dice d = {.key = 5};
    float *x = array_new(CFX_F32, ROWS * COLS);
    static float y[COLS], before[COLS];

    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = (float)dice_throw(&d, -1000000, 1000000) / 7;
    for (int op = 0; op < CFX_RED_COUNT; op++)
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < all.count; c++) {
                cfx_iter it;

                memset(y, 0, sizeof(y));
                cfx_iter_begin(&it, 2, shape);
                cfx_iter_out(&it, y, CFX_F32, strides[k]);
                cfx_iter_in(&it, x, CFX_F32, 2, shape, NULL);
                cfx_reduce(all.ctx[c], (cfx_red)op, CFX_F32, &it, 1);
                if (same_level(&all, c))
                    assert_same_bits(y, before, sizeof(y), "reduce");
                memcpy(before, y, sizeof(y));
            }
    free(x);
}

TEST_CASE(long_sums_of_floats_are_accurate)
{
    enum { N = 5000000 };
    float *x = array_new(CFX_F32, N);
    double want = 0;

    for (int i = 0; i < N; i++) {
        x[i] = 0.1f + (float)(i % 1000) * 1e-3f;
        want += (double)x[i];
    }
    for (int c = 0; c < all.count; c++)
        ck_assert_double_eq_tol(
            reduce_all(all.ctx[c], CFX_RED_SUM, CFX_F32, x, N, 0) / want, 1,
            2e-8);
    free(x);
}

TEST_CASE(variance_far_from_zero_is_accurate)
{
    enum { N = 100000 };
    float *x = array_new(CFX_F32, N);

    for (int i = 0; i < N; i++)
        x[i] = 1e5f + (float)(i % 4);
    x[0] = -1e5f;
    for (int c = 0; c < all.count; c++) {
        double all_but_one = reduce_all(all.ctx[c], CFX_RED_VAR, CFX_F32,
                                        x + 4, N - 4, 0);
        ck_assert_double_eq_tol(all_but_one, 1.25, 1e-5);
        ck_assert_double_eq_tol(
            reduce_all(all.ctx[c], CFX_RED_VAR, CFX_F32, x, N, 1) / 400002.2,
            1, 1e-4);
    }
    free(x);
}

TEST_CASE(nan_and_infinities_come_through)
{
    enum { N = 999 };
    float x[N];

    for (int c = 0; c < all.count; c++)
        for (int place = 0; place < N; place += 83) {
            for (int i = 0; i < N; i++)
                x[i] = (float)i;
            x[place] = NAN;
            for (int op = CFX_RED_SUM; op <= CFX_RED_MIN; op++)
                ck_assert_double_nan(
                    reduce_all(all.ctx[c], (cfx_red)op, CFX_F32, x, N, 0));
            x[place] = -INFINITY;
            ck_assert(
                isinf(reduce_all(all.ctx[c], CFX_RED_MIN, CFX_F32, x, N, 0)));
            ck_assert_double_eq_tol(
                reduce_all(all.ctx[c], CFX_RED_LOGSUMEXP, CFX_F32, x, N, 0),
                N - 1 + log(1 / (1 - exp(-1))), 0.7);
            x[place] = INFINITY;
            ck_assert(isinf(
                reduce_all(all.ctx[c], CFX_RED_LOGSUMEXP, CFX_F32, x, N, 0)));
        }
    for (int i = 0; i < N; i++)
        x[i] = -INFINITY;
    ck_assert(reduce_all(all.ctx[0], CFX_RED_LOGSUMEXP, CFX_F32, x, N, 0) ==
              -INFINITY);
}

TEST_CASE(the_empty_set_has_its_sums)
{
    static const struct {
        cfx_red op;
        double want;
    } cases[] = {
        {CFX_RED_SUM, 0},    {CFX_RED_PROD, 1},
        {CFX_RED_MEAN, NAN}, {CFX_RED_ANY, 0},
        {CFX_RED_ALL, 1},    {CFX_RED_VAR, NAN},
        {CFX_RED_NORM2, 0},  {CFX_RED_LOGSUMEXP, -INFINITY},
    };
    int64_t shape[] = {3, 0, 2};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float y[6];
        double want[6];
        cfx_iter it;

        for (int k = 0; k < 6; k++)
            want[k] = cases[i].want;
        cfx_iter_begin(&it, 3, shape);
        cfx_iter_out(&it, y, CFX_F32, (int64_t[]){2, 0, 1});
        cfx_iter_in(&it, NULL, CFX_F32, 3, shape, NULL);
        cfx_reduce(all.ctx[0], cases[i].op, CFX_F32, &it, 1);
        for (int k = 0; k < 6; k++)
            ck_assert(want[k] == (double)y[k] ||
                      (isnan(want[k]) && isnan(y[k])));
    }
}

TEST_CASE(variance_and_mean_come_together)
{
    enum { N = 2, C = 70, HW = 49 };
    int64_t shape[] = {N, C, HW};
    dice d = {.key = 3};
    float *x = array_random(&d, CFX_F32, N * C * HW);

    for (int c = 0; c < all.count; c++) {
        float var[C], mean[C];
        cfx_iter it;

        cfx_iter_begin(&it, 3, shape);
        cfx_iter_out(&it, var, CFX_F32, (int64_t[]){0, 1, 0});
        cfx_iter_in(&it, x, CFX_F32, 3, shape, NULL);
        cfx_reduce_var_mean(all.ctx[c], CFX_RED_VAR, CFX_F32, &it, 0, mean);
        for (int k = 0; k < C; k++) {
            double sum = 0, sq = 0;

            for (int i = 0; i < N * HW; i++) {
                double v = (double)x[(i / HW * C + k) * HW + i % HW];
                sum += v;
                sq += v * v;
            }
            sum /= N * HW;
            ck_assert_double_eq_tol((double)mean[k], sum, 1e-6);
            ck_assert_double_eq_tol((double)var[k], sq / (N * HW) - sum * sum,
                                    1e-5);
        }
    }
    free(x);
}

/* ---- Places of extremes ---- */

static bool is_better(double v, double best, bool smallest)
{
    if (isnan(best))
        return false;
    return isnan(v) || (smallest ? v < best : v > best);
}

TEST_CASE(the_first_extreme_is_found_and_nan_wins)
{
    dice d = {.key = 11};

    for (int round = 0; round < 300; round++) {
        cfx_dtype t = computed_type((int)dice_throw(&d, 0, 1000));
        int64_t outer = dice_throw(&d, 1, 3), n = dice_throw(&d, 1, 40);
        int64_t inner = dice_throw(&d, 0, 1) ? 1 : dice_throw(&d, 1, 600);
        bool smallest = dice_throw(&d, 0, 1);
        int64_t *index = array_new(CFX_I64, outer * inner);
        void *x, *value = array_new(t, outer * inner);

        if (inner == 1 && dice_throw(&d, 0, 3) == 0)
            n = 5000;
        x = array_random(&d, t, outer * n * inner);
        if (cfx_dtype_is_float(t) && dice_throw(&d, 0, 1))
            for (int k = 0; k < 3; k++)
                cfx_element_set_double(
                    t,
                    (char *)x +
                        (size_t)dice_throw(&d, 0, outer * n * inner - 1) *
                            cfx_dtype_size(t),
                    k ? NAN : INFINITY);
        cfx_kernel_argmax(all.ctx[round % all.count], t, smallest, index,
                          value, x, outer, n, inner);
        for (int64_t i = 0; i < outer * inner; i++) {
            int64_t at = i / inner * n * inner + i % inner, best = 0;
            double got = array_at(t, value, i), want;

            for (int64_t r = 1; r < n; r++)
                if (is_better(array_at(t, x, at + r * inner),
                              array_at(t, x, at + best * inner), smallest))
                    best = r;
            want = array_at(t, x, at + best * inner);
            assert_each_eq(index[i], best);
            assert_each(got == want || (isnan(got) && isnan(want)));
        }
        free(index);
        free(value);
        free(x);
    }
}

/* ---- Scans ---- */

TEST_CASE(scans_agree_with_plain_loops)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_F16, CFX_I64,
                                      CFX_I32};
    dice d = {.key = 12};

    for (int round = 0; round < 300; round++) {
        cfx_scan op = (cfx_scan)dice_throw(&d, 0, 4);
        cfx_dtype t = types[op == CFX_SCAN_LOGSUMEXP ? round % 2 : round % 5];
        /* Products of integers should not leave their type. */
        int64_t n = dice_throw(&d, 1, op == CFX_SCAN_PROD ? 8 : 20);
        int64_t outer = dice_throw(&d, 1, 3);
        int64_t inner = dice_throw(&d, 0, 1) ? 1 : dice_throw(&d, 1, 300);
        bool extreme = op == CFX_SCAN_MAX || op == CFX_SCAN_MIN;
        int64_t total = outer * n * inner;
        void *x = array_random(&d, t, total), *y = array_new(t, total);
        int64_t *index = array_new(CFX_I64, total);

        cfx_cumulate(all.ctx[round % all.count], op, t, y,
                     extreme ? index : NULL, x, outer, n, inner);
        for (int64_t i = 0; i < outer * inner; i++) {
            int64_t at = i / inner * n * inner + i % inner, place = 0;
            double acc = 0;

            for (int64_t r = 0; r < n; r++, at += inner) {
                double v = array_at(t, x, at);

                if (r == 0)
                    acc = v;
                else if (op == CFX_SCAN_SUM)
                    acc += v;
                else if (op == CFX_SCAN_PROD)
                    acc *= v;
                else if (op == CFX_SCAN_LOGSUMEXP)
                    acc = fmax(acc, v) + log1p(exp(-fabs(acc - v)));
                else if (op == CFX_SCAN_MAX ? v >= acc : v <= acc) {
                    acc = v;
                    place = r;
                }
                ck_assert_double_eq_tol(array_at(t, y, at), acc,
                                        fabs(acc) * 4 * rounding(t) + 1e-6);
                if (extreme)
                    assert_each_eq(index[at], place);
            }
        }
        free(x);
        free(y);
        free(index);
    }
}

static void setup(void)
{
    contexts_init(&all);
}
static void teardown(void)
{
    contexts_release(&all);
}

TEST_SUITE(kernel_reduce, .setup_once = setup, .teardown_once = teardown,
           .timeout = 300)
