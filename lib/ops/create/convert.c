/*
 * convert -- change the type or memory layout of a tensor.
 *
 * shape   that of the argument; the argument itself where nothing changes.
 *         Strides are kept, made dense, or those of a memory format.
 * cost    no arithmetic; a copy, or nothing where the result is the argument.
 */
#include <string.h>

#include "kernel/pointwise/pointwise_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/create/create.h"
#include "ops/shape/view.h"
#include "tensor/storage.h"

/* ---- What all have in common ---- */

static bool is_stored(const cfx_tensor *t)
{
    return 1 << t->dtype & CFX_STORED_TYPES;
}

static cfx_status copy_run(cfx_call *call)
{
    cfx_tensor *y = call->out[0];
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_iter it;
    if (call->alias[0])
        return CFX_OK;
    if (is_stored(y) || is_stored(x))
        return cfx_tensor_copy(y, x, call->err);
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, x);
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

/* Types with arithmetic, and where something is copied. */
static bool copy_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_tensor *x = cfx_call_tensor(call, 0), *y = call->out[0];
    cfx_loop_of(call, out, CFX_LOOP_COPY, (cfx_dtype)y->dtype, 1);
    return !call->alias[0] && !is_stored(y) && !is_stored(x);
}

static bool has_format(const cfx_call *call, const cfx_tensor *x,
                       cfx_memory_format format)
{
    cfx_view v;
    cfx_view_begin(&v, x);
    return format == CFX_PRESERVE_FORMAT ||
           cfx_view_format(call->env, &v) == format;
}

static cfx_status convert(cfx_call *call, cfx_dtype dtype, bool copy,
                          cfx_memory_format format)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_status st = cfx_view_check_format(call, format, x->rank);
    if (st)
        return st;
    if (!copy && x->dtype == dtype && has_format(call, x, format) &&
        !cfx_call__moves(call, x))
        return cfx_call_out_same(call, 0);
    return cfx_view_out_like(call, dtype, format);
}

/* ---- to ---- */

enum { DTYPE, DEVICE, OTHER };

/* The type of argument 1, whose device the result has too. */
static cfx_dtype as_other(cfx_call *call)
{
    const cfx_tensor *other = cfx_call_tensor(call, 1);
    call->device = other->device;
    return (cfx_dtype)other->dtype;
}

static cfx_status to_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, 0)->dtype, dtype = own;
    int code = call->op->code, at = code == DEVICE ? 3 : 2;
    cfx_status st = CFX_OK;
    if (code == DTYPE)
        dtype = cfx_call_dtype(call, 1, own);
    else if (code == OTHER)
        dtype = as_other(call);
    else if (!(st = cfx_call__take_device(call, 1)))
        dtype = cfx_call_dtype(call, 2, own);
    return st ? st
              : convert(
                    call, dtype, cfx_call_bool(call, at + 1),
                    cfx_view_format_arg(call, at + 2, CFX_PRESERVE_FORMAT));
}

#define REST                                                                  \
    "bool non_blocking=False, bool copy=False, MemoryFormat? "                \
    "memory_format=None) -> Tensor(a)"

