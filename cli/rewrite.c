/*
 * rewrite -- print what passes did, and verify that a rewritten model computes
 * the same.
 */
#include "rewrite.h"

#include <cfx/interp.h>
#include <cfx/optimize.h>
#include <string.h>

#include "progress.h"

cfx_status cli_print_pass_line(void *user, cfx_module *gm,
                               const cfx_pass_report *r, cfx_error *err)
{
    cli_pass_lines *lines = user;

    (void)gm;
    if (r->changed && r->pass->flags & CFX_PASS_NARROWS)
        lines->narrows = true;
    if (lines->reverse && !r->step && !r->changed)
        return cfx_fail(
            err, CFX_EINVAL,
            "nothing to undo: no node carries the traces of '%s' (leave it out if it changed nothing; else start from the file that cfx transform wrote)",
            r->text);
    if (!lines->to)
        return CFX_OK;
    fprintf(lines->to,
            "%-24s %6zu node%s changed (%zu made, %zu removed), %.1f ms\n",
            r->text, r->changed, r->changed == 1 ? " " : "s", r->created,
            r->erased, 1e3 * r->seconds);
    return CFX_OK;
}

static int width_of(int width, const char *text)
{
    int len = (int)strlen(text);

    return len > width ? len : width;
}

void cli_print_missed(void *user, const cfx_missed *missed, size_t n)
{
    const cli_pass_lines *lines = user;
    int node = 4, pass = 4;

    for (size_t i = 0; i < n; i++) {
        node = width_of(node, missed[i].node);
        pass = width_of(pass, missed[i].pass);
    }
    if (n)
        fprintf(lines->missed, "%-*s  %-*s  %s\n", node, "node", pass, "pass",
                "why it has no faster form");
    for (size_t i = 0; i < n; i++)
        fprintf(lines->missed, "%-*s  %-*s  %s\n", node, missed[i].node, pass,
                missed[i].pass, missed[i].why);
    fprintf(lines->missed, "%zu node%s could be faster\n", n,
            n == 1 ? "" : "s");
}

/* ---- --verify ---- */

/* Inputs are made again for each run, since a model may write to them. */
static cfx_status run_model(cli_verifier *v, cfx_module *gm, cfx_value *out,
                            cfx_error *err)
{
    cli_inputs in = {0};
    cfx_interp it = {0};

    *out = CFX_NOTHING;
    cfx_status st = cli_inputs_make(&in, v->c, gm, v->c->model, v->inputs,
                                    v->seed, err);
    cli_progress *p = st ? NULL : cli_progress_begin("verifying");
    const cfx_interp_options how = {
        .size = sizeof(how),
        .progress = p ? cli_progress_report : NULL,
        .progress_user = p,
    };
    if (!st)
        st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &how, err);
    if (!st) {
        cfx_context_seed(v->c->ctx, v->seed);
        st = cfx_interp_run(&it, in.value, in.n, out, err);
    }
    cli_progress_end(p);
    cfx_interp_release(&it);
    cli_inputs_release(&in);
    return st;
}

cfx_status cli_verify_begin(cli_verifier *v, cfx_module *gm, cfx_error *err)
{
    return run_model(v, gm, &v->before, err);
}

cfx_status cli_verify_end(cli_verifier *v, cfx_module *gm, cfx_error *err)
{
    cfx_value after;
    cfx_difference d = {.differs = false};

    cfx_status st = run_model(v, gm, &after, err);
    if (!st)
        st = cfx_value_compare(&d, v->before, after, &v->tolerance, err);
    cfx_value_unref(after);
    if (!st && d.differs)
        st = cfx_fail(err, CFX_ENUMERIC, "the outputs differ: %s", d.text);
    if (st)
        cfx_fail_at(err, "--verify");
    else if (v->to)
        fprintf(v->to, "verified: largest difference %.2g\n", d.max_abs);
    return st;
}

void cli_verify_release(cli_verifier *v)
{
    cfx_value_unref(v->before);
    v->before = CFX_NOTHING;
}

/* ---- --optimize ---- */

cfx_tolerance cli_optimized_tolerance(const cli_pass_lines *lines)
{
    return (cfx_tolerance){
        true, 0, 0, lines->narrows ? CLI_NARROWED_RMAX : CLI_OPTIMIZED_RMAX};
}

int cli_check_optimizing(const cli *c, const cli_optimizing *how)
{
    const char *option = how->bfloat16       ? "bfloat16"
                         : how->int8_weights ? "int8-weights"
                                             : NULL;
    return option && !how->optimize
               ? cli_usage(c, "--%s needs --optimize", option)
               : 0;
}

/* The time that tuning takes. */
enum { TUNE_SECONDS = 6 };

/* A line for a node of which two algorithms were measured. */
static void print_tuned(void *user, const char *node, double direct,
                        double winograd)
{
    const cli_pass_lines *lines = user;

    if (lines->to)
        fprintf(lines->to, "%-28s direct %.1f us, Winograd's %.1f us\n", node,
                1e6 * direct, 1e6 * winograd);
}

cfx_status cli_optimize(cfx_module *gm, const cli_inputs *in,
                        const cli_optimizing *how, cfx_shape_env *env,
                        cli_pass_lines *lines, cfx_error *err)
{
    const cfx_optimize_options o = {
        .size = sizeof(o),
        .bfloat16 = how->bfloat16,
        .int8_weights = how->int8_weights,
        .tune_seconds = how->tune ? TUNE_SECONDS : 0,
        .env = env,
        .after = lines ? cli_print_pass_line : NULL,
        .tuned = lines ? print_tuned : NULL,
        .missed = lines && lines->missed ? cli_print_missed : NULL,
        .user = lines,
    };

    return cfx_optimize(gm, in->value, in->n, &o, err);
}
