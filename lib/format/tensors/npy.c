/*
 * npy -- one array in NumPy's own format.
 *
 * A file is a magic text, a version, the length of the header, the header, and
 * the numbers. The header is a Python dict of exactly three keys, which the
 * small parser below reads; nothing else of Python is understood. An array in
 * Fortran order becomes a tensor with the strides that it has in the file.
 */
#include "format/io.h"

#include "base/util.h"

enum { MAGIC = 6, CHUNK = 64 };

static const unsigned char magic[MAGIC] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The contents of the header. */
struct npy {
    cfx_dtype dtype;
    bool swapped, fortran;
    int rank;
    int64_t shape[CFX_MAX_RANK];
    size_t data;  /* where the numbers begin */
    size_t bytes; /* how many they have */
};

/* ---- The header's dict ---- */

struct text {
    const char *at, *end;
};

static void skip_blanks(struct text *in)
{
    while (in->at < in->end && strchr(" \t\n\r", *in->at) && *in->at)
        in->at++;
}

/* Take a character, after blanks, if it comes next. */
static bool take(struct text *in, char c)
{
    skip_blanks(in);
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool take_word(struct text *in, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(in);
    if ((size_t)(in->end - in->at) < n || memcmp(in->at, word, n))
        return false;
    in->at += n;
    return true;
}

/* A quoted text without escapes; points into the header. */
static bool take_string(struct text *in, const char **s, size_t *len)
{
    skip_blanks(in);
    if (in->at == in->end || (*in->at != '\'' && *in->at != '"'))
        return false;
    char quote = *in->at++;
    *s = in->at;
    while (in->at < in->end && *in->at != quote && *in->at != '\\')
        in->at++;
    *len = (size_t)(in->at - *s);
    return in->at < in->end && *in->at++ == quote;
}

static bool take_extent(struct text *in, int64_t *out)
{
    int64_t v = 0;

    skip_blanks(in);
    const char *start = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        v = v * 10 + (*in->at++ - '0');
        if (v > CFX_DIM_MAX / 16)
            return false;
    }
    *out = v;
    if (in->at == start)
        return false;
    take(in, 'L'); /* what Python 2 wrote */
    return true;
}

static cfx_status take_shape(struct npy *h, struct text *in, cfx_error *err)
{
    if (!take(in, '('))
        return cfx_fail(err, CFX_EPARSE, "the shape is not a tuple");
    while (!take(in, ')')) {
        int64_t extent;
        if (!take_extent(in, &extent))
            return cfx_fail(
                err, CFX_EPARSE,
                "an extent of the shape is not a natural number, or too large");
        if (h->rank == CFX_MAX_RANK)
            return cfx_fail(err, CFX_EUNSUPPORTED, "the rank is more than %d",
                            CFX_MAX_RANK);
        h->shape[h->rank++] = extent;
        if (take(in, ','))
            continue;
        /* Python needs the comma of a tuple of one. */
        if (h->rank == 1 || !take(in, ')'))
            return cfx_fail(err, CFX_EPARSE, "the shape is not a tuple");
        break;
    }
    return CFX_OK;
}

static cfx_status find_dtype(struct npy *h, const char *descr, size_t len,
                             cfx_error *err)
{
    if (len >= 3 && descr[0] && strchr("<>=|", descr[0])) {
        for (int t = 0; t < CFX_NDTYPES; t++) {
            const char *npy = cfx_dtypes[t].npy;
            if (!npy || strlen(npy) != len ||
                memcmp(npy + 1, descr + 1, len - 1))
                continue;
            h->dtype = (cfx_dtype)t;
            h->swapped = cfx_dtypes[t].size > 1 &&
                         (descr[0] == '>') == cfx_little_endian() &&
                         strchr("<>", descr[0]);
            return CFX_OK;
        }
    }
    return cfx_fail(err, CFX_EUNSUPPORTED, "the dtype '%.*s' is not supported",
                    len > 40 ? 40 : (int)len, descr);
}

