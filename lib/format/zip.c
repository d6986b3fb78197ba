/*
 * zip -- zip archives whose claims are checked.
 *
 * What an archive claims is not believed: entries that would inflate out of
 * proportion to the bytes they have are refused before any memory is taken for
 * them, and so are entries that share bytes.
 */
#include "format/zip.h"

#include "base/util.h"

#include <fcntl.h>
#include <unistd.h>

/* An entry may inflate to RATIO times its bytes, and SPARE besides. */
enum { RATIO = 256, SPARE = 16 << 20 };

static cfx_status zip_fail(cfx_error *err, zip_error_t *why)
{
    if (zip_error_code_zip(why) == ZIP_ER_MEMORY)
        return cfx_no_memory(err);
    return cfx_fail(err, CFX_EPARSE, "%s", zip_error_strerror(why));
}

/* Open the archive of a source; NULL: it could not be made, as `why` says. */
static cfx_status open_source(cfx_zip *z, zip_source_t *source, size_t size,
                              uint64_t whole, zip_error_t *why, cfx_error *err)
{
    cfx_status st = CFX_OK;

    if (source)
        z->zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, why);
    if (z->zip) {
        zip_int64_t n = zip_get_num_entries(z->zip, 0);
        z->n = n > 0 ? (size_t)n : 0;
        z->left = size;
        z->size = whole;
    } else {
        st = zip_fail(err, why);
        if (source)
            zip_source_free(source);
    }
    zip_error_fini(why);
    return st;
}

cfx_status cfx_zip_open(cfx_zip *z, cfx_file *f, cfx_error *err)
{
    zip_error_t why;

    *z = (cfx_zip){.ctx = f->ctx};
    cfx_status st = cfx_file_check(f, err);
    if (st)
        return st;
    int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file) {
        st = cfx_fail_errno(err, NULL);
        if (fd >= 0)
            close(fd);
        return st;
    }
    zip_error_init(&why);
    zip_source_t *source = zip_source_filep_create(file, 0, -1, &why);
    if (!source)
        fclose(file);
    return open_source(z, source, f->size, f->size, &why, err);
}

cfx_status cfx_zip_open_memory(cfx_zip *z, cfx_context *ctx, const void *data,
                               size_t size, uint64_t whole, cfx_error *err)
{
    zip_error_t why;

    *z = (cfx_zip){.ctx = ctx};
    zip_error_init(&why);
    zip_source_t *source = zip_source_buffer_create(data, size, 0, &why);
    return open_source(z, source, size, whole, &why, err);
}

void cfx_zip_close(cfx_zip *z)
{
    if (z->zip)
        zip_discard(z->zip);
    *z = (cfx_zip){0};
}

cfx_status cfx_zip_check_name(const char *name, cfx_error *err)
{
    bool climbs = name[0] == '/' || strchr(name, '\\');

    for (const char *p = name; p && !climbs; p = strchr(p, '/')) {
        p += *p == '/';
        climbs = !strncmp(p, "../", 3);
    }
    return climbs ? cfx_fail(err, CFX_EPARSE,
                             "the entry '%s' has no proper name", name)
                  : CFX_OK;
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
                        "the entry '%s' is packed by method %d", info->name,
                        info->comp_method);
    if (info->comp_size > *left)
        return cfx_fail(err, CFX_EPARSE,
                        "the entries have more bytes than the file");
    *left -= info->comp_size;
    if (info->size > SPARE && (info->size - SPARE) / RATIO > info->comp_size)
        return cfx_fail(err, CFX_EPARSE,
                        "the entry '%s' claims %llu bytes packed into %llu",
                        info->name, (unsigned long long)info->size,
                        (unsigned long long)info->comp_size);
    return CFX_OK;
}

cfx_status cfx_zip_entry(const char **name, uint64_t *size, cfx_zip *z,
                         size_t i, cfx_error *err)
{
    zip_stat_t info;

    if (zip_stat_index(z->zip, i, 0, &info))
        return zip_fail(err, zip_get_error(z->zip));
    cfx_status st = check_sizes(&info, &z->left, err);
    if (st)
        return st;
    *name = info.name;
    *size = info.size;
    return CFX_OK;
}

cfx_status cfx_zip_file_open(zip_file_t **file, cfx_zip *z, size_t i,
                             cfx_error *err)
{
    *file = zip_fopen_index(z->zip, i, 0);
    return *file ? CFX_OK : zip_fail(err, zip_get_error(z->zip));
}

cfx_status cfx_zip_file_read(zip_file_t *file, cfx_bytes *b, size_t upto,
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

cfx_status cfx_zip_file_finish(zip_file_t *file, cfx_error *err)
{
    char rest;

    /* The checksum is compared when the end is met. */
    return zip_fread(file, &rest, 1) == 0
               ? CFX_OK
               : zip_fail(err, zip_file_get_error(file));
}

cfx_status cfx_zip_read(cfx_bytes *out, cfx_zip *z, size_t i, uint64_t size,
                        cfx_error *err)
{
    zip_file_t *file;
    size_t cap;

    *out = (cfx_bytes){.ctx = z->ctx};
    if (size > SIZE_MAX || !cfx_add_size(&cap, (size_t)size, 1))
        return cfx_no_memory(err);
    out->data = cfx_block_alloc(z->ctx, cap);
    if (!out->data)
        return cfx_no_memory(err);
    out->cap = cap;
    cfx_status st = cfx_zip_file_open(&file, z, i, err);
    if (!st) {
        st = cfx_zip_file_read(file, out, (size_t)size, err);
        if (!st)
            st = cfx_zip_file_finish(file, err);
        zip_fclose(file);
    }
    if (!st)
        st = cfx_context_check(z->ctx, err);
    if (st)
        cfx_bytes_release(out);
    return st;
}
