/*
 * passes_rewrite_test -- passes that write new nodes for old: modules inline,
 * decompositions, canonical order, writing in place.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/decompose.h>
#include <cfx/ops.h>

#include "tests/unit/pass_test.h"
#include "tests/unit/unit.h"

#define NET                                                                   \
    "Net(\n"                                                                  \
    "  (fc): Linear(in_features=3, out_features=3, bias=True)\n"              \
    "  (act): ReLU()\n"                                                       \
    "  (drop): Dropout(p=0.5, inplace=False)\n"                               \
    "  (norm): LayerNorm((3,), eps=1e-05, elementwise_affine=True, "          \
    "bias=True)\n"                                                            \
    ")\n\n"

static const char *target(const char *name)
{
    return node(name)->target.u.str->text;
}

/* ---- Inlining ---- */

TEST_CASE(modules_become_what_their_forward_does)
{
    model(NET GRAPH IN("x") MOD("y", "fc", "%x,") MOD("z", "act", "%y,")
          MOD("d", "drop", "%z,") OUT("d"));
    apply("inline_modules");
    assert_graph("graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %fc_weight : [num_users=1] = get_attr[target=fc.weight]\n"
        "    %fc_bias : [num_users=1] = get_attr[target=fc.bias]\n"
        "    %linear : [num_users=1] = call_function[target="
        "torch.nn.functional.linear](args = (%x, %fc_weight), kwargs = {bias: "
        "%fc_bias})\n"
        "    %relu : [num_users=1] = call_function[target=torch.relu](args = "
        "(%linear,), kwargs = {})\n"
        "    %dropout : [num_users=1] = call_function[target="
        "torch.nn.functional.dropout](args = (%relu,), kwargs = {p: 0.5, "
        "training: False})\n"
        "    return dropout");
    ck_assert_uint_eq(changed, 8);
    apply("inline_modules");
    ck_assert_uint_eq(changed, 0);
}

TEST_CASE(modules_are_inlined_by_type_and_path)
{
    const char *text = NET GRAPH IN("x") MOD("y", "fc", "%x,")
        MOD("z", "act", "%y,") MOD("n", "norm", "%z,") OUT("n");
    model(text);
    apply("inline_modules(types=[ReLU])");
    assert_nodes("x y relu n output");
    model(text);
    apply("inline_modules(types=[ReLU], paths=['norm'])");
    assert_nodes("x y relu norm_weight norm_bias layer_norm output");
    apply("inline_modules(paths=['nothing'])");
    ck_assert_uint_eq(changed, 0);
}

/* ---- 90: graph_provenance ---- */

TEST_CASE(new_nodes_inherit_from_the_module_call)
{
    model(NET GRAPH IN("x") MOD("y", "fc", "%x,") OUT("y"));
    cfx_value v = cfx_str_new(ctx, "model.py:3", 10);
    assert_ok(cfx_node_set_meta(node("y"), "stack_trace", v, &err));
    assert_ok(cfx_node_set_type(node("y"), "torch.Tensor", &err));
    cfx_value_unref(v);
    apply("inline_modules");
    v = cfx_node_meta(node("linear"), "stack_trace");
    ck_assert_int_eq(v.kind, CFX_STR);
    ck_assert_str_eq(v.u.str->text, "model.py:3");
    v = cfx_node_meta(node("fc_weight"), "from_node");
    ck_assert(cfx_value_is_seq(v));
    ck_assert_str_eq(v.u.seq->item[0].u.str->text, "y");
    ck_assert_str_eq(node("linear")->type->text, "torch.Tensor");
}

/* ---- Decompositions ---- */

TEST_CASE(calls_become_core_operators)
{
    model(GRAPH IN("x") FN("a", "torch.nn.functional.silu", "%x,")
          ME("b", "square", "%a,")
          FNK("c", "torch.nn.functional.softmax", "%b,", "dim: 1")
          FN("d", "torch.stack", "[%c, %x], 0")
          FNK("e", "torch.nn.functional.dropout", "%d,", "training: False")
          OUT("e"));
    apply("decompose");
    assert_nodes("x sigmoid mul mul_1 _softmax unsqueeze unsqueeze_1 cat "
                 "output");
    apply("decompose");
    ck_assert_uint_eq(changed, 0);
}

