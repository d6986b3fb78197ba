/*
 * op_shape_test -- what golden files and tests/cases/shapes cannot test of
 * operators that view, index, join and create: symbols that one call creates
 * and another uses, random numbers, views that share memory, refusals.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/scope.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_shape_env *env;
static cfx_scope scope;

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
    cfx_scope_init(&scope, &cfx_eager_class, ctx, NULL);
}

static void teardown(void)
{
    cfx_scope_release(&scope);
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
}

/* From here on calls propagate shapes. */
static void use_symbols(void)
{
    cfx_scope_release(&scope);
    cfx_scope_init(&scope, &cfx_meta_class, ctx, env);
}

/* ---- Short ways to say things ---- */

/* A meta of extents as a person writes them: meta("N,3"). */
static cfx_value meta_as(cfx_dtype dtype, const char *text)
{
    cfx_dim shape[CFX_MAX_RANK];
    char part[64];
    cfx_tensor *t;
    int rank = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        snprintf(part, sizeof(part), "%.*s", (int)n, text);
        ck_assert_int_eq(cfx_dim_parse(&shape[rank++], env, part, NULL),
                         CFX_OK);
        text += n + (text[n] == ',');
    }
    ck_assert_int_eq(cfx_tensor_meta(&t, ctx, dtype, rank, shape, NULL, NULL),
                     CFX_OK);
    return cfx_scope_take(&scope, cfx_value_of_tensor(t));
}

static cfx_value meta(const char *text)
{
    return meta_as(CFX_F32, text);
}

/* A tensor of n floats: 0, 1, 2, ... */
static cfx_value ramp(int64_t n)
{
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 1, &n, NULL), CFX_OK);
    for (int64_t i = 0; i < n; i++)
        ((float *)t->data)[i] = (float)i;
    return cfx_scope_take(&scope, cfx_value_of_tensor(t));
}

static cfx_value symbol(const char *text)
{
    cfx_dim d;
    ck_assert_int_eq(cfx_dim_parse(&d, env, text, NULL), CFX_OK);
    return cfx_value_of_dim(d);
}

#define CALL(name, ...) cfx_call_function(&scope, name, CFX_ARGS(__VA_ARGS__))
#define METHOD(name, ...) cfx_call_method(&scope, name, CFX_ARGS(__VA_ARGS__))

static void assert_shape(cfx_value v, const char *want)
{
    char have[256];
    ck_assert_msg(!cfx_scope_failed(&scope), "%s", scope.error.text);
    ck_assert_int_eq(v.kind, CFX_TENSOR);
    cfx_tensor_format_type(v.u.tensor, have, sizeof(have));
    ck_assert_str_eq(have, want);
}

static void assert_dim(cfx_value v, const char *want)
{
    char have[128];
    ck_assert_msg(!cfx_scope_failed(&scope), "%s", scope.error.text);
    ck_assert(v.kind == CFX_INT || v.kind == CFX_SYMINT);
    cfx_dim_format(cfx_value_dim(v), have, sizeof(have));
    ck_assert_str_eq(have, want);
}

static void assert_fails(const char *part)
{
    ck_assert_msg(cfx_scope_failed(&scope), "it did not fail");
    ck_assert_msg(strstr(scope.error.text, part), "'%s' is not in '%s'", part,
                  scope.error.text);
    cfx_scope_release(&scope);
    cfx_scope_init(&scope, scope.cls, ctx, scope.env);
}

static cfx_value ints(int64_t a, int64_t b)
{
    return cfx_tuple(&scope, cfx_int(a), cfx_int(b));
}

static cfx_value slice(cfx_value from, cfx_value to)
{
    cfx_value part[] = {from, to, cfx_none()};
    return cfx_scope_take(&scope, cfx_seq_new(ctx, CFX_SLICE, 3, part, NULL));
}

static const float *floats(cfx_value v)
{
    assert_each_msg(!cfx_scope_failed(&scope), "%s", scope.error.text);
    assert_each_eq(v.u.tensor->dtype, CFX_F32);
    return v.u.tensor->data;
}

/* ---- Symbols ---- */

TEST_CASE(a_float_of_a_symbol_is_not_known)
{
    use_symbols();
    cfx_value half = CALL("operator.truediv", symbol("N"), cfx_int(2));
    ck_assert_int_eq(half.kind, CFX_FLOAT);
    ck_assert(isnan(half.u.f));
}

