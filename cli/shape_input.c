/*
 * shape_input -- parse NAME=VALUE options into inputs without data.
 *
 * A symbol that --set makes a number is replaced by that number in the text.
 */
#include "cli.h"

#include <cfx/input_check.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- --set ---- */

static size_t name_length(const char *s)
{
    size_t n = 0;

    while (isalpha((unsigned char)s[n]) || s[n] == '_' ||
           (n && isdigit((unsigned char)s[n])))
        n++;
    return n;
}

/* Parse an extent; *end is the rest. */
static bool read_extent(const char *s, int64_t *out, char **end)
{
    errno = 0;
    *out = strtoll(s, end, 10);
    return *end > s && isdigit((unsigned char)*s) && !errno &&
           *out <= CFX_DIM_MAX;
}

/* Parse "4", "2..64", "2.." or "..64". */
static bool read_range(const char *s, cli_symbol *out)
{
    char *end = (char *)(uintptr_t)s;

    out->min = 1;
    out->max = CFX_DIM_NO_MAX;
    if (strncmp(s, "..", 2) && !read_extent(s, &out->min, &end))
        return false;
    if (end > s && !*end) {
        out->max = out->min;
        return true;
    }
    if (strncmp(end, "..", 2))
        return false;
    s = end + 2;
    if (*s && (!read_extent(s, &out->max, &end) || *end))
        return false;
    return out->min <= out->max;
}

static cli_symbol *find_symbol(const cli_symbols *s, const char *name,
                               size_t len)
{
    for (int i = 0; i < s->n; i++) {
        if (!strncmp(s->item[i].name, name, len) && !s->item[i].name[len])
            return &s->item[i];
    }
    return NULL;
}

static cfx_status read_set(const cli_symbols *s, cli_symbol *out,
                           const char *text, cfx_error *err)
{
    size_t n = name_length(text);

    *out = (cli_symbol){.min = 1};
    if (!n || n >= sizeof(out->name) || text[n] != '=' ||
        !read_range(text + n + 1, out))
        return cfx_fail(err, CFX_EINVAL,
                        "--set %s: should be NAME=4 or NAME=2..64", text);
    if (find_symbol(s, text, n))
        return cfx_fail(err, CFX_EINVAL, "--set %s: it is set already", text);
    memcpy(out->name, text, n);
    return CFX_OK;
}

static cfx_status declare(cli_symbols *s, const cli_symbol *symbol,
                          cfx_error *err)
{
    if (symbol->min == symbol->max)
        return CFX_OK;
    cfx_dim d = cfx_dim_symbol(s->env, symbol->name, symbol->min);
    if (cfx_dim_is_bad(d))
        return cfx_no_memory(err);
    return cfx_dim_limit(s->env, d, symbol->min, symbol->max, err);
}

cfx_status cli_symbols_make(cli_symbols *s, cfx_context *ctx,
                            const cli_list *set, cfx_error *err)
{
    *s = (cli_symbols){.item = calloc((size_t)set->n + 1, sizeof(*s->item))};
    cfx_status st = s->item ? cfx_shape_env_new(&s->env, ctx, err)
                            : cfx_no_memory(err);

    for (int i = 0; i < set->n && !st; i++) {
        st = read_set(s, &s->item[s->n], set->item[i], err);
        if (!st)
            st = declare(s, &s->item[s->n++], err);
    }
    return st;
}

void cli_symbols_release(cli_symbols *s)
{
    cfx_shape_env_free(s->env);
    free(s->item);
    *s = (cli_symbols){0};
}

/* ---- Shapes ---- */

/* Replace symbols that are set by their numbers; free() the result; NULL on
 * lack of memory. Types ("f32[") and quoted text are not symbols. */
static char *put_numbers(cli_symbols *s, const char *text)
{
    enum { DIGITS = 24 };
    size_t len = strlen(text), at = 0;
    char *out = malloc(len * DIGITS + 1), quote = '\0';

    if (!out)
        return NULL;
    while (*text) {
        size_t n = quote || *text == '.' ? 0 : name_length(text);
        cli_symbol *symbol = n && text[n] != '[' ? find_symbol(s, text, n)
                                                 : NULL;
        if (symbol)
            symbol->used = true;
        if (symbol && symbol->min == symbol->max) {
            at += (size_t)snprintf(out + at, DIGITS, "%lld",
                                   (long long)symbol->min);
            text += n;
            continue;
        }
        if (!quote && (*text == '\'' || *text == '"'))
            quote = *text;
        else if (*text == quote)
            quote = '\0';
        n = n ? n : 1;
        memcpy(out + at, text, n);
        at += n;
        text += n;
    }
    out[at] = '\0';
    return out;
}

