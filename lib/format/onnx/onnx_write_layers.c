/*
 * onnx_write_layers -- layers with weights, pooling, normalization, attention and
 * reductions as ONNX.
 */
#include <float.h>
#include <math.h>

#include "format/onnx/onnx_write.h"
#include "op/op_impl.h"

enum { MAX_SPATIAL = 3 };

/* An argument, or "" where it is None. */
static const char *optional(onnx_writer *w, const char *name)
{
    cfx_value v = onnx_put_arg(w, name);

    return onnx_put_is_none(v) ? "" : onnx_put_value(w, v);
}

/* ---- Products ---- */

static const char *swapped(onnx_writer *w, const char *x, int rank)
{
    int64_t perm[CFX_MAX_RANK];
    Onnx__NodeProto *n = ONNX_NODE(w, "Transpose", NULL, x);

    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    onnx_put_attr_ints(w, n, "perm", (size_t)rank, perm);
    return onnx_put_out(n);
}

/* x by a weight (out, in): MatMul, which ONNX Runtime fuses with integers of the weight. */
static void put_matmul(onnx_writer *w, const char *x)
{
    cfx_value weight = onnx_put_arg(w, "weight");
    const char *bias = optional(w, "bias");
    bool adds = bias && *bias;
    const char *out = adds ? NULL : onnx_put_name(w);
    const char *y = onnx_put_integer_product(w, out, onnx_put_arg(w, "input"),
                                             weight, false);

    if (!y && !w->st) {
        const char *by = onnx_put_transposed(w, NULL, weight);
        y = ONNX_PUT(w, "MatMul", out, x,
                     by ? by : swapped(w, onnx_put_value(w, weight), 2));
    }
    if (adds)
        ONNX_RESULT(w, "Add", y, bias);
}

void onnx_write_linear(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "input");
    const cfx_tensor *weight = onnx_put_self(w, "weight");
    cfx_value in = onnx_put_arg(w, "input"), by = onnx_put_arg(w, "weight");

    if (!x || !weight)
        return;
    if (weight->rank != 2) {
        onnx_put_fail(w, "its weight has %d axes, not 2", weight->rank);
        return;
    }
    const char *bias = onnx_put_bias(w, in, by, onnx_put_arg(w, "bias"));
    if (x->rank == 2 &&
        (onnx_put_is_quantized(in) || !onnx_put_is_weight(w, by))) {
        Onnx__NodeProto *n = ONNX_RESULT(w, "Gemm", onnx_put_value(w, in),
                                         onnx_put_value(w, by), bias);
        onnx_put_attr_int(w, n, "transB", 1);
        return;
    }
    put_matmul(w, onnx_put_value(w, in));
}

/* By a weight (in, out), or another tensor. */
void onnx_write_matmul(onnx_writer *w)
{
    cfx_value x = onnx_put_arg(w, "self"), by = onnx_put_arg(w, "other");

    if (onnx_put_is_none(by))
        by = onnx_put_arg(w, "mat2");
    if (!onnx_put_integer_product(w, onnx_put_name(w), x, by, true))
        ONNX_RESULT(w, "MatMul", onnx_put_value(w, x), onnx_put_value(w, by));
}

static const char *put_scaled(onnx_writer *w, const char *x, double by)
{
    return by == 1 ? x
                   : ONNX_PUT(w, "Mul", NULL, x,
                              onnx_put_scalar(w, by, onnx_put_result_type(w)));
}

/* The letters of torch are ONNX's. */
void onnx_write_einsum(onnx_writer *w)
{
    cfx_value list = onnx_put_arg(w, "tensors");
    cfx_value text = onnx_put_arg(w, "equation");
    size_t n = cfx_value_is_seq(list) ? list.u.seq->len : 0;
    char **in = onnx_put_alloc(w, n, sizeof(*in));
    Onnx__NodeProto *node = ONNX_RESULT(w, "Einsum", NULL);

    onnx_put_unused(w, "path"); /* the order of the products */
    for (size_t i = 0; i < n && in; i++)
        in[i] = (char *)(uintptr_t)onnx_put_as(w, list.u.seq->item[i],
                                               onnx_put_result_type(w));
    if (w->st || text.kind != CFX_STR)
        return;
    node->input = in;
    node->n_input = n;
    onnx_put_attr_text(w, node, "equation", text.u.str->text);
}

