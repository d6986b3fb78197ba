/*
 * pass_text -- parse passes and options: "dead_code, split(parts=3, by=flops)".
 */
#include <cfx/pass.h>
#include <cfx/text.h>

#include <string.h>

#include "base/util.h"
#include "interp/passes/pass_impl.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Find the end of a piece: a comma outside of brackets and quotes, or the end.
 * An unclosed one extends to the end, where parsing the value reports it. */
static const char *piece_end(const char *at, const char *end)
{
    int depth = 0;
    for (char quote = 0; at < end && (*at != ',' || depth || quote); at++) {
        if (quote && *at == '\\' && at + 1 < end)
            at++;
        else if (quote)
            quote = *at == quote ? 0 : quote;
        else if (*at == '\'' || *at == '"')
            quote = *at;
        else if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at))
            depth -= depth > 0;
    }
    return at;
}

static size_t trim(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        ++*at;
    while (end > *at && is_blank(end[-1]))
        end--;
    return (size_t)(end - *at);
}

size_t cfx_pass_text_split(const char **text, const char **rest)
{
    const char *end = piece_end(*text, *text + strlen(*text));
    if (rest)
        *rest = *end ? end + 1 : NULL;
    return trim(text, end);
}

/* ---- Options ---- */

/* Parsed options before binding; the values are owned. */
typedef struct options {
    cfx_context *ctx;
    cfx_value arg[CFX_MAX_PARAMS], kwarg[2 * CFX_MAX_PARAMS];
    size_t nargs, nkwargs;
} options;

static void options_release(options *o)
{
    for (size_t i = 0; i < o->nargs; i++)
        cfx_value_unref(o->arg[i]);
    for (size_t i = 0; i < 2 * o->nkwargs; i++)
        cfx_value_unref(o->kwarg[i]);
}

/* A bare word is a string. */
static cfx_status name_to_str(void *user, cfx_value v, cfx_value *out)
{
    (void)user;
    *out = cfx_value_ref(v);
    if (v.kind == CFX_NAME)
        out->kind = CFX_STR;
    return CFX_OK;
}

static cfx_status read_value(options *o, cfx_value *out, const char *at,
                             size_t n, cfx_error *err)
{
    cfx_value v;
    cfx_status st = cfx_parse_value(&v, o->ctx, at, n, err);
    if (st)
        return st;
    st = cfx_value_map(out, o->ctx, v, name_to_str, NULL, err);
    cfx_value_unref(v);
    return st;
}

static bool is_word(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != '_' && !(at[i] >= 'a' && at[i] <= 'z') &&
            !(at[i] >= 'A' && at[i] <= 'Z') &&
            !(i && at[i] >= '0' && at[i] <= '9'))
            return false;
    return n > 0;
}

/* "key=value" or "value". */
static cfx_status read_option(options *o, const char *at, size_t n,
                              cfx_error *err)
{
    const char *equals = memchr(at, '=', n), *key = at;
    size_t len = equals ? trim(&key, equals) : 0;
    if (o->nargs + o->nkwargs >= CFX_MAX_PARAMS)
        return cfx_fail(err, CFX_EINVAL, "more than %d options are given",
                        CFX_MAX_PARAMS);
    if (!equals || !is_word(key, len)) {
        if (o->nkwargs)
            return cfx_fail(err, CFX_EPARSE,
                            "'%.*s' follows an option with a name", (int)n,
                            at);
        cfx_status st = read_value(o, &o->arg[o->nargs], at, n, err);
        o->nargs += !st;
        return st;
    }
    cfx_value k = cfx_str_new(o->ctx, key, len);
    if (!k.kind)
        return cfx_no_memory(err);
    const char *value = equals + 1;
    len = trim(&value, at + n);
    cfx_status st = read_value(o, &o->kwarg[2 * o->nkwargs + 1], value, len,
                               err);
    if (st) {
        cfx_value_unref(k);
        return st;
    }
    o->kwarg[2 * o->nkwargs++] = k;
    return CFX_OK;
}

/* Parse from after the opening bracket up to the closing one. */
static cfx_status read_options(options *o, const char *at, const char *end,
                               cfx_error *err)
{
    trim(&at, end);
    while (at < end) {
        const char *stop = piece_end(at, end), *piece = at;
        size_t n = trim(&piece, stop);
        if (!n)
            return cfx_fail(err, CFX_EPARSE, "an option is missing");
        cfx_status st = read_option(o, piece, n, err);
        if (st)
            return st;
        at = stop + (stop < end);
    }
    return CFX_OK;
}

/* ---- Applying ---- */

static cfx_status apply(cfx_module *gm, const char *text, size_t len,
                        options *o, bool reverse, size_t *changed,
                        cfx_missed_list *missed, cfx_error *err)
{
    const cfx_pass *pass;
    const char *end = text + len, *open = memchr(text, '(', len);
    size_t n = trim(&text, open ? open : end);
    if (!is_word(text, n))
        return cfx_fail(err, CFX_EPARSE, "'%.*s' is not a name of a pass",
                        n < 256 ? (int)n : 256, text);
    cfx_status st = cfx_pass__find(&pass, o->ctx, text, n, err);
    if (!st && open && end[-1] != ')')
        st = cfx_fail(err, CFX_EPARSE, "')' is missing");
    if (!st && open)
        st = read_options(o, open + 1, end - 1, err);
    if (st && st != CFX_ENAME && err && err->code)
        cfx_fail_at(err, "%.*s", (int)n, text);
    if (!st)
        st = cfx_missed__run_pass(
            pass, gm, (cfx_args){o->arg, o->nargs, o->kwarg, o->nkwargs},
            reverse, changed, missed, err);
    return st;
}

cfx_status cfx_missed__apply_pass(cfx_module *gm, const char *text,
                                  bool reverse, size_t *changed,
                                  cfx_missed_list *missed, cfx_error *err)
{
    options o = {.ctx = cfx_module_context(gm)};
    const char *rest = NULL, *from = text;
    size_t n = cfx_pass_text_split(&text, &rest);
    if (changed)
        *changed = 0;
    cfx_error_clear(err);
    if (rest)
        return cfx_fail(err, CFX_EPARSE, "'%.200s' is more than one pass",
                        from);
    cfx_status st = apply(gm, text, n, &o, reverse, changed, missed, err);
    options_release(&o);
    return st;
}

cfx_status cfx_pass_apply(cfx_module *gm, const char *text, bool reverse,
                          size_t *changed, cfx_error *err)
{
    return cfx_missed__apply_pass(gm, text, reverse, changed, NULL, err);
}
