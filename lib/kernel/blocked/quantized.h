/*
 * quantized.h -- products of uint8 with packed weights of int8.
 *
 * An image is (batch, blocks, height, width, channels of a block), where a block has a
 * multiple of 4 channels; a row of a matrix counts as a pixel of one block. Packed
 * weights are
 *
 *     (out / 16, in blocks, kernel..., channels of a block / 4, 16 out, 4 in)
 *
 * Sums are int32. They start from an offset that cancels the zero point of x, and are
 * exact: results are the same bits at every level and for every cut of the work. A sum
 * is multiplied by a scale, the bias is added, and the result clamped. It stays float32,
 * or is rounded to the nearest integer (ties to even) plus a zero point: uint8.
 */
#ifndef CFX_KERNEL_QUANTIZED_H
#define CFX_KERNEL_QUANTIZED_H

#include "kernel/blocked/blocked.h"

enum { CFX_QUAD = 4 };
/* The most products of a sum that cannot overflow 32 bits. */
enum { CFX_QUANTIZED_DEPTH = INT32_MAX / (255 * 128) };

/* y = round(clamp(a * scale[0] + b * scale[1] + bias)) + zero_point; lo and hi as in
 * cfx_quantized_end. */
typedef struct cfx_quantized_sum {
    const uint8_t *a, *b;
    float scale[2], bias, lo, hi;
    int zero_point;
    uint8_t *y; /* may be a or b */
} cfx_quantized_sum;

/* The bounds of a rounded result. */
typedef struct cfx_quantized_range {
    int lo, hi;
} cfx_quantized_range;

/* Requantization. Arrays are by output channel, padded to whole blocks. */
typedef struct cfx_quantized_end {
    const int32_t *offset;
    const float *scale;
    const float *bias; /* or NULL */
    float lo,
        hi;      /* lo - zero_point, hi - zero_point: in 0..255 if it rounds */
    bool rounds; /* y is uint8, else float32 */
    int zero_point;
    /* The rounded result is operand a of this sum, whose result is stored; NULL: the
     * result itself is. For dense convolutions only. */
    const cfx_quantized_sum *sum;
    /* Set by cfx_quantized__prepare_end. `fits`: all values to be rounded fit into
     * int32. The ranges are those of y and of the sum's operand a. `full`: y ranges over
     * all bytes, and its zero point is 0. */
    bool fits, full;
    cfx_quantized_range y_range, a_range;
} cfx_quantized_end;

/* The padding is x_zero_point. y is (batch, out_blocks, out..., 16). Groups have equal
 * numbers of blocks of x and of y. */
typedef struct cfx_quantized_conv {
    int64_t batch, in_blocks, out_blocks; /* of all groups */
    int64_t groups;                       /* of dense convolutions; 0: one */
    int64_t channels;                     /* of a block of x */
    int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];
    uint8_t x_zero_point;
    const uint8_t *x;
    const int8_t *w;
    cfx_quantized_end end;
    void *y;
} cfx_quantized_conv;

/* Scratch bytes; the pointers of `c` are not looked at. Never fails. */
size_t cfx_quantized_conv_workspace(const cfx_context *ctx,
                                    const cfx_quantized_conv *c);
/* Compute it on the threads of the context. Never fails. */
void cfx_quantized_conv_run(cfx_context *ctx, const cfx_quantized_conv *c,
                            void *workspace);
/* A depthwise convolution: w is (blocks, kernel..., 16), a kernel has at most
 * CFX_QUANTIZED_TAPS elements, in_blocks == out_blocks, channels == 16. Never fail. */
enum { CFX_QUANTIZED_TAPS = 256 };
size_t cfx_quantized_depthwise_workspace(const cfx_context *ctx,
                                         const cfx_quantized_conv *c);
void cfx_quantized_depthwise(cfx_context *ctx, const cfx_quantized_conv *c,
                             void *workspace);

/* Rows (axis 0) or columns (axis 1) of x, with padding, that all windows cover. */
int64_t cfx_quantized_reach(const cfx_quantized_conv *c, int axis);
/* Does a window reach outside of x? */
bool cfx_quantized_needs_border(const cfx_quantized_conv *c);
/* Write a row of a plane of x with padding, cfx_quantized_reach(c, 1) pixels. Row 0 is the
 * first that a window covers. */
void cfx_quantized_border_row(const cfx_quantized_conv *c, int64_t plane,
                              int64_t row, uint8_t *to);

/* y(rows, columns) of x(rows, depth); depth is a multiple of CFX_QUAD. */
typedef struct cfx_quantized_product {
    int64_t rows, columns, depth;
    const uint8_t *x;
    const int8_t *w;
    cfx_quantized_end end;
    void *y;
} cfx_quantized_product;

