/*
 * read_python -- the Python code that torch.fx and Dynamo print, as a model.
 *
 *     class GraphModule(torch.nn.Module):
 *         def forward(self, x : torch.Tensor):
 *             relu = torch.relu(x);  x = None
 *             return (relu,)
 *
 *         class true_graph_0(torch.nn.Module):
 *             def forward(self, y): ...
 *
 * A file is one class, or `def forward` by itself, as in gm.code. A class in a
 * class is a child that has a graph, and so is another one of the file, of which
 * __init__ makes a module. str() of an ExportedProgram is a class, too, and a
 * signature, which tells the parameters that are state. Nothing is evaluated: imports tell the names of
 * functions, and other functions of the file are passed over.
 */
#include <cfx/op.h>

#include "format/io.h"
#include "format/python/read_python.h"
#include "graph/decide.h"
#include "graph/names.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

/* The longest file that is read. */
#define PYTHON_MAX ((size_t)1 << 30)

/* Classes nest at most that deep: each is a graph in a graph. */
enum { MAX_CLASSES = 64 };

/* ---- Lines ---- */

static void blank(char *s, char *end)
{
    for (; s < end; s++)
        if (*s != '\n' && *s != '\r')
            *s = ' ';
}

/* The end of the string in three quotes that begins at s. */
static char *long_string_end(char *s, const char *end)
{
    char quote = *s;
    for (s += 3; s + 3 <= end; s++)
        if (s[0] == quote && s[1] == quote && s[2] == quote)
            return s + 3;
    return NULL;
}

/* Make blanks of comments, and of strings in three quotes: they document. */
static void blank_comments(char *s, char *end)
{
    while (s < end) {
        char *after = s + 1;
        if (*s == '#') {
            after = memchr(s, '\n', (size_t)(end - s));
            after = after ? after : end;
            blank(s, after);
        } else if ((*s == '"' || *s == '\'') && end - s >= 6 && s[1] == *s &&
                   s[2] == *s && (after = long_string_end(s, end))) {
            blank(s, after);
        } else if (*s == '"' || *s == '\'') {
            char *newline = memchr(s, '\n', (size_t)(end - s));
            const char *stop = newline ? newline : end;
            const char *close = cfx_scan_string(s, stop);
            after = s + ((close ? close : stop) - s);
        }
        s = after;
    }
}

/* The end of the logical line that begins at s. */
static const char *line_end(const cfx_python *p, const char *s)
{
    const char *end = p->r.end;
    size_t depth = 0;
    for (; s < end && (depth || *s != '\n'); s++) {
        if (*s == '"' || *s == '\'') {
            const char *newline = memchr(s, '\n', (size_t)(end - s));
            const char *stop = newline ? newline : end;
            const char *close = cfx_scan_string(s, stop);
            s = (close ? close : stop) - 1;
        }
        depth += *s == '(' || *s == '[' || *s == '{';
        depth -= depth && (*s == ')' || *s == ']' || *s == '}');
    }
    return s;
}

bool cfx_python__find_line(const cfx_python *p, const char *at,
                           cfx_python_line *line)
{
    const char *end = p->r.end;
    size_t indent = 0;
    for (; at < end; at++) {
        if (*at == '\n' || *at == '\r')
            indent = 0;
        else if (*at == '\t')
            indent = (indent / 8 + 1) * 8;
        else if (*at == ' ' || *at == '\f')
            indent++;
        else
            break;
    }
    if (at == end)
        return false;
    line->s = at;
    line->indent = indent;
    line->end = line_end(p, at);
    line->next = line->end < end ? line->end + 1 : end;
    while (line->end > at && (line->end[-1] == ' ' || line->end[-1] == '\r'))
        line->end--;
    return true;
}

void cfx_python__enter(cfx_python *p, const cfx_python_line *line)
{
    p->line = *line;
    p->at = line->next;
    cfx_lexer_init(&p->lx, line->s, line->end, &p->r.string);
}

/* ---- Tokens ---- */

char cfx_python__char(const cfx_python *p)
{
    bool node = p->lx.token == CFX_TOKEN_NODE ||
                (p->lx.token == CFX_TOKEN_SIGN && !p->lx.len);
    if (node)
        return '%';
    return p->lx.token == CFX_TOKEN_END ? '\0' : *p->lx.text;
}

