/*
 * onnx_conv -- rules of convolutions, pooling and products of matrices.
 *
 * torch pads both ends of an axis alike; where a model does not, a pad, or a
 * slice of the result, does it.
 */
#include <stdio.h>

#include "format/onnx/onnx.h"

enum { MAX_SPATIAL = 3 };

/* The windows of a convolution or pooling, by axis. */
typedef struct windows {
    int nd;
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
    int64_t before[MAX_SPATIAL], after[MAX_SPATIAL];
    bool same, same_upper; /* auto_pad */
} windows;

static bool read_list(onnx_node *n, const char *name, int64_t *to, int count,
                      int64_t otherwise, int64_t least)
{
    const int64_t *attr;
    size_t given = onnx_attr_ints(n, name, &attr);

    if (given && given != (size_t)count)
        return onnx_refuse(n, CFX_ESHAPE, "%s has %zu items for %d axes", name,
                           given, count);
    for (int i = 0; i < count; i++) {
        to[i] = given ? attr[i] : otherwise;
        if (to[i] < least || to[i] > INT32_MAX)
            return onnx_refuse(n, CFX_EINVAL, "%s is %lld", name,
                               (long long)to[i]);
    }
    return true;
}

/* Pads that make the extent of the result that of the input by the stride. */
static void same_pads(onnx_node *n, cfx_value x, windows *w)
{
    for (int i = 0; i < w->nd; i++) {
        int64_t size = onnx_known_size(n, x, 2 + i);
        int64_t outs = (size + w->stride[i] - 1) / w->stride[i];
        int64_t all = (outs - 1) * w->stride[i] +
                      (w->kernel[i] - 1) * w->dilation[i] + 1 - size;
        all = all < 0 ? 0 : all;
        w->before[i] = w->same_upper ? all / 2 : all - all / 2;
        w->after[i] = all - w->before[i];
    }
}

static bool read_windows(onnx_node *n, cfx_value x, windows *w)
{
    int64_t pads[2 * MAX_SPATIAL] = {0};

    w->nd = onnx_rank(n, x) - 2;
    if (cfx_scope_failed(n->s))
        return false;
    if (w->nd < 1 || w->nd > MAX_SPATIAL)
        return onnx_refuse(n, CFX_EUNSUPPORTED,
                           "its input has %d axes; it takes 3 to 5",
                           w->nd + 2);
    if (!read_list(n, "kernel_shape", w->kernel, w->nd, 1, 1) ||
        !read_list(n, "strides", w->stride, w->nd, 1, 1) ||
        !read_list(n, "dilations", w->dilation, w->nd, 1, 1) ||
        !read_list(n, "pads", pads, 2 * w->nd, 0, 0))
        return false;
    for (int i = 0; i < w->nd; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->nd + i];
    }
    w->same_upper = onnx_attr_is(n, "auto_pad", "SAME_UPPER", "NOTSET");
    w->same = w->same_upper ||
              onnx_attr_is(n, "auto_pad", "SAME_LOWER", "NOTSET");
    return true;
}

static bool is_symmetric(const windows *w)
{
    for (int i = 0; i < w->nd; i++)
        if (w->before[i] != w->after[i])
            return false;
    return true;
}

static cfx_value padded(onnx_node *n, cfx_value x, const windows *w,
                        cfx_value value)
{
    int64_t pads[2 * MAX_SPATIAL];

    for (int i = 0; i < w->nd; i++) {
        pads[2 * i] = w->before[w->nd - 1 - i];
        pads[2 * i + 1] = w->after[w->nd - 1 - i];
    }
    return cfx_pad(n->s, x, onnx_int_arg(n->s, 2 * (size_t)w->nd, pads),
                   .value = value);
}

static cfx_value list_of(onnx_node *n, const windows *w, const int64_t *v)
{
    return onnx_int_arg(n->s, (size_t)w->nd, v);
}

/* "torch.conv" and 2: "torch.conv2d". */
static cfx_value call_nd(onnx_node *n, const char *name, int nd,
                         const char *end, const cfx_value *args, size_t nargs)
{
    char target[64];

    snprintf(target, sizeof(target), "%s%dd%s", name, nd, end);
    return cfx_call_function(n->s, target, cfx_args_of(args, nargs));
}

static const int64_t no_pads[MAX_SPATIAL] = {0, 0, 0};

