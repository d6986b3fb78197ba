/*
 * embedding -- rows of a table by their numbers, each or added up in bags.
 *
 * shape   (index..., d); of bags (bags, d).
 * cost    embedding: none; bags: an addition for each element but the first, a
 *         product where it is weighed, a division where it is a mean. Reads the
 *         rows taken. What max_norm takes is not counted.
 */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/move/index_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, INPUT, WEIGHT, INDICES, OFFSETS, PADDING_IDX,
           SCALE_GRAD_BY_FREQ, SPARSE, MODE, PER_SAMPLE_WEIGHTS,
           INCLUDE_LAST_OFFSET, MAX_NORM, NORM_TYPE);

/* The parameters of torch.nn.functional.embedding and embedding_bag, by their
 * places. */
enum { F_INPUT, F_WEIGHT, F_PADDING, F_MAX_NORM, F_NORM_TYPE };
enum { F_OFFSETS = 2, F_MODE = 6, F_EACH = 8, F_LAST, F_BAG_PADDING };

static cfx_status check_table(cfx_call *call, const cfx_tensor *w,
                              const cfx_tensor *index)
{
    if (w->rank != 2)
        return cfx_call_fail(call, CFX_ESHAPE, "'weight' must be 2-D");
    if (index->dtype != CFX_I64 && index->dtype != CFX_I32)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Expected tensor for argument 'indices' to have one of the following scalar types: Long, Int; but got %s instead",
            cfx_dtypes[index->dtype].name);
    return CFX_OK;
}

static cfx_status embedding_infer(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_table(call, w, index);
    if (!st && index->rank == CFX_MAX_RANK)
        st = cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                           index->rank + 1, CFX_MAX_RANK);
    if (st)
        return st;
    for (int i = 0; i < index->rank; i++)
        shape[i] = index->shape[i];
    shape[index->rank] = w->shape[1];
    return cfx_call_out(call, (cfx_dtype)w->dtype, index->rank + 1, shape);
}

static cfx_dim bytes_of(const cfx_call *call, const cfx_tensor *t)
{
    return cfx_dim_mul(
        call->env, cfx_cost_numel(call, t),
        cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype)));
}

static void embedding_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim rows = bytes_of(call, call->out[0]);
    cost->bytes_written = rows;
    cost->bytes_read = cfx_dim_add(
        call->env, rows, bytes_of(call, cfx_call_tensor(call, INDICES)));
}

static cfx_status embedding_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *w = cfx_loop_contiguous(call, cfx_call_tensor(call, WEIGHT));
    cfx_tensor *index = w ? cfx_loop_contiguous(call,
                                                cfx_call_tensor(call, INDICES))
                          : NULL;
    cfx_status st = index ? CFX_OK : CFX_ENOMEM;
    int64_t bad = 0;
    if (!st &&
        !cfx_kernel_index_select(
            call->ctx, cfx_dtype_size((cfx_dtype)y->dtype), y->data, w->data,
            (cfx_dtype)index->dtype, index->data, 1, cfx_tensor_size(w, 0),
            cfx_tensor_size(w, 1), cfx_tensor_numel(index), &bad))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "index out of range in self: %lld of %lld rows",
                           (long long)bad, (long long)cfx_tensor_size(w, 0));
    cfx_tensor_unref(index);
    cfx_tensor_unref(w);
    return st;
}

/* With max_norm the table is written to: another operator does it. */
static cfx_status need_max_norm(cfx_call *call, cfx_value v, bool given)
{
    return cfx_value_is_none(v) != given
               ? CFX_OK
               : cfx_fail(call->err, CFX_EINVAL, "embedding: max_norm is %s",
                          given ? "missing" : "given");
}

static cfx_status check_padding(cfx_call *call, cfx_value weight, cfx_value v)
{
    if (v.kind != CFX_INT || weight.kind != CFX_TENSOR ||
        weight.u.tensor->rank < 1)
        return CFX_OK;
    cfx_dim n = weight.u.tensor->shape[0];
    if (!cfx_dim_is_int(n) ||
        (v.u.i < cfx_dim_value(n) && v.u.i >= -cfx_dim_value(n)))
        return CFX_OK;
    return cfx_fail(call->err, CFX_EINVAL,
                    "embedding: padding_idx must be within num_embeddings");
}