cfx_status cfx_python__skip(cfx_python *p, char c)
{
    if (cfx_python__char(p) != c)
        return cfx_python__unexpected(p, (char[]){'\'', c, '\'', '\0'});
    p->lx.at = p->lx.text + (c != '%');
    cfx_lexer_next(&p->lx);
    return CFX_OK;
}

cfx_status cfx_python__unexpected(cfx_python *p, const char *wanted)
{
    const char *s = p->lx.text, *end = p->lx.end;
    bool sign = p->lx.token == CFX_TOKEN_BAD && strchr(";.*/@&|^~<>!=", *s);
    if (p->lx.token == CFX_TOKEN_END)
        return cfx_reader_fail(&p->r, s, CFX_EPARSE,
                               "the line ends where %s should stand", wanted);
    if (cfx_python__char(p) == '%')
        return cfx_reader_fail(&p->r, s - 1, CFX_EPARSE,
                               "'%%' stands where %s should", wanted);
    if (!sign)
        return cfx_read__unexpected(&p->r, &p->lx, wanted);
    size_t n = 1;
    while (n < 2 && s + n < end && strchr("*/<>=", s[n]))
        n++;
    return cfx_reader_fail(&p->r, s, CFX_EPARSE,
                           "'%.*s' stands where %s should", (int)n, s, wanted);
}

bool cfx_python__at_end(const cfx_python *p)
{
    return p->lx.token == CFX_TOKEN_END ||
           (p->lx.token == CFX_TOKEN_BAD && *p->lx.text == ';');
}

/* ---- Functions ---- */

/* A name that code makes of a qualified one: `math_sqrt` of math.sqrt. */
static bool guess_function(cfx_buf *b, const char *s, size_t len)
{
    static const char *const known[][2] = {{"_operator_", "operator."},
                                           {"math_", "math."},
                                           {"torch_Tensor_", "torch.Tensor."}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = strlen(known[i][0]);
        if (len > n && !memcmp(s, known[i][0], n)) {
            cfx_buf_puts(b, known[i][1]);
            cfx_buf_add(b, s + n, len - n);
            return true;
        }
    }
    return false;
}

static void spell_function(cfx_python *p, const char *s, size_t len)
{
    cfx_buf *b = &p->spare;
    cfx_buf_clear(b);
    cfx_buf_add(b, s, len);
    const char *word = cfx_buf_str(b);
    if (b->failed || memchr(s, '.', len))
        return;
    if (!strcmp(word, "device")) {
        cfx_buf_clear(b);
        cfx_buf_puts(b, "torch.device");
    } else if (cfx_name_is_illegal(word)) {
        cfx_buf_clear(b);
        cfx_buf_puts(b, "builtins.");
        cfx_buf_add(b, s, len);
    } else {
        const char *known = cfx_target__of_identifier(p->r.ctx, word);
        cfx_buf_clear(b);
        if (known)
            cfx_buf_puts(b, known);
        else if (!guess_function(b, s, len))
            cfx_buf_add(b, s, len);
    }
}

const char *cfx_python__function(cfx_python *p, const char *s, size_t len)
{
    cfx_map_entry *e = cfx_map_put(&p->globals, s, len, NULL);
    if (e && !e->v.p) {
        spell_function(p, s, len);
        char *own = p->spare.failed
                        ? NULL
                        : cfx_arena_strdup(&p->memory, cfx_buf_str(&p->spare),
                                           p->spare.len);
        if (own)
            e->v.p = own;
        else
            cfx_map_remove(&p->globals, s, len);
        e = own ? e : NULL;
    }
    if (!e)
        cfx_no_memory(p->r.err);
    return e ? e->v.p : NULL;
}

/* ---- Exported programs ---- */

/* The end of a word that begins at s. */
static size_t word_length(const char *s)
{
    return strcspn(s, " :\n=");
}

