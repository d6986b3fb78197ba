/*
 * machine_test -- descriptions of machines: read, refused, written, asked; and
 * this machine, measured.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/counted.h"
#include "tests/unit/shape/machine_test.h"
#include "tests/unit/unit.h"

/* ---- A machine, and what is changed in it ---- */

static const char pair[] =
    "{'schema': 'cfx.machine/1', 'name': 'Pair', 'cores': 2,"
    " 'comment': 'made up', 'instructions': 'none',"
    " 'threads': ["
    "  {'threads': 1,"
    "   'peak_flops_per_second': {'float64': 5e10, 'float32': 1e11,"
    "                             'int8': null},"
    "   'peak_spread': {'float32': 0.25},"
    "   'levels': ["
    "    {'level': 'L1', 'bytes': 32768, 'read_bytes_per_second': 3e11,"
    "     'write_bytes_per_second': 1.5e11, 'triad_bytes_per_second': null,"
    "     'update_bytes_per_second': 2.5e11, 'spread': 0.02},"
    "    {'level': 'L3', 'bytes': 8388608, 'threads_sharing': 2,"
    "     'triad_bytes_per_second': 4.5e10},"
    "    {'level': 'memory', 'bytes': null,"
    "     'read_bytes_per_second': 12000000000.5}]},"
    "  {'threads': 2,"
    "   'peak_flops_per_second': {'float32': 2e11, 'int8': 8e11},"
    "   'levels': ["
    "    {'level': 'L1', 'bytes': 32768, 'read_bytes_per_second': 6e11},"
    "    {'level': 'L3', 'bytes': 8388608, 'threads_sharing': 2,"
    "     'triad_bytes_per_second': 9e10},"
    "    {'level': 'memory', 'read_bytes_per_second': 13e9}]}]}";

/* The text above with quotes, and the first `from` replaced. */
static char *changed(const char *from, const char *to)
{
    static char text[sizeof(pair) + 4096];
    const char *at = strstr(pair, from);

    ck_assert_msg(at != NULL, "no %s", from);
    ck_assert_uint_lt(strlen(to), 4096);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - pair), pair, to,
             at + strlen(from));
    for (char *p = text; *p; p++) {
        if (*p == '\'')
            *p = '"';
    }
    return text;
}

/* ---- Reading ---- */

TEST_CASE(a_description_is_read)
{
    cfx_machine *m = described(changed("Pair", "Pair"));

    ck_assert_str_eq(m->name, "Pair");
    ck_assert_str_eq(m->comment, "made up");
    ck_assert_str_eq(m->instructions, "none");
    ck_assert_int_eq(m->cores, 2);
    ck_assert_int_eq(m->nrates, 2);
    const cfx_machine_rates *r = &m->rates[0];
    ck_assert_int_eq(r->threads, 1);
    ck_assert_double_eq(r->peak[CFX_MACHINE_FLOAT64], 5e10);
    ck_assert_double_eq(r->peak[CFX_MACHINE_INT8], 0);
    ck_assert_double_eq(r->peak_spread[CFX_MACHINE_FLOAT32], 0.25);
    ck_assert_int_eq(r->nlevels, 3);
    ck_assert_str_eq(r->level[0].name, "L1");
    ck_assert_int_eq(r->level[0].bytes, 32768);
    ck_assert_int_eq(r->level[0].threads_sharing, 1);
    ck_assert_double_eq(r->level[0].rate[CFX_MACHINE_WRITE], 1.5e11);
    ck_assert_double_eq(r->level[0].rate[CFX_MACHINE_TRIAD], 0);
    ck_assert_double_eq(r->level[0].rate[CFX_MACHINE_UPDATE], 2.5e11);
    ck_assert_double_eq(r->level[1].rate[CFX_MACHINE_UPDATE], 0);
    ck_assert_double_eq(r->level[0].spread, 0.02);
    ck_assert_int_eq(r->level[1].threads_sharing, 2);
    ck_assert_int_eq(r->level[2].bytes, 0);
    ck_assert_double_eq(r->level[2].rate[CFX_MACHINE_READ], 12000000000.5);
    cfx_machine_free(m);
}

