/*
 * graph_effects_test -- what nodes do besides computing, and which of them may
 * go.
 */
#include "tests/unit/graph_test.h"

#include <cfx/graph_module.h>

#include "graph/aliases.h"
#include "graph/effects_seen.h"
#include "tests/unit/unit.h"

/* ---- Short ways ---- */

static bool same_effects(const cfx_effects *a, const cfx_effects *b)
{
    return a->writes == b->writes && a->views == b->views &&
           a->input_writes == b->input_writes &&
           a->input_views == b->input_views && a->random == b->random &&
           a->effect == b->effect && a->state_writes == b->state_writes &&
           a->state_views == b->state_views;
}

/* Effects that are remembered for a call equal those that are computed. */
static void check_seen(void)
{
    cfx_effects_seen seen = {0};
    for (int i = 0; i < 2; i++)
        for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
            cfx_effects e, f;
            cfx_status st = cfx_node_effects(n, &e, NULL);
            ck_assert_int_eq(cfx_effects_seen__find(&seen, n, &f, NULL), st);
            ck_assert_msg(st || same_effects(&e, &f), "%s", n->name);
        }
}

/* Registries stay with the context: what it holds is not compared. */
static void end(void)
{
    check_seen();
    cfx_graph_free(g);
    cfx_context_free(ctx);
}

static cfx_effects effects_of(const cfx_node *n)
{
    cfx_effects e;
    assert_ok(cfx_node_effects(n, &e, &err));
    return e;
}

static bool is_impure(const cfx_node *n)
{
    bool impure;
    assert_ok(cfx_node_is_impure(n, &impure, &err));
    return impure;
}

static cfx_node *method(const char *name, cfx_node *self)
{
    cfx_value v = node(self);
    cfx_node *n = cfx_graph_call_method(g, name, CFX_ARGS(v), &err);
    ck_assert_ptr_nonnull(n);
    return n;
}

static cfx_node *with_flag(const char *target, cfx_node *x, const char *flag,
                           bool set)
{
    cfx_value v = node(x), kwargs[] = {str(flag), cfx_bool(set)};
    cfx_node *n = cfx_graph_call_function(g, target,
                                          (cfx_args){&v, 1, kwargs, 1}, &err);
    ck_assert_ptr_nonnull(n);
    cfx_value_unref(kwargs[0]);
    return n;
}

static cfx_module *new_module(const char *type, int64_t n, const char *key,
                              bool set)
{
    cfx_module *m;
    cfx_value arg = cfx_int(n),
              kwargs[] = {str(key ? key : ""), cfx_bool(set)};
    const cfx_module_type *t = cfx_find_module_type(ctx, type);
    ck_assert_ptr_nonnull(t);
    assert_ok(cfx_module_new(&m, ctx, t, NULL,
                             (cfx_args){&arg, n >= 0, kwargs, !!key}, &err));
    cfx_value_unref(kwargs[0]);
    return m;
}

static void add(cfx_module *m, const char *path, cfx_module *child)
{
    assert_ok(cfx_module_add_submodule_take(m, path, child, &err));
}

static cfx_module *new_root(void)
{
    cfx_module *m;
    assert_ok(cfx_module_new_container(&m, ctx, "Net", &err));
    return m;
}

static cfx_node *call_module(cfx_graph *of, const char *path, cfx_node *x)
{
    cfx_value v = node(x);
    cfx_node *n = cfx_graph_call_module(of, path, CFX_ARGS(v), &err);
    ck_assert_ptr_nonnull(n);
    return n;
}

/* ---- Calls of operators ---- */

TEST_CASE(effects_follow_the_schema_of_the_bound_call)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_effects e = effects_of(call("torch.relu", x, NULL));
    ck_assert(!cfx_effects_any(&e) && !e.views);
    e = effects_of(method("relu_", x));
    ck_assert_uint_eq(e.writes, 1);
    ck_assert_uint_eq(e.input_writes, 1);
    ck_assert_uint_eq(e.input_views, 1);
    e = effects_of(method("t", x));
    ck_assert(!cfx_effects_any(&e));
    ck_assert_uint_eq(e.input_views, 1);
    e = effects_of(with_flag("torch.nn.functional.relu", x, "inplace", true));
    ck_assert_uint_eq(e.input_writes, 1);
    e = effects_of(with_flag("torch.nn.functional.relu", x, "inplace", false));
    ck_assert(!cfx_effects_any(&e));
    e = effects_of(call("operator.iadd", y, x, NULL));
    ck_assert_uint_eq(e.input_writes, 1);
    e = effects_of(call("operator.setitem", y, x, x, NULL));
    ck_assert_uint_eq(e.input_writes, 1);
    e = effects_of(call("torch._assert", y, x, NULL));
    ck_assert(e.effect && !e.writes);
}

