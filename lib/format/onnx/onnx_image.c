/*
 * onnx_image -- rules of resizing and sampling images.
 */
#include <math.h>

#include "format/onnx/onnx.h"

/* A grid of more points is not computed when the model is read. */
enum { MAX_SPATIAL = 3, MAX_POINTS = 1 << 24 };

/* The parameters of a resize, by axis. */
typedef struct resize {
    int rank;
    cfx_value size[CFX_MAX_RANK]; /* of the result: ints, or nodes */
    double scale[CFX_MAX_RANK];   /* 0: of the sizes */
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
    if (i == ONNX_NO_INPUT && a) {
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

static bool set_axis(onnx_node *n, resize *r, int axis, double scale,
                     cfx_value size)
{
    if (axis >= r->rank)
        return onnx_refuse(n, CFX_ESHAPE,
                           "it resizes an axis that is not there");
    r->scale[axis] = scale;
    r->size[axis] = size;
    return true;
}

/* An extent that was computed from a scale. */
static bool set_extent(onnx_node *n, resize *r, int axis, double scale,
                       double size)
{
    if (!(size >= 0 && size < INT32_MAX))
        return onnx_refuse(n, CFX_ESHAPE, "its result has no extent");
    return set_axis(n, r, axis, scale, cfx_int((int64_t)size));
}

static bool scaled(onnx_node *n, resize *r, cfx_value x, const float *scale,
                   size_t count)
{
    for (size_t i = 0; i < count && !cfx_scope_failed(n->s); i++) {
        int axis = axis_of(n, i, r->rank);
        if (scale[i] == 1 && axis < r->rank)
            continue;
        double in = (double)onnx_known_size(n, x, axis);
        if (!cfx_scope_failed(n->s))
            set_extent(n, r, axis, (double)scale[i],
                       floor((double)((float)in * scale[i])));
    }
    return !cfx_scope_failed(n->s);
}

static bool sized(onnx_node *n, resize *r, size_t i)
{
    onnx_list sizes;

    if (!onnx_ints(n, i, &sizes))
        return false;
    for (size_t k = 0; k < sizes.n; k++)
        if (!set_axis(n, r, axis_of(n, k, r->rank), 0, sizes.item[k]))
            return false;
    return true;
}

/* One scale for all axes: the least or the largest of those of the sizes. */
static bool keeping_aspect(onnx_node *n, resize *r, cfx_value x, size_t i)
{
    bool least = onnx_attr_is(n, "keep_aspect_ratio_policy", "not_larger",
                              "stretch");
    double scale = least ? INFINITY : 0;
    onnx_int_list sizes = onnx_plain_ints(n, i, NULL);

    if (!sizes.ok)
        return false;
    if (!least &&
        !onnx_attr_is(n, "keep_aspect_ratio_policy", "not_smaller", "stretch"))
        return onnx_refuse(n, CFX_EUNSUPPORTED,
                           "its policy of aspect ratios is not supported");
    for (size_t k = 0; k < sizes.n; k++) {
        int64_t in = onnx_known_size(n, x, axis_of(n, k, r->rank));
        double own = in > 0 ? (double)sizes.item[k] / (double)in : 0;
        if (cfx_scope_failed(n->s) || !(own > 0))
            return onnx_refuse(n, CFX_ESHAPE, "its result has no extent");
        scale = least ? fmin(scale, own) : fmax(scale, own);
    }
    for (size_t k = 0; k < sizes.n; k++) {
        int axis = axis_of(n, k, r->rank);
        double in = (double)onnx_known_size(n, x, axis);
        if (!set_extent(n, r, axis, scale, floor(in * scale + 0.5)))
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
    size_t count;

    *r = (resize){.rank = onnx_rank(n, x)};
    if (cfx_scope_failed(n->s))
        return false;
    for (int i = 0; i < r->rank; i++) {
        r->size[i] = onnx_size(n->s, x, i);
        r->scale[i] = 1;
    }
    const float *scale = scales_of(n, scales, &count);
    if (count)
        return scaled(n, r, x, scale, count);
    if (!onnx_has(n, sizes))
        return onnx_refuse(n, CFX_EUNDECIDED,
                           "its scales are not known when the model is read");
    return stretches(n) ? sized(n, r, sizes) : keeping_aspect(n, r, x, sizes);
}

/* Does an axis keep its extent, and every pixel its place? */
static bool keeps(onnx_node *n, cfx_value x, const resize *r, int axis)
{
    const cfx_tensor *meta = onnx_meta_tensor(n, x);

    if (r->scale[axis] != 0 || !meta)
        return r->scale[axis] == 1;
    return cfx_dim_known_eq(n->importer->r.env,
                            cfx_value_dim(onnx_meta(n->s, r->size[axis])),
                            meta->shape[axis]);
}

/* ONNX Runtime copies an image that keeps all its extents, whatever the
 * scales. */
static bool keeps_extents(onnx_node *n, cfx_value x, const resize *r)
{
    bool same = true;

    for (int i = 0; i < r->rank && same; i++)
        same = r->scale[i] == 1 ||
               cfx_value_equal(r->size[i], onnx_size(n->s, x, i));
    return same;
}

/* torch resizes one to three axes after batch and channels. */
static bool is_image(onnx_node *n, cfx_value x, const resize *r)
{
    return r->rank >= 3 && r->rank <= 5 && keeps(n, x, r, 0) &&
           keeps(n, x, r, 1);
}

/* torch computes coordinates by the scale where it is given, else by the
 * sizes. */
static cfx_value interpolate(onnx_node *n, cfx_value x, const resize *r,
                             const char *mode, cfx_value align)
{
    cfx_value scale[CFX_MAX_RANK];
    bool scaled_all = true;
    size_t nd = (size_t)r->rank - 2;

    for (size_t i = 0; i < nd; i++) {
        scaled_all = scaled_all && r->scale[2 + i] != 0;
        scale[i] = cfx_float(r->scale[2 + i]);
    }
    if (!scaled_all)
        return cfx_interpolate(
            n->s, x, .size = onnx_arg(n->s, nd, r->size + 2),
            .mode = cfx_str(n->s, mode), .align_corners = align);
    return cfx_interpolate(n->s, x, .scale_factor = onnx_arg(n->s, nd, scale),
                           .mode = cfx_str(n->s, mode), .align_corners = align,
                           .recompute_scale_factor = cfx_bool(false));
}

static const char *linear_mode(int nd)
{
    return nd == 1 ? "linear" : nd == 2 ? "bilinear" : "trilinear";
}

/* ---- Any resize, as a product with a matrix for each axis ---- */

typedef struct kernel {
    bool nearest, cubic, antialias, exclude, crops;
    double a;           /* the coefficient of cubic kernels */
    const char *rounds; /* nearest_mode */
    const char *mode;   /* of coordinates */
    float beyond;       /* the value of pixels outside of the image */
    /* The axis at hand: its extents, and the part of it that is resized. */
    int64_t in, out;
    float scale, roi[2];
} kernel;

/* The coordinate in the input of pixel i of the result, in float32: which pixel
 * is nearest depends on the rounding, and ONNX Runtime has this one. */
static float coordinate(const kernel *k, int64_t i)
{
    float x = (float)i, in = (float)k->in, out = (float)k->out;

    if (k->scale == 1)
        return x;
    if (!strcmp(k->mode, "asymmetric"))
        return x / k->scale;
    if (!strcmp(k->mode, "align_corners"))
        return k->out == 1 ? 0 : x * (in - 1) / (out - 1);
    if (!strcmp(k->mode, "pytorch_half_pixel") && k->out == 1)
        return 0;
    if (!strcmp(k->mode, "tf_half_pixel_for_nn"))
        return (x + 0.5f) / k->scale;
    if (!strcmp(k->mode, "half_pixel_symmetric")) {
        float adjust = out / (k->scale * in);
        return in / 2 * (1 - adjust) + (x + 0.5f) / k->scale - 0.5f;
    }
    if (k->crops) {
        float size = k->roi[1] - k->roi[0];
        return k->out > 1
                   ? k->roi[0] * (in - 1) + x * size * (in - 1) / (out - 1)
                   : 0.5f * (k->roi[0] + k->roi[1]) * (in - 1);
    }
    return (x + 0.5f) / k->scale - 0.5f;
}

static int64_t nearest_pixel(const kernel *k, int64_t i)
{
    double x = (double)coordinate(k, i);
    int64_t at = (int64_t)(!strcmp(k->rounds, "floor")  ? floor(x)
                           : !strcmp(k->rounds, "ceil") ? ceil(x)
                           : !strcmp(k->rounds, "round_prefer_ceil")
                               ? floor(x + 0.5)
                               : ceil(x - 0.5));

    return at < 0 ? 0 : at >= k->in ? k->in - 1 : at;
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
static void fill_row(float *row, const kernel *k, int64_t i)
{
    double x = (double)coordinate(k, i), sum = 0;
    double shrink = k->antialias && k->scale < 1 ? (double)k->scale : 1;
    double reach = (k->cubic ? 2 : 1) / shrink;
    int64_t first = (int64_t)floor(x - reach), last = (int64_t)ceil(x + reach);

    for (int64_t at = first; at <= last; at++)
        if (!k->exclude || (at >= 0 && at < k->in))
            sum += weight_at(k, ((double)at - x) * shrink);
    for (int64_t at = first; at <= last && sum != 0; at++) {
        int64_t to = at < 0 ? 0 : at >= k->in ? k->in - 1 : at;
        if (!k->exclude || to == at)
            row[to] += (float)(weight_at(k, ((double)at - x) * shrink) / sum);
    }
}

static cfx_value by_index(onnx_node *n, cfx_value x, int axis, const kernel *k)
{
    int64_t *index = onnx_alloc(n->s, (size_t)k->out + 1, sizeof(*index));

    for (int64_t i = 0; index && i < k->out; i++)
        index[i] = nearest_pixel(k, i);
    return index ? cfx_index_select(
                       n->s, x, cfx_int(axis),
                       onnx_int_tensor(n->s, 1, (size_t)k->out, index))
                 : cfx_none();
}

static cfx_value by_matrix(onnx_node *n, cfx_value x, int axis,
                           const kernel *k)
{
    cfx_scope *s = n->s;
    int64_t shape[] = {k->out, k->in};
    cfx_tensor *t;

    if (cfx_tensor_new(&t, s->ctx, CFX_F32, 2, shape, &s->error))
        return cfx_none();
    cfx_value w = cfx_scope_take(s, cfx_value_of_tensor(t));
    memset(t->data, 0, (size_t)(k->out * k->in) * sizeof(float));
    for (int64_t i = 0; i < k->out; i++)
        fill_row((float *)t->data + i * k->in, k, i);
    if (axis == onnx_rank(n, x) - 1)
        return cfx_linear(s, x, w);
    cfx_value last = cfx_int(-1), at = cfx_int(axis);
    x = cfx_transpose(s, x, at, last);
    return cfx_transpose(s, cfx_linear(s, x, w), at, last);
}

/* Pixels outside of the image on one axis get their own value. */
static cfx_value with_beyond(onnx_node *n, cfx_value y, int axis,
                             const kernel *k)
{
    cfx_scope *s = n->s;
    int64_t shape[CFX_MAX_RANK];
    int rank = onnx_rank(n, y);
    bool any = false;
    cfx_tensor *t;

    for (int i = 0; i < rank; i++)
        shape[i] = i == axis ? k->out : 1;
    if (cfx_scope_failed(s) ||
        cfx_tensor_new(&t, s->ctx, CFX_BOOL, rank, shape, &s->error))
        return y;
    cfx_value mask = cfx_scope_take(s, cfx_value_of_tensor(t));
    for (int64_t i = 0; i < k->out; i++) {
        float x = coordinate(k, i);
        bool is = x < 0 || x > (float)(k->in - 1);
        ((uint8_t *)t->data)[i] = is;
        any = any || is;
    }
    return any ? cfx_masked_fill(s, y, mask, cfx_float((double)k->beyond)) : y;
}

static void read_kernel(onnx_node *n, kernel *k)
{
    *k = (kernel){
        .nearest = onnx_attr_is(n, "mode", "nearest", "nearest"),
        .cubic = onnx_attr_is(n, "mode", "cubic", "nearest"),
        .antialias = onnx_attr_int(n, "antialias", 0),
        .exclude = onnx_attr_int(n, "exclude_outside", 0),
        .a = onnx_attr_float(n, "cubic_coeff_a", -0.75),
        .rounds = onnx_attr_text(n, "nearest_mode", "round_prefer_floor"),
        .mode = onnx_attr_text(n, "coordinate_transformation_mode",
                               "half_pixel"),
        .beyond = (float)onnx_attr_float(n, "extrapolation_value", 0),
    };
    if (n->opset < 11) {
        k->mode = "asymmetric";
        k->rounds = "floor";
    }
    k->crops = !strcmp(k->mode, "tf_crop_and_resize");
}

/* roi holds the starts of the axes, then the ends. */
static bool read_roi(onnx_node *n, kernel *k, int axis, int rank)
{
    size_t count = 0;
    const float *roi;

    if (!k->crops)
        return true;
    roi = floats_of(n, 1, &count);
    if (!roi || count % 2)
        return onnx_refuse(n, CFX_EUNDECIDED,
                           "its roi is not known when the model is read");
    k->roi[0] = 0;
    k->roi[1] = 1;
    for (size_t i = 0; i < count / 2; i++)
        if (axis_of(n, i, rank) == axis) {
            k->roi[0] = roi[i];
            k->roi[1] = roi[count / 2 + i];
        }
    return !cfx_scope_failed(n->s);
}

/* Turn to an axis. */
static bool read_axis(onnx_node *n, kernel *k, cfx_value x, const resize *r,
                      int axis)
{
    k->in = onnx_known_size(n, x, axis);
    if (cfx_scope_failed(n->s) || !read_roi(n, k, axis, r->rank))
        return false;
    if (r->size[axis].kind != CFX_INT)
        return onnx_refuse(n, CFX_EUNDECIDED,
                           "its coordinates need extents that are numbers");
    k->out = r->size[axis].u.i;
    if (k->out < 0 || (k->in ? k->out > INT32_MAX / k->in : k->out > 0))
        return onnx_refuse(n, CFX_ESHAPE, "it resizes %lld pixels to %lld",
                           (long long)k->in, (long long)k->out);
    k->scale = r->scale[axis] != 0
                   ? (float)r->scale[axis]
                   : (float)k->out / (float)(k->in ? k->in : 1);
    return true;
}

/* With antialias, an axis that keeps its extent is copied. */
static bool skips(onnx_node *n, cfx_value x, const resize *r, const kernel *k,
                  int axis)
{
    return keeps(n, x, r, axis) ||
           (k->antialias &&
            cfx_value_equal(r->size[axis], onnx_size(n->s, x, axis)));
}

static cfx_value resize_axes(onnx_node *n, cfx_value x, const resize *r,
                             kernel *k)
{
    cfx_value y = x;

    for (int i = 0; i < r->rank; i++) {
        if (skips(n, x, r, k, i))
            continue;
        if (!read_axis(n, k, x, r, i))
            return CFX_NOTHING;
        y = k->nearest ? by_index(n, y, i, k) : by_matrix(n, y, i, k);
    }
    for (int i = 0; i < r->rank && k->crops; i++) {
        if (skips(n, x, r, k, i))
            continue;
        if (!read_axis(n, k, x, r, i))
            return CFX_NOTHING;
        y = with_beyond(n, y, i, k);
    }
    return y;
}

static bool is_known_extent(const cfx_tensor *meta, const resize *r, int axis)
{
    return meta && cfx_dim_is_int(meta->shape[axis]) &&
           r->size[axis].kind == CFX_INT;
}

/* torch multiplies by the inverse of the scale, which may round to another
 * pixel, takes an image of twice the extent to be scaled by 2, and makes no empty
 * image. */
static bool torch_rounds_alike(onnx_node *n, cfx_value x, const resize *r,
                               kernel k)
{
    const cfx_tensor *meta = onnx_meta_tensor(n, x);

    for (int axis = 2; axis < r->rank; axis++) {
        if (!is_known_extent(meta, r, axis) || keeps(n, x, r, axis))
            continue;
        if (!read_axis(n, &k, x, r, axis) || !k.out)
            return false;
        float step = r->scale[axis] != 0 ? 1 / k.scale
                                         : (float)k.in / (float)k.out;
        for (int64_t i = 0; i < k.out && k.nearest; i++)
            if ((int64_t)((float)i * step) != nearest_pixel(&k, i) ||
                (k.out == 2 * k.in && i / 2 != nearest_pixel(&k, i)))
                return false;
    }
    return true;
}

/* torch's operator where it has these coordinates, or absent; it computes
 * align_corners by the sizes. */
static cfx_value by_torch(onnx_node *n, cfx_value x, const resize *r,
                          const kernel *k)
{
    bool half = !strcmp(k->mode, "half_pixel");
    bool corners = !strcmp(k->mode, "align_corners");
    resize sizes = *r;

    if (!is_image(n, x, r) || !torch_rounds_alike(n, x, r, *k))
        return CFX_NOTHING;
    if (k->nearest)
        return strcmp(k->mode, "asymmetric") || strcmp(k->rounds, "floor")
                   ? CFX_NOTHING
                   : interpolate(n, x, r, "nearest", CFX_NOTHING);
    for (int i = 2; i < r->rank && corners; i++)
        sizes.scale[i] = 0;
    if (k->antialias || k->exclude || (!half && !corners) ||
        (k->cubic && (r->rank != 4 || k->a != -0.75)))
        return CFX_NOTHING;
    return interpolate(n, x, corners ? &sizes : r,
                       k->cubic ? "bicubic" : linear_mode(r->rank - 2),
                       cfx_bool(corners));
}

cfx_value onnx_import_resize(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    kernel k;
    resize r;

    if (!read_resize(n, &r, x, n->opset < 11 ? 1 : 2, 3))
        return CFX_NOTHING;
    read_kernel(n, &k);
    if (keeps_extents(n, x, &r))
        return x;
    /* torch would round the extents down where they keep the aspect. */
    cfx_value y = stretches(n) ? by_torch(n, x, &r, &k) : CFX_NOTHING;
    return y.kind ? y : resize_axes(n, x, &r, &k);
}

/* Upsample is Resize with asymmetric coordinates. */
cfx_value onnx_import_upsample(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    kernel k;
    resize r;

    if (!read_resize(n, &r, x, n->opset < 9 ? ONNX_NO_INPUT : 1,
                     ONNX_NO_INPUT))
        return CFX_NOTHING;
    read_kernel(n, &k);
    cfx_value y = by_torch(n, x, &r, &k);
    return y.kind ? y : resize_axes(n, x, &r, &k);
}

cfx_value onnx_import_grid_sample(onnx_node *n)
{
    const char *mode = onnx_attr_text(n, "mode", "linear");

    if (!strcmp(mode, "linear"))
        mode = "bilinear";
    else if (!strcmp(mode, "cubic"))
        mode = "bicubic";
    return cfx_grid_sample(
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
cfx_value onnx_import_affine_grid(onnx_node *n)
{
    bool corners = onnx_attr_int(n, "align_corners", 0);
    cfx_value theta = onnx_tensor(n, 0), shape[2 + MAX_SPATIAL];
    onnx_int_list size = onnx_plain_ints(n, 1, NULL);
    int64_t points = 1;

    if (!size.ok)
        return CFX_NOTHING;
    if ((size.n != 4 && size.n != 5) || onnx_type_of(n, theta) != CFX_F32)
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "its size has %zu items, or theta is not of float32",
                         size.n);
    for (size_t i = 2; i < size.n; i++) {
        if (size.item[i] < 1 || size.item[i] > MAX_POINTS / points)
            return onnx_fail(n, CFX_ELIMIT,
                             "its image has none, or more than %d points",
                             MAX_POINTS);
        points *= size.item[i];
        shape[i - 1] = cfx_int(size.item[i]);
    }
    int nd = (int)size.n - 2;
    cfx_value y = cfx_matmul(
        n->s, places(n, size.item + 2, nd, corners),
        cfx_transpose(n->s, theta, cfx_int(1), cfx_int(2)));
    shape[0] = onnx_size(n->s, theta, 0);
    shape[nd + 1] = cfx_int(nd);
    return cfx_reshape(n->s, y, onnx_arg(n->s, size.n, shape));
}
