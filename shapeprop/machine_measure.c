/*
 * machine_measure -- what this machine can do, measured.
 *
 * A team is a number of threads that do the same loop at the same time, again
 * and again, each time from a barrier on; a sample is what all of them did
 * over the time from the first to begin to the last to end. Samples take some
 * 100 us, those of memory some ms, so that on a machine that does other things
 * too many of them are undisturbed; the best one counts, and how far the median
 * of its round is below it is told.
 *
 * Sets of a cache are walked again and again. Of the memory each sample walks
 * another piece, and none counts before the walk has been through more than all
 * caches hold, so that nothing is found in one.
 */
#define _GNU_SOURCE 1
#include "machine_impl.h"

#include <cfx/version.h>

#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/pool.h"

enum {
    SAMPLES = 4096,
    SAMPLE_NS = 100000,
    GIVE_UP_NS = 2000000000,
    PIECE = 16 << 20,           /* of memory, that a thread walks in a sample */
    ROUNDS = 4,                 /* of everything, since what a machine does
                                   beside may take seconds */
    PASS = 1024,                /* bytes of a pass are a multiple of this */
    SKEW = 21 * 64,             /* between arrays, so that their lines do not
                                   fall on the same places of a page */
    COUNTS = 32
};

/* ---- A team ---- */

/* When one member began and ended a sample. */
typedef struct member {
    _Alignas(64) int64_t begin, end;
} member;

typedef struct team {
    cfx_context *ctx;       /* whose pool has exactly these threads */
    int n;
    member *member;
    char *sinks;
    char *block;            /* what is walked: a slice for each member */
    size_t slice;
    const cfx_machine_hardware *hw;

    _Alignas(64) _Atomic(int64_t) arrived; /* at all barriers so far */
    _Alignas(64) atomic_bool given_up;

    /* The loop: one of the two. */
    const cfx_machine_arithmetic *arithmetic;
    cfx_machine_pass *pass;
    size_t bytes, apart;    /* of a pass */
    size_t stride, reach;   /* from sample to sample, up to here; or 0 */
    double warm;            /* bytes that all caches hold */
    double work;            /* of one member in a round */

    int64_t rounds;
    int64_t share_ns;       /* about how long all may take */
    int64_t began;
    double best_round;      /* ns */
    int cold;               /* so many samples more do not count */
    size_t at;              /* where in the slices the next sample is */
    bool done;
    int samples;
    double sample[SAMPLES]; /* work of all in a second */
} team;

/* Wait for all members. False: not all of them have come, and none will. */
static bool meet(team *t, int64_t *passed)
{
    int64_t all = ++*passed * t->n;

    if (atomic_fetch_add(&t->arrived, 1) + 1 >= all)
        return true;
    for (int64_t i = 1, until = 0; atomic_load(&t->arrived) < all; i++) {
        if (atomic_load(&t->given_up))
            return false;
        cfx_cpu_pause();
        if (i % 4096)
            continue;
        /* Where there are fewer processors than threads others must run. */
        sched_yield();
        if (!until)
            until = cfx_clock_ns() + GIVE_UP_NS;
        if (cfx_clock_ns() > until)
            atomic_store(&t->given_up, true);
    }
    return true;
}

static void work(const team *t, int who)
{
    char *sink = t->sinks + (size_t)who * CFX_MACHINE_SINK;

    if (t->arithmetic)
        t->arithmetic->run(t->rounds, sink);
    else
        t->pass(t->block + (size_t)who * t->slice + t->at, t->bytes, t->apart,
                t->rounds, sink);
}

/* How many rounds the next sample takes; a sample of too few tells nothing. */
static bool choose_rounds(team *t, double took)
{
    double round = took / (double)t->rounds;
    int64_t did = t->rounds;

    if (!(t->best_round > 0) || round < t->best_round)
        t->best_round = round;
    if (t->stride)
        return true;
    double want = ceil(SAMPLE_NS / fmax(t->best_round, 1e-3));
    t->rounds = (int64_t)fmin(want, 16.0 * (double)did);
    return 2 * (double)did >= want;
}

