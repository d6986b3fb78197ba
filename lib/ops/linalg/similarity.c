/*
 * similarity -- how near vectors are, and vectors of length one.
 *
 * shape   that of the arguments, broadcast, without the axis that is compared;
 *         normalize: that of the argument.
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, P, DIM, EPS, X1, X2, KEEPDIM);

#define IN(k) cfx_call_value(call, k)

/* x.norm(p, dim, keepdim=True), at least eps. */
static cfx_value length(cfx_scope *s, cfx_value x, cfx_value p, cfx_value dim,
                        cfx_value eps)
{
    cfx_value axes = cfx_value_is_seq(dim) ? dim : cfx_tuple(s, dim);
    cfx_value n = CFX_CALL(s, "torch.norm", x, p, axes, cfx_bool(true));
    return CFX_CALL(s, "torch.clamp_min", n, eps);
}

static cfx_value normalize_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value n = length(s, IN(SELF), IN(P), IN(DIM), IN(EPS));
    return CFX_CALL(s, "torch.div", IN(SELF), n);
}

static cfx_value cosine_similarity_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value dim = IN(DIM), x[2];
    cfx_value pair = CFX_CALL(s, "torch.broadcast_tensors", IN(X1), IN(X2));
    for (int i = 0; i < 2; i++) {
        x[i] = cfx_nth(s, pair, i);
        x[i] = CFX_CALL(s, "torch.div", x[i],
                        length(s, x[i], cfx_float(2), dim, IN(EPS)));
    }
    cfx_value both = CFX_CALL(s, "torch.mul", x[0], x[1]);
    return CFX_CALL(s, "torch.sum", both, cfx_tuple(s, dim));
}

static cfx_value pairwise_distance_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value d = CFX_CALL(s, "torch.sub", IN(X1), IN(X2));
    d = CFX_CALL(s, "torch.add", d, IN(EPS));
    return CFX_CALL(s, "torch.norm", d, IN(P), cfx_tuple(s, cfx_int(-1)),
                    IN(KEEPDIM));
}

CFX_COMPOSITE(normalize)
CFX_COMPOSITE(cosine_similarity)
CFX_COMPOSITE(pairwise_distance)

const cfx_op cfx_op__normalize = {
    .schema =
        "normalize(Tensor input, float p=2.0, any dim=1, float eps=1e-12) -> Tensor",
    .params = params,
    .aliases = "torch.nn.functional.",
    .doc = "Vectors along an axis, divided by their length.",
    .flags = CFX_OP_COMPLEX,
    .infer = normalize_infer,
    .cost = normalize_cost,
    .run = normalize_run,
};

const cfx_op cfx_op__cosine_similarity = {
    .schema =
        "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "The cosine of the angle between vectors.",
    .infer = cosine_similarity_infer,
    .cost = cosine_similarity_cost,
    .run = cosine_similarity_run,
};

const cfx_op cfx_op__pairwise_distance = {
    .schema =
        "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "The length of the difference of vectors.",
    .flags = CFX_OP_COMPLEX,
    .infer = pairwise_distance_infer,
    .cost = pairwise_distance_cost,
    .run = pairwise_distance_run,
};
