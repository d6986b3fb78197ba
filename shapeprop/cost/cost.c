/*
 * cost -- the interpreter that adds up costs, and the scope of its calls.
 *
 * The interpreter's run_node sets the current row; the scope's call_op sees
 * every call made meanwhile, at any depth, and adds its cost to the row.
 */
#include <cfx/cost.h>

#include "shapeprop/cost/cost_impl.h"

/* ---- Counts ---- */

cfx_dim cfx_cost_flops(cfx_shape_env *env, const cfx_cost *c)
{
    return cfx_dim_add(env, cfx_dim_mul(env, c->macs, cfx_dim_int(2)), c->ops);
}

cfx_dim cfx_cost_bytes(cfx_shape_env *env, const cfx_cost *c)
{
    return cfx_dim_add(env, c->bytes_read, c->bytes_written);
}

typedef cfx_dim dim_op(cfx_shape_env *env, cfx_dim a, cfx_dim b);

static dim_op add_dims, mul_dims;

static cfx_dim add_dims(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return cfx_dim_add(env, a, b);
}

static cfx_dim mul_dims(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return cfx_dim_mul(env, a, b);
}

/* *a = op(*a, *b) for every count. */
static void combine(cfx_shape_env *env, cfx_cost *a, const cfx_cost *b,
                    dim_op *op)
{
    a->macs = op(env, a->macs, b->macs);
    a->ops = op(env, a->ops, b->ops);
    a->transcendental = op(env, a->transcendental, b->transcendental);
    a->bytes_read = op(env, a->bytes_read, b->bytes_read);
    a->bytes_written = op(env, a->bytes_written, b->bytes_written);
}

void cfx_cost_add(cfx_shape_env *env, cfx_cost *sum, const cfx_cost *c)
{
    combine(env, sum, c, add_dims);
}

static cfx_cost same_counts(cfx_dim d)
{
    return (cfx_cost){.macs = d,
                      .ops = d,
                      .transcendental = d,
                      .bytes_read = d,
                      .bytes_written = d};
}

cfx_cost cfx_cost__none(void)
{
    return same_counts(cfx_dim_int(0));
}

/* ---- The scope ---- */

static const cfx_scope_class cost_scope_class;

static struct cfx_cost_self *scope_downcast(cfx_scope *s)
{
    return (struct cfx_cost_self *)(void *)s;
}

static cfx_status default_call_cost(cfx_cost_prop *p, cfx_call *call,
                                    cfx_cost *cost, cfx_value *out)
{
    (void)p;
    return cfx_call_cost(call, cost, out);
}

static cfx_status default_node_cost(cfx_cost_prop *p, cfx_cost_node *n)
{
    (void)p;
    (void)n;
    return CFX_OK;
}

/* The value of a known count, for comparisons; 0 for an expression. */
static int64_t known(cfx_dim d)
{
    return cfx_dim_is_int(d) ? cfx_dim_value(d) : 0;
}

static void add_call(struct cfx_cost_self *self, const cfx_cost *cost)
{
    cfx_shape_env *env = self->scope.base.env;
    cfx_cost_node *row = self->row;
    cfx_dim flops = cfx_cost_flops(env, cost);
    int64_t size = known(flops);
    bool dearest = !row->calls || size > self->dearest ||
                   (!self->dearest && !cfx_dim_is(flops, 0));
    cfx_cost_add(env, self->sum, cost);
    row->calls++;
    if (dearest) {
        self->dearest = size;
        row->dtype = cost->dtype;
        row->algorithm = cost->algorithm;
    }
}

static bool calls_one(const cfx_call *call)
{
    return call->op->flags & CFX_OP_ONE_GRAPH;
}

/*
 * Calls in nested graphs are seen one by one and added up separately. For an
 * operator that runs one of its branches, the more expensive one counts; a loop
 * provides its number of iterations.
 */
