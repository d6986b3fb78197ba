/*
 * overload -- choose an overload by the arguments that are given.
 *
 * The first that matches, as in cfx_bind.
 */
#include "op/overload.h"

#include <stdio.h>
#include <string.h>

#include "op/op_impl.h"
#include "op/scope_impl.h"

static int find_param(const cfx_param *const *params, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(params[i]->name, name))
            return i;
    return -1;
}

int cfx_op__union(cfx_context *ctx, const cfx_op *op,
                  const cfx_param *params[CFX_MAX_UNION])
{
    int n = 0;
    for (int by_name = 0; by_name < 2; by_name++)
        for (const cfx_op *at = op; at; at = at->next) {
            const cfx_schema *s = cfx_op_schema(ctx, at);
            for (int k = 0; s && k < s->nparams; k++) {
                const cfx_param *p = &s->params[k];
                if (p->kwarg_only != by_name ||
                    find_param(params, n, p->name) >= 0)
                    continue;
                if (n == CFX_MAX_UNION)
                    return -1;
                params[n++] = p;
            }
            if (!s)
                return -1;
        }
    return n;
}

void cfx_op__places(const cfx_schema *s, const cfx_param *const *params, int n,
                    uint8_t place[CFX_MAX_PARAMS])
{
    for (int k = 0; k < s->nparams; k++)
        place[k] = (uint8_t)find_param(params, n, s->params[k].name);
}

static bool accepts(const cfx_param *p, cfx_value v)
{
    if (v.kind == CFX_NODE)
        return true;
    if (!(p->kinds >> v.kind & 1))
        return false;
    for (uint32_t i = 0; p->list && cfx_value_is_seq(v) && i < v.u.seq->len;
         i++) {
        cfx_value item = v.u.seq->item[i];
        if (item.kind != CFX_NODE && !(p->item_kinds >> item.kind & 1))
            return false;
    }
    return true;
}

static int count_given(const cfx_value *args, int n)
{
    int given = 0;
    for (int i = 0; i < n; i++)
        given += args[i].kind != CFX_ABSENT;
    return given;
}

/* Put the arguments of an overload in its order. Returns how many are given;
 * *match tells whether they match the schema. */
static int pick(const cfx_schema *s, cfx_value *in, const cfx_value *args,
                const uint8_t *place, bool *match)
{
    int given = 0;
    *match = true;
    for (int k = 0; k < s->nparams; k++) {
        in[k] = args[place[k]];
        bool absent = in[k].kind == CFX_ABSENT;
        given += !absent;
        if (absent ? s->params[k].required : !accepts(&s->params[k], in[k]))
            *match = false;
    }
    return given;
}

cfx_overload cfx_op__overload(cfx_context *ctx, const cfx_op *op,
                              const uint8_t *place, const cfx_value *args,
                              int n, bool inplace,
                              cfx_value in[CFX_MAX_PARAMS])
{
    cfx_overload near = {0};
    const cfx_schema *s;
    const uint8_t *near_place = NULL;
    int given = count_given(args, n);
    for (; op && (s = cfx_op_schema(ctx, op));
         place += s->nparams, op = op->next) {
        bool match;
        if ((inplace && !(op->flags & CFX_OP_INPLACE)) ||
            pick(s, in, args, place, &match) < given)
            continue;
        if (match)
            return (cfx_overload){op, s, true};
        if (!near.op) {
            near = (cfx_overload){op, s, false};
            near_place = place;
        }
    }
    if (near.op)
        pick(near.schema, in, args, near_place, &near.matches);
    return near;
}

/* "max(): no signature takes 'dim' and 'other' together" */
static cfx_value refuse(cfx_scope *s, const cfx_op *op, const cfx_value *args)
{
    const cfx_param *params[CFX_MAX_UNION];
    char names[256] = "", shown[64];
    int n = cfx_op__union(s->ctx, op, params), len = 0;
    for (int i = 0; i < n && len < (int)sizeof(names) - 1; i++)
        if (args[i].kind != CFX_ABSENT)
            len += snprintf(names + len, sizeof(names) - (size_t)len, "%s%s",
                            len ? ", " : "", params[i]->name);
    const cfx_schema *schema = cfx_op_schema(s->ctx, op);
    if (n < 0 || !schema) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    return cfx_scope_fail(
        s, CFX_EINVAL, "%s(): no signature takes the arguments %s together",
        cfx_op__shown_name(op, schema, shown, sizeof(shown)), names);
}

cfx_value cfx_scope__call_overload(cfx_scope *s, const cfx_op *op,
                                   const uint8_t *place, const cfx_value *args,
                                   int n, bool inplace)
{
    cfx_value in[CFX_MAX_PARAMS];
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_overload found = cfx_op__overload(s->ctx, op, place, args, n, inplace,
                                          in);
    if (!found.op)
        return refuse(s, op, args);
    return cfx_scope__call_ordered(s, found.op, found.schema, in,
                                   (size_t)found.schema->nparams, inplace);
}
