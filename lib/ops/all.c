/*
 * all -- the built-in operators, in the order of ops.def.
 */
#include <cfx/op.h>

#define OP(name) extern const cfx_op cfx_op__##name;
#include "ops/ops.def"
#undef OP

extern const cfx_op *const cfx_ops__builtin[];

const cfx_op *const cfx_ops__builtin[] = {
#define OP(name) &cfx_op__##name,
#include "ops/ops.def"
#undef OP
    NULL};
