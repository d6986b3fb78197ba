/*
 * read_loose -- arguments as torch.fx prints them: without quotes.
 *
 * Arguments are separated by exactly ", " outside of brackets. A piece that is
 * not a literal, node or aggregate is a string, which may contain commas and
 * unbalanced brackets:
 *
 *     args = (%eq, Expected (N, C), got Proxy(x))
 *
 * So all brackets of a line are matched first: match[i] is the offset after
 * the partner of the bracket at i, or 0 if it has none and is an ordinary
 * character. The ends of all pieces follow in linear time, without
 * backtracking. A string that was split at its commas is joined again if the
 * target takes no further argument, or no string.
 *
 * Every interpretation of a piece prints as the same text.
 */
#include <cfx/op.h>

#include "format/text/reader.h"

/* ---- Brackets ---- */

static int bracket_type(char c)
{
    switch (c) {
    case '(':
    case ')': return 0;
    case '[':
    case ']': return 1;
    default: return 2;
    }
}

/* May a string in quotes begin at s? Not in the middle of a word or text. */
static bool string_may_begin(const char *body, const char *s)
{
    if (s == body || strchr("([{=", s[-1]))
        return true;
    return s[-1] == ' ' && s - body >= 2 && (s[-2] == ',' || s[-2] == ':');
}

/* The end of the string in quotes at s, or NULL; `open` remembers the quotes
 * that never end, so that they are looked for once. */
static const char *string_end(const char *body, const char *s, const char *end,
                              bool open[2])
{
    int kind = *s == '"';
    if (open[kind] || !string_may_begin(body, s))
        return NULL;
    const char *close = cfx_scan_string(s, end);
    open[kind] = !close;
    return close && (close == end || strchr(",)]}:", *close)) ? close : NULL;
}

typedef struct matcher {
    uint32_t *match;
    const char *s;
    uint32_t top;    /* 1 + the innermost open bracket; match links them */
    size_t count[3]; /* open ones, by type */
} matcher;

static uint32_t pop(matcher *m, uint32_t partner)
{
    uint32_t i = m->top - 1;
    m->top = m->match[i];
    m->match[i] = partner;
    m->count[bracket_type(m->s[i])]--;
    return i;
}

/* Close the nearest bracket of that type; those inside it have no partner. */
static void close_bracket(matcher *m, uint32_t at)
{
    int type = bracket_type(m->s[at]);
    if (!m->count[type])
        return;
    while (bracket_type(m->s[m->top - 1]) != type)
        pop(m, 0);
    pop(m, at + 1);
}

static cfx_status match_brackets(cfx_reader *r, const char *s, const char *end)
{
    size_t len = (size_t)(end - s);
    bool open[2] = {false, false};
    if (len >= UINT32_MAX)
        return cfx_reader_fail(r, s, CFX_EPARSE, "the line is too long");
    if (cfx_grow(r->ctx, r->match, r->match_cap, len, r->err))
        return CFX_ENOMEM;
    r->body = s;
    matcher m = {.match = r->match, .s = s};
    for (uint32_t i = 0; i < len; i++) {
        const char *close;
        switch (s[i]) {
        case '(':
        case '[':
        case '{':
            m.match[i] = m.top;
            m.top = i + 1;
            m.count[bracket_type(s[i])]++;
            break;
        case ')':
        case ']':
        case '}': close_bracket(&m, i); break;
        case '\'':
        case '"':
            close = string_end(s, s + i, end, open);
            m.match[i] = close ? (uint32_t)(close - s) : 0;
            if (close)
                i = m.match[i] - 1;
            break;
        default: break;
        }
    }
    while (m.top)
        pop(&m, 0);
    return CFX_OK;
}

/* The position after the partner of the bracket at s, or NULL. */
static const char *partner(const cfx_reader *r, const char *s)
{
    if (*s != '(' && *s != '[' && *s != '{' && *s != '\'' && *s != '"')
        return NULL;
    uint32_t m = r->match[s - r->body];
    return m ? r->body + m : NULL;
}

/* The first `mark` followed by a blank at or after s and outside brackets,
 * or the end. */
static const char *find_mark(const cfx_reader *r, const char *s,
                             const char *end, char mark)
{
    while (s < end) {
        if (*s == mark && s + 1 < end && s[1] == ' ')
            return s;
        const char *behind = cfx_is_name_char(*s) ? NULL : partner(r, s);
        s = behind ? behind : s + 1;
    }
    return end;
}

/* ---- One piece ---- */

