/*
 * graph_torch_test -- what the tests of torch.fx say of graphs and nodes, by
 * the names they have there; tests/behaviours/graph.md lists them all.
 */
#include "tests/unit/graph_test.h"

#include <cfx/graph_module.h>
#include <cfx/text.h>

#include "tests/unit/unit.h"

/* Registries stay with the context: what it holds is not compared. */
static void end(void)
{
    cfx_graph_free(g);
    cfx_context_free(ctx);
}

/* ---- Texts ---- */

static char text[65536];
static size_t text_len;

static cfx_status append(void *user, const char *s, size_t len)
{
    (void)user;
    if (len < sizeof(text) - text_len) {
        memcpy(text + text_len, s, len);
        text_len += len;
        text[text_len] = '\0';
    }
    return CFX_OK;
}

static cfx_sink into_text(void)
{
    text_len = 0;
    text[0] = '\0';
    return (cfx_sink){append, NULL};
}

static void assert_graph(const char *expected)
{
    assert_ok(cfx_print_graph(into_text(), g, false, &err));
    ck_assert_str_eq(text, expected);
}

static cfx_node *create(cfx_opcode op, const char *target, const char *name,
                        cfx_node *a, cfx_node *b)
{
    cfx_value args[2];
    size_t n = 0;
    if (a)
        args[n++] = node(a);
    if (b)
        args[n++] = node(b);
    cfx_node *made = cfx_graph_create_node(g, op, target, cfx_args_of(args, n),
                                           name, NULL, &err);
    ck_assert_ptr_nonnull(made);
    return made;
}

/* ---- 1 to 8: nodes ---- */

TEST_CASE(graph_unique_names_manual)
{
    cfx_node *a = input("x");
    cfx_node *b = create(CFX_CALL_MODULE, "linear_mod", "foo_1_1", a, NULL);
    cfx_node *c = create(CFX_GET_ATTR, "y_attr", "foo_1", NULL, NULL);
    cfx_node *d = create(CFX_CALL_FUNCTION, "operator.add", NULL, b, c);
    cfx_graph_output(g, node(d), &err);
    assert_nodes("x foo_1_1 foo_1 add output");
    cfx_graph *copy;
    assert_ok(cfx_graph_copy(&copy, g, &err));
    ck_assert_str_eq(names_in_order(copy), names_in_order(g));
    cfx_graph_free(g);
    g = copy;
    create(CFX_GET_ATTR, "y_attr", "foo_1", NULL, NULL);
    assert_nodes("x foo_1_1 foo_1 add output foo_2");
    check_graph(g);
}

TEST_CASE(remove_uses)
{
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    cfx_node *neg = call("torch.neg", relu, NULL);
    cfx_graph_output(g, node(x), &err);
    assert_ok(cfx_graph_erase_node(g, neg, &err));
    assert_users(relu, "");
    ck_assert_uint_eq(neg->ninputs, 0);
}

static bool is_not_neg(void *user, const cfx_node *n)
{
    (void)user;
    return !cfx_node_is(n, "neg");
}

TEST_CASE(remove_uses_with_custom_filter)
{
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    call("torch.neg", relu, NULL);
    const cfx_dce_options o = {.size = sizeof(o), .is_impure = is_not_neg};
    assert_ok(cfx_graph_eliminate_dead_code(g, &o, NULL, &err));
    assert_users(relu, "");
    assert_nodes("x relu");
}

TEST_CASE(replace_input)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *b = call("torch.add", x, x, NULL);
    cfx_graph_output(g, node(b), &err);
    assert_ok(cfx_node_replace_input_with(b, x, y, &err));
    assert_graph("graph():\n"
                 "    %x : [num_users=0] = placeholder[target=x]\n"
                 "    %y : [num_users=1] = placeholder[target=y]\n"
                 "    %add : [num_users=1] = call_function[target=torch.add]"
                 "(args = (%y, %y), kwargs = {})\n"
                 "    return add");
}

