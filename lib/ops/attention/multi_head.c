/*
 * multi_head -- attention with several heads and its projections.
 *
 * shape   query (L, N, E), key (S, N, kdim), value (S, N, vdim), or all
 *         without N; the result is (L, N, E), the weights (N, L, S) or with
 *         the heads apart (N, heads, L, S), or None.
 * cost    that of the operators it consists of.
 */
#include "ops/attention/multi_head.h"

#include <math.h>

#include "op/composite.h"
#include "op/infer.h"

static bool is_none(cfx_value v)
{
    return v.kind == CFX_NONE;
}

/* Part i of x along an axis of three parts. */
static cfx_value third(cfx_scope *s, cfx_value x, int64_t axis, int64_t i,
                       cfx_value width)
{
    cfx_value from = cfx_int_mul(s, cfx_int(i), width);
    return CFX_CALL(s, "torch.narrow", x, cfx_int(axis), from, width);
}

/* (L, N, E) each, from inputs of that layout. */
static void project(cfx_scope *s, const cfx_multi_head *m, cfx_value x[3])
{
    cfx_value e = m->embed_dim, w = m->in_weight, b = m->in_bias;
    bool joined = !is_none(w);
    if (joined && cfx_multi_head_same(x[0], x[1]) &&
        cfx_multi_head_same(x[1], x[2])) {
        cfx_value all = CFX_CALL(s, "torch.nn.functional.linear", x[0], w, b);
        for (int i = 0; i < 3; i++)
            x[i] = third(s, all, -1, i, e);
        return;
    }
    for (int i = 0; i < 3; i++) {
        cfx_value wi = joined ? third(s, w, 0, i, e) : m->own_weight[i];
        cfx_value bi = is_none(b) ? b : third(s, b, 0, i, e);
        x[i] = CFX_CALL(s, "torch.nn.functional.linear", x[i], wi, bi);
    }
}

/* x with one more row, which is `row` (1, 1, E) for the whole batch. */
static cfx_value add_row(cfx_scope *s, cfx_value x, cfx_value row,
                         cfx_value batch)
{
    cfx_value one = cfx_int(1);
    row = CFX_CALL(s, "Tensor.expand", row,
                   cfx_tuple(s, one, batch, cfx_int(-1)));
    return CFX_CALL(s, "torch.cat", cfx_list(s, x, row));
}

/* Masks let everybody look at what was added. */
static cfx_value widen(cfx_scope *s, cfx_value mask)
{
    return is_none(mask) ? mask
                         : CFX_CALL(s, "torch.nn.functional.pad", mask,
                                    cfx_tuple(s, cfx_int(0), cfx_int(1)));
}

static cfx_value head_width(cfx_scope *s, const cfx_multi_head *m)
{
    return cfx_int_floordiv(s, m->embed_dim, cfx_int(m->heads));
}

/* (L, N, E) to (N, heads, L, E / heads). */
static cfx_value split_heads(cfx_scope *s, const cfx_multi_head *m,
                             cfx_value x)
{
    cfx_value shape = cfx_tuple(s, cfx_size(s, x, 0), m->batch,
                                cfx_int(m->heads), head_width(s, m));
    cfx_value order = cfx_tuple(s, cfx_int(1), cfx_int(2), cfx_int(0),
                                cfx_int(3));
    return CFX_CALL(s, "torch.permute", CFX_CALL(s, "torch.reshape", x, shape),
                    order);
}

/* (N * heads, S, E / heads) to (N, heads, S, E / heads). */
static cfx_value given_heads(cfx_scope *s, const cfx_multi_head *m,
                             cfx_value x)
{
    return CFX_CALL(s, "torch.reshape", x,
                    cfx_tuple(s, m->batch, cfx_int(m->heads), cfx_int(-1),
                              head_width(s, m)));
}

static cfx_value add_zero(cfx_scope *s, const cfx_multi_head *m, cfx_value x)
{
    cfx_value shape = cfx_tuple(s, m->batch, cfx_int(m->heads), cfx_int(1),
                                head_width(s, m));
    cfx_value zero = CFX_CALL(s, "Tensor.new_zeros", x, shape);
    return CFX_CALL(s, "torch.cat", cfx_list(s, x, zero), cfx_int(2));
}

/* A mask as numbers to be added: bool masks forbid where they are true. */
static cfx_value additive(cfx_scope *s, cfx_value mask, cfx_value like)
{
    const cfx_tensor *known = is_none(mask) ? NULL : cfx_meta_of(s, mask);
    if (!known || known->dtype != CFX_BOOL)
        return mask;
    cfx_value zero = CFX_CALL(s, "torch.zeros_like", mask);
    zero = CFX_CALL(s, "Tensor.type_as", zero, like);
    return CFX_CALL(s, "torch.masked_fill", zero, mask, cfx_float(-HUGE_VAL));
}

