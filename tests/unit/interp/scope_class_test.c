/*
 * scope_class_test -- classes of scopes derive from others, and override one
 * hook.
 */
#include <cfx/cost.h>
#include <cfx/file.h>
#include <cfx/memory_plan.h>

#include "tests/unit/interp/control_test.h"
#include "tests/unit/unit.h"

/* ---- What hooks have seen, in words ---- */

static char seen[1024];

static void note(const char *prefix, const char *word)
{
    size_t at = strlen(seen);
    snprintf(seen + at, sizeof(seen) - at, "%s%s%s", at ? " " : "", prefix,
             word);
}

/* A class that derives from `super_` and notes the operators that are called,
 * behind a prefix. */
#define WATCH(name_, super_, prefix)                                          \
    static const cfx_scope_class name_;                                       \
    static cfx_status name_##_call_op(cfx_scope *s, cfx_call *call,           \
                                      cfx_value *out)                         \
    {                                                                         \
        note(prefix, call->schema->name);                                     \
        return CFX_SCOPE_SUPER(&name_, call_op)(s, call, out);                \
    }                                                                         \
    static const cfx_scope_class name_ = {                                    \
        .size = sizeof(cfx_scope_class),                                      \
        .name = #name_,                                                       \
        .super = super_,                                                      \
        .call_op = name_##_call_op,                                           \
    }

WATCH(eager_watch, &cfx_eager_class, "");
WATCH(meta_watch, &cfx_meta_class, "");
WATCH(outer_watch, &eager_watch, "+");

/* ---- Models ---- */

/* Load models/NAME. */
static void load(const char *name)
{
    char path[512];
    const char *src = getenv("srcdir");
    snprintf(path, sizeof(path), "%s/models/%s", src ? src : "..", name);
    cfx_module_unref(gm);
    gm = NULL;
    ck_assert_msg(!cfx_model_load(&gm, ctx, path, NULL, &err), "%s", err.text);
}

/* Run it on one input in a scope of that class; the result, which is the
 * caller's, or None with the message in err. */
static cfx_value run_in(const cfx_scope_class *cls, cfx_value x)
{
    cfx_scope s;
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .scope = &s};
    cfx_value out;
    seen[0] = '\0';
    cfx_scope_init(&s, cls, ctx, NULL);
    ck_assert_msg(!cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                  "%s", err.text);
    cfx_interp_run(&it, &x, 1, &out, &err);
    cfx_interp_release(&it);
    cfx_scope_release(&s);
    return out;
}

/* The first element of what it gives for two numbers x. */
static float run_on(const cfx_scope_class *cls, float x)
{
    cfx_value in = floats(2, x), out = run_in(cls, in);
    ck_assert_msg(!err.code, "%s", err.text);
    float y = cfx_tensor_is_meta(out.u.tensor) ? 0 : first(out);
    cfx_value_unref(out);
    cfx_value_unref(in);
    return y;
}

static void fails_in(const cfx_scope_class *cls, cfx_status with,
                     const char *part)
{
    cfx_value in = floats(2, 1), out = run_in(cls, in);
    ck_assert_int_eq(out.kind, CFX_NONE);
    ck_assert_int_eq(err.code, with);
    ck_assert_msg(strstr(err.text, part) != NULL, "%s", err.text);
    cfx_error_clear(&err);
    cfx_value_unref(in);
}

/* ---- call_op ---- */

TEST_CASE(call_op_sees_what_graphs_of_operators_call)
{
    load("branch.fx");
    ck_assert_float_eq(run_on(&eager_watch, 4), 2);
    ck_assert_str_eq(seen, "sum gt sqrt getitem");
    ck_assert_float_eq(run_on(&eager_watch, -1), 1);
    ck_assert_str_eq(seen, "sum gt neg getitem");
    cfx_value in = floats(2, 1), out;
    cfx_tensor *x;
    ck_assert(
        !cfx_tensor_meta(&x, ctx, CFX_F32, 1, in.u.tensor->shape, NULL, &err));
    out = run_in(&meta_watch, cfx_value_of_tensor(x));
    ck_assert_msg(!err.code, "%s", err.text);
    ck_assert_str_eq(seen, "sum gt sqrt neg getitem");
    ck_assert(cfx_tensor_is_meta(out.u.tensor));
    cfx_value_unref(out);
    cfx_tensor_unref(x);
    cfx_value_unref(in);
}

