/*
 * graph_test -- nodes and graphs behave as those of torch.fx.
 */
#include "tests/unit/graph_test.h"
#include "tests/unit/unit.h"

/* ---- Making nodes ---- */

TEST_CASE(nodes_hold_what_they_were_given)
{
    cfx_node *x = input("x");
    cfx_value key = str("alpha"), list_items[] = {node(x), cfx_int(3)};
    cfx_value list = cfx_list_new(ctx, 2, list_items);
    cfx_value args[] = {list, cfx_float(0.5)};
    cfx_value kwargs[] = {key, cfx_none()};
    cfx_node *n = cfx_graph_create_node(g, CFX_CALL_FUNCTION, "torch.cat",
                                        (cfx_args){args, 2, kwargs, 1},
                                        "joined", "torch.Tensor", &err);
    ck_assert_ptr_nonnull(n);
    cfx_value_unref(list);
    cfx_value_unref(key);
    ck_assert_int_eq(n->op, CFX_CALL_FUNCTION);
    ck_assert_str_eq(n->name, "joined");
    ck_assert_str_eq(n->target->text, "torch.cat");
    ck_assert_str_eq(n->type->text, "torch.Tensor");
    ck_assert_uint_eq(n->nargs, 2);
    ck_assert_uint_eq(n->nkwargs, 1);
    ck_assert_int_eq(n->args[0].kind, CFX_LIST);
    ck_assert_int_eq(n->args[0].u.seq->refs, 0);
    ck_assert_ptr_eq(n->args[0].u.seq->item[0].u.node, x);
    ck_assert_int_eq(n->args[0].u.seq->item[1].u.i, 3);
    ck_assert_str_eq(n->kwargs[0].u.str->text, "alpha");
    ck_assert_int_eq(n->kwargs[1].kind, CFX_NONE);
    assert_inputs(n, "x");
    check_graph(g);
}

TEST_CASE(outputs_are_last_and_found)
{
    ck_assert_ptr_null(cfx_graph_output_node(g));
    cfx_node *x = input("x");
    ck_assert_ptr_null(cfx_graph_output_node(g));
    cfx_node *o = cfx_graph_output(g, node(x), &err);
    ck_assert_ptr_eq(cfx_graph_output_node(g), o);
    ck_assert_str_eq(o->name, "output");
    ck_assert_str_eq(o->target->text, "output");
}

