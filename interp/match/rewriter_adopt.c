/*
 * rewriter_adopt -- copy in the modules, parameters and buffers that a
 * replacement names.
 */
#include "interp/match/rewriter_impl.h"

static const cfx_state *state_at(const cfx_module *root, const char *path,
                                 cfx_buf *parent, const char **name)
{
    const char *dot = strrchr(path, '.');
    cfx_buf_clear(parent);
    if (dot)
        cfx_buf_add(parent, path, (size_t)(dot - path));
    *name = dot ? dot + 1 : path;
    const cfx_module *m = cfx_module_at(root, cfx_buf_str(parent));
    return m ? cfx_module_state(m, *name) : NULL;
}

static cfx_status copy_state(cfx_rewrite *r, const cfx_state *state,
                             const char *parent, const char *name)
{
    cfx_module *m = cfx_module_at(r->gm, parent), *child;
    const cfx_tensor *t = state->tensor;
    cfx_status st = CFX_OK;
    if (!m) {
        st = cfx_module_new_container(&child, r->ctx, "Module", r->err);
        if (!st)
            st = cfx_module_add_submodule_take(r->gm, parent, child, r->err);
        m = st ? NULL : cfx_module_at(r->gm, parent);
    }
    if (st)
        return st;
    if (!t)
        return cfx_module_no_param(m, name, r->err);
    st = (state->is_buffer ? cfx_module_buffer : cfx_module_param)(
        m, name, (cfx_dtype)t->dtype, t->rank, t->shape, r->err);
    if (!st && !cfx_tensor_is_meta(t))
        st = cfx_module_set(m, name, state->tensor, r->err);
    return st;
}

static cfx_status adopt_path(cfx_rewrite *r, const cfx_module *owner,
                             const cfx_node *n, cfx_buf *parent)
{
    const char *path = n->target->text, *name;
    if (cfx_module_at(r->gm, path) || state_at(r->gm, path, parent, &name))
        return CFX_OK;
    const cfx_module *m = cfx_module_at(owner, path);
    cfx_module *copy;
    if (m) {
        cfx_status st = cfx_module_copy(&copy, m, r->err);
        return st ? st
                  : cfx_module_add_submodule_take(r->gm, path, copy, r->err);
    }
    const cfx_state *state = state_at(owner, path, parent, &name);
    if (parent->failed)
        return cfx_no_memory(r->err);
    if (!state)
        return cfx_fail(
            r->err, CFX_ENAME,
            "Attempted to create a \"%s\" node during subgraph rewriting with target %s, but the referenced attribute does not exist in the replacement GraphModule",
            cfx_opcode_names[n->op], path);
    return copy_state(r, state, cfx_buf_str(parent), name);
}

cfx_status cfx_rewriter__adopt(cfx_rewrite *r, const cfx_graph *from)
{
    const cfx_module *owner = cfx_graph_owning_module(from);
    cfx_status st = CFX_OK;
    cfx_buf parent;
    if (!owner || owner == r->gm)
        return CFX_OK;
    cfx_buf_init(&parent, r->ctx);
    for (const cfx_node *n = cfx_graph_first(from); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR || n->op == CFX_CALL_MODULE)
            st = adopt_path(r, owner, n, &parent);
    cfx_buf_release(&parent);
    r->adopted = true;
    return st;
}
