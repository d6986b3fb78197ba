/*
 * progress.h -- how far long work is, on stderr where that is a terminal.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_progress cli_progress;

/* Begin to tell of work; NULL, and nothing is told, where stderr is no
 * terminal. End it before anything else is written there. */
cli_progress *cli_progress_begin(const char *what);
void cli_progress_end(cli_progress *p);

/* So many parts are done: a callback of cfx_interp_options and the like, where
 * `progress` is not NULL. */
void cli_progress_tell(void *progress, size_t done, size_t total);

#endif
