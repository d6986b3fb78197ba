/*
 * vmap -- the marks of torch.vmap in graphs: where tensors get axes that the
 * code between does not see, and where these are seen again.
 *
 * shape   _add_batch_dim: an axis becomes the batch of a level, _remove_batch_dim
 *         makes it an axis again; of a tensor without that batch it makes one of
 *         equal slices.
 * cost    nothing.
 *
 * Batches are the first axes (op/batches.c).
 */
#include "base/context_impl.h"
#include "op/infer.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, BATCH_DIM, LEVEL, BATCH_SIZE, OUT_DIM, RANDOMNESS);

enum { MAX_LEVELS = 8 };

/* The batches of the levels below `level`, or of all. */
static int count(unsigned levels, int64_t level)
{
    int n = 0;
    for (int i = 0; i < MAX_LEVELS && i < level; i++)
        n += (int)(levels >> i & 1u);
    return n;
}

static cfx_status check_level(cfx_call *call, int64_t *level)
{
    *level = cfx_call_int(call, LEVEL) - 1;
    return *level >= 0 && *level < MAX_LEVELS
               ? CFX_OK
               : cfx_call_fail(call, CFX_EUNSUPPORTED,
                               "vmap has at most %d levels here", MAX_LEVELS);
}

/* Move axis `from` to `to`, among the others. */
static void move_axis(cfx_view *v, int from, int to)
{
    int perm[CFX_MAX_RANK], n = 0;
    for (int i = 0; i < v->rank; i++)
        if (i != from)
            perm[n++] = i;
    for (int i = n; i > to; i--)
        perm[i] = perm[i - 1];
    perm[to] = from;
    cfx_view_permute(v, perm);
}

static cfx_status give(cfx_call *call, const cfx_view *v, unsigned levels)
{
    cfx_status st = cfx_view_out(call, SELF, v);
    if (!st)
        call->out[0]->levels = (uint8_t)levels;
    return st;
}

static cfx_status add_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int lead = count(x->levels, MAX_LEVELS), axis;
    int64_t level;
    cfx_view v;
    cfx_status st = check_level(call, &level);
    if (!st && x->levels >> level & 1)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "the tensor has a batch of level %lld already",
                           (long long)level + 1);
    if (!st && x->rank == lead)
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "vmap over a tensor without axes");
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, BATCH_DIM), x->rank - lead,
                           &axis);
    if (st)
        return st;
    cfx_view_begin(&v, x);
    move_axis(&v, lead + axis, count(x->levels, level));
    atomic_store_explicit(&call->ctx->parent->has_batches, true,
                          memory_order_relaxed);
    return give(call, &v, x->levels | 1u << level);
}

static cfx_status remove_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t level;
    int lead, axis;
    cfx_view v;
    cfx_status st = check_level(call, &level);
    if (st)
        return st;
    bool has = x->levels >> level & 1;
    lead = count(x->levels, MAX_LEVELS) - has;
    st = cfx_call_axis(call, cfx_call_int(call, OUT_DIM),
                       x->rank + !has - lead, &axis);
    if (st)
        return st;
    cfx_view_begin(&v, x);
    if (has)
        move_axis(&v, count(x->levels, level), lead + axis);
    else
        st = cfx_view_insert(call, &v, lead + axis,
                             cfx_value_dim(cfx_call_value(call, BATCH_SIZE)),
                             cfx_dim_int(0));
    return st ? st : give(call, &v, x->levels & ~(1u << level));
}

#define NAMES(name)                                                           \
    "torch._functorch.predispatch." name " torch._C._functorch." name

const cfx_op cfx_op___add_batch_dim = {
    .schema =
        "_add_batch_dim(Tensor(a) self, int batch_dim, int level) -> Tensor(a)",
    .params = params,
    .aliases = NAMES("_add_batch_dim"),
    .doc = "Within vmap: a tensor whose axis is not seen.",
    .flags = CFX_OP_COMPLEX | CFX_OP_SEES_BATCHES,
    .infer = add_infer,
};

const cfx_op cfx_op___remove_batch_dim = {
    .schema =
        "_remove_batch_dim(Tensor(a) self, int level, SymInt batch_size, int out_dim) -> Tensor(a)",
    .params = params,
    .aliases = NAMES("_remove_batch_dim"),
    .doc = "After vmap: the tensor with the axis that was not seen.",
    .flags = CFX_OP_COMPLEX | CFX_OP_SEES_BATCHES,
    .infer = remove_infer,
};

/* ---- Marks that compute nothing ---- */

#define MARK(name, arguments)                                                 \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" arguments ") -> any",                             \
        .params = params,                                                     \
        .aliases = NAMES(#name),                                              \
        .doc = "A mark of vmap, which computes nothing.",                     \
        .infer = cfx_infer_none,                                              \
    };

MARK(_vmap_increment_nesting, "SymInt batch_size, str randomness='error'")
MARK(_vmap_decrement_nesting, "")
MARK(lazy_load_decompositions, "")
