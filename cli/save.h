/*
 * save.h -- write a model to files.
 */
#ifndef CLI_SAVE_H
#define CLI_SAVE_H

#include "cli.h"

/* True if some parameter or buffer has data. */
bool cli_has_weights(const cfx_module *gm);

/*
 * Write a model to `path`, and its weights to the .safetensors file beside it:
 * both, or neither. With `plain`, the text is PyTorch's if that is lossless;
 * otherwise it is the superset. Weights are not written beside pipes and
 * devices.
 */
cfx_status cli_save_model(cfx_context *ctx, const cfx_module *gm,
                          const char *path, bool plain, cfx_error *err);

/* Print only the text to a stream. */
cfx_status cli_print_saved(FILE *to, cfx_context *ctx, const cfx_module *gm,
                           bool plain, cfx_error *err);

/* True if the file is in the superset by choice, not only because PyTorch's
 * text would have lost something. False if it cannot be read. */
bool cli_is_superset(const char *path);

#endif
