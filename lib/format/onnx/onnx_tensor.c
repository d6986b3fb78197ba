/*
 * onnx_tensor -- a TensorProto as a tensor: its numbers stand in raw_data, in a list
 * of a wider type, or in a file of their own.
 *
 * The bytes of raw_data become the tensor's memory where they can be used as
 * they are. A file of numbers must lie in the
 * model's folder: no component of its path is a link, "..", or absolute. A tensor
 * of strings becomes a nested list of str.
 */
#define _XOPEN_SOURCE 700

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/convert.h"
#include "format/io.h"
#include "format/onnx/onnx.h"
#include "value/texts.h"

/* ---- Types ---- */

typedef struct type_row {
    int code; /* ONNX's */
    cfx_dtype dtype;
    int bits; /* of an element in raw_data, where they are less than a byte */
} type_row;

static const type_row types[] = {
    {1, CFX_F32, 0},         {2, CFX_U8, 0},         {3, CFX_I8, 0},
    {5, CFX_I16, 0},         {6, CFX_I32, 0},        {7, CFX_I64, 0},
    {9, CFX_BOOL, 0},        {10, CFX_F16, 0},       {11, CFX_F64, 0},
    {16, CFX_BF16, 0},       {21, CFX_U8, 4},        {22, CFX_I8, 4},
    {25, CFX_U8, 2},         {26, CFX_I8, 2},        {4, CFX_U16, 0},
    {12, CFX_U32, 0},        {13, CFX_U64, 0},       {17, CFX_F8E4M3FN, 0},
    {18, CFX_F8E4M3FNUZ, 0}, {19, CFX_F8E5M2, 0},    {20, CFX_F8E5M2FNUZ, 0},
    {23, CFX_F8E4M3FN, 4},   {24, CFX_F8E8M0FNU, 0},
};

static const char *const type_names[] = {
    "undefined",      "float",        "uint8",          "int8",
    "uint16",         "int16",        "int32",          "int64",
    "string",         "bool",         "float16",        "double",
    "uint32",         "uint64",       "complex64",      "complex128",
    "bfloat16",       "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4",        "int4",           "float4e2m1",
    "float8e8m0",     "uint2",        "int2",
};

const char *onnx_type_name(int64_t code)
{
    return code >= 0 &&
                   code < (int64_t)(sizeof(type_names) / sizeof(*type_names))
               ? type_names[code]
               : "unknown";
}

static const type_row *find_type(int64_t code)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (types[i].code == code)
            return &types[i];
    return NULL;
}

bool onnx_dtype(cfx_dtype *out, int64_t code)
{
    const type_row *row = find_type(code);

    if (row && !row->bits)
        *out = row->dtype;
    return row && !row->bits;
}

int onnx_narrow_bits(int64_t code)
{
    const type_row *row = find_type(code);

    return row ? row->bits : 0;
}

bool onnx_memory_type(cfx_dtype *out, int64_t code)
{
    const type_row *row = find_type(code);

    if (row)
        *out = row->dtype;
    return row != NULL;
}

/* ---- Numbers in the message ---- */

/* The codes of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 in float8_e4m3fn. */
static const uint8_t float4_codes[] = {0,    0x30, 0x38, 0x3c,
                                       0x40, 0x44, 0x48, 0x4c};

/* Elements of fewer than 8 bits, several in a byte, the lowest bits first. */
static void unpack_bits(unsigned char *to, size_t n, const uint8_t *from,
                        const type_row *row)
{
    int each = 8 / row->bits, top = 1 << (row->bits - 1);
    bool is_signed = row->dtype == CFX_I8;
    bool is_float = row->dtype == CFX_F8E4M3FN;

    for (size_t i = 0; i < n; i++) {
        int v = from[i / (size_t)each] >>
                    ((int)(i % (size_t)each) * row->bits) &
                ((1 << row->bits) - 1);
        if (is_float)
            v = float4_codes[v & 7] | (v & 8) << 4;
        to[i] = (unsigned char)(is_signed && v >= top ? v - 2 * top : v);
    }
}

static cfx_status wrong_count(cfx_error *err, size_t found, size_t wanted)
{
    return cfx_fail(err, CFX_EPARSE,
                    "has %zu numbers or bytes, where its shape takes %zu",
                    found, wanted);
}

