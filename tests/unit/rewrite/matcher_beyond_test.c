/*
 * matcher_beyond_test -- patterns that torch.fx does not have, what is no
 * pattern, large ones, and lack of memory.
 */
#include <stdio.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/rewrite/matcher_test.h"
#include "tests/unit/unit.h"

/* ---- Beyond torch.fx ---- */

static size_t meant(const char *in, const char *what)
{
    return COUNT(in, what, .by_operator = true);
}

TEST_CASE(spellings_of_one_operator_are_one_call)
{
    const char *what = "x y | a = torch.add(x, y) | a";
    ck_assert_uint_eq(meant("x y | a = torch.add(x, y) | a", what), 1);
    ck_assert_uint_eq(meant("x y | a = x.add(y) | a", what), 1);
    ck_assert_uint_eq(meant("x y | a = operator.add(x, y) | a", what), 1);
    ck_assert_uint_eq(
        meant("x y | a = torch.ops.aten.add.Tensor(x, y) | a", what), 1);
    ck_assert_uint_eq(meant("x y | a = torch.add(x, other=y) | a", what), 1);
    ck_assert_uint_eq(meant("x y | a = torch.add(x, y, alpha=1) | a", what),
                      1);
    ck_assert_uint_eq(meant("x y | a = torch.add(x, y, alpha=2) | a", what),
                      0);
    ck_assert_uint_eq(meant("x y | a = x.add_(y) | a", what), 0);
    ck_assert_uint_eq(
        meant("x y | a = operator.iadd(x, y) | a", "x y | a = x.add_(y) | a"),
        1);
    ck_assert_uint_eq(meant("x y | a = operator.iadd(x, y) | a",
                            "x y | a = operator.add(x, y) | a"),
                      0);
    ck_assert_uint_eq(meant("x y | a = torch.sub(x, y) | a", what), 0);
    ck_assert_uint_eq(meant("x y | a = torch.add(y, x) | a", what), 1);
}

TEST_CASE(arguments_match_as_they_are_bound)
{
    const char *what = "x w | a = torch.conv2d(x, w, None, 2, 1) | a";
    ck_assert_uint_eq(meant("x w | a = torch.nn.functional.conv2d(x, w,"
                            " stride=(2, 2), padding=1) | a",
                            what),
                      1);
    ck_assert_uint_eq(meant("x w | a = torch.conv2d(x, w, stride=(2, 1),"
                            " padding=1) | a",
                            what),
                      0);
    ck_assert_uint_eq(meant("x | a = torch.nn.functional.relu(x,"
                            " inplace=False) | a",
                            "x | a = x.relu() | a"),
                      1);
    ck_assert_uint_eq(meant("x | a = torch.nn.functional.relu(x,"
                            " inplace=True) | a",
                            "x | a = x.relu() | a"),
                      0);
    ck_assert_uint_eq(meant("x | a = x.sum(-1, True) | a",
                            "x | a = torch.sum(x, keepdim=True, dim=-1) | a"),
                      1);
    /* Unknown operators are compared by name. */
    ck_assert_uint_eq(
        meant("x | a = my.f(x, 1) | a", "x | a = my.f(x, 1) | a"), 1);
}

static size_t commuted(const char *in, const char *what)
{
    return COUNT(in, what, .commutative = true);
}

