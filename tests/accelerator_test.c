/*
 * accelerator_test -- parts of graphs go to devices that hold them.
 */
#include "accelerator_test.h"

#define LINEAR                                                                \
    "Net(\n  (linear): Linear(in_features=4, out_features=4, bias=True)\n)\n\n"
#define CONSTANTS                                                             \
    "state:\n    _tensor_constant0: f32[4]\n    _tensor_constant1: f32[4]\n"  \
    "    _tensor_constant2: f32[4]\n\n"

static void place_each(void);

/* What the context reads once is there before a test begins to count. */
static void warm_up(void)
{
    setup();
    cfx_graph_free(g);
    ck_assert_ptr_nonnull(cfx_find_module_type(ctx, "Linear"));
    ck_assert_ptr_nonnull(cfx_find_function(ctx, "torch.relu"));
    cfx_module_unref(parse(LINEAR "graph():\n    %x : [num_users=1] = "
                           "placeholder[target=x]\n    return x\n"));
    place_each();
    held_before = cfx_context_memory(ctx);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}

/* ---- Short ways to say things ---- */

static cfx_value in[3];
static int nin;

/* The inputs are f32[a] each, until done(). */
static void vectors(int n, int64_t a)
{
    cfx_dim shape[] = {cfx_dim_int(a)};
    for (nin = 0; nin < n; nin++) {
        cfx_tensor *t;
        assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, 1, shape, NULL, &err));
        in[nin] = cfx_value_of_tensor(t);
    }
}

static cfx_place_options options;
static cfx_placement placement;
static cfx_module *model;

static void use(const char *text, int ninputs)
{
    model = parse(text);
    vectors(ninputs, 4);
    options = (cfx_place_options){.size = sizeof(options), .inputs = in,
                                  .ninputs = (size_t)nin};
}

static void done(void)
{
    cfx_placement_release(&placement);
    cfx_module_unref(model);
    for (int i = 0; i < nin; i++)
        cfx_value_unref(in[i]);
}

/* Devices by memory; their ids are 0, 1, 2, ... */
static cfx_status place(const uint64_t *memory)
{
    cfx_device device[32];
    size_t n = 0;
    for (; memory[n]; n++)
        device[n] = (cfx_device){"dev", memory[n], (int64_t)n};
    return cfx_place_on_devices(&placement, model, device, n, &options, &err);
}

#define PLACE(...) place((const uint64_t[]){__VA_ARGS__, 0})

static void assert_placed(const char *want)
{
    static golden_text got;
    got.len = 0;
    assert_ok(cfx_print_placement((cfx_sink){into_text, &got}, &placement,
                                  &err));
    ck_assert_str_eq(got.s, want);
    check_graph(cfx_graph_module_graph(placement.gm));
}

#define assert_not_placed(st, text)                                           \
    do {                                                                      \
        ck_assert_int_ne(st, CFX_OK);                                         \
        assert_failed(CFX_EINVAL, text);                                      \
        ck_assert_ptr_null(placement.gm);                                     \
    } while (0)

/* ---- By name ---- */

#define ADD                                                                   \
    "graph():\n"                                                              \
    "    %a : [num_users=1] = placeholder[target=a]\n"                        \
    "    %b : [num_users=1] = placeholder[target=b]\n"                        \
    "    %add : [num_users=1] = call_function[target=operator.add]"           \
    "(args = (%a, %b), kwargs = {})\n"                                        \
    "    return add\n"

START_TEST(find_single_partition)
{
    use(ADD, 2);
    assert_ok(PLACE(125, 150, 125));
    assert_placed("submod_0: devices [1], 48 bytes, (a, b) -> (submod_0)\n");
    done();
}
END_TEST

START_TEST(lack_of_devices)
{
    use(ADD, 2);
    assert_not_placed(PLACE(4, 4),
                      "Devices do not have enough memory for the module");
    assert_not_placed(cfx_place_on_devices(&placement, model, NULL, 0,
                                           &options, &err), "No devices");
    done();
    use("graph():\n    %a : [num_users=1] = placeholder[target=a]\n"
        "    return a\n", 1);
    assert_not_placed(PLACE(400),
                      "No Partition since no operations in the module");
    done();
}
END_TEST

