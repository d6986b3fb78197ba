/*
 * scale -- a plugin with a module type.
 *
 *     cc -shared -fPIC -o scale.so scale.c $(pkg-config --cflags cfx)
 *     cfx run model.fx --load ./scale.so -i x=f32[2,3]
 *
 * The model has a line such as `(scale): Scale(features=3)`. The type's one
 * forward runs, propagates shapes and can be traced.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

static cfx_status scale_init(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "features");
    if (!cfx_dim_le(NULL, cfx_dim_int(1), n))
        return cfx_fail(err, CFX_EINVAL, "Scale needs at least one feature");
    return cfx_module_param(self, "weight", CFX_F32, 1, &n, err);
}

static cfx_value scale_forward(cfx_scope *s, cfx_module *self,
                               const cfx_value *in)
{
    return cfx_mul(s, in[0], cfx_param_of(s, self, "weight"));
}

static const cfx_module_type scale = {
    .abi = CFX_ABI(cfx_module_type),
    .schema = "Scale(int features)",
    .repr = "features",
    .doc = "Multiply by a learned factor per feature.",
    .init = scale_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = scale_forward,
};

CFX_PLUGIN_INIT(ctx, err)
{
    return cfx_register_module_type(ctx, &scale, err);
}
