/*
 * onnx_fused_attention -- rules of ONNX Runtime's attention: Attention, which has the
 * weights of the projections, MultiHeadAttention, GroupQueryAttention, and
 * RotaryEmbedding.
 *
 * Each becomes scaled_dot_product_attention. A mask of ints, where 0 hides a key,
 * becomes numbers to add, as in ONNX Runtime: hidden keys get mask_filter_value.
 */
#include <math.h>

#include "format/onnx/onnx_attention.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* ---- Masks ---- */

/* A column of numbers along the batch, to compare with the positions of keys. */
static cfx_value batch_column(onnx_node *n, cfx_value v)
{
    static const int64_t shape[] = {-1, 1, 1, 1};

    return cfx_reshape(n->s, v, onnx_int_arg(n->s, 4, shape));
}

static cfx_value positions(cfx_scope *s, cfx_value count)
{
    return CFX_CALL(s, "torch.arange", count);
}

/* Is an extent that of the batch, `times` over? */
static bool is_batch(onnx_node *n, cfx_dim extent, cfx_value q, int64_t times)
{
    const cfx_tensor *t = onnx_meta_tensor(n, q);
    cfx_shape_env *env = onnx_recorder_of(n->s)->env;

    return t && cfx_dim_same(
                    extent, cfx_dim_mul(env, t->shape[0], cfx_dim_int(times)));
}

/* Keys that a list of lengths hides, or a list of ends and then of starts. */
static cfx_value hidden_by_ends(onnx_node *n, const onnx_heads *a,
                                cfx_value ends)
{
    cfx_scope *s = n->s;
    cfx_dim extent = onnx_meta_tensor(n, ends)->shape[0];
    cfx_value key = positions(s, onnx_size(s, a->k, 2));
    cfx_value batch = onnx_size(s, a->q, 0);

    if (is_batch(n, extent, a->q, 1))
        return cfx_ge(s, key, batch_column(n, ends));
    if (!is_batch(n, extent, a->q, 2))
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "its mask has one axis, but not one or two numbers for each batch item");
    cfx_value end = cfx_slice(s, ends, cfx_int(0), cfx_int(0), batch,
                              cfx_int(1));
    cfx_value start = cfx_slice(s, ends, cfx_int(0), batch, cfx_int(INT64_MAX),
                                cfx_int(1));
    return cfx_logical_or(s, cfx_ge(s, key, batch_column(n, end)),
                          cfx_lt(s, key, batch_column(n, start)));
}

/* The part of Megatron's square mask that these queries and keys have. */
static cfx_value cut_square(onnx_node *n, const onnx_heads *a, cfx_value mask,
                            cfx_value past)
{
    cfx_scope *s = n->s;
    cfx_value to = cfx_int_add(s, past, onnx_size(s, a->q, 2));

    mask = cfx_slice(s, mask, cfx_int(2), past, to, cfx_int(1));
    return cfx_slice(s, mask, cfx_int(3), cfx_int(0), onnx_size(s, a->k, 2),
                     cfx_int(1));
}

/* Numbers to add for input `i`, a mask of ints; absent if it hides nothing. */
static cfx_value mask_of(onnx_node *n, const onnx_heads *a, size_t i,
                         cfx_value past)
{
    cfx_scope *s = n->s;
    double low = onnx_attr_float(n, "mask_filter_value", -10000);
    cfx_value mask = onnx_optional(n, i), hidden;
    int rank = mask.kind ? onnx_rank(n, mask) : 0;

    if (!mask.kind || cfx_scope_failed(s))
        return CFX_NOTHING;
    if (rank < 1 || rank > 4)
        return onnx_fail(n, CFX_ESHAPE, "its mask has %d axes", rank);
    const cfx_tensor *t = onnx_meta_tensor(n, mask);
    if (rank == 2 && cfx_dim_is(t->shape[1], 1))
        return CFX_NOTHING; /* one number for all keys */
    if (rank == 1)
        hidden = hidden_by_ends(n, a, mask);
    else
        hidden = cfx_le(s, rank == 4 ? cut_square(n, a, mask, past) : mask,
                        cfx_int(0));
    for (; rank > 1 && rank < 4; rank++)
        hidden = cfx_unsqueeze(s, hidden, cfx_int(1));
    cfx_value zero = cfx_zeros_like(s, hidden,
                                    .dtype = TYPE(onnx_type_of(n, a->q)));
    return cfx_masked_fill(s, zero, hidden, cfx_float(low));
}

