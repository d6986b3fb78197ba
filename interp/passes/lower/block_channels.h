/*
 * block_channels.h -- the parts of pass block_channels: a rule rewrites one kind
 * of node in blocks of 16 channels. Not installed.
 */
#ifndef CFX_PASSES_LOWER_BLOCK_CHANNELS_H
#define CFX_PASSES_LOWER_BLOCK_CHANNELS_H

#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "ops/blocked/blocked_ops.h"

typedef struct cfx_blocker {
    cfx_pass_call *p;
    const path_uses *uses;
    cfx_retracer retracer;
    cfx_aliases aliases;  /* of the graph as it was */
    cfx_node_map blocked; /* to_blocked of a node */
} cfx_blocker;

/* Rewrite n, or leave it to the next rule with *done false. *next is the node
 * that the walk goes on with. n is never written to. */
typedef cfx_status cfx_block_rule(cfx_blocker *b, cfx_node *n, cfx_node **next,
                                  bool *done);

cfx_block_rule cfx_block__conv, cfx_block__norm;
cfx_block_rule cfx_block__pair, cfx_block__activation;
cfx_block_rule cfx_block__window, cfx_block__mean, cfx_block__flatten;
cfx_block_rule cfx_block__cat;

/* ---- Facts about nodes ---- */

/* Is n a float32 tensor of four axes? */
bool cfx_block__is_image(const cfx_node *n);
/* The channels of an image; 0 if they are not known. */
int64_t cfx_block__channels(const cfx_node *n);
/* A module's attribute, or the argument of a function; absent if neither. */
cfx_value cfx_block__setting(const cfx_pass_call *p, const cfx_node *n,
                             const char *name);
/* Is v a number for both axes, or one for each? */
bool cfx_block__is_pair(cfx_value v);
/* The two numbers as a list. */
cfx_value cfx_block__pair_of(cfx_scope *s, cfx_value v);
/* A pair, None or absent; the latter two stay absent. */
bool cfx_block__is_optional_pair(cfx_value v);
cfx_value cfx_block__optional_pair_of(cfx_scope *s, cfx_value v);

/* Split an axis into whole blocks, which move to the end. */
cfx_value cfx_block__split(cfx_scope *s, cfx_value x, int axis);

/* ---- Images in blocks ---- */

/* The argument of from_blocked; NULL if n is another call. */
cfx_node *cfx_block__form(const cfx_node *n);
/* An image in blocks that there is already and that has the value of n; or
 * NULL. */
cfx_node *cfx_block__known(cfx_blocker *b, const cfx_node *n);
/* x is a blocked convolution, behind which only one node reads, and whose result
 * is the sum yet: return it, else NULL. */
cfx_node *cfx_block__open_conv(const cfx_node *x);
/* Is n a product of an image with one pixel, in blocks, that cfx_block__pair
 * made? */
bool cfx_block__is_scaled(const cfx_node *n);
/* Is n a function of single elements that is finite at 0, which blocks are filled
 * up with? */
bool cfx_block__is_elementwise(const cfx_pass_call *p, const cfx_node *n);
/* Trace code in place of n, which must succeed. */
cfx_status cfx_block__replace(cfx_blocker *b, cfx_node *n, cfx_retrace_fn *fn,
                              void *user, cfx_node **next);

#endif
