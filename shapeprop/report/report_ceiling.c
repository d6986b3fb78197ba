/*
 * report_ceiling -- draw the machine's ceilings, with labels that hide few
 * marks.
 *
 * A label is above its line and can begin every few pixels of it. Each mark
 * that it would hide has a price; the label of a nearby line has a much higher
 * one. The cheapest position wins; among equal ones the first, from below for
 * memory slopes, from the right for peaks.
 */
#include "shapeprop/report/report_plot.h"

#include <math.h>

enum { STEP = 6, STEPS = 200 };
static const double margin = 10, name_height = 17;

typedef struct line {
    const cfx_report_ceiling *c;
    const char *unit;
    double x, y, length, sine, cosine; /* y grows downwards */
    double at, width; /* of its label; `at` below 0: no room */
    bool flat;
} line;

typedef struct lines {
    cfx_plot *p;
    line line[2 * CFX_REPORT_CEILINGS];
    size_t n;
} lines;

/* ---- Lines ---- */

static void add_line(lines *all, const cfx_report_ceiling *c, const char *unit,
                     double x1, double y1, double x2, double y2)
{
    double length = hypot(x2 - x1, y2 - y1);
    bool flat = y1 == y2;
    /* The number takes about eight characters before its unit. */
    double letters = (double)(strlen(c->name) + strlen(unit)) + 8;
    all->line[all->n++] = (line){.c = c,
                                 .unit = unit,
                                 .x = x1,
                                 .y = y1,
                                 .length = length,
                                 .sine = (y1 - y2) / length,
                                 .cosine = (x2 - x1) / length,
                                 .width = letters * cfx_plot_char,
                                 .flat = flat};
}

static void add_peaks(lines *all)
{
    const cfx_plot *p = all->p;
    for (size_t i = 0; i < p->r->npeaks; i++) {
        const cfx_report_ceiling *c = &p->r->peak[i];
        double y = cfx_plot__place(&p->y, log10(c->rate));
        add_line(all, c, "FLOP/s", p->x.from, y, p->x.to, y);
    }
}

/* Lines go from the edge of the plot to the highest peak. */
static void add_levels(lines *all)
{
    const cfx_plot *p = all->p;
    double roof = p->r->npeaks ? log10(p->r->peak[0].rate) : p->y.high;
    for (size_t i = 0; i < p->r->nlevels; i++) {
        const cfx_report_ceiling *c = &p->r->level[i];
        double log = log10(c->rate);
        double low = fmax(p->x.low, p->y.low - log);
        double high = fmin(p->x.high, roof - log);
        if (low < high)
            add_line(all, c, "B/s", cfx_plot__place(&p->x, low),
                     cfx_plot__place(&p->y, log + low),
                     cfx_plot__place(&p->x, high),
                     cfx_plot__place(&p->y, log + high));
    }
}

/* ---- Labels ---- */

/* Position of a point along a line, and its distance above the line. */
static double along(const line *l, double x, double y)
{
    return (x - l->x) * l->cosine - (y - l->y) * l->sine;
}

static double above(const line *l, double x, double y)
{
    return -(x - l->x) * l->sine - (y - l->y) * l->cosine;
}

/* Return the start of the nth label position. */
static double place_of(const line *l, int n)
{
    double at = margin + STEP * n;
    return l->flat ? l->length - l->width - at : at;
}

/* Add a price to all label positions that overlap from..to of the line. */
static void add_price(const line *l, double *price, int n, double from,
                      double to, double by)
{
    for (int i = 0; i < n; i++) {
        double at = place_of(l, i);
        if (from < at + l->width && to > at)
            price[i] += by;
    }
}

static void find_place(lines *all, size_t index)
{
    line *l = &all->line[index];
    const cfx_report *r = all->p->r;
    double price[STEPS] = {0};
    double room = l->length - l->width - 2 * margin;
    int n = room < 0 ? 0 : (int)fmin(room / STEP + 1, STEPS), best = 0;
    for (size_t i = 0; n && i < r->nnodes; i++) {
        const cfx_report_node *k = &r->node[i];
        double t = along(l, k->x, k->y), d = above(l, k->x, k->y);
        if (d + k->r > 2 && d - k->r < name_height)
            add_price(l, price, n, t - k->r, t + k->r, 1);
    }
    for (size_t i = 0; i < index; i++) {
        const line *k = &all->line[i];
        double x = k->x + k->at * k->cosine, y = k->y - k->at * k->sine;
        double t = along(l, x, y);
        if (k->at >= 0 && k->flat == l->flat &&
            fabs(above(l, x, y)) < name_height)
            add_price(l, price, n, t - 8, t + k->width + 8, 1e6);
    }
    for (int i = 1; i < n; i++)
        if (price[i] < price[best])
            best = i;
    l->at = n ? place_of(l, best) : -1;
}

static void put_line(cfx_out *o, const line *l)
{
    cfx_out_puts(o, "<path class=\"roof\" d=\"");
    cfx_plot__point(o, "M", l->x, l->y);
    cfx_plot__point(o, "l", l->length * l->cosine, -l->length * l->sine);
    cfx_out_puts(o, "\"/>\n");
}

static void put_name(cfx_out *o, const line *l)
{
    if (l->at < 0)
        return;
    cfx_out_puts(o, "<text class=\"halo\" transform=\"translate(");
    cfx_plot__point(o, "", l->x + l->at * l->cosine, l->y - l->at * l->sine);
    cfx_out_puts(o, ") rotate(");
    cfx_plot__decimals(o, -atan2(l->sine, l->cosine) * 57.29577951308232, 2);
    cfx_out_puts(o, ") translate(0 -6)\">");
    cfx_plot__string(o, l->c->name);
    cfx_out_putc(o, ' ');
    cfx_report__put_quantity(o, l->c->rate, l->unit);
    cfx_out_puts(o, "</text>\n");
}

void cfx_plot__ceilings(cfx_plot *p, bool names)
{
    lines all = {.p = p};
    add_peaks(&all);
    add_levels(&all);
    for (size_t i = 0; i < all.n; i++) {
        if (names) {
            find_place(&all, i);
            put_name(p->out, &all.line[i]);
        } else {
            put_line(p->out, &all.line[i]);
        }
    }
}