static cfx_value plus(onnx_node *n, cfx_value a, cfx_value b)
{
    return a.kind && b.kind ? cfx_add(n->s, a, b) : a.kind ? a : b;
}

/* A mask that hides the keys after each query. Queries follow `past` keys. */
static cfx_value later_keys(onnx_node *n, const onnx_heads *a, cfx_value past)
{
    cfx_scope *s = n->s;
    cfx_value shape = cfx_list(s, onnx_size(s, a->q, 2),
                               onnx_size(s, a->k, 2));
    cfx_value full = cfx_full(s, shape, cfx_float(-INFINITY),
                              .dtype = TYPE(onnx_type_of(n, a->q)));

    return cfx_triu(s, full, .diagonal = cfx_int_add(s, past, cfx_int(1)));
}

/* ---- Attention and MultiHeadAttention ---- */

/* The attribute `scale`; absent where it is the usual one. */
static cfx_value read_scale(onnx_node *n)
{
    double scale = onnx_attr_float(n, "scale", 0);

    return scale == 0 ? CFX_NOTHING : cfx_float(scale);
}

/* Attend with the mask of input `mask` and the bias of the scores of input `bias`;
 * `past` is how many keys are those of the past. */
static cfx_value attend(onnx_node *n, const onnx_heads *a, size_t mask,
                        size_t bias, cfx_value past)
{
    bool causal = onnx_attr_int(n, "unidirectional", 0);
    cfx_value add = plus(n, mask_of(n, a, mask, past), onnx_optional(n, bias));
    bool plain = !add.kind && past.kind == CFX_INT && !past.u.i;

    if (causal && !plain)
        add = plus(n, add, later_keys(n, a, past));
    cfx_value y = cfx_scaled_dot_product_attention(
        n->s, a->q, a->k, a->v, .attn_mask = add,
        .is_causal = cfx_bool(causal && plain), .scale = read_scale(n));
    return onnx_merge_heads(n, y);
}

/* Put keys or values behind those of the past. */
static cfx_value append(onnx_node *n, cfx_value past, cfx_value x)
{
    return cfx_cat(n->s, cfx_list(n->s, past, x), .dim = cfx_int(2));
}

static bool read_heads(onnx_node *n, int64_t *heads)
{
    *heads = onnx_attr_int(n, "num_heads", 0);
    return (*heads > 0 && *heads <= INT32_MAX) ||
           onnx_refuse(n, CFX_EINVAL, "num_heads is %lld", (long long)*heads);
}

/* Fail where keys and values of the past are a buffer with room for more. */
static bool has_own_past(onnx_node *n, size_t length)
{
    bool shared = onnx_attr_int(n, "past_present_share_buffer", 0);

    return (!shared && !onnx_has(n, length)) ||
           onnx_refuse(n, CFX_EUNSUPPORTED,
                       "its past is a buffer that it writes to");
}

/* Queries, keys and values as one product with the weights, input 1. */
static bool project(onnx_node *n, onnx_heads *a, int64_t heads)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), w = onnx_tensor(n, 1);
    cfx_value all = cfx_linear(s, x, cfx_t(s, w), .bias = onnx_optional(n, 2));
    cfx_value *to[] = {&a->q, &a->k, &a->v};
    const int64_t *sizes;
    size_t given = onnx_attr_ints(n, "qkv_hidden_sizes", &sizes);
    int64_t third = onnx_known_size(n, w, 1) / 3, from = 0;

    if (given && given != 3)
        return onnx_refuse(n, CFX_EINVAL, "qkv_hidden_sizes has %zu items",
                           given);
    for (size_t i = 0; i < 3 && !cfx_scope_failed(s); i++) {
        int64_t size = given ? sizes[i] : third;
        if (size < 1 || size > INT32_MAX || size % heads)
            return onnx_refuse(n, CFX_EINVAL,
                               "its %lld heads do not divide %lld columns",
                               (long long)heads, (long long)size);
        *to[i] = onnx_split_heads(n, onnx_slice(s, all, -1, from, from + size),
                                  heads);
        from += size;
    }
    return !cfx_scope_failed(s);
}

