/*
 * pass_manager_test -- several passes: their order, checks, hooks, and what is
 * seen of what they did. Names of torch.fx's tests are kept where one says the
 * same.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/pass_manager.h>

#include "tests/unit/rewrite/pass_test.h"
#include "tests/unit/unit.h"

static const char text[] =
    "graph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %y : [num_users=1] = placeholder[target=y]\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %y), kwargs = {})\n"
    "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
    "(%add,), kwargs = {})\n"
    "    %neg : [num_users=0] = call_function[target=torch.neg](args = (%x,), "
    "kwargs = {})\n"
    "    return relu\n";

/* ---- Passes of our own ---- */

static char ran[256]; /* letters, in the order in which they ran */

static void note(const char *letter)
{
    strcat(ran, letter);
}

#define NOTHING(name)                                                         \
    static cfx_status name##_run(cfx_pass_call *p)                            \
    {                                                                         \
        note(p->reverse ? #name "'" : #name);                                 \
        return CFX_OK;                                                        \
    }                                                                         \
    static const cfx_pass name = {                                            \
        .abi = CFX_ABI(cfx_pass),                                             \
        .schema = #name "(int x=0)",                                          \
        .doc = "Do nothing.",                                                 \
        .flags = CFX_PASS_REVERSIBLE,                                         \
        .run = name##_run,                                                    \
    };

NOTHING(a)
NOTHING(b)
NOTHING(c)
NOTHING(d)

/* Takes one relu away each time. */
static cfx_status shrink_run(cfx_pass_call *p)
{
    cfx_node *n = cfx_graph_find_nodes(p->graph, CFX_CALL_FUNCTION,
                                       "torch.relu", NULL);
    note("s");
    if (!n)
        return CFX_OK;
    cfx_status st = cfx_node_replace_all_uses_with(n, n->args[0].u.node, NULL,
                                                   NULL, p->err);
    if (!st)
        st = cfx_graph_erase_node(p->graph, n, p->err);
    p->changed++;
    return st;
}

static const cfx_pass shrink = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "shrink()",
    .doc = "Take one relu away.",
    .run = shrink_run,
};

static cfx_status fail_run(cfx_pass_call *p)
{
    return cfx_fail(p->err, CFX_EUNSUPPORTED, "not today");
}

static const cfx_pass failing = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "failing()",
    .doc = "Fail.",
    .run = fail_run,
};

/* add becomes mul, in a new node; provenance is left to the manager. */
static cfx_status swap_run(cfx_pass_call *p)
{
    cfx_node *n;
    while ((n = cfx_graph_find_nodes(p->graph, CFX_CALL_FUNCTION,
                                     "operator.add", NULL))) {
        cfx_graph_inserting_before(p->graph, n);
        cfx_node *mul = cfx_graph_call_function(
            p->graph, "operator.mul", cfx_args_of(n->args, n->nargs), p->err);
        if (!mul || cfx_node_replace_all_uses_with(n, mul, NULL, NULL, p->err))
            return p->err->code;
        if (cfx_graph_erase_node(p->graph, n, p->err))
            return p->err->code;
        p->changed += 2;
    }
    return CFX_OK;
}

static const cfx_pass swap = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "swap()",
    .doc = "Multiply instead of adding.",
    .run = swap_run,
};

/* Leaves a node before what it uses. */
static cfx_status spoil_run(cfx_pass_call *p)
{
    return cfx_node_prepend(cfx_graph_first(p->graph),
                            cfx_graph_find(p->graph, "relu"), p->err);
}

static const cfx_pass spoil = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "spoil()",
    .doc = "Spoil the order.",
    .run = spoil_run,
};

static cfx_status refuse_run(cfx_pass_call *p)
{
    const cfx_node *add = cfx_graph_find(p->graph, "add");
    const cfx_node *relu = cfx_graph_find(p->graph, "relu");
    cfx_pass_missed(p, add, "%d nodes read it", 1);
    if (relu)
        cfx_pass_missed(p, relu, "another pass removes it");
    cfx_pass_missed(p, add, "a second reason");
    return CFX_OK;
}
static const cfx_pass refuse = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "refuse()",
    .doc = "Leave all nodes as they are.",
    .run = refuse_run,
};

