/*
 * roofline -- a walk that counts costs, the resulting floors, and their sums.
 */
#include "shapeprop/roofline/roofline_impl.h"
#include "shapeprop/shapes/symbols.h"

const char *const cfx_bound_names[CFX_NBOUNDS] = {"unknown", "free", "compute",
                                                  "memory"};

/* ---- Live memory ---- */

static cfx_status find_live(cfx_roofline *r, const cfx_value *inputs,
                            size_t ninputs, cfx_error *err)
{
    const cfx_memory_plan_options o = {.size = sizeof(o), .env = r->env};
    cfx_status st = cfx_memory_plan_new(&r->self->plan, r->gm, inputs, ninputs,
                                        &o, err);
    const cfx_memory_plan *plan = r->self->plan;
    if (st)
        return st;
    for (size_t i = 0; i < r->nnodes; i++)
        r->node[i].live_bytes = cfx_memory_plan_live(plan,
                                                     r->node[i].cost->node);
    r->peak_bytes = cfx_memory_plan_peak(plan, NULL);
    return CFX_OK;
}

/* ---- Sums ---- */

static void add_times(cfx_roofline_sum *s, const cfx_roofline_node *n)
{
    if (n->floor.bound == CFX_BOUND_UNKNOWN)
        s->floor = -1;
    else if (s->floor >= 0)
        s->floor += n->floor.seconds;
    s->seconds += n->seconds;
}

static void sum_groups(const cfx_roofline *r, const cfx_cost_groups *g,
                       cfx_roofline_sum *sum)
{
    for (size_t i = 0; i < g->n; i++)
        sum[i] = (cfx_roofline_sum){.cost = g->group[i].sum};
    for (size_t i = 0; i < r->nnodes; i++)
        for (int64_t k = g->of[i]; k >= 0; k = g->group[k].parent)
            add_times(&sum[k], &r->node[i]);
}

void cfx_roofline__add_up(cfx_roofline *r)
{
    r->total.floor = r->total.seconds = 0;
    for (int b = 0; b < CFX_NBOUNDS; b++)
        r->bound_sum[b] = (cfx_roofline_sum){.cost = r->self->weights[b]};
    for (size_t i = 0; i < r->nnodes; i++) {
        const cfx_roofline_node *n = &r->node[i];
        cfx_roofline_sum *of_bound = &r->bound_sum[n->floor.bound];
        add_times(&r->total, n);
        add_times(of_bound, n);
        cfx_cost_add(r->env, &of_bound->cost.cost, &n->cost->cost);
        of_bound->cost.nodes++;
    }
    sum_groups(r, &r->modules, r->module_sum);
    sum_groups(r, &r->operators, r->operator_sum);
}

double cfx_roofline_efficiency(const cfx_roofline_node *n)
{
    bool known = n->floor.bound == CFX_BOUND_COMPUTE ||
                 n->floor.bound == CFX_BOUND_MEMORY;
    return known && n->seconds > 0 ? n->floor.seconds / n->seconds : -1;
}

double cfx_roofline_share(const cfx_roofline *r, const cfx_roofline_node *n)
{
    if (r->runs)
        return r->total.seconds > 0 ? n->seconds / r->total.seconds : 0;
    if (!r->rates || r->total.floor < 0)
        return -1;
    return r->total.floor > 0 ? n->floor.seconds / r->total.floor : 0;
}

/* ---- Creation and release ---- */

static bool is_known(const cfx_cost *c)
{
    return cfx_dim_is_int(c->macs) && cfx_dim_is_int(c->ops) &&
           cfx_dim_is_int(c->bytes_read) && cfx_dim_is_int(c->bytes_written);
}

static cfx_status fill_nodes(cfx_roofline *r, cfx_error *err)
{
    const cfx_cost_prop *costs = &r->self->costs;
    r->node = cfx_calloc(r->ctx, costs->nnodes + 1, sizeof(*r->node));
    if (!r->node)
        return cfx_no_memory(err);
    r->nnodes = costs->nnodes;
    r->known = true;
    for (size_t i = 0; i < r->nnodes; i++) {
        cfx_roofline_node *n = &r->node[i];
        n->cost = &costs->node[i];
        n->flops = cfx_cost_flops(r->env, &n->cost->cost);
        n->bytes = cfx_cost_bytes(r->env, &n->cost->cost);
        n->floor.level = -1;
        r->known = r->known && is_known(&n->cost->cost);
    }
    return CFX_OK;
}

