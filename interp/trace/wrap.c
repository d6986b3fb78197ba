/*
 * wrap -- functions over values as operators: recorded as one call, and run
 * where a graph calls them.
 */
#include "interp/trace/tracer_impl.h"

/* Run the function in a scope of the kind that the call is made in. */
static cfx_status wrapped_infer(cfx_call *call)
{
    const cfx_wrapped *w = (const cfx_wrapped *)call->op;
    cfx_scope s;
    cfx_scope_init(&s, call->meta ? &cfx_meta_class : &cfx_eager_class,
                   call->ctx, call->env);
    cfx_value v = w->fn(&s, call->in, w->user);
    cfx_status st = cfx_scope_status(&s, call->err);
    if (!st)
        st = cfx_call_return_take(call, cfx_value_ref(v));
    cfx_scope_release(&s);
    return st;
}

cfx_status cfx_wrap(cfx_context *ctx, cfx_wrapped *w, cfx_error *err)
{
    w->op.abi = (cfx_abi)CFX_ABI(cfx_op);
    w->op.infer = wrapped_infer;
    return cfx_register_op(ctx, &w->op, err);
}

cfx_value cfx_wrapped_call(cfx_scope *s, const cfx_wrapped *w,
                           const cfx_value *args, size_t nargs)
{
    return cfx_scope_call(s, &w->op, args, nargs, false);
}