/* Scratch bytes; the pointers of `p` are not looked at. Never fails. */
size_t cfx_quantized_product_workspace(const cfx_context *ctx,
                                       const cfx_quantized_product *p);
/* Compute it on the threads of the context. Never fails. */
void cfx_quantized_product_run(cfx_context *ctx,
                               const cfx_quantized_product *p,
                               void *workspace);
/* Compute a product on this thread, without rounding; x_row and y_row are strides in
 * bytes. Never fails. */
void cfx_quantized_product_run_serial(const cfx_context *ctx,
                                      const cfx_quantized_product *p,
                                      int64_t x_row, int64_t y_row);

/* ---- Elements ---- */

/* Compute n elements. Never fails. */
void cfx_quantized_add_run(cfx_context *ctx, const cfx_quantized_sum *s,
                           int64_t n);

/* Rows of sums of products, as floats: y = (y - zero_point * sums) * (x_scale * scale) +
 * bias. */
typedef struct cfx_quantized_row_end {
    int64_t columns;
    const int32_t *sums;
    const float *scale, *bias; /* bias: or NULL */
} cfx_quantized_row_end;

/* Compute a row on this thread. Never fails. */
void cfx_quantized_scale_row(const cfx_context *ctx,
                             const cfx_quantized_row_end *end, float x_scale,
                             int zero_point, float *y);

/* To quantize: y = round(clamp(x * scale)) + zero_point; to dequantize: x =
 * (y - zero_point) * scale. */
typedef struct cfx_quantized_floats {
    float scale, lo, hi;
    int zero_point;
} cfx_quantized_floats;

/* Compute n elements. Never fail. */
void cfx_quantized_of_floats(cfx_context *ctx, const cfx_quantized_floats *f,
                             const float *x, uint8_t *y, int64_t n);
void cfx_quantized_to_floats(cfx_context *ctx, const cfx_quantized_floats *f,
                             const uint8_t *y, float *x, int64_t n);

/* Images to quantize to a blocked layout: x is (images, channels, pixels), y is (images,
 * blocks, pixels, block), padded with zeros. A block has at most 16 channels. */
typedef struct cfx_quantized_image {
    int64_t images, channels, pixels, block;
    cfx_quantized_floats floats;
    const float *x;
    uint8_t *y;
} cfx_quantized_image;

/* Never fails. */
void cfx_quantized_to_blocked(cfx_context *ctx, const cfx_quantized_image *m);

/* cfx_blocked_max_pool of uint8: x and y are given here, not in `c`. Never fails. */
void cfx_quantized_max_pool(cfx_context *ctx, const cfx_blocked_conv *c,
                            const uint8_t *x, uint8_t *y);

/* The means of planes of (pixels, 16), at most CFX_QUANTIZED_PIXELS pixels: y =
 * round(clamp(sum * scale + bias)) + zero_point. */
enum { CFX_QUANTIZED_PIXELS = INT32_MAX / 255 };
typedef struct cfx_quantized_mean {
    int64_t planes, pixels;
    float scale, bias, lo, hi;
    int zero_point;
    const uint8_t *x;
    uint8_t *y;
} cfx_quantized_mean;

/* Never fails. */
void cfx_quantized_mean_run(cfx_context *ctx, const cfx_quantized_mean *m);

/* y[i] = table[x[i]], where the table has 256 entries. Never fails. */
void cfx_quantized_lookup_run(cfx_context *ctx, const uint8_t *table,
                              const uint8_t *x, uint8_t *y, int64_t n);

/* Layer normalization of rows of at most CFX_QUANTIZED_COLUMNS elements: y =
 * round(clamp((x - mean) / sqrt(variance + eps) * weight + bias)) + zero_point. */
enum { CFX_QUANTIZED_COLUMNS = INT32_MAX / (255 * 255) };
typedef struct cfx_quantized_norm {
    int64_t rows, columns;
    const float *weight, *bias;
    double eps;
    float lo, hi;
    int zero_point;
    const uint8_t *x;
    uint8_t *y;
    /* Set by cfx_quantized_norm_run, as in cfx_quantized_end. */
    bool fits;
    cfx_quantized_range range;
} cfx_quantized_norm;

/* Never fails. */
void cfx_quantized_norm_run(cfx_context *ctx, const cfx_quantized_norm *m);

/* The integers of a range of floats, with the zero point. Never fails. */
cfx_quantized_range cfx_quantized__range_of(float lo, float hi,
                                            int zero_point);
/* Do all sums fit into int32? Never fails. */
bool cfx_quantized__sum_fits(const cfx_quantized_sum *s);
/* Set the derived fields of `end`, whose arrays have so many blocks. Never fails. */
void cfx_quantized__prepare_end(const cfx_context *ctx, cfx_quantized_end *end,
                                int64_t blocks);

