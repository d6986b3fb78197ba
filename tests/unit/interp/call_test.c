/*
 * call_test -- GraphModules called in one line, and arguments fetched in hooks.
 */
#include <cfx/ops.h>

#include "tests/unit/interp/interp_test.h"
#include "tests/unit/unit.h"

/* ---- gm(x, y=2) ---- */

static float called(cfx_args args)
{
    cfx_value out;
    ck_assert_msg(!cfx_graph_module_call(gm, args, &out, &err), "%s",
                  err.text);
    float x = first(out);
    cfx_value_unref(out);
    return x;
}

static void call_fails(cfx_args args, cfx_status with, const char *part)
{
    cfx_value out = cfx_int(1);
    ck_assert_int_eq(cfx_graph_module_call(gm, args, &out, &err), with);
    ck_assert_int_eq(out.kind, CFX_NONE);
    ck_assert_msg(strstr(err.text, part) != NULL, "%s", err.text);
}

#define KEYWORDS(...)                                                         \
    (cfx_args)                                                                \
    {                                                                         \
        NULL, 0, CFX_PAIRS(__VA_ARGS__)                                       \
    }
#define BOTH(a, ...)                                                          \
    (cfx_args)                                                                \
    {                                                                         \
        CFX_ITEMS(a), CFX_PAIRS(__VA_ARGS__)                                  \
    }

TEST_CASE(graph_modules_take_inputs_by_place_and_by_name)
{
    model(chain);
    cfx_value a = floats(2, 2), x = cfx_keyword(ctx, "x");
    cfx_value y = cfx_keyword(ctx, "y");
    ck_assert_float_eq(called(CFX_ARGS(a)), 10);
    ck_assert_float_eq(called(CFX_ARGS(a, cfx_int(-1))), 2);
    ck_assert_float_eq(called(BOTH(a, y, cfx_float(0.5))), 5);
    ck_assert_float_eq(called(KEYWORDS(y, cfx_int(1), x, a)), 6);
    ck_assert_float_eq(called(KEYWORDS(x, a)), 10);
    call_fails(CFX_NO_ARGS, CFX_EINVAL,
               "Expected positional argument for parameter x");
    call_fails(KEYWORDS(y, a), CFX_EINVAL, "parameter x");
    call_fails(CFX_ARGS(a, a, a), CFX_EINVAL,
               "takes 2 positional arguments but 3 were given");
    call_fails(BOTH(a, x, a), CFX_EINVAL, "multiple values for argument 'x'");
    call_fails(BOTH(a, cfx_keyword(ctx, "z"), a), CFX_EINVAL,
               "unexpected keyword argument 'z'");
    call_fails(BOTH(a, cfx_int(1), a), CFX_EINVAL, "must be strings");
    call_fails(BOTH(a, CFX_NOTHING, a), CFX_EINVAL, "must be strings");
    call_fails(CFX_ARGS(a, cfx_none()), CFX_EINVAL, "While executing %add");
    cfx_value_unref(a);
}

TEST_CASE(graph_modules_gather_what_they_do_not_name)
{
    cfx_value out;
    model("graph():\n"
          "    %a : [num_users=1] = placeholder[target=a]\n"
          "    %args : [num_users=1] = placeholder[target=*args]\n"
          "    %kwargs : [num_users=1] = placeholder[target=**kwargs]\n"
          "    return (a, args, kwargs)");
    cfx_args args = {CFX_ITEMS(cfx_int(1), cfx_int(2), cfx_int(3)),
                     CFX_PAIRS(cfx_keyword(ctx, "b"), cfx_int(4))};
    ck_assert_msg(!cfx_graph_module_call(gm, args, &out, &err), "%s",
                  err.text);
    ck_assert_int_eq(out.u.seq->item[0].u.i, 1);
    ck_assert_uint_eq(out.u.seq->item[1].u.seq->len, 2);
    ck_assert_int_eq(cfx_dict_get(out.u.seq->item[2], "b").u.i, 4);
    cfx_value_unref(out);
    ck_assert(!cfx_graph_module_call(gm, CFX_ARGS(cfx_int(1)), &out, &err));
    ck_assert_uint_eq(out.u.seq->item[1].u.seq->len, 0);
    ck_assert_uint_eq(out.u.seq->item[2].u.seq->len, 0);
    cfx_value_unref(out);
}

TEST_CASE(what_has_no_graph_cannot_be_called)
{
    ck_assert(!cfx_module_new_container(&gm, ctx, "Net", &err));
    call_fails(CFX_NO_ARGS, CFX_EGRAPH, "graph");
}

TEST_CASE(calls_survive_lack_of_memory)
{
    cfx_status st = CFX_ENOMEM;
    model(chain);
    cfx_value a = floats(2, 2);
    for (long n = 0; st; n++) {
        cfx_value out = CFX_NOTHING;
        allowed = n;
        cfx_value y = cfx_keyword(ctx, "y");
        st = cfx_graph_module_call(gm, BOTH(a, y, cfx_int(1)), &out, &err);
        allowed = -1;
        ck_assert_msg(!st || st == CFX_ENOMEM || (st == CFX_EINVAL && !y.kind),
                      "%ld: %s", n, err.text);
        cfx_value_unref(out);
    }
    cfx_value_unref(a);
}

/* ---- fetch_args_kwargs_from_env ---- */

struct fetcher {
    cfx_interp base;
    int nodes, relus;
};

static const cfx_interp_class fetcher_class;

/* Run a relu as a negation, of the same arguments. */
static cfx_status fetcher_run_node(cfx_interp *it, const cfx_node *n,
                                   cfx_value *out)
{
    struct fetcher *f = (struct fetcher *)it;
    cfx_call call;

    f->nodes++;
    if (!cfx_node_is(n, "relu"))
        return CFX_SUPER(&fetcher_class, run_node)(it, n, out);
    cfx_status st = cfx_interp_fetch_args(it, n, &call);
    if (st)
        return st;
    ck_assert_uint_eq(call.nargs, 1);
    ck_assert_int_eq(call.args[0].kind, CFX_TENSOR);
    ck_assert_ptr_eq(call.node, n);
    f->relus++;
    *out = cfx_keep(cfx_neg(it->scope, call.args[0]));
    return cfx_scope_failed(it->scope) ? it->scope->error.code : CFX_OK;
}

static const cfx_interp_class fetcher_class = {
    .size = sizeof(cfx_interp_class),
    .name = "fetcher",
    .super = &cfx_interp_base,
    .run_node = fetcher_run_node,
};

TEST_CASE(hooks_fetch_the_arguments_of_a_node)
{
    struct fetcher f = {.nodes = 0};
    model(chain);
    ready(&f.base, &fetcher_class);
    cfx_value a = floats(2, 2), out = run(&f.base, &a, 1);
    ck_assert_float_eq(first(out), -10);
    ck_assert_int_eq(f.relus, 1);
    ck_assert_int_eq(f.nodes, 6);
    cfx_value_unref(out);
    cfx_value_unref(a);
    cfx_interp_release(&f.base);
}

TEST_SUITE(call, .setup = setup, .teardown = teardown)
