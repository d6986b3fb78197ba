/*
 * rewriter_test -- what replaces a pattern, as torch.fx does it and where it
 * is in error.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/ops.h>
#include <cfx/pattern.h>
#include <cfx/text.h>

#include "rewrite_test.h"

static cfx_context *ctx;
static cfx_error err;
static cfx_module *gm;
static cfx_graph *pattern, *replacement;
static cfx_matches replaced;

static void clear(void)
{
    cfx_matches_release(&replaced);
    cfx_graph_free(pattern);
    cfx_graph_free(replacement);
    cfx_module_unref(gm);
    gm = NULL;
    pattern = replacement = NULL;
    err = (cfx_error){0};
}

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    replaced = (cfx_matches){0};
    gm = NULL;
    pattern = replacement = NULL;
    err = (cfx_error){0};
}

static void teardown(void)
{
    clear();
    cfx_context_free(ctx);
}

static cfx_graph *graph(void)
{
    return cfx_graph_module_graph(gm);
}

/* The graph is well-formed, and the same program as that of the text. */
static void is(const char *expected)
{
    bool equal;
    cfx_graph *want = new_graph(ctx, expected);
    ck_assert_msg(!cfx_graph_lint(graph(), &err), "%s", err.text);
    ck_assert_int_eq(cfx_graph_equal(&equal, graph(), want, &err), CFX_OK);
    if (!equal) {
        char *a = graph_text(graph()), *b = graph_text(want);
        ck_assert_msg(0, "is %s\nnot %s", a, b);
    }
    cfx_graph_free(want);
}

static cfx_status try_replace(const char *in, const char *what,
                              const char *with,
                              const cfx_rewrite_options *o)
{
    clear();
    gm = new_module(ctx, NULL, in);
    pattern = new_graph(ctx, what);
    replacement = with ? new_graph(ctx, with) : NULL;
    return cfx_replace_pattern(gm, pattern, replacement, o, &replaced, &err);
}

static size_t replace_with(const char *in, const char *what, const char *with,
                           const cfx_rewrite_options *o)
{
    ck_assert_msg(!try_replace(in, what, with, o), "%s", err.text);
    return replaced.n;
}

static size_t replace(const char *in, const char *what, const char *with)
{
    return replace_with(in, what, with, NULL);
}

static void fails(const char *in, const char *what, const char *with,
                  cfx_status code, const char *text)
{
    ck_assert_int_eq(try_replace(in, what, with, NULL), code);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    is(in);
}

/* ---- torch's own tests ---- */

static const char cats[] =
    "x w1 w2 | c = torch.cat([w1, w2]) | m1 = c.sum() |"
    " d = torch.cat([w1, w2]) | m2 = d.sum() | p = torch.max(m1) |"
    " a = operator.add(x, p) | q = torch.max(m2) | b = operator.add(a, q) | b";

START_TEST(preserves_logic)
{
    const char *what = "w1 w2 | c = torch.cat([w1, w2]) | s = c.sum() | s";
    ck_assert_uint_eq(replace(cats, what, what), 2);
    /* The copies stand before the first users. */
    is("x w1 w2 | c = torch.cat([w1, w2]) | m1 = c.sum() | p = torch.max(m1) |"
       " a = operator.add(x, p) | d = torch.cat([w1, w2]) | m2 = d.sum() |"
       " q = torch.max(m2) | b = operator.add(a, q) | b");
}
END_TEST

START_TEST(with_oneliner_pattern)
{
    ck_assert_uint_eq(replace("x | a = torch.neg(x) | b = operator.add(a, x) |"
                              " b", "x | a = torch.neg(x) | a",
                              "x | a = torch.relu(x) | a"), 1);
    is("x | a = torch.relu(x) | b = operator.add(a, x) | b");
}
END_TEST

START_TEST(with_trivial_replacement)
{
    ck_assert_uint_eq(replace("x | a = torch.neg(x) | b = operator.add(a, x) |"
                              " b", "x | a = torch.neg(x) | a", "x | x"), 1);
    is("x | b = operator.add(x, x) | b");
}
END_TEST

START_TEST(single_pattern_match)
{
    ck_assert_uint_eq(
        replace("x | v = torch.neg(x) | r = torch.relu(v) |"
                " a = operator.add(r, x) | a",
                "x | v = torch.neg(x) | r = torch.relu(v) | r",
                "x | r = torch.relu(x) | r"), 1);
    is("x | r = torch.relu(x) | a = operator.add(r, x) | a");
}
END_TEST

START_TEST(multiple_pattern_match)
{
    ck_assert_uint_eq(replace(cats, "w1 w2 | c = torch.cat([w1, w2]) |"
                              " s = c.sum() | s",
                              "w1 w2 | s = torch.stack([w1, w2]) | s"), 2);
    is("x w1 w2 | c = torch.stack([w1, w2]) | p = torch.max(c) |"
       " a = operator.add(x, p) | d = torch.stack([w1, w2]) |"
       " q = torch.max(d) | b = operator.add(a, q) | b");
}
END_TEST

START_TEST(graph_argument_order)
{
    const char *what = "x y | m = torch.mm(x, y) | m";
    ck_assert_uint_eq(replace("x y | m = torch.mm(x, y) | m", what, what), 1);
    is("x y | m = torch.mm(x, y) | m");
}
END_TEST

