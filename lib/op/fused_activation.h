/*
 * fused_activation.h -- activations that other operators apply to their results.
 *
 * An activation is a call of an operator with CFX_OP_ACTIVATION: its name, and
 * its arguments after the first. Not installed.
 */
#ifndef CFX_FUSED_ACTIVATION_H
#define CFX_FUSED_ACTIVATION_H

#include <cfx/op.h>

enum { CFX_ACTIVATION_ARGS = 3 }; /* the most, after the first */

typedef struct cfx_fused_activation {
    const cfx_op *op; /* NULL: none */
    int code;         /* cfx_pw of kernel/pointwise */
    double params[CFX_ACTIVATION_ARGS];
    int64_t ops, transcendental; /* for each element, as the operator costs */
} cfx_fused_activation;

/* The operator with CFX_OP_ACTIVATION that has this name; NULL: there is none. */
const cfx_target *cfx_find_activation(cfx_context *ctx, const char *name);

/* Read the activation `name` with these arguments after the first. Fails with
 * CFX_EINVAL for an operator without CFX_OP_ACTIVATION, and for arguments that it
 * does not take. */
cfx_status cfx_infer_activation(const cfx_call *call, const char *name,
                                const cfx_value *args, int n,
                                cfx_fused_activation *out);

#endif
