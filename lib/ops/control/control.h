/*
 * control.h -- shared by operators whose arguments are graphs. Not installed.
 */
#ifndef CFX_CONTROL_H
#define CFX_CONTROL_H

#include <cfx/scope.h>

#include "op/op_impl.h"

CFX_PARAMS(cfx_control_params, PRED, TRUE_FN, FALSE_FN, OPERANDS, COND_FN,
           BODY_FN, CARRIED_INPUTS, ADDITIONAL_INPUTS, F, XS, POS_ARGS,
           COMBINE_FN, INIT, ENABLED, WRAPPED, DEVICE_TYPE, DTYPE,
           CACHE_ENABLED, SUBGRAPH, IDENTIFIER);

/* A call of such an operator in its scope. */
typedef struct control {
    cfx_scope *s;
    cfx_call *call;
} control;

/* The list that parameter k is. */
CFX_INLINE const cfx_seq *list_of(const control *c, int k)
{
    return cfx_call_value(c->call, k).u.seq;
}

typedef cfx_status control_run(control *c, cfx_value *out);

/* Call the graph that parameter k is. *out is a new reference. */
cfx_status cfx_control__call(control *c, int k, const cfx_value *args,
                             size_t n, cfx_value *out);

/* The truth of v; *known is false if it depends on data. `what` names v in
 * messages. */
cfx_status cfx_control__truth(control *c, cfx_value v, const char *what,
                              bool *known, bool *out);

/* Merge the results of two graphs (or two rounds of one): tensors become
 * metas, integers that differ unbacked symbols. With `same`, extents must
 * agree. */
typedef struct control_merge {
    control *c;
    const char *a, *b; /* whose results they are, for messages */
    bool same;
} control_merge;
cfx_status cfx_control__merge(const control_merge *m, cfx_value a, cfx_value b,
                              cfx_value *out);

/* Values that are owned, in a row. */
typedef struct control_row {
    size_t n;
    cfx_value *v;
} control_row;
cfx_status cfx_control__row(control *c, control_row *row, size_t n);
void cfx_control__row_release(control *c, control_row *row);

/* Do the nodes of a called graph compute the same in place of the call? Not within
 * autocast. */
bool cfx_control__may_inline(const cfx_target *t, const cfx_value *args,
                             size_t nargs);

control_run cfx_control__cond, cfx_control__while_loop, cfx_control__map,
    cfx_control__scan, cfx_control__associative_scan, cfx_control__wrap,
    cfx_control__autocast;

#endif
