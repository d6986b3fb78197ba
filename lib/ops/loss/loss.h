/*
 * loss.h -- shared by the loss functions. Not installed.
 *
 * Schemas are those of torch.nn.functional. In their variants, ATen's and
 * torch's, the reduction is a number.
 */
#ifndef CFX_LOSS_H
#define CFX_LOSS_H

#include "op/composite.h"

/* Call a function of torch in the scope `s`. */
#define TORCH(name, ...) CFX_CALL(s, "torch." name, __VA_ARGS__)

CFX_PARAMS(cfx_loss_params, INPUT, INPUT1, INPUT2, ANCHOR, POSITIVE, NEGATIVE,
           LOG_PROBS, TARGET, TARGETS, INPUT_LENGTHS, TARGET_LENGTHS, BLANK,
           ZERO_INFINITY, WEIGHT, POS_WEIGHT, IGNORE_INDEX, LABEL_SMOOTHING,
           SIZE_AVERAGE, REDUCE, REDUCTION, BETA, DELTA, MARGIN, P, SWAP, VAR,
           EPS, FULL, LOG_INPUT, LOG_TARGET, LINEAR_WEIGHT, LINEAR_BIAS,
           OPTIONS);

/* The argument of a parameter. */
#define ARG(k) cfx_call_value(call, k)

typedef enum cfx_reduction {
    CFX_REDUCE_NONE,
    CFX_REDUCE_MEAN,
    CFX_REDUCE_SUM /* ATen's numbers */
} cfx_reduction;

/* The reduction that a call asks for; fails the scope for another word. */
cfx_reduction cfx_loss_reduction(cfx_scope *s, const cfx_call *call);

/* The loss of each element, reduced as the call asks for. */
cfx_value cfx_loss_reduced(cfx_scope *s, const cfx_call *call, cfx_value loss);

/* A tensor in another type. */
cfx_value cfx_loss_as(cfx_scope *s, cfx_value v, cfx_dtype type);

/* Have two tensors one shape? */
bool cfx_loss_is_shape(cfx_scope *s, cfx_value a, cfx_value b);

/* Fail unless a tensor of one bool, computed from the arguments, is true. */
cfx_status cfx_loss_require(cfx_call *call, cfx_composite *claim,
                            const char *otherwise);

/* Fail the scope unless a weight, where there is one, is a vector of as many
 * numbers as there are classes. */
void cfx_loss_check_weight(cfx_scope *s, cfx_value weight, cfx_dim classes,
                           const char *words);

/* Fail the scope unless two tensors have one shape; words is PyTorch's
 * sentence. */
void cfx_loss_same_shape(cfx_scope *s, cfx_value a, cfx_value b,
                         const char *words);

/* A call's parameters by the older names for a reduction. */
#define CFX_LOSS_OLD "bool? size_average=None, bool? reduce=None, "
#define CFX_LOSS_REDUCTION "any reduction='mean'"

#define CFX_LOSS(name, list, variants_, doc_)                                 \
    CFX_COMPOSITE(name)                                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> Tensor",                               \
        .params = cfx_loss_params,                                            \
        .aliases = "torch.nn.functional." #name,                              \
        .variants = variants_,                                                \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };

/* Signatures with numbers for reductions: ATen's; ATen's and torch's, which
 * differ in the default, with the parameters before and after it. */
#define CFX_LOSS_ATEN(name, list)                                             \
    (const cfx_variant[])                                                     \
    {                                                                         \
        {"aten." #name ".default(" list ") -> Tensor", NULL},                 \
        {                                                                     \
            NULL, NULL                                                        \
        }                                                                     \
    }
#define CFX_LOSS_FORMS(name, aten, torch)                                     \
    (const cfx_variant[])                                                     \
    {                                                                         \
        {"aten." name ".default(" aten ") -> Tensor", NULL},                  \
            {"torch." name "(" torch ") -> Tensor", NULL},                    \
        {                                                                     \
            NULL, NULL                                                        \
        }                                                                     \
    }
#define CFX_LOSS_TORCH(name, before, after)                                   \
    CFX_LOSS_FORMS(#name, before "int reduction=1" after,                     \
                   before "int reduction=0" after)

#endif
