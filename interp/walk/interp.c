/*
 * interp -- the default hooks; creation and release of an interpreter.
 *
 * Each hook gets the call with the node's own target and arguments. If the call
 * reaches the base class unchanged, the prepared binding is used; a call that a
 * hook has changed is bound again.
 */
#include "interp/walk/interp_impl.h"

#include <stdio.h>

#include <cfx/text.h>

#include "base/class.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"
#include "op/scope_impl.h"

/* ---- Errors ---- */

static cfx_status append(void *user, const char *text, size_t len)
{
    cfx_error *err = user;
    size_t at = strlen(err->text), room = sizeof(err->text) - 1 - at;
    if (len > room)
        len = room;
    for (size_t i = 0; i < len; i++)
        err->text[at + i] = text[i] == '\n' ? ' ' : text[i];
    err->text[at + len] = '\0';
    return CFX_OK;
}

/* The location in a nested module comes last and must not be truncated. */
void cfx_interp__while_executing(const cfx_interp *it, cfx_error *err,
                                 const cfx_node *n)
{
    static const char between[] = "; While executing ";
    char place[256] = " in submodule ";
    size_t len = strlen(place);
    if (!err || err->located)
        return;
    err->located = true;
    size_t path = cfx_module_path(it->module, place + len,
                                  sizeof(place) - len);
    len += path;
    if (!it->self->nested || !path)
        len = 0;
    else if (len >= sizeof(place))
        len = sizeof(place) - 1;
    cfx_sink sink = {append, err};
    append(err, between, sizeof(between) - 1);
    cfx_print_node(sink, n, false, NULL);
    if (strlen(err->text) + len >= sizeof(err->text))
        err->text[sizeof(err->text) - 1 - len] = '\0';
    append(err, place, len);
}

cfx_status cfx_interp_fail(cfx_interp *it, cfx_status code, const char *fmt,
                           ...)
{
    char text[CFX_ERROR_TEXT - 64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return cfx_fail(it->err, code, "%s", text);
}

/* ---- Arguments ---- */

/* Fill the holes. Returns the first one with a value of a wrong kind, or
 * NULL. */
static const patch *fill(const struct cfx_interp_self *self, const patch *p,
                         uint32_t n)
{
    for (; n; p++, n--) {
        cfx_value v = self->env[p->id];
        *p->at = v;
        if (!(p->kinds >> v.kind & 1))
            return p;
    }
    return NULL;
}

/* Fill the holes of a prepared signature. Returns one whose value it does not
 * accept, or NULL. */
static const patch *fill_candidate(const struct cfx_interp_self *self,
                                   const candidate *c)
{
    const patch *wrong = fill(self, c->patch, c->npatch);
    return wrong || !cfx_schema__lacks_tensor(c->target->schema, c->in)
               ? wrong
               : c->patch;
}

static cfx_status no_value(cfx_interp *it, const cfx_node *n, uint32_t id)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_node_input(n, i)->id == id)
            return cfx_interp_fail(
                it, CFX_EGRAPH,
                "Node %s referenced nonexistent value %s! Run Graph.lint() to diagnose such issues",
                n->name, cfx_node_input(n, i)->name);
    return cfx_interp_fail(it, CFX_EGRAPH, "Node %s lacks a value", n->name);
}

static const step *step_of(const struct cfx_interp_self *self,
                           const cfx_node *n)
{
    if (self->walking && self->walking->node == n)
        return self->walking;
    return &self->step[self->step_of[n->id] - 1];
}

static cfx_status base_fetch_args(cfx_interp *it, const cfx_node *n,
                                  cfx_call *call)
{
    const original_call *s = &step_of(it->self, n)->original;
    const patch *missing = fill(it->self, s->patch, s->npatch);
    if (missing)
        return no_value(it, n, missing->id);
    call->args = s->args;
    call->nargs = n->nargs;
    call->kwargs = s->kwargs;
    call->nkwargs = n->nkwargs;
    return CFX_OK;
}

/* ---- One hook per opcode ---- */

