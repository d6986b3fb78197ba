/*
 * kernel_index_test.c -- kernels that follow indices, pick out, and sort,
 * against plain loops.
 */
#include "kernel/move/index_kernel.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

static cfx_context *any_context(int round)
{
    return all.ctx[round % all.count];
}

/* Compare two elements by their bytes. */
static void assert_element(cfx_dtype t, const void *got, int64_t i,
                           const void *want, int64_t k)
{
    size_t size = cfx_dtype_size(t);

    assert_each(memcmp((const char *)got + (size_t)i * size,
                       (const char *)want + (size_t)k * size, size) == 0);
}

static void *random_indices(dice *d, cfx_dtype t, int64_t count, int64_t least,
                            int64_t most)
{
    void *p = array_new(t, count);

    for (int64_t i = 0; i < count; i++)
        cfx_element_set_int(t, (char *)p + (size_t)i * cfx_dtype_size(t),
                            dice_throw(d, least, most));
    return p;
}

static int64_t index_at(cfx_dtype t, const void *p, int64_t i)
{
    return cfx_element_int(t, (const char *)p + (size_t)i * cfx_dtype_size(t));
}

static const cfx_dtype itypes[] = {CFX_I64, CFX_I32};

TEST_CASE(rows_are_selected)
{
    dice d = {.key = 1};

    for (int round = 0; round < 200; round++) {
        cfx_dtype t = computed_type(round), it = itypes[round % 2];
        int64_t outer = dice_throw(&d, 1, 4), n = dice_throw(&d, 1, 30);
        int64_t inner = dice_throw(&d, 0, 1) ? 1 : dice_throw(&d, 0, 300);
        int64_t count = dice_throw(&d, 0, 100), bad = 0;
        void *x = array_random(&d, t, outer * n * inner);
        void *y = array_new(t, outer * count * inner);
        void *index = random_indices(&d, it, count, 0, n - 1);

        ck_assert(cfx_kernel_index_select(any_context(round),
                                          cfx_dtype_size(t), y, x, it, index,
                                          outer, n, inner, count, &bad));
        for (int64_t i = 0; i < outer * count * inner; i++) {
            int64_t o = i / (count * inner), c = i / inner % count;
            assert_element(t, y, i, x,
                           (o * n + index_at(it, index, c)) * inner +
                               i % inner);
        }
        free(x);
        free(y);
        free(index);
    }
}

TEST_CASE(indices_out_of_range_are_told)
{
    float x[12] = {0}, y[12];
    int64_t index[] = {0, 3, -1, 7}, stride[] = {1}, shape[] = {4}, bad = 0;

    for (int c = 0; c < all.count; c++) {
        cfx_context *ctx = all.ctx[c];

        ck_assert(!cfx_kernel_index_select(ctx, 4, y, x, CFX_I64, index, 1, 4,
                                           1, 4, &bad));
        ck_assert_int_eq(bad, -1);
        ck_assert(!cfx_kernel_gather(ctx, 4, 1, shape, 0, 4, y, stride, x,
                                     stride, CFX_I64, index, stride, &bad));
        ck_assert_int_eq(bad, -1);
        ck_assert(!cfx_kernel_scatter(ctx, CFX_SCATTER_ADD, CFX_F32, 1, shape,
                                      0, 4, y, stride, x, stride, CFX_I64,
                                      index, stride, &bad));
        ck_assert_int_eq(bad, -1);
        cfx_indexing ix = {.rank = 1,
                           .shape = {4},
                           .value = y,
                           .value_stride = {1},
                           .base = x,
                           .count = 1};
        ix.index[0].data = index;
        ix.index[0].type = CFX_I64;
        ix.index[0].stride[0] = 1;
        ix.index[0].base_stride = 1;
        ix.index[0].n = 4;
        ck_assert(!cfx_index_get(ctx, 4, &ix, &bad));
        ck_assert_int_eq(bad, 7);
        ix.index[0].n = 8;
        ck_assert(cfx_index_get(ctx, 4, &ix, NULL));
    }
}

/* Row-major strides of a shape. */
static int64_t row_major(int rank, const int64_t *shape, int64_t *stride)
{
    int64_t n = 1;

    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = n;
        n *= shape[i];
    }
    return n;
}

static double scattered(cfx_scatter_op op, double old, double v)
{
    switch (op) {
    case CFX_SCATTER_ADD: return old + v;
    case CFX_SCATTER_MUL: return old * v;
    case CFX_SCATTER_MAX: return v > old ? v : old;
    case CFX_SCATTER_MIN: return v < old ? v : old;
    default: return v;
    }
}