TEST_CASE(nodes_of_other_graphs_are_refused)
{
    cfx_graph *other;
    assert_ok(cfx_graph_new(&other, ctx, &err));
    cfx_node *x = cfx_graph_placeholder(other, "x", &err);
    cfx_value args[] = {node(x)};
    ck_assert_ptr_null(cfx_graph_create_node(
        g, CFX_CALL_METHOD, "neg", cfx_args_of(args, 1), "y", NULL, &err));
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'y' does not belong to "
                              "this Graph, but was used as an argument!");
    cfx_node *n = cfx_graph_call_method(other, "neg", cfx_args_of(args, 1),
                                        &err);
    ck_assert_ptr_null(cfx_graph_node_copy(g, n, NULL, NULL, &err));
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'neg' does not belong");
    ck_assert_int_eq(cfx_node_append(n, input("a"), &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Attempting to move a Node into a different");
    ck_assert_int_eq(cfx_graph_erase_node(g, n, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Attempting to remove neg from wrong graph!");
    cfx_graph_free(other);
    check_graph(g);
}

TEST_CASE(nodes_refuse_what_has_no_meaning)
{
    cfx_node *x = input("x");
    cfx_value absent = CFX_NOTHING, pair[] = {node(x), cfx_int(1)};
    cfx_value dict = cfx_dict_new(ctx, 1, pair);
    cfx_value key = str("k"), twice[] = {key, cfx_int(1), key, cfx_int(2)};
    cfx_value nokey[] = {cfx_int(1), cfx_int(1)};
    const char *targets[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(
            cfx_graph_call_function(g, targets[i], CFX_NO_ARGS, &err));
        assert_failed(CFX_EINVAL, "a call_function needs a target");
    }
    ck_assert_ptr_null(cfx_graph_create_node(g, (cfx_opcode)9, "x",
                                             CFX_NO_ARGS, NULL, NULL, &err));
    assert_failed(CFX_EINVAL, "9 is not an opcode");
    ck_assert_ptr_null(cfx_graph_output(g, absent, &err));
    assert_failed(CFX_EINVAL, "an argument is absent");
    ck_assert_ptr_null(cfx_graph_output(g, dict, &err));
    assert_failed(CFX_EINVAL, "Keys for dictionaries used as an argument "
                              "cannot contain a Node. Got key: x");
    ck_assert_ptr_null(
        cfx_graph_call_function(g, "f", (cfx_args){NULL, 0, twice, 2}, &err));
    assert_failed(CFX_EINVAL, "keyword 'k' of Node 'f' is given twice");
    ck_assert_ptr_null(
        cfx_graph_call_function(g, "f", (cfx_args){NULL, 0, nokey, 1}, &err));
    assert_failed(CFX_EINVAL, "a keyword of Node 'f' is a int");
    cfx_value_unref(dict);
    cfx_value_unref(key);
    assert_nodes("x");
    check_graph(g);
}

TEST_CASE(keywords_are_distinct_also_when_many)
{
    enum { MANY = 1000 };
    static cfx_value kwargs[2 * MANY];
    char text[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "k%d", i);
        kwargs[2 * i] = str(text);
        kwargs[2 * i + 1] = cfx_int(i);
    }
    ck_assert_ptr_nonnull(cfx_graph_call_function(
        g, "f", (cfx_args){NULL, 0, kwargs, MANY}, &err));
    cfx_value_unref(kwargs[2 * MANY - 2]);
    kwargs[2 * MANY - 2] = cfx_value_ref(kwargs[0]);
    ck_assert_ptr_null(cfx_graph_call_function(
        g, "f", (cfx_args){NULL, 0, kwargs, MANY}, &err));
    assert_failed(CFX_EINVAL, "keyword 'k0' of Node 'f' is given twice");
    for (int i = 0; i < MANY; i++)
        cfx_value_unref(kwargs[2 * i]);
    ck_assert_ptr_null(cfx_graph_call_function(
        g, "f", (cfx_args){NULL, 0, kwargs, 65536}, &err));
    assert_failed(CFX_EINVAL, "a call has at most 65535 keywords, not 65536");
}

TEST_CASE(values_may_nest_as_deep_as_is_accepted_anywhere)
{
    cfx_value v = cfx_int(1), too_deep;
    for (int depth = 1; depth <= CFX_MAX_DEPTH; depth++) {
        cfx_value outer = cfx_list_new(ctx, 1, &v);
        cfx_value_unref(v);
        v = outer;
        cfx_node *o = cfx_graph_output(g, v, &err);
        ck_assert_ptr_nonnull(o);
        ck_assert(cfx_value_equal(o->args[0], v));
    }
    cfx_seq *seq = calloc(1, sizeof(*seq) + sizeof(v));
    seq->len = 1;
    seq->item[0] = v;
    too_deep = (cfx_value){.kind = CFX_TUPLE, .u.seq = seq};
    ck_assert_ptr_null(cfx_graph_output(g, too_deep, &err));
    assert_failed(CFX_EINVAL, "a value is nested in more than 64 levels");
    free(seq);
    cfx_value_unref(v);
}

/* ---- Order ---- */

TEST_CASE(nodes_come_in_order_before_a_point_reversed_after_it)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_insert_point old = cfx_graph_inserting_before(g, y);
    call("a", NULL);
    call("b", NULL);
    cfx_graph_inserting_after(g, x);
    call("c", NULL);
    call("d", NULL);
    cfx_graph_restore(g, old);
    call("e", NULL);
    assert_nodes("x d c a b y e");
    cfx_graph_inserting_before(g, NULL);
    call("first", NULL);
    call("zeroth", NULL);
    cfx_graph_inserting_after(g, NULL);
    call("last", NULL);
    call("more", NULL);
    assert_nodes("zeroth first x d c a b y e last more");
    check_graph(g);
}

TEST_CASE(insert_points_outlive_their_node)
{
    cfx_node *a = call("a", NULL), *b = call("b", NULL), *c = call("c", NULL);
    call("d", NULL);
    cfx_insert_point end = cfx_graph_inserting_before(g, b);
    cfx_insert_point before_b = cfx_graph_inserting_after(g, c);
    assert_ok(cfx_graph_erase_node(g, b, &err));
    assert_ok(cfx_graph_erase_node(g, c, &err));
    call("was_after_c", NULL);
    assert_nodes("a was_after_c d");
    cfx_graph_restore(g, before_b);
    call("was_before_b", NULL);
    assert_nodes("a was_after_c was_before_b d");
    cfx_graph_inserting_after(g, a);
    assert_ok(cfx_graph_erase_node(g, a, &err));
    call("was_after_a", NULL);
    assert_nodes("was_after_a was_after_c was_before_b d");
    cfx_graph_restore(g, end);
    call("z", NULL);
    assert_nodes("was_after_a was_after_c was_before_b d z");
    check_graph(g);
}

TEST_CASE(nodes_move_before_and_after_others)
{
    cfx_node *a = call("a", NULL), *b = call("b", NULL), *c = call("c", NULL);
    assert_ok(cfx_node_prepend(a, c, &err));
    assert_nodes("c a b");
    assert_ok(cfx_node_append(b, c, &err));
    assert_nodes("a b c");
    assert_ok(cfx_node_append(b, c, &err));
    assert_nodes("a b c");
    assert_ok(cfx_node_append(a, a, &err));
    assert_nodes("a b c");
    assert_ok(cfx_node_prepend(c, c, &err));
    assert_nodes("a b c");
    ck_assert_str_eq(last_message, "Trying to prepend a node to itself. This "
                                   "behavior has no effect on the graph.");
    ck_assert(cfx_node_before(a, c) && !cfx_node_before(c, b));
    check_graph(g);
}

TEST_CASE(walks_go_on_where_nodes_are_erased_or_inserted)
{
    for (int i = 0; i < 10; i++)
        call("n", NULL);
    int seen = 0;
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        cfx_node *next = cfx_node_next(n);
        if (seen++ % 2 == 0 && next)
            assert_ok(cfx_graph_erase_node(g, next, &err));
        assert_ok(cfx_graph_erase_node(g, n, &err));
        if (seen < 4) {
            cfx_graph_inserting_after(g, NULL);
            call("late", NULL);
        }
    }
    ck_assert_int_eq(seen, 9);
    ck_assert_uint_eq(cfx_graph_len(g), 0);
    ck_assert_ptr_null(cfx_graph_first(g));
    check_graph(g);
    for (int i = 0; i < 5; i++)
        call("n", NULL);
    for (cfx_node *n = cfx_graph_last(g); n; n = cfx_node_prev(n))
        assert_ok(cfx_graph_erase_node(g, n, &err));
    ck_assert_uint_eq(cfx_graph_len(g), 0);
}

