/*
 * matcher_test -- where a pattern occurs, by the rules of torch.fx's matcher
 * and beyond them.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/matcher.h>

#include "rewrite_test.h"

static cfx_context *ctx;
static cfx_error err;
static cfx_graph *graph, *pattern;
static cfx_matcher *matcher;
static cfx_matches found;

static void clear(void)
{
    cfx_matches_release(&found);
    cfx_matcher_free(matcher);
    cfx_graph_free(pattern);
    cfx_graph_free(graph);
    matcher = NULL;
    graph = pattern = NULL;
    err = (cfx_error){0};
}

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    found = (cfx_matches){0};
    graph = pattern = NULL;
    matcher = NULL;
    err = (cfx_error){0};
}

static void teardown(void)
{
    clear();
    cfx_context_free(ctx);
}

/* How often does one graph occur in the other? */
static size_t count(const char *in, const char *what,
                    const cfx_match_options *o)
{
    clear();
    graph = new_graph(ctx, in);
    pattern = new_graph(ctx, what);
    ck_assert_msg(!cfx_matcher_new(&matcher, pattern, o, &err), "%s",
                  err.text);
    ck_assert_msg(!cfx_matcher_match(matcher, graph, &found, &err), "%s",
                  err.text);
    return found.n;
}

#define COUNT(in, what, ...)                                                 \
    count(in, what, &(cfx_match_options){                                    \
        __VA_ARGS__})

/* The graph's node for a node of the pattern, in match i. */
static const char *name_of(size_t i, const char *node)
{
    cfx_value v = cfx_match_named(&found.item[i], node);
    return v.kind == CFX_NODE ? v.u.node->name : "";
}

/* ---- torch's tables: match_output and match_placeholder in turn ---- */

static void table(const char *in, const char *what, const int expected[4])
{
    for (int i = 0; i < 4; i++) {
        size_t n = COUNT(in, what, .match_output = i & 1,
                         .match_placeholder = i & 2);
        if (expected[i] >= 0)
            ck_assert_msg(n == (size_t)expected[i], "%s: %d: %zu", what, i, n);
    }
}
#define TABLE(in, what, ff, tf, ft, tt)                                      \
    table(in, what, (const int[4]){ff, tf, ft, tt})

START_TEST(single_node_pattern)
{
    TABLE("x | neg = torch.neg(x) | add = torch.add(neg, neg) | add",
          "a | neg = torch.neg(a) | neg", 1, 0, 1, 0);
}
END_TEST

START_TEST(simple_pattern)
{
    TABLE("x w1 w2 | a = torch.cat([w1, w2]) | m1 = a.sum() | b = torch.cat("
          "[w2, w1]) | m2 = b.sum() | c = torch.cat([m1, m2]) | m3 = c.sum() |"
          " d = torch.max(m1) | e = operator.add(x, d) | f = torch.max(m2) |"
          " g = operator.add(e, f) | h = torch.max(m3) |"
          " i = operator.add(g, h) | i",
          "a b | c = torch.cat([a, b]) | s = c.sum() | s", 3, 0, 2, 0);
}
END_TEST

START_TEST(simple_full_graph_matching)
{
    const char *text = "x | a = torch.neg(x) | b = torch.add(a, a) | b";
    TABLE(text, text, 1, 1, 1, 1);
}
END_TEST

START_TEST(diamond_shape_pattern)
{
    TABLE("x | n = torch.neg(x) | a = n.relu() | l = a.sigmoid() |"
          " r = a.relu() | o = operator.add(l, r) | o",
          "a | b = a.relu() | l = b.sigmoid() | r = b.relu() |"
          " o = operator.add(l, r) | o", 1, 1, 0, 0);
}
END_TEST

START_TEST(non_fully_contained_matches)
{
    TABLE("x w1 w2 b1 b2 | m1 = torch.cat([w1, w2]) | m2 = torch.cat([x, b2])"
          " | t = m2.t() | t0 = torch.addmm(b1, m1, t) | s0 = torch.sum(t0) |"
          " m3 = torch.cat([w1, w2]) | m4 = torch.cat([x, b2]) | u = m4.t() |"
          " t1 = torch.addmm(b1, m3, u) | s1 = torch.sum(m3) | (s0, s1)",
          "x w1 w2 b1 b2 | m1 = torch.cat([w1, w2]) | m2 = torch.cat([x, b2])"
          " | t = m2.t() | t0 = torch.addmm(b1, m1, t) | t0", 1, 0, 1, 0);
}
END_TEST

static const char chain[] =
    "x | a = torch.sigmoid(x) | b = torch.sigmoid(a) | c = torch.sigmoid(b) |"
    " d = torch.sigmoid(c) | d";
