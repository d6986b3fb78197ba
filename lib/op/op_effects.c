/*
 * op_effects -- side effects of a bound call.
 */
#include <cfx/effects.h>

#include "op/op_impl.h"

/* Is the parameter `training` (or a synonym) False? A node may be True. */
static bool is_inference(const cfx_call *call)
{
    int k = call->schema->training;
    return k >= 0 && call->in[k].kind == CFX_BOOL_VALUE && !call->in[k].u.i;
}

/* Is dropout_p 0? */
static bool drops_nothing(const cfx_call *call)
{
    int k = call->schema->dropout_p;
    return k >= 0 && call->in[k].kind == CFX_FLOAT && call->in[k].u.f == 0;
}

cfx_effects cfx_call_effects(const cfx_call *call)
{
    const cfx_schema *schema = call->schema;
    bool inference = is_inference(call);
    cfx_effects e = {
        .random = call->op->flags & CFX_OP_RANDOM && !inference &&
                  !drops_nothing(call),
        .effect = call->op->flags & CFX_OP_EFFECT,
    };
    for (int k = 0; k < schema->nparams; k++) {
        const cfx_param *p = &schema->params[k];
        uint32_t bit = (uint32_t)1 << k;
        if (cfx_value_is_none(call->in[k]))
            continue;
        if (p->writes && !inference)
            e.writes |= bit;
        if (p->writes ? schema->returns_written
                      : p->alias && schema->returns_alias)
            e.views |= bit;
    }
    if (call->inplace) {
        /* What returns its argument then writes nothing: dropout. */
        e.writes |= !(inference && e.views & 1);
        e.views |= 1;
    }
    return e;
}
