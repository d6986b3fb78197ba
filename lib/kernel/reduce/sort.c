/*
 * sort.c -- sorting, and the k largest.
 *
 * Elements become unsigned keys whose order is the one asked for, with the
 * place they came from beside them, or below them in a word. Sorting goes digit by digit, from the
 * lowest, which is stable; a digit that all keys share is passed over. For few
 * of many, elements are first compared with the smallest that is still in,
 * block by block.
 *
 * Rows with equal elements are done anew as PyTorch's CPU does them
 * (introsort.h), unless a stable order is asked for.
 *
 * Floats: the bits of a positive number are ordered as they are; those of a
 * negative one the other way round, below; both zeros are one key, and NaN has
 * the greatest.
 */
#include "kernel/move/index_kernel.h"

#include <string.h>

#include "base/stop.h"

#include "base/convert.h"
#include "kernel/int64.h"
#include "kernel/reduce/introsort.h"
#include "kernel/reduce/reduce_kernel.h"

enum {
    GRAIN = 4096,   /* elements that are worth another thread */
    FEW = 48,       /* sorted by insertion */
    BLOCK = 256,    /* elements compared with the bound at once */
    PART = 32,      /* and those where a block has one before the bound */
    MANY = 1 << 14, /* sorted by digits of 11 bits, if of 32 */
    COUNTS = 3 << 11
};

typedef cfx_sort_pair pair;

typedef union extreme {
    double d;
    int64_t i;
} extreme;

/* ---- Keys ---- */

static uint64_t key_of_f64(double v)
{
    union {
        double d;
        uint64_t u;
    } x = {.d = v == 0 ? 0 : v};

    if (v != v)
        return UINT64_MAX;
    return x.u >> 63 ? ~x.u : x.u | (uint64_t)1 << 63;
}

static uint64_t key_of_f32(float v)
{
    union {
        float f;
        uint32_t u;
    } x = {.f = v == 0 ? 0 : v};

    if (v != v)
        return UINT32_MAX;
    return x.u >> 31 ? (uint32_t)~x.u : x.u | (uint32_t)1 << 31;
}

/* For f16 and bf16, which differ in the first NaN. */
static uint64_t key_of_half(uint16_t h, uint16_t inf)
{
    if ((h & 0x7fff) > inf)
        return UINT16_MAX;
    if ((h & 0x7fff) == 0)
        h = 0;
    return h >> 15 ? (uint16_t)~h : (uint16_t)(h | 0x8000);
}

#define KEYS(T, key)                                                          \
    for (int64_t i = 0; i < n; i++) {                                         \
        const T v = ((const T *)x)[i * step];                                 \
        p[i] = MADE((key) ^ flip, first + i);                                 \
    }                                                                         \
    break

/* The keys of n elements, `step` apart, of which the first is number `first`;
 * `flip` turns the order around. */
#define LOAD(name, element)                                                   \
    static void name(cfx_dtype t, element *p, const void *x, int64_t step,    \
                     int64_t first, int64_t n, uint64_t flip)                 \
    {                                                                         \
        switch (t) {                                                          \
        case CFX_BOOL: KEYS(uint8_t, v != 0);                                 \
        case CFX_U8: KEYS(uint8_t, v);                                        \
        case CFX_I8: KEYS(int8_t, (uint8_t)(v ^ 0x80));                       \
        case CFX_I16: KEYS(int16_t, (uint16_t)(v ^ 0x8000));                  \
        case CFX_I32: KEYS(int32_t, (uint32_t)v ^ 0x80000000u);               \
        case CFX_I64: KEYS(int64_t, (uint64_t)v ^ (uint64_t)1 << 63);         \
        case CFX_F16: KEYS(uint16_t, key_of_half(v, 0x7c00));                 \
        case CFX_BF16: KEYS(uint16_t, key_of_half(v, 0x7f80));                \
        case CFX_F32: KEYS(float, key_of_f32(v));                             \
        default: KEYS(double, key_of_f64(v));                                 \
        }                                                                     \
    }

/* Keys of 32 bits or fewer, with places of 32 bits below them, are words. */
#define MADE(key, place)                                                      \
    (pair)                                                                    \
    {                                                                         \
        key, place                                                            \
    }
LOAD(load_pairs, pair)
#undef MADE
#define MADE(key, place) ((key) << 32 | (uint64_t)(place))
LOAD(load_words, uint64_t)
#undef MADE

