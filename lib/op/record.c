/*
 * record -- unbound calls of operators, for scopes that record them.
 */
#define CFX_NO_PLACES
#include <stdio.h>

#include "op/op_impl.h"
#include "op/scope_impl.h"

/* ---- The name of a call ---- */

/* A search for the first name with a prefix among the aliases, or, if there are
 * none, among the variants. */
struct search {
    const cfx_op *op;
    const char *prefix;
    bool inplace;
    char *buf;
    size_t size, len; /* `len` is 0 until it is found */
};

static cfx_status try_name(void *user, const char *name, size_t len,
                           bool inplace, const cfx_variant *how)
{
    struct search *s = user;
    if ((how && s->op->aliases && *s->op->aliases) || s->len ||
        inplace != s->inplace || strncmp(name, s->prefix, strlen(s->prefix)))
        return CFX_OK;
    int n = snprintf(s->buf, s->size, "%.*s", (int)len, name);
    s->len = n < 0 ? 0 : (size_t)n;
    return CFX_OK;
}

size_t cfx_op_call_name(const cfx_op *op, bool inplace, bool *method,
                        char *buf, size_t size)
{
    static const char *const plain[] = {"torch.", "", NULL};
    static const char *const writing[] = {"Tensor.", "torch.", "", NULL};
    struct search s = {op, .inplace = inplace, .buf = buf, .size = size};
    for (const char *const *p = inplace ? writing : plain; *p && !s.len; p++) {
        s.prefix = *p;
        (void)cfx_op_names(op, try_name, &s);
    }
    *method = s.len && !strncmp(buf, "Tensor.", 7);
    if (*method) {
        s.len -= 7;
        memmove(buf, buf + 7, strlen(buf + 7) + 1);
    }
    return s.len;
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
                        "%s has no name under which a graph could call it",
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