/* Both masks together, broadcast over (N, heads, L, S). */
static cfx_value merge_masks(cfx_scope *s, const cfx_multi_head *m,
                             cfx_value mask, cfx_value padding, cfx_value like)
{
    cfx_value one = cfx_int(1);
    mask = additive(s, mask, like);
    if (!is_none(mask) && cfx_rank(s, mask) == 3)
        mask = CFX_CALL(s, "torch.reshape", mask,
                        cfx_tuple(s, m->batch, cfx_int(m->heads),
                                  cfx_size(s, mask, 1), cfx_size(s, mask, 2)));
    if (is_none(padding))
        return mask;
    padding = additive(s, padding, like);
    if (cfx_rank(s, padding) == 1)
        padding = CFX_CALL(s, "torch.unsqueeze", padding, cfx_int(0));
    padding = CFX_CALL(s, "torch.unsqueeze", padding, one);
    padding = CFX_CALL(s, "torch.unsqueeze", padding, one);
    return is_none(mask) ? padding : CFX_CALL(s, "torch.add", mask, padding);
}

/* The weights are wanted too, or dropped at random: the products one by one. */
static cfx_value attend_openly(cfx_scope *s, cfx_multi_head *m, cfx_value x[3],
                               cfx_value mask)
{
    cfx_value width = head_width(s, m);
    double scale = width.kind == CFX_INT ? sqrt(1 / (double)width.u.i) : 1;
    cfx_value q = CFX_CALL(s, "torch.mul", x[0], cfx_float(scale));
    cfx_value k = CFX_CALL(s, "torch.transpose", x[1], cfx_int(-2),
                           cfx_int(-1));
    cfx_value score = CFX_CALL(s, "torch.matmul", q, k);
    if (!is_none(mask))
        score = CFX_CALL(s, "torch.add", score, mask);
    m->weights = CFX_CALL(s, "torch.softmax", score, cfx_int(-1));
    if (m->dropout > 0)
        m->weights = CFX_CALL(s, "torch.nn.functional.dropout", m->weights,
                              cfx_float(m->dropout));
    return CFX_CALL(s, "torch.matmul", m->weights, x[2]);
}

static cfx_value attend(cfx_scope *s, cfx_multi_head *m, cfx_value x[3],
                        cfx_value attn_mask, cfx_value padding)
{
    cfx_value mask = merge_masks(s, m, attn_mask, padding, x[0]);
    bool causal = m->causal && is_none(padding) && !m->need_weights;
    if (m->need_weights || m->dropout > 0)
        return attend_openly(s, m, x, mask);
    return CFX_CALL(s, "torch.nn.functional.scaled_dot_product_attention",
                    x[0], x[1], x[2], causal ? cfx_none() : mask, cfx_float(0),
                    cfx_bool(causal));
}

cfx_value cfx_multi_head_attend(cfx_scope *s, cfx_multi_head *m)
{
    cfx_value x[3] = {m->x[0], m->x[1], m->x[2]};
    cfx_value mask = m->attn_mask, padding = m->padding_mask;
    bool same[3] = {false, cfx_multi_head_same(x[0], x[1]),
                    cfx_multi_head_same(x[1], x[2])};
    m->batched = cfx_rank(s, x[0]) == 3;
    m->weights = cfx_none();
    if (m->causal && is_none(mask))
        return cfx_scope_fail(
            s, CFX_EINVAL, "Need attn_mask if specifying the is_causal hint.");
    for (int i = 0; i < 3 && !m->batched; i++)
        x[i] = same[i] ? x[i - 1]
                       : CFX_CALL(s, "torch.unsqueeze", x[i], cfx_int(1));
    m->rows = cfx_size(s, x[0], 0);
    m->batch = cfx_size(s, x[0], 1);
    project(s, m, x);
    if (!is_none(m->bias_k) && !is_none(m->bias_v)) {
        x[1] = add_row(s, x[1], m->bias_k, m->batch);
        x[2] = add_row(s, x[2], m->bias_v, m->batch);
        mask = widen(s, mask);
        padding = widen(s, padding);
    }
    x[0] = split_heads(s, m, x[0]);
    x[1] = is_none(m->static_k) ? split_heads(s, m, x[1])
                                : given_heads(s, m, m->static_k);
    x[2] = is_none(m->static_v) ? split_heads(s, m, x[2])
                                : given_heads(s, m, m->static_v);
    if (m->add_zero_attn) {
        x[1] = add_zero(s, m, x[1]);
        x[2] = add_zero(s, m, x[2]);
        mask = widen(s, mask);
        padding = widen(s, padding);
    }
    cfx_value y = attend(s, m, x, mask, padding);
    cfx_value order = cfx_tuple(s, cfx_int(2), cfx_int(0), cfx_int(1),
                                cfx_int(3));
    cfx_value flat = cfx_tuple(s, cfx_int_mul(s, m->rows, m->batch),
                               m->embed_dim);
    return CFX_CALL(s, "torch.reshape", CFX_CALL(s, "torch.permute", y, order),
                    flat);
}

