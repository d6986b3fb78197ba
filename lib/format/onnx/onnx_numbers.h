/*
 * numbers -- the numbers of shapes, as extents.
 *
 * numbers.c keeps them and calls the rules of number_rules.c, which compute one
 * number each.
 */
#ifndef CFX_FORMAT_ONNX_NUMBERS_H
#define CFX_FORMAT_ONNX_NUMBERS_H

#include "format/onnx/onnx.h"

/* Greater divisors have no exact floats. */
enum { ONNX_MAX_OPERANDS = 16, ONNX_MAX_DIVISOR = 1 << 20 };

/* An int, or a symbolic int, by a constant: a float is so, too. A bool is 0 or
 * 1. */
typedef struct onnx_fraction {
    cfx_value v;
    int64_t divisor; /* > 0 */
    cfx_value over;  /* of a bool that a symbol decides: is this >= 1? */
} onnx_fraction;

typedef struct onnx_operands {
    cfx_dtype type; /* of the first */
    size_t count;
    const onnx_fraction
        *item[ONNX_MAX_OPERANDS]; /* NULL where it is left out */
} onnx_operands;

/* One number of the result; false if it has no such form. */
typedef bool onnx_each_fn(onnx_node *n, const onnx_operands *x,
                          onnx_fraction *out);
/* Combine two numerators with one divisor into the result's, with the same. */
typedef cfx_value onnx_pair_fn(onnx_node *n, cfx_value a, cfx_value b);

/* How an operator works on the numbers of shapes: by one of `each`, `pair` and `data`; with
 * `base`, the numbers that it combines are found by changing each in turn. */
typedef struct onnx_known {
    onnx_each_fn *each;
    onnx_pair_fn *pair;
    enum { ONNX_SAME, ONNX_BOOLEAN, ONNX_OF_SECOND, ONNX_CAST } type;
    unsigned data; /* bits of the inputs whose elements are moved; the last bit
                      is of all from there on */
    bool rounds;   /* it rounds quotients that floats have not exactly */
    bool probes;
    int64_t base, changed; /* what stands for the numbers of a probe */
} onnx_known;

/* How an operator of ONNX does; NULL if it does not. */
const onnx_known *onnx_find_known(const char *op);

CFX_INLINE onnx_fraction onnx_whole(cfx_value v)
{
    return (onnx_fraction){v, 1, CFX_NOTHING};
}

/* One number of operands by the rule of an operator. */
bool onnx_evaluate(onnx_node *n, const onnx_known *how, const onnx_operands *x,
                   onnx_fraction *out);

#endif
