/*
 * read_graph -- parse the lines of a graph, of any release of torch or in the
 * superset.
 *
 *     %x : TYPE [num_users=1] = placeholder[target=x](default=3)
 *     %y : [#users=1] = call_function[target=my.f](args = (%x,), kwargs = {})
 *     return y
 *
 * A string in PyTorch's text may hold newlines: a line without the end that
 * its opcode requires continues up to such an end or the next node.
 */
#include <cfx/op.h>

#include "format/text/reader.h"
#include "format/print.h"
#include "graph/graph_impl.h"
#include "op/op_impl.h"

/* The state of the reader within a line. */
typedef struct graph_reader {
    cfx_reader *r;
    cfx_graph *g;
    cfx_line line;  /* may hold several lines of the text */
    const char *at; /* where it begins */
    cfx_opcode op;
    cfx_buf name, target, type;
    bool typed, done;
    cfx_value shape;    /* by which the node is annotated; or absent */
    cfx_shape_env *env; /* of the symbols in shapes; made for the first */
} graph_reader;

/* ---- Helpers ---- */

static const char *find(const char *s, const char *end, const char *what)
{
    size_t n = strlen(what);
    while ((size_t)(end - s) >= n) {
        const char *at = memchr(s, what[0], (size_t)(end - s) - n + 1);
        if (!at)
            return NULL;
        if (!memcmp(at, what, n))
            return at;
        s = at + 1;
    }
    return NULL;
}

static const char *find_last(const char *s, const char *end, const char *what)
{
    size_t n = strlen(what);
    if ((size_t)(end - s) < n)
        return NULL;
    for (const char *at = end - n;; at--) {
        if (!memcmp(at, what, n))
            return at;
        if (at == s)
            return NULL;
    }
}

static cfx_status set_text(graph_reader *gr, cfx_buf *b, const char *s,
                           size_t len)
{
    cfx_buf_clear(b);
    cfx_buf_add(b, s, len);
    if (b->failed)
        return cfx_no_memory(gr->r->err);
    if (b->s)
        b->s[len] = '\0';
    if (len && memchr(s, '\0', len))
        return cfx_reader_fail(gr->r, gr->at, CFX_EPARSE,
                               "a name holds a NUL character");
    return CFX_OK;
}

/* Copy the string that the lexer has read. */
static cfx_status set_string(graph_reader *gr, cfx_buf *b)
{
    const cfx_buf *from = &gr->r->string;
    return from->failed ? cfx_no_memory(gr->r->err)
                        : set_text(gr, b, cfx_buf_str(from), from->len);
}

static const char *skip_blanks(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    return s;
}

/* ---- Making nodes ---- */

cfx_status cfx_read__keep_name(cfx_reader *r, cfx_node *n, const char *s,
                               size_t len)
{
    if (strlen(n->name) == len && !memcmp(n->name, s, len))
        return CFX_OK;
    const char *name = cfx_names_create(&n->graph->names, s, len, true);
    if (!name)
        return cfx_no_memory(r->err);
    *cfx_names_user(name) = n;
    *cfx_names_user(n->name) = NULL;
    n->name = name;
    return CFX_OK;
}

/* Make the node whose args lie on the stack from `args` to `kwargs`, and its
 * kwargs from there on. */
static cfx_status make_node(graph_reader *gr, size_t args, size_t kwargs,
                            cfx_node **out)
{
    cfx_reader *r = gr->r;
    bool named = gr->name.len > 0;
    cfx_node *n = cfx_graph_create_node(
        gr->g, gr->op, cfx_buf_str(&gr->target),
        (cfx_args){cfx_reader_from(r, args), kwargs - args,
                   cfx_reader_from(r, kwargs), (r->n - kwargs) / 2},
        named ? cfx_buf_str(&gr->name) : NULL,
        gr->typed ? cfx_buf_str(&gr->type) : NULL, r->err);
    if (!n)
        return cfx_reader_fail_at(r, gr->at);
    cfx_reader_pop_to(r, args);
    if (out)
        *out = n;
    return named ? cfx_read__keep_name(r, n, cfx_buf_str(&gr->name),
                                       gr->name.len)
                 : CFX_OK;
}

