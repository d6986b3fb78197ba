/*
 * lower_quantized_functions -- functions of uint8: layer_norm, and those of each element,
 * of which there are 256.
 */
#include <cfx/ops.h>
#include <math.h>

#include "interp/passes/constants.h"
#include "interp/passes/lower/lower_quantized.h"

/* Add a tensor before the end of the chain, which it is for; takes t. */
static cfx_node *put_take(const cfx_lowering *l, const cfx_chain *c,
                          const char *prefix, cfx_tensor *t)
{
    cfx_insert_point at = cfx_graph_inserting_before(l->p->graph, c->n);
    cfx_node *n = cfx_pass_add_tensor(l->p, prefix, t);
    cfx_graph_restore(l->p->graph, at);
    cfx_tensor_unref(t);
    return n;
}

/* ---- layer_norm ---- */

typedef struct row_norm {
    cfx_lowering *l;
    const cfx_chain *c;
    cfx_node *x;
    cfx_affine from;
    cfx_tensor *weight, *bias; /* NULL: ones, zeros */
    double eps;
    int64_t columns;
    cfx_node *made[2];
} row_norm;

/* Is normalized_shape the last axis? */
static bool is_of_rows(row_norm *a)
{
    const cfx_tensor *x = cfx_node__known_tensor(a->x);
    cfx_value v = cfx_lower__arg(a->c->from, "normalized_shape");
    cfx_value n = cfx_value_is_seq(v) && v.u.seq->len == 1 ? v.u.seq->item[0]
                                                           : v;
    if (n.kind != CFX_INT || x->rank < 1 ||
        !cfx_dim_is_int(x->shape[x->rank - 1]))
        return false;
    a->columns = n.u.i;
    return cfx_dim_value(x->shape[x->rank - 1]) == n.u.i && n.u.i > 0 &&
           n.u.i <= CFX_QUANTIZED_COLUMNS;
}

static cfx_status read_vector(row_norm *a, const char *name, cfx_tensor **out,
                              bool *known)
{
    cfx_value v = cfx_lower__arg(a->c->from, name);
    cfx_status st = CFX_OK;
    if (!v.kind || v.kind == CFX_NONE)
        return st;
    st = cfx_lower__constant(a->l, v, CFX_F32, out);
    *known = *known && *out && (*out)->rank == 1 &&
             cfx_tensor_size(*out, 0) == a->columns;
    return st;
}

static cfx_status find_norm(row_norm *a, bool *found)
{
    const cfx_node *n = a->c->from;
    *found = false;
    if (!a->c->rounds || !cfx_node_is(n, "layer_norm"))
        return CFX_OK;
    a->x = cfx_lower__dequantized(a->l, cfx_node__arg(n, 0), &a->from);
    cfx_value eps = cfx_lower__arg(n, "eps");
    a->eps = !eps.kind ? 1e-5 : eps.kind == CFX_FLOAT ? eps.u.f : 0;
    /* Numbers stand for scale times integers, whose variance has no scale. */
    a->eps /= a->from.scale * a->from.scale;
    *found = a->x && is_of_rows(a) && a->eps > 0 && isfinite(a->eps);
    cfx_status st = *found ? read_vector(a, "weight", &a->weight, found)
                           : CFX_OK;
    return st || !*found ? st : read_vector(a, "bias", &a->bias, found);
}

/* The weight or bias, in quanta of the result. */
static cfx_node *put_vector(const row_norm *a, const char *prefix,
                            const cfx_tensor *of, float absent)
{
    cfx_pass_call *p = a->l->p;
    cfx_tensor *t;
    if (cfx_tensor_new(&t, p->ctx, CFX_F32, 1, &a->columns, p->err))
        return NULL;
    for (int64_t i = 0; i < a->columns; i++) {
        float v = of ? ((const float *)of->data)[i] : absent;
        ((float *)t->data)[i] = (float)(v / a->c->to.scale);
    }
    return put_take(a->l, a->c, prefix, t);
}

static cfx_value build_norm(cfx_scope *s, const cfx_node *n, void *user)
{
    const row_norm *a = user;
    const cfx_result_range e = cfx_lower__range(a->c);
    (void)n;
    cfx_value y = cfx_quantized_layer_norm(
        s, cfx_value_of_node(a->x), cfx_value_of_node(a->made[0]),
        cfx_value_of_node(a->made[1]), cfx_float(a->eps), e.zero,
        .quant_min = e.least, .quant_max = e.most);
    cfx_lower__name_origin(s, a->c, y);
    return y;
}

cfx_status cfx_lower__layer_norm(cfx_lowering *l, const cfx_chain *c,
                                 cfx_node **next, bool *done)
{
    row_norm a = {.l = l, .c = c};
    cfx_status st = find_norm(&a, done);
    if (st || !*done)
        return st;
    a.made[0] = put_vector(&a, "_weight_", a.weight, 1);
    if (a.made[0])
        a.made[1] = put_vector(&a, "_bias_", a.bias, 0);
    return a.made[1] ? cfx_lower__replace(l, c, build_norm, &a, next)
                     : l->p->err->code;
}

/* ---- Functions of each element ---- */

enum { STEPS = 8 };

/* The calls between a dequantize and the end of a chain, the last one first. */
typedef struct function {
    const cfx_chain *c;
    cfx_node *step[STEPS], *dequantize, *x, *table;
    int nsteps;
    int64_t channels; /* of x in blocks; 0: it is row-major */
} function;

