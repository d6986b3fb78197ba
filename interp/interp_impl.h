/*
 * interp_impl.h -- what an interpreter knows of each node before it runs. Not
 * installed.
 */
#ifndef CFX_INTERP_IMPL_H
#define CFX_INTERP_IMPL_H

#include <cfx/interp.h>

#include "base/util.h"

/* A place among a step's values, the node whose value belongs there, and the
 * kinds (1 << cfx_kind) that it may have. */
typedef struct patch {
    cfx_value *at;
    uint32_t id, kinds;
} patch;

#define ANY_KIND (~(uint32_t)(1 << CFX_ABSENT))

/* One signature that a call may turn out to have, bound. */
typedef struct candidate {
    const cfx_target *target;
    cfx_value *in;     /* one a parameter, with holes */
    patch *patch;      /* the holes, in `in` or in lists that it holds */
    cfx_value *owned;  /* values that binding made */
    uint32_t npatch, nowned;
    bool inplace;
} candidate;

/* A call as its node spells it. */
typedef struct spelling {
    cfx_value *args, *kwargs;    /* copies of the node's, with holes */
    patch *patch;                /* the holes of both */
    uint32_t npatch;
} spelling;

/* One node, prepared: what a walk needs of it, without a look at the node. */
typedef struct step {
    const cfx_node *node;
    uint32_t id;
    uint8_t op;                  /* cfx_opcode */
    bool direct;                 /* no hook needs to see the call as spelled */
    uint16_t ncandidates;        /* 0: bind when it runs */
    candidate *candidate;
    uint32_t *drop;              /* ids of values that end here */
    uint32_t ndrop;
    spelling spelled;
    const cfx_target *target;    /* of functions and methods */
    cfx_module *module;          /* of call_module */
} step;

struct cfx_interp_self {
    cfx_interp *it;
    cfx_interp_class hook;       /* every hook found: the class flattened */
    cfx_context *ctx;
    cfx_arena arena;
    step *step;
    size_t nsteps;
    uint32_t *step_of;           /* by node id: index + 1 */
    cfx_value *env;              /* by node id */
    uint32_t nids;
    const step *walking;         /* where the walk is */
    const cfx_value *inputs;
    size_t ninputs, next_input;
    bool keep_values;
    bool has_run;                /* and its values are still there */
    cfx_scope eager;
};

/* Find everything that does not change between runs. */
cfx_status cfx_interp__prepare(cfx_interp *it, cfx_error *err);
void cfx_interp__forget(cfx_interp *it);

/* "While executing %add : ..." behind an error. */
void cfx_interp__while_executing(cfx_error *err, const cfx_node *n);

#endif
