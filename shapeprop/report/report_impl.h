/*
 * report_impl.h -- the data of a drawn roofline. Not installed.
 */
#ifndef CFX_REPORT_IMPL_H
#define CFX_REPORT_IMPL_H

#include <cfx/context.h>

#include "base/util.h"
#include "format/print.h"

/* ---- Input ---- */

/* A node; unknown numbers are NaN. */
typedef struct cfx_report_row {
    const char *name;
    const char *op;            /* as cfx_cost_operator names it */
    const char *dtype, *bound; /* or NULL */
    double flops, bytes;
    double time; /* measured, or its floor */
    double efficiency;
    bool formula; /* its costs are expressions */
} cfx_report_row;

/* A ceiling of the plot: operations per second, or bytes per second. */
typedef struct cfx_report_ceiling {
    const char *name;
    double rate;
} cfx_report_ceiling;

typedef struct cfx_report_source {
    const char *model, *machine; /* or NULL */
    int64_t threads;             /* 0: not known */
    bool measured;
    const cfx_report_row *row;
    size_t nrows;
    const cfx_report_ceiling *peak, *level; /* peaks are named by data types */
    size_t npeaks, nlevels;
} cfx_report_source;

/* ---- Drawing ---- */

/* A node that can be drawn: its first three numbers are positive and finite. */
typedef struct cfx_report_node {
    const cfx_report_row *row;
    double intensity; /* operations per byte */
    double rate;      /* operations per second */
    double time;
    const char *what; /* short name of its operator */
    size_t what_len;
    uint32_t kind;  /* index of the operator in `kind` */
    double x, y, r; /* where it is drawn */
} cfx_report_node;

/* Number of operators with their own look; the last stands for all others. */
enum { CFX_REPORT_LOOKS = 8 };

/* Limit on drawn peaks, and on drawn levels. */
enum { CFX_REPORT_CEILINGS = 16 };

/* An operator or a module type, with the sum of its nodes. */
typedef struct cfx_report_kind {
    const char *name;
    size_t len;
    size_t nodes;
    double time;
} cfx_report_kind;

typedef struct cfx_report {
    const cfx_report_source *from;
    cfx_arena arena;
    bool symbolic;         /* some node's cost is an expression */
    cfx_report_node *node; /* by falling time */
    size_t nnodes;
    double time; /* of all nodes, including those not drawn */
    /* Numbers of nodes that cannot be drawn, by reason; each counts once. */
    size_t no_flops, no_bytes, no_number;
    cfx_report_kind *kind; /* by falling time */
    size_t nkinds;
    cfx_report_ceiling *peak, *level; /* by falling rate */
    size_t npeaks, nlevels;           /* at most CFX_REPORT_CEILINGS */
} cfx_report;

/* Choose what to draw of a source, which must outlive the report. `report` need
 * not be zeroed; release it in any case. Fails with CFX_ENOMEM. */
cfx_status cfx_report__init(cfx_report *report, cfx_context *ctx,
                            const cfx_report_source *from, cfx_error *err);
void cfx_report__release(cfx_report *report);

/* Prints a document in JSON. */
typedef void cfx_report_document(cfx_out *o, void *user);

/* Print the report as an <svg> element, or as a page with that picture and a
 * "cfx.roofline/1" document. */
cfx_status cfx_report__print_svg(cfx_sink to, cfx_report *report,
                                 cfx_error *err);
cfx_status cfx_report__print_html(cfx_sink to, cfx_report *report,
                                  cfx_report_document *document, void *user,
                                  cfx_error *err);

/* ---- Helpers ---- */

/* Return a model's name; for a file without its folders. */
const char *cfx_report__short_name(const char *model);

/* Print text with XML and HTML escapes. */
void cfx_report__put_text(cfx_out *o, const char *s, size_t len);

/* Print three digits and a prefix: 123456789, "FLOP/s" -> "123 MFLOP/s". */
void cfx_report__put_quantity(cfx_out *o, double v, const char *unit);

/* Draw the <svg> element. */
void cfx_report__draw(cfx_out *o, cfx_report *report);

/* The lines of the page, made from the files in report/; NULL ends them. A line
 * that begins with "%%" is replaced by content of the document. */
extern const char *const cfx_report__page[];

#endif
