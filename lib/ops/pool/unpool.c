/*
 * unpool -- max_unpool1d, 2d and 3d: elements put back to where a pooling
 * found them.
 *
 * shape   the last axes have the extents of the pooling's input, which are
 *         given or follow from the window.
 * cost    no arithmetic; that of zeros and a scatter.
 */
#include "op/composite.h"
#include "op/infer.h"
#include "op/op_impl.h"

CFX_PARAMS(params, INPUT, INDICES, KERNEL_SIZE, STRIDE, PADDING, OUTPUT_SIZE);

/* cfx_op.code: the number of axes. */

#define IN(k) cfx_call_value(call, k)

static cfx_value item(cfx_value list, int i)
{
    return list.u.seq->item[i];
}

/* (n - 1) * stride + window - 2 * padding. */
static cfx_value least_extent(cfx_scope *s, const cfx_call *call, int i,
                              cfx_value n)
{
    cfx_value window = item(IN(KERNEL_SIZE), i), step = window;
    if (cfx_call_has(call, STRIDE) && cfx_call_len(call, STRIDE))
        step = item(IN(STRIDE), i);
    cfx_value cut = cfx_int_mul(s, cfx_int(-2), item(IN(PADDING), i));
    n = cfx_int_mul(s, cfx_int_add(s, n, cfx_int(-1)), step);
    return cfx_int_add(s, cfx_int_add(s, n, window), cut);
}

/* An extent that is given lies less than a stride from the one that follows. */
static void check_extent(cfx_scope *s, const cfx_call *call, int i,
                         cfx_value given, cfx_value follows)
{
    cfx_value step = item(IN(KERNEL_SIZE), i);
    if (cfx_call_has(call, STRIDE) && cfx_call_len(call, STRIDE))
        step = item(IN(STRIDE), i);
    cfx_dim d = cfx_value_dim(given), by = cfx_value_dim(step);
    cfx_dim mid = cfx_value_dim(follows);
    if (!cfx_dim_lt(s->env, cfx_dim_sub(s->env, mid, by), d) ||
        !cfx_dim_lt(s->env, d, cfx_dim_add(s->env, mid, by)))
        cfx_scope_fail(
            s, CFX_EINVAL,
            "invalid output_size: dimension %d must be less than a stride from what the window gives",
            i);
}

/* The last axes of the result into shape[]. */
static void output_size(cfx_scope *s, const cfx_call *call, cfx_value *shape)
{
    cfx_value x = IN(INPUT), size = IN(OUTPUT_SIZE);
    int axes = call->op->code;
    bool given = cfx_call_has(call, OUTPUT_SIZE);
    bool windows = cfx_call_place(call, KERNEL_SIZE) >= 0;
    int n = given ? cfx_call_len(call, OUTPUT_SIZE) : axes;
    if (n != axes && (n != axes + 2 || !windows)) {
        cfx_scope_fail(s, CFX_EINVAL,
                       "output_size should have %d elements, but it has %d",
                       axes, n);
        return;
    }
    for (int i = 0; i < axes; i++) {
        if (given)
            shape[i] = item(size, n - axes + i);
        if (!windows)
            continue;
        cfx_value follows = least_extent(s, call, i, cfx_size(s, x, i - axes));
        if (given)
            check_extent(s, call, i, shape[i], follows);
        else
            shape[i] = follows;
    }
    for (int i = 0; i < axes; i++)
        if (!cfx_scope_failed(s) &&
            !cfx_dim_le(s->env, cfx_dim_int(0), cfx_value_dim(shape[i])))
            cfx_scope_fail(
                s, CFX_ESHAPE,
                "output_size must be non-negative, but it is not for dimension %d",
                i);
}