START_TEST(large_node_error)
{
    use(LINEAR "graph():\n"
        "    %a : [num_users=2] = placeholder[target=a]\n"
        "    %linear : [num_users=1] = call_module[target=linear]"
        "(args = (%a,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%linear, %a), kwargs = {})\n"
        "    return add\n", 1);
    assert_not_placed(PLACE(40, 40, 40, 40, 40),
                      "linear is too large to fit any device");
    options.mode = CFX_SPARSE_NN;
    assert_not_placed(PLACE(40, 40, 40, 40, 40),
                      "linear is too large to fit into a device");
    assert_not_placed(PLACE(80, 40, 40, 40, 40),
                      "All devices must have same memory size!");
    done();
}
END_TEST

START_TEST(partition_node_manipulation)
{
    use("Net()\n\n" CONSTANTS "graph():\n"
        "    %a : [num_users=1] = placeholder[target=a]\n"
        "    %b : [num_users=1] = placeholder[target=b]\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%a, %b), kwargs = {})\n"
        "    %c0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %add_1 : [num_users=1] = call_function[target=operator.add]"
        "(args = (%add, %c0), kwargs = {})\n"
        "    %c1 : [num_users=1] = get_attr[target=_tensor_constant1]\n"
        "    %add_2 : [num_users=1] = call_function[target=operator.add]"
        "(args = (%add_1, %c1), kwargs = {})\n"
        "    return add_2\n", 2);
    cfx_node_size size[20];
    uint64_t bytes;
    assert_ok(PLACE(1000));
    ck_assert_uint_eq(placement.item[0].bytes, 112);
    ck_assert_uint_eq(placement.item[0].n, 3);
    assert_ok(cfx_node_sizes(size, model, in, 2, &err));
    cfx_node **node = placement.item[0].node;
    assert_ok(cfx_bytes_of_part(&bytes, model, node, 3, size, &err));
    ck_assert_uint_eq(bytes, 112);
    /* Without add_2 its constant goes too. */
    assert_ok(cfx_bytes_of_part(&bytes, model, node, 2, size, &err));
    ck_assert_uint_eq(bytes, 80);
    /* Without the first, its value comes from elsewhere. */
    assert_ok(cfx_bytes_of_part(&bytes, model, node + 1, 2, size, &err));
    ck_assert_uint_eq(bytes, 80);
    done();
}
END_TEST

START_TEST(size_based_partition)
{
    use(LINEAR CONSTANTS "graph():\n"
        "    %a : [num_users=1] = placeholder[target=a]\n"
        "    %b : [num_users=1] = placeholder[target=b]\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%a, %b), kwargs = {})\n"
        "    %linear : [num_users=1] = call_module[target=linear]"
        "(args = (%add,), kwargs = {})\n"
        "    %c : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %add_1 : [num_users=1] = call_function[target=operator.add]"
        "(args = (%linear, %c), kwargs = {})\n"
        "    return add_1\n", 2);
    assert_ok(PLACE(125, 125, 125));
    assert_placed(
        "submod_0: devices [0], 48 bytes, (a, b) -> (submod_0)\n"
        "submod_1: devices [1], 112 bytes, (submod_0) -> (submod_1)\n"
        "submod_2: devices [2], 48 bytes, (submod_1, _tensor_constant0) -> "
        "(submod_2)\n");
    done();
}
END_TEST

START_TEST(partition_device_mapping)
{
    use(LINEAR CONSTANTS "graph():\n"
        "    %a : [num_users=2] = placeholder[target=a]\n"
        "    %c0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%a, %c0), kwargs = {})\n"
        "    %linear : [num_users=1] = call_module[target=linear]"
        "(args = (%add,), kwargs = {})\n"
        "    %c1 : [num_users=1] = get_attr[target=_tensor_constant1]\n"
        "    %add_1 : [num_users=1] = call_function[target=operator.add]"
        "(args = (%c1, %a), kwargs = {})\n"
        "    %add_2 : [num_users=1] = call_function[target=operator.add]"
        "(args = (%add_1, %linear), kwargs = {})\n"
        "    return add_2\n", 1);
    assert_ok(PLACE(120, 160));
    ck_assert_uint_eq(placement.n, 3);
    for (size_t i = 0; i < placement.n; i++) {
        ck_assert_uint_eq(placement.item[i].ndevices, 1);
        ck_assert_int_eq(placement.item[i].device[0], i == 1);
    }
    done();
}
END_TEST

