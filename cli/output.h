/*
 * output.h -- name, print and write the results of a model.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"

/* A result, and what the model's file calls its parts: a tuple of strings and None,
 * or absent. Both are borrowed. */
typedef struct cli_result {
    cfx_value value, names;
} cli_result;

/* The names of a model's outputs, which its output node has as `output_names`. */
cfx_value cli_output_names(const cfx_module *gm);

/* Call fn for each part of a result, with its name. */
typedef cfx_status cli_part_fn(void *user, const char *name, cfx_value v,
                               cfx_error *err);
cfx_status cli_visit_result(const cli_result *r, cli_part_fn *fn, void *user,
                            cfx_error *err);

/* The names of classes, one a line of a file. */
typedef struct cli_labels {
    const char *path;
    char *text;
    char **item;
    int64_t n;
} cli_labels;

cfx_status cli_labels_read(cli_labels *out, const char *path, cfx_error *err);
void cli_labels_release(cli_labels *l);

/* The largest elements of a row, in order. */
typedef struct cli_ranked {
    double value;
    int64_t index;
} cli_ranked;

/* How results are printed. */
typedef struct cli_printing {
    FILE *to;
    cfx_context *ctx;
    int top; /* so many of the largest elements of each row; 0: all elements */
    cli_labels labels; /* with `top`; n is 0 without */
} cli_printing;

/* Call fn for each row of a tensor with its largest elements, `n` of them, and
 * the place of the row in the tensor. */
typedef void cli_row_fn(void *user, const cli_ranked *best, int64_t n,
                        const int64_t *place);
cfx_status cli_rank_rows(const cli_printing *p, const cfx_tensor *t,
                         cli_row_fn *fn, void *user, cfx_error *err);

/* Print the name and type of each part of a result, then its content. */
cfx_status cli_print_result(const cli_printing *p, const cli_result *r,
                            cfx_error *err);

/* The times of repeated runs, in seconds. */
typedef struct cli_times {
    int runs, warmup;
    double fastest, median, p90, p99;
    int64_t batch; /* items of one run; 0: not known */
} cli_times;

/* Print a document of jansson (output_json.c) and release it; NULL: there was no
 * memory for it. Write errors are reported when the output is closed. */
struct json_t;
cfx_status cli_print_document(FILE *to, struct json_t *document,
                              cfx_error *err);

/* Print a result as JSON (output_json.c), with times unless `runs` is 0. */
cfx_status cli_print_json(const cli_printing *p, const cli_result *r,
                          const cli_times *times, cfx_error *err);

/* A tensor, or a number as a tensor of rank 0: a new reference. Messages begin
 * with `path`. */
cfx_status cli_part_tensor(cfx_tensor **out, cfx_context *ctx, cfx_value v,
                           const char *path, cfx_error *err);

/* Write each part to DIR/NAME.npy (output.npy, output_0.npy, output_KEY.npy); creates
 * the directory. Nothing is written unless every part can be. */
cfx_status cli_write_result(const char *dir, cfx_context *ctx,
                            const cli_result *r, cfx_error *err);

/* Write a tensor, or a number as a tensor of rank 0, to FILE.npy or, under the
 * name `key`, to FILE.safetensors. */
cfx_status cli_write_value(const char *path, const char *key, cfx_context *ctx,
                           cfx_value v, cfx_error *err);

#endif
