/*
 * safetensors -- tensors by name: a length, a header in JSON, the numbers.
 *
 * The header is read into memory and checked completely before any tensor is
 * made: the data of the tensors must cover the file from the header's end to
 * the file's, without holes, overlap or rest, and each must have the size that
 * its type and shape tell. After that the file is mapped privately, so that
 * writing to a tensor does not reach the file, and tensors point into it. One
 * whose data is not aligned to its element is copied. On machines that store
 * the most significant byte first everything is read and turned around.
 *
 * Bytes that are in memory already are read in the same way: borrowed, they
 * stand in the place of a mapping that is never taken down.
 */
#include <cfx/file.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/util.h"
#include "format/io.h"
#include "format/json.h"
#include "format/mapping.h"

/* No header is longer, by the format's own rule. */
enum { PREFIX = 8, HEADER_MAX = 100000000 };

/* A tensor as the header describes it; borrows from the JSON. */
struct entry {
    const char *name;
    const json_t *shape;
    cfx_dtype dtype;
    size_t begin, end; /* from the first byte after the header */
};

struct reader {
    cfx_context *ctx;
    int fd; /* -1: the bytes are in memory */
    const unsigned char *memory;
    size_t size; /* of the file, or of the memory */
    size_t data; /* where the header ends */
    cfx_json header;
    struct entry *entry;
    size_t n;
    cfx_mapping *map; /* NULL: read */
};

static cfx_status read_at(const struct reader *r, void *to, size_t n,
                          size_t offset, cfx_error *err)
{
    if (r->fd >= 0)
        return cfx_file_read_at(r->ctx, r->fd, to, n, offset, err);
    if (n)
        memcpy(to, r->memory + offset, n);
    return CFX_OK;
}

/* ---- The header ---- */

static cfx_status parse_header(struct reader *r, cfx_error *err)
{
    unsigned char prefix[PREFIX];
    uint64_t len = 0;

    if (r->size < PREFIX)
        return cfx_fail(
            err, CFX_EPARSE,
            "has %zu bytes, fewer than the 8 of the header's length", r->size);
    cfx_status st = read_at(r, prefix, PREFIX, 0, err);
    if (st)
        return st;
    for (int i = PREFIX - 1; i >= 0; i--)
        len = len << 8 | prefix[i];
    if (len > HEADER_MAX)
        return cfx_fail(err, CFX_EPARSE, "a header of %llu bytes is too long",
                        (unsigned long long)len);
    if (len > r->size - PREFIX)
        return cfx_fail(err, CFX_EPARSE,
                        "a header of %llu bytes does not fit into %zu",
                        (unsigned long long)len, r->size);
    r->data = PREFIX + (size_t)len;

    char *text = cfx_alloc(r->ctx, (size_t)len);
    if (!text)
        return cfx_no_memory(err);
    st = read_at(r, text, (size_t)len, PREFIX, err);
    if (!st && (len == 0 || text[0] != '{'))
        st = cfx_fail(err, CFX_EPARSE, "the header does not begin with '{'");
    if (!st)
        st = cfx_json_check_bound(text, (size_t)len, err);
    if (!st)
        st = cfx_json_parse(&r->header, r->ctx, text, (size_t)len,
                            JSON_REJECT_DUPLICATES, PREFIX, err);
    cfx_free(r->ctx, text, (size_t)len);
    return st;
}

static cfx_status find_dtype(struct entry *e, const char *name, cfx_error *err)
{
    for (int t = 0; t < CFX_NDTYPES; t++) {
        const char *own = cfx_dtypes[t].safetensors;
        if (own && !strcmp(own, name)) {
            e->dtype = (cfx_dtype)t;
            return CFX_OK;
        }
    }
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "tensor '%s' has the dtype '%s', which is not supported",
                    e->name, name);
}

