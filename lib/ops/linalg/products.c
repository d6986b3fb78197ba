/*
 * products -- of vectors and matrices in other ways: outer, inner, tensordot,
 * kron, cross, bilinear, addr, addbmm, trace, _int_mm.
 *
 * shape   outer (n, m); inner and tensordot what is not contracted of either;
 *         kron the products of extents; cross the broadcast one; bilinear
 *         (..., out).
 * cost    that of the operators they consist of.
 */
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"
#include "op/list.h"

#define IN(k) call->in[k]

static int rank_of(cfx_value x)
{
    return x.u.tensor->rank;
}

static cfx_value extent(cfx_value x, int axis)
{
    return cfx_value_of_dim(x.u.tensor->shape[axis]);
}

/* ---- outer, addr ---- */

static cfx_value outer(cfx_scope *s, cfx_value x, cfx_value y)
{
    if (rank_of(x) != 1 || rank_of(y) != 1)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "outer: Expected 1-D arguments, but got %d-D and %d-D", rank_of(x),
            rank_of(y));
    x = CFX_CALL(s, "torch.unsqueeze", x, cfx_int(1));
    return CFX_CALL(s, "torch.mul", x, y);
}

static cfx_value outer_build(cfx_scope *s, const cfx_call *call)
{
    return outer(s, IN(0), IN(1));
}

/* beta * self + alpha * product; with beta = 0 self is not looked at. */
static cfx_value add_scaled(cfx_scope *s, cfx_value self, cfx_value beta,
                            cfx_value alpha, cfx_value product)
{
    const cfx_tensor *p = cfx_meta_of(s, product);
    if (cfx_scope_failed(s))
        return cfx_none();
    if (cfx_value_number(alpha) != 1)
        product = CFX_CALL(s, "torch.mul", product, alpha);
    if (p)
        self = CFX_CALL(s, "Tensor.expand_as", self, product);
    if (cfx_value_number(beta) == 0)
        return product;
    if (cfx_value_number(beta) != 1)
        self = CFX_CALL(s, "torch.mul", self, beta);
    return CFX_CALL(s, "torch.add", self, product);
}

/* Argument k as a factor in the type of the result: bools are true or not, and
 * integers lose their fraction. */
static cfx_value factor(cfx_scope *s, const cfx_call *call, int k,
                        cfx_dtype type)
{
    cfx_call checked = *call;
    cfx_value v = IN(k);
    if (cfx_dtype_is_complex(type))
        return v;
    checked.err = &s->error;
    if (type == CFX_BOOL)
        return cfx_bool(cfx_value_number(v) != 0);
    if (cfx_list_check_factor(&checked, v, type))
        return cfx_none();
    bool whole = cfx_dtypes[type].category < CFX_CAT_FLOAT;
    return whole && v.kind == CFX_FLOAT ? cfx_int((int64_t)v.u.f) : v;
}

static cfx_value addr_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 3);
    for (int k = 3; k < 5; k++)
        if (IN(k).kind == CFX_FLOAT &&
            cfx_dtypes[type].category < CFX_CAT_FLOAT)
            return cfx_scope_fail(
                s, CFX_EDTYPE,
                "addr: For integral input tensors, argument %s must not be a floating point number",
                call->schema->params[k].name);
    return add_scaled(s, IN(0), factor(s, call, 3, type),
                      factor(s, call, 4, type), outer(s, IN(1), IN(2)));
}

static cfx_value addbmm_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_dtype type = (cfx_dtype)x->dtype;
    if (cfx_call_tensor(call, 1)->dtype != x->dtype)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "addbmm: self and mat2 must have the same dtype, but got %s and %s",
            cfx_dtypes[x->dtype].name,
            cfx_dtypes[cfx_call_tensor(call, 1)->dtype].name);
    cfx_value each = CFX_CALL(s, "torch.bmm", IN(1), IN(2));
    cfx_value args[] = {each, cfx_tuple(s, cfx_int(0))};
    cfx_value dtype[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(type)};
    each = cfx_call_function(s, "torch.sum", (cfx_args){args, 2, dtype, 1});
    return add_scaled(s, IN(0), factor(s, call, 3, type),
                      factor(s, call, 4, type), each);
}

