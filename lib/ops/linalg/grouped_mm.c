/*
 * grouped_mm -- a product of matrices for each group of rows, of columns, or of
 * what is summed, as mixtures of experts call it.
 *
 * shape   (S, K) by (G, K, N) is (S, N): rows in groups; (G, M, K) by (K, S) is
 *         (M, S): columns in groups; (M, S) by (S, N) is (G, M, N): terms in
 *         groups. Without groups it is bmm. offs has the end of each group;
 *         what is after the last one is 0.
 * cost    a product of matrices for each row or column; of terms in groups one
 *         for all.
 */
#include <string.h>

#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, MAT2, OFFS, BIAS, OUT_DTYPE);

/* The state of a call. */
struct groups {
    const cfx_tensor *a, *b, *offs;
    bool terms;   /* both are matrices */
    cfx_dim size; /* of the axis that has groups */
};

static cfx_status read_factors(cfx_call *call)
{
    struct groups *g = call->state;
    const cfx_tensor *a = g->a = cfx_call_tensor(call, SELF);
    const cfx_tensor *b = g->b = cfx_call_tensor(call, MAT2);
    if ((a->rank != 2 && a->rank != 3) || (b->rank != 2 && b->rank != 3))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "both factors must be 2D or 3D, but they are %dD and %dD", a->rank,
            b->rank);
    if (a->dtype != b->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "both factors must have the same dtype, but got %s and %s",
            cfx_dtypes[a->dtype].name, cfx_dtypes[b->dtype].name);
    if (!cfx_dim_eq(call->env, a->shape[a->rank - 1], b->shape[b->rank - 2]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "contraction dimension of both factors must match");
    if (cfx_call_has(call, BIAS))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "bias is not supported yet");
    if (cfx_call_dtype(call, OUT_DTYPE, (cfx_dtype)a->dtype) !=
        (cfx_dtype)a->dtype)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "output dtype must be that of the factors, %s",
                             cfx_dtypes[a->dtype].name);
    return cfx_infer_need_float(call, (cfx_dtype)a->dtype);
}

/* Is there one offset for each matrix of a factor with three axes? */
static cfx_status read_offsets(cfx_call *call)
{
    struct groups *g = call->state;
    const cfx_tensor *many = g->a->rank == 3 ? g->a : g->b;
    const cfx_tensor *offs = g->offs = cfx_call_tensor(call, OFFS);
    g->terms = g->a->rank == 2 && g->b->rank == 2;
    g->size = g->a->rank == 2 ? g->a->shape[g->terms] : g->b->shape[1];
    if ((g->a->rank == 3 && g->b->rank == 3) != !offs)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Have to provide offsets if there is a 2d matrix, and only then");
    if (!offs)
        return CFX_OK;
    if (offs->rank != 1 || (offs->dtype != CFX_I32 && offs->dtype != CFX_I64))
        return cfx_call_fail(call, CFX_EDTYPE,
                             "offs has to be a vector of int32");
    if (!g->terms && !cfx_dim_eq(call->env, offs->shape[0], many->shape[0]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "offs must have an element for each matrix");
    return CFX_OK;
}

static cfx_status grouped_mm_infer(cfx_call *call)
{
    const struct groups *g = call->state;
    cfx_status st = read_factors(call);
    if (!st)
        st = read_offsets(call);
    if (st)
        return st;
    cfx_dim m = g->a->shape[g->a->rank - 2], n = g->b->shape[g->b->rank - 1];
    bool batch = !g->offs || g->terms;
    cfx_dim first = g->terms ? g->offs->shape[0] : g->a->shape[0];
    cfx_dim shape[] = {first, m, n};
    return cfx_call_out(call, (cfx_dtype)g->a->dtype, 2 + batch,
                        shape + !batch);
}

static void grouped_mm_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct groups *g = call->state;
    const cfx_tensor *y = call->out[0];
    cfx_dim each = g->terms ? cfx_dim_mul(call->env, y->shape[1], y->shape[2])
                            : cfx_cost_numel(call, y);
    cost->macs = cfx_dim_mul(call->env, each, g->a->shape[g->a->rank - 1]);
}

