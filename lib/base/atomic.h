/*
 * atomic.h -- reference counts and spinlocks.
 *
 * Counts live in public structs as a plain `int refs`, which C++ can read too,
 * so they are changed by the compilers' own functions. A count of 0 or less
 * means that the object is not counted: it is constant, or part of another.
 */
#ifndef CFX_ATOMIC_H
#define CFX_ATOMIC_H

#include <sched.h>
#include <stdbool.h>

#include <cfx/compiler.h>

/* False for what belongs to an arena. */
CFX_INLINE bool cfx_ref_counts(const int *refs)
{
    return __atomic_load_n(refs, __ATOMIC_RELAXED) > 0;
}

CFX_INLINE void cfx_ref_inc(int *refs)
{
    if (cfx_ref_counts(refs))
        __atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}

/* True if that was the last reference. */
CFX_INLINE bool cfx_ref_dec(int *refs)
{
    int now = __atomic_load_n(refs, __ATOMIC_ACQUIRE);
    if (now <= 0)
        return false;
    /* The holder of the only reference needs no atomic write. */
    if (now == 1) {
        __atomic_store_n(refs, 0, __ATOMIC_RELAXED);
        return true;
    }
    return __atomic_fetch_sub(refs, 1, __ATOMIC_ACQ_REL) == 1;
}

/* Give the core's other hardware thread some cycles. */
CFX_INLINE void cfx_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/*
 * A lock for sections of a few dozen instructions. One locked instruction to
 * take it and a store to leave it: a mutex costs twice that.
 */
typedef struct cfx_spin {
    unsigned char taken;
} cfx_spin;

CFX_INLINE void cfx_spin_lock(cfx_spin *lock)
{
    for (int tries = 0; __atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE);
         tries++) {
        while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED)) {
            /* The holder may have been preempted. */
            if (++tries > 64)
                sched_yield();
            else
                cfx_cpu_pause();
        }
    }
}

CFX_INLINE void cfx_spin_unlock(cfx_spin *lock)
{
    __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

#endif
