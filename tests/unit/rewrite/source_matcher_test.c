/*
 * source_matcher_test -- nodes grouped by what they were traced from.
 */
#include <stdlib.h>
#include <string.h>

#include <cfx/source_matcher.h>
#include <cfx/text.h>
#include <cfx/tracer.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/rewrite/rewrite_test.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;
static cfx_graph *graph;
static cfx_source_partitions found;

static void setup(void)
{
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    graph = NULL;
    found = (cfx_source_partitions){0};
}

static void teardown(void)
{
    cfx_source_partitions_release(&found);
    cfx_graph_free(graph);
    cfx_context_free(ctx);
}

/* Set one key of meta, in Python's notation, for several nodes. */
static void mark(const char *key, const char *value, const char *names)
{
    cfx_value v;
    char list[128], *name;
    ck_assert_msg(!cfx_parse_value(&v, ctx, value, strlen(value), &err), "%s",
                  err.text);
    strcpy(list, names);
    for (name = strtok(list, " "); name; name = strtok(NULL, " ")) {
        cfx_node *n = cfx_graph_find(graph, name);
        ck_assert_msg(n != NULL, "%s", name);
        ck_assert_int_eq(cfx_node_set_meta(n, key, v, &err), CFX_OK);
    }
    cfx_value_unref(v);
}

static void find(const char *wanted)
{
    static char list[128];
    static const char *names[8];
    size_t n = 0;
    cfx_source_partitions_release(&found);
    strcpy(list, wanted);
    for (char *s = strtok(list, " "); s; s = strtok(NULL, " "))
        names[n++] = s;
    ck_assert_msg(
        !cfx_get_source_partitions(&found, graph, names, n, NULL, NULL, &err),
        "%s", err.text);
}

static void names_are(cfx_node *const *nodes, size_t n, const char *expected)
{
    char got[256] = "";
    for (size_t i = 0; i < n; i++) {
        strcat(got, i ? " " : "");
        strcat(got, nodes[i]->name);
    }
    ck_assert_str_eq(got, expected);
}

static void is(size_t i, const char *name, const char *nodes,
               const char *inputs, const char *outputs, const char *params)
{
    ck_assert_uint_lt(i, found.n);
    const cfx_source_partition *p = &found.item[i];
    ck_assert_str_eq(p->name, name);
    names_are(p->nodes, p->nnodes, nodes);
    names_are(p->inputs, p->ninputs, inputs);
    names_are(p->outputs, p->noutputs, outputs);
    names_are(p->params, p->nparams, params);
}

static void linear_relu_linear(void)
{
    graph = new_graph(ctx,
                      "x | w1 = self.l1.weight | b1 = self.l1.bias |"
                      " t1 = torch.ops.aten.t.default(w1) |"
                      " a1 = torch.ops.aten.addmm.default(b1, x, t1) |"
                      " r = torch.ops.aten.relu.default(a1) |"
                      " w2 = self.l2.weight | b2 = self.l2.bias |"
                      " t2 = torch.ops.aten.t.default(w2) |"
                      " a2 = torch.ops.aten.addmm.default(b2, r, t2) | a2");
}

TEST_CASE(module_partitioner_linear_relu_linear)
{
    linear_relu_linear();
    mark("source_fn_stack", "[('net', 'my.Net'), ('l1', 'torch.nn.Linear')]",
         "w1 b1 t1 a1");
    mark("source_fn_stack", "[('relu', 'torch.nn.modules.ReLU')]", "r");
    mark("source_fn_stack", "[('l2', 'torch.nn.Linear')]", "w2 b2 t2 a2");
    find("Linear ReLU");
    ck_assert_uint_eq(found.n, 3);
    is(0, "l1", "w1 b1 t1 a1", "x", "a1", "w1 b1");
    is(1, "relu", "r", "a1", "r", "");
    is(2, "l2", "w2 b2 t2 a2", "r", "a2", "w2 b2");
    ck_assert_str_eq(found.item[0].source, "Linear");
    const cfx_source_partition *p = found.item;
    ck_assert(cfx_source_partitions_connected(&p[0], &p[1]));
    ck_assert(cfx_source_partitions_connected(&p[1], &p[2]));
    ck_assert(!cfx_source_partitions_connected(&p[0], &p[2]));
    ck_assert(!cfx_source_partitions_connected(&p[1], &p[0]));
}

