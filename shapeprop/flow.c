/*
 * flow -- which memory each row of a walk reads, and which its value is in.
 *
 * A value is in memory of its own, unless it is an argument (or an item of
 * one), or a node that writes nothing gives a tensor: a view of the first
 * argument. Weights are known by their tensors.
 */
#include "shapeprop/roofline_impl.h"

static cfx_dim tensor_bytes(cfx_shape_env *env, const cfx_tensor *t)
{
    cfx_dim n = cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_is(t->stride[i], 0))
            n = cfx_dim_mul(env, n, t->shape[i]);
    return n;
}

struct counting {
    cfx_shape_env *env;
    cfx_dim bytes;
    const cfx_tensor *first;
};

static cfx_status count_tensor(void *user, cfx_value v)
{
    struct counting *c = user;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    if (!c->first)
        c->first = v.u.tensor;
    c->bytes = cfx_dim_add(c->env, c->bytes, tensor_bytes(c->env, v.u.tensor));
    return CFX_OK;
}

/* The bytes of all tensors in a value, and the first of them. */
static cfx_dim value_bytes(const cfx_flow *f, cfx_value v,
                           const cfx_tensor **first)
{
    struct counting c = {f->env, cfx_dim_int(0), NULL};
    cfx_value_visit(v, count_tensor, &c);
    *first = c.first;
    return c.bytes;
}

static bool is_that(void *user, cfx_value v)
{
    return v.kind == CFX_TENSOR && v.u.tensor == user;
}

static bool holds(cfx_value v, const cfx_tensor *t)
{
    return cfx_value_any(v, is_that, (void *)t);
}

/* ---- Growing ---- */

static bool add_buffer(cfx_flow *f, cfx_dim bytes, bool kept, uint32_t *out)
{
    if (cfx_grow(f->ctx, f->buffer, f->buffer_cap, f->nbuffers + 1, NULL))
        return false;
    *out = (uint32_t)f->nbuffers;
    f->buffer[f->nbuffers++] = (cfx_buffer){.bytes = bytes, .kept = kept};
    return true;
}

static bool add_reading(cfx_flow *f, uint32_t row, uint32_t buffer,
                        cfx_dim bytes)
{
    cfx_flow_row *r = &f->row[row];
    if (cfx_grow(f->ctx, f->reading, f->reading_cap, f->nreadings + 1, NULL))
        return false;
    f->reading[f->nreadings++] = (cfx_reading){buffer, bytes};
    r->count++;
    if (f->buffer[buffer].end < row)
        f->buffer[buffer].end = row;
    return true;
}

/* ---- Rows ---- */

static bool weight_buffer(cfx_flow *f, const cfx_cost_weight *w, cfx_dim bytes,
                          uint32_t *out)
{
    bool added;
    cfx_map_entry *e = cfx_map_put(&f->weights, (const char *)&w->tensor,
                                   sizeof(w->tensor), &added);
    if (!e)
        return false;
    if (added) {
        if (!add_buffer(f, bytes, true, out))
            return false;
        e->v.u = *out;
    }
    *out = (uint32_t)e->v.u;
    return true;
}

static bool read_weights(cfx_flow *f, uint32_t row, const cfx_cost_node *c)
{
    uint32_t buffer;
    for (size_t i = 0; i < c->nweights; i++) {
        cfx_dim bytes = tensor_bytes(f->env, c->weight[i].tensor);
        if (!weight_buffer(f, &c->weight[i], bytes, &buffer) ||
            !add_reading(f, row, buffer, bytes))
            return false;
    }
    return true;
}

static const cfx_cost_node *input_of(const cfx_flow *f, const cfx_node *n,
                                     uint32_t i, uint32_t *row)
{
    const cfx_cost_node *c = cfx_cost_prop_of(f->costs, cfx_node_input(n, i));
    *row = c ? (uint32_t)(c - f->costs->node) : 0;
    return c;
}

static bool read_inputs(cfx_flow *f, uint32_t row, const cfx_node *n)
{
    const cfx_tensor *first;
    uint32_t from;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_cost_node *c = input_of(f, n, i, &from);
        if (!c || f->row[from].buffer == CFX_NO_BUFFER)
            continue;
        cfx_dim bytes = value_bytes(f, c->value, &first);
        if (!add_reading(f, row, f->row[from].buffer, bytes))
            return false;
    }
    return true;
}

/* The buffer of an argument that the value is in, or CFX_NO_BUFFER. */
static uint32_t shared_buffer(const cfx_flow *f, const cfx_cost_node *c,
                              const cfx_tensor *t)
{
    const cfx_node *n = c->node;
    bool view = cfx_dim_is(c->cost.bytes_written, 0);
    uint32_t from, first = CFX_NO_BUFFER;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_cost_node *in = input_of(f, n, i, &from);
        if (!in || f->row[from].buffer == CFX_NO_BUFFER)
            continue;
        if (holds(in->value, t))
            return f->row[from].buffer;
        if (first == CFX_NO_BUFFER)
            first = f->row[from].buffer;
    }
    return view ? first : CFX_NO_BUFFER;
}

static bool place_value(cfx_flow *f, uint32_t row, const cfx_cost_node *c)
{
    const cfx_tensor *t;
    cfx_dim bytes = value_bytes(f, c->value, &t);
    uint32_t *to = &f->row[row].buffer;
    *to = CFX_NO_BUFFER;
    if (!t)
        return true;
    if (c->node->op == CFX_GET_ATTR && c->nweights)
        return weight_buffer(f, &c->weight[0], bytes, to);
    *to = shared_buffer(f, c, t);
    if (*to != CFX_NO_BUFFER)
        return true;
    if (!add_buffer(f, bytes, c->node->op == CFX_PLACEHOLDER, to))
        return false;
    f->buffer[*to].end = row;
    return true;
}

static bool add_row(cfx_flow *f, uint32_t row)
{
    const cfx_cost_node *c = &f->costs->node[row];
    f->row[row] = (cfx_flow_row){CFX_NO_BUFFER, (uint32_t)f->nreadings, 0};
    if (c->node->op != CFX_GET_ATTR && !read_weights(f, row, c))
        return false;
    return read_inputs(f, row, c->node) && place_value(f, row, c);
}

cfx_status cfx_flow__make(cfx_flow *f, const cfx_cost_prop *costs,
                          cfx_error *err)
{
    cfx_scope *s = costs->base.base.scope;
    *f = (cfx_flow){.ctx = s->ctx, .env = s->env, .costs = costs,
                    .nrows = costs->nnodes};
    cfx_map_init(&f->weights, f->ctx);
    f->row = cfx_calloc(f->ctx, f->nrows + 1, sizeof(*f->row));
    bool ok = f->row != NULL;
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
    cfx_free(f->ctx, f->buffer, f->buffer_cap * sizeof(*f->buffer));
    cfx_free(f->ctx, f->reading, f->reading_cap * sizeof(*f->reading));
    *f = (cfx_flow){.ctx = NULL};
}
