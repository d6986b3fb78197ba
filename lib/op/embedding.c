/*
 * embedding -- rows of a table by their numbers, each or added up in bags.
 *
 * shape   (index..., d); of bags (bags, d).
 * cost    embedding: none; bags: an addition for each element but the first.
 *         Reads the rows taken.
 */
#include <math.h>
#include <string.h>

#include "kernel/index.h"
#include "op/infer.h"
#include "op/loop.h"

enum { WEIGHT, INDICES };

static cfx_status check_table(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    if (w->rank != 2)
        return cfx_call_fail(call, CFX_ESHAPE, "'weight' must be 2-D");
    if (index->dtype != CFX_I64 && index->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE, "Expected tensor for argument "
                             "'indices' to have one of the following scalar "
                             "types: Long, Int; but got %s instead",
                             cfx_dtypes[index->dtype].name);
    return CFX_OK;
}

static cfx_status embedding_infer(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_table(call);
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
    return cfx_dim_mul(call->env, cfx_cost_numel(call, t),
        cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype)));
}

static void embedding_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim rows = bytes_of(call, call->out[0]);
    cost->bytes_written = rows;
    cost->bytes_read = cfx_dim_add(call->env, rows,
        bytes_of(call, cfx_call_tensor(call, INDICES)));
}

static cfx_status embedding_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *w = cfx_loop_contiguous(call, cfx_call_tensor(call, WEIGHT));
    cfx_tensor *index = w ? cfx_loop_contiguous(call,
                            cfx_call_tensor(call, INDICES)) : NULL;
    cfx_status st = index ? CFX_OK : CFX_ENOMEM;
    int64_t bad = 0;
    if (!st && !cfx_kernel_index_select(call->ctx,
            cfx_dtype_size((cfx_dtype)y->dtype), y->data, w->data,
            (cfx_dtype)index->dtype, index->data, 1, cfx_tensor_size(w, 0),
            cfx_tensor_size(w, 1), cfx_tensor_numel(index), &bad))
        st = cfx_call_fail(call, CFX_EINVAL, "index out of range in self: %lld "
                           "of %lld rows", (long long)bad,
                           (long long)cfx_tensor_size(w, 0));
    cfx_tensor_unref(index);
    cfx_tensor_unref(w);
    return st;
}

/* Rows may be made shorter while they are looked up: that would write to the
 * table. */
static cfx_status refuse_max_norm(cfx_call *call, cfx_value v)
{
    return cfx_value_is_none(v) ? CFX_OK
           : cfx_fail(call->err, CFX_EUNSUPPORTED,
                      "embedding: max_norm is not offered");
}

static cfx_status check_padding(cfx_call *call, cfx_value weight, cfx_value v)
{
    if (v.kind != CFX_INT || weight.kind != CFX_TENSOR ||
        weight.u.tensor->rank < 1)
        return CFX_OK;
    cfx_dim n = weight.u.tensor->shape[0];
    if (!cfx_dim_is_int(n) || (v.u.i < cfx_dim_value(n) &&
                               v.u.i >= -cfx_dim_value(n)))
        return CFX_OK;
    return cfx_fail(call->err, CFX_EINVAL,
                    "embedding: padding_idx must be within num_embeddings");
}

static cfx_status functional_lower(cfx_call *call, const cfx_value *in,
                                   cfx_value *out)
{
    cfx_status st = refuse_max_norm(call, in[3]);
    if (!st)
        st = check_padding(call, in[1], in[2]);
    out[WEIGHT] = in[1];
    out[INDICES] = in[0];
    return st;
}

const cfx_op cfx_op__embedding = {
    .schema = "embedding(Tensor weight, Tensor indices, SymInt "
              "padding_idx=-1, bool scale_grad_by_freq=False, bool "
              "sparse=False) -> Tensor",
    .aliases = "torch.embedding aten.embedding.default",
    .variants = (const cfx_variant[]){
        {"torch.nn.functional.embedding(Tensor input, Tensor weight, SymInt? "
         "padding_idx=None, float? max_norm=None, float norm_type=2.0, bool "
         "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
         functional_lower},
        {NULL, NULL}},
    .doc = "Rows of a table by their numbers.",
    .infer = embedding_infer,
    .cost = embedding_cost,
    .run = embedding_run,
};

/* ---- Bags ---- */

enum { OFFSETS = 2, MODE, SAMPLE_WEIGHTS, LAST_OFFSET, PADDING };
enum { SUM, MEAN, MAX };

static int mode_of(const cfx_call *call)
{
    static const char *const names[] = {"sum", "mean", "max"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(cfx_call_str(call, MODE), names[i]))
            return i;
    return -1;
}

