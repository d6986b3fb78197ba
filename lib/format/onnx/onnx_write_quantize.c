/*
 * onnx_write_quantize -- quantized_decomposed as QuantizeLinear, DequantizeLinear and
 * DynamicQuantizeLinear.
 *
 * ONNX Runtime computes with integers between them if the weight of a MatMul is a
 * constant (in, out), and the bias of a Gemm or Conv an int32 whose scale is that of the
 * input times that of the weight. Integers of 4 bits with a scale for each group need
 * operator set 21.
 */
#include <math.h>

#include "format/onnx/onnx_write.h"

/* ---- Scales and zero points ---- */

static const char *put_tensor(onnx_writer *w, cfx_value v)
{
    if (!w->st)
        w->st = cfx_scope_status(&w->keep, w->err);
    return w->st ? NULL : onnx_put_value(w, v);
}

/* A constant in another type; a value that is computed is cast. */
static const char *put_constant_as(onnx_writer *w, cfx_value v, cfx_dtype type)
{
    const cfx_tensor *t = onnx_put_known(w, v);

    if (!t || (cfx_dtype)t->dtype == type)
        return onnx_put_as(w, v, type);
    return put_tensor(
        w, cfx_to(&w->keep, cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t),
                  cfx_value_of_dtype(type)));
}

/* The first given argument of two names: by channel, or one. */
static cfx_value either(onnx_writer *w, const char *all, const char *one)
{
    cfx_value v = onnx_put_arg(w, all);
    cfx_value other = onnx_put_arg(w, one);

    return onnx_put_is_none(v) ? other : v;
}

/* The zero points of the call, or zeros in the shape of the scales. */
static const char *put_zero(onnx_writer *w, cfx_dtype type)
{
    cfx_value v = either(w, "zero_points", "zero_point");
    const cfx_tensor *t = onnx_put_known(w, onnx_put_arg(w, "scales"));

    if (!onnx_put_is_none(v))
        return put_constant_as(w, v, type);
    if (!t)
        return "";
    return put_tensor(
        w, cfx_zeros_like(&w->keep,
                          cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t),
                          .dtype = cfx_value_of_dtype(type)));
}

static const char *put_scale(onnx_writer *w)
{
    return put_constant_as(w, either(w, "scales", "scale"), CFX_F32);
}

/* ---- The range of each run ---- */

/* Parts of choose_qparams besides its results: what DynamicQuantizeLinear gives. */
enum { QUANTIZED = 2, SCALE, ZERO_POINT };

/* The call whose result number `part` v is; NULL: it is none. */
static const cfx_node *part_of(cfx_value v, int64_t part)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;

    return n && cfx_node_is(n, "getitem") && n->nargs == 2 &&
                   n->args[0].kind == CFX_NODE && n->args[1].kind == CFX_INT &&
                   n->args[1].u.i == part
               ? n->args[0].u.node
               : NULL;
}

/* The call that chooses both a scale and a zero point; NULL: it is another. */
static const cfx_node *chosen_by(cfx_value scale, cfx_value zero,
                                 const char *name)
{
    const cfx_node *n = part_of(scale, 0);

    return n && n == part_of(zero, 1) && cfx_node_is(n, name) ? n : NULL;
}

static const cfx_node *chosen_in_run(onnx_writer *w)
{
    return chosen_by(onnx_put_arg(w, "scale"), onnx_put_arg(w, "zero_point"),
                     "choose_qparams");
}

