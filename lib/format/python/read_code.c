/*
 * read_code -- the statements of forward, each of which is a node.
 *
 *     relu = torch.relu(x);  x = None
 *     y += relu;  iadd = y;  y = relu = None
 *     conv = getattr(self.features, "0")(iadd);  iadd = None
 *     return (conv,)
 *
 * A statement holds one operation, as torch.fx prints it: its operands are
 * names and literals. A name that was freed (`x = None`) is not defined.
 */
#include "format/python/read_python.h"
#include "graph/graph_impl.h"

/* ---- Names ---- */

static bool is_word(const char *s, size_t len, const char *word)
{
    return len == strlen(word) && !memcmp(s, word, len);
}

static bool at_name(const cfx_python *p)
{
    return p->lx.token == CFX_TOKEN_NAME && cfx_is_name_start(*p->lx.text) &&
           !memchr(p->lx.text, '.', p->lx.len);
}

/* Define a variable. */
static cfx_status define(cfx_python *p, const char *s, size_t len, cfx_node *n)
{
    cfx_map_entry *e = cfx_map_put(&p->variables, s, len, NULL);
    if (!e)
        return cfx_no_memory(p->r.err);
    if (e->v.p && e->v.p != n)
        return cfx_reader_fail(&p->r, s, CFX_EGRAPH,
                               "%.*s is defined twice: a node has one name",
                               len > 200 ? 200 : (int)len, s);
    e->v.p = n;
    return CFX_OK;
}

/* ---- Making nodes ---- */

/* Make the node; without a name, the graph names it. */
static cfx_status make_node(cfx_python *p, const cfx_operation *o,
                            const char *name, size_t len, cfx_node **out)
{
    cfx_reader *r = &p->r;
    cfx_buf_clear(&p->spare);
    cfx_buf_add(&p->spare, name, len);
    if (p->spare.failed)
        return cfx_no_memory(r->err);
    *out = cfx_graph_create_node(
        p->g, o->op, cfx_buf_str(&p->target),
        (cfx_args){cfx_reader_from(r, o->args), o->kwargs - o->args,
                   cfx_reader_from(r, o->kwargs), (r->n - o->kwargs) / 2},
        len ? cfx_buf_str(&p->spare) : NULL,
        p->typed ? cfx_buf_str(&p->type) : NULL, r->err);
    if (!*out)
        return cfx_reader_fail_at(r, o->at);
    cfx_reader_pop_to(r, o->args);
    return len ? cfx_read__keep_name(r, *out, name, len) : CFX_OK;
}

/* ---- Statements ---- */

/* `a = b = None`: are the next tokens that? *ends: after it. */
static bool is_free(const cfx_python *p, cfx_lexer *lx)
{
    for (;;) {
        if (lx->token != CFX_TOKEN_NAME)
            return false;
        bool none = cfx_lexer_is_name(lx, "None");
        cfx_lexer_next(lx);
        if (none)
            return lx->token == CFX_TOKEN_END ||
                   (lx->token == CFX_TOKEN_BAD && *lx->text == ';');
        if (!cfx_lexer_is(lx, '=') || lx->at == p->lx.end || *lx->at == '=')
            return false;
        cfx_lexer_next(lx);
    }
}

static cfx_status read_free(cfx_python *p)
{
    while (!cfx_lexer_is_name(&p->lx, "None")) {
        cfx_map_entry *e = cfx_map_get(&p->variables, p->lx.text, p->lx.len);
        if (!e || !e->v.p)
            return cfx_reader_fail(
                &p->r, p->lx.text, CFX_EGRAPH, "%.*s is not defined",
                p->lx.len > 200 ? 200 : (int)p->lx.len, p->lx.text);
        e->v.p = NULL;
        cfx_lexer_next(&p->lx);
        cfx_lexer_next(&p->lx);
    }
    cfx_lexer_next(&p->lx);
    return CFX_OK;
}

/* `NAME = x` where the graph has that node already: it was made under this
 * name, of a parameter or by a statement in place. */
