/*
 * rewriter_test -- what replaces a pattern, as torch.fx does it and where it
 * is in error.
 */
#include "tests/unit/rewrite/rewriter_test.h"
#include "tests/unit/unit.h"

/* ---- torch's own tests ---- */

static const char cats[] =
    "x w1 w2 | c = torch.cat([w1, w2]) | m1 = c.sum() |"
    " d = torch.cat([w1, w2]) | m2 = d.sum() | p = torch.max(m1) |"
    " a = operator.add(x, p) | q = torch.max(m2) | b = operator.add(a, q) | b";

TEST_CASE(preserves_logic)
{
    const char *what = "w1 w2 | c = torch.cat([w1, w2]) | s = c.sum() | s";
    ck_assert_uint_eq(replace(cats, what, what), 2);
    /* The copies stand before the first users. */
    is("x w1 w2 | c = torch.cat([w1, w2]) | m1 = c.sum() | p = torch.max(m1) |"
       " a = operator.add(x, p) | d = torch.cat([w1, w2]) | m2 = d.sum() |"
       " q = torch.max(m2) | b = operator.add(a, q) | b");
}

TEST_CASE(with_oneliner_pattern)
{
    ck_assert_uint_eq(replace("x | a = torch.neg(x) | b = operator.add(a, x) |"
                              " b",
                              "x | a = torch.neg(x) | a",
                              "x | a = torch.relu(x) | a"),
                      1);
    is("x | a = torch.relu(x) | b = operator.add(a, x) | b");
}

TEST_CASE(with_trivial_replacement)
{
    ck_assert_uint_eq(replace("x | a = torch.neg(x) | b = operator.add(a, x) |"
                              " b",
                              "x | a = torch.neg(x) | a", "x | x"),
                      1);
    is("x | b = operator.add(x, x) | b");
}

TEST_CASE(single_pattern_match)
{
    ck_assert_uint_eq(replace("x | v = torch.neg(x) | r = torch.relu(v) |"
                              " a = operator.add(r, x) | a",
                              "x | v = torch.neg(x) | r = torch.relu(v) | r",
                              "x | r = torch.relu(x) | r"),
                      1);
    is("x | r = torch.relu(x) | a = operator.add(r, x) | a");
}

TEST_CASE(multiple_pattern_match)
{
    ck_assert_uint_eq(replace(cats,
                              "w1 w2 | c = torch.cat([w1, w2]) |"
                              " s = c.sum() | s",
                              "w1 w2 | s = torch.stack([w1, w2]) | s"),
                      2);
    is("x w1 w2 | c = torch.stack([w1, w2]) | p = torch.max(c) |"
       " a = operator.add(x, p) | d = torch.stack([w1, w2]) |"
       " q = torch.max(d) | b = operator.add(a, q) | b");
}

TEST_CASE(graph_argument_order)
{
    const char *what = "x y | m = torch.mm(x, y) | m";
    ck_assert_uint_eq(replace("x y | m = torch.mm(x, y) | m", what, what), 1);
    is("x y | m = torch.mm(x, y) | m");
}

TEST_CASE(correct_output_replacement)
{
    ck_assert_uint_eq(
        replace("x y | v = torch.neg(y) | n = torch.add(x, v) | n",
                "x | v = torch.neg(x) | v", "x | r = torch.relu(x) | r"),
        1);
    is("x y | v = torch.relu(y) | n = torch.add(x, v) | n");
}

TEST_CASE(pattern_is_entire_graph)
{
    const char *whole = "x | a = torch.neg(x) | b = torch.add(a, a) | b";
    ck_assert_uint_eq(replace(whole, whole, "x | a = torch.neg(x) | a"), 1);
    is("x | a = torch.neg(x) | a");
}

TEST_CASE(pattern_output_pattern_node_can_have_users_that_are_not_matched)
{
    ck_assert_uint_eq(
        replace("x | y = torch.relu(x) | n = torch.neg(y) |"
                " s = operator.sub(n, y) | (y, s)",
                "x | y = torch.relu(x) | n = torch.neg(y) | (y, n)",
                "x | a = torch.sigmoid(x) | b = torch.tanh(a) | (a, b)"),
        1);
    is("x | a = torch.sigmoid(x) | b = torch.tanh(a) | s = operator.sub(b, a)"
       " | (a, s)");
}