enum { MASK = 3, PAST, BIAS, PAST_LENGTH };

cfx_value onnx_import_packed_attention(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value past = onnx_optional(n, PAST), length = cfx_int(0);
    int64_t heads;
    onnx_heads a;

    if (onnx_attr_int(n, "do_rotary", 0))
        return onnx_fail(n, CFX_EUNSUPPORTED, "do_rotary is not supported");
    onnx_ignore(n, "rotary_embedding_dim");
    if (!read_heads(n, &heads) || !has_own_past(n, PAST_LENGTH) ||
        !project(n, &a, heads))
        return CFX_NOTHING;
    if (past.kind) {
        length = onnx_size(s, past, 3);
        a.k = append(n, cfx_select(s, past, cfx_int(0), cfx_int(0)), a.k);
        a.v = append(n, cfx_select(s, past, cfx_int(0), cfx_int(1)), a.v);
    }
    if (n->nout > 1)
        n->out[1] = cfx_stack(s, cfx_list(s, a.k, a.v));
    return attend(n, &a, MASK, BIAS, length);
}

enum {
    KEY = 1,
    VALUE,
    PROJECTION_BIAS,
    KEY_MASK,
    SCORE_BIAS,
    PAST_K,
    PAST_V,
    MHA_PAST_LENGTH,
    INDIRECTION
};

/* Input i, of 3 axes, plus its part of the bias, split into heads; other inputs
 * have heads. */
static cfx_value head_input(onnx_node *n, size_t i, int64_t heads,
                            int64_t *from)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, i);
    int rank = onnx_rank(n, x);

    if (rank != 3 && (rank != 4 || onnx_has(n, PROJECTION_BIAS)))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "its input %zu has %d axes, not 3", i, rank);
    if (rank == 4)
        return x;
    if (onnx_has(n, PROJECTION_BIAS)) {
        int64_t to = *from + onnx_known_size(n, x, 2);
        x = cfx_add(
            s, x,
            onnx_slice(s, onnx_tensor(n, PROJECTION_BIAS), 0, *from, to));
        *from = to;
    }
    return onnx_split_heads(n, x, heads);
}

/* Part k of [batch, length, heads, parts, size] with the heads in front. */
static cfx_value packed_part(onnx_node *n, cfx_value x, int64_t k)
{
    x = cfx_select(n->s, x, cfx_int(3), cfx_int(k));
    return cfx_transpose(n->s, x, cfx_int(1), cfx_int(2));
}

/* Queries, keys and values, which may be packed with each other. */
static bool read_qkv(onnx_node *n, onnx_heads *a)
{
    int64_t heads, from = 0, first;
    cfx_value packed;

    if (!read_heads(n, &heads))
        return false;
    if (onnx_has(n, VALUE)) {
        a->q = head_input(n, 0, heads, &from);
        a->k = head_input(n, KEY, heads, &from);
        a->v = head_input(n, VALUE, heads, &from);
        return !cfx_scope_failed(n->s);
    }
    first = onnx_has(n, KEY) ? 0 : 1;
    packed = onnx_tensor(n, onnx_has(n, KEY) ? KEY : 0);
    if (onnx_has(n, PROJECTION_BIAS) || onnx_rank(n, packed) != 5)
        return onnx_refuse(
            n, CFX_EUNSUPPORTED,
            "its packed keys and values have a bias, or not 5 axes");
    a->q = first ? packed_part(n, packed, 0) : head_input(n, 0, heads, &from);
    a->k = packed_part(n, packed, first);
    a->v = packed_part(n, packed, first + 1);
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_multi_head_attention(onnx_node *n)
{
    cfx_value length = cfx_int(0);
    onnx_heads a;

    if (!has_own_past(n, MHA_PAST_LENGTH) || !read_qkv(n, &a))
        return CFX_NOTHING;
    if (onnx_has(n, INDIRECTION))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "its input cache_indirection is not supported");
    if (onnx_has(n, PAST_K)) {
        length = onnx_size(n->s, onnx_tensor(n, PAST_K), 2);
        a.k = append(n, onnx_tensor(n, PAST_K), a.k);
        a.v = append(n, onnx_tensor(n, PAST_V), a.v);
    }
    n->out[1] = a.k;
    n->out[2] = a.v;
    return attend(n, &a, KEY_MASK, SCORE_BIAS, length);
}

