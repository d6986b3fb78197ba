/*
 * reduce.c -- brings any reduction to accumulation over (rows, lanes).
 *
 * A unit of work is a group of neighbouring outputs, the lanes: up to
 * CFX_ACC_LANES of them where the innermost axis is kept, or one where it is
 * reduced. What a lane takes in are its rows. A block of rows without gaps
 * (stride == lanes) is read as fewer, wider rows, and the wide accumulators are
 * folded afterwards: so the sum of an array is that of FLAT columns, and the
 * same loops serve every layout.
 *
 * If there are few units, the rows of each are cut into pieces whose results are
 * merged in order; their number depends on the number of rows alone.
 */
#include "kernel/reduce/reduce_kernel.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/int64.h"

enum {
    LANES = CFX_ACC_LANES,
    FLAT = 256,          /* lanes that rows without gaps are read as */
    BUFFER = 2048,       /* elements gathered at a time, */
    ROWS_BUFFERED = 8,   /* or at least so many short rows */
    BLOCK = 8192,        /* elements read twice, from the cache, */
    BLOCK_ROWS = 64,     /* or rows, where these are more */
    SPLIT_GRAIN = 32768, /* least elements of a piece of a unit */
    UNITS_GRAIN = 8192,  /* least elements of a piece of whole units */
    FEW_UNITS = 8,
    PARTIALS = 8192, /* numbers kept by all pieces together */
    SHORT = 16,      /* rows so short that another axis gives the lanes */
    SHORT_SUM = 4096 /* elements that are summed in their own type */
};

/* The kind of a reduction, besides its accumulation. */
typedef enum kind { SIMPLE, MOMENTS, LOG_SUM } kind;

/* Accumulators of one unit. MOMENTS: a is the mean, b the sum of squared
 * distances from it. LOG_SUM: a is the maximum, b the sum of exp(x - a). */
typedef union wide {
    double d;
    int64_t i;
} wide;
typedef struct state {
    int64_t n;
    wide a[LANES], b[LANES];
} state;

typedef struct job {
    const cfx_context *ctx;
    const cfx_iter *it;
    const struct cfx_reduce_kernels *kernels;
    cfx_red op;
    kind kind;
    cfx_acc acc;
    double param;
    cfx_wide wide;
    cfx_dtype type; /* that loops read: f32, f64, i64 */
    size_t size;    /* of an element of it */
    cfx_convert_fn *load, *store;
    cfx_convert_fn *narrow; /* f64 to the type that loops read */
    char *mean;             /* where means go, or NULL */

    bool short_rows; /* see run_rows */
    int lane_axis;   /* -1: one lane */
    int64_t width;   /* lanes of a unit, but for the last along the axis */
    int64_t strips;  /* units along the lane axis */
    int kept[CFX_ITER_RANK], nkept;       /* the other kept axes */
    int reduced[CFX_ITER_RANK], nreduced; /* the innermost first */
    int64_t units, rows;
    int64_t x_lane, x_row, y_lane; /* strides */

    int64_t pieces, piece; /* of the rows of each unit */
    wide *partial;         /* [unit][piece][parts][width] */
    int parts;             /* a alone, or a and b */
} job;

static const struct {
    uint8_t acc, kind;
} list[CFX_RED_COUNT] = {
    [CFX_RED_SUM] = {CFX_ACC_SUM, SIMPLE},
    [CFX_RED_PROD] = {CFX_ACC_PROD, SIMPLE},
    [CFX_RED_MEAN] = {CFX_ACC_SUM, SIMPLE},
    [CFX_RED_MAX] = {CFX_ACC_MAX, SIMPLE},
    [CFX_RED_MIN] = {CFX_ACC_MIN, SIMPLE},
    [CFX_RED_ANY] = {CFX_ACC_NONZERO, SIMPLE},
    [CFX_RED_ALL] = {CFX_ACC_NONZERO, SIMPLE},
    [CFX_RED_COUNT_NONZERO] = {CFX_ACC_NONZERO, SIMPLE},
    [CFX_RED_VAR] = {CFX_ACC_SUM, MOMENTS},
    [CFX_RED_STD] = {CFX_ACC_SUM, MOMENTS},
    [CFX_RED_SUMSQ] = {CFX_ACC_SUMSQ, SIMPLE},
    [CFX_RED_NORM1] = {CFX_ACC_SUMABS, SIMPLE},
    [CFX_RED_NORM2] = {CFX_ACC_SUMSQ, SIMPLE},
    [CFX_RED_NORMINF] = {CFX_ACC_MAXABS, SIMPLE},
    [CFX_RED_NORMNINF] = {CFX_ACC_MINABS, SIMPLE},
    [CFX_RED_NORM] = {CFX_ACC_SUMPOW, SIMPLE},
    [CFX_RED_LOGSUMEXP] = {CFX_ACC_MAX, LOG_SUM},
};

