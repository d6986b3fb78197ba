/*
 * base_test -- errors, texts, arrays, maps, arenas, numbers, and what a context
 * is made from.
 */
#define _GNU_SOURCE 1
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cfx/version.h>

#include "base/context_impl.h"
#include "base/util.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;

static void setup(void)
{
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
}

static void teardown(void)
{
    ck_assert_uint_eq(cfx_context_memory(ctx), 0);
    cfx_context_free(ctx);
}

/* An allocator that counts, and fails from call `fail_at` on. */
typedef struct counter {
    long calls, fail_at, held;
} counter;

static void *counted_alloc(void *user, size_t size, size_t align)
{
    counter *c = user;
    void *p = NULL;
    if (c->calls++ >= c->fail_at || posix_memalign(&p, 64, size))
        return NULL;
    ck_assert(align <= 64 && (align & (align - 1)) == 0);
    c->held += (long)size;
    memset(p, 0xA5, size);
    return p;
}

static void counted_free(void *user, void *p, size_t size)
{
    counter *c = user;
    c->held -= (long)size;
    free(p);
}

static cfx_options counted(counter *c)
{
    return (cfx_options){.size = sizeof(cfx_options),
                         .threads = 2,
                         .allocator = {counted_alloc, counted_free, c}};
}

/* ---- Errors ---- */

TEST_CASE(error_keeps_the_first_text)
{
    cfx_error e = {0};
    ck_assert_int_eq(cfx_fail(&e, CFX_ESHAPE, "rank %d", 3), CFX_ESHAPE);
    ck_assert_int_eq(cfx_fail(&e, CFX_EIO, "second"), CFX_EIO);
    ck_assert_int_eq(e.code, CFX_ESHAPE);
    ck_assert_str_eq(e.text, "rank 3");
    ck_assert_int_eq(cfx_fail(NULL, CFX_EIO, "nobody listens"), CFX_EIO);
}

TEST_CASE(error_is_passed_on_with_all_that_it_tells)
{
    cfx_error cause = {0}, e = {0};
    cfx_fail(&cause, CFX_EWEIGHT, "missing weight: %s", "w");
    cause.located = true;
    ck_assert_int_eq(cfx_fail_from(&e, &cause), CFX_EWEIGHT);
    ck_assert_int_eq(e.code, CFX_EWEIGHT);
    ck_assert_str_eq(e.text, "missing weight: w");
    ck_assert(e.located);
    cfx_error_clear(&e);
    ck_assert(!e.located);
    cfx_fail(&e, CFX_EIO, "first");
    ck_assert_int_eq(cfx_fail_from(&e, &cause), CFX_EWEIGHT);
    ck_assert_str_eq(e.text, "first");
    ck_assert(!e.located);
    ck_assert_int_eq(cfx_fail_from(NULL, &cause), CFX_EWEIGHT);
}

TEST_CASE(error_gets_places_in_front)
{
    cfx_error e = {0};
    cfx_fail(&e, CFX_EPARSE, "no digit");
    ck_assert_int_eq(cfx_fail_at(&e, "m.fx:%d", 12), CFX_EPARSE);
    ck_assert_int_eq(cfx_fail_at(&e, "cfx"), CFX_EPARSE);
    ck_assert_str_eq(e.text, "cfx: m.fx:12: no digit");
    ck_assert_int_ne(cfx_fail_at(NULL, "x"), CFX_OK);
}

TEST_CASE(error_is_cut_between_characters)
{
    static char text[3 * CFX_ERROR_TEXT];
    for (size_t shift = 0; shift < 4; shift++) {
        cfx_error e = {0};
        for (size_t i = 0; i + 2 < sizeof(text); i += 2)
            memcpy(text + i, "\xC3\xA9", 2);
        cfx_fail(&e, CFX_EINVAL, "%.*s%s", (int)shift, "abcd", text);
        size_t n = strlen(e.text);
        ck_assert_uint_lt(n, CFX_ERROR_TEXT);
        ck_assert_str_eq(e.text + n - 3, "...");
        ck_assert_uint_eq((n - 3 - shift) % 2, 0);
        cfx_fail_at(&e, "%s", text);
        cfx_fail_at(&e, "%s", text);
        ck_assert_uint_lt(strlen(e.text), CFX_ERROR_TEXT);
    }
}