void onnx_write_choose_qparams(onnx_writer *w)
{
    const char *x = onnx_put_as(w, onnx_put_arg(w, "input"), CFX_F32);
    cfx_value type = onnx_put_arg(w, "dtype");
    const char *part[2];

    /* ONNX has no least scale; only ranges that are almost 0 are smaller. */
    onnx_put_unused(w, "eps");
    if (onnx_put_int(w, "quant_min", 0) != 0 ||
        onnx_put_int(w, "quant_max", 255) != 255 || type.u.dtype != CFX_U8) {
        onnx_put_fail(w, "only uint8 from 0 to 255 is chosen in a run");
        return;
    }
    Onnx__NodeProto *n = ONNX_NODE(w, "DynamicQuantizeLinear", NULL, x);
    part[0] = onnx_put_more(w, n);
    part[1] = onnx_put_more(w, n);
    onnx_put_part(w, QUANTIZED, onnx_put_out(n));
    onnx_put_part(w, SCALE, part[0]);
    onnx_put_part(w, ZERO_POINT, part[1]);
    for (uint32_t i = 0; i < 2; i++) {
        const char *v = onnx_put_cast(w, onnx_put_row(w, part[i]), NULL,
                                      i ? CFX_I64 : CFX_F64);
        onnx_put_part(w, i, v);
    }
}

/* ---- Quantizing ---- */

/* The bounds of an activation that clamps. */
static bool read_bounds(const cfx_node *n, double *low, double *high)
{
    bool given = n->nargs == 3 &&
                 (n->args[1].kind == CFX_FLOAT ||
                  n->args[1].kind == CFX_INT) &&
                 (n->args[2].kind == CFX_FLOAT || n->args[2].kind == CFX_INT);

    *low = given ? cfx_value_number(n->args[1]) : 0;
    *high = given                     ? cfx_value_number(n->args[2])
            : cfx_node_is(n, "relu6") ? 6
                                      : INFINITY;
    return n->nkwargs == 0 &&
           (cfx_node_is(n, "relu") || cfx_node_is(n, "relu6") ||
            (given &&
             (cfx_node_is(n, "clamp") || cfx_node_is(n, "hardtanh"))));
}

/* Have two calls the same scale, zero point and range, as numbers? */
static bool have_same_qparams(const cfx_node *a, const cfx_node *b)
{
    bool same = a->nargs > 4 && b->nargs > 4 && a->args[1].kind == CFX_FLOAT &&
                a->args[2].kind == CFX_INT;

    for (uint32_t i = 1; i < 6 && same; i++)
        same = i < a->nargs && i < b->nargs &&
               cfx_value_equal(a->args[i], b->args[i]);
    return same;
}

/* Does x read integers that are dequantized with the parameters of n? */
static bool reads_same(const cfx_node *x, const cfx_node *n)
{
    const cfx_node *d = x->nargs && x->args[0].kind == CFX_NODE
                            ? x->args[0].u.node
                            : NULL;

    return d && cfx_node_is(d, "dequantize_per_tensor") &&
           have_same_qparams(d, n) && d->args[0].kind == CFX_NODE;
}

static int64_t quantized_bound(const cfx_node *n, double v)
{
    float scaled = rintf((float)v * (float)(1 / n->args[1].u.f));
    double q = (double)scaled + (double)n->args[2].u.i;
    double least = cfx_value_number(n->args[3]);
    double most = cfx_value_number(n->args[4]);

    return (int64_t)(q < least ? least : q > most ? most : q);
}

/* Integers that are clamped as floats, with the same parameters before and after, are
 * clamped as integers: ONNX Runtime then fuses the layer before. */
static bool put_clamped(onnx_writer *w, cfx_value x, cfx_dtype type)
{
    const cfx_node *n = w->node, *clamp = x.kind == CFX_NODE ? x.u.node : NULL;
    bool same = clamp && reads_same(clamp, n);
    double low, high;

    if (!same || !read_bounds(clamp, &low, &high) || isnan(low) ||
        isnan(high) || !isfinite(n->args[1].u.f) || !(n->args[1].u.f > 0))
        return false;
    ONNX_RESULT(w, "Clip", onnx_put_value(w, clamp->args[0].u.node->args[0]),
                onnx_put_constant(w, cfx_int(quantized_bound(n, low)), type),
                onnx_put_constant(w, cfx_int(quantized_bound(n, high)), type));
    return true;
}