static cfx_status functional_lower(cfx_call *call, const cfx_value *in,
                                   cfx_value *out)
{
    cfx_status st = need_max_norm(call, in[F_MAX_NORM], false);
    if (!st)
        st = check_padding(call, in[F_WEIGHT], in[F_PADDING]);
    out[cfx_call_place(call, WEIGHT)] = in[F_WEIGHT];
    out[cfx_call_place(call, INDICES)] = in[F_INPUT];
    return st;
}

/* ---- max_norm ---- */

static cfx_status renorm_infer(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, SELF);
    cfx_status st = check_table(call, w, cfx_call_tensor(call, INDICES));
    if (!st)
        st = cfx_infer_need_float(call, (cfx_dtype)w->dtype);
    return st ? st : cfx_infer_like(call, w, (cfx_dtype)w->dtype);
}

static double row_norm(const cfx_tensor *w, int64_t row, double p)
{
    double sum = p == -INFINITY ? INFINITY : 0;
    for (int64_t i = 0, n = cfx_tensor_size(w, 1); i < n; i++) {
        double x = fabs(cfx_element_double(
            (cfx_dtype)w->dtype, cfx_tensor_at(w, (int64_t[]){row, i})));
        if (isinf(p))
            sum = p > 0 ? fmax(sum, x) : fmin(sum, x);
        else
            sum += p == 0 ? x != 0 : p == 1 ? x : p == 2 ? x * x : pow(x, p);
    }
    return isinf(p) || p == 0 || p == 1 ? sum
           : p == 2                     ? sqrt(sum)
                                        : pow(sum, 1 / p);
}

/* A norm and a factor are of the table's type, or of float32 where that is
 * shorter. */
static double rounded(cfx_dtype type, double v)
{
    return type == CFX_F64 ? v : (double)(float)v;
}

static void shorten_row(const cfx_tensor *w, int64_t row, double most,
                        double p)
{
    cfx_dtype type = (cfx_dtype)w->dtype;
    double element[1], norm = row_norm(w, row, p);
    cfx_element_set_double(type, element, norm);
    norm = cfx_element_double(type, element);
    if (!(norm > most))
        return;
    double factor = rounded(type, most / (norm + 1e-7));
    for (int64_t i = 0, n = cfx_tensor_size(w, 1); i < n; i++) {
        void *x = cfx_tensor_at(w, (int64_t[]){row, i});
        cfx_element_set_double(type, x, cfx_element_double(type, x) * factor);
    }
}

/* Make the rows that are used no longer than `most`. One that was made so may
 * still be a little longer: none is looked at twice. */
static cfx_status shorten_rows(cfx_call *call, const cfx_tensor *w,
                               const cfx_tensor *index, double most, double p)
{
    cfx_dtype type = (cfx_dtype)index->dtype;
    int64_t rows = cfx_tensor_size(w, 0), n = cfx_tensor_numel(index);
    cfx_tensor *in_order = cfx_loop_contiguous(call, index);
    bool *seen = in_order ? cfx_calloc(call->ctx, 1, (size_t)rows + 1) : NULL;
    cfx_status st = seen ? CFX_OK
                         : cfx_call_fail(call, CFX_ENOMEM, "out of memory");
    for (int64_t i = 0; i < n && !st && !cfx_context_stops(call->ctx); i++) {
        int64_t row = cfx_element_int(
            type, (char *)in_order->data + (size_t)i * cfx_dtype_size(type));
        if (row < 0 || row >= rows) {
            st = cfx_call_fail(call, CFX_EINVAL,
                               "index out of range in self: %lld of %lld rows",
                               (long long)row, (long long)rows);
        } else if (!seen[row]) {
            shorten_row(w, row, most, p);
            seen[row] = true;
        }
    }
    cfx_free(call->ctx, seen, (size_t)rows + 1);
    cfx_tensor_unref(in_order);
    return st;
}

