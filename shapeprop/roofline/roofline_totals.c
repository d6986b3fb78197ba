/*
 * roofline_totals -- print the lines above and below a table: machine and sums.
 */
#include "dim/dim_text.h"
#include "shapeprop/roofline/roofline_table.h"
#include "shapeprop/shapes/symbols.h"

/* ---- The machine ---- */

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static void put_levels(cfx_buf *b, const cfx_machine_rates *r)
{
    char bytes[32], rate[32], ridge[32];
    for (int i = 0; i < r->nlevels; i++) {
        const cfx_machine_level *l = &r->level[i];
        const double *rates = l->rate;
        double in = rates[CFX_MACHINE_READ] > 0    ? rates[CFX_MACHINE_READ]
                    : rates[CFX_MACHINE_TRIAD] > 0 ? rates[CFX_MACHINE_TRIAD]
                                                   : rates[CFX_MACHINE_WRITE];
        bool cache = i + 1 < r->nlevels && l->bytes > 0;
        cfx_cell c = {.kind = CFX_CELL_NUMBER,
                      .x = cfx_machine_peak(r, CFX_F32) / in};
        cfx_human(bytes, sizeof(bytes), (double)cfx_machine_capacity(r, l),
                  "B");
        cfx_human(rate, sizeof(rate), in, "B/s");
        cfx_cell__human(&c, ridge, sizeof(ridge));
        cfx_buf_printf(b, "%s%s%s%s %s, ridge %s\n",
                       i ? "          " : "levels    ", l->name,
                       cache ? " " : "", cache ? bytes : "", rate, ridge);
    }
}

/* Does some node multiply numbers of a type? */
static bool multiplies(const cfx_roofline *r, cfx_dtype dtype)
{
    for (size_t i = 0; i < r->nnodes; i++)
        if (r->node[i].cost->dtype == dtype &&
            !cfx_dim_is(r->node[i].cost->cost.macs, 0))
            return true;
    return false;
}

/* That of float32, and of narrower types that have their own. */
static void put_peaks(cfx_buf *b, const cfx_roofline *r)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_BF16, CFX_I8};
    char peak[32];
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (types[i] != CFX_F32 && !multiplies(r, types[i]))
            continue;
        cfx_human(peak, sizeof(peak), cfx_machine_peak(r->rates, types[i]),
                  "FLOP/s");
        cfx_buf_printf(b, "%s%s %s", i ? ", " : "peak      ",
                       cfx_dtypes[types[i]].name, peak);
    }
    cfx_buf_putc(b, '\n');
}

void cfx_roofline__put_machine(cfx_buf *b, const cfx_roofline *r,
                               const cfx_roofline_view *view)
{
    if (view->model)
        cfx_buf_printf(b, "model     %s\n", view->model);
    if (r->rates) {
        cfx_buf_printf(b, "machine   %s, %d thread%s\n", r->machine->name,
                       r->rates->threads, plural(r->rates->threads));
        if (r->machine->doubt)
            cfx_buf_printf(b, "doubtful  %s\n", r->machine->doubt);
        put_peaks(b, r);
        put_levels(b, r->rates);
    }
    if (b->len)
        cfx_buf_putc(b, '\n');
}

/* ---- Symbols ---- */

void cfx_roofline__put_symbols(cfx_buf *b, const cfx_roofline *r,
                               bool markdown)
{
    size_t n = r->env ? cfx_shape_env_symbols(r->env) : 0;
    size_t guards = r->env ? cfx_shape_env_guards(r->env) : 0;
    const char *mark = markdown ? "`" : "";
    for (size_t i = 0; i < n; i++) {
        cfx_symbol s;
        cfx_out o;
        cfx_shape_env_symbol(r->env, i, &s);
        cfx_buf_printf(b, "%s%s", i ? ", " : "\nsymbols: ", mark);
        cfx_out_init(&o, cfx_sink_buf(b));
        cfx_symbol__put(&o, &s);
        cfx_out_finish(&o, NULL); /* the buffer keeps failures */
        cfx_buf_puts(b, mark);
    }
    cfx_buf_puts(b, n ? "\n" : "");
    for (size_t i = 0; i < guards; i++) {
        const char *before = markdown ? (i ? ", " : "\nguards: ")
                                      : (i ? "\n         " : "guards:  ");
        cfx_buf_printf(b, "%s%s%s%s", before, mark,
                       cfx_shape_env_guard(r->env, i), mark);
    }
    cfx_buf_puts(b, guards ? "\n" : "");
}

/* ---- Crossovers ---- */

/* With one crossover, the bound from there on; otherwise each interval. */
void cfx_roofline__put_crossovers(cfx_buf *b, const cfx_roofline *r)
{
    for (size_t i = 0; i < r->ncrossovers; i++) {
        const cfx_crossover *t = &r->crossover[i];
        bool more = i + 1 < r->ncrossovers &&
                    r->crossover[i + 1].row == t->row;
        if (!i)
            cfx_buf_putc(b, '\n');
        cfx_buf_printf(b, "%s is %s-bound for %s >= %lld",
                       r->node[t->row].cost->node->name,
                       cfx_bound_names[t->after], r->symbol, (long long)t->at);
        for (; more; more = i + 1 < r->ncrossovers &&
                            r->crossover[i + 1].row == t->row) {
            t = &r->crossover[++i];
            cfx_buf_printf(b, ", %s-bound for %s >= %lld",
                           cfx_bound_names[t->after], r->symbol,
                           (long long)t->at);
        }
        cfx_buf_putc(b, '\n');
    }
}

