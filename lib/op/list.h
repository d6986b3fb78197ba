/*
 * list.h -- tensors from Python numbers and lists. Not installed.
 */
#ifndef CFX_LIST_H
#define CFX_LIST_H

#include <cfx/op.h>

/* torch.tensor(v): bools, ints or floats, as the numbers need, or of the given
 * type. The result is a meta if a number is a symbol. */
cfx_status cfx_list_tensor(cfx_call *call, cfx_tensor **out, cfx_value v,
                           const cfx_dtype *dtype);

/* Refuse a number out of the range of a type, as PyTorch does. */
cfx_status cfx_list_check_number(cfx_call *call, cfx_value v, cfx_dtype type);
/* Refuse numbers among the arguments from..to (exclusive) out of the range of
 * an integer type. */
cfx_status cfx_list_check_whole(cfx_call *call, int from, int to,
                                cfx_dtype type);
/* Refuse a number out of the range of what a type is computed in: for halves
 * it is float32. None is no number. */
cfx_status cfx_list_check_factor(cfx_call *call, cfx_value v, cfx_dtype type);

/* Store a number, or that in a tensor of one element, as a type. */
void cfx_list_write_number(cfx_dtype type, void *p, cfx_value v);

#endif
