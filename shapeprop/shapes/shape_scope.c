/*
 * shape_scope -- a meta scope in which small tensors keep their values.
 *
 * The value of a tensor with data is known. A call on known tensors only is
 * computed if its result is small; the result is then known too. Known data is
 * never written to, since a module may own it: the target of a write is
 * recorded as written and counts as unknown from then on.
 */
#include <cfx/shape_prop.h>

#include "base/util.h"
#include "op/op_impl.h"
#include "tensor/storage.h"

static cfx_shape_scope *downcast(cfx_scope *s)
{
    return (cfx_shape_scope *)s;
}

/* ---- What is known ---- */

static bool is_written(const cfx_shape_scope *s, const cfx_tensor *t)
{
    for (size_t i = 0; i < s->nwritten; i++)
        if (cfx_tensor_shares(s->written[i], t))
            return true;
    return false;
}

static bool has_few(const cfx_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (!cfx_dim_is_int(t->shape[i]))
            return false;
        int64_t extent = cfx_dim_value(t->shape[i]);
        if (extent > CFX_KNOWN_MAX)
            return false;
        n *= extent;
        if (n > CFX_KNOWN_MAX)
            return false;
    }
    return true;
}

static bool is_unknown(void *user, cfx_value v)
{
    const cfx_shape_scope *s = user;
    if (v.kind == CFX_TENSOR)
        return cfx_tensor_is_meta(v.u.tensor) || !has_few(v.u.tensor) ||
               is_written(s, v.u.tensor);
    return v.kind == CFX_SYMINT || v.kind == CFX_NODE || v.kind == CFX_MODULE;
}

/* True if all arguments are numbers or known tensors; the first is often a
 * meta. */
static bool is_known(cfx_shape_scope *s, const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++)
        if (cfx_value_any(call->in[k], is_unknown, s))
            return false;
    return true;
}

/* Set *user if the value contains a meta. */
static bool is_large(void *user, cfx_value v)
{
    bool *any = user;
    if (v.kind != CFX_TENSOR)
        return false;
    *any |= cfx_tensor_is_meta(v.u.tensor);
    return !has_few(v.u.tensor);
}

/* True if the result contains tensors without data, all of them small. */
static bool is_worth_computing(cfx_value v)
{
    bool any = false;
    return !cfx_value_any(v, is_large, &any) && any;
}

/* ---- Writes ---- */

static cfx_status forget(cfx_shape_scope *s, cfx_call *call, cfx_tensor *t)
{
    if (cfx_tensor_is_meta(t) || is_written(s, t))
        return CFX_OK;
    if (cfx_grow(s->base.ctx, s->written, s->cap, s->nwritten + 1, call->err))
        return CFX_ENOMEM;
    s->written[s->nwritten++] = cfx_tensor_ref(t);
    return CFX_OK;
}

static bool writes(const cfx_call *call)
{
    bool any = call->inplace;
    for (int k = 0; k < call->schema->nparams && !any; k++)
        any = call->schema->params[k].writes;
    return any;
}

struct forgetting {
    cfx_shape_scope *s;
    cfx_call *call;
};

static cfx_status forget_value(void *user, cfx_value v)
{
    const struct forgetting *f = user;
    return v.kind == CFX_TENSOR ? forget(f->s, f->call, v.u.tensor) : CFX_OK;
}

static cfx_status forget_written(cfx_shape_scope *s, cfx_call *call)
{
    struct forgetting f = {s, call};
    cfx_status st = CFX_OK;
    for (int k = 0; k < call->schema->nparams && !st; k++)
        if (call->schema->params[k].writes || (call->inplace && !k))
            st = cfx_value_visit(call->in[k], forget_value, &f);
    return st;
}

/* ---- Calls ---- */

/* Rules may read tensor data, except of tensors that were written to. */
static cfx_status without_data(void *user, cfx_value v, cfx_value *out)
{
    cfx_shape_scope *s = user;
    cfx_tensor *t;
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor) ||
        !is_written(s, v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor__meta_like(&t, s->base.ctx, v.u.tensor,
                                          &s->base.error);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

static cfx_status propagate(cfx_shape_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_value in[CFX_MAX_PARAMS];
    const cfx_value *given = call->in;
    int n = 0;
    cfx_status st = CFX_OK;
    call->known = true;
    if (CFX_LIKELY(!s->nwritten))
        return cfx_call_meta(call, out);
    for (; n < call->schema->nparams && !st; n += !st) {
        in[n] = given[n];
        st = cfx_value_map(&in[n], call->ctx, given[n], without_data, s,
                           call->err);
    }
    call->in = in;
    if (!st)
        st = cfx_call_meta(call, out);
    call->in = given;
    while (n--)
        cfx_value_unref(in[n]);
    return st;
}

cfx_status cfx_shape_scope_known(cfx_shape_scope *s, cfx_call *call,
                                 cfx_value *out, bool *done)
{
    const uint32_t never = CFX_OP_RANDOM | CFX_OP_EFFECT | CFX_OP_DEQUANTIZES;
    *done = false;
    if (CFX_UNLIKELY(writes(call)))
        return forget_written(s, call);
    if (call->op->flags & never || !call->op->run || !is_known(s, call))
        return CFX_OK;
    *done = true;
    call->known = true;
    if (call->op->flags & CFX_OP_OWN_RESULT)
        return cfx_call_eager(call, out);
    cfx_call again = *call;
    cfx_status st = cfx_call_meta(&again, out);
    if (st || !is_worth_computing(*out))
        return st;
    cfx_value_unref(*out);
    return cfx_call_eager(call, out);
}

static cfx_status shape_call_op(cfx_scope *base, cfx_call *call,
                                cfx_value *out)
{
    cfx_shape_scope *s = downcast(base);
    bool done;
    cfx_status st = cfx_shape_scope_known(s, call, out, &done);
    return st || done ? st : propagate(s, call, out);
}

const cfx_scope_class cfx_shape_scope_class = {
    .size = sizeof(cfx_scope_class),
    .name = "shapes",
    .super = &cfx_meta_class,
    .call_op = shape_call_op,
};

/* ---- Life ---- */

void cfx_shape_scope_init(cfx_shape_scope *s, const cfx_scope_class *cls,
                          cfx_context *ctx, cfx_shape_env *env)
{
    *s = (cfx_shape_scope){.nwritten = 0};
    cfx_scope_init(&s->base, cls ? cls : &cfx_shape_scope_class, ctx, env);
}

void cfx_shape_scope_release(cfx_shape_scope *s)
{
    if (!s->base.ctx)
        return;
    for (size_t i = 0; i < s->nwritten; i++)
        cfx_tensor_unref(s->written[i]);
    cfx_free(s->base.ctx, s->written, s->cap * sizeof(*s->written));
    cfx_scope_release(&s->base);
    *s = (cfx_shape_scope){.nwritten = 0};
}
