/*
 * kernel_blocked_test.c -- convolutions, pooling and products in blocks of channels
 * against those of row-major arrays.
 */
#include "kernel/blocked/packed.h"

#include <math.h>
#include <stdatomic.h>

#include "base/convert.h"
#include "kernel/partition.h"
#include "kernel/blocked/winograd.h"
#include "kernel/conv/conv_kernel.h"
#include "kernel/gemm/gemm.h"
#include "kernel/pool/pool_kernel.h"
#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

enum { B = CFX_BLOCK };

static int64_t blocks_of(int64_t channels)
{
    return (channels + B - 1) / B;
}

/* ---- Layouts ---- */

/* (outer, channels, inner) with zeros up to whole blocks: (outer, channels / 16,
 * inner, 16). */
static float *to_blocks(const float *x, int64_t outer, int64_t channels,
                        int64_t inner)
{
    int64_t nb = blocks_of(channels);
    float *y = array_new(CFX_F32, outer * nb * inner * B);

    memset(y, 0, (size_t)(outer * nb * inner * B) * sizeof(*y));
    for (int64_t o = 0; o < outer; o++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < inner; i++)
                y[((o * nb + c / B) * inner + i) * B + c % B] =
                    x[(o * channels + c) * inner + i];
    return y;
}

/* w(out, in, taps) as blocks of both; `whole` for a row-major x: of out only. */
static float *pack(const float *w, int64_t out, int64_t in, int64_t taps,
                   bool whole)
{
    float *rows = to_blocks(w, 1, out, in * taps), *y;
    int64_t ob = blocks_of(out), ib = blocks_of(in);

    if (whole)
        return rows;
    y = array_new(CFX_F32, ob * ib * taps * B * B);
    memset(y, 0, (size_t)(ob * ib * taps * B * B) * sizeof(*y));
    for (int64_t o = 0; o < ob; o++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t t = 0; t < taps; t++)
                memcpy(y + (((o * ib + i / B) * taps + t) * B + i % B) * B,
                       rows + ((o * in + i) * taps + t) * B, B * sizeof(*y));
    free(rows);
    return y;
}

/* ---- bfloat16 ---- */

static void round_to_bfloat16(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = cfx_bf16_to_f32(cfx_float_to_bfloat(x[i]));
}

/* Mixed products are for processors without those of pairs; all have them. */
static cfx_blocked_type numbers_of(const cfx_context *ctx, bool pairs,
                                   bool mixed)
{
    return !pairs  ? CFX_BLOCKED_FLOAT
           : mixed ? CFX_BLOCKED_MIXED
                   : cfx_blocked_bfloat16(ctx);
}

/* w(rows, 16), of an even number of rows, as pairs of two rows. */
static float *to_pairs(const float *w, int64_t rows)
{
    float *y = array_new(CFX_F32, rows / 2 * B);
    uint16_t *to = (uint16_t *)(void *)y;

    for (int64_t i = 0; i < rows * B; i++)
        to[(i / B / 2 * B + i % B) * 2 + i / B % 2] = cfx_float_to_bfloat(
            w[i]);
    return y;
}

/* ---- Convolutions ---- */

static float clamped(double v, float lo, float hi)
{
    return v < (double)lo ? lo : v > (double)hi ? hi : (float)v;
}

/* The expected result in blocks: the sums, `add`, the range, and tanh if it is
 * the activation. Channels past the last are 0, within the range. */
static double *expect(const cfx_conv *c, const cfx_blocked_epilogue *e,
                      bool tanh_last)
{
    int64_t out = c->out[0] * c->out[1];
    int64_t n = c->batch * blocks_of(c->out_channels) * out * B;
    float *y = array_new(CFX_F32, c->batch * c->out_channels * out), *blocked;
    double *want = array_new(CFX_F64, n);
    cfx_conv plain = *c;
    void *work = array_scratch(cfx_conv_workspace(all.ctx[0], c));

    plain.y = y;
    cfx_conv_run(all.ctx[0], &plain, work);
    blocked = to_blocks(y, c->batch, c->out_channels, out);
    for (int64_t i = 0; i < n; i++)
        want[i] = (double)clamped((double)blocked[i] +
                                      (e->add ? (double)e->add[i] : 0),
                                  e->lo, e->hi);
    for (int64_t i = 0; i < n && tanh_last; i++)
        want[i] = tanh(want[i]);
    free(work);
    free(blocked);
    free(y);
    return want;
}