/* ---- The superset: everything in Python's notation ---- */

static cfx_status read_word(graph_reader *gr, cfx_lexer *lx, const char *word)
{
    if (!cfx_lexer_is_name(lx, word))
        return cfx_read__unexpected(gr->r, lx, word);
    cfx_lexer_next(lx);
    return CFX_OK;
}

/* Push the items of a tuple. */
static cfx_status push_tuple(graph_reader *gr, cfx_lexer *lx)
{
    cfx_reader *r = gr->r;
    const char *at = lx->text;
    cfx_status st = cfx_read__value(r, lx, 0);
    if (st)
        return st;
    cfx_value v = r->stack[r->n - 1];
    if (v.kind != CFX_TUPLE)
        return cfx_reader_fail(r, at, CFX_EPARSE, "args should be a tuple");
    r->n--;
    for (uint32_t i = 0; !st && i < v.u.seq->len; i++)
        st = cfx_reader_push_take(r, cfx_value_ref(v.u.seq->item[i]));
    cfx_value_unref(v);
    return st;
}

static cfx_status push_kwargs(graph_reader *gr, cfx_lexer *lx)
{
    cfx_reader *r = gr->r;
    cfx_status st = cfx_read__punct(r, lx, '{');
    while (!st && !cfx_lexer_is(lx, '}')) {
        if (lx->token == CFX_TOKEN_STRING)
            st = cfx_read__value(r, lx, 0);
        else if (lx->token == CFX_TOKEN_NAME)
            st = cfx_reader_push_str(r, CFX_STR, lx->text, lx->len);
        else
            st = cfx_read__unexpected(r, lx, "a name");
        if (!st && lx->token == CFX_TOKEN_NAME)
            cfx_lexer_next(lx);
        if (!st)
            st = cfx_read__punct(r, lx, ':');
        if (!st)
            st = cfx_read__value(r, lx, 0);
        if (!st && !cfx_lexer_is(lx, '}'))
            st = cfx_read__punct(r, lx, ',');
    }
    return st ? st : cfx_read__punct(r, lx, '}');
}

/* ` meta = {...}`, and then the end of the line. */
static cfx_status read_meta(graph_reader *gr, cfx_lexer *lx, cfx_node *n)
{
    cfx_reader *r = gr->r;
    if (lx->token == CFX_TOKEN_END)
        return CFX_OK;
    cfx_status st = read_word(gr, lx, "meta");
    if (!st)
        st = cfx_read__punct(r, lx, '=');
    const char *at = lx->text;
    if (!st)
        st = cfx_read__value(r, lx, 0);
    if (!st && lx->token != CFX_TOKEN_END)
        st = cfx_read__unexpected(r, lx, "the end of the line");
    if (st)
        return st;
    cfx_value d = r->stack[r->n - 1];
    if (d.kind != CFX_DICT)
        return cfx_reader_fail(r, at, CFX_EPARSE, "meta should be a dict");
    for (uint32_t i = 0; i + 1 < d.u.seq->len; i += 2) {
        cfx_value key = d.u.seq->item[i];
        if (key.kind != CFX_STR)
            return cfx_reader_fail(r, at, CFX_EPARSE,
                                   "keys of meta should be strings");
        if (cfx_node_set_meta(n, key.u.str->text, d.u.seq->item[i + 1],
                              r->err))
            return cfx_reader_fail_at(r, at);
    }
    cfx_reader_pop_to(r, r->n - 1);
    return CFX_OK;
}

/* `(args = (...), kwargs = {...})` or `(default=...)` or nothing. */
static cfx_status push_call(graph_reader *gr, cfx_lexer *lx, size_t *kwargs)
{
    cfx_reader *r = gr->r;
    bool optional = gr->op == CFX_PLACEHOLDER || gr->op == CFX_GET_ATTR;
    *kwargs = r->n;
    if (optional && !cfx_lexer_is(lx, '('))
        return CFX_OK;
    cfx_status st = cfx_read__punct(r, lx, '(');
    if (st)
        return st;
    bool is_default = cfx_lexer_is_name(lx, "default");
    st = read_word(gr, lx, is_default ? "default" : "args");
    if (!st)
        st = cfx_read__punct(r, lx, '=');
    if (!st)
        st = is_default ? cfx_read__value(r, lx, 0) : push_tuple(gr, lx);
    *kwargs = r->n;
    if (!st && !is_default) {
        st = cfx_read__punct(r, lx, ',');
        if (!st)
            st = read_word(gr, lx, "kwargs");
        if (!st)
            st = cfx_read__punct(r, lx, '=');
        if (!st)
            st = push_kwargs(gr, lx);
    }
    return st ? st : cfx_read__punct(r, lx, ')');
}

