/*
 * det -- determinants, their signs and logarithms, by LU.
 *
 * shape   the batch of the argument; the factors and row exchanges as those of
 *         lu_factor.
 * cost    n^3 / 3 multiply-adds (LAPACK Working Note 41, the highest power), and
 *         n products, or for slogdet n absolute values, logarithms and sums.
 */
#include <math.h>
#include <string.h>

#include "op/composite.h"
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A);

static const cfx_tensor *matrices(const cfx_call *call)
{
    return cfx_call_tensor(call, A);
}

/* The operators have 1 or 2 results before LU and pivots: the code. */
static cfx_status det_infer(cfx_call *call)
{
    const cfx_tensor *a = matrices(call);
    cfx_dtype type = (cfx_dtype)a->dtype;
    cfx_status st = cfx_matrices_check_square(call, A);
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(a, 2);
    for (int i = 0; i < call->op->code && !st; i++)
        st = cfx_numbers_out(call, i ? cfx_dtype_real(type) : type, &b);
    if (!st)
        st = cfx_matrices_out(call, type, &b, cfx_rows(a), cfx_columns(a));
    return st ? st : cfx_vectors_out(call, CFX_I32, &b, cfx_rows(a));
}

static void det_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *a = matrices(call);
    cfx_dim n = cfx_rows(a), one = cfx_dim_int(1);
    bool logs = call->op->code == 2;
    cost->macs = cfx_matrices_macs(call, a, 1, 3, n, n, n);
    cost->ops = cfx_matrices_macs(call, a, logs ? 3 : 1, 1, n, one, one);
    if (logs)
        cost->transcendental = cfx_matrices_macs(call, a, 1, 1, n, one, one);
}

static size_t det_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, matrices(call), 2, 0);
}

/* 1, or -1 for an odd number of exchanged rows. */
static double exchanged(const int *pivot, int n)
{
    bool odd = false;
    for (int i = 0; i < n; i++)
        odd ^= pivot[i] != i + 1;
    return odd ? -1 : 1;
}

typedef struct number {
    double re, im;
} number;

static number diagonal(cfx_dtype t, const void *a, int n, int i)
{
    double part[2] = {0, 0};
    const char *at = (const char *)a +
                     ((size_t)i * (size_t)n + (size_t)i) * cfx_dtype_size(t);
    if (cfx_dtype_is_complex(t))
        cfx_element_complex(t, at, part);
    else
        part[0] = cfx_element_double(t, at);
    return (number){part[0], part[1]};
}

static number times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Real numbers are not multiplied by an imaginary 0, which makes NaN of an
 * infinite one. */
static number product(cfx_dtype t, const void *a, int n, double sign)
{
    number y = {sign, 0};
    bool complex = cfx_dtype_is_complex(t);
    for (int i = 0; i < n; i++) {
        number d = diagonal(t, a, n, i);
        y = complex ? times(y, d) : (number){y.re * d.re, 0};
        if (cfx_dtype_real(t) == CFX_F32)
            y = (number){(float)y.re, (float)y.im};
    }
    return y;
}

static double sign_and_log(cfx_dtype t, const void *a, int n, number *sign)
{
    double sum = 0;
    bool complex = cfx_dtype_is_complex(t);
    for (int i = 0; i < n; i++) {
        number d = diagonal(t, a, n, i);
        double size = complex ? hypot(d.re, d.im) : fabs(d.re);
        if (!complex)
            sign->re *= d.re > 0 ? 1 : d.re < 0 ? -1 : d.re;
        else if (size > 0)
            *sign = times(*sign, (number){d.re / size, d.im / size});
        else
            *sign = times(*sign, d);
        sum += log(size);
    }
    return sum;
}

static void set_number(cfx_dtype t, void *to, number v)
{
    if (t == CFX_C128)
        memcpy(to, &v, sizeof(v));
    else if (t == CFX_C64)
        memcpy(to, (float[]){(float)v.re, (float)v.im}, 2 * sizeof(float));
    else
        cfx_element_set_double(t, to, v.re);
}

static int det_each(const cfx_matrices *m, int64_t i, void *work)
{
    cfx_tensor *const *out = m->call->out;
    int k = m->call->op->code;
    int n = (int)cfx_tensor_size(m->like, m->like->rank - 1);
    void *a = cfx_matrices_at(m, out[k], 2, i);
    int *pivot = cfx_matrices_at(m, out[k + 1], 1, i);
    (void)work;
    cfx_lapack_getrf(m->type, n, n, a, pivot);
    number sign = {exchanged(pivot, n), 0};
    if (k == 1) {
        set_number(m->type, cfx_matrices_at(m, out[0], 0, i),
                   product(m->type, a, n, sign.re));
        return 0;
    }
    double sum = sign_and_log(m->type, a, n, &sign);
    set_number(m->type, cfx_matrices_at(m, out[0], 0, i), sign);
    cfx_element_set_double((cfx_dtype)out[1]->dtype,
                           cfx_matrices_at(m, out[1], 0, i), sum);
    return 0;
}

