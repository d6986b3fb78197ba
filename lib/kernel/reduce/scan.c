/*
 * scan.c -- places of extremes, and running sums.
 *
 * Arrays are (outer, n, inner). A unit of work is up to LANES neighbours of the
 * inner axis, of one outer index, along all of n.
 */
#include "kernel/reduce/reduce_kernel.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "base/util.h"
#include "kernel/int64.h"
#include "kernel/vec/simd.h"

enum {
    LANES = 256,
    BLOCK = 2048, /* elements looked at at once where inner is 1 */
    ROWS = 256,   /* of lanes, before it is asked again whether to stop */
    SHORT = 32,   /* the longest row that is one lane among others */
    GRAIN = 16384 /* elements that are worth another thread */
};

typedef union wide {
    double d;
    int64_t i;
    uint64_t u;
} wide;

typedef struct job {
    const cfx_context *ctx;
    const struct cfx_reduce_kernels *kernels;
    cfx_dtype dtype, type; /* of the arrays, of what loops read */
    cfx_wide wide;
    size_t size, type_size;
    cfx_convert_fn *load;  /* dtype to type */
    cfx_convert_fn *store; /* f64 or i64 to dtype */
    const char *x;
    char *y;
    int64_t *index;
    int64_t n, inner, strips;
    int64_t x_lane, x_row; /* strides of lanes, and along the axis */
    bool smallest;
} job;

static job make_job(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t *index,
                    const void *x, int64_t n, int64_t inner)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_I64};
    const cfx_kernels *kernels = cfx_context_kernels(ctx);
    bool floats = cfx_dtype_is_float(dtype);
    job j = {
        .ctx = ctx,
        .kernels = kernels->reduce,
        .dtype = dtype,
        .x = x,
        .y = y,
        .index = index,
        .n = n,
        .inner = inner,
        .strips = (inner + LANES - 1) / LANES,
        .x_lane = 1,
        .x_row = inner,
    };

    j.wide = !floats ? CFX_W_I64 : dtype == CFX_F64 ? CFX_W_F64 : CFX_W_F32;
    j.type = types[j.wide];
    j.size = cfx_dtype_size(dtype);
    j.type_size = cfx_dtype_size(j.type);
    j.load = kernels->pointwise->convert[j.type][dtype];
    j.store = kernels->pointwise->convert[dtype][floats ? CFX_F64 : CFX_I64];
    return j;
}

static void run(cfx_context *ctx, job *j, int64_t outer, cfx_parallel_fn *fn)
{
    int64_t work = j->n * cfx_min64(j->inner, LANES);

    cfx_parallel_for(ctx, outer * j->strips,
                     work < GRAIN ? GRAIN / (work ? work : 1) : 1, fn, j);
}

/* Elements as the loops read them: in place, or in a buffer. */
static const void *load(const job *j, void *buffer, int64_t at, int64_t n)
{
    const char *x = j->x + (size_t)at * j->size;

    if (j->type == j->dtype && j->x_lane == 1)
        return x;
    j->load(buffer, 1, x, j->x_lane, n);
    return buffer;
}

/* ---- Places of extremes ---- */

/* The first element that is v, or NaN if v is; there is one. */
static int64_t find(const job *j, const void *x, wide v)
{
    int64_t i = 0;

    if (j->wide == CFX_W_I64)
        while (((const int64_t *)x)[i] != v.i)
            i++;
    else if (v.d != v.d && j->wide == CFX_W_F32)
        while (!isnan(((const float *)x)[i]))
            i++;
    else if (v.d != v.d)
        while (!isnan(((const double *)x)[i]))
            i++;
    else if (j->wide == CFX_W_F32)
        while (((const float *)x)[i] != (float)v.d)
            i++;
    else
        while (((const double *)x)[i] != v.d)
            i++;
    return i;
}

static bool is_better(const job *j, wide v, wide best)
{
    if (j->wide == CFX_W_I64)
        return j->smallest ? v.i < best.i : v.i > best.i;
    if (v.d != v.d)
        return best.d == best.d;
    return j->smallest ? v.d < best.d : v.d > best.d;
}

static void arg_row(const job *j, int64_t row)
{
    _Alignas(64) double buffer[BLOCK];
    cfx_rows_fn *extreme =
        j->kernels->rows[j->wide][j->smallest ? CFX_ACC_MIN : CFX_ACC_MAX];
    int64_t place = 0;
    wide best = {0};

    for (int64_t i = 0; i < j->n && !cfx_context_stops(j->ctx); i += BLOCK) {
        int64_t n = cfx_min64(BLOCK, j->n - i);
        const void *x = load(j, buffer, row * j->n + i, n);
        wide v;

        extreme(&v, x, 0, 1, n, 0);
        if (i == 0 || is_better(j, v, best)) {
            best = v;
            place = i + find(j, x, v);
        }
    }
    if (j->index)
        j->index[row] = place;
    if (j->y)
        j->store(j->y + (size_t)row * j->size, 1, &best, 1, 1);
}

