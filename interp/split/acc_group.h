/*
 * acc_group.h -- what must run together on an accelerator. Not installed.
 */
#ifndef CFX_ACC_GROUP_H
#define CFX_ACC_GROUP_H

#include "interp/split/carve.h"

/* Calls by the unit that they are of, in order: those of unit u are
 * call[start[u]] ... call[start[u + 1]]. */
typedef struct cfx_acc_units {
    uint32_t *of;            /* by node id; n for what is no call */
    uint32_t n;
    uint32_t *start;
    cfx_node **call;
} cfx_acc_units;

/* Each call a unit by itself. */
cfx_status cfx_acc_units__init(cfx_acc_units *u, const cfx_graph *g,
                               cfx_arena *a, cfx_error *err);

/*
 * Calls on the accelerator that exchange what is no tensor become one unit,
 * with all that is on a way from one of them to another. Units that would
 * have to hold a call of the host are given up, and all their calls run there.
 */
cfx_status cfx_acc_units__group(cfx_acc_units *u, bool *on_acc,
                                const cfx_graph *g, cfx_arena *a,
                                cfx_error *err);

#endif
