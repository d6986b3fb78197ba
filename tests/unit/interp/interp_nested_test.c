/*
 * interp_nested_test -- runs within runs, and errors of hooks.
 */
#include "tests/unit/interp/interp_test.h"
#include "tests/unit/unit.h"

enum {
    WANT_NOTHING,
    WANT_RUN,
    WANT_STEPS,
    WANT_UNENDED,
    WANT_BARE,
    WANT_SAVED,
    WANT_FORGOTTEN,
    WANT_QUOTED,
    WANT_PASSED_ON
};

/* At its method, begins another run of its own interpreter. */
struct within {
    cfx_interp base;
    int want, depth, deepest;
    cfx_value x;
    float inner;
    cfx_status st;
    cfx_error err;
    char limit[80];
};

static const cfx_interp_class within_class;

static cfx_status inner_steps(struct within *w, cfx_value *out, bool end)
{
    const cfx_node *n;
    cfx_value v;
    cfx_status st = cfx_interp_begin(&w->base, &w->x, 1, &w->err);
    while (!st && !(st = cfx_interp_step(&w->base, &n, &v, &w->err)) && n)
        *out = n->op == CFX_OUTPUT ? v : *out;
    if (end)
        cfx_interp_end(&w->base, out);
    else
        *out = cfx_value_ref(*out);
    return st;
}

static cfx_status inner_run(struct within *w)
{
    cfx_value out = CFX_NOTHING;
    if (w->depth == w->deepest)
        return CFX_OK;
    w->depth++;
    cfx_status st = w->want == WANT_RUN || w->want == WANT_SAVED ||
                            w->want == WANT_PASSED_ON
                        ? cfx_interp_run(&w->base, &w->x,
                                         w->x.kind != CFX_ABSENT, &out,
                                         &w->err)
                        : inner_steps(w, &out, w->want == WANT_STEPS);
    w->depth--;
    if (st == CFX_EGRAPH)
        snprintf(w->limit, sizeof(w->limit), "%.60s", w->err.text);
    if (!st)
        w->inner = first(out);
    cfx_value_unref(out);
    return st;
}

static cfx_status within_method(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    struct within *w = (struct within *)it;
    if (w->want == WANT_BARE)
        return CFX_EUSER;
    if (w->want == WANT_QUOTED)
        return cfx_interp_fail(it, CFX_EUSER, "no '; While executing ' here");
    if (w->want == WANT_FORGOTTEN)
        cfx_call_method(it->scope, "no_such_method",
                        cfx_args_of(call->args, 1));
    else
        w->st = inner_run(w);
    if (w->want == WANT_PASSED_ON && w->st)
        return cfx_fail_from(it->err, &w->err);
    if (w->want == WANT_FORGOTTEN) {
        *out = cfx_value_ref(call->args[0]);
        return CFX_OK;
    }
    return CFX_SUPER(&within_class, call_method)(it, call, out);
}

static const cfx_interp_class within_class = {
    .size = sizeof(cfx_interp_class),
    .name = "within",
    .super = &cfx_interp_base,
    .call_method = within_method,
};

static void begin_within(struct within *w, int want)
{
    *w = (struct within){.want = want, .deepest = 1, .x = floats(1, -7)};
    if (!gm)
        model(chain);
    ready(&w->base, &within_class);
}

static void end_within(struct within *w)
{
    cfx_value_unref(w->x);
    cfx_interp_release(&w->base);
}

TEST_CASE(a_hook_may_run_its_own_interpreter)
{
    for (int want = WANT_RUN; want <= WANT_UNENDED; want++) {
        struct within w, plain;
        begin_within(&plain, WANT_NOTHING);
        begin_within(&w, want);
        plain.deepest = 0;
        for (int i = 0; i < 3; i++) {
            cfx_value x = floats(1, (float)i);
            cfx_value a = run(&plain.base, &x, 1), b = run(&w.base, &x, 1);
            cfx_value c = run(&plain.base, &w.x, 1);
            ck_assert_float_eq(first(b), first(a));
            ck_assert_float_eq(w.inner, first(c));
            cfx_value_unref(a);
            cfx_value_unref(b);
            cfx_value_unref(c);
            cfx_value_unref(x);
        }
        end_within(&w);
        end_within(&plain);
    }
}

TEST_CASE(runs_within_runs_end_somewhere)
{
    struct within w;
    begin_within(&w, WANT_RUN);
    w.deepest = 40;
    cfx_value x = floats(1, 2), out = run(&w.base, &x, 1);
    ck_assert_int_eq(w.st, CFX_OK);
    w.deepest = 4000;
    cfx_value_unref(out);
    out = run(&w.base, &x, 1);
    ck_assert_str_eq(w.limit, "runs are nested to a depth of more than "
                              "256");
    cfx_value_unref(out);
    cfx_value_unref(x);
    end_within(&w);
}