/* Collect all remaining inputs for `*args`, except a dict at the end if the
 * graph has a placeholder `**kwargs`. */
static cfx_status take_rest(cfx_interp *it, bool keywords, cfx_value *out)
{
    struct cfx_interp_self *self = it->self;
    const cfx_value *in = self->inputs + self->next_input;
    size_t n = self->ninputs - self->next_input;
    bool dict = n && self->has_kwargs && in[n - 1].kind == CFX_DICT;
    if (keywords) {
        *out = dict ? cfx_value_ref(in[n - 1])
                    : cfx_dict_new(self->ctx, 0, NULL);
        self->next_input = self->ninputs;
    } else {
        *out = cfx_list_new(self->ctx, n - dict, in);
        self->next_input = self->ninputs - dict;
    }
    return out->kind ? CFX_OK : cfx_no_memory(it->err);
}

/* Take the input that was fetched last out of the caller's array. */
static cfx_value take_input(struct cfx_interp_self *self)
{
    cfx_value *in = (cfx_value *)self->inputs + self->next_input - 1;
    cfx_value v = *in;
    *in = CFX_NOTHING;
    return v;
}

static cfx_status base_placeholder(cfx_interp *it, const cfx_call *call,
                                   cfx_value *out)
{
    struct cfx_interp_self *self = it->self;
    const char *target = call->target.u.str->text;
    cfx_value given = CFX_NOTHING;
    if (*target == '*' && !self->bound)
        return take_rest(it, target[1] == '*', out);
    if (self->next_input < self->ninputs)
        given = self->inputs[self->next_input++];
    if (given.kind && self->boxed)
        *out = take_input(self);
    else if (given.kind)
        *out = cfx_value_ref(given);
    else if (call->nargs)
        *out = cfx_value_ref(call->args[0]);
    else
        return cfx_interp_fail(
            it, CFX_EINVAL,
            "Expected positional argument for parameter %s, but one was not passed in!",
            target);
    return CFX_OK;
}

/* Move the scope's error to the run's. A hook that sees the failing status may
 * handle it and go on. In a nested run both errors are the same object. */
static cfx_status move_error(cfx_interp *it, cfx_status st)
{
    cfx_error *from = &it->scope->error;
    if (CFX_LIKELY(!st))
        return st;
    if (from->code)
        cfx_fail_from(it->err, from);
    if (it->err != from)
        cfx_error_clear(from);
    return st;
}

/* Take a reference of what a scope fetched. */
static cfx_status take_fetched(cfx_interp *it, cfx_status st, cfx_value *out)
{
    if (!st)
        *out = cfx_value_ref(*out);
    return move_error(it, st);
}

/* The scope fetches parameters and buffers; a module is a value itself. */
static cfx_status base_fetch_attr(cfx_interp *it, const char *path,
                                  cfx_value *out)
{
    const char *name;
    cfx_module *m = cfx_module__owner(it->module, path, &name);
    cfx_status st = m && cfx_module_state(m, name)
                        ? it->scope->hook.get_attr(it->scope, m, name, out)
                        : cfx_module_fetch_attr(out, it->module, path,
                                                it->err);
    return take_fetched(it, st, out);
}

/* Called when no prepared signature accepts the values. */
CFX_NOINLINE
static cfx_status bind_and_call(cfx_interp *it, const step *s,
                                const candidate *c, const patch *wrong,
                                cfx_value *out)
{
    cfx_status st = CFX_OK;
    if (wrong->at->kind == CFX_ABSENT)
        return no_value(it, s->node, wrong->id);
    fill(it->self, s->original.patch, s->original.npatch);
    if (cfx_scope__call_with_numbers(it->scope, s->target, s->original.args,
                                     s->node->nargs, s->original.kwargs,
                                     s->node->nkwargs, out, &st))
        return move_error(it, st);
    while (wrong < c->patch + c->npatch)
        fill(it->self, wrong++, 1);
    int k = cfx_bound__mismatch(c->target, c->in);
    return move_error(
        it, cfx_scope__refuse(it->scope, c->target, c->in, k < 0 ? 0 : k));
}

