/*
 * nn_loss -- losses: each is the function of torch.nn.functional with the
 * constructor's arguments as keywords.
 *
 * `weight` and `pos_weight` are buffers. Their shape is in no argument, so a
 * block `state:` of the model's text or its weights file declares them; else
 * they are None.
 */
#include <stdio.h>
#include <string.h>

#include <cfx/ops.h>

#include "nn/module_impl.h"

/* Arguments that change only the value of a loss, not its shape. */
static const char numeric[] =
    "beta delta eps full ignore_index label_smoothing log_input log_target margin p pos_weight swap weight";

static cfx_value call(cfx_scope *s, cfx_module *self, const char *function,
                      const cfx_value *in)
{
    const cfx_schema *schema = cfx_module_schema(self);
    cfx_value kwargs[2 * CFX_MAX_PARAMS];
    char name[64];
    for (int k = 0; k < schema->nparams; k++) {
        const char *arg = schema->params[k].name;
        kwargs[2 * k] = cfx_str(s, arg);
        kwargs[2 * k + 1] = cfx_module_state(self, arg)
                                ? cfx_param_of(s, self, arg)
                                : cfx_attr(self, arg);
    }
    snprintf(name, sizeof(name), "torch.nn.functional.%s", function);
    return cfx_call_function(s, name,
                             (cfx_args){in, (size_t)self->forward->nparams,
                                        kwargs, (size_t)schema->nparams});
}

#define LOSS(type, function, inputs, args, aliases_, doc_)                    \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        return call(s, self, #function, in);                                  \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(" args "str reduction='mean')",                     \
        .aliases = aliases_,                                                  \
        .repr = "",                                                           \
        .numeric = numeric,                                                   \
        .by_state = "weight pos_weight",                                      \
        .doc = doc_,                                                          \
        .forward_schema = "forward(" inputs ") -> Tensor",                    \
        .forward = type##_forward,                                            \
    };

#define PAIR "Tensor input, Tensor target"
#define TWO_AND_TARGET "Tensor input1, Tensor input2, Tensor target"

LOSS(L1Loss, l1_loss, PAIR, "", NULL, "The absolute difference.")
LOSS(MSELoss, mse_loss, PAIR, "", NULL, "The squared difference.")
LOSS(SmoothL1Loss, smooth_l1_loss, PAIR, "float beta=1.0, ", NULL,
     "Squared where the difference is below beta, absolute beyond.")
LOSS(
    HuberLoss, huber_loss, PAIR, "float delta=1.0, ", NULL,
    "Squared where the difference is below delta, delta times the absolute one beyond.")
LOSS(BCELoss, binary_cross_entropy, PAIR, "any weight=None, ", NULL,
     "The cross entropy of probabilities and targets.")
LOSS(BCEWithLogitsLoss, binary_cross_entropy_with_logits, PAIR,
     "any weight=None, any pos_weight=None, ", NULL,
     "BCELoss of sigmoid(input).")
LOSS(KLDivLoss, kl_div, PAIR, "bool log_target=False, ", NULL,
     "The Kullback-Leibler divergence from log probabilities.")
LOSS(PoissonNLLLoss, poisson_nll_loss, "Tensor log_input, Tensor target",
     "bool log_input=True, bool full=False, float eps=1e-08, ", NULL,
     "The negative log likelihood of a Poisson distribution.")
LOSS(GaussianNLLLoss, gaussian_nll_loss, PAIR ", any var",
     "bool full=False, float eps=1e-06, ", NULL,
     "The negative log likelihood of a normal distribution.")
LOSS(NLLLoss, nll_loss, PAIR, "any weight=None, int ignore_index=-100, ",
     "NLLLoss2d", "The negative log probability of each target class.")
LOSS(CrossEntropyLoss, cross_entropy, PAIR,
     "any weight=None, int ignore_index=-100, float label_smoothing=0.0, ",
     NULL, "NLLLoss of log_softmax(input).")
LOSS(SoftMarginLoss, soft_margin_loss, PAIR, "", NULL,
     "log(1 + exp(-target * input)).")
LOSS(HingeEmbeddingLoss, hinge_embedding_loss, PAIR, "float margin=1.0, ",
     NULL, "input where the target is 1, max(0, margin - input) where -1.")
LOSS(MarginRankingLoss, margin_ranking_loss, TWO_AND_TARGET,
     "float margin=0.0, ", NULL, "max(0, -target * (a - b) + margin).")
LOSS(CosineEmbeddingLoss, cosine_embedding_loss, TWO_AND_TARGET,
     "float margin=0.0, ", NULL,
     "1 - cos where the target is 1, max(0, cos - margin) where -1.")
LOSS(TripletMarginLoss, triplet_margin_loss,
     "Tensor anchor, Tensor positive, Tensor negative",
     "float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, ", NULL,
     "max(0, distance to positive - distance to negative + margin).")
LOSS(MultiMarginLoss, multi_margin_loss, PAIR,
     "Scalar p=1, Scalar margin=1.0, any weight=None, ", NULL,
     "How far other classes come within a margin of the target class.")
LOSS(MultiLabelMarginLoss, multilabel_margin_loss, PAIR, "", NULL,
     "MultiMarginLoss with several target classes.")
LOSS(MultiLabelSoftMarginLoss, multilabel_soft_margin_loss, PAIR,
     "any weight=None, ", NULL, "The mean over classes of BCEWithLogitsLoss.")
