/*
 * pass_impl.h -- what passes share that are also functions. Not installed.
 */
#ifndef CFX_PASS_IMPL_H
#define CFX_PASS_IMPL_H

#include <cfx/pass.h>

/* Begin a call without options. `own` takes errors where err is NULL. Fails
 * with CFX_EINVAL for a module that has no graph. */
cfx_status cfx_pass__begin(cfx_pass_call *p, cfx_module *gm, cfx_error *own,
                           cfx_error *err);

/* The pass of a name that need not end in NUL. Fails with CFX_ENAME, and tells
 * the pass that may have been meant. */
cfx_status cfx_pass__find(const cfx_pass **out, cfx_context *ctx,
                          const char *name, size_t len, cfx_error *err);

/* Is the word in a list of strings? */
bool cfx_pass__lists(cfx_value list, const char *word);

/* Is the node's name or target in it? `user` is a cfx_value: for options that
 * are functions. */
bool cfx_pass__lists_node(void *user, const cfx_node *n);

#endif
