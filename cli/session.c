/*
 * session -- create and close the context and the output of a command.
 */
#define _GNU_SOURCE 1
#include "cli.h"

#include <cfx/comm.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_message(void *user, cfx_level level, const char *text)
{
    char line[CFX_ERROR_TEXT];

    (void)user;
    snprintf(line, sizeof(line), "%s: %s",
             level == CFX_NOTE ? "note" : "warning", text);
    cli_print_line(line);
}

/* ---- Opening ---- */

static bool find_cpu(cfx_cpu *out, const char *name)
{
    for (int cpu = CFX_CPU_PLAIN; cpu <= CFX_CPU_AVX512; cpu++) {
        if (!strcmp(cfx_cpu_name((cfx_cpu)cpu), name)) {
            *out = (cfx_cpu)cpu;
            return true;
        }
    }
    return false;
}

static cfx_status load_plugin(cli *c, const char *path, cfx_error *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle) /* dlerror's message begins with the file's name */
        return cfx_fail(err, CFX_EIO, "%s", dlerror());
    c->plugin[c->nplugins++] = handle;
    return CFX_OK;
}

/* Plugins are loaded once, and register themselves in each context. */
static cfx_status init_plugin(void *handle, const char *path, cfx_context *ctx,
                              cfx_error *err)
{
    typedef cfx_status init_fn(cfx_context *, cfx_error *);
    union {
        void *object;
        init_fn *function;
    } init;

    const int *abi = dlsym(handle, "cfx_plugin_abi");
    init.object = dlsym(handle, "cfx_plugin_init");
    if (!init.object)
        return cfx_fail(err, CFX_ENAME, "%s: has no cfx_plugin_init", path);
    if (!abi)
        return cfx_fail(
            err, CFX_EINVAL,
            "%s: does not say for which ABI it was compiled: begin its function with CFX_PLUGIN_INIT(ctx, err)",
            path);
    if (*abi != CFX_ABI_VERSION)
        return cfx_fail(
            err, CFX_EINVAL,
            "%s: was compiled for ABI %d, this program has %d: compile it again",
            path, *abi, CFX_ABI_VERSION);
    cfx_status st = init.function(ctx, err);
    if (st) {
        cfx_fail(err, st, "cfx_plugin_init failed");
        cfx_fail_at(err, "%s", path);
    }
    return st;
}

cfx_status cli_add_plugin(cli *c, const char *path, cfx_error *err)
{
    void **more = realloc(c->plugin,
                          ((size_t)c->nplugins + 1) * sizeof(*more));

    if (!more)
        return cfx_no_memory(err);
    c->plugin = more;
    cfx_status st = load_plugin(c, path, err);
    return st ? st : init_plugin(more[c->nplugins - 1], path, c->ctx, err);
}

static cfx_status add_plugins(cli *c, cfx_context *ctx, cfx_error *err)
{
    int n = c->g.plugins.n;
    cfx_status st = CFX_OK;

    if (n && !c->plugin)
        c->plugin = calloc((size_t)n, sizeof(*c->plugin));
    if (n && !c->plugin)
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    for (int i = 0; i < n && !st; i++) {
        const char *path = c->g.plugins.item[i];
        if (c->nplugins == i)
            st = load_plugin(c, path, err);
        if (!st)
            st = init_plugin(c->plugin[i], path, ctx, err);
    }
    return st;
}

static cfx_options context_options(const cli *c)
{
    return (cfx_options){
        .size = sizeof(cfx_options),
        .threads = c->g.threads,
        .max_memory = c->g.max_memory,
        .timeout = c->g.timeout,
        .message = print_message,
    };
}

int cli_second_context(cli *c, cfx_context **out, const char *option,
                       const char *cpu, int threads, cfx_error *err)
{
    cfx_options o = context_options(c);

    *out = NULL;
    if (cpu && !find_cpu(&o.cpu, cpu))
        return cli_usage(c, "'%s' is not a valid LEVEL for --%s", cpu, option);
    if (threads)
        o.threads = threads;
    cfx_status st = cfx_context_new(out, &o, err);
    if (!st)
        cfx_context_set_any_shape(*out, c->g.any_shape);
    if (!st)
        st = add_plugins(c, *out, err);
    return st ? cli_fail(err) : CLI_OK;
}

/* ---- Machines ---- */

/* Remove the last atom of a path if it is `part`; NULL removes any. */
static void strip_atom(char *path, const char *part)
{
    char *slash = strrchr(path, '/');

    if (slash && (!part || !strcmp(slash + 1, part)))
        *slash = '\0';
}

/* A program that runs where it was built, in the source tree or a subfolder,
 * uses the tree's machine descriptions. The path of the program gives the
 * folder, so a tree may be moved. CFX_MACHINES takes precedence. */
static void find_machines(void)
{
    static const char *const tail[] = {"shapeprop/machines",
                                       "../shapeprop/machines"};
    const char *given = getenv("CFX_MACHINES");
    char self[PATH_MAX], path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0 || (given && *given))
        return;
    self[n] = '\0';
    strip_atom(self, NULL);
    strip_atom(self, ".libs"); /* where libtool puts the real program */
    for (size_t i = 0; i < sizeof(tail) / sizeof(*tail); i++) {
        snprintf(path, sizeof(path), "%s/%s", self, tail[i]);
        if (!access(path, X_OK)) {
            setenv("CFX_MACHINES", path, 1);
            return;
        }
    }
}

