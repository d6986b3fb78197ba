/*
 * nn_observer_qparams -- scale and zero point from what an observer recorded.
 *
 * The arithmetic is PyTorch's, of float32 tensors with numbers that are
 * converted to float32 first, so that results are equal bit for bit.
 */
#include <math.h>
#include <string.h>

#include "nn/module_impl.h"
#include "nn/nn_observer.h"

/* ---- The range of integers ---- */

static cfx_status range_of_type(cfx_quant_range *r, bool reduced,
                                cfx_error *err)
{
    switch (r->dtype) {
    case CFX_I8:
        r->least = reduced ? -64 : -128;
        r->most = reduced ? 63 : 127;
        return CFX_OK;
    case CFX_U8:
        r->least = 0;
        r->most = reduced ? 127 : 255;
        return CFX_OK;
    case CFX_I16:
        r->least = INT16_MIN;
        r->most = INT16_MAX;
        return CFX_OK;
    case CFX_I32:
        r->least = INT32_MIN;
        r->most = INT32_MAX;
        return CFX_OK;
    default:
        return cfx_fail(
            err, CFX_EDTYPE,
            "an observer is for int8, uint8, int16 or int32, not %s",
            cfx_dtypes[r->dtype].name);
    }
}

static int64_t halved(int64_t v)
{
    return v < 0 ? -((1 - v) / 2) : v / 2;
}

/* A range that was given, halved where it is to be reduced. */
static cfx_status given_range(cfx_quant_range *r, int64_t least, int64_t most,
                              bool reduced, cfx_error *err)
{
    bool narrow = r->dtype == CFX_I8;
    if (least > 0 || most < 0)
        return cfx_fail(err, CFX_EINVAL,
                        "quant_min %lld and quant_max %lld do not include 0",
                        (long long)least, (long long)most);
    if (least >= most)
        return cfx_fail(err, CFX_EINVAL,
                        "quant_min %lld is not below quant_max %lld",
                        (long long)least, (long long)most);
    if (least < INT32_MIN || most > UINT32_MAX ||
        (narrow && most - least > 255))
        return cfx_fail(
            err, CFX_EINVAL,
            "quant_min %lld and quant_max %lld are more than %s holds",
            (long long)least, (long long)most, cfx_dtypes[r->dtype].name);
    r->least = reduced ? halved(least) : least;
    r->most = reduced ? halved(most) : most;
    return CFX_OK;
}

static bool is_given(const cfx_module *m)
{
    return cfx_attr(m, "quant_min").kind == CFX_INT &&
           cfx_attr(m, "quant_max").kind == CFX_INT;
}

static cfx_status check_decided(const cfx_module *m, cfx_error *err)
{
    static const char *const read[] = {"dtype", "qscheme", "reduce_range",
                                       "quant_min", "quant_max"};
    for (size_t i = 0; i < sizeof(read) / sizeof(*read); i++)
        if (cfx_attr_is_undecided(m, read[i]))
            return cfx_fail(
                err, CFX_EUNDECIDED,
                "the text of %s does not tell %s: write it into its line",
                m->class_name, read[i]);
    return CFX_OK;
}

cfx_status cfx_observer_range(const cfx_module *m, cfx_quant_range *out,
                              cfx_error *err)
{
    cfx_value type = cfx_attr(m, "dtype");
    bool reduced = cfx_attr(m, "reduce_range").kind == CFX_BOOL_VALUE &&
                   cfx_attr_bool(m, "reduce_range");
    if (type.kind != CFX_DTYPE)
        return cfx_fail(err, CFX_EINVAL, "%s is not an observer",
                        m->class_name);
    cfx_status st = check_decided(m, err);
    *out = (cfx_quant_range){.dtype = type.u.dtype};
    if (!st)
        st = range_of_type(out, reduced, err);
    return st || !is_given(m)
               ? st
               : given_range(out, cfx_attr_int(m, "quant_min"),
                             cfx_attr_int(m, "quant_max"), reduced, err);
}

/* ---- Formulas ---- */

struct formula {
    float least, most; /* of the integers */
    float steps, half; /* their difference; half of it */
    float eps;
    int64_t low, high, middle;
    bool symmetric;
};

