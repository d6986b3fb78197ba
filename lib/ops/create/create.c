/*
 * create -- tensors from nothing: zeros, full, arange, tensor, ...
 *
 * shape   the given extents, or those of another tensor.
 * cost    no arithmetic; writes the result.
 *
 * What `empty` leaves open is 0 here, so that runs can be repeated.
 */
#include "ops/create/create.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/pointwise/pointwise.h"
#include "op/cost.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/index/indexing.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, SIZE, STRIDE, PHYSICAL_LAYOUT, FILL_VALUE, START, END,
           STEP, STEPS, BASE, N, M, S, DATA, DTYPE, LAYOUT, DEVICE, PIN_MEMORY,
           REQUIRES_GRAD, MEMORY_FORMAT);

/* ---- What all of them take ---- */

static bool has_tensor(const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++)
        if (call->in[k].kind == CFX_TENSOR)
            return true;
    return false;
}

/* New tensors are on the CPU unless a device is given. */
static cfx_status take_device(cfx_call *call, int k)
{
    if (cfx_call__is_labelled(call) && !has_tensor(call))
        call->device = CFX_DEVICE_CPU;
    return cfx_call__take_device(call, k);
}

cfx_status cfx_create_check_layout(cfx_call *call, int k)
{
    cfx_value layout = cfx_call_value(call, k);
    if (layout.kind == CFX_LAYOUT && !strstr(layout.u.str->text, "strided"))
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "layout %s is not "
                             "offered", layout.u.str->text);
    return CFX_OK;
}

cfx_status cfx_create_check(cfx_call *call, int k)
{
    cfx_status st = cfx_create_check_layout(call, k + 1);
    return st ? st : take_device(call, k + 2);
}

cfx_status cfx_create_size(cfx_call *call, int k, int *rank, cfx_dim *shape)
{
    *rank = cfx_call_len(call, k);
    if (*rank > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             *rank, CFX_MAX_RANK);
    for (int i = 0; i < *rank; i++) {
        char s[64];
        shape[i] = cfx_call_dim(call, k, i);
        if (cfx_dim_le(call->env, cfx_dim_int(0), shape[i]))
            continue;
        if (cfx_dim_is_bad(shape[i]))
            return cfx_call_fail(call, CFX_EINVAL, "extent %d of the size is "
                                 "no int of 62 bits", i);
        cfx_dim_format(shape[i], s, sizeof(s));
        return cfx_call_fail(call, CFX_EINVAL, "Trying to create tensor with "
                             "negative dimension %s", s);
    }
    return CFX_OK;
}

static cfx_status out_sized(cfx_call *call, cfx_dtype dtype,
                            cfx_memory_format format)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_status st = cfx_create_size(call, SIZE, &rank, shape);
    if (st)
        return st;
    return cfx_view_out_in_format(call, dtype, format, rank, shape);
}

cfx_status cfx_create_like(cfx_call *call, cfx_dtype dtype, int k)
{
    return cfx_view_out_like(call, dtype, cfx_view_format_arg(
                                              call, k, CFX_PRESERVE_FORMAT));
}

static cfx_status constant_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_int(call->op->code));
}

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? "       \
                "device=None, bool? pin_memory=None, bool "                   \
                "requires_grad=False"

/* ---- By extents ---- */

static cfx_status sized_infer(cfx_call *call)
{
    cfx_status st = cfx_create_check(call, DTYPE);
    cfx_memory_format format = cfx_view_format_arg(call, MEMORY_FORMAT,
                                                   CFX_CONTIGUOUS_FORMAT);
    return st ? st : out_sized(call, cfx_call_dtype(call, DTYPE, CFX_F32),
                               format);
}

#define SIZED(name, code_, more, overload, doc_)                              \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(SymInt[] size, *, " OPTIONS more ") -> Tensor",     \
        .params = params,                                                     \
        .aliases = "torch." #name " aten." #name "." overload,                \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = sized_infer,                                                 \
        .cost = cfx_cost_created,                                             \
        .run = constant_run,                                                  \
    };

