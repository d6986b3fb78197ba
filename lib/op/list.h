/*
 * list.h -- tensors from Python's numbers and lists. Not installed.
 */
#ifndef CFX_LIST_H
#define CFX_LIST_H

#include <cfx/op.h>

/* The tensor that torch.tensor(v) makes: of bools, ints or floats, whichever
 * holds all numbers, or of the type that is given. A meta where symbols are
 * among them. */
cfx_status cfx_list_tensor(cfx_call *call, cfx_tensor **out, cfx_value v,
                           const cfx_dtype *dtype);

/* Refuse a number that is beyond the range of a type, as PyTorch does. */
cfx_status cfx_list_check_number(cfx_call *call, cfx_value v, cfx_dtype type);
/* Refuse a number among the arguments from..to (not included) that is beyond
 * the range of a type of integers. */
cfx_status cfx_list_check_whole(cfx_call *call, int from, int to,
                                cfx_dtype type);

/* Write a number, or that of a tensor of one element, as one of a type. */
void cfx_list_write_number(cfx_dtype type, void *p, cfx_value v);

#endif
