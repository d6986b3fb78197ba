/*
 * onnx_attention -- rules of Attention, RotaryEmbedding and LinearAttention.
 */
#include <math.h>

#include "format/onnx/onnx_attention.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

cfx_value onnx_split_heads(onnx_node *n, cfx_value x, int64_t heads)
{
    return cfx_transpose(n->s,
                         cfx_reshape(n->s, x,
                                     cfx_list(n->s, onnx_size(n->s, x, 0),
                                              onnx_size(n->s, x, 1),
                                              cfx_int(heads), cfx_int(-1))),
                         cfx_int(1), cfx_int(2));
}

cfx_value onnx_merge_heads(onnx_node *n, cfx_value x)
{
    cfx_value shape = cfx_list(n->s, onnx_size(n->s, x, 0),
                               onnx_size(n->s, x, 2), cfx_int(-1));

    return cfx_reshape(n->s, cfx_transpose(n->s, x, cfx_int(1), cfx_int(2)),
                       shape);
}

static bool read_attention(onnx_node *n, onnx_heads *a)
{
    int64_t heads[] = {onnx_attr_int(n, "q_num_heads", 0),
                       onnx_attr_int(n, "kv_num_heads", 0)};
    cfx_value *x[] = {&a->q, &a->k, &a->v};

    for (size_t i = 0; i < 3; i++)
        *x[i] = onnx_tensor(n, i);
    a->flat = onnx_rank(n, a->q) == 3;
    for (size_t i = 0; i < 3 && a->flat && !cfx_scope_failed(n->s); i++) {
        if (heads[i != 0] < 1)
            return onnx_refuse(n, CFX_EINVAL, "it has no number of heads");
        *x[i] = onnx_split_heads(n, *x[i], heads[i != 0]);
    }
    for (size_t i = 1; i < 3; i++)
        if (onnx_has(n, PAST_K + i - 1)) {
            *x[i] = cfx_cat(
                n->s, cfx_list(n->s, onnx_tensor(n, PAST_K + i - 1), *x[i]),
                .dim = cfx_int(2));
        }
    if (cfx_scope_failed(n->s) || onnx_rank(n, a->q) != 4)
        return onnx_refuse(n, CFX_ESHAPE, "it takes 3 or 4 axes");
    int64_t size = onnx_known_size(n, a->q, 3);
    a->scale = onnx_attr_float(n, "scale", size ? 1 / sqrt((double)size) : 1);
    return !cfx_scope_failed(n->s);
}

static cfx_value plus(onnx_node *n, cfx_value a, cfx_value b)
{
    return a.kind ? cfx_add(n->s, a, b) : b;
}

/* Hide keys after the lengths of a batch's sequences. The last row of the
 * queries stands at the last key that is not hidden. */
static cfx_value hide_by_lengths(onnx_node *n, const onnx_heads *a,
                                 cfx_value mask, int64_t left, int64_t right)
{
    static const int64_t shape[] = {-1, 1, 1, 1};
    cfx_scope *s = n->s;
    cfx_value type = cfx_value_of_dtype(onnx_type_of(n, a->q));
    cfx_value rows = onnx_size(s, a->q, 2), columns = onnx_size(s, a->k, 2);
    cfx_value lens = cfx_reshape(s, onnx_tensor(n, LENGTHS),
                                 onnx_int_arg(s, 4, shape));
    cfx_value key = CFX_CALL(s, "torch.arange", columns);
    cfx_value row = cfx_unsqueeze(s, CFX_CALL(s, "torch.arange", rows),
                                  cfx_int(1));
    cfx_value at = cfx_add(s, row, cfx_sub(s, lens, rows));
    cfx_value hide = cfx_ge(s, key, lens);

    if (right >= 0)
        hide = cfx_logical_or(s, hide,
                              cfx_gt(s, key, cfx_add(s, at, cfx_int(right))));
    if (left >= 0)
        hide = cfx_logical_or(s, hide,
                              cfx_lt(s, key, cfx_sub(s, at, cfx_int(left))));
    cfx_value zero = cfx_zeros_like(s, hide, .dtype = type);
    return plus(n, mask, cfx_masked_fill(s, zero, hide, cfx_float(-INFINITY)));
}

/* The mask as numbers to add; absent if there is none. A mask shorter than the
 * keys is extended by what hides them. */
