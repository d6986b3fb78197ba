/*
 * spell -- unbound calls for scopes that record them, and queries about
 * proxies.
 */
#define CFX_NO_PLACES
#include <stdio.h>

#include "op/op_impl.h"
#include "op/scope_impl.h"

/* ---- The name of a call ---- */

/* The first name in a list with this prefix, or NULL. The list may be one
 * signature. */
static const char *first_name(const char *list, const char *prefix,
                              size_t *len)
{
    size_t n = strlen(prefix);
    for (const char *p = list; p && *p && *p != '('; p += strspn(p, " ")) {
        size_t at = strcspn(p, " (");
        if (!strncmp(p, prefix, n)) {
            *len = at;
            return p;
        }
        p += at;
    }
    return NULL;
}

/* The first name among the aliases, or else among the variants' signatures. */
static const char *find_name(const cfx_op *op, const char *prefix,
                             size_t *len)
{
    const char *name = first_name(op->aliases, prefix, len);
    bool none = !op->aliases || !*op->aliases;
    for (const cfx_variant *v = op->variants; none && !name && v && v->schema;
         v++)
        name = first_name(v->schema, prefix, len);
    return name;
}

static size_t format(char *buf, size_t size, const char *name, size_t len,
                     const char *suffix)
{
    int n = snprintf(buf, size, "%.*s%s", (int)len, name, suffix);
    return n < 0 ? 0 : (size_t)n;
}

/* Print a name without "Tensor.". */
static size_t format_any(char *buf, size_t size, const char *name, size_t len,
                         const char *suffix, bool *method)
{
    *method = !strncmp(name, "Tensor.", 7);
    return *method ? format(buf, size, name + 7, len - 7, suffix)
                   : format(buf, size, name, len, suffix);
}

static size_t spell_inplace(const cfx_op *op, bool *method, char *buf,
                            size_t size)
{
    size_t n;
    bool derived = op->flags & CFX_OP_INPLACE;
    const char *name = derived ? first_name(op->aliases, "Tensor.", &n)
                               : NULL;
    if (name)
        return format_any(buf, size, name, n, "_", method);
    name = first_name(op->inplace_aliases, "torch.", &n);
    if (!name)
        name = first_name(op->inplace_aliases, "", &n);
    if (name)
        return format_any(buf, size, name, n, "", method);
    name = derived ? first_name(op->aliases, "torch.", &n) : NULL;
    return name ? format_any(buf, size, name, n, "_", method) : 0;
}

size_t cfx_op_call_name(const cfx_op *op, bool inplace, bool *method, char *buf,
                        size_t size)
{
    size_t n;
    *method = false;
    if (inplace)
        return spell_inplace(op, method, buf, size);
    const char *name = find_name(op, "torch.", &n);
    if (!name)
        name = find_name(op, "", &n);
    return name ? format_any(buf, size, name, n, "", method) : 0;
}

/* ---- Writing calls down ---- */

cfx_status cfx_scope__record_op(cfx_scope *s, const cfx_op *op,
                                const cfx_schema *schema, const cfx_value *args,
                                size_t n, bool inplace, cfx_value *out)
{
    char name[128];
    cfx_value kwargs[2 * CFX_MAX_PARAMS];
    cfx_unbound_call c = {.name = name, .args = args, .kwargs = kwargs};
    size_t len = cfx_op_call_name(op, inplace, &c.method, name, sizeof(name));
    if (!len || len >= sizeof(name))
        return cfx_fail(&s->error, CFX_EUNSUPPORTED, "%s has no name under "
                        "which a graph could call it", schema->name);
    while (c.nargs < n && schema->params[c.nargs].required &&
           !schema->params[c.nargs].kwarg_only)
        c.nargs++;
    for (size_t k = c.nargs; k < n; k++)
        if (args[k].kind != CFX_ABSENT) {
            kwargs[2 * c.nkwargs] = cfx_str(s, schema->params[k].name);
            kwargs[2 * c.nkwargs++ + 1] = args[k];
        }
    if (!cfx_scope_failed(s))
        cfx_target__find(&c.target, s->ctx, name, c.method, &s->error);
    return cfx_scope_failed(s) ? s->error.code
                               : s->hook.record_call(s, &c, out);
}

/* ---- Questions ---- */

