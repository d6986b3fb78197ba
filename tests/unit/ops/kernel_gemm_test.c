/*
 * kernel_gemm_test.c -- matrix products against three plain loops.
 */
#include "kernel/gemm/gemm.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

/* A product: extents, strides, batch, and the lengths of the arrays. */
typedef struct product {
    cfx_gemm g;
    int64_t batch[2], a_batch[2], b_batch[2], c_batch[2];
    int64_t a_len, b_len, c_len;
} product;

/* A matrix of rows x cols at `*row`, `*col` apart, in one of three layouts;
 * returns how many elements it spans. */
static int64_t lay_out(dice *d, int64_t rows, int64_t cols, int64_t *row,
                       int64_t *col)
{
    switch (dice_throw(d, 0, 4)) {
    case 0:
    case 1: /* row-major, sometimes with gaps */
        *row = cols + dice_throw(d, 0, 1) * 3;
        *col = 1;
        break;
    case 2:
    case 3: /* column-major */
        *row = 1;
        *col = rows + dice_throw(d, 0, 1) * 5;
        break;
    default: /* every second element */
        *col = 2;
        *row = 2 * cols + 1;
        break;
    }
    return rows && cols ? (rows - 1) * *row + (cols - 1) * *col + 1 : 0;
}

static product random_product(dice *d, cfx_dtype t, int64_t most)
{
    product p = {.g = {.dtype = t}};
    int64_t a, b;

    p.g.m = dice_throw(d, 0, 7) ? dice_throw(d, 1, most) : dice_throw(d, 0, 1);
    p.g.n = dice_throw(d, 0, 7) ? dice_throw(d, 1, most) : dice_throw(d, 0, 1);
    p.g.k = dice_throw(d, 0, 9) ? dice_throw(d, 1, most) : 0;
    p.g.batch_rank = (int)dice_throw(d, 0, 2);
    a = lay_out(d, p.g.m, p.g.k, &p.g.a_row, &p.g.a_col);
    b = lay_out(d, p.g.k, p.g.n, &p.g.b_row, &p.g.b_col);
    p.g.c_row = p.g.n + dice_throw(d, 0, 1) * 7;
    p.a_len = a;
    p.b_len = b;
    p.c_len = p.g.m * p.g.c_row;
    for (int i = p.g.batch_rank - 1; i >= 0; i--) {
        p.batch[i] = dice_throw(d, 1, 4);
        p.a_batch[i] = dice_throw(d, 0, 2) ? p.a_len : 0;
        p.b_batch[i] = dice_throw(d, 0, 2) ? p.b_len : 0;
        p.c_batch[i] = p.c_len;
        p.a_len *= p.a_batch[i] ? p.batch[i] : 1;
        p.b_len *= p.b_batch[i] ? p.batch[i] : 1;
        p.c_len *= p.batch[i];
    }
    return p;
}

static void point(product *p)
{
    p->g.batch = p->batch;
    p->g.a_batch = p->a_batch;
    p->g.b_batch = p->b_batch;
    p->g.c_batch = p->c_batch;
}

static double bias_of(const cfx_gemm *g, int64_t i, int64_t j)
{
    return (g->bias ? array_at(g->dtype, g->bias, j) : 0) +
           (g->row_bias ? array_at(g->dtype, g->row_bias, i) : 0);
}

/* Compute the product in double precision; c0 is c before. */
static void reference(const product *p, const void *c0, double *c)
{
    const cfx_gemm *g = &p->g;
    int64_t batch[2] = {g->batch_rank > 0 ? g->batch[0] : 1,
                        g->batch_rank > 1 ? g->batch[1] : 1};

    for (int64_t i = 0; i < p->c_len; i++)
        c[i] = array_at(g->dtype, c0, i);
    for (int64_t x = 0; x < batch[0] * batch[1]; x++) {
        int64_t u = x / batch[1], v = x % batch[1];
        int64_t a0 = u * p->a_batch[0] + v * p->a_batch[1];
        int64_t b0 = u * p->b_batch[0] + v * p->b_batch[1];
        int64_t c1 = u * p->c_batch[0] + v * p->c_batch[1];

        for (int64_t i = 0; i < g->m; i++) {
            for (int64_t j = 0; j < g->n; j++) {
                double *to = c + c1 + i * g->c_row + j;
                double s = g->accumulate ? *to : bias_of(g, i, j);

                for (int64_t k = 0; k < g->k; k++)
                    s += array_at(g->dtype, g->a,
                                  a0 + i * g->a_row + k * g->a_col) *
                         array_at(g->dtype, g->b,
                                  b0 + k * g->b_row + j * g->b_col);
                *to = s;
            }
        }
    }
}

