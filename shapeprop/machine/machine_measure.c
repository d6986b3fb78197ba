/*
 * machine_measure -- measure this machine.
 *
 * For a cache, one working set is traversed repeatedly. Memory is traversed
 * piece by piece, cyclically, through a block of BLOCK times the size of all
 * caches, so that each line is evicted long before it is reached again. Stores
 * may still be in the caches when the clock is read, unless they are
 * non-temporal: a sample with such stores is a window of pieces of WINDOW times
 * the caches' size. Other samples are as short as the clock allows: other work
 * on the same memory leaves it idle for milliseconds only, and floors need the
 * best rate. If time or memory is too short for this, or other work used the
 * processors, the machine is marked.
 */
#define _GNU_SOURCE 1
#include "shapeprop/machine/machine_impl.h"

#include <cfx/version.h>

#include <math.h>
#include <stdlib.h>

#include "base/context_impl.h"
#include "base/thread_pool.h"

#include "shapeprop/machine/machine_team.h"

enum {
    PIECE = 4 << 20,         /* of memory that a thread traverses at once */
    CLEAN_WINDOW = 32 << 20, /* of pieces that leave nothing in caches */
    BLOCK = 8,
    BLOCK_MIN = 4, /* times the size of all caches, or less */
    WINDOW = 8,
    BESIDE = 8,             /* times the cache below: a working set beyond
                                   L2, whose cache others may use */
    ROUNDS = 4,             /* repeats of everything, since other work may
                                   take seconds */
    MEMORY_SHARES = 4,      /* of the time, for each memory loop */
    SHARES_MOST = 4,        /* a loop may take up to so many shares, */
    MEMORY_SHARES_MOST = 8, /* for memory, if the time is given, */
    MEMORY_NS = 2000000000, /* else so long */
    PASS = 1024,            /* a pass has a multiple of so many bytes */
    SKEW = 21 * 64,         /* between arrays, so that their lines do not
                                   map to the same sets of a cache */
    COUNTS = 32
};

/* ---- What is measured ---- */

/* The loops of a team, and their results. */
typedef struct measuring {
    cfx_team *team;
    const cfx_machine_loops *loops;
    cfx_machine_rates *rates;
    int64_t share_ns; /* approximate time for a loop */
    bool hurried;     /* the caller gave the time */
    bool cut;         /* too short for a window */
} measuring;

/* Keep a result if it is the best. */
static void keep_best(double *best, double *spread, const cfx_team_result *got)
{
    if (!(got->best > *best))
        return;
    *best = got->best;
    *spread = got->spread;
}

static void fill_sinks(cfx_team *t, cfx_machine_type type)
{
    for (size_t i = 0; i < (size_t)t->n * CFX_MACHINE_SINK; i += 8) {
        double d = 0.5;
        float f[2] = {0.5F, 0.5F};
        memcpy(t->sinks + i,
               type == CFX_MACHINE_FLOAT64 ? (void *)&d : (void *)f, 8);
    }
}

/* Traverse the same piece repeatedly. */
static void repeat_piece(const measuring *m)
{
    cfx_team *t = m->team;

    t->stride = t->at = 0;
    t->window = 1;
    t->cold = 0;
    t->share_ns = m->share_ns;
    t->most_ns = SHARES_MOST * m->share_ns;
}

static bool measure_peaks(measuring *m)
{
    const cfx_machine_arithmetic *a = m->loops->arithmetic;
    cfx_machine_rates *r = m->rates;
    bool had[CFX_MACHINE_TYPES] = {false};

    repeat_piece(m);
    for (; a->run; a++) {
        cfx_team_result got;
        if (had[a->type] || !cfx_context_has(m->team->ctx, a->needs))
            continue;
        m->team->arithmetic = a;
        m->team->work = a->ops;
        had[a->type] = true;
        fill_sinks(m->team, a->type);
        if (!cfx_team_run(m->team, &got))
            return false;
        keep_best(&r->peak[a->type], &r->peak_spread[a->type], &got);
    }
    m->team->arithmetic = NULL;
    /* bfloat16 via conversion to float32, if that is at least as fast. */
    const cfx_team_result f32 = {
        .best = r->peak[CFX_MACHINE_FLOAT32],
        .spread = r->peak_spread[CFX_MACHINE_FLOAT32]};
    keep_best(&r->peak[CFX_MACHINE_BFLOAT16],
              &r->peak_spread[CFX_MACHINE_BFLOAT16], &f32);
    return true;
}

static size_t whole(size_t bytes, size_t unit)
{
    return bytes < unit ? unit : bytes / unit * unit;
}

/* A loop, its number of arrays, the bytes it moves for each byte of one array,
 * and the rate it measures. The last ones are for the last cache and memory. */