TEST_CASE(commuting_arguments_match_in_either_order)
{
    const char *what = "x y | s = torch.sigmoid(x) | m = torch.mul(s, y) | m";
    ck_assert_uint_eq(commuted("x | s = torch.sigmoid(x) | n = torch.neg(x) |"
                               " m = operator.mul(n, s) | m",
                               what),
                      1);
    ck_assert_str_eq(name_of(0, "y"), "n");
    ck_assert_uint_eq(meant("x | s = torch.sigmoid(x) | n = torch.neg(x) |"
                            " m = operator.mul(n, s) | m",
                            what),
                      0);
    ck_assert_uint_eq(commuted("x | s = torch.sigmoid(x) | m = operator.mul(x,"
                               " s) | m",
                               "x | s = torch.sigmoid(x) | m = operator.mul(s,"
                               " x) | m"),
                      1);
    what = "x y | s = torch.sigmoid(x) | m = torch.sub(s, y) | m";
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = torch.sub(y,"
                               " s) | m",
                               what),
                      0);
    /* y + 2 s is not s + 2 y. */
    what = "x y | s = torch.sigmoid(x) | m = torch.add(s, y, alpha=2) | m";
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = torch.add(s,"
                               " y, alpha=2) | m",
                               what),
                      1);
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = torch.add(y,"
                               " s, alpha=2) | m",
                               what),
                      0);
    /* In place the first is special. */
    what = "x y | s = torch.sigmoid(x) | m = s.mul_(y) | m";
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = y.mul_(s) |"
                               " m",
                               what),
                      0);
    /* Two exchanges in one match; each is found once. */
    ck_assert_uint_eq(
        COUNT("a b c | n = torch.neg(b) | p = torch.mul(a, n) | q ="
              " torch.add(c, p) | q",
              "x y z | n = torch.neg(x) | p = torch.mul(n, y) | q ="
              " torch.add(p, z) | q",
              .commutative = true, .keep_overlapping = true),
        1);
}

TEST_CASE(a_match_is_walked_in_the_order_of_its_pattern)
{
    char names[256] = "";
    size_t len = 0;
    const cfx_node *p = NULL;
    cfx_value v;

    ck_assert_uint_eq(count("a b | c = torch.add(a, 1) | d = torch.mul(c, b) |"
                            " d",
                            "x y z | s = torch.add(x, z) | m = torch.mul(s, y)"
                            " | m",
                            NULL),
                      1);
    while ((p = cfx_match_next(&found.item[0], p, &v)))
        len += (size_t)snprintf(
            names + len, sizeof(names) - len, "%s=%s ", p->name,
            v.kind == CFX_NODE ? v.u.node->name
                               : cfx_kind_name((cfx_kind)v.kind));
    ck_assert_str_eq(names, "x=a y=b z=int s=c m=d ");
}

TEST_CASE(any_matches_whatever_there_is)
{
    const char *what = "x | k = cfx.any() | a = torch.add(x, k) | a";
    ck_assert_uint_eq(count("x | a = torch.add(x, 1) | a", what, NULL), 1);
    ck_assert_int_eq(cfx_match_named(&found.item[0], "k").u.i, 1);
    ck_assert_uint_eq(found.item[0].nplaceholders, 1);
    ck_assert_uint_eq(count("x | a = torch.add(x, x) | a", what, NULL), 1);
    ck_assert_uint_eq(count("x y | a = torch.add(x, y) | b = torch.add(a, y) |"
                            " b",
                            what, NULL),
                      2);
}

TEST_CASE(one_of_takes_the_first_that_matches)
{
    const char *what =
        "x | r = torch.relu(x) | g = torch.nn.functional.gelu(x) |"
        " act = cfx.one_of(r, g) | n = torch.neg(act) | n";
    ck_assert_uint_eq(
        count("x | r = torch.relu(x) | n = torch.neg(r) | n", what, NULL), 1);
    ck_assert_str_eq(name_of(0, "r"), "r");
    ck_assert_str_eq(name_of(0, "g"), "");
    ck_assert_str_eq(name_of(0, "act"), "r");
    ck_assert_uint_eq(count("x | h = torch.nn.functional.gelu(x) |"
                            " n = torch.neg(h) | n",
                            what, NULL),
                      1);
    ck_assert_str_eq(name_of(0, "act"), "h");
    ck_assert_uint_eq(
        count("x | h = torch.tanh(x) | n = torch.neg(h) | n", what, NULL), 0);
    what = "x | d = cfx.one_of(1, -1) | a = torch.softmax(x, d) | a";
    ck_assert_uint_eq(count("x | a = torch.softmax(x, -1) | a", what, NULL),
                      1);
    ck_assert_uint_eq(count("x | a = torch.softmax(x, 0) | a", what, NULL), 0);
    /* As an output of the pattern. */
    what = "x | r = torch.relu(x) | t = torch.tanh(x) |"
           " act = cfx.one_of(r, t) | act";
    ck_assert_uint_eq(count("x | t = torch.tanh(x) | r = torch.relu(t) |"
                            " n = torch.neg(t) | (r, n)",
                            what, NULL),
                      2);
    ck_assert_str_eq(found.item[0].anchor->name, "t");
}