/* beta self + alpha a b */
void onnx_write_addmm(onnx_writer *w)
{
    bool batch = onnx_put_is_none(onnx_put_arg(w, "mat1"));
    const char *a = onnx_put_input(w, batch ? "batch1" : "mat1");
    const char *b = onnx_put_input(w, batch ? "batch2" : "mat2");
    const char *y = ONNX_PUT(w, "MatMul", NULL, a, b);

    ONNX_RESULT(w, "Add",
                put_scaled(w, onnx_put_input(w, "self"),
                           onnx_put_number(w, "beta", 1)),
                put_scaled(w, y, onnx_put_number(w, "alpha", 1)));
}

/* ---- Windows ---- */

/* A list for each spatial axis; missing ones have the same number. */
static size_t window(onnx_writer *w, const char *name, int nd, int64_t *to,
                     int64_t otherwise)
{
    size_t n = onnx_put_list(w, name, to, MAX_SPATIAL);

    for (int i = (int)n; i < nd; i++)
        to[i] = n ? to[0] : otherwise;
    return n;
}

static void put_pads(onnx_writer *w, Onnx__NodeProto *n, int nd,
                     const int64_t *pad)
{
    int64_t pads[2 * MAX_SPATIAL];

    for (int i = 0; i < nd; i++)
        pads[i] = pads[nd + i] = pad[i];
    onnx_put_attr_ints(w, n, "pads", 2 * (size_t)nd, pads);
}

/* Padding "same": the result has the extents of the input. Of an odd number of
 * zeros torch adds one more at the end. */
static void put_same_pads(onnx_writer *w, Onnx__NodeProto *n,
                          const cfx_tensor *weight, const int64_t *dilation)
{
    int64_t pads[2 * MAX_SPATIAL];
    int nd = weight ? weight->rank - 2 : 0;

    for (int i = 0; i < nd; i++) {
        int64_t all = dilation[i] * (onnx_put_extent(w, weight, 2 + i) - 1);
        pads[i] = all / 2;
        pads[nd + i] = all - all / 2;
    }
    onnx_put_attr_ints(w, n, "pads", 2 * (size_t)nd, pads);
}

/* The input with a batch axis; ONNX has no layers of single images. */
static int spatial_axes(onnx_writer *w, const cfx_tensor *x, int nd)
{
    if (x && x->rank != nd + 2)
        onnx_put_fail(w, "its input has %d axes, not %d with a batch", x->rank,
                      nd + 2);
    return nd;
}

/* The number of spatial axes, which the schema tells: 2 of "int[2] kernel_size". */
static int window_axes(onnx_writer *w, const cfx_tensor *x, const char *name)
{
    const cfx_schema *s = w->call->target->schema;
    int k = cfx_param_find(s, name, strlen(name));
    int nd = k < 0 ? 0 : s->params[k].list_size;

    if (nd < 1 || nd > MAX_SPATIAL)
        onnx_put_fail(w, "its windows have %d axes", nd);
    return spatial_axes(w, x, nd);
}

void onnx_write_conv(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "input");
    const cfx_tensor *weight = onnx_put_self(w, "weight");
    int nd = weight ? spatial_axes(w, x, weight->rank - 2) : 1;
    int64_t list[MAX_SPATIAL];
    Onnx__NodeProto *n = ONNX_RESULT(
        w, w->onnx, onnx_put_input(w, "input"), onnx_put_input(w, "weight"),
        onnx_put_bias(w, onnx_put_arg(w, "input"), onnx_put_arg(w, "weight"),
                      onnx_put_arg(w, "bias")));

    window(w, "stride", nd, list, 1);
    onnx_put_attr_ints(w, n, "strides", (size_t)nd, list);
    window(w, "dilation", nd, list, 1);
    onnx_put_attr_ints(w, n, "dilations", (size_t)nd, list);
    if (onnx_put_is(w, "padding", "same")) {
        put_same_pads(w, n, weight, list);
    } else if (!onnx_put_is(w, "padding", "valid")) {
        window(w, "padding", nd, list, 0);
        put_pads(w, n, nd, list);
    }
    if (!onnx_put_is_none(onnx_put_arg(w, "output_padding"))) {
        window(w, "output_padding", nd, list, 0);
        onnx_put_attr_ints(w, n, "output_padding", (size_t)nd, list);
    }
    onnx_put_attr_int(w, n, "group", onnx_put_int(w, "groups", 1));
}