static cfx_status renorm_run(cfx_call *call)
{
    cfx_status st = cfx_tensor_copy(call->out[0], cfx_call_tensor(call, SELF),
                                    call->err);
    return st ? st
              : shorten_rows(call, call->out[0],
                             cfx_call_tensor(call, INDICES),
                             cfx_call_double(call, MAX_NORM),
                             cfx_call_double(call, NORM_TYPE));
}

const cfx_op cfx_op__embedding_renorm = {
    .schema =
        "embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
    .params = params,
    .aliases = "aten.",
    .inplace_aliases = "torch. aten.",
    .doc = "A table, of which some rows are made no longer than a norm.",
    .infer = renorm_infer,
    .run = renorm_run,
};

static cfx_status max_norm_infer(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    cfx_status st = cfx_infer_need_float(call, (cfx_dtype)w->dtype);
    if (!st)
        st = cfx_infer_written(call, w);
    return st ? st : embedding_infer(call);
}

static cfx_status max_norm_run(cfx_call *call)
{
    cfx_status st = shorten_rows(
        call, cfx_call_tensor(call, WEIGHT), cfx_call_tensor(call, INDICES),
        cfx_call_double(call, MAX_NORM), cfx_call_double(call, NORM_TYPE));
    return st ? st : embedding_run(call);
}

static cfx_status max_norm_lower(cfx_call *call, const cfx_value *in,
                                 cfx_value *out)
{
    cfx_status st = need_max_norm(call, in[F_MAX_NORM], true);
    if (!st)
        st = check_padding(call, in[F_WEIGHT], in[F_PADDING]);
    out[cfx_call_place(call, WEIGHT)] = in[F_WEIGHT];
    out[cfx_call_place(call, INDICES)] = in[F_INPUT];
    out[cfx_call_place(call, MAX_NORM)] = in[F_MAX_NORM];
    out[cfx_call_place(call, NORM_TYPE)] = in[F_NORM_TYPE];
    return st;
}

#define EMBEDDING                                                             \
    "torch.nn.functional.embedding(Tensor input, Tensor weight, SymInt? "     \
    "padding_idx=None, float? max_norm=None, float norm_type=2.0, bool "      \
    "scale_grad_by_freq=False, bool sparse=False) -> Tensor"

static const cfx_op embedding_max_norm = {
    .schema =
        "embedding.max_norm(Tensor(a!) weight, Tensor indices, float max_norm, float norm_type=2.0) -> Tensor",
    .params = params,
    .variants = (const cfx_variant[]){{EMBEDDING, max_norm_lower},
                                      {NULL, NULL}},
    .doc = "Rows of a table, which are made no longer than a norm first.",
    .infer = max_norm_infer,
    .cost = embedding_cost,
    .run = max_norm_run,
};

const cfx_op cfx_op__embedding = {
    .schema =
        "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .variants = (const cfx_variant[]){{EMBEDDING, functional_lower},
                                      {NULL, NULL}},
    .doc = "Rows of a table by their numbers.",
    .infer = embedding_infer,
    .cost = embedding_cost,
    .run = embedding_run,
    .next = &embedding_max_norm,
};

/* ---- Bags ---- */

enum { SUM, MEAN, MAX };

/* The state of a call. */
struct bags {
    const cfx_tensor *w, *index, *offsets, *each;
    int mode;  /* -1: none of the above */
    bool last; /* the last offset is the end of the last bag */
    bool pads;
    int64_t padding; /* a row that is passed over, if pads */
    bool more;       /* there are further results */
};