void onnx_write_quantize(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);
    int64_t least = onnx_put_int(w, "quant_min", 0);
    int64_t most = onnx_put_int(w, "quant_max", 0);
    bool narrow = least > cfx_dtype_least(type) || most < cfx_dtype_most(type);
    bool by_channel = !onnx_put_is_none(onnx_put_arg(w, "axis"));
    cfx_value x = onnx_put_arg(w, "input");
    const cfx_node *c = chosen_in_run(w);

    if (!onnx_is_byte(type)) {
        onnx_put_fail(w, "it quantizes to %s", cfx_dtypes[type].name);
        return;
    }
    onnx_put_unused(w, "zero_point");
    if (c && c->nargs && cfx_value_equal(c->args[0], x) && !narrow &&
        type == CFX_U8) {
        onnx_put_alias(w, onnx_put_part_of(w, c, QUANTIZED));
        return;
    }
    if (put_clamped(w, x, type)) {
        onnx_put_settled(w);
        return;
    }
    Onnx__NodeProto *n = ONNX_NODE(
        w, "QuantizeLinear", narrow ? NULL : onnx_put_name(w),
        onnx_put_as(w, x, CFX_F32), put_scale(w), put_zero(w, type));
    if (by_channel)
        onnx_put_attr_int(w, n, "axis", onnx_put_int(w, "axis", 0));
    if (narrow)
        ONNX_RESULT(w, "Clip", onnx_put_out(n),
                    onnx_put_constant(w, cfx_int(least), type),
                    onnx_put_constant(w, cfx_int(most), type));
}

void onnx_write_dequantize(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "input");
    cfx_dtype type = onnx_put_result_type(w);
    bool by_channel = !onnx_put_is_none(onnx_put_arg(w, "axis"));
    const cfx_node *c = chosen_in_run(w);

    onnx_put_unused(w, "quant_min");
    onnx_put_unused(w, "quant_max");
    onnx_put_unused(w, "zero_point");
    if (!x)
        return;
    if (!onnx_is_byte((cfx_dtype)x->dtype) && x->dtype != CFX_I32) {
        onnx_put_fail(w, "it dequantizes %s", cfx_dtypes[x->dtype].name);
        return;
    }
    const char *scale = c ? onnx_put_part_of(w, c, SCALE) : put_scale(w);
    const char *zero = c ? onnx_put_part_of(w, c, ZERO_POINT)
                         : put_zero(w, (cfx_dtype)x->dtype);
    Onnx__NodeProto *n = ONNX_NODE(w, "DequantizeLinear",
                                   type == CFX_F32 ? onnx_put_name(w) : NULL,
                                   onnx_put_input(w, "input"), scale, zero);
    if (by_channel)
        onnx_put_attr_int(w, n, "axis", onnx_put_int(w, "axis", 0));
    if (type != CFX_F32)
        onnx_put_cast(w, onnx_put_out(n), onnx_put_name(w), type);
}

/* ---- By the range of each row ---- */

static const char *put_number(onnx_writer *w, double v)
{
    return onnx_put_scalar(w, v, CFX_F32);
}

/* The zero point is exact at that end of the range where rounding the scale made the
 * smaller error. */
static const char *put_row_zero(onnx_writer *w, const char *low,
                                const char *high, const char *scale)
{
    const char *least = put_number(w, -128), *most = put_number(w, 127);

    low = ONNX_PUT(w, "Div", NULL, low, scale);
    high = ONNX_PUT(w, "Div", NULL, high, scale);
    const char *error = ONNX_PUT(w, "Add", NULL,
                                 ONNX_PUT(w, "Add", NULL, low, least),
                                 ONNX_PUT(w, "Add", NULL, high, most));
    const char *v = ONNX_PUT(
        w, "Where", NULL,
        ONNX_PUT(w, "Greater", NULL, error, put_number(w, 0)),
        ONNX_PUT(w, "Sub", NULL, least, low),
        ONNX_PUT(w, "Sub", NULL, most, high));
    v = ONNX_PUT(w, "Clip", NULL, v, least, most);
    return ONNX_PUT(w, "Round", NULL, v);
}

