/*
 * quantized_product -- convolutions and linear layers of uint8 by int8; means over
 * windows of images in blocks are depthwise convolutions by ones.
 *
 * x = sx (qx - zx), w = sw qw for each output channel, and the result is divided
 * by the scale s that it is quantized with, or s = 1: sx sw / s (sum of qx qw - zx
 * times the sum of qw) + bias / s.
 */
#include <cfx/ops.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "interp/passes/lower/block_channels.h"
#include "interp/passes/lower/lower_quantized.h"

typedef struct product {
    cfx_lowering *l;
    const cfx_chain *c;
    cfx_node *n, *x; /* the product, its input of uint8 */
    bool conv, depthwise;
    int64_t groups;
    /* Groups that are computed as one, so that it has whole blocks of channels: its
     * weights are 0 between them. */
    int64_t merged;
    cfx_affine from; /* of x; zero point -1, scale 1: found when it runs */
    cfx_node *x_scale, *x_zero; /* which these nodes find; or NULL */
    cfx_value stride, padding, dilation;
    cfx_tensor *weight, *scale, *bias; /* scale: NULL if it is one for all */
    double one_scale;
    cfx_tensor *ones;  /* the weight of a mean, which it owns; or NULL */
    int64_t block;     /* channels of a block of x */
    cfx_node *made[4]; /* the get_attr nodes of what is packed */
} product;

/* Indices of product.made, the packed tensors. */
enum { WEIGHT, OFFSET, SCALE, BIAS };

/* The blocks of n channels. */
static int64_t blocks_of(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

/* Operators that multiply by a weight, and the names of their parameters. */
typedef struct form {
    const char *op, *input, *weight, *bias;
    bool columns; /* the weight is (in, out), else (out, in, ...) */
} form;

static const form forms[] = {
    {"conv2d", "input", "weight", "bias", false},
    {"linear", "input", "weight", "bias", false},
    {"addmm", "mat1", "mat2", "self", true},
    {"matmul", "self", "other", NULL, true},
    {"mm", "self", "mat2", NULL, true},
};

static const form *form_of(const cfx_node *n)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (cfx_node_is(n, forms[i].op))
            return &forms[i];
    return NULL;
}

static cfx_value arg(const product *a, const char *name)
{
    return name ? cfx_lower__arg(a->n, name) : CFX_NOTHING;
}

/* addmm: is the factor absent or 1? */
static bool is_one(cfx_value v)
{
    return !v.kind || ((v.kind == CFX_INT || v.kind == CFX_FLOAT) &&
                       cfx_value_number(v) == 1);
}

/* ---- What is multiplied ---- */

/* A number for both axes, or one for each; `init` if it is absent. */
static bool read_pair(cfx_value v, int64_t init, cfx_value *out)
{
    *out = v.kind ? v : cfx_int(init);
    return cfx_block__is_pair(*out);
}

static bool find_settings(product *a)
{
    cfx_value groups = arg(a, "groups");
    const cfx_tensor *x = cfx_node__known_tensor(a->x);
    a->groups = 1;
    if (!a->conv)
        return x->rank > 0;
    a->groups = groups.kind == CFX_INT ? groups.u.i : 1;
    return x->rank == 4 && a->groups > 0 &&
           (!groups.kind || groups.kind == CFX_INT) &&
           read_pair(arg(a, "stride"), 1, &a->stride) &&
           read_pair(arg(a, "padding"), 0, &a->padding) &&
           read_pair(arg(a, "dilation"), 1, &a->dilation);
}

static bool is_zero(cfx_value v)
{
    return v.kind == CFX_INT && v.u.i == 0;
}

/* Are the zero points absent, or all 0? */
static cfx_status check_zero_points(product *a, cfx_value v, bool *are_zero)
{
    cfx_tensor *t;
    *are_zero = !v.kind || v.kind == CFX_NONE;
    cfx_status st = *are_zero ? CFX_OK
                              : cfx_lower__constant(a->l, v, CFX_I64, &t);
    if (st || *are_zero || !t)
        return st;
    *are_zero = true;
    for (int64_t i = 0; i < cfx_tensor_numel(t); i++)
        *are_zero = *are_zero && ((const int64_t *)t->data)[i] == 0;
    return CFX_OK;
}