static const char two[] = "x | a = torch.sigmoid(x) | b = torch.sigmoid(a) | b";

START_TEST(chain_repeated_pattern)
{
    TABLE(chain, two, 2, 1, 1, 0);
    ck_assert_uint_eq(COUNT(chain, two, .keep_overlapping = true), 3);
}
END_TEST

START_TEST(quantization_model)
{
    TABLE("x | i = operator.iadd(x, 3) | d = i.dequantize() |"
          " s = torch.sigmoid(d) | t = s.to(torch.float16) | t",
          "x | d = x.dequantize() | s = torch.sigmoid(d) |"
          " t = s.to(torch.float16) | t", 1, 1, 0, 0);
}
END_TEST

START_TEST(multiple_outputs_with_dependency)
{
    TABLE("x | y = x.relu() | z = y.sigmoid() | (z, y)",
          "a | b = a.relu() | c = b.sigmoid() | (b, c)", 1, 0, 1, 0);
}
END_TEST

START_TEST(multiple_outputs_without_dependency)
{
    TABLE("x | a = operator.add(x, 1) | r = a.relu() | z = r.sum() |"
          " y = r.sigmoid() | u = y.sigmoid() | v = z.sum() |"
          " o = operator.add(u, v) | o",
          "a | r = a.relu() | b = r.sigmoid() | c = r.sum() | (b, c)",
          1, 0, 0, 0);
}
END_TEST

START_TEST(multiple_outputs_multiple_overlapping_matches)
{
    const char *in =
        "x | a = operator.add(x, 1) | r = a.relu() | z = r.sum() |"
        " z1 = r.sum() | y = r.sigmoid() | y1 = r.sigmoid() |"
        " p = operator.add(z, z1) | q = operator.add(p, y) |"
        " o = operator.add(q, y1) | o";
    const char *what =
        "a | r = a.relu() | b = r.sigmoid() | c = r.sum() | (r, b, c)";
    ck_assert_uint_eq(COUNT(in, what, .keep_overlapping = true), 4);
    ck_assert_uint_eq(COUNT(in, what, .keep_overlapping = false), 1);
}
END_TEST

START_TEST(multiple_outputs_multiple_non_overlapping_matches)
{
    TABLE("x | a = operator.add(x, 1) | r = a.relu() | z = r.sum() |"
          " y = r.sigmoid() | r1 = r.relu() | z1 = r1.sum() |"
          " y1 = r1.sigmoid() | p = operator.add(z, y) |"
          " q = operator.add(p, z1) | o = operator.add(q, y1) | o",
          "a | r = a.relu() | b = r.sigmoid() | c = r.sum() | (b, c)",
          1, 0, 0, 0);
}
END_TEST

START_TEST(multiple_outputs_identical_anchor)
{
    TABLE("x | a = operator.add(x, 1) | r = a.relu() | y = r.sigmoid() |"
          " y1 = r.sigmoid() | (y, y1)",
          "a | r = a.relu() | b = r.sigmoid() | b1 = r.sigmoid() | (b, b1)",
          -1, 1, 0, -1);
}
END_TEST

START_TEST(multiple_outputs_horizontal_pattern)
{
    TABLE("x | a = operator.add(x, 1) | r = a.relu() | s = a.sigmoid() |"
          " (r, s)",
          "a | b = a.relu() | c = a.sigmoid() | (b, c)", 1, 1, 0, 0);
}
END_TEST

START_TEST(multi_output_with_invalid_matches)
{
    TABLE("x | w = torch.rand(3, 3) | r0 = torch.nn.functional.linear(x, w) |"
          " r1 = torch.sigmoid(r0) | r2 = operator.mul(r0, r1) |"
          " r3 = torch.sum(r2, dim=1) | r3",
          "a b c | l = torch.nn.functional.linear(a, b) |"
          " m = operator.mul(l, c) | (l, m)", 0, 0, 0, 0);
}
END_TEST

START_TEST(cycles_are_refused_also_where_overlaps_are_kept)
{
    ck_assert_uint_eq(COUNT("x | a = torch.relu(x) | b = torch.neg(a) |"
                            " c = operator.mul(a, b) | c",
                            "x y | a = torch.relu(x) |"
                            " c = operator.mul(a, y) | (a, c)",
                            .keep_overlapping = true), 0);
}
END_TEST

