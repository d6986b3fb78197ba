/*
 * cost_weights -- the parameters and buffers that a node reads.
 *
 * A module's forward asks the scope for each. What a called graph fetches by
 * get_attr does not come by there: all that is below its module counts.
 */
#include "shapeprop/cost_impl.h"

bool cfx_cost__add_weight(struct cfx_cost_self *self, const cfx_state *state)
{
    for (size_t i = 0; i < self->nweights; i++)
        if (self->weights[i].tensor == state->tensor)
            return true;
    if (cfx_grow(self->scope.base.ctx, self->weights, self->cap,
                 self->nweights + 1, NULL))
        return false;
    self->weights[self->nweights++] =
        (cfx_cost_weight){state->tensor, state->is_buffer};
    return true;
}

static bool add_below(struct cfx_cost_self *self, const cfx_module *root)
{
    for (const cfx_module *m = root; m; m = cfx_module_next(m, root))
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (s->tensor && !cfx_cost__add_weight(self, s))
                return false;
        }
    return true;
}

/* The state that a path names, or NULL. */
static const cfx_state *state_at(const cfx_module *root, const char *path)
{
    char above[512];
    const char *dot = strrchr(path, '.');
    size_t len = dot ? (size_t)(dot - path) : 0;
    if (len >= sizeof(above))
        return NULL;
    memcpy(above, path, len);
    above[len] = '\0';
    const cfx_module *m = cfx_module_at(root, above);
    return m ? cfx_module_state(m, dot ? dot + 1 : path) : NULL;
}

static bool add_target(cfx_cost_prop *p, const cfx_node *n, cfx_value out)
{
    const cfx_module *root = p->base.base.module, *m = NULL;
    if (n->op == CFX_GET_ATTR && out.kind == CFX_TENSOR) {
        const cfx_state *s = state_at(root, n->target.u.str->text);
        return !s || !s->tensor || cfx_cost__add_weight(p->self, s);
    }
    if (n->op == CFX_GET_ATTR && out.kind == CFX_MODULE)
        m = out.u.module;
    else if (n->op == CFX_CALL_MODULE)
        m = cfx_module_at(root, n->target.u.str->text);
    if (!m || !cfx_graph_module_graph(m))
        return true;
    return add_below(p->self, m);
}

cfx_status cfx_cost__node_weights(cfx_cost_prop *p, cfx_cost_node *row)
{
    struct cfx_cost_self *self = p->self;
    if (!add_target(p, row->node, row->value))
        return cfx_no_memory(p->base.base.err);
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
