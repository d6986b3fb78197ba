/*
 * drawing.h -- nodes and clusters of a drawing, and the layout of an SVG. Not
 * installed.
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
    uint32_t *index;       /* of a node by id, or CFX_NO_INDEX */
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

/* ---- Layout ---- */

/* An item of a layer: a node, or an edge that passes. */
typedef struct cfx_box {
    uint32_t node; /* index; CFX_NO_INDEX: a passing edge */
    uint32_t layer;
    double x, width; /* x of its middle */
    double y, height;
    double want; /* private */
} cfx_box;

/* An edge from one layer to the next. */
typedef struct cfx_link {
    uint32_t from, to; /* boxes */
} cfx_link;

/* An edge that passes too many layers goes down beside all boxes. */
typedef struct cfx_lane {
    uint32_t from, to;
    uint32_t lane;
} cfx_lane;

typedef struct cfx_layer {
    uint32_t first, count; /* in `order` */
    double y, height, gap; /* the gap is above it */
} cfx_layer;

typedef struct cfx_layout {
    cfx_drawing *d;
    size_t nboxes, nlinks, nlanes, nlayers, nlane;
    cfx_box *box; /* those of nodes first, by index */
    cfx_link *link;
    cfx_lane *lane;
    cfx_layer *layer;
    uint32_t *order;     /* boxes by layer, from left to right */
    uint32_t *down, *up; /* links of a box by `from` and by `to`: starts */
    uint32_t *down_link, *up_link;
    double width, height;
} cfx_layout;

/* Widths and heights of nodes' boxes are given in box[0 .. d->n). Everything
 * is in the drawing's arena. False on lack of memory. */
bool cfx_layout_layers(cfx_layout *l);
/* With layer[i].gap given, too. */
bool cfx_layout_place(cfx_layout *l);

#endif