static cfx_pass_manager *pm;

static void start(void)
{
    static const cfx_pass *const ours[] = {
        &a, &b, &c, &d, &shrink, &failing, &swap, &spoil, &refuse};
    setup();
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        assert_ok(cfx_register_pass(ctx, ours[i], &err));
    ran[0] = '\0';
    pm = NULL;
    model(text);
}

static void stop(void)
{
    cfx_pass_manager_free(pm);
    teardown();
}

static void manager(const char *passes, const cfx_pass_manager_options *o)
{
    cfx_pass_manager_free(pm);
    assert_ok(cfx_pass_manager_new(&pm, ctx, o, &err));
    assert_ok(cfx_pass_manager_add(pm, passes, &err));
}

static void order(const char *first, const char *then)
{
    assert_ok(cfx_pass_manager_this_before_that(pm, first, then, &err));
}

static void assert_list(const char *want)
{
    char list[256] = "";
    const char *one;
    for (size_t i = 0; (one = cfx_pass_manager_at(pm, i)); i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                 i ? " " : "", one);
    ck_assert_str_eq(list, want);
}

/* ---- 89: the pass manager ---- */

TEST_CASE(pass_manager)
{
    size_t all;
    manager("a, shrink, dead_code", NULL);
    assert_ok(cfx_pass_manager_run(pm, gm, &all, &err));
    ck_assert_str_eq(ran, "as");
    ck_assert_uint_eq(all, 2);
    assert_nodes("x y add output");
}

TEST_CASE(pass_manager_order_by_constraints)
{
    manager("a, b, c, d", NULL);
    assert_ok(cfx_pass_manager_solve(pm, &err));
    assert_list("a b c d");
    order("d", "b");
    order("b", "a");
    assert_ok(cfx_pass_manager_solve(pm, &err));
    assert_list("c d b a");
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    ck_assert_str_eq(ran, "cdba");
}

/* Constraints on passes that are not there are idle; a pass may be there
 * twice. */
TEST_CASE(pass_manager_topological_sort)
{
    manager("b(x=1), a, b(x=2), a(3)", NULL);
    order("a", "b");
    order("c", "a");
    assert_ok(cfx_pass_manager_solve(pm, &err));
    assert_list("a a(3) b(x=1) b(x=2)");
}

