/*
 * dlpack -- exchange tensors with other libraries, without a copy.
 */
#include <cfx/tensor.h>

#include "base/util.h"
#include "tensor/dlpack.h"

static const DLDataType dl_types[CFX_NDTYPES] = {
#define DTYPE(c, name, other, abbr, ctype, cat, digits, largest, compute,     \
              wide, npy, safetensors, order, dlpack)                          \
    [CFX_##c] = {dlpack, 8 * sizeof(ctype), 1},
#include <cfx/dtype.def>
#undef DTYPE
};

/* ---- Export ---- */

typedef struct lent {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } managed;
    cfx_tensor *tensor;
    int64_t extents[]; /* shape, then strides */
} lent;

static size_t lent_size(int rank)
{
    return sizeof(lent) + 2 * (size_t)rank * sizeof(int64_t);
}

static void lent_free(lent *l)
{
    cfx_tensor *t = l->tensor;

    cfx_free(t->ctx, l, lent_size(t->rank));
    cfx_tensor_unref(t);
}

static void plain_delete(DLManagedTensor *managed)
{
    lent_free(managed->manager_ctx);
}

static void versioned_delete(DLManagedTensorVersioned *managed)
{
    lent_free(managed->manager_ctx);
}

static cfx_status lend(lent **out, DLTensor *d, const cfx_tensor *t,
                       cfx_error *err)
{
    int rank = t->rank;

    if (cfx_tensor_is_meta(t))
        return cfx_fail(err, CFX_EINVAL, "a meta tensor has nothing to share");
    lent *l = cfx_alloc(t->ctx, lent_size(rank));
    if (!l)
        return cfx_fail(err, CFX_ENOMEM, "no memory to share a tensor");
    l->tensor = cfx_tensor_ref(t);
    for (int i = 0; i < rank; i++) {
        l->extents[i] = cfx_tensor_size(t, i);
        l->extents[rank + i] = cfx_tensor_stride(t, i);
    }
    *d = (DLTensor){
        .data = t->data,
        .device = {DL_CPU, 0},
        .ndim = rank,
        .dtype = dl_types[t->dtype],
        .shape = l->extents,
        .strides = l->extents + rank,
    };
    *out = l;
    return CFX_OK;
}

cfx_status cfx_tensor_to_dlpack(DLManagedTensor **out, const cfx_tensor *t,
                                cfx_error *err)
{
    DLTensor d;
    lent *l;
    cfx_status st = lend(&l, &d, t, err);

    *out = NULL;
    if (st)
        return st;
    l->managed.plain = (DLManagedTensor){d, l, plain_delete};
    *out = &l->managed.plain;
    return CFX_OK;
}

cfx_status cfx_tensor_to_dlpack_versioned(DLManagedTensorVersioned **out,
                                          const cfx_tensor *t, cfx_error *err)
{
    DLTensor d;
    lent *l;
    cfx_status st = lend(&l, &d, t, err);

    *out = NULL;
    if (st)
        return st;
    l->managed.versioned = (DLManagedTensorVersioned){
        {DL_MAJOR, DL_MINOR}, l, versioned_delete, 0, d};
    *out = &l->managed.versioned;
    return CFX_OK;
}

/* ---- Import ---- */

static void give_back(void *user)
{
    DLManagedTensor *managed = user;

    if (managed->deleter)
        managed->deleter(managed);
}

static cfx_status find_dtype(cfx_dtype *out, DLDataType type, cfx_error *err)
{
    for (int t = 0; t < CFX_NDTYPES; t++) {
        const DLDataType *d = &dl_types[t];
        if (d->code == type.code && d->bits == type.bits &&
            d->lanes == type.lanes) {
            *out = (cfx_dtype)t;
            return CFX_OK;
        }
    }
    return cfx_fail(
        err, CFX_EDTYPE,
        "DLPack type of code %d with %d bits and %d lanes is not supported",
        type.code, type.bits, type.lanes);
}

/*
 * DLPack has no size of the memory, so the size is computed from extents and
 * strides. If they are invalid, *bytes is the maximum, and cfx_tensor_from
 * reports the error.
 */
static void reach_of(size_t *bytes, const DLTensor *d, size_t size)
{
    size_t last = 0, step, row = 1;

    *bytes = SIZE_MAX;
    for (int i = d->ndim - 1; i >= 0; i--) {
        if (d->shape[i] <= 0) {
            *bytes = d->shape[i] ? SIZE_MAX : 0;
            return;
        }
        size_t n = (size_t)d->shape[i];
        size_t stride = d->strides ? (size_t)d->strides[i] : row;
        if (!cfx_mul_size(&step, n - 1, stride) ||
            !cfx_add_size(&last, last, step) || !cfx_mul_size(&row, row, n))
            return;
    }
    if (!cfx_add_size(&last, last, 1) || !cfx_mul_size(&last, last, size))
        return;
    *bytes = last;
}

static cfx_status check(const DLTensor *d, cfx_error *err)
{
    if (d->device.device_type != DL_CPU)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "DLPack device %d is not supported, only %d (CPU)",
                        (int)d->device.device_type, DL_CPU);
    if (d->ndim < 0 || d->ndim > CFX_MAX_RANK)
        return cfx_fail(err, CFX_ESHAPE, "rank %d is not within 0 and %d",
                        (int)d->ndim, CFX_MAX_RANK);
    return CFX_OK;
}

cfx_status cfx_tensor_from_dltensor(cfx_tensor **out, cfx_context *ctx,
                                    const DLTensor *d,
                                    void (*release)(void *user), void *user,
                                    cfx_error *err)
{
    cfx_dtype dtype = CFX_F32;
    cfx_status st;
    size_t bytes;

    *out = NULL;
    if ((st = check(d, err)) || (st = find_dtype(&dtype, d->dtype, err))) {
        release(user);
        return st;
    }
    reach_of(&bytes, d, cfx_dtype_size(dtype));
    char *data = d->data ? (char *)d->data + d->byte_offset : NULL;
    return cfx_tensor_from(out, ctx, dtype, d->ndim, d->shape, d->strides,
                           data, bytes, release, user, err);
}

cfx_status cfx_tensor_from_dlpack_take(cfx_tensor **out, cfx_context *ctx,
                                       DLManagedTensor *managed,
                                       cfx_error *err)
{
    return cfx_tensor_from_dltensor(out, ctx, &managed->dl_tensor, give_back,
                                    managed, err);
}
