/*
 * bench-limits -- what cfx measures of this machine, held against others.
 *
 * OpenBLAS's product of matrices of 2048 is a lower bound of the peak. The
 * triad is written as STREAM writes it, over arrays of four times the last
 * cache each, by threads of its own, with the compiler's stores; and once more
 * with stores past the caches, which STREAM leaves to the compiler, as wide as
 * the processor has them. STREAM and cfx measure in turns until four turns have
 * bettered neither, since other programs may use the memory for seconds. The
 * best of all repeats counts, as in STREAM. On a busy machine every repeat is
 * disturbed: with -c their time is that on the processors, evenly divided; with
 * -p the best piece of the arrays counts, of 2 MB each, rather than the best
 * repeat.
 *
 *     bench-limits [-c] [-p] [-n RUNS]
 *
 * Status 1: in one of the runs the triad of cfx is more than 10 % off the
 * better of the two.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cfx/machine.h>

#include "bench.h"

#ifdef HAVE_CBLAS
#include <cblas.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    MAX_THREADS = 64,
    COUNTS = 32,
    REPEATS = 6,
    MAX_TURNS = 16,
    N = 2048,
    PIECE = 1 << 18
};

static bool on_processors, by_pieces;

/* Seconds that one of so many threads has had. */
static double now(int threads)
{
    return bench_now(on_processors) / (on_processors ? threads : 1);
}

/* ---- OpenBLAS's product ---- */

#ifdef HAVE_CBLAS

#pragma weak openblas_set_num_threads
void openblas_set_num_threads(int n);

/* Operations a second, the best of all; 0 where it cannot be told. */
static double product(int threads)
{
    float *x = malloc((size_t)3 * N * N * sizeof(*x));
    double best = 0;

    for (size_t i = 0; x && i < (size_t)3 * N * N; i++)
        x[i] = (float)(i % 17) - 8;
    if (openblas_set_num_threads)
        openblas_set_num_threads(threads);
    for (int k = 0; x && openblas_set_num_threads && k < REPEATS; k++) {
        double began = now(threads);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, x,
                    N, x + (size_t)N * N, N, 0, x + (size_t)2 * N * N, N);
        double rate = 2.0 * N * N * N / (now(threads) - began);
        best = rate > best ? rate : best;
    }
    free(x);
    return best;
}

#else

static double product(int threads)
{
    (void)threads;
    return 0;
}

#endif

/* ---- STREAM's triad ---- */

typedef struct stream {
    double *a, *b, *c;
    size_t n;
    int threads;
    bool past;
    pthread_barrier_t barrier;
    double rate; /* bytes a second, the best of all */
} stream;

typedef struct stream_thread {
    stream *s;
    int who;
    pthread_t thread;
} stream_thread;

static void triad(double *restrict a, const double *restrict b,
                  const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}

#if defined(__x86_64__)
/* By vectors of so many numbers, with the functions of PREFIX. */
#define TRIAD_PAST(name, feature, prefix, numbers)                            \
    __attribute__((target(feature))) static void name(                        \
        double *a, const double *b, const double *c, size_t n)                \
    {                                                                         \
        for (size_t i = 0; i < n; i += (numbers))                             \
            prefix##_stream_pd(                                               \
                a + i,                                                        \
                prefix##_add_pd(prefix##_load_pd(b + i),                      \
                                prefix##_mul_pd(prefix##_set1_pd(3),          \
                                                prefix##_load_pd(c + i))));   \
        _mm_sfence();                                                         \
    }

TRIAD_PAST(triad_past_512, "avx512f", _mm512, 8)
TRIAD_PAST(triad_past_256, "avx", _mm256, 4)
TRIAD_PAST(triad_past_128, "sse2", _mm, 2)

static void triad_past(double *a, const double *b, const double *c, size_t n)
{
    if (__builtin_cpu_supports("avx512f"))
        triad_past_512(a, b, c, n);
    else if (__builtin_cpu_supports("avx"))
        triad_past_256(a, b, c, n);
    else
        triad_past_128(a, b, c, n);
}
#else
#define triad_past triad
#endif

