/*
 * pack_quantized -- compute with packed integers what reads the rows or columns of
 * a weight that is dequantized: torch.ops.cfx.packed_linear, packed_embedding.
 *
 * The reference graph of a model with quantized weights has float operators whose
 * weight is dequantize_per_tensor, _per_channel or _per_channel_group of constants.
 * A weight is packed once for all its users, in 4 bits if its integers have no
 * more, its zero points beside it: a table that is also the weight of a linear layer
 * stays one. Sums of
 * products are scaled by group, where the reference scales each weight, so that
 * results differ in their rounding.
 */
#include <cfx/ops.h>
#include <math.h>
#include <string.h>

#include "interp/passes/lower/frozen.h"
#include "interp/rewrite/retrace.h"
#include "graph/graph_impl.h"
#include "ops/blocked/blocked_ops.h"

typedef struct packer {
    cfx_pass_call *p;
    cfx_frozen frozen;
    cfx_node_map weight, scale,
        zero; /* get_attr nodes, of what is dequantized */
} packer;

/* Operators that take a weight, and the names of their parameters. */
typedef struct form {
    const char *op, *weight, *input, *input_too, *bias;
    bool columns; /* the weight is (in, out), else (out, in) */
    bool rows;    /* its rows are taken */
} form;

static const form forms[] = {
    {"linear", "weight", "input", NULL, "bias", false, false},
    {"addmm", "mat2", "mat1", NULL, "self", true, false},
    {"mm", "mat2", "self", NULL, NULL, true, false},
    {"matmul", "other", "self", NULL, NULL, true, false},
    {"embedding", "weight", "indices", "input", NULL, false, true},
};

/* A call, and its weight (rows, depth) of integers. `dequantize` is at first what
 * gives the weight, which may transpose it. */
typedef struct layer_call {
    const form *form;
    cfx_node *n, *x, *bias, *dequantize;
    cfx_tensor *q, *scale; /* new references; scale: NULL, one for all */
    cfx_tensor *zero;      /* likewise; i8[rows, groups], or NULL */
    double one_scale;
    int64_t rows, depth, groups, q_row, q_column;
} layer_call;

/* ---- Calls ---- */

static bool has_type(const cfx_node *n, cfx_dtype dtype)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t && t->dtype == dtype;
}

static cfx_value arg(const cfx_node *n, const char *name)
{
    const cfx_schema *schema = name ? cfx_pass__signature(n) : NULL;
    return schema ? cfx_pass__arg(n, schema, name) : CFX_NOTHING;
}

static bool is_given(cfx_value v)
{
    return v.kind && v.kind != CFX_NONE;
}

/* Settings besides tensors that the packed operators do not have. */
static bool is_plain(const cfx_node *n)
{
    return !is_given(arg(n, "max_norm")) && !is_given(arg(n, "beta")) &&
           !is_given(arg(n, "alpha"));
}

static bool find_call(cfx_node *n, layer_call *a)
{
    size_t i = 0;
    while (i < sizeof(forms) / sizeof(*forms) && !cfx_node_is(n, forms[i].op))
        i++;
    if (i == sizeof(forms) / sizeof(*forms) || !is_plain(n))
        return false;
    const form *f = &forms[i];
    cfx_value x = arg(n, f->input), bias = arg(n, f->bias);
    *a = (layer_call){.form = f, .n = n, .bias = cfx_value__node(bias)};
    a->x = cfx_value__node(x.kind ? x : arg(n, f->input_too));
    a->dequantize = cfx_value__node(arg(n, f->weight));
    return a->x && a->dequantize && has_type(n, CFX_F32) &&
           (f->rows || has_type(a->x, CFX_F32)) &&
           is_given(bias) == (a->bias != NULL);
}

/* One number for each row of the weight. */
static bool fits_bias(const layer_call *a)
{
    const cfx_tensor *t = a->bias ? cfx_node__known_tensor(a->bias) : NULL;
    return !a->bias || (t && t->dtype == CFX_F32 && t->rank == 1 &&
                        cfx_dim_is(t->shape[0], a->rows));
}

/* ---- Constants ---- */

/* A new reference to a constant tensor of a type, without gaps; NULL: the value is
 * not that. */
