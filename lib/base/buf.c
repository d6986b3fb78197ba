/*
 * buf -- text that grows.
 */
#include "base/util.h"

#include <stdio.h>

void cfx_buf_release(cfx_buf *b)
{
    cfx_free(b->ctx, b->s, b->cap);
    *b = (cfx_buf){.ctx = b->ctx};
}

bool cfx_buf_reserve(cfx_buf *b, size_t more)
{
    size_t need;
    if (b->failed)
        return false;
    if (!cfx_add_size(&need, b->len, more) || !cfx_add_size(&need, need, 1)) {
        b->failed = true;
        return false;
    }
    if (need <= b->cap)
        return true;
    size_t cap = b->cap + b->cap / 2;
    if (cap < need)
        cap = need;
    if (cap < 64)
        cap = 64;
    char *s = cfx_realloc(b->ctx, b->s, b->cap, cap);
    if (!s) {
        b->failed = true;
        return false;
    }
    if (!b->s)
        s[0] = '\0';
    b->s = s;
    b->cap = cap;
    return true;
}

void cfx_buf_add(cfx_buf *b, const char *s, size_t n)
{
    if (!n || !cfx_buf_reserve(b, n))
        return;
    memcpy(b->s + b->len, s, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void cfx_buf_puts(cfx_buf *b, const char *s)
{
    cfx_buf_add(b, s, strlen(s));
}

void cfx_buf_putc(cfx_buf *b, char c)
{
    cfx_buf_add(b, &c, 1);
}

void cfx_buf_repeat(cfx_buf *b, char c, size_t n)
{
    if (!n || !cfx_buf_reserve(b, n))
        return;
    memset(b->s + b->len, c, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void cfx_buf_printf(cfx_buf *b, const char *fmt, ...)
{
    for (size_t room = 128;;) {
        if (!cfx_buf_reserve(b, room))
            return;
        va_list ap;
        va_start(ap, fmt);
        int n = vsnprintf(b->s + b->len, room + 1, fmt, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n <= room) {
            b->len += (size_t)n;
            return;
        }
        b->s[b->len] = '\0';
        if (n < 0) {
            b->failed = true;
            return;
        }
        room = (size_t)n;
    }
}

void cfx_buf_int(cfx_buf *b, int64_t v)
{
    char digits[20];
    size_t n = sizeof(digits);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--n] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        digits[--n] = '-';
    cfx_buf_add(b, digits + n, sizeof(digits) - n);
}
