/*
 * resample.h -- pixels moved and mixed: interpolation, grids, padding, windows.
 *
 * Images are (planes, extents...), row-major, with one to three spatial axes;
 * batch and channels are one axis here where nothing else is said. Arrays hold
 * one number for each spatial axis, outermost first.
 */
#ifndef CFX_KERNEL_RESAMPLE_H
#define CFX_KERNEL_RESAMPLE_H

#include "kernel/kernel.h"

enum { CFX_RESAMPLE_MAX_SPATIAL = 3 };

/* ---- Interpolation ---- */

typedef enum cfx_resample_mode {
    CFX_RESAMPLE_NEAREST,       /* floor(i * scale) */
    CFX_RESAMPLE_NEAREST_EXACT, /* floor((i + 0.5) * scale) */
    CFX_RESAMPLE_LINEAR,        /* linear, bilinear, trilinear by rank */
    CFX_RESAMPLE_CUBIC          /* two axes only */
} cfx_resample_mode;

typedef struct cfx_resample {
    cfx_dtype dtype; /* floats; the nearest modes take any */
    cfx_resample_mode mode;
    int spatial;
    int64_t planes;
    int64_t in[CFX_RESAMPLE_MAX_SPATIAL], out[CFX_RESAMPLE_MAX_SPATIAL];
    bool align_corners; /* of the linear and cubic modes */
    bool antialias;     /* of the linear and cubic modes over two axes */
    /* The factor the caller asked for (out / in), or 0 where it is to follow
     * from the extents. */
    double scale[CFX_RESAMPLE_MAX_SPATIAL];
    const void *x;
    void *y;
} cfx_resample;

size_t cfx_resample_workspace(const cfx_context *ctx, const cfx_resample *r);
void cfx_resample_run(cfx_context *ctx, const cfx_resample *r,
                      void *workspace);

/* ---- Sampling at the places a grid names ---- */

typedef enum cfx_grid_padding {
    CFX_GRID_ZEROS,
    CFX_GRID_BORDER,
    CFX_GRID_REFLECTION
} cfx_grid_padding;

typedef enum cfx_grid_mode {
    CFX_GRID_BILINEAR,
    CFX_GRID_NEAREST,
    CFX_GRID_BICUBIC
} cfx_grid_mode;

/* x (batch, channels, in...), grid (batch, out..., spatial) with the innermost
 * axis's coordinate first, y (batch, channels, out...), over two or three
 * axes (bicubic: two). All of one float dtype. */
typedef struct cfx_grid_sample {
    cfx_dtype dtype;
    cfx_grid_mode mode;
    cfx_grid_padding padding;
    bool align_corners;
    int spatial; /* 2 or 3 */
    int64_t batch, channels;
    int64_t in[CFX_RESAMPLE_MAX_SPATIAL], out[CFX_RESAMPLE_MAX_SPATIAL];
    const void *x, *grid;
    void *y;
} cfx_grid_sample;

void cfx_grid_sample_run(cfx_context *ctx, const cfx_grid_sample *g);

/* ---- Padding ---- */

typedef enum cfx_pad_mode {
    CFX_PAD_CONSTANT,
    CFX_PAD_REFLECT,
    CFX_PAD_REPLICATE,
    CFX_PAD_CIRCULAR
} cfx_pad_mode;

/* y[i] = x[i - before] along each axis, `mode` says what lies outside. A
 * negative `before` cuts off. Any axis may be padded: `rank` axes, none of
 * them special; reflect needs less padding than the extent, circular not more.
 * Elements are moved as they are, `size` is their size in bytes (1, 2, 4 or
 * 8). */
enum { CFX_PAD_MAX_RANK = 16 };

typedef struct cfx_pad {
    cfx_pad_mode mode;
    size_t size;
    int rank;
    const int64_t *in, *out, *before;
    const void *value; /* constant: one element */
    const void *x;
    void *y;
} cfx_pad;

void cfx_pad_run(cfx_context *ctx, const cfx_pad *p);

/* ---- Windows as columns ---- */

/* x is (batch, channels, in0, in1); the columns are (batch, channels * kernel0
 * * kernel1, out0 * out1), `out` being the number of windows along each axis.
 * im2col is torch's unfold, col2im its fold, which adds up what overlaps. */
typedef struct cfx_columns {
    cfx_dtype dtype; /* im2col: any; col2im: floats */
    int64_t batch, channels;
    int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];
} cfx_columns;

void cfx_im2col(cfx_context *ctx, const cfx_columns *c, const void *x,
                void *columns);
void cfx_col2im(cfx_context *ctx, const cfx_columns *c, const void *columns,
                void *x);

#endif
