/*
 * decide -- hidden arguments of modules, inferred from the graph.
 *
 * A pooling whose result is used as a tensor returns no indices: the call that
 * uses it would not bind to a tuple. Whether an activation is in place does
 * not matter if nothing else reads its input.
 */
#include "graph/decide.h"

#include "graph/graph_impl.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

/* ---- Is a result used as a tensor? ---- */

/* A node and its substitute in the arguments of a user. */
typedef struct stand_in {
    const cfx_node *n;
    cfx_value v;
} stand_in;

static cfx_status put_in(void *user, cfx_value v, cfx_value *out)
{
    const stand_in *in = user;
    *out = cfx_value_ref(v.kind == CFX_NODE && v.u.node == in->n ? in->v : v);
    return CFX_OK;
}

/* Does the call bind to the schema, or to one of the target's? */
static cfx_status binds(const cfx_node *n, const cfx_target *t,
                        const cfx_schema *schema, cfx_value args,
                        cfx_value kwargs, bool *out)
{
    cfx_bound b = {0};
    cfx_context *ctx = n->graph->ctx;
    const cfx_value *a = args.u.seq->item, *k = kwargs.u.seq->item;
    cfx_status st = t ? cfx_bind(&b, ctx, t,
                                 (cfx_args){a, n->nargs, k, n->nkwargs}, NULL)
                      : cfx_bind_schema(&b, ctx, schema,
                                        (cfx_args){a, n->nargs, k, n->nkwargs},
                                        NULL);
    *out = !st;
    cfx_bound_release(&b);
    return st == CFX_ENOMEM ? st : CFX_OK;
}

/* Like binds, with a value substituted for a node. */
static cfx_status binds_with(const cfx_node *n, const cfx_target *t,
                             const cfx_schema *schema, stand_in *in, bool *out)
{
    cfx_context *ctx = n->graph->ctx;
    cfx_value args = cfx_tuple_new(ctx, n->nargs, n->args);
    cfx_value kwargs = cfx_tuple_new(ctx, (size_t)2 * n->nkwargs, n->kwargs);
    cfx_value mapped[2] = {CFX_NOTHING, CFX_NOTHING};
    cfx_status st = args.kind && kwargs.kind ? CFX_OK : CFX_ENOMEM;
    if (!st)
        st = cfx_value_map(&mapped[0], ctx, args, put_in, in, NULL);
    if (!st)
        st = cfx_value_map(&mapped[1], ctx, kwargs, put_in, in, NULL);
    if (!st)
        st = binds(n, t, schema, mapped[0], mapped[1], out);
    for (int i = 0; i < 2; i++)
        cfx_value_unref(mapped[i]);
    cfx_value_unref(args);
    cfx_value_unref(kwargs);
    return st;
}

/* The target or schema that a user of a node calls; both NULL if unknown. */
static cfx_status find_called(const cfx_node *user, const cfx_target **t,
                              const cfx_schema **schema)
{
    const char *target = user->target->text;
    cfx_status st = CFX_OK;
    *t = NULL;
    *schema = NULL;
    if (user->op == CFX_CALL_MODULE) {
        const cfx_module *m = user->graph->owner;
        m = m ? cfx_module_at(m, target) : NULL;
        *schema = m && !m->graph ? m->forward : NULL;
    } else if (user->op == CFX_CALL_FUNCTION || user->op == CFX_CALL_METHOD) {
        st = cfx_target__find(t, user->graph->ctx, target,
                              user->op == CFX_CALL_METHOD, NULL);
    }
    return st == CFX_ENOMEM ? st : CFX_OK;
}

/* Does the user accept a tensor, but not a tuple of tensors? */
static cfx_status uses_as_tensor(const cfx_node *n, const cfx_node *user,
                                 cfx_value tuple, bool *out)
{
    const cfx_target *t;
    const cfx_schema *schema;
    bool ok = false;
    cfx_status st = find_called(user, &t, &schema);
    *out = false;
    if (st || (!t && !schema))
        return st;
    stand_in in = {n, tuple.u.seq->item[0]};
    st = binds_with(user, t, schema, &in, &ok);
    if (st || !ok)
        return st;
    in.v = tuple;
    st = binds_with(user, t, schema, &in, &ok);
    *out = !st && !ok;
    return st;
}

