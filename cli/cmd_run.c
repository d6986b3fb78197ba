/*
 * cfx run -- run a model on inputs.
 */
#include <cfx/check_finite.h>
#include <cfx/memory_plan.h>
#include <cfx/ops.h>
#include <cfx/schedule.h>
#include <cfx/trace.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "comm.h"
#include "expect.h"
#include "output.h"
#include "progress.h"
#include "rewrite.h"
#include "shards.h"

struct run_options {
    cli_list inputs, saves, axes;
    const char *directory, *labels, *expect, *shard, *parallel;
    cli_tolerance_options allowed;
    int top, repeat, warmup, batch;
    cli_seed seed;
    bool json, softmax, trace, check_finite, arena, strict_devices;
    cli_optimizing how;
    cli_comm_options comm;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "set an input: FILE.npy, FILE.safetensors:KEY, FILE.bin:f32[2,3], a type and shape as in f32[1,3,224,224] (filled from a seed), or a number; values without NAME= are assigned in order",
     offsetof(struct run_options, inputs)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     offsetof(struct run_options, seed)},
    {CLI_TEXT, 'O', "output-dir", "DIR",
     "write each result to DIR/NAME.npy, by the names that cfx info shows, instead of printing it",
     offsetof(struct run_options, directory)},
    {CLI_LIST, 0, "save", "NODE=FILE",
     "write the value of a node to a file; its suffix selects the format",
     offsetof(struct run_options, saves)},
    {CLI_COUNT, 0, "top", "K",
     "print index and value of the K largest elements of each row",
     offsetof(struct run_options, top)},
    {CLI_TEXT, 0, "labels", "FILE",
     "with --top: print the label of each index, a line of FILE",
     offsetof(struct run_options, labels)},
    {CLI_FLAG, 0, "softmax", NULL,
     "take the softmax of each row of floating-point results",
     offsetof(struct run_options, softmax)},
    {CLI_JSON, 'f', "format", "FORMAT", "text (default) or json",
     offsetof(struct run_options, json)},
    {CLI_TEXT, 0, "expect", "FILE",
     "compare the results with those of FILE, or of a folder that -O wrote, instead of printing them; status 1 if they differ",
     offsetof(struct run_options, expect)},
    CLI_TOLERANCE_OPTIONS(struct run_options, allowed, "FILE"),
    {CLI_FLAG, 0, "trace", NULL,
     "print each node as it runs on stderr: its value's type and its time",
     offsetof(struct run_options, trace)},
    {CLI_FLAG, 0, "check-finite", NULL,
     "fail at the first node whose value contains a NaN or an infinity",
     offsetof(struct run_options, check_finite)},
    {CLI_FLAG, 0, "optimize", NULL,
     "optimize the model for these inputs before it runs (see cfx optimize)",
     offsetof(struct run_options, how.optimize)},
    {CLI_FLAG, 0, "bfloat16", NULL, "with --optimize: " CLI_BFLOAT16_HELP,
     offsetof(struct run_options, how.bfloat16)},
    {CLI_FLAG, 0, "int8-weights", NULL, "with --optimize: " CLI_INT8_HELP,
     offsetof(struct run_options, how.int8_weights)},
    {CLI_FLAG, 0, "arena", NULL,
     "allocate all values in one block of memory, at their planned places (see cfx shapes --memory)",
     offsetof(struct run_options, arena)},
    {CLI_FLAG, 0, "strict-devices", NULL,
     "refuse a graph that uses another device than the CPU",
     offsetof(struct run_options, strict_devices)},
    {CLI_COUNT, 0, "batch", "N",
     "run N rows of the inputs at a time, and write each row of the results to DIR as it is computed; run again after it was ended, go on",
     offsetof(struct run_options, batch)},
    {CLI_TEXT, 0, "shard", "I/N",
     "run the I-th of N parts of the batches, from 1 on; whoever ends last completes DIR",
     offsetof(struct run_options, shard)},
    {CLI_TEXT, 0, "parallel", "data=N",
     "with --comm: each of the N ranks runs its part of the batches, as with --shard",
     offsetof(struct run_options, parallel)},
    {CLI_LIST, 0, "batch-axis", "NAME=AXIS",
     "with --batch: an input's axis of rows, if it is not the first one or that of the batch's symbol",
     offsetof(struct run_options, axes)},
    {CLI_COUNT, 0, "repeat", "N",
     "run N times, and print the fastest and the median time, the 90th and the 99th percentile, and items per second: the first extent of the first tensor, divided by the median time",
     offsetof(struct run_options, repeat)},
    {CLI_COUNT, 0, "warmup", "N",
     "with --repeat: run N times before (default: 1)",
     offsetof(struct run_options, warmup)},
    CLI_COMM_OPTIONS(struct run_options, comm),
    {0},
};