TEST_CASE(a_run_goes_on_after_one_within_it_failed)
{
    struct within w;
    begin_within(&w, WANT_SAVED);
    cfx_value_unref(w.x);
    w.x = CFX_NOTHING;
    cfx_value x = floats(1, 2), out = run(&w.base, &x, 1);
    ck_assert_int_eq(w.st, CFX_EINVAL);
    ck_assert(strstr(w.err.text, "Expected positional argument"));
    ck_assert_float_eq(first(out), 10);
    ck_assert_int_eq(err.code, CFX_OK);
    cfx_value_unref(out);
    cfx_value_unref(x);
    end_within(&w);
}

TEST_CASE(a_bare_status_of_a_hook_is_given_a_sentence)
{
    struct within w;
    begin_within(&w, WANT_BARE);
    cfx_value x = floats(1, 2), out;
    ck_assert_int_eq(cfx_interp_run(&w.base, &x, 1, &out, &err), CFX_EUSER);
    ck_assert(strstr(err.text, "a hook of interpreter class 'within' returned "
                               "CFX_EUSER without a message; While executing "
                               "%relu"));
    cfx_value_unref(x);
    end_within(&w);
}

/* Whether a node is named is no matter of the words that a hook uses. */
TEST_CASE(a_text_that_speaks_of_executing_is_given_its_node_too)
{
    struct within w;
    begin_within(&w, WANT_QUOTED);
    cfx_value x = floats(1, 2), out;
    ck_assert_int_eq(cfx_interp_run(&w.base, &x, 1, &out, &err), CFX_EUSER);
    ck_assert(strstr(err.text, "no '; While executing ' here; While executing "
                               "%relu"));
    cfx_value_unref(x);
    end_within(&w);
}

TEST_CASE(an_error_that_is_passed_on_keeps_its_node)
{
    static const char place[] = "; While executing %x";
    struct within w;
    begin_within(&w, WANT_PASSED_ON);
    cfx_value_unref(w.x);
    w.x = CFX_NOTHING;
    cfx_value x = floats(1, 2), out;
    ck_assert_int_eq(cfx_interp_run(&w.base, &x, 1, &out, &err), CFX_EINVAL);
    const char *at = strstr(err.text, place);
    ck_assert_ptr_nonnull(at);
    ck_assert_msg(!strstr(at + strlen(place), "While"), "%s", err.text);
    cfx_value_unref(x);
    end_within(&w);
}

static cfx_status bare_infer(cfx_call *call)
{
    (void)call;
    return CFX_EUSER;
}

static const cfx_op bare_op = {
    .abi = CFX_ABI(cfx_op),
    .schema = "bare(Tensor self) -> Tensor",
    .aliases = "my.bare",
    .infer = bare_infer,
};

TEST_CASE(a_bare_status_of_an_operator_is_given_a_sentence)
{
    cfx_interp it = {0};
    ck_assert_int_eq(cfx_register_op(ctx, &bare_op, &err), CFX_OK);
    model("graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %bare : [num_users=1] = call_function[target=my.bare](args = "
          "(%x,), kwargs = {})\n"
          "    return bare");
    ready(&it, &cfx_interp_base);
    cfx_value x = floats(1, 2), out;
    ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &out, &err), CFX_EUSER);
    ck_assert(strstr(err.text, "bare returned CFX_EUSER without a message; "
                               "While executing %bare"));
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

TEST_CASE(an_error_that_only_the_scope_knows_ends_the_run)
{
    struct within w;
    begin_within(&w, WANT_FORGOTTEN);
    cfx_value x = floats(1, 2), out;
    ck_assert_int_eq(cfx_interp_run(&w.base, &x, 1, &out, &err),
                     CFX_EOPERATOR);
    ck_assert(strstr(err.text, "no_such_method"));
    ck_assert(strstr(err.text, "While executing %relu"));
    cfx_value_unref(x);
    end_within(&w);
}

TEST_CASE(a_run_starts_without_the_last_error)
{
    cfx_interp it = {0};
    model(chain);
    ready(&it, &cfx_interp_base);
    cfx_value x = floats(1, 2), out;
    ck_assert_int_ne(cfx_interp_run(&it, NULL, 0, &out, &err), CFX_OK);
    ck_assert(strstr(err.text, "positional argument"));
    cfx_value none = cfx_none();
    ck_assert_int_ne(cfx_interp_run(&it, &none, 1, &out, &err), CFX_OK);
    ck_assert(!strstr(err.text, "positional argument"));
    ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &out, &err), CFX_OK);
    ck_assert_int_eq(err.code, CFX_OK);
    ck_assert_str_eq(err.text, "");
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&it);
}

TEST_SUITE(interp_nested, .setup = setup, .teardown = teardown, .timeout = 60)
