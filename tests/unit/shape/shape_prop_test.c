/*
 * shape_prop_test -- ShapeProp: what nodes get, what stays known by value, what
 * errors say. Shapes as text are in shape_text_test.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/shape_prop.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/shape/shape_prop_test.h"
#include "tests/unit/unit.h"

/* ---- What nodes get ---- */

static const char two_layers[] =
    "TwoLayerNet(\n"
    "  (linear1): Linear(in_features=1000, out_features=100, bias=True)\n"
    "  (linear2): Linear(in_features=100, out_features=10, bias=True)\n"
    ")\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %linear1 : [num_users=1] = call_module[target=linear1](args = (%x,), "
    "kwargs = {})\n"
    "    %clamp_1 : [num_users=1] = call_method[target=clamp](args = "
    "(%linear1,), kwargs = {min: 0})\n"
    "    %linear2 : [num_users=1] = call_module[target=linear2](args = "
    "(%clamp_1,), kwargs = {})\n"
    "    return linear2\n";

static void assert_meta(const cfx_module *gm, const char *name, bool strides,
                        const char *want, const char *type)
{
    cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), name);
    ck_assert_ptr_nonnull(n);
    cfx_value meta = cfx_node_meta(n, "tensor_meta");
    if (want)
        assert_is(meta, strides, want);
    else
        ck_assert(cfx_value_is_absent(meta));
    ck_assert_str_eq(cfx_node_meta(n, "type").u.str->text, type);
}

TEST_CASE(example_shape_prop)
{
    cfx_module *gm = parse(two_layers);
    cfx_value x = shape("f32[50, 1000]");
    ck_assert_int_eq(cfx_propagate_shapes(gm, NULL, &x, 1, NULL, &err),
                     CFX_OK);
    assert_meta(gm, "x", true, "f32[50, 1000][1000, 1]cpu", "torch.Tensor");
    assert_meta(gm, "linear1", true, "f32[50, 100][100, 1]cpu",
                "torch.Tensor");
    assert_meta(gm, "clamp_1", true, "f32[50, 100][100, 1]cpu",
                "torch.Tensor");
    assert_meta(gm, "linear2", true, "f32[50, 10][10, 1]cpu", "torch.Tensor");
    assert_meta(gm, "output", true, "f32[50, 10][10, 1]cpu", "torch.Tensor");
    cfx_value_unref(x);
    cfx_module_unref(gm);
}

TEST_CASE(shape_prop_runs_tensors_too)
{
    cfx_module *gm = parse(two_layers);
    cfx_shape_prop p = {.env = NULL};
    cfx_shape_prop_options o = {.size = sizeof(o), .real = true};
    int64_t extent[] = {50, 1000};
    cfx_tensor *x;
    cfx_value out;
    ck_assert_int_eq(cfx_module_randomize(gm, 1, &err), CFX_OK);
    ck_assert_int_eq(cfx_tensor_new(&x, ctx, CFX_F32, 2, extent, &err),
                     CFX_OK);
    memset(x->data, 0, 50 * 1000 * sizeof(float));
    ck_assert_int_eq(cfx_shape_prop_init(&p, NULL, gm, &o, &err), CFX_OK);
    ck_assert_int_eq(cfx_interp_run(&p.base,
                                    (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                                    &out, &err),
                     CFX_OK);
    ck_assert(!cfx_tensor_is_meta(out.u.tensor));
    assert_meta(gm, "linear2", true, "f32[50, 10][10, 1]cpu", "torch.Tensor");
    /* Nodes keep meta tensors. */
    cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), "linear2");
    ck_assert(cfx_tensor_is_meta(cfx_node_meta(n, "tensor_meta").u.tensor));
    cfx_value_unref(out);
    cfx_tensor_unref(x);
    cfx_interp_release(&p.base);
    cfx_module_unref(gm);
}

