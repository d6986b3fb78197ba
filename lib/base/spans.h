/*
 * spans.h -- free pieces of mapped memory. Not installed.
 *
 * A free piece lies in a list in the order of addresses, and joins the pieces
 * before and after it. What is asked for is cut from the smallest piece that
 * holds it, so that memory is filled again whatever the sizes were before. All
 * sizes are multiples of CFX_SPAN; nothing here locks.
 */
#ifndef CFX_SPANS_H
#define CFX_SPANS_H

#include <stddef.h>

#define CFX_SPAN ((size_t)32 * 1024)

/* Begins a free piece. */
typedef struct cfx_span {
    struct cfx_span *next;
    size_t size;
} cfx_span;

typedef struct cfx_spans {
    cfx_span *first;
} cfx_spans;

/* A piece of that size, or NULL. */
void *cfx_spans_take(cfx_spans *s, size_t size);
void cfx_spans_give(cfx_spans *s, void *p, size_t size);

/* Take at most *size bytes off the largest piece, to be unmapped; *size says
 * how many. NULL where there is none. */
void *cfx_spans_cut(cfx_spans *s, size_t *size);

#endif
