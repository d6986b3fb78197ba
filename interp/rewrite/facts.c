/*
 * facts -- what rules ask about a graph.
 */
#include "interp/rewrite/facts.h"

#include <cfx/ops.h>

#include "graph/graph_impl.h"

static cfx_facts *facts_of(cfx_pass_call *p)
{
    if (!p->facts)
        p->facts = cfx_calloc(p->ctx, 1, sizeof(*p->facts));
    if (!p->facts)
        cfx_no_memory(p->err);
    return p->facts;
}

const cfx_graph_kinds *cfx_facts__kinds(cfx_pass_call *p)
{
    cfx_facts *f = facts_of(p);
    if (!f || f->status)
        return NULL;
    if (!f->has_kinds)
        f->status = cfx_graph_kinds__init(&f->kinds, p->graph, true, p->err);
    f->has_kinds = true;
    return f->status ? NULL : &f->kinds;
}

path_uses *cfx_facts__paths(cfx_pass_call *p)
{
    cfx_facts *f = facts_of(p);
    if (!f || f->status)
        return NULL;
    if (!f->has_paths)
        f->status = cfx_path_uses__init(&f->paths, p);
    f->has_paths = true;
    return f->status ? NULL : &f->paths;
}

cfx_status cfx_facts__forget(cfx_pass_call *p)
{
    cfx_facts *f = p->facts;
    if (!f)
        return CFX_OK;
    cfx_status st = f->status;
    if (f->has_kinds)
        cfx_graph_kinds__release(&f->kinds);
    if (f->has_paths)
        cfx_path_uses__release(&f->paths);
    cfx_free(p->ctx, f, sizeof(*f));
    p->facts = NULL;
    return st;
}

bool cfx_facts__is_tensor(cfx_pass_call *p, const cfx_node *n)
{
    cfx_value known = cfx_node__known(n);
    if (known.kind)
        return known.kind == CFX_TENSOR;
    const cfx_graph_kinds *k = cfx_facts__kinds(p);
    return k && n->id < k->ids && k->of[n->id].self == 1u << CFX_TENSOR;
}

bool cfx_facts__is_float(const cfx_node *n)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t && cfx_dtype_is_float((cfx_dtype)t->dtype);
}

bool cfx_facts__same_layout(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a && b && a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]) &&
               cfx_dim_same(a->stride[i], b->stride[i]);
    return same;
}

cfx_tensor *cfx_facts__constant(cfx_pass_call *p, cfx_value v)
{
    cfx_value t;
    if (v.kind != CFX_NODE || v.u.node->op != CFX_GET_ATTR ||
        cfx_module_fetch_attr(&t, p->gm, v.u.node->target->text, NULL) ||
        t.kind != CFX_TENSOR || cfx_tensor_is_meta(t.u.tensor) ||
        !cfx_dtype_is_float((cfx_dtype)t.u.tensor->dtype))
        return NULL;
    const path_uses *uses = cfx_facts__paths(p);
    return uses && !cfx_path_uses__writes(uses, t.u.tensor) ? t.u.tensor
                                                            : NULL;
}

bool cfx_facts__number(cfx_pass_call *p, cfx_value v, double *out)
{
    cfx_scope s;
    cfx_tensor *t = cfx_facts__constant(p, v);
    if (t && cfx_tensor_numel(t) == 1) {
        cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
        v = cfx_item(&s, cfx_value_of_tensor(t));
        cfx_scope_release(&s);
    }
    if (v.kind != CFX_INT && v.kind != CFX_FLOAT)
        return false;
    *out = cfx_value_number(v);
    return true;
}