/* The first member adds up, while the others wait. */
static void record(team *t)
{
    int64_t begin = t->member[0].begin, end = t->member[0].end;
    double all = t->work * (double)t->rounds * t->n;

    for (int i = 1; i < t->n; i++) {
        begin = t->member[i].begin < begin ? t->member[i].begin : begin;
        end = t->member[i].end > end ? t->member[i].end : end;
    }
    double took = (double)(end - begin) + 1e-3;
    bool counts = choose_rounds(t, took);
    if (t->cold > 0)
        t->cold--;
    else if (counts)
        t->sample[t->samples++] = all / took * 1e9;
    if (t->stride)
        t->at = t->at + t->stride > t->reach ? 0 : t->at + t->stride;
    int64_t spent = end - t->began;
    t->done = t->samples == SAMPLES ||
              (t->samples > 2 && spent > t->share_ns) ||
              (t->samples && spent > 4 * t->share_ns);
}

/* Stay on one processor: where others are busy, a scheduler puts several of the
 * team on the same one. Gives what was allowed before. */
static bool stay(const cfx_machine_hardware *hw, int who, cpu_set_t *before)
{
    cpu_set_t one;

    if (who >= hw->nprocessors ||
        sched_getaffinity(0, sizeof(*before), before))
        return false;
    CPU_ZERO(&one);
    CPU_SET((size_t)hw->processor[who], &one);
    return !sched_setaffinity(0, sizeof(one), &one);
}

