/*
 * split_impl.h -- state of splitting a graph into parts. Not installed.
 */
#ifndef CFX_SPLIT_IMPL_H
#define CFX_SPLIT_IMPL_H

#include <cfx/split.h>

#include "interp/split/extract.h"

#define NO_PART UINT32_MAX

/* Lists of nodes by part: those of part p are item[start[p]] ... item[start[p +
 * 1] - 1]. */
typedef struct node_lists {
    cfx_node **item;
    uint32_t *start;
} node_lists;

typedef struct splitter {
    cfx_context *ctx;
    const cfx_module *gm;
    cfx_graph *g; /* of gm */
    cfx_split_options o;
    cfx_error *err; /* never NULL */
    cfx_arena arena;

    uint32_t nids;
    uint32_t *part_of; /* by node id; NO_PART: it stays in the parent */
    uint32_t nparts;
    const char **name; /* by part: name of the child */
    node_lists nodes, outputs;
    cfx_node ***inputs; /* by part */
    uint32_t *ninputs;  /* by part */
    uint32_t *order;    /* order in which the parts are called */
    cfx_module **child; /* by part; owned until the parent takes them */
    cfx_node **env;     /* of the graph being made */
    const char **path;  /* by node id: path of its module in the child */
} splitter;

/* Compute everything that is needed before nodes are created. */
cfx_status cfx_split__prepare(splitter *s, cfx_part_of_fn *part_of,
                              void *user);
/* Fill s->nodes and s->outputs from s->part_of. */
cfx_status cfx_split__sort_nodes(splitter *s);
/* Make the children. */
cfx_status cfx_split__extract(splitter *s);
/* Build the parent: a new one, or gm itself. */
cfx_status cfx_split__parent(splitter *s, cfx_module **out);
/* Build a new parent, with functions for its graph and its children. */
cfx_status cfx_split__new_parent(
    splitter *s, cfx_status (*make)(splitter *s, cfx_extraction *c),
    cfx_status (*give)(splitter *s, cfx_module *to), cfx_module **out);
cfx_status cfx_split__in_place(splitter *s);

/* Make a dict of n pairs of strings. Takes the references, also on failure. */
cfx_status cfx_split__dict_take(splitter *s, cfx_value *pair, size_t n,
                                cfx_value *out);

/* Return the bytes of all parameters and buffers whose extents are known. */
uint64_t cfx_split__module_bytes(const cfx_module *m);

cfx_status cfx_split__init(splitter *s, const cfx_module *gm,
                           const cfx_split_options *options, cfx_error *err);
void cfx_split__release(splitter *s);

#endif
