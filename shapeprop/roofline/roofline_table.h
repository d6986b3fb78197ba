/*
 * roofline_table.h -- rows and columns of reports, whatever they are printed
 * as. Not installed.
 */
#ifndef CFX_ROOFLINE_TABLE_H
#define CFX_ROOFLINE_TABLE_H

#include "shapeprop/roofline/roofline_impl.h"

/* A row: a node, or a sum of several. Numbers below 0 are not known. */
typedef struct cfx_table_row {
    const char *name, *type;
    int depth;
    size_t nodes;
    const cfx_cost *cost;
    cfx_dim flops, bytes, parameters, parameter_bytes;
    double floor, seconds, share;
    double computing;       /* the part of the floor that is bound by it */
    cfx_dim live;
    const cfx_roofline_node *node; /* NULL: a sum */
    size_t order;
} cfx_table_row;

typedef enum cfx_cell_kind {
    CFX_CELL_NONE,
    CFX_CELL_TEXT,
    CFX_CELL_WHOLE,         /* dim: of rows, in full */
    CFX_CELL_COUNT,         /* dim: of operations, of elements */
    CFX_CELL_BYTES,         /* dim */
    CFX_CELL_NUMBER,        /* x, as the others: a plain one */
    CFX_CELL_SECONDS,
    CFX_CELL_FLOPS,         /* a second */
    CFX_CELL_BANDWIDTH,     /* bytes a second */
    CFX_CELL_FRACTION       /* shown in hundredths */
} cfx_cell_kind;

typedef struct cfx_cell {
    cfx_cell_kind kind;
    cfx_dim dim;
    double x;
    int indent;             /* of text that a person reads */
    char text[480];
} cfx_cell;

typedef struct cfx_column {
    const char *name;       /* for people to choose it by */
    const char *key;        /* in CSV: with its unit */
    const char *title;      /* of tables */
    bool text;
    int rank;               /* what is left out first where room is short has
                               the highest; 0: never */
    void (*get)(const cfx_roofline *r, const cfx_table_row *row,
                cfx_cell *cell);
} cfx_column;

extern const cfx_column cfx_columns[];
extern const size_t cfx_ncolumns;

/* By name or key, or NULL. */
const cfx_column *cfx_column__find(const char *name, size_t len);

/* As a person reads it ("1.81G", "12.3us"), and as a program does. */
void cfx_cell__human(const cfx_cell *c, char *buf, size_t size);
void cfx_cell__plain(const cfx_cell *c, char *buf, size_t size);
/* A number with three digits and G, M, k, m, u, n before the unit. */
void cfx_human(char *buf, size_t size, double x, const char *unit);

/* The rows of a view, sorted, and cut to as many as it shows. */
typedef struct cfx_table {
    const cfx_roofline *r;
    const cfx_roofline_view *view;
    size_t nrows, all, cap; /* shown, there are, room */
    cfx_table_row *row;
    size_t ncolumns;
    const cfx_column *column[64];
    cfx_arena arena;        /* names and costs of points */
} cfx_table;

cfx_status cfx_table__make(cfx_table *t, const cfx_roofline *r,
                           const cfx_roofline_view *view,
                           const char *columns, cfx_error *err);
void cfx_table__release(cfx_table *t);

/* Write what was gathered, unless something has failed, and give it back. */
cfx_status cfx_roofline__finish(cfx_buf *b, cfx_sink to, cfx_status st,
                                cfx_error *err);

/* Lines above and below a table. */
void cfx_roofline__put_machine(cfx_buf *b, const cfx_roofline *r,
                               const cfx_roofline_view *view);
void cfx_roofline__put_totals(cfx_buf *b, const cfx_roofline *r);
/* Ranges of symbols and guards, after an empty line; nothing where there are
 * none. */
void cfx_roofline__put_symbols(cfx_buf *b, const cfx_roofline *r,
                               bool markdown);
/* "conv1 is compute-bound for N >= 3", a line each, after an empty one. */
void cfx_roofline__put_turns(cfx_buf *b, const cfx_roofline *r);

#endif
