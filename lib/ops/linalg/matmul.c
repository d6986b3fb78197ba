/*
 * matmul -- products of matrices, vectors and batches of them.
 *
 * shape   matmul: vectors stand for a row or a column; leading axes broadcast.
 * cost    m * n * k multiply-adds for each matrix; of complex numbers four
 *         times as many.
 */
#include "kernel/gemm/gemm.h"
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"


CFX_PARAMS(params, SELF, OTHER, TENSOR, VEC, MAT, MAT1, MAT2, BATCH1, BATCH2,
           BETA, ALPHA);

/* The state of a call. */
struct factors {
    const cfx_tensor *a, *b, *c;
    bool row, column; /* a, b is a vector */
    int batch;        /* axes of the batch in the result */
    cfx_dim m, n, k;
    cfx_dim shape[CFX_MAX_RANK]; /* of the batch, then what is left */
    int rank;
};

static cfx_status mismatch(const cfx_call *call, const cfx_tensor *a,
                           const cfx_tensor *b)
{
    char s[128], t[128];
    cfx_tensor_format_type(a, s, sizeof(s));
    cfx_tensor_format_type(b, t, sizeof(t));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "mat1 and mat2 shapes cannot be multiplied (%s and %s)", s, t);
}

/* The factors are the arguments `at` and the next, in the schema's order. */
static cfx_status read_factors(const cfx_call *call, int at)
{
    struct factors *f = call->state;
    const cfx_tensor *a = f->a = call->in[at].u.tensor;
    const cfx_tensor *b = f->b = call->in[at + 1].u.tensor;
    if (!a->rank || !b->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "both arguments need to be at least 1D, but they are %dD and %dD",
            a->rank, b->rank);
    if (a->dtype != b->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "expected both to have the same dtype, but got %s and %s",
            cfx_dtypes[a->dtype].name, cfx_dtypes[b->dtype].name);
    if (a->dtype == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    f->row = a->rank == 1;
    f->column = b->rank == 1;
    f->m = f->row ? cfx_dim_int(1) : a->shape[a->rank - 2];
    f->k = a->shape[a->rank - 1];
    f->n = f->column ? cfx_dim_int(1) : b->shape[b->rank - 1];
    if (!cfx_dim_eq(call->env, f->k, b->shape[f->column ? 0 : b->rank - 2]))
        return mismatch(call, a, b);
    int rank = a->rank - 2 > 0 ? a->rank - 2 : 0;
    for (int i = 0; i < rank; i++)
        f->shape[i] = a->shape[i];
    cfx_status st = cfx_infer_broadcast(
        call, &rank, f->shape, b->rank - 2 > 0 ? b->rank - 2 : 0, b->shape);
    f->batch = f->rank = rank;
    if (!f->row)
        f->shape[f->rank++] = f->m;
    if (!f->column)
        f->shape[f->rank++] = f->n;
    return st;
}

static cfx_status check_ranks(cfx_call *call, int at, int a, int b)
{
    const cfx_tensor *x = call->in[at].u.tensor;
    const cfx_tensor *y = call->in[at + 1].u.tensor;
    if (x->rank == a && y->rank == b)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "expected tensors of rank %d and %d, but got %d and %d", a, b, x->rank,
        y->rank);
}

/* ---- Complex numbers without a BLAS: four products of their parts ---- */

static bool is_complex(const cfx_call *call)
{
    const struct factors *f = call->state;
    return cfx_dtype_is_complex((cfx_dtype)f->a->dtype);
}

static cfx_value complex_product(cfx_scope *s, const cfx_call *call)
{
    const struct factors *f = call->state;
    cfx_value a = cfx_value_of_tensor((cfx_tensor *)(uintptr_t)f->a);
    cfx_value b = cfx_value_of_tensor((cfx_tensor *)(uintptr_t)f->b);
    cfx_value a_re = CFX_CALL(s, "torch.real", a);
    cfx_value a_im = CFX_CALL(s, "torch.imag", a);
    cfx_value b_re = CFX_CALL(s, "torch.real", b);
    cfx_value b_im = CFX_CALL(s, "torch.imag", b);
    cfx_value re = CFX_CALL(s, "torch.sub",
                            CFX_CALL(s, "torch.matmul", a_re, b_re),
                            CFX_CALL(s, "torch.matmul", a_im, b_im));
    cfx_value im = CFX_CALL(s, "torch.add",
                            CFX_CALL(s, "torch.matmul", a_re, b_im),
                            CFX_CALL(s, "torch.matmul", a_im, b_re));
    return CFX_CALL(s, "torch.complex", re, im);
}

/* The ranks that a function insists on are in its code; 0: any. */
#define RANKS(a, b) ((a) << 4 | (b))