TEST_CASE(pass_manager_circular_dependency)
{
    manager("a, b, c", NULL);
    order("a", "b");
    order("b", "a");
    ck_assert_int_eq(cfx_pass_manager_run(pm, gm, NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "Circular dependency detected within the "
                              "following passes: ['a', 'b']");
    ck_assert_str_eq(ran, "");
}

static cfx_status has_no_neg(void *user, cfx_module *m, cfx_error *e)
{
    ++*(int *)user;
    return cfx_graph_find(cfx_graph_module_graph(m), "neg")
               ? cfx_fail(e, CFX_EUSER, "there is a neg")
               : CFX_OK;
}

TEST_CASE(pass_manager_checks)
{
    int calls = 0;
    manager("dead_code, a, b", NULL);
    assert_ok(cfx_pass_manager_add_check(pm, has_no_neg, &calls, &err));
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    ck_assert_int_eq(calls, 3);
}

TEST_CASE(pass_manager_bad_checks)
{
    int calls = 0;
    manager("a, b", NULL);
    assert_ok(cfx_pass_manager_add_check(pm, has_no_neg, &calls, &err));
    ck_assert_int_eq(cfx_pass_manager_run(pm, gm, NULL, &err), CFX_EUSER);
    assert_failed(CFX_EUSER, "An error occurred when running the 'a' pass "
                             "after the following passes: []: there is a neg");
    ck_assert_str_eq(ran, "a");
}

TEST_CASE(pass_manager_error)
{
    manager("a(x=1), b, failing, c", NULL);
    ck_assert_int_eq(cfx_pass_manager_run(pm, gm, NULL, &err),
                     CFX_EUNSUPPORTED);
    assert_failed(CFX_EUNSUPPORTED,
                  "An error occurred when running the "
                  "'failing' pass after the following passes: ['a(x=1)', "
                  "'b']: not today");
    ck_assert_str_eq(ran, "ab");
}

TEST_CASE(graphs_are_linted_after_each_pass)
{
    const cfx_pass_manager_options careless = {.size = sizeof(careless),
                                               .no_lint = true};
    manager("spoil, a", &careless);
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    model(text);
    manager("spoil, a", NULL);
    ck_assert_int_eq(cfx_pass_manager_run(pm, gm, NULL, &err), CFX_EGRAPH);
    assert_failed(CFX_EGRAPH,
                  "An error occurred when running the 'spoil' "
                  "pass after the following passes: []: Argument 'add' of "
                  "Node 'relu' was used before it has been defined!");
}

TEST_CASE(lists_are_applied_until_nothing_changes)
{
    const cfx_pass_manager_options o = {.size = sizeof(o), .steps = 5};
    size_t all;
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %relu : [num_users=1] = call_function[target=torch.relu](args "
          "= (%x,), kwargs = {})\n"
          "    %relu_1 : [num_users=1] = call_function[target=torch.relu]("
          "args = (%relu,), kwargs = {})\n"
          "    return relu_1\n");
    manager("shrink", &o);
    assert_ok(cfx_pass_manager_run(pm, gm, &all, &err));
    ck_assert_uint_eq(all, 2);
    ck_assert_str_eq(ran, "sss");
    assert_nodes("x output");
}

TEST_CASE(lists_are_reversed_from_the_end)
{
    const cfx_pass_manager_options o = {.size = sizeof(o), .reverse = true};
    manager("a, b, c", &o);
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    ck_assert_str_eq(ran, "c'b'a'");
    assert_ok(cfx_pass_manager_add(pm, "shrink, d", &err));
    ck_assert_int_eq(cfx_pass_manager_run(pm, gm, NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL,
                  "An error occurred when running the 'shrink' "
                  "pass after the following passes: ['d']: the pass 'shrink' "
                  "is not reversible");
}

TEST_CASE(a_text_that_is_refused_adds_no_pass)
{
    manager("a, c", NULL);
    ck_assert_int_eq(cfx_pass_manager_add(pm, "d, lisp", &err), CFX_ENAME);
    assert_failed(CFX_ENAME, "there is no pass 'lisp'");
    assert_list("a c");
    ck_assert_int_eq(cfx_pass_manager_add(pm, "d,,a", &err), CFX_EPARSE);
    assert_failed(CFX_EPARSE, "the name of a pass is missing");
}

/* ---- Hooks and snapshots ---- */

static struct {
    cfx_graph *snapshot;
    char log[512];
} seen;

static cfx_status before(void *user, cfx_module *m, const cfx_pass_report *r,
                         cfx_error *e)
{
    (void)user;
    (void)r;
    cfx_graph_free(seen.snapshot);
    return cfx_graph_copy(&seen.snapshot, cfx_graph_module_graph(m), e);
}

static cfx_status after(void *user, cfx_module *m, const cfx_pass_report *r,
                        cfx_error *e)
{
    bool same;
    size_t n = strlen(seen.log);
    (void)user;
    cfx_status st = cfx_graph_equal(&same, seen.snapshot,
                                    cfx_graph_module_graph(m), e);
    snprintf(seen.log + n, sizeof(seen.log) - n,
             "%s: %zu changed, %zu created, %zu erased, %zu replaced%s; ",
             r->text, r->changed, r->created, r->erased, r->replaced,
             same ? ", same" : "");
    return st;
}

TEST_CASE(hooks_see_each_pass_and_the_graph_around_it)
{
    const cfx_pass_manager_options o = {
        .size = sizeof(o), .before = before, .after = after};
    memset(&seen, 0, sizeof(seen));
    manager("a, swap, dead_code", &o);
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    ck_assert_str_eq(
        seen.log, "a: 0 changed, 0 created, 0 erased, 0 replaced, same; "
                  "swap: 2 changed, 1 created, 1 erased, 1 replaced; "
                  "dead_code: 1 changed, 0 created, 1 erased, 0 replaced; ");
    cfx_graph_free(seen.snapshot);
}

/* ---- What passes leave as it was ---- */

static void list_missed(void *user, const cfx_missed *missed, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(seen.log);
        snprintf(seen.log + len, sizeof(seen.log) - len, "%s: %s: %s; ",
                 missed[i].node, missed[i].pass, missed[i].why);
    }
}

TEST_CASE(the_first_reason_of_each_pass_is_told_for_nodes_that_remain)
{
    const cfx_pass_manager_options o = {.size = sizeof(o),
                                        .missed = list_missed};
    memset(&seen, 0, sizeof(seen));
    manager("refuse, shrink, refuse()", &o);
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    ck_assert_str_eq(seen.log, "add: refuse: 1 nodes read it; "
                               "add: refuse: 1 nodes read it; ");
    assert_ok(cfx_pass_apply(gm, "refuse", false, NULL, &err));
}

/* ---- 90: the observer, and provenance ---- */

TEST_CASE(graph_transform_observer)
{
    cfx_graph_observer o;
    assert_ok(cfx_graph_observer_init(&o, g, &err));
    assert_ok(cfx_pass_apply(gm, "swap", false, NULL, &err));
    ck_assert_uint_eq(o.ncreated, 1);
    ck_assert_str_eq(o.created[0]->name, "mul");
    ck_assert_uint_eq(o.nerased, 1);
    ck_assert_str_eq(o.erased[0]->name, "add");
    ck_assert_uint_eq(o.nreplaced, 1);
    ck_assert_ptr_eq(o.replaced[0].old, o.erased[0]);
    ck_assert_ptr_eq(o.replaced[0].with, o.created[0]);
    ck_assert_uint_eq(o.uses, 1);
    ck_assert(!o.failed);
    cfx_graph_observer_release(&o);
    cfx_graph_observer_release(&o);
    assert_ok(cfx_pass_apply(gm, "shrink", false, NULL, &err));
}

/* torch.fx's node_source and graph_provenance. */
TEST_CASE(new_nodes_inherit_where_their_uses_came_from)
{
    cfx_value trace = cfx_str_new(ctx, "model.c:3", 9);
    assert_ok(cfx_node_set_meta(node("add"), "stack_trace", trace, &err));
    cfx_value_unref(trace);
    manager("swap", NULL);
    assert_ok(cfx_pass_manager_run(pm, gm, NULL, &err));
    cfx_value v = cfx_node_meta(node("mul"), "stack_trace");
    ck_assert_int_eq(v.kind, CFX_STR);
    ck_assert_str_eq(v.u.str->text, "model.c:3");
    v = cfx_node_meta(node("mul"), "from_node");
    ck_assert(cfx_value_is_seq(v));
    ck_assert_str_eq(v.u.seq->item[0].u.str->text, "add");
}

/* ---- When memory is lacking ---- */

static bool run_in_a_new_context(void)
{
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context *ctx_ = NULL;
    cfx_module *m = NULL;
    cfx_pass_manager *pm_ = NULL;
    ran[0] = '\0';
    cfx_status st = cfx_context_new(&ctx_, &o, &err);
    if (!st)
        st = cfx_register_pass(ctx_, &swap, &err);
    if (!st)
        st = cfx_parse_model(&m, ctx_, text, sizeof(text) - 1, "test", &err);
    if (!st)
        st = cfx_pass_manager_new(&pm_, ctx_, NULL, &err);
    if (!st)
        st = cfx_pass_manager_add(pm_, "swap, dead_code, legalize", &err);
    if (!st)
        st = cfx_pass_manager_this_before_that(pm_, "legalize", "swap", &err);
    if (!st)
        st = cfx_pass_manager_run(pm_, m, NULL, &err);
    cfx_pass_manager_free(pm_);
    cfx_module_unref(m);
    cfx_context_free(ctx_);
    return !st;
}

TEST_CASE(running_is_clean_when_memory_is_lacking)
{
    fail_each_allocation(run_in_a_new_context);
}

TEST_SUITE(pass_manager, .setup = start, .teardown = stop, .timeout = 60)