/* What comes of a decomposition is decomposed in turn. */
static cfx_value twice_silu(cfx_scope *s, const cfx_value *in)
{
    return cfx_silu(s, cfx_silu(s, in[0]));
}

static cfx_value mine(cfx_scope *s, const cfx_value *in)
{
    return cfx_neg(s, in[0]);
}

static cfx_value itself(cfx_scope *s, const cfx_value *in)
{
    return cfx_relu(s, in[0]);
}

static bool skip_b(void *user, const cfx_node *n)
{
    (void)user;
    return !strcmp(n->name, "b");
}

TEST_CASE(tables_of_programs_come_first)
{
    static const cfx_decomposition table[] = {
        {"aten.gelu.default", twice_silu},
        {"aten.square.default", mine},
    };
    cfx_decompose_options o = {.size = sizeof(o), .table = table, .n = 2};
    const char *text = GRAPH IN("x") FN("a", "torch.nn.functional.gelu",
        "%x,") ME("b", "square", "%a,") OUT("b");
    size_t all;
    model(text);
    assert_ok(cfx_decompose(gm, &o, &all, &err));
    assert_nodes("x sigmoid mul sigmoid_1 mul_1 neg output");
    model(text);
    o.only_table = true;
    o.skip = skip_b;
    assert_ok(cfx_decompose(gm, &o, &all, &err));
    assert_nodes("x silu silu_1 b output");
}

TEST_CASE(tables_that_make_no_sense_are_refused)
{
    static const cfx_decomposition unknown[] = {{"aten.frob.default", mine}};
    static const cfx_decomposition loop[] = {{"aten.relu.default", itself}};
    cfx_decompose_options o = {.size = sizeof(o), .table = unknown, .n = 1};
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,") OUT("a"));
    ck_assert_int_eq(cfx_decompose(gm, &o, NULL, &err), CFX_ENAME);
    assert_failed(CFX_ENAME,
                  "decompose: there is no operator 'aten.frob.default'");
    o.table = loop;
    ck_assert_int_eq(cfx_decompose(gm, &o, NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "decompose: torch.relu leads to itself");
    assert_ok(cfx_graph_lint(g, &err));
}

static void set_shape(const char *name, int rank, int64_t a, int64_t b)
{
    cfx_tensor *t;
    cfx_dim shape[] = {cfx_dim_int(a), cfx_dim_int(b)};
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, rank, shape, NULL, &err));
    assert_ok(cfx_node_set_meta(node(name), "tensor_meta",
                                cfx_value_of_tensor(t), &err));
    cfx_tensor_unref(t);
}

TEST_CASE(what_needs_a_rank_waits_for_one)
{
    const char *text = NET GRAPH IN("x") AT("w", "fc.weight")
        AT("b", "fc.bias") FN("y", "torch.nn.functional.linear", "%x, %w, %b")
        FN("z", "torch.transpose", "%y, 0, -1") OUT("z");
    model(text);
    apply("decompose");
    ck_assert_uint_eq(changed, 0);
    set_shape("x", 2, 4, 3);
    set_shape("w", 2, 3, 3);
    set_shape("b", 1, 3, 0);
    set_shape("y", 2, 4, 3);
    apply("decompose");
    assert_nodes("x w b permute addmm permute_1 output");
    ck_assert_int_eq(cfx_node_meta(node("addmm"), "tensor_meta").kind,
                     CFX_TENSOR);
}

/* A write through a view must be seen. */
TEST_CASE(views_that_are_written_to_are_not_decomposed)
{
    model(GRAPH IN("x") FN("v", "torch.flatten", "%x, 1")
          ME("w", "add_", "%v, 1") FN("u", "torch.relu_", "%x,")
          OUT("(x, w, u)"));
    apply("decompose");
    ck_assert_uint_eq(changed, 0);
    /* A new result that is written to may come from elsewhere. */
    model(GRAPH IN("x") FN("v", "torch.nn.functional.silu", "%x,")
          FN("y", "torch.neg", "%x,") ME("w", "add_", "%v, %y") OUT("w"));
    apply("decompose");
    assert_nodes("x sigmoid mul y w output");
}

