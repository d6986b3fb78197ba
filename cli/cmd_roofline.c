/*
 * cfx roofline -- print the floors of a model, and measured times.
 */
#include <cfx/roofline.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"
#include "rewrite.h"

struct roofline_options {
    cli_list inputs, set;
    const char *machine, *format, *by, *columns, *sort, *sweep, *against;
    const char *most_flops, *most_memory, *most_seconds;
    int depth, top, runs;
    bool measure;
    bool sampled; /* the inputs are those of a measurement */
    cli_optimizing how;
    cli_seed seed;
};

#define AT(member) offsetof(struct roofline_options, member)

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "set an input: a type and shape as in f32[N,3,224,224] (N is a symbol), FILE.npy, FILE.safetensors:KEY, or a number; values without NAME= are assigned in order",
     AT(inputs)},
    {CLI_LIST, 0, "set", "NAME=N",
     "set a symbol to a value or a range: N=4, N=2..64; symbols are at least 1",
     AT(set)},
    {CLI_TEXT, 0, "sweep", "NAME=RANGE",
     "print a row for each value of a symbol: N=1..64, N=1..64:8 (steps of 8), N=1..1024*2 (doubling)",
     AT(sweep)},
    {CLI_TEXT, 'm', "machine", "FILE",
     "compute floors for this machine: a file that cfx machine wrote, or the name of one that comes with cfx (default: this machine, measured once)",
     AT(machine)},
    {CLI_FLAG, 0, "optimize", NULL,
     "optimize the model for these inputs first (see cfx optimize)",
     AT(how.optimize)},
    {CLI_FLAG, 0, "bfloat16", NULL, "with --optimize: " CLI_BFLOAT16_HELP,
     AT(how.bfloat16)},
    {CLI_FLAG, 0, "int8-weights", NULL, "with --optimize: " CLI_INT8_HELP,
     AT(how.int8_weights)},
    {CLI_FLAG, 0, "measure", NULL, "also run the model and print its times",
     AT(measure)},
    {CLI_COUNT, 0, "runs", "N",
     "measure N runs (default: as many as fit into a second, at least 5)",
     AT(runs)},
    {CLI_SEED, 0, "seed", "SEED", "fill inputs from this seed (default: 0)",
     AT(seed)},
    {CLI_TEXT, 0, "by", "WHAT",
     "print a row for each node (default), module, operator or bound", AT(by)},
    {CLI_COUNT, 0, "depth", "N",
     "print a row for each module down to depth N of the tree", AT(depth)},
    {CLI_TEXT, 0, "sort", "COLUMN",
     "sort by a column, the largest first (default: the order of the walk; with --measure, by seconds)",
     AT(sort)},
    {CLI_COUNT, 0, "top", "N", "print at most N rows", AT(top)},
    {CLI_TEXT, 0, "columns", "NAME,...",
     "print these columns: name, op, target, module, type, nodes, shape, dtype, macs, flops, ops, transcendental, read, written, bytes, parameters, weights, intensity, ridge, bound, level, algorithm, floor, seconds, gflops, bandwidth, efficiency, share, computing, live",
     AT(columns)},
    {CLI_TEXT, 0, "against", "OTHER",
     "print the changes against another report (the JSON of an earlier one), another model, or the same model on another machine",
     AT(against)},
    {CLI_TEXT, 0, "assert-flops", "N", "fail if FLOPs exceed this: 8.3G",
     AT(most_flops)},
    {CLI_TEXT, 0, "assert-peak-memory", "N",
     "fail if peak live bytes exceed this: 64M", AT(most_memory)},
    {CLI_TEXT, 0, "assert-seconds", "S",
     "fail if a run takes longer: with --measure the median of the runs, else the floor",
     AT(most_seconds)},
    {CLI_TEXT, 'f', "format", "FORMAT",
     "text (default); markdown, csv; json; html: a page with the plot; svg: the plot alone; dot: the graph for Graphviz, nodes with more time darker; trace: for Perfetto",
     AT(format)},
    {0},
};

/* ---- Formats ---- */

typedef cfx_status format_fn(cfx_sink to, const cfx_roofline *r,
                             const cfx_roofline_view *view, cfx_error *err);

