/*
 * gradient -- slopes along axes, by differences over two steps, and over one at
 * the ends.
 *
 * shape   a tensor of the argument's shape for each axis.
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, SPACING, DIM, EDGE_ORDER);

#define IN(k) cfx_call_value(call, k)
#define TORCH(name, ...) CFX_CALL(s, "torch." name, __VA_ARGS__)

/* Elements from..to of axis `at`; 0 for `to` stands for the end. */
static cfx_value part(cfx_scope *s, cfx_value x, int at, int from, int to)
{
    return CFX_CALL(s, "torch.ops.aten.slice.Tensor", x, cfx_int(at),
                    cfx_int(from), to ? cfx_int(to) : cfx_none());
}

/* Element i of a vector. */
static cfx_value item(cfx_scope *s, cfx_value x, int i)
{
    return TORCH("select", x, cfx_int(0), cfx_int(i));
}

/* Three neighbours from the slices at i, i + 1 and i + 2, weighted. */
struct weights {
    cfx_value a, b, c;
};

static cfx_value weighted(cfx_scope *s, cfx_value x, int at, const int *ends,
                          struct weights w)
{
    cfx_value y = TORCH("mul", part(s, x, at, ends[0], ends[1]), w.a);
    y = TORCH("add", y, TORCH("mul", part(s, x, at, ends[2], ends[3]), w.b));
    return TORCH("add", y,
                 TORCH("mul", part(s, x, at, ends[4], ends[5]), w.c));
}

static const int head[] = {0, 1, 1, 2, 2, 3};
static const int middle[] = {0, -2, 1, -1, 2, 0};
static const int tail[] = {-3, -2, -2, -1, -1, 0};

static cfx_value join(cfx_scope *s, cfx_value first, cfx_value center,
                      cfx_value last, int at)
{
    return TORCH("cat", cfx_tuple(s, first, center, last), cfx_int(at));
}

static cfx_value step_at(cfx_scope *s, cfx_value x, int at, bool end)
{
    return end ? TORCH("sub", part(s, x, at, -1, 0), part(s, x, at, -2, -1))
               : TORCH("sub", part(s, x, at, 1, 2), part(s, x, at, 0, 1));
}

/* Points at one distance. */
static cfx_value by_distance(cfx_scope *s, cfx_value x, int at, bool second,
                             cfx_value dx)
{
    cfx_value center = TORCH("sub", part(s, x, at, 2, 0),
                             part(s, x, at, 0, -2));
    cfx_value first, last;
    center = TORCH("div", TORCH("div", center, dx), cfx_int(2));
    if (second) {
        struct weights w = {cfx_float(-1.5), cfx_float(2), cfx_float(-0.5)};
        struct weights v = {cfx_float(0.5), cfx_float(-2), cfx_float(1.5)};
        first = weighted(s, x, at, head, w);
        last = weighted(s, x, at, tail, v);
    } else {
        first = step_at(s, x, at, false);
        last = step_at(s, x, at, true);
    }
    return join(s, TORCH("div", first, dx), center, TORCH("div", last, dx),
                at);
}

/* Weights of the slope at the middle of points at distances d and e: those of
 * the point before, its own, the point after. */
static struct weights middle_weights(cfx_scope *s, cfx_value d, cfx_value e)
{
    cfx_value sum = TORCH("add", d, e);
    return (struct weights){
        TORCH("div", TORCH("neg", e), TORCH("mul", d, sum)),
        TORCH("div", TORCH("sub", e, d), TORCH("mul", d, e)),
        TORCH("div", d, TORCH("mul", e, sum))};
}

/* Weights of the slope at a point, of it and of two others at distances d and
 * d + e. */
static struct weights end_weights(cfx_scope *s, cfx_value d, cfx_value e)
{
    cfx_value sum = TORCH("add", d, e), two = TORCH("mul", d, cfx_int(2));
    return (struct weights){
        TORCH("neg", TORCH("div", TORCH("add", two, e), TORCH("mul", d, sum))),
        TORCH("div", sum, TORCH("mul", d, e)),
        TORCH("div", TORCH("neg", d), TORCH("mul", e, sum))};
}

static struct weights reversed(cfx_scope *s, struct weights w)
{
    return (struct weights){TORCH("neg", w.c), TORCH("neg", w.b),
                            TORCH("neg", w.a)};
}

