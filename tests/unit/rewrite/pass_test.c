/*
 * pass_test -- the list of passes, and how one is applied by its text.
 */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/rewrite/pass_test.h"
#include "tests/unit/unit.h"

#include <cfx/ops.h>
#include <cfx/shape_prop.h>

/* ---- A pass of our own ---- */

/* x - (-y) becomes x + y; of numbers y only where told so. */
static cfx_value sub_of_neg(cfx_scope *s, const cfx_value *in, void *p)
{
    (void)p;
    return cfx_sub(s, in[0], cfx_neg(s, in[1]));
}

static cfx_value sum(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                     void *p)
{
    (void)m;
    (void)p;
    return cfx_add(s, in[0], in[1]);
}

static bool is_wanted(cfx_pass_call *p, const cfx_match *m)
{
    return p->in[0].u.i || m->placeholders[1].kind == CFX_NODE;
}

static cfx_value twice_neg(cfx_scope *s, const cfx_value *in, void *p)
{
    (void)p;
    return cfx_neg(s, cfx_neg(s, in[0]));
}

static cfx_value itself(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                        void *p)
{
    (void)s;
    (void)m;
    (void)p;
    return in[0];
}

static cfx_value neg_of_sum(cfx_scope *s, const cfx_value *in, void *p)
{
    (void)p;
    return cfx_neg(s, cfx_sum(s, in[0], in[1]));
}

static cfx_value sum_of_neg(cfx_scope *s, const cfx_value *in,
                            const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_sum(s, cfx_neg(s, in[0]), in[1]);
}

static const cfx_rewrite_rule swap_rules[] = {
    {.params = "x d", .pattern = neg_of_sum, .build = sum_of_neg},
    {0},
};

static const cfx_pass swapped = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "swapped()",
    .doc = "Negate before the sum.",
    .rules = swap_rules,
};

/* It gives up, or fails, by its option. */
static cfx_value moody(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                       void *p)
{
    cfx_value y = cfx_relu(s, in[0]);
    (void)m;
    return ((cfx_pass_call *)p)->in[0].u.i
               ? cfx_scope_fail(s, CFX_EUSER, "not today")
           : y.kind ? cfx_none()
                    : y;
}

static const cfx_rewrite_rule signs_rules[] = {
    {.params = "x y", .pattern = sub_of_neg, .where = is_wanted, .build = sum},
    {.params = "x", .pattern = twice_neg, .build = itself, .repeat = true},
    {0},
};

static const cfx_pass signs = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "signs(bool numbers=False)",
    .doc = "Drop signs that cancel.",
    .rules = signs_rules,
};

static const cfx_rewrite_rule moody_rules[] = {
    {.params = "x y", .pattern = sub_of_neg, .build = moody},
    {0},
};

static const cfx_pass moods = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "moods(bool fail=False)",
    .doc = "Do nothing, or fail.",
    .rules = moody_rules,
};

/* The options of the last run of the pass. */
static struct {
    int64_t number;
    double factor;
    char word[32];
    int64_t list[4];
    uint32_t nlist;
    bool flag, reverse;
    int calls;
} told;

static cfx_status listen_run(cfx_pass_call *p)
{
    told.number = p->in[0].u.i;
    told.factor = p->in[1].u.f;
    snprintf(told.word, sizeof(told.word), "%s", p->in[2].u.str->text);
    told.nlist = p->in[3].u.seq->len;
    for (uint32_t i = 0; i < told.nlist && i < 4; i++)
        told.list[i] = p->in[3].u.seq->item[i].u.i;
    told.flag = p->in[4].u.i;
    told.reverse = p->reverse;
    told.calls++;
    p->changed = 7;
    return CFX_OK;
}

static const cfx_pass listen = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "listen(int number=3, float factor=0.5, str word='a b', "
              "int[] list=[], *, bool flag=False)",
    .doc = "Hear what it is told.",
    .flags = CFX_PASS_REVERSIBLE,
    .run = listen_run,
};

static void learn(void)
{
    assert_ok(cfx_register_pass(ctx, &listen, &err));
    memset(&told, 0, sizeof(told));
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    return x\n");
}

static cfx_status bare_run(cfx_pass_call *p)
{
    (void)p;
    return CFX_EUSER;
}

