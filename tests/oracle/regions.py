"""regions -- torchvision's operators of boxes and regions, in plain numbers.

torchvision's own are compiled for one build of torch and are often missing.
These are their definitions, a number at a time.  Importing this registers those
that are missing.
"""

import math

import torch

LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def check(condition, words):
    if not condition:
        raise ValueError(words)


def round_away(x):
    """C's round."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


# ------------------------------------------------------------------- boxes

def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def overlap(a, b):
    """The intersection of two boxes as a part of their union."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    union = area(a) + area(b) - both
    return both / union if union else math.nan


def nms(dets, scores, iou_threshold):
    check(dets.dim() == 2 and dets.shape[1] == 4, "boxes")
    check(scores.dim() == 1 and len(scores) == len(dets), "scores")
    check(dets.dtype == scores.dtype and dets.dtype.is_floating_point, "type")
    boxes, kept = dets.double().tolist(), []
    for i in torch.sort(scores, stable=True, descending=True)[1].tolist():
        if not any(overlap(boxes[k], boxes[i]) > iou_threshold for k in kept):
            kept.append(i)
    return torch.tensor(kept, dtype=torch.int64)


# ----------------------------------------------------------------- regions

def check_regions(x, rois, out):
    check(x.dim() == 4 and rois.dim() == 2 and rois.shape[1] == 5, "shapes")
    check(x.dtype == rois.dtype and x.dtype.is_floating_point, "type")
    check(min(out) > 0, "pooled extents")
    check(all(0 <= r[0] < len(x) for r in rois.tolist()), "images")


def between(plane, y, x):
    """A plane at a place between pixels; 0 outside of it, by more than 1."""
    height, width = plane.shape
    if not -1 <= y <= height or not -1 <= x <= width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = y - top, x - left
    return ((1 - v) * ((1 - u) * plane[top, left] + u * plane[top, right]) +
            v * ((1 - u) * plane[bottom, left] + u * plane[bottom, right]))


def aligned_bin(x, roi, scale, out, ratio, aligned, at):
    """The mean of the samples of a bin, in each channel."""
    half = 0.5 if aligned else 0.0
    start = [roi[2] * scale - half, roi[1] * scale - half]
    length = [(roi[4] - roi[2]) * scale, (roi[3] - roi[1]) * scale]
    if not aligned:
        length = [max(n, 1.0) for n in length]
    size = [n / bins for n, bins in zip(length, out)]
    count = [ratio if ratio > 0 else math.ceil(n) for n in size]
    rows, columns = ([start[a] + (at[a] + (i + 0.5) / count[a]) * size[a]
                      for i in range(count[a])] for a in range(2))
    return [sum(between(plane, v, u) for v in rows for u in columns) /
            max(count[0] * count[1], 1) for plane in x[int(roi[0])]]


def roi_align(x, rois, scale, height, width, ratio, aligned):
    check_regions(x, rois, (height, width))
    images = x.double().numpy()
    y = torch.zeros(len(rois), x.shape[1], height, width, dtype=torch.float64)
    for k, roi in enumerate(rois.double().tolist()):
        for i in range(height):
            for j in range(width):
                y[k, :, i, j] = torch.tensor(
                    aligned_bin(images, roi, scale, (height, width), ratio,
                                aligned, (i, j)), dtype=torch.float64)
    return y.to(x.dtype)


def pixels(begin, end, out, at, extent):
    """The pixels of a bin along an axis."""
    size = max(end - begin + 1, 1) / out
    first, last = math.floor(at * size), math.ceil((at + 1) * size)
    return range(min(max(first + begin, 0), extent),
                 min(max(last + begin, 0), extent))


def roi_pool(x, rois, scale, height, width):
    check_regions(x, rois, (height, width))
    y = x.new_zeros(len(rois), x.shape[1], height, width)
    places = torch.full(y.shape, -1, dtype=torch.int32)
    for k, c, i, j in ((k, c, i, j) for k in range(len(rois))
                       for c in range(x.shape[1]) for i in range(height)
                       for j in range(width)):
        image, *box = rois[k].double().tolist()
        left, top, right, bottom = (round_away(n * scale) for n in box)
        found = [(x[int(image), c, v, u].item(), v * x.shape[3] + u)
                 for v in pixels(top, bottom, height, i, x.shape[2])
                 for u in pixels(left, right, width, j, x.shape[3])]
        if found:
            most = max(value for value, _ in found)
            y[k, c, i, j] = most
            places[k, c, i, j] = next(p for n, p in found if n == most)
    return y, places


# ------------------------------------------------------------ convolutions

def tapped(plane, y, x):
    """A plane at a place between pixels, in a frame of zeros."""
    top, left = math.floor(y), math.floor(x)
    total = 0.0
    for v in (top, top + 1):
        for u in (left, left + 1):
            if 0 <= v < plane.shape[0] and 0 <= u < plane.shape[1]:
                total += (1 - abs(y - v)) * (1 - abs(x - u)) * plane[v, u]
    return total


def deform_conv2d(x, weight, offset, mask, bias, stride_h, stride_w, pad_h,
                  pad_w, dilation_h, dilation_w, groups, offset_groups,
                  use_mask):
    batch, channels, height, width = x.shape
    outputs, each, rows, columns = weight.shape
    out = [(n + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
           for n, pad, dilation, kernel, stride in
           ((height, pad_h, dilation_h, rows, stride_h),
            (width, pad_w, dilation_w, columns, stride_w))]
    places = rows * columns * offset_groups
    check(min(out) > 0 and min(pad_h, pad_w) >= 0, "extents")
    check(offset.shape == (batch, 2 * places, *out), "offset")
    check(not use_mask or mask.shape == (batch, places, *out), "mask")
    check(each * groups == channels and outputs % groups == 0, "groups")
    check(channels % offset_groups == 0 and bias.shape == (outputs,), "bias")
    planes, by = x.double().numpy(), offset.double()
    taps = torch.zeros(batch, channels, rows, columns, *out,
                       dtype=torch.float64)
    for n, c, i, j, v, u in torch.cartesian_prod(
            *(torch.arange(e) for e in taps.shape)).tolist():
        k = (c // (channels // offset_groups) * rows + i) * columns + j
        value = tapped(planes[n, c],
                       v * stride_h - pad_h + i * dilation_h +
                       by[n, 2 * k, v, u].item(),
                       u * stride_w - pad_w + j * dilation_w +
                       by[n, 2 * k + 1, v, u].item())
        taps[n, c, i, j, v, u] = value * (mask[n, k, v, u].item()
                                          if use_mask else 1)
    y = torch.einsum("ngcijvu,gocij->ngovu",
                     taps.unflatten(1, (groups, each)),
                     weight.double().unflatten(0, (groups, -1)))
    y = y.flatten(1, 2) + bias.double()[:, None, None]
    return y.to(x.dtype).contiguous()


for schema, function in (
        ("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
         nms),
        ("roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
         "pooled_height, SymInt pooled_width, int sampling_ratio, bool "
         "aligned) -> Tensor", roi_align),
        ("roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt "
         "pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", roi_pool),
        ("deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor "
         "mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, "
         "SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
         "SymInt offset_groups, bool use_mask) -> Tensor", deform_conv2d)):
    name = schema.split("(", maxsplit=1)[0]
    if not hasattr(torch.ops.torchvision, name):
        LIBRARY.define(schema)
        LIBRARY.impl(name, function, "CompositeExplicitAutograd")
