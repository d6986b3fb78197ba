/*
 * scatter -- a copy of a tensor with elements written, or added, at the places
 * that an index names: scatter, scatter_reduce, index_add and their kin.
 *
 * shape   that of the tensor; row-major.
 * cost    one operation for each element that is added or multiplied. Calls
 *         that write touch only what the index names.
 */
#include <math.h>
#include <string.h>

#include "kernel/move/index_kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, DIM, INDEX, SRC, VALUE, SOURCE, REDUCE, INCLUDE_SELF,
           ALPHA, ACCUMULATE);

/* The parameter with the values to write. */
static int source(const cfx_call *call)
{
    return cfx_call_place(call, SRC) >= 0      ? SRC
           : cfx_call_place(call, SOURCE) >= 0 ? SOURCE
                                               : VALUE;
}

static int axis_of(const cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    int64_t dim = cfx_call_int(call, DIM);
    return rank ? (int)(dim < 0 ? dim + rank : dim) : 0;
}

/* ---- Which kind ---- */

enum reduction { SET, ADD, MUL, MEAN, AMAX, AMIN, UNKNOWN };

/* Operators that accept a name: scatter, scatter_reduce, index_reduce. */
enum { BASIC = 1, WHOLE = 2, INDEXED = 4 };

static enum reduction reduction_named(const char *name, unsigned user)
{
    static const struct {
        const char *name;
        enum reduction what;
        unsigned users;
    } list[] = {
        {"add", ADD, BASIC},
        {"multiply", MUL, BASIC},
        {"sum", ADD, WHOLE},
        {"prod", MUL, WHOLE | INDEXED},
        {"mean", MEAN, WHOLE | INDEXED},
        {"amax", AMAX, WHOLE | INDEXED},
        {"amin", AMIN, WHOLE | INDEXED},
        {"max", AMAX, WHOLE},
        {"min", AMIN, WHOLE},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
        if (list[i].users & user && !strcmp(list[i].name, name))
            return list[i].what;
    return UNKNOWN;
}

static cfx_scatter_op kernel_of(enum reduction what)
{
    static const cfx_scatter_op list[] = {
        [SET] = CFX_SCATTER_SET,  [ADD] = CFX_SCATTER_ADD,
        [MUL] = CFX_SCATTER_MUL,  [MEAN] = CFX_SCATTER_ADD,
        [AMAX] = CFX_SCATTER_MAX, [AMIN] = CFX_SCATTER_MIN,
    };
    return list[what];
}

/* Store the identity of a reduction. */
static void write_identity(enum reduction what, cfx_dtype type, void *p)
{
    bool real = cfx_dtype_is_float(type);
    if (what == MUL)
        cfx_element_set_int(type, p, 1);
    else if (what != AMAX && what != AMIN)
        cfx_element_set_int(type, p, 0);
    else if (real)
        cfx_element_set_double(type, p, what == AMAX ? -INFINITY : INFINITY);
    else
        cfx_element_set_int(type, p,
                            what == AMAX ? cfx_dtype_least(type)
                                         : cfx_dtype_most(type));
}

/* ---- What is written where ---- */

struct plan {
    const cfx_tensor *y;
    enum reduction what;
    int rank, axis;
    int64_t shape[CFX_MAX_RANK]; /* of the elements that are written */
    int64_t y_step[CFX_MAX_RANK];
    const void *src;
    int64_t src_step[CFX_MAX_RANK];
    const cfx_tensor *index;
    int64_t index_step[CFX_MAX_RANK];
};

static cfx_status run_plan(cfx_call *call, const struct plan *p)
{
    int64_t bad = 0, n = p->y->rank ? cfx_tensor_size(p->y, p->axis) : 1;
    for (int i = 0; i < p->rank; i++)
        if (!p->shape[i])
            return CFX_OK;
    if (cfx_kernel_scatter(
            call->ctx, kernel_of(p->what), (cfx_dtype)p->y->dtype, p->rank,
            p->shape, p->axis, n, p->y->data, p->y_step, p->src, p->src_step,
            (cfx_dtype)p->index->dtype, p->index->data, p->index_step, &bad))
        return CFX_OK;
    return cfx_infer_out_of_range(call, bad, p->axis, n);
}

/* Run with one number for all elements. */
static cfx_status run_with_number(cfx_call *call, struct plan p,
                                  enum reduction what, const void *number)
{
    p.what = what;
    p.src = number;
    memset(p.src_step, 0, sizeof(p.src_step));
    return run_plan(call, &p);
}

/* Divide sums by their numbers of terms, with or without the old element; ints
 * round down. Elements to which nothing was added do not change. */
static cfx_status divide(cfx_call *call, struct plan p, bool include_self)
{
    const cfx_tensor *y = p.y;
    cfx_dtype type = (cfx_dtype)y->dtype, real = cfx_dtype_real(type);
    cfx_tensor *count;
    char one[16];
    cfx_iter it;
    cfx_status st = cfx_call_new(call, &count, real, y->rank, y->shape);
    if (!st)
        st = cfx_tensor_alloc(count, call->err);
    if (st) {
        cfx_tensor_unref(count);
        return st;
    }
    cfx_loop_out(&it, count);
    cfx_iter_integer(&it, include_self);
    cfx_copy(call->ctx, &it);
    cfx_element_set_int(real, one, 1);
    p.y = count;
    st = run_with_number(call, p, ADD, one);
    if (!st && !include_self) {
        cfx_loop_out(&it, count);
        cfx_loop_in(&it, count);
        cfx_iter_integer(&it, 1);
        cfx_pointwise(call->ctx, CFX_PW_MAXIMUM, real, &it, NULL);
    }
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, y);
    cfx_loop_in(&it, count);
    if (!st)
        cfx_pointwise(call->ctx,
                      cfx_dtype_is_float(real) ? CFX_PW_DIV : CFX_PW_DIV_FLOOR,
                      type, &it, NULL);
    cfx_tensor_unref(count);
    return st;
}