static cfx_node *call_out(const char *target, cfx_node *x, cfx_value out)
{
    cfx_value args[] = {node(x), node(x)}, kwargs[] = {str("out"), out};
    cfx_node *n = cfx_graph_call_function(
        g, target, (cfx_args){args, 2, kwargs, 1}, &err);
    ck_assert_ptr_nonnull(n);
    cfx_value_unref(kwargs[0]);
    return n;
}

TEST_CASE(effects_of_out_are_to_write_to_it)
{
    cfx_node *x = input("x"), *z = input("z"), *i = input("i");
    cfx_value both[] = {node(z), node(i)};
    cfx_value list = cfx_tuple_new(ctx, 2, both);
    const char *const targets[] = {"torch.add", "torch.matmul",
                                   "torch.ops.aten.add.out",
                                   "torch.ops.aten.eq.Scalar_out"};
    for (size_t k = 0; k < sizeof(targets) / sizeof(*targets); k++) {
        cfx_effects e = effects_of(call_out(targets[k], x, node(z)));
        ck_assert_uint_eq(e.input_writes, 2);
        ck_assert_uint_eq(e.input_views, 2);
        ck_assert(!e.random && !e.effect);
    }
    cfx_effects e = effects_of(call_out("torch.add", x, cfx_none()));
    ck_assert(!cfx_effects_any(&e));
    e = effects_of(call_out("torch.max", x, list));
    ck_assert_uint_eq(e.input_writes & 6, 6);
    cfx_value_unref(list);
}

TEST_CASE(effects_of_training_end_with_it)
{
    cfx_node *x = input("x"), *m = input("m"), *v = input("v");
    const char *dropout = "torch.nn.functional.dropout";
    ck_assert(effects_of(with_flag(dropout, x, "training", true)).random);
    ck_assert(!effects_of(with_flag(dropout, x, "training", false)).random);
    cfx_node *n = call("torch.nn.functional.batch_norm", x, m, v, NULL);
    ck_assert(!is_impure(n));
    assert_ok(cfx_node_update_kwarg(n, "training", cfx_bool(true), &err));
    ck_assert_uint_eq(effects_of(n).input_writes, 6);
    assert_ok(cfx_node_update_kwarg(n, "training", node(x), &err));
    ck_assert_uint_eq(effects_of(n).input_writes, 6);
}

TEST_CASE(effects_of_unknown_functions_are_as_in_torch)
{
    cfx_node *x = input("x");
    cfx_effects e = effects_of(call("my.function", x, NULL));
    ck_assert(!cfx_effects_any(&e));
    ck_assert_uint_eq(e.input_views, UINT32_MAX);
    ck_assert_uint_eq(effects_of(call("my.fill_", x, NULL)).input_writes, 1);
    ck_assert(!is_impure(call("my.__fill__", x, NULL)));
    /* This fits no signature: running it would fail. */
    ck_assert(is_impure(call("torch.relu", x, x, x, NULL)));
}

static cfx_value any_value(uint64_t *state, const cfx_value *node)
{
    const uint64_t d = cfx_mix64(++*state);
    const cfx_value values[] = {
        node[0],
        node[0],
        node[1],
        node[2],
        cfx_int((int64_t)(d >> 8) % 3),
        cfx_float((double)(d >> 8 & 1) / 2),
        cfx_bool(d >> 8 & 1),
        cfx_none(),
        cfx_value_of_dtype(CFX_F32),
    };
    return values[d % (sizeof(values) / sizeof(*values))];
}

TEST_CASE(effects_of_random_calls_are_those_of_calls_like_them)
{
    /* clang-format off */
    static const char *const targets[] = {
        "torch.relu", "operator.add", "operator.iadd", "operator.setitem",
        "torch.nn.functional.dropout", "torch.nn.functional.batch_norm",
        "torch.nn.functional.relu", "torch.nn.functional.hardtanh",
        "torch.nn.functional.scaled_dot_product_attention", "my.fill_",
        "my.function", "torch.sum", "torch.to", "torch.bernoulli",
    };
    /* clang-format on */
    static const char *const methods[] = {"add_",     "add", "to",      "view",
                                          "dropout_", "t",   "uniform_"};
    static const char *const keys[] = {"training", "inplace",   "out",
                                       "p",        "dropout_p", "dim",
                                       "dtype",    "alpha"};
    uint64_t state = 5;
    cfx_value in[] = {node(input("x")), node(input("y")), CFX_NOTHING};
    in[2] = node(cfx_graph_get_attr(g, "state", &err));
    for (int i = 0; i < 6000; i++) {
        cfx_value args[4], kwargs[4];
        uint64_t d = cfx_mix64(1000000 + (uint64_t)i);
        size_t nargs = d % 5, nkwargs = d / 8 % 8 < 6 ? d / 8 % 2 : 2;
        size_t key = d / 64 % 8;
        for (size_t k = 0; k < nargs; k++)
            args[k] = any_value(&state, in);
        for (size_t k = 0; k < nkwargs; k++) {
            kwargs[2 * k] = str(keys[(key + k) % 8]);
            kwargs[2 * k + 1] = any_value(&state, in);
        }
        ck_assert_ptr_nonnull(
            d / 512 % 3 ? cfx_graph_call_function(
                              g, targets[d / 4096 % 14],
                              (cfx_args){args, nargs, kwargs, nkwargs}, &err)
                        : cfx_graph_call_method(
                              g, methods[d / 4096 % 7],
                              (cfx_args){args, nargs, kwargs, nkwargs}, &err));
        for (size_t k = 0; k < nkwargs; k++)
            cfx_value_unref(kwargs[2 * k]);
    }
    check_seen();
}

