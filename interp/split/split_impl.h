/*
 * split_impl.h -- one splitting of a graph by parts. Not installed.
 */
#ifndef CFX_SPLIT_IMPL_H
#define CFX_SPLIT_IMPL_H

#include <cfx/split.h>

#include "interp/split/carve.h"

#define NO_PART UINT32_MAX

/* An ordered set of nodes, part by part: those of part p are
 * item[start[p]] ... item[start[p + 1]]. */
typedef struct node_lists {
    cfx_node **item;
    uint32_t *start;
} node_lists;

typedef struct splitter {
    cfx_context *ctx;
    const cfx_module *gm;
    cfx_graph *g;            /* of gm */
    cfx_split_options o;
    cfx_error *err;          /* never NULL */
    cfx_arena arena;

    uint32_t nids;
    uint32_t *part_of;       /* by node id; NO_PART: in the parent */
    uint32_t nparts;
    const char **name;       /* by part: of the child */
    node_lists nodes, outputs;
    cfx_node ***inputs;      /* by part */
    uint32_t *ninputs;       /* by part */
    uint32_t *order;         /* in which the parts are called */
    cfx_module **child;      /* by part; ours until the parent takes them */
    cfx_node **env;          /* of the graph being made */
    const char **path;       /* by node id: of its module, in the child */
} splitter;

/* Everything that is found out before the first node is made. */
cfx_status cfx_split__prepare(splitter *s, cfx_part_of_fn *part_of,
                              void *user);
/* s->nodes and s->outputs, from s->part_of. */
cfx_status cfx_split__sort_nodes(splitter *s);
/* Make the children. */
cfx_status cfx_split__carve(splitter *s);
/* The parent: new, or gm itself. */
cfx_status cfx_split__parent(splitter *s, cfx_module **out);
/* A new one, by what makes its graph and what gives it the children. */
cfx_status cfx_split__new_parent(
    splitter *s, cfx_status (*make)(splitter *s, cfx_carving *c),
    cfx_status (*give)(splitter *s, cfx_module *to), cfx_module **out);
cfx_status cfx_split__in_place(splitter *s);

/* The pairs of n strings as a dict; takes the references, also on failure. */
cfx_status cfx_split__dict_take(splitter *s, cfx_value *pair, size_t n,
                                cfx_value *out);

/* Bytes of all parameters and buffers of a module, those of known extents. */
uint64_t cfx_split__module_bytes(const cfx_module *m);

cfx_status cfx_split__init(splitter *s, const cfx_module *gm,
                           const cfx_split_options *options, cfx_error *err);
void cfx_split__release(splitter *s);

#endif