/* ---- Saving node values ---- */

struct save {
    const cfx_node *node;
    const char *path;
};

/* The interpreter of this command: a selected class below a hook that saves. */
struct walk {
    union {
        cfx_interp base;
        cfx_trace trace;
        cfx_check_finite check;
    } u;
    cfx_interp_class saving; /* its super is the selected class */
    struct save *save;
    int nsaves;
    cfx_context *ctx; /* the user's; the scope's context may have an arena */
    cfx_memory_plan *plan; /* of --arena */
    cfx_planned_scope scope;
    cli_progress *progress; /* NULL: not shown */
};

static struct walk *downcast(cfx_interp *it)
{
    return (struct walk *)(void *)it;
}

/* Values are written at once: a later node may write to the same memory. */
static cfx_status save_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    struct walk *w = downcast(it);
    cfx_status st = CFX_SUPER(&w->saving, run_node)(it, n, out);

    for (int i = 0; i < w->nsaves && !st; i++) {
        if (w->save[i].node == n)
            st = cli_write_value(w->save[i].path, n->name, w->ctx, *out,
                                 it->err);
    }
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

/* A node by its name, or by that of the output that it is. */
struct named_node {
    const char *name;
    const cfx_node *node;
};

static cfx_status find_output(void *user, const char *name, cfx_value v,
                              cfx_error *err)
{
    struct named_node *n = user;

    (void)err;
    if (v.kind == CFX_NODE && !strcmp(name, n->name))
        n->node = v.u.node;
    return CFX_OK;
}

static cfx_status find_named(const cfx_node **out, const cfx_module *gm,
                             const char *name, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    const cfx_node *output = cfx_graph_output_node(g);
    struct named_node n = {name, cfx_graph_find(g, name)};
    cfx_status st = CFX_OK;

    if (!n.node && output && output->nargs) {
        const cli_result r = {output->args[0], cli_output_names(gm)};
        st = cli_visit_result(&r, find_output, &n, err);
    }
    *out = n.node;
    return st || n.node
               ? st
               : cfx_fail(err, CFX_ENAME, "there is no node '%s'", name);
}

static cfx_status find_saves(struct walk *w, const cfx_module *gm,
                             const cli_list *texts, cfx_error *err)
{
    w->save = calloc((size_t)texts->n + 1, sizeof(*w->save));
    if (!w->save)
        return cfx_no_memory(err);
    for (int i = 0; i < texts->n; i++) {
        char name[256];
        const char *text = texts->item[i], *equals = strchr(text, '=');
        int n = equals ? (int)(equals - text) : -1;
        if (n <= 0 || n >= (int)sizeof(name) || !equals[1])
            return cfx_fail(err, CFX_EINVAL, "--save %s: should be NODE=FILE",
                            text);
        memcpy(name, text, (size_t)n);
        name[n] = '\0';
        const cfx_node *node;
        cfx_status st = find_named(&node, gm, name, err);
        if (st) {
            cfx_fail_at(err, "--save %s", text);
            return st;
        }
        w->save[w->nsaves++] = (struct save){node, equals + 1};
    }
    return CFX_OK;
}

