/*
 * scope -- scope classes, value ownership, the first error, and dispatch of
 * calls to hooks.
 *
 * The classes that know modules and graphs are above: interp/walk/scopes.c.
 */
#define CFX_NO_PLACES
#include <cfx/scope.h>

#include <stdio.h>

#include "base/class.h"
#include "op/infer.h"
#include "op/op_impl.h"
#include "op/scope_impl.h"

/* ---- Classes ---- */

const cfx_scope_class *cfx_scope_class_with(const cfx_scope_class *cls,
                                            size_t offset)
{
    return cfx_class__with(cls, offset);
}

bool cfx_scope__is_a(const cfx_scope *s, const cfx_scope_class *cls)
{
    const cfx_scope_class *at = s->cls;
    while (at && at != cls)
        at = at->super;
    return at != NULL;
}

/* The default hooks of a class without a super. */
static cfx_status refuse(cfx_scope *s, const char *hook)
{
    return cfx_fail(
        &s->error, CFX_EINVAL,
        "scope class '%s' has no hook %s: give it a super, such as cfx_eager_class",
        s->cls->name, hook);
}

static cfx_status no_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    (void)call;
    (void)out;
    return refuse(s, "call_op");
}

static cfx_status no_call_module(cfx_scope *s, struct cfx_module *m,
                                 const char *path, const cfx_value *in,
                                 cfx_value *out)
{
    (void)m;
    (void)path;
    (void)in;
    (void)out;
    return refuse(s, "call_module");
}

static cfx_status no_call_graph(cfx_scope *s, struct cfx_module *m,
                                const char *path, const cfx_unbound_call *c,
                                const cfx_value *in, cfx_value *out)
{
    (void)m;
    (void)path;
    (void)c;
    (void)in;
    (void)out;
    return refuse(s, "call_graph");
}

static cfx_status no_get_attr(cfx_scope *s, struct cfx_module *m,
                              const char *name, cfx_value *out)
{
    (void)m;
    (void)name;
    (void)out;
    return refuse(s, "get_attr");
}

static const cfx_scope_class none = {
    .call_op = no_call_op,
    .call_higher_order = cfx_scope__call_higher_order,
    .call_module = no_call_module,
    .call_graph = no_call_graph,
    .get_attr = no_get_attr,
};

cfx_status cfx_scope__compute(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    (void)s;
    return cfx_call_eager(call, out);
}

cfx_status cfx_scope__propagate(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    (void)s;
    return cfx_call_meta(call, out);
}

/* ---- Life ---- */

void cfx_scope_init(cfx_scope *s, const cfx_scope_class *cls, cfx_context *ctx,
                    cfx_shape_env *env)
{
    *s = (cfx_scope){.cls = cls, .hook = none, .ctx = ctx, .env = env};
    cfx_class__flatten(&s->hook, offsetof(cfx_scope_class, call_op),
                       sizeof(cfx_scope_class), cls);
    for (const cfx_scope_class *at = cls; at; at = at->super)
        s->hook.computes |= at->computes;
}

static void give_back(cfx_scope *s, size_t from)
{
    for (size_t i = from; i < s->nvalues; i++)
        cfx_value_unref(s->values[i]);
    s->nvalues = from;
}

void cfx_scope_release(cfx_scope *s)
{
    if (!s->ctx)
        return;
    give_back(s, 0);
    cfx_free(s->ctx, s->values, s->cap * sizeof(*s->values));
    s->values = NULL;
    s->cap = 0;
}

cfx_status cfx_scope_status(const cfx_scope *s, cfx_error *err)
{
    if (!s->error.code)
        return CFX_OK;
    return cfx_fail_from(err, &s->error);
}

