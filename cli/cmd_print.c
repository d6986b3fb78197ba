/*
 * cfx print -- print a model.
 */
#include <string.h>

#include <cfx/codegen.h>
#include <cfx/picture.h>

#include "cli.h"

struct print_options {
    const char *format;
    bool stride, device, color, expanded, parameters;
    cli_list meta;
};

static const cli_option options[] = {
    {CLI_TEXT, 'f', "format", "FORMAT",
     "one of the formats above (default: graph)",
     offsetof(struct print_options, format)},
    {CLI_FLAG, 0, "stride", NULL, "readable: show strides after the shapes",
     offsetof(struct print_options, stride)},
    {CLI_FLAG, 0, "device", NULL, "readable: show devices after the shapes",
     offsetof(struct print_options, device)},
    {CLI_FLAG, 0, "color", NULL, "readable: use colours",
     offsetof(struct print_options, color)},
    {CLI_FLAG, 0, "expanded", NULL, "readable: print one parameter per line",
     offsetof(struct print_options, expanded)},
    {CLI_LIST, 0, "meta", "KEY", "readable: show this meta in comments",
     offsetof(struct print_options, meta)},
    {CLI_FLAG, 0, "parameters", NULL,
     "dot: also draw the parameters and buffers of modules",
     offsetof(struct print_options, parameters)},
    {0},
};

/* ---- Formats ---- */

typedef cfx_status format_fn(cfx_sink to, const cfx_module *gm,
                             const struct print_options *o, cfx_error *err);

static cfx_status put_line_end(cfx_sink to, cfx_status st)
{
    return st ? st : to.write(to.user, "\n", 1);
}

static cfx_status print_graph(cfx_sink to, const cfx_module *gm,
                              const struct print_options *o, cfx_error *err)
{
    (void)o;
    return put_line_end(
        to, cfx_print_graph(to, cfx_graph_module_graph(gm), false, err));
}

static cfx_status print_tabular(cfx_sink to, const cfx_module *gm,
                                const struct print_options *o, cfx_error *err)
{
    (void)o;
    return cfx_print_tabular(to, cfx_graph_module_graph(gm), err);
}

static cfx_status print_code(cfx_sink to, const cfx_module *gm,
                             const struct print_options *o, cfx_error *err)
{
    (void)o;
    return cfx_print_code(to, cfx_graph_module_graph(gm), err);
}

static cfx_status print_readable(cfx_sink to, const cfx_module *gm,
                                 const struct print_options *o, cfx_error *err)
{
    cfx_code_options how = {.size = sizeof(how),
                            .include_stride = o->stride,
                            .include_device = o->device,
                            .colored = o->color,
                            .expanded_def = o->expanded,
                            .additional_meta = o->meta.item,
                            .nadditional_meta = (size_t)o->meta.n};
    return put_line_end(to, cfx_print_readable_with(to, gm, &how, err));
}

static cfx_status print_modules(cfx_sink to, const cfx_module *gm,
                                const struct print_options *o, cfx_error *err)
{
    (void)o;
    return put_line_end(to, cfx_print_modules(to, gm, err));
}

static cfx_status print_model(cfx_sink to, const cfx_module *gm,
                              const struct print_options *o, cfx_error *err)
{
    (void)o;
    return cfx_print_model(to, gm, false, err);
}

static cfx_status print_lossless(cfx_sink to, const cfx_module *gm,
                                 const struct print_options *o, cfx_error *err)
{
    (void)o;
    return cfx_print_model(to, gm, true, err);
}

static cfx_status print_dot(cfx_sink to, const cfx_module *gm,
                            const struct print_options *o, cfx_error *err)
{
    cfx_picture_options how = {.size = sizeof(how),
                               .ignore_parameters_and_buffers = !o->parameters,
                               .parse_stack_trace = true};
    return cfx_print_dot(to, gm, &how, err);
}

static cfx_status print_c(cfx_sink to, const cfx_module *gm,
                          const struct print_options *o, cfx_error *err)
{
    (void)o;
    return cfx_print_c(to, gm, NULL, err);
}

static const struct format {
    const char *name;
    format_fn *print;
    bool weights; /* it prints shapes that only the weights have */
    const char *doc;
} formats[] = {
    {"graph", print_graph, false, "As PyTorch prints gm.graph."},
    {"tabular", print_tabular, false,
     "As PyTorch prints gm.graph.print_tabular()."},
    {"python", print_code, false, "As PyTorch prints gm.code."},
    {"readable", print_readable, false,
     "As PyTorch prints gm.print_readable()."},
    {"modules", print_modules, false, "As PyTorch prints gm."},
    {"model", print_model, false, "The whole model file."},
    {"cfx", print_lossless, true, "The lossless superset of the model file."},
    {"dot", print_dot, false, "A picture for Graphviz (dot -Tsvg)."},
    {"c", print_c, true, "A program in C."},
};

static void describe(FILE *to)
{
    fputs("\nFormats:\n", to);
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        cli_describe_row(to, formats[i].name, formats[i].doc);
}

/* ---- The command ---- */

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct print_options *o = opts;
    const struct format *format = CLI_FIND(formats, o->format);
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    if (!format)
        return cli_usage(c, "'%s' is not a valid FORMAT for --format",
                         o->format);
    cfx_status st = cli_load(c, &gm, args[0], format->weights, &err);
    if (!st) {
        st = cli_printed(format->print(cfx_sink_file(c->out), gm, o, &err));
        if (st)
            cfx_fail_at(&err, "%s", args[0]);
    }
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_print = {
    .name = "print",
    .args = "MODEL",
    .summary = "Print a model as text",
    .describe = describe,
    .options = options,
    .size = sizeof(struct print_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
