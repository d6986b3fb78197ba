/*
 * matrix_exp -- the exponential of matrices, by Taylor polynomials of degree 1,
 * 2, 4, 8, 12 or 18, the least that is exact enough for the norm of the matrix;
 * above that the matrix is halved, and its exponential squared, so many times.
 *
 * The polynomials take 0, 1, 2, 3, 4 or 5 products: P. Bader, S. Blanes, F.
 * Casas, Computing the Matrix Exponential with an Optimized Taylor Polynomial
 * Approximation, Mathematics 7 (2019), 1174. Bounds of norms are PyTorch's.
 *
 * A complex matrix A + iB is the real one [A -B; B A], whose exponential has
 * the same form.
 *
 * shape   that of the argument.
 * cost    5 products of matrices, 5 n^3 multiply-adds: degree 18. How often the
 *         result is squared depends on the numbers.
 */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/gemm/gemm.h"
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF);

static cfx_status matrix_exp_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_matrices_check_square(call, SELF);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

static void matrix_exp_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_rows(x);
    cost->macs = cfx_matrices_macs(call, x, 5, 1, n, n, n);
}

/* ---- Matrices of a slice ---- */

/* Powers, combinations, products. */
enum { A1, A2, A3, A6, B0, B1, B2, B3, B4, PRODUCT, MATRICES };

typedef struct slice {
    const cfx_context *ctx;
    cfx_dtype type;
    int64_t n;
    char *base;
    size_t each; /* bytes of a matrix */
} slice;

static void *at(const slice *s, int k)
{
    return s->base + (size_t)k * s->each;
}

static cfx_gemm square(cfx_dtype type, int64_t n, const void *a, const void *b,
                       void *c)
{
    return (cfx_gemm){.dtype = type,
                      .m = n,
                      .n = n,
                      .k = n,
                      .a = a,
                      .a_row = n,
                      .a_col = 1,
                      .b = b,
                      .b_row = n,
                      .b_col = 1,
                      .c = c,
                      .c_row = n};
}

/* y = a b; y is neither. */
static void multiply(const slice *s, int y, int a, int b)
{
    cfx_gemm g = square(s->type, s->n, at(s, a), at(s, b), at(s, y));
    cfx_gemm_run_serial(s->ctx, &g, at(s, MATRICES));
}

