/*
 * fused_activation.h -- activations that other operators apply to their results.
 *
 * Such an operator has the parameters `str? activation, float[] scalars, str?
 * algorithm`: the name of an operator with CFX_OP_ACTIVATION, its numbers in
 * order (those left out have their defaults), and `approximate` of gelu. Not
 * installed.
 */
#ifndef CFX_FUSED_ACTIVATION_H
#define CFX_FUSED_ACTIVATION_H

#include <cfx/op.h>

enum { CFX_ACTIVATION_SCALARS = 3 };

typedef struct cfx_fused_activation {
    const cfx_op *op; /* NULL: none */
    int code;         /* cfx_pw of kernel/pointwise */
    double params[CFX_ACTIVATION_SCALARS];
    int64_t ops, transcendental; /* for each element, as the operator costs */
} cfx_fused_activation;

/* The operator with CFX_OP_ACTIVATION that has this name; NULL: there is none. */
const cfx_target *cfx_find_activation(cfx_context *ctx, const char *name);

/* Read the activation from the enumerators of the three parameters. Fails with
 * CFX_EINVAL for an operator without CFX_OP_ACTIVATION, too many numbers, or an
 * algorithm that it lacks. */
cfx_status cfx_infer_activation(const cfx_call *call, int activation,
                                int scalars, int algorithm,
                                cfx_fused_activation *out);

#endif
