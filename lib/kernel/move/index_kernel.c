/*
 * index.c -- gather and scatter by index.
 *
 * gather, scatter, index and index_put are one walk over the extents of the
 * index (or result): every element has a place in the value tensor, and one in
 * the base tensor that follows from its axes and its indices.
 */
#include "kernel/move/index_kernel.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "base/convert.h"
#include "base/stop.h"
#include "base/util.h"
#include "kernel/int64.h"

enum { GRAIN = 8192 /* elements that are worth another thread */ };

static int64_t read_index(cfx_dtype type, const void *index, int64_t i)
{
    return type == CFX_I32 ? ((const int32_t *)index)[i]
                           : ((const int64_t *)index)[i];
}

static void copy_element(size_t size, char *y, const char *x)
{
    switch (size) {
    case 1: *y = *x; break;
    case 2: memcpy(y, x, 2); break;
    case 4: memcpy(y, x, 4); break;
    case 8: memcpy(y, x, 8); break;
    default: memcpy(y, x, 16); break;
    }
}

/* The first place at which an index is out of range, whichever thread finds
 * it. */
static void note_bad(atomic_llong *first, int64_t at)
{
    long long old = atomic_load_explicit(first, memory_order_relaxed);

    while (at < old && !atomic_compare_exchange_weak(first, &old, at))
        ;
}

/* ---- y[k] = y[k] op x[k], for n elements that lie sy and sx apart ---- */

typedef void combine_fn(cfx_scatter_op op, void *y, int64_t sy, const void *x,
                        int64_t sx, int64_t n);

#define NAN_OR(a, b, less) ((a) != (a) || less ? (a) : (b))
#define EACH(T, C, GET, result)                                               \
    for (int64_t i = 0; i < n; i++) {                                         \
        T *to = &y[i * sy];                                                   \
        const C a = GET(*to), b = GET(x[i * sx]);                             \
        *to = result;                                                         \
    }                                                                         \
    break;
#define COMBINE(name, T, C, GET, PUT)                                         \
    static void combine_##name(cfx_scatter_op op, void *y_, int64_t sy,       \
                               const void *x_, int64_t sx, int64_t n)         \
    {                                                                         \
        T *y = y_;                                                            \
        const T *x = x_;                                                      \
        if (op == CFX_SCATTER_ADD && sy == 1 && sx == 1) {                    \
            for (int64_t i = 0; i < n; i++)                                   \
                y[i] = PUT(GET(y[i]) + GET(x[i]));                            \
            return;                                                           \
        }                                                                     \
        switch (op) {                                                         \
        case CFX_SCATTER_SET: break;                                          \
        case CFX_SCATTER_ADD: EACH(T, C, GET, PUT(a + b))                     \
        case CFX_SCATTER_MUL: EACH(T, C, GET, PUT((a) * (b)))                 \
        case CFX_SCATTER_MAX: EACH(T, C, GET, PUT(NAN_OR(b, a, b > a)))       \
        case CFX_SCATTER_MIN: EACH(T, C, GET, PUT(NAN_OR(b, a, b < a)))       \
        }                                                                     \
    }
#define AS_IS(v) (v)
#define TO_BOOL(v) ((uint8_t)((v) != 0))
#define TO_U8(v) ((uint8_t)(v))
#define TO_I8(v) ((int8_t)(v))
#define TO_I16(v) ((int16_t)(v))
#define TO_I32(v) ((int32_t)(v))
#define TO_I64(v) ((int64_t)(v))
/* Integers wrap around, so they are added as unsigned ones; order needs the
 * sign, which the conversion back to C gives. */
#define AS_WIDE(v) ((int64_t)(v))