static cfx_status matmul_infer(cfx_call *call)
{
    const struct factors *f = call->state;
    int a = call->op->code >> 4 & 15, b = call->op->code & 15;
    cfx_status st = a ? check_ranks(call, 0, a, b) : CFX_OK;
    if (!st)
        st = read_factors(call, 0);
    if (!st && a == 3 &&
        !cfx_dim_eq(call->env, f->a->shape[0], f->b->shape[0]))
        st = mismatch(call, f->a, f->b);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)f->a->dtype, f->rank, f->shape);
}

static void matmul_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct factors *f = call->state;
    if (is_complex(call)) {
        cfx_composite_cost(call, cost, complex_product);
        return;
    }
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    cost->macs = cfx_dim_mul(call->env, n, f->k);
}

/* ---- Running ---- */

struct strides {
    int64_t batch[CFX_MAX_RANK], a[CFX_MAX_RANK], b[CFX_MAX_RANK];
    int64_t c[CFX_MAX_RANK];
};

/* Strides of a factor along the axes of the batch; 0 where it is spread. */
static void batch_strides(const struct factors *f, const cfx_tensor *t,
                          int64_t *out)
{
    int own = t->rank - 2 > 0 ? t->rank - 2 : 0;
    for (int i = 0; i < f->batch; i++) {
        int at = i - (f->batch - own);
        out[i] = at < 0 || cfx_tensor_size(t, at) == 1
                     ? 0
                     : cfx_tensor_stride(t, at);
    }
}

static void plan(const struct factors *f, const cfx_tensor *y,
                 struct strides *s, cfx_gemm *g)
{
    const cfx_tensor *a = f->a, *b = f->b;
    int64_t m = cfx_dim_value(f->m), n = cfx_dim_value(f->n);
    *g = (cfx_gemm){
        .dtype = (cfx_dtype)y->dtype,
        .m = m,
        .n = n,
        .k = cfx_dim_value(f->k),
        .a = a->data,
        .b = b->data,
        .c = y->data,
        .a_row = f->row ? 0 : cfx_tensor_stride(a, a->rank - 2),
        .a_col = cfx_tensor_stride(a, a->rank - 1),
        .b_row = cfx_tensor_stride(b, f->column ? 0 : b->rank - 2),
        .b_col = f->column ? 0 : cfx_tensor_stride(b, b->rank - 1),
        .c_row = n,
        .batch_rank = f->batch,
        .batch = s->batch,
        .a_batch = s->a,
        .b_batch = s->b,
        .c_batch = s->c,
    };
    batch_strides(f, a, s->a);
    batch_strides(f, b, s->b);
    int64_t step = m * n;
    for (int i = f->batch - 1; i >= 0; i--) {
        s->batch[i] = cfx_dim_value(f->shape[i]);
        s->c[i] = step;
        step *= s->batch[i];
    }
}

static size_t matmul_workspace(const cfx_call *call)
{
    struct strides s;
    cfx_gemm g;
    if (is_complex(call))
        return 0;
    plan(call->state, call->out[0], &s, &g);
    return cfx_gemm_workspace(call->ctx, &g);
}

static cfx_status matmul_run(cfx_call *call)
{
    struct strides s;
    cfx_gemm g;
    plan(call->state, call->out[0], &s, &g);
    if (is_complex(call) && !cfx_gemm_takes_complex(call->ctx, &g))
        return cfx_composite_run(call, complex_product);
    cfx_gemm_run(call->ctx, &g, call->work);
    return CFX_OK;
}

#define MATMUL(name, list, ranks, aliases_, doc_)                             \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> Tensor",                               \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .code = ranks,                                                        \
        .state_size = sizeof(struct factors),                                 \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = matmul_infer,                                                \
        .cost = matmul_cost,                                                  \
        .workspace = matmul_workspace,                                        \
        .run = matmul_run,                                                    \
    };

MATMUL(
    matmul, "Tensor self, Tensor other", 0,
    "torch. torch.linalg.matmul Tensor. Tensor.__matmul__ operator.matmul aten.",
    "The product of matrices, vectors, or batches of them.")
MATMUL(mm, "Tensor self, Tensor mat2", RANKS(2, 2), "torch. Tensor. aten.",
       "The product of two matrices.")
MATMUL(bmm, "Tensor self, Tensor mat2", RANKS(3, 3), "torch. Tensor. aten.",
       "The products of two batches of matrices.")
MATMUL(mv, "Tensor self, Tensor vec", RANKS(2, 1), "torch. Tensor. aten.",
       "The product of a matrix and a vector.")
MATMUL(dot, "Tensor self, Tensor tensor", RANKS(1, 1), "torch. Tensor. aten.",
       "The product of two vectors.")

static cfx_value vdot_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.dot",
                    CFX_CALL(s, "torch.conj", cfx_call_value(call, SELF)),
                    cfx_call_value(call, OTHER));
}

