/*
 * cfx run -- run a model on inputs.
 */
#include <cfx/check_finite.h>
#include <cfx/memory_plan.h>
#include <cfx/trace.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "output.h"
#include "progress.h"

struct run_options {
    cli_list inputs, saves;
    const char *directory;
    int top, repeat;
    cli_seed seed;
    bool trace, check_finite, arena, strict_devices;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "an input: FILE.npy, FILE.safetensors:KEY, a type and shape as in "
     "f32[1,3,224,224] (filled from a seed), or a number; without NAME= the "
     "inputs are taken in order",
     offsetof(struct run_options, inputs)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     offsetof(struct run_options, seed)},
    {CLI_TEXT, 'O', "output-dir", "DIR",
     "write the results to DIR/output.npy, or output_0.npy, output_KEY.npy, "
     "... instead of printing them",
     offsetof(struct run_options, directory)},
    {CLI_LIST, 0, "save", "NODE=FILE",
     "write what a node gives to a .npy or .safetensors file",
     offsetof(struct run_options, saves)},
    {CLI_COUNT, 0, "top", "K",
     "print the K largest elements of each row: place and value",
     offsetof(struct run_options, top)},
    {CLI_FLAG, 0, "trace", NULL,
     "print each node as it runs, on stderr: what it gives and its time",
     offsetof(struct run_options, trace)},
    {CLI_FLAG, 0, "check-finite", NULL,
     "fail at the first node that gives a NaN or an infinity",
     offsetof(struct run_options, check_finite)},
    {CLI_FLAG, 0, "arena", NULL,
     "have all values in one block of memory, each at its planned place (see "
     "cfx shapes --memory)",
     offsetof(struct run_options, arena)},
    {CLI_FLAG, 0, "strict-devices", NULL,
     "refuse a graph that asks for another device than the CPU",
     offsetof(struct run_options, strict_devices)},
    {CLI_COUNT, 0, "repeat", "N", "run N times and tell how long it took",
     offsetof(struct run_options, repeat)},
    {0},
};

/* ---- Saving what nodes give ---- */

struct save {
    const cfx_node *node;
    const char *path;
};

/* The interpreter of this command: one of several, below one hook of ours. */
struct walk {
    union {
        cfx_interp base;
        cfx_trace trace;
        cfx_check_finite check;
    } u;
    cfx_interp_class saving; /* its super is the class that was chosen */
    struct save *save;
    int nsaves;
    cfx_context *ctx; /* the user's: that of the scope may have an arena */
    cfx_memory_plan *plan; /* with --arena */
    cfx_planned_scope scope;
    cli_progress *progress; /* NULL: none is shown */
};

static struct walk *downcast(cfx_interp *it)
{
    return (struct walk *)(void *)it;
}

/* Written at once: a later node may write to the same memory. */
static cfx_status save_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    struct walk *w = downcast(it);
    cfx_status rc = CFX_SUPER(&w->saving, run_node)(it, n, out);

    for (int i = 0; i < w->nsaves && !rc; i++) {
        if (w->save[i].node == n)
            rc = cli_write_value(w->save[i].path, n->name, w->ctx,
                                 *out, it->err);
    }
    if (rc) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return rc;
}

static cfx_status find_saves(struct walk *w, const cli_list *texts,
                             cfx_error *err)
{
    w->save = calloc((size_t)texts->n + 1, sizeof(*w->save));
    if (!w->save)
        return cfx_no_memory(err);
    for (int i = 0; i < texts->n; i++) {
        char name[256];
        const char *text = texts->item[i], *equals = strchr(text, '=');
        int n = equals ? (int)(equals - text) : -1;
        if (n <= 0 || n >= (int)sizeof(name) || !equals[1])
            return cfx_fail(err, CFX_EINVAL, "--save %s: is no NODE=FILE",
                            text);
        memcpy(name, text, (size_t)n);
        name[n] = '\0';
        const cfx_node *node = cfx_graph_find(w->u.base.graph, name);
        if (!node)
            return cfx_fail(err, CFX_ENAME, "--save %s: there is no node '%s'",
                            text, name);
        w->save[w->nsaves++] = (struct save){node, equals + 1};
    }
    return CFX_OK;
}

/* ---- The walk ---- */

/* A run that cannot be planned, where its inputs are right, is none the less
 * one: it goes without the arena, and what is wrong with it tells itself. */
static cfx_scope *open_arena(struct walk *w, cfx_module *gm,
                             const cli_inputs *in)
{
    cfx_error why = {0};
    cfx_status rc = cfx_memory_plan_new(&w->plan, gm, in->value, in->n, NULL,
                                        &why);

    if (!rc)
        rc = cfx_planned_scope_init(&w->scope, w->plan, &why);
    if (!rc)
        return &w->scope.base;
    cfx_message(w->ctx, CFX_NOTE, "--arena: no plan: %s", why.text);
    return NULL;
}