static const struct format {
    const char *name;
    format_fn *print;
    cfx_roofline_format compared; /* its form of --against */
    bool only_one;                /* it has no such form */
    bool table;                   /* rows and columns can be selected */
    bool points;                  /* it shows the points of a sweep */
} formats[] = {
    {"text", cfx_roofline_print, CFX_ROOFLINE_TEXT, false, true, true},
    {"markdown", cfx_roofline_print_markdown, CFX_ROOFLINE_MARKDOWN, false,
     true, true},
    {"csv", cfx_roofline_print_csv, CFX_ROOFLINE_CSV, false, true, true},
    {"json", cfx_roofline_print_json, CFX_ROOFLINE_JSON, false, false, true},
    {"html", cfx_roofline_print_html, CFX_ROOFLINE_TEXT, true, false, true},
    {"svg", cfx_roofline_print_svg, CFX_ROOFLINE_TEXT, true, false, false},
    {"dot", cfx_roofline_print_dot, CFX_ROOFLINE_TEXT, true, false, false},
    {"trace", cfx_roofline_print_trace, CFX_ROOFLINE_TEXT, true, false, false},
};

/* ---- View ---- */

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
        .size = sizeof(*v),
        .depth = o->depth,
        .parts = !o->by && !o->depth && !o->columns && !o->sweep,
        .by = o->sweep   ? CFX_BY_POINT
              : o->depth ? CFX_BY_MODULE
                         : CFX_BY_NODE,
        .columns = o->columns,
        .sort = o->sort                                          ? o->sort
                : o->measure && !o->depth && !o->sweep && !o->by ? "seconds"
                                                                 : NULL,
        .top = (size_t)o->top,
        .width = terminal_width(c->out),
        .model = model};
    for (int i = 0; o->by && i < 4; i++) {
        if (!strcmp(o->by, names[i])) {
            v->by = (cfx_roofline_by)i;
            return true;
        }
    }
    return !o->by;
}

/* ---- Reports ---- */

struct sweep {
    char symbol[64];
    int64_t from, to, step, factor;
};

/* Parse digits and return the rest; false for none, or more than 64 bits. */
static bool read_number(const char **s, int64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**s))
        return false;
    errno = 0;
    *out = strtoll(*s, &end, 10);
    *s = end;
    return !errno;
}

/* Parse "N=1..64", optionally followed by ":STEP" or "*FACTOR". */
static bool read_sweep(const char *text, struct sweep *to)
{
    const char *s = strchr(text, '=');
    size_t n = s ? (size_t)(s++ - text) : 0;

    *to = (struct sweep){.step = 1, .factor = 1};
    if (!n || n >= sizeof(to->symbol))
        return false;
    memcpy(to->symbol, text, n);
    if (!read_number(&s, &to->from) || strncmp(s, "..", 2))
        return false;
    s += 2;
    if (!read_number(&s, &to->to))
        return false;
    char how = *s;
    if (how == ':' || how == '*') {
        s++;
        if (!read_number(&s, how == ':' ? &to->step : &to->factor))
            return false;
    }
    return !*s && to->step > 0 && (to->factor > 1 || how != '*');
}

/* Compute crossovers and sweeps, if there are symbols. */
static cfx_status follow(cfx_roofline *r, const struct roofline_options *o,
                         cfx_error *err)
{
    struct sweep range;
    cfx_error why = {0};
    cfx_status st;

    if (!r->known && r->rates && cfx_shape_env_symbols(r->env)) {
        st = cfx_roofline_crossovers(r, NULL, 0, 0, &why);
        if (st == CFX_EINVAL)
            cfx_message(r->ctx, CFX_NOTE, "%s: use --set", why.text);
        else if (st)
            return cfx_fail_from(err, &why);
    }
    if (!o->sweep || !read_sweep(o->sweep, &range))
        return CFX_OK;
    st = cfx_roofline_sweep(r, range.symbol, range.from, range.to, range.step,
                            range.factor, err);
    if (st)
        cfx_fail_at(err, "--sweep %s", o->sweep);
    return st;
}

/* ---- Measuring ---- */

static cfx_status measure(cfx_roofline *r, cli *c, const cli_inputs *shapes,
                          const struct roofline_options *o, cfx_error *err)
{
    cli_inputs in = {0};
    cfx_status st = cli_fill_inputs(&in, c, r->gm, shapes, o->seed.value, NULL,
                                    err);

    if (!st) {
        cli_progress *p = cli_progress_begin("measuring");
        st = cfx_roofline_measure(r, in.value, in.n, o->runs,
                                  p ? cli_progress_report : NULL, p, err);
        cli_progress_end(p);
    }
    cli_inputs_release(&in);
    return st;
}

