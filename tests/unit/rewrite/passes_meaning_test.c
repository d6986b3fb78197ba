/*
 * passes_meaning_test -- graphs in which memory is shared, written to, or read
 * twice give the same after each pass as before it.
 */
#define _POSIX_C_SOURCE 200809L
#include <cfx/compare.h>

#include "tests/unit/rewrite/pass_test.h"
#include "tests/unit/unit.h"

#define LINEAR(name)                                                          \
    "  (" name "): Linear(in_features=3, out_features=3, bias=True)\n"
#define CHILD(body) "\ngraph child():\n" IN("x") body
#define SUPERSET "# cfx 1\n"
#define WITH_CHILD                                                            \
    SUPERSET "Net(\n  (child): Child()\n)\n\nstate:\n"                        \
             "    child.b: f32[3, 3]\n\n" GRAPH IN("x")

/* Each takes x, f32[3, 3]. */
/* clang-format off */
static const char *const models[] = {
    /* A write between two equal calls, between two layers of one input. */
    GRAPH IN("x") FN("z", "torch.relu", "%x,") FN("a", "torch.exp", "%z,")
        ME("w", "add_", "%z, 1") FN("b", "torch.exp", "%z,") OUT("(a, b, w)"),
    "Net(\n" LINEAR("q") LINEAR("k") ")\n\n" GRAPH IN("x")
        FN("z", "torch.relu", "%x,") MOD("q", "q", "%z,")
        ME("w", "add_", "%z, 1") MOD("k", "k", "%z,") OUT("(q, k, w)"),
    /* Through a view; through an item of a tuple of views. */
    GRAPH IN("x") FN("z", "torch.relu", "%x,") ME("t", "t", "%z,")
        FN("a", "torch.exp", "%z,") ME("w", "mul_", "%t, 2")
        FN("b", "torch.exp", "%z,") OUT("(a, b, w)"),
    GRAPH IN("x") FN("z", "torch.relu", "%x,") FN("s", "torch.split", "%z, 2")
        FN("i", "operator.getitem", "%s, 0") FN("a", "torch.exp", "%i,")
        ME("w", "mul_", "%z, 2") FN("b", "torch.exp", "%i,")
        FN("c", "torch.add", "%i, %b") OUT("(a, c)"),
    /* Layers whose weights the graph changes, and puts back. */
    "Net(\n" LINEAR("q") LINEAR("k") ")\n\n" GRAPH IN("x") AT("b", "q.bias")
        ME("c", "clone", "%b,") ME("w", "mul_", "%b, 0.5") MOD("q", "q", "%x,")
        MOD("k", "k", "%x,") ME("u", "copy_", "%b, %c") OUT("(q, k)"),
    "Net(\n  (conv): Conv2d(3, 2, kernel_size=(1, 1), stride=(1, 1))\n"
        "  (bn): BatchNorm2d(2, eps=1e-05, momentum=0.1, affine=True, "
        "track_running_stats=True)\n)\n\n" GRAPH IN("x")
        AT("b", "conv.weight") ME("w", "mul_", "%b, 0.5")
        ME("v", "view", "%x, 1, 3, 1, 3") MOD("conv", "conv", "%v,")
        MOD("bn", "bn", "%conv,") OUT("bn"),
    /* A layer's result is looked at as rows, and as one row. */
    "Net(\n" LINEAR("q") LINEAR("k") ")\n\n" GRAPH IN("x") MOD("q", "q", "%x,")
        MOD("k", "k", "%x,") ME("a", "view", "%q, 3, 1, 3")
        ME("b", "view", "%k, -1") OUT("(a, b)"),
    "Net(\n" LINEAR("q") LINEAR("k") ")\n\n" GRAPH IN("x") MOD("q", "q", "%x,")
        MOD("k", "k", "%x,") ME("t", "t", "%q,") ME("tt", "t", "%t,")
        ME("a", "view", "%tt, 9") ME("b", "as_strided", "%k, (2, 2), (3, 1)")
        OUT("(a, b)"),
    /* A module that is called twice, and whose weight is read. */
    "Net(\n" LINEAR("q") ")\n\n" GRAPH IN("x") MOD("a", "q", "%x,")
        MOD("b", "q", "%a,") MOD("c", "q", "%x,") AT("w", "q.weight")
        FN("d", "torch.matmul", "%b, %w") OUT("(c, d)"),
    /* A child's graph gives its buffer; another writes to it. */
    WITH_CHILD AT("b", "child.b") FN("r", "torch.exp", "%b,")
        MOD("c", "child", "%x,") ME("w", "add_", "%c, %x")
        FN("s", "torch.exp", "%b,") FN("y", "torch.mul", "%c, 2")
        FN("z", "torch.add", "%y, %b") OUT("(%r, %s, %z)")
        CHILD(AT("b", "b") OUT("%b")),
    WITH_CHILD AT("b", "child.b") FN("r", "torch.exp", "%b,")
        MOD("c", "child", "%x,") FN("s", "torch.exp", "%b,")
        OUT("(%r, %s, %c)")
        CHILD(AT("b", "b") ME("w", "add_", "%b, %x") OUT("%x")),
    WITH_CHILD AT("b", "child.b") FN("r", "torch.exp", "%b,")
        AT("g", "child")
        FN("c", "torch.ops.higher_order.cond", "True, %g, %g, (%x,)")
        FN("s", "torch.exp", "%b,") OUT("(%r, %s)")
        CHILD(AT("b", "b") ME("w", "add_", "%b, %x") OUT("(%x,)")),
    /* A child returns its buffer: results must not be written there. */
    WITH_CHILD MOD("c", "child", "%x,") FN("y", "torch.add", "%c, 1")
        MOD("d", "child", "%y,") FN("z", "torch.add", "%d, %y")
        OUT("%z") CHILD(AT("b", "b") OUT("%b")),
    /* Spellings that say inplace=False. */
    GRAPH IN("x") FN("a", "torch.relu", "%x,")
        FNK("b", "torch.nn.functional.relu", "%a,", "inplace: False")
        FN("c", "torch.nn.functional.leaky_relu", "%b, 0.1, False")
        FN("d", "torch.nn.functional.hardtanh", "%c, -1.0, 1.0, False")
        FNK("e", "torch.nn.functional.elu", "%d,", "inplace: False")
        FNK("f", "torch.nn.functional.silu", "%e,", "inplace: False")
        FN("h", "operator.pow", "%f, 2")
        FNK("i", "torch.nn.functional.threshold", "%h, 0.1, 20.0",
            "inplace: False")
        FN("j", "operator.truediv", "%i, 3")
        FNK("k", "torch.nn.functional.celu", "%j,",
            "alpha: 1.5, inplace: False")
        FNK("l", "torch.sub", "%k, %x", "alpha: 2") OUT("l"),
    /* Views of which one element is several. */
    GRAPH IN("x") FN("a", "torch.exp", "%x,")
        ME("e", "as_strided", "%a, (2, 2), (1, 1)")
        FN("f", "torch.relu", "%e,") FN("h", "torch.add", "%f, 1") OUT("h"),
    /* Numbers of several types, and what is no number. */
    GRAPH IN("x") FN("a", "operator.mul", "%x, 0")
        FN("b", "operator.mul", "%x, -0.0") FN("c", "operator.mul", "%x, 0.0")
        FN("d", "operator.truediv", "1, %b")
        FN("e", "operator.truediv", "1, %c") FN("f", "torch.gt", "%x, 0")
        FN("g", "operator.add", "%f, 1") FN("h", "operator.add", "%f, 1.0")
        FN("i", "operator.add", "%f, True")
        FN("j", "operator.truediv", "%f, 4") FN("k", "torch.log", "%x,")
        FN("l", "operator.truediv", "%k, 3") FN("m", "torch.exp", "%d,")
        OUT("(a, d, e, g, h, i, j, l, m)"),
    /* Inputs are handed through, and slices that may be the whole. */
    GRAPH IN("x") ME("a", "squeeze", "%x,") ME("b", "unsqueeze", "%x, 0")
        ME("c", "squeeze", "%b,") ME("d", "narrow", "%x, 0, 0, 2")
        FN("e", "operator.getitem", "%x, slice(None, 2, None)")
        ME("f", "expand", "%b, 2, 3, 3") ME("g", "flatten", "%b, 1")
        FN("h", "torch.atleast_3d", "%x,") OUT("(x, a, c, d, e, f, g, h)"),
    /* Results that go into a tensor which is read before and after. */
    GRAPH IN("x") FN("z", "torch.relu", "%x,") FN("a", "torch.exp", "%z,")
        FNK("w", "torch.add", "%x, %a", "out: %z") FN("b", "torch.exp", "%z,")
        FNK("v", "torch.add", "%x, %a", "out: %z") FN("c", "torch.exp", "%z,")
        OUT("(a, b, c, w, v)"),
    GRAPH IN("x") FN("z", "torch.relu", "%x,") ME("t", "t", "%z,")
        FN("a", "torch.exp", "%z,")
        FNK("w", "torch.matmul", "%x, %x", "out: %t")
        FN("b", "torch.exp", "%z,") ME("i", "argmax", "%x, 1")
        FN("m", "torch.amax", "%x, 1")
        FN("p", "torch.neg", "%m,")
        FNK("u", "torch.max", "%b, 1", "out: (%m, %i)")
        FN("q", "torch.neg", "%m,") ME("j", "add", "%i, 1")
        OUT("(a, b, p, q, j)"),
    /* beta=0 and value=0 leave NaN out of the result. */
    GRAPH IN("x") FN("n", "torch.full_like", "%x, nan")
        ME("a", "unsqueeze", "%x, 0") ME("m", "unsqueeze", "%n, 0")
        FNK("b", "torch.baddbmm", "%m, %a, %a", "beta: 0")
        FNK("c", "torch.addcmul", "%x, %x, %x", "value: 3")
        FNK("d", "torch.addcdiv", "%x, %x, %x", "value: 3")
        FN("e", "torch.stack", "[%x, %n], -1") OUT("(b, c, d, e)"),
};
/* clang-format on */

