/*
 * kernel_resample_test.c -- interpolation, grids, padding and windows against
 * their definitions.
 */
#include "kernel/resample/resample.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

/* ---- Interpolation ---- */

/* Compare with PyTorch's results for small images. */
static void check_resample(cfx_resample r, const float *x, const float *want,
                           int64_t n)
{
    float y[64];
    double w[64];

    r.dtype = CFX_F32;
    r.planes = 1;
    r.x = x;
    r.y = y;
    for (int64_t i = 0; i < n; i++)
        w[i] = (double)want[i];
    for (int i = 0; i < all.count; i++) {
        void *work = array_scratch(cfx_resample_workspace(all.ctx[i], &r));

        cfx_resample_run(all.ctx[i], &r, work);
        assert_array(CFX_F32, y, w, n, 1e-6, "resample");
        free(work);
    }
}

TEST_CASE(nearest_takes_the_element_at_or_before_the_place)
{
    const float x[] = {0, 1, 2, 3, 4};

    check_resample(
        (cfx_resample){
            .mode = CFX_RESAMPLE_NEAREST, .spatial = 1, .in = {5}, .out = {3}},
        x, (const float[]){0, 1, 3}, 3);
    check_resample((cfx_resample){.mode = CFX_RESAMPLE_NEAREST_EXACT,
                                  .spatial = 1,
                                  .in = {5},
                                  .out = {3}},
                   x, (const float[]){0, 2, 4}, 3);
    check_resample((cfx_resample){.mode = CFX_RESAMPLE_NEAREST,
                                  .spatial = 2,
                                  .in = {1, 2},
                                  .out = {2, 4}},
                   x, (const float[]){0, 0, 1, 1, 0, 0, 1, 1}, 8);
}

TEST_CASE(linear_mixes_neighbours_by_their_distance)
{
    const float x[] = {0, 1, 2, 3};

    check_resample(
        (cfx_resample){
            .mode = CFX_RESAMPLE_LINEAR, .spatial = 1, .in = {2}, .out = {4}},
        x, (const float[]){0, 0.25F, 0.75F, 1}, 4);
    check_resample((cfx_resample){.mode = CFX_RESAMPLE_LINEAR,
                                  .spatial = 1,
                                  .in = {2},
                                  .out = {3},
                                  .align_corners = true},
                   x, (const float[]){0, 0.5F, 1}, 3);
    check_resample((cfx_resample){.mode = CFX_RESAMPLE_LINEAR,
                                  .spatial = 2,
                                  .in = {2, 2},
                                  .out = {3, 3},
                                  .align_corners = true},
                   x, (const float[]){0, 0.5F, 1, 1, 1.5F, 2, 2, 2.5F, 3}, 9);
    /* A factor that is not the ratio of the extents. */
    check_resample((cfx_resample){.mode = CFX_RESAMPLE_LINEAR,
                                  .spatial = 1,
                                  .in = {4},
                                  .out = {2},
                                  .scale = {0.6}},
                   x, (const float[]){1.0F / 3, 2}, 2);
}

/* Weights of 1/2 away: -3/32, 19/32, 19/32, -3/32. */
TEST_CASE(cubic_overshoots_between_neighbours)
{
    const float x[] = {0, 0, 0, 1, 1, 1};

    check_resample(
        (cfx_resample){.mode = CFX_RESAMPLE_CUBIC,
                       .spatial = 2,
                       .in = {1, 6},
                       .out = {1, 11},
                       .align_corners = true},
        x, (const float[]){0, 0, 0, -0.09375F, 0, 0.5F, 1, 1.09375F, 1, 1, 1},
        11);
}

TEST_CASE(antialiased_shrinking_is_a_mean_of_what_vanishes)
{
    const float x[] = {0, 0, 0, 0, 8, 8, 8, 8};

    check_resample((cfx_resample){.mode = CFX_RESAMPLE_LINEAR,
                                  .spatial = 2,
                                  .in = {1, 8},
                                  .out = {1, 2},
                                  .antialias = true},
                   x, (const float[]){8 * 4.0F / 28, 8 * 24.0F / 28}, 2);
}

