/*
 * effects -- what a bound call does besides computing its result.
 */
#include <cfx/effects.h>

#include "op/op_impl.h"

/* Is there a parameter by which the call is told not to train, and is it? One
 * that is a node may turn out to be true. */
static bool is_at_rest(const cfx_call *call)
{
    int k = call->schema->training;
    return k >= 0 && call->in[k].kind == CFX_BOOL_VALUE && !call->in[k].u.i;
}

/* The same for random numbers: may anything be dropped? */
static bool drops_nothing(const cfx_call *call)
{
    int k = call->schema->dropout_p;
    return k >= 0 && call->in[k].kind == CFX_FLOAT && call->in[k].u.f == 0;
}

cfx_effects cfx_call_effects(const cfx_call *call)
{
    const cfx_schema *schema = call->schema;
    bool rests = is_at_rest(call);
    cfx_effects e = {
        .random = call->op->flags & CFX_OP_RANDOM && !rests &&
                  !drops_nothing(call),
        .effect = call->op->flags & CFX_OP_EFFECT,
    };
    for (int k = 0; k < schema->nparams; k++) {
        const cfx_param *p = &schema->params[k];
        uint32_t bit = (uint32_t)1 << k;
        if (cfx_value_is_none(call->in[k]))
            continue;
        if (p->writes && !rests)
            e.writes |= bit;
        if (p->writes ? schema->returns_written
                      : p->alias && schema->returns_alias)
            e.views |= bit;
    }
    if (call->inplace) {
        e.writes |= 1;
        e.views |= 1;
    }
    return e;
}
