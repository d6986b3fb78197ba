/*
 * blocked_dynamic -- linear layers of integers whose scale and zero point are found
 * when they run, by packed weights of int8.
 *
 * y = (input times weight - zero_point * weight_sums) * input_scale * scale + bias
 *
 * shape   input (..., K) of uint8 or int8, weight (ceil(out_features / 16), K / 4, 16,
 *         4): (..., out_features) of float32. input_scale and input_zero_point have
 *         one element, or one for each row of input. weight_sums, scale and bias have
 *         one for each feature of the weight's blocks; weight_sums are the sums of
 *         the weights of a feature.
 * cost    multiply-adds: elements of the result times K, of int8; the scale an
 *         operation, bias one, zero points of rows two more. Features that fill up
 *         blocks do not count.
 */
#include "kernel/blocked/quantized.h"

#include <math.h>

#include "base/context_impl.h"
#include "kernel/int64.h"
#include "op/infer.h"
#include "op/op_cost.h"
#include "op/op_impl.h"
#include "ops/blocked/blocked_quantized.h"
#include "ops/blocked/blocked_range.h"

CFX_PARAMS(params, INPUT, INPUT_SCALE, INPUT_ZERO_POINT, WEIGHT, OUT_FEATURES,
           WEIGHT_SUMS, SCALE, BIAS);

/* ---- Checks ---- */

static cfx_status check_types(const cfx_call *call)
{
    cfx_dtype x = cfx_call_tensor(call, INPUT)->dtype;
    cfx_dtype scale = cfx_call_tensor(call, INPUT_SCALE)->dtype;
    cfx_status st = CFX_OK;
    if (x != CFX_U8 && x != CFX_I8)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "expected uint8 or int8, got %s",
                             cfx_dtypes[x].name);
    if (scale != CFX_F32 && scale != CFX_F64)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "expected a scale of float32 or float64, got %s",
                             cfx_dtypes[scale].name);
    static const struct {
        int param;
        cfx_dtype dtype;
    } types[] = {{INPUT_ZERO_POINT, CFX_I64},
                 {WEIGHT, CFX_I8},
                 {WEIGHT_SUMS, CFX_I32},
                 {SCALE, CFX_F32},
                 {BIAS, CFX_F32}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types) && !st; i++)
        if (cfx_call_tensor(call, types[i].param))
            st = cfx_blocked_check_type(call, types[i].param, types[i].dtype);
    return st;
}

static cfx_dim depth_of(const cfx_call *call)
{
    return cfx_dim_mul(call->env, cfx_call_tensor(call, WEIGHT)->shape[1],
                       cfx_dim_int(CFX_QUAD));
}

static cfx_dim numel(const cfx_call *call, const cfx_tensor *t)
{
    return cfx_infer_numel(call->env, t->rank, t->shape);
}

/* The rows of the input. */
static cfx_dim rows_of(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    return cfx_infer_numel(call->env, x->rank - 1, x->shape);
}

/* Is there a scale for each row? */
static bool is_by_row(const cfx_call *call)
{
    return !cfx_dim_is(numel(call, cfx_call_tensor(call, INPUT_SCALE)), 1);
}

static cfx_status check_scales(const cfx_call *call)
{
    static const int each[] = {WEIGHT_SUMS, SCALE, BIAS};
    const cfx_tensor *scale = cfx_call_tensor(call, INPUT_SCALE);
    const cfx_tensor *zero = cfx_call_tensor(call, INPUT_ZERO_POINT);
    cfx_dim features = cfx_dim_mul(call->env,
                                   cfx_call_tensor(call, WEIGHT)->shape[0],
                                   cfx_dim_int(CFX_BLOCK));
    for (int i = 0; i < 3; i++) {
        const cfx_tensor *t = cfx_call_tensor(call, each[i]);
        if (t &&
            (t->rank != 1 || !cfx_dim_eq(call->env, t->shape[0], features)))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "weight_sums, scale and bias must have an element for each feature of the weight's blocks");
    }
    if ((is_by_row(call) &&
         !cfx_dim_eq(call->env, numel(call, scale), rows_of(call))) ||
        !cfx_dim_eq(call->env, numel(call, zero), numel(call, scale)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input_scale and input_zero_point must have one element, or one for each row of input");
    return CFX_OK;
}

static cfx_status dynamic_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_types(call);
    if (!st)
        st = cfx_quantized_linear_shape(
            call, x, cfx_call_tensor(call, WEIGHT),
            cfx_value_dim(cfx_call_value(call, OUT_FEATURES)), shape);
    if (!st)
        st = check_scales(call);
    return st ? st : cfx_call_out(call, CFX_F32, x->rank, shape);
}

static void dynamic_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    int ops = 1 + cfx_call_has(call, BIAS) + 2 * is_by_row(call);
    cost->macs = cfx_dim_mul(call->env, y, depth_of(call));
    cost->ops = cfx_dim_mul(call->env, y, cfx_dim_int(ops));
    cost->dtype = CFX_I8;
}

/* ---- Running ---- */

/* Element i of a vector of any rank. */
static double scale_at(const cfx_call *call, int64_t i)
{
    const cfx_tensor *t = cfx_call_tensor(call, INPUT_SCALE);
    return t->dtype == CFX_F32 ? (double)((const float *)t->data)[i]
                               : ((const double *)t->data)[i];
}

/* Add this to int8, and to its zero point, to get uint8. */
static int shift_of(const cfx_call *call)
{
    return cfx_call_tensor(call, INPUT)->dtype == CFX_I8 ? 128 : 0;
}

/* The zero point of row i as one of uint8. */
static int32_t zero_at(const cfx_call *call, int64_t i)
{
    const cfx_tensor *t = cfx_call_tensor(call, INPUT_ZERO_POINT);
    return (int32_t)((const int64_t *)t->data)[i] + shift_of(call);
}

