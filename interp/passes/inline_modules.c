/*
 * inline_modules -- replace calls of modules by what they compute.
 *
 * A module's forward is code over values: it is traced, its nodes replace the
 * call_module node, and parameters become get_attr nodes. A module whose
 * forward cannot be traced (for example because it branches on an unknown
 * shape) stays.
 */
#include "interp/passes/pass_impl.h"
#include "interp/rewrite/retrace.h"

static cfx_value call_module(cfx_scope *s, const cfx_node *n, void *user)
{
    const cfx_pass_call *p = user;
    const char *path = n->target->text;
    cfx_module *m = cfx_module_at(p->gm, path);
    cfx_value out = cfx_none();
    if (!m)
        return cfx_scope_fail(s, CFX_ENAME,
                              "Node referenced nonexistent target %s", path);
    if (cfx_scope_call_module(
            s, m, path, (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs},
            &out))
        return cfx_none();
    return cfx_scope_take(s, out);
}

cfx_status cfx_retracer__inline(cfx_retracer *r, cfx_node *n, cfx_node **next,
                                bool *done)
{
    return cfx_retracer__node(r, n, call_module, r->p, next, done);
}

/* Select by class name or by path; all if neither is given. */
static bool is_chosen(const cfx_pass_call *p, const cfx_node *n)
{
    cfx_value types = p->in[0], paths = p->in[1];
    const char *path = n->target->text;
    const cfx_module *m = cfx_module_at(p->gm, path);
    if (!m)
        return false;
    return (!types.u.seq->len && !paths.u.seq->len) ||
           cfx_pass__lists(types, cfx_module_class_name(m)) ||
           cfx_pass__lists(paths, path);
}

static cfx_status inline_modules_run(cfx_pass_call *p)
{
    cfx_retracer r = {.p = p, .infer = true};
    cfx_status st = CFX_OK;
    bool done;
    cfx_node *after;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st; n = after) {
        after = cfx_node_next(n);
        if (n->op == CFX_CALL_MODULE && is_chosen(p, n)) {
            cfx_node *first;
            st = cfx_retracer__inline(&r, n, &first, &done);
        }
    }
    cfx_retracer__release(&r);
    return st;
}

const cfx_pass cfx_pass__inline_modules = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "inline_modules(str[] types=[], str[] paths=[])",
    .doc =
        "Replace calls of modules by the nodes of their forward; types, paths: only modules of these classes and at these paths.",
    .run = inline_modules_run,
};
