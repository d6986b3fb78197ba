/*
 * onnx_loop -- rule of Loop.
 *
 * Rounds whose number and condition are known when the model is read stand one
 * after the other in the graph. Others become a while_loop, which carries the
 * number of the round, the condition, the carried values and, of each scanned
 * result, a tensor with a row for each round.
 */
#include "format/onnx/onnx.h"

/* Rows of a limit up to this are made before the rounds are counted. */
enum { MAX_ROWS = 1 << 16 };

typedef struct loop {
    const Onnx__GraphProto *body;
    size_t carried, scanned, captured;
    const char *name[ONNX_MAX_CAPTURED]; /* of captured values */
    cfx_value *v,
        *metas;      /* round, condition, carried; rows; captured; limit */
    bool steady;     /* the condition stays true */
    cfx_dtype *type; /* of scanned results, with their shapes */
    int *rank;
    cfx_dim (*shape)[CFX_MAX_RANK];
} loop;

/* ---- Rounds that are known ---- */

/* The number of rounds, if it is known and small. */
static bool known_rounds(onnx_node *n, int64_t *rounds)
{
    onnx_list list;

    if (!onnx_has(n, 0) || !onnx_ints_known(n, n->in[0], &list) ||
        list.n != 1 || list.item[0].kind != CFX_INT)
        return false;
    *rounds = list.item[0].u.i < 0 ? 0 : list.item[0].u.i;
    return *rounds <= ONNX_MAX_UNROLLED;
}

/* 1, 0, or -1 where the model decides. */
static int truth(cfx_value v)
{
    if (v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE)
        return v.u.i != 0;
    if (v.kind != CFX_TENSOR || cfx_tensor_numel(v.u.tensor) != 1)
        return v.kind == CFX_NONE ? 1 : -1;
    return cfx_element_double((cfx_dtype)v.u.tensor->dtype,
                              v.u.tensor->data) != 0;
}

/* The rounds one after the other; false where one has a condition that is not
 * known. */
static bool unroll(onnx_node *n, const loop *l, size_t rounds)
{
    size_t k = 0, carried = l->carried, most = rounds;
    cfx_value *in = onnx_alloc(n->s, carried + 2, sizeof(*in));
    cfx_value *out = onnx_alloc(n->s, n->nout + 2, sizeof(*out));
    cfx_value *rows = onnx_alloc(n->s, l->scanned * rounds + 1, sizeof(*rows));

    if (!in || !out || !rows)
        return true;
    for (size_t i = 0; i < carried; i++)
        in[2 + i] = n->in[2 + i];
    in[1] = onnx_has(n, 1) ? n->in[1] : onnx_scalar_tensor(n->s, 1, CFX_BOOL);
    for (; k < rounds && truth(in[1]) == 1; k++) {
        in[0] = onnx_int_tensor(n->s, 0, 1, (int64_t[]){(int64_t)k});
        if (!onnx_inline(n, l->body, in, carried + 2, out, n->nout + 1))
            return true;
        for (size_t i = 0; i < carried + 1; i++)
            in[1 + i] = out[i];
        for (size_t i = 0; i < l->scanned; i++)
            rows[i * most + k] = onnx_as_tensor(n->s, out[1 + carried + i]);
    }
    if (k < rounds && truth(in[1]) < 0)
        return false;
    for (size_t i = 0; i < carried; i++)
        n->out[i] = in[2 + i];
    for (size_t i = 0; i < l->scanned; i++)
        n->out[carried + i] = onnx_stacked(n, rows + i * most, k, 0);
    return true;
}

/* ---- Rounds that the model decides ---- */

/* Import one iteration into a graph that is dropped, to learn the types of the
 * scanned results and whether the condition is constant. */
static void try_round(onnx_node *n, loop *l)
{
    cfx_value *in = onnx_alloc(n->s, l->carried + 2, sizeof(*in));
    cfx_value *out = onnx_alloc(n->s, n->nout + 2, sizeof(*out));
    onnx_branch b;

    if (!in || !out || !onnx_branch_open(n, &b))
        return;
    for (size_t i = 0; i < l->carried + 2; i++)
        in[i] = onnx_branch_input(n, "x", l->metas[i]);
    onnx_branch_capture(n, l->captured, l->name,
                        l->metas + 2 + l->carried + l->scanned);
    if (onnx_inline(n, l->body, in, l->carried + 2, out, n->nout + 1)) {
        l->steady = truth(out[0]) == 1 || cfx_value_equal(out[0], in[1]);
        for (size_t i = 0; i < l->scanned && !cfx_scope_failed(n->s); i++) {
            cfx_value row = onnx_as_tensor(n->s, out[1 + l->carried + i]);
            const cfx_tensor *t = onnx_meta_tensor(n, row);
            if (!t || t->rank >= CFX_MAX_RANK)
                continue;
            l->type[i] = (cfx_dtype)t->dtype;
            l->rank[i] = t->rank;
            memcpy(l->shape[i], t->shape,
                   (size_t)t->rank * sizeof(*l->shape[i]));
        }
    }
    onnx_branch_drop(n, &b);
}

