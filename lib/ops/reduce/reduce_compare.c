/*
 * reduce_compare -- tensors compared as wholes: equal, allclose; and as sets: isin.
 *
 * shape   equal and allclose give a bool, isin the shape of the elements.
 * cost    that of the operators they consist of; comparisons are free.
 */
#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, OTHER, RTOL, ATOL, EQUAL_NAN, ELEMENTS, TEST_ELEMENTS,
           ASSUME_UNIQUE, INVERT);

#define IN(k) cfx_call_value(call, k)

/* ---- equal, allclose ---- */

/* Are the shapes equal? */
static bool have_one_shape(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *y = cfx_call_tensor(call, OTHER);
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = cfx_dim_eq(call->env, x->shape[i], y->shape[i]);
    return same;
}

static cfx_status give_unknown(cfx_call *call)
{
    cfx_value v;
    cfx_status st = cfx_infer_unknown_number(call, CFX_BOOL, &v);
    return st ? st : cfx_call_return_take(call, v);
}

static cfx_status equal_infer(cfx_call *call)
{
    if (!call->meta)
        return CFX_OK;
    return have_one_shape(call) ? give_unknown(call)
                                : cfx_call_return_take(call, cfx_bool(false));
}

static cfx_status allclose_infer(cfx_call *call)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__meta, call->ctx, call->env);
    CFX_CALL(&s, "torch.isclose", IN(SELF), IN(OTHER), IN(RTOL), IN(ATOL),
             IN(EQUAL_NAN));
    cfx_status st = cfx_scope_status(&s, call->err);
    cfx_scope_release(&s);
    return st || !call->meta ? st : give_unknown(call);
}

/* The truth of all elements of `close`, a tensor of bools. */
static cfx_status give_all(cfx_call *call, cfx_scope *s, cfx_value close)
{
    bool all = cfx_truth(s, CFX_CALL(s, "torch.all", close));
    cfx_status st = cfx_scope_status(s, call->err);
    cfx_scope_release(s);
    return st ? st : cfx_call_return_take(call, cfx_bool(all));
}

static cfx_status equal_run(cfx_call *call)
{
    cfx_scope s;
    if (!have_one_shape(call))
        return cfx_call_return_take(call, cfx_bool(false));
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    return give_all(call, &s, CFX_CALL(&s, "torch.eq", IN(SELF), IN(OTHER)));
}

static cfx_status allclose_run(cfx_call *call)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    return give_all(call, &s,
                    CFX_CALL(&s, "torch.isclose", IN(SELF), IN(OTHER),
                             IN(RTOL), IN(ATOL), IN(EQUAL_NAN)));
}

const cfx_op cfx_op__equal = {
    .schema = "equal(Tensor self, Tensor other) -> bool",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Do two tensors have the same shape and elements?",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = equal_infer,
    .run = equal_run,
};

const cfx_op cfx_op__allclose = {
    .schema =
        "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Do two tensors hold nearly the same everywhere?",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = allclose_infer,
    .run = allclose_run,
};

/* ---- isin ---- */

/* Elements are looked up in the others, which are sorted, in the type that all
 * have in common. */
static cfx_value isin_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(ELEMENTS), set = IN(TEST_ELEMENTS);
    cfx_value type = cfx_value_of_dtype(cfx_infer_type(call, 0, 2));
    if (x.kind != CFX_TENSOR)
        x = CFX_CALL(s, "torch.scalar_tensor", x);
    if (set.kind != CFX_TENSOR)
        set = CFX_CALL(s, "torch.scalar_tensor", set);
    x = CFX_CALL(s, "Tensor.to", x, type);
    set = CFX_CALL(s, "Tensor.to", set, type);
    set = CFX_CALL(s, "torch.reshape", set, cfx_tuple(s, cfx_int(-1)));
    set = cfx_nth(s, CFX_CALL(s, "torch.sort", set), 0);
    cfx_value n = cfx_size(s, set, 0);
    cfx_value place = CFX_CALL(s, "torch.searchsorted", set, x);
    place = CFX_CALL(s, "torch.clamp", place, cfx_none(),
                     cfx_int_add(s, n, cfx_int(-1)));
    cfx_value found = CFX_CALL(s, "torch.take", set, place);
    return CFX_CALL(s, cfx_call_bool(call, INVERT) ? "torch.ne" : "torch.eq",
                    x, found);
}

/* Is there nothing to be in? */
static bool is_empty_set(const cfx_call *call)
{
    const cfx_tensor *set = cfx_call_tensor(call, TEST_ELEMENTS);
    return set && cfx_infer_is_empty(set);
}

static cfx_status isin_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, ELEMENTS);
    const cfx_tensor *set = cfx_call_tensor(call, TEST_ELEMENTS);
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    if (!x && !set)
        return cfx_call_fail(call, CFX_EINVAL, "takes a tensor");
    if (type == CFX_BOOL)
        return cfx_infer_refuse(call, type);
    return cfx_call_out(call, CFX_BOOL, x ? x->rank : 0, x ? x->shape : NULL);
}

static cfx_status isin_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    if (!is_empty_set(call))
        return cfx_composite_run(call, isin_build);
    cfx_iter it;
    cfx_loop_out(&it, y);
    cfx_loop_value(&it, cfx_bool(cfx_call_bool(call, INVERT)));
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

/* The variants name a number in the singular. */
static cfx_status isin_lower(cfx_call *call, const cfx_value *in,
                             cfx_value *out)
{
    enum { A, B, UNIQUE, INVERSE };
    out[cfx_call_place(call, ELEMENTS)] = in[A];
    out[cfx_call_place(call, TEST_ELEMENTS)] = in[B];
    out[cfx_call_place(call, ASSUME_UNIQUE)] = in[UNIQUE];
    out[cfx_call_place(call, INVERT)] = in[INVERSE];
    return CFX_OK;
}

const cfx_op cfx_op__isin = {
    .schema =
        "isin.Tensor_Tensor(Tensor/Scalar elements, Tensor/Scalar test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    .params = params,
    .aliases = "torch. aten.(Tensor,Tensor)",
    .variants =
        (const cfx_variant[]){
            {"torch.isin(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
             isin_lower},
            {"aten.isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
             isin_lower},
            {"torch.isin(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
             isin_lower},
            {"aten.isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
             isin_lower},
            {NULL, NULL}},
    .doc = "Is each element among others?",
    .infer = isin_infer,
    .run = isin_run,
};