TEST_CASE(internal_pattern_nodes_cannot_have_users_that_are_not_matched)
{
    const char *in = "x w1 w2 b | m0 = torch.cat([w1, w2]) | m1 ="
                     " torch.cat([w1, w2]) | t = m1.t() | t0 = torch.addmm(b,"
                     " m0, t) | s0 = torch.sum(t0) | s1 = torch.sum(m1) |"
                     " (s0, s1)";
    ck_assert_uint_eq(
        replace(in,
                "w1 w2 b c | m = torch.cat([w1, w2]) | t = m.t() |"
                " a = torch.addmm(b, c, t) | a",
                "w1 w2 b c | m = torch.cat([w1, w2, b, c]) | m"),
        0);
    is(in);
}

TEST_CASE(placeholder_matching)
{
    ck_assert_uint_eq(
        replace("x | a = operator.iadd(x, 3) | d = a.dequantize() |"
                " s = torch.sigmoid(d) | t = s.to(torch.float16) | t",
                "x | d = x.dequantize() | s = torch.sigmoid(d) |"
                " t = s.to(torch.float16) | t",
                "x | x"),
        1);
    is("x | a = operator.iadd(x, 3) | a");
}

TEST_CASE(replace_consecutive_submodules)
{
    ck_assert_uint_eq(
        replace("x | a = torch.sigmoid(x) | b = torch.sigmoid(a) |"
                " c = torch.sigmoid(b) | c",
                "x | a = torch.sigmoid(x) | a", "x | a = torch.exp(x) | a"),
        3);
    is("x | a = torch.exp(x) | b = torch.exp(a) | c = torch.exp(b) | c");
}

TEST_CASE(with_overlapping_matches)
{
    ck_assert_uint_eq(
        replace("x | a = torch.relu(x) | b = torch.relu(a) |"
                " c = torch.relu(b) | d = torch.relu(c) | e = torch.relu(d) |"
                " e",
                "x | a = torch.relu(x) | b = torch.relu(a) | b",
                "x | a = torch.neg(x) | a"),
        2);
    is("x | a = torch.neg(x) | b = torch.neg(a) | e = torch.relu(b) | e");
}

TEST_CASE(replace_with_multiple_outputs)
{
    ck_assert_uint_eq(
        replace("x | y = torch.sigmoid(x) | z = torch.relu(x) |"
                " a = operator.add(y, z) | a",
                "a | b = torch.sigmoid(a) | c = torch.relu(a) | (b, c)",
                "x | a = torch.exp(x) | b = torch.abs(x) | (a, b)"),
        1);
    is("x | y = torch.exp(x) | z = torch.abs(x) | a = operator.add(y, z) | a");
}

TEST_CASE(replace_with_duplicated_outputs)
{
    ck_assert_uint_eq(
        replace("p q | x = operator.sub(p, q) | y = torch.sigmoid(x) |"
                " z = torch.relu(x) | a = operator.add(y, z) | a",
                "p q | x = operator.sub(p, q) | y = torch.sigmoid(x) |"
                " z = torch.relu(x) | (y, z, x)",
                "p q | y = torch.exp(p) | z = torch.abs(q) | (z, z, y)"),
        1);
    is("p q | y = torch.exp(p) | z = torch.abs(q) | a = operator.add(z, z) |"
       " a");
    /* And one that the pattern returns twice, for each of its places. */
    ck_assert_uint_eq(
        replace("x | y = torch.relu(x) | n = torch.neg(y) | n",
                "x | y = torch.relu(x) | (y, y)",
                "x | y = torch.tanh(x) | z = torch.exp(x) | (y, z)"),
        1);
    is("x | y = torch.tanh(x) | z = torch.exp(x) | n = torch.neg(y) | n");
}

TEST_CASE(with_unused_args)
{
    ck_assert_uint_eq(replace("x y z | a = operator.add(x, y) | a",
                              "x y | a = operator.add(x, y) | a",
                              "x y | a = operator.sub(x, y) | a"),
                      1);
    is("x y z | a = operator.sub(x, y) | a");
    /* Placeholders of the pattern may be unused too. */
    ck_assert_uint_eq(replace("x y | a = operator.add(x, y) | a",
                              "x u y | a = operator.add(x, y) | a",
                              "x u y | a = operator.sub(x, y) | a"),
                      1);
    fails("x y | a = operator.add(x, y) | a",
          "x u y | a = operator.add(x, y) | a",
          "x u y | a = operator.sub(x, u) | a", CFX_EINVAL,
          "the replacement uses u");
}

TEST_CASE(call_method)
{
    ck_assert_uint_eq(
        replace("x | d = x.dequantize() | s = d.sigmoid() | t = s.to("
                "torch.float16) | t",
                "x | d = x.dequantize() | s = d.sigmoid() | t = s.to("
                "torch.float16) | t",
                "x | x"),
        1);
    is("x | x");
}

