/*
 * report_plot.h -- what draws the roofline. Not installed.
 */
#ifndef CFX_REPORT_PLOT_H
#define CFX_REPORT_PLOT_H

#include "shapeprop/report/report_impl.h"

/* ---- Text in SVG; coordinates have one decimal ---- */

void cfx_plot__string(cfx_out *o, const char *s);
/* With so many decimals at most, 0 to 2: integers print the same in every
 * locale. */
void cfx_plot__decimals(cfx_out *o, double v, int decimals);
/* ` NAME="V"` */
void cfx_plot__attr(cfx_out *o, const char *name, double v);
/* "X Y" behind a letter of a path. */
void cfx_plot__point(cfx_out *o, const char *before, double x, double y);
/* <text ...>; `anchor` may be NULL: the text begins there. */
void cfx_plot__begin_text(cfx_out *o, const char *class, double x, double y,
                          const char *anchor);

/* ---- The plot ---- */

/* A logarithmic axis: powers of ten, and the pixels where they are drawn. */
typedef struct cfx_plot_axis {
    double low, high; /* log10 of its ends */
    double from, to;
} cfx_plot_axis;

typedef struct cfx_plot {
    cfx_out *out;
    cfx_report *r;
    cfx_plot_axis x, y;
} cfx_plot;

CFX_INLINE double cfx_plot__place(const cfx_plot_axis *a, double log)
{
    return a->from + (log - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* A character's width, which depends on the reader's fonts: nearly. */
static const double cfx_plot_char = 6.1;

/* The lines of the machine, and their names, which keep away from the marks:
 * these must have their places. */
void cfx_plot__ceilings(cfx_plot *p, bool names);

#endif
