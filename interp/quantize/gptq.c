/*
 * gptq -- round weights so that their errors compensate each other (Frantar et al.,
 * "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
 * Transformers", 2022).
 *
 * With the inputs x of a layer, H is the sum of x x^T, and U the upper Cholesky factor
 * of its inverse. The columns of a weight are rounded one after another, those with
 * the largest inputs first; the error of column j, over U[j][j], times U[j][k] is
 * subtracted from each later column k. Scales are those of the observers, which get
 * the result as a buffer: converting rounds it to itself.
 */
#include <cfx/interp.h>
#include <cfx/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/graph_impl.h"
#include "interp/quantize/quantize_impl.h"

/* The fraction of the mean of the diagonal that is added to the diagonal. */
#define DAMPING 0.01

enum { GRAIN = 8 }; /* rows of a task */

/* A node that layers read, and the sum of x x^T over its values: f32[depth, depth]. */
typedef struct inputs {
    const cfx_node *x;
    cfx_value sum; /* or absent: no data yet */
} inputs;

typedef struct layer {
    const cfx_node *weight; /* get_attr */
    cfx_module *observer;
    size_t inputs; /* the index of what it reads */
} layer;

typedef struct gptq {
    cfx_module *gm;
    cfx_context *ctx;
    layer *layer;
    size_t nlayers, layers_cap;
    inputs *inputs;
    size_t ninputs, inputs_cap;
    uint32_t ids, *input; /* by node id: the index of inputs, + 1 */
    cfx_map readers;      /* by data: the get_attr nodes that read it */
    cfx_error *err;
} gptq;

/* ---- Layers ---- */

static cfx_status add_layer(gptq *g, const cfx_node *weight,
                            cfx_module *observer, const cfx_node *x)
{
    uint32_t *i = &g->input[x->id];
    if (!*i) {
        if (cfx_grow(g->ctx, g->inputs, g->inputs_cap, g->ninputs + 1, g->err))
            return CFX_ENOMEM;
        g->inputs[g->ninputs++] = (inputs){.x = x};
        *i = (uint32_t)g->ninputs;
    }
    if (cfx_grow(g->ctx, g->layer, g->layers_cap, g->nlayers + 1, g->err))
        return CFX_ENOMEM;
    g->layer[g->nlayers++] = (layer){weight, observer, *i - 1};
    return CFX_OK;
}

/* The key of a tensor in a map: where its data is. */
#define KEY_OF(t) (const char *)&(t)->data, sizeof((t)->data)

static cfx_status count_readers(gptq *g, const cfx_node *n)
{
    const cfx_tensor *t = cfx_quantize__parameter(g->gm, n);
    cfx_map_entry *e = t ? cfx_map_put(&g->readers, KEY_OF(t), NULL) : NULL;
    if (t && !e)
        return cfx_no_memory(g->err);
    if (e)
        e->v.u++;
    return CFX_OK;
}

/* Is a weight read by one node only, which has one user? */
static bool is_alone(const gptq *g, const cfx_node *n, const cfx_tensor *t)
{
    const cfx_map_entry *e = cfx_map_get(&g->readers, KEY_OF(t));
    return e && e->v.u == 1 && n->nusers == 1 &&
           n->first_user->user->nusers == 1;
}

/* Find a linear layer whose weight has an observer of channels or groups. */
static cfx_status find_layer(gptq *g, const cfx_node *n)
{
    const cfx_node *call = cfx_node_is(n, "linear") && n->nargs > 1
                               ? cfx_value__node(n->args[1])
                               : NULL;
    const cfx_node *x = call ? cfx_value__node(n->args[0]) : NULL;
    if (!x || call->op != CFX_CALL_MODULE || call->ninputs != 1)
        return CFX_OK;
    cfx_module *m = cfx_module_at(g->gm, call->target->text);
    const cfx_node *w = cfx_node_input(call, 0);
    const cfx_tensor *t = cfx_quantize__parameter(g->gm, w);
    cfx_value axis = cfx_attr(m, "ch_axis");
    bool rows = t && t->rank == 2 && t->dtype == CFX_F32 &&
                cfx_module_is_observer(m) && axis.kind == CFX_INT &&
                !axis.u.i && is_alone(g, w, t);
    return rows ? add_layer(g, w, m, x) : CFX_OK;
}