/* Many blocks of nodes: every erased one leads to those that are left. */
TEST_CASE(walks_from_erased_nodes_find_what_is_left)
{
    enum { N = 3000 };
    cfx_node *n[N];
    for (int i = 0; i < N; i++)
        n[i] = call("n", NULL);
    for (int i = 0, k = 0; i < N; i++, k = (k + 1237) % N)
        if (k % 100)
            assert_ok(cfx_graph_erase_node(g, n[k], &err));
    check_graph(g);
    for (int i = 0; i < N; i++) {
        int next = i / 100 * 100 + 100, prev = (i + 99) / 100 * 100 - 100;
        ck_assert_ptr_eq(cfx_node_next(n[i]), next < N ? n[next] : NULL);
        ck_assert_ptr_eq(cfx_node_prev(n[i]), prev >= 0 ? n[prev] : NULL);
    }
    ck_assert_ptr_eq(cfx_graph_first(g), n[0]);
    ck_assert_ptr_eq(cfx_graph_last(g), n[N - 100]);
}

/* ---- Uses ---- */

/* The operators that the context has read outlive the graph. */
static void free_graph_and_keep_operators(void)
{
    cfx_graph_free(g);
    g = NULL;
    held_before = cfx_context_memory(ctx);
}

static cfx_node *of(cfx_opcode op, const char *target)
{
    cfx_node *n = cfx_graph_create_node(g, op, target, CFX_NO_ARGS, NULL, NULL,
                                        &err);
    ck_assert_ptr_nonnull(n);
    return n;
}