/* In a good document, `from` is replaced by `to`; the error says `says`. */
static const struct {
    const char *from, *to, *says;
} wrong[] = {
    {"'cfx.machine/1'", "'cfx.machine/2'",
     "schema has to be \"cfx.machine/1\""},
    {"'cfx.machine/1'", "1", "schema has to be \"cfx.machine/1\""},
    {"'name': 'Pair', ", "", "has no name"},
    {"'Pair'", "7", "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "''", "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "'a\\nb'",
     "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "'a\\u009bb'",
     "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "'\\u202e'",
     "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "'\\u2066'",
     "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "'\\u2028'",
     "name has to be one line of text, of 1 to 1000 bytes"},
    {"'Pair'", "'\\ud800'", NULL},
    {"'Pair'", "'\xff'", NULL},
    {"'Pair'", "'a\\u0000b'", NULL},
    {"'made up'", "[]",
     "comment has to be one line of text, of 1 to 1000 bytes"},
    {"'none'", "null",
     "instructions has to be one line of text, of 1 to 1000 bytes"},
    {"'cores': 2,", "", "cores has to be an integer from 1 to 1048576"},
    {"'cores': 2", "'cores': 2.0",
     "cores has to be an integer from 1 to 1048576"},
    {"'cores': 2", "'cores': 0",
     "cores has to be an integer from 1 to 1048576"},
    {"'cores': 2", "'cores': -1",
     "cores has to be an integer from 1 to 1048576"},
    {"'cores': 2", "'cores': 9223372036854775808", NULL},
    {"'cores': 2", "'cores': 2, 'cores': 2", NULL},
    {"'cores': 2", "'cores': 2, 'core': 2", "the key 'core' is unknown"},
    {"'threads': [", "'threads': 3, 'comment2': [",
     "the key 'comment2' is unknown"},
    {"{'threads': 1,", "{",
     "threads[0]: threads has to be an integer from 1 "
     "to 1048576"},
    {"{'threads': 1,", "{'threads': 2,",
     "threads[1]: threads has to be more than in the entry before"},
    {"{'threads': 1,", "{'threads': 1, 'level': 1,",
     "threads[0]: the key 'level' is unknown"},
    {"'threads': [  {", "'threads': [ 5, {",
     "threads[0]: has to be an object"},
    {"'peak_flops_per_second': {'float64'", "'peak_spread': {'float64'", NULL},
    {"'float32': 1e11", "'float32': '1e11'",
     "threads[0]: peak_flops_per_second: float32 has to be a number from 1 to "
     "1e24, or null"},
    {"'float32': 1e11", "'float32': 1e999", NULL},
    {"'float32': 1e11", "'float32': NaN", NULL},
    {"'float32': 1e11", "'float32': -1e11",
     "threads[0]: peak_flops_per_second: float32 has to be a number from 1 to "
     "1e24, or null"},
    {"'float32': 1e11", "'float32': 0",
     "threads[0]: peak_flops_per_second: float32 has to be a number from 1 to "
     "1e24, or null"},
    {"'float32': 1e11", "'float32': null",
     "threads[0]: peak_flops_per_second: float32 is missing"},
    {"'float32': 1e11", "'float33': 1e11",
     "threads[0]: peak_flops_per_second: the key 'float33' is unknown"},
    {"{'float32': 0.25}", "0.25",
     "threads[0]: peak_spread: has to be an object"},
    {"0.25", "1.5",
     "threads[0]: peak_spread: float32 has to be a number from "
     "0 to 1, or null"},
    {"'levels': [", "'levels': [], 'level': [",
     "threads[0]: the key 'level' is unknown"},
    {"'levels': [    {", "'levels': [ [], {",
     "threads[0]: levels[0]: has to be an object"},
    {"'level': 'L1'", "'level': 'L 1'",
     "threads[0]: levels[0]: level has to "
     "be a word of at most 15 letters and digits"},
    {"'level': 'L1'", "'level': 'abcdefghijklmnop'",
     "threads[0]: levels[0]: level has to be a word of at most 15 letters and "
     "digits"},
    {"'bytes': 32768", "'bytes': null",
     "threads[0]: levels[0]: bytes has to "
     "be a positive integer"},
    {"'bytes': 32768", "'bytes': 32768.5",
     "threads[0]: levels[0]: bytes has "
     "to be a positive integer"},
    {"'bytes': 32768", "'bytes': 8388608",
     "threads[0]: levels[1]: bytes has "
     "to be more than the level before has"},
    {"'threads_sharing': 2", "'threads_sharing': 0",
     "threads[0]: levels[1]: "
     "threads_sharing has to be an integer from 1 to 1048576"},
    {"'read_bytes_per_second': 3e11", "'read_bytes_per_second': true",
     "threads[0]: levels[0]: read_bytes_per_second has to be a number from 1 "
     "to 1e24, or null"},
    {"4.5e10", "null", "threads[0]: levels[1]: has no rate"},
    {"0.02", "-0.02",
     "threads[0]: levels[0]: spread has to be a number from "
     "0 to 1, or null"},
};