cfx_value cfx_multi_head_finish(cfx_scope *s, const cfx_multi_head *m,
                                cfx_value y)
{
    cfx_value weights = m->weights;
    y = CFX_CALL(s, "Tensor.view", y,
                 cfx_tuple(s, m->rows, m->batch, m->embed_dim));
    if (!m->batched)
        y = CFX_CALL(s, "torch.squeeze", y, cfx_int(1));
    if (m->need_weights && m->average_weights)
        weights = CFX_CALL(s, "torch.mean", weights, cfx_tuple(s, cfx_int(1)));
    if (m->need_weights && !m->batched)
        weights = CFX_CALL(s, "torch.squeeze", weights, cfx_int(0));
    return cfx_tuple(s, y, m->need_weights ? weights : cfx_none());
}

/* ---- The operator ---- */

enum {
    QUERY,
    KEY,
    VALUE,
    EMBED_DIM,
    HEADS,
    IN_WEIGHT,
    IN_BIAS,
    BIAS_K,
    BIAS_V,
    ADD_ZERO,
    DROPOUT,
    OUT_WEIGHT,
    OUT_BIAS,
    TRAINING,
    PADDING_MASK,
    NEED_WEIGHTS,
    ATTN_MASK,
    SEPARATE,
    Q_WEIGHT,
    K_WEIGHT,
    V_WEIGHT,
    STATIC_K,
    STATIC_V,
    AVERAGE,
    CAUSAL
};

static cfx_value multi_head_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_value *in = call->in;
    const cfx_tensor *q = in[QUERY].u.tensor;
    cfx_shape_env *env = s->env;
    cfx_dim e = cfx_value_dim(in[EMBED_DIM]);
    int64_t heads = in[HEADS].u.i;
    bool separate = in[SEPARATE].u.i;
    if (q->rank != 2 && q->rank != 3)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "query should be unbatched 2D or batched 3D tensor but received %d-D query tensor",
            q->rank);
    if (!cfx_dim_eq(env, q->shape[q->rank - 1], e))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "was expecting embedding dimension of embed_dim_to_check");
    if (heads < 1 || !cfx_dim_eq(env, cfx_dim_mod(env, e, cfx_dim_int(heads)),
                                 cfx_dim_int(0)))
        return cfx_scope_fail(s, CFX_EINVAL,
                              "embed_dim not divisible by num_heads %lld",
                              (long long)heads);
    if (separate ? is_none(in[Q_WEIGHT]) || is_none(in[K_WEIGHT]) ||
                       is_none(in[V_WEIGHT])
                 : is_none(in[IN_WEIGHT]))
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "use_separate_proj_weight is %s but a weight is None",
            separate ? "True" : "False");
    cfx_multi_head m = {
        .x = {in[QUERY], in[KEY], in[VALUE]},
        .embed_dim = in[EMBED_DIM],
        .heads = heads,
        .in_weight = separate ? cfx_none() : in[IN_WEIGHT],
        .own_weight = {in[Q_WEIGHT], in[K_WEIGHT], in[V_WEIGHT]},
        .in_bias = in[IN_BIAS],
        .bias_k = in[BIAS_K],
        .bias_v = in[BIAS_V],
        .static_k = in[STATIC_K],
        .static_v = in[STATIC_V],
        .add_zero_attn = in[ADD_ZERO].u.i,
        .dropout = in[TRAINING].u.i ? cfx_value_number(in[DROPOUT]) : 0,
        .padding_mask = in[PADDING_MASK],
        .attn_mask = in[ATTN_MASK],
        .need_weights = in[NEED_WEIGHTS].u.i,
        .average_weights = in[AVERAGE].u.i,
        .causal = in[CAUSAL].u.i,
    };
    cfx_value y = cfx_multi_head_attend(s, &m);
    y = CFX_CALL(s, "torch.nn.functional.linear", y, in[OUT_WEIGHT],
                 in[OUT_BIAS]);
    return cfx_multi_head_finish(s, &m, y);
}

