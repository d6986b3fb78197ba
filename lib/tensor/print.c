/*
 * print -- a tensor as PyTorch prints it.
 *
 * All numbers have one width and one style, which depend on the visible
 * numbers: integers with ".", 4 digits, or exponents for a wide range. Beyond
 * 1000 elements only the first and last 3 of each axis are visible. Lines
 * break at 80 columns. The two parts of complex numbers have a width and a
 * style each.
 */
#include <cfx/tensor.h>

#include <math.h>
#include <stdio.h>

#include "base/util.h"
#include "dim/dim_text.h"

enum { DIGITS = 4, EDGE = 3, THRESHOLD = 1000, COLUMNS = 80 };

typedef enum number_style {
    WHOLE,
    FIXED,
    SCIENTIFIC,
    INTEGER,
    TRUTH
} number_style;

typedef struct number_format {
    number_style style;
    int width; /* of a number */
    /* Over the visible numbers that are finite and not 0: */
    double least, most;
    bool whole; /* none has a fraction */
    bool any;
} number_format;

typedef struct printer {
    const cfx_tensor *t;
    cfx_buf *buf;
    bool cut; /* too many elements: show the edges */
    bool complex;
    int part; /* that is looked at: 1 is the imaginary one */
    number_format format[2];
} printer;

enum { NUMBER = 64 };

/* Replace the locale's decimal point: the only other character. */
static void mend_point(char *s)
{
    char *from = s + strspn(s, "-+0123456789e"), *to = from;

    if (!*from)
        return;
    *to++ = '.';
    from += strcspn(from, "-+0123456789e");
    memmove(to, from, strlen(from) + 1);
}

static void format_double(char *s, number_style style, double x)
{
    if (isnan(x)) {
        strcpy(s, "nan");
    } else if (isinf(x)) {
        strcpy(s, x < 0 ? "-inf" : "inf");
    } else if (style == SCIENTIFIC) {
        snprintf(s, NUMBER, "%.*e", DIGITS, x);
        mend_point(s);
    } else if (style == FIXED) {
        snprintf(s, NUMBER, "%.*f", DIGITS, x);
        mend_point(s);
    } else {
        snprintf(s, NUMBER, "%.0f.", x);
    }
}

static double part_of(const printer *p, const char *at)
{
    double part[2];

    cfx_element_complex((cfx_dtype)p->t->dtype, at, part);
    return part[p->part];
}

static void format_element(char *s, const printer *p, const char *at)
{
    cfx_dtype dtype = (cfx_dtype)p->t->dtype;
    number_style style = p->format[p->part].style;

    if (style == INTEGER)
        snprintf(s, NUMBER, dtype == CFX_U64 ? "%llu" : "%lld",
                 (long long)cfx_element_int(dtype, at));
    else if (style == TRUTH)
        strcpy(s, cfx_element_int(dtype, at) ? "True" : "False");
    else
        format_double(s, style, part_of(p, at));
}

/* ---- Properties of the visible numbers ---- */

static void measure_range(printer *p, const char *at)
{
    double x = part_of(p, at), size = fabs(x);
    number_format *f = &p->format[p->part];

    if (!isfinite(x) || x == 0)
        return;
    if (!f->any || size < f->least)
        f->least = size;
    if (!f->any || size > f->most)
        f->most = size;
    f->any = true;
    if (x != floor(x))
        f->whole = false;
}

/* Infinity, NaN and 0 do not count among floats. */
static void measure_width(printer *p, const char *at)
{
    number_format *f = &p->format[p->part];
    char s[NUMBER];

    if (f->style != TRUTH && f->style != INTEGER) {
        double x = part_of(p, at);
        if (!isfinite(x) || x == 0)
            return;
    }
    format_element(s, p, at);
    if ((int)strlen(s) > f->width)
        f->width = (int)strlen(s);
}

/* The next visible index after i along an axis of n. */
static int64_t next(const printer *p, int64_t i, int64_t n)
{
    return p->cut && n > 2 * EDGE && i == EDGE - 1 ? n - EDGE : i + 1;
}

static const char *step(const printer *p, int axis, const char *at, int64_t i)
{
    cfx_dtype dtype = (cfx_dtype)p->t->dtype;

    return at +
           i * cfx_tensor_stride(p->t, axis) * (int64_t)cfx_dtype_size(dtype);
}

