/*
 * stop -- cancellation and time limits.
 */
#include "base/stop.h"

#include <string.h>

#include "base/context_impl.h"

void cfx_context_cancel(cfx_context *ctx)
{
    ctx = ctx->parent;
    atomic_store_explicit(&ctx->cancelled, 1, memory_order_relaxed);
}

void cfx_context_resume(cfx_context *ctx)
{
    ctx = ctx->parent;
    atomic_store_explicit(&ctx->cancelled, 0, memory_order_relaxed);
}

static bool is_cancelled(const cfx_context *ctx)
{
    return atomic_load_explicit(&ctx->cancelled, memory_order_relaxed);
}

static bool is_late(const cfx_context *ctx)
{
    return ctx->deadline != INT64_MAX && cfx_clock_ns() > ctx->deadline;
}

bool cfx_context_stops(const cfx_context *ctx)
{
    ctx = ctx->parent;
    return is_cancelled(ctx) || is_late(ctx);
}

cfx_status cfx_context_check(cfx_context *ctx, cfx_error *err)
{
    ctx = ctx->parent;
    if (is_cancelled(ctx))
        return cfx_fail(err, CFX_ECANCEL, "cancelled");
    if (is_late(ctx))
        return cfx_fail(err, CFX_ELIMIT, "the time limit of %g s is reached",
                        ctx->timeout);
    return CFX_OK;
}

/* About a millisecond, with page faults. */
enum { BLOCK = 1 << 20 };

static size_t block_at(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}

void cfx_fill_bytes(const cfx_context *ctx, void *to, int c, size_t n)
{
    for (size_t i = 0; i < n && !cfx_context_stops(ctx); i += BLOCK)
        memset((char *)to + i, c, block_at(i, n));
}
