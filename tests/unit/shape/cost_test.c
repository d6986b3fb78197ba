/*
 * cost_test -- what graphs cost: counts of nodes, groups, totals; symbols;
 * what subclasses change.
 */
#include "tests/unit/shape/cost_test.h"
#include "tests/unit/unit.h"

static cfx_cost_prop p;

/* Count the model on one input of that shape. */
static void count_by(const cfx_cost_prop_class *cls, const char *text)
{
    cfx_value x = shape(text);
    p = (cfx_cost_prop){.nnodes = 0};
    ck_assert_msg(!cfx_cost_prop_init(&p, cls, gm, env, &err), "%s", err.text);
    ck_assert_msg(!cfx_cost_prop_run(&p, &x, 1, &err), "%s", err.text);
    cfx_value_unref(x);
}

static void count(const char *text)
{
    count_by(NULL, text);
}

static void done(void)
{
    cfx_cost_prop_release(&p);
}

static const cfx_cost_node *row(const char *name)
{
    const cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), name);
    ck_assert_msg(n != NULL, "no node %s", name);
    return cfx_cost_prop_of(&p, n);
}

static void assert_dim(cfx_dim d, const char *text)
{
    char have[256];
    cfx_dim_format(d, have, sizeof(have));
    ck_assert_str_eq(have, text);
}

static void assert_macs(const char *name, const char *macs)
{
    assert_dim(row(name)->cost.macs, macs);
}

/* ---- Counts ---- */

TEST_CASE(the_cost_of_a_node_is_that_of_its_calls)
{
    model(small_net);
    count("f32[1,3,8,8]");
    assert_macs("a_conv", "6912"); /* 4*8*8 * 3*9 */
    assert_dim(row("a_conv")->cost.ops, "256");
    assert_macs("a_side", "768");
    assert_dim(row("a_side")->cost.ops, "0");
    assert_macs("add", "0");
    assert_dim(row("add")->cost.ops, "256");
    assert_dim(row("add")->cost.bytes_read, "2048");
    assert_dim(row("add")->cost.bytes_written, "1024");
    assert_macs("fc", "20");
    assert_dim(row("x")->cost.bytes_read, "0");
    ck_assert_uint_eq(row("x")->calls, 0);
    ck_assert_uint_eq(row("fc")->calls, 1);
    ck_assert_int_eq(row("fc")->dtype, CFX_F32);
    ck_assert_int_eq(row("fc")->value.kind, CFX_TENSOR);
    done();
}

TEST_CASE(a_tensor_is_read_once)
{
    model("graph():\n"
          "    %x : [num_users=2] = placeholder[target=x]\n"
          "    %add : [num_users=1] = call_function[target=operator.add](args "
          "= (%x, %x), kwargs = {})\n"
          "    %cat : [num_users=1] = call_function[target=torch.cat](args = "
          "([%add, %x, %add],), kwargs = {})\n"
          "    return cat");
    count("f32[10]");
    assert_dim(row("add")->cost.bytes_read, "40");
    assert_dim(row("cat")->cost.bytes_read, "80");
    done();
}

TEST_CASE(counts_of_symbols_are_expressions)
{
    model(small_net);
    count("f32[N,3,H,H]");
    assert_macs("a_conv", "108*H**2*N");
    assert_dim(row("add")->cost.bytes_written, "16*H**2*N");
    assert_dim(cfx_cost_flops(env, &row("fc")->cost), "45*N");
    done();
}

TEST_CASE(totals_add_up)
{
    cfx_cost_sum t;
    model(small_net);
    count("f32[1,3,8,8]");
    ck_assert_int_eq(cfx_cost_prop_total(&t, &p, &err), CFX_OK);
    assert_dim(t.cost.macs, "7700");
    assert_dim(t.parameters, "149"); /* 108 + 4, 12, 20 + 5 */
    assert_dim(t.parameter_bytes, "596");
    assert_dim(t.buffer_bytes, "0");
    ck_assert_uint_eq(t.nodes, 7);
    done();
}

TEST_CASE(a_walk_may_be_made_again)
{
    cfx_value x = shape("f32[2,3,8,8]");
    model(small_net);
    count("f32[1,3,8,8]");
    ck_assert_int_eq(cfx_cost_prop_run(&p, &x, 1, &err), CFX_OK);
    assert_macs("a_conv", "13824");
    ck_assert_uint_eq(row("a_conv")->nweights, 2);
    cfx_value_unref(x);
    done();
}

