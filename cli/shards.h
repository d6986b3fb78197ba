/*
 * shards.h -- run a model on all rows of its inputs, batch by batch, and share the
 * batches among processes: `cfx run --batch` and `--shard`.
 */
#ifndef CLI_SHARDS_H
#define CLI_SHARDS_H

#include "batches.h"
#include "row_files.h"

/* Shard `index` of `count`, from 0. */
typedef struct cli_shard {
    int index, count;
} cli_shard;

/* Read "I/N" with I from 1 to N; false if it is something else. */
bool cli_shard_parse(cli_shard *out, const char *text);

/* Run the model on one batch; *result is a new reference. */
typedef cfx_status cli_batch_fn(void *user, const cli_inputs *in,
                                cfx_value *result, cfx_error *err);

typedef struct cli_rows_run {
    cfx_context *ctx;
    const char *dir; /* of the results; it is created */
    cli_batches *rows;
    cli_shard shard;
    uint64_t model; /* what cli_model_sum gives */
    cfx_module *gm;
    cfx_value names; /* of the results; absent: none */
    cli_batch_fn *run;
    void *user;
    FILE *to; /* for a line that tells what is done; NULL: none is printed */
} cli_rows_run;

/* A sum of the model's graph, its weights and a text, which tells the options. */
cfx_status cli_model_sum(uint64_t *out, const cfx_module *gm, const char *text,
                         cfx_error *err);

/*
 * Run the batches of a shard and write their rows to DIR/NAME.npy.part. A file
 * DIR/shard-I-of-N tells how many are done, so that a run that was ended goes on
 * after them. Whoever finds that all shards are done removes these files and
 * renames the results into place.
 */
cfx_status cli_run_rows(const cli_rows_run *r, cfx_error *err);

#endif
