/*
 * interp_test.h -- what the tests of interpreters share: short ways to run a
 * model.
 */
#ifndef CFX_INTERP_TEST_H
#define CFX_INTERP_TEST_H

#include "tests/unit/model_test.h"

CFX_INLINE const cfx_node *node(const char *name)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    const cfx_node *n = cfx_graph_first(g);
    while (n && strcmp(n->name, name))
        n = cfx_node_next(n);
    ck_assert_ptr_nonnull(n);
    return n;
}

CFX_INLINE void ready(cfx_interp *it, const cfx_interp_class *cls)
{
    ck_assert_msg(!cfx_interp_init(it, cls, gm, &err), "%s", err.text);
}

CFX_INLINE cfx_value run(cfx_interp *it, const cfx_value *in, size_t n)
{
    cfx_value out;
    ck_assert_msg(!cfx_interp_run(it, in, n, &out, &err), "%s", err.text);
    return out;
}

/* Fails with a text that holds `part`. */
CFX_INLINE void fails(cfx_interp *it, const cfx_value *in, size_t n,
                      cfx_status with, const char *part)
{
    cfx_value out;
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_interp_run(it, in, n, &out, &err), with);
    ck_assert_int_eq(out.kind, CFX_NONE);
    ck_assert_msg(strstr(err.text, part) != NULL, "%s", err.text);
}

static const char chain[] =
    "graph():\n"
    "    %x : [num_users=2] = placeholder[target=x]\n"
    "    %y : [num_users=1] = placeholder[target=y](default=3)\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%x, %y), kwargs = {})\n"
    "    %relu : [num_users=1] = call_method[target=relu](args = (%add,), "
    "kwargs = {})\n"
    "    %mul : [num_users=1] = call_function[target=operator.mul](args = "
    "(%relu, %x), kwargs = {})\n"
    "    return mul";

#endif