static void each_seen(printer *p, int axis, const char *at,
                      void (*fn)(printer *p, const char *at))
{
    if (axis == p->t->rank) {
        fn(p, at);
        return;
    }
    int64_t n = cfx_tensor_size(p->t, axis);
    for (int64_t i = 0; i < n; i = next(p, i, n))
        each_seen(p, axis + 1, step(p, axis, at, i), fn);
}

static void choose_style(printer *p, int part)
{
    cfx_dtype dtype = (cfx_dtype)p->t->dtype;
    number_format *f = &p->format[part];

    p->part = part;
    f->width = 1;
    f->whole = true;
    if (cfx_dtypes[dtype].category < CFX_CAT_FLOAT) {
        f->style = dtype == CFX_BOOL ? TRUTH : INTEGER;
    } else {
        each_seen(p, 0, p->t->data, measure_range);
        f->style = f->whole ? WHOLE : FIXED;
        if (f->any &&
            (f->most / f->least > 1000 || f->most > 1e8 || f->least < 1e-4))
            f->style = SCIENTIFIC;
    }
    each_seen(p, 0, p->t->data, measure_width);
}

/* ---- The text ---- */

static void put_number(printer *p, const char *at)
{
    char s[NUMBER];

    p->part = 0;
    format_element(s, p, at);
    int len = (int)strlen(s);
    if (len < p->format[0].width)
        cfx_buf_repeat(p->buf, ' ', (size_t)(p->format[0].width - len));
    cfx_buf_add(p->buf, s, (size_t)len);
    if (!p->complex)
        return;
    p->part = 1;
    format_element(s, p, at);
    if (*s != '-')
        cfx_buf_putc(p->buf, '+');
    cfx_buf_puts(p->buf, s);
    cfx_buf_putc(p->buf, 'j');
}

static void put_vector(printer *p, int axis, const char *at, int indent)
{
    int64_t n = cfx_tensor_size(p->t, axis), shown = 0;
    int more = p->complex ? p->format[1].width + 1 : 0;
    int per_line = (COLUMNS - indent) / (p->format[0].width + more + 2);
    bool cut = p->cut && n > 2 * EDGE;

    if (per_line < 1)
        per_line = 1;
    cfx_buf_putc(p->buf, '[');
    for (int64_t i = 0; i < n; shown++) {
        if (shown && shown % per_line == 0) {
            cfx_buf_puts(p->buf, ",\n");
            cfx_buf_repeat(p->buf, ' ', (size_t)indent + 1);
        } else if (shown) {
            cfx_buf_puts(p->buf, ", ");
        }
        if (cut && shown == EDGE) {
            cfx_buf_puts(p->buf, " ...");
            i = n - EDGE;
            continue;
        }
        put_number(p, step(p, axis, at, i++));
    }
    cfx_buf_putc(p->buf, ']');
}

static void put_axis(printer *p, int axis, const char *at, int indent)
{
    int below = p->t->rank - axis;

    if (below == 0) {
        put_number(p, at);
        return;
    }
    if (below == 1) {
        put_vector(p, axis, at, indent);
        return;
    }
    int64_t n = cfx_tensor_size(p->t, axis);
    cfx_buf_putc(p->buf, '[');
    for (int64_t i = 0; i < n; i = next(p, i, n)) {
        if (i) {
            cfx_buf_putc(p->buf, ',');
            cfx_buf_repeat(p->buf, '\n', (size_t)below - 1);
            cfx_buf_repeat(p->buf, ' ', (size_t)indent + 1);
        }
        if (i && i == n - EDGE && p->cut && n > 2 * EDGE) {
            cfx_buf_puts(p->buf, "...,");
            cfx_buf_repeat(p->buf, '\n', (size_t)below - 1);
            cfx_buf_repeat(p->buf, ' ', (size_t)indent + 1);
        }
        put_axis(p, axis + 1, step(p, axis, at, i), indent + 1);
    }
    cfx_buf_putc(p->buf, ']');
}

