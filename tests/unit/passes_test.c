/*
 * passes_test -- what each pass does to small graphs. Names of torch.fx's tests
 * are kept where one says the same.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/fold_constants.h>

#include "tests/unit/pass_test.h"
#include "tests/unit/unit.h"

static void cse(const char *text, size_t merged)
{
    model(text);
    apply("common_subexpressions");
    ck_assert_msg(changed == merged, "%zu merged, not %zu", changed, merged);
    apply("common_subexpressions");
    ck_assert_uint_eq(changed, 0);
}

/* ---- 85: common subexpressions ---- */

TEST_CASE(cse_nochange)
{
    cse(GRAPH IN("x") FN("a", "operator.add", "%x, 1,")
        FN("b", "operator.add", "%x, %a,") FN("c", "operator.add", "%a, %b,")
        OUT("c"), 0);
}

TEST_CASE(cse_empty)
{
    cse(GRAPH IN("x") OUT("None"), 0);
}

TEST_CASE(cse_immutable_list_type)
{
    cse(GRAPH IN("x") FNK("a", "torch.sum", "%x,", "dim: [1]")
        FNK("b", "torch.sum", "%x,", "dim: [1]")
        FN("c", "torch.sum", "%x,") FN("d", "torch.sum", "%x,")
        OUT("(a, b, c, d)"), 2);
    assert_nodes("x a c output");
}

TEST_CASE(cse_nested_immutable_list_type)
{
    cse(GRAPH IN("x") FN("a", "torch.cat", "[%x, %x],")
        FN("b", "torch.cat", "[%x, %x],") FN("c", "torch.cat", "[%x],")
        OUT("(a, b, c)"), 1);
}

TEST_CASE(cse_simple)
{
    cse(GRAPH IN("x") ME("a", "cos", "%x,") ME("b", "cos", "%x,")
        FN("c", "operator.add", "%a, %a") FN("d", "operator.add", "%b, %b")
        FN("e", "operator.add", "%c, %d") OUT("e"), 2);
    assert_nodes("x a c e output");
}

TEST_CASE(cse_simple_2)
{
    cse(GRAPH IN("x") ME("a", "cos", "%x,") ME("b", "sin", "%x,")
        ME("c", "cos", "%x,") ME("d", "sin", "%c,") ME("e", "sin", "%a,")
        OUT("(a, b, c, d, e)"), 2);
    assert_nodes("x a b d output");
}

TEST_CASE(cse_two_args)
{
    cse(GRAPH IN("x") FNK("a", "torch.sum", "%x,", "dim: 1")
        FNK("b", "torch.sum", "%x,", "dim: 1")
        FNK("c", "torch.sum", "%x,", "dim: 0") OUT("(a, b, c)"), 1);
}

/* Equal only once defaults are written out. */
TEST_CASE(cse_two_args_default)
{
    const char *text = GRAPH IN("x")
        FNK("a", "torch.sum", "%x,", "dim: 1, keepdim: False")
        FNK("b", "torch.sum", "%x,", "dim: 1") FN("c", "torch.sum", "%x, 1")
        OUT("(a, b, c)");
    cse(text, 0);
    model(text);
    apply("normalize(tensors=True)");
    apply("common_subexpressions");
    ck_assert_uint_eq(changed, 2);
}

TEST_CASE(cse_multiple_same_ops)
{
    cse(GRAPH IN("x") FN("a", "torch.sum", "%x,") FN("b", "torch.sum", "%x,")
        FN("c", "torch.sum", "%x,") FN("d", "torch.sum", "%x,")
        FN("e", "operator.add", "%a, %b") FN("f", "operator.add", "%c, %d")
        OUT("(e, f)"), 4);
}

TEST_CASE(cse_kwarg)
{
    cse(GRAPH IN("x") FNK("a", "torch.std", "%x,", "dim: 1, keepdim: True")
        FNK("b", "torch.std", "%x,", "keepdim: True, dim: 1")
        OUT("(a, b)"), 1);
}

