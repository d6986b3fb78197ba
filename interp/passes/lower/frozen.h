/*
 * frozen.h -- tensors that the graph computes from parameters and buffers that it
 * never writes, for passes that pack them. Not installed.
 */
#ifndef CFX_PASSES_FROZEN_H
#define CFX_PASSES_FROZEN_H

#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/passes/constants.h"

typedef struct cfx_frozen {
    cfx_pass_call *p;
    path_uses uses;
    cfx_aliases aliases; /* of the graph as it was */
    cfx_constants known;
} cfx_frozen;

/* Release it also after a failure. Fails with CFX_ENOMEM. */
cfx_status cfx_frozen__init(cfx_frozen *f, cfx_pass_call *p);
void cfx_frozen__release(cfx_frozen *f);

/* Was n in the graph when cfx_frozen__init saw it? */
CFX_INLINE bool cfx_frozen__has(const cfx_frozen *f, const cfx_node *n)
{
    return !cfx_aliases__is_later(&f->aliases, n);
}

/* A new reference to the value of a node, if it is a contiguous tensor of this type and a
 * few constant nodes compute it; else NULL. Fails with CFX_EWEIGHT, CFX_ENOMEM, and as a
 * call does. */
cfx_status cfx_frozen__load(cfx_frozen *f, const cfx_node *n, cfx_dtype dtype,
                            cfx_tensor **out);

#endif
