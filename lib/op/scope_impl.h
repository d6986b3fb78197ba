/*
 * scope_impl.h -- for classes of scopes, and for interpreters, which bind once.
 * Not installed.
 */
#ifndef CFX_SCOPE_IMPL_H
#define CFX_SCOPE_IMPL_H

#include <cfx/scope.h>

/* Is the class of the scope cls, or derived from it? */
bool cfx_scope__is_a(const cfx_scope *s, const cfx_scope_class *cls);

/* The call_op of scopes that compute, and of those that propagate shapes; the
 * call_higher_order of the base. */
cfx_op_hook cfx_scope__compute, cfx_scope__propagate,
    cfx_scope__call_higher_order;

/* Make a call whose arguments are bound, of kinds that fit
 * (cfx_bound__mismatch): those that were nodes when they were bound have to be
 * looked at again. */
cfx_status cfx_scope__call_bound(cfx_scope *s, const cfx_target *t,
                                 const cfx_value *in, bool inplace,
                                 cfx_value *out);
/*
 * Make a call that no signature takes as it stands, with tensors without axes
 * as the numbers that they hold, as PyTorch does where a number is asked for.
 * False, and nothing done, where that helps nobody; else *st tells.
 */
bool cfx_scope__call_with_numbers(cfx_scope *s, const cfx_target *target,
                                  const cfx_value *args, size_t nargs,
                                  const cfx_value *kwargs, size_t nkwargs,
                                  cfx_value *out, cfx_status *st);
/* Fail the scope because parameter k does not take what it was given. */
cfx_status cfx_scope__refuse(cfx_scope *s, const cfx_target *t,
                             const cfx_value *in, int k);

/* Does the class write calls down? */
CFX_INLINE bool cfx_scope__records(const cfx_scope *s)
{
    return s->hook.spelled != NULL;
}

/* A call of an operator by its descriptor, handed to such a class as it would
 * be written. */
cfx_status cfx_scope__spell(cfx_scope *s, const cfx_op *op,
                            const cfx_schema *schema, const cfx_value *args,
                            size_t n, bool inplace, cfx_value *out);

#endif