TEST_CASE(errors_tell_the_node)
{
    cfx_value x = shape("f32[1,4,8,8]");
    model(small_net);
    p = (cfx_cost_prop){.nnodes = 0};
    ck_assert_int_eq(cfx_cost_prop_init(&p, NULL, gm, env, &err), CFX_OK);
    ck_assert_int_eq(cfx_cost_prop_run(&p, &x, 1, &err), CFX_ESHAPE);
    ck_assert_msg(strstr(err.text, "While executing %a_conv") != NULL, "%s",
                  err.text);
    cfx_value_unref(x);
    done();
}

TEST_CASE(convolutions_name_another_algorithm)
{
    model("Net(\n"
          "  (wide): Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1), "
          "padding=(1, 1))\n"
          "  (strided): Conv2d(64, 64, kernel_size=(3, 3), stride=(2, 2))\n"
          ")\n\ngraph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %wide : [num_users=1] = call_module[target=wide](args = (%x,), "
          "kwargs = {})\n"
          "    %strided : [num_users=1] = call_module[target=strided](args = "
          "(%wide,), kwargs = {})\n"
          "    return strided\n");
    count("f32[1,64,56,56]");
    ck_assert_str_eq(row("wide")->algorithm, "winograd");
    ck_assert_ptr_eq(row("strided")->algorithm, NULL);
    assert_macs("wide", "115605504");
    done();
    count("f32[N,64,56,56]"); /* nobody knows yet */
    ck_assert_ptr_eq(row("wide")->algorithm, NULL);
    done();
}

TEST_CASE(what_is_known_by_value_costs_the_same)
{
    model("graph():\n"
          "    %x : [num_users=2] = placeholder[target=x]\n"
          "    %arange : [num_users=1] = call_function[target=torch.arange]("
          "args = (4,), kwargs = {dtype: torch.float32})\n"
          "    %exp : [num_users=1] = call_function[target=torch.exp](args = "
          "(%arange,), kwargs = {})\n"
          "    %add : [num_users=1] = call_function[target=operator.add](args "
          "= (%x, %exp), kwargs = {})\n"
          "    return add\n");
    count("f32[3,4]");
    assert_dim(row("exp")->cost.transcendental, "4");
    assert_dim(row("exp")->cost.bytes_read, "16");
    assert_dim(row("add")->cost.bytes_written, "48");
    done();
}

/* ---- Graphs in graphs ---- */

static const char in_x[] = "    %x : [num_users=1] = placeholder[target=x]\n";

/* Children f and g, which multiply by a matrix of 6*6 and of 6*60. */
static void nested(const char *body)
{
    char text[4096];
    int n = snprintf(
        text, sizeof(text),
        "# cfx 1\nNet(\n"
        "  (f): Sub(\n    (l): Linear(in_features=6, out_features=6, "
        "bias=False)\n  )\n"
        "  (g): Sub(\n    (l): Linear(in_features=6, out_features=60, "
        "bias=False)\n    (k): Linear(in_features=60, out_features=6, "
        "bias=False)\n  )\n)\n\ngraph():\n%s%s\n"
        "graph f():\n%s    %%l : [num_users=1] = call_module[target=l]"
        "(args = (%%x,), kwargs = {})\n    return (%%l,)\n\n"
        "graph g():\n%s    %%l : [num_users=1] = call_module[target=l]"
        "(args = (%%x,), kwargs = {})\n    %%k : [num_users=1] = call_module["
        "target=k](args = (%%l,), kwargs = {})\n    return (%%k,)\n",
        in_x, body, in_x, in_x);
    ck_assert_int_lt(n, (int)sizeof(text));
    model(text);
}

TEST_CASE(what_a_called_graph_does_is_the_calls)
{
    cfx_cost_sum t;
    nested("    %f : [num_users=1] = call_module[target=f](args = (%x,), "
           "kwargs = {})\n    %g : [num_users=1] = call_function["
           "target=operator.getitem](args = (%f, 0), kwargs = {})\n"
           "    return g\n");
    count("f32[10,6]");
    assert_macs("f", "360");
    ck_assert_uint_eq(row("f")->nweights, 1);
    ck_assert_int_eq(cfx_cost_prop_total(&t, &p, &err), CFX_OK);
    assert_dim(t.parameters, "756"); /* with g's, which nothing reads */
    done();
}

