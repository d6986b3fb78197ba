/*
 * rewriter_impl.h -- what the files of the rewriter share. Not installed.
 */
#ifndef CFX_REWRITER_IMPL_H
#define CFX_REWRITER_IMPL_H

#include <cfx/rewriter.h>

#include "interp/match/matcher_impl.h"

typedef struct cfx_rewrite_writes cfx_rewrite_writes;

typedef struct cfx_rewrite {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_graph *g;
    const cfx_graph *pattern;
    cfx_rewrite_options o;
    cfx_error *err;
    cfx_node_map changed;
    uint32_t *seen, epoch;     /* by id of the graph's nodes */
    uint32_t seen_room;
    cfx_node **stack;
    size_t nstack, stack_room;
    bool adopted;              /* attributes came from replacements */
    cfx_rewrite_writes *writes;
} cfx_rewrite;

/* One match's turn. */
typedef struct cfx_rewrite_step {
    cfx_rewrite *r;
    cfx_match *m;
    const cfx_graph *from;
    cfx_node_map map;          /* from its nodes to the graph's values */
    cfx_value output;          /* of the copy */
    cfx_value *with;           /* for each of m->returning */
    uint32_t first_id;         /* nodes from here on are the copy's */
} cfx_rewrite_step;

/* Set the insert point for the copy: before the first user of the outputs,
 * behind the last output where there is none, or something writes to what the
 * match reads before the user comes; users that stand before what the copy
 * needs are moved. *cycle: it needs what depends on it, or what the match reads
 * is written to in its midst. */
cfx_status cfx_rewriter__find_place(cfx_rewrite_step *t, bool *cycle);

/* Note which nodes of the graph write to memory. */
cfx_status cfx_rewriter__find_writes(cfx_rewrite *r);
void cfx_rewriter__forget_writes(cfx_rewrite *r);
/* Does a node that is not of the match, and stands between the two, write to
 * memory that the match reads or gives; `any`: or to other memory? */
bool cfx_rewriter__written(cfx_rewrite_step *t, const cfx_node *from,
                           const cfx_node *to, bool any);

/* The items of a value that are no aggregates. */
size_t cfx_rewriter__count_leaves(cfx_value v);

/* Copy in what a replacement names and the module lacks. */
cfx_status cfx_rewriter__adopt(cfx_rewrite *r, const cfx_graph *from);

#endif