/* A tuple of two tensors. */
static cfx_status make_tuple(cfx_value *out, cfx_context *ctx)
{
    cfx_dim shape[] = {cfx_dim_int(1), cfx_dim_int(1)};
    cfx_tensor *t;
    *out = CFX_NOTHING;
    if (cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, NULL))
        return CFX_ENOMEM;
    cfx_value both[] = {cfx_value_of_tensor(t), cfx_value_of_tensor(t)};
    *out = cfx_tuple_new(ctx, 2, both);
    cfx_tensor_unref(t);
    return out->kind ? CFX_OK : CFX_ENOMEM;
}

static cfx_status decide_tuple(cfx_module *m, const cfx_node *n)
{
    cfx_value tuple;
    bool is_tensor = false;
    cfx_status st = make_tuple(&tuple, n->graph->ctx);
    for (const cfx_use *u = n->first_user; u && !st && !is_tensor; u = u->next)
        st = uses_as_tensor(n, u->user, tuple, &is_tensor);
    cfx_value_unref(tuple);
    if (!st && is_tensor)
        cfx_module_decide(m, m->type->tuple_flag);
    return st;
}

/* ---- Is an input read by nothing else? ---- */

/* Do the node's value and the tensor that it views have one reader only? Views
 * of one input are followed. */
static cfx_status is_read_once(const cfx_node *n, bool *out, cfx_error *err)
{
    cfx_effects e;
    cfx_error why = {0};
    *out = false;
    while (n->first_user && !n->first_user->next) {
        /* An outer graph may read the inputs of a nested one. */
        if (n->op == CFX_PLACEHOLDER)
            *out = !n->graph->owner || !n->graph->owner->parent;
        if (n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR)
            return CFX_OK;
        cfx_status st = cfx_node_effects(n, &e, &why);
        if (st == CFX_ENOMEM || st == CFX_ELIMIT || st == CFX_ECANCEL)
            return cfx_fail_from(err, &why);
        if (st)
            return CFX_OK;
        if (!e.views || !e.input_views) {
            *out = !e.views;
            return CFX_OK;
        }
        if (n->ninputs != 1)
            return CFX_OK;
        n = cfx_node_input(n, 0);
    }
    return CFX_OK;
}

/* Mark the module as `used` if a call of it shares its input. */
static cfx_status look_at_input(cfx_module *m, const cfx_node *n,
                                cfx_error *err)
{
    bool alone = false;
    cfx_status st = n->ninputs == 1
                        ? is_read_once(cfx_node_input(n, 0), &alone, err)
                        : CFX_OK;
    m->used = m->used || !alone;
    return st;
}

static bool asks(const cfx_module *m, const char *flag)
{
    return m->undecided && flag && cfx_attr_is_undecided(m, flag);
}

/* ---- All calls of a graph ---- */

/* A single call of a module suffices to show that it returns a tensor; for
 * in-place flags, each call must be the only reader of its input. */
static cfx_status look_at_calls(const cfx_module *gm, const cfx_graph *g,
                                cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        cfx_module *m = n->op == CFX_CALL_MODULE
                            ? cfx_module_at(gm, n->target->text)
                            : NULL;
        if (m && asks(m, m->type->tuple_flag))
            st = decide_tuple(m, n);
        for (cfx_module *at = m && !m->graph ? m : NULL; at && !st;
             at = cfx_module_next(at, m))
            if (asks(at, at->type->inplace_flag))
                st = look_at_input(at, n, err);
    }
    return st;
}

cfx_status cfx_graph__decide(cfx_module *gm, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm))
        if (m->graph)
            st = look_at_calls(m, m->graph, err);
    for (cfx_module *m = gm; m; m = cfx_module_next(m, gm)) {
        if (!st && !m->used && asks(m, m->type->inplace_flag))
            cfx_module_decide(m, m->type->inplace_flag);
        m->used = false;
    }
    return st == CFX_ENOMEM ? cfx_no_memory(err) : st;
}
