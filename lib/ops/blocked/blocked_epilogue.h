/*
 * blocked_epilogue.h -- bias, sum, range and activation of operators with packed weights.
 *
 * Such an operator has the parameters `Tensor? bias, Tensor? add, Scalar? min,
 * Scalar? max` and those of op/fused_activation.h. Not installed.
 */
#ifndef CFX_OPS_EPILOGUE_H
#define CFX_OPS_EPILOGUE_H

#include "kernel/blocked/blocked.h"
#include "op/fused_activation.h"
#include "op/op_cost.h"

/* The enumerators of parameters, and the activation of the call. */
typedef struct cfx_epilogue {
    int bias, add, min, max;
    bool images; /* input, `add` and the result may be bfloat16 */
    cfx_fused_activation activation;
} cfx_epilogue;

/* Check that input, weight, bias and `add` are float32; images may also be
 * bfloat16, and a weight of other types, which `narrow` has as bits (1 << dtype).
 * Fails with CFX_EDTYPE. */
cfx_status cfx_epilogue_check_types(const cfx_call *call,
                                    const cfx_epilogue *e, int input,
                                    int weight, uint32_t narrow);

/* The type of a result in blocks, which parameter `dtype` gives: float32, or
 * bfloat16. Fails with CFX_EDTYPE. */
cfx_status cfx_epilogue_result_type(const cfx_call *call, int dtype,
                                    cfx_dtype *out);

/* Check bias and `add` for a result (N, O, H, W, 16). Fails with CFX_ESHAPE. */
cfx_status cfx_epilogue_check_image(const cfx_call *call,
                                    const cfx_epilogue *e,
                                    const cfx_dim shape[5]);

/* Add the operations on each of the sums. */
void cfx_epilogue_cost(const cfx_call *call, const cfx_epilogue *e,
                       cfx_dim sums, cfx_cost *cost);

/* The kernel's description of an epilogue whose results are of `type`. */
cfx_blocked_epilogue cfx_epilogue_kernel(const cfx_call *call,
                                         const cfx_epilogue *e,
                                         cfx_dtype type);

#endif
