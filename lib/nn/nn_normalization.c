/*
 * nn_normalization -- LayerNorm, GroupNorm and others that normalize each sample.
 */
#include <cfx/ops.h>

#include "nn/module_impl.h"

#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

/* A parameter with the shape in a list, or None. */
static cfx_status declare(cfx_module *self, cfx_value list, const char *name,
                          bool there, cfx_error *err)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank = (int)list.u.seq->len;
    if (rank > CFX_MAX_RANK)
        return cfx_fail(err, CFX_ESHAPE, "rank %d is more than %d", rank,
                        CFX_MAX_RANK);
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_value_dim(list.u.seq->item[i]);
    return there ? cfx_module_param(self, name, CFX_F32, rank, shape, err)
                 : cfx_module_no_param(self, name, err);
}

/* A list is stored as a tuple. */
static cfx_status keep_tuple(cfx_module *self, cfx_error *err)
{
    cfx_value v = A("normalized_shape");
    v = cfx_tuple_new(cfx_module_context(self), v.u.seq->len, v.u.seq->item);
    if (v.kind == CFX_ABSENT)
        return cfx_no_memory(err);
    cfx_module__set_attr_take(self, "normalized_shape", v);
    return CFX_OK;
}

/* A bias goes with a weight; without one it is printed as False. */
static bool with_bias(cfx_module *self, bool affine)
{
    bool bias = affine && cfx_attr_bool(self, "bias");
    cfx_module__set_attr_take(self, "bias", cfx_bool(bias));
    return bias;
}

static cfx_status LayerNorm_init(cfx_module *self, cfx_error *err)
{
    bool affine = cfx_attr_bool(self, "elementwise_affine");
    cfx_status st = keep_tuple(self, err);
    if (!st)
        st = declare(self, A("normalized_shape"), "weight", affine, err);
    return st ? st
              : declare(self, A("normalized_shape"), "bias",
                        with_bias(self, affine), err);
}

const cfx_module_type cfx_module__LayerNorm = {
    .schema =
        "LayerNorm(SymInt[1] normalized_shape, Scalar eps=1e-05, bool elementwise_affine=True, bool bias=True)",
    .repr = "$normalized_shape eps elementwise_affine bias",
    .doc = "Normalize over the last axes.",
    .init = LayerNorm_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.layer_norm.default",
};

static cfx_status RMSNorm_init(cfx_module *self, cfx_error *err)
{
    cfx_status st = keep_tuple(self, err);
    return st ? st
              : declare(self, A("normalized_shape"), "weight",
                        cfx_attr_bool(self, "elementwise_affine"), err);
}

const cfx_module_type cfx_module__RMSNorm = {
    .schema =
        "RMSNorm(SymInt[1] normalized_shape, Scalar? eps=None, bool elementwise_affine=True)",
    .repr = "$normalized_shape eps elementwise_affine",
    .doc = "Divide by the root of the mean square over the last axes.",
    .init = RMSNorm_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.rms_norm.default",
};

static cfx_status GroupNorm_init(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "num_channels");
    bool affine = cfx_attr_bool(self, "affine");
    int64_t groups = cfx_attr_int(self, "num_groups");
    if (groups < 1 ||
        !cfx_dim_is(cfx_dim_mod(NULL, n, cfx_dim_int(groups)), 0))
        return cfx_fail(err, CFX_EINVAL,
                        "num_channels must be divisible by num_groups");
    cfx_status st = affine
                        ? cfx_module_param(self, "weight", CFX_F32, 1, &n, err)
                        : cfx_module_no_param(self, "weight", err);
    if (st)
        return st;
    return with_bias(self, affine)
               ? cfx_module_param(self, "bias", CFX_F32, 1, &n, err)
               : cfx_module_no_param(self, "bias", err);
}

const cfx_module_type cfx_module__GroupNorm = {
    .schema =
        "GroupNorm(int num_groups, SymInt num_channels, Scalar eps=1e-05, bool affine=True, *, bool bias=True)",
    .repr = "$num_groups $num_channels eps affine bias",
    .doc = "Normalize over groups of channels.",
    .init = GroupNorm_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.group_norm.default",
};

const cfx_module_type cfx_module__LocalResponseNorm = {
    .schema =
        "LocalResponseNorm(int size, Scalar alpha=0.0001, Scalar beta=0.75, Scalar k=1.0)",
    .repr = "$size alpha beta k",
    .doc = "Divide by a power of the mean square of near channels.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "torch.nn.functional.local_response_norm",
};
