/*
 * cfx/tensor.h -- typed, strided views of counted storage.
 *
 * A tensor is a data type, extents and strides (in elements), and an offset in
 * a storage. A tensor without a storage is a meta: it has no data, and its
 * extents may be symbols. Tensors are reference-counted and do not change
 * shape once shared; views are separate tensors on the same storage. Reference
 * counts are thread-safe; callers synchronize access to the data. A tensor's
 * context must outlive it.
 *
 *     int64_t shape[] = {2, 3};
 *     cfx_tensor *t;
 *     if (cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err))
 *         return 1;
 *     float *x = t->data;
 *     ...
 *     cfx_tensor_unref(t);
 */
#ifndef CFX_TENSOR_H
#define CFX_TENSOR_H

#include <cfx/dim.h>
#include <cfx/dtype.h>

enum { CFX_MAX_RANK = 16 };

typedef struct cfx_storage cfx_storage;
typedef struct cfx_tensor cfx_tensor;

/*
 * The device of a meta, as in PyTorch: a type and an index. All data is on the
 * CPU, and tensors with data have no label.
 */
typedef uint16_t cfx_device_label; /* 0: no label */
enum { CFX_DEVICE_CPU = 1 << 8 };

typedef enum cfx_memory_format {
    CFX_CONTIGUOUS_FORMAT,
    CFX_PRESERVE_FORMAT,
    CFX_CHANNELS_LAST,
    CFX_CHANNELS_LAST_3D
} cfx_memory_format;

/* Layout flags, set when the strides are known; symbols set none. */
enum {
    CFX_TENSOR_CONTIGUOUS = 1,       /* row-major, no gaps */
    CFX_TENSOR_CHANNELS_LAST = 2,    /* rank 4, NHWC in memory */
    CFX_TENSOR_CHANNELS_LAST_3D = 4, /* rank 5, NDHWC in memory */
    CFX_TENSOR_DENSE = 8,            /* some order of axes is row-major */
    CFX_TENSOR_EXACT = 16            /* row-major strides on axes of extent 1,
                                        too; not set for all such tensors */
};

/* Read-only except for the data. */
struct cfx_tensor {
    int refs;      /* counted atomically by ref and unref */
    uint8_t dtype; /* cfx_dtype */
    uint8_t rank;
    uint8_t flags;
    uint8_t has_storage;     /* private: it lies in the block of its storage */
    cfx_device_label device; /* of a meta: the device that its data would be
                                on */
    uint8_t levels;          /* private: the levels of torch.vmap whose batches
                                are its first axes, a bit each */
    void *data;              /* of the first element; NULL in a meta */
    cfx_storage *storage;    /* NULL in a meta */
    cfx_context *ctx;
    cfx_dim offset;  /* of the first element from the storage's start */
    cfx_dim *stride; /* rank of them, in elements */
    cfx_dim shape[]; /* rank of them */
};

CFX_BEGIN_DECLS

/* A new row-major tensor with uninitialized memory. `shape` may be NULL for
 * rank 0. Fails with CFX_ENOMEM, CFX_ESHAPE (negative, too large). */
CFX_API cfx_status cfx_tensor_new(cfx_tensor **out, cfx_context *ctx,
                                  cfx_dtype dtype, int rank,
                                  const int64_t *shape, cfx_error *err);

/* A new meta. `stride` NULL means row-major. Fails with CFX_ENOMEM, and with
 * CFX_ESHAPE for an extent that is negative, bad, or a size in bytes beyond
 * 2^61. */
CFX_API cfx_status cfx_tensor_meta(cfx_tensor **out, cfx_context *ctx,
                                   cfx_dtype dtype, int rank,
                                   const cfx_dim *shape, const cfx_dim *stride,
                                   cfx_error *err);

/* Parse "cuda:0", "mps", "cpu"; the default index is 0. Returns false for a
 * device that PyTorch does not have. */
CFX_API bool cfx_device_parse(cfx_device_label *out, const char *text);
/* Format a device ("cuda:0"; "cpu" for no label), like snprintf. */
CFX_API size_t cfx_device_format(cfx_device_label device, char *buf,
                                 size_t size);
/* Is the device of this type ("cuda")? No label is "cpu". */
CFX_API bool cfx_device_is(cfx_device_label device, const char *type);

/* Allocate the data of a meta with known extents (not cleared). */
CFX_API cfx_status cfx_tensor_alloc(cfx_tensor *t, cfx_error *err);

