/*
 * registry -- look up operators by name.
 *
 * Registration enters the names; schemas are parsed at the first lookup, since
 * a run needs few of them. One lock guards both; parsed schemas are immutable.
 */
#include <stdio.h>

#include <cfx/nearest.h>

#include "base/context_impl.h"
#include "base/mutex.h"
#include "op/op_impl.h"
#include "op/op_names.h"

extern const cfx_op *const cfx_ops__builtin[];

enum { KNOWN_SLOTS = 1024, KNOWN_PROBES = 8 };

typedef struct known_op {
    const cfx_op *op;
    const cfx_schema *schema;
} known_op;

/* The schema of an operator that names its parameters. */
typedef struct placed {
    const cfx_op *op;
    cfx_schema schema;
} placed;

typedef struct registry {
    cfx_context *ctx;
    cfx_mutex lock;
    cfx_arena arena;
    cfx_map names;      /* to the first cfx_target of a chain */
    cfx_map schemas;    /* by the text of the schema: cfx_schema */
    cfx_map placed;     /* by the address of an operator: placed */
    cfx_map outs;       /* by the address of an operator: its cfx_out_op */
    const cfx_op **ops; /* heads of chains, in order */
    size_t nops, cap;
    const cfx_op *user; /* for the operator being registered; NULL: built-in */
    /* A cache of schemas by operator address: read without the lock, immutable
     * once set. */
    _Atomic(const known_op *) known[KNOWN_SLOTS];
    struct own_cost { /* replacements of cost rules */
        const cfx_op *op;
        cfx_cost_rule *rule;
    } * costs;
    size_t ncosts, costs_cap;
} registry;

bool cfx_op__has_overload(const cfx_op *op, const cfx_op *overload)
{
    while (op && op != overload)
        op = op->next;
    return op;
}

/* Overloads, and built-in operators of one name, are tried in order: they are
 * appended to the chain. Targets of a user's operator go before those of other
 * operators. */
static cfx_status add_target(registry *r, const char *name, size_t len,
                             cfx_target t, cfx_error *err)
{
    cfx_target *new = cfx_arena_alloc(&r->arena, sizeof(*new));
    char *copy = cfx_arena_strdup(&r->arena, name, len);
    if (!new || !copy)
        return cfx_no_memory(err);
    cfx_map_entry *e = cfx_map_put(&r->names, copy, len, NULL);
    if (!e)
        return cfx_no_memory(err);
    t.name = e->key;
    t.method = !strncmp(name, "Tensor.", 7);
    cfx_target *head = e->v.p, *last = NULL;
    for (cfx_target *at = head;
         at && (!r->user || cfx_op__has_overload(r->user, at->op));
         at = (cfx_target *)at->next)
        last = at;
    t.next = last ? last->next : head;
    *new = t;
    if (last)
        last->next = new;
    else
        e->v.p = new;
    return CFX_OK;
}

/* An operator whose names are entered. */
struct entering {
    registry *r;
    const cfx_op *op;
    cfx_error *err;
};

static cfx_status add_name(void *user, const char *name, size_t len,
                           bool inplace, const cfx_variant *how,
                           const char *types)
{
    const struct entering *e = user;
    cfx_target t = {
        .op = e->op, .inplace = inplace, .how = how, .types = types};
    return add_target(e->r, name, len, t, e->err);
}

static cfx_target *chain_of(registry *r, const char *name, size_t len)
{
    cfx_map_entry *e = cfx_map_get(&r->names, name, len);
    return e ? e->v.p : NULL;
}

static cfx_status add_op(registry *r, const cfx_op *op, cfx_error *err)
{
    if (cfx_grow(r->ctx, r->ops, r->cap, r->nops + 1, err))
        return CFX_ENOMEM;
    r->ops[r->nops++] = op;
    struct entering e = {r, op, err};
    cfx_status st = CFX_OK;
    for (; e.op && !st; e.op = e.op->next)
        st = cfx_op__typed_names(e.op, add_name, &e);
    return st;
}

