/*
 * control_test.h -- what the tests of graphs in graphs share: short ways to run
 * a model.
 */
#ifndef CFX_CONTROL_TEST_H
#define CFX_CONTROL_TEST_H

#include "tests/unit/model_test.h"

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
