/*
 * comm_threads -- a world whose ranks are threads of one process.
 *
 * Ranks of a group meet twice in each exchange: when all have told where their
 * bytes are, each copies what is for it; when all have copied, they go on.
 */
#include <cfx/comm.h>

#include <string.h>

#include "base/context_impl.h"
#include "base/util.h"

#ifdef CFX_NO_THREADS

cfx_status cfx_comm_threads_new(cfx_comm **out, cfx_context *ctx, int n,
                                cfx_error *err)
{
    (void)ctx;
    for (int i = 0; i < n; i++)
        out[i] = NULL;
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "this library was built without threads");
}

#else

#include <pthread.h>

/* Where the bytes of a rank are. */
typedef struct offer {
    const char *in;
    const int64_t *give;
} offer;

/* The meeting of one group; offers are by the rank in the group. */
typedef struct meeting {
    struct meeting *next;
    char *name;
    int size, arrived;
    uint64_t round;
    offer *offers;
} meeting;

typedef struct shared {
    cfx_context *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refs;
    int stopped; /* 1 + the rank that failed; 0: none */
    meeting *meetings;
} shared;

typedef struct thread_comm {
    cfx_comm base;
    shared *world;
} thread_comm;

static thread_comm *downcast(cfx_comm *c)
{
    return (thread_comm *)(void *)c;
}

/* ---- Meetings; the lock is held ---- */

static void meeting_free(cfx_context *ctx, meeting *m)
{
    if (m->name)
        cfx_free(ctx, m->name, strlen(m->name) + 1);
    cfx_free(ctx, m->offers, (size_t)m->size * sizeof(*m->offers));
    cfx_free(ctx, m, sizeof(*m));
}

static meeting *meeting_of(shared *w, const cfx_group *g)
{
    for (meeting *m = w->meetings; m; m = m->next)
        if (!strcmp(m->name, g->name))
            return m;
    meeting *m = cfx_calloc(w->ctx, 1, sizeof(*m));
    if (!m)
        return NULL;
    m->size = g->size;
    m->offers = cfx_calloc(w->ctx, (size_t)g->size, sizeof(*m->offers));
    size_t len = strlen(g->name) + 1;
    m->name = cfx_alloc(w->ctx, len);
    if (m->name)
        memcpy(m->name, g->name, len);
    if (!m->name || !m->offers) {
        meeting_free(w->ctx, m);
        return NULL;
    }
    m->next = w->meetings;
    w->meetings = m;
    return m;
}

/* Wait until all ranks of the group are here. */
static cfx_status meet(shared *w, meeting *m, cfx_error *err)
{
    uint64_t round = m->round;
    if (++m->arrived == m->size) {
        m->arrived = 0;
        m->round++;
        pthread_cond_broadcast(&w->changed);
    }
    while (m->round == round && !w->stopped)
        pthread_cond_wait(&w->changed, &w->lock);
    return m->round != round
               ? CFX_OK
               : cfx_fail(err, CFX_EIO, "rank %d has failed", w->stopped - 1);
}

/* ---- Hooks ---- */

static cfx_status copy_offers(const meeting *m, const cfx_group *g, char *out,
                              const int64_t *take, cfx_error *err)
{
    for (int r = 0; r < g->size; r++) {
        const offer *from = &m->offers[r];
        if (from->give[g->rank] != take[r])
            return cfx_fail(
                err, CFX_ESHAPE, "rank %d sends %lld bytes, %lld are expected",
                r, (long long)from->give[g->rank], (long long)take[r]);
        const char *in = from->in;
        for (int k = 0; k < g->rank; k++)
            in += from->give[k];
        if (take[r])
            memcpy(out, in, (size_t)take[r]);
        out += take[r];
    }
    return CFX_OK;
}

static cfx_status threads_all_to_all(cfx_comm *c, const cfx_group *g,
                                     const void *in, const int64_t *give,
                                     void *out, const int64_t *take,
                                     cfx_error *err)
{
    shared *w = downcast(c)->world;
    pthread_mutex_lock(&w->lock);
    meeting *m = meeting_of(w, g);
    cfx_status st = m ? CFX_OK : cfx_no_memory(err);
    if (!st) {
        m->offers[g->rank] = (offer){in, give};
        st = meet(w, m, err);
    }
    pthread_mutex_unlock(&w->lock);
    if (st)
        return st;
    cfx_status copied = copy_offers(m, g, out, take, err);
    pthread_mutex_lock(&w->lock);
    st = meet(w, m, err);
    pthread_mutex_unlock(&w->lock);
    return copied ? copied : st;
}

static void threads_stop(cfx_comm *c, int status)
{
    shared *w = downcast(c)->world;
    (void)status;
    pthread_mutex_lock(&w->lock);
    if (!w->stopped)
        w->stopped = 1 + c->rank;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void shared_unref(shared *w)
{
    pthread_mutex_lock(&w->lock);
    int left = --w->refs;
    pthread_mutex_unlock(&w->lock);
    if (left)
        return;
    for (meeting *m = w->meetings, *next; m; m = next) {
        next = m->next;
        meeting_free(w->ctx, m);
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    cfx_free(w->ctx, w, sizeof(*w));
}

static void threads_release(cfx_comm *c)
{
    shared *w = downcast(c)->world;
    cfx_context *ctx = w->ctx;
    shared_unref(w);
    cfx_free(ctx, c, sizeof(thread_comm));
}

static const cfx_comm_class threads_class = {
    .size = sizeof(cfx_comm_class),
    .name = "threads",
    .super = &cfx_comm_base,
    .all_to_all = threads_all_to_all,
    .stop = threads_stop,
    .release = threads_release,
};

static cfx_status shared_new(shared **out, cfx_context *ctx, cfx_error *err)
{
    shared *w = cfx_calloc(ctx, 1, sizeof(*w));
    *out = w;
    if (!w)
        return cfx_no_memory(err);
    w->ctx = ctx;
    w->refs = 1;
    if (pthread_mutex_init(&w->lock, NULL)) {
        cfx_free(ctx, w, sizeof(*w));
        return cfx_no_memory(err);
    }
    if (pthread_cond_init(&w->changed, NULL)) {
        pthread_mutex_destroy(&w->lock);
        cfx_free(ctx, w, sizeof(*w));
        return cfx_no_memory(err);
    }
    return CFX_OK;
}

cfx_status cfx_comm_threads_new(cfx_comm **out, cfx_context *ctx, int n,
                                cfx_error *err)
{
    shared *w;
    for (int i = 0; i < n; i++)
        out[i] = NULL;
    cfx_status st = shared_new(&w, ctx, err);
    if (st)
        return st;
    for (int i = 0; !st && i < n; i++) {
        thread_comm *c = cfx_calloc(ctx, 1, sizeof(*c));
        if (!c) {
            st = cfx_no_memory(err);
            break;
        }
        *c = (thread_comm){{&threads_class, ctx, i, n}, w};
        w->refs++;
        out[i] = &c->base;
    }
    for (int i = 0; st && i < n; i++) {
        cfx_comm_release(out[i]);
        out[i] = NULL;
    }
    shared_unref(w);
    return st;
}

#endif
