/*
 * pack_linear -- compute products with constant weights by packed weights:
 * torch.ops.cfx.packed_linear.
 *
 * Linear layers, and products whose second factor is a parameter or buffer, get a
 * packed copy of it. Then the product takes over what follows: a view that undoes
 * the one before it, an activation, a sum. Each reads the product alone, so that
 * no one sees the difference. A sum also needs the other operand earlier than it
 * did, which must therefore never be written.
 */
#include <cfx/ops.h>
#include <string.h>

#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/passes/lower/post_ops.h"
#include "interp/passes/lower/pack_weight.h"
#include "interp/rewrite/retrace.h"
#include "graph/graph_impl.h"

typedef struct packer {
    cfx_pass_call *p;
    const path_uses *uses;
    cfx_aliases aliases; /* of the graph of packed products */
    /* The get_attr nodes that were made, by the path of the weight or of its
     * module. */
    cfx_map made[3];
} packer;

/* Kinds of packer.made: packed weights that were (in, out) and (out, in), and
 * the biases of modules. */
enum { FROM_COLUMNS, FROM_ROWS, BIAS };

/* ---- Products ---- */

typedef struct product {
    cfx_node *n, *x;
    const char *path; /* of the weight, or of its module */
    bool rows;        /* the weight is (out, in), else (in, out) */
    cfx_tensor *weight, *bias;
    cfx_node *w, *b; /* the operands that are nodes */
} product;

static bool find_layer(cfx_pass_call *p, product *a)
{
    layer l;
    if (!cfx_layer__find(&l, p, a->n) || l.kind != LAYER_LINEAR)
        return false;
    a->rows = true;
    a->path = a->n->target->text;
    if (l.module) {
        a->x = cfx_node__arg(a->n, 0);
        return true;
    }
    a->x = cfx_value__node(cfx_pass__arg(a->n, l.schema, "input"));
    a->w = cfx_value__node(cfx_pass__arg(a->n, l.schema, "weight"));
    a->b = cfx_value__node(cfx_pass__arg(a->n, l.schema, "bias"));
    return true;
}

/* The get_attr node of the weight; NULL: a module has it. */
static cfx_node *weight_attr(const product *a)
{
    return a->w && a->w->op != CFX_GET_ATTR ? cfx_node__arg(a->w, 0) : a->w;
}

/* Is the operand the transpose of a parameter? */
static bool is_transposed(const product *a)
{
    const cfx_node *attr = weight_attr(a);
    return a->w && cfx_node_is(a->w, "t") && a->w->nargs == 1 && attr &&
           attr->op == CFX_GET_ATTR;
}

/* Products as functions and methods, with the places of their operands. */
static const struct form {
    const char *op;
    int bias; /* -1: none */
    uint32_t x, w;
} forms[] = {{"mm", -1, 0, 1}, {"matmul", -1, 0, 1}, {"addmm", 0, 1, 2}};

static bool find_function(product *a)
{
    const struct form *f = forms, *end = f + sizeof(forms) / sizeof(*forms);
    while (f < end && !cfx_node_is(a->n, f->op))
        f++;
    if (f == end || a->n->nargs != f->w + 1 || a->n->nkwargs)
        return false;
    a->x = cfx_node__arg(a->n, f->x);
    a->w = cfx_node__arg(a->n, f->w);
    if (f->bias >= 0 && !(a->b = cfx_node__arg(a->n, 0)))
        return false;
    a->rows = is_transposed(a);
    return a->rows || (a->w && a->w->op == CFX_GET_ATTR);
}

/* linear(x, t(w), b): the weight is (in, out). */
static bool find_transposed(product *a)
{
    const cfx_schema *s = cfx_node_is(a->n, "linear")
                              ? cfx_pass__signature(a->n)
                              : NULL;
    if (!s)
        return false;
    a->x = cfx_value__node(cfx_pass__arg(a->n, s, "input"));
    a->w = cfx_value__node(cfx_pass__arg(a->n, s, "weight"));
    a->b = cfx_value__node(cfx_pass__arg(a->n, s, "bias"));
    return is_transposed(a);
}

