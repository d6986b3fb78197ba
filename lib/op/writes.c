/*
 * writes -- calls that write their results to tensors that are there: in place,
 * or to `out`.
 */
#include "op/infer.h"
#include "op/op_impl.h"

/* ---- The tensors that are written ---- */

cfx_tensor *cfx_call__target(const cfx_call *call, int i)
{
    if (!call->into)
        return call->inplace && !i ? call->in[0].u.tensor : NULL;
    if (call->into->kind == CFX_TENSOR)
        return i ? NULL : call->into->u.tensor;
    return (uint32_t)i < call->into->u.seq->len
               ? call->into->u.seq->item[i].u.tensor
               : NULL;
}

/* The default dtype is that of `out`. */
static void default_dtype(cfx_call *call, cfx_value *in)
{
    const cfx_tensor *t = cfx_call__target(call, 0);
    for (int k = 0; t && k < call->schema->nparams; k++)
        if (call->schema->params[k].base == CFX_T_DTYPE &&
            in[k].kind == CFX_NONE)
            in[k] = cfx_value_of_dtype((cfx_dtype)t->dtype);
}

cfx_status cfx_call__take_out(cfx_call *call, cfx_out_taken *taken)
{
    const cfx_out_op *o = (const cfx_out_op *)call->op;
    taken->schema = call->schema;
    taken->in = call->in;
    if (!(call->op->flags & CFX_OP__OUT))
        return CFX_OK;
    if (call->inplace)
        return cfx_call_fail(call, CFX_EINVAL,
                             "takes out= or inplace=True, not both");
    call->schema = o->schema;
    call->into = &taken->in[o->schema->nparams];
    memcpy(taken->own, taken->in,
           (size_t)o->schema->nparams * sizeof(*taken->own));
    call->in = taken->own;
    default_dtype(call, taken->own);
    return CFX_OK;
}

void cfx_call__put_out(cfx_call *call, const cfx_out_taken *taken)
{
    call->schema = taken->schema;
    call->in = taken->in;
    call->into = NULL;
}

static bool same_shape(cfx_shape_env *env, const cfx_tensor *a,
                       const cfx_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_eq(env, a->shape[i], b->shape[i]))
            return false;
    return true;
}

/* Two tensors of one shape; an axis of one element has no stride to compare. */
static bool same_layout(const cfx_tensor *a, const cfx_tensor *b)
{
    if (a->dtype != b->dtype)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_is(a->shape[i], 1) &&
            !cfx_dim_same(a->stride[i], b->stride[i]))
            return false;
    return true;
}

/* Do several elements surely lie in one place? */
static bool overlaps_itself(const cfx_tensor *t)
{
    bool several = false;
    for (int i = 0; i < t->rank; i++) {
        if (cfx_dim_is(t->shape[i], 0))
            return false;
        several |= cfx_dim_is(t->stride[i], 0) && !cfx_dim_is(t->shape[i], 1);
    }
    return several;
}

cfx_status cfx_infer_written(const cfx_call *call, const cfx_tensor *t)
{
    return overlaps_itself(t)
               ? cfx_call_fail(
                     call, CFX_EINVAL,
                     "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.")
               : CFX_OK;
}

/* PyTorch's canCast: the result may not go into a lesser category. */
static cfx_status check_cast(const cfx_call *call, const cfx_tensor *r,
                             const cfx_tensor *t)
{
    const cfx_dtype_info *from = &cfx_dtypes[r->dtype];
    const cfx_dtype_info *to = &cfx_dtypes[t->dtype];
    return from->category > to->category
               ? cfx_call_fail(
                     call, CFX_EDTYPE,
                     "result type %s can't be cast to the desired output type %s",
                     from->name, to->name)
               : CFX_OK;
}

static cfx_status check_inplace(cfx_call *call, const cfx_tensor *self)
{
    char want[128], have[128];
    const cfx_tensor *r = call->nout ? call->out[0] : NULL;
    if (!r)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "has no form that writes to its argument");
    cfx_status st = check_cast(call, r, self);
    if (st || same_shape(call->env, r, self))
        return st ? st : cfx_infer_written(call, self);
    cfx_tensor_format_type(self, have, sizeof(have));
    cfx_tensor_format_type(r, want, sizeof(want));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "output with shape %s doesn't match the broadcast shape %s", have,
        want);
}

/* Operators on PyTorch's TensorIterator convert the result; others need an
 * `out` of the result's type. PyTorch resizes `out`, with a warning unless it
 * is empty; here shapes are immutable. */
