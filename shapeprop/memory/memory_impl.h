/*
 * memory_impl.h -- the contents of a memory plan. Not installed.
 */
#ifndef CFX_MEMORY_IMPL_H
#define CFX_MEMORY_IMPL_H

#include <cfx/memory_plan.h>

#include "base/util.h"

/* Offsets are multiples of this, as addresses of the heap are. */
enum { CFX_MEMORY_ALIGN = 64 };

/* Limit on the total bytes of an arena's blocks; sums below it do not overflow,
 * and no machine has as much. */
#define CFX_MEMORY_MOST ((int64_t)1 << 56)

/* One call of an operator. The blocks that it allocates are consecutive. */
typedef struct cfx_memory_call {
    const cfx_node *node;  /* the node that runs, perhaps in a nested graph */
    const cfx_node *outer; /* the node of the planned graph */
    const cfx_op *op;
    uint32_t block, nblocks;
    uint32_t within; /* number of preceding calls in its nested graphs */
    bool leaves;     /* a tensor that it makes is part of the result */
} cfx_memory_call;

/* The bytes of a node's value that are in one block. */
typedef struct cfx_memory_part {
    uint32_t block;
    cfx_dim bytes;
} cfx_memory_part;

/* The parts of a node's value, one per block. */
typedef struct cfx_memory_value {
    size_t first, count;
} cfx_memory_value;

struct cfx_memory_plan {
    cfx_context *ctx;
    cfx_module *gm;
    const cfx_graph *graph;
    cfx_shape_env *env, *own_env;
    bool symbolic, uncounted;
    cfx_memory_block *block;
    size_t nblocks, block_cap;
    cfx_memory_call *call;
    size_t ncalls, call_cap;
    cfx_dim *live;           /* by id of `graph`'s nodes */
    cfx_memory_value *value; /* by id; indices into `part` */
    cfx_memory_part *part;
    size_t nparts, part_cap;
    uint32_t nids;
    cfx_dim peak, inputs, state, results;
    const cfx_node *peak_node;
    int64_t arena, bound;
    /* Call numbers, sorted by node, then by number, for runs with other calls
     * or in another order. */
    uint32_t *by_node;
};

/* Return the parts of a node's value, *count of them. */
CFX_INLINE const cfx_memory_part *cfx_memory__parts(const cfx_memory_plan *p,
                                                    const cfx_node *n,
                                                    size_t *count)
{
    *count = n->id < p->nids ? p->value[n->id].count : 0;
    return *count ? p->part + p->value[n->id].first : NULL;
}

/* Return the requested bytes; a block without data has an address too. */
CFX_INLINE int64_t cfx_memory__asked(const cfx_memory_block *b)
{
    int64_t bytes = cfx_dim_value(b->bytes);
    return bytes ? bytes : CFX_MEMORY_ALIGN;
}

/* Return the bytes of a tensor's elements, those at one address once. */
cfx_dim cfx_memory__element_bytes(cfx_shape_env *env, const cfx_tensor *t);

/* Find all blocks by a walk: memory_walk.c. */
cfx_status cfx_memory__walk(cfx_memory_plan *p, const cfx_value *inputs,
                            size_t ninputs, cfx_error *err);

/* A block to be placed, and its offset: memory_place.c. Sizes are multiples of
 * CFX_MEMORY_ALIGN, together at most CFX_MEMORY_MOST; times are below `end`. */
typedef struct cfx_memory_span {
    int64_t bytes, offset;
    uint32_t first, last;
} cfx_memory_span;

/* Compute the largest sum of sizes that live at one time. */
cfx_status cfx_memory__bound(int64_t *bound, cfx_context *ctx,
                             const cfx_memory_span *span, size_t n,
                             uint32_t end, cfx_error *err);
/* Find offsets; *size is the highest end. Fails with CFX_ENOMEM. */
cfx_status cfx_memory__place(cfx_memory_span *span, size_t n, uint32_t end,
                             int64_t bound, int64_t *size, cfx_context *ctx,
                             cfx_error *err);

/* Find offsets as an allocator would that gets the blocks, sorted by `first`,
 * in order of time: memory_sweep.c. */
cfx_status cfx_memory__sweep(cfx_memory_span *span, size_t n, uint32_t end,
                             int64_t *size, cfx_context *ctx, cfx_error *err);

/* Find the calls of a node: entries of `by_node` from *from to below *to. */
void cfx_memory__calls_of(const cfx_memory_plan *p, const cfx_node *n,
                          size_t *from, size_t *to);

#endif