/* Kernel extents come from the weights, whatever kernel_shape says. */
static bool kernel_of(onnx_node *n, cfx_value weight, windows *w)
{
    if (onnx_rank(n, weight) != w->nd + 2)
        return onnx_refuse(n, CFX_ESHAPE,
                           "input and weights differ in their number of axes");
    for (int i = 0; i < w->nd; i++)
        w->kernel[i] = onnx_known_size(n, weight, 2 + i);
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_conv(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), weight = onnx_tensor(n, 1);
    cfx_value bias = onnx_optional(n, 2);
    windows w;

    if (!read_windows(n, x, &w) || !kernel_of(n, weight, &w))
        return CFX_NOTHING;
    if (w.same)
        same_pads(n, x, &w);
    bool symmetric = is_symmetric(&w);
    if (!symmetric)
        x = padded(n, x, &w, cfx_int(0));
    cfx_value args[] = {x,
                        weight,
                        bias.kind ? bias : cfx_none(),
                        list_of(n, &w, w.stride),
                        list_of(n, &w, symmetric ? w.before : no_pads),
                        list_of(n, &w, w.dilation),
                        cfx_int(onnx_attr_int(n, "group", 1))};
    return call_nd(n, "torch.conv", w.nd, "", args, 7);
}

/* Offsets and masks are torchvision's. */
cfx_value onnx_import_deform_conv(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), weight = onnx_tensor(n, 1);
    cfx_value bias = onnx_optional(n, 3), mask = onnx_optional(n, 4);
    windows w;

    if (!read_windows(n, x, &w) || !kernel_of(n, weight, &w))
        return CFX_NOTHING;
    if (w.nd != 2)
        return onnx_fail(n, CFX_EUNSUPPORTED, "its input has %d axes, not 4",
                         w.nd + 2);
    bool symmetric = is_symmetric(&w);
    if (!symmetric)
        x = padded(n, x, &w, cfx_int(0));
    const int64_t *pad = symmetric ? w.before : no_pads;
    cfx_value type = cfx_value_of_dtype(onnx_type_of(n, x));
    if (!bias.kind)
        bias = cfx_zeros(s, cfx_list(s, onnx_size(s, weight, 0)),
                         .dtype = type);
    return cfx_deform_conv2d(
        s, x, weight, onnx_tensor(n, 2),
        mask.kind ? mask
                  : cfx_zeros(s, cfx_list(s, cfx_int(0)), .dtype = type),
        bias, cfx_int(w.stride[0]), cfx_int(w.stride[1]), cfx_int(pad[0]),
        cfx_int(pad[1]), cfx_int(w.dilation[0]), cfx_int(w.dilation[1]),
        cfx_int(onnx_attr_int(n, "group", 1)),
        cfx_int(onnx_attr_int(n, "offset_group", 1)),
        cfx_bool(mask.kind != CFX_ABSENT));
}

/* A depthwise convolution of sequences, before which the last columns of the
 * sequence before stand, or zeros. */
cfx_value onnx_import_causal_conv_with_state(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), weight = onnx_tensor(n, 1);
    cfx_value bias = onnx_optional(n, 2), past = onnx_optional(n, 3);
    const char *act = onnx_attr_text(n, "activation", "none");
    bool silu = !strcmp(act, "silu") || !strcmp(act, "swish");

    if (onnx_rank(n, x) != 3 || onnx_rank(n, weight) != 3)
        return onnx_fail(n, CFX_ESHAPE, "its input and weights have 3 axes");
    if (!silu && strcmp(act, "none"))
        return onnx_fail(n, CFX_EUNSUPPORTED, "its activation is '%.40s'",
                         act);
    cfx_value length = onnx_size(s, x, 2), groups = onnx_size(s, x, 1);
    int64_t pads[] = {onnx_known_size(n, weight, 2) - 1, 0};
    x = past.kind ? cfx_cat(s, cfx_list(s, past, x), .dim = cfx_int(2))
                  : cfx_pad(s, x, onnx_int_arg(s, 2, pads));
    cfx_value y = cfx_conv1d(s, x, weight, .bias = bias, .groups = groups);
    if (silu)
        y = cfx_silu(s, y);
    if (n->nout > 1)
        n->out[1] = cfx_slice(s, x, cfx_int(2), length, cfx_int(INT64_MAX),
                              cfx_int(1));
    return y;
}

/* Pads that give the asked extents, or, of auto_pad, the input's by the stride,
 * or the full result where that is less. What lies beyond the full result is
 * after it. */
