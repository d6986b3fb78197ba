/*
 * machine_cached -- cached measurements, in the user's cache folder.
 *
 * A result that contradicts itself is measured again; if it stays doubtful, it
 * is kept for an hour, so that not every command measures a busy machine, or for
 * good on request.
 * Both the file's name and its content identify processor, cores and
 * instruction set, since machines may share a folder. A file of another machine
 * or version, or one that cannot be read, is replaced by a new measurement.
 */
#include "shapeprop/machine/machine_impl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/context_impl.h"

/* ---- File names ---- */

/* Append the folder of the XDG specification: an absolute $XDG_CACHE_HOME, else
 * .cache in $HOME. False if neither is set. */
static bool add_folder(cfx_buf *b)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && cache[0] == '/')
        cfx_buf_printf(b, "%s/cfx", cache);
    else if (home && home[0] == '/')
        cfx_buf_printf(b, "%s/.cache/cfx", home);
    else
        return false;
    return true;
}

/* Append "machine-intel-r-xeon-r-8-avx512.json". */
static void add_file(cfx_buf *b, const cfx_machine_hardware *hw, cfx_cpu cpu)
{
    cfx_buf_puts(b, "/machine-");
    for (const char *s = hw->name; *s; s++) {
        if (isalnum((unsigned char)*s))
            cfx_buf_putc(b, (char)tolower((unsigned char)*s));
        else if (b->s && b->s[b->len - 1] != '-')
            cfx_buf_putc(b, '-');
    }
    cfx_buf_printf(b, "%s%d-%s.json",
                   b->s && b->s[b->len - 1] == '-' ? "" : "-", hw->cores,
                   cfx_cpu_name(cpu));
}

/* Create the folders of a file, readable by the user only. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* opening the file reports failures */
        *slash = '/';
    }
}

/* ---- Reading and writing ---- */

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

enum { DOUBTFUL_SECONDS = 3600 };

/* May a doubtful result still serve? */
static bool is_fresh(const char *path)
{
    struct stat info;
    time_t now = time(NULL);

    return !stat(path, &info) && info.st_mtime <= now &&
           now - info.st_mtime < DOUBTFUL_SECONDS;
}

/* Read the file; NULL unless it is of this machine and version. */
static cfx_machine *read_kept(cfx_context *ctx, const char *path,
                              const cfx_machine_hardware *hw)
{
    char instructions[CFX_MACHINE_TEXT];
    cfx_machine *m;

    if (cfx_machine_read(&m, ctx, path, NULL))
        return NULL;
    cfx_machine__instructions(instructions, ctx);
    if (same(m->name, hw->name) && m->cores == hw->cores &&
        same(m->instructions, instructions) &&
        same(m->comment, cfx_machine__measured_by()) &&
        (!m->doubt || is_fresh(path)))
        return m;
    cfx_machine_free(m);
    return NULL;
}

static void write_kept(const cfx_machine *m, char *path)
{
    cfx_error err = {0};

    make_folders(path);
    if (cfx_machine_write(path, m, &err))
        cfx_message(m->ctx, CFX_WARNING, "the measurement is not kept: %s",
                    err.text);
}

enum { TRIES = 3 };

/* Measure and write the result to a file; `path` may be NULL. */
static cfx_status measure_and_keep(cfx_machine **out, cfx_context *ctx,
                                   char *path, unsigned how, double seconds,
                                   cfx_machine_measure_fn *measure,
                                   cfx_error *err)
{
    char why[CFX_MACHINE_TEXT];
    bool keep_doubtful = how & CFX_MACHINE_KEEP_DOUBTFUL;

    cfx_message(ctx, CFX_NOTE,
                "measuring this machine, which takes some %g seconds%s%s",
                seconds > 0 ? seconds : CFX_MACHINE_SECONDS,
                path ? " and is kept in " : "", path ? path : "");
    cfx_status st = cfx_machine__measure_surely(
        out, ctx, seconds, keep_doubtful ? 1 : TRIES, measure, why, err);
    if (st)
        return st;
    if (why[0] && !keep_doubtful) {
        cfx_machine_box *box = (cfx_machine_box *)*out;
        (*out)->doubt = cfx_arena_strdup(&box->arena, why, strlen(why));
    }
    if (why[0])
        cfx_message(
            ctx, CFX_WARNING, "the measurement is doubtful, and %s: %s",
            !path ? "not kept"
            : keep_doubtful
                ? "kept"
                : "kept for an hour (cfx machine --keep-doubtful keeps it)",
            why);
    if (path)
        write_kept(*out, path);
    return CFX_OK;
}

/* Say what the caller should know of a result that was kept. */
static void report_kept(const cfx_machine *m, const char *path, double seconds)
{
    if (m->doubt)
        cfx_message(
            m->ctx, CFX_WARNING,
            "this machine's measurement of the last hour is doubtful (cfx machine --measure-again): %s",
            m->doubt);
    else if (seconds > 0)
        cfx_message(
            m->ctx, CFX_NOTE,
            "this machine was measured before, and is not measured again: %s",
            path);
}

cfx_status cfx_machine__cached_by(cfx_machine **out, cfx_context *ctx,
                                  unsigned how, double seconds,
                                  cfx_machine_measure_fn *measure,
                                  cfx_error *err)
{
    cfx_machine_hardware hw;
    cfx_status st = CFX_OK;
    cfx_buf path;

    *out = NULL;
    cfx_machine__detect(&hw);
    cfx_buf_init(&path, ctx);
    bool folder = add_folder(&path);
    if (folder)
        add_file(&path, &hw, ctx->cpu);
    if (path.failed)
        st = cfx_no_memory(err);
    else if (folder && !(how & CFX_MACHINE_AGAIN))
        *out = read_kept(ctx, path.s, &hw);
    if (*out)
        report_kept(*out, path.s, seconds);
    else if (!st && (how & CFX_MACHINE_STORED))
        st = cfx_fail(err, CFX_ENAME, "this machine is not measured yet");
    else if (!st)
        st = measure_and_keep(out, ctx, folder ? path.s : NULL, how, seconds,
                              measure, err);
    cfx_buf_release(&path);
    return st;
}

cfx_status cfx_machine_cached(cfx_machine **out, cfx_context *ctx,
                              unsigned how, double seconds, cfx_error *err)
{
    return cfx_machine__cached_by(out, ctx, how, seconds, cfx_machine_measure,
                                  err);
}
