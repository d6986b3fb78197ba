/*
 * progress -- show the progress of long work in one line on a terminal, from
 * the third second on. A thread writes it, since one node may take minutes;
 * builds without threads use progress_none.c.
 */
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SILENT_SECONDS = 2, WIDTH = 60 };

struct cli_progress {
    const char *what;
    struct timespec start;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t done, total;
    bool end;
};

static double seconds_since(const struct timespec *start)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)(t.tv_sec - start->tv_sec) +
           1e-9 * (double)(t.tv_nsec - start->tv_nsec);
}

static void show(const cli_progress *p)
{
    char line[WIDTH + 1];
    int n = snprintf(line, sizeof(line), "%s: %.0f s", p->what,
                     seconds_since(&p->start));

    if (p->total && n > 0 && n < WIDTH)
        snprintf(line + n, sizeof(line) - (size_t)n, ", %zu of %zu done",
                 p->done, p->total);
    fprintf(stderr, "\r%-*s", WIDTH, line);
}

static void *write_lines(void *user)
{
    cli_progress *p = user;
    struct timespec next = p->start;
    bool shown = false;

    next.tv_sec += SILENT_SECONDS;
    pthread_mutex_lock(&p->lock);
    while (!p->end) {
        if (pthread_cond_timedwait(&p->ended, &p->lock, &next) != ETIMEDOUT)
            continue;
        show(p);
        shown = true;
        next.tv_sec++;
    }
    pthread_mutex_unlock(&p->lock);
    if (shown)
        fprintf(stderr, "\r%*s\r", WIDTH, "");
    return NULL;
}

/* If the thread cannot be created, no line is shown. */
cli_progress *cli_progress_begin(const char *what)
{
    cli_progress *p = isatty(2) ? calloc(1, sizeof(*p)) : NULL;

    if (!p)
        return NULL;
    p->what = what;
    clock_gettime(CLOCK_REALTIME, &p->start);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, NULL);
    if (!pthread_create(&p->thread, NULL, write_lines, p))
        return p;
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}

void cli_progress_report(void *progress, size_t done, size_t total)
{
    cli_progress *p = progress;

    pthread_mutex_lock(&p->lock);
    p->done = done;
    p->total = total;
    pthread_mutex_unlock(&p->lock);
}

void cli_progress_end(cli_progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->end = true;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