/* The transposed matrix has the same determinant; of a row-major one of real
 * numbers PyTorch factors that. */
static cfx_status copy_for_lu(const cfx_call *call, cfx_tensor *y,
                              const cfx_tensor *x)
{
    cfx_dim stride[CFX_MAX_RANK];
    cfx_tensor *turned;
    if (!cfx_tensor_is_contiguous(x) ||
        cfx_dtype_is_complex((cfx_dtype)x->dtype))
        return cfx_matrices_copy(call, y, x);
    memcpy(stride, x->stride, (size_t)x->rank * sizeof(*stride));
    stride[x->rank - 2] = x->stride[x->rank - 1];
    stride[x->rank - 1] = x->stride[x->rank - 2];
    cfx_status st = cfx_tensor_view(&turned, x, x->rank, x->shape, stride,
                                    x->offset, call->err);
    if (st)
        return st;
    st = cfx_matrices_copy(call, y, turned);
    cfx_tensor_unref(turned);
    return st;
}

static cfx_status det_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = copy_for_lu(call, call->out[call->op->code],
                                matrices(call));
    return st ? st : cfx_matrices_run(&m, call, matrices(call), 0, det_each);
}

#define DET                                                                   \
    .flags = CFX_OP_COMPLEX, .params = params, .infer = det_infer,            \
    .cost = det_cost, .workspace = det_workspace, .run = det_run

const cfx_op cfx_op___linalg_det = {
    .schema =
        "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    .aliases = "torch. aten.",
    .doc = "The determinants of matrices, with the factors that led to them.",
    .code = 1,
    DET,
};

const cfx_op cfx_op___linalg_slogdet = {
    .schema =
        "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    .aliases = "torch. aten.",
    .doc =
        "The signs and logarithms of determinants, with the factors that led to them.",
    .code = 2,
    DET,
};

/* ---- Parts of them ---- */

static cfx_value argument(const cfx_call *call)
{
    return cfx_call_value(call, cfx_call_place(call, SELF) >= 0 ? SELF : A);
}

static cfx_value det_only_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value all = CFX_CALL(s, "torch._linalg_det", argument(call));
    return cfx_nth(s, all, 0);
}

static cfx_value slogdet_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value all = CFX_CALL(s, "torch._linalg_slogdet", argument(call));
    return cfx_tuple(s, cfx_nth(s, all, 0), cfx_nth(s, all, 1));
}

/* NaN for a negative determinant; a complex one has a complex logarithm. */
static cfx_value logdet_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value all = CFX_CALL(s, "torch._linalg_slogdet", argument(call));
    if (cfx_is_complex_tensor(argument(call)))
        return CFX_CALL(s, "torch.add",
                        CFX_CALL(s, "torch.log", cfx_nth(s, all, 0)),
                        cfx_nth(s, all, 1));
    cfx_value negative = CFX_CALL(s, "torch.eq", cfx_nth(s, all, 0),
                                  cfx_int(-1));
    return CFX_CALL(s, "torch.masked_fill", cfx_nth(s, all, 1), negative,
                    cfx_float(NAN));
}

CFX_COMPOSITE(det_only)
CFX_COMPOSITE(slogdet)
CFX_COMPOSITE(logdet)

#define PART(name_, schema_, aliases_, doc_, rule)                            \
    const cfx_op cfx_op__##name_ = {                                          \
        .schema = schema_,                                                    \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = rule##_infer,                                                \
        .cost = rule##_cost,                                                  \
        .run = rule##_run,                                                    \
    };

PART(linalg_det, "linalg_det(Tensor A) -> Tensor", "torch.linalg. aten.",
     "The determinants of matrices.", det_only)
PART(det, "det(Tensor self) -> Tensor", "torch. Tensor. aten.",
     "The determinants of matrices.", det_only)
PART(linalg_slogdet,
     "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
     "torch.linalg. aten.",
     "The signs of determinants and the logarithms of their absolute values.",
     slogdet)
PART(slogdet, "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
     "torch. Tensor. aten.",
     "The signs of determinants and the logarithms of their absolute values.",
     slogdet)
PART(logdet, "logdet(Tensor self) -> Tensor", "torch. Tensor. aten.",
     "The logarithms of determinants.", logdet)
