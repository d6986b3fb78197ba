/*
 * pt2_write_extent -- extents, the types of tensors, and ranges of symbols.
 *
 * An extent is text that sympy reads: Add(Mul(Integer(2), Symbol('s0', ...)),
 * Integer(1)), with its value for the sample inputs beside it, which torch
 * calls a hint.
 */
#include <inttypes.h>
#include <stdio.h>

#include "dim/expr.h"
#include "format/pt2/pt2_write.h"

/* ---- Symbols ---- */

static cfx_pt2_symbol *find(const cfx_pt2_symbols *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->item[i].name, name))
            return &s->item[i];
    return NULL;
}

/* Is it a name that torch gives: a letter and digits? */
static bool is_torch_name(const char *name, char letter)
{
    size_t n = strlen(name);

    return n > 1 && n < 20 && name[0] == letter &&
           strspn(name + 1, "0123456789") == n - 1;
}

static bool is_shown(const cfx_pt2_symbols *s, const char *shown)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->item[i].shown, shown))
            return true;
    return false;
}

/* Symbols that have torch's form keep their names, so that the others get
 * names that no symbol has. */
static void name_symbols(cfx_pt2_symbols *s)
{
    for (size_t i = 0; i < s->n; i++) {
        cfx_pt2_symbol *one = &s->item[i];
        if (is_torch_name(one->name, one->unbacked ? 'u' : 's'))
            snprintf(one->shown, sizeof(one->shown), "%s", one->name);
    }
    for (size_t i = 0; i < s->n; i++) {
        cfx_pt2_symbol *one = &s->item[i];
        char name[sizeof(one->shown)];
        size_t number = 0;
        if (one->shown[0])
            continue;
        do
            snprintf(name, sizeof(name), "%c%zu", one->unbacked ? 'u' : 's',
                     number++);
        while (is_shown(s, name));
        snprintf(one->shown, sizeof(one->shown), "%s", name);
    }
}

/* The range that the environment knows. */
static void set_range(const cfx_pt2_symbols *s, cfx_pt2_symbol *one)
{
    cfx_symbol known;

    for (size_t i = 0; s->env && i < cfx_shape_env_symbols(s->env); i++) {
        cfx_shape_env_symbol(s->env, i, &known);
        if (strcmp(known.name, one->name) != 0)
            continue;
        one->unbacked = known.unbacked;
        if (known.min != CFX_DIM_NO_MIN)
            one->min = known.min;
        if (known.max != CFX_DIM_NO_MAX)
            one->max = known.max;
    }
}

static cfx_status add_symbols(cfx_pt2_symbols *s, cfx_dim d, cfx_error *err)
{
    cfx_dim free_symbols[64];
    size_t n = cfx_dim_is_int(d) ? 0
                                 : cfx_dim_free_symbols(d, free_symbols, 64);

    if (n > 64)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "an extent has more than 64 symbols");
    for (size_t i = 0; i < n; i++) {
        cfx_pt2_symbol one = {.name = cfx_dim_symbol_name(free_symbols[i]),
                              .min = 1,
                              .max = -1,
                              .hint = -1};
        if (find(s, one.name))
            continue;
        if (cfx_grow(s->ctx, s->item, s->cap, s->n + 1, err))
            return CFX_ENOMEM;
        set_range(s, &one);
        s->item[s->n++] = one;
    }
    return CFX_OK;
}

struct adding {
    cfx_pt2_symbols *s;
    cfx_error *err;
};

static cfx_status add_value(void *user, cfx_value v)
{
    struct adding *a = user;
    cfx_status st = CFX_OK;

    if (v.kind == CFX_SYMINT)
        return add_symbols(a->s, v.u.dim, a->err);
    for (int i = 0; v.kind == CFX_TENSOR && i < v.u.tensor->rank && !st; i++) {
        st = add_symbols(a->s, v.u.tensor->shape[i], a->err);
        if (!st)
            st = add_symbols(a->s, v.u.tensor->stride[i], a->err);
    }
    return st;
}

