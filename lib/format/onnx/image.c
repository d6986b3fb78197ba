/*
 * image -- rules of resizing and sampling images.
 */
#include <math.h>

#include "format/onnx/onnx.h"

/* A grid of more points is not computed when the model is read. */
enum { MAX_SPATIAL = 3, MAX_POINTS = 1 << 24 };

/* The parameters of a resize, for the spatial axes. */
typedef struct resize {
    int nd;
    cfx_value size[MAX_SPATIAL]; /* of the result: ints, or nodes */
    double scale[MAX_SPATIAL];   /* 0: of the sizes */
} resize;

/* The numbers of a constant input with one axis; NULL if it is none. */
static const float *floats_of(onnx_node *n, size_t i, size_t *count)
{
    const cfx_tensor *t = onnx_has(n, i) && n->in[i].kind == CFX_TENSOR
                              ? n->in[i].u.tensor
                              : NULL;
    cfx_tensor *row;

    if (!t || t->dtype != CFX_F32 || t->rank != 1 ||
        cfx_tensor_contiguous(&row, t, &n->s->error))
        return NULL;
    *count = (size_t)cfx_tensor_numel(row);
    return cfx_scope_take(n->s, cfx_value_of_tensor(row)).u.tensor->data;
}

static const float *scales_of(onnx_node *n, size_t i, size_t *count)
{
    const Onnx__AttributeProto *a = onnx_attr(n, "scales");

    *count = 0;
    if (i == 64 && a) {
        *count = a->n_floats;
        return a->floats;
    }
    return floats_of(n, i, count);
}

/* The axes that sizes and scales are of: all, or the attribute's. */
static int axis_of(onnx_node *n, size_t i, int rank)
{
    const int64_t *axes;
    size_t count = onnx_attr_ints(n, "axes", &axes);

    return count ? i < count ? onnx_axis(n, axes[i], rank) : rank : (int)i;
}

/* Batch and channels stay as they are. */
static bool set_axis(onnx_node *n, resize *r, cfx_value x, int axis,
                     double scale, cfx_value size)
{
    const cfx_tensor *meta = onnx_meta_tensor(n, x);

    if (!meta || axis >= meta->rank)
        return onnx_fail(n, CFX_ESHAPE,
                         "it resizes an axis that is not there"),
               false;
    if (axis < 2) {
        bool same = scale == 1 ||
                    (scale == 0 &&
                     cfx_value_equal(size, onnx_size(n->s, x, axis)));
        if (scale == 0 && onnx_is_symint(n->s, size))
            same = cfx_dim_known_eq(n->lowering->r.env,
                                    cfx_value_dim(onnx_meta(n->s, size)),
                                    meta->shape[axis]);
        return same ||
               (onnx_fail(n, CFX_EUNSUPPORTED, "it resizes batch or channels"),
                false);
    }
    r->scale[axis - 2] = scale;
    r->size[axis - 2] = size;
    return true;
}

static bool scaled(onnx_node *n, resize *r, cfx_value x, const float *scale,
                   size_t count, int rank)
{
    for (size_t i = 0; i < count; i++) {
        int axis = axis_of(n, i, rank);
        if (!(scale[i] > 0) || cfx_scope_failed(n->s) ||
            !set_axis(n, r, x, axis, (double)scale[i], CFX_NOTHING))
            return false;
        if (axis < 2)
            continue;
        double size = floor((double)onnx_known_size(n, x, axis) *
                            (double)scale[i]);
        if (!(size >= 1 && size < INT32_MAX))
            return onnx_fail(n, CFX_ESHAPE, "its result has no extent"), false;
        r->size[axis - 2] = cfx_int((int64_t)size);
    }
    return !cfx_scope_failed(n->s);
}

static bool sized(onnx_node *n, resize *r, cfx_value x, size_t i, int rank)
{
    onnx_list sizes;

    if (!onnx_ints(n, i, &sizes))
        return false;
    for (size_t k = 0; k < sizes.n; k++)
        if (!set_axis(n, r, x, axis_of(n, k, rank), 0, sizes.item[k]))
            return false;
    return true;
}