static void transposed_pads(onnx_node *n, cfx_value x, windows *w,
                            const int64_t *extra, const int64_t *shape,
                            size_t given)
{
    for (int i = 0; i < w->nd && (given || w->same); i++) {
        int64_t size = onnx_known_size(n, x, 2 + i);
        int64_t want = given ? shape[given - (size_t)w->nd + (size_t)i]
                             : size * w->stride[i];
        int64_t all = w->stride[i] * (size - 1) + extra[i] +
                      (w->kernel[i] - 1) * w->dilation[i] + 1 - want;
        int64_t cut = all < 0 ? 0 : all;
        w->before[i] = w->same_upper ? cut / 2 : cut - cut / 2;
        w->after[i] = (given ? all : cut) - w->before[i];
    }
}

/* Does torch have these pads and this output_padding? */
static bool torch_transposes(const windows *w, const int64_t *extra)
{
    for (int i = 0; i < w->nd; i++)
        if (w->before[i] != w->after[i] ||
            (extra[i] >= w->stride[i] && extra[i] >= w->dilation[i]))
            return false;
    return true;
}

cfx_value onnx_import_conv_transpose(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), weight = onnx_tensor(n, 1);
    cfx_value bias = onnx_optional(n, 2);
    int64_t extra[MAX_SPATIAL];
    const int64_t *shape;
    windows w;

    if (!read_windows(n, x, &w) || !kernel_of(n, weight, &w) ||
        !read_list(n, "output_padding", extra, w.nd, 0, 0))
        return CFX_NOTHING;
    size_t given = onnx_attr_ints(n, "output_shape", &shape);
    if (given && given < (size_t)w.nd)
        return onnx_fail(n, CFX_ESHAPE, "output_shape has %zu items", given);
    transposed_pads(n, x, &w, extra, shape, given);
    bool direct = torch_transposes(&w, extra);
    cfx_value args[] = {x,
                        weight,
                        direct && bias.kind ? bias : cfx_none(),
                        list_of(n, &w, w.stride),
                        list_of(n, &w, direct ? w.before : no_pads),
                        list_of(n, &w, direct ? extra : no_pads),
                        cfx_int(onnx_attr_int(n, "group", 1)),
                        list_of(n, &w, w.dilation)};
    cfx_value y = call_nd(n, "torch.conv_transpose", w.nd, "", args, 8);
    for (int i = 0; i < w.nd && !direct; i++) {
        w.before[i] = -w.before[i];
        w.after[i] = extra[i] - w.after[i];
    }
    if (!direct)
        y = padded(n, y, &w, cfx_int(0));
    return direct || !bias.kind
               ? y
               : cfx_add(n->s, y, onnx_along(n->s, bias, 0, 1 + w.nd));
}

/* ---- Pooling ---- */

/* torch takes pads of at most half the window. */
static bool pool_pads_fit(const windows *w)
{
    bool fit = is_symmetric(w);

    for (int i = 0; i < w->nd; i++)
        fit = fit && w->before[i] <= w->kernel[i] / 2;
    return fit;
}

/* Indices that count through the whole tensor, from those within a plane. */
static cfx_value whole_indices(onnx_node *n, cfx_value x, cfx_value index,
                               int nd)
{
    cfx_scope *s = n->s;
    cfx_value planes = cfx_int_mul(s, onnx_size(s, x, 0), onnx_size(s, x, 1));
    cfx_value size = cfx_int(1);
    cfx_value shape[2 + MAX_SPATIAL] = {onnx_size(s, x, 0), onnx_size(s, x, 1),
                                        cfx_int(1), cfx_int(1), cfx_int(1)};

    for (int i = 0; i < nd; i++)
        size = cfx_int_mul(s, size, onnx_size(s, x, 2 + i));
    cfx_value first = cfx_mul(s, CFX_CALL(s, "torch.arange", planes), size);
    return cfx_add(s, index,
                   cfx_reshape(s, first, onnx_arg(s, 2 + (size_t)nd, shape)));
}

/* Indices within a plane that count by columns, from those by rows. */
static cfx_value column_indices(onnx_node *n, cfx_value x, cfx_value index)
{
    cfx_scope *s = n->s;
    cfx_value rows = onnx_size(s, x, 2), columns = onnx_size(s, x, 3);
    cfx_value row = cfx_div(s, index, columns,
                            .rounding_mode = cfx_str(s, "floor"));

    return cfx_add(s, cfx_mul(s, cfx_remainder(s, index, columns), rows), row);
}

static cfx_value lowest(onnx_node *n, cfx_value x)
{
    cfx_dtype t = onnx_type_of(n, x);

    return t == CFX_U8   ? cfx_int(0)
           : t == CFX_I8 ? cfx_int(INT8_MIN)
                         : cfx_float(-(double)INFINITY);
}

