/*
 * nn_observer -- modules that record the range of what passes through them, as
 * those of torch.ao.quantization: of a tensor or of each channel, the extremes
 * or their moving average, or a histogram.
 *
 * The forward returns its argument and writes the buffers, so that passes keep
 * the call. Empty tensors are not recorded.
 */
#include "nn/nn_observer.h"

#include <math.h>
#include <string.h>

#include <cfx/ops.h>

#include "nn/module_impl.h"

/* ---- State ---- */

/* A buffer that holds a number from the start. */
static cfx_status add_number(cfx_module *self, const char *name, int rank,
                             double value, cfx_error *err)
{
    const int64_t one = 1;
    cfx_tensor *t;
    cfx_status st = cfx_tensor_new(&t, self->ctx, CFX_F32, rank, &one, err);
    if (st)
        return st;
    *(float *)t->data = (float)value;
    st = cfx_module_set(self, name, t, err);
    cfx_tensor_unref(t);
    return st;
}

/* A float32 buffer of n zeros. */
static cfx_status add_vector(cfx_module *self, const char *name, int64_t n,
                             cfx_error *err)
{
    cfx_tensor *t;
    cfx_status st = cfx_tensor_new(&t, self->ctx, CFX_F32, 1, &n, err);
    if (st)
        return st;
    memset(t->data, 0, (size_t)n * sizeof(float));
    st = cfx_module_set(self, name, t, err);
    cfx_tensor_unref(t);
    return st;
}

/* ---- Arguments ---- */

static cfx_status check_scheme(const cfx_module *self, bool channels,
                               cfx_error *err)
{
    const char *have = cfx_attr_str(self, "qscheme");
    const char *const want[2] = {
        channels ? "per_channel_affine" : "per_tensor_affine",
        channels ? "per_channel_symmetric" : "per_tensor_symmetric"};
    if (!strcmp(have, want[0]) || !strcmp(have, want[1]))
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL,
                    "%s: qscheme '%s' is not supported, use '%s' or '%s'",
                    self->class_name, have, want[0], want[1]);
}

static cfx_status check_arguments(const cfx_module *self, bool channels,
                                  cfx_error *err)
{
    cfx_quant_range range;
    bool asymmetric = strcmp(cfx_attr_str(self, "qscheme"),
                             channels ? "per_channel_symmetric"
                                      : "per_tensor_symmetric") != 0;
    if (cfx_attr_bool(self, "is_dynamic"))
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "%s doesn't support dynamic quantization",
                        self->class_name);
    cfx_status st = check_scheme(self, channels, err);
    if (!st)
        st = cfx_observer_range(self, &range, err);
    if (!st && !asymmetric && cfx_attr_bool(self, "reduce_range") &&
        range.dtype == CFX_U8)
        st = cfx_fail(
            err, CFX_EUNSUPPORTED,
            "Cannot reduce range for symmetric quantization for quint8");
    return st ? st
              : add_number((cfx_module *)self, "eps", 1,
                           cfx_attr_double(self, "eps"), err);
}

/* ---- Recording ---- */

/* Is there nothing to record in x? */
static bool is_empty(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    for (int i = 0; t && i < t->rank; i++)
        if (cfx_dim_is_int(t->shape[i]) && !cfx_tensor_size(t, i))
            return true;
    return cfx_scope_failed(s);
}

static cfx_value as_float(cfx_scope *s, cfx_value x)
{
    return cfx_to(s, x, cfx_value_of_dtype(CFX_F32));
}

static void write(cfx_scope *s, cfx_value buffer, cfx_value v)
{
    cfx_call_method(s, "copy_", CFX_ARGS(buffer, v));
}

/* old + c * (new - old). */
static cfx_value moved(cfx_scope *s, cfx_value old, cfx_value new, cfx_value c)
{
    return cfx_add(s, old, cfx_mul(s, cfx_sub(s, new, old), c));
}

/* ---- By tensor ---- */

static cfx_status tensor_init(cfx_module *self, cfx_error *err)
{
    cfx_status st = check_arguments(self, false, err);
    if (!st)
        st = add_number(self, "min_val", 0, INFINITY, err);
    return st ? st : add_number(self, "max_val", 0, -INFINITY, err);
}

static cfx_value MinMaxObserver_forward(cfx_scope *s, cfx_module *self,
                                        const cfx_value *in)
{
    if (is_empty(s, in[0]))
        return in[0];
    cfx_value min = cfx_param_of(s, self, "min_val");
    cfx_value max = cfx_param_of(s, self, "max_val");
    cfx_value now = cfx_aminmax(s, as_float(s, in[0]));
    write(s, min, cfx_minimum(s, cfx_nth(s, now, 0), min));
    write(s, max, cfx_maximum(s, cfx_nth(s, now, 1), max));
    return in[0];
}