static cfx_status read_alias(cfx_python *p, const cfx_operation *o,
                             const char *name, size_t len)
{
    cfx_reader *r = &p->r;
    cfx_node *n = r->stack[o->args].u.node;
    cfx_reader_pop_to(r, o->args);
    if (p->inplace) {
        cfx_map_entry *e = cfx_map_get(&p->variables, name, len);
        n = e && e->v.p ? e->v.p : n;
        p->inplace = NULL;
    }
    if (!is_word(name, len, n->name))
        return cfx_reader_fail(
            r, o->at, CFX_EPARSE,
            "an operation should stand here: %s has a name already", n->name);
    if (p->typed && cfx_node_set_type(n, cfx_buf_str(&p->type), r->err))
        return cfx_reader_fail_at(r, o->at);
    return define(p, name, len, n);
}

/* From after the name: `: TYPE = operation`. */
static cfx_status read_assignment(cfx_python *p, const char *name, size_t len)
{
    cfx_reader *r = &p->r;
    cfx_value shape = CFX_NOTHING;
    cfx_operation o;
    cfx_node *n;
    cfx_status st = CFX_OK;
    p->typed = false;
    if (cfx_lexer_is(&p->lx, ':')) {
        cfx_lexer_next(&p->lx);
        st = cfx_python__type(p, "=", &shape);
        cfx_value_unref(shape);
    }
    if (!st)
        st = cfx_read__punct(r, &p->lx, '=');
    if (!st)
        st = cfx_python__operation(p, &o);
    if (st)
        return st;
    if (!cfx_python__at_end(p))
        return cfx_python__unexpected(p, "the end of the statement");
    if (!p->target.len)
        return read_alias(p, &o, name, len);
    st = make_node(p, &o, name, len, &n);
    return st ? st : define(p, name, len, n);
}

/* Does the next statement name the result of one that wrote into `base`? */
static bool find_inplace_name(cfx_python *p, const char *base, size_t len,
                              const char **name, size_t *name_len)
{
    cfx_lexer was = p->lx;
    cfx_python_line line;
    bool found = false;
    if (cfx_python__char(p) == ';')
        cfx_python__skip(p, ';');
    else if (cfx_python__find_line(p, p->at, &line))
        cfx_lexer_init(&p->lx, line.s, line.end, was.string);
    *name = p->lx.text;
    *name_len = p->lx.len;
    if (at_name(p)) {
        cfx_lexer_next(&p->lx);
        if (cfx_lexer_is(&p->lx, ':'))
            cfx_python__skip_type(p);
        if (cfx_lexer_is(&p->lx, '=')) {
            cfx_lexer_next(&p->lx);
            found = p->lx.token == CFX_TOKEN_NAME && p->lx.len == len &&
                    !memcmp(p->lx.text, base, len);
            cfx_lexer_next(&p->lx);
            found = found && cfx_python__at_end(p);
        }
    }
    p->lx = was;
    return found;
}

/* The node of a statement that writes into `base`. Without a name of its own
 * the variable means the result from here on, as in Python. */
static cfx_status make_inplace(cfx_python *p, cfx_operation *o,
                               const char *base, size_t len)
{
    const char *name;
    size_t name_len;
    cfx_node *n;
    if (!cfx_python__at_end(p))
        return cfx_python__unexpected(p, "the end of the statement");
    p->typed = false;
    o->kwargs = p->r.n;
    if (find_inplace_name(p, base, len, &name, &name_len)) {
        cfx_status st = make_node(p, o, name, name_len, &n);
        p->inplace = name;
        return st ? st : define(p, name, name_len, n);
    }
    cfx_status st = make_node(p, o, "", 0, &n);
    if (!st)
        cfx_map_get(&p->variables, base, len)->v.p = n;
    return st;
}