/* Without -t, a described machine uses all its threads, whatever this machine
 * has; a measurement uses this machine's. */
static int threads_of(const cli *c, const struct roofline_options *o)
{
    return o->machine && !o->measure && !c->g.threads ? INT_MAX : 0;
}

/* A measurement needs numbers: without -i and --set those of the file. */
static cfx_model_file *samples_of(const cli *c,
                                  const struct roofline_options *o)
{
    return (o->measure || o->sampled) && !o->set.n ? c->model : NULL;
}

static cfx_status analyse(cfx_roofline **out, cli *c,
                          const struct roofline_options *o, cli_symbols *s,
                          cfx_module *gm, const cfx_machine *machine,
                          cfx_error *err)
{
    cfx_roofline_options how = {.size = sizeof(how),
                                .machine = machine,
                                .threads = threads_of(c, o),
                                .env = s->env};
    cli_inputs in = {0};
    cfx_status st = cli_shapes_make(&in, c, gm, samples_of(c, o), &o->inputs,
                                    s, err);

    if (!st && o->how.optimize)
        st = cli_optimize(gm, &in, &o->how, s->env, NULL, err);
    if (!st)
        st = cfx_roofline_new(out, gm, in.value, in.n, &how, err);
    if (!st)
        st = follow(*out, o, err);
    if (!st && o->measure)
        st = measure(*out, c, &in, o, err);
    cli_inputs_release(&in);
    return st;
}

/* ---- Limits of --assert options ---- */

/* Parse "8.3G": a number, optionally followed by k, M, G or T. */
static bool read_amount(const char *text, double *out)
{
    static const char prefix[] = "kMGT";
    size_t digits = strspn(text, "0123456789.eE+-");
    char *end;

    *out = strtod(text, &end);
    if (end == text || end > text + digits || !(*out >= 0) || !isfinite(*out))
        return false;
    const char *at = *end ? strchr(prefix, *end == 'K' ? 'k' : *end) : NULL;
    for (int i = 0; at && i <= at - prefix; i++)
        *out *= 1000;
    return !*end || (at && !end[1]);
}

enum { SYMBOLIC = -1, TOO_LARGE = -2, NO_FLOOR = -3 };

/* `value` is negative if unknown. */
static cfx_status check_amount(const char *option, const char *text,
                               double value, const char *what, cfx_error *err)
{
    double most;

    if (!text || !read_amount(text, &most))
        return CFX_OK;
    if (value < 0)
        return cfx_fail(err, CFX_EINVAL, "--%s: %s not known (%s)", option,
                        what,
                        value == SYMBOLIC    ? "--set gives numbers to symbols"
                        : value == TOO_LARGE ? "more than 61 bits can count"
                                             : "without a machine");
    if (value <= most)
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL, "--%s: %s %.12g, more than %s", option,
                    what, value, text);
}

static double number_of(cfx_dim d)
{
    return cfx_dim_is_int(d)   ? (double)cfx_dim_value(d)
           : cfx_dim_is_bad(d) ? TOO_LARGE
                               : SYMBOLIC;
}

/* Return the time of a run, or its floor. */
static double seconds_of(const cfx_roofline *r)
{
    const cfx_cost *c = &r->total.cost.cost;

    if (r->runs)
        return r->run_seconds;
    if (!r->rates)
        return NO_FLOOR;
    if (r->total.floor >= 0)
        return r->total.floor;
    return cfx_dim_is_bad(cfx_cost_flops(r->env, c)) ||
                   cfx_dim_is_bad(cfx_cost_bytes(r->env, c))
               ? TOO_LARGE
               : SYMBOLIC;
}

static cfx_status check_amounts(const struct roofline_options *o,
                                const cfx_roofline *r, cfx_error *err)
{
    cfx_dim flops = cfx_cost_flops(r->env, &r->total.cost.cost);
    cfx_status st = check_amount("assert-flops", o->most_flops,
                                 number_of(flops), "the FLOPs are", err);

    if (!st)
        st = check_amount("assert-peak-memory", o->most_memory,
                          number_of(r->peak_bytes), "the live bytes are", err);
    if (!st)
        st = check_amount("assert-seconds", o->most_seconds, seconds_of(r),
                          r->runs ? "the measured seconds are"
                                  : "the floor's seconds are",
                          err);
    return st;
}