TEST_CASE(error_is_one_harmless_line)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {{"name 'a\nb\x1B[31m'", "name 'a b\\x1b[31m'"},
                 {"\x7F \xC2\x9B", "\\x7f \\x9b"},
                 {"a\xE2\x80\xAE"
                  "b",
                  "a\\u202eb"},
                 {"\xE2\x80\xA8\xE2\x81\xA6", "\\u2028\\u2066"},
                 {"\xFF\x9B", "\\xff\\x9b"},
                 {"\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80",
                  "\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cfx_error e = {0};
        cfx_fail(&e, CFX_EINVAL, "%s", cases[i].text);
        ck_assert_str_eq(e.text, cases[i].shown);
        cfx_fail_at(&e, "%s", cases[i].text);
        ck_assert_int_eq(
            strncmp(e.text, cases[i].shown, strlen(cases[i].shown)), 0);
    }
}

TEST_CASE(status_has_a_name)
{
    ck_assert_str_eq(cfx_status_name(CFX_OK), "CFX_OK");
    ck_assert_str_eq(cfx_status_name(CFX_ESHAPE), "CFX_ESHAPE");
    ck_assert_str_eq(cfx_status_name(CFX_EUSER), "CFX_EUSER");
    ck_assert_str_eq(cfx_status_name(CFX_EINPUT), "CFX_EINPUT");
    ck_assert_str_eq(cfx_status_name((cfx_status)(CFX_EINPUT - 1)), "CFX_E?");
    ck_assert_str_eq(cfx_status_name((cfx_status)-99), "CFX_E?");
    ck_assert_str_eq(cfx_status_name((cfx_status)99), "CFX_E?");
}

TEST_CASE(the_version_is_that_of_the_header)
{
    char text[32];
    snprintf(text, sizeof(text), "%d.%d.%d", CFX_VERSION_MAJOR,
             CFX_VERSION_MINOR, CFX_VERSION_PATCH);
    ck_assert_str_eq(cfx_version(), text);
    ck_assert_str_eq(cfx_version(), CFX_VERSION);
    ck_assert_int_eq(cfx_version_number(), CFX_VERSION_NUMBER);
}

/* ---- Options ---- */