TEST_CASE(a_class_chains_up_two_levels)
{
    load("branch.fx");
    ck_assert_float_eq(run_on(&outer_watch, 4), 2);
    ck_assert_str_eq(seen, "+sum sum +gt gt +sqrt sqrt +getitem getitem");
}

/* x * 3, by a module of the library, in a GraphModule. */
static const char plain[] =
    "# cfx 1\n"
    "Net(\n"
    "  (a): Sub(\n"
    "    (l): Linear(in_features=2, out_features=1, bias=False)\n"
    "  )\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = "
    "{})\n"
    "    return %a\n\n"
    "graph a():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %l : [num_users=1] = call_module[target=l](args = (%x,), kwargs = "
    "{})\n"
    "    %w : [num_users=1] = get_attr[target=l.weight]\n"
    "    %y : [num_users=1] = call_function[target=operator.mul](args = (%l, "
    "%w), kwargs = {})\n"
    "    return %y\n";

TEST_CASE(call_op_sees_what_forwards_call)
{
    cfx_tensor *x;
    const cfx_dim shape[] = {cfx_dim_int(3), cfx_dim_int(2)};
    model(plain);
    ck_assert(!cfx_tensor_meta(&x, ctx, CFX_F32, 2, shape, NULL, &err));
    cfx_value out = run_in(&meta_watch, cfx_value_of_tensor(x));
    ck_assert_msg(!err.code, "%s", err.text);
    ck_assert_str_eq(seen, "linear mul");
    ck_assert_int_eq(cfx_tensor_size(out.u.tensor, 1), 2);
    cfx_value_unref(out);
    cfx_tensor_unref(x);
}

/* ---- The other hooks ---- */

static const cfx_scope_class calls_class;

static cfx_status calls_higher_order(cfx_scope *s, cfx_call *call,
                                     cfx_value *out)
{
    note(call->schema->name, "(");
    cfx_status st = CFX_SCOPE_SUPER(&calls_class, call_higher_order)(s, call,
                                                                     out);
    note("", ")");
    return st;
}

static cfx_status calls_graph(cfx_scope *s, cfx_module *m, const char *path,
                              const cfx_unbound_call *c, const cfx_value *in,
                              cfx_value *out)
{
    char name[64];
    cfx_module_path(m, name, sizeof(name));
    note("graph:", name);
    return CFX_SCOPE_SUPER(&calls_class, call_graph)(s, m, path, c, in, out);
}

static cfx_status calls_get_attr(cfx_scope *s, cfx_module *m, const char *name,
                                 cfx_value *out)
{
    note("attr:", name);
    return CFX_SCOPE_SUPER(&calls_class, get_attr)(s, m, name, out);
}

static const cfx_scope_class calls_class = {
    .size = sizeof(cfx_scope_class),
    .name = "calls",
    .super = &outer_watch,
    .call_higher_order = calls_higher_order,
    .call_graph = calls_graph,
    .get_attr = calls_get_attr,
};

TEST_CASE(hooks_see_graphs_around_what_they_call)
{
    load("branch.fx");
    ck_assert_float_eq(run_on(&calls_class, 4), 2);
    ck_assert_str_eq(seen, "+sum sum +gt gt cond( graph:positive +sqrt sqrt ) "
                           "+getitem getitem");
}

/* models/mymodule.fx has a parameter of its own, 3 by 4, and a Linear. */
static cfx_value ones(void)
{
    cfx_tensor *t;
    const int64_t shape[] = {3, 4};
    ck_assert(!cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err));
    for (int i = 0; i < 12; i++)
        ((float *)t->data)[i] = 1;
    return cfx_value_of_tensor(t);
}