START_TEST(correct_output_replacement)
{
    ck_assert_uint_eq(
        replace("x y | v = torch.neg(y) | n = torch.add(x, v) | n",
                "x | v = torch.neg(x) | v", "x | r = torch.relu(x) | r"), 1);
    is("x y | v = torch.relu(y) | n = torch.add(x, v) | n");
}
END_TEST

START_TEST(pattern_is_entire_graph)
{
    const char *whole = "x | a = torch.neg(x) | b = torch.add(a, a) | b";
    ck_assert_uint_eq(replace(whole, whole, "x | a = torch.neg(x) | a"), 1);
    is("x | a = torch.neg(x) | a");
}
END_TEST

START_TEST(pattern_output_pattern_node_can_have_users_that_are_not_matched)
{
    ck_assert_uint_eq(
        replace("x | y = torch.relu(x) | n = torch.neg(y) |"
                " s = operator.sub(n, y) | (y, s)",
                "x | y = torch.relu(x) | n = torch.neg(y) | (y, n)",
                "x | a = torch.sigmoid(x) | b = torch.tanh(a) | (a, b)"), 1);
    is("x | a = torch.sigmoid(x) | b = torch.tanh(a) | s = operator.sub(b, a)"
       " | (a, s)");
}
END_TEST

START_TEST(internal_pattern_nodes_cannot_have_users_that_are_not_matched)
{
    const char *in = "x w1 w2 b | m0 = torch.cat([w1, w2]) | m1 ="
                     " torch.cat([w1, w2]) | t = m1.t() | t0 = torch.addmm(b,"
                     " m0, t) | s0 = torch.sum(t0) | s1 = torch.sum(m1) |"
                     " (s0, s1)";
    ck_assert_uint_eq(
        replace(in, "w1 w2 b c | m = torch.cat([w1, w2]) | t = m.t() |"
                " a = torch.addmm(b, c, t) | a",
                "w1 w2 b c | m = torch.cat([w1, w2, b, c]) | m"), 0);
    is(in);
}
END_TEST

START_TEST(placeholder_matching)
{
    ck_assert_uint_eq(
        replace("x | a = operator.iadd(x, 3) | d = a.dequantize() |"
                " s = torch.sigmoid(d) | t = s.to(torch.float16) | t",
                "x | d = x.dequantize() | s = torch.sigmoid(d) |"
                " t = s.to(torch.float16) | t", "x | x"), 1);
    is("x | a = operator.iadd(x, 3) | a");
}
END_TEST

START_TEST(replace_consecutive_submodules)
{
    ck_assert_uint_eq(
        replace("x | a = torch.sigmoid(x) | b = torch.sigmoid(a) |"
                " c = torch.sigmoid(b) | c", "x | a = torch.sigmoid(x) | a",
                "x | a = torch.exp(x) | a"), 3);
    is("x | a = torch.exp(x) | b = torch.exp(a) | c = torch.exp(b) | c");
}
END_TEST

START_TEST(with_overlapping_matches)
{
    ck_assert_uint_eq(
        replace("x | a = torch.relu(x) | b = torch.relu(a) |"
                " c = torch.relu(b) | d = torch.relu(c) | e = torch.relu(d) |"
                " e", "x | a = torch.relu(x) | b = torch.relu(a) | b",
                "x | a = torch.neg(x) | a"), 2);
    is("x | a = torch.neg(x) | b = torch.neg(a) | e = torch.relu(b) | e");
}
END_TEST

START_TEST(replace_with_multiple_outputs)
{
    ck_assert_uint_eq(
        replace("x | y = torch.sigmoid(x) | z = torch.relu(x) |"
                " a = operator.add(y, z) | a",
                "a | b = torch.sigmoid(a) | c = torch.relu(a) | (b, c)",
                "x | a = torch.exp(x) | b = torch.abs(x) | (a, b)"), 1);
    is("x | y = torch.exp(x) | z = torch.abs(x) | a = operator.add(y, z) | a");
}
END_TEST

START_TEST(replace_with_duplicated_outputs)
{
    ck_assert_uint_eq(
        replace("p q | x = operator.sub(p, q) | y = torch.sigmoid(x) |"
                " z = torch.relu(x) | a = operator.add(y, z) | a",
                "p q | x = operator.sub(p, q) | y = torch.sigmoid(x) |"
                " z = torch.relu(x) | (y, z, x)",
                "p q | y = torch.exp(p) | z = torch.abs(q) | (z, z, y)"), 1);
    is("p q | y = torch.exp(p) | z = torch.abs(q) | a = operator.add(z, z) |"
       " a");
    /* And one that the pattern returns twice, for each of its places. */
    ck_assert_uint_eq(
        replace("x | y = torch.relu(x) | n = torch.neg(y) | n",
                "x | y = torch.relu(x) | (y, y)",
                "x | y = torch.tanh(x) | z = torch.exp(x) | (y, z)"), 1);
    is("x | y = torch.tanh(x) | z = torch.exp(x) | n = torch.neg(y) | n");
}
END_TEST

