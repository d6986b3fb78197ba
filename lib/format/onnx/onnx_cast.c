/*
 * onnx_cast -- rules that change the type of numbers.
 *
 * Casts to the floats of 8 and 4 bits that differ from torch's conversion, by
 * ONNX's attributes or because torch has no such type, are arithmetic on float32
 * before that conversion.
 *
 * Those on known ints are evaluated before: numbers.c.
 */
#include <math.h>

#include "format/onnx/onnx.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* ---- Floats of 8 and 4 bits ---- */

cfx_value onnx_in_type(onnx_node *n, cfx_value x, cfx_dtype to)
{
    bool same = !cfx_scope_failed(n->s) &&
                onnx_meta(n->s, x).kind == CFX_TENSOR &&
                onnx_type_of(n, x) == to;

    return same ? x : cfx_to(n->s, x, TYPE(to));
}

static cfx_value clamp(onnx_node *n, cfx_value x, double most)
{
    return cfx_clamp(n->s, x, .min = cfx_float(-most), .max = cfx_float(most));
}

static cfx_value round_to(onnx_node *n, cfx_value x, double step)
{
    x = cfx_round(n->s, cfx_mul(n->s, x, cfx_float(1 / step)));
    return cfx_mul(n->s, x, cfx_float(step));
}

/* float4e2m1 has steps of 0.5 below 2, of 1 below 4, and ends at 6. It has no
 * NaN, which becomes -0. */
static cfx_value round_float4(onnx_node *n, cfx_value x)
{
    cfx_scope *s = n->s;
    cfx_value size;

    x = clamp(n, cfx_nan_to_num(s, x, .nan = cfx_float(-0.0)), 6);
    size = cfx_abs(s, x);
    cfx_value high = cfx_where(s, cfx_lt(s, size, cfx_float(4)),
                               round_to(n, x, 1), round_to(n, x, 2));
    return cfx_where(s, cfx_lt(s, size, cfx_float(2)), round_to(n, x, 0.5),
                     high);
}

/* Round |x| to a power of two by `round_mode`, in the bits of the float: its
 * exponent, or the next one if the fraction is not zero. */
static cfx_value round_power(onnx_node *n, cfx_value x, bool saturate)
{
    const int64_t exponent = 0x7f800000, fraction = 0x7fffff;
    bool down = onnx_attr_is(n, "round_mode", "down", "up");
    cfx_scope *s = n->s;
    cfx_value y = cfx_abs(s, x);

    if (!onnx_attr_is(n, "round_mode", "nearest", "up")) {
        y = cfx_view_dtype(s, y, TYPE(CFX_I32));
        if (!down)
            y = cfx_add(s, y, cfx_int(fraction));
        y = cfx_bitwise_and(s, y, cfx_int(exponent));
        y = cfx_view_dtype(s, y, TYPE(CFX_F32));
    }
    if (saturate)
        y = clamp(n, y, 0x1p127);
    return cfx_where(s, cfx_isfinite(s, x), y, cfx_float((double)NAN));
}

bool onnx_is_small_float(cfx_dtype t)
{
    return cfx_dtype_is_float(t) && 1 << t & CFX_STORED_TYPES;
}

cfx_value onnx_small_float(onnx_node *n, cfx_value x, cfx_dtype to, int bits)
{
    bool saturate = onnx_attr_int(n, "saturate", 1);
    cfx_value nan = cfx_float((double)NAN);

    x = onnx_in_type(n, x, CFX_F32);
    if (bits == 4)
        x = round_float4(n, x);
    else if (to == CFX_F8E8M0FNU)
        x = round_power(n, x, saturate);
    else if (saturate)
        x = clamp(n, x, cfx_dtypes[to].largest);
    else if (to == CFX_F8E4M3FN) /* which torch saturates; 464 is a tie */
        x = cfx_where(n->s, cfx_le(n->s, cfx_abs(n->s, x), cfx_float(464)), x,
                      nan);
    return cfx_to(n->s, x, TYPE(to));
}

/* ---- Cast, CastLike, BitCast ---- */

/* The code of float: a mark that is none of a narrow type. */
enum { NOT_NARROW = 1 };

