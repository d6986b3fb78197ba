/*
 * report_impl.h -- a roofline as it is drawn. Not installed.
 */
#ifndef CFX_REPORT_IMPL_H
#define CFX_REPORT_IMPL_H

#include <jansson.h>

#include <cfx/context.h>

#include "base/util.h"
#include "format/print.h"

/* ---- What a picture is made from ---- */

/* A node; numbers that are not known are NaN. */
typedef struct cfx_report_row {
    const char *name;
    const char *op;              /* as cfx_cost_operator calls it */
    const char *dtype, *bound;   /* or NULL */
    double flops, bytes;
    double time;                 /* measured, or its floor */
    double efficiency;
    bool formula;                /* its costs are expressions */
} cfx_report_row;

/* A line over the plot: operations per second, or bytes per second. */
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

/* ---- What is drawn ---- */

/* A node that has a place in the plot: its first three numbers are positive
 * and finite. */
typedef struct cfx_report_node {
    const cfx_report_row *row;
    double intensity;         /* operations per byte */
    double rate;              /* operations per second */
    double time;
    const char *what;         /* the short name of its operator */
    size_t what_len;
    uint32_t kind;            /* index of the same in `kind` */
    double x, y, r;           /* where it is drawn */
} cfx_report_node;

/* So many operators are told apart, the last of which stands for the rest. */
enum { CFX_REPORT_LOOKS = 8 };

/* So many peaks, and levels, are drawn at most. */
enum { CFX_REPORT_CEILINGS = 16 };

/* An operator or a module type, and what its nodes take. */
typedef struct cfx_report_kind {
    const char *name;
    size_t len;
    size_t nodes;
    double time;
} cfx_report_kind;

typedef struct cfx_report {
    const cfx_report_source *from;
    cfx_arena arena;
    bool symbolic;       /* some node's cost is a formula */
    cfx_report_node *node; /* by falling time */
    size_t nnodes;
    double time; /* of all nodes, also of those that cannot be drawn */
    /* The nodes that cannot be drawn, and why: each counts once. */
    size_t no_flops, no_bytes, no_number;
    cfx_report_kind *kind; /* by falling time */
    size_t nkinds;
    cfx_report_ceiling *peak, *level; /* by falling rate */
    size_t npeaks, nlevels;           /* at most CFX_REPORT_CEILINGS */
} cfx_report;

/* Choose what is drawn of a source, which must outlive the report. `report`
 * need not be zeroed; release it in any case. Fails with CFX_ENOMEM. */
cfx_status cfx_report__init(cfx_report *report, cfx_context *ctx,
                            const cfx_report_source *from, cfx_error *err);
void cfx_report__release(cfx_report *report);

/* The report as a picture, an <svg> element; and as a page, which holds that
 * picture and the "cfx.roofline/1" document of the same roofline, and takes the
 * document over. NULL for it is lack of memory. */
cfx_status cfx_report__print_svg(cfx_sink to, cfx_report *report,
                                 cfx_error *err);
cfx_status cfx_report__print_html_take(cfx_sink to, cfx_report *report,
                                       json_t *document, cfx_error *err);

/* ---- Parts ---- */

/* A model's name without the folders before it, where it is a file. */
const char *cfx_report__short_name(const char *model);

/* Text with what has a meaning in XML and HTML escaped. */
void cfx_report__put_text(cfx_out *o, const char *s, size_t len);

/* 123456789, "FLOP/s" -> "123 MFLOP/s"; three digits, as people read them. */
void cfx_report__put_quantity(cfx_out *o, double v, const char *unit);

/* Draw the <svg> element. */
void cfx_report__draw(cfx_out *o, cfx_report *report);

/* The page in lines. One that begins with "%%" stands for what only a
 * document tells. NULL ends them. Made from the files in report/. */
extern const char *const cfx_report__page[];

#endif
