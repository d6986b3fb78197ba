/*
 * print_value -- values as Python and torch.fx write them.
 *
 * One walk serves all styles; they differ in strings, nodes, devices, complex
 * numbers and in what they refuse. Aggregates nest at most CFX_MAX_DEPTH deep,
 * so the walk recurses.
 */
#include <math.h>

#include "base/unicode.h"
#include "dim/dim_text.h"
#include "format/print.h"

static const char *const format_names[] = {
    "torch.contiguous_format", "torch.preserve_format", "torch.channels_last",
    "torch.channels_last_3d"};

static void print_at(const cfx_values *p, cfx_value v, int style, int depth);

static void refuse(const cfx_values *p, cfx_value v)
{
    cfx_fail(p->err, CFX_EUNSUPPORTED, "a %s has no text form",
             cfx_kind_name(v.kind));
    cfx_out_fail(p->out, CFX_EUNSUPPORTED);
}

/* ---- Strings ---- */

static void escape(cfx_out *o, uint32_t c)
{
    char text[CFX_ESCAPE];
    cfx_out_add(o, text, cfx_unicode_escape(text, c));
}

static void print_char(cfx_out *o, uint32_t c, const char *s, size_t n,
                       char quote)
{
    if (c == (unsigned char)quote || c == '\\') {
        cfx_out_putc(o, '\\');
        cfx_out_putc(o, (char)c);
    } else if (cfx_unicode_printable(c)) {
        cfx_out_add(o, s, n);
    } else {
        escape(o, c);
    }
}

void cfx_out__visible(cfx_out *o, const char *s, size_t len)
{
    char text[CFX_ESCAPE];
    for (size_t i = 0, used; i < len; i += used)
        cfx_out_add(o, text, cfx_utf8_visible(text, s + i, len - i, &used));
}

/* Bytes that are no UTF-8 become the surrogates by which Python, too, keeps
 * them: 0xff is '\udcff'. */
void cfx_print__quoted(cfx_out *o, const char *s, size_t len)
{
    char quote = memchr(s, '\'', len) && !memchr(s, '"', len) ? '"' : '\'';
    cfx_out_putc(o, quote);
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = cfx_utf8_decode(&c, s + i, len - i);
        if (n)
            print_char(o, c, s + i, n, quote);
        else
            escape(o, 0xdc00 | (unsigned char)s[i]);
        i += n ? n : 1;
    }
    cfx_out_putc(o, quote);
}

void cfx_print__word(cfx_out *o, const char *s, const char *stop,
                     bool lossless)
{
    bool plain = *s != '\0';
    for (const char *c = s; lossless && *c; c++)
        plain = plain && *c != '\'' && *c != '"' && *c != '\\' &&
                !strchr(stop, *c);
    if (plain || !lossless)
        cfx_out_puts(o, s);
    else
        cfx_print__quoted(o, s, strlen(s));
}

/* ---- Atoms ---- */

static void print_device(cfx_out *o, const cfx_string *s, int style)
{
    const char *colon = strchr(s->text, ':');
    if (style == CFX_STYLE_ARGUMENT || style == CFX_STYLE_STR) {
        cfx_out__visible(o, s->text, s->len);
        return;
    }
    if (colon && (!colon[1] || colon[1 + strspn(colon + 1, "0123456789")]))
        colon = NULL;
    if (style == CFX_STYLE_LOSSLESS) {
        cfx_out_puts(o, "device(");
        cfx_print__quoted(o, s->text, s->len);
    } else {
        cfx_out_puts(o, "device(type=");
        cfx_print__quoted(o, s->text,
                          colon ? (size_t)(colon - s->text) : s->len);
        if (colon) {
            cfx_out_puts(o, ", index=");
            cfx_out_puts(o, colon + 1);
        }
    }
    cfx_out_putc(o, ')');
}

/* The half of a complex number: a float without a final ".0". */
static void print_half(cfx_out *o, double f, bool sign)
{
    char text[32];
    cfx_float_repr(text, f);
    size_t n = strlen(text);
    if (n > 2 && !strcmp(text + n - 2, ".0"))
        text[n - 2] = '\0';
    if (sign && text[0] != '-')
        cfx_out_putc(o, '+');
    cfx_out_puts(o, text);
}

