/*
 * kernel_conv_test.c -- convolutions against plain loops in double.
 */
#include "kernel/conv/conv_kernel.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

static int64_t volume(int spatial, const int64_t *n)
{
    int64_t v = 1;

    for (int i = 0; i < spatial; i++)
        v *= n[i];
    return v;
}

/* Index i of a box of extents n, as coordinates. */
static void coordinates(int spatial, const int64_t *n, int64_t i, int64_t *x)
{
    for (int a = spatial - 1; a >= 0; a--) {
        x[a] = i % n[a];
        i /= n[a];
    }
}

/* The index in `large` of tap k of the window at `o` of `small` (outputs of a
 * convolution, inputs of a transposed one), or -1. */
static int64_t tap_at(const cfx_conv *c, const int64_t *large,
                      const int64_t *o, const int64_t *k)
{
    int64_t at = 0;

    for (int a = 0; a < c->spatial; a++) {
        int64_t i = o[a] * c->stride[a] - c->pad[a] + k[a] * c->dilation[a];
        if (i < 0 || i >= large[a])
            return -1;
        at = at * large[a] + i;
    }
    return at;
}

/* y in double, of either direction: every (small, tap) pair gives a place in
 * the large one. */
static void reference(const cfx_conv *c, bool transposed, double *y)
{
    cfx_dtype t = c->dtype;
    int64_t gi = c->in_channels / c->groups, go = c->out_channels / c->groups;
    int64_t taps = volume(c->spatial, c->kernel);
    int64_t in = volume(c->spatial, c->in), out = volume(c->spatial, c->out);
    const int64_t *small = transposed ? c->in : c->out;
    const int64_t *large = transposed ? c->out : c->in;
    int64_t count = transposed ? in : out;

    for (int64_t i = 0; i < c->batch * c->out_channels * out; i++)
        y[i] = c->bias ? array_at(t, c->bias, i / out % c->out_channels) : 0;
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t o = 0; o < c->out_channels; o++)
            for (int64_t p = 0; p < count * taps; p++) {
                int64_t s[3], k[3], at;

                coordinates(c->spatial, small, p / taps, s);
                coordinates(c->spatial, c->kernel, p % taps, k);
                at = tap_at(c, large, s, k);
                for (int64_t i = 0; i < gi && at >= 0; i++) {
                    int64_t ic = o / go * gi + i;
                    int64_t w = transposed ? ic * go + o % go : o * gi + i;
                    int64_t xi = transposed ? p / taps : at;
                    int64_t yi = transposed ? at : p / taps;

                    y[(n * c->out_channels + o) * out + yi] +=
                        array_at(t, c->x,
                                 (n * c->in_channels + ic) * in + xi) *
                        array_at(t, c->w, w * taps + p % taps);
                }
            }
}

static void wrap(cfx_dtype t, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        union {
            int64_t i;
            char bytes[8];
        } x = {0};
        cfx_element_set_int(t, x.bytes, (int64_t)y[i]);
        y[i] = (double)cfx_element_int(t, x.bytes);
    }
}

static void check_conv(dice *d, cfx_conv *c, bool transposed, double tol,
                       const char *what)
{
    cfx_dtype t = c->dtype;
    int64_t taps = volume(c->spatial, c->kernel);
    int64_t len = c->batch * c->out_channels * volume(c->spatial, c->out);
    size_t size = (size_t)len * cfx_dtype_size(t);
    void *x = array_random(
        d, t, c->batch * c->in_channels * volume(c->spatial, c->in));
    void *w = array_random(
        d, t, c->out_channels * c->in_channels / c->groups * taps);
    void *bias = array_random(d, t, c->out_channels);
    void *y = array_new(t, len), *last = array_new(t, len);
    double *want = array_new(CFX_F64, len);

    c->x = x;
    c->w = w;
    c->bias = dice_throw(d, 0, 2) ? bias : NULL;
    c->y = y;
    reference(c, transposed, want);
    if (!cfx_dtype_is_float(t))
        wrap(t, want, len);
    for (int i = 0; i < all.count; i++) {
        void *work = array_scratch(
            transposed ? cfx_conv_transpose_workspace(all.ctx[i], c)
                       : cfx_conv_workspace(all.ctx[i], c));

        memset(y, 0xff, size);
        if (transposed)
            cfx_conv_transpose_run(all.ctx[i], c, work);
        else
            cfx_conv_run(all.ctx[i], c, work);
        assert_array(t, y, want, len, tol, what);
        if (same_level(&all, i))
            assert_same_bits(y, last, size, what);
        memcpy(last, y, size);
        free(work);
    }
    free(x);
    free(w);
    free(bias);
    free(y);
    free(last);
    free(want);
}

