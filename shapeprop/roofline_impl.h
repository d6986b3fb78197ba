/*
 * roofline_impl.h -- what the parts of a roofline know of each other. Not
 * installed.
 */
#ifndef CFX_ROOFLINE_IMPL_H
#define CFX_ROOFLINE_IMPL_H

#include <cfx/roofline.h>

#include "shapeprop/cost_impl.h"

#define CFX_NO_BUFFER UINT32_MAX

/* Memory of a value, a weight, or of several that share it. */
typedef struct cfx_buffer {
    cfx_dim bytes;
    uint32_t end;           /* the row after which it is given back */
    bool kept;              /* weights and inputs outlive the run */
} cfx_buffer;

/* A part of a buffer that a row reads. */
typedef struct cfx_reading {
    uint32_t buffer;
    cfx_dim bytes;
} cfx_reading;

/* What a row does with memory. */
typedef struct cfx_flow_row {
    uint32_t buffer;        /* of its value, or CFX_NO_BUFFER */
    uint32_t first, count;  /* its readings */
} cfx_flow_row;

/* Which memory flows where: flow.c. */
typedef struct cfx_flow {
    cfx_context *ctx;
    cfx_shape_env *env;
    const cfx_cost_prop *costs;
    size_t nrows, nbuffers, nreadings, buffer_cap, reading_cap;
    cfx_flow_row *row;
    cfx_buffer *buffer;
    cfx_reading *reading;
    cfx_map weights;        /* buffer of a tensor */
} cfx_flow;

cfx_status cfx_flow__make(cfx_flow *f, const cfx_cost_prop *costs,
                          cfx_error *err);
void cfx_flow__release(cfx_flow *f);

/* The floors of all rows, one each; rows whose counts are not known are
 * CFX_BOUND_UNKNOWN. `value` may be NULL. */
cfx_status cfx_flow__find_floors(cfx_roofline_floor *floor, const cfx_flow *f,
                                 const cfx_machine_rates *rates,
                                 cfx_symbol_fn *value, void *user,
                                 cfx_error *err);

struct cfx_roofline_self {
    cfx_cost_prop costs;
    cfx_flow flow;
    size_t turn_cap, point_cap;
    cfx_cost_sum weights[CFX_NBOUNDS]; /* that nodes of a bound read */
};

/* Fill in all sums, of costs, floors and times. */
void cfx_roofline__add_up(cfx_roofline *r);

#endif
