/*
 * report_draw -- the roofline as SVG: axes, ceilings, marks, a legend.
 *
 * Both axes are logarithmic. Colours are those of Okabe and Ito, which
 * colour-blind readers can distinguish; each has its own shape, so that nothing
 * depends on colour alone. A second part of the style sheet is for dark
 * screens.
 */
#include "shapeprop/report/report_plot.h"

#include <math.h>

enum { MARKS_MANY = 1000 };

static const double width = 960, left = 92, right = 928, top = 76,
                    bottom = 520, legend_top = 586, row_height = 20;

static const char style[] =
    "<style>\n"
    ".roofline { background: #fff; font: 11px system-ui, 'DejaVu Sans', sans-serif; font-variant-numeric: tabular-nums }\n"
    ".roofline text { fill: #1c2733 }\n"
    ".roofline .title { font-size: 16px; font-weight: 600 }\n"
    ".roofline .quiet { fill: #55606e }\n"
    ".roofline .grid { stroke: #e4e8ec; stroke-width: 1 }\n"
    ".roofline .roof { stroke: #5b6673; stroke-width: 1.5; fill: none }\n"
    ".roofline .halo { paint-order: stroke; stroke: #fff; stroke-width: 4; stroke-linejoin: round }\n"
    ".roofline .mark { stroke: #fff; stroke-width: .8; fill-opacity: .8 }\n"
    ".roofline .k0 { fill: #0072b2 } .roofline .k1 { fill: #d55e00 }\n"
    ".roofline .k2 { fill: #009e73 } .roofline .k3 { fill: #cc79a7 }\n"
    ".roofline .k4 { fill: #e69f00 } .roofline .k5 { fill: #56b4e9 }\n"
    ".roofline .k6 { fill: #b8ab00 } .roofline .k7 { fill: #7a828c }\n"
    "@media (prefers-color-scheme: dark) {\n"
    ".roofline { background: #14181d }\n"
    ".roofline text { fill: #e6eaee }\n"
    ".roofline .quiet { fill: #a4afba }\n"
    ".roofline .grid { stroke: #2a3138 }\n"
    ".roofline .roof { stroke: #97a3af }\n"
    ".roofline .halo { stroke: #14181d }\n"
    ".roofline .mark { stroke: #14181d }\n"
    ".roofline .k0 { fill: #3d9be0 } .roofline .k1 { fill: #f07f2e }\n"
    ".roofline .k2 { fill: #1fbf92 } .roofline .k6 { fill: #f0e442 }\n"
    ".roofline .k7 { fill: #98a1ab }\n"
    "}\n"
    "</style>\n";

/* ---- Axes ---- */

static void include(cfx_plot_axis *a, double v)
{
    double log = log10(v);
    a->low = log < a->low ? log : a->low;
    a->high = log > a->high ? log : a->high;
}

/* Add margins around the marks, and show at least two decades. */
static void widen(cfx_plot_axis *a, double below, double above)
{
    a->low -= below;
    a->high += above;
    if (a->high - a->low < 2)
        a->low = a->high - 2;
}

static void find_axes(cfx_plot *p)
{
    const cfx_report *r = p->r;
    p->x = (cfx_plot_axis){INFINITY, -INFINITY, left, right};
    p->y = (cfx_plot_axis){INFINITY, -INFINITY, bottom, top};
    for (size_t i = 0; i < r->nnodes; i++) {
        include(&p->x, r->node[i].intensity);
        include(&p->y, r->node[i].rate);
    }
    for (size_t i = 0; i < r->npeaks; i++)
        include(&p->y, r->peak[i].rate);
    /* Include the ridge points of the highest ceiling. */
    for (size_t i = 0; r->npeaks && i < r->nlevels; i++) {
        double ridge = r->peak[0].rate / r->level[i].rate;
        if (ridge > 0 && isfinite(ridge))
            include(&p->x, ridge);
    }
    if (!isfinite(p->x.low))
        p->x.low = -1, p->x.high = 2;
    if (!isfinite(p->y.low))
        p->y.low = 9, p->y.high = 12;
    /* The left margin has room for the labels of the ceilings. */
    widen(&p->x, 0.7, 0.4);
    widen(&p->y, 0.3, 0.25);
}

