/*
 * report_plot.h -- draws the roofline. Not installed.
 */
#ifndef CFX_REPORT_PLOT_H
#define CFX_REPORT_PLOT_H

#include "shapeprop/report/report_impl.h"

/* ---- Text in SVG; coordinates have one decimal ---- */

void cfx_plot__string(cfx_out *o, const char *s);
/* Print with at most so many decimals, 0 to 2, the same in every locale. */
void cfx_plot__decimals(cfx_out *o, double v, int decimals);
/* Print ` NAME="V"`. */
void cfx_plot__attr(cfx_out *o, const char *name, double v);
/* Print "X Y" after a path command. */
void cfx_plot__point(cfx_out *o, const char *before, double x, double y);
/* Print <text ...>; `anchor` NULL: the text begins at x. */
void cfx_plot__begin_text(cfx_out *o, const char *class, double x, double y,
                          const char *anchor);

/* ---- The plot ---- */

/* A logarithmic axis: exponents of ten, and the pixels they map to. */
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

/* The width of a character, approximately: it depends on the reader's fonts. */
static const double cfx_plot_char = 6.1;

/* Draw the ceilings, or their labels, which avoid the marks; so marks must be
 * placed first. */
void cfx_plot__ceilings(cfx_plot *p, bool names);

#endif