/* y += a. */
static void add(const slice *s, int y, int a)
{
    int64_t n = s->n * s->n;
    if (s->type == CFX_F64)
        for (int64_t i = 0; i < n; i++)
            ((double *)at(s, y))[i] += ((const double *)at(s, a))[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((float *)at(s, y))[i] += ((const float *)at(s, a))[i];
}

/* y = c[0] I + c[1] A + c[2] A2 + c[3] A3 + c[4] A6; y may be A1. */
static void combine(const slice *s, int y, const double *c, int terms)
{
    int64_t n = s->n * s->n;
    for (int64_t i = 0; i < n; i++) {
        double v = i % (s->n + 1) ? 0 : c[0];
        for (int k = 1; k < terms; k++)
            if (s->type == CFX_F64)
                v += c[k] * ((const double *)at(s, A1 + k - 1))[i];
            else
                v += c[k] * ((const float *)at(s, A1 + k - 1))[i];
        if (s->type == CFX_F64)
            ((double *)at(s, y))[i] = v;
        else
            ((float *)at(s, y))[i] = (float)v;
    }
}

/* ---- Polynomials; each leaves its result in B0 ---- */

static void degree_1(const slice *s)
{
    combine(s, B0, (const double[]){1, 1}, 2);
}

static void degree_2(const slice *s)
{
    multiply(s, A2, A1, A1);
    combine(s, B0, (const double[]){1, 1, 0.5}, 3);
}

static void degree_4(const slice *s)
{
    multiply(s, A2, A1, A1);
    combine(s, B1, (const double[]){0.5, 1.0 / 6, 1.0 / 24}, 3);
    multiply(s, PRODUCT, A2, B1);
    combine(s, B0, (const double[]){1, 1}, 2);
    add(s, B0, PRODUCT);
}

/* A3 holds A^4 here. */
static void degree_8(const slice *s)
{
    const double r = sqrt(177), x3 = 2.0 / 3;
    const double x1 = x3 * (1 + r) / 88, x2 = x3 * (1 + r) / 352;
    const double x4 = (-271 + 29 * r) / (315 * x3);
    const double x5 = 11 * (-1 + r) / (1260 * x3);
    const double x6 = 11 * (-9 + r) / (5040 * x3);
    const double x7 = (89 - r) / (5040 * x3 * x3);
    const double y2 = (857 - 58 * r) / 630;
    multiply(s, A2, A1, A1);
    combine(s, B1, (const double[]){0, x1, x2}, 3);
    multiply(s, A3, A2, B1);
    combine(s, B1, (const double[]){0, 0, x3, 1}, 4);
    combine(s, B2, (const double[]){x4, x5, x6, x7}, 4);
    multiply(s, PRODUCT, B1, B2);
    combine(s, B0, (const double[]){1, 1, y2}, 3);
    add(s, B0, PRODUCT);
}

static void degree_12(const slice *s)
{
    static const double b[4][4] = {
        {9.0198e-16, 0.46932117595418237389, -0.20099424927047284052,
         -0.04623946134063071740},
        {5.31597895759871264183, 1.19926790417132231573,
         0.01179296240992997031, 0.01108844528519167989},
        {0.18188869982170434744, 0.05502798439925399070,
         0.09351590770535414968, 0.00610700528898058230},
        {-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079,
         -0.00675951846863086359}};
    multiply(s, A2, A1, A1);
    multiply(s, A3, A1, A2);
    for (int i = 0; i < 4; i++)
        combine(s, B0 + i, b[i], 4);
    multiply(s, PRODUCT, B3, B3);
    add(s, B2, PRODUCT);
    add(s, B1, B2);
    multiply(s, PRODUCT, B1, B2);
    add(s, B0, PRODUCT);
}

static void degree_18(const slice *s)
{
    static const double b[5][5] = {
        {0, -1.00365581030144618291e-01, -8.02924648241156932449e-03,
         -8.92138498045729985177e-04, 0},
        {0, 3.97849749499645077844e-01, 1.36783778460411720168e+00,
         4.98289622525382669416e-01, -6.37898194594723280150e-04},
        {-1.09676396052962061844e+01, 1.68015813878906206114e+00,
         5.71779846478865511061e-02, -6.98210122488052056106e-03,
         3.34975017086070470649e-05},
        {-9.04316832390810593223e-02, -6.76404519071381882256e-02,
         6.75961301770459654925e-02, 2.95552570429315521194e-02,
         -1.39180257516060693404e-05},
        {0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02,
         -1.40086798182036094347e-05}};
    multiply(s, A2, A1, A1);
    multiply(s, A3, A1, A2);
    multiply(s, A6, A3, A3);
    for (int i = 0; i < 5; i++)
        combine(s, B0 + i, b[i], 5);
    multiply(s, PRODUCT, B0, B4);
    add(s, B3, PRODUCT);
    add(s, B2, B3);
    multiply(s, B0, B2, B3);
    add(s, B0, B1);
}

/* ---- Runs ---- */

static double norm(const slice *s)
{
    double most = 0;
    for (int64_t c = 0; c < s->n; c++) {
        double sum = 0;
        for (int64_t r = 0; r < s->n; r++)
            sum += fabs(
                cfx_element_double(s->type, (const char *)at(s, A1) +
                                                (size_t)(r * s->n + c) *
                                                    cfx_dtype_size(s->type)));
        if (!(sum <= most)) /* NaN stays */
            most = sum;
    }
    return most;
}

static void (*const degrees[])(const slice *) = {degree_1, degree_2, degree_4,
                                                 degree_8, degree_12};

/* Halve the matrix until degree 18 is exact enough. */
static void halve_and_square(const slice *s, double size, double bound)
{
    double halvings = ceil(log2(size / bound));
    int times = halvings > 0 ? (int)fmin(halvings, 16384) : 0;
    const double scale[] = {0, ldexp(1, -times)};
    combine(s, A1, scale, 2);
    degree_18(s);
    for (int i = 0; i < times && !cfx_context_stops(s->ctx); i++) {
        multiply(s, PRODUCT, B0, B0);
        memcpy(at(s, B0), at(s, PRODUCT), s->each);
    }
}

static void compute(const slice *s)
{
    static const double bounds[2][6] = {
        {1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02,
         5.800524627688768e-01, 1.461661507209034e+00, 3.010066362817634e+00},
        {2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04,
         4.991228871115323e-02, 2.996158913811580e-01, 1.090863719290036e+00}};
    const double *bound = bounds[s->type == CFX_F64];
    double size = norm(s);
    for (int i = 0; i < 5; i++)
        if (size <= bound[i]) {
            degrees[i](s);
            return;
        }
    if (isfinite(size)) {
        halve_and_square(s, size, bound[5]);
        return;
    }
    for (int64_t i = 0; i < s->n * s->n; i++)
        cfx_element_set_double(
            s->type, (char *)at(s, B0) + (size_t)i * cfx_dtype_size(s->type),
            NAN);
}

/* Numbers of an element. */
static int64_t parts_of(const cfx_tensor *x)
{
    return cfx_dtype_is_complex((cfx_dtype)x->dtype) ? 2 : 1;
}

static size_t matrix_exp_size(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t n = cfx_tensor_size(x, x->rank - 1) * parts_of(x);
    cfx_dtype type = cfx_dtype_real((cfx_dtype)x->dtype);
    cfx_gemm g = square(type, n, NULL, NULL, NULL);
    return MATRICES * cfx_work_size((size_t)(n * n), cfx_dtype_size(type)) +
           cfx_work_size(cfx_gemm_serial_workspace(call->ctx, &g), 1);
}

static size_t matrix_exp_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, call->out[0], 2,
                                  matrix_exp_size(call));
}