static const cfx_op to_other = {
    .schema = "to.other(Tensor(a) self, Tensor other, " REST,
    .aliases = "Tensor. aten.",
    .doc = "The numbers in the type of another tensor.",
    .code = OTHER,
    .flags = CFX_OP_ANY_DEVICES | CFX_OP_STORED_TYPES,
    .infer = to_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

static const cfx_variant to_device_variants[] = {
    {"Tensor.cuda(Tensor self, Device? device='cuda', bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     NULL},
    {"Tensor.xpu(Tensor self, Device? device='xpu', bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     NULL},
    {NULL, NULL},
};

static const cfx_op to_device = {
    .schema =
        "to.device(Tensor(a) self, Device? device=None, ScalarType? dtype=None, " REST,
    .aliases = "Tensor. aten.",
    .variants = to_device_variants,
    .doc = "The numbers on a device and in a type.",
    .code = DEVICE,
    .flags = CFX_OP_STORED_TYPES,
    .infer = to_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
    .next = &to_other,
};

const cfx_op cfx_op__to = {
    .schema = "to.dtype(Tensor(a) self, ScalarType dtype, " REST,
    .aliases = "Tensor. aten.",
    .doc = "The numbers in another type.",
    .code = DTYPE,
    .flags = CFX_OP_STORED_TYPES,
    .infer = to_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
    .next = &to_device,
};

static cfx_status type_as_infer(cfx_call *call)
{
    return convert(call, as_other(call), false, CFX_PRESERVE_FORMAT);
}

const cfx_op cfx_op__type_as = {
    .schema = "type_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .aliases = "Tensor. aten.",
    .doc = "The numbers in the type of another tensor.",
    .flags = CFX_OP_ANY_DEVICES | CFX_OP_STORED_TYPES,
    .infer = type_as_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

static cfx_status type_infer(cfx_call *call)
{
    return convert(call, cfx_call_dtype(call, 1, CFX_F32), false,
                   CFX_PRESERVE_FORMAT);
}

const cfx_op cfx_op__type = {
    .schema =
        "type(Tensor(a) self, ScalarType dtype, bool non_blocking=False) -> Tensor(a)",
    .aliases = "Tensor.",
    .doc = "The numbers in another type.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = type_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

/* Options that say nothing about numbers may be given where they are the only
 * ones there are. */
static cfx_status check_options(cfx_call *call, int layout, int device)
{
    cfx_status st = cfx_create_check_layout(call, layout);
    return st ? st : cfx_call__take_device(call, device);
}

static cfx_status to_copy_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_status st = check_options(call, 2, 3);
    return st ? st
              : convert(call, cfx_call_dtype(call, 1, (cfx_dtype)x->dtype),
                        call->op->code || cfx_call_bool(call, 6),
                        cfx_view_format_arg(call, 7, CFX_PRESERVE_FORMAT));
}

static cfx_status to_copy_lower(cfx_call *call, const cfx_value *in,
                                cfx_value *out)
{
    (void)call;
    for (int k = 0; k < 6; k++)
        out[k] = in[k];
    out[7] = in[6];
    return CFX_OK;
}

const cfx_op cfx_op__to_copy = {
    .schema =
        "to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=True, MemoryFormat? memory_format=None) -> Tensor",
    .variants =
        (const cfx_variant[]){
            {"aten._to_copy.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
             to_copy_lower},
            {NULL, NULL}},
    .doc = "A copy in another type or memory format.",
    .code = 1,
    .flags = CFX_OP_STORED_TYPES,
    .infer = to_copy_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

const cfx_op cfx_op__to_layout = {
    .schema =
        "to_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    .aliases = "aten.to.dtype_layout Tensor.to",
    .doc = "The numbers in another type or memory format.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = to_copy_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

/* ---- Types by name ---- */

static cfx_status named_infer(cfx_call *call)
{
    return convert(call, (cfx_dtype)call->op->code, false,
                   cfx_view_format_arg(call, 1, CFX_PRESERVE_FORMAT));
}

#define NAMED(name, dtype)                                                    \
    const cfx_op cfx_op__to_##name = {                                        \
        .schema = "to_" #name "(Tensor(a) self, MemoryFormat "                \
                  "memory_format=preserve_format) -> Tensor(a)",              \
        .aliases = "Tensor." #name,                                           \
        .doc = "The numbers as " #dtype ".",                                  \
        .code = CFX_##dtype,                                                  \
        .flags = CFX_OP_STORED_TYPES,                                         \
        .infer = named_infer,                                                 \
        .cost = cfx_cost_first,                                               \
        .loop = copy_loop,                                                    \
        .run = copy_run,                                                      \
    };

NAMED(float, F32)
NAMED(double, F64)
NAMED(half, F16)
NAMED(bfloat16, BF16)
NAMED(long, I64)
NAMED(int, I32)
NAMED(short, I16)
NAMED(char, I8)
NAMED(byte, U8)
NAMED(bool, BOOL)
NAMED(cfloat, C64)
NAMED(cdouble, C128)

static cfx_status cpu_infer(cfx_call *call)
{
    if (call->device)
        call->device = CFX_DEVICE_CPU;
    return convert(call, (cfx_dtype)cfx_call_tensor(call, 0)->dtype, false,
                   cfx_view_format_arg(call, 1, CFX_PRESERVE_FORMAT));
}

const cfx_op cfx_op__to_cpu = {
    .schema =
        "to_cpu(Tensor(a) self, MemoryFormat memory_format=preserve_format) -> Tensor(a)",
    .aliases = "Tensor.cpu",
    .doc = "The numbers on the CPU.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = cpu_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

/* ---- contiguous and clone ---- */

static cfx_status contiguous_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_memory_format format = cfx_view_format_arg(call, 1,
                                                   CFX_CONTIGUOUS_FORMAT);
    if (cfx_view_is_dense(x, format))
        return cfx_call_out_same(call, 0);
    if (format == CFX_PRESERVE_FORMAT)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "preserve memory format is unsupported by the contiguous operator");
    return cfx_view_out_like(call, (cfx_dtype)x->dtype, format);
}

const cfx_op cfx_op__contiguous = {
    .schema =
        "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    .aliases = "Tensor. aten.",
    .variants =
        (const cfx_variant[]){
            {"Tensor.contiguous(Tensor self, MemoryFormat memory_format) -> Tensor",
             NULL},
            {NULL, NULL}},
    .doc = "The elements without gaps in the order of a memory format.",
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = contiguous_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

static cfx_status clone_infer(cfx_call *call)
{
    return cfx_view_out_like(
        call, (cfx_dtype)cfx_call_tensor(call, 0)->dtype,
        cfx_view_format_arg(call, 1, CFX_PRESERVE_FORMAT));
}

const cfx_op cfx_op__clone = {
    .schema =
        "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    .aliases =
        "torch. Tensor. aten. aten.lift_fresh_copy.default copy.copy copy.deepcopy",
    .doc = "A copy.",
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = clone_infer,
    .cost = cfx_cost_first,
    .loop = copy_loop,
    .run = copy_run,
};

/* ---- Other names of a tensor ---- */

static cfx_status alias_infer(cfx_call *call)
{
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, 0));
    return cfx_view_out(call, 0, &v);
}

const cfx_op cfx_op__detach = {
    .schema = "detach(Tensor(a) self) -> Tensor(a)",
    .aliases =
        "torch. Tensor. aten. aten.alias.default torch._C._autograd._get_data_attr",
    .doc = "The same tensor under another name.",
    .flags = CFX_OP_MOVES,
    .infer = alias_infer,
};

static cfx_status same_infer(cfx_call *call)
{
    return cfx_call_out_same(call, 0);
}

const cfx_op cfx_op__lift_fresh = {
    .schema = "lift_fresh(Tensor(a) self) -> Tensor(a)",
    .aliases =
        "aten. aten.lift.default Tensor.resolve_conj Tensor.resolve_neg torch.resolve_conj torch.resolve_neg Tensor.positive torch.positive Tensor.__pos__ operator.pos Tensor.detach_ torch.detach_",
    .doc = "The tensor itself.",
    .infer = same_infer,
};

/* Gradients are nobody's business here. */
const cfx_op cfx_op__requires_grad = {
    .schema =
        "requires_grad(Tensor(a) self, bool requires_grad=True) -> Tensor(a)",
    .aliases = "Tensor.requires_grad_",
    .doc = "The tensor itself: gradients are not computed.",
    .infer = same_infer,
};

/* ---- Bits as another type ---- */

/* The last axis grows or shrinks by the ratio of the sizes. */
static cfx_status view_dtype_shape(cfx_call *call, const cfx_tensor *x,
                                   size_t from, size_t to, cfx_view *v)
{
    cfx_shape_env *env = call->env;
    int last = x->rank - 1;
    cfx_view_begin(v, x);
    if (from == to)
        return CFX_OK;
    if (!x->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "self.dim() cannot be 0 to view as a type of another element size");
    if (!cfx_dim_is(x->stride[last], 1))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "self.stride(-1) must be 1 to view as a type of another element size");
    cfx_dim ratio = cfx_dim_int((int64_t)(from > to ? from / to : to / from));
    cfx_dim zero = cfx_dim_int(0);
    bool grows = from > to;
    if (!grows &&
        !cfx_dim_eq(env, cfx_dim_mod(env, v->shape[last], ratio), zero))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "self.size(-1) must be divisible by %lld",
                             (long long)cfx_dim_value(ratio));
    for (int i = 0; i < last; i++) {
        if (!grows &&
            !cfx_dim_eq(env, cfx_dim_mod(env, v->stride[i], ratio), zero))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "self.stride(%d) must be divisible by %lld",
                                 i, (long long)cfx_dim_value(ratio));
        v->stride[i] = grows ? cfx_dim_mul(env, v->stride[i], ratio)
                             : cfx_dim_floordiv(env, v->stride[i], ratio);
    }
    v->shape[last] = grows ? cfx_dim_mul(env, v->shape[last], ratio)
                           : cfx_dim_floordiv(env, v->shape[last], ratio);
    return CFX_OK;
}

static cfx_status view_dtype_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_dtype dtype = cfx_call_dtype(call, 1, CFX_F32);
    size_t from = cfx_dtype_size((cfx_dtype)x->dtype);
    cfx_view v;
    if (x->dtype == dtype)
        return alias_infer(call);
    cfx_status st = view_dtype_shape(call, x, from, cfx_dtype_size(dtype), &v);
    if (!st)
        st = cfx_call_out_strided(call, dtype, v.rank, v.shape, v.stride);
    if (st)
        return st;
    call->alias[0] = 1;
    if (cfx_tensor_is_meta(x))
        return CFX_OK;
    return cfx_tensor__place(
        call->out[0], x, from * (size_t)cfx_dim_value(x->offset), call->err);
}

const cfx_op cfx_op__view_dtype = {
    .schema = "view_dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    .aliases = "Tensor.view aten.view.dtype",
    .doc = "The same memory as another type.",
    .flags = CFX_OP_READS_STRIDES,
    .infer = view_dtype_infer,
};
