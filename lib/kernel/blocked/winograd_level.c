/*
 * winograd_level.c -- the transformations of winograd.h, for one level.
 *
 * Columns are transformed first, then rows. Those of F(2, 3) have the points 0, 1,
 * -1 and infinity.
 */
#include "kernel/blocked/winograd.h"

#include "kernel/blocked/finish.h"
#include "kernel/conv/winograd_1d.h"

enum { EDGE = CFX_F4_EDGE, TILE = CFX_F4_TILE }; /* the largest */

CFX_FORCE_INLINE void inputs_1d(const int edge, vf *y, const vf *x)
{
    if (edge == CFX_F4_EDGE) {
        input_1d(y, x);
        return;
    }
    y[0] = vf_sub(x[2], x[0]);
    y[1] = vf_add(x[2], x[1]);
    y[2] = vf_sub(x[2], x[1]);
    y[3] = vf_sub(x[3], x[1]);
}

CFX_FORCE_INLINE void outputs_1d(const int edge, vf *y, const vf *x)
{
    if (edge == CFX_F4_EDGE) {
        output_1d(y, x);
        return;
    }
    y[0] = vf_add(x[0], vf_add(x[1], x[2]));
    y[1] = vf_add(x[3], vf_sub(x[1], x[2]));
}

/* ---- Inputs ---- */

/* Vector number `at` of the channels; `narrow`: of bfloat16, `pairs`: to it. */
CFX_FORCE_INLINE void inputs_vector(const int edge, const bool narrow,
                                    const bool pairs, float *v, int64_t step,
                                    const float *x, int64_t row, int at)
{
    vf d[EDGE][EDGE];

    CFX_UNROLL
    for (int j = 0; j < edge; j++) {
        vf c[EDGE], r[EDGE];
        CFX_UNROLL
        for (int i = 0; i < edge; i++)
            c[i] = load_block(narrow,
                              x + i * row + j * cfx_blocked_lanes(narrow), at);
        inputs_1d(edge, r, c);
        CFX_UNROLL
        for (int i = 0; i < edge; i++)
            d[i][j] = r[i];
    }
    CFX_UNROLL
    for (int i = 0; i < edge; i++) {
        vf r[EDGE];
        inputs_1d(edge, r, d[i]);
        CFX_UNROLL
        for (int j = 0; j < edge; j++) {
            float *to = v + (i * edge + j) * step;
            if (pairs)
                store_narrow(true, to, at, r[j]);
            else
                vf_store(to + at * VF, r[j]);
        }
    }
}

#define INPUTS(name, edge, narrow, pairs)                                     \
    static void name(float *v, int64_t step, const float *x, int64_t row,     \
                     int64_t n)                                               \
    {                                                                         \
        for (; n > 0; n--) {                                                  \
            for (int i = 0; i < CFX_BLOCK / VF; i++)                          \
                inputs_vector(edge, narrow, pairs, v, step, x, row, i);       \
            v += cfx_blocked_lanes(pairs);                                    \
            x += (edge - 2) * cfx_blocked_lanes(narrow);                      \
        }                                                                     \
    }

INPUTS(f4_inputs, CFX_F4_EDGE, false, false)
INPUTS(f4_narrow_inputs, CFX_F4_EDGE, true, false)
INPUTS(f2_inputs, CFX_F2_EDGE, false, false)
INPUTS(f2_narrow_inputs, CFX_F2_EDGE, true, false)
INPUTS(f2_pairs, CFX_F2_EDGE, false, true)
INPUTS(f2_narrow_pairs, CFX_F2_EDGE, true, true)

/* ---- Outputs ---- */

/* Store vectors of the first `cols` pixels of a tile's row. */
CFX_FORCE_INLINE void put_row(const int tile, int cols, float *to, const vf *r)
{
    CFX_UNROLL
    for (int j = 0; j < tile; j++)
        if (j < cols)
            vf_store(to + j * CFX_BLOCK, r[j]);
}

