/*
 * nn_padding -- modules that put a margin around the last axes.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)

/* The batch is optional: n of n + 1 or n + 2 axes are padded. */
#define PADDING(type, n, twice, how, more, repr_, value_, doc_)               \
    static cfx_value type##n##d_forward(cfx_scope *s, cfx_module *self,       \
                                        const cfx_value *in)                  \
    {                                                                         \
        return cfx_pad(s, in[0], A("padding"), .mode = cfx_str(s, how),       \
                       .value = value_);                                      \
    }                                                                         \
    const cfx_module_type cfx_module__##type##n##d = {                        \
        .schema = #type #n "d(SymInt[" #twice "] padding" more ")",           \
        .repr = repr_,                                                        \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = type##n##d_forward,                                        \
    };

#define PADDINGS(n, twice)                                                    \
    PADDING(ZeroPad, n, twice, "constant", "", "$padding", cfx_float(0),      \
            "A margin of zeros.")                                             \
    PADDING(ConstantPad, n, twice, "constant", ", Scalar value",              \
            "padding value", A("value"), "A margin of one number.")           \
    PADDING(ReflectionPad, n, twice, "reflect", "", "$padding", cfx_none(),   \
            "A margin that mirrors the input.")                               \
    PADDING(ReplicationPad, n, twice, "replicate", "", "$padding",            \
            cfx_none(), "A margin of the outermost elements.")                \
    PADDING(CircularPad, n, twice, "circular", "", "$padding", cfx_none(),    \
            "A margin that goes on at the other end.")

PADDINGS(1, 2)
PADDINGS(2, 4)
PADDINGS(3, 6)