/* ---- The walk ---- */

/* If planning fails, the run goes without an arena; if the inputs are wrong,
 * the run itself reports it. */
static cfx_scope *open_arena(struct walk *w, cfx_module *gm,
                             const cli_inputs *in)
{
    cfx_error why = {0};
    cfx_status st = cfx_memory_plan_new(&w->plan, gm, in->value, in->n, NULL,
                                        &why);

    if (!st)
        st = cfx_planned_scope_init(&w->scope, w->plan, &why);
    if (!st)
        return &w->scope.base;
    cfx_message(w->ctx, CFX_NOTE, "--arena: no plan: %s", why.text);
    return NULL;
}

/* The class is built at run time, since its super is selected by options. */
static cfx_status walk_init(struct walk *w, cfx_module *gm,
                            const cli_inputs *in, const struct run_options *o,
                            cfx_error *err)
{
    cfx_interp_options how = {
        .size = sizeof(how),
        .progress = w->progress ? cli_progress_report : NULL,
        .progress_user = w->progress,
    };

    w->saving = (cfx_interp_class){
        .size = sizeof(w->saving),
        .name = "save",
        .super = o->trace          ? &cfx_trace_class
                 : o->check_finite ? &cfx_check_finite_class
                                   : &cfx_interp_base,
        .run_node = o->saves.n ? save_run_node : NULL,
    };
    if (o->trace)
        w->u.trace.to = stderr;
    if (o->arena)
        how.scope = open_arena(w, gm, in);
    cfx_status st = cfx_interp_init_with(&w->u.base, &w->saving, gm, &how,
                                         err);
    return st ? st : find_saves(w, gm, &o->saves, err);
}

static void walk_release(struct walk *w)
{
    cfx_interp_release(&w->u.base);
    cfx_planned_scope_release(&w->scope);
    cfx_memory_plan_free(w->plan);
    free(w->save);
}

