/*
 * storage.h -- the memory that tensors are views of. Not installed.
 *
 * A storage lies in the block of the tensor that it was created for, right
 * before it. The block is freed with the storage, which views may keep alive
 * after the tensor. The data of a small tensor follows in the same block;
 * larger data has its own block, so that sizes that are powers of two stay so.
 */
#ifndef CFX_STORAGE_H
#define CFX_STORAGE_H

#include <cfx/tensor.h>

struct cfx_storage {
    int refs;       /* the number of tensors that view it */
    bool owns_data; /* `data` is a block to be freed */
    cfx_context *ctx;
    void *data;
    size_t bytes;
    size_t block;                /* bytes of the block that begins here */
    void (*release)(void *user); /* notifies the owner of `data`; or NULL */
    void *user;
};

/*
 * Attach a meta with known extents to the storage of `other`, at a byte offset:
 * for planned memory, and views as another type. Fails with CFX_ESHAPE beyond
 * the storage, or for an offset that is not a multiple of the element size.
 */
cfx_status cfx_tensor__place(cfx_tensor *t, const cfx_tensor *other,
                             size_t byte_offset, cfx_error *err);

/*
 * Attach a storage without data to a meta, whose extents may be symbols. Views
 * share it, and `release(user)` is called when the last of them is freed.
 * Never fails.
 */
void cfx_tensor__fake_storage(cfx_tensor *t, void (*release)(void *user),
                              void *user);

/* A meta with the type, extents, strides and batches of a tensor, in a context. */
cfx_status cfx_tensor__meta_like(cfx_tensor **out, cfx_context *ctx,
                                 const cfx_tensor *t, cfx_error *err);

/* cfx_tensor_view, allocated in another context than the base's. */
cfx_status cfx_tensor__view_in(cfx_tensor **out, cfx_context *ctx,
                               const cfx_tensor *base, int rank,
                               const cfx_dim *shape, const cfx_dim *stride,
                               cfx_dim offset, cfx_error *err);

/* The bytes of memory that a meta would need. */
cfx_dim cfx_tensor__bytes(const cfx_tensor *t, cfx_shape_env *env);

/*
 * cfx_tensor_meta and cfx_tensor_alloc in one step: a new tensor with known
 * extents and uninitialized memory. `stride` NULL means row-major.
 */
cfx_status cfx_tensor__empty(cfx_tensor **out, cfx_context *ctx,
                             cfx_dtype dtype, int rank, const cfx_dim *shape,
                             const cfx_dim *stride, cfx_error *err);
/* Like cfx_tensor__empty, row-major, with the extents of `like`, which has
 * memory. */
cfx_status cfx_tensor__empty_rows(cfx_tensor **out, cfx_context *ctx,
                                  const cfx_tensor *like, cfx_dtype dtype,
                                  cfx_error *err);

/*
 * cfx_tensor_copy from a tensor that is not used any more: where nobody else has
 * either's memory, and they are alike, `dst` gets that of `src`.
 */
cfx_status cfx_tensor__move(cfx_tensor *dst, cfx_tensor *src, cfx_error *err);

#endif