void onnx_write_choose_rows(onnx_writer *w)
{
    const char *x = onnx_put_as(w, onnx_put_arg(w, "input"), CFX_F32);
    const char *axis = onnx_put_one(w, -1), *none = put_number(w, 0);
    const char *low = ONNX_PUT(w, "ReduceMin", NULL, x, axis);
    const char *high = ONNX_PUT(w, "ReduceMax", NULL, x, axis);

    low = ONNX_PUT(w, "Min", NULL, low, none);
    high = ONNX_PUT(w, "Max", NULL, high, none);
    const char *scale = ONNX_PUT(w, "Div", NULL,
                                 ONNX_PUT(w, "Sub", NULL, high, low),
                                 put_number(w, 255));
    scale = ONNX_PUT(w, "Max", NULL, scale, put_number(w, 0x1p-23));
    const char *zero = put_row_zero(w, low, high, scale);
    onnx_put_part(w, SCALE, scale);
    onnx_put_part(w, ZERO_POINT, zero);
    onnx_put_part(w, 0, onnx_put_cast(w, scale, NULL, CFX_F64));
    onnx_put_part(w, 1, onnx_put_cast(w, zero, NULL, CFX_I64));
}

/* Scale and zero point of each row, as floats. */
static void put_row_qparams(onnx_writer *w, const char **scale,
                            const char **zero)
{
    cfx_value s = onnx_put_arg(w, "scales"),
              z = onnx_put_arg(w, "zero_points");
    const cfx_node *c = chosen_by(s, z, "choose_qparams_per_token_asymmetric");

    *scale = c ? onnx_put_part_of(w, c, SCALE) : onnx_put_as(w, s, CFX_F32);
    *zero = c ? onnx_put_part_of(w, c, ZERO_POINT)
              : onnx_put_as(w, z, CFX_F32);
}

void onnx_write_quantize_rows(onnx_writer *w)
{
    const char *x = onnx_put_as(w, onnx_put_arg(w, "input"), CFX_F32);
    int64_t least = onnx_put_int(w, "quant_min", 0);
    int64_t most = onnx_put_int(w, "quant_max", 0);
    const char *scale, *zero;

    put_row_qparams(w, &scale, &zero);
    x = ONNX_PUT(w, "Mul", NULL, x, ONNX_PUT(w, "Reciprocal", NULL, scale));
    x = ONNX_PUT(w, "Round", NULL, ONNX_PUT(w, "Add", NULL, x, zero));
    x = ONNX_PUT(w, "Clip", NULL, x, put_number(w, (double)least),
                 put_number(w, (double)most));
    onnx_put_cast(w, x, onnx_put_name(w), onnx_put_result_type(w));
}

void onnx_write_dequantize_rows(onnx_writer *w)
{
    const char *x = onnx_put_as(w, onnx_put_arg(w, "input"), CFX_F32);
    cfx_dtype type = onnx_put_result_type(w);
    const char *scale, *zero;

    onnx_put_unused(w, "quant_min");
    onnx_put_unused(w, "quant_max");
    put_row_qparams(w, &scale, &zero);
    x = ONNX_PUT(w, "Sub", NULL, x, zero);
    x = ONNX_PUT(w, "Mul", type == CFX_F32 ? onnx_put_name(w) : NULL, x,
                 scale);
    if (type != CFX_F32)
        onnx_put_cast(w, x, onnx_put_name(w), type);
}

/* ---- Weights ---- */

/* A constant that is dequantized: by one scale, one for each item of an axis, or for
 * each group of a row. */
typedef struct weight {
    const cfx_tensor *q, *scale; /* scale: NULL if it is one */
    const cfx_tensor *zero;      /* NULL: zeros, or one */
    double one_scale;
    int64_t one_zero, axis, group;
    bool half; /* the integers have 4 bits */
} weight;

