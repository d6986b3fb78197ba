/*
 * optimize_test -- the optimizer as a function.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/compare.h>
#include <cfx/optimize.h>
#include <cfx/shape_prop.h>

#include "tests/unit/rewrite/pass_test.h"
#include "tests/unit/unit.h"

/* A convolution, a batch norm and an activation, twice, and their sum. */
/* clang-format off */
static const char residual[] =
    "Net(\n"
    "  (a): Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"
    "  (n): BatchNorm2d(16, eps=1e-05, momentum=0.1, affine=True, "
        "track_running_stats=True)\n"
    "  (b): Conv2d(16, 16, kernel_size=(1, 1), stride=(1, 1))\n"
    "  (drop): Dropout(p=0.5, inplace=False)\n"
    ")\n\n" GRAPH IN("x") MOD("a", "a", "%x,") MOD("n", "n", "%a,")
    FN("r", "torch.relu", "%n,") MOD("b", "b", "%r,")
    FN("s", "operator.add", "%b, %r") MOD("drop", "drop", "%s,")
    FN("z", "torch.sigmoid", "%drop,") OUT("z");
/* clang-format on */

/* A table of int4, two in a byte, which is the weight of a layer too. */
/* clang-format off */
static const char tied[] =
    "# cfx 1\nNet()\n\n"
    "state:\n    t: u8[40, 8] buffer\n    s: f32[40, 2] buffer\n\n"
    GRAPH IN("i") "    %t : [num_users=2] = get_attr[target=t]\n"
    "    %s : [num_users=1] = get_attr[target=s]\n"
    FN("low", "torch.bitwise_and", "%t, 15")
    FN("high", "torch.bitwise_right_shift", "%t, 4")
    FN("both", "torch.stack", "[%low, %high], -1")
    FN("flat", "torch.flatten", "%both, 1")
    FN("wide", "torch.ops.quantized_decomposed.convert_element_type.no_fuse",
       "%flat, torch.int8") FN("q", "torch.sub", "%wide, 8")
    FN("d", "torch.ops.quantized_decomposed.dequantize_per_channel_group."
       "default", "%q, %s, None, -8, 7, torch.int8, 8, torch.float32")
    FN("e", "torch.nn.functional.embedding", "%i, %d")
    FN("y", "torch.nn.functional.linear", "%e, %d") OUT("%y");
/* clang-format on */

/* A recurrent layer with two directions; one whose weight is computed. */
/* clang-format off */
static const char recurrent[] =
    "# cfx 1\nNet(\n  (a): GRU(4, 5, bidirectional=True)\n)\n\n"
    "state:\n    w: f32[5, 10]\n    v: f32[5, 5]\n    h: f32[1, 2, 5]\n\n"
    GRAPH IN("x") MOD("a", "a", "%x,") FN("y", "operator.getitem", "%a, 0")
    AT("w", "w") AT("v", "v") AT("h", "h") FN("f", "torch.flip", "%w, [0]")
    FN("b", "torch.rnn_tanh", "%y, %h, [%f, %v], False, 1, 0.0, False, False, "
       "False") FN("z", "operator.getitem", "%b, 0") OUT("%z");
/* clang-format on */

static void load(void)
{
    model(residual);
    cfx_module_train(gm, false);
    assert_ok(cfx_module_randomize(gm, 1, &err));
}

static cfx_value image(int64_t batch)
{
    const int64_t shape[] = {batch, 3, 6, 5};
    cfx_tensor *t;
    assert_ok(cfx_tensor_new(&t, ctx, CFX_F32, 4, shape, &err));
    for (int64_t i = 0; i < cfx_tensor_numel(t); i++)
        ((float *)t->data)[i] = (float)(i % 7) - 3;
    return cfx_value_of_tensor(t);
}

static cfx_value run(cfx_value x)
{
    cfx_interp it = {0};
    cfx_value y;
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, gm, &err));
    assert_ok(cfx_interp_run(&it, &x, 1, &y, &err));
    cfx_interp_release(&it);
    return y;
}

static void assert_within(double rmax, cfx_value a, cfx_value b)
{
    const cfx_tolerance t = {.given = true, .rmax = rmax};
    cfx_difference d = {.differs = false};
    assert_ok(cfx_value_compare(&d, a, b, &t, &err));
    ck_assert_msg(!d.differs, "%s", d.text);
    cfx_value_unref(a);
    cfx_value_unref(b);
}

static void assert_close(cfx_value a, cfx_value b)
{
    assert_within(1e-5, a, b);
}

TEST_CASE(optimizing_keeps_the_result_and_leaves_no_shapes)
{
    load();
    cfx_value x = image(2), before = run(x);
    assert_ok(cfx_optimize(gm, &x, 1, NULL, &err));
    g = cfx_graph_module_graph(gm);
    assert_ok(cfx_graph_lint(g, &err));
    ck_assert(!cfx_graph_has_shapes(g));
    assert_close(before, run(x));
    cfx_value_unref(x);
}

