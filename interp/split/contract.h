/*
 * contract.h -- an acyclic graph whose vertices can be merged, kept in
 * topological order. Not installed.
 *
 * Vertices are the nodes of a graph, by number. Merged vertices have one
 * representative. Edges are values, and pairs of accesses to shared memory that
 * must keep their order. The order is maintained by Pearce and Kelly's
 * algorithm: merging two vertices searches, and reorders, only the vertices
 * between their places.
 */
#ifndef CFX_CONTRACT_H
#define CFX_CONTRACT_H

#include <cfx/graph.h>

#include "base/util.h"

/* An edge, in the list of the vertex at one of its ends. */
typedef struct contract_edge {
    uint32_t other, next; /* next: index + 1, or 0 */
} contract_edge;

typedef struct contract_vertex {
    uint32_t parent;            /* union-find */
    uint32_t place;             /* in the topological order */
    uint32_t mark;              /* number of the last search that visited it */
    uint32_t size;              /* of the union */
    bool fixed;                 /* it cannot be merged */
    bool by_fixed;              /* the last search reached it by a fixed one */
    uint32_t first[2], last[2]; /* edges out and in: index + 1, or 0 */
} contract_vertex;

typedef struct contraction {
    cfx_context *ctx;
    contract_vertex *v;
    contract_edge *edge;
    size_t edge_bytes;
    uint32_t n;
    uint32_t *at;   /* by place: the vertex */
    uint32_t *pool; /* scratch for reassigning places */
    uint32_t stamp;
    uint32_t *found[2]; /* by the forward and the backward search */
    uint32_t nfound[2];
} contraction;

/* `number` maps the ids of nodes to 0 ... n-1, in the order of the graph. */
cfx_status cfx_contraction__init(contraction *c, const cfx_graph *g,
                                 const uint32_t *number, cfx_error *err);
void cfx_contraction__release(contraction *c);

uint32_t cfx_contraction__find(contraction *c, uint32_t i);

/* Merge two representatives, unless a path connects them through a third
 * vertex. *never is set if such a path contains a fixed vertex, so that they
 * can never be merged. */
bool cfx_contraction__merge(contraction *c, uint32_t a, uint32_t b,
                            uint32_t *joined, bool *never);

/* Count the vertices of `wanted` that `from` reaches through vertices whose
 * place is at most `limit`. */
uint32_t cfx_contraction__reach(contraction *c, uint32_t from, uint32_t limit,
                                const bool *wanted);

/* Compare two vertex numbers, for qsort. */
int cfx_contraction__by_number(const void *a, const void *b);

#endif
