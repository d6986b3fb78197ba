/*
 * number -- numbers as text, the same in every locale; checked sizes.
 *
 * A double is written as Python's repr writes it: by the fewest digits that
 * read back as the same value, and of those by the nearest to it.
 */
#define _GNU_SOURCE 1
#include "base/util.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

double cfx_strtod(const char *s, char **end)
{
    /* Cached by the C library, so that this allocates nothing. */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return strtod(s, end);
    double v = strtod_l(s, end, c);
    freelocale(c);
    return v;
}

/* Digits of a number: 0.d1d2d3... times ten to the power of `point`. */
typedef struct decimal {
    char digit[20];
    int len, point;
} decimal;

/* Round a positive number to `len` digits. */
static void round_to(decimal *d, double v, int len)
{
    char text[48];
    snprintf(text, sizeof(text), "%.*e", len - 1, v);
    d->len = 0;
    const char *p = text;
    /* Any other character is the locale's decimal point. */
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && d->len < len)
            d->digit[d->len++] = *p;
    d->digit[d->len] = '\0';
    d->point = (int)strtol(p + (*p == 'e'), NULL, 10) + 1;
}

static bool reads_back(const decimal *d, double v)
{
    char text[48];
    snprintf(text, sizeof(text), "%se%d", d->digit, d->point - d->len);
    return cfx_strtod(text, NULL) == v;
}

/* The next decimal with as many digits; false on a carry to one more. */
static bool next_up(decimal *d)
{
    int i = d->len - 1;
    while (i >= 0 && d->digit[i] == '9')
        d->digit[i--] = '0';
    if (i < 0)
        return false;
    d->digit[i]++;
    return true;
}

static void shortest(decimal *d, double v)
{
    /* Up to 15 digits the nearest decimal without trailing zeros is the
     * shortest. Subnormal numbers have fewer digits. */
    for (int len = v < DBL_MIN ? 1 : DBL_DIG; len < 17; len++) {
        round_to(d, v, len);
        if (reads_back(d, v))
            return;
        /* The interval that rounds to a power of two is twice as wide above it
         * as below, and may not contain the nearest decimal. */
        int e;
        if (frexp(v, &e) == 0.5 && next_up(d) && reads_back(d, v))
            return;
    }
    round_to(d, v, 17);
}

void cfx_buf_float(cfx_buf *b, double v)
{
    if (isnan(v)) {
        cfx_buf_puts(b, "nan");
        return;
    }
    if (signbit(v))
        cfx_buf_putc(b, '-');
    v = fabs(v);
    if (isinf(v) || v == 0) {
        cfx_buf_puts(b, v == 0 ? "0.0" : "inf");
        return;
    }
    if (v < 1e15 && v == floor(v)) {
        cfx_buf_int(b, (int64_t)v);
        cfx_buf_puts(b, ".0");
        return;
    }
    decimal d;
    shortest(&d, v);
    while (d.len > 1 && d.digit[d.len - 1] == '0')
        d.len--;
    size_t len = (size_t)d.len;
    if (d.point > 16 || d.point < -3) {
        cfx_buf_putc(b, d.digit[0]);
        if (len > 1)
            cfx_buf_putc(b, '.');
        cfx_buf_add(b, d.digit + 1, len - 1);
        int e = d.point - 1;
        cfx_buf_puts(b, e < 0 ? "e-" : "e+");
        if (abs(e) < 10)
            cfx_buf_putc(b, '0');
        cfx_buf_int(b, abs(e));
    } else if (d.point <= 0) {
        cfx_buf_puts(b, "0.");
        cfx_buf_repeat(b, '0', (size_t)-d.point);
        cfx_buf_add(b, d.digit, len);
    } else if (d.len <= d.point) {
        cfx_buf_add(b, d.digit, len);
        cfx_buf_repeat(b, '0', (size_t)(d.point - d.len));
        cfx_buf_puts(b, ".0");
    } else {
        cfx_buf_add(b, d.digit, (size_t)d.point);
        cfx_buf_putc(b, '.');
        cfx_buf_add(b, d.digit + d.point, len - (size_t)d.point);
    }
}
