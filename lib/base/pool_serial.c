/*
 * pool_serial -- cfx_parallel_for in a build without threads.
 */
#include "base/context.h"
#include "base/stop.h"

void cfx_parallel_for(cfx_context *ctx, int64_t n, int64_t grain,
                      cfx_parallel_fn *fn, void *arg)
{
    if (grain < 1)
        grain = 1;
    for (int64_t begin = 0; begin < n && !cfx_context_stops(ctx);) {
        int64_t end = grain < n - begin ? begin + grain : n;
        fn(arg, begin, end, 0);
        begin = end;
    }
}

bool cfx_pool_init(cfx_context *ctx)
{
    (void)ctx;
    return true;
}

void cfx_pool_release(cfx_context *ctx)
{
    (void)ctx;
}
