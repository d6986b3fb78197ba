/*
 * split_stages -- cut a graph into consecutive stages of about equal weight.
 */
#include "interp/split/split_impl.h"

#include <cfx/interp.h>

/* ---- The best cut ---- */

/* Return the number of stages needed if none may weigh more than `most`;
 * `stage` NULL: only count. When no more items than stages are left, each item
 * is a stage. */
static uint64_t cut(uint32_t *stage, const uint64_t *weight, size_t n,
                    uint64_t most, uint64_t parts)
{
    uint64_t now = 0, filled = 0;
    for (size_t i = 0; i < n; i++) {
        bool few = stage && n - i < parts - now;
        if (i && (weight[i] > most - filled || few)) {
            now++;
            filled = 0;
        }
        filled += weight[i];
        if (stage)
            stage[i] = (uint32_t)now;
    }
    return now + 1;
}

void cfx_balance(uint32_t *stage, const uint64_t *weight, size_t n,
                 uint32_t parts)
{
    uint64_t low = 0, high = 0;
    if (!parts)
        parts = 1;
    for (size_t i = 0; i < n; i++) {
        low = weight[i] > low ? weight[i] : low;
        high += weight[i];
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (cut(NULL, weight, n, middle, parts) <= parts)
            high = middle;
        else
            low = middle + 1;
    }
    cut(stage, weight, n, high, parts);
}

/* ---- Weights ---- */

/* Return the bytes of a tensor; 0 if its extents are not known. */
static uint64_t bytes_of(const cfx_tensor *t)
{
    uint64_t n = cfx_dtype_size((cfx_dtype)t->dtype);
    for (int i = 0; i < t->rank; i++)
        n *= cfx_dim_is_int(t->shape[i]) ? (uint64_t)cfx_dim_value(t->shape[i])
                                         : 0;
    return n;
}

/* Tensors that have been counted, by address. */
typedef struct counted {
    cfx_map seen; /* keys: paths of modules and parameters */
    cfx_error *err;
} counted;

static cfx_status count_once(counted *c, const char *path, bool *first)
{
    return cfx_map_put(&c->seen, path, strlen(path), first)
               ? CFX_OK
               : cfx_no_memory(c->err);
}

uint64_t cfx_split__module_bytes(const cfx_module *m)
{
    uint64_t n = 0;
    for (const cfx_module *at = m; at; at = cfx_module_next(at, m))
        for (size_t i = 0; i < cfx_module_nstate(at); i++) {
            const cfx_tensor *t = cfx_module_state_at(at, i)->tensor;
            n += t ? bytes_of(t) : 0;
        }
    return n;
}

/* The weight of a get_attr's parameter is added to its first user. */
static cfx_status weigh_attr(uint64_t *weight, counted *c, cfx_module *gm,
                             const cfx_node *n)
{
    cfx_value v;
    bool first;
    const char *path = n->target->text;
    cfx_status st = count_once(c, path, &first);
    if (st || !first || cfx_module_fetch_attr(&v, gm, path, NULL))
        return st;
    const cfx_node *user = NULL;
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!user || cfx_node_before(u->user, user))
            user = u->user;
    if (user && v.kind == CFX_TENSOR)
        weight[user->id] += bytes_of(v.u.tensor);
    return CFX_OK;
}

static cfx_status weigh_sizes(uint64_t *weight, cfx_module *gm, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    counted c = {.err = err};
    cfx_status st = CFX_OK;
    cfx_map_init(&c.seen, cfx_module_context(gm));
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        bool first;
        if (n->op == CFX_GET_ATTR)
            st = weigh_attr(weight, &c, gm, n);
        if (n->op != CFX_CALL_MODULE)
            continue;
        const char *path = n->target->text;
        st = count_once(&c, path, &first);
        const cfx_module *m = cfx_module_at(gm, path);
        if (!st && first && m)
            weight[n->id] += cfx_split__module_bytes(m);
    }
    cfx_map_release(&c.seen);
    return st;
}

/* ---- FLOPs: a walk over metas that adds up the costs of calls ---- */

typedef struct weighing_scope {
    cfx_scope base;
    uint64_t *weight;
} weighing_scope;

static cfx_status weigh_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_cost cost;
    cfx_status st = cfx_call_cost(call, &cost, out);
    if (st)
        return st;
    if (cfx_dim_is_int(cost.macs) && cfx_dim_is_int(cost.ops) && s->node)
        ((weighing_scope *)s)->weight[s->node->id] +=
            2 * (uint64_t)cfx_dim_value(cost.macs) +
            (uint64_t)cfx_dim_value(cost.ops);
    return CFX_OK;
}

static const cfx_scope_class weighing_class = {
    .size = sizeof(cfx_scope_class),
    .name = "weighing",
    .super = &cfx_meta_class,
    .call_op = weigh_op,
};

/* Read the inputs that shape propagation stored in the placeholders' meta. */
static cfx_status inputs_in_meta(const cfx_graph *g, cfx_value *in, size_t *n,
                                 cfx_error *err)
{
    *n = 0;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at)) {
        if (at->op != CFX_PLACEHOLDER)
            continue;
        in[*n] = cfx_node__known(at);
        if (!in[*n].kind)
            return cfx_fail(err, CFX_EINVAL,
                            "the shape of the input '%s' is not known",
                            at->name);
        ++*n;
    }
    return CFX_OK;
}

