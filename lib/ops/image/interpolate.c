/*
 * interpolate -- images of another size: nearest, linear, cubic, by area.
 *
 * shape   (N, C, in...) over one to three axes; the extents are given, or
 *         floor(in * scale_factor).
 * cost    for each output, of the linear modes two steps for each of the 2^n
 *         neighbours, of the cubic one for each of 16.
 *
 * Places are computed with scale_factor, or with out / in where extents are given
 * or recompute_scale_factor is set.
 */
#include <math.h>
#include <string.h>

#include "kernel/pool/pool_kernel.h"
#include "kernel/resample/resample.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "ops/index/indexing.h"
#include "ops/shape/view.h"

enum { MAX = CFX_RESAMPLE_MAX_SPATIAL };

CFX_PARAMS(params, INPUT, SIZE, SCALE_FACTOR, MODE, ALIGN_CORNERS,
           RECOMPUTE_SCALE_FACTOR, ANTIALIAS, OUTPUT_SIZE, SCALE_FACTORS,
           SCALES, SCALES_D, SCALES_H, SCALES_W);

/* The state of a call: its arguments as they were read. */
struct resize {
    const cfx_tensor *x;
    int spatial, mode;
    bool align, antialias, keep_scale;
    cfx_value size, scale;    /* numbers, lists or None */
    cfx_value one_scale[MAX]; /* where scales are arguments of their own */
};

enum { AREA = CFX_RESAMPLE_CUBIC + 1 };

/* cfx_op.code: 0 for the function of torch.nn.functional, else the axes, the
 * mode, and whether there is a filter against aliasing. */
enum { AXES = 3, MODE_SHIFT = 2, FILTERED = 32 };
#define CODE(axes, mode) ((axes) | (mode) << MODE_SHIFT)

struct mode_name {
    const char *name;
    int mode, spatial;
};

static const struct mode_name mode_names[] = {
    {"nearest", CFX_RESAMPLE_NEAREST, 0},
    {"nearest-exact", CFX_RESAMPLE_NEAREST_EXACT, 0},
    {"linear", CFX_RESAMPLE_LINEAR, 1},
    {"bilinear", CFX_RESAMPLE_LINEAR, 2},
    {"trilinear", CFX_RESAMPLE_LINEAR, 3},
    {"bicubic", CFX_RESAMPLE_CUBIC, 2},
    {"area", AREA, 0},
};

static cfx_status read_mode(const cfx_call *call, struct resize *r)
{
    const char *mode = cfx_call_str(call, MODE);
    const struct mode_name *m = NULL;
    for (size_t i = 0; i < sizeof(mode_names) / sizeof(*mode_names); i++)
        if (!strcmp(mode_names[i].name, mode))
            m = &mode_names[i];
    if (!m)
        return cfx_call_fail(call, CFX_EINVAL,
                             "Input Error: mode '%s' is not known", mode);
    if (r->spatial < 1 || r->spatial > 3 ||
        (m->spatial && m->spatial != r->spatial))
        return cfx_call_fail(call, CFX_EINVAL,
                             "mode '%s' does not take input of rank %d", mode,
                             r->x->rank);
    r->mode = m->mode;
    if (!m->spatial && cfx_call_has(call, ALIGN_CORNERS))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
    r->antialias = cfx_call_bool(call, ANTIALIAS);
    if (r->antialias && (r->spatial != 2 || !m->spatial))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Anti-alias option is only supported for bilinear and bicubic modes");
    return CFX_OK;
}

static cfx_status read_functional(const cfx_call *call, struct resize *r)
{
    bool recompute = cfx_call_bool(call, RECOMPUTE_SCALE_FACTOR);
    r->spatial = r->x->rank - 2;
    r->size = cfx_call_value(call, SIZE);
    r->scale = cfx_call_value(call, SCALE_FACTOR);
    r->keep_scale = !cfx_value_is_none(r->scale) && !recompute;
    if (recompute && !cfx_value_is_none(r->size))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "recompute_scale_factor is not meaningful with an explicit size.");
    return read_mode(call, r);
}

