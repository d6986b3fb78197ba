/*
 * random_transformer -- transformers and chains of operators by chance.
 *
 * A transformer has embeddings or rows as its input, attention in the forms that
 * models and exporters write, and MLPs; some have a recurrent layer.
 */
#include <stdio.h>
#include <string.h>

#include "tests/cases/random_model.h"

/* ---- Attention ---- */

typedef struct heads {
    long long batch, tokens, heads, depth;
} heads;

/* [B, S, H * D] as [B, H, S, D]. */
static model_value split_heads(random_model *m, model_value x, const heads *h)
{
    model_value y = {.rank = 4,
                     .shape = {h->batch, h->tokens, h->heads, h->depth}};
    long long batch = random_chance(m, 2) ? h->batch : -1;
    if (random_chance(m, 3))
        y = model_call(m, &y, "torch.reshape",
                       "%%%s, [%lld, %lld, %lld, %lld]", x.name, batch,
                       h->tokens, h->heads, h->depth);
    else
        y = model_method(m, &y, "view", "%%%s, %lld, %lld, %lld, %lld", x.name,
                         batch, h->tokens, h->heads, h->depth);
    y.shape[1] = h->heads;
    y.shape[2] = h->tokens;
    return random_chance(m, 2)
               ? model_method(m, &y, "transpose", "%%%s, 1, 2", y.name)
               : model_call(m, &y, "torch.permute", "%%%s, [0, 2, 1, 3]",
                            y.name);
}

static model_value join_heads(random_model *m, model_value x, const heads *h)
{
    model_value y = {.rank = 3,
                     .shape = {h->batch, h->tokens, h->heads * h->depth}};
    x = model_method(m, &x, "transpose", "%%%s, 1, 2", x.name);
    if (random_chance(m, 2))
        return model_method(m, &y, "reshape", "%%%s, %lld, %lld, %lld", x.name,
                            random_chance(m, 2) ? -1 : h->batch, h->tokens,
                            h->heads * h->depth);
    x = model_method(m, &x, "contiguous", "%%%s", x.name);
    return model_method(m, &y, "view", "%%%s, -1, %lld, %lld", x.name,
                        h->tokens, h->heads * h->depth);
}

/* Scores, a mask, softmax and the sum of values, each a node. */
static model_value written_attention(random_model *m, const model_value *q,
                                     const model_value *k,
                                     const model_value *v, const heads *h)
{
    model_value s = *k;
    s.shape[2] = h->depth;
    s.shape[3] = h->tokens;
    s = model_method(m, &s, "transpose", "%%%s, -2, -1", k->name);
    s.shape[2] = h->tokens;
    s = model_call(m, &s, RANDOM_WORD(m, "torch.matmul", "operator.matmul"),
                   "%%%s, %%%s", q->name, s.name);
    if (!random_chance(m, 4))
        s = model_call(m, &s,
                       RANDOM_WORD(m, "operator.truediv", "operator.mul"),
                       "%%%s, %s", s.name, RANDOM_WORD(m, "2.0", "1.25"));
    if (random_chance(m, 2)) {
        model_value mask = model_tensor(m, 2,
                                        (int64_t[]){h->tokens, h->tokens});
        s = model_call(
            m, &s,
            RANDOM_WORD(m, "operator.add", "operator.iadd", "torch.add"),
            "%%%s, %%%s", s.name, mask.name);
    }
    s = random_chance(m, 2)
            ? model_call(m, &s, "torch.nn.functional.softmax",
                         "%%%s,), kwargs = {dim: -1}", s.name)
            : model_method(m, &s, "softmax", "%%%s, -1", s.name);
    if (random_chance(m, 3))
        s = model_module(m, &s, "Dropout(p=0.1, inplace=False)");
    return model_call(m, q, "torch.matmul", "%%%s, %%%s", s.name, v->name);
}