/* How many elements window `at` of an axis has: torch's windows end with the
 * padding, or, if it does not count, with the image. */
static int64_t counted(int64_t at, int64_t extent, int64_t kernel, int64_t pad,
                       bool count_pads)
{
    int64_t end = extent + (count_pads ? pad : 0);
    int64_t to = at + kernel < end ? at + kernel : end;

    return to - (count_pads || at > 0 ? at : 0);
}

/* Factors that make means of `kernel` elements those of the elements that
 * count; for the last axis, along it. */
static const char *put_factors(onnx_writer *w, int64_t extent, int64_t windows,
                               int64_t kernel, int64_t stride, int64_t pad,
                               bool count_pads)
{
    float *f = windows > 0 && windows < 1 << 20
                   ? onnx_put_alloc(w, (size_t)windows, sizeof(*f))
                   : NULL;

    if (!f) {
        onnx_put_fail(w, "its windows are too many: %lld", (long long)windows);
        return NULL;
    }
    for (int64_t i = 0; i < windows; i++)
        f[i] = (float)kernel / (float)counted(i * stride - pad, extent, kernel,
                                              pad, count_pads);
    const char *x = onnx_put_floats(w, (size_t)windows, f);
    cfx_dtype type = onnx_put_result_type(w);
    return type == CFX_F32 ? x : onnx_put_cast(w, x, NULL, type);
}

/* Averages of windows that ONNX would count otherwise: ceil_mode has windows
 * that hang over, of which ONNX drops none, and divisor_override is no
 * attribute. Means of windows padded with zeros, times a factor. */
static void put_counted_averages(onnx_writer *w, int nd, const cfx_tensor *x,
                                 const cfx_tensor *y, const int64_t *kernel,
                                 const int64_t *stride, const int64_t *pad)
{
    cfx_value divisor = onnx_put_arg(w, "divisor_override");
    bool count_pads = onnx_put_int(w, "count_include_pad", 1);
    int64_t pads[2 * (2 + MAX_SPATIAL)] = {0}, area = 1;
    const char *out = onnx_put_name(w);

    for (int i = 0; i < nd && !w->st; i++) {
        int64_t last = (onnx_put_extent(w, y, 2 + i) - 1) * stride[i];
        int64_t after = last + kernel[i] - pad[i] -
                        onnx_put_extent(w, x, 2 + i);
        pads[2 + i] = pad[i];
        pads[4 + nd + i] = after > 0 ? after : 0;
        area *= kernel[i];
    }
    const char *v = ONNX_PUT(w, "Pad", NULL, onnx_put_input(w, "self"),
                             onnx_put_ints(w, 4 + 2 * (size_t)nd, pads));
    Onnx__NodeProto *n = ONNX_NODE(w, "AveragePool", NULL, v);
    onnx_put_attr_ints(w, n, "kernel_shape", (size_t)nd, kernel);
    onnx_put_attr_ints(w, n, "strides", (size_t)nd, stride);
    v = onnx_put_out(n);
    if (!onnx_put_is_none(divisor)) {
        double by = (double)area / (double)divisor.u.i;
        ONNX_PUT(w, "Mul", out, v,
                 onnx_put_scalar(w, by, onnx_put_result_type(w)));
        return;
    }
    for (int i = 0; i < nd && !w->st; i++) {
        int64_t column[] = {-1, 1, 1};
        const char *f = put_factors(w, onnx_put_extent(w, x, 2 + i),
                                    onnx_put_extent(w, y, 2 + i), kernel[i],
                                    stride[i], pad[i], count_pads);
        if (i < nd - 1)
            f = ONNX_PUT(w, "Reshape", NULL, f,
                         onnx_put_ints(w, (size_t)(nd - i), column));
        v = ONNX_PUT(w, "Mul", i < nd - 1 ? NULL : out, v, f);
    }
}

