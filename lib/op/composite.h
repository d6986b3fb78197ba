/*
 * composite.h -- operators that are computed by calling others. Not installed.
 *
 * `build` is the computation, over a scope: a meta scope computes shapes, a
 * cost scope counts, an eager scope computes data.
 */
#ifndef CFX_COMPOSITE_H
#define CFX_COMPOSITE_H

#include <cfx/scope.h>

typedef cfx_value cfx_composite(cfx_scope *s, const cfx_call *call);

/* Scope classes for rules that call other operators: like cfx_eager_class and
 * cfx_meta_class, without modules and graphs. */
extern const cfx_scope_class cfx_composite__eager, cfx_composite__meta;

cfx_status cfx_composite_infer(cfx_call *call, cfx_composite *build);
void cfx_composite_cost(const cfx_call *call, cfx_cost *cost,
                        cfx_composite *build);
cfx_status cfx_composite_run(cfx_call *call, cfx_composite *build);

/* Call a function by its full name, with positional arguments. */
#define CFX_CALL(s, name, ...)                                                \
    cfx_call_function((s), (name), CFX_ARGS(__VA_ARGS__))

/* The rules of an operator whose computation is NAME_build. */
#define CFX_COMPOSITE(name)                                                   \
    CFX_COMPOSITE_BUT_COST(name)                                              \
    static void name##_cost(const cfx_call *call, cfx_cost *cost)             \
    {                                                                         \
        cfx_composite_cost(call, cost, name##_build);                         \
    }

/* CFX_COMPOSITE without the cost, for operators that compute something
 * twice. */
#define CFX_COMPOSITE_BUT_COST(name)                                          \
    static cfx_status name##_infer(cfx_call *call)                            \
    {                                                                         \
        return cfx_composite_infer(call, name##_build);                       \
    }                                                                         \
    static cfx_status name##_run(cfx_call *call)                              \
    {                                                                         \
        return cfx_composite_run(call, name##_build);                         \
    }

CFX_INLINE bool cfx_is_complex_tensor(cfx_value v)
{
    return v.kind == CFX_TENSOR &&
           cfx_dtype_is_complex((cfx_dtype)v.u.tensor->dtype);
}
/* Is the first argument a complex tensor? */
CFX_INLINE bool cfx_call_is_complex(const cfx_call *call)
{
    return cfx_is_complex_tensor(call->in[0]);
}

/* Rules any_NAME_infer, _cost and _run: of complex tensors complex_NAME_build,
 * of others NAME_infer, NAME_cost and NAME_run. */
#define CFX_COMPLEX_COMPOSITE(name)                                           \
    static cfx_status any_##name##_infer(cfx_call *call)                      \
    {                                                                         \
        return cfx_call_is_complex(call)                                      \
                   ? cfx_composite_infer(call, complex_##name##_build)        \
                   : name##_infer(call);                                      \
    }                                                                         \
    static void any_##name##_cost(const cfx_call *call, cfx_cost *cost)       \
    {                                                                         \
        if (cfx_call_is_complex(call))                                        \
            cfx_composite_cost(call, cost, complex_##name##_build);           \
        else                                                                  \
            name##_cost(call, cost);                                          \
    }                                                                         \
    static cfx_status any_##name##_run(cfx_call *call)                        \
    {                                                                         \
        return cfx_call_is_complex(call)                                      \
                   ? cfx_composite_run(call, complex_##name##_build)          \
                   : name##_run(call);                                        \
    }

#endif