TEST_CASE(counts_that_the_numbers_tell_are_new_symbols)
{
    use_symbols();
    cfx_value x = meta("N,8"), mask = meta_as(CFX_BOOL, "N,8");
    assert_shape(CALL("operator.getitem", x, mask), "f32[u0]");
    assert_shape(CALL("torch.masked_select", x, mask), "f32[u1]");
    assert_shape(CALL("torch.nonzero", x), "i64[u2, 2]");
    cfx_value n = METHOD("item", meta_as(CFX_I64, "1"));
    assert_dim(n, "u3");
    assert_shape(CALL("torch.zeros", n), "f32[u3]");
}

TEST_CASE(without_numbers_nothing_is_asserted)
{
    use_symbols();
    CALL("torch._assert", meta_as(CFX_BOOL, "1"), cfx_str(&scope, "no"));
    ck_assert(!cfx_scope_failed(&scope));
    METHOD("tolist", meta_as(CFX_BOOL, "2"));
    assert_fails("depends on the numbers");
}

/* ---- Views share memory ---- */

TEST_CASE(views_share_memory_and_setitem_writes_through)
{
    cfx_value x = ramp(6);
    cfx_value m = METHOD("view", x, cfx_int(2), cfx_int(3));
    cfx_value row = CALL("operator.getitem", m, cfx_int(1));
    ck_assert_ptr_eq(row.u.tensor->data, (float *)x.u.tensor->data + 3);
    CALL("operator.setitem", row, slice(cfx_int(0), cfx_int(2)), cfx_float(9));
    ck_assert(floats(x)[3] == 9 && floats(x)[4] == 9 && floats(x)[5] == 5);
    cfx_value part = CALL("operator.getitem",
                          CALL("torch.split", x, cfx_int(2)), cfx_int(2));
    METHOD("fill_", part, cfx_int(7));
    ck_assert(floats(x)[3] == 9 && floats(x)[4] == 7 && floats(x)[5] == 7);
}

TEST_CASE(what_changes_nothing_is_the_tensor_itself)
{
    cfx_value x = ramp(4);
    cfx_value f32 = cfx_value_of_dtype(CFX_F32);
    ck_assert_ptr_eq(METHOD("contiguous", x).u.tensor, x.u.tensor);
    ck_assert_ptr_eq(METHOD("to", x, f32).u.tensor, x.u.tensor);
    ck_assert_ptr_eq(METHOD("float", x).u.tensor, x.u.tensor);
    ck_assert_ptr_eq(METHOD("cpu", x).u.tensor, x.u.tensor);
    cfx_value kept = CALL("torch.nn.functional.dropout", x, cfx_float(0.5),
                          cfx_bool(false));
    ck_assert_ptr_eq(kept.u.tensor, x.u.tensor);
    kept = CALL("torchvision.ops.stochastic_depth.stochastic_depth", x,
                cfx_float(0.2), cfx_str(&scope, "row"), cfx_bool(false));
    ck_assert_ptr_eq(kept.u.tensor, x.u.tensor);
    ck_assert_ptr_ne(METHOD("clone", x).u.tensor->data, x.u.tensor->data);
}

TEST_CASE(writing_from_an_overlapping_view_reads_first)
{
    cfx_value x = ramp(5);
    cfx_value from = CALL("operator.getitem", x,
                          slice(cfx_int(0), cfx_int(4)));
    CALL("operator.setitem", x, slice(cfx_int(1), cfx_int(5)), from);
    for (int i = 1; i < 5; i++)
        ck_assert(floats(x)[i] == (float)(i - 1));
}

/* ---- Random numbers ---- */

enum { MANY = 100000 };

static double mean_of(cfx_value v, double *deviation)
{
    double sum = 0, squares = 0;
    int64_t n = cfx_tensor_numel(v.u.tensor);
    for (int64_t i = 0; i < n; i++) {
        double f = (double)floats(v)[i];
        sum += f;
        squares += f * f;
    }
    sum /= (double)n;
    *deviation = sqrt(squares / (double)n - sum * sum);
    return sum;
}