static cfx_status from_raw(cfx_tensor *t, size_t n,
                           const ProtobufCBinaryData *raw, const type_row *row,
                           cfx_error *err)
{
    size_t size = cfx_dtype_size(row->dtype), bytes = n * size;

    if (row->bits)
        bytes = (n * (size_t)row->bits + 7) / 8;
    if (raw->len != bytes)
        return wrong_count(err, raw->len, bytes);
    if (row->bits) {
        unpack_bits(t->data, n, raw->data, row);
        return CFX_OK;
    }
    if (bytes)
        memcpy(t->data, raw->data, bytes);
    if (!cfx_little_endian())
        cfx_swap_bytes(t->data, n, size);
    if (row->dtype == CFX_BOOL)
        cfx_normalize_bools(t->data, n);
    return CFX_OK;
}

/* int32_data holds all types of at most 32 bits; of floats it has the bits. */
static void from_int32(cfx_tensor *t, size_t n, const int32_t *from)
{
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);

    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)from[i];
        uint16_t half = (uint16_t)from[i];
        char *to = (char *)t->data + i * size;
        memcpy(to,
               size == 1   ? (const void *)&byte
               : size == 2 ? (const void *)&half
                           : (const void *)&from[i],
               size);
    }
    if (t->dtype == CFX_BOOL)
        cfx_normalize_bools(t->data, n);
}

static cfx_status from_lists(cfx_tensor *t, size_t n,
                             const Onnx__TensorProto *p, const type_row *row,
                             cfx_error *err)
{
    const void *from = NULL;
    size_t has = 0, size = cfx_dtype_size(row->dtype);
    bool is_unsigned = row->dtype == CFX_U32 || row->dtype == CFX_U64;

    if (row->dtype == CFX_F32)
        from = p->float_data, has = p->n_float_data;
    else if (row->dtype == CFX_F64)
        from = p->double_data, has = p->n_double_data;
    else if (row->dtype == CFX_I64)
        from = p->int64_data, has = p->n_int64_data;
    else if (is_unsigned)
        has = p->n_uint64_data;
    else
        has = p->n_int32_data;
    size_t wants = row->bits ? (n * (size_t)row->bits + 7) / 8 : n;
    if (has != wants)
        return wrong_count(err, has, wants);
    if (from) {
        memcpy(t->data, from, n * size);
    } else if (is_unsigned) {
        for (size_t i = 0; i < n; i++)
            cfx_element_set_int(row->dtype, (char *)t->data + i * size,
                                (int64_t)p->uint64_data[i]);
    } else if (!row->bits) {
        from_int32(t, n, p->int32_data);
    } else {
        for (size_t i = 0; i < n; i++) {
            size_t each = 8 / (size_t)row->bits;
            uint8_t byte = (uint8_t)p->int32_data[i / each];
            type_row one = *row;
            byte = (uint8_t)(byte >> (i % each * (size_t)row->bits));
            unpack_bits((unsigned char *)t->data + i, 1, &byte, &one);
        }
    }
    return CFX_OK;
}

/* ---- Numbers in a file ---- */

static const char *external_value(const Onnx__TensorProto *p, const char *key)
{
    for (size_t i = 0; i < p->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = p->external_data[i];
        if (e->key && e->value && !strcmp(e->key, key))
            return e->value;
    }
    return NULL;
}

static bool parse_size(const char *text, size_t *out)
{
    size_t v = 0;

    if (!text || !*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || v > (SIZE_MAX - 9) / 10)
            return false;
        v = v * 10 + (size_t)(*text - '0');
    }
    *out = v;
    return true;
}

/* Open dir/a/b component by component, none of which may be a link. */
static int open_within(const char *dir, const char *path)
{
    char part[256];
    int at = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    while (at >= 0) {
        size_t n = strcspn(path, "/");
        if (!n || n >= sizeof(part) || (n == 1 && *path == '.') ||
            (n == 2 && !strncmp(path, "..", 2)))
            break;
        memcpy(part, path, n);
        part[n] = '\0';
        bool last = !path[n];
        int next = openat(at, part,
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                              (last ? 0 : O_DIRECTORY));
        close(at);
        if (last)
            return next;
        at = next;
        path += n + 1;
    }
    if (at >= 0)
        close(at);
    return -1;
}