static cfx_status formula_of(struct formula *f, const cfx_module *m,
                             cfx_error *err)
{
    cfx_quant_range r;
    const cfx_state *eps = cfx_module_state(m, "eps");
    const char *scheme = cfx_attr_str(m, "qscheme");
    cfx_status st = cfx_observer_range(m, &r, err);
    if (st)
        return st;
    *f = (struct formula){
        .steps = (float)(r.most - r.least),
        .half = (float)((double)(r.most - r.least) / 2),
        .eps = eps && eps->tensor && eps->tensor->data
                   ? *(const float *)eps->tensor->data
                   : (float)cfx_attr_double(m, "eps"),
        .low = r.least,
        .high = r.most,
        .symmetric = scheme && (!strcmp(scheme, "per_tensor_symmetric") ||
                                !strcmp(scheme, "per_channel_symmetric")),
    };
    if (r.dtype == CFX_U8)
        f->middle = is_given(m) ? (r.least + r.most) >> 1 : 128;
    return CFX_OK;
}

/* The nearest integer as an int32, which wraps when it is subtracted. */
static int64_t zero_point_of(const struct formula *f, float steps)
{
    int32_t rounded = steps >= -0x1p31f && steps < 0x1p31f
                          ? (int32_t)rintf(steps)
                          : INT32_MIN;
    int64_t zero = (int32_t)((uint32_t)f->low - (uint32_t)rounded);
    return zero < f->low ? f->low : zero > f->high ? f->high : zero;
}

static void choose(const struct formula *f, float min, float max, float *scale,
                   int64_t *zero_point)
{
    min = min < 0 ? min : 0;
    max = max > 0 ? max : 0;
    if (f->symmetric) {
        max = -min > max ? -min : max;
        *scale = max / f->half;
        *zero_point = f->middle;
    } else {
        *scale = (max - min) / f->steps;
    }
    if (!(*scale > f->eps))
        *scale = f->eps;
    if (!f->symmetric)
        *zero_point = zero_point_of(f, min / *scale);
}

/* ---- Results ---- */

static cfx_status new_results(cfx_module *m, int64_t n, cfx_tensor **scale,
                              cfx_tensor **zero_point, cfx_error *err)
{
    *zero_point = NULL;
    cfx_status st = cfx_tensor_new(scale, m->ctx, CFX_F32, 1, &n, err);
    if (!st)
        st = cfx_tensor_new(zero_point, m->ctx, CFX_I64, 1, &n, err);
    if (st) {
        cfx_tensor_unref(*scale);
        *scale = NULL;
    }
    return st;
}

/* Those of an observer that saw nothing. */
static cfx_status no_range(cfx_module *m, cfx_tensor **scale,
                           cfx_tensor **zero_point, cfx_error *err)
{
    cfx_status st = new_results(m, 1, scale, zero_point, err);
    if (st)
        return st;
    *(float *)(*scale)->data = 1;
    *(int64_t *)(*zero_point)->data = 0;
    return CFX_OK;
}

static const cfx_tensor *state_of(const cfx_module *m, const char *name)
{
    const cfx_state *s = cfx_module_state(m, name);
    return s && s->tensor && s->tensor->data &&
                   cfx_tensor_is_contiguous(s->tensor)
               ? s->tensor
               : NULL;
}

bool cfx_observer_has_seen(const cfx_module *m)
{
    const cfx_tensor *min = state_of(m, "min_val");
    const cfx_tensor *max = state_of(m, "max_val");
    if (!min || !max || !cfx_tensor_numel(min) || !cfx_tensor_numel(max))
        return false;
    return min->rank || *(const float *)min->data != INFINITY ||
           *(const float *)max->data != -INFINITY;
}

static cfx_status check_range(float min, float max, cfx_error *err)
{
    if (isnan(min) || isnan(max))
        return cfx_fail(err, CFX_EINVAL, "the observed data has NaN");
    if (min > max)
        return cfx_fail(err, CFX_EINVAL, "min %g should be less than max %g",
                        (double)min, (double)max);
    return CFX_OK;
}

cfx_status cfx_observer__by_range(cfx_module *self, cfx_tensor **scale,
                                  cfx_tensor **zero_point, cfx_error *err)
{
    struct formula f;
    const cfx_tensor *min = state_of(self, "min_val");
    const cfx_tensor *max = state_of(self, "max_val");
    cfx_status st = formula_of(&f, self, err);
    if (st)
        return st;
    if (!cfx_observer_has_seen(self))
        return no_range(self, scale, zero_point, err);
    int64_t n = cfx_tensor_numel(min);
    const float *least = min->data, *most = max->data;
    if (cfx_tensor_numel(max) != n)
        return cfx_fail(err, CFX_ESHAPE,
                        "min_val and max_val differ in extent");
    for (int64_t i = 0; i < n && !st; i++)
        st = check_range(least[i], most[i], err);
    if (!st)
        st = new_results(self, n, scale, zero_point, err);
    for (int64_t i = 0; i < n && !st; i++)
        choose(&f, least[i], most[i], (float *)(*scale)->data + i,
               (int64_t *)(*zero_point)->data + i);
    return st;
}