/* One scale for all axes: the least or the largest of those of the sizes. */
static bool keeping_aspect(onnx_node *n, resize *r, cfx_value x, size_t i,
                           int rank)
{
    bool least = onnx_attr_is(n, "keep_aspect_ratio_policy", "not_larger",
                              "stretch");
    double scale = least ? INFINITY : 0;
    size_t count = 0;
    int64_t *sizes;
    bool given;

    if (!least &&
        !onnx_attr_is(n, "keep_aspect_ratio_policy", "not_smaller", "stretch"))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "its policy of aspect ratios is none that cfx knows"),
               false;
    if (!onnx_plain_ints(n, i, NULL, &count, &sizes, &given))
        return false;
    for (size_t k = 0; k < count; k++) {
        int64_t in = onnx_known_size(n, x, axis_of(n, k, rank));
        double own = in > 0 ? (double)sizes[k] / (double)in : 0;
        if (cfx_scope_failed(n->s) || !(own > 0))
            return onnx_fail(n, CFX_ESHAPE, "its result has no extent"), false;
        scale = least ? fmin(scale, own) : fmax(scale, own);
    }
    for (size_t k = 0; k < count; k++) {
        int axis = axis_of(n, k, rank);
        double out = floor((double)onnx_known_size(n, x, axis) * scale + 0.5);
        if (!(out >= 1 && out < INT32_MAX))
            return onnx_fail(n, CFX_ESHAPE, "its result has no extent"), false;
        if (!set_axis(n, r, x, axis, scale, cfx_int((int64_t)out)))
            return false;
    }
    return true;
}

static bool stretches(const onnx_node *n)
{
    return onnx_attr_is(n, "keep_aspect_ratio_policy", "stretch", "stretch");
}

static bool read_resize(onnx_node *n, resize *r, cfx_value x, size_t scales,
                        size_t sizes)
{
    int rank = onnx_rank(n, x);
    size_t count;

    if (cfx_scope_failed(n->s))
        return false;
    if (rank < 3 || rank > 5)
        return onnx_fail(n, CFX_EUNSUPPORTED, "its input has %d axes", rank),
               false;
    *r = (resize){.nd = rank - 2};
    for (int i = 0; i < r->nd; i++) {
        r->size[i] = onnx_size(n->s, x, 2 + i);
        r->scale[i] = 1;
    }
    const float *scale = scales_of(n, scales, &count);
    if (count)
        return scaled(n, r, x, scale, count, rank);
    if (!onnx_has(n, sizes))
        return onnx_fail(n, CFX_EUNDECIDED,
                         "its scales are not known when the model is read"),
               false;
    return stretches(n) ? sized(n, r, x, sizes, rank)
                        : keeping_aspect(n, r, x, sizes, rank);
}

/* torch computes coordinates by the scale where it is given, else by the
 * sizes. */
static cfx_value interpolate(onnx_node *n, cfx_value x, const resize *r,
                             const char *mode, cfx_value align)
{
    cfx_value scale[MAX_SPATIAL];
    bool scaled_all = true;

    for (int i = 0; i < r->nd; i++) {
        scaled_all = scaled_all && r->scale[i] != 0;
        scale[i] = cfx_float(r->scale[i]);
    }
    cfx_value size = onnx_arg(n->s, (size_t)r->nd, r->size);
    if (!scaled_all)
        return cfx_interpolate(n->s, x, .size = size,
                               .mode = cfx_str(n->s, mode),
                               .align_corners = align);
    return cfx_interpolate(
        n->s, x, .scale_factor = onnx_arg(n->s, (size_t)r->nd, scale),
        .mode = cfx_str(n->s, mode), .align_corners = align,
        .recompute_scale_factor = cfx_bool(false));
}

static const char *linear_mode(int nd)
{
    return nd == 1 ? "linear" : nd == 2 ? "bilinear" : "trilinear";
}

/* ---- Any resize, as a product with a matrix for each axis ---- */

typedef struct kernel {
    bool nearest, cubic, antialias, exclude;
    double a;           /* the coefficient of cubic kernels */
    const char *rounds; /* nearest_mode */
    const char *mode;   /* of coordinates */
    double roi[2];      /* of the axis, for tf_crop_and_resize */
} kernel;

