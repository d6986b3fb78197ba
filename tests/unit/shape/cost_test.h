/*
 * cost_test.h -- what the tests of costs and of rooflines share: a context, a
 * model, inputs without numbers.
 */
#ifndef CFX_COST_TEST_H
#define CFX_COST_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/cost.h>
#include <cfx/text.h>

#include "tests/unit/failing_alloc.h"

static cfx_context *ctx;
static cfx_shape_env *env;
static cfx_module *gm;
static cfx_error err;

CFX_INLINE void setup(void)
{
    const cfx_options o = {.size = sizeof(o),
                           .allocator = {test_alloc, test_free, NULL},
                           .threads = 1};
    err = (cfx_error){0};
    gm = NULL;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
}

CFX_INLINE void teardown(void)
{
    cfx_module_unref(gm);
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

CFX_INLINE void model(const char *text)
{
    ck_assert_msg(!cfx_parse_model(&gm, ctx, text, strlen(text), "test", &err),
                  "%s", err.text);
}

CFX_INLINE cfx_value shape(const char *text)
{
    cfx_value v = CFX_NOTHING;
    ck_assert_msg(!cfx_parse_shape(&v, ctx, env, text, strlen(text), &err),
                  "%s", err.text);
    return v;
}

/* A convolution, a sum with what came in, a product. 3*4*9 weights and 4
 * biases, 3*4 and no bias, 4*5 and 5. */
static const char small_net[] =
    "Net(\n"
    "  (a): Module(\n"
    "    (conv): Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), "
    "padding=(1, 1))\n"
    "    (side): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1), "
    "bias=False)\n"
    "  )\n"
    "  (fc): Linear(in_features=4, out_features=5, bias=True)\n"
    ")\n"
    "\n"
    "graph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %a_conv : [num_users=1] = call_module[target=a.conv](args = (%x,), "
    "kwargs = {})\n"
    "    %a_side : [num_users=1] = call_module[target=a.side](args = (%x,), "
    "kwargs = {})\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%a_conv, %a_side), kwargs = {})\n"
    "    %mean : [num_users=1] = call_method[target=mean](args = (%add, "
    "[2, 3]), kwargs = {})\n"
    "    %fc : [num_users=1] = call_module[target=fc](args = (%mean,), "
    "kwargs = {})\n"
    "    return fc\n";

#endif
