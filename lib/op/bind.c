/*
 * bind -- bind arguments to a signature.
 *
 * Arguments are those of Python: positional or keywords, a method's self
 * first. The result has one value for each parameter, in the schema's order,
 * with defaults, and lists in canonical form. A node matches any type; its
 * value is checked in the run (cfx_bound__mismatch).
 */
#include <stdio.h>

#include <cfx/nearest.h>

#include "op/op_impl.h"

static cfx_status own(cfx_bound *b, cfx_value v, cfx_error *err)
{
    if (!v.kind)
        return cfx_no_memory(err);
    if (b->nowned == b->cap) {
        uint32_t cap = b->cap * 2;
        cfx_value *p = cfx_alloc(b->ctx, cap * sizeof(*p));
        if (!p) {
            cfx_value_unref(v);
            return cfx_no_memory(err);
        }
        memcpy(p, b->owned, b->nowned * sizeof(*p));
        if (b->owned != b->first)
            cfx_free(b->ctx, b->owned, b->cap * sizeof(*p));
        b->owned = p;
        b->cap = cap;
    }
    b->owned[b->nowned++] = v;
    return CFX_OK;
}

/* The values are set one by one. */
static void bound_init(cfx_bound *b, cfx_context *ctx)
{
    b->ctx = ctx;
    b->target = NULL;
    b->owned = b->first;
    b->cap = sizeof(b->first) / sizeof(*b->first);
    b->nowned = 0;
}

void cfx_bound_release(cfx_bound *b)
{
    for (uint32_t i = 0; i < b->nowned; i++)
        cfx_value_unref(b->owned[i]);
    if (b->owned && b->owned != b->first)
        cfx_free(b->ctx, b->owned, b->cap * sizeof(*b->owned));
    b->owned = NULL;
    b->nowned = b->cap = 0;
}

static bool accepts(uint32_t kinds, cfx_value v)
{
    return v.kind == CFX_NODE || kinds >> v.kind & 1;
}

/* Does parameter k accept a value, or one of the kinds `also`? */
static bool fits(const cfx_target *t, int k, cfx_value v, uint32_t also)
{
    const cfx_param *p = &t->schema->params[k];
    if (!((cfx_target__kinds(t, k) | also) >> v.kind & 1))
        return false;
    if (!p->list || !cfx_value_is_seq(v))
        return true;
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        if (!((p->item_kinds | also) >> v.u.seq->item[i].kind & 1))
            return false;
    return true;
}

/* The first of operands that are numbers only, or -1. */
static int first_number(const cfx_schema *s, const cfx_value *in)
{
    int k = 0;
    if (!cfx_schema__lacks_tensor(s, in))
        return -1;
    while (!(s->operands >> k & 1))
        k++;
    return k;
}

static int first_misfit(const cfx_target *t, const cfx_value *in,
                        uint32_t also)
{
    for (int k = 0; k < t->schema->nparams; k++)
        if (!fits(t, k, in[k], also))
            return k;
    return first_number(t->schema, in);
}

typedef struct short_text {
    char text[64];
} short_text;

/* The unqualified name of a function, for messages: "sum" for
 * "aten.sum.default". */
static short_text short_name(const cfx_schema *s)
{
    short_text out;
    bool aten = !strncmp(s->name, "aten.", 5);
    const char *dot = strrchr(s->name, '.');
    const char *name = aten ? s->name + 5 : dot ? dot + 1 : s->name;
    snprintf(out.text, sizeof(out.text), "%.*s", (int)strcspn(name, "."),
             name);
    return out;
}

static cfx_status wrong_type(const cfx_schema *s, const cfx_param *p,
                             cfx_value v, cfx_error *err)
{
    char type[32];
    cfx_param__type_name(p, type, sizeof(type));
    return cfx_fail(err, CFX_EINVAL, "%s(): argument '%s' must be %s, not %s",
                    short_name(s).text, p->name, type, cfx_kind_name(v.kind));
}