/* ---- Contractions ---- */

struct axes {
    int64_t axis[CFX_MAX_RANK];
    int n;
};

static bool read_axes(cfx_scope *s, struct axes *a, cfx_value list, int rank)
{
    bool seen[CFX_MAX_RANK] = {false};
    *a = (struct axes){.n = 0};
    for (uint32_t i = 0; i < list.u.seq->len; i++) {
        cfx_value v = list.u.seq->item[i];
        int64_t at = v.kind == CFX_INT ? v.u.i : rank;
        at += at < 0 ? rank : 0;
        if (at < 0 || at >= rank || seen[at]) {
            cfx_scope_fail(
                s, CFX_EINVAL,
                "dims must be axes of a tensor of rank %d, each once", rank);
            return false;
        }
        seen[at] = true;
        a->axis[a->n++] = at;
    }
    return true;
}

/* x as a matrix, the contracted axes last, or first. The extents of the others
 * are added to `shape`. */
static cfx_value as_matrix(cfx_scope *s, cfx_value x, const struct axes *a,
                           bool first, cfx_value *shape, size_t *n)
{
    cfx_value order[CFX_MAX_RANK], size[2];
    cfx_dim in = cfx_dim_int(1), out = in;
    bool taken[CFX_MAX_RANK] = {false};
    int rank = rank_of(x), at = first ? 0 : rank - a->n;
    for (int i = 0; i < a->n; i++) {
        order[at++] = cfx_int(a->axis[i]);
        taken[a->axis[i]] = true;
        in = cfx_dim_mul(s->env, in, x.u.tensor->shape[a->axis[i]]);
    }
    at = first ? a->n : 0;
    for (int i = 0; i < rank; i++) {
        if (taken[i])
            continue;
        order[at++] = cfx_int(i);
        shape[(*n)++] = extent(x, i);
        out = cfx_dim_mul(s->env, out, x.u.tensor->shape[i]);
    }
    size[first] = cfx_value_of_dim(out);
    size[!first] = cfx_value_of_dim(in);
    x = CFX_CALL(s, "torch.permute", x,
                 cfx_list_of(s, CFX_TUPLE, (size_t)rank, order));
    return CFX_CALL(s, "torch.reshape", x, cfx_list_of(s, CFX_TUPLE, 2, size));
}

/* If one of a pair of axes is 1, the other is summed over. */
static bool match_axes(cfx_scope *s, cfx_value *x, cfx_value *y,
                       const struct axes *a, const struct axes *b)
{
    for (int i = 0; i < a->n && !cfx_scope_failed(s); i++) {
        cfx_dim n = x->u.tensor->shape[a->axis[i]];
        cfx_dim m = y->u.tensor->shape[b->axis[i]];
        bool one = cfx_dim_is(n, 1), other = cfx_dim_is(m, 1);
        if (one != other)
            *(one ? y : x) = CFX_CALL(
                s, "torch.sum", *(one ? y : x),
                cfx_tuple(s, cfx_int((one ? b : a)->axis[i])), cfx_bool(true));
        else if (!cfx_dim_eq(s->env, n, m))
            cfx_scope_fail(
                s, CFX_ESHAPE,
                "contracted dimensions need to match, but those of pair %d differ",
                i);
    }
    return !cfx_scope_failed(s);
}

