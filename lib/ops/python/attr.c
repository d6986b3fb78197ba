/*
 * attr -- what is known of a tensor without its numbers: shape, type, strides.
 *
 * shape   most results are ints, tuples and bools; T and its kin are views.
 * cost    nothing, but what H of a complex tensor computes.
 */
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"
#include "ops/shape/view.h"

static cfx_status give_dims(cfx_call *call, int n, const cfx_dim *dims)
{
    cfx_value item[CFX_MAX_RANK];
    for (int i = 0; i < n; i++)
        item[i] = cfx_value_of_dim(dims[i]);
    return cfx_call_return_take(call,
                                cfx_tuple_new(call->ctx, (size_t)n, item));
}

static cfx_dim numel_of(const cfx_call *call, const cfx_tensor *t)
{
    return cfx_infer_numel(call->env, t->rank, t->shape);
}

static cfx_value text_value(cfx_call *call, cfx_kind kind, const char *text)
{
    cfx_value v = cfx_str_new(call->ctx, text, strlen(text));
    if (v.kind)
        v.kind = (uint8_t)kind;
    return v;
}

/* ---- Attributes of tensors ---- */

enum attribute {
    SHAPE,
    DTYPE_,
    DEVICE,
    LAYOUT,
    NDIM,
    ITEMSIZE,
    NBYTES,
    T,
    MT,
    H,
    MH,
    ITSELF,
    REAL,
    IMAG,
    NONE,
    YES,
    NO,
    IS_ON
};

static const struct {
    const char *name;
    enum attribute what;
} attributes[] = {
    {"shape", SHAPE},
    {"dtype", DTYPE_},
    {"device", DEVICE},
    {"layout", LAYOUT},
    {"ndim", NDIM},
    {"itemsize", ITEMSIZE},
    {"nbytes", NBYTES},
    {"T", T},
    {"mT", MT},
    {"H", H},
    {"mH", MH},
    {"data", ITSELF},
    {"real", REAL},
    {"imag", IMAG},
    {"grad", NONE},
    {"grad_fn", NONE},
    {"is_leaf", YES},
    {"is_cpu", IS_ON},
    {"requires_grad", NO},
    {"retains_grad", NO},
    {"is_cuda", IS_ON},
    {"is_mps", IS_ON},
    {"is_xpu", IS_ON},
    {"is_xla", IS_ON},
    {"is_sparse", NO},
    {"is_sparse_csr", NO},
    {"is_quantized", NO},
    {"is_nested", NO},
    {"is_mkldnn", NO},
    {"is_meta", IS_ON},
    {"is_vulkan", IS_ON},
    {"is_ipu", IS_ON},
    {"is_maia", IS_ON},
};

static cfx_status give_device(cfx_call *call, const cfx_tensor *x)
{
    char name[32];
    cfx_device_format(x->device, name, sizeof(name));
    return cfx_call_return_take(call, text_value(call, CFX_DEVICE, name));
}

static cfx_value adjoint_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.adjoint", call->in[0]);
}

/* All axes for `T`, the last two for the others. */
static cfx_status transposed(cfx_call *call, const char *name, bool matrix)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_view v;
    cfx_view_begin(&v, x);
    if ((matrix && x->rank == 1) || (!strcmp(name, "H") && x->rank > 2))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.",
            name, x->rank);
    if (strchr(name, 'H') && cfx_call_is_complex(call))
        return cfx_composite_infer(call, adjoint_build);
    if (matrix && x->rank)
        cfx_view_swap(&v, x->rank - 2, x->rank - 1);
    for (int i = 0; !matrix && i < x->rank / 2; i++)
        cfx_view_swap(&v, i, x->rank - 1 - i);
    return cfx_view_out(call, 0, &v);
}

