/*
 * finish.h -- the end of a blocked convolution's sums, for one level.
 */
#ifndef CFX_BLOCKED_FINISH_H
#define CFX_BLOCKED_FINISH_H

#include "kernel/blocked/blocked.h"
#include "kernel/vec/vec.h"

CFX_FORCE_INLINE vf finish(vf s, const cfx_blocked_epilogue *e)
{
    /* As in PyTorch, NaN passes: max and min give their second argument. */
    return vf_min(vf_set1(e->hi), vf_max(vf_set1(e->lo), s));
}

/* Results y[0..n) of sums that were just stored; may be the same. */
CFX_FORCE_INLINE void activate(const cfx_blocked_epilogue *e, float *y,
                               const float *sums, int64_t n)
{
    const void *in[] = {sums};
    e->activation(y, in, n, e->params);
}

#endif
