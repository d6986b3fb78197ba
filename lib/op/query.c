/*
 * query -- the rank, truth, length and items of values, and of proxies that a
 * scope's class knows about.
 */
#define CFX_NO_PLACES
#include "op/op_impl.h"
#include "op/scope_impl.h"

/* Does the class answer queries about proxies? */
static bool asks(const cfx_scope *s, cfx_value v)
{
    return v.kind == CFX_NODE && cfx_scope__records(s) && s->hook.ask;
}

const cfx_tensor *cfx_meta_of(cfx_scope *s, cfx_value x)
{
    cfx_value meta = CFX_NOTHING;
    if (cfx_scope_failed(s))
        return NULL;
    if (asks(s, x) && !s->hook.ask(s, CFX_ASK_META, x, &meta))
        x = cfx_scope_take(s, meta);
    return x.kind == CFX_TENSOR ? x.u.tensor : NULL;
}

int cfx_rank(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    if (t)
        return t->rank;
    cfx_scope_fail(
        s, CFX_EUNSUPPORTED,
        x.kind == CFX_NODE
            ? "symbolically traced variables cannot be used as inputs to control flow: the rank of a %s is not known without a meta"
            : "the rank of a %s is not known here",
        x.kind == CFX_NODE ? "proxy" : cfx_kind_name(x.kind));
    return 0;
}

/* The truth of a tensor of one element with data. */
static bool tensor_truth(cfx_scope *s, cfx_value v)
{
    cfx_value item = cfx_call_method(s, "item", CFX_ARGS(v));
    return cfx_scope_failed(s) ? false : cfx_truth(s, item);
}

bool cfx_truth(cfx_scope *s, cfx_value v)
{
    cfx_value answer;
    if (cfx_scope_failed(s))
        return false;
    switch ((cfx_kind)v.kind) {
    case CFX_ABSENT:
    case CFX_NONE: return false;
    case CFX_BOOL_VALUE:
    case CFX_INT: return v.u.i != 0;
    case CFX_FLOAT: return v.u.f != 0;
    case CFX_STR: return v.u.str->len > 0;
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT: return v.u.seq->len > 0;
    case CFX_TENSOR: return tensor_truth(s, v);
    case CFX_NODE:
        if (asks(s, v))
            return !s->hook.ask(s, CFX_ASK_TRUTH, v, &answer) && answer.u.i;
        break;
    default: break;
    }
    cfx_scope_fail(s, CFX_EUNSUPPORTED, "the truth of a %s is not known here",
                   cfx_kind_name(v.kind));
    return false;
}

int64_t cfx_len(cfx_scope *s, cfx_value v)
{
    cfx_value answer;
    if (cfx_scope_failed(s))
        return 0;
    if (cfx_value_is_seq(v))
        return v.u.seq->len;
    if (v.kind == CFX_DICT)
        return v.u.seq->len / 2;
    if (v.kind == CFX_STR)
        return v.u.str->len;
    if (asks(s, v))
        return s->hook.ask(s, CFX_ASK_LEN, v, &answer) ? 0 : answer.u.i;
    if (v.kind == CFX_TENSOR && v.u.tensor->rank &&
        cfx_dim_is_int(v.u.tensor->shape[0]))
        return cfx_dim_value(v.u.tensor->shape[0]);
    cfx_scope_fail(s, CFX_EINVAL, "a %s has no length here",
                   cfx_kind_name(v.kind));
    return 0;
}

size_t cfx_items(cfx_scope *s, cfx_value v, const cfx_value **items)
{
    cfx_value answer;
    *items = NULL;
    if (cfx_scope_failed(s))
        return 0;
    if (asks(s, v))
        v = s->hook.ask(s, CFX_ASK_ITEMS, v, &answer)
                ? cfx_none()
                : cfx_scope_take(s, answer);
    if (cfx_value_is_seq(v)) {
        *items = v.u.seq->item;
        return v.u.seq->len;
    }
    cfx_scope_fail(s, CFX_EINVAL, "a %s cannot be iterated over here",
                   cfx_kind_name(v.kind));
    return 0;
}

void cfx_unpack(cfx_scope *s, cfx_value v, size_t n, cfx_value *out)
{
    if (!cfx_scope_failed(s) && cfx_value_is_seq(v) && v.u.seq->len != n)
        cfx_scope_fail(s, CFX_EINVAL, "%u values to unpack, not %zu",
                       v.u.seq->len, n);
    for (size_t i = 0; i < n; i++)
        out[i] = cfx_nth(s, v, (int64_t)i);
}