static cfx_status loose_value(cfx_reader *r, const char *s, const char *end,
                              int depth, bool *text);

/* Canonical integers only: "007" is a string. */
static bool is_plain_int(const char *s, size_t len)
{
    if (*s == '+' || (len == 2 && !memcmp(s, "-0", 2)))
        return false;
    s += *s == '-';
    return *s != '0' || !cfx_is_digit(s[1]) || len == 1;
}

static cfx_status push_text(cfx_reader *r, const char *s, const char *end,
                            bool *text)
{
    *text = true;
    return cfx_reader_push_str(r, CFX_STR, s, (size_t)(end - s));
}

/* A piece that the reader of Python's notation takes, or else a string. */
static cfx_status strict_value(cfx_reader *r, const char *s, const char *end,
                               int depth, bool *text)
{
    cfx_lexer lx;
    cfx_error *err = r->err, tried;
    size_t first = r->n;
    tried.code = CFX_OK;
    tried.text[0] = '\0';
    r->err = &tried;
    r->quiet = r->no_names = r->bare_nodes = true;
    cfx_lexer_init(&lx, s, end, &r->string);
    cfx_status st = cfx_read__value(r, &lx, depth);
    bool whole = !st && lx.token == CFX_TOKEN_END;
    r->quiet = r->no_names = r->bare_nodes = false;
    r->err = err;
    if (whole)
        return CFX_OK;
    if (st == CFX_ENOMEM)
        return cfx_no_memory(r->err);
    cfx_reader_pop_to(r, first);
    return push_text(r, s, end, text);
}

/* `(1+2j)`; any other text in brackets is a string. */
static cfx_status complex_value(cfx_reader *r, const char *s, const char *end,
                                int depth, bool *text)
{
    cfx_status st = strict_value(r, s, end, depth, text);
    if (st || *text || r->stack[r->n - 1].kind == CFX_COMPLEX)
        return st;
    cfx_reader_pop_to(r, r->n - 1);
    return push_text(r, s, end, text);
}

static bool is_known_call(const char *s, const char *end)
{
    static const char *const calls[] = {"slice(",      "range(",
                                        "device(",     "complex(",
                                        "torch.Size(", "torch.device("};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (cfx_starts(s, end, calls[i]))
            return true;
    return false;
}

static cfx_status loose_number(cfx_reader *r, const char *s, const char *end,
                               bool *text)
{
    int64_t i = 0;
    double f = 0;
    size_t len = 0, size = (size_t)(end - s);
    bool found = false;
    cfx_token t = cfx_scan_number(s, end, &len, &i, &f);
    if (t == CFX_TOKEN_INT && len == size && is_plain_int(s, size))
        return cfx_reader_push_take(r, cfx_int(i));
    if (t == CFX_TOKEN_FLOAT && len == size && *s != '+')
        return cfx_reader_push_take(r, cfx_float(f));
    if (t == CFX_TOKEN_IMAGINARY && len == size && *s != '+') {
        cfx_value half[2] = {cfx_float(0), cfx_float(f)};
        return cfx_reader_push_take(
            r, cfx_seq_new(r->ctx, CFX_COMPLEX, 2, half, NULL));
    }
    cfx_status st = *s == '-' ? cfx_read__constant(r, s, size, &found)
                              : CFX_OK;
    return found ? st : push_text(r, s, end, text);
}

static cfx_status loose_node(cfx_reader *r, const char *s, const char *end,
                             bool *text)
{
    if (!cfx_is_name(s + 1, end))
        return push_text(r, s, end, text);
    cfx_node *n = cfx_reader_node(r, s + 1, (size_t)(end - s - 1));
    if (n)
        return cfx_reader_push_take(r, cfx_value_of_node(n));
    return cfx_reader_fail(r, s, CFX_EGRAPH,
                           "%.*s is used before it is defined",
                           end - s > 200 ? 200 : (int)(end - s), s);
}

static cfx_status loose_items(cfx_reader *r, const char *s, const char *end,
                              const cfx_target *chain, int depth);
static cfx_status loose_pairs(cfx_reader *r, const char *s, const char *end,
                              bool kwargs, int depth);

/* Do the brackets around s..end hold a tuple, and not a text in brackets? */
static bool is_tuple(const cfx_reader *r, const char *s, const char *end)
{
    return s == end || end[-1] == ',' || find_mark(r, s, end, ',') != end;
}

static bool is_dict(const cfx_reader *r, const char *s, const char *end)
{
    const char *piece = find_mark(r, s, end, ',');
    return s == end || find_mark(r, s, piece, ':') != piece;
}

