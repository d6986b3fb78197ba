/*
 * fusion_test -- passes that fuse, merge and drop: shared and typed weights,
 * memory that is lacking, models of the zoo. Small graphs are in
 * tests/cases/passes/.
 */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/rewrite/pass_test.h"

#include <math.h>

#include <cfx/partition.h>
#include <cfx/shape_prop.h>

#include "tests/unit/unit.h"
#include "tests/zoo/zoo.h"

/* ---- Running ---- */

enum { MAX_INPUTS = 4 };
static cfx_value in[MAX_INPUTS];
static size_t nin;

static void give_back_inputs(void)
{
    for (size_t i = 0; i < nin; i++)
        cfx_value_unref(in[i]);
    nin = 0;
}

static void end(void)
{
    give_back_inputs();
    teardown();
}

/* Append a random input. */
static void feed(cfx_dtype type, int rank, const int64_t *shape)
{
    cfx_tensor *t;
    char name[8];
    assert_ok(cfx_tensor_new(&t, ctx, type, rank, shape, &err));
    snprintf(name, sizeof(name), "x%zu", nin);
    assert_ok(cfx_tensor_randomize(t, 7, name, &err));
    in[nin++] = cfx_value_of_tensor(t);
}
#define FEED(type, ...)                                                       \
    feed(type, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),            \
         (const int64_t[]){__VA_ARGS__})

static cfx_value run(void)
{
    cfx_interp it = {0};
    cfx_value y;
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, gm, &err));
    assert_ok(cfx_interp_run(&it, in, nin, &y, &err));
    cfx_interp_release(&it);
    return y;
}

static double element(const cfx_tensor *t, int64_t i)
{
    return t->dtype == CFX_F64 ? ((const double *)t->data)[i]
                               : (double)((const float *)t->data)[i];
}

static double difference(const cfx_tensor *a, const cfx_tensor *b)
{
    cfx_tensor *x, *y;
    double most = 0, scale = 0;
    ck_assert_int_eq(a->dtype, b->dtype);
    ck_assert_int_eq(a->rank, b->rank);
    for (int i = 0; i < a->rank; i++)
        ck_assert_int_eq(cfx_tensor_size(a, i), cfx_tensor_size(b, i));
    if (a->dtype != CFX_F32 && a->dtype != CFX_F64) {
        cfx_tensor *f;
        int64_t shape[CFX_MAX_RANK];
        for (int i = 0; i < a->rank; i++)
            shape[i] = cfx_tensor_size(a, i);
        assert_ok(cfx_tensor_new(&f, ctx, CFX_F32, a->rank, shape, &err));
        assert_ok(cfx_tensor_new(&y, ctx, CFX_F32, a->rank, shape, &err));
        assert_ok(cfx_tensor_copy(f, a, &err));
        assert_ok(cfx_tensor_copy(y, b, &err));
        most = difference(f, y);
        cfx_tensor_unref(f);
        cfx_tensor_unref(y);
        return most;
    }
    assert_ok(cfx_tensor_contiguous(&x, a, &err));
    assert_ok(cfx_tensor_contiguous(&y, b, &err));
    for (int64_t i = 0; i < cfx_tensor_numel(x); i++) {
        most = fmax(most, fabs(element(x, i) - element(y, i)));
        scale = fmax(scale, fabs(element(x, i)));
        ck_assert(isfinite(element(x, i)) == isfinite(element(y, i)));
    }
    cfx_tensor_unref(x);
    cfx_tensor_unref(y);
    return scale > 1 ? most / scale : most;
}

/* Tensors, or tuples of them. */
static void assert_close(cfx_value a, cfx_value b, double most)
{
    ck_assert_int_eq(a.kind, b.kind);
    if (a.kind == CFX_TENSOR) {
        double d = difference(a.u.tensor, b.u.tensor);
        ck_assert_msg(d <= most, "they differ by %g", d);
        return;
    }
    ck_assert(cfx_value_is_seq(a));
    for (uint32_t i = 0; i < a.u.seq->len; i++)
        assert_close(a.u.seq->item[i], b.u.seq->item[i], most);
}

