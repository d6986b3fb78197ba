/*
 * scope_impl.h -- for interpreters, which bind once. Not installed.
 */
#ifndef CFX_SCOPE_IMPL_H
#define CFX_SCOPE_IMPL_H

#include <cfx/scope.h>

/* Make a call whose arguments are bound, of kinds that fit
 * (cfx_bound__mismatch): those that were nodes when they were bound have to be
 * looked at again. */
cfx_status cfx_scope__call_bound(cfx_scope *s, const cfx_target *t,
                                 const cfx_value *in, bool inplace,
                                 cfx_value *out);
/* Fail the scope because parameter k does not take what it was given. */
cfx_status cfx_scope__refuse(cfx_scope *s, const cfx_target *t,
                             const cfx_value *in, int k);

#endif
