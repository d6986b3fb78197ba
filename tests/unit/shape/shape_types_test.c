/*
 * shape_types_test -- the shape rules as a type checker: graphs walked over
 * metas whose unknown extents are symbols. What two extents must satisfy is
 * proved, refuted (an error that names the node), or noted as a guard. Single
 * calls are in tests/cases/shapes/types.test.
 */
#include "tests/unit/graph_test.h"

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/text.h>

#include "tests/unit/unit.h"

static cfx_shape_env *env;
static cfx_value result;
static char guards[512];

static void setup_shapes(void)
{
    setup();
    assert_ok(cfx_shape_env_new(&env, ctx, &err));
}

static void teardown_shapes(void)
{
    cfx_shape_env_free(env);
    cfx_graph_free(g);
    cfx_context_free(ctx);
}

/* ---- Short ways to say things ---- */

#define IN(name)                                                              \
    "    %" name " : [num_users=1] = placeholder[target=" name "]\n"
#define FN(name, target, args)                                                \
    "    %" name " : [num_users=1] = call_function[target=" target            \
    "](args = (" args "), kwargs = {})\n"
#define MOD(name, target, args)                                               \
    "    %" name " : [num_users=1] = call_module[target=" target              \
    "](args = (" args ",), kwargs = {})\n"
#define GRAPH(body) "graph():\n" body
#define RETURN(v) "    return " v "\n"

/* A meta of extents as a person writes them: "N, 3". */
static cfx_tensor *meta_of(const char *text, int *len)
{
    cfx_dim shape[CFX_MAX_RANK];
    char part[64];
    cfx_tensor *t;
    int rank = 0, at = 0;
    while (text[at] && text[at] != ';') {
        int n = (int)strcspn(text + at, ",;");
        snprintf(part, sizeof(part), "%.*s", n, text + at);
        if (part[strspn(part, " ")])
            assert_ok(cfx_dim_parse(&shape[rank++], env,
                                    part + strspn(part, " "), &err));
        at += n + (text[at + n] == ',');
    }
    *len = at + (text[at] == ';');
    assert_ok(cfx_tensor_meta(&t, ctx, CFX_F32, rank, shape, NULL, &err));
    return t;
}

static void note_guards(void)
{
    size_t len = 0;
    guards[0] = '\0';
    for (size_t i = 0; i < cfx_shape_env_guards(env); i++)
        len += (size_t)snprintf(guards + len, sizeof(guards) - len, "%s%s",
                                i ? "; " : "", cfx_shape_env_guard(env, i));
}

/* Walk a model; the inputs' extents are separated by semicolons. */
static cfx_status walk(cfx_module *gm, const char *inputs)
{
    cfx_scope scope;
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .scope = &scope};
    cfx_value in[4];
    size_t n = 0;
    memset(&err, 0, sizeof(err));
    for (int len; *inputs; inputs += len)
        in[n++] = !strncmp(inputs, "int", 3)
                      ? (len = inputs[3] == ';' ? 4 : 3, cfx_int(7))
                      : cfx_value_of_tensor(meta_of(inputs, &len));
    cfx_scope_init(&scope, &cfx_meta_class, ctx, env);
    assert_ok(cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err));
    result = CFX_NOTHING;
    cfx_status st = cfx_interp_run(&it, in, n, &result, &err);
    cfx_interp_release(&it);
    cfx_scope_release(&scope);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(in[i]);
    note_guards();
    return st;
}

static cfx_status check(const char *text, const char *inputs)
{
    cfx_module *gm;
    assert_ok(cfx_parse_model(&gm, ctx, text, strlen(text), "m.fx", &err));
    cfx_shape_env_free(env);
    assert_ok(cfx_shape_env_new(&env, ctx, &err));
    cfx_module_train(gm, false);
    cfx_status st = walk(gm, inputs);
    cfx_module_unref(gm);
    return st;
}

static void assert_shape(const char *want)
{
    char have[256] = "no tensor";
    if (result.kind == CFX_TENSOR)
        cfx_tensor_format_type(result.u.tensor, have, sizeof(have));
    cfx_value_unref(result);
    result = CFX_NOTHING;
    ck_assert_str_eq(have, want);
}

/* The result, and what was taken to hold on the way. */
#define assert_type(model, inputs, type, facts)                               \
    do {                                                                      \
        assert_ok(check(model, inputs));                                      \
        assert_shape(type);                                                   \
        ck_assert_str_eq(guards, facts);                                      \
    } while (0)

