/*
 * thread_pool -- a thread pool that runs one job at a time, in pieces.
 *
 * `state` describes the job in one word: its number in the upper half, OPEN
 * while workers may join, WAITING when its owner sleeps, and the number of
 * workers on it. A worker joins an open job by incrementing that number. The
 * owner works, too, closes the job when no piece is left, and waits for the
 * workers that joined. It never waits for a sleeping worker.
 *
 * Pieces that have not begun when the context stops are skipped.
 *
 * Each worker has its own range of pieces, so that it accesses the same memory
 * in the next operator. After its range it steals pieces from the others',
 * sleeping workers included.
 */
#define _GNU_SOURCE 1
#include "base/thread_pool.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/context_impl.h"
#include "base/stop.h"

#define OPEN (UINT64_C(1) << 31)
#define WAITING (UINT64_C(1) << 30)
#define ACTIVE (WAITING - 1)
#define NEXT_JOB (UINT64_C(1) << 32)

/* Waking a thread costs some 30 us, so it is worth some spinning. */
enum { SPIN_NS = 100000 };

struct cfx_pool_worker {
    _Alignas(64) _Atomic(int64_t) next; /* piece of this worker's range */
    int64_t end;
    cfx_context *ctx;
    _Atomic(pthread_t) thread;
};

/* ---- Pieces ---- */

static void run_piece(const cfx_thread_pool *p, int64_t i, int index)
{
    int64_t begin = i * p->grain;
    int64_t end = p->grain < p->n - begin ? begin + p->grain : p->n;
    p->fn(p->arg, begin, end, index);
}

static void run_pieces(const cfx_context *ctx, cfx_thread_pool *p, int index)
{
    int workers = p->working;
    for (int k = 0; k < workers; k++) {
        int at = index + k < workers ? index + k : index + k - workers;
        cfx_pool_worker *w = &p->worker[at];
        int64_t end = w->end;
        for (;;) {
            int64_t i = atomic_fetch_add_explicit(&w->next, p->step,
                                                  memory_order_relaxed);
            if (i >= end)
                break;
            int64_t stop = p->step < end - i ? i + p->step : end;
            for (; i < stop; i++) {
                if (cfx_context_stops(ctx))
                    return;
                run_piece(p, i, index);
            }
        }
    }
}

/* ---- Workers ---- */

static uint64_t load_state(const cfx_thread_pool *p)
{
    return atomic_load(&p->state);
}

static bool is_new(uint64_t state, uint64_t seen)
{
    return (state & OPEN) && (state ^ seen) >= NEXT_JOB;
}

static bool stopped(const cfx_thread_pool *p)
{
    return atomic_load_explicit(&p->stop, memory_order_relaxed);
}

/* Spin for a job for a while. */
static bool spin_for_job(const cfx_thread_pool *p, uint64_t seen)
{
    int64_t until = 0;
    for (unsigned i = 1;; i++) {
        if (is_new(atomic_load_explicit(&p->state, memory_order_acquire),
                   seen) ||
            stopped(p))
            return true;
        cfx_cpu_pause();
        if (i % 32 == 0) {
            int64_t now = cfx_clock_ns();
            if (!until)
                until = now + p->spin_ns;
            if (now >= until)
                return false;
        }
    }
}

static void sleep_for_job(cfx_thread_pool *p, uint64_t seen)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleeping, 1);
    while (!is_new(load_state(p), seen) && !stopped(p))
        pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleeping, 1);
    pthread_mutex_unlock(&p->lock);
}

/* Join the job, unless it has been closed. */
static bool join(cfx_thread_pool *p, uint64_t *seen)
{
    uint64_t s = load_state(p);
    while (is_new(s, *seen))
        if (atomic_compare_exchange_weak(&p->state, &s, s + 1)) {
            *seen = s;
            return true;
        }
    return false;
}

