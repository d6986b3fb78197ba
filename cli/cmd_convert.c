/*
 * cfx convert -- write a model with its weights in another format.
 */
#include <string.h>

#include "cli.h"

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

/* "OUT.fx, OUT/": the formats that can be written and take one of these save
 * options; all of them for 0. */
static const char *list_formats(char *text, size_t size, unsigned taken)
{
    const cfx_model_format *f;
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; (f = cfx_model_format_at(i)) && at < size; i++) {
        if (f->write && (!taken || f->options & taken))
            at += (size_t)snprintf(text + at, size - at, "%sOUT%s",
                                   at ? ", " : "", f->base.suffix);
    }
    return text;
}

static void describe(FILE *to)
{
    const cfx_model_format *f;

    fputs("\nFormats:\n", to);
    for (size_t i = 0; (f = cfx_model_format_at(i)); i++) {
        char name[32];
        snprintf(name, sizeof(name), "OUT%s", f->base.suffix);
        if (f->write)
            cli_describe_row(to, name, f->base.doc);
    }
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct convert_options *o = opts;
    const cfx_save_options how = {
        .size = sizeof(how), .lossless = o->lossless, .name = o->name};
    const unsigned given = (o->lossless ? CFX_SAVE_LOSSLESS : 0u) |
                           (o->name ? CFX_SAVE_NAME : 0u);
    const cfx_model_format *format = cfx_model_format_of_name(args[1]);
    cfx_error err = {0};
    cfx_module *gm = NULL;
    char list[256];

    (void)nargs;
    if (c->g.output)
        return cli_usage(c, "-o is not needed: OUT is the output");
    if (!format || !format->write)
        return cli_usage(c, "'%s' has no known suffix; known are %s", args[1],
                         list_formats(list, sizeof(list), 0));
    if (given & ~format->options)
        return cli_usage(
            c, "--%s needs %s",
            given & ~format->options & CFX_SAVE_NAME ? "name" : "lossless",
            list_formats(list, sizeof(list), given & ~format->options));
    cfx_status st = cli_load(c, &gm, args[0], true, &err);
    if (!st)
        st = cfx_model_save(args[1], gm, &how, &err);
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_convert = {
    .name = "convert",
    .args = "MODEL OUT",
    .summary = "Write a model in another format",
    .details = "The suffix of OUT selects the format.",
    .describe = describe,
    .options = options,
    .size = sizeof(struct convert_options),
    .min_args = 2,
    .max_args = 2,
    .own_output = true,
    .run = run,
};