TEST_EACH(what_is_wrong_is_told_in_one_line,
          (int)(sizeof(wrong) / sizeof(*wrong)))
{
    const char *text = changed(wrong[_i].from, wrong[_i].to);
    cfx_machine *m;

    ck_assert_int_eq(cfx_machine_parse(&m, ctx, text, strlen(text), &error),
                     CFX_EPARSE);
    ck_assert_ptr_null(m);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    if (wrong[_i].says)
        ck_assert_str_eq(error.text, wrong[_i].says);
    else
        ck_assert_uint_gt(strlen(error.text), 0);
}

TEST_CASE(every_truncation_is_refused)
{
    const char *text = changed("Pair", "Pair");
    cfx_machine *m;

    for (size_t n = 0; n < strlen(text); n++)
        ck_assert_int_eq(cfx_machine_parse(&m, ctx, text, n, NULL),
                         CFX_EPARSE);
}

TEST_CASE(any_byte_may_change)
{
    static char text[sizeof(pair)];
    cfx_machine *m;

    strcpy(text, changed("Pair", "Pair"));
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        static const char other[] = "\"{}[]:,0-e\\x\n";
        char was = text[i];
        for (const char *c = other; *c; c++) {
            text[i] = *c;
            cfx_error err = {0};
            if (cfx_machine_parse(&m, ctx, text, sizeof(text) - 1, &err))
                ck_assert_uint_gt(strlen(err.text), 0);
            cfx_machine_free(m);
        }
        text[i] = was;
    }
}

TEST_CASE(other_texts_are_refused)
{
    static const char *const text[] = {"",  " ",  "null", "[]",
                                       "1", "{}", "{} x"};
    static char deep[1000000];
    cfx_machine *m;

    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
        ck_assert_int_eq(
            cfx_machine_parse(&m, ctx, text[i], strlen(text[i]), NULL),
            CFX_EPARSE);
    memset(deep, '[', sizeof(deep));
    ck_assert_int_eq(cfx_machine_parse(&m, ctx, deep, sizeof(deep), NULL),
                     CFX_EPARSE);
}