/* Are all elements integers in least..most? */
static bool are_within(const cfx_tensor *t, int64_t least, int64_t most)
{
    cfx_dtype type = (cfx_dtype)t->dtype;
    bool within = cfx_dtypes[type].category == CFX_CAT_INT;

    for (int64_t i = 0; within && i < cfx_tensor_numel(t); i++) {
        int64_t v = cfx_element_int(
            type, (const char *)t->data + (size_t)i * cfx_dtype_size(type));
        within = v >= least && v <= most;
    }
    return within;
}

/* The zero points that an argument holds; NULL if all are 0. False: they are not known, or
 * not in the range of the integers. */
static bool read_zeros(onnx_writer *w, cfx_value v, weight *out)
{
    const cfx_tensor *t = onnx_put_known(w, v);
    cfx_dtype type = (cfx_dtype)out->q->dtype;

    if (!t)
        return onnx_put_is_none(v);
    out->zero = are_within(t, 0, 0) ? NULL : t;
    return are_within(t, cfx_dtype_least(type), cfx_dtype_most(type));
}

static bool is_float32(const cfx_tensor *t)
{
    return t && t->dtype == CFX_F32;
}

static bool read_group(onnx_writer *w, const cfx_node *n, weight *out)
{
    if (n->nargs < 7 || n->args[3].kind != CFX_INT ||
        n->args[4].kind != CFX_INT || n->args[6].kind != CFX_INT)
        return false;
    out->scale = onnx_put_known(w, n->args[1]);
    out->group = n->args[6].u.i;
    out->axis = 1;
    if (!is_float32(out->scale) || out->scale->rank != 2 || out->group <= 0 ||
        cfx_tensor_size(out->q, 1) % out->group ||
        cfx_tensor_size(out->scale, 1) !=
            cfx_tensor_size(out->q, 1) / out->group ||
        !read_zeros(w, n->args[2], out))
        return false;
    out->half = n->args[3].u.i >= -8 && n->args[4].u.i <= 7 &&
                are_within(out->q, -8, 7) &&
                (!out->zero || are_within(out->zero, -8, 7));
    return true;
}

static bool read_channels(onnx_writer *w, const cfx_node *n, weight *out)
{
    if (n->nargs < 4 || n->args[3].kind != CFX_INT)
        return false;
    out->scale = onnx_put_known(w, n->args[1]);
    out->axis = n->args[3].u.i;
    return is_float32(out->scale) && out->scale->rank == 1 && out->axis >= 0 &&
           out->axis < out->q->rank && read_zeros(w, n->args[2], out);
}

/* By the order in which passes and readers write the arguments. */
static bool read_weight(onnx_writer *w, cfx_value v, weight *out)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    const cfx_tensor *y = onnx_put_meta(w, v);

    *out = (weight){.axis = -1};
    if (!n || !y || y->dtype != CFX_F32 || n->nargs < 3 || n->nkwargs)
        return false;
    out->q = onnx_put_known(w, n->args[0]);
    if (!out->q || !onnx_is_byte((cfx_dtype)out->q->dtype))
        return false;
    if (cfx_node_is(n, "dequantize_per_channel"))
        return read_channels(w, n, out);
    if (cfx_node_is(n, "dequantize_per_channel_group"))
        return out->q->rank == 2 && read_group(w, n, out);
    out->one_scale = cfx_value_number(n->args[1]);
    out->one_zero = n->args[2].u.i;
    return cfx_node_is(n, "dequantize_per_tensor") &&
           n->args[1].kind == CFX_FLOAT && n->args[2].kind == CFX_INT;
}

static cfx_value kept(onnx_writer *w, const cfx_tensor *t, bool transposed,
                      cfx_dtype type)
{
    cfx_value v = cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t);

    if (transposed && t->rank == 2)
        v = cfx_t(&w->keep, v);
    return cfx_contiguous(&w->keep,
                          cfx_to(&w->keep, v, cfx_value_of_dtype(type)));
}

/* ONNX's code of int4. */
enum { INT4 = 22 };

