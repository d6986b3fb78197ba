/*
 * shape_prop_test.h -- what the tests of ShapeProp share: a context with an
 * environment of symbols, and short ways to read, walk and compare.
 */
#ifndef CFX_SHAPE_PROP_TEST_H
#define CFX_SHAPE_PROP_TEST_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include <cfx/shape_prop.h>

static cfx_context *ctx;
static cfx_shape_env *env;
static cfx_error err;

CFX_INLINE void setup(void)
{
    memset(&err, 0, sizeof(err));
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
}

CFX_INLINE void teardown(void)
{
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
}

/* ---- Help ---- */

struct text {
    char s[2048];
    size_t len;
};

CFX_INLINE cfx_status append(void *user, const char *s, size_t n)
{
    struct text *t = user;
    ck_assert_uint_lt(t->len + n, sizeof(t->s));
    memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = '\0';
    return CFX_OK;
}

CFX_INLINE cfx_module *parse(const char *text)
{
    cfx_module *gm;
    if (cfx_parse_model(&gm, ctx, text, strlen(text), "m", &err))
        ck_abort_msg("%s", err.text);
    return gm;
}

CFX_INLINE cfx_value shape(const char *text)
{
    cfx_value v;
    if (cfx_parse_shape(&v, ctx, env, text, strlen(text), &err))
        ck_abort_msg("%s: %s", text, err.text);
    return v;
}

CFX_INLINE void assert_is(cfx_value v, bool strides, const char *want)
{
    struct text t = {.len = 0};
    ck_assert_int_eq(cfx_print_shape((cfx_sink){append, &t}, v, strides, &err),
                     CFX_OK);
    ck_assert_str_eq(t.s, want);
}

/* The inputs of a walk, "f32[2]; f32[N]". */
CFX_INLINE size_t make_inputs(cfx_value in[4], const char *text)
{
    size_t n = 0;
    while (*text) {
        size_t len = strcspn(text, ";");
        ck_assert_uint_lt(n, 4);
        if (cfx_parse_shape(&in[n++], ctx, env, text, len, &err))
            ck_abort_msg("%s: %s", text, err.text);
        text += len + (text[len] == ';');
    }
    return n;
}

/* Walk it; the values of the nodes are in their meta, and in `*p`. */
CFX_INLINE cfx_status walk(cfx_shape_prop *p, cfx_module *gm,
                           const char *inputs)
{
    const cfx_shape_prop_options o = {
        .size = sizeof(o), .env = env, .keep_values = true};
    cfx_value in[4], out = CFX_NOTHING;
    size_t n = make_inputs(in, inputs);
    memset(&err, 0, sizeof(err));
    cfx_status st = cfx_shape_prop_init(p, NULL, gm, &o, &err);
    if (!st)
        st = cfx_interp_run(&p->base, in, n, &out, &err);
    cfx_value_unref(out);
    while (n--)
        cfx_value_unref(in[n]);
    return st;
}

/* Nodes of a graph, and what comes out of the one named last. */
CFX_INLINE void assert_gives(const char *nodes, const char *inputs,
                             const char *name, const char *want)
{
    char text[4096];
    cfx_shape_prop p = {.env = NULL};
    snprintf(text, sizeof(text),
             "# cfx 1\nM()\n\ngraph():\n%s"
             "    return %%%s\n",
             nodes, name);
    cfx_module *gm = parse(text);
    if (walk(&p, gm, inputs))
        ck_abort_msg("%s", err.text);
    assert_is(cfx_interp_env(&p.base, cfx_graph_find(p.base.graph, name)),
              false, want);
    cfx_interp_release(&p.base);
    cfx_module_unref(gm);
}

#define X "    %x : [num_users=1] = placeholder[target=x]\n"
#define Y "    %y : [num_users=1] = placeholder[target=y]\n"
#define CALL(name, target, args)                                              \
    "    %" name " : [num_users=1] = call_function[target=" target            \
    "](args = (" args ",), kwargs = {})\n"
#define METHOD(name, target, args)                                            \
    "    %" name " : [num_users=1] = call_method[target=" target              \
    "](args = (" args ",), kwargs = {})\n"

#endif
