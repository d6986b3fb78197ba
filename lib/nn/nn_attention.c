/*
 * nn_attention -- MultiheadAttention, after
 * torch.nn.functional.multi_head_attention_forward.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/module_impl.h"
#include "ops/attention/multi_head.h"

enum {
    QUERY,
    KEY,
    VALUE,
    PADDING_MASK,
    NEED_WEIGHTS,
    ATTN_MASK,
    AVERAGE,
    CAUSAL
};

static cfx_status add_out_proj(cfx_module *self, cfx_value embed,
                               cfx_error *err)
{
    cfx_module *out;
    const cfx_module_type *linear;
    cfx_context *ctx = cfx_module_context(self);
    cfx_value args[] = {embed, embed, cfx_attr(self, "bias")};
    cfx_status st = cfx_module_type__find(&linear, ctx, "Linear", err);
    if (!st)
        st = cfx_module_new(&out, ctx, linear,
                            "NonDynamicallyQuantizableLinear",
                            cfx_args_of(args, 3), err);
    return st ? st : cfx_module_add_take(self, "out_proj", out, err);
}

/* Declare a matrix for query, key and value, or three if their widths differ. */
static cfx_status declare_weights(cfx_module *self, cfx_dim e, cfx_dim kdim,
                                  cfx_dim vdim, cfx_error *err)
{
    static const char *const name[] = {"q_proj_weight", "k_proj_weight",
                                       "v_proj_weight"};
    cfx_dim three = cfx_dim_mul(NULL, e, cfx_dim_int(3));
    cfx_dim in[] = {three, e};
    bool same = cfx_dim_same(kdim, e) && cfx_dim_same(vdim, e);
    cfx_status st = CFX_OK;
    if (same)
        st = cfx_module_param(self, "in_proj_weight", CFX_F32, 2, in, err);
    for (int i = 0; i < 3 && !same && !st; i++) {
        cfx_dim shape[] = {e, i == 0 ? e : i == 1 ? kdim : vdim};
        st = cfx_module_param(self, name[i], CFX_F32, 2, shape, err);
    }
    if (st)
        return st;
    return cfx_attr_bool(self, "bias")
               ? cfx_module_param(self, "in_proj_bias", CFX_F32, 1, in, err)
               : cfx_module_no_param(self, "in_proj_bias", err);
}

/* The biases of an additional key and value. */
static cfx_status declare_biases(cfx_module *self, cfx_dim e, cfx_error *err)
{
    static const char *const name[] = {"bias_k", "bias_v"};
    cfx_dim shape[] = {cfx_dim_int(1), cfx_dim_int(1), e};
    bool given = cfx_attr_bool(self, "add_bias_kv");
    cfx_status st = CFX_OK;
    for (int i = 0; i < 2 && !st; i++)
        st = given ? cfx_module_param(self, name[i], CFX_F32, 3, shape, err)
                   : cfx_module_no_param(self, name[i], err);
    return st;
}

static cfx_status init(cfx_module *self, cfx_error *err)
{
    cfx_value embed = cfx_attr(self, "embed_dim");
    cfx_dim e = cfx_value_dim(embed);
    int64_t heads = cfx_attr_int(self, "num_heads");
    cfx_value kdim = cfx_attr(self, "kdim"), vdim = cfx_attr(self, "vdim");
    if (heads < 1 || !cfx_dim_is(cfx_dim_mod(NULL, e, cfx_dim_int(heads)), 0))
        return cfx_fail(err, CFX_EINVAL,
                        "embed_dim must be divisible by num_heads, %lld",
                        (long long)heads);
    cfx_status st = declare_weights(
        self, e, kdim.kind == CFX_NONE ? e : cfx_value_dim(kdim),
        vdim.kind == CFX_NONE ? e : cfx_value_dim(vdim), err);
    if (!st)
        st = declare_biases(self, e, err);
    return st ? st : add_out_proj(self, embed, err);
}

/* An optional parameter. */
static cfx_value own(cfx_scope *s, cfx_module *self, const char *name)
{
    return cfx_module_state(self, name) ? cfx_param_of(s, self, name)
                                        : cfx_none();
}

static cfx_value swap_batch(cfx_scope *s, cfx_value x)
{
    return cfx_transpose(s, x, cfx_int(0), cfx_int(1));
}

static cfx_value forward(cfx_scope *s, cfx_module *self, const cfx_value *in)
{
    cfx_value x[3] = {in[QUERY], in[KEY], in[VALUE]};
    bool first = cfx_rank(s, x[0]) == 3 && cfx_attr_bool(self, "batch_first");
    bool training = cfx_module_training(self);
    if (cfx_scope_failed(s))
        return cfx_none();
    for (int i = 0; i < 3 && first; i++)
        x[i] = i && cfx_multi_head_same(in[i], in[i - 1])
                   ? x[i - 1]
                   : swap_batch(s, x[i]);
    cfx_multi_head m = {
        .x = {x[0], x[1], x[2]},
        .embed_dim = cfx_attr(self, "embed_dim"),
        .heads = cfx_attr_int(self, "num_heads"),
        .in_weight = own(s, self, "in_proj_weight"),
        .own_weight = {own(s, self, "q_proj_weight"),
                       own(s, self, "k_proj_weight"),
                       own(s, self, "v_proj_weight")},
        .in_bias = own(s, self, "in_proj_bias"),
        .bias_k = own(s, self, "bias_k"),
        .bias_v = own(s, self, "bias_v"),
        .add_zero_attn = cfx_attr_bool(self, "add_zero_attn"),
        .static_k = cfx_none(),
        .static_v = cfx_none(),
        .dropout = training ? cfx_value_number(cfx_attr_of(s, self, "dropout"))
                            : 0,
        .padding_mask = in[PADDING_MASK],
        .attn_mask = in[ATTN_MASK],
        .need_weights = cfx_truth(s, in[NEED_WEIGHTS]),
        .average_weights = cfx_truth(s, in[AVERAGE]),
        .causal = cfx_truth(s, in[CAUSAL]),
    };
    cfx_value y = cfx_multi_head_attend(s, &m);
    y = cfx_multi_head_finish(s, &m, cfx_call_module(s, self, "out_proj", y));
    if (!first || cfx_scope_failed(s))
        return y;
    return cfx_tuple(s, swap_batch(s, cfx_nth(s, y, 0)), cfx_nth(s, y, 1));
}

const cfx_module_type cfx_module__MultiheadAttention = {
    .schema =
        "MultiheadAttention(SymInt embed_dim, int num_heads, float dropout=0.0, bool bias=True, bool add_bias_kv=False, bool add_zero_attn=False, SymInt? kdim=None, SymInt? vdim=None, bool batch_first=False)",
    .repr = "",
    .must_give = "batch_first",
    .lazy = "dropout",
    .by_state = "add_bias_kv kdim vdim",
    .derive = "embed_dim=out_proj.out_features bias=out_proj.bias",
    .doc = "Attention with several heads, and its projections.",
    .init = init,
    .forward_schema =
        "forward(Tensor query, Tensor key, Tensor value, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, bool average_attn_weights=True, bool is_causal=False) -> (Tensor, Tensor)",
    .forward = forward,
};