static cfx_value contract(cfx_scope *s, cfx_value x, cfx_value y,
                          cfx_value dims_x, cfx_value dims_y)
{
    struct axes a, b;
    cfx_value shape[2 * CFX_MAX_RANK];
    size_t n = 0;
    if (cfx_scope_failed(s))
        return cfx_none();
    if (dims_x.u.seq->len != dims_y.u.seq->len)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "both dimension lists should have same length");
    if (!read_axes(s, &a, dims_x, rank_of(x)) ||
        !read_axes(s, &b, dims_y, rank_of(y)) ||
        !match_axes(s, &x, &y, &a, &b))
        return cfx_none();
    x = as_matrix(s, x, &a, false, shape, &n);
    y = as_matrix(s, y, &b, true, shape, &n);
    if (n > CFX_MAX_RANK)
        return cfx_scope_fail(s, CFX_EUNSUPPORTED, "%zu axes are more than %d",
                              n, CFX_MAX_RANK);
    return CFX_CALL(s, "torch.reshape", CFX_CALL(s, "torch.mm", x, y),
                    cfx_list_of(s, CFX_TUPLE, n, shape));
}

/* A number: the last axes of the one with the first of the other. */
static cfx_value tensordot_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value dims = IN(2), from[CFX_MAX_RANK], to[CFX_MAX_RANK];
    if (call->schema->nparams == 4)
        return contract(s, IN(0), IN(1), IN(2), IN(3));
    if (cfx_value_is_seq(dims)) {
        const cfx_seq *pair = dims.u.seq;
        if (pair->len == 2 && cfx_value_is_seq(pair->item[0]) &&
            cfx_value_is_seq(pair->item[1]))
            return contract(s, IN(0), IN(1), pair->item[0], pair->item[1]);
    }
    if (dims.kind != CFX_INT || dims.u.i < 0 || dims.u.i > CFX_MAX_RANK)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "tensordot expects dims to be a number >= 0 or a pair of lists");
    for (int i = 0; i < dims.u.i; i++) {
        from[i] = cfx_int(i - dims.u.i);
        to[i] = cfx_int(i);
    }
    return contract(s, IN(0), IN(1),
                    cfx_list_of(s, CFX_LIST, (size_t)dims.u.i, from),
                    cfx_list_of(s, CFX_LIST, (size_t)dims.u.i, to));
}

static cfx_value inner_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value last = cfx_tuple(s, cfx_int(-1));
    if (!rank_of(IN(0)) || !rank_of(IN(1)))
        return CFX_CALL(s, "torch.mul", IN(0), IN(1));
    const cfx_tensor *x = IN(0).u.tensor, *y = IN(1).u.tensor;
    if (!cfx_dim_eq(s->env, x->shape[x->rank - 1], y->shape[y->rank - 1]))
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "the last dimensions of both must be equal");
    return contract(s, IN(0), IN(1), last, last);
}

/* ---- kron ---- */

/* Every axis of x is followed, or preceded, by one of extent 1. */
static cfx_value spread(cfx_scope *s, cfx_value x, int rank, bool behind)
{
    cfx_value shape[2 * CFX_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int at = i - (rank - rank_of(x));
        shape[2 * i + !behind] = at < 0 ? cfx_int(1) : extent(x, at);
        shape[2 * i + behind] = cfx_int(1);
    }
    return CFX_CALL(s, "torch.reshape", x,
                    cfx_list_of(s, CFX_TUPLE, (size_t)rank * 2, shape));
}

static cfx_value kron_build(cfx_scope *s, const cfx_call *call)
{
    int a = rank_of(IN(0)), b = rank_of(IN(1)), rank = a > b ? a : b;
    cfx_value shape[CFX_MAX_RANK];
    if (2 * rank > CFX_MAX_RANK)
        return cfx_scope_fail(s, CFX_EUNSUPPORTED, "rank %d is more than %d",
                              rank, CFX_MAX_RANK / 2);
    cfx_value y = CFX_CALL(s, "torch.mul", spread(s, IN(0), rank, true),
                           spread(s, IN(1), rank, false));
    for (int i = 0; i < rank && !cfx_scope_failed(s); i++)
        shape[i] = cfx_int_mul(s, extent(y, 2 * i), extent(y, 2 * i + 1));
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)rank, shape));
}

