/*
 * decompositions -- the operators that are decomposed into the Core ATen set.
 *
 * Each function has the name of its operator. Formulas are those of the
 * operators' own code; they also round as PyTorch's do.
 */
#include <cfx/decompose.h>
#include <cfx/ops.h>

#include "ops/image/torchvision.h"

#define NUM(x) cfx_float(x)

/* ---- Activations ---- */

static cfx_value silu(cfx_scope *s, const cfx_value *in)
{
    return cfx_mul(s, in[0], cfx_sigmoid(s, in[0]));
}

static cfx_value relu6(cfx_scope *s, const cfx_value *in)
{
    return cfx_hardtanh(s, in[0], .min_val = NUM(0), .max_val = NUM(6));
}

static cfx_value hardsigmoid(cfx_scope *s, const cfx_value *in)
{
    cfx_value y = cfx_clamp(s, cfx_add(s, in[0], cfx_int(3)),
                            .min = cfx_int(0), .max = cfx_int(6));
    return cfx_div(s, y, cfx_int(6));
}

static cfx_value hardswish(cfx_scope *s, const cfx_value *in)
{
    cfx_value y = cfx_clamp(s, cfx_add(s, in[0], cfx_int(3)),
                            .min = cfx_int(0), .max = cfx_int(6));
    return cfx_div(s, cfx_mul(s, in[0], y), cfx_int(6));
}

/* beta, threshold */
static cfx_value softplus(cfx_scope *s, const cfx_value *in)
{
    cfx_value scaled = cfx_mul(s, in[0], in[1]);
    cfx_value soft = cfx_div(s, cfx_log1p(s, cfx_exp(s, scaled)), in[1]);
    return cfx_where(s, cfx_gt(s, scaled, in[2]), in[0], soft);
}

static cfx_value mish(cfx_scope *s, const cfx_value *in)
{
    const cfx_value args[] = {in[0], cfx_int(1), cfx_int(20)};
    return cfx_mul(s, in[0], cfx_tanh(s, softplus(s, args)));
}

static cfx_value softsign(cfx_scope *s, const cfx_value *in)
{
    cfx_value below = cfx_add(s, cfx_abs(s, in[0]), cfx_int(1));
    return cfx_div(s, in[0], below);
}

static cfx_value tanhshrink(cfx_scope *s, const cfx_value *in)
{
    return cfx_sub(s, in[0], cfx_tanh(s, in[0]));
}

static cfx_value log_sigmoid(cfx_scope *s, const cfx_value *in)
{
    cfx_value least = cfx_clamp(s, in[0], .max = cfx_int(0));
    cfx_value z = cfx_exp(s, cfx_neg(s, cfx_abs(s, in[0])));
    return cfx_sub(s, least, cfx_log1p(s, z));
}

static cfx_value selu(cfx_scope *s, const cfx_value *in)
{
    return cfx_elu(s, in[0], .alpha = NUM(1.6732632423543772848170429916717),
                   .scale = NUM(1.0507009873554804934193349852946));
}

static cfx_value celu(cfx_scope *s, const cfx_value *in)
{
    if (in[1].kind == CFX_NODE || cfx_value_number(in[1]) == 0)
        return cfx_none();
    return cfx_elu(s, in[0], .alpha = in[1],
                   .input_scale = NUM(1 / cfx_value_number(in[1])));
}

/* ---- Convolution ---- */

static cfx_value zeros(cfx_scope *s, cfx_value like)
{
    cfx_value item[3] = {cfx_int(0), cfx_int(0), cfx_int(0)};
    return cfx_list_of(s, CFX_LIST, like.u.seq->len, item);
}

/* input, weight, bias, stride, padding, dilation, groups */
static cfx_value conv(cfx_scope *s, const cfx_value *in)
{
    if (!cfx_value_is_seq(in[3]) || !cfx_value_is_seq(in[4]) ||
        in[3].u.seq->len > 3)
        return cfx_none();
    return cfx_convolution(s, in[0], in[1], in[2], in[3], in[4], in[5],
                           cfx_bool(false), zeros(s, in[3]), in[6]);
}

