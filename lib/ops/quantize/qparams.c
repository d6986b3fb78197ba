/*
 * qparams -- scale and zero point for the numbers of a tensor, or of each row,
 * as quantized_decomposed of PyTorch chooses them.
 *
 * shape   one scale and one zero point; of rows, the input's with a last extent
 *         of 1.
 * cost    that of the operators they consist of: the least and the greatest
 *         element.
 */
#include "op/infer.h"
#include "ops/quantize/quantize_ops.h"

CFX_PARAMS(params, INPUT, QUANT_MIN, QUANT_MAX, EPS, DTYPE);

#define IN(k) cfx_call_value(call, k)

static cfx_value zero_like(cfx_scope *s, cfx_value x)
{
    return CFX_CALL(s, "torch.zeros_like", x);
}

/* min(x, 0) and max(x, 0): the range must hold 0. */
static cfx_value at_most_0(cfx_scope *s, cfx_value x)
{
    return CFX_CALL(s, "torch.minimum", x, zero_like(s, x));
}

static cfx_value at_least_0(cfx_scope *s, cfx_value x)
{
    return CFX_CALL(s, "torch.maximum", x, zero_like(s, x));
}

/* ---- Per tensor ---- */

static bool check(cfx_scope *s, const cfx_call *call)
{
    int64_t least = cfx_call_int(call, QUANT_MIN);
    int64_t most = cfx_call_int(call, QUANT_MAX);
    cfx_dtype x = (cfx_dtype)cfx_call_tensor(call, INPUT)->dtype;
    if (x != CFX_F32 && x != CFX_F16 && x != CFX_BF16)
        cfx_scope_fail(
            s, CFX_EDTYPE,
            "Expecting input to have dtype torch.float32/16/b16, but got dtype: torch.%s",
            cfx_dtypes[x].name);
    else if (least > 0 || most < 0)
        cfx_scope_fail(s, CFX_EINVAL, "the quantization range must include 0");
    else if (least >= most)
        cfx_scope_fail(s, CFX_EINVAL, "quant_min must be below quant_max");
    return !cfx_scope_failed(s) &&
           cfx_quantize_check_range(s, cfx_call_dtype(call, DTYPE, CFX_U8), 0,
                                    0);
}

/* The range of the input around 0, and its scale is to be at least this. */
struct range {
    cfx_value least, most, eps;
    double steps; /* quant_max - quant_min */
};

static struct range range_of(cfx_scope *s, const cfx_call *call)
{
    cfx_value ends = CFX_CALL(s, "torch.aminmax", IN(INPUT));
    cfx_value shape = cfx_list(s, cfx_int(1));
    return (struct range){
        at_most_0(s, cfx_nth(s, ends, 0)),
        at_least_0(s, cfx_nth(s, ends, 1)),
        CFX_CALL(s, "torch.full", shape, IN(EPS)),
        (double)cfx_call_int(call, QUANT_MAX) -
            (double)cfx_call_int(call, QUANT_MIN),
    };
}

static cfx_value parameters(cfx_scope *s, cfx_value scale, cfx_value zero)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    return cfx_tuple(s, cfx_quantize_as(s, scale, CFX_F64),
                     cfx_quantize_as(s, zero, CFX_I64));
}

static cfx_value choose_qparams_build(cfx_scope *s, const cfx_call *call)
{
    if (!check(s, call))
        return cfx_none();
    struct range r = range_of(s, call);
    cfx_value scale = CFX_CALL(s, "torch.div",
                               CFX_CALL(s, "torch.sub", r.most, r.least),
                               cfx_float(r.steps));
    scale = CFX_CALL(s, "torch.maximum", scale, r.eps);
    cfx_value zero = CFX_CALL(s, "torch.div", r.least, scale);
    zero = CFX_CALL(s, "torch.round", zero);
    if (cfx_scope_failed(s))
        return cfx_none();
    zero = CFX_CALL(s, "torch.rsub", cfx_quantize_as(s, zero, CFX_I32),
                    IN(QUANT_MIN));
    zero = CFX_CALL(s, "torch.clamp", zero, IN(QUANT_MIN), IN(QUANT_MAX));
    return parameters(s, scale, zero);
}

