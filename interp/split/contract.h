/*
 * contract.h -- an acyclic graph whose vertices are joined, kept in order. Not
 * installed.
 *
 * Vertices are the nodes of a graph, by number; joined ones have one
 * representative. Edges are values that pass, and writes to shared memory that
 * must stay between what they stand between. The order is that of Pearce and
 * Kelly's algorithm: joining two searches between their places only, and moves
 * only what it finds there.
 */
#ifndef CFX_CONTRACT_H
#define CFX_CONTRACT_H

#include <cfx/graph.h>

#include "base/util.h"

/* An edge in the list of the vertex that it leaves, or enters. */
typedef struct contract_edge {
    uint32_t other, next;    /* next: index + 1, or 0 */
} contract_edge;

typedef struct contract_vertex {
    uint32_t parent;         /* union-find */
    uint32_t place;          /* in the order */
    uint32_t mark;           /* of the last search that came here */
    uint32_t size;           /* of the union */
    bool fixed;              /* it is never joined */
    bool by_fixed;           /* the last search came here by one that is */
    uint32_t first[2], last[2]; /* edges out and in: index + 1, or 0 */
} contract_vertex;

typedef struct contraction {
    cfx_context *ctx;
    contract_vertex *v;
    contract_edge *edge;
    size_t edge_bytes;
    uint32_t n;
    uint32_t *at;            /* by place: the vertex */
    uint32_t *pool;          /* places, while they are given anew */
    uint32_t stamp;
    uint32_t *found[2];      /* by the searches forwards and backwards */
    uint32_t nfound[2];
} contraction;

/* `number` maps the ids of nodes to 0 ... n-1, in the order of the graph. */
cfx_status cfx_contraction__init(contraction *c, const cfx_graph *g,
                                 const uint32_t *number, cfx_error *err);
void cfx_contraction__release(contraction *c);

uint32_t cfx_contraction__find(contraction *c, uint32_t i);

/* Join two representatives, unless a path leads from one to the other through
 * a third; *never is set where one on the path is fixed, so that they cannot be
 * joined later either. */
bool cfx_contraction__join(contraction *c, uint32_t a, uint32_t b,
                           uint32_t *joined, bool *never);

/* How many of the vertices in `wanted` does one reach, by way of those whose
 * place is at most `limit`? */
uint32_t cfx_contraction__reach(contraction *c, uint32_t from, uint32_t limit,
                                const bool *wanted);

/* Compare two numbers of vertices, for qsort. */
int cfx_contraction__by_number(const void *a, const void *b);

#endif
