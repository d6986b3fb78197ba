/*
 * functionalize -- an in-place call becomes one that returns a new tensor, where
 * nothing else reads what it writes.
 */
#include "interp/passes/functionalize.h"

#include "interp/rewrite/binding.h"
#include "graph/graph_impl.h"

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

/* A call in place keeps the type of x. Else an operand that is known to have another
 * one may change it. */
static bool keeps_type(const cfx_node *n)
{
    cfx_value x = cfx_node__known(n->args[0].u.node);
    for (uint32_t i = 0; i < n->ninputs; i++) {
        cfx_value y = cfx_node__known(cfx_node_input(n, i));
        if (x.kind == CFX_TENSOR && y.kind == CFX_TENSOR &&
            x.u.tensor->dtype != y.u.tensor->dtype)
            return false;
    }
    return true;
}

cfx_status cfx_pass__functionalize(cfx_node *n, cfx_error *err)
{
    char name[128];
    bool method, consumed = false;
    const cfx_target *t = cfx_node__target(n);
    cfx_status st = t && t->inplace ? is_consumed(n, &consumed, err) : CFX_OK;
    size_t len = consumed && keeps_type(n)
                     ? cfx_op_call_name(t->op, false, &method, name,
                                        sizeof(name))
                     : 0;
    if (st || !len || len >= sizeof(name))
        return st;
    return cfx_node_set_op(n, method ? CFX_CALL_METHOD : CFX_CALL_FUNCTION,
                           name, err);
}
