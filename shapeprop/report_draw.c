/*
 * report_draw -- the roofline as SVG: axes, ceilings, marks, a legend.
 *
 * Both axes are logarithms. Colours are those of Okabe and Ito, which differ
 * for the colour-blind too; each stands with a shape of its own, so that
 * nothing is told by colour alone. They are in a style sheet that has a second
 * part for dark screens.
 */
#include "report_impl.h"

#include <math.h>

enum { MARKS_MANY = 1000 };

static const double width = 960, left = 92, right = 928, top = 76,
                    bottom = 520, legend_top = 586, row_height = 20,
                    char_width = 6.1;

static const char style[] =
    "<style>\n"
    ".roofline { background: #fff; font: 11px system-ui, 'DejaVu Sans', "
    "sans-serif; font-variant-numeric: tabular-nums }\n"
    ".roofline text { fill: #1c2733 }\n"
    ".roofline .title { font-size: 16px; font-weight: 600 }\n"
    ".roofline .quiet { fill: #55606e }\n"
    ".roofline .grid { stroke: #e4e8ec; stroke-width: 1 }\n"
    ".roofline .roof { stroke: #5b6673; stroke-width: 1.5; fill: none }\n"
    ".roofline .halo { paint-order: stroke; stroke: #fff; stroke-width: 4; "
    "stroke-linejoin: round }\n"
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

/* ---- Text and numbers ---- */

void cfx_report__put_text(cfx_out *o, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < ' ' || c == 127)
            cfx_out_putc(o, '?'); /* XML has no control characters */
        else if (c == '&' || c == '<' || c == '>' || c == '"')
            cfx_out_puts(o, c == '&' ? "&amp;" : c == '<' ? "&lt;"
                            : c == '>' ? "&gt;" : "&quot;");
        else
            cfx_out_putc(o, s[i]);
    }
}

static void put_string(cfx_out *o, const char *s)
{
    cfx_report__put_text(o, s, strlen(s));
}

/* With so many decimals at most, 0 to 2: integers print the same in every
 * locale. */
static void put_decimals(cfx_out *o, double v, int decimals)
{
    int64_t unit = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
    int64_t n = (int64_t)(v * (double)unit + (v < 0 ? -0.5 : 0.5));
    if (n < 0)
        cfx_out_putc(o, '-');
    n = n < 0 ? -n : n;
    cfx_out_int(o, n / unit);
    n %= unit;
    if (n)
        cfx_out_putc(o, '.');
    for (unit /= 10; n; unit /= 10) {
        cfx_out_int(o, n / unit);
        n %= unit;
    }
}