/* ---- Sorting ---- */

static bool is_before(const pair *a, const pair *b)
{
    return a->key < b->key || (a->key == b->key && a->index < b->index);
}

static void sort_few(pair *p, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        pair v = p[i];
        int64_t k = i;

        for (; k > 0 && is_before(&v, &p[k - 1]); k--)
            p[k] = p[k - 1];
        p[k] = v;
    }
}

/* Sort by digits of `width` bits of the low `bits` of the keys: count how often
 * each digit has each value, and then move elements to the next place for their
 * digit. Returns where the result is: `p`, or `other`, which has the same size;
 * NULL where the context stops. */
#define DIGITS(name, element, key)                                            \
    static void name##_count(int64_t *count, const element *p, int64_t n,     \
                             int bits, int width)                             \
    {                                                                         \
        const uint64_t mask = ((uint64_t)1 << width) - 1;                     \
        for (int64_t i = 0; i < n; i++)                                       \
            for (int at = 0, d = 0; at < bits; at += width, d++)              \
                count[((uint64_t)d << width) + (key(p[i]) >> at & mask)]++;   \
    }                                                                         \
    static void name##_move(element *to, int64_t *place, const element *p,    \
                            int64_t n, int at, int width)                     \
    {                                                                         \
        const uint64_t mask = ((uint64_t)1 << width) - 1;                     \
        for (int64_t i = 0; i < n; i++)                                       \
            to[place[key(p[i]) >> at & mask]++] = p[i];                       \
    }                                                                         \
    static element *name(const cfx_context *ctx, element *p, element *other,  \
                         int64_t n, int bits, int width)                      \
    {                                                                         \
        int64_t count[COUNTS], values = (int64_t)1 << width;                  \
        memset(count, 0, sizeof(count));                                      \
        for (int64_t i = 0; i < n; i += CFX_STOP_BLOCK) {                     \
            if (cfx_context_stops(ctx))                                       \
                return NULL;                                                  \
            name##_count(count, p + i, cfx_min64(CFX_STOP_BLOCK, n - i),      \
                         bits, width);                                        \
        }                                                                     \
        for (int at = 0, d = 0; at < bits; at += width, d++) {                \
            int64_t *c = count + d * values;                                  \
            element *t = p;                                                   \
            if (c[key(p[0]) >> at & (uint64_t)(values - 1)] == n)             \
                continue;                                                     \
            sums_before(c, values);                                           \
            for (int64_t i = 0; i < n; i += CFX_STOP_BLOCK) {                 \
                if (cfx_context_stops(ctx))                                   \
                    return NULL;                                              \
                name##_move(other, c, p + i,                                  \
                            cfx_min64(CFX_STOP_BLOCK, n - i), at, width);     \
            }                                                                 \
            p = other;                                                        \
            other = t;                                                        \
        }                                                                     \
        return p;                                                             \
    }

static void sums_before(int64_t *count, int64_t n)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t here = count[i];

        count[i] = sum;
        sum += here;
    }
}

#define PAIR_KEY(p) ((p).key)
#define WORD_KEY(w) ((w) >> 32)
DIGITS(sort_digits, pair, PAIR_KEY)
DIGITS(sort_words, uint64_t, WORD_KEY)

/* Pairs in the order of their index; NULL where the context stops. */
static pair *sort_pairs(const cfx_context *ctx, pair *p, pair *other,
                        int64_t n, int digits)
{
    if (n > FEW)
        return sort_digits(ctx, p, other, n, 8 * digits, 8);
    sort_few(p, n);
    return p;
}

/* ---- Rows of an array ---- */

typedef struct job {
    const cfx_context *ctx;
    cfx_dtype dtype;
    size_t size;
    bool descending, stable;
    const char *x;
    char *y;
    int64_t *index;
    int64_t n, inner, k, rows, slots;
    char *work;
    size_t slot; /* bytes of work for a slot */

    /* For topk: blocks of rows, and the kernel for their extremes. */
    cfx_rows_fn *extreme;
    cfx_convert_fn *load;
    cfx_dtype type;
    uint64_t flip;
} job;

/* The first element of a row. */
static const char *row_at(const job *j, int64_t row)
{
    int64_t outer = row / j->inner, column = row % j->inner;

    return j->x + (size_t)(outer * j->n * j->inner + column) * j->size;
}