CFX_COMPOSITE(multi_head)

const cfx_op cfx_op__multi_head_attention_forward = {
    .schema =
        "multi_head_attention_forward(Tensor query, Tensor key, Tensor value, SymInt embed_dim_to_check, int num_heads, Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False) -> (Tensor, Tensor)",
    .aliases = "torch.nn.functional.",
    .doc = "Attention with several heads, and its projections.",
    .flags = CFX_OP_RANDOM,
    .infer = multi_head_infer,
    .cost = multi_head_cost,
    .run = multi_head_run,
};

/* ---- As nn.MultiheadAttention calls it out of training ---- */

enum {
    N_EMBED_DIM = 3,
    N_HEADS,
    N_IN_WEIGHT,
    N_IN_BIAS,
    N_OUT_WEIGHT,
    N_OUT_BIAS,
    N_MASK,
    N_NEED_WEIGHTS,
    N_AVERAGE,
    N_MASK_TYPE
};

/* Masks of type 0 are (L, L), of type 1 (N, L), of type 2 (N, heads, L, L). */
static void take_mask(cfx_scope *s, const cfx_value *in, cfx_multi_head *m)
{
    cfx_value mask = in[N_MASK];
    int64_t type = is_none(in[N_MASK_TYPE]) ? -1 : in[N_MASK_TYPE].u.i;
    m->padding_mask = m->attn_mask = cfx_none();
    if (is_none(mask))
        return;
    if (type < 0 || type > 2) {
        cfx_scope_fail(
            s, CFX_EINVAL,
            "Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)");
        return;
    }
    if (mask.u.tensor->dtype != CFX_BOOL ||
        mask.u.tensor->rank != (type == 2 ? 4 : 2)) {
        cfx_scope_fail(s, CFX_EINVAL, "mask must be a bool tensor of rank %d",
                       type == 2 ? 4 : 2);
        return;
    }
    if (type == 1)
        m->padding_mask = mask;
    else
        m->attn_mask = type == 0 ? mask
                                 : CFX_CALL(s, "torch.flatten", mask,
                                            cfx_int(0), cfx_int(1));
}

static cfx_value native_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_value *in = call->in;
    cfx_value zero = cfx_int(0), one = cfx_int(1), y;
    cfx_multi_head m = {
        .embed_dim = in[N_EMBED_DIM],
        .heads = in[N_HEADS].u.i,
        .in_weight = in[N_IN_WEIGHT],
        .in_bias = in[N_IN_BIAS],
        .own_weight = {cfx_none(), cfx_none(), cfx_none()},
        .bias_k = cfx_none(),
        .bias_v = cfx_none(),
        .static_k = cfx_none(),
        .static_v = cfx_none(),
        .need_weights = in[N_NEED_WEIGHTS].u.i,
        .average_weights = in[N_AVERAGE].u.i,
    };
    if (m.heads < 1 || m.embed_dim.u.i % m.heads)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "`embed_dim` must divide evenly by `num_heads`");
    for (int i = 0; i < 3; i++) {
        if (in[i].u.tensor->rank != 3)
            return cfx_scope_fail(s, CFX_ESHAPE,
                                  "expected 3-D tensors, got %d-D",
                                  in[i].u.tensor->rank);
        m.x[i] = i && cfx_multi_head_same(in[i], in[i - 1])
                     ? m.x[i - 1]
                     : CFX_CALL(s, "torch.transpose", in[i], zero, one);
    }
    take_mask(s, in, &m);
    if (cfx_scope_failed(s))
        return cfx_none();
    y = cfx_multi_head_attend(s, &m);
    y = CFX_CALL(s, "torch.nn.functional.linear", y, in[N_OUT_WEIGHT],
                 in[N_OUT_BIAS]);
    y = cfx_multi_head_finish(s, &m, y);
    cfx_value out = CFX_CALL(s, "torch.transpose", cfx_nth(s, y, 0), zero,
                             one);
    cfx_value rows[] = {cfx_str(s, "memory_format"),
                        cfx_value_of_format(CFX_CONTIGUOUS_FORMAT)};
    out = cfx_call_function(s, "torch.clone", (cfx_args){&out, 1, rows, 1});
    return cfx_tuple(s, out, cfx_nth(s, y, 1));
}

CFX_COMPOSITE(native)

const cfx_op cfx_op___native_multi_head_attention = {
    .schema =
        "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    .aliases = "torch. aten.",
    .doc = "Attention with several heads over a batch that comes first.",
    .infer = native_infer,
    .cost = native_cost,
    .run = native_run,
};
