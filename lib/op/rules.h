/*
 * rules.h -- rules for the descriptors of pointwise operators. Not installed.
 *
 * Each has the type of a descriptor's slot. `code` of the descriptor is the
 * operation, of kernel/pointwise/pointwise_kernel.h.
 */
#ifndef CFX_RULES_H
#define CFX_RULES_H

#include "kernel/pointwise/pointwise_kernel.h"
#include "op/infer.h"
#include "op/loop.h"

/* ---- infer: shapes and strides of pointwise results ---- */

/* One tensor. The result's type: its own; its own, which must be floating, not
 * bool, not floating; floating (float32 for integers), the same without bools;
 * bool. */
cfx_status cfx_unary_same(cfx_call *call);
cfx_status cfx_unary_like(cfx_call *call); /* strides of empty_like */
cfx_status cfx_unary_only_float(cfx_call *call);
cfx_status cfx_unary_no_bool(cfx_call *call);
cfx_status cfx_unary_whole(cfx_call *call);
cfx_status cfx_unary_float_no_bool(cfx_call *call);
cfx_status cfx_unary_float(cfx_call *call);
cfx_status cfx_unary_bool(cfx_call *call);

/* Two operands. The result's type: promoted; promoted, which must be floating;
 * floating (float32 for integers); bool. */
cfx_status cfx_binary_same(cfx_call *call);
cfx_status cfx_binary_only_float(cfx_call *call);
cfx_status cfx_binary_float(cfx_call *call);
cfx_status cfx_binary_bool(cfx_call *call);

/* Refuse an alpha (parameter k) that is not valid for an integer type, negated
 * for subtraction. */
cfx_status cfx_binary_alpha(cfx_call *call, int k, cfx_dtype type,
                            bool subtract);

/* The parameters of operators that take no numbers, one for the second tensor,
 * one for either, or two. */
#define CFX_TWO_TENSORS "Tensor self, Tensor other"
#define CFX_NUMBER_SECOND "Tensor self, Tensor|Scalar other"
#define CFX_ONE_NUMBER "Tensor/Scalar self, Tensor/Scalar other"
#define CFX_TWO_NUMBERS "Tensor|Scalar self, Tensor|Scalar other"

/* Overloads of ATen, in aliases: both are tensors; the second, or the first is a
 * number. */
#define CFX_TT "(Tensor,Tensor)"
#define CFX_TS "(Tensor,Scalar)"
#define CFX_ST "(Scalar,Tensor)"

/* ---- cost: cfx_cost_STEPS_TRANSCENDENTAL ---- */

cfx_cost_rule cfx_cost_0_0, cfx_cost_1_0, cfx_cost_1_1, cfx_cost_2_1,
    cfx_cost_3_1, cfx_cost_3_2, cfx_cost_4_2, cfx_cost_4_3;

/* ---- loop ---- */

/* `code` of one tensor, in the result's type; of two operands, in
 * cfx_binary_type. */
bool cfx_unary_loop(const cfx_call *call, cfx_loop *out);
bool cfx_binary_loop(const cfx_call *call, cfx_loop *out);

/* ---- run ---- */

/* Run `code` on one tensor, in the result's type, with parameters. */
cfx_status cfx_unary_params(cfx_call *call, const double *params);
/* Run `code` on two operands, in cfx_binary_type or the result's type. */
cfx_status cfx_binary_run(cfx_call *call);
/* The type that a binary operation computes in. */
cfx_dtype cfx_binary_type(const cfx_call *call, cfx_pw code);

#endif
