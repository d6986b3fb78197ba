/*
 * roofline_columns -- the columns of a row.
 */
#include "shapeprop/roofline/roofline_table.h"

#include <math.h>
#include <stdio.h>

/* ---- Cells ---- */

static void set_dim(cfx_cell *c, cfx_cell_kind kind, cfx_dim d)
{
    c->kind = cfx_dim_is_bad(d) ? CFX_CELL_NONE : kind;
    c->dim = d;
    if (cfx_dim_is_int(d))
        c->x = (double)cfx_dim_value(d);
}

static void set_x(cfx_cell *c, cfx_cell_kind kind, double x)
{
    c->kind = x >= 0 && isfinite(x) ? kind : CFX_CELL_NONE;
    c->x = x;
}

static void set_text(cfx_cell *c, const char *s)
{
    c->kind = s ? CFX_CELL_TEXT : CFX_CELL_NONE;
    snprintf(c->text, sizeof(c->text), "%s", s ? s : "");
}

/* ---- Names ---- */

#define GET(name_)                                                            \
    static void get_##name_(const cfx_roofline *r, const cfx_table_row *row,  \
                            cfx_cell *c)

GET(name)
{
    (void)r;
    set_text(c, row->name);
    c->indent = 2 * row->depth;
}

GET(op)
{
    (void)r;
    set_text(c,
             row->node ? cfx_opcode_names[row->node->cost->node->op] : NULL);
}

GET(target)
{
    (void)r;
    set_text(c, row->node ? row->node->cost->node->target->text : NULL);
}

GET(module)
{
    const cfx_cost_groups *g = &r->modules;
    int64_t i = row->node ? g->of[row->node - r->node] : -1;
    set_text(c, i >= 0 ? g->group[i].key : NULL);
}

GET(type)
{
    (void)r;
    set_text(c, row->type);
}

GET(nodes)
{
    (void)r;
    set_dim(c, CFX_CELL_WHOLE, cfx_dim_int((int64_t)row->nodes));
}

struct writing {
    char *at;
    size_t len, cap;
};

static cfx_status write_part(void *user, const char *text, size_t len)
{
    struct writing *w = user;
    size_t n = len < w->cap - w->len ? len : w->cap - w->len;
    memcpy(w->at + w->len, text, n);
    w->len += n;
    w->at[w->len] = '\0';
    return CFX_OK;
}

GET(shape)
{
    struct writing w = {c->text, 0, sizeof(c->text) - 1};
    (void)r;
    if (!row->node || cfx_value_is_none(row->node->cost->value) ||
        cfx_print_shape((cfx_sink){write_part, &w}, row->node->cost->value,
                        false, NULL))
        return;
    c->kind = CFX_CELL_TEXT;
}

GET(dtype)
{
    (void)r;
    if (row->node && row->node->cost->calls)
        set_text(c, cfx_dtypes[row->node->cost->dtype].name);
}

/* ---- Counts ---- */

#define COUNT(name_, kind_, dim_)                                             \
    GET(name_)                                                                \
    {                                                                         \
        (void)r;                                                              \
        set_dim(c, kind_, dim_);                                              \
    }

COUNT(macs, CFX_CELL_COUNT, row->cost->macs)
COUNT(flops, CFX_CELL_COUNT, row->flops)
COUNT(ops, CFX_CELL_COUNT, row->cost->ops)
COUNT(transcendental, CFX_CELL_COUNT, row->cost->transcendental)
COUNT(read, CFX_CELL_BYTES, row->cost->bytes_read)
COUNT(written, CFX_CELL_BYTES, row->cost->bytes_written)
COUNT(bytes, CFX_CELL_BYTES, row->bytes)
COUNT(parameters, CFX_CELL_COUNT, row->parameters)
COUNT(weights, CFX_CELL_BYTES, row->parameter_bytes)

static double known(cfx_dim d)
{
    return cfx_dim_is_int(d) ? (double)cfx_dim_value(d) : -1;
}

/* An expression is shown as "(118013952*N)/(2*N + 9408)". */
GET(intensity)
{
    double flops = known(row->flops), bytes = known(row->bytes);
    char top[100], bottom[100];
    (void)r;
    if (flops >= 0 && bytes >= 0) {
        set_x(c, CFX_CELL_NUMBER, bytes > 0 ? flops / bytes : -1);
        return;
    }
    if (flops == 0) {
        set_x(c, CFX_CELL_NUMBER, 0);
        return;
    }
    if (cfx_dim_is_bad(row->flops) || cfx_dim_is_bad(row->bytes) ||
        cfx_dim_format(row->flops, top, sizeof(top)) >= sizeof(top) ||
        cfx_dim_format(row->bytes, bottom, sizeof(bottom)) >= sizeof(bottom))
        return;
    snprintf(c->text, sizeof(c->text), "(%s)/(%s)", top, bottom);
    c->kind = CFX_CELL_TEXT;
}

