/*
 * winograd_level.c -- the transformations of winograd.h, for one level.
 *
 * Columns are transformed first, then rows.
 */
#include "kernel/blocked/winograd.h"

#include "kernel/blocked/finish.h"
#include "kernel/conv/winograd_1d.h"

enum { EDGE = CFX_F4_EDGE, TILE = CFX_F4_TILE };

CFX_FORCE_INLINE void inputs_vector(float *v, int64_t step, const float *x,
                                    int64_t row)
{
    vf d[EDGE][EDGE];

    CFX_UNROLL
    for (int j = 0; j < EDGE; j++) {
        vf c[EDGE], r[EDGE];
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            c[i] = vf_load(x + i * row + j * CFX_BLOCK);
        input_1d(r, c);
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            d[i][j] = r[i];
    }
    CFX_UNROLL
    for (int i = 0; i < EDGE; i++) {
        vf r[EDGE];
        input_1d(r, d[i]);
        CFX_UNROLL
        for (int j = 0; j < EDGE; j++)
            vf_store(v + (i * EDGE + j) * step, r[j]);
    }
}

static void inputs(float *v, int64_t step, const float *x, int64_t row)
{
    for (int i = 0; i < CFX_BLOCK; i += VF)
        inputs_vector(v + i, step, x + i, row);
}

CFX_FORCE_INLINE void outputs_vector(const cfx_winograd_outputs *t, int64_t at)
{
    vf s[TILE][EDGE], b = t->end.bias ? vf_load(t->end.bias + at) : vf_zero();

    CFX_UNROLL
    for (int j = 0; j < EDGE; j++) {
        vf c[EDGE], r[TILE];
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            c[i] = vf_load(t->m + (i * EDGE + j) * t->step + at);
        output_1d(r, c);
        CFX_UNROLL
        for (int i = 0; i < TILE; i++)
            s[i][j] = r[i];
    }
    for (int i = 0; i < t->rows; i++) {
        vf r[TILE];
        output_1d(r, s[i]);
        CFX_UNROLL
        for (int j = 0; j < TILE; j++) {
            int64_t to = i * t->row + j * CFX_BLOCK + at;
            if (j >= t->cols)
                break;
            r[j] = vf_add(r[j], b);
            if (t->end.add)
                r[j] = vf_add(r[j], vf_load(t->end.add + to));
            vf_store(t->y + to, finish(r[j], &t->end));
        }
    }
}

static void outputs(const cfx_winograd_outputs *t)
{
    for (int i = 0; i < CFX_BLOCK; i += VF)
        outputs_vector(t, i);
    for (int i = 0; i < t->rows && t->end.activation; i++)
        activate(&t->end, t->y + i * t->row, t->y + i * t->row,
                 t->cols * CFX_BLOCK);
}

extern const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels);

const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels) = {.inputs = inputs, .outputs = outputs};