/* Label every power of ten, or every nth if there are many. */
static int tick_step(const cfx_plot_axis *a)
{
    int step = (int)ceil((a->high - a->low) / 9);
    return step < 1 ? 1 : step;
}

static void put_intensity(cfx_out *o, int log)
{
    if (log >= -4 && log < 0) {
        cfx_out_puts(o, "0.");
        cfx_out_repeat(o, '0', (size_t)(-log - 1));
        cfx_out_putc(o, '1');
    } else if (log >= 0 && log <= 4) {
        cfx_out_putc(o, '1');
        cfx_out_repeat(o, '0', (size_t)log);
    } else {
        cfx_out_puts(o, "1e");
        cfx_out_int(o, log);
    }
}

static void put_x_axis(cfx_plot *p)
{
    int step = tick_step(&p->x);
    for (int log = (int)ceil(p->x.low); log <= p->x.high; log += step) {
        double x = cfx_plot__place(&p->x, log);
        cfx_out_puts(p->out, "<path class=\"grid\" d=\"");
        cfx_plot__point(p->out, "M", x, top);
        cfx_plot__point(p->out, "L", x, bottom);
        cfx_out_puts(p->out, "\"/>");
        cfx_plot__begin_text(p->out, "quiet", x, bottom + 18, "middle");
        put_intensity(p->out, log);
        cfx_out_puts(p->out, "</text>\n");
    }
    cfx_plot__begin_text(p->out, "quiet", (left + right) / 2, bottom + 40,
                         "middle");
    cfx_out_puts(p->out, "arithmetic intensity, FLOP/byte</text>\n");
}

static void put_y_axis(cfx_plot *p)
{
    int step = tick_step(&p->y);
    for (int log = (int)ceil(p->y.low); log <= p->y.high; log += step) {
        double y = cfx_plot__place(&p->y, log);
        cfx_out_puts(p->out, "<path class=\"grid\" d=\"");
        cfx_plot__point(p->out, "M", left, y);
        cfx_plot__point(p->out, "L", right, y);
        cfx_out_puts(p->out, "\"/>");
        cfx_plot__begin_text(p->out, "quiet", left - 8, y + 4, "end");
        cfx_report__put_quantity(p->out, pow(10, log), "FLOP/s");
        cfx_out_puts(p->out, "</text>\n");
    }
}

/* ---- Marks ---- */

/* Polygons with the area of the unit circle; without corners: the circle. y
 * grows downwards. */
static const struct shape {
    int n;
    double corner[12][2];
} shapes[CFX_REPORT_LOOKS] = {
    {0, {{0, 0}}},
    {4, {{-.89, -.89}, {.89, -.89}, {.89, .89}, {-.89, .89}}},
    {3, {{0, -1.4}, {1.35, .9}, {-1.35, .9}}},
    {4, {{0, -1.35}, {1.16, 0}, {0, 1.35}, {-1.16, 0}}},
    {3, {{0, 1.4}, {1.35, -.9}, {-1.35, -.9}}},
    {12,
     {{-.4, -1.2},
      {.4, -1.2},
      {.4, -.4},
      {1.2, -.4},
      {1.2, .4},
      {.4, .4},
      {.4, 1.2},
      {-.4, 1.2},
      {-.4, .4},
      {-1.2, .4},
      {-1.2, -.4},
      {-.4, -.4}}},
    {6,
     {{0, -1.1},
      {.95, -.55},
      {.95, .55},
      {0, 1.1},
      {-.95, .55},
      {-.95, -.55}}},
    {0, {{0, 0}}},
};

/* The element stays open, so that it can have a title. */
static void put_mark(cfx_out *o, uint32_t kind, double x, double y, double r)
{
    const struct shape *s = &shapes[kind];
    cfx_out_puts(o, "<path class=\"mark k");
    cfx_out_int(o, (int64_t)kind);
    cfx_plot__point(o, "\" transform=\"translate(", x, y);
    cfx_out_puts(o, ")\" d=\"");
    if (!s->n) {
        cfx_plot__point(o, "M", -r, 0);
        cfx_plot__point(o, "a", r, r);
        cfx_plot__point(o, " 0 1 0 ", 2 * r, 0);
        cfx_plot__point(o, "a", r, r);
        cfx_plot__point(o, " 0 1 0 ", -2 * r, 0);
    }
    for (int i = 0; i < s->n; i++)
        cfx_plot__point(o, i ? "L" : "M", s->corner[i][0] * r,
                        s->corner[i][1] * r);
    cfx_out_puts(o, "z\"");
}

