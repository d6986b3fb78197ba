/*
 * rnn_level.c -- the gates of recurrent layers, for one level.
 *
 * A gate's sum is that of the input's product and the state's. The GRU keeps them
 * apart, since its reset gate is between them.
 */
#include "kernel/rnn_kernel.h"

#include "kernel/vec/math_f32.h"
#include "kernel/vec/math_f64.h"
#include "kernel/vec/simd.h"

#define SIGMOID(f, x) (1 / (1 + exp_##f(-(x))))

#define CELLS(T, f)                                                           \
    static void lstm_##f(const cfx_rnn_cell *a)                               \
    {                                                                         \
        const int64_t n = a->n, to = a->gate;                                 \
        const T *x = a->x, *u = a->u;                                         \
        T *h = a->h, *c = a->c;                                               \
                                                                              \
        CFX_SIMD                                                              \
        for (int64_t i = 0; i < n; i++) {                                     \
            T in = SIGMOID(f, x[i] + u[i]);                                   \
            T forget = SIGMOID(f, x[to + i] + u[to + i]);                     \
            T cell = tanh_##f(x[2 * to + i] + u[2 * to + i]);                 \
            T out = SIGMOID(f, x[3 * to + i] + u[3 * to + i]);                \
            T next = forget * c[i] + in * cell;                               \
            c[i] = next;                                                      \
            h[i] = out * tanh_##f(next);                                      \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void gru_##f(const cfx_rnn_cell *a)                                \
    {                                                                         \
        const int64_t n = a->n, to = a->gate;                                 \
        const T *x = a->x, *u = a->u, *from = a->from;                        \
        T *h = a->h;                                                          \
                                                                              \
        CFX_SIMD                                                              \
        for (int64_t i = 0; i < n; i++) {                                     \
            T reset = SIGMOID(f, x[i] + u[i]);                                \
            T keep = SIGMOID(f, x[to + i] + u[to + i]);                       \
            T next = tanh_##f(x[2 * to + i] + reset * u[2 * to + i]);         \
            h[i] = next + keep * (from[i] - next);                            \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void tanh_cell_##f(const cfx_rnn_cell *a)                          \
    {                                                                         \
        const int64_t n = a->n;                                               \
        const T *x = a->x, *u = a->u;                                         \
        T *h = a->h;                                                          \
                                                                              \
        CFX_SIMD                                                              \
        for (int64_t i = 0; i < n; i++)                                       \
            h[i] = tanh_##f(x[i] + u[i]);                                     \
    }                                                                         \
                                                                              \
    static void relu_cell_##f(const cfx_rnn_cell *a)                          \
    {                                                                         \
        const int64_t n = a->n;                                               \
        const T *x = a->x, *u = a->u;                                         \
        T *h = a->h;                                                          \
                                                                              \
        CFX_SIMD                                                              \
        for (int64_t i = 0; i < n; i++) {                                     \
            T sum = x[i] + u[i];                                              \
            h[i] = sum < 0 ? 0 : sum;                                         \
        }                                                                     \
    }

CELLS(float, f32)
CELLS(double, f64)

#define TABLE(f)                                                              \
    {                                                                         \
        [CFX_RNN_TANH] = tanh_cell_##f, [CFX_RNN_RELU] = relu_cell_##f,       \
        [CFX_RNN_LSTM] = lstm_##f, [CFX_RNN_GRU] = gru_##f                    \
    }

extern const struct cfx_rnn_kernels CFX_LEVEL_NAME(cfx_rnn_kernels);

const struct cfx_rnn_kernels CFX_LEVEL_NAME(cfx_rnn_kernels) = {
    .f32 = TABLE(f32),
    .f64 = TABLE(f64),
};
