/*
 * lexer.h -- the tokens of Python's literals. Not installed.
 *
 * A lexer holds the current token of a text that need not end in NUL. Tokens
 * are dotted names, nodes (%name), numbers, strings and brackets; anything
 * else is CFX_TOKEN_BAD.
 */
#ifndef CFX_LEXER_H
#define CFX_LEXER_H

#include <cfx/context.h>

#include "base/util.h"

typedef enum cfx_token {
    CFX_TOKEN_END,
    CFX_TOKEN_NAME, /* a or a.b.c, also -inf and -nan */
    CFX_TOKEN_NODE, /* %a: text and len are those of the name */
    CFX_TOKEN_INT,
    CFX_TOKEN_FLOAT,
    CFX_TOKEN_IMAGINARY, /* 1j */
    CFX_TOKEN_STRING,    /* its characters are in `string` */
    CFX_TOKEN_SIGN,      /* a `%`, `+` or `-` by itself, or -> */
    CFX_TOKEN_PUNCT,     /* one of ()[]{},:= */
    CFX_TOKEN_ELLIPSIS,
    CFX_TOKEN_BAD
} cfx_token;

typedef struct cfx_lexer {
    const char *at, *end; /* what follows the token */
    cfx_token token;
    const char *text; /* of the token */
    size_t len;
    int64_t i;
    double f;
    const char *why; /* what is wrong with a bad one */
    cfx_buf *string;
} cfx_lexer;

/* Is all of a text a name? */
bool cfx_is_name(const char *s, const char *end);

/* Stand on the first token. `string` is the caller's, and initialized. */
void cfx_lexer_init(cfx_lexer *lx, const char *text, const char *end,
                    cfx_buf *string);
void cfx_lexer_next(cfx_lexer *lx);

CFX_INLINE bool cfx_lexer_is(const cfx_lexer *lx, char punct)
{
    return lx->token == CFX_TOKEN_PUNCT && *lx->text == punct;
}
/* Is the token that name? */
bool cfx_lexer_is_name(const cfx_lexer *lx, const char *name);

CFX_INLINE bool cfx_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
CFX_INLINE bool cfx_is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
CFX_INLINE bool cfx_is_name_char(char c)
{
    return cfx_is_name_start(c) || cfx_is_digit(c);
}

/* The kind of number that begins at s, and its length in *len: an INT, a FLOAT
 * or an IMAGINARY, whose value is in *i or *f; BAD for anything else, and an
 * integer beyond 64 bits. A sign belongs to it. */
cfx_token cfx_scan_number(const char *s, const char *end, size_t *len,
                          int64_t *i, double *f);

/* The end of the Python string whose quote stands at s, or NULL. */
const char *cfx_scan_string(const char *s, const char *end);

#endif
