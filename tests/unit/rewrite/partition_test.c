#define _POSIX_C_SOURCE 200809L
/*
 * partition_test -- partitions are found and fused as torch.fx does.
 */
#include "tests/unit/graph_test.h"
#include "tests/unit/golden_text.h"

#include <time.h>

#include <cfx/partition.h>
#include <cfx/split.h>

#include "tests/unit/unit.h"

static cfx_module *parse(const char *text)
{
    cfx_module *gm;
    assert_ok(cfx_parse_model(&gm, ctx, text, strlen(text), "m.fx", &err));
    return gm;
}

/* ---- Against torch ---- */

/* Names with a blank before and behind each. */
static bool in_text(void *user, const cfx_node *n)
{
    char name[256];
    snprintf(name, sizeof(name), " %s ", n->name);
    return strstr(user, name);
}

static void print_partitions(golden_text *to, const cfx_partitions *p)
{
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < p->item[i].n; k++) {
            golden_puts(to, k ? " " : "");
            golden_puts(to, p->item[i].node[k]->name);
        }
        golden_puts(to, "\n");
    }
    golden_puts(to, "\n");
}

static const char *const view_ops[] = {"torch.ops.aten.view",
                                       "torch.ops.aten.permute", NULL};

/* Without what trimming left of nothing. */
static void drop_empty(cfx_partitions *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->item[i].n)
            p->item[n++] = p->item[i];
    p->n = n;
}

static void propose(golden_text *got, cfx_module *gm, const char *words,
                    char *names)
{
    bool trim = strstr(words, "trim");
    cfx_partition_options o = {
        .size = sizeof(o),
        .allow_single = strstr(words, "single"),
        .skip_horizontal = strstr(words, "skip"),
        .non_compute = trim ? view_ops : NULL,
    };
    cfx_partitions p;
    assert_ok(cfx_propose_partitions(&p, gm, (cfx_support){in_text, names}, &o,
                                     &err));
    if (trim)
        assert_ok(cfx_partitions_trim(&p, view_ops, &err));
    print_partitions(got, &p);
    drop_empty(&p);
    if (!strstr(words, "nofuse")) {
        cfx_graph *of = cfx_graph_module_graph(gm);
        assert_ok(cfx_fuse_partitions(gm, &p, NULL, false, &err));
        assert_ok(cfx_graph_lint(of, &err));
        check_graph(of);
        cfx_print_graph(golden_sink(got), of, false, NULL);
        golden_puts(got, "\n");
        for (size_t i = 0; i < p.n; i++) {
            char name[32];
            snprintf(name, sizeof(name), "fused_%zu", i);
            cfx_module *child = cfx_module_child(gm, name);
            ck_assert_str_eq(cfx_module_class_name(child), name);
            golden_puts(got, name);
            golden_puts(got, ":\n");
            cfx_print_graph(golden_sink(got), cfx_graph_module_graph(child),
                            false, NULL);
            golden_puts(got, "\n");
        }
    }
    cfx_partitions_release(&p);
}

TEST_CASE(partitioner)
{
    char *all = golden_read("partition.txt");
    golden_section s = {.next = all}, model, names, want;
    int cases = 0;
    size_t start = cfx_context_memory(ctx);
    for (; golden_next(&s, s.next); cases++, s.next = want.next) {
        static golden_text got;
        char *words = s.words;
        ck_assert(golden_next(&model, s.next));
        ck_assert(golden_next(&names, model.next));
        ck_assert(golden_next(&want, names.next));
        /* A context keeps what it was asked about operators. */
        cfx_module_unref(parse(model.text));
        size_t keeps = cfx_context_memory(ctx);
        cfx_module *gm = parse(model.text);
        got.len = 0;
        got.s[0] = '\0';
        propose(&got, gm, words, names.text);
        if (want.next && got.len)
            got.s[--got.len] = '\0';
        ck_assert_msg(!strcmp(got.s, want.text),
                      "case %d (%s)\n%s\nis not\n%s\nof\n%s\n%s", cases, words,
                      got.s, want.text, model.text, names.text);
        cfx_module_unref(gm);
        ck_assert_uint_eq(cfx_context_memory(ctx), keeps);
    }
    ck_assert_int_ge(cases, 100);
    held_before += cfx_context_memory(ctx) - start;
    free(all);
}