static model_value fused_attention(random_model *m, const model_value *q,
                                   const model_value *k, const model_value *v,
                                   const heads *h)
{
    if (random_chance(m, 3))
        return model_call(m, q,
                          "torch.nn.functional.scaled_dot_product_attention",
                          "%%%s, %%%s, %%%s), kwargs = {is_causal: True}",
                          q->name, k->name, v->name);
    if (random_chance(m, 2))
        return model_call(m, q,
                          "torch.nn.functional.scaled_dot_product_attention",
                          "%%%s, %%%s, %%%s", q->name, k->name, v->name);
    model_value mask = model_tensor(m, 2, (int64_t[]){h->tokens, h->tokens});
    return model_call(
        m, q, "torch.nn.functional.scaled_dot_product_attention",
        "%%%s, %%%s, %%%s), kwargs = {attn_mask: %%%s, scale: 0.3}", q->name,
        k->name, v->name, mask.name);
}

/* Half of each head is turned by angles of the positions. */
static model_value rotate(random_model *m, const model_value *x,
                          const heads *h)
{
    model_value half = *x, a, b, c;
    if (h->depth % 2)
        return *x;
    half.shape[3] /= 2;
    a = model_call(m, &half, "torch.narrow", "%%%s, -1, 0, %lld", x->name,
                   h->depth / 2);
    b = model_call(m, &half, "torch.narrow", "%%%s, -1, %lld, %lld", x->name,
                   h->depth / 2, h->depth / 2);
    b = model_call(m, &half, "operator.neg", "%%%s", b.name);
    a = model_call(m, x, "torch.cat", "(%%%s, %%%s),), kwargs = {dim: -1}",
                   b.name, a.name);
    c = model_tensor(m, 2, (int64_t[]){h->tokens, h->depth});
    b = model_call(m, x, "operator.mul", "%%%s, %%%s", x->name, c.name);
    a = model_call(m, x, "operator.mul", "%%%s, %%%s", a.name, c.name);
    return model_call(m, x, "operator.add", "%%%s, %%%s", b.name, a.name);
}

/* Queries, keys and values by one layer, or by three. */
static void project(random_model *m, const model_value *x, model_value *q,
                    model_value *k, model_value *v)
{
    int64_t wide = x->shape[2];
    if (!random_chance(m, 3)) {
        *q = model_linear(m, *x, wide);
        *k = model_linear(m, *x, wide);
        *v = model_linear(m, *x, wide);
        return;
    }
    model_value all = model_linear(m, *x, 3 * wide);
    all.shape[2] = wide;
    all = random_chance(m, 2)
              ? model_method(m, &all, "chunk", "%%%s, 3, -1", all.name)
              : model_call(m, &all, "torch.split", "%%%s, %lld, -1", all.name,
                           (long long)wide);
    *q = model_call(m, &all, "operator.getitem", "%%%s, 0", all.name);
    *k = model_call(m, &all, "operator.getitem", "%%%s, 1", all.name);
    *v = model_call(m, &all, "operator.getitem", "%%%s, 2", all.name);
}

static model_value attention_module(random_model *m, const model_value *x,
                                    long long n)
{
    model_value y = model_module(
        m, x, "Linear(in_features=%lld, out_features=%lld, bias=True)",
        (long long)x->shape[2], (long long)x->shape[2]);
    model_put(&m->modules,
              "  (m%d): MultiheadAttention(embed_dim=%lld, num_heads=%lld, "
              "batch_first=True\n"
              "    (out_proj): NonDynamicallyQuantizableLinear("
              "in_features=%lld, out_features=%lld, bias=True)\n  )\n",
              m->nmodules, (long long)x->shape[2], n, (long long)x->shape[2],
              (long long)x->shape[2]);
    model_put(&m->graph,
              "    %%a%d : [num_users=1] = call_module[target=m%d](args = "
              "(%%%s, %%%s, %%%s), kwargs = {need_weights: False})\n",
              m->nmodules, m->nmodules, y.name, y.name, y.name);
    return model_call(m, x, "operator.getitem", "%%a%d, 0", m->nmodules++);
}