cfx_value cfx_scope_fail(cfx_scope *s, cfx_status code, const char *fmt, ...)
{
    char text[CFX_ERROR_TEXT - 64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cfx_fail(&s->error, code, "%s", text);
    return cfx_none();
}

/* ---- Ownership ---- */

static bool is_counted(cfx_value v)
{
    return v.kind >= CFX_COMPLEX && v.kind != CFX_DTYPE &&
           v.kind != CFX_MEMORY_FORMAT && v.kind != CFX_ELLIPSIS &&
           v.kind != CFX_NODE && v.kind != CFX_MODULE;
}

static cfx_value push(cfx_scope *s, cfx_value v)
{
    if (cfx_grow(s->ctx, s->values, s->cap, s->nvalues + 1, &s->error)) {
        cfx_value_unref(v);
        return cfx_none();
    }
    s->values[s->nvalues++] = v;
    return v;
}

cfx_value cfx_scope_take(cfx_scope *s, cfx_value v)
{
    return is_counted(v) ? push(s, v) : v;
}

/* An absent value marks the start of a frame. */
size_t cfx_scope_enter(cfx_scope *s)
{
    size_t frame = s->nvalues;
    s->depth++;
    push(s, CFX_NOTHING);
    return frame;
}

cfx_value cfx_scope_leave(cfx_scope *s, size_t frame, cfx_value result)
{
    s->depth--;
    if (cfx_scope_failed(s)) {
        give_back(s, frame);
        return cfx_none();
    }
    result = cfx_value_ref(result);
    give_back(s, frame);
    return cfx_scope_take(s, result);
}

void cfx_scope_drop(cfx_scope *s, cfx_value *v)
{
    for (size_t i = s->nvalues;
         is_counted(*v) && i-- > 0 && s->values[i].kind != CFX_ABSENT;)
        if (s->values[i].kind == v->kind && s->values[i].u.str == v->u.str) {
            cfx_value_unref(s->values[i]);
            s->values[i] = cfx_none();
            break;
        }
    *v = cfx_none();
}

/* ---- Calls ---- */

cfx_status cfx_scope__refuse(cfx_scope *s, const cfx_target *t,
                             const cfx_value *in, int k)
{
    const cfx_param *p = &t->schema->params[k];
    char type[32], name[64];
    cfx_param__type_name(p, type, sizeof(type));
    return cfx_fail(&s->error, CFX_EINVAL,
                    "%s: argument '%s' must be %s, not %s",
                    cfx_op__shown_name(t->op, t->schema, name, sizeof(name)),
                    p->name, type, cfx_kind_name(in[k].kind));
}

cfx_status cfx_scope__call_higher_order(cfx_scope *s, cfx_call *call,
                                        cfx_value *out)
{
    cfx_value result = CFX_NOTHING;
    *out = cfx_none();
    cfx_status st = call->op->call_graphs(s, call, &result);
    if (st)
        return st;
    *out = result;
    return CFX_OK;
}

cfx_status cfx_scope__call_bound(cfx_scope *s, const cfx_target *t,
                                 const cfx_value *in, bool inplace,
                                 cfx_value *out)
{
    cfx_call call;
    cfx_status st;
    if (CFX_UNLIKELY(s->autocast != NULL) &&
        s->autocast(s, t, in, inplace, out, &st))
        return st;
    /* Set field by field: clearing `out` and `alias`, which are valid up to
     * nout, would cost as much as a small operator. */
    call.ctx = s->ctx;
    call.env = s->env;
    call.err = &s->error;
    call.node = s->node;
    call.target = CFX_NOTHING;
    call.args = call.kwargs = NULL;
    call.nargs = call.nkwargs = 0;
    call.op = t->op;
    call.schema = t->schema;
    call.in = in;
    call.inplace = inplace;
    call.meta = false;
    call.known = false;
    call.device = 0;
    call.nout = 0;
    call.result = CFX_NOTHING;
    call.work = NULL;
    call.work_size = 0;
    call.work_ctx = NULL;
    call.into = NULL;
    call.state = NULL;
    call.inner = NULL;
    st = CFX_UNLIKELY(t->op->call_graphs)
             ? s->hook.call_higher_order(s, &call, out)
             : s->hook.call_op(s, &call, out);
    if (CFX_UNLIKELY(st)) {
        *out = CFX_NOTHING;
        cfx_fail(&s->error, st, "%s returned %s without a message",
                 t->schema->name, cfx_status_name(st));
    }
    return st;
}

/* Like call_bound, for arguments whose kinds are not checked yet. */
static cfx_status call_checked(cfx_scope *s, const cfx_target *t,
                               const cfx_bound *b, bool inplace,
                               cfx_value *out)
{
    int k = cfx_bound__mismatch(t, b->in);
    return k < 0 ? cfx_scope__call_bound(s, t, b->in, inplace, out)
                 : cfx_scope__refuse(s, t, b->in, k);
}

/* ---- Tensors that stand for numbers ---- */

enum { MOST_ARGS = 2 * CFX_MAX_PARAMS, MOST_PLACES = 4 };

/* Arguments with keywords last, and the numbers in those that are tensors of
 * rank 0. */
struct numbered {
    cfx_value v[MOST_ARGS];
    cfx_value number[MOST_PLACES];
    size_t place[MOST_PLACES];
    size_t n;
};

static bool is_bare(cfx_value v)
{
    return v.kind == CFX_TENSOR && !v.u.tensor->rank &&
           v.u.tensor->dtype != CFX_BOOL;
}

static bool holds_bare(cfx_value v)
{
    if (!cfx_value_is_seq(v))
        return is_bare(v);
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        if (is_bare(v.u.seq->item[i]))
            return true;
    return false;
}

/* The scope fails when out of memory. */
static bool is_number(cfx_scope *s, cfx_call *call, cfx_value tensor,
                      cfx_value *out)
{
    cfx_status st = cfx_infer_number(call, tensor.u.tensor, out);
    if (st == CFX_ENOMEM)
        cfx_no_memory(&s->error);
    return !st;
}

/* The number in a tensor, or a list with numbers for its tensors; owned by the
 * scope. Absent on failure. */
static cfx_value as_numbers(cfx_scope *s, cfx_value v)
{
    cfx_error ignored = {0};
    cfx_call call = {
        .ctx = s->ctx, .env = s->env, .err = &ignored, .meta = s->env != NULL};
    cfx_value item[MOST_ARGS];
    if (!cfx_value_is_seq(v))
        return is_number(s, &call, v, &item[0]) ? item[0] : CFX_NOTHING;
    if (v.u.seq->len > MOST_ARGS)
        return CFX_NOTHING;
    for (uint32_t i = 0; i < v.u.seq->len; i++) {
        item[i] = v.u.seq->item[i];
        if (is_bare(item[i]) && !is_number(s, &call, item[i], &item[i]))
            return CFX_NOTHING;
    }
    return cfx_list_of(s, (cfx_kind)v.kind, v.u.seq->len, item);
}

static bool find_numbers(cfx_scope *s, struct numbered *a, size_t nargs,
                         size_t nkwargs)
{
    for (size_t i = 0; i < nargs + 2 * nkwargs; i++) {
        if (!holds_bare(a->v[i]))
            continue;
        if (a->n == MOST_PLACES)
            return false;
        a->number[a->n] = as_numbers(s, a->v[i]);
        if (a->number[a->n].kind == CFX_ABSENT || cfx_scope_failed(s))
            return false;
        a->place[a->n++] = i;
    }
    return a->n > 0;
}

static unsigned count_bits(unsigned set)
{
    unsigned n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

/* Replace as few tensors as possible by numbers, the last ones first, since
 * the first are mostly tensors. There are at most MOST_PLACES candidates, so at
 * most 16 subsets of them. The scope fails when out of memory. */
static bool bind_numbers(cfx_scope *s, cfx_bound *b, const cfx_target *target,
                         const struct numbered *a, size_t nargs,
                         size_t nkwargs)
{
    struct numbered with = *a;
    cfx_error ignored;
    for (unsigned bits = 1; bits <= a->n; bits++)
        for (unsigned set = 1u << a->n; --set;) {
            if (count_bits(set) != bits)
                continue;
            for (size_t i = 0; i < a->n; i++)
                with.v[a->place[i]] = set >> i & 1 ? a->number[i]
                                                   : a->v[a->place[i]];
            ignored.code = CFX_OK;
            cfx_status st = cfx_bind(
                b, s->ctx, target,
                (cfx_args){with.v, nargs, with.v + nargs, nkwargs}, &ignored);
            if (!st && cfx_bound__mismatch(b->target, b->in) < 0)
                return true;
            if (!st)
                cfx_bound_release(b);
            if (st == CFX_ENOMEM) {
                cfx_no_memory(&s->error);
                return false;
            }
        }
    return false;
}

bool cfx_scope__call_with_numbers(cfx_scope *s, const cfx_target *target,
                                  const cfx_value *args, size_t nargs,
                                  const cfx_value *kwargs, size_t nkwargs,
                                  cfx_value *out, cfx_status *st)
{
    struct numbered a = {.n = 0};
    cfx_bound b = {0};
    if (nargs + 2 * nkwargs > MOST_ARGS || cfx_scope_failed(s))
        return false;
    if (nargs)
        memcpy(a.v, args, nargs * sizeof(*args));
    if (nkwargs)
        memcpy(a.v + nargs, kwargs, 2 * nkwargs * sizeof(*kwargs));
    size_t frame = cfx_scope_enter(s);
    bool bound = find_numbers(s, &a, nargs, nkwargs) &&
                 bind_numbers(s, &b, target, &a, nargs, nkwargs);
    if (bound) {
        *st = cfx_scope__call_bound(s, b.target, b.in, b.inplace, out);
        cfx_bound_release(&b);
    }
    cfx_scope_leave(s, frame, cfx_none());
    if (bound || !cfx_scope_failed(s))
        return bound;
    *st = s->error.code;
    return true;
}

static cfx_status spell_target(cfx_scope *s, const cfx_target *t, cfx_args a,
                               cfx_value *out)
{
    cfx_unbound_call c = {t->name,  t->method, t,        a.args,
                          a.kwargs, a.nargs,   a.nkwargs};
    c.name += t->method ? strlen("Tensor.") : 0;
    return s->hook.record_call(s, &c, out);
}

cfx_status cfx_scope_call_target(cfx_scope *s, const cfx_target *target,
                                 cfx_args a, cfx_value *out)
{
    cfx_bound b = {0};
    *out = cfx_none();
    if (cfx_scope_failed(s))
        return s->error.code;
    if (cfx_scope__records(s))
        return spell_target(s, target, a, out);
    cfx_error e;
    e.code = CFX_OK;
    cfx_status st = cfx_bind(&b, s->ctx, target, a, &e);
    if (st == CFX_EINVAL &&
        cfx_scope__call_with_numbers(s, target, a.args, a.nargs, a.kwargs,
                                     a.nkwargs, out, &st))
        return st;
    if (st)
        return cfx_fail_from(&s->error, &e);
    st = call_checked(s, b.target, &b, b.inplace, out);
    cfx_bound_release(&b);
    if (st)
        cfx_fail(&s->error, st, "%s", cfx_status_name(st));
    return st;
}

/* A keyword that no memory was left for is absent. */
static bool keywords_are_strings(cfx_args a)
{
    for (size_t i = 0; i < a.nkwargs; i++)
        if (a.kwargs[2 * i].kind != CFX_STR)
            return false;
    return true;
}

static cfx_value call_named(cfx_scope *s, const char *name, bool method,
                            cfx_args a)
{
    cfx_value out;
    const cfx_target *t;
    if (!keywords_are_strings(a)) {
        cfx_scope_fail(s, CFX_EINVAL, "%s() keywords must be strings", name);
        return cfx_none();
    }
    if (!method && !strncmp(name, "Tensor.", 7)) {
        method = true;
        name += 7;
    }
    if (cfx_scope_failed(s) ||
        cfx_target__find(&t, s->ctx, name, method, &s->error))
        return cfx_none();
    cfx_unbound_call c = {name,     method,  t,        a.args,
                          a.kwargs, a.nargs, a.nkwargs};
    cfx_status st = cfx_scope__records(s)
                        ? s->hook.record_call(s, &c, &out)
                        : cfx_scope_call_target(s, t, a, &out);
    return st ? cfx_none() : cfx_scope_take(s, out);
}

cfx_value cfx_call_function(cfx_scope *s, const char *target, cfx_args a)
{
    return call_named(s, target, false, a);
}

cfx_value cfx_call_method(cfx_scope *s, const char *name, cfx_args a)
{
    return call_named(s, name, true, a);
}

/* Bind arguments that need a conversion like an unbound call. */
static cfx_status bind_unbound(cfx_scope *s, cfx_bound *b, const cfx_target *t,
                               const cfx_value *args, size_t n)
{
    const cfx_schema *schema = t->schema;
    cfx_value given[CFX_MAX_PARAMS * 3];
    size_t np = (size_t)schema->npositional, nkw = 0;
    /* Parameters after the `*` are keywords. */
    for (size_t k = np; k < n; k++)
        if (args[k].kind != CFX_ABSENT) {
            given[nkw++] = cfx_str(s, schema->params[k].name);
            given[nkw++] = args[k];
        }
    return cfx_scope_failed(s)
               ? s->error.code
               : cfx_bind(b, s->ctx, t,
                          (cfx_args){args, n < np ? n : np, given, nkw / 2},
                          &s->error);
}

CFX_NOINLINE
static cfx_status call_unbound(cfx_scope *s, const cfx_target *t,
                               const cfx_value *args, size_t n, bool inplace,
                               cfx_value *out)
{
    cfx_bound b = {0};
    cfx_status st = bind_unbound(s, &b, t, args, n);
    if (!st)
        st = call_checked(s, t, &b, inplace, out);
    cfx_bound_release(&b);
    return st;
}

cfx_value cfx_scope__call_ordered(cfx_scope *s, const cfx_op *op,
                                  const cfx_schema *schema,
                                  const cfx_value *args, size_t n,
                                  bool inplace)
{
    cfx_target t = {
        .op = op, .schema = schema, .variant = schema, .inplace = inplace};
    cfx_value in[CFX_MAX_PARAMS], out = cfx_none();
    cfx_status st;
    if (cfx_scope__records(s))
        st = cfx_scope__record_op(s, op, schema, args, n, inplace, &out);
    else if (cfx_bind__ordered(&t, args, n, in))
        st = cfx_scope__call_bound(s, &t, in, inplace, &out);
    else
        st = call_unbound(s, &t, args, n, inplace, &out);
    if (!st)
        return cfx_scope_take(s, out);
    cfx_fail(&s->error, st, "%s", cfx_status_name(st));
    return cfx_none();
}

/* `op` is a single overload, with arguments in its order: no chain is
 * searched. */
cfx_value cfx_scope_call(cfx_scope *s, const cfx_op *op, const cfx_value *args,
                         size_t n, bool inplace)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    const cfx_schema *schema = cfx_op_schema(s->ctx, op);
    if (schema)
        return cfx_scope__call_ordered(s, op, schema, args, n, inplace);
    cfx_no_memory(&s->error);
    return cfx_none();
}

/* ---- Values ---- */

cfx_value cfx_list_of(cfx_scope *s, cfx_kind kind, size_t n,
                      const cfx_value *items)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_value v = cfx_seq_new(s->ctx, kind, n, items, NULL);
    if (v.kind == CFX_ABSENT) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    return cfx_scope_take(s, v);
}