/* ---- Modules ---- */

TEST_CASE(effects_of_modules_follow_from_their_forward)
{
    cfx_node *x = input("x");
    cfx_module *root = new_root();
    add(root, "pure", new_module("ReLU", -1, NULL, false));
    add(root, "writes", new_module("ReLU", -1, "inplace", true));
    add(root, "bn", new_module("BatchNorm2d", 3, NULL, false));
    add(root, "drop", new_module("Dropout", -1, NULL, false));
    add(root, "emb", new_module("Flatten", -1, NULL, false));
    add(root, "seq", new_module("Sequential", -1, NULL, false));
    add(root, "seq.0", new_module("ReLU", -1, NULL, false));
    cfx_graph_set_owning_module(g, root);
    cfx_effects e = effects_of(call_module(g, "pure", x));
    ck_assert(!cfx_effects_any(&e) && !e.views);
    e = effects_of(call_module(g, "writes", x));
    ck_assert(e.input_writes == 1 && e.input_views == 1 && !e.effect);
    cfx_node *bn = call_module(g, "bn", x), *drop = call_module(g, "drop", x);
    ck_assert(!is_impure(bn) && !is_impure(drop));
    cfx_module_train(root, true);
    ck_assert(effects_of(bn).effect && !effects_of(bn).random);
    ck_assert(effects_of(drop).random && !effects_of(drop).effect);
    cfx_module_train(root, false);
    ck_assert(!is_impure(bn) && !is_impure(drop));
    ck_assert_uint_eq(effects_of(call_module(g, "emb", x)).input_views, 1);
    cfx_node *seq = call_module(g, "seq", x);
    ck_assert(!is_impure(seq));
    add(root, "seq.0", new_module("ReLU", -1, "inplace", true));
    ck_assert(is_impure(seq));
    ck_assert(cfx_module_delete_submodule(root, "seq.0"));
    ck_assert(!is_impure(seq));
    ck_assert_int_eq(cfx_node_effects(call_module(g, "none", x), &e, &err),
                     CFX_ENAME);
    assert_failed(CFX_ENAME, "Node referenced nonexistent target none");
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

/* A GraphModule that gives relu of its second input, in place if wanted. */
static cfx_module *new_graph_module(const char *relu)
{
    cfx_graph *h;
    cfx_module *gm;
    assert_ok(cfx_graph_new(&h, ctx, &err));
    cfx_graph_placeholder(h, "a", &err);
    cfx_value b = node(cfx_graph_placeholder(h, "b", &err));
    cfx_node *view = cfx_graph_call_method(h, "t", CFX_ARGS(b), &err);
    b = node(view);
    cfx_node *n = cfx_graph_call_method(h, relu, CFX_ARGS(b), &err);
    cfx_graph_output(h, node(n), &err);
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, NULL, h, "Sub", &err));
    return gm;
}

TEST_CASE(effects_of_attention_are_those_of_its_dropout)
{
    cfx_node *x = input("x");
    cfx_value args[] = {node(x), node(x), node(x)};
    for (int i = 0; i < 2; i++) {
        cfx_value of[] = {cfx_int(4), cfx_int(2), cfx_float(i * 0.5)};
        cfx_module *root = new_root(), *m;
        assert_ok(cfx_module_new(
            &m, ctx, cfx_find_module_type(ctx, "MultiheadAttention"), NULL,
            cfx_args_of(of, 3), &err));
        add(root, "mha", m);
        cfx_graph_set_owning_module(g, root);
        cfx_node *n = cfx_graph_call_module(g, "mha", cfx_args_of(args, 3),
                                            &err);
        ck_assert(!is_impure(n));
        cfx_module_train(root, true);
        cfx_effects e = effects_of(n);
        ck_assert(e.random == (i == 1) && !e.effect && !e.writes);
        cfx_graph_set_owning_module(g, NULL);
        cfx_module_unref(root);
    }
}

/* Whatever has to be assumed of a module is assumed of none of these, called
 * with their defaults. */
