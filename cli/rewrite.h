/*
 * rewrite.h -- parts of the commands that rewrite a model.
 */
#ifndef CLI_REWRITE_H
#define CLI_REWRITE_H

#include <cfx/compare.h>
#include <cfx/pass_manager.h>

#include "cli.h"

/* ---- A line for each pass ---- */

typedef struct cli_pass_lines {
    FILE *to;     /* NULL: none are printed */
    bool reverse; /* fail if a pass finds nothing to undo */
    bool narrows; /* set if numbers were rounded to a narrower type */
    FILE *missed; /* for the table of --report; NULL: none */
} cli_pass_lines;

/* Print "constant_folding   12 nodes changed (3 made, 9 removed), 0.4 ms": the
 * `after` of a pass manager, whose user is a cli_pass_lines. */
cfx_status cli_print_pass_line(void *user, cfx_module *gm,
                               const cfx_pass_report *r, cfx_error *err);

/* Print the nodes that did not get a faster form: a cfx_missed_hook, whose user is a
 * cli_pass_lines. */
void cli_print_missed(void *user, const cfx_missed *missed, size_t n);

/* ---- --verify ---- */

/* A run before the rewrite, to be compared with one after it. */
typedef struct cli_verifier {
    cli *c;
    const cli_list *inputs;
    uint64_t seed;
    cfx_tolerance tolerance;
    FILE *to; /* for the line that tells the result; NULL: none */
    cfx_value before;
} cli_verifier;

cfx_status cli_verify_begin(cli_verifier *v, cfx_module *gm, cfx_error *err);
cfx_status cli_verify_end(cli_verifier *v, cfx_module *gm, cfx_error *err);
void cli_verify_release(cli_verifier *v);

/* ---- --optimize ---- */

/* The difference that optimizing may make, by the largest element: in float32, and
 * in narrower types. */
#define CLI_OPTIMIZED_RMAX 1e-4
#define CLI_NARROWED_RMAX 2e-2

/* The options of commands that optimize models. */
typedef struct cli_optimizing {
    bool optimize, bfloat16, int8_weights, tune;
} cli_optimizing;

#define CLI_BFLOAT16_HELP                                                     \
    "keep packed weights in bfloat16: half the bytes, and faster where the "  \
    "processor multiplies bfloat16"
#define CLI_INT8_HELP                                                         \
    "keep packed weights of linear layers in int8: a quarter of the bytes, "  \
    "and faster where few rows wait for them"

/* Print usage unless options that need --optimize have it; 0: they do. */
int cli_check_optimizing(const cli *c, const cli_optimizing *how);

/* The tolerance of a comparison, by the passes that changed the model. */
cfx_tolerance cli_optimized_tolerance(const cli_pass_lines *lines);

/* Optimize a model for these inputs, tensors or metas; `env` of their symbols,
 * or NULL. `lines` may be NULL. */
cfx_status cli_optimize(cfx_module *gm, const cli_inputs *in,
                        const cli_optimizing *how, cfx_shape_env *env,
                        cli_pass_lines *lines, cfx_error *err);

#endif
