/*
 * cfx diff -- find the first node where two runs differ.
 */
#include <cfx/compare.h>

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "expect.h"
#include "output.h"
#include "progress.h"
#include "rewrite.h"

struct diff_options {
    cli_list inputs;
    cli_seed seed;
    cli_tolerance_options allowed;
    const char *min_snr, *cpu_b, *weights_b;
    int threads_b;
    bool json, all, graph, snr, same_inputs;
    cli_optimizing how;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "set an input of both models, as for cfx run",
     offsetof(struct diff_options, inputs)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     offsetof(struct diff_options, seed)},
    CLI_TOLERANCE_OPTIONS(struct diff_options, allowed, "A"),
    {CLI_FLAG, 0, "all", NULL, "continue after the first difference",
     offsetof(struct diff_options, all)},
    {CLI_FLAG, 0, "same-inputs", NULL,
     "after a node is compared, give its value in A to the nodes of B that read it, so that differences do not add up",
     offsetof(struct diff_options, same_inputs)},
    {CLI_FLAG, 0, "graph", NULL,
     "do not run: print the lines that differ between the two graphs",
     offsetof(struct diff_options, graph)},
    {CLI_FLAG, 0, "snr", NULL,
     "list all nodes that differ by their signal-to-noise ratio in dB, the lowest first; this is not a failure",
     offsetof(struct diff_options, snr)},
    {CLI_TEXT, 0, "min-snr", "DB",
     "as --snr, and fail if the ratio of a node is less than DB",
     offsetof(struct diff_options, min_snr)},
    {CLI_FLAG, 0, "optimize", NULL,
     "optimize B before it runs; --rmax is then 1e-4, in narrower types 2e-2, unless a tolerance is given",
     offsetof(struct diff_options, how.optimize)},
    {CLI_FLAG, 0, "bfloat16", NULL, "with --optimize: " CLI_BFLOAT16_HELP,
     offsetof(struct diff_options, how.bfloat16)},
    {CLI_FLAG, 0, "int8-weights", NULL, "with --optimize: " CLI_INT8_HELP,
     offsetof(struct diff_options, how.int8_weights)},
    {CLI_TEXT, 0, "cpu-b", "LEVEL",
     "run B with these instructions: plain, neon, avx2 or avx512 (A uses --cpu)",
     offsetof(struct diff_options, cpu_b)},
    {CLI_COUNT, 0, "threads-b", "N", "run B on N threads",
     offsetof(struct diff_options, threads_b)},
    {CLI_TEXT, 0, "weights-b", "FILE", "read the weights of B from this file",
     offsetof(struct diff_options, weights_b)},
    {CLI_JSON, 'f', "format", "FORMAT", "text (default) or json",
     offsetof(struct diff_options, json)},
    {0},
};

/* One of the two models and its run. */
struct side {
    cli c; /* with the options of this side */
    const char *path;
    char name[512]; /* in reports: the path, and what differs from A */
    cfx_module *gm;
    cfx_interp it;
    cli_inputs in;
};

/* A node that differs, with --snr. */
struct noisy {
    size_t number; /* in the order of the run */
    const cfx_node *a, *b;
    char type_a[256], type_b[256];
    cfx_difference by;
    bool has_ratio; /* its floating-point elements differ, and are finite */
    double snr;
};

struct diff {
    struct side a, b;
    cfx_comparison cmp;
    bool json, all, graph, snr;
    double min_snr;
    struct noisy *noisy; /* an array, with --snr */
    size_t nnoisy;
    const char *output; /* file name; NULL: stdout */
    FILE *out;
    json_t *differences, *only_a, *only_b;
    size_t nonly_a, nonly_b;
    cli_progress *progress; /* NULL: not shown */
};

/* ---- Progress ---- */

/* Only the first run reports; the second one follows it. */
static void report_progress(void *user, size_t done, size_t total)
{
    const struct diff *d = user;

    if (d->progress)
        cli_progress_report(d->progress, done, total);
}

/* Erase the line: differences may go to the same terminal. */
static void end_progress(struct diff *d)
{
    cli_progress_end(d->progress);
    d->progress = NULL;
}