static cfx_status tensor_attribute(cfx_call *call, const cfx_tensor *x,
                                   const char *name, enum attribute what)
{
    int64_t size = (int64_t)cfx_dtype_size((cfx_dtype)x->dtype);
    switch (what) {
    case SHAPE: return give_dims(call, x->rank, x->shape);
    case DTYPE_:
        return cfx_call_return_take(call,
                                    cfx_value_of_dtype((cfx_dtype)x->dtype));
    case DEVICE: return give_device(call, x);
    case LAYOUT:
        return cfx_call_return_take(
            call, text_value(call, CFX_LAYOUT, "torch.strided"));
    case NDIM: return cfx_call_return_take(call, cfx_int(x->rank));
    case ITEMSIZE: return cfx_call_return_take(call, cfx_int(size));
    case NBYTES:
        return cfx_call_return_take(
            call, cfx_value_of_dim(cfx_dim_mul(call->env, numel_of(call, x),
                                               cfx_dim_int(size))));
    case T: return transposed(call, name, false);
    case MT:
    case H:
    case MH: return transposed(call, name, true);
    case ITSELF: return cfx_call_out_same(call, 0);
    case REAL: return cfx_view_part(call, 0);
    case IMAG: return cfx_view_part(call, 1);
    case NONE: return cfx_call_return_take(call, cfx_none());
    case IS_ON:
        return cfx_call_return_take(
            call, cfx_bool(cfx_device_is(x->device, name + 3)));
    default: return cfx_call_return_take(call, cfx_bool(what == YES));
    }
}

/* ---- Attributes of other things ---- */

/* Place of a word in a list of them, or -1. */
static int word_in(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; *words; i++) {
        size_t len = strcspn(words, " ");
        if (len == n && !memcmp(words, name, n))
            return i;
        words += len + strspn(words + len, " ");
    }
    return -1;
}

static cfx_status device_attribute(cfx_call *call, const char *name,
                                   bool *found)
{
    const char *text = call->in[0].u.str->text;
    size_t cut = strcspn(text, ":");
    *found = true;
    if (!strcmp(name, "type"))
        return cfx_call_return_take(call, cfx_str_new(call->ctx, text, cut));
    if (strcmp(name, "index"))
        *found = false;
    else if (!text[cut])
        return cfx_call_return_take(call, cfx_none());
    int64_t index = 0;
    for (const char *p = text + cut + 1; *found && *p && index < 1000; p++)
        index = 10 * index + (*p - '0');
    return cfx_call_return_take(call, cfx_int(index));
}

static cfx_status other_attribute(cfx_call *call, const char *name,
                                  bool *found)
{
    static const char parts[] = "start stop step";
    cfx_value v = call->in[0];
    int at = -1;
    if (v.kind == CFX_DEVICE)
        return device_attribute(call, name, found);
    if (v.kind == CFX_SLICE || v.kind == CFX_RANGE)
        at = word_in(parts, name);
    else if (cfx_value_is_seq(v) && v.u.seq->type)
        at = word_in(v.u.seq->type->fields, name);
    *found = true;
    if (at >= 0 && (uint32_t)at < v.u.seq->len)
        return cfx_call_return_take(call, cfx_value_ref(v.u.seq->item[at]));
    if (v.kind == CFX_DTYPE && !strcmp(name, "itemsize"))
        return cfx_call_return_take(
            call, cfx_int((int64_t)cfx_dtype_size(v.u.dtype)));
    if (v.kind == CFX_DTYPE && !strcmp(name, "is_floating_point"))
        return cfx_call_return_take(call,
                                    cfx_bool(cfx_dtype_is_float(v.u.dtype)));
    if (v.kind == CFX_DTYPE && !strcmp(name, "is_complex"))
        return cfx_call_return_take(call,
                                    cfx_bool(cfx_dtype_is_complex(v.u.dtype)));
    if (v.kind == CFX_DTYPE && !strcmp(name, "is_signed"))
        return cfx_call_return_take(call,
                                    cfx_bool(cfx_dtypes[v.u.dtype].is_signed));
    *found = false;
    return CFX_OK;
}