/* Each entry takes much more memory than the text "0,". */
TEST_CASE(lists_of_threads_are_bounded)
{
    static char text[20000] = "{\"schema\":\"cfx.machine/1\",\"threads\":[0";
    size_t n = strlen(text);
    cfx_machine *m;

    ck_assert_int_eq(
        cfx_machine_parse(&m, ctx, strcat(text, "]}"), n + 2, &error),
        CFX_EPARSE);
    ck_assert_str_eq(error.text, "threads[0]: has to be an object");
    error = (cfx_error){0};
    text[n] = '\0';
    for (int i = 1; i <= 4096; i++, n += 2)
        memcpy(text + n, ",0", 2);
    ck_assert_int_eq(
        cfx_machine_parse(&m, ctx, strcat(text, "]}"), n + 2, &error),
        CFX_EPARSE);
    ck_assert_str_eq(error.text,
                     "threads has to be a list of 1 to 4096 objects");
}

/* ---- Writing ---- */

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

TEST_CASE(what_is_written_is_read_again)
{
    cfx_machine *m = described(changed("Pair", "Pair \\u00e9 \\\" \\\\"));
    cfx_machine *again;
    char path[] = "machine_test.XXXXXX", first[8192] = "", second[8192] = "";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(cfx_machine_write(path, m, NULL), CFX_OK);
    ck_assert_int_eq(cfx_machine_read(&again, ctx, path, &error), CFX_OK);
    ck_assert_str_eq(m->name, again->name);
    FILE *a = fmemopen(first, sizeof(first), "w");
    FILE *b = fmemopen(second, sizeof(second), "w");
    ck_assert_int_eq(cfx_print_machine(cfx_sink_file(a), m, NULL), CFX_OK);
    ck_assert_int_eq(cfx_print_machine(cfx_sink_file(b), again, NULL), CFX_OK);
    fclose(a);
    fclose(b);
    ck_assert_str_eq(first, second);
    for (int i = 0; i < 2; i++)
        ck_assert_mem_eq(&m->rates[i], &again->rates[i], sizeof(*m->rates));
    cfx_machine_free(again);
    cfx_machine_free(m);
    unlink(path);
}

TEST_CASE(errors_of_files_begin_with_the_path)
{
    cfx_machine *m;

    ck_assert_int_eq(cfx_machine_read(&m, ctx, "no/such.json", &error),
                     CFX_EIO);
    ck_assert_str_eq(error.text, "no/such.json: No such file or directory");
    cfx_error second = {0};
    put("machine_test.json", "[]");
    ck_assert_int_eq(cfx_machine_read(&m, ctx, "machine_test.json", &second),
                     CFX_EPARSE);
    ck_assert_str_eq(second.text, "machine_test.json: schema has to be "
                                  "\"cfx.machine/1\"");
    unlink("machine_test.json");
    cfx_error third = {0};
    m = described(changed("Pair", "Pair"));
    ck_assert_int_eq(cfx_machine_write("no/such.json", m, &third), CFX_EIO);
    ck_assert_str_eq(third.text, "no/such.json: No such file or directory");
    cfx_machine_free(m);
}

/* ---- Questions ---- */

TEST_CASE(rates_are_those_of_the_nearest_number_of_threads)
{
    cfx_machine *m = described(changed("{'threads': 2", "{'threads': 4"));

    ck_assert_int_eq(cfx_machine_for(m, 1)->threads, 1);
    ck_assert_int_eq(cfx_machine_for(m, 3)->threads, 1);
    ck_assert_int_eq(cfx_machine_for(m, 4)->threads, 4);
    ck_assert_int_eq(cfx_machine_for(m, 64)->threads, 4);
    cfx_machine_free(m);
    m = described(changed("{'threads': 1", "{'threads': 1"));
    m->rates[0].threads = 2;
    ck_assert_int_eq(cfx_machine_for(m, 1)->threads, 2);
    cfx_machine_free(m);
}