static void print_complex(cfx_out *o, double re, double im, int style)
{
    bool odd = re == 0 || im == 0 || !isfinite(re) || !isfinite(im);
    if (style == CFX_STYLE_LOSSLESS || (style == CFX_STYLE_CODE && odd)) {
        cfx_out_puts(o, "complex(");
        cfx_out_float(o, re);
        cfx_out_puts(o, ", ");
        cfx_out_float(o, im);
        cfx_out_putc(o, ')');
    } else if (re == 0 && !signbit(re)) {
        print_half(o, im, false);
        cfx_out_putc(o, 'j');
    } else {
        cfx_out_putc(o, '(');
        print_half(o, re, false);
        print_half(o, im, true);
        cfx_out_puts(o, "j)");
    }
}

void cfx_print__dim(cfx_out *o, cfx_dim d)
{
    char text[512];
    size_t at = 0, left;
    do {
        left = cfx_dim__format_from(d, at, text, sizeof(text));
        size_t n = left < sizeof(text) ? left : sizeof(text) - 1;
        cfx_out_add(o, text, n);
        at += n;
    } while (left >= sizeof(text));
}

void cfx_print__extents(cfx_out *o, int rank, const cfx_dim *d)
{
    cfx_out_putc(o, '[');
    for (int i = 0; i < rank; i++) {
        if (i)
            cfx_out_puts(o, ", ");
        if (cfx_dim_is_int(d[i]))
            cfx_out_int(o, cfx_dim_value(d[i]));
        else
            cfx_print__dim(o, d[i]);
    }
    cfx_out_putc(o, ']');
}

void cfx_print__type(cfx_out *o, const cfx_tensor *t, bool stride)
{
    cfx_out_puts(o, cfx_dtypes[t->dtype].abbr);
    cfx_print__extents(o, t->rank, t->shape);
    if (stride) {
        cfx_print__extents(o, t->rank, t->stride);
        cfx_out_puts(o, "cpu");
    }
}

static void print_meta_tensor(cfx_out *o, const cfx_tensor *t)
{
    cfx_out_puts(o, "tensor(..., device='meta', size=(");
    for (int i = 0; i < t->rank; i++) {
        if (i)
            cfx_out_puts(o, ", ");
        cfx_print__dim(o, t->shape[i]);
    }
    cfx_out_puts(o, t->rank == 1 ? ",)" : ")");
    if (t->dtype != CFX_F32 && t->dtype != CFX_I64 && t->dtype != CFX_BOOL) {
        cfx_out_puts(o, ", dtype=torch.");
        cfx_out_puts(o, cfx_dtypes[t->dtype].name);
    }
    cfx_out_putc(o, ')');
}

static void print_tensor(const cfx_values *p, cfx_value v, int style)
{
    const cfx_tensor *t = v.u.tensor;
    if (style == CFX_STYLE_LOSSLESS) {
        if (p->tensor)
            p->tensor(p->user, p->out, t);
        else
            refuse(p, v);
    } else if (style == CFX_STYLE_CODE) {
        cfx_out_puts(p->out, "torch.Tensor(size=");
        cfx_print__extents(p->out, t->rank, t->shape);
        cfx_out_puts(p->out, ", dtype=");
        cfx_out_puts(p->out, cfx_dtypes[t->dtype].name);
        cfx_out_putc(p->out, ')');
    } else if (cfx_tensor_is_meta(t)) {
        print_meta_tensor(p->out, t);
    } else {
        char *text;
        size_t size;
        cfx_status st = cfx_tensor_print(&text, &size, t, p->err);
        if (st) {
            cfx_out_fail(p->out, st);
            return;
        }
        cfx_out_puts(p->out, text);
        cfx_free(t->ctx, text, size);
    }
}

static void print_str(const cfx_values *p, cfx_value v, int style)
{
    const cfx_string *s = v.u.str;
    if (style == CFX_STYLE_ARGUMENT || style == CFX_STYLE_STR ||
        v.kind != CFX_STR)
        cfx_out__visible(p->out, s->text, s->len);
    else
        cfx_print__quoted(p->out, s->text, s->len);
}

