/*
 * kernel_quantized_test.c -- products of uint8 with int8 against plain sums: every
 * level, number of threads and kind of tile gives the same bits.
 */
#include "base/context_impl.h"
#include "kernel/blocked/quantized.h"

#include <math.h>

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

enum { B = CFX_BLOCK };

/* ---- Data ---- */

static void *random_bytes(dice *d, int64_t n)
{
    uint8_t *x = array_new(CFX_U8, n);

    for (int64_t i = 0; i < n; i++)
        x[i] = (uint8_t)dice_throw(d, 0, 255);
    return x;
}

/* Offsets, scales and biases of blocks, and what is done with them. */
static cfx_quantized_end random_end(dice *d, int64_t blocks, int64_t depth)
{
    int64_t n = blocks * B;
    int32_t *offset = array_new(CFX_I32, n);
    float *scale = array_new(CFX_F32, n);
    cfx_quantized_end e = {
        .offset = offset,
        .scale = scale,
        .bias = dice_throw(d, 0, 3) ? array_random(d, CFX_F32, n) : NULL,
        .lo = -INFINITY,
        .hi = INFINITY,
        .rounds = dice_throw(d, 0, 2) > 0};

    for (int64_t i = 0; i < n; i++) {
        offset[i] = (int32_t)(dice_throw(d, -9000, 9000) * (depth + 1));
        scale[i] = (float)dice_throw(d, 1, 1000) /
                   (float)(20000 * (depth + 1));
    }
    if (e.rounds) {
        e.zero_point = (int)dice_throw(d, 0, 255);
        e.lo = (float)-e.zero_point;
        e.hi = (float)(255 - e.zero_point);
    }
    if (dice_throw(d, 0, 1))
        e.lo = 0;
    if (dice_throw(d, 0, 3) == 0)
        e.hi = e.rounds ? (float)dice_throw(d, 0, 255) - (float)e.zero_point
                        : 1;
    /* Results that do not fit into int32 are clamped, too. */
    if (dice_throw(d, 0, 5) == 0)
        scale[dice_throw(d, 0, n - 1)] = 0x1p20F;
    return e;
}

static void free_end(cfx_quantized_end *e)
{
    free((void *)(uintptr_t)e->offset);
    free((void *)(uintptr_t)e->scale);
    free((void *)(uintptr_t)e->bias);
}

/* The result of a sum of channel c, into y[at]. */
static void finish(const cfx_quantized_end *e, int64_t c, int64_t sum, void *y,
                   int64_t at)
{
    float v = fmaf((float)(sum + e->offset[c]), e->scale[c],
                   e->bias ? e->bias[c] : 0);

    v = fminf(fmaxf(v, e->lo), e->hi);
    if (e->rounds)
        ((uint8_t *)y)[at] = (uint8_t)((int)rintf(v) + e->zero_point);
    else
        ((float *)y)[at] = v;
}

static size_t result_size(const cfx_quantized_end *e, int64_t n)
{
    return (size_t)n * (e->rounds ? 1 : sizeof(float));
}

/* ---- Convolutions ---- */

static int64_t sum_at(const cfx_quantized_conv *c, int64_t n, int64_t o,
                      const int64_t at[2])
{
    int64_t sum = 0, quads = c->channels / CFX_QUAD;

    for (int64_t i = 0; i < c->in_blocks; i++)
        for (int64_t p = 0; p < c->kernel[0]; p++)
            for (int64_t q = 0; q < c->kernel[1]; q++)
                for (int64_t k = 0; k < c->channels; k++) {
                    int64_t y = at[0] * c->stride[0] - c->pad[0] +
                                p * c->dilation[0];
                    int64_t x = at[1] * c->stride[1] - c->pad[1] +
                                q * c->dilation[1];
                    bool in = y >= 0 && y < c->in[0] && x >= 0 && x < c->in[1];
                    int64_t w = (o / B * c->in_blocks + i) * c->kernel[0] + p;
                    w = (w * c->kernel[1] + q) * quads + k / CFX_QUAD;
                    w = (w * B + o % B) * CFX_QUAD + k % CFX_QUAD;
                    int64_t from = (n * c->in_blocks + i) * c->in[0] + y;
                    from = (from * c->in[1] + x) * c->channels + k;
                    sum += (in ? c->x[from] : c->x_zero_point) *
                           (int64_t)c->w[w];
                }
    return sum;
}