/* Call the prepared signature whose parameters accept the values. */
static cfx_status call_prepared(cfx_interp *it, const step *s, cfx_value *out)
{
    const candidate *c = s->candidate, *last = c + s->ncandidates - 1;
    const patch *wrong;
    while ((wrong = fill_candidate(it->self, c)) && c < last)
        c++;
    if (CFX_UNLIKELY(wrong))
        return bind_and_call(it, s, c, wrong, out);
    return move_error(it, cfx_scope__call_bound(it->scope, c->target, c->in,
                                                c->inplace, out));
}

/* Return the prepared step of a call, or NULL if a hook changed the target. */
static const step *prepared(const cfx_interp *it, const cfx_call *call,
                            cfx_opcode op)
{
    const cfx_node *n = call->node;
    return n && n->graph == it->graph && n->op == op &&
                   call->target.u.str == n->target
               ? step_of(it->self, n)
               : NULL;
}

/* Return the state that a step fetches, or NULL if it has to be searched: states may
 * be added and removed between runs. */
static const cfx_state *prepared_state(const cfx_interp *it, const step *s)
{
    const cfx_module *root = it->module;
    if (!s || s->state >= root->nstate ||
        it->self->hook.fetch_attr != base_fetch_attr ||
        it->scope->hook.get_attr != cfx_module__get_attr)
        return NULL;
    const cfx_state *state = &root->state[s->state];
    return strcmp(state->name, s->node->target->text) ? NULL : state;
}

static cfx_status base_get_attr(cfx_interp *it, const cfx_call *call,
                                cfx_value *out)
{
    const cfx_state *state = prepared_state(it,
                                            prepared(it, call, CFX_GET_ATTR));
    if (!state)
        return cfx_interp_fetch_attr(it, call->target.u.str->text, out);
    return take_fetched(
        it, cfx_module__fetch_state(it->scope, it->module, state, out), out);
}

/* True if the arguments are the ones that were bound. */
static bool args_are_prepared(const step *s, const cfx_call *call)
{
    return call->args == s->original.args && call->nargs == s->node->nargs &&
           call->kwargs == s->original.kwargs &&
           call->nkwargs == s->node->nkwargs;
}

static cfx_status call_target(cfx_interp *it, const cfx_call *call,
                              cfx_opcode op, cfx_value *out)
{
    const step *s = prepared(it, call, op);
    if (s && s->ncandidates && args_are_prepared(s, call))
        return call_prepared(it, s, out);
    const cfx_target *t = s ? s->target : NULL;
    cfx_status st = t ? CFX_OK
                      : cfx_target__find(&t, it->self->ctx,
                                         call->target.u.str->text,
                                         op == CFX_CALL_METHOD, it->err);
    if (st)
        return st;
    return move_error(
        it, cfx_scope_call_target(it->scope, t,
                                  (cfx_args){call->args, call->nargs,
                                             call->kwargs, call->nkwargs},
                                  out));
}

static cfx_status base_call_function(cfx_interp *it, const cfx_call *call,
                                     cfx_value *out)
{
    return call_target(it, call, CFX_CALL_FUNCTION, out);
}

static cfx_status base_call_method(cfx_interp *it, const cfx_call *call,
                                   cfx_value *out)
{
    return call_target(it, call, CFX_CALL_METHOD, out);
}

static cfx_status base_call_module(cfx_interp *it, const cfx_call *call,
                                   cfx_value *out)
{
    const char *path = call->target.u.str->text;
    const step *s = prepared(it, call, CFX_CALL_MODULE);
    cfx_module *m = s ? s->module : cfx_module_at(it->module, path);
    if (!m)
        return cfx_interp_fail(it, CFX_ENAME,
                               "Node referenced nonexistent target %s", path);
    return move_error(
        it, cfx_scope_call_module(it->scope, m, path,
                                  (cfx_args){call->args, call->nargs,
                                             call->kwargs, call->nkwargs},
                                  out));
}

