/*
 * pointwise.c -- brings any operands to loops that know only rows without gaps
 * of one type.
 *
 * The walk goes in chunks. An operand that is such a row already is used in
 * place; others are gathered into a buffer that stays in the first level cache,
 * and the output may be scattered from one. Where rows are long, a chunk is
 * part of one row; where they are short it spans several.
 */
#include "kernel/pointwise/pointwise_kernel.h"

#include <stdatomic.h>

#include "kernel/partition.h"

enum {
    BUFFER = 4096,   /* bytes of a buffer */
    SHORT_ROW = 128, /* elements */
    GRAIN = 32768,   /* elements that are worth another thread */
    GRAIN_FLOAT = CFX_POINTWISE_FEW, /* of functions that only floats have */
    STREAM_CHUNK = 128 /* elements: so few that loads and stores overlap */
};

const uint8_t cfx_compute_of[CFX_NDTYPES] = {
#define DTYPE(c, name, other, abbr, ctype, cat, digits, largest, compute,     \
              ...)                                                            \
    [CFX_##c] = CFX_C_##compute,
#include <cfx/dtype.def>
#undef DTYPE
};

const uint8_t cfx_compute_dtype[CFX_C_COUNT] = {
    [CFX_C_F32] = CFX_F32,   [CFX_C_F64] = CFX_F64,   [CFX_C_I64] = CFX_I64,
    [CFX_C_I32] = CFX_I32,   [CFX_C_I16] = CFX_I16,   [CFX_C_I8] = CFX_I8,
    [CFX_C_U8] = CFX_U8,     [CFX_C_BOOL] = CFX_BOOL, [CFX_C_C64] = CFX_C64,
    [CFX_C_C128] = CFX_C128,
};

/* ---- The list ---- */

enum { OF_FLOAT = 1, OF_INT = 2, OF_BOOL = 4, HAS_MASK = 8 };

static const struct {
    uint8_t types;
    bool is_bool;
} list[CFX_PW_COUNT] = {
#define TYPES_FLOAT OF_FLOAT
#define TYPES_OWN OF_FLOAT
#define TYPES_NUM (OF_FLOAT | OF_INT)
#define TYPES_OWN_NUM TYPES_NUM
#define TYPES_INT OF_INT
#define TYPES_BITS (OF_INT | OF_BOOL)
#define TYPES_ALL (OF_FLOAT | OF_INT | OF_BOOL)
#define TYPES_MASK (TYPES_ALL | HAS_MASK)
#define TYPES_HALF 0
#define TYPES_COMPLEX 0
#define RESULT_SAME false
#define RESULT_BOOL true
#define PW(name_, inputs_, types_, result, expr)                              \
    [CFX_PW_##name_] = {                                                      \
        .types = TYPES_##types_,                                              \
        .is_bool = RESULT_##result,                                           \
    },
#include "kernel/pointwise/pointwise.def"
#undef PW
};

static const bool of_complex[CFX_PW_COUNT] = {
#define PW(name, ...) [CFX_PW_##name] = true,
#include "kernel/pointwise/pointwise_complex.def"
#undef PW
};

bool cfx_pointwise_has(cfx_pw op, cfx_dtype dtype)
{
    if (cfx_dtype_is_complex(dtype))
        return of_complex[op];

    cfx_category c = cfx_dtypes[dtype].category;

    return !(1 << dtype & CFX_STORED_TYPES) &&
           list[op].types & (c == CFX_CAT_FLOAT ? OF_FLOAT
                             : c == CFX_CAT_INT ? OF_INT
                                                : OF_BOOL);
}

bool cfx_pointwise_is_bool(cfx_pw op)
{
    return list[op].is_bool;
}

/* ---- 16-bit floats ---- */

/* The operand that is not rounded where it is a single element; 0: none. */
static const uint8_t unrounded[CFX_PW_COUNT] = {
    [CFX_PW_MUL] = 2,       [CFX_PW_DIV] = 2,       [CFX_PW_DIV_TRUNC] = 2,
    [CFX_PW_DIV_FLOOR] = 2, [CFX_PW_LERP] = 3,      [CFX_PW_ADDCMUL] = 4,
    [CFX_PW_ADDCDIV] = 4,   [CFX_PW_RDIV_HALF] = 2,
};

