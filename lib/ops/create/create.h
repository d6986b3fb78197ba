/*
 * create.h -- shared by operators that create tensors. Not installed.
 */
#ifndef CFX_CREATE_H
#define CFX_CREATE_H

#include <cfx/op.h>

/* The end of the signatures of operators that create tensors. */
#define CFX_CREATE_OPTIONS                                                    \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "      \
    "bool? pin_memory=None, bool requires_grad=False"

/* Refuse a layout, which parameter k is, that there is not. */
cfx_status cfx_create_check_layout(cfx_call *call, int k);

/* Parameters k, k + 1, k + 2 are dtype, layout, device: refuse those layouts
 * that there are not, and put new results on the device. */
cfx_status cfx_create_check(cfx_call *call, int k);

/* The extents that parameter k lists. */
cfx_status cfx_create_size(cfx_call *call, int k, int *rank, cfx_dim *shape);

/* Result number call->nout: with the extents of the first argument, in the
 * memory format that parameter k is. */
cfx_status cfx_create_like(cfx_call *call, cfx_dtype dtype, int k);

#endif
