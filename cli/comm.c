/*
 * comm -- one rank of a job: its communicator, and what it prints.
 *
 * A communicator is a plugin, cfx_NAME.so: in $CFX_PLUGINS, beside a program that
 * runs where it was built, or in the folder of the installation.
 */
#define _GNU_SOURCE 1
#include "comm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running program, without libtool's .libs. */
static bool own_folder(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(out, '/');
        if (!slash || (i && strcmp(slash, "/.libs")))
            break;
        *slash = '\0';
    }
    return true;
}

static cfx_status find_plugin(char *out, size_t size, const char *name,
                              cfx_error *err)
{
    char self[PATH_MAX];
    const char *given = getenv("CFX_PLUGINS");
    if (strchr(name, '/'))
        return cfx_fail(err, CFX_EINVAL, "--comm %s: should be a name, as mpi",
                        name);
    if (given && *given) {
        snprintf(out, size, "%s/cfx_%s.so", given, name);
        return CFX_OK;
    }
    if (own_folder(self, sizeof(self))) {
        snprintf(out, size, "%s/plugins/%s/.libs/cfx_%s.so", self, name, name);
        if (!access(out, R_OK))
            return CFX_OK;
    }
    snprintf(out, size, "%s/cfx_%s.so", CFX_PLUGIN_DIR, name);
    return CFX_OK;
}

/* ---- Groups ---- */

static cfx_status add_group(cfx_context *ctx, const char *text, cfx_error *err)
{
    char name[256];
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : 0;
    int n = 0;
    if (!len || len >= sizeof(name))
        return cfx_fail(err, CFX_EINVAL,
                        "--group %s: should be NAME=RANK,RANK...", text);
    memcpy(name, text, len);
    name[len] = '\0';
    int *rank = calloc(strlen(equals), sizeof(*rank));
    if (!rank)
        return cfx_no_memory(err);
    const char *at = equals + 1;
    char *end = NULL;
    for (;; at = end + 1) {
        long v = strtol(at, &end, 10);
        if (end == at || v < 0 || v > INT_MAX || (*end && *end != ','))
            break;
        rank[n++] = (int)v;
        if (!*end)
            break;
    }
    cfx_status st = end && end != at && !*end
                        ? cfx_context_add_group(ctx, name, n, rank, err)
                        : cfx_fail(err, CFX_EINVAL,
                                   "--group %s: should be NAME=RANK,RANK...",
                                   text);
    free(rank);
    return st;
}

/* ---- Opening ---- */

/* The plugin reads the limit where it starts its clock. */
static void tell_timeout(double seconds)
{
    char text[32];
    if (seconds <= 0)
        return;
    snprintf(text, sizeof(text), "%g", seconds);
    setenv("CFX_COMM_TIMEOUT", text, 1);
}

static void name_rank(const cfx_comm *comm)
{
    char host[256] = "", text[320];
    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "rank %d on %s: ", comm->rank, host);
    cli_begin_lines(text);
}

static cfx_status print_nothing(cli *c, cfx_error *err)
{
    cfx_outfile_discard(&c->file);
    c->out = stdout;
    return freopen("/dev/null", "w", stdout)
               ? CFX_OK
               : cfx_fail(err, CFX_EIO, "/dev/null: %s", strerror(errno));
}

cfx_status cli_comm_open(cli *c, const cli_comm_options *o, cfx_error *err)
{
    char path[PATH_MAX + 64];
    if (!o->name)
        return CFX_OK;
    tell_timeout(o->timeout);
    cfx_status st = find_plugin(path, sizeof(path), o->name, err);
    if (!st)
        st = cli_add_plugin(c, path, err);
    const cfx_comm *comm = st ? NULL : cfx_context_comm(c->ctx);
    if (!st && !comm)
        st = cfx_fail(err, CFX_EINVAL, "%s: sets no communicator", path);
    if (st)
        return st;
    name_rank(comm);
    if (comm->rank)
        st = print_nothing(c, err);
    for (int i = 0; i < o->groups.n && !st; i++)
        st = add_group(c->ctx, o->groups.item[i], err);
    return st;
}

int cli_comm_rank(const cli *c)
{
    const cfx_comm *comm = c->ctx ? cfx_context_comm(c->ctx) : NULL;
    return comm ? comm->rank : 0;
}

cfx_status cli_comm_text(cli *c, const char **text, cfx_error *err)
{
    static const char word[] = "{rank}";
    const char *at = *text ? strstr(*text, word) : NULL;
    if (!at)
        return CFX_OK;
    size_t size = strlen(*text) + 16;
    char **more = realloc(c->text, ((size_t)c->ntexts + 1) * sizeof(*more));
    if (!more)
        return cfx_no_memory(err);
    c->text = more;
    char *out = malloc(size);
    if (!out)
        return cfx_no_memory(err);
    c->text[c->ntexts++] = out;
    snprintf(out, size, "%.*s%d%s", (int)(at - *text), *text, cli_comm_rank(c),
             at + strlen(word));
    *text = out;
    return CFX_OK;
}

cfx_status cli_comm_list(cli *c, cli_list *texts, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < texts->n && !st; i++)
        st = cli_comm_text(c, &texts->item[i], err);
    return st;
}