/* The coordinate in the input of pixel i of the result. */
static double coordinate(const kernel *k, int64_t i, int64_t in, int64_t out,
                         double scale)
{
    double x = (double)i;

    if (!strcmp(k->mode, "asymmetric"))
        return x / scale;
    if (!strcmp(k->mode, "align_corners")) {
        double whole = (double)in * scale;
        return whole == 1 ? 0 : x * ((double)in - 1) / (whole - 1);
    }
    if (!strcmp(k->mode, "pytorch_half_pixel") && out == 1)
        return -0.5;
    if (!strcmp(k->mode, "tf_half_pixel_for_nn"))
        return (x + 0.5) / scale;
    if (!strcmp(k->mode, "half_pixel_symmetric")) {
        double adjust = (double)out / (scale * (double)in);
        double center = (double)in / 2;
        return center * (1 - adjust) + (x + 0.5) / scale - 0.5;
    }
    if (!strcmp(k->mode, "tf_crop_and_resize"))
        return out > 1 ? k->roi[0] * ((double)in - 1) +
                             x * (k->roi[1] - k->roi[0]) * ((double)in - 1) /
                                 ((double)out - 1)
                       : 0.5 * (k->roi[0] + k->roi[1]) * ((double)in - 1);
    return (x + 0.5) / scale - 0.5;
}

static int64_t nearest_pixel(const kernel *k, double x)
{
    if (!strcmp(k->rounds, "floor"))
        return (int64_t)floor(x);
    if (!strcmp(k->rounds, "ceil"))
        return (int64_t)ceil(x);
    if (!strcmp(k->rounds, "round_prefer_ceil"))
        return (int64_t)floor(x + 0.5);
    return (int64_t)ceil(x - 0.5);
}

