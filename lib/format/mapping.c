/*
 * mapping -- a mapped file that the tensors in it share.
 */
#include "format/mapping.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/atomic.h"

void cfx_mapping_unref(void *mapping)
{
    cfx_mapping *m = mapping;

    if (!m || !cfx_ref_dec(&m->refs))
        return;
    if (!m->borrowed)
        munmap(m->base, m->size);
    cfx_free(m->ctx, m, sizeof(*m));
}

cfx_mapping *cfx_mapping_of_file(cfx_context *ctx, int fd, size_t size)
{
    cfx_mapping *m = cfx_alloc(ctx, sizeof(*m));

    if (!m)
        return NULL;
    *m = (cfx_mapping){.refs = 1, .ctx = ctx, .size = size};
    m->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (m->base == MAP_FAILED) {
        cfx_free(ctx, m, sizeof(*m));
        return NULL;
    }
    return m;
}

cfx_mapping *cfx_mapping_of_memory(cfx_context *ctx, const void *data,
                                   size_t size)
{
    cfx_mapping *m = cfx_alloc(ctx, sizeof(*m));

    if (m)
        *m = (cfx_mapping){.refs = 1,
                           .ctx = ctx,
                           .size = size,
                           .base = (void *)(uintptr_t)data,
                           .borrowed = true};
    return m;
}