/* Extents that are a single symbol tell its value. */
static void take_hints(cfx_pt2_symbols *s, const cfx_tensor *t,
                       const cfx_tensor *sample)
{
    for (int i = 0; i < t->rank && t->rank == sample->rank; i++) {
        const char *name = cfx_dim_symbol_name(t->shape[i]);
        cfx_pt2_symbol *one = name ? find(s, name) : NULL;
        if (one && cfx_dim_is_int(sample->shape[i]))
            one->hint = cfx_dim_value(sample->shape[i]);
    }
}

cfx_status cfx_pt2__find_symbols(cfx_pt2_symbols *s, const cfx_graph *g,
                                 const cfx_save_options *o, cfx_error *err)
{
    struct adding a = {s, err};
    cfx_status st = CFX_OK;
    size_t i = 0;

    s->env = o->env;
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n))
        st = cfx_value_visit(cfx_node_meta(n, "val"), add_value, &a);
    name_symbols(s);
    for (const cfx_node *n = cfx_graph_first(g); n && !st && i < o->ninputs;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        cfx_value v = cfx_node_meta(n, "val"), sample = o->inputs[i++];
        cfx_pt2_symbol *one = v.kind == CFX_SYMINT &&
                                      cfx_dim_symbol_name(v.u.dim)
                                  ? find(s, cfx_dim_symbol_name(v.u.dim))
                                  : NULL;
        if (v.kind == CFX_TENSOR && sample.kind == CFX_TENSOR)
            take_hints(s, v.u.tensor, sample.u.tensor);
        else if (one && sample.kind == CFX_INT)
            one->hint = sample.u.i;
    }
    return st;
}

void cfx_pt2__symbols_release(cfx_pt2_symbols *s)
{
    cfx_free(s->ctx, s->item, s->cap * sizeof(*s->item));
    s->item = NULL;
    s->n = s->cap = 0;
}

static bool hint_of(void *user, const char *name, int64_t *v)
{
    const cfx_pt2_symbol *one = find(user, name);

    *v = one ? one->hint : -1;
    return *v >= 0;
}

int64_t cfx_pt2__hint(const cfx_pt2_symbols *s, cfx_dim d)
{
    int64_t v = -1;

    return cfx_dim_eval(&v, d, hint_of, (void *)(uintptr_t)s, NULL) ? -1 : v;
}

/* ---- Expressions ---- */

static void put_expr(cfx_buf *b, const cfx_pt2_symbols *s, cfx_dim d);

static void put_symbol(cfx_buf *b, const cfx_pt2_symbols *s, const char *name)
{
    const cfx_pt2_symbol *one = find(s, name);

    cfx_buf_printf(b, "Symbol('%s', %sinteger=True)", one ? one->shown : name,
                   one && one->unbacked ? "" : "positive=True, ");
}

static void put_call(cfx_buf *b, const cfx_pt2_symbols *s, const char *name,
                     const cfx_expr *e)
{
    cfx_buf_printf(b, "%s(", name);
    for (uint32_t i = 0; i < e->n; i++) {
        if (i)
            cfx_buf_puts(b, ", ");
        put_expr(b, s, e->term[i].of);
    }
    cfx_buf_putc(b, ')');
}

static void put_product(cfx_buf *b, const cfx_pt2_symbols *s,
                        const cfx_expr *e)
{
    cfx_buf_puts(b, "Mul(Integer(1)");
    for (uint32_t i = 0; i < e->n; i++) {
        cfx_buf_puts(b, e->term[i].k == 1 ? ", " : ", Pow(");
        put_expr(b, s, e->term[i].of);
        if (e->term[i].k != 1)
            cfx_buf_printf(b, ", Integer(%" PRId64 "))", e->term[i].k);
    }
    cfx_buf_putc(b, ')');
}

