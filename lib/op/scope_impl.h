/*
 * scope_impl.h -- for interpreters, which bind once. Not installed.
 */
#ifndef CFX_SCOPE_IMPL_H
#define CFX_SCOPE_IMPL_H

#include <cfx/scope.h>

/* Make a call whose arguments are bound; checks their kinds again, since they
 * may have been nodes when they were. */
cfx_status cfx_scope__call_bound(cfx_scope *s, const cfx_target *t,
                                 const cfx_value *in, bool inplace,
                                 cfx_value *out);

#endif