COMBINE(bool, uint8_t, int, AS_IS, TO_BOOL)
COMBINE(u8, uint8_t, int, AS_IS, TO_U8)
COMBINE(i8, int8_t, int, AS_IS, TO_I8)
COMBINE(i16, int16_t, int, AS_IS, TO_I16)
COMBINE(i32, int32_t, int64_t, AS_WIDE, TO_I32)
COMBINE(f16, uint16_t, float, cfx_half_to_float, cfx_float_to_half)
COMBINE(bf16, uint16_t, float, cfx_bf16_to_f32, cfx_float_to_bfloat)
COMBINE(f32, float, float, AS_IS, AS_IS)
COMBINE(f64, double, double, AS_IS, AS_IS)

/* Complex numbers have no order. */
#define COMBINE_COMPLEX(name, T)                                              \
    static void combine_##name(cfx_scatter_op op, void *y_, int64_t sy,       \
                               const void *x_, int64_t sx, int64_t n)         \
    {                                                                         \
        T *y = y_;                                                            \
        const T *x = x_;                                                      \
        switch (op) {                                                         \
        case CFX_SCATTER_ADD: EACH(T, T, AS_IS, a + b)                        \
        case CFX_SCATTER_MUL: EACH(T, T, AS_IS, (a) * (b))                    \
        default: break;                                                       \
        }                                                                     \
    }
COMBINE_COMPLEX(c64, float _Complex)
COMBINE_COMPLEX(c128, double _Complex)

static void combine_i64(cfx_scatter_op op, void *y_, int64_t sy,
                        const void *x_, int64_t sx, int64_t n)
{
    int64_t *y = y_;
    const int64_t *x = x_;

    switch (op) {
    case CFX_SCATTER_SET: break;
    case CFX_SCATTER_ADD: EACH(int64_t, uint64_t, (uint64_t), TO_I64(a + b))
    case CFX_SCATTER_MUL: EACH(int64_t, uint64_t, (uint64_t), TO_I64(a * b))
    case CFX_SCATTER_MAX: EACH(int64_t, int64_t, AS_IS, b > a ? b : a)
    case CFX_SCATTER_MIN: EACH(int64_t, int64_t, AS_IS, b < a ? b : a)
    }
}

static combine_fn *const combine_of[CFX_NDTYPES] = {
    [CFX_BOOL] = combine_bool, [CFX_U8] = combine_u8,
    [CFX_I8] = combine_i8,     [CFX_I16] = combine_i16,
    [CFX_I32] = combine_i32,   [CFX_I64] = combine_i64,
    [CFX_F16] = combine_f16,   [CFX_BF16] = combine_bf16,
    [CFX_F32] = combine_f32,   [CFX_F64] = combine_f64,
    [CFX_C64] = combine_c64,   [CFX_C128] = combine_c128,
};

/* ---- The walk ---- */

typedef struct job {
    const cfx_indexing *ix;
    size_t size;
    bool wrap;           /* negative indices count from the end */
    bool put;            /* from value to base */
    combine_fn *combine; /* NULL: a copy */
    cfx_scatter_op op;
    bool same_row;    /* indices stand still along the last axis */
    atomic_llong bad; /* LLONG_MAX: none */
} job;

/* The offset for the indices at these positions, in elements; or INT64_MIN. */
static int64_t lookup(const job *j, const int64_t *at)
{
    int64_t offset = 0;

    for (int k = 0; k < j->ix->count; k++) {
        int64_t n = j->ix->index[k].n;
        int64_t i = read_index(j->ix->index[k].type, j->ix->index[k].data,
                               at[k]);

        if (i < 0 && j->wrap)
            i += n;
        if (i < 0 || i >= n)
            return INT64_MIN;
        offset += i * j->ix->index[k].base_stride;
    }
    return offset;
}

/* n elements of a row to one place after another of the base. */
static void move_row(const job *j, char *value, char *base, int64_t n)
{
    int last = j->ix->rank - 1;
    int64_t size = (int64_t)j->size;
    int64_t sv = last < 0 ? 0 : j->ix->value_stride[last];
    int64_t sb = last < 0 ? 0 : j->ix->base_stride[last];
    char *to = j->put ? base : value;
    const char *from = j->put ? value : base;
    int64_t st = (j->put ? sb : sv) * size, sf = (j->put ? sv : sb) * size;

    if (j->combine)
        j->combine(j->op, base, sb, value, sv, n);
    else if (sv == 1 && sb == 1)
        memcpy(to, from, (size_t)(n * size));
    else
        for (int64_t i = 0; i < n; i++)
            copy_element(j->size, to + i * st, from + i * sf);
}