typedef struct way {
    cfx_machine_pass *pass;
    int arrays, moved;
    cfx_machine_kernel kernel;
    bool stores; /* stores into the caches */
} way;

enum { WAYS = 4, WAYS_LAST = 3 };

/* The data that a thread traverses at a level. */
typedef struct walk {
    size_t set;    /* bytes, of all arrays */
    double caches; /* for memory: size of all caches; else 0 */
    int ways;      /* number of loops to run */
} walk;

/* Traverse memory; each piece follows the end of the last one. */
static void walk_pieces(const measuring *m, size_t set, double caches,
                        const way *w)
{
    cfx_team *t = m->team;
    size_t piece = whole(PIECE / (size_t)w->arrays, PASS);

    t->bytes = piece < set / 8 ? piece : whole(set / 8, PASS);
    t->stride = t->bytes;
    t->limit = set - t->bytes;
    t->at = t->at > t->limit ? 0 : t->at;
    double all = (double)t->bytes * w->arrays * t->n;
    double window = w->stores ? WINDOW * caches : (double)CLEAN_WINDOW * t->n;
    t->window = (int)fmin(ceil(window / all), CFX_TEAM_PIECES / 2);
    t->cold = 1 + (int)(caches / all);
    t->share_ns = MEMORY_SHARES * m->share_ns;
    t->most_ns = m->hurried ? MEMORY_SHARES_MOST * t->share_ns : MEMORY_NS;
}

static bool measure_way(measuring *m, const way *w, const walk *k,
                        cfx_machine_level *l)
{
    cfx_team *t = m->team;
    size_t set = k->set;
    double spread = l->spread;
    cfx_team_result got;

    if (!w->pass)
        return true;
    t->pass = w->pass;
    if (w->arrays > 1) {
        set = whole(set / (size_t)w->arrays, PASS);
        t->apart = whole(set, 64) + SKEW;
    }
    if (k->caches > 0) {
        walk_pieces(m, set, k->caches, w);
    } else {
        repeat_piece(m);
        t->bytes = whole(set, PASS);
    }
    t->work = (double)t->bytes * w->moved;
    if (!cfx_team_run(t, &got))
        return false;
    m->cut |= got.cut;
    keep_best(&l->rate[w->kernel], &spread, &got);
    l->spread = spread > l->spread ? spread : l->spread;
    return true;
}

static bool measure_level(measuring *m, const walk *k, cfx_machine_level *l)
{
    const cfx_machine_loops *loops = m->loops;
    const way ways[WAYS + WAYS_LAST] = {
        {loops->read, 1, 1, CFX_MACHINE_READ, false},
        {loops->write, 1, 1, CFX_MACHINE_WRITE, true},
        {loops->triad, 3, 3, CFX_MACHINE_TRIAD, true},
        {loops->update, 1, 2, CFX_MACHINE_UPDATE, true},
        {loops->read_streams, 1, 1, CFX_MACHINE_READ, false},
        {loops->write_past, 1, 1, CFX_MACHINE_WRITE, false},
        {loops->triad_past, 3, 3, CFX_MACHINE_TRIAD, false},
    };

    for (int i = 0; i < k->ways; i++) {
        if (!measure_way(m, &ways[i], k, l))
            return false;
    }
    return true;
}

/* ---- Sizes ---- */

static int sharing(const cfx_machine_hardware *hw, const cfx_cache *c,
                   int threads)
{
    int instances = hw->cores / c->processors;

    instances = instances ? instances : 1;
    return (threads + instances - 1) / instances;
}

/* Return the working set of a thread in cache i: half of its share; for a large
 * cache shared with other processes, just enough to exceed the caches below. */
static size_t set_of(const cfx_machine_hardware *hw, int i, int threads)
{
    const cfx_cache *c = &hw->cache[i];
    int64_t set = c->bytes / sharing(hw, c, threads) / 2;

    if (i > 1 && set > BESIDE * c[-1].bytes)
        set = BESIDE * c[-1].bytes;
    return (size_t)set;
}

/* Return the size of all caches together. */
static int64_t cached_bytes(const cfx_machine_hardware *hw)
{
    int64_t bytes = 0;

    for (int i = 0; i < hw->ncaches; i++) {
        int64_t n = hw->cores / hw->cache[i].processors;
        bytes += hw->cache[i].bytes * (n ? n : 1);
    }
    return bytes;
}

