/*
 * graph_whole_test -- graphs as wholes: memory, copies, lint, and size.
 */
#include "tests/unit/graph_test.h"

#include <cfx/module.h>

#include "tests/unit/unit.h"

/* ---- Memory ---- */

TEST_CASE(edits_reuse_the_memory_of_what_they_replace)
{
    cfx_node *x = input("x"), *y = input("y"), *n = call("f", x, NULL);
    size_t used_before = 0;
    char text[64];
    for (int i = 0; i < 100000; i++) {
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
            used_before = cfx_context_memory(ctx);
    }
    ck_assert_uint_eq(cfx_context_memory(ctx), used_before);
    check_graph(g);
}

TEST_CASE(failures_leave_no_memory_behind)
{
    cfx_node *x = input("x");
    cfx_value text = str("some text"), items[] = {text, node(x)};
    cfx_value list = cfx_list_new(ctx, 2, items);
    cfx_value args[] = {list, text, node(x), CFX_NOTHING};
    cfx_value kwargs[] = {text, list, text, list};
    size_t used_before = 0;
    for (int i = 0; i < 20000; i++) {
        ck_assert_ptr_null(
            cfx_graph_call_function(g, "f", cfx_args_of(args, 4), &err));
        ck_assert_ptr_null(cfx_graph_call_function(
            g, "f", (cfx_args){args, 3, kwargs, 2}, &err));
        must(cfx_node_set_args(x, args, 4, &err) == CFX_EINVAL);
        must(cfx_node_set_kwargs(x, kwargs, 2, &err) == CFX_EINVAL);
        must(cfx_node_set_meta(x, "key", list, &err) == CFX_EINVAL);
        must(cfx_node_insert_arg(x, 9, list, &err) == CFX_EINVAL);
        if (i == 100)
            used_before = cfx_context_memory(ctx);
    }
    ck_assert_uint_eq(cfx_context_memory(ctx), used_before);
    cfx_value_unref(list);
    cfx_value_unref(text);
    check_graph(g);
}

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
        cfx_node *n = cfx_graph_create_node(h, CFX_CALL_FUNCTION, "f",
                                            (cfx_args){args, 2, kwargs, 1},
                                            NULL, "int", &err);
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

TEST_CASE(edits_that_lack_memory_leave_the_graph_well_formed)
{
    fail_each_allocation(edit_all);
}

/* ---- Copies ---- */

TEST_CASE(copies_are_equal_and_independent)
{
    cfx_node *x = input("x"), *y = call("f", x, x, NULL);
    call("gone", y, NULL);
    assert_ok(cfx_graph_erase_node(g, cfx_graph_last(g), &err));
    assert_ok(cfx_node_rename(y, "renamed_7", &err));
    assert_ok(cfx_node_update_kwarg(y, "k", cfx_float(0.5), &err));
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
    ck_assert_str_eq(z->type->text, "int");
    ck_assert_int_eq(cfx_node_meta(z, "tag").u.i, 3);
    assert_ok(cfx_graph_erase_node(copy, cfx_graph_last(copy), &err));
    assert_ok(cfx_graph_erase_node(copy, z, &err));
    assert_nodes("x renamed_7 output");
    assert_users(x, "renamed_7");
    cfx_graph_free(copy);
}

TEST_CASE(copies_need_nodes_to_be_defined_before_use)
{
    cfx_node *x = input("x"), *y = call("f", x, NULL);
    assert_ok(cfx_node_append(y, x, &err));
    cfx_graph *copy;
    ck_assert_int_eq(cfx_graph_copy(&copy, g, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'f' was used before it "
                              "has been defined!");
}

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

TEST_CASE(nodes_are_copied_with_their_inputs_translated)
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

/* ---- Lint ---- */

TEST_CASE(lint_reports_use_before_definition)
{
    cfx_node *x = input("x"), *y = call("f", x, NULL);
    assert_ok(cfx_graph_lint(g, &err));
    assert_ok(cfx_node_prepend(x, y, &err));
    ck_assert_int_eq(cfx_graph_lint(g, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'x' of Node 'f' was used before it "
                              "has been defined!");
}

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

static const struct {
    cfx_opcode op;
    const char *target, *message;
} places[] = {
    {CFX_CALL_MODULE, "block.fc", NULL},
    {CFX_GET_ATTR, "block.scale", NULL},
    {CFX_GET_ATTR, "block.fc", NULL},
    {CFX_CALL_FUNCTION, "no.matter", NULL},
    {CFX_CALL_MODULE, "block.conv",
     "Node block_conv target block.conv "
     "references nonexistent attribute conv of block"},
    {CFX_GET_ATTR, "other.scale",
     "Node other_scale target other.scale "
     "references nonexistent attribute other of "},
    {CFX_CALL_MODULE, "block.scale",
     "Node block_scale target block.scale "
     "scale of block does not reference an nn.Module"},
    {CFX_GET_ATTR, "block.scale.T",
     "Node block_scale_t target block.scale.T "
     "references nonexistent attribute T of block.scale"},
    {CFX_GET_ATTR, "block..fc",
     "Node block_fc target block..fc references "
     "nonexistent attribute  of block"},
    {CFX_GET_ATTR, "block.fc.",
     "Node block_fc_ target block.fc. references "
     "nonexistent attribute  of block.fc"},
};

TEST_EACH(lint_follows_targets_in_the_owning_module,
          sizeof(places) / sizeof(*places))
{
    cfx_module *root = make_modules();
    ck_assert_ptr_nonnull(cfx_graph_create_node(
        g, places[_i].op, places[_i].target, CFX_NO_ARGS, NULL, NULL, &err));
    assert_ok(cfx_graph_lint(g, &err));
    cfx_graph_set_owning_module(g, root);
    ck_assert_ptr_eq(cfx_graph_owning_module(g), root);
    cfx_status st = cfx_graph_lint(g, &err);
    ck_assert_int_eq(st, !places[_i].message             ? CFX_OK
                         : places[_i].op == CFX_GET_ATTR ? CFX_EATTR
                                                         : CFX_EGRAPH);
    if (st)
        ck_assert_str_eq(err.text, places[_i].message);
    cfx_module_unref(root);
}

/* ---- Size ---- */

/* Labels must stay in order wherever nodes go, also where gaps are used up. */
TEST_EACH(order_holds_for_any_pattern_of_insertions, 7)
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
        case 5:
            random & 1 ? cfx_graph_inserting_before(g, at)
                       : cfx_graph_inserting_after(g, at);
            break;
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

TEST_CASE(order_holds_when_the_ends_are_used_up)
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

TEST_CASE(graphs_of_a_million_nodes_are_ordinary)
{
    enum { MANY = 1000000 };
    cfx_node *a = input("a"), *b = input("b"), *first = a;
    for (int i = 0; i < MANY; i++) {
        cfx_value args[] = {node(a), node(b)};
        a = b;
        b = cfx_graph_call_function(g, "operator.add", cfx_args_of(args, 2),
                                    &err);
        must(b);
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

TEST_CASE(nodes_may_have_a_hundred_thousand_inputs)
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

TEST_SUITE(graph_whole, .setup = setup, .teardown = teardown, .timeout = 120)
