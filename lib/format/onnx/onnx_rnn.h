/*
 * onnx_rnn.h -- the cells of recurrent layers, for reading (rnn.c) and writing
 * (write_rnn.c). Not installed.
 *
 * ONNX orders the gates i, o, f, c and z, r, h, torch i, f, g, o and r, z, n.
 */
#ifndef CFX_FORMAT_ONNX_RNN_H
#define CFX_FORMAT_ONNX_RNN_H

#include <stddef.h>
#include <stdint.h>

enum { ONNX_MAX_GATES = 4 };

typedef struct onnx_cell {
    int gates;
    int order[ONNX_MAX_GATES]; /* ONNX's gates in torch's order */
    int states;
    const char *target; /* torch's function */
    size_t activations;
    const char *usual[3]; /* those of the function */
} onnx_cell;

extern const onnx_cell onnx_lstm_cell, onnx_gru_cell, onnx_rnn_cell;

#endif
