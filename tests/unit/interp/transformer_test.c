/*
 * transformer_test -- graphs written anew by interpreting them: what torch.fx's
 * Transformer promises, and what it loses.
 */
#include "tests/unit/interp/trace_test.h"

#include "tests/unit/unit.h"
#include "tests/zoo/zoo.h"

static const char model[] =
    "Net(\n"
    "  (block): Module(\n"
    "    (fc): Linear(in_features=3, out_features=3, bias=True)\n"
    "    (drop): Dropout(p=0.5, inplace=False)\n"
    "  )\n"
    "  (act): ReLU()\n"
    ")\n\n"
    "graph():\n"
    "    %x : torch.Tensor [num_users=2] = placeholder[target=x]\n"
    "    %y : [num_users=1] = placeholder[target=y](default=1)\n"
    "    %my_add : int [num_users=1] = call_function[target=operator.add]("
    "args = (%x, %y), kwargs = {})\n"
    "    %block_fc : [num_users=1] = call_module[target=block.fc](args = "
    "(%my_add,), kwargs = {})\n"
    "    %block_drop : [num_users=1] = call_module[target=block.drop](args = "
    "(%block_fc,), kwargs = {})\n"
    "    %act : [num_users=1] = call_module[target=act](args = "
    "(%block_drop,), kwargs = {})\n"
    "    %weight : [num_users=1] = get_attr[target=block.fc.weight]\n"
    "    %mul : [num_users=1] = call_method[target=mul](args = (%act, "
    "%weight), kwargs = {})\n"
    "    return (mul, {'a': [x, 1]})\n";

static cfx_module *net;

static void make_net(void)
{
    net = parse(model);
    assert_ok(cfx_module_randomize(net, 1, &err));
}

static cfx_status transform(cfx_transformer *t, const cfx_interp_class *cls,
                            cfx_module *m, const cfx_trace_options *o)
{
    fresh();
    cfx_status st = cfx_transformer_init(t, cls, m, o, &err);
    if (!st)
        st = cfx_transform(t, &gm, &err);
    cfx_transformer_release(t);
    return st;
}

static void set_meta(cfx_module *m, const char *name, const char *key,
                     const char *text_)
{
    cfx_value v = cfx_str_new(ctx, text_, strlen(text_));
    cfx_node *n = cfx_graph_find(cfx_graph_module_graph(m), name);
    assert_ok(cfx_node_set_meta(n, key, v, &err));
    cfx_value_unref(v);
}

static void assert_meta(const char *name, const char *key, const char *want)
{
    cfx_value v = cfx_node_meta(node(name), key);
    ck_assert_int_eq(v.kind, CFX_STR);
    ck_assert_str_eq(v.u.str->text, want);
}

TEST_CASE(transformer_noop)
{
    cfx_transformer t = {0};
    make_net();
    set_meta(net, "x", "tag", "input");
    set_meta(net, "mul", "tag", "product");
    set_meta(net, "mul", "stack_trace", "File: here:1");
    set_meta(net, "weight", "nn_module_stack", "fc");
    set_meta(net, "output", "tag", "result");
    assert_ok(transform(&t, &cfx_transformer_class, net, NULL));
    ck_assert_ptr_nonnull(strstr(model, graph_text(gm)));
    ck_assert_str_eq(cfx_module_class_name(gm), "Net");
    ck_assert_ptr_eq(
        cfx_module_state(cfx_module_at(gm, "block.fc"), "weight")->tensor,
        cfx_module_state(cfx_module_at(net, "block.fc"), "weight")->tensor);
    assert_ok(cfx_graph_lint(cfx_graph_module_graph(gm), &err));
    assert_meta("x", "tag", "input");
    assert_meta("mul", "tag", "product");
    assert_meta("mul", "stack_trace", "File: here:1");
    assert_meta("weight", "nn_module_stack", "fc");
    assert_meta("output", "tag", "result");
    ck_assert_str_eq(node("x")->type->text, "torch.Tensor");
    ck_assert_str_eq(node("my_add")->type->text, "int");
    cfx_module_unref(net);
}

/* ---- Another target ---- */

struct swap {
    cfx_transformer base;
    cfx_value mul;
    int seen;
};

static const cfx_interp_class swap_class;

static cfx_status swap_function(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    struct swap *self = (struct swap *)it;
    cfx_call other = *call;
    self->seen++;
    if (cfx_call_is(call, "add"))
        other.target = self->mul;
    return CFX_SUPER(&swap_class, call_function)(it, &other, out);
}

static const cfx_interp_class swap_class = {
    .size = sizeof(cfx_interp_class),
    .name = "swap",
    .super = &cfx_transformer_class,
    .call_function = swap_function,
};

/* Two levels: chaining up goes by the class a hook was written for. */
static const cfx_interp_class swap_more_class;

static cfx_status more_function(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    return CFX_SUPER(&swap_more_class, call_function)(it, call, out);
}

static const cfx_interp_class swap_more_class = {
    .size = sizeof(cfx_interp_class),
    .name = "swap_more",
    .super = &swap_class,
    .call_function = more_function,
};