/* `NAME: KIND target='PATH' ...`: note the path of state. */
static cfx_status read_specification(cfx_python *p, const char *s, size_t len)
{
    static const char *const kinds[] = {"PARAMETER", "BUFFER",
                                        "CONSTANT_TENSOR"};
    static const char mark[] = "target='";
    size_t name = word_length(s);
    bool state = false;
    if (name + 2 > len || s[name] != ':')
        return CFX_OK;
    const char *kind = s + name + 2, *end = s + len;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        state |= word_length(kind) == strlen(kinds[i]) &&
                 cfx_starts(kind, end, kinds[i]);
    const char *target = state ? strstr(kind, mark) : NULL;
    if (!target || target >= end)
        return CFX_OK;
    target += sizeof(mark) - 1;
    char *own = cfx_arena_strdup(&p->memory, target, strcspn(target, "'\n"));
    char *key = cfx_arena_strdup(&p->memory, s, name);
    cfx_map_entry *e = own && key ? cfx_map_put(&p->lifted, key, name, NULL)
                                  : NULL;
    if (!e)
        return cfx_no_memory(p->r.err);
    e->v.p = own;
    return CFX_OK;
}

/* Read what str() of an ExportedProgram has around its class, and make blanks
 * of it: a title, and the signature. */
static cfx_status read_program(cfx_python *p, char *text, size_t len)
{
    static const char title[] = "ExportedProgram:",
                      from[] = "\nGraph signature";
    char *end = text + len, *at = text + strspn(text, " \r\n");
    char *signature = strstr(at, from);
    cfx_status st = CFX_OK;
    if (!cfx_starts(at, end, title))
        return CFX_OK;
    blank(at, at + sizeof(title) - 1);
    if (!signature)
        return CFX_OK;
    const char *write = strstr(signature, "_MUTATION");
    if (write)
        return cfx_reader_fail(
            &p->r, write, CFX_EUNSUPPORTED,
            "the program writes to its state or inputs, and this text has them among its results: take program.module().print_readable(), or save it with torch.export.save");
    for (const char *s = signature; *s && !st; s += *s == '\n') {
        s += strspn(s, " ");
        size_t n = strcspn(s, "\n");
        st = read_specification(p, s, n);
        s += n;
    }
    blank(signature, end);
    return st;
}

/* ---- The file ---- */

/* A class that is not the first of the file. */
typedef struct other_class {
    const char *at;
    cfx_module *m; /* counted; NULL: it is a module of another class */
} other_class;

/* The classes and functions read so far. */
typedef struct file {
    cfx_python p;
    cfx_module *root; /* its children are those that have graphs */
    cfx_map classes;  /* the others: name -> other_class */
    struct {
        cfx_module *m;
        cfx_graph *g;
    } * item; /* the root is the first */
    size_t n, cap;
} file;

static cfx_status read_block(file *f, cfx_module *m, size_t indent, int depth);

/* Pass over the lines of a block. */
static void skip_block(cfx_python *p, size_t indent)
{
    cfx_python_line line;
    while (cfx_python__find_line(p, p->at, &line) && line.indent > indent)
        p->at = line.next;
}

static cfx_status add_graph(file *f, cfx_module *m, const char *at)
{
    cfx_python *p = &f->p;
    cfx_context *ctx = p->r.ctx;
    for (size_t i = 0; i < f->n; i++)
        if (f->item[i].m == m)
            return cfx_reader_fail(&p->r, at, CFX_EPARSE,
                                   "forward stands there twice");
    cfx_status st = cfx_grow(ctx, f->item, f->cap, f->n + 1, p->r.err);
    if (st)
        return st;
    f->item[f->n].m = m;
    st = cfx_python__forward(p, p->line.indent, &f->item[f->n].g);
    f->n += !st;
    return st;
}

/* The first class of the file is the root; the others are borrowed from the map,
 * and must be modules of the root. */
static cfx_status new_class(file *f, const char *name, const char *at,
                            cfx_module **out)
{
    cfx_python *p = &f->p;
    bool added = false;
    cfx_status st = cfx_module_new_container(out, p->r.ctx, name, p->r.err);
    if (st)
        return st;
    if (!f->root) {
        f->root = *out;
        return CFX_OK;
    }
    other_class *c = cfx_arena_alloc(&p->memory, sizeof(*c));
    cfx_map_entry *e = c ? cfx_map_put(&f->classes, name, strlen(name), &added)
                         : NULL;
    if (added) {
        *c = (other_class){at, *out};
        e->v.p = c;
        return CFX_OK;
    }
    cfx_module_unref(*out);
    return e ? cfx_reader_fail(&p->r, at, CFX_EPARSE,
                               "the class %s stands there twice", name)
             : cfx_no_memory(p->r.err);
}

