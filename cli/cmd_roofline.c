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
    const char *machine, *format, *by, *columns, *sort, *sweep, *against;
    const char *most_flops, *most_memory, *most_seconds;
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
    {CLI_TEXT, 'm', "machine", "FILE",
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
     "seconds, gflops, bandwidth, efficiency, share, computing, live",
     AT(columns)},
    {CLI_TEXT, 0, "against", "OTHER",
     "tell what changed against another report (the JSON of an earlier one), "
     "another model, or the same model on another machine",
     AT(against)},
    {CLI_TEXT, 0, "assert-flops", "N",
     "fail if the FLOPs are more: 8.3G", AT(most_flops)},
    {CLI_TEXT, 0, "assert-peak-memory", "N",
     "fail if more bytes live at once: 64M", AT(most_memory)},
    {CLI_TEXT, 0, "assert-seconds", "S",
     "fail if it takes longer: with --measure the median of the runs, else "
     "the floor", AT(most_seconds)},
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
    cfx_roofline_format compared; /* which --against prints */
    bool only_one;                /* it has none of those */
} formats[] = {
    {"text", cfx_roofline_print, CFX_ROOFLINE_TEXT, false},
    {"markdown", cfx_roofline_print_markdown, CFX_ROOFLINE_MARKDOWN, false},
    {"csv", cfx_roofline_print_csv, CFX_ROOFLINE_CSV, false},
    {"json", cfx_roofline_print_json, CFX_ROOFLINE_JSON, false},
    {"html", cfx_roofline_print_html, CFX_ROOFLINE_TEXT, true},
    {"svg", cfx_roofline_print_svg, CFX_ROOFLINE_TEXT, true},
    {"dot", cfx_roofline_print_dot, CFX_ROOFLINE_TEXT, true},
    {"trace", cfx_roofline_print_trace, CFX_ROOFLINE_TEXT, true},
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

/* ---- Reports ---- */

static cfx_status find_machine(cfx_machine **out, cli *c, const char *name,
                               cfx_error *err)
{
    return name ? cfx_machine_find(out, c->ctx, name, err)
                : cfx_machine_cached(out, c->ctx, false, 0, err);
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

/* On a terminal only. */
static void show_progress(void *user, size_t done, size_t total)
{
    (void)user;
    if (done < total)
        fprintf(stderr, "\rmeasuring: %zu of %zu ", done, total);
    else
        fprintf(stderr, "\r%*s\r", 40, "");
}

/* ---- Inputs with numbers ---- */

struct filling {
    const cli *c;
    const char *name;
    uint64_t seed;
    cfx_error *err;
};

static cfx_status needs_numbers(const struct filling *f)
{
    return cfx_fail(f->err, CFX_EINVAL, "input %s: --measure needs extents "
                    "that are numbers (--set gives them)", f->name);
}

/* A tensor for a meta, filled as cfx run fills it. */
static cfx_status fill_value(void *user, cfx_value v, cfx_value *out)
{
    const struct filling *f = user;
    int64_t shape[CFX_MAX_RANK];
    cfx_tensor *t;

    *out = CFX_NOTHING;
    if (v.kind == CFX_SYMINT)
        return needs_numbers(f);
    if (v.kind != CFX_TENSOR || !cfx_tensor_is_meta(v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    for (int i = 0; i < v.u.tensor->rank; i++) {
        if (!cfx_dim_is_int(v.u.tensor->shape[i]))
            return needs_numbers(f);
        shape[i] = cfx_tensor_size(v.u.tensor, i);
    }
    cfx_status rc = cfx_tensor_new(&t, f->c->ctx,
                                   (cfx_dtype)v.u.tensor->dtype,
                                   v.u.tensor->rank, shape, f->err);
    if (rc)
        return rc;
    rc = cfx_tensor_randomize(t, f->seed, f->name, f->err);
    if (rc)
        cfx_tensor_unref(t);
    else
        *out = cfx_value_of_tensor(t);
    return rc;
}

/* One for each placeholder, in their order. */
static cfx_status fill_inputs(cli_inputs *to, const cli *c,
                              const cfx_module *gm, const cli_inputs *from,
                              uint64_t seed, cfx_error *err)
{
    struct filling f = {c, NULL, seed, err};
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_status rc = CFX_OK;

    to->value = calloc(from->n + 1, sizeof(*to->value));
    if (!to->value)
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    for (const cfx_node *n = cfx_graph_first(g); n && to->n < from->n && !rc;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        f.name = n->name;
        rc = cfx_value_map(&to->value[to->n], c->ctx, from->value[to->n],
                           fill_value, &f, err);
        to->n += !rc;
    }
    return rc;
}

static cfx_status measure(cfx_roofline *r, cli *c, const cli_inputs *shapes,
                          const struct roofline_options *o, cfx_error *err)
{
    cli_inputs in = {0};
    cfx_status rc = fill_inputs(&in, c, r->gm, shapes, o->seed.value, err);

    if (!rc)
        rc = cfx_roofline_measure(r, in.value, in.n, o->runs,
                                  isatty(2) ? show_progress : NULL, NULL, err);
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
    if (!rc)
        rc = follow(*out, o, err);
    if (!rc && o->measure)
        rc = measure(*out, c, &in, o, err);
    cli_inputs_release(&in);
    return rc;
}

/* ---- Bounds for tests ---- */

/* "8.3G": a number, maybe with k, M, G or T behind it. */
static bool read_amount(const char *text, double *out)
{
    static const char prefix[] = "kMGT";
    char *end;

    *out = strtod(text, &end);
    if (end == text || !(*out >= 0))
        return false;
    const char *at = *end ? strchr(prefix, *end == 'K' ? 'k' : *end) : NULL;
    for (int i = 0; at && i <= at - prefix; i++)
        *out *= 1000;
    return !*end || (at && !end[1]);
}

/* `value` is negative where it is not known. */
static cfx_status check_amount(const char *option, const char *text,
                               double value, const char *what, cfx_error *err)
{
    double most;

    if (!text)
        return CFX_OK;
    if (!read_amount(text, &most))
        return cfx_fail(err, CFX_EINVAL, "--%s %s: should be a number, as in "
                        "8.3G", option, text);
    if (value < 0)
        return cfx_fail(err, CFX_EINVAL, "--%s: %s not known (--set gives "
                        "numbers to symbols)", option, what);
    if (value <= most)
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL, "--%s: %s %.12g, more than %s", option,
                    what, value, text);
}

static double number_of(cfx_dim d)
{
    return cfx_dim_is_int(d) ? (double)cfx_dim_value(d) : -1;
}

static cfx_status check_amounts(const struct roofline_options *o,
                                const cfx_roofline *r, cfx_error *err)
{
    double seconds = r->runs ? r->run_seconds
                     : r->rates ? r->total.floor : -1;
    cfx_dim flops = cfx_cost_flops(r->env, &r->total.cost.cost);
    cfx_status rc = check_amount("assert-flops", o->most_flops,
                                 number_of(flops), "the FLOPs are", err);

    if (!rc)
        rc = check_amount("assert-peak-memory", o->most_memory,
                          number_of(r->peak_bytes), "the live bytes are", err);
    if (!rc)
        rc = check_amount("assert-seconds", o->most_seconds, seconds,
                          r->runs ? "the measured seconds are"
                                  : "the floor's seconds are", err);
    return rc;
}

/* ---- Against another ---- */

/* A file's text and a NUL, for free(). */
static cfx_status read_text(char **out, size_t *len, const char *path,
                            cfx_error *err)
{
    FILE *f = fopen(path, "r"), *to = open_memstream(out, len);
    char piece[4096];
    size_t n;
    bool ok = f && to;

    while (ok && (n = fread(piece, 1, sizeof(piece), f)))
        ok = fwrite(piece, 1, n, to) == n;
    ok = ok && !ferror(f);
    if (to && fclose(to))
        ok = false;
    if (f)
        fclose(f);
    return ok ? CFX_OK : cfx_fail(err, CFX_EIO, "%s: cannot be read", path);
}

static cfx_status analyse_text(char **out, size_t *len, cli *c,
                               const struct roofline_options *o,
                               cfx_module *gm, const char *model,
                               const cfx_machine *machine, cfx_error *err)
{
    cfx_roofline_view view = {.size = sizeof(view), .model = model};
    cfx_roofline *r = NULL;
    cli_symbols symbols;
    FILE *to = open_memstream(out, len);
    cfx_status rc = to ? cli_symbols_make(&symbols, c->ctx, &o->set, err)
                       : cfx_fail(err, CFX_ENOMEM, "out of memory");

    if (!to)
        return rc;
    if (!rc)
        rc = analyse(&r, c, o, &symbols, gm, machine, err);
    if (!rc)
        rc = cfx_roofline_print_json(cfx_sink_file(to), r, &view, err);
    if (fclose(to) && !rc)
        rc = cfx_fail(err, CFX_ENOMEM, "out of memory");
    cfx_roofline_free(r);
    cli_symbols_release(&symbols);
    return rc;
}

/* The model on another machine, which cannot be measured; the file or name of
 * one. Fails with CFX_ENAME, CFX_EPARSE where it is none. */
static cfx_status on_machine(char **out, size_t *len, cli *c,
                             const struct roofline_options *o, cfx_module *gm,
                             const char *model, cfx_error *err)
{
    struct roofline_options plain = *o;
    cfx_machine *machine = NULL;
    cfx_status rc = cfx_machine_find(&machine, c->ctx, o->against, err);

    plain.measure = false;
    if (!rc)
        rc = analyse_text(out, len, c, &plain, gm, model, machine, err);
    cfx_machine_free(machine);
    return rc;
}

static cfx_status other_model(char **out, size_t *len, cli *c,
                              const struct roofline_options *o,
                              const cfx_machine *machine, cfx_error *err)
{
    cfx_module *gm = NULL;
    cfx_status rc = cli_load(c, &gm, o->against, o->measure, err);

    if (!rc) {
        rc = analyse_text(out, len, c, o, gm, o->against, machine, err);
        if (rc)
            cfx_fail_at(err, "%s", o->against);
    }
    cfx_module_unref(gm);
    return rc;
}

/* What --against names, as the document of a report. */
static cfx_status find_other(char **out, size_t *len, cli *c,
                             const struct roofline_options *o, cfx_module *gm,
                             const char *model, const cfx_machine *machine,
                             cfx_error *err)
{
    if (access(o->against, F_OK))
        return on_machine(out, len, c, o, gm, model, err);
    cfx_status rc = read_text(out, len, o->against, err);
    if (rc || **out != '{') {
        free(*out);
        *out = NULL;
        return rc ? rc : other_model(out, len, c, o, machine, err);
    }
    if (!strstr(*out, "\"cfx.machine/1\""))
        return CFX_OK;
    free(*out);
    *out = NULL;
    return on_machine(out, len, c, o, gm, model, err);
}

static cfx_status compare(cli *c, const struct roofline_options *o,
                          const struct format *format,
                          const cfx_roofline_view *view, const cfx_roofline *r,
                          cfx_error *err)
{
    char *other = NULL;
    size_t len = 0;
    cfx_status rc = find_other(&other, &len, c, o, r->gm, view->model,
                               r->machine, err);

    if (!rc) {
        rc = cfx_roofline_compare(cfx_sink_file(c->out), r, other, len,
                                  format->compared, view, err);
        if (rc == CFX_EPARSE || rc == CFX_EINVAL)
            cfx_fail_at(err, "%s", o->against);
    }
    free(other);
    return rc;
}

/* ---- The command ---- */

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
    if (!rc)
        rc = check_amounts(o, r, err);
    if (rc)
        cfx_fail_at(err, "%s", view->model);
    else if (o->against)
        rc = compare(c, o, format, view, r, err);
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
    if (o->against && format->only_one)
        return cli_usage(c, "--against is told as text, markdown, csv or "
                         "json");
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
    .details = "A floor is the least time that a machine needs for a node: of "
               "its operations, or of the bytes that it moves through the "
               "caches. With symbols for extents, counts are formulas. "
               "--measure tells the times beside the floors.",
    .options = options,
    .size = sizeof(struct roofline_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