/* Apply a pass to the model under test, which must then give what it gave. */
static void apply_same(const char *pass, double most)
{
    cfx_value before = run();
    apply(pass);
    cfx_value after = run();
    assert_close(before, after, most);
    cfx_value_unref(before);
    cfx_value_unref(after);
}

static void random_model(const char *text)
{
    model(text);
    assert_ok(cfx_module_randomize(gm, 3, &err));
    give_back_inputs();
}

/* ---- conv_bn_fusion ---- */

#define NET(modules) "Net(\n" modules ")\n\ngraph():\n"
#define X "    %x : [num_users=1] = placeholder[target=x]\n"
#define CALL(name, target, arg)                                               \
    "    %" name " : [num_users=1] = call_module[target=" target              \
    "](args = (%" arg ",), kwargs = {})\n"
#define BN(n, c)                                                              \
    "BatchNorm" #n "d(" #c ", eps=1e-05, momentum=0.1, affine=True, "         \
    "bias=True, track_running_stats=True)\n"

static void change_type(const char *module, const char *name, cfx_dtype type)
{
    cfx_module *m = cfx_module_at(gm, module);
    const cfx_tensor *old = cfx_module_state(m, name)->tensor;
    cfx_tensor *t;
    int64_t shape[CFX_MAX_RANK];
    for (int i = 0; i < old->rank; i++)
        shape[i] = cfx_tensor_size(old, i);
    assert_ok(cfx_tensor_new(&t, ctx, type, old->rank, shape, &err));
    assert_ok(cfx_tensor_copy(t, old, &err));
    assert_ok(cfx_module_set(m, name, t, &err));
    cfx_tensor_unref(t);
}

/* A norm of floats behind a convolution of halves. */
TEST_CASE(conv_bn_fusion_mixed_dtype)
{
    /* clang-format off */
    random_model(NET(
        "  (conv): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1), "
        "bias=False)\n"
        "  (bn): " BN(2, 4)) X CALL("conv", "conv", "x")
        CALL("bn", "bn", "conv") "    return bn\n");
    /* clang-format on */
    change_type("conv", "weight", CFX_BF16);
    FEED(CFX_BF16, 2, 3, 4, 4);
    apply_same("fuse_conv_bn", 2e-2);
    const cfx_module *conv = cfx_module_child(gm, "conv");
    ck_assert_int_eq(cfx_module_state(conv, "weight")->tensor->dtype,
                     CFX_BF16);
    ck_assert_int_eq(cfx_module_state(conv, "bias")->tensor->dtype, CFX_BF16);
}

/* A convolution that is called twice, with a norm of its own behind each. */
TEST_CASE(conv_bn_fusion_keeps_what_is_shared)
{
    /* clang-format off */
    random_model(NET(
        "  (conv): Conv2d(3, 3, kernel_size=(1, 1), stride=(1, 1))\n"
        "  (bn): " BN(2, 3) "  (bn2): " BN(2, 3))
        X CALL("conv", "conv", "x") CALL("bn", "bn", "conv")
        CALL("conv_1", "conv", "bn") CALL("bn2", "bn2", "conv_1")
        "    return bn2\n");
    /* clang-format on */
    FEED(CFX_F32, 2, 3, 4, 4);
    cfx_tensor *old =
        cfx_module_state(cfx_module_child(gm, "conv"), "weight")->tensor;
    cfx_tensor_ref(old);
    float first = *(const float *)old->data;
    apply_same("fuse_conv_bn", 1e-5);
    assert_nodes("x conv conv_1 output");
    ck_assert_str_eq(node("conv")->target->text, "conv_1");
    ck_assert_str_eq(node("conv_1")->target->text, "conv");
    ck_assert_float_eq(*(const float *)old->data, first);
    cfx_tensor_unref(old);
}

