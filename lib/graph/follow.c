/*
 * follow -- what a module does besides computing its result: its forward is
 * run, without numbers, in a scope that looks at each call made in it.
 *
 * Each tensor has origins: a bit for each parameter of the forward that it may
 * be a view of, and one for the module's state. Tensors of no origin are the
 * forward's own, and may be written to. What shapes the forward takes is not
 * known: ranks and types are tried until one suits.
 */
#include "graph/follow.h"

#include <stdio.h>

#include "nn/module_impl.h"

#define STATE ((uint32_t)1 << 31)

/* A tensor that was seen; held, so that no other comes to its address. */
typedef struct tracked {
    struct tracked *next;
    cfx_tensor *t;
    uint32_t origins;
} tracked;

typedef struct recorder {
    cfx_scope base;
    cfx_effects e;
    cfx_arena arena;
    cfx_map tensors;         /* the address of a tensor -> tracked */
    tracked *all;
} recorder;

/* ---- Origins ---- */

static cfx_status add_origins(recorder *r, cfx_tensor *t, uint32_t origins)
{
    cfx_map_entry *e = cfx_map_get(&r->tensors, (const char *)&t, sizeof(t));
    if (e) {
        ((tracked *)e->v.p)->origins |= origins;
        return CFX_OK;
    }
    tracked *new = cfx_arena_alloc(&r->arena, sizeof(*new));
    if (!new)
        return CFX_ENOMEM;
    new->t = t;
    e = cfx_map_put(&r->tensors, (const char *)&new->t, sizeof(t), NULL);
    if (!e)
        return CFX_ENOMEM;
    *new = (tracked){r->all, cfx_tensor_ref(t), origins};
    r->all = new;
    e->v.p = new;
    return CFX_OK;
}

/* What is being asked of, or done to, the tensors in a value. */
typedef struct visit {
    recorder *r;
    uint32_t origins;
} visit;

static cfx_status collect(void *user, cfx_value v)
{
    visit *at = user;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_map_entry *e = cfx_map_get(&at->r->tensors,
                                         (const char *)&v.u.tensor,
                                         sizeof(v.u.tensor));
    if (e)
        at->origins |= ((const tracked *)e->v.p)->origins;
    return CFX_OK;
}

static cfx_status mark(void *user, cfx_value v)
{
    const visit *at = user;
    return v.kind == CFX_TENSOR ? add_origins(at->r, v.u.tensor, at->origins)
                                : CFX_OK;
}

/* The origins of those parameters of a call whose bits are set. */
static uint32_t origins_of(recorder *r, const cfx_call *call, uint32_t bits)
{
    visit at = {r, 0};
    for (int k = 0; k < call->schema->nparams; k++)
        if (bits >> k & 1)
            cfx_value_visit(call->in[k], collect, &at);
    return at.origins;
}

/* ---- The scope ---- */

static const cfx_scope_class recorder_class;

/* Make a call by a hook of the super, and note what it did. */
static cfx_status record(cfx_scope *s, cfx_call *call, cfx_op_hook *super,
                         cfx_value *out)
{
    recorder *r = (recorder *)s;
    cfx_effects e = cfx_call_effects(call);
    uint32_t written = origins_of(r, call, e.writes);
    visit viewed = {r, origins_of(r, call, e.views)};
    r->e.random |= e.random;
    r->e.effect |= e.effect || written & STATE;
    r->e.writes |= written & ~STATE;
    cfx_status st = super(s, call, out);
    if (!st && viewed.origins && cfx_value_visit(*out, mark, &viewed)) {
        cfx_value_unref(*out);
        *out = cfx_none();
        st = cfx_no_memory(call->err);
    }
    return st;
}

static cfx_status record_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    return record(s, call, CFX_SCOPE_SUPER(&recorder_class, call_op), out);
}

static cfx_status record_call_higher_order(cfx_scope *s, cfx_call *call,
                                           cfx_value *out)
{
    return record(s, call, CFX_SCOPE_SUPER(&recorder_class, call_higher_order),
                  out);
}

static const cfx_scope_class recorder_class = {
    .size = sizeof(cfx_scope_class),
    .name = "effects",
    .super = &cfx_meta_class,
    .call_op = record_call_op,
    .call_higher_order = record_call_higher_order,
};

static void recorder_init(recorder *r, cfx_context *ctx, cfx_shape_env *env)
{
    *r = (recorder){.all = NULL};
    cfx_scope_init(&r->base, &recorder_class, ctx, env);
    cfx_arena_init(&r->arena, ctx);
    cfx_map_init(&r->tensors, ctx);
}

static void recorder_release(recorder *r)
{
    cfx_scope_release(&r->base);
    for (tracked *t = r->all; t; t = t->next)
        cfx_tensor_unref(t->t);
    cfx_map_release(&r->tensors);
    cfx_arena_release(&r->arena);
}

/* ---- What the forward is given ---- */