/* One `key: value` of the dict; `seen` collects which there were. */
static cfx_status take_item(struct npy *h, struct text *in, int *seen,
                            cfx_error *err)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *s;
    size_t len;
    int k = 0;

    if (!take_string(in, &s, &len) || !take(in, ':'))
        return cfx_fail(err, CFX_EPARSE, "the header is not a dict");
    while (k < 3 && (strlen(keys[k]) != len || memcmp(keys[k], s, len)))
        k++;
    if (k == 3)
        return cfx_fail(err, CFX_EPARSE, "the header has the key '%.*s'",
                        len > 40 ? 40 : (int)len, s);
    if (*seen & 1 << k)
        return cfx_fail(err, CFX_EPARSE, "the header has '%s' twice", keys[k]);
    *seen |= 1 << k;
    if (k == 2)
        return take_shape(h, in, err);
    if (k == 1) {
        h->fortran = take_word(in, "True");
        if (!h->fortran && !take_word(in, "False"))
            return cfx_fail(err, CFX_EPARSE, "fortran_order is not a bool");
        return CFX_OK;
    }
    if (!take_string(in, &s, &len))
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "arrays of structures are not offered");
    return find_dtype(h, s, len, err);
}

static cfx_status parse_dict(struct npy *h, struct text in, cfx_error *err)
{
    int seen = 0;

    if (!take(&in, '{'))
        return cfx_fail(err, CFX_EPARSE, "the header is not a dict");
    while (!take(&in, '}')) {
        cfx_status st = take_item(h, &in, &seen, err);
        if (st)
            return st;
        if (take(&in, ','))
            continue;
        if (!take(&in, '}'))
            return cfx_fail(err, CFX_EPARSE, "the header is not a dict");
        break;
    }
    skip_blanks(&in);
    if (in.at != in.end)
        return cfx_fail(err, CFX_EPARSE, "text follows the header's dict");
    if (seen != 7)
        return cfx_fail(err, CFX_EPARSE,
                        "the header lacks descr, fortran_order or shape");
    return CFX_OK;
}

/* ---- The frame around it ---- */

/* The offset of the data; 0 if `len` bytes are too few. */
static cfx_status data_start(size_t *dict, size_t *data,
                             const unsigned char *p, size_t len,
                             cfx_error *err)
{
    *data = 0;
    if (memcmp(p, magic, len < MAGIC ? len : MAGIC))
        return cfx_fail(err, CFX_EPARSE, "is no .npy file");
    if (len < MAGIC + 6)
        return CFX_OK;
    if (p[MAGIC] < 1 || p[MAGIC] > 3)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "version %d.%d of .npy is not supported", p[MAGIC],
                        p[MAGIC + 1]);
    size_t n = p[8] | (size_t)p[9] << 8;
    *dict = MAGIC + 4;
    if (p[MAGIC] > 1) {
        n |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
        *dict = MAGIC + 6;
    }
    if (n > CFX_NPY_HEADER_MAX)
        return cfx_fail(err, CFX_EPARSE, "a header of %zu bytes is too long",
                        n);
    *data = *dict + n;
    return CFX_OK;
}

/* Read the header; h->data stays 0 where `len` bytes do not hold it. */
static cfx_status parse(struct npy *h, const unsigned char *p, size_t len,
                        cfx_error *err)
{
    size_t dict, data;
    cfx_status st = data_start(&dict, &data, p, len, err);

    *h = (struct npy){0};
    if (st || !data || len < data)
        return st;
    st = parse_dict(
        h, (struct text){(const char *)p + dict, (const char *)p + data}, err);
    if (st)
        return st;
    h->bytes = cfx_dtype_size(h->dtype);
    for (int i = 0; i < h->rank; i++) {
        if (!cfx_mul_size(&h->bytes, h->bytes, (size_t)h->shape[i]))
            return cfx_fail(err, CFX_EPARSE, "the shape is too large");
    }
    h->data = data;
    return CFX_OK;
}

