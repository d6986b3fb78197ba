/*
 * module_effects -- side effects of modules, recorded from the calls of the
 * forward on metas.
 *
 * Each parameter of the forward has an alias set, and so has the module's
 * state. Tensors in no set are local to the forward; writes to them do not
 * count. The shapes that the forward accepts are unknown: ranks and types are
 * tried until one works. Called graphs are not walked, since their effects are
 * known; their result is a tensor of the rank being tried.
 */
#include "graph/module_effects.h"

#include <stdio.h>

#include "graph/aliases.h"
#include "nn/module_impl.h"
#include "op/scope_impl.h"

/* Types of the first tensor, and of the others. */
struct types {
    cfx_dtype first, rest;
};

/* A tracked tensor; referenced, so that its address stays unique. */
typedef struct tracked {
    struct tracked *next;
    cfx_tensor *t;
    uint32_t in; /* a number in `sets` */
} tracked;

typedef struct recorder {
    cfx_scope base;
    cfx_effects e;
    int depth, rank;
    const struct types *types;
    cfx_alias_sets sets; /* parameter k is number k, the state STATE */
    cfx_arena arena;
    cfx_map tensors; /* the address of a tensor -> tracked */
    tracked *all;
} recorder;

enum { STATE = CFX_MAX_PARAMS };
#define NO_SET UINT32_MAX

/* ---- Tensors ---- */

static const tracked *find(const recorder *r, const cfx_tensor *t)
{
    const cfx_map_entry *e = cfx_map_get(&r->tensors, (const char *)&t,
                                         sizeof(t));
    return e ? e->v.p : NULL;
}

static cfx_status track(recorder *r, cfx_tensor *t, uint32_t in)
{
    const tracked *known = find(r, t);
    if (known) {
        cfx_alias_sets__join(&r->sets, known->in, in);
        return CFX_OK;
    }
    tracked *new = cfx_arena_alloc(&r->arena, sizeof(*new));
    if (!new)
        return CFX_ENOMEM;
    new->t = t;
    cfx_map_entry *e = cfx_map_put(&r->tensors, (const char *)&new->t,
                                   sizeof(t), NULL);
    if (!e)
        return CFX_ENOMEM;
    *new = (tracked){r->all, cfx_tensor_ref(t), in};
    r->all = new;
    e->v.p = new;
    return CFX_OK;
}

/* Visits of the tensors in a value. */
typedef struct visit {
    recorder *r;
    uint32_t flags; /* flags to set */
    uint32_t in;    /* their set; NO_SET: none yet */
} visit;

static cfx_status flag_value(void *user, cfx_value v)
{
    const visit *at = user;
    const tracked *t = v.kind == CFX_TENSOR ? find(at->r, v.u.tensor) : NULL;
    if (t)
        *cfx_alias_sets__flags(&at->r->sets, t->in) |= at->flags;
    return CFX_OK;
}

static cfx_status join_value(void *user, cfx_value v)
{
    visit *at = user;
    const tracked *t = v.kind == CFX_TENSOR ? find(at->r, v.u.tensor) : NULL;
    if (t && at->in != NO_SET)
        cfx_alias_sets__join(&at->r->sets, t->in, at->in);
    else if (t)
        at->in = t->in;
    return CFX_OK;
}

static cfx_status track_value(void *user, cfx_value v)
{
    const visit *at = user;
    return v.kind == CFX_TENSOR ? track(at->r, v.u.tensor, at->in) : CFX_OK;
}

/* ---- Calls ---- */

/* Record the effects of a call; argument k has bit k, those from `last` on
 * share one. Returns the set of its result, or NO_SET. */
static uint32_t note_call(recorder *r, const cfx_effects *e,
                          const cfx_value *arg, size_t n, uint32_t last)
{
    visit at = {r, CFX_ALIAS_WRITTEN, e->state_views ? STATE : NO_SET};
    r->e.random |= e->random;
    r->e.effect |= e->effect;
    if (e->state_writes)
        *cfx_alias_sets__flags(&r->sets, STATE) |= CFX_ALIAS_WRITTEN;
    for (size_t k = 0; k < n; k++) {
        uint32_t bit = k < last ? (uint32_t)k : last;
        if (e->writes >> bit & 1)
            cfx_value_visit(arg[k], flag_value, &at);
        if (e->views >> bit & 1)
            cfx_value_visit(arg[k], join_value, &at);
    }
    return at.in;
}

/* Forget a result that cannot be tracked. */
static cfx_status track_result(recorder *r, cfx_value *out, uint32_t in)
{
    visit at = {r, 0, in};
    if (in == NO_SET || !cfx_value_visit(*out, track_value, &at))
        return CFX_OK;
    cfx_value_unref(*out);
    *out = cfx_none();
    return cfx_no_memory(&r->base.error);
}

static cfx_status record(cfx_scope *s, cfx_call *call, cfx_op_hook *hook,
                         cfx_value *out)
{
    recorder *r = (recorder *)s;
    cfx_effects e = cfx_call_effects(call);
    uint32_t in = note_call(r, &e, call->in, (size_t)call->schema->nparams,
                            CFX_MAX_PARAMS);
    cfx_status st = hook(s, call, out);
    return st ? st : track_result(r, out, in);
}