static void registry_free(cfx_context *ctx, void *p)
{
    registry *r = p;
    if (!r)
        return;
    cfx_map_release(&r->names);
    cfx_map_release(&r->schemas);
    cfx_map_release(&r->placed);
    cfx_map_release(&r->outs);
    cfx_arena_release(&r->arena);
    cfx_free(ctx, r->ops, r->cap * sizeof(*r->ops));
    cfx_free(ctx, r->costs, r->costs_cap * sizeof(*r->costs));
    cfx_mutex_destroy(&r->lock);
    cfx_free(ctx, r, sizeof(*r));
}

static void *registry_make(cfx_context *ctx)
{
    registry *r = cfx_calloc(ctx, 1, sizeof(*r));
    if (!r)
        return NULL;
    r->ctx = ctx;
    if (!cfx_mutex_init(&r->lock)) {
        cfx_free(ctx, r, sizeof(*r));
        return NULL;
    }
    cfx_arena_init(&r->arena, ctx);
    cfx_map_init(&r->names, ctx);
    cfx_map_init(&r->schemas, ctx);
    cfx_map_init(&r->placed, ctx);
    cfx_map_init(&r->outs, ctx);
    for (size_t i = 0; cfx_ops__builtin[i]; i++)
        if (add_op(r, cfx_ops__builtin[i], NULL)) {
            registry_free(ctx, r);
            return NULL;
        }
    return r;
}

static registry *registry_of(cfx_context *ctx)
{
    static const cfx_slot slot = {registry_make, registry_free};
    return cfx_context_slot(ctx, &slot);
}

static cfx_status schema_of(registry *r, const char *text, bool full_name,
                            const cfx_schema **out, cfx_error *err)
{
    cfx_map_entry *e = cfx_map_put(&r->schemas, text, strlen(text), NULL);
    if (!e)
        return cfx_no_memory(err);
    if (!e->v.p) {
        cfx_schema *s;
        cfx_status st = cfx_schema__read(&s, &r->arena, text, full_name, err);
        if (st) {
            cfx_map_remove(&r->schemas, text, strlen(text));
            return st;
        }
        e->v.p = s;
    }
    *out = e->v.p;
    return CFX_OK;
}

/* The schema of an operator, with positions of its CFX_PARAMS. */
static cfx_status op_schema(registry *r, const cfx_op *op,
                            const cfx_schema **out, cfx_error *err)
{
    cfx_map_entry *e = cfx_map_get(&r->placed, (const char *)&op, sizeof(op));
    if (e) {
        *out = &((const placed *)e->v.p)->schema;
        return CFX_OK;
    }
    cfx_status st = schema_of(r, op->schema, false, out, err);
    if (st || !op->params)
        return st;
    placed *p = cfx_arena_alloc(&r->arena, sizeof(*p));
    if (!p)
        return cfx_no_memory(err);
    *p = (placed){op, **out};
    st = cfx_schema__place(&p->schema, &r->arena, op->params, err);
    if (st)
        return st;
    e = cfx_map_put(&r->placed, (const char *)&p->op, sizeof(p->op), NULL);
    if (!e)
        return cfx_no_memory(err);
    e->v.p = p;
    *out = &p->schema;
    return CFX_OK;
}

static cfx_status read_signatures(registry *r, cfx_target *t,
                                  const cfx_schema **variant, cfx_error *err)
{
    cfx_status st = op_schema(r, t->op, &t->schema, err);
    cfx_schema *limited;
    if (!st && t->types) {
        st = cfx_schema__limit(&limited, &r->arena, t->schema, t->types, err);
        t->schema = st ? t->schema : limited;
    }
    *variant = t->schema;
    if (st || !t->how)
        return st;
    st = schema_of(r, t->how->schema, true, variant, err);
    if (!st && !t->how->lower && cfx_schema__is_limited(t->schema, *variant)) {
        st = cfx_schema__limit_to(&limited, &r->arena, t->schema, *variant,
                                  err);
        t->schema = st ? t->schema : limited;
    }
    return st;
}

/* ---- out= ---- */

