/*
 * heap -- accounted memory, and reusable blocks for tensors.
 *
 * A block's size class follows from its size, which the caller passes again
 * when it frees, so that blocks have no header. Small blocks are cut from
 * slabs, which are freed with the context. Medium blocks are allocated one by
 * one. Large ones are spans of mapped memory (spans.h) in huge pages, since
 * page faults of small pages cost more than most operators. Free blocks are
 * kept while they and the blocks in use are below the peak usage plus some
 * slack.
 */
#define _GNU_SOURCE 1
#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/context_impl.h"
#include "base/util.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define HEAP_SANITIZED 1
#endif
#endif
#if defined(CFX_SANITIZED) || defined(__SANITIZE_ADDRESS__)
#define HEAP_SANITIZED 1
#endif

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

#define SLAB_BLOCK_MAX (8 * KIB)
#define SLAB_SIZE (128 * KIB)
#define SPAN_MIN (256 * KIB)
#define HUGE_PAGE (2 * MIB)
#define KEPT_SLACK (6 * MIB)
/* The end of the last size class; larger sizes are refused. */
#define ALLOC_MAX ((size_t)1 << (10 + CFX_HEAP_OCTAVES))

enum { BLOCK_ALIGN = 64 };

struct cfx_heap_free {
    cfx_heap_free *next;
};
struct cfx_heap_slab {
    cfx_heap_slab *next;
};

/* ---- The default allocator ---- */

static void *default_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    if (align <= _Alignof(max_align_t))
        return malloc(size);
    void *p = NULL;
    return posix_memalign(&p, align, size) ? NULL : p;
}

static void default_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

const cfx_allocator cfx_heap_default = {default_alloc, default_free, NULL};