/* The weight and its scales as if it were (out, in). */
static cfx_status transpose(product *a)
{
    cfx_scope *s = &a->l->frozen.known.scope;
    cfx_value w = cfx_contiguous(s, cfx_t(s, cfx_value_of_tensor(a->weight)));
    if (!cfx_scope_failed(s))
        a->weight = w.u.tensor;
    return cfx_scope_status(s, a->l->p->err);
}

/* The axis of channels of a weight that is dequantized; -1: d is another call. */
static int64_t channel_axis(const cfx_node *d, bool *by_channel)
{
    cfx_value axis = cfx_lower__arg(d, "axis");
    *by_channel = cfx_node_is(d, "dequantize_per_channel");
    if (*by_channel)
        return axis.kind == CFX_INT && axis.u.i >= 0 ? axis.u.i : -1;
    return cfx_node_is(d, "dequantize_per_tensor") ? 0 : -1;
}

/* The weight of int8 and its scales; NULL: it is another. */
static cfx_status load_weight(product *a, const form *f)
{
    const cfx_node *d = cfx_value__node(arg(a, f->weight));
    bool by_channel, are_zero = false, columns = f->columns;
    cfx_tensor *weight = NULL;
    for (; d && cfx_pass__is_transpose(d); d = cfx_node__arg(d, 0))
        columns = !columns;
    int64_t axis = d ? channel_axis(d, &by_channel) : -1;
    if (axis < 0 || (columns && a->conv))
        return CFX_OK;
    cfx_status st = cfx_lower__constant(a->l, cfx_lower__arg(d, "input"),
                                        CFX_I8, &weight);
    if (st || !weight || weight->rank != (a->conv ? 4 : 2))
        return st;
    if (by_channel) {
        st = cfx_lower__constant(a->l, cfx_lower__arg(d, "scales"), CFX_F32,
                                 &a->scale);
        if (!st)
            st = check_zero_points(a, cfx_lower__arg(d, "zero_points"),
                                   &are_zero);
        are_zero = are_zero && a->scale && a->scale->rank == 1 &&
                   axis == columns &&
                   cfx_dim_same(a->scale->shape[0], weight->shape[axis]);
    } else {
        cfx_value scale = cfx_lower__arg(d, "scale");
        are_zero = scale.kind == CFX_FLOAT &&
                   is_zero(cfx_lower__arg(d, "zero_point"));
        a->one_scale = are_zero ? cfx_value_number(scale) : 0;
    }
    a->weight = are_zero ? weight : NULL;
    return st || !a->weight || !columns ? st : transpose(a);
}

static double scale_at(const product *a, int64_t i)
{
    return a->scale ? (double)((const float *)a->scale->data)[i]
                    : a->one_scale;
}

/* By how much the result is divided before it is rounded. */
static double unit(const product *a)
{
    return a->c->rounds ? a->c->to.scale : 1;
}

static float factor_at(const product *a, int64_t i)
{
    return (float)(a->from.scale * scale_at(a, i) / unit(a));
}

static float bias_at(const product *a, int64_t i)
{
    return (float)((double)((const float *)a->bias->data)[i] / unit(a));
}

/* Is the result finite whatever x is? Then no float is NaN. */
static bool are_finite(const product *a)
{
    for (int64_t i = 0; i < cfx_tensor_size(a->weight, 0); i++)
        if (!(fabsf(factor_at(a, i)) < FLT_MAX / 0x1p32F) ||
            (a->bias && !(fabsf(bias_at(a, i)) < FLT_MAX / 2)))
            return false;
    return true;
}

/* The channels or features of x that a filter reads. */
static int64_t inputs_of(const product *a)
{
    return cfx_tensor_size(a->weight, 1);
}

/* Those that are multiplied, also by zeros of merged groups. */
static int64_t width_of(const product *a)
{
    return inputs_of(a) * a->merged;
}

/* The output channels of a group. */
static int64_t filters_of(const product *a)
{
    return cfx_tensor_size(a->weight, 0) / a->groups;
}

/* Merge as few groups as possible: by more than MOST, products with zeros would take
 * longer than floats. 0: there is no such number. */
static int64_t merged_groups(const product *a)
{
    enum { MOST = 8 };
    for (int64_t n = 1; n <= MOST && n <= a->groups && a->groups > 1; n++)
        if (a->groups % n == 0 &&
            (n == a->groups || (inputs_of(a) * n % CFX_BLOCK == 0 &&
                                filters_of(a) * n % CFX_BLOCK == 0)))
            return n;
    return a->groups == 1;
}

