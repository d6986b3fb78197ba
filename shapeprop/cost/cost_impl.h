/*
 * cost_impl.h -- what a walk that counts costs keeps. Not installed.
 */
#ifndef CFX_COST_IMPL_H
#define CFX_COST_IMPL_H

#include <cfx/cost.h>

#include "base/util.h"

/* Around the calls that the graphs of one call make. */
typedef struct cfx_cost_frame {
    struct cfx_cost_frame *around;
    const cfx_call *call;
    uint32_t ngraphs;       /* that it has called */
    cfx_cost sum[2];        /* the second: of cond's other branch */
} cfx_cost_frame;

/* The scope comes first: its hooks cast. */
struct cfx_cost_self {
    cfx_shape_scope scope;
    cfx_cost_prop *prop;
    cfx_status (*call_cost)(cfx_cost_prop *p, cfx_call *call, cfx_cost *cost,
                            cfx_value *out);
    cfx_status (*node_cost)(cfx_cost_prop *p, cfx_cost_node *n);
    uint32_t *row_of;       /* by node id */
    uint32_t nids;
    size_t nrows;
    cfx_cost_node *row;     /* being filled */
    cfx_cost *sum;          /* where calls are added */
    cfx_cost_frame *frame;
    int64_t dearest;        /* flops of the dearest call so far, if known */
    cfx_cost_weight *weights; /* of the row being filled */
    size_t nweights, cap;
    cfx_arena arena;        /* weights of the rows that are filled */
};

cfx_cost cfx_cost__none(void);
cfx_cost_sum cfx_cost__no_sum(void);
/* Add what a weight has to a sum: elements, bytes. */
void cfx_cost__add_tensor(cfx_shape_env *env, cfx_cost_sum *sum,
                          const cfx_cost_weight *w);

/* Note a parameter or buffer of the row being filled; false on lack of
 * memory. */
bool cfx_cost__add_weight(struct cfx_cost_self *self, const cfx_state *state);
/* Keep what was noted in the row. */
cfx_status cfx_cost__node_weights(cfx_cost_prop *p, cfx_cost_node *row);

#endif
