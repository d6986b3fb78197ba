/*
 * symbols_test -- shapes without numbers: whole models walked once in a meta
 * scope with symbols for extents of the input. With numbers put in for the
 * symbols, each node has the shape and strides that PyTorch found, and those
 * that a walk with just these numbers finds. $CFX_ZOO is where the models are.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/shape_prop.h>

#include "tests/unit/unit.h"
#include "tests/zoo/zoo.h"

static cfx_context *ctx;
static cfx_error err;
static const char *place;
static char digests[512];

static bool find_zoo(void)
{
    const char *src = getenv("srcdir");
    place = getenv("CFX_ZOO");
    snprintf(digests, sizeof(digests), "%s/tests/golden/zoo", src ? src : ".");
    return place != NULL;
}

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
}

/* ---- Values as text, with numbers for symbols ---- */

struct numbers {
    int64_t n, h, w;
};

static int64_t number_at(const struct numbers *k, char name)
{
    return name == 'N' ? k->n : name == 'H' ? k->h : k->w;
}

static bool number_of(void *user, const char *name, int64_t *v)
{
    const struct numbers *k = user;
    *v = number_at(k, *name);
    return strchr("NHW", *name) && !name[1];
}

struct text {
    char s[4096];
    size_t len;
};

CFX_PRINTF(2, 3) static void add(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    t->len += (size_t)vsnprintf(t->s + t->len, sizeof(t->s) - t->len, fmt, ap);
    va_end(ap);
    ck_assert_uint_lt(t->len, sizeof(t->s));
}

static int64_t value_of(cfx_dim d, struct numbers *k)
{
    int64_t v = -1;
    if (cfx_dim_eval(&v, d, number_of, k, &err)) {
        char text[256];
        cfx_dim_format(d, text, sizeof(text));
        ck_abort_msg("%s: %s", text, err.text);
    }
    return v;
}

static cfx_status stop_at_tensor(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR ? CFX_EUSER : CFX_OK;
}

/* Strides of axes of extent 1 are left out: they may differ between one image
 * and a symbolic number of images. */
static void add_value(struct text *t, cfx_value v, struct numbers *k)
{
    if (v.kind == CFX_TENSOR) {
        const cfx_tensor *x = v.u.tensor;
        add(t, "%s[", cfx_dtypes[x->dtype].name);
        for (int i = 0; i < x->rank; i++)
            add(t, " %lld", (long long)value_of(x->shape[i], k));
        add(t, " @");
        for (int i = 0; i < x->rank; i++)
            if (k->n == 1 && value_of(x->shape[i], k) == 1)
                add(t, " _");
            else
                add(t, " %lld", (long long)value_of(x->stride[i], k));
        add(t, "]");
    } else if (cfx_value_visit(v, stop_at_tensor, NULL)) {
        add(t, "(");
        for (uint32_t i = 0; i < v.u.seq->len; i++)
            add_value(t, v.u.seq->item[i], k);
        add(t, ")");
    } else {
        add(t, "-");
    }
}

static void add_json(struct text *t, const json_t *j)
{
    size_t i;
    const json_t *item;
    if (json_is_object(j)) {
        add(t, "%s[", json_string_value(json_object_get(j, "dtype")));
        json_array_foreach(json_object_get(j, "shape"), i, item)
            add(t, " %lld", (long long)json_integer_value(item));
        add(t, " @");
        json_array_foreach(json_object_get(j, "stride"), i, item)
            add(t, " %lld", (long long)json_integer_value(item));
        add(t, "]");
    } else if (json_is_array(j)) {
        add(t, "(");
        json_array_foreach(j, i, item) add_json(t, item);
        add(t, ")");
    } else {
        add(t, "-");
    }
}

/* ---- A walk that keeps the values of all nodes ---- */

/* All values of a model for an input of that shape, by id of the node. */
static cfx_value *walk_model(cfx_module *gm, cfx_shape_env *env,
                             const cfx_dim *shape)
{
    cfx_tensor *x;
    cfx_value out;
    cfx_shape_prop p = {.env = NULL};
    cfx_shape_prop_options o = {
        .size = sizeof(o), .env = env, .keep_values = true, .no_meta = true};
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_value *of = calloc(cfx_graph_ids(g), sizeof(*of));
    if (cfx_tensor_meta(&x, ctx, CFX_F32, 4, shape, NULL, &err) ||
        cfx_shape_prop_init(&p, NULL, gm, &o, &err) ||
        cfx_interp_run(&p.base, (cfx_value[]){cfx_value_of_tensor(x)}, 1, &out,
                       &err))
        ck_abort_msg("%s", err.text);
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        of[n->id] = cfx_value_ref(cfx_interp_env(&p.base, n));
    cfx_value_unref(out);
    cfx_tensor_unref(x);
    cfx_interp_release(&p.base);
    return of;
}

static void forget(cfx_value *of, const cfx_graph *g)
{
    for (uint32_t i = 0; i < cfx_graph_ids(g); i++)
        cfx_value_unref(of[i]);
    free(of);
}

