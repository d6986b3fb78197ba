/*
 * row_files.h -- results of many rows, written row by row to .npy files that several
 * processes may fill at a time.
 */
#ifndef CLI_ROW_FILES_H
#define CLI_ROW_FILES_H

#include "output.h"

typedef struct cli_row_file cli_row_file;

/* The files of one run: DIR/NAME.npy.part for each part of its result. */
typedef struct cli_row_files {
    const char *dir;
    cfx_context *ctx;
    int64_t rows; /* of each file */
    cli_row_file *item;
    size_t n;
} cli_row_files;

/* Rows of a result: those from `skip` on are row `at` of the files, and the
 * following ones. */
typedef struct cli_row_range {
    int64_t n; /* rows of each part of the result */
    int64_t skip, at;
} cli_row_range;

/* Write rows of a result, and make the files on the first call. Fails with CFX_ESHAPE
 * for parts that do not have such rows, CFX_EUNSUPPORTED, CFX_EIO, CFX_ENOMEM. */
cfx_status cli_row_files_write(cli_row_files *f, const cli_result *r,
                               const cli_row_range *range, cfx_error *err);

/* Wait until the disk has all that was written. Fails with CFX_EIO. */
cfx_status cli_row_files_sync(cli_row_files *f, cfx_error *err);

/* Close the files, which stay as they are. */
void cli_row_files_release(cli_row_files *f);

/* Name all files DIR/NAME.npy.part of a directory DIR/NAME.npy; those that another
 * process renames in the meantime are no error. Fails with CFX_EIO. */
cfx_status cli_row_files_finish(const char *dir, cfx_error *err);

#endif