/* ---- RotaryEmbedding ---- */

/* Rows of the caches of cosines and sines, which are inputs `caches` and the next,
 * at `at`: [batch or 1, length]. */
static onnx_rotary rows_at(onnx_node *n, size_t caches, cfx_value at)
{
    onnx_rotary r = {.cos = onnx_tensor(n, caches),
                     .sin = onnx_tensor(n, caches + 1)};
    cfx_value index = cfx_list(n->s, at);

    r.turned = 2 * onnx_known_size(n, r.cos, 1);
    r.cos = cfx_index(n->s, r.cos, index);
    r.sin = cfx_index(n->s, r.sin, index);
    return r;
}

/* The positions of queries: the input, or, of one number, that and those after it. */
static cfx_value rotary_positions(onnx_node *n, size_t i, cfx_value length)
{
    cfx_scope *s = n->s;
    cfx_value at = onnx_tensor(n, i);

    return onnx_rank(n, at) != 1
               ? at
               : cfx_unsqueeze(s, cfx_add(s, at, positions(s, length)),
                               cfx_int(0));
}

cfx_value onnx_import_rotary_by_positions(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0);
    int rank = onnx_rank(n, x);
    int64_t turned = onnx_attr_int(n, "rotary_embedding_dim", 0);
    int64_t heads = onnx_attr_int(n, "num_heads", 0);

    if (onnx_attr_int(n, "is_packed_batching", 0))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "is_packed_batching is not supported");
    onnx_ignore(n, "scale");
    if (rank != 3 && rank != 4)
        return onnx_fail(n, CFX_ESHAPE, "its input has %d axes, not 3 or 4",
                         rank);
    cfx_value length = onnx_size(s, x, rank - 2);
    onnx_rotary r = rows_at(n, 2, rotary_positions(n, 1, length));
    cfx_value shape = onnx_extents(s, x, 0, 3);
    r.interleaved = onnx_attr_int(n, "interleaved", 0);
    if (rank == 3) {
        int64_t size = turned && heads > 0 ? onnx_known_size(n, x, 2) / heads
                                           : r.turned;
        cfx_value split[] = {onnx_size(s, x, 0), length, cfx_int(-1),
                             cfx_int(size)};
        x = cfx_reshape(s, x, onnx_arg(s, 4, split));
    } else {
        x = cfx_transpose(s, x, cfx_int(1), cfx_int(2));
    }
    x = onnx_rotate(n, x, &r);
    return rank == 3 ? cfx_reshape(s, x, shape)
                     : cfx_transpose(s, x, cfx_int(1), cfx_int(2));
}

/* ---- GroupQueryAttention ---- */

enum {
    G_PAST_K = 3,
    G_PAST_V,
    LAST_KEYS, /* one less than the length of each sequence, with its past */
    TOTAL,     /* the longest of these */
    COS,
    SIN,
    POSITIONS,
    G_BIAS,
    SINK
};