START_TEST(with_unused_args)
{
    ck_assert_uint_eq(
        replace("x y z | a = operator.add(x, y) | a",
                "x y | a = operator.add(x, y) | a",
                "x y | a = operator.sub(x, y) | a"), 1);
    is("x y z | a = operator.sub(x, y) | a");
    /* Of the pattern's own too. */
    ck_assert_uint_eq(
        replace("x y | a = operator.add(x, y) | a",
                "x u y | a = operator.add(x, y) | a",
                "x u y | a = operator.sub(x, y) | a"), 1);
    fails("x y | a = operator.add(x, y) | a",
          "x u y | a = operator.add(x, y) | a",
          "x u y | a = operator.sub(x, u) | a", CFX_EINVAL,
          "the replacement uses u");
}
END_TEST

START_TEST(call_method)
{
    ck_assert_uint_eq(
        replace("x | d = x.dequantize() | s = d.sigmoid() | t = s.to("
                "torch.float16) | t",
                "x | d = x.dequantize() | s = d.sigmoid() | t = s.to("
                "torch.float16) | t", "x | x"), 1);
    is("x | x");
}
END_TEST

START_TEST(nodes_with_kwargs)
{
    ck_assert_uint_eq(
        replace("x w b | l = torch.nn.functional.linear(x, w, bias=b) |"
                " m = operator.mul(x, l) | s = operator.add(m, x) | s",
                "a b bias | l = torch.nn.functional.linear(a, b, bias=bias) |"
                " m = operator.mul(a, l) | (l, m)",
                "a b bias | g = my.gemm(a, b, bias) |"
                " l = operator.getitem(g, 0) | m = operator.getitem(g, 1) |"
                " (l, m)"), 1);
    is("x w b | g = my.gemm(x, w, b) | l = operator.getitem(g, 0) |"
       " m = operator.getitem(g, 1) | s = operator.add(m, x) | s");
}
END_TEST

START_TEST(local_revert)
{
    ck_assert_uint_eq(
        replace("i j w0 b0 w1 b1 w2 b2 w3 b3 w4 b4 |"
                " l1 = torch.nn.functional.linear(j, w0, bias=b0) |"
                " l2 = torch.nn.functional.linear(l1, w1, bias=b1) |"
                " m1 = operator.mul(j, l2) | s1 = operator.add(m1, j) |"
                " l3 = torch.nn.functional.linear(s1, w2, bias=b2) |"
                " g1 = torch.sigmoid(l3) | m2 = operator.mul(l3, g1) |"
                " l4 = torch.nn.functional.linear(i, w3, bias=b3) |"
                " l5 = torch.nn.functional.linear(l4, w4, bias=b4) |"
                " m3 = operator.mul(i, l5) | s2 = operator.add(m3, i) |"
                " c = torch.cat([m2, s2], dim=1) | c",
                "a b bias c | l = torch.nn.functional.linear(a, b, bias=bias)"
                " | m = operator.mul(c, l) | (l, m)",
                "a b bias c | g = my.gemm(a, b, bias, c) |"
                " l = operator.getitem(g, 0) | m = operator.getitem(g, 1) |"
                " (l, m)"), 2);
    ck_assert_int_eq(cfx_graph_lint(graph(), &err), CFX_OK);
}
END_TEST

static bool second_is_number(void *user, const cfx_match *m,
                             const cfx_graph *g)
{
    (void)user;
    (void)g;
    return cfx_match_named(m, "n").kind != CFX_NODE;
}

START_TEST(replace_pattern_with_filters)
{
    const cfx_match_filter filters[] = {{second_is_number, NULL}};
    const cfx_rewrite_options o = {
        .size = sizeof(o), .filters = filters, .nfilters = 1};
    ck_assert_uint_eq(
        replace_with("x s | a = operator.add(x, 2) | r = torch.relu(a) |"
                     " b = operator.add(r, s) | q = torch.relu(b) | q",
                     "x n | a = operator.add(x, n) | r = torch.relu(a) | r",
                     "x n | a = my.add_relu(x, n) | a", &o), 1);
    is("x s | a = my.add_relu(x, 2) | b = operator.add(a, s) |"
       " q = torch.relu(b) | q");
}
END_TEST

START_TEST(matching_pattern_with_list_type_arg)
{
    ck_assert_uint_eq(
        replace("x | r = torch.ops.aten._reshape_alias_copy.default(x, [1, 2],"
                " [3, 4]) | r",
                "x a b | r = torch.ops.aten._reshape_alias_copy.default(x, a,"
                " b) | r",
                "x a b | r = torch.ops.aten._reshape_alias_copy.default(x, b,"
                " a) | r"), 1);
    is("x | r = torch.ops.aten._reshape_alias_copy.default(x, [3, 4], [1, 2]) |"
       " r");
}
END_TEST

START_TEST(matching_variable_arguments)
{
    const char *pool =
        "x k s | p = torch.ops.aten.max_pool2d_with_indices.default(x, k, s,"
        " padding=[0, 0]) | i = operator.getitem(p, 0) | i";
    ck_assert_uint_eq(
        replace("x | p = torch.ops.aten.max_pool2d_with_indices.default(x,"
                " [2, 2], stride=[2, 2]) | i = operator.getitem(p, 0) | i",
                pool, pool), 1);
}
END_TEST