static cfx_status getattr_infer(cfx_call *call)
{
    const char *name = cfx_call_str(call, 1);
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    bool found = false;
    for (size_t i = 0; x && i < sizeof(attributes) / sizeof(*attributes); i++)
        if (!strcmp(attributes[i].name, name))
            return tensor_attribute(call, x, name, attributes[i].what);
    cfx_status st = x ? CFX_OK : other_attribute(call, name, &found);
    if (st || found)
        return st;
    if (call->schema->nparams > 2)
        return cfx_call_return_take(call, cfx_value_ref(call->in[2]));
    return cfx_call_fail(call, CFX_EINVAL, "'%s' object has no attribute '%s'",
                         cfx_kind_name(call->in[0].kind), name);
}

/* Conjugates are the only result that is neither a view nor known at once. */
static bool is_computed(const cfx_call *call)
{
    return call->nout && !call->alias[0];
}

static void getattr_cost(const cfx_call *call, cfx_cost *cost)
{
    if (is_computed(call))
        cfx_composite_cost(call, cost, adjoint_build);
    else
        cost->bytes_read = cost->bytes_written = cfx_dim_int(0);
}

static cfx_status getattr_run(cfx_call *call)
{
    return is_computed(call) ? cfx_composite_run(call, adjoint_build) : CFX_OK;
}

static const cfx_op getattr_default = {
    .schema = "getattr.default(any(a) self, str name, any default) -> any(a)",
    .aliases = "builtins.getattr",
    .doc = "An attribute by its name, or else another value.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = getattr_infer,
    .cost = getattr_cost,
    .run = getattr_run,
};

const cfx_op cfx_op__getattr = {
    .schema = "getattr(any(a) self, str name) -> any(a)",
    .aliases = "builtins.getattr",
    .doc = "An attribute by its name: shape, dtype, T, ...",
    .flags = CFX_OP_STORED_TYPES,
    .infer = getattr_infer,
    .cost = getattr_cost,
    .run = getattr_run,
    .next = &getattr_default,
};

/* ---- Methods that tell extents ---- */

static cfx_status one_of(cfx_call *call, const cfx_dim *dims)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    int axis;
    if (!cfx_call_has(call, 1))
        return give_dims(call, x->rank, dims);
    if (!x->rank)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Dimension specified as %lld but tensor has no dimensions",
            (long long)cfx_call_int(call, 1));
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, 1), x->rank, &axis);
    return st ? st : cfx_call_return_take(call, cfx_value_of_dim(dims[axis]));
}

static cfx_status size_infer(cfx_call *call)
{
    return one_of(call, cfx_call_tensor(call, 0)->shape);
}

static cfx_status stride_infer(cfx_call *call)
{
    return one_of(call, cfx_call_tensor(call, 0)->stride);
}

const cfx_op cfx_op__sym_size = {
    .schema = "sym_size(Tensor self, int? dim=None) -> any",
    .aliases = "Tensor.size .int aten.",
    .doc = "The extents, or that of one axis.",
    .infer = size_infer,
};

const cfx_op cfx_op__sym_stride = {
    .schema = "sym_stride(Tensor self, int? dim=None) -> any",
    .aliases = "Tensor.stride .int aten.",
    .doc = "The strides in elements, or that of one axis.",
    .flags = CFX_OP_READS_STRIDES,
    .infer = stride_infer,
};

static cfx_status numel_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    return cfx_call_return_take(call, cfx_value_of_dim(numel_of(call, x)));
}

static cfx_status dim_infer(cfx_call *call)
{
    return cfx_call_return_take(call, cfx_int(cfx_call_tensor(call, 0)->rank));
}

static cfx_status offset_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    return cfx_call_return_take(call, cfx_value_of_dim(x->offset));
}

static cfx_status element_size_infer(cfx_call *call)
{
    cfx_dtype t = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    return cfx_call_return_take(call, cfx_int((int64_t)cfx_dtype_size(t)));
}

#define TELLS(name, type, aliases_, infer_, doc_)                             \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> " type,                             \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .infer = infer_,                                                      \
    };

