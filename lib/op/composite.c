/*
 * composite -- operators that are computed by calling others.
 */
#include "op/composite.h"

#include "op/scope_impl.h"
#include "tensor/storage.h"

const cfx_scope_class cfx_composite__eager = {
    .size = sizeof(cfx_scope_class),
    .name = "eager composite",
    .computes = true,
    .call_op = cfx_scope__compute,
};

const cfx_scope_class cfx_composite__meta = {
    .size = sizeof(cfx_scope_class),
    .name = "meta composite",
    .call_op = cfx_scope__propagate,
};

/* A tensor, or a tuple of tensors and None. */
struct results {
    const cfx_value *item;
    int n;
    bool some; /* not all are tensors */
};

static cfx_status finish(cfx_call *call, const cfx_scope *s,
                         const cfx_value *v, struct results *r)
{
    if (cfx_scope_failed(s))
        return cfx_call_fail(call, s->error.code, "%s", s->error.text);
    *r = cfx_value_is_seq(*v)
             ? (struct results){v->u.seq->item, (int)v->u.seq->len, false}
             : (struct results){v, 1, false};
    for (int i = 0; i < r->n; i++) {
        if (r->item[i].kind != CFX_TENSOR && r->item[i].kind != CFX_NONE)
            return cfx_call_fail(call, CFX_EINVAL, "gives no tensor");
        r->some = r->some || r->item[i].kind == CFX_NONE;
    }
    return CFX_OK;
}

/* Metas with the strides of the results. */
static cfx_status give_tuple(cfx_call *call, const struct results *r)
{
    cfx_value item[CFX_MAX_OUTS] = {{0}};
    cfx_status st = CFX_OK;
    for (int i = 0; !st && i < r->n; i++) {
        cfx_tensor *t = r->item[i].u.tensor, *made;
        if (r->item[i].kind == CFX_NONE) {
            item[i] = cfx_none();
            continue;
        }
        st = cfx_tensor_meta(
            &made, call->ctx, (cfx_dtype)t->dtype, t->rank, t->shape,
            t->flags & CFX_TENSOR_DENSE ? t->stride : NULL, call->err);
        if (!st)
            item[i] = cfx_value_of_tensor(made);
    }
    if (!st)
        st = cfx_call_return_take(
            call, cfx_tuple_new(call->ctx, (size_t)r->n, item));
    for (int i = 0; i < r->n; i++)
        cfx_value_unref(item[i]);
    return st;
}

/* The calls go to a scope that the caller gave. */
static cfx_status infer_within(cfx_call *call, cfx_composite *build)
{
    cfx_scope *s = call->inner;
    size_t frame = cfx_scope_enter(s);
    cfx_value v = cfx_scope_leave(s, frame, build(s, call));
    if (cfx_scope_failed(s))
        return s->error.code;
    return cfx_call_return_take(call, cfx_value_ref(v));
}

cfx_status cfx_composite_infer(cfx_call *call, cfx_composite *build)
{
    cfx_scope s;
    struct results r;
    if (CFX_UNLIKELY(call->inner))
        return infer_within(call, build);
    cfx_scope_init(&s, &cfx_composite__meta, call->ctx, call->env);
    cfx_value v = build(&s, call);
    cfx_status st = finish(call, &s, &v, &r);
    if (!st && r.some)
        st = give_tuple(call, &r);
    for (int i = 0; !st && !r.some && i < r.n; i++)
        st = cfx_call_out_like(call, r.item[i].u.tensor);
    cfx_scope_release(&s);
    return st;
}

cfx_status cfx_composite_run(cfx_call *call, cfx_composite *build)
{
    cfx_scope s;
    struct results r;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value v = build(&s, call);
    cfx_status st = finish(call, &s, &v, &r);
    for (int i = 0; !st && i < r.n; i++)
        if (r.item[i].kind == CFX_TENSOR)
            st = cfx_tensor__move(r.some ? call->result.u.seq->item[i].u.tensor
                                         : call->out[i],
                                  r.item[i].u.tensor, call->err);
    cfx_scope_release(&s);
    return st;
}

/* ---- A meta scope that adds up ---- */

struct counter {
    cfx_scope scope;
    cfx_cost total;
};

static cfx_status count_call(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct counter *c = (struct counter *)s;
    cfx_cost one;
    cfx_status st = cfx_call_cost(call, &one, out);
    if (st)
        return st;
    c->total.macs = cfx_dim_add(s->env, c->total.macs, one.macs);
    c->total.ops = cfx_dim_add(s->env, c->total.ops, one.ops);
    c->total.transcendental = cfx_dim_add(s->env, c->total.transcendental,
                                          one.transcendental);
    return CFX_OK;
}

static const cfx_scope_class counter_class = {
    .size = sizeof(cfx_scope_class),
    .name = "cost",
    .super = &cfx_composite__meta,
    .call_op = count_call,
};

/* Bytes keep the default: inputs and results of the whole operator. */
void cfx_composite_cost(const cfx_call *call, cfx_cost *cost,
                        cfx_composite *build)
{
    cfx_dim zero = cfx_dim_int(0);
    struct counter c = {
        .total = {zero, zero, zero, CFX_DIM_BAD, CFX_DIM_BAD, NULL}};
    cfx_scope_init(&c.scope, &counter_class, call->ctx, call->env);
    build(&c.scope, call);
    if (!cfx_scope_failed(&c.scope))
        *cost = c.total;
    cfx_scope_release(&c.scope);
}