static void wrap(cfx_dtype t, double *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        union {
            int64_t i;
            char bytes[8];
        } x = {0};
        cfx_element_set_int(t, x.bytes, (int64_t)c[i]);
        c[i] = (double)cfx_element_int(t, x.bytes);
    }
}

/* b of the product in the form that serves any m; to be freed. */
static void *pack(cfx_context *ctx, const cfx_gemm *g)
{
    void *packed = array_scratch(cfx_gemm_packed_size(ctx, g));

    cfx_gemm_pack(ctx, g, packed);
    return packed;
}

static void check_product(dice *d, product *p, const char *what)
{
    cfx_dtype t = p->g.dtype;
    size_t size = (size_t)p->c_len * cfx_dtype_size(t);
    void *a = array_random(d, t, p->a_len), *b = array_random(d, t, p->b_len);
    void *c0 = array_random(d, t, p->c_len), *c = array_new(t, p->c_len);
    void *last = array_new(t, p->c_len);
    void *bias = array_random(d, t, p->g.n),
         *rows = array_random(d, t, p->g.m);
    double *want = array_new(CFX_F64, p->c_len);
    bool packs = (t == CFX_F32 || t == CFX_F64) && p->g.batch_rank == 0 &&
                 dice_throw(d, 0, 1);

    point(p);
    p->g.a = a;
    p->g.b = b;
    p->g.accumulate = dice_throw(d, 0, 3) == 0;
    if (!p->g.accumulate) {
        p->g.bias = dice_throw(d, 0, 1) ? bias : NULL;
        p->g.row_bias = dice_throw(d, 0, 2) ? NULL : rows;
    }
    reference(p, c0, want);
    if (!cfx_dtype_is_float(t))
        wrap(t, want, p->c_len);
    for (int i = 0; i < all.count; i++) {
        void *packed = packs ? pack(all.ctx[i], &p->g) : NULL, *work;

        p->g.packed = packed;
        work = array_scratch(cfx_gemm_workspace(all.ctx[i], &p->g));
        memcpy(c, c0, size);
        p->g.c = c;
        cfx_gemm_run(all.ctx[i], &p->g, work);
        assert_array(t, c, want, p->c_len, rounding(t), what);
        if (same_level(&all, i))
            assert_same_bits(c, last, size, what);
        memcpy(last, c, size);
        p->g.packed = NULL;
        free(packed);
        free(work);
    }
    free(a);
    free(b);
    free(c0);
    free(c);
    free(last);
    free(bias);
    free(rows);
    free(want);
}

static void check_many(cfx_dtype t, int count, int64_t most)
{
    for (int i = 0; i < count; i++) {
        dice d = {.key = (uint64_t)i * 64 + t};
        product p = random_product(&d, t, most);
        char what[160];

        snprintf(what, sizeof(what),
                 "%s case %d: %lldx%lldx%lld, a %lld %lld,"
                 " b %lld %lld, batch rank %d",
                 cfx_dtypes[t].name, i, (long long)p.g.m, (long long)p.g.n,
                 (long long)p.g.k, (long long)p.g.a_row, (long long)p.g.a_col,
                 (long long)p.g.b_row, (long long)p.g.b_col, p.g.batch_rank);
        check_product(&d, &p, what);
    }
}

TEST_CASE(products_of_floats_agree_with_plain_loops)
{
    check_many(CFX_F32, 400, 40);
    check_many(CFX_F64, 200, 40);
}

TEST_CASE(products_of_16_bit_floats_are_summed_in_float)
{
    check_many(CFX_F16, 60, 30);
    check_many(CFX_BF16, 60, 30);
}

TEST_CASE(products_of_integers_wrap_around)
{
    static const cfx_dtype types[] = {CFX_U8, CFX_I8, CFX_I16, CFX_I32,
                                      CFX_I64};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        check_many(types[i], 40, 30);
}