/* ---- Totals ---- */

/* Format 1,814,073,344. */
static void put_grouped(char *buf, size_t size, int64_t v)
{
    char digits[24];
    size_t n = 0, at = sizeof(digits);
    bool minus = v < 0;
    uint64_t u = minus ? 0 - (uint64_t)v : (uint64_t)v;
    char out[40];
    do
        digits[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (minus)
        out[n++] = '-';
    for (size_t left = sizeof(digits) - at; left; left--) {
        out[n++] = digits[at++];
        if (left > 1 && left % 3 == 1)
            out[n++] = ',';
    }
    out[n] = '\0';
    if (size)
        memcpy(buf, out, n + 1 < size ? n + 1 : size);
    if (size)
        buf[size - 1] = '\0';
}

static void put_count(cfx_buf *b, const char *name, cfx_dim d,
                      const char *unit, const char *note)
{
    if (cfx_dim_is_int(d)) {
        char exact[32], human[32];
        put_grouped(exact, sizeof(exact), cfx_dim_value(d));
        cfx_human(human, sizeof(human), (double)cfx_dim_value(d), unit);
        cfx_buf_printf(b, "%-18s%16s  %8s%s%s\n", name, exact, human,
                       *note ? "  " : "", note);
        return;
    }
    cfx_buf_printf(b, "%-18s", name);
    if (cfx_dim_is_bad(d))
        cfx_buf_puts(b, "not known");
    else
        cfx_buf_dim(b, d);
    cfx_buf_printf(b, "%s%s\n", *note ? "  " : "", note);
}

static void put_seconds(cfx_buf *b, const char *name, double s)
{
    char text[32];
    cfx_human(text, sizeof(text), s, "s");
    cfx_buf_printf(b, "%-18s%16s", name, text);
}

static void put_fraction(cfx_buf *b, double x)
{
    char text[32];
    cfx_cell c = {.kind = CFX_CELL_FRACTION, .x = x};
    cfx_cell__human(&c, text, sizeof(text));
    cfx_buf_puts(b, text);
}

/* Put "  (compute 96.1%, memory 3.9%)". */
static void put_bounds(cfx_buf *b, const cfx_roofline *r)
{
    const char *between = "  (";
    for (int i = CFX_BOUND_COMPUTE; i < CFX_NBOUNDS; i++) {
        if (!r->bound_sum[i].cost.nodes || r->total.floor <= 0)
            continue;
        cfx_buf_printf(b, "%s%s ", between, cfx_bound_names[i]);
        put_fraction(b, r->bound_sum[i].floor / r->total.floor);
        between = ", ";
    }
    cfx_buf_puts(b, *between == ',' ? ")\n" : "\n");
}

void cfx_roofline__put_totals(cfx_buf *b, const cfx_roofline *r)
{
    const cfx_cost_sum *s = &r->total.cost;
    bool number = cfx_dim_is_int(s->cost.macs);
    put_count(b, "MACs", s->cost.macs, "",
              number ? "multiply-adds of contractions" : "");
    put_count(b, "other operations", s->cost.ops, "", "");
    put_count(b, "  transcendental", s->cost.transcendental, "", "");
    put_count(b, "FLOPs", cfx_cost_flops(r->env, &s->cost), "",
              number ? "2 * MACs + other operations" : "");
    put_count(b, "bytes read", s->cost.bytes_read, "B", "");
    put_count(b, "bytes written", s->cost.bytes_written, "B", "");
    put_count(b, "parameters", s->parameters, "", "");
    put_count(b, "  their bytes", s->parameter_bytes, "B", "");
    if (!cfx_dim_is(s->buffer_bytes, 0))
        put_count(b, "  buffers' bytes", s->buffer_bytes, "B",
                  cfx_dim_is(s->parameters, 0) ? "packed weights are buffers"
                                               : "");
    put_count(b, "peak live memory", r->peak_bytes, "B",
              cfx_dim_is_int(r->peak_bytes) ? ""
                                            : "and operators' scratch memory");
    if (r->rates && r->total.floor >= 0) {
        put_seconds(b, "floor", r->total.floor);
        put_bounds(b, r);
    }
    if (r->runs) {
        put_seconds(b, "whole run", r->run_seconds);
        cfx_buf_printf(b, "  (median of %d run%s", r->runs, plural(r->runs));
        if (r->rates && r->total.floor >= 0 && r->run_seconds > 0) {
            cfx_buf_puts(b, "; efficiency ");
            put_fraction(b, r->total.floor / r->run_seconds);
        }
        cfx_buf_puts(b, ")\n");
        put_seconds(b, "sum of nodes", r->total.seconds);
        cfx_buf_puts(b, "  (the median of each; the tables add these up)\n");
    }
}
