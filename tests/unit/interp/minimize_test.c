/*
 * minimize_test -- where two runs differ: node by node, side by side, and by
 * parts that get smaller.
 */
#include <math.h>

#include <cfx/compare.h>
#include <cfx/minimize.h>

#include "tests/unit/interp/control_test.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/unit.h"

/* y = ((x + 1) * 2 - 3) / 4, then neg, then x itself again. */
static const char line_of_six[] =
    "graph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, 1), kwargs = {})\n"
    "    %mul : [num_users=1] = call_function[target=operator.mul](args = "
    "(%add, 2), kwargs = {})\n"
    "    %sub : [num_users=1] = call_function[target=operator.sub](args = "
    "(%mul, 3), kwargs = {})\n"
    "    %div : [num_users=1] = call_function[target=operator.truediv](args = "
    "(%sub, 4), kwargs = {})\n"
    "    %neg : [num_users=1] = call_method[target=neg](args = (%div,), "
    "kwargs = {})\n"
    "    %last : [num_users=1] = call_function[target=operator.add](args = "
    "(%neg, %x), kwargs = {})\n"
    "    return last\n";

/* ---- Values ---- */

static bool differs(cfx_value a, cfx_value b, const cfx_tolerance *t,
                    cfx_difference *d)
{
    ck_assert_int_eq(cfx_value_compare(d, a, b, t, &err), 0);
    cfx_value_unref(a);
    cfx_value_unref(b);
    return d->differs;
}

TEST_CASE(values_differ_by_more_than_the_tolerance)
{
    cfx_difference d;
    cfx_tolerance none = {.given = true}, some = {true, 0.1, 0, 0};
    ck_assert(!differs(floats(3, 1), floats(3, 1), &none, &d));
    ck_assert(!differs(floats(3, 1), floats(3, 1.000001F), NULL, &d));
    ck_assert(differs(floats(3, 1), floats(3, 1.000001F), &none, &d));
    ck_assert(d.elements == 3 && d.differing == 3);
    ck_assert(differs(floats(3, 1), floats(3, 1.2F), &some, &d));
    ck_assert_str_eq(d.text, "3 of 3 elements differ, most [0]: 1 and "
                             "1.20000005");
    ck_assert(!differs(floats(3, 1), floats(3, 1.05F), &some, &d));
    ck_assert(!differs(floats(1, NAN), floats(1, NAN), &none, &d));
    ck_assert(differs(floats(1, NAN), floats(1, 0), &some, &d));
    ck_assert(!differs(floats(1, INFINITY), floats(1, INFINITY), &none, &d));
    ck_assert(differs(floats(1, INFINITY), floats(1, -INFINITY), &some, &d));
    ck_assert(!differs(floats(0, 1), floats(0, 1), &none, &d));
}

TEST_CASE(values_differ_by_type)
{
    cfx_difference d;
    ck_assert(differs(floats(3, 1), floats(2, 1), NULL, &d));
    ck_assert_str_eq(d.text, "f32[3] and f32[2]");
    ck_assert(differs(floats(3, 1), cfx_int(3), NULL, &d));
    ck_assert_str_eq(d.text, "Tensor and int");
    ck_assert(differs(cfx_int(4), cfx_int(3), NULL, &d));
    ck_assert_str_eq(d.text, "4 and 3");
    ck_assert(differs(cfx_float(0.5), cfx_float(0.25), NULL, &d));
    ck_assert_str_eq(d.text, "0.5 and 0.25");
    ck_assert(!differs(cfx_float(NAN), cfx_float(NAN), NULL, &d));
    cfx_value two[] = {cfx_int(1), cfx_int(2)};
    ck_assert(differs(cfx_tuple_new(ctx, 2, two), cfx_tuple_new(ctx, 1, two),
                      NULL, &d));
    ck_assert_str_eq(d.text, "a tuple of 2 and a tuple of 1");
    ck_assert(!differs(cfx_tuple_new(ctx, 2, two), cfx_list_new(ctx, 2, two),
                       NULL, &d));
    ck_assert(differs(cfx_tuple_new(ctx, 2, two),
                      cfx_tuple_new(ctx, 2, two + 0), NULL, &d) == false);
}

/* ---- Side by side ---- */

/* The interpreter that gives something else for a node. */
struct wrong {
    cfx_interp base;
    const char *at;
};

extern const cfx_interp_class wrong_class;

