/*
 * kernel_norm_test.c -- softmax and normalizations against plain loops in
 * double, for every float type and level.
 */
#include "kernel/norm/norm_kernel.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_F16, CFX_BF16};

static double tolerance(cfx_dtype t)
{
    return 3 * rounding(t);
}

static void *random_floats(dice *d, cfx_dtype t, int64_t n, double scale)
{
    char *p = array_new(t, n);

    for (int64_t i = 0; i < n; i++)
        cfx_element_set_double(t, p + (size_t)i * cfx_dtype_size(t),
                               (double)dice_throw(d, -1000, 1000) / 500 *
                                   scale);
    return p;
}

static int64_t random_extent(dice *d)
{
    return dice_throw(d, 0, 3) ? dice_throw(d, 1, 70) : dice_throw(d, 1, 2500);
}

/* ---- Softmax ---- */

static void plain_softmax(double *y, const double *x, int64_t n, int64_t step,
                          bool log_)
{
    double max = -INFINITY, sum = 0;

    for (int64_t i = 0; i < n; i++)
        max = x[i * step] > max ? x[i * step] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i * step] - max);
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * step] - max;
        y[i * step] = log_ ? v - log(sum) : exp(v) / sum;
    }
}

static double *as_doubles(cfx_dtype t, const void *x, int64_t n)
{
    double *d = malloc((size_t)n * sizeof(*d) + 1);

    for (int64_t i = 0; i < n; i++)
        d[i] = array_at(t, x, i);
    return d;
}

TEST_CASE(softmax_along_any_axis_agrees_with_plain_loops)
{
    dice d = {.key = 1};

    for (int round = 0; round < 300; round++) {
        cfx_dtype t = types[round % 4];
        cfx_context *ctx = all.ctx[round % all.count];
        int64_t outer = dice_throw(&d, 1, 3), n = random_extent(&d);
        int64_t inner = dice_throw(&d, 0, 1)
                            ? 1
                            : dice_throw(&d, 1, n > 70 ? 9 : 300);
        int64_t total = outer * n * inner;
        bool log_ = dice_throw(&d, 0, 1);
        void *x = random_floats(&d, t, total, 3), *y = array_new(t, total);
        double *v = as_doubles(t, x, total), *want = as_doubles(t, x, total);

        for (int64_t i = 0; i < outer * inner; i++) {
            int64_t at = i / inner * n * inner + i % inner;
            plain_softmax(want + at, v + at, n, inner, log_);
        }
        if (log_)
            cfx_kernel_log_softmax(ctx, t, y, x, outer, n, inner);
        else
            cfx_kernel_softmax(ctx, t, y, x, outer, n, inner);
        assert_array(t, y, want, total, tolerance(t), "softmax");
        if (log_)
            cfx_kernel_log_softmax(ctx, t, x, x, outer, n, inner);
        else
            cfx_kernel_softmax(ctx, t, x, x, outer, n, inner);
        assert_same_bits(x, y, (size_t)total * cfx_dtype_size(t), "in place");
        free(x);
        free(y);
        free(v);
        free(want);
    }
}

TEST_CASE(softmax_of_extreme_rows_is_that_of_pytorch)
{
    float x[] = {INFINITY, 0, -INFINITY, -INFINITY, NAN, 0, 1e30f, -1e30f};
    float y[8];

    for (int c = 0; c < all.count; c++) {
        cfx_kernel_softmax(all.ctx[c], CFX_F32, y, x, 4, 2, 1);
        for (int i = 0; i < 6; i++)
            ck_assert(isnan(y[i]) || (i == 1 && y[i] == 0));
        ck_assert(y[6] == 1 && y[7] == 0);
    }
}

/* ---- Normalization ---- */

static double weight_at(cfx_dtype t, const void *w, int64_t i,
                        double otherwise)
{
    return w ? array_at(t, w, i) : otherwise;
}