/* From after `[target=`. */
static cfx_status lossless_body(graph_reader *gr, const char *s)
{
    cfx_reader *r = gr->r;
    cfx_lexer lx;
    size_t args = r->n, kwargs;
    cfx_node *n;
    cfx_status st;
    const char *end = gr->line.end;
    if (s < end && (*s == '\'' || *s == '"')) {
        cfx_lexer_init(&lx, s, end, &r->string);
        if (lx.token != CFX_TOKEN_STRING)
            return cfx_read__unexpected(r, &lx, "a target");
        st = set_string(gr, &gr->target);
        cfx_lexer_next(&lx);
        if (!st)
            st = cfx_read__punct(r, &lx, ']');
    } else {
        const char *close = find(s, end, "]");
        if (!close)
            return cfx_reader_fail(r, s, CFX_EPARSE, "the target has no end");
        st = set_text(gr, &gr->target, s, (size_t)(close - s));
        cfx_lexer_init(&lx, close + 1, end, &r->string);
    }
    if (!st)
        st = push_call(gr, &lx, &kwargs);
    if (!st)
        st = make_node(gr, args, kwargs, &n);
    if (!st)
        st = read_meta(gr, &lx, n);
    if (!st && gr->shape.kind)
        st = cfx_node_set_meta(n, "tensor_meta", gr->shape, r->err);
    if (!st && gr->shape.kind && n->op == CFX_PLACEHOLDER)
        st = cfx_node_set_meta(n, "val", gr->shape, r->err);
    return st;
}

static cfx_status lossless_return(graph_reader *gr, const char *s)
{
    cfx_reader *r = gr->r;
    cfx_lexer lx;
    size_t args = r->n;
    cfx_node *n;
    cfx_lexer_init(&lx, s, gr->line.end, &r->string);
    cfx_status st = cfx_read__value(r, &lx, 0);
    if (!st && lx.token == CFX_TOKEN_SIGN && lx.len == 2) {
        cfx_lexer_next(&lx);
        gr->typed = lx.token == CFX_TOKEN_STRING;
        if (!gr->typed)
            return cfx_read__unexpected(r, &lx, "a type");
        st = set_string(gr, &gr->type);
        cfx_lexer_next(&lx);
    }
    if (!st && cfx_lexer_is_name(&lx, "as")) {
        cfx_lexer_next(&lx);
        if (lx.token != CFX_TOKEN_NODE)
            return cfx_read__unexpected(r, &lx, "a name");
        st = set_text(gr, &gr->name, lx.text, lx.len);
        if (!st && (!cfx_is_name(lx.text, lx.text + lx.len) ||
                    cfx_graph_find(gr->g, cfx_buf_str(&gr->name))))
            return cfx_reader_fail(r, lx.text, CFX_EGRAPH,
                                   "%%%s is defined twice, or is not a name",
                                   cfx_buf_str(&gr->name));
        cfx_lexer_next(&lx);
    }
    if (!st)
        st = make_node(gr, args, r->n, &n);
    return st ? st : read_meta(gr, &lx, n);
}

/* ---- PyTorch's text ---- */

/* Take the following lines into this one until it ends in `close`. */
static bool complete(graph_reader *gr, const char *close)
{
    size_t n = strlen(close);
    cfx_line more;
    const char *begin = gr->line.s;
    for (;;) {
        const char *end = gr->line.end;
        if ((size_t)(end - begin) >= n && !memcmp(end - n, close, n))
            return true;
        if (!cfx_reader_line(gr->r, gr->line.next, &more))
            return false;
        const char *s = cfx_line_begin(&more);
        if (cfx_starts(s, more.end, "%") || cfx_starts(s, more.end, "return "))
            return false;
        gr->line.end = more.end;
        gr->line.next = more.next;
    }
}

