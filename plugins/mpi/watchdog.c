/*
 * watchdog -- end the process when a collective takes too long.
 *
 * Open MPI does not notice a silent peer. The thread calls no function of MPI,
 * so that MPI_THREAD_FUNNELED is enough; mpirun ends the other ranks when this
 * one exits.
 */
#include "watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void check(const watchdog *w)
{
    char line[512];
    long long since = atomic_load(&w->since);
    const char *what = atomic_load(&w->what);
    if (!what || (double)(now() - since) < w->seconds * 1e9)
        return;
    int n = snprintf(
        line, sizeof(line),
        "cfx: rank %d on %s: waits in %s for the other ranks since %g s (--comm-timeout)\n",
        w->rank, w->host, what, w->seconds);
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        _exit(1);
    _exit(1);
}

static void *watch(void *p)
{
    const struct timespec pause = {0, 20000000};
    watchdog *w = p;
    while (!atomic_load(&w->ends)) {
        check(w);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

bool watchdog_start(watchdog *w, double seconds, int rank, const char *host)
{
    sigset_t all, old;
    w->seconds = seconds;
    w->rank = rank;
    w->host = host;
    if (seconds <= 0)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->runs = !pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return w->runs;
}

void watchdog_stop(watchdog *w)
{
    atomic_store(&w->ends, true);
    if (w->runs)
        pthread_join(w->thread, NULL);
    w->runs = false;
}

void watchdog_wait(watchdog *w, const char *what)
{
    if (!w->runs)
        return;
    if (what)
        atomic_store(&w->since, now());
    atomic_store(&w->what, what);
}
