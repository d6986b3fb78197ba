/*
 * recompile -- compile a GraphModule's C code and load it.
 *
 * The compiler is run without a shell. Source, object and compiler output are
 * in a temporary directory, which is removed once the object is loaded; the
 * system keeps a loaded object.
 */
#define _POSIX_C_SOURCE 200809L
#define CFX_NO_PLACES
#include <cfx/codegen.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nn/module_impl.h"

extern char **environ;

enum { MAX_WORDS = 64 };

/* Functions that compiled graphs call but this library does not. The references
 * keep them in programs that link the static library. */
extern const struct needed {
    cfx_value (*get_attr)(cfx_scope *, cfx_module *, const char *);
    cfx_value (*op)(cfx_scope *, cfx_value);
    cfx_value (*named)(cfx_scope *, const char *, cfx_value);
    cfx_value (*module)(cfx_scope *, cfx_module *, const char *, cfx_value);
} cfx_recompile__needed;

const struct needed cfx_recompile__needed = {cfx_call_get_attr, cfx_relu,
                                             cfx_named, cfx_call_module};

/* The shared object that a module was compiled to. */
typedef struct loaded {
    cfx_context *ctx;
    void *handle;
    const cfx_compiled *entry;
} loaded;

typedef struct job {
    cfx_context *ctx;
    const cfx_module *gm;
    cfx_compile_options how;
    char dir[256];
    char source[280], object[280], said[280];
    cfx_buf words; /* the command line's words, each ends in NUL */
    char *argv[MAX_WORDS + 1];
    cfx_error *err;
} job;

/* ---- Files ---- */

static cfx_status make_directory(job *j)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(j->dir, sizeof(j->dir), "%s/cfx-XXXXXX",
                     tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof(j->dir) || !mkdtemp(j->dir)) {
        cfx_fail(j->err, CFX_EIO, "%s: cannot be made: %s", j->dir,
                 strerror(errno));
        j->dir[0] = '\0';
        return CFX_EIO;
    }
    snprintf(j->source, sizeof(j->source), "%s/graph.c", j->dir);
    snprintf(j->object, sizeof(j->object), "%s/graph.so", j->dir);
    snprintf(j->said, sizeof(j->said), "%s/said", j->dir);
    return CFX_OK;
}

static void remove_directory(const job *j)
{
    if (!j->dir[0])
        return;
    unlink(j->source);
    unlink(j->object);
    unlink(j->said);
    rmdir(j->dir);
}

static cfx_status write_source(job *j, const char *path)
{
    cfx_c_options how = {.size = sizeof(how),
                         .prefix = "graph",
                         .no_build = true,
                         .no_main = true};
    FILE *f = fopen(path, "w");
    if (!f)
        return cfx_fail(j->err, CFX_EIO, "%s: %s", path, strerror(errno));
    cfx_status st = cfx_print_c(cfx_sink_file(f), j->gm, &how, j->err);
    if (fclose(f) && !st)
        st = cfx_fail(j->err, CFX_EIO, "%s: %s", path, strerror(errno));
    return st;
}

/* ---- The compiler ---- */

static void add_words(job *j, const char *text)
{
    while (text && *text) {
        text += strspn(text, " \t\n");
        size_t n = strcspn(text, " \t\n");
        if (n) {
            cfx_buf_add(&j->words, text, n);
            cfx_buf_putc(&j->words, '\0');
        }
        text += n;
    }
}

static void add_word(job *j, const char *word)
{
    cfx_buf_add(&j->words, word, strlen(word) + 1);
}

static const char *chosen(const char *option, const char *variable,
                          const char *otherwise)
{
    const char *env = option ? NULL : getenv(variable);
    return option ? option : env && *env ? env : otherwise;
}

static cfx_status make_command(job *j)
{
    size_t n = 0;
    add_words(j, chosen(j->how.compiler, "CC", "cc"));
    add_words(j, "-std=c11 -O1 -fPIC -shared");
    add_words(j, chosen(j->how.flags, "CFX_CFLAGS", ""));
    add_word(j, "-o");
    add_word(j, j->object);
    add_word(j, j->source);
    if (j->words.failed)
        return cfx_no_memory(j->err);
    for (char *w = j->words.s; w < j->words.s + j->words.len;
         w += strlen(w) + 1) {
        if (n == MAX_WORDS)
            return cfx_fail(j->err, CFX_EINVAL,
                            "the compiler's command line "
                            "has more than %d words",
                            MAX_WORDS);
        j->argv[n++] = w;
    }
    return CFX_OK;
}