static cfx_status read_aten(const cfx_call *call, struct resize *r)
{
    int code = call->op->code;
    r->spatial = code & AXES;
    r->mode = code >> MODE_SHIFT & 7;
    r->antialias = code & FILTERED;
    r->keep_scale = true;
    r->size = cfx_call_value(call, OUTPUT_SIZE);
    r->scale = cfx_call_value(call, SCALE_FACTORS);
    for (int i = 0; i < r->spatial; i++)
        r->one_scale[i] = cfx_call_value(
            call, r->spatial == 1 ? SCALES : SCALES_W - r->spatial + 1 + i);
    if (r->x->rank != r->spatial + 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "It is expected input_size equals to %d, but got size %d",
            r->spatial + 2, r->x->rank);
    return CFX_OK;
}

static cfx_status check_list(const cfx_call *call, const struct resize *r,
                             cfx_value v, const char *name)
{
    if (!cfx_value_is_seq(v) || (int)v.u.seq->len == r->spatial)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EINVAL,
        "Input and output must have the same number of spatial dimensions, but %s has %d numbers for %d axes",
        name, (int)v.u.seq->len, r->spatial);
}

static cfx_status read_resize(const cfx_call *call, struct resize *r)
{
    r->x = cfx_call_tensor(call, INPUT);
    r->align = cfx_call_bool(call, ALIGN_CORNERS);
    cfx_status st = call->op->code ? read_aten(call, r)
                                   : read_functional(call, r);
    bool size = !cfx_value_is_none(r->size);
    bool scale = !cfx_value_is_none(r->scale);
    if (!st && size && scale)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "only one of size or scale_factor should be defined");
    if (!st && !size && !scale)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "either size or scale_factor should be defined");
    if (!st)
        st = check_list(call, r, r->size, "size");
    if (!st)
        st = check_list(call, r, r->scale, "scale_factor");
    cfx_dtype type = (cfx_dtype)r->x->dtype;
    bool nearest = r->mode == CFX_RESAMPLE_NEAREST ||
                   r->mode == CFX_RESAMPLE_NEAREST_EXACT;
    if (!st && !cfx_dtype_is_float(type) && !(nearest && type == CFX_U8))
        st = cfx_infer_refuse(call, type);
    if (!st && r->antialias && cfx_dtype_size(type) < 4)
        st = cfx_infer_refuse(call, type);
    return st;
}

static cfx_value of_axis(cfx_value v, int i)
{
    return cfx_value_is_seq(v) ? v.u.seq->item[i] : v;
}

/* The factor of axis i that the caller asked for, or 0. */
static double scale_of(const struct resize *r, int i)
{
    cfx_value v = cfx_value_is_none(r->one_scale[i]) ? of_axis(r->scale, i)
                                                     : r->one_scale[i];
    return cfx_value_is_none(v) || !r->keep_scale ? 0 : cfx_value_number(v);
}

static cfx_status out_shape(cfx_call *call, const struct resize *r,
                            cfx_dim *shape)
{
    cfx_value all;
    shape[0] = r->x->shape[0];
    shape[1] = r->x->shape[1];
    cfx_status of_size = cfx_infer_index(call, r->size, &all);
    if (of_size)
        return of_size;
    for (int i = 0; i < r->spatial; i++) {
        cfx_dim in = r->x->shape[2 + i], *out = &shape[2 + i];
        cfx_value size = of_axis(all, i);
        cfx_status st = CFX_OK;
        if (!cfx_value_is_none(size)) {
            st = cfx_infer_index(call, size, &size);
            *out = cfx_value_dim(size);
        } else {
            st = cfx_infer_scaled(call, in, of_axis(r->scale, i),
                                  "scale_factor", out);
        }
        if (st)
            return st;
        if (!cfx_dim_le(call->env, cfx_dim_int(1), in) ||
            !cfx_dim_le(call->env, cfx_dim_int(1), *out)) {
            char s[64], t[64];
            cfx_dim_format(in, s, sizeof(s));
            cfx_dim_format(*out, t, sizeof(t));
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Input and output sizes should be greater than 0, but got %s and %s on axis %d",
                s, t, i + 2);
        }
    }
    if (cfx_dim_is(shape[1], 0))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Non-empty %dD data tensor expected", r->x->rank);
    return CFX_OK;
}