/* ---- Comparing with another report ---- */

/* A text in memory of the context, which counts towards --max-mem. */
struct text {
    cfx_context *ctx;
    char *s;
    size_t len, cap;
};

static void text_release(struct text *t)
{
    if (t->s)
        cfx_free(t->ctx, t->s, t->cap);
}

/* Read on to the end, or only the first piece. */
static cfx_status text_read(struct text *t, FILE *f, bool all, cfx_error *err)
{
    enum { PIECE = 4096, MOST = 1 << 28 };
    cfx_status st = CFX_OK;
    size_t n;

    do {
        if (t->cap - t->len <= PIECE) {
            size_t cap = t->cap ? 2 * t->cap : 2 * PIECE;
            char *more = cap > MOST ? NULL : cfx_alloc(t->ctx, cap);
            if (!more)
                return cap > MOST
                           ? cfx_fail(err, CFX_ELIMIT,
                                      "has more than %d bytes", MOST / 2)
                           : cfx_no_memory(err);
            if (t->s)
                memcpy(more, t->s, t->len);
            text_release(t);
            t->s = more;
            t->cap = cap;
        }
        n = fread(t->s + t->len, 1, PIECE, f);
        t->len += n;
        t->s[t->len] = '\0';
        st = ferror(f) ? cfx_fail(err, CFX_EIO, "cannot be read")
                       : cfx_context_check(t->ctx, err);
    } while (n && all && !st);
    return st;
}

/* Read a document in JSON; of a file that is none only the beginning. */
static cfx_status read_document(struct text *t, bool *is_document,
                                const char *path, cfx_error *err)
{
    FILE *f = fopen(path, "r");
    cfx_status st = f ? text_read(t, f, false, err)
                      : cfx_fail(err, CFX_EIO, "cannot be read");

    *is_document = !st && t->s[strspn(t->s, " \t\r\n")] == '{';
    if (*is_document)
        st = text_read(t, f, true, err);
    if (f)
        fclose(f);
    return st ? cfx_fail_at(err, "%s", path) : CFX_OK;
}

/* A roofline and the other one to compare it with. */
struct comparison {
    cli *c;
    const struct roofline_options *o; /* options of the other */
    const struct format *format;
    const cfx_roofline_view *view;
    const cfx_roofline *r;
};

static cfx_status against_analysed(const struct comparison *x, cfx_module *gm,
                                   const char *model,
                                   const cfx_machine *machine, cfx_error *err)
{
    cfx_roofline *other = NULL;
    cli_symbols symbols;
    cfx_status st = cli_symbols_make(&symbols, x->c->ctx, &x->o->set, err);

    if (!st)
        st = analyse(&other, x->c, x->o, &symbols, gm, machine, err);
    if (st)
        cfx_fail_at(err, "%s", x->o->against);
    else
        st = cli_printed(
            cfx_roofline_compare(cfx_sink_file(x->c->out), x->r, other, model,
                                 x->format->compared, x->view, err));
    cfx_roofline_free(other);
    cli_symbols_release(&symbols);
    return st;
}

/* The model on another machine, which cannot be measured, given by file or
 * name. Fails with CFX_ENAME, CFX_EPARSE if it is not a machine. */
static cfx_status against_machine(const struct comparison *x, cfx_error *err)
{
    struct roofline_options plain = *x->o;
    struct comparison other = *x;
    cfx_machine *machine = NULL;
    cfx_status st = cfx_machine_find(&machine, x->c->ctx, x->o->against, err);

    plain.sampled = plain.measure;
    plain.measure = false;
    plain.machine = x->o->against;
    other.o = &plain;
    if (!st)
        st = against_analysed(&other, x->r->gm, x->view->model, machine, err);
    cfx_machine_free(machine);
    return st;
}

static cfx_status against_model(const struct comparison *x, cfx_error *err)
{
    cfx_module *gm = NULL;
    cfx_status st = cli_load(x->c, &gm, x->o->against, true, err);

    if (!st)
        st = against_analysed(x, gm, x->o->against, x->r->machine, err);
    cfx_module_unref(gm);
    return st;
}

static cfx_status against_document(const struct comparison *x,
                                   const char *text, size_t len,
                                   cfx_error *err)
{
    cfx_status st = cfx_roofline_compare_document(
        cfx_sink_file(x->c->out), x->r, text, len, x->format->compared,
        x->view, err);

    if (st == CFX_EPARSE || st == CFX_EINVAL)
        cfx_fail_at(err, "%s", x->o->against);
    return cli_printed(st);
}