static cfx_status check_zero_points(const cfx_call *call)
{
    const cfx_tensor *t = cfx_call_tensor(call, INPUT_ZERO_POINT);
    int shift = shift_of(call);
    for (int64_t i = 0; i < cfx_tensor_numel(t); i++) {
        int64_t z = ((const int64_t *)t->data)[i];
        if (z < -shift || z > UINT8_MAX - shift)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "the zero point %lld is not in %d..%d",
                                 (long long)z, -shift, UINT8_MAX - shift);
    }
    return CFX_OK;
}

/* The parts of the workspace. */
typedef struct scratch {
    int32_t *offset;
    float *scale;
    uint8_t *x;    /* int8 as uint8 */
    void *product; /* the workspace of the product */
} scratch;

static cfx_quantized_product product_of(const cfx_call *call)
{
    return cfx_quantized_linear_product(cfx_call_tensor(call, WEIGHT),
                                        call->out[0]);
}

static int64_t aligned(int64_t bytes)
{
    return cfx_round_up(bytes, CFX_LINE);
}

/* The bytes of the workspace; `s`, if not NULL, becomes its parts. */
static size_t lay_out(const cfx_call *call, const cfx_quantized_product *p,
                      char *at, scratch *s)
{
    int64_t features = cfx_tensor_size(cfx_call_tensor(call, SCALE), 0);
    int64_t floats = aligned(features * (int64_t)sizeof(float));
    int64_t bytes = cfx_call_tensor(call, INPUT)->dtype == CFX_I8
                        ? aligned(p->rows * p->depth)
                        : 0;
    if (s)
        *s = (scratch){(int32_t *)(void *)at, (float *)(void *)(at + floats),
                       (uint8_t *)at + 2 * floats, at + 2 * floats + bytes};
    return (size_t)(2 * floats + bytes) +
           cfx_quantized_product_workspace(call->ctx, p);
}

static size_t dynamic_workspace(const cfx_call *call)
{
    const cfx_quantized_product p = product_of(call);
    return lay_out(call, &p, NULL, NULL);
}

/* The scales and offsets of a product whose input has one scale and zero point; of others
 * the product is that of the integers. */
static void prepare_end(const cfx_call *call, scratch *s)
{
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    const float *each = scale->data;
    const int32_t *sums = cfx_call_tensor(call, WEIGHT_SUMS)->data;
    bool by_row = is_by_row(call);
    double one = by_row ? 0 : scale_at(call, 0);
    int32_t zero = by_row ? 0 : zero_at(call, 0);
    for (int64_t i = 0; i < cfx_tensor_size(scale, 0); i++) {
        s->scale[i] = by_row ? 1 : (float)(one * (double)each[i]);
        /* Sums of no weight that fits wrap around. */
        s->offset[i] = (int32_t)(0U - (uint32_t)zero * (uint32_t)sums[i]);
    }
}

typedef struct rows {
    const cfx_call *call;
    cfx_quantized_row_end end;
    float *y;
} rows;

static void scale_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const rows *r = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        cfx_quantized_scale_row(
            r->call->ctx, &r->end, (float)scale_at(r->call, i),
            zero_at(r->call, i), r->y + i * r->end.columns);
}

typedef struct shifting {
    const uint8_t *from;
    uint8_t *to;
} shifting;

/* int8 as uint8: 128 more. */
static void shift(void *arg, int64_t begin, int64_t end, int worker)
{
    const shifting *v = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        v->to[i] = v->from[i] ^ 0x80;
}

static cfx_status dynamic_run(cfx_call *call)
{
    enum { TASK = 16 << 10 };
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *b = cfx_call_tensor(call, BIAS);
    const float *bias = b ? b->data : NULL;
    cfx_quantized_product p = product_of(call);
    bool by_row = is_by_row(call);
    scratch s;
    cfx_status st = check_zero_points(call);
    if (st || p.rows == 0 || p.columns == 0)
        return st;
    lay_out(call, &p, call->work, &s);
    prepare_end(call, &s);
    p.x = x->data;
    if (x->dtype == CFX_I8) {
        shifting v = {x->data, s.x};
        cfx_parallel_for(call->ctx, p.rows * p.depth, TASK, shift, &v);
        p.x = s.x;
    }
    p.w = cfx_call_tensor(call, WEIGHT)->data;
    p.y = call->out[0]->data;
    p.end = (cfx_quantized_end){.offset = s.offset,
                                .scale = s.scale,
                                .bias = by_row ? NULL : bias,
                                .lo = -INFINITY,
                                .hi = INFINITY};
    cfx_quantized_product_run(call->ctx, &p, s.product);
    if (by_row) {
        rows r = {call,
                  {p.columns, cfx_call_tensor(call, WEIGHT_SUMS)->data,
                   cfx_call_tensor(call, SCALE)->data, bias},
                  p.y};
        cfx_parallel_for(call->ctx, p.rows, TASK / p.columns + 1, scale_rows,
                         &r);
    }
    return CFX_OK;
}

const cfx_op cfx_op__dynamic_quantized_linear = {
    .schema =
        "dynamic_quantized_linear(Tensor input, Tensor input_scale, Tensor input_zero_point, Tensor weight, SymInt out_features, Tensor weight_sums, Tensor scale, Tensor? bias=None) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.dynamic_quantized_linear.default torch.ops.cfx.dynamic_quantized_linear",
    .doc =
        "uint8 or int8, less a zero point, times a weight of int8 in blocks of 16 features, scaled, plus bias.",
    .infer = dynamic_infer,
    .cost = dynamic_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = dynamic_workspace,
    .run = dynamic_run,
};
