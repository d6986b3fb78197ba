/*
 * read_signature -- the parameters of forward, as placeholders, and types.
 *
 * FX names a placeholder after its parameter, or gives it another name in a
 * line at the beginning of the body: `input_1 = input`.
 */
#include "format/python/read_python.h"
#include "graph/graph_impl.h"

/* ---- Types ---- */

/* The end of a type: a character of `stop` outside of brackets. */
static const char *type_end(const cfx_python *p, const char *stop)
{
    const char *s = p->lx.text, *end = p->lx.end;
    int depth = 0;
    while (s < end && (depth > 0 || !strchr(stop, *s))) {
        const char *close = *s == '\'' || *s == '"' ? cfx_scan_string(s, end)
                                                    : s + 1;
        depth += *s == '[' || *s == '(';
        depth -= *s == ']' || *s == ')';
        s = close ? close : end;
    }
    return s;
}

void cfx_python__skip_type(cfx_python *p)
{
    p->lx.at = type_end(p, "=");
    cfx_lexer_next(&p->lx);
}

static void put_type_word(cfx_buf *b, const char *s, size_t n)
{
    static const char typing[] = "typing_";
    size_t len = sizeof(typing) - 1;
    if (n > len && !memcmp(s, typing, len)) {
        cfx_buf_puts(b, "typing.");
        cfx_buf_add(b, s + len, n - len);
    } else {
        cfx_buf_add(b, s, n);
    }
}

static const char *skip_spaces(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t'))
        s++;
    return s;
}

/* `typing.Union[X, NoneType]`, from `first`, is `typing.Optional[X]`; `last` is
 * where NoneType begins. */
static void shorten_union(cfx_buf *b, size_t first, size_t last)
{
    static const char head[] = "typing.Union[", tail[] = ", NoneType";
    static const char optional[] = "typing.Optional[";
    const size_t nhead = sizeof(head) - 1, ntail = sizeof(tail) - 1;
    const size_t more = sizeof(optional) - sizeof(head);
    if (b->failed || b->len - first < nhead + ntail ||
        memcmp(b->s + first, head, nhead) || b->len - last != ntail - 2 ||
        memcmp(b->s + last - 2, tail, ntail))
        return;
    size_t rest = last - 2 - first - nhead;
    memmove(b->s + first + nhead + more, b->s + first + nhead, rest);
    memcpy(b->s + first, optional, sizeof(optional) - 1);
    b->len = first + nhead + more + rest;
    b->s[b->len] = '\0';
}

/* Put the type that torch.fx has: `typing.List[int]` where code has
 * `typing_List[int]`. Returns where it ends. */
static const char *put_type(cfx_buf *b, const char *s, const char *end,
                            int depth)
{
    size_t first = b->len, last = first, n = 0, items = 0;
    s = skip_spaces(s, end);
    while (s + n < end && *s != '"' && !strchr("[], ", s[n]) && s[n] != '\n')
        n++;
    put_type_word(b, s, n);
    s = skip_spaces(s + n, end);
    if (s == end || *s != '[' || depth == CFX_MAX_DEPTH)
        return s;
    cfx_buf_putc(b, '[');
    for (s++; s < end && *s != ']'; items++) {
        cfx_buf_puts(b, items ? ", " : "");
        last = b->len;
        const char *at = s;
        s = put_type(b, s, end, depth + 1);
        s += s < end && (*s == ',' || s == at);
        s = skip_spaces(s, end);
    }
    if (items == 2)
        shorten_union(b, first, last);
    cfx_buf_putc(b, ']');
    return skip_spaces(s + (s < end), end);
}

/* A shape whose text is known; one that cfx has no type for stays unknown. */
static cfx_status read_shape(cfx_python *p, const char *s, const char *end,
                             cfx_value *shape)
{
    static const char symbol[] = "Sym(";
    cfx_reader *r = &p->r;
    cfx_error tried = {.code = CFX_OK};
    if (end - s > 5 && cfx_starts(s, end, symbol) && end[-1] == ')') {
        s += sizeof(symbol) - 1;
        end--;
    }
    cfx_status st = p->env ? CFX_OK
                           : cfx_shape_env_new(&p->env, r->ctx, r->err);
    if (!st)
        st = cfx_parse_shape(shape, r->ctx, p->env, s, (size_t)(end - s),
                             &tried);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(r->err);
    if (st)
        *shape = CFX_NOTHING;
    return CFX_OK;
}