TEST_CASE(random_numbers_are_distributed_as_asked)
{
    double dev, mean = mean_of(CALL("torch.rand", cfx_int(MANY)), &dev);
    ck_assert(fabs(mean - 0.5) < 0.01 && fabs(dev - 0.288675) < 0.01);
    mean = mean_of(CALL("torch.randn", cfx_int(MANY)), &dev);
    ck_assert(fabs(mean) < 0.02 && fabs(dev - 1) < 0.02);
    cfx_value size = cfx_tuple(&scope, cfx_int(MANY));
    mean = mean_of(CALL("torch.normal", cfx_float(3), cfx_float(0.5), size),
                   &dev);
    ck_assert(fabs(mean - 3) < 0.02 && fabs(dev - 0.5) < 0.02);
    cfx_value three = CALL("torch.full", size, cfx_float(3));
    mean = mean_of(CALL("torch.normal", three, cfx_float(0.5)), &dev);
    ck_assert(fabs(mean - 3) < 0.02 && fabs(dev - 0.5) < 0.02);
    mean = mean_of(CALL("torch.normal", cfx_float(1), three), &dev);
    ck_assert(fabs(mean - 1) < 0.1 && fabs(dev - 3) < 0.1);
    cfx_value y = METHOD("float",
                         CALL("torch.randint", cfx_int(-2), cfx_int(3), size));
    mean = mean_of(y, &dev);
    ck_assert(fabs(mean) < 0.03 && fabs(dev - sqrt(2)) < 0.03);
}

TEST_CASE(uniform_numbers_stay_below_their_end)
{
    cfx_value y = CALL("torch.rand", cfx_int(MANY));
    for (int i = 0; i < MANY; i++)
        assert_each(floats(y)[i] >= 0 && floats(y)[i] < 1);
}

TEST_CASE(the_same_seed_gives_the_same_numbers)
{
    cfx_context_seed(ctx, 7);
    cfx_value a = CALL("torch.rand", cfx_int(100));
    cfx_value b = CALL("torch.rand", cfx_int(100));
    cfx_context_seed(ctx, 7);
    cfx_value c = CALL("torch.rand", cfx_int(100));
    ck_assert(!memcmp(floats(a), floats(c), 400));
    ck_assert(memcmp(floats(a), floats(b), 400));
}

TEST_CASE(a_random_order_holds_each_number_once)
{
    bool seen[1000] = {false};
    cfx_value y = CALL("torch.randperm", cfx_int(1000));
    const int64_t *p = y.u.tensor->data;
    int moved = 0;
    for (int i = 0; i < 1000; i++) {
        ck_assert(p[i] >= 0 && p[i] < 1000 && !seen[p[i]]);
        seen[p[i]] = true;
        moved += p[i] != i;
    }
    ck_assert_int_gt(moved, 900);
}

TEST_CASE(dropout_drops_a_share_and_scales_the_rest)
{
    cfx_value ones = CALL("torch.ones", cfx_int(MANY));
    cfx_value y = CALL("torch.nn.functional.dropout", ones, cfx_float(0.25));
    int dropped = 0;
    for (int i = 0; i < MANY; i++) {
        float f = floats(y)[i];
        assert_each(f == 0 || fabsf(f - 4.0f / 3) < 1e-6f);
        dropped += f == 0;
    }
    ck_assert(abs(dropped - MANY / 4) < 1000);
}

TEST_CASE(dropout_in_place_writes_to_its_argument)
{
    cfx_value ones = CALL("torch.ones", cfx_int(1000));
    cfx_value y = CALL("torch.nn.functional.dropout", ones, cfx_float(0.5),
                       cfx_bool(true), cfx_bool(true));
    ck_assert_ptr_eq(y.u.tensor, ones.u.tensor);
    for (int i = 0; i < 1000; i++)
        ck_assert(floats(ones)[i] == 0 || floats(ones)[i] == 2);
}

TEST_CASE(channels_are_dropped_as_one)
{
    cfx_value ones = CALL("torch.ones", cfx_int(8), cfx_int(16), cfx_int(4),
                          cfx_int(4));
    cfx_value y = CALL("torch.nn.functional.dropout2d", ones, cfx_float(0.5));
    int dropped = 0;
    for (int c = 0; c < 128; c++) {
        for (int i = 1; i < 16; i++)
            ck_assert(floats(y)[16 * c + i] == floats(y)[16 * c]);
        dropped += floats(y)[16 * c] == 0;
    }
    ck_assert(dropped > 30 && dropped < 98);
}

