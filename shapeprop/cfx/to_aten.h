/*
 * cfx/to_aten.h -- a graph as torch.export writes it.
 *
 *     cfx_module *lowered;
 *     cfx_value x;
 *     cfx_parse_shape(&x, ctx, env, "f32[N, 3, 224, 224]", 19, &err);
 *     cfx_to_aten(&lowered, gm, env, &x, 1, &err);
 *     cfx_model_save("m.pt2", lowered, NULL, &err);
 */
#ifndef CFX_TO_ATEN_H
#define CFX_TO_ATEN_H

#include <cfx/graph_module.h>

CFX_BEGIN_DECLS

/*
 * Retrace a GraphModule for inputs of these types, one for each placeholder:
 * metas or tensors, whose data is not read, or numbers. The new one, *out, has
 * calls of ATen's overloads only (torch.ops.aten.add.Tensor): modules,
 * functions of torch, methods and operators of Python become what they call,
 * numbers are computed, and symbolic ones come from torch.ops.aten.sym_size.
 * Parameters and buffers are read by get_attr nodes, and shared with `gm`;
 * tensors among arguments become buffers _tensor_constant0, 1, ... Graphs that
 * operators of higher order call are retraced, too.
 *
 * Each node has meta "val", a meta or number or a tuple of them;
 * nn_module_stack, as far as the modules are known; and the provenance of the
 * node that it comes from.
 *
 * `env` has the symbols of the inputs; NULL: extents are integers. Fails with
 * CFX_EOPERATOR and the names of all operators that ATen lacks,
 * CFX_EUNSUPPORTED for what such graphs cannot hold, and as the propagation of
 * shapes does.
 */
CFX_API cfx_status cfx_to_aten(cfx_module **out, cfx_module *gm,
                               cfx_shape_env *env, const cfx_value *inputs,
                               size_t ninputs, cfx_error *err);

CFX_END_DECLS

#endif