/* ---- Inputs ---- */

typedef struct collector {
    cfx_interp base;
    gptq *g;
} collector;

static const cfx_interp_class collector_class;

static cfx_status add_products(gptq *g, inputs *in, cfx_value x)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, g->ctx, NULL);
    const cfx_tensor *t = x.u.tensor;
    cfx_value depth = cfx_value_of_dim(t->shape[t->rank - 1]);
    x = cfx_reshape(&s, x, cfx_list(&s, cfx_int(-1), depth));
    cfx_value sum = cfx_matmul(&s, cfx_t(&s, x), x);
    if (in->sum.kind)
        sum = cfx_add(&s, sum, in->sum);
    cfx_status st = cfx_scope_status(&s, g->err);
    if (!st) {
        sum = cfx_keep(sum);
        cfx_value_unref(in->sum);
        in->sum = sum;
    }
    cfx_scope_release(&s);
    return st;
}

static cfx_status collector_run_node(cfx_interp *it, const cfx_node *n,
                                     cfx_value *out)
{
    gptq *g = ((collector *)it)->g;
    cfx_status st = CFX_SUPER(&collector_class, run_node)(it, n, out);
    uint32_t i = g->input[n->id];
    bool counts = !st && i && out->kind == CFX_TENSOR && out->u.tensor->rank;
    if (counts)
        st = add_products(g, &g->inputs[i - 1], *out);
    if (counts && st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

/* Observers have seen the data already. */
static cfx_status collector_call_module(cfx_interp *it, const cfx_call *call,
                                        cfx_value *out)
{
    const cfx_module *m = cfx_module_at(it->module, call->target.u.str->text);
    if (!m || !cfx_module_is_observer(m) || call->nargs != 1)
        return CFX_SUPER(&collector_class, call_module)(it, call, out);
    *out = cfx_value_ref(call->args[0]);
    return CFX_OK;
}

static const cfx_interp_class collector_class = {
    .size = sizeof(cfx_interp_class),
    .name = "collector",
    .super = &cfx_interp_base,
    .run_node = collector_run_node,
    .call_module = collector_call_module,
};

static cfx_status collect(gptq *g, const cfx_quant_data *data)
{
    collector c = {.g = g};
    cfx_status st = cfx_interp_init(&c.base, &collector_class, g->gm, g->err);
    if (!st)
        st = cfx_quantize__run_batches(&c.base, data, NULL, g->err);
    cfx_interp_release(&c.base);
    return st;
}

/* ---- Factors ---- */

typedef struct column {
    float size; /* of its inputs */
    int64_t at;
} column;

static int by_size(const void *x, const void *y)
{
    const column *a = x, *b = y;
    if (a->size < b->size || a->size > b->size)
        return a->size < b->size ? 1 : -1;
    return (a->at > b->at) - (a->at < b->at);
}

/* The columns in the order of their inputs, the largest first. */
static cfx_status sort_columns(const gptq *g, const cfx_tensor *h,
                               column **out)
{
    int64_t n = cfx_tensor_size(h, 0);
    column *c = cfx_calloc(g->ctx, (size_t)n, sizeof(*c));
    *out = c;
    if (!c)
        return cfx_no_memory(g->err);
    for (int64_t i = 0; i < n; i++)
        c[i] = (column){((const float *)h->data)[i * (n + 1)], i};
    qsort(c, (size_t)n, sizeof(*c), by_size);
    return CFX_OK;
}

/* H in the order of the columns, damped: f64[n, n]. */
static cfx_status permute(const gptq *g, const cfx_tensor *h, const column *c,
                          cfx_tensor **out)
{
    int64_t n = cfx_tensor_size(h, 0), shape[] = {n, n};
    const float *from = h->data;
    double trace = 0;
    cfx_status st = cfx_tensor_new(out, g->ctx, CFX_F64, 2, shape, g->err);
    if (st)
        return st;
    double *to = (*out)->data;
    for (int64_t i = 0; i < n; i++)
        trace += c[i].size;
    double more = trace > 0 ? DAMPING * trace / (double)n : 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            to[i * n + j] = from[c[i].at * n + c[j].at];
        to[i * (n + 1)] += more;
    }
    return CFX_OK;
}

/* The upper Cholesky factor of the inverse, f64[n, n]. */
static cfx_status factor(const gptq *g, const cfx_tensor *h, const column *c,
                         cfx_value *out)
{
    cfx_tensor *t;
    cfx_scope s;
    cfx_status st = permute(g, h, c, &t);
    if (st)
        return st;
    cfx_scope_init(&s, &cfx_eager_class, g->ctx, NULL);
    cfx_value low = cfx_linalg_cholesky(&s, cfx_value_of_tensor(t));
    cfx_value inverse = cfx_cholesky_inverse(&s, low);
    cfx_value u = cfx_linalg_cholesky(&s, inverse, .upper = cfx_bool(true));
    u = cfx_contiguous(&s, u);
    st = cfx_scope_status(&s, g->err);
    *out = st ? CFX_NOTHING : cfx_keep(u);
    cfx_scope_release(&s);
    cfx_tensor_unref(t);
    return st;
}

/* ---- Rounding ---- */

/* A weight f32[rows, depth] in the order of `column`, with a scale and zero point for
 * each of `groups` groups of a row. */
typedef struct rounding {
    const column *column;
    const double *u;
    const float *scale;
    const int64_t *zero;
    double least, most;
    int64_t depth, groups;
    const float *from;
    float *to;
    double *rest; /* GRAIN rows for each thread */
} rounding;

static double nearest(const rounding *r, int64_t row, int64_t at, double x)
{
    int64_t g = row * r->groups + at / (r->depth / r->groups);
    double zero = (double)r->zero[g], scale = (double)r->scale[g];
    double q = rint(x / scale) + zero;
    return (fmin(fmax(q, r->least), r->most) - zero) * scale;
}

static void round_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const rounding *r = arg;
    const int64_t n = r->depth;
    double *rest = r->rest + (int64_t)worker * GRAIN * n;
    for (int64_t row = begin; row < end; row++)
        for (int64_t j = 0; j < n; j++)
            rest[(row - begin) * n + j] = r->from[row * n + r->column[j].at];
    for (int64_t j = 0; j < n; j++) {
        const double *u = r->u + j * n;
        for (int64_t row = begin; row < end; row++) {
            double *x = rest + (row - begin) * n;
            int64_t at = r->column[j].at;
            double y = nearest(r, row, at, x[j]), error = (x[j] - y) / u[j];
            r->to[row * n + at] = (float)y;
            for (int64_t k = j + 1; k < n; k++)
                x[k] -= error * u[k];
        }
    }
}