/* ---- The sides ---- */

static cfx_status optimize_side(struct side *s, struct diff *d,
                                const struct diff_options *o, cfx_error *err)
{
    cli_pass_lines lines = {.to = NULL};
    cfx_status st = cli_optimize(s->gm, &s->in, &o->how, NULL, &lines, err);

    if (!d->cmp.tolerance.given)
        d->cmp.tolerance = cli_optimized_tolerance(&lines);
    return st;
}

/* The samples are those of A, or of B where A has none, read into this side's
 * context. */
static cfx_status make_inputs(struct side *s, const struct diff *d,
                              const struct diff_options *o, cfx_error *err)
{
    cfx_model_file *f = NULL;
    cfx_status st = cfx_model_file_open(&f, s->c.ctx, d->a.path, err);

    if (!st && !cfx_model_file_format(f)->read_inputs) {
        cfx_model_file_close(f);
        st = cfx_model_file_open(&f, s->c.ctx, d->b.path, err);
    }
    if (!st)
        st = cli_inputs_make(&s->in, &s->c, s->gm, f, &o->inputs,
                             o->seed.value, err);
    cfx_model_file_close(f);
    return st;
}

static cfx_status side_open(struct side *s, struct diff *d,
                            const struct diff_options *o, cfx_error *err)
{
    const cfx_interp_options how = {
        .size = sizeof(how),
        .progress = s == &d->a ? report_progress : NULL,
        .progress_user = d,
    };
    cfx_status st = o->graph ? cli_load(&s->c, &s->gm, s->path, false, err)
                             : cli_load_for(&s->c, &s->gm, s->path, &o->inputs,
                                            true, o->seed.value, err);

    if (st || o->graph)
        return st;
    st = make_inputs(s, d, o, err);
    if (!st && s == &d->b && o->how.optimize)
        st = optimize_side(s, d, o, err);
    if (!st)
        st = cfx_interp_init_with(&s->it, &cfx_interp_base, s->gm, &how, err);
    if (st)
        cfx_fail_at(err, "%s", s->path);
    return st;
}

static void side_close(struct side *s)
{
    cfx_interp_release(&s->it);
    cli_inputs_release(&s->in);
    cfx_module_unref(s->gm);
    cfx_model_file_close(s->c.model);
}

/* ---- Rows ---- */

static void type_of(cfx_value v, char *buf, size_t size)
{
    if (v.kind == CFX_TENSOR)
        cfx_tensor_format_type(v.u.tensor, buf, size);
    else
        snprintf(buf, size, "%s", cfx_kind_name((cfx_kind)v.kind));
}

static cfx_status add_json(struct diff *d, const cfx_node *n, const char *a,
                           const char *b, const cfx_difference *by)
{
    const double snr = cfx_difference_snr(by);
    json_t *j = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:o, s:s}", "node",
        n->name, "op", cfx_opcode_names[n->op], "target", n->target->text,
        "type_a", a, "type_b", b, "elements", (json_int_t)by->elements,
        "elements_differing", (json_int_t)by->differing, "largest_absolute",
        by->max_abs, "largest_relative", by->max_rel, "snr_db",
        isfinite(snr) ? json_real(snr) : json_null(), "text", by->text);
    return json_array_append_new(d->differences, j) ? CFX_ENOMEM : CFX_OK;
}

/* ---- Signal-to-noise ratios ---- */

static cfx_status add_noisy(struct diff *d, const cfx_node *a,
                            const cfx_node *b, cfx_value va, cfx_value vb,
                            const cfx_difference *by)
{
    if (!(d->nnoisy & (d->nnoisy - 1))) {
        size_t cap = d->nnoisy ? 2 * d->nnoisy : 1;
        struct noisy *more = cap > SIZE_MAX / sizeof(*more)
                                 ? NULL
                                 : realloc(d->noisy, cap * sizeof(*more));
        if (!more)
            return CFX_ENOMEM;
        d->noisy = more;
    }
    struct noisy *row = &d->noisy[d->nnoisy];
    const double snr = cfx_difference_snr(by);
    *row = (struct noisy){.number = d->nnoisy++,
                          .a = a,
                          .b = b,
                          .by = *by,
                          .has_ratio = isfinite(by->noise) && by->noise > 0,
                          .snr = snr};
    type_of(va, row->type_a, sizeof(row->type_a));
    type_of(vb, row->type_b, sizeof(row->type_b));
    return CFX_OK;
}