static void describe(char *s, size_t n, const cfx_conv *c, int number)
{
    int at = snprintf(s, n,
                      "case %d, %s, %lld images, %lld to %lld channels,"
                      " %lld groups, in/out/kernel/stride/pad/dilation",
                      number, cfx_dtypes[c->dtype].name, (long long)c->batch,
                      (long long)c->in_channels, (long long)c->out_channels,
                      (long long)c->groups);

    for (int a = 0; a < c->spatial; a++)
        at += snprintf(s + at, n - (size_t)at,
                       " %lld/%lld/%lld/%lld/%lld/%lld", (long long)c->in[a],
                       (long long)c->out[a], (long long)c->kernel[a],
                       (long long)c->stride[a], (long long)c->pad[a],
                       (long long)c->dilation[a]);
}

/* Extents that give a convolution at least one output; sometimes one more or
 * less than PyTorch would make, as padding that differs does. */
static void random_extents(dice *d, cfx_conv *c, bool transposed)
{
    int64_t most = c->spatial == 1 ? 40 : c->spatial == 2 ? 20 : 7;

    for (int a = 0; a < c->spatial; a++) {
        int64_t reach, least, large, small;

        c->kernel[a] = dice_throw(d, 0, 2) ? dice_throw(d, 1, 4) : 1;
        c->stride[a] = dice_throw(d, 0, 1) ? dice_throw(d, 1, 3) : 1;
        c->dilation[a] = dice_throw(d, 0, 2) ? 1 : dice_throw(d, 1, 3);
        c->pad[a] = dice_throw(d, 0, 2) ? dice_throw(d, 0, 2)
                                        : dice_throw(d, 0, 6);
        reach = (c->kernel[a] - 1) * c->dilation[a] + 1;
        least = reach > 2 * c->pad[a] ? reach - 2 * c->pad[a] : 1;
        large = dice_throw(d, least, least > most ? least + 3 : most);
        small = (large + 2 * c->pad[a] - reach) / c->stride[a] + 1;
        small += dice_throw(d, 0, 8) == 0;
        c->in[a] = transposed ? small : large;
        c->out[a] = transposed ? large : small;
    }
}

static void check_random(cfx_dtype t, int count, bool transposed)
{
    for (int i = 0; i < count; i++) {
        dice d = {.key = 5000 + (uint64_t)i * 64 + t};
        cfx_conv c = {.dtype = t, .spatial = (int)dice_throw(&d, 1, 3)};
        char what[300];
        int64_t groups = dice_throw(&d, 0, 1) ? dice_throw(&d, 1, 6) : 1;
        bool depthwise = dice_throw(&d, 0, 3) == 0;

        c.batch = dice_throw(&d, 0, 12) ? dice_throw(&d, 1, 3) : 0;
        c.groups = groups;
        c.in_channels = groups * (depthwise ? 1 : dice_throw(&d, 1, 5));
        c.out_channels = groups * (depthwise ? dice_throw(&d, 1, 2)
                                             : dice_throw(&d, 1, 5));
        random_extents(&d, &c, transposed);
        describe(what, sizeof(what), &c, i);
        check_conv(&d, &c, transposed, rounding(t), what);
    }
}

