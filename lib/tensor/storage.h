/*
 * storage.h -- the memory that tensors are views of. Not installed.
 *
 * A storage lies in the block of the tensor it was made for, right before it:
 * its home. That block is given back with the storage, which may outlive the
 * tensor when views hold it. A small tensor's numbers follow in the same
 * block; larger ones have a block of their own, so that sizes which are powers
 * of two stay such.
 */
#ifndef CFX_STORAGE_H
#define CFX_STORAGE_H

#include <cfx/tensor.h>

struct cfx_storage {
    int refs;                    /* the tensors that view it */
    bool owns_data;              /* `data` is a block to be given back */
    cfx_context *ctx;
    void *data;
    size_t bytes;
    size_t block;                /* bytes of the block that begins here */
    void (*release)(void *user); /* tells the owner of `data`; or NULL */
    void *user;
};

/*
 * Give a meta with known extents a place in the storage that `home` views, so
 * many bytes from its start: for planned memory, and views as another type.
 * Fails with CFX_ESHAPE when it would leave the storage or is not a multiple
 * of the element's size.
 */
cfx_status cfx_tensor__place(cfx_tensor *t, const cfx_tensor *home,
                             size_t byte_offset, cfx_error *err);

/*
 * Give a meta a storage that has no numbers: it is a meta still, of extents
 * that may be symbols, but what views it shares the storage, and
 * `release(user)` is called when the last of them is gone. Never fails.
 */
void cfx_tensor__pretend(cfx_tensor *t, void (*release)(void *user),
                         void *user);

/* cfx_tensor_view, in memory of another context than the base's. */
cfx_status cfx_tensor__view_in(cfx_tensor **out, cfx_context *ctx,
                               const cfx_tensor *base, int rank,
                               const cfx_dim *shape, const cfx_dim *stride,
                               cfx_dim offset, cfx_error *err);

/* How many bytes of memory a meta would be given. */
cfx_dim cfx_tensor__bytes(const cfx_tensor *t, cfx_shape_env *env);

/*
 * A new tensor of known extents with memory that is not cleared, as
 * cfx_tensor_meta and cfx_tensor_alloc make it, but in one step. `stride` NULL
 * means row-major. Fails as they do.
 */
cfx_status cfx_tensor__empty(cfx_tensor **out, cfx_context *ctx,
                             cfx_dtype dtype, int rank, const cfx_dim *shape,
                             const cfx_dim *stride, cfx_error *err);
/* The same, row-major, of the extents of another, which has memory. */
cfx_status cfx_tensor__empty_rows(cfx_tensor **out, cfx_context *ctx,
                                  const cfx_tensor *like, cfx_dtype dtype,
                                  cfx_error *err);

#endif
