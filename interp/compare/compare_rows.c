/*
 * compare_rows -- undo the layout of an optimized image, and its narrower type; the
 * nesting of what a module returned.
 */
#include "interp/compare/compare_rows.h"

#include <cfx/ops.h>

#include "ops/blocked/blocked_ops.h"

/* True if b may be image a in blocks of channels. */
static bool is_blocked(const cfx_tensor *b, const cfx_tensor *a)
{
    return a->rank == 4 && b->rank == 5 &&
           cfx_tensor_size(b, 1) ==
               (cfx_tensor_size(a, 1) + CFX_BLOCK - 1) / CFX_BLOCK &&
           cfx_tensor_size(b, 4) == CFX_BLOCK;
}

static cfx_status undo_blocks(cfx_value *out, cfx_context *ctx,
                              const cfx_tensor *a, cfx_value b, cfx_error *err)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    cfx_value rows = cfx_from_blocked(&s, b, cfx_value_of_dim(a->shape[1]));
    if (b.u.tensor->dtype == CFX_BF16 && a->dtype == CFX_F32)
        rows = cfx_to(&s, rows, cfx_value_of_dtype(CFX_F32));
    cfx_status st = cfx_scope_status(&s, err);
    if (!st)
        *out = cfx_keep(rows);
    cfx_scope_release(&s);
    return st;
}

static bool has_rows_of(const cfx_tensor *b, const cfx_tensor *a)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]);
    return same;
}

cfx_status cfx_compare__overwrite(cfx_context *ctx, cfx_value a, cfx_value b,
                                  cfx_error *err)
{
    bool blocked;
    cfx_scope s;
    if (a.kind != CFX_TENSOR || b.kind != CFX_TENSOR)
        return CFX_OK;
    blocked = is_blocked(b.u.tensor, a.u.tensor);
    if (!blocked && !has_rows_of(b.u.tensor, a.u.tensor))
        return CFX_OK;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    if (blocked)
        a = cfx_to_blocked(&s, a);
    cfx_status st = cfx_scope_status(&s, err);
    if (!st)
        st = cfx_tensor_copy(b.u.tensor, a.u.tensor, err);
    cfx_scope_release(&s);
    return st;
}

/* The items of a flat sequence, taken one after the other. */
typedef struct items {
    const cfx_seq *of;
    uint32_t next;
} items;

static cfx_status count(void *user, cfx_value v)
{
    (void)v;
    ++*(uint32_t *)user;
    return CFX_OK;
}

static cfx_status take(void *user, cfx_value v, cfx_value *out)
{
    items *b = user;
    (void)v;
    *out = cfx_value_ref(b->of->item[b->next++]);
    return CFX_OK;
}

/* Is b a tuple of as many values as there are in a, which nests them? */
static bool is_flat(cfx_value b, cfx_value a)
{
    uint32_t n = 0;
    if (a.kind != CFX_TUPLE || b.kind != CFX_TUPLE ||
        a.u.seq->len == b.u.seq->len || cfx_value_visit(a, count, &n) ||
        n != b.u.seq->len)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (cfx_value_is_seq(b.u.seq->item[i]))
            return false;
    return true;
}

cfx_status cfx_compare__like(cfx_value *out, cfx_context *ctx, cfx_value a,
                             cfx_value b, cfx_error *err)
{
    if (a.kind == CFX_TENSOR && b.kind == CFX_TENSOR &&
        is_blocked(b.u.tensor, a.u.tensor))
        return undo_blocks(out, ctx, a.u.tensor, b, err);
    if (is_flat(b, a))
        return cfx_value_map(out, ctx, a, take, &(items){b.u.seq, 0}, err);
    return CFX_OK;
}
