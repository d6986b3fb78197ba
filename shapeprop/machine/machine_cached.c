/*
 * machine_cached -- what was measured before, in the user's cache folder.
 *
 * A result that contradicts itself is measured again, and not kept unless that
 * is asked for. The file's name tells processor, cores and level of
 * instructions, and so does its text: a folder may be shared by several
 * machines, and what is of another one, of another version, or cannot be read
 * is measured again.
 */
#include "shapeprop/machine/machine_impl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/context.h"

/* ---- Where ---- */

/* Folders by the rules of freedesktop.org: an absolute $XDG_CACHE_HOME, else
 * .cache in $HOME. False where there is neither. */
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

/* "machine-intel-r-xeon-r-8-avx512.json" */
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

/* Make the folders that lead to a file, for the user alone. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* what fails is told when the file is opened */
        *slash = '/';
    }
}

/* ---- Reading and keeping ---- */

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* The machine in the file, if it is what would be measured now. */
static cfx_machine *read_kept(cfx_context *ctx, const char *path,
                              const cfx_machine_hardware *hw)
{
    char instructions[CFX_MACHINE_TEXT];
    cfx_machine *m;

    if (cfx_machine_read(&m, ctx, path, NULL))
        return NULL;
    cfx_machine__instructions(instructions, cfx_machine__loops_of(ctx->cpu));
    if (same(m->name, hw->name) && m->cores == hw->cores &&
        same(m->instructions, instructions) &&
        same(m->comment, cfx_machine__measured_by()))
        return m;
    cfx_machine_free(m);
    return NULL;
}

static void keep(const cfx_machine *m, char *path)
{
    cfx_error err = {0};

    make_folders(path);
    if (cfx_machine_write(path, m, &err))
        cfx_message(m->ctx, CFX_WARNING, "what was measured is not kept: %s",
                    err.text);
}

enum { TRIES = 3 };

/* Measure, and keep the result in a file; `path` may be NULL. */
static cfx_status measure_and_keep(cfx_machine **out, cfx_context *ctx,
                                   char *path, unsigned how, double seconds,
                                   cfx_machine_measure_fn *measure,
                                   cfx_error *err)
{
    char why[CFX_MACHINE_TEXT];
    bool keep_doubtful = how & CFX_MACHINE_KEEP_DOUBTFUL;

    cfx_message(ctx, CFX_NOTE, "measuring this machine, which takes some %g "
                "seconds%s%s", seconds > 0 ? seconds : CFX_MACHINE_SECONDS,
                path ? " and is kept in " : "", path ? path : "");
    cfx_status rc = cfx_machine__measure_surely(
        out, ctx, seconds, keep_doubtful ? 1 : TRIES, measure, why, err);
    if (rc)
        return rc;
    if (why[0])
        cfx_message(ctx, CFX_WARNING, "what was measured is doubtful, and %s: "
                    "%s", !path           ? "not kept"
                          : keep_doubtful ? "kept"
                          : "not kept (run cfx machine --keep-doubtful once)",
                    why);
    if (path && (!why[0] || keep_doubtful))
        keep(*out, path);
    return CFX_OK;
}

cfx_status cfx_machine__cached_by(cfx_machine **out, cfx_context *ctx,
                                  unsigned how, double seconds,
                                  cfx_machine_measure_fn *measure,
                                  cfx_error *err)
{
    cfx_machine_hardware hw;
    cfx_status rc = CFX_OK;
    cfx_buf path;

    *out = NULL;
    cfx_machine__detect(&hw);
    cfx_buf_init(&path, ctx);
    bool folder = add_folder(&path);
    if (folder)
        add_file(&path, &hw, ctx->cpu);
    if (path.failed)
        rc = cfx_no_memory(err);
    else if (folder && !(how & CFX_MACHINE_AGAIN))
        *out = read_kept(ctx, path.s, &hw);
    if (*out && seconds > 0)
        cfx_message(ctx, CFX_NOTE, "this machine was measured before, and is "
                    "not measured again: %s", path.s);
    if (!rc && !*out)
        rc = measure_and_keep(out, ctx, folder ? path.s : NULL, how, seconds,
                              measure, err);
    cfx_buf_release(&path);
    return rc;
}

cfx_status cfx_machine_cached(cfx_machine **out, cfx_context *ctx,
                              unsigned how, double seconds, cfx_error *err)
{
    return cfx_machine__cached_by(out, ctx, how, seconds, cfx_machine_measure,
                                  err);
}
