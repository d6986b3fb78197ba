/*
 * shape_match -- is a shape what was written?
 *
 * What is written may have symbols that the walk does not: each then stands for
 * what it meets first, and for that everywhere. `_` stands for anything.
 */
#include <cfx/shape_prop.h>

#include "format/print.h"
#include "shapeprop/symbols.h"

typedef struct binding {
    char *name;
    size_t size;
    cfx_dim dim;
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
    for (size_t i = 0; i < m->n; i++)
        cfx_free(m->ctx, m->item[i].name, m->item[i].size);
    cfx_free(m->ctx, m->item, m->cap * sizeof(*m->item));
    cfx_free(m->ctx, m, sizeof(*m));
}

/* ---- Symbols ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (is_letter(s[n]) || (n && s[n] >= '0' && s[n] <= '9'))
        n++;
    return n;
}

static const binding *bound(const cfx_shape_match *m, const char *name,
                            size_t len)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->item[i].size == len + 1 && !memcmp(m->item[i].name, name, len))
            return &m->item[i];
    return NULL;
}

static bool bind(cfx_shape_match *m, const char *name, cfx_dim dim)
{
    size_t size = strlen(name) + 1;
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 8;
        void *p = cfx_realloc(m->ctx, m->item, m->cap * sizeof(*m->item),
                              cap * sizeof(*m->item));
        if (!p)
            return false;
        m->item = p;
        m->cap = cap;
    }
    char *copy = cfx_alloc(m->ctx, size);
    if (!copy)
        return false;
    memcpy(copy, name, size);
    m->item[m->n++] = (binding){copy, size, dim};
    return true;
}

static bool is_function(const char *name, size_t len)
{
    return len == 3 && (!memcmp(name, "min", 3) || !memcmp(name, "max", 3));
}

static void add_dim(cfx_buf *to, cfx_dim d)
{
    char text[256];
    size_t n = cfx_dim_format(d, text, sizeof(text));
    if (n < sizeof(text)) {
        cfx_buf_add(to, text, n);
    } else if (cfx_buf_reserve(to, n + 1)) {
        cfx_dim_format(d, to->s + to->len, n + 1);
        to->len += n;
    }
}

/* The text with what symbols stand for in their place; false: one of them
 * stands for nothing yet. */
static bool substitute(const cfx_shape_match *m, cfx_buf *to, const char *s)
{
    while (*s) {
        size_t n = name_length(s);
        const binding *b = n ? bound(m, s, n) : NULL;
        if (!n) {
            cfx_buf_add(to, s++, 1);
            continue;
        }
        if (b) {
            cfx_buf_putc(to, '(');
            add_dim(to, b->dim);
            cfx_buf_putc(to, ')');
        } else if (is_function(s, n) || cfx_symbols__has(m->env, s, n)) {
            cfx_buf_add(to, s, n);
        } else {
            return false;
        }
        s += n;
    }
    return true;
}

static cfx_status match_dim(cfx_shape_match *m, cfx_dim have, cfx_dim want,
                            bool *same)
{
    cfx_buf text, with;
    cfx_status st = CFX_OK;
    *same = true;
    if (cfx_dim_same(have, want))
        return CFX_OK;
    *same = false;
    if (cfx_dim_is_int(want)) {
        *same = cfx_dim_known_eq(m->env, have, want);
        return CFX_OK;
    }
    cfx_buf_init(&text, m->ctx);
    cfx_buf_init(&with, m->ctx);
    add_dim(&text, want);
    const char *s = cfx_buf_str(&text);
    bool bare = !s[name_length(s)];
    if (bare && !strcmp(s, "_")) {
        *same = true;
    } else if (substitute(m, &with, s)) {
        st = with.failed ? CFX_ENOMEM
                         : cfx_dim_parse(&want, m->env, cfx_buf_str(&with),
                                         NULL);
        *same = !st && cfx_dim_known_eq(m->env, have, want);
        st = st == CFX_ENOMEM ? st : CFX_OK;
    } else if (bare) {
        *same = bind(m, s, have);
        st = *same ? CFX_OK : CFX_ENOMEM;
    }
    if (text.failed)
        st = CFX_ENOMEM;
    cfx_buf_release(&text);
    cfx_buf_release(&with);
    return st;
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
    /* Steps along an axis of one element mean nothing. */
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