/* More than one block of k, chunks of c, and pieces. */
TEST_CASE(large_products_agree_with_plain_loops)
{
    static const int64_t extents[][3] = {
        {70, 90, 600},   {900, 20, 300}, {20, 900, 300}, {130, 450, 270},
        {450, 130, 270}, {1, 1500, 700}, {1500, 1, 700}, {9, 200, 1100},
        {20, 1300, 30},  {1300, 20, 30}, {150, 400, 40}};

    for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        for (int layout = 0; layout < 4; layout++) {
            dice d = {.key = 1000 + i * 4 + (uint64_t)layout};
            int64_t m = extents[i][0], n = extents[i][1], k = extents[i][2];
            product p = {.g = {.dtype = layout == 3 ? CFX_F64 : CFX_F32,
                               .m = m,
                               .n = n,
                               .k = k,
                               .a_row = layout & 1 ? 1 : k,
                               .a_col = layout & 1 ? m : 1,
                               .b_row = layout & 2 ? 1 : n,
                               .b_col = layout & 2 ? k : 1,
                               .c_row = n},
                         .a_len = m * k,
                         .b_len = k * n,
                         .c_len = m * n};
            char what[80];

            snprintf(what, sizeof(what), "large %d, layout %d", (int)i,
                     layout);
            check_product(&d, &p, what);
        }
    }
}

/* Element i of a complex array without a pattern that hides a wrong index. */
static float complex_part(int64_t i, int part)
{
    return (float)((i * 7 + part * 5) % 13) / 4 - 1;
}

/* A transposed a, and more than one piece of c and block of k. */
TEST_CASE(complex_products_do_not_depend_on_the_threads)
{
    enum { M = 400, N = 30, K = 1100 };
    float *a = array_new(CFX_C64, M * K), *b = array_new(CFX_C64, K * N);
    float *c = array_new(CFX_C64, M * N), *first = array_new(CFX_C64, M * N);
    cfx_gemm g = {.dtype = CFX_C64,
                  .m = M,
                  .n = N,
                  .k = K,
                  .a = a,
                  .a_row = 1,
                  .a_col = M,
                  .b = b,
                  .b_row = N,
                  .b_col = 1,
                  .c = c,
                  .c_row = N};

    for (int64_t i = 0; i < 2 * M * K; i++)
        a[i] = complex_part(i / 2, i & 1);
    for (int64_t i = 0; i < 2 * K * N; i++)
        b[i] = complex_part(i / 2, i & 1);
    for (int i = 0; i < all.count; i++) {
        if (!cfx_gemm_takes_complex(all.ctx[i], &g))
            break; /* no BLAS */
        cfx_gemm_run(all.ctx[i], &g, NULL);
        for (int64_t x = 0; x < M * N; x += 97) {
            double re = 0, im = 0;
            for (int64_t k = 0; k < K; k++) {
                const float *p = a + 2 * (x / N + k * M);
                const float *q = b + 2 * (k * N + x % N);
                re += (double)p[0] * q[0] - (double)p[1] * q[1];
                im += (double)p[0] * q[1] + (double)p[1] * q[0];
            }
            ck_assert_double_eq_tol(c[2 * x], re, 1e-2);
            ck_assert_double_eq_tol(c[2 * x + 1], im, 1e-2);
        }
        if (i == 0)
            memcpy(first, c, M * N * 2 * sizeof(float));
        assert_same_bits(c, first, M * N * 2 * sizeof(float), "complex");
    }
    free(a);
    free(b);
    free(c);
    free(first);
}

TEST_CASE(linear_is_a_product_with_the_transposed_weight)
{
    const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 0, -1, 2, 1, 0};
    const float bias[] = {10, 20}, want[] = {8, 24, 8, 33};

    for (int i = 0; i < all.count; i++) {
        float y[4];
        cfx_gemm g = cfx_gemm_linear(CFX_F32, 2, 2, 3, x, w, bias, y);
        void *work = array_scratch(cfx_gemm_workspace(all.ctx[i], &g));

        cfx_gemm_run(all.ctx[i], &g, work);
        ck_assert_mem_eq(y, want, sizeof(want));
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

TEST_SUITE(kernel_gemm, .setup = setup, .teardown = teardown, .timeout = 300)
