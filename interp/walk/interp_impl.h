/*
 * interp_impl.h -- what an interpreter precomputes for each node. Not
 * installed.
 */
#ifndef CFX_INTERP_IMPL_H
#define CFX_INTERP_IMPL_H

#include <cfx/input_check.h>
#include <cfx/interp.h>

#include "base/util.h"

/* A hole among a step's values: the node whose value belongs there, and the
 * kinds (1 << cfx_kind) that it may have. */
typedef struct patch {
    cfx_value *at;
    uint32_t id, kinds;
} patch;

#define ANY_KIND (~(uint32_t)(1 << CFX_ABSENT))

/* One signature that a call may resolve to, with bound arguments. */
typedef struct candidate {
    const cfx_target *target;
    cfx_value *in;    /* one per parameter, with holes */
    patch *patch;     /* the holes, in `in` or in lists within it */
    cfx_value *owned; /* values that binding created */
    uint32_t npatch, nowned;
    bool inplace;
} candidate;

/* A call with the node's own target and arguments. */
typedef struct original_call {
    cfx_value *args, *kwargs; /* copies of the node's, with holes */
    patch *patch;             /* the holes of both arrays */
    uint32_t npatch;
} original_call;

/* One prepared node: the walk does not read the node itself. */
typedef struct step {
    const cfx_node *node;
    uint32_t id;
    uint8_t op;           /* cfx_opcode */
    bool direct;          /* no hook needs to see the original call */
    uint16_t ncandidates; /* 0: bind at run time */
    candidate *candidate;
    uint32_t *drop; /* ids of values whose last use is this node */
    uint32_t ndrop;
    original_call original;
    const cfx_target *target; /* of functions and methods */
    cfx_module *module;       /* of call_module */
    size_t
        state; /* of get_attr: the index in the root's states, or SIZE_MAX */
} step;

/* The placeholders of a graph, in order. */
typedef struct cfx_params {
    const cfx_node **node;
    size_t n, cap;
} cfx_params;

/* The GraphModules that were called in a scope: nested.c. */
typedef struct cfx_walks {
    cfx_map by_module; /* keys are pointers */
    int depth;
} cfx_walks;

/* Each level takes some kilobytes of the C stack; trees that are read from text
 * are not deeper than this. */
enum { CFX_MAX_NESTED_RUNS = 256 };

/* The state of one run. A nested run has a state of its own. */
struct cfx_interp_self {
    cfx_interp_class hook; /* the class with inherited hooks filled in */
    cfx_context *ctx;
    cfx_arena arena;
    step *step;
    size_t nsteps, cap;
    uint32_t *step_of; /* by node id: index + 1 */
    cfx_value *env;    /* by node id */
    uint32_t nids;
    const step *walking; /* the current step */
    const cfx_value *inputs;
    size_t ninputs, next_input;
    bool bound;  /* `inputs` has one value per placeholder */
    bool nested; /* it runs inside another run */
    bool boxed;  /* the run takes ownership of the inputs */
    size_t at;   /* the next step, when stepping */
    void (*progress)(void *user, size_t done, size_t total);
    void *progress_user;
    cfx_status (*wrapped_run_node)(cfx_interp *it, const cfx_node *n,
                                   cfx_value *out);
    cfx_input_check *check; /* of the inputs; NULL: none is declared */
    bool sets_inputs;  /* a placeholder has a value from cfx_interp_set_env */
    bool has_kwargs;   /* a placeholder is `**kwargs` */
    cfx_params params; /* of nested graphs */
    cfx_walks walks;   /* of this run, if it is the outermost */
    bool keep_values;
    bool has_run;          /* a run has ended and its values are kept */
    bool running, stepped; /* stepped: until cfx_interp_end */
    struct cfx_interp_self *outer; /* the run that contains this one */
    struct cfx_interp_self *inner; /* for nested runs; NULL until the first */
    cfx_scope eager;
};

/* Precompute everything that does not change between runs. */
cfx_status cfx_interp__prepare(cfx_interp *it, cfx_error *err);
void cfx_interp__forget(struct cfx_interp_self *self);

/* Create it->self->inner. */
cfx_status cfx_interp__new_inner(cfx_interp *it, cfx_error *err);

cfx_status cfx_params__find(cfx_params *p, const cfx_graph *g, cfx_error *err);
void cfx_params__release(cfx_params *p, cfx_context *ctx);

/* Like cfx_interp_init_with; errors of `nested` ones name their module. */
cfx_status cfx_interp__init_nested(cfx_interp *it, const cfx_interp_class *cls,
                                   cfx_module *gm,
                                   const cfx_interp_options *options,
                                   bool nested, cfx_error *err);

/* Run with one value per placeholder (absent: the default) within a scope that
 * is in use. */
cfx_status cfx_interp__run_bound(cfx_interp *it, const cfx_value *in,
                                 cfx_value *result, cfx_error *err);

/* Append "While executing %add : ..." to an error, unless it has one. */
void cfx_interp__while_executing(const cfx_interp *it, cfx_error *err,
                                 const cfx_node *n);

void cfx_walks__init(cfx_walks *w, cfx_context *ctx);
void cfx_walks__release(cfx_walks *w);

/* For call_graph hooks of scopes: run the graph with an interpreter of that
 * class. */
cfx_status cfx_walks__call_graph(const cfx_interp_class *cls, cfx_scope *s,
                                 cfx_module *m, const char *path,
                                 const cfx_unbound_call *c,
                                 const cfx_value *in, cfx_value *out);

#endif
