/*
 * onnx_sequence -- rules of sequences and optional values.
 *
 * A sequence is a list of as many tensors as are known when the model is read;
 * an optional value without an element is None. Neither needs nodes.
 */
#include "format/onnx/onnx.h"

/* Items of a sequence. */
enum { MAX_ITEMS = 4096 };

cfx_value onnx_import_sequence_construct(onnx_node *n)
{
    cfx_value *v = onnx_alloc(n->s, n->nin + 1, sizeof(*v));

    for (size_t i = 0; v && i < n->nin; i++)
        v[i] = onnx_stored_tensor(n, i);
    return v ? onnx_arg(n->s, n->nin, v) : CFX_NOTHING;
}

static const cfx_seq *sequence(onnx_node *n)
{
    if (onnx_has(n, 0) && n->in[0].kind == CFX_LIST)
        return n->in[0].u.seq;
    onnx_fail(
        n, CFX_EUNDECIDED,
        "the number of items of its sequence is not known when the model is read");
    return NULL;
}

/* A place among `count` items, from 0, or `behind` them; the last item where the
 * input is left out. Negative numbers count from the end. */
static bool place_of(onnx_node *n, size_t input, size_t count, bool behind,
                     size_t *out)
{
    double at = -1;

    if (onnx_has(n, input) && !onnx_number(n, input, &at))
        return false;
    *out = behind && at == (double)count
               ? count
               : (size_t)onnx_axis(n, (int64_t)at, (int)count);
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_sequence_at(onnx_node *n)
{
    const cfx_seq *seq = sequence(n);
    double at;

    if (!seq || !onnx_number(n, 1, &at))
        return CFX_NOTHING;
    int k = onnx_axis(n, (int64_t)at, (int)seq->len);
    return !cfx_scope_failed(n->s) ? seq->item[k] : CFX_NOTHING;
}

cfx_value onnx_import_sequence_length(onnx_node *n)
{
    const cfx_seq *seq = sequence(n);

    return seq ? cfx_int(seq->len) : CFX_NOTHING;
}

cfx_value onnx_import_concat_from_sequence(onnx_node *n)
{
    cfx_value axis = cfx_int(onnx_attr_int(n, "axis", 0));

    if (!sequence(n))
        return CFX_NOTHING;
    return onnx_attr_int(n, "new_axis", 0)
               ? cfx_stack(n->s, n->in[0], .dim = axis)
               : cfx_cat(n->s, n->in[0], .dim = axis);
}

cfx_value onnx_import_sequence_empty(onnx_node *n)
{
    onnx_ignore(n, "dtype");
    return onnx_arg(n->s, 0, NULL);
}

cfx_value onnx_import_sequence_insert(onnx_node *n)
{
    const cfx_seq *seq = sequence(n);
    size_t count = seq ? seq->len : 0, at = count;
    cfx_value *item = onnx_alloc(n->s, count + 1, sizeof(*item));

    if (!seq || !item || (onnx_has(n, 2) && !place_of(n, 2, count, true, &at)))
        return CFX_NOTHING;
    if (count == MAX_ITEMS)
        return onnx_fail(n, CFX_ELIMIT, "its sequence has more than %d items",
                         MAX_ITEMS);
    for (size_t i = 0; i < count; i++)
        item[i + (i >= at)] = seq->item[i];
    item[at] = onnx_stored_tensor(n, 1);
    return onnx_arg(n->s, count + 1, item);
}

cfx_value onnx_import_sequence_erase(onnx_node *n)
{
    const cfx_seq *seq = sequence(n);
    size_t count = seq ? seq->len : 0, at;
    cfx_value *item = onnx_alloc(n->s, count + 1, sizeof(*item));

    if (!seq || !item || !place_of(n, 1, count, false, &at))
        return CFX_NOTHING;
    for (size_t i = 0; i < count; i++)
        if (i != at)
            item[i - (i > at)] = seq->item[i];
    return onnx_arg(n->s, count - 1, item);
}

/* Does a list of extents, none of them negative, add up to the whole? */
static bool fills(onnx_node *n, int64_t size, const onnx_int_list *each)
{
    int64_t left = size;

    for (size_t i = 0; i < each->n && left >= 0; i++)
        left = each->item[i] < 0 || each->item[i] > left
                   ? -1
                   : left - each->item[i];
    if (left)
        onnx_fail(n, CFX_EINVAL,
                  "its parts do not add up to the extent of %lld",
                  (long long)size);
    return !left;
}

/* The extents of the pieces: 1, or as the input says, which is one number for
 * all, the last one smaller, or a list. */
static bool pieces(onnx_node *n, int64_t size, onnx_int_list *out)
{
    bool one = onnx_has(n, 1) && n->in[1].kind == CFX_TENSOR &&
               n->in[1].u.tensor->rank == 0;
    int64_t each = 1, at = 0;

    *out = onnx_plain_ints(n, 1, NULL);
    if (!out->ok)
        return false;
    if (out->given && !one)
        return fills(n, size, out);
    if (one)
        each = out->item[0] > size && size > 0 ? size : out->item[0];
    if (each < 1 || (size + each - 1) / each > MAX_ITEMS)
        return onnx_refuse(n, CFX_EINVAL,
                           "it splits an extent of %lld into parts of %lld",
                           (long long)size, (long long)each);
    out->n = (size_t)((size + each - 1) / each);
    out->item = onnx_alloc(n->s, out->n + 1, sizeof(*out->item));
    for (size_t i = 0; out->item && i < out->n; i++, at += each)
        out->item[i] = size - at < each ? size - at : each;
    return out->item != NULL;
}

cfx_value onnx_import_split_to_sequence(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0), *item;
    bool keep = onnx_attr_int(n, "keepdims", 1) || onnx_has(n, 1);
    int axis = onnx_attr_axis(n, x, 0);
    int64_t size = onnx_known_size(n, x, axis), at = 0;
    cfx_value dim = cfx_int(axis);
    onnx_int_list extent;

    if (cfx_scope_failed(n->s) || !pieces(n, size, &extent) ||
        !(item = onnx_alloc(n->s, extent.n + 1, sizeof(*item))))
        return CFX_NOTHING;
    for (size_t i = 0; i < extent.n && !cfx_scope_failed(n->s); i++) {
        item[i] = keep ? cfx_narrow(n->s, x, dim, cfx_int(at),
                                    cfx_int(extent.item[i]))
                       : cfx_select(n->s, x, dim, cfx_int(at));
        at += extent.item[i];
    }
    return onnx_arg(n->s, extent.n, item);
}

