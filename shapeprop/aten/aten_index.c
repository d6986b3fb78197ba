/*
 * aten_index -- x[...] of Python as ATen's views, index and index_put_.
 *
 * Numbers, slices and None make views first. Tensors then index what is left,
 * with None for an axis that has none.
 */
#include "shapeprop/aten/aten.h"

struct plan {
    cfx_value x; /* the view */
    cfx_value index[CFX_MAX_RANK + 1];
    size_t n, last; /* last: 1 + the place of the last tensor; 0: none */
};

static cfx_value refuse(cfx_scope *s, cfx_value item)
{
    return cfx_scope_fail(
        s, CFX_EUNSUPPORTED,
        "an index of the kind %s has no form in ATen: index by a tensor",
        cfx_kind_name((cfx_kind)item.kind));
}

/* The number of axes that an item of an index takes. */
static int axes_of(cfx_value item)
{
    if (item.kind == CFX_NONE || item.kind == CFX_ELLIPSIS)
        return 0;
    if (item.kind == CFX_TENSOR && item.u.tensor->dtype == CFX_BOOL)
        return item.u.tensor->rank;
    return 1;
}

static void add(cfx_scope *s, struct plan *p, cfx_value item)
{
    if (p->n > CFX_MAX_RANK) {
        cfx_scope_fail(s, CFX_EINVAL, "too many indices for tensor");
        return;
    }
    p->index[p->n++] = item;
    p->last = item.kind == CFX_TENSOR ? p->n : p->last;
}

static void take_slice(cfx_scope *s, struct plan *p, int64_t axis,
                       cfx_value slice)
{
    const cfx_value *part = slice.u.seq->item;
    bool whole = cfx_value_is_none(part[0]) && cfx_value_is_none(part[1]) &&
                 cfx_value_is_none(part[2]);

    if (!whole)
        p->x = CFX_ATEN(s, "slice.Tensor", p->x, cfx_int(axis), part[0],
                        part[1],
                        cfx_value_is_none(part[2]) ? cfx_int(1) : part[2]);
    add(s, p, cfx_none());
}

/* Take one item, which begins at `axis` of the view; returns the next axis. */
static int64_t take(cfx_scope *s, struct plan *p, int64_t axis, cfx_value item)
{
    switch ((cfx_kind)item.kind) {
    case CFX_INT:
    case CFX_SYMINT:
        p->x = CFX_ATEN(s, "select.int", p->x, cfx_int(axis), item);
        return axis;
    case CFX_SLICE: take_slice(s, p, axis, item); return axis + 1;
    case CFX_NONE:
        p->x = CFX_ATEN(s, "unsqueeze.default", p->x, cfx_int(axis));
        add(s, p, cfx_none());
        return axis + 1;
    case CFX_TENSOR: add(s, p, item); return axis + axes_of(item);
    case CFX_LIST:
    case CFX_TUPLE:
        item = cfx_call_function(s, "torch.tensor", CFX_ARGS(item));
        if (item.kind == CFX_TENSOR)
            add(s, p, item);
        return axis + 1;
    default: refuse(s, item); return axis;
    }
}

static void make_plan(cfx_scope *s, struct plan *p, cfx_value x,
                      cfx_value index)
{
    bool many = index.kind == CFX_TUPLE;
    const cfx_value *item = many ? index.u.seq->item : &index;
    size_t n = many ? index.u.seq->len : 1;
    int left = x.u.tensor->rank;
    int64_t axis = 0;

    *p = (struct plan){.x = x};
    for (size_t i = 0; i < n; i++)
        left -= axes_of(item[i]);
    for (size_t i = 0; i < n && !cfx_scope_failed(s); i++) {
        if (item[i].kind != CFX_ELLIPSIS) {
            axis = take(s, p, axis, item[i]);
            continue;
        }
        for (; left > 0; left--, axis++)
            add(s, p, cfx_none());
    }
}

cfx_value cfx_aten__getitem(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_aten__in(call, "self");
    struct plan p;

    if (x.kind != CFX_TENSOR)
        return cfx_none();
    make_plan(s, &p, x, cfx_aten__in(call, "index"));
    if (cfx_scope_failed(s))
        return cfx_none();
    if (!p.last)
        return p.x.u.tensor == x.u.tensor ? CFX_ATEN(s, "alias.default", x)
                                          : p.x;
    return CFX_ATEN(s, "index.Tensor", p.x,
                    cfx_list_of(s, CFX_LIST, p.last, p.index));
}

cfx_value cfx_aten__setitem(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_aten__in(call, "self");
    cfx_value value = cfx_aten__in(call, "value");
    struct plan p;

    make_plan(s, &p, x, cfx_aten__in(call, "index"));
    if (cfx_scope_failed(s))
        return cfx_none();
    if (value.kind != CFX_TENSOR && !p.last) {
        CFX_ATEN(s, "fill_.Scalar", p.x, value);
        return cfx_bool(true);
    }
    if (value.kind != CFX_TENSOR)
        value = cfx_aten__call_overload(
            s, "torch.ops.aten.scalar_tensor.default",
            (cfx_args){
                CFX_ITEMS(value),
                CFX_PAIRS(cfx_str(s, "dtype"),
                          cfx_value_of_dtype((cfx_dtype)x.u.tensor->dtype))});
    if (p.last)
        CFX_ATEN(s, "index_put_.default", p.x,
                 cfx_list_of(s, CFX_LIST, p.last, p.index), value);
    else
        CFX_ATEN(s, "copy_.default", p.x, value);
    return cfx_bool(true);
}
