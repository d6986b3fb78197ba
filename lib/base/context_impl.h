/*
 * context_impl.h -- the struct of a context. Not installed.
 *
 * Modules above base keep their data in slots, which are created at their
 * first use and released with the context.
 */
#ifndef CFX_BASE_CONTEXT_H
#define CFX_BASE_CONTEXT_H

#include <stdatomic.h>

#include <cfx/context.h>

#include "base/atomic.h"
#include "base/caches.h"
#include "base/heap.h"
#include "base/thread_pool.h"

/* Constructor and destructor of a module's data in a context. A static
 * constant, identified by its address. */
typedef struct cfx_slot {
    void *(*make)(cfx_context *ctx);
    void (*free)(cfx_context *ctx, void *p);
} cfx_slot;

/* More than are used. */
enum { CFX_SLOTS = 8 };

struct cfx_context {
    cfx_heap heap;
    /* The context itself, or the parent of a child context. */
    cfx_context *parent;
    cfx_thread_pool pool;
    int threads;
    cfx_cpu cpu;
    unsigned features; /* cfx_cpu_features, without those switched off */
    cfx_caches caches;
    bool blas; /* there is a BLAS, and it runs on one thread */

    atomic_int cancelled;
    double timeout;   /* as requested; 0: none */
    int64_t deadline; /* in terms of cfx_clock_ns() */

    cfx_context *fork_next, **fork_at; /* the list in fork.c */

    cfx_spin random_lock;
    uint64_t random_key, random_counter;

    bool strict_devices, any_shape;
    atomic_bool has_batches;  /* some tensor had batches of torch.vmap */
    atomic_bool device_noted; /* the note that other devices run on the CPU was
                                sent */

    void (*message)(void *user, cfx_level level, const char *text);
    void *message_user;

    /* Filled in order of first use; `of` is set last. */
    cfx_spin slot_lock;
    struct {
        _Atomic(const cfx_slot *) of;
        void *p;
    } slot[CFX_SLOTS];
};

/*
 * The data in a slot, created at first use. `make` may run in two threads at
 * once; the second result is freed. Slots are freed in reverse order. Returns
 * NULL if `make` does.
 */
void *cfx_context_slot(cfx_context *ctx, const cfx_slot *slot);

/*
 * A child context: it has its own heap, with blocks from `source`, and shares
 * registries, threads, limits and random numbers with its parent, which must
 * outlive it. Free it after all of its memory.
 */
cfx_status cfx_context__child(cfx_context **out, cfx_context *of,
                              const cfx_allocator *from,
                              const cfx_heap_source *source, cfx_error *err);
void cfx_context__beside_free(cfx_context *ctx);

/* Refuse a descriptor that was compiled for another ABI. */
cfx_status cfx_check_abi(const cfx_abi *abi, size_t size, const char *type,
                         cfx_error *err);

/* The number of processors that this thread may run on. */
int cfx_cpu_count(void);

/* Instructions that a processor may have beyond those of the plain level, as bits. */
enum {
    CFX_FEATURE_NONE = 0,
    CFX_FEATURE_FMA = 1,          /* a part of AVX2 and AVX-512 here */
    CFX_FEATURE_AVX_VNNI = 2,     /* vpdpbusd of 32 bytes */
    CFX_FEATURE_AVX512_VNNI = 4,  /* vpdpbusd of 64 bytes */
    CFX_FEATURE_AVX512_VBMI = 8,  /* vpermb */
    CFX_FEATURE_AVX512_BF16 = 16, /* vdpbf16ps */
    CFX_FEATURE_DOTPROD = 32,     /* sdot */
    CFX_FEATURE_BF16 = 64,        /* bfdot */
    CFX_FEATURE_NEVER = 128       /* no processor has it */
};

/* Those of this processor. */
unsigned cfx_cpu_features(void);

/* The features that a name in $CFX_CPU stands for; 0: none has it. */
unsigned cfx_cpu_feature_named(const char *name, size_t len);

/* Do the processor with these features, the operating system and this build support
 * it? */
bool cfx_cpu_has(cfx_cpu cpu, unsigned features);
cfx_cpu cfx_cpu_best(unsigned features);

/* May kernels use all of these features? */
CFX_INLINE bool cfx_context_has(const cfx_context *ctx, unsigned features)
{
    return (ctx->features & features) == features;
}

/* Set OpenBLAS, if it is the BLAS, to one thread. Returns false if the build has
 * no BLAS. */
bool cfx_blas_one_thread(void);

/* A monotonic clock in nanoseconds. */
int64_t cfx_clock_ns(void);

#endif