TEST_CASE(types_without_a_peak_take_that_of_others)
{
    cfx_machine *m = described(changed("Pair", "Pair"));
    const cfx_machine_rates *one = &m->rates[0], *two = &m->rates[1];

    ck_assert_double_eq(cfx_machine_peak(one, CFX_F64), 5e10);
    ck_assert_double_eq(cfx_machine_peak(one, CFX_I64), 5e10);
    ck_assert_double_eq(cfx_machine_peak(one, CFX_BF16), 1e11);
    ck_assert_double_eq(cfx_machine_peak(one, CFX_I8), 1e11);
    ck_assert_double_eq(cfx_machine_peak(two, CFX_F64), 2e11);
    ck_assert_double_eq(cfx_machine_peak(two, CFX_F16), 2e11);
    ck_assert_double_eq(cfx_machine_peak(two, CFX_I32), 2e11);
    ck_assert_double_eq(cfx_machine_peak(two, CFX_BOOL), 8e11);
    ck_assert_double_eq(cfx_machine_peak(two, CFX_U8), 8e11);
    cfx_machine_free(m);
}

TEST_CASE(what_a_level_holds_grows_with_the_threads)
{
    cfx_machine *m = described(changed("Pair", "Pair"));
    const cfx_machine_rates *two = &m->rates[1];

    ck_assert_int_eq(cfx_machine_capacity(two, &two->level[0]), 65536);
    ck_assert_int_eq(cfx_machine_capacity(two, &two->level[1]), 8388608);
    ck_assert_int_eq(cfx_machine_capacity(two, &two->level[2]), INT64_MAX);
    cfx_machine_free(m);
}

/* ---- What comes with cfx ---- */

static const char *source_folder(void)
{
    static char path[1024];
    const char *src = getenv("srcdir");

    snprintf(path, sizeof(path), "%s/shapeprop/machines", src ? src : ".");
    return path;
}

TEST_CASE(machines_that_come_with_cfx_are_found_by_name)
{
    static const char *const name[] = {"raspberry-pi-5", "epyc-9654",
                                       "nvidia-a100"};
    char path[2048];
    cfx_machine *m;

    setenv("CFX_MACHINES", source_folder(), 1);
    for (int i = 0; i < 3; i++) {
        cfx_status rc = cfx_machine_find(&m, ctx, name[i], &error);
        ck_assert_msg(rc == CFX_OK, "%s", error.text);
        ck_assert_ptr_nonnull(m->comment);
        cfx_machine_free(m);
        snprintf(path, sizeof(path), "%s/%s.json", source_folder(), name[i]);
        ck_assert_int_eq(cfx_machine_find(&m, ctx, path, NULL), CFX_OK);
        cfx_machine_free(m);
    }
    ck_assert_int_eq(cfx_machine_find(&m, ctx, "abacus", &error), CFX_ENAME);
    ck_assert_str_eq(error.text,
                     "there is no machine 'abacus', nor a file of "
                     "that name (there are epyc-9654, nvidia-a100, "
                     "raspberry-pi-5)");
    ck_assert_int_eq(cfx_machine_find(&m, ctx, "", NULL), CFX_ENAME);
    ck_assert_int_eq(cfx_machine_find(&m, ctx, ".", NULL), CFX_EIO);
    ck_assert_int_eq(cfx_machine_find(&m, ctx, ".hidden", NULL), CFX_ENAME);
    ck_assert_int_eq(cfx_machine_find(&m, ctx, "../machines/x", NULL),
                     CFX_EIO);
}

/* ---- Measuring ---- */

static void check_measured(const cfx_machine *m)
{
    ck_assert_int_eq(m->rates[0].threads, 1);
    for (int i = 0; i < m->nrates; i++) {
        const cfx_machine_rates *r = &m->rates[i];
        ck_assert(!i || r->threads > r[-1].threads);
        ck_assert_double_gt(r->peak[CFX_MACHINE_FLOAT64], 0);
        ck_assert_double_ge(r->peak[CFX_MACHINE_BFLOAT16],
                            r->peak[CFX_MACHINE_FLOAT32]);
        ck_assert_double_gt(r->peak[CFX_MACHINE_INT8], 0);
        ck_assert_int_ge(r->nlevels, 2);
        for (int k = 0; k < r->nlevels; k++) {
            const cfx_machine_level *l = &r->level[k];
            for (int j = 0; j < CFX_MACHINE_KERNELS; j++)
                ck_assert_double_gt(l->rate[j], 0);
            ck_assert(l->spread >= 0 && l->spread < 1);
        }
        ck_assert_str_eq(r->level[0].name, "L1");
        ck_assert_str_eq(r->level[r->nlevels - 1].name, "memory");
    }
}