static cfx_status load(packer *k, cfx_value v, cfx_dtype dtype,
                       cfx_tensor **out)
{
    const cfx_node *n = cfx_value__node(v);
    *out = NULL;
    return n && has_type(n, dtype)
               ? cfx_frozen__load(&k->frozen, n, dtype, out)
               : CFX_OK;
}

/* Does n dequantize rows of a matrix, or columns, by scales of their own, or all by one? */
static bool fits_axis(const cfx_node *n, bool columns)
{
    cfx_value axis = arg(n, "axis");
    if (cfx_node_is(n, "dequantize_per_channel"))
        return axis.kind == CFX_INT && axis.u.i == columns;
    return cfx_node_is(n, "dequantize_per_tensor") ||
           (!columns && cfx_node_is(n, "dequantize_per_channel_group"));
}

/* Is there a finite number for each row, or for each row and group? */
static bool fits_scale(layer_call *a)
{
    const cfx_tensor *t = a->scale;
    bool grouped = cfx_node_is(a->dequantize, "dequantize_per_channel_group");
    if (!t)
        return isfinite(a->one_scale);
    a->groups = grouped && t->rank == 2 ? cfx_tensor_size(t, 1) : 1;
    bool fits = t->rank == 1 + grouped && cfx_tensor_size(t, 0) == a->rows &&
                a->groups > 0 && a->depth % a->groups == 0;
    for (int64_t i = 0; fits && i < a->rows * a->groups; i++)
        fits = isfinite(((const float *)t->data)[i]);
    return fits;
}

/* ---- Zero points ---- */

/* Zero points as the graph has them: one for each scale, or one for all. */
typedef struct zero_points {
    cfx_tensor *all; /* a new reference; or NULL */
    int64_t one;
} zero_points;

static cfx_status load_zeros(packer *k, const layer_call *a, zero_points *z,
                             bool *found)
{
    const cfx_node *d = a->dequantize;
    cfx_value one = arg(d, "zero_point"), all = arg(d, "zero_points");
    *z = (zero_points){.one = one.kind == CFX_INT ? one.u.i : 0};
    *found = !is_given(all) && (!one.kind || one.kind == CFX_INT);
    cfx_status st = load(k, all, CFX_I64, &z->all);
    if (!st && !z->all)
        st = load(k, all, CFX_I8, &z->all);
    if (z->all)
        *found = cfx_tensor_numel(z->all) == a->rows * a->groups;
    return st;
}

static int64_t zero_at(const zero_points *z, int64_t i)
{
    return !z->all
               ? z->one
               : cfx_element_int(
                     (cfx_dtype)z->all->dtype,
                     (const char *)z->all->data +
                         (size_t)i * cfx_dtype_size((cfx_dtype)z->all->dtype));
}

/* Least and most of some integers. */
typedef struct span {
    int64_t least, most;
} span;

static void widen(span *s, int64_t v)
{
    s->least = v < s->least ? v : s->least;
    s->most = v > s->most ? v : s->most;
}

static const span nothing = {INT64_MAX, INT64_MIN};

static bool is_within(span s, int64_t least, int64_t most)
{
    return s.least >= least && s.most <= most;
}

static int64_t stored_at(const layer_call *a, int64_t row, int64_t i)
{
    return cfx_element_int((cfx_dtype)a->q->dtype, (const char *)a->q->data +
                                                       row * a->q_row +
                                                       i * a->q_column);
}

/* How the weight is stored: its integers less those of `zeros`, or less `shift`. */
typedef struct storing {
    const zero_points *zeros; /* NULL: they stay beside the weight */
    int64_t shift;
} storing;

/* Products take integers without zero points: these are subtracted from the integers
 * where that leaves them as few bits. *found is false if int8 does not hold them. */
static storing choose_storing(const layer_call *a, const zero_points *z,
                              bool *found)
{
    span all = nothing, centered = nothing, zeros = {0, 0};
    int64_t each = a->depth / a->groups;
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t i = 0; i < a->depth; i++) {
            int64_t q = stored_at(a, row, i);
            int64_t zero = zero_at(z, row * a->groups + i / each);
            widen(&all, q);
            widen(&centered, q - zero);
            widen(&zeros, zero);
        }
    bool is_u8 = a->q->dtype == CFX_U8;
    int64_t shift = !is_u8 ? 0 : all.most <= 15 ? 8 : 128;
    bool half = is_within(all, shift - 8, shift + 7) &&
                is_within(zeros, shift - 8, shift + 7);
    if (is_within(centered, -8, 7) ||
        (!half && is_within(centered, INT8_MIN, INT8_MAX)))
        return (storing){.zeros = z};
    *found = half || is_within(zeros, shift - 128, shift + 127);
    return (storing){.shift = shift};
}

