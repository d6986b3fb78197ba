/*
 * memory_run -- runs in the arena of a plan.
 *
 * The scope makes its calls in a child context of its own. A request for tensor
 * data gets the planned block of the current call with the same size; small
 * requests (tensor headers, lists) come from free lists, which are filled in
 * the first run. Nothing relies on the run matching the plan: a block is only
 * given out while nothing else lives there. A run that deviates from the plan,
 * or whose values are kept, gets other memory instead.
 *
 * A tensor made here needs the child context, so every block that is not freed
 * holds a reference to it, as the scope does.
 */
#include "shapeprop/memory/memory_impl.h"

#include "base/atomic.h"
#include "base/context_impl.h"
#include "op/op_impl.h"

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifdef WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* Small requests also bypass the free lists if every block must be fresh. */
#if defined(WATCHED) || defined(CFX_SANITIZED)
enum { KEEPS_SMALL = 0 };
#else
enum { KEEPS_SMALL = 1 };
#endif

enum {
    UNIT = CFX_MEMORY_ALIGN,
    SMALL = 4096, /* requests up to this size use free lists */
    CLASSES = SMALL / UNIT,
    SLAB = 64 << 10
};

#define NO_CALL SIZE_MAX

typedef struct small {
    struct small *next;
} small;
typedef struct slab {
    struct slab *next;
} slab;

/* An occupied range of the arena. */
typedef struct spot {
    int64_t from, to;
    uint32_t block;
} spot;

struct cfx_planned_self {
    cfx_context *ctx, *beside;
    cfx_heap_source source;
    const cfx_memory_plan *plan; /* while the scope exists */
    cfx_spin lock;               /* protects the following */
    size_t held;                 /* blocks in use, plus one for the scope */
    char *arena;
    size_t size;
    spot *spot; /* occupied ranges, by address */
    size_t nspots, nblocks;
    bool *taken;       /* by block */
    size_t call, next; /* current call, or NO_CALL; expected one */
    cfx_planned_counts counts;
    small *list[CLASSES];
    char *slab_at, *slab_end;
    slab *slabs;
};

/* ---- Blocks of the arena ---- */