static void print_node(const cfx_values *p, const cfx_node *n, int style)
{
    if (style == CFX_STYLE_ARGUMENT || style == CFX_STYLE_LOSSLESS)
        cfx_out_putc(p->out, '%');
    cfx_out_puts(p->out, p->node_name ? p->node_name(p->user, n) : n->name);
}

/* ---- Aggregates ---- */

/* str() of an aggregate has the repr() of its items. */
static int inner_style(int style)
{
    return style == CFX_STYLE_STR ? CFX_STYLE_REPR : style;
}

static void print_items(const cfx_values *p, const cfx_value *item, size_t n,
                        int style, int depth)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            cfx_out_puts(p->out, ", ");
        if (p->max_items && i == p->max_items) {
            cfx_out_puts(p->out, "...[total_len=");
            cfx_out_int(p->out, (int64_t)n);
            cfx_out_putc(p->out, ']');
            return;
        }
        print_at(p, item[i], style, depth);
    }
}

static void print_dict(const cfx_values *p, const cfx_seq *d, int style,
                       int depth)
{
    if (style == CFX_STYLE_CODE)
        style = CFX_STYLE_REPR;
    cfx_out_putc(p->out, '{');
    for (uint32_t i = 0; i + 1 < d->len; i += 2) {
        if (i)
            cfx_out_puts(p->out, ", ");
        print_at(p, d->item[i], style, depth);
        cfx_out_puts(p->out, ": ");
        print_at(p, d->item[i + 1], style, depth);
    }
    cfx_out_putc(p->out, '}');
}

static void print_named_tuple(const cfx_values *p, const cfx_seq *s, int style,
                              int depth)
{
    const char *field = s->type->fields;
    cfx_out_puts(p->out, s->type->name);
    cfx_out_putc(p->out, '(');
    for (uint32_t i = 0; i < s->len; i++) {
        size_t n = strcspn(field, " ");
        if (i)
            cfx_out_puts(p->out, ", ");
        if (style != CFX_STYLE_CODE) {
            cfx_out_add(p->out, field, n);
            cfx_out_putc(p->out, '=');
        }
        field += n + (field[n] == ' ');
        print_at(p, s->item[i], style, depth);
    }
    cfx_out_putc(p->out, ')');
}

static void print_tuple(const cfx_values *p, const cfx_seq *s, int style,
                        int depth)
{
    if (s->type && style != CFX_STYLE_ARGUMENT) {
        print_named_tuple(p, s, style, depth);
        return;
    }
    cfx_out_putc(p->out, '(');
    print_items(p, s->item, s->len, style, depth);
    cfx_out_puts(p->out, s->len == 1 ? ",)" : ")");
}

/* Inside slices and ranges torch.fx has the repr() of the parts. */
static void print_parts(const cfx_values *p, cfx_value v, int style, int depth)
{
    bool range = v.kind == CFX_RANGE;
    const cfx_seq *s = v.u.seq;
    uint32_t n = s->len;
    if (style == CFX_STYLE_ARGUMENT)
        style = CFX_STYLE_REPR;
    if (range && style != CFX_STYLE_LOSSLESS && n == 3 &&
        cfx_value_equal(s->item[2], cfx_int(1)))
        n = 2;
    cfx_out_puts(p->out, range ? "range(" : "slice(");
    print_items(p, s->item, n, style, depth);
    cfx_out_putc(p->out, ')');
}

static void print_seq(const cfx_values *p, cfx_value v, int style, int depth)
{
    if (depth >= CFX_MAX_DEPTH) {
        cfx_fail(p->err, CFX_EINVAL, "a value nests deeper than %d",
                 CFX_MAX_DEPTH);
        cfx_out_fail(p->out, CFX_EINVAL);
        return;
    }
    if (style == CFX_STYLE_LOSSLESS && v.u.seq->type) {
        refuse(p, v);
        return;
    }
    style = inner_style(style);
    switch (v.kind) {
    case CFX_TUPLE: print_tuple(p, v.u.seq, style, depth + 1); break;
    case CFX_LIST:
        cfx_out_putc(p->out, '[');
        print_items(p, v.u.seq->item, v.u.seq->len, style, depth + 1);
        cfx_out_putc(p->out, ']');
        break;
    case CFX_DICT: print_dict(p, v.u.seq, style, depth + 1); break;
    default: print_parts(p, v, style, depth + 1);
    }
}