TEST_CASE(cse_random)
{
    cse(GRAPH IN("x") FN("a", "torch.rand_like", "%x,")
        FN("b", "torch.rand_like", "%x,") FN("c", "torch.randn", "4,")
        FN("d", "torch.randn", "4,")
        FNK("e", "torch.nn.functional.dropout", "%x,", "training: True")
        FNK("f", "torch.nn.functional.dropout", "%x,", "training: True")
        FN("g", "torch.nn.functional.dropout", "%x, 0.5, False")
        FN("h", "torch.nn.functional.dropout", "%x, 0.5, False")
        OUT("(a, b, c, d, e, f, g, h)"), 1);
    assert_nodes("x a b c d e f g output");
}

TEST_CASE(literals_of_different_types_are_different)
{
    cse(GRAPH IN("x") FN("a", "operator.add", "%x, 1")
        FN("b", "operator.add", "%x, 1.0") FN("c", "operator.add", "%x, True")
        FN("d", "operator.mul", "%x, 0.0") FN("e", "operator.mul", "%x, -0.0")
        FN("f", "operator.mul", "%x, nan") FN("g", "operator.mul", "%x, nan")
        OUT("(a, b, c, d, e, f, g)"), 1);
}

TEST_CASE(modules_attributes_and_methods_are_merged)
{
    cse("Net(\n  (fc): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (drop): Dropout(p=0.5, inplace=False)\n)\n\n"
        GRAPH IN("x") MOD("a", "fc", "%x,") MOD("b", "fc", "%x,")
        AT("w", "fc.weight") AT("v", "fc.weight") AT("u", "fc.bias")
        MOD("c", "drop", "%a,") MOD("d", "drop", "%b,")
        OUT("(a, b, w, v, u, c, d)"), 3);
    assert_nodes("x a w u c output");
    cfx_module_train(gm, true);
    model("Net(\n  (drop): Dropout(p=0.5, inplace=False)\n)\n\n"
          GRAPH IN("x") MOD("c", "drop", "%x,") MOD("d", "drop", "%x,")
          OUT("(c, d)"));
    cfx_module_train(gm, true);
    apply("common_subexpressions");
    ck_assert_uint_eq(changed, 0);
}

/* x is written to between a and c, and b is written to itself. */
TEST_CASE(nothing_is_merged_across_a_write)
{
    cse(GRAPH IN("x") IN("y") FN("a", "torch.relu", "%x,")
        FN("p", "torch.neg", "%y,") ME("w", "add_", "%x, 1")
        FN("c", "torch.relu", "%x,") FN("q", "torch.neg", "%y,")
        OUT("(a, c, p, q, w)"), 1);
    assert_nodes("x y a p w c output");
    cse(GRAPH IN("x") FN("a", "torch.relu", "%x,") FN("b", "torch.relu", "%x,")
        ME("w", "mul_", "%a, 2") OUT("(a, b, w)"), 0);
    cse(GRAPH IN("x") ME("v", "view", "%x, -1") FN("a", "torch.relu", "%x,")
        ME("w", "mul_", "%v, 2") FN("b", "torch.relu", "%x,")
        OUT("(a, b, w)"), 0);
    cse(GRAPH IN("x") FN("s", "torch.split", "%x, 1")
        FN("p", "operator.getitem", "%s, 0") FN("a", "torch.relu", "%x,")
        ME("w", "mul_", "%p, 2") FN("b", "torch.relu", "%x,")
        OUT("(a, b, w)"), 0);
    cse(GRAPH IN("x") IN("y") FN("a", "torch.relu", "%x,")
        FNK("w", "torch.mul", "%y, 2", "out: %x") FN("b", "torch.relu", "%x,")
        OUT("(a, b, w)"), 0);
}

/* ---- 86: dead code; the rest is in the tests of graphs ---- */

TEST_CASE(dead_code_keeps_what_writes_or_is_random)
{
    const char *text = GRAPH IN("x") FN("a", "torch.relu", "%x,")
        FN("b", "torch.neg", "%a,") ME("w", "add_", "%x, 1")
        FNK("o", "torch.exp", "%x,", "out: %x")
        FN("r", "torch.rand_like", "%x,") OUT("x");
    model(text);
    apply("dead_code");
    ck_assert_uint_eq(changed, 2);
    assert_nodes("x w o r output");
    apply("dead_code(random=True)");
    assert_nodes("x w o output");
}

