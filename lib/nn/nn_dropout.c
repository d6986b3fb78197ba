/*
 * nn_dropout -- random zeros in training; the identity otherwise.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define DROPOUT(type, op, doc_, ...)                                          \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        cfx_value p = cfx_attr(self, "p");                                    \
        cfx_value train = cfx_bool(cfx_module_training(self));                \
        if (cfx_attr_bool(self, "inplace"))                                   \
            return cfx_##op##_inplace(s, in[0], .p = p, .training = train);   \
        return cfx_##op(s, in[0], .p = p, .training = train);                 \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(Scalar p=0.5, bool inplace=False)",                 \
        .repr = "p inplace",                                                  \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = type##_forward,                                            \
        __VA_ARGS__};

DROPOUT(Dropout, dropout, "Drop elements.", .aliases = "QuantizedDropout", )
DROPOUT(Dropout1d, dropout1d, "Drop whole channels of (N, C, L).", )
DROPOUT(Dropout2d, dropout2d, "Drop whole channels of (N, C, H, W).", )
DROPOUT(Dropout3d, dropout3d, "Drop whole channels of (N, C, D, H, W).", )
DROPOUT(AlphaDropout, alpha_dropout,
        "Drop elements to SELU's least value, keeping mean and variance.", )
DROPOUT(FeatureAlphaDropout, feature_alpha_dropout,
        "Drop whole channels as AlphaDropout drops elements.", )