/* `size` is a multiple of the huge page size. */
static void *map_huge(size_t size)
{
    size_t room = size + HUGE_PAGE;
    char *p = mmap(NULL, room, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t head = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (head)
        munmap(p, head);
    munmap(p + head + size, HUGE_PAGE - head);
#ifdef MADV_HUGEPAGE
    madvise(p + head, size, MADV_HUGEPAGE);
#endif
    return p + head;
}

/* ---- Counting ---- */

static size_t load(const atomic_size_t *a)
{
    return atomic_load_explicit(a, memory_order_relaxed);
}

static void store(atomic_size_t *a, size_t v)
{
    atomic_store_explicit(a, v, memory_order_relaxed);
}

/* Does the limit allow `size` more bytes? Under the lock. */
static bool within_limit(const cfx_heap *h, size_t size)
{
    return size <= ALLOC_MAX &&
           (!h->limit || load(&h->now) + size <= h->limit);
}

static void count(cfx_heap *h, size_t size)
{
    size_t now = load(&h->now) + size;
    store(&h->now, now);
    if (now > load(&h->peak))
        store(&h->peak, now);
}

static void uncount(cfx_heap *h, size_t size)
{
    assert(load(&h->now) >= size);
    store(&h->now, load(&h->now) - size);
}

/* The limit of bytes in free lists. Under the lock. */
static size_t keep_at_most(const cfx_heap *h)
{
    size_t peak = load(&h->peak), now = load(&h->now);
    size_t all = peak + KEPT_SLACK;
    if (h->limit && all > h->limit)
        all = h->limit;
    return all > now ? all - now : 0;
}

/* ---- Classes ---- */

CFX_INLINE unsigned class_of(size_t size, size_t *rounded)
{
    if (size <= CFX_HEAP_FINE * 64) {
        unsigned i = (unsigned)((size + (size == 0) - 1) / 64);
        *rounded = (i + 1) * (size_t)64;
        return i;
    }
    unsigned log2 = 63 - (unsigned)__builtin_clzll(size - 1);
    size_t eighths = (size - 1) >> (log2 - 3);
    *rounded = (eighths + 1) << (log2 - 3);
    return CFX_HEAP_FINE + (log2 - 10) * 8 + (unsigned)eighths - 8;
}

static size_t round_span(size_t size)
{
    return (size + CFX_SPAN - 1) & ~(CFX_SPAN - 1);
}

/* ---- Blocks from and to the system ---- */

static size_t class_size(unsigned i)
{
    if (i < CFX_HEAP_FINE)
        return (i + 1) * (size_t)64;
    i -= CFX_HEAP_FINE;
    return (size_t)(9 + i % 8) << (i / 8 + 7);
}

/* Remove a free block, if more than `most` bytes are kept. */
static void *take_kept(cfx_heap *h, size_t most, size_t *size, bool *mapped)
{
    void *p = NULL;
    cfx_spin_lock(&h->lock);
    if (h->kept > most) {
        *size = round_span(h->kept - most);
        p = cfx_spans_cut(&h->spans, size);
        *mapped = p;
        for (unsigned i = CFX_HEAP_CLASSES; i-- > 0 && !p;) {
            *size = class_size(i);
            if (*size <= SLAB_BLOCK_MAX)
                break;
            p = h->list[i];
            if (p)
                h->list[i] = h->list[i]->next;
        }
        if (p)
            h->kept -= *size;
    }
    cfx_spin_unlock(&h->lock);
    return p;
}

/* Free the kept blocks, largest first, until at most `most` bytes are kept. */
static void trim_to(cfx_heap *h, size_t most)
{
    size_t size = 0;
    bool mapped = false;
    void *p;
    if (h->direct)
        return;
    while ((p = take_kept(h, most, &size, &mapped))) {
        if (mapped)
            munmap(p, size);
        else
            h->from.free(h->from.user, p, size);
    }
}

void cfx_heap_trim(cfx_heap *h)
{
    trim_to(h, 0);
}

/* Add a slab; the rest of the last one is lost. */
static bool add_slab(cfx_heap *h)
{
    cfx_heap_slab *s = h->from.alloc(h->from.user, SLAB_SIZE, BLOCK_ALIGN);
    if (!s)
        return false;
    cfx_spin_lock(&h->lock);
    s->next = h->slabs;
    h->slabs = s;
    h->slab_at = (char *)s + BLOCK_ALIGN;
    h->slab_end = (char *)s + SLAB_SIZE;
    cfx_spin_unlock(&h->lock);
    return true;
}

/* ---- The heap ---- */

void cfx_heap_init(cfx_heap *h, const cfx_allocator *from, size_t limit)
{
    *h = (cfx_heap){.limit = limit, .from = *from};
    h->direct = from->alloc != default_alloc;
#ifdef HEAP_SANITIZED
    h->direct = true;
#endif
}

void cfx_heap_release(cfx_heap *h)
{
    cfx_heap_trim(h);
    for (cfx_heap_slab *s = h->slabs, *next; s; s = next) {
        next = s->next;
        h->from.free(h->from.user, s, SLAB_SIZE);
    }
    h->slabs = NULL;
}

static bool take(cfx_heap *h, size_t size)
{
    cfx_spin_lock(&h->lock);
    bool ok = within_limit(h, size);
    if (ok)
        count(h, size);
    bool full = ok && h->kept > keep_at_most(h);
    size_t most = full ? keep_at_most(h) : 0;
    cfx_spin_unlock(&h->lock);
    if (CFX_UNLIKELY(full))
        trim_to(h, most);
    return ok;
}

static void untake(cfx_heap *h, size_t size)
{
    cfx_spin_lock(&h->lock);
    uncount(h, size);
    cfx_spin_unlock(&h->lock);
}

bool cfx_heap_charge(cfx_context *ctx, size_t size)
{
    return take(&ctx->heap, size);
}

void cfx_heap_uncharge(cfx_context *ctx, size_t size)
{
    untake(&ctx->heap, size);
}

/* Allocate memory that is accounted already; undo that on failure. */
static void *alloc_taken(cfx_heap *h, size_t size, size_t align)
{
    void *p = h->from.alloc(h->from.user, size, align);
    if (!p) {
        cfx_heap_trim(h);
        p = h->from.alloc(h->from.user, size, align);
    }
    if (!p)
        untake(h, size);
    return p;
}

/* ---- Memory of any kind ---- */

void *cfx_alloc(cfx_context *ctx, size_t size)
{
    cfx_heap *h = &ctx->heap;
    size += !size;
    return take(h, size) ? alloc_taken(h, size, _Alignof(max_align_t)) : NULL;
}

void *cfx_calloc(cfx_context *ctx, size_t count_, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count_, size, &bytes))
        return NULL;
    void *p = cfx_alloc(ctx, bytes);
    if (p)
        memset(p, 0, bytes);
    return p;
}