int cli_open(cli *c)
{
    cfx_error err = {0};
    cfx_options o = context_options(c);

    c->out = stdout;
    find_machines();
    if (c->g.cpu && !find_cpu(&o.cpu, c->g.cpu))
        return cli_usage(c, "'%s' is not a valid LEVEL for --cpu", c->g.cpu);
    if (c->g.weights && c->g.random_weights.given)
        return cli_usage(c,
                         "--weights and --random-weights exclude each other");
    cfx_status st = cfx_context_new(&c->ctx, &o, &err);
    if (st)
        return cli_fail(&err);
    cli_catch_signals(c);
    cfx_context_set_any_shape(c->ctx, c->g.any_shape);
    st = add_plugins(c, c->ctx, &err);
    if (!st && c->g.output && !c->command->own_output) {
        st = cfx_outfile_open(&c->file, c->ctx, c->g.output, &err);
        c->out = c->file.stream;
    }
    return st ? cli_fail(&err) : CLI_OK;
}

/* ---- Closing ---- */

cfx_status cli_flush(cfx_error *err)
{
    struct pollfd pipe = {.fd = STDOUT_FILENO, .events = POLLOUT};
    bool bad = ferror(stdout);

    errno = 0;
    if (!fflush(stdout) && !bad)
        return CFX_OK;
    int why = errno;
    /* The reason of an earlier failure is lost; a further write fails alike. */
    if (!why && write(STDOUT_FILENO, "\n", 1) < 0)
        why = errno;
    if (poll(&pipe, 1, 0) == 1 && pipe.revents & POLLERR)
        cli_end_of_pipe();
    return cfx_fail(err, CFX_EIO, "stdout: %s",
                    why ? strerror(why) : "write error");
}

static cfx_status finish_output(cli *c, bool complete, cfx_error *err)
{
    if (c->file.stream && complete)
        return cfx_outfile_commit(&c->file, err);
    cfx_outfile_discard(&c->file);
    return cli_flush(err);
}

int cli_close(cli *c, int status)
{
    cfx_error err = {0};

    if (finish_output(c, status == CLI_OK && !cli_signalled(), &err) &&
        status == CLI_OK)
        status = cli_fail(&err);
    cli_release_signals();
    if (cli_signalled())
        status = 128 + cli_signalled();
    cfx_model_file_close(c->model);
    if (status != CLI_OK && c->ctx && cfx_context_comm(c->ctx))
        cfx_comm_stop(cfx_context_comm(c->ctx), status);
    cfx_context_free(c->ctx);
    for (int i = c->nplugins - 1; i >= 0; i--)
        dlclose(c->plugin[i]);
    free(c->plugin);
    for (int i = 0; i < c->ntexts; i++)
        free(c->text[i]);
    free(c->text);
    return status;
}

/* ---- Models ---- */

void cli_fail_model(const cli *c, cfx_error *err, const char *path,
                    bool needs_weights)
{
    bool undescribed = err->code == CFX_EATTR;

    if (needs_weights && !c->g.random_weights.given &&
        (undescribed || err->code == CFX_EWEIGHT))
        cfx_fail_at(err,
                    "no weights (-w FILE or --random-weights SEED give them)");
    else if (undescribed)
        cfx_fail_at(
            err,
            "the text lacks the shape of a bare parameter (a line NAME: f32[2, 3] of a block state: before the graph would)");
    cfx_fail_at(err, "%s", path);
}

static cfx_load_options load_options(const cli *c)
{
    return (cfx_load_options){
        .size = sizeof(cfx_load_options),
        .weights = c->g.weights,
        .random_weights = c->g.random_weights.given,
        .seed = c->g.random_weights.value,
        .no_map = c->g.no_mmap,
        .assume_defaults = c->g.assume_defaults,
    };
}

/* Load a model. Its file replaces that of an earlier one. */
static cfx_status load(cli *c, cfx_module **out, const char *path,
                       const cfx_load_options *o, cfx_error *err)
{
    cfx_model_file_close(c->model);
    cfx_status st = cfx_model_file_open(&c->model, c->ctx, path, err);

    return st ? st : cfx_model_file_load(out, c->model, o, err);
}

cfx_status cli_load(cli *c, cfx_module **out, const char *path,
                    bool need_weights, cfx_error *err)
{
    cfx_load_options o = load_options(c);

    o.no_weights = !need_weights && !o.weights && !o.random_weights;
    return load(c, out, path, &o, err);
}

/* The inputs that a model is read for. */
struct known {
    cli *c;
    const cli_list *texts;
    uint64_t seed;
    cfx_named_value *item;
    size_t n;
};

static cfx_status give_inputs(void *user, const cfx_named_value **out,
                              size_t *n, cfx_error *err)
{
    struct known *k = user;
    cli_list all;
    cfx_status st = cli_expand_inputs(&all, k->c, k->texts, err);

    if (!st && !(k->item = calloc((size_t)all.n + 1, sizeof(*k->item))))
        st = cfx_no_memory(err);
    for (int i = 0; i < all.n && !st; i++)
        st = cli_known_input(&k->item[k->n++], k->c, all.item[i], k->seed,
                             err);
    cli_expanded_release(&all);
    *out = k->item;
    *n = k->n;
    return st;
}

cfx_status cli_load_for(cli *c, cfx_module **out, const char *path,
                        const cli_list *texts, bool numbers, uint64_t seed,
                        cfx_error *err)
{
    cfx_load_options o = load_options(c);
    struct known k = {.c = c, .texts = texts, .seed = seed};

    o.give_inputs = texts->n ? give_inputs : NULL;
    o.user = &k;
    o.input_numbers = numbers;
    cfx_status st = load(c, out, path, &o, err);
    for (size_t i = 0; i < k.n; i++)
        cli_known_input_release(&k.item[i]);
    free(k.item);
    if (st != CFX_EUNDECIDED || !cfx_model_file_format(c->model)->for_inputs)
        return st;
    const cfx_error why = *err;
    cfx_error_clear(err);
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "%.1900s (-i NAME=TYPE[SHAPE] or NAME=FILE tells it)",
                    why.text);
}