/* input, weight, bias, stride, padding, output_padding, groups, dilation */
static cfx_value conv_transpose(cfx_scope *s, const cfx_value *in)
{
    return cfx_convolution(s, in[0], in[1], in[2], in[3], in[4], in[7],
                           cfx_bool(true), in[5], in[6]);
}

/* ---- Normalization ---- */

/* weight, bias, running_mean, running_var, training, momentum, eps */
static cfx_value batch_norm(cfx_scope *s, const cfx_value *in)
{
    if (in[5].kind != CFX_BOOL_VALUE || in[5].u.i ||
        cfx_value_is_none(in[3]) || cfx_value_is_none(in[4]))
        return cfx_none();
    return cfx_nth(s,
                   cfx_aten_native_batch_norm_legit_no_training(
                       s, in[0], in[1], in[2], in[3], in[4], in[6], in[7]),
                   0);
}

/* normalized_shape, weight, bias, eps */
static cfx_value layer_norm(cfx_scope *s, const cfx_value *in)
{
    return cfx_nth(
        s, cfx_native_layer_norm(s, in[0], in[1], in[2], in[3], in[4]), 0);
}

/* normalized_shape, weight, eps */
static cfx_value rms_norm(cfx_scope *s, const cfx_value *in)
{
    cfx_value dim[CFX_MAX_RANK];
    if (!cfx_value_is_seq(in[1]) || cfx_value_is_none(in[3]) ||
        in[1].u.seq->len > CFX_MAX_RANK)
        return cfx_none();
    uint32_t n = in[1].u.seq->len;
    for (uint32_t i = 0; i < n; i++)
        dim[i] = cfx_int((int64_t)i - n);
    cfx_value mean = cfx_mean(s, cfx_mul(s, in[0], in[0]),
                              .dim = cfx_list_of(s, CFX_LIST, n, dim),
                              .keepdim = cfx_bool(true));
    cfx_value y = cfx_mul(s, in[0], cfx_rsqrt(s, cfx_add(s, mean, in[3])));
    return cfx_value_is_none(in[2]) ? y : cfx_mul(s, y, in[2]);
}

/* dim, dtype */
static cfx_value softmax(cfx_scope *s, const cfx_value *in)
{
    if (!cfx_value_is_none(in[2]))
        return cfx_none();
    return cfx_aten_softmax(s, in[0], in[1], cfx_bool(false));
}

static cfx_value log_softmax(cfx_scope *s, const cfx_value *in)
{
    if (!cfx_value_is_none(in[2]))
        return cfx_none();
    return cfx_aten_log_softmax(s, in[0], in[1], cfx_bool(false));
}

/* p, train: without training it returns its input. */
static cfx_value dropout(cfx_scope *s, const cfx_value *in)
{
    (void)s;
    return in[2].kind == CFX_BOOL_VALUE && !in[2].u.i ? in[0] : cfx_none();
}

/* ---- Pooling ---- */

/* The default stride is the size of the window. */
static cfx_value max_pool2d(cfx_scope *s, const cfx_value *in)
{
    cfx_value stride = cfx_value_is_none(in[2]) ? in[1] : in[2];
    return cfx_nth(s,
                   cfx_max_pool2d_with_indices(
                       s, in[0], in[1], .stride = stride, .padding = in[3],
                       .dilation = in[4], .ceil_mode = in[5]),
                   0);
}

static cfx_value max_pool3d(cfx_scope *s, const cfx_value *in)
{
    cfx_value stride = cfx_value_is_none(in[2]) ? in[1] : in[2];
    return cfx_nth(s,
                   cfx_max_pool3d_with_indices(
                       s, in[0], in[1], .stride = stride, .padding = in[3],
                       .dilation = in[4], .ceil_mode = in[5]),
                   0);
}

