/*
 * accelerator_test.h -- what the tests of placements share.
 */
#ifndef CFX_ACCELERATOR_TEST_H
#define CFX_ACCELERATOR_TEST_H

#include "graph_test.h"
#include "golden_text.h"

#include <cfx/accelerator.h>
#include <cfx/file.h>

CFX_INLINE cfx_module *parse(const char *text)
{
    cfx_module *gm;
    assert_ok(cfx_parse_model(&gm, ctx, text, strlen(text), "m.fx", &err));
    return gm;
}

/* A sink whose user is a golden_text. */
CFX_INLINE cfx_status into_text(void *user, const char *text, size_t len)
{
    golden_text *to = user;
    while (len--)
        golden_puts(to, (char[]){*text++, '\0'});
    return CFX_OK;
}

#endif
