/*
 * matrix_norm -- linalg.norm, linalg.matrix_norm and nuclear_norm.
 *
 * shape   that of the tensor without the axes of the norm.
 * cost    that of the operators they consist of.
 */
#include <math.h>
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, ORD, DIM, KEEPDIM, DTYPE);

static cfx_value vector_norm(cfx_scope *s, const cfx_call *call, cfx_value ord,
                             cfx_value dim)
{
    cfx_value keys[] = {cfx_str(s, "dtype"), cfx_call_value(call, DTYPE)};
    cfx_value args[] = {cfx_call_value(call, SELF), ord, dim,
                        cfx_call_value(call, KEEPDIM)};
    return cfx_call_function(s, "torch.linalg.vector_norm",
                             (cfx_args){args, 4, keys, 1});
}

/* The greatest or least of the sums of absolute values along the other axis:
 * axes[0] is added up, axes[1] is searched. */
static cfx_value of_sums(cfx_scope *s, const cfx_call *call, const int axes[2],
                         bool greatest)
{
    bool keep = cfx_call_value(call, KEEPDIM).u.i;
    int at = axes[1] - (!keep && axes[1] > axes[0]);
    cfx_value sums = vector_norm(s, call, cfx_int(1),
                                 cfx_tuple(s, cfx_int(axes[0])));
    return CFX_CALL(s, greatest ? "torch.amax" : "torch.amin", sums,
                    cfx_tuple(s, cfx_int(at)), cfx_bool(keep));
}

/* The sum of the singular values (p = 0), the greatest (2) or the least (-2) of
 * them; 0 is the greatest of none. */
static cfx_value of_singular_values(cfx_scope *s, const cfx_call *call,
                                    const int axes[2], double p)
{
    cfx_value x = cfx_call_value(call, SELF), last = cfx_int(-1);
    cfx_value keep = cfx_call_value(call, KEEPDIM);
    cfx_value ends = cfx_tuple(s, cfx_int(-2), last);
    cfx_value from = cfx_tuple(s, cfx_int(axes[0]), cfx_int(axes[1]));
    if (cfx_call_has(call, DTYPE))
        x = CFX_CALL(s, "Tensor.to", x, cfx_call_value(call, DTYPE));
    x = CFX_CALL(s, "torch.movedim", x, from, ends);
    x = CFX_CALL(s, "torch.linalg.svdvals", x);
    const cfx_tensor *values = cfx_meta_of(s, x);
    bool none = values && cfx_dim_is(values->shape[values->rank - 1], 0);
    x = CFX_CALL(s,
                 p == 0 || (p > 0 && none) ? "torch.sum"
                 : p > 0                   ? "torch.amax"
                                           : "torch.amin",
                 x, cfx_tuple(s, last), keep);
    if (!keep.u.i)
        return x;
    x = CFX_CALL(s, "torch.unsqueeze", x, last);
    return CFX_CALL(s, "torch.movedim", x, ends, from);
}

static bool read_axes(cfx_scope *s, const cfx_call *call, int axes[2])
{
    int rank = cfx_call_value(call, SELF).u.tensor->rank;
    bool given = cfx_call_has(call, DIM);
    for (int i = 0; i < 2; i++) {
        int64_t axis = given ? cfx_call_item(call, DIM, i).u.i : i;
        if (axis < -rank || axis >= rank) {
            cfx_scope_fail(
                s, CFX_EINVAL,
                "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                -rank, rank - 1, (long long)axis);
            return false;
        }
        axes[i] = (int)(axis < 0 ? axis + rank : axis);
    }
    if (axes[0] == axes[1])
        cfx_scope_fail(s, CFX_EINVAL,
                       "linalg.matrix_norm: dims must be different");
    return axes[0] != axes[1];
}

static cfx_value matrix_norm(cfx_scope *s, const cfx_call *call)
{
    cfx_value ord = cfx_call_value(call, ORD);
    const char *word = ord.kind == CFX_STR ? ord.u.str->text : NULL;
    int axes[2];
    int n = cfx_call_has(call, DIM)
                ? cfx_call_len(call, DIM)
                : cfx_call_value(call, SELF).u.tensor->rank;
    if (n != 2)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "linalg.matrix_norm: dim must be a 2-tuple");
    if (!read_axes(s, call, axes))
        return cfx_none();
    if (word && !strcmp(word, "fro"))
        return vector_norm(s, call, cfx_int(2),
                           cfx_tuple(s, cfx_int(axes[0]), cfx_int(axes[1])));
    double p = word ? 0 : cfx_value_number(ord);
    if (fabs(p) == 1)
        return of_sums(s, call, axes, p > 0);
    if (isinf(p))
        return of_sums(s, call, (int[]){axes[1], axes[0]}, p > 0);
    if (word && strcmp(word, "nuc"))
        return cfx_scope_fail(
            s, CFX_EINVAL, "linalg.matrix_norm: Order %s not supported", word);
    if (!word && fabs(p) != 2)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "linalg.matrix_norm: Order %g not supported", p);
    return of_singular_values(s, call, axes, p);
}

