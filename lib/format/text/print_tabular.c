/*
 * print_tabular -- graph.print_tabular(): a line a node in five columns.
 *
 * A column is as wide as its widest cell, and at least two wider than its
 * header, so that the graph is read twice: once to measure, once to print.
 * Functions are printed like str() in Python, or by qualified name if str()
 * has a memory address.
 */
#include "format/print.h"
#include "base/unicode.h"

enum { NCOLUMNS = 5, TARGET = 2 };

static const char *const headers[NCOLUMNS] = {"opcode", "name", "target",
                                              "args", "kwargs"};

typedef struct table {
    size_t width[NCOLUMNS];
    bool right; /* the targets are all numbers, and stand to the right */
    cfx_buf cell;
    cfx_error *err;
} table;

static bool is_builtin_type(const char *name)
{
    static const char *const types[] = {
        "bool",   "bytes",     "complex",  "dict", "enumerate",
        "float",  "frozenset", "int",      "list", "map",
        "object", "range",     "reversed", "set",  "slice",
        "str",    "super",     "tuple",    "type", "zip"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(name, types[i]))
            return true;
    return false;
}

static const char *after(const char *s, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(s, prefix, n) ? NULL : s + n;
}

/* Is it a function of a module of Python's, or of torch's, written in C? */
static const char *builtin_name(const char *target)
{
    static const char *const modules[] = {"operator.", "builtins.", "math.",
                                          "torch._C._"};
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (after(target, modules[i]))
            return strrchr(target, '.') + 1;
    return NULL;
}

static void add_function(cfx_out *o, const char *target)
{
    const char *op = after(target, "torch.ops.");
    const char *method = after(target, "torch.Tensor.");
    const char *builtin = builtin_name(target);
    const char *type = after(target, "builtins.");
    if (op) {
        cfx_out_puts(o, op);
    } else if (type && is_builtin_type(type)) {
        cfx_out_puts(o, "<class '");
        cfx_out_puts(o, type);
        cfx_out_puts(o, "'>");
    } else if (method) {
        cfx_out_puts(o, "<method '");
        cfx_out_puts(o, method);
        cfx_out_puts(o, "' of 'torch._C.TensorBase' objects>");
    } else if (builtin) {
        cfx_out_puts(o, "<built-in function ");
        cfx_out_puts(o, builtin);
        cfx_out_putc(o, '>');
    } else {
        cfx_out_puts(o, target);
    }
}

static void add_kwargs(const cfx_values *v, const cfx_node *n)
{
    cfx_out_putc(v->out, '{');
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        if (i)
            cfx_out_puts(v->out, ", ");
        cfx_out__value(v, n->kwargs[2 * i]);
        cfx_out_puts(v->out, ": ");
        cfx_out__value(v, n->kwargs[2 * i + 1]);
    }
    cfx_out_putc(v->out, '}');
}

/* The text of a node's cell, into t->cell. */
static cfx_status make_cell(table *t, const cfx_node *n, int column)
{
    cfx_out out;
    cfx_values v = {.out = &out, .style = CFX_STYLE_REPR, .err = t->err};
    cfx_buf_clear(&t->cell);
    cfx_out_init(&out, cfx_sink_buf(&t->cell));
    switch (column) {
    case 0: cfx_out_puts(&out, cfx_opcode_names[n->op]); break;
    case 1: cfx_out_puts(&out, n->name); break;
    case TARGET:
        if (n->op == CFX_CALL_FUNCTION)
            add_function(&out, cfx_print__target(n));
        else
            cfx_out_puts(&out, n->target->text);
        break;
    case 3:
        cfx_out_putc(&out, '(');
        cfx_print__items(&v, n->args, n->nargs);
        cfx_out_puts(&out, n->nargs == 1 ? ",)" : ")");
        break;
    default: add_kwargs(&v, n);
    }
    return cfx_out_finish(&out, t->err);
}

static bool is_number(const char *s)
{
    if (*s == '-' || *s == '+')
        s++;
    return *s && !s[strspn(s, "0123456789")];
}

static cfx_status measure(table *t, const cfx_graph *g)
{
    for (int c = 0; c < NCOLUMNS; c++)
        t->width[c] = strlen(headers[c]) + 2;
    t->right = cfx_graph_first(g) != NULL;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        for (int c = 0; c < NCOLUMNS; c++) {
            cfx_status st = make_cell(t, n, c);
            if (st)
                return st;
            const char *text = cfx_buf_str(&t->cell);
            size_t w = cfx_utf8_count(text, t->cell.len);
            if (w > t->width[c])
                t->width[c] = w;
            if (c == TARGET && !is_number(text))
                t->right = false;
        }
    return CFX_OK;
}

/* Blanks that are owed are written before the next cell, so that no line
 * ends in any. */
static void put_cell(cfx_out *o, const table *t, int column, const char *text,
                     size_t len, size_t *owed)
{
    size_t pad = t->width[column] - cfx_utf8_count(text, len);
    bool right = column == TARGET && t->right;
    if (len) {
        cfx_out_repeat(o, ' ', *owed + (right ? pad : 0));
        cfx_out_add(o, text, len);
        *owed = 0;
    }
    *owed += right && len ? 2 : pad + 2;
}

static void put_header(cfx_out *o, const table *t)
{
    size_t owed = 0;
    for (int c = 0; c < NCOLUMNS; c++)
        put_cell(o, t, c, headers[c], strlen(headers[c]), &owed);
    cfx_out_putc(o, '\n');
    for (int c = 0; c < NCOLUMNS; c++) {
        if (c)
            cfx_out_puts(o, "  ");
        cfx_out_repeat(o, '-', t->width[c]);
    }
    cfx_out_putc(o, '\n');
}

static cfx_status put_rows(cfx_out *o, table *t, const cfx_graph *g)
{
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        size_t owed = 0;
        for (int c = 0; c < NCOLUMNS; c++) {
            cfx_status st = make_cell(t, n, c);
            if (st)
                return st;
            put_cell(o, t, c, cfx_buf_str(&t->cell), t->cell.len, &owed);
        }
        cfx_out_putc(o, '\n');
    }
    return CFX_OK;
}

cfx_status cfx_print_tabular(cfx_sink to, const cfx_graph *g, cfx_error *err)
{
    table t = {.err = err};
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_buf_init(&t.cell, cfx_graph_context(g));
    cfx_status st = measure(&t, g);
    if (!st) {
        put_header(&out, &t);
        st = put_rows(&out, &t, g);
    }
    cfx_buf_release(&t.cell);
    return st ? st : cfx_out_finish(&out, err);
}
