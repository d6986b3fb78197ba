/*
 * onnx_rnn.h -- the gates of recurrent layers, for reading (rnn.c) and writing
 * (write_rnn.c). Not installed.
 *
 * ONNX orders the gates i, o, f, c and z, r, h, torch i, f, g, o and r, z, n.
 */
#ifndef CFX_FORMAT_ONNX_RNN_H
#define CFX_FORMAT_ONNX_RNN_H

#include <stdint.h>

enum { ONNX_MAX_GATES = 4 };

typedef struct onnx_cell {
    int gates;
    int order[ONNX_MAX_GATES]; /* ONNX's gates in torch's order */
} onnx_cell;

extern const onnx_cell onnx_lstm_cell, onnx_gru_cell, onnx_rnn_cell;

#endif
