/*
 * cfx/effects.h -- what a call does besides computing its result.
 *
 * A pass that drops, merges or moves a call asks this first, and keeps no list
 * of operators of its own. It follows from the schema of the call as it is
 * bound: `Tensor(a!)` is written to, of `Tensor(a)` the result may be a view;
 * from the flags of the operator; and from the spelling (`relu_`,
 * inplace=True). A parameter `training`, `train` or `use_input_stats` that is
 * False turns writes and random numbers off, a `dropout_p` that is 0 the
 * latter.
 *
 * cfx_node_effects in cfx/graph.h asks it of a node.
 */
#ifndef CFX_EFFECTS_H
#define CFX_EFFECTS_H

#include <cfx/op.h>

/*
 * `writes` and `views` have a bit for each parameter of the bound call,
 * `effect` stands for all else that must not be dropped, merged or reordered: a
 * check that may fail, a module that changes its own state. A view may be the
 * argument itself (eval dropout, contiguous); that it is one is possible, not
 * certain.
 *
 * The same by the inputs of a node (cfx_node_input): bit i for input i, the
 * last one for all from 31 on. Zero where no node was asked about.
 *
 * A call of a module, or of a graph, may also write to parameters and buffers
 * of modules (then `effect` is set, too), or give a view of one.
 */
typedef struct cfx_effects {
    uint32_t writes, views;
    uint32_t input_writes, input_views;
    bool random, effect;
    bool state_writes, state_views;
} cfx_effects;

CFX_BEGIN_DECLS

/* Of one bound call: call->op, schema, in and inplace are read. An argument
 * may be a node, which may turn out to be anything. Never fails. */
CFX_API cfx_effects cfx_call_effects(const cfx_call *call);

/* Does it do anything but compute its result? */
CFX_INLINE bool cfx_effects_any(const cfx_effects *e)
{
    return e->writes || e->input_writes || e->random || e->effect;
}

CFX_END_DECLS

#endif
