/*
 * placing.h -- one search for parts and devices. Not installed.
 *
 * Calls are numbered in the order of the graph, sources (placeholders and
 * get_attr nodes) behind them; both are items. A layout says which part each
 * call is of, and what follows from that. Sources belong to every part that
 * takes them.
 */
#ifndef CFX_PLACING_H
#define CFX_PLACING_H

#include <cfx/accelerator.h>

#include "interp/carve.h"

#define NOWHERE UINT32_MAX
#define SHARED (UINT32_MAX - 1) /* on the first `nshared` devices */

/* Bytes that go from one part to another. */
typedef struct edge {
    uint32_t from, to;
    int64_t bytes;
} edge;

typedef struct layout {
    uint32_t *part;          /* by call; NOWHERE: of none */
    uint32_t nparts;
    uint32_t *start, *call;  /* calls of part p: call[start[p]] ... */
    int64_t *bytes;          /* by part */
    uint32_t *device;        /* by part: an index; NOWHERE: of none */
    cfx_part_latency *latency; /* by part */
    edge *edge;
    uint32_t nedges;
    uint32_t *level;         /* by part: parts on the longest way to it */
} layout;

typedef struct placing {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_graph *g;
    cfx_place_options o;
    const cfx_device *device;
    size_t ndevices;
    cfx_error *err;          /* never NULL */
    cfx_arena arena;

    uint32_t nshared;
    uint32_t ncalls, nitems;
    cfx_node **node;         /* by item */
    int64_t *output, *total; /* by item */
    uint32_t *first, *input; /* inputs of call c: input[first[c]] ... items */
    cfx_node_latency *time;  /* by call; NULL: not told */

    /* Scratch of layouts. */
    uint64_t *mark, stamp;   /* by item; never the same twice */
    uint32_t *source_start, *source; /* sources of part p */
    uint32_t *edge_to;       /* by part: its edge to the one at hand */
    uint32_t *edge_from, *edge_start, *by_from;
    uint32_t *wait, *turn;   /* by part: edges to come; the order */
    cfx_part_latency *along; /* by call: the longest way to it */
    double *path;            /* by part */
    int64_t *left;           /* by device: bytes */
    uint32_t *rank;          /* devices, those with the least left first */
} placing;

/* Number the graph's calls and sources; err says why it failed. Zeroed but
 * for ctx, gm, g, o, device, ndevices, err. */
cfx_status cfx_placing__init(placing *s, const cfx_node_size *size);

/* A layout with room for `room` parts; calls are of part 0. */
cfx_status cfx_layout__init(placing *s, layout *l, uint32_t room);
/* Scratch for layouts of up to `room` parts. */
cfx_status cfx_layout__scratch(placing *s, uint32_t room);
/* Sort calls by part; bytes of each. */
void cfx_layout__weigh(placing *s, layout *l);
/* Bytes of the calls of parts a and b (NOWHERE: only a) as one part. */
int64_t cfx_layout__bytes(placing *s, const layout *l, uint32_t a, uint32_t b);
/* After weigh: edges, levels and latencies. False: parts make a cycle. */
bool cfx_layout__connect(placing *s, layout *l);
/* After weigh: find devices for the parts that have none, in order; false:
 * there is no room for one, and those behind it have none either. */
bool cfx_layout__find_devices(placing *s, layout *l);
void cfx_layout__forget_devices(layout *l);
/* After connect: latency of the whole. Parts with the same number for a device
 * are at one place. */
double cfx_layout__latency(placing *s, const layout *l);

CFX_INLINE bool cfx_layout__is_empty(const layout *l, uint32_t p)
{
    return l->start[p] == l->start[p + 1];
}

/* The devices of a part, by index; in AOT mode the part's number too. */
typedef struct place {
    int64_t number;
    const cfx_part_devices *given;
    uint32_t *device;
    uint32_t n;
} place;

typedef struct places {
    placing *s;
    layout l;
    place *item;             /* by part; in AOT mode sorted by number */
    int64_t *part_of;        /* by node id */
    bool single;
} places;

/* Order places by number. */
int cfx_place__by_number(const void *a, const void *b);
/* Add copies on idle devices. */
cfx_status cfx_place__saturate(places *x);
/* Split the graph, and say what came out. */
cfx_status cfx_place__tell(places *x, cfx_placement *out);

/* Fails: parts find no devices. */
cfx_status cfx_place__no_mapping(placing *s);

/* The modes: fill a layout of room for twice as many parts as calls. */
cfx_status cfx_place__by_size(placing *s, layout *l);
cfx_status cfx_place__sparse(placing *s, layout *l);
cfx_status cfx_place__by_cost(placing *s, layout *l);
cfx_status cfx_place__swap(placing *s, layout *l);

#endif