/* Round the weight w of the layer into `to`. */
static cfx_status round_with(const gptq *g, const layer *l,
                             const cfx_tensor *w, const column *c,
                             const cfx_tensor *u, cfx_tensor *to)
{
    cfx_tensor *scale = NULL, *zero = NULL;
    cfx_quant_range range;
    int64_t rows = cfx_tensor_size(w, 0), depth = cfx_tensor_size(w, 1);
    size_t size = (size_t)cfx_context_threads(g->ctx) * GRAIN * (size_t)depth *
                  sizeof(double);
    double *rest = cfx_alloc(g->ctx, size);
    cfx_status st = rest ? cfx_observer_range(l->observer, &range, g->err)
                         : cfx_no_memory(g->err);
    if (!st)
        st = cfx_observer_qparams(l->observer, &scale, &zero, g->err);
    if (!st) {
        rounding r = {.column = c,
                      .u = u->data,
                      .scale = scale->data,
                      .zero = zero->data,
                      .least = (double)range.least,
                      .most = (double)range.most,
                      .depth = depth,
                      .groups = cfx_tensor_numel(scale) / rows,
                      .from = w->data,
                      .to = to->data,
                      .rest = rest};
        cfx_parallel_for(g->ctx, rows, GRAIN, round_rows, &r);
        st = cfx_context_check(g->ctx, g->err);
    }
    cfx_tensor_unref(scale);
    cfx_tensor_unref(zero);
    cfx_free(g->ctx, rest, size);
    return st;
}

