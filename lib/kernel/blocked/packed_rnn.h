/*
 * packed_rnn.h -- one recurrent layer over a whole sequence, with packed weights.
 *
 * Weights are those of kernel/rnn_kernel.h, packed as packed.h has it, each gate filled up
 * with zeros to whole blocks of 16 units; so are the biases.
 */
#ifndef CFX_KERNEL_PACKED_RNN_H
#define CFX_KERNEL_PACKED_RNN_H

#include "kernel/blocked/packed.h"
#include "kernel/rnn_kernel.h"

/* Both directions read the same x, which is float32 without gaps, (time, batch,
 * input) or by its strides (batch, time, input). There are no projections. */
typedef struct cfx_packed_rnn {
    int directions;                /* 1 or 2 */
    cfx_rnn of[2];                 /* by direction */
    cfx_blocked_type input, state; /* of w_ih, w_hh */
} cfx_packed_rnn;

/* Scratch bytes; the pointers are not looked at. Never fails. */
size_t cfx_packed_rnn_workspace(const cfx_packed_rnn *p);
/* Compute it on the threads of the context. Never fails. */
void cfx_packed_rnn_run(cfx_context *ctx, const cfx_packed_rnn *p,
                        void *workspace);

#endif