START_TEST(replaced_nodes)
{
    ck_assert_uint_eq(
        replace("x y | a = torch.add(x, y) | a", "x y | a = torch.add(x, y) |"
                " a", "x y | m = torch.mul(x, y) | s = torch.sub(m, y) | s"),
        1);
    const cfx_match *m = &replaced.item[0];
    ck_assert_uint_eq(m->nreplacements, 2);
    ck_assert_str_eq(m->replacements[0]->name, "m");
    ck_assert_str_eq(m->replacements[1]->name, "s");
    /* The anchor is the graph's node, which is gone but still has its name. */
    ck_assert_str_eq(m->anchor->name, "a");
    ck_assert_ptr_eq(m->anchor->graph, graph());
    ck_assert(m->anchor->erased);
    ck_assert_str_eq(cfx_match_named(m, "x").u.node->name, "x");
}
END_TEST

/* The replacement depends on the match. */
typedef struct choice {
    cfx_graph *by_sign[2];
    int calls;
} choice;

static cfx_status choose(void *user, const cfx_match *m, const cfx_graph *g,
                         const cfx_graph **out, cfx_error *e)
{
    choice *c = user;
    cfx_value n = cfx_match_named(m, "n");
    (void)g;
    c->calls++;
    if (n.u.i == 99)
        return cfx_fail(e, CFX_EUSER, "not that one");
    *out = n.u.i ? c->by_sign[n.u.i > 0] : NULL;
    return CFX_OK;
}

START_TEST(replace_pattern_with_callback)
{
    choice c = {
        .by_sign = {new_graph(ctx, "x n | a = torch.neg(x) | a"),
                    new_graph(ctx, "x n | a = torch.exp(x) | a")},
    };
    const cfx_rewrite_options o = {
        .size = sizeof(o), .make = choose, .make_user = &c};
    const char *what = "x n | a = operator.add(x, n) | a";
    ck_assert_uint_eq(
        replace_with("x | a = operator.add(x, 1) | b = operator.add(a, 0) |"
                     " c = operator.add(b, -1) | c", what, NULL, &o), 2);
    is("x | a = torch.exp(x) | b = operator.add(a, 0) | c = torch.neg(b) | c");
    ck_assert_int_eq(c.calls, 3);
    /* Those before the one that fails are replaced. */
    ck_assert_int_eq(
        try_replace("x | a = operator.add(x, 1) | b = operator.add(a, 99) |"
                    " c = operator.add(b, -1) | c", what, NULL, &o),
        CFX_EUSER);
    is("x | a = torch.exp(x) | b = operator.add(a, 99) |"
       " c = operator.add(b, -1) | c");
    ck_assert_uint_eq(replaced.n, 1);
    cfx_graph_free(c.by_sign[0]);
    cfx_graph_free(c.by_sign[1]);
}
END_TEST

/* ---- Modules ---- */

static void add_module(cfx_module *root, const char *name, const char *type)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new(&m, ctx, cfx_find_module_type(ctx, type),
                                    NULL, NULL, 0, NULL, 0, &err), CFX_OK);
    ck_assert_int_eq(cfx_module_add_submodule_take(root, name, m, &err),
                     CFX_OK);
}

static cfx_module *container(void)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new_container(&m, ctx, "M", &err), CFX_OK);
    return m;
}

static const char *type_at(const char *path)
{
    const cfx_module *m = cfx_module_at(gm, path);
    return m ? cfx_module_class_name(m) : "";
}

START_TEST(replaces_referenced_submodules)
{
    cfx_module *a = container(), *b = container();
    add_module(a, "sigmoid", "Sigmoid");
    add_module(a, "submod", "ReLU");
    add_module(b, "inner.tanh", "Tanh");
    add_module(b, "submod", "GELU");
    gm = new_module(ctx, a, "x | a = operator.add(x, 1) | s = self.sigmoid(a)"
                    " | r = self.submod(s) | r");
    pattern = new_graph(ctx, "x | s = self.sigmoid(x) | r = self.submod(s) |"
                        " r");
    cfx_module *with = new_module(ctx, b, "x | s = self.inner.tanh(x) |"
                                  " r = self.submod(s) | r");
    ck_assert_msg(!cfx_replace_pattern(gm, pattern,
                                       cfx_graph_module_graph(with), NULL,
                                       &replaced, &err), "%s", err.text);
    ck_assert_uint_eq(replaced.n, 1);
    is("x | a = operator.add(x, 1) | s = self.inner.tanh(a) |"
       " r = self.submod(s) | r");
    ck_assert_str_eq(type_at("inner.tanh"), "Tanh");
    ck_assert_str_eq(type_at("inner"), "Module");
    ck_assert_str_eq(type_at("sigmoid"), "");
    /* What is there wins. */
    ck_assert_str_eq(type_at("submod"), "ReLU");
    cfx_module_unref(with);
}
END_TEST

START_TEST(replacement_with_attrs)
{
    cfx_module *a = container(), *b = container(), *deep = container();
    cfx_dim three = cfx_dim_int(3);
    cfx_tensor *t;
    int64_t n = 3;
    ck_assert_int_eq(cfx_module_param(b, "w", CFX_F32, 1, &three, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 1, &n, &err), CFX_OK);
    ck_assert_int_eq(cfx_module_set(deep, "c", t, &err), CFX_OK);
    ck_assert_int_eq(cfx_module_add_take(b, "deep", deep, &err), CFX_OK);
    gm = new_module(ctx, a, "x | a = operator.add(x, 1) | a");
    pattern = new_graph(ctx, "x | a = operator.add(x, 1) | a");
    cfx_module *with =
        new_module(ctx, b, "x | w = self.w | c = self.deep.c |"
                   " a = operator.add(x, w) | d = operator.add(a, c) | d");
    ck_assert_msg(!cfx_replace_pattern(gm, pattern,
                                       cfx_graph_module_graph(with), NULL,
                                       &replaced, &err), "%s", err.text);
    is("x | w = self.w | c = self.deep.c | a = operator.add(x, w) |"
       " d = operator.add(a, c) | d");
    ck_assert(!cfx_module_state(gm, "w")->is_buffer);
    ck_assert(cfx_tensor_is_meta(cfx_module_state(gm, "w")->tensor));
    const cfx_state *c = cfx_module_state(cfx_module_at(gm, "deep"), "c");
    ck_assert(c->is_buffer && c->tensor == t);
    cfx_module_unref(with);
    cfx_tensor_unref(t);
}
END_TEST