static void assert_node(const char *model, const cfx_node *n, cfx_value v,
                        struct numbers *k, const struct text *want)
{
    struct text have = {.len = 0};
    add_value(&have, v, k);
    ck_assert_msg(!strcmp(have.s, want->s), "%s: %s is %s, not %s", model,
                  n->name, have.s, want->s);
}

/* ---- Against PyTorch ---- */

/* Models that take images of any size, then models that do not. */
/* clang-format off */
static const char *const models[] = {
    "alexnet", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2",
    "efficientnet_b3", "efficientnet_b4", "efficientnet_b5",
    "efficientnet_b6", "efficientnet_b7", "inception_v3", "mobilenet_v2",
    "mobilenet_v3_large", "mobilenet_v3_small", "regnet_x_16gf",
    "regnet_x_1_6gf", "regnet_x_32gf", "regnet_x_3_2gf", "regnet_x_400mf",
    "regnet_x_800mf", "regnet_x_8gf", "resnet101", "resnet152", "resnet18",
    "resnet34", "resnet50", "resnext101_32x8d", "resnext101_64x4d",
    "resnext50_32x4d", "squeezenet1_1", "vgg11", "vgg11_bn", "vgg13",
    "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
    "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32",
};
/* clang-format on */

enum {
    NMODELS = sizeof(models) / sizeof(models[0]),
    NFIXED = 5,
    NANY = NMODELS - NFIXED
};

static json_t *read_shapes(const char *name)
{
    char path[ZOO_PATH];
    snprintf(path, sizeof(path), "%s/%s.shapes.json", place, name);
    json_t *j = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(j);
    return j;
}

static void open_model(zoo_model *m, const char *name)
{
    if (zoo_open(m, ctx, place, digests, name, &err))
        ck_abort_msg("%s: %s", name, err.text);
}

/* Every node of PyTorch's list has what it has there. */
static void assert_nodes(const char *name, const cfx_graph *g,
                         const cfx_value *of, const json_t *shapes,
                         struct numbers *k)
{
    int compared = 0;
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        struct text want = {.len = 0};
        const json_t *entry = json_object_get(json_object_get(shapes, "nodes"),
                                              n->name);
        if (!entry)
            continue;
        add_json(&want, entry);
        assert_node(name, n, of[n->id], k, &want);
        compared++;
    }
    ck_assert_int_ge(compared, (int)cfx_graph_len(g) - 1);
}

/* A model walked with the symbols that `which` names in the places of N, H and
 * W. */
static void check_against_pytorch(const char *name, const char *which)
{
    zoo_model m = {0};
    cfx_shape_env *env;
    json_t *shapes = read_shapes(name);
    const json_t *size = json_object_get(shapes, "input");
    cfx_dim shape[4];
    int64_t extent[4];
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
    for (size_t i = 0; i < 4; i++) {
        char symbol[] = {"N\0HW"[i], '\0'};
        extent[i] = json_integer_value(json_array_get(size, i));
        shape[i] = *symbol && strstr(which, symbol)
                       ? cfx_dim_symbol(env, symbol, 1)
                       : cfx_dim_int(extent[i]);
    }
    struct numbers k = {extent[0], extent[2], extent[3]};
    open_model(&m, name);
    const cfx_graph *g = cfx_graph_module_graph(m.gm);
    cfx_value *of = walk_model(m.gm, env, shape);
    assert_nodes(name, g, of, shapes, &k);
    if (!strstr(which, "H"))
        ck_assert_msg(!cfx_shape_env_guards(env), "%s: needs %s", name,
                      cfx_shape_env_guard(env, 0));
    forget(of, g);
    zoo_close(&m);
    cfx_shape_env_free(env);
    json_decref(shapes);
}

TEST_EACH(shapes_are_those_of_pytorch, NMODELS)
{
    check_against_pytorch(models[_i], "");
}

TEST_EACH(shapes_for_any_batch_are_those_of_pytorch, NMODELS)
{
    check_against_pytorch(models[_i], "N");
}

TEST_EACH(shapes_for_any_image_are_those_of_pytorch, NANY)
{
    check_against_pytorch(models[_i], "NHW");
}

/* ---- Against walks with numbers ---- */

/* Does "A == B" hold, or "A >= B", ...? */
static bool holds(cfx_shape_env *env, const char *guard, struct numbers *k)
{
    char left[512], relation[8];
    const char *right;
    cfx_dim a, b;
    size_t at = strcspn(guard, "=!<>");
    snprintf(left, sizeof(left), "%.*s", (int)at, guard);
    snprintf(relation, sizeof(relation), "%.*s",
             (int)strspn(guard + at, "=!<>"), guard + at);
    right = guard + at + strlen(relation);
    if (cfx_dim_parse(&a, env, left, &err) ||
        cfx_dim_parse(&b, env, right, &err))
        ck_abort_msg("%s: %s", guard, err.text);
    int64_t x = value_of(a, k), y = value_of(b, k);
    return !strcmp(relation, "==")   ? x == y
           : !strcmp(relation, "!=") ? x != y
           : !strcmp(relation, "<=") ? x <= y
           : !strcmp(relation, "<")  ? x < y
           : !strcmp(relation, ">=") ? x >= y
                                     : x > y;
}