static cfx_value mask_of(onnx_node *n, const onnx_heads *a, bool causal)
{
    cfx_scope *s = n->s;
    cfx_value type = cfx_value_of_dtype(onnx_type_of(n, a->q));
    cfx_value mask = onnx_optional(n, MASK), low = cfx_float(-INFINITY);
    cfx_value rows = onnx_size(s, a->q, 2), columns = onnx_size(s, a->k, 2);
    if (mask.kind && onnx_type_of(n, mask) == CFX_BOOL) {
        cfx_value zero = cfx_to(s, cfx_zeros_like(s, mask), type);
        mask = cfx_masked_fill(s, zero, cfx_logical_not(s, mask), low);
    }
    if (mask.kind) {
        int rank = onnx_rank(n, mask);
        int64_t has = rank < 1 ? 0 : onnx_known_size(n, mask, rank - 1);
        if (columns.kind == CFX_INT && has < columns.u.i && has > 1)
            mask = cfx_pad(
                s, mask, onnx_int_arg(s, 2, (int64_t[]){0, columns.u.i - has}),
                .value = low);
    }
    /* Rows continue after the past. */
    cfx_value past = onnx_has(n, PAST_K)
                         ? onnx_size(s, onnx_tensor(n, PAST_K), 2)
                         : cfx_int(0);
    cfx_value full = cfx_full(s, cfx_list(s, rows, columns), low,
                              .dtype = type);
    int64_t left = onnx_attr_int(n, "left_window_size", -1);
    int64_t right = causal ? 0 : onnx_attr_int(n, "right_window_size", -1);
    if (onnx_has(n, LENGTHS))
        return hide_by_lengths(n, a, mask, left, right);
    if (right >= 0)
        mask = plus(
            n, mask,
            cfx_triu(s, full,
                     .diagonal = cfx_int_add(s, past, cfx_int(right + 1))));
    if (left >= 0)
        mask = plus(
            n, mask,
            cfx_tril(s, full,
                     .diagonal = cfx_int_add(s, past, cfx_int(-left - 1))));
    return mask;
}

/* Heads of keys and values serve several of the queries. */
static cfx_value repeat_heads(onnx_node *n, cfx_value x, cfx_value q)
{
    int64_t want = onnx_known_size(n, q, 1), has = onnx_known_size(n, x, 1);

    if (cfx_scope_failed(n->s) || want == has || has < 1)
        return x;
    return cfx_repeat_interleave(n->s, x, cfx_int(want / has),
                                 .dim = cfx_int(1));
}

cfx_value onnx_attend_by_steps(onnx_node *n, const onnx_heads *a,
                               cfx_value mask, double softcap)
{
    cfx_scope *s = n->s;
    cfx_value half = cfx_float(sqrt(a->scale));
    cfx_value k = repeat_heads(n, a->k, a->q), v = repeat_heads(n, a->v, a->q);
    cfx_value y = cfx_matmul(
        s, cfx_mul(s, a->q, half),
        cfx_transpose(s, cfx_mul(s, k, half), cfx_int(2), cfx_int(3)));
    int64_t mode = onnx_attr_int(n, "qk_matmul_output_mode", 0);
    cfx_value step[4] = {y, y, y, y};

    if (softcap != 0)
        y = cfx_mul(s, cfx_tanh(s, cfx_div(s, y, cfx_float(softcap))),
                    cfx_float(softcap));
    step[1] = y;
    y = mask.kind ? cfx_add(s, y, mask) : y;
    step[2] = y;
    /* A row that is hidden as a whole attends to nothing. */
    cfx_value top = cfx_amax(s, y, .dim = onnx_int_arg(s, 1, (int64_t[]){-1}),
                             .keepdim = cfx_bool(true));
    y = cfx_softmax(s, y, cfx_int(-1));
    if (mask.kind)
        y = cfx_masked_fill(s, y, cfx_isneginf(s, top), cfx_int(0));
    step[3] = y;
    if (n->nout > 3)
        n->out[3] = step[mode >= 0 && mode < 4 ? mode : 0];
    return cfx_matmul(s, y, v);
}

cfx_value onnx_import_attention(onnx_node *n)
{
    bool causal = onnx_attr_int(n, "is_causal", 0);
    double softcap = onnx_attr_float(n, "softcap", 0);
    onnx_heads a;

    if (onnx_has(n, LENGTHS) && onnx_has(n, PAST_K))
        return onnx_fail(n, CFX_EINVAL,
                         "it has lengths of sequences and a past");
    if (!read_attention(n, &a))
        return CFX_NOTHING;
    cfx_value mask = mask_of(n, &a, causal), y;
    onnx_ignore(n, "softmax_precision"); /* it is float32 at least */
    onnx_ignore(n, "qk_matmul_output_mode");
    onnx_ignore(n, "right_window_size");
    if (softcap != 0 || n->nout > 3 || onnx_has(n, MASK) ||
        onnx_has(n, LENGTHS))
        y = onnx_attend_by_steps(n, &a, mask, softcap);
    else
        y = cfx_scaled_dot_product_attention(
            n->s, a.q, repeat_heads(n, a.k, a.q), repeat_heads(n, a.v, a.q),
            .attn_mask = mask, .scale = cfx_float(a.scale));
    if (a.flat)
        y = onnx_merge_heads(n, y);
    n->out[1] = a.k;
    n->out[2] = a.v;
    return y;
}