/* The first range is recorded as it is. */
static cfx_value MovingAverageMinMaxObserver_forward(cfx_scope *s,
                                                     cfx_module *self,
                                                     const cfx_value *in)
{
    if (is_empty(s, in[0]))
        return in[0];
    cfx_value c = cfx_attr_of(s, self, "averaging_constant");
    cfx_value min = cfx_param_of(s, self, "min_val");
    cfx_value max = cfx_param_of(s, self, "max_val");
    cfx_value now = cfx_aminmax(s, as_float(s, in[0]));
    cfx_value low = cfx_nth(s, now, 0), high = cfx_nth(s, now, 1);
    cfx_value first = cfx_logical_and(s, cfx_eq(s, min, cfx_float(INFINITY)),
                                      cfx_eq(s, max, cfx_float(-INFINITY)));
    low = cfx_where(s, first, low, moved(s, min, low, c));
    high = cfx_where(s, first, high, moved(s, max, high, c));
    write(s, min, low);
    write(s, max, high);
    return in[0];
}

/* ---- By channel ---- */

static cfx_status channel_init(cfx_module *self, cfx_error *err)
{
    cfx_status st = check_arguments(self, true, err);
    if (!st)
        st = add_vector(self, "min_val", 0, err);
    return st ? st : add_vector(self, "max_val", 0, err);
}

/* A row for each channel, the first axis of x, or for each group of it. Without
 * data only the effects count, which are those of channels. */
static cfx_value grouped(cfx_scope *s, const cfx_module *self, cfx_value x)
{
    cfx_value group = cfx_attr(self, "group_size");
    const cfx_tensor *t = cfx_meta_of(s, x);
    if (group.kind != CFX_INT || !t || !t->data)
        return cfx_flatten(s, x, .start_dim = cfx_int(1));
    if (t->rank != 2 || cfx_tensor_size(t, 1) % group.u.i)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "the input has to be a matrix, and the extents of its channels multiples of group_size %lld",
            (long long)group.u.i);
    return cfx_reshape(s, x, cfx_list(s, cfx_int(-1), group));
}

/* The extremes of each channel. */
static cfx_value channel_range(cfx_scope *s, cfx_module *self, cfx_value x)
{
    cfx_value axis = cfx_attr_of(s, self, "ch_axis");
    int rank = cfx_rank(s, x);
    if (cfx_scope_failed(s))
        return cfx_none();
    int64_t k = axis.u.i < 0 ? axis.u.i + rank : axis.u.i;
    if (k < 0 || k >= rank)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "ch_axis %lld is out of range for an input of rank %d",
            (long long)axis.u.i, rank);
    x = cfx_transpose(s, as_float(s, x), cfx_int(0), cfx_int(k));
    x = grouped(s, self, x);
    return cfx_aminmax(s, x, .dim = cfx_int(1));
}

/* Replace a buffer of another extent. In a scope without data its elements
 * are written, so that the effect is known. */
static void set_buffer(cfx_scope *s, cfx_module *self, const char *name,
                       cfx_value old, cfx_value new)
{
    const cfx_tensor *t = cfx_meta_of(s, new), *o = cfx_meta_of(s, old);
    if (cfx_scope_failed(s) || !t || !o)
        return;
    if (cfx_dim_same(t->shape[0], o->shape[0])) {
        write(s, old, new);
        return;
    }
    if (!t->data) {
        write(s, old, cfx_float(0));
        return;
    }
    cfx_value copy = cfx_clone(s, new);
    const cfx_state state = {name, copy.u.tensor, true, true};
    if (!cfx_scope_failed(s))
        cfx_module__add_state(self, &state, &s->error);
}

/* Record the range of each channel; `average`: move towards it. */
static cfx_value record_channels(cfx_scope *s, cfx_module *self, cfx_value x,
                                 bool average)
{
    if (is_empty(s, x))
        return x;
    cfx_value min = cfx_param_of(s, self, "min_val");
    cfx_value max = cfx_param_of(s, self, "max_val");
    cfx_value now = channel_range(s, self, x);
    cfx_value low = cfx_nth(s, now, 0), high = cfx_nth(s, now, 1);
    const cfx_tensor *old = cfx_meta_of(s, min);
    bool first = old && cfx_dim_same(old->shape[0], cfx_dim_int(0));
    if (cfx_scope_failed(s))
        return cfx_none();
    if (!first && average) {
        cfx_value c = cfx_attr_of(s, self, "averaging_constant");
        low = moved(s, min, low, c);
        high = moved(s, max, high, c);
    } else if (!first) {
        low = cfx_minimum(s, low, min);
        high = cfx_maximum(s, high, max);
    }
    set_buffer(s, self, "min_val", min, low);
    set_buffer(s, self, "max_val", max, high);
    return x;
}