static bool can_pack(product *a)
{
    const cfx_tensor *x = cfx_node__known_tensor(a->x), *w = a->weight;
    int64_t in = a->groups * inputs_of(a), out = cfx_tensor_size(w, 0);
    if (in <= 0 || out % a->groups || !are_finite(a) ||
        !cfx_dim_is(x->shape[a->conv ? 1 : x->rank - 1], in))
        return false;
    a->depthwise = a->groups > 1 && inputs_of(a) == 1 && a->groups == out;
    a->merged = a->depthwise ? 1 : merged_groups(a);
    int64_t products = a->depthwise
                           ? 1
                           : blocks_of(width_of(a), CFX_BLOCK) * CFX_BLOCK;
    for (int i = 2; i < w->rank && products <= CFX_QUANTIZED_DEPTH; i++)
        products *= cfx_tensor_size(w, i);
    return a->merged > 0 &&
           products <= (a->depthwise ? (int64_t)CFX_QUANTIZED_TAPS
                                     : (int64_t)CFX_QUANTIZED_DEPTH) &&
           (a->conv || in % CFX_QUAD == 0);
}

/* May a layer read the value of n, which has one of two types? */
static bool is_read(const product *a, const cfx_node *n, cfx_dtype dtype,
                    cfx_dtype other)
{
    const cfx_tensor *t = n ? cfx_node__known_tensor(n) : NULL;
    return t && (t->dtype == dtype || t->dtype == other) &&
           !cfx_lower__is_written(a->l, n);
}

/* The input of a linear layer, quantized by a scale and a zero point that nodes find: one
 * of each, or one for each row. */
static cfx_node *find_dynamic(product *a, const cfx_node *d)
{
    bool by_row = cfx_node_is(d, "dequantize_per_token");
    if (a->conv || a->c->n != a->n ||
        !(by_row || cfx_node_is(d, "dequantize_per_tensor")) ||
        !is_read(a, d, CFX_F32, CFX_F32))
        return NULL;
    cfx_node *q = cfx_value__node(cfx_lower__arg(d, "input"));
    a->x_scale = cfx_value__node(
        cfx_lower__arg(d, by_row ? "scales" : "scale"));
    a->x_zero = cfx_value__node(
        cfx_lower__arg(d, by_row ? "zero_points" : "zero_point"));
    a->from = (cfx_affine){.scale = 1, .zero_point = -1};
    return is_read(a, q, CFX_U8, CFX_I8) &&
                   is_read(a, a->x_scale, CFX_F32, CFX_F64) &&
                   is_read(a, a->x_zero, CFX_I64, CFX_I64)
               ? q
               : NULL;
}

static cfx_status find(product *a, bool *found)
{
    const form *f = form_of(a->n);
    if (!f)
        return CFX_OK;
    a->conv = cfx_node_is(a->n, "conv2d");
    cfx_value x = arg(a, f->input), bias = arg(a, f->bias);
    if (!is_one(arg(a, "alpha")) || !is_one(arg(a, "beta")))
        return CFX_OK;
    a->x = x.kind == CFX_NODE
               ? cfx_lower__dequantized(a->l, x.u.node, &a->from)
               : NULL;
    if (!a->x && x.kind == CFX_NODE)
        a->x = find_dynamic(a, x.u.node);
    if (!a->x || !find_settings(a))
        return CFX_OK;
    bool biased = bias.kind && bias.kind != CFX_NONE;
    cfx_status st = load_weight(a, f);
    if (!st && a->weight && biased)
        st = cfx_lower__constant(a->l, bias, CFX_F32, &a->bias);
    *found = !st && a->weight && (a->bias || !biased) &&
             (!a->bias ||
              (a->bias->rank == 1 &&
               cfx_dim_same(a->bias->shape[0], a->weight->shape[0]))) &&
             can_pack(a);
    return st;
}

/* ---- Means over windows ---- */

/* Numbers for both axes; `init` if v is absent. */
static bool read_ints(cfx_value v, const int64_t init[2], int64_t out[2])
{
    bool absent = !v.kind || v.kind == CFX_NONE ||
                  (cfx_value_is_seq(v) && !v.u.seq->len);
    if (!absent && !cfx_block__is_pair(v))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        out[i] = absent                ? init[i]
                 : cfx_value_is_seq(v) ? v.u.seq->item[i % v.u.seq->len].u.i
                                       : v.u.i;
    return true;
}