static cfx_status torch_call(graph_reader *gr, const char *s)
{
    cfx_reader *r = gr->r;
    size_t args = r->n;
    if (!complete(gr, "})"))
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "the line should end in 'kwargs = {...})'");
    const char *end = gr->line.end - 2;
    const char *open = find(s, end, "](args = (");
    if (!open)
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "'](args = (' should follow the target");
    const char *body = open + strlen("](args = (");
    const char *close = find_last(body, end, "), kwargs = {");
    if (!close)
        return cfx_reader_fail(r, body, CFX_EPARSE,
                               "'), kwargs = {' should follow the arguments");
    cfx_status st = set_text(gr, &gr->target, s, (size_t)(open - s));
    if (st)
        return st;
    const char *target = cfx_buf_str(&gr->target);
    const cfx_target *chain = NULL;
    if (gr->op != CFX_CALL_MODULE)
        st = cfx_target__find(&chain, r->ctx, target,
                              gr->op == CFX_CALL_METHOD, NULL);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(r->err);
    st = cfx_read__loose_args(r, body, close, chain);
    size_t kwargs = r->n;
    if (!st)
        st = cfx_read__loose_kwargs(r, close + strlen("), kwargs = {"), end);
    /* Operators of torch.export take devices, functions and methods of Python
     * their names as well. */
    if (!st && chain && !strncmp(target, "torch.ops.", 10))
        cfx_read__loose_devices(r, chain, args, kwargs);
    return st ? st : make_node(gr, args, kwargs, NULL);
}

/* A default is str() of a value: a string has no quotes. */
static cfx_status push_default(graph_reader *gr, const char *s,
                               const char *end)
{
    cfx_reader *r = gr->r;
    cfx_lexer lx;
    cfx_error *err = r->err, tried;
    size_t first = r->n;
    tried.code = CFX_OK;
    tried.text[0] = '\0';
    r->err = &tried;
    r->quiet = r->no_names = true;
    cfx_lexer_init(&lx, s, end, &r->string);
    bool quoted = lx.token == CFX_TOKEN_STRING;
    cfx_status st = cfx_read__value(r, &lx, 0);
    bool whole = !st && lx.token == CFX_TOKEN_END && !quoted;
    r->quiet = r->no_names = false;
    r->err = err;
    if (whole)
        return CFX_OK;
    if (st == CFX_ENOMEM)
        return cfx_no_memory(r->err);
    cfx_reader_pop_to(r, first);
    return cfx_reader_push_str(r, CFX_STR, s, (size_t)(end - s));
}

/* The target of a placeholder is a parameter in Python. */
static cfx_status check_parameter(graph_reader *gr, const char *s,
                                  const char *end)
{
    const char *name = s;
    while (name < end && name - s < 2 && *name == '*')
        name++;
    return cfx_name_is_parameter(name, (size_t)(end - name))
               ? CFX_OK
               : cfx_reader_fail(gr->r, s, CFX_EPARSE,
                                 "'%s' cannot name a parameter",
                                 cfx_buf_str(&gr->target));
}

static cfx_status torch_leaf(graph_reader *gr, const char *s)
{
    cfx_reader *r = gr->r;
    size_t args = r->n;
    cfx_status st = CFX_OK;
    const char *value = find(s, gr->line.end, "](default=");
    bool has_default = gr->op == CFX_PLACEHOLDER && value;
    const char *close = has_default ? ")" : "]";
    if (!complete(gr, close))
        return cfx_reader_fail(r, s, CFX_EPARSE, "the line should end in '%s'",
                               close);
    const char *end = gr->line.end - 1, *stop = has_default ? value : end;
    if (stop == s)
        return cfx_reader_fail(r, s, CFX_EPARSE, "the target is missing");
    if (has_default)
        st = push_default(gr, value + strlen("](default="), end);
    if (!st)
        st = set_text(gr, &gr->target, s, (size_t)(stop - s));
    if (!st && gr->op == CFX_PLACEHOLDER)
        st = check_parameter(gr, s, stop);
    return st ? st : make_node(gr, args, r->n, NULL);
}