typedef struct place {
    int64_t at[CFX_ITER_RANK];
    int64_t value, base, index[CFX_INDEX_MAX]; /* offsets in elements */
} place;

static void seek(const job *j, place *p, int64_t n)
{
    const cfx_indexing *ix = j->ix;

    memset(p, 0, sizeof(*p));
    for (int i = ix->rank - 1; i >= 0; i--) {
        p->at[i] = n % ix->shape[i];
        n /= ix->shape[i];
        p->value += p->at[i] * ix->value_stride[i];
        p->base += p->at[i] * ix->base_stride[i];
        for (int k = 0; k < ix->count; k++)
            p->index[k] += p->at[i] * ix->index[k].stride[i];
    }
}

/* m elements on along `axis`. */
static void shift(const job *j, place *p, int axis, int64_t m)
{
    const cfx_indexing *ix = j->ix;

    p->at[axis] += m;
    p->value += m * ix->value_stride[axis];
    p->base += m * ix->base_stride[axis];
    for (int k = 0; k < ix->count; k++)
        p->index[k] += m * ix->index[k].stride[axis];
}

static void advance(const job *j, place *p, int64_t m)
{
    int axis = j->ix->rank - 1;

    if (axis < 0)
        return;
    shift(j, p, axis, m);
    for (; axis > 0 && p->at[axis] == j->ix->shape[axis]; axis--) {
        shift(j, p, axis, -j->ix->shape[axis]);
        shift(j, p, axis - 1, 1);
    }
}

/* Copy n elements along the last axis, each by its own index. Returns how many: an index
 * out of range ends it. */
CFX_FORCE_INLINE int64_t copy_each(const job *j, const place *p,
                                   const cfx_dtype type, const size_t size,
                                   int64_t n)
{
    const cfx_indexing *ix = j->ix;
    const int last = ix->rank - 1;
    const int64_t step = ix->index[0].stride[last];
    const int64_t extent = ix->index[0].n, wrap = j->wrap ? extent : 0;
    const int64_t by = ix->index[0].base_stride * (int64_t)size;
    const int64_t sv = ix->value_stride[last] * (int64_t)size;
    const int64_t sb = ix->base_stride[last] * (int64_t)size;
    const bool put = j->put;
    char *value = (char *)ix->value + p->value * (int64_t)size;
    char *base = (char *)ix->base + p->base * (int64_t)size;

    for (int64_t i = 0; i < n; i++, value += sv, base += sb) {
        int64_t k = read_index(type, ix->index[0].data,
                               p->index[0] + i * step);
        k += k < 0 ? wrap : 0;
        if (k < 0 || k >= extent)
            return i;
        copy_element(size, put ? base + k * by : value,
                     put ? value : base + k * by);
    }
    return n;
}

static int64_t copy_row(const job *j, const place *p, int64_t n)
{
    const bool narrow = j->ix->index[0].type == CFX_I32;

#define COPY(size)                                                            \
    (narrow ? copy_each(j, p, CFX_I32, size, n)                               \
            : copy_each(j, p, CFX_I64, size, n))
    switch (j->size) {
    case 1: return COPY(1);
    case 2: return COPY(2);
    case 4: return COPY(4);
    case 8: return COPY(8);
    default: return COPY(16);
    }
#undef COPY
}

/* Move up to n elements along the last axis. Returns how many: 0 if the first index is
 * out of range. */
