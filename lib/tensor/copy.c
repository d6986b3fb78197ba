/*
 * copy -- copy and convert between tensors of any strides and types.
 *
 * A copy is first simplified: axes of extent 1 are dropped, the others sorted
 * by the result's strides, and contiguous neighbours merged. The innermost
 * axis is then a loop, run for each index of the others. There are two special
 * cases: contiguous memory is memcpy, and a transpose is tiled, since a plain
 * loop would touch a new cache line for each element.
 *
 * Conversion goes through a buffer of one of five wide types, each of which
 * holds all values of the types that are read through it. So each type has one
 * loop that reads and five that write, not two for each other type.
 */
#include <cfx/tensor.h>

#include "base/context_impl.h"
#include "base/convert.h"
#include "base/stop.h"
#include "base/util.h"
#include "tensor/storage.h"

enum {
    PIECE = 1 << 16, /* bytes that justify another thread */
    LINE = 64,       /* bytes of a cache line: the width of a tile */
    CHUNK = 512      /* elements converted at a time */
};

/* Steps are in bytes; they are never negative. */
typedef struct axis {
    int64_t n, to, from;
} axis;

typedef struct job job;
struct job {
    const cfx_context *ctx;
    int rank;
    axis axis[CFX_MAX_RANK]; /* the innermost first */
    char *to;
    const char *from;
    size_t to_size, from_size;
    void (*row)(const job *j, char *to, const char *from, int64_t n);
    void (*load)(void *wide, const char *from, int64_t step, int64_t n);
    void (*store)(char *to, int64_t step, const void *wide, int64_t n);
    bool from_is_wide, to_is_wide;
};

/* ---- Rows of one type ---- */

/* Constant steps get loops of their own. Elements are moved by memcpy, since
 * they may be unaligned. */
#define ROW_LOOP(type, to_step, from_step)                                    \
    for (int64_t i = 0; i < n; i++) {                                         \
        type x;                                                               \
        memcpy(&x, from + i * (from_step), sizeof x);                         \
        memcpy(to + i * (to_step), &x, sizeof x);                             \
    }

#define ROW(name, type)                                                       \
    static void name(const job *j, char *to, const char *from, int64_t n)     \
    {                                                                         \
        const int64_t size = sizeof(type);                                    \
        int64_t to_step = j->axis[0].to, from_step = j->axis[0].from;         \
        if (to_step == size && from_step == size)                             \
            memcpy(to, from, (size_t)n * sizeof(type));                       \
        else if (to_step == size && from_step == 0)                           \
            ROW_LOOP(type, size, 0)                                           \
        else if (to_step == size)                                             \
            ROW_LOOP(type, size, from_step)                                   \
        else                                                                  \
            ROW_LOOP(type, to_step, from_step)                                \
    }

ROW(row_1, uint8_t)
ROW(row_2, uint16_t)
ROW(row_4, uint32_t)
ROW(row_8, uint64_t)
ROW(row_16, double _Complex)

/* ---- Tiles: LINE bytes along both axes ---- */

/*
 * Axis 0 is contiguous in the result, axis 1 in the source. The source is
 * transposed into a tile, by squares of 4, which compile to shuffles; the tile
 * is then copied in whole rows. Writing directly to the result would evict its
 * lines before they are full, if extents are powers of two.
 */
