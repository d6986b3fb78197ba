/*
 * npz -- a zip archive of .npy files.
 *
 * Each entry is inflated into a block of exactly the size that the header of
 * its array tells, which must be the one that the archive tells. Configured
 * without libzip, reading fails with CFX_EUNSUPPORTED.
 */
#include "format/io.h"
#include "format/zip_write.h"

#include "base/util.h"

#ifdef HAVE_LIBZIP
#include "format/zip.h"

/* The length of an entry's name without ".npy". */
static cfx_status entry_name(const char *name, size_t *len, cfx_error *err)
{
    size_t n = strlen(name);

    if (n <= 4 || strcmp(name + n - 4, ".npy"))
        return cfx_fail(err, CFX_EPARSE, "the entry '%s' is no .npy file",
                        name);
    *len = n - 4;
    return cfx_zip_check_name(name, err);
}

/* Inflate an entry of `size` bytes: its header first, which must agree. */
static cfx_status inflate(cfx_bytes *b, zip_file_t *file, size_t size,
                          cfx_error *err)
{
    unsigned char head[4096];
    cfx_bytes start = {.data = head, .cap = sizeof(head)};
    size_t total;

    cfx_status st = cfx_zip_file_read(
        file, &start, size < sizeof(head) ? size : sizeof(head), err);
    if (!st)
        st = cfx_npy_total(&total, head, start.len, err);
    if (!st && total && total != size)
        st = cfx_fail(err, CFX_EPARSE,
                      "has %zu bytes, but its shape needs %zu", size, total);
    if (st)
        return st;
    b->cap = size + 1;
    b->data = cfx_block_alloc(b->ctx, b->cap);
    if (!b->data)
        return cfx_no_memory(err);
    memcpy(b->data, head, start.len);
    b->len = start.len;
    st = cfx_zip_file_read(file, b, size, err);
    return st ? st : cfx_zip_file_finish(file, err);
}

static cfx_status read_entry(cfx_tensors *out, size_t i, cfx_zip *z,
                             cfx_error *err)
{
    const char *name;
    uint64_t size;
    size_t len = 0;
    cfx_bytes bytes = {.ctx = out->ctx};
    zip_file_t *file;

    cfx_status st = cfx_zip_entry(&name, &size, z, i, err);
    if (!st)
        st = entry_name(name, &len, err);
    if (!st)
        st = cfx_tensors_name(out, i, name, len, err);
    if (!st)
        st = cfx_zip_file_open(&file, z, i, err);
    if (st)
        return st;
    st = inflate(&bytes, file, (size_t)size, err);
    zip_fclose(file);
    if (st)
        cfx_bytes_release(&bytes);
    else
        st = cfx_npy_decode_take(&out->item[i].tensor, &bytes, err);
    if (!st)
        st = cfx_context_check(out->ctx, err);
    if (st)
        cfx_fail_at(err, "%s", name);
    return st;
}

static cfx_status npz_read(cfx_tensors *out, cfx_file *f, bool map,
                           cfx_error *err)
{
    cfx_zip z;

    (void)map;
    *out = (cfx_tensors){0};
    cfx_status st = cfx_zip_open(&z, f, err);
    if (!st)
        st = cfx_tensors_init(out, f->ctx, z.n, err);
    for (size_t i = 0; i < out->n && !st; i++)
        st = read_entry(out, i, &z, err);
    if (!st)
        st = cfx_tensors_sort(out, err);
    cfx_zip_close(&z);
    if (st) {
        cfx_tensors_release(out);
        cfx_fail_at(err, "%s", f->path);
    }
    return st;
}

#else

static cfx_status npz_read(cfx_tensors *out, cfx_file *f, bool map,
                           cfx_error *err)
{
    (void)map;
    *out = (cfx_tensors){.ctx = f->ctx};
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "%s: cfx was built without libzip, which .npz needs",
                    f->path);
}

#endif

cfx_status cfx_npz_read(cfx_tensors *out, cfx_context *ctx, const char *path,
                        cfx_error *err)
{
    cfx_file f = {.ctx = ctx, .path = path, .fd = -1};
    cfx_status st = npz_read(out, &f, false, err);

    cfx_file_close(&f);
    return st;
}

static bool npz_probe(const unsigned char *head, size_t n)
{
    /* the first entry, or the end of an archive without any */
    return cfx_head_is_zip_of(head, n, ".npy") ||
           (n >= 4 && !memcmp(head, "PK\5\6", 4));
}

/* ---- Writing ---- */

static cfx_status write_arrays(cfx_zip_writer *z, const cfx_named_tensor *item,
                               size_t n, cfx_error *err)
{
    cfx_buf bytes, name;
    cfx_status st = CFX_OK;

    cfx_buf_init(&bytes, z->ctx);
    cfx_buf_init(&name, z->ctx);
    for (size_t i = 0; i < n && !st; i++) {
        cfx_buf_clear(&bytes);
        cfx_buf_clear(&name);
        cfx_buf_printf(&name, "%s.npy", item[i].name);
        st = name.failed ? cfx_no_memory(err)
                         : cfx_npy_put(&bytes, item[i].tensor, err);
        if (!st)
            st = cfx_zip_writer_add(z, name.s, bytes.s, bytes.len, err);
        if (!st)
            st = cfx_context_check(z->ctx, err);
        if (st)
            cfx_fail_at(err, "%s", item[i].name);
    }
    cfx_buf_release(&name);
    cfx_buf_release(&bytes);
    return st ? st : cfx_zip_writer_finish(z, err);
}

static cfx_status npz_write(const char *path, cfx_context *ctx,
                            const cfx_named_tensor *item, size_t n,
                            cfx_error *err)
{
    cfx_outfile file = {0};
    cfx_zip_writer z;
    cfx_status st = cfx_outfile_open(&file, ctx, path, err);

    if (st)
        return st;
    cfx_zip_writer_init(&z, ctx, cfx_sink_file(file.stream));
    st = write_arrays(&z, item, n, err);
    if (st)
        cfx_fail_at(err, "%s", path);
    else
        st = cfx_outfile_commit(&file, err);
    cfx_zip_writer_release(&z);
    cfx_outfile_discard(&file);
    return st;
}

const cfx_tensor_format cfx_tensor_format__npz = {
    .base = {.name = "npz",
             .suffix = ".npz",
             .doc = "Arrays by name, in a zip archive of NumPy's.",
             .probe = npz_probe},
    .keyed = true,
    .read = npz_read,
    .write = npz_write,
};