static cfx_status base_output(cfx_interp *it, const cfx_call *call,
                              cfx_value *out)
{
    if (!call->nargs)
        return cfx_interp_fail(it, CFX_EGRAPH, "an output without a value");
    *out = cfx_value_ref(call->args[0]);
    return CFX_OK;
}

/* ---- One node ---- */

static cfx_call_hook *hook_of(const cfx_interp_class *cls, uint8_t op)
{
    switch ((cfx_opcode)op) {
    case CFX_PLACEHOLDER: return cls->placeholder;
    case CFX_GET_ATTR: return cls->get_attr;
    case CFX_CALL_FUNCTION: return cls->call_function;
    case CFX_CALL_METHOD: return cls->call_method;
    case CFX_CALL_MODULE: return cls->call_module;
    default: return cls->output;
    }
}

cfx_status cfx_interp_fetch_args(cfx_interp *it, const cfx_node *n,
                                 cfx_call *call)
{
    *call = (cfx_call){.ctx = it->self->ctx,
                       .env = it->scope->env,
                       .err = it->err,
                       .node = n,
                       .target = {.kind = CFX_STR, .u.str = n->target}};
    return it->self->hook.fetch_args(it, n, call);
}

/* The value of a node may be a literal among its arguments, which belongs to
 * the graph, or to the interpreter, which changes it in the next run. */
static cfx_status own_value(cfx_interp *it, cfx_value *out)
{
    cfx_value own = cfx_value_own(it->self->ctx, *out);
    cfx_value_unref(*out);
    bool ok = own.kind || !out->kind;
    *out = own;
    return ok ? CFX_OK : cfx_no_memory(it->err);
}

static cfx_status base_run_node(cfx_interp *it, const cfx_node *n,
                                cfx_value *out)
{
    const step *s = step_of(it->self, n);
    cfx_status st;
    it->scope->node = n;
    if (s->direct) {
        st = call_prepared(it, s, out);
    } else {
        cfx_call call;
        st = cfx_interp_fetch_args(it, n, &call);
        if (!st)
            st = hook_of(&it->self->hook, n->op)(it, &call, out);
    }
    return CFX_LIKELY(st || out->kind == CFX_TENSOR) ? st : own_value(it, out);
}

static void base_release(cfx_interp *it)
{
    (void)it;
}

const cfx_interp_class cfx_interp_base = {
    .size = sizeof(cfx_interp_class),
    .name = "interpreter",
    .placeholder = base_placeholder,
    .get_attr = base_get_attr,
    .call_function = base_call_function,
    .call_method = base_call_method,
    .call_module = base_call_module,
    .output = base_output,
    .run_node = base_run_node,
    .fetch_args = base_fetch_args,
    .fetch_attr = base_fetch_attr,
    .release = base_release,
};

/* Wraps the class's run_node hook if a progress callback is set, so that the
 * walk need not check for one. */
static cfx_status progress_run_node(cfx_interp *it, const cfx_node *n,
                                    cfx_value *out)
{
    struct cfx_interp_self *self = it->self;
    cfx_status st = self->wrapped_run_node(it, n, out);
    if (!st)
        self->progress(self->progress_user, self->step_of[n->id],
                       self->nsteps);
    return st;
}

const cfx_interp_class *cfx_interp_class_with(const cfx_interp_class *cls,
                                              size_t offset)
{
    return cfx_class__with(cls, offset);
}

cfx_status cfx_interp_fetch_attr(cfx_interp *it, const char *path,
                                 cfx_value *out)
{
    return it->self->hook.fetch_attr(it, path, out);
}

/* ---- Init and release ---- */

