/*
 * pool_test -- memory that is counted and used again, and threads.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context_impl.h"
#include "base/util.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;

static void make(const cfx_options *o)
{
    err = (cfx_error){0};
    ck_assert_msg(cfx_context_new(&ctx, o, &err) == CFX_OK, "%s", err.text);
}

static void make_with(int threads)
{
    make(&(cfx_options){.size = sizeof(cfx_options), .threads = threads});
}

static void setup(void)
{
    make_with(4);
}

static void teardown(void)
{
    ck_assert_uint_eq(cfx_context_memory(ctx), 0);
    cfx_context_free(ctx);
}

/* Another context in place of the fixture's. */
static void replace(const cfx_options *o)
{
    cfx_context_free(ctx);
    make(o);
}

static void replace_with(int threads)
{
    cfx_context_free(ctx);
    make_with(threads);
}

/* ---- Memory ---- */

TEST_CASE(memory_is_counted_now_and_at_its_peak)
{
    void *a = cfx_alloc(ctx, 1000), *b = cfx_block_alloc(ctx, 5000);
    ck_assert_uint_eq(cfx_context_memory(ctx), 6000);
    cfx_free(ctx, a, 1000);
    ck_assert_uint_eq(cfx_context_memory(ctx), 5000);
    a = cfx_calloc(ctx, 10, 50);
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(((char *)a)[i], 0);
    a = cfx_realloc(ctx, a, 500, 2000);
    ck_assert_uint_eq(cfx_context_memory(ctx), 7000);
    a = cfx_realloc(ctx, a, 2000, 10);
    ck_assert_uint_eq(cfx_context_memory(ctx), 5010);
    cfx_free(ctx, a, 10);
    cfx_block_free(ctx, b, 5000);
    ck_assert_uint_eq(cfx_context_memory(ctx), 0);
    ck_assert_uint_eq(cfx_context_peak_memory(ctx), 7000);
    cfx_free(ctx, cfx_alloc(ctx, 20), 20);
    ck_assert_uint_eq(cfx_context_peak_memory(ctx), 7000);
}

TEST_CASE(nothing_can_be_allocated_and_freed)
{
    void *a = cfx_alloc(ctx, 0), *b = cfx_block_alloc(ctx, 0);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    a = cfx_realloc(ctx, a, 0, 0);
    cfx_free(ctx, a, 0);
    cfx_block_free(ctx, b, 0);
    cfx_free(ctx, NULL, 5);
    cfx_block_free(ctx, NULL, 5);
}

TEST_CASE(sizes_beyond_reason_are_refused)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2,
                                   SIZE_MAX / 2 + 1, (size_t)1 << 60};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        ck_assert_ptr_null(cfx_block_alloc(ctx, sizes[i]));
        ck_assert_ptr_null(cfx_calloc(ctx, sizes[i], 3));
    }
    ck_assert_uint_eq(cfx_context_memory(ctx), 0);
}

/* A free block is kept whole: how much is kept tells how large it is. */
TEST_CASE(class_wastes_at_most_an_eighth)
{
    for (size_t size = 8193; size < (size_t)1 << 22; size += size / 13 + 1) {
        cfx_heap_trim(&ctx->heap);
        cfx_block_free(ctx, cfx_block_alloc(ctx, size), size);
        size_t got = ctx->heap.kept;
        if (ctx->heap.direct)
            return;
        ck_assert_uint_ge(got, size);
        ck_assert_uint_eq(got % 64, 0);
        if (size < 256 * 1024)
            ck_assert(got - size < 64 || got - size <= size / 8);
        else
            ck_assert_uint_lt(got - size, (size_t)2 << 20);
    }
}

