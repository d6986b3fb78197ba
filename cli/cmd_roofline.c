/*
 * cfx roofline -- where a model's time must go, and where it goes.
 */
#include <cfx/roofline.h>

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

struct roofline_options {
    cli_list inputs;
    const char *machine, *format, *by, *columns, *sort;
    int depth, top, runs;
    bool measure;
    cli_seed seed;
};

#define AT(member) offsetof(struct roofline_options, member)

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "an input: a type and shape as in f32[1,3,224,224], FILE.npy, "
     "FILE.safetensors:KEY, or a number; without NAME= the inputs are taken "
     "in order",
     AT(inputs)},
    {CLI_TEXT, 0, "machine", "FILE",
     "the machine that floors are for: a file that cfx machine wrote, or the "
     "name of one that comes with cfx (default: this one, measured once)",
     AT(machine)},
    {CLI_FLAG, 0, "measure", NULL, "run the model, too, and tell the times",
     AT(measure)},
    {CLI_COUNT, 0, "runs", "N",
     "measure N runs (default: as many as fit into a second, at least 5)",
     AT(runs)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     AT(seed)},
    {CLI_TEXT, 0, "by", "WHAT", "a row for each node (default), module, "
     "operator or bound", AT(by)},
    {CLI_COUNT, 0, "depth", "N",
     "a row for each module, no deeper than N in the tree", AT(depth)},
    {CLI_TEXT, 0, "sort", "COLUMN", "the largest first", AT(sort)},
    {CLI_COUNT, 0, "top", "N", "no more than N rows", AT(top)},
    {CLI_TEXT, 0, "columns", "NAME,...",
     "what is told of each: name, op, target, module, type, nodes, shape, "
     "dtype, macs, flops, ops, transcendental, read, written, bytes, "
     "parameters, weights, intensity, ridge, bound, level, algorithm, floor, "
     "seconds, gflops, bandwidth, efficiency, share, live",
     AT(columns)},
    {CLI_TEXT, 'f', "format", "FORMAT", "text (default), markdown or csv",
     AT(format)},
    {0},
};

/* ---- Formats ---- */

typedef cfx_status format_fn(cfx_sink to, const cfx_roofline *r,
                             const cfx_roofline_view *view, cfx_error *err);

static const struct format {
    const char *name;
    format_fn *print;
} formats[] = {
    {"text", cfx_roofline_print},
    {"markdown", cfx_roofline_print_markdown},
    {"csv", cfx_roofline_print_csv},
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (!strcmp(formats[i].name, name ? name : "text"))
            return &formats[i];
    }
    return NULL;
}

/* ---- What is shown ---- */

static int terminal_width(FILE *to)
{
    struct winsize w;

    if (!isatty(fileno(to)) || ioctl(fileno(to), TIOCGWINSZ, &w))
        return 0;
    return w.ws_col;
}

static bool make_view(cfx_roofline_view *v, const cli *c,
                      const struct roofline_options *o, const char *model)
{
    static const char *const names[] = {"node", "module", "operator", "bound"};

    *v = (cfx_roofline_view){
        .size = sizeof(*v), .parts = !o->by && !o->depth && !o->columns,
        .by = o->depth ? CFX_BY_MODULE : CFX_BY_NODE, .depth = o->depth,
        .columns = o->columns, .sort = o->sort, .top = (size_t)o->top,
        .width = terminal_width(c->out), .model = model};
    for (int i = 0; o->by && i < 4; i++) {
        if (!strcmp(o->by, names[i])) {
            v->by = (cfx_roofline_by)i;
            return true;
        }
    }
    return !o->by;
}

/* ---- The command ---- */

static cfx_status find_machine(cfx_machine **out, cli *c, const char *name,
                               cfx_error *err)
{
    return name ? cfx_machine_find(out, c->ctx, name, err)
                : cfx_fail(err, CFX_EINVAL, "no machine (--machine FILE)");
}

static cfx_status report(cli *c, const struct roofline_options *o,
                         const struct format *format,
                         const cfx_roofline_view *view, cfx_module *gm,
                         const cfx_machine *machine, cfx_error *err)
{
    cfx_roofline_options how = {.size = sizeof(how), .machine = machine};
    cfx_roofline *r = NULL;
    cli_inputs in = {0};
    cfx_status rc = cli_inputs_make(&in, c, gm, &o->inputs, o->seed.value,
                                    err);

    if (!rc)
        rc = cfx_roofline_new(&r, gm, in.value, in.n, &how, err);
    if (!rc && o->measure)
        rc = cfx_roofline_measure(r, in.value, in.n, o->runs, NULL, NULL, err);
    if (rc)
        cfx_fail_at(err, "%s", view->model);
    else
        rc = format->print(cfx_sink_file(c->out), r, view, err);
    cfx_roofline_free(r);
    cli_inputs_release(&in);
    return rc;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct roofline_options *o = opts;
    const struct format *format = find_format(o->format);
    cfx_error err = {0};
    cfx_module *gm = NULL;
    cfx_machine *machine = NULL;
    cfx_roofline_view view;

    (void)nargs;
    if (!format)
        return cli_usage(c, "'%s' is no FORMAT for --format", o->format);
    if (!make_view(&view, c, o, args[0]))
        return cli_usage(c, "'%s' is no WHAT for --by", o->by);
    cfx_status rc = cli_load(c, &gm, args[0], o->measure, &err);
    if (!rc)
        rc = find_machine(&machine, c, o->machine, &err);
    if (!rc)
        rc = report(c, o, format, &view, gm, machine, &err);
    cfx_machine_free(machine);
    cfx_module_unref(gm);
    return rc ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_roofline = {
    .name = "roofline",
    .args = "MODEL",
    .summary = "Tell where a model's time must go, and where it goes",
    .options = options,
    .size = sizeof(struct roofline_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
