/*
 * passes_test -- passes with functions of a program, on graphs in disorder, on
 * large ones and while memory is lacking. What each makes of small graphs is in
 * tests/cases/passes/.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/fold_constants.h>

#include "tests/unit/rewrite/pass_test.h"
#include "tests/unit/unit.h"

/* ---- 87: constant folding ---- */

/* clang-format off */
static const char folded[] =
    "Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n)\n\n"
    GRAPH IN("x") AT("w", "fc.weight") FN("t", "torch.t", "%w,")
    FN("s", "operator.mul", "%t, 2.0") AT("b", "fc.bias")
    FN("c", "operator.add", "%b, 1") FN("m", "torch.matmul", "%x, %s")
    FN("y", "operator.add", "%m, %c") OUT("y");
/* clang-format on */

static bool skip_adds(void *user, const cfx_node *n)
{
    ++*(int *)user;
    return cfx_node_is(n, "add");
}

TEST_CASE(const_fold_asks_a_function_what_to_skip)
{
    int calls = 0;
    size_t all;
    const cfx_fold_options o = {.size = sizeof(o),
                                .skip = skip_adds,
                                .user = &calls,
                                .prefix = "constant"};
    model(folded);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    assert_ok(cfx_fold_constants(gm, &o, &all, &err));
    ck_assert_int_gt(calls, 3);
    assert_nodes("x constant0 b c m y output");
}

/* ---- Order ---- */

TEST_CASE(legalize_moves_only_what_must_move)
{
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,") FN(
        "b", "torch.neg", "%a,") FN("c", "torch.abs", "%x,") OUT("(b, c)"));
    apply("legalize");
    ck_assert_uint_eq(changed, 0);
    assert_ok(cfx_node_prepend(node("a"), node("b"), &err));
    assert_nodes("x b a c output");
    apply("legalize");
    assert_nodes("x a b c output");
    ck_assert_uint_eq(changed, 1);
}

TEST_CASE(legalize_refuses_cycles)
{
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,")
              FN("b", "torch.neg", "%a,") OUT("b"));
    assert_ok(
        cfx_node_update_arg(node("a"), 0, cfx_value_of_node(node("b")), &err));
    ck_assert_int_eq(cfx_pass_apply(gm, "legalize", false, NULL, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Input graph has cycles, unable to add [a, b, "
                              "output]");
}

/* ---- For all ---- */

/* A graph in which most passes find work. */
/* clang-format off */
static const char busy[] =
    "Net(\n  (fc): Linear(in_features=3, out_features=3, bias=True)\n"
    "  (bn): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, "
    "track_running_stats=True)\n)\n\n"
    GRAPH IN("x") ME("a", "relu", "%x,") ME("b", "relu", "%x,")
    FN("c", "operator.add", "%a, %b") MOD("d", "fc", "%c,")
    MOD("e", "bn", "%d,") AT("w", "fc.weight") FN("t", "torch.t", "%w,")
    FN("f", "torch.matmul", "%e, %t") FN("g", "torch.nn.functional.gelu",
    "%f,") FN("u", "torch.neg", "%g,") ME("v", "view", "%g, -1")
    FN("h", "operator.mul", "%v, 2") OUT("h");
/* clang-format on */

static const char *pass_text; /* of the pass under test */

static bool apply_to_busy(void)
{
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context *c = NULL;
    cfx_module *m = NULL;
    cfx_status st = cfx_context_new(&c, &o, &err);
    if (!st)
        st = cfx_parse_model(&m, c, busy, sizeof(busy) - 1, "test", &err);
    if (!st)
        st = cfx_module_randomize(m, 1, &err);
    if (!st)
        st = cfx_pass_apply(m, pass_text, false, NULL, &err);
    /* Also after a failure the graph is well-formed. */
    long left = allowed;
    allowed = -1;
    if (m && cfx_graph_lint(cfx_graph_module_graph(m), NULL))
        ck_abort_msg("%s leaves a broken graph", pass_text);
    allowed = left;
    cfx_module_unref(m);
    cfx_context_free(c);
    return !st;
}

TEST_CASE(passes_are_clean_when_memory_is_lacking)
{
    char name[64];
    for (size_t i = 0; cfx_pass_at(ctx, i); i++) {
        const char *schema = cfx_pass_at(ctx, i)->schema;
        const cfx_schema *s = cfx_pass_schema(ctx, cfx_pass_at(ctx, i));
        if (s->nparams && s->params[0].required)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(schema, "("),
                 schema);
        pass_text = name;
        fail_each_allocation(apply_to_busy);
    }
    pass_text = "normalize(to=aten, tensors=True)";
    fail_each_allocation(apply_to_busy);
}

/* Sixty thousand nodes: what is quadratic takes minutes. */
TEST_CASE(passes_take_time_in_proportion_to_the_graph)
{
    enum { N = 60000 };
    for (size_t i = 0; cfx_pass_at(ctx, i); i++) {
        const cfx_pass *p = cfx_pass_at(ctx, i);
        const cfx_schema *s = cfx_pass_schema(ctx, p);
        if (s->nparams && s->params[0].required)
            continue;
        model(GRAPH IN("x") OUT("x"));
        cfx_node *x = node("x"), *last = x;
        cfx_graph_inserting_before(g, cfx_graph_output_node(g));
        for (int k = 0; k < N; k++) {
            cfx_value args[] = {cfx_value_of_node(k % 3 ? last : x),
                                cfx_value_of_node(last)};
            last = cfx_graph_call_function(
                g, k % 2 ? "operator.add" : "torch.relu",
                cfx_args_of(args, k % 2 ? 2 : 1), &err);
            if (!last)
                ck_abort_msg("%s", err.text);
        }
        assert_ok(cfx_node_update_arg(cfx_graph_output_node(g), 0,
                                      cfx_value_of_node(last), &err));
        assert_ok(cfx_pass_run(p, gm, CFX_NO_ARGS, false, NULL, &err));
        g = cfx_graph_module_graph(gm);
        assert_ok(cfx_graph_lint(g, &err));
    }
}

TEST_SUITE(passes, .setup = setup, .teardown = teardown, .timeout = 60)