static void run_one(cfx_context *ctx, const cfx_blocked_conv *c)
{
    void *work = array_scratch(cfx_blocked_conv_workspace(c));

    cfx_blocked_conv_run(ctx, c, work);
    free(work);
}

static void check(dice *d, cfx_conv *c, const char *what)
{
    bool depthwise = c->groups > 1 && c->groups == c->in_channels;
    bool plain = c->groups == 1 && dice_throw(d, 0, 2) == 0;
    int64_t in = c->in[0] * c->in[1], out = c->out[0] * c->out[1];
    int64_t taps = c->kernel[0] * c->kernel[1],
            group = c->in_channels / c->groups;
    float *x = array_random(d, CFX_F32, c->batch * c->in_channels * in);
    float *w = array_random(d, CFX_F32, c->out_channels * group * taps);
    float *bias = array_random(d, CFX_F32, c->out_channels);
    bool pairs = !plain && !depthwise && dice_throw(d, 0, 1);
    bool mixed = dice_throw(d, 0, 1);
    if (pairs) {
        round_to_bfloat16(x, c->batch * c->in_channels * in);
        round_to_bfloat16(w, c->out_channels * group * taps);
    }
    float *xb = to_blocks(x, c->batch, c->in_channels, in);
    float *wb = pack(w, c->out_channels, group, taps, plain || depthwise);
    float *bias_b = to_blocks(bias, 1, c->out_channels, 1);
    int64_t nb = blocks_of(c->out_channels), n = c->batch * nb * out * B;
    float *wp = pairs ? to_pairs(wb, nb * blocks_of(group) * taps * B) : wb;
    float *add = array_random(d, CFX_F32, n), *y = array_new(CFX_F32, n);
    float *last = array_new(CFX_F32, n);
    size_t size = (size_t)n * sizeof(*y);
    cfx_blocked_conv b = {.batch = c->batch,
                          .groups = depthwise ? 1 : c->groups,
                          .in_channels = plain ? c->in_channels : 0,
                          .in_blocks = blocks_of(c->in_channels),
                          .out_blocks = nb,
                          .x = plain ? x : xb,
                          .w = wp,
                          .end = {.lo = -INFINITY, .hi = INFINITY},
                          .y = y};

    for (int a = 0; a < 2; a++) {
        b.in[a] = c->in[a];
        b.out[a] = c->out[a];
        b.kernel[a] = c->kernel[a];
        b.stride[a] = c->stride[a];
        b.pad[a] = c->pad[a];
        b.dilation[a] = c->dilation[a];
    }
    c->x = x;
    c->w = w;
    c->bias = NULL;
    if (dice_throw(d, 0, 1)) {
        c->bias = bias;
        b.end.bias = bias_b;
    }
    b.end.add = dice_throw(d, 0, 1) ? add : NULL;
    if (dice_throw(d, 0, 1)) {
        b.end.lo = 0;
        b.end.hi = dice_throw(d, 0, 1) ? 6 : INFINITY;
    }
    const double params[3] = {0};
    bool activated = dice_throw(d, 0, 2) == 0;
    double *want = expect(c, &b.end, activated);
    for (int i = 0; i < all.count; i++) {
        if (activated)
            b.end.activation = cfx_pointwise_loop(all.ctx[i], CFX_C_F32,
                                                  CFX_PW_TANH);
        b.end.params = params;
        b.type = numbers_of(all.ctx[i], pairs, mixed);
        memset(y, 0xff, size);
        if (depthwise)
            cfx_blocked_depthwise(all.ctx[i], &b);
        else
            run_one(all.ctx[i], &b);
        assert_array(CFX_F32, y, want, n, rounding(CFX_F32), what);
        if (same_level(&all, i))
            assert_same_bits(y, last, size, what);
        memcpy(last, y, size);
    }
    free(x);
    free(w);
    free(bias);
    free(xb);
    if (pairs)
        free(wp);
    free(wb);
    free(bias_b);
    free(add);
    free(y);
    free(last);
    free(want);
}

