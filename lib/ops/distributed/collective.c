/*
 * collective -- torch.ops._c10d_functional: what the ranks of a group compute
 * together, through the communicator of the context (cfx/comm.h).
 *
 * shape   all_reduce, broadcast: that of the input; all_gather_into_tensor has
 *         the first extent times the group's size, reduce_scatter_tensor
 *         divided by it; all_to_all_single the sum of output_split_sizes. All
 *         are row-major.
 * cost    a reduction over n ranks counts n - 1 for each element of the result,
 *         for all_reduce by the size of the context's group; the division of
 *         `avg` one more. Bytes are those in this rank's memory.
 *
 * A call is complete when it returns, so wait_tensor is its argument. A list of
 * tensors (_coalesced) is one call for each.
 */
#include <stdio.h>

#include "base/comm_impl.h"
#include "op/infer.h"
#include "op/op_cost.h"
#include "op/op_impl.h"

CFX_PARAMS(params, INPUT, INPUTS, REDUCE_OP, GROUP_SIZE, GROUP_NAME,
           OUTPUT_SPLIT_SIZES, INPUT_SPLIT_SIZES, SRC, OUT, TENSOR);

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST };

/* How tensors of a type are combined: bool as bits, complex numbers as two. */
typedef struct combination {
    cfx_reduction how;
    cfx_dtype type;
    int parts;
    bool divides;
} combination;

/* ---- Reductions ---- */

static const struct {
    const char *name;
    cfx_reduction how, of_bool;
} reductions[] = {
    {"sum", CFX_REDUCE_SUM, CFX_REDUCE_BOR},
    {"avg", CFX_REDUCE_SUM, CFX_REDUCE_BOR},
    {"product", CFX_REDUCE_PRODUCT, CFX_REDUCE_BAND},
    {"min", CFX_REDUCE_MIN, CFX_REDUCE_BAND},
    {"max", CFX_REDUCE_MAX, CFX_REDUCE_BOR},
    {"band", CFX_REDUCE_BAND, CFX_REDUCE_BAND},
    {"bor", CFX_REDUCE_BOR, CFX_REDUCE_BOR},
    {"bxor", CFX_REDUCE_BXOR, CFX_REDUCE_BXOR},
};

enum { NREDUCTIONS = sizeof(reductions) / sizeof(*reductions) };

static cfx_status find_reduction(const cfx_call *call, int *out)
{
    const char *name = cfx_call_str(call, REDUCE_OP);
    for (*out = 0; *out < NREDUCTIONS; ++*out)
        if (!strcmp(name, reductions[*out].name))
            return CFX_OK;
    return cfx_call_fail(call, CFX_EINVAL, "Unrecognized reduce_op: %s", name);
}

static cfx_status find_combination(const cfx_call *call, cfx_dtype type,
                                   combination *out)
{
    int i = 0;
    cfx_status st = find_reduction(call, &i);
    if (st)
        return st;
    const char *name = reductions[i].name;
    bool averages = !strcmp(name, "avg");
    cfx_category category = cfx_dtypes[type].category;
    *out = (combination){reductions[i].how, type, 1, averages};
    if (type == CFX_BOOL)
        *out = (combination){reductions[i].of_bool, CFX_U8, 1, false};
    if (category == CFX_CAT_COMPLEX)
        *out = (combination){CFX_REDUCE_SUM, cfx_dtype_real(type), 2,
                             averages};
    if (category == CFX_CAT_COMPLEX && reductions[i].how != CFX_REDUCE_SUM)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "all_reduce: reduce_op %s does not support complex tensors", name);
    if (averages && category < CFX_CAT_FLOAT)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "avg of %s has fractions, which it cannot hold",
                             cfx_dtypes[type].name);
    if (category >= CFX_CAT_FLOAT && reductions[i].how >= CFX_REDUCE_BAND)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Cannot use ReduceOp.%s with non-integral dtype",
                             name);
    return CFX_OK;
}