static int mode_named(const char *name)
{
    static const char *const names[] = {"sum", "mean", "max"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

/* torch.nn.functional's operator calls the indices input, and modes by names;
 * ATen's gives more results. */
static void read_bags(const cfx_call *call, struct bags *b)
{
    bool more = call->op->code;
    int64_t mode = cfx_call_int(call, MODE);
    *b = (struct bags){
        .w = cfx_call_tensor(call, WEIGHT),
        .index = cfx_call_tensor(call, more ? INDICES : INPUT),
        .offsets = cfx_call_tensor(call, OFFSETS),
        .each = cfx_call_tensor(call, PER_SAMPLE_WEIGHTS),
        .more = more,
    };
    b->last = cfx_call_bool(call, INCLUDE_LAST_OFFSET) && b->offsets;
    b->pads = cfx_call_has(call, PADDING_IDX) &&
              (!more || cfx_call_int(call, PADDING_IDX) >= 0);
    b->padding = b->pads ? cfx_call_int(call, PADDING_IDX) : -1;
    if (more)
        b->mode = mode >= SUM && mode <= MAX ? (int)mode : -1;
    else
        b->mode = mode_named(cfx_call_str(call, MODE));
}

static cfx_status check_index(cfx_call *call, const struct bags *b)
{
    const cfx_tensor *offsets = b->offsets;
    if (b->index->rank == 2 && offsets && !b->more)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences");
    if (b->index->rank == 1 && (!offsets || offsets->rank != 1))
        return cfx_call_fail(call, CFX_EINVAL,
                             "offsets has to be a 1D Tensor but got %s",
                             offsets ? "another rank" : "None");
    if (b->index->rank != 1 && (b->index->rank != 2 || b->more))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input has to be 1D or 2D Tensor, but got Tensor of dimension %d",
            b->index->rank);
    if (offsets && offsets->dtype != CFX_I64 && offsets->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE, "offsets must be ints");
    return CFX_OK;
}

static cfx_status check_bags(cfx_call *call, const struct bags *b)
{
    if (b->mode < 0)
        return cfx_call_fail(call, CFX_EINVAL,
                             "mode has to be one of sum, mean or max");
    if (!cfx_dtype_is_float((cfx_dtype)b->w->dtype))
        return cfx_infer_refuse(call, (cfx_dtype)b->w->dtype);
    cfx_status st = check_index(call, b);
    if (st || !b->each)
        return st;
    if (b->mode != SUM)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "per_sample_weights was not None but is only supported for mode='sum'");
    bool same = b->each->rank == b->index->rank &&
                b->each->dtype == b->w->dtype;
    for (int i = 0; same && i < b->each->rank; i++)
        same = cfx_dim_eq(call->env, b->each->shape[i], b->index->shape[i]);
    return same
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "per_sample_weights must have the same shape as the input and the type of the weight");
}

/*
 * PyTorch's results for the backward pass: the bag of each index, the sizes of
 * the bags, and the rows of the maxima. Its fast path for sums leaves the
 * first empty.
 */
static cfx_status further_results(cfx_call *call, const struct bags *b,
                                  cfx_dim bags)
{
    bool quick = b->mode == SUM && b->w->dtype != CFX_F64 && !b->pads &&
                 cfx_dim_is(b->w->stride[1], 1) &&
                 (!b->each || cfx_dim_is(b->each->stride[0], 1));
    cfx_dim places = quick ? cfx_dim_int(0) : b->index->shape[0];
    cfx_dim most[] = {bags, b->w->shape[1]};
    cfx_status st = cfx_call_out(call, CFX_I64, 1, &places);
    if (!st)
        st = cfx_call_out(call, CFX_I64, 1, &bags);
    return st ? st : cfx_call_out(call, CFX_I64, b->mode == MAX ? 2 : 1, most);
}

static cfx_status bag_infer(cfx_call *call)
{
    struct bags *b = call->state;
    read_bags(call, b);
    cfx_status st = check_table(call, b->w, b->index);
    if (!st)
        st = check_bags(call, b);
    if (st)
        return st;
    cfx_dim shape[] = {b->offsets ? b->offsets->shape[0] : b->index->shape[0],
                       b->w->shape[1]};
    if (b->last) {
        if (cfx_dim_is(shape[0], 0))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "include_last_offset: number of offsets should be at least 1");
        shape[0] = cfx_dim_sub(call->env, shape[0], cfx_dim_int(1));
    }
    st = cfx_call_out(call, (cfx_dtype)b->w->dtype, 2, shape);
    return !st && b->more ? further_results(call, b, shape[0]) : st;
}

/* n - 1 row sums for each bag; a product for each weighted element, a division
 * for each mean. */