TEST_CASE(nodes_with_kwargs)
{
    ck_assert_uint_eq(
        replace("x w b | l = torch.nn.functional.linear(x, w, bias=b) |"
                " m = operator.mul(x, l) | s = operator.add(m, x) | s",
                "a b bias | l = torch.nn.functional.linear(a, b, bias=bias) |"
                " m = operator.mul(a, l) | (l, m)",
                "a b bias | g = my.gemm(a, b, bias) |"
                " l = operator.getitem(g, 0) | m = operator.getitem(g, 1) |"
                " (l, m)"),
        1);
    is("x w b | g = my.gemm(x, w, b) | l = operator.getitem(g, 0) |"
       " m = operator.getitem(g, 1) | s = operator.add(m, x) | s");
}

TEST_CASE(local_revert)
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
                " (l, m)"),
        2);
    ck_assert_int_eq(cfx_graph_lint(graph(), &err), CFX_OK);
}

static bool second_is_number(void *user, const cfx_match *m,
                             const cfx_graph *g)
{
    (void)user;
    (void)g;
    return cfx_match_named(m, "n").kind != CFX_NODE;
}

TEST_CASE(replace_pattern_with_filters)
{
    const cfx_match_filter filters[] = {{second_is_number, NULL}};
    const cfx_rewrite_options o = {
        .size = sizeof(o), .filters = filters, .nfilters = 1};
    ck_assert_uint_eq(
        replace_with("x s | a = operator.add(x, 2) | r = torch.relu(a) |"
                     " b = operator.add(r, s) | q = torch.relu(b) | q",
                     "x n | a = operator.add(x, n) | r = torch.relu(a) | r",
                     "x n | a = my.add_relu(x, n) | a", &o),
        1);
    is("x s | a = my.add_relu(x, 2) | b = operator.add(a, s) |"
       " q = torch.relu(b) | q");
}

TEST_CASE(matching_pattern_with_list_type_arg)
{
    ck_assert_uint_eq(
        replace("x | r = torch.ops.aten._reshape_alias_copy.default(x, [1, 2],"
                " [3, 4]) | r",
                "x a b | r = torch.ops.aten._reshape_alias_copy.default(x, a,"
                " b) | r",
                "x a b | r = torch.ops.aten._reshape_alias_copy.default(x, b,"
                " a) | r"),
        1);
    is("x | r = torch.ops.aten._reshape_alias_copy.default(x, [3, 4], [1, 2]) |"
       " r");
}

TEST_CASE(matching_variable_arguments)
{
    const char *pool =
        "x k s | p = torch.ops.aten.max_pool2d_with_indices.default(x, k, s,"
        " padding=[0, 0]) | i = operator.getitem(p, 0) | i";
    ck_assert_uint_eq(
        replace("x | p = torch.ops.aten.max_pool2d_with_indices.default(x,"
                " [2, 2], stride=[2, 2]) | i = operator.getitem(p, 0) | i",
                pool, pool),
        1);
}

TEST_CASE(replaced_nodes)
{
    ck_assert_uint_eq(
        replace("x y | a = torch.add(x, y) | a",
                "x y | a = torch.add(x, y) |"
                " a",
                "x y | m = torch.mul(x, y) | s = torch.sub(m, y) | s"),
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

TEST_CASE(replace_pattern_with_callback)
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
                     " c = operator.add(b, -1) | c",
                     what, NULL, &o),
        2);
    is("x | a = torch.exp(x) | b = operator.add(a, 0) | c = torch.neg(b) | c");
    ck_assert_int_eq(c.calls, 3);
    /* Matches before the one that fails are replaced. */
    ck_assert_int_eq(
        try_replace("x | a = operator.add(x, 1) | b = operator.add(a, 99) |"
                    " c = operator.add(b, -1) | c",
                    what, NULL, &o),
        CFX_EUSER);
    is("x | a = torch.exp(x) | b = operator.add(a, 99) |"
       " c = operator.add(b, -1) | c");
    ck_assert_uint_eq(replaced.n, 1);
    cfx_graph_free(c.by_sign[0]);
    cfx_graph_free(c.by_sign[1]);
}

/* ---- Modules ---- */

static const char *type_at(const char *path)
{
    const cfx_module *m = cfx_module_at(gm, path);
    return m ? cfx_module_class_name(m) : "";
}