/* ---- Accumulators ---- */

static wide identity(const job *j)
{
    bool floats = j->wide != CFX_W_I64;
    wide w = {.i = 0};

    switch (j->acc) {
    case CFX_ACC_PROD: return floats ? (wide){.d = 1} : (wide){.i = 1};
    case CFX_ACC_MAX:
        return floats ? (wide){.d = -INFINITY} : (wide){.i = INT64_MIN};
    case CFX_ACC_MIN:
    case CFX_ACC_MINABS:
        return floats ? (wide){.d = INFINITY} : (wide){.i = INT64_MAX};
    default: return w;
    }
}

static void fill(wide *w, wide v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        w[i] = v;
}

/* A block of rows in memory that the loops can read. */
typedef struct block {
    const char *x;
    int64_t stride, rows, lanes;
} block;

/* The lanes that a block without gaps is read as. */
static int64_t wide_lanes(const block *b)
{
    int64_t times = 1;

    if (b->stride == b->lanes && b->lanes < FLAT)
        times = cfx_min64(b->lanes == 1 ? FLAT : FLAT / b->lanes, b->rows);
    return times * b->lanes;
}

/* Accumulate with the rows side by side, then combine these. */
static void accumulate_wide(const job *j, cfx_acc op, wide *acc,
                            const block *b, int64_t lanes, const void *shift)
{
    cfx_acc_fn *fn = j->kernels->acc[j->wide][op];
    int64_t count = b->rows * b->lanes;
    int64_t rows = count < 2 * lanes ? 1
                   : lanes == FLAT   ? count / FLAT
                                     : count / lanes;
    int64_t rest = count - rows * lanes;

    fn(acc, b->x, lanes, rows, lanes, shift, j->param, true);
    if (rest)
        fn(acc, b->x + (size_t)(rows * lanes) * j->size, lanes, 1, rest, shift,
           j->param, false);
    j->kernels->fold[j->wide][op](acc, lanes, b->lanes);
}

/* Accumulate one lane of contiguous elements, few enough to be summed in their own
 * type. */
static void accumulate_row(const job *j, cfx_acc op, wide *acc, const block *b,
                           bool fresh)
{
    wide both[2] = {*acc};

    j->kernels->rows[j->wide][op](&both[1], b->x, 0, 1, b->rows, j->param);
    if (fresh)
        both[0] = both[1];
    else
        j->kernels->fold[j->wide][op](both, 2, 1);
    *acc = both[0];
}

/* Accumulate a block. `shift` has wide_lanes(b) numbers. */
static void accumulate(const job *j, cfx_acc op, wide *acc, const block *b,
                       const void *shift, bool fresh)
{
    int64_t lanes = wide_lanes(b);
    wide sum[2 * FLAT];

    if (op == CFX_ACC_SUM && j->wide == CFX_W_F32 && b->lanes == CFX_ACC_FEW) {
        j->kernels->sum_few(&acc->d, (const float *)(const void *)b->x,
                            b->stride, b->rows, fresh);
        return;
    }
    if (b->lanes == 1 && b->stride == 1 && b->rows <= SHORT_SUM && !shift) {
        accumulate_row(j, op, acc, b, fresh);
        return;
    }
    if (lanes == b->lanes) {
        j->kernels->acc[j->wide][op](acc, b->x, b->stride, b->rows, lanes,
                                     shift, j->param, fresh);
        return;
    }
    accumulate_wide(j, op, sum, b, lanes, shift);
    if (!fresh) {
        memcpy(sum + b->lanes, acc, (size_t)b->lanes * sizeof(*acc));
        j->kernels->fold[j->wide][op](sum, 2 * b->lanes, b->lanes);
    }
    memcpy(acc, sum, (size_t)b->lanes * sizeof(*acc));
}

/* ---- Reductions that look twice at a block ---- */

/* Write v[lane], as an element, for each of the wide lanes. */
static void spread(const job *j, void *shift, const wide *v, const block *b)
{
    int64_t n = wide_lanes(b), step = b->lanes == 1 ? n : b->lanes;

    for (int64_t i = 0; i < n; i += step)
        j->narrow((char *)shift + (size_t)i * j->size, 1, v, b->lanes != 1,
                  step);
}

