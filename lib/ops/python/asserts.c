/*
 * asserts -- what exported graphs claim of their values, and switches of modes
 * that change no result here.
 *
 * shape   the result is None.
 * cost    none.
 */
#include "op/infer.h"

/* ---- Tensors ---- */

enum { TENSOR, SIZE, STRIDE, DTYPE };

static cfx_status check_extents(cfx_call *call, int k, const cfx_dim *have,
                                const char *what)
{
    const cfx_tensor *t = cfx_call_tensor(call, TENSOR);
    if (!cfx_call_has(call, k))
        return CFX_OK;
    bool same = cfx_call_len(call, k) == t->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = cfx_dim_eq(call->env, have[i], cfx_call_dim(call, k, i));
    return same ? CFX_OK
                : cfx_call_fail(call, CFX_ESHAPE, "Tensor %s mismatch!", what);
}

static cfx_status tensor_metadata_infer(cfx_call *call)
{
    const cfx_tensor *t = cfx_call_tensor(call, TENSOR);
    cfx_status st = check_extents(call, SIZE, t->shape, "sizes");
    if (!st)
        st = check_extents(call, STRIDE, t->stride, "strides");
    if (!st && cfx_call_has(call, DTYPE) &&
        call->in[DTYPE].u.dtype != (cfx_dtype)t->dtype)
        st = cfx_call_fail(call, CFX_EDTYPE,
                           "Tensor dtype mismatch! Expected: %s, Got: %s",
                           cfx_dtypes[call->in[DTYPE].u.dtype].name,
                           cfx_dtypes[t->dtype].name);
    return st ? st : cfx_infer_none(call);
}

const cfx_op cfx_op___assert_tensor_metadata = {
    .schema =
        "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> any",
    .aliases = "torch. aten.",
    .doc = "Fail unless a tensor has these extents, strides and dtype.",
    .flags = CFX_OP_EFFECT,
    .infer = tensor_metadata_infer,
};

/* ---- Numbers ---- */

/* An extent that is not known yet has the range from then on. */
static cfx_status check_range(cfx_call *call, cfx_value least, cfx_value most)
{
    cfx_value v = call->in[0];
    cfx_dim d;
    if (v.kind != CFX_INT && v.kind != CFX_SYMINT)
        return cfx_call_fail(call, CFX_EINVAL,
                             "Constraining SymFloat or Symbool is nyi");
    d = cfx_value_dim(v);
    bool ok = (cfx_value_is_none(least) ||
               cfx_dim_le(call->env, cfx_value_dim(least), d)) &&
              (cfx_value_is_none(most) ||
               cfx_dim_le(call->env, d, cfx_value_dim(most)));
    if (ok)
        return cfx_infer_none(call);
    if (v.kind == CFX_INT)
        return cfx_call_fail(call, CFX_EINVAL, "%lld is out of its range",
                             (long long)v.u.i);
    return cfx_call_fail(call, CFX_EINVAL, "the value is out of its range");
}

static cfx_status range_infer(cfx_call *call)
{
    return check_range(call, call->in[1], call->in[2]);
}

static cfx_status range_of_size_infer(cfx_call *call)
{
    cfx_value least = cfx_call_has(call, 1) ? call->in[1] : cfx_int(0);
    return check_range(call, least, call->in[2]);
}

static cfx_status is_size_infer(cfx_call *call)
{
    return check_range(call, cfx_int(0), call->in[2]);
}

#define RANGE "(Scalar size, *, int? min=None, int? max=None) -> any"

const cfx_op cfx_op__sym_constrain_range = {
    .schema = "sym_constrain_range" RANGE,
    .aliases = "torch.sym_constrain_range aten.sym_constrain_range.default",
    .doc = "Fail unless a number is in a range.",
    .flags = CFX_OP_EFFECT,
    .infer = range_infer,
};

const cfx_op cfx_op__sym_constrain_range_for_size = {
    .schema = "sym_constrain_range_for_size" RANGE,
    .aliases =
        "torch.sym_constrain_range_for_size aten.sym_constrain_range_for_size.default",
    .doc = "Fail unless a number is an extent in a range.",
    .flags = CFX_OP_EFFECT,
    .infer = range_of_size_infer,
};

const cfx_op cfx_op___check_is_size = {
    .schema =
        "_check_is_size(Scalar i, any message=None, *, int? max=None) -> any",
    .aliases = "torch.",
    .doc = "Fail unless a number can be an extent.",
    .flags = CFX_OP_EFFECT,
    .infer = is_size_infer,
};

/* ---- Modes ---- */

const cfx_op cfx_op___set_grad_enabled = {
    .schema = "_set_grad_enabled(bool enabled) -> any",
    .aliases =
        "torch._C._set_grad_enabled torch._C._set_fwd_grad_enabled torch.autograd.grad_mode._enter_inference_mode",
    .doc = "Nothing: there are no gradients to switch.",
    .flags = CFX_OP_EFFECT,
    .infer = cfx_infer_none,
};

#define MODE(name, list, aliases_, doc_)                                      \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> any",                                  \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = CFX_OP_EFFECT,                                               \
        .infer = cfx_infer_none,                                              \
    };

MODE(_exit_inference_mode, "any mode",
     "torch.autograd.grad_mode._exit_inference_mode",
     "Nothing: there are no gradients to switch.")
MODE(
    _record_function_enter, "str name, str? args=None",
    "profiler._record_function_enter_new profiler._record_function_enter_new.default profiler._record_function_enter profiler._record_function_enter.default",
    "Nothing: marks are for PyTorch's profiler.")
MODE(
    _record_function_exit, "any handle",
    "profiler._record_function_exit profiler._record_function_exit.default profiler._record_function_exit._RecordFunction",
    "Nothing: marks are for PyTorch's profiler.")
MODE(_backend_from_string, "str name",
     "torch.nn.attention._backend_from_string",
     "Nothing: an implementation of attention, of which there is one.")
MODE(_sdpa_kernel, "any backends, bool set_priority=False",
     "torch.nn.attention._sdpa_kernel",
     "Nothing: there is one implementation of attention to choose.")

static cfx_status enter_autocast_infer(cfx_call *call)
{
    if (cfx_call_bool(call, 2))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "autocast is only supported where it is off: export the model without it, in the dtypes it is to run in");
    return cfx_infer_none(call);
}

const cfx_op cfx_op___enter_autocast = {
    .schema =
        "_enter_autocast(str device_type, ScalarType? dtype=None, bool enabled=True, bool? cache_enabled=None) -> any",
    .aliases = "torch.amp.autocast_mode._enter_autocast",
    .doc = "Nothing, where autocast is switched off.",
    .flags = CFX_OP_EFFECT,
    .infer = enter_autocast_infer,
};

const cfx_op cfx_op___exit_autocast = {
    .schema = "_exit_autocast(any mode) -> any",
    .aliases = "torch.amp.autocast_mode._exit_autocast",
    .doc = "Nothing: autocast is off.",
    .flags = CFX_OP_EFFECT,
    .infer = cfx_infer_none,
};