TEST_EACH(conv_bn_fusion_of_functions, 6)
{
    static const char *const functions[] = {
        "torch.conv2d](args = (%x, %w, %b, 2, (1, 1)), kwargs = {groups: 1})",
        "torch.nn.functional.conv2d](args = (%x,), kwargs = {weight: %w, "
        "stride: 2})",
        "torch.ops.aten.convolution.default](args = (%x, %w, None, [2, 2], "
        "[1, 1], [1, 1], False, [0, 0], 1), kwargs = {})",
    };
    static const char *const norms[] = {
        "torch.nn.functional.batch_norm](args = (%conv, %mean, %var), kwargs "
        "= {weight: %g, bias: %h, training: False, eps: 0.01})",
        "torch.batch_norm](args = (%conv, None, %h, %mean, %var, False, 0.1, "
        "0.001, True), kwargs = {})",
    };
    char text[4096];
    int n = snprintf(text, sizeof(text),
                     "Net()\n\nstate:\n    w: f32[4, 3, 3, 3]\n    b: f32[4]\n"
                     "    mean: f32[4]\n    var: f32[4]\n    g: f32[4]\n"
                     "    h: f32[4]\n\ngraph():\n%s",
                     X);
    static const char *const names[] = {"w", "b", "mean", "var", "g", "h"};
    for (int i = 0; i < 6; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "    %%%s : [num_users=1] = get_attr[target=%s]\n",
                      names[i], names[i]);
    snprintf(text + n, sizeof(text) - (size_t)n,
             "    %%conv : [num_users=1] = call_function[target=%s\n"
             "    %%bn : [num_users=1] = call_function[target=%s\n"
             "    return bn\n",
             functions[_i / 2], norms[_i % 2]);
    random_model(text);
    cfx_value var;
    assert_ok(cfx_module_fetch_attr(&var, gm, "var", &err));
    for (int i = 0; i < 4; i++)
        ((float *)var.u.tensor->data)[i] = 0.5F + (float)i;
    FEED(CFX_F32, 2, 3, 6, 6);
    apply_same("fuse_conv_bn", 1e-5);
    ck_assert_ptr_nonnull(cfx_graph_find(g, "bn"));
    assert_ok(cfx_propagate_shapes(gm, NULL, in, nin, NULL, &err));
    apply_same("fuse_conv_bn", 1e-5);
    ck_assert_ptr_null(cfx_graph_find(g, "bn"));
    ck_assert_ptr_null(cfx_graph_find(g, "mean"));
}

/* ---- Graphs ---- */

#define LINEAR(name, i, o, bias)                                              \
    "  (" name "): Linear(in_features=" #i ", out_features=" #o               \
    ", bias=" #bias ")\n"

/* clang-format off */
static const char attention[] = NET(
    "  (att): Module(\n  " LINEAR("q", 4, 3, True) "  "
    LINEAR("k", 4, 2, False) "  " LINEAR("v", 4, 5, True) "  )\n"
    LINEAR("out", 4, 2, True))
    "    %x : [num_users=4] = placeholder[target=x]\n"
    CALL("att_q", "att.q", "x") CALL("relu", "att.k", "x")
    CALL("att_v", "att.v", "x") CALL("out", "out", "x")
    "    return (att_q, relu, att_v, out)\n";
/* clang-format on */

#define MATMUL(name, a, b)                                                    \
    "    %" name " : [num_users=1] = call_function[target=torch.matmul](args" \
    " = (%" a ", %" b "), kwargs = {})\n"
#define ATTR(name, path)                                                      \
    "    %" name " : [num_users=1] = get_attr[target=" path "]\n"
#define INPUT(name)                                                           \
    "    %" name " : [num_users=1] = placeholder[target=" name "]\n"

/* clang-format off */
static const char matmuls[] =
    "Net()\n\nstate:\n    w: f32[4, 3]\n    v: f32[3, 3]\n\ngraph():\n"
    INPUT("a") INPUT("b") INPUT("c") ATTR("w", "w") MATMUL("m1", "a", "w")
    "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
    "(%m1,), kwargs = {})\n" ATTR("w_1", "w") MATMUL("m2", "b", "w_1")
    ATTR("v", "v") MATMUL("m3", "relu", "v") ATTR("w_2", "w")
    MATMUL("m4", "c", "w_2") MATMUL("m5", "m3", "v")
    "    return (m2, m3, m4, m5)\n";
/* clang-format on */

/* ---- Memory ---- */

