/*
 * nn_shape -- Flatten, Unflatten, Identity: modules that change at most the
 * shape.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

const cfx_module_type cfx_module__Flatten = {
    .schema = "Flatten(int start_dim=1, int end_dim=-1)",
    .repr = "start_dim end_dim",
    .doc = "Join a range of axes.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.flatten.using_ints",
};

static cfx_value Identity_forward(cfx_scope *s, cfx_module *self,
                                  const cfx_value *in)
{
    (void)s;
    (void)self;
    return in[0];
}

const cfx_module_type cfx_module__Identity = {
    .schema = "Identity(any unused=None)",
    .repr = "",
    .implied = "unused",
    .doc = "The input itself.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = Identity_forward,
};

static cfx_value Unflatten_forward(cfx_scope *s, cfx_module *self,
                                   const cfx_value *in)
{
    return cfx_unflatten(s, in[0], cfx_attr(self, "dim"),
                         cfx_attr(self, "unflattened_size"));
}

const cfx_module_type cfx_module__Unflatten = {
    .schema = "Unflatten(int dim, SymInt[] unflattened_size)",
    .repr = "dim unflattened_size",
    .doc = "Split one axis into several.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = Unflatten_forward,
};