SIZED(zeros, 0, "", "default", "Zeros of the given extents.")
SIZED(ones, 1, "", "default", "Ones of the given extents.")
SIZED(empty, 0, ", MemoryFormat? memory_format=None", "memory_format",
      "A new tensor of the given extents; zeros here.")

static cfx_status full_infer(cfx_call *call)
{
    cfx_status st = cfx_create_check(call, DTYPE);
    cfx_value fill = cfx_call_value(call, FILL_VALUE);
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, cfx_value_dtype(fill));
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, FILL_VALUE),
                                   dtype);
    return st ? st : out_sized(call, dtype, CFX_CONTIGUOUS_FORMAT);
}

static cfx_status full_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_call_value(call, FILL_VALUE));
}

const cfx_op cfx_op__full = {
    .schema = "full(SymInt[] size, Scalar fill_value, *, " OPTIONS
              ") -> Tensor",
    .params = params,
    .aliases = "torch.full aten.full.default",
    .doc = "One number, with the given extents.",
    .infer = full_infer,
    .cost = cfx_cost_created,
    .run = full_run,
};

static cfx_status strided_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int rank, n;
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_create_size(call, SIZE, &rank, shape);
    if (!st)
        st = cfx_create_size(call, STRIDE, &n, stride);
    if (st)
        return st;
    if (n != rank)
        return cfx_call_fail(call, CFX_EINVAL, "dimensionality of sizes (%d) "
                             "must match dimensionality of strides (%d)", rank,
                             n);
    return cfx_call_out_strided(call, cfx_call_dtype(call, DTYPE, CFX_F32),
                                rank, shape, stride);
}

const cfx_op cfx_op__empty_strided = {
    .schema = "empty_strided(SymInt[] size, SymInt[] stride, *, " OPTIONS
              ") -> Tensor",
    .params = params,
    .aliases = "torch.empty_strided aten.empty_strided.default",
    .doc = "A new tensor of the given extents and strides; zeros here.",
    .infer = strided_infer,
    .cost = cfx_cost_created,
    .run = constant_run,
};

static cfx_status permuted_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_dim step = cfx_dim_int(1);
    int rank, axis;
    uint32_t seen = 0;
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_create_size(call, SIZE, &rank, shape);
    if (!st && cfx_call_len(call, PHYSICAL_LAYOUT) != rank)
        st = cfx_call_fail(call, CFX_EINVAL, "Number of dimensions in size "
                           "does not match the length of the physical_layout");
    for (int i = st ? -1 : rank - 1; i >= 0; i--) {
        int64_t given = cfx_call_item(call, PHYSICAL_LAYOUT, i).u.i;
        st = given < 0 ? cfx_call_fail(call, CFX_EINVAL, "physical_layout has "
                                       "the negative axis %lld",
                                       (long long)given)
                       : cfx_call_axis(call, given, rank, &axis);
        if (!st && seen >> axis & 1)
            st = cfx_call_fail(call, CFX_EINVAL, "Duplicate dim not allowed");
        if (st)
            return st;
        seen |= 1u << axis;
        stride[axis] = step;
        if (!cfx_dim_is(shape[axis], 0))
            step = cfx_dim_mul(call->env, step, shape[axis]);
    }
    return st ? st : cfx_call_out_strided(call,
                         cfx_call_dtype(call, DTYPE, CFX_F32), rank, shape,
                         stride);
}

const cfx_op cfx_op__empty_permuted = {
    .schema = "empty_permuted(SymInt[] size, int[] physical_layout, *, "
              OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.empty_permuted aten.empty_permuted.default",
    .doc = "A new tensor with its axes in that order in memory; zeros here.",
    .infer = permuted_infer,
    .cost = cfx_cost_created,
    .run = constant_run,
};

/* ---- Like another tensor ---- */

