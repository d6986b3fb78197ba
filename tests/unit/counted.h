/*
 * counted.h -- a context whose memory is counted, what is read in it, and a
 * sink that refuses.
 */
#ifndef CFX_TEST_COUNTED_H
#define CFX_TEST_COUNTED_H

#include <check.h>
#include <string.h>

#include <cfx/text.h>

#include "tests/unit/failing_alloc.h"

/* A context with one thread and the allocator test_alloc. */
CFX_INLINE cfx_context *counted_context(void)
{
    cfx_options options = {
        .size = sizeof(options),
        .allocator = {test_alloc, test_free, NULL},
        .threads = 1,
    };
    cfx_context *ctx = NULL;
    cfx_error err;
    allowed = -1;
    if (cfx_context_new(&ctx, &options, &err))
        ck_abort_msg("%s", err.text);
    return ctx;
}

/* All of its memory must have been given back. */
CFX_INLINE void free_counted(cfx_context *ctx)
{
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

CFX_INLINE cfx_module *parsed(cfx_context *ctx, const char *text)
{
    cfx_module *gm = NULL;
    cfx_error err;
    if (cfx_parse_model(&gm, ctx, text, strlen(text), "case.fx", &err))
        ck_abort_msg("%s", err.text);
    return gm;
}

/* A sink that refuses what comes after so many texts, an int. */
CFX_INLINE cfx_status refuse_after(void *user, const char *text, size_t len)
{
    (void)text;
    (void)len;
    return --*(int *)user < 0 ? CFX_EIO : CFX_OK;
}

#endif
