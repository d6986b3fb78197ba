/*
 * facts.h -- the facts of one application of a pass. Not installed.
 */
#ifndef CFX_REWRITE_FACTS_H
#define CFX_REWRITE_FACTS_H

#include "interp/rewrite/rewrite_rules.h"

typedef struct cfx_facts {
    cfx_status status; /* of the first fact that could not be found */
    bool has_kinds, has_paths;
    cfx_graph_kinds kinds;
    path_uses paths;
} cfx_facts;

/* Release the facts. Returns the status of what could not be found. */
cfx_status cfx_facts__forget(cfx_pass_call *p);

#endif