/* Three digits, but at least the integer. */
static void put_rounded(cfx_out *o, double v)
{
    if (v >= 1e15)
        cfx_out_float(o, v);
    else
        put_decimals(o, v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
}

void cfx_report__put_quantity(cfx_out *o, double v, const char *unit)
{
    static const char *const prefixes[] = {"p", "n", "\u00b5", "m", "", "k",
                                           "M", "G", "T", "P", "E"};
    int i = 4, last = strcmp(unit, "s") ? 10 : 4;
    for (; v >= 999.5 && i < last; i++)
        v /= 1000;
    for (; v < 0.9995 && v > 0 && i > 0; i--)
        v *= 1000;
    put_rounded(o, v);
    cfx_out_puts(o, "\u00a0");
    cfx_out_puts(o, prefixes[i]);
    cfx_out_puts(o, unit);
}

static void put_attr(cfx_out *o, const char *name, double v)
{
    cfx_out_putc(o, ' ');
    cfx_out_puts(o, name);
    cfx_out_puts(o, "=\"");
    put_decimals(o, v, 1);
    cfx_out_putc(o, '"');
}

static void put_point(cfx_out *o, const char *before, double x, double y)
{
    cfx_out_puts(o, before);
    put_decimals(o, x, 1);
    cfx_out_putc(o, ' ');
    put_decimals(o, y, 1);
}

static void begin_text(cfx_out *o, const char *class, double x, double y,
                       const char *anchor)
{
    cfx_out_puts(o, "<text class=\"");
    cfx_out_puts(o, class);
    cfx_out_putc(o, '"');
    put_attr(o, "x", x);
    put_attr(o, "y", y);
    if (anchor) {
        cfx_out_puts(o, " text-anchor=\"");
        cfx_out_puts(o, anchor);
        cfx_out_putc(o, '"');
    }
    cfx_out_putc(o, '>');
}

/* ---- Axes ---- */

/* A logarithmic axis: powers of ten, and where they are drawn. */
typedef struct axis {
    double low, high; /* log10 of its ends */
    double from, to;
} axis;

typedef struct plot {
    cfx_out *out;
    const cfx_report *r;
    axis x, y;
} plot;

static double place(const axis *a, double log)
{
    return a->from + (log - a->low) / (a->high - a->low) * (a->to - a->from);
}

static void include(axis *a, double v)
{
    double log = log10(v);
    a->low = log < a->low ? log : a->low;
    a->high = log > a->high ? log : a->high;
}

/* Room around what is drawn, and at least two decades. */
static void widen(axis *a, double below, double above)
{
    a->low -= below;
    a->high += above;
    if (a->high - a->low < 2) {
        double middle = (a->low + a->high) / 2;
        a->low = middle - 1;
        a->high = middle + 1;
    }
}

static void find_axes(plot *p)
{
    const cfx_report *r = p->r;
    p->x = (axis){INFINITY, -INFINITY, left, right};
    p->y = (axis){INFINITY, -INFINITY, bottom, top};
    for (size_t i = 0; i < r->nnodes; i++) {
        include(&p->x, r->node[i].intensity);
        include(&p->y, r->node[i].rate);
    }
    for (size_t i = 0; i < r->npeaks; i++)
        include(&p->y, r->peak[i].rate);
    /* The ridges of the highest ceiling. */
    for (size_t i = 0; r->npeaks && i < r->nlevels; i++) {
        double ridge = r->peak[0].rate / r->level[i].rate;
        if (ridge > 0 && isfinite(ridge))
            include(&p->x, ridge);
    }
    if (!isfinite(p->x.low))
        p->x.low = -1, p->x.high = 2;
    if (!isfinite(p->y.low))
        p->y.low = 9, p->y.high = 12;
    /* To the left there is room for the names of the ceilings. */
    widen(&p->x, 0.7, 0.4);
    widen(&p->y, 0.3, 0.25);
}

/* Every power of ten, or every nth where there are many. */
static int tick_step(const axis *a)
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

static void put_x_axis(plot *p)
{
    int step = tick_step(&p->x);
    for (int log = (int)ceil(p->x.low); log <= p->x.high; log += step) {
        double x = place(&p->x, log);
        cfx_out_puts(p->out, "<path class=\"grid\" d=\"");
        put_point(p->out, "M", x, top);
        put_point(p->out, "L", x, bottom);
        cfx_out_puts(p->out, "\"/>");
        begin_text(p->out, "quiet", x, bottom + 18, "middle");
        put_intensity(p->out, log);
        cfx_out_puts(p->out, "</text>\n");
    }
    begin_text(p->out, "quiet", (left + right) / 2, bottom + 40, "middle");
    cfx_out_puts(p->out, "arithmetic intensity, FLOP/byte</text>\n");
}

static void put_y_axis(plot *p)
{
    int step = tick_step(&p->y);
    for (int log = (int)ceil(p->y.low); log <= p->y.high; log += step) {
        double y = place(&p->y, log);
        cfx_out_puts(p->out, "<path class=\"grid\" d=\"");
        put_point(p->out, "M", left, y);
        put_point(p->out, "L", right, y);
        cfx_out_puts(p->out, "\"/>");
        begin_text(p->out, "quiet", left - 8, y + 4, "end");
        cfx_report__put_quantity(p->out, pow(10, log), "FLOP/s");
        cfx_out_puts(p->out, "</text>\n");
    }
}

/* ---- Ceilings ---- */

/* The characters of a quantity: "12.3 GFLOP/s". */
static double label_width(const char *name, size_t unit)
{
    return ((double)strlen(name) + (double)unit + 8) * char_width;
}

static void put_peaks(plot *p)
{
    double above = -INFINITY, end = right - 6;
    for (size_t i = 0; i < p->r->npeaks; i++) {
        const cfx_report_ceiling *c = &p->r->peak[i];
        double y = place(&p->y, log10(c->rate));
        cfx_out_puts(p->out, "<path class=\"roof\" d=\"");
        put_point(p->out, "M", left, y);
        put_point(p->out, "L", right, y);
        cfx_out_puts(p->out, "\"/>\n");
        /* Where two are close, their names stand side by side. */
        end = y - above < 16 ? end - label_width(p->r->peak[i - 1].name, 12)
                             : right - 6;
        above = y;
        begin_text(p->out, "halo", end, y - 6, "end");
        put_string(p->out, c->name);
        cfx_out_puts(p->out, " peak ");
        cfx_report__put_quantity(p->out, c->rate, "FLOP/s");
        cfx_out_puts(p->out, "</text>\n");
    }
}

/* A level's line from where it enters the plot to the highest ceiling. */
typedef struct slope {
    double x1, y1, x2, y2;
} slope;

/* False where none of it is to be seen. */
static bool find_slope(const plot *p, double rate, slope *s)
{
    double log = log10(rate), low = p->x.low, high = p->x.high;
    double roof = p->r->npeaks ? log10(p->r->peak[0].rate) : p->y.high;
    if (log + low < p->y.low)
        low = p->y.low - log;
    if (log + high > roof)
        high = roof - log;
    *s = (slope){place(&p->x, low), place(&p->y, log + low),
                 place(&p->x, high), place(&p->y, log + high)};
    return low < high;
}

static void put_slope(plot *p, const cfx_report_ceiling *c, const slope *s,
                      double along)
{
    double dx = s->x2 - s->x1, dy = s->y2 - s->y1, len = hypot(dx, dy);
    cfx_out_puts(p->out, "<path class=\"roof\" d=\"");
    put_point(p->out, "M", s->x1, s->y1);
    put_point(p->out, "L", s->x2, s->y2);
    cfx_out_puts(p->out, "\"/>");
    cfx_out_puts(p->out, "<text class=\"halo\" transform=\"translate(");
    put_point(p->out, "", s->x1 + dx / len * along, s->y1 + dy / len * along);
    cfx_out_puts(p->out, ") rotate(");
    put_decimals(p->out, atan2(dy, dx) * 57.29577951308232, 1);
    cfx_out_puts(p->out, ") translate(0 -6)\">");
    put_string(p->out, c->name);
    cfx_out_putc(p->out, ' ');
    cfx_report__put_quantity(p->out, c->rate, "B/s");
    cfx_out_puts(p->out, "</text>\n");
}

/* The lines are parallel: a name that would run into that of the line above
 * begins behind its end. */
static void put_levels(plot *p)
{
    double before = -INFINITY, end = 0;
    for (size_t i = 0; i < p->r->nlevels; i++) {
        const cfx_report_ceiling *c = &p->r->level[i];
        slope s;
        if (!find_slope(p, c->rate, &s))
            continue;
        double angle = atan2(s.y1 - s.y2, s.x2 - s.x1), along = 12;
        /* How far the line is from the left upper corner. */
        double depth = (s.x1 - left) * sin(angle) + (s.y1 - top) * cos(angle);
        double begin = (s.x1 - left) * cos(angle) - (s.y1 - top) * sin(angle);
        if (depth - before < 16 && begin + along < end)
            along = end - begin + 12;
        before = depth;
        end = begin + along + label_width(c->name, 3);
        put_slope(p, c, &s, along);
    }
}

/* ---- Marks ---- */

/* Polygons of the area of a circle of radius 1; without corners: that circle.
 * y grows downwards. */
static const struct shape {
    int n;
    double corner[12][2];
} shapes[CFX_REPORT_LOOKS] = {
    {0, {{0, 0}}},
    {4, {{-.89, -.89}, {.89, -.89}, {.89, .89}, {-.89, .89}}},
    {3, {{0, -1.4}, {1.35, .9}, {-1.35, .9}}},
    {4, {{0, -1.35}, {1.16, 0}, {0, 1.35}, {-1.16, 0}}},
    {3, {{0, 1.4}, {1.35, -.9}, {-1.35, -.9}}},
    {12, {{-.4, -1.2}, {.4, -1.2}, {.4, -.4}, {1.2, -.4}, {1.2, .4}, {.4, .4},
          {.4, 1.2}, {-.4, 1.2}, {-.4, .4}, {-1.2, .4}, {-1.2, -.4},
          {-.4, -.4}}},
    {6, {{0, -1.1}, {.95, -.55}, {.95, .55}, {0, 1.1}, {-.95, .55},
         {-.95, -.55}}},
    {0, {{0, 0}}},
};

/* Not closed, so that it can have a title. */
static void put_mark(cfx_out *o, uint32_t kind, double x, double y, double r)
{
    const struct shape *s = &shapes[kind];
    cfx_out_puts(o, "<path class=\"mark k");
    cfx_out_int(o, (int64_t)kind);
    cfx_out_puts(o, "\" d=\"");
    if (!s->n) {
        put_point(o, "M", x - r, y);
        put_point(o, "a", r, r);
        put_point(o, " 0 1 0 ", 2 * r, 0);
        put_point(o, "a", r, r);
        put_point(o, " 0 1 0 ", -2 * r, 0);
    }
    for (int i = 0; i < s->n; i++)
        put_point(o, i ? "L" : "M", x + s->corner[i][0] * r,
                  y + s->corner[i][1] * r);
    cfx_out_puts(o, "z\"");
}

static void put_node(plot *p, const cfx_report_node *n, double most)
{
    double large = p->r->nnodes > MARKS_MANY ? 10 : 18;
    double r = 2.5 + (large - 2.5) * sqrt(n->time / most);
    put_mark(p->out, n->kind, place(&p->x, log10(n->intensity)),
             place(&p->y, log10(n->rate)), r);
    cfx_out_puts(p->out, "><title>");
    put_string(p->out, n->name);
    cfx_out_puts(p->out, " (");
    cfx_report__put_text(p->out, n->what, n->what_len);
    cfx_out_puts(p->out, p->r->measured ? ")&#10;" : ")&#10;at least ");
    cfx_report__put_quantity(p->out, n->time, "s");
    cfx_out_puts(p->out, ", ");
    cfx_report__put_quantity(p->out, n->rate, "FLOP/s");
    cfx_out_puts(p->out, ", ");
    cfx_report__put_quantity(p->out, n->intensity, "FLOP/byte");
    if (n->bound) {
        cfx_out_puts(p->out, "&#10;bound: ");
        put_string(p->out, n->bound);
    }
    if (p->r->measured && n->efficiency >= 0 && n->efficiency < 1e6) {
        cfx_out_puts(p->out, "&#10;efficiency ");
        put_decimals(p->out, n->efficiency * 100, 1);
        cfx_out_puts(p->out, " %");
    }
    cfx_out_puts(p->out, "</title></path>\n");
}

static void put_nodes(plot *p)
{
    const cfx_report *r = p->r;
    for (size_t i = 0; i < r->nnodes; i++)
        put_node(p, &r->node[i], r->node[0].time);
    if (r->nnodes)
        return;
    begin_text(p->out, "halo", (left + right) / 2, (top + bottom) / 2,
               "middle");
    cfx_out_puts(p->out, r->symbolic ? "The costs are formulas: give the "
                                       "symbols values to see the nodes here."
                                     : "No node has both arithmetic and "
                                       "bytes.");
    cfx_out_puts(p->out, "</text>\n");
}

/* ---- Below the plot ---- */

static double kind_width(const cfx_report_kind *k)
{
    return (double)k->len * char_width + 96;
}

static void put_kind(plot *p, uint32_t kind, double x, double y, double total)
{
    const cfx_report_kind *k = &p->r->kind[kind];
    put_mark(p->out, kind, x + 6, y - 4, 5.5);
    cfx_out_puts(p->out, "/>");
    begin_text(p->out, "", x + 18, y, NULL);
    cfx_report__put_text(p->out, k->name, k->len);
    cfx_out_puts(p->out, " <tspan class=\"quiet\">\u00d7\u00a0");
    cfx_out_int(p->out, (int64_t)k->nodes);
    if (k->time <= total && isfinite(total)) {
        cfx_out_puts(p->out, ", ");
        put_decimals(p->out, k->time / total * 100, 1);
        cfx_out_puts(p->out, "\u00a0%");
    }
    cfx_out_puts(p->out, "</tspan></text>\n");
}

/* Lays the legend out, and draws it where `draw` is set; gives its end. */
static double legend(plot *p, bool draw)
{
    double x = left, y = legend_top, total = 0;
    for (size_t i = 0; i < p->r->nkinds; i++)
        total += p->r->kind[i].time;
    for (uint32_t i = 0; i < p->r->nkinds; i++) {
        double w = kind_width(&p->r->kind[i]);
        if (x + w > right && x > left) {
            x = left;
            y += row_height;
        }
        if (draw)
            put_kind(p, i, x, y, total);
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

static void put_missing(plot *p, double y)
{
    bool first = true;
    begin_text(p->out, "quiet", left, y, NULL);
    put_count(p->out, &first, p->r->no_flops, "without arithmetic");
    put_count(p->out, &first, p->r->no_bytes, "without bytes");
    put_count(p->out, &first, p->r->no_number, "whose costs are no numbers");
    cfx_out_puts(p->out, first ? "" : ".");
    cfx_out_puts(p->out, "</text>\n");
}

/* ---- The whole ---- */

static void put_title(plot *p)
{
    const cfx_report *r = p->r;
    cfx_out_puts(p->out, "<title>");
    put_string(p->out, r->model ? r->model : "Model");
    cfx_out_puts(p->out, ": roofline</title>\n");
    begin_text(p->out, "title", left, 30, NULL);
    put_string(p->out, r->model ? r->model : "Roofline");
    cfx_out_puts(p->out, "</text>\n");
    begin_text(p->out, "quiet", left, 50, NULL);
    put_string(p->out, r->machine ? r->machine : "no machine");
    if (r->threads) {
        cfx_out_puts(p->out, ", ");
        cfx_out_int(p->out, r->threads);
        cfx_out_puts(p->out, r->threads == 1 ? " thread" : " threads");
    }
    cfx_out_puts(p->out, r->measured ? "; the area of a mark is its time"
                                     : "; not measured: marks lie where the "
                                       "machine's limits are, their area is "
                                       "the least time");
    cfx_out_puts(p->out, "</text>\n");
}

static void put_frame(plot *p, double height)
{
    cfx_out_puts(p->out, "<svg class=\"roofline\" role=\"img\" "
                         "xmlns=\"http://www.w3.org/2000/svg\"");
    put_attr(p->out, "width", width);
    put_attr(p->out, "height", height);
    cfx_out_puts(p->out, " viewBox=\"0 0 ");
    put_point(p->out, "", width, height);
    cfx_out_puts(p->out, "\">\n");
    put_title(p);
    cfx_out_puts(p->out, style);
}

void cfx_report__draw(cfx_out *o, const cfx_report *r)
{
    plot p = {.out = o, .r = r};
    find_axes(&p);
    double end = legend(&p, false);
    put_frame(&p, end + row_height);
    put_x_axis(&p);
    put_y_axis(&p);
    put_peaks(&p);
    put_levels(&p);
    put_nodes(&p);
    legend(&p, true);
    put_missing(&p, end + 4);
    cfx_out_puts(o, "</svg>\n");
}

cfx_status cfx_report_svg(cfx_sink to, cfx_context *ctx, const char *json,
                          size_t len, cfx_error *err)
{
    cfx_report r;
    cfx_status st = cfx_report__read(&r, ctx, json, len, err);
    if (!st) {
        cfx_out out;
        cfx_out_init(&out, to);
        cfx_report__draw(&out, &r);
        st = cfx_out_finish(&out, err);
    }
    cfx_report__release(&r);
    return st;
}
