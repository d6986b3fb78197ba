/*
 * onnx_loss -- rules of losses.
 */
#include "format/onnx/onnx.h"

/* torch's nll_loss of class scores on axis 1. */
static cfx_value nll(onnx_node *n, cfx_value logs)
{
    cfx_value target = onnx_tensor(n, 1);

    if (onnx_type_of(n, target) != CFX_I64)
        target = cfx_to(n->s, target, cfx_value_of_dtype(CFX_I64));
    return cfx_nll_loss(
        n->s, logs, target, .weight = onnx_optional(n, 2),
        .ignore_index = cfx_int(onnx_attr_int(n, "ignore_index", -100)),
        .reduction = cfx_str(n->s, onnx_attr_text(n, "reduction", "mean")));
}

cfx_value onnx_import_negative_log_likelihood_loss(onnx_node *n)
{
    return nll(n, onnx_tensor(n, 0));
}

cfx_value onnx_import_softmax_cross_entropy_loss(onnx_node *n)
{
    n->out[1] = cfx_log_softmax(n->s, onnx_tensor(n, 0), cfx_int(1));
    return nll(n, n->out[1]);
}