/* ---- Arithmetic ---- */

static cfx_value square(cfx_scope *s, const cfx_value *in)
{
    return cfx_mul(s, in[0], in[0]);
}

static cfx_value rsub(cfx_scope *s, const cfx_value *in)
{
    return cfx_sub(s, in[1], in[0], .alpha = in[2]);
}

static cfx_value addcmul(cfx_scope *s, const cfx_value *in)
{
    cfx_value product = cfx_mul(s, cfx_mul(s, in[1], in[3]), in[2]);
    return cfx_add(s, in[0], product);
}

static cfx_value addcdiv(cfx_scope *s, const cfx_value *in)
{
    cfx_value quotient = cfx_div(s, cfx_mul(s, in[1], in[3]), in[2]);
    return cfx_add(s, in[0], quotient);
}

/* ---- Shapes ---- */

static cfx_value stack(cfx_scope *s, const cfx_value *in)
{
    cfx_value item[64];
    if (!cfx_value_is_seq(in[0]) || in[0].u.seq->len > 64)
        return cfx_none();
    for (uint32_t i = 0; i < in[0].u.seq->len; i++)
        item[i] = cfx_unsqueeze(s, in[0].u.seq->item[i], in[1]);
    return cfx_cat(s, cfx_list_of(s, CFX_LIST, in[0].u.seq->len, item),
                   .dim = in[1]);
}

/* Transpose a matrix; the rank must be known to be 2. */
static cfx_value t(cfx_scope *s, const cfx_value *in)
{
    const cfx_tensor *x = cfx_meta_of(s, in[0]);
    if (!x || x->rank != 2)
        return cfx_none();
    return cfx_permute(s, in[0], cfx_list(s, cfx_int(1), cfx_int(0)));
}

static cfx_value transpose(cfx_scope *s, const cfx_value *in)
{
    cfx_value dim[CFX_MAX_RANK];
    const cfx_tensor *x = cfx_meta_of(s, in[0]);
    if (!x || in[1].kind != CFX_INT || in[2].kind != CFX_INT || !x->rank)
        return cfx_none();
    int64_t a = in[1].u.i, b = in[2].u.i, n = x->rank;
    a += a < 0 ? n : 0;
    b += b < 0 ? n : 0;
    if (a < 0 || a >= n || b < 0 || b >= n)
        return cfx_none();
    for (int64_t i = 0; i < n; i++)
        dim[i] = cfx_int(i == a ? b : i == b ? a : i);
    return cfx_permute(s, in[0], cfx_list_of(s, CFX_LIST, (size_t)n, dim));
}

