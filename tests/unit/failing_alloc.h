/*
 * failing_alloc.h -- an allocator that counts what it gave, and fails when it
 * is told to.
 */
#ifndef CFX_FAILING_ALLOC_H
#define CFX_FAILING_ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cfx/compiler.h>

/* Allocations until failure; negative: no end. */
CFX_UNUSED static long allowed = -1;
/* An allocation has failed. */
CFX_UNUSED static bool refused;
/* Bytes that were not given back. */
CFX_UNUSED static atomic_long held;

CFX_INLINE void *test_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (!allowed) {
        refused = true;
        return NULL;
    }
    if (allowed > 0)
        allowed--;
    held += (long)size;
    return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

CFX_INLINE void test_free(void *user, void *p, size_t size)
{
    (void)user;
    held -= (long)size;
    free(p);
}

#endif
