/*
 * lexer -- the tokens of Python's literals.
 */
#include "format/text/lexer.h"

#include <math.h>

#include "base/unicode.h"

/* ---- Numbers ---- */

/* More digits than a double can need: longer numbers are refused. */
enum { MAX_NUMBER = 400 };

static const char *skip_digits(const char *s, const char *end)
{
    while (s < end && cfx_is_digit(*s))
        s++;
    return s;
}

static const char *skip_exponent(const char *s, const char *end)
{
    if (s == end || (*s != 'e' && *s != 'E'))
        return s;
    const char *digits = s + 1;
    if (digits < end && (*digits == '+' || *digits == '-'))
        digits++;
    const char *after = skip_digits(digits, end);
    return after > digits ? after : s;
}

static bool to_int(const char *s, const char *end, int64_t *out)
{
    bool negative = *s == '-';
    uint64_t v = 0, most = (uint64_t)INT64_MAX + negative;
    for (s += *s == '-' || *s == '+'; s < end; s++) {
        uint64_t d = (uint64_t)(*s - '0');
        if (v > (most - d) / 10)
            return false;
        v = v * 10 + d;
    }
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static bool to_float(const char *s, const char *end, double *out)
{
    char text[MAX_NUMBER + 1], *stop;
    size_t len = (size_t)(end - s);
    if (len > MAX_NUMBER)
        return false;
    memcpy(text, s, len);
    text[len] = '\0';
    *out = cfx_strtod(text, &stop);
    return stop == text + len;
}

cfx_token cfx_scan_number(const char *s, const char *end, size_t *len,
                          int64_t *i, double *f)
{
    const char *digits = s + (s < end && (*s == '-' || *s == '+'));
    const char *whole = skip_digits(digits, end), *at = whole;
    if (at < end && *at == '.')
        at = skip_digits(at + 1, end);
    if (at == digits)
        return CFX_TOKEN_BAD;
    at = skip_exponent(at, end);
    bool imaginary = at < end && *at == 'j';
    *len = (size_t)(at - s) + imaginary;
    if (s + *len < end && (cfx_is_name_char(s[*len]) || s[*len] == '.'))
        return CFX_TOKEN_BAD;
    if (at == whole && !imaginary)
        return to_int(s, at, i) ? CFX_TOKEN_INT : CFX_TOKEN_BAD;
    if (!to_float(s, at, f))
        return CFX_TOKEN_BAD;
    return imaginary ? CFX_TOKEN_IMAGINARY : CFX_TOKEN_FLOAT;
}

/* ---- Strings ---- */

const char *cfx_scan_string(const char *s, const char *end)
{
    char quote = *s++;
    for (; s < end; s++)
        if (*s == '\\')
            s += s + 1 < end;
        else if (*s == quote)
            return s + 1;
    return NULL;
}

static int hex_digit(char c)
{
    return cfx_is_digit(c)        ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A character by its number, of `digits` hexadecimal digits. The surrogates
 * that Python uses for stray bytes become these bytes again. */
static const char *hex_escape(cfx_lexer *lx, const char *s, const char *end,
                              int digits)
{
    uint32_t c = 0;
    char utf8[4];
    for (int i = 0; i < digits; i++, s++) {
        int d = s < end ? hex_digit(*s) : -1;
        if (d < 0) {
            lx->why = "an escape in the string lacks a digit";
            return NULL;
        }
        c = c << 4 | (uint32_t)d;
    }
    if (c > 0x10ffff) {
        lx->why = "an escape in the string is not a character";
        return NULL;
    }
    if (c >= 0xdc80 && c <= 0xdcff)
        cfx_buf_putc(lx->string, (char)(c & 0xff));
    else
        cfx_buf_add(lx->string, utf8, cfx_utf8_encode(utf8, c));
    return s;
}

static const char *octal_escape(cfx_lexer *lx, const char *s, const char *end)
{
    uint32_t c = 0;
    char utf8[4];
    for (int i = 0; i < 3 && s < end && *s >= '0' && *s <= '7'; i++)
        c = c << 3 | (uint32_t)(*s++ - '0');
    cfx_buf_add(lx->string, utf8, cfx_utf8_encode(utf8, c));
    return s;
}

/* Read the escape sequence after a backslash; s is after it. */
static const char *escape(cfx_lexer *lx, const char *s, const char *end)
{
    static const char letters[] = "abfnrtv\\'\"";
    static const char meaning[] = "\a\b\f\n\r\t\v\\'\"";
    const char *letter = *s ? strchr(letters, *s) : NULL;
    if (letter) {
        cfx_buf_putc(lx->string, meaning[letter - letters]);
        return s + 1;
    }
    switch (*s) {
    case 'x': return hex_escape(lx, s + 1, end, 2);
    case 'u': return hex_escape(lx, s + 1, end, 4);
    case 'U': return hex_escape(lx, s + 1, end, 8);
    case '\n': return s + 1;
    default:
        if (*s >= '0' && *s <= '7')
            return octal_escape(lx, s, end);
        cfx_buf_putc(lx->string, '\\');
        cfx_buf_putc(lx->string, *s);
        return s + 1;
    }
}

static void scan_string(cfx_lexer *lx)
{
    const char *close = cfx_scan_string(lx->text, lx->end);
    if (!close) {
        lx->why = "the string does not end";
        return;
    }
    const char *s = lx->text + 1, *end = close - 1;
    cfx_buf_clear(lx->string);
    while (s && s < end) {
        const char *special = memchr(s, '\\', (size_t)(end - s));
        size_t n = (size_t)((special ? special : end) - s);
        cfx_buf_add(lx->string, s, n);
        s = special ? escape(lx, special + 1, end) : end;
    }
    if (!s)
        return;
    lx->at = close;
    lx->token = CFX_TOKEN_STRING;
}

/* ---- Tokens ---- */

static const char *skip_name(const char *s, const char *end)
{
    while (s < end && cfx_is_name_char(*s))
        s++;
    return s;
}

static void scan_name(cfx_lexer *lx, const char *s)
{
    s = skip_name(s, lx->end);
    while (s + 1 < lx->end && *s == '.' && cfx_is_name_start(s[1]))
        s = skip_name(s + 1, lx->end);
    lx->at = s;
    lx->token = CFX_TOKEN_NAME;
}

static void scan_node(cfx_lexer *lx)
{
    lx->text++;
    lx->at = skip_name(lx->text, lx->end);
    lx->token = lx->at > lx->text ? CFX_TOKEN_NODE : CFX_TOKEN_SIGN;
}

static void scan_number(cfx_lexer *lx)
{
    size_t len = 0;
    const char *s = lx->text;
    cfx_token t = cfx_scan_number(s, lx->end, &len, &lx->i, &lx->f);
    if (t == CFX_TOKEN_BAD && len) {
        lx->why = "the number is out of range, or goes on with a letter";
    } else if (t != CFX_TOKEN_BAD) {
        lx->token = t;
        lx->at = s + len;
    } else if (lx->end - s >= 4 &&
               (!memcmp(s + 1, "inf", 3) || !memcmp(s + 1, "nan", 3))) {
        scan_name(lx, s + 1);
    } else {
        lx->token = CFX_TOKEN_SIGN;
        lx->at = s + (s[0] == '-' && s + 1 < lx->end && s[1] == '>') + 1;
    }
}

static void scan(cfx_lexer *lx)
{
    char c = *lx->at;
    if (cfx_is_name_start(c)) {
        scan_name(lx, lx->at);
    } else if (c == '%') {
        scan_node(lx);
    } else if (c == '\'' || c == '"') {
        scan_string(lx);
    } else if (lx->end - lx->at >= 3 && !memcmp(lx->at, "...", 3)) {
        lx->token = CFX_TOKEN_ELLIPSIS;
        lx->at += 3;
    } else if (cfx_is_digit(c) || c == '-' || c == '+' || c == '.') {
        scan_number(lx);
    } else if (c && strchr("()[]{},:=", c)) {
        lx->token = CFX_TOKEN_PUNCT;
        lx->at++;
    }
}

void cfx_lexer_next(cfx_lexer *lx)
{
    while (lx->at < lx->end && (*lx->at == ' ' || *lx->at == '\t' ||
                                *lx->at == '\n' || *lx->at == '\r'))
        lx->at++;
    lx->text = lx->at;
    lx->len = 0;
    lx->token = lx->at < lx->end ? CFX_TOKEN_BAD : CFX_TOKEN_END;
    lx->why = "the character has no meaning here";
    if (lx->token == CFX_TOKEN_END)
        return;
    scan(lx);
    if (lx->token != CFX_TOKEN_BAD)
        lx->len = (size_t)(lx->at - lx->text);
}

void cfx_lexer_init(cfx_lexer *lx, const char *text, const char *end,
                    cfx_buf *string)
{
    *lx = (cfx_lexer){.at = text, .end = end, .string = string};
    cfx_lexer_next(lx);
}

bool cfx_is_name(const char *s, const char *end)
{
    if (s == end || !cfx_is_name_start(*s))
        return false;
    while (s < end && cfx_is_name_char(*s))
        s++;
    return s == end;
}

bool cfx_lexer_is_name(const cfx_lexer *lx, const char *name)
{
    return lx->token == CFX_TOKEN_NAME && lx->len == strlen(name) &&
           !memcmp(lx->text, name, lx->len);
}
