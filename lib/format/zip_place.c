/*
 * zip_place -- where the bytes of stored entries stand in the file, for mapping
 * them. libzip does not tell.
 *
 * Nothing here is trusted: cfx_zip_is_at compares with what libzip reads, whose
 * checksum it checks, so that a place that is wrong is found out.
 */
#include "format/zip.h"

enum { END = 22, LOCATOR = 20, END64 = 56, ENTRY = 46, LOCAL = 30 };

static uint64_t number(const unsigned char *p, int n)
{
    uint64_t v = 0;

    for (int i = n; i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

static bool is_record(const unsigned char *p, const char *kind)
{
    return p[0] == 'P' && p[1] == 'K' && !memcmp(p + 2, kind, 2);
}

/* Return the offset of the directory; SIZE_MAX: it is not found. */
static size_t find_directory(const unsigned char *file, size_t size)
{
    size_t low = size > END + UINT16_MAX ? size - END - UINT16_MAX : 0;

    for (size_t at = size >= END ? size - END : 0; at > low; at--) {
        const unsigned char *end = file + at;
        if (!is_record(end, "\5\6") || number(end + 20, 2) != size - END - at)
            continue;
        uint64_t begin = number(end + 16, 4);
        if (begin == UINT32_MAX && at >= LOCATOR &&
            is_record(end - LOCATOR, "\6\7")) {
            uint64_t end64 = number(end - LOCATOR + 8, 8);
            if (end64 > size || size - end64 < END64 ||
                !is_record(file + end64, "\6\6"))
                return SIZE_MAX;
            begin = number(file + end64 + 48, 8);
        }
        return begin < size ? (size_t)begin : SIZE_MAX;
    }
    return SIZE_MAX;
}

/* The offset of an entry's local header, which may be in its extra field of 64
 * bits, after the sizes that need as many. */
static uint64_t local_header(const unsigned char *entry)
{
    const unsigned char *extra = entry + ENTRY + number(entry + 28, 2);
    const unsigned char *end = extra + number(entry + 30, 2);
    uint64_t at = number(entry + 42, 4);
    size_t before = (number(entry + 24, 4) == UINT32_MAX ? 8U : 0U) +
                    (number(entry + 20, 4) == UINT32_MAX ? 8U : 0U);

    for (; at == UINT32_MAX && end - extra >= 4;) {
        size_t len = number(extra + 2, 2);
        if (len > (size_t)(end - extra) - 4)
            return UINT64_MAX;
        if (number(extra, 2) == 1)
            return len >= before + 8 ? number(extra + 4 + before, 8)
                                     : UINT64_MAX;
        extra += 4 + len;
    }
    return at;
}

static uint64_t data_of(const unsigned char *file, size_t size,
                        const unsigned char *entry)
{
    uint64_t at = local_header(entry);

    if (number(entry + 10, 2) != ZIP_CM_STORE || at > size ||
        size - at < LOCAL || !is_record(file + at, "\3\4"))
        return 0;
    at += LOCAL + number(file + at + 26, 2) + number(file + at + 28, 2);
    return at <= size ? at : 0;
}

void cfx_zip_places(uint64_t *place, size_t n, const unsigned char *file,
                    size_t size)
{
    size_t at = find_directory(file, size);

    memset(place, 0, n * sizeof(*place));
    for (size_t i = 0; i < n && at < size && size - at >= ENTRY; i++) {
        const unsigned char *entry = file + at;
        size_t len = ENTRY + number(entry + 28, 2) + number(entry + 30, 2) +
                     number(entry + 32, 2);
        if (!is_record(entry, "\1\2") || len > size - at)
            return;
        place[i] = data_of(file, size, entry);
        at += len;
    }
}

cfx_status cfx_zip_is_at(bool *same, cfx_zip *z, size_t i,
                         const unsigned char *data, size_t size,
                         cfx_error *err)
{
    unsigned char chunk[16384];
    zip_file_t *file;
    cfx_status st = cfx_zip_file_open(&file, z, i, err);

    *same = true;
    if (st)
        return st;
    for (size_t at = 0; at < size && *same && !st;) {
        size_t n = size - at < sizeof(chunk) ? size - at : sizeof(chunk);
        cfx_bytes b = {.ctx = z->ctx, .data = chunk};
        st = cfx_zip_file_read(file, &b, n, err);
        *same = st || !memcmp(chunk, data + at, n);
        at += n;
        if (!st && at % ((size_t)1 << 24) == 0)
            st = cfx_context_check(z->ctx, err);
    }
    if (!st && *same)
        st = cfx_zip_file_finish(file, err);
    zip_fclose(file);
    return st;
}