static void put_size(cfx_buf *b, const cfx_tensor *t)
{
    cfx_buf_puts(b, "size=(");
    for (int i = 0; i < t->rank; i++) {
        if (i)
            cfx_buf_puts(b, ", ");
        cfx_buf_dim(b, t->shape[i]);
    }
    cfx_buf_puts(b, t->rank == 1 ? ",)" : ")");
}

/* Append `suffix`, on a new line if it does not fit after the last, of length
 * *used. PyTorch counts 2 columns too many on the first line. */
static void put_suffix(cfx_buf *b, const char *suffix, size_t *used)
{
    const size_t indent = strlen("tensor(");
    size_t len = strlen(suffix);

    if (*used + len + 2 > COLUMNS) {
        cfx_buf_puts(b, ",\n");
        cfx_buf_repeat(b, ' ', indent);
        *used = indent + len;
    } else {
        cfx_buf_puts(b, ", ");
        *used += len + 2;
    }
    cfx_buf_puts(b, suffix);
}

static size_t last_line(const cfx_buf *b)
{
    const char *s = cfx_buf_str(b), *newline = strrchr(s, '\n');

    return newline ? b->len - (size_t)(newline - s) + 1 : b->len + 2;
}

static void put_suffixes(cfx_buf *b, cfx_buf *size, const cfx_tensor *t,
                         bool empty)
{
    cfx_dtype dtype = (cfx_dtype)t->dtype;
    bool meta = cfx_tensor_is_meta(t);
    size_t used = last_line(b);
    char s[32];

    if (meta)
        put_suffix(b, "device='meta'", &used);
    if (meta || (empty && t->rank != 1)) {
        put_size(size, t);
        put_suffix(b, cfx_buf_str(size), &used);
    }
    /* int64, bool and complex64 need no suffix if numbers show them. */
    if (dtype == CFX_F32 ||
        (!meta && !empty &&
         (dtype == CFX_I64 || dtype == CFX_BOOL || dtype == CFX_C64)))
        return;
    snprintf(s, sizeof s, "dtype=torch.%s", cfx_dtypes[dtype].name);
    put_suffix(b, s, &used);
}

cfx_status cfx_tensor_print(char **out, size_t *size, const cfx_tensor *t,
                            cfx_error *err)
{
    cfx_buf buf, extents;
    bool meta = cfx_tensor_is_meta(t);
    int64_t numel = meta ? 0 : cfx_tensor_numel(t);
    cfx_status st = CFX_OK;

    *out = NULL;
    cfx_buf_init(&buf, t->ctx);
    cfx_buf_init(&extents, t->ctx);
    cfx_buf_puts(&buf, "tensor(");
    if (meta) {
        cfx_buf_puts(&buf, "...");
    } else if (!numel) {
        cfx_buf_puts(&buf, "[]");
    } else {
        printer p = {
            .t = t,
            .buf = &buf,
            .cut = numel > THRESHOLD,
            .complex = cfx_dtype_is_complex((cfx_dtype)t->dtype),
        };
        choose_style(&p, 0);
        if (p.complex)
            choose_style(&p, 1);
        put_axis(&p, 0, t->data, (int)strlen("tensor("));
    }
    put_suffixes(&buf, &extents, t, !numel);
    cfx_buf_putc(&buf, ')');

    if (!buf.failed && !extents.failed)
        *out = cfx_alloc(t->ctx, buf.len + 1);
    if (*out) {
        *size = buf.len + 1;
        memcpy(*out, buf.s, *size);
    } else {
        st = cfx_fail(err, CFX_ENOMEM, "no memory to print a tensor");
    }
    cfx_buf_release(&extents);
    cfx_buf_release(&buf);
    return st;
}

size_t cfx_tensor_format_type(const cfx_tensor *t, char *buf, size_t size)
{
    size_t len = 0;
    const char *abbr = cfx_dtypes[t->dtype].abbr;

#define LEFT (len < size ? size - len : 0)
#define AT (len < size ? buf + len : NULL)
    len += (size_t)snprintf(AT, LEFT, "%s[", abbr);
    for (int i = 0; i < t->rank; i++) {
        if (i)
            len += (size_t)snprintf(AT, LEFT, ", ");
        len += cfx_dim_format(t->shape[i], AT, LEFT);
    }
    len += (size_t)snprintf(AT, LEFT, "]");
#undef AT
#undef LEFT
    return len;
}
