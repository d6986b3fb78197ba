/*
 * op_names.h -- the name of an operator in ATen. Not installed.
 */
#ifndef CFX_OP_NAMES_H
#define CFX_OP_NAMES_H

#include <cfx/op.h>

/*
 * Format the first of an operator's names that is that overload of ATen, any
 * for NULL, as graphs write it: "torch.ops.aten.add.Tensor"; in place
 * "torch.ops.aten.add_.Tensor". False if there is none, or if it does not fit.
 */
bool cfx_op__aten_name(const cfx_op *op, bool inplace, const char *overload,
                       char *buf, size_t size);

#endif