static cfx_status record_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    return record(s, call, cfx_scope__propagate, out);
}

static cfx_status record_call_higher_order(cfx_scope *s, cfx_call *call,
                                           cfx_value *out)
{
    return record(s, call, cfx_scope__call_higher_order, out);
}

/* A tensor of the rank being tried, with symbolic extents. */
static cfx_value new_tensor(recorder *r, const char *prefix, int k,
                            cfx_dtype dtype)
{
    cfx_scope *s = &r->base;
    cfx_dim shape[8];
    cfx_tensor *t;
    for (int i = 0; i < r->rank; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%d_%d", prefix, k, i);
        shape[i] = cfx_dim_symbol(s->env, name, 1);
    }
    if (cfx_tensor_meta(&t, s->ctx, dtype, r->rank, shape, NULL, &s->error))
        return CFX_NOTHING;
    return cfx_value_of_tensor(t);
}

static size_t count_placeholders(const cfx_graph *g)
{
    size_t n = 0;
    for (cfx_node *p = NULL;
         (p = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, p));)
        n++;
    return n;
}

/* A keyword may bind to any placeholder: such calls have all effects. */
static cfx_status record_call_graph(cfx_scope *s, cfx_module *m,
                                    const char *path,
                                    const cfx_unbound_call *c,
                                    const cfx_value *in, cfx_value *out)
{
    recorder *r = (recorder *)s;
    cfx_effects e;
    if (c && !m->graph)
        return cfx_scope_call_module(
            s, m, path, (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs},
            out);
    if (c && c->nkwargs)
        return cfx_fail(&s->error, CFX_EUNSUPPORTED,
                        "a graph is called with keywords");
    cfx_status st = cfx_module__effects_at(m, &e, r->depth, &s->error);
    if (st)
        return st;
    uint32_t rest = cfx_graph__rest(m->graph);
    uint32_t set = note_call(r, &e, c ? c->args : in,
                             c ? c->nargs : count_placeholders(m->graph),
                             rest < 31 ? rest : 31);
    *out = new_tensor(r, "r", 0, r->types->first);
    return out->kind ? track_result(r, out, set) : s->error.code;
}

static const cfx_scope_class recorder_class = {
    .size = sizeof(cfx_scope_class),
    .name = "effects",
    .call_op = record_call_op,
    .call_higher_order = record_call_higher_order,
    .call_module = cfx_module__base_call,
    .call_graph = record_call_graph,
    .get_attr = cfx_module__get_attr,
};

static cfx_status recorder_init(recorder *r, cfx_context *ctx,
                                cfx_shape_env *env)
{
    cfx_scope_init(&r->base, &recorder_class, ctx, env);
    r->base.any_arguments = true;
    cfx_arena_init(&r->arena, ctx);
    cfx_map_init(&r->tensors, ctx);
    r->sets.ctx = ctx;
    return cfx_alias_sets__add(&r->sets, STATE + 1, &r->base.error);
}

static void recorder_release(recorder *r)
{
    cfx_scope_release(&r->base);
    for (tracked *t = r->all; t; t = t->next)
        cfx_tensor_unref(t->t);
    cfx_map_release(&r->tensors);
    cfx_alias_sets__release(&r->sets);
    cfx_arena_release(&r->arena);
}

/* ---- Inputs of the forward ---- */

static const int8_t ranks[] = {4, 3, 2, 5, 1, 0};

/* The type of the first floating-point parameter or buffer, else float32: a
 * float16 module takes float16 inputs. */
static cfx_dtype type_of_state(const cfx_module *m)
{
    for (const cfx_module *at = m; at; at = cfx_module_next(at, m))
        for (size_t i = 0; i < at->nstate; i++) {
            const cfx_tensor *t = at->state[i].tensor;
            if (t && cfx_dtype_is_float((cfx_dtype)t->dtype))
                return (cfx_dtype)t->dtype;
        }
    return CFX_F32;
}

static cfx_value new_input(recorder *r, int k, cfx_dtype dtype)
{
    cfx_value v = cfx_scope_take(&r->base, new_tensor(r, "d", k, dtype));
    if (!cfx_scope_failed(&r->base) && track(r, v.u.tensor, (uint32_t)k))
        cfx_no_memory(&r->base.error);
    return v;
}

static cfx_value input_for(recorder *r, const cfx_param *p, int k,
                           cfx_dtype dtype)
{
    cfx_value v;
    if (!p->required)
        return p->init;
    switch (p->base) {
    case CFX_T_TENSOR:
    case CFX_T_ANY:
        v = new_input(r, k, dtype);
        return p->list ? cfx_list_of(&r->base, CFX_LIST, 1, &v) : v;
    case CFX_T_INT:
    case CFX_T_SCALAR:
        v = cfx_int(1);
        return p->list ? cfx_list_of(&r->base, CFX_LIST, 1, &v) : v;
    case CFX_T_FLOAT: return cfx_float(1);
    case CFX_T_BOOL: return cfx_bool(false);
    default:
        return cfx_scope_fail(&r->base, CFX_EUNSUPPORTED, "no value for %s",
                              p->name);
    }
}

