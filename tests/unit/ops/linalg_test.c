/*
 * linalg_test -- factors multiply to their matrices, where PyTorch's own are
 * unique up to signs only; and results that do not depend on threads.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include <cfx/scope.h>

#include "kernel/lapack.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_scope s;
static cfx_error err;

static void start(int threads)
{
    const cfx_options options = {.size = sizeof(options), .threads = threads};
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
}

static void stop(void)
{
    cfx_scope_release(&s);
    cfx_context_free(ctx);
}

static void setup(void)
{
    start(1);
}

static bool ready(void)
{
    return cfx_have_lapack();
}

#define CALL(name, ...) cfx_call_function(&s, name, CFX_ARGS(__VA_ARGS__))

/* Numbers between -1 and 1. */
static cfx_value matrices(cfx_dtype type, int64_t batch, int64_t n, int64_t m)
{
    const int64_t shape[] = {batch, n, m};
    cfx_tensor *t;
    uint32_t state = 7;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, type, 3, shape, &err), CFX_OK);
    for (int64_t i = 0; i < batch * n * m; i++) {
        state = state * 1664525 + 1013904223;
        double v = (double)state / 2147483648.0 - 1;
        if (type == CFX_F64)
            ((double *)t->data)[i] = v;
        else
            ((float *)t->data)[i] = (float)v;
    }
    return cfx_scope_take(&s, cfx_value_of_tensor(t));
}

static cfx_value turned(cfx_value x)
{
    return CALL("torch.transpose", x, cfx_int(-2), cfx_int(-1));
}

static cfx_value product(cfx_value a, cfx_value b)
{
    return CALL("torch.matmul", a, b);
}

/* The columns of x times the numbers of v. */
static cfx_value scaled(cfx_value x, cfx_value v)
{
    return CALL("torch.mul", x, CALL("torch.unsqueeze", v, cfx_int(-2)));
}

static void assert_near(cfx_value a, cfx_value b, double most)
{
    cfx_value d = CALL("torch.abs", CALL("torch.sub", a, b));
    cfx_value all = CALL("torch.amax", CALL("torch.flatten", d));
    cfx_value v = CALL("Tensor.item", all);
    ck_assert_msg(!cfx_scope_failed(&s), "%s", s.error.text);
    ck_assert_double_le(cfx_value_number(v), most);
}

/* Columns of length 1 at right angles. */
static void assert_orthogonal(cfx_value q, cfx_dtype type, double most)
{
    const cfx_tensor *t = cfx_meta_of(&s, q);
    ck_assert_msg(!cfx_scope_failed(&s), "%s", s.error.text);
    cfx_value n = cfx_int(cfx_tensor_size(t, t->rank - 1));
    cfx_value one = CALL("Tensor.to", CALL("torch.eye", n),
                         cfx_value_of_dtype(type));
    assert_near(product(turned(q), q), one, most);
}

static const struct {
    cfx_dtype type;
    int64_t n, m;
    double most; /* error */
} sizes[] = {
    {CFX_F32, 7, 4, 1e-5},    {CFX_F64, 4, 7, 1e-13}, {CFX_F64, 70, 70, 1e-12},
    {CFX_F32, 100, 60, 1e-4}, {CFX_F64, 1, 5, 1e-13},
};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

TEST_EACH(svd_multiplies_to_its_matrix, SIZES)
{
    const double most = sizes[_i].most;
    cfx_value x = matrices(sizes[_i].type, 3, sizes[_i].n, sizes[_i].m);
    cfx_value all = CALL("torch.linalg.svd", x, cfx_bool(false));
    cfx_value u = cfx_nth(&s, all, 0), v = cfx_nth(&s, all, 2);
    assert_near(product(scaled(u, cfx_nth(&s, all, 1)), v), x, most);
    assert_orthogonal(u, sizes[_i].type, most);
    assert_orthogonal(turned(v), sizes[_i].type, most);
}

TEST_EACH(full_singular_vectors_are_orthogonal, SIZES)
{
    cfx_value x = matrices(sizes[_i].type, 2, sizes[_i].n, sizes[_i].m);
    cfx_value all = CALL("torch.linalg.svd", x);
    assert_orthogonal(cfx_nth(&s, all, 0), sizes[_i].type, sizes[_i].most);
    assert_orthogonal(turned(cfx_nth(&s, all, 2)), sizes[_i].type,
                      sizes[_i].most);
}

TEST_CASE(torch_svd_gives_v_itself)
{
    cfx_value x = matrices(CFX_F64, 2, 5, 3);
    cfx_value all = CALL("torch.svd", x);
    cfx_value u = scaled(cfx_nth(&s, all, 0), cfx_nth(&s, all, 1));
    assert_near(product(u, turned(cfx_nth(&s, all, 2))), x, 1e-13);
}

/* A product of n by 3 and 3 by m numbers has three singular values. */
static cfx_value of_rank_3(cfx_dtype type, int64_t n, int64_t m)
{
    return product(matrices(type, 2, n, 3), matrices(type, 2, 3, m));
}

static cfx_value of_factors(cfx_value all)
{
    return product(scaled(cfx_nth(&s, all, 0), cfx_nth(&s, all, 1)),
                   turned(cfx_nth(&s, all, 2)));
}