static cfx_status from_file(cfx_tensor *t, size_t n,
                            const Onnx__TensorProto *p, const type_row *row,
                            onnx_folder *dir, cfx_error *err)
{
    const char *location = external_value(p, "location");
    const char *length = external_value(p, "length");
    const char *start = external_value(p, "offset");
    size_t offset = 0, size = n * cfx_dtype_size(row->dtype), given = size;
    struct stat info;

    if (!location)
        return cfx_fail(err, CFX_EPARSE, "names no file of its numbers");
    if (row->bits)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "has numbers of less than 8 bits in another file");
    if ((start && !parse_size(start, &offset)) ||
        (length && !parse_size(length, &given)))
        return cfx_fail(err, CFX_EPARSE,
                        "has an offset or length that is not a number");
    if (given != size)
        return wrong_count(err, given, size);
    if (dir && (dir->fd < 0 || strcmp(dir->name, location) != 0)) {
        if (dir->fd >= 0)
            close(dir->fd);
        dir->fd = open_within(dir->path, location);
        dir->name = location;
    }
    if (!dir || dir->fd < 0)
        return cfx_fail(
            err, CFX_EIO,
            "has its numbers in '%s', which is not a file in the model's folder",
            location);
    cfx_status st = CFX_OK;
    if (fstat(dir->fd, &info) || !S_ISREG(info.st_mode) ||
        offset > (size_t)info.st_size || size > (size_t)info.st_size - offset)
        st = cfx_fail(err, CFX_EIO,
                      "has its numbers in '%s', which is shorter", location);
    else if (size)
        st = cfx_file_read_at(t->ctx, dir->fd, t->data, size, offset, err);
    if (!st && !cfx_little_endian())
        cfx_swap_bytes(t->data, n, cfx_dtype_size(row->dtype));
    if (!st && row->dtype == CFX_BOOL)
        cfx_normalize_bools(t->data, n);
    return st;
}

/* ---- A tensor ---- */

/* Does the message have at least as many bytes as the shape takes? Checked
 * before memory is allocated. */
static bool has_enough(const Onnx__TensorProto *p, size_t n)
{
    size_t most = p->n_float_data + p->n_int32_data + p->n_int64_data +
                  p->n_double_data + p->n_uint64_data;

    if (p->has_raw_data && p->raw_data.len > most)
        most = p->raw_data.len;
    return n / 4 <= most || p->data_location == 1;
}

static bool has_lists(const Onnx__TensorProto *p)
{
    return p->n_float_data || p->n_int32_data || p->n_int64_data ||
           p->n_double_data || p->n_uint64_data;
}

static cfx_status read_numbers(cfx_tensor *t, size_t n,
                               const Onnx__TensorProto *p, const type_row *row,
                               onnx_folder *dir, cfx_error *err)
{
    bool lists = has_lists(p);

    if (p->data_location == 1)
        return from_file(t, n, p, row, dir, err);
    if (p->has_raw_data && lists && p->raw_data.len)
        return cfx_fail(err, CFX_EPARSE,
                        "has its numbers twice, in raw_data and in a list");
    return p->has_raw_data && !lists ? from_raw(t, n, &p->raw_data, row, err)
                                     : from_lists(t, n, p, row, err);
}

/* Use raw_data as it is; false if it cannot be. */
static bool take_raw(cfx_tensor **out, cfx_context *ctx, size_t n,
                     Onnx__TensorProto *p, const type_row *row, cfx_status *st,
                     cfx_error *err)
{
    uint8_t *data = p->raw_data.data;
    size_t size = p->raw_data.len;

    if (!p->has_raw_data || !n || p->data_location == 1 || row->bits ||
        row->dtype == CFX_BOOL || !cfx_little_endian() ||
        size != n * cfx_dtype_size(row->dtype) || has_lists(p))
        return false;
    p->raw_data = (ProtobufCBinaryData){0};
    p->has_raw_data = 0;
    *st = cfx_tensor_from(out, ctx, row->dtype, (int)p->n_dims, p->dims, NULL,
                          data, size, onnx_block_free, data, err);
    return true;
}