/* Those without a ratio come first, then by ratio, then as they ran. */
static int by_snr(const void *x, const void *y)
{
    const struct noisy *a = x, *b = y;

    if (a->has_ratio != b->has_ratio)
        return a->has_ratio ? 1 : -1;
    if (a->has_ratio && a->snr != b->snr)
        return a->snr < b->snr ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static void print_noisy(const struct diff *d)
{
    int name = 4, type = 4;

    for (size_t i = 0; i < d->nnoisy; i++) {
        int n = (int)strlen(d->noisy[i].a->name);
        int t = (int)strlen(d->noisy[i].type_a);
        name = n > name ? n : name;
        type = t > type ? t : type;
    }
    if (d->nnoisy)
        fprintf(d->out, "%-*s  %-*s  %8s  %s\n", name, "node", type, "type",
                "SNR dB", "partner");
    for (size_t i = 0; i < d->nnoisy; i++) {
        const struct noisy *row = &d->noisy[i];
        fprintf(d->out, "%-*s  %-*s  ", name, row->a->name, type, row->type_a);
        if (row->has_ratio)
            fprintf(d->out, "%8.1f  %s\n", row->snr, row->b->name);
        else
            fprintf(d->out, "%8s  %s: %s\n", "-", row->b->name, row->by.text);
    }
}

static cfx_status report_noisy(struct diff *d)
{
    cfx_status st = CFX_OK;

    if (d->nnoisy)
        qsort(d->noisy, d->nnoisy, sizeof(*d->noisy), by_snr);
    for (size_t i = 0; i < d->nnoisy && d->json && !st; i++)
        st = add_json(d, d->noisy[i].a, d->noisy[i].type_a, d->noisy[i].type_b,
                      &d->noisy[i].by);
    if (!d->json)
        print_noisy(d);
    return st;
}

/* Integers may differ, for they have no ratio: argmax. */
static cfx_status check_noisy(const struct diff *d, cfx_error *err)
{
    for (size_t i = 0; i < d->nnoisy; i++) {
        const struct noisy *row = &d->noisy[i];
        if (!row->by.elements || isnan(row->snr))
            return cfx_fail(
                err, CFX_ENUMERIC,
                "%s: %%%s has no signal-to-noise ratio to %%%s of %s: %s",
                d->b.name, row->b->name, row->a->name, d->a.name,
                row->by.text);
        if (row->has_ratio && row->snr < d->min_snr)
            return cfx_fail(
                err, CFX_ENUMERIC,
                "%s: %%%s has a signal-to-noise ratio of %.1f dB to %%%s of %s, less than %g",
                d->b.name, row->b->name, row->snr, row->a->name, d->a.name,
                d->min_snr);
    }
    return CFX_OK;
}

/* ---- Reporting ---- */

static cfx_status on_difference(void *user, const cfx_node *a,
                                const cfx_node *b, cfx_value va, cfx_value vb,
                                const cfx_difference *by)
{
    struct diff *d = user;
    char type_a[256], type_b[256];

    if (d->snr)
        return add_noisy(d, a, b, va, vb, by);
    type_of(va, type_a, sizeof(type_a));
    type_of(vb, type_b, sizeof(type_b));
    if (d->json)
        return add_json(d, a, type_a, type_b, by);
    end_progress(d);
    fprintf(d->out, "%%%s : %s : %s\n", a->name, type_a, by->text);
    return CFX_OK;
}

static cfx_status on_unmatched(void *user, const cfx_node *n, bool in_a)
{
    struct diff *d = user;

    d->nonly_a += in_a;
    d->nonly_b += !in_a;
    if (d->json)
        return json_array_append_new(in_a ? d->only_a : d->only_b,
                                     json_string(n->name))
                   ? CFX_ENOMEM
                   : CFX_OK;
    if (d->all)
        fprintf(d->out, "%%%s is only in %s\n", n->name,
                in_a ? d->a.name : d->b.name);
    return CFX_OK;
}

static cfx_status print_json(struct diff *d, cfx_error *err)
{
    json_t *j = json_pack("{s:s, s:s, s:s, s:I, s:O, s:O, s:O}", "schema",
                          "cfx-diff-1", "a", d->a.name, "b", d->b.name,
                          "nodes_compared", (json_int_t)d->cmp.ncompared,
                          "differences", d->differences, "only_a", d->only_a,
                          "only_b", d->only_b);

    return cli_print_document(d->out, j, err);
}

static void print_text(const struct diff *d)
{
    if ((d->nonly_a || d->nonly_b) && !d->all)
        fprintf(d->out, "%zu nodes are only in %s, %zu only in %s\n",
                d->nonly_a, d->a.name, d->nonly_b, d->b.name);
    fprintf(d->out, "%zu of %zu nodes compared differ%s\n", d->cmp.ndiffer,
            d->cmp.ncompared,
            d->cmp.ndiffer && !d->cmp.all ? "; the rest was not run" : "");
}

static cfx_status compare_sides(struct diff *d, cfx_error *err)
{
    d->progress = cli_progress_begin("comparing");
    cfx_status st = cfx_compare_runs(&d->a.it, &d->b.it, d->a.in.value,
                                     d->a.in.n, d->b.in.value, d->b.in.n,
                                     &d->cmp, err);

    end_progress(d);
    if (st == CFX_ENOMEM)
        cfx_no_memory(err);
    if (st && d->cmp.failed)
        cfx_fail_at(err, "%s",
                    d->cmp.failed == &d->a.it ? d->a.name : d->b.name);
    if (st)
        return st;
    if (d->snr && report_noisy(d))
        return cfx_no_memory(err);
    if (d->json)
        return print_json(d, err);
    print_text(d);
    return CFX_OK;
}

/* Compare only the graphs. */
static cfx_status compare_graphs(struct diff *d, cfx_error *err)
{
    size_t n = 0;
    cfx_status st = cfx_graph_diff(cfx_sink_file(d->out),
                                   cfx_graph_module_graph(d->a.gm),
                                   cfx_graph_module_graph(d->b.gm), &n, err);

    d->cmp.ndiffer = n;
    return st;
}

/* The report is complete even if models differ, so its file is kept. */
static cfx_status compare(struct diff *d, cfx_error *err)
{
    cfx_outfile file = {0};
    cfx_status st = CFX_OK;

    if (d->output)
        st = cfx_outfile_open(&file, d->a.c.ctx, d->output, err);
    if (st)
        return st;
    d->out = d->output ? file.stream : stdout;
    st = d->graph ? compare_graphs(d, err) : compare_sides(d, err);
    if (!st && d->output)
        st = cfx_outfile_commit(&file, err);
    cfx_outfile_discard(&file);
    return st;
}

static int run_diff(struct diff *d, const struct diff_options *o)
{
    cfx_error err = {0};
    cfx_status st = CFX_OK;

    d->differences = json_array();
    d->only_a = json_array();
    d->only_b = json_array();
    if (!d->differences || !d->only_a || !d->only_b)
        st = cfx_no_memory(&err);
    if (!st)
        st = side_open(&d->a, d, o, &err);
    if (!st)
        st = side_open(&d->b, d, o, &err);
    if (!st)
        st = compare(d, &err);
    if (!st && d->snr)
        st = check_noisy(d, &err);
    else if (!st && d->cmp.ndiffer && d->graph)
        st = cfx_fail(&err, CFX_EGRAPH,
                      "%s: its graph differs from that of %s in %zu lines",
                      d->b.name, d->a.name, d->cmp.ndiffer);
    else if (!st && d->cmp.ndiffer)
        st = cfx_fail(&err, CFX_ENUMERIC,
                      "%s: %%%s differs from that of %s: %s", d->b.name,
                      d->cmp.first_b->name, d->a.name, d->cmp.first.text);
    side_close(&d->a);
    side_close(&d->b);
    json_decref(d->differences);
    json_decref(d->only_a);
    json_decref(d->only_b);
    free(d->noisy);
    return st ? cli_fail(&err) : CLI_OK;
}

/* Name the sides in reports; of one model, B has the options that make it
 * another: "m.fx with --optimize". */
static void name_sides(struct diff *d, const struct diff_options *o)
{
    const struct {
        bool given;
        const char *option, *value;
    } of[] = {{o->how.optimize, "--optimize", NULL},
              {o->how.bfloat16, "--bfloat16", NULL},
              {o->how.int8_weights, "--int8-weights", NULL},
              {o->cpu_b, "--cpu-b", o->cpu_b},
              {o->threads_b, "--threads-b", NULL},
              {o->weights_b, "--weights-b", o->weights_b}};
    char *name = d->b.name;
    const size_t size = sizeof(d->b.name);

    snprintf(d->a.name, sizeof(d->a.name), "%s", d->a.path);
    snprintf(name, size, "%s", d->b.path);
    for (size_t i = 0, n = 0; i < sizeof(of) / sizeof(*of); i++) {
        const size_t len = strlen(name);
        if (!of[i].given || strcmp(d->a.path, d->b.path))
            continue;
        snprintf(name + len, size - len, "%s%s%s%s", n++ ? " " : " with ",
                 of[i].option, of[i].value ? " " : "",
                 of[i].value ? of[i].value : "");
    }
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct diff_options *o = opts;
    cfx_context *second = NULL;
    cfx_error err = {0};
    struct diff d = {.a = {.c = *c, .path = args[0]},
                     .b = {.c = *c, .path = args[nargs > 1]},
                     .all = o->all,
                     .graph = o->graph,
                     .snr = o->snr || o->min_snr,
                     .min_snr = -INFINITY,
                     .output = c->g.output};
    cfx_tolerance *t = &d.cmp.tolerance;

    d.cmp.size = sizeof(d.cmp);
    d.cmp.all = o->all || d.snr;
    d.cmp.same_inputs = o->same_inputs;
    d.cmp.differs = on_difference;
    d.cmp.unmatched = on_unmatched;
    d.cmp.user = &d;
    d.json = o->json;
    if (cli_read_tolerance(c, &o->allowed, t))
        return CLI_USAGE;
    if (d.snr && (d.graph || t->given))
        return cli_usage(
            c, "--snr does not go with --graph, --rtol, --atol and --rmax");
    if (o->min_snr && !cli_read_decibels(o->min_snr, &d.min_snr))
        return cli_usage(c, "--min-snr takes a number of decibels");
    if (d.json && d.graph)
        return cli_usage(c, "--graph prints lines, not json");
    if (cli_check_optimizing(c, &o->how))
        return CLI_USAGE;
    t->given = t->given || d.snr;
    if (o->cpu_b || o->threads_b) {
        int status = cli_second_context(c, &second, "cpu-b", o->cpu_b,
                                        o->threads_b, &err);
        if (status) {
            cfx_context_free(second);
            return status;
        }
        d.b.c.ctx = second;
    }
    if (o->weights_b)
        d.b.c.g.weights = o->weights_b;
    name_sides(&d, o);
    int status = run_diff(&d, o);
    cfx_context_free(second);
    return status;
}

const cli_command cli_command_diff = {
    .name = "diff",
    .args = "A [B]",
    .summary = "Find the first node where two models differ",
    .details =
        "Both run on the same inputs, side by side; nodes of the same name, and the outputs, are compared. A node of B that lists others in from_node is compared with the last of them. Without B, the same model runs again with --cpu-b, --threads-b, --weights-b or --optimize. Status 0: all compared values are equal; 1: they differ.",
    .options = options,
    .size = sizeof(struct diff_options),
    .own_output = true,
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
