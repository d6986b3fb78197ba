/*
 * progress.h -- show the progress of long work on stderr, if it is a terminal.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_progress cli_progress;

/* Begin to show progress; NULL if stderr is not a terminal. End it before
 * writing anything else there. */
cli_progress *cli_progress_begin(const char *what);
void cli_progress_end(cli_progress *p);

/* Report that `done` parts are finished; a callback for cfx_interp_options and
 * others. `progress` is not NULL. */
void cli_progress_report(void *progress, size_t done, size_t total);

#endif