static cfx_status reduce_plan(cfx_call *call, const struct plan *p,
                              bool include_self)
{
    char identity[16];
    cfx_status st = CFX_OK;
    if (!include_self && p->what != SET) {
        write_identity(p->what, (cfx_dtype)p->y->dtype, identity);
        st = run_with_number(call, *p, SET, identity);
    }
    if (!st)
        st = run_plan(call, p);
    return !st && p->what == MEAN ? divide(call, *p, include_self) : st;
}

/* ---- scatter ---- */

static cfx_status check_type(cfx_call *call, const cfx_tensor *x,
                             const cfx_tensor *src)
{
    return x->dtype == src->dtype
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EDTYPE,
                     "Expected self.dtype to be equal to src.dtype, but got %s and %s",
                     cfx_dtypes[x->dtype].name, cfx_dtypes[src->dtype].name);
}

static int rank_of(const cfx_tensor *t)
{
    return t->rank ? t->rank : 1;
}

static cfx_dim extent_of(const cfx_tensor *t, int i)
{
    return t->rank ? t->shape[i] : cfx_dim_int(1);
}

/* The index may be no larger than the source, nor than the tensor but along
 * the axis. */
static cfx_status check_index(cfx_call *call, const cfx_tensor *src)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    int axis;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (st || cfx_infer_is_empty(index))
        return st;
    if (index->dtype != CFX_I64 && index->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Expected dtype int32/int64 for index");
    if (rank_of(index) != rank_of(x) || (src && rank_of(src) != rank_of(x)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Index tensor must have the same number of dimensions as self and src tensor");
    for (int i = 0; i < rank_of(x); i++) {
        cfx_dim n = extent_of(index, i);
        bool fits = i == axis || cfx_dim_le(call->env, n, extent_of(x, i));
        if (!fits || (src && !cfx_dim_le(call->env, n, extent_of(src, i))))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected index to be no larger than self apart from dimension %d and to be no larger than src; on axis %d it is",
                axis, i);
    }
    return CFX_OK;
}

/* The code of an operator is the reduction, or who names it. */
enum { NAMED = 16 };

/* The state of a call. */
struct scatter {
    enum reduction what;
    bool include_self;
};

static void read_scatter(const cfx_call *call, struct scatter *s)
{
    const char *word = cfx_call_str(call, REDUCE);
    int code = call->op->code;
    s->what = word ? reduction_named(word, (unsigned)(code & ~NAMED))
                   : (enum reduction)code;
    s->include_self = cfx_call_place(call, INCLUDE_SELF) < 0 ||
                      cfx_call_bool(call, INCLUDE_SELF);
}

static cfx_status unknown_reduction(cfx_call *call)
{
    return cfx_call_fail(
        call, CFX_EINVAL, "reduce argument must be one of %s, got %s",
        call->op->code & BASIC   ? "add, multiply"
        : call->op->code & WHOLE ? "sum, prod, mean, amax or amin"
                                 : "prod, mean, amax or amin",
        cfx_call_str(call, REDUCE));
}

static cfx_status scatter_infer(cfx_call *call)
{
    struct scatter *s = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *src = cfx_call_tensor(call, SRC);
    cfx_status st = CFX_OK;
    read_scatter(call, s);
    if (s->what == UNKNOWN)
        return unknown_reduction(call);
    if ((s->what == MEAN && x->dtype == CFX_BOOL) ||
        ((s->what == AMAX || s->what == AMIN) &&
         cfx_dtype_is_complex((cfx_dtype)x->dtype)))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    if (src)
        st = check_type(call, x, src);
    else
        st = cfx_list_check_number(call, cfx_call_value(call, VALUE),
                                   (cfx_dtype)x->dtype);
    if (!st)
        st = check_index(call, src);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

/* `n` elements are set, or combined with what is there. A call that writes
 * touches only them. */
static void count_set(const cfx_call *call, cfx_cost *cost, cfx_dim n)
{
    const struct scatter *s = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    cfx_dim bytes = cfx_cost_sized(call, n, x);
    bool combines = s->what != SET;
    if (combines)
        cost->ops = n;
    if (!call->inplace)
        return;
    cost->bytes_written = bytes;
    cost->bytes_read = cfx_cost_bytes_of(call, index);
    if (cfx_call_tensor(call, source(call)))
        cost->bytes_read = cfx_dim_add(call->env, cost->bytes_read, bytes);
    if (combines)
        cost->bytes_read = cfx_dim_add(call->env, cost->bytes_read, bytes);
}

static void scatter_cost(const cfx_call *call, cfx_cost *cost)
{
    count_set(call, cost, cfx_cost_numel(call, cfx_call_tensor(call, INDEX)));
}

static void steps_of(int64_t *step, const cfx_tensor *t)
{
    step[0] = 1;
    cfx_loop_strides(step, t);
}

static cfx_status scatter_run(cfx_call *call)
{
    const struct scatter *s = call->state;
    const cfx_tensor *src = cfx_call_tensor(call, SRC);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    struct plan p = {.y = call->out[0],
                     .what = s->what,
                     .rank = rank_of(index),
                     .axis = axis_of(call),
                     .index = index,
                     .shape = {1}};
    _Alignas(16) char number[16];
    cfx_status st = cfx_tensor_copy(call->out[0], cfx_call_tensor(call, SELF),
                                    call->err);
    if (st || cfx_infer_is_empty(index))
        return st;
    cfx_loop_shape(p.shape, index);
    steps_of(p.y_step, p.y);
    steps_of(p.index_step, index);
    if (src) {
        p.src = src->data;
        steps_of(p.src_step, src);
    } else {
        cfx_list_write_number((cfx_dtype)p.y->dtype, number,
                              cfx_call_value(call, VALUE));
        p.src = number;
    }
    return reduce_plan(call, &p, s->include_self);
}

#define SCATTER(symbol, schema_, aliases_, code_, doc_, next_)                \
    symbol = {                                                                \
        .schema = schema_,                                                    \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = CFX_OP_INPLACE | CFX_OP_EDITS | CFX_OP_COMPLEX,              \
        .code = code_,                                                        \
        .state_size = sizeof(struct scatter),                                 \
        .infer = scatter_infer,                                               \
        .cost = scatter_cost,                                                 \
        .run = scatter_run,                                                   \
        .next = next_,                                                        \
    };

#define HEAD "(Tensor self, int dim, Tensor index, "
#define NAMES "torch.scatter Tensor.scatter aten.scatter."

SCATTER(static const cfx_op scatter_value_reduce,
        "scatter.value_reduce" HEAD "Scalar value, *, str reduce) -> Tensor",
        NAMES "value_reduce", NAMED | BASIC,
        "A copy to which one number is added at the places of an index.", NULL)
SCATTER(static const cfx_op scatter_reduce_src,
        "scatter.reduce" HEAD "Tensor src, *, str reduce) -> Tensor",
        NAMES "reduce", NAMED | BASIC,
        "A copy to which elements are added at the places of an index.",
        &scatter_value_reduce)
SCATTER(static const cfx_op scatter_value,
        "scatter.value" HEAD "Scalar value) -> Tensor", NAMES "value", SET,
        "A copy with one number at the places of an index.",
        &scatter_reduce_src)
SCATTER(const cfx_op cfx_op__scatter,
        "scatter.src" HEAD "Tensor src) -> Tensor", NAMES "src", SET,
        "A copy with elements of another at the places of an index.",
        &scatter_value)
SCATTER(const cfx_op cfx_op__scatter_add,
        "scatter_add" HEAD "Tensor src) -> Tensor", "torch. Tensor. aten.",
        ADD, "A copy to which elements are added at the places of an index.",
        NULL)
SCATTER(
    const cfx_op cfx_op__scatter_reduce,
    "scatter_reduce.two" HEAD
    "Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    "torch. Tensor. .two", NAMED | WHOLE,
    "A copy with elements joined by a reduction at the places of an index.",
    NULL)

/* ---- index_add, index_copy, index_reduce ---- */

static cfx_status same_but_axis(cfx_call *call, const cfx_tensor *x,
                                const cfx_tensor *src, int axis)
{
    bool same = x->rank == src->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = i == axis || cfx_dim_eq(call->env, x->shape[i], src->shape[i]);
    return same
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "source tensor shape must match self tensor shape, excluding the specified dimension");
}

static cfx_status index_infer(cfx_call *call)
{
    struct scatter *s = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    const cfx_tensor *src = cfx_call_tensor(call, SOURCE);
    bool any_int = call->op->code != SET;
    int axis;
    read_scatter(call, s);
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (!st)
        st = check_type(call, x, src);
    if (!st)
        st = cfx_list_check_factor(call, cfx_call_value(call, ALPHA),
                                   (cfx_dtype)x->dtype);
    if (st)
        return st;
    if (index->dtype != CFX_I64 && (!any_int || index->dtype != CFX_I32))
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Expected a long tensor for index, but got %s",
                             cfx_dtypes[index->dtype].name);
    if (index->rank > 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Index is supposed to be a vector, but got dim: %d", index->rank);
    if (s->what == UNKNOWN)
        return unknown_reduction(call);
    if (x->dtype == CFX_BOOL && call->op->code & NAMED &&
        (s->what == MEAN || !s->include_self))
        return cfx_infer_refuse(call, CFX_BOOL);
    if (!cfx_dim_eq(call->env, extent_of(index, 0),
                    extent_of(src, axis < rank_of(src) ? axis : 0)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Number of indices should be equal to source.size(dim)");
    st = same_but_axis(call, x, src, axis);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

/* The source times a number; a new reference. */
static cfx_status scaled(cfx_call *call, const cfx_tensor *src, cfx_value by,
                         cfx_tensor **out)
{
    cfx_dtype type = (cfx_dtype)src->dtype;
    cfx_iter it;
    if (cfx_value_number(by) == 1) {
        *out = cfx_tensor_ref(src);
        return CFX_OK;
    }
    cfx_status st = cfx_call_new(call, out, type, src->rank, src->shape);
    if (!st)
        st = cfx_tensor_alloc(*out, call->err);
    if (st) {
        cfx_tensor_unref(*out);
        return st;
    }
    cfx_loop_out(&it, *out);
    cfx_loop_in(&it, src);
    cfx_loop_value(&it, by);
    cfx_pointwise(call->ctx, CFX_PW_MUL, type, &it, NULL);
    return CFX_OK;
}

/* The index runs along the axis only. */
static cfx_status index_run(cfx_call *call)
{
    const struct scatter *s = call->state;
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    cfx_value by = cfx_call_has(call, ALPHA) ? cfx_call_value(call, ALPHA)
                                             : cfx_int(1);
    cfx_tensor *src = NULL;
    cfx_status st = cfx_tensor_copy(call->out[0], cfx_call_tensor(call, SELF),
                                    call->err);
    if (!st)
        st = scaled(call, cfx_call_tensor(call, SOURCE), by, &src);
    if (st)
        return st;
    struct plan p = {.y = call->out[0],
                     .what = s->what,
                     .rank = rank_of(src),
                     .axis = axis_of(call),
                     .src = src->data,
                     .index = index,
                     .shape = {1}};
    cfx_loop_shape(p.shape, src);
    steps_of(p.y_step, p.y);
    steps_of(p.src_step, src);
    p.index_step[p.axis] = index->rank && cfx_tensor_size(index, 0) > 1
                               ? cfx_tensor_stride(index, 0)
                               : 0;
    st = reduce_plan(call, &p, s->include_self);
    cfx_tensor_unref(src);
    return st;
}

static void rows_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SOURCE));
    count_set(call, cost, n);
    if (cfx_call_has(call, ALPHA) && cfx_call_double(call, ALPHA) != 1)
        cost->ops = cfx_dim_add(call->env, cost->ops, n);
}

#define BY_ROWS(name, extra, code_, doc_)                                     \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name HEAD "Tensor source" extra ") -> Tensor",             \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_INPLACE | CFX_OP_EDITS |                              \
                 ((code_) == SET || (code_) == ADD ? CFX_OP_COMPLEX : 0),     \
        .code = code_,                                                        \
        .state_size = sizeof(struct scatter),                                 \
        .infer = index_infer,                                                 \
        .cost = rows_cost,                                                    \
        .run = index_run,                                                     \
    };

