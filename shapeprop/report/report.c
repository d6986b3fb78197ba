/*
 * report -- a roofline as a picture and as a page.
 */
#include <math.h>

#include "shapeprop/report/report_impl.h"
#include "shapeprop/roofline/roofline_json.h"

/* ---- A roofline as input of a drawing ---- */

static double number(cfx_dim d)
{
    return cfx_dim_is_int(d) ? (double)cfx_dim_value(d) : NAN;
}

static bool is_formula(cfx_dim d)
{
    return !cfx_dim_is_int(d) && !cfx_dim_is_bad(d);
}

static double or_nan(double x)
{
    return x >= 0 ? x : NAN;
}

static cfx_report_row row_of(const cfx_roofline *r, size_t i)
{
    const cfx_roofline_node *n = &r->node[i];
    const cfx_node *g = n->cost->node;
    bool bound = r->rates && n->floor.bound != CFX_BOUND_UNKNOWN;
    return (cfx_report_row){
        .name = g->name,
        .op = cfx_cost_operator(g, r->gm),
        .dtype = n->cost->calls ? cfx_dtypes[n->cost->dtype].name : NULL,
        .bound = bound ? cfx_bound_names[n->floor.bound] : NULL,
        .flops = number(n->flops),
        .bytes = number(n->bytes),
        .time = r->runs ? n->seconds
                : bound ? n->floor.seconds
                        : NAN,
        .efficiency = or_nan(cfx_roofline_efficiency(n)),
        .formula = is_formula(n->flops) || is_formula(n->bytes),
    };
}

/* Return the best measured rate of a level. */
static double bandwidth(const cfx_machine_level *l)
{
    double best = 0;
    for (int k = 0; k < CFX_MACHINE_KERNELS; k++)
        best = fmax(best, l->rate[k]);
    return best;
}

typedef struct drawing {
    cfx_report_source from;
    cfx_report_row *row;
    cfx_report_ceiling peak[CFX_MACHINE_TYPES], level[CFX_MACHINE_LEVELS];
    cfx_report report;
} drawing;

static void add_machine(drawing *d, const cfx_roofline *r)
{
    cfx_report_source *from = &d->from;
    from->machine = r->machine->name;
    from->threads = r->rates->threads;
    from->peak = d->peak;
    from->level = d->level;
    for (int t = 0; t < CFX_MACHINE_TYPES; t++)
        d->peak[from->npeaks++] = (cfx_report_ceiling){
            cfx_machine_type_name((cfx_machine_type)t), r->rates->peak[t]};
    for (int i = 0; i < r->rates->nlevels; i++)
        d->level[from->nlevels++] = (cfx_report_ceiling){
            r->rates->level[i].name, bandwidth(&r->rates->level[i])};
}

/* Release it, also on failure. */
static cfx_status drawing_init(drawing *d, const cfx_roofline *r,
                               const char *model, cfx_error *err)
{
    *d = (drawing){
        .from = {.model = model, .nrows = r->nnodes, .measured = r->runs > 0}};
    d->row = cfx_calloc(r->ctx, r->nnodes + 1, sizeof(*d->row));
    if (!d->row)
        return cfx_no_memory(err);
    for (size_t i = 0; i < r->nnodes; i++)
        d->row[i] = row_of(r, i);
    d->from.row = d->row;
    if (r->rates)
        add_machine(d, r);
    return cfx_report__init(&d->report, r->ctx, &d->from, err);
}

static void drawing_release(drawing *d, const cfx_roofline *r)
{
    if (d->report.from)
        cfx_report__release(&d->report);
    cfx_free(r->ctx, d->row, (r->nnodes + 1) * sizeof(*d->row));
}

/* ---- Printing ---- */

cfx_status cfx_roofline_print_svg(cfx_sink to, const cfx_roofline *r,
                                  const cfx_roofline_view *view,
                                  cfx_error *err)
{
    drawing d;
    cfx_status st = drawing_init(&d, r, view->model, err);
    if (!st)
        st = cfx_report__print_svg(to, &d.report, err);
    drawing_release(&d, r);
    return st;
}

typedef struct document {
    const cfx_roofline *from;
    const char *model;
} document;

static void put_document(cfx_out *o, void *user)
{
    const document *d = user;
    cfx_roofline__put_json(o, d->from, d->model, true);
}

cfx_status cfx_roofline_print_html(cfx_sink to, const cfx_roofline *r,
                                   const cfx_roofline_view *view,
                                   cfx_error *err)
{
    drawing d;
    document from = {r, view->model};
    cfx_status st = drawing_init(&d, r, view->model, err);
    if (!st)
        st = cfx_report__print_html(to, &d.report, put_document, &from, err);
    drawing_release(&d, r);
    return st;
}