/* Does v hold one number that never changes? */
static cfx_status is_number(cfx_lowering *l, const cfx_node *v, bool *is)
{
    cfx_tensor *t = NULL;
    cfx_status st = v->op != CFX_GET_ATTR
                        ? CFX_OK
                        : cfx_lower__constant(
                              l, cfx_value_of_node((cfx_node *)(uintptr_t)v),
                              CFX_F32, &t);
    *is = !st && t && cfx_tensor_numel(t) == 1;
    return st;
}

/* The input of which n is a function, element by element; NULL: there is none, or
 * another. */
static cfx_status varying_input(cfx_lowering *l, const cfx_node *n,
                                cfx_node **out)
{
    const cfx_target *t = cfx_node__targets(n);
    bool is;
    *out = NULL;
    if (!t || !t->op || !(t->op->flags & CFX_OP_POINTWISE) || t->inplace ||
        (t->op->flags & (CFX_OP_RANDOM | CFX_OP_EFFECT)))
        return CFX_OK;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        cfx_node *in = cfx_node_input(n, i);
        cfx_status st = is_number(l, in, &is);
        if (st || (!is && *out)) {
            *out = NULL;
            return st;
        }
        if (!is)
            *out = in;
    }
    return CFX_OK;
}

/* Go back from the end of the chain to a dequantize; f->x is NULL if other nodes read
 * what is between, or it is no function. */
static cfx_status find_function(cfx_lowering *l, function *f)
{
    cfx_affine from;
    cfx_node *n = f->c->from, *in;
    for (f->nsteps = 0; f->nsteps < STEPS; n = in) {
        cfx_status st = varying_input(l, n, &in);
        if (st || !in)
            return st;
        f->step[f->nsteps++] = n;
        f->x = cfx_lower__dequantized(l, in, &from);
        f->dequantize = in;
        if (f->x || !cfx_lower__is_between(l, in))
            return CFX_OK;
    }
    return CFX_OK;
}

/* All numbers of uint8. */
static cfx_status make_bytes(cfx_pass_call *p, cfx_tensor **out)
{
    const int64_t n = 256;
    cfx_status st = cfx_tensor_new(out, p->ctx, CFX_U8, 1, &n, p->err);
    for (int i = 0; i < n && !st; i++)
        ((uint8_t *)(*out)->data)[i] = (uint8_t)i;
    return st;
}

/* The results of the chain from its dequantize on, for each byte. */
static cfx_status compute_table(cfx_lowering *l, const function *f,
                                cfx_tensor **out)
{
    cfx_constants k;
    cfx_tensor *bytes;
    const cfx_node *rest[] = {f->c->clamp, f->c->n};
    cfx_status st = make_bytes(l->p, &bytes);
    if (st)
        return st;
    cfx_constants__init(&k, l->p);
    st = cfx_node_map_set(&k.value, f->x, cfx_value_of_tensor(bytes),
                          l->p->err);
    cfx_tensor_unref(bytes);
    if (!st)
        st = cfx_constants__compute(&k, f->dequantize);
    for (int i = f->nsteps - 1; i >= 0 && !st; i--)
        st = cfx_constants__compute(&k, f->step[i]);
    for (int i = 0; i < 2 && !st; i++)
        if (rest[i])
            st = cfx_constants__compute(&k, rest[i]);
    /* A number may have axes, which the result then has, too. */
    cfx_value y = st ? CFX_NOTHING : cfx_node_map_get(&k.value, f->c->n);
    if (y.kind == CFX_TENSOR) {
        y = cfx_reshape(&k.scope, y, cfx_list(&k.scope, cfx_int(-1)));
        st = cfx_scope_status(&k.scope, l->p->err);
    }
    if (!st && y.kind == CFX_TENSOR)
        *out = cfx_tensor_ref(y.u.tensor);
    cfx_constants__release(&k);
    return st;
}

static cfx_value build_function(cfx_scope *s, const cfx_node *n, void *user)
{
    const function *f = user;
    cfx_error err = {0};
    cfx_node *x = f->channels ? cfx_lower__form(f->x) : f->x;
    (void)n;
    cfx_value y = cfx_quantized_lookup(s, cfx_value_of_node(x),
                                       cfx_value_of_node(f->table));
    for (int i = f->nsteps - 1; i > 0 && y.kind == CFX_NODE; i--)
        if (cfx_node_inherit(y.u.node, f->step[i], &err))
            return cfx_scope_fail(s, err.code, "%s", err.text);
    cfx_lower__name_origin(s, f->c, y);
    return f->channels ? cfx_from_blocked(s, y, cfx_int(f->channels)) : y;
}

/* Does x have the axes of n, or do numbers add some? */
static bool has_same_rank(const cfx_node *n, const cfx_node *x)
{
    const cfx_tensor *y = cfx_node__known_tensor(n);
    return y && y->rank == cfx_node__known_tensor(x)->rank;
}

cfx_status cfx_lower__function(cfx_lowering *l, const cfx_chain *c,
                               cfx_node **next, bool *done)
{
    function f = {.c = c};
    cfx_tensor *t = NULL;
    cfx_status st = c->rounds ? find_function(l, &f) : CFX_OK;
    if (st || !f.x || !has_same_rank(c->n, f.x))
        return st;
    f.channels = cfx_lower__form(f.x) ? cfx_lower__channels(f.x) : 0;
    st = compute_table(l, &f, &t);
    f.table = st ? NULL : put_take(l, c, "_table_", t);
    if (!f.table)
        return l->p->err->code;
    *done = true;
    return cfx_lower__replace(l, c, build_function, &f, next);
}
