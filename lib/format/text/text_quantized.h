/*
 * text_quantized.h -- shared by the readers of graphs with quantized tensors. Not
 * installed.
 */
#ifndef CFX_QUANTIZED_H
#define CFX_QUANTIZED_H

#include <cfx/graph_module.h>

#define DECOMPOSED "torch.ops.quantized_decomposed."

/* A type of quantized tensors, and the integers in it. */
typedef struct cfx_quantized_type {
    const char *name;
    cfx_dtype dtype;
    int least, most;
} cfx_quantized_type;

/* The type that an argument names, or NULL. */
const cfx_quantized_type *cfx_quantized__find_type(cfx_value v);

/* Does a node make floats of the quantized tensor that is its only input? */
bool cfx_quantized__is_dequantize(const cfx_node *n);

/* Let a node call a function. */
cfx_status cfx_quantized__set_call(cfx_node *n, const char *target,
                                   const cfx_value *args, size_t nargs,
                                   cfx_error *err);

/* The nodes that choose a scale and a zero point for the first argument of n, for
 * at most `most` as the largest integer, before n. */
cfx_status cfx_quantized__choose(cfx_value out[2], cfx_node *n,
                                 const cfx_quantized_type *type, int most,
                                 cfx_error *err);

/* Let all calls on quantized tensors of a graph compute in float. Fails with
 * CFX_EUNSUPPORTED for a call whose result has no known scale, CFX_ENOMEM; the
 * graph is then partly rewritten. */
cfx_status cfx_quantized__raise(cfx_graph *g, const cfx_module *gm,
                                cfx_error *err);

#endif