TEST_CASE(shape_prop_aggregate)
{
    /* clang-format off */
    cfx_module *gm = parse(
        "# cfx 1\nM()\n\nstate:\n    p: f32[4]\n\ngraph():\n" X
        "    %p : [num_users=1] = get_attr[target=p]\n"
        METHOD("size", "size", "%x, 0")
        CALL("add", "operator.add", "%x, %p")
        CALL("chunk", "torch.chunk", "%add, 2, 1")
        CALL("getitem", "operator.getitem", "%chunk, 0")
        CALL("topk", "torch.topk", "%add, 2")
        CALL("values", "builtins.getattr", "%topk, 'values'")
        CALL("shape", "builtins.getattr", "%x, 'shape'")
        "    return {'a': %getitem, 't': %values, 'n': %size, 's': %shape}\n");
    /* clang-format on */
    cfx_value x = shape("f32[N, 4]");
    if (cfx_propagate_shapes(gm, env, &x, 1, NULL, &err))
        ck_abort_msg("%s", err.text);
    assert_meta(gm, "p", false, "f32[4]", "torch.nn.parameter.Parameter");
    assert_meta(gm, "size", false, NULL, "int");
    assert_meta(gm, "topk", false, "(f32[N, 2], i64[N, 2])",
                "torch.return_types.topk");
    assert_meta(gm, "values", false, "f32[N, 2]", "torch.Tensor");
    assert_meta(gm, "shape", false, NULL, "tuple");
    assert_meta(gm, "output", false,
                "{'a': f32[N, 2], 't': f32[N, 2], 'n': N, 's': "
                "(N, 4)}",
                "dict");
    cfx_value_unref(x);
    cfx_module_unref(gm);
}

/* All nodes have the layout. */
static void assert_layout(const char *layer, const char *input,
                          cfx_memory_format want)
{
    char text[512];
    cfx_shape_prop p = {.env = NULL};
    snprintf(text, sizeof(text),
             "M(\n  (c): %s\n)\n\ngraph():\n"
             "    %%x : [num_users=1] = placeholder[target=x]\n"
             "    %%c : [num_users=1] = call_module[target=c](args = (%%x,), "
             "kwargs = {})\n    return c\n",
             layer);
    cfx_module *gm = parse(text);
    if (walk(&p, gm, input))
        ck_abort_msg("%s", err.text);
    for (cfx_node *n = cfx_graph_first(p.base.graph); n;
         n = cfx_node_next(n)) {
        cfx_value v = cfx_node_meta(n, "tensor_meta");
        ck_assert_int_eq(v.kind, CFX_TENSOR);
        cfx_tensor_metadata m = cfx_tensor_metadata_of(v.u.tensor);
        ck_assert(m.has_memory_format && !m.requires_grad && !m.is_quantized);
        ck_assert_int_eq(m.memory_format, want);
    }
    cfx_interp_release(&p.base);
    cfx_module_unref(gm);
}

TEST_CASE(shape_prop_layout)
{
    static const char conv[] =
        "Conv2d(8, 16, kernel_size=(3, 3), stride=(1, 1))";
    assert_layout(conv, "f32[5, 8, 224, 224]", CFX_CONTIGUOUS_FORMAT);
    assert_layout(conv, "f32[5, 8, 224, 224][401408, 1, 1792, 8]",
                  CFX_CHANNELS_LAST);
    assert_layout(conv, "f32[N, 8, H, W]", CFX_CONTIGUOUS_FORMAT);
    assert_layout(conv, "f32[N, 8, H, W][8*H*W, 1, 8*W, 8]",
                  CFX_CHANNELS_LAST);
}

TEST_CASE(shape_prop_layout_3d)
{
    static const char conv[] =
        "Conv3d(8, 16, kernel_size=(3, 3, 3), stride=(1, 1, 1))";
    assert_layout(conv, "f32[5, 8, 16, 24, 24]", CFX_CONTIGUOUS_FORMAT);
    static const char norm[] = "BatchNorm3d(8, eps=1e-05, momentum=0.1, "
                               "affine=True, track_running_stats=True)";
    assert_layout(conv, "f32[5, 8, 16, 24, 24][73728, 1, 4608, 192, 8]",
                  CFX_CHANNELS_LAST_3D);
    assert_layout(norm, "f32[5, 8, 16, 24, 24][73728, 1, 4608, 192, 8]",
                  CFX_CHANNELS_LAST_3D);
    assert_layout(norm, "f32[N, 8, D, H, W][8*D*H*W, 1, 8*H*W, 8*W, 8]",
                  CFX_CHANNELS_LAST_3D);
}

/* ---- Sizes and values ---- */