static const cfx_pass bare = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "bare()",
    .run = bare_run,
};

/* ---- The list ---- */

TEST_CASE(a_bare_status_of_a_pass_is_given_a_sentence)
{
    learn();
    assert_ok(cfx_register_pass(ctx, &bare, &err));
    ck_assert_int_eq(cfx_pass_apply(gm, "bare", false, NULL, &err), CFX_EUSER);
    ck_assert_str_eq(err.text, "the pass 'bare' returned CFX_EUSER without a "
                               "message");
    /* The next one starts without it. */
    ck_assert_int_eq(cfx_pass_apply(gm, "bear", false, NULL, &err), CFX_ENAME);
    ck_assert_str_eq(err.text, "there is no pass 'bear'; did you mean "
                               "'bare'?");
    assert_ok(cfx_pass_apply(gm, "listen", false, NULL, &err));
    ck_assert_int_eq(err.code, CFX_OK);
}

TEST_CASE(passes_have_a_name_a_doc_and_a_schema_that_reads)
{
    size_t n = 0;
    for (const cfx_pass *p; (p = cfx_pass_at(ctx, n)); n++) {
        const cfx_schema *s = cfx_pass_schema(ctx, p);
        ck_assert_msg(s != NULL, "%s", p->schema);
        ck_assert_ptr_eq(cfx_find_pass(ctx, s->name), p);
        ck_assert_uint_eq(p->abi.size, sizeof(cfx_pass));
        ck_assert_uint_eq(p->abi.version, CFX_ABI_VERSION);
        ck_assert(p->doc && p->doc[strlen(p->doc) - 1] == '.');
    }
    ck_assert_uint_gt(n, 0);
}

TEST_CASE(passes_of_a_program_are_as_good_as_the_built_in_ones)
{
    static const cfx_pass better = {
        .abi = CFX_ABI(cfx_pass),
        .schema = "legalize(int number=0, float factor=0.0, str word='', "
                  "int[] list=[], bool flag=False)",
        .doc = "Hide another.",
        .run = listen_run,
    };
    const cfx_pass *plain = cfx_find_pass(ctx, "legalize");
    size_t n = 0;
    while (cfx_pass_at(ctx, n))
        n++;
    learn();
    ck_assert_ptr_eq(cfx_pass_at(ctx, n), &listen);
    ck_assert_ptr_null(cfx_pass_at(ctx, n + 1));
    ck_assert_ptr_eq(cfx_find_pass(ctx, "listen"), &listen);
    assert_ok(cfx_register_pass(ctx, &better, &err));
    ck_assert_ptr_eq(cfx_find_pass(ctx, "legalize"), &better);
    ck_assert_ptr_ne(plain, &better);
    apply("legalize");
    ck_assert_int_eq(told.calls, 1);
    ck_assert_ptr_null(cfx_find_pass(ctx, "liste"));
    ck_assert_ptr_null(cfx_find_pass(ctx, "listens"));
}

TEST_CASE(passes_may_be_lists_of_rules)
{
    assert_ok(cfx_register_pass(ctx, &signs, &err));
    model(GRAPH IN("x") IN("y") ME("a", "neg", "%y")
              FN("s", "operator.sub", "%x, %a") FN("b", "torch.neg", "3")
                  FN("t", "torch.sub", "%s, %b") FN("c", "torch.neg", "%t")
                      FN("d", "operator.neg", "%c") FN("e", "torch.neg", "%d")
                          ME("f", "neg", "%e") FN("s_1", "torch.neg", "%f")
                              OUT("s_1"));
    size_t n;
    assert_ok(cfx_pass_apply(gm, "signs", false, &n, &err));
    ck_assert_uint_eq(n, 2 + 4);
    assert_graph("graph():\n"
                 "    %x : [num_users=1] = placeholder[target=x]\n"
                 "    %y : [num_users=1] = placeholder[target=y]\n"
                 "    %add : [num_users=1] = call_function[target=torch.add]"
                 "(args = (%x, %y), kwargs = {})\n"
                 "    %b : [num_users=1] = call_function[target=torch.neg]"
                 "(args = (3,), kwargs = {})\n"
                 "    %t : [num_users=1] = call_function[target=torch.sub]"
                 "(args = (%add, %b), kwargs = {})\n"
                 "    %s_1 : [num_users=1] = call_function[target=torch.neg]"
                 "(args = (%t,), kwargs = {})\n"
                 "    return s_1");
    assert_ok(cfx_pass_apply(gm, "signs(numbers=True)", false, &n, &err));
    assert_nodes("x y add add_1 s_1 output");
    ck_assert_int_eq(node("add_1")->args[1].u.i, 3);
}

