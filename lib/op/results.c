/*
 * results -- what a shape rule gives its call: new tensors, views of arguments,
 * a value, or an error.
 */
#include <stdarg.h>
#include <stdio.h>

#include "op/op_impl.h"
#include "tensor/storage.h"

/* A search for a name whose last word, or the one before an overload, is that of
 * the schema. */
struct shown {
    const char *name;
    bool found;
    char *first; /* the first of all names */
    size_t size;
};

static cfx_status look_at(void *user, const char *name, size_t len,
                          bool inplace, const cfx_variant *how)
{
    struct shown *s = user;
    size_t n = strlen(s->name);
    (void)how;
    if (!*s->first)
        snprintf(s->first, s->size, "%.*s", (int)len, name);
    for (size_t i = 1; !s->found && i + n <= len; i++)
        s->found = name[i - 1] == '.' && !memcmp(name + i, s->name, n) &&
                   (i + n == len || name[i + n] == '.' || inplace);
    return CFX_OK;
}

const char *cfx_op__shown_name(const cfx_op *op, const cfx_schema *schema,
                               char *buf, size_t size)
{
    struct shown s = {schema ? schema->name : "call", false, buf, size};
    *buf = 0;
    if (!op || !schema || !op->aliases)
        return s.name;
    (void)cfx_op_names(op, look_at, &s);
    return s.found || !*buf ? s.name : buf;
}

cfx_status cfx_call_fail(const cfx_call *call, cfx_status code,
                         const char *fmt, ...)
{
    char text[CFX_ERROR_TEXT - 64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    char name[64];
    return cfx_fail(
        call->err, code, "%s: %s",
        cfx_op__shown_name(call->op, call->schema, name, sizeof(name)), text);
}

cfx_status cfx_call_axis(const cfx_call *call, int64_t axis, int rank,
                         int *out)
{
    int64_t n = rank ? rank : 1;
    if (axis < -n || axis >= n)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
            (long long)-n, (long long)n - 1, (long long)axis);
    *out = (int)(axis < 0 ? axis + n : axis);
    return CFX_OK;
}

/* ---- Results, from within infer ---- */

static cfx_status add_out(cfx_call *call, cfx_tensor *t, int alias)
{
    if (call->nout == CFX_MAX_OUTS) {
        cfx_tensor_unref(t);
        return cfx_call_fail(call, CFX_EINVAL, "too many results");
    }
    call->alias[call->nout] = (uint8_t)alias;
    call->out[call->nout++] = t;
    return CFX_OK;
}

cfx_status cfx_call_new(cfx_call *call, cfx_tensor **out, cfx_dtype dtype,
                        int rank, const cfx_dim *shape)
{
    cfx_status st = cfx_tensor_meta(out, call->ctx, dtype, rank, shape, NULL,
                                    call->err);
    if (!st)
        (*out)->device = call->device;
    return st;
}

static bool all_known(int rank, const cfx_dim *shape, const cfx_dim *stride,
                      cfx_dim offset)
{
    bool known = cfx_dim_is_int(offset);
    for (int i = 0; i < rank; i++)
        known = known && cfx_dim_is_int(shape[i]) && cfx_dim_is_int(stride[i]);
    return known;
}

/* Among metas there may be tensors with numbers, such as weights; what symbols
 * make of one is a meta. */
cfx_status cfx_call_new_view(cfx_call *call, cfx_tensor **out, int k, int rank,
                             const cfx_dim *shape, const cfx_dim *stride,
                             cfx_dim offset)
{
    const cfx_tensor *base = cfx_call_tensor(call, k);
    if (!call->meta || cfx_tensor_is_meta(base) ||
        all_known(rank, shape, stride, offset))
        return cfx_tensor__view_in(out, call->ctx, base, rank, shape, stride,
                                   offset, call->err);
    cfx_status st = cfx_tensor_meta(out, call->ctx, (cfx_dtype)base->dtype,
                                    rank, shape, stride, call->err);
    if (!st) {
        (*out)->offset = offset;
        (*out)->device = base->device;
    }
    return st;
}

/* Will numbers be computed into it? Then a result gets its memory at once. */
static bool is_computed(const cfx_call *call)
{
    return !call->meta && !call->inplace && !call->into && call->op->run &&
           !(call->op->flags & CFX_OP_OWN_RESULT);
}

cfx_status cfx_call_out_strided(cfx_call *call, cfx_dtype dtype, int rank,
                                const cfx_dim *shape, const cfx_dim *stride)
{
    cfx_tensor *t;
    cfx_status st = is_computed(call)
                        ? cfx_tensor__empty(&t, call->ctx, dtype, rank, shape,
                                            stride, call->err)
                        : cfx_tensor_meta(&t, call->ctx, dtype, rank, shape,
                                          stride, call->err);
    if (st)
        return st;
    t->device = call->device;
    return add_out(call, t, 0);
}

cfx_status cfx_call__out_rows(cfx_call *call, cfx_dtype dtype,
                              const cfx_tensor *like)
{
    cfx_tensor *t;
    if (!is_computed(call) || cfx_tensor_is_meta(like))
        return cfx_call_out(call, dtype, like->rank, like->shape);
    cfx_status st = cfx_tensor__empty_rows(&t, call->ctx, like, dtype,
                                           call->err);
    if (st)
        return st;
    t->device = call->device;
    return add_out(call, t, 0);
}

cfx_status cfx_call_out(cfx_call *call, cfx_dtype dtype, int rank,
                        const cfx_dim *shape)
{
    return cfx_call_out_strided(call, dtype, rank, shape, NULL);
}

cfx_status cfx_call_out_like_as(cfx_call *call, const cfx_tensor *like,
                                cfx_dtype dtype)
{
    bool dense = like->flags & CFX_TENSOR_DENSE;
    return cfx_call_out_strided(call, dtype, like->rank, like->shape,
                                dense ? like->stride : NULL);
}

cfx_status cfx_call_out_like(cfx_call *call, const cfx_tensor *like)
{
    return cfx_call_out_like_as(call, like, (cfx_dtype)like->dtype);
}

cfx_status cfx_call_out_view(cfx_call *call, int k, int rank,
                             const cfx_dim *shape, const cfx_dim *stride,
                             cfx_dim offset)
{
    cfx_tensor *t;
    cfx_status st = cfx_call_new_view(call, &t, k, rank, shape, stride,
                                      offset);
    return st ? st : add_out(call, t, cfx_call_place(call, k) + 1);
}

cfx_status cfx_call_out_same(cfx_call *call, int k)
{
    return add_out(call, cfx_tensor_ref(cfx_call_tensor(call, k)),
                   cfx_call_place(call, k) + 1);
}

cfx_status cfx_call_return_take(cfx_call *call, cfx_value v)
{
    if (v.kind == CFX_ABSENT)
        return cfx_no_memory(call->err);
    cfx_value_unref(call->result);
    call->result = v;
    return CFX_OK;
}

void cfx_call__clear(cfx_call *call)
{
    for (int i = 0; i < call->nout; i++)
        cfx_tensor_unref(call->out[i]);
    call->nout = 0;
    if (CFX_LIKELY(call->result.kind == CFX_ABSENT))
        return;
    cfx_value_unref(call->result);
    call->result = CFX_NOTHING;
}
