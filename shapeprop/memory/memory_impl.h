/*
 * memory_impl.h -- what is in a memory plan. Not installed.
 */
#ifndef CFX_MEMORY_IMPL_H
#define CFX_MEMORY_IMPL_H

#include <cfx/memory_plan.h>

#include "base/util.h"

/* Whoever plans in other units than these cannot be given by the heap. */
enum { CFX_MEMORY_ALIGN = 64 };

/* The most bytes that the blocks of an arena have together: below it no sum of
 * theirs is too large for its type, and no machine has so many. */
#define CFX_MEMORY_MOST ((int64_t)1 << 56)

/* One call of an operator. The blocks that it asks for stand together. */
typedef struct cfx_memory_call {
    const cfx_node *node;  /* that is being run, perhaps of a graph within */
    const cfx_node *outer; /* of the graph that is planned */
    const cfx_op *op;
    uint32_t block, nblocks;
    uint32_t within;       /* so many calls before it are of its graphs */
    bool leaves;           /* a tensor that it makes leaves the run */
} cfx_memory_call;

/* So many bytes of a node's value lie in a block. */
typedef struct cfx_memory_part {
    uint32_t block;
    cfx_dim bytes;
} cfx_memory_part;

/* All parts of a node's value, each of another block. */
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
    cfx_dim *live;         /* by the id of nodes of `graph` */
    cfx_memory_value *value; /* by id, too: places in `part` */
    cfx_memory_part *part;
    size_t nparts, part_cap;
    uint32_t nids;
    cfx_dim peak, inputs, state, results;
    const cfx_node *peak_node;
    int64_t arena, bound;
    /* The calls by their nodes, for runs that make others or in another order:
     * numbers of calls, sorted by node, then by number. */
    uint32_t *by_node;
};

/* The parts of a node's value, *count of them. */
CFX_INLINE const cfx_memory_part *cfx_memory__parts(const cfx_memory_plan *p,
                                                    const cfx_node *n,
                                                    size_t *count)
{
    *count = n->id < p->nids ? p->value[n->id].count : 0;
    return *count ? p->part + p->value[n->id].first : NULL;
}

/* What the heap is asked for: what has no numbers has an address too. */
CFX_INLINE int64_t cfx_memory__asked(const cfx_memory_block *b)
{
    int64_t bytes = cfx_dim_value(b->bytes);
    return bytes ? bytes : CFX_MEMORY_ALIGN;
}

/* The bytes of a tensor's elements, those once that lie in one place. */
cfx_dim cfx_memory__element_bytes(cfx_shape_env *env, const cfx_tensor *t);

/* Find all blocks by a walk: memory_walk.c. */
cfx_status cfx_memory__walk(cfx_memory_plan *p, const cfx_value *inputs,
                            size_t ninputs, cfx_error *err);

/* Blocks to be placed, and where: memory_place.c. Sizes are multiples of
 * CFX_MEMORY_ALIGN, at most CFX_MEMORY_MOST together, and times go up to below
 * `end`. */
typedef struct cfx_memory_span {
    int64_t bytes, offset;
    uint32_t first, last;
} cfx_memory_span;

/* The largest sum of sizes at one time. */
cfx_status cfx_memory__bound(int64_t *bound, cfx_context *ctx,
                             const cfx_memory_span *span, size_t n,
                             uint32_t end, cfx_error *err);
/* Find offsets; *size is the end of the highest. Fails with CFX_ENOMEM. */
cfx_status cfx_memory__place(cfx_memory_span *span, size_t n, uint32_t end,
                             int64_t bound, int64_t *size, cfx_context *ctx,
                             cfx_error *err);

/* The same as an allocator would that meets the blocks, sorted by `first`, in
 * the order of time: memory_sweep.c. */
cfx_status cfx_memory__sweep(cfx_memory_span *span, size_t n, uint32_t end,
                             int64_t *size, cfx_context *ctx, cfx_error *err);

/* The calls of a node, as places in `by_node`: from *from to below *to. */
void cfx_memory__calls_of(const cfx_memory_plan *p, const cfx_node *n,
                          size_t *from, size_t *to);

#endif
