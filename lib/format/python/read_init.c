/*
 * read_init -- the modules and the state that __init__ makes.
 *
 *     setattr(self, 'conv', Conv2d(3, 4, kernel_size=(3, 3)))
 *     setattr(self, 'act', torch.load(r'm/act.pt')) # GELU(approximate='none')
 *     setattr(self, 'w', torch.nn.Parameter(torch.empty([5])))
 *     self.register_buffer('b', torch.empty([5], dtype=torch.float32))
 *     self.get_submodule('seq').add_module('0', torch.nn.ReLU())
 *
 * GraphModule.to_folder prints the first four, cfx the last ones. A pickled module is
 * not unpickled: the comment after it is its repr, and its numbers are among the
 * weights of the whole. Calls of other functions are passed over.
 */
#include "format/io.h"
#include "format/python/read_python.h"
#include "nn/module_impl.h"

typedef struct init {
    cfx_python *p;
    cfx_module *self, *owner;
    const char *at;   /* the name */
    const char *name; /* of what is made in `owner` */
} init;

/* ---- Parts of a statement ---- */

/* Go past `word` and the bracket that opens its arguments. */
static cfx_status enter_call(cfx_python *p)
{
    cfx_lexer_next(&p->lx);
    return cfx_read__punct(&p->r, &p->lx, '(');
}

/* Take the string at the token as a name; go past it. */
static cfx_status read_string(init *in, const char **out)
{
    cfx_python *p = in->p;
    if (p->lx.token != CFX_TOKEN_STRING)
        return cfx_python__unexpected(p, "a name in quotes");
    in->at = p->lx.text;
    *out = cfx_arena_strdup(&p->memory, cfx_buf_str(&p->r.string),
                            p->r.string.len);
    if (!*out || p->r.string.failed)
        return cfx_no_memory(p->r.err);
    cfx_lexer_next(&p->lx);
    return CFX_OK;
}

/* Take the name of a module, parameter or buffer: as in PyTorch, it has no dot. */
static cfx_status read_own_name(init *in)
{
    cfx_status st = read_string(in, &in->name);
    if (!st && (!*in->name || strchr(in->name, '.')))
        st = cfx_reader_fail(
            &in->p->r, in->at, CFX_EPARSE,
            "the name of a module or tensor is not empty, and has no dot");
    return st;
}

/* The end of the call whose arguments begin at s; NULL: no bracket ends them. */
static const char *call_end(const char *s, const char *end)
{
    size_t depth = 0;
    for (; s < end; s++) {
        if (*s == '"' || *s == '\'') {
            const char *close = cfx_scan_string(s, end);
            if (!close)
                return NULL;
            s = close - 1;
        }
        depth += *s == '(' || *s == '[' || *s == '{';
        if ((*s == ')' || *s == ']' || *s == '}') && --depth == 0)
            return s + 1;
    }
    return NULL;
}

/* ---- Modules ---- */

/* The lines of a repr that to_folder has joined: the line breaks before children
 * and before the brackets that end them. */
static void unfold(cfx_buf *b, const char *s, const char *end)
{
    while (s < end) {
        size_t n = 0;
        while (s + n < end && s[n] == ' ')
            n++;
        bool ends = n && s + n < end && s[n] == ')';
        bool child = n >= 3 && s + n < end && s[n] == '(';
        if (ends || child)
            cfx_buf_putc(b, '\n');
        cfx_buf_add(b, s, n);
        s += n;
        if (s < end)
            cfx_buf_putc(b, *s++);
    }
}

/* The comment after the line, which has been blanked in the text. */
static cfx_status put_comment(cfx_buf *b, init *in)
{
    cfx_python *p = in->p;
    const char *s = p->source + (p->line.end - p->r.text);
    const char *end = p->source + (p->r.end - p->r.text);
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    end = newline ? newline : end;
    while (s < end && (*s == ' ' || *s == '#'))
        s++;
    if (s == end)
        return cfx_reader_fail(
            &p->r, in->at, CFX_EUNSUPPORTED,
            "'%s' is a pickled module, which is not unpickled: write its repr after it, as in # GELU(approximate='none')",
            in->name);
    unfold(b, s, end);
    return CFX_OK;
}

/* A constructor, from the class's name on, without "torch.nn." */
static cfx_status put_constructor(cfx_buf *b, init *in)
{
    static const char *const prefixes[] = {"torch.nn.", "nn."};
    cfx_python *p = in->p;
    const char *s = p->lx.text;
    const char *end = p->lx.token == CFX_TOKEN_NAME
                          ? call_end(s + p->lx.len, p->lx.end)
                          : NULL;
    if (!end || s[p->lx.len] != '(')
        return cfx_python__unexpected(p, "a module such as ReLU()");
    p->lx.at = end;
    cfx_lexer_next(&p->lx);
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (cfx_starts(s, end, prefixes[i])) {
            s += strlen(prefixes[i]);
            break;
        }
    cfx_buf_add(b, s, (size_t)(end - s));
    return CFX_OK;
}

