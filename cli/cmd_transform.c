/*
 * cfx transform -- rewrite a model by passes.
 */
#include <cfx/compare.h>
#include <cfx/interp.h>
#include <cfx/pass_manager.h>
#include <cfx/shape_prop.h>

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

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
     "run the model before and after, and fail if the outputs differ by more "
     "than 1e-5 (1e-4 if a pass may change the rounding)",
     offsetof(struct transform_options, verify)},
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "set an input, as for cfx run: passes then know the shapes of all nodes, "
     "and --verify runs with it",
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

struct reporting {
    FILE *to;
    bool reverse, quiet;
};

/* Print "constant_folding   12 nodes changed (3 made, 9 removed), 0.4 ms". */
static cfx_status report(void *user, cfx_module *gm, const cfx_pass_report *r,
                         cfx_error *err)
{
    const struct reporting *how = user;

    (void)gm;
    if (how->reverse && !r->step && !r->changed)
        return cfx_fail(err, CFX_EINVAL,
                        "nothing to undo: no node carries the "
                        "traces of '%s' (leave it out if it changed nothing; "
                        "else start from the file that cfx transform wrote)",
                        r->text);
    if (how->quiet)
        return CFX_OK;
    fprintf(how->to,
            "%-24s %6zu node%s changed (%zu made, %zu removed), %.1f ms\n",
            r->text, r->changed, r->changed == 1 ? " " : "s", r->created,
            r->erased, 1e3 * r->seconds);
    return CFX_OK;
}

static cfx_status apply(cli *c, const struct transform_options *o,
                        cfx_module *gm, const char *passes, FILE *to,
                        cfx_error *err)
{
    struct reporting reporting = {to, o->reverse, o->quiet};
    const cfx_pass_manager_options how = {
        .size = sizeof(how),
        .steps = o->steps,
        .reverse = o->reverse,
        .after = report,
        .user = &reporting,
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

/* The meta that shape propagation sets. */
static const char *const shape_keys[] = {"tensor_meta", "type"};

static bool has_shapes(const cfx_module *gm)
{
    const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));

    while (n && !cfx_node_meta(n, shape_keys[0]).kind &&
           !cfx_node_meta(n, shape_keys[1]).kind)
        n = cfx_node_next(n);
    return n != NULL;
}

/* Set the shapes of all nodes for the inputs. */
static cfx_status set_shapes(cli *c, const struct transform_options *o,
                             cfx_module *gm, cfx_error *err)
{
    cli_inputs in = {0};

    cfx_status st = cli_inputs_make(&in, c, gm, &o->inputs, o->seed.value,
                                    err);
    if (!st)
        st = cfx_propagate_shapes(gm, NULL, in.value, in.n, NULL, err);
    cli_inputs_release(&in);
    return st;
}

/* Shapes for some inputs are no part of the result. */
static cfx_status drop_shapes(cfx_module *gm, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_graph *g = cfx_graph_module_graph(gm);

    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n))
        for (int i = 0; i < 2 && !st; i++)
            st = cfx_node_set_meta(n, shape_keys[i], CFX_NOTHING, err);
    return st;
}

/* ---- Verifying ---- */

/* Inputs are made again for each run, since a model may write to them. */
static cfx_status run_model(cli *c, const struct transform_options *o,
                            cfx_module *gm, cfx_value *out, cfx_error *err)
{
    cli_inputs in = {0};
    cfx_interp it = {0};

    *out = CFX_NOTHING;
    cfx_status st = cli_inputs_make(&in, c, gm, &o->inputs, o->seed.value,
                                    err);
    cli_progress *p = st ? NULL : cli_progress_begin("verifying");
    const cfx_interp_options how = {
        .size = sizeof(how),
        .progress = p ? cli_progress_report : NULL,
        .progress_user = p,
    };
    if (!st)
        st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &how, err);
    if (!st) {
        cfx_context_seed(c->ctx, o->seed.value);
        st = cfx_interp_run(&it, in.value, in.n, out, err);
    }
    cli_progress_end(p);
    cfx_interp_release(&it);
    cli_inputs_release(&in);
    return st;
}

/* Return the tolerance of the least exact pass. */
static double tolerance_of(cfx_context *ctx, const char *passes)
{
    double tolerance = 1e-5;

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
            tolerance = 1e-4;
    }
    return tolerance;
}

static cfx_status verify(cli *c, const struct transform_options *o,
                         cfx_module *gm, const char *passes, cfx_value before,
                         FILE *to, cfx_error *err)
{
    cfx_value after;
    cfx_difference d = {.differs = false};
    double least = tolerance_of(c->ctx, passes);
    const cfx_tolerance t = {.given = true, .rtol = least, .atol = least};

    cfx_status st = run_model(c, o, gm, &after, err);
    if (!st)
        st = cfx_value_compare(&d, before, after, &t, err);
    cfx_value_unref(after);
    if (!st && d.differs)
        st = cfx_fail(err, CFX_ENUMERIC, "the outputs differ: %s", d.text);
    if (st)
        cfx_fail_at(err, "--verify");
    else if (!o->quiet)
        fprintf(to, "verified: largest difference %.2g\n", d.max_abs);
    return st;
}

/* ---- The command ---- */

static cfx_status transform(cli *c, const struct transform_options *o,
                            cfx_module *gm, const char *passes, FILE *to,
                            cfx_error *err)
{
    cfx_value before = CFX_NOTHING;
    cfx_status st = CFX_OK;
    bool shaped = o->inputs.n && !has_shapes(gm);

    if (o->verify)
        st = run_model(c, o, gm, &before, err);
    if (!st && shaped)
        st = set_shapes(c, o, gm, err);
    if (!st)
        st = apply(c, o, gm, passes, to, err);
    if (!st && shaped)
        st = drop_shapes(gm, err);
    if (!st && o->verify)
        st = verify(c, o, gm, passes, before, to, err);
    cfx_value_unref(before);
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
    cfx_status st = passes ? cli_load(c, &gm, path, true, &err)
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
    .details = "The result is written to the file of -o, and the weights, if "
               "any, to the .safetensors file beside it; without -o only the "
               "text is printed. `cfx passes` lists the passes.",
    .options = options,
    .size = sizeof(struct transform_options),
    .min_args = 2,
    .max_args = 64,
    .own_output = true,
    .run = run,
    .complete = complete,
};