/* Every mode keeps a constant image what it is, in every type. */
TEST_CASE(constant_images_stay_constant)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_F16, CFX_BF16};

    for (int i = 0; i < 200; i++) {
        dice d = {.key = 8000 + (uint64_t)i};
        cfx_resample r = {.dtype = types[i % 4],
                          .mode = (cfx_resample_mode)(i / 4 % 4),
                          .planes = 3,
                          .spatial = (int)dice_throw(&d, 1, 3),
                          .align_corners = i / 4 % 4 > 1 &&
                                           dice_throw(&d, 0, 1)};
        int64_t in = 3, out = 3;
        cfx_context *ctx = all.ctx[i % all.count];
        void *x, *y, *work;

        if (r.mode == CFX_RESAMPLE_CUBIC)
            r.spatial = 2;
        r.antialias = r.spatial == 2 && dice_throw(&d, 0, 1);
        for (int a = 0; a < r.spatial; a++) {
            in *= r.in[a] = dice_throw(&d, 1, 9);
            out *= r.out[a] = dice_throw(&d, 1, 12);
        }
        x = array_new(r.dtype, in);
        y = array_new(r.dtype, out);
        for (int64_t j = 0; j < in; j++)
            cfx_element_set_double(
                r.dtype, (char *)x + (size_t)j * cfx_dtype_size(r.dtype), 3);
        r.x = x;
        r.y = y;
        work = array_scratch(cfx_resample_workspace(ctx, &r));
        cfx_resample_run(ctx, &r, work);
        for (int64_t j = 0; j < out; j++)
            ck_assert(fabs(array_at(r.dtype, y, j) - 3) <=
                      3 * rounding(r.dtype));
        free(x);
        free(y);
        free(work);
    }
}

/* ---- Grids ---- */

/* A grid that names every element gives the image back, in every mode. */
TEST_CASE(identity_grids_give_the_image_back)
{
    float x[2 * 12], grid[24], y[24];

    for (int i = 0; i < 24; i++)
        x[i] = (float)(i * i % 7);
    for (int h = 0; h < 3; h++)
        for (int w = 0; w < 4; w++) {
            grid[(h * 4 + w) * 2] = (float)w * 2 / 3 - 1;
            grid[(h * 4 + w) * 2 + 1] = (float)h - 1;
        }
    for (int i = 0; i < 9; i++) {
        cfx_grid_sample g = {.dtype = CFX_F32,
                             .mode = (cfx_grid_mode)(i % 3),
                             .padding = (cfx_grid_padding)(i / 3),
                             .align_corners = true,
                             .spatial = 2,
                             .batch = 1,
                             .channels = 2,
                             .in = {3, 4},
                             .out = {3, 4},
                             .x = x,
                             .grid = grid,
                             .y = y};

        cfx_grid_sample_run(all.ctx[i % all.count], &g);
        for (int j = 0; j < 24; j++)
            ck_assert_float_eq_tol(y[j], x[j], 1e-4F);
    }
}

TEST_CASE(places_outside_are_padded_as_asked)
{
    const float x[] = {1, 2, 3, 4};
    const float far[] = {100, 0, NAN, 0, INFINITY, 0, -1.5F, 0};
    static const float want[3][4] = {
        {0, 0, 0, 0}, {4, 1, 4, 1}, {2.5F, 1, 1, 1.5F}};

    for (int i = 0; i < 3; i++) {
        float y[4];
        cfx_grid_sample g = {.dtype = CFX_F32,
                             .mode = CFX_GRID_BILINEAR,
                             .padding = (cfx_grid_padding)i,
                             .spatial = 2,
                             .batch = 1,
                             .channels = 1,
                             .in = {1, 4},
                             .out = {1, 4},
                             .x = x,
                             .grid = far,
                             .y = y};

        cfx_grid_sample_run(all.ctx[0], &g);
        for (int j = 0; j < 4; j++)
            ck_assert_float_eq_tol(y[j], want[i][j], 1e-5F);
    }
}

/* ---- Padding ---- */

static void check_pad(cfx_pad_mode mode, int64_t before, int64_t out,
                      const int32_t *want)
{
    const int32_t x[] = {1, 2, 3, 4}, value = 9;
    const int64_t in = 4;
    int32_t y[16];
    cfx_pad p = {.mode = mode,
                 .size = 4,
                 .rank = 1,
                 .in = &in,
                 .out = &out,
                 .before = &before,
                 .value = &value,
                 .x = x,
                 .y = y};

    cfx_pad_run(all.ctx[0], &p);
    ck_assert_mem_eq(y, want, (size_t)out * 4);
}

TEST_CASE(each_mode_pads_one_axis)
{
    check_pad(CFX_PAD_CONSTANT, 2, 8,
              (const int32_t[]){9, 9, 1, 2, 3, 4, 9, 9});
    check_pad(CFX_PAD_REFLECT, 3, 9,
              (const int32_t[]){4, 3, 2, 1, 2, 3, 4, 3, 2});
    check_pad(CFX_PAD_REPLICATE, 2, 8,
              (const int32_t[]){1, 1, 1, 2, 3, 4, 4, 4});
    check_pad(CFX_PAD_CIRCULAR, 4, 10,
              (const int32_t[]){1, 2, 3, 4, 1, 2, 3, 4, 1, 2});
    check_pad(CFX_PAD_CONSTANT, -1, 2, (const int32_t[]){2, 3});
    check_pad(CFX_PAD_CONSTANT, -5, 2, (const int32_t[]){9, 9});
    check_pad(CFX_PAD_CIRCULAR, -1, 4, (const int32_t[]){2, 3, 4, 2});
}

