/*
 * combine -- many tensors, or elements, in one: cartesian_prod, combinations,
 * block_diag, vander.
 *
 * shape   cartesian_prod: the product of the lengths, and a column for each
 *         vector; combinations: n over r rows of r; block_diag: the sums of
 *         rows and of columns; vander: (..., n, N).
 * cost    of vander a power for each element; else no arithmetic.
 */
#include <string.h>

#include "base/stop.h"
#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"

/* ---- cartesian_prod ---- */

static cfx_value cartesian_prod_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value item[CFX_MAX_RANK], list = call->in[0];
    uint32_t n = list.u.seq->len;
    if (n < 2 || n > CFX_MAX_RANK)
        return n == 1 && list.u.seq->item[0].u.tensor->rank == 1
                   ? list.u.seq->item[0]
                   : cfx_scope_fail(s, CFX_EINVAL, "expected 1 to %d vectors",
                                    CFX_MAX_RANK);
    for (uint32_t i = 0; i < n; i++)
        if (list.u.seq->item[i].u.tensor->rank != 1)
            return cfx_scope_fail(s, CFX_ESHAPE,
                                  "Expect a 1D vector, but got rank %d",
                                  list.u.seq->item[i].u.tensor->rank);
    cfx_value grids = CFX_CALL(s, "torch.meshgrid", list);
    for (uint32_t i = 0; i < n; i++)
        item[i] = CFX_CALL(s, "torch.flatten", cfx_nth(s, grids, i));
    return CFX_CALL(s, "torch.stack", cfx_list_of(s, CFX_LIST, n, item),
                    cfx_int(1));
}

CFX_COMPOSITE(cartesian_prod)

const cfx_op cfx_op__cartesian_prod = {
    .schema = "cartesian_prod(Tensor[*] tensors) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "All choices of one element of each vector.",
    .flags = CFX_OP_COMPLEX,
    .infer = cartesian_prod_infer,
    .cost = cartesian_prod_cost,
    .run = cartesian_prod_run,
};

/* ---- block_diag ---- */

static cfx_value as_block(cfx_scope *s, cfx_value x)
{
    if (x.u.tensor->rank > 2)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "Input tensors must have 2 or fewer dimensions, but got %d",
            x.u.tensor->rank);
    while (x.kind == CFX_TENSOR && x.u.tensor->rank < 2)
        x = CFX_CALL(s, "torch.unsqueeze", x, cfx_int(0));
    return x;
}

/* Rows, with zeros on both sides of each block. */
static cfx_value block_diag_build(cfx_scope *s, const cfx_call *call)
{
    enum { MAX_BLOCKS = 256 };
    cfx_value list = call->in[0], item[MAX_BLOCKS];
    uint32_t n = list.u.seq->len;
    cfx_dim total = cfx_dim_int(0), before = total;
    if (!n || n > MAX_BLOCKS)
        return cfx_scope_fail(s, CFX_EINVAL, "expected 1 to %d tensors",
                              MAX_BLOCKS);
    for (uint32_t i = 0; i < n && !cfx_scope_failed(s); i++) {
        item[i] = as_block(s, list.u.seq->item[i]);
        if (item[i].kind == CFX_TENSOR)
            total = cfx_dim_add(s->env, total, item[i].u.tensor->shape[1]);
    }
    for (uint32_t i = 0; i < n && !cfx_scope_failed(s); i++) {
        cfx_dim to = cfx_dim_add(s->env, before, item[i].u.tensor->shape[1]);
        cfx_dim after = cfx_dim_sub(s->env, total, to);
        cfx_value margin = cfx_tuple(s, cfx_value_of_dim(before),
                                     cfx_value_of_dim(after));
        item[i] = CFX_CALL(s, "torch.constant_pad_nd", item[i], margin);
        before = to;
    }
    return cfx_scope_failed(s)
               ? cfx_none()
               : CFX_CALL(s, "torch.cat", cfx_list_of(s, CFX_LIST, n, item));
}

CFX_COMPOSITE(block_diag)

const cfx_op cfx_op__block_diag = {
    .schema = "block_diag(Tensor[*] tensors) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "Matrices along the diagonal of a large one.",
    .flags = CFX_OP_COMPLEX,
    .infer = block_diag_infer,
    .cost = block_diag_cost,
    .run = block_diag_run,
};

/* ---- vander ---- */

