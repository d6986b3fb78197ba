/*
 * batches -- calls within torch.vmap, whose tensors have axes that the code does
 * not see.
 *
 * A tensor's `levels` says of which levels of vmap its first axes are the
 * batches, outermost first; its logical axes follow. A call of an operator that
 * broadcasts gets views in which all batches and logical axes have their places.
 * Any other is called for each slice of the outermost batch, and the results are
 * stacked. Such calls cannot write to their arguments.
 */
#include <string.h>

#include "base/context_impl.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/op_impl.h"
#include "tensor/storage.h"

static int count_levels(unsigned levels)
{
    int n = 0;
    for (; levels; levels &= levels - 1)
        n++;
    return n;
}

/* ---- What a call has ---- */

struct found {
    unsigned levels;
    int rank;          /* the greatest of logical axes */
    bool other, empty; /* something else than tensors; a tensor without axes */
    int types;         /* a bit for each type of a tensor */
};

static cfx_status find(void *user, cfx_value v)
{
    struct found *f = user;
    f->other = f->other || v.kind != CFX_TENSOR;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    int rank = v.u.tensor->rank - count_levels(v.u.tensor->levels);
    f->levels |= v.u.tensor->levels;
    f->rank = rank > f->rank ? rank : f->rank;
    f->empty = f->empty || (!rank && v.u.tensor->levels);
    f->types |= 1 << v.u.tensor->dtype;
    return CFX_OK;
}

static struct found find_all(const cfx_call *call, int from)
{
    struct found f = {0};
    for (int k = from; k < call->schema->nparams; k++)
        cfx_value_visit(call->in[k], find, &f);
    return f;
}

bool cfx_call__is_batched(const cfx_call *call)
{
    const cfx_context *root = call->ctx->parent;
    return atomic_load_explicit(&root->has_batches, memory_order_relaxed) &&
           !(call->op->flags & CFX_OP_SEES_BATCHES) &&
           find_all(call, 0).levels;
}

/* ---- The result ---- */

static cfx_status mark(void *user, cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        v.u.tensor->levels = (uint8_t) * (const unsigned *)user;
    return CFX_OK;
}

static cfx_status run_plain(cfx_call *call, const cfx_batched *how,
                            cfx_value *out)
{
    if (how->eager)
        return cfx_call_eager(call, out);
    return how->cost ? cfx_call_cost(call, how->cost, out)
                     : cfx_call__visit_outs(call, how->at, how->user, out);
}

/* Run the call with other arguments, which are released. */
static cfx_status run_with(cfx_call *call, const cfx_batched *how,
                           cfx_value *in, cfx_status st, cfx_value *out)
{
    cfx_call again = *call;
    again.in = in;
    if (!st)
        st = run_plain(&again, how, out);
    for (int k = 0; k < call->schema->nparams; k++)
        cfx_value_unref(in[k]);
    return st;
}

/* ---- Operators that broadcast ---- */

struct alignment {
    cfx_call *call;
    unsigned levels;
    int rank;
};

/* A view with an axis for each level, and `rank` logical axes. Tensors without
 * batches are broadcast as they are. */
static cfx_status align(void *user, cfx_value v, cfx_value *out)
{
    const struct alignment *a = user;
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    const cfx_tensor *t = v.kind == CFX_TENSOR ? v.u.tensor : NULL;
    cfx_tensor *view;
    int n = 0, from = 0;
    if (!t || !t->levels) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    int ones = a->rank - (t->rank - count_levels(t->levels));
    if (count_levels(a->levels) + a->rank > CFX_MAX_RANK)
        return cfx_call_fail(a->call, CFX_ESHAPE,
                             "has more than %d axes with the batches of vmap",
                             CFX_MAX_RANK);
    for (unsigned rest = a->levels; rest || ones > 0 || from < t->rank; n++) {
        unsigned level = rest & (0u - rest);
        bool has = rest ? t->levels & level : ones <= 0;
        if (!rest)
            ones--;
        rest -= level;
        shape[n] = has ? t->shape[from] : cfx_dim_int(1);
        stride[n] = has ? t->stride[from] : cfx_dim_int(1);
        from += has;
    }
    cfx_status st = cfx_tensor__view_in(&view, a->call->ctx, t, n, shape,
                                        stride, t->offset, a->call->err);
    if (!st)
        *out = cfx_value_of_tensor(view);
    return st;
}