/* Points at the coordinates p. */
static cfx_value by_coordinates(cfx_scope *s, cfx_value x, int at, bool second,
                                cfx_value p)
{
    cfx_value shape[CFX_MAX_RANK], first, last;
    int rank = x.u.tensor->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_int(i == at ? -1 : 1);
    cfx_value list = cfx_list_of(s, CFX_TUPLE, (size_t)rank, shape);
    cfx_value d = TORCH("sub", part(s, p, 0, 1, 0), part(s, p, 0, 0, -1));
    struct weights w = middle_weights(s, part(s, d, 0, 0, -1),
                                      part(s, d, 0, 1, 0));
    w.a = TORCH("reshape", w.a, list);
    w.b = TORCH("reshape", w.b, list);
    w.c = TORCH("reshape", w.c, list);
    cfx_value center = weighted(s, x, at, middle, w);
    if (second) {
        w = end_weights(s, item(s, d, 0), item(s, d, 1));
        first = weighted(s, x, at, head, w);
        w = reversed(s, end_weights(s, item(s, d, -1), item(s, d, -2)));
        last = weighted(s, x, at, tail, w);
    } else {
        first = TORCH("div", step_at(s, x, at, false), item(s, d, 0));
        last = TORCH("div", step_at(s, x, at, true), item(s, d, -1));
    }
    return join(s, first, center, last, at);
}

/* Item i of an argument: a list has one for each axis. */
static cfx_value each(cfx_value v, size_t i)
{
    return cfx_value_is_seq(v) ? v.u.seq->item[i] : v;
}

static bool check(cfx_scope *s, const cfx_call *call, size_t n)
{
    const cfx_tensor *x = IN(SELF).u.tensor;
    cfx_value spacing = IN(SPACING);
    int64_t order = cfx_call_int(call, EDGE_ORDER);
    if (order != 1 && order != 2)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "torch.gradient only supports edge_order=1 and edge_order=2");
    else if (cfx_value_is_seq(spacing) && spacing.u.seq->len != n)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'dim'");
    else if (x->dtype == CFX_U8)
        cfx_scope_fail(s, CFX_EDTYPE,
                       "torch.gradient does not support uint8 input");
    return !cfx_scope_failed(s);
}

/* Axis i of those asked for, which has points enough. */
static int axis_at(cfx_scope *s, const cfx_call *call, size_t i)
{
    const cfx_tensor *x = IN(SELF).u.tensor;
    cfx_value dim = each(IN(DIM), i);
    int64_t at = cfx_value_is_none(IN(DIM)) ? (int64_t)i : dim.u.i;
    cfx_dim least = cfx_dim_int(cfx_call_int(call, EDGE_ORDER) + 1);
    at += at < 0 ? x->rank : 0;
    if (at < 0 || at >= x->rank)
        cfx_scope_fail(s, CFX_EINVAL, "dimension out of range");
    else if (!cfx_dim_le(s->env, least, x->shape[at]))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "torch.gradient expected each dimension size to be at least edge_order+1");
    return (int)at;
}

static cfx_value gradient_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value out[CFX_MAX_RANK], x = IN(SELF), dim = IN(DIM);
    size_t n = cfx_value_is_none(dim)  ? (size_t)x.u.tensor->rank
               : cfx_value_is_seq(dim) ? dim.u.seq->len
                                       : 1;
    bool second = cfx_call_int(call, EDGE_ORDER) == 2;
    if (n > CFX_MAX_RANK)
        return cfx_scope_fail(s, CFX_EINVAL, "dim has too many axes");
    if (!check(s, call, n))
        return cfx_none();
    uint32_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        cfx_value spacing = each(IN(SPACING), i);
        int at = axis_at(s, call, i);
        if (!cfx_scope_failed(s) && seen >> at & 1)
            cfx_scope_fail(s, CFX_EINVAL,
                           "dim %d appears multiple times in the list of dims",
                           at);
        if (!cfx_scope_failed(s))
            seen |= 1u << at;
        const cfx_tensor *p = spacing.kind == CFX_TENSOR ? spacing.u.tensor
                                                         : NULL;
        if (!cfx_scope_failed(s) && p && p->rank &&
            (p->rank != 1 ||
             !cfx_dim_eq(s->env, p->shape[0], x.u.tensor->shape[at])))
            cfx_scope_fail(
                s, CFX_ESHAPE,
                "torch.gradient expected a coordinate for each point along axis %d",
                at);
        if (cfx_scope_failed(s))
            return cfx_none();
        if (spacing.kind == CFX_TENSOR && spacing.u.tensor->rank)
            out[i] = by_coordinates(s, x, at, second, spacing);
        else
            out[i] = by_distance(s, x, at, second,
                                 cfx_value_is_none(spacing) ? cfx_int(1)
                                                            : spacing);
    }
    return cfx_list_of(s, CFX_TUPLE, n, out);
}

CFX_COMPOSITE(gradient)

const cfx_op cfx_op__gradient = {
    .schema =
        "gradient(Tensor self, *, any spacing=None, any dim=None, int edge_order=1) -> Tensor[]",
    .params = params,
    .aliases =
        "torch. .scalarint .scalararray .array .scalarrayint .scalarrayarray .tensorarrayint .tensorarray",
    .doc = "The slopes along axes, by central differences.",
    .flags = CFX_OP_COMPLEX,
    .infer = gradient_infer,
    .cost = gradient_cost,
    .run = gradient_run,
};