TEST_CASE(optional_nodes_may_be_missing)
{
    const char *what = "x w | c = torch.conv2d(x, w) | r = torch.relu(c) |"
                       " o = cfx.optional(r) | s = torch.sum(o) | s";
    ck_assert_uint_eq(count("x w | c = torch.conv2d(x, w) | r = torch.relu(c)"
                            " | s = torch.sum(r) | s",
                            what, NULL),
                      1);
    ck_assert_str_eq(name_of(0, "r"), "r");
    ck_assert_uint_eq(count("x w | c = torch.conv2d(x, w) | s = torch.sum(c) |"
                            " s",
                            what, NULL),
                      1);
    ck_assert_str_eq(name_of(0, "r"), "");
    ck_assert_str_eq(name_of(0, "o"), "c");
    /* At the end it is taken where that keeps the match contained. */
    what = "x w | c = torch.conv2d(x, w) | r = torch.relu(c) |"
           " o = cfx.optional(r, c) | o";
    ck_assert_uint_eq(count("x w | c = torch.conv2d(x, w) | r = torch.relu(c)"
                            " | r",
                            what, NULL),
                      1);
}

static bool is_even(void *user, cfx_value v)
{
    ++*(int *)user;
    return v.kind == CFX_INT && v.u.i % 2 == 0;
}

static bool has_one_user(void *user, cfx_value v)
{
    ++*(int *)user;
    return v.kind == CFX_NODE && v.u.node->nusers == 1;
}

TEST_CASE(where_asks_a_predicate)
{
    int calls = 0;
    const cfx_match_predicate tests[] = {
        {"even", is_even, &calls},
        {"single", has_one_user, &calls},
    };
    const char *what = "x n | e = cfx.where(n, 'even') |"
                       " a = torch.softmax(x, e) | a";
    ck_assert_uint_eq(COUNT("x | a = torch.softmax(x, 2) | b ="
                            " torch.softmax(a, 1) | b",
                            what, .predicates = tests, .npredicates = 2),
                      1);
    ck_assert_int_eq(cfx_match_named(&found.item[0], "n").u.i, 2);
    ck_assert_int_eq(calls, 2);
    what = "x | r = torch.relu(x) | s = cfx.where(r, 'single') | s";
    ck_assert_uint_eq(COUNT("x | a = torch.relu(x) | b = torch.relu(a) |"
                            " c = torch.add(a, b) | c",
                            what, .predicates = tests, .npredicates = 2),
                      1);
    ck_assert_str_eq(found.item[0].anchor->name, "b");
    cfx_matcher *m;
    ck_assert_int_eq(cfx_matcher_new(&m, pattern, NULL, &err), CFX_EINVAL);
    ck_assert_str_eq(err.text, "s: there is no predicate 'single'");
}

static bool rectifies(void *user, cfx_value v)
{
    ++*(int *)user;
    return strstr(v.u.node->target->text, "relu") != NULL;
}

/* Further arguments are not compared; the call is contained in the match. */
TEST_CASE(calls_match_by_a_predicate)
{
    int calls = 0;
    const cfx_match_predicate test = {"rectifies", rectifies, &calls};
    const char *what = "x | a = cfx.call('rectifies', x) | b = torch.neg(a) |"
                       " b";
    const char *calls_of =
        "x | a = torch.relu(x) | b = torch.neg(a) | c = b.relu_() |"
        " d = torch.neg(c) | e = torch.nn.functional.leaky_relu(d, 0.5) |"
        " f = torch.neg(e) | g = torch.nn.functional.relu(input=f) |"
        " h = torch.neg(g) | h";
    ck_assert_uint_eq(
        COUNT(calls_of, what, .predicates = &test, .npredicates = 1), 4);
    ck_assert_str_eq(name_of(1, "x"), "b");
    ck_assert_str_eq(name_of(2, "a"), "e");
    ck_assert_str_eq(name_of(3, "x"), "f");
    ck_assert_int_ge(calls, 4);
    ck_assert_uint_eq(COUNT("x | a = torch.relu(x) | b = torch.neg(a) |"
                            " c = torch.add(a, b) | c",
                            what, .predicates = &test, .npredicates = 1),
                      0);
}

