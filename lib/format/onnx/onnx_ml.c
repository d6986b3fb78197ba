/*
 * onnx_ml -- rules of the domain ai.onnx.ml that are of numbers. Those of strings are
 * in strings.c.
 */
#include "format/onnx/onnx.h"

/* Columns by their indices, a row even of one axis. */
cfx_value onnx_import_array_feature_extractor(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0), at = onnx_tensor(n, 1);
    int rank = onnx_rank(n, x);

    if (rank < 1)
        return CFX_NOTHING;
    at = cfx_reshape(n->s, at, cfx_int(-1));
    x = cfx_index_select(n->s, x, cfx_int(-1), at);
    return rank == 1 ? cfx_unsqueeze(n->s, x, cfx_int(0)) : x;
}

cfx_value onnx_import_binarizer(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    cfx_value limit = cfx_float(onnx_attr_float(n, "threshold", 0));

    return onnx_in_type(n, cfx_gt(n->s, x, limit), onnx_type_of(n, x));
}