static bool reduces(const cfx_call *call)
{
    return call->op->code == ALL_REDUCE || call->op->code == REDUCE_SCATTER;
}

/* ---- Arguments: a tensor, or a list of them ---- */

static int count(const cfx_call *call)
{
    return cfx_call_has(call, INPUTS) ? cfx_call_len(call, INPUTS) : 1;
}

static const cfx_tensor *input_at(const cfx_call *call, int i)
{
    return cfx_call_has(call, INPUTS) ? cfx_call_item(call, INPUTS, i).u.tensor
                                      : cfx_call_tensor(call, INPUT);
}

static cfx_tensor *output_at(const cfx_call *call, int i)
{
    if (cfx_call_has(call, INPUTS))
        return call->result.u.seq->item[i].u.tensor;
    cfx_tensor *given = cfx_call_tensor(call, OUT);
    return given ? given : call->out[0];
}

/* Plain text of a graph has no quotes, so that '0' is read as an integer. */
static const char *group_name(const cfx_call *call, char *buf, size_t size)
{
    cfx_value v = cfx_call_value(call, GROUP_NAME);
    if (v.kind != CFX_INT)
        return cfx_call_str(call, GROUP_NAME);
    snprintf(buf, size, "%lld", (long long)v.u.i);
    return buf;
}

static cfx_status group_of(const cfx_call *call, cfx_group *out)
{
    char buf[32];
    const char *name = group_name(call, buf, sizeof(buf));
    if (!name)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "group_name should be the name of a group, as '0'");
    cfx_status st = cfx_context_find_group(call->ctx, name, out, call->err);
    if (!st && cfx_call_has(call, GROUP_SIZE) &&
        cfx_call_int(call, GROUP_SIZE) != out->size)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "group_size is %lld, but group '%s' has %d ranks (mpirun -n and --comm make more)",
            (long long)cfx_call_int(call, GROUP_SIZE), name, out->size);
    return st;
}

/* ---- Shapes ---- */

static cfx_dim sum_of(const cfx_call *call, int k)
{
    cfx_dim sum = cfx_dim_int(0);
    for (int i = 0, n = cfx_call_len(call, k); i < n; i++)
        sum = cfx_dim_add(call->env, sum, cfx_call_dim(call, k, i));
    return sum;
}

static cfx_status exchanged(const cfx_call *call, const cfx_tensor *x,
                            cfx_dim *first)
{
    int give = cfx_call_len(call, INPUT_SPLIT_SIZES);
    if (give &&
        !cfx_dim_eq(call->env, sum_of(call, INPUT_SPLIT_SIZES), *first))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Split sizes doesn't match total dim 0 size of the input");
    if (cfx_call_len(call, OUTPUT_SPLIT_SIZES))
        *first = sum_of(call, OUTPUT_SPLIT_SIZES);
    (void)x;
    return CFX_OK;
}

static cfx_status indivisible(const cfx_call *call, cfx_dim first)
{
    char text[64];
    cfx_dim_format(first, text, sizeof(text));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "the first extent of the input, %s, is not divisible by the group's size, %lld",
        text, (long long)cfx_call_int(call, GROUP_SIZE));
}

/* The first extent of the result. */
static cfx_status change_first(const cfx_call *call, const cfx_tensor *x,
                               cfx_dim *first)
{
    cfx_dim size = cfx_dim_int(
        cfx_call_has(call, GROUP_SIZE) ? cfx_call_int(call, GROUP_SIZE) : 1);
    if (cfx_call_has(call, GROUP_SIZE) && cfx_call_int(call, GROUP_SIZE) < 1)
        return cfx_call_fail(call, CFX_EINVAL,
                             "group_size should be positive");
    if (call->op->code == ALL_TO_ALL)
        return exchanged(call, x, first);
    if (call->op->code == ALL_GATHER)
        *first = cfx_dim_mul(call->env, *first, size);
    if (call->op->code == REDUCE_SCATTER) {
        if (!cfx_dim_eq(call->env, cfx_dim_mod(call->env, *first, size),
                        cfx_dim_int(0)))
            return indivisible(call, *first);
        *first = cfx_dim_floordiv(call->env, *first, size);
    }
    return CFX_OK;
}

