/*
 * optimizer.h -- the parts of optimizing that its files share. Not installed.
 */
#ifndef CFX_OPTIMIZE_OPTIMIZER_H
#define CFX_OPTIMIZE_OPTIMIZER_H

#include <cfx/optimize.h>

#include "base/util.h"

/* cfx_optimize_passes are these with block_channels between them, whose options
 * depend on the type of the weights and on what was measured. The last ones follow
 * when weights have been narrowed. */
#define CFX_SWIN "torchvision.models.swin_transformer."
#define CFX_PASSES_BEFORE_BLOCKS                                              \
    "inline_subgraphs, inline_modules(types=[MultiheadAttention, PReLU]), "   \
    "decompose(only=[" CFX_SWIN "shifted_window_attention, " CFX_SWIN         \
    "_patch_merging_pad]), "                                                  \
    "functionalize, dead_code, inline_numbers, remove_noops, "                \
    "fuse_layer_norm, recompose, "                                            \
    "fuse_attention, group_heads, remove_noops, common_subexpressions, "      \
    "fuse_conv_bn, fuse_linear_bn, fuse_gelu, lower_quantized, "              \
    "pack_quantized, constant_folding(quantized=True), image_rows, "
#define CFX_PASSES_AFTER_BLOCKS                                               \
    ", pack_recurrent, pack_linear, fuse_pointwise, dead_code"
#define CFX_PASSES_LAST "fuse_depthwise, inplace_cat"

typedef struct cfx_optimizer {
    const cfx_value *inputs;
    size_t ninputs;
    const cfx_optimize_options *o;
} cfx_optimizer;

/* Apply `passes`, then those that narrow weights, then `last` unless it is NULL. Each
 * knows the shapes. `final`: the user's hooks are called. */
cfx_status cfx_optimizer__apply(const cfx_optimizer *z, cfx_module *gm,
                                const char *passes, const char *last,
                                bool final, cfx_error *err);

/* Append to *passes those that make gm fastest here, by measuring copies of it.
 * Fails as optimizing and running do, and with CFX_EINVAL for inputs with
 * symbols. */
cfx_status cfx_optimizer__tune(const cfx_optimizer *z, const cfx_module *gm,
                               cfx_buf *passes, cfx_error *err);

#endif
