/*
 * heap.h -- where the memory of a context comes from. Not installed.
 *
 * All memory is counted, under one lock that also guards the lists of free
 * blocks: one locked instruction for either, and the limit is exact.
 */
#ifndef CFX_HEAP_H
#define CFX_HEAP_H

#include <stdatomic.h>

#include <cfx/context.h>

#include "base/atomic.h"
#include "base/spans.h"

enum {
    CFX_HEAP_FINE = 16,     /* classes of 64, 128, ..., 1024 bytes */
    CFX_HEAP_OCTAVES = 30,  /* then eight to every doubling, to 1 TiB */
    CFX_HEAP_CLASSES = CFX_HEAP_FINE + 8 * CFX_HEAP_OCTAVES
};

typedef struct cfx_heap_free cfx_heap_free;
typedef struct cfx_heap_slab cfx_heap_slab;

/*
 * Who is asked for blocks before the heap is: a plan that knows their places.
 * `take` gives NULL where it has none, `give` false where it did not give this
 * one; the heap does the same as ever then.
 */
typedef struct cfx_heap_source {
    void *(*take)(void *user, size_t size);
    bool (*give)(void *user, void *p, size_t size);
    void *user;
} cfx_heap_source;

typedef struct cfx_heap {
    cfx_allocator from;
    const cfx_heap_source *source; /* NULL: nobody; with `direct` only */
    bool direct;           /* keep nothing: every block is fresh */
    size_t limit;          /* 0: none */
    cfx_spin lock;
    atomic_size_t now, peak;
    size_t kept;           /* bytes that are free but for the slabs' */
    cfx_spans spans;       /* free pieces of what is mapped */
    char *slab_at, *slab_end;
    cfx_heap_slab *slabs;
    cfx_heap_free *list[CFX_HEAP_CLASSES];
} cfx_heap;

/* malloc and free. */
extern const cfx_allocator cfx_heap_default;

void cfx_heap_init(cfx_heap *h, const cfx_allocator *from, size_t limit);
void cfx_heap_release(cfx_heap *h);

/* Count memory that another library takes for the context, and that it has
 * given back. Returns false, counting nothing, where the limit forbids it. */
bool cfx_heap_charge(cfx_context *ctx, size_t size);
void cfx_heap_uncharge(cfx_context *ctx, size_t size);

/* Give back all free blocks that are not part of a slab. */
void cfx_heap_trim(cfx_heap *h);

/* A block that no source is asked for: what tells of tensors, beside their
 * numbers. It is given back as others are. */
void *cfx_head_alloc(cfx_context *ctx, size_t size);

#endif