void onnx_write_pool(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "self"), *y = onnx_put_result(w);
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], list[MAX_SPATIAL];
    bool average = !onnx_put_is_none(onnx_put_arg(w, "count_include_pad"));
    int nd = window_axes(w, x, "kernel_size");

    if (!y || w->st)
        return;
    window(w, "kernel_size", nd, kernel, 1);
    if (!window(w, "stride", nd, stride, 1))
        memcpy(stride, kernel, sizeof(stride));
    window(w, "padding", nd, list, 0);
    if (average && (onnx_put_int(w, "ceil_mode", 0) ||
                    !onnx_put_is_none(onnx_put_arg(w, "divisor_override")))) {
        put_counted_averages(w, nd, x, y, kernel, stride, list);
        return;
    }
    Onnx__NodeProto *n = ONNX_RESULT(w, w->onnx, onnx_put_input(w, "self"));
    onnx_put_attr_ints(w, n, "kernel_shape", (size_t)nd, kernel);
    onnx_put_attr_ints(w, n, "strides", (size_t)nd, stride);
    put_pads(w, n, nd, list);
    onnx_put_attr_int(w, n, "ceil_mode", onnx_put_int(w, "ceil_mode", 0));
    if (average) {
        onnx_put_attr_int(w, n, "count_include_pad",
                          onnx_put_int(w, "count_include_pad", 1));
    } else {
        window(w, "dilation", nd, list, 1);
        onnx_put_attr_ints(w, n, "dilations", (size_t)nd, list);
    }
}

/* A matrix [in, out] that averages the windows of an axis. */
static const char *put_averages(onnx_writer *w, int64_t in, int64_t out)
{
    const int64_t shape[] = {in, out};
    float *m = in > 0 && out > 0 && in < (1 << 20) / out
                   ? onnx_put_alloc(w, (size_t)(in * out), sizeof(*m))
                   : NULL;

    if (!m) {
        onnx_put_fail(w, "its windows are too many: %lld of %lld",
                      (long long)out, (long long)in);
        return NULL;
    }
    for (int64_t k = 0; k < out; k++) {
        int64_t from = k * in / out, to = ((k + 1) * in + out - 1) / out;
        for (int64_t i = from; i < to; i++)
            m[i * out + k] = 1 / (float)(to - from);
    }
    const char *x = onnx_put_floats(w, (size_t)(in * out), m);
    x = ONNX_PUT(w, "Reshape", NULL, x, onnx_put_ints(w, 2, shape));
    cfx_dtype type = onnx_put_result_type(w);
    return type == CFX_F32 ? x : onnx_put_cast(w, x, NULL, type);
}

/* Averages of windows that have different extents: a product along each
 * axis. */
static void put_average_windows(onnx_writer *w, int nd, const cfx_tensor *x,
                                const cfx_tensor *y)
{
    static const int64_t swap[] = {1, 0};
    const char *v = onnx_put_input(w, "self");

    for (int i = nd - 1; i >= 0 && !w->st; i--) {
        bool last = i == nd - 1;
        const char *out = i ? NULL : onnx_put_name(w);
        const char *m = put_averages(w, onnx_put_extent(w, x, 2 + i),
                                     onnx_put_extent(w, y, 2 + i));
        if (!last)
            m = onnx_put_permuted(w, NULL, m, 2, swap);
        v = last ? ONNX_PUT(w, "MatMul", out, v, m)
                 : ONNX_PUT(w, "MatMul", out, m, v);
    }
}