static const struct {
    const char *nodes, *inputs, *name, *want;
} gives[] = {
    /* Arithmetic on sizes. */
    /* clang-format off */
    {X METHOD("n", "size", "%x, 0") METHOD("c", "size", "%x, 1")
     CALL("m", "operator.mul", "%n, %c")
     METHOD("r", "reshape", "%x, %m, -1"), "f32[N, 3, H]", "r",
     "f32[3*N, H]"},
    {X METHOD("n", "size", "%x, 0") CALL("f", "operator.floordiv", "%n, 2")
     CALL("z", "torch.zeros", "(%f, 7)"), "f32[N]", "z", "f32[N//2, 7]"},
    {X CALL("s", "builtins.getattr", "%x, 'shape'")
     CALL("p", "operator.add", "%s, (1,)")
     METHOD("v", "view", "%x, %p"), "f32[N, H]", "v", "f32[N, H, 1]"},
    {X METHOD("n", "size", "%x, 0") CALL("a", "torch.arange", "%n"),
     "f32[N, 2]", "a", "i64[N]"},
    {X METHOD("n", "size", "%x, 0") CALL("k", "operator.sub", "%n, 1")
     CALL("a", "operator.getitem", "%x, slice(None, %k, None)"), "f32[N, 2]",
     "a", "f32[N - 1, 2]"},
    {X Y CALL("c", "torch.cat", "[%x, %y], 1"), "f32[N, 3];f32[N, K]", "c",
     "f32[N, K + 3]"},
    /* Tensors of numbers. */
    {X CALL("t", "torch.tensor", "[2, -1]") METHOD("l", "tolist", "%t")
     METHOD("r", "reshape", "%x, %l"), "f32[4, N]", "r", "f32[2, 2*N]"},
    {X CALL("t", "torch.arange", "4") CALL("s", "torch.sum", "%t")
     METHOD("i", "item", "%s") CALL("e", "torch.zeros", "%i"), "f32[1]", "e",
     "f32[6]"},
    {X CALL("t", "torch.tensor", "[True, False, True]")
     CALL("m", "operator.getitem", "%x, %t"), "f32[3, N]", "m", "f32[2, N]"},
    {X CALL("t", "torch.tensor", "[0, 2, 0, 5]")
     CALL("z", "torch.nonzero", "%t"), "f32[1]", "z", "i64[2, 1]"},
    {X CALL("t", "torch.tensor", "[1, 1]")
     CALL("m", "operator.getitem", "%x, %t"), "f32[3, N]", "m", "f32[2, N]"},
    {X CALL("t", "torch.tensor", "0.5") METHOD("i", "item", "%t"), "f32[1]",
     "i", "0.5"},
    /* Extents that depend on elements. */
    {X CALL("z", "torch.nonzero", "%x"), "f32[3, 4]", "z", "i64[u0, 2]"},
    {X CALL("m", "operator.gt", "%x, 0")
     CALL("s", "torch.masked_select", "%x, %m")
     CALL("r", "torch.relu", "%s"), "f32[3, N]", "r", "f32[u0]"},
    {X METHOD("i", "item", "%x") CALL("e", "torch.zeros", "(%i, 2)"), "i64[]",
     "e", "f32[u0, 2]"},
    {X CALL("m", "torch.max", "%x") METHOD("i", "item", "%m")
     CALL("d", "operator.truediv", "%x, %i"), "f32[N]", "d", "f32[N]"},
    {X METHOD("l", "tolist", "%x") CALL("z", "torch.zeros", "%l"), "i64[2]",
     "z", "f32[u0, u1]"},
    {X METHOD("l", "tolist", "%x"), "f32[1, 2]", "l", "[[nan, nan]]"},
    /* A tensor that was written to is no longer known. */
    {X CALL("t", "torch.tensor", "[1, 0, 1]")
     CALL("f", "operator.setitem", "%t, 0, 0")
     CALL("z", "torch.nonzero", "%t"), "f32[1]", "z", "i64[u0, 1]"},
};
/* clang-format on */

TEST_EACH(sizes_and_values_go_through, sizeof(gives) / sizeof(gives[0]))
{
    assert_gives(gives[_i].nodes, gives[_i].inputs, gives[_i].name,
                 gives[_i].want);
}

TEST_CASE(random_numbers_are_not_known)
{
    /* clang-format off */
    assert_gives(X CALL("t", "torch.rand", "3")
                 CALL("g", "operator.gt", "%t, 0.5")
                 CALL("z", "torch.nonzero", "%g"), "f32[1]", "z",
                 "i64[u0, 1]");
    /* clang-format on */
}

