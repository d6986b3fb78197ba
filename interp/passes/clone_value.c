/*
 * clone_value -- copy a value of a graph, which outlives it.
 */
#include "interp/rewrite/binding.h"

static cfx_value clone_value(cfx_context *ctx, cfx_value v, int depth);

/* Values are nested at most CFX_MAX_DEPTH levels. */
static cfx_value clone_seq(cfx_context *ctx, cfx_value v, int depth)
{
    const cfx_seq *seq = v.u.seq;
    size_t n = seq->len, made = 0, bytes = (n + 1) * sizeof(cfx_value);
    cfx_value out = CFX_NOTHING;
    cfx_value *item = depth < CFX_MAX_DEPTH ? cfx_alloc(ctx, bytes) : NULL;
    if (!item)
        return out;
    while (made < n &&
           (item[made] = clone_value(ctx, seq->item[made], depth + 1)).kind)
        made++;
    if (made == n)
        out = cfx_seq_new(ctx, (cfx_kind)v.kind, n, item, seq->type);
    while (made > 0)
        cfx_value_unref(item[--made]);
    cfx_free(ctx, item, bytes);
    return out;
}

static cfx_value clone_value(cfx_context *ctx, cfx_value v, int depth)
{
    switch (v.kind) {
    case CFX_STR:
    case CFX_DEVICE:
    case CFX_LAYOUT:
    case CFX_NAME: {
        uint8_t kind = v.kind;
        v = cfx_str_new(ctx, v.u.str->text, v.u.str->len);
        if (v.kind)
            v.kind = kind;
        return v;
    }
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT:
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_COMPLEX: return clone_seq(ctx, v, depth);
    default: return cfx_value_ref(v);
    }
}

cfx_value cfx_value__clone(cfx_context *ctx, cfx_value v)
{
    return clone_value(ctx, v, 0);
}
