/*
 * npz -- a zip archive of .npy files.
 *
 * Each entry is inflated into a block of exactly the size that the header of
 * its array tells, which must be the one that the archive tells. What the
 * archive claims is not believed: entries that would inflate out of proportion
 * to the bytes they have are refused before any memory is taken for them, and
 * so are entries that share bytes. Configured without libzip, reading fails
 * with CFX_EUNSUPPORTED.
 */
#include "format/io.h"

#include "base/util.h"

#ifdef HAVE_LIBZIP

#include <sys/stat.h>
#include <zip.h>

/* An entry may inflate to RATIO times its bytes, and SPARE besides. */
enum { RATIO = 256, SPARE = 16 << 20 };

static cfx_status zip_fail(cfx_error *err, zip_error_t *why)
{
    if (zip_error_code_zip(why) == ZIP_ER_MEMORY)
        return cfx_no_memory(err);
    return cfx_fail(err, CFX_EPARSE, "%s", zip_error_strerror(why));
}

/* The length of an entry's name without ".npy"; names that would leave a
 * directory if they were unpacked are refused. */
static cfx_status entry_name(const char *name, size_t *len, cfx_error *err)
{
    size_t n = strlen(name);

    if (n <= 4 || strcmp(name + n - 4, ".npy"))
        return cfx_fail(err, CFX_EPARSE, "the entry '%s' is no .npy file",
                        name);
    bool climbs = name[0] == '/' || strchr(name, '\\');
    for (const char *p = name; p && !climbs; p = strchr(p, '/')) {
        p += *p == '/';
        climbs = !strncmp(p, "../", 3);
    }
    if (climbs)
        return cfx_fail(err, CFX_EPARSE, "the entry '%s' has no proper name",
                        name);
    *len = n - 4;
    return CFX_OK;
}

static cfx_status check_sizes(const zip_stat_t *info, uint64_t *left,
                              cfx_error *err)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                ZIP_STAT_NAME | ZIP_STAT_COMP_METHOD |
                                ZIP_STAT_ENCRYPTION_METHOD;

    if ((info->valid & needed) != needed)
        return cfx_fail(err, CFX_EPARSE, "an entry is incomplete");
    if (info->encryption_method != ZIP_EM_NONE)
        return cfx_fail(err, CFX_EUNSUPPORTED, "the entry '%s' is encrypted",
                        info->name);
    if (info->comp_method != ZIP_CM_STORE &&
        info->comp_method != ZIP_CM_DEFLATE)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "the entry '%s' is packed by "
                        "method %d",
                        info->name, info->comp_method);
    if (info->comp_size > *left)
        return cfx_fail(err, CFX_EPARSE,
                        "the entries have more bytes than the "
                        "file");
    *left -= info->comp_size;
    if (info->size > SPARE && (info->size - SPARE) / RATIO > info->comp_size)
        return cfx_fail(err, CFX_EPARSE,
                        "the entry '%s' claims %llu bytes "
                        "packed into %llu",
                        info->name, (unsigned long long)info->size,
                        (unsigned long long)info->comp_size);
    return CFX_OK;
}

static cfx_status read_some(zip_file_t *file, cfx_bytes *b, size_t upto,
                            cfx_error *err)
{
    while (b->len < upto) {
        zip_int64_t got = zip_fread(file, b->data + b->len, upto - b->len);
        if (got < 0)
            return zip_fail(err, zip_file_get_error(file));
        if (got == 0)
            return cfx_fail(err, CFX_EPARSE, "ends too early");
        b->len += (size_t)got;
    }
    return CFX_OK;
}

