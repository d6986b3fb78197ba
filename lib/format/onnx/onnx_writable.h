/*
 * onnx_writable.h -- what ONNX's writer can write. Not installed.
 */
#ifndef CFX_FORMAT_ONNX_WRITABLE_H
#define CFX_FORMAT_ONNX_WRITABLE_H

#include <cfx/op.h>

/* Has the writer a rule for calls of the operator? */
bool cfx_onnx__has_rule(const cfx_op *op);

#endif
