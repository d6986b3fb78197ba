/*
 * tiles.h -- rows of pixels cut into tiles, and sums into slices.
 */
#ifndef CFX_BLOCKED_TILES_H
#define CFX_BLOCKED_TILES_H

#include "kernel/blocked/blocked.h"

/* The fields of a row's first tile that change from row to row. */
typedef struct cfx_blocked_place {
    const float *x, *w, *add;
    float *y;
    int64_t taps; /* rows of the window, n[1] of the tile */
    int64_t pixels;
} cfx_blocked_place;

/* Rows of pixels of the same blocks. The first tile of row i is `tile` with the fields
 * that `at` sets. */
typedef struct cfx_blocked_rows {
    int64_t n;
    cfx_blocked_tile tile;
    void (*at)(const void *arg, int64_t i, cfx_blocked_place *place);
    const void *arg;
} cfx_blocked_rows;

/* How many blocks a tile should have for rows of `pixels` pixels and `blocks` blocks;
 * most[b] is the most pixels of a tile of b blocks. Of a pointwise convolution each
 * pixel has few weights: with more blocks its numbers are read less often. */
int cfx_blocked_tile_blocks(const int *most, int64_t pixels, int64_t blocks,
                            bool pointwise);

/* Compute a row of `pixels` pixels of t.blocks blocks, tile by tile, starting with t.
 * Meanwhile prefetch into L2 the weights needed next: `lines` cache lines of each
 * block from `next` on, blocks t.w_block apart. */
void cfx_blocked_run_row(const struct cfx_blocked_kernels *k,
                         cfx_blocked_tile t, int64_t pixels, const float *next,
                         int64_t lines);

/* Compute rows of `blocks` blocks on this thread. Sums are cut into slices whose
 * weights stay in L1 for all rows; partial sums are kept in y between slices. The
 * order of a sum does not depend on the slices. */
void cfx_blocked_run_rows(const cfx_context *ctx, const cfx_blocked_rows *rows,
                          int64_t blocks);
/* The same for one row of `pixels` pixels, whose first tile is t. */
void cfx_blocked_run_tiles(const cfx_context *ctx, cfx_blocked_tile t,
                           int64_t pixels, int64_t blocks);

#endif
