/*
 * torch_call -- an operator that calls PyTorch, for nodes that cfx lacks.
 *
 *     torch.ops.cfx.torch_call.default(target, result, args, kwargs, symbols)
 *
 * shape   `result` is the text of what PyTorch's FakeTensor gave: a tensor, or with
 *         the overload `list` several. `symbols` are the values of its symbols.
 * cost    reads the tensors, writes the results; the arithmetic is not known.
 *
 * The tensors are shared with PyTorch in both directions.
 */
#include "py.h"

#include <string.h>

CFX_PARAMS(params, TARGET, RESULT, ARGS, KWARGS, SYMBOLS);

/* ---- Shapes ---- */

static bool value_of_symbol(void *user, const char *name, cfx_dim *out)
{
    const cfx_value *symbols = user;
    cfx_value v = symbols->kind == CFX_DICT ? cfx_dict_get(*symbols, name)
                                            : CFX_NOTHING;

    if (v.kind != CFX_INT && v.kind != CFX_SYMINT)
        return false;
    *out = cfx_value_dim(v);
    return true;
}

static cfx_status substitute(void *user, cfx_value v, cfx_value *out)
{
    cfx_call *call = user;
    cfx_value symbols = cfx_call_value(call, SYMBOLS);
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *t = v.u.tensor;

    *out = v.kind == CFX_TENSOR ? CFX_NOTHING : cfx_value_ref(v);
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    for (int i = 0; i < t->rank; i++) {
        shape[i] = cfx_dim_subst(call->env, t->shape[i], value_of_symbol,
                                 &symbols);
        stride[i] = cfx_dim_subst(call->env, t->stride[i], value_of_symbol,
                                  &symbols);
    }
    cfx_status st = cfx_tensor_meta(&t, call->ctx, (cfx_dtype)t->dtype,
                                    t->rank, shape, stride, call->err);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

/* What the text says, over the symbols of the call. */
static cfx_status parse_result(cfx_value *out, cfx_call *call)
{
    const char *text = cfx_call_str(call, RESULT);
    cfx_shape_env *env = NULL;
    cfx_value v = CFX_NOTHING;
    cfx_status st = CFX_OK;

    *out = CFX_NOTHING;
    if (cfx_call_has(call, SYMBOLS))
        st = cfx_shape_env_new(&env, call->ctx, call->err);
    if (!st)
        st = cfx_parse_shape(&v, call->ctx, env, text, strlen(text),
                             call->err);
    if (!st)
        st = cfx_value_map(out, call->ctx, v, substitute, call, call->err);
    cfx_value_unref(v);
    cfx_shape_env_free(env);
    return st;
}

static cfx_status torch_call_infer(cfx_call *call)
{
    cfx_value v;
    cfx_status st = parse_result(&v, call);

    if (st)
        return st;
    if (v.kind != CFX_TENSOR)
        return cfx_call_return_take(call, v);
    const cfx_tensor *t = v.u.tensor;
    st = cfx_call_out_strided(call, (cfx_dtype)t->dtype, t->rank, t->shape,
                              t->stride);
    cfx_value_unref(v);
    return st;
}

static void torch_call_cost(const cfx_call *call, cfx_cost *cost)
{
    (void)call;
    cost->algorithm = "in PyTorch";
}

/* ---- The call ---- */

static PyObject *call_function; /* _values.call_torch */
static py_kind torch_kind;

static int find_torch(void)
{
    if (call_function)
        return 0;
    PyObject *values = PyImport_ImportModule("cfx._values");

    if (values && !py_torch_kind(&torch_kind))
        call_function = PyObject_GetAttrString(values, "call_torch");
    Py_XDECREF(values);
    return call_function ? 0 : -1;
}

/* Does a tensor of the call's arguments have memory at the address? */
struct range {
    const char *start;
    bool inside;
};

static cfx_status look_inside(void *user, cfx_value v)
{
    struct range *r = user;

    const cfx_tensor *t = v.u.tensor;
    if (v.kind != CFX_TENSOR || !cfx_tensor_numel(t))
        return CFX_OK;
    size_t bytes = 1;
    for (int i = 0; i < t->rank; i++)
        bytes += (size_t)(cfx_tensor_size(t, i) - 1) *
                 (size_t)cfx_tensor_stride(t, i);
    bytes *= cfx_dtype_size((cfx_dtype)t->dtype);
    const char *data = t->data;
    r->inside |= r->start >= data && r->start < data + bytes;
    return CFX_OK;
}

static cfx_status is_view(bool *out, const cfx_call *call, const cfx_tensor *t)
{
    struct range r = {t->data, false};
    cfx_status st = cfx_value_visit(cfx_call_value(call, ARGS), look_inside,
                                    &r);

    if (!st)
        st = cfx_value_visit(cfx_call_value(call, KWARGS), look_inside, &r);
    *out = r.inside;
    return st;
}

static bool has_strides(const cfx_tensor *t, const cfx_tensor *like)
{
    for (int i = 0; i < t->rank; i++)
        if (cfx_tensor_size(t, i) > 1 &&
            !cfx_dim_same(t->stride[i], like->stride[i]))
            return false;
    return true;
}

/* Replace *v by a copy like `want`, if it has other strides or is a view: the memory
 * of an argument is used again after its last use. */
static cfx_status settle(cfx_value *v, cfx_call *call, cfx_value want)
{
    cfx_tensor *copy;
    bool view;

    if (v->kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_tensor *t = v->u.tensor, *like = want.u.tensor;
    cfx_status st = is_view(&view, call, t);
    if (st || (!view && has_strides(t, like)))
        return st;
    st = cfx_tensor_meta(&copy, call->ctx, (cfx_dtype)like->dtype, like->rank,
                         like->shape, like->stride, call->err);
    if (st)
        return st;
    st = cfx_tensor_alloc(copy, call->err);
    if (!st)
        st = cfx_tensor_copy(copy, t, call->err);
    cfx_value_unref(*v);
    *v = cfx_value_of_tensor(copy);
    return st;
}

/* Compare with the types and shapes that the rule gave, which has `want`. */
static cfx_status check_result(cfx_call *call, cfx_value have, cfx_value want)
{
    cfx_shape_match *m;
    cfx_status st = cfx_shape_match_new(&m, call->ctx, NULL, call->err);

    if (st)
        return st;
    st = cfx_shape_match_check(m, cfx_call_str(call, TARGET), have, want,
                               false, call->err);
    cfx_shape_match_free(m);
    return st;
}

/* Takes `have`. */
static cfx_status return_result(cfx_call *call, cfx_value have)
{
    cfx_value want;
    cfx_status st = parse_result(&want, call);

    if (!st)
        st = check_result(call, have, want);
    if (!st && have.kind == CFX_TENSOR)
        st = settle(&have, call, want);
    /* It is not shared yet. */
    for (uint32_t i = 0; !st && have.kind == CFX_TUPLE && i < have.u.seq->len;
         i++)
        st = settle(&have.u.seq->item[i], call, want.u.seq->item[i]);
    cfx_value_unref(want);
    if (!st)
        return cfx_call_return_take(call, have);
    cfx_value_unref(have);
    return st;
}

/* Call it with the interpreter lock held. */
static PyObject *call_with_lock(const cfx_call *call)
{
    PyObject *target = NULL, *args = NULL, *kwargs = NULL, *out = NULL;

    if (!find_torch() &&
        (target = PyUnicode_FromString(cfx_call_str(call, TARGET))) &&
        (args = py_value_export(cfx_call_value(call, ARGS), &torch_kind)) &&
        (kwargs = py_value_export(cfx_call_value(call, KWARGS), &torch_kind)))
        out = PyObject_CallFunctionObjArgs(call_function, target, args, kwargs,
                                           NULL);
    Py_XDECREF(target);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return out;
}

static cfx_status torch_call_run(cfx_call *call)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    cfx_value v = CFX_NOTHING;
    PyObject *result = call_with_lock(call);
    int failed = result ? py_value_import(&v, call->ctx, result, NULL, false)
                        : -1;

    Py_XDECREF(result);
    if (failed)
        py_exception_keep();
    PyGILState_Release(gil);
    if (!failed)
        return return_result(call, v);
    return cfx_call_fail(call, CFX_EUSER, "%s failed in PyTorch",
                         cfx_call_str(call, TARGET));
}

static const cfx_op list = {
    .abi = CFX_ABI(cfx_op),
    .schema =
        "torch_call.list(str target, str result, any args, any kwargs, any symbols=None) -> Tensor[]",
    .params = params,
    .aliases = "torch.ops.cfx.torch_call.list",
    .doc =
        "The results of a function of PyTorch that returns several tensors.",
    .flags = CFX_OP_RANDOM | CFX_OP_OWN_RESULT | CFX_OP_STORED_TYPES,
    .infer = torch_call_infer,
    .cost = torch_call_cost,
    .run = torch_call_run,
};

const cfx_op py_torch_call = {
    .abi = CFX_ABI(cfx_op),
    .schema =
        "torch_call(str target, str result, any args, any kwargs, any symbols=None) -> Tensor",
    .params = params,
    .aliases = "torch.ops.cfx.torch_call.default torch.ops.cfx.torch_call",
    .doc = "The result of a function of PyTorch, which cfx does not have.",
    .flags = CFX_OP_RANDOM | CFX_OP_OWN_RESULT | CFX_OP_STORED_TYPES,
    .infer = torch_call_infer,
    .cost = torch_call_cost,
    .run = torch_call_run,
    .next = &list,
};
