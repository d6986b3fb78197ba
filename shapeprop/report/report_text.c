/*
 * report_text -- text and numbers in SVG, independent of the locale.
 */
#include "shapeprop/report/report_plot.h"

#include <math.h>

/* U+FFFE and U+FFFF, in UTF-8; XML allows neither. */
static bool is_no_character(const char *s, size_t len)
{
    return len >= 3 &&
           (!memcmp(s, "\xef\xbf\xbe", 3) || !memcmp(s, "\xef\xbf\xbf", 3));
}

void cfx_report__put_text(cfx_out *o, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (is_no_character(s + i, len - i)) {
            cfx_out_putc(o, '?');
            i += 2;
        } else if (c < ' ' || c == 127) {
            cfx_out_putc(o, '?');
        } else if (c == '&' || c == '<' || c == '>' || c == '"') {
            cfx_out_puts(o, c == '&'   ? "&amp;"
                            : c == '<' ? "&lt;"
                            : c == '>' ? "&gt;"
                                       : "&quot;");
        } else {
            cfx_out_putc(o, s[i]);
        }
    }
}

const char *cfx_report__short_name(const char *model)
{
    const char *slash = strrchr(model, '/');
    return slash && slash[1] ? slash + 1 : model;
}

void cfx_plot__string(cfx_out *o, const char *s)
{
    cfx_report__put_text(o, s, strlen(s));
}

void cfx_plot__decimals(cfx_out *o, double v, int decimals)
{
    int64_t unit = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
    int64_t n = (int64_t)(v * (double)unit + (v < 0 ? -0.5 : 0.5));
    if (n < 0)
        cfx_out_putc(o, '-');
    n = n < 0 ? -n : n;
    cfx_out_int(o, n / unit);
    n %= unit;
    if (n)
        cfx_out_putc(o, '.');
    for (unit /= 10; n; unit /= 10) {
        cfx_out_int(o, n / unit);
        n %= unit;
    }
}

/* Print 1.25e30, for numbers without a prefix. */
static void put_power(cfx_out *o, double v)
{
    int power = (int)floor(log10(v));
    /* Divide in two steps, since the power may overflow. */
    double digits = v / pow(10, power / 2) / pow(10, power - power / 2);
    if (digits >= 9.995) {
        digits = 1;
        power++;
    }
    cfx_plot__decimals(o, digits, 2);
    cfx_out_putc(o, 'e');
    cfx_out_int(o, power);
}

void cfx_report__put_quantity(cfx_out *o, double v, const char *unit)
{
    static const char *const prefixes[] = {"p", "n", "\u00b5", "m", "", "k",
                                           "M", "G", "T",      "P", "E"};
    int i = 4, last = strcmp(unit, "s") ? 10 : 4;
    if (v > 0 && (v < 1e-15 || v >= (last > 4 ? 1e21 : 1e6))) {
        put_power(o, v);
    } else {
        for (; v >= 999.5 && i < last; i++)
            v /= 1000;
        for (; v < 0.9995 && v > 0 && i > 0; i--)
            v *= 1000;
        /* Three digits, and at least the integer part. */
        cfx_plot__decimals(o, v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
    }
    cfx_out_puts(o, "\u00a0");
    cfx_out_puts(o, prefixes[i]);
    cfx_out_puts(o, unit);
}

void cfx_plot__attr(cfx_out *o, const char *name, double v)
{
    cfx_out_putc(o, ' ');
    cfx_out_puts(o, name);
    cfx_out_puts(o, "=\"");
    cfx_plot__decimals(o, v, 1);
    cfx_out_putc(o, '"');
}

void cfx_plot__point(cfx_out *o, const char *before, double x, double y)
{
    cfx_out_puts(o, before);
    cfx_plot__decimals(o, x, 1);
    cfx_out_putc(o, ' ');
    cfx_plot__decimals(o, y, 1);
}

void cfx_plot__begin_text(cfx_out *o, const char *class, double x, double y,
                          const char *anchor)
{
    cfx_out_puts(o, "<text class=\"");
    cfx_out_puts(o, class);
    cfx_out_putc(o, '"');
    cfx_plot__attr(o, "x", x);
    cfx_plot__attr(o, "y", y);
    if (anchor) {
        cfx_out_puts(o, " text-anchor=\"");
        cfx_out_puts(o, anchor);
        cfx_out_putc(o, '"');
    }
    cfx_out_putc(o, '>');
}
