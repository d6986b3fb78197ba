/*
 * cfx convert -- write a model with its weights in another format.
 */
#include <string.h>

#include "cli.h"
#include "save.h"

struct convert_options {
    const char *name;
    bool lossless;
};

static const cli_option options[] = {
    {CLI_TEXT, 0, "name", "NAME",
     "OUT/: name of the class (default: the module's)",
     offsetof(struct convert_options, name)},
    {CLI_FLAG, 0, "lossless", NULL,
     "OUT.fx: always write the superset of PyTorch's text",
     offsetof(struct convert_options, lossless)},
    {0},
};

/* True for "out/". */
static bool is_folder(const char *path)
{
    size_t n = strlen(path);

    return n && path[n - 1] == '/';
}

static bool ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);

    return n > k && !strcmp(path + n - k, suffix);
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct convert_options *o = opts;
    const char *to = args[1];
    bool folder = is_folder(to);
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    if (c->g.output)
        return cli_usage(c, "-o is not needed: OUT is the output");
    if (!folder && !ends_in(to, ".fx"))
        return cli_usage(c, "'%s' ends neither in .fx nor in /", to);
    if (folder ? o->lossless : !!o->name)
        return cli_usage(c, folder ? "--lossless needs OUT.fx"
                                   : "--name needs OUT/");
    cfx_status st = cli_load(c, &gm, args[0], true, &err);
    if (!st && folder) {
        st = cfx_graph_module_to_folder(gm, to, o->name, &err);
        if (st && st != CFX_EIO)
            cfx_fail_at(&err, "%s", args[0]);
    } else if (!st) {
        st = cli_save_model(c->ctx, gm, to, !o->lossless, &err);
    }
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_convert = {
    .name = "convert",
    .args = "MODEL OUT",
    .summary = "Write a model in another format",
    .details = "OUT/ is a Python package: `from OUT import NAME` needs "
               "PyTorch only. OUT.fx is a model file, in PyTorch's text if "
               "that is lossless, else in its superset, with the weights in "
               "OUT.safetensors.",
    .options = options,
    .size = sizeof(struct convert_options),
    .min_args = 2,
    .max_args = 2,
    .own_output = true,
    .run = run,
};
