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

/* The operation of a statement. */
typedef struct operation {
    const char *at;
    cfx_opcode op;
    size_t args, kwargs; /* where they begin on the reader's stack */
} operation;

/* ---- Names ---- */

static bool is_word(const char *s, size_t len, const char *word)
{
    return len == strlen(word) && !memcmp(s, word, len);
}

/* The length of a dotted name's first part. */
static size_t first_part(const cfx_lexer *lx)
{
    const char *dot = memchr(lx->text, '.', lx->len);
    return dot ? (size_t)(dot - lx->text) : lx->len;
}

/* Does the token begin with the name of a variable? */
static bool at_variable(const cfx_python *p)
{
    const cfx_map_entry *e = p->lx.token == CFX_TOKEN_NAME
                                 ? cfx_map_get(&p->variables, p->lx.text,
                                               first_part(&p->lx))
                                 : NULL;
    return e && e->v.p;
}

static bool at_name(const cfx_python *p)
{
    return p->lx.token == CFX_TOKEN_NAME && cfx_is_name_start(*p->lx.text) &&
           first_part(&p->lx) == p->lx.len;
}

static cfx_status set_target(cfx_python *p, const char *s, size_t len)
{
    cfx_buf_clear(&p->target);
    cfx_buf_add(&p->target, s, len);
    return p->target.failed ? cfx_no_memory(p->r.err) : CFX_OK;
}

