/*
 * output.h -- results of a model: named, printed, written.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"

/* Print each part of a result: its name and type, then what it holds; of
 * tensors the `top` largest elements of each row instead, if that is not 0. */
cfx_status cli_print_result(FILE *to, cfx_context *ctx, cfx_value v, int top,
                            cfx_error *err);

/* Write each part that has numbers to DIR/output.npy, output_0.npy,
 * output_KEY.npy, ...; makes the directory. Nothing is written unless all can
 * be. */
cfx_status cli_write_result(const char *dir, cfx_context *ctx, cfx_value v,
                            cfx_error *err);

/* Write a tensor, or a number as one of rank 0, to FILE.npy or, under the name
 * `key`, FILE.safetensors. */
cfx_status cli_write_value(const char *path, const char *key, cfx_context *ctx,
                           cfx_value v, cfx_error *err);

#endif
