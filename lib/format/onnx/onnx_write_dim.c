/*
 * onnx_write_dim -- symbolic extents as values of ONNX: int64 tensors of one item.
 *
 * An extent is read from the shape of a value that has it, the first that was
 * written. Others are computed from the symbols in them.
 */
#include <stdio.h>

#include "dim/expr.h"
#include "format/onnx/onnx_write.h"

/* A value that has an extent. */
typedef struct known {
    struct known *next;
    cfx_dim dim; /* also the key in the map */
    const char *name;
    int axis; /* of the value's shape; -1: the value is the extent */
} known;

static known *find(const onnx_writer *w, cfx_dim d)
{
    const cfx_map_entry *e = cfx_map_get(&w->dims, (const char *)&d.bits,
                                         sizeof(d.bits));
    return e ? e->v.p : NULL;
}

void onnx_put_know_dim(onnx_writer *w, cfx_dim d, const char *name, int axis)
{
    known *k = !name || cfx_dim_is_int(d) || find(w, d)
                   ? NULL
                   : onnx_put_alloc(w, 1, sizeof(*k));

    if (!k)
        return;
    *k = (known){w->known_dims, d, name, axis};
    cfx_map_entry *e = cfx_map_put(&w->dims, (const char *)&k->dim.bits,
                                   sizeof(k->dim.bits), NULL);
    w->known_dims = k;
    if (e)
        e->v.p = k;
    else if (!w->st)
        w->st = cfx_no_memory(w->err);
}

void onnx_put_know_dims(onnx_writer *w, const cfx_tensor *t, const char *name)
{
    for (int i = 0; i < t->rank; i++)
        onnx_put_know_dim(w, t->shape[i], name, i);
}

/* ---- Arithmetic ---- */

static const char *no_dim(onnx_writer *w, cfx_dim d)
{
    char text[128];

    cfx_dim_format(d, text, sizeof(text));
    onnx_put_fail(w, "its extent %s is that of no input", text);
    return NULL;
}

/* Rounded down, as ONNX's division is not. */
static const char *floordiv(onnx_writer *w, const char *x, const char *y)
{
    const char *rest = ONNX_PUT(w, "Mod", NULL, x, y);

    return ONNX_PUT(w, "Div", NULL, ONNX_PUT(w, "Sub", NULL, x, rest), y);
}

static const char *dim(onnx_writer *w, cfx_dim d, int depth);

/* The operands in turn: ((t0 op t1) op t2) ... */
static const char *fold(onnx_writer *w, const char *op, const cfx_expr *e,
                        int depth)
{
    const char *v = dim(w, e->term[0].of, depth);

    for (uint32_t i = 1; i < e->n && !w->st; i++) {
        const char *y = dim(w, e->term[i].of, depth);
        v = op ? ONNX_PUT(w, op, NULL, v, y) : floordiv(w, v, y);
    }
    return v;
}

static const char *product(onnx_writer *w, const cfx_expr *e, int depth)
{
    const char *v = NULL;

    for (uint32_t i = 0; i < e->n && !w->st; i++) {
        const char *x = dim(w, e->term[i].of, depth);
        for (int64_t k = 0; k < e->term[i].k && !w->st; k++)
            v = v ? ONNX_PUT(w, "Mul", NULL, v, x) : x;
    }
    return v;
}

static const char *sum(onnx_writer *w, const cfx_expr *e, int depth)
{
    const char *v = e->c ? onnx_put_one(w, e->c) : NULL;

    for (uint32_t i = 0; i < e->n && !w->st; i++) {
        const char *x = dim(w, e->term[i].of, depth);
        if (e->term[i].k != 1)
            x = ONNX_PUT(w, "Mul", NULL, x, onnx_put_one(w, e->term[i].k));
        v = v ? ONNX_PUT(w, "Add", NULL, v, x) : x;
    }
    /* It divides. */
    return e->den == 1 ? v
                       : ONNX_PUT(w, "Div", NULL, v, onnx_put_one(w, e->den));
}

/* A symbol from an extent k * symbol + c that is known. */
static const char *solved(onnx_writer *w, cfx_dim symbol)
{
    for (known *k = w->known_dims; k; k = k->next) {
        const cfx_expr *e = cfx_expr_of(k->dim);
        if (e->kind != CFX_EXPR_SUM || e->n != 1 ||
            !cfx_dim_same(e->term[0].of, symbol))
            continue;
        const char *v = dim(w, k->dim, 0);
        v = ONNX_PUT(w, "Mul", NULL, v, onnx_put_one(w, e->den));
        v = ONNX_PUT(w, "Sub", NULL, v, onnx_put_one(w, e->c));
        return ONNX_PUT(w, "Div", NULL, v, onnx_put_one(w, e->term[0].k));
    }
    return no_dim(w, symbol);
}

static const char *computed(onnx_writer *w, cfx_dim d, int depth)
{
    const cfx_expr *e = cfx_dim_is_bad(d) || depth > CFX_EXPR_DEPTH_MAX
                            ? NULL
                            : cfx_expr_of(d);

    if (!e)
        return no_dim(w, d);
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_SYMBOL: return solved(w, d);
    case CFX_EXPR_FLOORDIV: return fold(w, NULL, e, depth + 1);
    case CFX_EXPR_MOD: return fold(w, "Mod", e, depth + 1);
    case CFX_EXPR_MIN: return fold(w, "Min", e, depth + 1);
    case CFX_EXPR_MAX: return fold(w, "Max", e, depth + 1);
    case CFX_EXPR_PRODUCT: return product(w, e, depth + 1);
    case CFX_EXPR_SUM: return sum(w, e, depth + 1);
    default: return no_dim(w, d);
    }
}

static const char *dim(onnx_writer *w, cfx_dim d, int depth)
{
    known *k = cfx_dim_is_int(d) ? NULL : find(w, d);

    if (w->st)
        return NULL;
    if (cfx_dim_is_int(d))
        return onnx_put_one(w, cfx_dim_value(d));
    if (k && k->axis < 0)
        return k->name;
    if (!k) {
        const char *v = computed(w, d, depth);
        onnx_put_know_dim(w, d, v, -1);
        return v;
    }
    Onnx__NodeProto *p = ONNX_NODE(w, "Shape", NULL, k->name);
    onnx_put_attr_int(w, p, "start", k->axis);
    onnx_put_attr_int(w, p, "end", k->axis + 1);
    k->name = onnx_put_out(p);
    k->axis = -1;
    return k->name;
}

const char *onnx_put_dim(onnx_writer *w, cfx_dim d)
{
    return dim(w, d, 0);
}