/* Keep the lowest bits of an int8 or uint8. */
static cfx_value lowest_bits(onnx_node *n, cfx_value x, cfx_dtype type,
                             int bits)
{
    cfx_value many = cfx_int(8 - bits);

    if (type == CFX_U8)
        return cfx_bitwise_and(n->s, x, cfx_int((1 << bits) - 1));
    return cfx_bitwise_right_shift(n->s, cfx_bitwise_left_shift(n->s, x, many),
                                   many);
}

/* A cast to a type of ONNX, which is `to` in memory. The result is a value of
 * its own where the types differ, so that it can be marked with its type. */
static cfx_value cast_to(onnx_node *n, cfx_value x, cfx_dtype to, int64_t code)
{
    int bits = onnx_narrow_bits(code);
    int64_t from = onnx_marked_type(n->s, x);
    bool narrow = bits || onnx_narrow_bits(from);

    if (narrow && from == code)
        return x;
    bool rounds = onnx_is_small_float(to) &&
                  (bits || onnx_type_of(n, x) != to);
    cfx_value y = rounds ? onnx_small_float(n, x, to, bits)
                         : onnx_in_type(n, x, to);
    if (!narrow)
        return y;
    if (bits && !onnx_is_small_float(to))
        y = lowest_bits(n, y, to, bits);
    else if (y.u.node == x.u.node)
        y = cfx_clone(n->s, x);
    onnx_mark_type(n->s, y, code ? code : NOT_NARROW);
    return y;
}

/* Cast input 0 to a type of numbers. */
static cfx_value cast_input(onnx_node *n, cfx_dtype to, int64_t code)
{
    cfx_value floats = to == CFX_F32 && onnx_has(n, 0)
                           ? onnx_floats(n->s, n->in[0])
                           : CFX_NOTHING;

    if (floats.kind)
        return floats;
    if (!onnx_has(n, 0) || !onnx_is_texts(n->s, n->in[0]))
        return cast_to(n, onnx_stored_tensor(n, 0), to, code);
    if (onnx_narrow_bits(code) || onnx_is_small_float(to))
        return onnx_fail(n, CFX_EUNSUPPORTED, "it casts strings to %s",
                         onnx_narrow_bits(code) ? onnx_type_name(code)
                                                : cfx_dtypes[to].name);
    return onnx_cast_texts(n, to);
}

/* Attributes of casts to small floats, which others have, too. */
static void ignore_rounding(onnx_node *n)
{
    onnx_ignore(n, "saturate");
    onnx_ignore(n, "round_mode");
}

cfx_value onnx_import_cast(onnx_node *n)
{
    int64_t code = onnx_attr_int(n, "to", 0);
    cfx_dtype to;

    ignore_rounding(n);
    if (code == ONNX_STRING)
        return onnx_cast_to_texts(n);
    if (!onnx_memory_type(&to, code))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it casts to %s, which is not supported",
                         onnx_type_name(code));
    return cast_input(n, to, code);
}

/* The bits of an element as a number of another type of as many. */
cfx_value onnx_import_bit_cast(onnx_node *n)
{
    int64_t code = onnx_attr_int(n, "to", 0);
    cfx_value x = onnx_stored_tensor(n, 0);
    cfx_dtype to, from = onnx_type_of(n, x);

    if (!onnx_dtype(&to, code) || onnx_narrow_bits(onnx_marked_type(n->s, x)))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it casts to %s, or from a type of less than 8 bits",
                         onnx_type_name(code));
    if (cfx_dtype_size(from) != cfx_dtype_size(to))
        return onnx_fail(n, CFX_EINVAL,
                         "it casts between types of different sizes");
    return cfx_view_dtype(n->s, x, TYPE(to));
}

cfx_value onnx_import_cast_like(onnx_node *n)
{
    ignore_rounding(n);
    if (onnx_has(n, 1) && onnx_is_texts(n->s, n->in[1]))
        return onnx_cast_to_texts(n);
    cfx_value like = onnx_stored_tensor(n, 1);
    return cast_input(n, onnx_type_of(n, like), onnx_marked_type(n->s, like));
}