TEST_CASE(find_uses)
{
    cfx_node *x = input("x");
    call("torch.relu", x, NULL);
    call("torch.neg", x, NULL);
    cfx_node *y = call("torch.add", x, x, NULL);
    cfx_graph_output(g, node(y), &err);
    assert_users(x, "relu neg add");
    assert_users(y, "output");
}

TEST_CASE(reassign_args_kwargs_uses)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *z = call("operator.add", x, y, NULL);
    cfx_node *zed = call("operator.add", z, z, z, NULL);
    cfx_value args[] = {node(z), node(z)}, kwargs[] = {str("x"), node(x)};
    assert_users(z, "add_1");
    assert_ok(cfx_node_set_args(zed, args, 2, &err));
    assert_users(z, "add_1");
    assert_ok(cfx_node_set_args(zed, NULL, 0, &err));
    assert_users(z, "");
    assert_ok(cfx_node_set_kwargs(zed, kwargs, 1, &err));
    assert_users(x, "add add_1");
    cfx_value_unref(kwargs[0]);
    check_graph(g);
}

TEST_CASE(update_args_api)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *b = create(CFX_CALL_MODULE, "mod", NULL, x, NULL);
    assert_ok(cfx_node_update_arg(b, 0, node(y), &err));
    assert_users(x, "");
    assert_users(y, "mod");
    ck_assert_int_eq(cfx_node_update_arg(b, 1, node(y), &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "Node 'mod' has 1 arguments");
}

TEST_CASE(update_kwargs_api)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *b = create(CFX_CALL_FUNCTION, "torch.relu", NULL, NULL, NULL);
    assert_ok(cfx_node_update_kwarg(b, "input", node(x), &err));
    assert_ok(cfx_node_update_kwarg(b, "input", node(y), &err));
    assert_users(x, "");
    assert_users(y, "relu");
    ck_assert_uint_eq(b->nkwargs, 1);
}