#define TILE(name, type)                                                      \
    static void name(const job *j, char *to, const char *from, int64_t n0,    \
                     int64_t n1)                                              \
    {                                                                         \
        enum { N = LINE / sizeof(type) };                                     \
        int64_t step = j->axis[0].from, i, k;                                 \
        type tile[N * N];                                                     \
        for (i = 0; i + 4 <= n0; i += 4, from += 4 * step) {                  \
            type a[4], b[4], c[4], d[4];                                      \
            for (k = 0; k + 4 <= n1; k += 4) {                                \
                const char *at = from + k * (int64_t)sizeof(type);            \
                memcpy(a, at, sizeof a);                                      \
                memcpy(b, at + step, sizeof b);                               \
                memcpy(c, at + 2 * step, sizeof c);                           \
                memcpy(d, at + 3 * step, sizeof d);                           \
                for (int q = 0; q < 4; q++) {                                 \
                    type row[4] = {a[q], b[q], c[q], d[q]};                   \
                    memcpy(tile + (k + q) * N + i, row, sizeof row);          \
                }                                                             \
            }                                                                 \
            for (; k < n1; k++)                                               \
                for (int q = 0; q < 4; q++)                                   \
                    memcpy(tile + k * N + i + q,                              \
                           from + q * step + k * (int64_t)sizeof(type),       \
                           sizeof(type));                                     \
        }                                                                     \
        for (; i < n0; i++, from += step)                                     \
            for (k = 0; k < n1; k++)                                          \
                memcpy(tile + k * N + i, from + k * (int64_t)sizeof(type),    \
                       sizeof(type));                                         \
        for (k = 0; k < n1; k++, to += j->axis[1].to) {                       \
            if (n0 == N)                                                      \
                memcpy(to, tile + k * N, LINE);                               \
            else                                                              \
                memcpy(to, tile + k * N, (size_t)n0 * sizeof(type));          \
        }                                                                     \
    }

TILE(tile_1, uint8_t)
TILE(tile_2, uint16_t)
TILE(tile_4, uint32_t)
TILE(tile_8, uint64_t)
TILE(tile_16, double _Complex)

typedef void tile_fn(const job *j, char *to, const char *from, int64_t n0,
                     int64_t n1);

static tile_fn *tile_of(size_t size)
{
    return size == 1   ? tile_1
           : size == 2 ? tile_2
           : size == 4 ? tile_4
           : size == 8 ? tile_8
                       : tile_16;
}

/* ---- Reading into a wide type ---- */

#define LOAD_LOOP(type, step, expr)                                           \
    for (int64_t i = 0; i < n; i++) {                                         \
        type x;                                                               \
        memcpy(&x, from + i * (step), sizeof x);                              \
        w[i] = expr;                                                          \
    }

