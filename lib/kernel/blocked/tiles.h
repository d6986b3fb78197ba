/*
 * tiles.h -- rows of pixels cut into tiles, and sums into slices.
 */
#ifndef CFX_BLOCKED_TILES_H
#define CFX_BLOCKED_TILES_H

#include "kernel/blocked/blocked.h"

/* What the first tile of a row in the first block has of its own. */
typedef struct cfx_blocked_place {
    const float *x, *w, *add;
    float *y;
    int64_t taps; /* rows of the window, n[1] of the tile */
    int64_t pixels;
} cfx_blocked_place;

/* Rows of pixels of the same blocks. The first tile of row i is `tile` at the place
 * that `at` gives. */
typedef struct cfx_blocked_rows {
    int64_t n;
    cfx_blocked_tile tile;
    void (*at)(const void *arg, int64_t i, cfx_blocked_place *place);
    const void *arg;
} cfx_blocked_rows;

/* The blocks of a tile in rows of `pixels` pixels of `blocks` blocks; `most` has
 * the most pixels of a tile, by its blocks. */
int cfx_blocked_tile_blocks(const int *most, int64_t pixels, int64_t blocks);

/* Compute the tiles of a row of `pixels` pixels of t->blocks blocks that begins
 * where t does. Meanwhile `lines` lines of the cache of each block of the weights
 * that are needed next are fetched into the second cache, t.w_block apart. */
void cfx_blocked_run_row(const struct cfx_blocked_kernels *k,
                         cfx_blocked_tile t, int64_t pixels, const float *next,
                         int64_t lines);

/* Compute rows of `blocks` blocks on this thread. The sums of a tile are cut into
 * slices, between which they are in y, so that the weights of a slice stay in the
 * first cache for all rows. A sum has one order whatever the slices. */
void cfx_blocked_run_rows(const struct cfx_blocked_kernels *k,
                          const cfx_blocked_rows *rows, int64_t blocks);
/* The same for one row of `pixels` pixels, whose first tile is t. */
void cfx_blocked_run_tiles(const struct cfx_blocked_kernels *k,
                           cfx_blocked_tile t, int64_t pixels, int64_t blocks);

#endif
