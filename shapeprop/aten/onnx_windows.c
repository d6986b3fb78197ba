/*
 * onnx_windows -- windows along axes, and rolled axes, as calls that ONNX has:
 * the places of the items are computed, and selected.
 */
#include <cfx/ops.h>

#include "shapeprop/aten/aten.h"

static const cfx_tensor *self_of(const cfx_call *call)
{
    return call->in[0].kind == CFX_TENSOR ? call->in[0].u.tensor : NULL;
}

/* The places first * i + second * j: a row of n * m numbers. */
static cfx_value places(cfx_scope *s, cfx_value n, cfx_value first,
                        cfx_value m, cfx_value second)
{
    cfx_value i = cfx_mul(s, CFX_ATEN(s, "arange.default", n), first);
    cfx_value j = cfx_mul(s, CFX_ATEN(s, "arange.default", m), second);

    i = CFX_ATEN(s, "unsqueeze.default", i, cfx_int(1));
    return cfx_reshape(s, cfx_add(s, i, j), cfx_list(s, cfx_int(-1)));
}

/* The axis becomes two, of n and m items. */
static cfx_value select_two(cfx_scope *s, cfx_value x, int axis, cfx_value at,
                            cfx_value n, cfx_value m)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    cfx_value shape[CFX_MAX_RANK + 1];

    if (!t || t->rank == CFX_MAX_RANK)
        return cfx_none();
    for (int i = 0; i <= t->rank; i++)
        shape[i] = i < axis        ? cfx_value_of_dim(t->shape[i])
                   : i == axis     ? n
                   : i == axis + 1 ? m
                                   : cfx_value_of_dim(t->shape[i - 1]);
    size_t rank = (size_t)t->rank + 1;
    x = CFX_ATEN(s, "index_select.default", x, cfx_int(axis), at);
    return cfx_reshape(s, x, cfx_list_of(s, CFX_LIST, rank, shape));
}

/* Windows along an axis; their items are the last axis. */
cfx_value cfx_aten__unfold_dim(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = self_of(call), *y = cfx_aten__result(s, call);
    cfx_value dim = cfx_aten__in(call, "dimension");
    cfx_value size = cfx_aten__in(call, "size"), perm[CFX_MAX_RANK];

    if (!x || !y || !x->rank || dim.kind != CFX_INT)
        return cfx_none();
    int axis = (int)dim.u.i + (dim.u.i < 0 ? x->rank : 0);
    cfx_value n = cfx_value_of_dim(y->shape[axis]);
    cfx_value at = places(s, n, cfx_aten__in(call, "step"), size, cfx_int(1));
    cfx_value v = select_two(s, call->in[0], axis, at, n, size);
    for (int i = 0; i < y->rank; i++)
        perm[i] = cfx_int(i == x->rank ? axis + 1 : i + (i > axis));
    return CFX_ATEN(s, "permute.default", v,
                    cfx_list_of(s, CFX_LIST, (size_t)y->rank, perm));
}

/* ---- Windows of images ---- */

static int64_t item(const cfx_call *call, const char *name, int i)
{
    cfx_value v = cfx_aten__in(call, name);

    if (cfx_value_is_seq(v))
        v = v.u.seq->item[v.u.seq->len > 1 ? i : 0];
    return v.kind == CFX_INT ? v.u.i : -1;
}

/* Windows of an image as columns. Rows and columns of the image become the
 * axes of the items in a window and of the windows. */
cfx_value cfx_aten__unfold(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = self_of(call), *y = cfx_aten__result(s, call);
    int64_t p[2];

    if (!x || !y || x->rank != 4)
        return cfx_none();
    for (int i = 0; i < 2; i++) {
        p[i] = item(call, "padding", i);
        if (p[i] < 0 || item(call, "stride", i) < 1 ||
            item(call, "dilation", i) < 1 ||
            item(call, "kernel_size", i) < 1 ||
            !cfx_dim_is_int(x->shape[2 + i]))
            return cfx_none();
    }
    cfx_value v = CFX_ATEN(s, "constant_pad_nd.default", call->in[0],
                           cfx_list(s, cfx_int(p[1]), cfx_int(p[1]),
                                    cfx_int(p[0]), cfx_int(p[0])));
    for (int i = 0; i < 2; i++) {
        int64_t k = item(call, "kernel_size", i);
        int64_t d = item(call, "dilation", i), by = item(call, "stride", i);
        int64_t all = cfx_dim_value(x->shape[2 + i]) + 2 * p[i];
        cfx_value n = cfx_int((all - d * (k - 1) - 1) / by + 1);
        v = select_two(s, v, 2 + 2 * i,
                       places(s, cfx_int(k), cfx_int(d), n, cfx_int(by)),
                       cfx_int(k), n);
    }
    v = CFX_ATEN(s, "permute.default", v,
                 cfx_list(s, cfx_int(0), cfx_int(1), cfx_int(2), cfx_int(4),
                          cfx_int(3), cfx_int(5)));
    return cfx_reshape(s, v,
                       cfx_list(s, cfx_value_of_dim(y->shape[0]),
                                cfx_value_of_dim(y->shape[1]),
                                cfx_value_of_dim(y->shape[2])));
}

/* ---- Rolled axes ---- */

/* The last `by` items of an axis before the others. */
static cfx_value roll_axis(cfx_scope *s, cfx_value x, int64_t axis,
                           cfx_value by)
{
    const cfx_tensor *t = cfx_meta_of(s, x);

    if (t && axis < 0)
        axis += t->rank;
    if (!t || axis >= t->rank || !cfx_dim_is_int(t->shape[axis]) ||
        by.kind != CFX_INT)
        return cfx_none();
    int64_t n = cfx_dim_value(t->shape[axis]), k = n ? by.u.i % n : 0;
    k += k < 0 ? n : 0;
    if (!k)
        return x;
    cfx_value dim = cfx_int(axis), cut = cfx_int(n - k);
    cfx_value last = CFX_ATEN(s, "slice.Tensor", x, dim, cut, cfx_int(n));
    x = CFX_ATEN(s, "slice.Tensor", x, dim, cfx_int(0), cut);
    return CFX_ATEN(s, "cat.default", cfx_list(s, last, x), dim);
}

static cfx_value nth(cfx_value list, uint32_t i)
{
    return cfx_value_is_seq(list) ? list.u.seq->item[i] : list;
}

cfx_value cfx_aten__roll(cfx_scope *s, const cfx_call *call)
{
    cfx_value by = cfx_aten__in(call, "shifts");
    cfx_value dims = cfx_aten__in(call, "dims"), x = call->in[0];
    uint32_t n = cfx_value_is_seq(dims) ? dims.u.seq->len : 1;

    if (!n || (cfx_value_is_seq(by) && by.u.seq->len != n))
        return cfx_none();
    for (uint32_t i = 0; i < n && x.kind == CFX_TENSOR; i++)
        x = nth(dims, i).kind == CFX_INT
                ? roll_axis(s, x, nth(dims, i).u.i, nth(by, i))
                : cfx_none();
    /* Nothing moves: another tensor all the same. */
    return x.kind == CFX_TENSOR && x.u.tensor == call->in[0].u.tensor
               ? CFX_ATEN(s, "clone.default", x)
               : x;
}
