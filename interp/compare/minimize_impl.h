/*
 * minimize_impl.h -- parts of a graph, as the minimizer runs them. Not
 * installed.
 */
#ifndef CFX_MINIMIZE_IMPL_H
#define CFX_MINIMIZE_IMPL_H

#include <cfx/minimize.h>

#include "base/util.h"

struct cfx_minimizer_self {
    cfx_context *ctx;
    cfx_error *err;
    const cfx_node **node;   /* that are looked at, in order */
    size_t n;
    cfx_node_map a, b;       /* what each way gave; a: also the whole model */
    cfx_buf report;          /* of this iteration, in lines */
    size_t lines;
};

/* What came of a part. */
typedef enum cfx_verdict { CFX_ALIKE, CFX_MISMATCH, CFX_RUN_ERROR } cfx_verdict;

/* A copy of all tensors in a value, or a share of what has none. */
cfx_status cfx_value__copy(cfx_value *out, cfx_context *ctx, cfx_value v,
                           cfx_error *err);

/* Run the whole model once and keep what its nodes give. */
cfx_status cfx_minimizer__run_all(cfx_minimizer *m, const cfx_value *inputs,
                                  size_t n);

/* Run n nodes, in their order, as a part in both ways. What is compared is the
 * last one's value, or with `whole` all that goes out of the part. */
cfx_status cfx_minimizer__try(cfx_minimizer *m, const cfx_node *const *node,
                              size_t n, bool whole, cfx_verdict *verdict);

/* A line of the report. */
void cfx_minimizer__say(cfx_minimizer *m, const char *fmt, ...)
    CFX_PRINTF(2, 3);

#endif