/* `x += value` and `x[i] = value`, from after x. */
static cfx_status read_inplace(cfx_python *p, const char *base, size_t len)
{
    cfx_reader *r = &p->r;
    cfx_operation o = {.at = base, .op = CFX_CALL_FUNCTION, .args = r->n};
    size_t sign = 1;
    cfx_node *n = cfx_reader_node(r, base, len);
    const char *s = p->lx.text;
    cfx_status st;
    if (!n)
        return cfx_reader_fail(r, base, CFX_EGRAPH, "%.*s is not defined",
                               len > 200 ? 200 : (int)len, base);
    st = cfx_reader_push_take(r, cfx_value_of_node(n));
    if (!st && cfx_lexer_is(&p->lx, '[')) {
        st = cfx_python__indices(p);
        if (!st)
            st = cfx_read__punct(r, &p->lx, '=');
        if (!st)
            st = cfx_python__operator(p, "setitem");
    } else if (!st) {
        s -= cfx_python__char(p) == '%' && *s != '%';
        const cfx_code_form *form = cfx_code_form__at(cfx_code_inplace, s,
                                                      p->lx.end, &sign);
        if (!form)
            return cfx_python__unexpected(p, "'='");
        st = cfx_python__operator(p, form->name);
        p->lx.at = s + sign;
        cfx_lexer_next(&p->lx);
    }
    if (!st)
        st = cfx_read__value(r, &p->lx, 0);
    return st ? st : make_inplace(p, &o, base, len);
}

/* `a, b = operation`: a node, and an item of it for each name. */
static cfx_status unpack(cfx_python *p, const cfx_lexer *names, char close)
{
    cfx_reader *r = &p->r;
    cfx_operation o;
    cfx_node *whole, *n;
    p->typed = false;
    cfx_status st = cfx_python__operation(p, &o);
    if (!st && (!cfx_python__at_end(p) || !p->target.len))
        st = cfx_python__unexpected(p, "the end of the statement");
    if (!st)
        st = make_node(p, &o, "", 0, &whole);
    cfx_lexer end = p->lx;
    p->lx = *names;
    for (int64_t i = 0; !st && at_name(p); i++) {
        const char *name = p->lx.text;
        size_t len = p->lx.len;
        o = (cfx_operation){.at = name,
                            .op = CFX_CALL_FUNCTION,
                            .args = r->n,
                            .kwargs = r->n + 2};
        st = cfx_reader_push_take(r, cfx_value_of_node(whole));
        if (!st)
            st = cfx_reader_push_take(r, cfx_int(i));
        if (!st)
            st = cfx_python__operator(p, "getitem");
        if (!st)
            st = make_node(p, &o, name, len, &n);
        if (!st)
            st = define(p, name, len, n);
        cfx_lexer_next(&p->lx);
        if (!cfx_lexer_is(&p->lx, close))
            cfx_lexer_next(&p->lx);
    }
    p->lx = end;
    return st;
}

/* Names and commas up to the `=`, from after the first. */
static cfx_status read_unpacking(cfx_python *p, const cfx_lexer *first)
{
    cfx_lexer names = *first;
    bool bracket = cfx_lexer_is(first, '(');
    char close = bracket ? ')' : '=';
    p->lx = *first;
    if (bracket)
        cfx_lexer_next(&p->lx);
    names = p->lx;
    while (at_name(p)) {
        cfx_lexer_next(&p->lx);
        if (cfx_lexer_is(&p->lx, close))
            break;
        cfx_status st = cfx_read__punct(&p->r, &p->lx, ',');
        if (st)
            return st;
    }
    cfx_status st = bracket ? cfx_read__punct(&p->r, &p->lx, ')') : CFX_OK;
    if (!st)
        st = cfx_read__punct(&p->r, &p->lx, '=');
    return st ? st : unpack(p, &names, close);
}

/* `return value`; of a pytree: `return pytree.tree_unflatten(value, spec)`. */
static cfx_status read_return(cfx_python *p)
{
    cfx_reader *r = &p->r;
    cfx_operation o = {.at = p->lx.text, .op = CFX_OUTPUT, .args = r->n};
    cfx_node *n;
    cfx_lexer_next(&p->lx);
    bool flat = cfx_lexer_is_name(&p->lx, "pytree.tree_unflatten");
    cfx_status st = cfx_python__target(p, "output", 6);
    if (flat) {
        cfx_lexer_next(&p->lx);
        st = st ? st : cfx_read__punct(r, &p->lx, '(');
    }
    if (!st)
        st = cfx_read__value(r, &p->lx, 0);
    if (!st && flat) {
        st = cfx_read__punct(r, &p->lx, ',');
        if (!st && p->lx.token != CFX_TOKEN_NAME)
            st = cfx_python__unexpected(p, "self._out_spec");
        cfx_lexer_next(&p->lx);
        if (!st)
            st = cfx_read__punct(r, &p->lx, ')');
    }
    if (!st && !cfx_python__at_end(p))
        st = cfx_python__unexpected(p, "the end of the statement");
    o.kwargs = r->n;
    p->typed = p->result_type != NULL;
    if (p->typed && !st) {
        cfx_buf_clear(&p->type);
        cfx_buf_puts(&p->type, p->result_type);
        if (p->type.failed)
            st = cfx_no_memory(r->err);
    }
    return st ? st : make_node(p, &o, "", 0, &n);
}