static cfx_status weigh_flops(uint64_t *weight, cfx_module *gm,
                              const cfx_value *inputs, size_t ninputs,
                              cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    weighing_scope scope = {.weight = weight};
    cfx_interp_options options = {.size = sizeof(options),
                                  .scope = &scope.base};
    cfx_interp it = {0};
    cfx_value y = CFX_NOTHING;
    cfx_scope_init(&scope.base, &weighing_class, ctx, NULL);
    cfx_status st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &options,
                                         err);
    if (!st)
        st = cfx_interp_run(&it, inputs, ninputs, &y, err);
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_scope_release(&scope.base);
    return st;
}

cfx_status cfx_node_weights(uint64_t *weight, cfx_module *gm, cfx_weigh by,
                            const cfx_value *inputs, size_t ninputs,
                            cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_context *ctx = cfx_module_context(gm);
    if (!g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    memset(weight, 0, cfx_graph_ids(g) * sizeof(*weight));
    if (by == CFX_BY_SIZE)
        return weigh_sizes(weight, gm, err);
    if (inputs)
        return weigh_flops(weight, gm, inputs, ninputs, err);
    size_t bytes = (cfx_graph_len(g) + 1) * sizeof(cfx_value);
    cfx_value *in = cfx_alloc(ctx, bytes);
    if (!in)
        return cfx_no_memory(err);
    cfx_status st = inputs_in_meta(g, in, &ninputs, err);
    if (!st)
        st = weigh_flops(weight, gm, in, ninputs, err);
    cfx_free(ctx, in, bytes);
    return st;
}

/* ---- Splitting by stages ---- */

static int64_t stage_of(void *user, const cfx_node *n)
{
    return ((const uint32_t *)user)[n->id];
}

/* Find the stage of each call, by id. */
static cfx_status find_stages(uint32_t *stage, cfx_module *gm, uint32_t parts,
                              cfx_weigh by, const cfx_value *inputs,
                              size_t ninputs, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_context *ctx = cfx_module_context(gm);
    size_t nids = (size_t)cfx_graph_ids(g) + 1, n = 0;
    uint64_t *weight = cfx_calloc(ctx, nids, sizeof(*weight));
    uint64_t *call = cfx_calloc(ctx, nids, sizeof(*call));
    uint32_t *cuts = cfx_calloc(ctx, nids, sizeof(*cuts));
    cfx_status st = weight && call && cuts
                        ? cfx_node_weights(weight, gm, by, inputs, ninputs,
                                           err)
                        : cfx_no_memory(err);
    if (!st) {
        for (const cfx_node *at = cfx_graph_first(g); at;
             at = cfx_node_next(at))
            if (cfx_node_is_call(at))
                call[n++] = weight[at->id];
        cfx_balance(cuts, call, n, parts);
        n = 0;
        for (const cfx_node *at = cfx_graph_first(g); at;
             at = cfx_node_next(at))
            if (cfx_node_is_call(at))
                stage[at->id] = cuts[n++];
    }
    cfx_free(ctx, weight, nids * sizeof(*weight));
    cfx_free(ctx, call, nids * sizeof(*call));
    cfx_free(ctx, cuts, nids * sizeof(*cuts));
    return st;
}

/* `out` NULL: split in place. */
static cfx_status split_stages(cfx_module **out, cfx_module *gm,
                               uint32_t parts, cfx_weigh by,
                               const cfx_value *inputs, size_t ninputs,
                               cfx_error *err)
{
    splitter s;
    cfx_split_options options = {.size = sizeof(options),
                                 .keep_original_order = true};
    cfx_status st = parts ? cfx_split__init(&s, gm, &options, err)
                          : cfx_fail(err, CFX_EINVAL,
                                     "a graph has at least one stage");
    if (!parts)
        return st;
    uint32_t *stage = st ? NULL
                         : cfx_extract__scratch(&s.arena, s.nids,
                                                sizeof(*stage), err);
    if (!st)
        st = stage ? find_stages(stage, gm, parts, by, inputs, ninputs, err)
                   : err->code;
    if (!st)
        st = cfx_split__prepare(&s, stage_of, stage);
    if (!st)
        st = cfx_split__extract(&s);
    if (!st)
        st = out ? cfx_split__parent(&s, out) : cfx_split__in_place(&s);
    cfx_split__release(&s);
    return st;
}

cfx_status cfx_split_stages(cfx_module **out, cfx_module *gm, uint32_t parts,
                            cfx_weigh by, const cfx_value *inputs,
                            size_t ninputs, cfx_error *err)
{
    cfx_error why;
    why.code = CFX_OK;
    *out = NULL;
    cfx_status st = split_stages(out, gm, parts, by, inputs, ninputs, &why);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}

cfx_status cfx_split_stages_in_place(cfx_module *gm, uint32_t parts,
                                     cfx_weigh by, const cfx_value *inputs,
                                     size_t ninputs, cfx_error *err)
{
    cfx_error why;
    why.code = CFX_OK;
    cfx_status st = split_stages(NULL, gm, parts, by, inputs, ninputs, &why);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}
