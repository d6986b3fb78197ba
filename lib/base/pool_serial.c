/*
 * pool_serial -- cfx_parallel_for in a build without threads.
 */
#include "base/context_impl.h"

void cfx_parallel_for(cfx_context *ctx, int64_t n, int64_t grain,
                      cfx_parallel_fn *fn, void *arg)
{
    cfx_pool_run_alone(ctx, n, grain < 1 ? 1 : grain, fn, arg, 0);
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
