/*
 * comm -- the communicator of a context, its groups, and the base class.
 *
 * All of it is in a slot of the context, so that a context without one pays
 * nothing.
 */
#include <cfx/comm.h>

#include "base/class.h"
#include "base/comm_impl.h"
#include "base/context_impl.h"
#include "base/util.h"

typedef struct named_group {
    struct named_group *next;
    char *name;
    int n;
    int *ranks;
} named_group;

typedef struct world {
    cfx_context *ctx;
    cfx_comm *comm; /* NULL: one rank */
    cfx_comm alone;
    named_group *groups;
    cfx_comm_observer *observer;
    void *observer_user;
} world;

/* ---- The slot ---- */

static void *world_make(cfx_context *ctx)
{
    world *w = cfx_calloc(ctx, 1, sizeof(*w));
    if (w) {
        w->ctx = ctx;
        w->alone = (cfx_comm){&cfx_comm_base, ctx, 0, 1};
    }
    return w;
}

static void group_free(cfx_context *ctx, named_group *g)
{
    if (g->name)
        cfx_free(ctx, g->name, strlen(g->name) + 1);
    cfx_free(ctx, g->ranks, (size_t)g->n * sizeof(*g->ranks));
    cfx_free(ctx, g, sizeof(*g));
}

static void world_free(cfx_context *ctx, void *p)
{
    world *w = p;
    cfx_comm_release(w->comm);
    for (named_group *g = w->groups, *next; g; g = next) {
        next = g->next;
        group_free(ctx, g);
    }
    cfx_free(ctx, w, sizeof(*w));
}

static world *world_of(cfx_context *ctx)
{
    static const cfx_slot slot = {world_make, world_free};
    return cfx_context_slot(ctx, &slot);
}

static cfx_status find_world(cfx_context *ctx, world **out, cfx_error *err)
{
    *out = world_of(ctx);
    return *out ? CFX_OK : cfx_no_memory(err);
}

static cfx_comm *comm_of(world *w)
{
    return w->comm ? w->comm : &w->alone;
}

cfx_status cfx_context_set_comm_take(cfx_context *ctx, cfx_comm *comm,
                                     cfx_error *err)
{
    world *w;
    cfx_status st = find_world(ctx, &w, err);
    if (!st && w->comm)
        st = cfx_fail(err, CFX_EINVAL, "the context has a communicator, %s",
                      w->comm->cls->name);
    if (st)
        cfx_comm_release(comm);
    else
        w->comm = comm;
    return st;
}

cfx_comm *cfx_context_comm(cfx_context *ctx)
{
    world *w = world_of(ctx);
    return w ? w->comm : NULL;
}

/* ---- Groups ---- */

static const char world_name[] = "0";

static named_group *named(const world *w, const char *name)
{
    named_group *g = w->groups;
    while (g && strcmp(g->name, name))
        g = g->next;
    return g;
}

static cfx_status check_ranks(const cfx_comm *c, const char *name, int n,
                              const int *ranks, cfx_error *err)
{
    if (n < 1)
        return cfx_fail(err, CFX_EINVAL, "group '%s' has no ranks", name);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= c->size)
            return cfx_fail(err, CFX_EINVAL,
                            "group '%s' has rank %d, the world has %d ranks",
                            name, ranks[i], c->size);
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i])
                return cfx_fail(err, CFX_EINVAL,
                                "group '%s' has rank %d twice", name,
                                ranks[i]);
    }
    return CFX_OK;
}

cfx_status cfx_context_add_group(cfx_context *ctx, const char *name, int n,
                                 const int *ranks, cfx_error *err)
{
    world *w;
    cfx_status st = find_world(ctx, &w, err);
    if (!st && (!strcmp(name, world_name) || named(w, name)))
        st = cfx_fail(err, CFX_EINVAL, "group '%s' is given twice", name);
    if (!st)
        st = check_ranks(comm_of(w), name, n, ranks, err);
    if (st)
        return st;
    named_group *g = cfx_calloc(w->ctx, 1, sizeof(*g));
    if (!g)
        return cfx_no_memory(err);
    g->n = n;
    g->name = cfx_alloc(w->ctx, strlen(name) + 1);
    g->ranks = cfx_alloc(w->ctx, (size_t)n * sizeof(*g->ranks));
    if (!g->name || !g->ranks) {
        if (g->name)
            strcpy(g->name, name);
        group_free(w->ctx, g);
        return cfx_no_memory(err);
    }
    strcpy(g->name, name);
    memcpy(g->ranks, ranks, (size_t)n * sizeof(*g->ranks));
    g->next = w->groups;
    w->groups = g;
    return CFX_OK;
}

