/*
 * fork.h -- contexts in a process that forks. Not installed.
 */
#ifndef CFX_BASE_FORK_H
#define CFX_BASE_FORK_H

#include <cfx/context.h>

#ifdef CFX_NO_THREADS

CFX_INLINE void cfx_fork_add(cfx_context *ctx)
{
    (void)ctx;
}
CFX_INLINE void cfx_fork_remove(cfx_context *ctx)
{
    (void)ctx;
}

#else

/* A context that is added can be used, and freed, in the child of a fork that
 * another thread makes at any time. */
void cfx_fork_add(cfx_context *ctx);
void cfx_fork_remove(cfx_context *ctx);

#endif

#endif