TEST_CASE(context_refuses_options_that_make_no_sense)
{
    const cfx_options cases[] = {
        {.size = 0},
        {.size = sizeof(cfx_options), .threads = -1},
        {.size = sizeof(cfx_options), .threads = 100000},
        {.size = sizeof(cfx_options), .timeout = -1},
        {.size = sizeof(cfx_options), .timeout = NAN},
        {.size = sizeof(cfx_options), .cpu = (cfx_cpu)77},
        {.size = sizeof(cfx_options),
         .allocator = {counted_alloc, NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cfx_context *c = ctx;
        cfx_error e = {0};
        ck_assert_int_eq(cfx_context_new(&c, &cases[i], &e), CFX_EINVAL);
        ck_assert_ptr_null(c);
        ck_assert(e.text[0]);
    }
}

TEST_CASE(context_reads_longer_and_shorter_options)
{
    struct {
        cfx_options o;
        char more[64];
    } longer = {.o = {.size = sizeof(longer), .threads = 1}};
    cfx_context *c;
    ck_assert_int_eq(cfx_context_new(&c, &longer.o, &err), CFX_OK);
    cfx_context_free(c);
    longer.more[60] = 1;
    ck_assert_int_eq(cfx_context_new(&c, &longer.o, NULL), CFX_EINVAL);

    cfx_options o = {.size = offsetof(cfx_options, cpu),
                     .threads = 3,
                     .cpu = (cfx_cpu)77,
                     .max_memory = 1};
    ck_assert_int_eq(cfx_context_new(&c, &o, &err), CFX_OK);
    ck_assert_int_eq(cfx_context_threads(c), 3);
    cfx_context_free(c);
}

static cfx_status new_with_env(const char *name, const char *value,
                               cfx_context **c)
{
    cfx_error e = {0};
    setenv(name, value, 1);
    cfx_status st = cfx_context_new(c, NULL, &e);
    unsetenv(name);
    ck_assert(!st || strstr(e.text, name) || strstr(e.text, "processor"));
    return st;
}

TEST_CASE(context_listens_to_the_environment)
{
    cfx_context *c;
    ck_assert_int_eq(new_with_env("CFX_CPU", "plain", &c), CFX_OK);
    ck_assert_int_eq(cfx_context_cpu(c), CFX_CPU_PLAIN);
    cfx_context_free(c);
    ck_assert_int_eq(new_with_env("CFX_CPU", "mmx", &c), CFX_EINVAL);
#ifdef __x86_64__
    ck_assert_int_eq(new_with_env("CFX_CPU", "neon", &c), CFX_EINVAL);
#endif
    ck_assert_int_eq(new_with_env("CFX_THREADS", "1", &c), CFX_OK);
    ck_assert_int_eq(cfx_context_threads(c), 1);
    cfx_context_free(c);
    ck_assert_int_eq(new_with_env("CFX_THREADS", "many", &c), CFX_EINVAL);
    ck_assert_int_eq(new_with_env("CFX_THREADS", "0", &c), CFX_EINVAL);
    ck_assert_int_eq(new_with_env("CFX_CACHES", "49152,2M,1G", &c), CFX_OK);
    ck_assert_int_eq(c->caches.l1, 48 << 10);
    ck_assert_int_eq(c->caches.l2, 2 << 20);
    ck_assert_int_eq(c->caches.l3, 256 << 20); /* the largest */
    cfx_context_free(c);
    static const char *const wrong[] = {
        "", "32K", "32K,1M", "32K,1M,32M,", "32K,0,32M", "32K,1M,32X"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        ck_assert_int_eq(new_with_env("CFX_CACHES", wrong[i], &c), CFX_EINVAL);
}

TEST_CASE(caches_of_this_processor_are_usual)
{
    cfx_caches c = cfx_detected_caches();
    ck_assert_int_ge(c.l1, 16 << 10);
    ck_assert_int_gt(c.l2, c.l1);
    ck_assert_int_gt(c.l3, 1 << 20);
    ck_assert_int_eq(cfx_cpu_count_in("", 1 << 20), 1);
    ck_assert_int_eq(cfx_cpu_count_in("0-99999", 1 << 20), cfx_cpu_count());
}

/* The environment switches features off, in all contexts. */
TEST_CASE(context_does_without_features)
{
    static const char *const names[] = {"fma",  "avxvnni", "vnni",
                                        "vbmi", "bf16",    "dotprod"};
    char text[64];
    cfx_context *c;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        unsigned off = cfx_cpu_feature_named(names[i], strlen(names[i]));
        ck_assert_uint_ne(off, CFX_FEATURE_NONE);
        snprintf(text, sizeof(text), "plain-%s", names[i]);
        ck_assert_int_eq(new_with_env("CFX_CPU", text, &c), CFX_OK);
        ck_assert_int_eq(cfx_context_cpu(c), CFX_CPU_PLAIN);
        ck_assert_uint_eq(c->features, cfx_cpu_features() & ~off);
        cfx_context_free(c);
    }
    ck_assert_int_eq(new_with_env("CFX_CPU", "-bf16-vnni-fma", &c), CFX_OK);
    ck_assert(!cfx_context_has(c, CFX_FEATURE_AVX512_VNNI));
    ck_assert(cfx_context_has(c, CFX_FEATURE_NONE));
    ck_assert(!cfx_context_has(c, CFX_FEATURE_NEVER));
    ck_assert_int_lt(cfx_context_cpu(c), CFX_CPU_AVX2);
    cfx_context_free(c);
    ck_assert_int_eq(new_with_env("CFX_CPU", "avx2-fma", &c), CFX_EINVAL);
    ck_assert_int_eq(new_with_env("CFX_CPU", "plain-", &c), CFX_EINVAL);
    ck_assert_int_eq(new_with_env("CFX_CPU", "plain-sse", &c), CFX_EINVAL);
    ck_assert_int_eq(new_with_env("CFX_CPU", "pla", &c), CFX_EINVAL);
}

TEST_CASE(context_takes_the_best_processor_level)
{
    cfx_context *c;
    ck_assert_int_eq(new_with_env("CFX_CPU", "", &c), CFX_OK);
    ck_assert(cfx_cpu_has(cfx_context_cpu(c), c->features));
    for (int i = (int)cfx_context_cpu(c) + 1; i <= CFX_CPU_AVX512; i++)
        ck_assert(!cfx_cpu_has((cfx_cpu)i, c->features));
    cfx_context_free(c);
    ck_assert_str_eq(cfx_cpu_name(CFX_CPU_AVX2), "avx2");
    ck_assert_str_eq(cfx_cpu_name((cfx_cpu)99), "?");
}

TEST_CASE(context_survives_any_allocation_that_fails)
{
    counter c = {0};
    cfx_options o = counted(&c);
    cfx_status st;
    do {
        cfx_context *made;
        c.calls = 0;
        st = cfx_context_new(&made, &o, NULL);
        if (!st)
            cfx_context_free(made);
        else
            ck_assert_int_eq(st, CFX_ENOMEM);
        ck_assert_int_eq(c.held, 0);
        c.fail_at++;
    } while (st);
    ck_assert_int_gt(c.fail_at, 1);
}

/* ---- Stopping, messages, random numbers ---- */

TEST_CASE(check_tells_that_work_was_cancelled)
{
    ck_assert_int_eq(cfx_context_check(ctx, &err), CFX_OK);
    cfx_context_cancel(ctx);
    ck_assert_int_eq(cfx_context_check(ctx, &err), CFX_ECANCEL);
    ck_assert_str_eq(err.text, "cancelled");
    cfx_context_resume(ctx);
    ck_assert_int_eq(cfx_context_check(ctx, NULL), CFX_OK);
}

TEST_CASE(check_tells_that_time_is_up)
{
    cfx_options o = {.size = sizeof(o), .timeout = 0.02};
    cfx_context *c;
    ck_assert_int_eq(cfx_context_new(&c, &o, &err), CFX_OK);
    ck_assert_int_eq(cfx_context_check(c, &err), CFX_OK);
    int64_t until = cfx_clock_ns() + 30000000;
    while (cfx_clock_ns() < until)
        ;
    ck_assert_int_eq(cfx_context_check(c, &err), CFX_ELIMIT);
    ck_assert_ptr_nonnull(strstr(err.text, "0.02 s"));
    cfx_context_free(c);
}

static void keep_message(void *user, cfx_level level, const char *text)
{
    snprintf(user, 64, "%d %s", (int)level, text);
}

TEST_CASE(message_reaches_the_callback_as_one_line)
{
    char got[64] = "";
    cfx_options o = {
        .size = sizeof(o), .message = keep_message, .message_user = got};
    cfx_context *c;
    ck_assert_int_eq(cfx_context_new(&c, &o, &err), CFX_OK);
    cfx_message(c, CFX_WARNING, "%s: %d\nx", "pool", 5);
    ck_assert_str_eq(got, "1 pool: 5 x");
    cfx_context_free(c);
    cfx_message(ctx, CFX_NOTE, "nobody listens");
}

TEST_CASE(random_is_one_sequence_however_it_is_taken)
{
    uint64_t all[100];
    cfx_context_seed(ctx, 42);
    cfx_random r = cfx_context_random(ctx, 100);
    for (uint64_t i = 0; i < 100; i++)
        all[i] = cfx_random_bits(r.key, i);
    cfx_context_seed(ctx, 42);
    for (uint64_t i = 0; i < 100;) {
        uint64_t n = i % 7 + 1;
        r = cfx_context_random(ctx, n);
        for (uint64_t j = 0; j < n && i < 100; j++)
            ck_assert_uint_eq(cfx_random_bits(r.key, j), all[i++]);
    }
    cfx_context_seed(ctx, 43);
    r = cfx_context_random(ctx, 1);
    ck_assert_uint_ne(cfx_random_bits(r.key, 0), all[0]);
}

TEST_CASE(random_uniform_is_uniform)
{
    double sum = 0;
    int low = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double u = cfx_random_uniform(cfx_random_bits(7, i));
        assert_each(u >= 0 && u < 1);
        sum += u;
        low += u < 0.1;
    }
    ck_assert_double_eq_tol(sum / 100000, 0.5, 0.005);
    ck_assert_int_lt(abs(low - 10000), 300);
}

/* ---- Slots ---- */

static int slots_made, slots_freed;

static void *make_slot(cfx_context *c)
{
    slots_made++;
    return cfx_alloc(c, 8);
}

static void free_slot(cfx_context *c, void *p)
{
    slots_freed++;
    cfx_free(c, p, 8);
}

static void *make_nothing(cfx_context *c)
{
    (void)c;
    return NULL;
}

TEST_CASE(slot_is_made_once_and_freed_with_the_context)
{
    static const cfx_slot none = {make_nothing, free_slot};
    static const cfx_slot first = {make_slot, free_slot};
    static const cfx_slot second = {make_slot, free_slot};
    cfx_context *c;
    ck_assert_int_eq(cfx_context_new(&c, NULL, &err), CFX_OK);
    ck_assert_ptr_null(cfx_context_slot(c, &none));
    void *p = cfx_context_slot(c, &first), *q = cfx_context_slot(c, &second);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(q);
    ck_assert_ptr_ne(p, q);
    ck_assert_ptr_null(cfx_context_slot(c, &none));
    ck_assert_ptr_eq(cfx_context_slot(c, &first), p);
    ck_assert_ptr_eq(cfx_context_slot(c, &second), q);
    ck_assert_int_eq(slots_made, 2);
    cfx_context_free(c);
    ck_assert_int_eq(slots_freed, 2);
}

/* ---- Text ---- */

TEST_CASE(buf_adds_text_of_all_kinds)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    ck_assert_str_eq(cfx_buf_str(&b), "");
    cfx_buf_puts(&b, "ab");
    cfx_buf_putc(&b, 'c');
    cfx_buf_add(&b, "defg", 2);
    cfx_buf_repeat(&b, '-', 3);
    cfx_buf_printf(&b, "%d/%s", 5, "x");
    cfx_buf_int(&b, INT64_MIN);
    cfx_buf_int(&b, 0);
    ck_assert_str_eq(b.s, "abcde---5/x-92233720368547758080");
    ck_assert_uint_eq(b.len, strlen(b.s));
    cfx_buf_clear(&b);
    cfx_buf_putc(&b, '!');
    ck_assert_str_eq(b.s, "!");
    cfx_buf_release(&b);
}