static void copy_elements(size_t size, char *y, const char *x, const pair *p,
                          int64_t step, int64_t k)
{
    size_t s = (size_t)step * size;

    for (int64_t i = 0; i < k; i++) {
        const char *from = x + (size_t)p[i].index * s;

        switch (size) {
        case 1: y[i] = *from; break;
        case 2: memcpy(y + i * 2, from, 2); break;
        case 4: memcpy(y + i * 4, from, 4); break;
        default: memcpy(y + i * 8, from, 8); break;
        }
    }
}

/* Write n values and the indices of their pairs, from output `at` on. */
static void put_block(const job *j, int64_t at, const char *v, const pair *p,
                      int64_t n)
{
    char *y = j->y ? j->y + (size_t)at * j->size : NULL;

    if (y && j->inner == 1)
        memcpy(y, v, (size_t)n * j->size);
    else if (y)
        for (int64_t i = 0; i < n; i++)
            memcpy(y + (size_t)(i * j->inner) * j->size,
                   v + (size_t)i * j->size, j->size);
    for (int64_t i = 0; j->index && i < n; i++)
        j->index[at + i * j->inner] = p[i].index;
}

/* Write the first k pairs of a row: their elements by way of `other`, since the
 * output may be the input. */
static void put_row(const job *j, int64_t row, const pair *p, void *other)
{
    int64_t outer = row / j->inner, column = row % j->inner;
    const char *x = row_at(j, row);
    int64_t at = outer * j->k * j->inner + column;
    char *v = other;

    for (int64_t i = 0; j->y && i < j->k; i += CFX_STOP_BLOCK) {
        if (cfx_context_stops(j->ctx))
            return;
        copy_elements(j->size, v + (size_t)i * j->size, x, p + i, j->inner,
                      cfx_min64(CFX_STOP_BLOCK, j->k - i));
    }
    for (int64_t i = 0; i < j->k; i += CFX_STOP_BLOCK) {
        if (cfx_context_stops(j->ctx))
            return;
        put_block(j, at + i * j->inner, v + (size_t)i * j->size, p + i,
                  cfx_min64(CFX_STOP_BLOCK, j->k - i));
    }
}

static uint64_t flip_of(const job *j)
{
    return !j->descending ? 0 : UINT64_MAX >> (64 - 8 * j->size);
}

/* The pairs of a row; false where the context stops. */
static bool load_row(const job *j, int64_t row, pair *p)
{
    const char *x = row_at(j, row);

    for (int64_t i = 0; i < j->n; i += CFX_STOP_BLOCK) {
        if (cfx_context_stops(j->ctx))
            return false;
        load_pairs(j->dtype, p + i, x + (size_t)(i * j->inner) * j->size,
                   j->inner, i, cfx_min64(CFX_STOP_BLOCK, j->n - i),
                   flip_of(j));
    }
    return true;
}

/* The pairs of a row, sorted as words behind them. */
static pair *sort_row_as_words(const job *j, int64_t row, pair *p)
{
    uint64_t *w = (uint64_t *)(void *)(p + j->n);
    const char *x = row_at(j, row);
    int bits = 8 * (int)j->size;

    for (int64_t i = 0; i < j->n; i += CFX_STOP_BLOCK) {
        if (cfx_context_stops(j->ctx))
            return NULL;
        load_words(j->dtype, w + i, x + (size_t)(i * j->inner) * j->size,
                   j->inner, i, cfx_min64(CFX_STOP_BLOCK, j->n - i),
                   flip_of(j));
    }
    w = sort_words(j->ctx, w, w + j->n, j->n, bits,
                   bits == 32 && j->n > MANY ? 11 : 8);
    for (int64_t i = 0; w && i < j->n; i++)
        p[i] = (pair){w[i] >> 32, (int64_t)(uint32_t)w[i]};
    return w ? p : NULL;
}

/* Has one of the first n pairs the key of the next? */
static bool has_ties(const pair *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (p[i].key == p[i + 1].key)
            return true;
    return false;
}

/* Order a row again, with its ties as PyTorch's: all of it, or the first k. */
static void redo_row(const job *j, int64_t row, pair *p)
{
    if (!load_row(j, row, p))
        return;
    if (j->extreme)
        cfx_introselect(p, j->k, j->n);
    else
        cfx_introsort(p, j->n);
    put_row(j, row, p, p + j->n);
}

