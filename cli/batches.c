/*
 * batches -- cut inputs of many rows into batches.
 */
#include "batches.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a batch that nothing else sets; rows for single patterns. */
enum { BATCH = 32, SAMPLE = 8 };

static const cfx_node *placeholder(const cfx_module *gm, size_t i)
{
    const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));
    for (; n; n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER && !i--)
            break;
    return n;
}

/* The tensor that a placeholder's meta tells, of rank 1 at least; or NULL. */
static const cfx_tensor *told_tensor(const cfx_node *n)
{
    static const char *const keys[] = {"val", "tensor_meta", "example_value"};
    for (size_t i = 0; n && i < sizeof(keys) / sizeof(*keys); i++) {
        cfx_value v = cfx_node_meta(n, keys[i]);
        if (v.kind == CFX_TENSOR && v.u.tensor->rank)
            return v.u.tensor;
    }
    return NULL;
}

/* ---- Axes ---- */

/* The symbol of the batch: the first extent of the first input that has one there;
 * else 0. */
static cfx_dim batch_symbol(const cfx_module *gm, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const cfx_tensor *t = told_tensor(placeholder(gm, i));
        if (t && !cfx_dim_is_int(t->shape[0]))
            return t->shape[0];
    }
    return cfx_dim_int(0);
}

/* The axis that has the symbol of the batch; -1 if the model tells that none has, 0 if
 * it does not tell. */
static int axis_of(const cfx_node *n, cfx_dim symbol)
{
    const cfx_tensor *t = told_tensor(n);
    if (!t || cfx_dim_is_int(symbol))
        return 0;
    for (int i = 0; i < t->rank; i++)
        if (cfx_dim_same(t->shape[i], symbol))
            return i;
    return -1;
}

/* Set the axes that the options give, NAME=AXIS. */
static cfx_status read_axes(cli_batches *b, const cfx_module *gm,
                            const cli_list *axes, cfx_error *err)
{
    for (int k = 0; k < axes->n; k++) {
        const char *text = axes->item[k], *equals = strchr(text, '=');
        size_t i = 0, len = equals ? (size_t)(equals - text) : 0;
        char *end = NULL;
        long axis = equals ? strtol(equals + 1, &end, 10) : 0;
        while (i < b->all.n && (strncmp(placeholder(gm, i)->name, text, len) ||
                                placeholder(gm, i)->name[len]))
            i++;
        if (!equals || end == equals + 1 || *end || i == b->all.n ||
            b->all.value[i].kind != CFX_TENSOR || axis < 0 ||
            axis >= b->all.value[i].u.tensor->rank)
            return cfx_fail(
                err, CFX_EINVAL,
                "--batch-axis %.100s: it has to be NAME=AXIS, for an input with data that has this axis",
                text);
        b->axis[i] = (int)axis;
    }
    return CFX_OK;
}

static cfx_status find_axes(cli_batches *b, const cfx_module *gm,
                            const cli_list *axes, cfx_error *err)
{
    cfx_dim symbol = batch_symbol(gm, b->all.n);
    for (size_t i = 0; i < b->all.n; i++) {
        cfx_value v = b->all.value[i];
        bool is_cut = v.kind == CFX_TENSOR && v.u.tensor->rank;
        int axis = is_cut ? axis_of(placeholder(gm, i), symbol) : -1;
        b->axis[i] = is_cut && axis >= v.u.tensor->rank ? 0 : axis;
    }
    return read_axes(b, gm, axes, err);
}

/* Note an input: all that are cut have as many rows. */
static cfx_status note_input(cli_batches *b, const cfx_module *gm, size_t i,
                             cfx_error *err)
{
    const cfx_node *n = placeholder(gm, i);
    const int axis = b->axis[i];
    if (axis < 0)
        return CFX_OK;
    int64_t rows = cfx_tensor_size(b->all.value[i].u.tensor, axis);
    if (b->rows >= 0 && rows != b->rows)
        return cfx_fail(
            err, CFX_ESHAPE,
            "%s has %lld rows on axis %d, an input before it has %lld: --batch-axis gives the axis of an input",
            n->name, (long long)rows, axis, (long long)b->rows);
    if (!rows)
        return cfx_fail(err, CFX_EINVAL, "%s has no rows", n->name);
    b->rows = rows;
    const cfx_tensor *told = told_tensor(n);
    if (!b->batch && told && axis < told->rank &&
        cfx_dim_is_int(told->shape[axis]))
        b->batch = cfx_tensor_size(told, axis);
    return CFX_OK;
}