static bool keeps_shape(const cfx_call *call)
{
    return call->op->code == ALL_REDUCE || call->op->code == BROADCAST;
}

static cfx_status shape_of(cfx_call *call, const cfx_tensor *x, cfx_dim *shape)
{
    combination unused;
    cfx_status st = reduces(call)
                        ? find_combination(call, (cfx_dtype)x->dtype, &unused)
                        : CFX_OK;
    if (st)
        return st;
    if (!x->rank && !keeps_shape(call))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "the input should have an axis, it has none");
    memcpy(shape, x->shape, x->rank * sizeof(*shape));
    return keeps_shape(call) ? CFX_OK : change_first(call, x, &shape[0]);
}

/* Tell an observer what this call exchanges. */
static cfx_status observe(const cfx_call *call, const cfx_tensor *x)
{
    char type[256], line[512], buf[32];
    const char *group = group_name(call, buf, sizeof(buf));
    if (!group || !cfx_comm__is_observed(call->ctx))
        return CFX_OK;
    cfx_group g;
    cfx_status st = group_of(call, &g);
    if (st)
        return st;
    cfx_tensor_format_type(x, type, sizeof(type));
    const char *how = cfx_call_str(call, REDUCE_OP);
    int n = snprintf(line, sizeof(line), "%s of %s", call->schema->name, type);
    if (how)
        n += snprintf(line + n, sizeof(line) - (size_t)n, " by %s", how);
    if (call->op->code == BROADCAST)
        snprintf(line + n, sizeof(line) - (size_t)n, " from rank %lld",
                 (long long)cfx_call_int(call, SRC));
    return cfx_comm__observed(call->ctx, group, line, call->err);
}

/* A result with its own memory, or `out`. */
static cfx_status give_result(cfx_call *call, cfx_dtype type, int rank,
                              const cfx_dim *shape)
{
    const cfx_tensor *out = cfx_call_tensor(call, OUT);
    if (!out)
        return cfx_call_out(call, type, rank, shape);
    bool fits = out->dtype == type && out->rank == rank &&
                (call->meta || out->flags & CFX_TENSOR_CONTIGUOUS);
    for (int i = 0; fits && i < rank; i++)
        fits = cfx_dim_eq(call->env, out->shape[i], shape[i]);
    return fits
               ? cfx_call_out_same(call, OUT)
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "out should be row-major, with the shape and type of the result");
}

static cfx_status collective_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_status st = shape_of(call, x, shape);
    if (!st)
        st = observe(call, x);
    return st ? st : give_result(call, (cfx_dtype)x->dtype, x->rank, shape);
}

static cfx_status list_infer(cfx_call *call)
{
    int n = count(call), made = 0;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_value *item = cfx_calloc(call->ctx, (size_t)n + 1, sizeof(*item));
    cfx_status st = item ? CFX_OK : cfx_no_memory(call->err);
    for (; !st && made < n; made++) {
        const cfx_tensor *x = input_at(call, made);
        cfx_tensor *y = NULL;
        st = shape_of(call, x, shape);
        if (!st)
            st = observe(call, x);
        if (!st)
            st = cfx_call_new(call, &y, (cfx_dtype)x->dtype, x->rank, shape);
        if (st)
            break;
        item[made] = cfx_value_of_tensor(y);
    }
    if (!st)
        st = cfx_call_return_take(call,
                                  cfx_list_new(call->ctx, (size_t)n, item));
    for (int i = 0; i < made; i++)
        cfx_value_unref(item[i]);
    cfx_free(call->ctx, item, ((size_t)n + 1) * sizeof(*item));
    return st;
}

