/*
 * activation_table -- the activations that operators can apply to their results.
 */
#include "op/activation_table.h"

#include <string.h>

#include "kernel/pointwise/pointwise_kernel.h"

/* clang-format off */
const cfx_activation cfx_activations[] = {
    {"relu", "ReLU", NULL, CFX_PW_RELU, 0, 0, {0}, {0}},
    {"sigmoid", "Sigmoid", NULL, CFX_PW_SIGMOID, 4, 2, {0}, {0}},
    {"tanh", "Tanh", NULL, CFX_PW_TANH, 1, 1, {0}, {0}},
    {"silu", "SiLU", NULL, CFX_PW_SILU, 4, 2, {0}, {0}},
    {"mish", "Mish", NULL, CFX_PW_MISH, 4, 3, {0}, {0}},
    {"hardsigmoid", "Hardsigmoid", NULL, CFX_PW_HARDSIGMOID, 2, 1, {0}, {0}},
    {"hardswish", "Hardswish", NULL, CFX_PW_HARDSWISH, 3, 1, {0}, {0}},
    {"gelu", "GELU", "none", CFX_PW_GELU, 5, 1, {0}, {0}},
    {"gelu", "GELU", "tanh", CFX_PW_GELU_TANH, 9, 1, {0}, {0}},
    {"leaky_relu", "LeakyReLU", NULL, CFX_PW_LEAKY_RELU, 1, 0,
     {"negative_slope"}, {0.01}},
    {"elu", "ELU", NULL, CFX_PW_ELU, 2, 1,
     {"alpha", "scale", "input_scale"}, {1, 1, 1}},
    {"softplus", "Softplus", NULL, CFX_PW_SOFTPLUS, 4, 3,
     {"beta", "threshold"}, {1, 20}},
    {NULL, NULL, NULL, 0, 0, 0, {0}, {0}},
};
/* clang-format on */

/* The algorithm of an activation that has several, if none is given. */
static const char *const first_algorithm = "none";

static const cfx_activation *find(const char *name, const char *algorithm)
{
    for (const cfx_activation *a = cfx_activations; a->name; a++)
        if (!strcmp(a->name, name) &&
            (a->algorithm ? !strcmp(a->algorithm,
                                    algorithm ? algorithm : first_algorithm)
                          : !algorithm))
            return a;
    return NULL;
}

cfx_status cfx_infer_activation(const cfx_call *call, int activation,
                                int scalars, int algorithm,
                                cfx_activation_call *out)
{
    const char *name = cfx_call_str(call, activation);
    const char *how = cfx_call_str(call, algorithm);
    int given = cfx_call_len(call, scalars);

    *out = (cfx_activation_call){0};
    if (!name)
        return given || how
                   ? cfx_call_fail(
                         call, CFX_EINVAL,
                         "'scalars' and 'algorithm' are those of 'activation', which is None")
                   : CFX_OK;
    const cfx_activation *a = find(name, how);
    if (!a)
        return cfx_call_fail(call, CFX_EINVAL,
                             "no activation '%s'%s%s is known", name,
                             how ? " by algorithm " : "", how ? how : "");
    out->kind = a;
    int i = 0;
    for (; i < CFX_ACTIVATION_SCALARS && a->scalar[i]; i++)
        out->params[i] = i < given ? cfx_value_number(
                                         cfx_call_item(call, scalars, i))
                                   : a->init[i];
    return given > i ? cfx_call_fail(call, CFX_EINVAL,
                                     "%s has %d numbers, 'scalars' has %d",
                                     name, i, given)
                     : CFX_OK;
}