/* An extent of a row: a number, or that of a value around the loop. */
static cfx_value row_extent(onnx_node *n, const loop *l, cfx_dim d)
{
    size_t count = 2 + l->carried + l->scanned + l->captured;

    for (size_t i = 0; !cfx_dim_is_int(d) && i < count; i++) {
        const cfx_tensor *t = l->metas[i].kind == CFX_TENSOR
                                  ? l->metas[i].u.tensor
                                  : NULL;
        for (int axis = 0; t && axis < t->rank; axis++)
            if (cfx_dim_same(t->shape[axis], d))
                return onnx_size(n->s, l->v[i], axis);
    }
    return cfx_dim_is_int(d)
               ? cfx_value_of_dim(d)
               : onnx_fail(
                     n, CFX_EUNDECIDED,
                     "an extent of its scanned results is not known when the model is read");
}

/* Room for the rows of scanned result i. */
static cfx_value empty_rows(onnx_node *n, const loop *l, size_t i,
                            cfx_value rounds)
{
    cfx_value shape[CFX_MAX_RANK + 1] = {rounds};

    for (int k = 0; k < l->rank[i]; k++)
        shape[1 + k] = row_extent(n, l, l->shape[i][k]);
    return cfx_zeros(n->s, onnx_arg(n->s, 1 + (size_t)l->rank[i], shape),
                     .dtype = cfx_value_of_dtype(l->type[i]));
}

static cfx_value scalar(onnx_node *n, cfx_value v)
{
    cfx_value x = onnx_as_tensor(n->s, v);

    return onnx_rank(n, x) == 0
               ? x
               : cfx_reshape(n->s, x, onnx_int_arg(n->s, 0, NULL));
}

/* The placeholders of the graphs: the carried ones, then, if there is one, the
 * limit. */
static void placeholders(onnx_node *n, const loop *l, size_t rows, bool limit,
                         cfx_value *to)
{
    size_t count = 2 + l->carried, last = count + l->scanned + l->captured;

    for (size_t i = 0; i < count; i++)
        to[i] = onnx_branch_input(n, onnx_text(l->body->input[i]->name),
                                  l->metas[i]);
    for (size_t i = 0; i < rows; i++)
        to[count + i] = onnx_branch_input(n, "rows", l->metas[count + i]);
    onnx_branch_capture(n, l->captured, l->name,
                        l->metas + count + l->scanned);
    if (limit)
        to[count + rows] = onnx_branch_input(n, "limit", l->metas[last]);
}

static cfx_value condition(onnx_node *n, const loop *l, size_t rows,
                           bool limit)
{
    size_t count = 2 + l->carried + rows;
    cfx_value *in = onnx_alloc(n->s, count + 1, sizeof(*in));
    onnx_branch b;

    if (!in || !onnx_branch_open(n, &b))
        return cfx_none();
    placeholders(n, l, rows, limit, in);
    cfx_value go = limit ? cfx_logical_and(n->s, in[1],
                                           cfx_lt(n->s, in[0], in[count]))
                         : in[1];
    onnx_branch_results(n, 1, &go, true);
    return onnx_branch_close(n, &b, "cond_graph");
}

static cfx_value one_round(onnx_node *n, const loop *l, size_t rows,
                           bool limit)
{
    size_t count = 2 + l->carried;
    cfx_value *in = onnx_alloc(n->s, count + rows + 1, sizeof(*in));
    cfx_value *out = onnx_alloc(n->s, n->nout + 2, sizeof(*out));
    cfx_value *to = onnx_alloc(n->s, count + rows, sizeof(*to));
    onnx_branch b;

    if (!in || !out || !to || !onnx_branch_open(n, &b))
        return cfx_none();
    placeholders(n, l, rows, limit, in);
    if (onnx_inline(n, l->body, in, count, out, n->nout + 1)) {
        to[0] = cfx_add(n->s, in[0], cfx_int(1));
        to[1] = scalar(n, out[0]);
        memcpy(to + 2, out + 1, l->carried * sizeof(*to));
        cfx_value at = cfx_reshape(n->s, in[0],
                                   onnx_int_arg(n->s, 1, (int64_t[]){1}));
        for (size_t i = 0; i < rows; i++)
            to[count + i] = cfx_index_copy(
                n->s, in[count + i], cfx_int(0), at,
                cfx_unsqueeze(n->s, onnx_as_tensor(n->s, out[count - 1 + i]),
                              cfx_int(0)));
        onnx_branch_results(n, count + rows, to, false);
    }
    return onnx_branch_close(n, &b, "body_graph");
}

/* The loop with so many kinds of rows: a tuple. */
static cfx_value while_loop(onnx_node *n, const loop *l, size_t rows,
                            bool limit)
{
    size_t count = 2 + l->carried;
    cfx_value c = condition(n, l, rows, limit);
    cfx_value b = one_round(n, l, rows, limit);
    cfx_value carried = onnx_arg(n->s, count + rows, l->v);
    cfx_value others = onnx_arg(n->s, l->captured + limit,
                                l->v + count + l->scanned);

    return CFX_CALL(n->s, "torch.ops.higher_order.while_loop", c, b, carried,
                    others);
}