static cfx_status interpolate_infer(cfx_call *call)
{
    struct resize *r = call->state;
    cfx_dim shape[MAX + 2];
    cfx_status st = read_resize(call, r);
    if (!st)
        st = out_shape(call, r, shape);
    if (st)
        return st;
    bool last = (r->spatial == 2 || (r->mode == AREA) == (r->spatial == 1)) &&
                cfx_view_is_last(call->env, r->x);
    return cfx_view_out_format(call, (cfx_dtype)r->x->dtype, r->x->rank, shape,
                               last);
}

/* Each output has so many neighbours; all of the input is read only where it
 * has no more elements than these are. */
static void count_neighbours(const cfx_call *call, cfx_cost *cost,
                             const struct resize *r, int64_t n)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    cfx_dim seen = cfx_dim_mul(call->env, y, cfx_dim_int(n));
    if (n > 1)
        cfx_cost_pointwise(call, cost, (int)(2 * n), 0);
    if (!r->antialias)
        cost->bytes_read = cfx_dim_min(call->env,
                                       cfx_cost_bytes_of(call, r->x),
                                       cfx_cost_sized(call, seen, r->x));
}

static void interpolate_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct resize *r = call->state;
    if (r->mode == AREA)
        cost->ops = cfx_cost_numel(call, r->x);
    else if (r->mode == CFX_RESAMPLE_LINEAR)
        count_neighbours(call, cost, r, 1 << r->spatial);
    else
        count_neighbours(call, cost, r,
                         r->mode == CFX_RESAMPLE_CUBIC ? 16 : 1);
}

/* ---- Running ---- */

static void plan(const cfx_call *call, cfx_resample *k)
{
    const struct resize *r = call->state;
    *k = (cfx_resample){
        .dtype = (cfx_dtype)r->x->dtype,
        .mode = r->mode == AREA ? CFX_RESAMPLE_NEAREST
                                : (cfx_resample_mode)r->mode,
        .spatial = r->spatial,
        .planes = cfx_tensor_size(r->x, 0) * cfx_tensor_size(r->x, 1),
        .align_corners = r->align,
        .antialias = r->antialias,
    };
    for (int i = 0; i < r->spatial; i++) {
        k->in[i] = cfx_tensor_size(r->x, i + 2);
        k->out[i] = cfx_tensor_size(call->out[0], i + 2);
        k->scale[i] = scale_of(r, i);
        /* Over two axes PyTorch keeps or doubles the pixels then, whatever
         * was asked. */
        if (k->mode == CFX_RESAMPLE_NEAREST && k->spatial == 2 &&
            (k->out[i] == k->in[i] || k->out[i] == 2 * k->in[i]))
            k->scale[i] = 0;
    }
}

static size_t interpolate_workspace(const cfx_call *call)
{
    const struct resize *r = call->state;
    cfx_resample k;
    if (r->mode == AREA)
        return 0;
    plan(call, &k);
    return cfx_resample_workspace(call->ctx, &k);
}

static void average(cfx_call *call, const cfx_resample *k)
{
    cfx_pool p = {.dtype = k->dtype,
                  .spatial = k->spatial,
                  .planes = k->planes,
                  .x = k->x,
                  .y = k->y};
    memcpy(p.in, k->in, sizeof(k->in));
    memcpy(p.out, k->out, sizeof(k->out));
    cfx_adaptive_avg_pool(call->ctx, &p);
}