/* The `out` variant of an operator; one in each context. */
static const cfx_out_op *out_of(registry *r, const cfx_op *op,
                                const cfx_schema *schema)
{
    cfx_map_entry *e = cfx_map_get(&r->outs, (const char *)&op, sizeof(op));
    if (e)
        return e->v.p;
    const cfx_out_op *o = cfx_out__new(&r->arena, op, schema);
    e = o ? cfx_map_put(&r->outs, (const char *)&o->of, sizeof(o->of), NULL)
          : NULL;
    if (e)
        e->v.p = (void *)(uintptr_t)o;
    return e ? o : NULL;
}

/* The `out` signature of a target that has been parsed; *out is NULL if it has
 * none. */
static cfx_status make_out(registry *r, const cfx_target *t,
                           const cfx_schema *variant, cfx_target **out,
                           cfx_error *err)
{
    *out = NULL;
    if (t->inplace || t->method || !cfx_out__is_offered(t->op) ||
        variant->nparams == CFX_MAX_PARAMS ||
        t->schema->nparams == CFX_MAX_PARAMS)
        return CFX_OK;
    const cfx_schema *own;
    cfx_status st = op_schema(r, t->op, &own, err);
    if (st)
        return st;
    const cfx_out_op *o = out_of(r, t->op, own);
    cfx_target *new = cfx_arena_alloc(&r->arena, sizeof(*new));
    cfx_variant *how = t->how ? cfx_arena_alloc(&r->arena, sizeof(*how))
                              : NULL;
    if (!o || !new || (t->how && !how))
        return cfx_no_memory(err);
    *new = (cfx_target){
        .name = t->name, .op = &o->op, .how = how, .types = t->types};
    if (how) {
        how->schema = cfx_out__signature(&r->arena, t->how->schema, variant,
                                         t->op);
        how->lower = t->how->lower;
        if (!how->schema)
            return cfx_no_memory(err);
    }
    *out = new;
    return CFX_OK;
}

/* Functions of torch take `out`; ATen has overloads of their own for it. */
static bool takes_out(const char *name)
{
    return !strncmp(name, "torch.", 6) &&
           strncmp(name, "torch.nn.functional.", 20);
}

/* Parse the signatures of a chain at its first lookup, and insert those with
 * `out` after each. Targets that are not parsed yet are not visible to others,
 * so that this can resume after a failed allocation. */
static cfx_status resolve(registry *r, cfx_target *t, cfx_error *err)
{
    for (; t; t = (cfx_target *)t->next) {
        const cfx_schema *variant;
        cfx_target *out = NULL;
        if (t->variant)
            continue;
        cfx_status st = read_signatures(r, t, &variant, err);
        if (!st && takes_out(t->name))
            st = make_out(r, t, variant, &out, err);
        if (st)
            return st;
        if (out) {
            out->next = t->next;
            t->next = out;
        }
        t->variant = variant;
    }
    return CFX_OK;
}

/* The overloads that a name stands for: those of operators whose names have a
 * prefix, each once; or their `out` overloads. */
struct gathering {
    registry *r;
    const cfx_op *op;
    const char *name;
    size_t len, prefix;
    bool out;
    bool plain, inplace; /* was the operator's own added? */
    cfx_error *err;
};

static cfx_status add_out(const struct gathering *g, cfx_target t)
{
    const cfx_schema *variant;
    cfx_target *out = NULL;
    cfx_status st = read_signatures(g->r, &t, &variant, g->err);
    if (!st)
        st = make_out(g->r, &t, variant, &out, g->err);
    return st || !out ? st : add_target(g->r, g->name, g->len, *out, g->err);
}

static cfx_status gather_name(void *user, const char *name, size_t len,
                              bool inplace, const cfx_variant *how,
                              const char *types)
{
    struct gathering *g = user;
    cfx_target t = {.name = g->name,
                    .op = g->op,
                    .inplace = inplace,
                    .how = how,
                    .types = types};
    bool *added = inplace ? &g->inplace : &g->plain;
    if (len < g->prefix || memcmp(name, g->name, g->prefix) ||
        (!how && !types && *added) || (g->out && inplace))
        return CFX_OK;
    *added = *added || (!how && !types);
    return g->out ? add_out(g, t)
                  : add_target(g->r, g->name, g->len, t, g->err);
}