static bool is_false(cfx_value v)
{
    return !v.kind || (v.kind == CFX_BOOL_VALUE && !v.u.i);
}

/* avg_pool2d: each window has as many elements, with zeros in the padding. */
static bool read_window(product *a, int64_t kernel[2])
{
    static const int64_t none[2] = {0, 0};
    int64_t stride[2], padding[2];
    cfx_value all = arg(a, "count_include_pad");
    cfx_value divisor = arg(a, "divisor_override");
    if (!read_ints(arg(a, "kernel_size"), none, kernel) ||
        !read_ints(arg(a, "stride"), kernel, stride) ||
        !read_ints(arg(a, "padding"), none, padding) ||
        stride[0] != stride[1] || !is_false(arg(a, "ceil_mode")))
        return false;
    a->stride = cfx_int(stride[0]);
    a->padding = padding[0] == padding[1] ? cfx_int(padding[0])
                                          : arg(a, "padding");
    return (!divisor.kind || divisor.kind == CFX_NONE) &&
           (!all.kind || !is_false(all) || !(padding[0] || padding[1]));
}

/* adaptive_avg_pool2d, of equal windows side by side, to more than one pixel. */
static bool read_adaptive(product *a, int64_t kernel[2])
{
    static const int64_t none[2] = {0, 0};
    const cfx_tensor *x = cfx_node__known_tensor(a->x);
    int64_t out[2];
    if (!read_ints(arg(a, "output_size"), none, out) || out[0] <= 0 ||
        out[1] <= 0 || out[0] * out[1] == 1)
        return false;
    for (int i = 0; i < 2; i++) {
        int64_t in = cfx_dim_is_int(x->shape[2 + i])
                         ? cfx_dim_value(x->shape[2 + i])
                         : 0;
        kernel[i] = in / out[i];
        if (in <= 0 || in % out[i])
            return false;
    }
    a->stride = cfx_int(kernel[0]);
    a->padding = cfx_int(0);
    return kernel[0] == kernel[1];
}

static cfx_status find_mean(product *a, bool *found)
{
    bool adaptive = cfx_node_is(a->n, "adaptive_avg_pool2d");
    int64_t kernel[2];
    cfx_pass_call *p = a->l->p;
    if ((!adaptive && !cfx_node_is(a->n, "avg_pool2d")) || !a->n->nargs ||
        a->n->args[0].kind != CFX_NODE)
        return CFX_OK;
    a->x = cfx_lower__dequantized(a->l, a->n->args[0].u.node, &a->from);
    if (!a->x || !cfx_lower__form(a->x) ||
        !(adaptive ? read_adaptive(a, kernel) : read_window(a, kernel)) ||
        kernel[0] <= 0 || kernel[1] <= 0 || kernel[0] > CFX_QUANTIZED_TAPS ||
        kernel[1] > CFX_QUANTIZED_TAPS)
        return CFX_OK;
    a->conv = true;
    a->groups = cfx_lower__channels(a->x);
    a->dilation = cfx_int(1);
    a->one_scale = 1 / (double)(kernel[0] * kernel[1]);
    const int64_t shape[] = {a->groups, 1, kernel[0], kernel[1]};
    cfx_status st = cfx_tensor_new(&a->ones, p->ctx, CFX_I8, 4, shape, p->err);
    if (st)
        return st;
    memset(a->ones->data, 1, (size_t)cfx_tensor_numel(a->ones));
    a->weight = a->ones;
    *found = a->groups > 0 && can_pack(a) && (a->depthwise || a->groups == 1);
    return CFX_OK;
}

/* ---- What is packed ---- */

static int64_t taps_of(const product *a)
{
    int64_t taps = 1;
    for (int i = 2; i < a->weight->rank; i++)
        taps *= cfx_tensor_size(a->weight, i);
    return taps;
}

/* (C / 16, kernel..., 16) */
static void pack_filters(const product *a, int8_t *to)
{
    const int8_t *from = a->weight->data;
    int64_t taps = taps_of(a);
    for (int64_t c = 0; c < a->groups; c++)
        for (int64_t t = 0; t < taps; t++)
            to[(c / CFX_BLOCK * taps + t) * CFX_BLOCK + c % CFX_BLOCK] =
                *from++;
}

/* (O / 16, I / block, kernel..., block / 4, 16 out, 4 in), zeros in what fills up
 * the blocks. A matrix has a kernel of one and one block. */