TEST_CASE(convolutions_of_floats_agree_with_plain_loops)
{
    check_random(CFX_F32, 300, false);
    check_random(CFX_F64, 150, false);
}

TEST_CASE(convolutions_of_16_bit_floats_are_summed_in_float)
{
    check_random(CFX_F16, 40, false);
    check_random(CFX_BF16, 40, false);
}

TEST_CASE(convolutions_of_integers_wrap_around)
{
    check_random(CFX_U8, 20, false);
    check_random(CFX_I8, 20, false);
    check_random(CFX_I16, 20, false);
    check_random(CFX_I32, 20, false);
    check_random(CFX_I64, 20, false);
}

TEST_CASE(transposed_convolutions_agree_with_plain_loops)
{
    check_random(CFX_F32, 150, true);
    check_random(CFX_F64, 80, true);
    check_random(CFX_BF16, 20, true);
    check_random(CFX_I32, 20, true);
    check_random(CFX_I8, 10, true);
}

/* A square convolution as networks have them, padded by half of the window. */
static cfx_conv square(int64_t batch, int64_t in, int64_t out, int64_t groups,
                       int64_t size, int64_t kernel, int64_t stride)
{
    int64_t pad = kernel / 2, to = (size + 2 * pad - kernel) / stride + 1;

    return (cfx_conv){.dtype = CFX_F32,
                      .spatial = 2,
                      .batch = batch,
                      .in_channels = in,
                      .out_channels = out,
                      .groups = groups,
                      .in = {size, size},
                      .out = {to, to},
                      .kernel = {kernel, kernel},
                      .stride = {stride, stride},
                      .pad = {pad, pad},
                      .dilation = {1, 1}};
}

/* Rows of y that are cut into parts. */
TEST_CASE(long_rows_of_single_channels_agree_with_plain_loops)
{
    static const struct {
        int64_t rows, columns, kernel, stride, dilation, pad;
    } all_of[] = {
        {1, 20000, 5, 1, 1, 2}, {1, 20000, 3, 2, 1, 0},
        {1, 30001, 4, 3, 2, 7}, {1, 9000, 31, 1, 40, 9},
        {19, 1000, 3, 1, 1, 1}, {37, 999, 3, 2, 1, 2},
        {5, 2100, 7, 1, 2, 6},
    };

    for (size_t i = 0; i < sizeof all_of / sizeof *all_of; i++) {
        int64_t kernel = all_of[i].kernel, stride = all_of[i].stride;
        int64_t pad = all_of[i].pad, dilation = all_of[i].dilation;
        bool flat = all_of[i].rows == 1;
        int64_t reach = (kernel - 1) * dilation + 1;
        cfx_conv c = {.dtype = i % 2 ? CFX_F64 : CFX_F32,
                      .spatial = 2,
                      .batch = 1,
                      .in_channels = 2,
                      .out_channels = 4,
                      .groups = 2,
                      .in = {all_of[i].rows, all_of[i].columns},
                      .kernel = {flat ? 1 : kernel, kernel},
                      .stride = {stride, stride},
                      .pad = {flat ? 0 : pad, pad},
                      .dilation = {dilation, dilation}};
        char what[300];
        dice d = {.key = i};

        c.out[0] = flat ? 1 : (c.in[0] + 2 * pad - reach) / stride + 1;
        c.out[1] = (c.in[1] + 2 * pad - reach) / stride + 1;
        describe(what, sizeof(what), &c, (int)i);
        check_conv(&d, &c, false, rounding(c.dtype), what);
    }
}

TEST_CASE(depthwise_windows_of_all_sizes_agree_with_plain_loops)
{
    for (int64_t kernel = 1; kernel <= 7; kernel++)
        for (int64_t stride = 1; stride <= 3; stride++)
            for (int64_t size = 3; size <= 40; size += size < 20 ? 4 : 19) {
                dice d = {
                    .key = (uint64_t)(kernel * 1000 + stride * 100 + size)};
                cfx_conv c = square(2, 3, 3, 3, size, kernel, stride);
                char what[300];

                describe(what, sizeof(what), &c, 0);
                check_conv(&d, &c, false, rounding(CFX_F32), what);
            }
}

