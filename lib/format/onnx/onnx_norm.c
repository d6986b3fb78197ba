/*
 * onnx_norm -- rules of normalizations and softmax.
 */
#include "format/onnx/onnx.h"

/* old * momentum + new * (1 - momentum) */
static cfx_value moved(onnx_node *n, cfx_value old, cfx_value new_value,
                       double momentum)
{
    return cfx_add(n->s, cfx_mul(n->s, old, cfx_float(momentum)),
                   cfx_mul(n->s, new_value, cfx_float(1 - momentum)));
}

/* By the statistics of the batch. Unlike torch, ONNX moves the variance by that
 * of the batch as it is, without Bessel's correction. */
static cfx_value batch_norm_training(onnx_node *n, double eps)
{
    cfx_scope *s = n->s;
    double momentum = onnx_attr_float(n, "momentum", 0.9);
    cfx_value x = onnx_tensor(n, 0);
    int rank = onnx_rank(n, x);
    int64_t axes[CFX_MAX_RANK];
    size_t count = 0;

    if (n->opset < 14 || n->nout > 3)
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "it is in the training mode of operator sets before 14");
    for (int i = 0; i < rank; i++)
        if (i != 1)
            axes[count++] = i;
    cfx_value y = cfx_batch_norm(
        s, x, .weight = onnx_tensor(n, 1), .bias = onnx_tensor(n, 2),
        .running_mean = cfx_none(), .running_var = cfx_none(),
        .training = cfx_bool(true), .eps = cfx_float(eps));
    cfx_value over = onnx_int_arg(s, count, axes);
    if (n->nout > 1)
        n->out[1] = moved(n, onnx_tensor(n, 3), cfx_mean(s, x, .dim = over),
                          momentum);
    if (n->nout > 2)
        n->out[2] = moved(n, onnx_tensor(n, 4),
                          cfx_var(s, x, .dim = over, .correction = cfx_int(0)),
                          momentum);
    return y;
}

cfx_value onnx_import_batch_norm(onnx_node *n)
{
    double eps = onnx_attr_float(n, "epsilon", 1e-5);
    bool training = onnx_attr_int(n, "training_mode", 0) ||
                    (n->opset < 7 && !onnx_attr_int(n, "is_test", 0));

    onnx_ignore(n, "momentum");
    if (n->opset < 9 && !onnx_attr_int(n, "spatial", 1))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "its statistics are of positions");
    if (training || n->nout > 1)
        return batch_norm_training(n, eps);
    return cfx_batch_norm(n->s, onnx_tensor(n, 0), .weight = onnx_tensor(n, 1),
                          .bias = onnx_tensor(n, 2),
                          .running_mean = onnx_tensor(n, 3),
                          .running_var = onnx_tensor(n, 4),
                          .training = cfx_bool(false), .eps = cfx_float(eps));
}

static cfx_value affine(onnx_node *n, cfx_value x, cfx_value scale,
                        cfx_value bias)
{
    if (scale.kind)
        x = cfx_mul(n->s, x, scale);
    return bias.kind ? cfx_add(n->s, x, bias) : x;
}

/* torch's layer norm scales by a tensor of the normalized shape only. */
static bool fits(onnx_node *n, cfx_value scale, int axes)
{
    return !scale.kind || onnx_rank(n, scale) == axes;
}

/* torch computes in float32 at least, as stash_type asks. */
static void stash_type(onnx_node *n)
{
    if (onnx_attr_int(n, "stash_type", 1) != 1)
        onnx_fail(n, CFX_EUNSUPPORTED, "it computes in another type");
}

cfx_value onnx_import_layer_norm(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), scale = onnx_optional(n, 1);
    cfx_value bias = onnx_optional(n, 2);
    cfx_value eps = cfx_float(onnx_attr_float(n, "epsilon", 1e-5));
    int rank = onnx_rank(n, x), axis = onnx_attr_axis(n, x, -1);

    stash_type(n);
    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    cfx_value shape = onnx_extents(n->s, x, axis, rank);
    if (n->nout > 1) {
        cfx_value all = CFX_CALL(n->s, "torch.native_layer_norm", x, shape,
                                 cfx_none(), cfx_none(), eps);
        cfx_value y = affine(n, cfx_nth(n->s, all, 0), scale, bias);
        for (size_t i = 1; i < n->nout; i++)
            n->out[i] = cfx_nth(n->s, all, (int64_t)i);
        return y;
    }
    bool whole = fits(n, scale, rank - axis) && fits(n, bias, rank - axis);
    cfx_value y = cfx_layer_norm(
        n->s, x, shape, .weight = whole ? scale : CFX_NOTHING,
        .bias = whole ? bias : CFX_NOTHING, .eps = eps);
    return whole ? y : affine(n, y, scale, bias);
}

cfx_value onnx_import_rms_norm(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), scale = onnx_tensor(n, 1);
    int rank = onnx_rank(n, x), axis = onnx_attr_axis(n, x, -1);

    stash_type(n);
    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    bool whole = fits(n, scale, rank - axis);
    cfx_value y = cfx_rms_norm(
        n->s, x, onnx_extents(n->s, x, axis, rank),
        .weight = whole ? scale : CFX_NOTHING,
        .eps = cfx_float(onnx_attr_float(n, "epsilon", 1e-5)));
    return whole ? y : cfx_mul(n->s, y, scale);
}

