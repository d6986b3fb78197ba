/*
 * conv_winograd.h -- 3x3 convolutions of stride 1 in fewer multiplications.
 *
 * A tile of 4x4 outputs needs 6x6 inputs. The tile and the 3x3 weights are
 * each transformed to 36 numbers. Their elementwise products, summed over the
 * channels, are transformed to the 16 outputs: 36 products in place of 144.
 * The sums over channels are 36 matrix products, with operands in panels
 * (gemm_core.h).
 */
#ifndef CFX_KERNEL_WINOGRAD_H
#define CFX_KERNEL_WINOGRAD_H

#include "kernel/gemm/gemm_core.h"

enum { CFX_WINO_TILE = 4, CFX_WINO_EDGE = 6, CFX_WINO_NUMBERS = 36 };

/* Float only. Number e of the 36 is `step` elements from number e - 1. */
struct cfx_winograd_kernels {
    int lanes;
    /* u[e * step + i] from the 3x3 weights w[9 * i], i < n. */
    void (*weights)(float *u, int64_t step, const float *w, int64_t n);
    /* v[e * step + t] from the 6x6 inputs at x[at[t]], rows `row` apart, of
     * `lanes` tiles. Reads 8 elements of each row. */
    void (*inputs)(float *v, int64_t step, const float *x, const int64_t *at,
                   int64_t row);
    /* The 4x4 outputs of `lanes` tiles, y[t * 16 + 4 * i + j], from
     * m[e * step + t]; the bias is added. Returns whether all are finite. */
    bool (*outputs)(float *y, const float *m, int64_t step, float bias);
};

#endif
