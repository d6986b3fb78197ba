/*
 * grid_sample -- an image read at the places that a grid names.
 *
 * shape   input (N, C, in...), grid (N, out..., axes): (N, C, out...).
 * cost    for each output, two steps for each neighbour: 2^n, of bicubic 16.
 */
#include <string.h>

#include "kernel/resample/resample.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, INPUT, GRID, MODE, PADDING_MODE, ALIGN_CORNERS);

static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
static const char *const paddings[] = {"zeros", "border", "reflection"};

/* The place of a word among three, or -1; ATen has the number itself. */
static int64_t choice(const cfx_call *call, int k, const char *const *words)
{
    const char *word = cfx_call_str(call, k);
    cfx_value v = cfx_call_value(call, k);
    if (!word)
        return v.kind == CFX_INT && v.u.i >= 0 && v.u.i < 3 ? v.u.i : -1;
    for (int i = 0; i < 3; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

static cfx_status check(cfx_call *call, const cfx_tensor *x,
                        const cfx_tensor *g)
{
    int64_t mode = choice(call, MODE, modes);
    if (mode < 0 || choice(call, PADDING_MODE, paddings) < 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "expected mode to be 'bilinear', 'nearest' or 'bicubic' and padding_mode 'zeros', 'border' or 'reflection'");
    if ((x->rank != 4 && x->rank != 5) || g->rank != x->rank ||
        (mode == CFX_GRID_BICUBIC && x->rank != 4))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected 4D or 5D input and grid with same number of dimensions, but got ranks %d and %d",
            x->rank, g->rank);
    if (x->dtype != g->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "expected input and grid to have same dtype, but got %s and %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[g->dtype].name);
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    if (!cfx_dim_eq(call->env, x->shape[0], g->shape[0]) ||
        !cfx_dim_eq(call->env, g->shape[g->rank - 1],
                    cfx_dim_int(x->rank - 2)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected grid to have the batch of the input, and %d numbers for each place",
            x->rank - 2);
    for (int i = 2; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "expected input to have non-empty spatial dimensions");
    return CFX_OK;
}

static cfx_status grid_sample_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *g = cfx_call_tensor(call, GRID);
    cfx_dim shape[5];
    cfx_status st = check(call, x, g);
    if (st)
        return st;
    shape[0] = x->shape[0];
    shape[1] = x->shape[1];
    for (int i = 2; i < x->rank; i++)
        shape[i] = g->shape[i - 1];
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, shape);
}

static void grid_sample_cost(const cfx_call *call, cfx_cost *cost)
{
    bool cubic = choice(call, MODE, modes) == CFX_GRID_BICUBIC;
    int axes = cfx_call_tensor(call, INPUT)->rank - 2;
    cfx_cost_pointwise(call, cost, cubic ? 32 : 2 << axes, 0);
}

static cfx_status grid_sample_run(cfx_call *call)
{
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, INPUT));
    cfx_tensor *g = cfx_loop_contiguous(call, cfx_call_tensor(call, GRID));
    const cfx_tensor *y = call->out[0];
    if (x && g) {
        cfx_grid_sample k = {
            .dtype = (cfx_dtype)x->dtype,
            .mode = (cfx_grid_mode)choice(call, MODE, modes),
            .padding = (cfx_grid_padding)choice(call, PADDING_MODE, paddings),
            .align_corners = cfx_call_has(call, ALIGN_CORNERS) &&
                             cfx_call_bool(call, ALIGN_CORNERS),
            .spatial = x->rank - 2,
            .batch = cfx_tensor_size(x, 0),
            .channels = cfx_tensor_size(x, 1),
            .x = x->data,
            .grid = g->data,
            .y = y->data,
        };
        for (int i = 0; i < k.spatial; i++) {
            k.in[i] = cfx_tensor_size(x, i + 2);
            k.out[i] = cfx_tensor_size(y, i + 2);
        }
        cfx_grid_sample_run(call->ctx, &k);
    }
    cfx_status st = x && g ? CFX_OK : CFX_ENOMEM;
    cfx_tensor_unref(x);
    cfx_tensor_unref(g);
    return st;
}

static const cfx_variant grid_sample_variants[] = {
#define GRID_SAMPLER(name)                                                    \
    {                                                                         \
        name "(Tensor input, Tensor grid, int mode, int padding_mode, bool "  \
             "align_corners) -> Tensor",                                      \
            NULL                                                              \
    }
    {"torch.nn.functional.grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
     NULL},
    GRID_SAMPLER("torch.grid_sampler"),
    GRID_SAMPLER("torch.grid_sampler_2d"),
    GRID_SAMPLER("torch.grid_sampler_3d"),
    GRID_SAMPLER("aten.grid_sampler.default"),
    GRID_SAMPLER("aten.grid_sampler_2d.default"),
    GRID_SAMPLER("aten.grid_sampler_3d.default"),
    {NULL, NULL},
};

const cfx_op cfx_op__grid_sample = {
    .schema =
        "grid_sample(Tensor input, Tensor grid, any mode='bilinear', any padding_mode='zeros', bool? align_corners=None) -> Tensor",
    .params = params,
    .variants = grid_sample_variants,
    .aliases = "",
    .doc = "An image read at the places that a grid names.",
    .infer = grid_sample_infer,
    .cost = grid_sample_cost,
    .run = grid_sample_run,
};