static cfx_status fill_floors(cfx_roofline *r, cfx_error *err)
{
    size_t size = (r->nnodes + 1) * sizeof(cfx_roofline_floor);
    cfx_roofline_floor *floor = r->rates ? cfx_alloc(r->ctx, size) : NULL;
    if (!r->rates)
        return CFX_OK;
    if (!floor)
        return cfx_no_memory(err);
    cfx_status st = cfx_flow__find_floors(floor, &r->self->flow, r->rates,
                                          NULL, NULL, err);
    for (size_t i = 0; i < r->nnodes && !st; i++)
        r->node[i].floor = floor[i];
    cfx_free(r->ctx, floor, size);
    return st;
}

/* Sum up the weights that nodes of each bound read, each weight once. */
static cfx_status fill_weights(cfx_roofline *r, cfx_error *err)
{
    cfx_map seen;
    bool ok = true;
    cfx_map_init(&seen, r->ctx);
    for (int b = 0; b < CFX_NBOUNDS; b++)
        r->self->weights[b] = cfx_cost__no_sum();
    for (size_t i = 0; ok && i < r->nnodes; i++) {
        const cfx_roofline_node *n = &r->node[i];
        for (size_t k = 0; ok && k < n->cost->nweights; k++) {
            const cfx_cost_weight *w = &n->cost->weight[k];
            const uintptr_t key[] = {(uintptr_t)w->tensor, n->floor.bound};
            bool added = false;
            ok = cfx_map_put(&seen, (const char *)key, sizeof(key), &added);
            if (added)
                cfx_cost__add_tensor(r->env, &r->self->weights[key[1]], w);
        }
    }
    cfx_map_release(&seen);
    return ok ? CFX_OK : cfx_no_memory(err);
}

static cfx_status fill_groups(cfx_roofline *r, cfx_error *err)
{
    const cfx_cost_prop *costs = &r->self->costs;
    cfx_status st = cfx_cost_prop_total(&r->total.cost, costs, err);
    if (!st)
        st = cfx_cost_groups_make(&r->modules, costs, CFX_COST_BY_MODULE, err);
    if (!st)
        st = cfx_cost_groups_make(&r->operators, costs, CFX_COST_BY_OPERATOR,
                                  err);
    if (st)
        return st;
    r->module_sum = cfx_calloc(r->ctx, r->modules.n + 1,
                               sizeof(*r->module_sum));
    r->operator_sum = cfx_calloc(r->ctx, r->operators.n + 1,
                                 sizeof(*r->operator_sum));
    return r->module_sum && r->operator_sum ? CFX_OK : cfx_no_memory(err);
}

/* ---- Symbols that guards determine ---- */

/* True if guards determine some symbol. */
static bool has_determined(const cfx_shape_env *env)
{
    for (size_t i = 0; env && i < cfx_shape_env_symbols(env); i++) {
        cfx_symbol s;
        cfx_shape_env_symbol(env, i, &s);
        if (cfx_symbol__is_determined(&s))
            return true;
    }
    return false;
}

static bool only_value(void *user, const char *name, cfx_dim *v)
{
    const cfx_shape_env *env = user;
    for (size_t i = 0; i < cfx_shape_env_symbols(env); i++) {
        cfx_symbol s;
        cfx_shape_env_symbol(env, i, &s);
        if (strcmp(s.name, name))
            continue;
        *v = cfx_dim_int(s.min);
        return s.min == s.max;
    }
    return false;
}

static cfx_dim substitute(cfx_shape_env *env, cfx_dim d)
{
    return cfx_dim_subst(env, cfx_dim_simplify(env, d), only_value, env);
}

