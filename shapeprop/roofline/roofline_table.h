/*
 * roofline_table.h -- rows and columns of reports, for all output formats. Not
 * installed.
 */
#ifndef CFX_ROOFLINE_TABLE_H
#define CFX_ROOFLINE_TABLE_H

#include "shapeprop/roofline/roofline_impl.h"

/* A node, or a sum of several. Numbers below 0 are unknown. */
typedef struct cfx_table_row {
    const char *name, *type;
    int depth;
    size_t nodes;
    const cfx_cost *cost;
    cfx_dim flops, bytes, parameters, parameter_bytes;
    double floor, seconds, share;
    double computing; /* fraction of the floor that is compute-bound */
    cfx_dim live;
    const cfx_roofline_node *node; /* NULL: a sum */
    size_t order;
} cfx_table_row;

typedef enum cfx_cell_kind {
    CFX_CELL_NONE,
    CFX_CELL_TEXT,
    CFX_CELL_WHOLE,  /* dim: number of rows, in full */
    CFX_CELL_COUNT,  /* dim: number of operations or elements */
    CFX_CELL_BYTES,  /* dim */
    CFX_CELL_NUMBER, /* x, as in the following: a plain number */
    CFX_CELL_SECONDS,
    CFX_CELL_FLOPS,     /* per second */
    CFX_CELL_BANDWIDTH, /* bytes per second */
    CFX_CELL_FRACTION   /* shown in percent */
} cfx_cell_kind;

typedef struct cfx_cell {
    cfx_cell_kind kind;
    cfx_dim dim;
    double x;
    int indent; /* for text output */
    char text[480];
} cfx_cell;

typedef struct cfx_column {
    const char *name;  /* as users select it */
    const char *key;   /* in CSV, with its unit */
    const char *title; /* of tables */
    bool text;
    int rank; /* columns with higher ranks are dropped first if
                               the table is too wide; 0: never */
    void (*get)(const cfx_roofline *r, const cfx_table_row *row,
                cfx_cell *cell);
} cfx_column;

extern const cfx_column cfx_columns[];
extern const size_t cfx_ncolumns;

/* Find a column by name or key, or NULL. */
const cfx_column *cfx_column__find(const char *name, size_t len);

/* Format for readers ("1.81G", "12.3us"), and for programs. */
void cfx_cell__human(const cfx_cell *c, char *buf, size_t size);
void cfx_cell__plain(const cfx_cell *c, char *buf, size_t size);
/* Format a number with three digits and the prefix G, M, k, m, u or n. */
void cfx_human(char *buf, size_t size, double x, const char *unit);

/* The rows of a view, sorted and limited. */
typedef struct cfx_table {
    const cfx_roofline *r;
    const cfx_roofline_view *view;
    bool has_state;         /* nodes that read state have rows */
    size_t nrows, all, cap; /* shown, existing, allocated */
    size_t left_out;        /* nodes that read state, without has_state */
    cfx_table_row *row;
    size_t ncolumns;
    const cfx_column *column[64];
    cfx_arena arena; /* names and costs of points */
} cfx_table;

cfx_status cfx_table__make(cfx_table *t, const cfx_roofline *r,
                           const cfx_roofline_view *view, const char *columns,
                           bool has_state, cfx_error *err);
void cfx_table__release(cfx_table *t);

/* Write the buffer to the sink, unless something failed, and release it. */
cfx_status cfx_roofline__finish(cfx_buf *b, cfx_sink to, cfx_status st,
                                cfx_error *err);

/* Put the lines above, and below, a table. */
void cfx_roofline__put_machine(cfx_buf *b, const cfx_roofline *r,
                               const cfx_roofline_view *view);
void cfx_roofline__put_totals(cfx_buf *b, const cfx_roofline *r);
/* Put an empty line, ranges of symbols and guards; nothing if there are
 * none. */
void cfx_roofline__put_symbols(cfx_buf *b, const cfx_roofline *r,
                               bool markdown);
/* Put an empty line, then lines like "conv1 is compute-bound for N >= 3". */
void cfx_roofline__put_crossovers(cfx_buf *b, const cfx_roofline *r);

#endif