cfx_value onnx_import_max_pool(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), from = x;
    windows w;

    if (!read_windows(n, x, &w))
        return CFX_NOTHING;
    if (w.same)
        same_pads(n, x, &w);
    bool fit = pool_pads_fit(&w), indices = n->nout > 1;
    bool by_columns = onnx_attr_int(n, "storage_order", 0);
    by_columns = by_columns && w.nd > 1;
    if (indices && (!fit || (by_columns && w.nd > 2)))
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "its indices count by columns of 3 axes, or through uneven pads");
    if (!fit)
        x = padded(n, x, &w, lowest(n, x));
    cfx_value args[] = {x,
                        list_of(n, &w, w.kernel),
                        list_of(n, &w, w.stride),
                        list_of(n, &w, fit ? w.before : no_pads),
                        list_of(n, &w, w.dilation),
                        cfx_bool(onnx_attr_int(n, "ceil_mode", 0))};
    if (!indices)
        return call_nd(n, "torch.max_pool", w.nd, "", args, 6);
    cfx_value both = call_nd(n, "torch.nn.functional.max_pool", w.nd,
                             "_with_indices", args, 6);
    cfx_value index = cfx_nth(n->s, both, 1);
    if (by_columns)
        index = column_indices(n, from, index);
    n->out[0] = cfx_nth(n->s, both, 0);
    n->out[1] = whole_indices(n, from, index, w.nd);
    return n->out[0];
}

static cfx_value average(onnx_node *n, cfx_value x, const windows *w,
                         bool pads, bool count_pads)
{
    cfx_value args[] = {x,
                        list_of(n, w, w->kernel),
                        list_of(n, w, w->stride),
                        list_of(n, w, pads ? w->before : no_pads),
                        cfx_bool(onnx_attr_int(n, "ceil_mode", 0)),
                        cfx_bool(count_pads)};

    return call_nd(n, "torch.nn.functional.avg_pool", w->nd, "", args, 6);
}

/* The sums of dilated windows: a convolution of each channel with ones. */
static cfx_value sum_dilated(onnx_node *n, cfx_value x, const windows *w)
{
    cfx_scope *s = n->s;
    size_t rank = 2 + (size_t)w->nd;
    cfx_value planes[2 + MAX_SPATIAL] = {cfx_int(-1), cfx_int(1)};
    cfx_value whole[2 + MAX_SPATIAL] = {onnx_size(s, x, 0),
                                        onnx_size(s, x, 1)};
    int64_t kernel[2 + MAX_SPATIAL] = {1, 1};

    for (int i = 0; i < w->nd; i++) {
        planes[2 + i] = onnx_size(s, x, 2 + i);
        kernel[2 + i] = w->kernel[i];
    }
    cfx_value ones = cfx_ones(s, onnx_int_arg(s, rank, kernel),
                              .dtype = cfx_value_of_dtype(onnx_type_of(n, x)));
    cfx_value args[] = {cfx_reshape(s, x, onnx_arg(s, rank, planes)),
                        ones,
                        cfx_none(),
                        list_of(n, w, w->stride),
                        list_of(n, w, no_pads),
                        list_of(n, w, w->dilation)};
    cfx_value y = call_nd(n, "torch.conv", w->nd, "", args, 6);
    for (int i = 0; i < w->nd; i++)
        whole[2 + i] = onnx_size(s, y, 2 + i);
    return cfx_reshape(s, y, onnx_arg(s, rank, whole));
}

/* The columns that ceil_mode adds after the pads of an axis: a last window
 * that begins in the image, or in the pads before it. */
static int64_t ceil_pad(onnx_node *n, cfx_value x, const windows *w, int i)
{
    int64_t window = (w->kernel[i] - 1) * w->dilation[i] + 1;
    int64_t begin = onnx_known_size(n, x, 2 + i) + w->before[i];
    int64_t room = begin + w->after[i] - window;
    int64_t last = (room + w->stride[i] - 1) / w->stride[i] * w->stride[i];

    if (last >= begin)
        last -= w->stride[i];
    return room > 0 && last > room ? last - room : 0;
}

