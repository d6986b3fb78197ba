/*
 * pixels -- modules that resize images, or trade channels for pixels.
 */
#include <cfx/ops.h>

#include "nn/module_impl.h"

#define A(name) cfx_attr(self, name)

/* Factors are kept, and printed, as floats. */
static cfx_status Upsample_init(cfx_module *self, cfx_error *err)
{
    cfx_value v = A("scale_factor"), item[3];
    if (v.kind == CFX_INT) {
        cfx_module__set_attr_take(self, "scale_factor",
                                  cfx_num((double)v.u.i));
        return CFX_OK;
    }
    if (!cfx_value_is_seq(v))
        return CFX_OK;
    uint32_t n = v.u.seq->len;
    if (n > 3)
        return cfx_fail(err, CFX_EINVAL, "scale_factor has %u numbers", n);
    for (uint32_t i = 0; i < n; i++)
        item[i] = cfx_num(cfx_value_number(v.u.seq->item[i]));
    v = cfx_tuple_new(cfx_module_context(self), n, item);
    if (cfx_value_is_absent(v))
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    cfx_module__set_attr_take(self, "scale_factor", v);
    return CFX_OK;
}

#define UPSAMPLE(type, mode_, more, align, doc_)                              \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        return cfx_interpolate(                                               \
            s, in[0], .size = A("size"), .scale_factor = A("scale_factor"),   \
            .mode = A("mode"), .align_corners = align,                        \
            .recompute_scale_factor = A("recompute_scale_factor"));           \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(any size=None, any scale_factor=None, str mode='"   \
                  mode_ "'" more ")",                                         \
        .repr = "?scale_factor ?size mode",                                   \
        .doc = doc_,                                                          \
        .init = Upsample_init,                                                \
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

#define SHUFFLE(type, argument, call, doc_)                                   \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        return call(s, in[0], A(argument));                                   \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(int " argument ")",                                 \
        .repr = argument,                                                     \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = type##_forward,                                            \
    };

SHUFFLE(PixelShuffle, "upscale_factor", cfx_pixel_shuffle,
        "Channels laid out as squares of pixels.")
SHUFFLE(PixelUnshuffle, "downscale_factor", cfx_pixel_unshuffle,
        "Squares of pixels gathered in channels.")
SHUFFLE(ChannelShuffle, "groups", cfx_channel_shuffle,
        "The channels of all groups in turn.")
