/*
 * cfx/optimize.h -- rewrite a model so that it runs fast on a processor.
 *
 * The result is a graph like any other: its nodes call registered operators
 * that compute several of the original nodes at once, with weights packed in
 * the order in which they are read. It prints, parses back, is walked by every
 * interpreter class, and computes what the original does up to rounding. The
 * meta `from_node` of a node lists the original nodes that it computes; its
 * value is that of the last one. cfx/compare.h compares both node by node.
 *
 *     cfx_optimize(gm, inputs, ninputs, NULL, &err);
 *     cfx_model_save("fast.fx", gm, NULL, &err);
 */
#ifndef CFX_OPTIMIZE_H
#define CFX_OPTIMIZE_H

#include <cfx/pass_manager.h>

/* Called for each node of which two algorithms were measured, by the name of its
 * first original node; the faster is taken. */
typedef void cfx_tuned_hook(void *user, const char *node, double direct,
                            double winograd);

/* Zeroed members take the defaults. */
typedef struct cfx_optimize_options {
    size_t size;        /* sizeof(cfx_optimize_options) */
    const char *passes; /* in place of cfx_optimize_passes */
    /* Then keep packed weights in bfloat16, and multiply in it where the processor
     * can; images between convolutions are bfloat16 then, too. A layer changes its
     * values by about 0.3 % of the largest, 2 % at most in the tests; deep networks add
     * that up. */
    bool bfloat16;
    /* Then keep packed weights of linear layers and products in int8, with a scale
     * for each feature; sums are in float32. */
    bool int8_weights;
    /* Choose algorithms by measuring copies of the model for about so long, on the
     * context's threads, instead of by their costs; 0: by costs. The graph shows
     * the choice: blocked_winograd_conv2d or blocked_conv2d. Needs extents that
     * are numbers, and takes no `passes`. */
    double tune_seconds;
    cfx_shape_env *env; /* of the inputs' symbols */
    /* Called after each pass, as by a pass manager. */
    cfx_pass_hook *after;
    cfx_tuned_hook *tuned;
    void *user; /* for all hooks */
    /* Called at the end with the nodes that did not get a faster form, and why. */
    cfx_missed_hook *missed;
} cfx_optimize_options;

CFX_BEGIN_DECLS

/* The passes, as the pass manager takes them. */
CFX_API extern const char *const cfx_optimize_passes;

/*
 * Optimize gm for inputs of these shapes: metas, or tensors whose data is not
 * read, in the order of the placeholders. Shapes are propagated before each
 * pass; those that the graph did not have before are removed at the end, and so
 * are parameters and buffers that nothing reads any more. The
 * result may be run with other shapes, unless it asserts those of its inputs, as it
 * does where it computes parts of a concatenation in their place (give such extents
 * symbols, and they are computed apart); it then computes the same, perhaps
 * slower than it could. Needs weights. Fails as shape propagation and passes
 * do; the graph is then well-formed, but may be partly rewritten.
 */
CFX_API cfx_status cfx_optimize(cfx_module *gm, const cfx_value *inputs,
                                size_t ninputs,
                                const cfx_optimize_options *options,
                                cfx_error *err);

CFX_END_DECLS

#endif
