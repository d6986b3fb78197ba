/*
 * rewriter_beyond_test -- replacing where torch.fx is in error, in random
 * graphs, in large ones, and without memory.
 */
#include "tests/unit/failing_alloc.h"
#include "tests/unit/rewrite/rewriter_test.h"
#include "tests/unit/unit.h"

/* ---- Where torch.fx is in error ---- */

/* The first output's user stands before the second input. */
TEST_CASE(users_are_moved_behind_what_the_copy_needs)
{
    ck_assert_uint_eq(
        replace("x y | r = torch.relu(x) | u = torch.exp(r) |"
                " v = torch.abs(x) | t = torch.tanh(y) | o = torch.neg(t) |"
                " w = torch.sin(u) | c = torch.cat([o, w, v]) | c",
                "a b | r = torch.relu(a) | o = torch.neg(b) | (r, o)",
                "a b | p = my.pair(a, b) | r = operator.getitem(p, 0) |"
                " o = operator.getitem(p, 1) | (r, o)"),
        1);
    is("x y | v = torch.abs(x) | t = torch.tanh(y) | p = my.pair(x, t) |"
       " r = operator.getitem(p, 0) | o = operator.getitem(p, 1) |"
       " u = torch.exp(r) | w = torch.sin(u) | c = torch.cat([o, w, v]) | c");
}

/* The replacement must read the values that the match read. */
TEST_CASE(nothing_is_moved_across_a_write_unless_it_is_asked_for)
{
    ck_assert_uint_eq(
        replace("x | r = torch.relu(x) | e = torch.exp(x) |"
                " w = torch.Tensor.add_(e, r) | v = torch.Tensor.add_(x, 1) |"
                " c = torch.cat([r, w, v]) | c",
                "a | r = torch.exp(a) | r", "a | s = torch.sin(a) | s"),
        1);
    is("x | r = torch.relu(x) | s = torch.sin(x) |"
       " w = torch.Tensor.add_(s, r) | v = torch.Tensor.add_(x, 1) |"
       " c = torch.cat([r, w, v]) | c");
    replace("x | r = torch.relu(x) | v = torch.Tensor.add_(x, 1) |"
            " c = torch.cat([r, v]) | c",
            "a | r = torch.relu(a) | r", "a | s = torch.sin(a) | s");
    is("x | s = torch.sin(x) | v = torch.Tensor.add_(x, 1) |"
       " c = torch.cat([s, v]) | c");
    const char *midst = "x | r = torch.relu(x) | v = torch.Tensor.add_(x, 1) |"
                        " n = torch.neg(r) | c = torch.cat([n, v]) | c";
    ck_assert_uint_eq(replace(midst,
                              "a | r = torch.relu(a) |"
                              " n = torch.neg(r) | n",
                              "a | s = torch.sin(a) | s"),
                      0);
    is(midst);
    const cfx_rewrite_options across = {.size = sizeof(across),
                                        .across_writes = true};
    ck_assert_uint_eq(replace_with(midst,
                                   "a | r = torch.relu(a) |"
                                   " n = torch.neg(r) | n",
                                   "a | s = torch.sin(a) | s", &across),
                      1);
    is("x | v = torch.Tensor.add_(x, 1) | s = torch.sin(x) |"
       " c = torch.cat([s, v]) | c");
    replace("x y | r = torch.relu(x) | v = torch.Tensor.add_(y, 1) |"
            " n = torch.neg(r) | c = torch.cat([n, v]) | c",
            "a | r = torch.relu(a) | n = torch.neg(r) | n",
            "a | s = torch.sin(a) | s");
    is("x y | v = torch.Tensor.add_(y, 1) | s = torch.sin(x) |"
       " c = torch.cat([s, v]) | c");
}

/* Each match is free of cycles, but not both. */
TEST_CASE(matches_that_would_close_a_cycle_together_are_left)
{
    const char *what = "a b | r = torch.relu(a) | n = torch.neg(b) | (r, n)";
    size_t n = replace("x y | r1 = torch.relu(x) | r2 = torch.relu(y) |"
                       " n1 = torch.neg(r2) | n2 = torch.neg(r1) |"
                       " c = torch.cat([n1, n2]) | c",
                       what,
                       "a b | p = my.pair(a, b) |"
                       " r = operator.getitem(p, 0) |"
                       " n = operator.getitem(p, 1) | (r, n)");
    ck_assert_int_eq(cfx_graph_lint(graph(), &err), CFX_OK);
    ck_assert_uint_eq(n, 1);
}

TEST_CASE(placeholders_can_be_returned)
{
    ck_assert_uint_eq(
        replace("x | r = torch.relu(x) | s = torch.add(r, x) | s",
                "a | r = torch.relu(a) | (r, a)",
                "a | e = torch.exp(a) | f = torch.abs(a) | (e, f)"),
        1);
    is("x | e = torch.exp(x) | f = torch.abs(x) | s = torch.add(e, f) | s");
    ck_assert_uint_eq(
        replace("x | r = torch.relu(x) | s = torch.add(r, x) | s",
                "a | r = torch.relu(a) | (r, a)",
                "a | e = torch.exp(a) | (e, a)"),
        1);
    is("x | e = torch.exp(x) | s = torch.add(e, x) | s");
}