static void arg_lanes(const job *j, int64_t unit)
{
    _Alignas(64) double best[LANES], buffer[LANES];
    int64_t index[LANES] = {0};
    int64_t outer = unit / j->strips, first = unit % j->strips * LANES;
    int64_t lanes = cfx_min64(LANES, j->inner - first);
    int64_t at = outer * j->n * j->inner + first * j->x_lane;
    int64_t to = outer * j->inner + first;

    j->load(best, 1, j->x + (size_t)at * j->size, j->x_lane, lanes);
    for (int64_t r = 1; r < j->n; r++) {
        if (r % ROWS == 0 && cfx_context_stops(j->ctx))
            return;
        j->kernels->better[j->wide](best, index,
                                    load(j, buffer, at + r * j->x_row, lanes),
                                    r, lanes, j->smallest);
    }
    for (int64_t i = 0; i < lanes; i++) {
        int64_t r = index[i];

        if (j->index)
            j->index[to + i] = r;
        if (j->y)
            for (size_t b = 0; b < j->size; b++)
                j->y[(size_t)(to + i) * j->size + b] =
                    j->x[(size_t)(at + r * j->x_row + i * j->x_lane) *
                             j->size +
                         b];
    }
}

static void run_arg_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (; begin < end; begin++)
        arg_row(arg, begin);
}

static void run_arg_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (; begin < end; begin++)
        arg_lanes(arg, begin);
}

void cfx_kernel_argmax(cfx_context *ctx, cfx_dtype dtype, bool smallest,
                       int64_t *index, void *value, const void *x,
                       int64_t outer, int64_t n, int64_t inner)
{
    bool across = inner == 1 && n <= SHORT;
    job j = make_job(ctx, dtype, value, index, x, n, across ? outer : inner);

    j.smallest = smallest;
    if (across) {
        outer = 1;
        j.x_lane = n;
        j.x_row = 1;
    }
    run(ctx, &j, outer, inner == 1 && !across ? run_arg_rows : run_arg_lanes);
}

/* ---- Scans, in f64 or i64 ---- */

static double log_add(double a, double b)
{
    double top = a > b || a != a ? a : b, low = a > b || a != a ? b : a;

    return isinf(top) && top == low ? top : top + log1p(exp(low - top));
}

/* Rows that are scanned side by side, since each step waits for that before. */
enum { BESIDE = 4 };

typedef struct rows {
    wide v[BESIDE][LANES]; /* elements, and then running results */
    wide acc[BESIDE];
    int64_t place[BESIDE];
    int64_t *index; /* of element `first` of the first row, or NULL */
    int64_t step;   /* to that of the next row */
    int64_t first;
} rows;

/* One step of n lanes, with row r. */
typedef void lanes_fn(wide *acc, int64_t *place, const wide *v, int64_t r,
                      int64_t n);
/* Steps along n elements of `count` rows. */
typedef void rows_fn(rows *s, int64_t n, int count);

/* `next` is the result after a and the element b; the extreme is at b if `taken`. */
#define SCAN(name, T, m, next, taken)                                         \
    static void name##_lanes(wide *acc, int64_t *place, const wide *v,        \
                             int64_t r, int64_t n)                            \
    {                                                                         \
        for (int64_t i = 0; i < n; i++) {                                     \
            const T a = acc[i].m, b = v[i].m;                                 \
            if (taken)                                                        \
                place[i] = r;                                                 \
            acc[i].m = next;                                                  \
        }                                                                     \
    }                                                                         \
    CFX_FORCE_INLINE void name##_steps(rows *s, int64_t n, const int count)   \
    {                                                                         \
        T acc[BESIDE];                                                        \
        int64_t place[BESIDE], *index = s->index;                             \
        for (int k = 0; k < count; k++) {                                     \
            acc[k] = s->acc[k].m;                                             \
            place[k] = s->place[k];                                           \
        }                                                                     \
        for (int64_t i = 0; i < n; i++)                                       \
            for (int k = 0; k < count; k++) {                                 \
                const T a = acc[k], b = s->v[k][i].m;                         \
                if (taken)                                                    \
                    place[k] = s->first + i;                                  \
                s->v[k][i].m = acc[k] = next;                                 \
                if (index)                                                    \
                    index[k * s->step + i] = place[k];                        \
            }                                                                 \
        for (int k = 0; k < count; k++) {                                     \
            s->acc[k].m = acc[k];                                             \
            s->place[k] = place[k];                                           \
        }                                                                     \
    }                                                                         \
    static void name##_rows(rows *s, int64_t n, int count)                    \
    {                                                                         \
        if (count == BESIDE)                                                  \
            name##_steps(s, n, BESIDE);                                       \
        else                                                                  \
            name##_steps(s, n, 1);                                            \
    }

/* NaN stays once it is there; the extreme is the last of equal ones. */
#define GREATER (b >= a || b != b)
#define LESS (b <= a || b != b)

