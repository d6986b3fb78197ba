/*
 * pass_impl.h -- helpers for passes that are also functions. Not installed.
 */
#ifndef CFX_PASS_IMPL_H
#define CFX_PASS_IMPL_H

#include <cfx/pass.h>

#include "graph/graph_impl.h"

/* Begin a call without options. Errors go to `own` if err is NULL. Fails with
 * CFX_EINVAL for a module without a graph. */
cfx_status cfx_pass__begin(cfx_pass_call *p, cfx_module *gm, cfx_error *own,
                           cfx_error *err);

/* Find a pass by a name of given length. Fails with CFX_ENAME and suggests the
 * nearest name. */
cfx_status cfx_pass__find(const cfx_pass **out, cfx_context *ctx,
                          const char *name, size_t len, cfx_error *err);

/* ---- What passes left as it was ---- */

/* A node of the list. Its texts belong to it. */
typedef struct cfx_missed_node {
    cfx_missed is;
    char *target; /* what it calls */
} cfx_missed_node;

/* The reasons of all passes, in their order. */
typedef struct cfx_missed_list {
    cfx_context *ctx;
    const char *pass; /* the name of the one that is being applied */
    size_t first;     /* of its nodes */
    cfx_missed_node *item;
    size_t n, cap;
    cfx_map last; /* by name of a node: the place of its last entry, from 1 */
    bool failed;  /* memory was lacking */
} cfx_missed_list;

void cfx_missed__init(cfx_missed_list *l, cfx_context *ctx);
void cfx_missed__release(cfx_missed_list *l);

/* Begin and end the application of a pass; `l` may be NULL. Fails with
 * CFX_ENOMEM. */
void cfx_missed__begin(cfx_missed_list *l, const char *pass);
cfx_status cfx_missed__end(cfx_missed_list *l, cfx_error *err);
/* Call the hook with those nodes that g has. Fails with CFX_ENOMEM. */
cfx_status cfx_missed__tell(const cfx_missed_list *l, const cfx_graph *g,
                            cfx_missed_hook *hook, void *user, cfx_error *err);

/* cfx_pass_run and cfx_pass_apply, which add to a list unless it is NULL. */
cfx_status cfx_missed__run_pass(const cfx_pass *pass, cfx_module *gm,
                                cfx_args args, bool reverse, size_t *changed,
                                cfx_missed_list *missed, cfx_error *err);
cfx_status cfx_missed__apply_pass(cfx_module *gm, const char *text,
                                  bool reverse, size_t *changed,
                                  cfx_missed_list *missed, cfx_error *err);

/* True if a list of strings contains the word. */
bool cfx_pass__lists(cfx_value list, const char *word);

/* True if `user`, a cfx_value, lists the node's name or target. Used for
 * options that are callbacks. */
bool cfx_pass__lists_node(void *user, const cfx_node *n);

#endif
