/*
 * watchdog.h -- a thread that ends the process when it waits for too long.
 */
#ifndef CFX_MPI_WATCHDOG_H
#define CFX_MPI_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

typedef struct watchdog {
    pthread_t thread;
    bool runs;
    atomic_bool ends;
    double seconds;
    int rank;
    const char *host;
    _Atomic(const char *) what; /* NULL: it waits for nothing */
    atomic_llong since;         /* of a monotonic clock, nanoseconds */
} watchdog;

/* Start it; without a limit (0) no thread is made. Returns false if the system
 * makes none. */
bool watchdog_start(watchdog *w, double seconds, int rank, const char *host);
void watchdog_stop(watchdog *w);

/* `what` names the call that waits, NULL ends the wait. */
void watchdog_wait(watchdog *w, const char *what);

#endif