TEST_CASE(insert_arg)
{
    cfx_node *x = input("x");
    cfx_node *b = create(CFX_CALL_FUNCTION, "torch.f", NULL, x, NULL);
    assert_ok(cfx_node_insert_arg(b, 0, cfx_int(1), &err));
    assert_ok(cfx_node_insert_arg(b, 2, cfx_int(2), &err));
    ck_assert_int_eq(b->args[0].u.i, 1);
    ck_assert_ptr_eq(b->args[1].u.node, x);
    ck_assert_int_eq(b->args[2].u.i, 2);
    ck_assert_int_eq(cfx_node_insert_arg(b, 4, cfx_int(2), &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "insert_args index must be between 0 and "
                              "len(self.args), got 4");
}

/* ---- 9 to 18: graphs ---- */

TEST_CASE(insertion_point)
{
    cfx_node *x = input("x"),
             *b = create(CFX_CALL_MODULE, "linear_mod", NULL, x, NULL);
    cfx_graph_output(g, node(b), &err);
    cfx_insert_point was = cfx_graph_inserting_before(g, b);
    cfx_node *neg = call("torch.neg", x, NULL);
    cfx_graph_restore(g, was);
    assert_ok(cfx_node_replace_input_with(b, x, neg, &err));
    assert_nodes("x neg linear_mod output");
    assert_ok(cfx_graph_lint(g, &err));
}

TEST_CASE(multi_insert_point)
{
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    cfx_insert_point was = cfx_graph_inserting_before(g, relu);
    call("torch.neg", x, NULL);
    call("torch.tanh", x, NULL);
    cfx_graph_restore(g, was);
    call("torch.abs", x, NULL);
    assert_nodes("x neg tanh relu abs_1");
}

TEST_CASE(move_before)
{
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    cfx_node *neg = call("torch.neg", x, NULL);
    assert_ok(cfx_node_prepend(relu, neg, &err));
    assert_nodes("x neg relu");
    check_graph(g);
}

TEST_CASE(prepend_self)
{
    cfx_node *x = input("x"), *y = input("y");
    last_message[0] = '\0';
    assert_ok(cfx_node_prepend(y, y, &err));
    ck_assert_str_eq(last_message, "Trying to prepend a node to itself. This "
                                   "behavior has no effect on the graph.");
    assert_ok(cfx_node_append(x, x, &err));
    assert_nodes("x y");
    check_graph(g);
}

TEST_CASE(erase_node_error)
{
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    cfx_graph_output(g, node(relu), &err);
    ck_assert_int_eq(cfx_graph_erase_node(g, relu, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Tried to erase Node relu but it still had 1 "
                              "users in the graph: {output: None}!");
}

TEST_CASE(copy_it)
{
    cfx_graph *copy;
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    cfx_node *sum = call("torch.add", relu, x, NULL);
    cfx_graph_output(g, node(sum), &err);
    assert_ok(cfx_graph_new(&copy, ctx, &err));
    cfx_value out;
    assert_ok(cfx_graph_insert_graph(copy, g, NULL, &out, &err));
    ck_assert_ptr_eq(out.u.node, cfx_graph_find(copy, "add"));
    ck_assert_ptr_nonnull(cfx_graph_output(copy, out, &err));
    bool same;
    assert_ok(cfx_graph_equal(&same, g, copy, &err));
    ck_assert(same);
    ck_assert_str_eq(names_in_order(copy), names_in_order(g));
    cfx_graph_free(copy);
}

TEST_CASE(wrong_topo)
{
    cfx_node *x = input("x");
    cfx_node *b = create(CFX_CALL_MODULE, "foo", NULL, x, NULL);
    cfx_node *c = create(CFX_GET_ATTR, "bar", NULL, NULL, NULL);
    cfx_node *d = create(CFX_CALL_FUNCTION, "operator.add", NULL, b, c);
    cfx_graph_output(g, node(d), &err);
    assert_ok(cfx_node_append(d, b, &err));
    ck_assert_int_eq(cfx_graph_lint(g, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH,
                  "Argument 'foo' of Node 'add' was used before it"
                  " has been defined! Please check that Nodes in the graph are"
                  " topologically ordered");
}

TEST_CASE(all_input_nodes)
{
    cfx_node *x = input("x");
    cfx_node *b = create(CFX_CALL_MODULE, "linear_mod", NULL, x, NULL);
    cfx_node *c = create(CFX_GET_ATTR, "y_attr", NULL, NULL, NULL);
    cfx_node *d = call("operator.add", b, c, NULL);
    cfx_node *e = call("torch.unsqueeze", d, NULL);
    cfx_graph_output(g, node(e), &err);
    assert_inputs(d, "linear_mod y_attr");
    assert_inputs(call("f", b, c, b, NULL), "linear_mod y_attr");
    assert_inputs(cfx_graph_find(g, "output"), "unsqueeze");
    assert_inputs(x, "");
}

TEST_CASE(deepcopy_recursion_depth)
{
    enum { DEPTH = 100000 };
    cfx_graph *copy;
    cfx_node *x = input("x");
    for (int i = 0; i < DEPTH; i++)
        x = call("torch.relu", x, NULL);
    assert_ok(cfx_graph_copy(&copy, g, &err));
    const cfx_node *n = cfx_graph_first(g), *m = cfx_graph_first(copy);
    for (; n && m; n = cfx_node_next(n), m = cfx_node_next(m)) {
        must(!strcmp(n->name, m->name) && n->nusers == m->nusers);
        must(!n->first_user ||
             !strcmp(n->first_user->user->name, m->first_user->user->name));
    }
    must(!n && !m);
    cfx_graph_free(copy);
}

TEST_CASE(node_tagging)
{
    cfx_graph *copy;
    for (int i = 0; i < 3; i++)
        assert_ok(cfx_node_set_meta(input("x"), "tag", cfx_int(i), &err));
    assert_ok(cfx_graph_copy(&copy, g, &err));
    int i = 0;
    for (cfx_node *n = cfx_graph_first(copy); n; n = cfx_node_next(n))
        ck_assert_int_eq(cfx_node_meta(n, "tag").u.i, i++);
    ck_assert_int_eq(i, 3);
    cfx_graph_free(copy);
}

TEST_CASE(regular_and_default_args)
{
    cfx_value three = cfx_int(3);
    cfx_node *x = input("x");
    cfx_node *y = cfx_graph_create_node(g, CFX_PLACEHOLDER, "y",
                                        CFX_ARGS(three), NULL, "int", &err);
    cfx_graph_output(g, node(call("operator.add", x, y, NULL)), &err);
    assert_ok(cfx_print_code(into_text(), g, &err));
    ck_assert_str_eq(text,
                     "\n\n\ndef forward(self, x, y : int = 3):\n"
                     "    add = x + y;  x = y = None\n    return add\n    ");
}

TEST_CASE(string_literal_return)
{
    cfx_value v = str("foo");
    ck_assert_ptr_nonnull(cfx_graph_output(g, v, &err));
    cfx_value_unref(v);
    assert_graph("graph():\n    return foo");
}

TEST_CASE(return_tuple)
{
    cfx_node *x = input("x");
    cfx_value items[] = {node(x), node(x)};
    cfx_value v = cfx_tuple_new(ctx, 2, items);
    ck_assert_ptr_nonnull(cfx_graph_output(g, v, &err));
    cfx_value_unref(v);
    assert_graph("graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
                 "    return (x, x)");
}

/* The arguments that torch.fx gives for the call, except that it does not
 * normalize methods, and has 1 for (1,). */
static void assert_normalized(const cfx_node *n, const char *expected)
{
    cfx_value args, kwargs;
    cfx_sink to = into_text();
    for (int only = 0; only < 2; only++) {
        assert_ok(
            cfx_node_normalized_arguments(n, only, &args, &kwargs, &err));
        if (args.kind) {
            assert_ok(cfx_print_value(to, args, CFX_STYLE_REPR, &err));
            assert_ok(cfx_print_value(to, kwargs, CFX_STYLE_REPR, &err));
        }
        append(NULL, only ? "" : " ", only ? 0 : 1);
        cfx_value_unref(args);
        cfx_value_unref(kwargs);
    }
    ck_assert_str_eq(text, expected);
}

TEST_CASE(normalized_arguments)
{
    cfx_node *x = input("x");
    assert_normalized(x, " ");
    assert_normalized(call("my.function", x, NULL), " ");
    assert_normalized(call("torch.relu", x, x, NULL), " ");
    cfx_value args[] = {node(x), cfx_int(1)};
    cfx_node *n = cfx_graph_call_function(g, "torch.flatten",
                                          cfx_args_of(args, 2), &err);
    assert_normalized(n, "(x, 1){'end_dim': -1} "
                         "(){'input': x, 'start_dim': 1, 'end_dim': -1}");
    n = call("torch.nn.functional.dropout", x, NULL);
    assert_normalized(n, "(x,){'p': 0.5, 'training': True, 'inplace': False} "
                         "(){'input': x, 'p': 0.5, 'training': True, "
                         "'inplace': False}");
    n = cfx_graph_call_method(g, "flatten", cfx_args_of(args, 2), &err);
    assert_normalized(n, "(x, 1){'end_dim': -1} "
                         "(){'self': x, 'start_dim': 1, 'end_dim': -1}");
    cfx_value key = str("dim"), kwargs[] = {key, cfx_int(1)};
    n = cfx_graph_call_function(g, "torch.mean",
                                (cfx_args){args, 1, kwargs, 1}, &err);
    assert_normalized(n, "(x,){'dim': (1,), 'keepdim': False, 'dtype': None} "
                         "(){'input': x, 'dim': (1,), 'keepdim': False, "
                         "'dtype': None}");
    cfx_value_unref(key);
}

static bool normalize_one(void)
{
    cfx_value args, kwargs;
    cfx_status st = cfx_node_normalized_arguments(cfx_graph_last(g), false,
                                                  &args, &kwargs, &err);
    must(st ? !args.kind && !kwargs.kind : args.kind && kwargs.kind);
    cfx_value_unref(args);
    cfx_value_unref(kwargs);
    return !st;
}

TEST_CASE(normalized_arguments_survive_lack_of_memory)
{
    call("torch.nn.functional.max_pool2d", input("x"), input("k"), NULL);
    assert_ok(cfx_node_update_arg(cfx_graph_last(g), 1, cfx_int(2), &err));
    fail_each_allocation(normalize_one);
}

/* ---- Differences ---- */

static void assert_diff(const cfx_graph *a, const cfx_graph *b,
                        const char *expected)
{
    size_t n, lines = 0;
    assert_ok(cfx_graph_diff(into_text(), a, b, &n, &err));
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    ck_assert_uint_eq(n, lines);
    ck_assert_str_eq(text, expected);
}

TEST_CASE(graph_diff_tells_what_changed)
{
    cfx_graph *was;
    cfx_node *x = input("x"), *relu = call("torch.relu", x, NULL);
    cfx_node *neg = call("torch.neg", relu, NULL);
    cfx_node *tanh = call("torch.tanh", x, NULL);
    cfx_node *sum = call("torch.add", neg, tanh, NULL);
    cfx_graph_output(g, node(sum), &err);
    assert_ok(cfx_graph_copy(&was, g, &err));
    assert_diff(was, g, "");
    assert_ok(cfx_node_prepend(relu, tanh, &err));
    assert_diff(was, g,
                "+ %tanh : [num_users=1] = call_function[target=torch.tanh]"
                "(args = (%x,), kwargs = {})\n"
                "- %tanh : [num_users=1] = call_function[target=torch.tanh]"
                "(args = (%x,), kwargs = {})\n");
    assert_ok(cfx_node_append(neg, tanh, &err));
    assert_ok(cfx_node_replace_all_uses_with(neg, relu, NULL, NULL, &err));
    assert_ok(cfx_graph_erase_node(g, neg, &err));
    assert_diff(was, g,
                "- %neg : [num_users=1] = call_function[target=torch.neg]"
                "(args = (%relu,), kwargs = {})\n"
                "- %add : [num_users=1] = call_function[target=torch.add]"
                "(args = (%neg, %tanh), kwargs = {})\n"
                "+ %add : [num_users=1] = call_function[target=torch.add]"
                "(args = (%relu, %tanh), kwargs = {})\n");
    cfx_graph_free(was);
}

TEST_CASE(graph_diff_of_many_nodes_takes_no_quadratic_time)
{
    enum { MANY = 50000 };
    cfx_graph *was;
    cfx_node *x = input("x");
    for (int i = 0; i < MANY; i++)
        call("torch.relu", x, NULL);
    assert_ok(cfx_graph_copy(&was, g, &err));
    /* In the opposite order only one can stay, next to the input. */
    for (cfx_node *n = cfx_node_next(x), *next; n; n = next) {
        next = cfx_node_next(n);
        assert_ok(cfx_node_append(x, n, &err));
    }
    size_t n;
    assert_ok(cfx_graph_diff(into_text(), was, g, &n, &err));
    ck_assert_uint_eq(n, 2 * (MANY - 1));
    cfx_graph_free(was);
}

static bool diff_two(void)
{
    long rest = allowed;
    cfx_graph *was = NULL;
    allowed = -1;
    if (!cfx_graph_len(g))
        call("torch.relu", input("x"), NULL);
    assert_ok(cfx_graph_copy(&was, g, &err));
    assert_ok(cfx_node_set_target(cfx_graph_last(was), "torch.neg", &err));
    allowed = rest;
    cfx_status st = cfx_graph_diff(into_text(), was, g, NULL, &err);
    cfx_graph_free(was);
    return !st;
}

TEST_CASE(graph_diff_survives_lack_of_memory)
{
    fail_each_allocation(diff_two);
}

TEST_SUITE(graph_torch, .setup = setup, .teardown = end, .timeout = 60)