/* ---- cross ---- */

/* Component i + 1 of one times i + 2 of the other, counted around. */
static cfx_value product(cfx_scope *s, cfx_value a, int i, cfx_value b, int k,
                         cfx_value dim)
{
    return CFX_CALL(s, "torch.mul",
                    CFX_CALL(s, "torch.select", a, dim, cfx_int(i % 3)),
                    CFX_CALL(s, "torch.select", b, dim, cfx_int(k % 3)));
}

/* Component i is a[i + 1] b[i + 2] - a[i + 2] b[i + 1], counted around. */
static cfx_value cross(cfx_scope *s, cfx_value a, cfx_value b, int64_t dim)
{
    int rank = rank_of(a);
    int64_t at = dim < 0 ? dim + rank : dim;
    if (rank != rank_of(b))
        return cfx_scope_fail(
            s, CFX_ESHAPE, "inputs must have the same number of dimensions");
    if (at < 0 || at >= rank)
        return cfx_scope_fail(s, CFX_EINVAL, "Dimension out of range");
    cfx_dim three = cfx_dim_int(3);
    if (!cfx_dim_eq(s->env, a.u.tensor->shape[at], three) ||
        !cfx_dim_eq(s->env, b.u.tensor->shape[at], three))
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "inputs dimension %lld must have length 3",
                              (long long)at);
    cfx_value axis = cfx_int(at), part[3];
    for (int i = 0; i < 3; i++)
        part[i] = CFX_CALL(s, "torch.sub",
                           product(s, a, i + 1, b, i + 2, axis),
                           product(s, a, i + 2, b, i + 1, axis));
    return CFX_CALL(s, "torch.stack", cfx_list_of(s, CFX_LIST, 3, part), axis);
}

static cfx_value linalg_cross_build(cfx_scope *s, const cfx_call *call)
{
    return cross(s, IN(0), IN(1), IN(2).u.i);
}

/* Without `dim` it is the first axis of extent 3. */
static cfx_value cross_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = IN(0).u.tensor;
    if (IN(2).kind != CFX_NONE)
        return cross(s, IN(0), IN(1), IN(2).u.i);
    int symbols = 0, last = 0;
    for (int i = 0; i < x->rank; i++) {
        if (cfx_dim_is(x->shape[i], 3))
            return cross(s, IN(0), IN(1), i);
        if (!cfx_dim_is_int(x->shape[i]) && ++symbols)
            last = i;
    }
    /* A single symbolic extent is assumed to be 3; several are ambiguous. */
    if (symbols == 1)
        return cross(s, IN(0), IN(1), last);
    if (symbols)
        return cfx_scope_fail(
            s, CFX_EUNSUPPORTED,
            "which dimension has size 3 depends on symbols; give `dim`");
    return cfx_scope_fail(s, CFX_ESHAPE, "no dimension of size 3 in input");
}

/* ---- bilinear ---- */

