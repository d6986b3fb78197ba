/*
 * node_size -- how many bytes the values and the modules of a graph take.
 */
#include <cfx/accelerator.h>
#include <cfx/interp.h>

#include "interp/split_impl.h"

typedef struct sizing {
    cfx_node_size *size;
    const cfx_module *gm;
    cfx_error *err;
} sizing;

static cfx_status tensor_bytes(const sizing *s, const cfx_node *n,
                               const cfx_tensor *t, uint64_t *sum)
{
    size_t bytes = cfx_dtype_size((cfx_dtype)t->dtype);
    for (int i = 0; i < t->rank; i++) {
        if (!cfx_dim_is_int(t->shape[i]))
            return cfx_fail(s->err, CFX_EINVAL, "the shape of '%s' is not "
                            "known", n->name);
        if (!cfx_mul_size(&bytes, bytes, (size_t)cfx_dim_value(t->shape[i])))
            return cfx_fail(s->err, CFX_EINVAL, "'%s' is too large", n->name);
    }
    *sum = bytes > UINT64_MAX - *sum ? UINT64_MAX : *sum + bytes;
    return CFX_OK;
}

/* Tensors in lists of lists count too. */
static cfx_status value_bytes(const sizing *s, const cfx_node *n, cfx_value v,
                              uint64_t *sum)
{
    cfx_status st = CFX_OK;
    if (v.kind == CFX_TENSOR)
        return tensor_bytes(s, n, v.u.tensor, sum);
    if (v.kind == CFX_LIST || v.kind == CFX_TUPLE || v.kind == CFX_DICT)
        for (size_t i = 0; i < v.u.seq->len && !st; i++)
            st = value_bytes(s, n, v.u.seq->item[i], sum);
    return st;
}

static cfx_status size_node(const sizing *s, const cfx_node *n, cfx_value v)
{
    cfx_node_size *size = &s->size[n->id];
    const cfx_module *m = NULL;
    if (n->op == CFX_OUTPUT)
        return CFX_OK;
    cfx_status st = value_bytes(s, n, v, &size->output);
    if (n->op == CFX_CALL_MODULE)
        m = cfx_module_at(s->gm, n->target.u.str->text);
    else if (v.kind == CFX_MODULE)
        m = v.u.module;
    uint64_t own = m ? cfx_split__module_bytes(m) : 0;
    size->total = own > UINT64_MAX - size->output ? UINT64_MAX
                                                  : own + size->output;
    return st;
}

static cfx_status size_by_meta(const sizing *s)
{
    const cfx_graph *g = cfx_graph_module_graph(s->gm);
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        cfx_value v = cfx_carve__known(n);
        if (!v.kind && n->op == CFX_GET_ATTR)
            st = cfx_module_fetch_attr(&v, s->gm, n->target.u.str->text,
                                       s->err);
        if (!v.kind && n->op != CFX_OUTPUT && !st)
            st = cfx_fail(s->err, CFX_EINVAL, "Node %s has no tensor metadata "
                          "associated with it! Check that shape propagation "
                          "has run.", n->name);
        if (!st)
            st = size_node(s, n, v);
    }
    return st;
}

static cfx_status size_by_walk(const sizing *s, cfx_module *gm,
                               const cfx_value *inputs, size_t ninputs)
{
    cfx_scope scope;
    cfx_interp_options options = {.size = sizeof(options), .scope = &scope};
    cfx_interp it = {0};
    const cfx_node *n;
    cfx_value v, result = CFX_NOTHING;
    cfx_scope_init(&scope, &cfx_meta_class, cfx_module_context(gm), NULL);
    cfx_status st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &options,
                                         s->err);
    if (!st) {
        st = cfx_interp_begin(&it, inputs, ninputs, s->err);
        while (!st && !(st = cfx_interp_step(&it, &n, &v, s->err)) && n)
            st = size_node(s, n, v);
        cfx_interp_end(&it, &result);
    }
    cfx_value_unref(result);
    cfx_interp_release(&it);
    cfx_scope_release(&scope);
    return st;
}

cfx_status cfx_node_sizes(cfx_node_size *size, cfx_module *gm,
                          const cfx_value *inputs, size_t ninputs,
                          cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_error why;
    sizing s = {.size = size, .gm = gm, .err = &why};
    why.code = CFX_OK;
    if (!g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    memset(size, 0, cfx_graph_ids(g) * sizeof(*size));
    cfx_status st = inputs ? size_by_walk(&s, gm, inputs, ninputs)
                           : size_by_meta(&s);
    return st ? cfx_fail(err, why.code, "%s", why.text) : CFX_OK;
}
