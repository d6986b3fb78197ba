/*
 * onnx_write_image -- images of other sizes, and sampled ones, as ONNX.
 */
#include <math.h>

#include "format/onnx/onnx_write.h"
#include "op/op_impl.h"

/* ---- Resize ---- */

typedef struct resize {
    const cfx_tensor *x, *y;
    int axes;         /* of the image */
    double factor[3]; /* that were given; 0: none */
    bool corners;
} resize;

static double item_of(cfx_value v, int i)
{
    if (cfx_value_is_seq(v))
        v = (uint32_t)i < v.u.seq->len ? v.u.seq->item[i] : cfx_none();
    return v.kind == CFX_INT || v.kind == CFX_FLOAT ? cfx_value_number(v) : 0;
}

/* The factors are a list, or arguments of their own. */
static void take_factors(onnx_writer *w, resize *r)
{
    static const char *const names[] = {"scales_d", "scales_h", "scales_w"};
    cfx_value list = onnx_put_arg(w, "scale_factors");

    for (int i = 0; i < r->axes; i++) {
        r->factor[i] = item_of(list, i);
        if (!r->factor[i])
            r->factor[i] = item_of(onnx_put_arg(w, names[3 - r->axes + i]), i);
    }
    if (r->axes == 1 && !r->factor[0])
        r->factor[0] = item_of(onnx_put_arg(w, "scales"), 0);
}

static bool begin(onnx_writer *w, resize *r)
{
    *r = (resize){.x = onnx_put_meta(w, onnx_put_self_arg(w)),
                  .y = onnx_put_result(w)};
    onnx_put_unused(w, "output_size");
    r->corners = onnx_put_int(w, "align_corners", 0);
    if (!r->x || !r->y || r->x->rank < 3 || r->x->rank > 5) {
        onnx_put_fail(w, "its image is not known");
        return false;
    }
    r->axes = r->x->rank - 2;
    take_factors(w, r);
    return true;
}

/* By factors, if torch computes with them (NULL: not), or to the extents of the
 * result. */
static Onnx__NodeProto *put_resize(onnx_writer *w, const char *out,
                                   const char *x, const char *mode,
                                   const char *how, const double *factor,
                                   int rank, const cfx_dim *shape)
{
    float scale[5] = {1, 1};

    for (int i = 2; i < rank && factor; i++)
        scale[i] = (float)factor[i - 2];
    Onnx__NodeProto *n =
        factor ? ONNX_NODE(w, "Resize", out, x, "",
                           onnx_put_floats(w, (size_t)rank, scale))
               : ONNX_NODE(w, "Resize", out, x, "", "",
                           onnx_put_shape(w, (size_t)rank, shape));
    onnx_put_attr_text(w, n, "mode", mode);
    onnx_put_attr_text(w, n, "coordinate_transformation_mode", how);
    return n;
}

static bool is_scaled(const resize *r)
{
    bool scaled = !r->corners;

    for (int i = 0; i < r->axes; i++)
        scaled = scaled && r->factor[i] > 0;
    return scaled;
}

/* onnxruntime resizes images, not lines: a line is an image of one row. */
static void put_line(onnx_writer *w, const resize *r, const char *how)
{
    const char *x = onnx_put_self_value(w);
    const cfx_dim *y = r->y->shape;
    const cfx_dim shape[4] = {y[0], y[1], cfx_dim_int(1), y[2]};
    const double factor[2] = {1, r->factor[0]};

    x = ONNX_PUT(w, "Unsqueeze", NULL, x, onnx_put_one(w, 2));
    x = onnx_put_out(put_resize(w, NULL, x, "linear", how,
                                is_scaled(r) ? factor : NULL, 4, shape));
    ONNX_RESULT(w, "Squeeze", x, onnx_put_one(w, 2));
}

void onnx_write_upsample(onnx_writer *w)
{
    bool cubic = !strcmp(w->onnx, "cubic");
    resize r;

    if (!begin(w, &r))
        return;
    const char *how = r.corners ? "align_corners" : "half_pixel";
    if (r.axes == 1) {
        put_line(w, &r, how);
        return;
    }
    Onnx__NodeProto *n = put_resize(
        w, onnx_put_name(w), onnx_put_self_value(w), w->onnx, how,
        is_scaled(&r) ? r.factor : NULL, r.y->rank, r.y->shape);
    if (cubic)
        onnx_put_attr_float(w, n, "cubic_coeff_a", -0.75);
}

/* Write the source index of each item of an axis, which torch computes in float32.
 * If the extents are equal or one is twice the other, torch ignores the scale. */
