/*
 * rules.h -- whole rules, for descriptors of operators that go element by
 * element. Not installed.
 *
 * Each has the form that a descriptor's field wants. What an operator computes
 * is its `code`, of kernel/pointwise/pointwise.h.
 */
#ifndef CFX_RULES_H
#define CFX_RULES_H

#include "kernel/pointwise/pointwise.h"
#include "op/infer.h"
#include "op/loop.h"

/* ---- infer: shapes and strides of pointwise results ---- */

/* Of one tensor: in its own type; in its own, which must be floating, which may
 * not be bool, which may not be floating; floating, which of integers is
 * float32, and the same but for bools; bool. */
cfx_status cfx_unary_same(cfx_call *call);
cfx_status cfx_unary_like(cfx_call *call); /* strides as of empty_like */
cfx_status cfx_unary_only_float(cfx_call *call);
cfx_status cfx_unary_no_bool(cfx_call *call);
cfx_status cfx_unary_whole(cfx_call *call);
cfx_status cfx_unary_float_no_bool(cfx_call *call);
cfx_status cfx_unary_float(cfx_call *call);
cfx_status cfx_unary_bool(cfx_call *call);

/* Of two: in the promoted type; in that, which must be floating; floating,
 * which of integers is float32; bool. */
cfx_status cfx_binary_same(cfx_call *call);
cfx_status cfx_binary_only_float(cfx_call *call);
cfx_status cfx_binary_float(cfx_call *call);
cfx_status cfx_binary_bool(cfx_call *call);

/* Refuse a factor, parameter k, that integers do not have; it is negated where
 * it is subtracted. */
cfx_status cfx_binary_alpha(cfx_call *call, int k, cfx_dtype type,
                            bool subtract);

/* ---- cost: cfx_cost_STEPS_TRANSCENDENTAL ---- */

cfx_cost_rule cfx_cost_0_0, cfx_cost_1_0, cfx_cost_1_1, cfx_cost_2_1,
    cfx_cost_3_1, cfx_cost_3_2, cfx_cost_4_2, cfx_cost_4_3;

/* ---- run ---- */

/* The code of one tensor, in the result's type, with the parameters that it
 * has besides. */
cfx_status cfx_unary_run(cfx_call *call);
cfx_status cfx_unary_params(cfx_call *call, const double *params);
/* The code of two, in the type that both have together, or of the result. */
cfx_status cfx_binary_run(cfx_call *call);
/* That type. */
cfx_dtype cfx_binary_type(const cfx_call *call, cfx_pw code);

#endif
