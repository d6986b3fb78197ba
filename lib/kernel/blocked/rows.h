/*
 * rows.h -- distributing the rows of blocked images over threads.
 */
#ifndef CFX_BLOCKED_ROWS_H
#define CFX_BLOCKED_ROWS_H

#include "base/thread_pool.h"

/* Images are cut into chunks of rows, and into groups of blocks; a piece is one chunk
 * of one group. If by_rows, the groups of a chunk are consecutive pieces, so that a
 * thread reads the rows that it wrote in the previous operator, which helps where data
 * moves slowly between cores. Otherwise all chunks and images of a group are
 * consecutive, so that a thread reads fewer weights. */
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

/* The first row of chunk i. The sizes of chunks differ by at most one row. */
CFX_INLINE int64_t cfx_blocked_chunk_at(int64_t i, int64_t rows,
                                        int64_t chunks)
{
    return rows / chunks * i + rows % chunks * i / chunks;
}

/* Increase `chunks`, to at most `most`, until chunks * groups pieces divide evenly
 * among the threads. Beyond 8 pieces for each thread an uneven one costs little. */
CFX_INLINE int64_t cfx_blocked_even_chunks(int64_t chunks, int64_t most,
                                           int64_t groups, int64_t threads)
{
    while (chunks < most && chunks * groups % threads &&
           chunks * groups < 8 * threads)
        chunks++;
    return chunks;
}

/* Plane image * blocks + block is one block of one image. */
typedef struct cfx_blocked_planes {
    int64_t images, blocks, rows;
} cfx_blocked_planes;

/* Compute rows from..to of a plane on the thread `worker`. */
typedef void cfx_blocked_rows_fn(void *arg, int64_t plane, int64_t from,
                                 int64_t to, int worker);

/* Call `fn` for all rows of all planes, in pieces of about `least` rows or more. Planes
 * are cut into chunks, ordered by rows, if every thread can have one of 7 rows, or if
 * there are fewer planes than threads. */
void cfx_blocked_for_rows(cfx_context *ctx, cfx_blocked_planes planes,
                          int64_t least, cfx_blocked_rows_fn *fn, void *arg);

#endif
