/*
 * optimize -- apply the passes for fast execution, with shapes known to each.
 */
#include "optimize/optimizer.h"

#include <cfx/shape_prop.h>

#include "ops/blocked/blocked_ops.h"

const char *const cfx_optimize_passes = CFX_PASSES_BEFORE_BLOCKS
    "block_channels" CFX_PASSES_AFTER_BLOCKS ", " CFX_PASSES_LAST;

/* The choice of algorithms depends on the type of the weights. */
static const char bfloat16_passes[] = CFX_PASSES_BEFORE_BLOCKS
    "block_channels(bfloat16=True)" CFX_PASSES_AFTER_BLOCKS;

/* The argument of the hooks of the pass manager. */
typedef struct hooks {
    const cfx_optimizer *z;
    bool final;
} hooks;

static cfx_status propagate(void *user, cfx_module *gm,
                            const cfx_pass_report *report, cfx_error *err)
{
    const cfx_optimizer *z = ((const hooks *)user)->z;
    (void)report;
    return cfx_propagate_shapes(gm, z->o->env, z->inputs, z->ninputs, NULL,
                                err);
}

static cfx_status report_pass(void *user, cfx_module *gm,
                              const cfx_pass_report *report, cfx_error *err)
{
    const hooks *h = user;
    const cfx_optimize_options *o = h->z->o;
    return h->final && o->after ? o->after(o->user, gm, report, err) : CFX_OK;
}

static void report_missed(void *user, const cfx_missed *missed, size_t n)
{
    const cfx_optimize_options *o = ((const hooks *)user)->z->o;
    o->missed(o->user, missed, n);
}

/* Append the passes that narrow weights. */
static cfx_status add_narrowing(const cfx_optimizer *z, cfx_pass_manager *pm,
                                const cfx_context *ctx, cfx_error *err)
{
    cfx_status st = CFX_OK;
    if (z->o->int8_weights)
        st = cfx_pass_manager_add(pm, "int8_weights", err);
    if (!st && z->o->bfloat16)
        st = cfx_pass_manager_add(
            pm,
            cfx_blocked_bfloat16(ctx) == CFX_BLOCKED_PAIRS
                ? "bfloat16_weights(rows=True), bfloat16_activations"
                : "bfloat16_weights",
            err);
    return st;
}

cfx_status cfx_optimizer__apply(const cfx_optimizer *z, cfx_module *gm,
                                const char *passes, const char *last,
                                bool final, cfx_error *err)
{
    hooks h = {z, final};
    const cfx_pass_manager_options how = {
        .size = sizeof(how),
        .before = propagate,
        .after = report_pass,
        .user = &h,
        .missed = final && z->o->missed ? report_missed : NULL,
    };
    cfx_pass_manager *pm = NULL;
    cfx_status st = cfx_pass_manager_new(&pm, cfx_module_context(gm), &how,
                                         err);
    if (!st)
        st = cfx_pass_manager_add(pm, passes, err);
    if (!st)
        st = add_narrowing(z, pm, cfx_module_context(gm), err);
    if (!st && last)
        st = cfx_pass_manager_add(pm, last, err);
    if (!st)
        st = cfx_pass_manager_run(pm, gm, NULL, err);
    cfx_pass_manager_free(pm);
    return st;
}

static cfx_status apply_tuned(const cfx_optimizer *z, cfx_module *gm,
                              cfx_error *err)
{
    cfx_buf passes;
    if (z->o->passes)
        return cfx_fail(
            err, CFX_EINVAL,
            "tuning chooses among cfx_optimize_passes: it takes no other passes");
    cfx_buf_init(&passes, cfx_module_context(gm));
    cfx_status st = cfx_optimizer__tune(z, gm, &passes, err);
    if (!st)
        st = cfx_optimizer__apply(z, gm, cfx_buf_str(&passes), CFX_PASSES_LAST,
                                  true, err);
    cfx_buf_release(&passes);
    return st;
}

cfx_status cfx_optimize(cfx_module *gm, const cfx_value *inputs,
                        size_t ninputs, const cfx_optimize_options *options,
                        cfx_error *err)
{
    static const cfx_optimize_options defaults = {.size = sizeof(defaults)};
    const cfx_optimizer z = {inputs, ninputs, options ? options : &defaults};
    bool narrows = z.o->bfloat16 && !z.o->passes;
    const char *passes = z.o->passes ? z.o->passes
                         : narrows   ? bfloat16_passes
                                     : cfx_optimize_passes;
    const char *last = narrows ? CFX_PASSES_LAST : NULL;
    const cfx_graph *g = cfx_graph_module_graph(gm);
    if (!g)
        return cfx_fail(err, CFX_EINVAL, "a %s has no graph",
                        cfx_module_class_name(gm));
    bool shaped = cfx_graph_has_shapes(g);
    cfx_status st = z.o->tune_seconds > 0
                        ? apply_tuned(&z, gm, err)
                        : cfx_optimizer__apply(&z, gm, passes, last, true,
                                               err);
    if (!st)
        st = cfx_graph_module_delete_all_unused_state(gm, NULL, err);
    if (st)
        return st;
    return shaped ? propagate(&(hooks){&z, false}, gm, NULL, err)
                  : cfx_graph_remove_shapes(cfx_graph_module_graph(gm), err);
}
