/*
 * hash -- hash_tensor: the exclusive or of the bits of elements, of floats as
 * float64, of integers as 64 bits.
 *
 * shape   the argument's without the reduced axes (of extent 1 with keepdim).
 * cost    an operation less than there are elements for each result.
 */
#include <string.h>

#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "ops/reduce/empty.h"

CFX_PARAMS(params, SELF, DIM, KEEPDIM, MODE);

/* The state of a call: the axes that are reduced. */
struct hashing {
    uint32_t mask;
};

static cfx_status check(cfx_call *call, uint32_t mask)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)x->dtype;
    if (1 << type & CFX_STORED_TYPES || cfx_dtype_is_complex(type))
        return cfx_infer_refuse(call, type);
    if (cfx_call_int(call, MODE))
        return cfx_call_fail(call, CFX_EINVAL,
                             "Unknown hash_tensor mode: %lld",
                             (long long)cfx_call_int(call, MODE));
    return cfx_reduce__check_axes(call, x, mask);
}

static cfx_status hash_infer(cfx_call *call)
{
    struct hashing *h = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = cfx_infer_axes(call, DIM, x->rank, &h->mask);
    if (!st)
        st = check(call, h->mask);
    if (st)
        return st;
    int rank = cfx_infer_reduced(x, h->mask, cfx_call_bool(call, KEEPDIM),
                                 shape);
    return cfx_call_out(call, CFX_U64, rank, shape);
}

static void hash_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    cost->ops = cfx_dim_sub(call->env, n, cfx_cost_numel(call, call->out[0]));
}

/* The distance in y of elements that are neighbours along each axis of x. */
static void result_strides(const cfx_call *call, const cfx_tensor *x,
                           int64_t *stride)
{
    const struct hashing *h = call->state;
    int64_t step = 1;
    for (int i = x->rank; i-- > 0;) {
        bool gone = h->mask >> i & 1;
        stride[i] = gone ? 0 : step;
        step *= gone ? 1 : cfx_tensor_size(x, i);
    }
}

/* x is row-major. */
static void hash(const cfx_call *call, const cfx_tensor *x, uint64_t *y)
{
    const uint64_t *bits = x->data;
    int64_t stride[CFX_MAX_RANK], at[CFX_MAX_RANK] = {0}, to = 0;
    result_strides(call, x, stride);
    for (int64_t n = cfx_tensor_numel(x), k = 0; k < n; k++) {
        y[to] ^= bits[k];
        for (int i = x->rank; i-- > 0;) {
            to += stride[i];
            if (++at[i] < cfx_tensor_size(x, i))
                break;
            to -= at[i] * stride[i];
            at[i] = 0;
        }
    }
}

static cfx_status hash_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    bool floats = cfx_dtype_is_float((cfx_dtype)x->dtype);
    cfx_tensor *wide = cfx_loop_contiguous_as(call, x,
                                              floats ? CFX_F64 : CFX_I64);
    if (!wide)
        return CFX_ENOMEM;
    memset(y->data, 0, (size_t)cfx_tensor_numel(y) * sizeof(uint64_t));
    hash(call, wide, y->data);
    cfx_tensor_unref(wide);
    return CFX_OK;
}

const cfx_op cfx_op__hash_tensor = {
    .schema =
        "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The exclusive or of the bits of elements, in 64 bits.",
    .flags = CFX_OP_STORED_TYPES,
    .state_size = sizeof(struct hashing),
    .infer = hash_infer,
    .cost = hash_cost,
    .run = hash_run,
};
