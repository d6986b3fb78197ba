/*
 * pt2_inputs -- the sample inputs of an exported program.
 *
 * They are pickled as (args, kwargs). Their leaves are in the order of the
 * placeholders: the numbers of leaves, the types and shapes that the program
 * has for one size only, and the names of keywords must agree.
 */
#include "format/pt2/pt2.h"

#include "format/pt2/torch_file.h"

struct sampling {
    cfx_torch_file file;
    cfx_context *ctx;
    const cfx_node *at; /* the next placeholder, or NULL */
    cfx_value *out;     /* room for all of them */
    size_t n;
};

static const cfx_node *placeholder_from(const cfx_node *n)
{
    while (n && n->op != CFX_PLACEHOLDER)
        n = cfx_node_next(n);
    return n;
}

static cfx_status make_leaf(cfx_value *out, struct sampling *s,
                            const cfx_pickled *v, cfx_error *err)
{
    cfx_tensor *t;

    switch (v->kind) {
    case CFX_PICKLED_NONE: *out = cfx_none(); return CFX_OK;
    case CFX_PICKLED_BOOL: *out = cfx_bool(v->i != 0); return CFX_OK;
    case CFX_PICKLED_INT: *out = cfx_int(v->i); return CFX_OK;
    case CFX_PICKLED_FLOAT: *out = cfx_float(v->f); return CFX_OK;
    case CFX_PICKLED_STR:
        *out = cfx_str_new(s->ctx, v->text, v->len);
        return out->kind ? CFX_OK : cfx_no_memory(err);
    case CFX_PICKLED_TENSOR: break;
    default:
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "is not a tensor, number or string");
    }
    cfx_status st = cfx_torch_file_tensor(&t, &s->file, v, err);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

/* Has a leaf the type, rank and fixed extents that its placeholder declares? */
static bool fits(cfx_value v, cfx_value meta)
{
    if (meta.kind == CFX_ABSENT)
        return true;
    if (meta.kind != CFX_TENSOR)
        return v.kind != CFX_TENSOR;
    const cfx_tensor *have = v.kind == CFX_TENSOR ? v.u.tensor : NULL;
    const cfx_tensor *want = meta.u.tensor;
    bool same = have && have->dtype == want->dtype && have->rank == want->rank;
    for (int i = 0; same && i < want->rank; i++)
        same = !cfx_dim_is_int(want->shape[i]) ||
               cfx_dim_same(have->shape[i], want->shape[i]);
    return same;
}

static cfx_status add_leaf(struct sampling *s, const cfx_pickled *v,
                           cfx_error *err)
{
    cfx_value leaf = CFX_NOTHING;

    if (!s->at)
        return cfx_fail(err, CFX_EPARSE, "more of them than the model has");
    cfx_status st = make_leaf(&leaf, s, v, err);
    if (!st && !fits(leaf, cfx_node_declared(s->at)))
        st = cfx_fail(err, CFX_EPARSE, "has another type or shape");
    if (st) {
        cfx_value_unref(leaf);
        return cfx_fail_at(err, "input %s", s->at->target->text);
    }
    s->out[s->n++] = leaf;
    s->at = placeholder_from(cfx_node_next(s->at));
    return CFX_OK;
}

static cfx_status add_leaves(struct sampling *s, const cfx_pickled *v,
                             int depth, cfx_error *err)
{
    bool dict = v->kind == CFX_PICKLED_DICT;
    cfx_status st = CFX_OK;

    if (!dict && v->kind != CFX_PICKLED_TUPLE && v->kind != CFX_PICKLED_LIST)
        return add_leaf(s, v, err);
    if (depth > CFX_MAX_DEPTH)
        return cfx_fail(err, CFX_ELIMIT, "they nest deeper than %d",
                        CFX_MAX_DEPTH);
    for (size_t i = dict; i < v->n && !st; i += dict ? 2 : 1)
        st = add_leaves(s, v->item[i], depth + 1, err);
    return st;
}

/* The placeholders of a keyword have names that begin with it. */
static cfx_status add_keywords(struct sampling *s, const cfx_pickled *v,
                               cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t i = 0; i + 1 < v->n && !st; i += 2) {
        const cfx_pickled *key = v->item[i];
        if (key->kind != CFX_PICKLED_STR ||
            (s->at && strncmp(s->at->target->text, key->text, key->len)))
            return cfx_fail(err, CFX_EUNSUPPORTED,
                            "their keywords have another order");
        st = add_leaves(s, v->item[i + 1], 0, err);
    }
    return st;
}

static cfx_status add_all(struct sampling *s, cfx_error *err)
{
    const cfx_pickled *v = s->file.value;

    if (v->kind != CFX_PICKLED_TUPLE || v->n != 2 ||
        v->item[1]->kind != CFX_PICKLED_DICT)
        return cfx_fail(err, CFX_EPARSE, "they are no pair (args, kwargs)");
    cfx_status st = add_leaves(s, v->item[0], 0, err);
    if (!st)
        st = add_keywords(s, v->item[1], err);
    if (!st && s->at)
        st = cfx_fail(err, CFX_EPARSE, "the input %s is not among them",
                      s->at->target->text);
    return st;
}

cfx_status cfx_pt2__inputs(cfx_value *out, const cfx_module *gm,
                           cfx_pt2_archive *a, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    struct sampling s = {.ctx = cfx_module_context(gm),
                         .at = placeholder_from(cfx_graph_first(g)),
                         .out = out};
    cfx_status st = CFX_OK;
    cfx_buf name;

    cfx_buf_init(&name, s.ctx);
    if (a->flat)
        cfx_buf_puts(&name, "serialized_example_inputs.pt");
    else
        cfx_buf_printf(&name, "data/sample_inputs/%.*s.pt", (int)a->model_len,
                       a->model);
    const cfx_pt2_file *file = name.failed ? NULL : cfx_pt2__find(a, name.s);
    if (name.failed)
        st = cfx_no_memory(err);
    else if (file && file->size) { /* an empty one stands for none */
        st = cfx_torch_file_open(&s.file, a, name.s, err);
        if (!st)
            st = add_all(&s, err);
        if (st)
            cfx_fail_at(err, "sample inputs (%s)", name.s);
        cfx_torch_file_close(&s.file);
    }
    for (; st && s.n > 0; out[s.n] = CFX_NOTHING)
        cfx_value_unref(out[--s.n]);
    cfx_buf_release(&name);
    return st;
}