/* The graph once for each item; other inputs are sequences as long, or the same
 * tensor each time. */
cfx_value onnx_import_sequence_map(onnx_node *n)
{
    const Onnx__AttributeProto *body = onnx_attr(n, "body");
    const cfx_seq *seq = sequence(n);
    size_t count = seq ? seq->len : 0;
    cfx_value *in = onnx_alloc(n->s, n->nin + 1, sizeof(*in));
    cfx_value *out = onnx_alloc(n->s, n->nout + 1, sizeof(*out));
    cfx_value *item = onnx_alloc(n->s, n->nout * count + 1, sizeof(*item));

    if (!body || !body->g)
        onnx_fail(n, CFX_EGRAPH, "it has no graph body");
    for (size_t k = 1; k < n->nin && seq; k++)
        if (n->in[k].kind == CFX_LIST && n->in[k].u.seq->len != count)
            onnx_fail(n, CFX_EGRAPH, "its sequences have %zu and %u items",
                      count, (unsigned)n->in[k].u.seq->len);
    if (cfx_scope_failed(n->s) || !seq || !in || !out || !item)
        return CFX_NOTHING;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < n->nin; k++)
            in[k] = n->in[k].kind == CFX_LIST ? n->in[k].u.seq->item[i]
                                              : n->in[k];
        if (!onnx_inline(n, body->g, in, n->nin, out, n->nout))
            return CFX_NOTHING;
        for (size_t k = 0; k < n->nout; k++)
            item[k * count + i] = onnx_as_tensor(n->s, out[k]);
    }
    for (size_t k = 0; k < n->nout; k++)
        n->out[k] = onnx_arg(n->s, count, item + k * count);
    return n->out[0];
}

/* ---- Optional values ---- */

cfx_value onnx_import_optional(onnx_node *n)
{
    onnx_ignore(n, "type");
    return onnx_has(n, 0) ? n->in[0] : cfx_none();
}

/* An input that the file declares as optional has no meta. */
cfx_value onnx_import_optional_has_element(onnx_node *n)
{
    bool has = onnx_has(n, 0);

    if (has && n->in[0].kind == CFX_NODE &&
        onnx_meta(n->s, n->in[0]).kind == CFX_ABSENT)
        return onnx_fail(
            n, CFX_EUNDECIDED,
            "its input may have an element or none, which is not known when the model is read");
    return onnx_scalar_tensor(n->s, has, CFX_BOOL);
}

cfx_value onnx_import_optional_get_element(onnx_node *n)
{
    return onnx_has(n, 0)
               ? n->in[0]
               : onnx_fail(n, CFX_EINVAL, "its input has no element");
}