START_TEST(unresolved_attributes_are_an_error)
{
    gm = new_module(ctx, NULL, "x | a = operator.add(x, 1) | a");
    pattern = new_graph(ctx, "x | a = operator.add(x, 1) | a");
    cfx_module *with = new_module(ctx, NULL, "x | a = self.nobody(x) | a");
    ck_assert_int_eq(cfx_replace_pattern(gm, pattern,
                                         cfx_graph_module_graph(with), NULL,
                                         NULL, &err), CFX_ENAME);
    ck_assert_msg(strstr(err.text, "with target nobody, but the referenced") !=
                  NULL, "%s", err.text);
    is("x | a = operator.add(x, 1) | a");
    cfx_module_unref(with);
}
END_TEST

/* ---- Where torch.fx is in error ---- */

/* The first output's user stands before the second input. */
START_TEST(users_are_moved_behind_what_the_copy_needs)
{
    ck_assert_uint_eq(
        replace("x y | r = torch.relu(x) | u = torch.exp(r) |"
                " v = torch.abs(x) | t = torch.tanh(y) | o = torch.neg(t) |"
                " w = torch.sin(u) | c = torch.cat([o, w, v]) | c",
                "a b | r = torch.relu(a) | o = torch.neg(b) | (r, o)",
                "a b | p = my.pair(a, b) | r = operator.getitem(p, 0) |"
                " o = operator.getitem(p, 1) | (r, o)"), 1);
    is("x y | v = torch.abs(x) | t = torch.tanh(y) | p = my.pair(x, t) |"
       " r = operator.getitem(p, 0) | o = operator.getitem(p, 1) |"
       " u = torch.exp(r) | w = torch.sin(u) | c = torch.cat([o, w, v]) | c");
}
END_TEST