START_TEST(quantization_fp8_pattern)
{
    const char *in =
        "x y | s = self._scale_0 | q = torch.ops.fp8.quantize(x, 0, s) |"
        " d = torch.ops.fp8.dequantize(q, 0, s) |"
        " q1 = torch.ops.fp8.quantize(y, 0, s) |"
        " d1 = torch.ops.fp8.dequantize(q1, 0, s) |"
        " a = torch.ops.aten.add.Tensor(d, d1) |"
        " q2 = torch.ops.fp8.quantize(a, 0, s) |"
        " d2 = torch.ops.fp8.dequantize(q2, 0, s) | d2";
    const char *what =
        "a at sa b bt bs os | d = torch.ops.fp8.dequantize(a, at, sa) |"
        " e = torch.ops.fp8.dequantize(b, bt, bs) |"
        " o = torch.ops.aten.add.Tensor(d, e) |"
        " q = torch.ops.fp8.quantize(o, at, os) | q";
    /* Here two placeholders would stand for one node: of torch's own test the
     * scales are three. */
    ck_assert_uint_eq(COUNT(in, what, .size = 0), 0);
    ck_assert_uint_eq(
        COUNT("x y | s = self._scale_0 | s1 = self._scale_0 |"
              " s2 = self._scale_0 | q = torch.ops.fp8.quantize(x, 0, s) |"
              " d = torch.ops.fp8.dequantize(q, 0, s) |"
              " q1 = torch.ops.fp8.quantize(y, 0, s1) |"
              " d1 = torch.ops.fp8.dequantize(q1, 0, s1) |"
              " a = torch.ops.aten.add.Tensor(d, d1) |"
              " q2 = torch.ops.fp8.quantize(a, 0, s2) |"
              " d2 = torch.ops.fp8.dequantize(q2, 0, s2) | d2",
              what, .size = 0), 1);
    ck_assert_int_eq(cfx_match_named(&found.item[0], "at").kind, CFX_INT);
}
END_TEST

START_TEST(no_anchor_found)
{
    TABLE("x | a = operator.add(x, 1) | a", "a | b = a.relu() | b", 0, 0, 0,
          0);
    /* The second of two anchors has no candidate. */
    TABLE("x | a = torch.relu(x) | a",
          "x | a = torch.relu(x) | b = torch.neg(x) | (a, b)", 0, 0, 0, 0);
    TABLE("x | a = torch.relu(x) | a", "x | 3", 0, -1, 0, -1);
}
END_TEST

/* ---- Arguments ---- */

START_TEST(subgraph_matcher_with_list)
{
    ck_assert_uint_eq(
        count("x y | s = builtins.getattr(y, 'shape') |"
              " i = operator.getitem(s, 0) | v = torch.ops.aten.view(x,"
              " [5, i]) | v",
              "x y z | s = builtins.getattr(y, 'shape') |"
              " i = operator.getitem(s, 0) | v = torch.ops.aten.view(x,"
              " [z, i]) | v", NULL), 1);
    cfx_value z = cfx_match_named(&found.item[0], "z");
    ck_assert_int_eq(z.kind, CFX_INT);
    ck_assert_int_eq(z.u.i, 5);
}
END_TEST

START_TEST(subgraph_matcher_with_list_bad)
{
    ck_assert_uint_eq(
        count("x y | i = y.size(0) | j = y.size(1) |"
              " v = torch.ops.aten._reshape_alias_copy.default(x, [1, i],"
              " [j, j]) | v",
              "x y b | i = y.size(0) | j = y.size(1) |"
              " v = torch.ops.aten._reshape_alias_copy.default(x, [b, i, j],"
              " [j]) | v", NULL), 0);
}
END_TEST

START_TEST(subgraph_matcher_ignore_literals)
{
    const char *in = "x | a = torch.ops.aten.add.Tensor(x, 1) | a";
    const char *what = "x | a = torch.ops.aten.add.Tensor(x, 2) | a";
    ck_assert_uint_eq(COUNT(in, what, .size = 0), 0);
    ck_assert_uint_eq(COUNT(in, what, .ignore_literals = true), 1);
    ck_assert_uint_eq(COUNT("x y | a = torch.cat([x, y], 1) | a",
                            "x y | a = torch.cat([x, y], 0) | a",
                            .ignore_literals = true), 1);
    /* A node of the pattern is no literal: it must find its own. */
    ck_assert_uint_eq(COUNT("x | a = torch.add(x, 1) | a",
                            "x | n = torch.neg(x) | a = torch.add(x, n) | a",
                            .ignore_literals = true), 0);
}
END_TEST

START_TEST(variatic_arg_matching)
{
    const char *what =
        "x k s | p = torch.ops.aten.max_pool2d_with_indices.default(x, k, s) |"
        " p";
    ck_assert_uint_eq(
        count("x | p = torch.ops.aten.max_pool2d_with_indices.default(x,"
              " [2, 2], stride=[2, 2]) | p", what, NULL), 1);
    ck_assert_uint_eq(
        count("x | p = torch.ops.aten.max_pool2d_with_indices.default(x,"
              " [2, 2], stride=[2, 2], padding=[1, 1]) | p", what, NULL), 0);
}
END_TEST