static void leave(cfx_thread_pool *p)
{
    uint64_t before = atomic_fetch_sub(&p->state, 1);
    if ((before & ACTIVE) == 1 && (before & WAITING)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

static void *worker_main(void *arg)
{
    cfx_pool_worker *w = arg;
    cfx_thread_pool *p = &w->ctx->pool;
    int index = (int)(w - p->worker);
    uint64_t seen = 0;
    for (;;) {
        if (!spin_for_job(p, seen))
            sleep_for_job(p, seen);
        if (stopped(p))
            return NULL;
        if (join(p, &seen)) {
            run_pieces(w->ctx, p, index);
            leave(p);
        }
    }
}

/* ---- The job's owner ---- */

/* Start as many as the system allows. They block signals, except the
 * synchronous ones (SIGSEGV, ...), which kill a process that blocks them. */
static void create_threads(cfx_context *ctx)
{
    cfx_thread_pool *p = &ctx->pool;
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    bool masked = !pthread_sigmask(SIG_SETMASK, &all, &old);
    /* With more threads than processors, spinning would hurt. */
    p->spin_ns = ctx->threads <= cfx_cpu_count() ? SPIN_NS : 0;
    int made = 1;
    for (; made < ctx->threads && made <= p->create_limit; made++) {
        pthread_t thread;
        cfx_pool_worker *w = &p->worker[made];
        if (pthread_create(&thread, NULL, worker_main, w))
            break;
        atomic_store_explicit(&w->thread, thread, memory_order_relaxed);
    }
    if (masked)
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    atomic_store_explicit(&p->workers, made, memory_order_release);
}

static void share_out(cfx_thread_pool *p, int64_t pieces)
{
    int workers = p->working;
    int64_t each = pieces / workers, rest = pieces % workers, at = 0;
    for (int i = 0; i < workers; i++) {
        atomic_store_explicit(&p->worker[i].next, at, memory_order_relaxed);
        at += each + (i < rest);
        p->worker[i].end = at;
    }
    /* Very small pieces are taken several at a time. */
    p->step = each / 16 + 1;
}

static void publish(cfx_thread_pool *p, int64_t pieces)
{
    uint64_t job = load_state(p) / NEXT_JOB + 1;
    atomic_store(&p->state, job * NEXT_JOB | OPEN);
    int sleeping = atomic_load(&p->sleeping);
    if (!sleeping)
        return;
    pthread_mutex_lock(&p->lock);
    if (pieces > sleeping)
        pthread_cond_broadcast(&p->wake);
    for (; pieces <= sleeping && pieces > 1; pieces--)
        pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void finish(cfx_thread_pool *p)
{
    uint64_t s = atomic_fetch_and(&p->state, ~OPEN);
    int64_t until = 0;
    for (unsigned i = 1; s & ACTIVE; i++) {
        cfx_cpu_pause();
        if (i % 32 == 0) {
            int64_t now = cfx_clock_ns();
            if (!until)
                until = now + p->spin_ns;
            if (now >= until)
                break;
        }
        s = load_state(p);
    }
    if (!(s & ACTIVE))
        return;
    s = atomic_fetch_or(&p->state, WAITING);
    pthread_mutex_lock(&p->lock);
    while (load_state(p) & ACTIVE)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* The index of this thread in a busy pool. */
static int index_of_self(const cfx_thread_pool *p)
{
    int n = atomic_load_explicit(&p->workers, memory_order_acquire);
    pthread_t self = pthread_self();
    for (int i = 1; i < n; i++)
        if (pthread_equal(self, atomic_load_explicit(&p->worker[i].thread,
                                                     memory_order_relaxed)))
            return i;
    return 0;
}

void cfx_parallel_for(cfx_context *ctx, int64_t n, int64_t grain,
                      cfx_parallel_fn *fn, void *arg)
{
    ctx = ctx->parent;
    cfx_thread_pool *p = &ctx->pool;
    if (grain < 1)
        grain = 1;
    if (ctx->threads == 1) {
        cfx_pool_run_alone(ctx, n, grain, fn, arg, 0);
        return;
    }
    bool idle = false;
    if (n <= grain || !atomic_compare_exchange_strong_explicit(
                          &p->busy, &idle, true, memory_order_acquire,
                          memory_order_relaxed)) {
        idle = !atomic_load_explicit(&p->busy, memory_order_relaxed);
        cfx_pool_run_alone(ctx, n, grain, fn, arg,
                           idle ? 0 : index_of_self(p));
        return;
    }
    if (!atomic_load_explicit(&p->workers, memory_order_relaxed))
        create_threads(ctx);
    int64_t pieces = n / grain + (n % grain != 0);
    p->fn = fn;
    p->arg = arg;
    p->n = n;
    p->grain = grain;
    p->working = atomic_load_explicit(&p->workers, memory_order_relaxed);
    share_out(p, pieces);
    publish(p, pieces);
    run_pieces(ctx, p, 0);
    finish(p);
    atomic_store_explicit(&p->busy, false, memory_order_release);
}

/* ---- Creation ---- */

bool cfx_pool_init(cfx_context *ctx)
{
    cfx_thread_pool *p = &ctx->pool;
    p->create_limit = INT_MAX - 1;
    /* Its size does not depend on the work, so it is not accounted. */
    size_t size = (size_t)ctx->threads * sizeof(*p->worker);
    p->worker = ctx->heap.from.alloc(ctx->heap.from.user, size, 64);
    if (!p->worker)
        return false;
    memset(p->worker, 0, size);
    for (int i = 0; i < ctx->threads; i++)
        p->worker[i].ctx = ctx;
    if (pthread_mutex_init(&p->lock, NULL))
        goto no_lock;
    if (pthread_cond_init(&p->wake, NULL))
        goto no_wake;
    if (!pthread_cond_init(&p->done, NULL))
        return true;
    pthread_cond_destroy(&p->wake);
no_wake:
    pthread_mutex_destroy(&p->lock);
no_lock:
    ctx->heap.from.free(ctx->heap.from.user, p->worker, size);
    p->worker = NULL;
    return false;
}

/* Nothing is destroyed: what waits on it in the parent does not exist here. */
void cfx_pool_forget_workers(cfx_context *ctx)
{
    cfx_thread_pool *p = &ctx->pool;
    if (!p->worker)
        return;
    atomic_store(&p->state, 0);
    atomic_store(&p->sleeping, 0);
    atomic_store(&p->workers, 0);
    atomic_store(&p->busy, false);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
}

void cfx_pool_release(cfx_context *ctx)
{
    cfx_thread_pool *p = &ctx->pool;
    if (!p->worker)
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    int workers = atomic_load(&p->workers);
    for (int i = 1; i < workers; i++)
        pthread_join(atomic_load(&p->worker[i].thread), NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    ctx->heap.from.free(ctx->heap.from.user, p->worker,
                        (size_t)ctx->threads * sizeof(*p->worker));
    p->worker = NULL;
}
