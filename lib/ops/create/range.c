/*
 * range -- numbers at equal distances: arange, linspace, logspace.
 *
 * shape   one axis; its extent follows from the bounds, or is given.
 * cost    no arithmetic; writes the result.
 */
#include <math.h>

#include "base/stop.h"
#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/create/create.h"

CFX_PARAMS(params, START, END, STEP, STEPS, BASE, DTYPE, LAYOUT, DEVICE,
           PIN_MEMORY, REQUIRES_GRAD);

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
        return cfx_call_fail(
            call, CFX_EINVAL,
            "upper bound and lower bound inconsistent with step sign");
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
    return ordered
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EINVAL,
                     "upper bound and lower bound inconsistent with step sign");
}

static cfx_status count_floats(cfx_call *call, double start, double end,
                               double step, cfx_dim *n)
{
    if (has_unknown(call, start, end, step))
        return cfx_infer_unknown_extent(call, n);
    double count = ceil((end - start) / step);
    if (!(count < 0x1p60))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "invalid size, possible overflow?");
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
    return st ? st
              : count_ints(call, cfx_dim_int((int64_t)a),
                           cfx_dim_int((int64_t)b), cfx_dim_int((int64_t)by),
                           n);
}

/* A bound as an extent: integers, and floats that are whole. */
static bool bound_dim(cfx_value v, cfx_dim *d)
{
    double number = cfx_value_number(v);

    if (is_whole(v))
        *d = cfx_value_dim(v);
    else if (floor(number) == number && fabs(number) < 0x1p53)
        *d = cfx_dim_int((int64_t)number);
    else
        return false;
    return true;
}

static cfx_status arange_infer(cfx_call *call)
{
    struct range *r = call->state;
    cfx_dim n = cfx_dim_int(0), from, to, by;
    read_range(call, r);
    cfx_value start = r->start, end = r->end, step = r->step;
    bool whole = is_whole(start) && is_whole(end) && is_whole(step);
    cfx_status st = cfx_create_check(call, DTYPE);
    if (st)
        return st;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, whole ? CFX_I64 : CFX_F32);
    if (dtype == CFX_BOOL)
        return cfx_infer_refuse(call, dtype);
    /* Floats that are whole count symbols, too: arange(n, -n, -1.0). */
    bool symbols = has_unknown(call, cfx_value_number(start),
                               cfx_value_number(end), cfx_value_number(step));
    if ((whole || symbols) && bound_dim(start, &from) && bound_dim(end, &to) &&
        bound_dim(step, &by))
        st = count_ints(call, from, to, by, &n);
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
    .schema =
        "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Numbers from start to end, step apart.",
    .code = 3,
    .state_size = sizeof(struct range),
    .infer = arange_infer,
    .run = arange_run,
};

static const cfx_op arange_start = {
    .schema = "arange.start(Scalar start, Scalar end, *, " CFX_CREATE_OPTIONS
              ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Numbers from start to end.",
    .code = 2,
    .state_size = sizeof(struct range),
    .infer = arange_infer,
    .run = arange_run,
    .next = &arange_step,
};

const cfx_op cfx_op__arange = {
    .schema = "arange(Scalar end, *, " CFX_CREATE_OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
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
    union {
        double d;
        int64_t i;
    } element;
    *out = v.kind != CFX_TENSOR
               ? cfx_value_number(v)
               : cfx_element_double((cfx_dtype)v.u.tensor->dtype,
                                    v.u.tensor->data);
    if (!cfx_dtype_is_float(type))
        return cfx_infer_cut(call, *out, type, out);
    cfx_element_set_double(type, &element, *out);
    *out = cfx_element_double(type, &element);
    return CFX_OK;
}

static bool is_complex(cfx_value v)
{
    return v.kind == CFX_COMPLEX || cfx_is_complex_tensor(v);
}

/* Complex bounds make complex numbers, which no other type holds. */
static cfx_status space_type(cfx_call *call, cfx_dtype *type)
{
    bool complex = is_complex(cfx_call_value(call, START)) ||
                   is_complex(cfx_call_value(call, END));
    *type = cfx_call_dtype(call, DTYPE, complex ? CFX_C64 : CFX_F32);
    if (complex && !cfx_dtype_is_complex(*type))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "inferred dtype complex64 can't be safely cast to passed dtype %s",
            cfx_dtypes[*type].name);
    return *type == CFX_BOOL ? cfx_infer_refuse(call, *type) : CFX_OK;
}

