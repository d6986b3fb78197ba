/*
 * attention -- MultiheadAttention, after
 * torch.nn.functional.multi_head_attention_forward.
 */
#include <math.h>

#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/module_impl.h"

#define P(name) cfx_param_of(s, self, name)

enum { QUERY, KEY, VALUE, PADDING_MASK, NEED_WEIGHTS, ATTN_MASK, AVERAGE,
       CAUSAL };

static cfx_status refuse(cfx_module *self, const char *name, cfx_error *err)
{
    if (!cfx_attr_bool(self, name))
        return CFX_OK;
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "MultiheadAttention: %s=True is not supported", name);
}

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
                            "NonDynamicallyQuantizableLinear", args, 3, NULL,
                            0, err);
    return st ? st : cfx_module_add_take(self, "out_proj", out, err);
}

/* One matrix for query, key and value, or three where their widths differ. */
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

static cfx_status init(cfx_module *self, cfx_error *err)
{
    cfx_value embed = cfx_attr(self, "embed_dim");
    cfx_dim e = cfx_value_dim(embed);
    int64_t heads = cfx_attr_int(self, "num_heads");
    cfx_value kdim = cfx_attr(self, "kdim"), vdim = cfx_attr(self, "vdim");
    cfx_status st = refuse(self, "add_bias_kv", err);
    if (!st)
        st = refuse(self, "add_zero_attn", err);
    if (st)
        return st;
    if (heads < 1 || !cfx_dim_is(cfx_dim_mod(NULL, e, cfx_dim_int(heads)), 0))
        return cfx_fail(err, CFX_EINVAL, "embed_dim must be divisible by "
                        "num_heads, %lld", (long long)heads);
    st = declare_weights(self, e,
                         kdim.kind == CFX_NONE ? e : cfx_value_dim(kdim),
                         vdim.kind == CFX_NONE ? e : cfx_value_dim(vdim),
                         err);
    return st ? st : add_out_proj(self, embed, err);
}

/* x[..., i * width : (i + 1) * width] along an axis. */
static cfx_value third(cfx_scope *s, cfx_value x, int axis, int64_t i,
                       cfx_value width)
{
    cfx_value from = cfx_int_mul(s, cfx_int(i), width);
    return cfx_narrow(s, x, cfx_int(axis), from, width);
}

static bool is_same(cfx_value a, cfx_value b)
{
    return a.kind == b.kind && a.u.tensor == b.u.tensor;
}

/* (L, N, E) each, from inputs of that layout. */
static void project(cfx_scope *s, cfx_module *self, cfx_value x[3])
{
    static const char *const name[] = {"q_proj_weight", "k_proj_weight",
                                       "v_proj_weight"};
    cfx_value e = cfx_attr(self, "embed_dim");
    bool joined = cfx_module_state(self, "in_proj_weight");
    cfx_value w = joined ? P("in_proj_weight") : cfx_none();
    cfx_value b = P("in_proj_bias");
    if (joined && is_same(x[0], x[1]) && is_same(x[1], x[2])) {
        cfx_value all = cfx_linear(s, x[0], w, .bias = b);
        for (int i = 0; i < 3; i++)
            x[i] = third(s, all, -1, i, e);
        return;
    }
    for (int i = 0; i < 3; i++) {
        cfx_value wi = joined ? third(s, w, 0, i, e) : P(name[i]);
        cfx_value bi = b.kind == CFX_NONE ? b : third(s, b, 0, i, e);
        x[i] = cfx_linear(s, x[i], wi, .bias = bi);
    }
}

/* (L, N, E) to (N, heads, L, E / heads). */
static cfx_value split_heads(cfx_scope *s, cfx_module *self, cfx_value x)
{
    int64_t heads = cfx_attr_int(self, "num_heads");
    cfx_value width = cfx_int_floordiv(s, cfx_attr(self, "embed_dim"),
                                       cfx_int(heads));
    cfx_value shape = cfx_tuple(s, cfx_size(s, x, 0), cfx_size(s, x, 1),
                                cfx_int(heads), width);
    cfx_value order = cfx_tuple(s, cfx_int(1), cfx_int(2), cfx_int(0),
                                cfx_int(3));
    return cfx_permute(s, cfx_reshape(s, x, shape), order);
}

/* A mask as numbers to be added: bool masks forbid where they are true. */
static cfx_value additive(cfx_scope *s, cfx_value mask, cfx_value like)
{
    if (mask.kind != CFX_TENSOR || mask.u.tensor->dtype != CFX_BOOL)
        return mask;
    return cfx_masked_fill(s, cfx_zeros_like(s, mask, .dtype = like), mask,
                           cfx_num(-HUGE_VAL));
}

/* Both masks together, broadcast over (N, heads, L, S). */
static cfx_value merge_masks(cfx_scope *s, const cfx_value *in, int64_t heads,
                             cfx_value type)
{
    cfx_value mask = in[ATTN_MASK], padding = in[PADDING_MASK];
    if (mask.kind != CFX_NONE) {
        mask = additive(s, mask, type);
        if (cfx_rank(s, mask) == 3) {
            cfx_value shape = cfx_tuple(s, cfx_int(-1), cfx_int(heads),
                                        cfx_size(s, mask, 1),
                                        cfx_size(s, mask, 2));
            mask = cfx_reshape(s, mask, shape);
        }
    }
    if (padding.kind == CFX_NONE)
        return mask;
    padding = additive(s, padding, type);
    if (cfx_rank(s, padding) == 1)
        padding = cfx_unsqueeze(s, padding, cfx_int(0));
    padding = cfx_unsqueeze(s, cfx_unsqueeze(s, padding, cfx_int(1)),
                            cfx_int(1));
    return mask.kind == CFX_NONE ? padding
                                 : cfx_add(s, mask, padding);
}