/* Compare with the argument of --against. */
static cfx_status compare(const struct comparison *x, cfx_error *err)
{
    struct text text = {.ctx = x->c->ctx};
    bool is_document;
    cfx_status st;

    if (access(x->o->against, F_OK))
        return against_machine(x, err);
    st = read_document(&text, &is_document, x->o->against, err);
    if (!st && !is_document)
        st = against_model(x, err);
    else if (!st && cfx_machine_probe(x->c->ctx, text.s, text.len))
        st = against_machine(x, err);
    else if (!st)
        st = against_document(x, text.s, text.len, err);
    text_release(&text);
    return st;
}

/* ---- The machine ---- */

/* Would the report fail? A copy of the model, since symbols that the analysis
 * leaves in its nodes end with it. */
static cfx_status rehearse(cli *c, const struct roofline_options *o,
                           const cfx_module *gm, const char *path,
                           cfx_error *err)
{
    struct roofline_options plain = *o;
    cfx_roofline *r = NULL;
    cfx_module *copy = NULL;
    cli_symbols symbols;
    cfx_status st = cli_symbols_make(&symbols, c->ctx, &o->set, err);

    plain.sampled = o->measure || o->sampled;
    plain.measure = plain.how.optimize = false;
    if (!st)
        st = cfx_module_copy(&copy, gm, err);
    if (!st)
        st = analyse(&r, c, &plain, &symbols, copy, NULL, err);
    if (st)
        cli_fail_model(c, err, path, false);
    cfx_roofline_free(r);
    cfx_module_unref(copy);
    cli_symbols_release(&symbols);
    return st;
}

/* Find the machine. Measuring this one takes seconds, so it begins when the
 * model and its inputs are known to be right. */
static cfx_status find_machine(cfx_machine **out, cli *c,
                               const struct roofline_options *o,
                               const cfx_module *gm, const char *path,
                               cfx_error *err)
{
    if (o->machine)
        return cfx_machine_find(out, c->ctx, o->machine, err);
    cfx_status st = cfx_machine_cached(out, c->ctx, CFX_MACHINE_STORED, 0,
                                       err);
    if (st != CFX_ENAME)
        return st;
    cfx_error_clear(err);
    st = rehearse(c, o, gm, path, err);
    return st ? st : cfx_machine_cached(out, c->ctx, 0, 0, err);
}

/* ---- The command ---- */

static cfx_status report(cli *c, const struct roofline_options *o,
                         const struct format *format,
                         const cfx_roofline_view *view, cfx_module *gm,
                         const cfx_machine *machine, cfx_error *err)
{
    cfx_roofline *r = NULL;
    cli_symbols symbols;
    struct roofline_options other = *o; /* of --against */
    cfx_status st = cli_symbols_make(&symbols, c->ctx, &o->set, err);

    other.how.optimize = false;
    if (!st)
        st = analyse(&r, c, o, &symbols, gm, machine, err);
    if (!st)
        st = check_amounts(o, r, err);
    if (st)
        cli_fail_model(c, err, view->model, o->measure || o->how.optimize);
    else if (o->against)
        st = compare(&(struct comparison){c, &other, format, view, r}, err);
    else
        st = cli_printed(format->print(cfx_sink_file(c->out), r, view, err));
    cfx_roofline_free(r);
    cli_symbols_release(&symbols);
    return st;
}

/* ---- The command line ---- */

static int unknown_column(const cli *c, const char *option, const char *name,
                          size_t len)
{
    cfx_nearest near;
    const char *known;

    cfx_nearest_init(&near, name, len);
    for (size_t i = 0; (known = cfx_roofline_column(i, NULL)); i++)
        cfx_nearest_try(&near, known, strlen(known));
    return cli_usage(c, "--%s: there is no column '%.*s'%s", option, (int)len,
                     name, cfx_nearest_text(&near));
}

/* Check that columns exist; CLI_OK, or a status after a line on stderr. */
static int check_columns(cli *c, const char *option, const char *names)
{
    while (names) {
        size_t n = strcspn(names, ",");

        if (!cfx_roofline_find_column(names, n))
            return unknown_column(c, option, names, n);
        names = names[n] ? names + n + 1 : NULL;
    }
    return CLI_OK;
}

