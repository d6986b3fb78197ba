/*
 * scan.c -- places of extremes, and running sums.
 *
 * Arrays are (outer, n, inner). A unit of work is up to LANES neighbours of the
 * inner axis, of one outer index, along all of n.
 */
#include "kernel/reduce/reduce_kernel.h"

#include <math.h>

#include "base/stop.h"
#include "kernel/int64.h"

enum {
    LANES = 256,
    BLOCK = 2048, /* elements looked at at once where inner is 1 */
    ROWS = 256,   /* of lanes, before it is asked again whether to stop */
    GRAIN = 16384 /* elements that are worth another thread */
};

typedef union wide {
    double d;
    int64_t i;
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
    cfx_scan scan;
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

    if (j->type == j->dtype)
        return x;
    j->load(buffer, 1, x, 1, n);
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
    int64_t at = outer * j->n * j->inner + first;
    int64_t to = outer * j->inner + first;

    j->load(best, 1, j->x + (size_t)at * j->size, 1, lanes);
    for (int64_t r = 1; r < j->n; r++) {
        if (r % ROWS == 0 && cfx_context_stops(j->ctx))
            return;
        j->kernels->better[j->wide](best, index,
                                    load(j, buffer, at + r * j->inner, lanes),
                                    r, lanes, j->smallest);
    }
    for (int64_t i = 0; i < lanes; i++) {
        int64_t r = index[i];

        if (j->index)
            j->index[to + i] = r;
        if (j->y)
            for (size_t b = 0; b < j->size; b++)
                j->y[(size_t)(to + i) * j->size + b] =
                    j->x[(size_t)(at + r * j->inner + i) * j->size + b];
    }
}

static void run_arg(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++)
        if (j->inner == 1)
            arg_row(j, begin);
        else
            arg_lanes(j, begin);
}

void cfx_kernel_argmax(cfx_context *ctx, cfx_dtype dtype, bool smallest,
                       int64_t *index, void *value, const void *x,
                       int64_t outer, int64_t n, int64_t inner)
{
    job j = make_job(ctx, dtype, value, index, x, n, inner);

    j.smallest = smallest;
    run(ctx, &j, outer, run_arg);
}

/* ---- Scans, in f64 or i64 ---- */

/* The place of the last of the running extreme: NaN stays once it is there. */
static bool takes_over(const job *j, wide v, wide best)
{
    bool smallest = j->scan == CFX_SCAN_MIN;

    if (j->wide == CFX_W_I64)
        return smallest ? v.i <= best.i : v.i >= best.i;
    if (v.d != v.d)
        return true;
    return smallest ? v.d <= best.d : v.d >= best.d;
}

static double log_add(double a, double b)
{
    double top = a > b || a != a ? a : b, low = a > b || a != a ? b : a;

    return isinf(top) && top == low ? top : top + log1p(exp(low - top));
}

static wide add(const job *j, wide acc, wide v)
{
    bool integer = j->wide == CFX_W_I64;

    switch (j->scan) {
    case CFX_SCAN_SUM:
        return integer
                   ? (wide){.i = (int64_t)((uint64_t)acc.i + (uint64_t)v.i)}
                   : (wide){.d = acc.d + v.d};
    case CFX_SCAN_PROD:
        return integer
                   ? (wide){.i = (int64_t)((uint64_t)acc.i * (uint64_t)v.i)}
                   : (wide){.d = acc.d * v.d};
    case CFX_SCAN_LOGSUMEXP: return (wide){.d = log_add(acc.d, v.d)};
    default: return takes_over(j, v, acc) ? v : acc;
    }
}

/* One step of all lanes: v becomes the running result. */
static void step(const job *j, wide *acc, int64_t *place, const wide *v,
                 int64_t r, int64_t lanes)
{
    if (j->scan == CFX_SCAN_SUM && j->wide != CFX_W_I64) {
        for (int64_t i = 0; i < lanes; i++)
            acc[i].d += v[i].d;
        return;
    }
    for (int64_t i = 0; i < lanes; i++) {
        if (j->index && takes_over(j, v[i], acc[i]))
            place[i] = r;
        acc[i] = add(j, acc[i], v[i]);
    }
}

static void scan_lanes(const job *j, int64_t unit, cfx_convert_fn *widen)
{
    wide acc[LANES], v[LANES];
    int64_t place[LANES] = {0};
    int64_t outer = unit / j->strips, first = unit % j->strips * LANES;
    int64_t lanes = cfx_min64(LANES, j->inner - first);

    for (int64_t r = 0; r < j->n; r++) {
        int64_t at = (outer * j->n + r) * j->inner + first;

        if (r % ROWS == 0 && cfx_context_stops(j->ctx))
            return;
        widen(r ? v : acc, 1, j->x + (size_t)at * j->size, 1, lanes);
        if (r)
            step(j, acc, place, v, r, lanes);
        j->store(j->y + (size_t)at * j->size, 1, acc, 1, lanes);
        for (int64_t i = 0; j->index && i < lanes; i++)
            j->index[at + i] = place[i];
    }
}

typedef struct running {
    wide acc;
    int64_t place;
} running;

/* Elements begin..end of a row where inner is 1, block by block. */
static void scan_part(const job *j, int64_t row, int64_t begin, int64_t end,
                      running *so_far, cfx_convert_fn *widen)
{
    wide block[LANES], acc = so_far->acc;
    int64_t place = so_far->place;

    for (int64_t i = begin; i < end; i += LANES) {
        int64_t n = cfx_min64(LANES, end - i), at = row * j->n + i;

        widen(block, 1, j->x + (size_t)at * j->size, 1, n);
        for (int64_t k = 0; k < n; k++) {
            if (i + k == 0)
                acc = block[k];
            else
                step(j, &acc, &place, &block[k], i + k, 1);
            block[k] = acc;
            if (j->index)
                j->index[at + k] = place;
        }
        j->store(j->y + (size_t)at * j->size, 1, block, 1, n);
    }
    *so_far = (running){acc, place};
}

static void scan_row(const job *j, int64_t row, cfx_convert_fn *widen)
{
    running so_far = {.place = 0};

    for (int64_t i = 0; i < j->n && !cfx_context_stops(j->ctx);
         i += ROWS * LANES)
        scan_part(j, row, i, cfx_min64(i + ROWS * LANES, j->n), &so_far,
                  widen);
}

typedef struct scan_job {
    job j;
    cfx_convert_fn *widen;
} scan_job;

static void run_scan(void *arg, int64_t begin, int64_t end, int worker)
{
    const scan_job *s = arg;

    (void)worker;
    for (; begin < end; begin++)
        if (s->j.inner == 1)
            scan_row(&s->j, begin, s->widen);
        else
            scan_lanes(&s->j, begin, s->widen);
}

void cfx_cumulate(cfx_context *ctx, cfx_scan op, cfx_dtype dtype, void *y,
                  int64_t *index, const void *x, int64_t outer, int64_t n,
                  int64_t inner)
{
    scan_job s = {.j = make_job(ctx, dtype, y, index, x, n, inner)};

    s.j.scan = op;
    s.widen =
        cfx_context_kernels(ctx)
            ->pointwise
            ->convert[cfx_dtype_is_float(dtype) ? CFX_F64 : CFX_I64][dtype];
    run(ctx, &s.j, outer, run_scan);
}