static cfx_status torch_return(graph_reader *gr, const char *s)
{
    cfx_reader *r = gr->r;
    cfx_lexer lx;
    size_t args = r->n;
    r->bare_nodes = r->no_names = true;
    cfx_lexer_init(&lx, s, gr->line.end, &r->string);
    cfx_status st = cfx_read__value(r, &lx, 0);
    if (!st && lx.token != CFX_TOKEN_END)
        st = cfx_read__unexpected(r, &lx, "the end of the line");
    r->bare_nodes = r->no_names = false;
    return st ? st : make_node(gr, args, r->n, NULL);
}

/* ---- Lines ---- */

static cfx_status read_return(graph_reader *gr, const char *s)
{
    cfx_status st = set_text(gr, &gr->name, "", 0);
    if (!st)
        st = set_text(gr, &gr->target, "output", 6);
    gr->op = CFX_OUTPUT;
    gr->done = true;
    if (st)
        return st;
    return gr->r->lossless ? lossless_return(gr, s) : torch_return(gr, s);
}

/* `[num_users=1]`, `[#users=1]`, `[uses=1]`: where it ends, or NULL. */
static const char *users_end(const char *s, const char *end)
{
    static const char *const words[] = {"[num_users=", "[#users=", "[uses="};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!cfx_starts(s, end, words[i]))
            continue;
        const char *digits = s + strlen(words[i]);
        s = digits;
        while (s < end && cfx_is_digit(*s))
            s++;
        return s > digits && s < end && *s == ']' ? s + 1 : NULL;
    }
    return NULL;
}

/* Read a shape in double quotes, at *lx. */
static cfx_status read_annotation(graph_reader *gr, cfx_lexer *lx)
{
    cfx_reader *r = gr->r;
    const char *at = lx->text;
    if (lx->token != CFX_TOKEN_STRING || *at != '"')
        return cfx_read__unexpected(r, lx, "a type");
    if (r->string.failed)
        return cfx_no_memory(r->err);
    cfx_status st = gr->env ? CFX_OK
                            : cfx_shape_env_new(&gr->env, r->ctx, r->err);
    if (!st)
        st = cfx_parse_shape(&gr->shape, r->ctx, gr->env,
                             cfx_buf_str(&r->string), r->string.len, r->err);
    if (st)
        return cfx_reader_fail_at(r, at);
    cfx_lexer_next(lx);
    return lx->token == CFX_TOKEN_END
               ? CFX_OK
               : cfx_read__unexpected(r, lx, "'[num_users=...]'");
}

/* Is a word only the kind of the shape that follows? */
static bool is_kind_of_shape(const char *s, const char *end)
{
    for (size_t i = 0; i < CFX_SHAPE_KINDS; i++) {
        size_t n = strlen(cfx_print__shape_kinds[i]);
        if ((size_t)(end - s) == n && !memcmp(s, cfx_print__shape_kinds[i], n))
            return true;
    }
    return false;
}

/* A type, bare or in quotes, and maybe a shape in double quotes. Bare types
 * have none. */
static cfx_status read_lossless_type(graph_reader *gr, const char *s,
                                     const char *end)
{
    cfx_reader *r = gr->r;
    cfx_lexer lx;
    cfx_status st;
    const char *bare = s;
    gr->typed = true;
    if (*s == '\'' || *s == '"') {
        cfx_lexer_init(&lx, s, end, &r->string);
        if (lx.token != CFX_TOKEN_STRING)
            return cfx_read__unexpected(r, &lx, "a type");
        st = set_string(gr, &gr->type);
        cfx_lexer_next(&lx);
        return st || lx.token == CFX_TOKEN_END ? st : read_annotation(gr, &lx);
    }
    while (s < end && *s != '"')
        s++;
    const char *quote = s;
    while (s > bare && s[-1] == ' ')
        s--;
    gr->typed = quote == end || !is_kind_of_shape(bare, s);
    st = set_text(gr, &gr->type, bare, (size_t)(s - bare));
    if (st || quote == end)
        return st;
    cfx_lexer_init(&lx, quote, end, &r->string);
    return read_annotation(gr, &lx);
}

