/*
 * window_functions -- weights for parts of a signal: hann_window, hamming_window,
 * blackman_window, kaiser_window.
 *
 * shape   (window_length)
 * cost    a few operations for each element.
 *
 * A periodic window is one that is longer by a point, without that point.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"
#include "ops/create/create.h"

CFX_PARAMS(params, WINDOW_LENGTH, PERIODIC, ALPHA, BETA, DTYPE, LAYOUT, DEVICE,
           PIN_MEMORY, REQUIRES_GRAD);

static cfx_value typed(cfx_scope *s, const cfx_call *call, const char *name,
                       cfx_dim n)
{
    cfx_value of = cfx_value_of_dim(n);
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(cfx_call_dtype(
                                                call, DTYPE, CFX_F32))};
    return cfx_call_function(s, name, (cfx_args){&of, 1, key, 1});
}

/* The distance of points on an axis whose length is `length`; an unknown number
 * where the extent is a symbol. */
static double step_of(cfx_dim n, double length)
{
    return cfx_dim_is_int(n) ? length / (double)(cfx_dim_value(n) - 1) : NAN;
}

static cfx_value scaled(cfx_scope *s, cfx_value x, double by)
{
    return CFX_CALL(s, "torch.mul", x, cfx_float(by));
}

static cfx_value plus(cfx_scope *s, cfx_value x, double by)
{
    return CFX_CALL(s, "torch.add", x, cfx_float(by));
}

/* Weights of n points, whose numbers are x. */
typedef cfx_value weigh(cfx_scope *s, const cfx_call *call, cfx_value x,
                        cfx_dim n);

static cfx_value window(cfx_scope *s, const cfx_call *call, weigh *fn)
{
    cfx_dim given = cfx_value_dim(cfx_call_value(call, WINDOW_LENGTH));
    cfx_dim one = cfx_dim_int(1), n = given;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, CFX_F32);
    if (!cfx_dtype_is_float(dtype))
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "window functions need a floating point dtype, but got %s",
            cfx_dtypes[dtype].name);
    if (!cfx_dim_le(s->env, cfx_dim_int(0), given))
        return cfx_scope_fail(s, CFX_EINVAL,
                              "window_length must not be negative");
    if (cfx_dim_known_le(s->env, given, one))
        return typed(s, call, "torch.ones", given);
    if (cfx_call_bool(call, PERIODIC))
        n = cfx_dim_add(s->env, n, one);
    cfx_value y = fn(s, call, typed(s, call, "torch.arange", n), n);
    return cfx_call_bool(call, PERIODIC)
               ? CFX_CALL(s, "torch.narrow", y, cfx_int(0), cfx_int(0),
                          cfx_value_of_dim(given))
               : y;
}

static cfx_value cosines(cfx_scope *s, cfx_value x, cfx_dim n, double alpha,
                         double beta)
{
    x = CFX_CALL(s, "torch.cos", scaled(s, x, step_of(n, 2 * M_PI)));
    return plus(s, scaled(s, x, -beta), alpha);
}

static cfx_value hann(cfx_scope *s, const cfx_call *call, cfx_value x,
                      cfx_dim n)
{
    (void)call;
    return cosines(s, x, n, 0.5, 0.5);
}

static cfx_value hamming(cfx_scope *s, const cfx_call *call, cfx_value x,
                         cfx_dim n)
{
    return cosines(s, x, n, cfx_call_double(call, ALPHA),
                   cfx_call_double(call, BETA));
}

static cfx_value blackman(cfx_scope *s, const cfx_call *call, cfx_value x,
                          cfx_dim n)
{
    (void)call;
    x = scaled(s, x, step_of(n, M_PI));
    cfx_value fast = CFX_CALL(s, "torch.cos", scaled(s, x, 4));
    cfx_value slow = CFX_CALL(s, "torch.cos", scaled(s, x, 2));
    x = CFX_CALL(s, "torch.sub", scaled(s, fast, 0.08), scaled(s, slow, 0.5));
    return plus(s, x, 0.42);
}

static cfx_value kaiser(cfx_scope *s, const cfx_call *call, cfx_value x,
                        cfx_dim n)
{
    double beta = cfx_call_double(call, BETA);
    cfx_value widest = plus(s,
                            scaled(s,
                                   CFX_CALL(s, "torch.narrow", x, cfx_int(0),
                                            cfx_int(0), cfx_int(1)),
                                   0),
                            beta);
    cfx_value most = CFX_CALL(s, "torch.i0", widest);
    x = plus(s, scaled(s, x, step_of(n, 2)), -1);
    x = plus(s, scaled(s, CFX_CALL(s, "torch.mul", x, x), -1), 1);
    x = CFX_CALL(s, "torch.sqrt", CFX_CALL(s, "torch.clamp", x, cfx_float(0)));
    x = CFX_CALL(s, "torch.i0", scaled(s, x, beta));
    return CFX_CALL(s, "torch.div", x, most);
}

#define WINDOW(name, more, overloads, doc_)                                   \
    static cfx_value name##_window_build(cfx_scope *s, const cfx_call *call)  \
    {                                                                         \
        return window(s, call, name);                                         \
    }                                                                         \
    CFX_COMPOSITE(name##_window)                                              \
    const cfx_op cfx_op__##name##_window = {                                  \
        .schema = #name                                                       \
        "_window(SymInt window_length, bool periodic=True, " more             \
        "*, " CFX_CREATE_OPTIONS ") -> Tensor",                               \
        .params = params,                                                     \
        .aliases = "torch. aten. .periodic " overloads,                       \
        .doc = doc_,                                                          \
        .infer = name##_window_infer,                                         \
        .cost = name##_window_cost,                                           \
        .run = name##_window_run,                                             \
    };

WINDOW(hann, "", "", "One period of a cosine, from 0 over 1 to 0.")
WINDOW(hamming, "float alpha=0.54, float beta=0.46, ",
       ".periodic_alpha .periodic_alpha_beta",
       "One period of a cosine on a constant.")
WINDOW(blackman, "", "", "Two cosines, from 0 over 1 to 0.")
WINDOW(kaiser, "float beta=12, ", ".beta",
       "A Bessel function of the distance from the middle.")