/* Matrix i of several, or a range of the axis of one. */
static cfx_value part(cfx_scope *s, const cfx_tensor *x, int64_t i, int axis,
                      int64_t from, int64_t n)
{
    cfx_value v = cfx_value_of_tensor((cfx_tensor *)x);
    return x->rank == 3
               ? CFX_CALL(s, "torch.select", v, cfx_int(0), cfx_int(i))
               : CFX_CALL(s, "torch.narrow", v, cfx_int(axis), cfx_int(from),
                          cfx_int(n));
}

static void multiply(cfx_scope *s, const cfx_call *call, int64_t i,
                     int64_t from, int64_t n)
{
    const struct groups *g = call->state;
    cfx_value ab[] = {part(s, g->a, i, g->terms, from, n),
                      part(s, g->b, i, !g->terms, from, n)};
    cfx_value out[] = {cfx_str(s, "out"),
                       part(s, call->out[0], i, g->a->rank == 3, from, n)};
    cfx_call_function(s, "torch.mm", (cfx_args){ab, 2, out, 1});
}

/* The end of each group, as Python's numbers. */
static cfx_value ends_of(cfx_scope *s, const cfx_call *call)
{
    const struct groups *g = call->state;
    cfx_value offs = cfx_value_of_tensor((cfx_tensor *)g->offs);
    return CFX_CALL(s, "Tensor.tolist", offs);
}

static cfx_status run_groups(cfx_scope *s, const cfx_call *call)
{
    const struct groups *g = call->state;
    const cfx_value *end;
    size_t frame, n = cfx_items(s, ends_of(s, call), &end);
    int64_t from = 0, size = cfx_dim_value(g->size);
    for (size_t i = 0; i < n && !cfx_scope_failed(s); i++) {
        int64_t to = end[i].u.i;
        if (to < from || to > size)
            return cfx_call_fail(
                call, CFX_EINVAL,
                "offs[%zu] is %lld, which is not between %lld and %lld", i,
                (long long)to, (long long)from, (long long)size);
        frame = cfx_scope_enter(s);
        if (to > from)
            multiply(s, call, (int64_t)i, from, to - from);
        cfx_scope_leave(s, frame, cfx_none());
        from = to;
    }
    return cfx_scope_status(s, call->err);
}

static cfx_value bmm_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.bmm", cfx_call_value(call, SELF),
                    cfx_call_value(call, MAT2));
}

static cfx_status grouped_mm_run(cfx_call *call)
{
    const struct groups *g = call->state;
    cfx_scope s;
    if (!g->offs)
        return cfx_composite_run(call, bmm_build);
    cfx_status st = cfx_loop_fill(call, cfx_int(0));
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    if (!st)
        st = run_groups(&s, call);
    cfx_scope_release(&s);
    return st;
}

/* torch.nn.functional, and what transformers registers, name the factors
 * differently. */
static cfx_status functional_lower(cfx_call *call, const cfx_value *in,
                                   cfx_value *out)
{
    (void)call;
    memcpy(out, in, (OUT_DTYPE + 1) * sizeof(*out));
    return CFX_OK;
}

static cfx_status experts_lower(cfx_call *call, const cfx_value *in,
                                cfx_value *out)
{
    (void)call;
    memcpy(out, in, (OFFS + 1) * sizeof(*out));
    return CFX_OK;
}

static const cfx_variant grouped_mm_variants[] = {
    {"torch.nn.functional.grouped_mm(Tensor mat_a, Tensor mat_b, *, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
     functional_lower},
    {"transformers.grouped_mm_fallback.default(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     experts_lower},
    {"transformers.grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     experts_lower},
    {NULL, NULL},
};

const cfx_op cfx_op___grouped_mm = {
    .schema =
        "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .variants = grouped_mm_variants,
    .doc = "A product of matrices for each group of rows, columns or terms.",
    .state_size = sizeof(struct groups),
    .infer = grouped_mm_infer,
    .cost = grouped_mm_cost,
    .run = grouped_mm_run,
};