static void bag_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct bags *b = call->state;
    cfx_dim taken = cfx_dim_mul(call->env, cfx_cost_numel(call, b->index),
                                b->w->shape[1]);
    cfx_dim out = cfx_cost_numel(call, call->out[0]);
    bool mean = b->mode == MEAN;
    const cfx_tensor *read[] = {b->index, b->offsets, b->each};
    if (b->mode != MAX)
        cost->ops = cfx_cost_linear(call, 1 + (b->each != NULL), taken,
                                    mean - 1, out);
    if (mean)
        cost->transcendental = out;
    cost->bytes_read = cfx_cost_sized(call, taken, b->w);
    for (int i = 0; i < 3; i++)
        if (read[i])
            cost->bytes_read = cfx_dim_add(call->env, cost->bytes_read,
                                           cfx_cost_bytes_of(call, read[i]));
}

/* One bag after another: their rows are added up in doubles. */
struct filling {
    struct bags b; /* its tensors row-major */
    cfx_dtype type;
    int64_t rows, d, count;     /* of the table; of all indices */
    double *sum;                /* d numbers */
    int64_t *bag, *size, *most; /* further results, or NULL */
};

static void add_row(const struct filling *f, int64_t row, double factor,
                    bool first, int64_t *most)
{
    size_t size = cfx_dtype_size(f->type);
    const char *p = (const char *)f->b.w->data + (size_t)(row * f->d) * size;
    for (int64_t j = 0; j < f->d; j++, p += size) {
        double v = cfx_element_double(f->type, p) * factor;
        if (f->b.mode != MAX) {
            f->sum[j] = first ? v : f->sum[j] + v;
        } else if (first || v > f->sum[j] || isnan(v)) {
            f->sum[j] = v;
            if (most)
                most[j] = row;
        }
    }
}

static int64_t row_at(const cfx_tensor *index, int64_t i)
{
    cfx_dtype type = (cfx_dtype)index->dtype;
    return cfx_element_int(type, (char *)index->data +
                                     (size_t)i * cfx_dtype_size(type));
}

/* Indices from..to in bag number `bag`. An empty bag is 0. */
static bool fill_bag(const struct filling *f, int64_t bag, int64_t from,
                     int64_t to, char *y, int64_t *bad)
{
    size_t size = cfx_dtype_size(f->type);
    int64_t n = 0,
            *most = f->most && f->b.mode == MAX ? f->most + bag * f->d : NULL;
    for (int64_t j = 0; j < f->d; j++)
        f->sum[j] = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t row = row_at(f->b.index, i);
        if (row < 0 || row >= f->rows) {
            *bad = row;
            return false;
        }
        if (f->bag)
            f->bag[i] = bag;
        if (f->b.pads && row == f->b.padding)
            continue;
        add_row(f, row,
                f->b.each
                    ? cfx_element_double(f->type, (char *)f->b.each->data +
                                                      (size_t)i * size)
                    : 1,
                !n, most);
        n++;
    }
    for (int64_t j = 0; j < f->d; j++)
        cfx_element_set_double(f->type, y + (size_t)j * size,
                               f->b.mode == MEAN && n ? f->sum[j] / (double)n
                                                      : f->sum[j]);
    if (f->size && f->b.mode != SUM)
        f->size[bag] = n;
    if (f->most && f->b.mode == MEAN)
        f->most[bag] = n;
    return true;
}

static size_t bag_workspace(const cfx_call *call)
{
    return ((size_t)cfx_tensor_size(call->out[0], 1) + 1) * sizeof(double);
}

/* The first index of bag i. */
static int64_t bag_begin(const struct bags *b, int64_t i)
{
    if (!b->offsets)
        return i * cfx_tensor_size(b->index, 1);
    if (i >= cfx_tensor_size(b->offsets, 0))
        return cfx_tensor_size(b->index, 0);
    return row_at(b->offsets, i * cfx_tensor_stride(b->offsets, 0));
}

