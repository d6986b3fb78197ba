/*
 * shape_rows.h -- the rows of a table of shapes, one per node or module. Not
 * installed.
 */
#ifndef CFX_SHAPE_ROWS_H
#define CFX_SHAPE_ROWS_H

#include <cfx/shape_prop.h>

#include <jansson.h>

typedef struct cfx_shape_row {
    const char *name; /* `name_len` bytes, without a NUL */
    size_t name_len;
    const char *op;     /* "module" for merged nodes */
    const char *target; /* for merged nodes the class */
    cfx_node_path path;
    cfx_value value; /* borrowed */
} cfx_shape_row;

typedef struct cfx_shape_rows {
    cfx_context *ctx;
    cfx_shape_row *row;
    size_t n, cap;       /* bytes are cap * sizeof */
    cfx_node_path *path; /* by id */
    size_t ids;
} cfx_shape_rows;

cfx_status cfx_shape_rows__make(cfx_shape_rows *r, const cfx_shape_prop *p,
                                int depth, cfx_error *err);
void cfx_shape_rows__release(cfx_shape_rows *r);

/* Print the document "cfx.shapes/1". */
cfx_status cfx_shape_rows__json(cfx_sink to, const cfx_shape_rows *r,
                                const cfx_shape_prop *p, cfx_error *err);

#endif