TEST_CASE(buf_grows_to_any_length)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    char *big = malloc(100001);
    memset(big, 'y', 100000);
    big[100000] = '\0';
    cfx_buf_printf(&b, "<%s>", big);
    for (int i = 0; i < 100000; i++)
        cfx_buf_putc(&b, 'x');
    ck_assert_uint_eq(b.len, 200002);
    ck_assert_int_eq(b.s[100001], '>');
    ck_assert_uint_eq(strlen(b.s), b.len);
    ck_assert(!b.failed);
    free(big);
    cfx_buf_release(&b);
}

TEST_CASE(buf_stays_failed_without_memory)
{
    counter c = {.fail_at = 1000};
    cfx_options o = counted(&c);
    cfx_context *small;
    ck_assert_int_eq(cfx_context_new(&small, &o, &err), CFX_OK);
    cfx_buf b;
    cfx_buf_init(&b, small);
    cfx_buf_puts(&b, "kept");
    c.fail_at = 0;
    cfx_buf_repeat(&b, 'x', 1000);
    ck_assert(b.failed);
    cfx_buf_puts(&b, "y");
    cfx_buf_printf(&b, "y");
    ck_assert_str_eq(b.s, "kept");
    cfx_buf_release(&b);
    ck_assert(!cfx_buf_reserve(&(cfx_buf){.ctx = small}, SIZE_MAX));
    cfx_context_free(small);
    ck_assert_int_eq(c.held, 0);
}