/* Each match is free of cycles, but not both. */
START_TEST(matches_that_would_close_a_cycle_together_are_left)
{
    const char *what = "a b | r = torch.relu(a) | n = torch.neg(b) | (r, n)";
    size_t n = replace("x y | r1 = torch.relu(x) | r2 = torch.relu(y) |"
                       " n1 = torch.neg(r2) | n2 = torch.neg(r1) |"
                       " c = torch.cat([n1, n2]) | c",
                       what, "a b | p = my.pair(a, b) |"
                       " r = operator.getitem(p, 0) |"
                       " n = operator.getitem(p, 1) | (r, n)");
    ck_assert_int_eq(cfx_graph_lint(graph(), &err), CFX_OK);
    ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(placeholders_can_be_returned)
{
    ck_assert_uint_eq(
        replace("x | r = torch.relu(x) | s = torch.add(r, x) | s",
                "a | r = torch.relu(a) | (r, a)",
                "a | e = torch.exp(a) | f = torch.abs(a) | (e, f)"), 1);
    is("x | e = torch.exp(x) | f = torch.abs(x) | s = torch.add(e, f) | s");
    ck_assert_uint_eq(
        replace("x | r = torch.relu(x) | s = torch.add(r, x) | s",
                "a | r = torch.relu(a) | (r, a)",
                "a | e = torch.exp(a) | (e, a)"), 1);
    is("x | e = torch.exp(x) | s = torch.add(e, x) | s");
}
END_TEST

START_TEST(later_matches_see_what_earlier_ones_became)
{
    ck_assert_uint_eq(
        replace("x y | a = torch.relu(x) | b = torch.relu(y) |"
                " c = my.join([a, b]) | d = my.join([c, a]) | d",
                "v | a = my.join(v) | a", "v | a = my.meet(v) | a"), 2);
    is("x y | a = torch.relu(x) | b = torch.relu(y) | c = my.meet([a, b]) |"
       " d = my.meet([c, a]) | d");
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    const char *in = "x | a = torch.neg(x) | b = operator.add(a, x) | b";
    fails(in, "x | a = torch.neg(x) | a", "x y | a = torch.add(x, y) | a",
          CFX_EINVAL, "Placeholder count mismatch: 1 vs 2");
    fails(in, "x | a = torch.neg(x) | a",
          "x | a = torch.neg(x) | b = torch.exp(a) | (a, b)", CFX_EINVAL,
          "Returning nodes count mismatch: 1 vs 2");
    fails(in, "x | a = torch.neg(x) | a", "x | 3", CFX_EUNSUPPORTED,
          "a literal in the place of a, which has users");
    fails(in, "x | x", "x | a = torch.neg(x) | a", CFX_EINVAL,
          "computes nothing");
    ck_assert_int_eq(try_replace(in, "x | a = torch.neg(x) | a", NULL, NULL),
                     CFX_EINVAL);
}
END_TEST

START_TEST(new_nodes_inherit_where_they_come_from)
{
    gm = new_module(ctx, NULL, "x | a = torch.neg(x) | b = torch.exp(a) | b");
    cfx_value trace = cfx_str_new(ctx, "net.py:7", 8);
    ck_assert_int_eq(cfx_node_set_meta(cfx_graph_find(graph(), "b"),
                                       "stack_trace", trace, &err), CFX_OK);
    cfx_value_unref(trace);
    pattern = new_graph(ctx, "x | a = torch.neg(x) | b = torch.exp(a) | b");
    replacement = new_graph(ctx, "x | s = torch.sigmoid(x) | s");
    ck_assert_int_eq(cfx_replace_pattern(gm, pattern, replacement, NULL,
                                         &replaced, &err), CFX_OK);
    cfx_value v = cfx_node_meta(replaced.item[0].replacements[0],
                                "stack_trace");
    ck_assert_int_eq(v.kind, CFX_STR);
    ck_assert_str_eq(v.u.str->text, "net.py:7");
}
END_TEST

START_TEST(special_patterns_are_replaced)
{
    const cfx_rewrite_options o = {
        .size = sizeof(o),
        .match = {.size = sizeof(o.match), .commutative = true}};
    const char *what =
        "x b | d = cfx.any() | l = torch.matmul(x, b) | r = torch.relu(l) |"
        " t = torch.tanh(l) | act = cfx.one_of(r, t) |"
        " o = torch.nn.functional.dropout(act, d, training=False) |"
        " m = torch.mul(o, x) | m";
    const char *with = "x b | f = my.fused(x, b) | f";
    ck_assert_uint_eq(
        replace_with("x b | l = operator.matmul(x, b) | t = l.tanh() |"
                     " d = torch.nn.functional.dropout(t, 0.5, False) |"
                     " m = operator.mul(x, d) | m", what, with, &o), 1);
    is("x b | f = my.fused(x, b) | f");
}
END_TEST

/* ---- Functions ---- */

static cfx_value cats_pattern(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_sum(s, cfx_cat(s, cfx_list(s, in[0], in[1])));
}

static cfx_value stack_replacement(cfx_scope *s, const cfx_value *in,
                                   void *user)
{
    (void)user;
    return cfx_stack(s, cfx_list(s, in[0], in[1]));
}

START_TEST(traced_as_callable)
{
    /* torch.cat and the method sum: one is what the function records. */
    const cfx_rewrite_options o = {
        .size = sizeof(o), .match = {.size = sizeof(o.match),
                                     .by_operator = true}};
    gm = new_module(ctx, NULL, cats);
    ck_assert_msg(!cfx_replace_function(gm, cats_pattern, stack_replacement,
                                        NULL, "w1 w2", &o, &replaced, &err),
                  "%s", err.text);
    ck_assert_uint_eq(replaced.n, 2);
    is("x w1 w2 | c = torch.stack([w1, w2]) | p = torch.max(c) |"
       " a = operator.add(x, p) | d = torch.stack([w1, w2]) |"
       " q = torch.max(d) | b = operator.add(a, q) | b");
    /* The matches keep the pattern they speak of. */
    ck_assert_str_eq(cfx_match_named(&replaced.item[1], "w2").u.node->name,
                     "w2");
}
END_TEST

static cfx_value rich_pattern(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value c = cfx_pattern_module(s, "Linear", in, 1);
    cfx_value act = cfx_pattern_one_of(s, cfx_relu(s, c), cfx_tanh(s, c));
    cfx_value d = cfx_dropout(s, act, cfx_pattern_any(s), cfx_bool(false));
    cfx_value o = cfx_pattern_optional(s, d, act);
    return cfx_mul(s, o, cfx_pattern_where(s, in[1], "number"));
}

static cfx_value rich_replacement(cfx_scope *s, const cfx_value *in,
                                  void *user)
{
    (void)user;
    return cfx_mul(s, in[0], in[1]);
}

static bool is_number(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_INT || v.kind == CFX_FLOAT;
}

START_TEST(functions_hold_special_nodes)
{
    const cfx_match_predicate tests[] = {{"number", is_number, NULL}};
    const cfx_rewrite_options o = {
        .size = sizeof(o),
        .match = {.size = sizeof(o.match), .commutative = true,
                  .predicates = tests, .npredicates = 1}};
    cfx_module *root = container(), *fc;
    cfx_value args[] = {cfx_int(2), cfx_int(2)};
    ck_assert_int_eq(cfx_module_new(&fc, ctx,
                                    cfx_find_module_type(ctx, "Linear"), NULL,
                                    args, 2, NULL, 0, &err), CFX_OK);
    ck_assert_int_eq(cfx_module_add_take(root, "fc", fc, &err), CFX_OK);
    gm = new_module(ctx, root,
                    "x y | l = self.fc(x) | t = torch.tanh(l) |"
                    " m = operator.mul(2, t) | k = self.fc(m) | r = k.relu() |"
                    " d = torch.nn.functional.dropout(r, 0.5, False) |"
                    " n = operator.mul(d, 3) | j = self.fc(n) |"
                    " s = j.relu() | p = operator.mul(s, y) | p");
    ck_assert_msg(!cfx_replace_function(gm, rich_pattern, rich_replacement,
                                        NULL, "x k", &o, &replaced, &err),
                  "%s", err.text);
    ck_assert_uint_eq(replaced.n, 2);
    is("x y | m = torch.mul(x, 2) | n = torch.mul(m, 3) | j = self.fc(n) |"
       " s = j.relu() | p = operator.mul(s, y) | p");
}
END_TEST

START_TEST(special_nodes_stand_in_patterns_only)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    cfx_pattern_any(&s);
    ck_assert_int_eq(cfx_scope_status(&s, &err), CFX_EUNSUPPORTED);
    ck_assert_str_eq(err.text, "cfx.any stands in patterns only");
    cfx_scope_release(&s);
}
END_TEST

