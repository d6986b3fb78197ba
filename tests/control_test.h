/*
 * control_test.h -- what the tests of graphs in graphs share: a context, a
 * model, and short ways to run it.
 */
#ifndef CFX_CONTROL_TEST_H
#define CFX_CONTROL_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/text.h>

static cfx_context *ctx;
static cfx_module *gm;
static cfx_error err;

CFX_INLINE void setup(void)
{
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    gm = NULL;
}

CFX_INLINE void teardown(void)
{
    cfx_module_unref(gm);
    ck_assert_uint_lt(cfx_context_memory(ctx), 4 << 20);
    cfx_context_free(ctx);
}

CFX_INLINE void model(const char *text)
{
    cfx_module_unref(gm);
    gm = NULL;
    ck_assert_msg(!cfx_parse_model(&gm, ctx, text, strlen(text), "test", &err),
                  "%s", err.text);
}

/* A tensor of n floats, each x, as a value that is the caller's. */
CFX_INLINE cfx_value floats(int64_t n, float x)
{
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 1, &n, &err), CFX_OK);
    for (int64_t i = 0; i < n; i++)
        ((float *)t->data)[i] = x;
    return cfx_value_of_tensor(t);
}

CFX_INLINE float first(cfx_value v)
{
    ck_assert_int_eq(v.kind, CFX_TENSOR);
    ck_assert_int_eq(v.u.tensor->dtype, CFX_F32);
    return *(float *)v.u.tensor->data;
}

/* Run the model on its inputs, which are given back; the first element. */
CFX_INLINE float run(cfx_value *in, size_t n)
{
    cfx_interp it = {0};
    cfx_value out;
    ck_assert_msg(!cfx_interp_init(&it, &cfx_interp_base, gm, &err), "%s",
                  err.text);
    ck_assert_msg(!cfx_interp_run(&it, in, n, &out, &err), "%s", err.text);
    float y = first(out);
    cfx_value_unref(out);
    cfx_interp_release(&it);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(in[i]);
    return y;
}

/* Run it on x = 1 twice; fails with a text that holds `part`. */
CFX_INLINE void fails(cfx_status with, const char *part)
{
    cfx_interp it = {0};
    cfx_value in = floats(2, 1), out;
    err = (cfx_error){0};
    ck_assert_msg(!cfx_interp_init(&it, &cfx_interp_base, gm, &err), "%s",
                  err.text);
    for (int i = 0; i < 2; i++) {
        err = (cfx_error){0};
        ck_assert_int_eq(cfx_interp_run(&it, &in, 1, &out, &err), with);
        ck_assert_int_eq(out.kind, CFX_NONE);
        ck_assert_msg(strstr(err.text, part) != NULL, "%s", err.text);
    }
    err = (cfx_error){0};
    cfx_interp_release(&it);
    cfx_value_unref(in);
}

#endif
