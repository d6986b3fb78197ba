/*
 * cfx roofline -- where a model's time must go, and where it goes.
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
    bool table;                   /* of rows and columns that are chosen */
    bool points;                  /* it tells what a sweep finds */
} formats[] = {
    {"text", cfx_roofline_print, CFX_ROOFLINE_TEXT, false, true, true},
    {"markdown", cfx_roofline_print_markdown, CFX_ROOFLINE_MARKDOWN, false,
     true, true},
    {"csv", cfx_roofline_print_csv, CFX_ROOFLINE_CSV, false, true, true},
    {"json", cfx_roofline_print_json, CFX_ROOFLINE_JSON, false, false, true},
    {"html", cfx_roofline_print_html, CFX_ROOFLINE_TEXT, true, false, true},
    {"svg", cfx_roofline_print_svg, CFX_ROOFLINE_TEXT, true, false, false},
    {"dot", cfx_roofline_print_dot, CFX_ROOFLINE_TEXT, true, false, false},
    {"trace", cfx_roofline_print_trace, CFX_ROOFLINE_TEXT, true, false,
     false},
};

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
                : cfx_machine_cached(out, c->ctx, 0, 0, err);
}

struct sweep {
    char symbol[64];
    int64_t from, to, step, factor;
};

/* Digits and what is behind them; false for none, or more than 64 bits. */
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

/* "N=1..64", with ":STEP" or "*FACTOR" behind it. */
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

/* Along symbols, where there are any. */
static cfx_status follow(cfx_roofline *r, const struct roofline_options *o,
                         cfx_error *err)
{
    struct sweep range;
    cfx_error why = {0};
    cfx_status rc;

    if (!r->known && r->rates && cfx_shape_env_symbols(r->env)) {
        rc = cfx_roofline_crossovers(r, NULL, 0, 0, &why);
        if (rc == CFX_EINVAL)
            cfx_message(r->ctx, CFX_NOTE, "%s: --set gives numbers", why.text);
        else if (rc)
            return cfx_fail_from(err, &why);
    }
    if (!o->sweep || !read_sweep(o->sweep, &range))
        return CFX_OK;
    rc = cfx_roofline_sweep(r, range.symbol, range.from, range.to, range.step,
                            range.factor, err);
    if (rc)
        cfx_fail_at(err, "--sweep %s", o->sweep);
    return rc;
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
        return cfx_no_memory(err);
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

    if (!rc) {
        cli_progress *p = cli_progress_begin("measuring");
        rc = cfx_roofline_measure(r, in.value, in.n, o->runs,
                                  p ? cli_progress_tell : NULL, p, err);
        cli_progress_end(p);
    }
    cli_inputs_release(&in);
    return rc;
}

/* Without -t a machine that is described has all its threads, however many
 * cores this one has; what is measured runs here. */
static int threads_of(const cli *c, const struct roofline_options *o)
{
    return o->machine && !o->measure && !c->g.threads ? INT_MAX : 0;
}

