/*
 * op_names.h -- the names of an operator. Not installed.
 */
#ifndef CFX_OP_NAMES_H
#define CFX_OP_NAMES_H

#include <cfx/op.h>

/* cfx_op_names with the types in parentheses that follow an alias, or NULL. */
typedef cfx_status cfx_op__typed_name_fn(void *user, const char *name,
                                         size_t len, bool inplace,
                                         const cfx_variant *how,
                                         const char *types);
cfx_status cfx_op__typed_names(const cfx_op *op, cfx_op__typed_name_fn *fn,
                               void *user);

/*
 * Format the first of an operator's names that is that overload of ATen, any
 * for NULL, as graphs write it: "torch.ops.aten.add.Tensor"; in place
 * "torch.ops.aten.add_.Tensor". False if there is none, or if it does not fit.
 */
bool cfx_op__aten_name(const cfx_op *op, bool inplace, const char *overload,
                       char *buf, size_t size);

#endif