/* Narrow a range by a histogram for so many integers. */
typedef cfx_status narrow_fn(cfx_module *self, const cfx_histogram *h,
                             double levels, float *min, float *max,
                             cfx_error *err);

static cfx_status by_part(cfx_module *self, narrow_fn *narrow,
                          cfx_tensor **scale, cfx_tensor **zero_point,
                          cfx_error *err)
{
    struct formula f;
    const cfx_tensor *h = state_of(self, "histogram");
    float min, max;
    cfx_status st = formula_of(&f, self, err);
    if (st)
        return st;
    if (!h || !cfx_observer_has_seen(self))
        return no_range(self, scale, zero_point, err);
    int bits = 8 * (int)cfx_dtype_size(cfx_attr(self, "dtype").u.dtype);
    const cfx_histogram all = {
        h->data, cfx_tensor_numel(h),
        *(const float *)state_of(self, "min_val")->data,
        *(const float *)state_of(self, "max_val")->data};
    st = check_range(all.min, all.max, err);
    if (!st)
        st = narrow(self, &all, ldexp(1, bits), &min, &max, err);
    if (!st)
        st = new_results(self, 1, scale, zero_point, err);
    if (!st)
        choose(&f, min, max, (*scale)->data, (*zero_point)->data);
    return st;
}

static cfx_status narrow_by_error(cfx_module *self, const cfx_histogram *h,
                                  double levels, float *min, float *max,
                                  cfx_error *err)
{
    return cfx_observer__search(self->ctx, h->bin, h->n, h->min, h->max,
                                levels, min, max, err);
}

cfx_status cfx_observer__by_histogram(cfx_module *self, cfx_tensor **scale,
                                      cfx_tensor **zero_point, cfx_error *err)
{
    return by_part(self, narrow_by_error, scale, zero_point, err);
}

static cfx_status narrow_by_percentage(cfx_module *self,
                                       const cfx_histogram *h, double levels,
                                       float *min, float *max, cfx_error *err)
{
    double percentage = cfx_attr_double(self, "percentile");
    (void)levels;
    if (!(percentage > 0 && percentage <= 100))
        return cfx_fail(err, CFX_EINVAL,
                        "percentile is %g, which is not above 0 and up to 100",
                        percentage);
    cfx_observer__percentile(h, percentage, min, max);
    return CFX_OK;
}

cfx_status cfx_observer__by_percentile(cfx_module *self, cfx_tensor **scale,
                                       cfx_tensor **zero_point, cfx_error *err)
{
    return by_part(self, narrow_by_percentage, scale, zero_point, err);
}

static cfx_status narrow_by_entropy(cfx_module *self, const cfx_histogram *h,
                                    double levels, float *min, float *max,
                                    cfx_error *err)
{
    (void)self;
    (void)err;
    cfx_observer__entropy(h, (int64_t)levels, min, max);
    return CFX_OK;
}

cfx_status cfx_observer__by_entropy(cfx_module *self, cfx_tensor **scale,
                                    cfx_tensor **zero_point, cfx_error *err)
{
    return by_part(self, narrow_by_entropy, scale, zero_point, err);
}

cfx_status cfx_observer__fixed(cfx_module *self, cfx_tensor **scale,
                               cfx_tensor **zero_point, cfx_error *err)
{
    const cfx_tensor *s = state_of(self, "scale");
    const cfx_tensor *z = state_of(self, "zero_point");
    if (!s || !z)
        return cfx_fail(err, CFX_EWEIGHT, "missing weight: scale, zero_point");
    cfx_status st = new_results(self, 1, scale, zero_point, err);
    if (st)
        return st;
    *(float *)(*scale)->data = *(const float *)s->data;
    *(int64_t *)(*zero_point)->data = *(const int32_t *)z->data;
    return CFX_OK;
}

/* ---- For any observer ---- */

bool cfx_module_is_observer(const cfx_module *m)
{
    return m->type && m->type->calculate_qparams;
}

cfx_status cfx_observer_qparams(cfx_module *m, cfx_tensor **scale,
                                cfx_tensor **zero_point, cfx_error *err)
{
    *scale = *zero_point = NULL;
    if (!cfx_module_is_observer(m))
        return cfx_fail(err, CFX_EINVAL, "%s is not an observer",
                        m->class_name);
    return m->type->calculate_qparams(m, scale, zero_point, err);
}