static void set_limit(onnx_node *n, loop *l, cfx_value limit)
{
    size_t last = 2 + l->carried + l->scanned + l->captured;

    l->v[last] = scalar(n, limit);
    onnx_as_operands(n, l->v + last, l->metas + last, 1);
}

/* An int that is not less than 0. */
static cfx_value count_of(onnx_node *n, cfx_value v)
{
    return CFX_CALL(n->s, "torch.sym_max", v, cfx_int(0));
}

/* Scanned results need the number of rounds, or more. Where there is no limit,
 * a loop that scans nothing counts them. */
static void make_rows(onnx_node *n, loop *l, bool *limit)
{
    onnx_list list = {0};
    size_t first = 2 + l->carried;

    if (*limit && !onnx_ints(n, 0, &list))
        return;
    cfx_value most = *limit && list.n == 1 ? list.item[0] : cfx_int(-1);
    if (!*limit || (most.kind == CFX_INT && most.u.i > MAX_ROWS)) {
        cfx_value rounds = cfx_nth(n->s, while_loop(n, l, 0, *limit), 0);
        most = cfx_item(n->s, rounds);
        set_limit(n, l, rounds);
        *limit = l->steady = true;
    }
    most = count_of(n, most);
    for (size_t i = 0; i < l->scanned; i++)
        l->v[first + i] = empty_rows(n, l, i, most);
    onnx_as_operands(n, l->v + first, l->metas + first, l->scanned);
}

static void decided_by_model(onnx_node *n, loop *l)
{
    size_t count = 2 + l->carried;
    bool limit = onnx_has(n, 0);

    if (!onnx_captures(n, l->body, l->name, &l->captured, ONNX_MAX_CAPTURED))
        return;
    l->v[0] = onnx_int_tensor(n->s, 0, 1, (int64_t[]){0});
    l->v[1] = onnx_has(n, 1) ? scalar(n, n->in[1])
                             : onnx_scalar_tensor(n->s, 1, CFX_BOOL);
    for (size_t i = 0; i < l->carried; i++)
        l->v[2 + i] = onnx_tensor(n, 2 + i);
    for (size_t i = 0; i < l->captured; i++)
        l->v[count + l->scanned + i] = onnx_value_of(n, l->name[i]);
    onnx_as_operands(n, l->v, l->metas, count);
    onnx_as_operands(n, l->v + count + l->scanned,
                     l->metas + count + l->scanned, l->captured);
    if (limit)
        set_limit(n, l, n->in[0]);
    try_round(n, l);
    l->steady = l->steady && truth(l->v[1]) == 1;
    if (l->scanned && !cfx_scope_failed(n->s))
        make_rows(n, l, &limit);
    if (cfx_scope_failed(n->s))
        return;
    cfx_value all = while_loop(n, l, l->scanned, limit);
    for (size_t i = 0; i < n->nout; i++)
        n->out[i] = cfx_nth(n->s, all, (int64_t)(2 + i));
    for (size_t i = l->carried; i < n->nout && !l->steady; i++)
        n->out[i] = cfx_slice(n->s, n->out[i], cfx_int(0), cfx_int(0),
                              cfx_item(n->s, cfx_nth(n->s, all, 0)),
                              cfx_int(1));
}

static bool make_lists(onnx_node *n, loop *l)
{
    size_t room = 2 + n->nin + n->nout + ONNX_MAX_CAPTURED;

    l->v = onnx_alloc(n->s, room, sizeof(*l->v));
    l->metas = onnx_alloc(n->s, room, sizeof(*l->metas));
    l->type = onnx_alloc(n->s, n->nout + 1, sizeof(*l->type));
    l->rank = onnx_alloc(n->s, n->nout + 1, sizeof(*l->rank));
    l->shape = onnx_alloc(n->s, n->nout + 1, sizeof(*l->shape));
    return l->v && l->metas && l->type && l->rank && l->shape;
}

cfx_value onnx_import_loop(onnx_node *n)
{
    loop l = {.body = onnx_attr_graph(n, "body")};
    int64_t rounds = 0;

    if (cfx_scope_failed(n->s) || !make_lists(n, &l))
        return CFX_NOTHING;
    if (n->nout + 2 < n->nin || l.body->n_input < n->nin)
        return onnx_fail(
            n, CFX_EGRAPH,
            "it carries more values than it returns, or than its graph takes");
    l.carried = n->nin > 2 ? n->nin - 2 : 0;
    l.scanned = n->nout - l.carried;
    /* Without an iteration, only while_loop gives the types of scanned results. */
    bool known = known_rounds(n, &rounds) && truth(n->in[1]) == 1 &&
                 (rounds || !l.scanned);
    if (!known || !unroll(n, &l, (size_t)rounds))
        decided_by_model(n, &l);
    return n->out[0];
}
