/*
 * progress_none -- builds without threads show no progress.
 */
#include "progress.h"

cli_progress *cli_progress_begin(const char *what)
{
    (void)what;
    return NULL;
}

void cli_progress_end(cli_progress *p)
{
    (void)p;
}

void cli_progress_report(void *progress, size_t done, size_t total)
{
    (void)progress;
    (void)done;
    (void)total;
}