/* Read the type between name and users. In PyTorch's text a shape in double
 * quotes comes from ShapeProp and is dropped. */
static cfx_status read_type(graph_reader *gr, const char *s, const char *end)
{
    gr->typed = false;
    if (s == end || (end[-1] == '"' && !gr->r->lossless))
        return CFX_OK;
    while (end > s && end[-1] == ' ')
        end--;
    if (gr->r->lossless && end > s)
        return read_lossless_type(gr, s, end);
    gr->typed = end > s;
    return set_text(gr, &gr->type, s, (size_t)(end - s));
}

static bool find_opcode(graph_reader *gr, const char **s)
{
    for (int op = CFX_PLACEHOLDER; op < CFX_OUTPUT; op++) {
        const char *name = cfx_opcode_names[op];
        if (!cfx_starts(*s, gr->line.end, name))
            continue;
        const char *behind = *s + strlen(name);
        if (cfx_starts(behind, gr->line.end, "[target=")) {
            gr->op = (cfx_opcode)op;
            *s = behind + strlen("[target=");
            return true;
        }
    }
    return false;
}

/* Everything before the equals sign; *s is left after it. */
static cfx_status read_left_side(graph_reader *gr, const char **s)
{
    cfx_reader *r = gr->r;
    const char *end = gr->line.end, *name = *s + 1, *at = name;
    while (at < end && *at != ' ' && *at != ':')
        at++;
    if (!cfx_is_name(name, at))
        return cfx_reader_fail(r, name, CFX_EPARSE,
                               "a node's name should follow the '%%'");
    cfx_status st = set_text(gr, &gr->name, name, (size_t)(at - name));
    if (st)
        return st;
    if (cfx_graph_find(gr->g, cfx_buf_str(&gr->name)))
        return cfx_reader_fail(r, *s, CFX_EGRAPH, "%%%s is defined twice",
                               cfx_buf_str(&gr->name));
    at = skip_blanks(at, end);
    if (at == end || *at != ':')
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "a ':' should follow the name");
    at = skip_blanks(at + 1, end);
    const char *users = at, *behind = NULL;
    if (r->lossless && at < end && (*at == '\'' || *at == '"'))
        users = cfx_scan_string(at, end);
    while (users && users < end && !(behind = users_end(users, end)))
        users++;
    if (!behind)
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "'[num_users=...]' should stand here");
    st = read_type(gr, at, users);
    at = skip_blanks(behind, end);
    if (!st && (at == end || *at != '='))
        st = cfx_reader_fail(r, at, CFX_EPARSE, "a '=' should stand here");
    *s = skip_blanks(at + 1, end);
    return st;
}

static cfx_status read_line(graph_reader *gr)
{
    cfx_reader *r = gr->r;
    const char *s = gr->at;
    if (r->lossless && cfx_starts(s, gr->line.end, "pass") &&
        skip_blanks(s + 4, gr->line.end) == gr->line.end) {
        gr->done = true;
        return CFX_OK;
    }
    if (gr->done && !r->lossless)
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "the graph ended with its 'return'");
    gr->typed = false;
    cfx_value_unref(gr->shape);
    gr->shape = CFX_NOTHING;
    if (cfx_starts(s, gr->line.end, "return") &&
        (s + 6 == gr->line.end || s[6] == ' '))
        return read_return(gr, s + 6);
    if (*s != '%')
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "a node or 'return' should stand here");
    cfx_status st = read_left_side(gr, &s);
    if (st)
        return st;
    if (!find_opcode(gr, &s))
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "an opcode and '[target=' should stand here");
    if (r->lossless)
        return lossless_body(gr, s);
    return gr->op == CFX_PLACEHOLDER || gr->op == CFX_GET_ATTR
               ? torch_leaf(gr, s)
               : torch_call(gr, s);
}

/* ---- The whole ---- */

