/*
 * constants.h -- values of nodes that depend on parameters, buffers and literals
 * only. Not installed.
 */
#ifndef CFX_PASSES_CONSTANTS_H
#define CFX_PASSES_CONSTANTS_H

#include <cfx/pass.h>
#include <cfx/scope.h>

typedef struct cfx_constants {
    cfx_pass_call *p;
    cfx_scope scope;
    cfx_node_map value; /* absent: not known */
} cfx_constants;

/* Never fails. */
void cfx_constants__init(cfx_constants *k, cfx_pass_call *p);
/* A zeroed one is allowed. */
void cfx_constants__release(cfx_constants *k);

/* Is the target of a call known? One of an unknown operator cannot be computed. */
bool cfx_constants__is_known(const cfx_constants *k, const cfx_node *n);
/* Compute a call whose inputs have values or are get_attr nodes. Fails as the call
 * does, and with CFX_EWEIGHT. */
cfx_status cfx_constants__compute(cfx_constants *k, const cfx_node *n);

/* Does a node give the same in each run if its inputs do? */
typedef bool cfx_constants_test(void *user, const cfx_node *n);
/* A new reference to the value of n, computed from few nodes that all are constant;
 * absent if there are others. Fails as cfx_constants__compute. */
cfx_status cfx_constants__find(cfx_constants *k, const cfx_node *n,
                               cfx_constants_test *is_constant, void *user,
                               cfx_value *out);

#endif
