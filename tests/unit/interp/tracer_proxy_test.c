/*
 * tracer_proxy_test -- what is known of proxies, classes of one's own,
 * wrapped functions, and graphs that are added to.
 */
#include "tests/unit/interp/trace_test.h"
#include "tests/unit/unit.h"

static cfx_status trace(cfx_trace_fn *fn, const char *params)
{
    fresh();
    return cfx_trace_function(&gm, ctx, fn, NULL, params, &err);
}

static cfx_status trace_with(cfx_trace_fn *fn, const char *params,
                             cfx_trace_options *o)
{
    fresh();
    o->size = sizeof(*o);
    return cfx_trace_function_with(&gm, ctx, fn, NULL, params, o, &err);
}

#define FN(name)                                                              \
    static cfx_value name(cfx_scope *s, const cfx_value *in, void *user)

FN(relu_mul)
{
    (void)user;
    return cfx_mul(s, cfx_relu(s, in[0]), in[1]);
}

FN(branch)
{
    (void)user;
    return cfx_truth(s, cfx_gt(s, in[0], cfx_int(0))) ? in[0]
                                                      : cfx_neg(s, in[0]);
}

FN(ask_len)
{
    (void)user;
    return cfx_int(cfx_len(s, in[0]));
}

FN(iterate)
{
    const cfx_value *item;
    (void)user;
    cfx_value y = cfx_int(0);
    for (size_t i = 0, n = cfx_items(s, in[0], &item); i < n; i++)
        y = cfx_add(s, y, item[i]);
    return y;
}

/* ---- Metas ---- */

static cfx_value meta_of(int64_t n, int64_t m)
{
    cfx_dim shape[] = {cfx_dim_int(n), cfx_dim_int(m)};
    cfx_tensor *t;
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, &err));
    return cfx_value_of_tensor(t);
}

FN(by_shape)
{
    (void)user;
    cfx_value y = cfx_matmul(s, in[0], in[0]);
    if (cfx_rank(s, y) == 2 && cfx_meta_of(s, y)->dtype == CFX_F32)
        y = cfx_t(s, y);
    return cfx_view(s, y, cfx_tuple(s, cfx_size(s, y, 0), cfx_int(-1)));
}

TEST_CASE(meta_tracer)
{
    cfx_value m = meta_of(3, 3);
    cfx_trace_options o = {.metas = &m, .nmetas = 1};
    assert_ok(trace_with(by_shape, "x", &o));
    assert_code("    matmul = torch.matmul(x, x);  x = None\n"
                "    t = torch.t(matmul);  matmul = None\n"
                "    size = t.size(0)\n"
                "    view = t.view((size, -1));");
    cfx_value v = cfx_node_meta(node("view"), "tensor_meta");
    ck_assert_int_eq(v.kind, CFX_TENSOR);
    ck_assert_int_eq(cfx_tensor_size(v.u.tensor, 1), 3);
    ck_assert_int_eq(cfx_node_meta(node("size"), "val").u.i, 3);
    o.known_sizes = true;
    assert_ok(trace_with(by_shape, "x", &o));
    assert_code("    view = t.view((3, -1));  t = None\n");
    cfx_value_unref(m);
    m = meta_of(2, 3);
    assert_fails(trace_with(by_shape, "x", &o), CFX_ESHAPE, "");
    cfx_value_unref(m);
}

TEST_CASE(metas_make_lengths_and_items_known)
{
    cfx_value m = meta_of(2, 3);
    cfx_value pair = cfx_tuple_new(ctx, 2, (cfx_value[]){m, m});
    cfx_trace_options o = {.metas = &pair, .nmetas = 1};
    assert_ok(trace_with(iterate, "x", &o));
    assert_code("    getitem = x[0]\n    getitem_1 = x[1];  x = None\n");
    assert_ok(trace_with(ask_len, "x", &o));
    ck_assert_int_eq(
        cfx_graph_output_node(cfx_graph_module_graph(gm))->args[0].u.i, 2);
    cfx_value_unref(pair);
    cfx_value_unref(m);
}

TEST_CASE(symbols_pass_through_a_trace)
{
    cfx_shape_env *env;
    cfx_dim shape[2];
    cfx_tensor *t;
    assert_ok(cfx_shape_env_new(&env, ctx, &err));
    shape[0] = cfx_dim_symbol(env, "N", 1);
    shape[1] = cfx_dim_int(3);
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, &err));
    cfx_value m[] = {cfx_value_of_tensor(t), cfx_value_of_tensor(t)};
    cfx_trace_options o = {.metas = m, .nmetas = 2, .env = env};
    assert_ok(trace_with(relu_mul, "x y", &o));
    cfx_value v = cfx_node_meta(node("mul"), "tensor_meta");
    ck_assert(cfx_dim_same(v.u.tensor->shape[0], shape[0]));
    fresh();
    cfx_tensor_unref(t);
    cfx_shape_env_free(env);
}

/* ---- A class of one's own ---- */

static cfx_status answer_no(cfx_scope *s, cfx_question q, cfx_value v,
                            cfx_value *out)
{
    if (q != CFX_ASK_TRUTH)
        return cfx_tracer_class.ask(s, q, v, out);
    *out = cfx_bool(false);
    return CFX_OK;
}

