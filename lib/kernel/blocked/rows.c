/*
 * rows.c -- distributing the rows of blocked images over threads.
 */
#include "kernel/blocked/rows.h"

#include "base/stop.h"
#include "kernel/int64.h"

/* The fewest pieces for each thread. */
enum { PIECES = 8 };
/* The fewest rows of a chunk: neighbours read some of the same rows. */
enum { ROWS = 7 };

typedef struct job {
    const cfx_context *ctx;
    cfx_blocked_planes p;
    int64_t chunks; /* of an image */
    cfx_blocked_rows_fn *fn;
    void *arg;
} job;

static void run_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    for (int64_t i = begin; i < end && !cfx_context_stops(j->ctx); i++) {
        cfx_blocked_spot s = cfx_blocked_spot_at(i, true, j->p.images,
                                                 j->chunks, j->p.blocks);
        j->fn(j->arg, s.image * j->p.blocks + s.group,
              cfx_blocked_chunk_at(s.chunk, j->p.rows, j->chunks),
              cfx_blocked_chunk_at(s.chunk + 1, j->p.rows, j->chunks), worker);
    }
}

void cfx_blocked_for_rows(cfx_context *ctx, cfx_blocked_planes p,
                          int64_t least, cfx_blocked_rows_fn *fn, void *arg)
{
    int64_t planes = p.images * p.blocks, threads = cfx_context_threads(ctx);
    job j = {ctx, p, 1, fn, arg};

    if (planes <= 0 || p.rows <= 0)
        return;
    if (threads > 1) {
        int64_t wanted = cfx_ceil_div(PIECES * threads, planes);
        j.chunks = cfx_min64(cfx_round_up(wanted, threads), p.rows / ROWS);
        if (j.chunks < threads)
            j.chunks = planes < threads ? cfx_min64(threads, p.rows) : 1;
    }
    int64_t n = planes * j.chunks;
    int64_t pieces = cfx_ceil_div(planes * p.rows, least);
    cfx_parallel_for(ctx, n, cfx_ceil_div(n, pieces), run_chunks, &j);
}