cfx_status cfx_python__type(cfx_python *p, const char *stop, cfx_value *shape)
{
    const char *s = p->lx.text, *end = type_end(p, stop), *last = end;
    cfx_status st = CFX_OK;
    *shape = CFX_NOTHING;
    while (last > s && (last[-1] == ' ' || last[-1] == '\n'))
        last--;
    if (last == s)
        return cfx_python__unexpected(p, "a type");
    bool quoted = *s == '"' && last - s > 2 &&
                  cfx_scan_string(s, last) == last;
    cfx_buf_clear(&p->type);
    p->typed = !quoted;
    if (quoted) {
        st = read_shape(p, s + 1, last - 1, shape);
    } else {
        const char *behind = put_type(&p->type, s, last, 0);
        st = p->type.failed ? cfx_no_memory(p->r.err)
             : behind != last || !p->type.len
                 ? cfx_reader_fail(&p->r, behind, CFX_EPARSE,
                                   "a type should stand here")
                 : CFX_OK;
    }
    p->lx.at = end;
    cfx_lexer_next(&p->lx);
    return st;
}

/* ---- Parameters ---- */

/* A parameter that is being read. */
typedef struct parameter {
    const char *at, *name; /* with its stars, and without */
    size_t len;
    cfx_value shape;
} parameter;

/* The name of the node: what the body calls the parameter. */
static const char *node_name(const cfx_python *p, const parameter *a,
                             size_t *len)
{
    const cfx_map_entry *e = cfx_map_get(&p->aliases, a->name, a->len);
    const char *s = e ? e->v.p : a->name;
    *len = 0;
    while (s + *len < p->r.end && cfx_is_name_char(s[*len]))
        *len += 1;
    return s;
}

static cfx_status make_placeholder(cfx_python *p, const parameter *a,
                                   size_t args)
{
    cfx_reader *r = &p->r;
    size_t len;
    bool added;
    const char *s = node_name(p, a, &len);
    cfx_buf_clear(&p->target);
    cfx_buf_clear(&p->spare);
    cfx_buf_add(&p->target, a->at, (size_t)(a->name + a->len - a->at));
    cfx_buf_add(&p->spare, s, len);
    if (p->target.failed || p->spare.failed)
        return cfx_no_memory(r->err);
    const cfx_map_entry *state = cfx_map_get(&p->lifted, a->name, a->len);
    cfx_node *n = cfx_graph_create_node(
        p->g, state ? CFX_GET_ATTR : CFX_PLACEHOLDER,
        state ? state->v.p : cfx_buf_str(&p->target),
        (cfx_args){cfx_reader_from(r, args), r->n - args, NULL, 0},
        cfx_buf_str(&p->spare), p->typed ? cfx_buf_str(&p->type) : NULL,
        r->err);
    if (!n)
        return cfx_reader_fail_at(r, a->at);
    cfx_reader_pop_to(r, args);
    cfx_status st = cfx_read__keep_name(r, n, s, len);
    if (!st && a->shape.kind != CFX_ABSENT)
        st = cfx_node_set_meta(n, "val", a->shape, r->err);
    if (st)
        return st;
    cfx_map_entry *e = cfx_map_put(&p->variables, a->name, a->len, &added);
    if (!e)
        return cfx_no_memory(r->err);
    if (!added)
        return cfx_reader_fail(r, a->at, CFX_EGRAPH,
                               "the parameter %.*s stands there twice",
                               (int)a->len, a->name);
    e->v.p = n;
    return CFX_OK;
}

static cfx_status read_name(cfx_python *p, parameter *a)
{
    a->at = p->lx.text;
    while (cfx_python__char(p) == '*' && p->lx.text - a->at < 2)
        cfx_python__skip(p, '*');
    if (p->lx.token != CFX_TOKEN_NAME || memchr(p->lx.text, '.', p->lx.len) ||
        !cfx_is_name_start(*p->lx.text))
        return cfx_python__unexpected(p, "a parameter");
    a->name = p->lx.text;
    a->len = p->lx.len;
    cfx_lexer_next(&p->lx);
    return CFX_OK;
}