static void random_axis(dice *d, cfx_conv *c, int a)
{
    int64_t reach, large;

    c->kernel[a] = dice_throw(d, 0, 2) ? dice_throw(d, 1, 5) : 1;
    c->stride[a] = dice_throw(d, 0, 1) ? dice_throw(d, 1, 3) : 1;
    c->dilation[a] = dice_throw(d, 0, 2) ? 1 : dice_throw(d, 1, 3);
    c->pad[a] = dice_throw(d, 0, 2) ? dice_throw(d, 0, 2)
                                    : dice_throw(d, 0, 6);
    reach = (c->kernel[a] - 1) * c->dilation[a] + 1;
    large = dice_throw(d, reach > 2 * c->pad[a] ? reach - 2 * c->pad[a] : 1,
                       40);
    c->in[a] = large;
    c->out[a] = (large + 2 * c->pad[a] - reach) / c->stride[a] + 1;
    c->out[a] += dice_throw(d, 0, 8) == 0;
}

typedef enum kind { DENSE, GROUPS, DEPTHWISE } kind;

static void check_random(int count, kind of)
{
    for (int i = 0; i < count; i++) {
        dice d = {.key = 9000 + (uint64_t)i * 64 + (of == DEPTHWISE)};
        cfx_conv c = {.dtype = CFX_F32, .spatial = 2, .groups = 1};
        char what[200];

        c.batch = dice_throw(&d, 0, 12) ? dice_throw(&d, 1, 3) : 0;
        c.in_channels = dice_throw(&d, 1, 70);
        c.out_channels = dice_throw(&d, 1, 100);
        if (of == GROUPS) { /* of whole blocks */
            c.groups = dice_throw(&d, 2, 4);
            c.in_channels = c.groups * B * dice_throw(&d, 1, 2);
            c.out_channels = c.groups * B * dice_throw(&d, 1, 5);
        }
        if (of == DEPTHWISE)
            c.out_channels = c.groups = c.in_channels = dice_throw(&d, 2, 40);
        random_axis(&d, &c, 0);
        random_axis(&d, &c, 1);
        snprintf(what, sizeof(what),
                 "case %d: %lld to %lld channels, %lldx%lld to %lldx%lld", i,
                 (long long)c.in_channels, (long long)c.out_channels,
                 (long long)c.in[0], (long long)c.in[1], (long long)c.out[0],
                 (long long)c.out[1]);
        check(&d, &c, what);
    }
}

TEST_CASE(blocked_convolutions_agree_with_row_major_ones)
{
    check_random(200, DENSE);
}

TEST_CASE(groups_of_blocks_agree_with_row_major_ones)
{
    check_random(60, GROUPS);
}

TEST_CASE(blocked_depthwise_convolutions_agree_with_row_major_ones)
{
    check_random(150, DEPTHWISE);
}

/* ---- Pooling ---- */

static void random_window(dice *d, cfx_blocked_conv *b, int a)
{
    int64_t reach;

    b->kernel[a] = dice_throw(d, 1, 5);
    b->stride[a] = dice_throw(d, 1, 3);
    b->pad[a] = dice_throw(d, 0, (int)b->kernel[a] / 2);
    b->dilation[a] = 1;
    reach = b->kernel[a] - 2 * b->pad[a];
    b->in[a] = dice_throw(d, reach > 1 ? (int)reach : 1, 40);
    b->out[a] = (b->in[a] - reach) / b->stride[a] + 1;
    /* one more as ceil_mode has, if it begins in the image */
    if (b->out[a] * b->stride[a] < b->in[a] + b->pad[a] &&
        (b->in[a] - reach) % b->stride[a])
        b->out[a] += dice_throw(d, 0, 1);
}