static cfx_status round_layer(const gptq *g, const layer *l, const column *c,
                              const cfx_tensor *u)
{
    cfx_tensor *w = cfx_quantize__parameter(g->gm, l->weight), *to = NULL;
    int64_t shape[] = {cfx_tensor_size(w, 0), cfx_tensor_size(w, 1)};
    if (!cfx_tensor_is_contiguous(w))
        return CFX_OK;
    cfx_status st = cfx_observer_has_seen(l->observer)
                        ? CFX_OK
                        : cfx_quantize__observe(l->observer, w, g->err);
    if (!st)
        st = cfx_tensor_new(&to, g->ctx, CFX_F32, 2, shape, g->err);
    if (!st)
        st = round_with(g, l, w, c, u, to);
    if (!st)
        st = cfx_module_set(l->observer, CFX_QUANTIZE_ROUNDED, to, g->err);
    cfx_tensor_unref(to);
    return st;
}

/* Round the weights of all layers that read the same value. */
static cfx_status round_all(const gptq *g, size_t at)
{
    const cfx_value sum = g->inputs[at].sum;
    cfx_value u = CFX_NOTHING;
    column *c;
    if (!sum.kind)
        return CFX_OK;
    int64_t n = cfx_tensor_size(sum.u.tensor, 0);
    cfx_status st = sort_columns(g, sum.u.tensor, &c);
    if (!st)
        st = factor(g, sum.u.tensor, c, &u);
    for (size_t i = 0; i < g->nlayers && !st; i++)
        if (g->layer[i].inputs == at)
            st = round_layer(g, &g->layer[i], c, u.u.tensor);
    cfx_value_unref(u);
    cfx_free(g->ctx, c, (size_t)n * sizeof(*c));
    return st ? cfx_fail_at(g->err, "the inputs of layers that read %%%s",
                            g->inputs[at].x->name)
              : CFX_OK;
}

cfx_status cfx_quantize_gptq(cfx_module *gm, const cfx_quant_data *data,
                             cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    gptq g = {
        .gm = gm, .ctx = cfx_module_context(gm), .err = err ? err : &own};
    const cfx_graph *graph = cfx_graph_module_graph(gm);
    g.ids = cfx_graph_ids(graph);
    g.input = cfx_calloc(g.ctx, g.ids, sizeof(*g.input));
    cfx_map_init(&g.readers, g.ctx);
    cfx_status st = g.input ? CFX_OK : cfx_no_memory(g.err);
    for (const cfx_node *n = cfx_graph_first(graph); n && !st;
         n = cfx_node_next(n))
        st = count_readers(&g, n);
    for (const cfx_node *n = cfx_graph_first(graph); n && !st;
         n = cfx_node_next(n))
        st = find_layer(&g, n);
    if (!st)
        st = collect(&g, data);
    for (size_t i = 0; i < g.ninputs && !st; i++)
        st = round_all(&g, i);
    for (size_t i = 0; i < g.ninputs; i++)
        cfx_value_unref(g.inputs[i].sum);
    cfx_map_release(&g.readers);
    cfx_free(g.ctx, g.input, g.ids * sizeof(*g.input));
    cfx_free(g.ctx, g.inputs, g.inputs_cap * sizeof(*g.inputs));
    cfx_free(g.ctx, g.layer, g.layers_cap * sizeof(*g.layer));
    return st;
}