static cfx_status group_init(cfx_module *self, cfx_error *err)
{
    int64_t n = cfx_attr_int(self, "group_size");
    if (n < 2)
        return cfx_fail(
            err, CFX_EINVAL,
            "PerGroupMinMaxObserver: group_size is %lld, which is not above 1",
            (long long)n);
    return channel_init(self, err);
}

static cfx_value PerChannelMinMaxObserver_forward(cfx_scope *s,
                                                  cfx_module *self,
                                                  const cfx_value *in)
{
    return record_channels(s, self, in[0], false);
}

static cfx_value MovingAveragePerChannelMinMaxObserver_forward(
    cfx_scope *s, cfx_module *self, const cfx_value *in)
{
    return record_channels(s, self, in[0], true);
}

/* ---- Histogram ---- */

static cfx_status histogram_init(cfx_module *self, cfx_error *err)
{
    int64_t bins = cfx_attr_int(self, "bins");
    if (bins < 1 || bins > 1 << 24)
        return cfx_fail(err, CFX_EINVAL,
                        "%s: bins is %lld, which is not from 1 to 2^24",
                        self->class_name, (long long)bins);
    cfx_status st = tensor_init(self, err);
    return st ? st : add_vector(self, "histogram", bins, err);
}

static cfx_value HistogramObserver_forward(cfx_scope *s, cfx_module *self,
                                           const cfx_value *in)
{
    if (is_empty(s, in[0]))
        return in[0];
    cfx_observe_histogram(s, in[0], cfx_param_of(s, self, "histogram"),
                          cfx_param_of(s, self, "min_val"),
                          cfx_param_of(s, self, "max_val"));
    return in[0];
}

/* ---- Without recording ---- */

static cfx_status fixed_init(cfx_module *self, cfx_error *err)
{
    cfx_quant_range range;
    cfx_tensor *t = NULL;
    const int64_t one = 1;
    cfx_status st = cfx_observer_range(self, &range, err);
    if (!st)
        st = add_number(self, "scale", 1, cfx_attr_double(self, "scale"), err);
    if (!st)
        st = cfx_tensor_new(&t, self->ctx, CFX_I32, 1, &one, err);
    if (!st) {
        *(int32_t *)t->data = (int32_t)cfx_attr_int(self, "zero_point");
        st = cfx_module_set(self, "zero_point", t, err);
    }
    cfx_tensor_unref(t);
    return st;
}

static cfx_value pass_through(cfx_scope *s, cfx_module *self,
                              const cfx_value *in)
{
    (void)s;
    (void)self;
    return in[0];
}

/* ---- Descriptors ---- */

#define FORWARD .forward_schema = "forward(Tensor x_orig) -> Tensor"
#define REST "float eps=1.1920928955078125e-07, bool is_dynamic=False)"
#define LAZY "dtype qscheme reduce_range quant_min quant_max eps is_dynamic"

#define ARGUMENTS(scheme)                                                     \
    "ScalarType dtype=uint8, str qscheme='" scheme "', bool "                 \
    "reduce_range=False, int? quant_min=None, int? quant_max=None, "
#define FACTORY "any factory_kwargs=None, "

const cfx_module_type cfx_module__MinMaxObserver = {
    .schema = "MinMaxObserver(" ARGUMENTS("per_tensor_affine") FACTORY REST,
    .repr_state = "min_val max_val",
    .doc = "Record the least and the greatest element.",
    .lazy = LAZY,
    .implied = "factory_kwargs",
    .init = tensor_init,
    FORWARD,
    .forward = MinMaxObserver_forward,
    .calculate_qparams = cfx_observer__by_range,
};

const cfx_module_type cfx_module__MovingAverageMinMaxObserver = {
    .schema =
        "MovingAverageMinMaxObserver(float averaging_constant=0.01, " ARGUMENTS(
            "per_tensor_affine") REST,
    .repr_state = "min_val max_val",
    .doc = "Record a moving average of the least and the greatest element.",
    .lazy = LAZY,
    .numeric = "averaging_constant",
    .init = tensor_init,
    FORWARD,
    .forward = MovingAverageMinMaxObserver_forward,
    .calculate_qparams = cfx_observer__by_range,
};