/* exp(from - to), of running maxima, where both may be infinite. */
static double rescale(double from, double to)
{
    return from == to ? 1 : exp(from - to);
}

static void merge_simple(const job *j, wide *to, const wide *from,
                         int64_t lanes)
{
    wide both[2 * LANES];

    memcpy(both, to, (size_t)lanes * sizeof(*to));
    memcpy(both + lanes, from, (size_t)lanes * sizeof(*to));
    j->kernels->fold[j->wide][j->acc](both, 2 * lanes, lanes);
    memcpy(to, both, (size_t)lanes * sizeof(*to));
}

static void merge_moments(wide *a, wide *b, double n, double mean, double m2,
                          double m)
{
    double step = mean - a->d, share = m / (n + m);

    a->d += step * share;
    b->d += m2 + step * step * n * share;
}

static void merge_log_sum(wide *a, wide *b, double max, double sum)
{
    double top = max > a->d || max != max ? max : a->d;

    b->d = b->d * rescale(a->d, top) + sum * rescale(max, top);
    a->d = top;
}

/* Take results (a, b) of `n` rows into a state. */
static void merge(const job *j, state *s, const wide *a, const wide *b,
                  int64_t n, int64_t lanes)
{
    if (s->n == 0) {
        memcpy(s->a, a, (size_t)lanes * sizeof(*a));
        if (j->parts == 2)
            memcpy(s->b, b, (size_t)lanes * sizeof(*b));
    } else if (j->kind == SIMPLE) {
        merge_simple(j, s->a, a, lanes);
    } else {
        for (int64_t i = 0; i < lanes; i++)
            if (j->kind == MOMENTS)
                merge_moments(&s->a[i], &s->b[i], (double)s->n, a[i].d, b[i].d,
                              (double)n);
            else
                merge_log_sum(&s->a[i], &s->b[i], a[i].d, b[i].d);
    }
    s->n += n;
}

static void twice(const job *j, state *s, const block *b)
{
    _Alignas(64) double shift[LANES];
    wide first[LANES], second[LANES];
    bool moments = j->kind == MOMENTS;

    accumulate(j, j->acc, first, b, NULL, true);
    for (int64_t i = 0; i < b->lanes; i++) {
        if (moments)
            first[i].d /= (double)b->rows;
        second[i].d = moments || !isinf(first[i].d) ? first[i].d : 0;
    }
    spread(j, shift, second, b);
    accumulate(j, moments ? CFX_ACC_SQDIFF : CFX_ACC_SUMEXP, second, b, shift,
               true);
    /* The shift was rounded to the type of the elements. */
    if (moments && j->wide == CFX_W_F32)
        for (int64_t i = 0; i < b->lanes; i++) {
            double d = first[i].d - (double)(float)first[i].d;

            second[i].d -= d * d * (double)b->rows;
        }
    merge(j, s, first, second, b->rows, b->lanes);
}

static void take(const job *j, state *s, block b)
{
    int64_t most = cfx_max64(BLOCK / b.lanes, BLOCK_ROWS);

    if (j->kind == SIMPLE) {
        accumulate(j, j->acc, s->a, &b, NULL, s->n == 0);
        s->n += b.rows;
        return;
    }
    for (int64_t rows = b.rows; rows > 0 && !cfx_context_stops(j->ctx);
         rows -= b.rows) {
        b.rows = cfx_min64(rows, most);
        twice(j, s, &b);
        b.x += (size_t)(b.rows * b.stride) * j->size;
    }
}

/* ---- Reading ---- */

/* `rows` rows at x, `row` elements apart. */
static void take_rows(const job *j, state *s, const char *x, int64_t row,
                      int64_t rows, int64_t lanes)
{
    _Alignas(64) char buffer[BUFFER * sizeof(double)];
    size_t size = cfx_dtype_size(j->it->op[1].dtype);
    int64_t most = BUFFER / lanes;

    if (j->it->op[1].dtype == j->type && (j->x_lane == 1 || lanes == 1) &&
        (row == lanes || lanes >= SHORT)) {
        take(j, s, (block){x, row, rows, lanes});
        return;
    }
    while (rows > 0 && !cfx_context_stops(j->ctx)) {
        int64_t n = cfx_min64(rows, most);

        if (lanes == 1)
            j->load(buffer, 1, x, row, n);
        else if (lanes > n)
            for (int64_t r = 0; r < n; r++)
                j->load(buffer + (size_t)(r * lanes) * j->size, 1,
                        x + r * row * (int64_t)size, j->x_lane, lanes);
        else
            for (int64_t i = 0; i < lanes; i++)
                j->load(buffer + (size_t)i * j->size, lanes,
                        x + i * j->x_lane * (int64_t)size, row, n);
        take(j, s, (block){buffer, lanes, n, lanes});
        x += n * row * (int64_t)size;
        rows -= n;
    }
}