/* A piece that is one pair of brackets. */
static cfx_status loose_brackets(cfx_reader *r, const char *s, const char *end,
                                 int depth, bool *text)
{
    size_t first = r->n;
    const char *in = s + 1, *stop = end - 1;
    cfx_kind kind = *s == '[' ? CFX_LIST : *s == '(' ? CFX_TUPLE : CFX_DICT;
    if (kind == CFX_TUPLE && !is_tuple(r, in, stop))
        return complex_value(r, s, end, depth, text);
    if (kind == CFX_DICT && !is_dict(r, in, stop))
        return push_text(r, s, end, text);
    if (depth >= CFX_MAX_DEPTH)
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "a value nests deeper than %d", CFX_MAX_DEPTH);
    cfx_status st = kind == CFX_DICT
                        ? loose_pairs(r, in, stop, false, depth + 1)
                        : loose_items(r, in, stop, NULL, depth + 1);
    return st ? st : cfx_reader_gather(r, kind, first);
}

/* A string in quotes, as a person writes it. */
static cfx_status quoted_value(cfx_reader *r, const char *s, const char *end,
                               bool *text)
{
    cfx_lexer lx;
    cfx_lexer_init(&lx, s, end, &r->string);
    if (r->string.failed)
        return cfx_no_memory(r->err);
    if (lx.token != CFX_TOKEN_STRING)
        return push_text(r, s, end, text);
    return cfx_reader_push_str(r, CFX_STR, cfx_buf_str(&r->string),
                               r->string.len);
}

/* Push the value of a piece. *text: in, does it follow a string without
 * quotes? out, is it one? */
static cfx_status loose_value(cfx_reader *r, const char *s, const char *end,
                              int depth, bool *text)
{
    bool after_text = *text, found;
    *text = false;
    if (s == end)
        return push_text(r, s, end, text);
    if (*s == '%')
        return loose_node(r, s, end, text);
    if (cfx_is_digit(*s) || *s == '-' || *s == '+' ||
        (*s == '.' && end - s > 1 && cfx_is_digit(s[1])))
        return loose_number(r, s, end, text);
    if (partner(r, s) == end) {
        if (*s != '\'' && *s != '"')
            return loose_brackets(r, s, end, depth, text);
        if (!after_text)
            return quoted_value(r, s, end, text);
    }
    if (end[-1] == ')' && is_known_call(s, end))
        return strict_value(r, s, end, depth, text);
    cfx_status st = cfx_read__constant(r, s, (size_t)(end - s), &found);
    return found ? st : push_text(r, s, end, text);
}

/* ---- Pieces that belong together ---- */

/* A run of pieces that are one string; its first is the value at `index`. */
typedef struct run {
    const char *s, *end;
    size_t index;
    bool text, joined;
} run;

/* Give the run's value its whole text. */
static cfx_status end_run(cfx_reader *r, run *u)
{
    if (!u->joined)
        return CFX_OK;
    u->joined = false;
    cfx_value whole = cfx_str_new(r->ctx, u->s, (size_t)(u->end - u->s));
    if (whole.kind == CFX_ABSENT)
        return cfx_no_memory(r->err);
    cfx_value_unref(r->stack[u->index]);
    r->stack[u->index] = whole;
    return CFX_OK;
}

static const cfx_schema *signature(const cfx_target *t)
{
    return t->variant ? t->variant : t->schema;
}

/* Does the value, which follows a string, belong to it? It does where the
 * target has no parameter k, or has one that takes no string. */
static bool belongs_to_text(const cfx_target *chain, size_t k, cfx_value v,
                            bool text)
{
    bool scalar = v.kind != CFX_NODE && v.kind != CFX_LIST &&
                  v.kind != CFX_TUPLE && v.kind != CFX_DICT;
    if (!chain || !scalar)
        return false;
    for (const cfx_target *t = chain; t; t = t->next) {
        const cfx_schema *sig = signature(t);
        if (k < (size_t)sig->npositional &&
            (!text || sig->params[k].kinds & UINT32_C(1) << CFX_STR))
            return false;
    }
    return true;
}

/* The value of an item. A comma may follow the last one, as in Python; but at the end
 * of a string without quotes it belongs to the string. */
static cfx_status item_value(cfx_reader *r, const char *s, const char *end,
                             bool last, int depth, bool *text)
{
    bool follows = *text;
    size_t first = r->n;
    if (!last || end - s < 2 || end[-1] != ',')
        return loose_value(r, s, end, depth, text);
    cfx_status st = loose_value(r, s, end - 1, depth, text);
    if (st || !*text)
        return st;
    cfx_reader_pop_to(r, first);
    *text = follows;
    return loose_value(r, s, end, depth, text);
}