BY_ROWS(index_add, ", *, Scalar alpha=1", ADD,
        "A copy to which rows of a source are added.")
BY_ROWS(index_copy, "", SET, "A copy with rows of a source.")
BY_ROWS(index_reduce, ", str reduce, *, bool include_self=True",
        NAMED | INDEXED, "A copy with rows of a source joined by a reduction.")

/* ---- index_fill ---- */

static cfx_status index_fill_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    const cfx_tensor *v = cfx_call_tensor(call, VALUE);
    int axis;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (st)
        return st;
    if (index->dtype != CFX_I64)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Expected dtype int64 for index.");
    if (index->rank > 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Index has to be a vector/scalar");
    if (v && v->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            v->rank);
    if (cfx_dtype_is_complex(cfx_value_dtype(cfx_call_value(call, VALUE))) &&
        !cfx_dtype_is_complex((cfx_dtype)x->dtype))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Converting complex Scalar to non-complex type is not supported");
    st = cfx_list_check_number(call, cfx_call_value(call, VALUE),
                               (cfx_dtype)x->dtype);
    return st ? st : cfx_infer_like(call, x, (cfx_dtype)x->dtype);
}

/* Write a number to all places in the index; negative ones count from the
 * end. */
static cfx_status index_fill_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    int axis = axis_of(call);
    int64_t n = y->rank ? cfx_tensor_size(y, axis) : 1, bad = 0;
    _Alignas(16) char number[16];
    cfx_indexing ix = {.rank = rank_of(y),
                       .value = number,
                       .base = y->data,
                       .count = 1,
                       .shape = {1}};
    cfx_status st = cfx_tensor_copy(call->out[0], cfx_call_tensor(call, SELF),
                                    call->err);
    if (st)
        return st;
    cfx_list_write_number((cfx_dtype)y->dtype, number,
                          cfx_call_value(call, VALUE));
    cfx_loop_shape(ix.shape, y);
    steps_of(ix.base_stride, y);
    ix.index[0].data = index->data;
    ix.index[0].type = (cfx_dtype)index->dtype;
    ix.index[0].stride[axis] = index->rank ? cfx_tensor_stride(index, 0) : 0;
    ix.index[0].base_stride = ix.base_stride[axis];
    ix.index[0].n = n;
    ix.shape[axis] = index->rank ? cfx_tensor_size(index, 0) : 1;
    ix.base_stride[axis] = 0;
    if (cfx_kernel_index_put(call->ctx, (cfx_dtype)y->dtype, false, &ix, &bad))
        return CFX_OK;
    return cfx_infer_out_of_range(call, bad, axis, n);
}