TEST_CASE(calls_are_of_an_operator_in_every_spelling)
{
    static const char *const relus[] = {
        "torch.relu",
        "torch.nn.functional.relu",
        "torch.ops.aten.relu.default",
    };
    for (size_t i = 0; i < sizeof(relus) / sizeof(*relus); i++) {
        const cfx_node *n = of(CFX_CALL_FUNCTION, relus[i]);
        ck_assert(cfx_node_is(n, "relu") && cfx_node_is(n, "torch.relu"));
        ck_assert(cfx_node_is(n, "torch.nn.functional.relu"));
        ck_assert(!cfx_node_is(n, "relu_") && !cfx_node_is(n, "relu6"));
        ck_assert(!cfx_node_is(n, "no_such") && !cfx_node_is(n, ""));
    }
    ck_assert(cfx_node_is(of(CFX_CALL_METHOD, "relu"), "relu"));
    ck_assert(!cfx_node_is(of(CFX_CALL_METHOD, "relu_"), "relu"));
    ck_assert(cfx_node_is(of(CFX_CALL_METHOD, "relu_"), "relu_"));
    ck_assert(cfx_node_is(of(CFX_CALL_FUNCTION, "_operator.add"), "add"));
    ck_assert(cfx_node_is(of(CFX_CALL_FUNCTION, "torch.concat"), "cat"));
    ck_assert(cfx_node_is(of(CFX_CALL_FUNCTION, "torch.cat"), "concat"));
    ck_assert(
        cfx_node_is(of(CFX_CALL_FUNCTION, "torch.ops.aten.max.dim"), "max"));
    ck_assert(!cfx_node_is(of(CFX_CALL_FUNCTION, "torch.mul"), "add"));
    free_graph_and_keep_operators();
}

TEST_CASE(what_is_not_registered_has_its_own_name_alone)
{
    const cfx_node *n = of(CFX_CALL_FUNCTION, "mine.relu");
    ck_assert(cfx_node_is(n, "mine.relu") && !cfx_node_is(n, "relu"));
    ck_assert(!cfx_node_is(of(CFX_CALL_MODULE, "relu"), "relu"));
    ck_assert(!cfx_node_is(of(CFX_PLACEHOLDER, "relu"), "relu"));
    free_graph_and_keep_operators();
}

TEST_CASE(users_are_counted_once_and_in_order)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *twice = call("add", x, x, NULL);
    call("mul", y, x, NULL);
    call("sub", x, y, NULL);
    assert_users(x, "add mul sub");
    assert_users(y, "mul sub");
    assert_inputs(twice, "x");
    ck_assert_uint_eq(x->nusers, 3);
    check_graph(g);
}

