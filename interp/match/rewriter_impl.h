/*
 * rewriter_impl.h -- shared by the rewriter's files. Not installed.
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
    uint32_t *seen, epoch; /* by id of the graph's nodes */
    uint32_t seen_cap;
    cfx_node **stack;
    size_t nstack, stack_cap;
    bool adopted;      /* attributes were copied from replacements */
    cfx_module *built; /* the last replacement that `build` recorded */
    cfx_rewrite_writes *writes;
} cfx_rewrite;

/* The replacement of one match. */
typedef struct cfx_rewrite_step {
    cfx_rewrite *r;
    cfx_match *m;
    const cfx_graph *from;
    cfx_node_map map;  /* from its nodes to the graph's values */
    cfx_value output;  /* of the copy */
    cfx_value *with;   /* for each item of m->returning */
    uint32_t first_id; /* nodes from this id on are copies */
} cfx_rewrite_step;

/* True if something writes within the match to memory that it reads. */
bool cfx_rewriter__written_within(cfx_rewrite_step *t);
/* Set the insert point for the copy: before the first user of the outputs. If
 * there are no users, or something writes to memory that the match reads before
 * the first user, or with same_values, it is after the match. Users before the
 * copy's inputs
 * are moved. *cycle is set if the copy depends on its own users. */
cfx_status cfx_rewriter__find_place(cfx_rewrite_step *t, bool *cycle);

/* Record which nodes of the graph write to memory. */
cfx_status cfx_rewriter__find_writes(cfx_rewrite *r);
void cfx_rewriter__forget_writes(cfx_rewrite *r);
/* True if a node between the two, outside of the match, writes to memory that
 * the match reads or returns; with `any` also to other memory. */
bool cfx_rewriter__written(cfx_rewrite_step *t, const cfx_node *from,
                           const cfx_node *to, bool any);

/* Count the items of a value that are not aggregates. */
size_t cfx_rewriter__count_leaves(cfx_value v);

/* Record the replacement of a match by the option `build`; *out is NULL if it
 * returns None. Valid until the next call. */
cfx_status cfx_rewriter__build(cfx_rewrite *r, const cfx_match *m,
                               const cfx_graph **out);

/* Copy in attributes that a replacement names and the module lacks. */
cfx_status cfx_rewriter__adopt(cfx_rewrite *r, const cfx_graph *from);

#endif