/* The weights of a gate would stay float32. Only some levels multiply bfloat16, but all
 * read such weights. */
TEST_CASE(bfloat16_gives_nearly_the_result)
{
    const cfx_optimize_options o = {.size = sizeof(o), .bfloat16 = true};
    load();
    g = cfx_graph_module_graph(gm);
    assert_ok(cfx_node_set_op(cfx_graph_find(g, "z"), CFX_CALL_FUNCTION,
                              "torch.relu", &err));
    cfx_value x = image(2), before = run(x);
    assert_ok(cfx_optimize(gm, &x, 1, &o, &err));
    ck_assert_ptr_nonnull(cfx_graph_find_nodes(
        cfx_graph_module_graph(gm), CFX_GET_ATTR, "_bfloat16_0", NULL));
    assert_within(2e-2, before, run(x));
    cfx_value_unref(x);
}

TEST_CASE(an_optimized_graph_runs_with_another_batch)
{
    load();
    cfx_value x = image(1), y = image(3), before = run(y);
    assert_ok(cfx_optimize(gm, &x, 1, NULL, &err));
    assert_close(before, run(y));
    cfx_value_unref(x);
    cfx_value_unref(y);
}

TEST_CASE(optimizing_keeps_the_shapes_that_a_graph_had)
{
    load();
    cfx_value x = image(2);
    assert_ok(cfx_propagate_shapes(gm, NULL, &x, 1, NULL, &err));
    assert_ok(cfx_optimize(gm, &x, 1, NULL, &err));
    ck_assert(cfx_graph_has_shapes(cfx_graph_module_graph(gm)));
    cfx_value_unref(x);
}

/* addmm reads the weight and the bias of a container; sub the weight of a layer. */
static const char parts[] =
    "# cfx 1\nNet(\n  (c): Module()\n"
    "  (l): Linear(in_features=3, out_features=1, bias=True)\n)\n\n"
    "state:\n    spare: f32[4] buffer\n    c.w: f32[2, 3]\n"
    "    c.b: f32[3]\n\ngraph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %b : [num_users=1] = get_attr[target=c.b]\n"
    "    %w : [num_users=1] = get_attr[target=c.w]\n"
    "    %y : [num_users=1] = call_function[target=torch.addmm]"
    "(args = (%b, %x, %w), kwargs = {})\n"
    "    %v : [num_users=1] = get_attr[target=l.weight]\n"
    "    %z : [num_users=1] = call_function[target=torch.sub]"
    "(args = (%y, %v), kwargs = {})\n"
    "    return %z\n";

TEST_CASE(optimizing_removes_state_that_nothing_reads_any_more)
{
    const int64_t shape[] = {4, 2};
    cfx_tensor *t;
    model(parts);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    assert_ok(cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err));
    memset(t->data, 0, 8 * sizeof(float));
    cfx_value x = cfx_value_of_tensor(t), before = run(x);
    assert_ok(cfx_optimize(gm, &x, 1, NULL, &err));
    const cfx_module *c = cfx_module_at(gm, "c"), *l = cfx_module_at(gm, "l");
    ck_assert(!cfx_module_state(gm, "spare") && !cfx_module_state(c, "w"));
    ck_assert(cfx_module_state(gm, "_packed_0") && cfx_module_state(c, "b"));
    ck_assert(cfx_module_state(l, "weight") && cfx_module_state(l, "bias"));
    assert_close(before, run(x));
    cfx_value_unref(x);
}

static cfx_status count_pass(void *user, cfx_module *m,
                             const cfx_pass_report *report, cfx_error *e)
{
    (void)m;
    (void)e;
    ck_assert_str_eq(report->text, "remove_dropout");
    ++*(int *)user;
    return CFX_OK;
}

TEST_CASE(optimizing_takes_other_passes)
{
    int passes = 0;
    const cfx_optimize_options o = {.size = sizeof(o),
                                    .passes = "remove_dropout",
                                    .after = count_pass,
                                    .user = &passes};
    load();
    cfx_value x = image(1);
    assert_ok(cfx_optimize(gm, &x, 1, &o, &err));
    g = cfx_graph_module_graph(gm);
    assert_nodes("x a n r b s z output");
    ck_assert_int_eq(passes, 1);
    cfx_value_unref(x);
}

