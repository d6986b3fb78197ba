/*
 * fork -- let contexts survive a fork.
 *
 * The child of a fork has only the thread that forked. A lock that another
 * thread held would stay taken in it for ever, and the workers of a pool are
 * gone. So the locks of all contexts are taken before a fork and given back
 * after it, in both processes, and the child's pools begin without workers.
 *
 * The list of contexts is the library's only global state: pthread_atfork has
 * no place for a context.
 */
#include "base/fork.h"

#ifndef CFX_NO_THREADS

#include <pthread.h>

#include "base/context_impl.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static cfx_context *first;

/* Others allocate while they hold the lock of slots, not the reverse. */
static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
    for (cfx_context *ctx = first; ctx; ctx = ctx->fork_next) {
        cfx_spin_lock(&ctx->slot_lock);
        cfx_spin_lock(&ctx->random_lock);
        cfx_spin_lock(&ctx->heap.lock);
    }
}

static void unlock_all(void)
{
    for (cfx_context *ctx = first; ctx; ctx = ctx->fork_next) {
        cfx_spin_unlock(&ctx->heap.lock);
        cfx_spin_unlock(&ctx->random_lock);
        cfx_spin_unlock(&ctx->slot_lock);
    }
    pthread_mutex_unlock(&list_lock);
}

static void in_child(void)
{
    for (cfx_context *ctx = first; ctx; ctx = ctx->fork_next)
        if (ctx->parent == ctx)
            cfx_pool_forget_workers(ctx);
    unlock_all();
}

static void watch_forks(void)
{
    /* Without memory for this, forks are as unsafe as they are without it. */
    (void)pthread_atfork(before_fork, unlock_all, in_child);
}

void cfx_fork_add(cfx_context *ctx)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&list_lock);
    ctx->fork_next = first;
    ctx->fork_at = &first;
    if (first)
        first->fork_at = &ctx->fork_next;
    first = ctx;
    pthread_mutex_unlock(&list_lock);
}

void cfx_fork_remove(cfx_context *ctx)
{
    pthread_mutex_lock(&list_lock);
    if (ctx->fork_next)
        ctx->fork_next->fork_at = ctx->fork_at;
    *ctx->fork_at = ctx->fork_next;
    pthread_mutex_unlock(&list_lock);
}

#endif
