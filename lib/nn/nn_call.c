/*
 * nn_call -- a module's forward, in a frame of its own.
 *
 * An error names the path of the innermost module that failed, once.
 */
#define CFX_NO_PLACES
#include "base/context_impl.h"
#include "nn/module_impl.h"
#include "op/scope_impl.h"

/* PyTorch's text of a model has the graph of the root only. */
static cfx_status lacks_graph(cfx_scope *s, const char *path)
{
    cfx_scope_fail(
        s, CFX_EUNSUPPORTED,
        "%s: the text has no graph of this GraphModule: append str(gm.%s.graph).replace('graph(', 'graph %s(', 1)",
        path, path, path);
    return CFX_EUNSUPPORTED;
}

static cfx_status unrunnable(cfx_scope *s, const cfx_module *m)
{
    char path[256];
    size_t len = cfx_module_path(m, path, sizeof(path));
    if (len && !strcmp(m->class_name, "GraphModule"))
        return lacks_graph(s, path);
    bool known = cfx_find_module_type(m->ctx, m->class_name) != NULL;
    cfx_scope_fail(s, CFX_EUNSUPPORTED, "%s: a %s cannot be called%s", path,
                   m->class_name, known ? "" : ": the module type is unknown");
    return CFX_EUNSUPPORTED;
}

cfx_status cfx_module__base_call(cfx_scope *s, cfx_module *m, const char *path,
                                 const cfx_value *in, cfx_value *out)
{
    (void)path;
    *out = cfx_none();
    if (cfx_scope_failed(s))
        return s->error.code;
    if (m->graph)
        return s->hook.call_graph(s, m, NULL, NULL, in, out);
    if (!m->type->forward)
        return unrunnable(s, m);
    if (m->undecided && !cfx_module__is_decided_for(s, m))
        return s->error.code;
    size_t frame = cfx_scope_enter(s);
    cfx_value v = m->type->forward(s, m, in);
    if (!cfx_scope_failed(s))
        *out = cfx_value_ref(v);
    cfx_scope_leave(s, frame, cfx_none());
    return s->error.code;
}

cfx_status cfx_module_forward(cfx_scope *s, cfx_module *m, const cfx_value *in,
                              cfx_value *out)
{
    return cfx_module__base_call(s, m, NULL, in, out);
}

cfx_status cfx_module__forward_unbound(cfx_scope *s, cfx_module *m,
                                       const cfx_unbound_call *c,
                                       cfx_value *out)
{
    cfx_bound b = {0};
    *out = cfx_none();
    if (m->graph)
        return s->hook.call_graph(s, m, NULL, c, NULL, out);
    if (!m->type->forward)
        return unrunnable(s, m);
    cfx_status st = cfx_bind_schema(
        &b, s->ctx, m->forward,
        (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, &s->error);
    if (!st)
        st = cfx_module_forward(s, m, b.in, out);
    cfx_bound_release(&b);
    return st;
}

cfx_status cfx_scope_call_module(cfx_scope *s, cfx_module *m, const char *path,
                                 cfx_args a, cfx_value *out)
{
    cfx_bound b;
    *out = cfx_none();
    if (cfx_scope_failed(s))
        return s->error.code;
    const cfx_unbound_call c = {.args = a.args,
                                .nargs = a.nargs,
                                .kwargs = a.kwargs,
                                .nkwargs = a.nkwargs};
    if (cfx_scope__records(s))
        return s->hook.record_module(s, m, path, &c, out);
    if (m->graph)
        return s->hook.call_graph(s, m, path, &c, NULL, out);
    if (!m->type->forward)
        return unrunnable(s, m);
    cfx_status st = cfx_bind_schema(&b, s->ctx, m->forward, a, &s->error);
    if (!st)
        st = s->hook.call_module(s, m, path, b.in, out);
    cfx_bound_release(&b);
    return st;
}

cfx_value cfx_call_module_with(cfx_scope *s, cfx_module *self,
                               const char *name, cfx_args a)
{
    cfx_value out;
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_module *m = cfx_module_at(self, name);
    if (!m)
        return cfx_scope_fail(s, CFX_ENAME, "%s has no module '%s'",
                              self->class_name, name);
    if (cfx_scope_call_module(s, m, name, a, &out))
        return cfx_none();
    return cfx_scope_take(s, out);
}

cfx_value cfx_call_module(cfx_scope *s, cfx_module *self, const char *name,
                          cfx_value x)
{
    return cfx_call_module_with(s, self, name, CFX_ARGS(x));
}

static cfx_value computed(cfx_scope *s, cfx_module *m, const char *name)
{
    cfx_module *list = cfx_module__parametrization(m, name);
    cfx_value out = cfx_none();
    cfx_buf path;
    cfx_buf_init(&path, s->ctx);
    cfx_buf_puts(&path, "parametrizations.");
    cfx_buf_puts(&path, name);
    cfx_status st = path.failed
                        ? cfx_no_memory(&s->error)
                        : cfx_scope_call_module(s, list, cfx_buf_str(&path),
                                                CFX_NO_ARGS, &out);
    cfx_buf_release(&path);
    return st ? cfx_none() : cfx_scope_take(s, out);
}

cfx_value cfx_param_of(cfx_scope *s, cfx_module *m, const char *name)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    if (cfx_module__parametrization(m, name))
        return computed(s, m, name);
    cfx_value out;
    return s->hook.get_attr(s, m, name, &out) ? cfx_none() : out;
}

