/*
 * codegen_value -- print values as C expressions.
 *
 * Macros that count their arguments expand them twice, so they are only used
 * for flat lists. Nested aggregates are written with an explicit count.
 */
#define CFX_NO_PLACES
#include <math.h>

#include "interp/codegen/codegen_impl.h"

/* C11 compilers must accept string literals of up to 4095 bytes only. */
enum { MAX_LITERAL = 4000 };

static void value_at(cgen *c, cfx_value v, int depth);

/* ---- Strings ---- */

void cgen_literal(cgen *c, const char *s, size_t len)
{
    cfx_out_putc(c->out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char ch = (unsigned char)s[i];
        if (ch == '"' || ch == '\\' || ch == '?') {
            cfx_out_putc(c->out, '\\');
            cfx_out_putc(c->out, (char)ch);
        } else if (ch == '\n') {
            cfx_out_puts(c->out, "\\n");
        } else if (ch < ' ' || ch > '~') {
            cfx_out_putc(c->out, '\\');
            cfx_out_putc(c->out, (char)('0' + (ch >> 6)));
            cfx_out_putc(c->out, (char)('0' + (ch >> 3 & 7)));
            cfx_out_putc(c->out, (char)('0' + (ch & 7)));
        } else {
            cfx_out_putc(c->out, (char)ch);
        }
    }
    cfx_out_putc(c->out, '"');
}

static void put_bytes(cgen *c, const cfx_string *s)
{
    cfx_out_puts(c->out, "cfx_str_of(s, ");
    if (s->len <= MAX_LITERAL) {
        cgen_literal(c, s->text, s->len);
    } else {
        cfx_out_puts(c->out, "(const char[]){");
        for (uint32_t i = 0; i < s->len; i++) {
            cfx_out_puts(c->out, i ? ", " : "");
            cfx_out_int(c->out, (signed char)s->text[i]);
        }
        cfx_out_putc(c->out, '}');
    }
    cfx_out_puts(c->out, ", ");
    cfx_out_int(c->out, s->len);
    cfx_out_putc(c->out, ')');
}

static void put_str(cgen *c, const char *function, const cfx_string *s)
{
    if (s->len > MAX_LITERAL || memchr(s->text, '\0', s->len)) {
        if (strcmp(function, "cfx_str"))
            cgen_refuse(c, "a name of %u bytes has no C text", s->len);
        put_bytes(c, s);
        return;
    }
    cfx_out_puts(c->out, function);
    cfx_out_puts(c->out, "(s, ");
    cgen_literal(c, s->text, s->len);
    cfx_out_putc(c->out, ')');
}

/* ---- Numbers ---- */

static void put_integer(cgen *c, int64_t i)
{
    if (i == INT64_MIN)
        cfx_out_puts(c->out, "INT64_MIN"); /* has no literal */
    else
        cfx_out_int(c->out, i);
}

static void put_float(cgen *c, double f)
{
    if (isnan(f))
        cfx_out_puts(c->out, "NAN");
    else if (isinf(f))
        cfx_out_puts(c->out, f < 0 ? "-INFINITY" : "INFINITY");
    else
        cfx_out_float(c->out, f);
}

/* ---- Constants ---- */

static const char *const dtypes[] = {
#define DTYPE(constant, ...) "CFX_" #constant,
#include <cfx/dtype.def>
#undef DTYPE
};

void cgen_dtype(cgen *c, cfx_dtype t)
{
    cfx_out_puts(c->out, dtypes[t]);
}

static const char *format_name(cfx_memory_format f)
{
    switch (f) {
    case CFX_CONTIGUOUS_FORMAT: return "CFX_CONTIGUOUS_FORMAT";
    case CFX_CHANNELS_LAST: return "CFX_CHANNELS_LAST";
    case CFX_CHANNELS_LAST_3D: return "CFX_CHANNELS_LAST_3D";
    default: return "CFX_PRESERVE_FORMAT";
    }
}

/* ---- Aggregates ---- */

static bool is_flat(const cfx_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].kind == CFX_TUPLE || v[i].kind == CFX_LIST ||
            v[i].kind == CFX_DICT)
            return false;
    return true;
}

static void values_at(cgen *c, const cfx_value *v, size_t n, int depth)
{
    for (size_t i = 0; i < n; i++) {
        cfx_out_puts(c->out, i ? ", " : "");
        value_at(c, v[i], depth);
    }
}

