/*
 * cfx/effects.h -- side effects of a call.
 *
 * Passes query the effects before they drop, merge or move a call. Effects
 * follow from the bound schema (`Tensor(a!)` is written to, the result may be
 * a view of `Tensor(a)`), from the operator's flags and from in-place names
 * (`relu_`, inplace=True). With `training`, `train` or `use_input_stats`
 * False, the call neither writes nor draws random numbers; with `dropout_p` 0
 * it draws none.
 *
 * cfx_node_effects in cfx/graph.h returns the effects of a node.
 */
#ifndef CFX_EFFECTS_H
#define CFX_EFFECTS_H

#include <cfx/op.h>

/*
 * `writes` and `views` have a bit for each parameter of the bound call.
 * `effect` is set for any other reason not to drop, merge or reorder the call:
 * a check that may fail, a module that changes its state. A bit in `views`
 * means that the result may be a view, or the argument itself (eval dropout,
 * contiguous).
 *
 * The input masks have bit i for cfx_node_input i, the last one for all from
 * 31 on. They are zero if the effects are not those of a node.
 *
 * A call of a module or graph may also write to parameters and buffers (then
 * `effect` is set, too), or return a view of one.
 */
typedef struct cfx_effects {
    uint32_t writes, views;
    uint32_t input_writes, input_views;
    bool random, effect;
    bool state_writes, state_views;
} cfx_effects;

CFX_BEGIN_DECLS

/* The effects of one bound call; reads call->op, schema, in and inplace. An
 * argument that is a node may have any value. Never fails. */
CFX_API cfx_effects cfx_call_effects(const cfx_call *call);

/* Has the call any effect besides its result? */
CFX_INLINE bool cfx_effects_any(const cfx_effects *e)
{
    return e->writes || e->input_writes || e->random || e->effect;
}

CFX_END_DECLS

#endif