/* ---- Numbers ---- */

TEST_CASE(float_is_written_as_python_writes_it)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-3, "-3.0"},
        {0.1, "0.1"},
        {1e-05, "1e-05"},
        {0.0001, "0.0001"},
        {1.0 / 3, "0.3333333333333333"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1e22, "1e+22"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e300, "1e+300"},
        {9007199254740993.0, "9007199254740992.0"},
        {5e-324, "5e-324"},
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {2.5e-310, "2.5e-310"},
        {100.5, "100.5"},
        {0.30000000000000004, "0.30000000000000004"},
        {(double)0.1f, "0.10000000149011612"},
        {1.1e-7, "1.1e-07"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cfx_buf_clear(&b);
        cfx_buf_float(&b, cases[i].v);
        ck_assert_str_eq(b.s, cases[i].text);
    }
    cfx_buf_release(&b);
}

TEST_CASE(float_reads_back_and_has_no_digit_too_many)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t bits = cfx_random_bits(99, i);
        double v;
        memcpy(&v, &bits, 8);
        if (!isfinite(v))
            continue;
        cfx_buf_clear(&b);
        cfx_buf_float(&b, v);
        ck_assert(cfx_strtod(b.s, NULL) == v);
        int digits = 0;
        const char *p = b.s + strspn(b.s, "-0.");
        for (; *p && *p != 'e'; p++)
            digits += *p != '.';
        char less[40];
        if (digits > 1 && fabs(v) > DBL_MIN) {
            snprintf(less, sizeof(less), "%.*e", digits - 2, v);
            ck_assert(strtod(less, NULL) != v || strstr(b.s, ".0"));
        }
    }
    cfx_buf_release(&b);
}

