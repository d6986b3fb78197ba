/*
 * cost_weights -- record the parameters and buffers that a node reads.
 *
 * Modules' forwards and get_attr nodes fetch them through the scope.
 */
#include "shapeprop/cost/cost_impl.h"

bool cfx_cost__add_weight(struct cfx_cost_self *self, const cfx_state *state)
{
    for (size_t i = 0; i < self->nweights; i++)
        if (self->weights[i].tensor == state->tensor)
            return true;
    if (cfx_grow(self->scope.base.ctx, self->weights, self->cap,
                 self->nweights + 1, NULL))
        return false;
    self->weights[self->nweights++] = (cfx_cost_weight){state->tensor,
                                                        state->is_buffer};
    return true;
}

cfx_status cfx_cost__node_weights(cfx_cost_prop *p, cfx_cost_node *row)
{
    struct cfx_cost_self *self = p->self;
    if (!self->nweights)
        return CFX_OK;
    size_t size = self->nweights * sizeof(*self->weights);
    cfx_cost_weight *kept = cfx_arena_alloc(&self->arena, size);
    if (!kept)
        return cfx_no_memory(p->base.base.err);
    memcpy(kept, self->weights, size);
    row->weight = kept;
    row->nweights = self->nweights;
    return CFX_OK;
}
