/*
 * nn_similarity -- modules that compare vectors.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)

const cfx_module_type cfx_module__CosineSimilarity = {
    .schema = "CosineSimilarity(int dim=1, float eps=1e-08)",
    .repr = "",
    .numeric = "eps",
    .doc = "The cosine of the angle between vectors.",
    .forward_schema = "forward(Tensor x1, Tensor x2) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.cosine_similarity.default",
};

const cfx_module_type cfx_module__PairwiseDistance = {
    .schema =
        "PairwiseDistance(float p=2.0, float eps=1e-06, bool keepdim=False)",
    .repr = "",
    .numeric = "p eps",
    .doc = "The length of the difference of vectors.",
    .forward_schema = "forward(Tensor x1, Tensor x2) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.pairwise_distance.default",
};