static cfx_status settle_value(void *user, cfx_value v, cfx_value *out)
{
    cfx_roofline *r = user;
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *t;
    if (v.kind == CFX_SYMINT) {
        *out = cfx_value_of_dim(substitute(r->env, v.u.dim));
        return CFX_OK;
    }
    if (v.kind != CFX_TENSOR || !cfx_tensor_is_meta(v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    for (int i = 0; i < v.u.tensor->rank; i++) {
        shape[i] = substitute(r->env, v.u.tensor->shape[i]);
        stride[i] = substitute(r->env, v.u.tensor->stride[i]);
    }
    cfx_status st = cfx_tensor_meta(&t, r->ctx, (cfx_dtype)v.u.tensor->dtype,
                                    v.u.tensor->rank, shape, stride, NULL);
    *out = st ? CFX_NOTHING : cfx_value_of_tensor(t);
    return st;
}

static cfx_status walk(cfx_roofline *r, const cfx_value *inputs,
                       size_t ninputs, const cfx_roofline_options *o,
                       cfx_error *err)
{
    cfx_cost_prop *costs = &r->self->costs;
    cfx_status st = cfx_cost_prop_init(costs, o->cost, r->gm, o->env, err);
    return st ? st : cfx_cost_prop_run(costs, inputs, ninputs, err);
}

/* Walk again with the symbols that the first walk determined, so that as many
 * extents as possible are numbers. The n inputs are the caller's. */
static cfx_status walk_again(cfx_roofline *r, cfx_value *to,
                             const cfx_value *inputs, size_t n,
                             const cfx_roofline_options *o, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = cfx_value_map(&to[i], r->ctx, inputs[i], settle_value, r, err);
    if (st)
        return st == CFX_ENOMEM
                   ? cfx_no_memory(err)
                   : cfx_fail(
                         err, st,
                         "an input has no shape with the values that guards give to its symbols");
    cfx_cost_prop_release(&r->self->costs);
    r->self->costs = (cfx_cost_prop){0};
    return walk(r, to, n, o, err);
}

static cfx_status fill(cfx_roofline *r, const cfx_value *inputs,
                       size_t ninputs, cfx_error *err)
{
    cfx_status st = fill_nodes(r, err);
    if (!st)
        st = find_live(r, inputs, ninputs, err);
    if (!st)
        st = cfx_flow__make(&r->self->flow, &r->self->costs, r->self->plan,
                            err);
    if (!st)
        st = fill_floors(r, err);
    if (!st)
        st = fill_weights(r, err);
    if (!st)
        st = fill_groups(r, err);
    if (!st)
        cfx_roofline__add_up(r);
    return st;
}

static cfx_status analyse(cfx_roofline *r, const cfx_value *inputs, size_t n,
                          const cfx_roofline_options *o, cfx_error *err)
{
    cfx_status st = walk(r, inputs, n, o, err);
    if (st || !has_determined(r->env))
        return st ? st : fill(r, inputs, n, err);
    cfx_value *other = cfx_calloc(r->ctx, n + 1, sizeof(*other));
    st = other ? walk_again(r, other, inputs, n, o, err) : cfx_no_memory(err);
    if (!st)
        st = fill(r, other, n, err);
    for (size_t i = 0; other && i < n; i++)
        cfx_value_unref(other[i]);
    cfx_free(r->ctx, other, (n + 1) * sizeof(*other));
    return st;
}

cfx_status cfx_roofline_new(cfx_roofline **out, cfx_module *gm,
                            const cfx_value *inputs, size_t ninputs,
                            const cfx_roofline_options *options,
                            cfx_error *err)
{
    static const cfx_roofline_options none = {.size = sizeof(none)};
    const cfx_roofline_options *o = options ? options : &none;
    cfx_context *ctx = cfx_module_context(gm);
    cfx_roofline *r = cfx_calloc(ctx, 1, sizeof(*r));
    *out = NULL;
    if (r)
        r->self = cfx_calloc(ctx, 1, sizeof(*r->self));
    if (!r || !r->self) {
        cfx_free(ctx, r, sizeof(*r));
        return cfx_no_memory(err);
    }
    r->ctx = ctx;
    r->gm = gm;
    r->env = o->env;
    r->machine = o->machine;
    if (o->machine)
        r->rates = cfx_machine_for(
            o->machine, o->threads ? o->threads : cfx_context_threads(ctx));
    cfx_status st = analyse(r, inputs, ninputs, o, err);
    if (st)
        cfx_roofline_free(r);
    else
        *out = r;
    return st;
}

void cfx_roofline_free(cfx_roofline *r)
{
    if (!r)
        return;
    cfx_free(r->ctx, r->module_sum,
             (r->modules.n + 1) * sizeof(*r->module_sum));
    cfx_free(r->ctx, r->operator_sum,
             (r->operators.n + 1) * sizeof(*r->operator_sum));
    cfx_cost_groups_release(&r->modules);
    cfx_cost_groups_release(&r->operators);
    cfx_free(r->ctx, r->node, (r->nnodes + 1) * sizeof(*r->node));
    cfx_free(r->ctx, r->crossover,
             r->self->crossover_cap * sizeof(*r->crossover));
    cfx_free(r->ctx, r->point, r->self->point_cap * sizeof(*r->point));
    cfx_flow__release(&r->self->flow);
    cfx_memory_plan_free(r->self->plan);
    cfx_cost_prop_release(&r->self->costs);
    cfx_free(r->ctx, r->self, sizeof(*r->self));
    cfx_free(r->ctx, r, sizeof(*r));
}