/* Shapes that the fast 3x3 method takes: its numbers are rounded otherwise. */
TEST_CASE(fast_3x3_convolutions_are_within_1e_5_of_the_largest)
{
    static const int64_t shapes[][4] = {
        /* batch, in, out, size */
        {1, 16, 24, 14},  {1, 17, 25, 15}, {3, 20, 30, 9},   {2, 64, 70, 13},
        {1, 16, 24, 57},  {5, 33, 31, 8},  {1, 300, 24, 16}, {7, 16, 37, 5},
        {1, 18, 200, 30}, {2, 64, 24, 61}};

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const int64_t *s = shapes[i];
        dice d = {.key = 99 + i};
        cfx_conv c = square(s[0], s[1], s[2], 1, s[3], 3, 1);
        char what[300];

        for (int a = 0; a < 2; a++) {
            c.pad[a] = dice_throw(&d, 0, 2);
            c.out[a] = c.in[a] + 2 * c.pad[a] - 2;
        }
        describe(what, sizeof(what), &c, (int)i);
        check_conv(&d, &c, false, 1e-5, what);
    }
}

TEST_CASE(large_convolutions_agree_with_plain_loops)
{
    static const int64_t shapes[][7] = {
        /* batch, in, out, groups, size, kernel, stride */
        {1, 3, 20, 1, 40, 7, 2},  {2, 40, 30, 1, 14, 3, 2},
        {1, 70, 50, 1, 7, 3, 1},  {2, 70, 30, 1, 7, 3, 1},
        {1, 64, 96, 1, 17, 1, 1}, {2, 96, 40, 1, 18, 1, 2},
        {2, 40, 80, 8, 12, 3, 1}, {4, 30, 50, 1, 1, 1, 1},
        {2, 10, 12, 1, 9, 9, 9},  {1, 300, 40, 1, 6, 3, 2}};

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const int64_t *s = shapes[i];
        dice d = {.key = 77 + i};
        cfx_conv c = square(s[0], s[1], s[2], s[3], s[4], s[5], s[6]);
        char what[300];

        if (s[5] == s[4]) {
            memset(c.pad, 0, sizeof(c.pad));
            c.out[0] = c.out[1] = 1;
        }
        describe(what, sizeof(what), &c, (int)i);
        check_conv(&d, &c, false, rounding(CFX_F32), what);
        c.dtype = CFX_F64;
        check_conv(&d, &c, false, rounding(CFX_F64), what);
    }
}

/* An infinity reaches the outputs whose windows hold it, and no others. */
TEST_CASE(infinite_inputs_stay_where_their_windows_are)
{
    cfx_conv c = square(1, 16, 24, 1, 16, 3, 1);
    dice d = {.key = 4};
    float *x = array_random(&d, CFX_F32, 16 * 256);
    float *w = array_random(&d, CFX_F32, 24 * 16 * 9);
    float *y = array_new(CFX_F32, 24 * 256);

    for (int i = 0; i < 24 * 16 * 9; i++)
        w[i] = 1;
    x[5 * 16 + 6] = INFINITY;
    c.x = x;
    c.w = w;
    c.y = y;
    for (int i = 0; i < all.count; i++) {
        void *work = array_scratch(cfx_conv_workspace(all.ctx[i], &c));

        cfx_conv_run(all.ctx[i], &c, work);
        for (int j = 0; j < 24 * 256; j++) {
            bool near = abs(j % 256 / 16 - 5) <= 1 && abs(j % 16 - 6) <= 1;
            ck_assert(near ? y[j] == INFINITY : isfinite(y[j]));
        }
        free(work);
    }
    free(x);
    free(w);
    free(y);
}

static void setup(void)
{
    contexts_init(&all);
}
static void teardown(void)
{
    contexts_release(&all);
}

TEST_SUITE(kernel_conv, .setup = setup, .teardown = teardown, .timeout = 300)