/* The bytes of a tensor of that type and shape. */
static cfx_status entry_bytes(size_t *out, const struct entry *e,
                              cfx_error *err)
{
    size_t bytes = cfx_dtype_size(e->dtype);
    size_t rank = json_array_size(e->shape);

    if (rank > CFX_MAX_RANK)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "tensor '%s' has rank %zu, more than %d", e->name,
                        rank, CFX_MAX_RANK);
    for (size_t i = 0; i < rank; i++) {
        const json_t *extent = json_array_get(e->shape, i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return cfx_fail(
                err, CFX_EPARSE,
                "tensor '%s' has an extent that is not a natural number",
                e->name);
        if (!cfx_mul_size(&bytes, bytes, (size_t)json_integer_value(extent)))
            return cfx_fail(err, CFX_EPARSE,
                            "tensor '%s' has a shape that is too large",
                            e->name);
    }
    *out = bytes;
    return CFX_OK;
}

static cfx_status parse_entry(struct entry *e, const json_t *info,
                              cfx_error *err)
{
    const char *dtype = json_string_value(json_object_get(info, "dtype"));
    const json_t *offsets = json_object_get(info, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0);
    const json_t *end = json_array_get(offsets, 1);
    size_t bytes = 0;

    e->shape = json_object_get(info, "shape");
    if (!dtype || !json_is_array(e->shape) || json_array_size(offsets) != 2 ||
        !json_is_integer(begin) || !json_is_integer(end))
        return cfx_fail(
            err, CFX_EPARSE,
            "tensor '%s' needs a dtype, a shape and two data_offsets",
            e->name);
    cfx_status st = find_dtype(e, dtype, err);
    if (!st)
        st = entry_bytes(&bytes, e, err);
    if (st)
        return st;
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from)
        return cfx_fail(err, CFX_EPARSE,
                        "tensor '%s' has data from %lld to %lld", e->name,
                        (long long)from, (long long)to);
    e->begin = (size_t)from;
    e->end = (size_t)to;
    if (e->end - e->begin != bytes)
        return cfx_fail(
            err, CFX_EPARSE,
            "tensor '%s' has %zu bytes of data, but its shape needs %zu",
            e->name, e->end - e->begin, bytes);
    return CFX_OK;
}

static cfx_status check_metadata(const json_t *meta, cfx_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(meta))
        return cfx_fail(err, CFX_EPARSE, "__metadata__ is not an object");
    json_object_foreach((json_t *)(uintptr_t)meta, key, value)
    {
        if (!json_is_string(value))
            return cfx_fail(err, CFX_EPARSE,
                            "__metadata__ has '%s', which is not a string",
                            key);
    }
    return CFX_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The tensors must cover the data exactly. */
static cfx_status check_layout(struct reader *r, cfx_error *err)
{
    size_t at = 0;

    if (r->n)
        qsort(r->entry, r->n, sizeof(*r->entry), by_place);
    for (size_t i = 0; i < r->n; i++) {
        const struct entry *e = &r->entry[i];
        if (e->begin != at)
            return cfx_fail(err, CFX_EPARSE,
                            "tensor '%s' begins at %zu, where %zu is expected",
                            e->name, e->begin, at);
        at = e->end;
    }
    if (at != r->size - r->data)
        return cfx_fail(err, CFX_EPARSE,
                        "the tensors have %zu bytes, the file has %zu", at,
                        r->size - r->data);
    return CFX_OK;
}

static cfx_status read_entries(struct reader *r, cfx_error *err)
{
    const char *key;
    json_t *info;
    size_t n = json_object_size(r->header.root), i = 0;
    const json_t *meta = json_object_get(r->header.root, "__metadata__");

    cfx_status st = meta ? check_metadata(meta, err) : CFX_OK;
    if (st)
        return st;
    r->n = n - (meta != NULL);
    r->entry = cfx_calloc(r->ctx, r->n, sizeof(*r->entry));
    if (!r->entry)
        return cfx_no_memory(err);
    json_object_foreach(r->header.root, key, info)
    {
        if (info == meta)
            continue;
        r->entry[i].name = key;
        st = parse_entry(&r->entry[i++], info, err);
        if (st)
            return st;
    }
    return check_layout(r, err);
}

