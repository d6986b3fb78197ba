/*
 * Shapes, costs, rooflines, memory plans, exports.
 */
#include "example.h"

#define CONV                                                                  \
    "graph():\n"                                                              \
    "    %x : [num_users=1] = placeholder[target=x]\n"                        \
    "    %relu : [num_users=1] = call_function[target=torch.relu]"            \
    "(args = (%x,), kwargs = {})\n"                                           \
    "    return relu\n"

extern const cfx_cost_prop_class my_class;
@cost.h.2
#define static
@cost.h.3
#undef static

static void costs(cfx_module *gm, const cfx_value *inputs)
{
    cfx_cost_sum total;
    cfx_dim macs;
    @cost.h.1
    require(!err.code && cfx_dim_value(macs) == 0);
}

/* Measuring takes seconds: compiled, and not run. */
CFX_UNUSED static int measured(double flops)
{
    @machine.h.1
    printf("%g\n", floor);
    @machine.h.2
    return 0;
}

static int planned(cfx_module *gm, cfx_value *inputs, size_t ninputs)
{
    cfx_value result;
    @memory_plan.h.1
    @memory_plan.h.2
    require(!err.code && first(result) == 2);
    cfx_value_unref(result);
    @memory_plan.h.3
    return 0;
}

static void roofs(cfx_module *gm, cfx_value *inputs)
{
    const cfx_machine *machine = NULL;
    @roofline.h.2
    require(!err.code);
}

static void shapes(cfx_module *gm)
{
    @shape_prop.h.2
    require(!err.code && y.u.tensor->rank == 4);
    @shape_prop.h.3
    cfx_value_unref(x);
    cfx_value_unref(y);
    cfx_shape_env_free(env);
}

static void exported(cfx_module *gm)
{
    cfx_shape_env *env = NULL;
    require(!cfx_shape_env_new(&env, ctx, &err));
    @to_aten.h.1
    cfx_value_unref(x);
    cfx_module_unref(gm);
    gm = lowered;
    if (!err.code) {
        @file.h.1
        require(!failed);
    }
    require(!err.code || err.code == CFX_EUNSUPPORTED); /* without libzip */
    cfx_error_clear(&err);
    cfx_module_unref(gm);
    cfx_shape_env_free(env);
}

static void written_as_onnx(cfx_module *gm)
{
    cfx_shape_env *env = NULL;
    require(!cfx_shape_env_new(&env, ctx, &err));
    @to_onnx.h.1
    require(!err.code || err.code == CFX_EUNSUPPORTED); /* built without ONNX */
    cfx_error_clear(&err);
    cfx_value_unref(x);
    cfx_module_unref(lowered);
    cfx_shape_env_free(env);
}

static void optimized(cfx_module *gm, const cfx_value *inputs, size_t ninputs)
{
    @optimize.h.1
    require(!err.code);
}

int main(void)
{
    begin();
    cfx_module *gm = model(SUM), *image = model(CONV);
    cfx_value x = ones(2, 2);
    costs(gm, &x);
    require(!planned(gm, &x, 1));
    roofs(gm, &x);
    shapes(image);
    written_as_onnx(image);
    exported(image);
    optimized(gm, &x, 1);
    cfx_value_unref(x);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return 0;
}
