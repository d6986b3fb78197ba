/*
 * cfx convert -- write a model with its weights in another format.
 */
#include <stdlib.h>
#include <string.h>

#include <cfx/to_aten.h>
#include <cfx/to_onnx.h>

#include "cli.h"

struct convert_options {
    cli_list inputs, set;
    const char *name;
    bool lossless;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "OUT.onnx, OUT.pt2: the type and shape of an input, as for cfx shapes: f32[N,3,224,224]; the default is what MODEL tells",
     offsetof(struct convert_options, inputs)},
    {CLI_LIST, 0, "set", "NAME=N",
     "OUT.onnx, OUT.pt2: set a symbol to a value or a range: N=4, N=2..64",
     offsetof(struct convert_options, set)},
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

/* ---- Graphs of ATen's calls ---- */

/* The sample inputs of the file, or some of the same types. */
static cfx_status make_samples(cli_inputs *samples, cli *c,
                               const cfx_module *gm, const cli_inputs *in,
                               bool own, cfx_shape_env *env, cfx_error *err)
{
    const cli_list none = {0};
    cfx_error ignored = {0};

    if (!own &&
        !cli_inputs_make(samples, c, gm, c->model, &none, 0, &ignored) &&
        samples->n == in->n)
        return CFX_OK;
    cli_inputs_release(samples);
    return cli_fill_inputs(samples, c, gm, in, 0, env, err);
}

/* Replace a model by its graph of ATen's calls, and save it. */
static cfx_status save_aten(cli *c, cfx_module *gm, const cli_inputs *in,
                            bool own, cfx_shape_env *env, char **args,
                            cfx_error *err)
{
    cli_inputs samples = {0};
    cfx_module *lowered = NULL;
    cfx_status st = cfx_to_aten(&lowered, gm, env, in->value, in->n, err);

    if (!st)
        st = make_samples(&samples, c, gm, in, own, env, err);
    if (!st) {
        const cfx_save_options how = {.size = sizeof(how),
                                      .inputs = samples.value,
                                      .ninputs = samples.n,
                                      .env = env};
        st = cfx_model_save(args[1], lowered, &how, err);
    }
    if (st)
        cli_fail_model(c, err, args[0], false);
    cfx_module_unref(lowered);
    cli_inputs_release(&samples);
    return st;
}

/* ---- Graphs of calls that the format has ---- */

static cfx_status save_calls(cfx_module *gm, const cli_inputs *in,
                             cfx_shape_env *env, const char *path,
                             cfx_error *err)
{
    cfx_module *calls = NULL;
    cfx_status st = cfx_to_onnx(&calls, gm, env, in->value, in->n, err);

    if (!st)
        st = cfx_model_save(path, calls, NULL, err);
    cfx_module_unref(calls);
    return st;
}

/* ---- The command ---- */

/* Save a model in a format that has the shapes of all values. */
static cfx_status save_shaped(cli *c, const struct convert_options *o,
                              cfx_module *gm, bool aten, char **args,
                              cfx_error *err)
{
    cli_symbols symbols;
    cli_inputs in = {0};
    cfx_status st = cli_symbols_make(&symbols, c->ctx, &o->set, err);

    if (!st) {
        st = cli_shapes_make(&in, c, gm, NULL, &o->inputs, &symbols, err);
        if (st == CFX_EINVAL)
            cfx_fail_at(
                err,
                "%s has the shapes of all values, which follow from -i NAME=f32[N,3,224,224]",
                args[1]);
        if (st && aten)
            cli_fail_model(c, err, args[0], false);
    }
    if (!st)
        st = aten ? save_aten(c, gm, &in, o->inputs.n || o->set.n, symbols.env,
                              args, err)
                  : save_calls(gm, &in, symbols.env, args[1], err);
    cli_inputs_release(&in);
    cli_symbols_release(&symbols);
    return st;
}

enum { SHAPED = CFX_SAVE_CALLS | CFX_SAVE_ATEN };

static cfx_status save(cli *c, const struct convert_options *o, cfx_module *gm,
                       const cfx_model_format *format, char **args,
                       cfx_error *err)
{
    const cfx_save_options how = {
        .size = sizeof(how), .lossless = o->lossless, .name = o->name};

    return format->options & SHAPED
               ? save_shaped(c, o, gm, format->options & CFX_SAVE_ATEN, args,
                             err)
               : cfx_model_save(args[1], gm, &how, err);
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct convert_options *o = opts;
    const bool shapes = o->inputs.n || o->set.n;
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
    unsigned vain = given & ~format->options;
    if (shapes && !(format->options & SHAPED))
        vain |= SHAPED;
    if (vain)
        return cli_usage(c, "--%s needs %s",
                         vain & CFX_SAVE_NAME       ? "name"
                         : vain & CFX_SAVE_LOSSLESS ? "lossless"
                         : o->inputs.n              ? "input"
                                                    : "set",
                         list_formats(list, sizeof(list), vain));
    cfx_status st = cli_load_for(c, &gm, args[0], &o->inputs, false, 0, &err);
    if (!st)
        st = save(c, o, gm, format, args, &err);
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