/* `class NAME(...):`, from its name. */
static cfx_status read_class(file *f, cfx_module *parent, int depth)
{
    cfx_python *p = &f->p;
    cfx_reader *r = &p->r;
    size_t indent = p->line.indent;
    const char *at = p->lx.text;
    cfx_module *m = NULL;
    if (p->lx.token != CFX_TOKEN_NAME || memchr(at, '.', p->lx.len))
        return cfx_python__unexpected(p, "the name of a class");
    const char *name = cfx_arena_strdup(&p->memory, at, p->lx.len);
    if (!name)
        return cfx_no_memory(r->err);
    if (depth == MAX_CLASSES)
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "classes nest deeper than %d", MAX_CLASSES);
    const char *colon = p->line.end;
    if (colon[-1] != ':')
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "':' should end the line of a class");
    cfx_status st;
    if (!parent) {
        st = new_class(f, name, at, &m);
    } else if (cfx_module_child(parent, name)) {
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "the class %s stands there twice", name);
    } else {
        st = cfx_module_new_container(&m, r->ctx, name, r->err);
        if (!st)
            st = cfx_module_add_take(parent, name, m, r->err);
    }
    return st ? st : read_block(f, m, indent, depth + 1);
}

/* `def NAME(`, from the name. */
static cfx_status read_def(file *f, cfx_module *m)
{
    cfx_python *p = &f->p;
    const char *at = p->lx.text;
    if (m && cfx_lexer_is_name(&p->lx, "__init__"))
        return cfx_python__init(p, p->line.indent, m);
    if (!cfx_lexer_is_name(&p->lx, "forward")) {
        skip_block(p, p->line.indent);
        return CFX_OK;
    }
    cfx_status st = m ? CFX_OK : new_class(f, "GraphModule", at, &m);
    return st ? st : add_graph(f, m, at);
}

/* `from MODULE import NAME as OTHER`: the function that OTHER names. */
static cfx_status read_import(file *f)
{
    cfx_python *p = &f->p;
    cfx_lexer module = p->lx, name;
    cfx_lexer_next(&p->lx);
    if (!cfx_lexer_is_name(&p->lx, "import"))
        return cfx_python__unexpected(p, "'import'");
    cfx_lexer_next(&p->lx);
    while (p->lx.token == CFX_TOKEN_NAME) {
        name = p->lx;
        cfx_lexer_next(&p->lx);
        if (!cfx_lexer_is_name(&p->lx, "as"))
            return CFX_OK;
        cfx_lexer_next(&p->lx);
        cfx_map_entry *e = cfx_map_put(&p->globals, p->lx.text, p->lx.len,
                                       NULL);
        cfx_buf_clear(&p->spare);
        cfx_buf_add(&p->spare, module.text, module.len);
        cfx_buf_putc(&p->spare, '.');
        cfx_buf_add(&p->spare, name.text, name.len);
        if (!e || p->spare.failed ||
            !(e->v.p = cfx_arena_strdup(&p->memory, cfx_buf_str(&p->spare),
                                        p->spare.len)))
            return cfx_no_memory(p->r.err);
        cfx_lexer_next(&p->lx);
        if (cfx_lexer_is(&p->lx, ','))
            cfx_lexer_next(&p->lx);
    }
    return CFX_OK;
}

static cfx_status read_item(file *f, cfx_module *m, int depth)
{
    static const char wrap[] = "torch.fx._symbolic_trace.wrap";
    cfx_python *p = &f->p;
    cfx_lexer first = p->lx;
    if (p->lx.token != CFX_TOKEN_NAME)
        return cfx_python__unexpected(p, "a class or 'def forward'");
    cfx_lexer_next(&p->lx);
    if (cfx_lexer_is_name(&first, "class"))
        return read_class(f, m, depth);
    if (cfx_lexer_is_name(&first, "def"))
        return read_def(f, m);
    if (cfx_lexer_is_name(&first, "from") && !m)
        return read_import(f);
    if ((cfx_lexer_is_name(&first, "import") && !m) ||
        cfx_lexer_is_name(&first, "pass") || cfx_lexer_is_name(&first, wrap) ||
        (cfx_lexer_is(&p->lx, '=') && !m))
        return CFX_OK;
    p->lx = first;
    return cfx_python__unexpected(p, m ? "a method or class"
                                       : "a class or 'def forward'");
}

