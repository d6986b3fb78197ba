/*
 * quantized_attention -- attention whose query, key and value are dequantized uint8.
 *
 * Scores are products of integers, times the scales of query and key. The result is
 * float32 as before: so it does not matter what follows.
 */
#include <cfx/ops.h>
#include <float.h>
#include <math.h>

#include "interp/passes/lower/lower_quantized.h"

/* The fewest rows of query for which keys and values are packed with a gain. */
enum { ROWS_LEAST = 16 };

typedef struct attention {
    cfx_lowering *l;
    const cfx_node *n;
    cfx_node *in[3]; /* query, key, value */
    cfx_affine from[3];
    double scale;
} attention;

enum { QUERY, KEY, VALUE };

static cfx_value arg(const attention *a, const char *name)
{
    return cfx_lower__arg(a->n, name);
}

/* A number, or `absent` if there is none; false: it is something else. */
static bool read_number(cfx_value v, double absent, double *out)
{
    bool given = v.kind == CFX_FLOAT || v.kind == CFX_INT;
    *out = given ? cfx_value_number(v) : absent;
    return given || !v.kind || v.kind == CFX_NONE;
}

/* Extent `from_end` of the query; 0: it is not known. */
static int64_t extent(const attention *a, int from_end)
{
    const cfx_tensor *q = cfx_node__known_tensor(a->in[QUERY]);
    return q->rank >= from_end && cfx_dim_is_int(q->shape[q->rank - from_end])
               ? cfx_dim_value(q->shape[q->rank - from_end])
               : 0;
}

/* The scales of scores and of values; false unless all results are finite. */
static bool read_scale(attention *a, int64_t depth)
{
    double dropout;
    if (!read_number(arg(a, "scale"), 1 / sqrt((double)depth), &a->scale) ||
        !read_number(arg(a, "dropout_p"), 0, &dropout) || dropout != 0)
        return false;
    a->scale *= a->from[QUERY].scale * a->from[KEY].scale;
    return fabs(a->scale) < FLT_MAX / 0x1p32F &&
           a->from[VALUE].scale < FLT_MAX / 0x1p9F;
}

static bool find(attention *a)
{
    static const char *const names[] = {"query", "key", "value"};
    const cfx_tensor *y = cfx_node__known_tensor(a->n);
    if (!cfx_node_is(a->n, "scaled_dot_product_attention") || !y ||
        y->dtype != CFX_F32)
        return false;
    for (int i = 0; i < 3; i++) {
        cfx_value v = arg(a, names[i]);
        a->in[i] = v.kind == CFX_NODE
                       ? cfx_lower__dequantized(a->l, v.u.node, &a->from[i])
                       : NULL;
        if (!a->in[i])
            return false;
    }
    int64_t depth = extent(a, 1);
    return depth > 0 && depth % CFX_QUAD == 0 &&
           depth <= CFX_QUANTIZED_DEPTH && extent(a, 2) >= ROWS_LEAST &&
           read_scale(a, depth);
}

static cfx_value build(cfx_scope *s, const cfx_node *n, void *user)
{
    const attention *a = user;
    (void)n;
    return cfx_quantized_scaled_dot_product_attention(
        s, cfx_value_of_node(a->in[QUERY]), cfx_value_of_node(a->in[KEY]),
        cfx_value_of_node(a->in[VALUE]), .attn_mask = arg(a, "attn_mask"),
        .is_causal = arg(a, "is_causal"), .scale = cfx_float(a->scale),
        .query_zero_point = cfx_int(a->from[QUERY].zero_point),
        .value_scale = cfx_float(a->from[VALUE].scale),
        .value_zero_point = cfx_int(a->from[VALUE].zero_point),
        .enable_gqa = arg(a, "enable_gqa"));
}

cfx_status cfx_lower__attention(cfx_lowering *l, const cfx_chain *c,
                                cfx_node **next, bool *done)
{
    attention a = {.l = l, .n = c->n};
    *done = find(&a);
    return *done ? cfx_lower__replace(l, c, build, &a, next) : CFX_OK;
}
