/*
 * pack_winograd -- the weights of Winograd's F(4x4, 3x3), and where it wins.
 */
#include "interp/passes/lower/pack_winograd.h"

#include <cfx/ops.h>

enum { EDGE = 6, KERNEL = 3, TILE = 4, NUMBERS = EDGE * EDGE };

/* ---- Where it wins ---- */

static bool are_known(const cfx_tensor *y)
{
    for (int i = 0; i < y->rank; i++)
        if (!cfx_dim_is_int(y->shape[i]))
            return false;
    return true;
}

/*
 * The costs for each pair of channels, in multiply-adds: 9 for each output against
 * 36 for each tile, and what could be multiplied while the weights come from the
 * third cache, 9 and 36 of them. The factor is for the transformations; it was
 * fitted to 16 to 512 channels at 7x7 to 112x112. Pairs of bfloat16 take half the
 * time and half the bytes. Against them the transformations of single channels,
 * which each output and input channel shares, decide as well; they were fitted to
 * the same range.
 */
bool cfx_winograd__wins(const cfx_tensor *weight, const cfx_tensor *y,
                        bool pairs)
{
    const double read = 13, transforms = 1.2;
    if (y->rank != 4 || !are_known(y) || cfx_tensor_size(weight, 0) < 16 ||
        cfx_tensor_size(weight, 1) < 16)
        return false;
    double batch = (double)cfx_tensor_size(y, 0), outputs = batch;
    double tiles = batch;
    for (int i = 2; i < 4; i++) {
        int64_t n = cfx_tensor_size(y, i);
        outputs *= (double)n;
        tiles *= (double)((n + TILE - 1) / TILE);
    }
    double direct = KERNEL * KERNEL * (outputs + read);
    double winograd = transforms * NUMBERS * (tiles + read);
    if (pairs) {
        direct /= 2;
        winograd += tiles * (300.0 / (double)cfx_tensor_size(weight, 0) +
                             470.0 / (double)cfx_tensor_size(weight, 1));
    }
    return direct > winograd;
}

/* ---- Weights ---- */

/* The transformation of three weights, as kernel/conv/winograd_level.c has it. */
static void transformation(double g[EDGE][KERNEL])
{
    const double point[] = {0, 0.75, -0.75, 1.5, -1.5};
    for (int i = 0; i < EDGE - 1; i++) {
        double distances = 1;
        for (int k = 0; k < EDGE - 1; k++)
            if (k != i)
                distances *= point[i] - point[k];
        g[i][0] = 1 / distances;
        g[i][1] = point[i] / distances;
        g[i][2] = point[i] * point[i] / distances;
    }
    g[EDGE - 1][0] = g[EDGE - 1][1] = 0;
    g[EDGE - 1][2] = 1;
}

/* The matrix (36, 9) of the transformation of 3x3 weights. */
static cfx_value make_matrix(cfx_scope *s)
{
    const int64_t shape[] = {NUMBERS, KERNEL * KERNEL};
    double g[EDGE][KERNEL];
    cfx_tensor *t;
    cfx_error err = {0};
    if (cfx_tensor_new(&t, s->ctx, CFX_F32, 2, shape, &err))
        return cfx_scope_fail(s, err.code, "%s", err.text);
    transformation(g);
    float *m = t->data;
    for (int e = 0; e < NUMBERS; e++)
        for (int k = 0; k < KERNEL * KERNEL; k++)
            *m++ = (float)(g[e / EDGE][k / KERNEL] * g[e % EDGE][k % KERNEL]);
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

cfx_value cfx_winograd__pack(cfx_scope *s, cfx_value weight)
{
    cfx_value taps = cfx_permute(s, weight,
                                 cfx_list(s, cfx_int(2), cfx_int(3),
                                          cfx_int(0), cfx_int(1), cfx_int(4),
                                          cfx_int(5)));
    if (cfx_scope_failed(s))
        return weight;
    const cfx_dim *shape = weight.u.tensor->shape;
    cfx_value rows = cfx_reshape(
        s, taps, cfx_list(s, cfx_int(KERNEL * KERNEL), cfx_int(-1)));
    return cfx_reshape(
        s, cfx_matmul(s, make_matrix(s), rows),
        cfx_list(s, cfx_int(NUMBERS), cfx_value_of_dim(shape[0]),
                 cfx_value_of_dim(shape[1]), cfx_value_of_dim(shape[4]),
                 cfx_value_of_dim(shape[5])));
}