/* Windows of equal extents; a single window covers the image, of whatever extents. */
void onnx_write_adaptive_pool(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "self"), *y = onnx_put_result(w);
    int64_t kernel[MAX_SPATIAL];
    bool whole = true, average = !strcmp(w->onnx, "AveragePool");
    bool equal = true;
    int nd = window_axes(w, x, "output_size");

    onnx_put_unused(w, "output_size");
    if (!y || w->st)
        return;
    for (int i = 0; i < nd; i++)
        whole = whole && cfx_dim_is(y->shape[2 + i], 1);
    if (whole) {
        ONNX_RESULT(w, average ? "GlobalAveragePool" : "GlobalMaxPool",
                    onnx_put_input(w, "self"));
        return;
    }
    for (int i = 0; i < nd && !w->st; i++) {
        int64_t in = onnx_put_extent(w, x, 2 + i);
        int64_t out = onnx_put_extent(w, y, 2 + i);
        equal = equal && out > 0 && in % out == 0;
        kernel[i] = out > 0 ? in / out : 1;
    }
    if (!equal && average && nd < 3) {
        put_average_windows(w, nd, x, y);
        return;
    }
    if (!equal)
        onnx_put_fail(w, "its windows have different extents");
    Onnx__NodeProto *n = ONNX_RESULT(w, w->onnx, onnx_put_input(w, "self"));
    onnx_put_attr_ints(w, n, "kernel_shape", (size_t)nd, kernel);
    onnx_put_attr_ints(w, n, "strides", (size_t)nd, kernel);
}

/* Columns added up to an image: the rank of torch's without a batch is 2. */
void onnx_write_fold(onnx_writer *w)
{
    static const char *const names[] = {"stride", "dilation", "padding"};
    static const char *const attrs[] = {"strides", "dilations", "pads"};
    cfx_value self = onnx_put_self_arg(w);
    const cfx_tensor *x = onnx_put_meta(w, self);
    int64_t size[2], list[3][4];

    if (!x || x->rank != 3) {
        onnx_put_fail(w, "it has no batch");
        return;
    }
    window(w, "output_size", 2, size, 1);
    const char *image = onnx_put_ints(w, 2, size);
    window(w, "kernel_size", 2, size, 1);
    Onnx__NodeProto *n = ONNX_RESULT(w, "Col2Im", onnx_put_value(w, self),
                                     image, onnx_put_ints(w, 2, size));
    for (int i = 0; i < 3; i++) {
        window(w, names[i], 2, list[i], i < 2);
        list[i][2] = list[i][0];
        list[i][3] = list[i][1];
        onnx_put_attr_ints(w, n, attrs[i], i < 2 ? 2 : 4, list[i]);
    }
}

/* Windows as columns: a convolution of each channel with weights that each take
 * one element of a window. */
void onnx_write_unfold(onnx_writer *w)
{
    static const char *const names[] = {"dilation", "stride"};
    const cfx_tensor *x = onnx_put_self(w, "input");
    int64_t kernel[MAX_SPATIAL], list[MAX_SPATIAL];

    if (!x || x->rank != 4 || !cfx_dtype_is_float((cfx_dtype)x->dtype)) {
        onnx_put_fail(w, "its input is not floats with a batch");
        return;
    }
    window(w, "kernel_size", 2, kernel, 1);
    int64_t n = kernel[0] * kernel[1], channels = onnx_put_extent(w, x, 1);
    int64_t filters = n * channels;
    const int64_t shape[] = {filters, 1, kernel[0], kernel[1]};
    const int64_t columns[] = {0, filters, -1};
    float *one = n > 0 && n < 4096 && channels < (1 << 24) / (n * n)
                     ? onnx_put_alloc(w, (size_t)(filters * n), sizeof(*one))
                     : NULL;
    if (!one) {
        onnx_put_fail(w, "its windows are too large");
        return;
    }
    for (int64_t i = 0; i < filters; i++)
        one[i * n + i % n] = 1;
    const char *weight = onnx_put_floats(w, (size_t)(filters * n), one);
    weight = onnx_put_cast(w, weight, NULL, (cfx_dtype)x->dtype);
    weight = ONNX_PUT(w, "Reshape", NULL, weight, onnx_put_ints(w, 4, shape));
    Onnx__NodeProto *conv = ONNX_NODE(w, "Conv", NULL,
                                      onnx_put_input(w, "input"), weight);
    onnx_put_attr_int(w, conv, "group", channels);
    for (int i = 0; i < 2; i++) {
        window(w, names[i], 2, list, 1);
        onnx_put_attr_ints(w, conv, i ? "strides" : "dilations", 2, list);
    }
    window(w, "padding", 2, list, 0);
    put_pads(w, conv, 2, list);
    ONNX_RESULT(w, "Reshape", onnx_put_out(conv),
                onnx_put_ints(w, 3, columns));
}

