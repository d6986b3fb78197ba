/*
 * kernel_pool_test.c -- pooling against plain loops in double.
 */
#include "kernel/pool/pool_kernel.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

typedef void pool_fn(cfx_context *ctx, const cfx_pool *p);

enum kind { MAX, AVG, ADAPTIVE_MAX, ADAPTIVE_AVG, KINDS };

static pool_fn *const functions[KINDS] = {
    cfx_max_pool, cfx_avg_pool, cfx_adaptive_max_pool, cfx_adaptive_avg_pool};
static const char *const names[KINDS] = {"max", "avg", "adaptive max",
                                         "adaptive avg"};

static int64_t volume(int spatial, const int64_t *n)
{
    int64_t v = 1;

    for (int i = 0; i < spatial; i++)
        v *= n[i];
    return v;
}

static void coordinates(int spatial, const int64_t *n, int64_t i, int64_t *x)
{
    for (int a = spatial - 1; a >= 0; a--) {
        x[a] = i % n[a];
        i /= n[a];
    }
}

/* The window of output `o` along one axis: from *begin, `return` elements,
 * padding among them. */
static int64_t window(const cfx_pool *p, enum kind kind, int a, int64_t o,
                      int64_t *begin)
{
    if (kind == ADAPTIVE_MAX || kind == ADAPTIVE_AVG) {
        *begin = o * p->in[a] / p->out[a];
        return ((o + 1) * p->in[a] + p->out[a] - 1) / p->out[a] - *begin;
    }
    *begin = o * p->stride[a] - p->pad[a];
    return p->kernel[a];
}

/* Compute one output; *index is that of the maximum. */
static double pooled(const cfx_pool *p, enum kind kind, int64_t plane,
                     const int64_t *o, int64_t *index)
{
    int64_t begin[3], n[3], k[3], in = volume(p->spatial, p->in);
    int64_t inside = 0, counted = 0;
    double sum = 0, most = -INFINITY;
    bool max = kind == MAX || kind == ADAPTIVE_MAX;

    *index = -1;
    for (int a = 0; a < p->spatial; a++)
        n[a] = window(p, kind, a, o[a], &begin[a]);
    for (int64_t t = 0; t < volume(p->spatial, n); t++) {
        int64_t at = 0;
        bool real = true, counts = true;

        coordinates(p->spatial, n, t, k);
        for (int a = 0; a < p->spatial; a++) {
            int64_t i = begin[a] + k[a] * (kind == MAX ? p->dilation[a] : 1);
            real &= i >= 0 && i < p->in[a];
            counts &= i < p->in[a] + p->pad[a];
            at = at * p->in[a] + i;
        }
        counted += counts;
        if (real) {
            double v = array_at(p->dtype, p->x, plane * in + at);
            inside++;
            sum += v;
            if (v > most || isnan(v) || *index < 0) {
                most = v;
                *index = at;
            }
        }
    }
    if (max)
        return inside ? most : -INFINITY;
    if (kind == AVG && p->divisor)
        counted = p->divisor;
    else if (kind == ADAPTIVE_AVG || !p->count_include_pad)
        counted = inside;
    return inside ? sum / (double)counted : 0;
}

static void check_pool(cfx_pool *p, enum kind kind, const char *what)
{
    cfx_dtype t = p->dtype;
    int64_t out = volume(p->spatial, p->out), len = p->planes * out, o[3];
    size_t size = (size_t)len * cfx_dtype_size(t);
    double *want = array_new(CFX_F64, len);
    int64_t *index = array_new(CFX_I64, len);
    int64_t *got_index = array_new(CFX_I64, len);
    void *y = array_new(t, len), *last = array_new(t, len);
    bool max = kind == MAX || kind == ADAPTIVE_MAX;

    for (int64_t i = 0; i < len; i++) {
        coordinates(p->spatial, p->out, i % out, o);
        want[i] = pooled(p, kind, i / out, o, &index[i]);
        if (!cfx_dtype_is_float(t))
            want[i] = trunc(want[i]);
    }
    p->y = y;
    for (int i = 0; i < 2 * all.count; i++) {
        cfx_context *ctx = all.ctx[i / 2];

        memset(y, 0xee, size);
        p->indices = max && i % 2 ? got_index : NULL;
        functions[kind](ctx, p);
        assert_array(t, y, want, len, rounding(t), what);
        if (p->indices)
            ck_assert_msg(len == 0 ||
                              memcmp(index, got_index, (size_t)len * 8) == 0,
                          "%s: indices differ", what);
        if (same_level(&all, i / 2) || i % 2)
            assert_same_bits(y, last, size, what);
        memcpy(last, y, size);
    }
    free(want);
    free(index);
    free(got_index);
    free(y);
    free(last);
}

/* Padding is at most half of the window, as PyTorch asks for, so that every
 * window holds something; with ceil_mode the last one may hang over. */
