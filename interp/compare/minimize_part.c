/*
 * minimize_part -- extract nodes of a graph and run them in two ways.
 */
#include "interp/compare/minimize_impl.h"

/* ---- Values ---- */

typedef struct copier {
    cfx_error *err;
} copier;

static cfx_status copy_leaf(void *user, cfx_value v, cfx_value *out)
{
    copier *c = user;
    cfx_tensor *t;
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    const cfx_tensor *from = v.u.tensor;
    cfx_status st = cfx_tensor_meta(
        &t, from->ctx, (cfx_dtype)from->dtype, from->rank, from->shape,
        from->flags & CFX_TENSOR_DENSE ? from->stride : NULL, c->err);
    if (st)
        return st;
    st = cfx_tensor_alloc(t, c->err);
    if (!st)
        st = cfx_tensor_copy(t, from, c->err);
    if (st)
        cfx_tensor_unref(t);
    else
        *out = cfx_value_of_tensor(t);
    return st;
}

cfx_status cfx_value__copy(cfx_value *out, cfx_context *ctx, cfx_value v,
                           cfx_error *err)
{
    copier c = {err};
    return cfx_value_map(out, ctx, v, copy_leaf, &c, err);
}

cfx_status cfx_minimizer__run_all(cfx_minimizer *m, const cfx_value *inputs,
                                  size_t n)
{
    struct cfx_minimizer_self *self = m->self;
    cfx_interp it = {0};
    const cfx_node *at;
    cfx_value v, copy;
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, m->gm, self->err);
    if (st)
        return st;
    st = cfx_interp_begin(&it, inputs, n, self->err);
    while (!st && !(st = cfx_interp_step(&it, &at, &v, self->err)) && at) {
        st = cfx_value__copy(&copy, self->ctx, v, self->err);
        if (st)
            break;
        st = cfx_node_map_set(&self->a, at, copy, self->err);
        cfx_value_unref(copy);
    }
    cfx_interp_end(&it, &v);
    cfx_value_unref(v);
    cfx_interp_release(&it);
    return st;
}

/* ---- Extracting ---- */

/* A part: its graph, and the nodes whose values it takes and returns. */
typedef struct part {
    cfx_graph *graph;
    cfx_node_map copies; /* of the model's nodes */
    cfx_node_map inside; /* the part's own nodes */
    const cfx_node **in, **out;
    size_t nin, nout, cap;
} part;

static void part_release(part *p, cfx_context *ctx)
{
    cfx_node_map_release(&p->copies);
    cfx_node_map_release(&p->inside);
    cfx_graph_free(p->graph);
    cfx_free(ctx, p->in, p->cap * sizeof(*p->in));
    cfx_free(ctx, p->out, p->cap * sizeof(*p->out));
}

static cfx_status add_input(part *p, const cfx_node *n, cfx_error *err)
{
    if (cfx_node_map_get(&p->copies, n).kind)
        return CFX_OK;
    if (n->op == CFX_GET_ATTR)
        return cfx_graph_node_copy_mapped(p->graph, n, &p->copies, err)
                   ? CFX_OK
                   : err->code;
    cfx_node *x = cfx_graph_placeholder(p->graph, n->name, err);
    if (!x)
        return err->code;
    p->in[p->nin++] = n;
    return cfx_node_map_set(&p->copies, n, cfx_value_of_node(x), err);
}

/* True if a value is used outside of the part. */
static bool leaves(const part *p, const cfx_node *n)
{
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!cfx_node_map_get(&p->inside, u->user).kind)
            return true;
    return false;
}

static cfx_status put_output(part *p, const cfx_node *const *node, size_t n,
                             bool whole, bool all, cfx_context *ctx,
                             cfx_error *err)
{
    size_t bytes = (n + 1) * sizeof(cfx_value);
    cfx_value *v = cfx_alloc(ctx, bytes);
    if (!v)
        return cfx_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (all || i + 1 == n || (whole && leaves(p, node[i]))) {
            v[p->nout] = cfx_value_of_node(
                cfx_node_map_node(&p->copies, node[i]));
            p->out[p->nout++] = node[i];
        }
    cfx_value tuple = cfx_tuple_new(ctx, p->nout, v);
    cfx_status st = CFX_OK;
    if (!tuple.kind)
        st = cfx_no_memory(err);
    else if (!cfx_graph_output(p->graph, tuple, err))
        st = err->code;
    cfx_value_unref(tuple);
    cfx_free(ctx, v, bytes);
    return st;
}

static cfx_status cut(part *p, cfx_minimizer *m, const cfx_node *const *node,
                      size_t n, bool whole)
{
    cfx_context *ctx = m->self->ctx;
    cfx_error *err = m->self->err;
    const cfx_graph *g = cfx_graph_module_graph(m->gm);
    cfx_status st = cfx_graph_new(&p->graph, ctx, err);
    if (st)
        return st;
    cfx_graph_set_owning_module(p->graph, m->gm);
    cfx_node_map_init(&p->copies, g);
    cfx_node_map_init(&p->inside, g);
    for (size_t i = 0; i < n; i++)
        p->cap += node[i]->ninputs + 1;
    p->in = cfx_calloc(ctx, p->cap, sizeof(*p->in));
    p->out = cfx_calloc(ctx, p->cap, sizeof(*p->out));
    if (!p->in || !p->out)
        return cfx_no_memory(err);
    for (size_t i = 0; i < n && !st; i++)
        st = cfx_node_map_set(&p->inside, node[i], cfx_none(), err);
    for (size_t i = 0; i < n && !st; i++)
        for (uint32_t k = 0; k < node[i]->ninputs && !st; k++) {
            const cfx_node *from = cfx_node_input(node[i], k);
            if (!cfx_node_map_get(&p->inside, from).kind)
                st = add_input(p, from, err);
        }
    for (size_t i = 0; i < n && !st; i++)
        if (!cfx_graph_node_copy_mapped(p->graph, node[i], &p->copies, err))
            st = err->code;
    return st ? st
              : put_output(p, node, n, whole, m->return_intermediate, ctx,
                           err);
}

