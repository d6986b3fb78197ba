/*
 * scope_impl.h -- internals for scope classes and interpreters. Not installed.
 */
#ifndef CFX_SCOPE_IMPL_H
#define CFX_SCOPE_IMPL_H

#include <cfx/scope.h>

/* Is the scope's class cls, or derived from it? */
bool cfx_scope__is_a(const cfx_scope *s, const cfx_scope_class *cls);

/* call_op of cfx_eager_class and of cfx_meta_class; call_higher_order of the
 * base. */
cfx_op_hook cfx_scope__compute, cfx_scope__propagate,
    cfx_scope__call_higher_order;

/* Execute a bound call, whose argument types are checked: values that replaced
 * nodes after binding need cfx_bound__mismatch first. Autocast casts the arguments,
 * where it is on. */
cfx_status cfx_scope__call_bound(cfx_scope *s, const cfx_target *t,
                                 const cfx_value *in, bool inplace,
                                 cfx_value *out);

/* Like cfx_scope_call, in a scope that has not failed. */
cfx_value cfx_scope__call_ordered(cfx_scope *s, const cfx_op *op,
                                  const cfx_schema *schema,
                                  const cfx_value *args, size_t n,
                                  bool inplace);
/*
 * Retry a call that matches no signature with numbers in place of tensors of
 * rank 0, as PyTorch converts them. False, without effect, if that does not
 * match either; else sets *st.
 */
bool cfx_scope__call_with_numbers(cfx_scope *s, const cfx_target *target,
                                  const cfx_value *args, size_t nargs,
                                  const cfx_value *kwargs, size_t nkwargs,
                                  cfx_value *out, cfx_status *st);
/* Fail the scope since parameter k does not accept its argument. */
cfx_status cfx_scope__refuse(cfx_scope *s, const cfx_target *t,
                             const cfx_value *in, int k);

/* Does the class record calls? */
CFX_INLINE bool cfx_scope__records(const cfx_scope *s)
{
    return s->hook.record_call != NULL;
}

/* Pass a call of an operator to the class's record_call. */
cfx_status cfx_scope__record_op(cfx_scope *s, const cfx_op *op,
                                const cfx_schema *schema,
                                const cfx_value *args, size_t n, bool inplace,
                                cfx_value *out);

#endif