/* Does the class answer queries about proxies? */
static bool asks(const cfx_scope *s, cfx_value v)
{
    return v.kind == CFX_NODE && cfx_scope__records(s) && s->hook.ask;
}

const cfx_tensor *cfx_meta_of(cfx_scope *s, cfx_value x)
{
    cfx_value meta = CFX_NOTHING;
    if (cfx_scope_failed(s))
        return NULL;
    if (asks(s, x) && !s->hook.ask(s, CFX_ASK_META, x, &meta))
        x = cfx_scope_take(s, meta);
    return x.kind == CFX_TENSOR ? x.u.tensor : NULL;
}

int cfx_rank(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    if (t)
        return t->rank;
    cfx_scope_fail(s, CFX_EUNSUPPORTED,
                   x.kind == CFX_NODE
                       ? "symbolically traced variables cannot be used as "
                         "inputs to control flow: the rank of a %s is not "
                         "known without a meta"
                       : "the rank of a %s is not known here",
                   x.kind == CFX_NODE ? "proxy" : cfx_kind_name(x.kind));
    return 0;
}

/* The truth of a tensor of one element with data. */
static bool tensor_truth(cfx_scope *s, cfx_value v)
{
    cfx_value item = cfx_call_method(s, "item", CFX_ARGS(v));
    return cfx_scope_failed(s) ? false : cfx_truth(s, item);
}

bool cfx_truth(cfx_scope *s, cfx_value v)
{
    cfx_value answer;
    if (cfx_scope_failed(s))
        return false;
    switch ((cfx_kind)v.kind) {
    case CFX_ABSENT:
    case CFX_NONE:
        return false;
    case CFX_BOOL_VALUE:
    case CFX_INT:
        return v.u.i != 0;
    case CFX_FLOAT:
        return v.u.f != 0;
    case CFX_STR:
        return v.u.str->len > 0;
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT:
        return v.u.seq->len > 0;
    case CFX_TENSOR:
        return tensor_truth(s, v);
    case CFX_NODE:
        if (asks(s, v))
            return !s->hook.ask(s, CFX_ASK_TRUTH, v, &answer) && answer.u.i;
        break;
    default:
        break;
    }
    cfx_scope_fail(s, CFX_EUNSUPPORTED, "the truth of a %s is not known here",
                   cfx_kind_name(v.kind));
    return false;
}

int64_t cfx_len(cfx_scope *s, cfx_value v)
{
    cfx_value answer;
    if (cfx_scope_failed(s))
        return 0;
    if (cfx_value_is_seq(v))
        return v.u.seq->len;
    if (v.kind == CFX_DICT)
        return v.u.seq->len / 2;
    if (v.kind == CFX_STR)
        return v.u.str->len;
    if (asks(s, v))
        return s->hook.ask(s, CFX_ASK_LEN, v, &answer) ? 0 : answer.u.i;
    if (v.kind == CFX_TENSOR && v.u.tensor->rank &&
        cfx_dim_is_int(v.u.tensor->shape[0]))
        return cfx_dim_value(v.u.tensor->shape[0]);
    cfx_scope_fail(s, CFX_EINVAL, "a %s has no length here",
                   cfx_kind_name(v.kind));
    return 0;
}

size_t cfx_items(cfx_scope *s, cfx_value v, const cfx_value **items)
{
    cfx_value answer;
    *items = NULL;
    if (cfx_scope_failed(s))
        return 0;
    if (asks(s, v))
        v = s->hook.ask(s, CFX_ASK_ITEMS, v, &answer) ? cfx_none()
                                                      : cfx_scope_take(s,
                                                                       answer);
    if (cfx_value_is_seq(v)) {
        *items = v.u.seq->item;
        return v.u.seq->len;
    }
    cfx_scope_fail(s, CFX_EINVAL, "a %s cannot be iterated over here",
                   cfx_kind_name(v.kind));
    return 0;
}

void cfx_unpack(cfx_scope *s, cfx_value v, size_t n, cfx_value *out)
{
    if (!cfx_scope_failed(s) && cfx_value_is_seq(v) && v.u.seq->len != n)
        cfx_scope_fail(s, CFX_EINVAL, "%u values to unpack, not %zu",
                       v.u.seq->len, n);
    for (size_t i = 0; i < n; i++)
        out[i] = cfx_nth(s, v, (int64_t)i);
}
