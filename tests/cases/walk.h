/*
 * walk.h -- one operator case, run in all the ways there are, and what must
 * agree between them.
 */
#ifndef CFX_TEST_WALK_H
#define CFX_TEST_WALK_H

#include <stdint.h>

#include "tests/cases/case.h"

enum { WALK_WHY = 3000 };

/* The result of a case. */
typedef struct walk_case {
    const cfx_op *op;            /* that it is bound to, */
    const cfx_module_type *type; /* or the type of the module; else NULL */
    bool accepted;               /* a run without numbers gives a result */
    bool data;                   /* a run with them fails all the same */
    bool unknown;                /* only numbers tell the result */
    bool counted;                /* symbols do not tell how many there are */
    bool ok;
    bool wild;               /* numbers are out of all bounds */
    int rank;                /* the highest of the arguments */
    bool zero, one, strided; /* of their extents and strides */
    bool bent;               /* a stride is not that of row-major order */
    char why[WALK_WHY];      /* what does not agree */
    char got[WALK_WHY];      /* what a run gives: the types of tensors, "-"
                                    for what holds none; "error" */
} walk_case;

/* Only find what a case calls: op or type. */
void walk_bind(walk_case *w, cfx_context *ctx, const char *text);

/*
 * Run a case on numbers, on metas, and on symbols: the same shapes, strides,
 * types, offsets and sharing of memory, or a refusal from each.
 */
void walk_check(walk_case *w, cfx_context *ctx, const char *text);

/*
 * Run a case whose numbers are out of all bounds, some extents replaced by
 * such as well: whatever comes of it, it comes with a sentence. It computes
 * only where the result is small.
 */
void walk_try(walk_case *w, cfx_context *ctx, const char *text);

/*
 * Run a case with an argument of a kind that its operator may not take, as
 * walk_try does, and as a graph: a result, or a sentence.
 */
void walk_try_kind(walk_case *w, cfx_context *ctx, const char *text);

#endif