static cfx_status like_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_status st = cfx_create_check(call, DTYPE);
    return st ? st : cfx_create_like(call, cfx_call_dtype(call, DTYPE, own),
                                     MEMORY_FORMAT);
}

#define LIKE(name, code_, doc_)                                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, *, " OPTIONS ", MemoryFormat? "        \
                  "memory_format=None) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = "torch." #name " aten." #name ".default",                  \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = like_infer,                                                  \
        .cost = cfx_cost_created,                                             \
        .run = constant_run,                                                  \
    };

LIKE(zeros_like, 0, "Zeros with the extents of another tensor.")
LIKE(ones_like, 1, "Ones with the extents of another tensor.")
LIKE(empty_like, 0, "A new tensor with the extents of another; zeros here.")

static cfx_status full_like_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, own);
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, FILL_VALUE),
                                   dtype);
    return st ? st : cfx_create_like(call, dtype, MEMORY_FORMAT);
}

const cfx_op cfx_op__full_like = {
    .schema = "full_like(Tensor self, Scalar fill_value, *, " OPTIONS
              ", MemoryFormat? memory_format=None) -> Tensor",
    .params = params,
    .aliases = "torch.full_like aten.full_like.default",
    .doc = "One number, with the extents of another tensor.",
    .infer = full_like_infer,
    .cost = cfx_cost_created,
    .run = full_run,
};

/* ---- new_zeros and its kin: the type of another tensor ---- */

static cfx_status new_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_status st = cfx_create_check(call, DTYPE);
    return st ? st : out_sized(call, cfx_call_dtype(call, DTYPE, own),
                               CFX_CONTIGUOUS_FORMAT);
}

#define NEW(name, code_, doc_)                                                \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, SymInt[] size, *, " OPTIONS            \
                  ") -> Tensor",                                              \
        .params = params,                                                     \
        .aliases = "Tensor." #name " aten." #name ".default",                 \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = new_infer,                                                   \
        .cost = cfx_cost_created,                                             \
        .run = constant_run,                                                  \
    };

NEW(new_zeros, 0, "Zeros of the type of another tensor.")
NEW(new_ones, 1, "Ones of the type of another tensor.")
NEW(new_empty, 0, "A new tensor of the type of another; zeros here.")

static cfx_status new_full_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, own);
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, FILL_VALUE),
                                   dtype);
    return st ? st : out_sized(call, dtype, CFX_CONTIGUOUS_FORMAT);
}

static cfx_status new_full_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_call_value(call, FILL_VALUE));
}

const cfx_op cfx_op__new_full = {
    .schema = "new_full(Tensor self, SymInt[] size, Scalar fill_value, *, "
              OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "Tensor.new_full aten.new_full.default",
    .doc = "One number of the type of another tensor.",
    .infer = new_full_infer,
    .cost = cfx_cost_created,
    .run = new_full_run,
};

/* ---- arange ---- */

/* The state of a call of arange. */
struct range {
    cfx_value start, end, step;
};

static void read_range(const cfx_call *call, struct range *r)
{
    r->start = cfx_call_has(call, START) ? cfx_call_value(call, START)
                                         : cfx_int(0);
    r->end = cfx_call_value(call, END);
    r->step = cfx_call_has(call, STEP) ? cfx_call_value(call, STEP)
                                       : cfx_int(1);
}

static bool is_whole(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_SYMINT ||
           v.kind == CFX_BOOL_VALUE;
}

static cfx_status count_ints(cfx_call *call, cfx_dim start, cfx_dim end,
                             cfx_dim step, cfx_dim *n)
{
    cfx_shape_env *env = call->env;
    cfx_dim zero = cfx_dim_int(0);
    if (cfx_dim_is(step, 0))
        return cfx_call_fail(call, CFX_EINVAL, "step must be nonzero");
    bool up = cfx_dim_lt(env, zero, step);
    if (up ? !cfx_dim_le(env, start, end) : !cfx_dim_le(env, end, start))
        return cfx_call_fail(call, CFX_EINVAL, "upper bound and lower bound "
                             "inconsistent with step sign");
    *n = cfx_dim_ceildiv(env, cfx_dim_sub(env, end, start), step);
    return CFX_OK;
}