/* ---- Running ---- */

static cfx_status run_base(void *user, cfx_module *gm, const cfx_graph *g,
                           const cfx_value *inputs, size_t n,
                           cfx_value *result, cfx_error *err)
{
    cfx_interp it = {0};
    cfx_interp_options o = {.size = sizeof(o), .graph = g};
    (void)user;
    cfx_status st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, err);
    if (!st)
        st = cfx_interp_run(&it, inputs, n, result, err);
    cfx_interp_release(&it);
    return st;
}

/* True if a failure counts as a difference. */
static bool is_culpable(cfx_status st)
{
    return st && st != CFX_ENOMEM && st != CFX_ELIMIT && st != CFX_ECANCEL;
}

/* Run one way on copies of the values in `from`, else of the other map. */
static cfx_status run_way(cfx_minimizer *m, const part *p, cfx_part_run *run,
                          const cfx_node_map *from, cfx_value *result,
                          bool *failed)
{
    struct cfx_minimizer_self *self = m->self;
    cfx_error own = {0};
    size_t made = 0, bytes = (p->nin + 1) * sizeof(cfx_value);
    cfx_value *in = cfx_alloc(self->ctx, bytes);
    cfx_status st = in ? CFX_OK : cfx_no_memory(self->err);
    for (; !st && made < p->nin; made += !st) {
        cfx_value v = cfx_node_map_get(from, p->in[made]);
        if (!v.kind)
            v = cfx_node_map_get(&self->a, p->in[made]);
        st = cfx_value__copy(&in[made], self->ctx, v, self->err);
    }
    *failed = false;
    if (!st) {
        *result = CFX_NOTHING;
        st = run(m->user, m->gm, p->graph, in, made, result, &own);
        *failed = is_culpable(st);
        if (*failed)
            cfx_minimizer__say(m, "Exception raised when running: %s",
                               own.text);
        else if (st)
            cfx_fail(self->err, st, "%s", own.text);
        st = *failed ? CFX_OK : st;
    }
    for (size_t i = 0; i < made; i++)
        cfx_value_unref(in[i]);
    cfx_free(self->ctx, in, bytes);
    return st;
}

/* Keep the part's outputs for later parts. */
static cfx_status store(cfx_minimizer *m, const part *p, cfx_node_map *map,
                        cfx_value result)
{
    if (!cfx_value_is_seq(result) || result.u.seq->len != p->nout)
        return cfx_fail(m->self->err, CFX_EINVAL,
                        "a part should give a tuple of %zu values", p->nout);
    for (size_t i = 0; i < p->nout; i++) {
        cfx_value copy;
        cfx_status st = cfx_value__copy(&copy, m->self->ctx,
                                        result.u.seq->item[i], m->self->err);
        if (!st) {
            st = cfx_node_map_set(map, p->out[i], copy, m->self->err);
            cfx_value_unref(copy);
        }
        if (st)
            return st;
    }
    return CFX_OK;
}

static cfx_status compare(cfx_minimizer *m, cfx_value a, cfx_value b,
                          cfx_verdict *verdict)
{
    cfx_difference d = {.differs = false};
    cfx_status st = m->compare ? m->compare(m->user, a, b, &d, m->self->err)
                               : cfx_value_compare(&d, a, b, &m->tolerance,
                                                   m->self->err);
    if (st)
        return st;
    cfx_minimizer__say(m, "Numerical accuracy = %.9g", d.max_abs);
    if (d.differs) {
        cfx_minimizer__say(m, "Result mismatch: %s", d.text);
        *verdict = CFX_MISMATCH;
    }
    return CFX_OK;
}

static cfx_status run_both(cfx_minimizer *m, const part *p,
                           cfx_verdict *verdict)
{
    struct cfx_minimizer_self *self = m->self;
    cfx_value a = CFX_NOTHING, b = CFX_NOTHING;
    bool failed = false;
    cfx_minimizer__say(m, "Run and compare ...");
    cfx_status st = run_way(m, p, m->run_a ? m->run_a : run_base, &self->a, &a,
                            &failed);
    if (!st && !failed)
        st = run_way(m, p, m->run_b, m->accumulate_error ? &self->b : &self->a,
                     &b, &failed);
    if (failed)
        *verdict = CFX_RUN_ERROR;
    else if (!st)
        st = compare(m, a, b, verdict);
    if (!st && !failed)
        st = store(m, p, &self->a, a);
    if (!st && !failed)
        st = store(m, p, &self->b, b);
    cfx_value_unref(a);
    cfx_value_unref(b);
    return st;
}

cfx_status cfx_minimizer__try(cfx_minimizer *m, const cfx_node *const *node,
                              size_t n, bool whole, cfx_verdict *verdict)
{
    part p = {.nin = 0};
    *verdict = CFX_ALIKE;
    cfx_status st = cut(&p, m, node, n, whole);
    if (!st)
        st = run_both(m, &p, verdict);
    part_release(&p, m->self->ctx);
    return st;
}