/* ---- The tensors ---- */

static int shape_of(const struct entry *e, int64_t *shape)
{
    int rank = (int)json_array_size(e->shape);

    for (int i = 0; i < rank; i++)
        shape[i] = json_integer_value(json_array_get(e->shape, (size_t)i));
    return rank;
}

static cfx_status map_tensor(cfx_tensor **out, struct reader *r,
                             const struct entry *e, cfx_error *err)
{
    int64_t shape[CFX_MAX_RANK];
    int rank = shape_of(e, shape);
    unsigned char *p = (unsigned char *)r->map->base + r->data + e->begin;

    cfx_ref_inc(&r->map->refs);
    return cfx_tensor_from(out, r->ctx, e->dtype, rank, shape, NULL, p,
                           e->end - e->begin, cfx_mapping_unref, r->map, err);
}

static cfx_status read_tensor(cfx_tensor **out, struct reader *r,
                              const struct entry *e, cfx_error *err)
{
    int64_t shape[CFX_MAX_RANK];
    int rank = shape_of(e, shape);
    size_t size = cfx_dtype_size(e->dtype), bytes = e->end - e->begin;
    cfx_status st = cfx_tensor_new(out, r->ctx, e->dtype, rank, shape, err);

    if (st)
        return st;
    st = read_at(r, (*out)->data, bytes, r->data + e->begin, err);
    if (!st)
        st = cfx_context_check(r->ctx, err);
    if (st) {
        cfx_tensor_unref(*out);
        *out = NULL;
        return st;
    }
    if (size > 1 && !cfx_little_endian())
        cfx_swap_bytes((*out)->data, bytes / size, size);
    return CFX_OK;
}

static cfx_status make_tensor(cfx_tensor **out, struct reader *r,
                              const struct entry *e, cfx_error *err)
{
    size_t place = r->data + e->begin;
    if (r->map)
        place += (size_t)(uintptr_t)r->map->base;
    bool aligned = place % cfx_dtype_size(e->dtype) == 0;
    /* Bools may have to be written to. */
    bool in_place = r->map && !(r->map->borrowed && e->dtype == CFX_BOOL);
    cfx_status st = in_place && aligned && e->end > e->begin
                        ? map_tensor(out, r, e, err)
                        : read_tensor(out, r, e, err);

    if (!st && e->dtype == CFX_BOOL)
        cfx_normalize_bools((*out)->data, e->end - e->begin);
    return st;
}

static cfx_status make_tensors(cfx_tensors *out, struct reader *r,
                               cfx_error *err)
{
    cfx_status st = cfx_tensors_init(out, r->ctx, r->n, err);

    for (size_t i = 0; i < r->n && !st; i++) {
        const struct entry *e = &r->entry[i];
        st = cfx_tensors_name(out, i, e->name, strlen(e->name), err);
        if (!st)
            st = make_tensor(&out->item[i].tensor, r, e, err);
    }
    return st ? st : cfx_tensors_sort(out, err);
}

static void reader_release(struct reader *r)
{
    if (r->entry)
        cfx_free(r->ctx, r->entry, r->n * sizeof(*r->entry));
    cfx_json_release(&r->header);
    cfx_mapping_unref(r->map);
}

static cfx_status safetensors_read(cfx_tensors *out, cfx_file *f, bool map,
                                   cfx_error *err)
{
    *out = (cfx_tensors){0};
    cfx_status st = cfx_file_check(f, err);
    struct reader r = {.ctx = f->ctx, .fd = f->fd, .size = f->size};
    if (!st)
        st = parse_header(&r, err);
    if (!st)
        st = read_entries(&r, err);
    if (!st) {
        if (map && cfx_little_endian())
            r.map = cfx_mapping_of_file(r.ctx, r.fd, r.size);
        st = make_tensors(out, &r, err);
    }
    reader_release(&r);
    if (st) {
        cfx_tensors_release(out);
        cfx_fail_at(err, "%s", f->path);
    }
    return st;
}