START_TEST(literals_match_by_type_and_value)
{
    const char *in = "x | a = torch.add(x, 1) | a";
    ck_assert_uint_eq(count(in, "x | a = torch.add(x, 1) | a", NULL), 1);
    ck_assert_uint_eq(count(in, "x | a = torch.add(x, 1.0) | a", NULL), 0);
    ck_assert_uint_eq(count(in, "x | a = torch.add(x, True) | a", NULL), 0);
    ck_assert_uint_eq(count(in, "x y | a = torch.add(x, y) | a", NULL), 1);
    ck_assert_uint_eq(count("x | a = torch.addmm(x, 1, 1) | a",
                            "x y | a = torch.addmm(x, y, y) | a", NULL), 1);
    ck_assert_uint_eq(count("x | a = torch.addmm(x, 1, 2) | a",
                            "x y | a = torch.addmm(x, y, y) | a", NULL), 0);
}
END_TEST

START_TEST(one_node_stands_for_one)
{
    ck_assert_uint_eq(count("v | a = torch.add(v, v) | a",
                            "x y | a = torch.add(x, y) | a", NULL), 0);
    ck_assert_uint_eq(count("v w | a = torch.add(v, w) | a",
                            "x | a = torch.add(x, x) | a", NULL), 0);
}
END_TEST

START_TEST(keywords_match_in_their_order)
{
    const char *in = "x | a = torch.sum(x, dim=1, keepdim=True) | a";
    ck_assert_uint_eq(count(in, "x | a = torch.sum(x, dim=1, keepdim=True) | a",
                            NULL), 1);
    ck_assert_uint_eq(count(in, "x | a = torch.sum(x, keepdim=True, dim=1) | a",
                            NULL), 0);
    ck_assert_uint_eq(count(in, "x | a = torch.sum(x, 1, keepdim=True) | a",
                            NULL), 0);
}
END_TEST

START_TEST(nodes_in_slices_and_dicts_match)
{
    ck_assert_uint_eq(
        count("x y | n = y.size(0) | g = operator.getitem(x, slice(None, n,"
              " None)) | g",
              "x y | n = y.size(0) | g = operator.getitem(x, slice(None, n,"
              " None)) | g", NULL), 1);
    ck_assert_uint_eq(count("x | g = my.f({'a': x, 'b': 1}) | g",
                            "x | g = my.f({'a': x, 'b': 1}) | g", NULL), 1);
    ck_assert_uint_eq(count("x | g = my.f({'a': x, 'b': 1}) | g",
                            "x | g = my.f({'b': x, 'a': 1}) | g", NULL), 0);
}
END_TEST

START_TEST(functions_methods_and_modules_differ)
{
    const char *in = "x | a = torch.relu(x) | b = a.relu() | c = self.relu(b)"
                     " | c";
    ck_assert_uint_eq(count(in, "x | a = torch.relu(x) | a", NULL), 1);
    ck_assert_str_eq(found.item[0].anchor->name, "a");
    ck_assert_uint_eq(count(in, "x | a = x.relu() | a", NULL), 1);
    ck_assert_str_eq(found.item[0].anchor->name, "b");
    ck_assert_uint_eq(count(in, "x | a = self.relu(x) | a", NULL), 1);
    ck_assert_str_eq(found.item[0].anchor->name, "c");
}
END_TEST

START_TEST(node_names_can_stand_for_equality)
{
    const char *in = "x | my_relu = torch.relu(x) | b = torch.neg(my_relu) |"
                     " b";
    const char *what = "x | a = torch.tanh(x) | a";
    ck_assert_uint_eq(COUNT(in, what, .size = 0), 0);
    ck_assert_uint_eq(COUNT(in, what, .node_name_match = "my_"), 1);
    ck_assert_str_eq(found.item[0].anchor->name, "my_relu");
}
END_TEST

/* ---- Attributes and modules ---- */

static cfx_module *root_with(const char *name, bool buffer)
{
    cfx_module *m;
    cfx_dim shape[] = {cfx_dim_int(3), cfx_dim_int(3)};
    ck_assert_int_eq(cfx_module_new_container(&m, ctx, "M", &err), CFX_OK);
    ck_assert_int_eq((buffer ? cfx_module_buffer : cfx_module_param)(
        m, name, CFX_F32, 2, shape, &err), CFX_OK);
    return m;
}