/* clang-format off */
static const char small_net[] = NET(
    "  (conv): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1), bias=False)\n"
    "  (bn): " BN(2, 4) "  (drop): Dropout(p=0.5, inplace=False)\n"
    "  (fc): Linear(in_features=4, out_features=4, bias=True)\n")
    X CALL("conv", "conv", "x") CALL("bn", "bn", "conv")
    CALL("drop", "drop", "bn") CALL("fc", "fc", "drop") "    return fc\n";
/* clang-format on */

static const char *failing;

static bool apply_failing(void)
{
    long n = allowed;
    allowed = -1;
    random_model(!strncmp(failing, "merge_matmul", 12) ? matmuls
                 : !strcmp(failing, "merge_linears")   ? attention
                                                       : small_net);
    allowed = n;
    cfx_status st = cfx_pass_apply(gm, failing, false, NULL, &err);
    allowed = -1;
    cfx_error why = {0};
    ck_assert_int_eq(cfx_graph_lint(g, &why), CFX_OK);
    return !st;
}

TEST_EACH(passes_survive_lack_of_memory, 8)
{
    static const char *const passes[] = {
        "fuse_conv_bn",   "remove_noops",
        "merge_linears",  "fuse_bias_in_linear",
        "div_to_mul",     "split",
        "fuse_linear_bn", "merge_matmul(assume=True)",
    };
    failing = passes[_i];
    fail_each_allocation(apply_failing);
}

/* ---- The zoo ---- */

static const char *const models[] = {
    "resnet18",       "mobilenet_v2",       "efficientnet_b0",
    "regnet_x_400mf", "mobilenet_v3_small", "squeezenet1_1",
};

static size_t batch_norms(void)
{
    size_t n = 0;
    for (cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        if (at->op == CFX_CALL_MODULE) {
            cfx_module *m = cfx_module_at(gm, at->target->text);
            n += !strncmp(cfx_module_class_name(m), "BatchNorm", 9);
        }
    return n;
}

static void open_zoo(const char *name)
{
    zoo_model m = {0};
    char digests[1024];
    const char *src = getenv("srcdir"), *zoo = getenv("CFX_ZOO");
    snprintf(digests, sizeof(digests), "%s/tests/golden/zoo", src ? src : ".");
    assert_ok(zoo_open(&m, ctx, zoo ? zoo : "zoo", digests, name, &err));
    assert_ok(zoo_fill(&m, &err));
    gm = m.gm;
    g = cfx_graph_module_graph(gm);
    nin = m.nin;
    memcpy(in, m.in, m.nin * sizeof(*in));
    m.nin = 0;
    m.gm = NULL;
    zoo_close(&m);
}

TEST_EACH(models_of_the_zoo_are_fused_whole, sizeof(models) / sizeof(*models))
{
    open_zoo(models[_i]);
    apply_same("fuse_conv_bn", 1e-4);
    ck_assert_uint_eq(batch_norms(), 0);
    apply_same("remove_noops", 0);
}

TEST_CASE(subgraph_trivial_resnet)
{
    open_zoo("resnet18");
    apply_same("split(parts=4)", 0);
    ck_assert_uint_eq(cfx_module_nchildren(gm), 4);
    ck_assert_ptr_nonnull(cfx_module_at(gm, "submod_0.layer1_0_conv1"));
}

static bool not_pooling(void *user, const cfx_node *n)
{
    (void)user;
    return n->op != CFX_PLACEHOLDER && n->op != CFX_OUTPUT &&
           !strstr(n->name, "pool");
}

TEST_CASE(a_fused_model_gives_what_it_gave)
{
    open_zoo("resnet18");
    cfx_partitions p;
    cfx_value before = run();
    assert_ok(cfx_propose_partitions(&p, gm, (cfx_support){not_pooling, NULL},
                                     NULL, &err));
    ck_assert_uint_eq(p.n, 3);
    assert_ok(cfx_fuse_partitions(gm, &p, NULL, false, &err));
    ck_assert_uint_eq(cfx_graph_len(g), 7);
    cfx_value after = run();
    assert_close(before, after, 0);
    cfx_value_unref(before);
    cfx_value_unref(after);
    cfx_partitions_release(&p);
}

TEST_SUITE(fusion, .setup = setup, .teardown = end, .timeout = 120)
