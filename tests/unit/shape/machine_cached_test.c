/*
 * machine_cached_test -- which measurements are kept, and what is said of them.
 */
#define _GNU_SOURCE 1
#include <cfx/machine.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shapeprop/machine/machine_impl.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error error;
static char said[4096]; /* lines, warnings with a '!' before them */
static char folder[64];
static bool is_doubtful;
static int measured;

static void hear(void *user, cfx_level level, const char *text)
{
    size_t n = strlen(said);
    (void)user;
    snprintf(said + n, sizeof(said) - n, "%s%s\n",
             level == CFX_WARNING ? "!" : "", text);
}

static void setup(void)
{
    const cfx_options o = {.size = sizeof(o), .threads = 1, .message = hear};

    memset(&error, 0, sizeof(error));
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
    strcpy(folder, "/tmp/cfx-machine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    said[0] = '\0';
    measured = 0;
    is_doubtful = false;
}

static void teardown(void)
{
    char command[128];

    cfx_context_free(ctx);
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static cfx_status pretend(cfx_machine **out, cfx_context *own, double seconds,
                          cfx_error *err)
{
    static const char text[] =
        "{\"schema\": \"cfx.machine/1\", \"name\": \"Single\", \"cores\": 1,"
        " \"threads\": [{\"threads\": 1, \"peak_flops_per_second\":"
        " {\"float32\": 1e11}, \"levels\": [{\"level\": \"L1\","
        " \"bytes\": 32768, \"read_bytes_per_second\": 3e11}]}]}";
    cfx_status st = cfx_machine_parse(out, own, text, strlen(text), err);

    (void)seconds;
    measured++;
    if (!st)
        ((cfx_machine_box *)*out)->hurried = is_doubtful;
    return st;
}

static void ask(unsigned how)
{
    cfx_machine *m;

    ck_assert_msg(!cfx_machine__cached_by(&m, ctx, how, 0.5, pretend, &error),
                  "%s", error.text);
    ck_assert_str_eq(m->name, "Single");
    cfx_machine_free(m);
}

static size_t files(void)
{
    char pattern[128];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/.cache/cfx/machine-*.json", folder);
    size_t n = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    globfree(&found);
    return n;
}

#define BEGIN "measuring this machine, which takes some 0.5 seconds"
#define WHY "time or memory was too short to exceed all caches\n"

TEST_CASE(without_a_home_nothing_is_said_to_be_kept)
{
    ask(0);
    ck_assert_str_eq(said, BEGIN "\n");
}

TEST_CASE(without_a_home_what_is_doubtful_is_not_kept)
{
    is_doubtful = true;
    ask(CFX_MACHINE_KEEP_DOUBTFUL);
    ck_assert_str_eq(said, BEGIN "\n!the measurement is doubtful, and not "
                                 "kept: " WHY);
    said[0] = '\0';
    ask(0);
    ck_assert_str_eq(said,
                     BEGIN "\nmeasuring again, since " WHY
                           "measuring again, since " WHY
                           "!the measurement is doubtful, and not kept: " WHY);
    ck_assert_int_eq(measured, 4);
}

TEST_CASE(a_home_keeps_what_is_sure)
{
    setenv("HOME", folder, 1);
    ask(0);
    ck_assert_uint_eq(files(), 1);
    ck_assert_msg(strstr(said, BEGIN " and is kept in "), "%s", said);
    ck_assert_ptr_null(strchr(said, '!'));
}

TEST_CASE(a_home_keeps_what_is_doubtful_for_an_hour)
{
    is_doubtful = true;
    setenv("HOME", folder, 1);
    ask(0);
    ck_assert_uint_eq(files(), 1);
    ck_assert_msg(strstr(said,
                         "!the measurement is doubtful, and kept for an "
                         "hour (cfx machine --keep-doubtful keeps it): " WHY),
                  "%s", said);
    said[0] = '\0';
    ask(CFX_MACHINE_KEEP_DOUBTFUL | CFX_MACHINE_AGAIN);
    ck_assert_uint_eq(files(), 1);
    ck_assert_msg(strstr(said, "!the measurement is doubtful, and kept: " WHY),
                  "%s", said);
}

TEST_SUITE(machine_cached, .setup = setup, .teardown = teardown)
