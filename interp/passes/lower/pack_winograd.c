/*
 * pack_winograd -- the weights of Winograd's F(4x4, 3x3), or in bfloat16 F(2x2,
 * 3x3), and where it wins.
 */
#include "interp/passes/lower/pack_winograd.h"

#include <cfx/ops.h>

enum { KERNEL = 3, EDGE = 6 }; /* the largest edge */

/* A tile of outputs, its inputs, and the points of the transformation but infinity. */
typedef struct form {
    int tile, edge, elements;
    double point[EDGE - 1];
} form;

static const form F4 = {4, 6, 36, {0, 0.75, -0.75, 1.5, -1.5}};
static const form F2 = {2, 4, 16, {0, 1, -1}};

/* ---- Where it wins ---- */

/* The tiles of outputs of y along both axes, of as many images as there are at
 * least. */
static double tiles_of(const cfx_tensor *y, int64_t tile)
{
    bool known = cfx_dim_is_int(y->shape[0]);
    double tiles = known ? (double)cfx_tensor_size(y, 0) : 1;
    for (int i = 2; i < 4; i++)
        tiles *= (double)((cfx_tensor_size(y, i) + tile - 1) / tile);
    return tiles;
}

/*
 * The costs for each pair of channels, in multiply-adds: 9 for each output against
 * 36 for each tile of 4x4, and what could be multiplied while the weights come from
 * the third cache, 9 and 36 of them. The factor is for the transformations; it was
 * fitted to 16 to 512 channels at 7x7 to 112x112.
 *
 * In bfloat16, 9 stand against 16 for each tile of 2x2. The transformations of a
 * channel, which its products share, then decide as well.
 */
bool cfx_winograd__wins(const cfx_tensor *weight, const cfx_tensor *y,
                        bool pairs)
{
    const double read = 13, transforms = 1.2;
    if (y->rank != 4 || !cfx_dim_is_int(y->shape[2]) ||
        !cfx_dim_is_int(y->shape[3]) || cfx_tensor_size(weight, 0) < 16 ||
        cfx_tensor_size(weight, 1) < 16)
        return false;
    double out = (double)cfx_tensor_size(weight, 0);
    double in = (double)cfx_tensor_size(weight, 1);
    double direct = KERNEL * KERNEL * (tiles_of(y, 1) + read);
    double tiles = tiles_of(y, pairs ? F2.tile : F4.tile);
    if (!pairs)
        return direct > transforms * F4.elements * (tiles + read);
    return direct >
           1.1 * F2.elements * (tiles + read) + tiles * (200 / out + 300 / in);
}

/* ---- Weights ---- */

/* The transformation of three weights, as kernel/blocked/winograd_level.c has it. */
static void transformation(const form *f, double g[EDGE][KERNEL])
{
    const double *point = f->point;
    int last = f->edge - 1;
    for (int i = 0; i < last; i++) {
        double distances = 1;
        for (int k = 0; k < last; k++)
            if (k != i)
                distances *= point[i] - point[k];
        g[i][0] = 1 / distances;
        g[i][1] = point[i] / distances;
        g[i][2] = point[i] * point[i] / distances;
    }
    g[last][0] = g[last][1] = 0;
    g[last][2] = 1;
}

/* The matrix (elements, 9) of the transformation of 3x3 weights. */
static cfx_value make_matrix(cfx_scope *s, const form *f)
{
    const int64_t shape[] = {f->elements, KERNEL * KERNEL};
    double g[EDGE][KERNEL];
    cfx_tensor *t;
    cfx_error err = {0};
    if (cfx_tensor_new(&t, s->ctx, CFX_F32, 2, shape, &err))
        return cfx_scope_fail(s, err.code, "%s", err.text);
    transformation(f, g);
    float *m = t->data;
    for (int e = 0; e < f->elements; e++)
        for (int k = 0; k < KERNEL * KERNEL; k++)
            *m++ = (float)(g[e / f->edge][k / KERNEL] *
                           g[e % f->edge][k % KERNEL]);
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

/* (..., in, out) as (..., in / 2, out, 2) of bfloat16 */
static cfx_value make_pairs(cfx_scope *s, cfx_value w)
{
    w = cfx_unflatten(s, w, cfx_int(-2), cfx_list(s, cfx_int(-1), cfx_int(2)));
    w = cfx_transpose(s, w, cfx_int(-2), cfx_int(-1));
    w = cfx_to(s, w, cfx_value_of_dtype(CFX_BF16));
    return cfx_clone(s, w, cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

cfx_value cfx_winograd__pack(cfx_scope *s, cfx_value weight, bool pairs)
{
    const form *f = pairs ? &F2 : &F4;
    cfx_value taps = cfx_permute(s, weight,
                                 cfx_list(s, cfx_int(2), cfx_int(3),
                                          cfx_int(0), cfx_int(1), cfx_int(4),
                                          cfx_int(5)));
    if (cfx_scope_failed(s))
        return weight;
    const cfx_dim *shape = weight.u.tensor->shape;
    cfx_value rows = cfx_reshape(
        s, taps, cfx_list(s, cfx_int(KERNEL * KERNEL), cfx_int(-1)));
    cfx_value w = cfx_reshape(
        s, cfx_matmul(s, make_matrix(s, f), rows),
        cfx_list(s, cfx_int(f->elements), cfx_value_of_dim(shape[0]),
                 cfx_value_of_dim(shape[1]), cfx_value_of_dim(shape[4]),
                 cfx_value_of_dim(shape[5])));
    return pairs ? make_pairs(s, w) : w;
}