TEST_CASE(gather_and_scatter_agree_with_plain_loops)
{
    dice d = {.key = 2};

    for (int round = 0; round < 400; round++) {
        cfx_dtype t = computed_type(round), it = itypes[round % 2];
        int rank = (int)dice_throw(&d, 1, 3);
        int dim = (int)dice_throw(&d, 0, rank - 1);
        int64_t shape[3], big[3], xs[3], is[3], n, m;
        cfx_scatter_op op = (cfx_scatter_op)dice_throw(&d, 0, 4);
        void *x, *y, *z, *index;

        for (int i = 0; i < rank; i++) {
            shape[i] = dice_throw(&d, 1, 12);
            big[i] = shape[i] + dice_throw(&d, 0, 3);
        }
        n = row_major(rank, shape, is);
        m = row_major(rank, big, xs);
        x = array_random(&d, t, m);
        y = array_random(&d, t, n);
        z = array_random(&d, t, m);
        index = random_indices(&d, it, n, 0, big[dim] - 1);
        double *want = malloc((size_t)m * sizeof(*want));
        for (int64_t i = 0; i < m; i++)
            want[i] = array_at(t, z, i);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = 0;
            for (int k = 0; k < rank; k++)
                at += xs[k] * (k == dim ? index_at(it, index, i)
                                        : i / is[k] % shape[k]);
            want[at] = scattered(op, want[at], array_at(t, y, i));
            if (t == CFX_BOOL)
                want[at] = want[at] != 0;
        }
        ck_assert(cfx_kernel_scatter(any_context(round), op, t, rank, shape,
                                     dim, big[dim], z, xs, y, is, it, index,
                                     is, NULL));
        /* Long products leave the small types. */
        if (op != CFX_SCATTER_MUL && t != CFX_U8 && t != CFX_I8)
            assert_array(t, z, want, m, rounding(t) * 4, "scatter");
        ck_assert(cfx_kernel_gather(any_context(round), cfx_dtype_size(t),
                                    rank, shape, dim, big[dim], y, is, x, xs,
                                    it, index, is, NULL));
        for (int64_t i = 0; i < n; i++) {
            int64_t at = 0;
            for (int k = 0; k < rank; k++)
                at += xs[k] * (k == dim ? index_at(it, index, i)
                                        : i / is[k] % shape[k]);
            assert_element(t, y, i, x, at);
        }
        free(x);
        free(y);
        free(z);
        free(index);
        free(want);
    }
}

TEST_CASE(several_indices_count_from_the_end_and_broadcast)
{
    /* y = x[i, :, j] of x(5, 40, 7), i (3, 1) and j (1, 4): y is (3, 4, 40). */
    enum { A = 5, B = 40, C = 7, P = 3, Q = 4 };
    int64_t i[P] = {0, -1, 2}, j[Q] = {-6, 6, 3, 0};
    cfx_indexing ix = {
        .rank = 3,
        .shape = {P, Q, B},
        .value_stride = {Q * B, B, 1},
        .base_stride = {0, 0, C},
        .count = 2,
    };
    dice d = {.key = 3};

    for (int c = 0; c < all.count; c++) {
        int32_t *x = array_random(&d, CFX_I32, A * B * C);
        int32_t *y = array_new(CFX_I32, P * Q * B);
        int32_t *z = calloc(A * B * C, sizeof(*z));

        ix.value = y;
        ix.base = x;
        ix.index[0].data = i;
        ix.index[0].type = CFX_I64;
        ix.index[0].stride[0] = 1;
        ix.index[0].base_stride = B * C;
        ix.index[0].n = A;
        ix.index[1].data = j;
        ix.index[1].type = CFX_I64;
        ix.index[1].stride[1] = 1;
        ix.index[1].base_stride = 1;
        ix.index[1].n = C;
        ck_assert(cfx_index_get(all.ctx[c], 4, &ix, NULL));
        ix.base = z;
        ck_assert(cfx_kernel_index_put(all.ctx[c], CFX_I32, true, &ix, NULL));
        ck_assert(cfx_kernel_index_put(all.ctx[c], CFX_I32, true, &ix, NULL));
        for (int p = 0; p < P; p++)
            for (int q = 0; q < Q; q++)
                for (int b = 0; b < B; b++) {
                    int64_t ip = (i[p] + A) % A, jq = (j[q] + C) % C;
                    int64_t at = (ip * B + b) * C + jq;
                    ck_assert_int_eq(y[(p * Q + q) * B + b], x[at]);
                    ck_assert_int_eq(z[at], 2 * x[at]);
                }
        free(x);
        free(y);
        free(z);
    }
}

