/*
 * cfx optimize -- rewrite a model so that it runs fast.
 */
#include <cfx/optimize.h>

#include "cli.h"
#include "rewrite.h"

struct optimize_options {
    cli_list inputs, set;
    cli_seed seed;
    bool verify, quiet, report;
    cli_optimizing how;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "set the type and shape of an input, as for cfx shapes; an extent may be a symbol, as in f32[N,3,224,224]",
     offsetof(struct optimize_options, inputs)},
    {CLI_LIST, 0, "set", "NAME=N",
     "set a symbol to a value or a range: N=4, N=2..64",
     offsetof(struct optimize_options, set)},
    {CLI_FLAG, 0, "bfloat16", NULL, CLI_BFLOAT16_HELP,
     offsetof(struct optimize_options, how.bfloat16)},
    {CLI_FLAG, 0, "int8-weights", NULL, CLI_INT8_HELP,
     offsetof(struct optimize_options, how.int8_weights)},
    {CLI_FLAG, 0, "tune", NULL,
     "choose algorithms of convolutions by measuring the model for some seconds, and print their times",
     offsetof(struct optimize_options, how.tune)},
    {CLI_FLAG, 0, "verify", NULL,
     "run the model before and after, and fail if an output differs by more than 1e-4 of the largest element (2e-2 with narrow weights)",
     offsetof(struct optimize_options, verify)},
    {CLI_FLAG, 0, "report", NULL,
     "print the nodes that did not get a faster form, and why",
     offsetof(struct optimize_options, report)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     offsetof(struct optimize_options, seed)},
    {CLI_FLAG, 'q', "quiet", NULL, "do not print a line for each pass",
     offsetof(struct optimize_options, quiet)},
    {0},
};

/* Optimize for inputs that are known by their shapes. */
static cfx_status optimize(cli *c, const struct optimize_options *o,
                           cfx_module *gm, cli_pass_lines *lines,
                           cfx_error *err)
{
    cli_symbols symbols = {0};
    cli_inputs in = {0};

    cfx_status st = cli_symbols_make(&symbols, c->ctx, &o->set, err);
    if (!st)
        st = cli_shapes_make(&in, c, gm, NULL, &o->inputs, &symbols, err);
    if (!st)
        st = cli_optimize(gm, &in, &o->how, symbols.env, lines, err);
    cli_inputs_release(&in);
    cli_symbols_release(&symbols);
    return st;
}

static cfx_status rewrite(cli *c, const struct optimize_options *o,
                          cfx_module *gm, FILE *to, cfx_error *err)
{
    cli_pass_lines lines = {.to = o->quiet ? NULL : to,
                            .missed = o->report ? to : NULL};
    cli_verifier v = {
        .c = c, .inputs = &o->inputs, .seed = o->seed.value, .to = lines.to};
    cfx_status st = o->verify ? cli_verify_begin(&v, gm, err) : CFX_OK;

    if (!st)
        st = optimize(c, o, gm, &lines, err);
    v.tolerance = cli_optimized_tolerance(&lines);
    if (!st && o->verify)
        st = cli_verify_end(&v, gm, err);
    cli_verify_release(&v);
    return st;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct optimize_options *o = opts;
    const cfx_save_options how = {.size = sizeof(how), .lossless = true};
    const char *path = args[0];
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    if (!o->verify && o->seed.given)
        return cli_usage(c, "--seed needs --verify");
    cfx_status st = cli_load_for(c, &gm, path, &o->inputs, false, 0, &err);
    if (!st) {
        st = rewrite(c, o, gm, c->g.output ? stdout : stderr, &err);
        if (st)
            cli_fail_model(c, &err, path, true);
    }
    if (!st && c->g.output)
        st = cfx_model_save(c->g.output, gm, &how, &err);
    else if (!st)
        st = cfx_model_print(cfx_sink_file(stdout), gm, true, &err);
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

/* The passes. */
static void describe(FILE *to)
{
    fputs("\nPasses:\n  ", to);
    cli_wrap(to, cfx_optimize_passes, 2, 2);
}

const cli_command cli_command_optimize = {
    .name = "optimize",
    .args = "MODEL",
    .summary = "Rewrite a model so that it runs fast",
    .details =
        "Convolutions with what follows them become single nodes with packed weights. The result is written to the file of -o, and the weights to the .safetensors file beside it; without -o only the text is printed. from_node lists the nodes that a node computes; `cfx diff MODEL FAST` compares them. Where the result depends on the sizes of inputs, it asserts them: give extents symbols to keep them free.",
    .describe = describe,
    .options = options,
    .size = sizeof(struct optimize_options),
    .min_args = 1,
    .max_args = 1,
    .own_output = true,
    .run = run,
};
