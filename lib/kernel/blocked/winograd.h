/*
 * winograd.h -- 3x3 convolutions of blocked images in fewer multiplications.
 *
 * As in kernel/conv/conv_winograd.h, 36 numbers stand for a tile of 6x6 inputs, for 3x3
 * weights, and for the 4x4 outputs. Here each is a vector of channels, so that
 * inputs and outputs are transformed where they lie. A weight is
 *
 *     (36, out / 16, in / 16, 16 in, 16 out)
 *
 * Of bfloat16, whose rounding these transformations would enlarge, 16 numbers stand
 * for 4x4 inputs and 2x2 outputs:
 *
 *     (16, out / 16, in / 16, 8 in, 16 out, 2 in)
 *
 * A tile is NaN where one of its inputs is not finite.
 */
#ifndef CFX_KERNEL_BLOCKED_WINOGRAD_H
#define CFX_KERNEL_BLOCKED_WINOGRAD_H

#include "kernel/blocked/blocked.h"

enum { CFX_F4_TILE = 4, CFX_F4_EDGE = 6, CFX_F4_NUMBERS = 36 };
enum { CFX_F2_TILE = 2, CFX_F2_EDGE = 4, CFX_F2_NUMBERS = 16 };

/* Stride 1; outside of x are zeros. */
typedef struct cfx_blocked_winograd {
    int64_t batch, in_blocks, out_blocks;
    int64_t in[2], out[2], pad[2];
    cfx_blocked_numbers numbers; /* float, or of w in bfloat16 */
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

/* Outputs of n tiles of one block side by side: the first `rows`, and of the last
 * tile the first `cols`. */
typedef struct cfx_winograd_outputs {
    const float *m; /* m[e * step] begins number e */
    int64_t step, n;
    int rows, cols;
    cfx_blocked_epilogue end; /* pointers to what belongs to the tile */
    float *y;
    int64_t row, add_row; /* from row to row of y, and of end.add */
} cfx_winograd_outputs;

/* v[e * step] from the inputs of n tiles of a block side by side; the first is at x,
 * rows are `row` apart. Pairs get a v of bfloat16. */
typedef void cfx_winograd_inputs_fn(float *v, int64_t step, const float *x,
                                    int64_t row, int64_t n);

struct cfx_blocked_winograd_kernels {
    /* By what is multiplied, and whether x is bfloat16. */
    cfx_winograd_inputs_fn *inputs[3][2];
    void (*outputs[3])(const cfx_winograd_outputs *t);
};

#endif