static const char *put_places(onnx_writer *w, const resize *r, int i,
                              bool exact)
{
    int64_t in = onnx_put_extent(w, r->x, 2 + i);
    int64_t out = onnx_put_extent(w, r->y, 2 + i);
    float scale = r->factor[i] > 0 ? (float)(1 / r->factor[i])
                                   : (float)in / (float)out;
    int64_t *at = onnx_put_alloc(w, (size_t)out, sizeof(*at));

    for (int64_t k = 0; k < out && at && !w->st; k++) {
        int64_t from = !exact && out % in == 0 && out / in <= 2
                           ? k / (out / in)
                           : (int64_t)floorf(exact ? ((float)k + 0.5f) * scale
                                                   : (float)k * scale);
        at[k] = from < in - 1 ? from : in - 1;
    }
    return at ? onnx_put_ints(w, (size_t)out, at) : NULL;
}

/* A whole factor for each axis, given or that of its extents. */
static bool has_whole_factors(const onnx_writer *w, resize *r)
{
    for (int i = 0; i < r->axes; i++) {
        cfx_dim in = r->x->shape[2 + i], out = r->y->shape[2 + i];
        bool known = cfx_dim_is_int(in) && cfx_dim_is_int(out) &&
                     cfx_dim_value(in) > 0;
        if (!r->factor[i] && known)
            r->factor[i] = (double)cfx_dim_value(out) /
                           (double)cfx_dim_value(in);
        if (r->factor[i] < 1 || floor(r->factor[i]) != r->factor[i])
            return false;
        if (known && r->factor[i] * (double)cfx_dim_value(in) !=
                         (double)cfx_dim_value(out))
            return false;
    }
    return !w->st;
}

/* Whole factors repeat items. Others pick them, since ONNX's division rounds
 * in another way than torch's product. */
void onnx_write_upsample_nearest(onnx_writer *w)
{
    bool exact = !strcmp(w->onnx, "exact");
    const char *x = onnx_put_self_value(w);
    resize r, whole;

    if (!begin(w, &r))
        return;
    whole = r;
    if (has_whole_factors(w, &whole)) {
        Onnx__NodeProto *n = put_resize(w, onnx_put_name(w), x, "nearest",
                                        "asymmetric", whole.factor, r.y->rank,
                                        r.y->shape);
        onnx_put_attr_text(w, n, "nearest_mode", "floor");
        return;
    }
    for (int i = 0; i < r.axes && !w->st; i++) {
        Onnx__NodeProto *n = ONNX_NODE(
            w, "Gather", i == r.axes - 1 ? onnx_put_name(w) : NULL, x,
            put_places(w, &r, i, exact));
        onnx_put_attr_int(w, n, "axis", 2 + i);
        x = onnx_put_out(n);
    }
}

/* ---- Samples ---- */

/* A word, or its place in ATen's enumeration. */
static const char *word_of(onnx_writer *w, const char *name,
                           const char *const words[3])
{
    cfx_value v = onnx_put_arg(w, name);

    for (int i = 0; i < 3; i++)
        if ((v.kind == CFX_INT && v.u.i == i) ||
            onnx_put_is(w, name, words[i]))
            return words[i];
    if (!onnx_put_is_none(v))
        onnx_put_fail(w, "ONNX has no such %s", name);
    return words[0];
}

void onnx_write_grid_sample(onnx_writer *w)
{
    static const char *const mode[] = {"bilinear", "nearest", "bicubic"};
    static const char *const padding[] = {"zeros", "border", "reflection"};
    const cfx_tensor *x = onnx_put_meta(w, onnx_put_self_arg(w));

    if (!x || x->rank != 4) {
        onnx_put_fail(w, "ONNX's samples are of images with a batch");
        return;
    }
    Onnx__NodeProto *n = ONNX_RESULT(w, "GridSample", onnx_put_self_value(w),
                                     onnx_put_input(w, "grid"));
    const char *how = cfx_param_find(w->call->target->schema, "mode", 4) >= 0
                          ? "mode"
                          : "interpolation_mode";
    const char *word = word_of(w, how, mode);
    /* Version 20 calls them linear and cubic. */
    if (word && w->opset >= 20 && !strncmp(word, "bi", 2))
        word += 2;
    onnx_put_attr_text(w, n, "mode", word);
    onnx_put_attr_text(w, n, "padding_mode",
                       word_of(w, "padding_mode", padding));
    onnx_put_attr_int(w, n, "align_corners",
                      onnx_put_int(w, "align_corners", 0));
}
