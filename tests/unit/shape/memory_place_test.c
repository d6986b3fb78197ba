/*
 * memory_place_test -- offsets of blocks that are no model's.
 */
#include <stdlib.h>
#include <time.h>

#include "shapeprop/memory/memory_impl.h"
#include "tests/unit/counted.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;
static uint64_t seed;

static void setup(void)
{
    err = (cfx_error){0};
    ctx = counted_context();
    seed = 1;
}

static void teardown(void)
{
    free_counted(ctx);
}

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

/* ---- The same, in the plainest way ---- */

static int64_t plain_bound(const cfx_memory_span *s, size_t n, uint32_t end)
{
    int64_t most = 0;
    for (uint32_t t = 0; t < end; t++) {
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += s[i].first <= t && t <= s[i].last ? s[i].bytes : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

static void check_apart(const cfx_memory_span *s, size_t n, int64_t size)
{
    int64_t high = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_ge(s[i].offset, 0);
        ck_assert_int_eq(s[i].offset % CFX_MEMORY_ALIGN, 0);
        high = s[i].offset + s[i].bytes > high ? s[i].offset + s[i].bytes
                                               : high;
        for (size_t k = 0; k < i; k++)
            assert_each_msg(s[i].last < s[k].first || s[k].last < s[i].first ||
                                s[i].offset + s[i].bytes <= s[k].offset ||
                                s[k].offset + s[k].bytes <= s[i].offset,
                            "%zu and %zu overlap", i, k);
    }
    ck_assert_int_eq(high, size);
}

/* Place, check, and give how far above the bound that is. */
static double placed(cfx_memory_span *s, size_t n, uint32_t end)
{
    int64_t bound, size;
    ck_assert_int_eq(cfx_memory__bound(&bound, ctx, s, n, end, &err), 0);
    ck_assert_int_eq(bound, plain_bound(s, n, end));
    ck_assert_int_eq(cfx_memory__place(s, n, end, bound, &size, ctx, &err), 0);
    check_apart(s, n, size);
    ck_assert_int_ge(size, bound);
    return bound ? (double)size / (double)bound : 1;
}

/* ---- Shapes of graphs ---- */

static cfx_memory_span span(uint32_t first, uint32_t last, uint32_t units)
{
    return (cfx_memory_span){(int64_t)units * CFX_MEMORY_ALIGN, -1, first,
                             last};
}

TEST_CASE(nothing_takes_nothing)
{
    cfx_memory_span one = span(0, 0, 3);
    int64_t size;
    ck_assert_int_eq(cfx_memory__place(NULL, 0, 0, 0, &size, ctx, &err), 0);
    ck_assert_int_eq(size, 0);
    ck_assert_double_eq(placed(&one, 1, 1), 1);
}

/* Each lives until the next is made, as in a chain of layers; one in eight
 * lives up to `jump` longer. Gives the worst of some. */
static double worst_chain(uint32_t jump)
{
    cfx_memory_span s[200];
    double worst = 1;
    for (int round = 0; round < 50; round++) {
        uint32_t n = 2 + below(198);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t last = i + 1 + (below(8) ? 0 : below(jump + 1));
            s[i] = span(i, last < n ? last : n - 1, 1 + below(1000));
        }
        double over = placed(s, n, n);
        worst = over > worst ? over : worst;
    }
    return worst;
}

TEST_CASE(chains_take_their_largest_live_set)
{
    ck_assert_double_eq(worst_chain(0), 1);
}

TEST_CASE(chains_with_shortcuts_take_little_more)
{
    for (uint32_t jump = 1; jump < 4; jump++)
        ck_assert_double_le(worst_chain(jump), 1.1);
}

/* Blocks end in the reverse order of their beginnings, as in nested graphs. */
TEST_CASE(stacks_take_their_largest_live_set)
{
    cfx_memory_span s[100];
    for (int round = 0; round < 100; round++) {
        uint32_t n = 1 + below(100), t = 0, depth = 0, open[100];
        uint32_t made = 0;
        while (made < n || depth) {
            if (made < n && (!depth || below(2))) {
                s[made] = span(t++, 0, 1 + below(100));
                open[depth++] = made++;
            } else {
                s[open[--depth]].last = t++;
            }
        }
        ck_assert_double_eq(placed(s, n, t), 1);
    }
}

TEST_CASE(random_blocks_never_overlap)
{
    cfx_memory_span s[120];
    double worst = 1, sum = 0;
    int rounds = 100;
    for (int round = 0; round < rounds; round++) {
        uint32_t n = 1 + below(120), end = 1 + below(60);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = below(end);
            uint32_t last = first + below(1 + (below(4) ? 5 : end));
            s[i] = span(first, last < end ? last : end - 1,
                        1 + below(below(2) ? 4 : 1000));
        }
        double over = placed(s, n, end);
        worst = over > worst ? over : worst;
        sum += over;
    }
    ck_assert_double_le(worst, 1.25);
    ck_assert_double_le(sum / rounds, 1.01);
}

/* Processor time of this process. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sorting is all that grows faster than the number of blocks, whether few live
 * at once or all. */
TEST_CASE(a_hundred_thousand_blocks_take_no_time)
{
    uint32_t n = 100000;
    cfx_memory_span *s = malloc(n * sizeof(*s));
    for (int kind = 0; kind < 4; kind++) {
        int64_t bound, size;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t life[] = {1, 1 + below(30), n, 1 + below(n)};
            uint32_t last = i + life[kind] < n ? i + life[kind] : n - 1;
            s[i] = span(i, last, 1 + below(1000));
        }
        double start = seconds();
        ck_assert_int_eq(cfx_memory__bound(&bound, ctx, s, n, n, &err), 0);
        ck_assert_int_eq(cfx_memory__place(s, n, n, bound, &size, ctx, &err),
                         0);
        ck_assert_double_lt(seconds() - start, 10);
        ck_assert_int_ge(size, bound);
        ck_assert_int_le(size, bound + bound / 2);
    }
    free(s);
}

TEST_CASE(every_allocation_may_fail)
{
    cfx_memory_span s[20];
    int64_t size, before = held;
    for (uint32_t i = 0; i < 20; i++)
        s[i] = span(i, i + 1, 1 + i % 5);
    cfx_status st = CFX_ENOMEM;
    for (long n = 0; st; n++) {
        allowed = n;
        st = cfx_memory__place(s, 20, 21, 0, &size, ctx, &err);
        allowed = -1;
        ck_assert(!st || st == CFX_ENOMEM);
        ck_assert_int_eq(held, before);
        ck_assert_int_lt(n, 100);
    }
}

TEST_SUITE(memory_place, .setup = setup, .teardown = teardown, .timeout = 60)