/* An error with these words, which names the node. */
#define assert_no_type(model, inputs, words, at)                              \
    do {                                                                      \
        ck_assert_int_ne(check(model, inputs), CFX_OK);                       \
        ck_assert_msg(strstr(err.text, words), "%s", err.text);               \
        ck_assert_msg(strstr(err.text, "While executing %" at " "), "%s",     \
                      err.text);                                              \
    } while (0)

/* ---- Relations ---- */

static bool consistent(const char *a, const char *b, bool known)
{
    int len;
    cfx_tensor *x = meta_of(a, &len), *y = meta_of(b, &len);
    bool same = x->rank == y->rank;
    for (int i = 0; i < x->rank && same; i++)
        same = known ? cfx_dim_known_eq(env, x->shape[i], y->shape[i])
                     : cfx_dim_eq(env, x->shape[i], y->shape[i]);
    cfx_tensor_unref(x);
    cfx_tensor_unref(y);
    note_guards();
    return same;
}

/* Two shapes are consistent if they can be equal; what must hold for that is a
 * guard. */
TEST_CASE(consistency)
{
    ck_assert(consistent("1, 2, 3", "1, N, 3", false));
    ck_assert_str_eq(guards, "N == 2");
    ck_assert(consistent("A, B", "A, B", false));
    ck_assert(!consistent("1, 2, 3", "1, 2, 3, 5", false));
    ck_assert(!consistent("1, 2, 3", "1, 2, 4", false));
    ck_assert(!consistent("2*A", "2*A + 1", false));
    ck_assert_str_eq(guards, "N == 2");
    /* torch's relation forgets: Dyn is consistent with 2, and with 3. */
    ck_assert(!consistent("N", "3", false));
}

/* What follows needs no guard, and leaves none. */
TEST_CASE(precision)
{
    ck_assert(consistent("1, 2, N", "1, 2, N", true));
    ck_assert(consistent("2*N + N", "3*N", true));
    ck_assert(!consistent("1, 2, 3", "1, N, 3", true));
    ck_assert(!consistent("1, 2, 3", "1, 2, 3, 5", true));
    ck_assert_str_eq(guards, "");
}

/* ---- Addition ---- */

#define ADD                                                                   \
    GRAPH(IN("x") IN("y") FN("add", "torch.add", "%x, %y") RETURN("add"))

TEST_CASE(type_check_add_with_scalar)
{
    assert_type(ADD, "int; 2, N, 4", "f32[2, N, 4]", "");
}

/* A fact that one node needed holds for those behind it. */
TEST_CASE(symbolic_add_with_broadcast_2)
{
    /* clang-format off */
    const char *twice = GRAPH(IN("x") IN("y")
                              FN("add", "torch.add", "%x, %y")
                              FN("add_1", "torch.add", "%add, %y")
                              RETURN("add_1"));
    /* clang-format on */
    assert_type(twice, "2, N; 2, 3", "f32[2, 3]", "N == 3");
    /* clang-format off */
    const char *other = GRAPH(IN("x") IN("y") IN("z")
                              FN("add", "torch.add", "%x, %y")
                              FN("add_1", "torch.add", "%x, %z")
                              RETURN("add_1"));
    /* clang-format on */
    assert_no_type(other, "2, N; 2, 3; 2, 4", "must match", "add_1");
}

/* ---- Modules ---- */

#define BATCH_NORM                                                            \
    "Net(\n  (bn1): BatchNorm2d(2, eps=1e-05, momentum=0.1, affine=True, "    \
    "track_running_stats=True)\n)\n\n" GRAPH(                                 \
        IN("x") MOD("bn1", "bn1", "%x") FN("add", "operator.add", "%bn1, %x") \
            RETURN("add"))

TEST_CASE(type_check_batch_norm_2D)
{
    assert_type(BATCH_NORM, "2, 2, 5, 4", "f32[2, 2, 5, 4]", "");
    assert_type(BATCH_NORM, "A, 2, H, W", "f32[A, 2, H, W]", "");
}

TEST_CASE(type_check_batch_norm_2D_false)
{
    assert_no_type(BATCH_NORM, "2, 2, 5", "expected 4D input (got 3D input)",
                   "bn1");
    assert_no_type(BATCH_NORM, "A, 3, 5, 4", "should contain 3 elements",
                   "bn1");
}

TEST_CASE(type_check_batch_norm_2D_broadcast)
{
    assert_type(BATCH_NORM, "A, B, C, D", "f32[A, B, C, D]", "B == 2");
}