void *cfx_realloc(cfx_context *ctx, void *p, size_t old_size, size_t new_size)
{
    cfx_heap *h = &ctx->heap;
    if (!p)
        return cfx_alloc(ctx, new_size);
    if (h->from.alloc == default_alloc) {
        old_size += !old_size;
        new_size += !new_size;
        if (new_size > old_size && !take(h, new_size - old_size))
            return NULL;
        void *q = realloc(p, new_size);
        if (!q) {
            cfx_heap_trim(h);
            q = realloc(p, new_size);
        }
        if (q && new_size < old_size)
            untake(h, old_size - new_size);
        else if (!q && new_size > old_size)
            untake(h, new_size - old_size);
        return q;
    }
    void *q = cfx_alloc(ctx, new_size);
    if (!q)
        return NULL;
    memcpy(q, p, old_size < new_size ? old_size : new_size);
    cfx_free(ctx, p, old_size);
    return q;
}

void cfx_free(cfx_context *ctx, void *p, size_t size)
{
    if (!p)
        return;
    cfx_heap *h = &ctx->heap;
    size += !size;
    untake(h, size);
    h->from.free(h->from.user, p, size);
}

/* ---- Small blocks ---- */

/* A free block of the class, or one cut from the slab. Under the lock. */
static void *reuse(cfx_heap *h, unsigned class, size_t rounded)
{
    cfx_heap_free *f = h->list[class];
    if (f) {
        h->list[class] = f->next;
        if (rounded > SLAB_BLOCK_MAX)
            h->kept -= rounded;
        return f;
    }
    if (rounded > SLAB_BLOCK_MAX ||
        (size_t)(h->slab_end - h->slab_at) < rounded)
        return NULL;
    void *p = h->slab_at;
    h->slab_at += rounded;
    return p;
}

static void *fresh_block(cfx_context *ctx, size_t size, size_t rounded)
{
    cfx_heap *h = &ctx->heap;
    if (rounded <= SLAB_BLOCK_MAX)
        return add_slab(h) ? cfx_block_alloc(ctx, size) : NULL;
    if (!take(h, size))
        return NULL;
    void *p = h->from.alloc(h->from.user, rounded, BLOCK_ALIGN);
    if (!p) {
        cfx_heap_trim(h);
        p = h->from.alloc(h->from.user, rounded, BLOCK_ALIGN);
    }
    if (!p)
        untake(h, size);
    return p;
}

static void free_small(cfx_heap *h, void *p, size_t size)
{
    size_t rounded;
    unsigned class = class_of(size, &rounded);
    bool slab = rounded <= SLAB_BLOCK_MAX;
    cfx_spin_lock(&h->lock);
    uncount(h, size);
    bool keep = slab || h->kept + rounded <= keep_at_most(h);
    if (keep) {
        cfx_heap_free *f = p;
        f->next = h->list[class];
        h->list[class] = f;
        if (!slab)
            h->kept += rounded;
    }
    cfx_spin_unlock(&h->lock);
    if (!keep)
        h->from.free(h->from.user, p, rounded);
}

/* ---- Large blocks ---- */

static void *alloc_span(cfx_heap *h, size_t size)
{
    size_t rounded = round_span(size);
    cfx_spin_lock(&h->lock);
    bool ok = within_limit(h, size);
    void *p = ok ? cfx_spans_take(&h->spans, rounded) : NULL;
    if (p) {
        count(h, size);
        h->kept -= rounded;
    }
    cfx_spin_unlock(&h->lock);
    return p;
}

