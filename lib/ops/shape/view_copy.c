/*
 * view_copy -- views that are copied, as functionalized graphs have them.
 *
 * shape   that of the view, row-major.
 * cost    no arithmetic; a copy.
 */
#include "op/composite.h"
#include "op/op_cost.h"

static cfx_value viewed(cfx_scope *s, const cfx_call *call, const char *view)
{
    return cfx_call_function(
        s, view, cfx_args_of(call->in, (size_t)call->schema->nparams));
}

static cfx_value copied(cfx_scope *s, const cfx_call *call, const char *view)
{
    cfx_value y = viewed(s, call, view);
    cfx_value keys[] = {cfx_str(s, "memory_format"),
                        cfx_value_of_format(CFX_CONTIGUOUS_FORMAT)};
    return cfx_call_function(s, "torch.clone", (cfx_args){&y, 1, keys, 1});
}

/* Only what the view shows is read. */
static void copy_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->bytes_read = cfx_cost_bytes_of(call, call->out[0]);
}

#define COPY_NEXT(linkage, symbol, schema_, view, aliases_, next_)            \
    static cfx_value copy_##symbol##_build(cfx_scope *s,                      \
                                           const cfx_call *call)              \
    {                                                                         \
        return copied(s, call, "torch.ops.aten." view);                       \
    }                                                                         \
    static cfx_status copy_##symbol##_infer(cfx_call *call)                   \
    {                                                                         \
        return cfx_composite_infer(call, copy_##symbol##_build);              \
    }                                                                         \
    static cfx_status copy_##symbol##_run(cfx_call *call)                     \
    {                                                                         \
        return cfx_composite_run(call, copy_##symbol##_build);                \
    }                                                                         \
    linkage const cfx_op cfx_op__##symbol = {                                 \
        .schema = schema_ " -> Tensor",                                       \
        .aliases = aliases_,                                                  \
        .doc = "A copy of the view.",                                         \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = copy_##symbol##_infer,                                       \
        .cost = copy_cost,                                                    \
        .run = copy_##symbol##_run,                                           \
        .next = next_,                                                        \
    };
#define COPY(name, params, overload)                                          \
    COPY_NEXT(, name##_copy, #name "_copy(Tensor self" params ")",            \
              #name "." overload,                                             \
              "torch." #name "_copy aten." #name "_copy." overload, NULL)

COPY(view, ", SymInt[] size", "default")
COPY(expand, ", SymInt[] size", "default")
COPY(permute, ", int[] dims", "default")
COPY(transpose, ", int dim0, int dim1", "int")
COPY(t, "", "default")
COPY(unsqueeze, ", int dim", "default")
COPY(select, ", int dim, SymInt index", "int")
COPY(slice, ", int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1",
     "Tensor")
COPY(diagonal, ", int offset=0, int dim1=0, int dim2=1", "default")
COPY(unfold, ", int dimension, int size, int step", "default")
COPY(as_strided,
     ", SymInt[] size, SymInt[] stride, SymInt? storage_offset=None",
     "default")
COPY(alias, "", "default")
COPY(detach, "", "default")
COPY_NEXT(, narrow_copy,
          "narrow_copy(Tensor self, int dim, SymInt start, SymInt length)",
          "narrow.default", "torch. Tensor. aten.", NULL)
COPY_NEXT(static, squeeze_copy_dims,
          "squeeze_copy.dims(Tensor self, int[] dim)", "squeeze.dims",
          "torch. .dims", NULL)
COPY_NEXT(static, squeeze_copy_dim, "squeeze_copy.dim(Tensor self, int dim)",
          "squeeze.dim", "torch. .dim", &cfx_op__squeeze_copy_dims)
COPY_NEXT(, squeeze_copy, "squeeze_copy(Tensor self)", "squeeze.default",
          "torch. aten.", &cfx_op__squeeze_copy_dim)

/* ---- Several parts ---- */

static cfx_status parts_infer(cfx_call *call, const char *view)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__meta, call->ctx, call->env);
    cfx_value parts = viewed(&s, call, view);
    cfx_status st = cfx_scope_status(&s, call->err);
    size_t n = st ? 0 : parts.u.seq->len;
    cfx_value *item = cfx_calloc(call->ctx, n + 1, sizeof(*item));
    if (!st && !item)
        st = cfx_no_memory(call->err);
    for (size_t i = 0; i < n && !st; i++) {
        const cfx_tensor *t = parts.u.seq->item[i].u.tensor;
        cfx_tensor *meta;
        st = cfx_tensor_meta(&meta, call->ctx, (cfx_dtype)t->dtype, t->rank,
                             t->shape, NULL, call->err);
        if (!st)
            item[i] = cfx_value_of_tensor(meta);
    }
    if (!st)
        st = cfx_call_return_take(call, cfx_tuple_new(call->ctx, n, item));
    for (size_t i = 0; item && i < n; i++)
        cfx_value_unref(item[i]);
    cfx_free(call->ctx, item, (n + 1) * sizeof(*item));
    cfx_scope_release(&s);
    return st;
}

static cfx_status parts_run(cfx_call *call, const char *view)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value parts = viewed(&s, call, view);
    cfx_status st = cfx_scope_status(&s, call->err);
    for (size_t i = 0; !st && i < parts.u.seq->len; i++)
        st = cfx_tensor_copy(call->result.u.seq->item[i].u.tensor,
                             parts.u.seq->item[i].u.tensor, call->err);
    cfx_scope_release(&s);
    return st;
}

#define PARTS(name, params, overload)                                         \
    static cfx_status name##_copy_infer(cfx_call *call)                       \
    {                                                                         \
        return parts_infer(call, "torch.ops.aten." #name "." overload);       \
    }                                                                         \
    static cfx_status name##_copy_run(cfx_call *call)                         \
    {                                                                         \
        return parts_run(call, "torch.ops.aten." #name "." overload);         \
    }                                                                         \
    const cfx_op cfx_op__##name##_copy = {                                    \
        .schema = #name "_copy." overload "(Tensor self" params               \
                        ", int dim=0) -> Tensor[]",                           \
        .aliases = "torch." #name "_copy aten." #name "_copy." overload,      \
        .doc = "Copies of the parts.",                                        \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = name##_copy_infer,                                           \
        .run = name##_copy_run,                                               \
    };

PARTS(split, ", SymInt split_size", "Tensor")
PARTS(split_with_sizes, ", SymInt[] split_sizes", "default")
PARTS(unbind, "", "int")
