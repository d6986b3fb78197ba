/*
 * save.h -- a model into files.
 */
#ifndef CLI_SAVE_H
#define CLI_SAVE_H

#include "cli.h"

/* Does some parameter or buffer have numbers? */
bool cli_has_weights(const cfx_module *gm);

/*
 * Write a model to `path`, and what numbers it has to the .safetensors file
 * beside it: both, or neither. The text is PyTorch's where that tells all, and
 * `plain` allows it; else the superset. Weights are not written to pipes and
 * devices.
 */
cfx_status cli_save_model(cfx_context *ctx, const cfx_module *gm,
                          const char *path, bool plain, cfx_error *err);

/* The text alone, to a stream. */
cfx_status cli_print_saved(FILE *to, cfx_context *ctx, const cfx_module *gm,
                           bool plain, cfx_error *err);

/* Is the file's text the superset by choice, not only because PyTorch's text
 * would have lost something? False where it cannot be read. */
bool cli_is_superset(const char *path);

#endif
