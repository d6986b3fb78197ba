/*
 * read_operation -- the one operation of a statement of code: a call, a sign
 * between two operands, an index, an attribute.
 */
#include "format/python/read_python.h"

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

cfx_status cfx_python__target(cfx_python *p, const char *s, size_t len)
{
    cfx_buf_clear(&p->target);
    cfx_buf_add(&p->target, s, len);
    return p->target.failed ? cfx_no_memory(p->r.err) : CFX_OK;
}

cfx_status cfx_python__operator(cfx_python *p, const char *name)
{
    cfx_buf_clear(&p->target);
    cfx_buf_puts(&p->target, "operator.");
    cfx_buf_puts(&p->target, name);
    return p->target.failed ? cfx_no_memory(p->r.err) : CFX_OK;
}

/* ---- Arguments ---- */

/* `(a, b, k = v)` from its bracket: args, then kwargs as keys and values. */
static cfx_status read_call(cfx_python *p, cfx_operation *o)
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
            st = cfx_reader_fail(
                r, at, CFX_EPARSE,
                "an argument without a name follows one that has one");
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
cfx_status cfx_python__indices(cfx_python *p)
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
            return cfx_reader_fail(
                &p->r, part, CFX_EPARSE,
                "the name of an attribute should stand here");
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
static cfx_status read_self(cfx_python *p, cfx_operation *o)
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
static cfx_status read_member(cfx_python *p, cfx_operation *o, const char *s,
                              size_t len)
{
    cfx_reader *r = &p->r;
    const char *dot = memchr(s, '.', len);
    if (dot)
        return cfx_reader_fail(
            r, dot, CFX_EPARSE,
            "a statement holds one operation: %.*s should have a statement of its own",
            dot - s > 100 ? 100 : (int)(dot - s), s);
    cfx_lexer_next(&p->lx);
    if (cfx_lexer_is(&p->lx, '(')) {
        o->op = CFX_CALL_METHOD;
        cfx_status st = cfx_python__target(p, s, len);
        return st ? st : read_call(p, o);
    }
    cfx_status st = cfx_python__target(p, "builtins.getattr", 16);
    if (!st)
        st = cfx_reader_push_str(r, CFX_STR, s, len);
    o->kwargs = r->n;
    return st;
}

/* `getattr(x, "odd-name")(...)`: the arguments of getattr are on the stack. */
static cfx_status read_odd_method(cfx_python *p, cfx_operation *o)
{
    cfx_reader *r = &p->r;
    cfx_value name = r->n > o->args ? r->stack[r->n - 1] : CFX_NOTHING;
    if (r->n != o->args + 2 || o->kwargs != r->n || name.kind != CFX_STR ||
        strlen(name.u.str->text) != name.u.str->len)
        return cfx_python__unexpected(p, "the end of the statement");
    cfx_status st = cfx_python__target(p, name.u.str->text, name.u.str->len);
    cfx_reader_pop_to(r, r->n - 1);
    o->op = CFX_CALL_METHOD;
    return st ? st : read_call(p, o);
}

/* `torch.float32.name(...)`: a member of a constant; *found: is it one? */
static cfx_status read_of_constant(cfx_python *p, cfx_operation *o,
                                   bool *found)
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
static cfx_status read_function(cfx_python *p, cfx_operation *o)
{
    bool constant;
    cfx_status bad = read_of_constant(p, o, &constant);
    if (bad || constant)
        return bad;
    const char *name = cfx_python__function(p, p->lx.text, p->lx.len);
    if (!name)
        return CFX_ENOMEM;
    bool attribute = cfx_lexer_is_name(&p->lx, "getattr");
    cfx_status st = cfx_python__target(p, name, strlen(name));
    cfx_lexer_next(&p->lx);
    if (!st)
        st = read_call(p, o);
    return st || !attribute || !cfx_lexer_is(&p->lx, '(')
               ? st
               : read_odd_method(p, o);
}

/* Read the rest of an operation, whose first operand is on the stack. */
static cfx_status read_rest(cfx_python *p, cfx_operation *o)
{
    cfx_reader *r = &p->r;
    size_t len;
    const char *s = p->lx.text;
    cfx_status st;
    if (cfx_lexer_is(&p->lx, '[')) {
        st = cfx_python__operator(p, "getitem");
        if (!st)
            st = cfx_python__indices(p);
        o->kwargs = r->n;
        return st;
    }
    if (cfx_python__char(p) == '%')
        s -= s > p->line.s && s[-1] == '%';
    const cfx_code_form *form = cfx_code_form__at(cfx_code_infix, s, p->lx.end,
                                                  &len);
    if (p->lx.token == CFX_TOKEN_END || !form)
        return cfx_python__unexpected(p, "an operator");
    st = cfx_python__operator(p, form->name);
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

static cfx_status read_unary(cfx_python *p, cfx_operation *o, const char *name)
{
    cfx_status st = cfx_python__operator(p, name);
    if (!st)
        st = cfx_read__value(&p->r, &p->lx, 0);
    o->kwargs = p->r.n;
    return st;
}

/* A variable and what is done with it. */
static cfx_status read_of_variable(cfx_python *p, cfx_operation *o)
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
cfx_status cfx_python__operation(cfx_python *p, cfx_operation *o)
{
    cfx_reader *r = &p->r;
    const char *sign;
    *o = (cfx_operation){.at = p->lx.text,
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