cfx_value cfx_str(cfx_scope *s, const char *text)
{
    cfx_value v = cfx_str_new(s->ctx, text, strlen(text));
    if (v.kind == CFX_ABSENT) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    return cfx_scope_take(s, v);
}

cfx_value cfx_nth(cfx_scope *s, cfx_value v, int64_t i)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    if (!cfx_value_is_seq(v)) {
        cfx_value args[] = {v, cfx_int(i)};
        return cfx_call_function(s, "operator.getitem", cfx_args_of(args, 2));
    }
    int64_t n = v.u.seq->len;
    if (i < -n || i >= n)
        return cfx_scope_fail(s, CFX_EINVAL, "%s index %lld out of range",
                              cfx_kind_name(v.kind), (long long)i);
    return v.u.seq->item[i < 0 ? i + n : i];
}

cfx_value cfx_size(cfx_scope *s, cfx_value x, int64_t axis)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    if (x.kind != CFX_TENSOR) {
        cfx_value args[] = {x, cfx_int(axis)};
        return cfx_call_method(s, "size", cfx_args_of(args, 2));
    }
    int rank = x.u.tensor->rank;
    if (axis < -rank || axis >= rank)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
            -rank, rank - 1, (long long)axis);
    return cfx_value_of_dim(x.u.tensor->shape[axis < 0 ? axis + rank : axis]);
}