/* Convert a value to the canonical form for rules. */
static cfx_status fit(cfx_bound *b, const cfx_schema *s, const cfx_param *p,
                      cfx_value v, cfx_value *out, cfx_error *err)
{
    if (!accepts(p->kinds, v))
        return wrong_type(s, p, v, err);
    *out = v;
    if (p->base == CFX_T_FLOAT && v.kind == CFX_INT)
        *out = cfx_float((double)v.u.i);
    if (!p->list || v.kind == CFX_NONE || v.kind == CFX_NODE ||
        v.kind == CFX_STR)
        return CFX_OK;
    uint32_t kinds = p->item_kinds;
    uint32_t n = p->list_size;
    if (cfx_value_is_seq(v)) {
        for (uint32_t i = 0; i < v.u.seq->len; i++)
            if (!accepts(kinds, v.u.seq->item[i]))
                return wrong_type(s, p, v.u.seq->item[i], err);
        /* The rule checks the length of a list without a size. */
        uint32_t len = v.u.seq->len;
        if (n > 1 && len > 1 && len != n)
            return cfx_fail(err, CFX_EINVAL,
                            "%s(): argument '%s' takes %u numbers, not %u",
                            short_name(s).text, p->name, n, len);
        if (!n || len == n || len != 1)
            return CFX_OK;
        v = v.u.seq->item[0];
    }
    cfx_value item[9];
    for (uint32_t i = 0; i < n; i++)
        item[i] = v;
    *out = cfx_tuple_new(b->ctx, n, item);
    return own(b, *out, err);
}

/* x.view(2, 3), meshgrid(x, y): the remaining arguments form the first int
 * list, or a `[*]` list, unless that leaves none for a parameter without default. */
static bool takes_rest(const cfx_schema *s, int k, const cfx_value *args,
                       size_t nargs)
{
    const cfx_param *p = &s->params[k];
    if ((k > 1 && !p->rest) || !p->list ||
        (p->base != CFX_T_INT && !p->rest) || (size_t)k >= nargs ||
        (k + 1 < s->npositional && s->params[k + 1].required))
        return false;
    if (nargs == (size_t)k + 1)
        return !p->list_size && args[k].kind != CFX_NODE &&
               accepts(p->item_kinds, args[k]);
    for (size_t i = (size_t)k; i < nargs; i++)
        if (!accepts(p->item_kinds, args[i]))
            return false;
    return nargs > (size_t)s->npositional || !accepts(p->kinds, args[k]) ||
           !p->list_size;
}

static cfx_status bind_positional(cfx_bound *b, const cfx_schema *s,
                                  const cfx_value *args, size_t nargs,
                                  bool *given, cfx_error *err)
{
    for (int k = 0; (size_t)k < nargs; k++) {
        if (k < s->npositional && takes_rest(s, k, args, nargs)) {
            cfx_value rest = cfx_tuple_new(b->ctx, nargs - (size_t)k,
                                           args + k);
            if (own(b, rest, err))
                return CFX_ENOMEM;
            given[k] = true;
            return fit(b, s, &s->params[k], rest, &b->in[k], err);
        }
        if (k >= s->npositional)
            return cfx_fail(
                err, CFX_EINVAL,
                "%s() takes %d positional arguments but %zu were given",
                short_name(s).text, s->npositional, nargs);
        if (args[k].kind == CFX_ABSENT)
            continue;
        cfx_status st = fit(b, s, &s->params[k], args[k], &b->in[k], err);
        if (st)
            return st;
        given[k] = true;
    }
    return CFX_OK;
}

static cfx_status unexpected(const cfx_schema *s, const char *name,
                             cfx_error *err)
{
    cfx_nearest near;
    cfx_nearest_init(&near, name, strlen(name));
    for (int k = 0; k < s->nparams; k++)
        cfx_nearest_try(&near, s->params[k].name, strlen(s->params[k].name));
    return cfx_fail(err, CFX_EINVAL,
                    "%s() got an unexpected keyword argument '%s'%s",
                    short_name(s).text, name, cfx_nearest_text(&near));
}

static cfx_status bind_keywords(cfx_bound *b, const cfx_schema *s,
                                const cfx_value *kwargs, size_t nkwargs,
                                bool *given, cfx_error *err)
{
    for (size_t i = 0; i < nkwargs; i++) {
        const char *name = kwargs[2 * i].u.str->text;
        cfx_value v = kwargs[2 * i + 1];
        int k = cfx_param__named(s, name);
        if (k < 0 && !strcmp(name, "out") && v.kind == CFX_NONE)
            continue;
        if (k < 0)
            return unexpected(s, name, err);
        if (given[k])
            return cfx_fail(err, CFX_EINVAL,
                            "%s() got multiple values for argument '%s'",
                            short_name(s).text, name);
        cfx_status st = fit(b, s, &s->params[k], v, &b->in[k], err);
        if (st)
            return st;
        given[k] = true;
    }
    return CFX_OK;
}