/* The lines of a class, or of the file, where `m` is NULL. */
static cfx_status read_block(file *f, cfx_module *m, size_t indent, int depth)
{
    cfx_python *p = &f->p;
    cfx_python_line line;
    cfx_status st = CFX_OK;
    size_t own = 0;
    while (!st && cfx_python__find_line(p, p->at, &line) &&
           (!m || line.indent > indent)) {
        if (own && line.indent != own - 1)
            return cfx_reader_fail(
                &p->r, line.s, CFX_EPARSE,
                "the indentation is not that of the lines before");
        own = line.indent + 1;
        cfx_python__enter(p, &line);
        st = read_item(f, m, depth);
    }
    return st;
}

/* Put a class of the file in the place of the module that __init__ made of its
 * name. */
static cfx_status use_class(file *f, cfx_module *made, other_class *c)
{
    cfx_module *parent = cfx_module_parent(made), *m = c->m;
    size_t index = made->index;
    const char *name = cfx_arena_strdup(&f->p.memory, cfx_module_name(made),
                                        strlen(cfx_module_name(made)));
    if (!name)
        return cfx_no_memory(f->p.r.err);
    cfx_module__remove(made);
    c->m = NULL;
    cfx_status st = cfx_module_add_take(parent, name, m, f->p.r.err);
    if (!st)
        cfx_module__place(m, index);
    return st;
}

/* All classes but the root are modules in it. */
static cfx_status use_classes(file *f)
{
    cfx_reader *r = &f->p.r;
    cfx_status st = CFX_OK;
    for (cfx_module *m = f->root, *next; m && !st; m = next) {
        const char *class = cfx_module_class_name(m);
        cfx_map_entry *e = cfx_map_get(&f->classes, class, strlen(class));
        other_class *c = e && m != f->root ? e->v.p : NULL;
        cfx_module *used = c ? c->m : NULL;
        if (used)
            st = use_class(f, m, c);
        next = st ? NULL : cfx_module_next(used ? used : m, f->root);
    }
    for (size_t i = 0; i < f->classes.cap && !st; i++) {
        other_class *c = f->classes.entry[i].key ? f->classes.entry[i].v.p
                                                 : NULL;
        if (c && c->m)
            st = cfx_reader_fail(r, c->at, CFX_EPARSE,
                                 "a file has one model: this is the second");
    }
    return st;
}

/* The modules of exported programs check their inputs in a child that their code
 * calls but does not show. */
static cfx_status add_guards(cfx_module *m, const cfx_graph *g, cfx_error *err)
{
    static const char name[] = "_guards_fn";
    cfx_context *ctx = cfx_module_context(m);
    const cfx_module_type *type = cfx_find_module_type(ctx, "GuardsFn");
    cfx_module *guards;
    const cfx_node *n = cfx_graph_first(g);
    while (n && (n->op != CFX_CALL_MODULE || n->nusers ||
                 strcmp(n->target->text, name) != 0))
        n = cfx_node_next(n);
    if (!n || !type || cfx_module_child(m, name))
        return CFX_OK;
    cfx_status st = cfx_module_new(&guards, ctx, type, NULL, CFX_NO_ARGS, err);
    return st ? st : cfx_module_add_take(m, name, guards, err);
}

/* Make the root and its descendants of what was read. */
static cfx_status finish(file *f, cfx_module **out)
{
    cfx_reader *r = &f->p.r;
    cfx_status st = f->root ? use_classes(f) : CFX_OK;
    if (st)
        return st;
    if (!f->n || f->item[0].m != f->root)
        return cfx_reader_fail(r, r->text, CFX_EPARSE,
                               f->n ? "the outer class has no forward"
                                    : "the code has no 'def forward'");
    for (size_t i = 0; i < f->n && !st; i++) {
        cfx_module *made, *m = f->item[i].m;
        cfx_graph *g = f->item[i].g;
        st = add_guards(m, g, r->err);
        if (st)
            break;
        f->item[i].g = NULL;
        if (!i)
            f->root = NULL;
        st = cfx_graph_module_new_take_both(&made, r->ctx, m, g,
                                            cfx_module_class_name(m), r->err);
        if (!i && !st)
            *out = made;
    }
    if (!st)
        st = cfx_read__quantized(*out, r->name, r->err);
    return st || !r->undecided ? st : cfx_graph__decide(*out, r->err);
}