static void put_seq(cgen *c, cfx_value v, int depth)
{
    const cfx_seq *q = v.u.seq;
    bool list = v.kind == CFX_LIST, tuple = v.kind == CFX_TUPLE;
    if (q->type) {
        cgen_refuse(c, "a %s has no C text", q->type->name);
    } else if (!q->len) {
        cfx_out_puts(c->out, list    ? "cfx_list_of(s, CFX_LIST, 0, NULL)"
                             : tuple ? "cfx_list_of(s, CFX_TUPLE, 0, NULL)"
                                     : "cfx_list_of(s, CFX_DICT, 0, NULL)");
    } else if ((list || tuple) && is_flat(q->item, q->len)) {
        cfx_out_puts(c->out, list ? "cfx_list(s, " : "cfx_tuple(s, ");
        values_at(c, q->item, q->len, depth);
        cfx_out_putc(c->out, ')');
    } else {
        cfx_out_puts(c->out, list    ? "cfx_list_of(s, CFX_LIST, "
                             : tuple ? "cfx_list_of(s, CFX_TUPLE, "
                                     : "cfx_list_of(s, CFX_DICT, ");
        cfx_out_int(c->out, q->len);
        cfx_out_puts(c->out, ", (cfx_value[]){");
        values_at(c, q->item, q->len, depth);
        cfx_out_puts(c->out, "})");
    }
}

static void put_parts(cgen *c, cfx_value v, int depth)
{
    const cfx_value *item = v.u.seq->item;
    cfx_out_puts(c->out, v.kind == CFX_SLICE   ? "cfx_slice_of(s, "
                         : v.kind == CFX_RANGE ? "cfx_range_of(s, "
                                               : "cfx_complex_of(s, ");
    for (uint32_t i = 0; i < v.u.seq->len; i++) {
        cfx_out_puts(c->out, i ? ", " : "");
        if (v.kind == CFX_SLICE)
            value_at(c, item[i], depth);
        else if (v.kind == CFX_COMPLEX)
            put_float(c, item[i].u.f);
        else if (item[i].kind == CFX_INT)
            put_integer(c, item[i].u.i);
        else
            cgen_refuse(c, "a range of other than integers has no C text");
    }
    cfx_out_putc(c->out, ')');
}

/* ---- Any value ---- */

static void put_constant(cgen *c, cfx_value v)
{
    switch (v.kind) {
    case CFX_BOOL_VALUE:
        cfx_out_puts(c->out, v.u.i ? "cfx_bool(true)" : "cfx_bool(false)");
        break;
    case CFX_INT:
        cfx_out_puts(c->out, "cfx_int(");
        put_integer(c, v.u.i);
        cfx_out_putc(c->out, ')');
        break;
    case CFX_FLOAT:
        cfx_out_puts(c->out, "cfx_float(");
        put_float(c, v.u.f);
        cfx_out_putc(c->out, ')');
        break;
    case CFX_DTYPE:
        cfx_out_puts(c->out, "cfx_value_of_dtype(");
        cgen_dtype(c, v.u.dtype);
        cfx_out_putc(c->out, ')');
        break;
    case CFX_MEMORY_FORMAT:
        cfx_out_puts(c->out, "cfx_value_of_format(");
        cfx_out_puts(c->out, format_name(v.u.format));
        cfx_out_putc(c->out, ')');
        break;
    case CFX_ELLIPSIS: cfx_out_puts(c->out, "cfx_ellipsis()"); break;
    default: cfx_out_puts(c->out, "cfx_none()");
    }
}

static void value_at(cgen *c, cfx_value v, int depth)
{
    if (depth > CFX_MAX_DEPTH) {
        cgen_refuse(c, "a value nests deeper than %d", CFX_MAX_DEPTH);
        return;
    }
    switch (v.kind) {
    case CFX_NODE: cfx_out_puts(c->out, c->name[v.u.node->id]); break;
    case CFX_STR: put_str(c, "cfx_str", v.u.str); break;
    case CFX_DEVICE: put_str(c, "cfx_device_of", v.u.str); break;
    case CFX_LAYOUT: put_str(c, "cfx_layout_of", v.u.str); break;
    case CFX_NAME: put_str(c, "cfx_bare_name", v.u.str); break;
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_COMPLEX: put_parts(c, v, depth + 1); break;
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT: put_seq(c, v, depth + 1); break;
    case CFX_TENSOR:
    case CFX_MODULE:
    case CFX_SYMINT:
        cgen_refuse(c, "a %s has no C text", cfx_kind_name(v.kind));
        break;
    default: put_constant(c, v);
    }
}

void cgen_value(cgen *c, cfx_value v)
{
    value_at(c, v, 0);
}

void cgen_values(cgen *c, const cfx_value *v, size_t n)
{
    values_at(c, v, n, 0);
}

void cgen_args(cgen *c, const cfx_value *v, size_t n, bool kwargs)
{
    if (!n) {
        cfx_out_puts(c->out, kwargs ? "(cfx_args){NULL, 0" : "CFX_NO_ARGS");
    } else {
        cfx_out_puts(c->out, kwargs ? "(cfx_args){CFX_ITEMS(" : "CFX_ARGS(");
        values_at(c, v, n, 0);
        cfx_out_putc(c->out, ')');
    }
    if (kwargs)
        cfx_out_puts(c->out, ", CFX_PAIRS(");
}