static cfx_status missing(const cfx_schema *s, int k, cfx_error *err)
{
    return cfx_fail(err, CFX_EINVAL,
                    "%s() missing required argument '%s' (position %d)",
                    short_name(s).text, s->params[k].name, k + 1);
}

static cfx_status bind_one(cfx_bound *b, const cfx_schema *s,
                           const cfx_value *args, size_t nargs,
                           const cfx_value *kwargs, size_t nkwargs,
                           cfx_error *err)
{
    bool given[CFX_MAX_PARAMS] = {false};
    cfx_status st = bind_positional(b, s, args, nargs, given, err);
    if (!st)
        st = bind_keywords(b, s, kwargs, nkwargs, given, err);
    for (int k = 0; !st && k < s->nparams; k++) {
        if (given[k])
            continue;
        if (s->params[k].required)
            st = missing(s, k, err);
        b->in[k] = s->params[k].init;
    }
    return st;
}

/* Map a variant's arguments by name: those that the operator lacks must have
 * their default, except `inplace`. */
static cfx_status map_variant(cfx_bound *b, const cfx_target *t, bool *inplace,
                              cfx_error *err)
{
    const cfx_schema *from = t->variant, *to = t->schema;
    cfx_value in[CFX_MAX_PARAMS];
    memcpy(in, b->in, sizeof(in));
    for (int k = 0; k < to->nparams; k++)
        b->in[k] = to->params[k].init;
    for (int k = 0; k < from->nparams; k++) {
        const cfx_param *p = &from->params[k];
        int at = cfx_param__named(to, p->name);
        if (at >= 0) {
            cfx_status st = fit(b, to, &to->params[at], in[k], &b->in[at],
                                err);
            if (st)
                return st;
        } else if (!strcmp(p->name, "inplace")) {
            *inplace = in[k].u.i != 0;
        } else if (!cfx_value_equal(in[k], p->init)) {
            return cfx_fail(
                err, CFX_EUNSUPPORTED,
                "%s(): argument '%s' is only supported at its default",
                short_name(from).text, p->name);
        }
    }
    return CFX_OK;
}

static cfx_status lower_variant(cfx_bound *b, const cfx_target *t,
                                bool *inplace, cfx_error *err)
{
    if (!t->how)
        return CFX_OK;
    if (!t->how->lower)
        return map_variant(b, t, inplace, err);
    cfx_call call = {
        .ctx = b->ctx, .err = err, .op = t->op, .schema = t->schema};
    cfx_value in[CFX_MAX_PARAMS];
    if (t->op->flags & CFX_OP__OUT) {
        call.op = ((const cfx_out_op *)t->op)->of;
        call.schema = ((const cfx_out_op *)t->op)->schema;
    }
    memcpy(in, b->in, sizeof(in));
    for (int k = 0; k < t->schema->nparams; k++)
        b->in[k] = t->schema->params[k].init;
    cfx_status st = t->how->lower(&call, in, b->in);
    if (t->op->flags & CFX_OP__OUT)
        b->in[t->schema->nparams - 1] = in[t->variant->nparams - 1];
    *inplace |= call.inplace;
    return st;
}

/* Check what was not bound to the operator's own schema: the arguments of a
 * variant, the tensor of a method or of a call in place, and numbers without
 * a tensor. An argument that a node's value decides, as softmax's axis, is None
 * so far. */
static cfx_status check_lowered(const cfx_bound *b, const cfx_target *t,
                                cfx_error *err)
{
    if (!t->how && !t->inplace && !t->method && !t->schema->operands)
        return CFX_OK;
    uint32_t also = 1u << CFX_NODE;
    for (int k = 0; k < t->schema->nparams; k++)
        if (b->in[k].kind == CFX_NODE)
            also |= 1u << CFX_NONE;
    int k = first_misfit(t, b->in, also);
    return k < 0 ? CFX_OK
                 : wrong_type(t->schema, &t->schema->params[k], b->in[k], err);
}