TEST_CASE(inputs_are_distinct_and_in_order_of_args_then_kwargs)
{
    cfx_node *a = input("a"), *b = input("b"), *c = input("c"),
             *d = input("d");
    cfx_value items[] = {node(c), node(b)},
              slice[] = {cfx_none(), node(a), cfx_none()};
    cfx_value list = cfx_list_new(ctx, 2, items);
    cfx_value part = cfx_seq_new(ctx, CFX_SLICE, 3, slice, NULL);
    cfx_value key = str("k"), pair[] = {key, node(d)};
    cfx_value dict = cfx_dict_new(ctx, 1, pair);
    cfx_value args[] = {node(b), list, part}, kwargs[] = {key, dict};
    cfx_node *n = cfx_graph_call_function(
        g, "f", (cfx_args){args, 3, kwargs, 1}, &err);
    ck_assert_ptr_nonnull(n);
    cfx_value_unref(list);
    cfx_value_unref(part);
    cfx_value_unref(dict);
    cfx_value_unref(key);
    assert_inputs(n, "b c a d");
    check_graph(g);
    assert_ok(cfx_node_replace_input_with(n, d, c, &err));
    assert_inputs(n, "b c a");
    ck_assert_ptr_eq(n->kwargs[1].u.seq->item[1].u.node, c);
    assert_ok(cfx_node_replace_input_with(n, a, d, &err));
    assert_inputs(n, "b c d");
    assert_ok(cfx_node_replace_input_with(n, c, b, &err));
    assert_inputs(n, "b d");
    check_graph(g);
}

/* The expected orders are torch's, for the same edits. */
TEST_CASE(users_move_to_the_end_as_in_torch)
{
    cfx_node *a = input("a"), *b = input("b"), *c = input("c");
    cfx_node *y = call("torch.add", a, b, NULL);
    cfx_node *z = call("torch.sub", b, a, NULL);
    call("torch.mul", a, b, NULL);
    cfx_value args[] = {node(a), node(b)};
    assert_users(a, "add sub mul");
    assert_ok(cfx_node_set_args(y, args, 2, &err));
    assert_users(a, "sub mul add");
    assert_users(b, "sub mul add");
    assert_ok(cfx_node_insert_arg(z, 0, node(a), &err));
    assert_users(a, "sub mul add");
    assert_ok(cfx_node_replace_input_with(z, a, c, &err));
    assert_users(a, "mul add");
    assert_users(b, "mul add sub");
    assert_users(c, "sub");
    assert_ok(cfx_node_update_arg(y, 0, node(a), &err));
    assert_users(b, "mul sub add");
    assert_ok(cfx_node_replace_input_with(y, a, b, &err));
    assert_users(a, "mul");
    assert_inputs(y, "b");
    check_graph(g);
}

static bool is_not(void *data, cfx_node *user)
{
    return user != data;
}

TEST_CASE(uses_are_replaced_where_wanted)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *a = call("a", x, x, NULL), *b = call("b", y, x, NULL);
    cfx_node *c = call("c", x, NULL);
    assert_ok(cfx_node_replace_all_uses_with(x, y, is_not, c, &err));
    assert_users(x, "c");
    assert_users(y, "a b");
    ck_assert_ptr_eq(a->args[1].u.node, y);
    assert_inputs(b, "y");
    assert_ok(cfx_node_replace_all_uses_with(x, c, NULL, NULL, &err));
    assert_users(c, "c");
    check_graph(g);
    ck_assert_int_eq(cfx_graph_lint(g, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH,
                  "Argument 'c' of Node 'c' was used before it "
                  "has been defined! Please check that Nodes in the graph are "
                  "topologically ordered");
    assert_ok(cfx_node_replace_all_uses_with(y, y, NULL, NULL, &err));
    assert_users(y, "a b");
}

