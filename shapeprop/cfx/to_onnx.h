/*
 * cfx/to_onnx.h -- a graph as ONNX can hold it.
 *
 *     cfx_module *lowered;
 *     cfx_value x;
 *     cfx_parse_shape(&x, ctx, env, "f32[N, 3, 224, 224]", 19, &err);
 *     cfx_to_onnx(&lowered, gm, env, &x, 1, &err);
 *     cfx_model_save("m.onnx", lowered, NULL, &err);
 */
#ifndef CFX_TO_ONNX_H
#define CFX_TO_ONNX_H

#include <cfx/graph_module.h>

CFX_BEGIN_DECLS

/*
 * Retrace a GraphModule for inputs of these types, as cfx_to_aten does
 * (cfx/to_aten.h). The new one, *out, has calls of operators that the format
 * ONNX can write only: others become the calls that they are made of. No call
 * writes to a tensor; calls that check something are left out; numbers and
 * tensors that do not depend on inputs are computed. Symbolic numbers stay
 * arguments. Each node has meta "val".
 *
 * `env` has the symbols of the inputs; NULL: extents are integers. Fails with
 * CFX_EUNSUPPORTED and the names of all operators that ONNX
 * lacks, or for a model that writes to its inputs or state, and as the
 * propagation of shapes does.
 */
CFX_API cfx_status cfx_to_onnx(cfx_module **out, cfx_module *gm,
                               cfx_shape_env *env, const cfx_value *inputs,
                               size_t ninputs, cfx_error *err);

CFX_END_DECLS

#endif