/* ---- Floors ---- */

static bool has_floor(const cfx_roofline *r, const cfx_table_row *row)
{
    return r->rates && row->node &&
           row->node->floor.bound != CFX_BOUND_UNKNOWN;
}

/* Describe a bound that depends on N: "memory, compute from N=21". */
static void follow_bound(const cfx_roofline *r, const cfx_table_row *row,
                         cfx_cell *c)
{
    size_t at = (size_t)(row->node - r->node), len;
    set_text(c, cfx_bound_names[row->node->first]);
    for (size_t i = 0; i < r->ncrossovers; i++) {
        if (r->crossover[i].row != at)
            continue;
        len = strlen(c->text);
        snprintf(c->text + len, sizeof(c->text) - len, ", %s from %s=%lld",
                 cfx_bound_names[r->crossover[i].after], r->symbol,
                 (long long)r->crossover[i].at);
    }
}

GET(bound)
{
    if (has_floor(r, row))
        set_text(c, cfx_bound_names[row->node->floor.bound]);
    else if (row->node && row->node->first)
        follow_bound(r, row, c);
}

GET(level)
{
    if (has_floor(r, row) && row->node->floor.level >= 0)
        set_text(c, r->rates->level[row->node->floor.level].name);
}

GET(algorithm)
{
    (void)r;
    if (row->node && row->node->cost->calls)
        set_text(c, row->node->cost->algorithm ? row->node->cost->algorithm
                                               : "direct");
}

GET(ridge)
{
    if (has_floor(r, row) && row->node->floor.ridge > 0)
        set_x(c, CFX_CELL_NUMBER, row->node->floor.ridge);
}

GET(floor)
{
    if (r->rates)
        set_x(c, CFX_CELL_SECONDS, row->floor);
}

/* ---- Measurements ---- */

static bool is_timed(const cfx_roofline *r, const cfx_table_row *row)
{
    return r->runs && row->seconds > 0;
}

GET(seconds)
{
    if (r->runs)
        set_x(c, CFX_CELL_SECONDS, row->seconds);
}

GET(gflops)
{
    if (is_timed(r, row) && known(row->flops) > 0)
        set_x(c, CFX_CELL_FLOPS, known(row->flops) / row->seconds);
}

GET(bandwidth)
{
    if (is_timed(r, row) && known(row->bytes) > 0)
        set_x(c, CFX_CELL_BANDWIDTH, known(row->bytes) / row->seconds);
}

GET(efficiency)
{
    if (is_timed(r, row) && r->rates && row->floor > 0)
        set_x(c, CFX_CELL_FRACTION, row->floor / row->seconds);
}

GET(share)
{
    (void)r;
    set_x(c, CFX_CELL_FRACTION, row->share);
}

GET(computing)
{
    (void)r;
    set_x(c, CFX_CELL_FRACTION, row->computing);
}

COUNT(live, CFX_CELL_BYTES, row->live)

const cfx_column cfx_columns[] = {
    {"name", "name", "name", true, 0, get_name},
    {"op", "op", "op", true, 90, get_op},
    {"target", "target", "target", true, 80, get_target},
    {"module", "module_path", "module", true, 80, get_module},
    {"type", "type", "type", true, 30, get_type},
    {"nodes", "nodes", "nodes", false, 20, get_nodes},
    {"shape", "shape", "result", true, 40, get_shape},
    {"dtype", "dtype", "type", true, 60, get_dtype},
    {"macs", "macs", "MACs", false, 25, get_macs},
    {"flops", "flops", "FLOPs", false, 10, get_flops},
    {"ops", "ops", "other ops", false, 70, get_ops},
    {"transcendental", "transcendental", "transc.", false, 75,
     get_transcendental},
    {"read", "bytes_read", "read", false, 70, get_read},
    {"written", "bytes_written", "written", false, 70, get_written},
    {"bytes", "bytes", "bytes", false, 15, get_bytes},
    {"parameters", "parameters", "params", false, 60, get_parameters},
    {"weights", "parameter_bytes", "weights", false, 65, get_weights},
    {"intensity", "intensity", "FLOP/B", false, 35, get_intensity},
    {"ridge", "ridge", "ridge", false, 55, get_ridge},
    {"bound", "bound", "bound", true, 12, get_bound},
    {"level", "level", "level", true, 45, get_level},
    {"algorithm", "algorithm", "algorithm", true, 50, get_algorithm},
    {"floor", "floor_seconds", "floor", false, 5, get_floor},
    {"seconds", "seconds", "time", false, 4, get_seconds},
    {"gflops", "flops_per_second", "FLOP/s", false, 27, get_gflops},
    {"bandwidth", "bytes_per_second", "B/s", false, 32, get_bandwidth},
    {"efficiency", "efficiency", "eff.", false, 6, get_efficiency},
    {"share", "share", "share", false, 8, get_share},
    {"computing", "compute_bound", "compute", false, 36, get_computing},
    {"live", "live_bytes", "live", false, 60, get_live},
};
const size_t cfx_ncolumns = sizeof(cfx_columns) / sizeof(*cfx_columns);