/* A constant of int4, two in a byte, the first in the lower half. */
static const char *put_int4(onnx_writer *w, cfx_value v)
{
    const cfx_tensor *t = v.u.tensor;
    int64_t count = cfx_tensor_numel(t), half = (count + 1) / 2;
    const int8_t *from = t->data;
    cfx_tensor *to;

    if (!w->st)
        w->st = cfx_tensor_new(&to, w->ctx, CFX_U8, 1, &half, w->err);
    if (w->st)
        return NULL;
    cfx_value packed = cfx_scope_take(&w->keep, cfx_value_of_tensor(to));
    for (int64_t i = 0; i < count; i++) {
        uint8_t *at = (uint8_t *)to->data + i / 2;
        *at = i % 2 ? (uint8_t)(*at | (unsigned)(from[i] & 15) << 4)
                    : from[i] & 15;
    }
    const char *name = put_tensor(w, packed);
    Onnx__TensorProto *p =
        name ? w->graph.initializer[w->graph.n_initializer - 1] : NULL;
    if (!p)
        return NULL;
    p->data_type = INT4;
    p->n_dims = (size_t)t->rank;
    p->dims = onnx_put_alloc(w, p->n_dims + 1, sizeof(*p->dims));
    for (int i = 0; i < t->rank && p->dims; i++)
        p->dims[i] = cfx_tensor_size(t, i);
    return name;
}

/* DequantizeLinear of the weight, or of its transpose. */
static const char *put_weight(onnx_writer *w, const char *out, const weight *k,
                              bool transposed)
{
    cfx_dtype type = (cfx_dtype)k->q->dtype;
    cfx_value q = kept(w, k->q, transposed, type), zero = {0};
    const char *scale, *x, *z;

    if (k->scale && k->zero)
        zero = kept(w, k->zero, transposed, type);
    else if (k->scale)
        zero = cfx_zeros_like(&w->keep, kept(w, k->scale, transposed, CFX_F32),
                              .dtype = cfx_value_of_dtype(type));
    if (cfx_scope_failed(&w->keep))
        return put_tensor(w, q);
    x = k->half ? put_int4(w, q) : put_tensor(w, q);
    scale = k->scale ? put_tensor(w, kept(w, k->scale, transposed, CFX_F32))
                     : onnx_put_scalar(w, k->one_scale, CFX_F32);
    z = k->half    ? put_int4(w, zero)
        : k->scale ? put_tensor(w, zero)
                   : onnx_put_constant(w, cfx_int(k->one_zero), type);
    Onnx__NodeProto *n = ONNX_NODE(w, "DequantizeLinear", out, x, scale, z);
    if (k->scale)
        onnx_put_attr_int(w, n, "axis", transposed ? 1 - k->axis : k->axis);
    if (k->group)
        onnx_put_attr_int(w, n, "block_size", k->group);
    return onnx_put_out(n);
}

void onnx_write_dequantize_group(onnx_writer *w)
{
    weight k;

    onnx_put_settled(w);
    if (!read_weight(w, cfx_value_of_node((cfx_node *)(uintptr_t)w->node), &k))
        onnx_put_fail(w, "its integers are not constants in whole groups");
    else
        put_weight(w, onnx_put_name(w), &k, false);
}

const char *onnx_put_transposed(onnx_writer *w, const char *out, cfx_value v)
{
    weight k;

    if (w->st || v.kind != CFX_NODE || v.u.node->nusers != 1 ||
        !read_weight(w, v, &k) || k.q->rank != 2)
        return NULL;
    return put_weight(w, out, &k, true);
}

bool onnx_put_is_weight(onnx_writer *w, cfx_value v)
{
    weight k;

    return read_weight(w, v, &k);
}

