/*
 * winograd.h -- 3x3 convolutions of blocked images in fewer multiplications.
 *
 * F(4x4, 3x3), as in kernel/conv/conv_winograd.h: a tile of 6x6 inputs, the 3x3
 * weights, and 4x4 outputs are transformed to 36 elements each, and an element of the
 * output is a product of matrices over the channels. Here each element is a vector of
 * channels, so that images are transformed without being rearranged. Weights are
 *
 *     (36, out / 16, in / 16, 16 in, 16 out)
 *
 * bfloat16 uses F(2x2, 3x3), which loses less precision, with 16 elements:
 *
 *     (16, out / 16, in / 16, 8 in, 16 out, 2 in)
 *
 * If an input of a tile is not finite, all of the tile is NaN.
 */
#ifndef CFX_KERNEL_BLOCKED_WINOGRAD_H
#define CFX_KERNEL_BLOCKED_WINOGRAD_H

#include "kernel/blocked/blocked.h"

enum { CFX_F4_TILE = 4, CFX_F4_EDGE = 6, CFX_F4_ELEMENTS = 36 };
enum { CFX_F2_TILE = 2, CFX_F2_EDGE = 4, CFX_F2_ELEMENTS = 16 };

/* Stride 1; outside of x are zeros. */
typedef struct cfx_blocked_winograd {
    int64_t batch, in_blocks, out_blocks;
    int64_t in[2], out[2], pad[2];
    cfx_blocked_type type; /* FLOAT, MIXED or PAIRS */
    const float *x, *w;
    bool narrow_x; /* x is bfloat16 */
    cfx_blocked_epilogue end;
    float *y; /* may be `end.add` */
} cfx_blocked_winograd;

size_t cfx_blocked_winograd_workspace(const cfx_context *ctx,
                                      const cfx_blocked_winograd *c);
/* Compute it on the threads of the context. Never fails. */
void cfx_blocked_winograd_run(cfx_context *ctx, const cfx_blocked_winograd *c,
                              void *workspace);

/* ---- Levels ---- */

/* n adjacent tiles of one block to be transformed to outputs: the first `rows` rows of
 * each, and the first `cols` columns of the last. */
typedef struct cfx_winograd_outputs {
    const float *m; /* element e of the tiles begins at m[e * step] */
    int64_t step, n;
    int rows, cols;
    cfx_blocked_epilogue end; /* its pointers are those of these tiles */
    float *y;
    int64_t row, add_row; /* strides from row to row of y and end.add */
} cfx_winograd_outputs;

/* Transform the inputs of n adjacent tiles of a block, from x on, with rows `row`
 * apart: element e goes to v[e * step]. For PAIRS v is bfloat16. */
typedef void cfx_winograd_inputs_fn(float *v, int64_t step, const float *x,
                                    int64_t row, int64_t n);

struct cfx_blocked_winograd_kernels {
    /* [type][x is bfloat16] */
    cfx_winograd_inputs_fn *inputs[3][2];
    void (*outputs[3])(const cfx_winograd_outputs *t);
};

#endif