static bool is_rounded(const cfx_iter *it, cfx_pw op, cfx_dtype dtype, int k)
{
    const cfx_operand *o = &it->op[k];

    return cfx_dtype_is_reduced(dtype) && o->dtype != dtype &&
           !(k == 1 && list[op].types & HAS_MASK) &&
           !(o->single && unrounded[op] == k);
}

/* The operation with PyTorch's roundings, where these differ from f32's. */
static cfx_pw of_halves(const cfx_iter *it, cfx_pw op, cfx_dtype dtype)
{
#define HALF(op) [CFX_PW_##op] = CFX_PW_##op##_HALF
    static const uint8_t half[CFX_PW_COUNT] = {
        HALF(CUBE),       HALF(RSQUARE),    HALF(LOGIT),      HALF(GELU_TANH),
        HALF(HARDSWISH),  HALF(HARDSHRINK), HALF(SOFTSHRINK), HALF(SOFTSIGN),
        HALF(TANHSHRINK), HALF(RDIV),       HALF(DIV_TRUNC),  HALF(DIV_FLOOR),
        HALF(XLOGY),      HALF(NEXTAFTER),
    };
#undef HALF
    bool is_single = unrounded[op] && it->op[unrounded[op]].single;

    return cfx_dtype_is_reduced(dtype) && half[op] && !is_single
               ? (cfx_pw)half[op]
               : op;
}

/* ---- One call ---- */

typedef struct job_operand {
    bool direct;  /* the loop reads or writes it in place */
    bool rounded; /* it is rounded to the type that is computed */
    bool still;   /* one element for all */
    size_t size;  /* of an element, as the loop wants it */
    cfx_convert_fn *convert;
} job_operand;

typedef struct job {
    const cfx_iter *it;
    cfx_loop_fn *loop;
    const double *params;
    cfx_convert_fn *to_half, *from_half; /* of operands that are rounded */
    void (*stream)(void *y, const void *x, size_t bytes); /* or NULL */
    bool rows;     /* chunks do not go beyond a row */
    bool direct;   /* all operands are */
    int64_t chunk; /* most elements of a chunk that uses buffers */
    job_operand op[CFX_ITER_OPERANDS];
    atomic_uint zero;
} job;

/* The types that the loop wants its operands in. */
static cfx_pointwise_types types_of(cfx_pw op, cfx_dtype dtype)
{
    uint8_t type = cfx_compute_dtype[cfx_compute_of[dtype]];

    return (cfx_pointwise_types){
        .out = list[op].is_bool ? CFX_BOOL : type,
        .first = list[op].types & HAS_MASK ? CFX_BOOL : type,
        .rest = type,
    };
}

static cfx_dtype operand_type(const cfx_pointwise_types *types, int k)
{
    return (cfx_dtype)(k == 0   ? types->out
                       : k == 1 ? types->first
                                : types->rest);
}

/* Is it one row without gaps from end to end? */
static bool is_linear(const cfx_iter *it, const cfx_operand *op)
{
    int64_t n = 1;

    for (int i = 0; i < it->rank; i++) {
        if (op->stride[i] != n)
            return false;
        n *= it->shape[i];
    }
    return true;
}

static bool is_still(const cfx_iter *it, const cfx_operand *op)
{
    for (int i = 0; i < it->rank; i++)
        if (op->stride[i] != 0)
            return false;
    return true;
}

/* One row without gaps of the right types needs no plan. */
static bool is_plain(const cfx_iter *it, cfx_pw op, cfx_dtype dtype)
{
    cfx_pointwise_types types = types_of(op, dtype);

    if (it->rank > 1)
        return false;
    for (int k = 0; k < it->count; k++)
        if (it->op[k].stride[0] != 1 ||
            it->op[k].dtype != operand_type(&types, k))
            return false;
    return true;
}

static bool run_plain(cfx_loop_fn *loop, const cfx_iter *it,
                      const double *params)
{
    const void *in[CFX_ITER_OPERANDS - 1];

    for (int k = 1; k < it->count; k++)
        in[k - 1] = it->op[k].data;
    return !loop(it->op[0].data, in, it->shape[0], params);
}