static double weight_at(const kernel *k, double d)
{
    double x = fabs(d), a = k->a;

    if (!k->cubic)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* One row: the share of each pixel of the input. Pixels outside count as the
 * edge, or not at all with exclude_outside. */
static void fill_row(float *row, const kernel *k, int64_t i, int64_t in,
                     int64_t out, double scale)
{
    double x = coordinate(k, i, in, out, scale), sum = 0;
    double shrink = k->antialias && scale < 1 ? scale : 1;
    double reach = (k->cubic ? 2 : 1) / shrink;
    int64_t first = (int64_t)floor(x - reach), last = (int64_t)ceil(x + reach);

    for (int64_t at = first; at <= last; at++)
        if (!k->exclude || (at >= 0 && at < in))
            sum += weight_at(k, ((double)at - x) * shrink);
    for (int64_t at = first; at <= last && sum != 0; at++) {
        int64_t to = at < 0 ? 0 : at >= in ? in - 1 : at;
        if (!k->exclude || to == at)
            row[to] += (float)(weight_at(k, ((double)at - x) * shrink) / sum);
    }
}

static bool outside(const kernel *k, double x, int64_t in)
{
    return !strcmp(k->mode, "tf_crop_and_resize") &&
           (x < 0 || x > (double)in - 1);
}

static cfx_value by_index(onnx_node *n, cfx_value x, int axis, const kernel *k,
                          int64_t in, int64_t out, double scale)
{
    int64_t *index = onnx_alloc(n->s, (size_t)out + 1, sizeof(*index));

    for (int64_t i = 0; index && i < out; i++) {
        int64_t at = nearest_pixel(k, coordinate(k, i, in, out, scale));
        index[i] = at < 0 ? 0 : at >= in ? in - 1 : at;
    }
    return index
               ? cfx_index_select(n->s, x, cfx_int(axis),
                                  onnx_int_tensor(n->s, 1, (size_t)out, index))
               : cfx_none();
}

static cfx_value by_matrix(onnx_node *n, cfx_value x, int axis,
                           const kernel *k, int64_t in, int64_t out,
                           double scale)
{
    cfx_scope *s = n->s;
    int64_t shape[] = {out, in};
    cfx_tensor *t;

    if (cfx_tensor_new(&t, s->ctx, CFX_F32, 2, shape, &s->error))
        return cfx_none();
    memset(t->data, 0, (size_t)(in * out) * sizeof(float));
    for (int64_t i = 0; i < out; i++)
        fill_row((float *)t->data + i * in, k, i, in, out, scale);
    cfx_value w = cfx_scope_take(s, cfx_value_of_tensor(t));
    cfx_value last = cfx_int(-1), at = cfx_int(axis);
    x = cfx_transpose(s, x, at, last);
    return cfx_transpose(s, cfx_linear(s, x, w), at, last);
}

static bool read_kernel(onnx_node *n, kernel *k)
{
    onnx_ignore(n, "extrapolation_value"); /* nothing is outside */
    *k = (kernel){
        .nearest = onnx_attr_is(n, "mode", "nearest", "nearest"),
        .cubic = onnx_attr_is(n, "mode", "cubic", "nearest"),
        .antialias = onnx_attr_int(n, "antialias", 0),
        .exclude = onnx_attr_int(n, "exclude_outside", 0),
        .a = onnx_attr_float(n, "cubic_coeff_a", -0.75),
        .rounds = onnx_attr_text(n, "nearest_mode", "round_prefer_floor"),
        .mode = onnx_attr_text(n, "coordinate_transformation_mode",
                               "half_pixel"),
        .roi = {0, 1},
    };
    if (n->opset < 11) {
        k->mode = "asymmetric";
        k->rounds = "floor";
    }
    return true;
}

/* roi holds the starts of the axes, then the ends. */
static bool read_roi(onnx_node *n, kernel *k, int axis, int rank)
{
    size_t count = 0;
    const float *roi;

    if (strcmp(k->mode, "tf_crop_and_resize"))
        return true;
    roi = floats_of(n, 1, &count);
    if (!roi || count % 2)
        return onnx_fail(n, CFX_EUNDECIDED,
                         "its roi is not known when the model is read"),
               false;
    k->roi[0] = 0;
    k->roi[1] = 1;
    for (size_t i = 0; i < count / 2; i++)
        if (axis_of(n, i, rank) == axis) {
            k->roi[0] = (double)roi[i];
            k->roi[1] = (double)roi[count / 2 + i];
        }
    return !cfx_scope_failed(n->s);
}

static void resize_axes(onnx_node *n, cfx_value x, const resize *r, kernel *k)
{
    int rank = r->nd + 2;

    for (int i = 0; i < r->nd && !cfx_scope_failed(n->s); i++) {
        int64_t in = onnx_known_size(n, x, 2 + i);
        if (cfx_scope_failed(n->s) || !read_roi(n, k, 2 + i, rank))
            return;
        if (r->size[i].kind != CFX_INT || in < 1) {
            onnx_fail(n, CFX_EUNSUPPORTED,
                      "its coordinates need extents that are numbers");
            return;
        }
        int64_t out = r->size[i].u.i;
        double scale = r->scale[i] != 0 ? r->scale[i]
                                        : (double)out / (double)in;
        if (out == in && scale == 1 && strcmp(k->mode, "tf_crop_and_resize"))
            continue;
        for (int64_t p = 0; p < out; p++)
            if (outside(k, coordinate(k, p, in, out, scale), in)) {
                onnx_fail(n, CFX_EUNSUPPORTED, "its roi leaves the image");
                return;
            }
        if (out > INT32_MAX / in)
            onnx_fail(n, CFX_ESHAPE, "its extents are too large");
        else
            x = k->nearest ? by_index(n, x, 2 + i, k, in, out, scale)
                           : by_matrix(n, x, 2 + i, k, in, out, scale);
    }
    n->out[0] = x;
}

/* torch's operator where it has these coordinates; it computes align_corners by
 * the sizes. */
static bool by_torch(onnx_node *n, cfx_value x, const resize *r,
                     const kernel *k)
{
    bool half = !strcmp(k->mode, "half_pixel");
    bool corners = !strcmp(k->mode, "align_corners");
    resize sizes = *r;

    if (k->nearest) {
        if (strcmp(k->mode, "asymmetric") || strcmp(k->rounds, "floor"))
            return false;
        n->out[0] = interpolate(n, x, r, "nearest", CFX_NOTHING);
        return true;
    }
    for (int i = 0; i < r->nd && corners; i++) {
        double whole = r->scale[i] != 0 && r->size[i].kind == CFX_INT
                           ? (double)onnx_known_size(n, x, 2 + i) * r->scale[i]
                           : 0;
        corners = whole == 0 || whole == (double)r->size[i].u.i;
        sizes.scale[i] = 0;
    }
    if (k->antialias || k->exclude || (!half && !corners) ||
        (k->cubic && (r->nd != 2 || k->a != -0.75)))
        return false;
    n->out[0] = interpolate(n, x, corners ? &sizes : r,
                            k->cubic ? "bicubic" : linear_mode(r->nd),
                            cfx_bool(corners));
    return true;
}

void onnx_lower_resize(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    kernel k;
    resize r;

    if (!read_resize(n, &r, x, n->opset < 11 ? 1 : 2, 3) ||
        !read_kernel(n, &k))
        return;
    /* torch would round the extents down where they keep the aspect. */
    if (!stretches(n) || !by_torch(n, x, &r, &k))
        resize_axes(n, x, &r, &k);
}

/* Upsample is Resize with asymmetric coordinates. */
void onnx_lower_upsample(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    resize r;

    if (!read_resize(n, &r, x, n->opset < 9 ? 64 : 1, 64))
        return;
    if (onnx_attr_is(n, "mode", "nearest", "nearest"))
        n->out[0] = interpolate(n, x, &r, "nearest", CFX_NOTHING);
    else
        onnx_fail(n, CFX_EUNSUPPORTED,
                  "torch has no asymmetric coordinates for its mode");
}

void onnx_lower_grid_sample(onnx_node *n)
{
    const char *mode = onnx_attr_text(n, "mode", "linear");

    if (!strcmp(mode, "linear"))
        mode = "bilinear";
    else if (!strcmp(mode, "cubic"))
        mode = "bicubic";
    n->out[0] = cfx_grid_sample(
        n->s, onnx_tensor(n, 0), onnx_tensor(n, 1),
        .mode = cfx_str(n->s, mode),
        .padding_mode = cfx_str(n->s,
                                onnx_attr_text(n, "padding_mode", "zeros")),
        .align_corners = cfx_bool(onnx_attr_int(n, "align_corners", 0)));
}

/* The places of an image of these extents, x first, then 1:
 * [points, nd + 1]. */
static cfx_value places(onnx_node *n, const int64_t *size, int nd,
                        bool corners)
{
    int64_t shape[] = {1, nd + 1}, step = 1;
    cfx_tensor *t;

    for (int i = 0; i < nd; i++)
        shape[0] *= size[i];
    if (cfx_tensor_new(&t, n->s->ctx, CFX_F32, 2, shape, &n->s->error))
        return cfx_none();
    float *to = t->data;
    for (int i = nd - 1; i >= 0; i--) {
        double extent = (double)size[i];
        for (int64_t k = 0; k < shape[0]; k++) {
            double at = (double)(k / step % size[i]);
            double place = !corners       ? (2 * at + 1) / extent - 1
                           : size[i] == 1 ? 0
                                          : 2 * at / (extent - 1) - 1;
            to[k * (nd + 1) + nd - 1 - i] = (float)place;
        }
        step *= size[i];
    }
    for (int64_t k = 0; k < shape[0]; k++)
        to[k * (nd + 1) + nd] = 1;
    return cfx_scope_take(n->s, cfx_value_of_tensor(t));
}

/* Each place of an image, times theta [batch, nd, nd + 1]. */
void onnx_lower_affine_grid(onnx_node *n)
{
    bool corners = onnx_attr_int(n, "align_corners", 0), given;
    cfx_value theta = onnx_tensor(n, 0), shape[2 + MAX_SPATIAL];
    int64_t *size, points = 1;
    size_t count = 0;

    if (!onnx_plain_ints(n, 1, NULL, &count, &size, &given))
        return;
    if ((count != 4 && count != 5) || onnx_type_of(n, theta) != CFX_F32) {
        onnx_fail(n, CFX_EUNSUPPORTED,
                  "its size has %zu items, or theta is not of float32", count);
        return;
    }
    for (size_t i = 2; i < count; i++) {
        bool fits = size[i] > 0 && size[i] <= MAX_POINTS / points;
        points = fits ? points * size[i] : MAX_POINTS + 1;
        if (!fits)
            break;
        shape[i - 1] = cfx_int(size[i]);
    }
    if (points > MAX_POINTS) {
        onnx_fail(n, CFX_ELIMIT, "its image has none, or more than %d points",
                  MAX_POINTS);
        return;
    }
    int nd = (int)count - 2;
    cfx_value y = cfx_matmul(
        n->s, places(n, size + 2, nd, corners),
        cfx_transpose(n->s, theta, cfx_int(1), cfx_int(2)));
    shape[0] = onnx_size(n->s, theta, 0);
    shape[nd + 1] = cfx_int(nd);
    n->out[0] = cfx_reshape(n->s, y, onnx_arg(n->s, count, shape));
}
