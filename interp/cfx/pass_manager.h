/*
 * cfx/pass_manager.h -- apply several passes in an order that satisfies
 * constraints, check the graph after each, and report what each did.
 *
 *     cfx_pass_manager *pm;
 *     cfx_pass_manager_new(&pm, ctx, NULL, &err);
 *     cfx_pass_manager_add(pm, "constant_folding, dead_code", &err);
 *     cfx_pass_manager_add(pm, "common_subexpressions", &err);
 *     cfx_pass_manager_this_before_that(pm, "common_subexpressions",
 *                                       "dead_code", &err);
 *     cfx_pass_manager_run(pm, gm, &changed, &err);
 *     cfx_pass_manager_free(pm);
 *
 * Works as torch.fx's, except that passes have names and options instead of
 * being functions, and a failure is reported in one line: “An error occurred
 * when running the 'b' pass after the following passes: ['a']: ...”.
 */
#ifndef CFX_PASS_MANAGER_H
#define CFX_PASS_MANAGER_H

#include <cfx/pass.h>

typedef struct cfx_pass_manager cfx_pass_manager;

/* One application of a pass, about to begin or finished. */
typedef struct cfx_pass_report {
    const char *text; /* as written: "split(parts=3)" */
    const cfx_pass *pass;
    size_t step;    /* how often the whole list was applied before */
    size_t index;   /* index in the list */
    size_t changed; /* as the pass counts */
    /* Counted on the graph: nodes made, nodes erased, uses rewritten. */
    size_t created, erased, replaced;
    double seconds;
} cfx_pass_report;

/* Check the module between two passes; a failure ends the run. */
typedef cfx_status cfx_pass_check(void *user, cfx_module *gm, cfx_error *err);
typedef cfx_status cfx_pass_hook(void *user, cfx_module *gm,
                                 const cfx_pass_report *report,
                                 cfx_error *err);

/* Zeroed members take the defaults. */
typedef struct cfx_pass_manager_options {
    size_t size;  /* sizeof(cfx_pass_manager_options) */
    int steps;    /* apply the list until it changes nothing, at most so
                             often; default: once */
    bool reverse; /* undo: reverse each pass, the last first */
    bool no_lint; /* skip the lint after each pass */
    /* Called before and after each pass, for example to copy the graph. */
    cfx_pass_hook *before, *after;
    void *user; /* for all hooks */
    /* Called after the last pass with the nodes that passes left as they were. */
    cfx_missed_hook *missed;
} cfx_pass_manager_options;

CFX_BEGIN_DECLS

/* Create one; `options` may be NULL. Fails with CFX_ENOMEM, CFX_EINVAL. */
CFX_API cfx_status
cfx_pass_manager_new(cfx_pass_manager **out, cfx_context *ctx,
                     const cfx_pass_manager_options *options, cfx_error *err);
CFX_API void cfx_pass_manager_free(cfx_pass_manager *pm);

/* Append the passes of a text, "a, b(option=value)". Fails with CFX_ENAME for
 * an unknown pass, CFX_EPARSE, CFX_ENOMEM; then none is added. Options are
 * bound when the pass runs. */
CFX_API cfx_status cfx_pass_manager_add(cfx_pass_manager *pm, const char *text,
                                        cfx_error *err);

/* Require each pass of the first name to come before each of the second. */
CFX_API cfx_status cfx_pass_manager_this_before_that(cfx_pass_manager *pm,
                                                     const char *this_pass,
                                                     const char *that_pass,
                                                     cfx_error *err);

/* Check the module after each pass, besides lint. */
CFX_API cfx_status cfx_pass_manager_add_check(cfx_pass_manager *pm,
                                              cfx_pass_check *check,
                                              void *user, cfx_error *err);

/*
 * Reorder the list to satisfy the constraints: among the passes that may come
 * next, the one that was added first does, so that an ordered list stays as it
 * is. A run begins with it. Fails with CFX_EINVAL: "Circular dependency
 * detected within the following passes: ['a', 'b']".
 */
CFX_API cfx_status cfx_pass_manager_solve(cfx_pass_manager *pm,
                                          cfx_error *err);

/* Return the i-th pass as it was written; borrowed, NULL at the end. */
CFX_API const char *cfx_pass_manager_at(const cfx_pass_manager *pm, size_t i);

/*
 * Apply all passes. *changed (which may be NULL) is the sum of their changes.
 * New nodes that took over the uses of others inherit their provenance, unless
 * the pass has done so. Fails as passes, lint, checks and hooks do, with the
 * message above before theirs; and with CFX_ECANCEL, CFX_ELIMIT. The changes of
 * passes before the failure stay: use cfx_module_copy first if that matters.
 */
CFX_API cfx_status cfx_pass_manager_run(cfx_pass_manager *pm, cfx_module *gm,
                                        size_t *changed, cfx_error *err);

/* ---- Observing ---- */

/*
 * Records the changes to a graph while it is rewritten: torch's
 * GraphTransformObserver. Erased nodes can still be read.
 *
 *     cfx_graph_observer seen;
 *     cfx_graph_observer_init(&seen, graph, &err);
 *     ...
 *     for (size_t i = 0; i < seen.ncreated; i++)
 *         puts(seen.created[i]->name);
 *     cfx_graph_observer_release(&seen);
 */
typedef struct cfx_graph_observer {
    cfx_context *ctx;
    cfx_graph *graph;             /* NULL: it was freed meanwhile */
    cfx_node **created, **erased; /* in order; a node may be in both */
    struct cfx_replaced {
        cfx_node *old, *with; /* `with` took over uses of `old` */
    } * replaced;             /* once for consecutive users */
    size_t ncreated, nerased, nreplaced;
    size_t uses; /* number of rewritten uses */
    bool failed; /* memory was lacking: lists are cut */
    size_t created_cap, erased_cap, replaced_cap; /* private */
} cfx_graph_observer;

/* Observe a graph from now on. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_graph_observer_init(cfx_graph_observer *o, cfx_graph *g,
                                           cfx_error *err);
/* Stop observing; a zeroed or released one is allowed. */
CFX_API void cfx_graph_observer_release(cfx_graph_observer *o);

/* Let each new node that took over the uses of another inherit its provenance
 * (cfx_node_inherit), unless it has one. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_graph_observer_inherit(cfx_graph_observer *o,
                                              cfx_error *err);

CFX_END_DECLS

#endif
