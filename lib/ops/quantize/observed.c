/*
 * observed -- fused_moving_avg_obs_fake_quant, which models call after
 * quantization-aware training: an observer, the scale of what it has seen, and
 * fake_quantize.
 *
 * shape   that of the argument. running_min, running_max, scale and zero_point have
 *         one element, or per row one for each index of ch_axis; they are written.
 * cost    that of fake_quantize; comparisons count nothing.
 *
 * The observer's range moves towards that of the argument, if observer_on is 1. If
 * fake_quant_on is 1, the range gives the scale anew, as FBGEMM's
 * ChooseQuantizationParams does, so that it is used in any case.
 */
#include <math.h>
#include <string.h>

#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/quantize/quantize_ops.h"

CFX_PARAMS(params, SELF, OBSERVER_ON, FAKE_QUANT_ON, RUNNING_MIN, RUNNING_MAX,
           SCALE, ZERO_POINT, AVERAGING_CONST, QUANT_MIN, QUANT_MAX, CH_AXIS,
           PER_ROW_FAKE_QUANT, SYMMETRIC_QUANT);

static bool has_elements(const cfx_call *call, int k, cfx_dim n)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    return t->rank <= 1 &&
           cfx_dim_eq(call->env, cfx_infer_numel(call->env, t->rank, t->shape),
                      n);
}

static cfx_status observed_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t axis = cfx_call_int(call, CH_AXIS);
    bool rows = cfx_call_bool(call, PER_ROW_FAKE_QUANT);
    if (rows && (axis < 0 || axis >= x->rank))
        return cfx_call_fail(call, CFX_EINVAL,
                             "ch_axis %lld is not one of its axes",
                             (long long)axis);
    if (x->dtype != CFX_F32)
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    for (int k = OBSERVER_ON; k <= ZERO_POINT; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        cfx_dim n = rows && k >= RUNNING_MIN ? x->shape[axis] : cfx_dim_int(1);
        if (!has_elements(call, k, n))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "%s has to have one element%s",
                                 cfx_call__param_name(call, k),
                                 rows && k >= RUNNING_MIN ? " a channel" : "");
        if (k >= RUNNING_MIN &&
            t->dtype != (k == ZERO_POINT ? CFX_I32 : CFX_F32))
            return cfx_call_fail(call, CFX_EDTYPE, "%s must not be %s",
                                 cfx_call__param_name(call, k),
                                 cfx_dtypes[t->dtype].name);
        if (k >= RUNNING_MIN && cfx_infer_written(call, t))
            return CFX_EINVAL;
    }
    return cfx_infer_like(call, x, CFX_F32);
}

static void observed_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 5, 0);
}

/* ---- Observing ---- */

/* The channels of x: one, or those of ch_axis. */
static cfx_axis_split split(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (cfx_call_bool(call, PER_ROW_FAKE_QUANT))
        return cfx_loop_split(x, (int)cfx_call_int(call, CH_AXIS));
    return (cfx_axis_split){.outer = 1, .n = 1, .inner = cfx_tensor_numel(x)};
}

/* Move the range of channel c towards that of its numbers; NaN is kept. */
static void observe(const cfx_call *call, const cfx_axis_split *e, int64_t c)
{
    const float *x = cfx_call_tensor(call, SELF)->data;
    float *end[] = {cfx_call_tensor(call, RUNNING_MIN)->data,
                    cfx_call_tensor(call, RUNNING_MAX)->data};
    float seen[] = {INFINITY, -INFINITY};
    float part = (float)cfx_call_double(call, AVERAGING_CONST);
    for (int64_t o = 0; o < e->outer; o++)
        for (int64_t i = 0; i < e->inner; i++) {
            float v = x[(o * e->n + c) * e->inner + i];
            seen[0] = v < seen[0] || isnan(v) ? v : seen[0];
            seen[1] = v > seen[1] || isnan(v) ? v : seen[1];
        }
    for (int i = 0; i < 2; i++)
        end[i][c] = isinf(end[i][c])
                        ? seen[i]
                        : end[i][c] + part * (seen[i] - end[i][c]);
}

/* ---- Scales ---- */

/* Scales below this are not used: their inverse is too large. */
static const float least_scale = 6.1e-5f;

struct ends {
    float min, max;
};

/* Let 0 be in the range, of a symmetric one in its middle. */
static struct ends widen(struct ends r, int64_t least, int64_t most,
                         bool symmetric)
{
    double half = (double)((most - least) / 2);
    if (symmetric && r.min < 0 && r.max > 0) {
        double scale = fmax(fabs((double)r.min / -(half + 1)),
                            fabs((double)r.max / half));
        r = (struct ends){(float)(scale * -(half + 1)), (float)(scale * half)};
    }
    return (struct ends){fminf(r.min, 0), fmaxf(r.max, 0)};
}