/* Words with which a statement begins that is no node. */
static bool is_keyword(const cfx_python *p)
{
    static const char *const words[] = {
        "assert", "async",    "await", "break",  "class", "continue", "def",
        "del",    "for",      "from",  "global", "if",    "import",   "lambda",
        "match",  "nonlocal", "raise", "try",    "while", "with",     "yield"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (cfx_lexer_is_name(&p->lx, words[i]) && p->lx.at < p->lx.end &&
            (*p->lx.at == ' ' || *p->lx.at == ':'))
            return true;
    return false;
}

static cfx_status read_statement(cfx_python *p, bool *done)
{
    cfx_lexer first = p->lx, after = p->lx;
    if (cfx_lexer_is_name(&p->lx, "return")) {
        *done = true;
        return read_return(p);
    }
    if (cfx_lexer_is_name(&p->lx, "pass")) {
        cfx_lexer_next(&p->lx);
        return cfx_python__at_end(p)
                   ? CFX_OK
                   : cfx_python__unexpected(p, "the end of the statement");
    }
    if (is_keyword(p))
        return cfx_reader_fail(
            &p->r, p->lx.text, CFX_EPARSE,
            "'%.*s' stands where an assignment or 'return' should: forward is straight-line code",
            (int)p->lx.len, p->lx.text);
    if (cfx_lexer_is(&p->lx, '('))
        return read_unpacking(p, &first);
    if (!at_name(p))
        return cfx_python__unexpected(p, "an assignment or 'return'");
    if (is_free(p, &after))
        return read_free(p);
    cfx_lexer_next(&p->lx);
    if (cfx_lexer_is(&p->lx, ','))
        return read_unpacking(p, &first);
    bool equals = cfx_lexer_is(&p->lx, '=');
    if (equals || cfx_lexer_is(&p->lx, ':'))
        return read_assignment(p, first.text, first.len);
    return read_inplace(p, first.text, first.len);
}

/* The statements of a logical line. */
static cfx_status read_line(cfx_python *p, bool *done)
{
    for (;;) {
        if (*done)
            return cfx_reader_fail(&p->r, p->lx.text, CFX_EPARSE,
                                   "the code ended with its 'return'");
        cfx_status st = read_statement(p, done);
        if (st)
            return st;
        if (cfx_python__char(p) != ';')
            return CFX_OK;
        cfx_python__skip(p, ';');
        if (p->lx.token == CFX_TOKEN_END)
            return CFX_OK;
    }
}

/* ---- The method ---- */

/* Is it `self.a.b` or `getattr(self.a, "0")`, at the token? */
static bool is_attribute(const cfx_lexer *lx)
{
    return lx->token == CFX_TOKEN_NAME &&
           (cfx_starts(lx->text, lx->end, "self.") ||
            cfx_starts(lx->text, lx->end, "getattr("));
}

/* Note the names that lines `name = parameter` at the beginning give; attributes
 * may be among them. */
static cfx_status note_aliases(cfx_python *p)
{
    cfx_python_line line;
    const char *at = p->at;
    for (bool first = p->flattened; cfx_python__find_line(p, at, &line);) {
        cfx_lexer lx;
        cfx_lexer_init(&lx, line.s, line.end, &p->r.string);
        at = line.next;
        if (first) {
            first = cfx_python__declares(p, &line);
            continue;
        }
        const char *name = lx.text;
        if (lx.token != CFX_TOKEN_NAME)
            break;
        cfx_lexer_next(&lx);
        if (!cfx_lexer_is(&lx, '='))
            break;
        cfx_lexer_next(&lx);
        cfx_lexer of = lx;
        if (is_attribute(&lx))
            continue;
        if (lx.token != CFX_TOKEN_NAME || memchr(lx.text, '.', lx.len))
            break;
        cfx_lexer_next(&lx);
        if (lx.token != CFX_TOKEN_END)
            break;
        cfx_map_entry *e = cfx_map_put(&p->aliases, of.text, of.len, NULL);
        if (!e)
            return cfx_no_memory(p->r.err);
        if (!e->v.p)
            e->v.p = (void *)(uintptr_t)name;
    }
    return CFX_OK;
}

/* Does the body begin with `... = fx_pytree.tree_flatten_spec(`, or with that
 * after a line that declares the names? */
static bool is_flattened(cfx_python *p)
{
    static const char mark[] = "fx_pytree.tree_flatten_spec(";
    cfx_python_line line;
    if (!cfx_python__find_line(p, p->at, &line) ||
        (cfx_python__declares(p, &line) &&
         !cfx_python__find_line(p, line.next, &line)))
        return false;
    const char *s = memchr(line.s, '=', (size_t)(line.end - line.s));
    for (s = s ? s + 1 : line.end; s < line.end && *s == ' ';)
        s++;
    return cfx_starts(s, line.end, mark);
}

static cfx_status read_body(cfx_python *p, size_t indent)
{
    cfx_python_line line;
    cfx_status st = CFX_OK;
    size_t body = 0;
    bool done = false;
    while (!st && cfx_python__find_line(p, p->at, &line) &&
           line.indent > indent) {
        if (body && line.indent != body)
            return cfx_reader_fail(
                &p->r, line.s, CFX_EPARSE,
                "the indentation changes: forward is straight-line code");
        body = line.indent;
        cfx_python__enter(p, &line);
        st = read_line(p, &done);
    }
    if (!st && !body)
        st = cfx_reader_fail(&p->r, p->at, CFX_EPARSE, "forward has no body");
    return st;
}

static cfx_status read_method(cfx_python *p, size_t indent)
{
    cfx_reader *r = &p->r;
    cfx_python_line line;
    cfx_lexer_next(&p->lx);
    p->flattened = is_flattened(p);
    cfx_status st = note_aliases(p);
    if (!st)
        st = cfx_read__punct(r, &p->lx, '(');
    if (!st)
        st = cfx_python__parameters(p);
    if (!st && p->typed &&
        !(p->result_type = cfx_arena_strdup(&p->memory, cfx_buf_str(&p->type),
                                            p->type.len)))
        st = cfx_no_memory(r->err);
    if (!st)
        st = cfx_read__punct(r, &p->lx, ':');
    if (!st && p->lx.token != CFX_TOKEN_END)
        st = cfx_python__unexpected(p, "the end of the line");
    p->declared.token = CFX_TOKEN_END;
    while (!st && p->flattened && cfx_python__find_line(p, p->at, &line)) {
        bool declares = cfx_python__declares(p, &line);
        cfx_python__enter(p, &line);
        p->declared = declares ? p->lx : p->declared;
        st = declares ? CFX_OK : cfx_python__flattened(p);
        if (!declares)
            break;
    }
    return st ? st : read_body(p, indent);
}

cfx_status cfx_python__forward(cfx_python *p, size_t indent, cfx_graph **out)
{
    cfx_reader *r = &p->r;
    *out = NULL;
    cfx_status st = cfx_graph_new(&p->g, r->ctx, r->err);
    if (st)
        return st;
    cfx_map_release(&p->variables);
    cfx_map_release(&p->aliases);
    cfx_map_init(&p->variables, r->ctx);
    cfx_map_init(&p->aliases, r->ctx);
    p->result_type = p->inplace = NULL;
    r->variables = &p->variables;
    r->bare_nodes = r->no_names = true;
    st = read_method(p, indent);
    r->variables = NULL;
    r->bare_nodes = r->no_names = false;
    if (st)
        cfx_graph_free(p->g);
    else
        *out = p->g;
    p->g = NULL;
    return st;
}