/* The output gets the shape of what it replaces; an inner call does not keep the
 * shape that it had. */
TEST_CASE(rules_keep_what_is_known_of_the_output)
{
    assert_ok(cfx_register_pass(ctx, &swapped, &err));
    model(GRAPH IN("x") FN("s", "torch.sum", "%x, 1")
              FN("n", "torch.neg", "%s") OUT("n"));
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(3)};
    cfx_tensor *x;
    assert_ok(cfx_tensor_meta(&x, ctx, CFX_F32, 2, shape, NULL, &err));
    cfx_value in[] = {cfx_value_of_tensor(x)};
    assert_ok(cfx_propagate_shapes(gm, NULL, in, 1, NULL, &err));
    cfx_tensor_unref(x);
    assert_ok(cfx_node_set_meta(node("n"), "custom", cfx_int(7), &err));
    apply("swapped");
    assert_nodes("x n s output");
    ck_assert_int_eq(cfx_node_meta(node("n"), "tensor_meta").kind, CFX_ABSENT);
    ck_assert_int_eq(cfx_node_meta(node("n"), "custom").u.i, 7);
    ck_assert_int_eq(cfx_node_meta(node("s"), "tensor_meta").u.tensor->rank,
                     1);
}

TEST_CASE(a_rule_that_builds_nothing_leaves_the_graph)
{
    assert_ok(cfx_register_pass(ctx, &moods, &err));
    model(GRAPH IN("x") IN("y") ME("a", "neg", "%y")
              FN("s", "operator.sub", "%x, %a") OUT("s"));
    size_t n;
    assert_ok(cfx_pass_apply(gm, "moods", false, &n, &err));
    ck_assert_uint_eq(n, 0);
    assert_nodes("x y a s output");
    ck_assert_int_eq(cfx_pass_apply(gm, "moods(fail=True)", false, NULL, &err),
                     CFX_EUSER);
    assert_failed(CFX_EUSER, "not today");
    assert_nodes("x y a s output");
}

