/*
 * cfx transform -- rewrite a model by passes.
 */
#include <cfx/pass_manager.h>
#include <cfx/shape_prop.h>

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "rewrite.h"

struct transform_options {
    cli_list inputs;
    cli_seed seed;
    int steps;
    bool reverse, verify, quiet;
};

static const cli_option options[] = {
    {CLI_FLAG, 0, "reverse", NULL,
     "undo the passes, the last one first; all must be reversible",
     offsetof(struct transform_options, reverse)},
    {CLI_COUNT, 0, "steps", "N",
     "apply the list until it changes nothing, at most N times",
     offsetof(struct transform_options, steps)},
    {CLI_FLAG, 0, "verify", NULL,
     "run the model before and after, and fail if the outputs differ by more than 1e-5 (1e-4 if a pass may change the rounding)",
     offsetof(struct transform_options, verify)},
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "set an input, as for cfx run: passes then know the shapes of all nodes, and --verify runs with it",
     offsetof(struct transform_options, inputs)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     offsetof(struct transform_options, seed)},
    {CLI_FLAG, 'q', "quiet", NULL, "do not print a line for each pass",
     offsetof(struct transform_options, quiet)},
    {0},
};

/* ---- The passes ---- */

/* Join "a,b" and "c" of the command line into one text. */
static char *join(int n, char **texts)
{
    size_t len = 1;
    char *all, *end;

    for (int i = 0; i < n; i++)
        len += strlen(texts[i]) + 1;
    all = end = malloc(len);
    for (int i = 0; i < n && all; i++) {
        size_t k = strlen(texts[i]);
        memcpy(end, texts[i], k);
        end += k;
        *end++ = ',';
    }
    if (all)
        end[n ? -1 : 0] = '\0';
    return all;
}

static cfx_status apply(cli *c, const struct transform_options *o,
                        cfx_module *gm, const char *passes, FILE *to,
                        cfx_error *err)
{
    cli_pass_lines lines = {.to = o->quiet ? NULL : to, .reverse = o->reverse};
    const cfx_pass_manager_options how = {
        .size = sizeof(how),
        .steps = o->steps,
        .reverse = o->reverse,
        .after = cli_print_pass_line,
        .user = &lines,
    };
    cfx_pass_manager *pm = NULL;

    cfx_status st = cfx_pass_manager_new(&pm, c->ctx, &how, err);
    if (!st)
        st = cfx_pass_manager_add(pm, passes, err);
    if (!st)
        st = cfx_pass_manager_run(pm, gm, NULL, err);
    cfx_pass_manager_free(pm);
    return st;
}

/* ---- Shapes ---- */

/* Set the shapes of all nodes for the inputs. */
static cfx_status set_shapes(cli *c, const struct transform_options *o,
                             cfx_module *gm, cfx_error *err)
{
    cli_inputs in = {0};

    cfx_status st = cli_inputs_make(&in, c, gm, c->model, &o->inputs,
                                    o->seed.value, err);
    if (!st)
        st = cfx_propagate_shapes(gm, NULL, in.value, in.n, NULL, err);
    cli_inputs_release(&in);
    return st;
}

/* ---- Verifying ---- */

/* Return the tolerance of the least exact pass. */
static cfx_tolerance tolerance_of(cfx_context *ctx, const char *passes)
{
    double least = 1e-5;
    bool narrows = false;

    for (const char *rest; passes; passes = rest) {
        char name[128];
        size_t n = cfx_pass_text_split(&passes, &rest), k = 0;
        for (; k < n && k + 1 < sizeof(name) && passes[k] != '('; k++)
            name[k] = passes[k];
        while (k && name[k - 1] == ' ')
            k--;
        name[k] = '\0';
        const cfx_pass *p = cfx_find_pass(ctx, name);
        if (p && p->flags & CFX_PASS_ROUNDS)
            least = 1e-4;
        narrows |= p && p->flags & CFX_PASS_NARROWS;
    }
    return narrows ? (cfx_tolerance){true, 0, 0, CLI_NARROWED_RMAX}
                   : (cfx_tolerance){true, least, least, 0};
}

/* ---- The command ---- */

static cfx_status transform(cli *c, const struct transform_options *o,
                            cfx_module *gm, const char *passes, FILE *to,
                            cfx_error *err)
{
    cli_verifier v = {.c = c,
                      .inputs = &o->inputs,
                      .seed = o->seed.value,
                      .tolerance = tolerance_of(c->ctx, passes),
                      .to = o->quiet ? NULL : to};
    cfx_graph *g = cfx_graph_module_graph(gm);
    bool shaped = o->inputs.n && !(g && cfx_graph_has_shapes(g));
    cfx_status st = o->verify ? cli_verify_begin(&v, gm, err) : CFX_OK;

    if (!st && shaped)
        st = set_shapes(c, o, gm, err);
    if (!st)
        st = apply(c, o, gm, passes, to, err);
    if (!st && shaped)
        st = cfx_graph_remove_shapes(cfx_graph_module_graph(gm), err);
    if (!st && o->verify)
        st = cli_verify_end(&v, gm, err);
    cli_verify_release(&v);
    return st;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct transform_options *o = opts;
    const char *path = args[0];
    const cfx_save_options how = {.size = sizeof(how),
                                  .lossless = cfx_model_is_lossless(path)};
    cfx_error err = {0};
    cfx_module *gm = NULL;

    if (!o->verify && o->seed.given)
        return cli_usage(c, "--seed needs --verify");
    char *passes = join(nargs - 1, args + 1);
    cfx_status st = passes ? cli_load_for(c, &gm, path, &o->inputs, false, 0,
                                          &err)
                           : cfx_no_memory(&err);
    if (!st) {
        st = transform(c, o, gm, passes, c->g.output ? stdout : stderr, &err);
        if (st)
            cli_fail_model(c, &err, path, false);
    }
    if (!st && c->g.output)
        st = cfx_model_save(c->g.output, gm, &how, &err);
    else if (!st)
        st = cfx_model_print(cfx_sink_file(stdout), gm, how.lossless, &err);
    cfx_module_unref(gm);
    free(passes);
    return st ? cli_fail(&err) : CLI_OK;
}

/* Passes follow the model. */
static void complete(cli_completing *at, int arg)
{
    if (arg)
        cli_complete_pass(at, arg);
}

const cli_command cli_command_transform = {
    .name = "transform",
    .args = "MODEL PASS[(OPTION=VALUE,...)][,PASS...]",
    .summary = "Rewrite a model with passes",
    .details =
        "The result is written to the file of -o, and the weights, if any, to the .safetensors file beside it; without -o only the text is printed. `cfx passes` lists the passes.",
    .options = options,
    .size = sizeof(struct transform_options),
    .min_args = 2,
    .max_args = 64,
    .own_output = true,
    .run = run,
    .complete = complete,
};