static cfx_status check_bags(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    const cfx_tensor *offsets = cfx_call_tensor(call, OFFSETS);
    const cfx_tensor *each = cfx_call_tensor(call, SAMPLE_WEIGHTS);
    int mode = mode_of(call);
    if (mode < 0)
        return cfx_call_fail(call, CFX_EINVAL, "mode has to be one of sum, "
                             "mean or max, but got %s",
                             cfx_call_str(call, MODE));
    if (!cfx_dtype_is_float((cfx_dtype)w->dtype))
        return cfx_call_fail(call, CFX_EDTYPE, "not implemented for '%s'",
                             cfx_dtypes[w->dtype].name);
    if (index->rank == 2 && offsets)
        return cfx_call_fail(call, CFX_EINVAL, "if input is 2D, then offsets "
                             "has to be None, as input is treated is a "
                             "mini-batch of fixed length sequences");
    if (index->rank == 1 && (!offsets || offsets->rank != 1))
        return cfx_call_fail(call, CFX_EINVAL, "offsets has to be a 1D Tensor "
                             "but got %s", offsets ? "another rank" : "None");
    if (index->rank != 1 && index->rank != 2)
        return cfx_call_fail(call, CFX_ESHAPE, "input has to be 1D or 2D "
                             "Tensor, but got Tensor of dimension %d",
                             index->rank);
    if (offsets && offsets->dtype != CFX_I64 && offsets->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE, "offsets must be ints");
    if (!each)
        return CFX_OK;
    if (mode != SUM)
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "per_sample_weights was "
                             "not None but is only supported for mode='sum'");
    bool same = each->rank == index->rank && each->dtype == w->dtype;
    for (int i = 0; same && i < each->rank; i++)
        same = cfx_dim_eq(call->env, each->shape[i], index->shape[i]);
    return same ? CFX_OK
           : cfx_call_fail(call, CFX_ESHAPE, "per_sample_weights must have the "
                           "same shape as the input and the type of the "
                           "weight");
}

static cfx_status bag_infer(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    const cfx_tensor *offsets = cfx_call_tensor(call, OFFSETS);
    cfx_status st = check_table(call);
    if (!st)
        st = check_bags(call);
    if (st)
        return st;
    cfx_dim shape[] = {index->rank == 2 ? index->shape[0] : offsets->shape[0],
                       w->shape[1]};
    if (cfx_call_bool(call, LAST_OFFSET) && offsets) {
        if (cfx_dim_is(shape[0], 0))
            return cfx_call_fail(call, CFX_EINVAL, "include_last_offset: "
                                 "number of offsets should be at least 1");
        shape[0] = cfx_dim_sub(call->env, shape[0], cfx_dim_int(1));
    }
    return cfx_call_out(call, (cfx_dtype)w->dtype, 2, shape);
}

static void bag_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim taken = cfx_dim_mul(call->env, cfx_cost_numel(call, index),
                                w->shape[1]);
    cfx_dim size = cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)w->dtype));
    cost->ops = mode_of(call) == MAX ? cfx_dim_int(0) : taken;
    cost->bytes_read = cfx_dim_add(call->env, bytes_of(call, index),
                                   cfx_dim_mul(call->env, taken, size));
    cost->bytes_written = bytes_of(call, call->out[0]);
}

/* What one bag is made of, all row-major and without gaps. */
struct bags {
    cfx_dtype type;
    int mode;
    int64_t rows, d, count; /* of the table; of all indices */
    const char *table;
    const cfx_tensor *index, *each;
    int64_t padding;        /* a row that is passed over, or -1 */
    double *sum;            /* d numbers */
};

static void add_row(const struct bags *b, int64_t row, double factor,
                    bool first)
{
    size_t size = cfx_dtype_size(b->type);
    const char *p = b->table + (size_t)(row * b->d) * size;
    for (int64_t j = 0; j < b->d; j++, p += size) {
        double v = cfx_element_double(b->type, p) * factor;
        if (b->mode != MAX)
            b->sum[j] = first ? v : b->sum[j] + v;
        else if (first || v > b->sum[j] || isnan(v))
            b->sum[j] = v;
    }
}

/* Indices from..to in one bag, to row y. An empty bag is 0. */
static bool fill_bag(const struct bags *b, int64_t from, int64_t to, char *y,
                     int64_t *bad)
{
    size_t size = cfx_dtype_size(b->type);
    cfx_dtype itype = (cfx_dtype)b->index->dtype;
    int64_t n = 0;
    for (int64_t j = 0; j < b->d; j++)
        b->sum[j] = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t row = cfx_element_int(itype, (char *)b->index->data +
                                      (size_t)i * cfx_dtype_size(itype));
        if (row < 0 || row >= b->rows) {
            *bad = row;
            return false;
        }
        if (row == b->padding)
            continue;
        add_row(b, row, b->each ? cfx_element_double(b->type,
                (char *)b->each->data + (size_t)i * size) : 1, !n);
        n++;
    }
    for (int64_t j = 0; j < b->d; j++)
        cfx_element_set_double(b->type, y + (size_t)j * size,
                               b->mode == MEAN && n ? b->sum[j] / (double)n
                                                    : b->sum[j]);
    return true;
}

