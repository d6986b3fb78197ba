/*
 * cfx convert -- a model, with its weights, in another form.
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
     "OUT/: the name of the class (default: that of the module)",
     offsetof(struct convert_options, name)},
    {CLI_FLAG, 0, "lossless", NULL,
     "OUT.fx: the superset of PyTorch's text, also where that loses nothing",
     offsetof(struct convert_options, lossless)},
    {0},
};

/* "out/" */
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
        return cli_usage(c, "-o is not needed: OUT is where it goes");
    if (!folder && !ends_in(to, ".fx"))
        return cli_usage(c, "'%s' ends neither in .fx nor in /", to);
    if (folder ? o->lossless : !!o->name)
        return cli_usage(c, folder ? "--lossless is for OUT.fx"
                                   : "--name is for OUT/");
    cfx_status rc = cli_load(c, &gm, args[0], true, &err);
    if (!rc && folder) {
        rc = cfx_graph_module_to_folder(gm, to, o->name, &err);
        if (rc && rc != CFX_EIO)
            cfx_fail_at(&err, "%s", args[0]);
    } else if (!rc) {
        rc = cli_save_model(c->ctx, gm, to, !o->lossless, &err);
    }
    cfx_module_unref(gm);
    return rc ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_convert = {
    .name = "convert",
    .args = "MODEL OUT",
    .summary = "Write a model in another form",
    .details = "OUT/ is a folder that Python imports: `from OUT import NAME` "
               "needs PyTorch and nothing else. OUT.fx is a model file, in "
               "PyTorch's text where that loses nothing, with its weights in "
               "OUT.safetensors.",
    .options = options,
    .size = sizeof(struct convert_options),
    .min_args = 2,
    .max_args = 2,
    .own_output = true,
    .run = run,
};