TEST_CASE(alpha_dropout_keeps_mean_and_deviation)
{
    double dev;
    cfx_value x = CALL("torch.randn", cfx_int(MANY));
    double mean = mean_of(CALL("torch.nn.functional.alpha_dropout", x,
                               cfx_float(0.3), cfx_bool(true)),
                          &dev);
    ck_assert(fabs(mean) < 0.03 && fabs(dev - 1) < 0.03);
}

TEST_CASE(stochastic_depth_drops_rows_or_all)
{
    cfx_value ones = CALL("torch.ones", cfx_int(200), cfx_int(3));
    cfx_value y = CALL("torchvision.ops.stochastic_depth.stochastic_depth",
                       ones, cfx_float(0.5), cfx_str(&scope, "row"));
    int dropped = 0;
    for (int i = 0; i < 200; i++) {
        const float *row = floats(y) + 3 * i;
        ck_assert(row[0] == row[1] && row[1] == row[2]);
        ck_assert(row[0] == 0 || row[0] == 2);
        dropped += row[0] == 0;
    }
    ck_assert(dropped > 60 && dropped < 140);
    y = CALL("torchvision.ops.stochastic_depth.stochastic_depth", ones,
             cfx_float(0.5), cfx_str(&scope, "batch"));
    for (int i = 1; i < 600; i++)
        ck_assert(floats(y)[i] == floats(y)[0]);
    CALL("torchvision.ops.stochastic_depth.stochastic_depth", ones,
         cfx_float(0.5), cfx_str(&scope, "column"));
    assert_fails("mode has to be either 'batch' or 'row'");
}

TEST_CASE(bernoulli_follows_its_probabilities)
{
    double dev;
    cfx_value x = CALL("torch.full", cfx_tuple(&scope, cfx_int(MANY)),
                       cfx_float(0.2));
    ck_assert(fabs(mean_of(CALL("torch.bernoulli", x), &dev) - 0.2) < 0.01);
    ck_assert(fabs(mean_of(CALL("torch.bernoulli", x, cfx_float(0.7)), &dev) -
                   0.7) < 0.01);
}

/* Medians, since a mean of Cauchy's distribution does not exist. */
static double median_of(const char *name, double a, double b)
{
    cfx_value x = CALL("torch.empty", cfx_int(MANY));
    x = CALL(name, x, cfx_float(a), cfx_float(b));
    return floats(CALL("torch.median", x))[0];
}

TEST_CASE(numbers_follow_their_distributions)
{
    double dev, mean;
    cfx_value x = CALL("torch.empty", cfx_int(MANY));
    mean = mean_of(CALL("Tensor.exponential_", x, cfx_float(4)), &dev);
    ck_assert(fabs(mean - 0.25) < 0.01 && fabs(dev - 0.25) < 0.01);
    mean = mean_of(CALL("Tensor.geometric_", x, cfx_float(0.4)), &dev);
    ck_assert(fabs(mean - 2.5) < 0.1 && fabs(dev - sqrt(0.6) / 0.4) < 0.1);
    ck_assert(fabs(median_of("Tensor.cauchy_", 2, 0.5) - 2) < 0.03);
    ck_assert(fabs(median_of("Tensor.log_normal_", 0.5, 2) - exp(0.5)) < 0.15);
}

/* Shares of three elements among first samples. */
static void shares(cfx_value y, double *share)
{
    int64_t n = cfx_tensor_numel(y.u.tensor);
    for (int k = 0; k < 3; k++)
        share[k] = 0;
    for (int64_t i = 0; i < n; i++)
        share[((const int64_t *)y.u.tensor->data)[i]] += 1.0 / (double)n;
}

TEST_CASE(multinomial_follows_its_probabilities)
{
    double share[3];
    cfx_value p = CALL("torch.arange", cfx_int(3));
    p = CALL("Tensor.to", p, cfx_value_of_dtype(CFX_F32));
    shares(CALL("torch.multinomial", p, cfx_int(MANY), cfx_bool(true)), share);
    ck_assert(share[0] == 0 && fabs(share[1] - 1. / 3) < 0.02);
    cfx_value rows = CALL("torch.expand_copy", p, ints(MANY, 3));
    shares(CALL("torch.multinomial", rows, cfx_int(1)), share);
    ck_assert(share[0] == 0 && fabs(share[1] - 1. / 3) < 0.02);
    shares(CALL("torch.multinomial", rows, cfx_int(3)), share);
    ck_assert(fabs(share[0] - share[1]) < 1e-6);
}