TEST_CASE(transformer_op_swap)
{
    struct swap t = {.seen = 0};
    make_net();
    set_meta(net, "my_add", "stack_trace", "File: there:2");
    t.mul = cfx_str_new(ctx, "operator.mul", 12);
    assert_ok(transform(&t.base, &swap_more_class, net, NULL));
    assert_code("    mul = x * y;  y = None\n"
                "    block_fc = self.block.fc(mul);  mul = None\n");
    ck_assert_int_eq(t.seen, 1);
    assert_meta("mul", "stack_trace", "File: there:2");
    ck_assert(cfx_node_meta(node("mul"), "from_node").kind);
    cfx_value_unref(t.mul);
    cfx_module_unref(net);
}

/* ---- Nothing in its place, or more ---- */

static const cfx_interp_class edit_class;

static cfx_status edit_module(cfx_interp *it, const cfx_call *call,
                              cfx_value *out)
{
    cfx_scope *s = it->scope;
    const cfx_module *m = cfx_module_at(it->module, call->target.u.str->text);
    const char *type = cfx_module_class_name(m);
    cfx_value x = call->args[0];
    if (!strcmp(type, "Dropout")) {
        *out = x;
        return CFX_OK;
    }
    if (strcmp(type, "ReLU"))
        return CFX_SUPER(&edit_class, call_module)(it, call, out);
    *out = cfx_mul(s, cfx_gt(s, x, cfx_int(0)), x);
    return cfx_scope_status(s, it->err);
}

static const cfx_interp_class edit_class = {
    .size = sizeof(cfx_interp_class),
    .name = "edit",
    .super = &cfx_transformer_class,
    .call_module = edit_module,
};

TEST_CASE(proxies_decompose_and_remove_modules)
{
    cfx_transformer t = {0};
    make_net();
    set_meta(net, "act", "stack_trace", "File: relu:3");
    assert_ok(transform(&t, &edit_class, net, NULL));
    assert_code("    block_fc = self.block.fc(my_add);  my_add = None\n"
                "    gt = torch.gt(block_fc, 0)\n"
                "    mul = torch.mul(gt, block_fc);  gt = block_fc = None\n"
                "    weight = self.block.fc.weight\n"
                "    mul_1 = mul.mul(weight);  mul = weight = None\n");
    ck_assert_ptr_null(cfx_module_at(gm, "block.drop"));
    ck_assert_ptr_null(cfx_module_at(gm, "act"));
    assert_meta("gt", "stack_trace", "File: relu:3");
    assert_meta("mul", "stack_trace", "File: relu:3");
    cfx_value x = matrix(3, 3, -4);
    cfx_value a = run_module(net, &x, 1), b = run_module(gm, &x, 1);
    for (int64_t i = 0; i < 9; i++)
        ck_assert_float_eq(at(a.u.seq->item[0], i), at(b.u.seq->item[0], i));
    cfx_value_unref(a);
    cfx_value_unref(b);
    cfx_value_unref(x);
    cfx_module_unref(net);
}

static bool no_leaf(void *user, const cfx_module *m, const char *path)
{
    (void)m;
    return user && !strcmp(path, user);
}

TEST_CASE(modules_are_inlined_down_to_operators)
{
    char keep[] = "act";
    cfx_transformer t = {0};
    cfx_trace_options o = {.size = sizeof(o), .is_leaf = no_leaf};
    make_net();
    set_meta(net, "block_fc", "stack_trace", "File: linear:4");
    assert_ok(transform(&t, &cfx_transformer_class, net, &o));
    assert_code("    block_fc_weight = self.block.fc.weight\n"
                "    block_fc_bias = self.block.fc.bias\n"
                "    linear = torch.nn.functional.linear(my_add, "
                "block_fc_weight, bias = block_fc_bias);");
    assert_code("    relu = torch.relu(dropout);  dropout = None\n");
    assert_meta("linear", "stack_trace", "File: linear:4");
    ck_assert_ptr_null(cfx_module_at(gm, "act"));
    o.user = keep;
    assert_ok(transform(&t, &cfx_transformer_class, net, &o));
    assert_code("    act = self.act(dropout);  dropout = None\n");
    cfx_module_unref(net);
}

/* ---- Several results ---- */

TEST_CASE(transformer_multi_outputs)
{
    cfx_transformer t = {0};
    net = parse("graph():\n"
                "    %x : [num_users=1] = placeholder[target=x]\n"
                "    %topk : [num_users=2] = call_function[target="
                "torch.topk](args = (%x, 2), kwargs = {})\n"
                "    %a : [num_users=1] = call_function[target="
                "operator.getitem](args = (%topk, 0), kwargs = {})\n"
                "    %b : [num_users=1] = call_function[target="
                "operator.getitem](args = (%topk, 1), kwargs = {})\n"
                "    return (a, [b, None])");
    assert_ok(transform(&t, &cfx_transformer_class, net, NULL));
    cfx_value x = row(4, 1), out = run_module(gm, &x, 1);
    ck_assert_float_eq(at(out.u.seq->item[0], 0), 4);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_module_unref(net);
}