TEST_CASE(replaces_referenced_submodules)
{
    cfx_module *a = container(), *b = container();
    add_module(a, "sigmoid", "Sigmoid");
    add_module(a, "submod", "ReLU");
    add_module(b, "inner.tanh", "Tanh");
    add_module(b, "submod", "GELU");
    gm = new_module(ctx, a,
                    "x | a = operator.add(x, 1) | s = self.sigmoid(a)"
                    " | r = self.submod(s) | r");
    pattern = new_graph(ctx, "x | s = self.sigmoid(x) | r = self.submod(s) |"
                             " r");
    cfx_module *with = new_module(ctx, b,
                                  "x | s = self.inner.tanh(x) |"
                                  " r = self.submod(s) | r");
    ck_assert_msg(!cfx_replace_pattern(gm, pattern,
                                       cfx_graph_module_graph(with), NULL,
                                       &replaced, &err),
                  "%s", err.text);
    ck_assert_uint_eq(replaced.n, 1);
    is("x | a = operator.add(x, 1) | s = self.inner.tanh(a) |"
       " r = self.submod(s) | r");
    ck_assert_str_eq(type_at("inner.tanh"), "Tanh");
    ck_assert_str_eq(type_at("inner"), "Module");
    ck_assert_str_eq(type_at("sigmoid"), "");
    /* A submodule that exists is kept. */
    ck_assert_str_eq(type_at("submod"), "ReLU");
    cfx_module_unref(with);
}

TEST_CASE(replacement_with_attrs)
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
    cfx_module *with = new_module(
        ctx, b,
        "x | w = self.w | c = self.deep.c |"
        " a = operator.add(x, w) | d = operator.add(a, c) | d");
    ck_assert_msg(!cfx_replace_pattern(gm, pattern,
                                       cfx_graph_module_graph(with), NULL,
                                       &replaced, &err),
                  "%s", err.text);
    is("x | w = self.w | c = self.deep.c | a = operator.add(x, w) |"
       " d = operator.add(a, c) | d");
    ck_assert(!cfx_module_state(gm, "w")->is_buffer);
    ck_assert(cfx_tensor_is_meta(cfx_module_state(gm, "w")->tensor));
    const cfx_state *c = cfx_module_state(cfx_module_at(gm, "deep"), "c");
    ck_assert(c->is_buffer && c->tensor == t);
    cfx_module_unref(with);
    cfx_tensor_unref(t);
}

TEST_CASE(unresolved_attributes_are_an_error)
{
    gm = new_module(ctx, NULL, "x | a = operator.add(x, 1) | a");
    pattern = new_graph(ctx, "x | a = operator.add(x, 1) | a");
    cfx_module *with = new_module(ctx, NULL, "x | a = self.nobody(x) | a");
    ck_assert_int_eq(cfx_replace_pattern(gm, pattern,
                                         cfx_graph_module_graph(with), NULL,
                                         NULL, &err),
                     CFX_ENAME);
    ck_assert_msg(strstr(err.text, "with target nobody, but the referenced") !=
                      NULL,
                  "%s", err.text);
    is("x | a = operator.add(x, 1) | a");
    cfx_module_unref(with);
}

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

TEST_CASE(traced_as_callable)
{
    /* torch.cat and the method sum: one is what the function records. */
    const cfx_rewrite_options o = {
        .size = sizeof(o),
        .match = {.size = sizeof(o.match), .by_operator = true}};
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

TEST_CASE(functions_hold_special_nodes)
{
    const cfx_match_predicate tests[] = {{"number", is_number, NULL}};
    const cfx_rewrite_options o = {.size = sizeof(o),
                                   .match = {.size = sizeof(o.match),
                                             .commutative = true,
                                             .predicates = tests,
                                             .npredicates = 1}};
    cfx_module *root = container(), *fc;
    cfx_value args[] = {cfx_int(2), cfx_int(2)};
    ck_assert_int_eq(cfx_module_new(&fc, ctx,
                                    cfx_find_module_type(ctx, "Linear"), NULL,
                                    cfx_args_of(args, 2), &err),
                     CFX_OK);
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

TEST_CASE(special_nodes_stand_in_patterns_only)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    cfx_pattern_any(&s);
    ck_assert_int_eq(cfx_scope_status(&s, &err), CFX_EUNSUPPORTED);
    ck_assert_str_eq(err.text, "cfx.any is only allowed in patterns");
    cfx_scope_release(&s);
}

TEST_SUITE(rewriter, .setup = setup, .teardown = teardown, .timeout = 60)