TEST_CASE(blocks_are_aligned_and_apart)
{
    enum { N = 200 };
    unsigned char *p[N];
    size_t size[N];
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++) {
            uint64_t r = cfx_random_bits(1, i);
            size[i] = (size_t)(r >> 8) % ((size_t)1 << (r % 22)) + 1;
            p[i] = cfx_block_alloc(ctx, size[i]);
            ck_assert_ptr_nonnull(p[i]);
            ck_assert_uint_eq((uintptr_t)p[i] % 64, 0);
            memset(p[i], (int)i, size[i]);
        }
        for (unsigned i = 0; i < N; i++) {
            ck_assert_uint_eq(p[i][0], i);
            ck_assert_uint_eq(p[i][size[i] - 1], i);
            cfx_block_free(ctx, p[i], size[i]);
        }
    }
}

TEST_CASE(block_is_used_again)
{
    if (ctx->heap.direct)
        return;
    static const size_t sizes[] = {64, 4000, 100000, 5000000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        void *p = cfx_block_alloc(ctx, sizes[i]);
        cfx_block_free(ctx, p, sizes[i]);
        ck_assert_ptr_eq(cfx_block_alloc(ctx, sizes[i] - 1), p);
        cfx_block_free(ctx, p, sizes[i] - 1);
    }
}

TEST_CASE(kept_blocks_stay_near_what_was_in_use)
{
    if (ctx->heap.direct)
        return;
    /* Each round needs another size, and as much as the ones before. */
    for (size_t round = 0; round < 40; round++) {
        size_t size = ((size_t)40 << 20) + (round << 21);
        void *p = cfx_block_alloc(ctx, size);
        ck_assert_ptr_nonnull(p);
        cfx_block_free(ctx, p, size);
        size_t peak = cfx_context_peak_memory(ctx);
        ck_assert_uint_le(ctx->heap.kept, peak + (6 << 20));
    }
    cfx_heap_trim(&ctx->heap);
    ck_assert_uint_eq(ctx->heap.kept, 0);
}

/* The pieces cut from one stretch of memory, whatever their sizes and the order
 * in which they come back, are that stretch again. */
TEST_CASE(spans_join_again)
{
    enum { ALL = 512, N = 64 };
    char *memory = cfx_block_alloc(ctx, ALL * CFX_SPAN), *p[N] = {NULL};
    size_t size[N], left = ALL * CFX_SPAN;
    cfx_spans s = {NULL};
    ck_assert_ptr_nonnull(memory);
    cfx_spans_give(&s, memory, left);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t r = cfx_random_bits(3, i);
        unsigned k = r % N;
        if (p[k]) {
            ck_assert_int_eq(p[k][0], (char)k);
            ck_assert_int_eq(p[k][size[k] - 1], (char)k);
            cfx_spans_give(&s, p[k], size[k]);
            left += size[k];
            p[k] = NULL;
            continue;
        }
        size[k] = ((r >> 8) % 24 + 1) * CFX_SPAN;
        p[k] = cfx_spans_take(&s, size[k]);
        if (p[k]) {
            p[k][0] = p[k][size[k] - 1] = (char)k;
            left -= size[k];
        }
    }
    for (unsigned k = 0; k < N; k++)
        if (p[k]) {
            cfx_spans_give(&s, p[k], size[k]);
            left += size[k];
        }
    ck_assert_uint_eq(left, ALL * CFX_SPAN);
    ck_assert_ptr_eq(s.first, (void *)memory);
    ck_assert_uint_eq(s.first->size, left);
    ck_assert_ptr_null(s.first->next);
    size_t cut = 3 * CFX_SPAN;
    ck_assert_ptr_eq(cfx_spans_cut(&s, &cut), memory + left - cut);
    ck_assert_ptr_eq(cfx_spans_take(&s, left - cut), memory);
    ck_assert_ptr_null(s.first);
    ck_assert_ptr_null(cfx_spans_cut(&s, &cut));
    cfx_block_free(ctx, memory, ALL * CFX_SPAN);
}