/* ---- Levels ---- */

/* Some pixels of some blocks of y, whose sums are in registers. Strides are in bytes. A
 * sum runs over n[0] blocks of x, n[1] rows and n[2] columns of the window, and `quads`
 * groups of four channels; its weights are contiguous. */
typedef struct cfx_quantized_tile {
    int64_t pixels, blocks;
    int64_t
        columns; /* of y, from the first block on: the last may have fewer */
    int64_t n[3], quads;
    const uint8_t *x;
    const int8_t *w;
    int64_t x_pixel, x_at[3], w_block;
    cfx_quantized_end end; /* of the first block */
    char *y;
    int64_t y_pixel, y_block;
    const int8_t *next; /* prefetched, next_step bytes further in each step */
    int64_t next_step;
} cfx_quantized_tile;

/* Rows of `pixels` outputs, by windows of n[0] rows and n[1] columns of 16 bytes: their
 * maxima, or their products with w. Strides are in bytes. */
typedef struct cfx_quantized_rows {
    int64_t rows, pixels, n[2], x_row, x_pixel, x_at[2];
    const uint8_t *x;
    /* For depthwise_three only. x is a plane of `plane` bytes; the first window begins at
     * byte `top` of it. `outside` is read in place of rows above or below the plane. The
     * first window of a row has `left` columns of padding, the last has `right`: each is
     * 0 or 1. */
    int64_t plane, top, left, right;
    const uint8_t *outside;
    const int8_t *w; /* contiguous in a row */
    const float *w_float;
    int64_t w_row;         /* elements of both */
    cfx_quantized_end end; /* of products; its offset is for these windows */
    char *y;               /* pixels are contiguous */
    int64_t y_row, y_pixel;
} cfx_quantized_rows;

struct cfx_quantized_elements {
    void (*add)(const cfx_quantized_sum *s, int64_t from, int64_t to);
    void (*quantize)(const cfx_quantized_floats *f, const float *x, uint8_t *y,
                     int64_t n);
    void (*dequantize)(const cfx_quantized_floats *f, const uint8_t *y,
                       float *x, int64_t n);
    void (*scale_row)(const cfx_quantized_row_end *end, float x_scale,
                      int zero_point, float *y);
    /* Rows of n <= 16 bytes, `row` bytes apart, to contiguous rows of 16 floats, padded
     * with zeros. */
    void (*dequantize_block)(const cfx_quantized_floats *f, const uint8_t *y,
                             int64_t row, float *x, int64_t rows, int64_t n);
    /* Interleave four rows of n bytes, `row` bytes apart: column i of them goes to the
     * four bytes at y + i * step. */
    void (*interleave)(const uint8_t *x, int64_t row, uint8_t *y, int64_t step,
                       int64_t n);
    void (*mean)(const cfx_quantized_mean *m, int64_t plane);
    /* [has the features `moves`] */
    void (*lookup[2])(const uint8_t *table, const uint8_t *x, uint8_t *y,
                      int64_t n);
    unsigned moves;
    void (*norm)(const cfx_quantized_norm *m, int64_t row);
    /* Subtract 128 from a packed block of 16 columns of uint8, which becomes int8;
     * offset[i] = factor * the sum of column i. */
    void (*center)(uint8_t *w, int64_t quads, int factor, int32_t *offset);
    /* Are all n elements less than the limit, none of them NaN? */
    bool (*are_below)(const float *x, float limit, int64_t n);
};

struct cfx_quantized_windows {
    void (*max)(const cfx_quantized_rows *r);
    void (*depthwise)(const cfx_quantized_rows *r);
    /* With dot-product and byte-permute instructions, for a horizontal dilation of 1; or
     * NULL. */
    void (*depthwise_dots)(const cfx_quantized_rows *r);
    /* Likewise for windows of 3x3 that may extend into the padding. */
    void (*depthwise_three)(const cfx_quantized_rows *r);
    unsigned dots; /* features that these two need */
};

struct cfx_quantized_kernels {
    int pixels[5]; /* as in cfx_blocked_kernels */
    /* `dots`: features with dot products of four bytes; tile[has them]. */
    unsigned dots;
    void (*tile[2])(const cfx_quantized_tile *t);
    /* tile[0] for x of 16 bits, or NULL. */
    void (*wide_tile)(const cfx_quantized_tile *t);
    /* Widen n bytes for it, a multiple of CFX_QUAD, each four of them to the order 0 2 1
     * 3; x may be the second half of y. */
    void (*widen)(const uint8_t *x, uint8_t *y, int64_t n);
    const struct cfx_quantized_elements *elements;
    const struct cfx_quantized_windows *windows;
};

#endif
