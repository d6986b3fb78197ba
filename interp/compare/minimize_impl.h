/*
 * minimize_impl.h -- parts of a graph that the minimizer runs. Not installed.
 */
#ifndef CFX_MINIMIZE_IMPL_H
#define CFX_MINIMIZE_IMPL_H

#include <cfx/minimize.h>

#include "base/util.h"

struct cfx_minimizer_self {
    cfx_context *ctx;
    cfx_error *err;
    const cfx_node **node; /* nodes under test, in order */
    size_t n;
    cfx_node_map a, b; /* values of each way; a: also the whole model's */
    cfx_buf report;    /* lines of this iteration's report */
    size_t lines;
};

/* The outcome for a part. */
typedef enum cfx_verdict {
    CFX_ALIKE,
    CFX_MISMATCH,
    CFX_RUN_ERROR
} cfx_verdict;

/* Copy all tensors in a value; values without tensors are shared. */
cfx_status cfx_value__copy(cfx_value *out, cfx_context *ctx, cfx_value v,
                           cfx_error *err);

/* Run the whole model once and keep the values of its nodes. */
cfx_status cfx_minimizer__run_all(cfx_minimizer *m, const cfx_value *inputs,
                                  size_t n);

/* Run n nodes, in their order, as a part in both ways. Compares the value of
 * the last one, or with `whole` all outputs of the part. */
cfx_status cfx_minimizer__try(cfx_minimizer *m, const cfx_node *const *node,
                              size_t n, bool whole, cfx_verdict *verdict);

/* Add a line to the report. */
void cfx_minimizer__say(cfx_minimizer *m, const char *fmt, ...)
    CFX_PRINTF(2, 3);

#endif