/* The class is made here, since its super is the user's choice. */
static cfx_status walk_init(struct walk *w, cfx_module *gm,
                            const cli_inputs *in, const struct run_options *o,
                            cfx_error *err)
{
    cfx_interp_options how = {
        .size = sizeof(how),
        .progress = w->progress ? cli_progress_tell : NULL,
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
    cfx_status rc = cfx_interp_init_with(&w->u.base, &w->saving, gm, &how,
                                         err);
    return rc ? rc : find_saves(w, &o->saves, err);
}

static void walk_release(struct walk *w)
{
    cfx_interp_release(&w->u.base);
    cfx_planned_scope_release(&w->scope);
    cfx_memory_plan_free(w->plan);
    free(w->save);
}

/* What was asked for that the plan does not have. */
static void tell_misses(const struct walk *w, cfx_context *ctx)
{
    cfx_planned_counts n = cfx_planned_scope_counts(&w->scope);

    if (n.missed)
        cfx_message(ctx, CFX_NOTE, "--arena: %llu of %llu blocks (%llu bytes) "
                    "are not in the arena", (unsigned long long)n.missed,
                    (unsigned long long)(n.placed + n.missed),
                    (unsigned long long)n.missed_bytes);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A tensor of the same type, shape and strides with the same numbers. */
static cfx_status copy_tensor(cfx_value *out, const cfx_tensor *t,
                              cfx_error *err)
{
    cfx_tensor *copy;
    cfx_status rc = cfx_tensor_meta(&copy, t->ctx, (cfx_dtype)t->dtype,
                                    t->rank, t->shape, t->stride, err);

    if (rc)
        return rc;
    rc = cfx_tensor_alloc(copy, err);
    if (!rc)
        rc = cfx_tensor_copy(copy, t, err);
    if (rc)
        cfx_tensor_unref(copy);
    else
        *out = cfx_value_of_tensor(copy);
    return rc;
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
        cfx_status rc = CFX_OK;
        if (v.kind == CFX_TENSOR)
            rc = copy_tensor(&out->value[out->n], v.u.tensor, err);
        else
            out->value[out->n] = cfx_value_ref(v);
        if (rc)
            return rc;
    }
    return CFX_OK;
}

/* One timed run on copies of the inputs: a model may write to them. */
static cfx_status run_once(struct walk *w, const cli_inputs *in,
                           cfx_value *result, double *seconds, cfx_error *err)
{
    cli_inputs own;
    cfx_status rc = copy_inputs(&own, in, err);

    *result = CFX_NOTHING;
    if (!rc) {
        double start = now();
        rc = cfx_interp_run(&w->u.base, own.value, own.n, result, err);
        *seconds = now() - start;
    }
    cli_inputs_release(&own);
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Room for the time of run i. It grows with the runs that were made: whoever
 * asks for a billion stops them long before. */
static cfx_status make_room(double **seconds, int i, cfx_error *err)
{
    if (i & (i - 1)) /* it is full at 0 and at powers of two */
        return CFX_OK;
    double *p = realloc(*seconds, (i ? 2 * (size_t)i : 1) * sizeof(*p));
    if (!p)
        return cfx_no_memory(err);
    *seconds = p;
    return CFX_OK;
}

static cfx_status run_often(struct walk *w, const cli_inputs *in, int n,
                            cfx_value *result, FILE *to, cfx_error *err)
{
    double *seconds = NULL;
    cfx_status rc = CFX_OK;

    for (int i = 0; i < n && !rc; i++) {
        cfx_value_unref(*result);
        *result = CFX_NOTHING;
        if (!(rc = make_room(&seconds, i, err)))
            rc = run_once(w, in, result, &seconds[i], err);
    }
    if (!rc && n > 1) {
        qsort(seconds, (size_t)n, sizeof(*seconds), by_time);
        cli_progress_end(w->progress); /* both may be on one terminal */
        w->progress = NULL;
        fprintf(to, "%d runs: fastest %.3f ms, median %.3f ms\n", n,
                1e3 * seconds[0], 1e3 * seconds[n / 2]);
    }
    free(seconds);
    return rc;
}

/* ---- The command ---- */

static cfx_status finish(cli *c, const struct run_options *o, cfx_value result,
                         cfx_error *err)
{
    if (o->directory)
        return cli_write_result(o->directory, c->ctx, result, err);
    return cli_print_result(c->out, c->ctx, result, o->top, err);
}

static cfx_status run_model(cli *c, const struct run_options *o,
                            cfx_module *gm, const char *path, cfx_error *err)
{
    struct walk w = {.ctx = c->ctx};
    cli_inputs in = {0};
    cfx_value result = CFX_NOTHING;

    cfx_status rc = cli_inputs_make(&in, c, gm, &o->inputs, o->seed.value,
                                    err);
    if (rc) {
        cfx_fail_at(err, "%s", path);
        return rc;
    }
    w.progress = o->trace ? NULL : cli_progress_begin("running");
    rc = walk_init(&w, gm, &in, o, err);
    if (!rc)
        rc = run_often(&w, &in, o->repeat ? o->repeat : 1, &result, c->out,
                       err);
    cli_progress_end(w.progress);
    tell_misses(&w, c->ctx);
    if (rc)
        cli_fail_model(c, err, path, true);
    else
        rc = finish(c, o, result, err);
    cfx_value_unref(result);
    walk_release(&w);
    cli_inputs_release(&in);
    return rc;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct run_options *o = opts;
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    if (o->trace && o->check_finite)
        return cli_usage(c, "--trace and --check-finite exclude each other");
    cfx_context_set_strict_devices(c->ctx, o->strict_devices);
    cfx_status rc = cli_load(c, &gm, args[0], true, &err);
    if (!rc)
        rc = run_model(c, o, gm, args[0], &err);
    cfx_module_unref(gm);
    return rc ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_run = {
    .name = "run",
    .args = "MODEL",
    .summary = "Run a model on inputs",
    .details = "Each output is printed with its type and shape. Weights are "
               "taken from MODEL.safetensors beside the model, from -w FILE, "
               "or made from --random-weights SEED.",
    .options = options,
    .size = sizeof(struct run_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