/* Map new memory; the rest of its last huge page becomes a free span. */
static void *fresh_span(cfx_heap *h, size_t size)
{
    size_t rounded = round_span(size);
    size_t whole = (rounded + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    if (!take(h, size))
        return NULL;
    char *p = map_huge(whole);
    if (!p) {
        cfx_heap_trim(h);
        p = map_huge(whole);
    }
    if (!p) {
        untake(h, size);
    } else if (whole > rounded) {
        cfx_spin_lock(&h->lock);
        cfx_spans_give(&h->spans, p + rounded, whole - rounded);
        h->kept += whole - rounded;
        cfx_spin_unlock(&h->lock);
    }
    return p;
}

static void free_span(cfx_heap *h, void *p, size_t size)
{
    size_t rounded = round_span(size);
    cfx_spin_lock(&h->lock);
    uncount(h, size);
    cfx_spans_give(&h->spans, p, rounded);
    h->kept += rounded;
    size_t most = keep_at_most(h);
    bool full = h->kept > most;
    cfx_spin_unlock(&h->lock);
    if (full)
        trim_to(h, most);
}

/* ---- Blocks ---- */

static void *alloc_direct(cfx_heap *h, size_t size)
{
    return take(h, size) ? alloc_taken(h, size, BLOCK_ALIGN) : NULL;
}

void *cfx_head_alloc(cfx_context *ctx, size_t size)
{
    return ctx->heap.source ? alloc_direct(&ctx->heap, size)
                            : cfx_block_alloc(ctx, size);
}

void *cfx_block_alloc(cfx_context *ctx, size_t size)
{
    cfx_heap *h = &ctx->heap;
    size += !size;
    if (h->direct) {
        void *p = h->source ? h->source->take(h->source->user, size) : NULL;
        return p ? p : alloc_direct(h, size);
    }
    if (size > ALLOC_MAX)
        return NULL;
    if (size >= SPAN_MIN) {
        void *p = alloc_span(h, size);
        return p ? p : fresh_span(h, size);
    }
    size_t rounded;
    unsigned class = class_of(size, &rounded);
    cfx_spin_lock(&h->lock);
    bool ok = within_limit(h, size);
    void *p = ok ? reuse(h, class, rounded) : NULL;
    if (p)
        count(h, size);
    cfx_spin_unlock(&h->lock);
    return p || !ok ? p : fresh_block(ctx, size, rounded);
}

void cfx_block_free(cfx_context *ctx, void *p, size_t size)
{
    if (!p)
        return;
    cfx_heap *h = &ctx->heap;
    size += !size;
    if (h->direct) {
        if (h->source && h->source->give(h->source->user, p, size))
            return;
        untake(h, size);
        h->from.free(h->from.user, p, size);
    } else if (size >= SPAN_MIN) {
        free_span(h, p, size);
    } else {
        free_small(h, p, size);
    }
}

/* ---- Alignment beyond the allocator's ---- */

static bool is_span(const cfx_heap *h, size_t size)
{
    return !h->direct && size >= SPAN_MIN;
}

/* Over-allocate from the caller's allocator; its pointer is stored after the
 * aligned block. */
static void *alloc_within(cfx_heap *h, size_t size, size_t align)
{
    size_t whole = size + align + sizeof(void *);
    if (!take(h, whole))
        return NULL;
    char *p = alloc_taken(h, whole, BLOCK_ALIGN), *at = p;
    if (!p)
        return NULL;
    at += (align - (uintptr_t)p % align) % align;
    memcpy(at + size, &p, sizeof(p));
    return at;
}

static void free_within(cfx_heap *h, char *at, size_t size, size_t align)
{
    size_t whole = size + align + sizeof(void *);
    void *p;
    memcpy(&p, at + size, sizeof(p));
    untake(h, whole);
    h->from.free(h->from.user, p, whole);
}

void *cfx_aligned_alloc(cfx_context *ctx, size_t size, size_t align)
{
    cfx_heap *h = &ctx->heap;
    assert(size && align >= BLOCK_ALIGN && align <= CFX_SPAN);
    if (size > ALLOC_MAX)
        return NULL;
    if (is_span(h, size))
        return cfx_block_alloc(ctx, size);
    if (h->from.alloc != default_alloc)
        return alloc_within(h, size, align);
    return take(h, size) ? alloc_taken(h, size, align) : NULL;
}

void cfx_aligned_free(cfx_context *ctx, void *p, size_t size, size_t align)
{
    cfx_heap *h = &ctx->heap;
    if (!p)
        return;
    if (is_span(h, size))
        cfx_block_free(ctx, p, size);
    else if (h->from.alloc != default_alloc)
        free_within(h, p, size, align);
    else
        cfx_free(ctx, p, size);
}

size_t cfx_context_memory(const cfx_context *ctx)
{
    return load(&ctx->heap.now);
}

size_t cfx_context_peak_memory(const cfx_context *ctx)
{
    return load(&ctx->heap.peak);
}
