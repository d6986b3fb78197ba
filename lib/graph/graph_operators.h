/*
 * graph_operators.h -- counting what a model calls, of graphs and of files that are
 * not graphs yet. Not installed.
 */
#ifndef CFX_GRAPH_OPERATORS_H
#define CFX_GRAPH_OPERATORS_H

#include <cfx/nearest.h>
#include <cfx/operators.h>

/* Begin with no counts. Fails with CFX_ENOMEM. */
cfx_status cfx_operators__begin(cfx_operators *ops, cfx_context *ctx,
                                cfx_error *err);
/* Count a call; `call` without count and nearest name. Its texts are copied.
 * Fails with CFX_ENOMEM. */
cfx_status cfx_operators__count(cfx_operators *ops,
                                const cfx_operator_count *call,
                                cfx_error *err);

/* Try the known names for an unknown operator. */
typedef void cfx_operators_try(void *user, cfx_nearest *near,
                               const cfx_operator_count *unknown);

/* Sort the counts and find nearest names. Fails with CFX_ENOMEM. */
cfx_status cfx_operators__end(cfx_operators *ops, cfx_operators_try *try_names,
                              void *user, cfx_error *err);

/* Fail with CFX_EOPERATOR and the unknown operators, the most frequent first:
 * "2 operators are unknown: 'a' (3 calls, the first in x), ...". */
cfx_status cfx_operators__fail(const cfx_operators *ops, cfx_error *err);

#endif
