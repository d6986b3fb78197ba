/*
 * winograd.h -- 3x3 convolutions of blocked images in fewer multiplications.
 *
 * As in kernel/conv/winograd.h, 36 numbers stand for a tile of 6x6 inputs, for 3x3
 * weights, and for the 4x4 outputs. Here each is a vector of channels, so that
 * inputs and outputs are transformed where they lie. A weight is
 *
 *     (36, out / 16, in / 16, 16 in, 16 out)
 *
 * A tile is NaN where one of its inputs is not finite.
 */
#ifndef CFX_KERNEL_BLOCKED_WINOGRAD_H
#define CFX_KERNEL_BLOCKED_WINOGRAD_H

#include "kernel/blocked/blocked.h"

enum { CFX_F4_TILE = 4, CFX_F4_EDGE = 6, CFX_F4_NUMBERS = 36 };

/* Stride 1; outside of x are zeros. */
typedef struct cfx_blocked_winograd {
    int64_t batch, in_blocks, out_blocks;
    int64_t in[2], out[2], pad[2];
    const float *x, *w;
    bool narrow_x; /* x is bfloat16 */
    cfx_blocked_epilogue end;
    float *y; /* may be `end.add` */
} cfx_blocked_winograd;

size_t cfx_blocked_winograd_workspace(const cfx_blocked_winograd *c);
/* Compute it on the threads of the context. Never fails. */
void cfx_blocked_winograd_run(cfx_context *ctx, const cfx_blocked_winograd *c,
                              void *workspace);

/* ---- Levels ---- */

/* Outputs of a tile of one block: the first `rows` and `cols` of 4x4. */
typedef struct cfx_winograd_outputs {
    const float *m; /* m[e * step] begins number e */
    int64_t step;
    int rows, cols;
    cfx_blocked_epilogue end; /* pointers to what belongs to the tile */
    float *y;
    int64_t row, add_row; /* from row to row of y, and of end.add */
} cfx_winograd_outputs;

struct cfx_blocked_winograd_kernels {
    /* v[e * step] from the 6x6 inputs of a block at x, rows `row` apart; by
     * whether x is bfloat16. */
    void (*inputs[2])(float *v, int64_t step, const float *x, int64_t row);
    void (*outputs)(const cfx_winograd_outputs *t);
};

#endif
