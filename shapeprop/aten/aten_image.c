/*
 * aten_image -- functions of torch that choose among ATen's by a word.
 */
#include <math.h>
#include <string.h>

#include "shapeprop/aten/aten.h"

static const char *text_of(cfx_value v)
{
    return v.kind == CFX_STR ? v.u.str->text : "";
}

/* ---- interpolate ---- */

/* The overload for a mode; with `aligned` it has align_corners. */
static const struct mode {
    const char *name, *target;
    int axes;
    bool antialias, aligned;
} modes[] = {
    {"nearest", "torch.ops.aten.upsample_nearest1d.vec", 1, false, false},
    {"nearest", "torch.ops.aten.upsample_nearest2d.vec", 2, false, false},
    {"nearest", "torch.ops.aten.upsample_nearest3d.vec", 3, false, false},
    {"nearest-exact", "torch.ops.aten._upsample_nearest_exact1d.vec", 1, false,
     false},
    {"nearest-exact", "torch.ops.aten._upsample_nearest_exact2d.vec", 2, false,
     false},
    {"nearest-exact", "torch.ops.aten._upsample_nearest_exact3d.vec", 3, false,
     false},
    {"linear", "torch.ops.aten.upsample_linear1d.vec", 1, false, true},
    {"bilinear", "torch.ops.aten.upsample_bilinear2d.vec", 2, false, true},
    {"bilinear", "torch.ops.aten._upsample_bilinear2d_aa.vec", 2, true, true},
    {"trilinear", "torch.ops.aten.upsample_trilinear3d.vec", 3, false, true},
    {"bicubic", "torch.ops.aten.upsample_bicubic2d.vec", 2, false, true},
    {"bicubic", "torch.ops.aten._upsample_bicubic2d_aa.vec", 2, true, true},
};

/* The extents of the result, without batch and channels. */
static cfx_value sizes_of(cfx_scope *s, const cfx_tensor *t, int axes)
{
    cfx_value size[3];

    for (int i = 0; i < axes; i++)
        size[i] = cfx_value_of_dim(t->shape[i + 2]);
    return cfx_list_of(s, CFX_LIST, (size_t)axes, size);
}

/* A factor for each axis. */
static cfx_value factors_of(cfx_scope *s, cfx_value scale, int axes)
{
    cfx_value factor[3];

    for (int i = 0; i < axes; i++) {
        cfx_value v = cfx_value_is_seq(scale) ? scale.u.seq->item[i] : scale;
        if (v.kind == CFX_SYMINT || isnan(cfx_value_number(v)))
            return cfx_scope_fail(
                s, CFX_EUNSUPPORTED,
                "interpolate(): ATen has only known numbers as scale_factor: give size");
        factor[i] = cfx_float(cfx_value_number(v));
    }
    return cfx_list_of(s, CFX_LIST, (size_t)axes, factor);
}

/* The result tells the extents, and that the arguments are right: a list has a
 * number for each axis. */
cfx_value cfx_aten__interpolate(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = cfx_aten__result(s, call);
    cfx_value x = cfx_aten__in(call, "input");
    cfx_value scale = cfx_aten__in(call, "scale_factor"), args[4];
    cfx_value size = cfx_none(), aligned = cfx_aten__in(call, "align_corners");
    const char *name = text_of(cfx_aten__in(call, "mode"));
    bool antialias = cfx_aten__in(call, "antialias").u.i;
    bool again = cfx_aten__in(call, "recompute_scale_factor").u.i;
    int axes = x.u.tensor->rank - 2;
    size_t n = 0;

    if (!y || axes < 1 || axes > 3)
        return cfx_none();
    if (cfx_value_is_none(scale) || again) {
        size = sizes_of(s, y, axes);
        scale = cfx_none();
    } else {
        scale = factors_of(s, scale, axes);
    }
    args[n++] = x;
    args[n++] = size;
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        const struct mode *m = &modes[i];
        if (strcmp(m->name, name) || m->axes != axes ||
            m->antialias != antialias)
            continue;
        if (m->aligned)
            args[n++] = cfx_bool(aligned.kind == CFX_BOOL_VALUE &&
                                 aligned.u.i);
        args[n++] = scale;
        return cfx_aten__call_overload(s, m->target, cfx_args_of(args, n));
    }
    if (!strcmp(name, "area") && axes == 2)
        return CFX_ATEN(s, "adaptive_avg_pool2d.default", x,
                        sizes_of(s, y, 2));
    return cfx_none();
}

/* ---- grid_sample ---- */

/* A word as its place in a list, or the number that it is already. */
static cfx_value place_of(cfx_value v, const char *const *words)
{
    for (int i = 0; words[i] && v.kind == CFX_STR; i++)
        if (!strcmp(words[i], v.u.str->text))
            return cfx_int(i);
    return v;
}

cfx_value cfx_aten__grid_sample(cfx_scope *s, const cfx_call *call)
{
    static const char *const how[] = {"bilinear", "nearest", "bicubic", NULL};
    static const char *const padding[] = {"zeros", "border", "reflection",
                                          NULL};
    cfx_value aligned = cfx_aten__in(call, "align_corners");

    return CFX_ATEN(s, "grid_sampler.default", cfx_aten__in(call, "input"),
                    cfx_aten__in(call, "grid"),
                    place_of(cfx_aten__in(call, "mode"), how),
                    place_of(cfx_aten__in(call, "padding_mode"), padding),
                    cfx_bool(aligned.kind == CFX_BOOL_VALUE && aligned.u.i));
}