/* Parameters and buffers of the module and its descendants are state. */
static cfx_status track_state(recorder *r, const cfx_module *m)
{
    for (const cfx_module *at = m; at; at = cfx_module_next(at, m))
        for (size_t i = 0; i < at->nstate; i++) {
            cfx_tensor *t = at->state[i].tensor;
            if (t && track(r, t, STATE))
                return CFX_ENOMEM;
        }
    return CFX_OK;
}

/* ---- Trying ---- */

/* If the in-place flag is undecided, assume a write to the input. */
static void add_undecided(cfx_effects *e, const cfx_module *m)
{
    for (const cfx_module *at = m; at; at = cfx_module_next(at, m)) {
        const char *flag = at->undecided ? at->type->inplace_flag : NULL;
        if (flag && cfx_attr_is_undecided(at, flag)) {
            e->writes |= 1;
            e->views |= 1;
        }
    }
}

/* Derive the effects from the sets after the forward has run. */
static void read_sets(recorder *r, const cfx_module *m)
{
    uint32_t state = *cfx_alias_sets__flags(&r->sets, STATE);
    for (int k = 0; k < m->forward->nparams; k++) {
        uint32_t flags = *cfx_alias_sets__flags(&r->sets, (uint32_t)k);
        if (flags & CFX_ALIAS_WRITTEN)
            r->e.writes |= (uint32_t)1 << k;
        if (flags & CFX_ALIAS_RETURNED)
            r->e.views |= (uint32_t)1 << k;
    }
    r->e.state_writes = state & CFX_ALIAS_WRITTEN;
    r->e.state_views = state & CFX_ALIAS_RETURNED;
    r->e.effect |= r->e.state_writes;
    add_undecided(&r->e, m);
}

/* Run the forward with inputs of that rank and types; sets r->e. */
static cfx_status run(recorder *r, cfx_module *m)
{
    cfx_scope *s = &r->base;
    cfx_value in[CFX_MAX_PARAMS], out;
    bool first = true;
    size_t n = 0;
    if (track_state(r, m))
        return CFX_ENOMEM;
    for (int k = 0; k < m->forward->nparams; k++) {
        const cfx_param *p = &m->forward->params[k];
        in[k] = input_for(r, p, k, first ? r->types->first : r->types->rest);
        first = first && !p->required;
    }
    while (n < (size_t)m->forward->nparams && m->forward->params[n].required)
        n++;
    cfx_status st = cfx_scope_failed(s)
                        ? s->error.code
                        : cfx_scope_call_module(s, m, NULL, cfx_args_of(in, n),
                                                &out);
    if (st)
        return st;
    visit returned = {r, CFX_ALIAS_RETURNED, NO_SET};
    cfx_value_visit(out, flag_value, &returned);
    cfx_value_unref(out);
    read_sets(r, m);
    return CFX_OK;
}

static cfx_status attempt(cfx_module *m, int rank, const struct types *types,
                          cfx_effects *e, int depth, cfx_error *err)
{
    cfx_shape_env *env;
    recorder r = {.depth = depth, .rank = rank, .types = types};
    cfx_status st = cfx_shape_env_new(&env, m->ctx, err);
    if (st)
        return st;
    st = recorder_init(&r, m->ctx, env);
    if (!st)
        st = run(&r, m);
    if (st == CFX_ENOMEM)
        cfx_no_memory(err);
    else if (st == CFX_ELIMIT || st == CFX_ECANCEL)
        cfx_fail(err, st, "%s", r.base.error.text);
    *e = r.e;
    recorder_release(&r);
    cfx_shape_env_free(env);
    return st;
}

static bool takes_tensors(const cfx_module *m)
{
    for (int k = 0; k < m->forward->nparams; k++)
        if (m->forward->params[k].required &&
            (m->forward->params[k].base == CFX_T_TENSOR ||
             m->forward->params[k].base == CFX_T_ANY))
            return true;
    return false;
}

cfx_status cfx_forward__effects(cfx_module *m, cfx_effects *out, int depth,
                                cfx_error *err)
{
    const cfx_dtype own = type_of_state(m);
    const struct types types[] = {
        {own, own},
        {CFX_I64, CFX_I64},
        {own, CFX_I64},
    };
    const size_t ntypes = sizeof(types) / sizeof(*types);
    for (size_t i = 0; i < (takes_tensors(m) ? ntypes : 1); i++)
        for (size_t k = 0; k < (takes_tensors(m) ? sizeof(ranks) : 1); k++) {
            cfx_status st = attempt(m, ranks[k], &types[i], out, depth, err);
            if (!st || st == CFX_ENOMEM || st == CFX_ELIMIT ||
                st == CFX_ECANCEL)
                return st;
        }
    *out = cfx_graph__worst;
    return CFX_OK;
}