/* ---- 87: constant folding ---- */

static const char folded[] =
    "Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n)\n\n"
    GRAPH IN("x") AT("w", "fc.weight") FN("t", "torch.t", "%w,")
    FN("s", "operator.mul", "%t, 2.0") AT("b", "fc.bias")
    FN("c", "operator.add", "%b, 1") FN("m", "torch.matmul", "%x, %s")
    FN("y", "operator.add", "%m, %c") OUT("y");

static cfx_value run_once(int64_t rows, int64_t columns)
{
    cfx_interp it = {0};
    cfx_tensor *x;
    cfx_value out, in;
    int64_t shape[] = {rows, columns};
    assert_ok(cfx_tensor_new(&x, ctx, CFX_F32, 2, shape, &err));
    assert_ok(cfx_tensor_randomize(x, 3, "x", &err));
    in = cfx_value_of_tensor(x);
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, gm, &err));
    assert_ok(cfx_interp_run(&it, &in, 1, &out, &err));
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    return out;
}

static void assert_same(cfx_value a, cfx_value b)
{
    ck_assert_int_eq(a.kind, CFX_TENSOR);
    ck_assert_int_eq(b.kind, CFX_TENSOR);
    int64_t n = cfx_tensor_numel(a.u.tensor);
    ck_assert_int_eq(cfx_tensor_numel(b.u.tensor), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq_tol(((float *)a.u.tensor->data)[i],
                               ((float *)b.u.tensor->data)[i], 1e-5f);
    cfx_value_unref(a);
    cfx_value_unref(b);
}

TEST_CASE(const_fold_basic_two_attr)
{
    model(folded);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    cfx_value want = run_once(4, 3);
    apply("constant_folding");
    assert_graph("graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %_folded_1 : [num_users=1] = get_attr[target=_folded_1]\n"
        "    %_folded_0 : [num_users=1] = get_attr[target=_folded_0]\n"
        "    %m : [num_users=1] = call_function[target=torch.matmul]"
        "(args = (%x, %_folded_1), kwargs = {})\n"
        "    %y : [num_users=1] = call_function[target=operator.add]"
        "(args = (%m, %_folded_0), kwargs = {})\n"
        "    return y");
    ck_assert_uint_eq(changed, 7);
    assert_same(want, run_once(4, 3));
    apply("constant_folding");
    ck_assert_uint_eq(changed, 0);
}

TEST_CASE(const_fold_noop)
{
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,") OUT("a"));
    apply("constant_folding");
    ck_assert_uint_eq(changed, 0);
    assert_nodes("x a output");
}

TEST_CASE(const_fold_module_attr)
{
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          "  (act): ReLU()\n)\n\n"
          GRAPH IN("x") AT("w", "fc.weight") MOD("r", "act", "%w,")
          FN("y", "torch.matmul", "%r, %x") OUT("(y, w)"));
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding");
    assert_nodes("x w _folded_0 y output");
}

TEST_CASE(const_fold_unused_placeholder)
{
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") IN("z") AT("w", "fc.weight")
          FN("r", "torch.relu", "%w,") OUT("r"));
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding");
    assert_nodes("x z _folded_0 output");
}

TEST_CASE(const_fold_two_and_three_outputs)
{
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") AT("w", "fc.weight")
          FN("r", "torch.relu", "%w,") FN("n", "torch.neg", "%r,")
          FN("y", "torch.matmul", "%r, %x") OUT("(r, n, y)"));
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding");
    assert_nodes("x _folded_1 _folded_0 y output");
}

/* Names and targets; what needs a skipped node stays, too. */
TEST_CASE(const_fold_skip_folding)
{
    model(folded);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding(skip=[t])");
    assert_nodes("x w t s _folded_0 m y output");
    model(folded);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding(skip=['operator.mul', 'c'])");
    assert_nodes("x _folded_0 s b c m y output");
}

