/*
 * zip_write -- write zip archives of entries as they are, without packing.
 *
 * libzip packs, and cannot place data at multiples of 64 bytes.
 */
#include "format/zip_write.h"

#include "format/io.h"

enum { ALIGN = 64, LOCAL = 30, CENTRAL = 46, UTF8 = 0x800, VERSION_32 = 20 };
enum { VERSION_64 = 45, LARGE_EXTRA = 20, MOST_ENTRIES = 0xffff };

#define LARGE UINT32_C(0xffffffff)

/* ---- Checksums ---- */

void cfx_zip_writer_init(cfx_zip_writer *z, cfx_context *ctx, cfx_sink to)
{
    *z = (cfx_zip_writer){.ctx = ctx, .to = to};
    cfx_arena_init(&z->names, ctx);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? UINT32_C(0xedb88320) ^ c >> 1 : c >> 1;
        z->crc[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (uint32_t i = 0; i < 256; i++)
            z->crc[t][i] = z->crc[0][z->crc[t - 1][i] & 255] ^
                           z->crc[t - 1][i] >> 8;
}

void cfx_zip_writer_release(cfx_zip_writer *z)
{
    if (!z->ctx)
        return;
    cfx_arena_release(&z->names);
    cfx_free(z->ctx, z->entry, z->cap * sizeof(*z->entry));
    *z = (cfx_zip_writer){.ctx = NULL};
}

static uint32_t checksum(const cfx_zip_writer *z, const unsigned char *p,
                         size_t n)
{
    uint32_t c = LARGE;

    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 |
                            (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        c = z->crc[7][low & 255] ^ z->crc[6][low >> 8 & 255] ^
            z->crc[5][low >> 16 & 255] ^ z->crc[4][low >> 24] ^
            z->crc[3][p[4]] ^ z->crc[2][p[5]] ^ z->crc[1][p[6]] ^
            z->crc[0][p[7]];
    }
    while (n--)
        c = z->crc[0][(c ^ *p++) & 255] ^ c >> 8;
    return ~c;
}

/* ---- Records ---- */

/* A record of little-endian numbers under construction. */
struct fields {
    unsigned char bytes[128];
    size_t n;
};

static void put(struct fields *f, uint64_t v, int size)
{
    for (int i = 0; i < size; i++)
        f->bytes[f->n++] = (unsigned char)(v >> 8 * i);
}

static cfx_status write_bytes(cfx_zip_writer *z, const void *data, size_t n)
{
    z->at += n;
    return n ? z->to.write(z->to.user, data, n) : CFX_OK;
}

static bool is_large(const cfx_zip_written *e)
{
    return e->size >= LARGE || e->at >= LARGE;
}

/* What local and central headers have in common. */
static void put_entry(struct fields *f, const cfx_zip_written *e, size_t extra)
{
    bool large = is_large(e);

    put(f, large ? VERSION_64 : VERSION_32, 2);
    put(f, UTF8, 2);
    put(f, 0, 2);      /* method: none */
    put(f, 0, 2);      /* time */
    put(f, 0x0021, 2); /* date: 1980-01-01, so that equal models are equal
                          files */
    put(f, e->crc, 4);
    put(f, large ? LARGE : e->size, 4);
    put(f, large ? LARGE : e->size, 4);
    put(f, strlen(e->name), 2);
    put(f, extra, 2);
}

static cfx_status put_local(cfx_zip_writer *z, const cfx_zip_written *e)
{
    static const unsigned char zeros[ALIGN];
    struct fields f = {.n = 0};
    size_t len = strlen(e->name), extra = is_large(e) ? LARGE_EXTRA : 0;
    size_t end = (size_t)((z->at + LOCAL + len + extra + 4) % ALIGN);
    size_t pad = (ALIGN - end) % ALIGN;

    put(&f, 0x04034b50, 4);
    put_entry(&f, e, extra + 4 + pad);
    cfx_status st = write_bytes(z, f.bytes, f.n);
    if (!st)
        st = write_bytes(z, e->name, len);
    f.n = 0;
    if (extra) {
        put(&f, 1, 2);
        put(&f, LARGE_EXTRA - 4, 2);
        put(&f, e->size, 8);
        put(&f, e->size, 8);
    }
    put(&f, 0x4246, 2); /* "FB", as torch pads */
    put(&f, pad, 2);
    if (!st)
        st = write_bytes(z, f.bytes, f.n);
    return st ? st : write_bytes(z, zeros, pad);
}

static cfx_status put_central(cfx_zip_writer *z, const cfx_zip_written *e)
{
    struct fields f = {.n = 0};
    bool large = is_large(e);

    put(&f, 0x02014b50, 4);
    put(&f, large ? VERSION_64 : VERSION_32, 2);
    put_entry(&f, e, large ? 28 : 0);
    put(&f, 0, 2); /* comment */
    put(&f, 0, 2); /* disk */
    put(&f, 0, 2); /* attributes */
    put(&f, 0, 4);
    put(&f, large ? LARGE : e->at, 4);
    cfx_status st = write_bytes(z, f.bytes, f.n);
    if (!st)
        st = write_bytes(z, e->name, strlen(e->name));
    if (st || !large)
        return st;
    f.n = 0;
    put(&f, 1, 2);
    put(&f, 24, 2);
    put(&f, e->size, 8);
    put(&f, e->size, 8);
    put(&f, e->at, 8);
    return write_bytes(z, f.bytes, f.n);
}

static cfx_status put_end_64(cfx_zip_writer *z, uint64_t at, uint64_t size)
{
    struct fields f = {.n = 0};
    uint64_t here = z->at;

    put(&f, 0x06064b50, 4);
    put(&f, 44, 8);
    put(&f, VERSION_64, 2);
    put(&f, VERSION_64, 2);
    put(&f, 0, 4);
    put(&f, 0, 4);
    put(&f, z->n, 8);
    put(&f, z->n, 8);
    put(&f, size, 8);
    put(&f, at, 8);
    put(&f, 0x07064b50, 4);
    put(&f, 0, 4);
    put(&f, here, 8);
    put(&f, 1, 4);
    return write_bytes(z, f.bytes, f.n);
}

/* ---- Entries ---- */

/* Streams tell the reason by errno. */
static cfx_status not_written(cfx_status st, cfx_error *err)
{
    return st == CFX_EIO      ? cfx_fail_errno(err, NULL)
           : st == CFX_ENOMEM ? cfx_no_memory(err)
                              : cfx_fail(err, st, "cannot write");
}

cfx_status cfx_zip_writer_add(cfx_zip_writer *z, const char *name,
                              const void *data, size_t size, cfx_error *err)
{
    size_t len = strlen(name);
    cfx_zip_written e = {
        .size = size, .at = z->at, .crc = checksum(z, data, size)};

    if (len > UINT16_MAX)
        return cfx_fail(err, CFX_EINVAL, "the name of an entry is too long");
    e.name = cfx_arena_strdup(&z->names, name, len);
    if (!e.name || cfx_grow(z->ctx, z->entry, z->cap, z->n + 1, err))
        return cfx_no_memory(err);
    z->entry[z->n++] = e;
    cfx_status st = put_local(z, &e);
    if (!st)
        st = write_bytes(z, data, size);
    return st ? not_written(st, err) : CFX_OK;
}

cfx_status cfx_zip_writer_finish(cfx_zip_writer *z, cfx_error *err)
{
    struct fields f = {.n = 0};
    uint64_t at = z->at, size;
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < z->n && !st; i++)
        st = put_central(z, &z->entry[i]);
    size = z->at - at;
    bool large = at >= LARGE || size >= LARGE || z->n >= MOST_ENTRIES;
    if (!st && large)
        st = put_end_64(z, at, size);
    put(&f, 0x06054b50, 4);
    put(&f, 0, 4);
    put(&f, large ? MOST_ENTRIES : z->n, 2);
    put(&f, large ? MOST_ENTRIES : z->n, 2);
    put(&f, large ? LARGE : size, 4);
    put(&f, large ? LARGE : at, 4);
    put(&f, 0, 2);
    if (!st)
        st = write_bytes(z, f.bytes, f.n);
    return st ? not_written(st, err) : CFX_OK;
}