static cfx_status interpolate_run(cfx_call *call)
{
    const struct resize *r = call->state;
    cfx_resample k;
    cfx_tensor *made = NULL, *y = call->out[0];
    cfx_tensor *x = cfx_loop_contiguous(call, r->x);
    cfx_status st = CFX_OK;
    if (!x)
        return CFX_ENOMEM;
    if (!cfx_tensor_is_contiguous(y))
        st = cfx_loop_like(call, y, &made);
    plan(call, &k);
    k.x = x->data;
    k.y = made ? made->data : y->data;
    if (!st && r->mode == AREA)
        average(call, &k);
    else if (!st)
        cfx_resample_run(call->ctx, &k, call->work);
    if (!st && made)
        st = cfx_tensor_copy(y, made, call->err);
    cfx_tensor_unref(made);
    cfx_tensor_unref(x);
    return st;
}

/* ---- Descriptors ---- */

#define RULES                                                                 \
    .params = params, .state_size = sizeof(struct resize),                    \
    .infer = interpolate_infer, .cost = interpolate_cost,                     \
    .workspace = interpolate_workspace, .run = interpolate_run

const cfx_op cfx_op__interpolate = {
    .schema =
        "interpolate(Tensor input, any size=None, any scale_factor=None, str mode='nearest', bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
    .aliases = "torch.nn.functional. torch.nn.functional.upsample",
    .doc = "An image of another size.",
    RULES,
};

/* The vec overloads take a list of factors in place of an extent. */
#define UPSAMPLE(name, axes, mode, flags, align, scales)                      \
    static const cfx_op name##_vec = {                                        \
        .schema = #name ".vec(Tensor input, SymInt[]? output_size" align      \
                        ", float[]? scale_factors) -> Tensor",                \
        .aliases = "torch.nn.functional. aten.",                              \
        .doc = "An image of another size, or scaled.",                        \
        .code = CODE(axes, mode) | (flags),                                   \
        RULES,                                                                \
    };                                                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, SymInt[" #axes                         \
                        "] output_size" align scales ") -> Tensor",           \
        .aliases = "torch.nn.functional. aten.",                              \
        .doc = "An image of another size.",                                   \
        .code = CODE(axes, mode) | (flags),                                   \
        RULES,                                                                \
        .next = &name##_vec,                                                  \
    };

#define SCALES_1 ", float? scales=None"
#define SCALES_2 ", float? scales_h=None, float? scales_w=None"
#define SCALES_3                                                              \
    ", float? scales_d=None, float? scales_h=None, float? "                   \
    "scales_w=None"
#define CORNERS ", bool align_corners"

UPSAMPLE(upsample_nearest1d, 1, CFX_RESAMPLE_NEAREST, 0, "", SCALES_1)
UPSAMPLE(upsample_nearest2d, 2, CFX_RESAMPLE_NEAREST, 0, "", SCALES_2)
UPSAMPLE(upsample_nearest3d, 3, CFX_RESAMPLE_NEAREST, 0, "", SCALES_3)
UPSAMPLE(_upsample_nearest_exact1d, 1, CFX_RESAMPLE_NEAREST_EXACT, 0, "",
         SCALES_1)
UPSAMPLE(_upsample_nearest_exact2d, 2, CFX_RESAMPLE_NEAREST_EXACT, 0, "",
         SCALES_2)
UPSAMPLE(_upsample_nearest_exact3d, 3, CFX_RESAMPLE_NEAREST_EXACT, 0, "",
         SCALES_3)
UPSAMPLE(upsample_linear1d, 1, CFX_RESAMPLE_LINEAR, 0, CORNERS, SCALES_1)
UPSAMPLE(upsample_bilinear2d, 2, CFX_RESAMPLE_LINEAR, 0, CORNERS, SCALES_2)
UPSAMPLE(upsample_trilinear3d, 3, CFX_RESAMPLE_LINEAR, 0, CORNERS, SCALES_3)
UPSAMPLE(upsample_bicubic2d, 2, CFX_RESAMPLE_CUBIC, 0, CORNERS, SCALES_2)
UPSAMPLE(_upsample_bilinear2d_aa, 2, CFX_RESAMPLE_LINEAR, FILTERED, CORNERS,
         SCALES_2)
UPSAMPLE(_upsample_bicubic2d_aa, 2, CFX_RESAMPLE_CUBIC, FILTERED, CORNERS,
         SCALES_2)
