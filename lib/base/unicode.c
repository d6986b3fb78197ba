/*
 * unicode -- UTF-8, and which characters are printable.
 */
#include "base/unicode.h"

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

/* Controls, formats, separators, surrogates, private use; what Unicode has
 * not assigned yet is left as it is, since that changes with its version. */
static const struct {
    uint32_t first, last;
} hidden[] = {{0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},
              {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
              {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
              {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
              {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},
              {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},
              {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
              {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
              {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff}};

bool cfx_unicode_printable(uint32_t c)
{
    if (c >= 0x20 && c < 0x7f)
        return true;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}