TEST_CASE(of_cond_the_dearer_branch_counts)
{
    nested("    %p : [num_users=1] = call_function[target=torch.any](args = "
           "(%x,), kwargs = {})\n"
           "    %f : [num_users=1] = get_attr[target=f]\n"
           "    %g : [num_users=1] = get_attr[target=g]\n"
           "    %c : [num_users=1] = call_function[target="
           "torch.ops.higher_order.cond](args = (%p, %f, %g, (%x,)), kwargs = "
           "{})\n    return c\n");
    count("f32[10,6]");
    assert_macs("c", "7200");
    done();
}

TEST_CASE(of_map_each_round_counts)
{
    nested("    %f : [num_users=1] = get_attr[target=f]\n"
           "    %m : [num_users=1] = call_function[target="
           "torch.ops.higher_order.map_impl](args = (%f, [%x], []), kwargs = "
           "{})\n    return m\n");
    count("f32[N,10,6]");
    assert_macs("m", "360*N");
    done();
}

/* ---- Groups ---- */

static const cfx_cost_group *group(const cfx_cost_groups *g, const char *key)
{
    for (size_t i = 0; i < g->n; i++)
        if (!strcmp(g->group[i].key, key))
            return &g->group[i];
    ck_abort_msg("no group '%s'", key);
    return NULL;
}

TEST_CASE(modules_have_what_is_below_them)
{
    cfx_cost_groups g;
    model(small_net);
    count("f32[1,3,8,8]");
    ck_assert_int_eq(cfx_cost_groups_make(&g, &p, CFX_COST_BY_MODULE, &err),
                     CFX_OK);
    assert_dim(group(&g, "")->sum.cost.macs, "7700");
    assert_dim(group(&g, "")->sum.parameters, "149");
    assert_dim(group(&g, "a")->sum.cost.macs, "7680");
    assert_dim(group(&g, "a.conv")->sum.parameters, "112");
    ck_assert_str_eq(group(&g, "a.conv")->type, "Conv2d");
    ck_assert_int_eq(group(&g, "a.conv")->depth, 2);
    ck_assert_int_eq(g.group[0].parent, -1);
    for (size_t i = 1; i < g.n; i++)
        ck_assert_int_lt(g.group[i].parent, (int64_t)i);
    cfx_cost_groups_release(&g);
    done();
}

TEST_CASE(operators_have_their_nodes)
{
    cfx_cost_groups g;
    model(small_net);
    count("f32[1,3,8,8]");
    ck_assert_int_eq(cfx_cost_groups_make(&g, &p, CFX_COST_BY_OPERATOR, &err),
                     CFX_OK);
    ck_assert_uint_eq(g.n, 4); /* Conv2d, operator.add, mean, Linear */
    assert_dim(group(&g, "Conv2d")->sum.cost.macs, "7680");
    ck_assert_uint_eq(group(&g, "Conv2d")->sum.nodes, 2);
    ck_assert_uint_eq(group(&g, "mean")->sum.nodes, 1);
    ck_assert_int_eq(g.of[0], -1);
    cfx_cost_groups_release(&g);
    done();
}

TEST_CASE(shared_parameters_count_once_in_sums)
{
    cfx_cost_groups g;
    cfx_cost_sum t;
    model("Net(\n"
          "  (l): Linear(in_features=4, out_features=4, bias=True)\n)\n\n"
          "graph():\n"
          "    %x : [num_users=1] = placeholder[target=x]\n"
          "    %l : [num_users=1] = call_module[target=l](args = (%x,), "
          "kwargs = {})\n"
          "    %l_1 : [num_users=1] = call_module[target=l](args = (%l,), "
          "kwargs = {})\n    return l_1\n");
    count("f32[2,4]");
    ck_assert_int_eq(cfx_cost_prop_total(&t, &p, &err), CFX_OK);
    assert_dim(t.parameters, "20");
    assert_dim(t.cost.macs, "64");
    ck_assert_uint_eq(row("l")->nweights, 2);
    ck_assert_uint_eq(row("l_1")->nweights, 2);
    ck_assert_int_eq(cfx_cost_groups_make(&g, &p, CFX_COST_BY_MODULE, &err),
                     CFX_OK);
    assert_dim(group(&g, "l")->sum.parameters, "20");
    assert_dim(group(&g, "")->sum.parameters, "20");
    cfx_cost_groups_release(&g);
    done();
}

/* ---- Subclasses ---- */

static cfx_status dear_call(cfx_cost_prop *it, cfx_call *call, cfx_cost *cost,
                            cfx_value *out);
static cfx_status dear_node(cfx_cost_prop *it, cfx_cost_node *n);

static const cfx_cost_prop_class dear_class = {
    .base = {.size = sizeof(cfx_cost_prop_class),
             .name = "dear",
             .super = &cfx_cost_prop_default.base},
    .call_cost = dear_call,
    .node_cost = dear_node,
};