static void copy_part(const slice *s, int64_t r, int64_t c, const char *from)
{
    size_t size = cfx_dtype_size(s->type);
    memcpy((char *)at(s, A1) + (size_t)(r * s->n + c) * size, from, size);
}

/* An element at (r, c) of n x n, both parts of it and the negative of the
 * second where it is complex. */
static void read_element(const slice *s, int64_t n, int64_t r, int64_t c,
                         const char *from)
{
    size_t size = cfx_dtype_size(s->type);
    copy_part(s, r, c, from);
    if (n == s->n)
        return;
    copy_part(s, n + r, n + c, from);
    copy_part(s, n + r, c, from + size);
    cfx_element_set_double(
        s->type, (char *)at(s, A1) + (size_t)(r * s->n + n + c) * size,
        -cfx_element_double(s->type, from + size));
}

/* The left half has both parts: the real ones, and below them the others. */
static void write_matrix(const slice *s, int64_t n, char *to)
{
    size_t size = cfx_dtype_size(s->type);
    int64_t parts = s->n == n ? 1 : 2;
    for (int64_t r = 0; r < s->n; r++)
        for (int64_t c = 0; c < n; c++)
            memcpy(to + (size_t)((r % n * n + c) * parts + r / n) * size,
                   (char *)at(s, B0) + (size_t)(r * s->n + c) * size, size);
}

static int matrix_exp_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *x = cfx_call_tensor(m->call, SELF);
    int64_t n = cfx_tensor_size(x, x->rank - 1), all = n * parts_of(x);
    cfx_dtype real = cfx_dtype_real(m->type);
    const slice s = {m->call->ctx, real, all, work,
                     cfx_work_size((size_t)(all * all), cfx_dtype_size(real))};
    const char *from = cfx_matrices_at(m, x, 2, i);
    int64_t size = (int64_t)cfx_dtype_size(m->type);
    int64_t row = cfx_tensor_stride(x, x->rank - 2);
    int64_t column = cfx_tensor_stride(x, x->rank - 1);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++)
            read_element(&s, n, r, c, from + (r * row + c * column) * size);
    if (n)
        compute(&s);
    write_matrix(&s, n, cfx_matrices_at(m, m->call->out[0], 2, i));
    return 0;
}

static cfx_status matrix_exp_run(cfx_call *call)
{
    cfx_matrices m;
    return cfx_matrices_each(&m, call, call->out[0], matrix_exp_size(call),
                             matrix_exp_each);
}

const cfx_op cfx_op__linalg_matrix_exp = {
    .schema = "linalg_matrix_exp(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. torch.matrix_exp Tensor.matrix_exp aten.",
    .doc = "The exponentials of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = matrix_exp_infer,
    .cost = matrix_exp_cost,
    .workspace = matrix_exp_workspace,
    .run = matrix_exp_run,
};
