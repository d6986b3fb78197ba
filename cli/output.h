/*
 * output.h -- name, print and write the results of a model.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"

/* Print the name and type of each part of a result, then its content; for
 * tensors the `top` largest elements of each row instead, if not 0. */
cfx_status cli_print_result(FILE *to, cfx_context *ctx, cfx_value v, int top,
                            cfx_error *err);

/* Write each part to DIR/output.npy, output_0.npy, output_KEY.npy, ...; creates
 * the directory. Nothing is written unless every part can be. */
cfx_status cli_write_result(const char *dir, cfx_context *ctx, cfx_value v,
                            cfx_error *err);

/* Write a tensor, or a number as a tensor of rank 0, to FILE.npy or, under the
 * name `key`, to FILE.safetensors. */
cfx_status cli_write_value(const char *path, const char *key, cfx_context *ctx,
                           cfx_value v, cfx_error *err);

#endif