/* For memory: at most a quarter of what is free, and what the time allows. */
static size_t block_size(const cfx_machine_hardware *hw, double seconds)
{
    int64_t least = 64 << 20, size = BLOCK * cached_bytes(hw);
    double most = hw->available ? (double)hw->available / 4 : (double)least;

    if (seconds > 0 && seconds < 2)
        most *= seconds / 2;
    size = (double)size < most ? size : (int64_t)most;
    return (size_t)(size < least ? least : size);
}

/* Choose the thread counts; returns how many. */
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
    cfx_context *ctx; /* the caller's, for cancelling */
    cfx_context *own; /* one thread per core, and the block */
    cfx_machine_hardware hw;
    const cfx_machine_loops *loops;
    char *block;
    size_t size;
    double seconds; /* for everything */
    bool given;     /* by the caller */
    bool cut;       /* some loop was too short to exceed the caches */
    double had_ns, wanted_ns; /* processor time of all teams */
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
        .keep_blas_threads = !ctx->blas,
    };

    return cfx_context_new(out, &o, err);
}

static void touch(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    memset((char *)arg + begin, 0, (size_t)(end - begin));
}

/* Allocate the block; all threads touch it, to spread it over the memory. */
static cfx_status make_block(plan *p, cfx_error *err)
{
    p->size = block_size(&p->hw, p->given ? p->seconds : 0);
    while (!(p->block = cfx_block_alloc(p->own, p->size))) {
        p->size /= 2;
        if (p->size < 16 << 20)
            return cfx_no_memory(err);
    }
    p->cut = (int64_t)p->size < BLOCK_MIN * cached_bytes(&p->hw);
    cfx_parallel_for(p->own, (int64_t)p->size, 4 << 20, touch, p->block);
    return CFX_OK;
}

/* Return the data that a thread of a team traverses at level i. */
static walk walk_of(const plan *p, int i, int threads, size_t slice)
{
    bool memory = i == p->hw.ncaches;
    size_t most = slice - 4 * SKEW;
    size_t set = memory ? most : set_of(&p->hw, i, threads);

    return (walk){
        .set = set < most ? set : most,
        .caches = memory ? (double)cached_bytes(&p->hw) : 0,
        .ways = i + 1 >= p->hw.ncaches ? WAYS + WAYS_LAST : WAYS,
    };
}

static void name_level(const plan *p, cfx_machine_level *l, int i, int threads)
{
    const cfx_cache *c = &p->hw.cache[i];
    bool memory = i == p->hw.ncaches;

    if (memory)
        strcpy(l->name, "memory");
    else
        snprintf(l->name, sizeof(l->name), "L%d", c->level);
    l->bytes = memory ? p->hw.memory : c->bytes;
    l->threads_sharing = memory ? threads : sharing(&p->hw, c, threads);
}

/* Measure with a team's settings. False: the threads are not available. */
static cfx_status measure_with(const plan *p, measuring *m, bool *had,
                               cfx_error *err)
{
    int threads = m->team->n;

    m->rates->threads = threads;
    *had = measure_peaks(m);
    for (int i = 0; i <= p->hw.ncaches && *had; i++) {
        cfx_machine_level *l = &m->rates->level[i];
        walk k = walk_of(p, i, threads, m->team->slice);
        cfx_status st = cfx_context_check(p->ctx, err);
        if (st)
            return st;
        name_level(p, l, i, threads);
        *had = measure_level(m, &k, l);
        m->rates->nlevels = i + 1;
    }
    return CFX_OK;
}

/* Measure `threads` threads; *had is false if they are not available. */
static cfx_status measure_count(plan *p, int threads, int64_t share_ns,
                                cfx_machine_rates *r, bool *had,
                                cfx_error *err)
{
    measuring m = {.loops = p->loops,
                   .rates = r,
                   .share_ns = share_ns,
                   .hurried = p->given};
    cfx_team *t = NULL;
    cfx_context *ctx;
    cfx_status st = own_context(&ctx, p->ctx, threads, err);

    if (st)
        return st;
    size_t sinks = (size_t)threads * CFX_MACHINE_SINK;
    size_t members = (size_t)threads * sizeof(*t->member);
    t = cfx_block_alloc(ctx, sizeof(*t) + members + sinks);
    if (t) {
        memset((void *)t, 0, sizeof(*t) + members + sinks);
        t->ctx = ctx;
        t->n = threads;
        t->hw = &p->hw;
        t->member = (cfx_team_member *)(void *)(t + 1);
        t->sinks = (char *)(t->member + threads);
        t->block = p->block;
        t->slice = p->size / (size_t)threads / 4096 * 4096;
        m.team = t;
        st = measure_with(p, &m, had, err);
        p->cut |= m.cut;
        p->had_ns += t->had_ns;
        p->wanted_ns += t->wanted_ns;
        cfx_block_free(ctx, t, sizeof(*t) + members + sinks);
    } else {
        st = cfx_no_memory(err);
    }
    cfx_context_free(ctx);
    return st;
}