cfx_status cli_shape_make(cfx_value *out, cfx_context *ctx, cli_symbols *s,
                          const char *text, cfx_error *err)
{
    char *full = put_numbers(s, text);

    *out = CFX_NOTHING;
    if (!full)
        return cfx_no_memory(err);
    cfx_status st = cfx_parse_shape(out, ctx, s->env, full, strlen(full), err);
    free(full);
    return st;
}

/* ---- Inputs ---- */

struct making {
    const cli *c;
    const cfx_module *gm;
    cfx_model_file *samples;
    cli_symbols *s;
    /* The ranges of symbols, a dict {name: (least, most)}; or absent. */
    cfx_value ranges;
};

/* True for words that are probably no symbol: a type without a shape, or the
 * "_" of assertions, which would be the same extent everywhere. */
static bool is_no_symbol(const char *word, size_t len)
{
    char name[32];
    cfx_dtype dtype;

    if (len >= sizeof(name))
        return false;
    memcpy(name, word, len);
    name[len] = '\0';
    return !strcmp(name, "_") || cfx_dtype_parse(&dtype, name);
}

/* Types come before a bracket, or after a dot ("torch.float32"). */
static cfx_status check_words(const char *text, cfx_error *err)
{
    char quote = '\0';

    for (const char *s = text; *s;) {
        size_t n = quote ? 0 : name_length(s);
        if (n && s[n] != '[' && (s == text || s[-1] != '.') &&
            is_no_symbol(s, n))
            return cfx_fail(err, CFX_EPARSE, "'%.*s' is not a %s", (int)n, s,
                            *s == '_' ? "symbol" : "shape such as f32[1, 3]");
        if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else if (*s == quote)
            quote = '\0';
        s += n ? n : 1;
    }
    return CFX_OK;
}

/* The ranges that the file tells of the symbols in its shapes. */
static cfx_value known_ranges(const cfx_module *gm)
{
    const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));
    cfx_value v = CFX_NOTHING;

    for (; n && v.kind != CFX_DICT; n = cfx_node_next(n))
        v = cfx_node_meta(n, "range_constraints");
    return v.kind == CFX_DICT ? v : CFX_NOTHING;
}

/* Declare a symbol, of at least `min` unless the file tells its range. --set
 * goes before it. */
static cfx_status declare_known(const struct making *m, const char *name,
                                size_t len, int64_t min, cfx_error *err)
{
    cli_symbol symbol = {.min = min, .max = CFX_DIM_NO_MAX};

    if (len >= sizeof(symbol.name) || find_symbol(m->s, name, len))
        return CFX_OK;
    memcpy(symbol.name, name, len);
    cfx_value range = cfx_dict_get(m->ranges, symbol.name);
    if (range.kind == CFX_TUPLE && range.u.seq->len == 2) {
        if (range.u.seq->item[0].kind == CFX_INT)
            symbol.min = range.u.seq->item[0].u.i;
        if (range.u.seq->item[1].kind == CFX_INT)
            symbol.max = range.u.seq->item[1].u.i;
    }
    return declare(m->s, &symbol, err);
}

static cfx_status declare_all(const struct making *m, const char *text,
                              cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t n; *text && m->ranges.kind == CFX_DICT && !st; text += n) {
        n = name_length(text);
        if (n && text[n] != '[')
            st = declare_known(m, text, n, 1, err);
        n = n ? n : 1;
    }
    return st;
}

static cfx_status make_shape(void *user, cfx_value *out, const char *text,
                             const char *name, cfx_error *err)
{
    const struct making *m = user;

    if (cfx_tensor_names_file(text))
        return cli_value_make(out, m->c, text, name, 0, err);
    char *shape = strndup(text, cli_shape_length(text));
    cfx_status st = shape ? check_words(shape, err) : cfx_no_memory(err);
    if (!st)
        st = declare_all(m, shape, err);
    if (!st)
        st = cli_shape_make(out, m->c->ctx, m->s, shape, err);
    free(shape);
    return st;
}