/* A sum costs ten times as much. */
static cfx_status dear_call(cfx_cost_prop *it, cfx_call *call, cfx_cost *cost,
                            cfx_value *out)
{
    cfx_status st = CFX_COST_SUPER(&dear_class, call_cost)(it, call, cost,
                                                           out);
    if (cfx_call_is(call, "add"))
        cost->ops = cfx_dim_mul(call->env, cost->ops, cfx_dim_int(10));
    return st;
}

/* Count one multiply-add more for each node. */
static cfx_status dear_node(cfx_cost_prop *it, cfx_cost_node *n)
{
    n->cost.macs = cfx_dim_add(NULL, n->cost.macs, cfx_dim_int(1));
    return CFX_COST_SUPER(&dear_class, node_cost)(it, n);
}

static cfx_status dearer_call(cfx_cost_prop *it, cfx_call *call,
                              cfx_cost *cost, cfx_value *out);

static const cfx_cost_prop_class dearer_class = {
    .base = {.size = sizeof(cfx_cost_prop_class),
             .name = "dearer",
             .super = &dear_class.base},
    .call_cost = dearer_call,
};

static cfx_status dearer_call(cfx_cost_prop *it, cfx_call *call,
                              cfx_cost *cost, cfx_value *out)
{
    cfx_status st = CFX_COST_SUPER(&dearer_class, call_cost)(it, call, cost,
                                                             out);
    cost->ops = cfx_dim_add(call->env, cost->ops, cfx_dim_int(1));
    return st;
}

/* An interpreter's class, which knows nothing of costs. */
static const cfx_interp_class plain_class = {
    .size = sizeof(cfx_interp_class),
    .name = "plain",
    .super = &dear_class.base,
};

TEST_CASE(a_subclass_has_the_last_word)
{
    model(small_net);
    count_by(&dear_class, "f32[1,3,8,8]");
    assert_dim(row("add")->cost.ops, "2560");
    assert_macs("a_conv", "6913");
    assert_macs("x", "1");
    done();
}

TEST_CASE(a_subclass_of_a_subclass_chains_up)
{
    model(small_net);
    count_by(&dearer_class, "f32[1,3,8,8]");
    assert_dim(row("add")->cost.ops, "2561");
    assert_dim(row("a_conv")->cost.ops, "257");
    assert_macs("a_conv", "6913");
    done();
}

TEST_CASE(a_plain_class_inherits)
{
    model(small_net);
    count_by((const cfx_cost_prop_class *)(const void *)&plain_class,
             "f32[1,3,8,8]");
    assert_dim(row("add")->cost.ops, "2560");
    done();
}

/* ---- Lack of memory ---- */

static cfx_status count_and_sum(const char *text)
{
    cfx_cost_groups g = {.n = 0}, h = {.n = 0};
    cfx_cost_sum t;
    cfx_value x = CFX_NOTHING;
    p = (cfx_cost_prop){.nnodes = 0};
    cfx_status st = cfx_parse_shape(&x, ctx, env, text, strlen(text), &err);
    if (!st)
        st = cfx_cost_prop_init(&p, NULL, gm, env, &err);
    if (!st)
        st = cfx_cost_prop_run(&p, &x, 1, &err);
    if (!st)
        st = cfx_cost_prop_total(&t, &p, &err);
    if (!st)
        st = cfx_cost_groups_make(&g, &p, CFX_COST_BY_MODULE, &err);
    if (!st)
        st = cfx_cost_groups_make(&h, &p, CFX_COST_BY_OPERATOR, &err);
    cfx_cost_groups_release(&g);
    cfx_cost_groups_release(&h);
    cfx_cost_prop_release(&p);
    cfx_value_unref(x);
    return st;
}

TEST_CASE(every_allocation_may_fail)
{
    cfx_status st = CFX_ENOMEM;
    model(small_net);
    ck_assert_int_eq(count_and_sum("f32[N,3,8,8]"), CFX_OK);
    for (long n = 0; st && n < 10000; n++) {
        long before = held;
        err = (cfx_error){0};
        allowed = n;
        st = count_and_sum("f32[N,3,8,8]");
        allowed = -1;
        ck_assert(st == CFX_OK || st == CFX_ENOMEM);
        ck_assert_int_le(held, before + 4096); /* what the context keeps */
    }
    ck_assert_int_eq(st, CFX_OK);
}

TEST_SUITE(cost, .setup = setup, .teardown = teardown)
