/*
 * optimize -- apply the passes for fast execution, with shapes known to each.
 */
#include <cfx/optimize.h>
#include <cfx/shape_prop.h>

const char *const cfx_optimize_passes =
    "remove_dropout, fuse_conv_bn, fuse_linear_bn, fuse_gelu, "
    "lower_quantized, pack_quantized, block_channels, pack_linear, fuse_pointwise, dead_code";

/* The inputs, for the hook before each pass. */
typedef struct optimizer {
    const cfx_value *inputs;
    size_t ninputs;
    const cfx_optimize_options *o;
} optimizer;

static cfx_status propagate(void *user, cfx_module *gm,
                            const cfx_pass_report *report, cfx_error *err)
{
    const optimizer *z = user;
    (void)report;
    return cfx_propagate_shapes(gm, z->o->env, z->inputs, z->ninputs, NULL,
                                err);
}

static cfx_status report_pass(void *user, cfx_module *gm,
                              const cfx_pass_report *report, cfx_error *err)
{
    const optimizer *z = user;
    return z->o->after ? z->o->after(z->o->user, gm, report, err) : CFX_OK;
}

static cfx_status apply(optimizer *z, cfx_module *gm, cfx_error *err)
{
    const char *passes = z->o->passes ? z->o->passes : cfx_optimize_passes;
    const cfx_pass_manager_options how = {
        .size = sizeof(how),
        .before = propagate,
        .after = report_pass,
        .user = z,
    };
    cfx_pass_manager *pm = NULL;
    cfx_status st = cfx_pass_manager_new(&pm, cfx_module_context(gm), &how,
                                         err);
    if (!st)
        st = cfx_pass_manager_add(pm, passes, err);
    if (!st && z->o->int8_weights)
        st = cfx_pass_manager_add(pm, "int8_weights", err);
    if (!st && z->o->bfloat16)
        st = cfx_pass_manager_add(pm, "bfloat16_weights", err);
    if (!st)
        st = cfx_pass_manager_run(pm, gm, NULL, err);
    cfx_pass_manager_free(pm);
    return st;
}

cfx_status cfx_optimize(cfx_module *gm, const cfx_value *inputs,
                        size_t ninputs, const cfx_optimize_options *options,
                        cfx_error *err)
{
    static const cfx_optimize_options defaults = {.size = sizeof(defaults)};
    optimizer z = {inputs, ninputs, options ? options : &defaults};
    const cfx_graph *g = cfx_graph_module_graph(gm);
    if (!g)
        return cfx_fail(err, CFX_EINVAL, "a %s has no graph",
                        cfx_module_class_name(gm));
    bool shaped = cfx_graph_has_shapes(g);
    cfx_status st = apply(&z, gm, err);
    if (!st)
        st = cfx_graph_module_delete_all_unused_state(gm, NULL, err);
    return st || shaped
               ? st
               : cfx_graph_remove_shapes(cfx_graph_module_graph(gm), err);
}
