/*
 * nn_similarity -- modules that compare vectors.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)

static cfx_value CosineSimilarity_forward(cfx_scope *s, cfx_module *self,
                                          const cfx_value *in)
{
    return cfx_cosine_similarity(s, in[0], in[1], .dim = A("dim"),
                                 .eps = A("eps"));
}

const cfx_module_type cfx_module__CosineSimilarity = {
    .schema = "CosineSimilarity(int dim=1, float eps=1e-08)",
    .repr = "",
    .numeric = "eps",
    .doc = "The cosine of the angle between vectors.",
    .forward_schema = "forward(Tensor x1, Tensor x2) -> Tensor",
    .forward = CosineSimilarity_forward,
};

static cfx_value PairwiseDistance_forward(cfx_scope *s, cfx_module *self,
                                          const cfx_value *in)
{
    return cfx_pairwise_distance(s, in[0], in[1], .p = A("p"), .eps = A("eps"),
                                 .keepdim = A("keepdim"));
}

const cfx_module_type cfx_module__PairwiseDistance = {
    .schema =
        "PairwiseDistance(float p=2.0, float eps=1e-06, bool keepdim=False)",
    .repr = "",
    .numeric = "p eps",
    .doc = "The length of the difference of vectors.",
    .forward_schema = "forward(Tensor x1, Tensor x2) -> Tensor",
    .forward = PairwiseDistance_forward,
};