static bool check_tensors(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = IN(INPUT).u.tensor, *k = IN(INDICES).u.tensor;
    int axes = call->op->code;
    bool same = x->rank == k->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = cfx_dim_eq(s->env, x->shape[i], k->shape[i]);
    if (k->dtype != CFX_I64)
        cfx_scope_fail(s, CFX_EDTYPE,
                       "elements in indices should be type int64 but got: %s",
                       cfx_dtypes[k->dtype].name);
    else if (x->rank != axes + 1 && x->rank != axes + 2)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with dim %d",
            axes, axes + 1, axes + 2, x->rank);
    else if (!same)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "Expected shape of indices to be same as that of the input tensor");
    return !cfx_scope_failed(s);
}

/* The window, its steps and the padding have an item for each axis. */
static bool check_windows(cfx_scope *s, const cfx_call *call)
{
    static const int param[] = {KERNEL_SIZE, STRIDE, PADDING};
    int axes = call->op->code;
    for (int i = 0; i < 3 && cfx_call_place(call, KERNEL_SIZE) >= 0; i++) {
        int n = cfx_call_has(call, param[i]) ? cfx_call_len(call, param[i])
                                             : 0;
        bool left_out = !n && param[i] == STRIDE;
        if (n != axes && !left_out)
            cfx_scope_fail(s, CFX_EINVAL,
                           "%s should have %d elements, but it has %d",
                           cfx_call__param_name(call, param[i]), axes, n);
    }
    return !cfx_scope_failed(s);
}

static cfx_value unpool_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(INPUT), shape[CFX_MAX_RANK], flat[CFX_MAX_RANK];
    int axes = call->op->code;
    if (!check_tensors(s, call) || !check_windows(s, call))
        return cfx_none();
    int lead = x.u.tensor->rank - axes;
    for (int i = 0; i < lead; i++)
        shape[i] = flat[i] = cfx_size(s, x, i);
    output_size(s, call, shape + lead);
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_value from = cfx_int(-axes), last = cfx_int(-1);
    cfx_value n = cfx_int(1);
    for (int i = 0; i < axes; i++)
        n = cfx_int_mul(s, n, shape[lead + i]);
    flat[lead] = n;
    cfx_value y = CFX_CALL(s, "Tensor.new_zeros", x,
                           cfx_list_of(s, CFX_TUPLE, (size_t)lead + 1, flat));
    y = CFX_CALL(s, "torch.scatter", y, last,
                 CFX_CALL(s, "torch.flatten", IN(INDICES), from, last),
                 CFX_CALL(s, "torch.flatten", x, from, last));
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)(lead + axes), shape));
}

CFX_COMPOSITE(unpool)

#define WINDOWS(n)                                                            \
    "Tensor input, Tensor indices, SymInt[" #n "] kernel_size, "              \
    "SymInt[" #n "]? stride=None, SymInt[" #n "] padding=0, "                 \
    "SymInt[]? output_size=None"
#define DESCRIBE(n, schema_, aliases_, next_)                                 \
    {                                                                         \
        .schema = schema_, .params = params, .aliases = aliases_,             \
        .doc = "Elements put back to where a pooling found them.", .code = n, \
        .infer = unpool_infer, .cost = unpool_cost, .run = unpool_run,        \
        .next = next_,                                                        \
    }

static const cfx_op unpool2d_sized = DESCRIBE(
    2,
    "max_unpool2d.size(Tensor input, Tensor indices, SymInt[2] output_size) -> Tensor",
    ".default torch._C._nn.max_unpool2d", NULL);

static const cfx_op unpool3d_sized = DESCRIBE(
    3,
    "max_unpool3d.size(Tensor input, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
    ".default torch._C._nn.max_unpool3d", NULL);

const cfx_op cfx_op__max_unpool1d = DESCRIBE(
    1, "max_unpool1d(" WINDOWS(1) ") -> Tensor",
    "torch.nn.functional.max_unpool1d", NULL);

const cfx_op cfx_op__max_unpool2d = DESCRIBE(
    2, "max_unpool2d(" WINDOWS(2) ") -> Tensor",
    "torch.nn.functional.max_unpool2d", &unpool2d_sized);

const cfx_op cfx_op__max_unpool3d = DESCRIBE(
    3, "max_unpool3d(" WINDOWS(3) ") -> Tensor",
    "torch.nn.functional.max_unpool3d", &unpool3d_sized);