static size_t count_attributes(bool pattern_buffer)
{
    size_t n;
    cfx_module *in = new_module(ctx, root_with("w", false),
                                "x | w = self.w | a = torch.mm(x, w) | a");
    cfx_module *what = new_module(ctx, root_with("v", pattern_buffer),
                                  "x | v = self.v | a = torch.mm(x, v) | a");
    ck_assert_int_eq(cfx_matcher_new(&matcher, cfx_graph_module_graph(what),
                                     NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_match(matcher, cfx_graph_module_graph(in),
                                       &found, &err), CFX_OK);
    n = found.n;
    clear();
    cfx_module_unref(in);
    cfx_module_unref(what);
    return n;
}

START_TEST(subgraph_matcher_with_attributes)
{
    ck_assert_uint_eq(count_attributes(false), 1);
    /* A parameter is no buffer. */
    ck_assert_uint_eq(count_attributes(true), 0);
}
END_TEST

/* ---- Names ---- */

START_TEST(split_to_graph_and_name_node_map)
{
    ck_assert_uint_eq(
        COUNT("x w | c = torch.conv2d(x, w) | r = torch.relu(c) |"
              " m = operator.mul(r, 2) | m",
              "x w | conv = torch.conv2d(x, w) | relu = torch.relu(conv) |"
              " (relu, {'conv': conv, 'the_relu': relu})",
              .name_node_map = true), 1);
    ck_assert_str_eq(name_of(0, "conv"), "c");
    ck_assert_str_eq(name_of(0, "the_relu"), "r");
    ck_assert_str_eq(name_of(0, "relu"), "");
    ck_assert_uint_eq(found.item[0].nreturning, 1);
}
END_TEST

START_TEST(matcher_with_name_node_map_function)
{
    /* conv is not returned: its other user is a leak. */
    const char *what =
        "x w | conv = torch.conv2d(x, w) | relu = torch.relu(conv) |"
        " (relu, {'conv': conv, 'relu': relu})";
    ck_assert_uint_eq(COUNT("x w | c = torch.conv2d(x, w) | r = torch.relu(c)"
                            " | n = torch.neg(c) | (r, n)", what,
                            .name_node_map = true), 0);
    clear();
    pattern = new_graph(ctx, "x | r = torch.relu(x) | r");
    ck_assert_int_eq(cfx_matcher_new(&matcher, pattern,
                                     &(cfx_match_options){
                                         .name_node_map = true}, &err),
                     CFX_EINVAL);
}
END_TEST

START_TEST(matcher_with_name_node_map_module)
{
    ck_assert_uint_eq(
        COUNT("x | a = self.linear(x) | r = torch.relu(a) | b = self.other(r)"
              " | s = torch.relu(b) | s",
              "x | l = self.linear(x) | r = torch.relu(l) |"
              " (r, {'linear': l, 'x': x})", .name_node_map = true), 1);
    ck_assert_str_eq(name_of(0, "linear"), "a");
    ck_assert_str_eq(name_of(0, "x"), "x");
}
END_TEST

START_TEST(a_match_tells_what_stands_for_what)
{
    ck_assert_uint_eq(
        count("p q | s = torch.add(p, q, alpha=2) | r = torch.relu(s) | r",
              "x y z | a = torch.add(x, y, alpha=z) | b = torch.relu(a) | b",
              NULL), 1);
    const cfx_match *m = &found.item[0];
    ck_assert_str_eq(name_of(0, "x"), "p");
    ck_assert_str_eq(name_of(0, "y"), "q");
    ck_assert_str_eq(name_of(0, "a"), "s");
    ck_assert_str_eq(m->anchor->name, "r");
    ck_assert_ptr_eq(m->anchor->graph, graph);
    ck_assert_uint_eq(m->nplaceholders, 3);
    ck_assert_int_eq(m->placeholders[2].u.i, 2);
    ck_assert_uint_eq(m->nreturning, 1);
    ck_assert_str_eq(m->returning[0].u.node->name, "r");
    ck_assert_int_eq(cfx_match_named(m, "nobody").kind, CFX_ABSENT);
}
END_TEST

/* ---- Beyond torch.fx ---- */

static size_t meant(const char *in, const char *what)
{
    return COUNT(in, what, .by_operator = true);
}

START_TEST(spellings_of_one_operator_are_one_call)
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
    ck_assert_uint_eq(meant("x y | a = operator.iadd(x, y) | a",
                            "x y | a = x.add_(y) | a"), 1);
    ck_assert_uint_eq(meant("x y | a = operator.iadd(x, y) | a",
                            "x y | a = operator.add(x, y) | a"), 0);
    ck_assert_uint_eq(meant("x y | a = torch.sub(x, y) | a", what), 0);
    ck_assert_uint_eq(meant("x y | a = torch.add(y, x) | a", what), 1);
}
END_TEST