TEST_CASE(const_fold_retain_node_meta)
{
    model(folded);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    cfx_value v = cfx_str_new(ctx, "here", 4);
    assert_ok(cfx_node_set_meta(node("s"), "stack_trace", v, &err));
    cfx_value_unref(v);
    apply("constant_folding");
    v = cfx_node_meta(node("_folded_1"), "stack_trace");
    ck_assert_int_eq(v.kind, CFX_STR);
    ck_assert_str_eq(v.u.str->text, "here");
}

TEST_CASE(const_fold_needs_only_the_weights_it_computes_with)
{
    model(folded);
    ck_assert_int_eq(cfx_pass_apply(gm, "constant_folding", false, NULL, &err),
                     CFX_EWEIGHT);
    assert_failed(CFX_EWEIGHT, "missing weight: fc.weight");
    assert_nodes("x w t s b c m y output");
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") AT("w", "fc.weight")
          FN("y", "torch.matmul", "%w, %x") OUT("y"));
    apply("constant_folding");
    ck_assert_uint_eq(changed, 0);
}

/* Numbers become literals; lists of tensors that are needed whole stay, with
 * what they are made of. */
TEST_CASE(const_fold_makes_literals_of_numbers)
{
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") AT("w", "fc.weight") ME("n", "size", "%w, 1")
          FN("k", "operator.mul", "%n, 2") ME("y", "view", "%x, %k, -1")
          OUT("y"));
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding");
    assert_nodes("x y output");
    ck_assert_int_eq(node("y")->args[1].kind, CFX_INT);
    ck_assert_int_eq(node("y")->args[1].u.i, 6);
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") AT("w", "fc.weight")
          FN("r", "torch.relu", "%w,") FN("s", "torch.split", "%r, 1")
          FN("i", "operator.getitem", "%s, 0") FN("c", "torch.cat", "%s,")
          FN("y", "torch.matmul", "%i, %x") OUT("(s, y, c)"));
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding");
    assert_nodes("x w r s _folded_1 _folded_0 y output");
}

TEST_CASE(const_fold_leaves_what_is_written_random_or_large)
{
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") AT("w", "fc.weight")
          FN("r", "torch.relu", "%w,") FN("q", "torch.rand_like", "%w,")
          ME("a", "add_", "%r, 1") FN("z", "torch.zeros", "100,")
          FN("y", "torch.ones", "3,")
          OUT("(r, q, a, x, z, y)"));
    assert_ok(cfx_module_randomize(gm, 1, &err));
    apply("constant_folding(max_bytes=100)");
    assert_nodes("x w r q a z _folded_0 output");
}

static bool skip_adds(void *user, const cfx_node *n)
{
    ++*(int *)user;
    return cfx_node_is(n, "add");
}

TEST_CASE(const_fold_asks_a_function_what_to_skip)
{
    int calls = 0;
    size_t all;
    const cfx_fold_options o = {.size = sizeof(o), .skip = skip_adds,
                                .user = &calls, .prefix = "constant"};
    model(folded);
    assert_ok(cfx_module_randomize(gm, 1, &err));
    assert_ok(cfx_fold_constants(gm, &o, &all, &err));
    ck_assert_int_gt(calls, 3);
    assert_nodes("x constant0 b c m y output");
}

/* ---- 91: one spelling ---- */

