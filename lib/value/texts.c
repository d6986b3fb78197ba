/*
 * texts -- nested lists of str as arrays, and arrays as nested lists.
 *
 * The functions that call themselves do so once for each axis.
 */
#include "value/texts.h"

#include <string.h>

static bool is_other(void *user, cfx_value v)
{
    (void)user;
    return v.kind != CFX_STR;
}

bool cfx_texts_are(cfx_value v)
{
    return v.kind == CFX_STR ||
           (v.kind == CFX_LIST && !cfx_value_any(v, is_other, NULL));
}

static cfx_status not_texts(cfx_error *err, cfx_value v)
{
    return cfx_fail(err, CFX_EINVAL,
                    "a %s stands where a str or a list of str should",
                    cfx_kind_name((cfx_kind)v.kind));
}

/* The shape by the first item of each list. */
static cfx_status find_shape(cfx_texts *t, cfx_value v, cfx_error *err)
{
    for (t->n = 1; cfx_value_is_seq(v); v = v.u.seq->item[0]) {
        if (t->rank == CFX_MAX_RANK ||
            !cfx_mul_size(&t->n, t->n, v.u.seq->len))
            return cfx_fail(err, CFX_EINVAL,
                            "lists of str nest more than %d deep",
                            CFX_MAX_RANK);
        t->shape[t->rank++] = v.u.seq->len;
        if (!v.u.seq->len)
            return CFX_OK;
    }
    return v.kind == CFX_STR ? CFX_OK : not_texts(err, v);
}

static cfx_status gather(cfx_texts *t, cfx_value v, int axis, cfx_error *err)
{
    cfx_status st = CFX_OK;

    if (axis == t->rank) {
        if (v.kind != CFX_STR)
            return not_texts(err, v);
        t->item[t->n++] = v.u.str;
        return CFX_OK;
    }
    if (!cfx_value_is_seq(v))
        return not_texts(err, v);
    if (v.u.seq->len != t->shape[axis])
        return cfx_fail(err, CFX_EINVAL,
                        "lists of str differ in length: %lld and %u items",
                        (long long)t->shape[axis], (unsigned)v.u.seq->len);
    for (uint32_t i = 0; i < v.u.seq->len && !st; i++)
        st = gather(t, v.u.seq->item[i], axis + 1, err);
    return st;
}

cfx_status cfx_texts_read(cfx_texts *out, cfx_arena *arena, cfx_value v,
                          cfx_error *err)
{
    size_t bytes;

    *out = (cfx_texts){0};
    cfx_status st = find_shape(out, v, err);
    if (st)
        return st;
    out->item = cfx_mul_size(&bytes, out->n + 1, sizeof(*out->item))
                    ? cfx_arena_alloc(arena, bytes)
                    : NULL;
    if (!out->item)
        return cfx_no_memory(err);
    out->n = 0;
    return gather(out, v, 0, err);
}

/* The value of the items from *item on, which is moved after them. */
static cfx_value nest(cfx_context *ctx, int rank, const int64_t *shape,
                      const cfx_value **item)
{
    cfx_value out = CFX_NOTHING;

    if (!rank)
        return cfx_value_ref(*(*item)++);
    size_t n = (size_t)shape[0], made = 0, bytes;
    cfx_value *part = cfx_mul_size(&bytes, n, sizeof(*part))
                          ? cfx_alloc(ctx, bytes + 1)
                          : NULL;
    if (!part)
        return out;
    for (; made < n; made++) {
        part[made] = nest(ctx, rank - 1, shape + 1, item);
        if (part[made].kind == CFX_ABSENT)
            break;
    }
    if (made == n)
        out = cfx_list_new(ctx, n, part);
    for (size_t i = 0; i < made; i++)
        cfx_value_unref(part[i]);
    cfx_free(ctx, part, bytes + 1);
    return out;
}

cfx_value cfx_texts_value(cfx_context *ctx, int rank, const int64_t *shape,
                          const cfx_value *item)
{
    return nest(ctx, rank, shape, &item);
}
