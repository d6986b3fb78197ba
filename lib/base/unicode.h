/*
 * unicode.h -- the part of Unicode that quoting and showing texts needs. Not
 * installed.
 */
#ifndef CFX_UNICODE_H
#define CFX_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cfx/status.h>

/* Decode one character; its length in bytes, or 0 where there is none. */
size_t cfx_utf8_decode(uint32_t *c, const char *s, size_t len);

/* Write a character, which may be a surrogate; its length, at most 4. */
size_t cfx_utf8_encode(char *s, uint32_t c);

/* Does Python's repr() show a character as it is? */
bool cfx_unicode_printable(uint32_t c);

/* Does a terminal act on it, instead of showing it: a control, a separator of
 * lines, or a mark that changes the direction of text? */
bool cfx_unicode_is_control(uint32_t c);

enum { CFX_ESCAPE = 10 }; /* bytes of the longest escape */

/* Write the escape by which Python names a character: `\x1b`, `\u202e`. Its
 * length. */
size_t cfx_unicode_escape(char to[CFX_ESCAPE], uint32_t c);

/* Copy the character at s so that a terminal shows it: controls, newlines
 * among them, and stray bytes as their escapes. The length of what was
 * written; *used is that of what was read. `len` is not 0. */
size_t cfx_utf8_visible(char to[CFX_ESCAPE], const char *s, size_t len,
                        size_t *used);

/* Are there only characters that cfx_utf8_visible copies as they are? */
bool cfx_utf8_is_visible(const char *s, size_t len);

/* Refuse a name of a graph or module that is not visible as it is, so that
 * whoever prints names need not escape them. Fails with CFX_EINVAL. */
cfx_status cfx_check_name(const char *name, cfx_error *err);

/* The number of characters of a text, counting a stray byte as one. */
size_t cfx_utf8_count(const char *s, size_t len);

#endif