static bool find_product(cfx_pass_call *p, product *a, cfx_node *n)
{
    *a = (product){.n = n};
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR ||
        n->op == CFX_OUTPUT)
        return false;
    if (!find_layer(p, a) && !find_function(a) && !find_transposed(a)) {
        if (cfx_node_is(n, "linear"))
            cfx_pass_missed(p, n, "its weight or bias is computed");
        return false;
    }
    bool reads_bias = !a->b || a->b->op == CFX_GET_ATTR;
    if (!reads_bias)
        cfx_pass_missed(p, n, "its bias is computed by %s", a->b->name);
    return a->x && reads_bias;
}

static cfx_status load(cfx_pass_call *p, product *a)
{
    layer l;
    if (!a->w) {
        cfx_layer__find(&l, p, a->n);
        cfx_status st = cfx_layer__load(&l, p);
        a->weight = l.weight;
        a->bias = l.bias;
        return st;
    }
    a->path = weight_attr(a)->target->text;
    cfx_status st = cfx_pass_weight(p, a->path, &a->weight);
    return st || !a->b ? st : cfx_pass_weight(p, a->b->target->text, &a->bias);
}

/* Is it a float32 matrix, and the bias one number for each column? */
static bool can_pack(const packer *k, const product *a)
{
    const cfx_tensor *w = a->weight, *b = a->bias;
    if (w->dtype != CFX_F32 || (b && b->dtype != CFX_F32))
        cfx_pass_missed(
            k->p, a->n, "its %s is %s, not float32",
            w->dtype != CFX_F32 ? "weight" : "bias",
            cfx_dtypes[w->dtype != CFX_F32 ? w->dtype : b->dtype].name);
    else if (w->rank != 2 || (b && b->rank != 1))
        cfx_pass_missed(k->p, a->n, "its weight is no matrix");
    else if (b && !cfx_dim_same(b->shape[0], w->shape[a->rows ? 0 : 1]))
        cfx_pass_missed(k->p, a->n,
                        "its bias has not one element for each column");
    else
        return true;
    return false;
}

static bool is_written(const packer *k, const product *a)
{
    bool written = cfx_path_uses__writes(k->uses, a->weight) ||
                   (a->bias && cfx_path_uses__writes(k->uses, a->bias));
    if (written)
        cfx_pass_missed(k->p, a->n, "the graph writes to its weight or bias");
    return written;
}

/* The weight as packed_linear takes it: (out / 16, in, 16). */
static cfx_value pack_weight(cfx_scope *s, const product *a)
{
    cfx_value w = cfx_value_of_tensor(a->weight);
    w = cfx_pack__blocks(s, a->rows ? w : cfx_t(s, w));
    return cfx_pack__contiguous(s, w);
}

/* The get_attr node of a new buffer, whose tensor `make` gives; made once. */
static cfx_status put(packer *k, const product *a, int kind,
                      cfx_value (*make)(cfx_scope *, const product *),
                      cfx_node **out)
{
    cfx_pass_call *p = k->p;
    cfx_scope s;
    cfx_map_entry *e = cfx_map_put(&k->made[kind], a->path, strlen(a->path),
                                   NULL);
    if (!e)
        return cfx_no_memory(p->err);
    if ((*out = e->v.p) != NULL)
        return CFX_OK;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value t = make(&s, a);
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st) {
        e->v.p = *out = cfx_pass_add_tensor(
            p, kind == BIAS ? "_bias_" : "_packed_", t.u.tensor);
        st = *out ? CFX_OK : p->err->code;
    }
    cfx_scope_release(&s);
    return st;
}

static cfx_value bias_of(cfx_scope *s, const product *a)
{
    (void)s;
    return cfx_value_of_tensor(a->bias);
}