/* A view needs contiguous elements: copy unless they are known to be. */
static cfx_value contiguous(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *known = cfx_meta_of(s, x);
    if (known && cfx_tensor_is_contiguous(known))
        return x;
    return cfx_clone(
        s, x, .memory_format = cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

/* Flatten from axis `from`, counted from the front, to the last one. */
static cfx_value flatten(cfx_scope *s, const cfx_value *in)
{
    cfx_value size[CFX_MAX_RANK];
    if (in[1].kind != CFX_INT || in[2].kind != CFX_INT || in[2].u.i != -1 ||
        in[1].u.i < 1 || in[1].u.i >= CFX_MAX_RANK)
        return cfx_none();
    size_t n = (size_t)in[1].u.i;
    for (size_t i = 0; i < n; i++)
        size[i] = cfx_sym_size(s, in[0], .dim = cfx_int((int64_t)i));
    size[n] = cfx_int(-1);
    return cfx_view(s, contiguous(s, in[0]),
                    cfx_list_of(s, CFX_LIST, n + 1, size));
}

static cfx_value reshape(cfx_scope *s, const cfx_value *in)
{
    return cfx_view(s, contiguous(s, in[0]), in[1]);
}

/* ---- Products ---- */

/* More than two axes: all but the last one are flattened to a matrix. */
static cfx_value linear(cfx_scope *s, const cfx_value *in)
{
    const cfx_tensor *x = cfx_meta_of(s, in[0]);
    const cfx_tensor *w = cfx_meta_of(s, in[1]);
    if (!x || !w || x->rank != 2 || w->rank != 2)
        return cfx_none();
    cfx_value turned = cfx_permute(s, in[1],
                                   cfx_list(s, cfx_int(1), cfx_int(0)));
    return cfx_value_is_none(in[2]) ? cfx_mm(s, in[0], turned)
                                    : cfx_addmm(s, in[2], in[0], turned);
}

static cfx_value matmul(cfx_scope *s, const cfx_value *in)
{
    const cfx_tensor *a = cfx_meta_of(s, in[0]), *b = cfx_meta_of(s, in[1]);
    if (!a || !b || a->rank != b->rank)
        return cfx_none();
    if (a->rank == 2)
        return cfx_mm(s, in[0], in[1]);
    bool one_batch = a->rank == 3 && cfx_dim_same(a->shape[0], b->shape[0]);
    return one_batch ? cfx_bmm(s, in[0], in[1]) : cfx_none();
}

/* beta, alpha: a factor of 0 drops its operand, even NaN. */
static cfx_value baddbmm(cfx_scope *s, const cfx_value *in)
{
    if (in[3].kind == CFX_NODE)
        return cfx_none();
    cfx_value product = cfx_mul(s, cfx_bmm(s, in[1], in[2]), in[4]);
    if (cfx_value_number(in[3]) == 0)
        return product;
    return cfx_add(s, cfx_mul(s, in[0], in[3]), product);
}

#define SWIN "torchvision.models.swin_transformer."

const cfx_decomposition cfx_core_decompositions[] = {
    {SWIN "_patch_merging_pad", cfx_decompose_patch_merging_pad},
    {SWIN "shifted_window_attention", cfx_decompose_shifted_window_attention},
    {"aten.silu.default", silu},
    {"aten.relu6.default", relu6},
    {"aten.hardsigmoid.default", hardsigmoid},
    {"aten.hardswish.default", hardswish},
    {"aten.softplus.default", softplus},
    {"aten.mish.default", mish},
    {"torch.nn.functional.softsign", softsign},
    {"torch.nn.functional.tanhshrink", tanhshrink},
    {"aten.log_sigmoid.default", log_sigmoid},
    {"aten.selu.default", selu},
    {"aten.celu.default", celu},
    {"aten.conv1d.default", conv},
    {"aten.conv2d.default", conv},
    {"aten.conv3d.default", conv},
    {"aten.conv_transpose1d.default", conv_transpose},
    {"aten.conv_transpose2d.input", conv_transpose},
    {"aten.conv_transpose3d.input", conv_transpose},
    {"aten.batch_norm.default", batch_norm},
    {"aten.layer_norm.default", layer_norm},
    {"aten.rms_norm.default", rms_norm},
    {"aten.softmax.int", softmax},
    {"aten.log_softmax.int", log_softmax},
    {"aten.dropout.default", dropout},
    {"aten.max_pool2d.default", max_pool2d},
    {"aten.max_pool3d.default", max_pool3d},
    {"aten.square.default", square},
    {"aten.rsub.Tensor", rsub},
    {"aten.addcmul.default", addcmul},
    {"aten.addcdiv.default", addcdiv},
    {"aten.stack.default", stack},
    {"aten.t.default", t},
    {"aten.transpose.int", transpose},
    {"aten.flatten.using_ints", flatten},
    {"aten.reshape.default", reshape},
    {"aten.linear.default", linear},
    {"aten.matmul.default", matmul},
    {"aten.baddbmm.default", baddbmm},
    {NULL, NULL},
};
