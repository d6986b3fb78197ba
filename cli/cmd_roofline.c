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
    cli_list inputs, set;
    const char *machine, *format, *by, *columns, *sort, *sweep;
    int depth, top, runs;
    bool measure;
    cli_seed seed;
};

#define AT(member) offsetof(struct roofline_options, member)

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "an input: a type and shape as in f32[N,3,224,224], where N is a symbol, "
     "FILE.npy, FILE.safetensors:KEY, or a number; without NAME= the inputs "
     "are taken in order",
     AT(inputs)},
    {CLI_LIST, 0, "set", "NAME=N",
     "a symbol's value, or its range: N=4, N=2..64; symbols are at least 1",
     AT(set)},
    {CLI_TEXT, 0, "sweep", "NAME=RANGE",
     "a row for each value of a symbol: N=1..64, N=1..64:8 (steps of 8), "
     "N=1..1024*2 (each twice the one before)", AT(sweep)},
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
    {CLI_TEXT, 'f', "format", "FORMAT", "text (default); markdown, csv; json; "
     "html: a page with the roofline drawn; svg: the roofline alone; dot: the "
     "graph for Graphviz, nodes the darker the more time they take; trace: for "
     "Perfetto",
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
    {"json", cfx_roofline_print_json},
    {"html", cfx_roofline_print_html},
    {"svg", cfx_roofline_print_svg},
    {"dot", cfx_roofline_print_dot},
    {"trace", cfx_roofline_print_trace},
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
        .size = sizeof(*v), .depth = o->depth,
        .parts = !o->by && !o->depth && !o->columns && !o->sweep,
        .by = o->sweep ? CFX_BY_POINT
              : o->depth ? CFX_BY_MODULE : CFX_BY_NODE,
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

/* "N=1..64", with ":STEP" or "*FACTOR" behind it. */
static bool read_sweep(const char *text, char *symbol, size_t size,
                       long long range[4])
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    char how = 0, more = 0;

    if (!n || n >= size)
        return false;
    memcpy(symbol, text, n);
    symbol[n] = '\0';
    range[2] = range[3] = 1;
    int got = sscanf(equals + 1, "%lld..%lld%c%lld%c", &range[0], &range[1],
                     &how, &range[2], &more);
    if (got == 4 && how == '*') {
        range[3] = range[2];
        range[2] = 1;
        return range[3] > 1;
    }
    return got == 2 || (got == 4 && how == ':');
}

/* Along symbols, where there are any. */
static cfx_status follow(cfx_roofline *r, const struct roofline_options *o,
                         cfx_error *err)
{
    char symbol[64];
    long long range[4];
    cfx_error why = {0};
    cfx_status rc;

    if (!r->known && r->rates) {
        rc = cfx_roofline_follow(r, NULL, 0, 0, &why);
        if (rc == CFX_EINVAL)
            cfx_message(r->ctx, CFX_NOTE, "%s: --set gives numbers", why.text);
        else if (rc)
            return cfx_fail(err, rc, "%s", why.text);
    }
    if (!o->sweep)
        return CFX_OK;
    if (!read_sweep(o->sweep, symbol, sizeof(symbol), range))
        return cfx_fail(err, CFX_EINVAL, "--sweep %s: should be N=1..64, "
                        "N=1..64:8 or N=1..1024*2", o->sweep);
    rc = cfx_roofline_sweep(r, symbol, range[0], range[1], range[2], range[3],
                            err);
    if (rc)
        cfx_fail_at(err, "--sweep %s", o->sweep);
    return rc;
}

/* Measured on inputs with numbers. */
static cfx_status measure(cfx_roofline *r, cli *c,
                          const struct roofline_options *o, cfx_error *err)
{
    cli_inputs in = {0};
    cfx_status rc;

    if (!r->known)
        return cfx_fail(err, CFX_EINVAL, "--measure needs extents that are "
                        "numbers (--set gives them)");
    rc = cli_inputs_make(&in, c, r->gm, &o->inputs, o->seed.value, err);
    if (!rc)
        rc = cfx_roofline_measure(r, in.value, in.n, o->runs, NULL, NULL, err);
    cli_inputs_release(&in);
    return rc;
}

static cfx_status analyse(cfx_roofline **out, cli *c,
                          const struct roofline_options *o, cli_symbols *s,
                          cfx_module *gm, const cfx_machine *machine,
                          cfx_error *err)
{
    cfx_roofline_options how = {.size = sizeof(how), .machine = machine,
                                .env = s->env};
    cli_inputs in = {0};
    cfx_status rc = cli_shapes_make(&in, c, gm, &o->inputs, s, err);

    if (!rc)
        rc = cfx_roofline_new(out, gm, in.value, in.n, &how, err);
    cli_inputs_release(&in);
    if (!rc)
        rc = follow(*out, o, err);
    return rc || !o->measure ? rc : measure(*out, c, o, err);
}

static cfx_status report(cli *c, const struct roofline_options *o,
                         const struct format *format,
                         const cfx_roofline_view *view, cfx_module *gm,
                         const cfx_machine *machine, cfx_error *err)
{
    cfx_roofline *r = NULL;
    cli_symbols symbols;
    cfx_status rc = cli_symbols_make(&symbols, c->ctx, &o->set, err);

    if (!rc)
        rc = analyse(&r, c, o, &symbols, gm, machine, err);
    if (rc)
        cfx_fail_at(err, "%s", view->model);
    else
        rc = format->print(cfx_sink_file(c->out), r, view, err);
    cfx_roofline_free(r);
    cli_symbols_release(&symbols);
    return rc == CFX_EIO ? CFX_OK : rc;
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