TEST_CASE(passes_without_a_schema_are_refused)
{
    static const cfx_pass none = {.abi = CFX_ABI(cfx_pass), .run = listen_run};
    static const cfx_pass bad = {
        .abi = CFX_ABI(cfx_pass), .schema = "bad(wrong x)", .run = listen_run};
    ck_assert_int_eq(cfx_register_pass(ctx, &none, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "a pass needs a schema, and run or rules");
    ck_assert_int_eq(cfx_register_pass(ctx, &bad, &err), CFX_EPARSE);
    assert_failed(CFX_EPARSE, "schema 'bad(wrong x)': unknown type");
}

/* A table that says nothing, and those of another version and size: they are
 * refused before anything else in them is looked at. */
TEST_CASE(tables_of_another_abi_are_refused)
{
    const char *const bad = (const char *)(uintptr_t)1;
    const cfx_abi abis[] = {
        {0},
        {sizeof(cfx_op), CFX_ABI_VERSION + 1},
        {4096, CFX_ABI_VERSION},
        {8, CFX_ABI_VERSION},
    };
    for (size_t i = 0; i < sizeof(abis) / sizeof(*abis); i++) {
        const cfx_op op = {.abi = abis[i], .schema = bad};
        const cfx_module_type type = {.abi = abis[i], .schema = bad};
        const cfx_pass pass = {.abi = abis[i], .schema = bad};
        ck_assert_int_eq(cfx_register_op(ctx, &op, &err), CFX_EINVAL);
        assert_failed(CFX_EINVAL, "a cfx_op is of ABI ");
        ck_assert_int_eq(cfx_register_module_type(ctx, &type, &err),
                         CFX_EINVAL);
        assert_failed(CFX_EINVAL, "a cfx_module_type is of ABI ");
        ck_assert_int_eq(cfx_register_pass(ctx, &pass, &err), CFX_EINVAL);
        assert_failed(CFX_EINVAL, "a cfx_pass is of ABI ");
    }
}

/* ---- Options ---- */

TEST_CASE(options_are_bound_by_the_schema)
{
    learn();
    apply("listen");
    ck_assert_uint_eq(changed, 7);
    ck_assert_int_eq(told.number, 3);
    ck_assert_double_eq(told.factor, 0.5);
    ck_assert_str_eq(told.word, "a b");
    ck_assert_uint_eq(told.nlist, 0);
    ck_assert(!told.flag);
    apply(" listen ( 4 , 2, flag = True , list=[1, 2],word = flops ) ");
    ck_assert_int_eq(told.number, 4);
    ck_assert_double_eq(told.factor, 2);
    ck_assert_str_eq(told.word, "flops");
    ck_assert_uint_eq(told.nlist, 2);
    ck_assert_int_eq(told.list[1], 2);
    ck_assert(told.flag);
    apply("listen(word='a, (b')");
    ck_assert_str_eq(told.word, "a, (b");
    apply("listen(word=\"it's\")");
    ck_assert_str_eq(told.word, "it's");
    apply("listen()");
    ck_assert_int_eq(told.calls, 5);
}

TEST_CASE(options_that_do_not_bind_are_refused)
{
    static const struct {
        const char *text;
        cfx_status code;
        const char *why;
    } bad[] = {
        {"lisp", CFX_ENAME, "there is no pass 'lisp'"},
        {"", CFX_EPARSE, "'' is not a name of a pass"},
        {"(3)", CFX_EPARSE, "'' is not a name of a pass"},
        {"a b", CFX_EPARSE, "'a b' is not a name of a pass"},
        {"listen, listen", CFX_EPARSE,
         "'listen, listen' is more than one pass"},
        {"listen(3", CFX_EPARSE, "listen: ')' is missing"},
        {"listen(,)", CFX_EPARSE, "listen: an option is missing"},
        {"listen(3, , 4)", CFX_EPARSE, "listen: an option is missing"},
        {"listen(speed=3)", CFX_EINVAL,
         "listen() got an unexpected keyword argument 'speed'"},
        {"listen(flag=3)", CFX_EINVAL,
         "listen(): argument 'flag' must be bool, not int"},
        {"listen(x)", CFX_EINVAL,
         "listen(): argument 'number' must be int, not str"},
        {"listen(1, number=3)", CFX_EINVAL,
         "listen() got multiple values for argument 'number'"},
        {"listen(number=3, 4)", CFX_EPARSE,
         "listen: '4' follows an option with a name"},
        {"listen(word='x)", CFX_EPARSE, "listen: "},
        {"listen(number=)", CFX_EPARSE, "listen: "},
    };
    learn();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        cfx_status st = cfx_pass_apply(gm, bad[i].text, false, &changed, &err);
        ck_assert_int_eq(st, bad[i].code);
        assert_failed(bad[i].code, bad[i].why);
        ck_assert_uint_eq(changed, 0);
    }
    ck_assert_int_eq(told.calls, 0);
}

TEST_CASE(only_reversible_passes_are_reversed)
{
    learn();
    assert_ok(cfx_pass_apply(gm, "listen", true, NULL, &err));
    ck_assert(told.reverse);
    ck_assert_int_eq(cfx_pass_apply(gm, "legalize", true, NULL, &err),
                     CFX_EINVAL);
    assert_failed(CFX_EINVAL, "the pass 'legalize' is not reversible");
    cfx_module *plain;
    assert_ok(cfx_module_new_container(&plain, ctx, "Net", &err));
    ck_assert_int_eq(cfx_pass_apply(plain, "listen", false, NULL, &err),
                     CFX_EINVAL);
    assert_failed(CFX_EINVAL, "a Net has no graph");
    cfx_module_unref(plain);
}

TEST_CASE(texts_of_several_passes_are_split_outside_of_brackets)
{
    static const char *const want[] = {"a", "b(x=[1, 2], y=',)')", "c ( )", "",
                                       "d"};
    const char *at = " a ,b(x=[1, 2], y=',)'),\tc ( ) ,,d ";
    for (size_t i = 0; i < 5; i++) {
        const char *rest;
        ck_assert_ptr_nonnull(at);
        size_t n = cfx_pass_text_split(&at, &rest);
        ck_assert_uint_eq(n, strlen(want[i]));
        ck_assert(!strncmp(at, want[i], n));
        at = rest;
    }
    ck_assert_ptr_null(at);
}