static const int8_t ranks[] = {4, 3, 2, 5, 1, 0};

/* Types of the first tensor, and of the others. */
struct types { cfx_dtype first, rest; };

/* A module of halves takes halves: the type of its first parameter or buffer
 * of floats, float32 where it has none. */
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

/* Input k: a meta of that rank, whose extents are symbols. */
static cfx_value new_input(recorder *r, int k, int rank, cfx_dtype dtype)
{
    cfx_scope *s = &r->base;
    cfx_dim shape[8];
    cfx_tensor *t;
    for (int i = 0; i < rank; i++) {
        char name[32];
        snprintf(name, sizeof(name), "d%d_%d", k, i);
        shape[i] = cfx_dim_symbol(s->env, name, 1);
    }
    if (cfx_tensor_meta(&t, s->ctx, dtype, rank, shape, NULL, &s->error))
        return cfx_none();
    cfx_value v = cfx_scope_take(s, cfx_value_of_tensor(t));
    if (!cfx_scope_failed(s) && add_origins(r, t, (uint32_t)1 << k))
        cfx_no_memory(&s->error);
    return v;
}

static cfx_value input_for(recorder *r, const cfx_param *p, int k, int rank,
                           cfx_dtype dtype)
{
    cfx_value v;
    if (!p->required)
        return p->init;
    switch (p->base) {
    case CFX_T_TENSOR:
    case CFX_T_ANY:
        v = new_input(r, k, rank, dtype);
        return p->list ? cfx_list_of(&r->base, CFX_LIST, 1, &v) : v;
    case CFX_T_INT:
    case CFX_T_SCALAR:
        v = cfx_int(1);
        return p->list ? cfx_list_of(&r->base, CFX_LIST, 1, &v) : v;
    case CFX_T_FLOAT:
        return cfx_num(1);
    case CFX_T_BOOL:
        return cfx_bool(false);
    default:
        return cfx_scope_fail(&r->base, CFX_EUNSUPPORTED, "no value for %s",
                              p->name);
    }
}

/* Parameters and buffers of the module and all below it are state. */
static cfx_status mark_state(recorder *r, const cfx_module *m)
{
    for (const cfx_module *at = m; at; at = cfx_module_next(at, m))
        for (size_t i = 0; i < at->nstate; i++) {
            cfx_tensor *t = at->state[i].tensor;
            if (t && add_origins(r, t, STATE))
                return CFX_ENOMEM;
        }
    return CFX_OK;
}

/* ---- Trying ---- */

/* A module of which nobody knows whether it writes to its input may. */
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

/* The forward, with inputs of that kind; r->e is what it did. */
static cfx_status run(recorder *r, cfx_module *m, int rank,
                      const struct types *of)
{
    cfx_scope *s = &r->base;
    cfx_value in[CFX_MAX_PARAMS], out;
    bool first = true;
    if (mark_state(r, m))
        return CFX_ENOMEM;
    for (int k = 0; k < m->forward->nparams; k++) {
        const cfx_param *p = &m->forward->params[k];
        in[k] = input_for(r, p, k, rank, first ? of->first : of->rest);
        first = first && !p->required;
    }
    size_t n = 0;
    while (n < (size_t)m->forward->nparams && m->forward->params[n].required)
        n++;
    cfx_status st = cfx_scope_failed(s) ? s->error.code
                    : cfx_scope_call_module(s, m, NULL, cfx_args_of(in, n),
                                            &out);
    if (st)
        return st;
    visit viewed = {r, 0};
    cfx_value_visit(out, collect, &viewed);
    r->e.views = viewed.origins & ~STATE;
    cfx_value_unref(out);
    add_undecided(&r->e, m);
    return CFX_OK;
}

static cfx_status attempt(cfx_module *m, int rank,
                          const struct types *of, cfx_effects *e,
                          cfx_error *err)
{
    cfx_shape_env *env;
    recorder r;
    cfx_status st = cfx_shape_env_new(&env, m->ctx, err);
    if (st)
        return st;
    recorder_init(&r, m->ctx, env);
    r.base.any_arguments = true;
    st = run(&r, m, rank, of);
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

cfx_status cfx_graph__follow(cfx_module *m, cfx_effects *e,
                             cfx_error *err)
{
    const cfx_dtype own = type_of_state(m);
    const struct types types[] = {
        {own, own}, {CFX_I64, CFX_I64}, {own, CFX_I64},
    };
    const size_t ntypes = sizeof(types) / sizeof(*types);
    for (size_t i = 0; i < (takes_tensors(m) ? ntypes : 1); i++)
        for (size_t k = 0; k < (takes_tensors(m) ? sizeof(ranks) : 1); k++) {
            cfx_status st = attempt(m, ranks[k], &types[i], e, err);
            if (!st || st == CFX_ENOMEM || st == CFX_ELIMIT ||
                st == CFX_ECANCEL)
                return st;
        }
    *e = cfx_graph__worst;
    return CFX_OK;
}