TEST_CASE(functions_that_are_unknown_pass_through)
{
    cfx_transformer t = {0};
    net = parse("graph():\n"
                "    %x : [num_users=1] = placeholder[target=x]\n"
                "    %args : [num_users=1] = placeholder[target=*args]\n"
                "    %f : [num_users=1] = call_function[target=my.unknown]("
                "args = (%x, 'a'), kwargs = {})\n"
                "    %g : [num_users=1] = call_method[target=nothing](args = "
                "(%f,), kwargs = {k: %args})\n"
                "    return g");
    char before[sizeof(text)];
    snprintf(before, sizeof(before), "%s", graph_text(net));
    assert_ok(transform(&t, &cfx_transformer_class, net, NULL));
    assert_graph(before);
    cfx_module_unref(net);
}

/* ---- Failures ---- */

static cfx_status fail_method(cfx_interp *it, const cfx_call *call,
                              cfx_value *out)
{
    (void)call;
    *out = cfx_int(cfx_len(it->scope, call->args[0]));
    return cfx_scope_status(it->scope, it->err);
}

static const cfx_interp_class fail_class = {
    .size = sizeof(cfx_interp_class),
    .name = "fail",
    .super = &cfx_transformer_class,
    .call_method = fail_method,
};

TEST_CASE(failures_name_the_node)
{
    cfx_transformer t = {0};
    make_net();
    assert_fails(transform(&t, &fail_class, net, NULL), CFX_EUNSUPPORTED,
                 "'len' is not supported in symbolic tracing by default");
    assert_ok(cfx_transformer_init(&t, &fail_class, net, NULL, &err));
    ck_assert_int_eq(cfx_transform(&t, &gm, &err), CFX_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "While executing %mul : "));
    cfx_transformer_release(&t);
    err = (cfx_error){0};
    assert_ok(
        cfx_transformer_init(&t, &cfx_transformer_class, net, NULL, &err));
    assert_ok(cfx_transform(&t, &gm, &err));
    fresh();
    assert_fails(cfx_transform(&t, &gm, &err), CFX_EINVAL, "one module");
    cfx_transformer_release(&t);
    cfx_module_unref(net);
}

static bool inline_all;

static cfx_status attempt(void)
{
    cfx_transformer t = {0};
    cfx_trace_options o = {.size = sizeof(o),
                           .is_leaf = inline_all ? no_leaf : NULL};
    cfx_status st = cfx_transformer_init(&t, &cfx_transformer_class, net, &o,
                                         &err);
    if (!st)
        st = cfx_transform(&t, &gm, &err);
    cfx_transformer_release(&t);
    return st;
}

TEST_CASE(lack_of_memory_is_told_everywhere)
{
    make_net();
    exhaust(attempt);
    inline_all = true;
    exhaust(attempt);
    cfx_module_unref(net);
}

/* ---- Real models ---- */

static void open_model(zoo_model *m, const char *name)
{
    const char *zoo = getenv("CFX_ZOO"), *src = getenv("srcdir");
    char digests[512];
    snprintf(digests, sizeof(digests), "%s/tests/golden/zoo", src ? src : ".");
    assert_ok(zoo_open(m, ctx, zoo ? zoo : "zoo", digests, name, &err));
}

TEST_CASE(models_of_the_zoo_are_written_as_they_are)
{
    static const char *const names[] = {"resnet18", "efficientnet_b0",
                                        "inception_v3", "vit_b_16"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        cfx_transformer t = {0};
        zoo_model m = {.nin = 0};
        bool equal = false;
        open_model(&m, names[i]);
        assert_ok(transform(&t, &cfx_transformer_class, m.gm, NULL));
        assert_ok(cfx_graph_equal(&equal, cfx_graph_module_graph(gm),
                                  cfx_graph_module_graph(m.gm), &err));
        ck_assert_msg(equal, "%s", names[i]);
        zoo_close(&m);
    }
}

/* Attention asks for the rank of its input: vit needs its metas. */
TEST_CASE(models_of_the_zoo_compute_the_same_without_modules)
{
    static const char *const names[] = {"resnet18", "mobilenet_v3_small",
                                        "squeezenet1_1", "vit_b_16"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        zoo_model m = {.nin = 0};
        open_model(&m, names[i]);
        assert_ok(zoo_fill(&m, &err));
        cfx_trace_options o = {.size = sizeof(o),
                               .is_leaf = no_leaf,
                               .metas = m.in,
                               .nmetas = m.nin};
        fresh();
        assert_ok(cfx_symbolic_trace(&gm, m.gm, &o, &err));
        for (const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));
             n; n = cfx_node_next(n))
            ck_assert_int_ne(n->op, CFX_CALL_MODULE);
        cfx_value a = run_module(m.gm, m.in, m.nin);
        cfx_value b = run_module(gm, m.in, m.nin);
        ck_assert_int_eq(memcmp(a.u.tensor->data, b.u.tensor->data,
                                (size_t)cfx_tensor_numel(a.u.tensor) * 4),
                         0);
        cfx_value_unref(a);
        cfx_value_unref(b);
        zoo_close(&m);
    }
}

TEST_SUITE(transformer, .setup = setup, .teardown = teardown, .timeout = 60)