/* Return the first occupied range that ends after `at`. */
static size_t spot_behind(const struct cfx_planned_self *self, int64_t at)
{
    size_t low = 0, high = self->nspots;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (self->spot[mid].to <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Occupy the place of a block; false if something lives there. */
static bool take_spot(struct cfx_planned_self *self, uint32_t block)
{
    int64_t from = self->plan->block[block].offset;
    int64_t bytes = cfx_memory__asked(&self->plan->block[block]);
    int64_t to = from + (bytes + UNIT - 1) / UNIT * UNIT;
    size_t i = spot_behind(self, from);
    if (i < self->nspots && self->spot[i].from < to)
        return false;
    memmove(&self->spot[i + 1], &self->spot[i],
            (self->nspots - i) * sizeof(*self->spot));
    self->spot[i] = (spot){from, to, block};
    self->nspots++;
    self->taken[block] = true;
    self->held++;
    return true;
}

/* True if the block has this size and a place in the arena. */
static bool fits(const struct cfx_planned_self *self, uint32_t block,
                 size_t size)
{
    const cfx_memory_block *b = &self->plan->block[block];
    return b->offset >= 0 && (uint64_t)cfx_memory__asked(b) == size &&
           size <= self->size && (size_t)b->offset <= self->size - size;
}

/* Take a free block of the current call with this size. */
static void *take_planned(struct cfx_planned_self *self, size_t size)
{
    if (self->call == NO_CALL)
        return NULL;
    const cfx_memory_call *c = &self->plan->call[self->call];
    for (uint32_t i = c->block; i < c->block + c->nblocks; i++) {
        if (!self->taken[i] && fits(self, i, size) && take_spot(self, i))
            return self->arena + self->plan->block[i].offset;
    }
    return NULL;
}

static void *source_take(void *user, size_t size)
{
    struct cfx_planned_self *self = user;
    cfx_spin_lock(&self->lock);
    void *p = take_planned(self, size);
    if (p) {
        self->counts.placed++;
    } else {
        self->counts.missed++;
        self->counts.missed_bytes += size;
    }
    cfx_spin_unlock(&self->lock);
    if (p)
        ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

static void destroy(struct cfx_planned_self *self);

/* Release one reference; the last one frees everything. */
static void drop_reference(struct cfx_planned_self *self)
{
    cfx_spin_lock(&self->lock);
    bool last = !--self->held;
    cfx_spin_unlock(&self->lock);
    if (last)
        destroy(self);
}

static bool source_give(void *user, void *p, size_t size)
{
    struct cfx_planned_self *self = user;
    uintptr_t at = (uintptr_t)p - (uintptr_t)self->arena;
    if (at >= self->size)
        return false;
    ASAN_POISON_MEMORY_REGION(p, size);
    cfx_spin_lock(&self->lock);
    size_t i = spot_behind(self, (int64_t)at);
    self->taken[self->spot[i].block] = false;
    self->nspots--;
    memmove(&self->spot[i], &self->spot[i + 1],
            (self->nspots - i) * sizeof(*self->spot));
    cfx_spin_unlock(&self->lock);
    drop_reference(self);
    return true;
}

/* ---- Small memory ---- */

static bool is_small(size_t size)
{
    return KEEPS_SMALL && size <= SMALL;
}

/* The rest of the last slab is abandoned. */
static bool add_slab(struct cfx_planned_self *self)
{
    slab *s = cfx_block_alloc(self->ctx, SLAB);
    if (!s)
        return false;
    cfx_spin_lock(&self->lock);
    s->next = self->slabs;
    self->slabs = s;
    self->slab_at = (char *)s + UNIT;
    self->slab_end = (char *)s + SLAB;
    cfx_spin_unlock(&self->lock);
    return true;
}

static void *take_small(struct cfx_planned_self *self, size_t size)
{
    size_t class = (size + UNIT - 1) / UNIT - 1;
    size_t rounded = (class + 1) * UNIT;
    cfx_spin_lock(&self->lock);
    void *p = self->list[class];
    if (p) {
        self->list[class] = self->list[class]->next;
    } else if ((size_t)(self->slab_end - self->slab_at) >= rounded) {
        p = self->slab_at;
        self->slab_at += rounded;
    }
    self->held += p != NULL;
    cfx_spin_unlock(&self->lock);
    if (p)
        return p;
    return add_slab(self) ? take_small(self, size) : NULL;
}

static void *child_alloc(void *user, size_t size, size_t align)
{
    struct cfx_planned_self *self = user;
    (void)align;
    if (is_small(size))
        return take_small(self, size);
    void *p = cfx_block_alloc(self->ctx, size);
    cfx_spin_lock(&self->lock);
    self->held += p != NULL;
    cfx_spin_unlock(&self->lock);
    return p;
}

static void child_free(void *user, void *p, size_t size)
{
    struct cfx_planned_self *self = user;
    if (is_small(size)) {
        small **list = &self->list[(size + UNIT - 1) / UNIT - 1];
        cfx_spin_lock(&self->lock);
        ((small *)p)->next = *list;
        *list = p;
        cfx_spin_unlock(&self->lock);
    } else {
        cfx_block_free(self->ctx, p, size);
    }
    drop_reference(self);
}

/* ---- Calls ---- */

static bool is_call(const cfx_memory_plan *p, size_t i, const cfx_node *n,
                    const cfx_op *op)
{
    return p->call[i].node == n && p->call[i].op == op;
}

/* Find the plan's call for this one: the next call, else the next one of the
 * node, else its first, since another run may have begun. */
static size_t find_call(const struct cfx_planned_self *self, const cfx_node *n,
                        const cfx_op *op)
{
    const cfx_memory_plan *p = self->plan;
    size_t from, to, first = NO_CALL;
    if (self->next < p->ncalls && is_call(p, self->next, n, op))
        return self->next;
    cfx_memory__calls_of(p, n, &from, &to);
    for (size_t i = from; i < to; i++) {
        size_t at = p->by_node[i];
        if (!is_call(p, at, n, op))
            continue;
        if (at >= self->next)
            return at;
        if (first == NO_CALL)
            first = at;
    }
    return first;
}

static const cfx_scope_class planned_class;

/* Tensors that leave the run are made in the user's context. */
static cfx_status planned_call(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct cfx_planned_self *self = ((cfx_planned_scope *)s)->self;
    size_t i = find_call(self, s->node, call->op);
    self->call = i;
    if (i != NO_CALL)
        self->next = i + 1;
    if (i != NO_CALL && self->plan->call[i].leaves) {
        call->work_ctx = call->ctx;
        call->ctx = self->ctx;
    }
    return CFX_SCOPE_SUPER(&planned_class, call_op)(s, call, out);
}

static const cfx_scope_class planned_class = {
    .size = sizeof(cfx_scope_class),
    .name = "planned",
    .super = &cfx_eager_class,
    .call_op = planned_call,
};

/* ---- Init and release ---- */

static void destroy(struct cfx_planned_self *self)
{
    cfx_context *ctx = self->ctx;
    size_t room = self->nblocks + 1;
    for (slab *s = self->slabs, *next; s; s = next) {
        next = s->next;
        cfx_block_free(ctx, s, SLAB);
    }
    cfx_context__beside_free(self->beside);
    if (self->arena) {
        ASAN_UNPOISON_MEMORY_REGION(self->arena, self->size);
        cfx_block_free(ctx, self->arena, self->size);
    }
    cfx_free(ctx, self->spot, room * sizeof(*self->spot));
    cfx_free(ctx, self->taken, room * sizeof(*self->taken));
    cfx_free(ctx, self, sizeof(*self));
}

static cfx_status take_arena(struct cfx_planned_self *self, cfx_error *err)
{
    const cfx_memory_plan *plan = self->plan;
    size_t room = plan->nblocks + 1;
    const cfx_allocator from = {child_alloc, child_free, self};
    self->source = (cfx_heap_source){source_take, source_give, self};
    self->nblocks = plan->nblocks;
    self->spot = cfx_alloc(self->ctx, room * sizeof(*self->spot));
    self->taken = cfx_calloc(self->ctx, room, sizeof(*self->taken));
    if (!self->spot || !self->taken)
        return cfx_no_memory(err);
    if (plan->arena) {
        self->arena = cfx_block_alloc(self->ctx, (size_t)plan->arena);
        if (!self->arena)
            return cfx_fail(err, CFX_ENOMEM,
                            "no memory for an arena of %lld bytes",
                            (long long)plan->arena);
        self->size = (size_t)plan->arena;
        ASAN_POISON_MEMORY_REGION(self->arena, self->size);
    }
    return cfx_context__child(&self->beside, self->ctx, &from, &self->source,
                              err);
}

cfx_status cfx_planned_scope_init(cfx_planned_scope *s,
                                  const cfx_memory_plan *plan, cfx_error *err)
{
    *s = (cfx_planned_scope){.self = NULL};
    if (plan->symbolic)
        return cfx_fail(
            err, CFX_ESHAPE,
            "an arena needs numbers for the symbols of the inputs");
    if (plan->arena < 0)
        return cfx_fail(
            err, CFX_ESHAPE,
            "the blocks are too large for an arena: more than %lld bytes together",
            (long long)CFX_MEMORY_MOST);
    struct cfx_planned_self *self = cfx_calloc(plan->ctx, 1, sizeof(*self));
    if (!self)
        return cfx_no_memory(err);
    self->ctx = plan->ctx;
    self->plan = plan;
    self->held = 1;
    self->call = NO_CALL;
    cfx_status st = take_arena(self, err);
    if (st) {
        drop_reference(self);
        return st;
    }
    s->self = self;
    cfx_scope_init(&s->base, &planned_class, self->beside, NULL);
    return CFX_OK;
}

void cfx_planned_scope_release(cfx_planned_scope *s)
{
    if (!s->self)
        return;
    cfx_scope_release(&s->base);
    /* Later users of its values get no planned memory. */
    cfx_spin_lock(&s->self->lock);
    s->self->call = NO_CALL;
    s->self->plan = NULL;
    cfx_spin_unlock(&s->self->lock);
    drop_reference(s->self);
    s->self = NULL;
}

cfx_planned_counts cfx_planned_scope_counts(const cfx_planned_scope *s)
{
    struct cfx_planned_self *self = s->self;
    if (!self)
        return (cfx_planned_counts){0};
    cfx_spin_lock(&self->lock);
    cfx_planned_counts counts = self->counts;
    cfx_spin_unlock(&self->lock);
    return counts;
}