cfx_status cfx_interp__init_nested(cfx_interp *it, const cfx_interp_class *cls,
                                   cfx_module *gm,
                                   const cfx_interp_options *options,
                                   bool nested, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    it->cls = cls;
    it->module = gm;
    it->graph = options && options->graph ? options->graph
                                          : cfx_graph_module_graph(gm);
    if (!it->graph)
        return cfx_fail(err, CFX_EGRAPH, "%s has no graph",
                        cfx_module_class_name(gm));
    it->self = cfx_calloc(ctx, 1, sizeof(*it->self));
    if (!it->self)
        return cfx_no_memory(err);
    it->self->ctx = ctx;
    it->self->nested = nested;
    cfx_walks__init(&it->self->walks, ctx);
    /* Resolve every hook once, so that the walk need not search. */
    it->self->hook = cfx_interp_base;
    cfx_class__flatten(&it->self->hook,
                       offsetof(cfx_interp_class, placeholder),
                       sizeof(cfx_interp_class), cls);
    it->self->keep_values = options && options->keep_values;
    if (options && options->size > offsetof(cfx_interp_options, progress)) {
        it->self->progress = options->progress;
        it->self->progress_user = options->progress_user;
    }
    if (it->self->progress) {
        it->self->wrapped_run_node = it->self->hook.run_node;
        it->self->hook.run_node = progress_run_node;
    }
    cfx_arena_init(&it->self->arena, ctx);
    cfx_scope_init(&it->self->eager, &cfx_eager_class, ctx, NULL);
    it->scope = options && options->scope ? options->scope : &it->self->eager;
    cfx_status st = cfx_interp__prepare(it, err);
    if (!st && nested)
        st = cfx_params__find(&it->self->params, it->graph, err);
    if (!st && !nested && !cfx_context_any_shape(ctx))
        st = cfx_input_check_new(&it->self->check, it->graph, err);
    if (st)
        cfx_interp_release(it);
    return st;
}

cfx_status cfx_interp_init_with(cfx_interp *it, const cfx_interp_class *cls,
                                cfx_module *gm,
                                const cfx_interp_options *options,
                                cfx_error *err)
{
    cfx_error_clear(err);
    return cfx_interp__init_nested(it, cls, gm, options, false, err);
}

cfx_status cfx_interp_init(cfx_interp *it, const cfx_interp_class *cls,
                           cfx_module *gm, cfx_error *err)
{
    return cfx_interp_init_with(it, cls, gm, NULL, err);
}

static void free_self(cfx_context *ctx, struct cfx_interp_self *self)
{
    cfx_walks__release(&self->walks);
    cfx_params__release(&self->params, ctx);
    if (!self->outer)
        cfx_input_check_free(self->check);
    cfx_interp__forget(self);
    cfx_scope_release(&self->eager);
    cfx_free(ctx, self, sizeof(*self));
}

/* Hooks and options are copied from the outer run. */
cfx_status cfx_interp__new_inner(cfx_interp *it, cfx_error *err)
{
    struct cfx_interp_self *outer = it->self;
    cfx_context *ctx = outer->ctx;
    struct cfx_interp_self *self = cfx_calloc(ctx, 1, sizeof(*self));
    if (!self)
        return cfx_no_memory(err);
    self->ctx = ctx;
    self->outer = outer;
    self->nested = outer->nested;
    self->hook = outer->hook;
    self->check = outer->check;
    self->keep_values = outer->keep_values;
    self->progress = outer->progress;
    self->progress_user = outer->progress_user;
    self->wrapped_run_node = outer->wrapped_run_node;
    cfx_walks__init(&self->walks, ctx);
    cfx_arena_init(&self->arena, ctx);
    it->self = self;
    cfx_status st = cfx_interp__prepare(it, err);
    it->self = outer;
    if (st)
        free_self(ctx, self);
    else
        outer->inner = self;
    return st;
}

void cfx_interp_release(cfx_interp *it)
{
    struct cfx_interp_self *self = it->self;
    if (!self)
        return;
    self->hook.release(it);
    cfx_context *ctx = self->ctx;
    while (self->outer)
        self = self->outer;
    for (struct cfx_interp_self *inner; self; self = inner) {
        inner = self->inner;
        free_self(ctx, self);
    }
    it->self = NULL;
}
