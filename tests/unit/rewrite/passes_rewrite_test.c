/*
 * passes_rewrite_test -- decompositions by tables that a program gives.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/decompose.h>
#include <cfx/ops.h>

#include "tests/unit/rewrite/pass_test.h"
#include "tests/unit/unit.h"

/* A decomposition into operators that are decomposed in turn. */
static cfx_value twice_silu(cfx_scope *s, const cfx_value *in)
{
    return cfx_silu(s, cfx_silu(s, in[0]));
}

static cfx_value mine(cfx_scope *s, const cfx_value *in)
{
    return cfx_neg(s, in[0]);
}

static cfx_value itself(cfx_scope *s, const cfx_value *in)
{
    return cfx_relu(s, in[0]);
}

static bool skip_b(void *user, const cfx_node *n)
{
    (void)user;
    return !strcmp(n->name, "b");
}

TEST_CASE(tables_of_programs_come_first)
{
    static const cfx_decomposition table[] = {
        {"aten.gelu.default", twice_silu},
        {"aten.square.default", mine},
    };
    cfx_decompose_options o = {.size = sizeof(o), .table = table, .n = 2};
    const char *text = GRAPH IN("x") FN("a", "torch.nn.functional.gelu", "%x,")
        ME("b", "square", "%a,") OUT("b");
    size_t all;
    model(text);
    assert_ok(cfx_decompose(gm, &o, &all, &err));
    assert_nodes("x sigmoid mul sigmoid_1 mul_1 neg output");
    model(text);
    o.only_table = true;
    o.skip = skip_b;
    assert_ok(cfx_decompose(gm, &o, &all, &err));
    assert_nodes("x silu silu_1 b output");
}

TEST_CASE(tables_that_make_no_sense_are_refused)
{
    static const cfx_decomposition unknown[] = {{"aten.frob.default", mine}};
    static const cfx_decomposition loop[] = {{"aten.relu.default", itself}};
    cfx_decompose_options o = {.size = sizeof(o), .table = unknown, .n = 1};
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,") OUT("a"));
    ck_assert_int_eq(cfx_decompose(gm, &o, NULL, &err), CFX_ENAME);
    assert_failed(CFX_ENAME,
                  "decompose: there is no operator 'aten.frob.default'");
    o.table = loop;
    ck_assert_int_eq(cfx_decompose(gm, &o, NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "decompose: torch.relu leads to itself");
    assert_ok(cfx_graph_lint(g, &err));
}

TEST_SUITE(passes_rewrite, .setup = setup, .teardown = teardown, .timeout = 60)