/* A write that only its own result shows is none. */
TEST_CASE(writes_that_nobody_sees_become_new_results)
{
    model(GRAPH IN("x") FN("a", "torch.neg", "%x,") ME("r", "relu_", "%a,")
          FNK("s", "torch.nn.functional.silu", "%r,", "inplace: True")
          OUT("s"));
    apply("decompose");
    assert_nodes("x a relu sigmoid mul output");
    model(GRAPH IN("x") FN("a", "torch.neg", "%x,") ME("v", "view", "%a, -1")
          ME("r", "relu_", "%a,") ME("q", "relu_", "%x,")
          OUT("(r, v, q)"));
    apply("decompose");
    ck_assert_uint_eq(changed, 0);
}

/* ---- One order, one naming ---- */

static char *canonical(const char *text)
{
    model(text);
    apply("canonicalize");
    char *first = graph_text(g);
    apply("canonicalize");
    ck_assert_uint_eq(changed, 0);
    return first;
}

TEST_CASE(graphs_that_are_the_same_look_the_same)
{
    char *a = canonical(NET GRAPH IN("x") FN("b", "torch.relu", "%x,")
        AT("w", "fc.weight") AT("v", "fc.bias")
        FN("a", "torch.neg", "%x,") FN("c", "torch.matmul", "%b, %w")
        FN("d", "operator.add", "%a, %v") FN("e", "operator.add", "%c, %d")
        OUT("e"));
    char *b = canonical(NET GRAPH IN("x") AT("bias", "fc.bias")
        AT("weight", "fc.weight") FN("n", "torch.neg", "%x,")
        FN("s", "operator.add", "%n, %bias") FN("r", "torch.relu", "%x,")
        FN("p", "torch.matmul", "%r, %weight")
        FN("q", "operator.add", "%p, %s") OUT("q"));
    ck_assert_str_eq(a, b);
    ck_assert_ptr_nonnull(strstr(a, "%add_1 : [num_users=1] = "));
    free(a);
    free(b);
}

/* Calls stay on their side of what writes. */
TEST_CASE(canonical_order_respects_effects)
{
    model(GRAPH IN("x") FN("n", "torch.neg", "%x,")
          ME("w", "add_", "%x, 1") FN("a", "torch.abs", "%x,")
          FN("r", "torch.rand_like", "%x,") FN("s", "torch.rand_like", "%x,")
          FN("c", "torch.ceil", "%x,") OUT("(n, w, a, r, s, c)"));
    apply("canonicalize");
    assert_nodes("x neg add_ abs_1 rand_like rand_like_1 ceil output");
}

TEST_CASE(canonical_graphs_keep_meta_and_types)
{
    model(GRAPH IN("x") FN("foo", "torch.neg", "%x,") OUT("foo"));
    assert_ok(cfx_node_set_meta(node("foo"), "k", cfx_int(3), &err));
    assert_ok(cfx_node_set_type(node("foo"), "torch.Tensor", &err));
    apply("canonicalize");
    ck_assert_uint_eq(changed, 1);
    ck_assert_int_eq(cfx_node_meta(node("neg"), "k").u.i, 3);
    ck_assert_str_eq(node("neg")->type->text, "torch.Tensor");
    ck_assert_ptr_eq(cfx_graph_owning_module(g), gm);
}

/* ---- 88: writing in place ---- */

/* Every node, but views and the output, is f32[2, 3]. */
static void shapes(void)
{
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (n->op != CFX_OUTPUT && *n->name != 'v')
            set_shape(n->name, 2, 2, 3);
}

TEST_CASE(reinplace_basic)
{
    model(GRAPH IN("x") FN("a", "torch.neg", "%x,")
          FN("b", "torch.add", "%a, 1") ME("c", "relu", "%b,") OUT("c"));
    apply("reinplace");
    ck_assert_uint_eq(changed, 0);
    shapes();
    apply("reinplace");
    ck_assert_uint_eq(changed, 2);
    ck_assert_str_eq(target("a"), "torch.neg");
    ck_assert_str_eq(target("b"), "add_");
    ck_assert_int_eq(node("b")->op, CFX_CALL_METHOD);
    ck_assert_str_eq(target("c"), "relu_");
}