/*
 * A tensor over the caller's memory, without a copy. `release(user)` is called
 * once, when the last view is gone; also if this function fails. `bytes` is
 * the size of the memory; a shape or strides (NULL: row-major) that exceed it
 * fail with CFX_ESHAPE.
 */
CFX_API cfx_status cfx_tensor_from(cfx_tensor **out, cfx_context *ctx,
                                   cfx_dtype dtype, int rank,
                                   const int64_t *shape, const int64_t *stride,
                                   void *data, size_t bytes,
                                   void (*release)(void *user), void *user,
                                   cfx_error *err);

/* A view of `base` (which may be a meta) with other extents and strides,
 * `offset` elements from the storage's start. Known extents beyond the storage
 * fail with CFX_ESHAPE; with symbols the caller guarantees the bounds. */
CFX_API cfx_status cfx_tensor_view(cfx_tensor **out, const cfx_tensor *base,
                                   int rank, const cfx_dim *shape,
                                   const cfx_dim *stride, cfx_dim offset,
                                   cfx_error *err);

CFX_API cfx_tensor *cfx_tensor_ref(const cfx_tensor *t);
CFX_API void cfx_tensor_unref(cfx_tensor *t);

CFX_INLINE bool cfx_tensor_is_meta(const cfx_tensor *t)
{
    return !t->data;
}
CFX_INLINE int64_t cfx_tensor_size(const cfx_tensor *t, int axis)
{
    return cfx_dim_value(t->shape[axis]);
}
CFX_INLINE int64_t cfx_tensor_stride(const cfx_tensor *t, int axis)
{
    return cfx_dim_value(t->stride[axis]);
}
CFX_INLINE bool cfx_tensor_is_contiguous(const cfx_tensor *t)
{
    return t->flags & CFX_TENSOR_CONTIGUOUS;
}

/* Number of elements; the extents must be known. */
CFX_API int64_t cfx_tensor_numel(const cfx_tensor *t);

/* Do two tensors share a storage? */
CFX_API bool cfx_tensor_shares(const cfx_tensor *a, const cfx_tensor *b);

/* Row-major, or channels-last, strides of a shape. */
CFX_API void cfx_strides_of(cfx_shape_env *env, cfx_memory_format format,
                            int rank, const cfx_dim *shape, cfx_dim *stride);

/* Copy the data of `src` to `dst`, of equal shape and any strides, converting
 * the type. Uses the threads of the context. */
CFX_API cfx_status cfx_tensor_copy(cfx_tensor *dst, const cfx_tensor *src,
                                   cfx_error *err);

/* A row-major copy, or a new reference if t is row-major. */
CFX_API cfx_status cfx_tensor_contiguous(cfx_tensor **out, const cfx_tensor *t,
                                         cfx_error *err);

/* The address of element `index` (rank of them). */
CFX_API void *cfx_tensor_at(const cfx_tensor *t, const int64_t *index);

/* "f32[2, 3]" into buf, like snprintf. */
CFX_API size_t cfx_tensor_format_type(const cfx_tensor *t, char *buf,
                                      size_t size);

/* The whole tensor as PyTorch prints it ("tensor([[1., 2.], ...])"), into
 * memory that the caller frees with cfx_free(t->ctx, *out, *size). The
 * tensor's context may differ from that of the run. *size counts the final
 * NUL. */
CFX_API cfx_status cfx_tensor_print(char **out, size_t *size,
                                    const cfx_tensor *t, cfx_error *err);

/*
 * DLPack, both ways, without a copy (CPU only). The structures are those of
 * <dlpack.h>, versions 0.x (DLManagedTensor) and 1.x (the others).
 */
struct DLTensor;
struct DLManagedTensor;
struct DLManagedTensorVersioned;
CFX_API cfx_status cfx_tensor_to_dlpack(struct DLManagedTensor **out,
                                        const cfx_tensor *t, cfx_error *err);
CFX_API cfx_status
cfx_tensor_to_dlpack_versioned(struct DLManagedTensorVersioned **out,
                               const cfx_tensor *t, cfx_error *err);
/* The memory is released with the last view; also if this function fails. */
CFX_API cfx_status cfx_tensor_from_dlpack_take(cfx_tensor **out,
                                               cfx_context *ctx,
                                               struct DLManagedTensor *managed,
                                               cfx_error *err);
/* Like cfx_tensor_from, for memory that a DLTensor describes. `d` is only read. */
CFX_API cfx_status cfx_tensor_from_dltensor(cfx_tensor **out, cfx_context *ctx,
                                            const struct DLTensor *d,
                                            void (*release)(void *user),
                                            void *user, cfx_error *err);

CFX_END_DECLS

#endif