static void random_axis(dice *d, cfx_pool *p, int a, enum kind kind,
                        int64_t most)
{
    int64_t reach, room;

    p->kernel[a] = dice_throw(d, 1, 4);
    p->stride[a] = dice_throw(d, 1, 3);
    p->dilation[a] = dice_throw(d, 0, 2) || kind != MAX ? 1
                                                        : dice_throw(d, 1, 3);
    p->pad[a] = dice_throw(d, 0, p->kernel[a] / 2);
    reach = (p->kernel[a] - 1) * p->dilation[a] + 1;
    p->in[a] = dice_throw(d, reach, reach + most);
    room = p->in[a] + 2 * p->pad[a] - reach;
    p->out[a] = room / p->stride[a] + 1;
    if (room % p->stride[a] && dice_throw(d, 0, 1) &&
        p->out[a] * p->stride[a] < p->in[a] + p->pad[a] && p->dilation[a] == 1)
        p->out[a]++;
    if (kind == ADAPTIVE_MAX || kind == ADAPTIVE_AVG)
        p->out[a] = dice_throw(d, 0, 3) ? dice_throw(d, 1, p->in[a] + 2) : 1;
}

static void check_random(cfx_dtype t, int count)
{
    for (int i = 0; i < count * KINDS; i++) {
        dice d = {.key = 300 + (uint64_t)i * 64 + t};
        enum kind kind = (enum kind)(i % KINDS);
        cfx_pool p = {.dtype = t, .spatial = (int)dice_throw(&d, 1, 3)};
        int64_t most = p.spatial == 1 ? 60 : p.spatial == 2 ? 20 : 5, len;
        char what[200];
        void *x;

        p.planes = dice_throw(&d, 0, 9) ? dice_throw(&d, 1, 5) : 0;
        p.count_include_pad = dice_throw(&d, 0, 1);
        p.divisor = dice_throw(&d, 0, 3) ? 0 : dice_throw(&d, 1, 5);
        for (int a = 0; a < p.spatial; a++)
            random_axis(&d, &p, a, kind, most);
        if (p.spatial > 1 && dice_throw(&d, 0, 3) == 0)
            p.out[0] = 0;
        len = p.planes * volume(p.spatial, p.in);
        x = array_random(&d, t, len);
        if (cfx_dtype_is_float(t) && len && dice_throw(&d, 0, 2) == 0 &&
            (kind == MAX || kind == ADAPTIVE_MAX))
            for (int64_t j = 0; j < 3; j++)
                cfx_element_set_double(t,
                                       (char *)x +
                                           (size_t)dice_throw(&d, 0, len - 1) *
                                               cfx_dtype_size(t),
                                       j ? NAN : -INFINITY);
        p.x = x;
        snprintf(what, sizeof(what),
                 "%s pool of %s, case %d, %d axes, in %lld"
                 " out %lld kernel %lld stride %lld pad %lld",
                 names[kind], cfx_dtypes[t].name, i, p.spatial,
                 (long long)p.in[p.spatial - 1],
                 (long long)p.out[p.spatial - 1],
                 (long long)p.kernel[p.spatial - 1],
                 (long long)p.stride[p.spatial - 1],
                 (long long)p.pad[p.spatial - 1]);
        check_pool(&p, kind, what);
        free(x);
    }
}

TEST_CASE(pools_of_floats_agree_with_plain_loops)
{
    check_random(CFX_F32, 150);
    check_random(CFX_F64, 60);
    check_random(CFX_F16, 30);
    check_random(CFX_BF16, 30);
}

TEST_CASE(pools_of_integers_agree_with_plain_loops)
{
    check_random(CFX_U8, 20);
    check_random(CFX_I8, 20);
    check_random(CFX_I16, 20);
    check_random(CFX_I32, 20);
    check_random(CFX_I64, 20);
}

/* Wider than the rows that kernels hold at a time. */
TEST_CASE(wide_windows_and_rows_agree_with_plain_loops)
{
    for (int i = 0; i < 8; i++) {
        dice d = {.key = 10 + (uint64_t)i};
        cfx_pool p = {.dtype = CFX_F32,
                      .spatial = 1,
                      .planes = 2,
                      .kernel = {i < 4 ? 3 : 1500},
                      .stride = {1 + i % 3},
                      .pad = {1},
                      .dilation = {1},
                      .in = {4000}};
        void *x = array_random(&d, CFX_F32, 8000);

        p.out[0] = (4000 + 2 - p.kernel[0]) / p.stride[0] + 1;
        p.x = x;
        check_pool(&p, MAX, "wide max pool");
        check_pool(&p, AVG, "wide avg pool");
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

TEST_SUITE(kernel_pool, .setup = setup, .teardown = teardown, .timeout = 300)