static void sort_row(const job *j, int64_t row, pair *p)
{
    pair *other = p + j->n, *sorted = NULL;

    if (j->n > FEW && j->size <= 4 && j->n <= UINT32_MAX)
        sorted = sort_row_as_words(j, row, p);
    else if (load_row(j, row, p))
        sorted = sort_pairs(j->ctx, p, other, j->n, (int)j->size);
    if (!sorted)
        return;
    if (!j->stable && has_ties(sorted, cfx_min64(j->k, j->n - 1)))
        redo_row(j, row, p);
    else
        put_row(j, row, sorted, sorted == p ? other : p);
}

/* Rows begin..end of slots: each has a part of the work area of its own. */
static void run_sort(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++)
        for (int64_t row = begin; row < j->rows && !cfx_context_stops(j->ctx);
             row += j->slots)
            sort_row(j, row, (void *)(j->work + (size_t)begin * j->slot));
}

static size_t slot_size(int64_t pairs)
{
    return ((size_t)pairs * sizeof(pair) + 63) & ~(size_t)63;
}

static int64_t slots_of(const cfx_context *ctx, int64_t rows, int64_t n)
{
    int64_t worth = rows * n / GRAIN + 1;

    return cfx_min64(cfx_min64(cfx_context_threads(ctx), rows), worth);
}

size_t cfx_sort_work(const cfx_context *ctx, cfx_dtype dtype, int64_t outer,
                     int64_t n, int64_t inner)
{
    (void)dtype;
    return slot_size(2 * n) * (size_t)slots_of(ctx, outer * inner, n);
}

void cfx_kernel_sort(cfx_context *ctx, cfx_dtype dtype, bool descending,
                     bool stable, void *y, int64_t *index, const void *x,
                     int64_t outer, int64_t n, int64_t inner, void *work)
{
    /* clang-format off */
    job j = {
        .ctx = ctx, .dtype = dtype, .size = cfx_dtype_size(dtype),
        .descending = descending, .stable = stable, .x = x, .y = y, .index = index, .n = n,
        .inner = inner, .k = n, .rows = outer * inner,
        .slots = slots_of(ctx, outer * inner, n), .work = work,
        .slot = slot_size(2 * n),
    };
    /* clang-format on */

    if (n > 0)
        cfx_parallel_for(ctx, j.slots, 1, run_sort, &j);
}

/* ---- The k largest ---- */

/* A heap: no pair is before the one at (i - 1) / 2, so that the last of all,
 * the one to leave next, is p[0]. */
static void sift_down(pair *p, int64_t n, pair v)
{
    int64_t i = 0;

    for (;;) {
        int64_t child = 2 * i + 1;

        if (child + 1 < n && is_before(&p[child], &p[child + 1]))
            child++;
        if (child >= n || !is_before(&v, &p[child]))
            break;
        p[i] = p[child];
        i = child;
    }
    p[i] = v;
}

static void push(pair *p, int64_t n, pair v)
{
    int64_t i = n;

    for (; i > 0 && is_before(&p[(i - 1) / 2], &v); i = (i - 1) / 2)
        p[i] = p[(i - 1) / 2];
    p[i] = v;
}

/* False where the context stops. */
static bool sort_heap(const cfx_context *ctx, pair *p, int64_t n)
{
    while (--n > 0) {
        pair last = p[0], v = p[n];

        if (cfx_context_stops_at(ctx, n))
            return false;
        sift_down(p, n, v);
        p[n] = last;
    }
    return true;
}

/* The key of an extreme: no element of its part comes before it. */
static uint64_t first_key(const job *j, extreme m)
{
    if (j->type == CFX_I64)
        return ((uint64_t)m.i ^ (uint64_t)1 << 63) ^ j->flip;
    /* The minimum of numbers with a NaN is undefined. */
    if (m.d != m.d)
        return 0;
    return (j->type == CFX_F32 ? key_of_f32((float)m.d) : key_of_f64(m.d)) ^
           j->flip;
}

/* Those of a row that are held so far, and the key of the first of those that
 * were not taken, or had to leave. */
struct held {
    pair *p;
    int64_t count;
    uint64_t out;
    bool any_out;
};

static void leave_out(struct held *h, uint64_t key)
{
    if (!h->any_out || key < h->out)
        h->out = key;
    h->any_out = true;
}