/* Items of a tuple or list; those of args with their target. */
static cfx_status loose_items(cfx_reader *r, const char *s, const char *end,
                              const cfx_target *chain, int depth)
{
    size_t first = r->n;
    run u = {.text = false};
    cfx_status st = CFX_OK;
    if (end > s && end[-1] == ',' && find_mark(r, s, end, ',') == end)
        end--;
    for (bool more = s < end; more && !st;) {
        const char *stop = find_mark(r, s, end, ',');
        bool text = u.text;
        more = stop != end;
        st = item_value(r, s, stop, !more, depth, &text);
        if (!st && u.text &&
            belongs_to_text(chain, r->n - 1 - first, r->stack[r->n - 1],
                            text)) {
            cfx_reader_pop_to(r, r->n - 1);
            u.joined = true;
        } else if (!st) {
            st = end_run(r, &u);
            u = (run){.s = s, .index = r->n - 1, .text = text};
        }
        u.end = stop;
        s = more ? stop + 2 : stop;
    }
    return st ? st : end_run(r, &u);
}

/* The end of the key of a pair, or NULL. */
static const char *find_key(cfx_reader *r, const char *s, const char *end,
                            bool kwargs)
{
    const char *colon = find_mark(r, s, end, ':');
    bool quoted = s < end && (*s == '\'' || *s == '"');
    return colon == end || (kwargs && !quoted && !cfx_is_name(s, colon))
               ? NULL
               : colon;
}

static cfx_status loose_key(cfx_reader *r, const char *s, const char *end,
                            bool kwargs, int depth)
{
    bool text = false;
    if (kwargs && *s != '\'' && *s != '"')
        return push_text(r, s, end, &text);
    return loose_value(r, s, end, depth, &text);
}

/* Pairs of a dict, or of kwargs, whose keys are names. */
static cfx_status loose_pairs(cfx_reader *r, const char *s, const char *end,
                              bool kwargs, int depth)
{
    run u = {.text = false};
    cfx_status st = CFX_OK;
    for (bool more = s < end, any = false; more && !st;) {
        const char *stop = find_mark(r, s, end, ',');
        const char *colon = find_key(r, s, stop, kwargs);
        bool text = false;
        more = stop != end;
        if (!colon && !any)
            return cfx_reader_fail(r, s, CFX_EPARSE,
                                   "a key and ': ' should stand here");
        if (colon) {
            st = end_run(r, &u);
            if (!st)
                st = loose_key(r, s, colon, kwargs, depth);
            if (!st)
                st = item_value(r, colon + 2, stop, !more, depth, &text);
            u = (run){.s = colon + 2, .index = r->n - 1};
            any = true;
        } else {
            u.joined = true;
        }
        u.end = stop;
        s = more ? stop + 2 : stop;
    }
    return st ? st : end_run(r, &u);
}

/* ---- Devices ---- */

static void make_device(const cfx_param *p, cfx_value *v)
{
    cfx_device_label label;
    if (p->base == CFX_T_DEVICE && v->kind == CFX_STR &&
        cfx_device_parse(&label, v->u.str->text))
        v->kind = CFX_DEVICE;
}

void cfx_read__loose_devices(cfx_reader *r, const cfx_target *chain,
                             size_t args, size_t kwargs)
{
    const cfx_schema *sig = signature(chain);
    cfx_value *arg = r->stack + args, *kwarg = r->stack + kwargs;
    for (int k = 0; k < sig->npositional && arg + k < kwarg; k++)
        make_device(&sig->params[k], &arg[k]);
    for (; kwarg < r->stack + r->n; kwarg += 2)
        for (int k = 0; k < sig->nparams; k++)
            if (!strcmp(sig->params[k].name, kwarg[0].u.str->text))
                make_device(&sig->params[k], &kwarg[1]);
}

/* ---- The whole ---- */

cfx_status cfx_read__loose_args(cfx_reader *r, const char *s, const char *end,
                                const cfx_target *chain)
{
    cfx_status st = match_brackets(r, s, end);
    return st ? st : loose_items(r, s, end, chain, 0);
}

cfx_status cfx_read__loose_kwargs(cfx_reader *r, const char *s,
                                  const char *end)
{
    cfx_status st = match_brackets(r, s, end);
    return st ? st : loose_pairs(r, s, end, true, 0);
}
