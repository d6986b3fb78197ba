/*
 * machine_test.h -- what the tests of machines share: a context of two threads,
 * and descriptions read in it.
 */
#ifndef CFX_MACHINE_TEST_H
#define CFX_MACHINE_TEST_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include <cfx/machine.h>

static cfx_context *ctx;
static cfx_error error;

CFX_INLINE void setup(void)
{
    const cfx_options o = {.size = sizeof(o), .threads = 2};

    memset(&error, 0, sizeof(error));
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
}

CFX_INLINE void teardown(void)
{
    cfx_context_free(ctx);
}

CFX_INLINE cfx_machine *described(const char *text)
{
    cfx_machine *m;
    cfx_status rc = cfx_machine_parse(&m, ctx, text, strlen(text), &error);

    ck_assert_msg(rc == CFX_OK, "%s", error.text);
    return m;
}

#endif
