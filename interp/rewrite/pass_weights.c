/*
 * pass_weights -- the parameters and buffers of a module that a pass rewrites.
 */
#include <stdio.h>

#include "interp/rewrite/rewrite_rules.h"

cfx_status cfx_pass_weight(cfx_pass_call *p, const char *path,
                           cfx_tensor **out)
{
    cfx_value v;
    *out = NULL;
    cfx_status st = cfx_module_fetch_attr(&v, p->gm, path, p->err);
    if (st)
        return st;
    if (v.kind != CFX_TENSOR)
        return cfx_fail(p->err, CFX_ENAME, "%s is a %s, not a Tensor", path,
                        cfx_kind_name((cfx_kind)v.kind));
    if (cfx_tensor_is_meta(v.u.tensor))
        return cfx_fail(p->err, CFX_EWEIGHT, "missing weight: %s", path);
    *out = v.u.tensor;
    return CFX_OK;
}

static bool is_free(const cfx_module *m, const char *name)
{
    return !cfx_module_state(m, name) && !cfx_module_child(m, name);
}

cfx_status cfx_pass__store_tensor(cfx_pass_call *p, const char *prefix,
                                  cfx_tensor *t, char *name, size_t size)
{
    size_t i = 0;
    do {
        int n = snprintf(name, size, "%s%zu", prefix, i++);
        if (n < 0 || (size_t)n >= size)
            return cfx_fail(p->err, CFX_EINVAL, "the name '%s' is too long",
                            prefix);
    } while (!is_free(p->gm, name));
    return cfx_module_set(p->gm, name, t, p->err);
}

cfx_node *cfx_pass_add_tensor(cfx_pass_call *p, const char *prefix,
                              cfx_tensor *t)
{
    char name[256];
    return cfx_pass__store_tensor(p, prefix, t, name, sizeof(name))
               ? NULL
               : cfx_graph_get_attr(p->graph, name, p->err);
}