/* Four embeddings of 1600 bytes each beside the rest. */
static const char sparse[] =
    "Net(\n"
    "  (bottom): Linear(in_features=4, out_features=4, bias=True)\n"
    "  (e): Module(\n"
    "    (0): Embedding(100, 4)\n"
    "    (1): Embedding(100, 4)\n"
    "    (2): Embedding(100, 4)\n"
    "    (3): Embedding(100, 4)\n"
    "  )\n"
    ")\n\n"
    "graph():\n"
    "    %a : [num_users=1] = placeholder[target=a]\n"
    "    %i : [num_users=4] = placeholder[target=i]\n"
    "    %bottom : [num_users=1] = call_module[target=bottom]"
    "(args = (%a,), kwargs = {})\n"
    "    %e_0 : [num_users=1] = call_module[target=e.0]"
    "(args = (%i,), kwargs = {})\n"
    "    %add : [num_users=1] = call_function[target=operator.add]"
    "(args = (%i, %i), kwargs = {})\n"
    "    %e_1 : [num_users=1] = call_module[target=e.1]"
    "(args = (%add,), kwargs = {})\n"
    "    %e_2 : [num_users=1] = call_module[target=e.2]"
    "(args = (%i,), kwargs = {})\n"
    "    %e_3 : [num_users=1] = call_module[target=e.3]"
    "(args = (%i,), kwargs = {})\n"
    "    %cat : [num_users=1] = call_function[target=torch.cat]"
    "(args = ([%bottom, %e_0, %e_1, %e_2, %e_3],), kwargs = {})\n"
    "    %relu : [num_users=1] = call_function[target=torch.relu]"
    "(args = (%cat,), kwargs = {})\n"
    "    return relu\n";

static void use_sparse(void)
{
    cfx_dim rows[] = {cfx_dim_int(2), cfx_dim_int(4)};
    cfx_tensor *a, *i;
    use(sparse, 0);
    assert_ok(cfx_tensor_meta(&a, ctx, CFX_F32, 2, rows, NULL, &err));
    assert_ok(cfx_tensor_meta(&i, ctx, CFX_I64, 1, rows, NULL, &err));
    in[0] = cfx_value_of_tensor(a);
    in[1] = cfx_value_of_tensor(i);
    nin = 2;
    options.ninputs = 2;
    options.mode = CFX_SPARSE_NN;
}

/* Embeddings are apart from the rest, which is on all their devices. */
START_TEST(sparse_nn_partition)
{
    use_sparse();
    assert_ok(PLACE(2600, 2600, 2600, 2600));
    size_t embeddings = 0;
    int taken = 0;
    for (size_t i = 0; i < placement.n; i++) {
        const cfx_placed *p = &placement.item[i];
        bool is = !strncmp(p->node[0]->name, "e_", 2);
        for (size_t k = 0; k < p->n; k++)
            ck_assert_int_eq(!strncmp(p->node[k]->name, "e_", 2), is);
        ck_assert_uint_eq(p->ndevices, is ? 1 : 4);
        for (int64_t k = 0; k < 4 && !is; k++)
            ck_assert_int_eq(p->device[k], k);
        taken |= is ? 1 << p->device[0] : 0;
        embeddings += is;
    }
    ck_assert_uint_eq(embeddings, 4);
    ck_assert_int_eq(taken, 15);
    cfx_placement_release(&placement);
    assert_not_placed(PLACE(2600, 2600, 2600),
                      "Need 4 devices, but only 3 provided");
    assert_not_placed(PLACE(2000, 2000, 2000, 2000), "partition_0(embedding "
                      "partition) and non embedding partitions can not fit "
                      "into one device");
    done();
}
END_TEST

/* Without embeddings, parts go where there is room. */
START_TEST(sparse_nn_without_embeddings)
{
    use(ADD, 2);
    options.mode = CFX_SPARSE_NN;
    cfx_node_size size[] = {{10, 10}, {10, 10}, {10, 10}, {0, 0}};
    options.sizes = size;
    assert_not_placed(PLACE(20, 20), "operator.add is too large to fit into a "
                      "device");
    done();
    use("graph():\n"
        "    %a : [num_users=1] = placeholder[target=a]\n"
        "    %relu : [num_users=1] = call_function[target=torch.relu]"
        "(args = (%a,), kwargs = {})\n"
        "    %relu_1 : [num_users=1] = call_function[target=torch.relu]"
        "(args = (%relu,), kwargs = {})\n"
        "    return relu_1\n", 1);
    options.mode = CFX_SPARSE_NN;
    assert_ok(PLACE(40, 40));
    assert_placed("submod_0: devices [0], 32 bytes, (a) -> (submod_0)\n"
                  "submod_1: devices [1], 32 bytes, (submod_0) -> "
                  "(submod_1)\n");
    done();
}
END_TEST

