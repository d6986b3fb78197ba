/*
 * onnx_regions -- rules of boxes in images: NonMaxSuppression and RoiAlign.
 *
 * torchvision's nms looks at one class of one image; each class stands for
 * itself in the graph.
 */
#include "format/onnx/onnx.h"

/* ---- NonMaxSuppression ---- */

/* Classes of all images together. */
enum { MAX_CLASSES = 4096 };

typedef struct suppression {
    cfx_value boxes, scores; /* [images, n, 4], [images, classes, n] */
    cfx_value iou;
    cfx_value least; /* scores must be greater; absent: none must */
    cfx_value most;  /* boxes of a class */
} suppression;

/* Boxes are a center and extents, or any two opposite corners; nms takes the
 * least corner, then the greatest. */
static cfx_value corners(onnx_node *n, cfx_value boxes, bool center)
{
    cfx_scope *s = n->s;
    cfx_value a = onnx_slice(s, boxes, -1, 0, 2),
              b = onnx_slice(s, boxes, -1, 2, 4);
    cfx_value both[2];

    if (center) {
        b = cfx_mul(s, b, cfx_float(0.5));
        both[0] = cfx_sub(s, a, b);
        both[1] = cfx_add(s, a, b);
    } else {
        both[0] = cfx_minimum(s, a, b);
        both[1] = cfx_maximum(s, a, b);
    }
    return cfx_cat(s, onnx_arg(s, 2, both), .dim = cfx_int(-1));
}

/* The boxes of a class that are left, as rows of image, class and box. */
static cfx_value class_rows(onnx_node *n, const suppression *p, int64_t image,
                            int64_t class)
{
    cfx_scope *s = n->s;
    cfx_value zero = cfx_int(0), at = cfx_int(image), index = CFX_NOTHING;
    cfx_value boxes = cfx_select(s, p->boxes, zero, at);
    cfx_value scores = cfx_select(s, cfx_select(s, p->scores, zero, at), zero,
                                  cfx_int(class));
    int64_t place[] = {image, class, 0}, pads[] = {2, 0};

    if (p->least.kind) {
        index = cfx_gt(s, scores, p->least);
        index = cfx_select(s, cfx_nonzero(s, index), cfx_int(1), zero);
        boxes = cfx_index_select(s, boxes, zero, index);
        scores = cfx_index_select(s, scores, zero, index);
    }
    cfx_value kept = cfx_nms(s, boxes, scores, p->iou);
    kept = cfx_slice(s, kept, zero, zero, p->most, cfx_int(1));
    if (p->least.kind)
        kept = cfx_index_select(s, index, zero, kept);
    kept = cfx_pad(s, cfx_unsqueeze(s, kept, cfx_int(1)),
                   onnx_int_arg(s, 2, pads));
    return cfx_add(s, kept, onnx_int_tensor(s, 1, 3, place));
}

static bool read_suppression(onnx_node *n, suppression *p)
{
    bool center = onnx_attr_int(n, "center_point_box", 0);
    onnx_list most;

    *p = (suppression){
        .scores = onnx_tensor(n, 1), .iou = cfx_float(0), .most = cfx_int(0)};
    p->boxes = corners(n, onnx_tensor(n, 0), center);
    if (onnx_has(n, 2)) {
        if (!onnx_ints(n, 2, &most))
            return false;
        if (most.n != 1)
            return onnx_refuse(n, CFX_EINVAL, "it has %zu numbers of boxes",
                               most.n);
        p->most = CFX_CALL(n->s, "torch.sym_max", most.item[0], cfx_int(0));
    }
    if (onnx_has(n, 3))
        p->iou = onnx_scalar(n, 3);
    if (onnx_has(n, 4))
        p->least = onnx_scalar(n, 4);
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_non_max_suppression(onnx_node *n)
{
    suppression p;

    if (!read_suppression(n, &p))
        return CFX_NOTHING;
    if (onnx_rank(n, p.boxes) != 3 || onnx_rank(n, p.scores) != 3)
        return onnx_fail(n, CFX_ESHAPE, "its boxes and scores have 3 axes");
    int64_t images = onnx_known_size(n, p.scores, 0);
    int64_t classes = onnx_known_size(n, p.scores, 1);
    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    if (images < 1 || classes < 1 || classes > MAX_CLASSES / images)
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "it has %lld images of %lld classes; it takes 1 to %d together",
            (long long)images, (long long)classes, MAX_CLASSES);
    size_t count = (size_t)(images * classes);
    cfx_value *row = onnx_alloc(n->s, count, sizeof(*row));
    for (size_t i = 0; row && i < count && !cfx_scope_failed(n->s); i++)
        row[i] = class_rows(n, &p, (int64_t)i / classes, (int64_t)i % classes);
    return row ? count == 1 ? row[0]
                            : cfx_cat(n->s, onnx_arg(n->s, count, row))
               : CFX_NOTHING;
}

/* ---- RoiAlign ---- */

cfx_value onnx_import_roi_align(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), rois = onnx_tensor(n, 1);
    cfx_value image = onnx_tensor(n, 2), both[2];
    const char *otherwise = n->opset < 16 ? "output_half_pixel" : "half_pixel";
    bool aligned = onnx_attr_is(n, "coordinate_transformation_mode",
                                "half_pixel", otherwise);
    int64_t samples = onnx_attr_int(n, "sampling_ratio", 0);

    if (!onnx_attr_is(n, "mode", "avg", "avg"))
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "it takes maxima of samples, for which torch has no operator");
    image = cfx_to(s, cfx_unsqueeze(s, image, cfx_int(1)),
                   cfx_value_of_dtype(onnx_type_of(n, rois)));
    both[0] = image;
    both[1] = rois;
    rois = cfx_cat(s, onnx_arg(s, 2, both), .dim = cfx_int(1));
    return cfx_roi_align(
        s, x, rois, cfx_float(onnx_attr_float(n, "spatial_scale", 1)),
        cfx_int(onnx_attr_int(n, "output_height", 1)),
        cfx_int(onnx_attr_int(n, "output_width", 1)),
        cfx_int(samples > 0 ? samples : -1), cfx_bool(aligned));
}