static cfx_status analyse(cfx_roofline **out, cli *c,
                          const struct roofline_options *o, cli_symbols *s,
                          cfx_module *gm, const cfx_machine *machine,
                          cfx_error *err)
{
    cfx_roofline_options how = {.size = sizeof(how), .machine = machine,
                                .threads = threads_of(c, o), .env = s->env};
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

/* `value` is negative where it is not known. */
static cfx_status check_amount(const char *option, const char *text,
                               double value, const char *what, cfx_error *err)
{
    double most;

    if (!text || !read_amount(text, &most))
        return CFX_OK;
    if (value < 0)
        return cfx_fail(err, CFX_EINVAL, "--%s: %s not known (%s)", option,
                        what,
                        value == SYMBOLIC ? "--set gives numbers to symbols"
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
           : cfx_dim_is_bad(d) ? TOO_LARGE : SYMBOLIC;
}

/* What a run takes, or its floor. */
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
               ? TOO_LARGE : SYMBOLIC;
}

static cfx_status check_amounts(const struct roofline_options *o,
                                const cfx_roofline *r, cfx_error *err)
{
    cfx_dim flops = cfx_cost_flops(r->env, &r->total.cost.cost);
    cfx_status rc = check_amount("assert-flops", o->most_flops,
                                 number_of(flops), "the FLOPs are", err);

    if (!rc)
        rc = check_amount("assert-peak-memory", o->most_memory,
                          number_of(r->peak_bytes), "the live bytes are", err);
    if (!rc)
        rc = check_amount("assert-seconds", o->most_seconds, seconds_of(r),
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

/* A roofline that is held against another. */
struct comparison {
    cli *c;
    const struct roofline_options *o; /* of the other */
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
    cfx_status rc = cli_symbols_make(&symbols, x->c->ctx, &x->o->set, err);

    if (!rc)
        rc = analyse(&other, x->c, x->o, &symbols, gm, machine, err);
    if (rc)
        cfx_fail_at(err, "%s", x->o->against);
    else
        rc = cli_printed(cfx_roofline_compare(cfx_sink_file(x->c->out), x->r,
                                              other, model,
                                              x->format->compared, x->view,
                                              err));
    cfx_roofline_free(other);
    cli_symbols_release(&symbols);
    return rc;
}

/* The model on another machine, which cannot be measured; the file or name of
 * one. Fails with CFX_ENAME, CFX_EPARSE where it is none. */
static cfx_status against_machine(const struct comparison *x, cfx_error *err)
{
    struct roofline_options plain = *x->o;
    struct comparison other = *x;
    cfx_machine *machine = NULL;
    cfx_status rc = cfx_machine_find(&machine, x->c->ctx, x->o->against, err);

    plain.measure = false;
    plain.machine = x->o->against;
    other.o = &plain;
    if (!rc)
        rc = against_analysed(&other, x->r->gm, x->view->model, machine, err);
    cfx_machine_free(machine);
    return rc;
}

static cfx_status against_model(const struct comparison *x, cfx_error *err)
{
    cfx_module *gm = NULL;
    cfx_status rc = cli_load(x->c, &gm, x->o->against, true, err);

    if (!rc)
        rc = against_analysed(x, gm, x->o->against, x->r->machine, err);
    cfx_module_unref(gm);
    return rc;
}

static cfx_status against_document(const struct comparison *x,
                                   const char *text, size_t len,
                                   cfx_error *err)
{
    cfx_status rc = cfx_roofline_compare_document(
        cfx_sink_file(x->c->out), x->r, text, len, x->format->compared,
        x->view, err);

    if (rc == CFX_EPARSE || rc == CFX_EINVAL)
        cfx_fail_at(err, "%s", x->o->against);
    return cli_printed(rc);
}

/* Against what --against names. */
static cfx_status compare(const struct comparison *x, cfx_error *err)
{
    char *text = NULL;
    size_t len = 0;
    cfx_status rc;

    if (access(x->o->against, F_OK))
        return against_machine(x, err);
    rc = read_text(&text, &len, x->o->against, err);
    if (!rc && text[strspn(text, " \t\r\n")] != '{')
        rc = against_model(x, err);
    else if (!rc && cfx_machine_probe(x->c->ctx, text, len))
        rc = against_machine(x, err);
    else if (!rc)
        rc = against_document(x, text, len, err);
    free(text);
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
        cli_fail_model(c, err, view->model, o->measure);
    else if (o->against)
        rc = compare(&(struct comparison){c, o, format, view, r}, err);
    else
        rc = cli_printed(format->print(cfx_sink_file(c->out), r, view, err));
    cfx_roofline_free(r);
    cli_symbols_release(&symbols);
    return rc;
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

/* Columns that there are; CLI_OK, or a status after the line on stderr. */
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
        return cli_usage(c, "--sweep %s: should be N=1..64, N=1..64:8 or "
                         "N=1..1024*2", text);
    if (s.from < 1)
        return cli_usage(c, "--sweep %s: symbols begin at 1", text);
    if (s.from > s.to)
        return cli_usage(c, "--sweep %s: there is no number in the range",
                         text);
    return CLI_OK;
}

static int check_limits(cli *c, const struct roofline_options *o)
{
    const struct { const char *option, *text; } limits[] = {
        {"assert-flops", o->most_flops},
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

/* Options that would change nothing. */
static int check_effects(cli *c, const struct roofline_options *o,
                         const struct format *format)
{
    const char *rows = o->by ? "by" : o->depth ? "depth" : NULL;
    const char *shown = o->columns ? "columns" : o->sort ? "sort" : rows;

    if (o->depth && o->by && strcmp(o->by, "module"))
        return cli_usage(c, "--depth is of modules, not of --by %s", o->by);
    if (o->sweep && rows)
        return cli_usage(c, "--sweep has a row for each value: no --%s", rows);
    if (o->runs && !o->measure)
        return cli_usage(c, "--runs goes with --measure");
    if (o->seed.given && !o->measure)
        return cli_usage(c, "--seed goes with --measure");
    if (!format->table && (shown || o->top))
        return cli_usage(c, "--format %s has no table for --%s", format->name,
                         shown ? shown : "top");
    if (!format->points && o->sweep)
        return cli_usage(c, "--format %s does not show --sweep", format->name);
    if (o->against && (shown || o->sweep))
        return cli_usage(c, "--against tells what changed: no --%s",
                         shown ? shown : "sweep");
    if (o->against && format->only_one)
        return cli_usage(c, "--against is told as text, markdown, csv or "
                         "json");
    return CLI_OK;
}

/* Before anything is read, which may take long. */
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
        return cli_usage(c, "'%s' is no FORMAT for --format", o->format);
    if (!make_view(&view, c, o, args[0]))
        return cli_usage(c, "'%s' is no WHAT for --by", o->by);
    int status = check_usage(c, o, format);
    if (status)
        return status;
    /* Weights tell the shapes and types that the text does not. */
    cfx_status rc = cli_load(c, &gm, args[0], true, &err);
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