/* *out is the chain of `len` bytes of g->name, or NULL. */
static cfx_status gather(struct gathering *g, size_t len, cfx_target **out)
{
    cfx_status st = CFX_OK;
    g->len = len;
    for (size_t i = 0; i < g->r->nops && !st; i++)
        for (g->op = g->r->ops[i]; g->op && !st; g->op = g->op->next) {
            g->plain = g->inplace = false;
            st = cfx_op__typed_names(g->op, gather_name, g);
        }
    if (st)
        cfx_map_remove(&g->r->names, g->name, len);
    else
        *out = chain_of(g->r, g->name, len);
    return st;
}

/* The length of a namespace whose operators have overloads for `out`; or 0. */
static size_t namespace_of(const char *name)
{
    static const char *const known[] = {"aten.", "torch.ops.cfx."};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strncmp(name, known[i], strlen(known[i])))
            return strlen(known[i]);
    return 0;
}

/* "aten.add.out", "aten.eq.Scalar_out": all overloads of add, of eq. */
static cfx_status find_out(registry *r, const char *name, size_t len,
                           cfx_target **out, cfx_error *err)
{
    const char *dot = strrchr(name, '.');
    size_t space = namespace_of(name);
    *out = NULL;
    if (!space || dot < name + space || strcmp(name + len - 3, "out") ||
        !strchr("._", name[len - 4]))
        return CFX_OK;
    struct gathering g = {.r = r, .name = name, .out = true, .err = err};
    g.prefix = (size_t)(dot + 1 - name);
    return gather(&g, len, out);
}

/* "aten.slice": all overloads of slice, as torch.ops.aten.slice in Dynamo's
 * graphs. */
static cfx_status find_aten_packet(registry *r, const char *name, size_t len,
                                   cfx_target **out, cfx_error *err)
{
    char prefix[256];
    *out = NULL;
    if (strncmp(name, "aten.", 5) || strchr(name + 5, '.') ||
        len + 2 > sizeof(prefix))
        return CFX_OK;
    memcpy(prefix, name, len);
    prefix[len] = '.';
    prefix[len + 1] = 0;
    struct gathering g = {
        .r = r, .name = prefix, .prefix = len + 1, .err = err};
    return gather(&g, len, out);
}

/* *out is NULL if there is no such name. */
static cfx_status find(const cfx_target **out, cfx_context *ctx,
                       const char *prefix, const char *name, cfx_error *err)
{
    char buf[256];
    size_t a = strlen(prefix), b = strlen(name);
    registry *r = registry_of(ctx);
    *out = NULL;
    if (!r)
        return cfx_no_memory(err);
    if (a + b >= sizeof(buf))
        return CFX_OK;
    memcpy(buf, prefix, a);
    memcpy(buf + a, name, b + 1);
    cfx_mutex_lock(&r->lock);
    cfx_target *t = chain_of(r, buf, a + b);
    cfx_status st = t ? CFX_OK : find_out(r, buf, a + b, &t, err);
    if (!st && !t)
        st = find_aten_packet(r, buf, a + b, &t, err);
    if (!st && t)
        st = resolve(r, t, err);
    cfx_mutex_unlock(&r->lock);
    if (!st)
        *out = t;
    return st;
}