/* Two branches behind an addition. */
static const char branches[] =
    LINEAR CONSTANTS "graph():\n"
    "    %a : [num_users=1] = placeholder[target=a]\n"
    "    %c0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
    "    %add : [num_users=2] = call_function[target=operator.add]"
    "(args = (%a, %c0), kwargs = {})\n"
    "    %c1 : [num_users=1] = get_attr[target=_tensor_constant1]\n"
    "    %add_1 : [num_users=2] = call_function[target=operator.add]"
    "(args = (%add, %c1), kwargs = {})\n"
    "    %linear : [num_users=1] = call_module[target=linear]"
    "(args = (%add,), kwargs = {})\n"
    "    %add_2 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_1, %linear), kwargs = {})\n"
    "    %add_3 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_1, %add_2), kwargs = {})\n"
    "    return add_3\n";

static cfx_node_latency latency[32];

/* Memory: the total; compute: the output for modules, else a time for bytes,
 * or 1 where that is 0. */
static void set_latencies(double a_byte)
{
    cfx_node_size size[32];
    const cfx_graph *of = cfx_graph_module_graph(model);
    assert_ok(cfx_node_sizes(size, model, in, options.ninputs, &err));
    for (uint32_t i = 0; i < cfx_graph_ids(of); i++) {
        double total = (double)size[i].total, output = (double)size[i].output;
        bool plain = size[i].total == size[i].output;
        latency[i].memory = total;
        latency[i].compute = !plain ? output : a_byte > 0 ? a_byte * total : 1;
    }
    options.latency = latency;
    options.transfer_rate = 2;
}

START_TEST(partition_latency)
{
    use(branches, 1);
    set_latencies(2);
    assert_ok(PLACE(200, 200));
    ck_assert_uint_eq(placement.n, 2);
    const cfx_part_latency *a = &placement.item[0].latency;
    const cfx_part_latency *b = &placement.item[1].latency;
    ck_assert(a->memory == 128 && a->compute == 80 && a->overall == 160);
    ck_assert(b->memory == 16 && b->compute == 32 && b->overall == 32);
    ck_assert(placement.latency == 208);
    done();
}
END_TEST

static const char wider[] =
    LINEAR CONSTANTS "graph():\n"
    "    %a : [num_users=1] = placeholder[target=a]\n"
    "    %c0 : [num_users=1] = get_attr[target=_tensor_constant0]\n"
    "    %add : [num_users=2] = call_function[target=operator.add]"
    "(args = (%a, %c0), kwargs = {})\n"
    "    %c1 : [num_users=1] = get_attr[target=_tensor_constant1]\n"
    "    %add_1 : [num_users=2] = call_function[target=operator.add]"
    "(args = (%add, %c1), kwargs = {})\n"
    "    %linear : [num_users=1] = call_module[target=linear]"
    "(args = (%add,), kwargs = {})\n"
    "    %c2 : [num_users=1] = get_attr[target=_tensor_constant2]\n"
    "    %add_2 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_1, %c2), kwargs = {})\n"
    "    %add_3 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_1, %linear), kwargs = {})\n"
    "    %add_4 : [num_users=1] = call_function[target=operator.add]"
    "(args = (%add_2, %add_3), kwargs = {})\n"
    "    return add_4\n";

START_TEST(cost_aware_partition)
{
    use(wider, 1);
    options.mode = CFX_COST_AWARE;
    assert_not_placed(PLACE(125, 125, 125, 125),
                      "the latencies of nodes are not known");
    set_latencies(0);
    assert_ok(PLACE(125, 125, 125, 125));
    ck_assert(placement.latency == 160);
    cfx_placement_release(&placement);
    options.transfer_rate = 0;
    assert_not_placed(PLACE(125, 125, 125, 125),
                      "the transfer rate must be greater than 0");
    done();
}
END_TEST

START_TEST(kl_based_partition)
{
    use(wider, 1);
    set_latencies(0);
    assert_ok(PLACE(125, 200, 125, 125));
    double by_size = placement.latency;
    cfx_placement_release(&placement);
    options.mode = CFX_KL_BASED;
    assert_ok(PLACE(125, 200, 125, 125));
    ck_assert_msg(placement.latency < by_size, "%g, %g before",
                  placement.latency, by_size);
    done();
}
END_TEST

