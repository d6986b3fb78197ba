/*
 * unicode -- UTF-8, which characters are printable, and how to show others.
 */
#include "base/unicode.h"

#include <string.h>

#include "base/util.h"

static bool follows(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t cfx_utf8_decode(uint32_t *c, const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (len && s[0] < 0x80) {
        *c = s[0];
        return 1;
    }
    size_t n = !len || s[0] < 0xc2 ? 0
               : s[0] < 0xe0       ? 2
               : s[0] < 0xf0       ? 3
               : s[0] < 0xf5       ? 4
                                   : 0;
    if (!n || n > len)
        return 0;
    uint32_t v = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (!follows(s[i]))
            return 0;
        v = v << 6 | (s[i] & 0x3fu);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return 0;
    *c = v;
    return n;
}

size_t cfx_utf8_encode(char *s, uint32_t c)
{
    if (c < 0x80) {
        s[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; c >>= 6)
        s[i] = (char)(0x80 | (c & 0x3f));
    s[0] = (char)((0xf00u >> n) | c);
    return n;
}

size_t cfx_utf8_count(const char *s, size_t len)
{
    size_t count = 0;
    uint32_t c;
    for (size_t i = 0; i < len; count++) {
        size_t n = cfx_utf8_decode(&c, s + i, len - i);
        i += n ? n : 1;
    }
    return count;
}

/* ---- Sets of characters ---- */

typedef struct range {
    uint32_t first, last;
} range;

static bool is_in(const range *set, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n; i++)
        if (c >= set[i].first && c <= set[i].last)
            return true;
    return false;
}

/* Controls, formats, separators, surrogates, private use; what Unicode has
 * not assigned yet is left as it is, since that changes with its version. */
static const range hidden[] = {
    {0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},
    {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
    {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},
    {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff}};

/* Printable ASCII is in no other set. */
static const range controls[] = {
    {0x0, 0x1f},      {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2066, 0x2069}, {0xd800, 0xdfff}, {0xfeff, 0xfeff}};

#define IS_IN(set, c) is_in(set, sizeof(set) / sizeof(*(set)), c)

static bool is_ascii_printable(uint32_t c)
{
    return c >= 0x20 && c < 0x7f;
}

bool cfx_unicode_printable(uint32_t c)
{
    return is_ascii_printable(c) || !IS_IN(hidden, c);
}

bool cfx_unicode_is_control(uint32_t c)
{
    return !is_ascii_printable(c) && IS_IN(controls, c);
}

/* ---- Escapes ---- */

size_t cfx_unicode_escape(char to[CFX_ESCAPE], uint32_t c)
{
    static const char hex[] = "0123456789abcdef";
    char letter = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : '\0';
    size_t digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8, n = 0;
    to[n++] = '\\';
    if (letter) {
        to[n++] = letter;
        return n;
    }
    to[n++] = digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    while (digits-- > 0)
        to[n++] = hex[c >> 4 * digits & 15];
    return n;
}

size_t cfx_utf8_visible(char to[CFX_ESCAPE], const char *s, size_t len,
                        size_t *used)
{
    uint32_t c;
    *used = cfx_utf8_decode(&c, s, len);
    if (!*used) {
        *used = 1;
        return cfx_unicode_escape(to, (unsigned char)*s);
    }
    if (cfx_unicode_is_control(c))
        return cfx_unicode_escape(to, c);
    memcpy(to, s, *used);
    return *used;
}

bool cfx_utf8_is_visible(const char *s, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t c;
        n = cfx_utf8_decode(&c, s + i, len - i);
        if (!n || cfx_unicode_is_control(c))
            return false;
    }
    return true;
}

cfx_status cfx_check_name(const char *name, cfx_error *err)
{
    const char *s = name;
    while (is_ascii_printable((unsigned char)*s))
        s++;
    if (cfx_utf8_is_visible(s, strlen(s)))
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL,
                    "'%s': a name cannot have control characters", name);
}