/* Align arguments from `from` on. */
static cfx_status run_aligned(cfx_call *call, const cfx_batched *how, int from,
                              cfx_value *out)
{
    cfx_value in[CFX_MAX_PARAMS] = {{0}};
    struct found f = find_all(call, from);
    struct alignment a = {call, f.levels, f.rank};
    cfx_status st = CFX_OK;
    /* Which of two types the result has may depend on axes. */
    if (f.empty && f.rank && f.types & (f.types - 1))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "within vmap, a tensor without axes has another type than one with axes: convert one of them");
    for (int k = 0; k < call->schema->nparams; k++) {
        if (st || k < from)
            in[k] = cfx_value_ref(call->in[k]);
        else
            st = cfx_value_map(&in[k], call->ctx, call->in[k], align, &a,
                               call->err);
    }
    st = run_with(call, how, in, st, out);
    if (!st)
        cfx_value_visit(*out, mark, &f.levels);
    return st;
}

/* Are there only tensors in the second argument, as indices of the first, which
 * has no batches itself? */
static bool is_indexed(const cfx_call *call)
{
    struct found f = {0};
    if (!(call->op->flags & CFX_OP_INDEXES) ||
        call->in[0].kind != CFX_TENSOR || call->in[0].u.tensor->levels)
        return false;
    cfx_value_visit(call->in[1], find, &f);
    return !f.other && !(f.types >> CFX_BOOL & 1);
}

/* ---- Others: slice by slice ---- */

struct slice {
    cfx_call *call;
    unsigned level;
    int64_t at;
};

/* An element of the outermost batch. */
static cfx_status select_slice(void *user, cfx_value v, cfx_value *out)
{
    const struct slice *s = user;
    const cfx_tensor *t = v.kind == CFX_TENSOR ? v.u.tensor : NULL;
    cfx_tensor *view;
    if (!t || !(t->levels & s->level)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_dim offset = cfx_dim_add(
        s->call->env, t->offset,
        cfx_dim_mul(s->call->env, cfx_dim_int(s->at), t->stride[0]));
    cfx_status st = cfx_tensor__view_in(&view, s->call->ctx, t, t->rank - 1,
                                        t->shape + 1, t->stride + 1, offset,
                                        s->call->err);
    if (st)
        return st;
    view->levels = (uint8_t)(t->levels & ~s->level);
    *out = cfx_value_of_tensor(view);
    return CFX_OK;
}

static cfx_status run_slice(struct slice *s, const cfx_batched *how,
                            cfx_value *out)
{
    cfx_value in[CFX_MAX_PARAMS] = {{0}};
    cfx_status st = CFX_OK;
    for (int k = 0; k < s->call->schema->nparams && !st; k++)
        st = cfx_value_map(&in[k], s->call->ctx, s->call->in[k], select_slice,
                           s, s->call->err);
    return run_with(s->call, how, in, st, out);
}

struct extent {
    unsigned level;
    cfx_dim n;
};

static cfx_status find_extent(void *user, cfx_value v)
{
    struct extent *e = user;
    if (v.kind == CFX_TENSOR && v.u.tensor->levels & e->level)
        e->n = v.u.tensor->shape[0];
    return CFX_OK;
}

/* The results of slices in one: tensors only. */
struct stack {
    cfx_call *call;
    cfx_dim n;
    unsigned level;
    bool data;
};

/* A tensor for all slices, of which v is one. */
static cfx_status begin_stack(void *user, cfx_value v, cfx_value *out)
{
    const struct stack *s = user;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_tensor *all;
    if (v.kind == CFX_NONE) {
        *out = v;
        return CFX_OK;
    }
    if (v.kind != CFX_TENSOR || v.u.tensor->rank == CFX_MAX_RANK)
        return cfx_call_fail(s->call, CFX_EUNSUPPORTED,
                             "within vmap, the result is not a tensor");
    const cfx_tensor *t = v.u.tensor;
    shape[0] = s->n;
    memcpy(shape + 1, t->shape, sizeof(*shape) * t->rank);
    cfx_status st = cfx_call_new(s->call, &all, (cfx_dtype)t->dtype,
                                 t->rank + 1, shape);
    if (!st && s->data)
        st = cfx_tensor_alloc(all, s->call->err);
    if (st) {
        cfx_tensor_unref(all);
        return st;
    }
    all->device = t->device;
    all->levels = (uint8_t)(t->levels | s->level);
    *out = cfx_value_of_tensor(all);
    return CFX_OK;
}

/* Copy the result of slice i, of the same form, into all. */
static cfx_status put_slice(cfx_call *call, cfx_value all, cfx_value v,
                            int64_t i)
{
    cfx_status st = CFX_OK;
    if (cfx_value_is_seq(all)) {
        for (uint32_t k = 0; k < all.u.seq->len && !st; k++)
            st = put_slice(call, all.u.seq->item[k], v.u.seq->item[k], i);
        return st;
    }
    if (all.kind != CFX_TENSOR)
        return CFX_OK;
    struct slice s = {call, all.u.tensor->levels, i};
    cfx_value to;
    if (v.u.tensor->rank != all.u.tensor->rank - 1)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "within vmap, slices give other shapes");
    for (int k = 0; k < v.u.tensor->rank; k++)
        if (!cfx_dim_same(v.u.tensor->shape[k], all.u.tensor->shape[k + 1]))
            return cfx_call_fail(call, CFX_EUNSUPPORTED,
                                 "within vmap, slices give other shapes");
    st = select_slice(&s, all, &to);
    if (st)
        return st;
    st = cfx_tensor_copy(to.u.tensor, v.u.tensor, call->err);
    cfx_value_unref(to);
    return st;
}