static void stay_on(int processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

/* All threads walk a piece of theirs; what that took counts if `told`. */
static void walk_piece(stream *s, int who, size_t at, size_t n, bool told)
{
    pthread_barrier_wait(&s->barrier);
    double began = now(s->threads);
    (s->past ? triad_past : triad)(s->a + at, s->b + at, s->c + at, n);
    pthread_barrier_wait(&s->barrier);
    double rate = 24.0 * (double)n * s->threads / (now(s->threads) - began);
    if (!who && told && rate > s->rate)
        s->rate = rate;
}

static void *stream_main(void *arg)
{
    stream_thread *t = arg;
    stream *s = t->s;
    size_t part = s->n / (size_t)s->threads / 8 * 8;
    size_t at = part * (size_t)t->who;

    stay_on(t->who);
    for (size_t i = at; i < at + part; i++) {
        s->a[i] = 0;
        s->b[i] = 2;
        s->c[i] = 1;
    }
    for (int k = 0; k < REPEATS; k++) {
        size_t n = by_pieces ? PIECE : part;
        for (size_t i = 0; i + n <= part; i += n)
            walk_piece(s, t->who, at + i, n, k > 0);
    }
    return NULL;
}

/* In huge pages where they can be had, or walks of pages' tables count too. */
static double *array_of(size_t bytes)
{
    enum { HUGE_PAGE = 2 << 20 };
    size_t size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    double *p = aligned_alloc(HUGE_PAGE, size);

#ifdef MADV_HUGEPAGE
    if (p)
        madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

/* Bytes a second; 0 where threads or memory cannot be had. */
static double stream_triad(int threads, size_t bytes, bool past)
{
    stream s = {.n = bytes / sizeof(double), .threads = threads, .past = past};
    stream_thread t[MAX_THREADS];

    s.a = array_of(bytes);
    s.b = array_of(bytes);
    s.c = array_of(bytes);
    bool ok = s.a && s.b && s.c &&
              !pthread_barrier_init(&s.barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads && ok; i++) {
        t[i] = (stream_thread){.s = &s, .who = i};
        if (pthread_create(&t[i].thread, NULL, stream_main, &t[i])) {
            perror("pthread_create");
            exit(1);
        }
    }
    for (int i = 0; i < threads && ok; i++)
        pthread_join(t[i].thread, NULL);
    ok = ok && s.a[0] == 5; /* so that it is needed */
    free(s.a);
    free(s.b);
    free(s.c);
    return ok ? s.rate : 0;
}

/* ---- The table ---- */

static void print_row(int threads, const char *what, double cfx,
                      const char *whose, double other)
{
    printf("| %d | %s | %.1f | %s | %.1f | %.3f |\n", threads, what, cfx / 1e9,
           whose, other / 1e9, other / cfx);
    fflush(stdout);
}

static const cfx_machine_level *level_before_memory(const cfx_machine_rates *r)
{
    return &r->level[r->nlevels > 1 ? r->nlevels - 2 : 0];
}

/* Four times the last cache, but not most of the memory. */
static size_t array_bytes(const cfx_machine_rates *r)
{
    int64_t bytes = 4 * level_before_memory(r)->bytes;
    int64_t most = r->level[r->nlevels - 1].bytes / 8;

    return (size_t)(most && most < bytes ? most : bytes) / 64 * 64;
}

/* Rates by one number of threads, the best so far: cfx's triad of memory and
 * peak of float32, and STREAM's loops. */
typedef struct rates {
    double triad, peak, plain, past;
} rates;

static double better(double a, double b)
{
    return a > b ? a : b;
}

static int counts(const cfx_machine *m)
{
    int n = 0;
    while (n < m->nrates && n < COUNTS && m->rates[n].threads <= MAX_THREADS)
        n++;
    return n;
}

/* For each number of threads of a machine. */
static void stream_all(const cfx_machine *m, rates *best)
{
    for (int i = 0; i < counts(m); i++) {
        const cfx_machine_rates *r = &m->rates[i];
        size_t bytes = array_bytes(r);
        best[i].plain = better(best[i].plain,
                               stream_triad(r->threads, bytes, false));
        best[i].past = better(best[i].past,
                              stream_triad(r->threads, bytes, true));
    }
}

static bool measure_all(cfx_context *ctx, rates *best)
{
    cfx_error err = {0};
    cfx_machine *m;
    if (cfx_machine_measure(&m, ctx, 0, &err)) {
        fprintf(stderr, "bench-limits: %s\n", err.text);
        return false;
    }
    for (int i = 0; i < counts(m); i++) {
        const cfx_machine_rates *r = &m->rates[i];
        best[i].triad = better(
            best[i].triad, r->level[r->nlevels - 1].rate[CFX_MACHINE_TRIAD]);
        best[i].peak = better(best[i].peak, r->peak[CFX_MACHINE_FLOAT32]);
    }
    cfx_machine_free(m);
    return true;
}

/* Is the triad within 10 % of the better variant? */
static bool compare(int threads, const rates *best)
{
    double most = product(threads);

    if (most > 0)
        print_row(threads, "float32, GFLOP/s", best->peak, "OpenBLAS", most);
    print_row(threads, "triad, GB/s", best->triad, "STREAM's loop",
              best->plain);
    print_row(threads, "triad, GB/s", best->triad, "past the caches",
              best->past);
    double ratio = best->triad / better(best->plain, best->past);
    return ratio >= 0.9 && ratio <= 1.1;
}

/* Is one of the rates by more than 1 % better than it was? */
static bool any_bettered(const rates *now, const rates *was)
{
    return now->triad > 1.01 * was->triad || now->peak > 1.01 * was->peak ||
           now->plain > 1.01 * was->plain || now->past > 1.01 * was->past;
}

/* A turn of each; `*bettered`: something was. */
static bool take_turn(cfx_context *ctx, const cfx_machine *known, rates *best,
                      bool *bettered)
{
    rates was[COUNTS];

    memcpy(was, best, sizeof(was));
    stream_all(known, best);
    if (!measure_all(ctx, best))
        return false;
    *bettered = false;
    for (int i = 0; i < counts(known); i++)
        *bettered |= any_bettered(&best[i], &was[i]);
    return true;
}

/* `known` has the numbers of threads and the caches. */
static bool run_once(cfx_context *ctx, const cfx_machine *known)
{
    rates best[COUNTS] = {{0}};
    bool near = true, bettered;

    for (int turn = 0, idle = 0; turn < MAX_TURNS && idle < 4; turn++) {
        if (!take_turn(ctx, known, best, &bettered))
            return false;
        idle = bettered ? 0 : idle + 1;
    }
    printf("%s\n\n| threads | what | cfx | other | other's | ratio |\n"
           "|---|---|---|---|---|---|\n",
           known->name);
    for (int i = 0; i < counts(known); i++)
        near &= compare(known->rates[i].threads, &best[i]);
    printf("\nthe triad is %s\n\n", near ? "within 10 % of the better"
                                         : "more than 10 % off the better");
    return near;
}

int main(int argc, char **argv)
{
    cfx_error err = {0};
    cfx_context *ctx;
    cfx_machine *known;
    int runs = 1, far = 0;

    for (int c; (c = getopt(argc, argv, "cpn:")) != -1;) {
        if (c == 'n')
            runs = atoi(optarg);
        else if (c == 'c' || c == 'p')
            *(c == 'c' ? &on_processors : &by_pieces) = true;
        else
            runs = 0;
    }
    if (runs < 1 || optind < argc) {
        fprintf(stderr, "usage: bench-limits [-c] [-p] [-n RUNS]\n");
        return 2;
    }
    if (cfx_context_new(&ctx, NULL, &err) ||
        cfx_machine_measure(&known, ctx, 0.1, &err)) {
        fprintf(stderr, "bench-limits: %s\n", err.text);
        return 1;
    }
    for (int i = 0; i < runs; i++)
        far += !run_once(ctx, known);
    cfx_machine_free(known);
    cfx_context_free(ctx);
    return far > 0;
}