/* ---- What PyTorch makes of random graphs ---- */

static char *read_golden(void)
{
    char path[1024];
    const char *src = getenv("srcdir");
    snprintf(path, sizeof(path), "%s/tests/golden/rewrite/random.txt",
             src ? src : ".");
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(n + 1);
    ck_assert_uint_eq(fread(text, 1, n, f), n);
    text[n] = '\0';
    fclose(f);
    return text;
}

static cfx_module *parse(const char *text, const char *name)
{
    cfx_module *m;
    ck_assert_msg(!cfx_parse_model(&m, ctx, text, strlen(text), name, &err),
                  "%s", err.text);
    return m;
}

/* How often the pattern occurs, under five sets of options. */
static void golden_counts(const char *head, const cfx_graph *what)
{
    const char *at = strstr(head, "counts=") + 7;
    for (int i = 0; i < 5; i++, at += strcspn(at, ", ") + 1) {
        const cfx_match_options o = {
            .match_output = i & 1 && i < 4,
            .match_placeholder = i & 2,
            .keep_overlapping = i == 4,
            .ignore_literals = strstr(head, "ignore") != NULL,
        };
        cfx_matcher *m;
        cfx_matches found;
        if (*at == '-')
            continue;
        ck_assert_int_eq(cfx_matcher_new(&m, what, &o, &err), CFX_OK);
        ck_assert_int_eq(cfx_matcher_match(m, graph(), &found, &err), CFX_OK);
        ck_assert_msg(found.n == (size_t)atoi(at), "%s: %d: %zu", head, i,
                      found.n);
        cfx_matches_release(&found);
        cfx_matcher_free(m);
    }
}

/* "before --- pattern --- replacement --- after" */
static void golden_case(const char *head, char *text)
{
    char *part[4] = {text};
    for (int i = 1; i < 4; i++) {
        part[i] = strstr(part[i - 1], "\n---\n");
        ck_assert_msg(part[i] != NULL, "%s", head);
        *part[i] = '\0';
        part[i] += 5;
    }
    const cfx_rewrite_options o = {
        .size = sizeof(o),
        .match = {.size = sizeof(o.match),
                  .ignore_literals = strstr(head, "ignore") != NULL}};
    clear();
    gm = parse(part[0], head);
    cfx_module *what = parse(part[1], head), *with = parse(part[2], head);
    cfx_graph_set_owning_module(cfx_graph_module_graph(with), NULL);
    golden_counts(head, cfx_graph_module_graph(what));
    ck_assert_msg(!cfx_replace_pattern(gm, cfx_graph_module_graph(what),
                                       cfx_graph_module_graph(with), &o,
                                       &replaced, &err), "%s: %s", head,
                  err.text);
    ck_assert_msg(!cfx_graph_lint(graph(), &err), "%s: %s", head, err.text);
    char *got = graph_text(graph());
    ck_assert_msg(!strcmp(got, part[3]), "%s:\n%s\nnot\n%s", head, got,
                  part[3]);
    ck_assert_msg(replaced.n == (size_t)atoi(strstr(head, "matches=") + 8),
                  "%s: %zu", head, replaced.n);
    free(got);
    cfx_matches_release(&replaced);
    cfx_module_unref(what);
    cfx_module_unref(with);
}

START_TEST(random_graphs_come_out_as_in_pytorch)
{
    char *text = read_golden(), *at = text;
    int n = 0;
    while (at && !strncmp(at, "=== ", 4)) {
        char *head = at + 4, *body = strchr(at, '\n');
        char *next = strstr(body, "\n=== ");
        *body++ = '\0';
        if (next)
            *next = '\0';
        else
            body[strlen(body) - 1] = '\0';
        golden_case(head, body);
        at = next ? next + 1 : NULL;
        n++;
    }
    ck_assert_int_ge(n, 150);
    free(text);
}
END_TEST

/* ---- Size and memory ---- */

static cfx_node *call(cfx_graph *g, const char *target, cfx_node *a,
                      cfx_node *b)
{
    cfx_value args[] = {cfx_value_of_node(a), cfx_value_of_node(b)};
    return cfx_graph_call_function(g, target, args, b ? 2 : 1, NULL, 0, &err);
}

/* Ten nodes between a match and the next; each output is also used at the
 * very end, so that users are many and far. */