/* The weights are wanted too: the products one by one. */
static cfx_value attend_openly(cfx_scope *s, cfx_value x[3], cfx_value mask,
                               cfx_value *weights)
{
    cfx_value width = cfx_size(s, x[0], -1);
    double scale = width.kind == CFX_INT ? sqrt(1 / (double)width.u.i) : 1;
    cfx_value score = cfx_matmul(
        s, cfx_mul(s, x[0], cfx_num(scale)),
        cfx_transpose(s, x[1], cfx_int(-2), cfx_int(-1)));
    if (mask.kind != CFX_NONE)
        score = cfx_add(s, score, mask);
    *weights = cfx_softmax(s, score, cfx_int(-1));
    return cfx_matmul(s, *weights, x[2]);
}

static cfx_value finish_weights(cfx_scope *s, const cfx_value *in,
                                cfx_value weights, bool batched)
{
    if (in[AVERAGE].u.i)
        weights = cfx_mean_dim(s, weights,
                               .dim = cfx_tuple(s, cfx_int(1)));
    return batched ? weights : cfx_squeeze_dim(s, weights, cfx_int(0));
}

static cfx_value forward(cfx_scope *s, cfx_module *self, const cfx_value *in)
{
    cfx_value x[3] = {in[QUERY], in[KEY], in[VALUE]}, weights = cfx_none();
    bool batched = cfx_rank(s, x[0]) == 3, first = false;
    bool one = is_same(x[0], x[1]), two = is_same(x[1], x[2]);
    int64_t heads = cfx_attr_int(self, "num_heads");
    if (cfx_scope_failed(s))
        return cfx_none();
    first = batched && cfx_attr_bool(self, "batch_first");
    for (int i = 0; i < 3; i++) {
        if (i && (i == 1 ? one : two))
            x[i] = x[i - 1];
        else if (!batched)
            x[i] = cfx_unsqueeze(s, x[i], cfx_int(1));
        else if (first)
            x[i] = cfx_transpose(s, x[i], cfx_int(0), cfx_int(1));
    }
    cfx_value rows = cfx_size(s, x[0], 0), batch = cfx_size(s, x[0], 1);
    cfx_value type = x[0].kind == CFX_TENSOR
                         ? cfx_value_of_dtype((cfx_dtype)x[0].u.tensor->dtype)
                         : cfx_none();
    project(s, self, x);
    for (int i = 0; i < 3; i++)
        x[i] = split_heads(s, self, x[i]);
    cfx_value mask = merge_masks(s, in, heads, type);
    bool causal = in[CAUSAL].u.i && in[PADDING_MASK].kind == CFX_NONE &&
                  !in[NEED_WEIGHTS].u.i;
    cfx_value y = in[NEED_WEIGHTS].u.i
        ? attend_openly(s, x, mask, &weights)
        : cfx_scaled_dot_product_attention(
              s, x[0], x[1], x[2],
              .attn_mask = causal ? cfx_none() : mask,
              .is_causal = cfx_bool(causal));
    cfx_value order = cfx_tuple(s, cfx_int(2), cfx_int(0), cfx_int(1),
                                cfx_int(3));
    cfx_value flat = cfx_tuple(s, cfx_int_mul(s, rows, batch),
                               cfx_attr(self, "embed_dim"));
    y = cfx_reshape(s, cfx_permute(s, y, order), flat);
    y = cfx_call_module(s, self, "out_proj", y);
    y = cfx_view(s, y, cfx_tuple(s, rows, batch, cfx_attr(self,
                                                          "embed_dim")));
    if (!batched)
        y = cfx_squeeze_dim(s, y, cfx_int(1));
    else if (first)
        y = cfx_transpose(s, y, cfx_int(0), cfx_int(1));
    if (in[NEED_WEIGHTS].u.i)
        weights = finish_weights(s, in, weights, batched);
    return cfx_tuple(s, y, weights);
}

const cfx_module_type cfx_module__MultiheadAttention = {
    .schema = "MultiheadAttention(SymInt embed_dim, int num_heads, float "
              "dropout=0.0, bool bias=True, bool add_bias_kv=False, bool "
              "add_zero_attn=False, SymInt? kdim=None, SymInt? vdim=None, "
              "bool batch_first=False)",
    .repr = "",
    .must_give = "batch_first",
    .derive = "embed_dim=out_proj.out_features bias=out_proj.bias",
    .doc = "Attention with several heads, and its projections.",
    .init = init,
    .forward_schema = "forward(Tensor query, Tensor key, Tensor value, "
                      "Tensor? key_padding_mask=None, bool need_weights=True, "
                      "Tensor? attn_mask=None, bool "
                      "average_attn_weights=True, bool is_causal=False) "
                      "-> (Tensor, Tensor)",
    .forward = forward,
};
