/*
 * cfx/tensor.h -- typed, strided views of counted storage.
 *
 * A tensor is a data type, extents and strides (in elements), and a place in a
 * storage. One without a storage is a meta: it has all but numbers, and its
 * extents may be symbols. Tensors are counted and do not change their shape
 * once others can see them; views are tensors of their own that share the
 * storage. Counting is safe between threads; the numbers are the caller's to
 * guard. A tensor's context must outlive it.
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
 * A device is a label of metas, as PyTorch has them: a type and a number. All
 * numbers are on the CPU, and tensors that have some are not labelled.
 */
typedef uint16_t cfx_device_label; /* 0: not told */
enum { CFX_DEVICE_CPU = 1 << 8 };

typedef enum cfx_memory_format {
    CFX_CONTIGUOUS_FORMAT,
    CFX_PRESERVE_FORMAT,
    CFX_CHANNELS_LAST,
    CFX_CHANNELS_LAST_3D
} cfx_memory_format;

/* What is known of the strides, carried along and never asked of symbols. */
enum {
    CFX_TENSOR_CONTIGUOUS = 1,       /* row-major, no gaps */
    CFX_TENSOR_CHANNELS_LAST = 2,    /* rank 4, NHWC in memory */
    CFX_TENSOR_CHANNELS_LAST_3D = 4, /* rank 5, NDHWC in memory */
    CFX_TENSOR_DENSE = 8,            /* some order of axes is row-major */
    CFX_TENSOR_EXACT = 16            /* row-major on axes of extent 1 too; not
                                        said of all that are */
};

/* Read-only but for the numbers at `data`. */
struct cfx_tensor {
    int refs;             /* counted atomically by ref and unref */
    uint8_t dtype;        /* cfx_dtype */
    uint8_t rank;
    uint8_t flags;
    uint8_t home;         /* private: a storage of its own lies before it */
    cfx_device_label device; /* of a meta: where its numbers would be */
    void *data;           /* of the first element; NULL in a meta */
    cfx_storage *storage; /* NULL in a meta */
    cfx_context *ctx;
    cfx_dim offset;       /* of the first element from the storage's start */
    cfx_dim *stride;      /* rank of them, in elements */
    cfx_dim shape[];      /* rank of them */
};

CFX_BEGIN_DECLS

/* A new tensor with memory that is not cleared, row-major. `shape` may be
 * NULL for rank 0. Fails with CFX_ENOMEM, CFX_ESHAPE (negative, too large). */
CFX_API cfx_status cfx_tensor_new(cfx_tensor **out, cfx_context *ctx,
                                  cfx_dtype dtype, int rank,
                                  const int64_t *shape, cfx_error *err);

/* A new meta. `stride` NULL means row-major. Fails with CFX_ENOMEM, and with
 * CFX_ESHAPE for an extent that is negative, bad, or a size in bytes beyond
 * 2^61. */
CFX_API cfx_status cfx_tensor_meta(cfx_tensor **out, cfx_context *ctx,
                                   cfx_dtype dtype, int rank,
                                   const cfx_dim *shape,
                                   const cfx_dim *stride, cfx_error *err);

/* Read "cuda:0", "mps", "cpu"; without a number the first of its type. Returns
 * false where PyTorch has no such device. */
CFX_API bool cfx_device_parse(cfx_device_label *out, const char *text);
/* Write it so, at most size - 1 bytes and a NUL: "cuda:0", "cpu"; also "cpu"
 * for a label that is not told. Returns the whole length, as snprintf. */
CFX_API size_t cfx_device_format(cfx_device_label device, char *buf,
                                 size_t size);
/* Is it of this type ("cuda")? A label that is not told is "cpu". */
CFX_API bool cfx_device_is(cfx_device_label device, const char *type);

/* Give a meta with known extents memory of its own (not cleared). */
CFX_API cfx_status cfx_tensor_alloc(cfx_tensor *t, cfx_error *err);

/*
 * A tensor over the caller's memory, without a copy. `release(user)` is called
 * once, when the last view is gone; also if this function fails. `bytes` is
 * the size of the memory; strides (NULL: row-major) and extents that would
 * leave it fail with CFX_ESHAPE.
 */
CFX_API cfx_status cfx_tensor_from(cfx_tensor **out, cfx_context *ctx,
                                   cfx_dtype dtype, int rank,
                                   const int64_t *shape,
                                   const int64_t *stride, void *data,
                                   size_t bytes, void (*release)(void *user),
                                   void *user, cfx_error *err);

/* A view of `base` (which may be a meta): other extents and strides, `offset`
 * elements from the storage's start. The caller vouches that it stays within;
 * the storage's end is checked where all is known (CFX_ESHAPE). */
CFX_API cfx_status cfx_tensor_view(cfx_tensor **out, const cfx_tensor *base,
                                   int rank, const cfx_dim *shape,
                                   const cfx_dim *stride, cfx_dim offset,
                                   cfx_error *err);

CFX_API cfx_tensor *cfx_tensor_ref(const cfx_tensor *t);
CFX_API void cfx_tensor_unref(cfx_tensor *t);

CFX_INLINE bool cfx_tensor_is_meta(const cfx_tensor *t) { return !t->data; }
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

/* Number of elements, of known extents. */
CFX_API int64_t cfx_tensor_numel(const cfx_tensor *t);

/* Do two tensors share a storage? */
CFX_API bool cfx_tensor_shares(const cfx_tensor *a, const cfx_tensor *b);

/* Row-major, or channels-last, strides of a shape. */
CFX_API void cfx_strides_of(cfx_shape_env *env, cfx_memory_format format,
                            int rank, const cfx_dim *shape, cfx_dim *stride);

/* Copy the numbers of `src` into `dst`, of the same shape and any strides,
 * converting the type. Uses the threads of the context. */
CFX_API cfx_status cfx_tensor_copy(cfx_tensor *dst, const cfx_tensor *src,
                                   cfx_error *err);

/* A row-major copy, or a new reference where it is that already. */
CFX_API cfx_status cfx_tensor_contiguous(cfx_tensor **out,
                                         const cfx_tensor *t, cfx_error *err);

/* Where element `index` (rank of them) lies. */
CFX_API void *cfx_tensor_at(const cfx_tensor *t, const int64_t *index);

/* "f32[2, 3]" into buf; as snprintf. */
CFX_API size_t cfx_tensor_format_type(const cfx_tensor *t, char *buf,
                                      size_t size);

/* The whole tensor as PyTorch prints it ("tensor([[1., 2.], ...])"), into
 * memory that the caller frees with cfx_free(t->ctx, *out, *size): the context
 * of the tensor may be another than that of the run which gave it, and lives as
 * long as the tensor. *size counts the final NUL. */
CFX_API cfx_status cfx_tensor_print(char **out, size_t *size,
                                    const cfx_tensor *t, cfx_error *err);

/* DLPack, both ways, without a copy (CPU only). `managed` is a
 * DLManagedTensor of <dlpack.h>'s layout, version 0.x or 1.x of the standard.
 * What is taken is released when its last view is gone. */
struct DLManagedTensor;
CFX_API cfx_status cfx_tensor_to_dlpack(struct DLManagedTensor **out,
                                        const cfx_tensor *t, cfx_error *err);
CFX_API cfx_status cfx_tensor_from_dlpack_take(cfx_tensor **out,
                                               cfx_context *ctx,
                                               struct DLManagedTensor *managed,
                                               cfx_error *err);

CFX_END_DECLS

#endif