/* Constant padding of several axes, of every size of element. */
TEST_CASE(constant_padding_surrounds_a_box)
{
    for (int i = 0; i < 100; i++) {
        static const cfx_dtype types[] = {CFX_U8, CFX_I16, CFX_F32, CFX_F64};
        dice d = {.key = 60 + (uint64_t)i};
        cfx_dtype t = types[i % 4];
        size_t size = cfx_dtype_size(t);
        int64_t in[4], out[4], before[4], nx = 1, ny = 1;
        int rank = (int)dice_throw(&d, 1, 4);
        void *x, *y, *value = array_random(&d, t, 1);

        for (int a = 0; a < rank; a++) {
            nx *= in[a] = dice_throw(&d, 0, 9) ? dice_throw(&d, 1, 5) : 0;
            before[a] = dice_throw(&d, -1, 3);
            ny *= out[a] = dice_throw(&d, 1, 8);
        }
        x = array_random(&d, t, nx);
        y = array_new(t, ny);
        cfx_pad_run(all.ctx[i % all.count],
                    &(cfx_pad){.mode = CFX_PAD_CONSTANT,
                               .size = size,
                               .rank = rank,
                               .in = in,
                               .out = out,
                               .before = before,
                               .value = value,
                               .x = x,
                               .y = y});
        for (int64_t j = 0; j < ny; j++) {
            int64_t at = 0, step = 1, o = j;
            bool inside = true;

            for (int a = rank - 1; a >= 0; a--) {
                int64_t k = o % out[a] - before[a];
                inside &= k >= 0 && k < in[a];
                at += k * step;
                step *= in[a];
                o /= out[a];
            }
            ck_assert_mem_eq(
                (char *)y + (size_t)j * size,
                inside ? (char *)x + (size_t)at * size : (char *)value, size);
        }
        free(x);
        free(y);
        free(value);
    }
}

/* ---- Windows as columns ---- */

static double image_at(const cfx_columns *c, const void *x, int64_t plane,
                       const int64_t i[2])
{
    for (int a = 0; a < 2; a++)
        if (i[a] < 0 || i[a] >= c->in[a])
            return 0;
    return array_at(c->dtype, x, (plane * c->in[0] + i[0]) * c->in[1] + i[1]);
}

TEST_CASE(columns_hold_the_windows_and_add_up_to_the_image)
{
    for (int i = 0; i < 100; i++) {
        dice d = {.key = 90 + (uint64_t)i};
        cfx_columns c = {.dtype = i % 2 ? CFX_F32 : CFX_F64,
                         .batch = 2,
                         .channels = dice_throw(&d, 1, 3)};
        int64_t planes, image = 1, taps = 1, windows = 1, n;
        cfx_context *ctx = all.ctx[i % all.count];
        void *x, *y, *back;
        double *sum;

        for (int a = 0; a < 2; a++) {
            taps *= c.kernel[a] = dice_throw(&d, 1, 3);
            c.stride[a] = dice_throw(&d, 1, 3);
            c.pad[a] = dice_throw(&d, 0, 3);
            c.dilation[a] = dice_throw(&d, 1, 2);
            image *= c.in[a] = dice_throw(&d, 5, 9);
            c.out[a] = (c.in[a] + 2 * c.pad[a] -
                        c.dilation[a] * (c.kernel[a] - 1) - 1) /
                           c.stride[a] +
                       1;
            windows *= c.out[a];
        }
        planes = c.batch * c.channels;
        n = planes * taps * windows;
        x = array_random(&d, c.dtype, planes * image);
        y = array_new(c.dtype, n);
        back = array_new(c.dtype, planes * image);
        sum = calloc((size_t)(planes * image), sizeof(*sum));
        ck_assert_ptr_nonnull(sum);
        cfx_im2col(ctx, &c, x, y);
        for (int64_t j = 0; j < n; j++) {
            int64_t w = j % windows, k = j / windows % taps;
            int64_t plane = j / windows / taps, at[2];

            at[0] = w / c.out[1] * c.stride[0] - c.pad[0] +
                    k / c.kernel[1] * c.dilation[0];
            at[1] = w % c.out[1] * c.stride[1] - c.pad[1] +
                    k % c.kernel[1] * c.dilation[1];
            ck_assert(array_at(c.dtype, y, j) == image_at(&c, x, plane, at));
            if (at[0] >= 0 && at[0] < c.in[0] && at[1] >= 0 && at[1] < c.in[1])
                sum[(plane * c.in[0] + at[0]) * c.in[1] + at[1]] += array_at(
                    c.dtype, y, j);
        }
        cfx_col2im(ctx, &c, y, back);
        assert_array(c.dtype, back, sum, planes * image, 1e-6, "col2im");
        free(x);
        free(y);
        free(back);
        free(sum);
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

TEST_SUITE(kernel_resample, .setup = setup, .teardown = teardown,
           .timeout = 300)
