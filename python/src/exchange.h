/*
 * exchange.h -- the table of functions by which libraries exchange tensors in C
 * (DLPack 1.2), as its standard lays it out in memory: the attribute
 * __dlpack_c_exchange_api__ of a type, a capsule.
 */
#ifndef CFX_PY_EXCHANGE_H
#define CFX_PY_EXCHANGE_H

#include "tensor/dlpack.h"

#define DL_EXCHANGE_NAME "dlpack_exchange_api"

typedef struct DLPackExchangeAPI {
    DLPackVersion version;
    struct DLPackExchangeAPI *prev_api;
    int (*managed_tensor_allocator)(DLTensor *prototype,
                                    DLManagedTensorVersioned **out,
                                    void *error_ctx,
                                    void (*set_error)(void *error_ctx,
                                                      const char *kind,
                                                      const char *message));
    int (*managed_tensor_from_py_object_no_sync)(
        void *py_object, DLManagedTensorVersioned **out);
    int (*managed_tensor_to_py_object_no_sync)(
        DLManagedTensorVersioned *tensor, void **out_py_object);
    /* Fills a DLTensor that is valid as long as the object; may be NULL. */
    int (*dltensor_from_py_object_no_sync)(void *py_object, DLTensor *out);
    int (*current_work_stream)(int32_t device_type, int32_t device_id,
                               void **out_current_stream);
} DLPackExchangeAPI;

#endif