cfx_status cfx_context_find_group(cfx_context *ctx, const char *name,
                                  cfx_group *out, cfx_error *err)
{
    world *w;
    cfx_status st = find_world(ctx, &w, err);
    if (st)
        return st;
    const cfx_comm *c = comm_of(w);
    *out = (cfx_group){world_name, c->size, c->rank, NULL};
    if (!strcmp(name, world_name))
        return CFX_OK;
    const named_group *g = named(w, name);
    if (!g)
        return cfx_fail(
            err, CFX_ENAME,
            "there is no group '%s': --group %s=RANK,RANK,... names its ranks",
            name, name);
    *out = (cfx_group){g->name, g->n, -1, g->ranks};
    for (int i = 0; i < g->n; i++)
        if (g->ranks[i] == c->rank)
            out->rank = i;
    return out->rank >= 0
               ? CFX_OK
               : cfx_fail(err, CFX_EINVAL, "rank %d is not in group '%s'",
                          c->rank, name);
}

/* ---- Observing ---- */

cfx_status cfx_comm__observe(cfx_context *ctx, cfx_comm_observer *fn,
                             void *user, cfx_error *err)
{
    world *w;
    cfx_status st = find_world(ctx, &w, err);
    if (!st) {
        w->observer = fn;
        w->observer_user = user;
    }
    return st;
}

bool cfx_comm__is_observed(cfx_context *ctx)
{
    world *w = world_of(ctx);
    return w && w->observer;
}

cfx_status cfx_comm__observed(cfx_context *ctx, const char *group,
                              const char *call, cfx_error *err)
{
    world *w = world_of(ctx);
    return w->observer(w->observer_user, group, call, err);
}

/* ---- Calling hooks ---- */

#define HOOK(c, hook)                                                         \
    (((const cfx_comm_class *)cfx_class__with(                                \
          (c)->cls, offsetof(cfx_comm_class, hook)))                          \
         ->hook)

/* Call a hook of the context's communicator. */
#define DISPATCH(hook, ...)                                                   \
    do {                                                                      \
        world *w;                                                             \
        cfx_status st = find_world(ctx, &w, err);                             \
        return st ? st : HOOK(comm_of(w), hook)(comm_of(w), __VA_ARGS__);     \
    } while (0)

cfx_status cfx_comm_all_reduce(cfx_context *ctx, const cfx_group *g,
                               cfx_reduction how, cfx_dtype type,
                               const void *in, void *out, int64_t n,
                               cfx_error *err)
{
    DISPATCH(all_reduce, g, how, type, in, out, n, err);
}

cfx_status cfx_comm_all_gather(cfx_context *ctx, const cfx_group *g,
                               const void *in, void *out, int64_t bytes,
                               cfx_error *err)
{
    DISPATCH(all_gather, g, in, out, bytes, err);
}

cfx_status cfx_comm_reduce_scatter(cfx_context *ctx, const cfx_group *g,
                                   cfx_reduction how, cfx_dtype type,
                                   const void *in, void *out, int64_t n,
                                   cfx_error *err)
{
    DISPATCH(reduce_scatter, g, how, type, in, out, n, err);
}

cfx_status cfx_comm_all_to_all(cfx_context *ctx, const cfx_group *g,
                               const void *in, const int64_t *give, void *out,
                               const int64_t *take, cfx_error *err)
{
    DISPATCH(all_to_all, g, in, give, out, take, err);
}

cfx_status cfx_comm_broadcast(cfx_context *ctx, const cfx_group *g, int from,
                              void *data, int64_t bytes, cfx_error *err)
{
    DISPATCH(broadcast, g, from, data, bytes, err);
}

void cfx_comm_stop(cfx_comm *comm, int status)
{
    HOOK(comm, stop)(comm, status);
}

void cfx_comm_release(cfx_comm *comm)
{
    if (comm)
        HOOK(comm, release)(comm);
}

/* ---- The base class ---- */

/* The sizes of one exchange: give[r] and take[r] of each rank. */
typedef struct sizes {
    cfx_context *ctx;
    int n;
    int64_t *give, *take;
} sizes;

static cfx_status sizes_make(sizes *s, const cfx_comm *c, const cfx_group *g,
                             cfx_error *err)
{
    *s = (sizes){.ctx = c->ctx, .n = g->size};
    s->give = cfx_calloc(c->ctx, (size_t)g->size * 2, sizeof(*s->give));
    if (!s->give)
        return cfx_no_memory(err);
    s->take = s->give + g->size;
    return CFX_OK;
}

static void sizes_release(sizes *s)
{
    cfx_free(s->ctx, s->give, (size_t)s->n * 2 * sizeof(*s->give));
}