/* ---- Normalization ---- */

/* A weight or bias, or, where it is None, as many equal numbers. */
static const char *affine(onnx_writer *w, const char *name, int64_t n,
                          double otherwise)
{
    cfx_value v = onnx_put_arg(w, name);

    return onnx_put_is_none(v)
               ? onnx_put_filled(w, n, otherwise, onnx_put_result_type(w))
               : onnx_put_value(w, v);
}

void onnx_write_batch_norm(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "input");

    onnx_put_unused(w, "momentum");
    onnx_put_unused(w, "cudnn_enabled");
    if (!x)
        return;
    if (onnx_put_int(w, "training", 0) ||
        onnx_put_is_none(onnx_put_arg(w, "running_mean")) || x->rank < 2) {
        onnx_put_fail(w, "it normalizes by its input; call eval() before");
        return;
    }
    int64_t n = onnx_put_extent(w, x, 1);
    Onnx__NodeProto *node = ONNX_RESULT(
        w, "BatchNormalization", onnx_put_input(w, "input"),
        affine(w, "weight", n, 1), affine(w, "bias", n, 0),
        onnx_put_input(w, "running_mean"), onnx_put_input(w, "running_var"));
    onnx_put_attr_float(w, node, "epsilon", onnx_put_number(w, "eps", 1e-5));
}

static int64_t product(const int64_t *v, size_t n)
{
    int64_t all = 1;

    for (size_t i = 0; i < n; i++)
        all *= v[i];
    return all;
}

void onnx_write_layer_norm(onnx_writer *w)
{
    int64_t shape[CFX_MAX_RANK];
    size_t n = onnx_put_list(w, "normalized_shape", shape, CFX_MAX_RANK);
    const char *scale = affine(w, "weight", product(shape, n), 1);

    onnx_put_unused(w, "cudnn_enable");
    if (onnx_put_is_none(onnx_put_arg(w, "weight")) && n > 1)
        scale = ONNX_PUT(w, "Reshape", NULL, scale,
                         onnx_put_ints(w, n, shape));
    Onnx__NodeProto *node = ONNX_RESULT(w, "LayerNormalization",
                                        onnx_put_input(w, "input"), scale,
                                        optional(w, "bias"));
    onnx_put_attr_int(w, node, "axis", -(int64_t)n);
    onnx_put_attr_float(w, node, "epsilon", onnx_put_number(w, "eps", 1e-5));
}

/* x / sqrt(mean(x^2) + eps), in the type in which torch computes */
void onnx_write_rms_norm(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);
    int64_t shape[CFX_MAX_RANK], axes[CFX_MAX_RANK];
    size_t n = onnx_put_list(w, "normalized_shape", shape, CFX_MAX_RANK);
    cfx_dtype wide = (cfx_dtype)cfx_dtypes[type].compute;
    const char *x = onnx_put_as(w, onnx_put_arg(w, "input"), wide);
    const char *weight = onnx_put_as(w, onnx_put_arg(w, "weight"), wide);
    double eps = type == CFX_F64 ? DBL_EPSILON : FLT_EPSILON;

    for (size_t i = 0; i < n; i++)
        axes[i] = (int64_t)i - (int64_t)n;
    const char *y = ONNX_PUT(w, "ReduceMean", NULL,
                             ONNX_PUT(w, "Mul", NULL, x, x),
                             onnx_put_ints(w, n, axes));
    eps = onnx_put_number(w, "eps", eps);
    y = ONNX_PUT(w, "Add", NULL, y, onnx_put_scalar(w, eps, wide));
    y = ONNX_PUT(w, "Sqrt", NULL, y);
    bool casts = wide != type, scales = weight && *weight;
    const char *name = onnx_put_name(w);
    y = ONNX_PUT(w, "Div", casts || scales ? NULL : name, x, y);
    if (scales)
        y = ONNX_PUT(w, "Mul", casts ? NULL : name, y, weight);
    if (casts)
        onnx_put_cast(w, y, name, type);
}