/* rest % extent, and *rest /= extent; mostly there is nothing to divide. */
static int64_t split(int64_t *rest, int64_t extent)
{
    int64_t n = *rest;

    if (n < extent) {
        *rest = 0;
        return n;
    }
    *rest = n / extent;
    return n % extent;
}

/* Rows begin..end of a unit whose first element is at `place`. */
static void take_range(const job *j, state *s, cfx_place place, int64_t lanes,
                       int64_t begin, int64_t end)
{
    int64_t rest = begin;

    if (begin == end)
        return;
    for (int i = 0; i < j->nreduced; i++)
        place.at[j->reduced[i]] = split(&rest, j->it->shape[j->reduced[i]]);
    while (begin < end && !cfx_context_stops(j->ctx)) {
        int axis = j->nreduced ? j->reduced[0] : 0;
        int64_t n = j->nreduced
                        ? cfx_min64(j->it->shape[axis] - place.at[axis],
                                    end - begin)
                        : 1;

        take_rows(j, s, cfx_operand_at(&j->it->op[1], j->it, &place), j->x_row,
                  n, lanes);
        begin += n;
        if (begin == end)
            break;
        place.at[axis] = 0;
        for (int i = 1; i < j->nreduced; i++) {
            axis = j->reduced[i];
            if (++place.at[axis] < j->it->shape[axis])
                break;
            place.at[axis] = 0;
        }
    }
}

/* The first element of a unit, and how many lanes it has. */
static int64_t unit_place(const job *j, int64_t unit, cfx_place *place)
{
    int64_t rest = unit, strip = split(&rest, j->strips);

    for (int i = 0; i < j->it->rank; i++)
        place->at[i] = 0;
    for (int i = 0; i < j->nkept; i++)
        place->at[j->kept[i]] = split(&rest, j->it->shape[j->kept[i]]);
    if (j->lane_axis < 0)
        return 1;
    place->at[j->lane_axis] = strip * j->width;
    return cfx_min64(j->width, j->it->shape[j->lane_axis] - strip * j->width);
}

/* ---- Results ---- */

static double variance(const job *j, int64_t count, double m2)
{
    double n = (double)count - j->param;

    return m2 / (n > 0 ? n : 0);
}

static double log_sum(int64_t n, double max, double sum)
{
    return n == 0 ? -INFINITY : log(sum) + (isinf(max) ? 0 : max);
}

/* The result of one lane with n rows. */
static wide finish_lane(const job *j, int64_t n, wide a, wide b)
{
    bool floats = j->wide != CFX_W_I64;

    switch (j->op) {
    case CFX_RED_MEAN: return (wide){.d = a.d / (double)n};
    case CFX_RED_VAR: return (wide){.d = variance(j, n, b.d)};
    case CFX_RED_STD: return (wide){.d = sqrt(variance(j, n, b.d))};
    case CFX_RED_NORM2: return (wide){.d = sqrt(a.d)};
    case CFX_RED_NORM: return (wide){.d = pow(a.d, 1 / j->param)};
    case CFX_RED_LOGSUMEXP: return (wide){.d = log_sum(n, a.d, b.d)};
    case CFX_RED_ANY: a.i = floats ? a.d > 0 : a.i > 0; break;
    case CFX_RED_ALL: a.i = floats ? a.d == (double)n : a.i == n; break;
    default: return a;
    }
    if (floats)
        a.d = (double)a.i;
    return a;
}

static void finish(const job *j, const state *s, const cfx_place *place,
                   int64_t lanes)
{
    const cfx_operand *y = &j->it->op[0];
    char *to = cfx_operand_at(y, j->it, place);
    wide result[LANES];

    for (int64_t i = 0; i < lanes; i++)
        result[i] = finish_lane(j, s->n, s->a[i], s->b[i]);
    j->store(to, j->y_lane, result, 1, lanes);
    if (j->mean)
        j->store(j->mean + (to - y->data), j->y_lane, s->a, 1, lanes);
}

