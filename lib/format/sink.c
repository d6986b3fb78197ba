/*
 * sink -- where printed text goes.
 *
 * Printers write many small pieces; a cfx_out gathers them in two kilobytes of
 * its own, so that a sink is called once for about thirty lines, and nothing
 * is allocated.
 */
#include "format/print.h"

static cfx_status write_file(void *user, const char *text, size_t len)
{
    return fwrite(text, 1, len, user) == len ? CFX_OK : CFX_EIO;
}

cfx_sink cfx_sink_file(FILE *f)
{
    return (cfx_sink){write_file, f};
}

static cfx_status write_buf(void *user, const char *text, size_t len)
{
    cfx_buf *b = user;
    cfx_buf_add(b, text, len);
    return b->failed ? CFX_ENOMEM : CFX_OK;
}

cfx_sink cfx_sink_buf(cfx_buf *b)
{
    return (cfx_sink){write_buf, b};
}

void cfx_out_init(cfx_out *o, cfx_sink to)
{
    o->to = to;
    o->status = CFX_OK;
    o->len = 0;
}

void cfx_out_fail(cfx_out *o, cfx_status status)
{
    if (!o->status)
        o->status = status;
}

static void flush(cfx_out *o)
{
    if (o->len && !o->status)
        o->status = o->to.write(o->to.user, o->text, o->len);
    o->len = 0;
}

void cfx_out_more(cfx_out *o, const char *s, size_t n)
{
    flush(o);
    if (n <= sizeof(o->text)) {
        memcpy(o->text, s, n);
        o->len = n;
    } else if (!o->status) {
        o->status = o->to.write(o->to.user, s, n);
    }
}

void cfx_out_repeat(cfx_out *o, char c, size_t n)
{
    while (n--)
        cfx_out_putc(o, c);
}

void cfx_out_digits(cfx_out *o, int64_t v)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        digits[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        digits[--at] = '-';
    cfx_out_add(o, digits + at, sizeof(digits) - at);
}

void cfx_out_float(cfx_out *o, double v)
{
    char text[32];
    cfx_float_repr(text, v);
    cfx_out_puts(o, text);
}

cfx_status cfx_out_finish(cfx_out *o, cfx_error *err)
{
    flush(o);
    switch (o->status) {
    case CFX_OK: return CFX_OK;
    case CFX_ENOMEM: return cfx_no_memory(err);
    case CFX_EIO: return cfx_fail(err, CFX_EIO, "the text cannot be written");
    default: return cfx_fail(err, o->status, "the text was refused");
    }
}