static void moments(const double *x, int64_t n, double *mean, double *var)
{
    *mean = *var = 0;
    for (int64_t i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        *var += (x[i] - *mean) * (x[i] - *mean) / (double)n;
}

TEST_CASE(layer_and_rms_norm_agree_with_plain_loops)
{
    dice d = {.key = 3};

    for (int round = 0; round < 300; round++) {
        cfx_dtype t = types[round % 4];
        cfx_context *ctx = all.ctx[round % all.count];
        int64_t outer = dice_throw(&d, 1, 9), n = random_extent(&d);
        int64_t total = outer * n;
        bool rms = dice_throw(&d, 0, 2) == 0;
        void *x = random_floats(&d, t, total, 3), *y = array_new(t, total);
        void *w = dice_throw(&d, 0, 1) ? random_floats(&d, t, n, 1) : NULL;
        void *b = dice_throw(&d, 0, 1) ? random_floats(&d, t, n, 1) : NULL;
        void *means = array_new(t, outer), *rstds = array_new(t, outer);
        double *v = as_doubles(t, x, total), *want = as_doubles(t, x, total);

        if (rms) {
            free(b);
            b = NULL;
        }
        for (int64_t r = 0; r < outer; r++) {
            double mean, var;

            moments(v + r * n, n, &mean, &var);
            if (rms) {
                var += mean * mean;
                mean = 0;
            }
            for (int64_t i = 0; i < n; i++)
                want[r * n + i] = (v[r * n + i] - mean) / sqrt(var + 1e-3) *
                                      weight_at(t, w, i, 1) +
                                  weight_at(t, b, i, 0);
        }
        if (rms)
            cfx_kernel_rms_norm(ctx, t, y, x, outer, n, w, 1e-3);
        else
            cfx_kernel_layer_norm(ctx, t, y, x, outer, n, w, b, 1e-3, means,
                                  rstds);
        assert_array(t, y, want, total, 2 * tolerance(t), "layer norm");
        for (int64_t r = 0; r < outer && !rms; r++) {
            double mean, var;

            moments(v + r * n, n, &mean, &var);
            ck_assert_double_eq_tol(array_at(t, means, r), mean,
                                    tolerance(t) * 4);
            ck_assert_double_eq_tol(array_at(t, rstds, r) * sqrt(var + 1e-3),
                                    1, tolerance(t));
        }
        free(x);
        free(y);
        free(w);
        free(b);
        free(means);
        free(rstds);
        free(v);
        free(want);
    }
}

TEST_CASE(group_norm_agrees_with_plain_loops)
{
    dice d = {.key = 4};

    for (int round = 0; round < 200; round++) {
        cfx_dtype t = types[round % 4];
        int64_t batch = dice_throw(&d, 1, 3), groups = dice_throw(&d, 1, 4);
        int64_t channels = groups * dice_throw(&d, 1, 6);
        int64_t inner = dice_throw(&d, 1, 200), each = channels / groups;
        int64_t total = batch * channels * inner;
        void *x = random_floats(&d, t, total, 2), *y = array_new(t, total);
        void *w = round % 3 ? random_floats(&d, t, channels, 1) : NULL;
        void *b = round % 5 ? random_floats(&d, t, channels, 1) : NULL;
        double *v = as_doubles(t, x, total), *want = as_doubles(t, x, total);

        for (int64_t g = 0; g < batch * groups; g++) {
            int64_t n = each * inner, first = g % groups * each;
            double mean, var;

            moments(v + g * n, n, &mean, &var);
            for (int64_t i = 0; i < n; i++)
                want[g * n + i] = (v[g * n + i] - mean) / sqrt(var + 1e-2) *
                                      weight_at(t, w, first + i / inner, 1) +
                                  weight_at(t, b, first + i / inner, 0);
        }
        cfx_kernel_group_norm(all.ctx[round % all.count], t, y, x, batch,
                              channels, inner, groups, w, b, 1e-2, NULL, NULL);
        assert_array(t, y, want, total, 3 * tolerance(t), "group norm");
        free(x);
        free(y);
        free(w);
        free(b);
        free(v);
        free(want);
    }
}

TEST_CASE(batch_norm_agrees_with_plain_loops_in_both_layouts)
{
    dice d = {.key = 5};

    for (int round = 0; round < 200; round++) {
        cfx_dtype t = types[round % 4];
        cfx_dtype stat = round % 3 == 0 && t != CFX_F64 ? CFX_F32 : t;
        int64_t batch = dice_throw(&d, 1, 90), inner = 1;
        int64_t channels = dice_throw(&d, 1, 600);
        void *x, *y, *mean, *var, *w, *b;
        double *want;
        int64_t total;

        if (round & 4) {
            inner = dice_throw(&d, 2, 1200);
            channels = dice_throw(&d, 1, 9);
            batch = dice_throw(&d, 1, 3);
        }
        total = batch * channels * inner;
        x = random_floats(&d, t, total, 2);
        y = array_new(t, total);
        mean = random_floats(&d, stat, channels, 1);
        var = random_floats(&d, stat, channels, 1);
        w = round % 5 ? random_floats(&d, stat, channels, 1) : NULL;
        b = round % 7 ? random_floats(&d, stat, channels, 1) : NULL;
        want = as_doubles(t, x, total);
        for (int64_t i = 0; i < total; i++) {
            int64_t c = i / inner % channels;

            want[i] = (want[i] - array_at(stat, mean, c)) /
                          sqrt(array_at(stat, var, c) + 3) *
                          weight_at(stat, w, c, 1) +
                      weight_at(stat, b, c, 0);
        }
        cfx_kernel_batch_norm(all.ctx[round % all.count], t, stat, y, x, batch,
                              channels, inner, mean, var, w, b, 3);
        assert_array(t, y, want, total, 3 * tolerance(t), "batch norm");
        free(x);
        free(y);
        free(mean);
        free(var);
        free(w);
        free(b);
        free(want);
    }
}

TEST_CASE(channel_stats_agree_with_plain_loops)
{
    enum { N = 3, C = 20, HW = 77 };
    dice d = {.key = 6};

    for (int k = 0; k < 4; k++)
        for (int c = 0; c < all.count; c++) {
            void *x = random_floats(&d, types[k], N * C * HW, 2);
            double mean[C], var[C];

            cfx_channel_stats(all.ctx[c], types[k], CFX_F64, x, N, C, HW, 1,
                              mean, var);
            for (int ch = 0; ch < C; ch++) {
                double v[N * HW], m, s;

                for (int i = 0; i < N * HW; i++)
                    v[i] = array_at(types[k], x,
                                    (i / HW * C + ch) * HW + i % HW);
                moments(v, N * HW, &m, &s);
                ck_assert_double_eq_tol(mean[ch], m, 1e-6);
                ck_assert_double_eq_tol(var[ch], s * N * HW / (N * HW - 1),
                                        1e-5);
            }
            free(x);
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

TEST_SUITE(kernel_norm, .setup_once = setup, .teardown_once = teardown,
           .timeout = 300)
