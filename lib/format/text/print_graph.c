/*
 * print_graph -- str(graph), and one node's line of it.
 *
 * A graph is `graph():` and a line a node, each begun by a newline and four
 * blanks; there is no final newline. The superset adds to a line what torch's
 * text loses: quotes, ` meta = {...}`, the output's type (` -> T`), and its
 * name if that is not `output` (` as %name`).
 */
#include "format/print.h"

#include "graph/provenance.h"

const char *cfx_print__target(const cfx_node *n)
{
    const char *t = n->target->text;
    bool private = n->op == CFX_CALL_FUNCTION && *t == '_' &&
                   !strncmp(t, "_operator.", 10);
    return private ? t + 1 : t;
}

cfx_value cfx_print__meta_value(const cfx_node *n)
{
    static const char *const keys[] = {"val", "tensor_meta", "example_value"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        cfx_value v = cfx_node_meta(n, keys[i]);
        if (v.kind != CFX_ABSENT)
            return v;
    }
    return CFX_NOTHING;
}

const char *const cfx_print__shape_kinds[] = {"Tensor", "tuple", "list",
                                              "dict", "int"};

static const char *kind_of_shape(cfx_value v)
{
    switch ((cfx_kind)v.kind) {
    case CFX_TENSOR: return cfx_print__shape_kinds[0];
    case CFX_TUPLE: return cfx_print__shape_kinds[1];
    case CFX_LIST: return cfx_print__shape_kinds[2];
    case CFX_DICT: return cfx_print__shape_kinds[3];
    case CFX_SYMINT: return cfx_print__shape_kinds[4];
    default: return NULL;
    }
}

/* The type's text, if a node has one. */
static const cfx_string *type_of(const cfx_node *n)
{
    if (!n->type || (n->op == CFX_PLACEHOLDER && !n->type->len))
        return NULL;
    return n->type;
}

/* A type that could be read as the prefix of a shape is quoted. */
static void print_own_type(cfx_out *o, const cfx_string *type, bool lossless,
                           bool shape)
{
    bool quoted = false;
    for (size_t i = 0; shape && i < CFX_SHAPE_KINDS; i++)
        quoted |= !strcmp(type->text, cfx_print__shape_kinds[i]);
    if (quoted)
        cfx_print__quoted(o, type->text, type->len);
    else
        cfx_print__word(o, type->text, "#=\n", lossless);
}

/* A shape in double quotes. */
static void print_annotation(const cfx_values *v, const cfx_node *n,
                             cfx_value shape)
{
    cfx_out *o = v->out, inner;
    cfx_buf text;
    cfx_buf_init(&text, cfx_graph_context(n->graph));
    cfx_out_init(&inner, cfx_sink_buf(&text));
    cfx_out__shape(&inner, shape, true, v->err);
    cfx_out_fail(o, cfx_out_finish(&inner, v->err));
    cfx_out_putc(o, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '"' || text.s[i] == '\\')
            cfx_out_putc(o, '\\');
        cfx_out_putc(o, text.s[i]);
    }
    cfx_out_putc(o, '"');
    cfx_buf_release(&text);
}

/* The superset annotates inputs as the file declares them, with `meta` every node
 * of which something is known, and keeps types; PyTorch annotates calls that
 * give one tensor, and has no type then. */
static void print_type(const cfx_values *v, const cfx_node *n, bool meta)
{
    cfx_out *o = v->out;
    bool lossless = v->style == CFX_STYLE_LOSSLESS;
    const cfx_string *type = type_of(n);
    cfx_value shape = meta       ? cfx_print__meta_value(n)
                      : lossless ? cfx_node_declared(n)
                                 : CFX_NOTHING;
    const char *kind = kind_of_shape(shape);
    bool call = cfx_node_is_call(n);
    if (kind && lossless) {
        if (type)
            print_own_type(o, type, lossless, true);
        else
            cfx_out_puts(o, kind);
        cfx_out_putc(o, ' ');
        print_annotation(v, n, shape);
    } else if (call && shape.kind == CFX_TENSOR) {
        cfx_out_puts(o, "Tensor \"");
        cfx_print__type(o, shape.u.tensor, true);
        cfx_out_putc(o, '"');
    } else if (type) {
        print_own_type(o, type, lossless, false);
        cfx_out_putc(o, ' ');
    }
}

static void print_key(const cfx_values *v, const cfx_string *key)
{
    bool plain = key->len && !(key->text[0] >= '0' && key->text[0] <= '9');
    for (uint32_t i = 0; i < key->len; i++)
        plain =
            plain && key->text[i] &&
            strchr(
                "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                key->text[i]);
    if (plain || v->style != CFX_STYLE_LOSSLESS)
        cfx_out_add(v->out, key->text, key->len);
    else
        cfx_print__quoted(v->out, key->text, key->len);
}

/* `(args = (...), kwargs = {...})`; names in kwargs are bare in all styles. */
static void print_call(const cfx_values *v, const cfx_node *n)
{
    cfx_out *o = v->out;
    cfx_out_puts(o, "(args = (");
    cfx_print__items(v, n->args, n->nargs);
    cfx_out_puts(o, n->nargs == 1 ? ",), kwargs = {" : "), kwargs = {");
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        if (i)
            cfx_out_puts(o, ", ");
        print_key(v, n->kwargs[2 * i].u.str);
        cfx_out_puts(o, ": ");
        cfx_out__value(v, n->kwargs[2 * i + 1]);
    }
    cfx_out_puts(o, "})");
}