TEST_CASE(memory_ends_at_the_limit)
{
    replace(
        &(cfx_options){.size = sizeof(cfx_options), .max_memory = 10 << 20});
    void *a = cfx_block_alloc(ctx, 4 << 20), *b = cfx_alloc(ctx, 4 << 20);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_null(cfx_block_alloc(ctx, 3 << 20));
    ck_assert_ptr_null(cfx_alloc(ctx, 3 << 20));
    ck_assert_ptr_null(cfx_realloc(ctx, b, 4 << 20, 7 << 20));
    cfx_block_free(ctx, a, 4 << 20);
    ck_assert_uint_le(ctx->heap.kept + cfx_context_memory(ctx), 10 << 20);
    b = cfx_realloc(ctx, b, 4 << 20, 10 << 20);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(ctx->heap.kept, 0);
    cfx_free(ctx, b, 10 << 20);
}

static void *churn(void *arg)
{
    uint64_t key = (uint64_t)(uintptr_t)arg;
    void *held[16] = {NULL};
    size_t size[16] = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t r = cfx_random_bits(key, i);
        unsigned k = r % 16;
        if (held[k])
            assert_each_eq(*(unsigned char *)held[k], (key + k) & 0xFF);
        cfx_block_free(ctx, held[k], size[k]);
        size[k] = (r >> 8) % ((size_t)1 << ((r >> 4) % 18)) + 1;
        held[k] = cfx_block_alloc(ctx, size[k]);
        *(unsigned char *)held[k] = (unsigned char)(key + k);
    }
    for (int k = 0; k < 16; k++)
        cfx_block_free(ctx, held[k], size[k]);
    return NULL;
}

TEST_CASE(memory_is_for_many_threads)
{
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++)
        ck_assert(!pthread_create(&thread[i], NULL, churn, (void *)(i * 50)));
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

/* ---- Threads ---- */

typedef struct job {
    int64_t n, grain;
    atomic_int *seen;     /* by piece */
    atomic_int inside[8]; /* by worker */
    atomic_int wrong;
} job;

static void visit(void *arg, int64_t begin, int64_t end, int worker)
{
    job *j = arg;
    bool ok = worker >= 0 && worker < cfx_context_threads(ctx) &&
              begin % j->grain == 0 && begin < end &&
              (end - begin == j->grain || end == j->n);
    if (!ok || atomic_fetch_add(&j->inside[worker], 1)) {
        atomic_fetch_add(&j->wrong, 1);
        return;
    }
    atomic_fetch_add(&j->seen[begin / j->grain], 1);
    atomic_fetch_sub(&j->inside[worker], 1);
}

static void run_job(int64_t n, int64_t grain)
{
    int64_t pieces = n / grain + (n % grain != 0);
    job j = {.n = n, .grain = grain};
    j.seen = calloc((size_t)pieces + 1, sizeof(*j.seen));
    cfx_parallel_for(ctx, n, grain, visit, &j);
    ck_assert_int_eq(atomic_load(&j.wrong), 0);
    for (int64_t i = 0; i < pieces; i++)
        assert_each_eq(atomic_load(&j.seen[i]), 1);
    free(j.seen);
}

static void run_jobs(void)
{
    static const int64_t n[] = {0, 1, 2, 3, 7, 64, 1000, 4097};
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
            run_job(n[i], 1);
            run_job(n[i], 3);
            run_job(n[i], 1000);
        }
}

TEST_CASE(every_piece_is_done_once)
{
    run_jobs();
    run_job(10, INT64_MAX);
}

TEST_CASE(every_piece_is_done_once_by_any_number_of_threads)
{
    for (int threads = 1; threads <= 8; threads++) {
        replace_with(threads);
        run_jobs();
    }
}

TEST_CASE(work_is_done_when_threads_cannot_be_made)
{
    for (int limit = 0; limit < 3; limit++) {
        replace_with(4);
        ctx->pool.create_limit = limit;
        run_jobs();
        ck_assert_int_eq(atomic_load(&ctx->pool.workers), limit + 1);
    }
}

/* ---- Forks ---- */

/* The sanitizers' own allocator does not survive a fork of another thread. */
#if !defined(CFX_SANITIZED) && !defined(__SANITIZE_ADDRESS__)
static atomic_bool ending;