TEST_CASE(get_attr_is_asked_by_nodes_and_by_forwards)
{
    load("mymodule.fx");
    cfx_value x = ones(), out = run_in(&calls_class, x);
    cfx_value want = run_in(&cfx_eager_class, x);
    ck_assert_msg(!err.code, "%s", err.text);
    ck_assert(
        !memcmp(out.u.tensor->data, want.u.tensor->data, 15 * sizeof(float)));
    cfx_value_unref(out);
    cfx_value_unref(want);
    out = run_in(&calls_class, x);
    ck_assert_str_eq(seen, "attr:param +add add attr:weight attr:bias "
                           "+linear linear +clamp clamp");
    cfx_value_unref(out);
    cfx_value_unref(x);
}

static const cfx_scope_class modules_class;

static cfx_status modules_call_module(cfx_scope *s, cfx_module *m,
                                      const char *path, const cfx_value *in,
                                      cfx_value *out)
{
    note("", path ? path : "?");
    return CFX_SCOPE_SUPER(&modules_class, call_module)(s, m, path, in, out);
}

static const cfx_scope_class modules_class = {
    .size = sizeof(cfx_scope_class),
    .name = "modules",
    .super = &cfx_eager_class,
    .call_module = modules_call_module,
};

TEST_CASE(call_module_sees_modules_and_graphs)
{
    cfx_tensor *w;
    const int64_t shape[] = {1, 2};
    model(plain);
    ck_assert(!cfx_tensor_new(&w, ctx, CFX_F32, 2, shape, &err));
    ((float *)w->data)[0] = 2;
    ((float *)w->data)[1] = 3;
    ck_assert(!cfx_module_set(cfx_module_at(gm, "a.l"), "weight", w, &err));
    cfx_tensor_unref(w);
    ck_assert_float_eq(run_on(&modules_class, 1), 10);
    ck_assert_str_eq(seen, "a l");
    load("branch.fx");
    ck_assert_float_eq(run_on(&modules_class, 4), 2);
    ck_assert_str_eq(seen, "?");
}

static const char fetches[] =
    "Net(\n"
    "  (l): Linear(in_features=2, out_features=1, bias=False)\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=0] = placeholder[target=x]\n"
    "    %w : [num_users=1] = get_attr[target=l.weight]\n"
    "    return w\n";

TEST_CASE(classes_that_compute_miss_weights)
{
    cfx_value x = floats(2, 1), out;
    model(fetches);
    fails_in(&cfx_eager_class, CFX_EWEIGHT, "missing weight: l.weight; While");
    fails_in(&outer_watch, CFX_EWEIGHT, "missing weight: l.weight; While");
    out = run_in(&meta_watch, x);
    ck_assert_int_eq(out.kind, CFX_TENSOR);
    cfx_value_unref(out);
    cfx_value_unref(x);
    model(plain);
    fails_in(&calls_class, CFX_EWEIGHT, "missing weight: a.l.weight; While");
    ck_assert_str_eq(seen, "graph:a attr:weight");
}

static const cfx_scope_class orphan_class = {
    .size = sizeof(cfx_scope_class),
    .name = "orphan",
    .call_op = meta_watch_call_op,
};

static const cfx_scope_class idle_class = {
    .size = sizeof(cfx_scope_class),
    .name = "idle",
    .super = &cfx_scope_base,
};

TEST_CASE(what_a_class_does_not_know_is_refused)
{
    load("mymodule.fx");
    fails_in(&orphan_class, CFX_EINVAL,
             "scope class 'orphan' has no hook "
             "get_attr: give it a super, such as cfx_eager_class; While");
    load("branch.fx");
    fails_in(&orphan_class, CFX_EINVAL, "has no hook call_graph");
    fails_in(&idle_class, CFX_EUNSUPPORTED,
             "sum: scope class 'idle' calls no "
             "operators; While executing %sum_1");
}

/* ---- An operator of higher order of one's own ---- */

static cfx_status apply_twice(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_value y;
    cfx_status st = cfx_scope_call_graph(s, call, 0, &call->in[1], 1, &y);
    if (st)
        return st;
    st = cfx_scope_call_graph(s, call, 0, &y, 1, out);
    cfx_value_unref(y);
    return st;
}