static cfx_status check_out(cfx_call *call, const cfx_tensor *r,
                            const cfx_tensor *t)
{
    char want[128], have[128];
    cfx_status st = check_cast(call, r, t);
    if (!st && r->dtype != t->dtype && !(call->op->flags & CFX_OP_POINTWISE))
        st = cfx_call_fail(
            call, CFX_EDTYPE,
            "expected out tensor to have dtype %s, but got %s instead",
            cfx_dtypes[r->dtype].name, cfx_dtypes[t->dtype].name);
    if (st || same_shape(call->env, r, t))
        return st ? st : cfx_infer_written(call, t);
    cfx_tensor_format_type(t, have, sizeof(have));
    cfx_tensor_format_type(r, want, sizeof(want));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        cfx_infer_is_empty(t)
            ? "out is %s and would be resized to %s, which is not supported: give it that shape"
            : "an output with one or more elements would be resized since it is %s, which does not match the required output shape %s: give it that shape",
        have, want);
}

cfx_status cfx_call__check_targets(cfx_call *call)
{
    uint32_t n = call->into && call->into->kind != CFX_TENSOR
                     ? call->into->u.seq->len
                     : 1;
    cfx_status st = CFX_OK;
    if (!call->into)
        return check_inplace(call, cfx_call__tensor_at(call, 0));
    if (!call->nout || n != call->nout)
        return cfx_call_fail(call, CFX_EINVAL,
                             "gives %d tensors, but out has %u",
                             (int)call->nout, n);
    for (int i = 0; i < call->nout && !st; i++)
        st = check_out(call, call->out[i], cfx_call__target(call, i));
    return st;
}

/* Two views of the same elements in the same order. Metas have no address, but an
 * offset. */
static bool same_view(const cfx_tensor *x, const cfx_tensor *t)
{
    if (x == t)
        return true;
    if (x->data != t->data || !cfx_dim_same(x->offset, t->offset) ||
        x->rank != t->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_same(x->shape[i], t->shape[i]))
            return false;
    return same_layout(x, t);
}

/* The bytes of its storage that a contiguous tensor takes; false if that is no
 * number. */
static bool find_bytes(const cfx_tensor *t, int64_t *from, int64_t *to)
{
    int64_t size = (int64_t)cfx_dtype_size((cfx_dtype)t->dtype);
    bool known = cfx_tensor_is_contiguous(t) && cfx_dim_is_int(t->offset);
    for (int i = 0; i < t->rank; i++)
        known = known && cfx_dim_is_int(t->shape[i]);
    *from = known ? size * cfx_dim_value(t->offset) : 0;
    *to = known ? *from + size * cfx_tensor_numel(t) : 0;
    return known;
}

/* Two views of one storage that surely have no element in common. */
static bool lie_apart(const cfx_tensor *a, const cfx_tensor *b)
{
    int64_t from[2], to[2];
    return find_bytes(a, &from[0], &to[0]) &&
           find_bytes(b, &from[1], &to[1]) &&
           (to[0] <= from[1] || to[1] <= from[0]);
}

typedef struct written {
    const cfx_tensor *t;
    bool apart; /* an argument that is the same view does harm too */
} written;

/* CFX_OK: v may be read while the result is written. */
static cfx_status keep_apart(void *user, cfx_value v)
{
    const written *w = user;
    const cfx_tensor *x = v.kind == CFX_TENSOR ? v.u.tensor : NULL;
    return x && cfx_tensor_shares(x, w->t) && !lie_apart(x, w->t) &&
                   (w->apart || !same_view(x, w->t))
               ? CFX_EUNSUPPORTED
               : CFX_OK;
}

/* May the result be computed into t? Not where an argument is another view of the
 * same memory, and only element by element where it is the same view. */
static bool writes_straight(const cfx_call *call, const cfx_tensor *t)
{
    const uint32_t flags = call->op->flags;
    written w = {t, !(flags & (CFX_OP_POINTWISE | CFX_OP_EDITS))};
    if (!call->op->run || call->nout != 1 || call->alias[0] ||
        !same_layout(call->out[0], t))
        return false;
    for (int k = 0; k < call->schema->nparams; k++) {
        if (cfx_value_visit(call->in[k], keep_apart, &w))
            return false;
        w.apart |= flags & CFX_OP_EDITS;
    }
    return true;
}

bool cfx_call__writes_straight(const cfx_call *call)
{
    const cfx_tensor *t = cfx_call__target(call, 0);
    return t && writes_straight(call, t);
}

void cfx_call__aim_outs(cfx_call *call)
{
    for (int i = 0; i < call->nout; i++) {
        cfx_tensor *t = cfx_call__target(call, i);
        if (!t)
            continue;
        cfx_tensor_unref(call->out[i]);
        call->out[i] = cfx_tensor_ref(t);
    }
}

void cfx_call__replace_outs(cfx_call *call)
{
    cfx_call__aim_outs(call);
    for (int i = 0; i < call->nout; i++)
        if (cfx_call__target(call, i))
            call->alias[i] = call->into ? (uint8_t)(call->schema->nparams + 1)
                                        : 1;
}

cfx_status cfx_call__copy_outs(cfx_call *call)
{
    cfx_status st = CFX_OK;
    for (int i = 0; i < call->nout && !st; i++) {
        cfx_tensor *t = cfx_call__target(call, i);
        if (t && call->out[i]->data != t->data)
            st = cfx_tensor_copy(t, call->out[i], call->err);
    }
    return st;
}