static bool has_unknown(const cfx_call *call, double start, double end,
                        double step)
{
    return cfx_infer_is_unknown(call, start) ||
           cfx_infer_is_unknown(call, end) || cfx_infer_is_unknown(call, step);
}

/* A step as a number; of a symbol its sign, where that is known. */
static double step_sign(const cfx_call *call, cfx_value step)
{
    if (step.kind == CFX_SYMINT &&
        cfx_dim_known_le(call->env, cfx_dim_int(1), cfx_value_dim(step)))
        return 1;
    return cfx_value_number(step);
}

/* A range of floats; its bounds may be whole all the same. */
static cfx_status check_range(cfx_call *call, cfx_value start, cfx_value end,
                              double step)
{
    double a = cfx_value_number(start), b = cfx_value_number(end);
    bool ordered;
    if (cfx_infer_is_unknown(call, step))
        return CFX_OK;
    if (step == 0 || isnan(step))
        return cfx_call_fail(call, CFX_EINVAL, "step must be nonzero");
    if (is_whole(start) && is_whole(end)) {
        cfx_dim from = cfx_value_dim(start), to = cfx_value_dim(end);
        ordered = step > 0 ? cfx_dim_le(call->env, from, to)
                           : cfx_dim_le(call->env, to, from);
    } else if (has_unknown(call, a, b, step)) {
        return CFX_OK;
    } else if (!isfinite(a) || !isfinite(b)) {
        return cfx_call_fail(call, CFX_EINVAL, "unsupported range: %g -> %g",
                             a, b);
    } else {
        ordered = step > 0 ? a <= b : b <= a;
    }
    return ordered ? CFX_OK
                   : cfx_call_fail(call, CFX_EINVAL, "upper bound and lower "
                                   "bound inconsistent with step sign");
}

static cfx_status count_floats(cfx_call *call, double start, double end,
                               double step, cfx_dim *n)
{
    if (has_unknown(call, start, end, step))
        return cfx_infer_unknown_extent(call, n);
    double count = ceil((end - start) / step);
    if (!(count < 0x1p60))
        return cfx_call_fail(call, CFX_ESHAPE, "invalid size, possible "
                             "overflow?");
    *n = cfx_dim_int((int64_t)count);
    return CFX_OK;
}

/* In int64 the bounds are cut before anything is counted; other types of
 * integers count as floats do. */
static cfx_status count_cut(cfx_call *call, double start, double end,
                            double step, cfx_dim *n)
{
    double a, b, by;
    cfx_status st = count_floats(call, start, end, step, n);
    if (st || has_unknown(call, start, end, step))
        return st;
    st = cfx_infer_cut(call, start, CFX_I64, &a);
    if (!st)
        st = cfx_infer_cut(call, end, CFX_I64, &b);
    if (!st)
        st = cfx_infer_cut(call, step, CFX_I64, &by);
    return st ? st : count_ints(call, cfx_dim_int((int64_t)a),
                                cfx_dim_int((int64_t)b),
                                cfx_dim_int((int64_t)by), n);
}

static cfx_status arange_infer(cfx_call *call)
{
    struct range *r = call->state;
    cfx_dim n = cfx_dim_int(0);
    read_range(call, r);
    cfx_value start = r->start, end = r->end, step = r->step;
    bool whole = is_whole(start) && is_whole(end) && is_whole(step);
    cfx_status st = cfx_create_check(call, DTYPE);
    if (st)
        return st;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, whole ? CFX_I64 : CFX_F32);
    if (dtype == CFX_BOOL)
        return cfx_infer_refuse(call, dtype);
    if (whole)
        st = count_ints(call, cfx_value_dim(start), cfx_value_dim(end),
                        cfx_value_dim(step), &n);
    else if (!(st = check_range(call, start, end, step_sign(call, step))))
        st = (dtype == CFX_I64 ? count_cut : count_floats)(
            call, cfx_value_number(start), cfx_value_number(end),
            cfx_value_number(step), &n);
    return st ? st : cfx_call_out(call, dtype, 1, &n);
}