TEST_CASE(triangles_agree_with_plain_loops)
{
    dice d = {.key = 4};

    for (int round = 0; round < 200; round++) {
        cfx_dtype t = computed_type(round);
        int64_t a = dice_throw(&d, 1, 4), b = dice_throw(&d, 1, 20);
        int64_t c = dice_throw(&d, 1, 20), n = a * b * c;
        int64_t k = dice_throw(&d, -25, 25);
        bool upper = dice_throw(&d, 0, 1);
        void *x = array_random(&d, t, n), *y = array_new(t, n);

        cfx_triangle(any_context(round), cfx_dtype_size(t), upper, y, x, a, b,
                     c, k);
        for (int64_t i = 0; i < n; i++) {
            int64_t off = i % c - i / c % b;
            bool in = upper ? off >= k : off <= k;
            ck_assert_double_eq(array_at(t, y, i), in ? array_at(t, x, i) : 0);
        }
        free(x);
        free(y);
    }
}

TEST_CASE(masks_pick_out_in_order)
{
    dice d = {.key = 5};

    for (int t = 0; t < CFX_NDTYPES; t++) {
        if (!is_computed((cfx_dtype)t))
            continue;
        int64_t shape[] = {7, 11, 5}, n = 7 * 11 * 5, k = 0;
        uint8_t *mask = array_new(CFX_BOOL, n);
        size_t size = cfx_dtype_size((cfx_dtype)t);
        void *x, *y, *z = calloc((size_t)n, size);
        int64_t *at, count;

        for (int64_t i = 0; i < n; i++)
            mask[i] = (uint8_t)dice_throw(&d, 0, 1);
        x = array_random(&d, (cfx_dtype)t, n);
        count = cfx_nonzero_count(all.ctx[0], CFX_BOOL, mask, n);
        y = array_new((cfx_dtype)t, count);
        cfx_kernel_masked_select(all.ctx[0], size, y, x, mask, n);
        ck_assert(
            cfx_kernel_masked_scatter(all.ctx[0], size, z, mask, y, count, n));
        ck_assert(!cfx_kernel_masked_scatter(all.ctx[0], size, z, mask, y,
                                             count - 1, n));
        for (int64_t i = 0; i < n; i++)
            if (mask[i]) {
                assert_element((cfx_dtype)t, y, k++, x, i);
                assert_element((cfx_dtype)t, z, i, x, i);
            }
        ck_assert_int_eq(k, count);
        count = cfx_nonzero_count(all.ctx[0], (cfx_dtype)t, x, n);
        at = array_new(CFX_I64, 3 * count);
        cfx_kernel_nonzero(all.ctx[0], (cfx_dtype)t, at, x, 3, shape);
        k = 0;
        for (int64_t i = 0; i < n; i++)
            if (array_at((cfx_dtype)t, x, i) != 0) {
                ck_assert_int_eq((at[k] * 11 + at[k + 1]) * 5 + at[k + 2], i);
                k += 3;
            }
        ck_assert_int_eq(k, 3 * count);
        free(mask);
        free(x);
        free(y);
        free(z);
        free(at);
    }
}

TEST_CASE(one_hot_sets_one_of_each_row)
{
    int32_t index[] = {2, 0, 1, 3};
    int64_t y[16], bad = 0;

    ck_assert(cfx_kernel_one_hot(all.ctx[0], y, CFX_I32, index, 4, 4, &bad));
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(y[i], i % 4 == index[i / 4]);
    ck_assert(!cfx_kernel_one_hot(all.ctx[0], y, CFX_I32, index, 4, 3, &bad));
    ck_assert_int_eq(bad, 3);
}

/* ---- Order ---- */

/* Is a after b, where NaN is after all numbers? */
static bool is_after(double a, double b)
{
    return a > b || (isnan(a) && !isnan(b));
}

static void *sortable(dice *d, cfx_dtype t, int64_t n)
{
    char *x = array_random(d, t, n);

    for (int64_t i = 0; i < n; i += 5)
        if (cfx_dtype_is_float(t)) {
            static const double special[] = {NAN, INFINITY, -INFINITY, -0.0,
                                             0,   1e-30,    -1e30};
            cfx_element_set_double(t, x + (size_t)i * cfx_dtype_size(t),
                                   special[dice_throw(d, 0, 6)]);
        } else if (t != CFX_BOOL) {
            cfx_element_set_int(t, x + (size_t)i * cfx_dtype_size(t),
                                (int64_t)cfx_random_bits(d->key, d->at++));
        }
    return x;
}

/* Values and places are in order, stable if asked for, and each place once. */
static void assert_order(cfx_dtype t, bool descending, bool stable,
                         const void *x, const void *y, const int64_t *index,
                         int64_t n, int64_t k, int64_t step)
{
    char *seen = calloc((size_t)n + 1, 1);

    for (int64_t i = 0; i < k; i++) {
        int64_t at = index[i * step];
        double v;

        assert_each(at >= 0 && at < n && !seen[at]);
        seen[at] = 1;
        assert_element(t, y, i * step, x, at * step);
        if (i == 0)
            continue;
        v = array_at(t, x, at * step);
        double before = array_at(t, x, index[(i - 1) * step] * step);
        assert_each(descending ? !is_after(v, before) : !is_after(before, v));
        if (stable && !is_after(v, before) && !is_after(before, v) &&
            t < CFX_I32)
            ck_assert_int_lt(index[(i - 1) * step], at);
    }
    for (int64_t i = 0; i < n && k > 0; i++)
        if (!seen[i]) {
            double v = array_at(t, x, i * step);
            double last = array_at(t, x, index[(k - 1) * step] * step);
            assert_each(descending ? !is_after(v, last) : !is_after(last, v));
        }
    free(seen);
}