TELLS(
    sym_numel, "SymInt",
    "torch.numel Tensor.numel Tensor.nelement aten.sym_numel.default aten.numel.default",
    numel_infer, "The number of elements.")
TELLS(ndimension, "int", "Tensor.dim Tensor. torch.ndim aten.dim.default",
      dim_infer, "The number of axes.")
const cfx_op cfx_op__sym_storage_offset = {
    .schema = "sym_storage_offset(Tensor self) -> SymInt",
    .aliases = "Tensor.storage_offset aten.",
    .doc = "Elements before the first one in the storage.",
    .flags = CFX_OP_READS_STRIDES,
    .infer = offset_infer,
};

TELLS(element_size, "int", "Tensor.element_size", element_size_infer,
      "Bytes of an element.")

/* ---- Questions ---- */

static cfx_status is_contiguous_infer(cfx_call *call)
{
    cfx_memory_format format = call->in[1].u.format;
    if (format == CFX_PRESERVE_FORMAT)
        return cfx_call_fail(call, CFX_EINVAL,
                             "preserve memory format is unsupported");
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    return cfx_call_return_take(call, cfx_bool(cfx_view_is_dense(x, format)));
}

const cfx_op cfx_op__is_contiguous = {
    .schema =
        "is_contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> bool",
    .aliases = "Tensor. aten.",
    .doc = "Are the elements in the order of a memory format, without gaps?",
    .flags = CFX_OP_READS_STRIDES,
    .infer = is_contiguous_infer,
};

static cfx_status is_floating_infer(cfx_call *call)
{
    cfx_dtype t = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    return cfx_call_return_take(call, cfx_bool(cfx_dtype_is_float(t)));
}

static cfx_status is_complex_infer(cfx_call *call)
{
    cfx_dtype t = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    return cfx_call_return_take(call, cfx_bool(cfx_dtype_is_complex(t)));
}

static cfx_status is_signed_infer(cfx_call *call)
{
    cfx_dtype t = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    return cfx_call_return_take(call, cfx_bool(cfx_dtypes[t].is_signed));
}

static cfx_status never_infer(cfx_call *call)
{
    return cfx_call_return_take(call, cfx_bool(false));
}

static cfx_status is_same_size_infer(cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, 0);
    const cfx_tensor *b = cfx_call_tensor(call, 1);
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_eq(call->env, a->shape[i], b->shape[i]);
    return cfx_call_return_take(call, cfx_bool(same));
}

static cfx_status is_tensor_infer(cfx_call *call)
{
    return cfx_call_return_take(call,
                                cfx_bool(call->in[0].kind == CFX_TENSOR));
}

TELLS(is_floating_point, "bool", "torch. Tensor. aten.", is_floating_infer,
      "Are the elements floats?")
TELLS(is_signed, "bool", "torch. Tensor. aten.", is_signed_infer,
      "May the elements be negative?")
TELLS(is_complex, "bool", "torch. Tensor. aten.", is_complex_infer,
      "Are the elements complex numbers?")
TELLS(is_conj, "bool", "torch. Tensor. torch.is_neg Tensor.is_neg aten.",
      never_infer, "Is a sign still to be applied?")

const cfx_op cfx_op__is_same_size = {
    .schema = "is_same_size(Tensor self, Tensor other) -> bool",
    .aliases = "Tensor. torch. aten.",
    .doc = "Have two tensors the same extents?",
    .infer = is_same_size_infer,
};

const cfx_op cfx_op__is_tensor = {
    .schema = "is_tensor(any obj) -> bool",
    .aliases = "torch.",
    .doc = "Is it a tensor?",
    .infer = is_tensor_infer,
};

static cfx_status get_device_infer(cfx_call *call)
{
    cfx_device_label device = cfx_call_tensor(call, 0)->device;
    int index = cfx_device_is(device, "cpu") ? -1 : device & 0xff;
    return cfx_call_return_take(call, cfx_int(index));
}

TELLS(get_device, "int", "Tensor.get_device torch.get_device",
      get_device_infer, "The number of the device, -1 for the processor.")