TEST_CASE(numbers_do_not_depend_on_the_locale)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE",
                                          "fr_FR.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < 3 && !set; i++)
        set = setlocale(LC_ALL, locales[i]);
    cfx_buf b;
    char *end;
    cfx_buf_init(&b, ctx);
    cfx_buf_float(&b, 1234.5);
    cfx_buf_putc(&b, ' ');
    cfx_buf_float(&b, 2.5e-9);
    ck_assert_str_eq(b.s, "1234.5 2.5e-09");
    ck_assert(cfx_strtod("2.5,", &end) == 2.5 && *end == ',');
    ck_assert(cfx_strtod("nothing", &end) == 0 && *end == 'n');
    cfx_buf_release(&b);
    setlocale(LC_ALL, "C");
}

TEST_CASE(sizes_are_checked)
{
    size_t v;
    ck_assert(cfx_mul_size(&v, 1 << 20, 1 << 20) && v == (size_t)1 << 40);
    ck_assert(!cfx_mul_size(&v, SIZE_MAX / 2, 3));
    ck_assert(cfx_add_size(&v, SIZE_MAX - 1, 1) && v == SIZE_MAX);
    ck_assert(!cfx_add_size(&v, SIZE_MAX, 1));
}

/* ---- Arrays ---- */

TEST_CASE(arrays_grow_in_few_steps_and_keep_their_elements)
{
    counter c = {.fail_at = LONG_MAX};
    cfx_options o = counted(&c);
    cfx_context *own;
    uint32_t *item = NULL;
    size_t cap = 0;
    ck_assert_int_eq(cfx_context_new(&own, &o, &err), CFX_OK);
    long before = c.calls;
    for (uint32_t i = 0; i < 100000; i++) {
        assert_each_eq(cfx_grow(own, item, cap, i + 1, &err), CFX_OK);
        item[i] = 7 * i;
    }
    ck_assert_int_le(c.calls - before, 16);
    for (uint32_t i = 0; i < 100000; i++)
        assert_each_eq(item[i], 7 * i);
    size_t was = cap;
    ck_assert_int_eq(cfx_grow(own, item, cap, 50, &err), CFX_OK);
    ck_assert_uint_eq(cap, was);
    ck_assert_int_eq(cfx_grow(own, item, cap, 5 * was, &err), CFX_OK);
    ck_assert_uint_ge(cap, 5 * was);
    cfx_free(own, item, cap * sizeof(*item));
    ck_assert_uint_eq(cfx_context_memory(own), 0);
    cfx_context_free(own);
}