/* Without source_fn_stack the module that a function stands in tells. */
TEST_CASE(module_partitioner_by_module_stack)
{
    linear_relu_linear();
    mark("nn_module_stack", "{'': ('', 'Net'), 'l1': ('l1', 'Linear')}",
         "t1 a1");
    mark("nn_module_stack", "{'': ('', 'Net'), 'l2': ('l2', 'Linear')}",
         "w2 t2 a2");
    find("torch.nn.Linear");
    ck_assert_uint_eq(found.n, 2);
    is(0, "l1", "t1 a1", "x", "a1", "w1 b1");
    /* get_attr nodes are in no partition then. */
    is(1, "l2", "t2 a2", "r", "a2", "w2 b2");
}

TEST_CASE(functional_partitioner_linear_relu_linear)
{
    linear_relu_linear();
    mark("source_fn_stack", "[('linear', 'torch.nn.functional.linear')]",
         "t1 a1");
    mark("source_fn_stack", "[('relu', 'torch.nn.functional.relu')]", "r");
    mark("source_fn_stack", "[('linear_1', 'torch.nn.functional.linear')]",
         "t2 a2");
    find("torch.nn.functional.linear");
    ck_assert_uint_eq(found.n, 2);
    is(0, "linear", "t1 a1", "x", "a1", "w1 b1");
    is(1, "linear_1", "t2 a2", "r", "a2", "w2 b2");
    find("torch.nn.functional.relu nobody");
    ck_assert_uint_eq(found.n, 1);
    find("torch.nn.linear");
    ck_assert_uint_eq(found.n, 0);
}

TEST_CASE(module_partitioner_conv_relu_maxpool)
{
    graph = new_graph(ctx,
                      "x | w = self.c.weight | b = self.c.bias |"
                      " k = torch.ops.aten.convolution.default(x, w, b) |"
                      " r = torch.ops.aten.relu.default(k) |"
                      " m = torch.ops.aten.max_pool2d_with_indices.default(r,"
                      " [2, 2]) | g = operator.getitem(m, 0) | g");
    mark("torch_fn", "('conv2d', 'function.conv2d')", "k");
    mark("torch_fn", "('relu', 'function.relu')", "r");
    mark("torch_fn", "('max_pool2d', 'function.max_pool2d')", "m g");
    find("conv2d max_pool2d relu");
    ck_assert_uint_eq(found.n, 3);
    is(0, "conv2d", "k", "x", "k", "w b");
    is(2, "max_pool2d", "m g", "r", "g", "");
    ck_assert(
        !cfx_source_partitions_connected(&found.item[0], &found.item[2]));
}

TEST_CASE(inputs_are_found_in_keywords_and_lists)
{
    graph = new_graph(ctx, "x y | a = torch.neg(x) | c = torch.cat([a, y]) |"
                           " s = torch.sum(c, dim=a) | (s, c)");
    mark("source_fn_stack", "[('join', 'join')]", "c s");
    find("join");
    is(0, "join", "c s", "a y", "c s", "");
}

/* Two uses of one module take turns in the graph. */
TEST_CASE(interleaved_partitions_stay_apart)
{
    graph = new_graph(ctx, "x | a = torch.neg(x) | b = torch.abs(x) |"
                           " c = torch.add(a, x) | d = torch.add(b, x) |"
                           " e = torch.add(c, d) | e");
    mark("source_fn_stack", "[('m', 'M')]", "a c");
    mark("source_fn_stack", "[('m@1', 'M')]", "b d");
    find("M");
    ck_assert_uint_eq(found.n, 2);
    is(0, "m", "a c", "x", "c", "");
    is(1, "m@1", "b d", "x", "d", "");
}

