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

#endif
