/*
 * stop.h -- cancellation and time limits in long loops. Not installed.
 *
 * A loop that may take more than some milliseconds polls cfx_context_stops()
 * and skips the rest of its work when it is true. It stays true, so that
 * cfx_context_check() fails before the results are used. cfx_parallel_for
 * polls before each piece, and every operator call at its end.
 */
#ifndef CFX_BASE_STOP_H
#define CFX_BASE_STOP_H

#include <cfx/context.h>

/* Has the work been cancelled, or is its time up? */
bool cfx_context_stops(const cfx_context *ctx);

/* Elements between two polls of a loop: about 0.1 ms. */
enum { CFX_STOP_BLOCK = 1 << 16 };
CFX_INLINE bool cfx_context_stops_at(const cfx_context *ctx, int64_t i)
{
    return i % CFX_STOP_BLOCK == 0 && cfx_context_stops(ctx);
}

/* memset for sizes up to gigabytes; polls. */
void cfx_fill_bytes(const cfx_context *ctx, void *to, int c, size_t n);

#endif