/* The tensors of the list are written. */
static cfx_status written_list_infer(cfx_call *call)
{
    combination unused;
    for (int i = 0, n = count(call); i < n; i++) {
        const cfx_tensor *x = input_at(call, i);
        cfx_status st = find_combination(call, (cfx_dtype)x->dtype, &unused);
        if (!st)
            st = observe(call, x);
        if (st)
            return st;
    }
    return cfx_call_return_take(call, cfx_value_ref(call->in[0]));
}

static cfx_status wait_infer(cfx_call *call)
{
    return cfx_call_out_same(call, TENSOR);
}

/* ---- Costs ---- */

static void collective_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_group g = {.size = 1};
    combination c = {.divides = false};
    cfx_error ignored = {0};
    char buf[32];
    const char *name = group_name(call, buf, sizeof(buf));
    if (!reduces(call))
        return;
    if (cfx_call_has(call, GROUP_SIZE))
        g.size = (int)cfx_call_int(call, GROUP_SIZE);
    else if (name)
        cfx_context_find_group(call->ctx, name, &g, &ignored);
    cfx_dim all = cfx_dim_int(0);
    for (int i = 0, n = count(call); i < n; i++) {
        const cfx_tensor *y = output_at(call, i);
        find_combination(call, (cfx_dtype)y->dtype, &c);
        all = cfx_dim_add(
            call->env, all,
            cfx_cost_linear(call, (g.size - 1 + c.divides) * c.parts,
                            cfx_infer_numel(call->env, y->rank, y->shape), 0,
                            cfx_dim_int(0)));
        cost->transcendental = cfx_dim_add(
            call->env, cost->transcendental,
            cfx_cost_linear(call, c.divides ? c.parts : 0,
                            cfx_infer_numel(call->env, y->rank, y->shape), 0,
                            cfx_dim_int(0)));
    }
    cost->ops = all;
}

/* ---- Running ---- */

/* Divide a sum by the number of ranks. */
static void divide(cfx_dtype type, void *data, int64_t n, int by)
{
    const size_t size = cfx_dtype_size(type);
    float *single = data;
    double *whole = data;
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)data + (size_t)i * size;
        if (type == CFX_F32)
            single[i] /= (float)by;
        else if (type == CFX_F64)
            whole[i] /= by;
        else
            cfx_element_set_double(type, at,
                                   cfx_element_double(type, at) / by);
    }
}

static cfx_status reduce_one(const cfx_call *call, const cfx_group *g,
                             const cfx_tensor *x, const cfx_tensor *y)
{
    combination c;
    cfx_status st = find_combination(call, (cfx_dtype)x->dtype, &c);
    int64_t n = cfx_tensor_numel(y) * c.parts;
    if (!st && call->op->code == ALL_REDUCE)
        st = cfx_comm_all_reduce(call->ctx, g, c.how, c.type, x->data, y->data,
                                 n, call->err);
    else if (!st)
        st = cfx_comm_reduce_scatter(call->ctx, g, c.how, c.type, x->data,
                                     y->data, n, call->err);
    if (!st && c.divides)
        divide(c.type, y->data, n, g->size);
    return st;
}

/* The bytes for each rank: from split sizes, or of equal parts. */
static cfx_status split_bytes(const cfx_call *call, const cfx_group *g, int k,
                              const cfx_tensor *t, int64_t *bytes)
{
    int n = cfx_call_len(call, k);
    int64_t rows = cfx_tensor_size(t, 0);
    int64_t row = rows ? cfx_tensor_numel(t) / rows *
                             (int64_t)cfx_dtype_size((cfx_dtype)t->dtype)
                       : 0;
    if (n && n != g->size)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "%d split sizes are given for the %d ranks of group '%s'", n,
            g->size, g->name);
    if (!n && rows % g->size)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Tensor's dim 0 does not divide equally across group size");
    for (int r = 0; r < g->size; r++)
        bytes[r] = row * (n ? cfx_dim_value(cfx_call_dim(call, k, r))
                            : rows / g->size);
    return CFX_OK;
}