START_TEST(arguments_match_as_they_are_bound)
{
    const char *what = "x w | a = torch.conv2d(x, w, None, 2, 1) | a";
    ck_assert_uint_eq(meant("x w | a = torch.nn.functional.conv2d(x, w,"
                            " stride=(2, 2), padding=1) | a", what), 1);
    ck_assert_uint_eq(meant("x w | a = torch.conv2d(x, w, stride=(2, 1),"
                            " padding=1) | a", what), 0);
    ck_assert_uint_eq(meant("x | a = torch.nn.functional.relu(x,"
                            " inplace=False) | a", "x | a = x.relu() | a"), 1);
    ck_assert_uint_eq(meant("x | a = torch.nn.functional.relu(x,"
                            " inplace=True) | a", "x | a = x.relu() | a"), 0);
    ck_assert_uint_eq(meant("x | a = x.sum(-1, True) | a",
                            "x | a = torch.sum(x, keepdim=True, dim=-1) | a"),
                      1);
    /* What nobody knows is compared as it is spelled. */
    ck_assert_uint_eq(meant("x | a = my.f(x, 1) | a",
                            "x | a = my.f(x, 1) | a"), 1);
}
END_TEST

static size_t commuted(const char *in, const char *what)
{
    return COUNT(in, what, .commutative = true);
}

START_TEST(commuting_arguments_match_in_either_order)
{
    const char *what = "x y | s = torch.sigmoid(x) | m = torch.mul(s, y) | m";
    ck_assert_uint_eq(commuted("x | s = torch.sigmoid(x) | n = torch.neg(x) |"
                               " m = operator.mul(n, s) | m", what), 1);
    ck_assert_str_eq(name_of(0, "y"), "n");
    ck_assert_uint_eq(meant("x | s = torch.sigmoid(x) | n = torch.neg(x) |"
                            " m = operator.mul(n, s) | m", what), 0);
    ck_assert_uint_eq(commuted("x | s = torch.sigmoid(x) | m = operator.mul(x,"
                               " s) | m",
                               "x | s = torch.sigmoid(x) | m = operator.mul(s,"
                               " x) | m"), 1);
    what = "x y | s = torch.sigmoid(x) | m = torch.sub(s, y) | m";
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = torch.sub(y,"
                               " s) | m", what), 0);
    /* y + 2 s is not s + 2 y. */
    what = "x y | s = torch.sigmoid(x) | m = torch.add(s, y, alpha=2) | m";
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = torch.add(s,"
                               " y, alpha=2) | m", what), 1);
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = torch.add(y,"
                               " s, alpha=2) | m", what), 0);
    /* In place the first is special. */
    what = "x y | s = torch.sigmoid(x) | m = s.mul_(y) | m";
    ck_assert_uint_eq(commuted("x y | s = torch.sigmoid(x) | m = y.mul_(s) |"
                               " m", what), 0);
    /* Two exchanges in one match; each is found once. */
    ck_assert_uint_eq(
        COUNT("a b c | n = torch.neg(b) | p = torch.mul(a, n) | q ="
              " torch.add(c, p) | q",
              "x y z | n = torch.neg(x) | p = torch.mul(n, y) | q ="
              " torch.add(p, z) | q", .commutative = true,
              .keep_overlapping = true), 1);
}
END_TEST

START_TEST(any_matches_whatever_there_is)
{
    const char *what = "x | k = cfx.any() | a = torch.add(x, k) | a";
    ck_assert_uint_eq(count("x | a = torch.add(x, 1) | a", what, NULL), 1);
    ck_assert_int_eq(cfx_match_named(&found.item[0], "k").u.i, 1);
    ck_assert_uint_eq(found.item[0].nplaceholders, 1);
    ck_assert_uint_eq(count("x | a = torch.add(x, x) | a", what, NULL), 1);
    ck_assert_uint_eq(count("x y | a = torch.add(x, y) | b = torch.add(a, y) |"
                            " b", what, NULL), 2);
}
END_TEST

START_TEST(one_of_takes_the_first_that_matches)
{
    const char *what =
        "x | r = torch.relu(x) | g = torch.nn.functional.gelu(x) |"
        " act = cfx.one_of(r, g) | n = torch.neg(act) | n";
    ck_assert_uint_eq(count("x | r = torch.relu(x) | n = torch.neg(r) | n",
                            what, NULL), 1);
    ck_assert_str_eq(name_of(0, "r"), "r");
    ck_assert_str_eq(name_of(0, "g"), "");
    ck_assert_str_eq(name_of(0, "act"), "r");
    ck_assert_uint_eq(count("x | h = torch.nn.functional.gelu(x) |"
                            " n = torch.neg(h) | n", what, NULL), 1);
    ck_assert_str_eq(name_of(0, "act"), "h");
    ck_assert_uint_eq(count("x | h = torch.tanh(x) | n = torch.neg(h) | n",
                            what, NULL), 0);
    what = "x | d = cfx.one_of(1, -1) | a = torch.softmax(x, d) | a";
    ck_assert_uint_eq(count("x | a = torch.softmax(x, -1) | a", what, NULL),
                      1);
    ck_assert_uint_eq(count("x | a = torch.softmax(x, 0) | a", what, NULL), 0);
    /* As an output. */
    what = "x | r = torch.relu(x) | t = torch.tanh(x) |"
           " act = cfx.one_of(r, t) | act";
    ck_assert_uint_eq(count("x | t = torch.tanh(x) | r = torch.relu(t) |"
                            " n = torch.neg(t) | (r, n)", what, NULL), 2);
    ck_assert_str_eq(found.item[0].anchor->name, "t");
}
END_TEST