/* Return the time for each loop, given the number of teams that are left; on a
 * busy machine earlier teams may have taken longer than planned. */
static int64_t share_of_rest(const plan *p, int teams)
{
    int loops = WAYS * p->hw.ncaches + WAYS_LAST +
                MEMORY_SHARES * (WAYS + WAYS_LAST);
    double left = p->seconds * 1e9 - (double)(cfx_clock_ns() - p->began);

    for (const cfx_machine_arithmetic *a = p->loops->arithmetic; a->run; a++)
        loops += cfx_context_has(p->ctx, a->needs);
    return (int64_t)(fmax(left, p->seconds * 1e8) / (loops * teams));
}

static cfx_status name_all(cfx_machine_box *box, const plan *p, cfx_error *err)
{
    char text[CFX_MACHINE_TEXT];
    cfx_machine *m = &box->machine;

    cfx_machine__instructions(text, p->ctx);
    m->cores = p->hw.cores;
    m->name = cfx_arena_strdup(&box->arena, p->hw.name, strlen(p->hw.name));
    m->instructions = cfx_arena_strdup(&box->arena, text, strlen(text));
    m->comment = cfx_machine__measured_by();
    return m->name && m->instructions ? CFX_OK : cfx_no_memory(err);
}

static cfx_status measure_all(plan *p, cfx_machine_box *box, const int *count,
                              cfx_error *err)
{
    cfx_status st = name_all(box, p, err);
    cfx_machine *m = &box->machine;
    bool had = true;

    if (!st)
        st = make_block(p, err);
    for (int left = ROUNDS; left > 0 && !st; left--) {
        for (int i = 0; i < m->nrates && !st; i++) {
            int teams = left * m->nrates - i;
            st = measure_count(p, count[i], share_of_rest(p, teams),
                               &m->rates[i], &had, err);
            if (!st && !had && !i)
                st = cfx_fail(err, CFX_ELIMIT, "no thread can be created");
            if (!had)
                m->nrates = i;
        }
    }
    cfx_block_free(p->own, p->block, p->size);
    box->hurried = p->cut;
    box->busy = p->wanted_ns > 0 ? 1 - p->had_ns / p->wanted_ns : 0;
    return st;
}

cfx_status cfx_machine_measure(cfx_machine **out, cfx_context *ctx,
                               double seconds, cfx_error *err)
{
    plan p = {.ctx = ctx,
              .loops = cfx_machine__loops_of(ctx->cpu),
              .seconds = seconds > 0 ? seconds : CFX_MACHINE_SECONDS,
              .given = seconds > 0,
              .began = cfx_clock_ns()};
    int count[COUNTS];

    *out = NULL;
    if (!(seconds >= 0 && seconds <= 1e6))
        return cfx_fail(err, CFX_EINVAL, "cannot measure in %g seconds",
                        seconds);
    cfx_machine__detect(&p.hw);
    int n = choose_counts(count, p.hw.cores);
    cfx_machine_box *box = cfx_machine__new(ctx, n);
    if (!box)
        return cfx_no_memory(err);
    cfx_status st = own_context(&p.own, ctx, p.hw.cores, err);
    if (!st)
        st = measure_all(&p, box, count, err);
    cfx_context_free(p.own);
    if (st)
        cfx_machine_free(&box->machine);
    else
        *out = &box->machine;
    return st;
}

/* ---- Names ---- */

const cfx_machine_loops *cfx_machine__loops_of(cfx_cpu level)
{
    switch (level) {
#if defined(__x86_64__)
    case CFX_CPU_AVX512: return &cfx_machine_loops_avx512;
    case CFX_CPU_AVX2: return &cfx_machine_loops_avx2;
#elif defined(__aarch64__)
    case CFX_CPU_NEON: return &cfx_machine_loops_neon;
#endif
    default: return &cfx_machine_loops_plain;
    }
}

void cfx_machine__instructions(char out[CFX_MACHINE_TEXT],
                               const cfx_context *ctx)
{
    const cfx_machine_loops *loops = cfx_machine__loops_of(ctx->cpu);
    const cfx_machine_arithmetic *a = loops->arithmetic;
    int n = snprintf(out, CFX_MACHINE_TEXT, "%s", loops->name);

    for (; a->run; a++) {
        if (a->name && cfx_context_has(ctx, a->needs))
            n += snprintf(out + n, (size_t)(CFX_MACHINE_TEXT - n), ", %s",
                          a->name);
    }
}

const char *cfx_machine__measured_by(void)
{
    return "measured by cfx " CFX_VERSION;
}
