/*
 * pool.h -- the threads of a context. Not installed.
 *
 * The threads are made at the first use. One job runs at a time; whoever comes
 * while the pool is busy, be it from within the job or from another thread of
 * the program, does all its work alone.
 */
#ifndef CFX_BASE_POOL_H
#define CFX_BASE_POOL_H

#include "base/stop.h"

/* All pieces, on this thread. */
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

typedef struct cfx_thread_pool { char unused; } cfx_thread_pool;

#else

#include <pthread.h>
#include <stdatomic.h>

typedef struct cfx_pool_worker cfx_pool_worker;

typedef struct cfx_thread_pool {
    /* What the workers watch; see pool.c for its parts. */
    _Alignas(64) _Atomic(uint64_t) state;
    atomic_int sleeping;
    atomic_bool stop;

    /* The job: its owner writes it before it can be joined. */
    _Alignas(64) cfx_parallel_fn *fn;
    void *arg;
    int64_t n, grain, step;
    int working;              /* of the workers, so many share it out */
    int64_t spin_ns;          /* how long to look before going to sleep */

    _Alignas(64) atomic_bool busy;
    atomic_int workers;       /* the owner and its threads; 0: none made */
    cfx_pool_worker *worker;  /* the owner is the first */
    int create_limit;         /* for tests: so many threads can be had */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
} cfx_thread_pool;

#endif

bool cfx_pool_init(cfx_context *ctx);
/* End the threads and give back their memory. */
void cfx_pool_release(cfx_context *ctx);

#endif
