/*
 * overload.h -- the overload that a call by a function of cfx/ops.h means. Not
 * installed.
 *
 * The function of an operator takes the parameters of all its overloads. A
 * place tells where a parameter of one overload stands among them.
 */
#ifndef CFX_OVERLOAD_H
#define CFX_OVERLOAD_H

#include <cfx/scope.h>

enum { CFX_MAX_UNION = 48 };

/*
 * The distinct parameters of an operator and its overloads, by name: those that
 * may be positional first, each in the order in which the schemas name them.
 * Gives how many there are; -1 for more than CFX_MAX_UNION, or a schema that
 * does not read.
 */
int cfx_op__union(cfx_context *ctx, const cfx_op *op,
                  const cfx_param *params[CFX_MAX_UNION]);

/* The places of one overload's parameters among these. */
void cfx_op__places(const cfx_schema *s, const cfx_param *const *params, int n,
                    uint8_t place[CFX_MAX_PARAMS]);

/*
 * The first overload, `op` or behind it, that has all arguments that are given,
 * is given all that it requires, and accepts their kinds; `in` gets its
 * arguments in order. `place` has the places of all overloads, one after the
 * other. NULL: there is none; then `in` is what the first would get that has
 * all arguments, and *nearest is that one, or NULL.
 */
const cfx_op *cfx_op__overload(cfx_context *ctx, const cfx_op *op,
                               const uint8_t *place, const cfx_value *args,
                               int n, bool inplace,
                               cfx_value in[CFX_MAX_PARAMS],
                               const cfx_op **nearest);

/* Call it. The functions of operators with several overloads are made of
 * this. */
cfx_value cfx_scope__call_overload(cfx_scope *s, const cfx_op *op,
                                   const uint8_t *place,
                                   const cfx_value *args, int n, bool inplace);

#endif