TEST_CASE(normalize_args)
{
    model(GRAPH IN("x") ME("a", "relu", "%x,") ME("b", "sum", "%a, 1")
          FN("c", "torch.clamp", "%b, 0") ME("v", "view", "%c, 2, -1")
          FN("d", "my.unknown", "%v, 3") OUT("d"));
    apply("normalize");
    assert_graph("graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %a : [num_users=1] = call_function[target=torch.relu](args = (), "
        "kwargs = {input: %x})\n"
        "    %b : [num_users=1] = call_function[target=torch.sum](args = (), "
        "kwargs = {input: %a, dim: (1,), keepdim: False, dtype: None})\n"
        "    %c : [num_users=1] = call_function[target=torch.clamp](args = (),"
        " kwargs = {input: %b, min: 0, max: None})\n"
        "    %v : [num_users=1] = call_function[target=torch.Tensor.view]"
        "(args = (%c,), kwargs = {size: (2, -1)})\n"
        "    %d : [num_users=1] = call_function[target=my.unknown](args = "
        "(%v, 3), kwargs = {})\n"
        "    return d");
    ck_assert_uint_eq(changed, 4);
    apply("normalize");
    ck_assert_uint_eq(changed, 0);
    apply("normalize(keywords=False, defaults=False)");
    assert_graph("graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %a : [num_users=1] = call_function[target=torch.relu](args = "
        "(%x,), kwargs = {})\n"
        "    %b : [num_users=1] = call_function[target=torch.sum](args = (%a, "
        "(1,)), kwargs = {})\n"
        "    %c : [num_users=1] = call_function[target=torch.clamp](args = "
        "(%b, 0), kwargs = {})\n"
        "    %v : [num_users=1] = call_function[target=torch.Tensor.view]"
        "(args = (%c, (2, -1)), kwargs = {})\n"
        "    %d : [num_users=1] = call_function[target=my.unknown](args = "
        "(%v, 3), kwargs = {})\n"
        "    return d");
    apply("normalize(to=aten, keywords=False, defaults=False)");
    ck_assert_str_eq(node("v")->target.u.str->text,
                     "torch.ops.aten.view.default");
    ck_assert_str_eq(node("b")->target.u.str->text,
                     "torch.ops.aten.sum.dim_IntList");
    ck_assert_int_eq(cfx_pass_apply(gm, "normalize(to=jax)", false, NULL,
                                    &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "normalize: to is 'jax', not 'torch' or 'aten'");
}

/* x + 1 may add numbers, unless x is known to be a tensor. */
TEST_CASE(normalize_binary_operators)
{
    const char *text = GRAPH IN("x") FN("a", "operator.add", "%x, 1")
        ME("r", "relu", "%x,") FN("b", "operator.mul", "%r, %x")
        FN("c", "operator.sub", "%b, 1") FN("d", "operator.iadd", "%c, 1")
        ME("n", "size", "%x, 0") FN("e", "operator.add", "%n, 1")
        OUT("(a, b, c, d, e)");
    model(text);
    apply("normalize(keywords=False, defaults=False)");
    ck_assert_str_eq(node("a")->target.u.str->text, "operator.add");
    ck_assert_str_eq(node("b")->target.u.str->text, "torch.mul");
    ck_assert_str_eq(node("c")->target.u.str->text, "torch.sub");
    ck_assert_str_eq(node("d")->target.u.str->text, "torch.Tensor.add_");
    ck_assert_str_eq(node("e")->target.u.str->text, "operator.add");
    apply("normalize(tensors=True, keywords=False, defaults=False)");
    ck_assert_uint_eq(changed, 1);
    ck_assert_str_eq(node("a")->target.u.str->text, "torch.add");
    ck_assert_str_eq(node("e")->target.u.str->text, "operator.add");
}

TEST_CASE(normalize_args_preserve_meta_and_type)
{
    model(GRAPH IN("x") "    %a : torch.Tensor [num_users=1] = call_method["
          "target=relu](args = (%x,), kwargs = {})\n" OUT("a"));
    assert_ok(cfx_node_set_meta(node("a"), "my_key", cfx_int(7), &err));
    apply("normalize");
    ck_assert_int_eq(node("a")->op, CFX_CALL_FUNCTION);
    ck_assert_str_eq(node("a")->type->text, "torch.Tensor");
    ck_assert_int_eq(cfx_node_meta(node("a"), "my_key").u.i, 7);
}

TEST_CASE(replace_target_nodes_with)
{
    model(GRAPH IN("x") FN("a", "operator.add", "%x, %x")
          ME("b", "add", "%a, 1") FN("c", "operator.add", "%b, 1") OUT("c"));
    apply("replace_targets(call_function, operator.add, call_function, "
          "operator.mul)");
    ck_assert_uint_eq(changed, 2);
    ck_assert_str_eq(node("a")->target.u.str->text, "operator.mul");
    ck_assert_str_eq(node("b")->target.u.str->text, "add");
    ck_assert_str_eq(node("c")->target.u.str->text, "operator.mul");
    ck_assert_int_eq(cfx_pass_apply(gm, "replace_targets(a, b, c, d)", false,
                                    NULL, &err), CFX_EINVAL);
    assert_failed(CFX_EINVAL, "replace_targets: 'a' is not an opcode");
}

/* ---- 92: types ---- */

static const char *type_of(const char *name)
{
    const cfx_string *type = node(name)->type;
    return type ? type->text : "";
}

TEST_CASE(annotate_returns_with_schema)
{
    model("Net(\n  (fc): Linear(in_features=3, out_features=2, bias=True)\n"
          ")\n\n" GRAPH IN("x") MOD("a", "fc", "%x,") AT("w", "fc.weight")
          FN("b", "operator.add", "%a, 1") FN("c", "operator.add", "%x, 1")
          FN("s", "torch.split", "%b, 1") FN("t", "torch.topk", "%b, 2")
          FN("i", "operator.getitem", "%s, 0") ME("d", "dim", "%b,")
          "    %k : int [num_users=1] = call_method[target=relu](args = "
          "(%x,), kwargs = {})\n"
          OUT("(c, i, t, d, k, w)"));
    apply("annotate_returns");
    ck_assert_str_eq(type_of("x"), "");
    ck_assert_str_eq(type_of("a"), "torch.Tensor");
    ck_assert_str_eq(type_of("w"), "torch.Tensor");
    ck_assert_str_eq(type_of("b"), "torch.Tensor");
    ck_assert_str_eq(type_of("c"), "");
    ck_assert_str_eq(type_of("s"), "typing.List[torch.Tensor]");
    ck_assert_str_eq(type_of("t"), "typing.Tuple[torch.Tensor, torch.Tensor]");
    ck_assert_str_eq(type_of("i"), "torch.Tensor");
    ck_assert_str_eq(type_of("d"), "int");
    ck_assert_str_eq(type_of("k"), "int");
    apply("annotate_returns");
    ck_assert_uint_eq(changed, 0);
}

TEST_CASE(annotate_getitem_node)
{
    static const struct { const char *type; int index; const char *want; }
    cases[] = {
        {"typing.Tuple[torch.Tensor, int]", 0, "torch.Tensor"},
        {"typing.Tuple[torch.Tensor, int]", 1, "int"},
        {"typing.Tuple[torch.Tensor, int]", -1, "int"},
        {"typing.Tuple[torch.Tensor, int]", 2, ""},
        {"typing.Tuple[torch.Tensor, ...]", 7, "torch.Tensor"},
        {"tuple[typing.Tuple[int, str], typing.List[int]]", 1,
         "typing.List[int]"},
        {"typing.List[torch.Tensor]", 5, "torch.Tensor"},
        {"list[int]", 0, "int"},
        {"torch.Tensor", 0, ""},
        {"typing.Dict[str, int]", 0, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        model(GRAPH IN("x") FN("a", "my.make", "%x,")
              FN("i", "operator.getitem", "%a, 0") OUT("i"));
        assert_ok(cfx_node_set_type(node("a"), cases[i].type, &err));
        assert_ok(cfx_node_update_arg(node("i"), 1, cfx_int(cases[i].index),
                                      &err));
        apply("annotate_getitem");
        ck_assert_str_eq(type_of("i"), cases[i].want);
    }
}

/* ---- Order ---- */

TEST_CASE(legalize_moves_only_what_must_move)
{
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,") FN("b", "torch.neg",
          "%a,") FN("c", "torch.abs", "%x,") OUT("(b, c)"));
    apply("legalize");
    ck_assert_uint_eq(changed, 0);
    assert_ok(cfx_node_prepend(node("a"), node("b"), &err));
    assert_nodes("x b a c output");
    apply("legalize");
    assert_nodes("x a b c output");
    ck_assert_uint_eq(changed, 1);
}

