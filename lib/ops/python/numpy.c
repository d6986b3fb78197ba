/*
 * numpy -- NumPy's functions of a number, as Dynamo records them
 * (torch._dynamo.utils.wrapped_sqrt).
 *
 * The result is a tensor: of float64 where a number or integers come in.
 */
#include "op/composite.h"
#include "op/infer.h"

static cfx_value numpy_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = call->in[0], wide = cfx_value_of_dtype(CFX_F64);

    if (x.kind != CFX_TENSOR)
        x = cfx_call_function(
            s, "torch.scalar_tensor",
            (cfx_args){CFX_ITEMS(x), CFX_PAIRS(cfx_str(s, "dtype"), wide)});
    else if (!cfx_dtype_is_float((cfx_dtype)x.u.tensor->dtype) &&
             !cfx_dtype_is_complex((cfx_dtype)x.u.tensor->dtype))
        x = CFX_CALL(s, "Tensor.to", x, wide);
    return CFX_CALL(s, call->op->data, x);
}

CFX_COMPOSITE(numpy)

#define NUMPY(name, torch_name, doc_)                                         \
    const cfx_op cfx_op__numpy_##name = {                                     \
        .schema = "numpy_" #name "(Tensor|Scalar x) -> Tensor",               \
        .aliases = "torch._dynamo.utils.wrapped_" #name,                      \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .data = "torch." #torch_name,                                         \
        .infer = numpy_infer,                                                 \
        .cost = numpy_cost,                                                   \
        .run = numpy_run,                                                     \
    };

NUMPY(sqrt, sqrt, "numpy.sqrt.")
NUMPY(exp, exp, "numpy.exp.")
NUMPY(expm1, expm1, "numpy.expm1.")
NUMPY(log, log, "numpy.log.")
NUMPY(log2, log2, "numpy.log2.")
NUMPY(log10, log10, "numpy.log10.")
NUMPY(log1p, log1p, "numpy.log1p.")
NUMPY(sin, sin, "numpy.sin.")
NUMPY(cos, cos, "numpy.cos.")
NUMPY(tan, tan, "numpy.tan.")
NUMPY(arcsin, asin, "numpy.arcsin.")
NUMPY(arccos, acos, "numpy.arccos.")
NUMPY(arctan, atan, "numpy.arctan.")
NUMPY(sinh, sinh, "numpy.sinh.")
NUMPY(cosh, cosh, "numpy.cosh.")
NUMPY(tanh, tanh, "numpy.tanh.")
