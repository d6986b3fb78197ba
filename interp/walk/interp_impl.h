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

/* The placeholders of a graph, in order. */
typedef struct cfx_params {
    const cfx_node **node;
    size_t n, cap;
} cfx_params;

/* GraphModules that were called in a scope: nested.c. */
typedef struct cfx_walks {
    cfx_map by_module;           /* keys are pointers */
    int depth;
} cfx_walks;

/* A level takes some kilobytes of the C stack, and trees that are read from
 * text are no deeper. */
enum { CFX_MAX_NESTED_RUNS = 256 };

/* One run's share of an interpreter; a run within a run has another. */
struct cfx_interp_self {
    cfx_interp_class hook;       /* every hook found: the class flattened */
    cfx_context *ctx;
    cfx_arena arena;
    step *step;
    size_t nsteps, room;
    uint32_t *step_of;           /* by node id: index + 1 */
    cfx_value *env;              /* by node id */
    uint32_t nids;
    const step *walking;         /* where the walk is */
    const cfx_value *inputs;
    size_t ninputs, next_input;
    bool bound;                  /* inputs has one value a placeholder */
    bool nested;                 /* it runs inside of another's run */
    bool boxed;                  /* inputs are given away */
    size_t at;                   /* the next step; of a run in steps */
    void (*progress)(void *user, size_t done, size_t total);
    void *progress_user;
    cfx_status (*untold)(cfx_interp *it, const cfx_node *n, cfx_value *out);
    bool has_kwargs;             /* a placeholder is `**kwargs` */
    cfx_params params;           /* of nested ones */
    cfx_walks walks;             /* what this run calls, if it is the first */
    bool keep_values;
    bool has_run;                /* and its values are still there */
    bool running, stepped;       /* stepped: until cfx_interp_end */
    struct cfx_interp_self *outer; /* of the run that this one is within */
    struct cfx_interp_self *inner; /* for runs within; NULL until the first */
    cfx_scope eager;
};

/* Find everything that does not change between runs. */
cfx_status cfx_interp__prepare(cfx_interp *it, cfx_error *err);
void cfx_interp__forget(struct cfx_interp_self *self);

/* Make it->self->inner. */
cfx_status cfx_interp__new_inner(cfx_interp *it, cfx_error *err);

cfx_status cfx_params__find(cfx_params *p, const cfx_graph *g, cfx_error *err);
void cfx_params__release(cfx_params *p, cfx_context *ctx);

/* cfx_interp_init_with; `nested` ones tell their module in errors. */
cfx_status cfx_interp__init_nested(cfx_interp *it, const cfx_interp_class *cls,
                                   cfx_module *gm,
                                   const cfx_interp_options *options,
                                   bool nested, cfx_error *err);

/* Run with one value a placeholder, absent for its default, in the midst of
 * what else happens in the scope. */
cfx_status cfx_interp__run_bound(cfx_interp *it, const cfx_value *in,
                                 cfx_value *result, cfx_error *err);

/* "While executing %add : ..." behind an error, unless it is there. */
void cfx_interp__while_executing(const cfx_interp *it, cfx_error *err,
                                 const cfx_node *n);

void cfx_walks__init(cfx_walks *w, cfx_context *ctx);
void cfx_walks__release(cfx_walks *w);

/* The call_graph of cfx_scope_base. */
cfx_status cfx_walks__call_graph(cfx_scope *s, cfx_module *m, const char *path,
                                 const cfx_spelling *c, const cfx_value *in,
                                 cfx_value *out);

/* Of GraphModules that are called in a scope that writes calls down. */
extern const cfx_interp_class cfx_transformer__inline;

#endif