/* Numbers of an input are those of one run. */
TEST_CASE(inputs_tell_their_shapes_only)
{
    /* clang-format off */
    cfx_module *gm = parse("graph():\n" X
                           "    %z : [num_users=1] = call_function[target="
                           "torch.nonzero](args = (%x,), kwargs = {})\n"
                           "    return z\n");
    /* clang-format on */
    int64_t three = 3;
    cfx_tensor *x;
    cfx_value out;
    ck_assert_int_eq(cfx_tensor_new(&x, ctx, CFX_F32, 1, &three, &err),
                     CFX_OK);
    memset(x->data, 0, 3 * sizeof(float));
    if (cfx_propagate_shapes(gm, env, (cfx_value[]){cfx_value_of_tensor(x)}, 1,
                             &out, &err))
        ck_abort_msg("%s", err.text);
    assert_is(out, false, "i64[u0, 1]");
    cfx_value_unref(out);
    cfx_tensor_unref(x);
    cfx_module_unref(gm);
}

/* A module's own numbers are read, and never written. */
TEST_CASE(state_stays_as_it_is)
{
    /* clang-format off */
    cfx_module *gm = parse(
        "# cfx 1\nM()\n\nstate:\n    n: i64[2]\n\ngraph():\n" X
        "    %n : [num_users=1] = get_attr[target=n]\n"
        METHOD("z", "zero_", "%n")
        CALL("k", "torch.nonzero", "%n")
        "    return %k\n");
    /* clang-format on */
    int64_t two = 2;
    cfx_tensor *n;
    cfx_value x = shape("f32[1]"), out;
    ck_assert_int_eq(cfx_tensor_new(&n, ctx, CFX_I64, 1, &two, &err), CFX_OK);
    ((int64_t *)n->data)[0] = ((int64_t *)n->data)[1] = 5;
    ck_assert_int_eq(cfx_module_set(gm, "n", n, &err), CFX_OK);
    if (cfx_propagate_shapes(gm, env, &x, 1, &out, &err))
        ck_abort_msg("%s", err.text);
    assert_is(out, false, "i64[u0, 1]");
    ck_assert_int_eq(((int64_t *)n->data)[0], 5);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_tensor_unref(n);
    cfx_module_unref(gm);
}

/* ---- Errors ---- */

TEST_CASE(errors_name_call_shapes_and_module)
{
    cfx_module *gm = parse(
        "M(\n  (a): Module(\n    (fc): Linear(in_features=4, out_features=3, "
        "bias=True)\n    (gc): Linear(in_features=3, out_features=3, "
        "bias=True)\n  )\n)\n\n"
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %a_fc : [num_users=1] = call_module[target=a.fc](args = (%x,), "
        "kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = "
        "(%a_fc, %x), kwargs = {})\n"
        "    %a_gc : [num_users=1] = call_module[target=a.gc](args = (%add,), "
        "kwargs = {})\n    return a_gc\n");
    cfx_shape_prop p = {.env = NULL};
    ck_assert_int_eq(walk(&p, gm, "f32[N, 4]"), CFX_ESHAPE);
    ck_assert_str_eq(err.text,
                     "add: The size of tensor a (3) must match the "
                     "size of tensor b (4) at non-singleton dimension 1; "
                     "operator.add of f32[N, 3], f32[N, 4] in a; While "
                     "executing %add : [num_users=1] = call_function[target="
                     "operator.add](args = (%a_fc, %x), kwargs = {})");
    cfx_interp_release(&p.base);
    memset(&p, 0, sizeof(p));
    ck_assert_int_ne(walk(&p, gm, "f32[N, 5]"), CFX_OK);
    ck_assert_ptr_nonnull(strstr(err.text, "; Linear of f32[N, 5] in a.fc; "
                                           "While executing %a_fc"));
    cfx_interp_release(&p.base);
    cfx_module_unref(gm);
}

/* ---- Provenance ---- */

TEST_CASE(nodes_stem_from_modules)
{
    static const struct {
        const char *node, *path;
    } want[] = {
        {"x", ""},   {"a_fc", "a.fc"}, {"add", "a"},    {"a_gc", "a.gc"},
        {"mul", ""}, {"b", "b"},       {"tell", "q.r"}, {"output", ""},
    };
    /* clang-format off */
    cfx_module *gm = parse(
        "# cfx 1\nM(\n  (a): Module(\n    (fc): ReLU()\n"
        "    (gc): ReLU()\n  )\n"
        "  (b): ReLU()\n)\n\ngraph():\n" X
        "    %a_fc : [num_users=1] = call_module[target=a.fc](args = (%x,), "
        "kwargs = {})\n"
        CALL("add", "operator.add", "%a_fc, 1")
        "    %a_gc : [num_users=1] = call_module[target=a.gc](args = (%add,), "
        "kwargs = {})\n"
        CALL("mul", "operator.mul", "%a_gc, 2")
        "    %b : [num_users=1] = call_module[target=b](args = (%mul,), "
        "kwargs = {})\n"
        "    %tell : [num_users=1] = call_function[target=operator.neg](args ="
        " (%b,), kwargs = {}) meta = {'nn_module_stack': {'q': ('q', 'Q'), "
        "'q.r': ('q.r', 'R')}}\n"
        "    return %tell\n");
    /* clang-format on */
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_node_path *path = calloc(cfx_graph_ids(g), sizeof(*path));
    cfx_graph_node_paths(g, path);
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        const cfx_node *n = cfx_graph_find(g, want[i].node);
        cfx_node_path have = path[n->id];
        ck_assert_msg(have.len == strlen(want[i].path) &&
                          !memcmp(have.path, want[i].path, have.len),
                      "%s: %.*s", n->name, (int)have.len, have.path);
    }
    free(path);
    cfx_module_unref(gm);
}