static cfx_status cost_call_higher_order(cfx_scope *s, cfx_call *call,
                                         cfx_value *out)
{
    struct cfx_cost_self *self = scope_downcast(s);
    cfx_cost_frame frame = {.around = self->frame,
                            .call = call,
                            .sum = {cfx_cost__none(), cfx_cost__none()}};
    cfx_shape_env *env = s->env;
    cfx_cost *around = self->sum;
    self->frame = &frame;
    cfx_status st = CFX_SCOPE_SUPER(&cost_scope_class,
                                    call_higher_order)(s, call, out);
    self->frame = frame.around;
    self->sum = around;
    if (st)
        return st;
    if (calls_one(call))
        combine(env, &frame.sum[0], &frame.sum[1], cfx_dim_max);
    if (call->op->rounds) {
        cfx_cost rounds = same_counts(call->op->rounds(call));
        combine(env, &frame.sum[0], &rounds, mul_dims);
    }
    cfx_cost_add(env, around, &frame.sum[0]);
    return CFX_OK;
}

/* Add a graph that the innermost higher-order operator calls to its frame; of
 * two branches the second one has its own sum. */
static cfx_status cost_call_graph(cfx_scope *s, cfx_module *m,
                                  const char *path, const cfx_unbound_call *c,
                                  const cfx_value *in, cfx_value *out)
{
    struct cfx_cost_self *self = scope_downcast(s);
    cfx_cost_frame *frame = self->frame;
    if (frame) {
        self->sum = &frame->sum[calls_one(frame->call) && frame->ngraphs++];
        self->frame = NULL;
    }
    cfx_status st = CFX_SCOPE_SUPER(&cost_scope_class, call_graph)(s, m, path,
                                                                   c, in, out);
    self->frame = frame;
    return st;
}

static cfx_status cost_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct cfx_cost_self *self = scope_downcast(s);
    cfx_cost cost = cfx_cost__none();
    cfx_call same = *call;
    cfx_value value = CFX_NOTHING;
    bool done;
    cfx_status st = cfx_shape_scope_known(&self->scope, call, &value, &done);
    if (!st) /* results with known values cost the same */
        st = self->call_cost(self->prop, &same, &cost, out);
    if (!st)
        add_call(self, &cost);
    if (!st && done) {
        cfx_value_unref(*out);
        *out = value;
    } else if (done) {
        cfx_value_unref(value);
    }
    return st;
}

static cfx_status cost_get_attr(cfx_scope *s, cfx_module *m, const char *name,
                                cfx_value *out)
{
    cfx_status st = CFX_SCOPE_SUPER(&cost_scope_class, get_attr)(s, m, name,
                                                                 out);
    if (st || out->kind != CFX_TENSOR ||
        cfx_cost__add_weight(scope_downcast(s), cfx_module_state(m, name)))
        return st;
    return cfx_no_memory(&s->error);
}

static const cfx_scope_class cost_scope_class = {
    .size = sizeof(cfx_scope_class),
    .name = "cost",
    .super = &cfx_shape_scope_class,
    .call_op = cost_call_op,
    .call_higher_order = cost_call_higher_order,
    .call_graph = cost_call_graph,
    .get_attr = cost_get_attr,
};

/* ---- The walk ---- */

static cfx_cost_prop *downcast(cfx_interp *it)
{
    return (cfx_cost_prop *)it;
}

static void clear_row(cfx_cost_node *row)
{
    cfx_value_unref(row->value);
    *row = (cfx_cost_node){
        .node = row->node, .cost = cfx_cost__none(), .dtype = CFX_F32};
}

static cfx_status cost_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    cfx_cost_prop *p = downcast(it);
    struct cfx_cost_self *self = p->self;
    cfx_cost_node *row = &p->node[self->row_of[n->id]];
    clear_row(row);
    self->row = row;
    self->sum = &row->cost;
    self->frame = NULL;
    self->dearest = 0;
    self->nweights = 0;
    cfx_status st = CFX_SUPER(&cfx_cost_prop_default.base, run_node)(it, n,
                                                                     out);
    if (st)
        return st;
    row->value = cfx_value_ref(*out);
    st = cfx_cost__node_weights(p, row);
    if (!st)
        st = self->node_cost(p, row);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

const cfx_cost_prop_class cfx_cost_prop_default = {
    .base =
        {
            .size = sizeof(cfx_cost_prop_class),
            .name = "cost",
            .super = &cfx_shape_prop_class,
            .run_node = cost_run_node,
        },
    .call_cost = default_call_cost,
    .node_cost = default_node_cost,
};

