/*
 * thread_pool.h -- the threads of a context. Not installed.
 *
 * Threads start at the first use. One job runs at a time; a call while the
 * pool is busy, nested or from another thread, runs on its own thread.
 */
#ifndef CFX_BASE_POOL_H
#define CFX_BASE_POOL_H

#include "base/stop.h"

/* Run all pieces on this thread. */
CFX_INLINE void cfx_pool_run_alone(const cfx_context *ctx, int64_t n,
                                   int64_t grain, cfx_parallel_fn *fn,
                                   void *arg, int index)
{
    for (int64_t begin = 0; begin < n && !cfx_context_stops(ctx);) {
        int64_t end = grain < n - begin ? begin + grain : n;
        fn(arg, begin, end, index);
        begin = end;
    }
}

#ifdef CFX_NO_THREADS

typedef struct cfx_thread_pool {
    char unused;
} cfx_thread_pool;

#else

#include <pthread.h>
#include <stdatomic.h>

typedef struct cfx_pool_worker cfx_pool_worker;

typedef struct cfx_thread_pool {
    /* Polled by the workers; pool.c describes its bits. */
    _Alignas(64) _Atomic(uint64_t) state;
    atomic_int sleeping;
    atomic_bool stop;

    /* The job, written by its owner before workers can join. */
    _Alignas(64) cfx_parallel_fn *fn;
    void *arg;
    int64_t n, grain, step;
    int working;     /* number of workers that share the job */
    int64_t spin_ns; /* time to spin before sleeping */

    _Alignas(64) atomic_bool busy;
    atomic_int workers;      /* the owner and its threads; 0: not started */
    cfx_pool_worker *worker; /* the owner is the first */
    int create_limit;        /* for tests: the most threads that can be
                                 started */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
} cfx_thread_pool;

#endif

bool cfx_pool_init(cfx_context *ctx);
/* Stop the threads and free their memory. */
void cfx_pool_release(cfx_context *ctx);
/* Begin anew in the child of a fork, which has no other threads. */
void cfx_pool_forget_workers(cfx_context *ctx);

#endif