cfx_value onnx_import_instance_norm(onnx_node *n)
{
    return cfx_instance_norm(
        n->s, onnx_tensor(n, 0), .weight = onnx_tensor(n, 1),
        .bias = onnx_tensor(n, 2),
        .eps = cfx_float(onnx_attr_float(n, "epsilon", 1e-5)));
}

/* Before operator set 21 the scale was of groups, not of channels. */
static cfx_value of_channels(onnx_node *n, cfx_value scale, cfx_value x,
                             int64_t groups)
{
    int64_t channels = onnx_known_size(n, x, 1);
    int64_t has = onnx_known_size(n, scale, 0);

    if (cfx_scope_failed(n->s) || has == channels || groups < 1)
        return scale;
    return cfx_repeat_interleave(n->s, scale, cfx_int(channels / groups));
}

cfx_value onnx_import_group_norm(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    int64_t groups = onnx_attr_int(n, "num_groups", 0);
    cfx_value scale = of_channels(n, onnx_tensor(n, 1), x, groups);
    cfx_value bias = of_channels(n, onnx_tensor(n, 2), x, groups);

    stash_type(n);
    return cfx_group_norm(
        n->s, x, cfx_int(groups), .weight = scale, .bias = bias,
        .eps = cfx_float(onnx_attr_float(n, "epsilon", 1e-5)));
}

cfx_value onnx_import_lrn(onnx_node *n)
{
    int64_t size = onnx_attr_int(n, "size", 1);

    if (size % 2 == 0)
        return onnx_fail(n, CFX_EUNSUPPORTED, "its size is even");
    return cfx_local_response_norm(
        n->s, onnx_tensor(n, 0), cfx_int(size),
        .alpha = cfx_float(onnx_attr_float(n, "alpha", 1e-4)),
        .beta = cfx_float(onnx_attr_float(n, "beta", 0.75)),
        .k = cfx_float(onnx_attr_float(n, "bias", 1)));
}

cfx_value onnx_import_lp_norm(onnx_node *n)
{
    int64_t axis = onnx_attr_int(n, "axis", -1);
    cfx_value x = onnx_tensor(n, 0);
    cfx_value norm = cfx_linalg_vector_norm(
        n->s, x, .ord = cfx_int(onnx_attr_int(n, "p", 2)),
        .dim = onnx_int_arg(n->s, 1, &axis), .keepdim = cfx_bool(true));

    /* A row of zeros stays one. */
    norm = cfx_where(n->s, cfx_eq(n->s, norm, cfx_int(0)),
                     cfx_ones_like(n->s, norm), norm);
    return cfx_div(n->s, x, norm);
}

cfx_value onnx_import_mean_variance_norm(onnx_node *n)
{
    static const int64_t usual[] = {0, 2, 3};
    const int64_t *attr;
    size_t count = onnx_attr_ints(n, "axes", &attr);
    cfx_value axes = onnx_int_arg(n->s, count ? count : 3,
                                  count ? attr : usual);
    cfx_value x = onnx_tensor(n, 0), keep = cfx_bool(true);
    cfx_value mean = cfx_mean(n->s, x, .dim = axes, .keepdim = keep);
    cfx_value c = cfx_sub(n->s, x, mean);
    cfx_value var = cfx_mean(n->s, cfx_mul(n->s, c, c), .dim = axes,
                             .keepdim = keep);

    return cfx_div(n->s, c,
                   cfx_add(n->s, cfx_sqrt(n->s, var), cfx_float(1e-9)));
}

/* ---- Softmax ---- */

/* The operator of the row; Hardmax, which has none, is 1 at the first maximum,
 * else 0. */
static cfx_value maxima(onnx_node *n, cfx_value x, int64_t axis)
{
    if (n->rule->target)
        return CFX_CALL(n->s, n->rule->target, x, cfx_int(axis));
    cfx_value at = cfx_argmax(n->s, x, .dim = cfx_int(axis),
                              .keepdim = cfx_bool(true));
    return cfx_scatter(n->s, cfx_zeros_like(n->s, x), cfx_int(axis), at,
                       cfx_int(1));
}

/* Before operator set 13 the axes from `axis` on were taken as one. */
cfx_value onnx_import_softmax(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), flat[2], v[CFX_MAX_RANK];
    bool old = n->opset < 13;
    int rank = onnx_rank(n, x), axis = onnx_attr_axis(n, x, old ? 1 : -1);

    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    if (!old || axis == rank - 1)
        return maxima(n, x, axis);
    flat[0] = flat[1] = cfx_int(1);
    for (int i = 0; i < rank; i++) {
        v[i] = onnx_size(n->s, x, i);
        flat[i >= axis] = cfx_int_mul(n->s, flat[i >= axis], v[i]);
    }
    x = maxima(n, cfx_reshape(n->s, x, onnx_arg(n->s, 2, flat)), 1);
    return cfx_reshape(n->s, x, onnx_arg(n->s, (size_t)rank, v));
}
