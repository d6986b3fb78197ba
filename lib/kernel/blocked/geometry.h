/*
 * geometry.h -- where the windows of a blocked image lie.
 */
#ifndef CFX_BLOCKED_GEOMETRY_H
#define CFX_BLOCKED_GEOMETRY_H

#include <string.h>

#include "kernel/blocked/blocked.h"
#include "kernel/int64.h"

/* The taps along `axis` that lie in x for output `o`: their number, and the first
 * of them. */
CFX_INLINE int64_t cfx_blocked__taps(const cfx_blocked_conv *c, int axis,
                                     int64_t o, int64_t *first)
{
    int64_t start = o * c->stride[axis] - c->pad[axis], d = c->dilation[axis];
    int64_t skip = start < 0 ? cfx_ceil_div(-start, d) : 0;
    int64_t left = c->in[axis] - start;
    int64_t end = c->kernel[axis];

    if (left <= (end - 1) * d) /* a division that most windows do not need */
        end = left > 0 ? cfx_ceil_div(left, d) : 0;
    *first = skip;
    return cfx_max64(end - skip, 0);
}

/* Is it a 1x1 convolution of stride 1, so that an image is one long row? */
CFX_INLINE bool cfx_blocked__is_flat(const cfx_blocked_conv *c)
{
    return c->kernel[0] * c->kernel[1] == 1 &&
           c->stride[0] * c->stride[1] == 1 && c->pad[0] == 0 &&
           c->pad[1] == 0 && c->in[0] == c->out[0] && c->in[1] == c->out[1];
}

/* Copy n pixels of `unit` bytes, `step` bytes apart, to contiguous memory. */
CFX_INLINE void cfx_blocked__pick(void *to, const void *from, int64_t n,
                                  int64_t unit, int64_t step)
{
    enum { BYTES = CFX_BLOCK, FLOATS = CFX_BLOCK * sizeof(float) };

    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)to + i * unit;
        const char *pixel = (const char *)from + i * step;
        if (unit == BYTES) /* sizes that the compiler copies without a call */
            memcpy(at, pixel, BYTES);
        else if (unit == FLOATS)
            memcpy(at, pixel, FLOATS);
        else
            memcpy(at, pixel, (size_t)unit);
    }
}

#endif
