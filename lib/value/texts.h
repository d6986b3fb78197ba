/*
 * texts.h -- nested lists of str as arrays. Not installed.
 *
 * A str is an array of no axis, a list of n arrays of one shape an array of one
 * axis more, of extent n. An empty list ends the shape: the extents of its items
 * are not known.
 */
#ifndef CFX_TEXTS_H
#define CFX_TEXTS_H

#include <cfx/value.h>

#include "base/util.h"

typedef struct cfx_texts {
    int rank;
    int64_t shape[CFX_MAX_RANK];
    size_t n;
    const cfx_string **item; /* row-major, borrowed from the value */
} cfx_texts;

/* Is a value a str, or a nested list of nothing but str? */
bool cfx_texts_are(cfx_value v);

/* Read a value; the array of items is in the arena. Fails with CFX_EINVAL for
 * other values than str and lists of one shape, CFX_ENOMEM. */
cfx_status cfx_texts_read(cfx_texts *out, cfx_arena *arena, cfx_value v,
                          cfx_error *err);

/* A new value of n items, row-major; they are borrowed. Absent when out of
 * memory. */
cfx_value cfx_texts_value(cfx_context *ctx, int rank, const int64_t *shape,
                          const cfx_value *item);

#endif
