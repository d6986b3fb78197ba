/*
 * shape_input -- parse NAME=VALUE options into inputs without data.
 *
 * A symbol that --set makes a number is replaced by that number in the text.
 */
#include "cli.h"

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
                        "--set %s: should be NAME=4 or "
                        "NAME=2..64",
                        text);
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

/* Declare a symbol in the range that the file tells. --set goes before it. */
static cfx_status declare_known(const struct making *m, const char *name,
                                size_t len, cfx_error *err)
{
    cli_symbol symbol = {.max = CFX_DIM_NO_MAX};

    if (len >= sizeof(symbol.name) || find_symbol(m->s, name, len))
        return CFX_OK;
    memcpy(symbol.name, name, len);
    cfx_value range = cfx_dict_get(m->ranges, symbol.name);
    if (range.kind != CFX_TUPLE || range.u.seq->len != 2 ||
        range.u.seq->item[0].kind != CFX_INT)
        return CFX_OK;
    symbol.min = range.u.seq->item[0].u.i;
    if (range.u.seq->item[1].kind == CFX_INT)
        symbol.max = range.u.seq->item[1].u.i;
    return declare(m->s, &symbol, err);
}

static cfx_status declare_all(const struct making *m, const char *text,
                              cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t n; *text && m->ranges.kind == CFX_DICT && !st; text += n) {
        n = name_length(text);
        if (n && text[n] != '[')
            st = declare_known(m, text, n, err);
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
    cfx_status st = check_words(text, err);
    if (!st)
        st = declare_all(m, text, err);
    return st ? st : cli_shape_make(out, m->c->ctx, m->s, text, err);
}

cfx_status cli_shapes_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           const cli_list *texts, cli_symbols *s,
                           cfx_error *err)
{
    struct making m = {c, s, known_ranges(gm)};
    cfx_status st = cli_inputs_make_by(in, gm, texts, true, make_shape, &m,
                                       err);

    for (int i = 0; i < s->n && !st; i++) {
        if (!s->item[i].used)
            st = cfx_fail(err, CFX_ENAME, "--set %s: no input has this symbol",
                          s->item[i].name);
    }
    if (st)
        cli_inputs_release(in);
    return st;
}