/* ONNX Runtime has MatMulInteger, its cast, the scales and the bias as one operator. */
const char *onnx_put_integer_product(onnx_writer *w, const char *out,
                                     cfx_value x, cfx_value by, bool columns)
{
    const cfx_node *d = x.kind == CFX_NODE ? x.u.node : NULL;
    const cfx_node *c = d && cfx_node_is(d, "dequantize_per_tensor") &&
                                d->nargs > 2
                            ? chosen_by(d->args[1], d->args[2],
                                        "choose_qparams")
                            : NULL;
    weight k;

    if (w->st || !c || !read_weight(w, by, &k) || k.q->rank != 2 || k.group ||
        k.zero || k.one_zero || (k.axis >= 0 && k.axis != columns))
        return NULL;
    const char *q = put_tensor(w,
                               kept(w, k.q, !columns, (cfx_dtype)k.q->dtype));
    const char *y = ONNX_PUT(w, "MatMulInteger", NULL,
                             onnx_put_value(w, d->args[0]), q,
                             onnx_put_part_of(w, c, ZERO_POINT));
    const char *scale = k.scale
                            ? put_tensor(w, kept(w, k.scale, false, CFX_F32))
                            : onnx_put_scalar(w, k.one_scale, CFX_F32);
    scale = ONNX_PUT(w, "Mul", NULL, onnx_put_part_of(w, c, SCALE), scale);
    return ONNX_PUT(w, "Mul", out, onnx_put_cast(w, y, NULL, CFX_F32), scale);
}

/* ---- Biases ---- */

/* The scale of a value that is quantized by one; 0: it is not. */
static double activation_scale(cfx_value v)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;

    return n && cfx_node_is(n, "dequantize_per_tensor") && n->nargs > 2 &&
                   n->args[1].kind == CFX_FLOAT
               ? n->args[1].u.f
               : 0;
}

bool onnx_put_is_quantized(cfx_value v)
{
    return activation_scale(v) > 0;
}

bool onnx_put_is_quantized_next(const cfx_node *n)
{
    const cfx_node *q = n->nusers == 1 ? n->first_user->user : NULL;

    return q && cfx_node_is(q, "quantize_per_tensor") && q->nargs > 2 &&
           q->args[1].kind == CFX_FLOAT;
}

const char *onnx_put_bias(onnx_writer *w, cfx_value x, cfx_value by,
                          cfx_value bias)
{
    const cfx_tensor *b = onnx_put_known(w, bias);
    double scale = activation_scale(x);
    cfx_tensor *q;
    weight k;

    if (onnx_put_is_none(bias))
        return "";
    if (!b || b->dtype != CFX_F32 || b->rank != 1 || !(scale > 0) ||
        !read_weight(w, by, &k) || k.group || k.zero || k.one_zero ||
        k.axis > 0 || !cfx_tensor_numel(b) ||
        (k.scale && cfx_tensor_numel(k.scale) != cfx_tensor_numel(b)))
        return onnx_put_value(w, bias);
    int64_t n = cfx_tensor_numel(b);
    float *scales = onnx_put_alloc(w, (size_t)n, sizeof(*scales));
    if (!w->st)
        w->st = cfx_tensor_new(&q, w->ctx, CFX_I32, 1, &n, w->err);
    if (w->st)
        return NULL;
    cfx_value integers = cfx_scope_take(&w->keep, cfx_value_of_tensor(q));
    for (int64_t i = 0; i < n; i++) {
        scales[i] = (float)(scale *
                            (k.scale
                                 ? (double)((const float *)k.scale->data)[i]
                                 : k.one_scale));
        double v = rint((double)((const float *)b->data)[i] /
                        (double)scales[i]);
        if (!(fabs(v) <= INT32_MAX))
            return onnx_put_value(w, bias);
        ((int32_t *)q->data)[i] = (int32_t)v;
    }
    Onnx__NodeProto *node = ONNX_NODE(
        w, "DequantizeLinear", NULL, put_tensor(w, integers),
        k.scale ? onnx_put_floats(w, (size_t)n, scales)
                : onnx_put_scalar(w, (double)scales[0], CFX_F32),
        k.scale ? onnx_put_filled(w, n, 0, CFX_I32)
                : onnx_put_constant(w, cfx_int(0), CFX_I32));
    if (k.scale)
        onnx_put_attr_int(w, node, "axis", 0);
    return onnx_put_out(node);
}