/* ---- Classes of one's own ---- */

struct widest {
    cfx_shape_prop base;
    int64_t most;
    char name[32];
};

static cfx_status widest_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out);
static const cfx_interp_class widest_class = {
    .size = sizeof(cfx_interp_class),
    .name = "widest",
    .super = &cfx_shape_prop_class,
    .run_node = widest_run_node,
};
static const cfx_interp_class below_widest = {
    .size = sizeof(cfx_interp_class),
    .name = "below_widest",
    .super = &widest_class,
};

static cfx_status widest_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out)
{
    struct widest *w = (struct widest *)it;
    cfx_status st = CFX_SUPER(&widest_class, run_node)(it, n, out);
    if (!st && out->kind == CFX_TENSOR &&
        cfx_tensor_numel(out->u.tensor) > w->most) {
        w->most = cfx_tensor_numel(out->u.tensor);
        snprintf(w->name, sizeof(w->name), "%s", n->name);
    }
    return st;
}

TEST_CASE(classes_derive_from_it)
{
    static const cfx_interp_class *const classes[] = {&widest_class,
                                                      &below_widest};
    cfx_value x = shape("f32[2, 1000]"), out;
    for (size_t i = 0; i < 2; i++) {
        cfx_module *gm = parse(two_layers);
        struct widest w = {.most = 0};
        ck_assert_int_eq(
            cfx_shape_prop_init(&w.base, classes[i], gm, NULL, &err), CFX_OK);
        ck_assert_int_eq(cfx_interp_run(&w.base.base, &x, 1, &out, &err),
                         CFX_OK);
        ck_assert_str_eq(w.name, "x");
        ck_assert_int_eq(w.most, 2000);
        assert_meta(gm, "linear2", false, "f32[2, 10]", "torch.Tensor");
        cfx_value_unref(out);
        cfx_interp_release(&w.base.base);
        cfx_module_unref(gm);
    }
    cfx_value_unref(x);
}

/* ---- Lack of memory ---- */

static cfx_status all_of_it(void)
{
    cfx_context *c = NULL;
    cfx_shape_env *e = NULL;
    cfx_module *gm = NULL;
    cfx_value x = CFX_NOTHING, out = CFX_NOTHING;
    cfx_shape_prop p = {.env = NULL};
    struct text t = {.len = 0};
    /* clang-format off */
    static const char text[] =
        "# cfx 1\nM()\n\ngraph():\n"
        "    %x : Tensor \"f32[B, 3][3, 1]cpu\"[num_users=2] = "
        "placeholder[target=x]\n"
        CALL("t", "torch.tensor", "[1, 0, 1]")
        CALL("s", "operator.setitem", "%t, 0, 0")
        CALL("z", "torch.nonzero", "%t")
        CALL("k", "torch.topk", "%x, 2")
        "    return (%z, %k)\n";
    /* clang-format on */
    const cfx_options o = {.size = sizeof(o),
                           .allocator = {test_alloc, test_free, NULL},
                           .threads = 1};
    cfx_status st = cfx_context_new(&c, &o, &err);
    if (!st)
        st = cfx_shape_env_new(&e, c, &err);
    if (!st)
        st = cfx_parse_model(&gm, c, text, strlen(text), "m", &err);
    if (!st)
        st = cfx_parse_shape(&x, c, e, "f32[N, 3]", 9, &err);
    if (!st) {
        const cfx_shape_prop_options how = {
            .size = sizeof(how), .env = e, .keep_values = true, .check = true};
        st = cfx_shape_prop_init(&p, NULL, gm, &how, &err);
    }
    if (!st)
        st = cfx_interp_run(&p.base, &x, 1, &out, &err);
    if (!st)
        st = cfx_print_annotated((cfx_sink){append, &t}, gm, &err);
    t.len = 0;
    if (!st)
        st = cfx_print_shapes((cfx_sink){append, &t}, &p, CFX_SHAPES_CSV, 1,
                              &err);
    cfx_value_unref(out);
    cfx_value_unref(x);
    cfx_interp_release(&p.base);
    cfx_module_unref(gm);
    cfx_shape_env_free(e);
    cfx_context_free(c);
    return st;
}