/* The area of a mark is proportional to its time, but all marks are visible. */
static void place_nodes(cfx_plot *p)
{
    const double least = 2.5, most = p->r->nnodes > MARKS_MANY ? 8 : 13;
    for (size_t i = 0; i < p->r->nnodes; i++) {
        cfx_report_node *n = &p->r->node[i];
        n->x = cfx_plot__place(&p->x, log10(n->intensity));
        n->y = cfx_plot__place(&p->y, log10(n->rate));
        n->r = least + (most - least) * sqrt(n->time / p->r->node[0].time);
    }
}

static void put_node(cfx_plot *p, const cfx_report_node *n)
{
    const cfx_report_source *from = p->r->from;
    put_mark(p->out, n->kind, n->x, n->y, n->r);
    cfx_out_puts(p->out, " data-node=\"");
    cfx_out_int(p->out, n->row - from->row);
    cfx_out_puts(p->out, "\"><title>");
    cfx_plot__string(p->out, n->row->name);
    cfx_out_puts(p->out, " (");
    cfx_report__put_text(p->out, n->what, n->what_len);
    cfx_out_puts(p->out, from->measured ? ")&#10;" : ")&#10;at least ");
    cfx_report__put_quantity(p->out, n->time, "s");
    cfx_out_puts(p->out, ", ");
    cfx_report__put_quantity(p->out, n->rate, "FLOP/s");
    cfx_out_puts(p->out, ", ");
    cfx_report__put_quantity(p->out, n->intensity, "FLOP/byte");
    if (n->row->bound) {
        cfx_out_puts(p->out, "&#10;bound: ");
        cfx_plot__string(p->out, n->row->bound);
    }
    double efficiency = n->row->efficiency;
    if (from->measured && efficiency >= 0 && efficiency < 1e6) {
        cfx_out_puts(p->out, "&#10;efficiency ");
        cfx_plot__decimals(p->out, efficiency * 100, 1);
        cfx_out_puts(p->out, " %");
    }
    cfx_out_puts(p->out, "</title></path>\n");
}

static void put_nodes(cfx_plot *p)
{
    const cfx_report *r = p->r;
    cfx_out_puts(p->out, "<g class=\"marks\">\n");
    for (size_t i = 0; i < r->nnodes; i++)
        put_node(p, &r->node[i]);
    cfx_out_puts(p->out, "</g>\n");
    if (r->nnodes)
        return;
    cfx_plot__begin_text(p->out, "halo", (left + right) / 2,
                         (top + bottom) / 2, "middle");
    cfx_out_puts(
        p->out,
        r->symbolic
            ? "Costs are expressions: give the symbols numbers (--set SYMBOL=N) to see the nodes here."
            : "No node has both arithmetic and bytes.");
    cfx_out_puts(p->out, "</text>\n");
}

/* ---- Below the plot ---- */

static double kind_width(const cfx_report_kind *k)
{
    return (double)k->len * 6.6 + 122;
}

static void put_kind(cfx_plot *p, uint32_t kind, double x, double y)
{
    const cfx_report_kind *k = &p->r->kind[kind];
    put_mark(p->out, kind, x + 6, y - 4, 5.5);
    cfx_out_puts(p->out, "/>");
    cfx_plot__begin_text(p->out, "", x + 18, y, NULL);
    cfx_report__put_text(p->out, k->name, k->len);
    cfx_out_puts(p->out, " <tspan class=\"quiet\">\u00d7\u00a0");
    cfx_out_int(p->out, (int64_t)k->nodes);
    if (k->time <= p->r->time && isfinite(p->r->time)) {
        double share = k->time / p->r->time * 100;
        cfx_out_puts(p->out, share < 0.05 ? ", &lt;\u20090.1" : ", ");
        if (share >= 0.05)
            cfx_plot__decimals(p->out, share, 1);
        cfx_out_puts(p->out, "\u00a0%");
    }
    cfx_out_puts(p->out, "</tspan></text>\n");
}

