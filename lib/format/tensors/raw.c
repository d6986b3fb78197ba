/*
 * raw -- numbers without a header, as trtexec and ncnn take them.
 *
 * They are row-major and little-endian. The file tells no type and shape, so
 * that they stand after its name: FILE.bin:f32[1,3,224,224].
 */
#include "format/io.h"

#include "base/util.h"

/* A meta of the type and shape that a text tells. */
static cfx_status parse_type(cfx_tensor **out, cfx_context *ctx,
                             const char *type, cfx_error *err)
{
    cfx_value v = CFX_NOTHING;
    cfx_error why = {0};
    cfx_status st = cfx_parse_shape(&v, ctx, NULL, type, strlen(type), &why);

    if (st == CFX_ENOMEM)
        return cfx_no_memory(err);
    if (!st && v.kind == CFX_TENSOR) {
        *out = v.u.tensor;
        return CFX_OK;
    }
    cfx_value_unref(v);
    return cfx_fail(err, CFX_EINVAL,
                    "'%s' is not a type and shape as in f32[1,3,224,224]",
                    type);
}

/* Give a meta the numbers of the file, if that has as many. */
static cfx_status read_numbers(cfx_tensor *t, const cfx_file *f,
                               cfx_error *err)
{
    size_t n = (size_t)cfx_tensor_numel(t);
    size_t bytes = n * cfx_dtype_size((cfx_dtype)t->dtype);
    size_t part = cfx_dtype_size(cfx_dtype_real((cfx_dtype)t->dtype));
    char type[256];

    if (f->size != bytes) {
        cfx_tensor_format_type(t, type, sizeof(type));
        return cfx_fail(err, CFX_EPARSE, "has %zu bytes, %s takes %zu",
                        f->size, type, bytes);
    }
    cfx_status st = cfx_tensor_alloc(t, err);
    if (!st)
        st = cfx_file_read_at(t->ctx, f->fd, t->data, bytes, 0, err);
    if (!st && !cfx_little_endian())
        cfx_swap_bytes(t->data, bytes / part, part);
    if (!st && t->dtype == CFX_BOOL)
        cfx_normalize_bools(t->data, n);
    return st;
}

static cfx_status raw_read_typed(cfx_tensor **out, cfx_context *ctx,
                                 const char *path, const char *type,
                                 cfx_error *err)
{
    cfx_tensor *t = NULL;
    cfx_file f;
    cfx_status st = cfx_file_open(&f, ctx, path, err);

    if (!st)
        st = parse_type(&t, ctx, type, err);
    if (!st)
        st = read_numbers(t, &f, err);
    cfx_file_close(&f);
    if (st) {
        cfx_tensor_unref(t);
        cfx_fail_at(err, "%s", path);
        return st;
    }
    *out = t;
    return CFX_OK;
}

static cfx_status raw_read_one(cfx_tensor **out, cfx_file *f, cfx_error *err)
{
    *out = NULL;
    return cfx_fail(
        err, CFX_EINVAL,
        "%s: tells no type and shape; name them as in %s:f32[1,3,224,224]",
        f->path, f->path);
}

static cfx_status raw_write(const char *path, cfx_context *ctx,
                            const cfx_named_tensor *item, size_t n,
                            cfx_error *err)
{
    cfx_outfile file = {0};

    (void)n;
    cfx_status st = cfx_outfile_open(&file, ctx, path, err);
    if (st)
        return st;
    st = cfx_write_numbers(file.stream, item->tensor, err);
    if (!st)
        return cfx_outfile_commit(&file, err);
    cfx_outfile_discard(&file);
    cfx_fail_at(err, "%s", path);
    return st;
}

const cfx_tensor_format cfx_tensor_format__raw = {
    .base =
        {.name = "raw",
         .suffix = ".bin",
         .doc =
             "The data of one tensor, row-major and little-endian; FILE.bin:f32[1,3,224,224] names their type and shape."},
    .read_one = raw_read_one,
    .read_typed = raw_read_typed,
    .write = raw_write,
};