TEST_CASE(sorting_is_stable_with_nan_last)
{
    dice d = {.key = 6};

    for (int round = 0; round < 300; round++) {
        cfx_dtype t = computed_type(round);
        cfx_context *ctx = any_context(round / 3);
        int64_t outer = dice_throw(&d, 1, 3), n = dice_throw(&d, 1, 300);
        int64_t inner = dice_throw(&d, 0, 1) ? 1 : dice_throw(&d, 1, 9);
        bool descending = dice_throw(&d, 0, 1);
        int64_t total = outer * n * inner;
        size_t size = cfx_sort_work(ctx, t, outer, n, inner);
        void *x = sortable(&d, t, total), *y = array_new(t, total);
        int64_t *index = array_new(CFX_I64, total);
        void *work = array_scratch(size);

        cfx_kernel_sort(ctx, t, descending, true, y, index, x, outer, n, inner,
                        work);
        for (int64_t i = 0; i < outer * inner; i++) {
            int64_t at = i / inner * n * inner + i % inner;
            size_t bytes = (size_t)at * cfx_dtype_size(t);
            assert_order(t, descending, true, (char *)x + bytes,
                         (char *)y + bytes, index + at, n, n, inner);
        }
        cfx_kernel_sort(ctx, t, descending, true, x, NULL, x, outer, n, inner,
                        work);
        assert_same_bits(x, y, (size_t)total * cfx_dtype_size(t), "in place");
        free(x);
        free(y);
        free(index);
        free(work);
    }
}

TEST_CASE(topk_takes_the_largest_in_order)
{
    dice d = {.key = 7};

    for (int round = 0; round < 400; round++) {
        cfx_dtype t = computed_type(round);
        cfx_context *ctx = any_context(round / 3);
        int64_t outer = dice_throw(&d, 1, 3), n = dice_throw(&d, 1, 2000);
        int64_t inner = dice_throw(&d, 0, 1) ? 1 : dice_throw(&d, 1, 5);
        int64_t k = dice_throw(&d, 0, 3) ? dice_throw(&d, 0, n < 60 ? n : 60)
                                         : dice_throw(&d, 0, n);
        bool largest = dice_throw(&d, 0, 1);
        size_t size = cfx_topk_work(ctx, t, outer, n, inner, k);
        void *x = sortable(&d, t, outer * n * inner);
        void *y = array_new(t, outer * k * inner);
        int64_t *index = array_new(CFX_I64, outer * k * inner);
        void *work = array_scratch(size);

        cfx_kernel_topk(ctx, t, largest, y, index, x, outer, n, inner, k,
                        work);
        for (int64_t i = 0; i < outer * inner; i++) {
            int64_t from = i / inner * n * inner + i % inner;
            int64_t to = i / inner * k * inner + i % inner;
            assert_order(t, largest, false,
                         (char *)x + (size_t)from * cfx_dtype_size(t),
                         (char *)y + (size_t)to * cfx_dtype_size(t),
                         index + to, n, k, inner);
        }
        free(x);
        free(y);
        free(index);
        free(work);
    }
}

TEST_CASE(searches_find_where_a_value_would_go)
{
    dice d = {.key = 8};

    for (int round = 0; round < 100; round++) {
        cfx_dtype t = computed_type(round);
        int64_t n = dice_throw(&d, 1, 50), count = 20;
        bool right = dice_throw(&d, 0, 1);
        size_t size = cfx_sort_work(all.ctx[0], t, 1, n, 1);
        void *x = array_random(&d, t, n), *work = array_scratch(size);
        void *v = array_random(&d, t, count);
        int64_t y[20];

        cfx_kernel_sort(all.ctx[0], t, false, true, x, NULL, x, 1, n, 1, work);
        cfx_kernel_searchsorted(any_context(round), t, y, x, v, 1, n, count,
                                true, right);
        for (int64_t i = 0; i < count; i++) {
            int64_t want = 0;
            double a = array_at(t, v, i);

            while (want < n && (right ? array_at(t, x, want) <= a
                                      : array_at(t, x, want) < a))
                want++;
            ck_assert_int_eq(y[i], want);
        }
        free(x);
        free(v);
        free(work);
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

TEST_SUITE(kernel_index, .setup_once = setup, .teardown_once = teardown,
           .timeout = 300)
