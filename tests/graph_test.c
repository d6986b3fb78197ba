/*
 * graph_test -- nodes and graphs behave as those of torch.fx.
 */
#include "graph_test.h"

#include <cfx/module.h>

/* ---- Making nodes ---- */

START_TEST(nodes_hold_what_they_were_given)
{
    cfx_node *x = input("x");
    cfx_value key = str("alpha"), list_items[] = {node(x), cfx_int(3)};
    cfx_value list = cfx_list_new(ctx, 2, list_items);
    cfx_value args[] = {list, cfx_num(0.5)};
    cfx_value kwargs[] = {key, cfx_none()};
    cfx_node *n = cfx_graph_create_node(g, CFX_CALL_FUNCTION, "torch.cat",
                                        args, 2, kwargs, 1, "joined",
                                        "torch.Tensor", &err);
    ck_assert_ptr_nonnull(n);
    cfx_value_unref(list);
    cfx_value_unref(key);
    ck_assert_int_eq(n->op, CFX_CALL_FUNCTION);
    ck_assert_str_eq(n->name, "joined");
    ck_assert_str_eq(n->target.u.str->text, "torch.cat");
    ck_assert_str_eq(n->type.u.str->text, "torch.Tensor");
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
END_TEST

START_TEST(outputs_are_last_and_found)
{
    ck_assert_ptr_null(cfx_graph_output_node(g));
    cfx_node *x = input("x");
    ck_assert_ptr_null(cfx_graph_output_node(g));
    cfx_node *o = cfx_graph_output(g, node(x), &err);
    ck_assert_ptr_eq(cfx_graph_output_node(g), o);
    ck_assert_str_eq(o->name, "output");
    ck_assert_str_eq(o->target.u.str->text, "output");
}
END_TEST

START_TEST(nodes_of_other_graphs_are_refused)
{
    cfx_graph *other;
    assert_ok(cfx_graph_new(&other, ctx, &err));
    cfx_node *x = cfx_graph_placeholder(other, "x", &err);
    cfx_value args[] = {node(x)};
    ck_assert_ptr_null(cfx_graph_create_node(g, CFX_CALL_METHOD, "neg", args,
                                             1, NULL, 0, "y", NULL, &err));
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'y' does not belong to "
                  "this Graph, but was used as an argument!");
    cfx_node *n = cfx_graph_call_method(other, "neg", args, 1, NULL, 0, &err);
    ck_assert_ptr_null(cfx_graph_node_copy(g, n, NULL, NULL, &err));
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'neg' does not belong");
    ck_assert_int_eq(cfx_node_append(n, input("a"), &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Attempting to move a Node into a different");
    ck_assert_int_eq(cfx_graph_erase_node(g, n, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Attempting to remove neg from wrong graph!");
    cfx_graph_free(other);
    check_graph(g);
}
END_TEST

START_TEST(nodes_refuse_what_has_no_meaning)
{
    cfx_node *x = input("x");
    cfx_value absent = CFX_NOTHING, pair[] = {node(x), cfx_int(1)};
    cfx_value dict = cfx_dict_new(ctx, 1, pair);
    cfx_value key = str("k"), twice[] = {key, cfx_int(1), key, cfx_int(2)};
    cfx_value nokey[] = {cfx_int(1), cfx_int(1)};
    const char *targets[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(cfx_graph_call_function(g, targets[i], NULL, 0,
                                                   NULL, 0, &err));
        assert_failed(CFX_EINVAL, "a call_function needs a target");
    }
    ck_assert_ptr_null(cfx_graph_create_node(g, (cfx_opcode)9, "x", NULL, 0,
                                             NULL, 0, NULL, NULL, &err));
    assert_failed(CFX_EINVAL, "9 is no opcode");
    ck_assert_ptr_null(cfx_graph_output(g, absent, &err));
    assert_failed(CFX_EINVAL, "an argument is absent");
    ck_assert_ptr_null(cfx_graph_output(g, dict, &err));
    assert_failed(CFX_EINVAL, "Keys for dictionaries used as an argument "
                  "cannot contain a Node. Got key: x");
    ck_assert_ptr_null(cfx_graph_call_function(g, "f", NULL, 0, twice, 2,
                                               &err));
    assert_failed(CFX_EINVAL, "keyword 'k' of Node 'f' is given twice");
    ck_assert_ptr_null(cfx_graph_call_function(g, "f", NULL, 0, nokey, 1,
                                               &err));
    assert_failed(CFX_EINVAL, "a keyword of Node 'f' is a int");
    cfx_value_unref(dict);
    cfx_value_unref(key);
    assert_nodes("x");
    check_graph(g);
}
END_TEST

START_TEST(keywords_are_distinct_also_when_many)
{
    enum { MANY = 1000 };
    static cfx_value kwargs[2 * MANY];
    char text[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "k%d", i);
        kwargs[2 * i] = str(text);
        kwargs[2 * i + 1] = cfx_int(i);
    }
    ck_assert_ptr_nonnull(cfx_graph_call_function(g, "f", NULL, 0, kwargs,
                                                  MANY, &err));
    cfx_value_unref(kwargs[2 * MANY - 2]);
    kwargs[2 * MANY - 2] = cfx_value_ref(kwargs[0]);
    ck_assert_ptr_null(cfx_graph_call_function(g, "f", NULL, 0, kwargs, MANY,
                                               &err));
    assert_failed(CFX_EINVAL, "keyword 'k0' of Node 'f' is given twice");
    for (int i = 0; i < MANY; i++)
        cfx_value_unref(kwargs[2 * i]);
}
END_TEST

START_TEST(values_may_nest_as_deep_as_is_accepted_anywhere)
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
END_TEST

/* ---- Order ---- */

START_TEST(nodes_come_in_order_before_a_point_and_in_reverse_after_it)
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
END_TEST

START_TEST(insert_points_outlive_their_node)
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
END_TEST

START_TEST(nodes_move_before_and_after_others)
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
END_TEST

START_TEST(walks_go_on_where_nodes_are_erased_or_inserted)
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
END_TEST

/* ---- Uses ---- */

START_TEST(users_are_counted_once_and_in_order)
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
END_TEST

START_TEST(inputs_are_distinct_and_in_order_of_args_then_kwargs)
{
    cfx_node *a = input("a"), *b = input("b"), *c = input("c"),
             *d = input("d");
    cfx_value items[] = {node(c), node(b)}, slice[] = {cfx_none(), node(a),
                                                       cfx_none()};
    cfx_value list = cfx_list_new(ctx, 2, items);
    cfx_value part = cfx_seq_new(ctx, CFX_SLICE, 3, slice, NULL);
    cfx_value key = str("k"), pair[] = {key, node(d)};
    cfx_value dict = cfx_dict_new(ctx, 1, pair);
    cfx_value args[] = {node(b), list, part}, kwargs[] = {key, dict};
    cfx_node *n = cfx_graph_call_function(g, "f", args, 3, kwargs, 1, &err);
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
END_TEST

/* The expected orders are torch's, for the same edits. */
START_TEST(users_move_to_the_end_as_in_torch)
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
END_TEST

static bool is_not(void *data, cfx_node *user)
{
    return user != data;
}

START_TEST(uses_are_replaced_where_wanted)
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
    assert_failed(CFX_EGRAPH, "Argument 'c' of Node 'c' was used before it "
                  "has been defined! Please check that Nodes in the graph are "
                  "topologically ordered");
    assert_ok(cfx_node_replace_all_uses_with(y, y, NULL, NULL, &err));
    assert_users(y, "a b");
}
END_TEST

START_TEST(arguments_are_edited_one_by_one)
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
END_TEST

START_TEST(arguments_may_be_set_from_the_node_itself)
{
    cfx_node *x = input("x"), *n = call("f", x, x, NULL);
    cfx_value text = str("a text of some length");
    assert_ok(cfx_node_update_arg(n, 1, text, &err));
    cfx_value_unref(text);
    assert_ok(cfx_node_set_args(n, n->args, n->nargs, &err));
    assert_ok(cfx_node_update_arg(n, 0, n->args[1], &err));
    assert_ok(cfx_node_set_target(n, n->args[0].u.str->text, &err));
    assert_ok(cfx_node_set_args(n, n->args, 1, &err));
    assert_ok(cfx_node_set_type(n, n->target.u.str->text, &err));
    assert_ok(cfx_node_set_target(n, n->target.u.str->text, &err));
    ck_assert_str_eq(n->type.u.str->text, "a text of some length");
    assert_ok(cfx_node_set_type(n, NULL, &err));
    ck_assert(cfx_value_is_absent(n->type));
    assert_ok(cfx_node_set_op(n, CFX_CALL_METHOD, "relu", &err));
    ck_assert_int_eq(n->op, CFX_CALL_METHOD);
    ck_assert_int_eq(cfx_node_set_target(n, "", &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "a call_method needs a target");
    check_graph(g);
}
END_TEST

/* ---- Erasing ---- */

START_TEST(nodes_with_users_are_not_erased)
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
END_TEST

START_TEST(erased_nodes_stay_readable_and_are_refused)
{
    cfx_node *x = input("x"), *y = call("neg", x, NULL);
    assert_ok(cfx_node_set_meta(y, "tag", cfx_int(5), &err));
    assert_ok(cfx_graph_erase_node(g, y, &err));
    assert_ok(cfx_graph_erase_node(g, y, &err));
    ck_assert(y->erased);
    ck_assert_str_eq(y->name, "neg");
    ck_assert_str_eq(y->target.u.str->text, "neg");
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
END_TEST

/* ---- Meta and tensors ---- */

START_TEST(meta_is_kept_by_key)
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
END_TEST

static cfx_tensor *new_meta(void)
{
    cfx_tensor *t;
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(3)};
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, &err));
    return t;
}

START_TEST(tensors_are_shared_until_the_graph_lets_go)
{
    cfx_tensor *t = new_meta();
    cfx_value v = cfx_value_of_tensor(t), list = cfx_list_new(ctx, 1, &v);
    cfx_value args[] = {v, list};
    cfx_node *n = cfx_graph_call_function(g, "f", args, 2, NULL, 0, &err);
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
END_TEST

/* ---- Memory ---- */

START_TEST(edits_reuse_the_memory_of_what_they_replace)
{
    cfx_node *x = input("x"), *y = input("y"), *n = call("f", x, NULL);
    size_t held = 0;
    char text[64];
    for (int i = 0; i < 200000; i++) {
        snprintf(text, sizeof(text), "text %d", i);
        cfx_value s = str(text), args[6] = {node(i & 1 ? x : y)};
        cfx_value items[] = {cfx_int(i), s, node(i & 2 ? x : y)};
        size_t nargs = 2 + (size_t)i % 5;
        args[1] = cfx_list_new(ctx, 3, items);
        for (size_t k = 2; k < nargs; k++)
            args[k] = cfx_int(i);
        assert_ok(cfx_node_set_args(n, args, nargs, &err));
        assert_ok(cfx_node_update_kwarg(n, "k", s, &err));
        assert_ok(cfx_node_insert_arg(n, 0, s, &err));
        assert_ok(cfx_node_set_meta(n, "m", args[1].u.seq->item[1], &err));
        assert_ok(cfx_node_set_target(n, text, &err));
        assert_ok(cfx_node_set_kwargs(n, NULL, 0, &err));
        cfx_value_unref(args[1]);
        cfx_value_unref(s);
        if (i == 1000)
            held = cfx_context_memory(ctx);
    }
    ck_assert_uint_eq(cfx_context_memory(ctx), held);
    check_graph(g);
}
END_TEST

static cfx_node *same(void *user, cfx_node *n)
{
    (void)user;
    return n;
}

/* Every function that allocates, on a graph of its own. */
static bool edit_all(void)
{
    cfx_graph *h;
    cfx_status st = cfx_graph_new(&h, ctx, &err);
    if (st)
        return false;
    cfx_node *x = cfx_graph_placeholder(h, "x", &err);
    for (int i = 0; x && !err.code && i < 40; i++) {
        cfx_string *s = (cfx_string *)(char[64]){0};
        s->len = (uint32_t)snprintf(s->text, 32, "a text %d", i);
        cfx_value text = {.kind = CFX_STR, .u.str = s};
        cfx_value args[] = {node(x), text}, kwargs[] = {text, node(x)};
        cfx_node *n = cfx_graph_create_node(h, CFX_CALL_FUNCTION, "f", args, 2,
                                            kwargs, 1, NULL, "int", &err);
        if (!n || cfx_node_set_meta(n, s->text, text, &err) ||
            cfx_node_insert_arg(n, 1, node(n), &err) ||
            cfx_node_insert_arg(n, 1, text, &err) ||
            cfx_node_update_kwarg(n, "key", text, &err) ||
            cfx_node_update_kwarg(n, "more", node(n), &err) ||
            cfx_node_set_args(n, args, 2, &err) ||
            cfx_node_set_kwargs(n, kwargs, 1, &err) ||
            cfx_node_set_meta(n, "two", text, &err) ||
            cfx_node_set_meta(n, s->text, CFX_NOTHING, &err) ||
            cfx_node_rename(n, s->text, &err) ||
            cfx_node_set_target(n, s->text, &err) ||
            !cfx_graph_node_copy(h, n, same, NULL, &err))
            break;
    }
    cfx_graph *copy = NULL;
    if (!err.code && !cfx_graph_copy(&copy, h, &err)) {
        check_graph(copy);
        ck_assert_str_eq(names_in_order(copy), names_in_order(h));
    }
    long rest = allowed;
    allowed = -1;
    check_graph(h);
    allowed = rest;
    cfx_graph_free(copy);
    cfx_graph_free(h);
    return !err.code;
}

START_TEST(edits_that_lack_memory_leave_the_graph_well_formed)
{
    fail_each_allocation(edit_all);
}
END_TEST

/* ---- Copies ---- */

START_TEST(copies_are_equal_and_independent)
{
    cfx_node *x = input("x"), *y = call("f", x, x, NULL);
    call("gone", y, NULL);
    assert_ok(cfx_graph_erase_node(g, cfx_graph_last(g), &err));
    assert_ok(cfx_node_rename(y, "renamed_7", &err));
    assert_ok(cfx_node_update_kwarg(y, "k", cfx_num(0.5), &err));
    assert_ok(cfx_node_set_type(y, "int", &err));
    assert_ok(cfx_node_set_meta(y, "tag", cfx_int(3), &err));
    cfx_graph_output(g, node(y), &err);
    cfx_graph *copy;
    assert_ok(cfx_graph_copy(&copy, g, &err));
    ck_assert_str_eq(names_in_order(copy), "x renamed_7 output");
    check_graph(copy);
    assert_ok(cfx_graph_lint(copy, &err));
    cfx_node *z = cfx_graph_find(copy, "renamed_7");
    ck_assert_ptr_ne(z, y);
    ck_assert_ptr_eq(z->args[1].u.node, cfx_graph_first(copy));
    ck_assert(cfx_value_equal(z->kwargs[1], y->kwargs[1]));
    ck_assert_str_eq(z->type.u.str->text, "int");
    ck_assert_int_eq(cfx_node_meta(z, "tag").u.i, 3);
    assert_ok(cfx_graph_erase_node(copy, cfx_graph_last(copy), &err));
    assert_ok(cfx_graph_erase_node(copy, z, &err));
    assert_nodes("x renamed_7 output");
    assert_users(x, "renamed_7");
    cfx_graph_free(copy);
}
END_TEST

START_TEST(copies_need_nodes_to_be_defined_before_use)
{
    cfx_node *x = input("x"), *y = call("f", x, NULL);
    assert_ok(cfx_node_append(y, x, &err));
    cfx_graph *copy;
    ck_assert_int_eq(cfx_graph_copy(&copy, g, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'f' was used before it "
                  "has been defined!");
}
END_TEST

static cfx_node *lookup(void *user, cfx_node *n)
{
    return cfx_graph_find(user, n->name);
}

/* A map that makes what is missing, in the graph that is copied to. */
static cfx_node *make(void *user, cfx_node *n)
{
    cfx_node *found = cfx_graph_find(user, n->name);
    return found ? found : cfx_graph_node_copy(user, n, make, user, &err);
}

START_TEST(nodes_are_copied_with_their_inputs_translated)
{
    cfx_node *x = input("x"), *y = call("f", x, NULL);
    cfx_node *z = call("h", y, x, NULL);
    cfx_graph *other;
    assert_ok(cfx_graph_new(&other, ctx, &err));
    ck_assert_ptr_null(cfx_graph_node_copy(other, y, lookup, other, &err));
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'f' has no counterpart");
    ck_assert_ptr_nonnull(cfx_graph_node_copy(other, z, make, other, &err));
    ck_assert_str_eq(names_in_order(other), "x f h");
    check_graph(other);
    cfx_graph_free(other);
}
END_TEST

/* ---- Lint ---- */

START_TEST(lint_reports_use_before_definition)
{
    cfx_node *x = input("x"), *y = call("f", x, NULL);
    assert_ok(cfx_graph_lint(g, &err));
    assert_ok(cfx_node_prepend(x, y, &err));
    ck_assert_int_eq(cfx_graph_lint(g, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'f' was used before it "
                  "has been defined!");
}
END_TEST

/* A root with a child `block`, which has a child `fc` and a tensor `scale`. */
static cfx_module *make_modules(void)
{
    cfx_module *root, *block, *fc;
    cfx_tensor *t = new_meta();
    assert_ok(cfx_module_new_container(&root, ctx, "Module", &err));
    assert_ok(cfx_module_new_container(&block, ctx, "Module", &err));
    assert_ok(cfx_module_new_container(&fc, ctx, "Module", &err));
    assert_ok(cfx_module_set(block, "scale", t, &err));
    cfx_tensor_unref(t);
    assert_ok(cfx_module_add_take(block, "fc", fc, &err));
    assert_ok(cfx_module_add_take(root, "block", block, &err));
    return root;
}

static const struct { cfx_opcode op; const char *target, *message; } places[] = {
    {CFX_CALL_MODULE, "block.fc", NULL},
    {CFX_GET_ATTR, "block.scale", NULL},
    {CFX_GET_ATTR, "block.fc", NULL},
    {CFX_CALL_FUNCTION, "no.matter", NULL},
    {CFX_CALL_MODULE, "block.conv", "Node block_conv target block.conv "
     "references nonexistent attribute conv of block"},
    {CFX_GET_ATTR, "other.scale", "Node other_scale target other.scale "
     "references nonexistent attribute other of "},
    {CFX_CALL_MODULE, "block.scale", "Node block_scale target block.scale "
     "scale of block does not reference an nn.Module"},
    {CFX_GET_ATTR, "block.scale.T", "Node block_scale_t target block.scale.T "
     "references nonexistent attribute T of block.scale"},
    {CFX_GET_ATTR, "block..fc", "Node block_fc target block..fc references "
     "nonexistent attribute  of block"},
    {CFX_GET_ATTR, "block.fc.", "Node block_fc_ target block.fc. references "
     "nonexistent attribute  of block.fc"},
};

START_TEST(lint_follows_targets_in_the_owning_module)
{
    cfx_module *root = make_modules();
    ck_assert_ptr_nonnull(cfx_graph_create_node(g, places[_i].op,
                                                places[_i].target, NULL, 0,
                                                NULL, 0, NULL, NULL, &err));
    assert_ok(cfx_graph_lint(g, &err));
    cfx_graph_set_owning_module(g, root);
    ck_assert_ptr_eq(cfx_graph_owning_module(g), root);
    cfx_status st = cfx_graph_lint(g, &err);
    ck_assert_int_eq(st, places[_i].message ? CFX_EGRAPH : CFX_OK);
    if (st)
        ck_assert_str_eq(err.text, places[_i].message);
    cfx_module_unref(root);
}
END_TEST

/* ---- Size ---- */

/* Labels must stay in order wherever nodes go, also where gaps are used up. */
START_TEST(order_holds_for_any_pattern_of_insertions)
{
    enum { MANY = 50000 };
    cfx_node *o = cfx_graph_output(g, cfx_none(), &err), *at = o;
    uint64_t random = 1;
    for (int i = 0; i < MANY; i++) {
        random = cfx_mix64(random + 1);
        switch (_i) {
        case 0: cfx_graph_inserting_before(g, o); break;
        case 1: cfx_graph_inserting_after(g, o); break;
        case 2: cfx_graph_inserting_before(g, NULL); break;
        case 3: cfx_graph_inserting_before(g, at); break;
        case 4: cfx_graph_inserting_after(g, at); break;
        case 5: random & 1 ? cfx_graph_inserting_before(g, at)
                           : cfx_graph_inserting_after(g, at); break;
        default: break;
        }
        cfx_node *n = call("f", NULL);
        if (random & 6)
            at = n;
        if (_i == 6) /* everything lands in one gap */
            assert_ok(i & 1 ? cfx_node_append(at, o, &err)
                            : cfx_node_prepend(at, o, &err));
    }
    check_graph(g);
}
END_TEST

START_TEST(order_holds_when_the_ends_are_used_up)
{
    cfx_node *a = call("a", NULL), *b = call("b", NULL), *c = call("c", NULL);
    c->order = UINT64_MAX - 1;
    b->order = UINT64_MAX - 2;
    for (int i = 0; i < 1000; i++)
        call("f", NULL);
    check_graph(g);
    a->order = 1;
    cfx_graph_inserting_before(g, NULL);
    for (int i = 0; i < 1000; i++)
        call("f", NULL);
    check_graph(g);
}
END_TEST

START_TEST(graphs_of_a_million_nodes_are_ordinary)
{
    enum { MANY = 1000000 };
    cfx_node *a = input("a"), *b = input("b"), *first = a;
    for (int i = 0; i < MANY; i++) {
        cfx_value args[] = {node(a), node(b)};
        a = b;
        b = cfx_graph_call_function(g, "operator.add", args, 2, NULL, 0, &err);
        ck_assert_ptr_nonnull(b);
    }
    ck_assert_str_eq(b->name, "add_999999");
    cfx_graph_output(g, node(b), &err);
    assert_ok(cfx_graph_lint(g, &err));
    cfx_graph *copy;
    assert_ok(cfx_graph_copy(&copy, g, &err));
    ck_assert_uint_eq(cfx_graph_len(copy), MANY + 3);
    cfx_graph_free(copy);
    cfx_graph_inserting_after(g, first);
    cfx_node *x = call("x", NULL);
    for (cfx_node *n = cfx_graph_last(g); n != x; n = cfx_node_prev(n)) {
        if (n->op != CFX_CALL_FUNCTION)
            continue;
        assert_ok(cfx_node_replace_all_uses_with(n, x, NULL, NULL, &err));
        assert_ok(cfx_graph_erase_node(g, n, &err));
    }
    assert_nodes("a x b output");
    check_graph(g);
}
END_TEST

/* One node with many inputs is no more to be afraid of. */
START_TEST(nodes_may_have_a_hundred_thousand_inputs)
{
    enum { MANY = 100000 };
    static cfx_value args[MANY];
    cfx_node *x = input("x");
    for (int i = 0; i < MANY; i++)
        args[i] = node(call("f", x, NULL));
    cfx_value list = cfx_list_new(ctx, MANY, args);
    cfx_node *o = cfx_graph_output(g, list, &err);
    cfx_value_unref(list);
    ck_assert_uint_eq(o->ninputs, MANY);
    ck_assert_uint_eq(x->nusers, MANY);
    assert_ok(cfx_node_replace_input_with(o, args[5].u.node, x, &err));
    ck_assert_ptr_eq(cfx_node_input(o, 5), x);
    ck_assert_uint_eq(x->nusers, MANY + 1);
    assert_ok(cfx_graph_lint(g, &err));
}
END_TEST

/* ---- The program ---- */

static void add_tests(TCase *c)
{
    tcase_add_test(c, nodes_hold_what_they_were_given);
    tcase_add_test(c, outputs_are_last_and_found);
    tcase_add_test(c, nodes_of_other_graphs_are_refused);
    tcase_add_test(c, nodes_refuse_what_has_no_meaning);
    tcase_add_test(c, keywords_are_distinct_also_when_many);
    tcase_add_test(c, values_may_nest_as_deep_as_is_accepted_anywhere);
    tcase_add_test(c, nodes_come_in_order_before_a_point_and_in_reverse_after_it);
    tcase_add_test(c, insert_points_outlive_their_node);
    tcase_add_test(c, nodes_move_before_and_after_others);
    tcase_add_test(c, walks_go_on_where_nodes_are_erased_or_inserted);
    tcase_add_test(c, users_are_counted_once_and_in_order);
    tcase_add_test(c, inputs_are_distinct_and_in_order_of_args_then_kwargs);
    tcase_add_test(c, users_move_to_the_end_as_in_torch);
    tcase_add_test(c, uses_are_replaced_where_wanted);
    tcase_add_test(c, arguments_are_edited_one_by_one);
    tcase_add_test(c, arguments_may_be_set_from_the_node_itself);
    tcase_add_test(c, nodes_with_users_are_not_erased);
    tcase_add_test(c, erased_nodes_stay_readable_and_are_refused);
    tcase_add_test(c, meta_is_kept_by_key);
    tcase_add_test(c, tensors_are_shared_until_the_graph_lets_go);
    tcase_add_test(c, edits_reuse_the_memory_of_what_they_replace);
    tcase_add_test(c, edits_that_lack_memory_leave_the_graph_well_formed);
    tcase_add_test(c, copies_are_equal_and_independent);
    tcase_add_test(c, copies_need_nodes_to_be_defined_before_use);
    tcase_add_test(c, nodes_are_copied_with_their_inputs_translated);
    tcase_add_test(c, lint_reports_use_before_definition);
    tcase_add_loop_test(c, lint_follows_targets_in_the_owning_module, 0,
                        sizeof(places) / sizeof(*places));
    tcase_add_loop_test(c, order_holds_for_any_pattern_of_insertions, 0, 7);
    tcase_add_test(c, order_holds_when_the_ends_are_used_up);
    tcase_add_test(c, graphs_of_a_million_nodes_are_ordinary);
    tcase_add_test(c, nodes_may_have_a_hundred_thousand_inputs);
}

int main(void)
{
    Suite *s = suite_create("graph");
    TCase *c = tcase_create("graph");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    add_tests(c);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failures = srunner_ntests_failed(r);
    srunner_free(r);
    return failures != 0;
}