enum { NMODELS = sizeof(models) / sizeof(*models), MAX_NODES = 64 };

/* ---- Running, and what is known of each node ---- */

static cfx_value seen[MAX_NODES];

static cfx_status see_node(cfx_interp *it, const cfx_node *n, cfx_value *out);

static const cfx_interp_class seer = {
    .size = sizeof(cfx_interp_class),
    .name = "seer",
    .super = &cfx_interp_base,
    .run_node = see_node,
};

static cfx_status see_node(cfx_interp *it, const cfx_node *n, cfx_value *out)
{
    cfx_status st = CFX_SUPER(&seer, run_node)(it, n, out);
    cfx_tensor *meta;
    if (st || out->kind != CFX_TENSOR)
        return st;
    const cfx_tensor *t = out->u.tensor;
    st = cfx_tensor_meta(&meta, ctx, (cfx_dtype)t->dtype, t->rank, t->shape,
                         t->stride, it->err);
    if (!st && n->id < MAX_NODES)
        seen[n->id] = cfx_value_of_tensor(meta);
    return st;
}

static cfx_value run(const cfx_interp_class *cls)
{
    cfx_interp it = {0};
    cfx_tensor *x;
    cfx_value in, out;
    assert_ok(cfx_tensor_new(&x, ctx, CFX_F32, 2, (int64_t[]){3, 3}, &err));
    assert_ok(cfx_tensor_randomize(x, 5, "x", &err));
    in = cfx_value_of_tensor(x);
    assert_ok(cfx_interp_init(&it, cls, gm, &err));
    assert_ok(cfx_interp_run(&it, &in, 1, &out, &err));
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    return out;
}

