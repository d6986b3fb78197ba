/*
 * nn_dropout -- random zeros in training; the identity otherwise.
 */
#include <cfx/module.h>

#define DROPOUT(type, function, aliases_, doc_)                               \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(Scalar p=0.5, bool inplace=False)",                 \
        .aliases = aliases_,                                                  \
        .repr = "p inplace",                                                  \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = cfx_forward_operator,                                      \
        .op = "torch.nn.functional." function,                                \
        .inplace_flag = "inplace",                                            \
    };

DROPOUT(Dropout, "dropout", "QuantizedDropout", "Drop elements.")
DROPOUT(Dropout1d, "dropout1d", NULL, "Drop whole channels of (N, C, L).")
DROPOUT(Dropout2d, "dropout2d", NULL, "Drop whole channels of (N, C, H, W).")
DROPOUT(Dropout3d, "dropout3d", NULL,
        "Drop whole channels of (N, C, D, H, W).")
DROPOUT(AlphaDropout, "alpha_dropout", NULL,
        "Drop elements to SELU's least value, keeping mean and variance.")
DROPOUT(FeatureAlphaDropout, "feature_alpha_dropout", NULL,
        "Drop whole channels as AlphaDropout drops elements.")