SCAN(sum_f64, double, d, a + b, false)
SCAN(prod_f64, double, d, a *b, false)
SCAN(max_f64, double, d, GREATER ? b : a, GREATER)
SCAN(min_f64, double, d, LESS ? b : a, LESS)
SCAN(log_sum_f64, double, d, log_add(a, b), false)
SCAN(sum_i64, uint64_t, u, a + b, false)
SCAN(prod_i64, uint64_t, u, a *b, false)
SCAN(max_i64, int64_t, i, b >= a ? b : a, b >= a)
SCAN(min_i64, int64_t, i, b <= a ? b : a, b <= a)

static const struct scan {
    lanes_fn *lanes;
    rows_fn *rows;
    wide identity;
} scans[2][CFX_SCAN_LOGSUMEXP + 1] = {
    {
        [CFX_SCAN_SUM] = {sum_i64_lanes, sum_i64_rows, {.i = 0}},
        [CFX_SCAN_PROD] = {prod_i64_lanes, prod_i64_rows, {.i = 1}},
        [CFX_SCAN_MAX] = {max_i64_lanes, max_i64_rows, {.i = INT64_MIN}},
        [CFX_SCAN_MIN] = {min_i64_lanes, min_i64_rows, {.i = INT64_MAX}},
    },
    {
        [CFX_SCAN_SUM] = {sum_f64_lanes, sum_f64_rows, {.d = 0}},
        [CFX_SCAN_PROD] = {prod_f64_lanes, prod_f64_rows, {.d = 1}},
        [CFX_SCAN_MAX] = {max_f64_lanes, max_f64_rows, {.d = -INFINITY}},
        [CFX_SCAN_MIN] = {min_f64_lanes, min_f64_rows, {.d = INFINITY}},
        [CFX_SCAN_LOGSUMEXP] = {log_sum_f64_lanes,
                                log_sum_f64_rows,
                                {.d = -INFINITY}},
    },
};

typedef struct scan_job {
    job j;
    cfx_convert_fn *widen;
    struct scan scan;
} scan_job;

static void scan_lanes(const scan_job *s, int64_t unit)
{
    const job *j = &s->j;
    wide acc[LANES], v[LANES];
    int64_t place[LANES] = {0};
    int64_t outer = unit / j->strips, first = unit % j->strips * LANES;
    int64_t lanes = cfx_min64(LANES, j->inner - first);

    for (int64_t i = 0; i < lanes; i++)
        acc[i] = s->scan.identity;
    for (int64_t r = 0; r < j->n; r++) {
        int64_t at = (outer * j->n + r) * j->inner + first;

        if (r % ROWS == 0 && cfx_context_stops(j->ctx))
            return;
        s->widen(v, 1, j->x + (size_t)at * j->size, 1, lanes);
        s->scan.lanes(acc, place, v, r, lanes);
        j->store(j->y + (size_t)at * j->size, 1, acc, 1, lanes);
        if (j->index)
            memcpy(j->index + at, place, (size_t)lanes * sizeof(*place));
    }
}

/* `count` rows where inner is 1, block by block. */
static void scan_rows(const scan_job *s, int64_t row, int count)
{
    const job *j = &s->j;
    rows r;

    r.step = j->n;
    for (int k = 0; k < count; k++) {
        r.acc[k] = s->scan.identity;
        r.place[k] = 0;
    }
    for (int64_t i = 0; i < j->n && !cfx_context_stops(j->ctx); i += LANES) {
        int64_t n = cfx_min64(LANES, j->n - i), at = row * j->n + i;

        for (int k = 0; k < count; k++)
            s->widen(r.v[k], 1, j->x + (size_t)(at + k * j->n) * j->size, 1,
                     n);
        r.index = j->index ? j->index + at : NULL;
        r.first = i;
        s->scan.rows(&r, n, count);
        for (int k = 0; k < count; k++)
            j->store(j->y + (size_t)(at + k * j->n) * j->size, 1, r.v[k], 1,
                     n);
    }
}

static void run_scan(void *arg, int64_t begin, int64_t end, int worker)
{
    const scan_job *s = arg;

    (void)worker;
    while (begin < end) {
        int count = s->j.inner > 1 || end - begin < BESIDE ? 1 : BESIDE;

        if (s->j.inner == 1)
            scan_rows(s, begin, count);
        else
            scan_lanes(s, begin);
        begin += count;
    }
}

void cfx_cumulate(cfx_context *ctx, cfx_scan op, cfx_dtype dtype, void *y,
                  int64_t *index, const void *x, int64_t outer, int64_t n,
                  int64_t inner)
{
    scan_job s = {.j = make_job(ctx, dtype, y, index, x, n, inner),
                  .scan = scans[cfx_dtype_is_float(dtype)][op]};

    s.widen =
        cfx_context_kernels(ctx)
            ->pointwise
            ->convert[cfx_dtype_is_float(dtype) ? CFX_F64 : CFX_I64][dtype];
    run(ctx, &s.j, outer, run_scan);
}
