/*
 * rnn_kernel.h -- one direction of one recurrent layer over a whole sequence.
 *
 * Time is the outermost axis here; `step` strides let the caller have the
 * batch first. Gates stand in PyTorch's order: LSTM i f g o, GRU r z n.
 *
 *     x      (time, batch, input)          w_ih  (gates * hidden, input)
 *     h0     (batch, out)                  w_hh  (gates * hidden, out)
 *     c0     (batch, hidden)               b_ih, b_hh  (gates * hidden)
 *     y      (time, batch, out)            w_hr  (proj, hidden)
 *
 * With `dynamic`, x and each h are quantized to 0..127 and back before they are
 * multiplied, by their least and greatest element, as torch.ao's dynamic layers do.
 *
 * out is hidden, or proj where an LSTM has projections. The products with
 * w_ih of all times are one matrix product; what is left for each step is the
 * product with w_hh and the gates.
 */
#ifndef CFX_KERNEL_RNN_H
#define CFX_KERNEL_RNN_H

#include "kernel/kernel.h"

typedef enum cfx_rnn_mode {
    CFX_RNN_TANH,
    CFX_RNN_RELU,
    CFX_RNN_LSTM,
    CFX_RNN_GRU
} cfx_rnn_mode;

typedef struct cfx_rnn {
    cfx_dtype dtype; /* f32 or f64 */
    cfx_rnn_mode mode;
    bool reverse; /* from the last time to the first */
    bool dynamic; /* of f32 only; x has no gaps */
    int64_t time, batch, input, hidden;
    int64_t proj; /* 0: no projection */
    const void *x;
    int64_t x_stride[2]; /* of time and batch, in elements */
    const void *w_ih, *w_hh, *w_hr;
    const void *b_ih, *b_hh; /* or NULL */
    const void *h0, *c0;     /* NULL: zeros */
    void *y;                 /* NULL: not wanted */
    int64_t y_stride[2];
    void *h, *c; /* the last states, (batch, out), (batch, hidden);
                                c of an LSTM only; never h0 and c0 */
} cfx_rnn;

CFX_INLINE int64_t cfx_rnn_gates(cfx_rnn_mode mode)
{
    return mode == CFX_RNN_LSTM ? 4 : mode == CFX_RNN_GRU ? 3 : 1;
}

/* Scratch bytes; the pointers are not looked at. */
size_t cfx_rnn_workspace(const cfx_context *ctx, const cfx_rnn *r);
void cfx_rnn_run(cfx_context *ctx, const cfx_rnn *r, void *workspace);

/* ---- Levels ---- */

/* One step of n units of one row. */
typedef struct cfx_rnn_cell {
    int64_t n;
    int64_t gate;      /* from the sums of a gate to those of the next */
    const void *x, *u; /* the sums: products with w_ih, and with w_hh */
    const void *from;  /* n of the last h; may be h */
    void *h, *c;       /* c of an LSTM only */
} cfx_rnn_cell;

typedef void cfx_rnn_cell_fn(const cfx_rnn_cell *cell);

/* By mode. */
struct cfx_rnn_kernels {
    cfx_rnn_cell_fn *f32[CFX_RNN_GRU + 1], *f64[CFX_RNN_GRU + 1];
};

#endif