#define CONV                                                                  \
    "Net(\n  (conv1): Conv2d(2, 2, kernel_size=(3, 3), stride=(1, 1), "       \
    "padding=(1, 1), bias=False)\n)\n\n" GRAPH(                               \
        IN("x") MOD("conv1", "conv1", "%x")                                   \
            FN("add", "operator.add", "%conv1, %x") RETURN("add"))

TEST_CASE(type_check_conv2D)
{
    assert_type(CONV, "A, 2, C, D", "f32[A, 2, C, D]", "");
}

TEST_CASE(type_check_conv2D_2)
{
    assert_type(CONV, "5, 2, 3, 4", "f32[5, 2, 3, 4]", "");
    assert_no_type(CONV, "5, 3, 3, 4", "to have 2 channels, but got 3",
                   "conv1");
}

TEST_CASE(type_check_symbolic_inferenceconv2D_maxpool2d_flatten)
{
    /* clang-format off */
    const char *text =
        "Net(\n"
        "  (conv1): Conv2d(3, 6, kernel_size=(5, 5), stride=(1, 1))\n"
        "  (pool): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, "
        "ceil_mode=False)\n"
        "  (conv2): Conv2d(6, 16, kernel_size=(5, 5), stride=(1, 1))\n"
        "  (fc1): Linear(in_features=5, out_features=120, bias=True)\n"
        "  (pool2): AdaptiveAvgPool2d(output_size=(6, 7))\n"
        ")\n\n"
        GRAPH(IN("x") MOD("c1", "conv1", "%x") MOD("p1", "pool", "%c1")
              MOD("c2", "conv2", "%p1") MOD("p2", "pool", "%c2")
              MOD("fc", "fc1", "%p2") MOD("p3", "pool2", "%fc")
              FN("f", "torch.flatten", "%p3, 1") RETURN("f"));
    /* clang-format on */
    assert_type(text, "4, 3, 32, 32", "f32[4, 672]", "");
    assert_type(text, "N, 3, 32, 32", "f32[N, 672]", "");
    assert_no_type(text, "N, 3, 32, 40", "mat1 and mat2", "fc");
}

/* A block of a ResNet; its shortcut must have the same extents. */
#define CONV3(name, from, to, stride)                                         \
    "  (" name "): Conv2d(" from ", " to                                      \
    ", kernel_size=(3, 3), stride=(" stride ", " stride                       \
    "), padding=(1, 1), bias=False)\n"
#define NORM(name, n)                                                         \
    "  (" name "): BatchNorm2d(" n ", eps=1e-05, momentum=0.1, affine=True, " \
    "track_running_stats=True)\n"
#define BLOCK(stride)                                                         \
    "Net(\n" CONV3("conv1", "64", "64", stride)                               \
        NORM("bn1", "64") "  (relu): ReLU(inplace=True)\n" CONV3(             \
            "conv2", "64", "64", "1")                                         \
            NORM("bn2", "64") ")\n\n" GRAPH(                                  \
                IN("x") MOD("c1", "conv1", "%x") MOD("b1", "bn1", "%c1")      \
                    MOD("r1", "relu", "%b1") MOD("c2", "conv2", "%r1")        \
                        MOD("b2", "bn2", "%c2")                               \
                            FN("add", "operator.iadd", "%b2, %x")             \
                                MOD("r2", "relu", "%add") RETURN("r2"))

TEST_CASE(typecheck_basicblock)
{
    assert_type(BLOCK("1"), "2, 64, 4, 5", "f32[2, 64, 4, 5]", "");
    assert_type(BLOCK("1"), "N, 64, H, W", "f32[N, 64, H, W]", "");
    assert_no_type(BLOCK("2"), "N, 64, 8, 8", "must match", "add");
}

/* ---- Extents found from what must hold ---- */

TEST_CASE(infer_shape)
{
    /* clang-format off */
    const char *text =
        "Net(\n"
        "  (fc1): Linear(in_features=24, out_features=8, bias=True)\n"
        "  (fc2): Linear(in_features=16, out_features=3, bias=True)\n"
        ")\n\n"
        GRAPH(IN("x") IN("y") MOD("fc1", "fc1", "%x")
              FN("cat", "torch.cat", "[%fc1, %y], 1")
              MOD("fc2", "fc2", "%cat") RETURN("fc2"));
    /* clang-format on */
    assert_type(text, "A, B; C, D", "f32[A, 3]", "B == 24; C == A; D == 8");
}

TEST_SUITE(shape_types, .setup = setup_shapes, .teardown = teardown_shapes)