static cfx_status run_slices(cfx_call *call, const cfx_batched *how,
                             struct stack *s, cfx_value *out)
{
    struct slice at = {call, s->level, 0};
    int64_t n = s->data ? cfx_dim_value(s->n) : 1;
    cfx_value one;
    *out = CFX_NOTHING;
    cfx_status st = CFX_OK;
    for (; at.at < n && !st; at.at++) {
        st = run_slice(&at, how, &one);
        if (st)
            break;
        if (!at.at)
            st = cfx_value_map(out, call->ctx, one, begin_stack, s, call->err);
        if (!st && s->data)
            st = put_slice(call, *out, one, at.at);
        cfx_value_unref(one);
    }
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

static void scale(const cfx_call *call, cfx_cost *cost, cfx_dim n)
{
    cfx_dim *all[] = {&cost->macs, &cost->ops, &cost->transcendental,
                      &cost->bytes_read, &cost->bytes_written};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        *all[i] = cfx_dim_mul(call->env, *all[i], n);
}

static cfx_status run_by_slices(cfx_call *call, const cfx_batched *how,
                                cfx_value *out)
{
    const uint32_t never = CFX_OP_RANDOM | CFX_OP_OWN_RESULT;
    unsigned levels = find_all(call, 0).levels;
    struct extent e = {levels & (0u - levels), cfx_dim_int(0)};
    if ((uint32_t)call->op->flags & never)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "is not supported within vmap");
    for (int k = 0; k < call->schema->nparams; k++)
        cfx_value_visit(call->in[k], find_extent, &e);
    struct stack s = {call, e.n, e.level, how->eager};
    if (how->eager && cfx_dim_is(e.n, 0))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "is not supported within vmap over nothing");
    cfx_status st = run_slices(call, how, &s, out);
    if (!st && how->cost)
        scale(call, how->cost, e.n);
    return st;
}

cfx_status cfx_call__run_batched(cfx_call *call, const cfx_batched *how,
                                 cfx_value *out)
{
    call->meta = !how->eager;
    const uint32_t broadcasts = CFX_OP_POINTWISE | CFX_OP_BROADCASTS;
    if (call->inplace || call->into || call->op->flags & CFX_OP__OUT)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "within vmap, nothing can be written to: use the form that returns a new tensor");
    if (call->op->flags & broadcasts || call->op->loop)
        return run_aligned(call, how, 0, out);
    return is_indexed(call) ? run_aligned(call, how, 1, out)
                            : run_by_slices(call, how, out);
}