/* One part of a bound. */
static cfx_value bound_part(cfx_scope *s, cfx_value v, int part)
{
    double number[2];
    if (cfx_is_complex_tensor(v))
        return CFX_CALL(s, part ? "torch.imag" : "torch.real", v);
    if (v.kind != CFX_COMPLEX)
        return part ? cfx_float(0) : v;
    cfx_value_parts(v, number);
    return cfx_float(number[part]);
}

/* Each part has equal distances of its own. */
static cfx_value complex_space_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype real = cfx_dtype_real((cfx_dtype)call->out[0]->dtype);
    cfx_value keys[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(real)};
    cfx_value part[2];
    for (int i = 0; i < 2; i++) {
        cfx_value args[] = {
            bound_part(s, cfx_call_value(call, START), i),
            bound_part(s, cfx_call_value(call, END), i),
            cfx_call_value(call, STEPS),
        };
        part[i] = cfx_call_function(s, "torch.linspace",
                                    (cfx_args){args, 3, keys, 1});
    }
    cfx_value y = CFX_CALL(s, "torch.complex", part[0], part[1]);
    return cfx_call_has(call, BASE)
               ? CFX_CALL(s, "torch.pow", cfx_call_value(call, BASE), y)
               : y;
}

static cfx_status space_infer(cfx_call *call)
{
    cfx_dim n = cfx_value_dim(cfx_call_value(call, STEPS));
    cfx_dtype type;
    double number;
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = space_type(call, &type);
    for (int k = START; k <= END && !st; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (!t && cfx_call_value(call, k).kind != CFX_SYMINT &&
            !cfx_dtype_is_complex(type))
            st = bound(call, k, type, &number);
        else if (t && t->rank)
            st = cfx_call_fail(
                call, CFX_ESHAPE,
                "only supports 0-dimensional start and end tensors, but got %s with %d dimensions",
                cfx_call__param_name(call, k), t->rank);
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
    if (cfx_dtype_is_complex((cfx_dtype)y->dtype))
        return cfx_composite_run(call, complex_space_build);
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
        cfx_element_set_int(type, p,
                            fabs(v) < 0x1p63 ? (int64_t)v : INT64_MIN);
}

/* A single step is base to the power of the bound as it was given. */
static cfx_status logspace_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_dtype type = (cfx_dtype)y->dtype;
    if (cfx_dtype_is_complex(type))
        return cfx_composite_run(call, complex_space_build);
    double base = cfx_call_double(call, BASE), start, end, step = 0;
    int64_t n = cfx_tensor_size(y, 0);
    cfx_status st = n > 1 ? bounds(call, &start, &end)
                          : bound(call, START, CFX_F64, &start);
    if (st)
        return st;
    if (n > 1) {
        union {
            double d;
            int64_t i;
        } span;
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
    .schema =
        "linspace(Tensor|Scalar start, Tensor|Scalar end, SymInt steps, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases =
        "torch. aten.(Scalar,Scalar) .Tensor_Tensor(Tensor,Tensor) .Tensor_Scalar(Tensor,Scalar) .Scalar_Tensor(Scalar,Tensor)",
    .doc = "So many numbers from start to end, both of them among these.",
    .flags = CFX_OP_COMPLEX,
    .infer = space_infer,
    .run = linspace_run,
};

const cfx_op cfx_op__logspace = {
    .schema =
        "logspace(Tensor|Scalar start, Tensor|Scalar end, SymInt steps, float base=10.0, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases =
        "torch. aten.(Scalar,Scalar) .Tensor_Tensor(Tensor,Tensor) .Tensor_Scalar(Tensor,Scalar) .Scalar_Tensor(Scalar,Tensor)",
    .doc = "The powers of a base whose exponents linspace gives.",
    .flags = CFX_OP_COMPLEX,
    .code = 1,
    .infer = space_infer,
    .run = logspace_run,
};