TEST_CASE(numbers_match_within_a_tolerance)
{
    const char *what = "x | c = cfx.number(0.1, 0.01) | a = torch.mul(x, c) |"
                       " a";
    ck_assert_uint_eq(count("x | a = torch.mul(x, 0.1005) |"
                            " b = torch.mul(a, 0.1011) |"
                            " c = torch.mul(b, x) | d = torch.mul(c, True) |"
                            " d",
                            what, NULL),
                      1);
    what = "x | c = cfx.number(3, 0) | a = torch.pow(x, c) | a";
    ck_assert_uint_eq(count("x | a = torch.pow(x, 3) | b = torch.pow(a, 3.0) |"
                            " c = torch.pow(b, 3.0000001) | c",
                            what, NULL),
                      2);
}

TEST_CASE(modules_match_by_their_type)
{
    cfx_module *root, *relu;
    ck_assert_int_eq(cfx_module_new_container(&root, ctx, "M", &err), CFX_OK);
    ck_assert_int_eq(cfx_module_new(&relu, ctx,
                                    cfx_find_module_type(ctx, "ReLU"), NULL,
                                    CFX_NO_ARGS, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_module_add_take(root, "act", relu, &err), CFX_OK);
    cfx_module *gm = new_module(ctx, root, "x | a = self.act(x) | a");
    const char *types[] = {"ReLU", "GELU"};
    for (size_t i = 0; i < 2; i++) {
        char what[64] = "x | a = cfx.module('";
        strcat(strcat(what, types[i]), "', x) | a");
        pattern = new_graph(ctx, what);
        ck_assert_int_eq(cfx_matcher_new(&matcher, pattern, NULL, &err),
                         CFX_OK);
        ck_assert_int_eq(cfx_matcher_match(matcher, cfx_graph_module_graph(gm),
                                           &found, &err),
                         CFX_OK);
        ck_assert_uint_eq(found.n, 1 - i);
        clear();
    }
    cfx_module_unref(gm);
}

/* ---- Patterns that are none ---- */

static void refuses(const char *what, const char *why)
{
    clear();
    pattern = new_graph(ctx, what);
    ck_assert_int_lt(cfx_matcher_new(&matcher, pattern, NULL, &err), 0);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    matcher = NULL;
}

TEST_CASE(patterns_must_make_sense)
{
    refuses("x | a = torch.relu(x) | b = torch.neg(x) | b",
            "with dead code: nothing uses a");
    refuses("x | o = cfx.optional(x) | o", "cfx.optional takes");
    refuses("x | o = cfx.one_of() | o", "needs alternatives");
    refuses("x | o = cfx.where(x) | o", "cfx.where takes");
    refuses("x | o = cfx.module(x) | o", "cfx.module takes");
    refuses("x | o = cfx.call(x) | o", "cfx.call takes");
    refuses("x | o = cfx.call('f', x) | o", "there is no predicate 'f'");
    refuses("x | n = cfx.number('1') | o = torch.mul(x, n) | o",
            "cfx.number takes");
    clear();
    ck_assert_int_eq(cfx_graph_new(&pattern, ctx, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_new(&matcher, pattern, NULL, &err),
                     CFX_EGRAPH);
    ck_assert_str_eq(err.text, "SubgraphMatcher cannot be initialized with an "
                               "empty pattern");
    matcher = NULL;
}

/* ---- Size ---- */

static cfx_node *call(const char *target, cfx_node *a, cfx_node *b)
{
    cfx_value args[] = {cfx_value_of_node(a), cfx_value_of_node(b)};
    return cfx_graph_call_function(graph, target, cfx_args_of(args, b ? 2 : 1),
                                   &err);
}

/* Pairs of two outputs each, all fed by one node: what has a thousand
 * candidates for each anchor must not try a million. */
TEST_CASE(further_anchors_are_looked_for_nearby)
{
    enum { N = 20000 };
    ck_assert_int_eq(cfx_graph_new(&graph, ctx, &err), CFX_OK);
    cfx_node *x = cfx_graph_placeholder(graph, "x", &err), *last = x;
    for (int i = 0; i < N; i++) {
        cfx_node *n = call("torch.neg", last, NULL);
        last = call("torch.add", call("torch.relu", n, NULL),
                    call("torch.tanh", n, NULL));
    }
    cfx_graph_output(graph, cfx_value_of_node(last), &err);
    pattern = new_graph(ctx, "x | n = torch.neg(x) | r = torch.relu(n) |"
                             " t = torch.tanh(n) | (r, t)");
    ck_assert_int_eq(cfx_matcher_new(&matcher, pattern, NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_match(matcher, graph, &found, &err), CFX_OK);
    ck_assert_uint_eq(found.n, N);
}

TEST_CASE(unconnected_anchors_take_what_is_left)
{
    enum { N = 20000 };
    ck_assert_int_eq(cfx_graph_new(&graph, ctx, &err), CFX_OK);
    cfx_node *x = cfx_graph_placeholder(graph, "x", &err), *last = x;
    for (int i = 0; i < N; i++)
        last = call("torch.add", call("torch.relu", x, NULL), last);
    cfx_graph_output(graph, cfx_value_of_node(last), &err);
    pattern = new_graph(ctx, "x y | a = torch.relu(x) | b = torch.relu(x) |"
                             " (a, b)");
    ck_assert_int_eq(cfx_matcher_new(&matcher, pattern, NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_match(matcher, graph, &found, &err), CFX_OK);
    ck_assert_uint_eq(found.n, N / 2);
}

/* A pattern deeper than any stack of calls, in a graph of its like. */
TEST_CASE(deep_patterns_match_without_recursion)
{
    enum { N = 100000 };
    ck_assert_int_eq(cfx_graph_new(&graph, ctx, &err), CFX_OK);
    cfx_node *last = cfx_graph_placeholder(graph, "x", &err);
    for (int i = 0; i < N; i++)
        last = call("torch.neg", last, NULL);
    last = call("torch.tanh", last, NULL);
    cfx_graph_output(graph, cfx_value_of_node(last), &err);
    ck_assert_int_eq(cfx_graph_copy(&pattern, graph, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_new(&matcher, pattern, NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_match(matcher, graph, &found, &err), CFX_OK);
    ck_assert_uint_eq(found.n, 1);
}

/* ---- Memory ---- */

TEST_CASE(every_lack_of_memory_is_told)
{
    allowed = -1;
    cfx_options o = {.size = sizeof(o),
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context_free(ctx);
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    cfx_match_options mo = {
        .size = sizeof(mo), .commutative = true, .name_node_map = true};
    graph = new_graph(ctx, "x y | r = torch.relu(x) | t = x.tanh() |"
                           " a = operator.add(t, r) | b = torch.softmax(a,"
                           " 'long enough a string', [1, (2, 3)]) | (b, a)");
    pattern = new_graph(ctx, "x d l | r = x.relu() | t = torch.tanh(x) |"
                             " u = cfx.one_of(t, r) | a = torch.add(r, u) |"
                             " b = torch.softmax(a, d, l) | (b, a, {'r': r})");
    bool again = true;
    for (int n = 0; again; n++) {
        allowed = n;
        refused = false;
        err = (cfx_error){0};
        cfx_status st = cfx_matcher_new(&matcher, pattern, &mo, &err);
        if (!st)
            st = cfx_matcher_match(matcher, graph, &found, &err);
        else
            matcher = NULL;
        again = refused;
        allowed = -1;
        ck_assert_msg(st == (again ? CFX_ENOMEM : CFX_OK), "%d: %d", n, st);
        ck_assert_uint_eq(again ? 1 : found.n, 1);
        cfx_matches_release(&found);
        cfx_matcher_free(matcher);
        matcher = NULL;
    }
}

TEST_SUITE(matcher_beyond, .setup = setup, .teardown = teardown, .timeout = 60)
