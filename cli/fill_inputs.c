/*
 * fill_inputs -- inputs with data, for those that are only shapes.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

struct filling {
    const cli *c;
    const char *name;
    uint64_t seed;
    cfx_shape_env *env;
    cfx_error *err;
};

/* The extent that a symbol gets, within its range. */
static bool symbol_extent(void *user, const char *name, int64_t *v)
{
    const cfx_shape_env *env = user;
    cfx_symbol s;

    *v = 2;
    for (size_t i = 0; i < cfx_shape_env_symbols(env); i++) {
        cfx_shape_env_symbol(env, i, &s);
        if (!strcmp(s.name, name))
            *v = cli_example_extent(s.min, s.max);
    }
    return true;
}

static cfx_status number(const struct filling *f, cfx_dim d, int64_t *out)
{
    if (!f->env && !cfx_dim_is_int(d))
        return cfx_fail(
            f->err, CFX_EINVAL,
            "input %s: needs extents that are numbers (--set gives them)",
            f->name);
    return cfx_dim_eval(out, d, symbol_extent, f->env, f->err);
}

static cfx_status fill_tensor(const struct filling *f, const cfx_tensor *meta,
                              cfx_value *out)
{
    int64_t shape[CFX_MAX_RANK];
    cfx_status st = CFX_OK;
    cfx_tensor *t;

    for (int i = 0; i < meta->rank && !st; i++)
        st = number(f, meta->shape[i], &shape[i]);
    if (!st)
        st = cfx_tensor_new(&t, f->c->ctx, (cfx_dtype)meta->dtype, meta->rank,
                            shape, f->err);
    if (st)
        return st;
    st = cfx_tensor_randomize(t, f->seed, f->name, f->err);
    if (st)
        cfx_tensor_unref(t);
    else
        *out = cfx_value_of_tensor(t);
    return st;
}

static cfx_status fill_value(void *user, cfx_value v, cfx_value *out)
{
    const struct filling *f = user;
    int64_t n;

    *out = CFX_NOTHING;
    if (v.kind == CFX_TENSOR && cfx_tensor_is_meta(v.u.tensor))
        return fill_tensor(f, v.u.tensor, out);
    if (v.kind != CFX_SYMINT) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = number(f, v.u.dim, &n);
    if (!st)
        *out = cfx_int(n);
    return st;
}

cfx_status cli_fill_inputs(cli_inputs *to, const cli *c, const cfx_module *gm,
                           const cli_inputs *from, uint64_t seed,
                           cfx_shape_env *env, cfx_error *err)
{
    struct filling f = {c, NULL, seed, env, err};
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_status st = CFX_OK;

    *to = (cli_inputs){.value = calloc(from->n + 1, sizeof(*to->value))};
    if (!to->value)
        return cfx_no_memory(err);
    for (const cfx_node *n = cfx_graph_first(g); n && to->n < from->n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        f.name = n->name;
        st = cfx_value_map(&to->value[to->n], c->ctx, from->value[to->n],
                           fill_value, &f, err);
        to->n += !st;
    }
    return st;
}