/* ---- What is open in PyTorch, and what is refused here ---- */

TEST_CASE(empty_tensors_are_zero)
{
    cfx_value y = CALL("torch.empty", cfx_int(50));
    cfx_value z = CALL("torch.empty_strided", ints(2, 3), ints(1, 4));
    for (int i = 0; i < 50; i++)
        ck_assert(floats(y)[i] == 0);
    ck_assert(cfx_tensor_stride(z.u.tensor, 1) == 4 && floats(z)[9] == 0);
}

TEST_CASE(ints_beyond_64_bits_are_an_error)
{
    CALL("operator.add", cfx_int(INT64_MAX), cfx_int(1));
    assert_fails("does not fit an int of 64 bits");
    CALL("operator.mul", cfx_int(INT64_MIN), cfx_int(-1));
    assert_fails("does not fit");
    CALL("operator.pow", cfx_int(10), cfx_int(19));
    assert_fails("does not fit");
    CALL("operator.lshift", cfx_int(1), cfx_int(63));
    assert_fails("does not fit");
    CALL("operator.floordiv", cfx_int(INT64_MIN), cfx_int(-1));
    assert_fails("does not fit");
    CALL("operator.neg", cfx_int(INT64_MIN));
    assert_fails("does not fit");
    CALL("builtins.int", cfx_str(&scope, "99999999999999999999"));
    assert_fails("does not fit");
    CALL("builtins.round", cfx_int(INT64_MIN), cfx_int(-3));
    assert_fails("does not fit");
    CALL("operator.getitem",
         CALL("builtins.range", cfx_int(0), cfx_int(5), cfx_int(0)),
         cfx_int(0));
    assert_fails("out of range");
    CALL("builtins.int", cfx_float(1e19));
    assert_fails("does not fit");
}

TEST_CASE(repeating_a_tuple_beyond_memory_is_an_error)
{
    CALL("operator.mul", ints(1, 2), cfx_int(INT64_MAX));
    assert_fails("are too many");
}

/* full([t, t], t), of tensors without axes, after so many allocations. */
static cfx_status full_of_tensors(long n)
{
    const cfx_options o = {.size = sizeof(o),
                           .threads = 1,
                           .allocator = {test_alloc, test_free, NULL}};
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
    cfx_scope_init(&scope, &cfx_meta_class, ctx, env);
    cfx_value t = meta_as(CFX_I64, "");
    cfx_value size = cfx_list(&scope, t, t);
    ck_assert_ptr_nonnull(cfx_find_function(ctx, "torch.full"));
    refused = false;
    allowed = n;
    cfx_value y = CALL("torch.full", size, t);
    allowed = -1;
    cfx_status st = scope.error.code;
    ck_assert(st || y.u.tensor->rank == 2);
    teardown();
    ck_assert_int_eq(held, 0);
    return st;
}

TEST_CASE(numbers_of_tensors_lack_memory_as_such)
{
    teardown();
    for (long n = 0; !n || refused; n++) {
        cfx_status st = full_of_tensors(n);
        ck_assert_msg(!st || (refused && st == CFX_ENOMEM), "%ld: %s", n,
                      cfx_status_name(st));
    }
    setup();
}

static cfx_value neg_into(cfx_value x, cfx_value out)
{
    cfx_value kw[] = {cfx_str(&scope, "out"), out};
    return cfx_call_function(&scope, "torch.neg", (cfx_args){&x, 1, kw, 1});
}

TEST_CASE(results_resize_no_tensor)
{
    neg_into(ramp(6), ramp(3));
    assert_fails("an output with one or more elements would be resized since "
                 "it is f32[3], which does not match the required output "
                 "shape f32[6]");
    neg_into(ramp(6), ramp(0));
    assert_fails("out is f32[0] and would be resized to f32[6]");
    use_symbols();
    assert_shape(neg_into(meta("N,4"), meta("3,M")), "f32[3, M]");
    neg_into(meta("N,4"), meta("3,5"));
    assert_fails("does not match the required output shape");
}

TEST_CASE(assertions_fail_with_their_own_words)
{
    CALL("torch._assert", cfx_bool(false), cfx_str(&scope, "Wrong width!"));
    ck_assert_str_eq(scope.error.text, "Wrong width!");
}

TEST_SUITE(op_shape, .setup = setup, .teardown = teardown, .timeout = 60)