static cfx_status find_function(const cfx_target **out, cfx_context *ctx,
                                const char *name, cfx_error *err)
{
    static const char *const spelled[][2] = {
        {"_operator.", "operator."},
        {"torch.ops.aten.", "aten."},
        {"torch.ops.aten.special_", "aten."},
        {"aten.special_", "aten."},
        {"torch._C._nn.", "torch.nn.functional."},
        {"torch.Tensor.", "Tensor."},
        {"torch._C.TensorBase.", "Tensor."},
        {"torch.functional.", "torch."},
        {"torch._tensor.", "Tensor."},
        {"torch.special.", "torch."},
        {"torch._C._special.special_", "torch."},
        {"torch._C._special.special_", "torch.special."},
        {"torch._C._linalg.linalg_", "torch.linalg."},
        {"torch.ops.", ""},
    };
    cfx_status st = find(out, ctx, "", name, err);
    for (size_t i = 0; !st && !*out && i < sizeof(spelled) / sizeof(*spelled);
         i++) {
        size_t n = strlen(spelled[i][0]);
        if (!strncmp(name, spelled[i][0], n))
            st = find(out, ctx, spelled[i][1], name + n, err);
    }
    return st;
}

void cfx_target__nearest(cfx_nearest *n, cfx_context *ctx, bool method)
{
    static const char prefix[] = "Tensor.";
    registry *r = registry_of(ctx);
    if (!r)
        return;
    cfx_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->names.cap; i++) {
        const cfx_map_entry *e = &r->names.entry[i];
        bool is_method = e->key && e->len > 7 && !memcmp(e->key, prefix, 7);
        size_t skip = method ? 7 : 0;
        if (e->key && is_method == method)
            cfx_nearest_try(n, e->key + skip, e->len - skip);
    }
    cfx_mutex_unlock(&r->lock);
}

/* Is the identifier what generated code makes of a qualified name? */
static bool is_identifier_of(const char *name, size_t len, const char *s)
{
    if (strlen(s) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (s[i] != (name[i] == '.' ? '_' : name[i]))
            return false;
    return true;
}

const char *cfx_target__of_identifier(cfx_context *ctx, const char *s)
{
    registry *r = registry_of(ctx);
    const char *found = NULL;
    bool unique = true;
    if (!r)
        return NULL;
    cfx_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->names.cap; i++) {
        const cfx_map_entry *e = &r->names.entry[i];
        if (e->key && memchr(e->key, '.', e->len) &&
            is_identifier_of(e->key, e->len, s)) {
            unique = !found;
            found = ((const cfx_target *)e->v.p)->name;
        }
    }
    cfx_mutex_unlock(&r->lock);
    return unique ? found : NULL;
}

cfx_status cfx_target__find(const cfx_target **out, cfx_context *ctx,
                            const char *name, bool method, cfx_error *err)
{
    cfx_status st = method ? find(out, ctx, "Tensor.", name, err)
                           : find_function(out, ctx, name, err);
    if (st || *out)
        return st;
    if (!err)
        return CFX_EOPERATOR;
    cfx_nearest near;
    cfx_nearest_init(&near, name, strlen(name));
    cfx_target__nearest(&near, ctx, method);
    const char *hint = cfx_nearest_text(&near);
    return cfx_fail(err, CFX_EOPERATOR, "unknown %s '%s'%s",
                    method ? "method" : "function", name,
                    *hint ? hint : ": no registered operator has this alias");
}

const cfx_target *cfx_find_function(cfx_context *ctx, const char *name)
{
    const cfx_target *t;
    cfx_target__find(&t, ctx, name, false, NULL);
    return t;
}

const cfx_target *cfx_find_method(cfx_context *ctx, const char *name)
{
    const cfx_target *t;
    cfx_target__find(&t, ctx, name, true, NULL);
    return t;
}

/* A user's operator precedes operators with its names. */
static cfx_status add_user_op(registry *r, const cfx_op *op, cfx_error *err)
{
    const cfx_schema *s;
    for (const cfx_op *o = op; o; o = o->next) {
        cfx_status st = cfx_check_abi(&o->abi, sizeof(*o), "cfx_op", err);
        if (!st)
            st = op_schema(r, o, &s, err);
        for (const cfx_variant *v = o->variants; !st && v && v->schema; v++)
            st = schema_of(r, v->schema, true, &s, err);
        if (st)
            return st;
    }
    r->user = op;
    return add_op(r, op, err);
}

