/*
 * block_channels.h -- the rules of pass block_channels: each rewrites one kind of node to
 * work on blocked images. Not installed.
 */
#ifndef CFX_PASSES_LOWER_BLOCK_CHANNELS_H
#define CFX_PASSES_LOWER_BLOCK_CHANNELS_H

#include "interp/passes/lower/lowering.h"

/* Rewrite n, or leave it to the next rule with *done false. *next is the node
 * that the walk goes on with. n is never written to. */
typedef cfx_status cfx_block_rule(cfx_lowering *b, cfx_node *n,
                                  cfx_node **next, bool *done);

cfx_block_rule cfx_block__conv, cfx_block__norm;
cfx_block_rule cfx_block__pair, cfx_block__activation;
cfx_block_rule cfx_block__window, cfx_block__mean, cfx_block__flatten;
cfx_block_rule cfx_block__cat;
cfx_block_rule cfx_block__part;

/* ---- Facts about nodes ---- */

/* Is n a float32 tensor of four axes? */
bool cfx_block__is_image(const cfx_node *n);
/* Is v an integer for both axes, or a pair of them? */
bool cfx_block__is_pair(cfx_value v);
/* v as a list of two. */
cfx_value cfx_block__pair_of(cfx_scope *s, cfx_value v);
/* A pair, None or absent; the latter two stay absent. */
bool cfx_block__is_optional_pair(cfx_value v);
cfx_value cfx_block__optional_pair_of(cfx_scope *s, cfx_value v);

/* Split an axis of extent 16 * n into n blocks, whose 16 elements become the last axis. */
cfx_value cfx_block__split(cfx_scope *s, cfx_value x, int axis);

/* ---- Blocked images ---- */

/* An existing blocked image with the value of n; or NULL. */
cfx_node *cfx_block__known(cfx_lowering *b, const cfx_node *n);
/* Does n compute a blocked image of floats by a packed weight? */
bool cfx_block__is_conv(const cfx_node *n);
/* The blocked convolution that computes x, if only one node reads x and it can apply that
 * post-operation; else NULL. */
cfx_node *cfx_block__open_conv(const cfx_node *x, const char *post_op);
/* Did cfx_block__pair make n, a product of a blocked image with one of a single pixel? */
bool cfx_block__is_scaled(const cfx_node *n);
/* Is n a pointwise function that is finite at 0, the padding of blocks? */
bool cfx_block__is_elementwise(const cfx_pass_call *p, const cfx_node *n);
/* Replace n by what `build` traces; it must succeed. */
cfx_status cfx_block__replace(cfx_lowering *b, cfx_node *n, cfx_retrace_fn *fn,
                              void *user, cfx_node **next);

#endif