static cfx_status base_all_to_all(cfx_comm *c, const cfx_group *g,
                                  const void *in, const int64_t *give,
                                  void *out, const int64_t *take,
                                  cfx_error *err)
{
    if (g->size != 1)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "communicator '%s' has no all_to_all", c->cls->name);
    if (give[0] != take[0])
        return cfx_fail(err, CFX_ESHAPE,
                        "all_to_all sends %lld bytes and takes %lld",
                        (long long)give[0], (long long)take[0]);
    if (give[0])
        memmove(out, in, (size_t)give[0]);
    return CFX_OK;
}

/* `in` is repeated for each rank, since that is what all_to_all sends. */
static cfx_status base_all_gather(cfx_comm *c, const cfx_group *g,
                                  const void *in, void *out, int64_t bytes,
                                  cfx_error *err)
{
    sizes s;
    cfx_status st = sizes_make(&s, c, g, err);
    size_t all = (size_t)bytes * (size_t)g->size;
    char *copies = st ? NULL : cfx_alloc(c->ctx, all);
    if (!st && !copies)
        st = cfx_no_memory(err);
    for (int r = 0; !st && r < g->size; r++) {
        s.give[r] = s.take[r] = bytes;
        if (bytes)
            memcpy(copies + (size_t)r * (size_t)bytes, in, (size_t)bytes);
    }
    if (!st)
        st = HOOK(c, all_to_all)(c, g, copies, s.give, out, s.take, err);
    cfx_free(c->ctx, copies, all);
    sizes_release(&s);
    return st;
}

static cfx_status base_reduce_scatter(cfx_comm *c, const cfx_group *g,
                                      cfx_reduction how, cfx_dtype type,
                                      const void *in, void *out, int64_t n,
                                      cfx_error *err)
{
    sizes s;
    cfx_status st = sizes_make(&s, c, g, err);
    size_t bytes = (size_t)n * cfx_dtype_size(type);
    size_t all = bytes * (size_t)g->size;
    char *parts = st ? NULL : cfx_alloc(c->ctx, all);
    if (!st && !parts)
        st = cfx_no_memory(err);
    for (int r = 0; !st && r < g->size; r++)
        s.give[r] = s.take[r] = (int64_t)bytes;
    if (!st)
        st = HOOK(c, all_to_all)(c, g, in, s.give, parts, s.take, err);
    if (!st && bytes)
        memcpy(out, parts, bytes);
    for (int r = 1; !st && r < g->size; r++)
        cfx_comm_combine(how, type, out, parts + (size_t)r * bytes, n);
    cfx_free(c->ctx, parts, all);
    sizes_release(&s);
    return st;
}

static cfx_status base_all_reduce(cfx_comm *c, const cfx_group *g,
                                  cfx_reduction how, cfx_dtype type,
                                  const void *in, void *out, int64_t n,
                                  cfx_error *err)
{
    size_t bytes = (size_t)n * cfx_dtype_size(type);
    size_t all = bytes * (size_t)g->size;
    char *parts = cfx_alloc(c->ctx, all);
    cfx_status st = parts ? CFX_OK : cfx_no_memory(err);
    if (!st)
        st = HOOK(c, all_gather)(c, g, in, parts, (int64_t)bytes, err);
    if (!st && bytes)
        memcpy(out, parts, bytes);
    for (int r = 1; !st && r < g->size; r++)
        cfx_comm_combine(how, type, out, parts + (size_t)r * bytes, n);
    cfx_free(c->ctx, parts, all);
    return st;
}

static cfx_status base_broadcast(cfx_comm *c, const cfx_group *g, int from,
                                 void *data, int64_t bytes, cfx_error *err)
{
    sizes s;
    cfx_status st = sizes_make(&s, c, g, err);
    size_t all = g->rank == from ? (size_t)bytes * (size_t)g->size : 0;
    char *copies = st ? NULL : cfx_alloc(c->ctx, all);
    if (!st && !copies)
        st = cfx_no_memory(err);
    for (int r = 0; !st && bytes && g->rank == from && r < g->size; r++) {
        s.give[r] = bytes;
        memcpy(copies + (size_t)r * (size_t)bytes, data, (size_t)bytes);
    }
    if (!st) {
        s.take[from] = bytes;
        st = HOOK(c, all_to_all)(c, g, copies, s.give, data, s.take, err);
    }
    cfx_free(c->ctx, copies, all);
    sizes_release(&s);
    return st;
}

static void base_stop(cfx_comm *c, int status)
{
    (void)c;
    (void)status;
}

static void base_release(cfx_comm *c)
{
    (void)c;
}

const cfx_comm_class cfx_comm_base = {
    .size = sizeof(cfx_comm_class),
    .name = "one rank",
    .all_reduce = base_all_reduce,
    .all_gather = base_all_gather,
    .reduce_scatter = base_reduce_scatter,
    .all_to_all = base_all_to_all,
    .broadcast = base_broadcast,
    .stop = base_stop,
    .release = base_release,
};