typedef cfx_dim dim_op(cfx_shape_env *env, cfx_dim a, cfx_dim b);

static cfx_dim add_dims(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return cfx_dim_add(env, a, b);
}

static cfx_dim mul_dims(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return cfx_dim_mul(env, a, b);
}

static cfx_value arithmetic(cfx_scope *s, dim_op *op, const char *function,
                            cfx_value a, cfx_value b)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    if (a.kind == CFX_NODE || b.kind == CFX_NODE) {
        cfx_value args[] = {a, b};
        return cfx_call_function(s, function, cfx_args_of(args, 2));
    }
    cfx_dim d = op(s->env, cfx_value_dim(a), cfx_value_dim(b));
    if (cfx_dim_is_bad(d))
        return cfx_scope_fail(s, CFX_EINVAL, "%s of extents overflows",
                              function);
    return cfx_value_of_dim(d);
}

cfx_value cfx_int_add(cfx_scope *s, cfx_value a, cfx_value b)
{
    return arithmetic(s, add_dims, "operator.add", a, b);
}

cfx_value cfx_int_mul(cfx_scope *s, cfx_value a, cfx_value b)
{
    return arithmetic(s, mul_dims, "operator.mul", a, b);
}

cfx_value cfx_int_floordiv(cfx_scope *s, cfx_value a, cfx_value b)
{
    return arithmetic(s, cfx_dim_floordiv, "operator.floordiv", a, b);
}
