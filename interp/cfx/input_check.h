/*
 * cfx/input_check.h -- compare inputs with those that a model was made for.
 *
 * A file may declare its inputs: an export has a type and a shape for each,
 * ranges of the symbols in shapes, and guards, relations that its code relies
 * on. Numbers of the export may be baked into the graph, so that other sizes
 * give wrong results. cfx_interp_run therefore refuses them, as PyTorch and
 * ONNX Runtime do; cfx_context_set_any_shape switches that off.
 *
 * What is declared is meta of placeholders:
 *
 *     meta["val"]                of each: a meta of a tensor, a symbolic int, or
 *                                the one value that is accepted
 *     meta["range_constraints"]  of any: {"s0": (8, 64)}; None is no limit
 *     meta["guards"]             of any: ["s0 % 2 == 0"], over the same symbols
 *
 * Equal symbols are equal extents. An input without "val" is free. Types and
 * extents must agree; strides may differ.
 */
#ifndef CFX_INPUT_CHECK_H
#define CFX_INPUT_CHECK_H

#include <cfx/graph.h>

typedef struct cfx_input_check cfx_input_check;

CFX_BEGIN_DECLS

/* Prepare a check; *out is NULL if the graph declares nothing. The graph must
 * outlive it. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_input_check_new(cfx_input_check **out,
                                       const cfx_graph *g, cfx_error *err);
/* NULL is allowed. */
CFX_API void cfx_input_check_free(cfx_input_check *c);

/*
 * Compare inputs, in the order of the placeholders; those that are absent or
 * nodes are passed over. With symbols in inputs, `env` is their environment: a
 * declared range becomes a guard of it. Fails with CFX_EINPUT, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_input_check_run(cfx_input_check *c, cfx_shape_env *env,
                                       const cfx_value *inputs, size_t n,
                                       cfx_error *err);

/* Set *out to the declared type of placeholder i, in which the extents of the
 * inputs compared last replace symbols; absent if it has none. A new reference.
 * Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_input_check_expected(cfx_value *out,
                                            const cfx_input_check *c, size_t i,
                                            cfx_error *err);

CFX_END_DECLS

#endif