TEST_CASE(an_array_that_cannot_grow_stays_as_it_is)
{
    counter c = {.fail_at = LONG_MAX};
    cfx_options o = counted(&c);
    cfx_context *own;
    double *item = NULL;
    size_t cap = 0;
    ck_assert_int_eq(cfx_context_new(&own, &o, &err), CFX_OK);
    ck_assert_int_eq(cfx_grow(own, item, cap, 3, &err), CFX_OK);
    const double *at = item;
    size_t was = cap;
    item[2] = 5;
    c.fail_at = c.calls;
    ck_assert_int_eq(cfx_grow(own, item, cap, cap + 1, &err), CFX_ENOMEM);
    ck_assert_str_eq(err.text, "out of memory");
    c.fail_at = LONG_MAX;
    /* The bytes of so many do not fit a size_t, nor does twice the number. */
    ck_assert_int_eq(cfx_grow(own, item, cap, SIZE_MAX / 8 + 1, NULL),
                     CFX_ENOMEM);
    ck_assert_int_eq(cfx_grow(own, item, cap, SIZE_MAX, NULL), CFX_ENOMEM);
    ck_assert(item == at && cap == was && item[2] == 5);
    cfx_free(own, item, cap * sizeof(*item));
    cfx_context_free(own);
}

/* ---- Maps ---- */

enum { KEYS = 3000 };
static char key[KEYS][12];

TEST_CASE(map_finds_what_was_put_and_not_removed)
{
    cfx_map m;
    bool in[KEYS] = {0}, added;
    size_t count = 0;
    cfx_map_init(&m, ctx);
    ck_assert_ptr_null(cfx_map_get(&m, "x", 1));
    cfx_map_remove(&m, "x", 1);
    for (int i = 0; i < KEYS; i++)
        snprintf(key[i], sizeof(key[i]), "k%d", i % 2 ? i : i * 1024);
    for (uint64_t step = 0; step < 60000; step++) {
        uint64_t r = cfx_random_bits(3, step);
        /* In turns more is put and more is removed. */
        int i = (int)(r % KEYS);
        bool put = (r >> 32) % 8 < (step / 10000 % 2 ? 2 : 6);
        size_t len = strlen(key[i]);
        if (put) {
            cfx_map_entry *e = cfx_map_put(&m, key[i], len, &added);
            ck_assert_ptr_nonnull(e);
            ck_assert(added != in[i]);
            if (added)
                e->v.u = (uint64_t)i;
        } else {
            cfx_map_remove(&m, key[i], len);
        }
        count = count + (put && !in[i]) - (!put && in[i]);
        in[i] = put;
        ck_assert_uint_eq(m.len, count);
        int j = (int)((r >> 16) % KEYS);
        cfx_map_entry *e = cfx_map_get(&m, key[j], strlen(key[j]));
        ck_assert(in[j] ? e && e->v.u == (uint64_t)j : !e);
    }
    for (int i = 0; i < KEYS; i++)
        ck_assert(!cfx_map_get(&m, key[i], strlen(key[i])) == !in[i]);
    cfx_map_release(&m);
}

TEST_CASE(map_compares_lengths_and_bytes)
{
    cfx_map m;
    cfx_map_init(&m, ctx);
    cfx_map_put(&m, "a\0b", 3, NULL)->v.u = 1;
    cfx_map_put(&m, "a", 1, NULL)->v.u = 2;
    cfx_map_put(&m, "", 0, NULL)->v.u = 3;
    ck_assert_uint_eq(cfx_map_get(&m, "a\0b", 3)->v.u, 1);
    ck_assert_uint_eq(cfx_map_get(&m, "ab", 1)->v.u, 2);
    ck_assert_uint_eq(cfx_map_get(&m, "x", 0)->v.u, 3);
    ck_assert_ptr_null(cfx_map_get(&m, "a\0c", 3));
    cfx_map_release(&m);
}