cfx_status cfx_safetensors_read(cfx_tensors *out, cfx_context *ctx,
                                const char *path, bool map, cfx_error *err)
{
    cfx_file f = {.ctx = ctx, .path = path, .fd = -1};
    cfx_status st = safetensors_read(out, &f, map, err);

    cfx_file_close(&f);
    return st;
}

cfx_status cfx_safetensors_parse(cfx_tensors *out, cfx_context *ctx,
                                 const void *data, size_t size, bool borrow,
                                 cfx_error *err)
{
    struct reader r = {.ctx = ctx, .fd = -1, .memory = data, .size = size};

    *out = (cfx_tensors){0};
    cfx_status st = parse_header(&r, err);
    if (!st)
        st = read_entries(&r, err);
    if (!st && borrow && cfx_little_endian())
        st = (r.map = cfx_mapping_of_memory(ctx, data, size))
                 ? CFX_OK
                 : cfx_no_memory(err);
    if (!st)
        st = make_tensors(out, &r, err);
    reader_release(&r);
    if (st)
        cfx_tensors_release(out);
    return st;
}

/* ---- Writing ---- */

/* The wider first, of one width as the reference implementation has it. */
static int by_width(const void *a, const void *b)
{
    const cfx_named_tensor *x = *(const cfx_named_tensor *const *)a;
    const cfx_named_tensor *y = *(const cfx_named_tensor *const *)b;
    int order = cfx_dtypes[y->tensor->dtype].order -
                cfx_dtypes[x->tensor->dtype].order;

    return order ? order : strcmp(x->name, y->name);
}

/* Describe a tensor whose data begins at *at, and move *at past it. */
static cfx_status describe(json_t *header, const cfx_named_tensor *item,
                           size_t *at, cfx_error *err)
{
    const cfx_tensor *t = item->tensor;
    size_t bytes = (size_t)cfx_tensor_numel(t) *
                   cfx_dtype_size((cfx_dtype)t->dtype);
    json_t *key = json_string(item->name);

    json_decref(key);
    if (!key || !strcmp(item->name, "__metadata__"))
        return cfx_fail(err, CFX_EINVAL, "'%s' cannot name a tensor",
                        item->name);
    if (!cfx_dtypes[t->dtype].safetensors)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "'%s' is %s, which safetensors does not have",
                        item->name, cfx_dtypes[t->dtype].name);
    if (json_object_get(header, item->name))
        return cfx_fail(err, CFX_EINVAL, "the name '%s' stands twice",
                        item->name);
    json_t *shape = json_array();
    for (int i = 0; i < t->rank && shape; i++) {
        if (json_array_append_new(shape,
                                  json_integer(cfx_tensor_size(t, i)))) {
            json_decref(shape);
            shape = NULL;
        }
    }
    json_t *info = json_pack("{s:s, s:o, s:[I, I]}", "dtype",
                             cfx_dtypes[t->dtype].safetensors, "shape", shape,
                             "data_offsets", (json_int_t)*at,
                             (json_int_t)(*at + bytes));
    if (json_object_set_new(header, item->name, info))
        return cfx_no_memory(err);
    *at += bytes;
    return CFX_OK;
}

static cfx_status write_header(FILE *to, const json_t *header, cfx_error *err)
{
    static const char spaces[] = "        ";
    unsigned char prefix[PREFIX];
    char *text = json_dumps(header, JSON_COMPACT);

    if (!text)
        return cfx_no_memory(err);
    size_t len = strlen(text), pad = (PREFIX - len % PREFIX) % PREFIX;
    for (int i = 0; i < PREFIX; i++)
        prefix[i] = (unsigned char)((uint64_t)(len + pad) >> 8 * i);
    cfx_status st = CFX_OK;
    if (fwrite(prefix, 1, PREFIX, to) != PREFIX ||
        fwrite(text, 1, len, to) != len || fwrite(spaces, 1, pad, to) != pad)
        st = cfx_fail_errno(err, NULL);
    free(text);
    return st;
}