/* Powers 0 to N - 1, or falling, of each element. */
static cfx_value powers(cfx_scope *s, cfx_value x, cfx_value n, bool rising)
{
    const cfx_tensor *t = x.u.tensor;
    if (!t->rank) { /* a vector of one element */
        x = CFX_CALL(s, "torch.unsqueeze", x, cfx_int(0));
        t = cfx_meta_of(s, x);
        if (!t)
            return cfx_none();
    }
    if (n.kind == CFX_NONE)
        n = cfx_value_of_dim(t->shape[t->rank - 1]);
    if (!cfx_dim_le(s->env, cfx_dim_int(0), cfx_value_dim(n)))
        return cfx_scope_fail(s, CFX_EINVAL, "N must be non-negative");
    cfx_value exponent = CFX_CALL(s, "torch.arange", n);
    if (!rising)
        exponent = CFX_CALL(s, "torch.flip", exponent,
                            cfx_tuple(s, cfx_int(0)));
    x = CFX_CALL(s, "torch.unsqueeze", x, cfx_int(-1));
    return CFX_CALL(s, "torch.pow", x, exponent);
}

static cfx_value vander_build(cfx_scope *s, const cfx_call *call)
{
    if (call->in[0].u.tensor->rank != 1)
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "x must be a one-dimensional tensor.");
    return powers(s, call->in[0], call->in[1], call->in[2].u.i);
}

static cfx_value linalg_vander_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = call->in[0].u.tensor;
    cfx_dim n = cfx_value_is_none(call->in[1]) && x->rank
                    ? x->shape[x->rank - 1]
                    : cfx_value_dim(call->in[1]);
    if (!cfx_dim_lt(s->env, cfx_dim_int(1), n))
        return cfx_scope_fail(s, CFX_EINVAL, "N must be greater than 1.");
    return powers(s, call->in[0], call->in[1], true);
}

CFX_COMPOSITE(vander)
CFX_COMPOSITE(linalg_vander)

const cfx_op cfx_op__vander = {
    .schema =
        "vander(Tensor x, SymInt? N=None, bool increasing=False) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "The powers of each element, falling.",
    .flags = CFX_OP_COMPLEX,
    .infer = vander_infer,
    .cost = vander_cost,
    .run = vander_run,
};

const cfx_op cfx_op__linalg_vander = {
    .schema = "linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "The powers of each element, rising.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_vander_infer,
    .cost = linalg_vander_cost,
    .run = linalg_vander_run,
};

/* ---- combinations ---- */

enum { SELF, R, WITH_REPLACEMENT, MAX_R = 64 };

static cfx_status combinations_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t r = cfx_call_int(call, R);
    bool again = cfx_call_bool(call, WITH_REPLACEMENT);
    cfx_dim shape[2] = {cfx_dim_int(1), cfx_dim_int(r)};
    cfx_shape_env *env = call->env;
    if (x->rank != 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Expect a 1D vector, but got rank %d", x->rank);
    if (r < 0 || r > MAX_R)
        return cfx_call_fail(call, CFX_EINVAL,
                             "Expect a number of 0 to %d, but got %lld", MAX_R,
                             (long long)r);
    if (!r) {
        shape[0] = shape[1];
        return cfx_call_out(call, (cfx_dtype)x->dtype, 1, shape);
    }
    /* n over r, one factor and divisor after the other; r of n + r - 1 where
     * elements may come again. */
    cfx_dim n = again ? cfx_dim_add(env, x->shape[0], cfx_dim_int(r - 1))
                      : x->shape[0];
    for (int64_t i = 0; i < r; i++) {
        cfx_dim left = cfx_dim_max(env, cfx_dim_int(0),
                                   cfx_dim_sub(env, n, cfx_dim_int(i)));
        shape[0] = cfx_dim_floordiv(env, cfx_dim_mul(env, shape[0], left),
                                    cfx_dim_int(i + 1));
    }
    return cfx_call_out(call, (cfx_dtype)x->dtype, 2, shape);
}

/* The next choice of r rising places below n; `step` is 0 where a place may
 * come again. */
static void next_choice(int64_t *place, int64_t r, int64_t n, int64_t step)
{
    int64_t k = r - 1;
    while (k > 0 && place[k] >= n - 1 - step * (r - 1 - k))
        k--;
    place[k]++;
    for (int64_t i = k + 1; i < r; i++)
        place[i] = place[i - 1] + step;
}

static cfx_status combinations_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    int64_t r = cfx_call_int(call, R), place[MAX_R];
    int64_t step = !cfx_call_bool(call, WITH_REPLACEMENT);
    size_t size = cfx_dtype_size((cfx_dtype)x->dtype);
    char *to = y->data;
    for (int64_t i = 0; i < r; i++)
        place[i] = step * i;
    for (int64_t i = 0;
         r && i < cfx_tensor_size(y, 0) && !cfx_context_stops_at(call->ctx, i);
         i++) {
        for (int64_t k = 0; k < r; k++, to += size)
            memcpy(to, cfx_tensor_at(x, &place[k]), size);
        next_choice(place, r, cfx_tensor_size(x, 0), step);
    }
    return CFX_OK;
}

const cfx_op cfx_op__combinations = {
    .schema =
        "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "All choices of so many elements of a vector.",
    .flags = CFX_OP_COMPLEX,
    .infer = combinations_infer,
    .run = combinations_run,
};