/* The end whose rounding makes the smaller error is exact. */
static int32_t zero_of(struct ends r, float scale, int64_t least, int64_t most,
                       bool symmetric)
{
    double low = (double)r.min / (double)scale;
    double high = (double)r.max / (double)scale;
    bool from_low = fabs((double)least) - fabs(low) <
                    fabs((double)most) - fabs(high);
    double zero = from_low ? (double)least - low : (double)most - high;
    if (symmetric && r.min < 0 && r.max > 0)
        zero = (double)(least + most) / 2;
    if (!(zero >= (double)least))
        return (int32_t)least;
    return zero > (double)most ? (int32_t)most : (int32_t)rint(zero);
}

/* Choose scale and zero point of channel c. */
static void choose(const cfx_call *call, int64_t c)
{
    const float *min = cfx_call_tensor(call, RUNNING_MIN)->data;
    const float *max = cfx_call_tensor(call, RUNNING_MAX)->data;
    float *scale = cfx_call_tensor(call, SCALE)->data;
    int32_t *zero = cfx_call_tensor(call, ZERO_POINT)->data;
    int64_t least = cfx_call_int(call, QUANT_MIN);
    int64_t most = cfx_call_int(call, QUANT_MAX);
    bool symmetric = cfx_call_bool(call, SYMMETRIC_QUANT);
    struct ends r = widen((struct ends){min[c], max[c]}, least, most,
                          symmetric);
    float s = (float)(((double)r.max - (double)r.min) /
                      (double)(most - least));
    if (s == 0 || isinf(1 / s))
        s = 0.1f;
    if (s < least_scale) {
        float by = least_scale / s, all = least_scale * (float)(most - least);
        r.max = r.min == 0 ? all : r.max == 0 ? 0 : r.max * by;
        r.min = r.min == 0 ? 0 : r.max == 0 ? -all : r.min * by;
        s = least_scale;
    }
    scale[c] = s;
    zero[c] = zero_of(r, s, least, most, symmetric);
}

/* ---- Runs ---- */

static bool is_on(const cfx_call *call, int k)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    return cfx_element_double((cfx_dtype)t->dtype, t->data) != 0;
}

static void round_channel(const cfx_call *call, const cfx_axis_split *e,
                          int64_t c)
{
    const float *x = cfx_call_tensor(call, SELF)->data;
    const float *scale = cfx_call_tensor(call, SCALE)->data;
    const int32_t *zero = cfx_call_tensor(call, ZERO_POINT)->data;
    float *y = call->out[0]->data;
    const cfx_fake_affine a = {
        .scale = scale[c],
        .inverse = 1 / scale[c],
        .zero = (float)zero[c],
        .least = (double)cfx_call_int(call, QUANT_MIN),
        .most = (double)cfx_call_int(call, QUANT_MAX),
        .wraps = cfx_call_bool(call, PER_ROW_FAKE_QUANT),
    };
    for (int64_t o = 0; o < e->outer; o++) {
        int64_t from = (o * e->n + c) * e->inner;
        cfx_fake_quantize_row(&a, CFX_F32, (const char *)(x + from),
                              (char *)(y + from), NULL, e->inner);
    }
}

static cfx_status observed_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_axis_split e = split(call);
    int64_t n = cfx_tensor_numel(x);
    int64_t least = cfx_call_int(call, QUANT_MIN);
    int64_t most = cfx_call_int(call, QUANT_MAX);
    if (least >= most)
        return cfx_call_fail(call, CFX_EINVAL,
                             "quant_min must be below quant_max");
    if (least < INT32_MIN || most > INT32_MAX)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "quant_min and quant_max must be int32, as the zero point is");
    for (int64_t c = 0; c < e.n && n && is_on(call, OBSERVER_ON); c++)
        observe(call, &e, c);
    if (!is_on(call, FAKE_QUANT_ON)) {
        if (n)
            memcpy(call->out[0]->data, x->data, (size_t)n * sizeof(float));
        return CFX_OK;
    }
    for (int64_t c = 0; c < e.n; c++) {
        choose(call, c);
        round_channel(call, &e, c);
    }
    return CFX_OK;
}

const cfx_op cfx_op__fused_moving_avg_obs_fake_quant = {
    .schema =
        "fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc =
        "Numbers quantized and back, by the scale of what an observer has seen.",
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS,
    .infer = observed_infer,
    .cost = observed_cost,
    .run = observed_run,
};
