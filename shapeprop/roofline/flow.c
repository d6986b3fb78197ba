/*
 * flow -- which memory blocks each row reads, and which one holds its value.
 *
 * Blocks are those of the memory plan of the same run. Weights are identified
 * by their tensors.
 */
#include "shapeprop/roofline/roofline_impl.h"

static bool add_reading(cfx_flow *f, uint32_t row, uint32_t block,
                        cfx_dim bytes)
{
    if (cfx_grow(f->ctx, f->reading, f->reading_cap, f->nreadings + 1, NULL))
        return false;
    f->reading[f->nreadings++] = (cfx_memory_part){block, bytes};
    f->row[row].count++;
    f->end[block] = row;
    return true;
}

static bool list_weights(cfx_flow *f)
{
    for (size_t i = 0; i < f->plan->nblocks; i++) {
        cfx_memory_block *b = &f->plan->block[i];
        if (b->kind != CFX_BLOCK_STATE)
            continue;
        cfx_map_entry *e = cfx_map_put(&f->weights, (const char *)&b->tensor,
                                       sizeof(b->tensor), NULL);
        if (!e)
            return false;
        e->v.u = i;
    }
    return true;
}

static bool read_weights(cfx_flow *f, uint32_t row, const cfx_cost_node *c)
{
    for (size_t i = 0; i < c->nweights; i++) {
        const cfx_tensor *t = c->weight[i].tensor;
        const cfx_map_entry *e = cfx_map_get(&f->weights, (const char *)&t,
                                             sizeof(t));
        if (e && !add_reading(f, row, (uint32_t)e->v.u,
                              cfx_memory__element_bytes(f->env, t)))
            return false;
    }
    return true;
}

static bool read_inputs(cfx_flow *f, uint32_t row, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        size_t count;
        const cfx_memory_part *part = cfx_memory__parts(
            f->plan, cfx_node_input(n, i), &count);
        for (size_t k = 0; k < count; k++)
            if (!add_reading(f, row, part[k].block, part[k].bytes))
                return false;
    }
    return true;
}

static bool add_row(cfx_flow *f, uint32_t row)
{
    const cfx_cost_node *c = &f->costs->node[row];
    cfx_flow_row *r = &f->row[row];
    *r = (cfx_flow_row){.first = f->nreadings};
    if ((c->node->op != CFX_GET_ATTR && !read_weights(f, row, c)) ||
        !read_inputs(f, row, c->node))
        return false;
    r->value = cfx_memory__parts(f->plan, c->node, &r->nvalue);
    for (size_t k = 0; k < r->nvalue; k++)
        f->end[r->value[k].block] = row;
    return true;
}

bool cfx_flow__is_kept(const cfx_flow *f, uint32_t block)
{
    cfx_block_kind kind = f->plan->block[block].kind;
    return kind == CFX_BLOCK_INPUT || kind == CFX_BLOCK_STATE;
}

cfx_status cfx_flow__make(cfx_flow *f, const cfx_cost_prop *costs,
                          const cfx_memory_plan *plan, cfx_error *err)
{
    cfx_scope *s = costs->base.base.scope;
    *f = (cfx_flow){.ctx = s->ctx,
                    .env = s->env,
                    .costs = costs,
                    .plan = plan,
                    .nrows = costs->nnodes};
    cfx_map_init(&f->weights, f->ctx);
    f->row = cfx_calloc(f->ctx, f->nrows + 1, sizeof(*f->row));
    f->end = cfx_calloc(f->ctx, plan->nblocks + 1, sizeof(*f->end));
    bool ok = f->row && f->end && list_weights(f);
    for (uint32_t i = 0; ok && i < f->nrows; i++)
        ok = add_row(f, i);
    return ok ? CFX_OK : cfx_no_memory(err);
}

void cfx_flow__release(cfx_flow *f)
{
    if (!f->ctx)
        return;
    cfx_map_release(&f->weights);
    cfx_free(f->ctx, f->row, (f->nrows + 1) * sizeof(*f->row));
    cfx_free(f->ctx, f->end, (f->plan->nblocks + 1) * sizeof(*f->end));
    cfx_free(f->ctx, f->reading, f->reading_cap * sizeof(*f->reading));
    *f = (cfx_flow){.ctx = NULL};
}