static cfx_status set_operator(cfx_python *p, const char *name)
{
    cfx_buf_clear(&p->target);
    cfx_buf_puts(&p->target, "operator.");
    cfx_buf_puts(&p->target, name);
    return p->target.failed ? cfx_no_memory(p->r.err) : CFX_OK;
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
static cfx_status make_node(cfx_python *p, const operation *o,
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

/* ---- Arguments ---- */

/* `(a, b, k = v)` from its bracket: args, then kwargs as keys and values. */
static cfx_status read_call(cfx_python *p, operation *o)
{
    cfx_reader *r = &p->r;
    const char *at = p->lx.text;
    size_t first = r->n, n = first, i = first;
    cfx_status st = cfx_read__punct(r, &p->lx, '(');
    if (!st)
        st = cfx_read__arguments(r, &p->lx, 0);
    if (!st)
        st = cfx_read__punct(r, &p->lx, ')');
    if (st)
        return st;
    for (; i + 1 < r->n && r->stack[i].kind == CFX_NONE; i += 2)
        r->stack[n++] = r->stack[i + 1];
    o->kwargs = n;
    for (; i < r->n; i++) {
        if ((i - first) % 2 == 0 && r->stack[i].kind != CFX_STR) {
            st = cfx_reader_fail(r, at, CFX_EPARSE,
                                 "an argument without a name follows one that "
                                 "has one");
            break;
        }
        r->stack[n++] = r->stack[i];
    }
    /* After a failure the rest moves down, too, so that it is released. */
    for (; st && i < r->n; i++)
        r->stack[n++] = r->stack[i];
    r->n = n;
    return st;
}

/* One index: a value, or `a:b:c`. */
static cfx_status read_index(cfx_python *p)
{
    cfx_reader *r = &p->r;
    size_t first = r->n;
    bool slice = false;
    cfx_status st = CFX_OK;
    for (int part = 0; !st && part < 3; part++) {
        bool empty = cfx_lexer_is(&p->lx, ':') || cfx_lexer_is(&p->lx, ',') ||
                     cfx_lexer_is(&p->lx, ']');
        st = empty && (slice || cfx_lexer_is(&p->lx, ':'))
                 ? cfx_reader_push_take(r, cfx_none())
                 : cfx_read__value(r, &p->lx, 0);
        if (st || !cfx_lexer_is(&p->lx, ':'))
            break;
        slice = true;
        cfx_lexer_next(&p->lx);
    }
    if (st || !slice)
        return st;
    while (!st && r->n < first + 3)
        st = cfx_reader_push_take(r, cfx_none());
    return st ? st : cfx_reader_gather(r, CFX_SLICE, first);
}

/* `[i, j]`: one value, a tuple where there is a comma. */
static cfx_status read_indices(cfx_python *p)
{
    cfx_reader *r = &p->r;
    size_t first = r->n;
    bool comma = false;
    cfx_status st = cfx_read__punct(r, &p->lx, '[');
    if (!st)
        st = read_index(p);
    while (!st && cfx_lexer_is(&p->lx, ',')) {
        comma = true;
        cfx_lexer_next(&p->lx);
        if (!cfx_lexer_is(&p->lx, ']'))
            st = read_index(p);
    }
    if (!st && comma)
        st = cfx_reader_gather(r, CFX_TUPLE, first);
    return st ? st : cfx_read__punct(r, &p->lx, ']');
}

/* ---- Operations ---- */

static void add_part(cfx_python *p, const char *s, size_t len)
{
    if (p->target.len)
        cfx_buf_putc(&p->target, '.');
    cfx_buf_add(&p->target, s, len);
}

/* Is the token `self`, or a getattr that begins with it? */
static bool at_self(cfx_python *p)
{
    cfx_lexer lx = p->lx;
    while (cfx_lexer_is_name(&lx, "getattr")) {
        cfx_lexer_next(&lx);
        if (!cfx_lexer_is(&lx, '('))
            return false;
        cfx_lexer_next(&lx);
    }
    return lx.token == CFX_TOKEN_NAME &&
           is_word(lx.text, first_part(&lx), "self");
}

/* The parts `.a.b` that begin at s: a name may have letters beyond ASCII. */
static cfx_status add_parts(cfx_python *p, const char *s)
{
    while (s < p->lx.end && *s == '.') {
        const char *part = ++s;
        while (s < p->lx.end && (cfx_is_name_char(*s) || *s & 0x80))
            s++;
        if (s == part || cfx_is_digit(*part))
            return cfx_reader_fail(&p->r, part, CFX_EPARSE,
                                   "the name of an attribute should stand "
                                   "here");
        add_part(p, part, (size_t)(s - part));
    }
    p->lx.at = s;
    cfx_lexer_next(&p->lx);
    return p->target.failed ? cfx_no_memory(p->r.err) : CFX_OK;
}

/* The path of `self.a.b` or `getattr(self.a, "0").b`, into p->target. */
static cfx_status read_path(cfx_python *p, int depth)
{
    cfx_reader *r = &p->r;
    if (depth == CFX_MAX_DEPTH)
        return cfx_reader_fail(r, p->lx.text, CFX_EPARSE,
                               "a path nests deeper than %d", CFX_MAX_DEPTH);
    if (!cfx_lexer_is_name(&p->lx, "getattr"))
        return add_parts(p, p->lx.text + strlen("self"));
    cfx_lexer_next(&p->lx);
    cfx_lexer_next(&p->lx);
    cfx_status st = read_path(p, depth + 1);
    if (!st)
        st = cfx_read__punct(r, &p->lx, ',');
    if (!st && p->lx.token != CFX_TOKEN_STRING)
        st = cfx_python__unexpected(p, "the name of an attribute");
    if (st)
        return st;
    if (r->string.failed)
        return cfx_no_memory(r->err);
    add_part(p, cfx_buf_str(&r->string), r->string.len);
    cfx_lexer_next(&p->lx);
    if (!cfx_lexer_is(&p->lx, ')'))
        return cfx_read__punct(r, &p->lx, ')');
    return add_parts(p, p->lx.text + 1);
}

/* A module's call, or an attribute. */
static cfx_status read_self(cfx_python *p, operation *o)
{
    cfx_buf_clear(&p->target);
    cfx_status st = read_path(p, 0);
    if (!st && !p->target.len)
        st = cfx_reader_fail(&p->r, o->at, CFX_EPARSE,
                             "self is the module: its attributes have names");
    if (!st && memchr(p->target.s, '\0', p->target.len))
        st = cfx_reader_fail(&p->r, o->at, CFX_EPARSE,
                             "a name holds a NUL character");
    if (st)
        return st;
    o->op = CFX_GET_ATTR;
    if (!cfx_lexer_is(&p->lx, '('))
        return CFX_OK;
    o->op = CFX_CALL_MODULE;
    return read_call(p, o);
}

/* `.name` after the value on the stack: a method's call, or getattr(). */
static cfx_status read_member(cfx_python *p, operation *o, const char *s,
                              size_t len)
{
    cfx_reader *r = &p->r;
    const char *dot = memchr(s, '.', len);
    if (dot)
        return cfx_reader_fail(r, dot, CFX_EPARSE,
                               "a statement holds one operation: %.*s should "
                               "have a statement of its own",
                               dot - s > 100 ? 100 : (int)(dot - s), s);
    cfx_lexer_next(&p->lx);
    if (cfx_lexer_is(&p->lx, '(')) {
        o->op = CFX_CALL_METHOD;
        cfx_status st = set_target(p, s, len);
        return st ? st : read_call(p, o);
    }
    cfx_status st = set_target(p, "builtins.getattr", 16);
    if (!st)
        st = cfx_reader_push_str(r, CFX_STR, s, len);
    o->kwargs = r->n;
    return st;
}

/* `getattr(x, "odd-name")(...)`: the arguments of getattr are on the stack. */
static cfx_status read_odd_method(cfx_python *p, operation *o)
{
    cfx_reader *r = &p->r;
    cfx_value name = r->n > o->args ? r->stack[r->n - 1] : CFX_NOTHING;
    if (r->n != o->args + 2 || o->kwargs != r->n || name.kind != CFX_STR ||
        strlen(name.u.str->text) != name.u.str->len)
        return cfx_python__unexpected(p, "the end of the statement");
    cfx_status st = set_target(p, name.u.str->text, name.u.str->len);
    cfx_reader_pop_to(r, r->n - 1);
    o->op = CFX_CALL_METHOD;
    return st ? st : read_call(p, o);
}

/* `torch.float32.name(...)`: a member of a constant; *found: is it one? */
static cfx_status read_of_constant(cfx_python *p, operation *o, bool *found)
{
    cfx_reader *r = &p->r;
    const char *s = p->lx.text, *dot = s + p->lx.len;
    *found = false;
    while (dot > s && *dot != '.')
        dot--;
    if (dot == s)
        return CFX_OK;
    cfx_status st = cfx_read__constant(r, s, (size_t)(dot - s), found);
    o->kwargs = r->n;
    return st || !*found
               ? st
               : read_member(p, o, dot + 1, p->lx.len - (size_t)(dot + 1 - s));
}

/* `f(...)`, where f is no variable. */
static cfx_status read_function(cfx_python *p, operation *o)
{
    bool constant;
    cfx_status bad = read_of_constant(p, o, &constant);
    if (bad || constant)
        return bad;
    const char *name = cfx_python__function(p, p->lx.text, p->lx.len);
    if (!name)
        return CFX_ENOMEM;
    bool attribute = cfx_lexer_is_name(&p->lx, "getattr");
    cfx_status st = set_target(p, name, strlen(name));
    cfx_lexer_next(&p->lx);
    if (!st)
        st = read_call(p, o);
    return st || !attribute || !cfx_lexer_is(&p->lx, '(')
               ? st
               : read_odd_method(p, o);
}

/* What follows the first operand, which is on the stack. */
static cfx_status read_rest(cfx_python *p, operation *o)
{
    cfx_reader *r = &p->r;
    size_t len;
    const char *s = p->lx.text;
    cfx_status st;
    if (cfx_lexer_is(&p->lx, '[')) {
        st = set_operator(p, "getitem");
        if (!st)
            st = read_indices(p);
        o->kwargs = r->n;
        return st;
    }
    if (cfx_python__char(p) == '%')
        s -= s > p->line.s && s[-1] == '%';
    const cfx_code_form *form = cfx_code_form__at(cfx_code_infix, s, p->lx.end,
                                                  &len);
    if (p->lx.token == CFX_TOKEN_END || !form)
        return cfx_python__unexpected(p, "an operator");
    st = set_operator(p, form->name);
    p->lx.at = s + len;
    cfx_lexer_next(&p->lx);
    if (!st)
        st = cfx_read__value(r, &p->lx, 0);
    o->kwargs = r->n;
    return st;
}

/* `-x`: a sign before a variable, which the lexer takes for a number's. */
static const char *unary(cfx_python *p)
{
    static const char *const names[] = {"neg", "pos", "invert"};
    const char *sign = strchr("-+~", cfx_python__char(p));
    if (!sign || !*sign)
        return NULL;
    cfx_lexer was = p->lx;
    p->lx.at = p->lx.text + 1;
    cfx_lexer_next(&p->lx);
    if (at_variable(p))
        return names[sign - &"-+~"[0]];
    p->lx = was;
    return NULL;
}

static cfx_status read_unary(cfx_python *p, operation *o, const char *name)
{
    cfx_status st = set_operator(p, name);
    if (!st)
        st = cfx_read__value(&p->r, &p->lx, 0);
    o->kwargs = p->r.n;
    return st;
}

/* A variable and what is done with it. */
static cfx_status read_of_variable(cfx_python *p, operation *o)
{
    cfx_reader *r = &p->r;
    const char *s = p->lx.text;
    size_t first = first_part(&p->lx), len = p->lx.len;
    cfx_status st = cfx_reader_push_take(
        r, cfx_value_of_node(cfx_reader_node(r, s, first)));
    if (st)
        return st;
    o->kwargs = r->n;
    if (len > first)
        return read_member(p, o, s + first + 1, len - first - 1);
    cfx_lexer_next(&p->lx);
    return cfx_python__at_end(p) ? CFX_OK : read_rest(p, o);
}

/* Read the operation; p->target is empty if there is only a variable. */
static cfx_status read_operation(cfx_python *p, operation *o)
{
    cfx_reader *r = &p->r;
    const char *sign;
    *o = (operation){.at = p->lx.text,
                     .op = CFX_CALL_FUNCTION,
                     .args = r->n,
                     .kwargs = r->n};
    cfx_buf_clear(&p->target);
    if (at_self(p))
        return read_self(p, o);
    if (at_variable(p))
        return read_of_variable(p, o);
    if ((sign = unary(p)) != NULL)
        return read_unary(p, o, sign);
    if (p->lx.token == CFX_TOKEN_NAME && p->lx.at < p->lx.end &&
        *p->lx.at == '(')
        return read_function(p, o);
    cfx_status st = cfx_read__value(r, &p->lx, 0);
    o->kwargs = r->n;
    if (st || cfx_python__char(p) != '.')
        return st ? st : read_rest(p, o);
    st = cfx_python__skip(p, '.');
    if (!st && p->lx.token != CFX_TOKEN_NAME)
        st = cfx_python__unexpected(p, "the name of a method");
    return st ? st : read_member(p, o, p->lx.text, p->lx.len);
}

/* ---- Statements ---- */

/* `a = b = None`: are the next tokens that? *ends: behind it. */
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
static cfx_status read_alias(cfx_python *p, const operation *o,
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
        return cfx_reader_fail(r, o->at, CFX_EPARSE,
                               "an operation should stand here: %s has a name "
                               "already",
                               n->name);
    if (p->typed && cfx_node_set_type(n, cfx_buf_str(&p->type), r->err))
        return cfx_reader_fail_at(r, o->at);
    return define(p, name, len, n);
}

/* From behind the name: `: TYPE = operation`. */
static cfx_status read_assignment(cfx_python *p, const char *name, size_t len)
{
    cfx_reader *r = &p->r;
    cfx_value shape = CFX_NOTHING;
    operation o;
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
        st = read_operation(p, &o);
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
static cfx_status make_inplace(cfx_python *p, operation *o, const char *base,
                               size_t len)
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

/* `x += value` and `x[i] = value`, from behind x. */
static cfx_status read_inplace(cfx_python *p, const char *base, size_t len)
{
    cfx_reader *r = &p->r;
    operation o = {.at = base, .op = CFX_CALL_FUNCTION, .args = r->n};
    size_t sign = 1;
    cfx_node *n = cfx_reader_node(r, base, len);
    const char *s = p->lx.text;
    cfx_status st;
    if (!n)
        return cfx_reader_fail(r, base, CFX_EGRAPH, "%.*s is not defined",
                               len > 200 ? 200 : (int)len, base);
    st = cfx_reader_push_take(r, cfx_value_of_node(n));
    if (!st && cfx_lexer_is(&p->lx, '[')) {
        st = read_indices(p);
        if (!st)
            st = cfx_read__punct(r, &p->lx, '=');
        if (!st)
            st = set_operator(p, "setitem");
    } else if (!st) {
        s -= cfx_python__char(p) == '%' && *s != '%';
        const cfx_code_form *form = cfx_code_form__at(cfx_code_inplace, s,
                                                      p->lx.end, &sign);
        if (!form)
            return cfx_python__unexpected(p, "'='");
        st = set_operator(p, form->name);
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
    operation o;
    cfx_node *whole, *n;
    p->typed = false;
    cfx_status st = read_operation(p, &o);
    if (!st && (!cfx_python__at_end(p) || !p->target.len))
        st = cfx_python__unexpected(p, "the end of the statement");
    if (!st)
        st = make_node(p, &o, "", 0, &whole);
    cfx_lexer end = p->lx;
    p->lx = *names;
    for (int64_t i = 0; !st && at_name(p); i++) {
        const char *name = p->lx.text;
        size_t len = p->lx.len;
        o = (operation){.at = name,
                        .op = CFX_CALL_FUNCTION,
                        .args = r->n,
                        .kwargs = r->n + 2};
        st = cfx_reader_push_take(r, cfx_value_of_node(whole));
        if (!st)
            st = cfx_reader_push_take(r, cfx_int(i));
        if (!st)
            st = set_operator(p, "getitem");
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

/* Names and commas up to the `=`, from behind the first. */
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
    operation o = {.at = p->lx.text, .op = CFX_OUTPUT, .args = r->n};
    cfx_node *n;
    cfx_lexer_next(&p->lx);
    bool flat = cfx_lexer_is_name(&p->lx, "pytree.tree_unflatten");
    cfx_status st = set_target(p, "output", 6);
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
        return cfx_reader_fail(&p->r, p->lx.text, CFX_EPARSE,
                               "'%.*s' stands where an assignment or 'return' "
                               "should: forward is straight-line code",
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

/* Note the names that lines `name = parameter` at the beginning give. */
static cfx_status note_aliases(cfx_python *p)
{
    cfx_python_line line;
    const char *at = p->at;
    for (bool first = true; cfx_python__find_line(p, at, &line);
         first = false) {
        cfx_lexer lx;
        cfx_lexer_init(&lx, line.s, line.end, &p->r.string);
        bool flattened = first && p->flattened;
        at = line.next;
        if (flattened)
            continue;
        const char *name = lx.text;
        if (lx.token != CFX_TOKEN_NAME)
            break;
        cfx_lexer_next(&lx);
        if (!cfx_lexer_is(&lx, '='))
            break;
        cfx_lexer_next(&lx);
        cfx_lexer of = lx;
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

/* Does the body begin with `... = fx_pytree.tree_flatten_spec(`? */
static bool is_flattened(const cfx_python *p)
{
    static const char mark[] = "fx_pytree.tree_flatten_spec(";
    cfx_python_line line;
    if (!cfx_python__find_line(p, p->at, &line))
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
            return cfx_reader_fail(&p->r, line.s, CFX_EPARSE,
                                   "the indentation changes: forward is "
                                   "straight-line code");
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
    if (!st && p->flattened && cfx_python__find_line(p, p->at, &line)) {
        cfx_python__enter(p, &line);
        st = cfx_python__flattened(p);
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