static cfx_status never_relu(cfx_scope *s, const cfx_unbound_call *c,
                             cfx_value *out)
{
    cfx_unbound_call other = *c;
    if (!strcmp(c->name, "torch.relu"))
        other.name = "torch.sigmoid";
    return cfx_tracer_class.record_call(s, &other, out);
}

TEST_CASE(custom_proxy_input_dependent_control_flow)
{
    cfx_scope_class mine = cfx_tracer_class;
    mine.ask = answer_no;
    mine.record_call = never_relu;
    cfx_trace_options o = {.cls = &mine};
    assert_ok(trace_with(branch, "x", &o));
    assert_code("    neg = torch.neg(x);  x = None\n");
    assert_ok(trace_with(relu_mul, "x y", &o));
    assert_code("    sigmoid = torch.sigmoid(x);  x = None\n");
}

/* ---- Wrapped functions ---- */

FN(square_plus_one)
{
    ck_assert_str_eq(user, "mine");
    cfx_value y = cfx_square(s, in[0]);
    return cfx_tuple(s, cfx_add(s, y, cfx_int(1)), cfx_int(7));
}

static char mine[] = "mine";

static cfx_wrapped wrapped = {
    .op = {.schema = "square_plus_one(Tensor x) -> any",
           .aliases = "my.square_plus_one",
           .doc = "x * x + 1, and seven."},
    .fn = square_plus_one,
    .user = mine,
};

FN(calls_wrapped)
{
    (void)user;
    cfx_value y = cfx_nth(s, cfx_wrapped_call(s, &wrapped, in, 1), 0);
    return cfx_call_function(s, "my.square_plus_one", CFX_ARGS(y));
}

TEST_CASE(wrap)
{
    cfx_scope s;
    assert_ok(cfx_wrap(ctx, &wrapped, &err));
    assert_ok(trace(calls_wrapped, "x"));
    assert_graph(
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %square_plus_one : [num_users=1] = call_function[target="
        "my.square_plus_one](args = (%x,), kwargs = {})\n"
        "    %getitem : [num_users=1] = call_function[target="
        "operator.getitem](args = (%square_plus_one, 0), kwargs = {})\n"
        "    %square_plus_one_1 : [num_users=1] = call_function[target="
        "my.square_plus_one](args = (%getitem,), kwargs = {})\n"
        "    return square_plus_one_1");
    cfx_value x = row(2, 1), out = run_module(gm, &x, 1);
    ck_assert_float_eq(at(out.u.seq->item[0], 1), 26);
    ck_assert_int_eq(out.u.seq->item[1].u.i, 7);
    cfx_value_unref(out);
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    out = calls_wrapped(&s, &x, NULL);
    ck_assert_float_eq(at(out.u.seq->item[0], 0), 5);
    cfx_scope_release(&s);
    cfx_value_unref(x);
}

TEST_CASE(wrapped_retrace)
{
    assert_ok(cfx_wrap(ctx, &wrapped, &err));
    assert_ok(trace(calls_wrapped, "x"));
    char before[sizeof(text)];
    cfx_module *first_trace = gm;
    snprintf(before, sizeof(before), "%s", graph_text(gm));
    gm = NULL;
    assert_ok(cfx_symbolic_trace(&gm, first_trace, NULL, &err));
    assert_graph(before);
    cfx_module_unref(first_trace);
}

/* ---- Over a graph that is there ---- */

TEST_CASE(graph_edit_with_proxy)
{
    cfx_tracer t = {0};
    assert_ok(trace(relu_mul, "x y"));
    cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_node *mul = node("mul"), *end = cfx_graph_output_node(g);
    cfx_graph_inserting_before(g, end);
    assert_ok(cfx_tracer_init(&t, g, NULL, &err));
    cfx_value seven = row(1, 7);
    cfx_value y = cfx_add(&t.base, cfx_value_of_node(mul), seven);
    y = cfx_named(&t.base, "more", y);
    assert_ok(cfx_scope_status(&t.base, &err));
    cfx_tracer_release(&t);
    assert_ok(cfx_node_set_args(end, &y, 1, &err));
    assert_ok(cfx_graph_lint(g, &err));
    assert_code("    _tensor_constant0 = self._tensor_constant0\n"
                "    more = torch.add(mul, _tensor_constant0);");
    cfx_value in[] = {row(1, 2), row(1, 3)}, out = run_module(gm, in, 2);
    ck_assert_float_eq(at(out, 0), 13);
    cfx_value_unref(out);
    cfx_value_unref(in[0]);
    cfx_value_unref(in[1]);
    cfx_value_unref(seven);
}

TEST_CASE(constants_need_a_module)
{
    cfx_graph *g;
    cfx_tracer t = {0};
    cfx_value seven = row(1, 7);
    assert_ok(cfx_graph_new(&g, ctx, &err));
    cfx_node *x = cfx_graph_placeholder(g, "x", &err);
    assert_ok(cfx_tracer_init(&t, g, NULL, &err));
    cfx_add(&t.base, cfx_value_of_node(x), seven);
    ck_assert_int_eq(cfx_scope_status(&t.base, &err), CFX_EUNSUPPORTED);
    cfx_tracer_release(&t);
    cfx_graph_free(g);
    cfx_value_unref(seven);
}

TEST_SUITE(tracer_proxy, .setup = setup, .teardown = teardown, .timeout = 60)
