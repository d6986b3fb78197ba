/*
 * reflected -- methods by which Python computes `other OP self`: __rpow__ and
 * its kin; comparisons of a number with a tensor, for which Python asks the
 * tensor.
 *
 * shape, cost   those of the operator.
 */
#include "op/composite.h"
#include "op/rules.h"

static cfx_value reflected_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, call->op->data, call->in[1], call->in[0]);
}

CFX_COMPOSITE(reflected)

#define SWAPPED(name, params_, function, aliases_, doc_)                      \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" params_ ") -> Tensor",                            \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .data = function,                                                     \
        .infer = reflected_infer,                                             \
        .cost = reflected_cost,                                               \
        .run = reflected_run,                                                 \
    };
#define REFLECTED(name, function, aliases_, doc_)                             \
    SWAPPED(name, CFX_NUMBER_SECOND, function, aliases_, doc_)
#define COMPARED(name, word, function, doc_)                                  \
    SWAPPED(name, "Scalar self, Tensor other", function, "operator." word,    \
            doc_)

COMPARED(req, "eq", "torch.eq", "number == tensor.")
COMPARED(rne, "ne", "torch.ne", "number != tensor.")
COMPARED(rlt, "lt", "torch.gt", "number < tensor.")
COMPARED(rle, "le", "torch.ge", "number <= tensor.")
COMPARED(rgt, "gt", "torch.lt", "number > tensor.")
COMPARED(rge, "ge", "torch.le", "number >= tensor.")

REFLECTED(rpow, "torch.pow", "Tensor.__rpow__", "other ** self.")
REFLECTED(rmod, "torch.remainder", "Tensor.__rmod__", "other % self.")
REFLECTED(rdiv, "torch.div", "Tensor.__rdiv__ Tensor.__rtruediv__",
          "other / self.")
REFLECTED(rfloordiv, "torch.floor_divide", "Tensor.__rfloordiv__",
          "other // self.")
REFLECTED(rlshift, "torch.bitwise_left_shift", "Tensor.__rlshift__",
          "other << self.")
REFLECTED(rrshift, "torch.bitwise_right_shift", "Tensor.__rrshift__",
          "other >> self.")
REFLECTED(rmatmul, "torch.matmul", "Tensor.__rmatmul__", "other @ self.")
