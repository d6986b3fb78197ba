/*
 * batches.h -- inputs of many rows, cut into batches: calibration data of
 * `cfx quantize`, and the rows that `cfx run --batch` runs a model on.
 */
#ifndef CLI_BATCHES_H
#define CLI_BATCHES_H

#include <cfx/quantize.h>

#include "cli.h"

/* The options about batches. */
typedef struct cli_batching {
    const cli_list *data; /* NAME=FILE for each input */
    const cli_list
        *axes; /* NAME=AXIS of inputs that are not cut along axis 0 */
    int batch; /* rows of a batch; 0: as the model says, or 32 */
    cfx_model_file *samples; /* for inputs that `data` lacks; NULL: none */
    uint64_t seed;           /* of data that is only a type and shape */
} cli_batching;

/* Inputs are cut along the axis of the batch; numbers are the same for all batches. */
typedef struct cli_batches {
    cli_inputs all, one;
    int *axis; /* of each input; -1: it is not cut */
    int64_t rows, batch;
    int64_t sample; /* rows of a batch that single patterns are measured on */
} cli_batches;

/* Release it also on failure; a zeroed one is allowed. */
cfx_status cli_batches_make(cli_batches *b, cli *c, cfx_module *gm,
                            const cli_batching *o, cfx_error *err);
void cli_batches_release(cli_batches *b);

/* Make rows from..from + n the inputs b->one. */
cfx_status cli_batches_take(cli_batches *b, int64_t from, int64_t n,
                            cfx_error *err);

/* All batches, and a few rows of the first ones. */
cfx_quant_data cli_batches_all(cli_batches *b);
cfx_quant_data cli_batches_sample(cli_batches *b);

#endif
