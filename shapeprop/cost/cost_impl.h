/*
 * cost_impl.h -- private state of a walk that counts costs. Not installed.
 */
#ifndef CFX_COST_IMPL_H
#define CFX_COST_IMPL_H

#include <cfx/cost.h>

#include "base/util.h"

/* A call of a higher-order operator whose graphs are running. */
typedef struct cfx_cost_frame {
    struct cfx_cost_frame *around;
    const cfx_call *call;
    uint32_t ngraphs; /* number of graphs called */
    cfx_cost sum[2];  /* the second is for the other branch of cond */
} cfx_cost_frame;

/* The scope comes first, so that its hooks can cast. */
struct cfx_cost_self {
    cfx_shape_scope scope;
    cfx_cost_prop *prop;
    cfx_status (*call_cost)(cfx_cost_prop *p, cfx_call *call, cfx_cost *cost,
                            cfx_value *out);
    cfx_status (*node_cost)(cfx_cost_prop *p, cfx_cost_node *n);
    uint32_t *row_of; /* by node id */
    uint32_t nids;
    size_t nrows;
    cfx_cost_node *row; /* the current one */
    cfx_cost *sum;      /* receives the costs of calls */
    cfx_cost_frame *frame;
    int64_t dearest;          /* FLOPs of the most expensive call, if known */
    cfx_cost_weight *weights; /* weights of the current row */
    size_t nweights, cap;
    cfx_arena arena; /* weights of finished rows */
};

cfx_cost cfx_cost__none(void);
cfx_cost_sum cfx_cost__no_sum(void);
/* Add a weight's elements and bytes to a sum. */
void cfx_cost__add_tensor(cfx_shape_env *env, cfx_cost_sum *sum,
                          const cfx_cost_weight *w);

/* Record a parameter or buffer of the current row; false on lack of memory. */
bool cfx_cost__add_weight(struct cfx_cost_self *self, const cfx_state *state);
/* Store the recorded weights in the row. */
cfx_status cfx_cost__node_weights(cfx_cost_prop *p, cfx_cost_node *row);

#endif