static void check_pool(dice *d, bool mean, const char *what)
{
    cfx_blocked_conv b = {.batch = dice_throw(d, 1, 2),
                          .in_blocks = dice_throw(d, 1, 3)};
    int64_t planes = b.batch * b.in_blocks * B, in, out;
    bool count = dice_throw(d, 0, 1);
    int64_t divisor = dice_throw(d, 0, 3) ? 0 : dice_throw(d, 1, 9);

    b.out_blocks = b.in_blocks;
    random_window(d, &b, 0);
    random_window(d, &b, 1);
    in = b.in[0] * b.in[1];
    out = b.out[0] * b.out[1];
    float *x = array_random(d, CFX_F32, planes * in);
    float *y = array_new(CFX_F32, planes * out);
    double *want = array_new(CFX_F64, planes * out);
    float *blocked, *to = array_new(CFX_F32, planes * out);
    cfx_pool p = {.dtype = CFX_F32,
                  .spatial = 2,
                  .planes = planes,
                  .x = x,
                  .y = y,
                  .count_include_pad = count,
                  .divisor = divisor};

    for (int a = 0; a < 2; a++) {
        p.in[a] = b.in[a];
        p.out[a] = b.out[a];
        p.kernel[a] = b.kernel[a];
        p.stride[a] = b.stride[a];
        p.pad[a] = b.pad[a];
        p.dilation[a] = 1;
    }
    if (!mean)
        x[dice_throw(d, 0, (int)(planes * in) - 1)] = NAN;
    (mean ? cfx_avg_pool : cfx_max_pool)(all.ctx[0], &p);
    blocked = to_blocks(y, b.batch, b.in_blocks * B, out);
    for (int64_t i = 0; i < planes * out; i++)
        want[i] = (double)blocked[i];
    b.x = to_blocks(x, b.batch, b.in_blocks * B, in);
    b.y = to;
    for (int i = 0; i < all.count; i++) {
        memset(to, 0xff, (size_t)(planes * out) * sizeof(*to));
        if (mean)
            cfx_blocked_avg_pool(all.ctx[i], &b, count, divisor);
        else
            cfx_blocked_max_pool(all.ctx[i], &b);
        assert_array(CFX_F32, to, want, planes * out, rounding(CFX_F32), what);
    }
    free((void *)b.x);
    free(blocked);
    free(x);
    free(y);
    free(to);
    free(want);
}

TEST_CASE(blocked_pooling_agrees_with_row_major_pooling)
{
    for (int i = 0; i < 120; i++) {
        dice d = {.key = 77000 + (uint64_t)i * 64};
        char what[40];

        snprintf(what, sizeof(what), "case %d", i);
        check_pool(&d, i % 2, what);
    }
}

/* ---- Products ---- */

/* x w + bias + add within the range, by the plain level. */
static double *expect_product(const cfx_packed_product *p, const float *w)
{
    int64_t n = p->rows * p->columns;
    float *y = array_new(CFX_F32, n);
    double *want = array_new(CFX_F64, n);
    cfx_gemm g = {.dtype = CFX_F32,
                  .m = p->rows,
                  .n = p->columns,
                  .k = p->depth,
                  .a = p->x,
                  .a_row = p->depth,
                  .a_col = 1,
                  .b = w,
                  .b_row = 1,
                  .b_col = p->depth,
                  .bias = p->end.bias,
                  .c = y,
                  .c_row = p->columns};
    void *work = array_scratch(cfx_gemm_workspace(all.ctx[0], &g));

    cfx_gemm_run(all.ctx[0], &g, work);
    for (int64_t i = 0; i < n; i++)
        want[i] = (double)clamped((double)y[i] +
                                      (p->end.add ? (double)p->end.add[i] : 0),
                                  p->end.lo, p->end.hi);
    free(work);
    free(y);
    return want;
}

static void run_product(cfx_context *ctx, const cfx_packed_product *p)
{
    void *work = array_scratch(cfx_packed_workspace(p));

    cfx_packed_run(ctx, p, work);
    free(work);
}