static model_value attention(random_model *m, model_value x)
{
    model_value q, k, v;
    heads h = {x.shape[0], x.shape[1], 1 + random_below(m, 4), 1};
    while (x.shape[2] % h.heads)
        h.heads--;
    h.depth = x.shape[2] / h.heads;
    if (random_chance(m, 12))
        return attention_module(m, &x, h.heads);
    project(m, &x, &q, &k, &v);
    q = split_heads(m, q, &h);
    k = split_heads(m, k, &h);
    v = split_heads(m, v, &h);
    if (random_chance(m, 4)) {
        q = rotate(m, &q, &h);
        k = rotate(m, &k, &h);
    }
    x = random_chance(m, 2) ? written_attention(m, &q, &k, &v, &h)
                            : fused_attention(m, &q, &k, &v, &h);
    x = join_heads(m, x, &h);
    return model_linear(m, x, h.heads * h.depth);
}

static model_value mlp(random_model *m, model_value x)
{
    int64_t wide = x.shape[x.rank - 1], inner = 1 + random_below(m, 3 * wide);
    model_value y = model_linear(m, x, inner), gate;
    if (random_chance(m, 3)) {
        gate = model_activation(m, y);
        y = model_linear(m, x, inner);
        y = model_call(m, &y, "operator.mul", "%%%s, %%%s", gate.name, y.name);
    } else {
        y = model_activation(m, y);
    }
    if (random_chance(m, 3))
        y = model_module(m, &y, "Dropout(p=0.1, inplace=False)");
    return model_linear(m, y, wide);
}

static model_value residual(random_model *m, const model_value *x,
                            const model_value *y)
{
    return model_call(m, x,
                      RANDOM_WORD(m, "operator.add", "torch.add",
                                  "operator.iadd",
                                  "torch.ops.aten.add.Tensor"),
                      "%%%s, %%%s", x->name, y->name);
}

static model_value recurrent(random_model *m, model_value x)
{
    int64_t in = x.shape[2], out = 1 + random_below(m, 20);
    bool both = random_chance(m, 3);
    model_value y = model_module(
        m, &x, "%s(%lld, %lld%s%s)", RANDOM_WORD(m, "LSTM", "GRU", "RNN"),
        (long long)in, (long long)out,
        random_chance(m, 2) ? ", batch_first=True" : "",
        both ? ", bidirectional=True" : "");
    y.shape[2] = both ? 2 * out : out;
    y = model_call(m, &y, "operator.getitem", "%%%s, 0", y.name);
    return model_linear(m, y, in);
}

static model_value part(random_model *m, model_value x)
{
    bool before = random_chance(m, 2);
    model_value y = before ? model_norm(m, x) : x;
    switch (random_below(m, 8)) {
    case 0: y = recurrent(m, y); break;
    case 1:
    case 2:
    case 3: y = mlp(m, y); break;
    case 4: return model_pointwise(m, x);
    default: y = attention(m, y); break;
    }
    if (!random_chance(m, 5))
        y = residual(m, &x, &y);
    return before ? y : model_norm(m, y);
}

static model_value embedding(random_model *m, model_value ids, int64_t wide)
{
    model_value x = ids, p;
    x.rank = 3;
    x.shape[2] = wide;
    x.below = 0;
    p = x;
    x = model_module(m, &ids, "Embedding(%lld, %lld)", (long long)ids.below,
                     (long long)wide);
    x.rank = 3;
    x.shape[2] = wide;
    if (random_chance(m, 2))
        return x;
    p = model_tensor(m, 2, (int64_t[]){x.shape[1], wide});
    return model_call(m, &x, "operator.add", "%%%s, %%%s", x.name, p.name);
}

void random_model_transformer(random_model *m)
{
    static const int64_t widths[] = {4, 6, 8, 12, 16, 16, 17, 24, 32, 40, 64};
    int64_t wide = widths[random_below(m, sizeof(widths) / sizeof(*widths))];
    int64_t shape[] = {1 + random_below(m, 3), 1 + random_below(m, 20), wide};
    model_value x = random_chance(m, 2)
                        ? embedding(m, model_input(m, 2, shape, 30), wide)
                        : model_input(m, 3, shape, 0);
    model_keep(m, &x);
    for (int n = 1 + (int)random_below(m, 5); n > 0; n--) {
        x = part(m, x);
        model_keep(m, &x);
    }
    if (random_chance(m, 2))
        x = model_norm(m, x);
    if (random_chance(m, 2))
        x = model_linear(m, x, 1 + random_below(m, 40));
    model_keep(m, &x);
}

