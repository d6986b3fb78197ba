/*
 * affine_grid -- the points of an image under affine maps, for grid_sample.
 *
 * shape   (N, 2, 3) and the size (N, C, H, W) give (N, H, W, 2); (N, 3, 4) and
 *         (N, C, D, H, W) give (N, D, H, W, 3).
 * cost    that of the products with the maps.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, THETA, SIZE, ALIGN_CORNERS);

/* Points from -1 to 1: the outermost are the corners, or half a step within. */
static cfx_value points(cfx_scope *s, const cfx_call *call, int axis)
{
    cfx_dim n = cfx_call_dim(call, SIZE, axis);
    cfx_value theta = cfx_call_value(call, THETA);
    cfx_value dtype[] = {cfx_str(s, "dtype"),
                         cfx_value_of_dtype((cfx_dtype)theta.u.tensor->dtype)};
    double most = 1;
    if (!cfx_dim_is_int(n))
        most = NAN;
    else if (cfx_dim_value(n) <= 1)
        most = 0;
    else if (!cfx_call_bool(call, ALIGN_CORNERS))
        most = (double)(cfx_dim_value(n) - 1) / (double)cfx_dim_value(n);
    cfx_value args[] = {cfx_float(-1), cfx_float(1), cfx_value_of_dim(n)};
    cfx_value x = cfx_call_function(s, "torch.linspace",
                                    (cfx_args){args, 3, dtype, 1});
    return most == 1 ? x : CFX_CALL(s, "torch.mul", x, cfx_float(most));
}

/* (H, W, 3) of x, y, 1; or (D, H, W, 4) of x, y, z, 1. */
static cfx_value base_grid(cfx_scope *s, const cfx_call *call, int n)
{
    cfx_value part[4], extent[3], shape[3];
    for (int i = 0; i < n; i++)
        extent[i] = cfx_value_of_dim(cfx_call_dim(call, SIZE, 2 + i));
    cfx_value all = cfx_list_of(s, CFX_TUPLE, (size_t)n, extent);
    for (int i = 0; i < n; i++) {
        int axis = n - 1 - i;
        for (int k = 0; k < n; k++)
            shape[k] = cfx_int(k == axis ? -1 : 1);
        cfx_value x = CFX_CALL(s, "torch.reshape", points(s, call, 2 + axis),
                               cfx_list_of(s, CFX_TUPLE, (size_t)n, shape));
        part[i] = CFX_CALL(s, "Tensor.expand", x, all);
    }
    part[n] = CFX_CALL(s, "torch.ones_like", part[0]);
    return CFX_CALL(s, "torch.stack",
                    cfx_list_of(s, CFX_TUPLE, (size_t)n + 1, part),
                    cfx_int(-1));
}

static bool check(cfx_scope *s, const cfx_call *call, int n)
{
    const cfx_tensor *theta = cfx_call_tensor(call, THETA);
    bool fits = (n == 2 || n == 3) && theta->rank == 3 &&
                cfx_dim_eq(s->env, theta->shape[1], cfx_dim_int(n)) &&
                cfx_dim_eq(s->env, theta->shape[2], cfx_dim_int(n + 1)) &&
                cfx_dim_eq(s->env, theta->shape[0],
                           cfx_call_dim(call, SIZE, 0));
    if (!cfx_dtype_is_float((cfx_dtype)theta->dtype))
        cfx_scope_fail(
            s, CFX_EDTYPE,
            "Expected theta to have floating point type, but got %s",
            cfx_dtypes[theta->dtype].name);
    else if (!fits)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "affine_grid needs theta (N, 2, 3) for a size of 4 extents, or (N, 3, 4) for one of 5");
    for (int i = 0; i < n + 2 && !cfx_scope_failed(s); i++)
        if (!cfx_dim_le(s->env, cfx_dim_int(1), cfx_call_dim(call, SIZE, i)))
            cfx_scope_fail(s, CFX_EINVAL,
                           "Expected non-zero, positive output size");
    return !cfx_scope_failed(s);
}

static cfx_value affine_grid_build(cfx_scope *s, const cfx_call *call)
{
    int n = cfx_call_len(call, SIZE) - 2;
    if (!check(s, call, n))
        return cfx_none();
    cfx_value shape[5], theta = cfx_call_value(call, THETA);
    cfx_value grid = CFX_CALL(s, "torch.reshape", base_grid(s, call, n),
                              cfx_tuple(s, cfx_int(-1), cfx_int(n + 1)));
    grid = CFX_CALL(
        s, "torch.matmul", grid,
        CFX_CALL(s, "torch.transpose", theta, cfx_int(1), cfx_int(2)));
    shape[0] = cfx_value_of_dim(cfx_call_dim(call, SIZE, 0));
    for (int i = 0; i < n; i++)
        shape[i + 1] = cfx_value_of_dim(cfx_call_dim(call, SIZE, 2 + i));
    shape[n + 1] = cfx_int(n);
    return CFX_CALL(s, "torch.reshape", grid,
                    cfx_list_of(s, CFX_TUPLE, (size_t)n + 2, shape));
}

CFX_COMPOSITE(affine_grid)

static const cfx_variant affine_grid_variants[] = {
    {"torch.nn.functional.affine_grid(Tensor theta, SymInt[] size, bool? align_corners=False) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__affine_grid_generator = {
    .schema =
        "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .variants = affine_grid_variants,
    .doc = "The points of an image under an affine map for each sample.",
    .infer = affine_grid_infer,
    .cost = affine_grid_cost,
    .run = affine_grid_run,
};