TEST_CASE(map_is_unchanged_when_it_cannot_grow)
{
    counter c = {.fail_at = 1000};
    cfx_options o = counted(&c);
    cfx_context *small;
    cfx_map m;
    int n = 0;
    ck_assert_int_eq(cfx_context_new(&small, &o, &err), CFX_OK);
    cfx_map_init(&m, small);
    for (int i = 0; i < KEYS; i++)
        snprintf(key[i], sizeof(key[i]), "%d", i);
    ck_assert_ptr_nonnull(cfx_map_put(&m, key[n], strlen(key[n]), NULL));
    c.fail_at = 0;
    do
        n++;
    while (cfx_map_put(&m, key[n], strlen(key[n]), NULL));
    ck_assert_uint_eq(m.len, (size_t)n);
    for (int i = 0; i < n; i++)
        ck_assert_ptr_nonnull(cfx_map_get(&m, key[i], strlen(key[i])));
    cfx_map_release(&m);
    cfx_context_free(small);
    ck_assert_int_eq(c.held, 0);
}

/* ---- Arenas ---- */

/* The allocator of a caller promises 64 bytes only. */
TEST_CASE(aligned_memory_is_aligned_whatever_gives_it)
{
    counter c = {.fail_at = LONG_MAX};
    cfx_options options[] = {{.size = sizeof(cfx_options)}, counted(&c)};
    for (int i = 0; i < 2; i++) {
        cfx_context *of;
        ck_assert_int_eq(cfx_context_new(&of, &options[i], &err), CFX_OK);
        for (size_t size = 2048; size <= 2048 * 1024; size *= 2) {
            void *p = cfx_aligned_alloc(of, size, 2048);
            ck_assert_ptr_nonnull(p);
            ck_assert_uint_eq((uintptr_t)p % 2048, 0);
            memset(p, 0x5A, size);
            ck_assert_uint_ge(cfx_context_memory(of), size);
            cfx_aligned_free(of, p, size, 2048);
            ck_assert_uint_eq(cfx_context_memory(of), 0);
        }
        c.fail_at = c.calls;
        if (i)
            ck_assert_ptr_null(cfx_aligned_alloc(of, 2048, 2048));
        ck_assert_ptr_null(cfx_aligned_alloc(of, SIZE_MAX / 2, 2048));
        ck_assert_uint_eq(cfx_context_memory(of), 0);
        c.fail_at = LONG_MAX;
        cfx_aligned_free(of, NULL, 2048, 2048);
        cfx_context_free(of);
    }
    ck_assert_int_eq(c.held, 0);
}

TEST_CASE(arena_pieces_are_aligned_and_apart)
{
    cfx_arena a;
    unsigned char *p[500];
    size_t size[500];
    cfx_arena_init(&a, ctx);
    for (unsigned i = 0; i < 500; i++) {
        size[i] = i % 50 == 49 ? 100000 : i * 7 % 300;
        p[i] = cfx_arena_alloc(&a, size[i]);
        ck_assert_ptr_nonnull(p[i]);
        ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i & 0xFF), size[i]);
    }
    for (unsigned i = 0; i < 500; i++)
        for (size_t j = 0; j < size[i]; j++)
            assert_each_eq(p[i][j], i & 0xFF);
    ck_assert_str_eq(cfx_arena_strdup(&a, "hello", 4), "hell");
    ck_assert_str_eq(cfx_arena_strdup(&a, NULL, 0), "");
    ck_assert_ptr_null(cfx_arena_alloc(&a, SIZE_MAX - 3));
    ck_assert_ptr_null(cfx_arena_strdup(&a, "x", SIZE_MAX));
    cfx_arena_release(&a);
    cfx_arena_release(&a);
}

TEST_SUITE(base, .setup = setup, .teardown = teardown, .timeout = 60)