static size_t bag_workspace(const cfx_call *call)
{
    return ((size_t)cfx_tensor_size(call->out[0], 1) + 1) * sizeof(double);
}

/* Where bag i begins. */
static int64_t bag_begin(const cfx_tensor *offsets, const cfx_tensor *index,
                         int64_t i)
{
    if (!offsets)
        return i * cfx_tensor_size(index, 1);
    if (i >= cfx_tensor_size(offsets, 0))
        return cfx_tensor_size(index, 0);
    return cfx_element_int((cfx_dtype)offsets->dtype, (char *)offsets->data +
        (size_t)(i * cfx_tensor_stride(offsets, 0)) *
            cfx_dtype_size((cfx_dtype)offsets->dtype));
}

static cfx_status fill_bags(cfx_call *call, const struct bags *b)
{
    const cfx_tensor *y = call->out[0];
    const cfx_tensor *offsets = cfx_call_tensor(call, OFFSETS);
    size_t row = (size_t)b->d * cfx_dtype_size(b->type);
    int64_t bad = 0, n = cfx_tensor_size(y, 0);
    if (offsets && n && bag_begin(offsets, b->index, 0) != 0)
        return cfx_call_fail(call, CFX_EINVAL, "offsets[0] has to be 0, i.e., "
                             "the first sequence in the mini-batch has to "
                             "start from position 0.");
    for (int64_t i = 0; i < n; i++) {
        int64_t from = bag_begin(offsets, b->index, i);
        int64_t to = bag_begin(offsets, b->index, i + 1);
        if (from < 0 || to > b->count || from > b->count)
            return cfx_call_fail(call, CFX_EINVAL, "offsets[-1] can not be "
                                 "greater than input's length %lld",
                                 (long long)b->count);
        if (!fill_bag(b, from, to, (char *)y->data + (size_t)i * row, &bad))
            return cfx_call_fail(call, CFX_EINVAL, "index out of range: %lld "
                                 "of %lld rows", (long long)bad,
                                 (long long)b->rows);
    }
    return CFX_OK;
}

static cfx_status bag_run(cfx_call *call)
{
    const cfx_tensor *each = cfx_call_tensor(call, SAMPLE_WEIGHTS);
    cfx_tensor *w = cfx_loop_contiguous(call, cfx_call_tensor(call, WEIGHT));
    cfx_tensor *index = w ? cfx_loop_contiguous(call,
                            cfx_call_tensor(call, INDICES)) : NULL;
    cfx_tensor *weights = NULL;
    cfx_status st = index ? CFX_OK : CFX_ENOMEM;
    if (!st && each && !(weights = cfx_loop_contiguous(call, each)))
        st = CFX_ENOMEM;
    if (!st) {
        int64_t rows = cfx_tensor_size(w, 0), padding = -1;
        if (cfx_call_has(call, PADDING)) {
            padding = cfx_call_int(call, PADDING);
            padding = padding < 0 ? padding + rows : padding;
        }
        st = fill_bags(call, &(struct bags){
            .type = (cfx_dtype)w->dtype, .mode = mode_of(call), .rows = rows,
            .d = cfx_tensor_size(w, 1), .count = cfx_tensor_numel(index),
            .table = w->data, .index = index, .each = weights,
            .padding = padding, .sum = call->work});
    }
    cfx_tensor_unref(weights);
    cfx_tensor_unref(index);
    cfx_tensor_unref(w);
    return st;
}

static cfx_status bag_lower(cfx_call *call, const cfx_value *in,
                            cfx_value *out)
{
    enum { INPUT_, TABLE, OFFSETS_, MAX_NORM, NORM_TYPE, BY_FREQ, MODE_,
           SPARSE, EACH, LAST, PAD };
    cfx_status st = refuse_max_norm(call, in[MAX_NORM]);
    out[WEIGHT] = in[TABLE];
    out[INDICES] = in[INPUT_];
    out[OFFSETS] = in[OFFSETS_];
    out[MODE] = in[MODE_];
    out[SAMPLE_WEIGHTS] = in[EACH];
    out[LAST_OFFSET] = in[LAST];
    out[PADDING] = in[PAD];
    return st;
}

const cfx_op cfx_op__embedding_bag = {
    .schema = "embedding_bag(Tensor weight, Tensor indices, Tensor? "
              "offsets=None, str mode='mean', Tensor? "
              "per_sample_weights=None, bool include_last_offset=False, int? "
              "padding_idx=None) -> Tensor",
    .variants = (const cfx_variant[]){
        {"torch.nn.functional.embedding_bag(Tensor input, Tensor weight, "
         "Tensor? offsets=None, float? max_norm=None, float norm_type=2.0, "
         "bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, "
         "Tensor? per_sample_weights=None, bool include_last_offset=False, "
         "int? padding_idx=None) -> Tensor", bag_lower},
        {NULL, NULL}},
    .doc = "Rows of a table by their numbers, added up in bags.",
    .infer = bag_infer,
    .cost = bag_cost,
    .workspace = bag_workspace,
    .run = bag_run,
};
