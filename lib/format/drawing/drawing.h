/*
 * drawing.h -- nodes and clusters of a drawing. Not installed.
 */
#ifndef CFX_DRAWING_H
#define CFX_DRAWING_H

#include <cfx/picture.h>

#include "format/print.h"

/* A module in whose forward nodes were made. Cluster 0 is the root. */
typedef struct cfx_cluster {
    const char *path;
    const char *name; /* the last part of it */
    uint32_t parent, depth;
    const cfx_module *module; /* NULL: there is none of that path */
} cfx_cluster;

#define CFX_NO_INDEX UINT32_MAX

typedef struct cfx_drawing {
    cfx_context *ctx;
    const cfx_module *gm;
    const cfx_graph *graph;
    cfx_picture_options how;
    cfx_arena arena; /* all of what follows */
    size_t n;
    const cfx_node **node; /* in the graph's order */
    uint32_t *cluster;     /* of each node */
    cfx_cluster *clusters; /* parents first */
    size_t nclusters, cap;
    cfx_map by_path; /* cluster's index + 1 */
} cfx_drawing;

cfx_status cfx_drawing_init(cfx_drawing *d, const cfx_module *gm,
                            const cfx_picture_options *how, cfx_error *err);
void cfx_drawing_release(cfx_drawing *d);

/* Print file, line and source from meta stack_trace, "a.py:3 y = x"; false
 * without it. */
bool cfx_print__source(cfx_out *o, const cfx_node *n);

#endif