static cfx_status fill_bags(cfx_call *call, const struct filling *f)
{
    const cfx_tensor *y = call->out[0];
    size_t row = (size_t)f->d * cfx_dtype_size(f->type);
    int64_t bad = 0, n = cfx_tensor_size(y, 0);
    if (f->b.offsets && n && bag_begin(&f->b, 0) != 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0.");
    for (int64_t i = 0; i < n && !cfx_context_stops(call->ctx); i++) {
        int64_t from = bag_begin(&f->b, i), to = bag_begin(&f->b, i + 1);
        if (from < 0 || to > f->count || from > f->count)
            return cfx_call_fail(
                call, CFX_EINVAL,
                "offsets[-1] can not be greater than input's length %lld",
                (long long)f->count);
        if (!fill_bag(f, i, from, to, (char *)y->data + (size_t)i * row, &bad))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "index out of range: %lld of %lld rows",
                                 (long long)bad, (long long)f->rows);
    }
    return CFX_OK;
}

/* Further results begin as 0. */
static void find_results(cfx_call *call, struct filling *f)
{
    for (int i = 1; i < call->nout; i++)
        memset(call->out[i]->data, 0,
               (size_t)cfx_tensor_numel(call->out[i]) * sizeof(int64_t));
    if (call->nout < 4)
        return;
    f->bag = cfx_tensor_numel(call->out[1]) ? call->out[1]->data : NULL;
    f->size = call->out[2]->data;
    f->most = call->out[3]->data;
}

static cfx_status bag_run(cfx_call *call)
{
    const struct bags *b = call->state;
    struct filling f = {.b = *b, .sum = call->work};
    cfx_tensor *w = cfx_loop_contiguous(call, f.b.w), *weights = NULL;
    cfx_tensor *index = w ? cfx_loop_contiguous(call, f.b.index) : NULL;
    cfx_status st = index ? CFX_OK : CFX_ENOMEM;
    if (!st && f.b.each && !(weights = cfx_loop_contiguous(call, f.b.each)))
        st = CFX_ENOMEM;
    if (!st) {
        f.type = (cfx_dtype)w->dtype;
        f.rows = cfx_tensor_size(w, 0);
        f.d = cfx_tensor_size(w, 1);
        f.count = cfx_tensor_numel(index);
        f.b.w = w;
        f.b.index = index;
        f.b.each = weights;
        if (f.b.padding < 0)
            f.b.padding += f.rows;
        find_results(call, &f);
        st = fill_bags(call, &f);
    }
    cfx_tensor_unref(weights);
    cfx_tensor_unref(index);
    cfx_tensor_unref(w);
    return st;
}

static void lower_bag(const cfx_call *call, const cfx_value *in,
                      cfx_value *out)
{
    out[cfx_call_place(call, INPUT)] = in[F_INPUT];
    out[cfx_call_place(call, WEIGHT)] = in[F_WEIGHT];
    out[cfx_call_place(call, OFFSETS)] = in[F_OFFSETS];
    out[cfx_call_place(call, MODE)] = in[F_MODE];
    out[cfx_call_place(call, PER_SAMPLE_WEIGHTS)] = in[F_EACH];
    out[cfx_call_place(call, INCLUDE_LAST_OFFSET)] = in[F_LAST];
    out[cfx_call_place(call, PADDING_IDX)] = in[F_BAG_PADDING];
}

static cfx_status bag_lower(cfx_call *call, const cfx_value *in,
                            cfx_value *out)
{
    lower_bag(call, in, out);
    return need_max_norm(call, in[F_MAX_NORM], false);
}

static cfx_status bag_max_norm_lower(cfx_call *call, const cfx_value *in,
                                     cfx_value *out)
{
    lower_bag(call, in, out);
    out[cfx_call_place(call, MAX_NORM)] = in[F_MAX_NORM];
    out[cfx_call_place(call, NORM_TYPE)] = in[F_NORM_TYPE];
    return need_max_norm(call, in[F_MAX_NORM], true);
}

#define BAG                                                                   \
    "torch.nn.functional.embedding_bag(Tensor input, Tensor weight, Tensor? " \
    "offsets=None, float? max_norm=None, float norm_type=2.0, bool "          \
    "scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? "  \
    "per_sample_weights=None, bool include_last_offset=False, int? "          \
    "padding_idx=None) -> Tensor"

