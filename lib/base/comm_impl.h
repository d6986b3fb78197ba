/*
 * comm_impl.h -- what collectives tell an observer before they run. Not
 * installed.
 */
#ifndef CFX_BASE_COMM_IMPL_H
#define CFX_BASE_COMM_IMPL_H

#include <cfx/comm.h>

/* Receives each collective whose shape is inferred: its group, and the call in
 * words that are equal on all of the group's ranks. */
typedef cfx_status cfx_comm_observer(void *user, const char *group,
                                     const char *call, cfx_error *err);

/* NULL ends the observation. Fails with CFX_ENOMEM. */
cfx_status cfx_comm__observe(cfx_context *ctx, cfx_comm_observer *fn,
                             void *user, cfx_error *err);

/* Is there an observer? */
bool cfx_comm__is_observed(cfx_context *ctx);
cfx_status cfx_comm__observed(cfx_context *ctx, const char *group,
                              const char *call, cfx_error *err);

#endif