static void index_fill_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    uint32_t mask = x->rank ? 1u << axis_of(call) : 0;
    if (!call->inplace)
        return;
    cost->bytes_read = cfx_cost_bytes_of(call, index);
    cost->bytes_written = cfx_cost_sized(
        call,
        cfx_dim_mul(call->env, cfx_cost_rows(call, x, mask),
                    cfx_cost_numel(call, index)),
        x);
}

const cfx_op cfx_op__index_fill = {
    .schema = "index_fill.int_Scalar" HEAD "Tensor|Scalar value) -> Tensor",
    .params = params,
    .aliases =
        "torch.index_fill Tensor.index_fill aten.index_fill.int_Scalar aten.index_fill.int_Tensor",
    .doc = "A copy with one number in the rows that an index names.",
    .flags = CFX_OP_INPLACE | CFX_OP_EDITS | CFX_OP_COMPLEX,
    .infer = index_fill_infer,
    .cost = index_fill_cost,
    .run = index_fill_run,
};

/* ---- put ---- */

/* The tensor is seen as one axis; negative places count from its end. */
static cfx_value put_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value self = cfx_call_value(call, SELF);
    cfx_value from = cfx_call_value(call, SOURCE);
    const cfx_tensor *x = self.u.tensor, *v = from.u.tensor;
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    cfx_value shape[CFX_MAX_RANK], flat = cfx_tuple(s, cfx_int(-1));
    if (index->dtype != CFX_I64)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "put_(): Expected a long tensor for index, but got %s",
            cfx_dtypes[index->dtype].name);
    if (x->dtype != v->dtype)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "put_(): self and source expected to have the same dtype, but got %s and %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[v->dtype].name);
    if (!cfx_dim_eq(s->env, cfx_infer_numel(s->env, index->rank, index->shape),
                    cfx_infer_numel(s->env, v->rank, v->shape)))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "put_(): Expected source and index to have the same number of elements");
    for (int i = 0; i < x->rank; i++)
        shape[i] = cfx_value_of_dim(x->shape[i]);
    cfx_value places = cfx_list(
        s, CFX_CALL(s, "torch.reshape", cfx_call_value(call, INDEX), flat));
    cfx_value y = CFX_CALL(s, "torch.index_put",
                           CFX_CALL(s, "torch.reshape", self, flat), places,
                           CFX_CALL(s, "torch.reshape", from, flat),
                           cfx_call_value(call, ACCUMULATE));
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, shape));
}

CFX_COMPOSITE(put)

const cfx_op cfx_op__put = {
    .schema =
        "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "A copy with elements of another tensor at places of all.",
    .flags = CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .infer = put_infer,
    .cost = put_cost,
    .run = put_run,
};