/* Fail for what scaled_dot_product_attention does not have. */
static bool check_group(onnx_node *n)
{
    static const char *const of_refused_inputs[] = {
        "kv_cache_bit_width", "qk_norm_epsilon", "q_norm_epsilon",
        "k_norm_epsilon"};
    const struct {
        const char *what;
        bool asked;
    } refused[] = {
        {"k_quant_type", !onnx_attr_is(n, "k_quant_type", "NONE", "NONE")},
        {"v_quant_type", !onnx_attr_is(n, "v_quant_type", "NONE", "NONE")},
        {"smooth_softmax", onnx_attr_int(n, "smooth_softmax", 0) > 0},
        {"sliding_window_cache", onnx_attr_int(n, "sliding_window_cache", 0)},
        {"qk_output", onnx_attr_int(n, "qk_output", 0)},
        {"causal=0", !onnx_attr_int(n, "causal", 1)},
    };

    for (size_t i = 0; i < 4; i++)
        onnx_ignore(n, of_refused_inputs[i]);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (refused[i].asked)
            return onnx_refuse(n, CFX_EUNSUPPORTED, "%s is not supported",
                               refused[i].what);
    for (size_t i = SINK; i < n->nin; i++)
        if (onnx_has(n, i))
            return onnx_refuse(n, CFX_EUNSUPPORTED,
                               "its input %zu, '%s', is not supported", i,
                               n->proto->input[i]);
    return true;
}

/* Queries, keys and values; keys have fewer heads. */
static bool read_groups(onnx_node *n, onnx_heads *a, int64_t heads, int64_t kv)
{
    cfx_scope *s = n->s;
    cfx_value q = onnx_tensor(n, 0), k, v;

    if (onnx_rank(n, q) != 3 || kv < 1 || heads % kv)
        return onnx_refuse(
            n, CFX_EINVAL,
            "its query has not 3 axes, or kv_num_heads %lld does not divide num_heads %lld",
            (long long)kv, (long long)heads);
    if (onnx_has(n, KEY)) {
        k = onnx_tensor(n, KEY);
        v = onnx_tensor(n, VALUE);
    } else {
        int64_t size = onnx_known_size(n, q, 2) / (heads + 2 * kv);
        int64_t from = heads * size, to = from + kv * size;
        k = onnx_slice(s, q, -1, from, to);
        v = onnx_slice(s, q, -1, to, to + kv * size);
        q = onnx_slice(s, q, -1, 0, from);
    }
    *a = (onnx_heads){.q = onnx_split_heads(n, q, heads),
                      .k = onnx_split_heads(n, k, kv),
                      .v = onnx_split_heads(n, v, kv)};
    return !cfx_scope_failed(s);
}

/* [batch, heads, length, size] rotated. */
static cfx_value rotate_heads(onnx_node *n, cfx_value x, const onnx_rotary *r)
{
    x = cfx_transpose(n->s, x, cfx_int(1), cfx_int(2));
    x = onnx_rotate(n, x, r);
    return cfx_transpose(n->s, x, cfx_int(1), cfx_int(2));
}

/* New keys or values at their positions among those of the past, which get room for
 * `length`. */
static cfx_value put_at(onnx_node *n, cfx_value past, cfx_value x,
                        cfx_value at, cfx_value length)
{
    cfx_scope *s = n->s;
    cfx_value room = cfx_int_add(
        s, length, cfx_int_mul(s, onnx_size(s, past, 2), cfx_int(-1)));
    cfx_value pads[] = {cfx_int(0), cfx_int(0), cfx_int(0), room};

    past = cfx_pad(s, past, onnx_arg(s, 4, pads));
    at = cfx_unsqueeze(s, cfx_unsqueeze(s, at, cfx_int(1)), cfx_int(-1));
    at = cfx_expand(s, at, onnx_extents(s, x, 0, 4));
    return cfx_scatter(s, past, cfx_int(2), at, x);
}

/* Which keys each query sees: those up to its own place, `at`, and of these the last
 * ones of the window. */
static cfx_value seen_keys(onnx_node *n, const onnx_heads *a, cfx_value at)
{
    cfx_scope *s = n->s;
    int64_t window = onnx_attr_int(n, "local_window_size", -1);
    cfx_value key = positions(s, onnx_size(s, a->k, 2));
    cfx_value own = cfx_unsqueeze(s, cfx_unsqueeze(s, at, cfx_int(1)),
                                  cfx_int(-1));
    cfx_value seen = cfx_le(s, key, own);

    if (window > 0)
        seen = cfx_logical_and(
            s, seen, cfx_gt(s, key, cfx_sub(s, own, cfx_int(window))));
    return seen;
}

