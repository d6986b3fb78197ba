/*
 * record -- unbound calls of operators, for scopes that record them.
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
static const char *find_name(const cfx_op *op, const char *prefix, size_t *len)
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

static size_t inplace_name(const cfx_op *op, bool *method, char *buf,
                           size_t size)
{
    size_t n;
    bool derived = op->flags & CFX_OP_INPLACE;
    const char *name = derived ? first_name(op->aliases, "Tensor.", &n) : NULL;
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

size_t cfx_op_call_name(const cfx_op *op, bool inplace, bool *method,
                        char *buf, size_t size)
{
    size_t n;
    *method = false;
    if (inplace)
        return inplace_name(op, method, buf, size);
    const char *name = find_name(op, "torch.", &n);
    if (!name)
        name = find_name(op, "", &n);
    return name ? format_any(buf, size, name, n, "", method) : 0;
}

/* ---- Recording ---- */

cfx_status cfx_scope__record_op(cfx_scope *s, const cfx_op *op,
                                const cfx_schema *schema,
                                const cfx_value *args, size_t n, bool inplace,
                                cfx_value *out)
{
    char name[128];
    cfx_value kwargs[2 * CFX_MAX_PARAMS];
    cfx_unbound_call c = {.name = name, .args = args, .kwargs = kwargs};
    size_t len = cfx_op_call_name(op, inplace, &c.method, name, sizeof(name));
    if (!len || len >= sizeof(name))
        return cfx_fail(&s->error, CFX_EUNSUPPORTED,
                        "%s has no name under "
                        "which a graph could call it",
                        schema->name);
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
