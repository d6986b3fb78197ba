/*
 * cfx/pass_manager.h -- apply several passes in an order that satisfies
 * constraints, check the graph after each, and tell what each did.
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
 * As torch.fx's, but that passes have names and options instead of being
 * functions, and that a failing pass is told in one line: “An error occurred
 * when running the 'b' pass after the following passes: ['a']: ...”.
 */
#ifndef CFX_PASS_MANAGER_H
#define CFX_PASS_MANAGER_H

#include <cfx/pass.h>

typedef struct cfx_pass_manager cfx_pass_manager;

/* One application of a pass: what is to come, or what was done. */
typedef struct cfx_pass_report {
    const char *text;     /* as it was given: "split(parts=3)" */
    const cfx_pass *pass;
    size_t step;          /* how often the whole list was applied before */
    size_t index;         /* the place in the order */
    size_t changed;       /* what the pass counts */
    /* What the graph saw: nodes made, nodes taken out, uses rewritten. */
    size_t created, erased, replaced;
    double seconds;
} cfx_pass_report;

/* Asked, or told, of the module between two passes; what fails ends the run. */
typedef cfx_status cfx_pass_check(void *user, cfx_module *gm,
                                  cfx_error *err);
typedef cfx_status cfx_pass_hook(void *user, cfx_module *gm,
                                 const cfx_pass_report *report,
                                 cfx_error *err);

/* Zeroed members take the defaults. */
typedef struct cfx_pass_manager_options {
    size_t size;          /* sizeof(cfx_pass_manager_options) */
    int steps;            /* apply the list up to so often, until it changes
                             nothing; default: once */
    bool reverse;         /* undo: the last pass first, each reversed */
    bool no_lint;         /* do not lint after each pass */
    /* Called around each pass; cfx_graph_copy takes a snapshot there. */
    cfx_pass_hook *before, *after;
    void *user;           /* of both */
} cfx_pass_manager_options;

CFX_BEGIN_DECLS

/* Make one; `options` may be NULL. Fails with CFX_ENOMEM, CFX_EINVAL. */
CFX_API cfx_status cfx_pass_manager_new(
    cfx_pass_manager **out, cfx_context *ctx,
    const cfx_pass_manager_options *options, cfx_error *err);
CFX_API void cfx_pass_manager_free(cfx_pass_manager *pm);

/* Add the passes of a text, "a, b(option=value)", at the end. Fails with
 * CFX_ENAME for one that is unknown, CFX_EPARSE, CFX_ENOMEM; then none is
 * added. Options are read when the pass runs. */
CFX_API cfx_status cfx_pass_manager_add(cfx_pass_manager *pm,
                                        const char *text, cfx_error *err);

/* Take out all passes of that name; put another text in place of each.
 * CFX_ENAME where there is none. */
CFX_API cfx_status cfx_pass_manager_remove(cfx_pass_manager *pm,
                                           const char *name, cfx_error *err);
CFX_API cfx_status cfx_pass_manager_replace(cfx_pass_manager *pm,
                                            const char *name,
                                            const char *with,
                                            cfx_error *err);

/* Each pass of the first name shall come before each of the second, where both
 * are in the list. */
CFX_API cfx_status cfx_pass_manager_this_before_that(cfx_pass_manager *pm,
                                                     const char *this_pass,
                                                     const char *that_pass,
                                                     cfx_error *err);

/* Check the module after each pass, besides lint. */
CFX_API cfx_status cfx_pass_manager_add_check(cfx_pass_manager *pm,
                                              cfx_pass_check *check,
                                              void *user, cfx_error *err);

/*
 * Bring the list into an order that satisfies the constraints: of the passes
 * that may come next the one that was added first does, so that a list that is
 * in order stays so. A run does it first. Fails with CFX_EINVAL: "Circular
 * dependency detected within the following passes: ['a', 'b']".
 */
CFX_API cfx_status cfx_pass_manager_solve(cfx_pass_manager *pm,
                                          cfx_error *err);

/* The passes in their order, as they were given; borrowed, NULL at the end. */
CFX_API const char *cfx_pass_manager_at(const cfx_pass_manager *pm, size_t i);

/*
 * Apply all passes. *changed (which may be NULL) is the sum of what they
 * changed. New nodes that took the uses of others inherit their provenance,
 * where their pass did not see to it. Fails as passes, lint, checks and hooks
 * do, with the sentence above before theirs; and with CFX_ECANCEL, CFX_ELIMIT.
 * gm then is what the passes up to there have made of it: cfx_module_copy it
 * first where that matters.
 */
CFX_API cfx_status cfx_pass_manager_run(cfx_pass_manager *pm, cfx_module *gm,
                                        size_t *changed, cfx_error *err);

/* ---- Observing ---- */

/*
 * What happens to a graph while a pass, or anything else, rewrites it: torch's
 * GraphTransformObserver. Nodes that were erased can still be read.
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
    cfx_graph *graph;              /* NULL: freed while it was watched */
    cfx_node **created, **erased;  /* as they came; one may be in both */
    struct cfx_replaced {
        cfx_node *old, *with;      /* `with` took uses of `old` */
    } *replaced;                   /* once for all users in a row */
    size_t ncreated, nerased, nreplaced;
    size_t uses;                   /* rewritten from one node to another */
    bool failed;                   /* memory was lacking: lists are cut */
    size_t created_cap, erased_cap, replaced_cap; /* private */
} cfx_graph_observer;

/* Watch a graph from now on. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_graph_observer_init(cfx_graph_observer *o,
                                           cfx_graph *g, cfx_error *err);
/* A zeroed or released one is allowed. */
CFX_API void cfx_graph_observer_release(cfx_graph_observer *o);

/* Let each new node that took the uses of another inherit its provenance
 * (cfx_node_inherit), unless it has one. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_graph_observer_inherit(cfx_graph_observer *o,
                                              cfx_error *err);

CFX_END_DECLS

#endif
