/*
 * pt2_flat -- a file of an archive as a tensor of one axis, of which the tensors of
 * the model are views.
 */
#include "format/pt2/pt2.h"

#include "base/atomic.h"

/* ---- Read ---- */

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

/* ---- Mapped ---- */

void cfx_pt2__map(cfx_pt2_archive *a, const cfx_file *f)
{
    if (!a->zip.n || a->swapped || a->place)
        return;
    a->place = cfx_calloc(f->ctx, a->zip.n, sizeof(*a->place));
    a->map = a->place ? cfx_mapping_of_file(f->ctx, f->fd, f->size) : NULL;
    if (a->map)
        cfx_zip_places(a->place, a->zip.n, a->map->base, f->size);
}

/* A tensor over the mapped file; *out NULL: it is to be read. Booleans are,
 * since they may have to be changed. */
static cfx_status map_tensor(cfx_tensor **out, cfx_pt2_archive *a,
                             const cfx_pt2_file *file, cfx_dtype dtype,
                             cfx_error *err)
{
    size_t size = cfx_dtype_size(dtype);
    uint64_t at = a->map && file ? a->place[file->index] : 0;
    bool same = false;

    *out = NULL;
    if (!at || at % size || dtype == CFX_BOOL || file->size % size ||
        at > a->map->size || file->size > a->map->size - at)
        return CFX_OK;
    unsigned char *data = (unsigned char *)a->map->base + at;
    int64_t n = (int64_t)(file->size / size);
    cfx_status st = cfx_zip_is_at(&same, &a->zip, file->index, data,
                                  (size_t)file->size, err);
    if (st || !same || !n)
        return st;
    cfx_ref_inc(&a->map->refs);
    return cfx_tensor_from(out, a->zip.ctx, dtype, 1, &n, NULL, data,
                           (size_t)file->size, cfx_mapping_unref, a->map, err);
}

/* ---- Either ---- */

cfx_status cfx_pt2__flat(cfx_tensor **out, cfx_pt2_archive *a,
                         const char *name, cfx_dtype dtype, cfx_error *err)
{
    size_t size = cfx_dtype_size(dtype);
    cfx_bytes b;
    cfx_status st = map_tensor(out, a, cfx_pt2__find(a, name), dtype, err);

    if (st)
        cfx_fail_at(err, "%s", name);
    if (st || *out)
        return st;
    st = cfx_pt2__read(&b, a, name, err);
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
