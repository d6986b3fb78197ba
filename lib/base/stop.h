/*
 * stop.h -- how long work heeds cancelling and time limits. Not installed.
 *
 * A loop that may take more than some milliseconds asks cfx_context_stops() in
 * between, and leaves the rest of its work out when it should stop. Nobody has
 * to be told: once the answer is yes it stays yes, so that whoever is about to
 * use the results finds out by cfx_context_check(). cfx_parallel_for asks
 * before each piece, and the call of an operator when it is done.
 */
#ifndef CFX_BASE_STOP_H
#define CFX_BASE_STOP_H

#include <cfx/context.h>

/* Has the work been cancelled, or is its time up? */
bool cfx_context_stops(const cfx_context *ctx);

/* The same for a loop over elements, which asks at every so many: that is some
 * 0.1 ms. */
enum { CFX_STOP_BLOCK = 1 << 16 };
CFX_INLINE bool cfx_context_stops_at(const cfx_context *ctx, int64_t i)
{
    return i % CFX_STOP_BLOCK == 0 && cfx_context_stops(ctx);
}

/* Like memset, for what may be gigabytes. */
void cfx_fill_bytes(const cfx_context *ctx, void *to, int c, size_t n);

#endif