cfx_status cfx_npy_total(size_t *total, const unsigned char *data, size_t len,
                         cfx_error *err)
{
    struct npy h;
    cfx_status st = parse(&h, data, len, err);

    *total = 0;
    if (!st && h.data && !cfx_add_size(total, h.data, h.bytes))
        return cfx_fail(err, CFX_EPARSE, "the shape is too large");
    return st;
}

/* ---- The tensor ---- */

/* Memory that a tensor views. */
struct owner {
    cfx_bytes bytes;
};

static void owner_free(void *user)
{
    struct owner *o = user;
    cfx_context *ctx = o->bytes.ctx;

    cfx_bytes_release(&o->bytes);
    cfx_free(ctx, o, sizeof(*o));
}

static void fortran_strides(const struct npy *h, int64_t *stride)
{
    int64_t step = 1;

    /* An array that is empty has strides as large as they come, or none. */
    for (int i = 0; i < h->rank; i++) {
        stride[i] = step;
        step *= h->bytes ? h->shape[i] : 0;
    }
}

/* A tensor over the bytes, which it takes over, from `at` on. */
static cfx_status wrap_take(cfx_tensor **out, const struct npy *h,
                            cfx_bytes *bytes, size_t at, cfx_error *err)
{
    int64_t stride[CFX_MAX_RANK];
    cfx_context *ctx = bytes->ctx;
    struct owner *o = cfx_alloc(ctx, sizeof(*o));

    if (!o) {
        cfx_bytes_release(bytes);
        return cfx_no_memory(err);
    }
    o->bytes = *bytes;
    *bytes = (cfx_bytes){0};
    fortran_strides(h, stride);
    return cfx_tensor_from(out, ctx, h->dtype, h->rank, h->shape,
                           h->fortran && h->bytes ? stride : NULL,
                           o->bytes.data + at, h->bytes, owner_free, o, err);
}

cfx_status cfx_npy_decode_take(cfx_tensor **out, cfx_bytes *bytes,
                               cfx_error *err)
{
    struct npy h = {0};
    size_t size, part;
    cfx_status st = parse(&h, bytes->data, bytes->len, err);

    *out = NULL;
    if (!st && (!h.data || bytes->len - h.data < h.bytes))
        st = cfx_fail(err, CFX_EPARSE, "ends too early");
    else if (!st && bytes->len - h.data > h.bytes)
        st = cfx_fail(err, CFX_EPARSE, "has %zu bytes after the array",
                      bytes->len - h.data - h.bytes);
    if (st) {
        cfx_bytes_release(bytes);
        return st;
    }
    size = cfx_dtype_size(h.dtype);
    if (h.data % size) { /* the block is aligned, so move to its start */
        memmove(bytes->data, bytes->data + h.data, h.bytes);
        h.data = 0;
    }
    /* The parts of complex numbers are swapped each for itself. */
    part = cfx_dtype_size(cfx_dtype_real(h.dtype));
    if (h.swapped)
        cfx_swap_bytes(bytes->data + h.data, h.bytes / part, part);
    if (h.dtype == CFX_BOOL)
        cfx_normalize_bools(bytes->data + h.data, h.bytes);
    return wrap_take(out, &h, bytes, h.data, err);
}

static cfx_status npy_read_one(cfx_tensor **out, cfx_file *f, cfx_error *err)
{
    cfx_bytes bytes = {0};
    cfx_status st = cfx_file_read(&bytes, f, SIZE_MAX - 1, cfx_npy_total, err);

    *out = NULL;
    if (!st)
        st = cfx_npy_decode_take(out, &bytes, err);
    if (st)
        cfx_fail_at(err, "%s", f->path);
    return st;
}

cfx_status cfx_npy_read(cfx_tensor **out, cfx_context *ctx, const char *path,
                        cfx_error *err)
{
    return npy_read_one(out, &(cfx_file){.ctx = ctx, .path = path, .fd = -1},
                        err);
}

/* ---- Writing ---- */