static const cfx_op twice_op = {
    .abi = CFX_ABI(cfx_op),
    .schema = "apply_twice(any f, any x) -> any",
    .aliases = "my.apply_twice",
    .doc = "A graph of what it gives.",
    .call_graphs = apply_twice,
};

static void twice_model(const char *args)
{
    char text[2048];
    snprintf(
        text, sizeof(text),
        "# cfx 1\n"
        "Net(\n"
        "  (f): Sub(\n"
        "    (l): Linear(in_features=2, out_features=2, bias=False)\n"
        "  )\n"
        ")\n\n"
        "graph():\n"
        "    %%x : [num_users=1] = placeholder[target=x]\n"
        "    %%f : [num_users=1] = get_attr[target=f]\n"
        "    %%t : [num_users=1] = call_function[target=my.apply_twice](args ="
        " %s, kwargs = {})\n"
        "    return %%t\n\n"
        "graph f():\n"
        "    %%x : [num_users=1] = placeholder[target=x]\n"
        "    %%l : [num_users=1] = call_module[target=l](args = (%%x,), kwargs"
        " = {})\n"
        "    return %%l\n",
        args);
    model(text);
}

TEST_CASE(an_operator_of_ones_own_calls_graphs)
{
    cfx_tensor *w;
    const int64_t shape[] = {2, 2};
    cfx_effects e;
    cfx_memory_plan *plan;
    cfx_cost_prop p = {0};
    ck_assert_msg(!cfx_register_op(ctx, &twice_op, &err), "%s", err.text);
    twice_model("(%f, %x)");
    ck_assert(!cfx_tensor_new(&w, ctx, CFX_F32, 2, shape, &err));
    for (int i = 0; i < 4; i++)
        ((float *)w->data)[i] = 3;
    ck_assert(!cfx_module_set(cfx_module_at(gm, "f.l"), "weight", w, &err));
    cfx_tensor_unref(w);
    ck_assert_float_eq(run_on(&calls_class, 1), 36);
    ck_assert_str_eq(seen,
                     "apply_twice( graph:f attr:weight attr:bias +linear"
                     " linear graph:f attr:weight attr:bias +linear linear )");

    const cfx_node *t = cfx_graph_find(cfx_graph_module_graph(gm), "t");
    ck_assert(!cfx_node_effects(t, &e, &err));
    ck_assert(!cfx_effects_any(&e));

    cfx_value x = floats(2, 1);
    ck_assert_msg(!cfx_cost_prop_init(&p, NULL, gm, NULL, &err), "%s",
                  err.text);
    ck_assert_msg(!cfx_cost_prop_run(&p, &x, 1, &err), "%s", err.text);
    ck_assert_int_eq(cfx_dim_value(cfx_cost_prop_of(&p, t)->cost.macs), 8);
    ck_assert_uint_eq(cfx_cost_prop_of(&p, t)->nweights, 1);
    cfx_cost_prop_release(&p);

    ck_assert_msg(!cfx_memory_plan_new(&plan, gm, &x, 1, NULL, &err), "%s",
                  err.text);
    ck_assert_int_gt(cfx_memory_plan_arena(plan), 0);
    cfx_memory_plan_free(plan);
    cfx_value_unref(x);
}

static cfx_status infer_higher_order(cfx_scope *s, cfx_call *call,
                                     cfx_value *out)
{
    (void)s;
    return cfx_call_meta(call, out);
}

static const cfx_scope_class infer_class = {
    .size = sizeof(cfx_scope_class),
    .name = "infer",
    .super = &cfx_meta_class,
    .call_higher_order = infer_higher_order,
};

TEST_CASE(operators_of_higher_order_need_a_graph_and_a_scope)
{
    ck_assert_msg(!cfx_register_op(ctx, &twice_op, &err), "%s", err.text);
    twice_model("(3, %x)");
    fails_in(&cfx_eager_class, CFX_EINVAL,
             "apply_twice: argument 'f' must be "
             "a graph, not int; While executing %t");
    twice_model("(%f, %x)");
    fails_in(&infer_class, CFX_EUNSUPPORTED,
             "apply_twice: an operator of "
             "higher order is called in a scope");
}

TEST_SUITE(scope_class, .setup = setup, .teardown = teardown)