static cfx_status call_packed(packer *k, const product *a, cfx_node **out)
{
    cfx_pass_call *p = k->p;
    cfx_node *w, *bias = a->b;
    cfx_status st = put(k, a, a->rows ? FROM_ROWS : FROM_COLUMNS, pack_weight,
                        &w);
    if (!st && a->bias && !bias)
        st = put(k, a, BIAS, bias_of, &bias);
    if (st)
        return st;
    cfx_value args[] = {cfx_value_of_node(a->x), cfx_value_of_node(w),
                        cfx_value_of_dim(a->weight->shape[a->rows ? 0 : 1]),
                        bias ? cfx_value_of_node(bias) : CFX_NOTHING};
    *out = cfx_graph_call_function(p->graph,
                                   "torch.ops.cfx.packed_linear.default",
                                   cfx_args_of(args, bias ? 4 : 3), p->err);
    return *out ? cfx_node__keep_meta(*out, a->n, p->err) : p->err->code;
}

static cfx_status pack_product(packer *k, product *a)
{
    cfx_pass_call *p = k->p;
    cfx_node *y = NULL, *w = a->w, *attr;
    cfx_status st = load(p, a);
    if (st || !can_pack(k, a) || is_written(k, a))
        return st;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, a->n);
    st = call_packed(k, a, &y);
    cfx_graph_restore(p->graph, at);
    attr = weight_attr(a);
    if (!st)
        st = cfx_pass__replace(p, a->n, y);
    if (!st && w != attr && !w->nusers)
        st = cfx_graph_erase_node(p->graph, w, p->err);
    return st || !attr ? st : cfx_pass__drop_attrs(p, &attr, 1);
}

/* ---- What follows a product ---- */

static bool is_packed(const cfx_node *x)
{
    return x && cfx_node_is(x, "packed_linear");
}

/* x is a packed product that only one node reads, and that can apply the
 * post-operation. */
static bool is_open(const cfx_node *x, const char *post_op)
{
    return is_packed(x) && x->nusers == 1 && cfx_post_op__fits(x, post_op);
}

/* The product y applies what n computes; NULL: n is a view of y. */
static cfx_status fuse(packer *k, cfx_node *n, cfx_node *y,
                       const cfx_post_op_call *op)
{
    cfx_status st = op ? cfx_post_op__append(k->p, y, op) : CFX_OK;
    cfx_aliases__join(&k->aliases, n, y);
    return st ? st : cfx_pass__fuse_into(k->p, n, y);
}

static bool is_view(const cfx_node *n)
{
    return cfx_node_is(n, "view") || cfx_node_is(n, "reshape");
}

/* Do two tensors of one rank agree in all axes but the last? */
static bool have_same_rows(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a && b && a->rank == b->rank && a->rank > 0;
    for (int i = 0; same && i + 1 < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]);
    return same;
}

static bool have_same_last(const cfx_tensor *a, const cfx_tensor *b)
{
    return a && b && a->rank > 0 && b->rank > 0 &&
           cfx_dim_same(a->shape[a->rank - 1], b->shape[b->rank - 1]);
}

/* n = view(product(view(x))), and the views only fold the rows of x: return x,
 * else NULL. */
static cfx_node *viewed_input(packer *k, const cfx_node *n)
{
    cfx_node *y = is_view(n) ? cfx_node__arg(n, 0) : NULL;
    if (!is_open(y, "add"))
        return NULL;
    cfx_node *v = cfx_node__arg(y, 0);
    cfx_node *x = is_view(v) ? cfx_node__arg(v, 0) : NULL;
    return x &&
                   have_same_rows(cfx_node__known_tensor(x),
                                  cfx_node__known_tensor(n)) &&
                   have_same_last(cfx_node__known_tensor(x),
                                  cfx_node__known_tensor(v)) &&
                   have_same_last(cfx_node__known_tensor(y),
                                  cfx_node__known_tensor(n)) &&
                   !cfx_aliases__is_written(&k->aliases, x)
               ? x
               : NULL;
}