TEST_EACH(svd_lowrank_finds_all_of_a_matrix_of_low_rank, 2)
{
    cfx_value x = of_rank_3(CFX_F64, _i ? 20 : 30, _i ? 30 : 20);
    cfx_value all = CALL("torch.svd_lowrank", x, cfx_int(4));
    assert_near(of_factors(all), x, 1e-12);
    assert_orthogonal(cfx_nth(&s, all, 0), CFX_F64, 1e-12);
    assert_orthogonal(cfx_nth(&s, all, 2), CFX_F64, 1e-12);
    cfx_value m = CALL("torch.mul", x, cfx_float(0.25));
    all = CALL("torch.svd_lowrank", x, cfx_int(4), cfx_int(0), m);
    assert_near(of_factors(all), CALL("torch.sub", x, m), 1e-12);
}

TEST_CASE(pca_lowrank_centers_columns)
{
    cfx_value x = of_rank_3(CFX_F32, 30, 20);
    cfx_value dim = cfx_int(1),
              mean = CALL("torch.mean", x, dim, cfx_bool(true));
    assert_near(of_factors(CALL("torch.pca_lowrank", x)),
                CALL("torch.sub", x, mean), 1e-4);
    assert_near(
        of_factors(CALL("torch.pca_lowrank", x, cfx_int(3), cfx_bool(false))),
        x, 1e-4);
}

TEST_EACH(eigenvectors_multiply_to_their_matrix, SIZES)
{
    cfx_value a = matrices(sizes[_i].type, 3, sizes[_i].n, sizes[_i].m);
    cfx_value x = product(a, turned(a));
    double most = sizes[_i].most * 50;
    cfx_value all = CALL("torch.linalg.eigh", x);
    cfx_value v = cfx_nth(&s, all, 1);
    assert_orthogonal(v, sizes[_i].type, most);
    assert_near(product(scaled(v, cfx_nth(&s, all, 0)), turned(v)), x, most);
}

TEST_EACH(qr_multiplies_to_its_matrix, SIZES)
{
    cfx_value x = matrices(sizes[_i].type, 3, sizes[_i].n, sizes[_i].m);
    cfx_value all = CALL("torch.linalg.qr", x);
    cfx_value q = cfx_nth(&s, all, 0), r = cfx_nth(&s, all, 1);
    assert_near(product(q, r), x, sizes[_i].most);
    assert_near(CALL("torch.triu", r), r, 0);
    assert_orthogonal(q, sizes[_i].type, sizes[_i].most);
}

TEST_EACH(lu_multiplies_to_its_matrix, SIZES)
{
    cfx_value x = matrices(sizes[_i].type, 3, sizes[_i].n, sizes[_i].m);
    cfx_value all = CALL("torch.linalg.lu", x);
    cfx_value p = cfx_nth(&s, all, 0), l = cfx_nth(&s, all, 1);
    assert_near(product(p, product(l, cfx_nth(&s, all, 2))), x,
                sizes[_i].most);
}

TEST_CASE(infinite_eigenvalues_are_refused_or_not_numbers)
{
    cfx_value x = CALL("torch.full", cfx_tuple(&s, cfx_int(4), cfx_int(4)),
                       cfx_float(NAN));
    cfx_value w = CALL("torch.linalg.eigvalsh", x);
    if (cfx_scope_failed(&s)) {
        ck_assert_int_eq(s.error.code, CFX_ENUMERIC);
        return;
    }
    ck_assert(isnan(((const float *)w.u.tensor->data)[0]));
}

/* A digest of the bits of results, of many small matrices or one large. */
static uint64_t digest(int threads, const char *name, int64_t batch, int64_t n)
{
    uint64_t sum = 0;
    start(threads);
    cfx_value x = matrices(CFX_F32, batch, n, n);
    cfx_value y = CALL(name, product(x, turned(x)));
    cfx_value first = cfx_value_is_seq(y) ? cfx_nth(&s, y, 1) : y;
    ck_assert_msg(!cfx_scope_failed(&s), "%s", s.error.text);
    const cfx_tensor *t = first.u.tensor;
    const uint32_t *bits = t->data;
    for (int64_t i = 0; i < cfx_tensor_numel(t); i++)
        sum = sum * 31 + bits[i];
    stop();
    return sum;
}

static const char *const names[] = {
    "torch.linalg.inv", "torch.linalg.eigh",       "torch.linalg.svd",
    "torch.linalg.qr",  "torch.linalg.matrix_exp", "torch.linalg.slogdet",
};

TEST_EACH(results_do_not_depend_on_threads, sizeof(names) / sizeof(*names))
{
    stop();
    ck_assert_uint_eq(digest(1, names[_i], 50, 9),
                      digest(3, names[_i], 50, 9));
    ck_assert_uint_eq(digest(1, names[_i], 2, 130),
                      digest(3, names[_i], 2, 130));
    setup();
}

TEST_CASE(threads_beyond_the_batch_need_no_memory)
{
    const cfx_options options = {
        .size = sizeof(options), .threads = 8, .max_memory = 4 << 20};
    stop();
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    CALL("torch.linalg.inv", matrices(CFX_F64, 1, 300, 300));
    ck_assert_msg(!cfx_scope_failed(&s), "%s", s.error.text);
    CALL("torch.linalg.inv", matrices(CFX_F64, 2, 300, 300));
    ck_assert_int_eq(s.error.code, CFX_ENOMEM);
}

TEST_SUITE(linalg, .setup = setup, .teardown = stop, .ready = ready,
           .timeout = 60)
