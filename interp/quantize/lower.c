/*
 * lower -- a graph of functions over parameters of the root.
 *
 * Patterns of a quantizer then see one form of a layer, and a weight that is
 * replaced leaves no float copy in a module.
 */
#include <string.h>

#include "base/util.h"
#include "interp/passes/binding.h"
#include "interp/quantize/quantize_impl.h"
#include "nn/module_impl.h"

/* ---- Parameters ---- */

cfx_tensor *cfx_quantize__parameter(const cfx_module *gm, const cfx_node *n)
{
    cfx_value v;
    if (n->op != CFX_GET_ATTR ||
        cfx_module_fetch_attr(&v, gm, n->target->text, NULL))
        return NULL;
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

/* The state at a dotted path. */
static const cfx_state *state_at(const cfx_module *gm, const char *path)
{
    const char *last;
    const cfx_module *owner = cfx_module__owner(gm, path, &last);
    return owner ? cfx_module_state(owner, last) : NULL;
}

/* A name for the parameter in the root: the path with `_` for dots, which is
 * free, or has that tensor already. */
static cfx_status name_parameter(cfx_buf *name, const cfx_module *gm,
                                 const char *path, const cfx_tensor *t,
                                 cfx_error *err)
{
    for (int64_t i = 0;; i++) {
        cfx_buf_clear(name);
        for (const char *p = path; *p; p++)
            cfx_buf_putc(name, *p == '.' ? '_' : *p);
        if (i) {
            cfx_buf_putc(name, '_');
            cfx_buf_int(name, i);
        }
        if (name->failed)
            return cfx_no_memory(err);
        const cfx_state *s = cfx_module_state(gm, cfx_buf_str(name));
        if (s ? s->tensor == t : !cfx_module_child(gm, cfx_buf_str(name)))
            return CFX_OK;
    }
}

static cfx_status lift(cfx_module *gm, cfx_node *n, cfx_buf *name,
                       cfx_error *err)
{
    const cfx_state *s = state_at(gm, n->target->text);
    if (!s || !s->tensor || !strchr(n->target->text, '.'))
        return CFX_OK;
    cfx_status st = name_parameter(name, gm, n->target->text, s->tensor, err);
    const cfx_state copy = {cfx_buf_str(name), s->tensor, s->is_buffer, true};
    if (!st)
        st = cfx_module__add_state(gm, &copy, err);
    return st ? st : cfx_node_set_target(n, cfx_buf_str(name), err);
}

static cfx_status lift_all(cfx_module *gm, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_buf name;
    cfx_buf_init(&name, cfx_module_context(gm));
    for (cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR)
            st = lift(gm, n, &name, err);
    cfx_buf_release(&name);
    if (!st)
        cfx_graph_module_delete_all_unused_submodules(gm);
    return st;
}

/* ---- In-place calls ---- */

/* Does a node give a view of some input or state? */
static cfx_status gives_view(const cfx_node *n, bool *yes, cfx_error *err)
{
    cfx_effects e;
    cfx_status st = cfx_node_effects(n, &e, err);
    *yes = !st && (e.input_views || e.state_views);
    return st;
}

/* Is the first input of an in-place call read by nothing else afterwards? It
 * is a new tensor, and its other users are before n and give no view of it. */
static cfx_status is_consumed(const cfx_node *n, bool *yes, cfx_error *err)
{
    const cfx_node *x = n->nargs && n->args[0].kind == CFX_NODE
                            ? n->args[0].u.node
                            : NULL;
    bool view = !x || !cfx_node_is_call(x);
    cfx_status st = view ? CFX_OK : gives_view(x, &view, err);
    for (const cfx_use *u = x ? x->first_user : NULL; u && !st && !view;
         u = u->next) {
        if (u->user == n)
            continue;
        view = !cfx_node_before(u->user, n) || u->user->op == CFX_OUTPUT;
        if (!view)
            st = gives_view(u->user, &view, err);
    }
    *yes = !st && !view;
    return st;
}

/* Let calls that write to a tensor which nothing else reads return a new one:
 * quantized values are other tensors than those that they are made from. */
static cfx_status write_apart(cfx_node *n, cfx_error *err)
{
    char name[128];
    bool method, consumed = false;
    const cfx_target *t = cfx_node__target(n);
    cfx_status st = t && t->inplace ? is_consumed(n, &consumed, err) : CFX_OK;
    size_t len = consumed ? cfx_op_call_name(t->op, false, &method, name,
                                             sizeof(name))
                          : 0;
    if (st || !len || len >= sizeof(name))
        return st;
    return cfx_node_set_op(n, method ? CFX_CALL_METHOD : CFX_CALL_FUNCTION,
                           name, err);
}

static cfx_status write_all_apart(cfx_module *gm, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n && !st;
         n = cfx_node_next(n))
        st = write_apart(n, err);
    return st;
}

cfx_status cfx_quantize__lower(cfx_module *gm, cfx_error *err)
{
    /* Among tensors, operator.add is torch.add, whose effects are known. A
     * weight that the graph transposes is one when it is folded. */
    static const char *const passes[] = {
        "fuse_conv_bn",
        "fuse_linear_bn",
        "remove_dropout",
        "inline_modules",
        "normalize(keywords=False, defaults=False, tensors=True)",
        "constant_folding"};
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < sizeof(passes) / sizeof(*passes) && !st; i++)
        st = cfx_pass_apply(gm, passes[i], false, NULL, err);
    if (!st)
        st = write_all_apart(gm, err);
    return st ? st : lift_all(gm, err);
}
