/*
 * partition.c -- cutting work into tasks for threads.
 */
#include "kernel/partition.h"

#include <math.h>

#include "base/stop.h"
#include "kernel/int64.h"

int64_t cfx_units_of_task(const cfx_context *ctx, double all, double cost,
                          double least, double most)
{
    double task = all / (CFX_TASKS * cfx_context_threads(ctx));

    return cfx_max64((int64_t)(fmin(fmax(task, least), most) / cost), 1);
}

/* ---- Images ---- */

/* The first row of chunk i. The sizes of chunks differ by at most one row. */
static int64_t chunk_at(const cfx_partition *p, int64_t i)
{
    return p->rows / p->chunks * i + p->rows % p->chunks * i / p->chunks;
}

int64_t cfx_even_chunks(int64_t chunks, int64_t most, int64_t groups,
                        int64_t threads)
{
    while (chunks < most && chunks * groups % threads &&
           chunks * groups < CFX_TASKS * threads)
        chunks++;
    return chunks;
}

void cfx_partition_cut(cfx_partition *p, const cfx_context *ctx, int64_t n,
                       int64_t group, int64_t most)
{
    int64_t chunk = cfx_min64(n / cfx_max64(group, 1), p->rows);

    p->group = cfx_min64(n / chunk, cfx_min64(most, p->units));
    p->groups = cfx_ceil_div(p->units, p->group);
    p->chunks = cfx_even_chunks(cfx_ceil_div(p->rows, chunk), p->rows,
                                p->groups * p->images,
                                cfx_context_threads(ctx));
}

int64_t cfx_partition_tasks(const cfx_partition *p)
{
    return p->images * p->groups * p->chunks;
}

cfx_task cfx_task_at(const cfx_partition *p, int64_t i)
{
    int64_t image, group, chunk;

    if (p->by_rows) {
        group = i % p->groups;
        chunk = i / p->groups % p->chunks;
        image = i / p->groups / p->chunks;
    } else {
        chunk = i % p->chunks;
        image = i / p->chunks % p->images;
        group = i / p->chunks / p->images;
    }
    return (cfx_task){
        .image = image,
        .unit = group * p->group,
        .units = cfx_min64(p->group, p->units - group * p->group),
        .from = chunk_at(p, chunk),
        .to = chunk_at(p, chunk + 1)};
}

/* ---- Rows ---- */

/* The fewest rows of a chunk: neighbours read some of the same rows. */
enum { ROWS = 7 };

typedef struct job {
    const cfx_context *ctx;
    cfx_partition p; /* the units are blocks */
    cfx_blocked_rows_fn *fn;
    void *arg;
} job;

static void run_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    for (int64_t i = begin; i < end && !cfx_context_stops(j->ctx); i++) {
        cfx_task a = cfx_task_at(&j->p, i);
        j->fn(j->arg, a.image * j->p.units + a.unit, a.from, a.to, worker);
    }
}

void cfx_blocked_for_rows(cfx_context *ctx, cfx_blocked_planes of,
                          int64_t least, cfx_blocked_rows_fn *fn, void *arg)
{
    int64_t planes = of.images * of.blocks, threads = cfx_context_threads(ctx);
    cfx_partition p = {.images = of.images,
                       .rows = of.rows,
                       .units = of.blocks,
                       .group = 1,
                       .groups = of.blocks,
                       .chunks = 1,
                       .by_rows = true};

    if (planes <= 0 || p.rows <= 0)
        return;
    if (threads > 1) {
        int64_t wanted = cfx_ceil_div(CFX_TASKS * threads, planes);
        p.chunks = cfx_min64(cfx_round_up(wanted, threads), p.rows / ROWS);
        if (p.chunks < threads)
            p.chunks = planes < threads ? cfx_min64(threads, p.rows) : 1;
    }
    job j = {ctx, p, fn, arg};
    int64_t n = planes * p.chunks,
            tasks = cfx_ceil_div(planes * p.rows, least);
    cfx_parallel_for(ctx, n, cfx_ceil_div(n, tasks), run_chunks, &j);
}
