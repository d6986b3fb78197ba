/*
 * regions -- boxes in images: those that overlap, and the pixels in them, as
 * torchvision's detectors call for.
 *
 * shape   nms: as many boxes as the data leave. Of images (N, C, H, W) and
 *         regions (K, 5): (K, C, pooled_height, pooled_width).
 * cost    roi_align: for each result and sample eight steps for four pixels and
 *         their weights; one sample where the data decide how many. The others
 *         compare: none.
 */
#include "kernel/resample/regions_kernel.h"
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, DETS, SCORES, IOU_THRESHOLD, INPUT, ROIS, SPATIAL_SCALE,
           POOLED_HEIGHT, POOLED_WIDTH, SAMPLING_RATIO, ALIGNED);

/* The second tensor, of `name`, has the type of the first, which is that of a
 * kernel. */
static cfx_status check_types(cfx_call *call, const cfx_tensor *x,
                              const cfx_tensor *other, const char *name)
{
    if (x->dtype != CFX_F32 && x->dtype != CFX_F64)
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    return x->dtype == other->dtype
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EDTYPE,
                     "%s should have the type of the first tensor, %s, but got %s",
                     name, cfx_dtypes[x->dtype].name,
                     cfx_dtypes[other->dtype].name);
}

/* ---- nms ---- */

static cfx_status nms_infer(cfx_call *call)
{
    const cfx_tensor *boxes = cfx_call_tensor(call, DETS);
    const cfx_tensor *scores = cfx_call_tensor(call, SCORES);
    cfx_dim n;
    if (boxes->rank != 2 ||
        !cfx_dim_eq(call->env, boxes->shape[1], cfx_dim_int(4)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "boxes should be a 2d tensor with 4 elements in dimension 1");
    if (scores->rank != 1 ||
        !cfx_dim_eq(call->env, boxes->shape[0], scores->shape[0]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "scores should be a 1d tensor with an element for each box");
    cfx_status st = check_types(call, boxes, scores, "scores");
    if (st || !call->meta)
        return st;
    st = cfx_infer_unknown_extent(call, &n);
    return st ? st : cfx_call_out(call, CFX_I64, 1, &n);
}

/* The numbers of the boxes that are left, as a tensor of the scope. */
static cfx_value keep(cfx_scope *s, const cfx_call *call)
{
    cfx_value boxes = CFX_CALL(s, "Tensor.contiguous",
                               cfx_call_value(call, DETS));
    cfx_value n = cfx_size(s, boxes, 0);
    cfx_value order = CFX_CALL(s, "torch.argsort",
                               cfx_call_value(call, SCORES), cfx_int(-1),
                               cfx_bool(true), cfx_bool(true));
    cfx_value kept = CFX_CALL(s, "torch.empty_like", order);
    cfx_value dropped = CFX_CALL(s, "Tensor.to", kept,
                                 cfx_value_of_dtype(CFX_U8));
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_nms k = {
        .dtype = (cfx_dtype)boxes.u.tensor->dtype,
        .n = n.u.i,
        .threshold = cfx_call_double(call, IOU_THRESHOLD),
        .boxes = boxes.u.tensor->data,
        .order = order.u.tensor->data,
        .kept = kept.u.tensor->data,
        .dropped = dropped.u.tensor->data,
    };
    return CFX_CALL(s, "torch.narrow", kept, cfx_int(0), cfx_int(0),
                    cfx_int(cfx_nms_run(call->ctx, &k)));
}

static cfx_status nms_run(cfx_call *call)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value kept = keep(&s, call);
    cfx_status st = cfx_scope_status(&s, call->err);
    if (!st)
        st = cfx_call_out(call, CFX_I64, 1, kept.u.tensor->shape);
    if (!st)
        st = cfx_tensor_alloc(call->out[0], call->err);
    if (!st)
        st = cfx_tensor_copy(call->out[0], kept.u.tensor, call->err);
    cfx_scope_release(&s);
    return st;
}

/* ---- Regions ---- */

static cfx_status roi_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *rois = cfx_call_tensor(call, ROIS);
    if (x->rank != 4)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected images (N, C, H, W), got a tensor of rank %d", x->rank);
    if (rois->rank != 2 ||
        !cfx_dim_eq(call->env, rois->shape[1], cfx_dim_int(5)))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "rois must have shape as Tensor[K, 5]");
    cfx_dim shape[] = {rois->shape[0], x->shape[1],
                       cfx_value_dim(cfx_call_value(call, POOLED_HEIGHT)),
                       cfx_value_dim(cfx_call_value(call, POOLED_WIDTH))};
    for (int i = 2; i < 4; i++)
        if (!cfx_dim_lt(call->env, cfx_dim_int(0), shape[i]))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "pooled_height and pooled_width must be greater than 0");
    cfx_status st = check_types(call, x, rois, "rois");
    if (!st)
        st = cfx_call_out(call, (cfx_dtype)x->dtype, 4, shape);
    if (!st && call->schema->nreturns == 2)
        st = cfx_call_out(call, CFX_I32, 4, shape);
    return st;
}