/* A measured machine passes the checks of the reader. */
TEST_CASE(this_machine_is_measured)
{
    cfx_machine *m, *again;
    char *text = NULL;
    size_t size = 0;
    cfx_status rc = cfx_machine_measure(&m, ctx, 0.1, &error);

    ck_assert_msg(rc == CFX_OK, "%s", error.text);
    check_measured(m);
    FILE *f = open_memstream(&text, &size);
    ck_assert_int_eq(cfx_print_machine(cfx_sink_file(f), m, NULL), CFX_OK);
    fclose(f);
    rc = cfx_machine_parse(&again, ctx, text, size, &error);
    ck_assert_msg(rc == CFX_OK, "%s", error.text);
    ck_assert_mem_eq(m->rates, again->rates, sizeof(*m->rates));
    cfx_machine_free(again);
    cfx_machine_free(m);
    free(text);
}

TEST_CASE(every_level_of_instructions_is_measured)
{
    for (int cpu = CFX_CPU_PLAIN; cpu <= CFX_CPU_AVX512; cpu++) {
        const cfx_options o = {
            .size = sizeof(o), .cpu = (cfx_cpu)cpu, .threads = 1};
        cfx_context *own;
        cfx_machine *m;
        if (cfx_context_new(&own, &o, NULL))
            continue;
        ck_assert_int_eq(cfx_machine_measure(&m, own, 0.05, NULL), CFX_OK);
        check_measured(m);
        cfx_machine_free(m);
        cfx_context_free(own);
    }
}

TEST_CASE(measuring_can_be_cancelled_and_limited)
{
    const cfx_options small = {.size = sizeof(small), .max_memory = 1 << 20};
    cfx_context *own;
    cfx_machine *m;

    ck_assert_int_eq(cfx_context_new(&own, &small, NULL), CFX_OK);
    ck_assert_int_eq(cfx_machine_measure(&m, own, 0.1, NULL), CFX_ENOMEM);
    cfx_context_free(own);
    cfx_context_cancel(ctx);
    ck_assert_int_eq(cfx_machine_measure(&m, ctx, 0, NULL), CFX_ECANCEL);
    ck_assert_int_eq(cfx_machine_measure(&m, ctx, -1, NULL), CFX_EINVAL);
}

/* ---- Faults ---- */

/* Each allocation fails once, of fewer than `most`, those of the context left
 * aside. */
static void lack_memory(cfx_status (*make)(cfx_machine **out,
                                           cfx_context *poor),
                        long most)
{
    cfx_status rc = CFX_ENOMEM;

    for (long n = 0; rc && n < most; n++) {
        cfx_context *poor = counted_context();
        cfx_machine *m = NULL;
        allowed = n;
        rc = make(&m, poor);
        allowed = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
        cfx_machine_free(m);
        free_counted(poor);
    }
    ck_assert_int_eq(rc, CFX_OK);
}

static cfx_status measure_shortly(cfx_machine **out, cfx_context *poor)
{
    return cfx_machine_measure(out, poor, 0.001, NULL);
}

static cfx_status read_pair(cfx_machine **out, cfx_context *poor)
{
    const char *text = changed("Pair", "Pair");

    return cfx_machine_parse(out, poor, text, strlen(text), NULL);
}

TEST_CASE(measuring_survives_when_memory_is_lacking)
{
    lack_memory(measure_shortly, 300);
}

TEST_CASE(reading_survives_when_memory_is_lacking)
{
    lack_memory(read_pair, 100);
}

TEST_SUITE(machine, .setup = setup, .teardown = teardown)