static cfx_status wrong_run_node(cfx_interp *it, const cfx_node *n,
                                 cfx_value *out)
{
    const struct wrong *w = (const struct wrong *)(void *)it;
    cfx_status st = CFX_SUPER(&wrong_class, run_node)(it, n, out);
    if (!st && !strcmp(n->name, w->at))
        ((float *)out->u.tensor->data)[0] += 0.5F;
    return st;
}

const cfx_interp_class wrong_class = {
    .size = sizeof(cfx_interp_class),
    .name = "wrong",
    .super = &cfx_interp_base,
    .run_node = wrong_run_node,
};

static char told[512];

static cfx_status on_difference(void *user, const cfx_node *a,
                                const cfx_node *b, cfx_value va, cfx_value vb,
                                const cfx_difference *d)
{
    (void)user;
    (void)va;
    (void)vb;
    ck_assert(d->differs);
    ck_assert_str_eq(a->name, b->name);
    strcat(told, a->name);
    strcat(told, " ");
    return CFX_OK;
}

static cfx_status on_unmatched(void *user, const cfx_node *n, bool in_a)
{
    (void)user;
    strcat(told, in_a ? "-" : "+");
    strcat(told, n->name);
    strcat(told, " ");
    return CFX_OK;
}

static void compare(struct wrong *b, cfx_module *other, bool all,
                    cfx_comparison *c)
{
    cfx_interp a = {0};
    cfx_value x = floats(2, 5);
    *c = (cfx_comparison){.size = sizeof(*c),
                          .all = all,
                          .differs = on_difference,
                          .unmatched = on_unmatched};
    told[0] = '\0';
    ck_assert_int_eq(cfx_interp_init(&a, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_interp_init(&b->base, &wrong_class, other, &err), 0);
    ck_assert_msg(!cfx_compare_runs(&a, &b->base, &x, 1, &x, 1, c, &err), "%s",
                  err.text);
    cfx_interp_release(&a);
    cfx_interp_release(&b->base);
    cfx_value_unref(x);
}

TEST_CASE(runs_are_compared_up_to_the_first_difference)
{
    struct wrong w = {.at = "sub"};
    cfx_comparison c;
    model(line_of_six);
    compare(&w, gm, false, &c);
    ck_assert(c.ncompared == 4 && c.ndiffer == 1);
    ck_assert_str_eq(c.first_a->name, "sub");
    ck_assert_str_eq(c.first.text, "1 of 2 elements differ, most [0]: 9 and "
                                   "9.5");
    ck_assert_str_eq(told, "sub ");
    compare(&w, gm, true, &c);
    ck_assert(c.ncompared == 8 && c.ndiffer == 5);
    ck_assert_str_eq(told, "sub div neg last output ");
    w.at = "none";
    compare(&w, gm, false, &c);
    ck_assert(c.ncompared == 8 && !c.ndiffer && !c.first_a);
}

static const char three_steps[] =
    "graph():\n"
    "    %%x : [num_users=1] = placeholder[target=x]\n"
    "    %%a : [num_users=1] = call_function[target=operator.add](args = "
    "(%%x, %s), kwargs = {})\n"
    "    %%b : [num_users=1] = call_function[target=operator.mul](args = "
    "(%%a, 2), kwargs = {})\n"
    "    %%c : [num_users=1] = call_function[target=operator.sub](args = "
    "(%%b, %s), kwargs = {})\n"
    "    return c\n";

TEST_CASE(on_the_same_inputs_each_node_differs_by_itself)
{
    char first[1024], second[1024];
    cfx_interp a = {0}, b = {0};
    cfx_module *gm_b;
    cfx_value x = floats(3, 1);
    snprintf(first, sizeof(first), three_steps, "1.0", "1.0");
    snprintf(second, sizeof(second), three_steps, "1.5", "1.0");
    model(second);
    gm_b = gm;
    gm = NULL;
    model(first);
    ck_assert_int_eq(cfx_interp_init(&a, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_interp_init(&b, &cfx_interp_base, gm_b, &err), 0);
    for (int same = 0; same < 2; same++) {
        cfx_comparison c = {.size = sizeof(c), .all = true};
        c.same_inputs = same;
        ck_assert_int_eq(cfx_compare_runs(&a, &b, &x, 1, &x, 1, &c, &err), 0);
        ck_assert_uint_eq(c.ncompared, 5);
        ck_assert_uint_eq(c.ndiffer, same ? 1 : 4);
        ck_assert_str_eq(c.first_a->name, "a");
    }
    cfx_interp_release(&a);
    cfx_interp_release(&b);
    cfx_module_unref(gm_b);
    cfx_value_unref(x);
}

TEST_CASE(runs_do_not_share_what_they_write_to)
{
    cfx_interp a = {0}, b = {0};
    cfx_comparison c = {.size = sizeof(c)};
    cfx_value x = floats(3, 1);
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %add_ : [num_users=1] = call_method[target=add_](args = (%x, "
          "1), kwargs = {})\n"
          "    return add_\n");
    ck_assert_int_eq(cfx_interp_init(&a, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_interp_init(&b, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_compare_runs(&a, &b, &x, 1, &x, 1, &c, &err), 0);
    ck_assert_uint_eq(c.ndiffer, 0);
    cfx_interp_release(&a);
    cfx_interp_release(&b);
    cfx_value_unref(x);
}

/* A node that is elsewhere waits for its turn, and in-place operators that
 * come in between do not change it. */
TEST_CASE(nodes_are_matched_by_name_wherever_they_are)
{
    static const char one[] =
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %p : [num_users=1] = call_function[target=operator.add](args = "
        "(%x, 1), kwargs = {})\n"
        "    %q : [num_users=1] = call_function[target=operator.mul](args = "
        "(%x, 2), kwargs = {})\n"
        "    %more : [num_users=1] = call_method[target=abs](args = (%q,), "
        "kwargs = {})\n"
        "    return (p, more)\n";
    static const char other[] =
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %q : [num_users=1] = call_function[target=operator.mul](args = "
        "(%x, 2), kwargs = {})\n"
        "    %zero : [num_users=1] = call_method[target=add_](args = (%q, 0.5)"
        ", kwargs = {})\n"
        "    %p : [num_users=1] = call_function[target=operator.add](args = "
        "(%x, 1), kwargs = {})\n"
        "    return (p, q)\n";
    struct wrong w = {.at = ""};
    cfx_comparison c;
    cfx_module *b;
    model(one);
    ck_assert_int_eq(cfx_parse_model(&b, ctx, other, strlen(other), "b", &err),
                     0);
    compare(&w, b, true, &c);
    ck_assert_str_eq(told, "-more +zero output ");
    ck_assert_uint_eq(c.ncompared, 4);
    cfx_module_unref(b);
}

TEST_CASE(failures_tell_which_run)
{
    static const char bad[] =
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %add : [num_users=1] = call_method[target=view](args = (%x, 7), "
        "kwargs = {})\n"
        "    return add\n";
    cfx_interp a = {0}, b = {0};
    cfx_module *other;
    cfx_value x = floats(2, 5);
    cfx_comparison c = {.size = sizeof(c)};
    model(line_of_six);
    ck_assert_int_eq(cfx_parse_model(&other, ctx, bad, strlen(bad), "b", &err),
                     0);
    ck_assert_int_eq(cfx_interp_init(&a, &cfx_interp_base, gm, &err), 0);
    ck_assert_int_eq(cfx_interp_init(&b, &cfx_interp_base, other, &err), 0);
    ck_assert_int_eq(cfx_compare_runs(&a, &b, &x, 1, &x, 1, &c, &err),
                     CFX_ESHAPE);
    ck_assert_ptr_eq(c.failed, &b);
    err = (cfx_error){0};
    cfx_interp_release(&a);
    cfx_interp_release(&b);
    cfx_module_unref(other);
    cfx_value_unref(x);
}

/* ---- Parts ---- */

static const char *culprits_of_b;
static bool fails_there;
static int runs;

/* Run a part; nodes that `culprits_of_b` names are wrong, or fail. */
static cfx_status run_wrong(void *user, cfx_module *of, const cfx_graph *part,
                            const cfx_value *in, size_t n, cfx_value *result,
                            cfx_error *e)
{
    struct wrong w = {.at = ""};
    cfx_interp_options o = {.size = sizeof(o), .graph = part};
    ck_assert_ptr_eq(user, &runs);
    runs++;
    for (const cfx_node *at = cfx_graph_first(part); at;
         at = cfx_node_next(at)) {
        if (at->op == CFX_PLACEHOLDER || !strstr(culprits_of_b, at->name))
            continue;
        if (fails_there)
            return cfx_fail(e, CFX_EUSER, "%s is not supported", at->name);
        w.at = at->name;
    }
    cfx_status st = cfx_interp_init_with(&w.base, &wrong_class, of, &o, e);
    if (!st)
        st = cfx_interp_run(&w.base, in, n, result, e);
    cfx_interp_release(&w.base);
    return st;
}

static char report[8192];

static cfx_status to_report(void *user, const char *text, size_t len)
{
    (void)user;
    ck_assert_uint_lt(strlen(report) + len, sizeof(report));
    strncat(report, text, len);
    return CFX_OK;
}

static cfx_minimizer minimizer(cfx_traversal t)
{
    model(line_of_six);
    report[0] = '\0';
    runs = 0;
    fails_there = false;
    culprits_of_b = "";
    return (cfx_minimizer){.size = sizeof(cfx_minimizer),
                           .gm = gm,
                           .traversal = t,
                           .run_b = run_wrong,
                           .user = &runs,
                           .report = {to_report, NULL}};
}

/* The culprits, by name. */
static const char *found(cfx_minimizer *m)
{
    static char names[256];
    cfx_value x = floats(2, 5);
    names[0] = '\0';
    report[0] = '\0';
    ck_assert_msg(!cfx_minimize(m, &x, 1, &err), "%s", err.text);
    for (size_t i = 0; i < m->nculprits; i++) {
        strcat(names, i ? " " : "");
        strcat(names, m->culprit[i]->name);
    }
    cfx_minimizer_release(m);
    cfx_value_unref(x);
    return names;
}

TEST_CASE(minimizer_visits_node_by_node)
{
    cfx_minimizer m = minimizer(CFX_SEQUENTIAL);
    ck_assert_str_eq(found(&m), "");
    ck_assert_int_eq(runs, 6);
    culprits_of_b = "sub neg";
    ck_assert_str_eq(found(&m), "sub");
    ck_assert_str_eq(
        report,
        "Sequential traverse iteration 1.\n"
        " . Visit node: add\n"
        " . Run and compare ...\n"
        " . Numerical accuracy = 0\n"
        "Sequential traverse iteration 2.\n"
        " . Visit node: mul\n"
        " . Run and compare ...\n"
        " . Numerical accuracy = 0\n"
        "Sequential traverse iteration 3.\n"
        " . Visit node: sub\n"
        " . Run and compare ...\n"
        " . Numerical accuracy = 0.5\n"
        " . Result mismatch: 1 of 2 elements differ, most [0]: 9 and 9.5\n"
        " . Found culprit from numeric error: sub\n");
    m.find_all = true;
    ck_assert_str_eq(found(&m), "sub neg");
    /* With what it gave itself, all that follows differs. */
    m.accumulate_error = true;
    ck_assert_str_eq(found(&m), "sub div neg last");
    fails_there = true;
    ck_assert_str_eq(found(&m), "sub neg");
    ck_assert_ptr_nonnull(strstr(report,
                                 " . Exception raised when running: "
                                 "sub is not supported\n . Found culprit from "
                                 "run error: sub\n"));
}

TEST_CASE(minimizer_halves_what_differs)
{
    cfx_minimizer m = minimizer(CFX_BINARY);
    ck_assert_str_eq(found(&m), "");
    ck_assert_int_eq(runs, 1);
    culprits_of_b = "div";
    ck_assert_str_eq(found(&m), "div");
    ck_assert_ptr_nonnull(strstr(report, "Search in the current branch is "
                                         "successful with culprit = div."));
    culprits_of_b = "add neg";
    ck_assert_str_eq(found(&m), "add");
    m.find_all = true;
    ck_assert_str_eq(found(&m), "add neg");
}

TEST_CASE(minimizer_adds_one_node_after_the_other)
{
    cfx_minimizer m = minimizer(CFX_ACCUMULATE);
    culprits_of_b = "div neg";
    ck_assert_str_eq(found(&m), "div");
    ck_assert_int_eq(runs, 4);
}

TEST_CASE(minimizer_skips_nodes)
{
    static const char *const skip[] = {"sub", "neg"};
    cfx_minimizer m = minimizer(CFX_SKIP);
    m.skip = skip;
    m.nskip = 2;
    culprits_of_b = "sub";
    ck_assert_str_eq(found(&m), "");
    ck_assert_int_eq(runs, 3);
    culprits_of_b = "mul";
    ck_assert_str_eq(found(&m), "add mul");
}

TEST_CASE(minimizer_finds_the_shortest_block)
{
    cfx_minimizer m = minimizer(CFX_BLOCK);
    culprits_of_b = "sub";
    ck_assert_str_eq(found(&m), "sub");
    ck_assert_ptr_nonnull(strstr(report, "found minimum block (sub,sub)"));
    m.find_last = 1;
    ck_assert_str_eq(found(&m), "add mul sub");
    m.find_last = -1;
    ck_assert_str_eq(found(&m), "sub div neg last");
    culprits_of_b = "";
    m.find_last = 0;
    ck_assert_str_eq(found(&m), "");
}

static bool is_mul(void *user, const cfx_node *n)
{
    (void)user;
    return !strcmp(n->name, "mul");
}

TEST_CASE(minimizer_runs_what_it_is_told)
{
    cfx_minimizer m = minimizer(CFX_DEFINED);
    m.start = "mul";
    m.end = "sub";
    ck_assert_str_eq(found(&m), "");
    culprits_of_b = "sub";
    ck_assert_str_eq(found(&m), "mul sub");
    m.exclude = is_mul;
    ck_assert_str_eq(found(&m), "sub");
    /* Only the last value is compared, or all: what is wrong inside and lost
     * again. */
    m = minimizer(CFX_DEFINED);
    m.end = "sub";
    m.return_intermediate = true;
    culprits_of_b = "add";
    ck_assert_str_eq(found(&m), "add mul sub");
}

TEST_CASE(minimizer_refuses_what_it_cannot_do)
{
    cfx_minimizer m = minimizer(CFX_SEQUENTIAL);
    cfx_value x[2] = {floats(2, 5), cfx_none()};
    ck_assert_int_eq(cfx_minimize(&m, x, 2, &err), CFX_EINVAL);
    ck_assert_str_eq(err.text, "Placeholder count (1) does not match "
                               "sample_input count (2)");
    err = (cfx_error){0};
    m.start = "nobody";
    ck_assert_int_eq(cfx_minimize(&m, x, 1, &err), CFX_ENAME);
    err = (cfx_error){0};
    m.start = NULL;
    m.run_b = NULL;
    ck_assert_int_eq(cfx_minimize(&m, x, 1, &err), CFX_EINVAL);
    err = (cfx_error){0};
    cfx_value_unref(x[0]);
}

/* ---- Without memory ---- */

static cfx_status work(cfx_traversal t)
{
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_error e = {0};
    cfx_context *c = NULL;
    cfx_module *of = NULL;
    cfx_tensor *x = NULL;
    int64_t two = 2;
    cfx_minimizer m = {.size = sizeof(m),
                       .traversal = t,
                       .find_all = true,
                       .run_b = run_wrong,
                       .user = &runs,
                       .report = {to_report, NULL}};
    cfx_status st = cfx_context_new(&c, &o, &e);
    if (!st)
        st = cfx_parse_model(&of, c, line_of_six, strlen(line_of_six), "m",
                             &e);
    if (!st)
        st = cfx_tensor_new(&x, c, CFX_F32, 1, &two, &e);
    if (!st) {
        ((float *)x->data)[0] = ((float *)x->data)[1] = 1;
        m.gm = of;
        st = cfx_minimize(&m, (cfx_value[]){cfx_value_of_tensor(x)}, 1, &e);
        cfx_minimizer_release(&m);
    }
    ck_assert_int_eq(e.code, st);
    cfx_tensor_unref(x);
    cfx_module_unref(of);
    cfx_context_free(c);
    return st;
}

TEST_CASE(minimizer_gives_all_back_without_memory)
{
    cfx_traversal traversals[] = {CFX_SEQUENTIAL, CFX_BINARY, CFX_BLOCK};
    const long before = held;
    for (size_t i = 0; i < 3; i++) {
        cfx_status st = CFX_ENOMEM;
        for (long n = 0; st; n++) {
            culprits_of_b = "sub neg";
            report[0] = '\0';
            allowed = n;
            st = work(traversals[i]);
            ck_assert(!st || st == CFX_ENOMEM);
            ck_assert_msg(held == before, "allocation %ld", n);
        }
        allowed = -1;
    }
}

TEST_SUITE(minimize, .setup = setup, .teardown = teardown, .timeout = 120)