/* The module's state or argument of that name; absent if it has neither. */
static cfx_value own_argument(cfx_scope *s, cfx_module *m, const char *name)
{
    if (m->nstate && cfx_module_state(m, name))
        return cfx_param_of(s, m, name);
    return strcmp(name, "training") ? cfx_attr(m, name)
                                    : cfx_bool(m->training);
}

cfx_value cfx_forward_operator(cfx_scope *s, cfx_module *self,
                               const cfx_value *in)
{
    cfx_value args[CFX_MAX_PARAMS];
    const char *flag = self->type->inplace_flag;
    if (!self->op)
        return cfx_scope_fail(s, CFX_EINVAL, "the module type %s has no op",
                              self->class_name);
    const cfx_schema *schema = self->op->schema;
    int inputs = self->forward->nparams;
    for (int k = 0; k < schema->nparams; k++) {
        args[k] = own_argument(s, self, schema->params[k].name);
        if (!args[k].kind && inputs) {
            args[k] = *in++;
            inputs--;
        }
    }
    return cfx_scope_call(s, self->op->op, args, (size_t)schema->nparams,
                          flag && cfx_attr_bool(self, flag));
}

/* ---- State ---- */

static cfx_status missing(cfx_scope *s, const cfx_module *m, const char *name)
{
    char path[256];
    size_t n = cfx_module_path(m, path, sizeof(path));
    return cfx_fail(&s->error, CFX_EWEIGHT, "missing weight: %s%s%s", path,
                    n ? "." : "", name);
}

cfx_status cfx_module__fetch_state(cfx_scope *s, const cfx_module *m,
                                   const cfx_state *state, cfx_value *out)
{
    *out = cfx_none();
    if (!state->tensor)
        return CFX_OK;
    if (s->hook.computes && cfx_tensor_is_meta(state->tensor))
        return missing(s, m, state->name);
    *out = cfx_value_of_tensor(state->tensor);
    return CFX_OK;
}

cfx_status cfx_module__get_attr(cfx_scope *s, cfx_module *m, const char *name,
                                cfx_value *out)
{
    const cfx_state *state = cfx_module_state(m, name);
    if (state)
        return cfx_module__fetch_state(s, m, state, out);
    *out = cfx_none();
    return cfx_fail(&s->error, CFX_ENAME, "%s has no parameter '%s'",
                    m->class_name, name);
}