static cfx_status check_regions(const cfx_call *call, const cfx_regions *k)
{
    int64_t bad = cfx_regions_bad(k);
    if (bad < 0)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EINVAL,
        "rois: row %lld must name one of %lld images, and a box of numbers below 2^30 pixels",
        (long long)bad, (long long)k->batch);
}

static cfx_status roi_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *rois = cfx_call_tensor(call, ROIS), *y = call->out[0];
    cfx_regions k = {
        .dtype = (cfx_dtype)x->dtype,
        .n = cfx_tensor_size(rois, 0),
        .batch = cfx_tensor_size(x, 0),
        .channels = cfx_tensor_size(x, 1),
        .scale = cfx_call_double(call, SPATIAL_SCALE),
        .x = x->data,
        .rois = rois->data,
        .y = y->data,
    };
    for (int i = 0; i < 2; i++) {
        k.in[i] = cfx_tensor_size(x, 2 + i);
        k.out[i] = cfx_tensor_size(y, 2 + i);
    }
    cfx_status st = check_regions(call, &k);
    if (st)
        return st;
    if (call->nout == 2) {
        k.argmax = call->out[1]->data;
        cfx_roi_pool_run(call->ctx, &k);
        return CFX_OK;
    }
    k.sampling_ratio = cfx_call_int(call, SAMPLING_RATIO);
    k.aligned = cfx_call_bool(call, ALIGNED);
    cfx_roi_align_run(call->ctx, &k);
    return CFX_OK;
}

static cfx_status align_infer(cfx_call *call)
{
    int64_t samples = cfx_call_int(call, SAMPLING_RATIO);
    if (samples > INT16_MAX)
        return cfx_call_fail(call, CFX_EINVAL,
                             "sampling_ratio must be at most %d, but got %lld",
                             INT16_MAX, (long long)samples);
    return roi_infer(call);
}

static void align_cost(const cfx_call *call, cfx_cost *cost)
{
    int64_t samples = cfx_call_int(call, SAMPLING_RATIO);
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    if (samples <= 0)
        samples = 1;
    cost->ops = cfx_dim_mul(call->env, n, cfx_dim_int(8 * samples * samples));
}

/* ---- Descriptors ---- */

#define TORCHVISION(name)                                                     \
    "torch.ops.torchvision." name ".default torch.ops.torchvision." name

const cfx_op cfx_op__nms = {
    .schema = "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    .params = params,
    .aliases = TORCHVISION("nms"),
    .doc =
        "The boxes that are left when those that overlap a better one are dropped.",
    .flags = CFX_OP_OWN_RESULT,
    .infer = nms_infer,
    .run = nms_run,
};

const cfx_op cfx_op__roi_align = {
    .schema =
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
    .params = params,
    .aliases = TORCHVISION("roi_align"),
    .doc = "The means of bins of regions, from samples between pixels.",
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .infer = align_infer,
    .cost = align_cost,
    .run = roi_run,
};

const cfx_op cfx_op__roi_pool = {
    .schema =
        "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
    .params = params,
    .aliases = TORCHVISION("roi_pool"),
    .doc = "The maxima of bins of regions, and where they are.",
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .infer = roi_infer,
    .run = roi_run,
};