/* The beginning of a header with a cfx_pair. */
#define REPLACED_KEY "replaced_text"
static const char replaced_mark[] = "{\"__metadata__\":{\"" REPLACED_KEY
                                    "\":\"";

static cfx_status put_replaced(json_t *header, const cfx_pair *replaced,
                               cfx_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%016" PRIx64, replaced->text);
    return json_object_set_new(header, "__metadata__",
                               json_pack("{s:s}", REPLACED_KEY, text))
               ? cfx_no_memory(err)
               : CFX_OK;
}

cfx_pair cfx_safetensors__replaced(const cfx_file *f)
{
    enum { MARK = sizeof(replaced_mark) - 1, DIGITS = 16 };
    char digits[DIGITS + 1] = "", *end;

    if (f->nhead < PREFIX + MARK + DIGITS ||
        memcmp(f->head + PREFIX, replaced_mark, MARK) != 0)
        return (cfx_pair){.given = false};
    memcpy(digits, f->head + PREFIX + MARK, DIGITS);
    uint64_t text = strtoull(digits, &end, 16);
    return (cfx_pair){.given = end == digits + DIGITS, .text = text};
}

static cfx_status write_all(FILE *to, const cfx_named_tensor **order, size_t n,
                            const cfx_pair *replaced, cfx_error *err)
{
    size_t at = 0;
    json_t *header = json_object();
    cfx_status st = header ? CFX_OK : cfx_no_memory(err);

    if (!st && replaced && replaced->given)
        st = put_replaced(header, replaced, err);

    for (size_t i = 0; i < n && !st; i++)
        st = describe(header, order[i], &at, err);
    if (!st)
        st = write_header(to, header, err);
    json_decref(header);
    for (size_t i = 0; i < n && !st; i++)
        st = cfx_write_numbers(to, order[i]->tensor, err);
    return st;
}

cfx_status cfx_safetensors_write(const char *path, cfx_context *ctx,
                                 const cfx_named_tensor *item, size_t n,
                                 cfx_error *err)
{
    return cfx_safetensors__write_pair(path, ctx, item, n, NULL, err);
}

cfx_status cfx_safetensors__write_pair(const char *path, cfx_context *ctx,
                                       const cfx_named_tensor *item, size_t n,
                                       const cfx_pair *replaced,
                                       cfx_error *err)
{
    cfx_outfile file = {0};
    const cfx_named_tensor **order = cfx_calloc(ctx, n, sizeof(*order));
    cfx_status st = CFX_OK;

    if (!order)
        return cfx_no_memory(err);
    for (size_t i = 0; i < n && !st; i++) {
        order[i] = &item[i];
        if (cfx_tensor_is_meta(item[i].tensor))
            st = cfx_fail(err, CFX_EINVAL, "%s: tensor '%s' has no data", path,
                          item[i].name);
    }
    if (st)
        goto out;
    if (n)
        qsort(order, n, sizeof(*order), by_width);
    st = cfx_outfile_open(&file, ctx, path, err);
    if (st)
        goto out;
    st = write_all(file.stream, order, n, replaced, err);
    if (st)
        cfx_fail_at(err, "%s", path);
    else
        st = cfx_outfile_commit(&file, err);
out:
    cfx_outfile_discard(&file);
    cfx_free(ctx, order, n * sizeof(*order));
    return st;
}

/* ---- The format ---- */

static bool safetensors_probe(const unsigned char *head, size_t n)
{
    /* The length of the header in 8 bytes, of which a proper one needs 4. */
    return n > 8 && head[8] == '{' && !memcmp(head + 4, "\0\0\0\0", 4);
}

const cfx_tensor_format cfx_tensor_format__safetensors = {
    .base = {.name = "safetensors",
             .suffix = ".safetensors",
             .doc = "Tensors by name.",
             .probe = safetensors_probe},
    .keyed = true,
    .read = safetensors_read,
    .write = cfx_safetensors_write,
};