static bool is_not_neg(void *user, const cfx_node *n)
{
    (void)user;
    return !cfx_node_is(n, "neg");
}

TEST_CASE(partitions_can_be_filtered)
{
    const char *wanted[] = {"M"};
    graph = new_graph(ctx, "x | a = torch.neg(x) | b = torch.abs(a) | b");
    mark("source_fn_stack", "[('m', 'M')]", "a");
    mark("source_fn_stack", "[('m@1', 'M')]", "b");
    ck_assert_int_eq(cfx_get_source_partitions(&found, graph, wanted, 1,
                                               is_not_neg, NULL, &err),
                     CFX_OK);
    ck_assert_uint_eq(found.n, 1);
    is(0, "m@1", "b", "a", "b", "");
}

static bool no_leaf(void *user, const cfx_module *m, const char *path)
{
    (void)user;
    (void)m;
    (void)path;
    return false;
}

/* Nodes inside a traced module inherit the stack of its call. */
TEST_CASE(traced_modules_are_found_again)
{
    static const char text[] =
        "Net(\n"
        "  (fc1): Linear(in_features=4, out_features=4, bias=True)\n"
        "  (act): ReLU()\n"
        "  (fc2): Linear(in_features=4, out_features=2, bias=False)\n"
        ")\n\n"
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %fc1 : [num_users=1] = call_module[target=fc1](args = (%x,), "
        "kwargs = {})\n"
        "    %act : [num_users=1] = call_module[target=act](args = (%fc1,), "
        "kwargs = {})\n"
        "    %fc2 : [num_users=1] = call_module[target=fc2](args = (%act,), "
        "kwargs = {})\n"
        "    return fc2\n";
    cfx_module *net, *gm;
    const cfx_trace_options o = {.size = sizeof(o), .is_leaf = no_leaf};
    ck_assert_msg(!cfx_parse_model(&net, ctx, text, strlen(text), "net", &err),
                  "%s", err.text);
    graph = cfx_graph_module_graph(net);
    mark("nn_module_stack", "{'fc1': ('fc1', 'Linear')}", "fc1");
    mark("nn_module_stack", "{'act': ('act', 'ReLU')}", "act");
    mark("nn_module_stack", "{'fc2': ('fc2', 'Linear')}", "fc2");
    ck_assert_msg(!cfx_symbolic_trace(&gm, net, &o, &err), "%s", err.text);
    ck_assert_int_eq(cfx_graph_copy(&graph, cfx_graph_module_graph(gm), &err),
                     CFX_OK);
    find("Linear ReLU");
    ck_assert_uint_eq(found.n, 3);
    ck_assert_str_eq(found.item[0].name, "fc1");
    ck_assert_uint_eq(found.item[0].nparams, 2);
    ck_assert_str_eq(found.item[1].name, "act");
    ck_assert_uint_eq(found.item[2].nparams, 1);
    ck_assert(cfx_source_partitions_connected(&found.item[0], &found.item[1]));
    cfx_module_unref(gm);
    cfx_module_unref(net);
}

TEST_CASE(every_lack_of_memory_is_told)
{
    cfx_options o = {.size = sizeof(o),
                     .allocator = {test_alloc, test_free, NULL}};
    const char *wanted[] = {"Linear"};
    cfx_context_free(ctx);
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    linear_relu_linear();
    mark("source_fn_stack", "[('l1', 'torch.nn.Linear')]", "w1 b1 t1 a1");
    bool again = true;
    for (int n = 0; again; n++) {
        allowed = n;
        refused = false;
        cfx_status st = cfx_get_source_partitions(&found, graph, wanted, 1,
                                                  NULL, NULL, &err);
        again = refused;
        allowed = -1;
        ck_assert_msg(st == (again ? CFX_ENOMEM : CFX_OK), "%d: %d", n, st);
        cfx_source_partitions_release(&found);
    }
}

TEST_SUITE(source_matcher, .setup = setup, .teardown = teardown, .timeout = 60)