static int64_t move_some(const job *j, const place *p, int64_t n)
{
    const cfx_indexing *ix = j->ix;
    int64_t size = (int64_t)j->size, offset;

    if (!j->same_row && ix->count == 1 && !j->combine)
        return copy_row(j, p, n);
    offset = lookup(j, p->index);
    if (offset == INT64_MIN)
        return 0;
    n = j->same_row ? n : 1;
    move_row(j, (char *)ix->value + p->value * size,
             (char *)ix->base + (p->base + offset) * size, n);
    return n;
}

static void run(void *arg, int64_t begin, int64_t end, int worker)
{
    job *j = arg;
    const cfx_indexing *ix = j->ix;
    place p;

    (void)worker;
    seek(j, &p, begin);
    while (begin < end) {
        int64_t n = ix->rank ? ix->shape[ix->rank - 1] - p.at[ix->rank - 1]
                             : 1;
        int64_t moved = move_some(j, &p, cfx_min64(n, end - begin));

        if (moved == 0) {
            note_bad(&j->bad, begin);
            return;
        }
        advance(j, &p, moved);
        begin += moved;
    }
}

/* The first index at place `at` that is out of range. */
static int64_t bad_index(job *j, int64_t at)
{
    place p;

    seek(j, &p, at);
    for (int k = 0; k < j->ix->count; k++) {
        int64_t n = j->ix->index[k].n;
        int64_t i = read_index(j->ix->index[k].type, j->ix->index[k].data,
                               p.index[k]);

        if (i >= n || i < (j->wrap ? -n : 0))
            return i;
    }
    return 0;
}

static bool walk(cfx_context *ctx, job *j, int64_t *bad)
{
    const cfx_indexing *ix = j->ix;
    int64_t n = 1;
    long long at;

    j->same_row = true;
    for (int i = 0; i < ix->rank; i++)
        n *= ix->shape[i];
    for (int k = 0; k < ix->count && ix->rank; k++)
        j->same_row &= ix->index[k].stride[ix->rank - 1] == 0;
    atomic_init(&j->bad, LLONG_MAX);
    /* Writes may overlap: then the order matters. */
    if (j->put)
        for (int64_t i = 0; i < n && !cfx_context_stops(ctx) &&
                            atomic_load(&j->bad) == LLONG_MAX;
             i += CFX_STOP_BLOCK)
            run(j, i, cfx_min64(i + CFX_STOP_BLOCK, n), 0);
    else
        cfx_parallel_for(ctx, n, GRAIN, run, j);
    at = atomic_load(&j->bad);
    if (at == LLONG_MAX)
        return true;
    if (bad)
        *bad = bad_index(j, at);
    return false;
}

bool cfx_index_get(cfx_context *ctx, size_t size, const cfx_indexing *ix,
                   int64_t *bad)
{
    job j = {.ix = ix, .size = size, .wrap = true};

    return walk(ctx, &j, bad);
}

bool cfx_kernel_index_put(cfx_context *ctx, cfx_dtype dtype, bool add,
                          const cfx_indexing *ix, int64_t *bad)
{
    job j = {
        .ix = ix,
        .size = cfx_dtype_size(dtype),
        .wrap = true,
        .put = true,
        .combine = add ? combine_of[dtype] : NULL,
        .op = CFX_SCATTER_ADD,
    };

    return walk(ctx, &j, bad);
}

/* Gather and scatter: one index, which stands for the place along dim. */
static void make_indexing(cfx_indexing *ix, int rank, const int64_t *shape,
                          int dim, int64_t n, const void *value,
                          const int64_t *value_stride, const void *base,
                          const int64_t *base_stride, cfx_dtype itype,
                          const void *index, const int64_t *index_stride)
{
    ix->rank = rank;
    ix->value = (void *)(uintptr_t)value;
    ix->base = (void *)(uintptr_t)base;
    ix->count = 1;
    ix->index[0].data = index;
    ix->index[0].type = itype;
    ix->index[0].n = n;
    ix->index[0].base_stride = rank ? base_stride[dim] : 0;
    for (int i = 0; i < rank; i++) {
        ix->shape[i] = shape[i];
        ix->value_stride[i] = value_stride[i];
        ix->base_stride[i] = i == dim ? 0 : base_stride[i];
        ix->index[0].stride[i] = index_stride[i];
    }
}