/* sum over i, j of x[i] w[o, i, j] y[j], row by row. */
static cfx_value bilinear_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(0), y = IN(1), w = IN(2), shape[CFX_MAX_RANK];
    int rank = rank_of(x);
    if (rank != rank_of(y) || !rank || rank_of(w) != 3)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected inputs of one rank and a weight of rank 3, but got %d, %d and %d",
            rank, rank_of(y), rank_of(w));
    cfx_value out = extent(w, 0), in = extent(w, 1), inner = extent(w, 2);
    for (int i = 0; i < rank; i++) {
        const cfx_dim d = x.u.tensor->shape[i], e = y.u.tensor->shape[i];
        bool last = i == rank - 1;
        if (last ? !cfx_dim_eq(s->env, d, cfx_value_dim(in)) ||
                       !cfx_dim_eq(s->env, e, cfx_value_dim(inner))
                 : !cfx_dim_eq(s->env, d, e))
            return cfx_scope_fail(
                s, CFX_ESHAPE,
                "axis %d of the inputs does not agree with the other input or the weight",
                i);
        shape[i] = last ? out : extent(x, i);
    }
    cfx_value minus = cfx_int(-1), one = cfx_int(1);
    cfx_value order = cfx_tuple(s, cfx_int(1), cfx_int(0), cfx_int(2));
    cfx_value both = cfx_int_mul(s, out, inner);
    w = CFX_CALL(s, "torch.permute", w, order);
    w = CFX_CALL(s, "torch.reshape", w, cfx_tuple(s, in, both));
    cfx_value n = one;
    for (int i = 0; i < rank - 1; i++)
        n = cfx_int_mul(s, n, shape[i]);
    x = CFX_CALL(s, "torch.reshape", x, cfx_tuple(s, n, in));
    x = CFX_CALL(s, "torch.reshape", CFX_CALL(s, "torch.mm", x, w),
                 cfx_tuple(s, n, out, inner));
    y = CFX_CALL(s, "torch.reshape", y, cfx_tuple(s, n, inner, one));
    y = CFX_CALL(s, "torch.squeeze", CFX_CALL(s, "torch.bmm", x, y), minus);
    if (IN(3).kind != CFX_NONE)
        y = CFX_CALL(s, "torch.add", y, IN(3));
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)rank, shape));
}

/* A tensor with new axes of extent 1, which list k names in order. */
static cfx_value unsqueezed(cfx_scope *s, const cfx_call *call, int tensor,
                            int k)
{
    cfx_value x = IN(tensor);
    for (int i = 0; i < cfx_call_len(call, k); i++)
        x = CFX_CALL(s, "torch.unsqueeze", x, cfx_call_item(call, k, i));
    return x;
}

/* A product of three tensors, summed over some axes. The axis over which
 * PyTorch goes step by step is of no account. */
static cfx_value _trilinear_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = unsqueezed(s, call, 0, 3), y = unsqueezed(s, call, 1, 4);
    x = CFX_CALL(s, "torch.mul", x, unsqueezed(s, call, 2, 5));
    x = CFX_CALL(s, "torch.mul", x, y);
    if (!cfx_call_len(call, 6) || cfx_scope_failed(s))
        return x;
    cfx_dtype type = (cfx_dtype)x.u.tensor->dtype;
    x = CFX_CALL(s, "torch.sum", x, IN(6));
    return cfx_dtype_is_float(type) || cfx_dtype_is_complex(type)
               ? x
               : cfx_call_method(s, "to",
                                 CFX_ARGS(x, cfx_value_of_dtype(type)));
}

static cfx_value linalg_trace_build(cfx_scope *s, const cfx_call *call)
{
    if (rank_of(IN(0)) != 2)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "trace: expected a matrix, but got tensor with dim %d",
            rank_of(IN(0)));
    if (IN(0).u.tensor->dtype == CFX_BOOL)
        return cfx_scope_fail(s, CFX_EDTYPE, "trace: not implemented for b8");
    cfx_value d = CFX_CALL(s, "torch.diagonal", IN(0));
    return CFX_CALL(s, "torch.sum", d);
}

/* ---- Descriptors ---- */

#define PRODUCT(name, params, aliases_, flags_, doc_)                         \
    CFX_COMPOSITE(name)                                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" params ") -> Tensor",                             \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = flags_,                                                      \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };


PRODUCT(outer, "Tensor self, Tensor vec2",
        "torch. torch.ger Tensor. Tensor.ger aten.", CFX_OP_COMPLEX,
        "Each element of a vector times each of another.")
PRODUCT(inner, "Tensor self, Tensor other", "torch. Tensor. aten.",
        CFX_OP_COMPLEX, "Sums of products along the last axes.")