static cfx_value average_dilated(onnx_node *n, cfx_value x, const windows *w,
                                 bool count_pads)
{
    cfx_value ones = cfx_ones_like(n->s, x), zero = cfx_int(0);
    windows more = {.nd = w->nd};

    if (onnx_attr_int(n, "ceil_mode", 0))
        for (int i = 0; i < w->nd; i++) {
            if (onnx_known_size(n, x, 2 + i) > INT32_MAX)
                return onnx_fail(n, CFX_ESHAPE, "its extents are too large");
            more.after[i] = ceil_pad(n, x, w, i);
        }
    x = padded(n, padded(n, x, w, zero), &more, zero);
    ones = padded(n, padded(n, ones, w, cfx_int(count_pads)), &more, zero);
    return cfx_div(n->s, sum_dilated(n, x, w), sum_dilated(n, ones, w));
}

static cfx_value average_windows(onnx_node *n, cfx_value x, windows *w,
                                 bool count_pads)
{
    if (w->same)
        same_pads(n, x, w);
    for (int i = 0; i < w->nd; i++)
        if (w->dilation[i] != 1)
            return average_dilated(n, x, w, count_pads);
    if (pool_pads_fit(w))
        return average(n, x, w, true, count_pads);
    /* The average over padded numbers by that over padded ones. */
    cfx_value sum = average(n, padded(n, x, w, cfx_int(0)), w, false, true);
    if (count_pads)
        return sum;
    cfx_value ones = padded(n, cfx_ones_like(n->s, x), w, cfx_int(0));
    return cfx_div(n->s, sum, average(n, ones, w, false, true));
}

cfx_value onnx_import_average_pool(onnx_node *n)
{
    bool count_pads = onnx_attr_int(n, "count_include_pad", 0);
    cfx_value x = onnx_tensor(n, 0);
    windows w;

    return read_windows(n, x, &w) ? average_windows(n, x, &w, count_pads)
                                  : CFX_NOTHING;
}

/* The p-norm of each window, by the average of powers: pads count as zeros. */
cfx_value onnx_import_lp_pool(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    int64_t p = onnx_attr_int(n, "p", 2);
    double many = 1;
    windows w;

    if (!read_windows(n, x, &w))
        return CFX_NOTHING;
    if (p < 1 || onnx_attr_int(n, "ceil_mode", 0))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "p is less than 1, or ceil_mode is 1");
    for (int i = 0; i < w.nd; i++)
        many *= (double)w.kernel[i];
    x = cfx_pow(n->s, cfx_abs(n->s, x), cfx_int(p));
    x = cfx_mul(n->s, average_windows(n, x, &w, true), cfx_float(many));
    return cfx_pow(n->s, x, cfx_float(1 / (double)p));
}

/* Extents that sums and products of 64 bits may not hold, or no extents. */
static bool is_large(int64_t extent)
{
    return extent < 0 || extent > INT32_MAX;
}

/* The indices of MaxUnpool count through the whole tensor that was pooled. */
cfx_value onnx_import_max_unpool(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), index = onnx_tensor(n, 1), flat, y;
    cfx_value shape[2 + MAX_SPATIAL], all = cfx_int(1);
    onnx_int_list want;
    windows w;

    if (!read_windows(n, x, &w) || !(want = onnx_plain_ints(n, 2, NULL)).ok)
        return CFX_NOTHING;
    size_t rank = 2 + (size_t)w.nd;
    for (size_t i = 0; i < rank; i++) {
        int64_t size = onnx_known_size(n, x, (int)i);
        size_t k = i < 2 ? 0 : i - 2;
        if (size > INT32_MAX || (i < want.n && is_large(want.item[i])))
            return onnx_fail(n, CFX_ESHAPE, "its extents are too large");
        if (i >= 2)
            size = (size - 1) * w.stride[k] - w.before[k] - w.after[k] +
                   w.kernel[k];
        shape[i] = cfx_int(size);
        all = cfx_int_mul(s, all, shape[i]);
        if (i >= 2 && want.n == rank) {
            w.before[k] = 0;
            w.after[k] = want.item[i] - size;
        }
    }
    if (want.given && want.n != rank)
        return onnx_fail(n, CFX_ESHAPE, "output_shape has %zu items", want.n);
    flat = cfx_list(s, cfx_int(-1));
    y = cfx_zeros(s, onnx_arg(s, 1, &all),
                  .dtype = cfx_value_of_dtype(onnx_type_of(n, x)));
    y = cfx_scatter(s, y, cfx_int(0), cfx_reshape(s, index, flat),
                    cfx_reshape(s, x, flat));
    y = cfx_reshape(s, y, onnx_arg(s, rank, shape));
    return want.given ? padded(n, y, &w, cfx_int(0)) : y;
}

