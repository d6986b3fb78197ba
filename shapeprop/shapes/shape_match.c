/*
 * shape_match -- compare a shape with a written one.
 *
 * The written shape may have symbols that the walk does not know: each takes
 * the first extent it is compared with, and must match it from then on. `_`
 * matches anything.
 */
#include <cfx/shape_prop.h>

#include "format/print.h"

/* The extent of a symbol. */
typedef struct binding {
    cfx_dim symbol, dim;
} binding;

struct cfx_shape_match {
    cfx_context *ctx;
    cfx_shape_env *env;
    binding *item;
    size_t n, cap;
};

cfx_status cfx_shape_match_new(cfx_shape_match **out, cfx_context *ctx,
                               cfx_shape_env *env, cfx_error *err)
{
    *out = cfx_calloc(ctx, 1, sizeof(**out));
    if (!*out)
        return cfx_no_memory(err);
    (*out)->ctx = ctx;
    (*out)->env = env;
    return CFX_OK;
}

void cfx_shape_match_free(cfx_shape_match *m)
{
    if (!m)
        return;
    cfx_free(m->ctx, m->item, m->cap * sizeof(*m->item));
    cfx_free(m->ctx, m, sizeof(*m));
}

/* ---- Symbols ---- */

static bool is_of_walk(const cfx_shape_match *m, cfx_dim symbol)
{
    cfx_symbol s;
    size_t n = m->env ? cfx_shape_env_symbols(m->env) : 0;
    for (size_t i = 0; i < n; i++) {
        cfx_shape_env_symbol(m->env, i, &s);
        if (cfx_dim_same(s.dim, symbol))
            return true;
    }
    return false;
}

static const binding *bound(const cfx_shape_match *m, cfx_dim symbol)
{
    for (size_t i = 0; i < m->n; i++)
        if (cfx_dim_same(m->item[i].symbol, symbol))
            return &m->item[i];
    return NULL;
}

static cfx_status bind(cfx_shape_match *m, cfx_dim symbol, cfx_dim dim)
{
    if (cfx_grow(m->ctx, m->item, m->cap, m->n + 1, NULL))
        return CFX_ENOMEM;
    m->item[m->n++] = (binding){symbol, dim};
    return CFX_OK;
}

/* True if all symbols of a dim have an extent. */
static bool is_bound(const cfx_shape_match *m, cfx_dim d)
{
    enum { MOST = 64 };
    cfx_dim symbol[MOST];
    size_t n = cfx_dim_free_symbols(d, symbol, MOST);
    for (size_t i = 0; i < n && n <= MOST; i++)
        if (!bound(m, symbol[i]) && !is_of_walk(m, symbol[i]))
            return false;
    return n <= MOST;
}

static bool extent_of(void *user, const char *name, cfx_dim *v)
{
    const cfx_shape_match *m = user;
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(cfx_dim_symbol_name(m->item[i].symbol), name)) {
            *v = m->item[i].dim;
            return true;
        }
    return false;
}

static cfx_status match_dim(cfx_shape_match *m, cfx_dim have, cfx_dim want,
                            bool *same)
{
    const char *name = cfx_dim_symbol_name(want);
    *same = true;
    if (cfx_dim_same(have, want) || (name && !strcmp(name, "_")))
        return CFX_OK;
    *same = false;
    if (is_bound(m, want)) {
        want = cfx_dim_subst(m->env, want, extent_of, m);
        *same = !cfx_dim_is_bad(want) && cfx_dim_known_eq(m->env, have, want);
    } else if (name) {
        *same = true;
        return bind(m, want, have);
    }
    return CFX_OK;
}

/* ---- Values ---- */

static cfx_status match_tensor(cfx_shape_match *m, const cfx_tensor *have,
                               const cfx_tensor *want, bool strides,
                               bool *same)
{
    *same = have->dtype == want->dtype && have->rank == want->rank;
    for (int i = 0; *same && i < have->rank; i++) {
        cfx_status st = match_dim(m, have->shape[i], want->shape[i], same);
        if (st)
            return st;
    }
    /* The stride of an axis of extent 1 does not matter. */
    for (int i = 0; *same && strides && i < have->rank; i++) {
        cfx_status st = cfx_dim_is(have->shape[i], 1)
                            ? CFX_OK
                            : match_dim(m, have->stride[i], want->stride[i],
                                        same);
        if (st)
            return st;
    }
    return CFX_OK;
}

static cfx_status match_value(cfx_shape_match *m, cfx_value have,
                              cfx_value want, bool strides, bool *same)
{
    cfx_status st = CFX_OK;
    bool ints = !cfx_dim_is_bad(cfx_value_dim(have)) &&
                !cfx_dim_is_bad(cfx_value_dim(want));
    if (ints)
        return match_dim(m, cfx_value_dim(have), cfx_value_dim(want), same);
    if (have.kind == CFX_TENSOR && want.kind == CFX_TENSOR)
        return match_tensor(m, have.u.tensor, want.u.tensor, strides, same);
    if (have.kind != want.kind ||
        (!cfx_value_is_seq(have) && have.kind != CFX_DICT)) {
        *same = cfx_value_equal(have, want);
        return CFX_OK;
    }
    *same = have.u.seq->len == want.u.seq->len;
    for (uint32_t i = 0; !st && *same && i < have.u.seq->len; i++)
        st = match_value(m, have.u.seq->item[i], want.u.seq->item[i], strides,
                         same);
    return st;
}

cfx_status cfx_shape_match_check(cfx_shape_match *m, const char *name,
                                 cfx_value have, cfx_value want, bool strides,
                                 cfx_error *err)
{
    bool same, shapes;
    cfx_buf a, b;
    cfx_status st = match_value(m, have, want, false, &shapes);
    same = shapes;
    if (!st && same && strides)
        st = match_value(m, have, want, true, &same);
    if (st)
        return cfx_no_memory(err);
    if (same)
        return CFX_OK;
    cfx_buf_init(&a, m->ctx);
    cfx_buf_init(&b, m->ctx);
    cfx_print_shape(cfx_sink_buf(&a), have, shapes, NULL);
    cfx_print_shape(cfx_sink_buf(&b), want, shapes, NULL);
    st = cfx_fail(err, CFX_ESHAPE, "%s is %.200s, not %.200s as asserted",
                  name, cfx_buf_str(&a), cfx_buf_str(&b));
    cfx_buf_release(&a);
    cfx_buf_release(&b);
    return st;
}
