/*
 * context.h -- what is in a context. Not installed.
 *
 * A part above base keeps data of its own here: it has a cfx_slot, which is
 * filled at its first use and released with the context.
 */
#ifndef CFX_BASE_CONTEXT_H
#define CFX_BASE_CONTEXT_H

#include <stdatomic.h>

#include <cfx/context.h>

#include "base/atomic.h"
#include "base/heap.h"
#include "base/pool.h"

/* A part's data in a context: how it is made and freed. A static constant,
 * which is known by its address. */
typedef struct cfx_slot {
    void *(*make)(cfx_context *ctx);
    void (*free)(cfx_context *ctx, void *p);
} cfx_slot;

/* More parts than there are. */
enum { CFX_SLOTS = 8 };

struct cfx_context {
    cfx_heap heap;
    /* Whose all the rest is: its own, or that of the one it is beside. */
    cfx_context *of;
    cfx_thread_pool pool;
    int threads;
    cfx_cpu cpu;

    atomic_int cancelled;
    double timeout;   /* as asked for; 0: none */
    int64_t deadline; /* cfx_clock_ns() may go up to here */

    cfx_spin random_lock;
    uint64_t random_key, random_counter;

    bool strict_devices;
    atomic_bool device_told; /* that what is on other devices runs on the CPU */

    void (*message)(void *user, cfx_level level, const char *text);
    void *message_user;

    /* Filled in the order of first use; `of` is set last. */
    cfx_spin slot_lock;
    struct {
        _Atomic(const cfx_slot *) of;
        void *p;
    } slot[CFX_SLOTS];
};

/*
 * The data in a slot, made where it is not there yet; `make` may run in two
 * threads at once, and what comes second is freed. What was made last is freed
 * first. Returns NULL when `make` does.
 */
void *cfx_context_slot(cfx_context *ctx, const cfx_slot *slot);

/*
 * A context beside another: it has a heap of its own, and all else
 * (registries, threads, limits, random numbers) is the other's, which must
 * outlive it. Blocks are asked of `source`. Give it back when all of its memory
 * has been.
 */
cfx_status cfx_context__beside(cfx_context **out, cfx_context *of,
                               const cfx_allocator *from,
                               const cfx_heap_source *source, cfx_error *err);
void cfx_context__beside_free(cfx_context *ctx);

/* Refuse a table of a program that was compiled for another ABI. */
cfx_status cfx_check_abi(const cfx_abi *abi, size_t size, const char *type,
                         cfx_error *err);

/* The processors this thread may run on. */
int cfx_cpu_count(void);

/* Does the processor, and do the operating system and this build, have it? */
bool cfx_cpu_has(cfx_cpu cpu);
cfx_cpu cfx_cpu_best(void);

/* Set OpenBLAS, if that is the BLAS, to one thread. */
void cfx_blas_one_thread(void);

/* Nanoseconds since some moment, never going back. */
int64_t cfx_clock_ns(void);

#endif