/* ---- Making ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

cfx_status cli_batches_make(cli_batches *b, cli *c, cfx_module *gm,
                            const cli_batching *o, cfx_error *err)
{
    b->rows = -1;
    b->batch = o->batch;
    cfx_status st = cli_inputs_make(&b->all, c, gm, o->samples, o->data,
                                    o->seed, err);
    if (st)
        return st;
    b->axis = calloc(b->all.n + 1, sizeof(*b->axis));
    b->one.value = calloc(b->all.n + 1, sizeof(*b->one.value));
    if (!b->axis || !b->one.value)
        return cfx_no_memory(err);
    b->one.n = b->all.n;
    st = find_axes(b, gm, o->axes, err);
    for (size_t i = 0; i < b->all.n && !st; i++)
        st = note_input(b, gm, i, err);
    b->sample = b->batch ? b->batch : SAMPLE;
    b->batch = least(b->batch ? b->batch : BATCH, b->rows > 0 ? b->rows : 1);
    b->sample = least(b->sample, b->batch);
    return st;
}

static void drop_batch(cli_batches *b)
{
    for (size_t i = 0; b->one.value && i < b->one.n; i++) {
        cfx_value_unref(b->one.value[i]);
        b->one.value[i] = CFX_NOTHING;
    }
}

void cli_batches_release(cli_batches *b)
{
    drop_batch(b);
    free(b->one.value);
    free(b->axis);
    cli_inputs_release(&b->all);
}

/* ---- Batches ---- */

/* Rows from..from + n of a tensor along an axis, as a view. */
static cfx_status rows_of(cfx_value *out, const cfx_tensor *t, int axis,
                          int64_t from, int64_t n, cfx_error *err)
{
    cfx_dim shape[CFX_MAX_RANK];
    cfx_tensor *view;
    memcpy(shape, t->shape, (size_t)t->rank * sizeof(*shape));
    shape[axis] = cfx_dim_int(n);
    int64_t offset = cfx_dim_value(t->offset) +
                     from * cfx_dim_value(t->stride[axis]);
    cfx_status st = cfx_tensor_view(&view, t, t->rank, shape, t->stride,
                                    cfx_dim_int(offset), err);
    if (!st)
        *out = cfx_value_of_tensor(view);
    return st;
}

cfx_status cli_batches_take(cli_batches *b, int64_t from, int64_t n,
                            cfx_error *err)
{
    cfx_status st = CFX_OK;
    drop_batch(b);
    for (size_t k = 0; k < b->all.n && !st; k++)
        if (b->axis[k] >= 0)
            st = rows_of(&b->one.value[k], b->all.value[k].u.tensor,
                         b->axis[k], from, n, err);
        else
            b->one.value[k] = cfx_value_ref(b->all.value[k]);
    return st;
}

/* Make batch i of `size` rows the current one; the last may be smaller. */
static cfx_status take(cli_batches *b, size_t i, int64_t size, cfx_error *err)
{
    int64_t from = (int64_t)i * size;
    return cli_batches_take(b, from, least(b->rows - from, size), err);
}

static cfx_status batch_at(void *user, size_t i, const cfx_value **inputs,
                           size_t *n, cfx_error *err)
{
    cli_batches *b = user;
    *inputs = b->one.value;
    *n = b->one.n;
    return take(b, i, b->batch, err);
}

static cfx_status sample_at(void *user, size_t i, const cfx_value **inputs,
                            size_t *n, cfx_error *err)
{
    cli_batches *b = user;
    *inputs = b->one.value;
    *n = b->one.n;
    return take(b, i, b->sample, err);
}

/* Batches of `size` rows that `rows` of them fill. */
static size_t count(int64_t rows, int64_t size)
{
    return rows > 0 ? (size_t)((rows - 1) / size + 1) : 1;
}

cfx_quant_data cli_batches_all(cli_batches *b)
{
    return (cfx_quant_data){
        .batch = batch_at, .user = b, .n = count(b->rows, b->batch)};
}

cfx_quant_data cli_batches_sample(cli_batches *b)
{
    return (cfx_quant_data){.batch = sample_at,
                            .user = b,
                            .n = count(least(b->rows, SAMPLE), b->sample)};
}