static void check_product(dice *d, cfx_packed_product *p, const char *what)
{
    int64_t n = p->rows * p->columns;
    float *x = array_random(d, CFX_F32, p->rows * p->depth);
    float *w = array_random(d, CFX_F32, p->columns * p->depth);
    bool pairs = p->depth % 2 == 0 && dice_throw(d, 0, 1);
    bool mixed = dice_throw(d, 0, 1);
    if (pairs) {
        round_to_bfloat16(x, p->rows * p->depth);
        round_to_bfloat16(w, p->columns * p->depth);
    }
    float *rows = to_blocks(w, 1, p->columns, p->depth);
    float *packed = pairs ? to_pairs(rows, blocks_of(p->columns) * p->depth)
                          : rows;
    float *bias = array_random(d, CFX_F32, p->columns);
    float *add = array_random(d, CFX_F32, n), *y = array_new(CFX_F32, n);
    float *last = array_new(CFX_F32, n);
    size_t size = (size_t)n * sizeof(*y);
    const double params[3] = {0};

    p->x = x;
    p->w = packed;
    p->y = y;
    p->end = (cfx_blocked_epilogue){.bias = dice_throw(d, 0, 1) ? bias : NULL,
                                    .add = dice_throw(d, 0, 1) ? add : NULL,
                                    .lo = dice_throw(d, 0, 2) ? -INFINITY : 0,
                                    .hi = dice_throw(d, 0, 2) ? INFINITY : 6,
                                    .params = params};
    double *want = expect_product(p, w);
    bool activated = dice_throw(d, 0, 2) == 0;
    for (int64_t i = 0; i < n && activated; i++)
        want[i] = tanh(want[i]);
    bool in_place = p->end.add && dice_throw(d, 0, 1);
    for (int i = 0; i < all.count; i++) {
        if (activated)
            p->end.activation = cfx_pointwise_loop(all.ctx[i], CFX_C_F32,
                                                   CFX_PW_TANH);
        memset(y, 0xff, size);
        if (in_place) {
            memcpy(y, add, size);
            p->end.add = y;
        }
        p->type = numbers_of(all.ctx[i], pairs, mixed);
        run_product(all.ctx[i], p);
        assert_array(CFX_F32, y, want, n, rounding(CFX_F32), what);
        if (same_level(&all, i))
            assert_same_bits(y, last, size, what);
        memcpy(last, y, size);
    }
    free(x);
    free(w);
    if (pairs)
        free(packed);
    free(rows);
    free(bias);
    free(add);
    free(y);
    free(last);
    free(want);
}

TEST_CASE(packed_products_agree_with_row_major_ones)
{
    for (int i = 0; i < 200; i++) {
        dice d = {.key = 70000 + (uint64_t)i * 64};
        bool deep = dice_throw(&d, 0, 4) == 0,
             tall = dice_throw(&d, 0, 3) == 0;
        cfx_packed_product p = {
            .rows = tall ? dice_throw(&d, 100, 300) : dice_throw(&d, 1, 20),
            .columns = dice_throw(&d, 1, 150),
            .depth = deep ? dice_throw(&d, 700, 2400) : dice_throw(&d, 1, 60),
            .groups = 1};
        char what[100];

        snprintf(what, sizeof(what), "case %d: %lldx%lldx%lld", i,
                 (long long)p.rows, (long long)p.columns, (long long)p.depth);
        check_product(&d, &p, what);
    }
}

/* ---- Products with integers ---- */