/* Replace the integers by int8 in rows. */
static cfx_status store_integers(packer *k, layer_call *a, const storing *how)
{
    const int64_t shape[] = {a->rows, a->depth};
    int64_t each = a->depth / a->groups;
    cfx_tensor *t;
    cfx_status st = cfx_tensor_new(&t, k->p->ctx, CFX_I8, 2, shape, k->p->err);
    if (st)
        return st;
    int8_t *to = t->data;
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t i = 0; i < a->depth; i++)
            *to++ = (int8_t)(stored_at(a, row, i) -
                             (how->zeros ? zero_at(how->zeros,
                                                   row * a->groups + i / each)
                                         : how->shift));
    cfx_tensor_unref(a->q);
    a->q = t;
    a->q_row = a->depth;
    a->q_column = 1;
    return CFX_OK;
}

/* Keep the zero points that remain: i8[rows, groups]. */
static cfx_status store_zeros(packer *k, layer_call *a, const zero_points *z,
                              int64_t shift)
{
    const int64_t shape[] = {a->rows, a->groups};
    cfx_status st = cfx_tensor_new(&a->zero, k->p->ctx, CFX_I8, 2, shape,
                                   k->p->err);
    for (int64_t i = 0; !st && i < a->rows * a->groups; i++)
        ((int8_t *)a->zero->data)[i] = (int8_t)(zero_at(z, i) - shift);
    return st;
}

/* Let integers and zero points be int8. */
static cfx_status store(packer *k, layer_call *a, bool *found)
{
    zero_points z;
    cfx_status st = load_zeros(k, a, &z, found);
    if (!st && *found && (a->q->dtype == CFX_U8 || z.all || z.one)) {
        storing how = choose_storing(a, &z, found);
        if (*found)
            st = store_integers(k, a, &how);
        if (!st && *found && !how.zeros)
            st = store_zeros(k, a, &z, how.shift);
    }
    cfx_tensor_unref(z.all);
    return st;
}

/* Find integers and scales; *found is false for a weight that cannot be packed. */
static cfx_status load_weight(packer *k, layer_call *a, bool *found)
{
    cfx_node *d = a->dequantize;
    bool columns = a->form->columns;
    for (; cfx_pass__is_transpose(d); d = cfx_value__node(d->args[0]))
        columns = !columns;
    a->dequantize = d;
    cfx_value scale = arg(d, "scale"), q = arg(d, "input");
    *found = false;
    if (!fits_axis(d, columns) || !has_type(d, CFX_F32) ||
        cfx_aliases__is_written(&k->frozen.aliases, d))
        return CFX_OK;
    cfx_status st = load(k, q, CFX_I8, &a->q);
    if (!st && !a->q)
        st = load(k, q, CFX_U8, &a->q);
    if (st || !a->q || a->q->rank != 2)
        return st;
    a->rows = cfx_tensor_size(a->q, columns);
    a->depth = cfx_tensor_size(a->q, !columns);
    a->q_row = columns ? 1 : a->depth;
    a->q_column = columns ? a->rows : 1;
    a->groups = 1;
    a->one_scale = scale.kind == CFX_FLOAT ? scale.u.f : NAN;
    if (scale.kind != CFX_FLOAT)
        st = load(k, arg(d, "scales"), CFX_F32, &a->scale);
    *found = !st && fits_scale(a) && fits_bias(a);
    return st || !*found ? st : store(k, a, found);
}

/* ---- Packing ---- */

/* Integers in 4 bytes; 0: groups do not consist of them. */
static int64_t together(const layer_call *a)
{
    const int8_t *q = a->q->data;
    bool half = a->depth % (8 * a->groups) == 0;
    for (int64_t i = 0; half && i < a->rows * a->depth; i++)
        half = q[i] >= -8 && q[i] <= 7;
    for (int64_t i = 0; half && a->zero && i < a->rows * a->groups; i++) {
        int8_t zero = ((const int8_t *)a->zero->data)[i];
        half = zero >= -8 && zero <= 7;
    }
    return half ? 8 : a->depth % (4 * a->groups) == 0 ? 4 : 0;
}