/* ---- By hand ---- */

static bool is_add(void *user, const cfx_node *n)
{
    (void)user;
    return cfx_node_is(n, "add");
}

static bool is_call(void *user, const cfx_node *n)
{
    (void)user;
    return n->op == CFX_CALL_FUNCTION;
}

static cfx_module *gm_of_g(void)
{
    cfx_module *gm;
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, NULL, g, "Net", &err));
    assert_ok(cfx_graph_new(&g, ctx, &err));
    return gm;
}

TEST_CASE(partitioner_order_is_the_same_every_time)
{
    for (int round = 0; round < 3; round++) {
        cfx_node *x = input("x"), *at = x;
        for (int i = 0; i < 60; i++)
            at = call(i % 7 == 3 ? "torch.relu" : "operator.add", at, at,
                      NULL);
        cfx_graph_output(g, node(at), &err);
        cfx_module *gm = gm_of_g();
        cfx_partitions p;
        static golden_text first, now;
        assert_ok(cfx_propose_partitions(&p, gm, (cfx_support){is_add, NULL},
                                         NULL, &err));
        now.len = 0;
        first.len = round ? first.len : 0;
        print_partitions(round ? &now : &first, &p);
        if (round)
            ck_assert_str_eq(now.s, first.s);
        cfx_partitions_release(&p);
        cfx_module_unref(gm);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Blocks of supported nodes with unsupported ones between. */
static double time_chain(int n, int period)
{
    cfx_node *at = input("x");
    for (int i = 0; i < n; i++) {
        cfx_node *left = call("operator.add", at, at, NULL);
        at = i % period ? call("operator.add", left, at, NULL)
                        : call("torch.relu", left, NULL);
    }
    cfx_graph_output(g, node(at), &err);
    cfx_module *gm = gm_of_g();
    cfx_partitions p;
    cfx_partition_options o = {.size = sizeof(o), .allow_single = true};
    double begin = seconds();
    assert_ok(
        cfx_propose_partitions(&p, gm, (cfx_support){is_add, NULL}, &o, &err));
    double end = seconds();
    ck_assert_uint_eq(p.n, (size_t)((n + period - 1) / period) +
                               (n % period != 1 && period > 1));
    cfx_partitions_release(&p);
    cfx_module_unref(gm);
    return end - begin;
}

TEST_CASE(partitions_of_long_graphs_take_linear_time)
{
    static const int periods[] = {1, 2, 50};
    for (int i = 0; i < 3; i++)
        ck_assert_double_lt(time_chain(100000, periods[i]), 20);
}

TEST_CASE(fuser_pass_deep_model)
{
    cfx_node *at = input("x");
    for (int i = 0; i < 100000; i++)
        at = call("torch.relu", at, NULL);
    cfx_graph_output(g, node(at), &err);
    cfx_module *gm = gm_of_g();
    cfx_partitions p;
    assert_ok(cfx_propose_partitions(&p, gm, (cfx_support){is_call, NULL},
                                     NULL, &err));
    ck_assert_uint_eq(p.n, 1);
    assert_ok(cfx_fuse_partitions(gm, &p, "deep_", false, &err));
    cfx_graph *of = cfx_graph_module_graph(gm);
    ck_assert_uint_eq(cfx_graph_len(of), 3);
    ck_assert_uint_eq(
        cfx_graph_len(cfx_graph_module_graph(cfx_module_child(gm, "deep_0"))),
        100002);
    cfx_partitions_release(&p);
    cfx_module_unref(gm);
}

/* ---- fuser_util: partitions by their nodes' names ---- */

static const char test_graph[] =
    "graph():\n"
    "    %a : [num_users=2] = placeholder[target=a]\n"
    "    %b : [num_users=2] = placeholder[target=b]\n"
    "    %c : [num_users=1] = placeholder[target=c]\n"
    "    %add : [num_users=2] = call_function[target=operator.add](args = (%a,"
    " %b), kwargs = {})\n"
    "    %add_1 : [num_users=2] = call_function[target=operator.add](args = "
    "(%add, %b), kwargs = {})\n"
    "    %relu : [num_users=1] = call_method[target=relu](args = (%add_1,), "
    "kwargs = {})\n"
    "    %add_2 : [num_users=1] = call_function[target=operator.add](args = "
    "(%relu, %c), kwargs = {})\n"
    "    %add_3 : [num_users=1] = call_function[target=operator.add](args = "
    "(%add_1, %add_2), kwargs = {})\n"
    "    %add_4 : [num_users=2] = call_function[target=operator.add](args = "
    "(%add, %a), kwargs = {})\n"
    "    %add_5 : [num_users=1] = call_function[target=operator.add](args = "
    "(%add_4, %add_3), kwargs = {})\n"
    "    return (add_5, add_4)\n";

/* Lists separated by '|'. */
static const struct {
    const char *partitions;
    bool legal;
} lists[] = {
    {"add add_1|add_5", true},
    {"add_3 add_2 relu", true},
    {"add add_1 relu add_2 add_3 add_4 add_5", true},
    {"add_5 add_4|add_1 add|add_3 add_2", true},
    {"add_4", true},
    {"add_1 add_2", false},
    {"add add_3", false},
    {"add_1 add_5", false},
    {"relu add_4|add_1 add_5", false},
    {"add_1 relu|add add_2", false},
    {"add_4 add_4", false},
    {"a add", false},
};

static void read_list(cfx_partitions *p, cfx_module *gm, const char *text)
{
    static cfx_node *nodes[32];
    static cfx_partition parts[8];
    size_t n = 0;
    *p = (cfx_partitions){.item = parts, .n = 1};
    parts[0] = (cfx_partition){.node = nodes};
    while (*text) {
        char name[16];
        size_t len = strcspn(text, " |");
        snprintf(name, sizeof(name), "%.*s", (int)len, text);
        nodes[n++] = cfx_graph_find(cfx_graph_module_graph(gm), name);
        ck_assert_ptr_nonnull(nodes[n - 1]);
        p->item[p->n - 1].n++;
        text += len;
        if (*text == '|')
            parts[p->n++] = (cfx_partition){.node = nodes + n};
        text += *text != '\0';
    }
}

TEST_EACH(fuser_util, sizeof(lists) / sizeof(*lists))
{
    cfx_module *gm = parse(test_graph);
    cfx_graph *of = cfx_graph_module_graph(gm);
    cfx_partitions p;
    static golden_text before, after;
    before.len = after.len = 0;
    golden_print(&before, gm);
    read_list(&p, gm, lists[_i].partitions);
    cfx_status st = cfx_fuse_partitions(gm, &p, NULL, _i % 2, &err);
    if (lists[_i].legal) {
        assert_ok(st);
        check_graph(of);
        assert_ok(cfx_graph_lint(of, &err));
        for (size_t i = 0; i < p.n; i++) {
            char name[32];
            snprintf(name, sizeof(name), "fused_%zu", i);
            ck_assert_ptr_nonnull(cfx_module_child(gm, name));
        }
    } else {
        ck_assert(st == CFX_EGRAPH || st == CFX_EINVAL);
        memset(&err, 0, sizeof(err));
        golden_print(&after, gm);
        ck_assert_str_eq(after.s, before.s);
    }
    cfx_module_unref(gm);
}

TEST_CASE(fuser_util_xfail)
{
    cfx_module *gm = parse(test_graph);
    cfx_partitions p;
    cfx_fused f;
    bool valid;
    read_list(&p, gm, "add_1 add_2");
    assert_ok(cfx_validate_partition(&valid, p.item[0].node, 2, &err));
    ck_assert(!valid);
    ck_assert_int_eq(
        cfx_fuse_as_graph_module(&f, gm, p.item[0].node, 2, "F", false, &err),
        CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Invalid partition, found dependency cycles");
    read_list(&p, gm, "add_1 relu add_2");
    assert_ok(cfx_validate_partition(&valid, p.item[0].node, 3, &err));
    ck_assert(valid);
    assert_ok(
        cfx_fuse_as_graph_module(&f, gm, p.item[0].node, 3, "F", false, &err));
    ck_assert_uint_eq(f.ninputs, 3);
    ck_assert_uint_eq(f.noutputs, 2);
    ck_assert_str_eq(f.inputs[2]->name, "c");
    ck_assert_str_eq(f.outputs[1]->name, "add_2");
    assert_ok(cfx_insert_fused(gm, &f, p.item[0].node[2], false, &err));
    ck_assert_ptr_nonnull(cfx_module_child(gm, "F"));
    ck_assert_uint_eq(
        cfx_graph_find(cfx_graph_module_graph(gm), "add_2")->nusers, 0);
    cfx_fused_release(&f);
    cfx_module_unref(gm);
}

/* ---- Support ---- */

TEST_CASE(support_is_said_by_combining)
{
    static const char *const names[] = {"add_1", NULL};
    cfx_module *gm = parse(test_graph);
    cfx_graph *of = cfx_graph_module_graph(gm);
    cfx_dtype half = CFX_F16;
    cfx_support_rule rule[] = {{"operator.add", {1U << CFX_F32, 0}},
                               {"relu", {0}}};
    cfx_support_rules rules = {gm, rule, 2};
    cfx_support both[] = {{is_add, NULL},
                          {cfx_support_not_named, (void *)names}};
    cfx_support_list list = {both, 2};
    cfx_node *add = cfx_graph_find(of, "add");
    cfx_node *add_1 = cfx_graph_find(of, "add_1");
    cfx_node *relu = cfx_graph_find(of, "relu");
    ck_assert(cfx_support_all(&list, add));
    ck_assert(!cfx_support_all(&list, add_1));
    ck_assert(!cfx_support_all(&list, relu));
    ck_assert(cfx_support_any(&list, relu));
    cfx_tensor *t = new_meta();
    assert_ok(cfx_node_set_meta(cfx_graph_find(of, "a"), "val",
                                cfx_value_of_tensor(t), &err));
    cfx_tensor_unref(t);
    ck_assert(cfx_support_not_of_dtype(&half, add));
    half = CFX_F32;
    ck_assert(!cfx_support_not_of_dtype(&half, add));
    ck_assert(cfx_support_by_rules(&rules, add));
    ck_assert(!cfx_support_by_rules(&rules, add_1));
    ck_assert(cfx_support_by_rules(&rules, relu));
    rule[0].args[0] = 1U << CFX_F16;
    ck_assert(!cfx_support_by_rules(&rules, add));
    ck_assert(!cfx_support_by_rules(&rules, cfx_graph_find(of, "a")));
    cfx_module_unref(gm);
}

/* ---- Memory ---- */

static bool partition_it(void)
{
    long n = allowed;
    allowed = -1;
    cfx_module *gm = parse(test_graph);
    cfx_partitions p;
    allowed = n;
    cfx_status st = cfx_propose_partitions(&p, gm, (cfx_support){is_add, NULL},
                                           NULL, &err);
    if (!st)
        st = cfx_fuse_partitions(gm, &p, NULL, false, &err);
    allowed = -1;
    cfx_partitions_release(&p);
    cfx_module_unref(gm);
    return !st;
}

TEST_CASE(partitioning_survives_lack_of_memory)
{
    fail_each_allocation(partition_it);
}

static void warm_up(void)
{
    setup();
    cfx_graph_free(g);
    cfx_module_unref(parse(test_graph));
    ck_assert_ptr_nonnull(cfx_find_function(ctx, "torch.relu"));
    held_before = cfx_context_memory(ctx);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}

/* ---- Writes ---- */

static bool is_no_method(void *user, const cfx_node *n)
{
    (void)user;
    return n->op == CFX_CALL_FUNCTION;
}

/* Nodes before a write are not fused with nodes behind it, and the call of a
 * partition stands where all of its nodes could. */
TEST_CASE(nothing_is_fused_across_a_write)
{
    cfx_partitions p;
    cfx_module *gm = parse(
        "graph():\n"
        "    %x : [num_users=4] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y]\n"
        "    %a : [num_users=1] = call_function[target=torch.relu](args = "
        "(%x,), kwargs = {})\n"
        "    %w : [num_users=0] = call_method[target=add_](args = (%x, 1), "
        "kwargs = {})\n"
        "    %b : [num_users=1] = call_function[target=torch.exp](args = "
        "(%y,), kwargs = {})\n"
        "    %c : [num_users=1] = call_function[target=torch.cos](args = "
        "(%x,), kwargs = {})\n"
        "    return (a, b, c)\n");
    const cfx_partition_options o = {.size = sizeof(o), .allow_single = true};
    assert_ok(cfx_propose_partitions(&p, gm, (cfx_support){is_no_method, NULL},
                                     &o, &err));
    ck_assert_uint_eq(p.n, 2);
    for (size_t i = 0; i < p.n; i++)
        for (size_t k = 0; k < p.item[i].n; k++)
            ck_assert(p.item[i].n == 1 || p.item[i].node[k]->name[0] != 'a');
    cfx_node *both[] = {cfx_graph_find(cfx_graph_module_graph(gm), "a"),
                        cfx_graph_find(cfx_graph_module_graph(gm), "b")};
    cfx_partition one = {both, 2};
    cfx_partitions hand = {.item = &one, .n = 1};
    assert_ok(cfx_fuse_partitions(gm, &hand, NULL, false, &err));
    const cfx_graph *of = cfx_graph_module_graph(gm);
    ck_assert(cfx_node_before(cfx_graph_find(of, "fused_0"),
                              cfx_graph_find(of, "w")));
    ck_assert(
        cfx_node_before(cfx_graph_find(of, "w"), cfx_graph_find(of, "c")));
    cfx_partitions_release(&p);
    cfx_module_unref(gm);
}

static const char writes[] =
    "graph():\n"
    "    %x : [num_users=3] = placeholder[target=x]\n"
    "    %a : [num_users=1] = call_function[target=torch.relu](args = (%x,), "
    "kwargs = {})\n"
    "    %w : [num_users=0] = call_method[target=add_](args = (%x, 1), "
    "kwargs = {})\n"
    "    %b : [num_users=1] = call_function[target=torch.exp](args = (%x,), "
    "kwargs = {})\n"
    "    return (a, b)\n";

static int64_t by_name(void *user, const cfx_node *n)
{
    return strchr(user, *n->name) - (const char *)user;
}

/* No value passes between the three parts. */
TEST_CASE(parts_that_write_keep_their_order)
{
    char order[] = "abw";
    cfx_module *gm = parse(writes), *out;
    assert_ok(cfx_split_module(&out, gm, by_name, order, NULL, &err));
    const cfx_graph *of = cfx_graph_module_graph(out);
    const cfx_node *first = cfx_graph_find(of, "submod_0");
    const cfx_node *second = cfx_graph_find(of, "submod_2");
    const cfx_node *third = cfx_graph_find(of, "submod_1");
    ck_assert(cfx_node_before(first, second) &&
              cfx_node_before(second, third));
    cfx_module_unref(out);
    cfx_module_unref(gm);
}

static int64_t but_w(void *user, const cfx_node *n)
{
    (void)user;
    return *n->name == 'w';
}

static const char *tag_but_w(void *user, const cfx_node *n)
{
    return but_w(user, n) ? "w" : "rest";
}

TEST_CASE(parts_around_a_write_are_refused)
{
    static const char *const tags[] = {"rest", "w"};
    cfx_module *gm = parse(writes), *out;
    ck_assert_int_eq(cfx_split_module(&out, gm, but_w, NULL, NULL, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "cycle exists between partitions!");
    ck_assert_int_eq(
        cfx_split_by_tags(&out, gm, tags, 2, tag_but_w, NULL, NULL, &err),
        CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Component rest order must be >=");
    cfx_module_unref(gm);
}

TEST_SUITE(partition, .setup = warm_up, .teardown = teardown, .timeout = 120)