/* Integers w(columns, depth) in 4 or 8 bits, as packed.h tells. */
static void *to_integers(const float *w, const cfx_packed_product *p)
{
    bool half = p->type == CFX_BLOCKED_INT4;
    int64_t together = half ? 8 : 4, words = p->depth / together;
    int64_t size = blocks_of(p->columns) * words * B * 4;
    uint8_t *to = array_new(CFX_U8, size);

    memset(to, half ? 0x88 : 0, (size_t)size);
    for (int64_t c = 0; c < p->columns; c++)
        for (int64_t k = 0; k < p->depth; k++) {
            int64_t in = k % together;
            int64_t at = ((c / B * words + k / together) * B + c % B) * 4;
            int q = (int)w[c * p->depth + k];
            if (half)
                to[at + in / 2] = (uint8_t)(in % 2 ? (to[at + in / 2] & 15) |
                                                         (q + 8) << 4
                                                   : (to[at + in / 2] & 240) |
                                                         (q + 8));
            else
                to[at + in] = (uint8_t)(int8_t)q;
        }
    return to;
}

/* Scales (blocks, groups, 16), by which w is multiplied. */
static float *to_scaled(dice *d, float *w, const cfx_packed_product *p)
{
    float *scale = array_random(d, CFX_F32,
                                blocks_of(p->columns) * p->groups * B);
    int64_t each = p->depth / p->groups;

    for (int64_t c = 0; c < p->columns; c++)
        for (int64_t k = 0; k < p->depth; k++)
            w[c * p->depth + k] *=
                scale[(c / B * p->groups + k / each) * B + c % B];
    return scale;
}

static void check_integers(dice *d, cfx_packed_product *p, const char *what)
{
    int64_t n = p->rows * p->columns;
    int most = p->type == CFX_BLOCKED_INT4 ? 7 : 127;
    float *x = array_random(d, CFX_F32, p->rows * p->depth);
    float *w = array_new(CFX_F32, p->columns * p->depth);
    float *add = array_random(d, CFX_F32, n);
    float *bias = array_random(d, CFX_F32, p->columns);
    float *y = array_new(CFX_F32, n), *last = array_new(CFX_F32, n);

    for (int64_t i = 0; i < p->columns * p->depth; i++)
        w[i] = (float)dice_throw(d, -most - 1, most);
    void *packed = to_integers(w, p);
    float *scale = to_scaled(d, w, p);
    p->x = x;
    p->y = y;
    p->end = (cfx_blocked_epilogue){.bias = dice_throw(d, 0, 1) ? bias : NULL,
                                    .add = dice_throw(d, 0, 1) ? add : NULL,
                                    .lo = dice_throw(d, 0, 1) ? -INFINITY : -9,
                                    .hi = INFINITY};
    double *want = expect_product(p, w);
    p->w = packed;
    p->end.scale = scale;
    for (int i = 0; i < all.count; i++) {
        memset(y, 0xff, (size_t)n * sizeof(*y));
        run_product(all.ctx[i], p);
        /* Sums of up to 1000 products of up to 128 by 1 by 1. */
        for (int64_t j = 0; j < n; j++)
            assert_each_msg(fabs((double)y[j] - want[j]) <= 1e-6 * most * 1000,
                            "%s: %g, not %g", what, (double)y[j], want[j]);
        if (same_level(&all, i))
            assert_same_bits(y, last, (size_t)n * sizeof(*y), what);
        memcpy(last, y, (size_t)n * sizeof(*y));
    }
    free(x);
    free(w);
    free(add);
    free(bias);
    free(y);
    free(last);
    free(packed);
    free(scale);
    free(want);
}

TEST_CASE(packed_integers_agree_with_the_products_that_they_stand_for)
{
    for (int i = 0; i < 120; i++) {
        dice d = {.key = 91000 + (uint64_t)i * 64};
        bool tall = dice_throw(&d, 0, 3) == 0;
        int64_t groups = dice_throw(&d, 0, 2) ? 1 : dice_throw(&d, 2, 9);
        int64_t words = dice_throw(&d, 1, groups == 1 ? 90 : 9);
        bool half = i % 2;
        cfx_packed_product p = {
            .rows = tall ? dice_throw(&d, 100, 300) : dice_throw(&d, 1, 20),
            .columns = dice_throw(&d, 1, 150),
            .depth = groups * words * (half ? 8 : 4),
            .groups = groups,
            .type = half ? CFX_BLOCKED_INT4 : CFX_BLOCKED_INT8};
        char what[100];

        snprintf(what, sizeof(what), "case %d: %lldx%lldx%lld, %lld groups", i,
                 (long long)p.rows, (long long)p.columns, (long long)p.depth,
                 (long long)p.groups);
        check_integers(&d, &p, what);
    }
}