TEST_CASE(legalize_refuses_cycles)
{
    model(GRAPH IN("x") FN("a", "torch.relu", "%x,") FN("b", "torch.neg",
          "%a,") OUT("b"));
    assert_ok(cfx_node_update_arg(node("a"), 0, cfx_value_of_node(node("b")),
                                  &err));
    ck_assert_int_eq(cfx_pass_apply(gm, "legalize", false, NULL, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Input graph has cycles, unable to add [a, b, "
                  "output]");
}

/* ---- For all ---- */

/* A graph in which most passes find work. */
static const char busy[] =
    "Net(\n  (fc): Linear(in_features=3, out_features=3, bias=True)\n"
    "  (bn): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, "
    "track_running_stats=True)\n)\n\n"
    GRAPH IN("x") ME("a", "relu", "%x,") ME("b", "relu", "%x,")
    FN("c", "operator.add", "%a, %b") MOD("d", "fc", "%c,")
    MOD("e", "bn", "%d,") AT("w", "fc.weight") FN("t", "torch.t", "%w,")
    FN("f", "torch.matmul", "%e, %t") FN("g", "torch.nn.functional.gelu",
    "%f,") FN("u", "torch.neg", "%g,") ME("v", "view", "%g, -1")
    FN("h", "operator.mul", "%v, 2") OUT("h");

static const char *pass_text; /* of the pass under test */

static bool apply_to_busy(void)
{
    cfx_options o = {.size = sizeof(o), .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    cfx_context *c = NULL;
    cfx_module *m = NULL;
    cfx_status st = cfx_context_new(&c, &o, &err);
    if (!st)
        st = cfx_parse_model(&m, c, busy, sizeof(busy) - 1, "test", &err);
    if (!st)
        st = cfx_module_randomize(m, 1, &err);
    if (!st)
        st = cfx_pass_apply(m, pass_text, false, NULL, &err);
    /* Also after a failure the graph is well-formed. */
    long left = allowed;
    allowed = -1;
    if (m && cfx_graph_lint(cfx_graph_module_graph(m), NULL))
        ck_abort_msg("%s leaves a broken graph", pass_text);
    allowed = left;
    cfx_module_unref(m);
    cfx_context_free(c);
    return !st;
}

TEST_CASE(passes_are_clean_when_memory_is_lacking)
{
    char name[64];
    for (size_t i = 0; cfx_pass_at(ctx, i); i++) {
        const char *schema = cfx_pass_at(ctx, i)->schema;
        const cfx_schema *s = cfx_pass_schema(ctx, cfx_pass_at(ctx, i));
        if (s->nparams && s->params[0].required)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(schema, "("),
                 schema);
        pass_text = name;
        fail_each_allocation(apply_to_busy);
    }
    pass_text = "normalize(to=aten, tensors=True)";
    fail_each_allocation(apply_to_busy);
}

/* Sixty thousand nodes: what is quadratic takes minutes. */
TEST_CASE(passes_take_time_in_proportion_to_the_graph)
{
    enum { N = 60000 };
    for (size_t i = 0; cfx_pass_at(ctx, i); i++) {
        const cfx_pass *p = cfx_pass_at(ctx, i);
        const cfx_schema *s = cfx_pass_schema(ctx, p);
        if (s->nparams && s->params[0].required)
            continue;
        model(GRAPH IN("x") OUT("x"));
        cfx_node *x = node("x"), *last = x;
        cfx_graph_inserting_before(g, cfx_graph_output_node(g));
        for (int k = 0; k < N; k++) {
            cfx_value args[] = {cfx_value_of_node(k % 3 ? last : x),
                                cfx_value_of_node(last)};
            last = cfx_graph_call_function(g,
                k % 2 ? "operator.add" : "torch.relu",
                cfx_args_of(args, k % 2 ? 2 : 1), &err);
            if (!last)
                ck_abort_msg("%s", err.text);
        }
        assert_ok(cfx_node_update_arg(cfx_graph_output_node(g), 0,
                                      cfx_value_of_node(last), &err));
        assert_ok(cfx_pass_run(p, gm, CFX_NO_ARGS, false, NULL, &err));
        g = cfx_graph_module_graph(gm);
        assert_ok(cfx_graph_lint(g, &err));
    }
}

TEST_SUITE(passes, .setup = setup, .teardown = teardown, .timeout = 60)