static void plan(job *j, const cfx_kernels *kernels, cfx_pw op,
                 cfx_dtype dtype)
{
    const cfx_iter *it = j->it;
    cfx_pointwise_types types = types_of(op, dtype);
    size_t widest = 1;

    j->rows = it->rank == 1 || it->shape[0] >= SHORT_ROW;
    j->direct = true;
    j->to_half = kernels->pointwise->convert[dtype][CFX_F32];
    j->from_half = kernels->pointwise->convert[CFX_F32][dtype];
    for (int k = 0; k < it->count; k++) {
        const cfx_operand *o = &it->op[k];
        cfx_dtype want = operand_type(&types, k);
        job_operand *p = &j->op[k];

        p->size = cfx_dtype_size(want);
        p->rounded = k && is_rounded(it, op, dtype, k);
        p->direct = o->dtype == want && !p->rounded &&
                    (j->rows ? o->stride[0] == 1 : is_linear(it, o));
        p->still = !p->direct && is_still(it, o);
        p->convert = k ? kernels->pointwise->convert[want][o->dtype]
                       : kernels->pointwise->convert[o->dtype][want];
        j->direct &= p->direct;
        if (p->size > widest)
            widest = p->size;
    }
    j->chunk = BUFFER / (int64_t)widest;
}

/* Convert n elements of operand k, from `place` on, into (out of) a row. */
static void gather(const job *j, int k, cfx_place place, void *row, int64_t n)
{
    const cfx_iter *it = j->it;
    const cfx_operand *op = &it->op[k];
    int64_t size = (int64_t)cfx_dtype_size(op->dtype);
    int64_t width = it->shape[0];
    int64_t next = it->rank > 1 ? op->stride[1] * size : 0;
    cfx_convert_fn *convert = j->op[k].convert;
    char *r = row;

    while (n > 0) {
        /* Rows along axis 1, from the place on. */
        int64_t m = width - place.at[0], done = 0;
        int64_t rows = it->rank > 1 ? it->shape[1] - place.at[1] : 1;
        char *p = cfx_operand_at(op, it, &place);
        char *start = p - place.at[0] * op->stride[0] * size;

        for (; rows > 0 && done < n; rows--) {
            if (m > n - done)
                m = n - done;
            if (k)
                convert(r, 1, p, op->stride[0], m);
            else
                convert(p, op->stride[0], r, 1, m);
            r += (size_t)m * j->op[k].size;
            done += m;
            p = start += next;
            m = width;
        }
        n -= done;
        cfx_place_advance(&place, it, done);
    }
}

/* A row of f32, rounded to the 16-bit type. */
static void round_row(const job *j, void *row, int64_t n)
{
    uint16_t half[BUFFER / sizeof(float)];

    j->to_half(half, 1, row, 1, n);
    j->from_half(row, 1, half, 1, n);
}

static void fill(const job *j, int k, cfx_place place, void *row, int64_t n)
{
    gather(j, k, place, row, n);
    if (j->op[k].rounded)
        round_row(j, row, n);
}

static void put(const job *j, cfx_place place, void *row, int64_t n)
{
    if (j->stream)
        j->stream(cfx_operand_at(&j->it->op[0], j->it, &place), row,
                  (size_t)n * j->op[0].size);
    else if (!j->op[0].direct)
        gather(j, 0, place, row, n);
}

/* Elements begin..end of the walk. */
static void run(void *arg, int64_t begin, int64_t end, int worker)
{
    _Alignas(64) unsigned char buffer[CFX_ITER_OPERANDS][BUFFER];
    job *j = arg;
    const cfx_iter *it = j->it;
    bool buffered = !j->direct || j->stream;
    int64_t filled[CFX_ITER_OPERANDS] = {0};
    cfx_place place;
    unsigned zero = 0;

    (void)worker;
    cfx_place_seek(&place, it, begin);
    while (begin < end) {
        const void *in[CFX_ITER_OPERANDS - 1];
        void *out = buffer[0];
        int64_t n = end - begin;

        if (j->rows && n > it->shape[0] - place.at[0])
            n = it->shape[0] - place.at[0];
        if (buffered && n > j->chunk)
            n = j->chunk;
        for (int k = 1; k < it->count; k++) {
            in[k - 1] = buffer[k];
            if (j->op[k].direct)
                in[k - 1] = cfx_operand_at(&it->op[k], it, &place);
            else if (!j->op[k].still || filled[k] < n)
                fill(j, k, place, buffer[k], filled[k] = n);
        }
        if (j->op[0].direct && !j->stream)
            out = cfx_operand_at(&it->op[0], it, &place);
        zero |= j->loop(out, in, n, j->params);
        put(j, place, buffer[0], n);
        cfx_place_advance(&place, it, n);
        begin += n;
    }
    if (j->stream)
        j->stream(NULL, NULL, 0);
    if (zero)
        atomic_store_explicit(&j->zero, 1, memory_order_relaxed);
}

