/*
 * roofline_impl.h -- declarations shared by the roofline's files. Not
 * installed.
 */
#ifndef CFX_ROOFLINE_IMPL_H
#define CFX_ROOFLINE_IMPL_H

#include <cfx/roofline.h>

#include "shapeprop/cost/cost_impl.h"
#include "shapeprop/memory/memory_impl.h"

/* The memory that a row uses. */
typedef struct cfx_flow_row {
    const cfx_memory_part *value; /* blocks of its value */
    size_t nvalue;
    size_t first, count; /* range of its reads */
} cfx_flow_row;

/* Reads and writes of memory blocks by all rows: flow.c. */
typedef struct cfx_flow {
    cfx_context *ctx;
    cfx_shape_env *env;
    const cfx_cost_prop *costs;
    const cfx_memory_plan *plan;
    size_t nrows, nreadings, reading_cap;
    cfx_flow_row *row;
    uint32_t *end; /* by block: the last row that uses it */
    cfx_memory_part *reading;
    cfx_map weights; /* block of a tensor */
} cfx_flow;

/* The costs and the plan, of the same run, are borrowed. */
cfx_status cfx_flow__make(cfx_flow *f, const cfx_cost_prop *costs,
                          const cfx_memory_plan *plan, cfx_error *err);
void cfx_flow__release(cfx_flow *f);

/* True if a block outlives the run, as weights and inputs do. */
bool cfx_flow__is_kept(const cfx_flow *f, uint32_t block);

/* Compute the floor of each row; CFX_BOUND_UNKNOWN if its counts are not known.
 * `value` may be NULL. */
cfx_status cfx_flow__find_floors(cfx_roofline_floor *floor, const cfx_flow *f,
                                 const cfx_machine_rates *rates,
                                 cfx_symbol_fn *value, void *user,
                                 cfx_error *err);

struct cfx_roofline_self {
    cfx_cost_prop costs;
    cfx_memory_plan *plan;
    cfx_flow flow;
    size_t crossover_cap, point_cap;
    cfx_cost_sum weights[CFX_NBOUNDS]; /* read by nodes of each bound */
};

/* Compute the sums of costs, floors and times. */
void cfx_roofline__add_up(cfx_roofline *r);

#endif