/* A matrix of int8: rows of `depth` integers. */
typedef struct matrix {
    const int8_t *data;
    int64_t rows, depth, row, column; /* row, column: strides */
} matrix;

static int64_t words_of(const matrix *m, int64_t n)
{
    return (m->depth + n - 1) / n;
}

/* Write it in the form that ops/blocked/blocked_packed_weight.h describes, with zeros past
 * the last row and column. */
static void fill(const matrix *m, int64_t n, uint8_t *to)
{
    bool half = n == 8;
    int64_t blocks = (m->rows + CFX_BLOCK - 1) / CFX_BLOCK;
    int64_t depth = words_of(m, n) * n;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = 0; i < depth; i += n)
            for (int64_t row = b * CFX_BLOCK; row < (b + 1) * CFX_BLOCK;
                 row++, to += 4)
                for (int64_t j = 0; j < n; j++) {
                    bool within = row < m->rows && i + j < m->depth;
                    int q = within
                                ? m->data[row * m->row + (i + j) * m->column]
                                : 0;
                    if (!half)
                        to[j] = (uint8_t)q;
                    else if (j % 2)
                        to[j / 2] |= (uint8_t)((q + 8) << 4);
                    else
                        to[j / 2] = (uint8_t)(q + 8);
                }
}

static void fill_scale(const layer_call *a, float *to)
{
    int64_t blocks = (a->rows + CFX_BLOCK - 1) / CFX_BLOCK;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t g = 0; g < a->groups; g++)
            for (int64_t row = b * CFX_BLOCK; row < (b + 1) * CFX_BLOCK; row++)
                *to++ = row >= a->rows ? 0
                        : a->scale     ? ((const float *)
                                          a->scale->data)[row * a->groups + g]
                                       : (float)a->one_scale;
}

static cfx_status put(packer *k, const layer_call *a, const char *prefix,
                      cfx_tensor *t, cfx_node_map *map)
{
    cfx_pass_call *p = k->p;
    cfx_insert_point here = cfx_graph_inserting_before(p->graph,
                                                       a->dequantize);
    cfx_node *n = cfx_pass_add_tensor(p, prefix, t);
    cfx_graph_restore(p->graph, here);
    return n ? cfx_node_map_set(map, a->dequantize, cfx_value_of_node(n),
                                p->err)
             : p->err->code;
}

static cfx_status put_integers(packer *k, const layer_call *a, int64_t n,
                               const char *prefix, const matrix *m,
                               cfx_node_map *map)
{
    cfx_tensor *t;
    int64_t shape[] = {(m->rows + CFX_BLOCK - 1) / CFX_BLOCK, words_of(m, n),
                       CFX_BLOCK, 4};
    cfx_status st = cfx_tensor_new(&t, k->p->ctx, n == 8 ? CFX_U8 : CFX_I8, 4,
                                   shape, k->p->err);
    if (st)
        return st;
    fill(m, n, t->data);
    st = put(k, a, prefix, t, map);
    cfx_tensor_unref(t);
    return st;
}

static cfx_status put_weight(packer *k, const layer_call *a, int64_t n)
{
    const matrix m = {a->q->data, a->rows, a->depth, a->q_row, a->q_column};
    return put_integers(k, a, n, n == 8 ? "_int4_" : "_int8_", &m, &k->weight);
}

static cfx_status put_zero(packer *k, const layer_call *a, int64_t n)
{
    if (!a->zero)
        return CFX_OK;
    const matrix m = {a->zero->data, a->rows, a->groups, a->groups, 1};
    return put_integers(k, a, n, "_zero_point_", &m, &k->zero);
}

static cfx_status put_scale(packer *k, const layer_call *a)
{
    cfx_tensor *t;
    bool grouped = a->groups > 1;
    int64_t blocks = (a->rows + CFX_BLOCK - 1) / CFX_BLOCK;
    int64_t shape[] = {grouped ? blocks : blocks * CFX_BLOCK, a->groups,
                       CFX_BLOCK};
    cfx_status st = cfx_tensor_new(&t, k->p->ctx, CFX_F32, grouped ? 3 : 1,
                                   shape, k->p->err);
    if (st)
        return st;
    fill_scale(a, t->data);
    st = put(k, a, "_scale_", t, &k->scale);
    cfx_tensor_unref(t);
    return st;
}