PRODUCT(kron, "Tensor self, Tensor other", "torch. Tensor. aten.",
        CFX_OP_COMPLEX,
        "Each element of a tensor times the whole of another, in blocks.")
PRODUCT(linalg_cross, "Tensor self, Tensor other, *, int dim=-1",
        "torch.linalg. aten.", CFX_OP_COMPLEX,
        "The vector product along an axis of three.")
PRODUCT(cross, "Tensor self, Tensor other, int? dim=None",
        "torch. Tensor. aten.", CFX_OP_COMPLEX,
        "The vector product along an axis of three, the first such one.")
PRODUCT(linalg_trace, "Tensor self",
        "torch.trace Tensor.trace aten.trace.default", CFX_OP_COMPLEX,
        "The sum of what is on the diagonal.")
PRODUCT(
    addr,
    "Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1",
    "torch. Tensor. aten.", CFX_OP_INPLACE | CFX_OP_COMPLEX,
    "beta * self + alpha * the outer product of two vectors.")
PRODUCT(
    addbmm,
    "Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
    "torch. Tensor. aten.", CFX_OP_INPLACE | CFX_OP_COMPLEX,
    "beta * self + alpha * the sum of a batch of products.")
PRODUCT(bilinear,
        "Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None",
        "torch. torch.nn.functional. aten.", CFX_OP_COMPLEX,
        "A form that is linear in either of two inputs.")
PRODUCT(
    _trilinear,
    "Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1",
    "torch. aten.", 0, "The product of three tensors, summed over some axes.")

CFX_COMPOSITE(tensordot)

static const cfx_op tensordot_lists = {
    .schema =
        "tensordot.lists(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    .aliases = ".default",
    .doc = "Sums of products over pairs of axes.",
    .flags = CFX_OP_COMPLEX,
    .infer = tensordot_infer,
    .cost = tensordot_cost,
    .run = tensordot_run,
};

static cfx_status tensordot_lower(cfx_call *call, const cfx_value *in,
                                  cfx_value *out)
{
    (void)call;
    memcpy(out, in, 3 * sizeof(*out));
    return CFX_OK;
}

const cfx_op cfx_op__tensordot = {
    .schema = "tensordot(Tensor self, Tensor other, any dims=2) -> Tensor",
    .variants =
        (const cfx_variant[]){
            {"torch.tensordot(Tensor a, Tensor b, any dims=2) -> Tensor",
             tensordot_lower},
            {NULL, NULL}},
    .doc =
        "Sums of products over the last axes of one and the first of the other, or over pairs of axes.",
    .flags = CFX_OP_COMPLEX,
    .infer = tensordot_infer,
    .cost = tensordot_cost,
    .run = tensordot_run,
    .next = &tensordot_lists,
};

/* ---- _int_mm: bytes, summed in int32 ---- */

static cfx_value int_mm_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value part[2];
    for (int i = 0; i < 2; i++) {
        const cfx_tensor *x = cfx_call_tensor(call, i);
        if (x->rank != 2)
            return cfx_scope_fail(
                s, CFX_ESHAPE,
                "Expected factor %d to be of dimension 2 but got %d", i,
                x->rank);
        if (x->dtype != CFX_I8 && x->dtype != CFX_U8)
            return cfx_scope_fail(
                s, CFX_EDTYPE,
                "Expected factor %d to be int8 or uint8 but got %s", i,
                cfx_dtypes[x->dtype].name);
        part[i] = CFX_CALL(s, "Tensor.to", call->in[i],
                           cfx_value_of_dtype(CFX_I32));
    }
    return CFX_CALL(s, "torch.mm", part[0], part[1]);
}

CFX_COMPOSITE(int_mm)

const cfx_op cfx_op___int_mm = {
    .schema = "_int_mm(Tensor self, Tensor mat2) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "The product of matrices of bytes, in int32.",
    .infer = int_mm_infer,
    .cost = int_mm_cost,
    .run = int_mm_run,
};