#define TWO_ADDS                                                              \
    "Net()\n\n" CONSTANTS "graph():\n"                                         \
    "    %a : [num_users=1] = placeholder[target=a]\n"                        \
    "    %b : [num_users=1] = get_attr[target=_tensor_constant0]\n"           \
    "    %add : [num_users=1] = call_function[target=operator.add]"           \
    "(args = (%a, %b), kwargs = {})\n"                                        \
    "    %c : [num_users=1] = get_attr[target=_tensor_constant1]\n"           \
    "    %add_1 : [num_users=1] = call_function[target=operator.add]"         \
    "(args = (%c, %add), kwargs = {})\n"                                      \
    "    return add_1\n"

START_TEST(aot_based_partition)
{
    const int64_t zero = 0, other = 5;
    cfx_part_devices given[] = {{11, &zero, 1}, {-3, &zero, 1}};
    int64_t part_of[16] = {0};
    use(TWO_ADDS, 1);
    const cfx_graph *of = cfx_graph_module_graph(model);
    options.mode = CFX_AOT_BASED;
    options.part_devices = given;
    options.npart_devices = 2;
    assert_not_placed(PLACE(200), "the parts of nodes are not given");
    options.part_of = part_of;
    part_of[cfx_graph_find(of, "add_1")->id] = 11;
    assert_not_placed(PLACE(200),
                      "'add' is of part 0, which is given no devices");
    part_of[cfx_graph_find(of, "add")->id] = -3;
    assert_ok(PLACE(200));
    assert_placed("submod__3: devices [0], 48 bytes, (a, _tensor_constant0) -> "
                  "(submod__3)\n"
                  "submod_11: devices [0], 48 bytes, (_tensor_constant1, "
                  "submod__3) -> (submod_11)\n");
    cfx_placement_release(&placement);
    given[1].id = &other;
    assert_not_placed(PLACE(200), "part -3 is given device 5, which is not "
                      "there");
    given[1].part = 11;
    assert_not_placed(PLACE(200), "part 11 is given devices twice");
    given[1] = (cfx_part_devices){-3, NULL, 0};
    options.saturate_host = true;
    assert_not_placed(PLACE(200),
                      "Expect no_device_partitions has 0 device, but get 1");
    done();
}
END_TEST

