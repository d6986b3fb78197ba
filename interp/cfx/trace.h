/*
 * cfx/trace.h -- an interpreter that prints each node as it runs: its name, its
 * result and its time.
 */
#ifndef CFX_TRACE_H
#define CFX_TRACE_H

#include <stdio.h>

#include <cfx/interp.h>

typedef struct cfx_trace {
    cfx_interp base;
    FILE *to;
} cfx_trace;

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_trace_class;

/* Prepare a zeroed struct; release it with cfx_interp_release(&t->base). */
CFX_API cfx_status cfx_trace_init(cfx_trace *t, cfx_module *gm, FILE *to,
                                  cfx_error *err);

CFX_END_DECLS

#endif