/* Inflate an entry of `size` bytes: its header first, which must agree. */
static cfx_status inflate(cfx_bytes *b, zip_file_t *file, size_t size,
                          cfx_error *err)
{
    unsigned char head[4096];
    cfx_bytes start = {.data = head, .cap = sizeof(head)};
    size_t total;
    char rest;

    cfx_status st = read_some(file, &start,
                              size < sizeof(head) ? size : sizeof(head), err);
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
    st = read_some(file, b, size, err);
    /* The checksum is compared when the end is met. */
    if (!st && zip_fread(file, &rest, 1) != 0)
        st = zip_fail(err, zip_file_get_error(file));
    return st;
}

static cfx_status read_entry(cfx_tensors *out, size_t i, zip_t *zip,
                             uint64_t *left, cfx_error *err)
{
    zip_stat_t info;
    size_t len = 0;
    cfx_bytes bytes = {.ctx = out->ctx};

    if (zip_stat_index(zip, i, 0, &info))
        return zip_fail(err, zip_get_error(zip));
    cfx_status st = check_sizes(&info, left, err);
    if (!st)
        st = entry_name(info.name, &len, err);
    if (!st)
        st = cfx_tensors_name(out, i, info.name, len, err);
    if (st)
        return st;
    zip_file_t *file = zip_fopen_index(zip, i, 0);
    if (!file)
        return zip_fail(err, zip_get_error(zip));
    st = inflate(&bytes, file, (size_t)info.size, err);
    zip_fclose(file);
    if (st)
        cfx_bytes_release(&bytes);
    else
        st = cfx_npy_decode_take(&out->item[i].tensor, &bytes, err);
    if (!st)
        st = cfx_context_check(out->ctx, err);
    if (st)
        cfx_fail_at(err, "%s", info.name);
    return st;
}

static cfx_status read_entries(cfx_tensors *out, cfx_context *ctx, zip_t *zip,
                               uint64_t file_size, cfx_error *err)
{
    zip_int64_t n = zip_get_num_entries(zip, 0);
    cfx_status st = cfx_tensors_init(out, ctx, n > 0 ? (size_t)n : 0, err);

    for (size_t i = 0; i < out->n && !st; i++)
        st = read_entry(out, i, zip, &file_size, err);
    return st ? st : cfx_tensors_sort(out, err);
}

cfx_status cfx_npz_read(cfx_tensors *out, cfx_context *ctx, const char *path,
                        cfx_error *err)
{
    int code = 0;
    struct stat info;
    cfx_status st;
    zip_t *zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);

    *out = (cfx_tensors){0};
    if (!zip) {
        zip_error_t why;
        zip_error_init_with_code(&why, code);
        st = code == ZIP_ER_OPEN || code == ZIP_ER_NOENT
                 ? cfx_fail_errno(err, NULL)
                 : zip_fail(err, &why);
        zip_error_fini(&why);
        cfx_fail_at(err, "%s", path);
        return st;
    }
    if (stat(path, &info))
        st = cfx_fail_errno(err, NULL);
    else
        st = read_entries(out, ctx, zip, (uint64_t)info.st_size, err);
    zip_discard(zip);
    if (st) {
        cfx_tensors_release(out);
        cfx_fail_at(err, "%s", path);
    }
    return st;
}

#else

cfx_status cfx_npz_read(cfx_tensors *out, cfx_context *ctx, const char *path,
                        cfx_error *err)
{
    *out = (cfx_tensors){.ctx = ctx};
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "%s: cfx was built without libzip, which .npz needs",
                    path);
}

#endif

static bool npz_probe(const unsigned char *head, size_t n)
{
    /* the first entry, or the end of an archive without any */
    return n >= 4 &&
           (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
}

static cfx_status npz_read(cfx_tensors *out, cfx_context *ctx,
                           const char *path, bool map, cfx_error *err)
{
    (void)map;
    return cfx_npz_read(out, ctx, path, err);
}

const cfx_tensor_format cfx_tensor_format__npz = {
    .base = {.name = "npz",
             .suffix = ".npz",
             .doc = "Arrays by name, in a zip archive of NumPy's.",
             .probe = npz_probe},
    .keyed = true,
    .read = npz_read,
};