/* Report the first line of compiler output, preferably one with "error". */
static cfx_status tell_failure(job *j, int status)
{
    char line[300], first[300] = "";
    FILE *f = fopen(j->said, "r");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        bool error = strstr(line, "error") != NULL;
        if (!first[0] || error)
            memcpy(first, line, sizeof(first));
        if (error)
            break;
    }
    if (f)
        fclose(f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !first[0])
        return cfx_fail(j->err, CFX_EIO, "there is no compiler '%s'",
                        j->argv[0]);
    return cfx_fail(j->err, CFX_EIO, "%s failed: %s", j->argv[0],
                    first[0] ? first : "it printed nothing");
}

static cfx_status spawn(job *j, pid_t *pid)
{
    posix_spawn_file_actions_t to;
    if (posix_spawn_file_actions_init(&to))
        return cfx_no_memory(j->err);
    int e = posix_spawn_file_actions_addopen(
        &to, 1, j->said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!e)
        e = posix_spawn_file_actions_adddup2(&to, 1, 2);
    if (!e)
        e = posix_spawnp(pid, j->argv[0], &to, NULL, j->argv, environ);
    posix_spawn_file_actions_destroy(&to);
    if (e == ENOENT)
        return cfx_fail(j->err, CFX_EIO, "there is no compiler '%s'",
                        j->argv[0]);
    return e ? cfx_fail(j->err, CFX_EIO, "%s: %s", j->argv[0], strerror(e))
             : CFX_OK;
}

static cfx_status compile(job *j)
{
    pid_t pid;
    int status = 0;
    cfx_status st = make_command(j);
    if (!st)
        st = spawn(j, &pid);
    if (st)
        return st;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cfx_fail(j->err, CFX_EIO, "%s: %s", j->argv[0],
                            strerror(errno));
    return status ? tell_failure(j, status) : CFX_OK;
}

/* ---- The object ---- */

static void unload(cfx_module *m)
{
    loaded *l = m->compiled_object;
    m->compiled = NULL;
    m->compiled_object = NULL;
    m->free_compiled = NULL;
    if (!l)
        return;
    dlclose(l->handle);
    cfx_free(l->ctx, l, sizeof(*l));
}

static cfx_status load(job *j, loaded **out)
{
    loaded *l = cfx_calloc(j->ctx, 1, sizeof(*l));
    *out = NULL;
    if (!l)
        return cfx_no_memory(j->err);
    l->ctx = j->ctx;
    l->handle = dlopen(j->object, RTLD_NOW | RTLD_LOCAL);
    if (l->handle)
        l->entry = dlsym(l->handle, "graph_compiled");
    if (l->entry && l->entry->size == sizeof(cfx_compiled)) {
        *out = l;
        return CFX_OK;
    }
    const char *why = dlerror();
    cfx_fail(j->err, CFX_EIO, "the compiled graph cannot be loaded: %s",
             why ? why : "it is of another version");
    if (l->handle)
        dlclose(l->handle);
    cfx_free(j->ctx, l, sizeof(*l));
    return CFX_EIO;
}

/* ---- Public functions ---- */

static void read_options(cfx_compile_options *to,
                         const cfx_compile_options *from)
{
    *to = (cfx_compile_options){.size = sizeof(*to)};
    if (from)
        memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
}

cfx_status cfx_graph_module_recompile(cfx_module *gm,
                                      const cfx_compile_options *options,
                                      cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    loaded *l = NULL;
    job j = {.ctx = cfx_module_context(gm), .gm = gm, .err = err ? err : &own};
    read_options(&j.how, options);
    if (!cfx_graph_module_graph(gm))
        return cfx_fail(err, CFX_EINVAL, "%s has no graph",
                        cfx_module_class_name(gm));
    cfx_buf_init(&j.words, j.ctx);
    cfx_status st = make_directory(&j);
    if (!st)
        st = write_source(&j, j.source);
    if (!st && j.how.keep)
        st = write_source(&j, j.how.keep);
    if (!st)
        st = compile(&j);
    if (!st)
        st = load(&j, &l);
    remove_directory(&j);
    cfx_buf_release(&j.words);
    if (st)
        return st;
    unload(gm);
    gm->compiled = l->entry;
    gm->compiled_object = l;
    gm->free_compiled = unload;
    return CFX_OK;
}

const cfx_compiled *cfx_graph_module_compiled(const cfx_module *gm)
{
    return gm->compiled;
}

void cfx_graph_module_discard_compiled(cfx_module *gm)
{
    unload(gm);
}