TEST_CASE(effects_of_most_modules_are_found)
{
    /* clang-format off */
    static const char *const pure[] = {
        "AdaptiveAvgPool2d", "AvgPool2d", "Conv2d", "Conv1d", "Linear",
        "Bilinear", "Embedding", "EmbeddingBag", "LSTM", "GRU", "RNN",
        "LSTMCell", "LayerNorm", "GroupNorm", "MaxPool2d", "Softmax",
        "GELU", "PReLU", "PixelShuffle", "Flatten",
        "Unflatten", "ZeroPad2d", "CosineSimilarity", "Fold", "Unfold",
        "InstanceNorm2d", "TransformerEncoderLayer", "Identity",
    };
    /* clang-format on */
    cfx_node *x = input("x");
    for (size_t i = 0; i < sizeof(pure) / sizeof(*pure); i++) {
        cfx_module *root = new_root(), *m;
        const cfx_module_type *t = cfx_find_module_type(ctx, pure[i]);
        cfx_value args[] = {cfx_int(2), cfx_int(2), cfx_int(2)};
        ck_assert_msg(t, "%s", pure[i]);
        size_t n = 0;
        while (n <= 3 &&
               cfx_module_new(&m, ctx, t, NULL, cfx_args_of(args, n), NULL))
            n++;
        ck_assert_msg(n <= 3, "%s", pure[i]);
        add(root, "m", m);
        cfx_graph_set_owning_module(g, root);
        cfx_effects e = effects_of(call_module(g, "m", x));
        ck_assert_msg(!cfx_effects_any(&e), "%s", pure[i]);
        cfx_graph_set_owning_module(g, NULL);
        cfx_module_unref(root);
    }
}

/* A module of halves takes halves. */
TEST_CASE(effects_of_modules_do_not_depend_on_the_type_of_weights)
{
    static const cfx_dtype types[] = {CFX_F16, CFX_BF16, CFX_F64};
    cfx_dim shape[] = {cfx_dim_int(3), cfx_dim_int(3)};
    cfx_node *x = input("x");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        cfx_module *root = new_root(), *m;
        cfx_value args[] = {cfx_int(3), cfx_int(3), cfx_bool(false)};
        assert_ok(cfx_module_new(&m, ctx, cfx_find_module_type(ctx, "Linear"),
                                 NULL, cfx_args_of(args, 3), &err));
        assert_ok(cfx_module_param(m, "weight", types[i], 2, shape, &err));
        add(root, "m", m);
        cfx_graph_set_owning_module(g, root);
        cfx_effects e = effects_of(call_module(g, "m", x));
        ck_assert(!cfx_effects_any(&e));
        cfx_graph_set_owning_module(g, NULL);
        cfx_module_unref(root);
    }
}

static cfx_module *new_graph_module_of_one(const char *relu)
{
    cfx_graph *h;
    cfx_module *gm;
    assert_ok(cfx_graph_new(&h, ctx, &err));
    cfx_value a = node(cfx_graph_placeholder(h, "a", &err));
    cfx_node *n = cfx_graph_call_method(h, relu, CFX_ARGS(a), &err);
    cfx_graph_output(h, node(n), &err);
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, NULL, h, "Sub", &err));
    return gm;
}

TEST_CASE(effects_of_a_graph_module_are_those_of_its_graph)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_module *root = new_root();
    add(root, "sub", new_graph_module("relu"));
    cfx_graph_set_owning_module(g, root);
    cfx_value args[] = {node(x), node(y)}, kwargs[] = {str("b"), node(y)};
    cfx_node *n = cfx_graph_call_module(g, "sub", cfx_args_of(args, 2), &err);
    ck_assert(!is_impure(n));
    cfx_graph *h = cfx_graph_module_graph(cfx_module_at(root, "sub"));
    assert_ok(cfx_node_set_target(cfx_graph_find(h, "relu"), "relu_", &err));
    ck_assert_uint_eq(effects_of(n).input_writes, 2);
    ck_assert_uint_eq(effects_of(n).input_views, 2);
    n = cfx_graph_call_module(g, "sub", (cfx_args){args, 1, kwargs, 1}, &err);
    ck_assert_uint_eq(effects_of(n).input_writes, 2);
    cfx_value_unref(kwargs[0]);
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