static void count_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_llong *)arg, end - begin);
}

/* Allocate, and share work out. */
static bool work_some(void)
{
    atomic_llong sum = 0;
    void *p = cfx_block_alloc(ctx, 5000), *q = cfx_alloc(ctx, 100);
    cfx_parallel_for(ctx, 1000, 10, count_piece, &sum);
    bool ok = p && q && atomic_load(&sum) == 1000;
    cfx_block_free(ctx, p, 5000);
    cfx_free(ctx, q, 100);
    return ok;
}

static void *work_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&ending))
        work_some();
    return NULL;
}

/* The child of a fork has one thread; locks and pieces of others are gone. */
TEST_CASE(the_child_of_a_fork_goes_on)
{
    enum { FORKS = 100, SECONDS = 30 };
    pthread_t other;
    atomic_store(&ending, false);
    ck_assert_int_eq(pthread_create(&other, NULL, work_on, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (!child) {
            alarm(SECONDS);
            bool ok = work_some();
            cfx_context_free(ctx);
            _exit(!ok);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    atomic_store(&ending, true);
    pthread_join(other, NULL);
}
#endif

TEST_CASE(work_is_done_after_the_threads_went_to_sleep)
{
    for (int round = 0; round < 20; round++) {
        run_job(100, 1);
        int64_t until = cfx_clock_ns() + 1000000;
        while (cfx_clock_ns() < until)
            ;
    }
}

static atomic_int total, misplaced;

static void count_inner(void *arg, int64_t begin, int64_t end, int worker)
{
    if (worker != *(int *)arg)
        atomic_fetch_add(&misplaced, 1);
    atomic_fetch_add(&total, (int)(end - begin));
}

static void count_outer(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)arg;
    for (int64_t i = begin; i < end; i++)
        cfx_parallel_for(ctx, 10, 3, count_inner, &worker);
}

TEST_CASE(nested_work_stays_on_its_worker)
{
    for (int round = 0; round < 50; round++)
        cfx_parallel_for(ctx, 100, 1, count_outer, NULL);
    ck_assert_int_eq(atomic_load(&total), 50 * 100 * 10);
    ck_assert_int_eq(atomic_load(&misplaced), 0);
}

static void add_up(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add((_Atomic(int64_t) *)arg, i);
}

static void *use_pool(void *arg)
{
    (void)arg;
    for (int round = 0; round < 500; round++) {
        _Atomic(int64_t) sum = 0;
        cfx_parallel_for(ctx, 1000, 7, add_up, &sum);
        if (atomic_load(&sum) != 999 * 1000 / 2)
            return &total;
    }
    return NULL;
}

TEST_CASE(several_threads_may_share_a_context)
{
    pthread_t thread[4];
    void *failed;
    for (int i = 0; i < 4; i++)
        ck_assert(!pthread_create(&thread[i], NULL, use_pool, NULL));
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &failed);
        ck_assert_ptr_null(failed);
    }
}

static void *make_slot(cfx_context *c)
{
    return cfx_alloc(c, 8);
}

static void free_slot(cfx_context *c, void *p)
{
    cfx_free(c, p, 8);
}

static void *use_slot(void *arg)
{
    static const cfx_slot slot = {make_slot, free_slot};
    (void)arg;
    return cfx_context_slot(ctx, &slot);
}

TEST_CASE(threads_that_race_for_a_slot_get_the_same)
{
    pthread_t thread[4];
    void *got, *mine = NULL;
    for (int i = 0; i < 4; i++)
        ck_assert(!pthread_create(&thread[i], NULL, use_slot, NULL));
    mine = use_slot(NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &got);
        ck_assert_ptr_eq(got, mine);
    }
    ck_assert_uint_eq(cfx_context_memory(ctx), 8);
    replace_with(1);
}

TEST_SUITE(pool, .setup = setup, .teardown = teardown, .timeout = 300)