START_TEST(optional_nodes_may_be_missing)
{
    const char *what =
        "x w | c = torch.conv2d(x, w) | r = torch.relu(c) |"
        " o = cfx.optional(r) | s = torch.sum(o) | s";
    ck_assert_uint_eq(count("x w | c = torch.conv2d(x, w) | r = torch.relu(c)"
                            " | s = torch.sum(r) | s", what, NULL), 1);
    ck_assert_str_eq(name_of(0, "r"), "r");
    ck_assert_uint_eq(count("x w | c = torch.conv2d(x, w) | s = torch.sum(c) |"
                            " s", what, NULL), 1);
    ck_assert_str_eq(name_of(0, "r"), "");
    ck_assert_str_eq(name_of(0, "o"), "c");
    /* At the end it is taken where that keeps the match contained. */
    what = "x w | c = torch.conv2d(x, w) | r = torch.relu(c) |"
           " o = cfx.optional(r, c) | o";
    ck_assert_uint_eq(count("x w | c = torch.conv2d(x, w) | r = torch.relu(c)"
                            " | r", what, NULL), 1);
}
END_TEST

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

START_TEST(where_asks_a_predicate)
{
    int calls = 0;
    const cfx_match_predicate tests[] = {
        {"even", is_even, &calls}, {"single", has_one_user, &calls},
    };
    const char *what = "x n | e = cfx.where(n, 'even') |"
                       " a = torch.softmax(x, e) | a";
    ck_assert_uint_eq(COUNT("x | a = torch.softmax(x, 2) | b ="
                            " torch.softmax(a, 1) | b", what,
                            .predicates = tests, .npredicates = 2), 1);
    ck_assert_int_eq(cfx_match_named(&found.item[0], "n").u.i, 2);
    ck_assert_int_eq(calls, 2);
    what = "x | r = torch.relu(x) | s = cfx.where(r, 'single') | s";
    ck_assert_uint_eq(COUNT("x | a = torch.relu(x) | b = torch.relu(a) |"
                            " c = torch.add(a, b) | c", what,
                            .predicates = tests, .npredicates = 2), 1);
    ck_assert_str_eq(found.item[0].anchor->name, "b");
    cfx_matcher *m;
    ck_assert_int_eq(cfx_matcher_new(&m, pattern, NULL, &err), CFX_EINVAL);
    ck_assert_str_eq(err.text, "s: there is no predicate 'single'");
}
END_TEST

START_TEST(modules_match_by_their_type)
{
    cfx_module *root, *relu;
    ck_assert_int_eq(cfx_module_new_container(&root, ctx, "M", &err), CFX_OK);
    ck_assert_int_eq(cfx_module_new(&relu, ctx,
                                    cfx_find_module_type(ctx, "ReLU"), NULL,
                                    NULL, 0, NULL, 0, &err), CFX_OK);
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
                                           &found, &err), CFX_OK);
        ck_assert_uint_eq(found.n, 1 - i);
        clear();
    }
    cfx_module_unref(gm);
}
END_TEST

/* ---- Patterns that are none ---- */

static void refuses(const char *what, const char *why)
{
    clear();
    pattern = new_graph(ctx, what);
    ck_assert_int_lt(cfx_matcher_new(&matcher, pattern, NULL, &err), 0);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    matcher = NULL;
}

START_TEST(patterns_must_make_sense)
{
    refuses("x | a = torch.relu(x) | b = torch.neg(x) | b",
            "with dead code: nothing uses a");
    refuses("x | o = cfx.optional(x) | o", "cfx.optional takes");
    refuses("x | o = cfx.one_of() | o", "needs alternatives");
    refuses("x | o = cfx.where(x) | o", "cfx.where takes");
    refuses("x | o = cfx.module(x) | o", "cfx.module takes");
    clear();
    ck_assert_int_eq(cfx_graph_new(&pattern, ctx, &err), CFX_OK);
    ck_assert_int_eq(cfx_matcher_new(&matcher, pattern, NULL, &err),
                     CFX_EGRAPH);
    ck_assert_str_eq(err.text, "SubgraphMatcher cannot be initialized with an "
                     "empty pattern");
    matcher = NULL;
}
END_TEST