/* Kinds whose text is the same in all styles. */
static void print_constant(const cfx_values *p, cfx_value v)
{
    switch (v.kind) {
    case CFX_BOOL_VALUE: cfx_out_puts(p->out, v.u.i ? "True" : "False"); break;
    case CFX_INT: cfx_out_int(p->out, v.u.i); break;
    case CFX_FLOAT: cfx_out_float(p->out, v.u.f); break;
    case CFX_DTYPE:
        cfx_out_puts(p->out, "torch.");
        cfx_out_puts(p->out, cfx_dtypes[v.u.dtype].name);
        break;
    case CFX_MEMORY_FORMAT:
        cfx_out_puts(p->out, format_names[v.u.format]);
        break;
    case CFX_LAYOUT: cfx_out_puts(p->out, v.u.str->text); break;
    case CFX_ELLIPSIS: cfx_out_puts(p->out, "Ellipsis"); break;
    default: cfx_out_puts(p->out, "None");
    }
}

/* Does torch.fx colour this value? Neither names nor brackets around them. */
static bool is_colored(const cfx_values *p, cfx_value v, int style)
{
    return p->colored && style == CFX_STYLE_CODE && v.kind != CFX_NODE &&
           v.kind != CFX_TENSOR && v.kind != CFX_TUPLE && v.kind != CFX_LIST &&
           v.kind != CFX_SLICE;
}

static void print_colored(const cfx_values *p, cfx_value v, int style,
                          int depth)
{
    cfx_values plain = *p;
    plain.colored = false;
    cfx_out_puts(p->out, "\033[34m");
    print_at(&plain, v, style, depth);
    cfx_out_puts(p->out, "\033[0m");
}

static void print_at(const cfx_values *p, cfx_value v, int style, int depth)
{
    if (is_colored(p, v, style)) {
        print_colored(p, v, style, depth);
        return;
    }
    switch (v.kind) {
    case CFX_STR:
    case CFX_NAME: print_str(p, v, style); break;
    case CFX_NODE: print_node(p, v.u.node, style); break;
    case CFX_DEVICE: print_device(p->out, v.u.str, style); break;
    case CFX_COMPLEX:
        print_complex(p->out, v.u.seq->item[0].u.f, v.u.seq->item[1].u.f,
                      style);
        break;
    case CFX_TENSOR: print_tensor(p, v, style); break;
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT:
    case CFX_SLICE:
    case CFX_RANGE: print_seq(p, v, style, depth); break;
    case CFX_SYMINT:
    case CFX_MODULE:
        if (style == CFX_STYLE_LOSSLESS)
            refuse(p, v);
        else if (v.kind == CFX_SYMINT)
            cfx_print__dim(p->out, v.u.dim);
        else
            cfx_out_puts(p->out, cfx_module_class_name(v.u.module));
        break;
    default: print_constant(p, v);
    }
}

void cfx_out__value(const cfx_values *p, cfx_value v)
{
    print_at(p, v, p->style, 0);
}

void cfx_print__items(const cfx_values *p, const cfx_value *item, size_t n)
{
    print_items(p, item, n, p->style, 0);
}

cfx_status cfx_print_value(cfx_sink to, cfx_value v, cfx_value_style style,
                           cfx_error *err)
{
    cfx_out out;
    cfx_values p = {.out = &out, .style = (int)style, .err = err};
    cfx_out_init(&out, to);
    cfx_out__value(&p, v);
    return cfx_out_finish(&out, err);
}

cfx_status cfx_print_tensor(cfx_sink to, const cfx_tensor *t, cfx_error *err)
{
    return cfx_print_value(to, cfx_value_of_tensor((cfx_tensor *)t),
                           CFX_STYLE_REPR, err);
}
