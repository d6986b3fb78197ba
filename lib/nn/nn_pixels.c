/*
 * nn_pixels -- resize images, or move channels to pixels.
 */
#include <math.h>
#include <string.h>

#include <cfx/ops.h>

#include "nn/module_impl.h"
#include "op/scope_impl.h"

#define A(name) cfx_attr(self, name)

/* Factors are kept, and printed, as floats. */
static cfx_status Upsample_init(cfx_module *self, cfx_error *err)
{
    cfx_value v = A("scale_factor"), item[3];
    if (v.kind == CFX_INT) {
        cfx_module__set_attr_take(self, "scale_factor",
                                  cfx_float((double)v.u.i));
        return CFX_OK;
    }
    if (!cfx_value_is_seq(v))
        return CFX_OK;
    uint32_t n = v.u.seq->len;
    if (n > 3)
        return cfx_fail(err, CFX_EINVAL, "scale_factor has %u numbers", n);
    for (uint32_t i = 0; i < n; i++)
        item[i] = cfx_float(cfx_value_number(v.u.seq->item[i]));
    v = cfx_tuple_new(cfx_module_context(self), n, item);
    if (cfx_value_is_absent(v))
        return cfx_no_memory(err);
    cfx_module__set_attr_take(self, "scale_factor", v);
    return CFX_OK;
}

/* The factor of the i-th axis that is resized. */
static double factor_at(const cfx_module *self, int i)
{
    cfx_value v = A("scale_factor");
    if (!cfx_value_is_seq(v))
        return cfx_value_number(v);
    return (uint32_t)i < v.u.seq->len ? cfx_value_number(v.u.seq->item[i]) : 1;
}

/* If the factor gives whole sizes, recomputing it as the quotient of the sizes
 * changes nothing. */
static bool fits(const cfx_module *self, const cfx_tensor *x)
{
    for (int i = 0; x && i < x->rank - 2; i++) {
        double f = factor_at(self, i);
        cfx_dim n = x->shape[2 + i];
        double size = cfx_dim_is_int(n) ? (double)cfx_dim_value(n) : 1;
        if (size * f != floor(size * f))
            return false;
    }
    return x;
}

static cfx_value recompute(cfx_scope *s, const cfx_module *self, cfx_value x)
{
    static const char name[] = "recompute_scale_factor";
    return cfx_attr_is_undecided(self, name) && !cfx_scope__records(s) &&
                   fits(self, cfx_meta_of(s, x))
               ? A(name)
               : cfx_attr_of(s, self, name);
}

/* align_corners matters if pixels are interpolated, recompute_scale_factor if
 * a factor is given. */
static void Upsample_decide(cfx_module *self)
{
    const char *mode = cfx_attr_str(self, "mode");
    if (mode && !strncmp(mode, "nearest", 7))
        cfx_module_decide(self, "align_corners");
    bool whole = true;
    for (int i = 0; i < 3; i++)
        whole = whole && factor_at(self, i) == floor(factor_at(self, i));
    if (!cfx_value_is_none(A("size")) || whole)
        cfx_module_decide(self, "recompute_scale_factor");
}

#define UPSAMPLE(type, mode_, more, align, doc_)                              \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        return cfx_interpolate(                                               \
            s, in[0], .size = A("size"), .scale_factor = A("scale_factor"),   \
            .mode = A("mode"), .align_corners = align,                        \
            .recompute_scale_factor = recompute(s, self, in[0]));             \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type                                                       \
        "(any size=None, any scale_factor=None, str mode='" mode_ "'" more    \
        ")",                                                                  \
        .repr = "?scale_factor ?size mode",                                   \
        .numeric = "align_corners recompute_scale_factor",                    \
        .lazy = "recompute_scale_factor",                                     \
        .doc = doc_,                                                          \
        .init = Upsample_init,                                                \
        .decide = Upsample_decide,                                            \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = type##_forward,                                            \
    };

UPSAMPLE(Upsample, "nearest",
         ", bool? align_corners=None, bool? recompute_scale_factor=None",
         A("align_corners"), "An image of another size.")
UPSAMPLE(UpsamplingNearest2d, "nearest", "", cfx_none(),
         "An image of another size, by its nearest pixels.")
UPSAMPLE(UpsamplingBilinear2d, "bilinear", "", cfx_bool(true),
         "An image of another size, bilinear, its corners kept.")

#define SHUFFLE(type, argument, operator, doc_)                               \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(int " argument ")",                                 \
        .repr = argument,                                                     \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = cfx_forward_operator,                                      \
        .op = "aten." operator".default",                                     \
    };

SHUFFLE(PixelShuffle, "upscale_factor", "pixel_shuffle",
        "Channels laid out as squares of pixels.")
SHUFFLE(PixelUnshuffle, "downscale_factor", "pixel_unshuffle",
        "Squares of pixels gathered in channels.")
SHUFFLE(ChannelShuffle, "groups", "channel_shuffle",
        "The channels of all groups in turn.")