static void expect(const cfx_quantized_conv *c, void *want)
{
    int64_t at[2], to = 0;

    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t o = 0; o < c->out_blocks; o++)
            for (at[0] = 0; at[0] < c->out[0]; at[0]++)
                for (at[1] = 0; at[1] < c->out[1]; at[1]++)
                    for (int64_t k = 0; k < B; k++)
                        finish(&c->end, o * B + k, sum_at(c, n, o * B + k, at),
                               want, to++);
}

static void check_conv(dice *d, cfx_quantized_conv *c, const char *what)
{
    int64_t depth = c->in_blocks * c->kernel[0] * c->kernel[1] * c->channels;
    int64_t n = c->batch * c->out_blocks * c->out[0] * c->out[1] * B;
    void *x = random_bytes(d, c->batch * c->in_blocks * c->in[0] * c->in[1] *
                                  c->channels);
    void *w = random_bytes(d, c->out_blocks * B * depth);

    c->x = x;
    c->w = w;
    c->end = random_end(d, c->out_blocks, depth);
    size_t size = result_size(&c->end, n);
    void *want = array_new(CFX_U8, (int64_t)size),
         *y = array_new(CFX_U8, (int64_t)size);
    expect(c, want);
    for (int i = 0; i < all.count; i++) {
        void *work = array_scratch(
            cfx_quantized_conv_workspace(all.ctx[i], c));
        memset(y, 0xff, size);
        c->y = y;
        cfx_quantized_conv_run(all.ctx[i], c, work);
        assert_same_bits(y, want, size, what);
        free(work);
    }
    free_end(&c->end);
    free(x);
    free(w);
    free(want);
    free(y);
}

TEST_CASE(quantized_convolutions_are_exact)
{
    for (int i = 0; i < 120; i++) {
        dice d = {.key = 81000 + (uint64_t)i * 64};
        cfx_quantized_conv c = {.batch = dice_throw(&d, 1, 2)};
        char what[100];

        c.in_blocks = dice_throw(&d, 0, 3);
        c.out_blocks = dice_throw(&d, 1, 7);
        c.channels = CFX_QUAD * dice_throw(&d, 1, 4);
        c.x_zero_point = (uint8_t)dice_throw(&d, 0, 255);
        for (int a = 0; a < 2; a++) {
            c.kernel[a] = dice_throw(&d, 1, 3);
            c.stride[a] = dice_throw(&d, 1, 2);
            c.dilation[a] = dice_throw(&d, 1, 2);
            c.pad[a] = dice_throw(&d, 0, 2);
            c.out[a] = dice_throw(&d, 1, 17);
            c.in[a] = (c.out[a] - 1) * c.stride[a] +
                      (c.kernel[a] - 1) * c.dilation[a] + 1 - 2 * c.pad[a];
            if (c.in[a] < 1)
                c.in[a] = c.pad[a] = 1;
            c.out[a] = (c.in[a] + 2 * c.pad[a] -
                        (c.kernel[a] - 1) * c.dilation[a] - 1) /
                           c.stride[a] +
                       1;
            if (c.in[a] + 2 * c.pad[a] <= (c.kernel[a] - 1) * c.dilation[a])
                c.kernel[a] = c.out[a] = c.in[a] = c.stride[a] = 1,
                c.pad[a] = 0;
        }
        snprintf(what, sizeof(what), "case %d: %lldx%lld to %lldx%lld", i,
                 (long long)c.in[0], (long long)c.in[1], (long long)c.out[0],
                 (long long)c.out[1]);
        check_conv(&d, &c, what);
    }
}

/* ---- Filters of one channel ---- */