/* The scales of ONNX's operator of this version are of groups: an instance norm
 * of groups, then the weights of channels. */
void onnx_write_group_norm(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "input");
    int64_t groups = onnx_put_int(w, "num_groups", 1), shape[CFX_MAX_RANK];
    int64_t by_group[] = {0, groups, -1};
    cfx_dtype type = onnx_put_result_type(w);
    static const char *const names[] = {"weight", "bias"};

    onnx_put_unused(w, "cudnn_enabled");
    if (!x)
        return;
    const char *in = onnx_put_input(w, "input");
    const char *y = ONNX_PUT(w, "Reshape", NULL, in,
                             onnx_put_ints(w, 3, by_group));
    Onnx__NodeProto *n = ONNX_NODE(w, "InstanceNormalization", NULL, y,
                                   onnx_put_filled(w, groups, 1, type),
                                   onnx_put_filled(w, groups, 0, type));
    onnx_put_attr_float(w, n, "epsilon", onnx_put_number(w, "eps", 1e-5));
    y = ONNX_PUT(w, "Reshape", NULL, onnx_put_out(n),
                 ONNX_PUT(w, "Shape", NULL, in));
    for (int i = 0; i < x->rank - 1; i++)
        shape[i] = i ? 1 : -1;
    for (int k = 0; k < 2; k++) {
        const char *v = optional(w, names[k]);
        if (!v || !*v)
            continue;
        v = ONNX_PUT(w, "Reshape", NULL, v,
                     onnx_put_ints(w, (size_t)x->rank - 1, shape));
        y = ONNX_PUT(w, k ? "Add" : "Mul", NULL, y, v);
    }
    onnx_put_alias(w, y);
}

/* ---- Softmax and attention ---- */

static const char *put_softmax(onnx_writer *w, const char *op, const char *out,
                               const char *x, int64_t axis)
{
    Onnx__NodeProto *n = ONNX_NODE(w, op, out, x);

    onnx_put_attr_int(w, n, "axis", axis);
    return onnx_put_out(n);
}

void onnx_write_softmax(onnx_writer *w)
{
    cfx_value x = onnx_put_arg(w, "self");

    onnx_put_unused(w, "_stacklevel");
    onnx_put_unused(w, "half_to_float");
    put_softmax(w, w->onnx, onnx_put_name(w),
                onnx_put_as(w, x, onnx_put_result_type(w)),
                onnx_put_int(w, "dim", -1));
}

/* Zeros, and minus infinity where a key comes after the query. */
static const char *causal_mask(onnx_writer *w, const cfx_tensor *q,
                               const cfx_tensor *k)
{
    int64_t shape[] = {onnx_put_extent(w, q, q->rank - 2),
                       onnx_put_extent(w, k, k->rank - 2)};
    cfx_dtype type = onnx_put_result_type(w);
    cfx_tensor *t;

    if (w->st || (w->st = cfx_tensor_new(&t, w->ctx, type, 2, shape, w->err)))
        return NULL;
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t j = 0; j < shape[1]; j++) {
            int64_t at[] = {i, j};
            cfx_element_set_double(type, cfx_tensor_at(t, at),
                                   j > i ? -INFINITY : 0);
        }
    return onnx_put_value(w, cfx_scope_take(&w->keep, cfx_value_of_tensor(t)));
}

/* A mask of bools as what is added. */
static const char *added_mask(onnx_writer *w)
{
    cfx_value v = onnx_put_arg(w, "attn_mask");
    const cfx_tensor *t = onnx_put_meta(w, v);
    cfx_dtype type = onnx_put_result_type(w);

    if (!t || (cfx_dtype)t->dtype != CFX_BOOL)
        return onnx_put_as(w, v, type);
    return ONNX_PUT(w, "Where", NULL, onnx_put_value(w, v),
                    onnx_put_scalar(w, 0, type),
                    onnx_put_scalar(w, -INFINITY, type));
}