static void begin_state(const job *j, state *s, int64_t lanes)
{
    s->n = 0;
    if (j->rows)
        return;
    fill(s->a, j->kind == MOMENTS ? (wide){.d = NAN} : identity(j), lanes);
    if (j->parts == 2)
        fill(s->b, (wide){.i = 0}, lanes);
}

static void run_units(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        cfx_place place;
        int64_t lanes = unit_place(j, begin, &place);
        state s;

        begin_state(j, &s, lanes);
        take_range(j, &s, place, lanes, 0, j->rows);
        finish(j, &s, &place, lanes);
    }
}

/* Reduce the short rows of units begin..end, many at a time. Elements of another type than
 * the loops read are converted into a buffer first. */
static void run_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    _Alignas(64) char buffer[BUFFER * sizeof(double)];
    const job *j = arg;
    const cfx_operand *y = &j->it->op[0], *x = &j->it->op[1];
    int axis = j->nkept ? j->kept[0] : 0;
    int64_t sx = j->nkept ? x->stride[axis] : 0;
    int64_t sy = j->nkept ? y->stride[axis] : 0;
    size_t ysize = cfx_dtype_size(y->dtype), xsize = cfx_dtype_size(x->dtype);
    bool same = x->dtype == j->type;
    int64_t most = same ? LANES
                        : cfx_min64(BUFFER / cfx_max64(j->rows, 1), LANES);

    (void)worker;
    for (; begin < end; begin += most) {
        int64_t n = cfx_min64(end - begin, most);
        const char *from = x->data + begin * sx * (int64_t)xsize;
        wide result[LANES];

        if (!same)
            j->load(buffer, 1, from, 1, n * j->rows);
        j->kernels->rows[j->wide][j->acc](result, same ? from : buffer, sx, n,
                                          j->rows, j->param);
        for (int64_t i = 0; i < n; i++)
            result[i] = finish_lane(j, j->rows, result[i], result[i]);
        j->store(y->data + begin * sy * (int64_t)ysize, sy, result, 1, n);
    }
}

static void run_pieces(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        int64_t first = begin % j->pieces * j->piece;
        wide *to = j->partial + begin * j->parts * j->width;
        cfx_place place;
        int64_t lanes = unit_place(j, begin / j->pieces, &place);
        state s;

        begin_state(j, &s, lanes);
        take_range(j, &s, place, lanes, first,
                   cfx_min64(first + j->piece, j->rows));
        memcpy(to, s.a, (size_t)lanes * sizeof(*to));
        if (j->parts == 2)
            memcpy(to + j->width, s.b, (size_t)lanes * sizeof(*to));
    }
}

static void merge_pieces(const job *j)
{
    for (int64_t unit = 0; unit < j->units; unit++) {
        cfx_place place;
        int64_t lanes = unit_place(j, unit, &place);
        state s;

        s.n = 0;
        for (int64_t p = 0; p < j->pieces; p++) {
            const wide *a = j->partial +
                            (unit * j->pieces + p) * j->parts * j->width;

            merge(j, &s, a, a + j->width,
                  cfx_min64(j->piece, j->rows - p * j->piece), lanes);
        }
        finish(j, &s, &place, lanes);
    }
}

/* ---- The plan ---- */

/* Does each output reduce a short contiguous row? Rows whose elements must be converted
 * also follow each other without gaps, and several fit into a buffer. */
static bool are_short_rows(const job *j)
{
    const cfx_iter *it = j->it;
    bool same = it->op[1].dtype == j->type;
    bool gaps = it->rank == 2 && it->op[1].stride[1] != it->shape[0];

    return j->kind == SIMPLE && it->rank >= 1 && it->rank <= 2 &&
           it->op[0].stride[0] == 0 && it->op[1].stride[0] == 1 &&
           (it->rank == 1 || it->op[0].stride[1] != 0) &&
           it->shape[0] <= (same ? SHORT_SUM : BUFFER / ROWS_BUFFERED) &&
           (same || !gaps);
}

/* Choose the axis of the lanes: the innermost if it is kept; else, if its rows
 * are short, the innermost that is kept. */
static int find_lanes(const cfx_iter *it)
{
    if (it->op[0].stride[0] != 0)
        return 0;
    if (it->shape[0] < SHORT)
        for (int i = 1; i < it->rank; i++)
            if (it->op[0].stride[i] != 0)
                return it->shape[i] >= SHORT ? i : -1;
    return -1;
}