static cfx_value linalg_matrix_norm_build(cfx_scope *s, const cfx_call *call)
{
    if (cfx_call_value(call, SELF).u.tensor->rank < 2)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
    return matrix_norm(s, call);
}

static cfx_value linalg_norm_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value ord = cfx_call_value(call, ORD), dim = cfx_call_value(call, DIM);
    int rank = cfx_call_value(call, SELF).u.tensor->rank;
    int axes = cfx_call_has(call, DIM) ? cfx_call_len(call, DIM) : rank;
    bool given = cfx_call_has(call, ORD);
    if (cfx_call_has(call, DIM) && axes != 1 && axes != 2)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "linalg.norm: If dim is specified, it must be of length 1 or 2.");
    if (!cfx_call_has(call, DIM) && given && rank != 1 && rank != 2)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D.");
    if (ord.kind == CFX_STR || (given && axes == 2))
        return matrix_norm(s, call);
    return vector_norm(s, call, given ? ord : cfx_int(2), dim);
}

static cfx_value nuclear_norm_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value axes = cfx_call_value(call, DIM);
    if (cfx_value_is_none(axes))
        axes = cfx_tuple(s, cfx_int(-2), cfx_int(-1));
    return CFX_CALL(s, "torch.linalg.matrix_norm", cfx_call_value(call, SELF),
                    cfx_str(s, "nuc"), axes, cfx_call_value(call, KEEPDIM));
}

CFX_COMPOSITE(linalg_norm)
CFX_COMPOSITE(linalg_matrix_norm)
CFX_COMPOSITE(nuclear_norm)

#define TAIL "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"

const cfx_op cfx_op__linalg_norm = {
    .schema = "linalg_norm(Tensor self, any ord=None, int[1]? dim=None, " TAIL,
    .params = params,
    .aliases = "torch.linalg.",
    .variants =
        (const cfx_variant[]){
            {"aten.linalg_norm.default(Tensor self, Scalar? ord=None, int[1]? dim=None, " TAIL,
             NULL},
            {"aten.linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, " TAIL,
             NULL},
            {NULL, NULL}},
    .doc = "A vector's norm, or a matrix's.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_norm_infer,
    .cost = linalg_norm_cost,
    .run = linalg_norm_run,
};

const cfx_op cfx_op__linalg_matrix_norm = {
    .schema =
        "linalg_matrix_norm(Tensor self, any ord='fro', int[2] dim=[-2, -1], " TAIL,
    .params = params,
    .aliases = "torch.linalg.",
    .variants =
        (const cfx_variant[]){
            {"aten.linalg_matrix_norm.default(Tensor self, Scalar ord, int[2] dim=[-2, -1], " TAIL,
             NULL},
            {"aten.linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[2] dim=[-2, -1], " TAIL,
             NULL},
            {NULL, NULL}},
    .doc = "The norms of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_matrix_norm_infer,
    .cost = linalg_matrix_norm_cost,
    .run = linalg_matrix_norm_run,
};

const cfx_op cfx_op__nuclear_norm = {
    .schema =
        "nuclear_norm(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .params = params,
    .aliases = ".dim",
    .variants =
        (const cfx_variant[]){
            {"torch.nuclear_norm(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
             NULL},
            {"torch.nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
             NULL},
            {"aten.nuclear_norm.default(Tensor self, bool keepdim=False) -> Tensor",
             NULL},
            {NULL, NULL}},
    .doc = "The sum of the singular values of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = nuclear_norm_infer,
    .cost = nuclear_norm_cost,
    .run = nuclear_norm_run,
};