void onnx_write_attention(onnx_writer *w)
{
    const cfx_tensor *q = onnx_put_self(w, "query");
    const cfx_tensor *k = onnx_put_self(w, "key");

    if (!q || !k || q->rank < 2)
        return;
    if (onnx_put_number(w, "dropout_p", 0) != 0 ||
        onnx_put_int(w, "enable_gqa", 0)) {
        onnx_put_fail(w, "it drops by chance, or has enable_gqa");
        return;
    }
    double scale = onnx_put_number(
        w, "scale", 1 / sqrt((double)onnx_put_extent(w, q, q->rank - 1)));
    const char *y = ONNX_PUT(w, "MatMul", NULL,
                             put_scaled(w, onnx_put_input(w, "query"), scale),
                             swapped(w, onnx_put_input(w, "key"), k->rank));
    if (!onnx_put_is_none(onnx_put_arg(w, "attn_mask")))
        y = ONNX_PUT(w, "Add", NULL, y, added_mask(w));
    if (onnx_put_int(w, "is_causal", 0))
        y = ONNX_PUT(w, "Add", NULL, y, causal_mask(w, q, k));
    ONNX_RESULT(w, "MatMul", put_softmax(w, "Softmax", NULL, y, -1),
                onnx_put_input(w, "value"));
}

/* These are of gradients, or of max_norm. */
void onnx_write_embedding(onnx_writer *w)
{
    static const char *const unused[] = {"padding_idx", "norm_type",
                                         "scale_grad_by_freq", "sparse"};

    for (size_t i = 0; i < sizeof(unused) / sizeof(*unused); i++)
        onnx_put_unused(w, unused[i]);
    ONNX_RESULT(w, "Gather", onnx_put_input(w, "weight"),
                onnx_put_input(w, "indices"));
}

/* ---- Reductions ---- */

/* x reduced by the operator of the row. */
static const char *put_reduction(onnx_writer *w, const char *out,
                                 const char *x)
{
    int64_t axes[CFX_MAX_RANK];
    size_t n = onnx_put_list(w, "dim", axes, CFX_MAX_RANK);
    Onnx__NodeProto *node = ONNX_NODE(w, w->onnx, out, x,
                                      n ? onnx_put_ints(w, n, axes) : NULL);

    onnx_put_attr_int(w, node, "keepdims", onnx_put_int(w, "keepdim", 0));
    return onnx_put_out(node);
}

void onnx_write_reduce(onnx_writer *w)
{
    put_reduction(
        w, onnx_put_name(w),
        onnx_put_as(w, onnx_put_arg(w, "self"), onnx_put_result_type(w)));
}

void onnx_write_arg_extreme(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "self");
    bool all = onnx_put_is_none(onnx_put_arg(w, "dim"));
    const char *in = onnx_put_input(w, "self");

    if (!x)
        return;
    if (all && onnx_put_int(w, "keepdim", 0))
        onnx_put_fail(w, "it keeps all axes");
    if (all)
        in = onnx_put_row(w, in);
    Onnx__NodeProto *n = ONNX_RESULT(w, w->onnx, in);
    onnx_put_attr_int(w, n, "axis", onnx_put_int(w, "dim", 0));
    onnx_put_attr_int(w, n, "keepdims", onnx_put_int(w, "keepdim", 0));
}

/* any and all: the largest, or least, of 0 and 1. */
void onnx_write_any_all(onnx_writer *w)
{
    const char *x = onnx_put_as(w, onnx_put_arg(w, "self"), CFX_BOOL);

    x = put_reduction(w, NULL, onnx_put_cast(w, x, NULL, CFX_I32));
    onnx_put_cast(w, x, onnx_put_name(w), onnx_put_result_type(w));
}

void onnx_write_cumsum(onnx_writer *w)
{
    cfx_value x = onnx_put_arg(w, "self");

    ONNX_RESULT(
        w, "CumSum", onnx_put_as(w, x, onnx_put_result_type(w)),
        onnx_put_constant(w, cfx_int(onnx_put_int(w, "dim", 0)), CFX_I64));
}