static void plan(job *j)
{
    const cfx_iter *it = j->it;

    j->short_rows = are_short_rows(j);
    j->lane_axis = j->short_rows ? -1 : find_lanes(it);
    j->width = j->strips = j->units = j->rows = 1;
    for (int i = 0; i < it->rank; i++) {
        if (i == j->lane_axis) {
            j->width = cfx_min64(it->shape[i], LANES);
            j->strips = j->width ? (it->shape[i] - 1) / j->width + 1 : 0;
            j->x_lane = it->op[1].stride[i];
            j->y_lane = it->op[0].stride[i];
        } else if (it->op[0].stride[i] != 0 && it->shape[i] != 1) {
            j->kept[j->nkept++] = i;
            j->units *= it->shape[i];
        } else if (it->shape[i] != 1) {
            j->reduced[j->nreduced++] = i;
            j->rows *= it->shape[i];
        }
    }
    j->units *= j->strips;
    if (j->nreduced)
        j->x_row = it->op[1].stride[j->reduced[0]];
}

static void reduce(cfx_context *ctx, job *j)
{
    wide partial[PARTIALS];
    int64_t work = j->width * j->rows, grain;

    if (j->units == 0)
        return;
    if (j->units * j->width * j->parts <= PARTIALS / 2 &&
        j->units < FEW_UNITS && work > 2 * SPLIT_GRAIN) {
        int64_t most = PARTIALS / (j->units * j->width * j->parts);

        j->pieces = cfx_min64(work / SPLIT_GRAIN, most);
        j->piece = (j->rows + j->pieces - 1) / j->pieces;
        j->pieces = (j->rows + j->piece - 1) / j->piece;
        j->partial = partial;
        cfx_parallel_for(ctx, j->units * j->pieces, 1, run_pieces, j);
        merge_pieces(j);
        return;
    }
    grain = work < UNITS_GRAIN ? UNITS_GRAIN / (work ? work : 1) : 1;
    cfx_parallel_for(ctx, j->units, grain,
                     j->short_rows ? run_rows : run_units, j);
}

static cfx_wide wide_of(cfx_dtype t)
{
    return !cfx_dtype_is_float(t) ? CFX_W_I64
           : t == CFX_F64         ? CFX_W_F64
                                  : CFX_W_F32;
}

/* Norms that are something simpler. */
static cfx_red simpler_norm(double p)
{
    return p == 0           ? CFX_RED_COUNT_NONZERO
           : p == 1         ? CFX_RED_NORM1
           : p == 2         ? CFX_RED_NORM2
           : p == INFINITY  ? CFX_RED_NORMINF
           : p == -INFINITY ? CFX_RED_NORMNINF
                            : CFX_RED_NORM;
}

static void reduce_with_mean(cfx_context *ctx, cfx_red op, cfx_dtype dtype,
                             cfx_iter *it, double param, void *mean)
{
    static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_I64};
    const cfx_kernels *kernels = cfx_context_kernels(ctx);
    job j = {.ctx = ctx, .it = it, .op = op, .param = param, .mean = mean};
    cfx_dtype wide_type;

    if (op == CFX_RED_NORM)
        j.op = simpler_norm(param);
    j.acc = list[j.op].acc;
    j.kind = list[j.op].kind;
    j.parts = j.kind == SIMPLE ? 1 : 2;
    j.wide = wide_of(dtype);
    j.type = types[j.wide];
    j.size = cfx_dtype_size(j.type);
    wide_type = j.wide == CFX_W_I64 ? CFX_I64 : CFX_F64;
    j.kernels = kernels->reduce;
    j.load = kernels->pointwise->convert[j.type][it->op[1].dtype];
    j.store = kernels->pointwise->convert[it->op[0].dtype][wide_type];
    j.narrow = kernels->pointwise->convert[j.type][CFX_F64];
    cfx_iter_coalesce(it, 1);
    plan(&j);
    reduce(ctx, &j);
}

void cfx_reduce(cfx_context *ctx, cfx_red op, cfx_dtype dtype, cfx_iter *it,
                double param)
{
    reduce_with_mean(ctx, op, dtype, it, param, NULL);
}

void cfx_reduce_var_mean(cfx_context *ctx, cfx_red op, cfx_dtype dtype,
                         cfx_iter *it, double correction, void *mean)
{
    reduce_with_mean(ctx, op, dtype, it, correction, mean);
}
