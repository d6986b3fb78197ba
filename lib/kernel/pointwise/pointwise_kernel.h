/*
 * pointwise_kernel.h -- operations on element i of their inputs alone.
 *
 * pointwise.def lists them: names, numbers of inputs, types and formulas. All
 * are called the same way, through an iterator (iter.h) that holds the output
 * and the inputs:
 *
 *     cfx_pointwise(ctx, CFX_PW_EXP, CFX_F32, &it, NULL);
 *
 * `dtype` is what the formula is computed in: the promoted type of the inputs,
 * or for functions such as exp on integers the default float. Inputs of other
 * types are converted to it. The output is converted from `dtype`, or from bool
 * for comparisons and the like, to what type the operand has.
 *
 * f16 and bf16 are computed in f32, as PyTorch does it. Numbers and tensors of
 * other types are rounded to them first, except for the last input of MUL, DIV,
 * DIV_TRUNC, DIV_FLOOR, LERP, ADDCMUL and ADDCDIV where it is one element. A
 * few operations, which PyTorch makes of several, round after each step.
 *
 * Numbers that may be integers (`alpha` of add, `min` of clamp, `value` of
 * masked_fill) are inputs of the iterator, by cfx_iter_number or
 * cfx_iter_integer. Parameters that are floats by nature (`beta` of softplus)
 * are in `params`, in the order of pointwise.def; NULL where there are none.
 */
#ifndef CFX_POINTWISE_H
#define CFX_POINTWISE_H

#include "kernel/iter.h"
#include "kernel/kernel.h"

typedef enum cfx_pw {
#define PW(name, inputs, types, result, expr) CFX_PW_##name,
#include "kernel/pointwise/pointwise.def"
#undef PW
    CFX_PW_COUNT
} cfx_pw;

/* Compute. Returns false if an integer was divided by 0 (the quotient is then
 * 0, and PyTorch would raise "ZeroDivisionError"); else true. */
bool cfx_pointwise(cfx_context *ctx, cfx_pw op, cfx_dtype dtype, cfx_iter *it,
                   const double *params);

/* Is the operation there for this type (of inputs), and is its result bool
 * whatever the type? */
bool cfx_pointwise_has(cfx_pw op, cfx_dtype dtype);
bool cfx_pointwise_is_bool(cfx_pw op);

/* The operation for a power by this exponent in PyTorch: SQUARE, RECIPROCAL,
 * ..., with one input, or POW. */
cfx_pw cfx_pointwise_power(double exponent, cfx_dtype dtype);

/* Copy the one input to the output, of any strides and types; this also fills
 * (with a number), broadcasts, transposes, flips (negative strides), joins and
 * cuts (views). */
void cfx_copy(cfx_context *ctx, cfx_iter *it);

/* Row-major y[0..n): start, start + step, ... Each value is computed
 * independently, in double (for integers: exactly). */
void cfx_fill_arange(cfx_context *ctx, void *y, cfx_dtype dtype, int64_t n,
                     double start, double step);
void cfx_fill_arange_int(cfx_context *ctx, void *y, cfx_dtype dtype, int64_t n,
                         int64_t start, int64_t step);
/* n numbers from start to end, both hit exactly, as torch.linspace. */
void cfx_fill_linspace(cfx_context *ctx, void *y, cfx_dtype dtype, int64_t n,
                       double start, double end);

/* ---- Levels ---- */

/* The types that loops compute in. */
typedef enum cfx_compute {
    CFX_C_F32,
    CFX_C_F64,
    CFX_C_I64,
    CFX_C_I32,
    CFX_C_I16,
    CFX_C_I8,
    CFX_C_U8,
    CFX_C_BOOL,
    CFX_C_C64,
    CFX_C_C128,
    CFX_C_COUNT,
    CFX_C_STORED = CFX_C_COUNT /* of a type without arithmetic */
} cfx_compute;

/* y[i] = f(in[0][i], in[1][i], ...) for i < n, all without gaps. `y` may be one
 * of the inputs. `params` are 3. Returns nonzero if an integer was divided by
 * 0. */
typedef unsigned cfx_loop_fn(void *y, const void *const *in, int64_t n,
                             const double *params);

/* y[i * sy] = x[i * sx], converted; strides in elements. */
typedef void cfx_convert_fn(void *y, int64_t sy, const void *x, int64_t sx,
                            int64_t n);

/* y[j * sy + i] = x[i * sx + j] for i < rows, j < cols; y and x have elements
 * of the size that the function is for. */
typedef void cfx_transpose_fn(void *y, int64_t sy, const void *x, int64_t sx,
                              int64_t rows, int64_t cols);

/* The loop of the context's level; NULL if the type has none. Never fails. */
cfx_loop_fn *cfx_pointwise_loop(const cfx_context *ctx, cfx_compute type,
                                cfx_pw op);

/* The types that a loop's output and inputs must have. */
typedef struct cfx_pointwise_types {
    uint8_t out, first, rest;
} cfx_pointwise_types;

/* The direct path for few contiguous elements (at most CFX_POINTWISE_FEW): the
 * loop, or NULL if there is none, and its types. Returns false if the operation
 * is not there for the type. */
enum { CFX_POINTWISE_FEW = 8192 };
bool cfx_pointwise_direct(const cfx_context *ctx, cfx_pw op, cfx_dtype dtype,
                          cfx_loop_fn **loop, cfx_pointwise_types *types);

/* The type that a dtype is computed in, and the dtype of that type. */
extern const uint8_t cfx_compute_of[CFX_NDTYPES];
extern const uint8_t cfx_compute_dtype[CFX_C_COUNT];

struct cfx_pointwise_kernels {
    cfx_loop_fn *const *loop[CFX_C_COUNT]; /* [type][operation], or NULL */
    cfx_convert_fn *const (*convert)[CFX_NDTYPES]; /* [to][from] */
    cfx_transpose_fn *const *transpose;            /* [log2 of the size] */
    /* memcpy that bypasses the caches, for larger blocks. A call with y NULL
     * and 0 bytes is the fence before other threads read it. */
    void (*stream)(void *y, const void *x, size_t bytes);
};

#endif
