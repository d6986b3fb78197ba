/*
 * group_heads -- attention whose heads share keys and values, without copies of them.
 *
 * Models with grouped queries repeat each head of the keys and values for several
 * heads of the query, as repeat_kv of transformers does:
 *
 *     key.unsqueeze(2).expand(B, H, G, S, E).reshape(B, H * G, S, E)
 *
 * or by repeat_interleave(key, G, 1). scaled_dot_product_attention(enable_gqa=True)
 * reads each head where it is. In a decoder the copies are several times the cache, for
 * each token.
 */
#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"
#include "graph/graph_impl.h"

/* The placeholders of the pattern. */
enum { QUERY, KEY, VALUE, MASK };
#define PARAMS "query key value mask"

/* The names of the nodes that repeat the key and the value. */
enum { UNSQUEEZED, EXPANDED, REPEATED, INTERLEAVED, NNAMES };
static const char *const names[2][NNAMES] = {
    {"key_unsqueezed", "key_expanded", "key_repeated", "key_interleaved"},
    {"value_unsqueezed", "value_expanded", "value_repeated",
     "value_interleaved"},
};

/* ---- The pattern ---- */

static cfx_value repeated(cfx_scope *s, cfx_value x, const char *const *name)
{
    cfx_value y = cfx_named(s, name[UNSQUEEZED],
                            cfx_unsqueeze(s, x, cfx_pattern_any(s)));
    y = cfx_named(
        s, name[EXPANDED],
        cfx_expand(s, y, cfx_pattern_any(s), .implicit = cfx_pattern_any(s)));
    y = cfx_pattern_one_of(
        s, cfx_clone(s, y, .memory_format = cfx_pattern_any(s)), y);
    y = cfx_pattern_one_of(s, cfx_reshape(s, y, cfx_pattern_any(s)),
                           cfx_view(s, y, cfx_pattern_any(s)));
    return cfx_pattern_one_of(
        s, cfx_named(s, name[REPEATED], y),
        cfx_named(s, name[INTERLEAVED],
                  cfx_repeat_interleave(s, x, cfx_pattern_any(s),
                                        .dim = cfx_pattern_any(s),
                                        .output_size = cfx_pattern_any(s))));
}

static cfx_value attention_of(cfx_scope *s, const cfx_value *in,
                              cfx_value mask)
{
    return cfx_scaled_dot_product_attention(
        s, in[QUERY], repeated(s, in[KEY], names[0]),
        repeated(s, in[VALUE], names[1]), .attn_mask = mask,
        .dropout_p = cfx_pattern_any(s), .is_causal = cfx_pattern_any(s),
        .scale = cfx_pattern_any(s));
}

static cfx_value attention(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_pattern_one_of(s, attention_of(s, in, in[MASK]),
                              attention_of(s, in, CFX_NOTHING));
}

/* ---- The condition ---- */

static const cfx_tensor *known(const cfx_match *m, const char *name)
{
    const cfx_node *n = cfx_match__node(m, name);
    return n ? cfx_node__known_tensor(n) : NULL;
}

/* Is t of the shape of x, but for n axes in place of x's heads? */
static bool follows(const cfx_tensor *t, const cfx_tensor *x, int n)
{
    return t && t->rank == n + 3 && cfx_dim_same(t->shape[0], x->shape[0]) &&
           cfx_dim_same(t->shape[n + 1], x->shape[2]) &&
           cfx_dim_same(t->shape[n + 2], x->shape[3]);
}

/* Is each head of placeholder i repeated in place? If an axis was made, it is the one
 * after the heads. */
static bool repeats_heads(const cfx_match *m, int i)
{
    const char *const *name = names[i - KEY];
    const cfx_tensor *x = cfx_match__known(m, i);
    const cfx_tensor *q = cfx_match__known(m, QUERY);
    const cfx_tensor *unsqueezed = known(m, name[UNSQUEEZED]);
    const cfx_tensor *expanded = known(m, name[EXPANDED]);
    const cfx_node *interleaved = cfx_match__node(m, name[INTERLEAVED]);
    const cfx_tensor *y = known(m, name[interleaved ? INTERLEAVED : REPEATED]);
    if (!x || x->rank != 4 || !cfx_dim_is(x->stride[3], 1) ||
        !cfx_dim_is_int(x->shape[1]) || !follows(y, x, 1) ||
        !cfx_dim_same(y->shape[1], q->shape[1]))
        return false;
    if (interleaved)
        return interleaved->nargs > 1 && interleaved->args[1].kind == CFX_INT;
    return follows(unsqueezed, x, 2) && follows(expanded, x, 2) &&
           cfx_dim_same(unsqueezed->shape[1], x->shape[1]) &&
           cfx_dim_is(unsqueezed->shape[2], 1) &&
           cfx_dim_same(expanded->shape[1], x->shape[1]);
}

/* The result keeps its strides, which are those of the query in both forms. */
static bool shares_heads(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *q = cfx_match__known(m, QUERY);
    (void)p;
    return q && q->rank == 4 && cfx_dim_is(q->stride[3], 1) &&
           cfx_dim_is_int(q->shape[1]) && repeats_heads(m, KEY) &&
           repeats_heads(m, VALUE);
}

/* ---- What is built ---- */

static cfx_value grouped(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                         void *p)
{
    cfx_call_copy c;
    (void)p;
    cfx_call_copy__init(s, &c, m->anchor);
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_call_copy__set(s, &c, 0, "query", in[QUERY]);
    cfx_call_copy__set(s, &c, 1, "key", in[KEY]);
    cfx_call_copy__set(s, &c, 2, "value", in[VALUE]);
    if (m->placeholders[MASK].kind == CFX_NODE)
        cfx_call_copy__set(s, &c, 3, "attn_mask", in[MASK]);
    cfx_call_copy__set(s, &c, -1, "enable_gqa", cfx_bool(true));
    cfx_value y = cfx_tracer_create(
        (cfx_tracer *)s, (cfx_opcode)m->anchor->op, m->anchor->target->text,
        (cfx_args){c.args, c.nargs, c.kwargs, c.nkwargs});
    return cfx_named(s, m->anchor->name, y);
}

static const cfx_rewrite_rule rules[] = {
    {.params = PARAMS,
     .pattern = attention,
     .where = shares_heads,
     .build = grouped},
    {0},
};

const cfx_pass cfx_pass__group_heads = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "group_heads()",
    .doc =
        "Let scaled_dot_product_attention read heads of keys and values that the graph repeats for several heads of the query (enable_gqa), where meta tensor_meta shows that it applies.",
    .flags = CFX_PASS_ROUNDS,
    .rules = rules,
};