/* ---- The pass ---- */

static cfx_node *call_packed(packer *k, const layer_call *a)
{
    cfx_pass_call *p = k->p;
    cfx_value w = cfx_node_map_get(&k->weight, a->dequantize);
    cfx_value scale = cfx_node_map_get(&k->scale, a->dequantize);
    cfx_value zero = cfx_node_map_get(&k->zero, a->dequantize);
    cfx_value x = cfx_value_of_node(a->x), rows = cfx_int(a->rows);
    cfx_value table[] = {w, x, rows, scale};
    cfx_value linear[] = {x, w, rows,
                          a->bias ? cfx_value_of_node(a->bias) : CFX_NOTHING};
    bool is_table = a->form->rows;
    cfx_node *y = cfx_graph_call_function(
        p->graph,
        is_table ? "torch.ops.cfx.packed_embedding.default"
                 : "torch.ops.cfx.packed_linear.default",
        is_table ? cfx_args_of(table, 4)
                 : cfx_args_of(linear, a->bias ? 4 : 3),
        p->err);
    if (y && !is_table && cfx_node_update_kwarg(y, "scale", scale, p->err))
        return NULL;
    if (y && zero.kind && cfx_node_update_kwarg(y, "zero_point", zero, p->err))
        return NULL;
    return y;
}

static cfx_status replace(packer *k, const layer_call *a)
{
    cfx_pass_call *p = k->p;
    cfx_insert_point here = cfx_graph_inserting_before(p->graph, a->n);
    cfx_node *y = call_packed(k, a);
    cfx_graph_restore(p->graph, here);
    if (!y)
        return p->err->code;
    p->changed++;
    cfx_status st = cfx_node__keep_meta(y, a->n, p->err);
    return st ? st : cfx_pass__replace(p, a->n, y);
}

static cfx_status pack(packer *k, const layer_call *a)
{
    cfx_status st = CFX_OK;
    if (!cfx_node_map_node(&k->weight, a->dequantize)) {
        int64_t n = together(a);
        if (!n)
            return CFX_OK;
        st = put_weight(k, a, n);
        if (!st)
            st = put_scale(k, a);
        if (!st)
            st = put_zero(k, a, n);
    }
    return st ? st : replace(k, a);
}

static cfx_status pack_node(packer *k, cfx_node *n)
{
    layer_call a;
    bool found;
    if (!find_call(n, &a))
        return CFX_OK;
    cfx_status st = cfx_context_check(k->p->ctx, k->p->err);
    if (!st)
        st = load_weight(k, &a, &found);
    if (!st && found)
        st = pack(k, &a);
    cfx_tensor_unref(a.q);
    cfx_tensor_unref(a.scale);
    cfx_tensor_unref(a.zero);
    return st;
}

static cfx_status pack_all(packer *k)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(k->p->graph), *next; n && !st;
         n = next) {
        next = cfx_node_next(n);
        if (cfx_frozen__has(&k->frozen, n)) /* not a new one */
            st = pack_node(k, n);
    }
    return st;
}

static cfx_status pack_quantized_run(cfx_pass_call *p)
{
    packer k = {.p = p};
    cfx_node_map_init(&k.weight, p->graph);
    cfx_node_map_init(&k.scale, p->graph);
    cfx_node_map_init(&k.zero, p->graph);
    cfx_status st = cfx_frozen__init(&k.frozen, p);
    if (!st && !k.frozen.uses.unknown)
        st = pack_all(&k);
    cfx_node_map_release(&k.weight);
    cfx_node_map_release(&k.scale);
    cfx_node_map_release(&k.zero);
    cfx_frozen__release(&k.frozen);
    return st || !p->changed
               ? st
               : cfx_graph_eliminate_dead_code(p->graph, NULL, NULL, p->err);
}

const cfx_pass cfx_pass__pack_quantized = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "pack_quantized()",
    .doc =
        "Compute linear layers and embeddings of dequantized weights by packed integers of 8 or 4 bits, where meta tensor_meta shows the types.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = pack_quantized_run,
};
