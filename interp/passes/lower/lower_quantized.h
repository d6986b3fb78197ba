/*
 * lower_quantized.h -- the parts of pass lower_quantized: a rule lets one kind of
 * node between dequantize and quantize compute with integers. Not installed.
 */
#ifndef CFX_PASSES_LOWER_QUANTIZED_H
#define CFX_PASSES_LOWER_QUANTIZED_H

#include "graph/aliases.h"
#include "graph/graph_impl.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "ops/blocked/blocked_ops.h"

typedef struct cfx_lowering {
    cfx_pass_call *p;
    const path_uses *uses;
    cfx_retracer retracer;
    cfx_aliases aliases;  /* of the graph as it was */
    cfx_node_map blocked; /* to_blocked of a node of uint8 */
    /* The last to_blocked, and the node that it has the value of. */
    cfx_node *made, *made_of;
} cfx_lowering;

/* Numbers q of uint8 in least..most stand for scale * (q - zero_point). */
typedef struct cfx_affine {
    double scale;
    int64_t zero_point, least, most;
} cfx_affine;

/* n computes floats: x, an activation that clamps, and their end. */
typedef struct cfx_chain {
    cfx_node *n;     /* the last node, which is replaced */
    cfx_node *from;  /* the first one, whose rule it is */
    cfx_node *clamp; /* the activation; NULL: none */
    double lo, hi;   /* its range; -INFINITY, INFINITY: any */
    bool rounds;     /* the end is quantize_per_tensor to `to` */
    cfx_affine to;
} cfx_chain;

/* Replace c->n, or leave it to the next rule with *done false. */
typedef cfx_status cfx_lower_rule(cfx_lowering *l, const cfx_chain *c,
                                  cfx_node **next, bool *done);

cfx_lower_rule cfx_lower__product, cfx_lower__add, cfx_lower__window;
cfx_lower_rule cfx_lower__mean, cfx_lower__cat, cfx_lower__move;
cfx_lower_rule cfx_lower__layer_norm, cfx_lower__function;
/* This rule matches a single node, whatever its users are. */
cfx_lower_rule cfx_lower__attention;

/* ---- Facts about nodes ---- */

/* The argument of a parameter, of the first overload that has one so called. */
cfx_value cfx_lower__arg(const cfx_lowering *l, const cfx_node *n,
                         const char *name);
/* n is dequantize_per_tensor of uint8 to float32, and never written to: return
 * its input and what that stands for; else NULL. */
cfx_node *cfx_lower__dequantized(cfx_lowering *l, const cfx_node *n,
                                 cfx_affine *out);
/* The tensor of state that v reads: NULL unless it is of that type, contiguous and
 * never written to. */
cfx_status cfx_lower__constant(cfx_lowering *l, cfx_value v, cfx_dtype dtype,
                               cfx_tensor **out);
/* The channels of an image (N, C, H, W); 0: they are not known. */
int64_t cfx_lower__channels(const cfx_node *n);

/* The end of a sum or a mean, as arguments, absent by default: rounding is monotone,
 * so that the bounds of the clamp may be rounded. */
typedef struct cfx_result_range {
    cfx_value zero, least, most;
} cfx_result_range;

cfx_result_range cfx_lower__range(const cfx_chain *c);

/* ---- Images in blocks ---- */

/* The argument of from_blocked; NULL if n is another call. */
cfx_node *cfx_lower__form(const cfx_node *n);
/* The image n of uint8 in blocks of `block` channels, or of 16 if n is
 * from_blocked. */
cfx_value cfx_lower__blocked(cfx_lowering *l, cfx_scope *s, cfx_node *n,
                             int64_t block);

/* Name the origins of y, which computes the chain, besides those of c->n. */
void cfx_lower__name_origin(cfx_scope *s, const cfx_chain *c, cfx_value y);
/* Trace code in place of c->n, which must succeed. */
cfx_status cfx_lower__replace(cfx_lowering *l, const cfx_chain *c,
                              cfx_retrace_fn *fn, void *user, cfx_node **next);

#endif