const cfx_module_type cfx_module__PerChannelMinMaxObserver = {
    .schema = "PerChannelMinMaxObserver(int ch_axis=0, " ARGUMENTS(
        "per_channel_affine") FACTORY REST,
    .doc = "Record the least and the greatest element of each channel.",
    .lazy = LAZY,
    .implied = "factory_kwargs",
    .resized = "min_val max_val",
    .init = channel_init,
    FORWARD,
    .forward = PerChannelMinMaxObserver_forward,
    .calculate_qparams = cfx_observer__by_range,
};

/* PyTorch has none: it is PerChannelMinMaxObserver on rows of groups. */
const cfx_module_type cfx_module__PerGroupMinMaxObserver = {
    .schema =
        "PerGroupMinMaxObserver(int group_size, int ch_axis=0, " ARGUMENTS(
            "per_channel_affine") REST,
    .repr = "group_size",
    .doc =
        "Record the least and the greatest element of each group of elements of a channel.",
    .lazy = "ch_axis " LAZY,
    .resized = "min_val max_val",
    .init = group_init,
    FORWARD,
    .forward = PerChannelMinMaxObserver_forward,
    .calculate_qparams = cfx_observer__by_range,
};

const cfx_module_type cfx_module__MovingAveragePerChannelMinMaxObserver = {
    .schema =
        "MovingAveragePerChannelMinMaxObserver(float averaging_constant=0.01, int ch_axis=0, " ARGUMENTS(
            "per_channel_affine") REST,
    .doc = "Record a moving average of the range of each channel.",
    .lazy = LAZY,
    .numeric = "averaging_constant",
    .resized = "min_val max_val",
    .init = channel_init,
    FORWARD,
    .forward = MovingAveragePerChannelMinMaxObserver_forward,
    .calculate_qparams = cfx_observer__by_range,
};

const cfx_module_type cfx_module__HistogramObserver = {
    .schema = "HistogramObserver(int bins=2048, " ARGUMENTS(
        "per_tensor_affine") FACTORY REST,
    .repr_state = "min_val max_val",
    .doc = "Record a histogram, whose best part is then the range.",
    .lazy = LAZY,
    .implied = "factory_kwargs",
    .init = histogram_init,
    FORWARD,
    .forward = HistogramObserver_forward,
    .calculate_qparams = cfx_observer__by_histogram,
};

/* PyTorch has neither of these two. */
const cfx_module_type cfx_module__PercentileObserver = {
    .schema =
        "PercentileObserver(float percentile=99.99, int bins=2048, " ARGUMENTS(
            "per_tensor_affine") REST,
    .repr = "percentile",
    .doc =
        "Record a histogram; a percentage of its numbers is then the range.",
    .lazy = "percentile bins " LAZY,
    .numeric = "percentile",
    .init = histogram_init,
    FORWARD,
    .forward = HistogramObserver_forward,
    .calculate_qparams = cfx_observer__by_percentile,
};

const cfx_module_type cfx_module__EntropyObserver = {
    .schema = "EntropyObserver(int bins=2048, " ARGUMENTS("per_tensor_affine")
        REST,
    .doc =
        "Record a histogram; the part that loses the least information is then the range.",
    .lazy = "bins " LAZY,
    .init = histogram_init,
    FORWARD,
    .forward = HistogramObserver_forward,
    .calculate_qparams = cfx_observer__by_entropy,
};

const cfx_module_type cfx_module__FixedQParamsObserver = {
    .schema =
        "FixedQParamsObserver(float scale, int zero_point, ScalarType dtype=uint8, str qscheme='per_tensor_affine', int quant_min=0, int quant_max=255, bool is_dynamic=False)",
    .doc = "Nothing is recorded: scale and zero point are given.",
    .lazy = "dtype qscheme quant_min quant_max is_dynamic",
    .init = fixed_init,
    .forward_schema = "forward(Tensor X) -> Tensor",
    .forward = pass_through,
    .calculate_qparams = cfx_observer__fixed,
};

const cfx_module_type cfx_module__PlaceholderObserver = {
    .schema =
        "PlaceholderObserver(ScalarType dtype=float32, str custom_op_name='', ScalarType? compute_dtype=None, int? quant_min=None, int? quant_max=None, str? qscheme=None, float? eps=None, bool is_dynamic=False)",
    .repr = "dtype is_dynamic",
    .doc = "Nothing is recorded: it only says the type to quantize to.",
    .lazy = "custom_op_name compute_dtype quant_min quant_max qscheme eps",
    .forward_schema = "forward(Tensor x) -> Tensor",
    .forward = pass_through,
};
