/*
 * pass_impl.h -- helpers for passes that are also functions. Not installed.
 */
#ifndef CFX_PASS_IMPL_H
#define CFX_PASS_IMPL_H

#include <cfx/pass.h>

/* Begin a call without options. Errors go to `own` if err is NULL. Fails with
 * CFX_EINVAL for a module without a graph. */
cfx_status cfx_pass__begin(cfx_pass_call *p, cfx_module *gm, cfx_error *own,
                           cfx_error *err);

/* Find a pass by a name of given length. Fails with CFX_ENAME and suggests the
 * nearest name. */
cfx_status cfx_pass__find(const cfx_pass **out, cfx_context *ctx,
                          const char *name, size_t len, cfx_error *err);

/* True if a list of strings contains the word. */
bool cfx_pass__lists(cfx_value list, const char *word);

/* True if `user`, a cfx_value, lists the node's name or target. Used for
 * options that are callbacks. */
bool cfx_pass__lists_node(void *user, const cfx_node *n);

#endif
