/*
 * winograd_level.c -- the transformations of winograd.h, for one level.
 *
 * Columns are transformed first, then rows.
 */
#include "kernel/blocked/winograd.h"

#include "kernel/blocked/finish.h"
#include "kernel/conv/winograd_1d.h"

enum { EDGE = CFX_F4_EDGE, TILE = CFX_F4_TILE };

/* Vector number `at` of the channels. */
CFX_FORCE_INLINE void inputs_vector(const bool narrow, float *v, int64_t step,
                                    const float *x, int64_t row, int at)
{
    vf d[EDGE][EDGE];

    CFX_UNROLL
    for (int j = 0; j < EDGE; j++) {
        vf c[EDGE], r[EDGE];
        CFX_UNROLL
        for (int i = 0; i < EDGE; i++)
            c[i] = load_block(narrow,
                              x + i * row + j * cfx_blocked_lanes(narrow), at);
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
            vf_store(v + (i * EDGE + j) * step + at * VF, r[j]);
    }
}

static void inputs(float *v, int64_t step, const float *x, int64_t row)
{
    for (int i = 0; i < CFX_BLOCK / VF; i++)
        inputs_vector(false, v, step, x, row, i);
}

static void narrow_inputs(float *v, int64_t step, const float *x, int64_t row)
{
    for (int i = 0; i < CFX_BLOCK / VF; i++)
        inputs_vector(true, v, step, x, row, i);
}

/* Vector v of the channels; to `sums`, (4, 4, 16), if it is not NULL. */
CFX_FORCE_INLINE void outputs_vector(const cfx_winograd_outputs *t,
                                     float *sums, int v)
{
    const int64_t y = cfx_blocked_lanes(t->end.narrow);
    const int64_t add = cfx_blocked_lanes(t->end.add_narrow);
    int64_t at = (int64_t)v * VF;
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
            if (j >= t->cols)
                break;
            r[j] = vf_add(r[j], b);
            if (t->end.add)
                r[j] = vf_add(r[j],
                              load_block(t->end.add_narrow,
                                         t->end.add + i * t->add_row + j * add,
                                         v));
            r[j] = finish(r[j], &t->end);
            if (sums)
                vf_store(sums + (i * TILE + j) * CFX_BLOCK + at, r[j]);
            else
                store_block(&t->end, t->y + i * t->row + j * y, v, r[j]);
        }
    }
}

static void outputs(const cfx_winograd_outputs *t)
{
    float sums[TILE * TILE * CFX_BLOCK];

    for (int i = 0; i < CFX_BLOCK / VF; i++)
        outputs_vector(t, t->end.activation ? sums : NULL, i);
    for (int i = 0; i < t->rows && t->end.activation; i++)
        activate(&t->end, t->y + i * t->row, sums + i * TILE * CFX_BLOCK,
                 t->cols * CFX_BLOCK);
}

extern const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels);

const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels) = {.inputs = {inputs, narrow_inputs},
                                     .outputs = outputs};