static void print_default(const cfx_values *v, const cfx_node *n)
{
    cfx_values str = *v;
    if (!n->nargs)
        return;
    if (v->style != CFX_STYLE_LOSSLESS)
        str.style = CFX_STYLE_STR;
    cfx_out_puts(v->out, "(default=");
    cfx_out__value(&str, n->args[0]);
    cfx_out_putc(v->out, ')');
}

static void print_output(const cfx_values *v, const cfx_node *n)
{
    cfx_values str = *v;
    bool lossless = v->style == CFX_STYLE_LOSSLESS;
    if (!lossless)
        str.style = CFX_STYLE_STR;
    cfx_out_puts(v->out, "return ");
    cfx_out__value(&str, n->nargs ? n->args[0] : cfx_none());
    if (lossless && n->type) {
        cfx_out_puts(v->out, " -> ");
        cfx_print__quoted(v->out, n->type->text, n->type->len);
    }
    if (lossless && strcmp(n->name, "output")) {
        cfx_out_puts(v->out, " as %");
        cfx_out_puts(v->out, n->name);
    }
}

/* Shape propagation can restore "tensor_meta" and the "val" of a call, and that of
 * an input is its annotation: they are not user meta. With a shape in the text,
 * `type` is redundant. */
static bool is_derived(cfx_value key, cfx_value v, bool annotated)
{
    return !strcmp(key.u.str->text, "tensor_meta") ||
           (!strcmp(key.u.str->text, "val") &&
            (v.kind == CFX_TENSOR || v.kind == CFX_SYMINT)) ||
           (annotated && !strcmp(key.u.str->text, "type"));
}

bool cfx_graph_has_user_meta(const cfx_graph *g)
{
    static const char *const shapes[] = {"val", "tensor_meta", "type",
                                         "example_value"};
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        const cfx_seq *d = n->meta.kind == CFX_DICT ? n->meta.u.seq : NULL;
        if (cfx_node_declared(n).kind)
            return true;
        for (uint32_t i = 0; d && i + 1 < d->len; i += 2) {
            const char *key = d->item[i].u.str->text;
            bool known = cfx_meta__is_provenance(key);
            for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++)
                known = known || !strcmp(key, shapes[k]);
            if (!known)
                return true;
        }
    }
    return false;
}

static void print_meta(const cfx_values *v, const cfx_node *n, bool annotated)
{
    cfx_values plain = *v;
    const cfx_seq *d = n->meta.kind == CFX_DICT ? n->meta.u.seq : NULL;
    bool any = false;
    plain.tensor = NULL;
    for (uint32_t i = 0; d && i + 1 < d->len; i += 2) {
        if (is_derived(d->item[i], d->item[i + 1], annotated))
            continue;
        cfx_out_puts(v->out, any ? ", " : " meta = {");
        any = true;
        cfx_out__value(&plain, d->item[i]);
        cfx_out_puts(v->out, ": ");
        cfx_out__value(&plain, d->item[i + 1]);
    }
    if (any)
        cfx_out_putc(v->out, '}');
}

static void print_body(const cfx_values *v, const cfx_node *n)
{
    bool lossless = v->style == CFX_STYLE_LOSSLESS;
    cfx_out_puts(v->out, cfx_opcode_names[n->op]);
    cfx_out_puts(v->out, "[target=");
    cfx_print__word(v->out, lossless ? n->target->text : cfx_print__target(n),
                    "]", lossless);
    cfx_out_putc(v->out, ']');
    if (n->op == CFX_PLACEHOLDER && n->nargs < 2 && !n->nkwargs)
        print_default(v, n);
    else if (n->op != CFX_PLACEHOLDER && n->op != CFX_GET_ATTR)
        print_call(v, n);
    else if (lossless && (n->nargs || n->nkwargs))
        print_call(v, n);
}

void cfx_out__node(const cfx_values *v, const cfx_node *n, bool meta)
{
    bool lossless = v->style == CFX_STYLE_LOSSLESS;
    if (n->op == CFX_OUTPUT) {
        print_output(v, n);
    } else {
        cfx_out_putc(v->out, '%');
        cfx_out_puts(v->out, n->name);
        cfx_out_puts(v->out, " : ");
        print_type(v, n, meta);
        cfx_out_puts(v->out, "[num_users=");
        cfx_out_int(v->out, n->nusers);
        cfx_out_puts(v->out, "] = ");
        print_body(v, n);
    }
    if (lossless)
        print_meta(v, n, meta);
}

void cfx_out__graph(const cfx_values *v, const cfx_graph *g, bool meta)
{
    bool output = false;
    cfx_out_puts(v->out, "():");
    for (const cfx_node *n = cfx_graph_first(g); n && !v->out->status;
         n = cfx_node_next(n)) {
        cfx_out_puts(v->out, "\n    ");
        cfx_out__node(v, n, meta);
        output |= n->op == CFX_OUTPUT;
    }
    if (v->style == CFX_STYLE_LOSSLESS && !output)
        cfx_out_puts(v->out, "\n    pass");
}

cfx_status cfx_print_graph(cfx_sink to, const cfx_graph *g, bool meta,
                           cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_out_puts(&out, "graph");
    cfx_out__graph(
        &(cfx_values){.out = &out, .style = CFX_STYLE_ARGUMENT, .err = err}, g,
        meta);
    return cfx_out_finish(&out, err);
}

cfx_status cfx_print_node(cfx_sink to, const cfx_node *n, bool meta,
                          cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_out__node(
        &(cfx_values){.out = &out, .style = CFX_STYLE_ARGUMENT, .err = err}, n,
        meta);
    return cfx_out_finish(&out, err);
}