cfx_pw cfx_pointwise_power(double exponent, cfx_dtype dtype)
{
    cfx_pw op = exponent == 2      ? CFX_PW_SQUARE
                : exponent == 3    ? CFX_PW_CUBE
                : exponent == 0.5  ? CFX_PW_SQRT
                : exponent == -0.5 ? CFX_PW_RSQRT
                : exponent == -1   ? CFX_PW_RECIPROCAL
                : exponent == -2   ? CFX_PW_RSQUARE
                                   : CFX_PW_POW;

    return cfx_pointwise_has(op, dtype) ? op : CFX_PW_POW;
}

/* The power of an iterator whose exponent may be a number. */
static cfx_pw power_of(cfx_iter *it, cfx_dtype dtype)
{
    const cfx_operand *e = &it->op[2];
    cfx_pw op = CFX_PW_POW;

    if (!e->data && e->dtype != CFX_C128)
        op = cfx_pointwise_power(
            e->dtype == CFX_F64 ? e->number.d : (double)e->number.i, dtype);
    if (op != CFX_PW_POW)
        it->count = 2;
    return op;
}

/* Outputs that the caches cannot hold are stored past them, which saves
 * reading them first; not where that has been done, as an input. */
static bool goes_past_caches(const cfx_context *ctx, const job *j, int64_t n)
{
    const cfx_iter *it = j->it;

    if (!cfx_streams(ctx, n * (int64_t)j->op[0].size) || !j->op[0].direct ||
        it->rank > 1)
        return false;
    for (int k = 1; k < it->count; k++)
        if (it->op[k].data == it->op[0].data)
            return false;
    return true;
}

static const double none[3];

cfx_loop_fn *cfx_pointwise_loop(const cfx_context *ctx, cfx_compute type,
                                cfx_pw op)
{
    return cfx_context_kernels(ctx)->pointwise->loop[type][op];
}

/* POW is another operation for some exponents. */
bool cfx_pointwise_direct(const cfx_context *ctx, cfx_pw op, cfx_dtype dtype,
                          cfx_loop_fn **loop, cfx_pointwise_types *types)
{
    cfx_compute type = (cfx_compute)cfx_compute_of[dtype];

    *loop = op == CFX_PW_POW || type == CFX_C_STORED
                ? NULL
                : cfx_pointwise_loop(ctx, type, op);
    if (!*loop && !cfx_pointwise_has(op, dtype))
        return false;
    *types = types_of(op, dtype);
    return true;
}

bool cfx_pointwise(cfx_context *ctx, cfx_pw op, cfx_dtype dtype, cfx_iter *it,
                   const double *params)
{
    const cfx_kernels *kernels = cfx_context_kernels(ctx);
    int64_t n = cfx_iter_numel(it);
    int64_t grain = list[op].types == OF_FLOAT ? GRAIN_FLOAT : GRAIN;
    double own[3];
    job j;

    if (n == 0)
        return true;
    if (op == CFX_PW_POW)
        op = power_of(it, dtype);
    op = of_halves(it, op, dtype);
    if (!params)
        params = none;
    if (cfx_dtype_is_reduced(dtype) && !list[op].types) {
        own[0] = params[0];
        own[1] = params[1];
        own[2] = dtype == CFX_F16;
        params = own;
    }
    cfx_iter_coalesce(it, 0);
    j.loop = kernels->pointwise->loop[cfx_compute_of[dtype]][op];
    if (n <= grain && is_plain(it, op, dtype))
        return run_plain(j.loop, it, params);
    j.it = it;
    j.params = params;
    j.stream = NULL;
    atomic_init(&j.zero, 0);
    plan(&j, kernels, op, dtype);
    if (goes_past_caches(ctx, &j, n)) {
        j.stream = kernels->pointwise->stream;
        j.chunk = STREAM_CHUNK;
    }
    cfx_parallel_for(ctx, n, grain, run, &j);
    return !atomic_load_explicit(&j.zero, memory_order_relaxed);
}
