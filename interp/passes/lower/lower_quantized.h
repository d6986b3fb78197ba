/*
 * lower_quantized.h -- the rules of pass lower_quantized: each replaces one kind of node
 * between dequantize and quantize by an operator on integers. Not installed.
 */
#ifndef CFX_PASSES_LOWER_QUANTIZED_H
#define CFX_PASSES_LOWER_QUANTIZED_H

#include "interp/passes/lower/lowering.h"

/* Quantization parameters: q, a uint8 in least..most, represents
 * scale * (q - zero_point). */
typedef struct cfx_affine {
    double scale;
    int64_t zero_point, least, most;
} cfx_affine;

/* A chain of nodes: an operator on floats, an activation that clamps, quantize. */
typedef struct cfx_chain {
    cfx_node *n;     /* the last node, which is replaced */
    cfx_node *from;  /* the first node, which decides the rule */
    cfx_node *clamp; /* the activation; NULL: none */
    double lo, hi;   /* its range; -INFINITY, INFINITY: any */
    bool rounds;     /* n is quantize_per_tensor, with the parameters `to` */
    cfx_affine to;
} cfx_chain;

/* Replace c->n, or leave it to the next rule with *done false. */
typedef cfx_status cfx_lower_rule(cfx_lowering *l, const cfx_chain *c,
                                  cfx_node **next, bool *done);

cfx_lower_rule cfx_lower__product, cfx_lower__add, cfx_lower__window;
cfx_lower_rule cfx_lower__mean, cfx_lower__cat, cfx_lower__move;
cfx_lower_rule cfx_lower__layer_norm, cfx_lower__function;
/* This rule matches a single node, whatever its users; cfx_lower__window does, too, if
 * the node reads integers. */
cfx_lower_rule cfx_lower__attention;

/* Make activations in int8 those in uint8 that stand for the same numbers. */
cfx_status cfx_lower__use_uint8(cfx_lowering *l);

/* ---- Facts about nodes ---- */

/* If n is dequantize_per_tensor of uint8 to float32, and never written to: its input and,
 * in *out, its parameters; else NULL. */
cfx_node *cfx_lower__dequantized(cfx_lowering *l, const cfx_node *n,
                                 cfx_affine *out);
/* Is n a call whose float32 result one node reads, and none writes to? */
bool cfx_lower__is_between(cfx_lowering *l, const cfx_node *n);
/* The constant that v reads, or that few nodes compute, if it has that type, is
 * contiguous and never written to; else NULL. It lives until the next node. */
cfx_status cfx_lower__constant(cfx_lowering *l, cfx_value v, cfx_dtype dtype,
                               cfx_tensor **out);
/* The bounds and the zero point of a result, as arguments, absent if they are the default.
 * Rounding is monotone, so the bounds of the clamp may be rounded, too. */
typedef struct cfx_result_range {
    cfx_value zero, least, most;
} cfx_result_range;

cfx_result_range cfx_lower__range(const cfx_chain *c);

/* ---- Blocked images ---- */

/* The uint8 image n in blocks of `block` channels; of 16 if n is from_blocked. */
cfx_value cfx_lower__blocked(cfx_lowering *l, cfx_scope *s, cfx_node *n,
                             int64_t block);

/* Add the nodes of the chain to the origins of y, which computes it. */
void cfx_lower__name_origin(cfx_scope *s, const cfx_chain *c, cfx_value y);
/* Replace c->n by what `build` traces; it must succeed. */
cfx_status cfx_lower__replace(cfx_lowering *l, const cfx_chain *c,
                              cfx_retrace_fn *fn, void *user, cfx_node **next);

#endif
