/*
 * load_tensors -- give numbers to the tensors in the arguments of a model.
 *
 * They are entries of the weights file, by the names that the superset gives
 * them when it prints the model; a text that names them otherwise was not
 * written by it.
 */
#include <cfx/file.h>

#include "format/print.h"

/* Tensors without numbers, by their address, to those that have them. */
typedef struct filling {
    cfx_map *by_name;
    cfx_map by_tensor;
    cfx_arena keys;
    cfx_context *ctx;
    cfx_error *err;
} filling;

static cfx_status check_type(const char *name, const cfx_tensor *want,
                             const cfx_tensor *have, cfx_error *err)
{
    char x[128], y[128];
    cfx_tensor_format_type(want, x, sizeof(x));
    cfx_tensor_format_type(have, y, sizeof(y));
    return strcmp(x, y)
               ? cfx_fail(err, CFX_ESHAPE, "%s is %s, the model expects %s",
                          name, y, x)
               : CFX_OK;
}

static cfx_status pair(void *user, const char *name, cfx_tensor *t)
{
    filling *f = user;
    const cfx_map_entry *e = cfx_map_get(f->by_name, name, strlen(name));
    if (!e)
        return CFX_OK;
    cfx_tensor *with = e->v.p;
    cfx_status st = check_type(name, t, with, f->err);
    if (st)
        return st;
    char *key = cfx_arena_strdup(&f->keys, (const char *)&t, sizeof(t));
    cfx_map_entry *to = key ? cfx_map_put(&f->by_tensor, key, sizeof(t), NULL)
                            : NULL;
    if (!to)
        return cfx_no_memory(f->err);
    to->v.p = with;
    cfx_map_remove(f->by_name, name, strlen(name));
    return CFX_OK;
}

static cfx_status fill_value(void *user, cfx_value v, cfx_value *out)
{
    const filling *f = user;
    const cfx_map_entry *e = v.kind != CFX_TENSOR
                                 ? NULL
                                 : cfx_map_get(&f->by_tensor,
                                               (const char *)&v.u.tensor,
                                               sizeof(v.u.tensor));
    *out = cfx_value_ref(e ? cfx_value_of_tensor(e->v.p) : v);
    return CFX_OK;
}

static bool is_tensor(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR;
}

/* The value with tensors that have numbers; absent where it has none. */
static cfx_status filled(const filling *f, cfx_value v, cfx_value *out)
{
    *out = CFX_NOTHING;
    return cfx_value_any(v, is_tensor, NULL)
               ? cfx_value_map(out, f->ctx, v, fill_value, (void *)f, f->err)
               : CFX_OK;
}

static cfx_status fill_node(const filling *f, cfx_node *n)
{
    cfx_value v;
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < n->nargs && !st; i++) {
        st = filled(f, n->args[i], &v);
        if (!st && v.kind)
            st = cfx_node_update_arg(n, i, v, f->err);
        cfx_value_unref(v);
    }
    for (uint32_t i = 0; i < n->nkwargs && !st; i++) {
        st = filled(f, n->kwargs[2 * i + 1], &v);
        if (!st && v.kind)
            st = cfx_node_update_kwarg(n, n->kwargs[2 * i].u.str->text, v,
                                       f->err);
        cfx_value_unref(v);
    }
    return st;
}

static cfx_status fill_model(const filling *f, cfx_module *gm)
{
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm)) {
        const cfx_graph *g = cfx_graph_module_graph(m);
        for (cfx_node *n = g ? cfx_graph_first(g) : NULL; n;
             n = cfx_node_next(n)) {
            cfx_status st = fill_node(f, n);
            if (st)
                return st;
        }
    }
    return CFX_OK;
}

static cfx_status refuse_left(const cfx_map *by_name, cfx_error *err)
{
    for (size_t i = 0; i < by_name->cap; i++)
        if (by_name->entry[i].key)
            return cfx_fail(err, CFX_ENAME, "has '%s', which the model lacks",
                            by_name->entry[i].key);
    return CFX_OK;
}

cfx_status cfx_model__fill_tensors(cfx_module *gm, cfx_map *by_name,
                                   cfx_error *err)
{
    if (!by_name->len)
        return CFX_OK;
    cfx_context *ctx = cfx_module_context(gm);
    filling f = {.by_name = by_name, .ctx = ctx, .err = err};
    cfx_map_init(&f.by_tensor, ctx);
    cfx_arena_init(&f.keys, ctx);
    cfx_status st = cfx_model_visit_tensors(gm, pair, &f, err);
    if (!st)
        st = refuse_left(by_name, err);
    if (!st)
        st = fill_model(&f, gm);
    cfx_arena_release(&f.keys);
    cfx_map_release(&f.by_tensor);
    return st;
}