cfx_status cfx_register_op(cfx_context *ctx, const cfx_op *op, cfx_error *err)
{
    registry *r = registry_of(ctx);
    if (!r)
        return cfx_no_memory(err);
    cfx_mutex_lock(&r->lock);
    cfx_status st = add_user_op(r, op, err);
    cfx_mutex_unlock(&r->lock);
    return st;
}

static struct own_cost *own_cost(const registry *r, const cfx_op *op)
{
    for (size_t i = 0; i < r->ncosts; i++)
        if (r->costs[i].op == op)
            return &r->costs[i];
    return NULL;
}

static cfx_status set_cost(registry *r, const cfx_op *op, cfx_cost_rule *rule,
                           cfx_error *err)
{
    struct own_cost *at = own_cost(r, op);
    if (!rule) {
        if (at)
            *at = r->costs[--r->ncosts];
        return CFX_OK;
    }
    if (!at) {
        if (cfx_grow(r->ctx, r->costs, r->costs_cap, r->ncosts + 1, err))
            return CFX_ENOMEM;
        at = &r->costs[r->ncosts++];
    }
    *at = (struct own_cost){op, rule};
    return CFX_OK;
}

cfx_status cfx_set_cost(cfx_context *ctx, const cfx_op *op,
                        cfx_cost_rule *rule, cfx_error *err)
{
    registry *r = registry_of(ctx);
    if (!r)
        return cfx_no_memory(err);
    cfx_mutex_lock(&r->lock);
    cfx_status st = set_cost(r, op, rule, err);
    cfx_mutex_unlock(&r->lock);
    return st;
}

cfx_cost_rule *cfx_op__cost(cfx_context *ctx, const cfx_op *op)
{
    registry *r = registry_of(ctx);
    if (op->flags & CFX_OP__OUT)
        op = ((const cfx_out_op *)op)->of;
    const struct own_cost *own = r && r->ncosts ? own_cost(r, op) : NULL;
    return own ? own->rule : op->cost;
}

const cfx_op *cfx_op_at(cfx_context *ctx, size_t i)
{
    registry *r = registry_of(ctx);
    return r && i < r->nops ? r->ops[i] : NULL;
}

/* The first cache slot of an operator. */
static size_t known_at(const cfx_op *op)
{
    return (size_t)(cfx_mix64((uint64_t)(uintptr_t)op) >> 32) % KNOWN_SLOTS;
}

/* Cache the schema if a slot is free; with the lock held. */
static void remember(registry *r, const cfx_op *op, const cfx_schema *s)
{
    size_t at = known_at(op);
    for (int i = 0; i < KNOWN_PROBES; i++, at = (at + 1) % KNOWN_SLOTS) {
        if (atomic_load_explicit(&r->known[at], memory_order_relaxed))
            continue;
        known_op *k = cfx_arena_alloc(&r->arena, sizeof(*k));
        if (k) {
            *k = (known_op){op, s};
            atomic_store_explicit(&r->known[at], k, memory_order_release);
        }
        return;
    }
}

const cfx_schema *cfx_op_schema(cfx_context *ctx, const cfx_op *op)
{
    registry *r = registry_of(ctx);
    const cfx_schema *s = NULL;
    if (!r)
        return NULL;
    size_t at = known_at(op);
    for (int i = 0; i < KNOWN_PROBES; i++, at = (at + 1) % KNOWN_SLOTS) {
        const known_op *k = atomic_load_explicit(&r->known[at],
                                                 memory_order_acquire);
        if (!k)
            break;
        if (k->op == op)
            return k->schema;
    }
    cfx_mutex_lock(&r->lock);
    if (op_schema(r, op, &s, NULL))
        s = NULL;
    if (s)
        remember(r, op, s);
    cfx_mutex_unlock(&r->lock);
    return s;
}

cfx_status cfx_schema_parse(const cfx_schema **out, cfx_context *ctx,
                            const char *text, cfx_error *err)
{
    registry *r = registry_of(ctx);
    if (!r)
        return cfx_no_memory(err);
    cfx_mutex_lock(&r->lock);
    cfx_status st = schema_of(r, text, false, out, err);
    cfx_mutex_unlock(&r->lock);
    return st;
}