static cfx_status parse_module(cfx_module **out, init *in, const cfx_buf *b,
                               bool repr)
{
    cfx_python *p = in->p;
    const char *at = cfx_buf_str(b);
    cfx_reader r;
    cfx_reader_init(&r, p->r.ctx, NULL, at, b->len, p->r.err);
    r.lossless = !repr;
    cfx_status st = cfx_read__tree(&r, &at, true, out);
    p->r.undecided |= r.undecided;
    cfx_reader_release(&r);
    return st ? cfx_reader_fail_at(&p->r, in->at) : CFX_OK;
}

static cfx_status read_module(init *in)
{
    cfx_python *p = in->p;
    bool pickled = cfx_lexer_is_name(&p->lx, "torch.load");
    cfx_module *m;
    cfx_buf b;
    if (cfx_module_child(in->owner, in->name))
        return cfx_reader_fail(&p->r, in->at, CFX_EPARSE,
                               "the module '%s' stands there twice", in->name);
    cfx_buf_init(&b, p->r.ctx);
    cfx_status st = pickled ? put_comment(&b, in) : put_constructor(&b, in);
    if (!st && b.failed)
        st = cfx_no_memory(p->r.err);
    if (!st)
        st = parse_module(&m, in, &b, pickled);
    cfx_buf_release(&b);
    if (!st)
        st = cfx_module_add_take(in->owner, in->name, m, p->r.err);
    return st;
}

/* ---- State ---- */

/* The type and shape of `torch.empty(shape, dtype=...)`, whose arguments lie on
 * the reader's stack from `first` on. */
static cfx_status make_meta(cfx_tensor **out, init *in, size_t first)
{
    cfx_reader *r = &in->p->r;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_dtype dtype = CFX_F32;
    int rank = -1;
    for (size_t i = first; i + 1 < r->n; i += 2) {
        cfx_value key = r->stack[i], v = r->stack[i + 1];
        bool list = cfx_value_is_seq(v) && v.u.seq->len <= CFX_MAX_RANK;
        if (key.kind == CFX_NONE && list) {
            rank = (int)v.u.seq->len;
            for (int k = 0; k < rank; k++)
                shape[k] = v.u.seq->item[k].kind == CFX_INT
                               ? cfx_dim_int(v.u.seq->item[k].u.i)
                               : cfx_dim_int(-1);
        } else if (key.kind == CFX_STR && v.kind == CFX_DTYPE) {
            dtype = (cfx_dtype)v.u.i;
        }
    }
    if (rank < 0)
        return cfx_reader_fail(r, in->at, CFX_EPARSE,
                               "the shape of '%s' should be a list of numbers",
                               in->name);
    return cfx_tensor_meta(out, r->ctx, dtype, rank, shape, NULL, r->err)
               ? cfx_reader_fail_at(r, in->at)
               : CFX_OK;
}

/* `torch.empty([5], dtype=torch.float32)`, or None. */
static cfx_status read_tensor(init *in, cfx_tensor **out)
{
    cfx_python *p = in->p;
    size_t first = p->r.n;
    if (cfx_lexer_is_name(&p->lx, "None")) {
        cfx_lexer_next(&p->lx);
        return CFX_OK;
    }
    if (!cfx_lexer_is_name(&p->lx, "torch.empty") &&
        !cfx_lexer_is_name(&p->lx, "torch.zeros"))
        return cfx_python__unexpected(p, "torch.empty(shape, dtype=...)");
    cfx_status st = enter_call(p);
    if (!st)
        st = cfx_read__arguments(&p->r, &p->lx, 0);
    if (!st)
        st = cfx_read__punct(&p->r, &p->lx, ')');
    if (!st)
        st = make_meta(out, in, first);
    cfx_reader_pop_to(&p->r, first);
    return st;
}

/* Arguments up to the closing bracket: is one of them `word=False`? */
static cfx_status read_flag(cfx_python *p, const char *word, bool *is_false)
{
    cfx_reader *r = &p->r;
    size_t first = r->n;
    if (cfx_lexer_is(&p->lx, ','))
        cfx_lexer_next(&p->lx);
    cfx_status st = cfx_read__arguments(r, &p->lx, 0);
    for (size_t i = first; i + 1 < r->n && !st; i += 2)
        if (r->stack[i].kind == CFX_STR &&
            !strcmp(r->stack[i].u.str->text, word))
            *is_false = r->stack[i + 1].kind == CFX_BOOL_VALUE &&
                        !r->stack[i + 1].u.i;
    cfx_reader_pop_to(r, first);
    return st;
}