/* `*args` takes all arguments that are left, `**kwargs` such keywords. */
TEST_CASE(effects_of_a_graph_reach_all_that_its_last_placeholders_take)
{
    static const char *const rest[] = {"*args", "**kwargs"};
    cfx_node *x = input("x"), *y = input("y"), *z = input("z");
    cfx_value pos[] = {node(x), node(y), node(z)};
    cfx_value kw[] = {str("b"), node(y), str("c"), node(z)};
    for (int i = 0; i < 2; i++) {
        cfx_graph *h;
        cfx_module *gm, *root = new_root();
        assert_ok(cfx_graph_new(&h, ctx, &err));
        cfx_graph_placeholder(h, "a", &err);
        cfx_value args[] = {node(cfx_graph_placeholder(h, rest[i], &err)),
                            i ? str("c") : cfx_int(1)};
        cfx_value v = node(cfx_graph_call_function(
            h, "operator.getitem", cfx_args_of(args, 2), &err));
        cfx_node *n = cfx_graph_call_method(h, "relu_", cfx_args_of(&v, 1),
                                            &err);
        cfx_graph_output(h, node(n), &err);
        cfx_value_unref(args[1]);
        assert_ok(
            cfx_graph_module_new_take_both(&gm, ctx, NULL, h, "Sub", &err));
        add(root, "sub", gm);
        cfx_graph_set_owning_module(g, root);
        n = cfx_graph_call_module(
            g, "sub", (cfx_args){pos, i ? 1 : 3, kw, i ? 2 : 0}, &err);
        ck_assert_ptr_nonnull(n);
        ck_assert_uint_eq(effects_of(n).input_writes, 6);
        ck_assert_uint_eq(effects_of(n).input_views, 6);
        cfx_graph_set_owning_module(g, NULL);
        cfx_module_unref(root);
    }
    cfx_value_unref(kw[0]);
    cfx_value_unref(kw[2]);
}