/* ---- Winograd ---- */

/* u = G g G^T of 3x3 weights, for the points of kernel/conv/winograd_1d.h. */
static void transform_weights(float u[36], const float g[9])
{
    static const double point[] = {0, 0.75, -0.75, 1.5, -1.5};
    double row[6][3] = {[5] = {0, 0, 1}};

    for (int i = 0; i < 5; i++) {
        double by = 1;
        for (int k = 0; k < 5; k++)
            by *= k == i ? 1 : point[i] - point[k];
        for (int j = 0; j < 3; j++)
            row[i][j] = (j ? row[i][j - 1] * point[i] : 1 / by);
    }
    for (int e = 0; e < 36; e++) {
        double sum = 0;
        for (int k = 0; k < 9; k++)
            sum += row[e / 6][k / 3] * row[e % 6][k % 3] * (double)g[k];
        u[e] = (float)sum;
    }
}

static float *pack_winograd(const float *w, int64_t out, int64_t in)
{
    int64_t ob = blocks_of(out), ib = blocks_of(in), size = ob * ib * B * B;
    float *y = array_new(CFX_F32, 36 * size), u[36];

    memset(y, 0, (size_t)(36 * size) * sizeof(*y));
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++) {
            int64_t at = ((o / B * ib + i / B) * B + i % B) * B + o % B;
            transform_weights(u, w + (o * in + i) * 9);
            for (int e = 0; e < 36; e++)
                y[e * size + at] = u[e];
        }
    return y;
}

static void run_winograd(cfx_context *ctx, const cfx_blocked_winograd *c)
{
    void *work = array_scratch(cfx_blocked_winograd_workspace(ctx, c));

    cfx_blocked_winograd_run(ctx, c, work);
    free(work);
}

static void check_winograd(dice *d, cfx_conv *c, const char *what)
{
    int64_t in = c->in[0] * c->in[1], out = c->out[0] * c->out[1];
    float *x = array_random(d, CFX_F32, c->batch * c->in_channels * in);
    float *w = array_random(d, CFX_F32, c->out_channels * c->in_channels * 9);
    float *bias = array_random(d, CFX_F32, c->out_channels);
    float *xb = to_blocks(x, c->batch, c->in_channels, in);
    float *wb = pack_winograd(w, c->out_channels, c->in_channels);
    float *bias_b = to_blocks(bias, 1, c->out_channels, 1);
    int64_t nb = blocks_of(c->out_channels), n = c->batch * nb * out * B;
    float *add = array_random(d, CFX_F32, n), *y = array_new(CFX_F32, n);
    float *last = array_new(CFX_F32, n);
    size_t size = (size_t)n * sizeof(*y);
    cfx_blocked_winograd b = {
        .batch = c->batch,
        .in_blocks = blocks_of(c->in_channels),
        .out_blocks = nb,
        .in = {c->in[0], c->in[1]},
        .out = {c->out[0], c->out[1]},
        .pad = {c->pad[0], c->pad[1]},
        .x = xb,
        .w = wb,
        .end = {.bias = bias_b, .add = add, .lo = -1, .hi = 40},
        .y = y};

    c->x = x;
    c->w = w;
    c->bias = bias;
    double *want = expect(c, &b.end, false);
    for (int i = 0; i < all.count; i++) {
        memset(y, 0xff, size);
        run_winograd(all.ctx[i], &b);
        assert_array(CFX_F32, y, want, n, 1e-5, what);
        if (same_level(&all, i))
            assert_same_bits(y, last, size, what);
        memcpy(last, y, size);
    }
    free(x);
    free(w);
    free(bias);
    free(xb);
    free(wb);
    free(bias_b);
    free(add);
    free(y);
    free(last);
    free(want);
}