/* A parameter or buffer, up to the bracket that ends the statement. */
static cfx_status read_state(init *in, bool is_buffer)
{
    cfx_python *p = in->p;
    cfx_tensor *meta = NULL;
    bool wrapped = cfx_lexer_is_name(&p->lx, "torch.nn.Parameter");
    bool constant = false, transient = false;
    cfx_status st = wrapped ? enter_call(p) : CFX_OK;
    if (!st)
        st = read_tensor(in, &meta);
    if (!st && wrapped)
        st = read_flag(p, "requires_grad", &constant);
    if (!st && wrapped)
        st = cfx_read__punct(&p->r, &p->lx, ')');
    if (!st)
        st = read_flag(p, "persistent", &transient);
    const cfx_state state = {in->name, meta, is_buffer, !transient};
    if (!st)
        st = cfx_module__add_state(in->owner, &state, p->r.err);
    cfx_tensor_unref(meta);
    return st;
}

/* ---- Statements ---- */

/* `training = True`, from the name on: of the owner only. */
static cfx_status read_training(init *in)
{
    cfx_python *p = in->p;
    cfx_lexer_next(&p->lx);
    cfx_status st = cfx_read__punct(&p->r, &p->lx, '=');
    if (!st)
        in->owner->training = cfx_lexer_is_name(&p->lx, "True");
    return st;
}

/* `add_module('0', ...)` and the like, from the verb on. */
static cfx_status read_verb(init *in, const char *verb, size_t len)
{
    cfx_python *p = in->p;
    bool module = len == 10 && !memcmp(verb, "add_module", 10);
    bool buffer = len == 15 && !memcmp(verb, "register_buffer", 15);
    bool parameter = len == 18 && !memcmp(verb, "register_parameter", 18);
    if (len == 8 && !memcmp(verb, "training", 8))
        return read_training(in);
    if (!module && !buffer && !parameter)
        return CFX_OK;
    cfx_status st = enter_call(p);
    if (!st)
        st = read_own_name(in);
    if (!st)
        st = cfx_read__punct(&p->r, &p->lx, ',');
    return st ? st : module ? read_module(in) : read_state(in, buffer);
}

/* `get_submodule('seq').add_module(...)`: the owner, then the verb. */
static cfx_status read_below(init *in)
{
    cfx_python *p = in->p;
    const char *path;
    cfx_status st = enter_call(p);
    if (!st)
        st = read_string(in, &path);
    if (!st)
        st = cfx_read__punct(&p->r, &p->lx, ')');
    if (!st)
        st = cfx_python__skip(p, '.');
    if (st)
        return st;
    in->owner = cfx_module_at(in->self, path);
    if (!in->owner)
        return cfx_reader_fail(&p->r, in->at, CFX_ENAME,
                               "there is no module '%s' yet", path);
    return read_verb(in, p->lx.text, p->lx.len);
}

static cfx_status read_setattr(init *in)
{
    cfx_python *p = in->p;
    cfx_status st = enter_call(p);
    if (!st && !cfx_lexer_is_name(&p->lx, "self"))
        st = cfx_python__unexpected(p, "'self'");
    if (st)
        return st;
    cfx_lexer_next(&p->lx);
    st = cfx_read__punct(&p->r, &p->lx, ',');
    if (!st)
        st = read_own_name(in);
    if (!st)
        st = cfx_read__punct(&p->r, &p->lx, ',');
    if (st)
        return st;
    return cfx_lexer_is_name(&p->lx, "torch.nn.Parameter")
               ? read_state(in, false)
               : read_module(in);
}

static cfx_status read_statement(init *in)
{
    cfx_python *p = in->p;
    const char *word = p->lx.text;
    size_t len = p->lx.token == CFX_TOKEN_NAME ? p->lx.len : 0;
    in->owner = in->self;
    if (cfx_lexer_is_name(&p->lx, "setattr"))
        return read_setattr(in);
    if (cfx_lexer_is_name(&p->lx, "self.get_submodule"))
        return read_below(in);
    if (cfx_lexer_is_name(&p->lx, "self.train")) {
        cfx_module_train(in->self, true);
        return CFX_OK;
    }
    return len > 5 && !memcmp(word, "self.", 5)
               ? read_verb(in, word + 5, len - 5)
               : CFX_OK;
}

cfx_status cfx_python__init(cfx_python *p, size_t indent, cfx_module *m)
{
    init in = {.p = p, .self = m};
    cfx_python_line line;
    cfx_status st = CFX_OK;
    while (!st && cfx_python__find_line(p, p->at, &line) &&
           line.indent > indent) {
        cfx_python__enter(p, &line);
        st = read_statement(&in);
    }
    return st;
}
