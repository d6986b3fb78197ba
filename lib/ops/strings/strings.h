/*
 * strings.h -- shared by the operators of strings. Not installed.
 *
 * Their values are nested lists of str (value/texts.h). A list of str is known
 * where shapes are propagated, too, so that `infer` computes results that are
 * lists; results that are tensors get their shape there and are computed by
 * `run`.
 */
#ifndef CFX_STRINGS_H
#define CFX_STRINGS_H

#include "op/infer.h"
#include "value/texts.h"

/* The arrays that a rule reads and makes. */
typedef struct strings {
    cfx_call *call;
    cfx_arena arena;
    cfx_texts self;
} strings;

/* Read the first argument; release the arrays also after failure. */
cfx_status strings_read(strings *s, cfx_call *call);
void strings_release(strings *s);

/* The result of the call: an array of str; takes the references of the items,
 * of which the last may be absent, when memory was lacking. */
cfx_status strings_return_take(strings *s, int rank, const int64_t *shape,
                               cfx_value *item, size_t n);

/* Zeroed memory for n items; fails with CFX_ENOMEM. */
void *strings_alloc(strings *s, size_t n, size_t size);

/* A result of a type, in the shape of the first argument. */
cfx_status strings_out_like(cfx_call *call, cfx_dtype dtype);

#endif
