/*
 * flat -- a file of an archive as a tensor of one axis, of which the tensors of
 * the model are views.
 */
#include "format/pt2/pt2.h"

#ifdef HAVE_LIBZIP

static void release_bytes(void *user)
{
    cfx_bytes *b = user;
    cfx_context *ctx = b->ctx;

    cfx_bytes_release(b);
    cfx_free(ctx, b, sizeof(*b));
}

/* A tensor over bytes, which it takes. */
static cfx_status tensor_of_bytes(cfx_tensor **out, cfx_bytes *bytes,
                                  cfx_dtype dtype, cfx_error *err)
{
    cfx_context *ctx = bytes->ctx;
    int64_t n = (int64_t)(bytes->len / cfx_dtype_size(dtype));
    cfx_bytes *kept = cfx_alloc(ctx, sizeof(*kept));

    if (!kept) {
        cfx_bytes_release(bytes);
        return cfx_no_memory(err);
    }
    *kept = *bytes;
    return cfx_tensor_from(out, ctx, dtype, 1, &n, NULL, kept->data, kept->len,
                           release_bytes, kept, err);
}

cfx_status cfx_pt2__flat(cfx_tensor **out, cfx_pt2_archive *a,
                         const char *name, cfx_dtype dtype, cfx_error *err)
{
    size_t size = cfx_dtype_size(dtype);
    cfx_bytes b;
    cfx_status st = cfx_pt2__read(&b, a, name, err);

    if (st)
        return st;
    if (b.len % size) {
        st = cfx_fail(err, CFX_EPARSE,
                      "%s has %zu bytes, which are no whole number of %s",
                      name, b.len, cfx_dtypes[dtype].name);
        cfx_bytes_release(&b);
        return st;
    }
    if (a->swapped)
        cfx_swap_bytes(b.data, b.len / size, size);
    if (dtype == CFX_BOOL)
        cfx_normalize_bools(b.data, b.len);
    return tensor_of_bytes(out, &b, dtype, err);
}

#endif