START_TEST(a_thousand_matches_of_a_large_graph)
{
    enum { N = 10000 };
    cfx_graph *g;
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), CFX_OK);
    cfx_node *last = cfx_graph_placeholder(g, "x", &err), *first = NULL;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 8; k++)
            last = call(g, "torch.exp", last, NULL);
        last = call(g, "torch.relu", call(g, "torch.neg", last, NULL), NULL);
        first = first ? first : last;
    }
    cfx_graph_output(g, cfx_value_of_node(call(g, "torch.add", last, first)),
                     &err);
    ck_assert_int_eq(cfx_graph_module_new_take(&gm, ctx, NULL, g, "G", &err),
                     CFX_OK);
    pattern = new_graph(ctx, "x | n = torch.neg(x) | r = torch.relu(n) | r");
    replacement = new_graph(ctx, "x | a = torch.abs(x) | b = torch.sin(a) |"
                            " b");
    ck_assert_int_eq(cfx_replace_pattern(gm, pattern, replacement, NULL,
                                         &replaced, &err), CFX_OK);
    ck_assert_uint_eq(replaced.n, N);
    ck_assert_int_eq(cfx_graph_lint(g, &err), CFX_OK);
}
END_TEST

typedef struct failing {
    int left;                /* allocations until all fail; negative: none */
    bool failed;
} failing;

static void *alloc(void *user, size_t size, size_t align)
{
    failing *f = user;
    if (f->left == 0) {
        f->failed = true;
        return NULL;
    }
    f->left -= f->left > 0;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void dealloc(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

START_TEST(every_lack_of_memory_leaves_a_graph_in_order)
{
    failing f = {-1, false};
    cfx_options o = {.size = sizeof(o), .allocator = {alloc, dealloc, &f}};
    cfx_context_free(ctx);
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    bool again = true;
    for (int n = 0; again; n++) {
        cfx_module *root = container(), *other = container();
        cfx_dim three = cfx_dim_int(3);
        add_module(other, "deep.relu", "ReLU");
        ck_assert_int_eq(cfx_module_param(other, "w", CFX_F32, 1, &three,
                                          &err), CFX_OK);
        gm = new_module(ctx, root,
                        "x y | r = torch.relu(x) | u = torch.exp(r) |"
                        " t = torch.tanh(y) | o = torch.neg(t) |"
                        " c = torch.cat([o, u]) | q = torch.relu(c) |"
                        " v = torch.neg(c) | d = torch.cat([q, v]) | d");
        cfx_module *with =
            new_module(ctx, other, "a b | w = self.w | l = self.deep.relu(a) |"
                       " m = torch.mul(l, w) | p = torch.neg(b) | (m, p)");
        pattern = new_graph(ctx, "a b | r = torch.relu(a) | o = torch.neg(b) |"
                            " (r, o)");
        f = (failing){n, false};
        cfx_status st = cfx_replace_pattern(gm, pattern,
                                            cfx_graph_module_graph(with), NULL,
                                            &replaced, &err);
        again = f.failed;
        f.left = -1;
        ck_assert_msg(st == (again ? CFX_ENOMEM : CFX_OK), "%d: %d", n, st);
        ck_assert_msg(!cfx_graph_lint(graph(), &err), "%d: %s", n, err.text);
        cfx_module_unref(with);
        clear();
    }
    ck_assert_uint_lt(cfx_context_memory(ctx), 4 << 20);
}
END_TEST

int main(void)
{
    const struct {
        const char *name;
        const TTest *test;
    } tests[] = {
#define TEST(name) {#name, name}
        TEST(preserves_logic), TEST(with_oneliner_pattern),
        TEST(with_trivial_replacement), TEST(single_pattern_match),
        TEST(multiple_pattern_match), TEST(graph_argument_order),
        TEST(correct_output_replacement), TEST(pattern_is_entire_graph),
        TEST(pattern_output_pattern_node_can_have_users_that_are_not_matched),
        TEST(internal_pattern_nodes_cannot_have_users_that_are_not_matched),
        TEST(placeholder_matching), TEST(replace_consecutive_submodules),
        TEST(with_overlapping_matches), TEST(replace_with_multiple_outputs),
        TEST(replace_with_duplicated_outputs), TEST(with_unused_args),
        TEST(call_method), TEST(nodes_with_kwargs), TEST(local_revert),
        TEST(replace_pattern_with_filters),
        TEST(matching_pattern_with_list_type_arg),
        TEST(matching_variable_arguments), TEST(replaced_nodes),
        TEST(replace_pattern_with_callback),
        TEST(replaces_referenced_submodules), TEST(replacement_with_attrs),
        TEST(unresolved_attributes_are_an_error),
        TEST(users_are_moved_behind_what_the_copy_needs),
        TEST(matches_that_would_close_a_cycle_together_are_left),
        TEST(placeholders_can_be_returned),
        TEST(later_matches_see_what_earlier_ones_became),
        TEST(what_makes_no_sense_is_refused),
        TEST(new_nodes_inherit_where_they_come_from),
        TEST(special_patterns_are_replaced),
        TEST(traced_as_callable), TEST(functions_hold_special_nodes),
        TEST(special_nodes_stand_in_patterns_only),
        TEST(random_graphs_come_out_as_in_pytorch),
        TEST(a_thousand_matches_of_a_large_graph),
        TEST(every_lack_of_memory_leaves_a_graph_in_order),
#undef TEST
    };
    Suite *s = suite_create("rewriter");
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
        TCase *c = tcase_create(tests[i].name);
        tcase_add_checked_fixture(c, setup, teardown);
        tcase_set_timeout(c, 30);
        tcase_add_test(c, tests[i].test);
        suite_add_tcase(s, c);
    }
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