TEST_CASE(blocked_winograd_convolutions_agree_with_row_major_ones)
{
    for (int i = 0; i < 60; i++) {
        dice d = {.key = 70000 + (uint64_t)i * 64};
        cfx_conv c = {.dtype = CFX_F32, .spatial = 2, .groups = 1};
        char what[100];

        c.batch = dice_throw(&d, 0, 12) ? dice_throw(&d, 1, 3) : 0;
        c.in_channels = dice_throw(&d, 1, 70);
        c.out_channels = dice_throw(&d, 1, 100);
        for (int a = 0; a < 2; a++) {
            c.kernel[a] = 3;
            c.stride[a] = c.dilation[a] = 1;
            c.pad[a] = dice_throw(&d, 0, 3);
            c.in[a] = dice_throw(&d, c.pad[a] ? 1 : 3, 30);
            c.out[a] = c.in[a] + 2 * c.pad[a] - 2;
        }
        snprintf(what, sizeof(what), "case %d: %lldx%lld to %lldx%lld", i,
                 (long long)c.in[0], (long long)c.in[1], (long long)c.out[0],
                 (long long)c.out[1]);
        check_winograd(&d, &c, what);
    }
}

/* ---- Rows over threads ---- */

/* How often each row of `planes` was computed. */
typedef struct rows_seen {
    cfx_blocked_planes planes;
    _Atomic(int) times[4 * 5 * 64];
} rows_seen;

static void see_rows(void *arg, int64_t plane, int64_t from, int64_t to,
                     int worker)
{
    rows_seen *s = arg;

    (void)worker;
    ck_assert_int_lt(from, to);
    for (int64_t i = from; i < to; i++)
        s->times[plane * s->planes.rows + i]++;
}

TEST_CASE(each_row_of_each_plane_is_computed_once)
{
    static rows_seen s;

    for (int threads = 1; threads <= 9; threads += 1 + threads / 3) {
        const cfx_options o = {.size = sizeof(o), .threads = threads};
        cfx_context *ctx;
        cfx_error err = {0};
        ck_assert(!cfx_context_new(&ctx, &o, &err));
        for (int i = 0; i < 4 * 5 * 64; i++) {
            cfx_blocked_planes p = {i % 4, i / 4 % 5, i / 20};
            memset(&s, 0, sizeof(s));
            s.planes = p;
            cfx_blocked_for_rows(ctx, p, 1 + i % 90, see_rows, &s);
            for (int64_t k = 0; k < 4 * 5 * 64; k++)
                assert_each_eq(s.times[k], k < p.images * p.blocks * p.rows);
        }
        cfx_context_free(ctx);
    }
}

TEST_CASE(chunks_are_even)
{
    for (int64_t rows = 1; rows < 80; rows++) {
        for (int64_t n = 1; n <= rows; n++) {
            const cfx_partition p = {.images = 1,
                                     .rows = rows,
                                     .units = 1,
                                     .group = 1,
                                     .groups = 1,
                                     .chunks = n};
            int64_t next = 0;
            for (int64_t i = 0; i < cfx_partition_tasks(&p); i++) {
                cfx_task a = cfx_task_at(&p, i);
                int64_t len = a.to - a.from;
                assert_each(a.from == next);
                assert_each(len == rows / n || len == rows / n + 1);
                next = a.to;
            }
            ck_assert_int_eq(next, rows);
        }
    }
    ck_assert_int_eq(cfx_even_chunks(3, 14, 3, 2), 4);
    ck_assert_int_eq(cfx_even_chunks(3, 14, 4, 2), 3);
    ck_assert_int_eq(cfx_even_chunks(3, 14, 4, 16), 4);
    ck_assert_int_eq(cfx_even_chunks(1, 1, 5, 2), 1);
    ck_assert_int_eq(cfx_even_chunks(1, 7, 101, 7), 1);
}

static void setup(void)
{
    contexts_init(&all);
}

static void teardown(void)
{
    contexts_release(&all);
}

TEST_SUITE(kernel_blocked, .setup = setup, .teardown = teardown,
           .timeout = 300)