/* ---- Chains ---- */

static model_value reduce(random_model *m, model_value x)
{
    int axis = (int)random_below(m, x.rank);
    x.shape[axis] = 1;
    if (random_chance(m, 4))
        return model_call(m, &x, "torch.amax", "%%%s, [%d], True", x.name,
                          axis);
    return model_call(m, &x, RANDOM_WORD(m, "torch.sum", "torch.mean"),
                      "%%%s, [%d]), kwargs = {keepdim: True}", x.name, axis);
}

static model_value softmax(random_model *m, model_value x)
{
    return model_call(
        m, &x,
        RANDOM_WORD(m, "torch.softmax", "torch.log_softmax", "torch.cumsum"),
        "%%%s, %d", x.name, (int)random_below(m, x.rank));
}

/* What a type cannot hold is rounded alike by both. */
static model_value cast(random_model *m, model_value x)
{
    x = model_method(m, &x, "to", "%%%s, torch.float64", x.name);
    x = model_pointwise(m, x);
    return model_method(m, &x, "to", "%%%s, torch.float32", x.name);
}

static model_value choose(random_model *m, model_value x)
{
    model_value mask = model_call(m, &x, "operator.gt", "%%%s, 0", x.name);
    model_value y = model_call(m, &x, "operator.mul", "%%%s, 0.5", x.name);
    if (random_chance(m, 2))
        return model_call(m, &x, "torch.where", "%%%s, %%%s, %%%s", mask.name,
                          x.name, y.name);
    return model_method(m, &x, "masked_fill", "%%%s, %%%s, 0", x.name,
                        mask.name);
}

static model_value join(random_model *m, model_value x)
{
    const model_value *found = model_like(m, &x);
    model_value y = found ? *found : x;
    int axis = (int)random_below(m, x.rank);
    x.shape[axis] *= 2;
    return model_call(m, &x, "torch.cat", "[%%%s, %%%s], %d", x.name, y.name,
                      axis);
}

static model_value norm_of_rows(random_model *m, model_value x)
{
    if (x.rank != 2 && x.rank != 3)
        return model_norm(m, x);
    return model_module(m, &x,
                        "BatchNorm1d(%lld, eps=1e-05, momentum=0.1, "
                        "affine=True, track_running_stats=True)",
                        (long long)x.shape[1]);
}

static model_value link(random_model *m, model_value x)
{
    switch (random_below(m, 12)) {
    case 0: return model_linear(m, x, 1 + random_below(m, 40));
    case 1: return model_norm(m, x);
    case 2: return norm_of_rows(m, model_linear(m, x, x.shape[x.rank - 1]));
    case 3: return reduce(m, x);
    case 4: return softmax(m, x);
    case 5: return cast(m, x);
    case 6: return choose(m, x);
    case 7: return join(m, x);
    case 8: return model_view(m, x);
    case 9: return mlp(m, x);
    default: return model_pointwise(m, x);
    }
}

void random_model_chain(random_model *m)
{
    int64_t shape[MODEL_RANK];
    int rank = 1 + (int)random_below(m, 4), n = 1 + (int)random_below(m, 2);
    model_value x = {.rank = 0};
    for (int i = 0; i < rank; i++)
        shape[i] = 1 + random_below(m, random_chance(m, 4) ? 70 : 8);
    for (int i = 0; i < n; i++) {
        x = model_input(m, rank, shape, 0);
        model_keep(m, &x);
    }
    for (int i = 2 + (int)random_below(m, 12); i > 0; i--) {
        int64_t all = 1;
        x = link(m, x);
        for (int k = 0; k < x.rank; k++)
            all *= x.shape[k];
        model_keep(m, &x);
        if (all > 40000 || random_chance(m, 6))
            x = *model_any(m);
    }
}