/* Take n <= PART elements, the first of which has the index `first`. */
static void take_part(const job *j, struct held *h, const char *part,
                      int64_t n, int64_t first)
{
    pair all[PART];

    load_pairs(j->type, all, part, 1, first, n, j->flip);
    for (int64_t i = 0; i < n; i++) {
        if (h->count < j->k) {
            push(h->p, h->count++, all[i]);
        } else if (all[i].key < h->p[0].key) {
            leave_out(h, h->p[0].key);
            sift_down(h->p, j->k, all[i]);
        } else {
            leave_out(h, all[i].key);
        }
    }
}

/* Most parts have no element that comes before those that are held. */
static void take_block(const job *j, struct held *h, const char *block,
                       int64_t n, int64_t first)
{
    size_t size = cfx_dtype_size(j->type);
    extreme m[BLOCK / PART];
    int64_t whole = n / PART * PART;

    j->extreme(m, block, PART, whole / PART, PART, 0);
    for (int64_t i = 0; i < n; i += PART) {
        uint64_t key = i < whole ? first_key(j, m[i / PART]) : 0;

        if (i < whole && h->count == j->k && key >= h->p[0].key)
            leave_out(h, key);
        else
            take_part(j, h, block + (size_t)i * size, cfx_min64(PART, n - i),
                      first + i);
    }
}

static void topk_row(const job *j, int64_t row, pair *p)
{
    _Alignas(64) double buffer[BLOCK];
    struct held h = {.p = p};
    const char *x = row_at(j, row);

    for (int64_t i = 0; i < j->n; i += BLOCK) {
        int64_t n = cfx_min64(BLOCK, j->n - i);
        const char *from = x + (size_t)(i * j->inner) * j->size;

        if (cfx_context_stops_at(j->ctx, i))
            return;
        const char *block = from;

        if (j->type != j->dtype || j->inner != 1) {
            j->load(buffer, 1, from, j->inner, n);
            block = (const char *)buffer;
        }
        take_block(j, &h, block, n, i);
    }
    bool tied = h.any_out && h.out == p[0].key;
    if (!sort_heap(j->ctx, p, j->k))
        return;
    if (tied || has_ties(p, j->k - 1))
        redo_row(j, row, p);
    else
        put_row(j, row, p, p + j->k);
}

static void run_topk(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++)
        for (int64_t row = begin; row < j->rows && !cfx_context_stops(j->ctx);
             row += j->slots)
            topk_row(j, row, (void *)(j->work + (size_t)begin * j->slot));
}

/* Are k so many that sorting all of them is better? */
static bool are_many(int64_t n, int64_t k)
{
    return k > n / 8 && k > FEW;
}

size_t cfx_topk_work(const cfx_context *ctx, cfx_dtype dtype, int64_t outer,
                     int64_t n, int64_t inner, int64_t k)
{
    (void)dtype;
    return slot_size(are_many(n, k) ? 2 * n : n + k) *
           (size_t)slots_of(ctx, outer * inner, n);
}

void cfx_kernel_topk(cfx_context *ctx, cfx_dtype dtype, bool largest, void *y,
                     int64_t *index, const void *x, int64_t outer, int64_t n,
                     int64_t inner, int64_t k, void *work)
{
    const cfx_kernels *kernels = cfx_context_kernels(ctx);
    bool floats = cfx_dtype_is_float(dtype), f64 = dtype == CFX_F64;
    cfx_wide wide = !floats ? CFX_W_I64 : f64 ? CFX_W_F64 : CFX_W_F32;
    /* clang-format off */
    job j = {
        .ctx = ctx, .dtype = dtype, .size = cfx_dtype_size(dtype),
        .descending = largest, .x = x, .y = y, .index = index, .n = n,
        .inner = inner, .k = k, .rows = outer * inner,
        .slots = slots_of(ctx, outer * inner, n), .work = work,
        .slot = slot_size(are_many(n, k) ? 2 * n : n + k),
        .type = !floats ? CFX_I64 : f64 ? CFX_F64 : CFX_F32,
        .flip = largest ? UINT64_MAX : 0,
    };
    /* clang-format on */

    j.extreme =
        kernels->reduce->rows[wide][largest ? CFX_ACC_MAX : CFX_ACC_MIN];
    j.load = kernels->pointwise->convert[j.type][dtype];
    if (k > 0)
        cfx_parallel_for(ctx, j.slots, 1, are_many(n, k) ? run_sort : run_topk,
                         &j);
}
