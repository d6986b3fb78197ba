/*
 * acc_group.h -- calls that must run together on an accelerator. Not installed.
 */
#ifndef CFX_ACC_GROUP_H
#define CFX_ACC_GROUP_H

#include "interp/split/extract.h"

/* The calls, sorted by unit: those of unit u are call[start[u]] ...
 * call[start[u + 1] - 1]. */
typedef struct cfx_acc_units {
    uint32_t *of; /* by node id: its unit; n if not a call */
    uint32_t n;
    uint32_t *start;
    cfx_node **call;
} cfx_acc_units;

/* Make each call a unit by itself. */
cfx_status cfx_acc_units__init(cfx_acc_units *u, const cfx_graph *g,
                               cfx_arena *a, cfx_error *err);

/*
 * Join the calls on the accelerator that exchange values without tensors, and
 * all calls on paths between them, into one unit. A unit that would contain a
 * call of the host is dissolved and its calls run on the host.
 */
cfx_status cfx_acc_units__group(cfx_acc_units *u, bool *on_acc,
                                const cfx_graph *g, cfx_arena *a,
                                cfx_error *err);

#endif