/* ---- RotaryEmbedding ---- */

static cfx_value part(onnx_node *n, cfx_value x, int64_t from, int64_t to,
                      int64_t step)
{
    return cfx_slice(n->s, x, cfx_int(-1), cfx_int(from), cfx_int(to),
                     cfx_int(step));
}

cfx_value onnx_rotate(onnx_node *n, cfx_value x, const onnx_rotary *r)
{
    cfx_scope *s = n->s;
    int64_t size = onnx_known_size(n, x, 3), turned = r->turned;
    bool near = r->interleaved;
    cfx_value cos = cfx_unsqueeze(s, part(n, r->cos, 0, turned / 2, 1),
                                  cfx_int(2));
    cfx_value sin = cfx_unsqueeze(s, part(n, r->sin, 0, turned / 2, 1),
                                  cfx_int(2));
    cfx_value a = near ? part(n, x, 0, turned, 2)
                       : part(n, x, 0, turned / 2, 1);
    cfx_value b = near ? part(n, x, 1, turned, 2)
                       : part(n, x, turned / 2, turned, 1);
    cfx_value v[] = {cfx_sub(s, cfx_mul(s, cos, a), cfx_mul(s, sin, b)),
                     cfx_add(s, cfx_mul(s, sin, a), cfx_mul(s, cos, b)),
                     CFX_NOTHING};
    size_t count = 2;

    if (near) {
        v[0] = cfx_stack(s, onnx_arg(s, 2, v), .dim = cfx_int(-1));
        v[0] = cfx_flatten(s, v[0], .start_dim = cfx_int(-2));
        count = 1;
    }
    if (turned < size)
        v[count++] = part(n, x, turned, size, 1);
    return count == 1 ? v[0]
                      : cfx_cat(s, onnx_arg(s, count, v), .dim = cfx_int(-1));
}

cfx_value onnx_import_rotary_embedding(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0);
    onnx_rotary r = {.cos = onnx_tensor(n, 1),
                     .sin = onnx_tensor(n, 2),
                     .turned = onnx_attr_int(n, "rotary_embedding_dim", 0),
                     .interleaved = onnx_attr_int(n, "interleaved", 0)};
    bool flat = onnx_rank(n, x) == 3;
    int64_t heads = onnx_attr_int(n, "num_heads", 0);

    if (cfx_scope_failed(s))
        return CFX_NOTHING;
    if (flat && heads < 1)
        return onnx_fail(n, CFX_EINVAL, "it has no number of heads");
    cfx_value shape = onnx_extents(s, x, 0, 3);
    x = cfx_transpose(s, flat ? onnx_split_heads(n, x, heads) : x, cfx_int(1),
                      cfx_int(2));
    if (!r.turned)
        r.turned = onnx_known_size(n, x, 3);
    if (onnx_has(n, 3)) {
        cfx_value at = cfx_list(s, onnx_tensor(n, 3));
        r.cos = cfx_index(s, r.cos, at);
        r.sin = cfx_index(s, r.sin, at);
    }
    cfx_value y = onnx_rotate(n, x, &r);
    return flat ? cfx_reshape(s, y, shape)
                : cfx_transpose(s, y, cfx_int(1), cfx_int(2));
}

/* ---- LinearAttention ---- */

enum { STATE = 3, DECAY, BETA };

/* Tensors of float32, [batch, heads, length, size]. */
typedef struct linear {
    cfx_value q, k, v;
    cfx_value decay, beta; /* factors; absent if there are none */
    cfx_value state;       /* [batch, heads, size of k, size of v] */
    int64_t steps;
} linear;

static cfx_value to_float(onnx_node *n, cfx_value x)
{
    return onnx_type_of(n, x) == CFX_F32
               ? x
               : cfx_to(n->s, x, cfx_value_of_dtype(CFX_F32));
}

static cfx_value linear_input(onnx_node *n, size_t i, int64_t heads)
{
    cfx_value x = to_float(n, onnx_tensor(n, i));

    if (onnx_rank(n, x) != 3)
        return onnx_fail(n, CFX_ESHAPE, "its input %zu has not 3 axes", i);
    return onnx_split_heads(n, x, heads);
}