static void take_samples(void *arg, int64_t begin, int64_t end, int worker)
{
    team *t = arg;
    int who = (int)begin;
    member *me = &t->member[who];
    int64_t passed = 0;
    cpu_set_t before;
    bool stays = stay(t->hw, who, &before);

    (void)end;
    (void)worker;
    while (meet(t, &passed) && !t->done) {
        me->begin = cfx_clock_ns();
        work(t, who);
        me->end = cfx_clock_ns();
        if (!meet(t, &passed))
            break;
        if (!who)
            record(t);
    }
    if (stays)
        sched_setaffinity(0, sizeof(before), &before);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Four digits are more than there are. */
static double rounded(double x)
{
    double unit = pow(10, floor(log10(x)) - 3);

    return round(x / unit) * unit;
}

/* The best of the samples, if it is better than what is there. */
static void take_best(team *t, double *best, double *spread)
{
    qsort(t->sample, (size_t)t->samples, sizeof(*t->sample), by_size);
    double top = t->sample[t->samples - 1];
    double middle = t->sample[t->samples / 2];
    if (!(top > *best))
        return;
    *best = rounded(top);
    *spread = round((top - middle) / top * 1000) / 1000;
}

/* Time the loop that is set. False: the threads cannot be had. */
static bool run_team(team *t, double *best, double *spread)
{
    atomic_store(&t->arrived, 0);
    t->rounds = 1;
    t->best_round = 0;
    t->samples = 0;
    t->at = 0;
    t->done = false;
    t->began = cfx_clock_ns();
    cfx_parallel_for(t->ctx, t->n, 1, take_samples, t);
    if (atomic_load(&t->given_up))
        return false;
    take_best(t, best, spread);
    return true;
}

/* ---- What is measured ---- */

static void fill_sinks(team *t, cfx_machine_type type)
{
    for (size_t i = 0; i < (size_t)t->n * CFX_MACHINE_SINK; i += 8) {
        double d = 0.5;
        float f[2] = {0.5F, 0.5F};
        memcpy(t->sinks + i, type == CFX_MACHINE_FLOAT64 ? (void *)&d
                                                         : (void *)f, 8);
    }
}

static bool measure_peaks(team *t, const cfx_machine_loops *loops,
                          cfx_machine_rates *r)
{
    const cfx_machine_arithmetic *a = loops->arithmetic;
    bool had[CFX_MACHINE_TYPES] = {false};

    for (; a->run; a++) {
        if (had[a->type] || !cfx_machine__has(a->needs))
            continue;
        t->arithmetic = a;
        t->work = a->ops;
        had[a->type] = true;
        fill_sinks(t, a->type);
        if (!run_team(t, &r->peak[a->type], &r->peak_spread[a->type]))
            return false;
    }
    t->arithmetic = NULL;
    /* Converted, then computed in float32. */
    if (!had[CFX_MACHINE_BFLOAT16]) {
        r->peak[CFX_MACHINE_BFLOAT16] = r->peak[CFX_MACHINE_FLOAT32];
        r->peak_spread[CFX_MACHINE_BFLOAT16] =
            r->peak_spread[CFX_MACHINE_FLOAT32];
    }
    return true;
}

static size_t whole(size_t bytes, size_t unit)
{
    return bytes < unit ? unit : bytes / unit * unit;
}

/* A loop, over so many arrays, that moves so many bytes for each byte of one;
 * and its rate. The last ones are of memory alone, past the caches. */
typedef struct way {
    cfx_machine_pass *pass;
    int arrays, moved;
    double *rate;
} way;

enum { WAYS = 4, WAYS_PAST = 2 };

/* Walk `set` bytes in all arrays; of memory, a piece at a time. */
static bool measure_way(team *t, const way *w, size_t set, bool memory,
                        double *spread)
{
    double wide = 0;

    if (!w->pass)
        return true;
    t->pass = w->pass;
    if (w->arrays > 1) {
        set = whole(set / (size_t)w->arrays, PASS);
        t->apart = whole(set, 64) + SKEW;
    }
    t->bytes = whole(set, PASS);
    t->stride = 0;
    t->cold = 0;
    if (memory) {
        size_t piece = whole(PIECE / (w->arrays > 1 ? 2U : 1U), PASS);
        t->bytes = piece < set / 8 ? piece : whole(set / 8, PASS);
        t->stride = t->bytes;
        t->reach = set - t->bytes;
        t->cold = 1 + (int)(t->warm / ((double)t->bytes * w->arrays * t->n));
    }
    t->work = (double)t->bytes * w->moved;
    if (!run_team(t, w->rate, &wide))
        return false;
    *spread = wide > *spread ? wide : *spread;
    return true;
}

static bool measure_level(team *t, const cfx_machine_loops *loops,
                          cfx_machine_level *l, size_t set, bool memory)
{
    const way ways[WAYS + WAYS_PAST] = {
        {loops->read, 1, 1, &l->read},
        {loops->write, 1, 1, &l->write},
        {loops->triad, 3, 3, &l->triad},
        {loops->update, 1, 2, &l->update},
        {loops->write_past, 1, 1, &l->write},
        {loops->triad_past, 3, 3, &l->triad},
    };

    for (int i = 0; i < (memory ? WAYS + WAYS_PAST : WAYS); i++) {
        if (!measure_way(t, &ways[i], set, memory, &l->spread))
            return false;
    }
    return true;
}

/* ---- Sizes ---- */

static int sharing(const cfx_machine_hardware *hw, const cfx_machine_cache *c,
                   int threads)
{
    int instances = hw->cores / c->processors;

    instances = instances ? instances : 1;
    return (threads + instances - 1) / instances;
}

/* What one of so many threads walks in cache i: half of its share; of a large
 * cache that others use as well no more than is plainly not in those below. */
static size_t set_of(const cfx_machine_hardware *hw, int i, int threads)
{
    const cfx_machine_cache *c = &hw->cache[i];
    int64_t share = c->bytes / sharing(hw, c, threads), set = share / 2;

    if (i > 1 && set > share / 4 && set > 8 * c[-1].bytes)
        set = share / 4 > 8 * c[-1].bytes ? share / 4 : 8 * c[-1].bytes;
    return (size_t)set;
}

/* What all caches hold together. */
static int64_t cached_bytes(const cfx_machine_hardware *hw)
{
    int64_t bytes = 0;

    for (int i = 0; i < hw->ncaches; i++) {
        int64_t n = hw->cores / hw->cache[i].processors;
        bytes += hw->cache[i].bytes * (n ? n : 1);
    }
    return bytes;
}

/* Of memory: eight times what the caches hold, but a GiB at most, and no more
 * than a quarter of all memory, or than there is time to walk. */
static size_t block_size(const cfx_machine_hardware *hw, double seconds)
{
    int64_t caches = cached_bytes(hw), most = INT64_C(1) << 30;

    if (hw->memory && hw->memory / 4 < most)
        most = hw->memory / 4;
    if (seconds < 2)
        most = (int64_t)(seconds / 2 * (double)most);
    int64_t size = caches < most / 8 ? 8 * caches : most;
    return (size_t)(size < 64 << 20 ? 64 << 20 : size);
}

/* The numbers of threads; gives how many. */
static int choose_counts(int count[COUNTS], int cores)
{
    int n = 0;

    for (int i = 1; i <= cores && n < COUNTS - 1; i = i < 8 ? i + 1 : 2 * i)
        count[n++] = i;
    if (count[n - 1] != cores)
        count[n++] = cores;
    return n;
}

/* ---- Everything ---- */

typedef struct plan {
    cfx_context *ctx;  /* the caller's, which may be cancelled */
    cfx_context *own;  /* with a thread for each core, and the block */
    cfx_machine_hardware hw;
    const cfx_machine_loops *loops;
    char *block;
    size_t size;
    double seconds;    /* for everything */
    int64_t began;
} plan;

static cfx_status own_context(cfx_context **out, cfx_context *ctx, int threads,
                              cfx_error *err)
{
    const cfx_options o = {
        .size = sizeof(o),
        .allocator = ctx->heap.from,
        .threads = threads,
        .cpu = ctx->cpu,
        .max_memory = ctx->heap.limit,
        .keep_blas_threads = true,
    };

    return cfx_context_new(out, &o, err);
}

static void touch(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    memset((char *)arg + begin, 0, (size_t)(end - begin));
}

/* The block, touched by all threads so that it is spread over all memory. */
static cfx_status make_block(plan *p, cfx_error *err)
{
    p->size = block_size(&p->hw, p->seconds);
    for (; !p->block && p->size >= 16 << 20; p->size /= 2)
        p->block = cfx_block_alloc(p->own, p->size);
    if (!p->block)
        return cfx_no_memory(err);
    p->size *= 2; /* the loop went one further */
    cfx_parallel_for(p->own, (int64_t)p->size, 4 << 20, touch, p->block);
    return CFX_OK;
}

/* With all that a team needs set. False: the threads cannot be had. */
static cfx_status measure_with(const plan *p, team *t, cfx_machine_rates *r,
                               bool *had, cfx_error *err)
{
    r->threads = t->n;
    *had = measure_peaks(t, p->loops, r);
    for (int i = 0; i <= p->hw.ncaches && *had; i++) {
        const cfx_machine_cache *c = &p->hw.cache[i];
        cfx_machine_level *l = &r->level[i];
        bool memory = i == p->hw.ncaches;
        cfx_status rc = cfx_context_check(p->ctx, err);
        if (rc)
            return rc;
        if (memory)
            strcpy(l->name, "memory");
        else
            snprintf(l->name, sizeof(l->name), "L%d", c->level);
        l->bytes = memory ? p->hw.memory : c->bytes;
        l->threads_sharing = memory ? t->n : sharing(&p->hw, c, t->n);
        size_t set = memory ? t->slice - 4 * SKEW : set_of(&p->hw, i, t->n);
        if (set > t->slice - 4 * SKEW)
            set = t->slice - 4 * SKEW;
        *had = measure_level(t, p->loops, l, set, memory);
        r->nlevels = i + 1;
    }
    return CFX_OK;
}

/* Measure `threads` threads; *had is false where so many cannot be had. */
static cfx_status measure_count(const plan *p, int threads, int64_t share_ns,
                                cfx_machine_rates *r, bool *had,
                                cfx_error *err)
{
    team *t = NULL;
    cfx_context *ctx;
    cfx_status rc = own_context(&ctx, p->ctx, threads, err);

    if (rc)
        return rc;
    size_t sinks = (size_t)threads * CFX_MACHINE_SINK;
    size_t members = (size_t)threads * sizeof(member);
    t = cfx_block_alloc(ctx, sizeof(*t) + members + sinks);
    if (t) {
        memset((void *)t, 0, sizeof(*t) + members + sinks);
        t->ctx = ctx;
        t->n = threads;
        t->hw = &p->hw;
        t->member = (member *)(void *)(t + 1);
        t->sinks = (char *)(t->member + threads);
        t->block = p->block;
        t->slice = p->size / (size_t)threads / 4096 * 4096;
        t->share_ns = share_ns;
        t->warm = fmin((double)cached_bytes(&p->hw), (double)p->size / 4);
        rc = measure_with(p, t, r, had, err);
        cfx_block_free(ctx, t, sizeof(*t) + members + sinks);
    } else {
        rc = cfx_no_memory(err);
    }
    cfx_context_free(ctx);
    return rc;
}

/* How long each loop may take when so many teams are still to be measured; on
 * a busy machine those before took longer than they should. */
static int64_t share_of_rest(const plan *p, int teams)
{
    int loops = WAYS * (p->hw.ncaches + 1) + WAYS_PAST;
    double left = p->seconds * 1e9 - (double)(cfx_clock_ns() - p->began);

    for (const cfx_machine_arithmetic *a = p->loops->arithmetic; a->run; a++)
        loops += cfx_machine__has(a->needs);
    return (int64_t)(fmax(left, p->seconds * 1e8) / (loops * teams));
}

static cfx_status name_all(cfx_machine_box *box, const plan *p,
                           cfx_error *err)
{
    char text[CFX_MACHINE_TEXT];
    cfx_machine *m = &box->machine;

    cfx_machine__instructions(text, p->loops);
    m->cores = p->hw.cores;
    m->name = cfx_arena_strdup(&box->arena, p->hw.name, strlen(p->hw.name));
    m->instructions = cfx_arena_strdup(&box->arena, text, strlen(text));
    m->comment = cfx_machine__measured_by();
    return m->name && m->instructions ? CFX_OK : cfx_no_memory(err);
}

static cfx_status measure_all(plan *p, cfx_machine_box *box, const int *count,
                              cfx_error *err)
{
    cfx_status rc = name_all(box, p, err);
    cfx_machine *m = &box->machine;
    bool had = true;

    if (!rc)
        rc = make_block(p, err);
    for (int left = ROUNDS; left > 0 && !rc; left--) {
        for (int i = 0; i < m->nrates && !rc; i++) {
            int teams = left * m->nrates - i;
            rc = measure_count(p, count[i], share_of_rest(p, teams),
                               &m->rates[i], &had, err);
            if (!rc && !had && !i)
                rc = cfx_fail(err, CFX_ELIMIT, "no thread can be had");
            if (!had)
                m->nrates = i;
        }
    }
    cfx_block_free(p->own, p->block, p->size);
    return rc;
}

cfx_status cfx_machine_measure(cfx_machine **out, cfx_context *ctx,
                               double seconds, cfx_error *err)
{
    plan p = {.ctx = ctx, .loops = cfx_machine__loops(ctx->cpu),
              .seconds = seconds > 0 ? seconds : CFX_MACHINE_SECONDS,
              .began = cfx_clock_ns()};
    int count[COUNTS];

    *out = NULL;
    if (!(seconds >= 0 && seconds <= 1e6))
        return cfx_fail(err, CFX_EINVAL, "%g seconds are no time to measure",
                        seconds);
    cfx_machine__detect(&p.hw);
    int n = choose_counts(count, p.hw.cores);
    cfx_machine_box *box = cfx_machine__new(ctx, n);
    if (!box)
        return cfx_no_memory(err);
    cfx_status rc = own_context(&p.own, ctx, p.hw.cores, err);
    if (!rc)
        rc = measure_all(&p, box, count, err);
    cfx_context_free(p.own);
    if (rc)
        cfx_machine_free(&box->machine);
    else
        *out = &box->machine;
    return rc;
}

/* ---- Names ---- */

const cfx_machine_loops *cfx_machine__loops(cfx_cpu level)
{
    switch (level) {
#if defined(__x86_64__)
    case CFX_CPU_AVX512:
        return &cfx_machine_loops_avx512;
    case CFX_CPU_AVX2:
        return &cfx_machine_loops_avx2;
#elif defined(__aarch64__)
    case CFX_CPU_NEON:
        return &cfx_machine_loops_neon;
#endif
    default:
        return &cfx_machine_loops_plain;
    }
}

void cfx_machine__instructions(char out[CFX_MACHINE_TEXT],
                               const cfx_machine_loops *loops)
{
    const cfx_machine_arithmetic *a = loops->arithmetic;
    int n = snprintf(out, CFX_MACHINE_TEXT, "%s", loops->name);

    for (; a->run; a++) {
        if (a->name && cfx_machine__has(a->needs))
            n += snprintf(out + n, (size_t)(CFX_MACHINE_TEXT - n), ", %s",
                          a->name);
    }
}

const char *cfx_machine__measured_by(void)
{
    return "measured by cfx " CFX_VERSION;
}