bool cfx_kernel_gather(cfx_context *ctx, size_t size, int rank,
                       const int64_t *shape, int dim, int64_t n, void *y,
                       const int64_t *y_stride, const void *x,
                       const int64_t *x_stride, cfx_dtype itype,
                       const void *index, const int64_t *index_stride,
                       int64_t *bad)
{
    cfx_indexing ix;
    job j = {.ix = &ix, .size = size};

    make_indexing(&ix, rank, shape, dim, n, y, y_stride, x, x_stride, itype,
                  index, index_stride);
    return walk(ctx, &j, bad);
}

bool cfx_kernel_scatter(cfx_context *ctx, cfx_scatter_op op, cfx_dtype dtype,
                        int rank, const int64_t *shape, int dim, int64_t n,
                        void *y, const int64_t *y_stride, const void *src,
                        const int64_t *src_stride, cfx_dtype itype,
                        const void *index, const int64_t *index_stride,
                        int64_t *bad)
{
    cfx_indexing ix;
    job j = {
        .ix = &ix,
        .size = cfx_dtype_size(dtype),
        .put = true,
        .op = op,
        .combine = op == CFX_SCATTER_SET ? NULL : combine_of[dtype],
    };

    make_indexing(&ix, rank, shape, dim, n, src, src_stride, y, y_stride,
                  itype, index, index_stride);
    return walk(ctx, &j, bad);
}

/* ---- Along one axis, with one index for all ---- */

typedef struct select_job {
    char *y;
    const char *x;
    const void *index;
    cfx_dtype itype;
    int64_t n, row, size, count; /* row: bytes of inner; size: of one */
    atomic_llong bad;
} select_job;

static void run_select(void *arg, int64_t begin, int64_t end, int worker)
{
    select_job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        int64_t k = begin % j->count, outer = begin / j->count;
        int64_t i = read_index(j->itype, j->index, k);

        if (i < 0 || i >= j->n) {
            note_bad(&j->bad, k);
            return;
        }
        const char *x = j->x + (outer * j->n + i) * j->row;
        if (j->row == j->size)
            copy_element((size_t)j->size, j->y + begin * j->row, x);
        else
            memcpy(j->y + begin * j->row, x, (size_t)j->row);
    }
}

bool cfx_kernel_index_select(cfx_context *ctx, size_t size, void *y,
                             const void *x, cfx_dtype itype, const void *index,
                             int64_t outer, int64_t n, int64_t inner,
                             int64_t count, int64_t *bad)
{
    select_job j = {
        .y = y,
        .x = x,
        .index = index,
        .itype = itype,
        .n = n,
        .row = inner * (int64_t)size,
        .size = (int64_t)size,
        .count = count,
    };
    long long at;

    if (inner == 0)
        return true;
    atomic_init(&j.bad, LLONG_MAX);
    cfx_parallel_for(ctx, outer * count, inner < GRAIN ? GRAIN / inner : 1,
                     run_select, &j);
    at = atomic_load(&j.bad);
    if (at == LLONG_MAX)
        return true;
    if (bad)
        *bad = read_index(itype, index, at);
    return false;
}

bool cfx_kernel_one_hot(cfx_context *ctx, int64_t *y, cfx_dtype itype,
                        const void *index, int64_t n, int64_t classes,
                        int64_t *bad)
{
    cfx_fill_bytes(ctx, y, 0, (size_t)(n * classes) * sizeof(*y));
    for (int64_t i = 0; i < n; i++) {
        int64_t k = read_index(itype, index, i);

        if (cfx_context_stops_at(ctx, i))
            break;
        if (k < 0 || k >= classes) {
            if (bad)
                *bad = k;
            return false;
        }
        y[i * classes + k] = 1;
    }
    return true;
}