static int check_sweep(cli *c, const char *text)
{
    struct sweep s;

    if (!text)
        return CLI_OK;
    if (!read_sweep(text, &s))
        return cli_usage(
            c, "--sweep %s: should be N=1..64, N=1..64:8 or N=1..1024*2",
            text);
    if (s.from < 1)
        return cli_usage(c, "--sweep %s: symbols begin at 1", text);
    if (s.from > s.to)
        return cli_usage(c, "--sweep %s: there is no number in the range",
                         text);
    return CLI_OK;
}

static int check_limits(cli *c, const struct roofline_options *o)
{
    const struct {
        const char *option, *text;
    } limits[] = {{"assert-flops", o->most_flops},
                  {"assert-peak-memory", o->most_memory},
                  {"assert-seconds", o->most_seconds}};
    double most;

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        if (limits[i].text && !read_amount(limits[i].text, &most))
            return cli_usage(c, "--%s %s: should be a number, as in 8.3G",
                             limits[i].option, limits[i].text);
    }
    return CLI_OK;
}

/* Refuse options that would have no effect. */
static int check_effects(cli *c, const struct roofline_options *o,
                         const struct format *format)
{
    const char *rows = o->by ? "by" : o->depth ? "depth" : NULL;
    const char *shown = o->columns ? "columns" : o->sort ? "sort" : rows;

    if (o->depth && o->by && strcmp(o->by, "module"))
        return cli_usage(c, "--depth needs --by module, not --by %s", o->by);
    if (o->sweep && rows)
        return cli_usage(c, "--sweep and --%s exclude each other", rows);
    if (o->runs && !o->measure)
        return cli_usage(c, "--runs needs --measure");
    if (o->seed.given && !o->measure)
        return cli_usage(c, "--seed needs --measure");
    if (cli_check_optimizing(c, &o->how))
        return CLI_USAGE;
    if (!format->table && (shown || o->top))
        return cli_usage(c, "--format %s has no table for --%s", format->name,
                         shown ? shown : "top");
    if (!format->points && o->sweep)
        return cli_usage(c, "--format %s does not show --sweep", format->name);
    if (o->against && (shown || o->sweep))
        return cli_usage(c, "--against and --%s exclude each other",
                         shown ? shown : "sweep");
    if (o->against && format->only_one)
        return cli_usage(
            c, "--against is printed as text, markdown, csv or json");
    return CLI_OK;
}

/* Check the options before reading files, which may take long. */
static int check_usage(cli *c, const struct roofline_options *o,
                       const struct format *format)
{
    cli_symbols symbols;
    cfx_error err = {0};
    int status = check_columns(c, "columns", o->columns);

    if (!status)
        status = check_columns(c, "sort", o->sort);
    if (!status)
        status = check_sweep(c, o->sweep);
    if (!status)
        status = check_limits(c, o);
    if (!status)
        status = check_effects(c, o, format);
    if (status)
        return status;
    if (cli_symbols_make(&symbols, c->ctx, &o->set, &err))
        status = err.code == CFX_EINVAL ? cli_usage(c, "%s", err.text)
                                        : cli_fail(&err);
    cli_symbols_release(&symbols);
    return status;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct roofline_options *o = opts;
    const struct format *format = CLI_FIND(formats, o->format);
    cfx_error err = {0};
    cfx_module *gm = NULL;
    cfx_machine *machine = NULL;
    cfx_roofline_view view;

    (void)nargs;
    if (!format)
        return cli_usage(c, "'%s' is not a valid FORMAT for --format",
                         o->format);
    if (!make_view(&view, c, o, args[0]))
        return cli_usage(c, "'%s' is not a valid WHAT for --by", o->by);
    int status = check_usage(c, o, format);
    if (status)
        return status;
    /* Weights have shapes and types that the text lacks. */
    cfx_status st = cli_load_for(c, &gm, args[0], &o->inputs, false, 0, &err);
    if (!st)
        st = find_machine(&machine, c, o, gm, args[0], &err);
    if (!st)
        st = report(c, o, format, &view, gm, machine, &err);
    cfx_machine_free(machine);
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_roofline = {
    .name = "roofline",
    .args = "MODEL",
    .summary = "Print the least time of each node, and its measured time",
    .details =
        "A node's floor is the least time that a machine needs for its operations, or for moving its bytes through the caches. With symbols for extents, counts are expressions. --measure prints times next to the floors.",
    .options = options,
    .size = sizeof(struct roofline_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