static void fresh(int i)
{
    model(models[i]);
    assert_ok(cfx_module_randomize(gm, 1, &err));
}

/* Write the shapes of a run to a fresh copy of the model. */
static void tell_shapes(int i)
{
    cfx_value_unref(run(&seer));
    fresh(i);
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (seen[n->id].kind)
            assert_ok(cfx_node_set_meta(n, "tensor_meta", seen[n->id], &err));
    for (int k = 0; k < MAX_NODES; k++) {
        cfx_value_unref(seen[k]);
        seen[k] = CFX_NOTHING;
    }
}

/* ---- The tests ---- */

static void check(int i, const char *pass, bool told)
{
    const cfx_tolerance t = {.given = true, .rtol = 1e-4, .atol = 1e-5};
    cfx_difference d;
    fresh(i);
    cfx_value before = run(&cfx_interp_base);
    fresh(i);
    if (told)
        tell_shapes(i);
    apply(pass);
    cfx_value after = run(&cfx_interp_base);
    assert_ok(cfx_value_compare(&d, before, after, &t, &err));
    ck_assert_msg(!d.differs, "model %d, %s: %s", i, pass, d.text);
    cfx_value_unref(before);
    cfx_value_unref(after);
}

TEST_EACH(passes_keep_the_meaning_of_graphs_that_share_memory, NMODELS)
{
    static const char *const more[] = {
        "normalize(tensors=True)",
        "normalize(to=aten)",
        "merge_matmul(assume=True)",
        "dead_code(random=True)",
    };
    for (size_t k = 0; cfx_pass_at(ctx, k); k++) {
        const char *schema = cfx_pass_at(ctx, k)->schema;
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(schema, "("),
                 schema);
        if (strcmp(name, "replace_targets") != 0) {
            check(_i, name, false);
            check(_i, name, true);
        }
    }
    for (size_t k = 0; k < sizeof(more) / sizeof(*more); k++) {
        check(_i, more[k], false);
        check(_i, more[k], true);
    }
}

TEST_SUITE(passes_meaning, .setup = setup, .teardown = teardown, .timeout = 60)