/* ---- Inputs as the file declares them ---- */

/* The number that --set gives a symbol. */
static bool number_of(void *user, const char *name, cfx_dim *v)
{
    const struct making *m = user;
    const cli_symbol *symbol = find_symbol(m->s, name, strlen(name));

    if (symbol && symbol->min == symbol->max)
        *v = cfx_dim_int(symbol->min);
    return symbol && symbol->min == symbol->max;
}

/* Declare the symbols of an extent, and put in the numbers of --set. */
static cfx_status use_extent(struct making *m, cfx_dim *d, int64_t min,
                             cfx_error *err)
{
    enum { MOST = 16 };
    cfx_dim symbol[MOST];
    size_t n = cfx_dim_free_symbols(*d, symbol, MOST);
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < n && i < MOST && !st; i++) {
        const char *name = cfx_dim_symbol_name(symbol[i]);
        cli_symbol *set = find_symbol(m->s, name, strlen(name));
        if (set)
            set->used = true;
        else
            st = declare_known(m, name, strlen(name), min, err);
    }
    *d = cfx_dim_subst(m->s->env, *d, number_of, m);
    return st;
}

struct declaring {
    struct making *m;
    cfx_error *err;
};

static cfx_status use_declared(void *user, cfx_value v, cfx_value *out)
{
    const struct declaring *d = user;
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    const cfx_tensor *t = v.u.tensor;
    cfx_tensor *meta;
    cfx_status st = CFX_OK;

    *out = CFX_NOTHING;
    if (v.kind == CFX_SYMINT) {
        st = use_extent(d->m, &v.u.dim, CFX_DIM_NO_MIN, d->err);
        *out = st ? CFX_NOTHING : cfx_value_of_dim(v.u.dim);
        return st;
    }
    if (v.kind != CFX_TENSOR) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    for (int i = 0; i < t->rank && !st; i++) {
        shape[i] = t->shape[i];
        stride[i] = t->stride[i];
        st = use_extent(d->m, &shape[i], 1, d->err);
        if (!st)
            st = use_extent(d->m, &stride[i], 1, d->err);
    }
    if (!st)
        st = cfx_tensor_meta(&meta, d->m->c->ctx, (cfx_dtype)t->dtype, t->rank,
                             shape, stride, d->err);
    if (!st)
        *out = cfx_value_of_tensor(meta);
    return st;
}

static cfx_status add_declared(struct making *m, cli_inputs *in,
                               const cfx_input_check *check, cfx_error *err)
{
    struct declaring d = {m, err};
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < in->n && !st; i++) {
        cfx_value v = CFX_NOTHING;
        if (cfx_value_is_absent(in->value[i]))
            st = cfx_input_check_expected(&v, check, i, err);
        if (!st && v.kind)
            st = cfx_value_map(&in->value[i], m->c->ctx, v, use_declared, &d,
                               err);
        cfx_value_unref(v);
    }
    return st;
}

/* Symbols that the given inputs share with missing ones have their extents. */
static cfx_status fill_shapes(void *user, cli_inputs *in, cfx_error *err)
{
    struct making *m = user;
    cfx_input_check *check = NULL;
    cfx_error misfit = {0}; /* the walk reports it */
    cfx_status st = cli_add_samples(in, m->gm, m->samples, err);

    if (!st)
        st = cfx_input_check_new(&check, cfx_graph_module_graph(m->gm), err);
    if (st || !check)
        return st;
    cfx_input_check_run(check, m->s->env, in->value, in->n, &misfit);
    st = add_declared(m, in, check, err);
    cfx_input_check_free(check);
    return st;
}

cfx_status cli_shapes_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           cfx_model_file *samples, const cli_list *texts,
                           cli_symbols *s, cfx_error *err)
{
    struct making m = {c, gm, samples, s, known_ranges(gm)};
    const cli_input_maker how = {make_shape, fill_shapes, &m};
    cfx_status st = cli_inputs_make_by(in, c, gm, texts, &how, err);

    for (int i = 0; i < s->n && !st; i++) {
        if (!s->item[i].used)
            st = cfx_fail(err, CFX_ENAME, "--set %s: no input has this symbol",
                          s->item[i].name);
    }
    if (st)
        cli_inputs_release(in);
    return st;
}