/* The place of each query: [batch, length]. */
static cfx_value query_positions(onnx_node *n, const onnx_heads *a)
{
    cfx_scope *s = n->s;
    cfx_value length = onnx_size(s, a->q, 2), own = positions(s, length);
    cfx_value last = onnx_in_type(n, onnx_tensor(n, LAST_KEYS), CFX_I64);

    last = cfx_reshape(s, last, onnx_int_arg(s, 2, (int64_t[]){-1, 1}));
    /* A prompt begins at 0, and may end before the longest one. */
    cfx_value first = cfx_clamp(
        s, cfx_sub(s, cfx_add(s, last, cfx_int(1)), length),
        .min = cfx_int(0));
    return cfx_add(s, first, own);
}

static cfx_value attend_groups(onnx_node *n, onnx_heads *a, cfx_value seen)
{
    cfx_scope *s = n->s;
    double softcap = onnx_attr_float(n, "softcap", 0);
    cfx_value bias = onnx_optional(n, G_BIAS), scale = read_scale(n);
    bool add = bias.kind || softcap != 0;
    cfx_value mask = seen;

    if (add) {
        cfx_value zero = cfx_zeros_like(s, seen,
                                        .dtype = TYPE(onnx_type_of(n, a->q)));
        mask = plus(n, bias,
                    cfx_masked_fill(s, zero, cfx_logical_not(s, seen),
                                    cfx_float(-INFINITY)));
    }
    int64_t size = onnx_known_size(n, a->q, 3);
    a->scale = scale.kind ? scale.u.f : 1 / sqrt((double)(size ? size : 1));
    return softcap != 0 ? onnx_attend_by_steps(n, a, mask, softcap)
                        : cfx_scaled_dot_product_attention(
                              s, a->q, a->k, a->v, .attn_mask = mask,
                              .scale = scale, .enable_gqa = cfx_bool(true));
}

/* The length of the present keys: of the buffer that holds the past, or of all. */
static cfx_value present_length(onnx_node *n, cfx_value past)
{
    onnx_list total;

    if (!onnx_ints(n, TOTAL, &total) || total.n != 1)
        return onnx_fail(n, CFX_ESHAPE,
                         "its total_sequence_length is not one number");
    return CFX_CALL(n->s, "torch.sym_max", onnx_size(n->s, past, 2),
                    total.item[0]);
}

cfx_value onnx_import_group_query_attention(onnx_node *n)
{
    int64_t heads, kv = onnx_attr_int(n, "kv_num_heads", 0);
    bool rotary = onnx_attr_int(n, "do_rotary", 0);
    bool interleaved = onnx_attr_int(n, "rotary_interleaved", 0);
    onnx_heads a;

    if (!read_heads(n, &heads) || !check_group(n) ||
        !read_groups(n, &a, heads, kv))
        return CFX_NOTHING;
    cfx_value at = query_positions(n, &a);
    if (rotary) {
        onnx_rotary r = rows_at(
            n, COS, onnx_has(n, POSITIONS) ? onnx_tensor(n, POSITIONS) : at);
        r.interleaved = interleaved;
        a.q = rotate_heads(n, a.q, &r);
        a.k = rotate_heads(n, a.k, &r);
    }
    if (onnx_has(n, G_PAST_K)) {
        cfx_value past = onnx_tensor(n, G_PAST_K);
        cfx_value length = present_length(n, past);
        a.k = put_at(n, past, a.k, at, length);
        a.v = put_at(n, onnx_tensor(n, G_PAST_V), a.v, at, length);
    }
    n->out[1] = a.k;
    n->out[2] = a.v;
    return onnx_merge_heads(n, attend_groups(n, &a, seen_keys(n, &a, at)));
}
