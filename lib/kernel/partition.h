/*
 * partition.h -- cutting work into tasks for threads, and data into parts that fit
 * into caches.
 *
 * Cache sizes, and the number of threads, decide only how results are partitioned,
 * never the order of a sum. Where the steps of a sum are cut, they are cut by a
 * constant, in the file that sums: SLICE of blocked/packed.c, CFX_GEMM_KC of
 * gemm/gemm_core.h, the rows of a block in attention_kernel.c.
 */
#ifndef CFX_KERNEL_PARTITION_H
#define CFX_KERNEL_PARTITION_H

#include "base/context_impl.h"

enum {
    CFX_TASKS = 8,  /* for each thread: one task more or less costs little */
    CFX_WHOLE = 84, /* a multiple of the pixels of a tile at every level */
    CFX_AHEAD = 8   /* prefetch distance from L2 into L1, in steps of a sum */
};

/* Bytes of weights that stay in L2 together with parts of images. */
CFX_INLINE int64_t cfx_near_bytes(const cfx_context *ctx)
{
    return ctx->caches.l2 / 8 * 3;
}

/* Does an output of so many bytes not fit into the caches, so that it is better stored
 * past them? */
CFX_INLINE bool cfx_streams(const cfx_context *ctx, int64_t bytes)
{
    return bytes >= ctx->caches.l3;
}

/* How many units of `cost` operations, at least 1, a task has: CFX_TASKS tasks for
 * each thread, of at least `least` and at most `most` operations. */
int64_t cfx_units_of_task(const cfx_context *ctx, double all, double cost,
                          double least, double most);

/* ---- Images ---- */

/* Images are cut into chunks of rows, and their blocks, by units, into groups; a task
 * is one chunk of one group. If by_rows, the groups of a chunk are consecutive tasks,
 * so that a thread reads the rows that it wrote in the previous operator, which helps
 * where data moves slowly between cores. Otherwise all chunks and images of a group
 * are consecutive, so that a thread reads fewer weights. */
typedef struct cfx_partition {
    int64_t images, rows, units;
    int64_t group, groups; /* units of a group, groups */
    int64_t chunks;
    bool by_rows;
} cfx_partition;

/* Cut tasks of about n rows of one unit: chunks of n / `group` rows, or of all, and
 * groups of the units, at most `most`, that n then allows. group <= n. */
void cfx_partition_cut(cfx_partition *p, const cfx_context *ctx, int64_t n,
                       int64_t group, int64_t most);
int64_t cfx_partition_tasks(const cfx_partition *p);

/* A task: rows from..to of some units of an image. */
typedef struct cfx_task {
    int64_t image, unit, units, from, to;
} cfx_task;

cfx_task cfx_task_at(const cfx_partition *p, int64_t i);

/* Increase `chunks`, to at most `most`, until chunks * groups tasks divide evenly
 * among the threads, or CFX_TASKS tasks for each suffice. */
int64_t cfx_even_chunks(int64_t chunks, int64_t most, int64_t groups,
                        int64_t threads);

/* ---- Rows ---- */

/* Plane image * blocks + block is one block of one image. */
typedef struct cfx_blocked_planes {
    int64_t images, blocks, rows;
} cfx_blocked_planes;

/* Compute rows from..to of a plane on the thread `worker`. */
typedef void cfx_blocked_rows_fn(void *arg, int64_t plane, int64_t from,
                                 int64_t to, int worker);

/* Call `fn` for all rows of all planes, in tasks of about `least` rows or more. Planes
 * are cut into chunks, ordered by rows, if every thread can have one of 7 rows, or if
 * there are fewer planes than threads. */
void cfx_blocked_for_rows(cfx_context *ctx, cfx_blocked_planes planes,
                          int64_t least, cfx_blocked_rows_fn *fn, void *arg);

#endif