/* Let the product read x as it is, and have the shape of n. */
static cfx_status drop_views(packer *k, cfx_node *n, cfx_node *x)
{
    cfx_pass_call *p = k->p;
    cfx_node *y = cfx_node__arg(n, 0), *v = cfx_node__arg(y, 0);
    cfx_status st = cfx_node_update_arg(y, 0, cfx_value_of_node(x), p->err);
    if (!st)
        st = cfx_node__keep_meta(y, n, p->err);
    if (!st)
        st = fuse(k, n, y, NULL);
    return st || v->nusers ? st : cfx_graph_erase_node(p->graph, v, p->err);
}

/* The operand of a sum that is a product, to which the other can be added. */
static cfx_node *product_of_sum(packer *k, const cfx_node *n)
{
    if (!cfx_node_is(n, "add") || n->nargs != 2 || n->nkwargs)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        cfx_node *y = cfx_node__arg(n, i), *other = cfx_node__arg(n, 1 - i);
        if (is_open(y, "add") && other && cfx_node_before(other, y) &&
            have_same_rows(cfx_node__known_tensor(y),
                           cfx_node__known_tensor(other)) &&
            have_same_last(cfx_node__known_tensor(y),
                           cfx_node__known_tensor(other)) &&
            cfx_node__known_tensor(other)->dtype == CFX_F32 &&
            !cfx_aliases__is_written(&k->aliases, other))
            return y;
    }
    return NULL;
}

static cfx_status add(packer *k, cfx_node *n, cfx_node *y)
{
    cfx_node *other = cfx_node__arg(n, cfx_node__arg(n, 0) == y);
    const cfx_post_op_call op = {"add", {cfx_value_of_node(other)}, 1};
    return fuse(k, n, y, &op);
}

static cfx_status follow(packer *k, cfx_node *n)
{
    cfx_post_op_call op;
    cfx_node *x = viewed_input(k, n), *y = cfx_node__arg(n, 0);
    if (x)
        return drop_views(k, n, x);
    if (cfx_post_op__read(k->p, n, &op) && is_packed(y)) {
        if (is_open(y, op.name))
            return fuse(k, n, y, &op);
        cfx_post_op__missed(k->p, n, y, y);
    }
    y = product_of_sum(k, n);
    return y ? add(k, n, y) : CFX_OK;
}

/* ---- The pass ---- */

static cfx_status pack_all(packer *k)
{
    cfx_status st = CFX_OK;
    product a;
    for (cfx_node *n = cfx_graph_first(k->p->graph), *next; n && !st;
         n = next) {
        next = cfx_node_next(n);
        if (find_product(k->p, &a, n))
            st = pack_product(k, &a);
    }
    return st;
}

static cfx_status follow_all(packer *k)
{
    cfx_status st = cfx_aliases__init(&k->aliases, k->p->graph, k->p->err);
    for (cfx_node *n = cfx_graph_first(k->p->graph), *next; n && !st;
         n = next) {
        next = cfx_node_next(n);
        st = follow(k, n);
    }
    return st;
}

static cfx_status pack_linear_run(cfx_pass_call *p)
{
    path_uses uses;
    packer k = {.p = p, .uses = &uses};
    for (int i = 0; i <= BIAS; i++)
        cfx_map_init(&k.made[i], p->ctx);
    cfx_status st = cfx_path_uses__init(&uses, p);
    if (!st && !uses.unknown) {
        st = pack_all(&k);
        if (!st)
            st = follow_all(&k);
    }
    cfx_path_uses__release(&uses);
    cfx_aliases__release(&k.aliases);
    for (int i = 0; i <= BIAS; i++)
        cfx_map_release(&k.made[i]);
    if (p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

const cfx_pass cfx_pass__pack_linear = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "pack_linear()",
    .doc =
        "Compute linear layers and products with constant weights by packed weights, with the activations and sums that follow.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = pack_linear_run,
};