#define LOAD(name, type, wide_type)                                           \
    static void load_##name(void *wide, const char *from, int64_t step,       \
                            int64_t n)                                        \
    {                                                                         \
        wide_type *w = wide;                                                  \
        if (step == (int64_t)sizeof(type))                                    \
            LOAD_LOOP(type, (int64_t)sizeof(type), CFX_READ_##name(x))        \
        else                                                                  \
            LOAD_LOOP(type, step, CFX_READ_##name(x))                         \
    }

#define TYPE_I32 int32_t
#define TYPE_I64 int64_t
#define TYPE_U64 uint64_t
#define TYPE_F32 float
#define TYPE_F64 double
#define TYPE_C128 double _Complex
#define DTYPE(c, name, other, abbr, ctype, cat, digits, largest, compute,     \
              wide, ...)                                                      \
    LOAD(c, ctype, TYPE_##wide)
#include <cfx/dtype.def>
#undef DTYPE

/* ---- Writing from a wide type ---- */

#define STORE_LOOP(type, step, expr)                                          \
    for (int64_t i = 0; i < n; i++) {                                         \
        type y = (type)(expr);                                                \
        memcpy(to + i * (step), &y, sizeof y);                                \
    }

#define STORE(name, type, wide_name, wide_type)                               \
    static void store_##wide_name##_##name(char *to, int64_t step,            \
                                           const void *wide, int64_t n)       \
    {                                                                         \
        const wide_type *x = wide;                                            \
        if (step == (int64_t)sizeof(type))                                    \
            STORE_LOOP(type, (int64_t)sizeof(type), CFX_WRITE_##name(x[i]))   \
        else                                                                  \
            STORE_LOOP(type, step, CFX_WRITE_##name(x[i]))                    \
    }

#define DTYPE(c, name, other, abbr, ctype, ...)                               \
    STORE(c, ctype, I32, int32_t)                                             \
    STORE(c, ctype, I64, int64_t)                                             \
    STORE(c, ctype, U64, uint64_t)                                            \
    STORE(c, ctype, F32, float)                                               \
    STORE(c, ctype, F64, double)                                              \
    STORE(c, ctype, C128, double _Complex)
#include <cfx/dtype.def>
#undef DTYPE

/* ---- The tables ---- */

typedef void load_fn(void *wide, const char *from, int64_t step, int64_t n);
typedef void store_fn(char *to, int64_t step, const void *wide, int64_t n);

enum { WIDE_I32, WIDE_I64, WIDE_U64, WIDE_F32, WIDE_F64, WIDE_C128, NWIDE };

static const cfx_dtype wide_types[NWIDE] = {CFX_I32, CFX_I64, CFX_U64,
                                            CFX_F32, CFX_F64, CFX_C128};

static const struct {
    int wide;
    load_fn *load;
    store_fn *store[NWIDE];
} conversions[CFX_NDTYPES] = {
#define DTYPE(c, name, other, abbr, ctype, cat, digits, largest, compute,     \
              wide, ...)                                                      \
    [CFX_##c] = {WIDE_##wide,                                                 \
                 load_##c,                                                    \
                 {store_I32_##c, store_I64_##c, store_U64_##c, store_F32_##c, \
                  store_F64_##c, store_C128_##c}},
#include <cfx/dtype.def>
#undef DTYPE
};

/* No buffer is needed if either side is contiguous and of the wide type. */
static void row_convert(const job *j, char *to, const char *from, int64_t n)
{
    union {
        double align;
        char bytes[CHUNK * sizeof(double _Complex)];
    } wide;
    int64_t to_step = j->axis[0].to, from_step = j->axis[0].from;

    if (j->from_is_wide) {
        j->store(to, to_step, from, n);
        return;
    }
    if (j->to_is_wide) {
        j->load(to, from, from_step, n);
        return;
    }
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t m = n - i < CHUNK ? n - i : CHUNK;
        j->load(&wide, from + i * from_step, from_step, m);
        j->store(to + i * to_step, to_step, &wide, m);
    }
}

/* ---- Simplify a copy ---- */

static void sort_axes(job *j)
{
    for (int i = 1; i < j->rank; i++) {
        axis a = j->axis[i];
        int k = i;
        for (; k > 0 &&
               (j->axis[k - 1].to > a.to ||
                (j->axis[k - 1].to == a.to && j->axis[k - 1].from > a.from));
             k--)
            j->axis[k] = j->axis[k - 1];
        j->axis[k] = a;
    }
}

static void join_axes(job *j)
{
    int last = 0;

    for (int i = 1; i < j->rank; i++) {
        axis *a = &j->axis[last], *b = &j->axis[i];
        if (b->to == a->n * a->to && b->from == a->n * a->from)
            a->n *= b->n;
        else
            j->axis[++last] = *b;
    }
    if (j->rank)
        j->rank = last + 1;
}

static void plan(job *j, cfx_tensor *dst, const cfx_tensor *src)
{
    cfx_dtype to = (cfx_dtype)dst->dtype, from = (cfx_dtype)src->dtype;

    *j = (job){
        .to = dst->data,
        .from = src->data,
        .to_size = cfx_dtype_size(to),
        .from_size = cfx_dtype_size(from),
    };
    for (int i = dst->rank - 1; i >= 0; i--)
        if (!cfx_dim_is(dst->shape[i], 1))
            j->axis[j->rank++] = (axis){
                .n = cfx_tensor_size(dst, i),
                .to = cfx_tensor_stride(dst, i) * (int64_t)j->to_size,
                .from = cfx_tensor_stride(src, i) * (int64_t)j->from_size,
            };
    sort_axes(j);
    join_axes(j);
    if (!j->rank)
        j->axis[j->rank++] = (axis){1, (int64_t)j->to_size,
                                    (int64_t)j->from_size};

    if (to == from) {
        j->row = j->to_size == 1   ? row_1
                 : j->to_size == 2 ? row_2
                 : j->to_size == 4 ? row_4
                 : j->to_size == 8 ? row_8
                                   : row_16;
        return;
    }
    int wide = conversions[from].wide;
    j->row = row_convert;
    j->load = conversions[from].load;
    j->store = conversions[to].store[wide];
    j->from_is_wide = from == wide_types[wide] &&
                      j->axis[0].from == (int64_t)j->from_size &&
                      (uintptr_t)j->from % j->from_size == 0;
    j->to_is_wide = to == wide_types[wide] &&
                    j->axis[0].to == (int64_t)j->to_size &&
                    (uintptr_t)j->to % j->to_size == 0;
}

/* ---- Run it ---- */

/* Copy elements begin..end, in an order with axis 0 innermost. */
static void copy_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    int64_t at[CFX_MAX_RANK], left = end - begin;
    char *to = j->to;
    const char *from = j->from;

    (void)worker;
    for (int i = 0; i < j->rank; i++) {
        const axis *a = &j->axis[i];
        at[i] = begin % a->n;
        begin /= a->n;
        to += at[i] * a->to;
        from += at[i] * a->from;
    }
    while (left > 0) {
        const axis *a = &j->axis[0];
        int64_t n = a->n - at[0] < left ? a->n - at[0] : left;
        j->row(j, to, from, n);
        left -= n;
        to -= at[0] * a->to;
        from -= at[0] * a->from;
        at[0] = 0;
        for (int i = 1; i < j->rank; i++) {
            a = &j->axis[i];
            to += a->to;
            from += a->from;
            if (++at[i] < a->n)
                break;
            to -= a->n * a->to;
            from -= a->n * a->from;
            at[i] = 0;
        }
    }
}

/* Copy strips begin..end, each one tile wide on axis 1 and all of axis 0. */
static void copy_strips(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    const axis *a = j->axis;
    int64_t wide = LINE / (int64_t)j->to_size;
    int64_t strips = (a[1].n + wide - 1) / wide;
    tile_fn *tile = tile_of(j->to_size);

    (void)worker;
    for (int64_t s = begin; s < end; s++) {
        int64_t outer = s / strips, k = s % strips * wide;
        int64_t n1 = a[1].n - k < wide ? a[1].n - k : wide;
        char *to = j->to + k * a[1].to;
        const char *from = j->from + k * a[1].from;
        for (int i = 2; i < j->rank; i++) {
            to += outer % a[i].n * a[i].to;
            from += outer % a[i].n * a[i].from;
            outer /= a[i].n;
        }
        for (int64_t i = 0; i < a[0].n; i += wide) {
            if (cfx_context_stops_at(j->ctx, i))
                return;
            int64_t n0 = a[0].n - i < wide ? a[0].n - i : wide;
            tile(j, to + i * a[0].to, from + i * a[0].from, n0, n1);
        }
    }
}

/*
 * Is it a transpose: axis 0 contiguous in the result, another one in the
 * source? The latter becomes axis 1.
 */
static bool make_transpose(job *j)
{
    int64_t size = (int64_t)j->to_size;

    if (j->row == row_convert || j->axis[0].to != size ||
        j->axis[0].from == size || j->axis[0].n < 2)
        return false;
    for (int i = 1; i < j->rank; i++) {
        if (j->axis[i].from != size || j->axis[i].n < 4)
            continue;
        axis a = j->axis[i];
        memmove(j->axis + 2, j->axis + 1, (size_t)(i - 1) * sizeof a);
        j->axis[1] = a;
        return true;
    }
    return false;
}

static cfx_status check(const cfx_tensor *dst, const cfx_tensor *src,
                        cfx_error *err)
{
    char a[256], b[256];
    bool same = dst->rank == src->rank;

    for (int i = 0; same && i < dst->rank; i++)
        same = cfx_dim_same(dst->shape[i], src->shape[i]);
    if (same && dst->data && src->data)
        return CFX_OK;
    cfx_tensor_format_type(dst, a, sizeof a);
    cfx_tensor_format_type(src, b, sizeof b);
    return same ? cfx_fail(err, CFX_EINVAL,
                           "copy of %s into %s, of which one has no memory", b,
                           a)
                : cfx_fail(err, CFX_ESHAPE, "copy of %s into %s", b, a);
}

cfx_status cfx_tensor_copy(cfx_tensor *dst, const cfx_tensor *src,
                           cfx_error *err)
{
    cfx_status st = check(dst, src, err);
    job j;

    if (st)
        return st;
    int64_t numel = cfx_tensor_numel(dst);
    if (!numel)
        return CFX_OK;
    plan(&j, dst, src);
    if (j.to == j.from && j.row != row_convert && j.rank == 1 &&
        j.axis[0].to == j.axis[0].from)
        return CFX_OK;

    int64_t size = (int64_t)(j.to_size > j.from_size ? j.to_size
                                                     : j.from_size);
    j.ctx = dst->ctx;
    if (make_transpose(&j)) {
        int64_t wide = LINE / size, strip = j.axis[0].n * LINE;
        int64_t strips = (j.axis[1].n + wide - 1) / wide;
        for (int i = 2; i < j.rank; i++)
            strips *= j.axis[i].n;
        int64_t grain = strip < PIECE ? PIECE / strip : 1;
        if (strips <= grain)
            copy_strips(&j, 0, strips, 0);
        else
            cfx_parallel_for(dst->ctx, strips, grain, copy_strips, &j);
        return cfx_context_check(dst->ctx, err);
    }
    if (numel <= PIECE / size) {
        copy_rows(&j, 0, numel, 0);
        return CFX_OK;
    }
    cfx_parallel_for(dst->ctx, numel, PIECE / size, copy_rows, &j);
    return cfx_context_check(dst->ctx, err);
}

cfx_status cfx_tensor_contiguous(cfx_tensor **out, const cfx_tensor *t,
                                 cfx_error *err)
{
    cfx_status st;

    if (cfx_tensor_is_contiguous(t)) {
        *out = cfx_tensor_ref(t);
        return CFX_OK;
    }
    st = cfx_tensor_meta(out, t->ctx, (cfx_dtype)t->dtype, t->rank, t->shape,
                         NULL, err);
    if (st || !t->storage)
        return st;
    if ((st = cfx_tensor_alloc(*out, err)) ||
        (st = cfx_tensor_copy(*out, t, err))) {
        cfx_tensor_unref(*out);
        *out = NULL;
    }
    return st;
}

/* Is all of a block its own, and known to no one else? The blocks of a memory plan
 * have their places. */
static bool has_own_block(const cfx_tensor *t)
{
    const cfx_storage *s = t->storage;

    return s && s->owns_data && s->refs == 1 && t->refs == 1 && !s->release &&
           !s->ctx->heap.source && t->data == s->data;
}

static bool are_alike(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank &&
                a->ctx == b->ctx && a->storage->bytes == b->storage->bytes;

    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]) &&
               cfx_dim_same(a->stride[i], b->stride[i]);
    return same;
}

cfx_status cfx_tensor__move(cfx_tensor *dst, cfx_tensor *src, cfx_error *err)
{
    void *data = src->data;

    if (!has_own_block(dst) || !has_own_block(src) || !are_alike(dst, src))
        return cfx_tensor_copy(dst, src, err);
    src->data = src->storage->data = dst->data;
    dst->data = dst->storage->data = data;
    return CFX_OK;
}