/* `x`, `x : TYPE`, `x = 3`. */
static cfx_status read_parameter(cfx_python *p, bool first)
{
    cfx_reader *r = &p->r;
    parameter a = {.shape = CFX_NOTHING};
    size_t args = r->n;
    cfx_status st = read_name(p, &a);
    p->typed = false;
    if (!st && cfx_lexer_is(&p->lx, ':')) {
        cfx_lexer_next(&p->lx);
        st = cfx_python__type(p, ",=)", &a.shape);
    }
    if (!st && cfx_lexer_is(&p->lx, '=')) {
        cfx_lexer_next(&p->lx);
        st = cfx_read__value(r, &p->lx, 0);
    }
    bool self = first && a.len == 4 && !memcmp(a.name, "self", 4);
    if (!st && !self && !p->flattened)
        st = make_placeholder(p, &a, args);
    cfx_reader_pop_to(r, st ? r->n : args);
    cfx_value_unref(a.shape);
    return st;
}

cfx_status cfx_python__parameters(cfx_python *p)
{
    cfx_status st = CFX_OK;
    for (bool first = true; !st && !cfx_lexer_is(&p->lx, ')'); first = false) {
        st = read_parameter(p, first);
        if (!st && !cfx_lexer_is(&p->lx, ')'))
            st = cfx_read__punct(&p->r, &p->lx, ',');
    }
    if (!st)
        st = cfx_read__punct(&p->r, &p->lx, ')');
    p->typed = false;
    if (!st && p->lx.token == CFX_TOKEN_SIGN && p->lx.len == 2) {
        cfx_value shape;
        cfx_lexer_next(&p->lx);
        st = cfx_python__type(p, ":", &shape);
        cfx_value_unref(shape);
    }
    return st;
}

bool cfx_python__declares(cfx_python *p, const cfx_python_line *line)
{
    cfx_lexer keep = p->lx;
    bool declares = false;
    cfx_lexer_init(&p->lx, line->s, line->end, &p->r.string);
    if (p->lx.token == CFX_TOKEN_NAME && line->end[-1] == ';') {
        cfx_lexer_next(&p->lx);
        declares = cfx_lexer_is(&p->lx, ':') && type_end(p, "=") == p->lx.end;
    }
    p->lx = keep;
    return declares;
}

/* The shape that the line before declares of a parameter, if it does: it has
 * them in their order. */
static cfx_status read_declared(cfx_python *p, parameter *a)
{
    cfx_lexer keep = p->lx;
    cfx_status st = CFX_OK;
    p->lx = p->declared;
    p->typed = false;
    if (p->lx.token == CFX_TOKEN_NAME && p->lx.len == a->len &&
        !memcmp(p->lx.text, a->name, a->len)) {
        cfx_lexer_next(&p->lx);
        st = cfx_read__punct(&p->r, &p->lx, ':');
        if (!st)
            st = cfx_python__type(p, ";", &a->shape);
        if (!st)
            st = cfx_python__skip(p, ';');
        p->declared = p->lx;
    }
    p->lx = keep;
    return st;
}

cfx_status cfx_python__flattened(cfx_python *p)
{
    cfx_status st = CFX_OK;
    bool bracket = cfx_lexer_is(&p->lx, '(');
    char close = bracket ? ')' : '=';
    p->typed = false;
    if (bracket)
        cfx_lexer_next(&p->lx);
    while (!st && !cfx_lexer_is(&p->lx, close)) {
        parameter a = {.shape = CFX_NOTHING};
        st = read_name(p, &a);
        if (!st)
            st = read_declared(p, &a);
        bool self = !st && a.len == 4 && !memcmp(a.name, "self", 4);
        if (!st && !self)
            st = make_placeholder(p, &a, p->r.n);
        if (!st && !cfx_lexer_is(&p->lx, close))
            st = cfx_read__punct(&p->r, &p->lx, ',');
        cfx_value_unref(a.shape);
    }
    p->typed = false;
    return st;
}