static cfx_status exchange_one(const cfx_call *call, const cfx_group *g,
                               const cfx_tensor *x, const cfx_tensor *y)
{
    const size_t size = (size_t)g->size;
    int64_t *bytes = cfx_calloc(call->ctx, 2 * size, sizeof(*bytes));
    cfx_status st = bytes ? CFX_OK : cfx_no_memory(call->err);
    if (!st)
        st = split_bytes(call, g, INPUT_SPLIT_SIZES, x, bytes);
    if (!st)
        st = split_bytes(call, g, OUTPUT_SPLIT_SIZES, y, bytes + size);
    if (!st)
        st = cfx_comm_all_to_all(call->ctx, g, x->data, bytes, y->data,
                                 bytes + size, call->err);
    cfx_free(call->ctx, bytes, 2 * size * sizeof(*bytes));
    return st;
}

static cfx_status broadcast_one(const cfx_call *call, const cfx_group *g,
                                const cfx_tensor *x, const cfx_tensor *y,
                                int64_t bytes)
{
    int64_t from = cfx_call_int(call, SRC);
    if (from < 0 || from >= g->size)
        return cfx_call_fail(call, CFX_EINVAL,
                             "src is %lld, group '%s' has %d ranks",
                             (long long)from, g->name, g->size);
    if (bytes && y->data != x->data)
        memcpy(y->data, x->data, (size_t)bytes);
    return cfx_comm_broadcast(call->ctx, g, (int)from, y->data, bytes,
                              call->err);
}

/* x and y are row-major. */
static cfx_status run_one(const cfx_call *call, const cfx_group *g,
                          const cfx_tensor *x, const cfx_tensor *y)
{
    int64_t bytes = cfx_tensor_numel(x) *
                    (int64_t)cfx_dtype_size((cfx_dtype)x->dtype);
    switch (call->op->code) {
    case ALL_GATHER:
        return cfx_comm_all_gather(call->ctx, g, x->data, y->data, bytes,
                                   call->err);
    case ALL_TO_ALL: return exchange_one(call, g, x, y);
    case BROADCAST: return broadcast_one(call, g, x, y, bytes);
    default: return reduce_one(call, g, x, y);
    }
}

static cfx_status collective_run(cfx_call *call)
{
    cfx_group g;
    cfx_status st = group_of(call, &g);
    for (int i = 0, n = count(call); !st && i < n; i++) {
        cfx_tensor *x;
        st = cfx_tensor_contiguous(&x, input_at(call, i), call->err);
        if (st)
            break;
        st = run_one(call, &g, x, output_at(call, i));
        cfx_tensor_unref(x);
    }
    return st;
}

/* Each tensor of the list is its own result. */
static cfx_status written_list_run(cfx_call *call)
{
    cfx_group g;
    cfx_status st = group_of(call, &g);
    for (int i = 0, n = count(call); !st && i < n; i++) {
        cfx_tensor *x, *into = cfx_call_item(call, INPUTS, i).u.tensor;
        st = cfx_tensor_contiguous(&x, into, call->err);
        if (st)
            break;
        st = reduce_one(call, &g, x, x);
        if (!st && x->data != into->data)
            st = cfx_tensor_copy(into, x, call->err);
        cfx_tensor_unref(x);
    }
    return st;
}

/* ---- Operators ---- */

#define NAMED(name)                                                           \
    "_c10d_functional." name " _c10d_functional." name ".default"
#define COLLECTIVE(name, code_, inplace_, args, doc_)                         \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor input, " args ") -> Tensor",                 \
        .params = params,                                                     \
        .aliases = NAMED(#name),                                              \
        .inplace_aliases = inplace_,                                          \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_EFFECT | CFX_OP_COMPLEX |                             \
                 CFX_OP_COPIES_TO_CONTIGUOUS,                                 \
        .infer = collective_infer,                                            \
        .cost = collective_cost,                                              \
        .run = collective_run,                                                \
    };