static void expect_depthwise(const cfx_quantized_conv *c, void *want)
{
    int64_t to = 0, taps = c->kernel[0] * c->kernel[1];

    for (int64_t i = 0; i < c->batch * c->out_blocks; i++)
        for (int64_t o = 0; o < c->out[0] * c->out[1]; o++)
            for (int64_t k = 0; k < B; k++) {
                int64_t block = i % c->out_blocks, sum = 0;
                for (int64_t t = 0; t < taps; t++) {
                    int64_t y = o / c->out[1] * c->stride[0] - c->pad[0] +
                                t / c->kernel[1] * c->dilation[0];
                    int64_t x = o % c->out[1] * c->stride[1] - c->pad[1] +
                                t % c->kernel[1] * c->dilation[1];
                    bool in = y >= 0 && y < c->in[0] && x >= 0 && x < c->in[1];
                    int64_t at = ((i * c->in[0] + y) * c->in[1] + x) * B + k;
                    sum += (in ? c->x[at] : c->x_zero_point) *
                           (int64_t)c->w[(block * taps + t) * B + k];
                }
                finish(&c->end, block * B + k, sum, want, to++);
            }
}

TEST_CASE(quantized_filters_of_one_channel_are_exact)
{
    for (int i = 0; i < 120; i++) {
        dice d = {.key = 105000 + (uint64_t)i * 64};
        cfx_quantized_conv c = {.batch = dice_throw(&d, 1, 2), .channels = B};
        char what[100];

        c.in_blocks = c.out_blocks = dice_throw(&d, 1, 3);
        c.x_zero_point = (uint8_t)dice_throw(&d, 0, 255);
        for (int a = 0; a < 2; a++) {
            c.kernel[a] = dice_throw(&d, 1, 5);
            c.stride[a] = dice_throw(&d, 1, 3);
            c.dilation[a] = dice_throw(&d, 1, 2);
            c.pad[a] = dice_throw(&d, 0, 4);
            c.in[a] = dice_throw(&d, 1, 30);
            int64_t left = c.in[a] + 2 * c.pad[a] -
                           (c.kernel[a] - 1) * c.dilation[a] - 1;
            c.out[a] = left < 0 ? 0 : left / c.stride[a] + 1;
        }
        int64_t taps = c.kernel[0] * c.kernel[1];
        int64_t n = c.batch * c.out_blocks * B;
        void *x = random_bytes(&d, n * c.in[0] * c.in[1]);
        void *w = random_bytes(&d, c.out_blocks * taps * B);
        c.x = x;
        c.w = w;
        c.end = random_end(&d, c.out_blocks, taps);
        size_t size = result_size(&c.end, n * c.out[0] * c.out[1]);
        void *want = array_new(CFX_U8, (int64_t)size);
        void *y = array_new(CFX_U8, (int64_t)size);
        expect_depthwise(&c, want);
        snprintf(what, sizeof(what), "case %d: %lldx%lld to %lldx%lld", i,
                 (long long)c.in[0], (long long)c.in[1], (long long)c.out[0],
                 (long long)c.out[1]);
        for (int k = 0; k < all.count; k++) {
            memset(y, 0xff, size);
            c.y = y;
            size_t bytes = c.out[0] * c.out[1] == 0
                               ? 0
                               : cfx_quantized_depthwise_workspace(all.ctx[k],
                                                                   &c);
            void *work = array_scratch(bytes);
            cfx_quantized_depthwise(all.ctx[k], &c, work);
            free(work);
            assert_same_bits(y, want, size, what);
        }
        free_end(&c.end);
        free(x);
        free(w);
        free(want);
        free(y);
    }
}

/* ---- Products of matrices ---- */

static void expect_product(const cfx_quantized_product *p, void *want)
{
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->columns; c++) {
            const int8_t *w = p->w + c / B * B * p->depth;
            int64_t sum = 0;
            for (int64_t k = 0; k < p->depth; k++)
                sum += p->x[r * p->depth + k] *
                       (int64_t)w[(k / CFX_QUAD * B + c % B) * CFX_QUAD +
                                  k % CFX_QUAD];
            finish(&p->end, c, sum, want, r * p->columns + c);
        }
}

