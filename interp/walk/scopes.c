/*
 * scopes -- the scope classes that others derive from.
 *
 * They are defined here because the base class handles all calls: of operators,
 * of modules, and of graphs, which are walked by interpreters.
 */
#include "interp/walk/interp_impl.h"
#include "nn/module_impl.h"
#include "op/scope_impl.h"

static cfx_status base_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    (void)out;
    return cfx_call_fail(call, CFX_EUNSUPPORTED,
                         "scope class '%s' calls no operators", s->cls->name);
}

static cfx_status base_call_graph(cfx_scope *s, cfx_module *m,
                                  const char *path, const cfx_unbound_call *c,
                                  const cfx_value *in, cfx_value *out)
{
    return cfx_walks__call_graph(&cfx_interp_base, s, m, path, c, in, out);
}

const cfx_scope_class cfx_scope_base = {
    .size = sizeof(cfx_scope_class),
    .name = "base",
    .call_op = base_call_op,
    .call_higher_order = cfx_scope__call_higher_order,
    .call_module = cfx_module__base_call,
    .call_graph = base_call_graph,
    .get_attr = cfx_module__get_attr,
};

const cfx_scope_class cfx_eager_class = {
    .size = sizeof(cfx_scope_class),
    .name = "eager",
    .super = &cfx_scope_base,
    .computes = true,
    .call_op = cfx_scope__compute,
};

const cfx_scope_class cfx_meta_class = {
    .size = sizeof(cfx_scope_class),
    .name = "meta",
    .super = &cfx_scope_base,
    .call_op = cfx_scope__propagate,
};
