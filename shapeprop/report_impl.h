/*
 * report_impl.h -- a roofline document, read for drawing. Not installed.
 */
#ifndef CFX_REPORT_IMPL_H
#define CFX_REPORT_IMPL_H

#include <jansson.h>

#include <cfx/report.h>

#include "base/util.h"
#include "format/print.h"

/* A node that has a place in the plot: its first three numbers are positive
 * and finite. */
typedef struct cfx_report_node {
    const char *name, *bound; /* bound: or NULL */
    double intensity;         /* operations per byte */
    double rate;              /* operations per second */
    double time;              /* measured, or its floor */
    double efficiency;        /* NaN: not known */
    const char *what;         /* it does: its operator or module type */
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

/* A line over the plot: operations per second, or bytes per second. */
typedef struct cfx_report_ceiling {
    const char *name;
    double rate;
} cfx_report_ceiling;

typedef struct cfx_report {
    cfx_arena arena;
    json_t *json;
    const char *text;    /* of the document; borrowed */
    size_t text_len;
    const char *model;   /* or NULL */
    const char *machine; /* or NULL */
    int64_t threads;     /* 0: not known */
    bool measured;
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

/* Is it a document that can be drawn or compared? Fails with CFX_EINVAL. */
cfx_status cfx_report__check(const json_t *document, cfx_error *err);

/* `report` need not be zeroed. Release it in any case. */
cfx_status cfx_report__read(cfx_report *report, cfx_context *ctx,
                            const char *json, size_t len, cfx_error *err);
void cfx_report__release(cfx_report *report);

/* A model's name without the folders before it, where it is a file. */
const char *cfx_report__short_name(const char *model);

/* Text with what has a meaning in XML and HTML escaped. */
void cfx_report__put_text(cfx_out *o, const char *s, size_t len);

/* 123456789, "FLOP/s" -> "123 MFLOP/s"; three digits, as people read them. */
void cfx_report__put_quantity(cfx_out *o, double v, const char *unit);

/* Read a document and print what `put` makes of it. */
cfx_status cfx_report__print(cfx_sink to, cfx_context *ctx, const char *json,
                             size_t len,
                             void (*put)(cfx_out *o, cfx_report *report),
                             cfx_error *err);

/* Draw what was read: an <svg> element. */
void cfx_report__draw(cfx_out *o, cfx_report *report);

/* The page in lines. One that begins with "%%" stands for what only a
 * document tells. NULL ends them. Made from the files in report/. */
extern const char *const cfx_report__page[];

#endif