static bool read_linear(onnx_node *n, linear *a, int64_t heads, int64_t kv)
{
    const char *rule = onnx_attr_text(n, "update_rule", "gated_delta");
    bool both = !strcmp(rule, "gated_delta");
    bool gated = both || !strcmp(rule, "gated");
    bool delta = both || !strcmp(rule, "delta");
    cfx_scope *s = n->s;

    onnx_ignore(n, "chunk_size"); /* how it is computed */
    if ((!gated && !delta && strcmp(rule, "linear")) || heads < 1 || kv < 1 ||
        heads % kv || gated != onnx_has(n, DECAY) ||
        delta != onnx_has(n, BETA))
        return onnx_refuse(
            n, CFX_EINVAL,
            "its heads, decay or beta are not those of the rule '%.40s'",
            rule);
    *a = (linear){.q = linear_input(n, Q, heads),
                  .k = linear_input(n, K, kv),
                  .v = linear_input(n, V, kv)};
    if (gated)
        a->decay = cfx_exp(s, linear_input(n, DECAY, kv));
    if (delta && onnx_known_size(n, onnx_tensor(n, BETA), 2) == 1)
        a->beta = linear_input(n, BETA, 1);
    else if (delta)
        a->beta = linear_input(n, BETA, kv);
    if (cfx_scope_failed(s))
        return false;
    cfx_value shape[] = {onnx_size(s, a->k, 0), cfx_int(kv),
                         onnx_size(s, a->k, 3), onnx_size(s, a->v, 3)};
    a->state = onnx_has(n, STATE) ? to_float(n, onnx_tensor(n, STATE))
                                  : cfx_zeros(s, onnx_arg(s, 4, shape));
    a->steps = onnx_known_size(n, a->q, 2);
    if (a->steps < 1 || a->steps > ONNX_MAX_UNROLLED)
        onnx_fail(n, CFX_EUNSUPPORTED, "it has %lld steps, not 1 to %d",
                  (long long)a->steps, ONNX_MAX_UNROLLED);
    return !cfx_scope_failed(s);
}

/* One step as a column. */
static cfx_value column_of(onnx_node *n, cfx_value x, int64_t step)
{
    return cfx_unsqueeze(n->s, cfx_select(n->s, x, cfx_int(2), cfx_int(step)),
                         cfx_int(-1));
}

/* The state forgets by the decay, and gets the product of key and value; beta
 * takes from the value what the key already finds. Returns what the query
 * finds. */
static cfx_value linear_step(onnx_node *n, linear *a, int64_t step)
{
    cfx_scope *s = n->s;
    cfx_value v = onnx_slice(s, a->v, 2, step, step + 1);

    if (a->decay.kind)
        a->state = cfx_mul(s, a->state, column_of(n, a->decay, step));
    if (a->beta.kind)
        v = cfx_mul(
            s, onnx_slice(s, a->beta, 2, step, step + 1),
            cfx_sub(s, v,
                    cfx_matmul(s, onnx_slice(s, a->k, 2, step, step + 1),
                               a->state)));
    a->state = cfx_add(s, a->state, cfx_mul(s, column_of(n, a->k, step), v));
    return cfx_matmul(s, onnx_slice(s, a->q, 2, step, step + 1),
                      repeat_heads(n, a->state, a->q));
}

cfx_value onnx_import_linear_attention(onnx_node *n)
{
    cfx_scope *s = n->s;
    int64_t heads = onnx_attr_int(n, "q_num_heads", 0);
    int64_t kv = onnx_attr_int(n, "kv_num_heads", 0);
    double scale = onnx_attr_float(n, "scale", 0);
    cfx_dtype type = onnx_type_of(n, onnx_tensor(n, Q));
    cfx_value *rows = onnx_alloc(s, ONNX_MAX_UNROLLED, sizeof(*rows));
    linear a;

    if (!rows || !read_linear(n, &a, heads, kv))
        return CFX_NOTHING;
    if (scale == 0)
        scale = 1 / sqrt((double)onnx_known_size(n, a.q, 3));
    a.q = cfx_mul(s, a.q, cfx_float(scale));
    for (int64_t i = 0; i < a.steps && !cfx_scope_failed(s); i++)
        rows[i] = linear_step(n, &a, i);
    cfx_value y = cfx_cat(s, onnx_arg(s, (size_t)a.steps, rows),
                          .dim = cfx_int(2));
    cfx_value shape = cfx_list(s, onnx_size(s, a.q, 0), cfx_int(a.steps),
                               cfx_int(-1));
    y = cfx_reshape(s, cfx_transpose(s, y, cfx_int(1), cfx_int(2)), shape);
    y = cfx_to(s, y, cfx_value_of_dtype(type));
    if (onnx_has(n, STATE))
        type = onnx_type_of(n, onnx_tensor(n, STATE));
    if (n->nout > 1)
        n->out[1] = cfx_to(s, a.state, cfx_value_of_dtype(type));
    return y;
}
