/*
 * nn_embedding -- rows of a learned table, one by one or in bags.
 */
#include <cfx/ops.h>

#include "nn/module_impl.h"

#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

/* A negative padding_idx is made non-negative. */
static cfx_status find_padding(cfx_module *self, cfx_dim rows, cfx_error *err)
{
    cfx_value v = A("padding_idx");
    if (cfx_value_is_none(v) || !cfx_dim_is_int(rows))
        return CFX_OK;
    int64_t n = cfx_dim_value(rows);
    if (v.u.i < -n || v.u.i >= n)
        return cfx_fail(err, CFX_EINVAL,
                        "padding_idx must be within num_embeddings");
    if (v.u.i < 0)
        cfx_module__set_attr_take(self, "padding_idx", cfx_int(v.u.i + n));
    return CFX_OK;
}

static cfx_status init(cfx_module *self, cfx_error *err)
{
    cfx_dim shape[] = {cfx_attr_dim(self, "num_embeddings"),
                       cfx_attr_dim(self, "embedding_dim")};
    cfx_status st = find_padding(self, shape[0], err);
    return st ? st : cfx_module_param(self, "weight", CFX_F32, 2, shape, err);
}

/* padding_idx and sparse only affect gradients. */
static cfx_value Embedding_forward(cfx_scope *s, cfx_module *self,
                                   const cfx_value *in)
{
    if (cfx_value_is_none(A("max_norm")))
        return cfx_embedding(s, P("weight"), in[0]);
    cfx_value args[] = {in[0], P("weight"), cfx_none(), A("max_norm"),
                        A("norm_type")};
    return cfx_call_function(s, "torch.nn.functional.embedding",
                             cfx_args_of(args, 5));
}

const cfx_module_type cfx_module__Embedding = {
    .schema =
        "Embedding(SymInt num_embeddings, SymInt embedding_dim, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)",
    .repr =
        "$num_embeddings $embedding_dim ?padding_idx ?max_norm ?norm_type ?scale_grad_by_freq ?sparse",
    .doc = "Rows of a learned table.",
    .init = init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = Embedding_forward,
};

static cfx_status EmbeddingBag_init(cfx_module *self, cfx_error *err)
{
    if (!cfx_value_is_none(A("_weight")))
        return cfx_fail(err, CFX_EUNSUPPORTED, "_weight is not supported");
    return init(self, err);
}

static cfx_value EmbeddingBag_forward(cfx_scope *s, cfx_module *self,
                                      const cfx_value *in)
{
    cfx_value last = cfx_value_is_none(in[1])
                         ? cfx_bool(false)
                         : cfx_attr_of(s, self, "include_last_offset");
    cfx_value args[] = {in[0], P("weight"), in[1]};
    cfx_value kwargs[] = {
        cfx_str(s, "mode"),
        A("mode"),
        cfx_str(s, "per_sample_weights"),
        in[2],
        cfx_str(s, "include_last_offset"),
        last,
        cfx_str(s, "padding_idx"),
        A("padding_idx"),
        cfx_str(s, "max_norm"),
        A("max_norm"),
        cfx_str(s, "norm_type"),
        A("norm_type"),
    };
    return cfx_call_function(
        s, "torch.nn.functional.embedding_bag",
        (cfx_args){args, 3, kwargs, cfx_value_is_none(A("max_norm")) ? 4 : 6});
}

const cfx_module_type cfx_module__EmbeddingBag = {
    .schema =
        "EmbeddingBag(SymInt num_embeddings, SymInt embedding_dim, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, any _weight=None, bool include_last_offset=False, int? padding_idx=None)",
    .repr =
        "$num_embeddings $embedding_dim ?max_norm ?norm_type ?scale_grad_by_freq mode ?padding_idx",
    .implied = "sparse _weight",
    .lazy = "include_last_offset",
    .doc = "Sums, means or maxima of rows of a learned table.",
    .init = EmbeddingBag_init,
    .forward_schema =
        "forward(Tensor input, Tensor? offsets=None, Tensor? per_sample_weights=None) -> Tensor",
    .forward = EmbeddingBag_forward,
};