START_TEST(saturate_host)
{
    use(branches, 1);
    options.saturate_host = true;
    assert_ok(PLACE(200, 200, 100, 100, 200, 100));
    ck_assert_uint_eq(placement.n, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(placement.item[i].ndevices, 2);
    ck_assert_int_eq(placement.item[0].device[0], 0);
    ck_assert_int_eq(placement.item[0].device[1], 4);
    ck_assert_int_eq(placement.item[1].device[0], 1);
    ck_assert_int_eq(placement.item[1].device[1], 2);
    done();
}
END_TEST

/* ---- Beyond torch ---- */

/* Each tensor in its own type: torch takes four bytes of weights for one of a
 * bool. */
START_TEST(sizes_are_those_of_each_type)
{
    cfx_node_size size[16];
    size_t start = cfx_context_memory(ctx);
    use("Net(\n  (bn): BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, "
        "track_running_stats=True)\n)\n\n"
        "graph():\n"
        "    %a : [num_users=1] = placeholder[target=a]\n"
        "    %bn : [num_users=1] = call_module[target=bn]"
        "(args = (%a,), kwargs = {})\n"
        "    %size : [num_users=1] = call_method[target=size]"
        "(args = (%bn,), kwargs = {})\n"
        "    %chunk : [num_users=1] = call_function[target=torch.chunk]"
        "(args = (%bn, 2), kwargs = {})\n"
        "    return (chunk, size)\n", 0);
    cfx_dim rows[] = {cfx_dim_int(2), cfx_dim_int(4)};
    cfx_tensor *a;
    assert_ok(cfx_tensor_meta(&a, ctx, CFX_F32, 2, rows, NULL, &err));
    cfx_module_train(model, false);
    in[0] = cfx_value_of_tensor(a);
    nin = 1;
    const cfx_graph *of = cfx_graph_module_graph(model);
    assert_ok(cfx_node_sizes(size, model, in, 1, &err));
    uint32_t bn = cfx_graph_find(of, "bn")->id;
    ck_assert_uint_eq(size[bn].output, 32);
    ck_assert_uint_eq(size[bn].total, 32 + 4 * 16 + 8);
    ck_assert_uint_eq(size[cfx_graph_find(of, "size")->id].total, 0);
    ck_assert_uint_eq(size[cfx_graph_find(of, "chunk")->id].total, 32);
    ck_assert_int_eq(cfx_node_sizes(size, model, NULL, 0, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "Node a has no tensor metadata associated with "
                  "it! Check that shape propagation has run.");
    done();
    held_before += cfx_context_memory(ctx) - start;
}
END_TEST

START_TEST(two_devices_have_two_ids)
{
    const cfx_device same[] = {{"x", 10, 3}, {"y", 10, 3}};
    use(ADD, 2);
    assert_not_placed(cfx_place_on_devices(&placement, model, same, 2,
                                           &options, &err),
                      "x and y have the same id 3");
    done();
}
END_TEST

START_TEST(a_cancelled_search_stops)
{
    use(wider, 1);
    set_latencies(0);
    options.mode = CFX_COST_AWARE;
    cfx_context_cancel(ctx);
    ck_assert_int_eq(PLACE(125, 125, 125, 125), CFX_ECANCEL);
    memset(&err, 0, sizeof(err));
    done();
}
END_TEST

START_TEST(a_long_graph_is_placed_in_linear_time)
{
    cfx_node *x = input("x"), *at = x;
    uint32_t n = 300000;
    for (uint32_t i = 0; i < n; i++)
        at = call("torch.relu", at, NULL);
    cfx_graph_output(g, node(at), &err);
    assert_ok(cfx_graph_module_new_take(&model, ctx, NULL, g, "Net", &err));
    cfx_node_size *size = calloc(n + 2, sizeof(*size));
    for (uint32_t i = 0; i < n + 1; i++)
        size[i] = (cfx_node_size){4, 4};
    options = (cfx_place_options){.size = sizeof(options), .sizes = size};
    nin = 0;
    assert_ok(PLACE(400000, 400000, 400000, 400000));
    ck_assert_uint_eq(placement.n, 4);
    done();
    free(size);
    assert_ok(cfx_graph_new(&g, ctx, &err));
}
END_TEST

static bool place_it(void)
{
    static const uint64_t memory[] = {200, 200, 100, 100, 200, 100, 0};
    cfx_status st = place(memory);
    if (st)
        ck_assert_ptr_null(placement.gm);
    cfx_placement_release(&placement);
    return !st;
}

static bool place_sparse(void)
{
    static const uint64_t memory[] = {2600, 2600, 2600, 2600, 0};
    cfx_status st = place(memory);
    cfx_placement_release(&placement);
    return !st;
}

static void place_each(void)
{
    use(branches, 1);
    ck_assert(place_it());
    done();
    use_sparse();
    ck_assert(place_sparse());
    done();
}

START_TEST(placing_survives_lack_of_memory)
{
    use(branches, 1);
    set_latencies(0);
    options.saturate_host = true;
    for (int i = 0; i < 3; i++) {
        options.mode = i == 0 ? CFX_SIZE_BASED
                     : i == 1 ? CFX_COST_AWARE : CFX_KL_BASED;
        fail_each_allocation(place_it);
    }
    done();
    use_sparse();
    fail_each_allocation(place_sparse);
    done();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("accelerator");
    TCase *c = tcase_create("accelerator");
    tcase_add_checked_fixture(c, warm_up, teardown);
    tcase_add_test(c, find_single_partition);
    tcase_add_test(c, lack_of_devices);
    tcase_add_test(c, large_node_error);
    tcase_add_test(c, partition_node_manipulation);
    tcase_add_test(c, size_based_partition);
    tcase_add_test(c, partition_device_mapping);
    tcase_add_test(c, sparse_nn_partition);
    tcase_add_test(c, sparse_nn_without_embeddings);
    tcase_add_test(c, partition_latency);
    tcase_add_test(c, cost_aware_partition);
    tcase_add_test(c, kl_based_partition);
    tcase_add_test(c, aot_based_partition);
    tcase_add_test(c, saturate_host);
    tcase_add_test(c, sizes_are_those_of_each_type);
    tcase_add_test(c, two_devices_have_two_ids);
    tcase_add_test(c, a_cancelled_search_stops);
    tcase_add_test(c, a_long_graph_is_placed_in_linear_time);
    tcase_add_test(c, placing_survives_lack_of_memory);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failures = srunner_ntests_failed(r);
    srunner_free(r);
    return failures != 0;
}
