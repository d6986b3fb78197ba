/*
 * mapping.h -- a mapped file that the tensors in it share. Not installed.
 */
#ifndef CFX_FORMAT_MAPPING_H
#define CFX_FORMAT_MAPPING_H

#include <cfx/context.h>

/* A mapped file, or borrowed memory. */
typedef struct cfx_mapping {
    int refs;
    cfx_context *ctx;
    void *base;
    size_t size;
    bool borrowed;
} cfx_mapping;

/* Map a file privately: writing to it does not reach the file. NULL if that
 * cannot be had; reading is always possible. */
cfx_mapping *cfx_mapping_of_file(cfx_context *ctx, int fd, size_t size);
/* Memory that outlives the mapping; NULL without memory. */
cfx_mapping *cfx_mapping_of_memory(cfx_context *ctx, const void *data,
                                   size_t size);
/* For cfx_tensor_from; NULL is allowed. */
void cfx_mapping_unref(void *mapping);

#endif