TEST_CASE(optimizing_refuses_what_has_no_graph_or_weights)
{
    model(residual);
    cfx_value x = image(1);
    ck_assert(cfx_optimize(gm, &x, 1, NULL, &err) != CFX_OK);
    ck_assert_int_eq(err.code, CFX_EWEIGHT);
    err = (cfx_error){0};
    ck_assert(cfx_optimize(gm, NULL, 0, NULL, &err) != CFX_OK);
    ck_assert_int_eq(err.code, CFX_EINVAL);
    err = (cfx_error){0};
    cfx_module *leaf = cfx_module_at(gm, "a");
    ck_assert_int_eq(cfx_optimize(leaf, &x, 1, NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "a Conv2d has no graph");
    cfx_value_unref(x);
}

/* ---- Tuning ---- */

/* One convolution of which there are two algorithms, and one of which not. */
static const char two_ways[] =
    "Net(\n"
    "  (a): Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"
    "  (b): Conv2d(16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"
    ")\n\n" GRAPH IN("x") MOD("a", "a", "%x,") MOD("b", "b", "%a,")
        FN("r", "torch.relu", "%b,") OUT("r");

static void load_two_ways(void)
{
    model(two_ways);
    assert_ok(cfx_module_randomize(gm, 1, &err));
}

static void remember(void *user, const char *node, double direct,
                     double winograd)
{
    int *calls = user;
    ck_assert_str_eq(node, "b");
    ck_assert(direct > 0 && direct < 10 && winograd > 0 && winograd < 10);
    ++*calls;
}

TEST_CASE(tuning_measures_what_has_two_algorithms)
{
    int calls = 0;
    const cfx_optimize_options o = {.size = sizeof(o),
                                    .tune_seconds = 1e-3,
                                    .tuned = remember,
                                    .user = &calls};
    load_two_ways();
    cfx_value x = image(2), before = run(x);
    assert_ok(cfx_optimize(gm, &x, 1, &o, &err));
    ck_assert_int_eq(calls, 1);
    assert_close(before, run(x));
    cfx_value_unref(x);
}

TEST_CASE(tuning_takes_no_passes)
{
    const cfx_optimize_options o = {
        .size = sizeof(o), .tune_seconds = 1, .passes = "dead_code"};
    load_two_ways();
    cfx_value x = image(2);
    cfx_optimize(gm, &x, 1, &o, &err);
    assert_failed(CFX_EINVAL, "tuning chooses among cfx_optimize_passes: it "
                              "takes no other passes");
    cfx_value_unref(x);
}

/* ---- Lack of memory ---- */

static cfx_value shared_input;
static const cfx_optimize_options *shared_options;

static bool optimize_once(void)
{
    cfx_module *copy = NULL;
    cfx_status st = cfx_module_copy(&copy, gm, &err);
    if (!st)
        st = cfx_optimize(copy, &shared_input, 1, shared_options, &err);
    long left = allowed;
    allowed = -1;
    if (copy && cfx_graph_lint(cfx_graph_module_graph(copy), NULL))
        ck_abort_msg("a broken graph is left");
    allowed = left;
    cfx_module_unref(copy);
    return !st;
}

TEST_CASE(optimizing_is_clean_when_memory_is_lacking)
{
    load();
    shared_input = image(1);
    fail_each_allocation(optimize_once);
    cfx_value_unref(shared_input);
}

TEST_CASE(tuning_is_clean_when_memory_is_lacking)
{
    const cfx_optimize_options o = {.size = sizeof(o), .tune_seconds = 1e-6};
    load_two_ways();
    shared_input = image(1);
    shared_options = &o;
    fail_each_allocation(optimize_once);
    shared_options = NULL;
    cfx_value_unref(shared_input);
}

TEST_CASE(weights_are_packed_or_left_when_memory_is_lacking)
{
    const int64_t two = 2;
    cfx_tensor *t;
    model(tied);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    assert_ok(cfx_tensor_new(&t, ctx, CFX_I64, 1, &two, &err));
    ((int64_t *)t->data)[0] = 3;
    ((int64_t *)t->data)[1] = 39;
    shared_input = cfx_value_of_tensor(t);
    fail_each_allocation(optimize_once);
    cfx_value before = run(shared_input);
    assert_ok(cfx_optimize(gm, &shared_input, 1, NULL, &err));
    g = cfx_graph_module_graph(gm);
    assert_nodes("i _int4_0 _scale_0 packed_embedding_default "
                 "packed_linear_default output");
    assert_close(before, run(shared_input));
    cfx_tensor_unref(t);
}

TEST_CASE(recurrent_layers_are_packed_or_left_when_memory_is_lacking)
{
    const int64_t shape[] = {3, 2, 4};
    cfx_tensor *t;
    model(recurrent);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    assert_ok(cfx_tensor_new(&t, ctx, CFX_F32, 3, shape, &err));
    for (int i = 0; i < 24; i++)
        ((float *)t->data)[i] = (float)i / 8 - 1;
    shared_input = cfx_value_of_tensor(t);
    fail_each_allocation(optimize_once);
    cfx_value before = run(shared_input);
    assert_ok(cfx_optimize(gm, &shared_input, 1, NULL, &err));
    g = cfx_graph_module_graph(gm);
    assert_nodes("x size new_zeros _packed_0 _packed_1 _bias_0 _bias_1 "
                 "_packed_2 _packed_3 _bias_2 _bias_3 packed_gru_default "
                 "y h _packed_4 _packed_5 packed_rnn_tanh_default z "
                 "output");
    assert_close(before, run(shared_input));
    cfx_tensor_unref(t);
}

TEST_SUITE(optimize, .setup = setup, .teardown = teardown, .timeout = 120)