static void pack_weight(const product *a, int8_t *to)
{
    const cfx_tensor *w = a->weight;
    const int8_t *from = w->data;
    int64_t out = cfx_tensor_size(w, 0), in = inputs_of(a), taps = taps_of(a);
    int64_t blocks = blocks_of(width_of(a), a->block);
    for (int64_t o = 0; o < out; o++) {
        int64_t first = o / filters_of(a) % a->merged * in;
        for (int64_t i = first; i < first + in; i++)
            for (int64_t t = 0; t < taps; t++) {
                int64_t at = (o / CFX_BLOCK * blocks + i / a->block) * taps +
                             t;
                at = at * (a->block / CFX_QUAD) + i % a->block / CFX_QUAD;
                at = (at * CFX_BLOCK + o % CFX_BLOCK) * CFX_QUAD;
                to[at + i % CFX_QUAD] = *from++;
            }
    }
}

/* -zx times the sum of the weights of each output channel. */
static void pack_offset(const product *a, int32_t *to)
{
    const int8_t *w = a->weight->data;
    int64_t out = cfx_tensor_size(a->weight, 0);
    int64_t each = out ? cfx_tensor_numel(a->weight) / out : 0;
    for (int64_t o = 0; o < out; o++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < each; i++)
            sum += *w++;
        to[o] = (int32_t)(-a->from.zero_point * sum);
    }
}

static void pack_floats(const product *a, float *to, int what)
{
    for (int64_t i = 0; i < cfx_tensor_size(a->weight, 0); i++)
        to[i] = what == SCALE ? factor_at(a, i) : bias_at(a, i);
}

static cfx_status zeros(const product *a, cfx_dtype dtype, int rank,
                        const int64_t *shape, cfx_tensor **out)
{
    cfx_pass_call *p = a->l->p;
    cfx_status st = cfx_tensor_new(out, p->ctx, dtype, rank, shape, p->err);
    if (!st)
        memset((*out)->data, 0,
               (size_t)cfx_tensor_numel(*out) * cfx_dtype_size(dtype));
    return st;
}

/* A tensor of zeros for what is packed. */
static cfx_status make(const product *a, int what, cfx_tensor **out)
{
    static const cfx_dtype types[] = {CFX_I8, CFX_I32, CFX_F32, CFX_F32};
    const cfx_tensor *w = a->weight;
    int64_t blocks = blocks_of(cfx_tensor_size(w, 0), CFX_BLOCK);
    int64_t numbers = blocks * CFX_BLOCK, shape[7];
    int rank = 0;
    if (what != WEIGHT)
        return zeros(a, types[what], 1, &numbers, out);
    shape[rank++] = blocks;
    if (a->conv && !a->depthwise)
        shape[rank++] = blocks_of(width_of(a), a->block);
    if (a->conv) {
        shape[rank++] = cfx_tensor_size(w, 2);
        shape[rank++] = cfx_tensor_size(w, 3);
    }
    if (!a->depthwise)
        shape[rank++] = a->block / CFX_QUAD;
    shape[rank++] = CFX_BLOCK;
    if (!a->depthwise)
        shape[rank++] = CFX_QUAD;
    return zeros(a, types[what], rank, shape, out);
}

static cfx_status put(product *a, int what)
{
    static const char *const prefix[] = {"_int8_", "_offset_", "_scale_",
                                         "_bias_"};
    cfx_pass_call *p = a->l->p;
    cfx_tensor *t;
    cfx_status st = make(a, what, &t);
    if (st)
        return st;
    if (what == WEIGHT && a->depthwise)
        pack_filters(a, t->data);
    else if (what == WEIGHT)
        pack_weight(a, t->data);
    else if (what == OFFSET)
        pack_offset(a, t->data);
    else
        pack_floats(a, t->data, what);
    a->made[what] = cfx_pass_add_tensor(
        p, what == OFFSET && a->x_scale ? "_sums_" : prefix[what], t);
    cfx_tensor_unref(t);
    return a->made[what] ? CFX_OK : p->err->code;
}

static cfx_status put_all(product *a)
{
    cfx_pass_call *p = a->l->p;
    cfx_status st = CFX_OK;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, a->c->n);
    for (int i = WEIGHT; i <= BIAS && !st; i++)
        if (i != BIAS || a->bias)
            st = put(a, i);
    cfx_graph_restore(p->graph, at);
    return st;
}