CFX_COMPOSITE(vdot)
const cfx_op cfx_op__vdot = {
    .schema = "vdot(Tensor self, Tensor other) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The product of the conjugate of one vector and another.",
    .flags = CFX_OP_COMPLEX,
    .infer = vdot_infer,
    .cost = vdot_cost,
    .run = vdot_run,
};

/* ---- beta * self + alpha * a b ---- */

static cfx_status addmm_infer(cfx_call *call)
{
    const struct factors *f = call->state;
    const cfx_tensor *c = cfx_call_tensor(call, SELF);
    int a = call->op->code >> 4 & 15, b = call->op->code & 15;
    cfx_status st = check_ranks(call, 1, a, b);
    if (!st)
        st = read_factors(call, 1);
    if (st)
        return st;
    if (a == 3 && !cfx_dim_eq(call->env, f->a->shape[0], f->b->shape[0]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the batches of batch1 and batch2 are not of one size");
    if (c->dtype != f->a->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "self and mat2 must have the same dtype, but got %s and %s",
            cfx_dtypes[c->dtype].name, cfx_dtypes[f->a->dtype].name);
    cfx_dim shape[CFX_MAX_RANK];
    int rank = f->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = f->shape[i];
    st = cfx_infer_broadcast(call, &rank, shape, c->rank, c->shape);
    for (int i = 0; !st && i < f->rank; i++)
        if (rank != f->rank || !cfx_dim_eq(call->env, shape[i], f->shape[i]))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "self does not broadcast to the product");
    if (!st)
        st = cfx_list_check_factor(call, cfx_call_value(call, BETA),
                                   (cfx_dtype)c->dtype);
    if (!st)
        st = cfx_list_check_factor(call, cfx_call_value(call, ALPHA),
                                   (cfx_dtype)c->dtype);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)f->a->dtype, f->rank, f->shape);
}

static void addmm_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct factors *f = call->state;
    double alpha = cfx_call_double(call, ALPHA);
    double beta = cfx_call_double(call, BETA);
    int steps = (alpha != 1) + (beta != 0) + (beta != 0 && beta != 1);
    matmul_cost(call, cost);
    cost->ops = cfx_dim_mul(call->env, cfx_cost_numel(call, call->out[0]),
                            cfx_dim_int(steps));
    if (beta != 0)
        return;
    cost->bytes_read = cfx_dim_add(call->env, cfx_cost_bytes_of(call, f->a),
                                   cfx_cost_bytes_of(call, f->b));
}

/* A factor of integers has no fraction. */
static cfx_value factor(const cfx_call *call, int k)
{
    cfx_value v = cfx_call_value(call, k);
    cfx_dtype type = (cfx_dtype)call->out[0]->dtype;
    bool whole = cfx_dtypes[type].category < CFX_CAT_FLOAT;
    return whole && v.kind == CFX_FLOAT ? cfx_int((int64_t)v.u.f) : v;
}

/* With beta = 0 what self holds is not looked at, be it NaN. */
static cfx_status addmm_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_dtype type = (cfx_dtype)y->dtype;
    cfx_value alpha = factor(call, ALPHA), beta = factor(call, BETA);
    cfx_status st = matmul_run(call);
    if (st)
        return st;
    cfx_iter it;
    if (cfx_value_number(alpha) != 1) {
        cfx_loop_out(&it, y);
        cfx_loop_in(&it, y);
        cfx_loop_value(&it, alpha);
        cfx_pointwise(call->ctx, CFX_PW_MUL, type, &it, NULL);
    }
    if (cfx_value_number(beta) == 0)
        return CFX_OK;
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, y);
    cfx_loop_in(&it, cfx_call_tensor(call, SELF));
    cfx_loop_value(&it, beta);
    cfx_pointwise(call->ctx, CFX_PW_ADD_SCALED, type, &it, NULL);
    return CFX_OK;
}

#define ADDMM(name, one, two, ranks, doc_)                                    \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, Tensor " one ", Tensor " two ", *, "   \
                        "Scalar beta=1, Scalar alpha=1) -> Tensor",           \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_INPLACE | CFX_OP_COMPLEX,                             \
        .code = ranks,                                                        \
        .state_size = sizeof(struct factors),                                 \
        .infer = addmm_infer,                                                 \
        .cost = addmm_cost,                                                   \
        .workspace = matmul_workspace,                                        \
        .run = addmm_run,                                                     \
    };

ADDMM(addmm, "mat1", "mat2", RANKS(2, 2),
      "beta * self + alpha * the product of two matrices.")
ADDMM(addmv, "mat", "vec", RANKS(2, 1),
      "beta * self + alpha * the product of a matrix and a vector.")
ADDMM(baddbmm, "batch1", "batch2", RANKS(3, 3),
      "beta * self + alpha * the products of two batches.")