/* How many elements the shape has. */
static cfx_status count_elements(size_t *n, const Onnx__TensorProto *p,
                                 cfx_error *err)
{
    *n = 1;
    if (p->n_dims > CFX_MAX_RANK)
        return cfx_fail(err, CFX_ESHAPE, "has %zu axes, more than %d",
                        p->n_dims, CFX_MAX_RANK);
    for (size_t i = 0; i < p->n_dims; i++)
        if (p->dims[i] < 0 || !cfx_mul_size(n, *n, (size_t)p->dims[i]) ||
            *n > SIZE_MAX / 64)
            return cfx_fail(err, CFX_ESHAPE, "has a shape that cannot be");
    return CFX_OK;
}

cfx_status onnx_tensor_read(cfx_tensor **out, cfx_context *ctx,
                            Onnx__TensorProto *p, onnx_folder *dir,
                            cfx_error *err)
{
    const type_row *row = find_type(p->data_type);
    size_t n;

    *out = NULL;
    if (p->data_type == ONNX_STRING)
        return cfx_fail(
            err, CFX_EUNSUPPORTED,
            "has strings, not numbers: write them as a list ['a', 'b']");
    if (!row)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "has data of type %s, which is not supported",
                        onnx_type_name(p->data_type));
    if (count_elements(&n, p, err))
        return err->code;
    if (!has_enough(p, n))
        return wrong_count(err, p->has_raw_data ? p->raw_data.len : 0, n);
    cfx_status st = CFX_OK;
    if (take_raw(out, ctx, n, p, row, &st, err))
        return st;
    st = cfx_tensor_new(out, ctx, row->dtype, (int)p->n_dims, p->dims, err);
    if (!st)
        st = read_numbers(*out, n, p, row, dir, err);
    if (st) {
        cfx_tensor_unref(*out);
        *out = NULL;
    }
    return st;
}

/* ---- Strings ---- */

/* Lists within lists of no item: a few are enough. */
enum { MAX_EMPTY = 4096 };

/* May a list of that shape be made? An empty one may have many empty items. */
static bool is_small(const Onnx__TensorProto *p)
{
    size_t n = 1;

    for (size_t i = 0; i < p->n_dims && p->dims[i]; i++)
        if (!cfx_mul_size(&n, n, (size_t)p->dims[i]))
            return false;
    return n <= MAX_EMPTY;
}

static cfx_status texts_read(cfx_value *out, cfx_context *ctx,
                             const Onnx__TensorProto *p, cfx_error *err)
{
    size_t n, made = 0;
    cfx_status st = count_elements(&n, p, err);

    *out = CFX_NOTHING;
    if (st)
        return st;
    if (p->n_string_data != n)
        return cfx_fail(err, CFX_EPARSE,
                        "has %zu strings, where its shape takes %zu",
                        p->n_string_data, n);
    if (!n && !is_small(p))
        return cfx_fail(err, CFX_ESHAPE, "has a shape that cannot be");
    cfx_value *item = cfx_calloc(ctx, n + 1, sizeof(*item));
    for (bool ok = item; ok && made < n; made += ok) {
        const ProtobufCBinaryData *text = &p->string_data[made];
        item[made] = cfx_str_new(ctx, (const char *)text->data, text->len);
        ok = item[made].kind == CFX_STR;
    }
    if (item && made == n)
        *out = cfx_texts_value(ctx, (int)p->n_dims, p->dims, item);
    for (size_t i = 0; i < made; i++)
        cfx_value_unref(item[i]);
    if (item)
        cfx_free(ctx, item, (n + 1) * sizeof(*item));
    return out->kind == CFX_ABSENT ? cfx_no_memory(err) : CFX_OK;
}

cfx_status onnx_constant_read(cfx_value *out, cfx_context *ctx,
                              Onnx__TensorProto *p, onnx_folder *dir,
                              cfx_error *err)
{
    cfx_tensor *t;

    *out = CFX_NOTHING;
    if (p->data_type == ONNX_STRING)
        return texts_read(out, ctx, p, err);
    cfx_status st = onnx_tensor_read(&t, ctx, p, dir, err);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}