/* ---- The call ---- */

/* A bound of the result; None where the type has it anyway. */
static cfx_value bound(const product *a, double clamp, int64_t q, bool low)
{
    const cfx_affine *to = &a->c->to;
    if (!a->c->rounds)
        return isfinite(clamp) ? cfx_float(clamp) : cfx_none();
    double type = (double)((low ? 0 : 255) - to->zero_point);
    double b = (double)(q - to->zero_point), c = clamp / to->scale;
    b = low ? fmax(b, c) : fmin(b, c);
    return (low ? b > type : b < type) ? cfx_float(b) : cfx_none();
}

static cfx_value post_ops_of(cfx_scope *s, const product *a)
{
    const cfx_affine *to = &a->c->to;
    cfx_value min = bound(a, a->c->lo, to->least, true), item[2];
    cfx_value max = bound(a, a->c->hi, to->most, false);
    size_t n = 0;
    if (!cfx_value_is_none(min) || !cfx_value_is_none(max))
        item[n++] = cfx_tuple(s, cfx_str(s, "clamp"), min, max);
    if (a->c->rounds)
        item[n++] = cfx_tuple(s, cfx_str(s, "quantize"),
                              cfx_int(to->zero_point));
    return n ? cfx_list_of(s, CFX_LIST, n, item) : CFX_NOTHING;
}

/* The layer whose input has a scale that is found when it runs. */
static cfx_value build_dynamic(cfx_scope *s, const product *a,
                               const cfx_value made[4])
{
    return cfx_dynamic_quantized_linear(
        s, cfx_value_of_node(a->x), cfx_value_of_node(a->x_scale),
        cfx_value_of_node(a->x_zero), made[WEIGHT],
        cfx_int(cfx_tensor_size(a->weight, 0)), made[OFFSET], made[SCALE],
        .bias = made[BIAS]);
}

static cfx_value build(cfx_scope *s, const cfx_node *n, void *user)
{
    product *a = user;
    cfx_value made[4], out = cfx_int(cfx_tensor_size(a->weight, 0));
    cfx_value post_ops = post_ops_of(s, a);
    int64_t parts = a->depthwise ? 1 : a->groups / a->merged;
    cfx_value groups = parts > 1 ? cfx_int(parts) : CFX_NOTHING;
    (void)n;
    for (int i = WEIGHT; i <= BIAS; i++)
        made[i] = a->made[i] ? cfx_value_of_node(a->made[i]) : CFX_NOTHING;
    if (a->x_scale)
        return build_dynamic(s, a, made);
    cfx_value x = a->conv ? cfx_lower__blocked(a->l, s, a->x, a->block)
                          : cfx_value_of_node(a->x);
    cfx_value y = a->conv
                      ? cfx_quantized_conv2d(
                            s, x, made[WEIGHT], made[OFFSET], made[SCALE],
                            .bias = made[BIAS],
                            .stride = cfx_block__pair_of(s, a->stride),
                            .padding = cfx_block__pair_of(s, a->padding),
                            .dilation = cfx_block__pair_of(s, a->dilation),
                            .input_zero_point = cfx_int(a->from.zero_point),
                            .groups = groups, .post_ops = post_ops)
                      : cfx_quantized_linear(
                            s, x, made[WEIGHT], out, made[OFFSET], made[SCALE],
                            .bias = made[BIAS], .post_ops = post_ops);
    cfx_lower__name_origin(s, a->c, y);
    return a->conv ? cfx_from_blocked(s, y, out) : y;
}

static cfx_status lower(product *a, cfx_node **next)
{
    int64_t in = width_of(a);
    a->block = !a->conv ? in
               : in < CFX_BLOCK && !a->depthwise && !cfx_lower__form(a->x)
                   ? blocks_of(in, CFX_QUAD) * CFX_QUAD
                   : CFX_BLOCK;
    cfx_status st = put_all(a);
    return st ? st : cfx_lower__replace(a->l, a->c, build, a, next);
}

cfx_status cfx_lower__product(cfx_lowering *l, const cfx_chain *c,
                              cfx_node **next, bool *done)
{
    product a = {.l = l, .c = c, .n = c->from};
    *done = false;
    cfx_status st = find(&a, done);
    if (!st && !*done)
        st = find_mean(&a, done);
    if (!st && *done)
        st = lower(&a, next);
    cfx_tensor_unref(a.ones);
    return st;
}