static bool gives_out(const cfx_value *kwargs, size_t nkwargs)
{
    for (size_t i = 0; i < nkwargs; i++)
        if (!strcmp(kwargs[2 * i].u.str->text, "out"))
            return kwargs[2 * i + 1].kind != CFX_NONE;
    return false;
}

bool cfx_target__misses_out(const cfx_target *t, const cfx_value *kwargs,
                            size_t nkwargs)
{
    return t->op->flags & CFX_OP__OUT && !gives_out(kwargs, nkwargs);
}

/* Fail with a message that begins with the operator's public name. */
static cfx_status fail_as_called(const cfx_target *t, const cfx_error *e,
                                 cfx_error *err)
{
    char buf[64];
    short_text name = short_name(t->variant);
    size_t n = strlen(name.text);
    const char *shown = cfx_op__shown_name(t->op, t->schema, buf, sizeof(buf));
    if (t->variant != t->schema || shown != buf ||
        strncmp(e->text, name.text, n))
        return cfx_fail_from(err, e);
    return cfx_fail(err, e->code, "%s%s", shown, e->text + n);
}

cfx_status cfx_bind(cfx_bound *b, cfx_context *ctx, const cfx_target *chain,
                    cfx_args a, cfx_error *err)
{
    /* Not {0}: clearing the texts would take longer than most bindings. */
    cfx_error first, e, *said = err ? &e : NULL;
    const cfx_target *of = chain;
    first.code = CFX_OK;
    first.text[0] = '\0';
    for (const cfx_target *t = chain; t; t = t->next) {
        bool inplace = t->inplace;
        if (t != chain && cfx_target__misses_out(t, a.kwargs, a.nkwargs))
            continue;
        e.code = CFX_OK;
        e.text[0] = '\0';
        bound_init(b, ctx);
        cfx_status st = bind_one(b, t->variant, a.args, a.nargs, a.kwargs,
                                 a.nkwargs, said);
        if (!st)
            st = lower_variant(b, t, &inplace, said);
        if (!st)
            st = check_lowered(b, t, said);
        if (!st) {
            b->target = t;
            b->inplace = inplace;
            return CFX_OK;
        }
        cfx_bound_release(b);
        e.code = st;
        if (!first.code || st == CFX_ENOMEM ||
            cfx_target__tells_more(t, of, a.nargs) ||
            (t->op->flags & ~of->op->flags & CFX_OP__OUT)) {
            first = e;
            of = t;
        }
        if (st == CFX_ENOMEM)
            break;
    }
    if (!first.code)
        first.code = CFX_EINVAL;
    return err ? fail_as_called(of, &first, err) : first.code;
}

cfx_status cfx_bind_schema(cfx_bound *b, cfx_context *ctx,
                           const cfx_schema *schema, cfx_args a,
                           cfx_error *err)
{
    bound_init(b, ctx);
    cfx_status st = bind_one(b, schema, a.args, a.nargs, a.kwargs, a.nkwargs,
                             err);
    if (st)
        cfx_bound_release(b);
    return st;
}

int cfx_bound__mismatch(const cfx_target *t, const cfx_value *in)
{
    return first_misfit(t, in, 0);
}

/* Would `fit` make a list of this value: of one number, or of a list of one? */
static bool is_repeated(const cfx_param *p, cfx_value v)
{
    if (cfx_value_is_seq(v))
        return p->list_size > 1 && v.u.seq->len != p->list_size;
    return v.kind != CFX_NONE && v.kind != CFX_STR;
}

bool cfx_bind__ordered(const cfx_target *t, const cfx_value *args, size_t n,
                       cfx_value in[CFX_MAX_PARAMS])
{
    const cfx_schema *schema = t->schema;
    if (n > (size_t)schema->nparams)
        return false;
    for (size_t k = 0; k < (size_t)schema->nparams; k++) {
        const cfx_param *p = &schema->params[k];
        in[k] = k < n ? args[k] : CFX_NOTHING;
        if (in[k].kind == CFX_ABSENT) {
            if (p->required)
                return false;
            in[k] = p->init;
        } else if (!fits(t, (int)k, in[k], 0) ||
                   (p->list && is_repeated(p, in[k]))) {
            return false;
        } else if (p->base == CFX_T_FLOAT && in[k].kind == CFX_INT) {
            in[k] = cfx_float((double)in[k].u.i);
        }
    }
    return !cfx_schema__lacks_tensor(schema, in);
}
