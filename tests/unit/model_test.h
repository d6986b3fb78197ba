/*
 * model_test.h -- what tests of walks share: a context, a model, tensors.
 */
#ifndef CFX_MODEL_TEST_H
#define CFX_MODEL_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/text.h>

#include "tests/unit/failing_alloc.h"

static cfx_context *ctx;
static cfx_module *gm;
static cfx_error err;

CFX_INLINE void setup(void)
{
    const cfx_options options = {
        .size = sizeof(options),
        .allocator = {test_alloc, test_free, NULL},
    };
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
    gm = NULL;
}

/* A value that has one reference too many is memory that nobody gives back. */
CFX_INLINE void teardown(void)
{
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
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

#endif
