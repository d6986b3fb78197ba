/*
 * regions_kernel.h -- boxes in images: those that overlap, and the pixels in them.
 *
 * A box is x1, y1, x2, y2, a region the number of an image and a box. Images
 * are (batch, channels, in0, in1), results (regions, channels, out0, out1).
 * All is row-major and of one type, f32 or f64.
 */
#ifndef CFX_KERNEL_REGIONS_H
#define CFX_KERNEL_REGIONS_H

#include "kernel/kernel.h"

/*
 * Non-maximum suppression: take the boxes in `order`, and drop each that
 * overlaps one taken before by more than `threshold`, as a part of their union.
 * `dropped` has n bytes of scratch memory. Returns how many were taken; their
 * numbers are in `kept`, which has room for n.
 */
typedef struct cfx_nms {
    cfx_dtype dtype;
    int64_t n;
    double threshold;
    const void *boxes;
    const int64_t *order;
    int64_t *kept;
    uint8_t *dropped;
} cfx_nms;

int64_t cfx_nms_run(cfx_context *ctx, const cfx_nms *k);

/* Each region is divided into out0 * out1 bins, of each of which y has one
 * number in each channel. */
typedef struct cfx_regions {
    cfx_dtype dtype;
    int64_t n, batch, channels;
    int64_t in[2], out[2];
    double scale; /* from a box's units to pixels */
    const void *x, *rois;
    void *y;
    /* Align: */
    int64_t sampling_ratio; /* samples of a bin along each axis; 0: as many as
                               it has pixels */
    bool aligned;           /* pixels have their centers at halves */
    /* Pool: where the maxima are in their planes, -1 in empty bins. */
    int32_t *argmax;
} cfx_regions;

/* The first region whose image is not among `batch`, or whose box is not a
 * number or exceeds 2^30 pixels; -1 if there is none. The others require that
 * there is none. */
int64_t cfx_regions_bad(const cfx_regions *k);

/* The mean of samples at regular distances, interpolated linearly. */
void cfx_roi_align_run(cfx_context *ctx, const cfx_regions *k);

/* The maximum of the pixels. */
void cfx_roi_pool_run(cfx_context *ctx, const cfx_regions *k);

#endif