static cfx_status arange_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_dtype type = (cfx_dtype)y->dtype;
    const struct range *r = call->state;
    cfx_value start = r->start, step = r->step;
    if (is_whole(start) && is_whole(step))
        cfx_fill_arange_int(call->ctx, y->data, type, cfx_tensor_size(y, 0),
                            start.u.i, step.u.i);
    else if (cfx_dtype_is_float(type))
        cfx_fill_arange(call->ctx, y->data, type, cfx_tensor_size(y, 0),
                        cfx_value_number(start), cfx_value_number(step));
    else
        /* In a type of ints each bound is cut before anything is added. */
        cfx_fill_arange_int(call->ctx, y->data, type, cfx_tensor_size(y, 0),
                            (int64_t)cfx_value_number(start),
                            (int64_t)cfx_value_number(step));
    return CFX_OK;
}

static const cfx_op arange_step = {
    .schema = "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "
              OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.arange aten.arange.start_step",
    .doc = "Numbers from start to end, step apart.",
    .code = 3,
    .state_size = sizeof(struct range),
    .infer = arange_infer,
    .run = arange_run,
};

static const cfx_op arange_start = {
    .schema = "arange.start(Scalar start, Scalar end, *, " OPTIONS
              ") -> Tensor",
    .params = params,
    .aliases = "torch.arange aten.arange.start",
    .doc = "Numbers from start to end.",
    .code = 2,
    .state_size = sizeof(struct range),
    .infer = arange_infer,
    .run = arange_run,
    .next = &arange_step,
};

const cfx_op cfx_op__arange = {
    .schema = "arange(Scalar end, *, " OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.arange aten.arange.default",
    .doc = "Numbers from 0 to end.",
    .code = 1,
    .state_size = sizeof(struct range),
    .infer = arange_infer,
    .run = arange_run,
    .next = &arange_start,
};

/* ---- linspace and logspace ---- */

/* A bound as an element of the result's type. */
static cfx_status bound(cfx_call *call, int k, cfx_dtype type, double *out)
{
    cfx_value v = cfx_call_value(call, k);
    union { double d; int64_t i; } element;
    *out = v.kind != CFX_TENSOR ? cfx_value_number(v)
           : cfx_element_double((cfx_dtype)v.u.tensor->dtype,
                                v.u.tensor->data);
    if (!cfx_dtype_is_float(type))
        return cfx_infer_cut(call, *out, type, out);
    cfx_element_set_double(type, &element, *out);
    *out = cfx_element_double(type, &element);
    return CFX_OK;
}

static cfx_status space_infer(cfx_call *call)
{
    cfx_dim n = cfx_value_dim(cfx_call_value(call, STEPS));
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_F32);
    double number;
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st && type == CFX_BOOL)
        st = cfx_infer_refuse(call, type);
    for (int k = START; k <= END && !st; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (!t && cfx_call_value(call, k).kind != CFX_SYMINT)
            st = bound(call, k, type, &number);
        else if (t && t->rank)
            st = cfx_call_fail(call, CFX_ESHAPE, "only supports 0-dimensional "
                               "start and end tensors, but got %s with %d "
                               "dimensions", cfx_call__param_name(call, k),
                               t->rank);
    }
    if (!st && !cfx_dim_le(call->env, cfx_dim_int(0), n))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "number of steps must be non-negative");
    return st ? st : cfx_call_out(call, type, 1, &n);
}

static cfx_status bounds(cfx_call *call, double *start, double *end)
{
    cfx_dtype type = (cfx_dtype)call->out[0]->dtype;
    cfx_status st = bound(call, START, type, start);
    return st ? st : bound(call, END, type, end);
}

