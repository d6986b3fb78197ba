/*
 * unicode.h -- the part of Unicode that quoting strings needs. Not installed.
 */
#ifndef CFX_UNICODE_H
#define CFX_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode one character; its length in bytes, or 0 where there is none. */
size_t cfx_utf8_decode(uint32_t *c, const char *s, size_t len);

/* Write a character, which may be a surrogate; its length, at most 4. */
size_t cfx_utf8_encode(char *s, uint32_t c);

/* Does Python's repr() show a character as it is? */
bool cfx_unicode_printable(uint32_t c);

/* The number of characters of a text, counting a stray byte as one. */
size_t cfx_utf8_count(const char *s, size_t len);

#endif