/* A call that says that it is not in place says that it is. */
TEST_CASE(reinplace_changes_the_argument_where_there_is_one)
{
    model(GRAPH IN("x") ME("a", "cos", "%x,")
          FNK("b", "torch.nn.functional.relu", "%a,", "inplace: False")
          FN("c", "torch.nn.functional.hardtanh", "%b, -1.0, 1.0, False")
          OUT("c"));
    shapes();
    apply("reinplace");
    ck_assert_uint_eq(changed, 2);
    ck_assert_str_eq(target("b"), "torch.nn.functional.relu");
    ck_assert(node("b")->kwargs[1].u.i == 1);
    ck_assert(node("c")->args[3].u.i == 1);
}

TEST_CASE(reinplace_with_view)
{
    model(GRAPH IN("x") FN("a", "torch.neg", "%x,")
          ME("v", "view", "%a, -1") FN("b", "torch.add", "%a, 1")
          FN("c", "torch.neg", "%v,") FN("d", "torch.sum", "%c,")
          FN("e", "torch.add", "%b, %d") OUT("e"));
    shapes();
    apply("reinplace");
    ck_assert_str_eq(target("b"), "torch.add");
}

TEST_CASE(reinplace_different_metadata)
{
    model(GRAPH IN("x") FN("a", "torch.neg", "%x,")
          FN("b", "torch.ge", "%a, 1") FN("c", "torch.add", "%b, 1")
          FN("d", "torch.abs", "%c,") OUT("d"));
    shapes();
    cfx_tensor *t;
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(3)};
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_BOOL, 2, shape, NULL, &err));
    assert_ok(cfx_node_set_meta(node("b"), "tensor_meta",
                                cfx_value_of_tensor(t), &err));
    cfx_tensor_unref(t);
    apply("reinplace");
    ck_assert_str_eq(target("b"), "torch.ge");
    ck_assert_str_eq(target("c"), "torch.add");
    ck_assert_str_eq(target("d"), "abs_");
}

TEST_CASE(reinplace_overlapping_memory)
{
    cfx_tensor *t;
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(3)};
    cfx_dim stride[] = {cfx_dim_int(0), cfx_dim_int(1)};
    model(GRAPH IN("x") FN("a", "torch.neg", "%x,")
          FN("b", "torch.add", "%a, 1") FN("c", "torch.neg", "%b,")
          FN("d", "torch.add", "%c, %c") FN("e", "torch.abs", "%d,")
          OUT("e"));
    shapes();
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, stride, &err));
    assert_ok(cfx_node_set_meta(node("a"), "tensor_meta",
                                cfx_value_of_tensor(t), &err));
    cfx_tensor_unref(t);
    apply("reinplace");
    ck_assert_str_eq(target("b"), "torch.add");
    ck_assert_str_eq(target("c"), "neg_");
    ck_assert_str_eq(target("d"), "torch.add");
}

TEST_CASE(reinplace_index_mutation)
{
    model(NET GRAPH IN("x") AT("w", "fc.weight")
          FN("a", "torch.add", "%w, 1") FN("b", "torch.add", "%x, 1")
          FN("c", "torch.mul", "%a, %b") FN("d", "torch.add", "%a, %c")
          FN("e", "torch.neg", "%d,") OUT("e"));
    shapes();
    apply("reinplace");
    ck_assert_str_eq(target("a"), "torch.add");
    ck_assert_str_eq(target("b"), "torch.add");
    ck_assert_str_eq(target("c"), "torch.mul");
    ck_assert_str_eq(target("d"), "add_");
}

/* ---- 95: meta_tracer ---- */

/* Shapes follow through what a pass writes. */
TEST_CASE(new_nodes_have_the_shapes_of_those_they_replace)
{
    model(NET GRAPH IN("x") MOD("y", "fc", "%x,") OUT("y"));
    set_shape("x", 2, 4, 3);
    set_shape("y", 2, 4, 3);
    apply("inline_modules");
    cfx_value v = cfx_node_meta(node("linear"), "tensor_meta");
    ck_assert_int_eq(v.kind, CFX_TENSOR);
    ck_assert_int_eq(cfx_tensor_size(v.u.tensor, 0), 4);
}

TEST_SUITE(passes_rewrite, .setup = setup, .teardown = teardown, .timeout = 60)
