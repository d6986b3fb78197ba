/*
 * activation_table.h -- activations that other operators apply to their results.
 *
 * Such an operator has the parameters `str? activation, float[] scalars, str?
 * algorithm`: the name of the activation's operator, its numbers in order
 * (those left out have their defaults), and `approximate` of gelu. Not
 * installed.
 */
#ifndef CFX_ACTIVATION_H
#define CFX_ACTIVATION_H

#include <cfx/op.h>

enum { CFX_ACTIVATION_SCALARS = 3 };

typedef struct cfx_activation {
    const char *name, *module; /* the operator; the type in torch.nn */
    const char *algorithm;     /* NULL: it has only one */
    int code; /* cfx_pw of kernel/pointwise/pointwise_kernel.h */
    int ops, transcendental; /* an element, as in the operator's cost */
    const char *scalar[CFX_ACTIVATION_SCALARS]; /* names, as in both */
    double init[CFX_ACTIVATION_SCALARS];        /* their defaults */
} cfx_activation;

/* All of them; the last has no name. */
extern const cfx_activation cfx_activations[];

/* The activation of a call, and its numbers. */
typedef struct cfx_activation_call {
    const cfx_activation *kind; /* NULL: none */
    double params[CFX_ACTIVATION_SCALARS];
} cfx_activation_call;

/* Read the activation from the enumerators of the three parameters. Fails with
 * CFX_EINVAL for a name that is not in the table or too many numbers. */
cfx_status cfx_infer_activation(const cfx_call *call, int activation,
                                int scalars, int algorithm,
                                cfx_activation_call *out);

#endif