/* Add columns up to an image: torch folds into images of two axes. */
cfx_value onnx_import_col2im(onnx_node *n)
{
    onnx_int_list image = onnx_plain_ints(n, 1, NULL);
    onnx_int_list block = onnx_plain_ints(n, 2, NULL);
    windows w = {.nd = 2};
    int64_t pads[4];

    if (!image.ok || !block.ok)
        return CFX_NOTHING;
    if (image.n != 2 || block.n != 2)
        return onnx_fail(n, CFX_EUNSUPPORTED, "its image has %zu axes, not 2",
                         image.n);
    if (is_large(image.item[0]) || is_large(image.item[1]))
        return onnx_fail(n, CFX_ESHAPE, "its extents are too large");
    if (!read_list(n, "strides", w.stride, 2, 1, 1) ||
        !read_list(n, "dilations", w.dilation, 2, 1, 1) ||
        !read_list(n, "pads", pads, 4, 0, 0))
        return CFX_NOTHING;
    /* The pads of the image are cut off again. */
    for (int i = 0; i < 2; i++) {
        w.before[i] = -pads[i];
        w.after[i] = -pads[2 + i];
        image.item[i] += pads[i] + pads[2 + i];
    }
    cfx_value y = cfx_fold(n->s, onnx_tensor(n, 0), list_of(n, &w, image.item),
                           list_of(n, &w, block.item),
                           .dilation = list_of(n, &w, w.dilation),
                           .stride = list_of(n, &w, w.stride));
    bool cut = pads[0] || pads[1] || pads[2] || pads[3];
    return cut ? padded(n, y, &w, cfx_int(0)) : y;
}

static cfx_value spatial_axes(onnx_node *n, int rank)
{
    int64_t axes[CFX_MAX_RANK];

    if (rank < 3)
        return onnx_fail(n, CFX_ESHAPE, "its input has no spatial axes");
    for (int i = 2; i < rank; i++)
        axes[i - 2] = i;
    return onnx_int_arg(n->s, (size_t)rank - 2, axes);
}

cfx_value onnx_import_global_average_pool(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    int rank = onnx_rank(n, x);

    if (rank == 4)
        return cfx_adaptive_avg_pool2d(n->s, x, cfx_int(1));
    cfx_value axes = spatial_axes(n, rank);
    return cfx_mean(n->s, x, .dim = axes, .keepdim = cfx_bool(true));
}

cfx_value onnx_import_global_max_pool(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), axes = spatial_axes(n, onnx_rank(n, x));

    return cfx_amax(n->s, x, .dim = axes, .keepdim = cfx_bool(true));
}

/* ---- Products ---- */

cfx_value onnx_import_einsum(onnx_node *n)
{
    cfx_value *v = onnx_alloc(n->s, n->nin + 2, sizeof(*v));

    if (!v)
        return CFX_NOTHING;
    v[0] = cfx_str(n->s, onnx_attr_text(n, "equation", ""));
    for (size_t i = 0; i < n->nin; i++)
        v[1 + i] = onnx_tensor(n, i);
    return cfx_call_function(n->s, "torch.einsum", cfx_args_of(v, 1 + n->nin));
}

cfx_value onnx_import_gemm(onnx_node *n)
{
    cfx_scope *s = n->s;
    double alpha = onnx_attr_float(n, "alpha", 1);
    double beta = onnx_attr_float(n, "beta", 1);
    cfx_value a = onnx_tensor(n, 0), b = onnx_tensor(n, 1);
    cfx_value c = onnx_optional(n, 2);
    bool b_is_weight = onnx_attr_int(n, "transB", 0);
    bool is_int = onnx_is_int(n, a);

    if (n->opset < 7)
        onnx_ignore(n, "broadcast");
    if (onnx_attr_int(n, "transA", 0))
        a = cfx_t(s, a);
    bool plain = b_is_weight && alpha == 1 && !is_int;
    if (plain && !c.kind)
        return cfx_linear(s, a, b);
    if (plain && beta == 1 && onnx_rank(n, c) == 1)
        return cfx_linear(s, a, b, .bias = c);
    cfx_value y = cfx_matmul(s, a, b_is_weight ? cfx_t(s, b) : b);
    if (alpha != 1)
        y = cfx_mul(s, y, is_int ? cfx_int((int64_t)alpha) : cfx_float(alpha));
    if (c.kind && beta != 1)
        c = cfx_mul(s, c, is_int ? cfx_int((int64_t)beta) : cfx_float(beta));
    return c.kind ? cfx_add(s, y, c) : y;
}