/* ---- Life ---- */

static const cfx_cost_prop_class *with(const cfx_cost_prop_class *cls,
                                       size_t offset)
{
    return (const cfx_cost_prop_class *)(const void *)cfx_interp_class_with(
        &cls->base, offset);
}

static cfx_status make_rows(cfx_cost_prop *p, const cfx_graph *g,
                            cfx_error *err)
{
    struct cfx_cost_self *self = p->self;
    cfx_context *ctx = self->scope.base.ctx;
    size_t n = cfx_graph_len(g);
    self->nids = cfx_graph_ids(g);
    self->nrows = n;
    p->node = cfx_calloc(ctx, n + 1, sizeof(*p->node));
    p->nnodes = p->node ? n : 0;
    self->row_of = cfx_calloc(ctx, self->nids + 1, sizeof(uint32_t));
    if (!p->node || !self->row_of)
        return cfx_no_memory(err);
    n = 0;
    for (const cfx_node *k = cfx_graph_first(g); k; k = cfx_node_next(k)) {
        self->row_of[k->id] = (uint32_t)n;
        p->node[n].node = k;
        clear_row(&p->node[n++]);
    }
    return CFX_OK;
}

cfx_status cfx_cost_prop_init(cfx_cost_prop *p, const cfx_cost_prop_class *cls,
                              cfx_module *gm, cfx_shape_env *env,
                              cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    struct cfx_cost_self *self = cfx_calloc(ctx, 1, sizeof(*self));
    if (!self)
        return cfx_no_memory(err);
    if (!cls)
        cls = &cfx_cost_prop_default;
    p->self = self;
    cfx_shape_scope_init(&self->scope, &cost_scope_class, ctx, env);
    cfx_arena_init(&self->arena, ctx);
    self->prop = p;
    self->call_cost =
        with(cls, offsetof(cfx_cost_prop_class, call_cost))->call_cost;
    self->node_cost =
        with(cls, offsetof(cfx_cost_prop_class, node_cost))->node_cost;
    const cfx_shape_prop_options options = {.size = sizeof(options),
                                            .env = env,
                                            .scope = &self->scope.base,
                                            .no_meta = true,
                                            .check = true};
    cfx_status st = cfx_shape_prop_init(&p->base, &cls->base, gm, &options,
                                        err);
    return st ? st : make_rows(p, p->base.base.graph, err);
}

void cfx_cost_prop_release(cfx_cost_prop *p)
{
    struct cfx_cost_self *self = p->self;
    cfx_interp_release(&p->base.base);
    if (self) {
        cfx_context *ctx = self->scope.base.ctx;
        for (size_t i = 0; i < p->nnodes; i++)
            cfx_value_unref(p->node[i].value);
        cfx_shape_scope_release(&self->scope);
        cfx_arena_release(&self->arena);
        cfx_free(ctx, self->weights, self->cap * sizeof(*self->weights));
        cfx_free(ctx, p->node, (self->nrows + 1) * sizeof(*p->node));
        cfx_free(ctx, self->row_of, (self->nids + 1) * sizeof(uint32_t));
        cfx_free(ctx, self, sizeof(*self));
    }
    p->self = NULL;
    p->node = NULL;
    p->nnodes = 0;
}

cfx_status cfx_cost_prop_run(cfx_cost_prop *p, const cfx_value *inputs,
                             size_t ninputs, cfx_error *err)
{
    cfx_value result = CFX_NOTHING;
    cfx_arena_release(&p->self->arena);
    cfx_arena_init(&p->self->arena, p->self->scope.base.ctx);
    for (size_t i = 0; i < p->nnodes; i++)
        clear_row(&p->node[i]);
    cfx_status st = cfx_interp_run(&p->base.base, inputs, ninputs, &result,
                                   err);
    cfx_value_unref(result);
    return st;
}

const cfx_cost_node *cfx_cost_prop_of(const cfx_cost_prop *p,
                                      const cfx_node *n)
{
    return n->graph == p->base.base.graph && n->id < p->self->nids
               ? &p->node[p->self->row_of[n->id]]
               : NULL;
}
