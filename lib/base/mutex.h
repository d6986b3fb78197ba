/*
 * mutex.h -- mutexes, which are nothing in a build without threads. Not
 * installed.
 */
#ifndef CFX_BASE_MUTEX_H
#define CFX_BASE_MUTEX_H

#include <stdbool.h>

#include <cfx/compiler.h>

#ifdef CFX_NO_THREADS

typedef struct cfx_mutex {
    char unused;
} cfx_mutex;

/* Both return false if the system cannot create a mutex. */
CFX_INLINE bool cfx_mutex_init(cfx_mutex *m)
{
    (void)m;
    return true;
}
/* The owner may lock it again. */
CFX_INLINE bool cfx_mutex_init_recursive(cfx_mutex *m)
{
    return cfx_mutex_init(m);
}
/* clang-format off */
CFX_INLINE void cfx_mutex_destroy(cfx_mutex *m) { (void)m; }
CFX_INLINE void cfx_mutex_lock(cfx_mutex *m) { (void)m; }
CFX_INLINE void cfx_mutex_unlock(cfx_mutex *m) { (void)m; }
/* clang-format on */

#else

#include <pthread.h>

typedef struct cfx_mutex {
    pthread_mutex_t m;
} cfx_mutex;

CFX_INLINE bool cfx_mutex_init(cfx_mutex *m)
{
    return !pthread_mutex_init(&m->m, NULL);
}

CFX_INLINE bool cfx_mutex_init_recursive(cfx_mutex *m)
{
    pthread_mutexattr_t attr;
    if (pthread_mutexattr_init(&attr))
        return false;
    bool ok = !pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) &&
              !pthread_mutex_init(&m->m, &attr);
    pthread_mutexattr_destroy(&attr);
    return ok;
}

CFX_INLINE void cfx_mutex_destroy(cfx_mutex *m)
{
    pthread_mutex_destroy(&m->m);
}

CFX_INLINE void cfx_mutex_lock(cfx_mutex *m)
{
    pthread_mutex_lock(&m->m);
}

CFX_INLINE void cfx_mutex_unlock(cfx_mutex *m)
{
    pthread_mutex_unlock(&m->m);
}

#endif

#endif