/* Vector v of tile k's channels; to `sums`, (4, 4, 16), if it is not NULL. */
CFX_FORCE_INLINE void outputs_vector(const int edge,
                                     const cfx_winograd_outputs *t,
                                     float *sums, int64_t k, int cols, int v)
{
    const int tile = edge - 2;
    const bool narrow = t->end.narrow, converts = t->end.converts;
    const bool add_narrow = t->end.add_narrow;
    const int64_t y = cfx_blocked_lanes(narrow);
    const int64_t add = cfx_blocked_lanes(add_narrow);
    const bounds limits = bounds_of(&t->end);
    const float *addends = t->end.add;
    int64_t at = (int64_t)v * VF, first = k * tile;
    const float *m = t->m + k * CFX_BLOCK + at;
    vf s[TILE][EDGE], b = t->end.bias ? vf_load(t->end.bias + at) : vf_zero();

    CFX_UNROLL
    for (int j = 0; j < edge; j++) {
        vf c[EDGE], r[TILE];
        CFX_UNROLL
        for (int i = 0; i < edge; i++)
            c[i] = vf_load(m + (i * edge + j) * t->step);
        outputs_1d(edge, r, c);
        CFX_UNROLL
        for (int i = 0; i < tile; i++)
            s[i][j] = r[i];
    }
    CFX_UNROLL
    for (int i = 0; i < tile; i++) {
        vf r[TILE];
        if (i >= t->rows)
            break;
        outputs_1d(edge, r, s[i]);
        CFX_UNROLL
        for (int j = 0; j < tile; j++) {
            r[j] = vf_add(r[j], b);
            if (addends && j < cols)
                r[j] = vf_add(r[j], load_block(add_narrow,
                                               addends + i * t->add_row +
                                                   (first + j) * add,
                                               v));
            r[j] = finish(r[j], limits);
        }
        if (sums)
            put_row(tile, tile, sums + i * TILE * CFX_BLOCK + at, r);
        else if (!narrow)
            put_row(tile, cols, t->y + i * t->row + first * CFX_BLOCK + at, r);
        CFX_UNROLL
        for (int j = 0; j < tile; j++)
            if (j < cols && !sums && narrow)
                store_narrow(converts, t->y + i * t->row + (first + j) * y, v,
                             r[j]);
    }
}

CFX_FORCE_INLINE void outputs(const int edge, const cfx_winograd_outputs *t)
{
    float sums[TILE * TILE * CFX_BLOCK];

    for (int64_t k = 0; k < t->n; k++) {
        const int tile = edge - 2, cols = k + 1 < t->n ? tile : t->cols;
        float *y = t->y + k * tile * cfx_blocked_lanes(t->end.narrow);
        for (int i = 0; i < CFX_BLOCK / VF; i++)
            outputs_vector(edge, t, t->end.activation ? sums : NULL, k, cols,
                           i);
        for (int i = 0; i < t->rows && t->end.activation; i++)
            activate(&t->end, y + i * t->row, sums + i * TILE * CFX_BLOCK,
                     (int64_t)cols * CFX_BLOCK);
    }
}

static void f4_outputs(const cfx_winograd_outputs *t)
{
    outputs(CFX_F4_EDGE, t);
}

static void f2_outputs(const cfx_winograd_outputs *t)
{
    outputs(CFX_F2_EDGE, t);
}

extern const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels);

const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels) = {
    .inputs = {[CFX_BLOCKED_FLOAT] = {f4_inputs, f4_narrow_inputs},
               [CFX_BLOCKED_MIXED] = {f2_inputs, f2_narrow_inputs},
               [CFX_BLOCKED_PAIRS] = {f2_pairs, f2_narrow_pairs}},
    .outputs = {[CFX_BLOCKED_FLOAT] = f4_outputs,
                [CFX_BLOCKED_MIXED] = f2_outputs,
                [CFX_BLOCKED_PAIRS] = f2_outputs}};