static cfx_status read_file(file *f, cfx_module **out)
{
    cfx_python *p = &f->p;
    const char *nul = memchr(p->at, '\0', (size_t)(p->r.end - p->at));
    if (nul)
        return cfx_reader_fail(&p->r, nul, CFX_EPARSE,
                               "the text holds a NUL character");
    if (cfx_starts(p->at, p->r.end, "\xef\xbb\xbf"))
        p->at += 3;
    cfx_status st = read_block(f, NULL, 0, 0);
    return st ? st : finish(f, out);
}

static void release(file *f)
{
    cfx_python *p = &f->p;
    cfx_context *ctx = p->r.ctx;
    cfx_buf *bufs[] = {&p->type, &p->target, &p->spare};
    for (size_t i = 0; i < f->n; i++)
        cfx_graph_free(f->item[i].g);
    cfx_free(ctx, f->item, f->cap * sizeof(*f->item));
    cfx_module_unref(f->root);
    for (size_t i = 0; i < f->classes.cap; i++)
        if (f->classes.entry[i].key)
            cfx_module_unref(((other_class *)f->classes.entry[i].v.p)->m);
    cfx_map_release(&f->classes);
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        cfx_buf_release(bufs[i]);
    cfx_map_release(&p->variables);
    cfx_map_release(&p->aliases);
    cfx_map_release(&p->globals);
    cfx_map_release(&p->lifted);
    cfx_arena_release(&p->memory);
    cfx_shape_env_free(p->env);
    cfx_reader_release(&p->r);
}

cfx_status cfx_parse_python(cfx_module **out, cfx_context *ctx,
                            const char *text, size_t len, const char *name,
                            cfx_error *err)
{
    file f = {.n = 0};
    cfx_python *p = &f.p;
    char *own = cfx_alloc(ctx, len + 1);
    *out = NULL;
    cfx_error_clear(err);
    if (!own)
        return cfx_no_memory(err);
    memcpy(own, text, len);
    own[len] = '\0';
    blank_comments(own, own + len);
    cfx_reader_init(&p->r, ctx, name, own, len, err);
    p->source = text;
    p->at = own;
    cfx_buf_init(&p->type, ctx);
    cfx_buf_init(&p->target, ctx);
    cfx_buf_init(&p->spare, ctx);
    cfx_map_init(&p->variables, ctx);
    cfx_map_init(&p->aliases, ctx);
    cfx_map_init(&p->globals, ctx);
    cfx_map_init(&p->lifted, ctx);
    cfx_map_init(&f.classes, ctx);
    cfx_arena_init(&p->memory, ctx);
    cfx_status st = read_program(p, own, len);
    if (!st)
        st = read_file(&f, out);
    if (st) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    release(&f);
    cfx_free(ctx, own, len + 1);
    return st;
}

/* ---- The format ---- */

/* Does a file begin with a statement of Python, after blank lines? */
static bool python_probe(const unsigned char *head, size_t n)
{
    static const char *const words[] = {"class ", "def ", "import ", "from ",
                                        "ExportedProgram:\n"};
    const char *s = (const char *)head, *end = s + n;
    while (s < end && (*s == '\n' || *s == '\r'))
        s++;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (cfx_starts(s, end, words[i]))
            return true;
    return cfx_starts(s, end, "torch.fx._symbolic_trace.wrap(");
}

static cfx_status python_read(cfx_module **out, cfx_model_file *f,
                              const cfx_load_options *o, cfx_error *err)
{
    cfx_bytes text = {0};
    (void)o;
    cfx_status st = cfx_file_read(&text, &f->file, PYTHON_MAX,
                                  cfx_bytes_are_text, err);
    if (st)
        cfx_fail_at(err, "%s", f->path);
    else
        st = cfx_parse_python(out, f->file.ctx, (const char *)text.data,
                              text.len, f->path, err);
    cfx_bytes_release(&text);
    return st;
}

const cfx_model_format cfx_model_format__python = {
    .base = {.name = "python",
             .suffix = ".py",
             .doc = "Python code that torch.fx or Dynamo printed: read only.",
             .probe = python_probe},
    .read = python_read,
};
