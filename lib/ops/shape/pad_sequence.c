/*
 * pad_sequence -- sequences of several lengths in one tensor.
 *
 * shape   (longest, n, ...) or, with batch_first, (n, longest, ...), where the
 *         sequences are (length, ...).
 * cost    no arithmetic; reads the sequences, writes the result.
 */
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SEQUENCES, BATCH_FIRST, PADDING_VALUE, PADDING_SIDE);

enum { MAX_SEQUENCES = 256 };

static bool check(cfx_scope *s, const cfx_call *call)
{
    int n = cfx_call_len(call, SEQUENCES);
    const char *side = cfx_call_str(call, PADDING_SIDE);
    if (!n || n > MAX_SEQUENCES)
        cfx_scope_fail(s, CFX_EINVAL, "expected 1 to %d sequences, got %d",
                       MAX_SEQUENCES, n);
    if (strcmp(side, "left") && strcmp(side, "right"))
        cfx_scope_fail(
            s, CFX_EINVAL,
            "Expected padding_side to be one of left or right, but got %s.",
            side);
    for (int i = 0; i < n; i++)
        if (!cfx_call_item(call, SEQUENCES, i).u.tensor->rank)
            cfx_scope_fail(s, CFX_ESHAPE, "sequence %d has no dimensions", i);
    return !cfx_scope_failed(s);
}

static cfx_dim length_of(const cfx_call *call, int i)
{
    return cfx_call_item(call, SEQUENCES, i).u.tensor->shape[0];
}

/* Sequence i in the type of the first, padded to a length. */
static cfx_value padded(cfx_scope *s, const cfx_call *call, int i, cfx_dim to)
{
    cfx_value x = cfx_call_item(call, SEQUENCES, i), pad[2 * CFX_MAX_RANK];
    const cfx_tensor *first = cfx_call_item(call, SEQUENCES, 0).u.tensor;
    int n = 2 * x.u.tensor->rank;
    bool left = !strcmp(cfx_call_str(call, PADDING_SIDE), "left");
    for (int k = 0; k < n; k++)
        pad[k] = cfx_int(0);
    pad[left ? n - 2 : n - 1] = cfx_value_of_dim(
        cfx_dim_sub(s->env, to, length_of(call, i)));
    x = CFX_CALL(s, "torch.ops.aten.to.dtype", x,
                 cfx_value_of_dtype((cfx_dtype)first->dtype));
    return CFX_CALL(s, "torch.ops.aten.constant_pad_nd.default", x,
                    cfx_list_of(s, CFX_LIST, (size_t)n, pad),
                    cfx_call_value(call, PADDING_VALUE));
}

static cfx_value pad_sequence_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value item[MAX_SEQUENCES];
    int n = cfx_call_len(call, SEQUENCES);
    cfx_dim longest = cfx_dim_int(0);
    if (!check(s, call))
        return cfx_none();
    for (int i = 0; i < n; i++)
        longest = cfx_dim_max(s->env, longest, length_of(call, i));
    for (int i = 0; i < n; i++)
        item[i] = padded(s, call, i, longest);
    return CFX_CALL(s, "torch.stack",
                    cfx_list_of(s, CFX_LIST, (size_t)n, item),
                    cfx_int(!cfx_call_bool(call, BATCH_FIRST)));
}

CFX_COMPOSITE(pad_sequence)

const cfx_op cfx_op__pad_sequence = {
    .schema =
        "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side='right') -> Tensor",
    .params = params,
    .aliases = "torch._C._nn.pad_sequence aten.",
    .doc = "Sequences of several lengths, padded to the longest.",
    .flags = CFX_OP_COMPLEX,
    .infer = pad_sequence_infer,
    .cost = pad_sequence_cost,
    .run = pad_sequence_run,
};