/* One parameter of an old header: `x` or `x : TYPE`. */
static cfx_status read_parameter(graph_reader *gr, const char *s,
                                 const char *end)
{
    cfx_reader *r = gr->r;
    const char *name_end = s;
    while (name_end < end && *name_end != ':' && *name_end != ' ')
        name_end++;
    const char *type = find(name_end, end, ":");
    const char *name = s;
    while (name < name_end && *name == '*')
        name++;
    gr->at = s;
    gr->op = CFX_PLACEHOLDER;
    gr->typed = type != NULL;
    if (!cfx_is_name(name, name_end))
        return cfx_reader_fail(r, s, CFX_EPARSE, "a name should stand here");
    cfx_status st = set_text(gr, &gr->name, name, (size_t)(name_end - name));
    if (!st)
        st = set_text(gr, &gr->target, s, (size_t)(name_end - s));
    if (!st && type) {
        type = skip_blanks(type + 1, end);
        st = set_text(gr, &gr->type, type, (size_t)(end - type));
    }
    if (!st && cfx_graph_find(gr->g, cfx_buf_str(&gr->name)))
        st = cfx_reader_fail(r, s, CFX_EGRAPH, "%%%s is defined twice",
                             cfx_buf_str(&gr->name));
    return st ? st : make_node(gr, r->n, r->n, NULL);
}

/* `graph():`; torch 1.8 has the placeholders there: `graph(x, y):`. */
static cfx_status read_header(graph_reader *gr, cfx_line *path)
{
    cfx_reader *r = gr->r;
    const char *s = gr->at + strlen("graph"), *end = gr->line.end;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const char *open = r->lossless ? find_last(s, end, "(")
                                   : find(s, end, "(");
    if (!open || end - open < 3 || memcmp(end - 2, "):", 2))
        return cfx_reader_fail(r, gr->at, CFX_EPARSE,
                               "'graph():' should stand here");
    s = skip_blanks(s, open);
    *path = (cfx_line){.s = s, .end = open, .next = open};
    s = open + 1;
    end -= 2;
    while (s < end) {
        const char *comma = find(s, end, ", ");
        cfx_status st = read_parameter(gr, s, comma ? comma : end);
        if (st)
            return st;
        s = comma ? comma + 2 : end;
    }
    return CFX_OK;
}

static cfx_status read_lines(graph_reader *gr, const char **at)
{
    cfx_reader *r = gr->r;
    while (cfx_reader_line(r, *at, &gr->line)) {
        gr->at = cfx_line_begin(&gr->line);
        if (gr->done && cfx_read__is_graph(&gr->line))
            return CFX_OK;
        if (gr->at < gr->line.end && *gr->at != '#') {
            cfx_status st = read_line(gr);
            if (st)
                return st;
        }
        *at = gr->line.next;
    }
    if (!gr->done)
        return cfx_reader_fail(r, r->end, CFX_EPARSE,
                               "the graph ends without a 'return'");
    return CFX_OK;
}

bool cfx_read__is_graph(const cfx_line *line)
{
    const char *s = cfx_line_begin(line), *end = line->end;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return end - s >= 8 && !memcmp(end - 2, "):", 2) &&
           (cfx_starts(s, end, "graph(") || cfx_starts(s, end, "graph "));
}

cfx_status cfx_read__graph(cfx_reader *r, const char **at, cfx_line *path,
                           cfx_graph **out)
{
    graph_reader gr = {.r = r};
    *out = NULL;
    cfx_status st = cfx_graph_new(&gr.g, r->ctx, r->err);
    if (st)
        return st;
    r->graph = gr.g;
    cfx_buf_init(&gr.name, r->ctx);
    cfx_buf_init(&gr.target, r->ctx);
    cfx_buf_init(&gr.type, r->ctx);
    cfx_reader_line(r, *at, &gr.line);
    gr.at = cfx_line_begin(&gr.line);
    st = read_header(&gr, path);
    *at = gr.line.next;
    if (!st)
        st = read_lines(&gr, at);
    cfx_buf_release(&gr.name);
    cfx_buf_release(&gr.target);
    cfx_buf_release(&gr.type);
    cfx_value_unref(gr.shape);
    cfx_shape_env_free(gr.env);
    r->graph = NULL;
    if (st)
        cfx_graph_free(gr.g);
    else
        *out = gr.g;
    return st;
}
