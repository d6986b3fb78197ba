/*
 * overload.h -- overload resolution for the functions of cfx/ops.h. Not
 * installed.
 *
 * The function of an operator has the union of its overloads' parameters. A
 * place is the index of an overload's parameter in the union.
 */
#ifndef CFX_OVERLOAD_H
#define CFX_OVERLOAD_H

#include <cfx/scope.h>

enum { CFX_MAX_UNION = 48 };

/*
 * The union of the parameters of an operator's overloads, by name: positional
 * ones first, each in the schemas' order. Returns their number; -1 for more
 * than CFX_MAX_UNION, or a malformed schema.
 */
int cfx_op__union(cfx_context *ctx, const cfx_op *op,
                  const cfx_param *params[CFX_MAX_UNION]);

/* The places of one overload's parameters. */
void cfx_op__places(const cfx_schema *s, const cfx_param *const *params, int n,
                    uint8_t place[CFX_MAX_PARAMS]);

typedef struct cfx_overload {
    const cfx_op *op; /* NULL: none has all given parameters */
    const cfx_schema *schema;
    bool matches; /* the given arguments match its schema */
} cfx_overload;

/*
 * The first overload from `op` on that matches the given arguments, or else the
 * first that has all given parameters; `in` receives its arguments in order.
 * `place` has the places of all overloads in sequence.
 */
cfx_overload cfx_op__overload(cfx_context *ctx, const cfx_op *op,
                              const uint8_t *place, const cfx_value *args,
                              int n, bool inplace,
                              cfx_value in[CFX_MAX_PARAMS]);

/* Resolve and call an overload; for the functions of cfx/ops.h. */
cfx_value cfx_scope__call_overload(cfx_scope *s, const cfx_op *op,
                                   const uint8_t *place, const cfx_value *args,
                                   int n, bool inplace);

#endif