static void format_header(cfx_buf *b, const cfx_tensor *t)
{
    static const char lead[] = "\x93NUMPY\x01";

    cfx_buf_add(b, lead, sizeof(lead)); /* its NUL is the minor version */
    cfx_buf_add(b, "\0", 2);            /* space for the length */
    cfx_buf_printf(b, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                   cfx_dtypes[t->dtype].npy);
    for (int i = 0; i < t->rank; i++) {
        cfx_buf_int(b, cfx_tensor_size(t, i));
        cfx_buf_puts(b, t->rank == 1 ? "," : i + 1 < t->rank ? ", " : "");
    }
    cfx_buf_puts(b, "), }");
    cfx_buf_repeat(b, ' ', CHUNK - 1 - b->len % CHUNK);
    cfx_buf_putc(b, '\n');
    if (b->failed)
        return;
    size_t n = b->len - MAGIC - 4;
    b->s[8] = (char)(n & 255);
    b->s[9] = (char)(n >> 8);
}

static cfx_status write_to(FILE *to, const cfx_tensor *t, cfx_error *err)
{
    cfx_buf header;
    cfx_status st = CFX_OK;

    cfx_buf_init(&header, t->ctx);
    format_header(&header, t);
    if (header.failed)
        st = cfx_no_memory(err);
    else if (fwrite(header.s, 1, header.len, to) != header.len)
        st = cfx_fail_errno(err, NULL);
    cfx_buf_release(&header);
    return st ? st : cfx_write_numbers(to, t, err);
}

static cfx_status check_writable(const cfx_tensor *t, cfx_error *err)
{
    if (!cfx_dtypes[t->dtype].npy)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "NumPy has no %s; a .safetensors file takes it",
                        cfx_dtypes[t->dtype].name);
    return cfx_tensor_is_meta(t)
               ? cfx_fail(err, CFX_EINVAL, "the tensor has no data")
               : CFX_OK;
}

cfx_status cfx_npy_put(cfx_buf *out, const cfx_tensor *t, cfx_error *err)
{
    cfx_tensor *flat = NULL;
    cfx_status st = check_writable(t, err);
    size_t part = cfx_dtype_size(cfx_dtype_real((cfx_dtype)t->dtype));
    size_t bytes, at;

    if (!st)
        st = cfx_tensor_contiguous(&flat, t, err);
    if (st)
        return st;
    format_header(out, t);
    at = out->len;
    bytes = (size_t)cfx_tensor_numel(flat) *
            cfx_dtype_size((cfx_dtype)t->dtype);
    cfx_buf_add(out, flat->data, bytes);
    if (!out->failed && !cfx_little_endian())
        cfx_swap_bytes(out->s + at, bytes / part, part);
    cfx_tensor_unref(flat);
    return out->failed ? cfx_no_memory(err) : CFX_OK;
}

cfx_status cfx_npy_write(const char *path, const cfx_tensor *t, cfx_error *err)
{
    cfx_outfile file = {0};

    cfx_status st = check_writable(t, err);
    if (st) {
        cfx_fail_at(err, "%s", path);
        return st;
    }
    st = cfx_outfile_open(&file, t->ctx, path, err);
    if (st)
        return st;
    st = write_to(file.stream, t, err);
    if (!st)
        return cfx_outfile_commit(&file, err);
    cfx_outfile_discard(&file);
    cfx_fail_at(err, "%s", path);
    return st;
}

/* ---- The format ---- */

static bool npy_probe(const unsigned char *head, size_t n)
{
    return n >= MAGIC && !memcmp(head, magic, MAGIC);
}

static cfx_status npy_write(const char *path, cfx_context *ctx,
                            const cfx_named_tensor *item, size_t n,
                            cfx_error *err)
{
    (void)ctx;
    (void)n;
    return cfx_npy_write(path, item->tensor, err);
}

const cfx_tensor_format cfx_tensor_format__npy = {
    .base = {.name = "npy",
             .suffix = ".npy",
             .doc = "One array, in NumPy's own format.",
             .probe = npy_probe},
    .read_one = npy_read_one,
    .write = npy_write,
};