static void assert_guards_hold(const char *name, cfx_shape_env *env,
                               struct numbers *k)
{
    for (size_t i = 0; i < cfx_shape_env_guards(env); i++) {
        char guard[512];
        snprintf(guard, sizeof(guard), "%s", cfx_shape_env_guard(env, i));
        ck_assert_msg(holds(env, guard, k),
                      "%s: %s does not hold for %lld "
                      "images of %lld by %lld",
                      name, guard, (long long)k->n, (long long)k->h,
                      (long long)k->w);
    }
}

/* A walk for any size gives what walks with these sizes give. */
static void check_against_numbers(const char *name,
                                  const struct numbers sizes[5])
{
    zoo_model m = {0};
    cfx_shape_env *env;
    open_model(&m, name);
    const cfx_graph *g = cfx_graph_module_graph(m.gm);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
    cfx_dim shape[] = {cfx_dim_symbol(env, "N", 1), cfx_dim_int(3),
                       cfx_dim_symbol(env, "H", 1),
                       cfx_dim_symbol(env, "W", 1)};
    cfx_value *any = walk_model(m.gm, env, shape);
    for (size_t i = 0; i < 5; i++) {
        struct numbers k = sizes[i];
        cfx_dim fixed[] = {cfx_dim_int(k.n), cfx_dim_int(3), cfx_dim_int(k.h),
                           cfx_dim_int(k.w)};
        cfx_value *one = walk_model(m.gm, NULL, fixed);
        for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
            struct text want = {.len = 0};
            add_value(&want, one[n->id], &k);
            assert_node(name, n, any[n->id], &k, &want);
        }
        assert_guards_hold(name, env, &k);
        forget(one, g);
    }
    forget(any, g);
    zoo_close(&m);
    cfx_shape_env_free(env);
}

TEST_EACH(shapes_for_any_image_are_those_of_each_image, NANY)
{
    /* The smallest that all take is 75 by 75. */
    static const struct numbers sizes[] = {
        {1, 224, 224}, {3, 200, 161}, {7, 75, 97}, {2, 640, 479}, {1, 75, 75},
    };
    check_against_numbers(models[_i], sizes);
}

TEST_EACH(image_transformers_need_their_image, NFIXED)
{
    static const struct numbers sizes[] = {
        {1, 224, 224},  {2, 224, 224},    {3, 224, 224},
        {16, 224, 224}, {1000, 224, 224},
    };
    zoo_model m = {0};
    cfx_shape_env *env;
    const char *name = models[NANY + _i];
    check_against_numbers(name, sizes);
    open_model(&m, name);
    const cfx_graph *g = cfx_graph_module_graph(m.gm);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
    cfx_dim shape[] = {cfx_dim_symbol(env, "N", 1), cfx_dim_int(3),
                       cfx_dim_symbol(env, "H", 1),
                       cfx_dim_symbol(env, "W", 1)};
    forget(walk_model(m.gm, env, shape), g);
    ck_assert_uint_eq(cfx_shape_env_guards(env), 2);
    ck_assert_str_eq(cfx_shape_env_guard(env, 0), "H == 224");
    ck_assert_str_eq(cfx_shape_env_guard(env, 1), "W == 224");
    zoo_close(&m);
    cfx_shape_env_free(env);
}

TEST_CASE(a_contradiction_names_the_node)
{
    /* Images of different widths cannot be added. */
    static const char text[] =
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %a : [num_users=1] = call_function[target=torch.reshape](args = "
        "(%x, (3, 5)), kwargs = {})\n"
        "    %b : [num_users=1] = call_function[target=torch.reshape](args = "
        "(%x, (4, 4)), kwargs = {})\n"
        "    return (a, b)\n";
    cfx_module *gm;
    cfx_shape_env *env;
    cfx_scope s;
    cfx_tensor *x;
    cfx_value out;
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .scope = &s};
    ck_assert_int_eq(
        cfx_parse_model(&gm, ctx, text, sizeof(text) - 1, "m", &err), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
    cfx_dim n = cfx_dim_symbol(env, "N", 1);
    cfx_scope_init(&s, &cfx_meta_class, ctx, env);
    ck_assert_int_eq(cfx_tensor_meta(&x, ctx, CFX_F32, 1, &n, NULL, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)},
                                    1, &out, &err),
                     CFX_ESHAPE);
    ck_assert_msg(strstr(err.text, "While executing %b") != NULL, "%s",
                  err.text);
    ck_assert_uint_eq(cfx_shape_env_guards(env), 1);
    ck_assert_str_eq(cfx_shape_env_guard(env, 0), "N == 15");
    cfx_interp_release(&it);
    cfx_scope_release(&s);
    cfx_tensor_unref(x);
    cfx_module_unref(gm);
    cfx_shape_env_free(env);
}

TEST_SUITE(symbols, .ready = find_zoo, .setup = setup, .teardown = teardown,
           .timeout = 120)
