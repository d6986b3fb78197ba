/*
 * rows.h -- rows of blocked images, spread over threads.
 */
#ifndef CFX_BLOCKED_ROWS_H
#define CFX_BLOCKED_ROWS_H

#include "base/thread_pool.h"

/* The chunk, the image and the group of piece i of images that are cut into chunks of
 * rows and groups of blocks. By rows, the groups of a chunk follow each other: a
 * thread then reads the rows that it wrote in the operator before, which matters
 * where threads exchange data slowly. Else the images and chunks of a group do, so
 * that a thread reads fewer weights. */
typedef struct cfx_blocked_spot {
    int64_t chunk, image, group;
} cfx_blocked_spot;

CFX_INLINE cfx_blocked_spot cfx_blocked_spot_at(int64_t i, bool by_rows,
                                                int64_t images, int64_t chunks,
                                                int64_t groups)
{
    if (by_rows)
        return (cfx_blocked_spot){i / groups % chunks, i / groups / chunks,
                                  i % groups};
    return (cfx_blocked_spot){i % chunks, i / chunks % images,
                              i / chunks / images};
}

/* The first row of chunk i. Chunks differ by one row at most. */
CFX_INLINE int64_t cfx_blocked_chunk_at(int64_t i, int64_t rows,
                                        int64_t chunks)
{
    return rows / chunks * i + rows % chunks * i / chunks;
}

/* Returns `chunks`, or a larger number so that all threads get as many pieces, which
 * are `groups` times as many as chunks; at most `most`. Of many pieces, one more is no
 * great loss. */
CFX_INLINE int64_t cfx_blocked_even_chunks(int64_t chunks, int64_t most,
                                           int64_t groups, int64_t threads)
{
    while (chunks < most && chunks * groups % threads &&
           chunks * groups < 8 * threads)
        chunks++;
    return chunks;
}

/* Images of blocks, and the rows of each. Planes are counted block after block,
 * image after image. */
typedef struct cfx_blocked_planes {
    int64_t images, blocks, rows;
} cfx_blocked_planes;

/* Compute rows from..to of a plane on the thread `worker`. */
typedef void cfx_blocked_rows_fn(void *arg, int64_t plane, int64_t from,
                                 int64_t to, int worker);

/* Call `fn` for all rows of all planes. A piece has about `least` rows or more. Planes
 * are cut into chunks of rows, which are counted by rows, if there is one of 7 rows for
 * each thread, or fewer planes than threads. */
void cfx_blocked_for_rows(cfx_context *ctx, cfx_blocked_planes planes,
                          int64_t least, cfx_blocked_rows_fn *fn, void *arg);

#endif