static cfx_status linspace_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    double start, end;
    cfx_status st = bounds(call, &start, &end);
    if (!st)
        cfx_fill_linspace(call->ctx, y->data, (cfx_dtype)y->dtype,
                          cfx_tensor_size(y, 0), start, end);
    return st;
}

/* The power is cut to an integer; one that no int64 holds is its least. */
static void set_power(cfx_dtype type, void *p, double v)
{
    if (cfx_dtype_is_float(type))
        cfx_element_set_double(type, p, v);
    else
        cfx_element_set_int(type, p, fabs(v) < 0x1p63 ? (int64_t)v
                                                      : INT64_MIN);
}

/* One step is a power of the bound as it was given. */
static cfx_status logspace_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_dtype type = (cfx_dtype)y->dtype;
    double base = cfx_call_double(call, BASE), start, end, step = 0;
    int64_t n = cfx_tensor_size(y, 0);
    cfx_status st = n > 1 ? bounds(call, &start, &end)
                          : bound(call, START, CFX_F64, &start);
    if (st)
        return st;
    if (n > 1) {
        union { double d; int64_t i; } span;
        step = end - start;
        if (cfx_dtype_is_float(type)) {
            cfx_element_set_double(type, &span, step);
            step = cfx_element_double(type, &span);
        }
        step /= (double)(n - 1);
    }
    for (int64_t i = 0; i < n && !cfx_context_stops_at(call->ctx, i); i++) {
        double at = i < n / 2 || n == 1 ? start + step * (double)i
                                        : end - step * (double)(n - 1 - i);
        set_power(type, (char *)y->data + (size_t)i * cfx_dtype_size(type),
                  pow(base, at));
    }
    return CFX_OK;
}

const cfx_op cfx_op__linspace = {
    .schema = "linspace(Tensor start, Tensor end, SymInt steps, *, " OPTIONS
              ") -> Tensor",
    .params = params,
    .aliases = "torch.linspace aten.linspace.default",
    .doc = "So many numbers from start to end, both of them among these.",
    .flags = CFX_OP_NUMBERS,
    .infer = space_infer,
    .run = linspace_run,
};

const cfx_op cfx_op__logspace = {
    .schema = "logspace(Tensor start, Tensor end, SymInt steps, float "
              "base=10.0, *, " OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.logspace aten.logspace.default",
    .doc = "The powers of a base whose exponents linspace gives.",
    .flags = CFX_OP_NUMBERS,
    .code = 1,
    .infer = space_infer,
    .run = logspace_run,
};

/* ---- eye ---- */

static cfx_status eye_infer(cfx_call *call)
{
    int columns = cfx_call_place(call, M) >= 0 ? M : N;
    cfx_dim shape[2] = {cfx_value_dim(cfx_call_value(call, N)),
                        cfx_value_dim(cfx_call_value(call, columns))};
    cfx_status st = cfx_create_check(call, DTYPE);
    for (int i = 0; !st && i < 2; i++)
        if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[i]))
            st = cfx_call_fail(call, CFX_EINVAL,
                               "extents must be greater or equal to 0");
    return st ? st : cfx_call_out(call, cfx_call_dtype(call, DTYPE, CFX_F32),
                                  2, shape);
}

static cfx_status eye_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_view v;
    cfx_iter it;
    cfx_loop_fill(call, cfx_int(0));
    cfx_view_begin(&v, y);
    cfx_status st = cfx_view_diagonal(call, &v, cfx_dim_int(0), 0, 1);
    if (st)
        return st;
    int64_t n = cfx_dim_value(v.shape[0]), step = cfx_dim_value(v.stride[0]);
    cfx_iter_begin(&it, 1, &n);
    cfx_iter_out(&it, y->data, (cfx_dtype)y->dtype, &step);
    cfx_iter_integer(&it, 1);
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