TEST_CASE(arguments_are_edited_one_by_one)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_node *n = call("f", x, NULL);
    assert_ok(cfx_node_insert_arg(n, 1, cfx_int(7), &err));
    assert_ok(cfx_node_insert_arg(n, 0, node(y), &err));
    ck_assert_uint_eq(n->nargs, 3);
    assert_inputs(n, "y x");
    ck_assert_int_eq(n->args[2].u.i, 7);
    assert_ok(cfx_node_update_arg(n, 1, cfx_none(), &err));
    assert_inputs(n, "y");
    assert_users(x, "");
    assert_ok(cfx_node_update_kwarg(n, "k", node(x), &err));
    assert_ok(cfx_node_update_kwarg(n, "l", cfx_int(1), &err));
    assert_inputs(n, "y x");
    assert_ok(cfx_node_update_kwarg(n, "k", cfx_int(2), &err));
    ck_assert_uint_eq(n->nkwargs, 2);
    ck_assert_str_eq(n->kwargs[0].u.str->text, "k");
    ck_assert_int_eq(n->kwargs[1].u.i, 2);
    assert_inputs(n, "y");
    ck_assert_int_eq(cfx_node_update_arg(n, 3, cfx_none(), &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "Node 'f' has 3 arguments, there is no argument "
                              "3");
    ck_assert_int_eq(cfx_node_insert_arg(n, 4, cfx_none(), &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "insert_args index must be between 0 and "
                              "len(self.args), got 4");
    assert_ok(cfx_node_set_kwargs(n, NULL, 0, &err));
    ck_assert_uint_eq(n->nkwargs, 0);
    check_graph(g);
}

TEST_CASE(arguments_may_be_set_from_the_node_itself)
{
    cfx_node *x = input("x"), *n = call("f", x, x, NULL);
    cfx_value text = str("a text of some length");
    assert_ok(cfx_node_update_arg(n, 1, text, &err));
    cfx_value_unref(text);
    assert_ok(cfx_node_set_args(n, n->args, n->nargs, &err));
    assert_ok(cfx_node_update_arg(n, 0, n->args[1], &err));
    assert_ok(cfx_node_set_target(n, n->args[0].u.str->text, &err));
    assert_ok(cfx_node_set_args(n, n->args, 1, &err));
    assert_ok(cfx_node_set_type(n, n->target->text, &err));
    assert_ok(cfx_node_set_target(n, n->target->text, &err));
    ck_assert_str_eq(n->type->text, "a text of some length");
    assert_ok(cfx_node_set_type(n, NULL, &err));
    ck_assert(!n->type);
    assert_ok(cfx_node_set_op(n, CFX_CALL_METHOD, "relu", &err));
    ck_assert_int_eq(n->op, CFX_CALL_METHOD);
    ck_assert_int_eq(cfx_node_set_target(n, "", &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "a call_method needs a target");
    check_graph(g);
}

/* ---- Erasing ---- */

TEST_CASE(nodes_with_users_are_not_erased)
{
    cfx_node *x = input("x");
    call("sub", x, NULL);
    ck_assert_int_eq(cfx_graph_erase_node(g, x, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Tried to erase Node x but it still had 1 users "
                              "in the graph: {sub: None}!");
    call("add", x, NULL);
    ck_assert_int_eq(cfx_graph_erase_node(g, x, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Tried to erase Node x but it still had 2 users "
                              "in the graph: {sub: None, add: None}!");
    for (int i = 0; i < 1000; i++)
        call("some_function", x, NULL);
    ck_assert_int_eq(cfx_graph_erase_node(g, x, &err), CFX_EGRAPH);
    ck_assert_ptr_nonnull(strstr(err.text, ", ...}!"));
    check_graph(g);
}

TEST_CASE(erased_nodes_stay_readable_and_are_refused)
{
    cfx_node *x = input("x"), *y = call("neg", x, NULL);
    assert_ok(cfx_node_set_meta(y, "tag", cfx_int(5), &err));
    assert_ok(cfx_graph_erase_node(g, y, &err));
    assert_ok(cfx_graph_erase_node(g, y, &err));
    ck_assert(y->erased);
    ck_assert_str_eq(y->name, "neg");
    ck_assert_str_eq(y->target->text, "neg");
    ck_assert_int_eq(cfx_node_meta(y, "tag").u.i, 5);
    ck_assert_uint_eq(y->nargs, 0);
    assert_users(x, "");
    cfx_value args[] = {node(y)};
    ck_assert_int_eq(cfx_node_set_args(x, args, 1, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'neg' of Node 'x' was erased");
    ck_assert_int_eq(cfx_node_set_args(y, NULL, 0, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Node 'neg' was erased from its Graph");
    ck_assert_int_eq(cfx_node_replace_all_uses_with(x, y, NULL, NULL, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'neg' of Node 'x' was erased");
    ck_assert_int_eq(cfx_node_append(x, y, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Node 'neg' was erased from its Graph");
    check_graph(g);
}

/* ---- Meta and tensors ---- */

TEST_CASE(meta_is_kept_by_key)
{
    cfx_node *x = input("x");
    cfx_value text = str("trace");
    ck_assert(cfx_value_is_absent(cfx_node_meta(x, "a")));
    assert_ok(cfx_node_set_meta(x, "a", text, &err));
    assert_ok(cfx_node_set_meta(x, "b", cfx_int(1), &err));
    assert_ok(cfx_node_set_meta(x, "c", cfx_int(2), &err));
    assert_ok(cfx_node_set_meta(x, "b", cfx_int(3), &err));
    cfx_value_unref(text);
    ck_assert_str_eq(cfx_node_meta(x, "a").u.str->text, "trace");
    ck_assert_int_eq(cfx_node_meta(x, "b").u.i, 3);
    ck_assert_uint_eq(x->meta.u.seq->len, 6);
    assert_ok(cfx_node_set_meta(x, "b", CFX_NOTHING, &err));
    ck_assert(cfx_value_is_absent(cfx_node_meta(x, "b")));
    ck_assert_int_eq(cfx_node_meta(x, "c").u.i, 2);
    assert_ok(cfx_node_set_meta(x, "nothing", CFX_NOTHING, &err));
    assert_ok(cfx_node_set_meta(x, "a", CFX_NOTHING, &err));
    assert_ok(cfx_node_set_meta(x, "c", CFX_NOTHING, &err));
    ck_assert(cfx_value_is_absent(x->meta));
    ck_assert_int_eq(cfx_node_set_meta(x, "n", node(x), &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "meta of Node 'x' cannot hold Node 'x'");
}

TEST_CASE(tensors_are_shared_until_the_graph_lets_go)
{
    cfx_tensor *t = new_meta();
    cfx_value v = cfx_value_of_tensor(t), list = cfx_list_new(ctx, 1, &v);
    cfx_value args[] = {v, list};
    cfx_node *n = cfx_graph_call_function(g, "f", cfx_args_of(args, 2), &err);
    cfx_value_unref(list);
    ck_assert_int_eq(t->refs, 3);
    assert_ok(cfx_node_set_meta(n, "val", v, &err));
    ck_assert_int_eq(t->refs, 4);
    cfx_node *copy = cfx_graph_node_copy(g, n, NULL, NULL, &err);
    ck_assert_int_eq(t->refs, 7);
    assert_ok(cfx_node_set_args(n, NULL, 0, &err));
    ck_assert_int_eq(t->refs, 5);
    assert_ok(cfx_graph_erase_node(g, copy, &err));
    ck_assert_int_eq(t->refs, 3);
    assert_ok(cfx_node_set_meta(n, "val", cfx_none(), &err));
    ck_assert_int_eq(t->refs, 2);
    cfx_graph_free(g);
    g = NULL;
    ck_assert_int_eq(t->refs, 1);
    cfx_tensor_unref(t);
}

TEST_SUITE(graph, .setup = setup, .teardown = teardown, .timeout = 120)
