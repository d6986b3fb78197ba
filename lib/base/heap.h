/*
 * heap.h -- the memory of a context. Not installed.
 *
 * One lock guards both the accounting and the free lists, so that the limit is
 * exact and costs one locked instruction.
 */
#ifndef CFX_HEAP_H
#define CFX_HEAP_H

#include <stdatomic.h>

#include <cfx/context.h>

#include "base/atomic.h"
#include "base/spans.h"

enum {
    CFX_HEAP_FINE = 16,    /* classes of 64, 128, ..., 1024 bytes */
    CFX_HEAP_OCTAVES = 30, /* then eight to every doubling, to 1 TiB */
    CFX_HEAP_CLASSES = CFX_HEAP_FINE + 8 * CFX_HEAP_OCTAVES
};

typedef struct cfx_heap_free cfx_heap_free;
typedef struct cfx_heap_slab cfx_heap_slab;

/*
 * A source of blocks that is tried before the heap: a memory plan. `take`
 * returns NULL, and `give` false, for a block that is not the source's; the
 * heap then handles it.
 */
typedef struct cfx_heap_source {
    void *(*take)(void *user, size_t size);
    bool (*give)(void *user, void *p, size_t size);
    void *user;
} cfx_heap_source;

typedef struct cfx_heap {
    cfx_allocator from;
    const cfx_heap_source *source; /* NULL: none; only with `direct` */
    bool direct;                   /* keep no free blocks */
    size_t limit;                  /* 0: none */
    cfx_spin lock;
    atomic_size_t now, peak;
    size_t kept;     /* bytes of free blocks outside slabs */
    cfx_spans spans; /* free spans of mapped memory */
    char *slab_at, *slab_end;
    cfx_heap_slab *slabs;
    cfx_heap_free *list[CFX_HEAP_CLASSES];
} cfx_heap;

/* malloc and free. */
extern const cfx_allocator cfx_heap_default;

void cfx_heap_init(cfx_heap *h, const cfx_allocator *from, size_t limit);
void cfx_heap_release(cfx_heap *h);

/* Account for memory that another library allocates or frees for the context.
 * Returns false, without effect, if the limit forbids it. */
bool cfx_heap_charge(cfx_context *ctx, size_t size);
void cfx_heap_uncharge(cfx_context *ctx, size_t size);

/* Free all kept blocks outside slabs. */
void cfx_heap_trim(cfx_heap *h);

/* A block that bypasses the source, for tensor structs rather than data. It is
 * freed like others. */
void *cfx_head_alloc(cfx_context *ctx, size_t size);

#endif
