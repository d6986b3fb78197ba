/*
 * roofline_impl.h -- what the parts of a roofline know of each other. Not
 * installed.
 */
#ifndef CFX_ROOFLINE_IMPL_H
#define CFX_ROOFLINE_IMPL_H

#include <cfx/roofline.h>

#include "shapeprop/cost/cost_impl.h"
#include "shapeprop/memory/memory_impl.h"

/* What a row does with memory. */
typedef struct cfx_flow_row {
    const cfx_memory_part *value; /* where its value lies */
    size_t nvalue;
    size_t first, count;          /* its readings */
} cfx_flow_row;

/* Which blocks of memory flow where: flow.c. */
typedef struct cfx_flow {
    cfx_context *ctx;
    cfx_shape_env *env;
    const cfx_cost_prop *costs;
    const cfx_memory_plan *plan;
    size_t nrows, nreadings, reading_cap;
    cfx_flow_row *row;
    uint32_t *end;                /* by block: the last row that has to do with
                                     it */
    cfx_memory_part *reading;
    cfx_map weights;              /* block of a tensor */
} cfx_flow;

/* Both are borrowed: the costs and the plan of the same run. */
cfx_status cfx_flow__make(cfx_flow *f, const cfx_cost_prop *costs,
                          const cfx_memory_plan *plan, cfx_error *err);
void cfx_flow__release(cfx_flow *f);

/* Does a block outlive the run? Weights and inputs do. */
bool cfx_flow__is_kept(const cfx_flow *f, uint32_t block);

/* The floors of all rows, one each; rows whose counts are not known are
 * CFX_BOUND_UNKNOWN. `value` may be NULL. */
cfx_status cfx_flow__find_floors(cfx_roofline_floor *floor, const cfx_flow *f,
                                 const cfx_machine_rates *rates,
                                 cfx_symbol_fn *value, void *user,
                                 cfx_error *err);

struct cfx_roofline_self {
    cfx_cost_prop costs;
    cfx_memory_plan *plan;
    cfx_flow flow;
    size_t turn_cap, point_cap;
    cfx_cost_sum weights[CFX_NBOUNDS]; /* that nodes of a bound read */
};

/* Fill in all sums, of costs, floors and times. */
void cfx_roofline__add_up(cfx_roofline *r);

#endif