TEST_CASE(effects_are_found_anew_for_a_new_owner)
{
    cfx_node *x = input("x");
    cfx_module *root = new_root();
    add(root, "sub", new_graph_module("relu"));
    cfx_graph_set_owning_module(g, root);
    cfx_module *sub = cfx_module_at(root, "sub");
    cfx_node *n = call_module(g, "sub", x);
    ck_assert(!is_impure(n));
    cfx_graph *h = cfx_graph_module_graph(sub);
    cfx_graph_set_owning_module(h, NULL);
    assert_ok(cfx_node_set_target(cfx_graph_find(h, "relu"), "relu_", &err));
    cfx_graph_set_owning_module(h, sub);
    ck_assert(is_impure(n));
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

TEST_CASE(effects_of_calls_are_those_of_graphs_they_are_given)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_module *root = new_root();
    add(root, "sub", new_graph_module("relu"));
    cfx_graph_set_owning_module(g, root);
    cfx_node *sub = cfx_graph_get_attr(g, "sub", &err);
    cfx_value operands[] = {node(y), node(y)};
    cfx_value tuple = cfx_tuple_new(ctx, 2, operands);
    cfx_value args[] = {node(x), node(sub), node(sub), tuple};
    cfx_node *n = cfx_graph_call_function(g, "torch.cond",
                                          cfx_args_of(args, 4), &err);
    ck_assert(!is_impure(n));
    cfx_graph *h = cfx_graph_module_graph(cfx_module_at(root, "sub"));
    assert_ok(cfx_node_set_target(cfx_graph_find(h, "relu"), "relu_", &err));
    ck_assert(is_impure(n) && effects_of(n).input_writes);
    assert_ok(cfx_node_set_target(cfx_graph_find(h, "relu"), "relu", &err));
    ck_assert(!is_impure(n));
    /* Likewise for a graph below a Sequential. */
    add(root, "seq", new_module("Sequential", -1, NULL, false));
    add(root, "seq.0", new_graph_module_of_one("relu"));
    add(root, "seq.1", new_module("ReLU", -1, NULL, false));
    cfx_node *seq = call_module(g, "seq", x);
    ck_assert(!is_impure(seq));
    h = cfx_graph_module_graph(cfx_module_at(root, "seq.0"));
    assert_ok(cfx_node_set_target(cfx_graph_find(h, "relu"), "relu_", &err));
    ck_assert_uint_eq(effects_of(seq).input_writes, 1);
    cfx_value_unref(tuple);
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

/* A GraphModule that gives a view of its buffer; or, of a copy. */
static cfx_module *new_module_that_gives_its_buffer(bool copies)
{
    cfx_dim shape[] = {cfx_dim_int(3), cfx_dim_int(3)};
    cfx_graph *h;
    cfx_module *gm, *root = new_root();
    assert_ok(cfx_module_buffer(root, "seen", CFX_F32, 2, shape, &err));
    assert_ok(cfx_graph_new(&h, ctx, &err));
    cfx_graph_placeholder(h, "a", &err);
    cfx_node *n = cfx_graph_get_attr(h, "seen", &err);
    cfx_value v = node(n);
    if (copies)
        v = node(cfx_graph_call_method(h, "clone", cfx_args_of(&v, 1), &err));
    cfx_graph_output(
        h, node(cfx_graph_call_method(h, "t", cfx_args_of(&v, 1), &err)),
        &err);
    assert_ok(cfx_graph_module_new_take_both(&gm, ctx, root, h, NULL, &err));
    return gm;
}

/* Who writes to what a child gave changes the child's buffer, if it gave that.
 */
TEST_CASE(effects_reach_the_buffers_that_children_give)
{
    for (int copies = 0; copies < 2; copies++) {
        cfx_graph *h;
        cfx_module *gm, *inner = new_root(), *root = new_root();
        add(inner, "sub", new_module_that_gives_its_buffer(copies));
        assert_ok(cfx_graph_new(&h, ctx, &err));
        cfx_node *a = cfx_graph_placeholder(h, "a", &err);
        cfx_value v = node(call_module(h, "sub", a));
        cfx_graph_call_method(h, "relu_", cfx_args_of(&v, 1), &err);
        cfx_graph_output(h, node(a), &err);
        assert_ok(
            cfx_graph_module_new_take_both(&gm, ctx, inner, h, "Net", &err));
        add(root, "net", gm);
        add(root, "seq", new_module("Sequential", -1, NULL, false));
        add(root, "seq.0", new_module_that_gives_its_buffer(copies));
        add(root, "seq.1", new_module("ReLU", -1, "inplace", true));
        cfx_graph_set_owning_module(g, root);
        cfx_node *x = input(copies ? "y" : "x");
        cfx_effects e = effects_of(call_module(g, "net", x));
        ck_assert(e.effect == !copies && e.state_writes == !copies);
        ck_assert(!e.state_views && e.input_views == 1);
        e = effects_of(call_module(g, "seq", x));
        ck_assert(e.effect == !copies && e.state_writes == !copies);
        ck_assert(e.state_views == !copies);
        cfx_graph_set_owning_module(g, NULL);
        cfx_module_unref(root);
    }
}

/* ---- Aliases ---- */

TEST_CASE(values_that_may_share_memory_are_in_one_set)
{
    cfx_aliases a;
    cfx_node *x = input("x"), *y = input("y"), *m = input("m");
    cfx_node *w = cfx_graph_get_attr(g, "w", &err);
    cfx_node *r = call("torch.relu", x, NULL), *v = method("t", r);
    cfx_node *f = method("relu_", v), *n = call("torch.neg", r, NULL);
    cfx_node *b = call("torch.nn.functional.batch_norm", n, m, y, NULL);
    assert_ok(cfx_node_update_kwarg(b, "training", cfx_bool(true), &err));
    cfx_graph_output(g, node(b), &err);
    assert_ok(cfx_aliases__init(&a, g, &err));
    ck_assert_uint_eq(cfx_aliases__set(&a, r), cfx_aliases__set(&a, f));
    ck_assert_uint_eq(cfx_aliases__set(&a, w), cfx_aliases__state(&a));
    ck_assert(cfx_aliases__is_written(&a, r));
    ck_assert(!cfx_aliases__is_written(&a, n));
    ck_assert(cfx_aliases__is_written(&a, m));
    ck_assert(!cfx_aliases__is_written(&a, b));
    ck_assert(cfx_aliases__is(&a, x->id, CFX_ALIAS_OUTLIVES));
    ck_assert(!cfx_aliases__is(&a, r->id, CFX_ALIAS_OUTLIVES));
    ck_assert(cfx_aliases__is(&a, b->id, CFX_ALIAS_RETURNED));
    ck_assert(!cfx_aliases__is(&a, n->id, CFX_ALIAS_RETURNED));
    /* x y m w relu t relu_ neg batch_norm output */
    ck_assert_uint_eq(a.life.place[r->id], 5);
    ck_assert_uint_eq(a.life.last_use[v->id], 7);
    ck_assert_uint_eq(a.life.last_use[f->id], 7);
    ck_assert_uint_eq(a.last_use[cfx_aliases__set(&a, r)], 8);
    cfx_aliases__join(&a, n, r);
    ck_assert(cfx_aliases__is_written(&a, n));
    ck_assert_uint_eq(a.last_use[cfx_aliases__set(&a, r)], 9);
    cfx_aliases__release(&a);
}

/* A pass asks about nodes that it has just made, and about what reads them. */
TEST_CASE(the_worst_is_assumed_of_nodes_made_after_the_analysis)
{
    enum { LATER = 2000 };
    cfx_aliases a;
    cfx_node *x = input("x"), *r = call("torch.relu", x, NULL), *y = r;
    cfx_graph_output(g, node(r), &err);
    assert_ok(cfx_aliases__init(&a, g, &err));
    for (int i = 0; i < LATER; i++) {
        y = call("torch.neg", y, NULL);
        uint32_t set = cfx_aliases__set(&a, y);
        ck_assert(cfx_aliases__is_later(&a, y));
        ck_assert_uint_lt(set, cfx_aliases__len(&a));
        ck_assert(cfx_aliases__is_written(&a, y));
        ck_assert(cfx_aliases__is(&a, set, CFX_ALIAS_RETURNED));
        ck_assert(cfx_aliases__is(&a, set, CFX_ALIAS_OUTLIVES));
        ck_assert(cfx_effects_any(cfx_aliases__effects(&a, y)));
    }
    ck_assert(!cfx_aliases__is_later(&a, r));
    ck_assert(!cfx_aliases__is_written(&a, r));
    ck_assert(!cfx_effects_any(cfx_aliases__effects(&a, r)));
    cfx_aliases__join(&a, r, y);
    ck_assert(cfx_aliases__is_written(&a, r));
    cfx_aliases__release(&a);
}

/* Each level calls the next twice: without a memory that is 2^40 walks. */
TEST_CASE(effects_of_nested_graphs_are_found_once)
{
    enum { LEVELS = 40 };
    cfx_module *gm = new_graph_module("relu_");
    for (int i = 0; i < LEVELS; i++) {
        cfx_graph *h;
        cfx_module *outer = new_root();
        assert_ok(cfx_graph_new(&h, ctx, &err));
        cfx_value in[] = {node(cfx_graph_placeholder(h, "a", &err)),
                          node(cfx_graph_placeholder(h, "b", &err))};
        cfx_graph_call_module(h, "sub", cfx_args_of(in, 2), &err);
        cfx_graph_output(
            h, node(cfx_graph_call_module(h, "sub", cfx_args_of(in, 2), &err)),
            &err);
        add(outer, "sub", gm);
        assert_ok(
            cfx_graph_module_new_take_both(&gm, ctx, outer, h, NULL, &err));
    }
    cfx_node *x = input("x"), *y = input("y");
    cfx_module *root = new_root();
    add(root, "gm", gm);
    cfx_graph_set_owning_module(g, root);
    cfx_value args[] = {node(x), node(y)};
    cfx_node *n = cfx_graph_call_module(g, "gm", cfx_args_of(args, 2), &err);
    ck_assert_uint_eq(effects_of(n).input_writes, 2);
    /* The change of the innermost reaches the outermost. */
    cfx_module *inner = gm;
    while (cfx_module_child(inner, "sub"))
        inner = cfx_module_child(inner, "sub");
    cfx_graph *h = cfx_graph_module_graph(inner);
    assert_ok(cfx_node_set_target(cfx_graph_find(h, "relu_"), "relu", &err));
    ck_assert(!is_impure(n));
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

/* ---- Dead code ---- */

static size_t erase_dead(const cfx_dce_options *o)
{
    size_t n;
    assert_ok(cfx_graph_eliminate_dead_code(g, o, &n, &err));
    check_graph(g);
    return n;
}

TEST_CASE(dce_simple)
{
    cfx_module *root = new_root();
    add(root, "attr", new_module("ReLU", -1, NULL, false));
    cfx_graph_set_owning_module(g, root);
    cfx_node *x = input("x"), *attr = cfx_graph_get_attr(g, "attr", &err);
    call("operator.add", x, x, NULL);
    cfx_graph_output(g, node(call("operator.add", x, attr, NULL)), &err);
    ck_assert_uint_eq(erase_dead(NULL), 1);
    assert_nodes("x attr add_1 output");
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

TEST_CASE(dce_dead_getattr)
{
    cfx_node *x = input("x");
    cfx_node *attr = cfx_graph_get_attr(g, "attr_1", &err);
    call("operator.mul", call("operator.add", x, attr, NULL), x, NULL);
    cfx_graph_output(g, node(call("torch.neg", x, NULL)), &err);
    ck_assert_uint_eq(erase_dead(NULL), 3);
    assert_nodes("x neg output");
}

TEST_CASE(dce_dead_placeholder)
{
    cfx_node *x = input("x"), *y = input("y");
    cfx_graph_output(g, node(call("torch.neg", x, NULL)), &err);
    ck_assert_uint_eq(erase_dead(NULL), 0);
    assert_nodes("x y neg output");
    /* dead_placeholder_with_user */
    cfx_graph_inserting_before(g, cfx_graph_output_node(g));
    call("torch.abs", y, NULL);
    ck_assert_uint_eq(erase_dead(NULL), 1);
    assert_nodes("x y neg output");
}

TEST_CASE(dce_keep_module_with_side_effects)
{
    cfx_module *root = new_root();
    add(root, "bn", new_module("BatchNorm1d", 3, NULL, false));
    add(root, "relu", new_module("ReLU", -1, NULL, false));
    cfx_graph_set_owning_module(g, root);
    cfx_module_train(root, true);
    cfx_node *x = input("x");
    call_module(g, "bn", x);
    call_module(g, "relu", x);
    cfx_graph_output(g, node(x), &err);
    ck_assert_uint_eq(erase_dead(NULL), 1);
    assert_nodes("x bn output");
    cfx_module_train(root, false);
    ck_assert_uint_eq(erase_dead(NULL), 1);
    assert_nodes("x output");
    cfx_graph_set_owning_module(g, NULL);
    cfx_module_unref(root);
}

TEST_CASE(dce_keep_torch_assert)
{
    cfx_node *x = input("x"), *holds = call("torch.all", x, NULL);
    call("torch._assert", holds, x, NULL);
    cfx_graph_output(g, node(call("torch.neg", x, NULL)), &err);
    ck_assert_uint_eq(erase_dead(NULL), 0);
}

TEST_CASE(dce_impure_nodes_args)
{
    cfx_node *x = input("x"), *y = call("torch.neg", x, NULL);
    call("aten.add_.Tensor", y, x, NULL);
    cfx_graph_output(g, node(y), &err);
    ck_assert_uint_eq(erase_dead(NULL), 0);
}

TEST_CASE(dce_impure_kwargs)
{
    cfx_node *x = input("x"), *y = call("torch.neg", x, NULL);
    cfx_value args[] = {node(x), node(x)}, kwargs[] = {str("out"), node(y)};
    cfx_node *n = cfx_graph_call_function(
        g, "aten.add.out", (cfx_args){args, 2, kwargs, 1}, &err);
    ck_assert_uint_eq(effects_of(n).input_writes, 2);
    ck_assert_ptr_nonnull(cfx_graph_call_function(
        g, "torch.add", (cfx_args){args, 2, kwargs, 1}, &err));
    kwargs[1] = cfx_none();
    ck_assert_ptr_nonnull(cfx_graph_call_function(
        g, "torch.add", (cfx_args){args, 2, kwargs, 1}, &err));
    cfx_value_unref(kwargs[0]);
    cfx_graph_output(g, node(y), &err);
    ck_assert_uint_eq(erase_dead(NULL), 1);
    assert_nodes("x neg add_out add output");
}

static bool is_add(void *user, const cfx_node *n)
{
    ++*(int *)user;
    return cfx_node_is(n, "add");
}

TEST_CASE(dce_impure_custom)
{
    int asked = 0;
    cfx_node *x = input("x");
    call("operator.add", x, x, NULL);
    call("torch.neg", call("torch.abs", x, NULL), NULL);
    method("relu_", x);
    cfx_graph_output(g, node(x), &err);
    const cfx_dce_options o = {
        .size = sizeof(o),
        .is_impure = is_add,
        .user = &asked,
    };
    ck_assert_uint_eq(erase_dead(&o), 3);
    ck_assert_int_eq(asked, 4);
    assert_nodes("x add output");
}

TEST_CASE(dce_needs_a_sorted_graph)
{
    cfx_node *x = input("x"), *y = call("torch.neg", x, NULL);
    cfx_node *z = call("torch.abs", y, NULL);
    cfx_graph_output(g, node(x), &err);
    assert_ok(cfx_node_append(z, y, &err));
    ck_assert_int_eq(cfx_graph_eliminate_dead_code(g, NULL, NULL, &err),
                     CFX_EGRAPH);
    assert_failed(CFX_EGRAPH, "Argument 'neg' of Node 'abs_1' was used before "
                              "it has been defined!");
    assert_nodes("x abs_1 neg output");
}

TEST_CASE(dce_of_a_million_nodes_takes_one_sweep)
{
    enum { MANY = 1000000 };
    cfx_node *x = input("x"), *n = x;
    for (int i = 0; i < MANY; i++)
        n = call("torch.neg", n, NULL);
    cfx_graph_output(g, node(x), &err);
    size_t erased;
    assert_ok(cfx_graph_eliminate_dead_code(g, NULL, &erased, &err));
    ck_assert_uint_eq(erased, MANY);
}

TEST_CASE(dce_dead_chain)
{
    cfx_node *x = input("x");
    input("unused");
    cfx_node *a = call("torch.relu", x, NULL);
    call("torch.neg", call("torch.abs", a, NULL), NULL);
    cfx_graph_output(g, node(a), &err);
    ck_assert_uint_eq(erase_dead(NULL), 2);
    assert_nodes("x unused relu output");
    ck_assert_uint_eq(erase_dead(NULL), 0);
}

TEST_CASE(dce_keeps_what_has_effects)
{
    cfx_node *x = input("x");
    method("relu_", x);
    call("torch.rand_like", x, NULL);
    call("torch._assert", x, x, NULL);
    call("my.function", x, NULL);
    cfx_graph_output(g, node(x), &err);
    ck_assert_uint_eq(erase_dead(NULL), 1);
    assert_nodes("x relu_ rand_like _assert output");
    const cfx_dce_options o = {.size = sizeof(o), .drop_random = true};
    ck_assert_uint_eq(erase_dead(&o), 1);
    assert_nodes("x relu_ _assert output");
}

TEST_SUITE(graph_effects, .setup = setup, .teardown = end, .timeout = 60)
