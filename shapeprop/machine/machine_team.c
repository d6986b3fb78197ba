/*
 * machine_team -- threads that run the same loop at the same time.
 *
 * Pieces take about 100 us in caches, so that many are undisturbed even on a
 * busy machine. The best sample counts; the spread shows how far the median is
 * below it.
 */
#define _GNU_SOURCE 1
#include "shapeprop/machine/machine_team.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/context_impl.h"
#include "base/thread_pool.h"

enum { PIECE_NS = 100000, GIVE_UP_NS = 2000000000, SAMPLES_MIN = 3 };

/* Wait for all members. False if some will never arrive. */
static bool wait_for_all(cfx_team *t, int64_t *passed)
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
        /* With fewer processors than threads, others must run. */
        sched_yield();
        if (!until)
            until = cfx_clock_ns() + GIVE_UP_NS;
        if (cfx_clock_ns() > until)
            atomic_store(&t->given_up, true);
    }
    return true;
}

static void work(const cfx_team *t, int who)
{
    char *sink = t->sinks + (size_t)who * CFX_MACHINE_SINK;

    if (t->arithmetic)
        t->arithmetic->run(t->rounds, sink);
    else
        t->pass(t->block + (size_t)who * t->slice + t->at, t->bytes, t->apart,
                t->rounds, sink);
}

/* Choose the rounds of the next piece. False if this one had too few to
 * count. */
static bool choose_rounds(cfx_team *t, double took)
{
    double round = took / (double)t->rounds;
    int64_t did = t->rounds;

    if (!(t->best_round > 0) || round < t->best_round)
        t->best_round = round;
    if (t->stride)
        return true;
    double want = ceil(PIECE_NS / fmax(t->best_round, 1e-3));
    t->rounds = (int64_t)fmin(want, 16.0 * (double)did);
    return 2 * (double)did >= want;
}

/* Record a piece; the first member does while the others wait. */
static void record(cfx_team *t)
{
    cfx_team_piece p = {t->member[0].begin, t->member[0].end,
                        t->work * (double)t->rounds * t->n};

    for (int i = 1; i < t->n; i++) {
        const cfx_team_member *m = &t->member[i];
        p.begin = m->begin < p.begin ? m->begin : p.begin;
        p.end = m->end > p.end ? m->end : p.end;
    }
    bool counts = choose_rounds(t, (double)(p.end - p.begin) + 1e-3);
    int64_t spent = p.end - t->began;
    if (t->cold > 0 && spent < t->most_ns)
        t->cold--;
    else if (counts)
        t->piece[t->npieces++] = p;
    if (t->stride)
        t->at = t->at + t->stride > t->limit ? 0 : t->at + t->stride;
    int enough = t->window + SAMPLES_MIN - 1;
    t->done = t->npieces == CFX_TEAM_PIECES ||
              (t->npieces >= enough && spent > t->share_ns) ||
              (t->npieces && spent > t->most_ns);
}

/* Pin the thread to one processor: on a busy machine a scheduler may put
 * several members on the same one. Stores the previous set in *before. */
static bool pin_thread(const cfx_machine_hardware *hw, int who,
                       cpu_set_t *before)
{
    cpu_set_t one;

    if (who >= hw->nprocessors ||
        sched_getaffinity(0, sizeof(*before), before))
        return false;
    CPU_ZERO(&one);
    CPU_SET((size_t)hw->processor[who], &one);
    return !sched_setaffinity(0, sizeof(one), &one);
}

static void take_pieces(void *arg, int64_t begin, int64_t end, int worker)
{
    cfx_team *t = arg;
    int who = (int)begin;
    cfx_team_member *me = &t->member[who];
    int64_t passed = 0;
    cpu_set_t before;
    bool pinned = pin_thread(t->hw, who, &before);

    (void)end;
    (void)worker;
    while (wait_for_all(t, &passed) && !t->done) {
        me->begin = cfx_clock_ns();
        work(t, who);
        me->end = cfx_clock_ns();
        if (!wait_for_all(t, &passed))
            break;
        if (!who)
            record(t);
    }
    if (pinned)
        sched_setaffinity(0, sizeof(before), &before);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Rates have fewer than four exact digits. */
static double rounded(double x)
{
    double unit = pow(10, floor(log10(x)) - 3);

    return round(x / unit) * unit;
}

cfx_team_result cfx_team_judge(cfx_team *t)
{
    int window = t->npieces < t->window ? t->npieces : t->window, n = 0;
    bool cut = t->cold > 0 || window < t->window;
    double sum = 0;

    for (int i = 0; i < t->npieces; i++) {
        const cfx_team_piece *last = &t->piece[i], *first = last - window + 1;
        sum += last->work;
        if (i + 1 < window)
            continue;
        t->sample[n++] = sum / ((double)(last->end - first->begin) + 1e-3) *
                         1e9;
        sum -= first->work;
    }
    qsort(t->sample, (size_t)n, sizeof(*t->sample), by_size);
    double top = t->sample[n - 1], middle = t->sample[n / 2];
    return (cfx_team_result){rounded(top),
                             round((top - middle) / top * 1000) / 1000, cut};
}

/* Return the processor time of all threads of the process. */
static int64_t processor_ns(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now))
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool cfx_team_run(cfx_team *t, cfx_team_result *out)
{
    atomic_store(&t->arrived, 0);
    t->rounds = 1;
    t->best_round = 0;
    t->npieces = 0;
    t->done = false;
    int64_t had = processor_ns();
    t->began = cfx_clock_ns();
    cfx_parallel_for(t->ctx, t->n, 1, take_pieces, t);
    t->had_ns += (double)(processor_ns() - had);
    t->wanted_ns += (double)(cfx_clock_ns() - t->began) * t->n;
    if (atomic_load(&t->given_up))
        return false;
    *out = cfx_team_judge(t);
    return true;
}