static void put_sum(cfx_buf *b, const cfx_pt2_symbols *s, const cfx_expr *e)
{
    cfx_buf_printf(b, "%sAdd(Integer(%" PRId64 ")",
                   e->den == 1 ? "" : "FloorDiv(", e->c);
    for (uint32_t i = 0; i < e->n; i++) {
        cfx_buf_printf(b, ", Mul(Integer(%" PRId64 "), ", e->term[i].k);
        put_expr(b, s, e->term[i].of);
        cfx_buf_putc(b, ')');
    }
    cfx_buf_putc(b, ')');
    if (e->den != 1)
        cfx_buf_printf(b, ", Integer(%" PRId64 "))", e->den);
}

/* Expressions have a bounded depth. */
static void put_expr(cfx_buf *b, const cfx_pt2_symbols *s, cfx_dim d)
{
    if (cfx_dim_is_int(d)) {
        cfx_buf_printf(b, "Integer(%" PRId64 ")", cfx_dim_value(d));
        return;
    }
    const cfx_expr *e = cfx_expr_of(d);
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_SYMBOL: put_symbol(b, s, e->name); break;
    case CFX_EXPR_FLOORDIV: put_call(b, s, "FloorDiv", e); break;
    case CFX_EXPR_MOD: put_call(b, s, "Mod", e); break;
    case CFX_EXPR_MIN: put_call(b, s, "Min", e); break;
    case CFX_EXPR_MAX: put_call(b, s, "Max", e); break;
    case CFX_EXPR_PRODUCT: put_product(b, s, e); break;
    case CFX_EXPR_SUM: put_sum(b, s, e); break;
    }
}

void cfx_pt2__put_extent(cfx_buf *b, const cfx_pt2_symbols *s, cfx_dim d)
{
    if (cfx_dim_is_int(d)) {
        cfx_buf_printf(b, "{\"as_int\": %" PRId64 "}", cfx_dim_value(d));
        return;
    }
    int64_t hint = cfx_pt2__hint(s, d);
    cfx_buf_puts(b, "{\"as_expr\": {\"expr_str\": \"");
    put_expr(b, s, d);
    cfx_buf_puts(b, "\", \"hint\": ");
    if (hint < 0)
        cfx_buf_puts(b, "null}}");
    else
        cfx_buf_printf(b, "{\"as_int\": %" PRId64 "}}}", hint);
}

/* ---- Tensors and ranges ---- */

static void put_extents(cfx_buf *b, const cfx_pt2_symbols *s, const char *key,
                        const cfx_dim *d, int n)
{
    cfx_buf_printf(b, "\"%s\": [", key);
    for (int i = 0; i < n; i++) {
        cfx_pt2__put_comma(b);
        cfx_pt2__put_extent(b, s, d[i]);
    }
    cfx_buf_putc(b, ']');
}

void cfx_pt2__put_meta(cfx_buf *b, const cfx_pt2_symbols *s,
                       const cfx_tensor *t, const char *device, int64_t offset,
                       bool requires_grad)
{
    cfx_buf_printf(b, "{\"dtype\": %d, ",
                   cfx_pt2__number_of_dtype((cfx_dtype)t->dtype));
    put_extents(b, s, "sizes", t->shape, t->rank);
    cfx_buf_printf(b, ", \"requires_grad\": %s, \"device\": ",
                   requires_grad ? "true" : "false");
    cfx_pt2__put_device(b, device);
    cfx_buf_puts(b, ", ");
    put_extents(b, s, "strides", t->stride, t->rank);
    cfx_buf_printf(
        b, ", \"storage_offset\": {\"as_int\": %" PRId64 "}, \"layout\": 7}",
        offset);
}

void cfx_pt2__put_ranges(cfx_buf *b, const cfx_pt2_symbols *s)
{
    cfx_buf_puts(b, "\"range_constraints\": {");
    for (size_t i = 0; i < s->n; i++) {
        const cfx_pt2_symbol *one = &s->item[i];
        cfx_pt2__put_comma(b);
        cfx_pt2__put_name(b, one->shown);
        cfx_buf_printf(b,
                       ": {\"min_val\": %" PRId64 ", \"max_val\": ", one->min);
        if (one->max < 0)
            cfx_buf_puts(b, "null}");
        else
            cfx_buf_printf(b, "%" PRId64 "}", one->max);
    }
    cfx_buf_putc(b, '}');
}