TEST_CASE(later_matches_see_what_earlier_ones_became)
{
    ck_assert_uint_eq(replace("x y | a = torch.relu(x) | b = torch.relu(y) |"
                              " c = my.join([a, b]) | d = my.join([c, a]) | d",
                              "v | a = my.join(v) | a",
                              "v | a = my.meet(v) | a"),
                      2);
    is("x y | a = torch.relu(x) | b = torch.relu(y) | c = my.meet([a, b]) |"
       " d = my.meet([c, a]) | d");
}

TEST_CASE(what_makes_no_sense_is_refused)
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

TEST_CASE(new_nodes_inherit_where_they_come_from)
{
    gm = new_module(ctx, NULL, "x | a = torch.neg(x) | b = torch.exp(a) | b");
    cfx_value trace = cfx_str_new(ctx, "net.py:7", 8);
    ck_assert_int_eq(cfx_node_set_meta(cfx_graph_find(graph(), "b"),
                                       "stack_trace", trace, &err),
                     CFX_OK);
    cfx_value_unref(trace);
    pattern = new_graph(ctx, "x | a = torch.neg(x) | b = torch.exp(a) | b");
    replacement = new_graph(ctx, "x | s = torch.sigmoid(x) | s");
    ck_assert_int_eq(
        cfx_replace_pattern(gm, pattern, replacement, NULL, &replaced, &err),
        CFX_OK);
    cfx_value v = cfx_node_meta(replaced.item[0].replacements[0],
                                "stack_trace");
    ck_assert_int_eq(v.kind, CFX_STR);
    ck_assert_str_eq(v.u.str->text, "net.py:7");
}

TEST_CASE(special_patterns_are_replaced)
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
                     " m = operator.mul(x, d) | m",
                     what, with, &o),
        1);
    is("x b | f = my.fused(x, b) | f");
}

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

/* Check the number of matches under each of five sets of options. */
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
                                       &replaced, &err),
                  "%s: %s", head, err.text);
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

TEST_CASE(random_graphs_come_out_as_in_pytorch)
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

/* ---- Size and memory ---- */

static cfx_node *call(cfx_graph *g, const char *target, cfx_node *a,
                      cfx_node *b)
{
    cfx_value args[] = {cfx_value_of_node(a), cfx_value_of_node(b)};
    return cfx_graph_call_function(g, target, cfx_args_of(args, b ? 2 : 1),
                                   &err);
}

/* Ten nodes between a match and the next; each output is also used at the
 * very end, so that users are many and far. */
TEST_CASE(a_thousand_matches_of_a_large_graph)
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
    ck_assert_int_eq(
        cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "G", &err), CFX_OK);
    pattern = new_graph(ctx, "x | n = torch.neg(x) | r = torch.relu(n) | r");
    replacement = new_graph(ctx, "x | a = torch.abs(x) | b = torch.sin(a) |"
                                 " b");
    ck_assert_int_eq(
        cfx_replace_pattern(gm, pattern, replacement, NULL, &replaced, &err),
        CFX_OK);
    ck_assert_uint_eq(replaced.n, N);
    ck_assert_int_eq(cfx_graph_lint(g, &err), CFX_OK);
}

TEST_CASE(every_lack_of_memory_leaves_a_graph_in_order)
{
    allowed = -1;
    cfx_options o = {.size = sizeof(o),
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context_free(ctx);
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    bool again = true;
    for (int n = 0; again; n++) {
        cfx_module *root = container(), *other = container();
        cfx_dim three = cfx_dim_int(3);
        add_module(other, "deep.relu", "ReLU");
        ck_assert_int_eq(
            cfx_module_param(other, "w", CFX_F32, 1, &three, &err), CFX_OK);
        gm = new_module(ctx, root,
                        "x y | r = torch.relu(x) | u = torch.exp(r) |"
                        " t = torch.tanh(y) | o = torch.neg(t) |"
                        " c = torch.cat([o, u]) | q = torch.relu(c) |"
                        " v = torch.neg(c) | d = torch.cat([q, v]) | d");
        cfx_module *with = new_module(
            ctx, other,
            "a b | w = self.w | l = self.deep.relu(a) |"
            " m = torch.mul(l, w) | p = torch.neg(b) | (m, p)");
        pattern = new_graph(ctx, "a b | r = torch.relu(a) | o = torch.neg(b) |"
                                 " (r, o)");
        allowed = n;
        refused = false;
        cfx_status st = cfx_replace_pattern(
            gm, pattern, cfx_graph_module_graph(with), NULL, &replaced, &err);
        again = refused;
        allowed = -1;
        ck_assert_msg(st == (again ? CFX_ENOMEM : CFX_OK), "%d: %d", n, st);
        ck_assert_msg(!cfx_graph_lint(graph(), &err), "%d: %s", n, err.text);
        cfx_module_unref(with);
        clear();
    }
    ck_assert_uint_lt(cfx_context_memory(ctx), 4 << 20);
}

TEST_SUITE(rewriter_beyond, .setup = setup, .teardown = teardown,
           .timeout = 60)