static cfx_status bag_max_norm_infer(cfx_call *call)
{
    cfx_status st = cfx_infer_written(call, cfx_call_tensor(call, WEIGHT));
    return st ? st : bag_infer(call);
}

static cfx_status bag_max_norm_run(cfx_call *call)
{
    cfx_status st = shorten_rows(
        call, cfx_call_tensor(call, WEIGHT), cfx_call_tensor(call, INPUT),
        cfx_call_double(call, MAX_NORM), cfx_call_double(call, NORM_TYPE));
    return st ? st : bag_run(call);
}

static const cfx_op bag_max_norm = {
    .schema =
        "embedding_bag.max_norm(Tensor input, Tensor(a!) weight, Tensor? offsets=None, str mode='mean', Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None, *, float max_norm, float norm_type=2.0) -> Tensor",
    .params = params,
    .variants = (const cfx_variant[]){{BAG, bag_max_norm_lower}, {NULL, NULL}},
    .doc =
        "Rows of a table, which are made no longer than a norm first, added up in bags.",
    .state_size = sizeof(struct bags),
    .infer = bag_max_norm_infer,
    .cost = bag_cost,
    .workspace = bag_workspace,
    .run = bag_max_norm_run,
};

const cfx_op cfx_op__embedding_bag = {
    .schema =
        "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, str mode='mean', Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> Tensor",
    .params = params,
    .variants = (const cfx_variant[]){{BAG, bag_lower}, {NULL, NULL}},
    .doc = "Rows of a table by their numbers, added up in bags.",
    .state_size = sizeof(struct bags),
    .infer = bag_infer,
    .cost = bag_cost,
    .workspace = bag_workspace,
    .run = bag_run,
    .next = &bag_max_norm,
};

/* The parameters are the operator's; but None says that no row is passed over,
 * and a negative number counts from the last row. */
static cfx_status bags_lower(cfx_call *call, const cfx_value *in,
                             cfx_value *out)
{
    int at = cfx_call_place(call, PADDING_IDX);
    cfx_value weight = in[cfx_call_place(call, WEIGHT)], pad = in[at];
    const cfx_tensor *w = weight.u.tensor;
    memcpy(out, in, (size_t)call->schema->nparams * sizeof(*out));
    if (cfx_value_is_none(pad)) {
        out[at] = cfx_int(-1);
        return CFX_OK;
    }
    if (weight.kind != CFX_TENSOR || w->rank < 1 ||
        !cfx_dim_is_int(w->shape[0]))
        return pad.u.i >= 0
                   ? CFX_OK
                   : cfx_call_fail(
                         call, CFX_EUNSUPPORTED,
                         "a negative padding_idx needs a table with a known number of rows");
    int64_t rows = cfx_dim_value(w->shape[0]);
    if (pad.u.i < -rows || pad.u.i >= rows)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "padding_idx must be within the number of embeddings, -%lld through %lld, but got %lld",
            (long long)rows, (long long)rows - 1, (long long)pad.u.i);
    out[at] = cfx_int(pad.u.i < 0 ? pad.u.i + rows : pad.u.i);
    return CFX_OK;
}

#define BAGS_PADDED                                                            \
    "(Tensor weight, Tensor indices, Tensor offsets, bool "                    \
    "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "  \
    "bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, " \
    "Tensor)"

const cfx_op cfx_op__embedding_bags = {
    .schema =
        "embedding_bags(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    .params = params,
    .aliases =
        "torch.embedding_bag torch._embedding_bag aten._embedding_bag.default aten._embedding_bag_forward_only.default aten.embedding_bag.default",
    .variants =
        (const cfx_variant[]){
            {"aten.embedding_bag.padding_idx" BAGS_PADDED, bags_lower},
            {"torch.embedding_bag" BAGS_PADDED, bags_lower},
            {NULL, NULL}},
    .doc = "Rows of a table added up in bags, and what the bags are made of.",
    .code = 1,
    .state_size = sizeof(struct bags),
    .infer = bag_infer,
    .cost = bag_cost,
    .workspace = bag_workspace,
    .run = bag_run,
};
