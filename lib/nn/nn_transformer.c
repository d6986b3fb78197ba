/*
 * nn_transformer -- TransformerEncoderLayer and TransformerEncoder.
 *
 * Children are named as PyTorch names them, so that weights are found. Each
 * layer runs in a frame of its own: only its result outlives it.
 */
#include <string.h>

#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/module_impl.h"

#define A(name) cfx_attr(self, name)

/* ---- One layer; an activation that is a module is a child ---- */

static cfx_status Layer_init(cfx_module *self, cfx_error *err)
{
    const char *act = cfx_attr_str(self, "activation");
    cfx_value d = A("d_model"), wide = A("dim_feedforward");
    cfx_value bias = A("bias"), p = A("dropout"), none = cfx_none();
    cfx_value attn[] = {
        d,    A("nhead"),      p, bias, cfx_bool(false), cfx_bool(false), none,
        none, A("batch_first")};
    cfx_value up[] = {d, wide, bias}, down[] = {wide, d, bias};
    cfx_value norm[] = {d, A("layer_norm_eps"), cfx_bool(true), bias};
    if (strcmp(act, "relu") && strcmp(act, "gelu"))
        return cfx_fail(err, CFX_EINVAL,
                        "activation should be relu/gelu, not %s", act);
    cfx_status st = cfx_module_add(self, "self_attn", "MultiheadAttention",
                                   cfx_args_of(attn, 9), err);
    if (!st)
        st = cfx_module_add(self, "linear1", "Linear", cfx_args_of(up, 3),
                            err);
    if (!st)
        st = cfx_module_add(self, "dropout", "Dropout", cfx_args_of(&p, 1),
                            err);
    if (!st)
        st = cfx_module_add(self, "linear2", "Linear", cfx_args_of(down, 3),
                            err);
    if (!st)
        st = cfx_module_add(self, "norm1", "LayerNorm", cfx_args_of(norm, 4),
                            err);
    if (!st)
        st = cfx_module_add(self, "norm2", "LayerNorm", cfx_args_of(norm, 4),
                            err);
    if (!st)
        st = cfx_module_add(self, "dropout1", "Dropout", cfx_args_of(&p, 1),
                            err);
    return st ? st
              : cfx_module_add(self, "dropout2", "Dropout", cfx_args_of(&p, 1),
                               err);
}

enum { SRC, MASK, PADDING_MASK, CAUSAL };

static cfx_value attend(cfx_scope *s, cfx_module *self, cfx_value x,
                        const cfx_value *in)
{
    cfx_value args[] = {x, x, x};
    cfx_value kwargs[] = {
        cfx_str(s, "attn_mask"),        in[MASK],
        cfx_str(s, "key_padding_mask"), in[PADDING_MASK],
        cfx_str(s, "need_weights"),     cfx_bool(false),
        cfx_str(s, "is_causal"),        in[CAUSAL],
    };
    cfx_value both = cfx_call_module_with(s, self, "self_attn",
                                          (cfx_args){args, 3, kwargs, 4});
    return cfx_call_module(s, self, "dropout1", cfx_nth(s, both, 0));
}

static cfx_value feed_forward(cfx_scope *s, cfx_module *self, cfx_value x)
{
    bool own = cfx_module_child(self, "activation");
    cfx_value name = own ? A("activation")
                         : cfx_attr_of(s, self, "activation");
    if (cfx_scope_failed(s))
        return cfx_none();
    bool relu = !strcmp(name.u.str->text, "relu");
    cfx_value h = cfx_call_module(s, self, "linear1", x);
    cfx_value a = own    ? cfx_call_module(s, self, "activation", h)
                  : relu ? cfx_relu(s, h)
                         : cfx_gelu(s, h);
    cfx_scope_drop(s, &h); /* the widest value */
    a = cfx_call_module(s, self, "dropout", a);
    a = cfx_call_module(s, self, "linear2", a);
    return cfx_call_module(s, self, "dropout2", a);
}