TEST_CASE(quantized_products_are_exact)
{
    for (int i = 0; i < 120; i++) {
        dice d = {.key = 93000 + (uint64_t)i * 64};
        cfx_quantized_product p = {
            .rows = dice_throw(&d, 1, dice_throw(&d, 0, 1) ? 4 : 200),
            .columns = dice_throw(&d, 1, 150),
            .depth = CFX_QUAD * dice_throw(&d, 0, 50)};
        int64_t blocks = (p.columns + B - 1) / B;
        void *x = random_bytes(&d, p.rows * p.depth);
        void *w = random_bytes(&d, blocks * B * p.depth);
        char what[100];

        p.x = x;
        p.w = w;
        p.end = random_end(&d, blocks, p.depth);
        size_t size = result_size(&p.end, p.rows * p.columns);
        void *want = array_new(CFX_U8, (int64_t)size);
        void *y = array_new(CFX_U8, (int64_t)size);
        expect_product(&p, want);
        snprintf(what, sizeof(what), "case %d: %lldx%lld of %lld", i,
                 (long long)p.rows, (long long)p.columns, (long long)p.depth);
        for (int k = 0; k < all.count; k++) {
            memset(y, 0xff, size);
            p.y = y;
            void *work = array_scratch(
                cfx_quantized_product_workspace(all.ctx[k], &p));
            cfx_quantized_product_run(all.ctx[k], &p, work);
            free(work);
            assert_same_bits(y, want, size, what);
        }
        free_end(&p.end);
        free(x);
        free(w);
        free(want);
        free(y);
    }
}

/* ---- Tiles ---- */

/* Tiles without the instruction for four products, which this processor may
 * have. */
TEST_CASE(quantized_tiles_agree_without_dot_products)
{
    enum { PIXELS = 14, DEPTH = 20, BLOCKS = 4 };
    dice d = {.key = 7};
    void *x = random_bytes(&d, PIXELS * DEPTH);
    void *w = random_bytes(&d, BLOCKS * B * DEPTH);
    cfx_quantized_end end = random_end(&d, BLOCKS, DEPTH);
    float want[PIXELS * BLOCKS * B], y[PIXELS * BLOCKS * B];
    uint8_t wide[2 * PIXELS * DEPTH];

    end.rounds = false;
    end.lo = -INFINITY;
    end.hi = INFINITY;
    for (int i = 0; i < all.count; i++) {
        const cfx_kernels *k = cfx_context_kernels(all.ctx[i]);
        for (int blocks = 1; blocks <= BLOCKS; blocks *= 2)
            for (int n = 1; n <= k->quantized->pixels[blocks]; n++) {
                cfx_quantized_product p = {.rows = n,
                                           .columns = blocks * B,
                                           .depth = DEPTH,
                                           .x = x,
                                           .w = w,
                                           .end = end};
                cfx_quantized_tile t = {.pixels = n,
                                        .blocks = blocks,
                                        .columns = blocks * B,
                                        .n = {1, 1, 1},
                                        .quads = DEPTH / CFX_QUAD,
                                        .x = x,
                                        .w = w,
                                        .x_pixel = DEPTH,
                                        .w_block = DEPTH * B,
                                        .end = end,
                                        .y = (char *)y,
                                        .y_pixel = blocks * B * 4,
                                        .y_block = B * 4};
                size_t size = (size_t)(n * blocks * B) * sizeof(*y);
                expect_product(&p, want);
                k->quantized->tile[0](&t);
                assert_same_bits(y, want, size, "without");
                memset(y, 0xff, size);
                if (cfx_context_has(all.ctx[i], k->quantized->dots))
                    k->quantized->tile[1](&t);
                else
                    memcpy(y, want, size);
                assert_same_bits(y, want, size, "with");
                if (!k->quantized->wide_tile)
                    continue;
                memset(y, 0xff, size);
                k->quantized->widen(x, wide, PIXELS * DEPTH);
                t.x = wide;
                t.x_pixel *= 2;
                k->quantized->wide_tile(&t);
                assert_same_bits(y, want, size, "wide");
            }
    }
    free_end(&end);
    free(x);
    free(w);
}

static void setup(void)
{
    contexts_init(&all);
}

static void teardown(void)
{
    contexts_release(&all);
}

TEST_SUITE(kernel_quantized, .setup = setup, .teardown = teardown,
           .timeout = 300)