static const cfx_op eye_m = {
    .schema = "eye.m(SymInt n, SymInt m, *, " OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.eye aten.eye.m",
    .doc = "Ones on the diagonal of n rows and m columns, 0 elsewhere.",
    .code = 1,
    .infer = eye_infer,
    .run = eye_run,
};

const cfx_op cfx_op__eye = {
    .schema = "eye(SymInt n, *, " OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.eye aten.eye.default",
    .doc = "Ones on the diagonal, 0 elsewhere.",
    .infer = eye_infer,
    .run = eye_run,
    .next = &eye_m,
};

/* ---- From numbers ---- */

static cfx_status scalar_infer(cfx_call *call)
{
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, CFX_F32);
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, S), dtype);
    return st ? st : cfx_call_out(call, dtype, 0, NULL);
}

static cfx_status scalar_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_call_value(call, S));
}

const cfx_op cfx_op__scalar_tensor = {
    .schema = "scalar_tensor(Scalar s, *, " OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch.scalar_tensor aten.scalar_tensor.default",
    .doc = "A tensor of one number, a float unless another type is given.",
    .infer = scalar_infer,
    .run = scalar_run,
};

/* A tensor, converted; or what a list or number makes. */
static cfx_status tensor_infer(cfx_call *call)
{
    cfx_value v = cfx_call_value(call, DATA);
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, CFX_F32);
    bool given = cfx_call_has(call, DTYPE), keep = call->op->code;
    cfx_tensor *t = cfx_call_tensor(call, DATA);
    cfx_status st = take_device(call, DEVICE);
    if (st)
        return st;
    if (t) {
        cfx_dtype own = (cfx_dtype)t->dtype;
        if (keep && (!given || own == dtype) &&
            !cfx_call__moves(call, t))
            return cfx_call_out_same(call, DATA);
        return cfx_infer_like(call, t, given ? dtype : own);
    }
    st = cfx_list_tensor(call, &t, v, given ? &dtype : NULL);
    if (!st)
        t->device = call->device;
    return st ? st : cfx_call_return_take(call, cfx_value_of_tensor(t));
}

static cfx_status tensor_run(cfx_call *call)
{
    cfx_value v = cfx_call_value(call, DATA);
    return call->nout && !call->alias[0] ? cfx_loop_fill(call, v)
                                         : CFX_OK;
}

const cfx_op cfx_op__new_tensor = {
    .schema = "new_tensor(any data, *, ScalarType? dtype=None, Device? "
              "device=None, bool requires_grad=False, bool pin_memory=False) "
              "-> Tensor",
    .params = params,
    .aliases = "torch.tensor aten.tensor.default",
    .doc = "A tensor of numbers, or of lists of them.",
    .infer = tensor_infer,
    .run = tensor_run,
};

const cfx_op cfx_op__as_tensor = {
    .schema = "as_tensor(any(a) data, ScalarType? dtype=None, Device? "
              "device=None) -> Tensor(a)",
    .params = params,
    .aliases = "torch.as_tensor torch.asarray torch.from_numpy",
    .doc = "A tensor of numbers, or a tensor itself.",
    .code = 1,
    .infer = tensor_infer,
    .run = tensor_run,
};

/* The result has the type of another tensor. */
static cfx_status tensor_of_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, own);
    cfx_tensor *t;
    cfx_status st = take_device(call, DEVICE);
    if (!st)
        st = cfx_list_tensor(call, &t, cfx_call_value(call, DATA), &dtype);
    if (!st)
        t->device = call->device;
    return st ? st : cfx_call_return_take(call, cfx_value_of_tensor(t));
}

const cfx_op cfx_op__new_tensor_of = {
    .schema = "new_tensor_of(Tensor self, any data, *, ScalarType? "
              "dtype=None, Device? device=None, bool requires_grad=False) "
              "-> Tensor",
    .params = params,
    .aliases = "Tensor.new_tensor",
    .doc = "A tensor of numbers, of the type of another tensor.",
    .infer = tensor_of_infer,
};