/* x plus its attention, normalized before or after. */
static cfx_value with_attention(cfx_scope *s, cfx_module *self, cfx_value x,
                                const cfx_value *in, bool norm_first)
{
    size_t frame = cfx_scope_enter(s);
    cfx_value h = norm_first ? cfx_call_module(s, self, "norm1", x) : x;
    h = cfx_add(s, x, attend(s, self, h, in));
    if (!norm_first)
        h = cfx_call_module(s, self, "norm1", h);
    return cfx_scope_leave(s, frame, h);
}

static cfx_value with_feed_forward(cfx_scope *s, cfx_module *self, cfx_value x,
                                   bool norm_first)
{
    size_t frame = cfx_scope_enter(s);
    cfx_value h = norm_first ? cfx_call_module(s, self, "norm2", x) : x;
    h = cfx_add(s, x, feed_forward(s, self, h));
    if (!norm_first)
        h = cfx_call_module(s, self, "norm2", h);
    return cfx_scope_leave(s, frame, h);
}

static cfx_value Layer_forward(cfx_scope *s, cfx_module *self,
                               const cfx_value *in)
{
    bool norm_first = cfx_attr_bool(self, "norm_first");
    cfx_value h = with_attention(s, self, in[SRC], in, norm_first);
    cfx_value y = with_feed_forward(s, self, h, norm_first);
    cfx_scope_drop(s, &h);
    return y;
}

const cfx_module_type cfx_module__TransformerEncoderLayer = {
    .schema =
        "TransformerEncoderLayer(SymInt d_model, int nhead, SymInt dim_feedforward=2048, Scalar dropout=0.1, str activation='relu', Scalar layer_norm_eps=1e-05, bool batch_first=False, bool norm_first=False, bool bias=True)",
    .repr = "",
    .must_give = "norm_first",
    .derive =
        "d_model=linear1.in_features nhead=self_attn.num_heads dim_feedforward=linear1.out_features dropout=dropout.p layer_norm_eps=norm1.eps batch_first=self_attn.batch_first bias=linear1.bias",
    .lazy = "activation",
    .numeric = "activation norm_first",
    .doc = "Self-attention and two linear layers, each with its residual.",
    .init = Layer_init,
    .forward_schema =
        "forward(Tensor src, Tensor? src_mask=None, Tensor? src_key_padding_mask=None, bool is_causal=False) -> Tensor",
    .forward = Layer_forward,
};

/* ---- A stack of layers; which they are, its children tell ---- */

static cfx_value Encoder_forward(cfx_scope *s, cfx_module *self,
                                 const cfx_value *in)
{
    cfx_module *layers = cfx_module_child(self, "layers");
    cfx_value x = in[SRC];
    if (!layers)
        return cfx_scope_fail(s, CFX_ENAME,
                              "TransformerEncoder has no module 'layers'");
    bool causal = cfx_truth(s, in[CAUSAL]);
    for (size_t i = 0; i < cfx_module_nchildren(layers); i++) {
        cfx_module *layer = cfx_module_child_at(layers, i);
        cfx_value args[] = {x, in[MASK], in[PADDING_MASK], cfx_bool(causal)};
        cfx_value y = cfx_call_module_with(s, layers, cfx_module_name(layer),
                                           cfx_args_of(args, 4));
        if (i)
            cfx_scope_drop(s, &x);
        x = y;
    }
    return cfx_module_child(self, "norm") ? cfx_call_module(s, self, "norm", x)
                                          : x;
}

const cfx_module_type cfx_module__TransformerEncoder = {
    .schema = "TransformerEncoder()",
    .repr = "",
    .doc = "Encoder layers one after the other, and perhaps a norm.",
    .forward_schema =
        "forward(Tensor src, Tensor? mask=None, Tensor? src_key_padding_mask=None, bool? is_causal=None) -> Tensor",
    .forward = Encoder_forward,
};