/* Lay out the legend, and draw it if `draw` is set; returns its height. */
static double legend(cfx_plot *p, bool draw)
{
    double x = left, y = legend_top;
    for (uint32_t i = 0; i < p->r->nkinds; i++) {
        double w = kind_width(&p->r->kind[i]);
        if (x + w > right && x > left) {
            x = left;
            y += row_height;
        }
        if (draw)
            put_kind(p, i, x, y);
        x += w;
    }
    return p->r->nkinds ? y + row_height : y;
}

static void put_count(cfx_out *o, bool *first, size_t n, const char *what)
{
    if (!n)
        return;
    cfx_out_puts(o, *first ? "Not drawn: " : ", ");
    cfx_out_int(o, (int64_t)n);
    cfx_out_puts(o, n == 1 ? " node " : " nodes ");
    cfx_out_puts(o, what);
    *first = false;
}

static void put_missing(cfx_plot *p, double y)
{
    bool first = true;
    cfx_plot__begin_text(p->out, "quiet", left, y, NULL);
    put_count(p->out, &first, p->r->no_flops, "without arithmetic");
    put_count(p->out, &first, p->r->no_bytes, "without bytes");
    put_count(p->out, &first, p->r->no_number, "with unknown costs");
    cfx_out_puts(p->out, first ? "" : ".");
    cfx_out_puts(p->out, "</text>\n");
}

/* ---- The document ---- */

static const char *title_of(const cfx_plot *p)
{
    const char *model = p->r->from->model;
    return model ? cfx_report__short_name(model) : "Roofline";
}

static void put_about(cfx_plot *p)
{
    const cfx_report_source *from = p->r->from;
    cfx_out_puts(p->out, "<g class=\"about\">\n");
    cfx_plot__begin_text(p->out, "title", left, 30, NULL);
    cfx_plot__string(p->out, title_of(p));
    cfx_out_puts(p->out, "</text>\n");
    cfx_plot__begin_text(p->out, "quiet", left, 50, NULL);
    cfx_plot__string(p->out, from->machine ? from->machine : "no machine");
    if (from->threads) {
        cfx_out_puts(p->out, ", ");
        cfx_out_int(p->out, from->threads);
        cfx_out_puts(p->out, from->threads == 1 ? " thread" : " threads");
    }
    cfx_out_puts(
        p->out,
        from->measured
            ? "; the area of a mark is its time"
            : "; not measured: marks are at the machine's limits, their area is the least time");
    cfx_out_puts(p->out, "</text>\n</g>\n");
}

/* `data-plot` is the viewBox of the plot alone, without title and legend, which
 * the page shows elsewhere; it makes the plot between `data-left` and
 * `data-right` narrower on narrow screens. */
static void put_frame(cfx_plot *p, double height)
{
    cfx_out_puts(
        p->out,
        "<svg class=\"roofline\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"");
    cfx_plot__attr(p->out, "width", width);
    cfx_plot__attr(p->out, "height", height);
    cfx_plot__point(p->out, " viewBox=\"0 0 ", width, height);
    cfx_plot__point(p->out, "\" data-plot=\"0 ", top - 14, width);
    cfx_out_putc(p->out, ' ');
    cfx_plot__decimals(p->out, bottom + 48 - (top - 14), 1);
    cfx_out_putc(p->out, '"');
    cfx_plot__attr(p->out, "data-left", left);
    cfx_plot__attr(p->out, "data-right", right);
    cfx_out_puts(p->out, ">\n<title>");
    cfx_plot__string(p->out, title_of(p));
    cfx_out_puts(p->out, "</title>\n");
    cfx_out_puts(p->out, style);
}

void cfx_report__draw(cfx_out *o, cfx_report *r)
{
    cfx_plot p = {.out = o, .r = r};
    find_axes(&p);
    double end = legend(&p, false);
    put_frame(&p, end + row_height);
    put_about(&p);
    put_x_axis(&p);
    put_y_axis(&p);
    place_nodes(&p);
    cfx_plot__ceilings(&p, false);
    put_nodes(&p);
    cfx_plot__ceilings(&p, true);
    cfx_out_puts(o, "<g class=\"legend\">\n");
    legend(&p, true);
    put_missing(&p, end + 4);
    cfx_out_puts(o, "</g>\n</svg>\n");
}

cfx_status cfx_report__print_svg(cfx_sink to, cfx_report *r, cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_report__draw(&out, r);
    return cfx_out_finish(&out, err);
}