static cfx_value choose_qparams_symmetric_build(cfx_scope *s,
                                                const cfx_call *call)
{
    if (!check(s, call))
        return cfx_none();
    struct range r = range_of(s, call);
    bool from_0 = cfx_call_dtype(call, DTYPE, CFX_U8) == CFX_U8;
    cfx_value most = CFX_CALL(s, "torch.maximum",
                              CFX_CALL(s, "torch.neg", r.least), r.most);
    cfx_value scale = CFX_CALL(s, "torch.div", most, cfx_float(r.steps / 2));
    scale = CFX_CALL(s, "torch.maximum", scale, r.eps);
    cfx_value shape = cfx_list(s, cfx_int(1));
    return parameters(
        s, scale, CFX_CALL(s, "torch.full", shape, cfx_int(from_0 ? 128 : 0)));
}

/* ---- Per token ---- */

static cfx_value extreme(cfx_scope *s, const char *name, cfx_value x)
{
    return CFX_CALL(s, name, x, cfx_int(-1), cfx_bool(true));
}

static cfx_value choose_qparams_per_token_build(cfx_scope *s,
                                                const cfx_call *call)
{
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_U8);
    cfx_value scale = extreme(s, "torch.amax",
                              CFX_CALL(s, "torch.abs", IN(INPUT)));
    if (type != CFX_I8)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "unsupported dtype in choose_qparams_per_token: torch.%s",
            cfx_dtypes[type].name);
    if (cfx_scope_failed(s))
        return cfx_none();
    if (scale.u.tensor->dtype == CFX_F16)
        scale = cfx_quantize_as(s, scale, CFX_F32);
    scale = CFX_CALL(s, "torch.clamp", scale, cfx_float(1e-5));
    scale = CFX_CALL(s, "torch.div", scale, cfx_int(127));
    return cfx_tuple(s, scale, zero_like(s, scale));
}

/* The zero point is exact at that end of the range where rounding the scale
 * made the smaller error. */
static cfx_value choose_qparams_per_token_asymmetric_build(
    cfx_scope *s, const cfx_call *call)
{
    const cfx_value low = cfx_int(-128), high = cfx_int(127);
    cfx_value least = at_most_0(s, extreme(s, "torch.amin", IN(INPUT)));
    cfx_value most = at_least_0(s, extreme(s, "torch.amax", IN(INPUT)));
    cfx_value scale = CFX_CALL(
        s, "torch.div", CFX_CALL(s, "torch.sub", most, least), cfx_float(255));
    scale = CFX_CALL(s, "torch.clamp", scale, cfx_float(0x1p-23));
    least = CFX_CALL(s, "torch.div", least, scale);
    most = CFX_CALL(s, "torch.div", most, scale);
    cfx_value error = CFX_CALL(s, "torch.add",
                               CFX_CALL(s, "torch.add", least, low),
                               CFX_CALL(s, "torch.add", most, high));
    cfx_value zero = CFX_CALL(s, "torch.where",
                              CFX_CALL(s, "torch.gt", error, cfx_int(0)),
                              CFX_CALL(s, "torch.rsub", least, low),
                              CFX_CALL(s, "torch.rsub", most, high));
    zero = CFX_CALL(s, "torch.clamp", zero, low, high);
    return parameters(s, scale, CFX_CALL(s, "torch.round", zero));
}

/* ---- Descriptors ---- */

#define CHOOSE(name, overload, schema_, doc_)                                 \
    CFX_COMPOSITE(name)                                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name schema_ " -> (Tensor, Tensor)",                       \
        .params = params,                                                     \
        .aliases = "quantized_decomposed." #name "." overload,                \
        .doc = doc_,                                                          \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };

#define BY_RANGE                                                              \
    ".tensor(Tensor input, int quant_min, int quant_max, float eps, "         \
    "ScalarType dtype)"
#define BY_TYPE "(Tensor input, ScalarType dtype)"

CHOOSE(choose_qparams, "tensor", BY_RANGE,
       "A scale and zero point for the range of a tensor.")
CHOOSE(choose_qparams_symmetric, "tensor", BY_RANGE,
       "A scale for the range of a tensor, with 0 in its middle.")
CHOOSE(choose_qparams_per_token, "default", BY_TYPE,
       "A scale for each row, with 0 in the middle of its range.")
CHOOSE(choose_qparams_per_token_asymmetric, "default", BY_TYPE,
       "A scale and zero point for the range of each row.")