/* Report requests that the plan did not have. */
static void report_misses(const struct walk *w, cfx_context *ctx)
{
    cfx_planned_counts n = cfx_planned_scope_counts(&w->scope);

    if (n.missed)
        cfx_message(
            ctx, CFX_NOTE,
            "--arena: %llu of %llu blocks (%llu bytes) are not in the arena",
            (unsigned long long)n.missed,
            (unsigned long long)(n.placed + n.missed),
            (unsigned long long)n.missed_bytes);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Copy a tensor with its type, shape and strides. */
static cfx_status copy_tensor(cfx_value *out, const cfx_tensor *t,
                              cfx_error *err)
{
    cfx_tensor *copy;
    cfx_status st = cfx_tensor_meta(&copy, t->ctx, (cfx_dtype)t->dtype,
                                    t->rank, t->shape, t->stride, err);

    if (st)
        return st;
    st = cfx_tensor_alloc(copy, err);
    if (!st)
        st = cfx_tensor_copy(copy, t, err);
    if (st)
        cfx_tensor_unref(copy);
    else
        *out = cfx_value_of_tensor(copy);
    return st;
}

static cfx_status copy_inputs(cli_inputs *out, const cli_inputs *in,
                              cfx_error *err)
{
    *out = (cli_inputs){0};
    out->value = calloc(in->n + 1, sizeof(*out->value));
    if (!out->value)
        return cfx_no_memory(err);
    for (; out->n < in->n; out->n++) {
        cfx_value v = in->value[out->n];
        cfx_status st = CFX_OK;
        if (v.kind == CFX_TENSOR)
            st = copy_tensor(&out->value[out->n], v.u.tensor, err);
        else
            out->value[out->n] = cfx_value_ref(v);
        if (st)
            return st;
    }
    return CFX_OK;
}

/* Time one run on copies of the inputs, since a model may write to them. */
static cfx_status run_once(struct walk *w, const cli_inputs *in,
                           cfx_value *result, double *seconds, cfx_error *err)
{
    cli_inputs own;
    cfx_status st = copy_inputs(&own, in, err);

    *result = CFX_NOTHING;
    if (!st) {
        double start = now();
        st = cfx_interp_run(&w->u.base, own.value, own.n, result, err);
        *seconds = now() - start;
    }
    cli_inputs_release(&own);
    return st;
}

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Make room for the time of run i. The array grows with the runs, since with
 * --repeat 1000000000 most are never made. */
static cfx_status make_room(double **seconds, int i, cfx_error *err)
{
    if (i & (i - 1)) /* full at 0 and at powers of two */
        return CFX_OK;
    double *p = realloc(*seconds, (i ? 2 * (size_t)i : 1) * sizeof(*p));
    if (!p)
        return cfx_no_memory(err);
    *seconds = p;
    return CFX_OK;
}

/* The time in which a share of the sorted runs ended. */
static double percentile(const double *seconds, int n, double share)
{
    int i = (int)ceil(share * n) - 1;

    return seconds[i < 0 ? 0 : i];
}

/* The first extent of the first tensor; 0 if there is none. */
static int64_t batch_of(const cli_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        if (in->value[i].kind == CFX_TENSOR && in->value[i].u.tensor->rank)
            return cfx_tensor_size(in->value[i].u.tensor, 0);
    return 0;
}

/* Run o->repeat times, or once, after the runs of the warm-up. The times are
 * those of repeated runs only. */
static cfx_status run_often(struct walk *w, const cli_inputs *in,
                            const struct run_options *o, cfx_value *result,
                            cli_times *times, cfx_error *err)
{
    const int n = o->repeat ? o->repeat : 1;
    const int before = n == 1 ? 0 : o->warmup ? o->warmup : 1;
    double *seconds = NULL, unused;
    cfx_status st = CFX_OK;

    for (int i = -before; i < n && !st; i++) {
        cfx_value_unref(*result);
        *result = CFX_NOTHING;
        if (i < 0 || !(st = make_room(&seconds, i, err)))
            st = run_once(w, in, result, i < 0 ? &unused : &seconds[i], err);
    }
    if (!st && n > 1) {
        qsort(seconds, (size_t)n, sizeof(*seconds), by_time);
        *times = (cli_times){n,
                             before,
                             seconds[0],
                             seconds[n / 2],
                             percentile(seconds, n, 0.9),
                             percentile(seconds, n, 0.99),
                             batch_of(in)};
    }
    free(seconds);
    return st;
}

/* On the standard output, also where -o takes the results. */
static void print_times(const cli_times *t)
{
    printf(
        "%d runs: fastest %.3f ms, median %.3f ms, 90 %% in %.3f ms, 99 %% in %.3f ms",
        t->runs, 1e3 * t->fastest, 1e3 * t->median, 1e3 * t->p90,
        1e3 * t->p99);
    if (t->batch)
        printf(", %.1f items/s in batches of %lld",
               (double)t->batch / t->median, (long long)t->batch);
    putchar('\n');
}

/* ---- The command ---- */

/* The softmax of each row; what has none stays as it is. */
static cfx_status softmax_of(void *user, cfx_value v, cfx_value *out)
{
    cfx_scope *s = user;

    if (v.kind != CFX_TENSOR || !v.u.tensor->rank ||
        !cfx_dtype_is_float((cfx_dtype)v.u.tensor->dtype)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    *out = cfx_keep(cfx_softmax(s, v, .dim = cfx_int(-1)));
    return cfx_scope_status(s, NULL);
}

static cfx_status make_softmax(cfx_value *result, cfx_context *ctx,
                               cfx_error *err)
{
    cfx_scope s;
    cfx_value out = CFX_NOTHING;

    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    cfx_status st = cfx_value_map(&out, ctx, *result, softmax_of, &s, err);
    if (st)
        cfx_scope_status(&s, err);
    cfx_scope_release(&s);
    if (!st) {
        cfx_value_unref(*result);
        *result = out;
    }
    return st;
}

static cfx_status print_result(cli *c, const struct run_options *o,
                               const cli_result *result,
                               const cli_times *times, cfx_error *err)
{
    cli_printing p = {.to = c->out, .ctx = c->ctx, .top = o->top};
    cfx_status st = CFX_OK;

    if (o->labels)
        st = cli_labels_read(&p.labels, o->labels, err);
    if (!st)
        st = o->json ? cli_print_json(&p, result, times, err)
                     : cli_print_result(&p, result, err);
    cli_labels_release(&p.labels);
    return st;
}

/* Write, compare or print the result. */
static cfx_status finish(cli *c, const struct run_options *o,
                         cli_result *result, const cli_times *times,
                         cfx_error *err)
{
    cfx_tolerance allowed = {0};
    cfx_status st = CFX_OK;

    if (times->runs && !o->json)
        print_times(times);
    cli_read_tolerance(c, &o->allowed, &allowed);
    if (o->softmax)
        st = make_softmax(&result->value, c->ctx, err);
    if (!st && o->directory)
        st = cli_write_result(o->directory, c->ctx, result, err);
    if (!st && ((!o->directory && !o->expect) || o->json))
        st = print_result(c, o, result, times, err);
    if (!st && o->expect)
        st = cli_expect(o->json ? NULL : c->out, c->ctx, result, o->expect,
                        &allowed, err);
    return st;
}

/* All ranks agree what they will exchange. If they do not, all have the same
 * error: rank 0 prints it and ends the job, the others wait for that end. */
static cfx_status agree(cli *c, cfx_module *gm, const cli_inputs *in,
                        cfx_error *err)
{
    cfx_status st = cfx_schedule_agree(gm, in->value, in->n, err);

    c->silent = st == CFX_EGRAPH && cli_comm_rank(c);
    for (int i = 0; c->silent && i < 50 && !cli_signalled(); i++)
        usleep(100000);
    return st;
}

static cfx_status run_model(cli *c, const struct run_options *o,
                            cfx_module *gm, const char *path, cfx_error *err)
{
    struct walk w = {.ctx = c->ctx};
    cli_inputs in = {0};
    cli_times times = {0};
    cli_result result = {.value = CFX_NOTHING};

    cfx_status st = cli_inputs_make(&in, c, gm, c->model, &o->inputs,
                                    o->seed.value, err);
    if (!st && o->how.optimize)
        st = cli_optimize(gm, &in, &o->how, NULL, NULL, err);
    if (!st)
        st = agree(c, gm, &in, err);
    if (st) {
        cfx_fail_at(err, "%s", path);
        cli_inputs_release(&in);
        return st;
    }
    w.progress = o->trace ? NULL : cli_progress_begin("running");
    st = walk_init(&w, gm, &in, o, err);
    if (!st)
        st = run_often(&w, &in, o, &result.value, &times, err);
    cli_progress_end(w.progress); /* both may use the same terminal */
    report_misses(&w, c->ctx);
    result.names = cli_output_names(gm);
    if (st)
        cli_fail_model(c, err, path, true);
    else if ((st = finish(c, o, &result, &times, err)) && o->expect)
        cfx_fail_at(err, "%s", path);
    cfx_value_unref(result.value);
    walk_release(&w);
    cli_inputs_release(&in);
    return st;
}

/* ---- Rows in batches ---- */

/* N of "data=N"; 0 if the text is something else. */
static int data_ranks(const char *text)
{
    int n = 0, end = -1;

    return sscanf(text, "data=%9d%n", &n, &end) == 1 && end > 0 &&
                   !text[end] && n > 0
               ? n
               : 0;
}

static bool runs_rows(const struct run_options *o)
{
    return o->batch || o->shard || o->parallel;
}

/* The part of this process: of --shard, its rank, or all. */
static cfx_status find_shard(cli_shard *out, const cli *c,
                             const struct run_options *o, cfx_error *err)
{
    const cfx_comm *comm = cfx_context_comm(c->ctx);

    *out = (cli_shard){0, 1};
    if (o->shard)
        cli_shard_parse(out, o->shard);
    else if (o->parallel && comm)
        *out = (cli_shard){comm->rank, comm->size};
    if (!o->parallel || out->count == data_ranks(o->parallel))
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL, "--parallel %s: the job has %d ranks",
                    o->parallel, out->count);
}

/* A run of one batch. */
struct batch_run {
    struct walk *w;
    bool softmax; /* of each row of the results */
};

static cfx_status run_batch(void *user, const cli_inputs *in,
                            cfx_value *result, cfx_error *err)
{
    const struct batch_run *b = user;
    double unused;
    cfx_status st = run_once(b->w, in, result, &unused, err);

    return !st && b->softmax ? make_softmax(result, b->w->ctx, err) : st;
}

/* The options on which results depend. */
static cfx_status sum_of(uint64_t *out, const cli *c, const cfx_module *gm,
                         const struct run_options *o, cfx_error *err)
{
    char text[128];

    snprintf(text, sizeof(text), "%d %d %d %d %s", o->how.optimize,
             o->how.bfloat16, o->how.int8_weights, o->softmax,
             cfx_cpu_name(cfx_context_cpu(c->ctx)));
    return cli_model_sum(out, gm, text, err);
}

static cfx_status run_rows_of(cli *c, const struct run_options *o,
                              cfx_module *gm, cli_batches *rows,
                              cfx_error *err)
{
    struct walk w = {.ctx = c->ctx};
    struct batch_run batch = {.w = &w, .softmax = o->softmax};
    cli_rows_run r = {
        .ctx = c->ctx,
        .dir = o->directory,
        .rows = rows,
        .gm = gm,
        .run = run_batch,
        .user = &batch,
        .to = o->shard ? c->out : NULL,
    };
    cfx_status st = sum_of(&r.model, c, gm, o, err);

    if (!st)
        st = find_shard(&r.shard, c, o, err);
    if (!st && rows->rows > 0)
        st = cli_batches_take(rows, 0, rows->batch, err);
    if (!st && o->how.optimize && rows->rows > 0)
        st = cli_optimize(gm, &rows->one, &o->how, NULL, NULL, err);
    r.names = cli_output_names(gm);
    if (!st)
        st = walk_init(&w, gm, &rows->one, o, err);
    if (!st)
        st = cli_run_rows(&r, err);
    report_misses(&w, c->ctx);
    walk_release(&w);
    return st;
}

static cfx_status run_rows(cli *c, const struct run_options *o, cfx_module *gm,
                           const char *path, cfx_error *err)
{
    const cli_batching how = {.data = &o->inputs,
                              .samples = c->model,
                              .seed = o->seed.value,
                              .axes = &o->axes,
                              .batch = o->batch};
    cli_batches rows = {0};
    cfx_status st = cli_batches_make(&rows, c, gm, &how, err);

    if (!st)
        st = run_rows_of(c, o, gm, &rows, err);
    if (st)
        cli_fail_model(c, err, path, true);
    cli_batches_release(&rows);
    return st;
}

/* The formats of inputs, weights and --save. */
static void describe(FILE *to)
{
    const cfx_tensor_format *f;

    fputs("\nFormats of tensors:\n", to);
    for (size_t i = 0; (f = cfx_tensor_format_at(i)); i++) {
        char doc[256];
        snprintf(doc, sizeof(doc), "%s%s", f->base.doc,
                 f->write ? "" : " Read-only.");
        cli_describe_row(to, f->base.suffix, doc);
    }
}

/* Refuse options that would be ignored. */
static int check_printing(const cli *c, const struct run_options *o)
{
    cfx_tolerance unused = {0};

    if (o->labels && !o->top)
        return cli_usage(c, "--labels goes with --top");
    if (o->warmup && o->repeat < 2)
        return cli_usage(c, "--warmup goes with --repeat");
    if (cli_read_tolerance(c, &o->allowed, &unused))
        return CLI_USAGE;
    if (unused.given && !o->expect)
        return cli_usage(c, "--rtol, --atol and --rmax go with --expect");
    return CLI_OK;
}

/* Refuse options that rows in batches do not have. */
static int check_batches(const cli *c, const struct run_options *o)
{
    cli_shard unused;

    if (!runs_rows(o))
        return o->axes.n ? cli_usage(c, "--batch-axis goes with --batch")
                         : CLI_OK;
    if (!o->directory)
        return cli_usage(
            c, "--batch, --shard and --parallel need -O DIR, for the results");
    if (o->shard && !cli_shard_parse(&unused, o->shard))
        return cli_usage(c, "--shard %s: should be I/N, with I from 1 to N",
                         o->shard);
    if (o->parallel && !data_ranks(o->parallel))
        return cli_usage(c, "--parallel %s: should be data=N", o->parallel);
    if (!!o->parallel != !!o->comm.name || (o->parallel && o->shard))
        return cli_usage(
            c,
            "batches are shared among ranks with --comm and --parallel, or by --shard without both");
    if (o->saves.n || o->top || o->json || o->expect || o->repeat)
        return cli_usage(
            c,
            "--batch excludes --save, --top, --format, --expect and --repeat");
    return CLI_OK;
}

/* Put the rank in place of {rank} in names of files. Ranks other than 0 write
 * only what has their rank in its name. */
static cfx_status name_files(struct run_options *o, cli *c, cfx_error *err)
{
    const bool all = !cli_comm_rank(c);
    int n = 0;

    if (o->directory && !all && !o->parallel &&
        !strstr(o->directory, "{rank}"))
        o->directory = NULL;
    cfx_status st = cli_comm_list(c, &o->inputs, err);
    if (!st)
        st = cli_comm_text(c, &o->directory, err);
    for (int i = 0; i < o->saves.n; i++)
        if (all || strstr(o->saves.item[i], "{rank}"))
            o->saves.item[n++] = o->saves.item[i];
    o->saves.n = n;
    return st ? st : cli_comm_list(c, &o->saves, err);
}

static cfx_status run_rank(cli *c, struct run_options *o, const char *path,
                           cfx_error *err)
{
    cfx_module *gm = NULL;
    cfx_status st = cli_comm_open(c, &o->comm, err);

    if (!st && o->comm.name)
        st = name_files(o, c, err);
    if (!st && o->comm.name)
        st = cli_comm_text(c, &path, err);
    if (!st)
        st = cli_load_for(c, &gm, path, &o->inputs, true, o->seed.value, err);
    if (!st)
        st = runs_rows(o) ? run_rows(c, o, gm, path, err)
                          : run_model(c, o, gm, path, err);
    cfx_module_unref(gm);
    return st;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    struct run_options own = *(const struct run_options *)opts, *o = &own;
    cfx_error err = {0};

    (void)nargs;
    if (o->trace && o->check_finite)
        return cli_usage(c, "--trace and --check-finite exclude each other");
    if (cli_check_optimizing(c, &o->how) || check_printing(c, o) ||
        check_batches(c, o))
        return CLI_USAGE;
    cfx_context_set_strict_devices(c->ctx, o->strict_devices);
    if (!o->comm.name && (o->comm.groups.n || o->comm.timeout > 0))
        return cli_usage(c, "--group and --comm-timeout go with --comm");
    cfx_status st = run_rank(c, o, args[0], &err);
    return !st ? CLI_OK : c->silent ? CLI_FAILED : cli_fail(&err);
}

const cli_command cli_command_run = {
    .name = "run",
    .args = "MODEL",
    .summary = "Run a model on inputs",
    .details =
        "Each output is printed with its type and shape. Weights are in the model's file, in MODEL.safetensors beside it or in -w FILE, or generated by --random-weights SEED. Without -i the sample inputs of a .pt2 file are used.",
    .describe = describe,
    .options = options,
    .size = sizeof(struct run_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
