/*
 * onnx_uint64 -- division and shifts of numbers of uint64 that are computed in int64,
 * whose bits they have.
 */
#include "format/onnx/onnx.h"

static cfx_value lowest(cfx_scope *s)
{
    const int64_t v = INT64_MIN;

    return onnx_int_tensor(s, 0, 1, &v);
}

/* Less 2^63, numbers keep their order. */
static cfx_value at_least(cfx_scope *s, cfx_value a, cfx_value b)
{
    return cfx_to(s,
                  cfx_ge(s, cfx_bitwise_xor(s, a, lowest(s)),
                         cfx_bitwise_xor(s, b, lowest(s))),
                  cfx_value_of_dtype(CFX_I64));
}

static cfx_value shift_right(cfx_scope *s, cfx_value a, cfx_value by)
{
    /* Ones where int64's shift repeats the sign. */
    cfx_value signs = cfx_bitwise_left_shift(
        s, cfx_bitwise_right_shift(s, lowest(s), by), cfx_int(1));

    return cfx_bitwise_and(s, cfx_bitwise_right_shift(s, a, by),
                           cfx_bitwise_not(s, signs));
}

/* Twice the quotient of half of a is at most 1 too small. It is 0 or 1 where b
 * is 2^63 or more. */
static cfx_value quotient(cfx_scope *s, cfx_value a, cfx_value b)
{
    const int64_t one = 1;
    cfx_value half = shift_right(s, a, onnx_int_tensor(s, 0, 1, &one));
    cfx_value q = cfx_bitwise_left_shift(
        s, cfx_div(s, half, b, .rounding_mode = cfx_str(s, "trunc")),
        cfx_int(1));
    cfx_value rest = cfx_sub(s, a, cfx_mul(s, q, b));

    q = cfx_add(s, q, at_least(s, rest, b));
    return cfx_where(s, cfx_lt(s, b, cfx_int(0)), at_least(s, a, b), q);
}

cfx_value onnx_uint64_shift_right(onnx_node *n, cfx_value a, cfx_value by)
{
    return shift_right(n->s, a, by);
}

cfx_value onnx_uint64_div(onnx_node *n, cfx_value a, cfx_value b)
{
    return quotient(n->s, a, b);
}

cfx_value onnx_uint64_mod(onnx_node *n, cfx_value a, cfx_value b)
{
    return cfx_sub(n->s, a, cfx_mul(n->s, quotient(n->s, a, b), b));
}