/* ---- Help for passes ---- */

static cfx_tensor *weight;
static char weight_path[32];

static cfx_status weigh_run(cfx_pass_call *p)
{
    return cfx_pass_weight(p, p->in[0].u.str->text, &weight);
}

static cfx_status keep_run(cfx_pass_call *p)
{
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, NULL);
    cfx_node *n = cfx_pass_add_tensor(p, "_folded_", weight);
    cfx_graph_restore(p->graph, at);
    if (!n)
        return p->err->code;
    snprintf(weight_path, sizeof(weight_path), "%s", n->target->text);
    p->changed++;
    return CFX_OK;
}

TEST_CASE(weights_without_numbers_are_missed_by_name)
{
    static const cfx_pass weigh = {
        .abi = CFX_ABI(cfx_pass),
        .schema = "weigh(str path)",
        .doc = "Look at a weight.",
        .run = weigh_run,
    };
    static const cfx_pass keep = {
        .abi = CFX_ABI(cfx_pass),
        .schema = "keep()",
        .doc = "Keep a weight under another name.",
        .run = keep_run,
    };
    assert_ok(cfx_register_pass(ctx, &weigh, &err));
    assert_ok(cfx_register_pass(ctx, &keep, &err));
    model("Net(\n"
          "  (fc): Linear(in_features=2, out_features=3, bias=False)\n"
          ")\n\n"
          "graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %fc : [num_users=1] = call_module[target=fc](args = (%x,), "
          "kwargs = {})\n"
          "    return fc\n");
    ck_assert_int_eq(
        cfx_pass_apply(gm, "weigh('fc.weight')", false, NULL, &err),
        CFX_EWEIGHT);
    assert_failed(CFX_EWEIGHT, "missing weight: fc.weight");
    ck_assert_int_eq(cfx_pass_apply(gm, "weigh('fc.bias')", false, NULL, &err),
                     CFX_ENAME);
    assert_failed(CFX_ENAME, "fc.bias is a None, not a Tensor");
    ck_assert_int_eq(cfx_pass_apply(gm, "weigh('fc')", false, NULL, &err),
                     CFX_ENAME);
    assert_failed(CFX_ENAME, "fc is a Module, not a Tensor");
    ck_assert_int_eq(cfx_pass_apply(gm, "weigh('fc.wait')", false, NULL, &err),
                     CFX_EATTR);
    assert_failed(CFX_EATTR, "Node referenced nonexistent target fc.wait");
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("weigh('fc.weight')");
    ck_assert_int_eq(weight->rank, 2);
    apply("keep");
    ck_assert_str_eq(weight_path, "_folded_0");
    apply("keep");
    ck_assert_str_eq(weight_path, "_folded_1");
    ck_assert(cfx_module_state(gm, "_folded_1")->is_buffer);
    assert_nodes("_folded_1 _folded_0 x fc output");
}

/* ---- When memory is lacking ---- */

static bool apply_in_a_new_context(void)
{
    static const char text[] =
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = call_method[target=relu](args = (%x,), "
        "kwargs = {})\n"
        "    return y\n";
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context *c = NULL;
    cfx_module *m = NULL;
    cfx_status st = cfx_context_new(&c, &o, &err);
    if (!st)
        st = cfx_parse_model(&m, c, text, sizeof(text) - 1, "test", &err);
    if (!st)
        st = cfx_register_pass(c, &listen, &err);
    if (!st)
        st = cfx_pass_apply(m, "listen(4, word=x, list=[1, 2])", false, NULL,
                            &err);
    if (!st)
        st = cfx_pass_apply(m, "legalize", false, NULL, &err);
    cfx_module_unref(m);
    cfx_context_free(c);
    return !st;
}

TEST_CASE(applying_is_clean_when_memory_is_lacking)
{
    fail_each_allocation(apply_in_a_new_context);
}

TEST_SUITE(pass, .setup = setup, .teardown = teardown, .timeout = 60)