/* The word of the device takes more memory than those before it. */
TEST_CASE(lack_of_memory_is_no_malformed_device)
{
    cfx_status st = CFX_ENOMEM;
    for (long n = 0; st != CFX_EPARSE; n++) {
        cfx_context *c = NULL;
        cfx_shape_env *e = NULL;
        cfx_value v;
        char text[2000] = "f32[2]";
        const cfx_options o = {.size = sizeof(o),
                               .allocator = {test_alloc, test_free, NULL},
                               .threads = 1};
        memset(text + 6, 'x', sizeof(text) - 6);
        allowed = n;
        st = cfx_context_new(&c, &o, &err);
        if (!st)
            st = cfx_shape_env_new(&e, c, &err);
        refused = false;
        if (!st)
            st = cfx_parse_shape(&v, c, e, text, sizeof(text), &err);
        cfx_shape_env_free(e);
        cfx_context_free(c);
        ck_assert_int_eq(held, 0);
        ck_assert_int_eq(st, refused || !e ? CFX_ENOMEM : CFX_EPARSE);
    }
    allowed = -1;
}

TEST_CASE(lack_of_memory_is_told)
{
    cfx_status st = CFX_ENOMEM;
    for (long n = 0; st; n++) {
        memset(&err, 0, sizeof(err));
        allowed = n;
        refused = false;
        st = all_of_it();
        ck_assert_int_eq(held, 0);
        ck_assert_msg(!st || (refused && st == CFX_ENOMEM), "%ld: %s", n,
                      err.text);
    }
    allowed = -1;
}

/* ---- Threads ---- */

/* clang-format off */
static const char shared_text[] =
    "# cfx 1\nM()\n\ngraph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    CALL("a", "torch.cat", "[%x, %x]")
    CALL("b", "operator.add", "%a, 1")
    "    return %b\n";
/* clang-format on */

/* Propagate an extent that is a symbol, with an environment of its own. */
static void *propagate_often(void *user)
{
    cfx_module *gm = user;
    bool ok = true;
    for (int i = 0; i < 200 && ok; i++) {
        cfx_shape_env *own = NULL;
        cfx_value x = CFX_NOTHING, out = CFX_NOTHING;
        cfx_shape_prop p = {.env = NULL};
        struct text t = {.len = 0};
        ok = !cfx_shape_env_new(&own, ctx, NULL) &&
             !cfx_parse_shape(&x, ctx, own, "f32[N, 3]", 9, NULL);
        const cfx_shape_prop_options o = {
            .size = sizeof(o), .env = own, .no_meta = true};
        ok = ok && !cfx_shape_prop_init(&p, NULL, gm, &o, NULL) &&
             !cfx_interp_run(&p.base, &x, 1, &out, NULL) &&
             !cfx_print_shape((cfx_sink){append, &t}, out, false, NULL) &&
             !strcmp(t.s, "f32[2*N, 3]");
        cfx_interp_release(&p.base);
        cfx_value_unref(out);
        cfx_value_unref(x);
        cfx_shape_env_free(own);
    }
    return ok ? user : NULL;
}

TEST_CASE(two_threads_propagate_over_one_graph_without_meta)
{
    pthread_t thread[2];
    cfx_module *gm = parse(shared_text);
    for (int i = 0; i < 2; i++)
        ck_assert(!pthread_create(&thread[i], NULL, propagate_often, gm));
    for (int i = 0; i < 2; i++) {
        void *ok;
        pthread_join(thread[i], &ok);
        ck_assert_ptr_nonnull(ok);
    }
    const cfx_graph *g = cfx_graph_module_graph(gm);
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        ck_assert_int_eq(cfx_node_meta(n, "tensor_meta").kind, CFX_ABSENT);
    cfx_module_unref(gm);
}

TEST_SUITE(shape_prop, .setup = setup, .teardown = teardown, .timeout = 60)