#define OF_LIST(name, code_, args, doc_)                                      \
    const cfx_op cfx_op__##name##_coalesced = {                               \
        .schema = #name "_coalesced(Tensor[] inputs, " args ") -> Tensor[]",  \
        .params = params,                                                     \
        .aliases = NAMED(#name "_coalesced"),                                 \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_EFFECT | CFX_OP_COMPLEX,                              \
        .infer = list_infer,                                                  \
        .cost = collective_cost,                                              \
        .run = collective_run,                                                \
    };
#define TO_OUT(name, code_, args, doc_)                                       \
    const cfx_op cfx_op__##name##_out = {                                     \
        .schema = #name "_out(Tensor input, " args                            \
                        ", *, Tensor(a!) out) -> Tensor(a!)",                 \
        .params = params,                                                     \
        .aliases = NAMED(#name "_out"),                                       \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_EFFECT | CFX_OP_COMPLEX,                              \
        .infer = collective_infer,                                            \
        .cost = collective_cost,                                              \
        .run = collective_run,                                                \
    };

#define REDUCE_ARGS "str reduce_op, any group_name"
#define GATHER_ARGS "int group_size, any group_name"
#define SCATTER_ARGS "str reduce_op, int group_size, any group_name"

COLLECTIVE(all_reduce, ALL_REDUCE, NAMED("all_reduce_"), REDUCE_ARGS,
           "The tensors of all ranks of a group, combined.")
OF_LIST(all_reduce, ALL_REDUCE, REDUCE_ARGS,
        "Each tensor combined with those of the other ranks.")
COLLECTIVE(all_gather_into_tensor, ALL_GATHER, NULL, GATHER_ARGS,
           "The tensors of all ranks, joined along the first axis.")
OF_LIST(all_gather_into_tensor, ALL_GATHER, GATHER_ARGS,
        "Each tensor joined with those of the other ranks.")
TO_OUT(all_gather_into_tensor, ALL_GATHER, GATHER_ARGS,
       "The tensors of all ranks, joined in a given tensor.")
COLLECTIVE(reduce_scatter_tensor, REDUCE_SCATTER, NULL, SCATTER_ARGS,
           "This rank's part of the combination, along the first axis.")
OF_LIST(reduce_scatter_tensor, REDUCE_SCATTER, SCATTER_ARGS,
        "This rank's part of the combination of each tensor.")
TO_OUT(reduce_scatter_tensor, REDUCE_SCATTER, SCATTER_ARGS,
       "This rank's part of the combination, in a given tensor.")
COLLECTIVE(
    all_to_all_single, ALL_TO_ALL, NULL,
    "SymInt[] output_split_sizes, SymInt[] input_split_sizes, any group_name",
    "Rows sent to each rank, joined with the rows received.")
COLLECTIVE(broadcast, BROADCAST, NAMED("broadcast_"),
           "int src, any group_name",
           "The tensor of one rank, on all of them.")

const cfx_op cfx_op__all_reduce_each = {
    .schema = "all_reduce_each(Tensor(a!)[] inputs, " REDUCE_ARGS
              ") -> Tensor(a!)[]",
    .params = params,
    .aliases = NAMED("all_reduce_coalesced_"),
    .doc = "Each tensor of the list is replaced by its combination.",
    .code = ALL_REDUCE,
    .flags = CFX_OP_EFFECT | CFX_OP_COMPLEX,
    .infer = written_list_infer,
    .cost = collective_cost,
    .run = written_list_run,
};

const cfx_op cfx_op__wait_tensor = {
    .schema = "wait_tensor(Tensor(a) tensor) -> Tensor(a)",
    .params = params,
    .aliases = NAMED("wait_tensor"),
    .doc = "The result of a collective, which is complete.",
    .flags = CFX_OP_EFFECT | CFX_OP_STORED_TYPES,
    .infer = wait_infer,
};