/* ---- Size ---- */

static cfx_node *call(const char *target, cfx_node *a, cfx_node *b)
{
    cfx_value args[] = {cfx_value_of_node(a), cfx_value_of_node(b)};
    return cfx_graph_call_function(graph, target, args, b ? 2 : 1, NULL, 0,
                                   &err);
}

/* Pairs of two outputs each, all fed by one node: what has a thousand
 * candidates for each anchor must not try a million. */
START_TEST(further_anchors_are_looked_for_nearby)
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
END_TEST

START_TEST(unconnected_anchors_take_what_is_left)
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
END_TEST

/* A pattern deeper than any stack of calls, in a graph of its like. */
START_TEST(deep_patterns_match_without_recursion)
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
END_TEST

/* ---- Memory ---- */

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

START_TEST(every_lack_of_memory_is_told)
{
    failing f = {-1, false};
    cfx_options o = {.size = sizeof(o), .allocator = {alloc, dealloc, &f}};
    cfx_context_free(ctx);
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    cfx_match_options mo = {.size = sizeof(mo), .commutative = true,
                            .name_node_map = true};
    graph = new_graph(ctx, "x y | r = torch.relu(x) | t = x.tanh() |"
                      " a = operator.add(t, r) | b = torch.softmax(a,"
                      " 'long enough a string', [1, (2, 3)]) | (b, a)");
    pattern = new_graph(ctx, "x d l | r = x.relu() | t = torch.tanh(x) |"
                        " u = cfx.one_of(t, r) | a = torch.add(r, u) |"
                        " b = torch.softmax(a, d, l) | (b, a, {'r': r})");
    bool again = true;
    for (int n = 0; again; n++) {
        f = (failing){n, false};
        err = (cfx_error){0};
        cfx_status st = cfx_matcher_new(&matcher, pattern, &mo, &err);
        if (!st)
            st = cfx_matcher_match(matcher, graph, &found, &err);
        else
            matcher = NULL;
        again = f.failed;
        f.left = -1;
        ck_assert_msg(st == (again ? CFX_ENOMEM : CFX_OK), "%d: %d", n, st);
        ck_assert_uint_eq(again ? 1 : found.n, 1);
        cfx_matches_release(&found);
        cfx_matcher_free(matcher);
        matcher = NULL;
    }
}
END_TEST

int main(void)
{
    const struct {
        const char *name;
        const TTest *test;
    } tests[] = {
#define TEST(name) {#name, name}
        TEST(single_node_pattern), TEST(simple_pattern),
        TEST(simple_full_graph_matching), TEST(diamond_shape_pattern),
        TEST(non_fully_contained_matches), TEST(chain_repeated_pattern),
        TEST(quantization_model), TEST(multiple_outputs_with_dependency),
        TEST(multiple_outputs_without_dependency),
        TEST(multiple_outputs_multiple_overlapping_matches),
        TEST(multiple_outputs_multiple_non_overlapping_matches),
        TEST(multiple_outputs_identical_anchor),
        TEST(multiple_outputs_horizontal_pattern),
        TEST(multi_output_with_invalid_matches),
        TEST(cycles_are_refused_also_where_overlaps_are_kept),
        TEST(quantization_fp8_pattern), TEST(no_anchor_found),
        TEST(subgraph_matcher_with_list),
        TEST(subgraph_matcher_with_list_bad),
        TEST(subgraph_matcher_ignore_literals), TEST(variatic_arg_matching),
        TEST(literals_match_by_type_and_value), TEST(one_node_stands_for_one),
        TEST(keywords_match_in_their_order),
        TEST(nodes_in_slices_and_dicts_match),
        TEST(functions_methods_and_modules_differ),
        TEST(node_names_can_stand_for_equality),
        TEST(subgraph_matcher_with_attributes),
        TEST(split_to_graph_and_name_node_map),
        TEST(matcher_with_name_node_map_function),
        TEST(matcher_with_name_node_map_module),
        TEST(a_match_tells_what_stands_for_what),
        TEST(spellings_of_one_operator_are_one_call),
        TEST(arguments_match_as_they_are_bound),
        TEST(commuting_arguments_match_in_either_order),
        TEST(any_matches_whatever_there_is),
        TEST(one_of_takes_the_first_that_matches),
        TEST(optional_nodes_may_be_missing), TEST(where_asks_a_predicate),
        TEST(modules_match_by_their_type), TEST(patterns_must_make_sense),
        TEST(further_anchors_are_looked_for_nearby),
        TEST(unconnected_anchors_take_what_is_left),
        TEST(deep_patterns_match_without_recursion),
        TEST(every_lack_of_memory_is_told),
#undef TEST
    };
    Suite *s = suite_create("matcher");
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
