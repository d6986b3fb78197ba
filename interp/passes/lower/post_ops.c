/*
 * post_ops -- read and append post-operations, and find activations that become one.
 */
#include "interp/passes/lower/post_ops.h"

#include <math.h>
#include <string.h>

#include "interp/passes/lower/lowering.h"
#include "nn/module_impl.h"
#include "ops/blocked/blocked_post_ops.h"

/* ---- Activations ---- */

/* The schema of the activation that n calls; NULL: it is none, or its name finds another
 * operator, which the program has registered. */
static const cfx_schema *find_schema(const cfx_pass_call *p, const cfx_node *n)
{
    const cfx_module *module = cfx_pass__module(p, n);
    const cfx_target *t = module ? module->op : cfx_node__targets(n);
    const cfx_target *named = t ? cfx_find_activation(p->ctx, t->schema->name)
                                : NULL;
    return named && named->op == t->op ? t->schema : NULL;
}

/* Read parameter k of the operator; false if it is no literal. */
static bool read(cfx_post_op_call *op, const cfx_param *k, cfx_value v)
{
    v = v.kind ? v : k->init;
    if (v.kind == CFX_INT || v.kind == CFX_FLOAT)
        v = cfx_float(cfx_value_number(v));
    else if (v.kind != CFX_STR)
        return false;
    op->arg[op->n++] = v;
    return true;
}

/* Is it what parameter k has by default? */
static bool is_default(const cfx_param *k, cfx_value v)
{
    return k->base == CFX_T_STR
               ? cfx_value_equal(v, k->init)
               : cfx_value_number(v) == cfx_value_number(k->init);
}

bool cfx_post_op__read(const cfx_pass_call *p, const cfx_node *n,
                       cfx_post_op_call *out)
{
    const cfx_schema *schema = find_schema(p, n);
    *out = (cfx_post_op_call){.name = schema ? schema->name : NULL};
    if (!schema || schema->nparams > 1 + CFX_POST_OP_ARGS || !n->nargs ||
        n->args[0].kind != CFX_NODE)
        return false;
    for (int k = 1; k < schema->nparams; k++) {
        const cfx_param *param = &schema->params[k];
        if (!read(out, param, cfx_lower__setting(p, n, param->name)))
            return false;
    }
    while (out->n && is_default(&schema->params[out->n], out->arg[out->n - 1]))
        out->n--;
    return true;
}

/* An operator that clamps: the names of its bounds, and those of which it has no
 * parameter. */
typedef struct clamp {
    const char *op, *name[2];
    double bound[2];
} clamp;

static bool read_bound(cfx_value v, double *out)
{
    bool number = v.kind == CFX_INT || v.kind == CFX_FLOAT;
    if (number)
        *out = cfx_value_number(v);
    return number || v.kind == CFX_ABSENT || v.kind == CFX_NONE;
}

bool cfx_post_op__clamps(const cfx_pass_call *p, const cfx_node *n, double *lo,
                         double *hi)
{
    static const clamp clamps[] = {
        {"relu", {NULL, NULL}, {0, INFINITY}},
        {"relu6", {NULL, NULL}, {0, 6}},
        {"hardtanh", {"min_val", "max_val"}, {-1, 1}},
        {"clamp", {"min", "max"}, {-INFINITY, INFINITY}},
    };
    size_t i = 0, end = sizeof(clamps) / sizeof(*clamps);
    while (i < end && !cfx_pass__calls(p, n, clamps[i].op))
        i++;
    if (i == end)
        return false;
    const clamp *c = &clamps[i];
    *lo = c->bound[0];
    *hi = c->bound[1];
    return !c->name[0] ||
           (read_bound(cfx_lower__setting(p, n, c->name[0]), lo) &&
            read_bound(cfx_lower__setting(p, n, c->name[1]), hi) &&
            *lo <= *hi);
}

/* ---- Lists ---- */

/* Kernels apply fewer, each once. */
enum { MOST = 8 };

static const cfx_seq *list_of(const cfx_node *n)
{
    cfx_value v = cfx_pass__kwarg(n, "post_ops");
    return cfx_value_is_seq(v) ? v.u.seq : NULL;
}

/* The name of item i; "" if it is no post-operation. */
static const char *name_at(const cfx_seq *list, uint32_t i)
{
    cfx_value v = list->item[i];
    return cfx_value_is_seq(v) && v.u.seq->len &&
                   v.u.seq->item[0].kind == CFX_STR
               ? v.u.seq->item[0].u.str->text
               : "";
}

cfx_value cfx_post_op__find(const cfx_node *n, const char *name)
{
    const cfx_seq *list = list_of(n);
    for (uint32_t i = 0; list && i < list->len; i++)
        if (!strcmp(name_at(list, i), name))
            return list->item[i];
    return CFX_NOTHING;
}

bool cfx_post_op__fits(const cfx_node *n, const char *name)
{
    const cfx_seq *list = list_of(n);
    return !list || !list->len ||
           (list->len < MOST &&
            cfx_post_op_follows(name_at(list, list->len - 1), name));
}

cfx_status cfx_post_op__append(cfx_pass_call *p, cfx_node *n,
                               const cfx_post_op_call *op)
{
    cfx_scope s;
    const cfx_seq *list = list_of(n);
    uint32_t len = list ? list->len : 0;
    cfx_value item[1 + CFX_POST_OP_ARGS], all[MOST];
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    item[0] = cfx_str(&s, op->name);
    memcpy(item + 1, op->arg, (size_t)op->n * sizeof(*item));
    for (uint32_t i = 0; i < len; i++)
        all[i] = list->item[i];
    all[len] = cfx_list_of(&s, CFX_TUPLE, 1 + (size_t)op->n, item);
    cfx_value made = cfx_list_of(&s, CFX_LIST, len + 1, all);
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_node_update_kwarg(n, "post_ops", made, p->err);
    cfx_scope_release(&s);
    return st;
}

/* The name of the original node whose value n has. */
static const char *original(const cfx_node *n)
{
    cfx_value from = cfx_node_meta(n, "from_node");
    uint32_t len = cfx_value_is_seq(from) ? from.u.seq->len : 0;
    return len && from.u.seq->item[len - 1].kind == CFX_STR
               ? from.u.seq->item[len - 1].u.str->text
               : n->name;
}

void cfx_post_op__missed(cfx_pass_call *p, const cfx_node *n,
                         const cfx_node *x, const cfx_node *y)
{
    uint32_t users = x->nusers > 1 ? x->nusers : y->nusers;
    if (users > 1)
        cfx_pass_missed(p, n, "%u nodes read %s, so it is not fused into it",
                        users, original(x));
    else
        cfx_pass_missed(p, n, "%s already applies what must come after it",
                        original(y));
}