const char *cfx_roofline_column(size_t i, const char **title)
{
    if (i >= cfx_ncolumns)
        return NULL;
    if (title)
        *title = cfx_columns[i].title;
    return cfx_columns[i].name;
}

const cfx_column *cfx_column__find(const char *name, size_t len)
{
    for (size_t i = 0; i < cfx_ncolumns; i++) {
        const cfx_column *c = &cfx_columns[i];
        if ((strlen(c->name) == len && !memcmp(c->name, name, len)) ||
            (strlen(c->key) == len && !memcmp(c->key, name, len)))
            return c;
    }
    return NULL;
}

const char *cfx_roofline_find_column(const char *name, size_t len)
{
    const cfx_column *c = cfx_column__find(name, len);
    return c ? c->name : NULL;
}

/* ---- Numbers as text ---- */

/* The decimal point is the same in every locale. */
static void fixed(char *buf, size_t size, double x, int digits,
                  const char *unit)
{
    static const int power[] = {1, 10, 100};
    bool minus = x < 0;
    long long n = llround(fabs(x) * power[digits]);
    if (digits)
        snprintf(buf, size, "%s%lld.%0*lld%s", minus ? "-" : "",
                 n / power[digits], digits, n % power[digits], unit);
    else
        snprintf(buf, size, "%s%lld%s", minus ? "-" : "", n, unit);
}

/* Three digits; a number that rounds to 1000 gets the next prefix. */
void cfx_human(char *buf, size_t size, double x, const char *unit)
{
    static const char prefix[] = "num kMGTPE";
    char end[16];
    int at = 3;
    while (fabs(x) >= 999.5 && at < 9) {
        x /= 1000;
        at++;
    }
    while (fabs(x) < 0.9995 && at > 0 && x != 0) {
        x *= 1000;
        at--;
    }
    double a = fabs(x);
    int digits = a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2;
    if (at == 3 && x == floor(x))
        digits = 0;
    snprintf(end, sizeof(end), "%.*s%s", at != 3, &prefix[at], unit);
    fixed(buf, size, x, digits, end);
}

void cfx_cell__human(const cfx_cell *c, char *buf, size_t size)
{
    *buf = '\0';
    switch (c->kind) {
    case CFX_CELL_NONE: break;
    case CFX_CELL_TEXT:
        snprintf(buf, size, "%*s%s", c->indent, "", c->text);
        break;
    case CFX_CELL_WHOLE: cfx_dim_format(c->dim, buf, size); break;
    case CFX_CELL_COUNT:
    case CFX_CELL_BYTES:
        if (cfx_dim_is_int(c->dim))
            cfx_human(buf, size, c->x, c->kind == CFX_CELL_BYTES ? "B" : "");
        else
            cfx_dim_format(c->dim, buf, size);
        break;
    case CFX_CELL_NUMBER:
        fixed(buf, size, c->x,
              c->x == floor(c->x) ? 0
              : c->x < 10         ? 2
                                  : c->x < 1000,
              "");
        break;
    case CFX_CELL_SECONDS: cfx_human(buf, size, c->x, "s"); break;
    case CFX_CELL_FLOPS:
    case CFX_CELL_BANDWIDTH: cfx_human(buf, size, c->x, ""); break;
    case CFX_CELL_FRACTION: fixed(buf, size, 100 * c->x, 1, "%"); break;
    }
}

void cfx_cell__plain(const cfx_cell *c, char *buf, size_t size)
{
    *buf = '\0';
    switch (c->kind) {
    case CFX_CELL_NONE: break;
    case CFX_CELL_TEXT: snprintf(buf, size, "%s", c->text); break;
    case CFX_CELL_WHOLE:
    case CFX_CELL_COUNT:
    case CFX_CELL_BYTES: cfx_dim_format(c->dim, buf, size); break;
    default:
        if (size >= 32)
            cfx_float_repr(buf, c->x);
        break;
    }
}
